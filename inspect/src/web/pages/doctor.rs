//! The findings of the doctor. Findings that differ only in their column family are one section.

use maud::{Markup, html};

use super::layout::absent;
use super::options::prose;
use super::{View, change};
use crate::doctor::{Change, Group, Severity, examine, groups};
use crate::words;

/// The largest number of column families that one section names.
const FAMILIES_MAX: usize = 12;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let findings = examine(view.db);
    let groups = groups(&findings);
    let body = html! {
        p { "Rules over the options, the info log and the files. Each finding shows its evidence, its cost and the exact change." }
        @if groups.is_empty() { (absent("No rule found a fault or an expensive setting.")) }
        @else { p { (counted(&groups)) "." } }
        @for group in &groups { (one(view, group)) }
    };
    ("Findings".to_string(), body)
}

/// Returns the number of findings of each weight: `1 critical finding, 2 warnings`.
pub(super) fn counted(groups: &[Group<'_>]) -> String {
    let of = |severity: Severity, noun: &str| {
        let count = groups.iter().filter(|group| group.first().severity == severity).count() as u64;
        (count > 0).then(|| words::of(count, noun))
    };
    let parts = [
        of(Severity::Critical, "critical finding"),
        of(Severity::Warning, "warning"),
        of(Severity::Advice, "suggestion"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the column families of a group: `in a, b and 3 more`.
pub(super) fn families(group: &Group<'_>, max: usize) -> Markup {
    let (names, more) = group.families(max);
    html! {
        @for (at, name) in names.iter().enumerate() {
            @if at > 0 { ", " }
            q { (name) }
        }
        @if more > 0 { " and " (more) " more" }
    }
}

fn one(view: &View<'_>, group: &Group<'_>) -> Markup {
    let finding = group.first();
    html! {
        section class={ "finding " (finding.severity.word()) } {
            h2 { span class={ "tag " (finding.severity.word()) } { (finding.severity.word()) } " " (finding.title) }
            @if finding.family.is_some() {
                p class="muted" { @if group.members.len() == 1 { "Column family " } @else { "Column families " } (families(group, FAMILIES_MAX)) }
            }
            dl class="rows" {
                dt { "Evidence" }
                dd { ul { @for line in group.evidence(FAMILIES_MAX) { li { (line) } } } }
                dt { "Cost" }
                dd { (finding.cost) }
                dt { "Change" }
                dd {
                    @match &finding.change {
                        Change::Live(text) => { (options(text)) p class="muted" { "The running database takes the text in " code { (finding.setter()) } "; a reopen is not necessary." } }
                        Change::Reopen(text) => { (options(text)) p class="muted" { "Set the options and open the database again." } }
                        Change::Action(text) => { p { (prose(text)) } }
                    }
                    @for (at, member) in &group.members { (change::apply(view, *at, member)) }
                }
            }
            p class="rule muted" { "Rule " code { (finding.rule) } }
        }
    }
}

/// Returns a text of options as one block of the page, which the user can copy. Each line has one option.
fn options(text: &str) -> Markup {
    html! { pre tabindex="0" { (text) } }
}
