//! How long a thread waits for more writers before their common sync: the leader of a write group, and the leader of shared
//! syncs ([`super::shared`]).
//!
//! A sync takes about the same time for one writer and for ten. A writer whose write has ended comes back with its next
//! write some microseconds after the next leader woke up. Without a wait, the writers divide into two parts, and the parts
//! sync in turn:
//!
//! ```text
//!  without a wait   sync [a]   sync [b c d]               sync [a]          sync [b c d]     two syncs for each four writes
//!  with a wait      sync [a]   wait for a, sync [b c d a]   wait, sync [a b c d]             one sync
//! ```
//! The leader expects the writers of the group before its own group, and the writers that waited when that group ended. The
//! wait ends when all of them wait in the group of the leader, or after half the time of a sync. So a failed wait makes a
//! write half a sync longer. Whether writers come back depends on the application: after some failed waits, a leader waits
//! in one case of sixteen only, until waits succeed again.
//!
//! One writer never waits: no other writer is expected. RocksDB has no such wait; its leader takes the writers that have
//! arrived when the leader wakes up.

use std::time::Duration;

#[cfg(all(test, not(shuttle), not(loom)))]
mod tests;

/// A shorter sync is not worth a wait: waking a thread takes as long.
const SYNC_NANOS_MIN: u64 = 50_000;
/// The longest wait, however long a sync takes.
const WAIT_NANOS_MAX: u64 = 1_000_000;
/// After so many failed waits, most leaders do not wait.
const MISSES_MAX: u32 = 8;
/// The leader that waits all the same: one in so many.
const SAMPLE: u32 = 16;

/// What leaders know about the writers that sync. It goes from leader to leader with the lead.
#[derive(Debug)]
pub struct Gather {
    /// Writers of this group that asked for a sync.
    returning: usize,
    /// Writers of the last group that asked for a sync, and the writers that asked for a sync and waited at its end.
    expected: usize,
    /// The time of a sync: a moving average over about eight syncs. 0 before the first sync.
    sync_nanos: u64,
    wait_nanos_max: u64,
    /// The number of failed waits, less the number of waits that succeeded.
    misses: u32,
    /// Counts the waits that were considered.
    considered: u32,
}

impl Default for Gather {
    fn default() -> Self {
        Gather {
            returning: 0,
            expected: 0,
            sync_nanos: 0,
            wait_nanos_max: WAIT_NANOS_MAX,
            misses: 0,
            considered: 0,
        }
    }
}

impl Gather {
    /// Sets the longest wait.
    #[cfg(test)]
    pub fn set_wait_max(&mut self, max: Duration) {
        self.wait_nanos_max = max.as_nanos() as u64;
    }

    /// Records the time of a sync.
    pub fn record_sync(&mut self, nanos: u64) {
        self.sync_nanos = match self.sync_nanos {
            0 => nanos,
            before => before - before / 8 + nanos / 8,
        };
    }

    /// Records how many writers of a group asked for a sync.
    #[inline]
    pub fn record_group(&mut self, syncs: usize) {
        self.returning = syncs;
    }

    /// Records the end of a group. `waiting` writers that ask for a sync wait in the next group.
    #[inline]
    pub fn record_waiting(&mut self, waiting: usize) {
        self.expected = std::mem::take(&mut self.returning) + waiting;
    }

    /// Returns the number of writers that the next group may reach.
    pub fn expected(&self) -> usize {
        self.expected
    }

    /// Returns how long to wait for writers, when a group has `present` writers that ask for a sync. `None`: not at all.
    #[inline]
    pub fn wait_limit(&mut self, present: usize) -> Option<Duration> {
        if present >= self.expected { None } else { self.wait_limit_of_missing() }
    }

    #[cold]
    fn wait_limit_of_missing(&mut self) -> Option<Duration> {
        if self.sync_nanos < SYNC_NANOS_MIN {
            return None;
        }
        self.considered = self.considered.wrapping_add(1);
        if self.misses >= MISSES_MAX && !self.considered.is_multiple_of(SAMPLE) {
            return None;
        }
        Some(Duration::from_nanos((self.sync_nanos / 2).min(self.wait_nanos_max)))
    }

    /// Records a wait: a group had `before` writers that ask for a sync, and has `after` now. A wait that brought less than
    /// half of the missing writers has failed.
    pub fn record_wait(&mut self, before: usize, after: usize) {
        base::invariant!(before <= after, "a write group shrinks from {before} to {after} writers");
        base::invariant!(
            before < self.expected,
            "a leader with {before} of {} expected writers waits",
            self.expected
        );
        let missing = self.expected.saturating_sub(before);
        self.misses = if (after - before) * 2 >= missing {
            self.misses.saturating_sub(1)
        } else {
            (self.misses + 1).min(MISSES_MAX)
        };
    }
}
