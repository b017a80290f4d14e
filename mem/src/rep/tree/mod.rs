//! A tree of fat nodes: the memtable's default structure.
//!
//! ```text
//!            [ -inf       g ]                          level 1
//!              |          |
//!   [ a b c d ] -> [ d' e f ] -> [ g h ]               leaves, linked both ways
//!                  (not yet in level 1)
//! ```
//! A skip list pays a cache miss a step, some twenty to find one of a million keys; here a node's
//! lines are fetched side by side and searched by eight-byte key heads, and three levels of four stay
//! in cache. It is a B-link tree (Lehman and Yao, 1981) that only grows: a full node gives its upper part
//! to a new right neighbour, and the level above learns of it later. Until then, and whenever the index
//! is behind, a search goes right as long as its key is not below the node's upper bound. A writer
//! holds one lock at a time, and none while it goes down; readers hold none (see [`node`]).
//!
//! A node's lower bound never changes and nodes are never removed, so any node once known as being at
//! or left of a key remains a place to start from, and a leaf's `next`, once read, remains the place
//! where that leaf's keys end.
//!
//! Ascending keys fill leaves to the brim (a split at the end moves nothing); so do descending ones.

mod cursor;
mod estimate;
mod node;
#[cfg(all(test, loom))]
mod schedules;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use base::Result;
use parking_lot::Mutex;

use crate::arena::Ref;
use crate::rep::entry::{Entries, Target};

pub(crate) use cursor::Cursor;
pub(crate) use estimate::Estimate;
use node::{CAP, Locked, Node, PREFIX, Snap, user_key_at};

/// 16 GiB hold fewer nodes than 16 levels do.
const MAX_LEVELS: usize = 16;

/// Searches in flight at once in [`Tree::find_many`].
pub(crate) const GROUP: usize = 16;

/// Orders the entries of one [`Entries`]. Every call takes the `Entries`, and must always get the same
/// `Entries`.
pub(crate) struct Tree {
    root: AtomicU32,
    /// The leftmost leaf, for good.
    first: Ref,
    growing: Mutex<()>,
    /// How many nodes each level has.
    nodes: [AtomicU64; MAX_LEVELS],
}

/// Where a search ended: a leaf, what it said, and a position in it.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) leaf: Ref,
    snap: Snap,
    pub(crate) position: usize,
}

enum Outcome {
    Placed,
    Duplicate,
    /// Placed, and this new node has to be made known one level up.
    Split(Ref),
}

impl Tree {
    /// An empty tree. (Without memory for a first leaf there is nothing to go on with: this ends as every
    /// allocation in Rust does.)
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
        // SAFETY: all places that come here are of nodes: the root, children, neighbours, hints. All
        // are published with Release and read with Acquire, or were given out by this thread.
        unsafe { Node::at(entries, place) }
    }

    #[inline]
    fn prefetch(&self, entries: &Entries, place: Ref) {
        // SAFETY: as in `node`; only the address is used.
        Node::prefetch(unsafe { entries.arena.at(place) });
    }

    /// Adds the entry at `place`; false if its key is here already. `hint` is the leaf where the last
    /// call ended (0 at first): close keys then save the way down.
    ///
    /// # Errors
    /// Incomplete if the arena is full; the entry is then not in.
    ///
    /// # Safety
    /// `place` must come from the `store` of `entries`, on this thread.
    pub(crate) unsafe fn insert(&self, entries: &Entries, place: Ref, hint: &mut Ref) -> Result<bool> {
        base::invariant!(place != 0, "the place that means no entry is inserted");
        // SAFETY: the caller's promise.
        let target = unsafe { entries.target_of(place) };
        let mut path = [0; MAX_LEVELS];
        let start = match self.hinted(entries, *hint, &target) {
            true => *hint,
            false => self.descend(entries, &target, 0, &mut path),
        };
        let (leaf, mut outcome) = self.insert_at(entries, start, &target, place)?;
        *hint = leaf;
        let mut level = 0;
        while let Outcome::Split(right) = outcome {
            level += 1;
            // The index may lag behind: if there is no memory for it, searches go right instead.
            match self.link(entries, right, level, &path) {
                Ok(next) => outcome = next,
                Err(_) => break,
            }
        }
        Ok(!matches!(outcome, Outcome::Duplicate))
    }

    /// Whether `target` belongs to the leaf `hint`, or did a moment ago. Says so only where that is
    /// plain from the leaf alone.
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

    /// Puts `item` into the node at `start` or to the right of it. Returns the node it went to.
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
            let position = node.partition(&snap, entries, target, relation, false);
            base::invariant!(
                position <= snap.len(),
                "an entry goes to position {position} of {}",
                snap.len()
            );
            if node.level() == 0 && position < snap.len() && relation.is_eq() {
                // An equal key would be where the search ended; only equal heads are worth a look.
                let equal_heads = node.head(&snap, position) == entries.head(target.user_key, snap.skip());
                // SAFETY: an entry read from a slot with Acquire, under the leaf's lock.
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

    /// Cuts the prefix of a node to what `target` has too.
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

    /// Moves the upper part of a node to a new neighbour and puts `item` into one of them.
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

        // Between its bounds all that may come shares what they share. At the edges there is no bound
        // and the items there have to do.
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
            // Nobody sees the new node, so its lock is free.
            let own = right_node.snap();
            let head = entries.head(target.user_key, own.skip());
            right_node.lock().place(&own, position - keep, head, item);
        }
        locked.cut(entries, snap, keep, right, low);
        // Only now, when the way from here leads through the new node: whoever comes to it from the right
        // goes on to this node, and from here looks for it along the way to the right.
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

    /// Makes the node `right` known on `level`, the one above its own.
    fn link(&self, entries: &Entries, right: Ref, level: usize, path: &[Ref; MAX_LEVELS]) -> Result<Outcome> {
        base::invariant!(level > 0, "a leaf is linked into a leaf");
        // SAFETY: a right neighbour always has a lower bound, set before it was published.
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

    /// A node of `level` at or left of `target`. If there is no such level yet, makes it, over the old
    /// root and `right`, and returns 0.
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
        // Too long at first; what comes shortens it.
        locked.set_prefix(entries, &node.snap(), target.user_key, PREFIX);
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

    /// The node of `level` that `target` belongs to, or one that lately was; `path` gets the nodes
    /// passed above it, by level.
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

    /// From an inner node one step right (false) or down (true); `None` if a writer came between.
    #[inline]
    fn step(&self, entries: &Entries, node: &Node, target: &Target<'_>) -> Option<(Ref, bool)> {
        let snap = node.snap();
        let relation = snap.relation(entries, target.user_key);
        let (next, down) = if Node::is_left_of(&snap, entries, target, relation) {
            (snap.next, false)
        } else {
            // Item 0 bounds the node, so at least one item is at or below the target.
            let past = node.partition(&snap, entries, target, relation, true);
            (node.item(&snap, past.saturating_sub(1)), true)
        };
        if !node.unchanged(snap.state) {
            return None;
        }
        self.prefetch(entries, next);
        Some((next, down))
    }

    /// The first position at or after `target` (behind it, with `or_equal`). It may be the end of its
    /// leaf; what follows is then in the next.
    pub(crate) fn find(&self, entries: &Entries, target: &Target<'_>, or_equal: bool) -> Found {
        let leaf = self.descend(entries, target, 0, &mut [0; MAX_LEVELS]);
        self.find_from(entries, leaf, target, or_equal)
    }

    #[inline]
    fn find_from(&self, entries: &Entries, mut leaf: Ref, target: &Target<'_>, or_equal: bool) -> Found {
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
            let position = node.partition(&snap, entries, target, relation, or_equal);
            if node.unchanged(snap.state) {
                return Found { leaf, snap, position };
            }
        }
    }

    /// [`Tree::find`] for up to [`GROUP`] targets, step by step side by side, so that the misses of one
    /// pass while the others compute. Entries found are prefetched.
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
        // The entries that the last comparisons will need come in side by side too.
        for (place, target) in places.iter().zip(targets) {
            let leaf = self.node(entries, *place);
            entries.prefetch(leaf.guess(&leaf.snap(), entries, target));
        }
        for (place, target) in places.iter().zip(targets) {
            let one = self.find_from(entries, *place, target, false);
            found.push(one);
        }
    }

    /// Goes through entries from `found` on until `visit` returns false. Returns false if a writer came
    /// between; what was visited until then stands, the rest has to be searched anew.
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
                // SAFETY: an entry's place, read with Acquire, and shown by a view that stood.
                if !visit(unsafe { entries.entry(place) }, place) {
                    return true;
                }
                found.position += 1;
            }
            // `next` belongs to the state that was checked when the search ended.
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

/// A new, empty node; nobody sees it yet.
fn new_node(entries: &Entries, level: u8, low: Ref) -> Result<(Ref, &Node)> {
    base::invariant!(usize::from(level) < MAX_LEVELS, "a node has the level {level}");
    let (place, start) = entries.arena.alloc(size_of::<Node>(), 64)?;
    base::invariant!(start.align_offset(64) == 0, "a node of the tree is not aligned to 64 bytes");
    // SAFETY: just handed out: zeroed, large enough, aligned to 64, ours alone.
    Ok((place, unsafe { Node::create(start, level, low) }))
}

fn min_key<'k>(entries: &Entries, a: &'k [u8], b: &'k [u8]) -> &'k [u8] {
    if entries.compare_user(a, b).is_le() { a } else { b }
}

fn max_key<'k>(entries: &Entries, a: &'k [u8], b: &'k [u8]) -> &'k [u8] {
    if entries.compare_user(a, b).is_ge() { a } else { b }
}
