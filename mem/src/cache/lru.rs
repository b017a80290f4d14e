//! The three lists of an LRU shard. A separate table holds the links, by entry number, so that entries of a
//! clock cache have no links.
//!
//! Unpinned entries wait in one of three pools. Eviction takes the oldest entry of the bottom pool first,
//! then of the low pool, then of the high pool:
//!
//! ```text
//! evict ◄─ bottom old..new ◄─ low old..new ◄─ high old..new ◄─ hit or high priority
//! ```
//!
//! An entry goes to the high pool if it was hit or has high priority. It goes to the low pool if it has low
//! priority, and otherwise to the bottom pool. A pool of ratio 0 takes no entry directly. If a pool exceeds
//! its share of the capacity, its oldest entries move to the young end of the pool below. RocksDB keeps one
//! list with two marks, in the same order. The lock of the shard protects all lists.

use super::Priority;
use super::entry::{Entry, Owner};
use super::pool::Pool;

const NONE: u32 = u32::MAX;
/// The value of [`Link::list`] if the entry is in no list.
const UNLISTED: u8 = 0;

/// The neighbours of an entry in its list.
#[derive(Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
    /// The number of the list, 1 to 3, or [`UNLISTED`].
    list: u8,
}

const UNLINKED: Link = Link { prev: NONE, next: NONE, list: UNLISTED };

#[derive(Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
    usage: usize,
}

pub(super) struct Lru {
    /// The bottom, low and high pool.
    lists: [List; 3],
    /// The links by entry number. The length is the largest number that was ever in a list, plus one.
    links: Vec<Link>,
    high_ratio: f64,
    low_ratio: f64,
}

impl Lru {
    /// Bytes for the links of one entry.
    pub(super) const BYTES_AN_ENTRY: usize = size_of::<Link>();

    pub(super) fn new(high_ratio: f64, low_ratio: f64) -> Self {
        base::invariant!(
            high_ratio + low_ratio <= 1.0,
            "the pools of an LRU cache take {} of the cache",
            high_ratio + low_ratio
        );
        let empty = List { oldest: NONE, newest: NONE, usage: 0 };
        Lru { lists: [empty; 3], links: Vec::new(), high_ratio, low_ratio }
    }

    /// Puts an unpinned entry at the young end of its pool.
    pub(super) fn push<V: Send + Sync + 'static, O: Owner<V>>(
        &mut self,
        pool: &Pool<V, O>,
        entry: &Entry<V, O>,
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
        self.append(entry, list);
        self.overflow(pool, capacity);
    }

    /// Removes an entry from its list, if it is in a list.
    pub(super) fn remove<V: Send + Sync + 'static, O: Owner<V>>(&mut self, entry: &Entry<V, O>) {
        let Some(link) = self.links.get_mut(entry.number() as usize) else { return };
        let Link { prev, next, list } = std::mem::replace(link, UNLINKED);
        if list == UNLISTED {
            return;
        }
        let list = &mut self.lists[usize::from(list) - 1];
        match self.links.get_mut(prev as usize) {
            Some(p) => p.next = next,
            None => list.oldest = next,
        }
        match self.links.get_mut(next as usize) {
            Some(n) => n.prev = prev,
            None => list.newest = prev,
        }
        base::invariant!(
            list.usage >= entry.charge(),
            "an LRU list of {} bytes loses an entry of {} bytes",
            list.usage,
            entry.charge()
        );
        list.usage -= entry.charge();
    }

    /// Returns the entry that is evicted first.
    pub(super) fn victim(&self) -> Option<u32> {
        self.lists.iter().map(|l| l.oldest).find(|&n| n != NONE)
    }

    /// Returns the bytes in the bottom, low and high pool.
    #[cfg(test)]
    pub(super) fn usages(&self) -> [usize; 3] {
        self.lists.map(|l| l.usage)
    }

    fn append<V: Send + Sync + 'static, O: Owner<V>>(&mut self, entry: &Entry<V, O>, list: usize) {
        let l = &mut self.lists[list];
        let number = entry.number();
        if self.links.len() <= number as usize {
            self.links.resize(number as usize + 1, UNLINKED);
        }
        base::invariant!(
            self.links[number as usize].list == UNLISTED,
            "the cache entry {number} is in two LRU lists"
        );
        self.links[number as usize] = Link { prev: l.newest, next: NONE, list: list as u8 + 1 };
        match self.links.get_mut(l.newest as usize) {
            Some(newest) => newest.next = number,
            None => l.oldest = number,
        }
        l.newest = number;
        l.usage += entry.charge();
    }

    fn overflow<V: Send + Sync + 'static, O: Owner<V>>(&mut self, pool: &Pool<V, O>, capacity: usize) {
        for (list, ratio) in [(2, self.high_ratio), (1, self.low_ratio)] {
            let share = (capacity as f64 * ratio) as usize;
            while self.lists[list].usage > share {
                let Some(oldest) = pool.get(self.lists[list].oldest) else { break };
                self.remove(oldest);
                self.append(oldest, list - 1);
            }
        }
    }
}
