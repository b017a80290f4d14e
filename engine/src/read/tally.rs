//! Statistics of the SST files that one MultiGet reads.

use std::cell::Cell;

use base::Level;
use base::stats::{HistogramKind, Statistics, blocks_read};

/// Counts the reads of one call, level by level. Each SST file of level 0 counts as a level.
pub(super) struct Tally<'a> {
    statistics: &'a Statistics,
    /// For the present level: the number of index and filter blocks that were read, and of SST files whose data was
    /// read.
    metadata: Cell<u64>,
    tables: Cell<u64>,
    /// The number of levels whose data was read.
    levels: Cell<u64>,
    /// The present level of a lookup of one key.
    level: Cell<Level>,
}

/// Returns the difference of two pairs of counts. The counts of a thread may wrap.
pub(super) fn difference(
    (metadata, data): (u64, u64),
    (metadata_before, data_before): (u64, u64),
) -> (u64, u64) {
    (metadata.wrapping_sub(metadata_before), data.wrapping_sub(data_before))
}

impl<'a> Tally<'a> {
    pub(super) fn new(statistics: &'a Statistics) -> Self {
        Tally {
            statistics,
            metadata: Cell::new(0),
            tables: Cell::new(0),
            levels: Cell::new(0),
            level: Cell::new(Level::ZERO),
        }
    }

    /// Counts the lookup of `keys` keys in one SST file. `before` has the block counts of the thread before the
    /// lookup.
    pub(super) fn asked(&self, keys: usize, before: (u64, u64)) {
        let (metadata, data) = difference(blocks_read(), before);
        self.metadata.set(self.metadata.get() + metadata);
        self.tables.set(self.tables.get() + u64::from(data != 0));
        self.statistics.measure(HistogramKind::SstBatchSize, keys as u64);
    }

    /// Counts the lookup of one key in an SST file of `level`. The files of a key are asked level by level.
    fn asked_one(&self, level: Level, before: (u64, u64)) {
        if level == Level::ZERO || self.level.replace(level) != level {
            self.end_of_level();
        }
        self.asked(1, before);
    }

    pub(super) fn end_of_level(&self) {
        let (metadata, tables) = (self.metadata.take(), self.tables.take());
        if metadata > 0 {
            self.statistics.measure(HistogramKind::NumIndexAndFilterBlocksReadPerLevel, metadata);
        }
        if tables > 0 {
            self.statistics.measure(HistogramKind::NumSstReadPerLevel, tables);
            self.levels.set(self.levels.get() + 1);
        }
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.end_of_level();
        if self.levels.get() > 0 {
            self.statistics.measure(HistogramKind::NumLevelReadPerMultiget, self.levels.get());
        }
    }
}

/// Runs a lookup of one key in an SST file of `level`, and counts it if there is a tally.
#[inline(always)]
pub(super) fn counting<T>(tally: Option<&Tally<'_>>, level: Level, run: impl FnOnce() -> T) -> T {
    let Some(tally) = tally else { return run() };
    let before = blocks_read();
    let outcome = run();
    tally.asked_one(level, before);
    outcome
}
