//! The numbers that a database counts about itself: RocksDB's tickers and histograms, if the user passed
//! `statistics`, and a few numbers for properties and for dumps to the info log, which are always counted.
//!
//! ```text
//!  Stats ─┬─ statistics   the user's, shared between databases; None costs one branch
//!         └─ database     always: writes, WAL, stalls      (family: flushes and compactions, by level)
//! ```
//! Code with a loop counts in a local variable, and adds the sum once.

mod database;
mod family;
mod slow;
pub mod trace;

pub use database::{DatabaseCounter, DatabaseCounts};
pub use family::{
    FamilyNumbers, FamilyStats, Ingested, LevelNumbers, ReasonNumbers, Reasons, StallCause, StallCounts,
};
pub use slow::{
    KEPT_SECONDS, Operation, OperationSum, SLOW_FACTOR, SlowOperations, SlowReport, StallReason, StallSum,
};

use base::stats::{HistogramKind, Statistics, Ticker};
use env::Clock;
use lsm::compaction_iter::{CompactionIterStats, Times};
use table::sst::AccessTracer;

use crate::sync::Arc;
use trace::Tracer;

/// The counters of one open database.
pub struct Stats {
    statistics: Option<Arc<Statistics>>,
    clock: Arc<dyn Clock>,
    pub database: DatabaseCounts,
    pub slow: SlowOperations,
    /// Records the calls of the database while a trace runs.
    pub trace: Tracer,
    /// Records the accesses to the block cache while a trace of the block cache runs.
    pub blocks: Arc<AccessTracer>,
}

impl Stats {
    /// Makes the counters, and stores the present time as the time of the open. Without `statistics`, tickers
    /// and histograms count nothing.
    pub fn new(statistics: Option<Arc<Statistics>>, clock: Arc<dyn Clock>) -> Arc<Stats> {
        let database = DatabaseCounts::new(clock.now_micros());
        let slow = SlowOperations::new(clock.clone());
        Arc::new(Stats {
            statistics,
            clock,
            database,
            slow,
            trace: Tracer::default(),
            blocks: Arc::default(),
        })
    }

    /// Returns the statistics of the user, if the options have them.
    #[inline]
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    /// Adds `count` to a ticker. Does nothing without `statistics`.
    #[inline]
    pub fn add(&self, ticker: Ticker, count: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.add(ticker, count);
        }
    }

    /// Adds one value to a histogram, in the unit of the histogram. Does nothing without `statistics`.
    #[inline]
    pub fn measure(&self, kind: HistogramKind, value: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.measure(kind, value);
        }
    }

    /// Starts the measurement of a time for a histogram. The result is `None` inside if no statistics or no timers
    /// are on.
    #[inline]
    pub fn begin(&self) -> Began {
        let at_nanos = match &self.statistics {
            Some(statistics) if statistics.timers_on() => Some(self.clock.now_nanos()),
            _ => None,
        };
        Began { at_nanos }
    }

    /// Ends a measurement: adds its microseconds to the histogram `kind`.
    #[inline]
    pub fn end(&self, began: Began, kind: HistogramKind) {
        if let (Some(start), Some(statistics)) = (began.at_nanos, &self.statistics) {
            statistics.measure_time(kind, self.clock.nanos_since(start) / 1000);
        }
    }

    /// Returns which times a compaction iterator must measure: merges, filters.
    pub fn compaction_iter_times(&self) -> Times {
        Times {
            merges: self.statistics.is_some(),
            filters: self.statistics.as_ref().is_some_and(|statistics| statistics.detailed_timers_on()),
        }
    }

    /// Adds the counts of merges and compaction filters of a compaction iterator, also if the iterator did not reach
    /// its end.
    pub fn count_compaction_iter(&self, done: &CompactionIterStats) {
        let Some(statistics) = &self.statistics else { return };
        for (ticker, count) in [
            (Ticker::NumberMergeFailures, done.num_merge_failures),
            (Ticker::MergeOperationTotalTime, done.times.merge_nanos),
            (Ticker::FilterOperationTotalTime, done.times.filter_nanos),
        ] {
            if count > 0 {
                statistics.add(ticker, count);
            }
        }
    }

    /// Returns the microseconds since 1970.
    pub fn now_micros(&self) -> u64 {
        self.clock.now_micros()
    }

    /// Returns the seconds since the open, or since the last reset of the counters.
    pub fn uptime_s(&self) -> f64 {
        // The wall time may go back.
        self.clock.now_micros().saturating_sub(self.database.opened_us()) as f64 / 1e6
    }
}

/// A measurement that [`Stats::begin`] started.
#[derive(Clone, Copy, Debug)]
#[must_use = "the time is taken by Stats::end"]
pub struct Began {
    /// The time of the clock in nanoseconds. `None` if the statistics measure no time.
    at_nanos: Option<u64>,
}

#[cfg(test)]
mod tests;
