//! Flushes between their commit and the end of their listener calls.
//!
//! A commit removes the flushed memtables, and a caller that waits for the flush would return. RocksDB wakes such a
//! caller at the end of the job, after `OnFlushCompleted` and after the check of the space limit
//! (`DBImpl::BackgroundCallFlush`). So the commit counts the flush here, under the lock of the MANIFEST and before
//! the memtables are removed. Invariant: a thread that sees that the memtables are gone also sees this count, until
//! the job drops its [`Unannounced`].

use super::Family;
use crate::sync::{Arc, Ordering};

/// A committed flush of a column family whose listeners were not all called yet. The drop ends the state. The owner wakes the
/// waiting threads after the drop.
pub struct Unannounced(Arc<Family>);

impl Unannounced {
    pub fn new(family: &Arc<Family>) -> Unannounced {
        family.unannounced.fetch_add(1, Ordering::AcqRel);
        Unannounced(family.clone())
    }
}

impl Drop for Unannounced {
    fn drop(&mut self) {
        let before = self.0.unannounced.fetch_sub(1, Ordering::AcqRel);
        base::invariant!(before > 0, "more flushes of {:?} end than began", self.0);
    }
}

impl Family {
    /// Returns true if a committed flush has not called all listeners yet.
    pub fn has_unannounced_flush(&self) -> bool {
        self.unannounced.load(Ordering::Acquire) > 0
    }
}
