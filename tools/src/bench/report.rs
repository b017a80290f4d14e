//! The counters of a benchmark thread, and the report lines in RocksDB's wording: `name : N micros/op N ops/sec N
//! seconds N operations; N MB/s`.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::stats::Histogram;
use env::Env;
use ironstone::Family;

use super::file_operations::FileOperations;

/// The kind of an operation. Each kind has its own histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Op {
    Read,
    Write,
    Delete,
    Seek,
    Merge,
    Update,
    Compress,
    Uncompress,
    Crc,
    Hash,
    Others,
}

const OPS: [&str; 11] =
    ["read", "write", "delete", "seek", "merge", "update", "compress", "uncompress", "crc", "hash", "op"];

/// The settings of the reports. All threads share them.
#[derive(Clone)]
pub struct Style {
    pub histogram: bool,
    pub progress: bool,
    pub slow: Duration,
    /// The number of operations between status lines. 0 prints the short form `... finished`.
    pub interval: u64,
    pub interval_seconds: u64,
    /// The first thread adds the statistics of these column families to each of its status lines.
    pub per_interval: Option<Vec<Family>>,
    /// True adds the properties of the SST files of each level to the statistics.
    pub table_properties: bool,
    /// The counters of file operations. Each report line is followed by their report.
    pub file_operations: Option<Arc<FileOperations>>,
    /// The first thread prints the state of the threads of this environment at each of its status lines.
    pub thread_status: Option<Env>,
}

/// The counters of one thread. They are merged at the end.
pub struct Stats {
    id: usize,
    style: Style,
    start: Instant,
    finish: Instant,
    last_op: Instant,
    last_report: Instant,
    last_report_done: u64,
    seconds: f64,
    pub done: u64,
    next_report: u64,
    pub bytes: u64,
    histograms: Vec<Option<Box<Histogram>>>,
    message: String,
    /// True for a thread whose operations are not counted in the result, such as the writer of readwhilewriting.
    pub excluded: bool,
    /// The number of finished operations, for the reporter of `--report_interval_seconds`.
    pub shared_done: Option<std::sync::Arc<std::sync::atomic::AtomicU64>>,
}

impl Stats {
    /// Makes the counters of one thread, all 0. The time starts now.
    pub fn new(id: usize, style: &Style) -> Stats {
        let now = Instant::now();
        Stats {
            id,
            style: style.clone(),
            start: now,
            finish: now,
            last_op: now,
            last_report: now,
            last_report_done: 0,
            seconds: 0.0,
            done: 0,
            next_report: if style.interval > 0 { style.interval } else { 100 },
            bytes: 0,
            histograms: (0..OPS.len()).map(|_| None).collect(),
            message: String::new(),
            excluded: false,
            shared_done: None,
        }
    }

    /// Starts the time and the counters again.
    pub fn restart(&mut self) {
        let shared = self.shared_done.take();
        *self = Stats { shared_done: shared, ..Stats::new(self.id, &self.style) };
    }

    /// Ends the time of the thread.
    pub fn stop(&mut self) {
        self.finish = Instant::now();
        self.seconds = (self.finish - self.start).as_secs_f64();
    }

    /// Excludes the sleep for a rate limit from the latency histogram.
    pub fn reset_last_op(&mut self) {
        self.last_op = Instant::now();
    }

    /// Counts `ops` finished operations. The latency of the last operation is the time since the previous call.
    #[inline]
    pub fn finished(&mut self, ops: u64, op: Op) {
        if let Some(shared) = &self.shared_done {
            shared.fetch_add(ops, std::sync::atomic::Ordering::Relaxed);
        }
        if self.style.histogram {
            self.time_op(op);
        }
        self.done += ops;
        if self.done >= self.next_report && self.style.progress {
            self.progress();
        }
    }

    fn time_op(&mut self, op: Op) {
        let now = Instant::now();
        let took = now - self.last_op;
        self.histograms[op as usize].get_or_insert_with(Box::default).add(took.as_micros() as u64);
        if took >= self.style.slow && self.style.interval == 0 {
            eprint!("long op: {} micros{:30}\r", took.as_micros(), "");
        }
        self.last_op = now;
    }

    #[cold]
    fn progress(&mut self) {
        if self.style.interval == 0 {
            self.next_report += match self.next_report {
                0..1_000 => 100,
                1_000..5_000 => 500,
                5_000..10_000 => 1_000,
                10_000..50_000 => 5_000,
                50_000..100_000 => 10_000,
                100_000..500_000 => 50_000,
                _ => 100_000,
            };
            eprint!("... finished {} ops{:30}\r", self.done, "");
        } else {
            self.next_report += self.style.interval;
            self.print_interval();
        }
        if let Some(env) = self.style.thread_status.as_ref().filter(|_| self.id == 0) {
            eprint!("{}", super::thread_status::table(env));
        }
        let _ = std::io::stderr().flush();
    }

    /// Prints the status line of `--stats_interval`, unless the last line is younger than `--stats_interval_seconds`.
    fn print_interval(&mut self) {
        let now = Instant::now();
        let since = (now - self.last_report).as_secs_f64();
        if self.style.interval_seconds > 0 && since < self.style.interval_seconds as f64 {
            return;
        }
        let all = (now - self.start).as_secs_f64();
        let recent = self.done - self.last_report_done;
        eprintln!(
            "{} ... thread {}: ({},{}) ops and ({:.1},{:.1}) ops/second in ({:.6},{:.6}) seconds",
            super::clock::time_of_day(),
            self.id,
            recent,
            self.done,
            recent as f64 / since,
            self.done as f64 / all,
            since,
            all
        );
        if let Some(families) = self.style.per_interval.as_ref().filter(|_| self.id == 0) {
            print_statistics(families, self.style.table_properties);
        }
        self.last_report = now;
        self.last_report_done = self.done;
    }

    /// Adds a remark to the end of the report line.
    pub fn message(&mut self, text: &str) {
        if !self.message.is_empty() && !text.is_empty() {
            self.message.push(' ');
        }
        self.message.push_str(text);
    }

    /// Adds the counters of another thread. An excluded thread adds nothing.
    pub fn merge(&mut self, other: &Stats) {
        if other.excluded {
            return;
        }
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_with(Box::default).merge(theirs);
            }
        }
        self.done += other.done;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.start = self.start.min(other.start);
        self.finish = self.finish.max(other.finish);
        if self.message.is_empty() {
            self.message.clone_from(&other.message);
        }
    }

    fn elapsed(&self) -> f64 {
        (self.finish - self.start).as_secs_f64().max(1e-6)
    }

    /// Returns the report line, and the histograms if the flags ask for them.
    pub fn report(&mut self, name: &str) -> String {
        self.done = self.done.max(1);
        let elapsed = self.elapsed();
        let mut extra = String::new();
        if self.bytes > 0 {
            extra = format!("{:6.1} MB/s", self.bytes as f64 / 1_048_576.0 / elapsed);
        }
        if !self.message.is_empty() {
            if !extra.is_empty() {
                extra.push(' ');
            }
            extra.push_str(&self.message);
        }
        let mut out = format!(
            "{:<12} : {:11.3} micros/op {} ops/sec {:.3} seconds {} operations;{}{}\n",
            name,
            self.seconds * 1e6 / self.done as f64,
            (self.done as f64 / elapsed) as i64,
            elapsed,
            self.done,
            if extra.is_empty() { "" } else { " " },
            extra
        );
        if self.style.histogram {
            for (what, histogram) in OPS.iter().zip(&self.histograms) {
                if let Some(histogram) = histogram {
                    out.push_str(&format!("Microseconds per {what}:\n{histogram}\n"));
                }
            }
        }
        if let Some(counters) = &self.style.file_operations {
            out.push_str(&counters.take_report());
        }
        out
    }
}

/// Prints the statistics of `--stats_per_interval`.
fn print_statistics(families: &[Family], table_properties: bool) {
    let print = |family: &Family, name: &str, before: &str| {
        if let Some(text) = family.property(name) {
            eprintln!("{before}{text}");
        }
    };
    for family in families {
        print(family, if families.len() > 1 { "rocksdb.cfstats" } else { "rocksdb.stats" }, "");
        if families.len() == 1 {
            print(family, "rocksdb.num-running-compactions", "num-running-compactions: ");
            print(family, "rocksdb.num-running-flushes", "num-running-flushes: ");
        }
        if table_properties {
            for level in 0..family.options().num_levels {
                let name = format!("rocksdb.aggregated-table-properties-at-level{level}");
                match family.property(&name) {
                    Some(text) if !text.contains("# entries=0") => eprintln!("Level[{level}]: {text}"),
                    _ => {}
                }
            }
        }
    }
}

/// The results of several runs of one benchmark: `name[X5]`.
#[derive(Default)]
pub struct Runs {
    ops: Vec<f64>,
    megabytes: Vec<f64>,
}

impl Runs {
    /// Adds the result of one run.
    pub fn add(&mut self, stats: &Stats) {
        let elapsed = stats.elapsed();
        self.ops.push(stats.done.max(1) as f64 / elapsed);
        if stats.bytes > 0 {
            self.megabytes.push(stats.bytes as f64 / 1_048_576.0 / elapsed);
        }
    }

    /// Returns the average so far. Empty before the second run.
    pub fn report(&self, name: &str, interval_only: bool) -> String {
        let n = self.ops.len();
        if n < 2 {
            return String::new();
        }
        let (ops, ops95) = (mean(&self.ops), confidence95(&self.ops));
        let with_bytes = self.megabytes.len() == n;
        let (mb, mb95) = (mean(&self.megabytes), confidence95(&self.megabytes));
        match (interval_only, with_bytes) {
            (false, true) => {
                format!(
                    "{name} [AVG {n} runs] : {ops:.0} (± {ops95:.0}) ops/sec; {mb:6.1} (± {mb95:.1}) MB/sec\n"
                )
            }
            (false, false) => format!("{name} [AVG {n} runs] : {ops:.0} (± {ops95:.0}) ops/sec\n"),
            (true, true) => format!(
                "{name} [CI95 {n} runs] : ({:.0}, {:.0}) ops/sec; ({:.1}, {:.1}) MB/sec\n",
                ops - ops95,
                ops + ops95,
                mb - mb95,
                mb + mb95
            ),
            (true, false) => {
                format!("{name} [CI95 {n} runs] : ({:.0}, {:.0}) ops/sec\n", ops - ops95, ops + ops95)
            }
        }
    }

    /// Returns the average and the median of all runs. Empty for a single run.
    pub fn summary(&mut self, name: &str) -> String {
        let n = self.ops.len();
        if n < 2 {
            return String::new();
        }
        let (ops, ops95) = (mean(&self.ops), confidence95(&self.ops));
        let millis = if ops > 0.0 { 1000.0 / ops } else { 0.0 };
        let (mb, mb95) = (mean(&self.megabytes), confidence95(&self.megabytes));
        if self.megabytes.len() == n {
            format!(
                "\n{name} [AVG    {n} runs] : {ops:.0} (± {ops95:.0}) ops/sec; {millis:.3} ms/op; {mb:6.1} (± {mb95:.1}) MB/sec\n\
                 {name} [MEDIAN {n} runs] : {:.0} ops/sec; {:6.1} MB/sec\n",
                median(&mut self.ops),
                median(&mut self.megabytes)
            )
        } else {
            format!(
                "\n{name} [AVG    {n} runs] : {ops:.0} (± {ops95:.0}) ops/sec; {millis:.3} ms/op\n\
                 {name} [MEDIAN {n} runs] : {:.0} ops/sec\n",
                median(&mut self.ops)
            )
        }
    }
}

fn mean(data: &[f64]) -> f64 {
    data.iter().sum::<f64>() / data.len().max(1) as f64
}

/// Returns half the width of the 95 % confidence interval of the mean. The samples are taken as normally distributed.
fn confidence95(data: &[f64]) -> f64 {
    if data.len() < 2 {
        return 0.0;
    }
    let mean = mean(data);
    let squares: f64 = data.iter().map(|x| (x - mean).powi(2)).sum();
    1.959_964 * (squares / (data.len() - 1) as f64).sqrt() / (data.len() as f64).sqrt()
}

fn median(data: &mut [f64]) -> f64 {
    data.sort_by(f64::total_cmp);
    let mid = data.len() / 2;
    match data.len() {
        0 => 0.0,
        n if n % 2 == 1 => data[mid],
        _ => (data[mid] + data[mid - 1]) / 2.0,
    }
}
