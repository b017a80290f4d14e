//! Statistics of a database: levels, tickers, histograms.

mod histogram;
mod ticker;

use std::fmt;

pub use histogram::Histogram;
pub use ticker::Ticker;

/// The error if a text is not the name of a ticker or histogram.
#[derive(Debug, Clone)]
pub struct NameParseError;

impl fmt::Display for NameParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unrecognized name")
    }
}

impl std::error::Error for NameParseError {}

/// Defines an enum whose variants have names: `name`, `iter`, `FromStr` and `Display`.
macro_rules! named {
    ($(#[$doc:meta])* pub enum $ty:ident { $($variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Copy, Clone, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $ty {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )+
        }

        impl $ty {
            const ALL: &'static [$ty] = &[$($ty::$variant,)+];

            /// Returns RocksDB's name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)+
                }
            }

            /// Returns all variants, in the order of their numbers.
            pub fn iter() -> std::slice::Iter<'static, $ty> {
                Self::ALL.iter()
            }
        }

        impl std::str::FromStr for $ty {
            type Err = super::NameParseError;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::iter().find(|known| known.name() == name).copied().ok_or(super::NameParseError)
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // Width and alignment of the format apply, as in the crate `rocksdb`.
                f.pad(self.name())
            }
        }
    };
}
use named;

/// The statistics that are collected. Each level includes the level before.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(u8)]
pub enum StatsLevel {
    /// Nothing.
    DisableAll = 0,
    /// Tickers.
    ExceptHistogramOrTimers = 2,
    /// Also histograms, except histograms of times.
    ExceptTimers,
    /// Also timers, except the timers of mutexes and compression.
    ExceptDetailedTimers,
    /// All statistics except the timers of mutexes.
    ExceptTimeForMutex,
    /// All statistics.
    All,
}

impl StatsLevel {
    pub(crate) fn of_ironstone(self) -> ironstone::stats::StatsLevel {
        use ironstone::stats::StatsLevel as Level;
        match self {
            StatsLevel::DisableAll => Level::DisableAll,
            StatsLevel::ExceptHistogramOrTimers => Level::ExceptHistogramOrTimers,
            StatsLevel::ExceptTimers => Level::ExceptTimers,
            StatsLevel::ExceptDetailedTimers => Level::ExceptDetailedTimers,
            StatsLevel::ExceptTimeForMutex => Level::ExceptTimeForMutex,
            StatsLevel::All => Level::All,
        }
    }
}

/// The data of a histogram at the time of the call.
#[derive(Default)]
pub struct HistogramData {
    pub(crate) data: ironstone::stats::HistogramData,
}

impl HistogramData {
    /// Returns the data of an empty histogram.
    pub fn new() -> HistogramData {
        HistogramData::default()
    }

    /// Returns the median.
    pub fn median(&self) -> f64 {
        self.data.median
    }

    /// Returns the average.
    pub fn average(&self) -> f64 {
        self.data.average
    }

    /// Returns the 95th percentile.
    pub fn p95(&self) -> f64 {
        self.data.percentile95
    }

    /// Returns the 99th percentile.
    pub fn p99(&self) -> f64 {
        self.data.percentile99
    }

    /// Returns the largest value.
    pub fn max(&self) -> f64 {
        self.data.max
    }

    /// Returns the smallest value.
    pub fn min(&self) -> f64 {
        self.data.min
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> u64 {
        self.data.sum
    }

    /// Returns the count of the values.
    pub fn count(&self) -> u64 {
        self.data.count
    }

    /// Returns the standard deviation.
    pub fn std_dev(&self) -> f64 {
        self.data.standard_deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ticker_has_the_name_of_its_number() {
        for (number, ticker) in Ticker::iter().enumerate() {
            let known = ironstone::stats::Ticker::from_number(number).unwrap();
            assert_eq!((*ticker as usize, ticker.name()), (number, known.name()));
            assert_eq!(ticker.name().parse::<Ticker>().unwrap(), *ticker);
        }
        assert!(ironstone::stats::Ticker::from_number(Ticker::iter().count()).is_none());
    }

    /// rust-rocksdb 0.25 has no variant for `rocksdb.compaction.prefetch.bytes`, so the numbers of its last variants are smaller
    /// than RocksDB's numbers. The test therefore compares names.
    #[test]
    fn each_histogram_is_known_by_its_name() {
        for histogram in Histogram::iter() {
            assert!(ironstone::stats::HistogramKind::by_name(histogram.name()).is_some(), "{histogram}");
        }
    }
}
