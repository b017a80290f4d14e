//! The statistics of one iterator. The counts of moves are collected here, and added to the database's statistics when the
//! iterator is dropped, as in RocksDB (`DBIter::LocalStatistics`).
//!
//! If nothing is counted, a move pays for two predictable branches.

use base::iter::InternalIterator;
use base::stats::{HistogramKind, PerfCounter, Ticker, perf_add, perf_add_each, perf_counting};

use super::walk::Walk;
use crate::stats::{Began, Stats};

/// The direction of a move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Next,
    Prev,
}

/// The counts of one iterator since they were last added to the statistics. The iterator passes the statistics to each call.
pub struct Counts {
    statistics: bool,
    next: u64,
    next_found: u64,
    prev: u64,
    prev_found: u64,
    bytes: u64,
    skipped: u64,
}

impl Counts {
    /// Counts the new iterator (`NO_ITERATOR_CREATED`) and starts all counts at 0.
    pub fn new(stats: &Stats) -> Self {
        stats.add(Ticker::NoIteratorCreated, 1);
        let statistics = stats.statistics().is_some();
        Counts { statistics, next: 0, next_found: 0, prev: 0, prev_found: 0, bytes: 0, skipped: 0 }
    }

    /// Returns true if statistics or perf counters are on.
    #[inline]
    pub fn wanted(&self) -> bool {
        self.statistics || perf_counting()
    }

    /// Counts a positioning call.
    #[inline(never)]
    pub fn sought<I: InternalIterator>(&mut self, walk: &mut Walk<I>, stats: &Stats, began: Began) {
        let bytes = shown_bytes(walk);
        perf_add_each([
            (PerfCounter::IterSeekCount, 1),
            (PerfCounter::UserKeyComparisonCount, 1),
            (PerfCounter::IterReadBytes, bytes),
        ]);
        self.skipped += walk.take_skips();
        stats.add(Ticker::NumberDbSeek, 1);
        if self.statistics {
            walk.value_shown();
        }
        if walk.valid() {
            stats.add(Ticker::NumberDbSeekFound, 1);
            stats.add(Ticker::IterBytesRead, bytes);
        }
        let reseeks = walk.take_reseeks();
        if reseeks > 0 {
            stats.add(Ticker::NumberOfReseeksInIteration, reseeks);
        }
        stats.end(began, HistogramKind::DbSeek);
    }

    /// Counts a move. `leaves_entry` says that the move began with a step over the shown entry.
    #[inline(never)]
    pub fn moved<I: InternalIterator>(
        &mut self,
        walk: &mut Walk<I>,
        stats: &Stats,
        step: Step,
        leaves_entry: bool,
    ) {
        let found = u64::from(walk.valid());
        let bytes = shown_bytes(walk);
        self.bytes += bytes;
        if self.statistics {
            walk.value_shown();
        }
        let (counter, moves, hits) = match step {
            Step::Next => (PerfCounter::IterNextCount, &mut self.next, &mut self.next_found),
            Step::Prev => (PerfCounter::IterPrevCount, &mut self.prev, &mut self.prev_found),
        };
        *moves += 1;
        *hits += found;
        base::invariant!(*hits <= *moves, "{hits} of {moves} moves of an iterator found an entry");
        self.skipped += walk.take_skips();
        let reseeks = walk.take_reseeks();
        if reseeks > 0 {
            stats.add(Ticker::NumberOfReseeksInIteration, reseeks);
        }
        let left = u64::from(leaves_entry);
        perf_add_each([
            (counter, 1),
            (PerfCounter::InternalKeySkippedCount, left),
            (PerfCounter::UserKeyComparisonCount, left),
        ]);
    }

    /// Adds the counts at the end of the iterator, and counts the end (`NO_ITERATOR_DELETED`).
    pub fn end(&mut self, stats: &Stats) {
        self.hand_over(stats);
        stats.add(Ticker::NoIteratorDeleted, 1);
    }

    fn hand_over(&mut self, stats: &Stats) {
        perf_add(PerfCounter::IterReadBytes, self.bytes);
        let Some(statistics) = stats.statistics() else { return };
        let give = |ticker, count: &mut u64| {
            if *count > 0 {
                statistics.add(ticker, std::mem::take(count));
            }
        };
        give(Ticker::NumberDbNext, &mut self.next);
        give(Ticker::NumberDbNextFound, &mut self.next_found);
        give(Ticker::NumberDbPrev, &mut self.prev);
        give(Ticker::NumberDbPrevFound, &mut self.prev_found);
        give(Ticker::IterBytesRead, &mut self.bytes);
        give(Ticker::NumberIterSkip, &mut self.skipped);
    }
}

fn shown_bytes<I: InternalIterator>(walk: &Walk<I>) -> u64 {
    if walk.valid() { (walk.key().len() + walk.value().len()) as u64 } else { 0 }
}
