//! One node of the tree: up to [`CAP`] items in slots, and two views. A view says which slots are in use and
//! in what order.
//!
//! ```text
//! +------------------------------------------------+
//! | state | live | prev | low | lock | level       |  header: low and level never change
//! +-----------------------+------------------------+
//! | view 0: order of slots, prefix, high, next | 1 |  one is current, the other is being prepared
//! +-----------------------+------------------------+
//! | heads  [u32; CAP]                              |  four bytes of each key after the prefix
//! | refs   [u32; CAP]                              |  entries in a leaf, nodes above
//! +------------------------------------------------+
//! ```
//! **Publishing.** `state` is (version << 8) | number of items. The lowest bit of the version selects the
//! current view. One writer at a time, which holds `lock`, fills the other view and slots that the current
//! view does not use. Then the writer publishes both with one store to `state`. A reader reads `state`, then
//! its view, then `state` again. If `state` has not changed, all that the reader has read belongs together. A
//! writer changes nothing that the current view shows. So a writer that is suspended halfway stops no reader,
//! and a reader starts again only after some writer has finished. This is a sequence lock over two copies
//! (after Boehm, "Can seqlocks get along with programming language memory models?", 2012). The published
//! permutation of slots is Masstree's idea (Mao et al., 2012).
//!
//! **Heads.** All keys of a node begin with its prefix, and a head is the four bytes after the prefix. So
//! most comparisons need only the node, even if the keys share a long prefix. If a new key does not begin
//! with the prefix, the writer shortens the prefix. For this it writes new heads into free slots, and fills
//! the other view. A prefix has at most [`PREFIX`] bytes. If two heads are equal, the keys are compared.

use std::cmp::Ordering as Order3;
use std::sync::atomic::Ordering;

#[cfg(not(loom))]
use std::{
    sync::atomic::{AtomicU8, AtomicU32, AtomicU64, fence},
    thread::yield_now,
};

#[cfg(loom)]
use loom::{
    sync::atomic::{AtomicU8, AtomicU32, AtomicU64, fence},
    thread::yield_now,
};

use crate::arena::Ref;
use crate::rep::entry::{Bound, Entries, Target};
use crate::rep::prefetch;

/// Maximum number of items in a node. Measured with a million random keys of 16 bytes, relative to 32 items:
/// an insertion costs a tenth more with 24, a fifth more with 48, and a third more with 64, which needs 2 %
/// less memory. Lookups cost the same from 32 on.
pub(super) const CAP: usize = if cfg!(loom) { 8 } else { 32 };
const WORDS: usize = CAP / 8;
/// Maximum length of the prefix of a node.
pub(super) const PREFIX: usize = 32;

#[repr(C)]
struct View {
    /// The slot numbers in key order, one byte each.
    order: [AtomicU64; WORDS],
    /// The prefix of all keys, `skip` bytes long.
    prefix: [AtomicU64; PREFIX / 8],
    skip: AtomicU32,
    /// The head of `high`, or the largest number if `high` does not begin with the prefix.
    high_head: AtomicU32,
    /// The entry whose key is above all items. Valid only if `next` is not 0.
    high: AtomicU32,
    /// The node on the right, or 0. `high` is the `low` of that node.
    next: AtomicU32,
}

#[repr(C, align(64))]
pub(super) struct Node {
    state: AtomicU64,
    /// The slots that the current view uses, one bit each. Only the holder of the lock may access it.
    live: AtomicU64,
    /// A node on the left: the nearest node or, for a short time, a node farther left. 0 means "none".
    prev: AtomicU32,
    /// The entry whose key is at or below all items. 0 means "no bound".
    low: Ref,
    lock: AtomicU8,
    /// The level: 0 for leaves.
    level: u8,
    views: [View; 2],
    heads: [AtomicU32; CAP],
    refs: [AtomicU32; CAP],
}

const _: () = assert!(CAP.is_power_of_two() && CAP >= 8 && CAP <= 64);

/// A copy of the view of one state.
#[derive(Clone, Copy)]
pub(super) struct Snap {
    pub(super) state: u64,
    order: [u8; CAP],
    prefix: [u8; PREFIX],
    skip: u32,
    high_head: u32,
    pub(super) high: Ref,
    pub(super) next: Ref,
}

impl Snap {
    #[inline]
    pub(super) fn len(&self) -> usize {
        base::invariant!(
            self.state as usize & 0xff <= CAP,
            "a node has {} entries, and holds {CAP}",
            self.state & 0xff
        );
        (self.state as usize & 0xff).min(CAP)
    }

    #[inline]
    fn slot(&self, position: usize) -> usize {
        usize::from(self.order[position % CAP]) % CAP
    }

    /// Returns the length of the prefix.
    #[inline]
    pub(super) fn skip(&self) -> usize {
        (self.skip as usize).min(PREFIX)
    }

    #[inline]
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix[..self.skip()]
    }

    /// Compares the first bytes of `user_key` with the prefix. Equal means that the key has the prefix.
    #[inline]
    pub(super) fn relation(&self, entries: &Entries, user_key: &[u8]) -> Order3 {
        let skip = self.skip();
        if skip == 0 || has_prefix(user_key, &self.prefix, skip) {
            return Order3::Equal;
        }
        entries.compare_user(&user_key[..skip.min(user_key.len())], self.prefix())
    }

    fn set_prefix(&mut self, key: &[u8], skip: usize) {
        let skip = skip.min(PREFIX).min(key.len());
        self.prefix = [0; PREFIX];
        self.prefix[..skip].copy_from_slice(&key[..skip]);
        self.skip = skip as u32;
    }
}

impl Node {
    /// Makes a node in new memory from the arena.
    ///
    /// # Safety
    /// `place` must be a zeroed, unpublished allocation of at least `size_of::<Node>()` bytes, aligned to 64.
    pub(super) unsafe fn create<'a>(place: *mut u8, level: u8, low: Ref) -> &'a Node {
        let node: *mut Node = place.cast();
        // SAFETY: the memory belongs to this thread, is large enough and aligned. Zeroes are valid for every
        // field.
        unsafe {
            (*node).low = low;
            (*node).level = level;
            &*node
        }
    }

    /// Makes a node outside of the arena. The explorer's atomics are not valid as zeroes, so they cannot be
    /// in the arena.
    #[cfg(loom)]
    pub(super) fn explored() -> Node {
        let view = || View {
            order: std::array::from_fn(|_| AtomicU64::new(0)),
            prefix: std::array::from_fn(|_| AtomicU64::new(0)),
            skip: AtomicU32::new(0),
            high_head: AtomicU32::new(0),
            high: AtomicU32::new(0),
            next: AtomicU32::new(0),
        };
        Node {
            state: AtomicU64::new(0),
            live: AtomicU64::new(0),
            prev: AtomicU32::new(0),
            low: 0,
            lock: AtomicU8::new(0),
            level: 0,
            views: [view(), view()],
            heads: std::array::from_fn(|_| AtomicU32::new(0)),
            refs: std::array::from_fn(|_| AtomicU32::new(0)),
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

    /// Returns the number of items. A concurrent writer may change it.
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

    /// Reads the current view. Data that is read through the view is valid only if [`Node::unchanged`]
    /// returns true afterwards, or if the caller holds the lock.
    #[inline]
    pub(super) fn snap(&self) -> Snap {
        let state = self.state.load(Ordering::Acquire);
        let view = &self.views[(state >> 8) as usize & 1];
        Snap {
            state,
            order: load_bytes(&view.order),
            prefix: load_bytes(&view.prefix),
            skip: view.skip.load(Ordering::Relaxed),
            high_head: view.high_head.load(Ordering::Relaxed),
            high: view.high.load(Ordering::Acquire),
            next: view.next.load(Ordering::Acquire),
        }
    }

    /// Returns true if all that was read since the load of `state` belongs to this state.
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
    pub(super) fn head(&self, snap: &Snap, position: usize) -> u32 {
        self.heads[snap.slot(position)].load(Ordering::Relaxed)
    }

    /// Returns true if `target` belongs to a node further right. `relation` compares the target with the
    /// prefix.
    #[inline]
    pub(super) fn is_left_of(snap: &Snap, entries: &Entries, target: &Target<'_>, relation: Order3) -> bool {
        if snap.next == 0 || relation.is_lt() {
            return false;
        }
        if relation.is_eq() {
            let head = entries.head(target.user_key, snap.skip());
            if head != snap.high_head {
                return head > snap.high_head;
            }
        }
        // SAFETY: `high` was stored with Release after its entry was published, and loaded with Acquire.
        snap.high != 0 && unsafe { entries.compare(snap.high, target) }.is_le()
    }

    /// Returns the number of items before the position of `bound`.
    #[inline]
    pub(super) fn partition(
        &self,
        snap: &Snap,
        entries: &Entries,
        target: &Target<'_>,
        relation: Order3,
        bound: Bound,
    ) -> usize {
        let n = snap.len();
        match relation {
            // The leftmost child of the level has no lower bound, so it is before every target.
            Order3::Less => return usize::from(self.level > 0 && self.low == 0).min(n),
            Order3::Greater => return n,
            Order3::Equal => {}
        }
        let head = entries.head(target.user_key, snap.skip());
        let first = self.first_not_below(snap, head);
        if first < n && self.head(snap, first) == head {
            self.partition_ties(snap, entries, target, bound, first)
        } else {
            first
        }
    }

    /// Returns the item that `partition` will most likely compare with, from the heads only. Returns 0 if
    /// there is none.
    #[inline]
    pub(super) fn guess(&self, snap: &Snap, entries: &Entries, target: &Target<'_>) -> Ref {
        let relation = snap.relation(entries, target.user_key);
        let first = if relation.is_eq() {
            self.first_not_below(snap, entries.head(target.user_key, snap.skip()))
        } else {
            0
        };
        if first < snap.len() { self.item(snap, first) } else { 0 }
    }

    /// Returns the first position whose head is at or above `head`.
    #[inline]
    fn first_not_below(&self, snap: &Snap, head: u32) -> usize {
        let n = snap.len();
        let mut first = 0;
        let mut size = n;
        while size > 1 {
            let half = size / 2;
            first = if self.head(snap, first + half) < head { first + half } else { first };
            size -= half;
        }
        first + usize::from(n > 0 && self.head(snap, first) < head)
    }

    /// Continues a search at `first`, the first item with an equal head. From here on keys are compared.
    fn partition_ties(
        &self,
        snap: &Snap,
        entries: &Entries,
        target: &Target<'_>,
        bound: Bound,
        mut first: usize,
    ) -> usize {
        let n = snap.len();
        let head = self.head(snap, first);
        // Either few items have equal heads, or nearly all. So test the neighbour first. Heads ascend, so an item with
        // another head is after the target.
        let has_neighbour = first + 1 < n && self.head(snap, first + 1) == head;
        let mut end = if has_neighbour { n } else { first + 1 };
        while first < end {
            let middle = first + (end - first) / 2;
            if self.head(snap, middle) != head {
                end = middle;
                continue;
            }
            let order = match self.key_of(entries, self.item(snap, middle)) {
                0 => Order3::Less,
                // SAFETY: the place was read with Acquire from a slot or from the `low` of a node. Both are
                // stored with Release after the entry was written.
                key => unsafe { entries.compare(key, target) },
            };
            if bound.is_past(order) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// Returns the entry that orders an item. In a leaf it is the item, in an inner node the lower bound of
    /// the child. 0 means "none".
    #[inline]
    pub(super) fn key_of(&self, entries: &Entries, item: Ref) -> Ref {
        if self.level == 0 || item == 0 {
            return item;
        }
        // SAFETY: items above level 0 are nodes. They were published with Release and read with Acquire.
        unsafe { Node::at(entries, item) }.low
    }

    /// # Safety
    /// `place` must be the place of a node, and must be read with Acquire from the location where it was
    /// published with Release.
    #[inline]
    pub(super) unsafe fn at(entries: &Entries, place: Ref) -> &Node {
        // SAFETY: the contract of this function. A node is made once, at an aligned place, and then changed
        // only through its atomics. It lives as long as the arena, which `entries` borrows.
        unsafe { &*entries.arena.at(place).cast::<Node>() }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "held for a few stores; below `env::sync`, explored by Loom"
    )]
    pub(super) fn lock(&self) -> Locked<'_> {
        let mut tries = 0u32;
        while self.lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries.is_multiple_of(64) || cfg!(loom) {
                yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Locked(self)
    }

    /// Fills a new node with the items of `source` from position `from` on. No other thread can see the new
    /// node. Its prefix is the first `skip` bytes of its lower bound.
    pub(super) fn fill(&self, source: &Node, entries: &Entries, snap: &Snap, from: usize, skip: usize) {
        base::invariant!(from <= snap.len(), "a node of {} entries is copied from {from}", snap.len());
        let n = snap.len() - from;
        let mut own = *snap;
        own.state = n as u64;
        own.set_prefix(user_key_at(entries, self.low), skip);
        let same = own.skip() == snap.skip();
        for i in 0..n {
            own.order[i] = i as u8;
            let item = source.item(snap, from + i);
            let head =
                if same { source.head(snap, from + i) } else { self.head_of(entries, item, own.skip()) };
            self.heads[i].store(head, Ordering::Relaxed);
            self.refs[i].store(item, Ordering::Release);
        }
        own.high_head = head_of_high(entries, &own);
        self.live.store(low_bits(n), Ordering::Relaxed);
        self.publish(&own);
    }

    fn head_of(&self, entries: &Entries, item: Ref, skip: usize) -> u32 {
        match self.key_of(entries, item) {
            0 => 0,
            key => entries.head(user_key_at(entries, key), skip),
        }
    }

    /// Writes `next` into the view that `next` selects, and makes this view current.
    fn publish(&self, next: &Snap) {
        base::invariant!(
            (next.state & 0xff) as usize <= CAP,
            "a node of {} entries is published, and a node holds {CAP}",
            next.state & 0xff
        );
        base::invariant!(
            next.skip as usize <= PREFIX,
            "a node has a prefix of {} bytes, and at most {PREFIX} are stored",
            next.skip
        );
        let view = &self.views[(next.state >> 8) as usize & 1];
        store_bytes(&view.order, &next.order);
        store_bytes(&view.prefix, &next.prefix);
        view.skip.store(next.skip, Ordering::Relaxed);
        view.high_head.store(next.high_head, Ordering::Relaxed);
        view.high.store(next.high, Ordering::Release);
        view.next.store(next.next, Ordering::Release);
        self.state.store(next.state, Ordering::Release);
    }
}

/// A node that only this thread may change.
pub(super) struct Locked<'a>(&'a Node);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        base::invariant!(self.0.lock.load(Ordering::Relaxed) == 1, "a node is unlocked that is not locked");
        self.0.lock.store(0, Ordering::Release);
    }
}

impl Locked<'_> {
    /// Puts `item` at `position`. There must be room, and the key must begin with the prefix of the node.
    #[inline]
    pub(super) fn place(&self, snap: &Snap, position: usize, head: u32, item: Ref) {
        let node = self.0;
        let n = snap.len();
        debug_assert!(n < CAP && position <= n);
        let live = node.live.load(Ordering::Relaxed);
        base::invariant!(
            live.count_ones() as usize == n,
            "a node of {n} entries has {} slots in use",
            live.count_ones()
        );
        let slot = ((!live).trailing_zeros() as usize).min(CAP - 1);
        node.live.store(live | 1 << slot, Ordering::Relaxed);
        // If a reader sees any store below, the reader must also see the end of its starting state.
        fence(Ordering::Release);
        node.heads[slot].store(head, Ordering::Relaxed);
        node.refs[slot].store(item, Ordering::Release);
        let mut next = *snap;
        next.order.copy_within(position..n, position + 1);
        next.order[position] = slot as u8;
        next.state = next_state(snap.state, n + 1);
        node.publish(&next);
    }

    /// Reduces the node to its first `keep` items. `right` holds the keys after them, from `low` on.
    pub(super) fn cut(&self, entries: &Entries, snap: &Snap, keep: usize, right: Ref, low: Ref) {
        let node = self.0;
        base::invariant!(keep <= snap.len(), "a node of {} entries keeps {keep}", snap.len());
        let live = (0..keep).fold(0, |live, i| live | 1 << snap.slot(i));
        node.live.store(live, Ordering::Relaxed);
        fence(Ordering::Release);
        let mut next = Snap { state: next_state(snap.state, keep), high: low, next: right, ..*snap };
        next.high_head = head_of_high(entries, &next);
        node.publish(&next);
    }

    /// Changes the prefix of the node to the first `skip` bytes of `key`. All keys of the node must begin
    /// with the new prefix. At most half of the slots may be in use.
    pub(super) fn set_prefix(&self, entries: &Entries, snap: &Snap, key: &[u8], skip: usize) {
        let node = self.0;
        let n = snap.len();
        debug_assert!(n <= CAP / 2);
        (0..n).for_each(|i| entries.prefetch(node.key_of(entries, node.item(snap, i))));
        let mut next = *snap;
        next.state = next_state(snap.state, n);
        next.set_prefix(key, skip);
        let mut free = !node.live.load(Ordering::Relaxed) & low_bits(CAP);
        base::invariant!(
            free.count_ones() as usize >= n,
            "a node has {} free slots for {n} entries",
            free.count_ones()
        );
        let mut live = 0;
        fence(Ordering::Release);
        for i in 0..n {
            let slot = (free.trailing_zeros() as usize).min(CAP - 1);
            free &= free.wrapping_sub(1);
            live |= 1 << slot;
            let item = node.item(snap, i);
            node.heads[slot].store(node.head_of(entries, item, next.skip()), Ordering::Relaxed);
            node.refs[slot].store(item, Ordering::Release);
            next.order[i] = slot as u8;
        }
        node.live.store(live, Ordering::Relaxed);
        next.high_head = head_of_high(entries, &next);
        node.publish(&next);
    }
}

/// Returns the user key of an entry that a node names, or an empty key for place 0.
pub(super) fn user_key_at(entries: &Entries, place: Ref) -> &[u8] {
    // SAFETY: places in nodes are 0 or places of entries. They were published with Release and read with
    // Acquire, or read under the lock of the node.
    unsafe { entries.user_key_at(place) }
}

fn head_of_high(entries: &Entries, snap: &Snap) -> u32 {
    if snap.next == 0 || snap.high == 0 {
        return 0;
    }
    let key = user_key_at(entries, snap.high);
    if key.starts_with(snap.prefix()) { entries.head(key, snap.skip()) } else { u32::MAX }
}

/// Returns true if `key` begins with the first `skip` bytes of `prefix`. Compares one word if the prefix and
/// the key allow it, because most prefixes have at most 8 bytes.
#[inline]
fn has_prefix(key: &[u8], prefix: &[u8; PREFIX], skip: usize) -> bool {
    if skip <= 8
        && let (Some(key), Some(prefix)) = (key.first_chunk::<8>(), prefix.first_chunk::<8>())
    {
        let differ = u64::from_be_bytes(*key) ^ u64::from_be_bytes(*prefix);
        return differ.leading_zeros() as usize >= 8 * skip;
    }
    key.starts_with(&prefix[..skip.min(PREFIX)])
}

fn next_state(state: u64, len: usize) -> u64 {
    base::invariant!(len <= CAP, "a node has {len} entries, and holds {CAP}");
    ((state >> 8) + 1) << 8 | len as u64
}

fn low_bits(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

#[inline]
fn load_bytes<const W: usize, const N: usize>(words: &[AtomicU64; W]) -> [u8; N] {
    let mut bytes = [0; N];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.load(Ordering::Relaxed).to_le_bytes();
    }
    bytes
}

#[inline]
fn store_bytes<const W: usize, const N: usize>(words: &[AtomicU64; W], bytes: &[u8; N]) {
    for (bytes, word) in bytes.as_chunks::<8>().0.iter().zip(words) {
        word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
    }
}
