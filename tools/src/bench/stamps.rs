//! User-defined timestamps of `--user_timestamp_size=8`: one counter for all threads, as RocksDB's `TimestampEmulator`
//! (`tools/db_bench_tool.cc`).
//!
//! The calls that take timestamps are in `stamped`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::dice::Dice;

/// The source of timestamps.
pub struct Stamps {
    next: AtomicU64,
    /// True: reads take the newest timestamp. False: reads take a random timestamp of the past.
    latest: bool,
}

impl Stamps {
    /// Makes a source that starts at 0. With `latest`, a read takes the newest timestamp; without, a random
    /// older timestamp.
    pub fn new(latest: bool) -> Stamps {
        Stamps { next: AtomicU64::new(0), latest }
    }

    /// Returns the next timestamp, little endian.
    #[inline]
    pub fn allocate(&self) -> [u8; 8] {
        self.next.fetch_add(1, Ordering::Relaxed).to_le_bytes()
    }

    /// Returns the timestamp of a read, little endian.
    pub fn for_read(&self, dice: &mut Dice) -> [u8; 8] {
        if self.latest {
            self.allocate()
        } else {
            dice.below(self.next.load(Ordering::Relaxed)).to_le_bytes()
        }
    }
}
