//! The resources of all processes over time, minute by minute, and the check that they stay flat.
//!
//! ```text
//!  all of the run   |······|······|······|······|      quarters by time
//!                                   Q3     Q4          flat: the median of Q4 is at most so much above that of Q3
//! ```
//! Each point is taken with the database closed. The medians use the rest points only, because their state
//! is fixed (`rest`). The maximum uses every point, so a temporary effect of drawn options shows too.

use std::fmt::Write as _;
use std::path::Path;

use crate::gauge::Gauge;

/// The resources after an epoch or at a rest point.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Seconds since the start of the run.
    pub seconds: f64,
    pub operations: u64,
    /// The number of rows of the database, at a rest point. `None` after an epoch.
    pub rows: Option<u64>,
    /// The size of the files that stayed by design since the last rest point, in KiB.
    pub aside_kb: u64,
    pub gauge: Gauge,
}

/// A measured resource: its name, and its value at a point.
pub type Measure = (&'static str, fn(&Gauge) -> u64);

/// The resources that must be flat.
pub const MEASURES: [Measure; 5] = [
    ("heap_kb", |g| g.heap_kb),
    ("rss_kb", |g| g.rss_kb),
    ("handles", |g| g.handles),
    ("threads", |g| g.threads),
    ("disk_kb", |g| g.disk_kb),
];

/// A quarter with fewer rest points is not judged.
const RESTS_MIN: usize = 4;

/// All points of a campaign, in the order of time.
#[derive(Debug, Default)]
pub struct Series {
    pub points: Vec<Point>,
}

impl Series {
    /// Returns the points that were measured at rest points.
    pub fn rests(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|p| p.rows.is_some())
    }

    /// Returns the rest points of the third and the fourth quarter.
    fn last_quarters(&self) -> [Vec<&Point>; 2] {
        let end = self.points.last().map_or(0.0, |p| p.seconds);
        [(0.5, 0.75), (0.75, 1.0)].map(|(from, to)| {
            self.rests().filter(|p| p.seconds > end * from && p.seconds <= end * to).collect()
        })
    }

    /// Returns the medians of a resource at the rest points of the third and the fourth quarter.
    pub fn quarters(&self, of: fn(&Gauge) -> u64) -> [u64; 2] {
        self.last_quarters().map(|rests| median(rests.iter().map(|p| of(&p.gauge)).collect()))
    }

    /// # Errors
    ///
    /// Returns the resources that grew by more than `percent` in the last quarter. Also fails if there are
    /// too few rest points, or if the rest points have different rows.
    pub fn flat(&self, percent: f64) -> Result<(), String> {
        let quarters = self.last_quarters();
        if let Some(few) = quarters.iter().find(|rests| rests.len() < RESTS_MIN) {
            return Err(format!(
                "{} rests in a quarter of the run are too few to decide whether the series is flat",
                few.len()
            ));
        }
        let rows = self.rests().find_map(|p| p.rows);
        if let Some(other) = self.rests().find(|p| p.rows != rows) {
            return Err(format!(
                "{rows:?} rows at the first rest, {:?} after {:.0} s",
                other.rows, other.seconds
            ));
        }
        let mut grown = Vec::new();
        for (name, of) in MEASURES {
            let [before, after] = self.quarters(of);
            if after as f64 > before as f64 * (1.0 + percent / 100.0) {
                grown.push(format!("{name}: {before} in the third quarter of the run, {after} in the last"));
            }
        }
        if grown.is_empty() { Ok(()) } else { Err(grown.join("; ")) }
    }

    /// Returns one row per minute, in the order of [`COLUMNS`]. A minute without a rest point repeats the medians of
    /// the previous minute.
    pub fn minutes(&self) -> Vec<[u64; COLUMNS.len()]> {
        let mut rows: Vec<[u64; COLUMNS.len()]> = Vec::new();
        let last = self.points.last().map_or(0, |p| (p.seconds / 60.0) as u64);
        for minute in 0..=last {
            let within: Vec<_> = self.points.iter().filter(|p| (p.seconds / 60.0) as u64 == minute).collect();
            if within.is_empty() {
                continue;
            }
            let rests: Vec<_> = within.iter().filter(|p| p.rows.is_some()).collect();
            let mut row = [0; COLUMNS.len()];
            row[0] = minute;
            row[1] = (within.len() - rests.len()) as u64;
            row[2] = within.iter().map(|p| p.operations).sum();
            row[3] = rests.len() as u64;
            row[4] = median(rests.iter().filter_map(|p| p.rows).collect());
            for (at, (_, of)) in MEASURES.into_iter().enumerate() {
                row[5 + 2 * at] = median(rests.iter().map(|p| of(&p.gauge)).collect());
                row[6 + 2 * at] = within.iter().map(|p| of(&p.gauge)).max().unwrap_or(0);
            }
            row[5 + 2 * MEASURES.len()] = rests.iter().map(|p| p.aside_kb).sum();
            if rests.is_empty()
                && let Some(before) = rows.last()
            {
                row[4] = before[4];
                (0..MEASURES.len()).for_each(|at| row[5 + 2 * at] = before[5 + 2 * at]);
            }
            rows.push(row);
        }
        rows
    }

    /// # Errors
    /// The error of the file system.
    pub fn write_csv(&self, path: &Path) -> std::io::Result<()> {
        let mut out = format!("{}\n", COLUMNS.join(","));
        for row in self.minutes() {
            let row: Vec<String> = row.iter().map(u64::to_string).collect();
            let _ = writeln!(out, "{}", row.join(","));
        }
        std::fs::write(path, out)
    }

    /// Draws a panel for each resource over the minutes: the median at rest as a line, the maximum as a pale line.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn write_chart(&self, path: &Path) -> std::io::Result<()> {
        const WIDE: f64 = 640.0;
        const HIGH: f64 = 90.0;
        let rows = self.minutes();
        let panels: [(&str, f64, usize, usize); 5] = [
            ("allocated, MiB", 1024.0, 5, 6),
            ("resident memory, MiB", 1024.0, 7, 8),
            ("handles", 1.0, 9, 10),
            ("threads", 1.0, 11, 12),
            ("disk, MiB", 1024.0, 13, 14),
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
                let points = points.map(|(i, r)| {
                    format!("{:.1},{:.1}", x(i), top + HIGH * (1.0 - r[column] as f64 / unit / peak))
                });
                points.collect::<Vec<_>>().join(" ")
            };
            let _ = writeln!(
                out,
                "<text x=\"60\" y=\"{:.0}\">{name}: median at rest and most of each minute, closed</text>\n\
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

/// The columns of the CSV file, in order.
pub const COLUMNS: [&str; 16] = [
    "minute",
    "epochs",
    "operations",
    "rests",
    "rows",
    "heap_kb",
    "heap_kb_max",
    "rss_kb",
    "rss_kb_max",
    "handles",
    "handles_max",
    "threads",
    "threads_max",
    "disk_kb",
    "disk_kb_max",
    "aside_kb",
];

fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
