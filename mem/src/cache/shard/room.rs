//! Makes room in a shard: evicts entries until the bytes fit, and lets the index grow.
//!
//! Each function runs under the lock of the shard. Not here: which thread owns an entry after its eviction (`entry`), and the
//! LRU lists (`lru`).

use std::ptr::NonNull;

use super::super::entry::Tick;
use super::super::index::Index;
use super::{Shard, State, Taken};
use crate::sync::Ordering;

/// The number of pinned entries that the clock hand may meet for each evicted entry. If it meets more, the
/// cache exceeds its limit instead. See RocksDB's `eviction_effort_cap`.
const EFFORT: u64 = 30;

impl<V: Send + Sync + 'static> Shard<V> {
    /// Evicts entries until `charge` more bytes fit, as far as pins allow.
    pub(super) fn make_room(&self, s: &mut State, charge: usize, taken: &mut Taken<V>) {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |_: &State| self.usage().saturating_add(charge) <= limit;
        if fits(s) {
            return;
        }
        if self.lru {
            while let Some(entry) = s.lists.victim().and_then(|n| self.pool.get(n)) {
                s.evictions += 1;
                self.detach(s, entry, taken);
                if fits(s) {
                    return;
                }
            }
        } else {
            self.sweep(s, fits, taken);
        }
    }

    /// Moves the clock hand until `enough` returns true. Stops earlier if the hand has visited every entry as
    /// often as an entry can age, or if it met too many pinned entries.
    fn sweep(&self, s: &mut State, enough: impl Fn(&State) -> bool, taken: &mut Taken<V>) {
        let round = self.allocated.load(Ordering::Relaxed);
        let strict = self.strict.load(Ordering::Relaxed);
        let (mut pinned, mut evicted) = (0, 0);
        for _ in 0..u64::from(round) * 4 {
            let Some(entry) = self.pool.get(s.hand) else { return };
            s.hand = if s.hand + 1 >= round { 0 } else { s.hand + 1 };
            base::invariant!(
                s.hand < round.max(1),
                "the hand of the clock is at {}, after the last of {round} entries",
                s.hand
            );
            match entry.tick() {
                Tick::Nothing | Tick::Aged => {}
                Tick::Pinned => {
                    pinned += 1;
                    if !strict && pinned > EFFORT * (evicted + 1) {
                        return;
                    }
                }
                Tick::Owned => {
                    evicted += 1;
                    s.evictions += 1;
                    self.bury(s, entry, taken);
                    if enough(s) {
                        return;
                    }
                }
            }
        }
    }

    /// Returns true if one more word may go into the index. Grows the index or evicts entries for that word. If the system has
    /// no memory for a larger index, the index stays, and lookups become slower up to its limit.
    pub(super) fn index_has_room(&self, s: &mut State, taken: &mut Taken<V>) -> bool {
        let index = self.index();
        if self.grows && (s.indexed < index.comfortable() || self.grow(s, index)) {
            return true;
        }
        let limit = index.limit();
        while self.lru
            && s.indexed >= limit
            && let Some(entry) = s.lists.victim().and_then(|n| self.pool.get(n))
        {
            s.evictions += 1;
            self.detach(s, entry, taken);
        }
        if !self.lru && s.indexed >= limit {
            self.sweep(s, |s| s.indexed < limit, taken);
        }
        s.indexed < limit
    }

    /// Replaces the index by an index of twice its size. Returns false if the system has no memory for it.
    #[cold]
    fn grow(&self, s: &mut State, index: &Index) -> bool {
        let Some(larger) = self.larger_index(index.comfortable() * 2) else { return false };
        larger.fill_from(index);
        base::invariant!(
            larger.comfortable() > index.comfortable(),
            "the index of a cache shard grows from {} to {} places",
            index.comfortable(),
            larger.comfortable()
        );
        let larger = NonNull::from(Box::leak(Box::new(larger)));
        s.indices.push(larger);
        self.index.store(larger.as_ptr(), Ordering::Release);
        index.retire();
        true
    }

    fn larger_index(&self, entries: usize) -> Option<Index> {
        #[cfg(test)]
        if self.lacks_memory.load(Ordering::Relaxed) {
            return None;
        }
        Index::try_for_entries(entries)
    }
}
