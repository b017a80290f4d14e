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
    let of_log = view.db.log.release.as_deref().unwrap_or_default();
    let release = if options.release.is_empty() { of_log } else { options.release.as_str() };
    let sections = joined(&options.sections, all);
    let body = html! {
        p {
            "From " code { (options.file) }
            @if !release.is_empty() { ", written by release " (release) }
            ". Defaults are those of RocksDB 11.8.1. Secrets are not shown. "
            span class="tag" { "live" } " marks an option that can change while the database is open. "
            @if all { a href="/options" { "Show only values that differ" } }
            @else { a href="/options?all=1" { "Show all values" } }
        }
        @for section in sections.iter().take(SECTIONS_MAX) { (one(section, all, view.db.is_ironstone())) }
        @if sections.len() > SECTIONS_MAX {
            p { "and " (words::of((sections.len() - SECTIONS_MAX) as u64, "more section")) }
        }
    };
    (title, body)
}

/// Sections with the same rows, each of another column family.
struct Joined<'a> {
    place: &'static str,
    /// Empty for the database.
    families: Vec<&'a str>,
    rows: Vec<&'a OptionRow>,
}

/// Joins the sections of one kind that have the same rows. The order stays.
fn joined(sections: &[OptionSection], all: bool) -> Vec<Joined<'_>> {
    let mut out: Vec<Joined<'_>> = Vec::new();
    for section in sections {
        let (place, family) = match &section.scope {
            Scope::Database => ("Database", None),
            Scope::Family(name) => ("Column family", Some(name.as_str())),
            Scope::Table(name) => ("Tables of column family", Some(name.as_str())),
        };
        let rows: Vec<&OptionRow> = section.rows.iter().filter(|row| all || row.differs()).collect();
        match out.iter_mut().find(|joined| joined.place == place && joined.rows == rows) {
            Some(same) => same.families.extend(family),
            None => out.push(Joined { place, families: family.into_iter().collect(), rows }),
        }
    }
    out
}

/// The largest number of names in a heading.
const NAMES_MAX: usize = 12;

/// Draws a section. `all` shows each field of a nested value; otherwise only the fields that differ from the default are shown.
fn one(section: &Joined<'_>, all: bool, is_ironstone: bool) -> Markup {
    html! {
        h2 {
            (section.place)
            @for (at, family) in section.families.iter().take(NAMES_MAX).enumerate() { @if at > 0 { "," } " " q { (family) } }
            @if section.families.len() > NAMES_MAX { " and " (section.families.len() - NAMES_MAX) " more" }
        }
        @if section.rows.is_empty() { p class="muted" { "All values are defaults." } } @else {
            div class="scroll" tabindex="0" { table class="options" {
                thead { tr {
                    th scope="col" { "Option" }
                    th scope="col" { "Value" }
                    th scope="col" { "Default" }
                    th scope="col" { "Why it matters" }
                } }
                tbody {
                    @for row in &section.rows {
                        @let (value, default) = if all { (row.value.clone(), row.default_text().to_string()) } else { row.difference() };
                        tr {
                            th scope="row" { code { (row.name) } @if row.live { " " span class="tag" { "live" } } }
                            td class="key" { (value) (unit(row, &value)) }
                            td class="key" { (default) (unit(row, &default)) }
                            td { (prose(&effect(&row.effect, is_ironstone))) }
                        }
                    }
                }
            } }
        }
    }
}

/// Returns the effect of an option in the program that wrote the database. The text of an option without effect in Ironstone can end with
/// its effect in RocksDB.
fn effect(text: &str, is_ironstone: bool) -> String {
    let Some(reason) = text.strip_prefix("Has no effect: ").filter(|_| !is_ironstone) else {
        return text.to_string();
    };
    match reason.split_once("RocksDB: ") {
        Some((_, own)) => {
            let mut letters = own.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        }
        None => format!("Has no effect in Ironstone: {reason}"),
    }
}

/// Returns the unit of a number. A large number of bytes has its size in a binary unit.
fn unit(row: &OptionRow, value: &str) -> Markup {
    let number = value.parse::<u64>().ok();
    let text = match (row.unit.as_str(), number) {
        (_, None) => String::new(),
        ("bytes", Some(bytes)) if bytes >= 1024 => format!("bytes, {}", words::bytes(bytes)),
        (unit, _) => unit.to_string(),
    };
    html! { @if !text.is_empty() { span class="muted" { " " (text) } } }
}

/// Returns a text whose parts in back quotes are code.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, value: &str) -> OptionRow {
        OptionRow {
            name: name.to_string(),
            value: value.to_string(),
            default: Some("0".to_string()),
            effect: String::new(),
            unit: "bytes".to_string(),
            live: false,
        }
    }

    #[test]
    fn families_with_the_same_values_share_a_section() {
        let of = |name: &str, value: &str| OptionSection {
            scope: Scope::Family(name.to_string()),
            rows: vec![row("write_buffer_size", value)],
        };
        let sections = [of("a", "1"), of("b", "2"), of("c", "1")];
        let names: Vec<_> = joined(&sections, false).into_iter().map(|joined| joined.families).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
    }

    #[test]
    fn effect_is_the_effect_in_the_program_that_wrote_the_database() {
        let text = "Has no effect: the number is fixed. RocksDB: the number of shards.";
        assert_eq!(effect(text, true), text);
        assert_eq!(effect(text, false), "The number of shards.");
        assert_eq!(effect("Has no effect: a reason.", false), "Has no effect in Ironstone: a reason.");
        assert_eq!(effect("The number of shards.", false), "The number of shards.");
    }

    #[test]
    fn large_sizes_have_a_unit_for_people_and_quotes_become_code() {
        let size = row("write_buffer_size", "67108864");
        assert!(unit(&size, "67108864").into_string().contains("64.0 MiB"));
        assert!(unit(&size, "nullptr").into_string().is_empty());
        assert_eq!(prose("see `a<b` and c").into_string(), "see <code>a&lt;b</code> and c");
    }
}
