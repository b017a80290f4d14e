//! What the processes took over time: minute by minute, and whether it stayed flat.
//!
//! ```text
//!  all of the run   |······|······|······|······|      quarters by time
//!                                   Q3     Q4          flat: the median of Q4 is at most so much above that of Q3
//! ```
//! Each point is a closed database: what an epoch's drawn options cost while it was open is no growth. Single points
//! differ with those options, medians of a quarter hardly.

use std::fmt::Write as _;
use std::path::Path;

use crate::gauge::Gauge;

/// After an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Since the run began.
    pub seconds: f64,
    pub operations: u64,
    pub gauge: Gauge,
}

/// A thing that is measured: its name, and how a point tells it.
pub type Measure = (&'static str, fn(&Gauge) -> u64);

pub const MEASURES: [Measure; 5] = [
    ("heap_kb", |g| g.heap_kb),
    ("rss_kb", |g| g.rss_kb),
    ("handles", |g| g.handles),
    ("threads", |g| g.threads),
    ("disk_kb", |g| g.disk_kb),
];

#[derive(Debug, Default)]
pub struct Series {
    pub points: Vec<Point>,
}

/// Those of [`MEASURES`] that must be flat. Which threads of the pools are gone when a database is closed is chance; the
/// child bounds them.
const FLAT: [&str; 4] = ["heap_kb", "rss_kb", "handles", "disk_kb"];

impl Series {
    /// Medians of a measure in the third and the fourth quarter.
    pub fn quarters(&self, of: fn(&Gauge) -> u64) -> (u64, u64) {
        let end = self.points.last().map_or(0.0, |p| p.seconds);
        let median_of = |from: f64, to: f64| {
            let within = self.points.iter().filter(|p| p.seconds > end * from && p.seconds <= end * to);
            median(within.map(|p| of(&p.gauge)).collect())
        };
        (median_of(0.5, 0.75), median_of(0.75, 1.0))
    }

    /// # Errors
    /// What has grown by more than `percent` in the last quarter.
    pub fn flat(&self, percent: f64) -> Result<(), String> {
        for (name, of) in MEASURES.iter().filter(|m| FLAT.contains(&m.0)) {
            let (before, after) = self.quarters(*of);
            if after as f64 > before as f64 * (1.0 + percent / 100.0) {
                return Err(format!("{name}: {before} in the third quarter of the run, {after} in the last"));
            }
        }
        Ok(())
    }

    /// A row a minute: medians, and of some the most.
    pub fn minutes(&self) -> Vec<[u64; 11]> {
        let mut rows: Vec<[u64; 11]> = Vec::new();
        let last = self.points.last().map_or(0, |p| (p.seconds / 60.0) as u64);
        for minute in 0..=last {
            let within: Vec<_> = self.points.iter().filter(|p| (p.seconds / 60.0) as u64 == minute).collect();
            if within.is_empty() {
                continue;
            }
            let of = |m: fn(&Gauge) -> u64| {
                let all: Vec<u64> = within.iter().map(|p| m(&p.gauge)).collect();
                (median(all.clone()), all.into_iter().max().unwrap_or(0))
            };
            let [heap, rss, handles, threads, disk] = MEASURES.map(|m| of(m.1));
            let operations = within.iter().map(|p| p.operations).sum();
            rows.push([
                minute,
                within.len() as u64,
                operations,
                heap.0,
                heap.1,
                rss.0,
                rss.1,
                handles.1,
                threads.1,
                disk.0,
                disk.1,
            ]);
        }
        rows
    }

    /// # Errors
    /// Of the file system.
    pub fn write_csv(&self, path: &Path) -> std::io::Result<()> {
        let mut out = format!("{COLUMNS}\n");
        for row in self.minutes() {
            let row: Vec<String> = row.iter().map(u64::to_string).collect();
            let _ = writeln!(out, "{}", row.join(","));
        }
        std::fs::write(path, out)
    }

    /// A panel for each measure over the minutes: the median as a line, the most as a paler one.
    ///
    /// # Errors
    /// Of the file system.
    pub fn write_chart(&self, path: &Path) -> std::io::Result<()> {
        const WIDE: f64 = 640.0;
        const HIGH: f64 = 90.0;
        let rows = self.minutes();
        let panels: [(&str, f64, usize, usize); 4] = [
            ("heap held, MiB", 1024.0, 3, 4),
            ("resident memory, MiB", 1024.0, 5, 6),
            ("handles", 1.0, 7, 7),
            ("disk, MiB", 1024.0, 9, 10),
        ];
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            WIDE + 80.0,
            (HIGH + 34.0) * panels.len() as f64 + 10.0
        );
        for (at, (name, unit, median, most)) in panels.into_iter().enumerate() {
            let top = 24.0 + at as f64 * (HIGH + 34.0);
            let peak = rows.iter().map(|r| r[most] as f64 / unit).fold(0.0, f64::max).max(1e-9);
            let x = |i: usize| 60.0 + WIDE * i as f64 / (rows.len().max(2) - 1) as f64;
            let line = |column: usize| {
                let points = rows.iter().enumerate();
                let points = points.map(|(i, r)| format!("{:.1},{:.1}", x(i), top + HIGH * (1.0 - r[column] as f64 / unit / peak)));
                points.collect::<Vec<_>>().join(" ")
            };
            let _ = writeln!(
                out,
                "<text x=\"60\" y=\"{:.0}\">{name}: median and most of each minute, closed</text>\n\
                 <text x=\"4\" y=\"{:.0}\">{peak:.1}</text><text x=\"4\" y=\"{:.0}\">0</text>\n\
                 <rect x=\"60\" y=\"{top}\" width=\"{WIDE}\" height=\"{HIGH}\" fill=\"none\" stroke=\"#ccc\"/>\n\
                 <polyline fill=\"none\" stroke=\"#9bc4e8\" points=\"{}\"/>\n\
                 <polyline fill=\"none\" stroke=\"#1a4e80\" stroke-width=\"1.5\" points=\"{}\"/>",
                top - 5.0,
                top + 9.0,
                top + HIGH,
                line(most),
                line(median)
            );
        }
        out.push_str("</svg>\n");
        std::fs::write(path, out)
    }
}

const COLUMNS: &str = "minute,epochs,operations,heap_kb,heap_kb_max,rss_kb,rss_kb_max,handles_max,threads_max,disk_kb,disk_kb_max";

fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Point, Series};
    use crate::gauge::Gauge;

    fn run(heap_kb: impl Fn(u64) -> u64) -> Series {
        let point = |i| Point { seconds: i as f64, operations: 1, gauge: Gauge { heap_kb: heap_kb(i), ..Gauge::default() } };
        Series { points: (1..=400).map(point).collect() }
    }

    #[test]
    fn steady_growth_is_not_flat_and_noise_is() {
        assert!(run(|i| 1000 + i).flat(2.0).is_err());
        assert!(run(|i| 1000 + i * 7919 % 100).flat(2.0).is_ok());
        // What is taken once and kept is no growth.
        assert!(run(|i| if i < 200 { 100 } else { 500 }).flat(2.0).is_ok());
    }

    #[test]
    fn a_row_a_minute_has_the_median_and_the_most() {
        let rows = run(|i| i).minutes();
        assert_eq!(rows.len(), 7);
        assert_eq!(rows[1][..5], [1, 60, 60, 90, 119]);
    }
}
