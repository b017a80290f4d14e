//! The drawings: the LSM tree by key range, bars, and a time line. Each drawing is SVG with a title for screen
//! readers.
//!
//! The x axis of the tree is the data of the column family in key order. A level with more than 400 files is
//! drawn as 200 cells, so a page stays small.

mod axis;
mod curve;

use std::collections::{BTreeMap, BTreeSet};

use base::Level;
use maud::{Markup, html};

pub use axis::axis;
pub use curve::{Curve, curve};

use crate::model::{AXIS, Family, InfoLog, JobKind, SstFile, Stall, StallKind};
use crate::words;

/// The width of the key axis in units of the drawing.
const WIDTH: f64 = 1000.0;

/// The height of one lane.
const LANE: f64 = 16.0;

/// The largest number of lanes. More files of level 0 share the last lane.
const LANES_MAX: usize = 24;

/// The largest number of files of a level that are drawn. A level with more files is drawn as cells; of level 0, the newest files
/// are drawn.
pub const FILES_DRAWN_MAX: usize = 400;

/// The number of cells of a level with many files.
const CELLS: u32 = 200;

/// Returns true if a level with this number of files is drawn as cells.
fn is_in_cells(level: Level, files: usize) -> bool {
    files > FILES_DRAWN_MAX && level > Level::ZERO
}

/// Draws one level of a column family. `compacting` has the numbers of the files that a running compaction reads.
pub fn level(family: &Family, level: Level, now: u64, compacting: &BTreeSet<u64>) -> Markup {
    let files: Vec<&SstFile> = family.level(level).collect();
    let lanes = if level == Level::ZERO { files.len().clamp(1, LANES_MAX) } else { 1 };
    let height = lanes as f64 * LANE;
    let label = format!("Level {}: {} by key range", level.get(), words::of(files.len() as u64, "file"));
    html! {
        svg class="level" viewBox={ "0 0 1000 " (height) } preserveAspectRatio="none" role="group" aria-label=(label)
            height=(height) {
            rect class="ground" x="0" y="0" width="1000" height=(height) {}
            @if is_in_cells(level, files.len()) {
                (cells(&files))
            } @else {
                @for (at, file) in files.iter().take(FILES_DRAWN_MAX).enumerate() {
                    (one(file, if level == Level::ZERO { at.min(LANES_MAX - 1) } else { 0 }, now, compacting.contains(&file.number)))
                }
            }
        }
    }
}

fn one(file: &SstFile, lane: usize, now: u64, is_compacting: bool) -> Markup {
    let (x, width) = place(file.span);
    let class = format!("file {}", class_of(file, now, is_compacting));
    let label = format!(
        "File {}: {}, created {}{}",
        file.number,
        words::bytes(file.size),
        words::ago(file.created, now),
        match (is_compacting, file.elsewhere) {
            (true, _) => ", input of a running compaction",
            (false, true) => ", in another directory",
            (false, false) => "",
        }
    );
    let (first, last) =
        (words::model_key(file.smallest.as_deref()), words::model_key(file.largest.as_deref()));
    html! {
        a href={ "/file?number=" (file.number) } aria-label=(label) {
            rect class=(class) x=(format!("{x:.1}")) y=(format!("{:.1}", lane as f64 * LANE + 1.0))
                width=(format!("{width:.1}")) height=(LANE - 2.0) {
                title { (label) "; keys " (first) " to " (last) }
            }
        }
    }
}

fn cells(files: &[&SstFile]) -> Markup {
    let mut bytes = vec![0_u64; CELLS as usize];
    for file in files {
        let (first, _) = file.span;
        let cell = first / (AXIS / CELLS);
        bytes[cell.min(CELLS - 1) as usize] += file.size;
    }
    let most = bytes.iter().max().copied().unwrap_or(1).max(1);
    let width = WIDTH / f64::from(CELLS);
    html! {
        @for (at, sum) in bytes.iter().enumerate() {
            @if *sum > 0 {
                rect class=(format!("cell heat{}", sum * 4 / most)) x=(format!("{:.1}", at as f64 * width)) y="1"
                    width=(format!("{:.1}", width - 0.5)) height=(LANE - 2.0) {
                    title { (words::bytes(*sum)) }
                }
            }
        }
    }
}

/// Returns x and width of a key range. Each file has a visible width.
fn place((first, last): (u32, u32)) -> (f64, f64) {
    let at = |place: u32| f64::from(place) / f64::from(AXIS) * (WIDTH - 4.0);
    let (x, end) = (at(first), at(last));
    (x, (end - x).max(3.0))
}

/// Returns the class of a file in the drawing: a fault before work before content before age.
fn class_of(file: &SstFile, now: u64, is_compacting: bool) -> &'static str {
    let is_deletions = file.stats.as_ref().is_some_and(|s| s.deletions * 2 > s.entries && s.entries > 0);
    if !file.present && !file.elsewhere || file.unreadable {
        "missing"
    } else if is_compacting {
        "compacting"
    } else if is_deletions {
        "tombs"
    } else {
        age_class(file.created, now)
    }
}

fn age_class(created: u64, now: u64) -> &'static str {
    match now.saturating_sub(created) {
        _ if created == 0 => "age-unknown",
        0..3600 => "age-hour",
        3600..86_400 => "age-day",
        86_400..2_592_000 => "age-month",
        _ => "age-old",
    }
}

/// Returns the classes of the drawing of a column family with their names, in the order of [`LEGEND`].
pub fn legend(family: &Family, now: u64, compacting: &BTreeSet<u64>) -> Vec<(&'static str, &'static str)> {
    let mut files: BTreeMap<Level, usize> = BTreeMap::new();
    family.files.iter().for_each(|file| *files.entry(file.level).or_default() += 1);
    let class = |file: &SstFile| match is_in_cells(file.level, files[&file.level]) {
        true => "cell",
        false => class_of(file, now, compacting.contains(&file.number)),
    };
    let used: BTreeSet<&str> = family.files.iter().map(class).collect();
    LEGEND.into_iter().filter(|(class, _)| used.contains(class)).collect()
}

/// The classes of ages and their names.
const LEGEND: [(&str, &str); 9] = [
    ("age-hour", "written within an hour"),
    ("age-day", "written within a day"),
    ("age-month", "written within a month"),
    ("age-old", "written earlier"),
    ("age-unknown", "age unknown"),
    ("tombs", "mostly tombstones"),
    ("compacting", "input of a running compaction"),
    ("missing", "missing or damaged"),
    ("cell", "many files: a part of the keys, darker with more data"),
];

/// Draws a share as a bar.
pub fn bar(part: u64, whole: u64) -> Markup {
    let width = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    html! {
        svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect class="ground" width="100" height="8" {}
            rect class="amount" width=(format!("{:.1}", width.clamp(0.0, 100.0))) height="8" {}
        }
    }
}

/// The largest number of jobs and of stalls on the time line.
const EVENTS_DRAWN_MAX: usize = 2000;

/// Draws the newest flushes, compactions and stalls over time, all on one axis. If the info log has no event, the stalls have the local
/// time of the writer.
pub fn activity(log: &InfoLog) -> Markup {
    let newest = |len: usize| len.saturating_sub(EVENTS_DRAWN_MAX);
    let (jobs, stalls) = (&log.jobs[newest(log.jobs.len())..], &log.stalls[newest(log.stalls.len())..]);
    let of_stall = |stall: &Stall| stall.utc_micros.unwrap_or(stall.micros);
    let starts = jobs.iter().map(|job| job.start_micros).chain(stalls.iter().map(of_stall));
    let ends = jobs.iter().map(|job| job.end_micros).chain(stalls.iter().map(of_stall));
    let (first, last) = (starts.min().unwrap_or(0), ends.max().unwrap_or(0));
    let span = last.saturating_sub(first).max(1) as f64;
    let x = |micros: u64| micros.saturating_sub(first) as f64 / span * (WIDTH - 4.0);
    let is_utc = !jobs.is_empty() || stalls.iter().any(|stall| stall.utc_micros.is_some());
    let hidden = (log.jobs.len() - jobs.len()) + (log.stalls.len() - stalls.len());
    html! {
        div class="plot" {
            @for (kind, class, name) in [(JobKind::Flush, "flush", "Flushes"), (JobKind::Compaction, "compaction", "Compactions")] {
                @let count = jobs.iter().filter(|job| job.kind == kind).count() as u64;
                span class="scale" { (name) }
                svg class="lane" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" height="28"
                    aria-label={ (words::of(count, class)) " over time" } {
                    rect class="ground" width="1000" height="20" {}
                    @for job in jobs.iter().rev().filter(|job| job.kind == kind) {
                        rect class=(class) x=(format!("{:.1}", x(job.start_micros))) y="1" height="18"
                            width=(format!("{:.1}", (x(job.end_micros) - x(job.start_micros)).max(1.5))) {
                            title { (class) " " (job.job) " of " (job.family) ": " (words::bytes(job.output_bytes)) " written" }
                        }
                    }
                }
            }
            span class="scale" { "Stalls" }
            svg class="lane" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" height="28"
                aria-label={ (words::of(stalls.len() as u64, "stall message")) " over time" } {
                rect class="ground" width="1000" height="20" {}
                @for stall in stalls {
                    @let class = match stall.kind { StallKind::Delayed => "delayed", StallKind::Stopped => "stopped" };
                    rect class=(class) x=(format!("{:.1}", x(of_stall(stall)))) y="1" width="3" height="18" {
                        title { "writers " (class) " by " (stall.cause) " of " (stall.family) }
                    }
                }
            }
            @if last > 0 { span {} (axis(first, last)) }
        }
        @if last > 0 {
            p class="muted" {
                (words::date(first)) " to " (words::date(last))
                @if is_utc { " (UTC)." } @else { " (time of the writer)." }
                " In the row of the stalls, red means that writers were stopped, and orange that writers were delayed."
                @if hidden > 0 { " The newest events are drawn; " (words::count(hidden as u64)) " older events are not drawn." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::parse_info_log;

    #[test]
    fn legend_names_what_is_drawn() {
        let file =
            |level| SstFile { level: Level::new(level), present: true, created: 1000, ..SstFile::default() };
        let family = |small: usize, large: usize| {
            let files =
                std::iter::repeat_n(file(1), small).chain(std::iter::repeat_n(file(2), large)).collect();
            Family { files, ..Family::default() }
        };
        let names = |family: &Family| -> Vec<&str> {
            legend(family, 1000, &BTreeSet::new()).into_iter().map(|(class, _)| class).collect()
        };
        assert_eq!(names(&family(1, FILES_DRAWN_MAX)), ["age-hour"]);
        assert_eq!(names(&family(1, FILES_DRAWN_MAX + 1)), ["age-hour", "cell"]);
        assert_eq!(names(&family(0, FILES_DRAWN_MAX + 1)), ["cell"]);
    }

    #[test]
    fn stalls_and_jobs_of_one_time_have_one_place() {
        // The writer is two hours ahead. The second stall and the second flush have the same time.
        let text = "\
2026/01/01-02:00:00.000000 1 [WARN] [a] Stalling writes because we have 20 level-0 files
2026/01/01-02:00:01.000000 1 EVENT_LOG_v1 {\"time_micros\": 1767225601000000, \"job\": 3, \"event\": \"flush_finished\"}
2026/01/01-02:00:06.000000 1 [WARN] [a] Stopping writes because we have 36 level-0 files
2026/01/01-02:00:06.000000 1 EVENT_LOG_v1 {\"time_micros\": 1767225606000000, \"job\": 4, \"event\": \"flush_finished\"}
2026/01/01-02:00:10.000000 1 EVENT_LOG_v1 {\"time_micros\": 1767225610000000, \"job\": 5, \"event\": \"flush_finished\"}
";
        let svg = activity(&parse_info_log(text)).into_string();
        let places = |class: &str| -> Vec<String> {
            let start = format!("class=\"{class}\" x=\"");
            let parts = svg.split(&start).skip(1);
            parts.map(|part| part.split('"').next().unwrap().to_string()).collect()
        };
        assert_eq!(
            (places("delayed"), places("stopped")),
            (vec!["0.0".to_string()], vec!["597.6".to_string()])
        );
        assert_eq!(places("flush"), ["996.0", "597.6", "99.6"]);
    }
}
