//! One run of a benchmark: its settings, its threads and its end.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, PoisonError};
use std::time::{Duration, Instant};

use base::{Error, Result};
use ironstone::{Db, Options, ReadOptions, WriteOptions};

use super::data::{Keys, Sizes, Values};
use super::databases::Database;
use super::dice::Dice;
use super::flags::Flags;
use super::report::{Op, Stats, Style};
use super::stamps::Stamps;
use super::transaction_db::Transactions;

/// The work of one thread of a benchmark.
pub type Method = fn(&mut Thread<'_>) -> Result<()>;

/// The settings of one benchmark. As in RocksDB, each benchmark gets new settings.
pub struct Run {
    pub flags: Arc<Flags>,
    /// The directory of the database.
    pub path: PathBuf,
    /// The options that the database is opened with.
    pub options: Options,
    /// The source of timestamps. `None`: keys have no timestamps.
    pub stamps: Option<Arc<Stamps>>,
    /// The open databases: one, or those of `--num_multi_db`.
    pub databases: Vec<Arc<Database>>,
    /// The database in which randomtransaction begins its transactions.
    pub transactions: Transactions,
    pub keys: Keys,
    pub counts: RunCounts,
    pub sizes: Sizes,
    pub write_options: WriteOptions,
    pub read_options: ReadOptions,
    pub seed: u64,
    pub write_limit: Option<Limit>,
    pub read_limit: Option<Limit>,
    pub style: Style,
    /// The result that a read asks for.
    pub ask: Ask,
}

/// How many operations the benchmarks make.
#[derive(Clone, Copy, Debug)]
pub struct RunCounts {
    pub num: u64,
    pub reads: u64,
    pub writes: u64,
    pub deletes: u64,
    pub readwrites: u64,
    pub merge_keys: u64,
    pub batch: u64,
}

/// The result that a read asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Value,
    /// The merge operands.
    Operands,
    /// All columns.
    Entity,
}

impl Run {
    /// Returns the stream of values that the flags describe. Each call starts the same stream again.
    pub fn values(&self) -> Values {
        Values::new(
            self.sizes,
            self.flags.double("compression_ratio"),
            self.flags.count("same_value_percentage") as u32,
        )
    }

    /// Returns the open database, or the first of several. Returns InvalidArgument if no database is open.
    pub fn db(&self) -> Result<&Db> {
        self.first().map(|database| &database.db)
    }

    /// Returns the open database with its column families, or the first of several. Returns InvalidArgument if no database
    /// is open.
    pub fn first(&self) -> Result<&Database> {
        let first = self.databases.first().map(|database| &**database);
        first.ok_or_else(|| Error::invalid_argument("this benchmark needs an open database"))
    }
}

/// One thread of a benchmark.
pub struct Thread<'a> {
    pub tid: usize,
    pub dice: Dice,
    pub stats: Stats,
    pub run: &'a Run,
    pub crew: &'a Crew,
}

impl<'a> Thread<'a> {
    /// Draws the database of the next operation. RocksDB draws a number before each operation, also if there is one
    /// database (`Benchmark::SelectDBWithCfh`). Without the draw, equal seeds give other keys.
    ///
    /// # Errors
    /// InvalidArgument if no database is open.
    #[inline]
    pub fn choose_db(&mut self) -> Result<&'a Database> {
        let drawn = self.dice.next();
        match self.run.databases.as_slice() {
            [] | [_] => self.run.first(),
            several => Ok(&several[(drawn % several.len() as u64) as usize]),
        }
    }

    /// Returns a loop that ends after `--duration` seconds. If the flag is 0, the loop ends after `ops` operations.
    pub fn span(&self, ops: u64) -> Span<'a> {
        self.span_of(self.run.flags.count("duration"), ops)
    }

    /// Returns a loop that ends after `seconds`, or after `ops` operations if `seconds` is 0.
    pub fn span_of(&self, seconds: u64, ops: u64) -> Span<'a> {
        Span {
            limit: (seconds > 0).then(|| Duration::from_secs(seconds)),
            max: ops,
            done: 0,
            check_every: self.run.flags.count("ops_between_duration_checks").max(1),
            start: Instant::now(),
            failed: &self.crew.failed,
        }
    }

    /// Counts finished operations in the statistics of the thread.
    #[inline]
    pub fn finished(&mut self, ops: u64, op: Op) {
        self.stats.finished(ops, op);
    }
}

/// The state that the threads of one benchmark share.
pub struct Crew {
    pub failed: AtomicBool,
    pub total: usize,
    pub finished: AtomicUsize,
    /// The time of timeseries: one tick for each write.
    pub ticks: AtomicU64,
    error: Mutex<Option<Error>>,
}

/// Decides when a loop ends.
pub struct Span<'a> {
    limit: Option<Duration>,
    max: u64,
    done: u64,
    check_every: u64,
    start: Instant,
    failed: &'a AtomicBool,
}

impl Span<'_> {
    /// Counts `ops` more operations. Returns true if the loop is over. A time limit takes precedence over a count.
    #[inline]
    pub fn over(&mut self, ops: u64) -> bool {
        let ops = ops.max(1);
        let before = self.done;
        self.done += ops;
        if self.done / self.check_every != before / self.check_every {
            if self.failed.load(Ordering::Relaxed) {
                return true;
            }
            if let Some(limit) = self.limit
                && self.start.elapsed() >= limit
            {
                return true;
            }
        }
        self.limit.is_none() && self.done > self.max
    }

    /// Returns the stage of the current operation, if each stage has `ops` operations.
    #[inline]
    pub fn stage(&self, ops: u64) -> u64 {
        self.done.min(self.max.saturating_sub(1)) / ops.max(1)
    }
}

/// A rate limit that all threads share, in units for each second. The rate can change.
pub struct Limit {
    pace: Mutex<Pace>,
}

/// The longest lateness that a caller can make up for without pauses. RocksDB's `db_bench` has the same limit: the period of its rate
/// limiter. After a longer write stall, a writer continues at its rate.
const LATE_MAX: Duration = Duration::from_millis(100);

struct Pace {
    rate: f64,
    since: Instant,
    /// The time from `since` to the end of the used units.
    due: Duration,
}

impl Pace {
    fn new(rate: u64) -> Pace {
        Pace { rate: rate.max(1) as f64, since: Instant::now(), due: Duration::ZERO }
    }

    /// Uses `units` at the time `now` after `since`. Returns the time that the caller waits.
    fn take(&mut self, units: u64, now: Duration) -> Duration {
        let start = self.due.max(now.saturating_sub(LATE_MAX));
        self.due = start + Duration::from_secs_f64(units as f64 / self.rate);
        self.due.saturating_sub(now)
    }
}

impl Limit {
    /// Makes a limit of `rate` units for each second. A rate of 0 counts as 1.
    pub fn new(rate: u64) -> Limit {
        Limit { pace: Mutex::new(Pace::new(rate)) }
    }

    /// Changes the rate. Units that were used before no longer count.
    pub fn set(&self, rate: u64) {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) = Pace::new(rate);
    }

    /// Waits until the rate allows `units` more units.
    pub fn request(&self, units: u64) {
        let ahead = {
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let now = pace.since.elapsed();
            pace.take(units, now)
        };
        if ahead > Duration::ZERO {
            std::thread::sleep(ahead);
        }
    }
}

/// Runs `method` on `threads` threads and merges their counters.
///
/// # Errors
/// The first error of any thread. Each other thread stops at its next check.
pub fn run(run: &Run, threads: usize, total_before: &mut u64, method: Method) -> Result<Stats> {
    let crew = Crew {
        failed: AtomicBool::new(false),
        total: threads,
        finished: AtomicUsize::new(0),
        ticks: AtomicU64::new(0),
        error: Mutex::new(None),
    };
    let gate = Barrier::new(threads);
    let reporter = super::reporter::Reporter::start(&run.flags)?;
    let mut all: Option<Stats> = None;
    std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(threads);
        for tid in 0..threads {
            *total_before += 1;
            let seed = run.seed.wrapping_add(*total_before);
            let shared_done = reporter.as_ref().map(super::reporter::Reporter::counter);
            let (crew, gate) = (&crew, &gate);
            started.push(scope.spawn(move || {
                let mut thread =
                    Thread { tid, dice: Dice::new(seed), stats: Stats::new(tid, &run.style), run, crew };
                thread.stats.shared_done = shared_done;
                gate.wait();
                base::stats::set_perf_level_number(run.flags.int("perf_level"));
                thread.stats.restart();
                if let Err(error) = method(&mut thread) {
                    crew.failed.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = crew.error.lock() {
                        first.get_or_insert(error);
                    }
                }
                if run.flags.int("perf_level") > 1 {
                    thread.stats.message(&format!("PERF_CONTEXT:\n{}", base::stats::perf_context_text()));
                }
                thread.stats.stop();
                crew.finished.fetch_add(1, Ordering::Release);
                thread.stats
            }));
        }
        for handle in started {
            match handle.join() {
                Ok(stats) if stats.excluded => {}
                Ok(stats) => match &mut all {
                    Some(all) => all.merge(&stats),
                    None => all = Some(stats),
                },
                Err(_) => {
                    if let Ok(mut first) = crew.error.lock() {
                        first.get_or_insert_with(|| Error::aborted("a benchmark thread panicked"));
                    }
                }
            }
        }
    });
    drop(reporter);
    match crew.error.into_inner() {
        Ok(None) => Ok(all.unwrap_or_else(|| Stats::new(0, &run.style))),
        Ok(Some(error)) => Err(error),
        Err(_) => Err(Error::aborted("a benchmark thread panicked")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_caller_makes_up_for_a_tenth_of_a_second() {
        let mut pace = Pace::new(100);
        let millis = Duration::from_millis;
        assert_eq!(pace.take(10, Duration::ZERO), millis(100));
        assert_eq!(pace.take(10, millis(100)), millis(100));
        // The caller was late by 50 milliseconds, and makes up for them.
        assert_eq!(pace.take(10, millis(250)), millis(50));
        // After a minute, the caller uses 100 milliseconds of units without a wait, and waits for the next units.
        assert_eq!(pace.take(10, millis(60_000)), Duration::ZERO);
        assert_eq!(pace.take(10, millis(60_000)), millis(100));
    }
}
