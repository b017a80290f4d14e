//! How one iterator uses and finds empty key ranges; see [`crate::family::empty_ranges`].

use base::Order;
use base::iter::Direction;
use mem::memtable::MemTable;

use crate::family::EmptyRanges;
use crate::family::empty_ranges::{Reader, WatchId};
use crate::sync::{Arc, Flag, Ordering};

/// The number of hidden entries in a row after which a walk first looks for a range.
pub(super) const LOOK_FIRST: u64 = 16;
/// The number of hidden entries in a row after which a walk starts a watch.
const WATCH_AFTER: u64 = 128;
/// The largest number of hidden entries between two lookups.
const LOOK_EVERY: u64 = 1024;

/// Skips and finds empty key ranges, for one iterator.
pub struct RangeSkipper {
    ranges: Arc<EmptyRanges>,
    reader: Reader,
    /// False for a tailing iterator, which has no sequence number of its own.
    finds: bool,
    /// The active memtable, if it was empty when the sources were collected. It is then not among the sources.
    left_out: Option<Arc<MemTable>>,
    watch: Option<WatchId>,
    /// The number of hidden entries that the walk had counted when the watch began.
    watched_at: u64,
    /// Set for a walk that only finds a range. The flag ends the walk.
    stop: Option<Arc<Flag>>,
}

impl RangeSkipper {
    /// Called before the sources are collected. `memtable` is the active memtable.
    pub fn new(ranges: Arc<EmptyRanges>, reader: Reader, finds: bool, memtable: &Arc<MemTable>) -> Self {
        let left_out = (memtable.counts().entries == 0).then(|| memtable.clone());
        RangeSkipper { ranges, reader, finds, left_out, watch: None, watched_at: 0, stop: None }
    }

    /// Ends the walk when it cannot keep a range, or when `stop` is set.
    pub fn only_finding(mut self, stop: Arc<Flag>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Looks for a range around `key`, where the walk stands after `hidden` hidden entries in a row and `total` in
    /// all. Returns where the walk continues, if it can skip a range. Starts a watch if a new range may be found.
    pub fn look(
        &mut self,
        order: &Order,
        key: &[u8],
        direction: Direction,
        (hidden, total): (u64, u64),
    ) -> Option<Option<Box<[u8]>>> {
        let finds = self.finds && self.watch.is_none();
        let found = self.ranges.jump(order, key, direction, self.reader, finds);
        let (to, watch) = match found {
            Some(jump) => (Some(jump.to), jump.watch),
            None if finds && hidden >= WATCH_AFTER => (None, self.ranges.watch(key, direction, self.reader)),
            None => (None, None),
        };
        if let Some(watch) = watch {
            (self.watch, self.watched_at) = (Some(watch), total);
            // The sources do not have the entries that were added to this memtable before the watch.
            if self.left_out.as_ref().is_some_and(|memtable| memtable.counts().entries > 0) {
                self.cancel();
                self.finds = false;
            }
        }
        if self.gives_up(hidden, to.is_some()) {
            self.cancel();
            return Some(None);
        }
        to
    }

    /// Returns true if a walk that only finds a range must end.
    fn gives_up(&self, hidden: u64, jumps: bool) -> bool {
        let cannot_find = !jumps && hidden >= WATCH_AFTER && self.watch.is_none();
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Acquire) || cannot_find)
    }

    /// Returns true if a watch is registered.
    pub fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns the number of hidden entries in a row after which the walk looks again.
    pub fn next_look(hidden: u64) -> u64 {
        // The distance grows with the number, between two bounds.
        hidden + (hidden / 4).clamp(LOOK_FIRST, LOOK_EVERY)
    }

    /// Ends the watch: the walk has reached `to`, or with `None` the end of the data.
    pub fn finish(&mut self, order: &Order, to: Option<&[u8]>, total: u64) {
        base::invariant!(
            self.watch.is_none() || self.watched_at <= total,
            "a run of hidden entries ends at {total} and begins at {}",
            self.watched_at
        );
        if let Some(watch) = self.watch.take() {
            self.ranges.finish(order, watch, to, total - self.watched_at, self.reader);
        }
    }

    /// Ends the watch without a range, because the walk failed.
    pub fn cancel(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.ranges.cancel(&watch);
        }
    }
}

impl Drop for RangeSkipper {
    fn drop(&mut self) {
        self.cancel();
    }
}
