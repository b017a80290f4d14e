//! Disk space by level, age and temperature, for live and dead files, and the reasons why dead files are kept.

use std::collections::BTreeMap;

use base::Level;
use maud::{Markup, html};

use super::View;
use super::layout::{absent, hidden_header, more, number};
use crate::model::live::{Kept, KeptVersion};
use crate::model::{Database, FileKind};
use crate::web::chart;
use crate::words;

/// The largest number of rows in a table.
const ROWS_MAX: usize = 300;

/// Column family, level, age, and temperature.
type Key<'a> = (&'a str, Level, &'static str, u8);

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let db = view.db;
    let shares = shares(db);
    let whole: u64 = shares.values().map(|(_, bytes)| bytes).sum();
    let body = html! {
        (live_and_dead(db))
        h2 { "Live SST files by level, age and temperature" }
        p { "The age is the age of the oldest data in a file, through all compactions. The temperature says on which storage a "
            "file belongs; " q { "unknown" } " is the default." }
        @if shares.is_empty() { (absent("No SST file is known.")) } @else {
            div class="scroll" tabindex="0" { table class="wrapped shares" {
                thead { tr {
                    th scope="col" { "Column family" }
                    th scope="col" { "Level" }
                    th scope="col" { "Age" }
                    th scope="col" { "Temperature" }
                    th scope="col" class="num" { "Files" }
                    th scope="col" class="num" { "Bytes" }
                    (hidden_header("Share"))
                } }
                tbody {
                    @for ((family, level, age, temperature), (files, bytes)) in shares.iter().take(ROWS_MAX) {
                        tr {
                            th scope="row" { (family) }
                            td { (level) }
                            td { (age) }
                            td { (heat(*temperature)) }
                            (number(words::count(*files)))
                            (number(words::bytes(*bytes)))
                            td { (chart::bar(*bytes, whole)) }
                        }
                    }
                }
            } }
            (more(shares.len(), ROWS_MAX))
        }
        h2 { "What keeps files that are not needed?" }
        @match &view.live {
            Some(live) => (kept(&live.kept, db.taken_at)),
            None => (absent("Only the process that has the database open knows the readers. Let this process serve the pages: see the feature inspector of the library.")),
        }
    };
    ("Disk".to_string(), body)
}

fn shares(db: &Database) -> BTreeMap<Key<'_>, (u64, u64)> {
    let mut sums: BTreeMap<Key<'_>, (u64, u64)> = BTreeMap::new();
    for family in &db.families {
        for file in &family.files {
            let oldest = if file.oldest == 0 { file.created } else { file.oldest };
            let key = (family.name.as_str(), file.level, age(oldest, db.taken_at), file.temperature);
            let (files, bytes) = sums.entry(key).or_default();
            *files += 1;
            *bytes += file.size;
        }
    }
    sums
}

fn age(oldest: u64, now: u64) -> &'static str {
    match now.saturating_sub(oldest) {
        _ if oldest == 0 => "unknown",
        0..3600 => "less than an hour",
        3600..86_400 => "less than a day",
        86_400..604_800 => "less than a week",
        604_800..2_592_000 => "less than a month",
        _ => "older",
    }
}

/// Returns the name of a temperature. RocksDB: `Temperature`.
fn heat(temperature: u8) -> &'static str {
    match temperature {
        0x04 => "hot",
        0x08 => "warm",
        0x0a => "cool",
        0x0c => "cold",
        0x10 => "ice",
        _ => "unknown",
    }
}

fn live_and_dead(db: &Database) -> Markup {
    let whole: u64 = db.files.iter().map(|file| file.size).sum();
    html! {
        p { "The directory has " (words::of(db.files.len() as u64, "file")) " with " strong { (words::bytes(whole)) } "." }
        @if !db.files.is_empty() {
            div class="scroll" tabindex="0" { table class="wrapped kinds" {
                thead { tr {
                    th scope="col" { "Kind of file" }
                    th scope="col" class="num" { "Files" }
                    th scope="col" class="num" { "Bytes" }
                    (hidden_header("Share"))
                    th scope="col" class="num" { "Live" }
                    th scope="col" class="num" { "Dead" }
                } }
                tbody {
                    @for kind in FileKind::ALL {
                        @let of = |live: bool| -> u64 { db.files.iter().filter(|f| f.kind == kind && f.live == live).map(|f| f.size).sum() };
                        @let count = db.count_of(kind) as u64;
                        @if count > 0 {
                            tr {
                                th scope="row" { (kind.title()) }
                                (number(words::count(count)))
                                (number(words::bytes(db.bytes_of(kind))))
                                td { (chart::bar(db.bytes_of(kind), whole)) }
                                (number(words::bytes(of(true))))
                                (number(words::bytes(of(false))))
                            }
                        }
                    }
                }
            } }
            p class="muted" { "A dead file has no entry in the MANIFEST. A running writer may just have made the file, or a reader still needs it." }
        }
    }
}

/// Names the readers of an older version, and since when the readers keep the version.
fn holders(version: &KeptVersion, now: u64) -> String {
    let named = |readers: Option<(u64, u64)>, one: &str| {
        readers.map(|(count, since)| {
            format!("{}, the oldest began {}", words::of(count, one), words::ago(since, now))
        })
    };
    let all = [named(version.iterators, "iterator"), named(version.compactions, "compaction")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => "a read or a job that ends soon".to_string(),
        false => all.join("; "),
    }
}

fn kept(kept: &Kept, now: u64) -> Markup {
    let nothing = kept.versions.is_empty() && kept.obsolete_bytes == 0 && !kept.deletions_disabled;
    html! {
        @if nothing { p { "Nothing. Each file of the database is needed by the newest version." } }
        @if kept.deletions_disabled { p class="note" { "The call disable_file_deletions keeps all obsolete files." } }
        @if kept.obsolete_bytes > 0 { p { (words::bytes(kept.obsolete_bytes)) " of obsolete SST files are not deleted yet." } }
        @if !kept.versions.is_empty() {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Column family" }
                    th scope="col" { "Holder" }
                    th scope="col" class="num" { "Files" }
                    th scope="col" class="num" { "Bytes" }
                } }
                tbody {
                    @for version in kept.versions.iter().take(ROWS_MAX) {
                        tr {
                            th scope="row" { (version.family) }
                            td { (holders(version, now)) }
                            (number(words::count(version.files.len() as u64)))
                            (number(words::bytes(version.bytes)))
                        }
                    }
                }
            } }
            (more(kept.versions.len(), ROWS_MAX))
        }
        p {
            (words::of(kept.snapshots, "snapshot"))
            @if let Some(oldest) = kept.oldest_snapshot { ", the oldest made " (words::ago(oldest, now)) }
            ". A snapshot keeps old entries in the files, and keeps no file."
            @if kept.pinned_bytes > 0 { " Readers hold " (words::bytes(kept.pinned_bytes)) " of the block caches." }
        }
    }
}
