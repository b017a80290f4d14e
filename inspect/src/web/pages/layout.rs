//! The frame of each page: head, menu, footer. Also the words and tables that several pages share.

use maud::{DOCTYPE, Markup, html};

use crate::model::{Database, Source};
use crate::words;

/// The menu: the page, its name, and its subpages.
const MENU: [(&str, &str, &[&str]); 12] = [
    ("/", "Overview", &[]),
    ("/live", "Now", &[]),
    ("/doctor", "Findings", &[]),
    ("/tree", "LSM tree", &[]),
    ("/files", "Files", &["/file", "/block"]),
    ("/logs", "WAL and MANIFEST", &["/wal", "/manifest", "/record"]),
    ("/options", "Options", &[]),
    ("/memory", "Memory", &[]),
    ("/disk", "Disk", &[]),
    ("/tombstones", "Tombstones", &[]),
    ("/activity", "Activity", &[]),
    ("/compare", "Compare", &[]),
];

/// Returns a whole page.
pub(super) fn page(db: &Database, is_live: bool, here: &str, title: &str, body: &Markup) -> Markup {
    let origin = match db.source {
        Source::Directory if is_live => "running database",
        Source::Directory => "directory",
        Source::Bundle => "support bundle",
        Source::InfoLog => "info log",
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - " (db.name) " - Ironstone" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                header {
                    p class="brand" { (mark()) "Ironstone " span class="db" { (db.name) }
                        span class="muted" { (origin) ", read " (words::date(db.taken_at * 1_000_000)) " UTC" } }
                    nav aria-label="Pages" {
                        ul {
                            @for (path, name, below) in MENU {
                                li {
                                    @if path == here || below.contains(&here) {
                                        a href=(path) aria-current="page" { (name) }
                                    } @else {
                                        a href=(path) { (name) }
                                    }
                                }
                            }
                        }
                    }
                }
                main id="main" {
                    h1 { (title) }
                    (body)
                }
            }
        }
    }
}

/// Draws the mark of the program: three levels of an LSM tree.
fn mark() -> Markup {
    html! {
        svg class="mark" viewBox="0 0 24 24" aria-hidden="true" {
            rect class="age-hour" x="9" y="3" width="6" height="4.6" rx="1.2" {}
            rect class="age-day" x="5.5" y="9.6" width="13" height="4.6" rx="1.2" {}
            rect class="age-month" x="2" y="16.2" width="20" height="4.6" rx="1.2" {}
        }
    }
}

/// Returns a page with one message.
pub(super) fn message(title: &str, text: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " - Ironstone" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                main id="main" { h1 { (title) } p { (text) } p { a href="/" { "Overview" } ", " a href="/live" { "Now" } } }
            }
        }
    }
}

/// Returns a sentence for content that the source of the facts does not have.
pub(super) fn absent(text: &str) -> Markup {
    html! { p class="note" { (text) } }
}

/// Returns the line below a list that shows at most `shown` entries.
pub(super) fn more(whole: usize, shown: usize) -> Markup {
    html! { @if whole > shown { p { "and " (words::count((whole - shown) as u64)) " more" } } }
}

/// Returns a header cell of a column whose cells are drawings.
pub(super) fn hidden_header(text: &str) -> Markup {
    html! { th scope="col" { span class="hidden" { (text) } } }
}

/// Returns a table cell for a number.
pub(super) fn number(text: String) -> Markup {
    html! { td class="num" { (text) } }
}

/// Returns a term and its explanation.
pub(super) fn fact(name: &str, value: Markup, help: &str) -> Markup {
    html! {
        div class="fact" {
            dt { (name) }
            dd { (value) }
            @if !help.is_empty() { dd class="muted" { (help) } }
        }
    }
}
