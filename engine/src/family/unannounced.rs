//! Flushes between their commit and the end of their listener calls.
//!
//! A commit removes the flushed memtables, and a caller that waits for the flush would return. RocksDB wakes such a caller at the
//! end of the job, after `OnFlushCompleted` and after the check of the space limit (`DBImpl::BackgroundCallFlush`). So the commit
//! records the ids of the flushed memtables here, under the lock of the MANIFEST and before the super version loses the memtables.
//! Invariant: if a thread finds a flushed memtable no longer in the super version, the thread finds the id of the memtable here,
//! until the job drops its [`Unannounced`].
//!
//! A caller waits only for the flushes of memtables that it covers. A listener can join a thread that flushes: the memtables of
//! this thread are newer than the memtables of the flush that calls the listener.

use std::ops::RangeInclusive;

use super::{Family, FlushPick};
use crate::sync::Arc;

/// A committed flush of a column family whose listeners were not all called yet. The drop ends the state. The owner wakes the
/// waiting threads after the drop.
pub struct Unannounced {
    family: Arc<Family>,
    ids: RangeInclusive<u64>,
}

impl Unannounced {
    /// Records that the listeners of this flush must still be called. The caller holds the lock of the
    /// MANIFEST.
    pub fn new(family: &Arc<Family>, flushed: &FlushPick) -> Unannounced {
        let oldest = flushed.memtables.first().map_or(1, |memtable| memtable.id);
        let ids = oldest..=flushed.newest_id();
        family.unannounced.lock().push(ids.clone());
        Unannounced { family: family.clone(), ids }
    }
}

impl Drop for Unannounced {
    fn drop(&mut self) {
        let mut unannounced = self.family.unannounced.lock();
        let at = unannounced.iter().position(|ids| *ids == self.ids);
        base::invariant!(at.is_some(), "a flush of {:?} ends that did not begin", self.family);
        if let Some(at) = at {
            unannounced.swap_remove(at);
        }
    }
}

impl Family {
    /// Returns true if a committed flush of one of these memtables has not called all listeners yet.
    pub fn has_unannounced_flush(&self, of: &RangeInclusive<u64>) -> bool {
        self.unannounced.lock().iter().any(|ids| ids.start() <= of.end() && of.start() <= ids.end())
    }
}
