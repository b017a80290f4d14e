//! Changes of a running database: the forms in the pages, and the answer to a form.
//!
//! A form has the second token, the change, and numbers. A form has no option text. The server finds the text of a
//! finding again and compares the checksum of the text, so the server never makes a change that the user did not see.

use maud::{Markup, html};

use super::layout::{hidden_header, message, more};
use super::{Answer, HTML, View};
use crate::doctor::{self, Finding, examine};
use crate::model::Database;
use crate::model::live::{Change, Running};
use crate::web::guard::Asked;

/// The largest number of column families with forms on a page.
const FAMILIES_MAX: usize = 100;

/// Makes a change, and returns the page with the result.
pub(super) fn answer(db: &Database, running: &dyn Running, asked: Asked) -> Answer {
    let page = |status, title: &str, text: &str| {
        let body = html! { (message(title, text)) }.into_string();
        Answer { status, kind: HTML, body, redirect: None }
    };
    let change = match asked {
        Asked::Flush(family) => Change::Flush { family },
        Asked::Compact(family) => Change::Compact { family },
        Asked::Apply { finding, check } => {
            let findings = examine(db);
            let found = usize::try_from(finding).ok().and_then(|at| findings.get(at));
            match found.and_then(|found| live_text(found).map(|text| (found, text))) {
                Some((found, text)) if check_of(found) == check => {
                    Change::Set { family: found.family.clone(), text: text.to_string() }
                }
                _ => {
                    return page(
                        409,
                        "Nothing was changed",
                        "The findings changed. Read the findings again.",
                    );
                }
            }
        }
    };
    match running.change(&change) {
        Ok(done) => page(200, "Done", &done),
        Err(why) => page(409, "Nothing was changed", &why),
    }
}

/// Returns the option text of a finding that the running database can set.
fn live_text(finding: &Finding) -> Option<&str> {
    match &finding.change {
        doctor::Change::Live(text) => Some(text),
        _ => None,
    }
}

/// Returns the checksum of a finding: its rule, its column family, and its change.
fn check_of(finding: &Finding) -> u64 {
    let text = format!("{} {:?} {}", finding.rule, finding.family, finding.change_sentence());
    kernel::checksum::xxh3::hash64(text.as_bytes())
}

/// Returns the form that makes the change of a finding. Returns no form if changes are not allowed, or if the change
/// needs a new open.
pub(super) fn apply(view: &View<'_>, at: usize, finding: &Finding) -> Markup {
    let token = view.token.filter(|_| view.live.is_some() && live_text(finding).is_some());
    html! {
        @if let Some(token) = token {
            form method="post" action="/change" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="do" value="apply";
                input type="hidden" name="finding" value=(at);
                input type="hidden" name="check" value=(check_of(finding));
                button type="submit" { "Set these options now" @if let Some(family) = &finding.family { " in " (family) } }
            }
        }
    }
}

/// Returns the forms for flush and compaction. Returns no form if changes are not allowed.
pub(super) fn work(view: &View<'_>) -> Markup {
    let token = view.token.filter(|_| view.live.is_some());
    html! {
        @if let Some(token) = token {
            h2 { "Start work" }
            p { "A flush writes the memtables to SST files. A compaction of all keys merges every SST file; the page answers when the work is done." }
            div class="scroll" tabindex="0" { table {
                thead { tr { th scope="col" { "Column family" } (hidden_header("Flush")) (hidden_header("Compact")) } }
                tbody {
                    @for family in view.db.families.iter().take(FAMILIES_MAX) {
                        tr {
                            th scope="row" { (family.name) }
                            td { (button(token, "flush", family.id, &format!("Flush {}", family.name))) }
                            td { (button(token, "compact", family.id, &format!("Compact {}", family.name))) }
                        }
                    }
                }
            } }
            (more(view.db.families.len(), FAMILIES_MAX))
        }
    }
}

fn button(token: &str, action: &str, family: u32, text: &str) -> Markup {
    html! {
        form method="post" action="/change" {
            input type="hidden" name="token" value=(token);
            input type="hidden" name="do" value=(action);
            input type="hidden" name="family" value=(family);
            button type="submit" { (text) }
        }
    }
}
