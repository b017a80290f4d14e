//! One node of the tree: up to [`CAP`] items in slots, and two views that say which slots count and in
//! what order.
//!
//! ```text
//! +-----------------------------------------------+
//! | state | low_head | live | prev | low | lock,  |  header: low and level never change
//! | level                                         |
//! +----------------------+------------------------+
//! | view 0: order of slots, high, next | view 1   |  one is current, the other is being prepared
//! +----------------------+------------------------+
//! | heads  [u64; CAP]                             |  eight bytes of each key, for comparing
//! | refs   [u32; CAP]                             |  entries in a leaf, nodes above
//! +-----------------------------------------------+
//! ```
//! `state` is (version << 8) | number of items, and the version's lowest bit names the current view.
//! A writer (one at a time, by `lock`) fills slots that the current view does not name and the other
//! view, then publishes both with one store to `state`. A reader takes the state, reads through its
//! view, and looks at the state again: unchanged, all it read belongs together. Since a writer touches
//! nothing that the current view shows, a writer that sleeps in the middle stops no reader; a reader
//! starts over only when some writer has finished. This is a sequence lock over two copies (after
//! Boehm, "Can seqlocks get along with programming language memory models?", 2012) around Masstree's
//! idea of publishing a permutation (Mao et al., 2012).

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use crate::arena::Ref;
use crate::rep::entry::{Entries, Target};
use crate::rep::prefetch;

/// Items in a node. 32 makes a node of 512 bytes: eight lines fetched side by side.
pub(super) const CAP: usize = 32;
const WORDS: usize = CAP / 8;

#[repr(C)]
struct View {
    /// Slot numbers in key order, a byte each.
    order: [AtomicU64; WORDS],
    /// Head of `high`; counts only if `next` is not 0.
    high_head: AtomicU64,
    /// The entry whose key all items stay below.
    high: AtomicU32,
    /// The node to the right, 0 for none; `high` is its `low`.
    next: AtomicU32,
}

#[repr(C, align(64))]
pub(super) struct Node {
    state: AtomicU64,
    /// Head of `low`.
    low_head: u64,
    /// Slots that the current view names, a bit each; only for whoever holds the lock.
    live: AtomicU32,
    /// A node to the left; the nearest one or, for a while, one farther left. 0 for none.
    prev: AtomicU32,
    /// The entry whose key all items are at or above; 0: no bound.
    low: Ref,
    lock: AtomicU8,
    /// 0 for leaves.
    level: u8,
    views: [View; 2],
    heads: [AtomicU64; CAP],
    refs: [AtomicU32; CAP],
}

const _: () = assert!(size_of::<Node>() == 512 && CAP <= u32::BITS as usize);

/// What a view said at one state.
#[derive(Clone, Copy)]
pub(super) struct Snap {
    pub(super) state: u64,
    order: [u8; CAP],
    high_head: u64,
    high: Ref,
    pub(super) next: Ref,
}

impl Snap {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.state as usize & 0xff
    }

    #[inline]
    fn slot(&self, position: usize) -> usize {
        usize::from(self.order[position % CAP]) % CAP
    }
}

impl Node {
    /// Makes a node of fresh memory from the arena.
    ///
    /// # Safety
    /// `place` must be a zeroed, unpublished piece of at least `size_of::<Node>()` bytes, aligned to 64.
    pub(super) unsafe fn create<'a>(place: *mut u8, level: u8, low: Ref, low_head: u64) -> &'a Node {
        let node: *mut Node = place.cast();
        // SAFETY: the piece is ours alone, large enough and aligned; zeroes are valid for every field.
        unsafe {
            (*node).low = low;
            (*node).low_head = low_head;
            (*node).level = level;
            &*node
        }
    }

    #[inline]
    pub(super) fn level(&self) -> u8 {
        self.level
    }

    #[inline]
    pub(super) fn low(&self) -> Ref {
        self.low
    }

    #[inline]
    pub(super) fn low_head(&self) -> u64 {
        self.low_head
    }

    /// How many items, give or take what is being written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.state.load(Ordering::Relaxed) as usize & 0xff
    }

    #[inline]
    pub(super) fn prev(&self) -> Ref {
        self.prev.load(Ordering::Acquire)
    }

    pub(super) fn set_prev(&self, prev: Ref) {
        self.prev.store(prev, Ordering::Release);
    }

    #[inline]
    pub(super) fn prefetch(node: *const u8) {
        for line in 0..size_of::<Node>() / 64 {
            prefetch(node.wrapping_add(line * 64));
        }
    }

    /// Reads the current view. What is read from it counts only if [`Node::unchanged`] says so
    /// afterwards, or under the lock.
    #[inline]
    pub(super) fn snap(&self) -> Snap {
        let state = self.state.load(Ordering::Acquire);
        let view = &self.views[(state >> 8) as usize & 1];
        let mut order = [0; CAP];
        for (bytes, word) in order.chunks_exact_mut(8).zip(&view.order) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        Snap {
            state,
            order,
            high_head: view.high_head.load(Ordering::Relaxed),
            high: view.high.load(Ordering::Acquire),
            next: view.next.load(Ordering::Acquire),
        }
    }

    /// Whether everything read since `state` was taken belongs to it.
    #[inline]
    pub(super) fn unchanged(&self, state: u64) -> bool {
        fence(Ordering::Acquire);
        self.state.load(Ordering::Relaxed) == state
    }

    #[inline]
    pub(super) fn item(&self, snap: &Snap, position: usize) -> Ref {
        self.refs[snap.slot(position)].load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn head_at(&self, snap: &Snap, position: usize) -> u64 {
        self.head(snap, position)
    }

    #[inline]
    fn head(&self, snap: &Snap, position: usize) -> u64 {
        self.heads[snap.slot(position)].load(Ordering::Relaxed)
    }

    /// Whether `target` belongs to a node further right.
    #[inline]
    pub(super) fn is_left_of(snap: &Snap, entries: &Entries, target: &Target<'_>) -> bool {
        if snap.next == 0 || target.head < snap.high_head {
            return false;
        }
        // SAFETY: `high` was stored with Release after its entry was published, and loaded with Acquire.
        target.head > snap.high_head
            || snap.high != 0 && unsafe { entries.compare(snap.high, target) }.is_le()
    }

    /// How many items lie before `target` (or at it, with `or_equal`): a position.
    #[inline]
    pub(super) fn partition(
        &self,
        snap: &Snap,
        entries: &Entries,
        target: &Target<'_>,
        or_equal: bool,
    ) -> usize {
        let n = snap.len();
        let mut first = 0;
        let mut size = n;
        while size > 1 {
            let half = size / 2;
            first = if self.head(snap, first + half) < target.head { first + half } else { first };
            size -= half;
        }
        first += usize::from(n > 0 && self.head(snap, first) < target.head);
        if first < n && self.head(snap, first) == target.head {
            self.partition_ties(snap, entries, target, or_equal, first)
        } else {
            first
        }
    }

    /// Goes on from `first`, the first item whose head ties: now keys have to be compared.
    fn partition_ties(
        &self,
        snap: &Snap,
        entries: &Entries,
        target: &Target<'_>,
        or_equal: bool,
        mut first: usize,
    ) -> usize {
        let n = snap.len();
        // Ties are few, or nearly all: look at the neighbour, then halve.
        let mut end = first + 1;
        if end < n && self.head(snap, end) == target.head {
            let mut size = n - end;
            while size > 0 {
                let half = size / 2;
                if self.head(snap, end + half) == target.head {
                    end += half + 1;
                    size -= half + 1;
                } else {
                    size = half;
                }
            }
        }
        while first < end {
            let middle = first + (end - first) / 2;
            let order = match self.key_of(entries, self.item(snap, middle)) {
                0 => std::cmp::Ordering::Less,
                // SAFETY: a place read with Acquire from a slot or a node's `low`; both are stored
                // with Release after the entry was written.
                key => unsafe { entries.compare(key, target) },
            };
            if order.is_lt() || or_equal && order.is_eq() {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// The entry that orders an item: itself in a leaf, the child's lower bound above; 0 for none.
    #[inline]
    fn key_of(&self, entries: &Entries, item: Ref) -> Ref {
        if self.level == 0 || item == 0 {
            return item;
        }
        // SAFETY: items above level 0 are nodes, published with Release, read with Acquire.
        unsafe { Node::at(entries, item) }.low
    }

    /// # Safety
    /// `place` must be a node's, read with Acquire from where it was published with Release.
    #[inline]
    pub(super) unsafe fn at(entries: &Entries, place: Ref) -> &Node {
        // SAFETY: the caller's promise; a node is made once, at an aligned place, and then changed only
        // through its atomics. It lives as long as the arena, which `entries` borrows.
        unsafe { &*entries.arena.at(place).cast::<Node>() }
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        let mut tries = 0u32;
        while self.lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Locked(self)
    }

    /// Fills a new node that no one else can see yet.
    pub(super) fn fill(&self, source: &Node, snap: &Snap, from: usize) {
        let n = snap.len() - from;
        let mut order = [0; CAP];
        for (i, slot) in order.iter_mut().enumerate().take(n) {
            *slot = i as u8;
            self.heads[i].store(source.head(snap, from + i), Ordering::Relaxed);
            self.refs[i].store(source.item(snap, from + i), Ordering::Release);
        }
        self.live.store(((1u64 << n) - 1) as u32, Ordering::Relaxed);
        self.publish(&Snap { state: n as u64, order, ..*snap });
    }

    /// Writes `next` into the view it names and makes that view current.
    fn publish(&self, next: &Snap) {
        let view = &self.views[(next.state >> 8) as usize & 1];
        for (word, bytes) in view.order.iter().zip(next.order.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        view.high_head.store(next.high_head, Ordering::Relaxed);
        view.high.store(next.high, Ordering::Release);
        view.next.store(next.next, Ordering::Release);
        self.state.store(next.state, Ordering::Release);
    }
}

/// A node that this thread alone may change.
pub(super) struct Locked<'a>(&'a Node);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.lock.store(0, Ordering::Release);
    }
}

impl Locked<'_> {
    /// Puts `item` at `position`; there must be room.
    #[inline]
    pub(super) fn place(&self, snap: &Snap, position: usize, head: u64, item: Ref) {
        let node = self.0;
        let n = snap.len();
        debug_assert!(n < CAP && position <= n);
        let live = node.live.load(Ordering::Relaxed);
        let slot = (!live).trailing_zeros() as usize % CAP;
        node.live.store(live | 1 << slot, Ordering::Relaxed);
        // A reader that sees any store below must also see that the state it started from has passed.
        fence(Ordering::Release);
        node.heads[slot].store(head, Ordering::Relaxed);
        node.refs[slot].store(item, Ordering::Release);
        let mut order = snap.order;
        order.copy_within(position..n, position + 1);
        order[position] = slot as u8;
        node.publish(&Snap { state: next_state(snap.state, n + 1), order, ..*snap });
    }

    /// Cuts the node to its first `keep` items; `right` takes over from there.
    pub(super) fn cut(&self, snap: &Snap, keep: usize, right: Ref, right_node: &Node) {
        let node = self.0;
        let live = (0..keep).fold(0u32, |live, i| live | 1 << snap.slot(i));
        node.live.store(live, Ordering::Relaxed);
        fence(Ordering::Release);
        node.publish(&Snap {
            state: next_state(snap.state, keep),
            order: snap.order,
            high_head: right_node.low_head,
            high: right_node.low,
            next: right,
        });
    }
}

fn next_state(state: u64, len: usize) -> u64 {
    ((state >> 8) + 1) << 8 | len as u64
}
