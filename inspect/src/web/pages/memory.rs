//! Memory by component, as far as options and files tell, and tombstones by level and file.

use maud::{Markup, html};

use super::View;
use super::layout::{absent, more, number};
use crate::model::{Database, Family, SstFile, live};
use crate::web::chart;
use crate::words;

pub(super) fn memory(view: &View<'_>) -> (String, Markup) {
    if let Some(live) = &view.live {
        return ("Memory".to_string(), held(&live.memory));
    }
    let holders = holders(view.db);
    let whole = holders.iter().map(|holder| holder.bytes).max().unwrap_or(0);
    let total: u64 = holders.iter().map(|holder| holder.bytes).sum();
    let body = html! {
        p { "The memory that a process uses at most with these options and files: " strong { (words::bytes(total)) } ". "
            "The page reads files only; a running process reports its own use." }
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th scope="col" { "Holder" }
                th scope="col" class="num" { "Bytes" }
                th scope="col" { span class="hidden" { "Share" } }
                th scope="col" { "From" }
            } }
            tbody {
                @for holder in holders.iter().take(ROWS_MAX) {
                    tr {
                        th scope="row" { (holder.name) }
                        (number(words::bytes(holder.bytes)))
                        td { (chart::bar(holder.bytes, whole)) }
                        td { (holder.reason) }
                    }
                }
            }
        } }
        (more(holders.len(), ROWS_MAX))
    };
    ("Memory".to_string(), body)
}

/// Returns the memory of a running database, as a tree of components.
fn held(memory: &live::Holder) -> Markup {
    let mut rows = Vec::new();
    flatten(memory, 0, &mut rows);
    html! {
        p { "The database holds " strong { (words::bytes(memory.bytes)) } " now. The bytes of a holder are the sum of its parts." }
        div class="scroll" tabindex="0" { table class="holders" {
            thead { tr {
                th scope="col" { "Holder" }
                th scope="col" class="num" { "Bytes" }
                th scope="col" class="num" { "Of the whole" }
                th scope="col" { span class="hidden" { "Share" } }
            } }
            tbody {
                @for (depth, holder) in rows.iter().take(ROWS_MAX) {
                    tr class={ "depth" (depth.min(&3)) } {
                        th scope="row" { (holder.name) }
                        (number(words::bytes(holder.bytes)))
                        (number(words::percent(holder.bytes, memory.bytes)))
                        td { (chart::bar(holder.bytes, memory.bytes)) }
                    }
                }
            }
        } }
        (more(rows.len(), ROWS_MAX))
        p { a href="/disk" { "What readers keep" } }
    }
}

/// The largest number of files in the list of tombstones.
const FILES_MAX: usize = 200;

/// The largest number of rows in a table of memory.
const ROWS_MAX: usize = 500;

fn flatten<'a>(holder: &'a live::Holder, depth: usize, rows: &mut Vec<(usize, &'a live::Holder)>) {
    rows.push((depth, holder));
    holder.parts.iter().for_each(|part| flatten(part, depth + 1, rows));
}

struct Holder {
    name: String,
    bytes: u64,
    reason: String,
}

/// The default size of a block cache that the options do not name.
const CACHE_DEFAULT: u64 = 32 << 20;

fn holders(db: &Database) -> Vec<Holder> {
    let mut out = Vec::new();
    let option = |family: &Family, name: &str| -> u64 {
        db.family_option(&family.name, name).and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    for family in &db.families {
        let (size, count) = (option(family, "write_buffer_size"), option(family, "max_write_buffer_number"));
        out.push(Holder {
            name: format!("Memtables of {}", family.name),
            bytes: size.saturating_mul(count),
            reason: format!("max_write_buffer_number {count} times write_buffer_size {}", words::bytes(size)),
        });
        let tables = family.files.iter().filter_map(|file| file.stats.as_ref());
        let held: u64 = tables.map(|stats| stats.index_bytes + stats.filter_bytes).sum();
        let cached =
            db.family_option(&family.name, "cache_index_and_filter_blocks").as_deref() == Some("true");
        let where_ =
            if cached { "inside the block cache" } else { "outside the block cache, while the file is open" };
        out.push(Holder {
            name: format!("Index and filter blocks of {}", family.name),
            bytes: if cached { 0 } else { held },
            reason: format!(
                "{} of {}; {where_}",
                words::bytes(held),
                words::of(family.files.len() as u64, "file")
            ),
        });
    }
    let cache = db.log.stats.block_cache_bytes;
    out.push(Holder {
        name: "Block cache".to_string(),
        bytes: cache.unwrap_or(CACHE_DEFAULT),
        reason: match cache {
            Some(_) => "capacity in the info log".to_string(),
            None => "default; OPTIONS files do not hold the capacity".to_string(),
        },
    });
    out.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    out
}

pub(super) fn tombstones(view: &View<'_>) -> (String, Markup) {
    let mut rows: Vec<(&Family, &SstFile, u64, u64)> = Vec::new();
    for family in &view.db.families {
        for file in &family.files {
            if let Some(stats) = file.stats.as_ref().filter(|stats| stats.deletions > 0) {
                rows.push((family, file, stats.deletions, stats.entries));
            }
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.2));
    let total: u64 = rows.iter().map(|row| row.2).sum();
    let body = html! {
        p { "A tombstone is an entry that deletes a key or a range. Scans must skip tombstones, and compaction removes them at the "
            "last level. " strong { (words::of(total, "tombstone")) } " in " (words::of(rows.len() as u64, "file")) "." }
        @if rows.is_empty() { (absent("No file that was read has a tombstone.")) } @else {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "File" }
                    th scope="col" { "Column family" }
                    th scope="col" class="num" { "Level" }
                    th scope="col" class="num" { "Tombstones" }
                    th scope="col" class="num" { "Of the entries" }
                    th scope="col" { span class="hidden" { "Share" } }
                    th scope="col" { "Created" }
                } }
                tbody {
                    @for (family, file, deletions, entries) in rows.iter().take(FILES_MAX) {
                        tr {
                            th scope="row" { a href={ "/file?number=" (file.number) } { (file.number) } }
                            td { (family.name) }
                            (number(file.level.get().to_string()))
                            (number(words::count(*deletions)))
                            (number(words::percent(*deletions, *entries)))
                            td { (chart::bar(*deletions, *entries)) }
                            td { (words::ago(file.created, view.db.taken_at)) }
                        }
                    }
                }
            } }
            (more(rows.len(), FILES_MAX))
        }
    };
    ("Tombstones".to_string(), body)
}
