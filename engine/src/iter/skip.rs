//! How one iterator uses and finds key ranges without keys; see [`crate::family::empty_ranges`].

use base::Order;
use mem::memtable::MemTable;

use crate::family::EmptyRanges;
use crate::family::empty_ranges::{Reader, Toward, WatchId};
use crate::sync::Arc;

/// Hidden entries in a row after which a walk first looks for a range.
pub(super) const LOOK_FIRST: u64 = 16;
/// Hidden entries in a row after which a walk starts a watch.
const WATCH_AFTER: u64 = 128;
/// Hidden entries between two looks, at most.
const LOOK_EVERY: u64 = 1024;

/// Of one iterator.
pub struct RangeSkipper {
    ranges: Arc<EmptyRanges>,
    reader: Reader,
    /// False for a tailing iterator, which has no sequence number of its own.
    finds: bool,
    /// The active memtable, if it was empty when the sources were collected, and is no source.
    left_out: Option<Arc<MemTable>>,
    watch: Option<WatchId>,
    /// Hidden entries that the walk had counted at the watch.
    watched_at: u64,
}

impl RangeSkipper {
    /// The sources are about to be collected; `memtable` is the active memtable.
    pub fn new(ranges: Arc<EmptyRanges>, reader: Reader, finds: bool, memtable: &Arc<MemTable>) -> Self {
        let left_out = (memtable.counts().entries == 0).then(|| memtable.clone());
        RangeSkipper { ranges, reader, finds, left_out, watch: None, watched_at: 0 }
    }

    /// The walk stands on `key` after `hidden` hidden entries, of `total` in its life. Returns where it continues, if it can
    /// skip a range. Starts a watch if it can find one.
    pub fn look(
        &mut self,
        order: &Order,
        key: &[u8],
        toward: Toward,
        (hidden, total): (u64, u64),
    ) -> Option<Option<Box<[u8]>>> {
        let finds = self.finds && self.watch.is_none();
        let found = self.ranges.jump(order, key, toward, self.reader, finds);
        let (to, watch) = match found {
            Some(jump) => (Some(jump.to), jump.watch),
            None if finds && hidden >= WATCH_AFTER => (None, self.ranges.watch(key, toward, self.reader)),
            None => (None, None),
        };
        if let Some(watch) = watch {
            (self.watch, self.watched_at) = (Some(watch), total);
            // Entries that joined it before the watch are not among the sources.
            if self.left_out.as_ref().is_some_and(|memtable| memtable.counts().entries > 0) {
                self.cancel();
                self.finds = false;
            }
        }
        to
    }

    /// Whether a watch runs.
    pub fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// The number of hidden entries in a row at which the walk looks again.
    pub fn next_look(hidden: u64) -> u64 {
        hidden + (hidden / 4).clamp(LOOK_FIRST, LOOK_EVERY)
    }

    /// The walk has reached `to`; `None`: the end of the data.
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

    /// The walk failed.
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
