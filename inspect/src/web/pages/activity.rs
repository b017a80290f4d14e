//! The info log: jobs and stalls on a time line, reasons, messages.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::View;
use super::layout::{absent, number};
use crate::model::{InfoLog, JobEvent, JobKind, KEPT_MAX, LogLine, Older, StallKind};
use crate::web::chart::{self, Curve};
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
            (older(log))
        }
        h2 { "Time line" }
        (chart::activity(log))
        (amplification(log))
        (reasons(log))
        h2 { "Stalls" }
        @if log.stalls.is_empty() { p { "The lines that were read have no message that a writer was delayed or stopped." } } @else { (stalls(log)) }
        (messages("Errors", &log.errors, log.older.errors))
        (messages("Warnings", &log.warnings, log.older.warnings))
    };
    (title, body)
}

/// Draws the amplifications over time, from the jobs of the info log.
fn amplification(log: &InfoLog) -> Markup {
    let mut jobs: Vec<&JobEvent> = log.jobs.iter().collect();
    jobs.sort_by_key(|job| job.end_micros);
    if jobs.len() < 2 {
        return html! {};
    }
    let step = jobs.len().div_ceil(CURVE_POINTS);
    let (mut flushed, mut compacted) = (0_u64, 0_u64);
    let mut runs: BTreeMap<&str, u64> = BTreeMap::new();
    let mut trees: BTreeMap<&str, Option<(u64, u64)>> = BTreeMap::new();
    let (mut times, mut written, mut sorted, mut space) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, job) in jobs.iter().enumerate() {
        match job.kind {
            JobKind::Flush => flushed = flushed.saturating_add(job.output_bytes),
            JobKind::Compaction => compacted = compacted.saturating_add(job.output_bytes),
        }
        if let Some(now) = job.sorted_runs {
            runs.insert(&job.family, now);
        }
        trees.insert(&job.family, job.tree_bytes);
        if at % step == 0 || at + 1 == jobs.len() {
            times.push(job.end_micros);
            written.push((flushed > 0).then(|| flushed.saturating_add(compacted) as f64 / flushed as f64));
            sorted.push(runs.values().max().map(|most| *most as f64));
            space.push(space_amplification(trees.values().copied()));
        }
    }
    let of = |name, unit, values| chart::curve(&Curve { name, unit, times: &times, values });
    html! {
        h2 { "Amplification over time" }
        (of("Write amplification", "bytes of SST files written for each flushed byte, since the first drawn job", written))
        (of("Read amplification", "sorted runs that a lookup may visit, in the column family with the most", sorted))
        (of("Space amplification", "bytes of SST files for each byte of the last level", space))
        p class="muted" { "The last level has about the bytes of the live data. The value is known while the info log names each file of the "
            "database. The page " q { "Now" } " of a running database has the bytes of live data." }
    }
}

/// Returns the bytes of all column families for each byte of their last levels. Each item has the bytes of one column family and of its
/// last level. Returns `None` if the bytes of a column family are unknown.
fn space_amplification(mut families: impl Iterator<Item = Option<(u64, u64)>>) -> Option<f64> {
    let (bytes, last) = families.try_fold((0_u64, 0_u64), |(bytes, last), family| {
        let (more, more_last) = family?;
        Some((bytes.saturating_add(more), last.saturating_add(more_last)))
    })?;
    (last > 0).then(|| bytes as f64 / last as f64)
}

/// Points of one curve.
const CURVE_POINTS: usize = 400;

fn reasons(log: &InfoLog) -> Markup {
    let (flushed, compacted) = log.written();
    html! {
        h2 { "Work by reason" }
        p { "Flushes wrote " (words::bytes(flushed)) ", compactions wrote " (words::bytes(compacted)) "." }
        div class="scroll" tabindex="0" { table {
            thead { tr { th scope="col" { "Job" } th scope="col" { "Reason" } th scope="col" class="num" { "Times" } } }
            tbody {
                @for (reason, times) in &log.flush_reasons {
                    tr { th scope="row" { "flush" } (why(reason)) (number(words::count(*times))) }
                }
                @for (reason, times) in &log.compaction_reasons {
                    tr { th scope="row" { "compaction" } (why(reason)) (number(words::count(*times))) }
                }
            }
        } }
    }
}

/// Returns a cell with a reason in plain words, and RocksDB's word.
fn why(reason: &str) -> Markup {
    let known = REASONS.iter().find(|(word, _)| *word == reason);
    html! {
        td { @match known {
            Some((word, text)) => { (text) " " span class="muted" { "(" (word) ")" } },
            None => (reason),
        } }
    }
}

/// RocksDB's words for the reasons of flushes and compactions, in plain words.
const REASONS: [(&str, &str); 30] = [
    ("Get Live Files", "a backup or a checkpoint needs all data in files"),
    ("Shut down", "the database was closed"),
    ("External File Ingestion", "an ingested file overlaps data in memory"),
    ("Manual Compaction", "the program compacts keys that are in memory"),
    ("Write Buffer Manager", "all memtables together reached their memory limit"),
    ("Write Buffer Full", "a memtable was full"),
    ("Manual Flush", "the program asked for the flush"),
    ("Error Recovery", "the database recovered from an error"),
    ("WAL Full", "the write-ahead logs reached their limit"),
    ("Memtable Max Range Deletions", "a memtable has many range tombstones"),
    ("LevelL0FilesNum", "level 0 has many files"),
    ("LevelMaxLevelSize", "a level is larger than its target"),
    ("UniversalSizeAmplification", "old entries use too much space"),
    ("UniversalSizeRatio", "sorted runs have similar sizes"),
    ("UniversalSortedRunNum", "there are many sorted runs"),
    ("FIFOMaxSize", "the files reached their size limit: the oldest are deleted"),
    ("FIFOReduceNumFiles", "there are many small files"),
    ("FIFOTtl", "files are older than the limit: they are deleted"),
    ("ManualCompaction", "the program asked for the compaction"),
    ("FilesMarkedForCompaction", "files are marked, for example because of many tombstones"),
    ("BottommostFiles", "a snapshot ended that kept old entries in the last level"),
    ("Ttl", "files have old data, which moves to the next level"),
    ("ExternalSstIngestion", "a file was ingested"),
    ("PeriodicCompaction", "files were not rewritten for a long time"),
    ("ChangeTemperature", "old files move to slower storage"),
    ("ForcedBlobGC", "blob files have much garbage"),
    ("RoundRobinTtl", "files have old data, which moves to the next level"),
    ("RefitLevel", "the files of a level move to another level"),
    ("ReadTriggered", "reads of a file often found nothing"),
    ("Flush", "a flush"),
];

fn stalls(log: &InfoLog) -> Markup {
    let mut sums = std::collections::BTreeMap::new();
    for stall in &log.stalls {
        *sums.entry((stall.kind, &stall.cause, &stall.family)).or_insert(0_u64) += 1;
    }
    html! {
        @if log.older.stalls > 0 {
            p { "Of the newest " (words::count(log.stalls.len() as u64)) " messages; " (words::count(log.older.stalls)) " are older." }
        }
        div class="scroll" tabindex="0" { table {
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

/// Says how many events are only in the sums.
fn older(log: &InfoLog) -> Markup {
    let Older { flushes, compactions, stalls, warnings, errors, .. } = log.older;
    let parts = [
        (flushes, "flush"),
        (compactions, "compaction"),
        (stalls, "stall message"),
        (warnings, "warning"),
        (errors, "error"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| words::of(*n, noun)).collect();
    html! {
        @if !parts.is_empty() {
            " The lists and curves have the newest " (words::count(KEPT_MAX as u64)) " events of each kind. Not in the lists: "
            (parts.join(", ")) ". The sums have the jobs of the whole text that was read."
        }
    }
}

fn messages(title: &str, lines: &[LogLine], older: u64) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul class="log" {
                @for line in lines.iter().rev().take(50) {
                    li { time { (words::date(line.micros)) } " " (line.text) }
                }
            }
            @if lines.len() > 50 || older > 0 { p { "and " (words::count(lines.len().saturating_sub(50) as u64 + older)) " older" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::event::FlushReason;
    use lsm::pick::Reason;

    use super::*;

    #[test]
    fn reasons_have_plain_words_and_the_word_of_rocksdb() {
        let of = |reason: &str| why(reason).into_string();
        assert_eq!(
            of("LevelL0FilesNum"),
            "<td>level 0 has many files <span class=\"muted\">(LevelL0FilesNum)</span></td>"
        );
        assert_eq!(of("a<b"), "<td>a&lt;b</td>");
        for reason in
            [Reason::UniversalSizeRatio, Reason::FifoTtl, Reason::ForcedBlobGc, Reason::ReadTriggered]
        {
            assert!(of(reason.word()).contains("muted"), "{}", reason.word());
        }
        for reason in [FlushReason::WriteBufferFull, FlushReason::WalFull, FlushReason::ManualFlush] {
            assert!(of(reason.word()).contains("muted"), "{}", reason.word());
        }
    }
}
