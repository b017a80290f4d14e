//! The findings of the doctor.

use maud::{Markup, html};

use super::layout::absent;
use super::{View, change};
use crate::doctor::{Change, Finding, examine};

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let findings = examine(view.db);
    let body = html! {
        p { "Rules over the options, the info log and the files. Each finding shows its evidence, its cost and the exact change." }
        @if findings.is_empty() { (absent("No rule found a fault or an expensive setting.")) }
        @for (at, finding) in findings.iter().enumerate() { (one(view, at, finding)) }
    };
    ("Findings".to_string(), body)
}

fn one(view: &View<'_>, at: usize, finding: &Finding) -> Markup {
    html! {
        section class={ "finding " (finding.severity.word()) } {
            h2 { span class={ "tag " (finding.severity.word()) } { (finding.severity.word()) } " " (finding.title) }
            @if let Some(family) = &finding.family { p class="muted" { "Column family " q { (family) } } }
            h3 { "Evidence" }
            ul { @for line in &finding.evidence { li { (line) } } }
            h3 { "Cost" }
            p { (finding.cost) }
            h3 { "Change" }
            @match &finding.change {
                Change::Live(text) => { pre tabindex="0" { (text) } p class="muted" { "The running database takes the text in set_options." } }
                Change::Reopen(text) => { pre tabindex="0" { (text) } p class="muted" { "Set the options and open the database again." } }
                Change::Action(text) => { p { (text) } }
            }
            (change::apply(view, at, finding))
            p class="muted" { "Rule: " (finding.rule) }
        }
    }
}
