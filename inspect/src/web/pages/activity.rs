//! The info log: jobs and stalls on a time line, reasons, messages.

use maud::{Markup, html};

use super::View;
use super::layout::{absent, number};
use crate::model::{InfoLog, LogLine, StallKind};
use crate::web::chart;
use crate::words;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let log = &view.db.log;
    let title = "Activity".to_string();
    if log.lines == 0 {
        return (title, absent("There is no info log (LOG), so past work is not known."));
    }
    let body = html! {
        p {
            "From " (words::of(log.lines, "line")) " of the info log, " (words::date(log.first_micros)) " to "
            (words::date(log.last_micros)) " in the time of the writer"
            @if let Some(release) = &log.release { ", release " (release) }
            "."
            @if log.bytes_read < log.bytes { " The oldest " (words::bytes(log.bytes - log.bytes_read)) " were not read." }
            @if log.skipped > 0 { " " (words::count(log.skipped)) " events are above the limit and not shown." }
        }
        h2 { "Time line" }
        (chart::activity(log))
        p class="muted" { "Rows: flushes, compactions, and messages that writers are delayed or stopped." }
        (reasons(log))
        h2 { "Stalls" }
        @if log.stalls.is_empty() { p { "No writer was delayed or stopped." } } @else { (stalls(log)) }
        (messages("Errors", &log.errors))
        (messages("Warnings", &log.warnings))
    };
    (title, body)
}

fn reasons(log: &InfoLog) -> Markup {
    let (flushed, compacted) = log.written();
    html! {
        h2 { "Work by reason" }
        p { "Flushes wrote " (words::bytes(flushed)) ", compactions wrote " (words::bytes(compacted)) "." }
        div class="scroll" { table {
            thead { tr { th scope="col" { "Job" } th scope="col" { "Reason" } th scope="col" class="num" { "Times" } } }
            tbody {
                @for (reason, times) in &log.flush_reasons {
                    tr { th scope="row" { "flush" } td { (reason) } (number(words::count(*times))) }
                }
                @for (reason, times) in &log.compaction_reasons {
                    tr { th scope="row" { "compaction" } td { (reason) } (number(words::count(*times))) }
                }
            }
        } }
    }
}

fn stalls(log: &InfoLog) -> Markup {
    let mut sums = std::collections::BTreeMap::new();
    for stall in &log.stalls {
        *sums.entry((stall.kind, &stall.cause, &stall.family)).or_insert(0_u64) += 1;
    }
    html! {
        div class="scroll" { table {
            thead { tr {
                th scope="col" { "Effect" }
                th scope="col" { "Cause" }
                th scope="col" { "Column family" }
                th scope="col" class="num" { "Messages" }
            } }
            tbody {
                @for ((kind, cause, family), times) in sums {
                    tr {
                        th scope="row" { @match kind { StallKind::Delayed => "writers delayed", StallKind::Stopped => "writers stopped" } }
                        td { "too many " (cause) }
                        td { (family) }
                        (number(words::count(times)))
                    }
                }
            }
        } }
    }
}

fn messages(title: &str, lines: &[LogLine]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul class="log" {
                @for line in lines.iter().rev().take(50) {
                    li { time { (words::date(line.micros)) } " " (line.text) }
                }
            }
            @if lines.len() > 50 { p { "and " (words::count(lines.len() as u64 - 50)) " older" } }
        }
    }
}
