//! A tree of large nodes: the default structure of a memtable.
//!
//! ```text
//!            [ -inf       g ]                          level 1
//!              |          |
//!   [ a b c d ] -> [ d' e f ] -> [ g h ]               leaves, linked both ways
//!                  (not yet in level 1)
//! ```
//! A skip list costs a cache miss for each step, and needs about twenty steps to find one of a million keys.
//! Here the cache lines of a node are prefetched together, and heads of four bytes decide most comparisons.
//! Three of four levels stay in the CPU cache. The tree is a B-link tree (Lehman and Yao, 1981) that only
//! grows. A full node moves its upper part to a new right neighbour, and the level above gets the new node
//! later. Therefore a search moves to the right neighbour if its key is not below the upper bound of the
//! node. A writer holds one lock at a time, and holds no lock during its search from the root. Readers hold
//! no lock (see [`node`]).
//!
//! The lower bound of a node never changes, and nodes are never removed. So a node that was once at or left
//! of a key stays a valid start for a search of the key. And the `next` of a leaf, once read, stays the leaf
//! after the keys that were read with it.
//!
//! Ascending keys fill leaves completely, because a split at the end moves no entry. The same is true for
//! descending keys.

mod cursor;
mod estimate;
mod node;
#[cfg(all(test, loom))]
mod schedules;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use base::Result;
use base::invariant::{FastPath, takes_slow_path};
use parking_lot::Mutex;

use crate::arena::Ref;
use crate::rep::entry::{Bound, Entries, Target};

pub(crate) use cursor::Cursor;
pub(crate) use estimate::Estimate;
use node::{CAP, Locked, Node, PREFIX, Snap, user_key_at};

/// The nodes in 16 GiB need fewer than 16 levels.
const MAX_LEVELS: usize = 16;

/// The number of concurrent searches in [`Tree::find_many`].
pub(crate) const GROUP: usize = 16;

/// Orders the entries of one [`Entries`]. Every call takes the `Entries`, and must always get the same
/// `Entries`.
pub(crate) struct Tree {
    root: AtomicU32,
    /// The leftmost leaf. It never changes.
    first: Ref,
    growing: Mutex<()>,
    /// The number of nodes on each level.
    nodes: [AtomicU64; MAX_LEVELS],
}

/// The result of a search: a leaf, the view of the leaf that the search read, and a position in the view.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) leaf: Ref,
    snap: Snap,
    pub(crate) position: usize,
}

enum Outcome {
    Placed,
    Duplicate,
    /// The item was placed, and this new node must be linked into the level above.
    Split(Ref),
}

impl Tree {
    /// Makes an empty tree. If there is no memory for the first leaf, calls the allocation error handler,
    /// which ends the process.
    pub(crate) fn new(entries: &Entries) -> Tree {
        let Ok((first, _)) = new_node(entries, 0, 0) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Node>())
        };
        let nodes = [const { AtomicU64::new(0) }; MAX_LEVELS];
        nodes[0].store(1, Ordering::Relaxed);
        Tree { root: AtomicU32::new(first), first, growing: Mutex::new(()), nodes }
    }

    fn root(&self) -> Ref {
        self.root.load(Ordering::Acquire)
    }

    fn nodes_on(&self, level: usize) -> u64 {
        self.nodes.get(level).map_or(0, |n| n.load(Ordering::Relaxed))
    }

    #[inline]
    fn node<'e>(&self, entries: &'e Entries, place: Ref) -> &'e Node {
        // SAFETY: all places that are passed here are places of nodes: root, children, neighbours, hints.
        // They were published with Release and read with Acquire, or this thread made them.
        unsafe { Node::at(entries, place) }
    }

    #[inline]
    fn prefetch(&self, entries: &Entries, place: Ref) {
        // SAFETY: `place` is the place of a node, which was published with Release and read with Acquire. Only the
        // address is used.
        Node::prefetch(unsafe { entries.arena.at(place) });
    }

    /// Adds the entry at `place`. Returns false if the tree already has the same key. `hint` is the leaf
    /// where the last call ended, at first 0. If the next key is near the last key, the hint saves the search
    /// from the root.
    ///
    /// # Errors
    /// Incomplete if the arena is full. The entry is then not in the tree.
    ///
    /// # Safety
    /// `store` of `entries` must have returned `place` on this thread.
    pub(crate) unsafe fn insert(&self, entries: &Entries, place: Ref, hint: &mut Ref) -> Result<bool> {
        base::invariant!(place != 0, "the place that means no entry is inserted");
        // SAFETY: the caller promises that `store` returned the place on this thread, so the entry was written before this call.
        let target = unsafe { entries.target_of(place) };
        let mut path = [0; MAX_LEVELS];
        let start = match self.hinted(entries, *hint, &target)
            && !takes_slow_path(FastPath::TreeHint, target.user_key)
        {
            true => *hint,
            false => self.descend(entries, &target, 0, &mut path),
        };
        let (leaf, mut outcome) = self.insert_at(entries, start, &target, place)?;
        *hint = leaf;
        let mut level = 0;
        while let Outcome::Split(right) = outcome {
            level += 1;
            // The levels above may miss nodes. If there is no memory to link the node, searches reach it
            // through its left neighbour.
            match self.link(entries, right, level, &path) {
                Ok(next) => outcome = next,
                Err(_) => break,
            }
        }
        Ok(!matches!(outcome, Outcome::Duplicate))
    }

    /// Returns true if the leaf `hint` alone proves that `target` belongs to the leaf, or belonged to it when
    /// the leaf was read.
    #[inline]
    fn hinted(&self, entries: &Entries, hint: Ref, target: &Target<'_>) -> bool {
        if hint == 0 {
            return false;
        }
        let leaf = self.node(entries, hint);
        let snap = leaf.snap();
        let relation = snap.relation(entries, target.user_key);
        relation.is_eq()
            && snap.len() > 0
            && entries.head(target.user_key, snap.skip()) > leaf.head(&snap, 0)
            && !Node::is_left_of(&snap, entries, target, relation)
            && leaf.unchanged(snap.state)
    }

    /// Puts `item` into the node at `start` or into a node on its right. Returns the node that got the item.
    fn insert_at(
        &self,
        entries: &Entries,
        start: Ref,
        target: &Target<'_>,
        item: Ref,
    ) -> Result<(Ref, Outcome)> {
        let mut place = start;
        loop {
            let node = self.node(entries, place);
            let locked = node.lock();
            let snap = node.snap();
            let relation = snap.relation(entries, target.user_key);
            if Node::is_left_of(&snap, entries, target, relation) {
                place = snap.next;
                continue;
            }
            let position = node.partition(&snap, entries, target, relation, Bound::AtOrAfter);
            base::invariant!(
                position <= snap.len(),
                "an entry goes to position {position} of {}",
                snap.len()
            );
            if node.level() == 0 && position < snap.len() && relation.is_eq() {
                // An equal key would be at the position where the search ended. Its entry is read only if the
                // heads are equal.
                let equal_heads = node.head(&snap, position) == entries.head(target.user_key, snap.skip());
                // SAFETY: the entry was read from a slot with Acquire, under the lock of the leaf.
                if equal_heads && unsafe { entries.compare(node.item(&snap, position), target) }.is_eq() {
                    return Ok((place, Outcome::Duplicate));
                }
            }
            let fits = relation.is_eq();
            if snap.len() < CAP && (fits || snap.len() <= CAP / 2) {
                let snap = if fits { snap } else { self.shorten(entries, &locked, node, &snap, target) };
                locked.place(&snap, position, entries.head(target.user_key, snap.skip()), item);
                return Ok((place, Outcome::Placed));
            }
            return self.split(entries, place, &locked, &snap, target, position, item);
        }
    }

    /// Shortens the prefix of a node to the part that `target` has too.
    #[cold]
    fn shorten(
        &self,
        entries: &Entries,
        locked: &Locked<'_>,
        node: &Node,
        snap: &Snap,
        target: &Target<'_>,
    ) -> Snap {
        let shared = entries.common(snap.prefix(), target.user_key, snap.skip());
        base::invariant!(shared < snap.skip(), "a prefix of {} bytes is shortened to {shared}", snap.skip());
        locked.set_prefix(entries, snap, target.user_key, shared);
        node.snap()
    }

    /// Moves the upper part of a node to a new right neighbour, and puts `item` into one of the two nodes.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn split(
        &self,
        entries: &Entries,
        place: Ref,
        locked: &Locked<'_>,
        snap: &Snap,
        target: &Target<'_>,
        position: usize,
        item: Ref,
    ) -> Result<(Ref, Outcome)> {
        let node = self.node(entries, place);
        let n = snap.len();
        let keep = match position {
            _ if position == n => n,
            0 if node.level() == 0 => 0,
            _ => n / 2,
        };
        let goes_right = position > keep || keep == n;
        base::invariant!(
            keep <= n && position <= n,
            "a node of {n} entries is split at {keep} for {position}"
        );
        let first_right = if keep == n { item } else { node.item(snap, keep) };
        let low = node.key_of(entries, first_right);
        let key = |item: Ref| user_key_at(entries, node.key_of(entries, item));

        // All keys between the bounds of a node share the common prefix of the bounds. The outermost nodes
        // lack a bound, so the items there replace it.
        let low_key = user_key_at(entries, low);
        let upper = match snap.next {
            0 if keep == n => key(node.item(snap, n.saturating_sub(1))),
            0 if goes_right => max_key(entries, key(node.item(snap, n - 1)), target.user_key),
            0 => key(node.item(snap, n - 1)),
            _ => user_key_at(entries, snap.high),
        };
        let right_skip = entries.common(low_key, upper, PREFIX);
        let (right, right_node) = new_node(entries, node.level(), low)?;
        base::invariant!(usize::from(node.level()) < MAX_LEVELS, "a node has the level {}", node.level());
        self.nodes[usize::from(node.level()) % MAX_LEVELS].fetch_add(1, Ordering::Relaxed);
        right_node.fill(node, entries, snap, keep, right_skip);
        right_node.set_prev(place);
        if goes_right {
            // No other thread sees the new node, so its lock is free.
            let own = right_node.snap();
            let head = entries.head(target.user_key, own.skip());
            right_node.lock().place(&own, position - keep, head, item);
        }
        locked.cut(entries, snap, keep, right, low);
        // Set `prev` only after the new node is linked from this node. A reader that follows `prev` must be
        // able to reach its own leaf by `next`.
        if snap.next != 0 {
            self.node(entries, snap.next).set_prev(right);
        }

        let lower = match node.low() {
            0 if keep == 0 => target.user_key,
            0 if node.level() > 0 && keep < 2 => low_key,
            0 => {
                let first = key(node.item(snap, usize::from(node.level() > 0)));
                if goes_right { first } else { min_key(entries, first, target.user_key) }
            }
            bound => user_key_at(entries, bound),
        };
        let left_skip = entries.common(lower, low_key, PREFIX);
        let mut left = node.snap();
        if left_skip != left.skip() && keep <= CAP / 2 {
            locked.set_prefix(entries, &left, low_key, left_skip);
            left = node.snap();
        }
        if goes_right {
            return Ok((right, Outcome::Split(right)));
        }
        locked.place(&left, position, entries.head(target.user_key, left.skip()), item);
        Ok((place, Outcome::Split(right)))
    }

    /// Links the node `right` into `level`, the level above the node.
    fn link(&self, entries: &Entries, right: Ref, level: usize, path: &[Ref; MAX_LEVELS]) -> Result<Outcome> {
        base::invariant!(level > 0, "a leaf is linked into a leaf");
        // SAFETY: a right neighbour always has a lower bound, which was set before the node was published.
        let target = unsafe { entries.target_of(self.node(entries, right).low()) };
        let known = path.get(level).copied().unwrap_or(0);
        let start = match known {
            0 => match self.start_above(entries, right, level, &target)? {
                0 => return Ok(Outcome::Placed),
                start => start,
            },
            known => known,
        };
        Ok(self.insert_at(entries, start, &target, right)?.1)
    }

    /// Returns a node of `level` at or left of `target`. If the level does not exist, makes a new root over
    /// the old root and `right`, and returns 0.
    #[cold]
    fn start_above(&self, entries: &Entries, right: Ref, level: usize, target: &Target<'_>) -> Result<Ref> {
        let growing = self.growing.lock();
        let root = self.root.load(Ordering::Acquire);
        if usize::from(self.node(entries, root).level()) >= level {
            drop(growing);
            return Ok(self.descend(entries, target, level, &mut [0; MAX_LEVELS]));
        }
        let (place, node) = new_node(entries, level as u8, 0)?;
        let locked = node.lock();
        locked.place(&node.snap(), 0, 0, root);
        locked.place(&node.snap(), 1, entries.head(target.user_key, 0), right);
        // The prefix is too long at first. Later keys shorten it. In a custom order, nodes have no prefix: the order knows only
        // whole keys.
        let skip = entries.common(target.user_key, target.user_key, PREFIX);
        locked.set_prefix(entries, &node.snap(), target.user_key, skip);
        drop(locked);
        base::invariant!(
            level < MAX_LEVELS,
            "the tree of a memtable has {level} levels, and at most {MAX_LEVELS} are counted"
        );
        base::invariant!(
            usize::from(self.node(entries, root).level()) + 1 == level,
            "a root of level {level} is put above a root of level {}",
            self.node(entries, root).level()
        );
        if let Some(count) = self.nodes.get(level) {
            count.store(1, Ordering::Relaxed);
        }
        self.root.store(place, Ordering::Release);
        Ok(0)
    }

    /// Returns the node of `level` that contains `target`, or a node left of it. Stores the visited nodes of
    /// higher levels in `path`, by level.
    fn descend(
        &self,
        entries: &Entries,
        target: &Target<'_>,
        level: usize,
        path: &mut [Ref; MAX_LEVELS],
    ) -> Ref {
        let mut place = self.root.load(Ordering::Acquire);
        loop {
            let node = self.node(entries, place);
            base::invariant!(usize::from(node.level()) < MAX_LEVELS, "a node has the level {}", node.level());
            if usize::from(node.level()) <= level {
                return place;
            }
            if let Some(next) = self.step(entries, node, target) {
                if next.1 {
                    path[usize::from(node.level()) % MAX_LEVELS] = place;
                }
                place = next.0;
            }
        }
    }

    /// Moves from an inner node one step right (false) or down (true). Returns `None` if a writer changed the
    /// node meanwhile.
    #[inline]
    fn step(&self, entries: &Entries, node: &Node, target: &Target<'_>) -> Option<(Ref, bool)> {
        let snap = node.snap();
        let relation = snap.relation(entries, target.user_key);
        let (next, down) = if Node::is_left_of(&snap, entries, target, relation) {
            (snap.next, false)
        } else {
            // Item 0 is the lower bound of the node, so at least one item is at or below the target.
            let past = node.partition(&snap, entries, target, relation, Bound::After);
            (node.item(&snap, past.saturating_sub(1)), true)
        };
        if !node.unchanged(snap.state) {
            return None;
        }
        self.prefetch(entries, next);
        Some((next, down))
    }

    /// Finds the position of `bound`. If the position is the end of its leaf, the entry is in the next leaf.
    pub(crate) fn find(&self, entries: &Entries, target: &Target<'_>, bound: Bound) -> Found {
        let leaf = self.descend(entries, target, 0, &mut [0; MAX_LEVELS]);
        self.find_from(entries, leaf, target, bound)
    }

    #[inline]
    fn find_from(&self, entries: &Entries, mut leaf: Ref, target: &Target<'_>, bound: Bound) -> Found {
        loop {
            let node = self.node(entries, leaf);
            let snap = node.snap();
            let relation = snap.relation(entries, target.user_key);
            if Node::is_left_of(&snap, entries, target, relation) {
                if node.unchanged(snap.state) {
                    leaf = snap.next;
                }
                continue;
            }
            let position = node.partition(&snap, entries, target, relation, bound);
            if node.unchanged(snap.state) {
                return Found { leaf, snap, position };
            }
        }
    }

    /// Does [`Tree::find`] for up to [`GROUP`] targets, with one step of each search in turn. So the cache
    /// misses of one search overlap the work of the other searches. Prefetches the found entries.
    pub(crate) fn find_many(&self, entries: &Entries, targets: &[Target<'_>], found: &mut Vec<Found>) {
        debug_assert!(targets.len() <= GROUP);
        let mut places = [self.root.load(Ordering::Acquire); GROUP];
        let mut busy = true;
        while busy {
            busy = false;
            for (place, target) in places.iter_mut().zip(targets) {
                let node = self.node(entries, *place);
                if node.level() > 0 {
                    busy = true;
                    if let Some((next, _)) = self.step(entries, node, target) {
                        *place = next;
                    }
                }
            }
        }
        // The entries for the last comparisons are prefetched together too.
        for (place, target) in places.iter().zip(targets) {
            let leaf = self.node(entries, *place);
            entries.prefetch(leaf.guess(&leaf.snap(), entries, target));
        }
        for (place, target) in places.iter().zip(targets) {
            let one = self.find_from(entries, *place, target, Bound::AtOrAfter);
            found.push(one);
        }
    }

    /// Visits entries from `found` on until `visit` returns false. Returns false if a writer changed the leaf
    /// meanwhile: the visited entries are valid, and the caller must search for the rest again.
    #[inline]
    pub(crate) fn visit<'e>(
        &self,
        entries: &'e Entries,
        mut found: Found,
        mut visit: impl FnMut(super::entry::Entry<'e>, Ref) -> bool,
    ) -> bool {
        loop {
            let node = self.node(entries, found.leaf);
            while found.position < found.snap.len() {
                let place = node.item(&found.snap, found.position);
                if !node.unchanged(found.snap.state) {
                    return false;
                }
                // SAFETY: the place of an entry was read with Acquire, and the view was still current after
                // the read.
                if !visit(unsafe { entries.entry(place) }, place) {
                    return true;
                }
                found.position += 1;
            }
            // `next` is part of the state that was checked at the end of the search.
            if found.snap.next == 0 {
                return true;
            }
            let leaf = found.snap.next;
            let snap = loop {
                let next = self.node(entries, leaf);
                let snap = next.snap();
                if next.unchanged(snap.state) {
                    break snap;
                }
            };
            found = Found { leaf, snap, position: 0 };
        }
    }
}

/// Makes a new, empty node that no other thread can see yet.
fn new_node(entries: &Entries, level: u8, low: Ref) -> Result<(Ref, &Node)> {
    base::invariant!(usize::from(level) < MAX_LEVELS, "a node has the level {level}");
    let (place, start) = entries.arena.alloc(size_of::<Node>(), 64)?;
    base::invariant!(start.align_offset(64) == 0, "a node of the tree is not aligned to 64 bytes");
    // SAFETY: the arena has just returned this memory. It is zeroed, large enough, aligned to 64, and belongs
    // to this thread.
    Ok((place, unsafe { Node::create(start, level, low) }))
}

fn min_key<'k>(entries: &Entries, a: &'k [u8], b: &'k [u8]) -> &'k [u8] {
    if entries.compare_user(a, b).is_le() { a } else { b }
}

fn max_key<'k>(entries: &Entries, a: &'k [u8], b: &'k [u8]) -> &'k [u8] {
    if entries.compare_user(a, b).is_ge() { a } else { b }
}
