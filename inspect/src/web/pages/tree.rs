//! The LSM tree by level and key range.

use base::Level;
use maud::{Markup, html};

use super::View;
use super::layout::{absent, more, number};
use crate::model::Family;
use crate::web::chart;
use crate::words;

/// The largest number of column families on a page.
const FAMILIES_MAX: usize = 12;

/// The largest number of links to column families.
const LINKS_MAX: usize = 500;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let db = view.db;
    let chosen: Vec<&Family> = match view.target.numbers.get("family") {
        Some(id) => u32::try_from(*id).ok().and_then(|id| db.family(id)).into_iter().collect(),
        None => db.families.iter().filter(|family| !family.files.is_empty()).take(FAMILIES_MAX).collect(),
    };
    let is_all = !view.target.numbers.contains_key("family");
    let with_files = db.families.iter().filter(|family| !family.files.is_empty()).count();
    let body = html! {
        p {
            "New data enters at the top (level 0) and moves down by compaction. Each box is a file. Its width shows how much data is in its range of keys. "
            "Files of level 0 may overlap, so each file has its own row. Select a file to open it."
        }
        @if chosen.is_empty() { (absent("There is no column family with SST files.")) }
        @for family in &chosen { (one(view, family)) }
        @if is_all { (more(with_files, FAMILIES_MAX)) }
        @if db.families.len() > 1 {
            h2 { "Choose a column family" }
            ul class="inline" {
                @for family in db.families.iter().take(LINKS_MAX) {
                    li { a href={ "/tree?family=" (family.id) } { (family.name) } " (" (words::bytes(family.bytes())) ")" }
                }
            }
            (more(db.families.len(), LINKS_MAX))
        }
    };
    ("LSM tree".to_string(), body)
}

/// Draws the levels of a column family with the meaning of the colours.
pub(super) fn drawing(view: &View<'_>, family: &Family) -> Markup {
    let compacting = view.compacting();
    html! {
        div class="levels" {
            @for sum in &family.levels() {
                div class="name" {
                    strong { (sum.level) } " " (words::bytes(sum.bytes))
                    span class="muted" { " " (words::of(sum.files as u64, "file")) }
                    @if sum.level == Level::ZERO && sum.files > chart::FILES_DRAWN_MAX {
                        span class="muted" { ", the newest " (chart::FILES_DRAWN_MAX) " are drawn" }
                    }
                }
                (chart::level(family, sum.level, view.db.taken_at, &compacting))
            }
        }
        ul class="legend" aria-label="Colours" {
            @for (class, name) in chart::legend(family, view.db.taken_at, &compacting) {
                li { svg class="key" viewBox="0 0 10 10" aria-hidden="true" { rect class={ "file " (class) } width="10" height="10" rx="2" {} } " " (name) }
            }
        }
    }
}

fn one(view: &View<'_>, family: &Family) -> Markup {
    let levels = family.levels();
    let whole = levels.iter().map(|sum| sum.bytes).max().unwrap_or(0);
    html! {
        section class="tree" {
            h2 { "Column family " q { (family.name) } }
            p class="muted" { "Left: the first key. Right: the last key, in the order of the comparator " code { (family.comparator) } "." }
            (drawing(view, family))
            div class="scroll" tabindex="0" { table class="stacked sums" {
                thead { tr {
                    th scope="col" { "Level" }
                    th scope="col" class="num" { "Size" }
                    th scope="col" { span class="hidden" { "Share" } }
                    th scope="col" class="num" { "Files" }
                    th scope="col" class="num" { "Entries" }
                    th scope="col" class="num" { "Tombstones" }
                    th scope="col" { "Newest file" }
                    th scope="col" { "Oldest data" }
                } }
                tbody {
                    @for sum in &levels {
                        tr {
                            th scope="row" { a href={ "/files?family=" (family.id) "&level=" (sum.level.get()) } { (sum.level) } }
                            (number(words::bytes(sum.bytes)))
                            td { (chart::bar(sum.bytes, whole)) }
                            (number(words::count(sum.files as u64)))
                            (number(words::count(sum.entries)))
                            (number(words::percent(sum.deletions, sum.entries)))
                            td { (words::ago(sum.newest, view.db.taken_at)) }
                            td { (words::ago(sum.oldest, view.db.taken_at)) }
                        }
                    }
                }
            } }
            @if !family.blobs.is_empty() {
                @let bytes: u64 = family.blobs.iter().map(|blob| blob.bytes).sum();
                @let garbage: u64 = family.blobs.iter().map(|blob| blob.garbage_bytes).sum();
                p { (words::of(family.blobs.len() as u64, "blob file")) " with " (words::bytes(bytes)) " of large values, of them "
                    (words::percent(garbage, bytes)) " garbage." }
            }
        }
    }
}
