//! The pages about files, for an info log without its database. An info log lists no files. Its last statistics have the sizes of the levels.

use maud::{Markup, html};

use super::View;
use super::layout::{absent, number};
use crate::model::Source;
use crate::words;

/// The pages that need files, with their titles.
const PAGES: [(&str, &str); 5] = [
    ("/tree", "LSM tree"),
    ("/files", "Files"),
    ("/logs", "WAL and MANIFEST"),
    ("/disk", "Disk"),
    ("/tombstones", "Tombstones"),
];

/// The largest number of column families on a page.
const FAMILIES_MAX: usize = 100;

/// Renders a page that needs files. Returns `None` if the source has files, and for other pages.
pub(super) fn render(view: &View<'_>) -> Option<(String, Markup)> {
    let (page, title) = PAGES.iter().find(|(page, _)| *page == view.target.page)?;
    if view.db.source != Source::InfoLog {
        return None;
    }
    let body = html! {
        @if *page == "/tree" { (levels(view)) }
        (absent("An info log does not list the files of the database. Open the directory of the database, or a support bundle."))
    };
    Some((title.to_string(), body))
}

/// Draws the levels of the last statistics.
fn levels(view: &View<'_>) -> Markup {
    let levels = &view.db.log.stats.levels;
    html! {
        @if !levels.is_empty() {
            p { "The sizes of the levels at the last statistics of the info log:" }
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Column family" }
                    th scope="col" { "Level" }
                    th scope="col" class="num" { "Files" }
                    th scope="col" class="num" { "Size" }
                } }
                tbody {
                    @for (family, levels) in levels.iter().take(FAMILIES_MAX) {
                        @for level in levels {
                            tr {
                                th scope="row" { (family) }
                                td { (level.level) }
                                (number(words::count(level.files)))
                                (number(words::bytes(level.bytes)))
                            }
                        }
                    }
                }
            } }
        }
    }
}
