//! Writers keep the pace of a flush that they would have to wait for.
//!
//! If the next switch of the memtable would stop the writers (`max_write_buffer_number`), the active memtable may only be as full as
//! the flush of the oldest immutable memtable is advanced. A writer that is ahead of the flush pauses for some milliseconds. Without
//! pauses, the writers fill the active memtable at full speed, and then all of them wait for the rest of the flush.
//!
//! ```text
//!  bytes of the active memtable ▲
//!                          full ├ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─
//!                               │              ____───   the last part is for the sync and the commit
//!                               │     ____─────
//!                          half ├─────
//!                               │
//!                               └─────────────────────► share of the entries that the flush has written
//! ```
//! Both schemes accept the same number of bytes in the time of one flush. RocksDB's writers do not pause here.

use super::{Family, FlushPick};
use crate::sync::{Arc, AtomicUsize, Ordering};

/// Memtables with smaller write buffers have no pace: their flush takes less time than a few pauses.
const PACED_BYTES_MIN: usize = 4 << 20;
/// The share of the active memtable that writers may fill before the flush has written an entry, in percent. A burst of writes that
/// fits into one and a half memtables does not pause.
const AT_BEGIN: usize = 50;
/// The same share after the flush has written all entries. The rest is for the sync and the commit.
const AT_END: usize = 95;

/// How many bytes the active memtable of a column family may use before writers pause.
pub struct FlushPace {
    /// `usize::MAX` without a flush that writers would have to wait for.
    limit: AtomicUsize,
}

impl Default for FlushPace {
    fn default() -> Self {
        FlushPace { limit: AtomicUsize::new(usize::MAX) }
    }
}

impl FlushPace {
    /// Returns true if writers must pause when the active memtable uses `bytes`.
    #[inline]
    pub fn is_ahead(&self, bytes: usize) -> bool {
        bytes > self.limit.load(Ordering::Relaxed)
    }
}

/// The progress of one flush of a column family. The pace ends with the drop.
pub struct FlushProgress {
    family: Arc<Family>,
    /// The id of the oldest memtable of the flush.
    oldest: u64,
    /// The number of entries in its memtables.
    entries: u64,
}

impl FlushProgress {
    /// Starts the pace of a flush.
    pub fn begin(family: &Arc<Family>, pick: &FlushPick) -> Self {
        let entries = pick.memtables.iter().map(|memtable| memtable.mem.counts().entries).sum();
        let oldest = pick.memtables.first().map_or(0, |memtable| memtable.id);
        let progress = FlushProgress { family: family.clone(), oldest, entries };
        progress.record(0);
        progress
    }

    /// Records that the flush has written `done` entries. Takes the lock of the column family. A flush that does not have the
    /// oldest immutable memtable changes nothing.
    pub fn record(&self, done: u64) {
        let parts = self.family.parts();
        let full = parts.full_bytes();
        let state = self.family.state();
        if state.immutable_memtables.first().is_none_or(|oldest| oldest.id != self.oldest) {
            return;
        }
        let next_switch_stops =
            state.immutable_memtables.len() + 1 >= parts.pick.buffers.max_write_buffer_number;
        let limit = match full >= PACED_BYTES_MIN && next_switch_stops {
            true => limit_at(full, done, self.entries),
            false => usize::MAX,
        };
        // Under the lock: the flush of the oldest memtable is the only one that sets the limit.
        self.family.flush_pace().limit.store(limit, Ordering::Relaxed);
    }
}

impl Drop for FlushProgress {
    fn drop(&mut self) {
        // Another flush may be in progress too. It sets its limit again with its next entries.
        self.family.flush_pace().limit.store(usize::MAX, Ordering::Relaxed);
    }
}

/// Returns the bytes that the active memtable may use after the flush has written `done` of `entries` entries. `full` is the size of a
/// full memtable.
fn limit_at(full: usize, done: u64, entries: u64) -> usize {
    base::invariant!(full >= PACED_BYTES_MIN, "a memtable of {full} bytes has a pace");
    // A merge of several memtables may count an entry that the memtables did not count.
    let share = done.min(entries) as f64 / entries.max(1) as f64;
    let percent = AT_BEGIN as f64 + (AT_END - AT_BEGIN) as f64 * share;
    (full as f64 * percent / 100.0) as usize
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_flush_and_leaves_room_for_its_end() {
        let full = 100 << 20;
        let at = |done, entries| limit_at(full, done, entries) >> 20;
        assert_eq!(at(0, 1000), 50);
        assert_eq!(at(500, 1000), 72);
        assert_eq!(at(1000, 1000), 95);
        assert_eq!(at(1001, 1000), 95, "more entries than the memtables counted");
        assert_eq!(at(0, 0), 50, "a flush of range tombstones only");
    }
}
