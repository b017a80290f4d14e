//! The statistics of a database: RocksDB's `Statistics`.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use super::shards::Shards;
use super::{Histogram, HistogramData, HistogramKind, Ticker};

/// Selects the values that the statistics collect. Each level adds values to the level before. The numbers are
/// RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StatsLevel {
    /// Collects nothing.
    DisableAll = 0,
    /// Collects tickers.
    ExceptHistogramOrTimers = 1,
    /// Adds histograms of counts and sizes.
    ExceptTimers = 2,
    /// Adds times, except times inside of mutexes and times of compression.
    #[default]
    ExceptDetailedTimers = 3,
    /// Adds times of compression.
    ExceptTimeForMutex = 4,
    /// Adds times inside of mutexes.
    All = 5,
}

impl StatsLevel {
    /// Returns the level with this number. Larger numbers give the last level.
    pub const fn from_number(number: u8) -> StatsLevel {
        match number {
            0 => StatsLevel::DisableAll,
            1 => StatsLevel::ExceptHistogramOrTimers,
            2 => StatsLevel::ExceptTimers,
            3 => StatsLevel::ExceptDetailedTimers,
            4 => StatsLevel::ExceptTimeForMutex,
            _ => StatsLevel::All,
        }
    }
}

/// Tickers and histograms of one or more databases. Shared as `Option<Arc<Statistics>>`.
///
/// Cost of a count: a thread-local read, and an addition to memory that only this thread writes.
pub struct Statistics {
    level: AtomicU8,
    shards: Shards,
    /// For each ticker, the sum at the time of the last set call, minus the value that the call set.
    origins: Box<[AtomicU64]>,
    /// The histograms that stay empty, one bit each.
    ignored: u128,
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics::new()
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Statistics({:?})", self.level())
    }
}

impl Statistics {
    /// Makes empty statistics with the default level.
    pub fn new() -> Statistics {
        Statistics {
            level: AtomicU8::new(StatsLevel::default() as u8),
            shards: Shards::new(),
            origins: (0..Ticker::COUNT).map(|_| AtomicU64::new(0)).collect(),
            ignored: 0,
        }
    }

    /// Makes empty statistics. The histograms in `ignored` stay empty.
    pub fn without(ignored: &[HistogramKind]) -> Statistics {
        const { assert!(HistogramKind::COUNT <= u128::BITS as usize) };
        let ignored = ignored.iter().fold(0, |mask, &kind| mask | 1 << kind as u32);
        Statistics { ignored, ..Statistics::new() }
    }

    /// Returns true if this histogram takes values.
    #[inline]
    fn takes(&self, kind: HistogramKind) -> bool {
        self.ignored >> kind as u32 & 1 == 0
    }

    /// Returns the level.
    #[inline]
    pub fn level(&self) -> StatsLevel {
        StatsLevel::from_number(self.level.load(Relaxed))
    }

    /// Sets the level.
    pub fn set_level(&self, level: StatsLevel) {
        self.level.store(level as u8, Relaxed);
    }

    /// Adds 1 to a ticker.
    #[inline]
    pub fn tick(&self, ticker: Ticker) {
        self.add(ticker, 1);
    }

    /// Adds `count` to a ticker; RocksDB's `recordTick`.
    #[inline]
    pub fn add(&self, ticker: Ticker, count: u64) {
        if self.level.load(Relaxed) > StatsLevel::DisableAll as u8 {
            self.shards.tick(ticker, count);
        }
    }

    /// Adds a size or a number to a histogram; RocksDB's `recordInHistogram`.
    #[inline]
    pub fn measure(&self, kind: HistogramKind, value: u64) {
        if self.level.load(Relaxed) > StatsLevel::ExceptHistogramOrTimers as u8 && self.takes(kind) {
            self.shards.measure(kind, value);
        }
    }

    /// Adds a duration to a histogram, unless the level excludes times. The unit is that of the histogram:
    /// microseconds for most. RocksDB's `reportTimeToHistogram`.
    #[inline]
    pub fn measure_time(&self, kind: HistogramKind, value: u64) {
        if self.timers_on() && self.takes(kind) {
            self.shards.measure(kind, value);
        }
    }

    /// Returns true if times are collected. Check this before a clock is read.
    #[inline]
    pub fn timers_on(&self) -> bool {
        self.level.load(Relaxed) > StatsLevel::ExceptTimers as u8
    }

    /// Returns true if times of compression are collected.
    #[inline]
    pub fn detailed_timers_on(&self) -> bool {
        self.level.load(Relaxed) > StatsLevel::ExceptDetailedTimers as u8
    }

    /// Returns the value of a ticker.
    pub fn ticker(&self, ticker: Ticker) -> u64 {
        self.shards.ticker(ticker).wrapping_sub(self.origins[ticker.number()].load(Relaxed))
    }

    /// Sets the value of a ticker.
    pub fn set_ticker(&self, ticker: Ticker, count: u64) {
        let origin = self.shards.ticker(ticker).wrapping_sub(count);
        self.origins[ticker.number()].store(origin, Relaxed);
    }

    /// Returns the value of a ticker and sets the ticker to 0. Counts of other threads are not lost.
    pub fn take_ticker(&self, ticker: Ticker) -> u64 {
        let sum = self.shards.ticker(ticker);
        sum.wrapping_sub(self.origins[ticker.number()].swap(sum, Relaxed))
    }

    /// Returns a copy of a histogram.
    pub fn histogram(&self, kind: HistogramKind) -> Histogram {
        self.shards.histogram(kind)
    }

    /// Returns the figures of a histogram.
    pub fn histogram_data(&self, kind: HistogramKind) -> HistogramData {
        self.histogram(kind).data()
    }

    /// Sets all tickers to 0 and removes all values of histograms.
    pub fn reset(&self) {
        for &ticker in Ticker::ALL {
            self.set_ticker(ticker, 0);
        }
        for &kind in HistogramKind::ALL {
            self.shards.clear_histogram(kind);
        }
    }

    /// Returns all tickers with their names.
    pub fn tickers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Ticker::ALL.iter().map(|&ticker| (ticker.name(), self.ticker(ticker)))
    }
}

/// RocksDB's text: a line for each ticker, then a line for each histogram.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.tickers() {
            writeln!(f, "{name} COUNT : {count}")?;
        }
        for &kind in HistogramKind::ALL {
            let data = self.histogram_data(kind);
            writeln!(
                f,
                "{} P50 : {:.6} P95 : {:.6} P99 : {:.6} P100 : {:.6} COUNT : {} SUM : {}",
                kind.name(),
                data.median,
                data.percentile95,
                data.percentile99,
                data.max,
                data.count,
                data.sum
            )?;
        }
        Ok(())
    }
}
