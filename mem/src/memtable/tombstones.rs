//! The range tombstones of a memtable, and their fragmented form, which is cached until the next one is
//! added.
//!
//! Making fragments costs a sort. A lookup of one key therefore accepts a fragmented form that lacks the
//! newest range tombstones, and searches those one by one. The fragments are made again for a caller that
//! needs the whole list, and if more than [`TAIL`] range tombstones are missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::key::{InternalOrder, MAX_SEQUENCE, SequenceNumber};
use parking_lot::RwLock;

use crate::range_del::{FragmentedTombstones, Tombstone};

/// The largest number of new range tombstones that a lookup searches one by one. One more range tombstone makes the next lookup
/// fragment all range tombstones again.
const TAIL: usize = 32;

pub(super) struct Tombstones {
    order: InternalOrder,
    count: AtomicUsize,
    inner: RwLock<Inner>,
}

struct Inner {
    list: Vec<Tombstone>,
    /// The fragments of the first `fragmented` elements of `list`.
    fragments: Arc<FragmentedTombstones>,
    fragmented: usize,
    /// The positions in `list` of the range tombstones that readers derived, ascending.
    derived: Vec<usize>,
    bytes: usize,
}

impl Inner {
    fn add(&mut self, tombstone: Tombstone) {
        base::invariant!(
            self.fragmented <= self.list.len(),
            "{} of {} range tombstones are cut into fragments",
            self.fragmented,
            self.list.len()
        );
        self.bytes += tombstone.start.len() + tombstone.end.len() + tombstone.timestamp.len();
        self.list.push(tombstone);
    }
}

impl Tombstones {
    pub(super) fn new(order: InternalOrder) -> Self {
        let fragments = Arc::new(FragmentedTombstones::empty(order.clone()));
        let inner = Inner { list: Vec::new(), fragments, fragmented: 0, derived: Vec::new(), bytes: 0 };
        Tombstones { order, count: AtomicUsize::new(0), inner: RwLock::new(inner) }
    }

    pub(super) fn add(&self, tombstone: Tombstone) {
        let mut inner = self.inner.write();
        inner.add(tombstone);
        self.count.store(inner.list.len(), Ordering::Release);
    }

    /// Adds a range tombstone that was derived from other range tombstones. It hides nothing that they do not
    /// hide.
    pub(super) fn add_derived(&self, tombstone: Tombstone) {
        let mut inner = self.inner.write();
        let at = inner.list.len();
        base::invariant!(
            inner.derived.last().is_none_or(|last| *last < at),
            "the places of derived range tombstones do not ascend"
        );
        inner.derived.push(at);
        inner.add(tombstone);
        self.count.store(inner.list.len(), Ordering::Release);
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn memory(&self) -> usize {
        if self.count() == 0 {
            return 0;
        }
        let inner = self.inner.read();
        let lists =
            inner.list.capacity() * size_of::<Tombstone>() + inner.derived.capacity() * size_of::<usize>();
        inner.bytes + lists + inner.fragments.memory()
    }

    pub(super) fn fragments(&self) -> Arc<FragmentedTombstones> {
        {
            let inner = self.inner.read();
            if inner.fragmented == inner.list.len() {
                return inner.fragments.clone();
            }
        }
        let mut inner = self.inner.write();
        if inner.fragmented < inner.list.len() {
            let fragments = FragmentedTombstones::new(inner.list.clone(), self.order.clone());
            inner.fragments = Arc::new(fragments);
            inner.fragmented = inner.list.len();
            base::invariant!(
                inner.fragments.tombstone_count() <= inner.list.len(),
                "{} range tombstones are cut, and the memtable has {}",
                inner.fragments.tombstone_count(),
                inner.list.len()
            );
        }
        inner.fragments.clone()
    }

    #[inline]
    pub(super) fn max_covering(&self, user_key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        if self.count() == 0 { None } else { self.search(user_key, snapshot) }
    }

    /// Returns the newest range tombstone over the key that the application wrote.
    pub(super) fn newest_written(&self, user_key: &[u8]) -> Option<SequenceNumber> {
        if self.count() == 0 {
            return None;
        }
        let inner = self.inner.read();
        if inner.derived.is_empty() {
            drop(inner);
            return self.search(user_key, MAX_SEQUENCE);
        }
        let order = &self.order.user;
        let written =
            inner.list.iter().enumerate().filter(|(at, _)| inner.derived.binary_search(at).is_err());
        let covering = written.filter(|(_, t)| {
            // No tombstone with a timestamp is derived.
            order.compare(&t.start, user_key).is_le() && order.compare(user_key, &t.end).is_lt()
        });
        covering.map(|(_, t)| t.seq).max()
    }

    fn search(&self, user_key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        if self.order.user.timestamp_size() > 0 {
            return self.fragments().max_covering(user_key, snapshot);
        }
        let inner = self.inner.read();
        base::invariant!(
            inner.fragmented <= inner.list.len(),
            "{} of {} range tombstones are cut into fragments",
            inner.fragmented,
            inner.list.len()
        );
        if inner.list.len() - inner.fragmented > TAIL {
            drop(inner);
            return self.fragments().max_covering(user_key, snapshot);
        }
        let order = &self.order.user;
        let newer = inner.list[inner.fragmented..]
            .iter()
            .filter(|t| {
                t.seq <= snapshot
                    && order.compare(&t.start, user_key).is_le()
                    && order.compare(user_key, &t.end).is_lt()
            })
            .map(|t| t.seq)
            .max();
        newer.max(inner.fragments.max_covering(user_key, snapshot))
    }
}
