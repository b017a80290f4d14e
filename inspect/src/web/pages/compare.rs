//! Compares two directories or two times: column families, levels, files, options, findings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Level;
use maud::{Markup, html};

use super::View;
use super::layout::{absent, more, number};
use crate::doctor::examine;
use crate::model::{Database, Family, Scope};
use crate::words;

/// The largest number of rows in a table.
const ROWS_MAX: usize = 200;

/// The number of the other path. It takes the place of a time.
const OTHER: u64 = 1;

/// One side of the comparison.
struct Side {
    /// Seconds since 1970, or `OTHER`.
    id: u64,
    title: String,
    db: Arc<Database>,
}

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let title = "Compare".to_string();
    let sides = match sides(view) {
        Ok(sides) => sides,
        Err(text) => return (title, absent(&text)),
    };
    let chosen = |name: &str, fallback: Option<&Side>| {
        let id = view.target.numbers.get(name).copied().or(fallback.map(|side| side.id));
        sides.iter().find(|side| Some(side.id) == id)
    };
    let other = sides.iter().find(|side| side.id == OTHER);
    let times: Vec<&Side> = sides.iter().filter(|side| side.id != OTHER).collect();
    let before = chosen("before", other.or(times.first().copied()));
    let after = chosen("after", times.last().copied());
    let body = html! {
        p { "The page compares two times of this database, or this database with another directory or bundle (the flag "
            code class="whole" { "--with PATH" } ")." }
        form method="get" action="/compare" {
            (choice(&sides, "before", "Before", before))
            " " (choice(&sides, "after", "After", after))
            " " button type="submit" { "Compare" }
        }
        @match (before, after) {
            (Some(before), Some(after)) if before.id != after.id => (differences(before, after)),
            _ => (absent("Only one time is known. The server keeps the facts each time that a page finds changed files.")),
        }
    };
    (title, body)
}

fn sides(view: &View<'_>) -> Result<Vec<Side>, String> {
    let mut sides = Vec::new();
    match view.site.other() {
        Some(Ok(db)) => {
            let title =
                format!("other: {}, {} UTC", db.name, words::date(db.taken_at.saturating_mul(1_000_000)));
            sides.push(Side { id: OTHER, title, db: Arc::new(db) });
        }
        Some(Err(error)) => return Err(format!("The other path is not readable: {}", error.message())),
        None => {}
    }
    for db in view.site.moments.lock().all() {
        let title = format!("{} UTC", words::date(db.taken_at.saturating_mul(1_000_000)));
        sides.push(Side { id: db.taken_at, title, db });
    }
    // If two moments have the same second, only the newer one can be selected.
    let mut seen = BTreeSet::new();
    sides.reverse();
    sides.retain(|side| seen.insert(side.id));
    sides.reverse();
    Ok(sides)
}

fn choice(sides: &[Side], name: &str, label: &str, chosen: Option<&Side>) -> Markup {
    html! {
        span class="together" {
            label for=(name) { (label) " " }
            select id=(name) name=(name) {
                @for side in sides {
                    option value=(side.id) selected[chosen.is_some_and(|chosen| chosen.id == side.id)] { (side.title) }
                }
            }
        }
    }
}

fn differences(before: &Side, after: &Side) -> Markup {
    html! {
        h2 { "Column families and levels" }
        (sizes(&before.db, &after.db))
        (files(&before.db, &after.db))
        h2 { "Options" }
        (options(&before.db, &after.db))
        h2 { "Findings" }
        (findings(&before.db, &after.db))
    }
}

/// A column family and a level; `None` for the whole column family.
type FamilyLevel = (String, Option<Level>);

fn places(db: &Database) -> BTreeMap<FamilyLevel, (u64, u64)> {
    let mut out = BTreeMap::new();
    for family in &db.families {
        out.insert((family.name.clone(), None), (family.bytes(), family.files.len() as u64));
        for sum in family.levels() {
            out.insert((family.name.clone(), Some(sum.level)), (sum.bytes, sum.files as u64));
        }
    }
    out
}

fn sizes(before: &Database, after: &Database) -> Markup {
    let (old, new) = (places(before), places(after));
    let all: BTreeSet<&FamilyLevel> = old.keys().chain(new.keys()).collect();
    html! {
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th scope="col" { "Column family" }
                th scope="col" { "Level" }
                th scope="col" class="num" { "Bytes before" }
                th scope="col" class="num" { "Bytes after" }
                th scope="col" class="num" { "Change" }
                th scope="col" class="num" { "Files before" }
                th scope="col" class="num" { "Files after" }
            } }
            tbody {
                @for place in all.iter().take(ROWS_MAX) {
                    @let (family, level) = place;
                    @let (old_bytes, old_files) = old.get(*place).copied().unwrap_or_default();
                    @let (new_bytes, new_files) = new.get(*place).copied().unwrap_or_default();
                    tr {
                        th scope="row" { (family) }
                        td { @match level { Some(level) => (level), None => "all" } }
                        (number(words::bytes(old_bytes)))
                        (number(words::bytes(new_bytes)))
                        (number(difference(old_bytes, new_bytes)))
                        (number(words::count(old_files)))
                        (number(words::count(new_files)))
                    }
                }
            }
        } }
        (more(all.len(), ROWS_MAX))
    }
}

fn difference(before: u64, after: u64) -> String {
    match after.cmp(&before) {
        std::cmp::Ordering::Equal => "same".to_string(),
        std::cmp::Ordering::Greater => format!("+{}", words::bytes(after - before)),
        std::cmp::Ordering::Less => format!("-{}", words::bytes(before - after)),
    }
}

/// Lists the files that were added and removed. File numbers are comparable only within one database.
fn files(before: &Database, after: &Database) -> Markup {
    let id = |db: &Database| db.manifest.as_ref().and_then(|manifest| manifest.db_id.clone());
    if id(before) != id(after) {
        return html! {};
    }
    let numbers = |db: &Database| -> BTreeMap<u64, u64> {
        let files = db.families.iter().flat_map(|family: &Family| &family.files);
        files.map(|file| (file.number, file.size)).collect()
    };
    let (old, new) = (numbers(before), numbers(after));
    // Returns the number and the bytes of the files that are only in `these`.
    let only = |these: &BTreeMap<u64, u64>, others: &BTreeMap<u64, u64>| -> (u64, u64) {
        let missing = these.iter().filter(|(number, _)| !others.contains_key(number));
        missing.fold((0, 0), |(files, bytes), (_, size)| (files + 1, bytes + size))
    };
    let (new_files, new_bytes) = only(&new, &old);
    let (removed_files, removed_bytes) = only(&old, &new);
    html! {
        p { "New: " (words::of(new_files, "SST file")) " with " (words::bytes(new_bytes)) ". Removed: "
            (words::of(removed_files, "SST file")) " with " (words::bytes(removed_bytes)) "." }
    }
}

fn options(before: &Database, after: &Database) -> Markup {
    let (old, new) = (values(before), values(after));
    let names: BTreeSet<&(String, String)> = old.keys().chain(new.keys()).collect();
    let changed: Vec<_> = names.into_iter().filter(|name| old.get(*name) != new.get(*name)).collect();
    html! {
        @if changed.is_empty() { p { "The options are the same." } } @else {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Option" }
                    th scope="col" { "Of" }
                    th scope="col" { "Before" }
                    th scope="col" { "After" }
                } }
                tbody {
                    @for name in changed.iter().take(ROWS_MAX) {
                        @let (owner, option) = name;
                        tr {
                            th scope="row" { code { (option) } }
                            td { (owner) }
                            td class="key" { (old.get(*name).map_or("not set", String::as_str)) }
                            td class="key" { (new.get(*name).map_or("not set", String::as_str)) }
                        }
                    }
                }
            } }
            (more(changed.len(), ROWS_MAX))
        }
    }
}

/// Returns the values of all options, by scope and name.
fn values(db: &Database) -> BTreeMap<(String, String), String> {
    let sections = db.options.iter().flat_map(|options| &options.sections);
    let of = |scope: &Scope| match scope {
        Scope::Database => "database".to_string(),
        Scope::Family(name) => format!("column family {name}"),
        Scope::Table(name) => format!("tables of {name}"),
    };
    let rows = sections.flat_map(|section| section.rows.iter().map(move |row| (of(&section.scope), row)));
    rows.map(|(place, row)| ((place, row.name.clone()), row.value.clone())).collect()
}

fn findings(before: &Database, after: &Database) -> Markup {
    let titles = |db: &Database| -> BTreeSet<String> {
        let of = |name: Option<String>| name.map_or(String::new(), |name| format!(" ({name})"));
        examine(db).into_iter().map(|finding| format!("{}{}", finding.title, of(finding.family))).collect()
    };
    let (old, new) = (titles(before), titles(after));
    html! {
        @if old == new { p { "The findings are the same: " (words::count(new.len() as u64)) "." } } @else {
            ul {
                @for title in new.difference(&old).take(ROWS_MAX) { li { strong { "new: " } (title) } }
                @for title in old.difference(&new).take(ROWS_MAX) { li { strong { "gone: " } (title) } }
            }
            (more(new.difference(&old).count().max(old.difference(&new).count()), ROWS_MAX))
        }
    }
}
