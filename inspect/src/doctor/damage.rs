//! Rules about damaged files and errors of the background jobs.

use super::finding::{Finding, Severity};
use crate::model::{Database, LOST_EDITS, OptionSection, Problem, Scope, Weight};
use crate::words;

/// The largest number of evidence lines in one finding.
const EVIDENCE_MAX: usize = 20;

pub(super) fn rules(db: &Database) -> Vec<Finding> {
    let mut out = Vec::new();
    let damage = db.problems.iter().filter(|problem| problem.weight == Weight::Damage);
    let (options, damage): (Vec<_>, Vec<_>) =
        damage.partition(|problem| problem.file.starts_with("OPTIONS-"));
    if !options.is_empty() {
        let title = "The OPTIONS file is not readable".to_string();
        let finding = Finding::new("damaged-options", Severity::Warning, title);
        let finding = options
            .iter()
            .take(EVIDENCE_MAX)
            .fold(finding, |f, problem| f.evidence(format!("{}: {}", problem.file, problem.text)));
        out.push(
            finding
                .cost("No data is lost. A program that loads its options from the directory does not open the database, and the rules about options see only the info log.")
                .action("Open the database once with the options of the program. The open writes a new OPTIONS file."),
        );
    }
    let (lost, damage): (Vec<_>, Vec<_>) =
        damage.into_iter().partition(|problem| problem.text.starts_with(LOST_EDITS));
    out.extend(lost.first().map(|problem| lost_edits(problem)));
    if !damage.is_empty() {
        let title = format!("Files are missing or damaged in {}", words::of(damage.len() as u64, "place"));
        let mut finding = Finding::new("damaged-files", Severity::Critical, title);
        for problem in damage.iter().take(EVIDENCE_MAX) {
            let place = problem.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
            finding = finding.evidence(format!("{}{place}: {}", problem.file, problem.text));
        }
        if damage.len() > EVIDENCE_MAX {
            finding = finding.evidence(format!("and {} more places", damage.len() - EVIDENCE_MAX));
        }
        let cost = "Reads of the damaged parts fail, or the database does not open.";
        out.push(finding.cost(cost).action(if db.contents_read { RESTORE } else { READ_AND_RESTORE }));
    }
    let doubts: Vec<_> =
        db.problems.iter().filter(|p| p.weight == Weight::Warning && p.text.contains("cf_paths")).collect();
    if !doubts.is_empty() {
        let title = "No SST file of a column family is in this directory".to_string();
        let finding = Finding::new("files-elsewhere", Severity::Warning, title);
        let finding =
            doubts.iter().take(EVIDENCE_MAX).fold(finding, |f, problem| f.evidence(problem.text.clone()));
        out.push(finding.cost("If no option names another directory, all data of the column family is lost.").action(
            "Look for the files in the directories of cf_paths and db_paths, which no file of the database names.",
        ));
    }
    out.extend(
        db.families.iter().filter_map(|family| other_comparator(db, &family.name, &family.comparator)),
    );
    if let Some(last) = db.log.errors.last() {
        let title = format!(
            "The info log has {}",
            words::of(db.log.errors.len() as u64 + db.log.older.errors, "error")
        );
        let mut finding = Finding::new("errors-in-log", Severity::Warning, title);
        for line in db.log.errors.iter().rev().take(3) {
            finding = finding.evidence(format!("{} {}", words::date(line.micros), line.text));
        }
        let cost = format!(
            "A background error can stop writers. The last error was at {}.",
            words::date(last.micros)
        );
        out.push(finding.cost(cost).action(remedy(db, &last.text)));
    }
    out
}

/// Returns the finding about a column family whose OPTIONS file has another comparator than the MANIFEST.
fn other_comparator(db: &Database, family: &str, comparator: &str) -> Option<Finding> {
    let options = db.options.as_ref()?;
    let is_own = |section: &&OptionSection| section.scope == Scope::Family(family.to_string());
    let rows = &options.sections.iter().find(is_own)?.rows;
    let named = &rows.iter().find(|row| row.name == "comparator")?.value;
    if named == comparator || base::option::is_null(named) {
        return None;
    }
    let title = "The OPTIONS file has another comparator than the data".to_string();
    let finding = Finding::new("other-comparator", Severity::Critical, title).family(family);
    Some(
        finding
            .evidence(format!("{}: comparator={named}", options.file))
            .evidence(format!("the MANIFEST has the comparator {comparator}"))
            .cost("An open with the options of this file fails: the order of the keys on disk is the order of the MANIFEST.")
            .action(format!("Open the column family with the comparator {comparator}. The open writes a new OPTIONS file.")),
    )
}

/// Returns the finding about a MANIFEST that lost edits.
fn lost_edits(problem: &Problem) -> Finding {
    let place = problem.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
    let title = "The MANIFEST lost edits that were durable".to_string();
    // Without a file that no edit names, the lost edits add no file.
    let loses_files = problem.text.contains("no edit names");
    let severity = if loses_files { Severity::Critical } else { Severity::Warning };
    let cost = match loses_files {
        true => "An open succeeds with older data, and deletes the files that no edit names.",
        false => "An open succeeds, but an edit after the last flush or compaction is missing.",
    };
    Finding::new("lost-edits", severity, title)
        .evidence(format!("{}{place}: {}", problem.file, problem.text))
        .cost(cost)
        .action("Copy the directory before the next open. Then restore a backup, or run `ldb repair` on the copy.")
}

/// Texts in errors of the system, and what the user can do.
const REMEDIES: [(&str, &str); 5] = [
    ("No space left", "Free space on the disk of the database. Then resume or reopen the database."),
    (
        "Too many open files",
        "Raise the limit of open files of the process (ulimit -n), or set max_open_files below this limit. Then reopen the database.",
    ),
    (
        "Permission denied",
        "Give the user of the process the rights to all files of the directory. Then reopen the database.",
    ),
    (
        "Read-only file system",
        "Find out why the system mounted the disk for reading only: often the disk has a fault.",
    ),
    ("Corruption", READ_AND_RESTORE),
];

/// The changes for damage: before a read of every byte, after such a read, and after such a read without a fault.
const READ_AND_RESTORE: &str = "Copy the directory. Then run `ironstone doctor --deep` to see every fault, and restore a backup or run `ldb repair`.";
const RESTORE: &str = "Copy the directory. Then restore a backup, or run `ldb repair` on the copy.";
const SOUND: &str = "The files have no fault now: this run read every byte. Look for a fault of the disk or of the memory in the log of the system. Then resume or reopen the database.";

/// Returns the change for an error in the info log.
fn remedy(db: &Database, error: &str) -> &'static str {
    let known = REMEDIES.iter().find(|(part, _)| error.contains(part));
    let text = known
        .map_or("Remove the cause of the last error, and resume or reopen the database.", |(_, text)| text);
    let is_damaged = db.problems.iter().any(|problem| problem.weight == Weight::Damage);
    match (text == READ_AND_RESTORE && db.contents_read, is_damaged) {
        (true, true) => RESTORE,
        (true, false) => SOUND,
        (false, _) => text,
    }
}
