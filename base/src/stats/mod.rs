//! Statistics of the library, with RocksDB's names and numbers.
//!
//! ```text
//! Statistics    of a database: tickers and histograms, one set per thread, added when they are read
//! Histogram     109 buckets, each about 1.5 times as wide as the bucket before; RocksDB's percentiles and text
//! perf          of a thread: the cost of its calls, by PerfLevel        io  bytes and time of file-system calls
//! steps         of a thread: where its current call left the fast path
//! tickers kinds perf_counters       the tables of names
//! ```
//! A thread writes only its own set, with plain loads and stores and without a locked instruction. A reader adds the
//! sets. So counts are exact, but a read can miss the last counts of other threads.

mod histogram;
mod io;
mod kinds;
mod perf;
mod perf_counters;
mod shards;
mod statistics;
mod steps;
mod tickers;

pub use histogram::{Histogram, HistogramData};
pub use io::{
    IoCounter, IoMeasure, IoTimer, IoTimes, io_add, io_context_reset, io_context_text, io_counter,
    io_set_pool,
};
pub use kinds::HistogramKind;
pub use perf::{
    LevelBreakdown, PerfLevel, PerfTimer, Stopwatch, Uncounted, blocks_read, note_blocks_read, perf_add,
    perf_add_at_level, perf_add_both, perf_add_each, perf_context_reset, perf_context_text,
    perf_context_text_nonzero, perf_counter, perf_counting, perf_level, perf_per_level, perf_timing,
    set_perf_level, set_perf_level_number,
};
pub use perf_counters::{LevelCounter, PerfCounter};
pub use statistics::{Statistics, StatsLevel};
pub use steps::{
    Attribution, BegunOperation, Cause, OperationKind, ProcessorTime, SlowOperation, Step,
    add_to_last_operation, begin_operation, end_move, end_operation, last_causes, processor_time_since,
    set_attribution, skip_wait, skipped_nanos, stepped_ticks, steps_taken,
};
pub use tickers::Ticker;

/// Makes an enum whose variants are numbered from 0 and have a text each.
macro_rules! numbered {
    ($(#[$doc:meta])* pub enum $name:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        ///
        /// The discriminant of a variant is the index of the variant in `ALL`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $name { $(#[doc = concat!("`", $text, "`.")] $variant),* }

        impl $name {
            /// All variants, by number.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// The number of variants.
            pub const COUNT: usize = Self::ALL.len();

            /// Returns RocksDB's name.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// Returns RocksDB's number.
            pub const fn number(self) -> usize {
                self as usize
            }

            /// Returns the variant with this number, or `None`.
            pub fn from_number(number: usize) -> Option<$name> {
                Self::ALL.get(number).copied()
            }

            /// Returns the variant with this name, or `None`.
            pub fn by_name(name: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}
use numbered;

#[cfg(test)]
mod tests;
