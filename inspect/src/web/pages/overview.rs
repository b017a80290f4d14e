//! The first page: size, activity, faults and changes in plain words.

use maud::{Markup, html};

use super::doctor::counted;
use super::layout::{fact, more, number};
use super::options::prose;
use super::{View, doctor, live, tree};
use crate::doctor::{Change, Group, Severity, examine, groups};
use crate::model::{Database, Family, FileKind, JobKind, Problem, Source, Weight};
use crate::web::chart;
use crate::words;

/// The largest number of findings on the page.
const FINDINGS_MAX: usize = 5;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let db = view.db;
    let findings = examine(db);
    let groups = groups(&findings);
    let damage = db.problems.iter().filter(|problem| problem.weight == Weight::Damage).count();
    let body = html! {
        (verdict(db, &groups))
        div class="cards" {
            section class="card" { h2 { "How large is it?" } (size(db)) }
            section class="card" { h2 { "What is it doing?" } (doing(view)) }
            section class={ "card" @if damage > 0 { " bad" } } {
                h2 { "What is wrong?" }
                (wrong(db, damage, &groups))
            }
            section class="card" {
                h2 { "What to change?" }
                (changes(&groups))
            }
        }
        (largest(view))
        @if !db.log.jobs.is_empty() {
            h2 { "What happened?" }
            (chart::activity(&db.log))
            p { a href="/activity" { "Activity: jobs by reason, stalls, errors and warnings" } }
        }
        @if !db.families.is_empty() { (families(db)) }
        (disk(db))
    };
    ("Overview".to_string(), body)
}

/// Returns one sentence about the state of the database.
fn verdict(db: &Database, groups: &[Group<'_>]) -> Markup {
    let has = |severity| groups.iter().any(|group| group.first().severity == severity);
    // An unreadable OPTIONS file has no data.
    let is_lost =
        |problem: &Problem| problem.weight == Weight::Damage && !problem.file.starts_with("OPTIONS-");
    let (class, text) = if db.problems.iter().any(is_lost) {
        ("critical", "The database is damaged: data is missing or unreadable.")
    } else if has(Severity::Critical) {
        ("critical", "The files are sound, but a setting can lose data.")
    } else if has(Severity::Warning) {
        ("warning", "The database works, and some settings or events cost much.")
    } else if !groups.is_empty() {
        ("advice", "The database is sound. A few settings could be better.")
    } else if db.source == Source::InfoLog {
        ("good", "The info log shows no fault and no expensive setting.")
    } else {
        ("good", "The database is sound. The rules found nothing to change.")
    };
    html! {
        p class={ "verdict " (class) } {
            strong { (text) }
            @if !groups.is_empty() { " " a href="/doctor" { (counted(groups)) } "." }
        }
    }
}

/// Returns the titles of the heaviest findings, each with its option text or action.
fn changes(groups: &[Group<'_>]) -> Markup {
    html! {
        @if groups.is_empty() {
            p { "Nothing. The rules of the doctor found no fault and no expensive setting." }
        } @else {
            ol class="changes" {
                @for group in groups.iter().take(FINDINGS_MAX) {
                    li {
                        (group.first().title)
                        @if group.first().family.is_some() && group.members.len() < 4 {
                            span class="muted" { " (" (doctor::families(group, 4)) ")" }
                        }
                        br;
                        @match &group.first().change {
                            Change::Live(text) => { (options(text)) span class="muted" { " at any time" } }
                            Change::Reopen(text) => { (options(text)) span class="muted" { " at the next open" } }
                            Change::Action(text) => { (prose(text)) }
                        }
                    }
                }
            }
            p { a href="/doctor" { "All findings with evidence, cost and change" } }
        }
    }
}

/// Returns option text that may break after each option.
fn options(text: &str) -> Markup {
    html! { code { @for part in text.split_inclusive(';') { (part) wbr; } } }
}

/// Draws the largest column family.
fn largest(view: &View<'_>) -> Markup {
    let largest = view.db.families.iter().max_by_key(|family| family.bytes()).filter(|f| !f.files.is_empty());
    html! {
        @if let Some(family) = largest {
            h2 { "Where is the data?" }
            p class="muted" {
                "Each box is a sorted file. New data enters level 0 (L0) and moves down by compaction."
                @if view.db.families.len() > 1 { " This is the largest column family, " q { (family.name) } "." }
            }
            (tree::drawing(view, family))
            p { a href="/tree" { "The LSM tree of each column family" } }
        }
    }
}

fn size(db: &Database) -> Markup {
    let (entries, deletions) = db
        .families
        .iter()
        .map(Family::entries)
        .fold((0, 0), |(entries, deletions), (more, deleted)| (entries + more, deletions + deleted));
    let wal = db.bytes_of(FileKind::Wal);
    html! {
        @if db.source == Source::InfoLog {
            @let logged = db.with_logged_levels();
            @if logged.sst_count() > 0 {
                p class="big" { (words::bytes(logged.sst_bytes())) }
                p {
                    "in " (words::of(logged.sst_count() as u64, "sorted file")) " (SST files) of "
                    (words::of(logged.families.len() as u64, "column family")) ", at the last statistics."
                }
            }
            p { "Only the info log is known. It has " (words::bytes(db.log.bytes)) "." }
        } @else {
            p class="big" { (words::bytes(db.sst_bytes() + db.bytes_of(FileKind::Blob))) }
            p {
                "in " (words::of(db.sst_count() as u64, "sorted file")) " (SST files) of "
                (words::of(db.families.len() as u64, "column family")) "."
            }
            @if entries > 0 {
                p {
                    "About " (words::of(entries, "entry")) ", of them " (words::of(deletions, "tombstone")) " (deletion marks)."
                    @if db.tables_read < db.sst_count() {
                        " Estimated from " (words::count(db.tables_read as u64)) " of the files."
                    }
                }
            }
            p { (words::bytes(wal)) " of newer writes are in write-ahead logs (WAL)." }
        }
    }
}

fn doing(view: &View<'_>) -> Markup {
    let db = view.db;
    let last = db.files.iter().map(|file| file.modified).max().unwrap_or(0);
    let jobs = |kind| db.log.jobs_of(kind);
    let stalls = db.log.stalls.len() as u64 + db.log.older.stalls;
    html! {
        @if let Some(facts) = &view.live {
            p { a href="/live" { (live::running_jobs(&facts.counters)) } ", and writers are " (live::writers(&facts.counters)) "." }
        }
        @if last > 0 { p { "The last change of a file was " (words::ago(last, db.taken_at)) "." } }
        @if let Some(manifest) = &db.manifest {
            p { (words::count(manifest.last_sequence)) " writes in its life (last sequence number)" @if db.bytes_of(FileKind::Wal) > 0 { ", without the newest in the WALs" } "." }
        }
        @if db.log.lines > 0 {
            p {
                "The info log shows " (words::of(jobs(JobKind::Flush), "flush")) " (memory to file) and "
                (words::of(jobs(JobKind::Compaction), "compaction")) " (files merged)."
            }
            @if let Some(amplification) = db.log.write_amplification() {
                p { "Each flushed byte was written " (format!("{amplification:.1}")) " times in total (write amplification)." }
            }
            @match (stalls, db.log.is_part()) {
                (0, false) => { p { "The info log has no message that writers were slowed down." } }
                (0, true) => { p { "The part of the info log that was read has no message that writers were slowed down." } }
                (n, _) => { p { a href="/activity" { "Writers were slowed down or stopped: " (words::of(n, "message")) } "." } }
            }
            @if db.log.is_part() {
                p class="muted" { "The newest " (words::bytes(db.log.bytes_read)) " of " (words::bytes(db.log.bytes)) " of the info log were read." }
            }
        } @else {
            p { "There is no info log, so its past work is not known." }
        }
    }
}

fn wrong(db: &Database, damage: usize, groups: &[Group<'_>]) -> Markup {
    // The problems say more than the finding about them.
    let costly: Vec<&Group<'_>> = groups
        .iter()
        .filter(|group| group.first().severity > Severity::Advice && group.first().rule != "damaged-files")
        .collect();
    html! {
        @if damage > 0 { p { strong { (words::of(damage as u64, "place")) " with damage." } } }
        @if !db.problems.is_empty() {
            ul {
                @for problem in db.problems.iter().take(12) {
                    li {
                        @if !problem.file.is_empty() { code { (problem.file) } " " }
                        @if let Some(offset) = problem.offset { "at byte " (words::count(offset)) ": " }
                        (problem.text)
                    }
                }
            }
            @if db.problems.len() > 12 { p { "and " (words::count(db.problems.len() as u64 - 12)) " more" } }
        }
        @if !costly.is_empty() {
            ul class="tags" {
                @for group in costly.iter().take(FINDINGS_MAX) {
                    li { span class={ "tag " (group.first().severity.word()) } { (group.first().severity.word()) } " " (group.first().title) }
                }
            }
            @if costly.len() > FINDINGS_MAX { p { "and " (costly.len() - FINDINGS_MAX) " more" } }
        }
        @if damage == 0 {
            p class="muted" { "Nothing is missing or damaged in the parts that this page reads. The command "
                code { "ironstone doctor --deep" } " reads every block." }
        }
    }
}

fn families(db: &Database) -> Markup {
    let whole = db.families.iter().map(Family::bytes).max().unwrap_or(0);
    html! {
        h2 { "Column families" }
        p class="muted" { "A column family is a keyspace with its own files. A read may look into each sorted run." }
        div class="scroll" tabindex="0" { table class="stacked families" {
            thead { tr {
                th scope="col" { "Name" }
                th scope="col" class="num" { "Size" }
                th scope="col" { span class="hidden" { "Share" } }
                th scope="col" class="num" { "Files" }
                th scope="col" class="num" { "Sorted runs" }
                th scope="col" class="num" { "Space amplification" }
                th scope="col" class="num" { "Entries" }
                th scope="col" class="num" { "Tombstones" }
            } }
            tbody {
                @for family in db.families.iter().take(FAMILIES_MAX) {
                    @let (entries, deletions) = family.entries();
                    tr {
                        th scope="row" { a href={ "/tree?family=" (family.id) } { (family.name) } }
                        (number(words::bytes(family.bytes())))
                        td { (chart::bar(family.bytes(), whole)) }
                        (number(words::count(family.files.len() as u64)))
                        (number(words::count(family.sorted_runs() as u64)))
                        (number(family.space_amplification().map_or("-".to_string(), |ratio| format!("{ratio:.2}"))))
                        (number(words::count(entries)))
                        (number(words::percent(deletions, entries)))
                    }
                }
            }
        } }
        (more(db.families.len(), FAMILIES_MAX))
    }
}

/// The largest number of column families in the table.
const FAMILIES_MAX: usize = 500;

fn disk(db: &Database) -> Markup {
    let total: u64 = db.files.iter().map(|file| file.size).sum();
    let garbage: u64 = db.files.iter().filter(|file| !file.live).map(|file| file.size).sum();
    html! {
        @if !db.files.is_empty() {
            h2 { "Disk" }
            dl class="facts" {
                (fact("All files", html! { (words::bytes(total)) }, ""))
                @for kind in FileKind::ALL {
                    @if db.count_of(kind) > 0 {
                        (fact(kind.title(), html! { (words::bytes(db.bytes_of(kind))) },
                            &words::of(db.count_of(kind) as u64, "file")))
                    }
                }
                @if garbage > 0 {
                    (fact("Without entry in the MANIFEST", html! { (words::bytes(garbage)) },
                        "a running writer may just have made these files; the next open removes the rest"))
                }
            }
        }
    }
}
