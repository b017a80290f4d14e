//! The three lists of an LRU shard, linked by entry number in a table beside the entries: the clock kind has
//! no use for links and does not pay for them.
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

use super::Priority;
use super::entry::{Entry, Owner};
use super::pool::Pool;

const NONE: u32 = u32::MAX;
/// [`Link::list`] of an entry in no list.
const UNLISTED: u8 = 0;

/// An entry's neighbours in its list.
#[derive(Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
    /// 1 to 3, or [`UNLISTED`].
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
    /// Bottom, low, high.
    lists: [List; 3],
    /// By entry number; as long as the largest number ever listed.
    links: Vec<Link>,
    high_ratio: f64,
    low_ratio: f64,
}

impl Lru {
    /// What an entry costs here.
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

    /// Takes an entry out of its list, if it is in one.
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

    /// The entry to go first.
    pub(super) fn victim(&self) -> Option<u32> {
        self.lists.iter().map(|l| l.oldest).find(|&n| n != NONE)
    }

    /// Bytes in the high and low pools.
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
