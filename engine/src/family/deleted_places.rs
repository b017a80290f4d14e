//! Places: keys near which many keys were deleted. A job searches there for empty key ranges: see
//! [`super::empty_ranges`].
//!
//! Writers count their point tombstones, and flushes and compactions count tombstones in a row. After each
//! [`TOMBSTONES_PER_PLACE`] tombstones, they add the key of the last of them. Without a run of deleted keys around this key,
//! the job ends after a few entries. A look in both directions finds a run whose keys were deleted in ascending or in
//! descending order.

use crate::sync::{AtomicU64, Mutex, Ordering};

/// The number of point tombstones after which a place is added. The first scan of a run steps over about as many keys, because
/// no job has seen them. A larger number delays the scan, and a smaller number starts more jobs.
pub const TOMBSTONES_PER_PLACE: u64 = 8_192;
/// The number of places that one column family keeps for the next job. The newest places stay: a look at a place in a run finds
/// the whole run.
const PLACES_MAX: usize = 16;
/// Longer keys are not kept.
const KEY_LEN_MAX: usize = 4096;

/// The places of one column family that no job has looked at yet.
#[derive(Default)]
pub struct DeletedPlaces {
    /// The number of point tombstones that writers have added.
    tombstones: AtomicU64,
    keys: Mutex<Vec<Box<[u8]>>>,
}

impl DeletedPlaces {
    /// Counts `count` point tombstones of a writer. `last` is the user key of the last of them. Returns true if a place was
    /// added, so a job should look at it.
    pub fn count(&self, count: u64, last: &[u8]) -> bool {
        let before = self.tombstones.fetch_add(count, Ordering::Relaxed);
        let is_due = before / TOMBSTONES_PER_PLACE != before.wrapping_add(count) / TOMBSTONES_PER_PLACE;
        is_due && self.add(last)
    }

    /// Adds a place. Returns false for a key that is too long.
    #[cold]
    pub fn add(&self, key: &[u8]) -> bool {
        if key.len() > KEY_LEN_MAX {
            return false;
        }
        let mut keys = self.keys.lock();
        if keys.len() == PLACES_MAX {
            keys.remove(0);
        }
        keys.push(key.into());
        base::invariant!(keys.len() <= PLACES_MAX, "{} places wait for a look", keys.len());
        true
    }

    /// Returns true if no place waits for a look.
    pub fn is_empty(&self) -> bool {
        self.keys.lock().is_empty()
    }

    /// Takes all places, the oldest first.
    pub fn take(&self) -> Vec<Box<[u8]>> {
        std::mem::take(&mut *self.keys.lock())
    }
}
