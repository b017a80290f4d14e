//! The options with their effects. Values that differ from the default come first.

use maud::{Markup, html};

use super::View;
use super::layout::absent;
use crate::model::{OptionRow, OptionSection, Scope};
use crate::words;

/// The largest number of sections on a page.
const SECTIONS_MAX: usize = 80;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let title = "Options".to_string();
    let Some(options) = &view.db.options else {
        return (title, absent("There is no OPTIONS file and no info log with options."));
    };
    let all = view.number("all") == 1;
    let body = html! {
        p {
            "From " code { (options.file) }
            @if !options.release.is_empty() { ", written by release " (options.release) }
            ". Defaults are those of RocksDB 11.8.1. Secrets are not shown. "
            @if all { a href="/options" { "Show only values that differ" } }
            @else { a href="/options?all=1" { "Show all values" } }
        }
        @for section in options.sections.iter().take(SECTIONS_MAX) { (one(section, all)) }
        @if options.sections.len() > SECTIONS_MAX {
            p { "and " (words::of((options.sections.len() - SECTIONS_MAX) as u64, "more section")) }
        }
    };
    (title, body)
}

fn one(section: &OptionSection, all: bool) -> Markup {
    let (place, family) = match &section.scope {
        Scope::Database => ("Database", None),
        Scope::Family(name) => ("Column family", Some(name)),
        Scope::Table(name) => ("Tables of column family", Some(name)),
    };
    let rows: Vec<&OptionRow> = section.rows.iter().filter(|row| all || row.differs()).collect();
    html! {
        h2 { (place) @if let Some(family) = family { " " q { (family) } } }
        @if rows.is_empty() { p class="muted" { "All values are defaults." } } @else {
            div class="scroll" tabindex="0" { table class="options" {
                thead { tr {
                    th scope="col" { "Option" }
                    th scope="col" { "Value" }
                    th scope="col" { "Default" }
                    th scope="col" { "Why it matters" }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { code { (row.name) } @if row.live { span class="tag" { "live" } } }
                            td class="key" { (row.value) @if !row.unit.is_empty() { span class="muted" { " " (row.unit) } } }
                            td class="key" { (row.default_text()) }
                            td { (row.effect) }
                        }
                    }
                }
            } }
        }
    }
}
