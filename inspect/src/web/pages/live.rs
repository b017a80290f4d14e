//! The database now: running jobs, stalls, causes of slow operations, and the curves since the server started.

use maud::{Markup, html};

use super::layout::{absent, fact, hidden_header, more, number};
use super::{View, change};
use crate::model::JobKind;
use crate::model::live::{Counters, Found, Live, Sample, SlowKind, SlowStall};
use crate::web::chart::{self, Curve};
use crate::words;

/// The largest number of rows in a table.
const ROWS_MAX: usize = 100;

pub(super) fn render(view: &View<'_>) -> (String, Markup) {
    let samples = view.site.samples();
    let body = html! {
        p { "The page shows the present state. " a href="/live" { "Read again" } "." }
        h2 { "Running jobs" }
        (jobs(view))
        @match &view.live {
            None => (without_process()),
            Some(live) => {
                (state(live))
                (change::work(view))
                h2 { "Why are operations slow?" }
                (slow(&live.slow))
                (stalls(&live.stalls))
                (heat(live))
                h2 { "Since this server started" }
                (curves(&samples))
            }
        }
    };
    ("Now".to_string(), body)
}

/// Says how to get the facts that no file has.
fn without_process() -> Markup {
    html! {
        div class="note" {
            p { "The causes of slow operations, the write stalls, and the curves are known only to the process that has the database open. There are two ways to see them." }
            p { "If no process has the database open, let this program open it:" }
            pre tabindex="0" { "ironstone inspect DIR --write" }
            p { "A program that uses the library can serve these pages itself, with the feature " code { "inspector" } ":" }
            pre tabindex="0" { "let inspector = Inspector::serve(&db, &InspectorOptions::default())?;\nprintln!(\"open {}\", inspector.url());" }
            p { "The page " a href="/activity" { "Activity" } " shows what the info log says about the past." }
        }
    }
}

/// Returns the state of the writers in words.
pub(super) fn writers(counters: &Counters) -> String {
    match (counters.write_stopped, counters.delayed_write_rate) {
        (true, _) => "stopped".to_string(),
        (false, 0) => "not delayed".to_string(),
        (false, rate) => format!("delayed to {}/s", words::bytes(rate)),
    }
}

/// Returns the running jobs in words.
pub(super) fn running_jobs(counters: &Counters) -> String {
    match (counters.running_flushes, counters.running_compactions) {
        (0, 0) => "No flush and no compaction is running".to_string(),
        (flushes, compactions) => {
            let verb = if flushes + compactions == 1 { "is" } else { "are" };
            let jobs = [(flushes, "flush"), (compactions, "compaction")];
            let named = jobs.into_iter().filter(|(count, _)| *count > 0);
            let named: Vec<String> = named.map(|(count, word)| words::of(count, word)).collect();
            format!("{} {verb} running", named.join(" and "))
        }
    }
}

fn jobs(view: &View<'_>) -> Markup {
    let running = &view.db.log.running;
    // If the process was killed, the info log does not contain the end of its jobs.
    let is_known = view.live.as_ref().is_none_or(|live| {
        live.counters.running_flushes + live.counters.running_compactions > 0 || !live.compacting.is_empty()
    });
    html! {
        @if running.is_empty() || !is_known {
            // A job is in the info log a moment after its start.
            p { (view.live.as_ref().map_or_else(|| running_jobs(&Counters::default()), |live| running_jobs(&live.counters))) "." }
        } @else {
            @if view.live.is_none() {
                p { "The info log has the start and not the end of these jobs. They run if the writer still runs." }
            }
            div class="scroll" tabindex="0" { table class="wrapped jobs" {
                thead { tr {
                    th scope="col" { "Job" }
                    th scope="col" { "Column family" }
                    th scope="col" { "Reason" }
                    th scope="col" { "Started" }
                    th scope="col" class="num" { "Input" }
                    th scope="col" class="num" { "Written" }
                    (hidden_header("Share"))
                } }
                tbody {
                    @for job in running.iter().take(ROWS_MAX) {
                        tr {
                            th scope="row" { (match job.kind { JobKind::Flush => "flush ", JobKind::Compaction => "compaction " }) (job.job) }
                            td { (job.family) }
                            td { (job.reason) }
                            td { (words::ago(job.start_micros / 1_000_000, view.db.taken_at)) }
                            (number(words::bytes(job.input_bytes)))
                            (number(words::bytes(job.output_bytes)))
                            td { (chart::bar(job.output_bytes, job.input_bytes)) }
                        }
                    }
                }
            } }
            (more(running.len(), ROWS_MAX))
            p class="muted" { "Written: bytes of the finished output files." }
        }
    }
}

fn state(live: &Live) -> Markup {
    let c = &live.counters;
    html! {
        dl class="facts" {
            (fact("Writes", html! { (writers(c)) }, "a write stall delays or stops all writers"))
            (fact("Memory", html! { a href="/memory" { (words::bytes(live.memory.bytes)) } }, "memtables, caches and open files"))
            (fact("Waits for compaction", html! { (words::bytes(c.pending_compaction_bytes)) }, "pending compaction bytes, as an estimate"))
            (fact("Running", html! { (words::of(c.running_flushes, "flush")) ", " (words::of(c.running_compactions, "compaction")) }, ""))
            (fact("Written by the application", html! { (words::bytes(c.user_bytes)) }, "since the open"))
            (fact("Flushed and compacted", html! { (words::bytes(c.flushed_bytes.saturating_add(c.compacted_bytes))) }, "bytes of SST files written since the open"))
        }
    }
}

fn slow(kinds: &[SlowKind]) -> Markup {
    html! {
        p { "An operation is slow if it takes more than ten times the median of its kind. The last ten minutes:" }
        @if kinds.is_empty() { (absent("No operation was slow.")) } @else {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Operation and cause" }
                    th scope="col" class="num" { "Operations" }
                    th scope="col" class="num" { "Time" }
                    th scope="col" class="num" { "Share" }
                    (hidden_header("Share as a bar"))
                } }
                tbody {
                    @for kind in kinds {
                        tr {
                            th scope="row" { strong { (kind.operation) }
                                @if let Some(median) = kind.median_nanos { span class="muted" { " median " (words::short_time(median)) ", slowest " (words::short_time(kind.nanos_max)) } } }
                            (number(words::count(kind.count)))
                            (number(words::short_time(kind.nanos)))
                            (number("100 %".to_string()))
                            td {}
                        }
                        @for (cause, count, nanos) in &kind.causes {
                            (cause_row(cause, Some(*count), *nanos, kind.nanos))
                        }
                        (cause_row("unexplained", None, kind.unexplained_nanos, kind.nanos))
                    }
                }
            } }
        }
    }
}

fn cause_row(cause: &str, count: Option<u64>, nanos: u64, whole: u64) -> Markup {
    html! {
        tr class="part" {
            th scope="row" { (cause) }
            (number(count.map_or(String::new(), words::count)))
            (number(words::short_time(nanos)))
            (number(words::percent(nanos, whole)))
            td { (chart::bar(nanos, whole)) }
        }
    }
}

fn stalls(stalls: &[SlowStall]) -> Markup {
    html! {
        h2 { "Write stalls" }
        @if stalls.is_empty() { p { "No writer was delayed or stopped in the last ten minutes." } } @else {
            div class="scroll" tabindex="0" { table class="wrapped stalls" {
                thead { tr {
                    th scope="col" { "Column family" }
                    th scope="col" { "Limit" }
                    th scope="col" class="num" { "Times" }
                    th scope="col" class="num" { "Time" }
                    th scope="col" { "Ended by" }
                    th scope="col" { "Options" }
                } }
                tbody {
                    @for stall in stalls.iter().take(ROWS_MAX) {
                        tr {
                            th scope="row" { (stall.family.as_deref().unwrap_or("all")) }
                            td { (stall.trigger) ": writers " @if stall.stopped { "stopped" } @else { "delayed" } }
                            (number(words::count(stall.count)))
                            (number(words::short_time(stall.nanos)))
                            td { (stall.ended_by) }
                            td { code { (stall.options) } }
                        }
                    }
                }
            } }
            (more(stalls.len(), ROWS_MAX))
        }
    }
}

/// Shows the levels that jobs rewrite often, and the levels that lookups use.
fn heat(live: &Live) -> Markup {
    let most = live.levels.iter().map(|level| level.written_bytes).max().unwrap_or(0);
    html! {
        h2 { "Hot and cold levels" }
        @if live.levels.is_empty() { (absent("There is no SST file.")) } @else {
            p { "A hot level is rewritten often: flushes and compactions wrote many times its size since the open." }
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Level" }
                    th scope="col" class="num" { "Size now" }
                    th scope="col" class="num" { "Written by jobs" }
                    th scope="col" class="num" { "Read by jobs" }
                    (hidden_header("Written as a bar"))
                } }
                tbody {
                    @for level in live.levels.iter().take(ROWS_MAX) {
                        tr {
                            th scope="row" { "L" (level.level) " " span class="muted" { (level.family) } }
                            (number(words::bytes(level.bytes)))
                            (number(words::bytes(level.written_bytes)))
                            (number(words::bytes(level.read_bytes)))
                            td { (chart::bar(level.written_bytes, most)) }
                        }
                    }
                }
            } }
            (more(live.levels.len(), ROWS_MAX))
        }
        @match &live.found {
            Some(found) => (lookups(found)),
            None => { p class="muted" { "Without statistics, the levels of lookups are not known (the option " code { "statistics" } ")." } }
        }
    }
}

/// Shows where lookups found their entries.
fn lookups(found: &Found) -> Markup {
    let rows = [
        ("memtables", found.memtables),
        ("level 0", found.level_0),
        ("level 1", found.level_1),
        ("level 2 and deeper", found.deeper),
    ];
    let all: u64 = rows.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
    html! {
        @if all == 0 { p { "No lookup found an entry since the open." } } @else {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Lookups that found their entry in" }
                    th scope="col" class="num" { "Lookups" }
                    th scope="col" class="num" { "Share" }
                    (hidden_header("Share as a bar"))
                } }
                tbody {
                    @for (place, count) in rows {
                        tr {
                            th scope="row" { (place) }
                            (number(words::count(count)))
                            (number(words::percent(count, all)))
                            td { (chart::bar(count, all)) }
                        }
                    }
                }
            } }
        }
    }
}

fn curves(samples: &[Sample]) -> Markup {
    if samples.len() < 2 {
        return absent("There are no two samples yet. A sample is taken every two seconds.");
    }
    let times: Vec<u64> = samples.iter().map(|sample| sample.at_micros).collect();
    let curve = |name, unit, of: &dyn Fn(&Sample) -> Option<f64>| Curve {
        name,
        unit,
        times: &times,
        values: samples.iter().map(of).collect(),
    };
    html! {
        (chart::curve(&curve("Write amplification", "bytes of SST files written for each flushed byte", &|s| s.write_amplification)))
        (chart::curve(&curve("Read amplification", "sorted runs that a lookup may visit", &|s| Some(s.counters.sorted_runs as f64))))
        (chart::curve(&curve("Space amplification", "bytes of SST files for each byte of live data", &|s| s.space_amplification)))
        (chart::curve(&curve("Stalls", "percent of the time in which a writer waited", &|s| Some(100.0 * s.stalled))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_jobs_are_counted_in_words() {
        let of = |running_flushes, running_compactions| {
            running_jobs(&Counters { running_flushes, running_compactions, ..Counters::default() })
        };
        assert_eq!(of(0, 0), "No flush and no compaction is running");
        assert_eq!(of(1, 0), "1 flush is running");
        assert_eq!(of(0, 2), "2 compactions are running");
        assert_eq!(of(1, 1), "1 flush and 1 compaction are running");
    }
}
