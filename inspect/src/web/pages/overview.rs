//! The first page: size, activity, faults and changes in plain words.

use maud::{Markup, html};

use super::View;
use super::layout::{fact, more, number};
use crate::doctor::{Severity, examine};
use crate::model::{Database, Family, FileKind, JobKind, Source, Weight};
use crate::web::chart;
use crate::words;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let db = view.db;
    let findings = examine(db);
    let damage = db.problems.iter().filter(|problem| problem.weight == Weight::Damage).count();
    let body = html! {
        div class="cards" {
            section class="card" { h2 { "How large is it?" } (size(db)) }
            section class="card" { h2 { "What is it doing?" } (doing(db)) }
            section class={ "card" @if damage > 0 { " bad" } } {
                h2 { "What is wrong?" }
                (wrong(db, damage))
            }
            section class="card" {
                h2 { "What to change?" }
                @if findings.is_empty() {
                    p { "Nothing. The rules of the doctor found no fault and no expensive setting." }
                } @else {
                    ol {
                        @for finding in findings.iter().take(4) {
                            li { span class={ "tag " (finding.severity.word()) } { (finding.severity.word()) } " " (finding.title) }
                        }
                    }
                    p { a href="/doctor" { (words::of(findings.len() as u64, "finding")) " with evidence and change" } }
                    @if findings.iter().any(|finding| finding.severity == Severity::Critical) {
                        p class="note" { "A critical finding concerns the safety of data." }
                    }
                }
            }
        }
        @if !db.families.is_empty() { (families(db)) }
        (disk(db))
    };
    ("Overview".to_string(), body)
}

fn size(db: &Database) -> Markup {
    let (entries, deletions) =
        db.families.iter().map(Family::entries).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let wal = db.bytes_of(FileKind::Wal);
    html! {
        @if db.source == Source::InfoLog {
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
                        " Counted in " (words::count(db.tables_read as u64)) " of the files."
                    }
                }
            }
            p { (words::bytes(wal)) " of newer writes are in write-ahead logs (WAL)." }
        }
    }
}

fn doing(db: &Database) -> Markup {
    let last = db.files.iter().map(|file| file.modified).max().unwrap_or(0);
    let jobs = |kind| db.log.jobs_of(kind);
    let stalls = db.log.stalls.len() as u64 + db.log.older.stalls;
    html! {
        @if last > 0 { p { "The last change of a file was " (words::ago(last, db.taken_at)) "." } }
        @if let Some(manifest) = &db.manifest {
            p { (words::count(manifest.last_sequence)) " writes in its life (last sequence number)." }
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

fn wrong(db: &Database, damage: usize) -> Markup {
    html! {
        @if db.problems.is_empty() {
            p { "Nothing is missing or damaged in the parts that this page reads. The command "
                code { "ldb fsck" } " reads every block." }
        } @else {
            @if damage > 0 {
                p { strong { (words::of(damage as u64, "place")) " with damage." } }
            }
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
    }
}

fn families(db: &Database) -> Markup {
    let whole = db.families.iter().map(Family::bytes).max().unwrap_or(0);
    html! {
        h2 { "Column families" }
        p class="muted" { "A column family is a keyspace with its own files. A read may look into each sorted run." }
        div class="scroll" tabindex="0" { table {
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
