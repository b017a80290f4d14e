//! The three lists of an LRU shard, linked through the entries.
//!
//! Unpinned entries wait in one of three pools, oldest first to go, bottom before low before high:
//!
//! ```text
//! evict ◄─ bottom old..new ◄─ low old..new ◄─ high old..new ◄─ hit or high priority
//! ```
//!
//! An entry goes to the high pool if it was hit or has high priority, to the low pool if it has low
//! priority, else to the bottom; a pool of ratio 0 takes nothing directly. What exceeds a pool's share of
//! the capacity moves on to the young end of the pool below. (RocksDB keeps one list with two marks;
//! the order is the same.) All of it under the shard's lock.

use std::sync::atomic::Ordering;

use super::Priority;
use super::entry::Entry;
use super::pool::Pool;

const NONE: u32 = u32::MAX;
/// `Entry::list` of an entry in no list.
const UNLISTED: u8 = 0;

#[derive(Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
    usage: usize,
}

pub(super) struct Lru {
    /// Bottom, low, high.
    lists: [List; 3],
    high_ratio: f64,
    low_ratio: f64,
}

impl Lru {
    pub(super) fn new(high_ratio: f64, low_ratio: f64) -> Self {
        let empty = List { oldest: NONE, newest: NONE, usage: 0 };
        Lru { lists: [empty; 3], high_ratio, low_ratio }
    }

    /// Puts an unpinned entry at the young end of its pool.
    pub(super) fn push<V: Send + Sync + 'static>(
        &mut self,
        pool: &Pool<V>,
        entry: &Entry<V>,
        capacity: usize,
    ) {
        let (hit, priority) = (entry.was_hit(), entry.priority());
        let list = if self.high_ratio > 0.0 && (hit || priority == Priority::High) {
            2
        } else if self.low_ratio > 0.0 && (hit || priority != Priority::Bottom) {
            1
        } else {
            0
        };
        self.append(pool, entry, list);
        self.overflow(pool, capacity);
    }

    /// Takes an entry out of its list, if it is in one.
    pub(super) fn remove<V: Send + Sync + 'static>(&mut self, pool: &Pool<V>, entry: &Entry<V>) {
        let list = entry.list.swap(UNLISTED, Ordering::Relaxed);
        if list == UNLISTED {
            return;
        }
        let list = &mut self.lists[usize::from(list) - 1];
        let (prev, next) = (entry.prev.load(Ordering::Relaxed), entry.next.load(Ordering::Relaxed));
        match pool.get(prev) {
            Some(p) => p.next.store(next, Ordering::Relaxed),
            None => list.oldest = next,
        }
        match pool.get(next) {
            Some(n) => n.prev.store(prev, Ordering::Relaxed),
            None => list.newest = prev,
        }
        list.usage -= entry.charge();
    }

    /// The entry to go first.
    pub(super) fn victim(&self) -> Option<u32> {
        self.lists.iter().map(|l| l.oldest).find(|&n| n != NONE)
    }

    /// Bytes in the high and low pools.
    #[cfg(test)]
    pub(super) fn usages(&self) -> [usize; 3] {
        self.lists.map(|l| l.usage)
    }

    fn append<V: Send + Sync + 'static>(&mut self, pool: &Pool<V>, entry: &Entry<V>, list: usize) {
        let l = &mut self.lists[list];
        let number = entry.number();
        entry.list.store(list as u8 + 1, Ordering::Relaxed);
        entry.prev.store(l.newest, Ordering::Relaxed);
        entry.next.store(NONE, Ordering::Relaxed);
        match pool.get(l.newest) {
            Some(newest) => newest.next.store(number, Ordering::Relaxed),
            None => l.oldest = number,
        }
        l.newest = number;
        l.usage += entry.charge();
    }

    fn overflow<V: Send + Sync + 'static>(&mut self, pool: &Pool<V>, capacity: usize) {
        for (list, ratio) in [(2, self.high_ratio), (1, self.low_ratio)] {
            let share = (capacity as f64 * ratio) as usize;
            while self.lists[list].usage > share {
                let Some(oldest) = pool.get(self.lists[list].oldest) else { break };
                self.remove(pool, oldest);
                self.append(pool, oldest, list - 1);
            }
        }
    }
}
