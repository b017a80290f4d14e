//! Estimates how many entries lie between two keys, from a few nodes.
//!
//! Two searches descend together, one for each end of the range, so that the cache misses of one search
//! overlap the work of the other. At each level the searches know how many children lie between the ends.
//! If there are few children, the searches descend one more level. If there are [`ENOUGH`] children, the
//! searches stop: the sizes of children differ, but the mean of this many children is accurate, and the
//! position of an end within its child matters little. So a wide range touches no leaf, and only nodes that
//! are in the CPU cache. The estimate reads the sizes of up to [`SAMPLE`] children. For the levels below, it
//! uses the mean size of the nodes of a level. If both ends are in one leaf, their positions give the count.
//! At the leaves of a narrow range, the count in the leaves of the two ends is exact. The count between these
//! leaves is exact if the sizes of all leaves were read.

use crate::arena::Ref;
use crate::rep::entry::{Bound, Entries, Target};
use crate::rep::prefetch;

use super::Tree;
use super::node::Node;

/// The number of nodes whose sizes are read. Their cache lines are prefetched together.
const SAMPLE: usize = 24;
/// If this number of children lies between the ends, the search stops. A node is two thirds full, with a
/// deviation of a fifth. The mean of 48 nodes therefore deviates by 3 %, and the two ends add 0.4 of a child,
/// or 1 %.
const ENOUGH: usize = 48;
/// If more than this number of nodes lies between the ends, the mean size of a level is accurate enough. With
/// fewer nodes, this part of the tree may differ, so the sizes of the children are read too.
const NEAR: usize = 3;

/// One step of a search: a node, the position of the chosen item, and the child to continue with. In a leaf,
/// the position is the number of items before the target.
#[derive(Clone, Copy)]
struct Step {
    node: Ref,
    position: usize,
    len: usize,
    child: Ref,
}

/// The estimated number of entries in a range, and whether the number is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) count: u64,
    pub(crate) exact: bool,
}

impl Tree {
    /// Estimates the number of entries at or after `start` and before `end`. `start` must be before `end`.
    /// `total` is the number of all entries.
    pub(crate) fn estimate(
        &self,
        entries: &Entries,
        start: &Target<'_>,
        end: &Target<'_>,
        total: u64,
    ) -> Estimate {
        base::invariant!(
            entries.compare_user(start.user_key, end.user_key).is_lt(),
            "the entries of an empty key range are estimated"
        );
        let root = self.root();
        let (mut left, mut right) = (root, root);
        let mut nodes = Vec::with_capacity(ENOUGH);
        let mut level = usize::from(self.node(entries, root).level());
        loop {
            let (l, r) = (self.settle(entries, left, start), self.settle(entries, right, end));
            if level == 0 {
                return self.at_leaves(entries, &l, &r, &nodes, total);
            }
            let (items, _) = self.items_in(entries, &nodes);
            // A range may end before its start, and writers may change a node between the two searches.
            let children = if l.node == r.node {
                r.position.saturating_sub(l.position + 1)
            } else {
                l.len.saturating_sub(l.position + 1) + items as usize + r.position
            };
            if children >= ENOUGH {
                let mut below = self.entries_below(level - 1, total);
                if nodes.len() <= NEAR {
                    self.between(entries, &l, &r, children / SAMPLE, &mut nodes);
                    let (items, _) = self.items_in(entries, &nodes);
                    below = items / nodes.len().max(1) as f64
                        * if level == 1 { 1.0 } else { self.entries_below(level - 2, total) };
                }
                // On average, half of each child that contains an end is inside the range.
                let count = ((children + 1) as f64 * below).round() as u64;
                return Estimate { count: count.min(total), exact: false };
            }
            (left, right) = (l.child, r.child);
            if left != right {
                self.prefetch(entries, left);
                self.between(entries, &l, &r, 1, &mut nodes);
            }
            self.prefetch(entries, right);
            level -= 1;
        }
    }

    /// Returns the estimate of a search that reached the leaves. `nodes` are the leaves between the two ends.
    fn at_leaves(&self, entries: &Entries, l: &Step, r: &Step, nodes: &[Ref], total: u64) -> Estimate {
        if l.node == r.node {
            // The range may end before its start.
            return Estimate { count: r.position.saturating_sub(l.position) as u64, exact: true };
        }
        let (items, exact) = self.items_in(entries, nodes);
        // A concurrent split may shorten a leaf after its search.
        let edges = l.len.saturating_sub(l.position) + r.position;
        Estimate { count: (edges as u64 + items.round() as u64).min(total), exact }
    }

    /// Returns the mean number of entries under a node of `level`.
    fn entries_below(&self, level: usize, total: u64) -> f64 {
        total as f64 / self.nodes_on(level).max(1) as f64
    }

    /// Finds the node of `target`, which is `place` or a node on its right, and the position of `target` in
    /// it.
    fn settle(&self, entries: &Entries, mut place: Ref, target: &Target<'_>) -> Step {
        loop {
            let node = self.node(entries, place);
            let inner = node.level() > 0;
            let bound = if inner { Bound::After } else { Bound::AtOrAfter };
            let snap = node.snap();
            let relation = snap.relation(entries, target.user_key);
            let right = Node::is_left_of(&snap, entries, target, relation);
            let past = if right { 0 } else { node.partition(&snap, entries, target, relation, bound) };
            // A target before all children goes to the first child.
            let position = if inner { past.saturating_sub(1) } else { past };
            let child = if right || !inner { snap.next } else { node.item(&snap, position) };
            if !node.unchanged(snap.state) {
                continue;
            }
            if !right {
                return Step { node: place, position, len: snap.len(), child };
            }
            self.prefetch(entries, child);
            place = child;
        }
    }

    /// Fills `nodes` with the children between the positions `left` and `right`, one of each `stride`
    /// children.
    fn between(&self, entries: &Entries, left: &Step, right: &Step, stride: usize, nodes: &mut Vec<Ref>) {
        nodes.clear();
        let mut place = left.node;
        let mut from = left.position + 1;
        loop {
            let node = self.node(entries, place);
            let snap = node.snap();
            let to = if place == right.node { right.position.min(snap.len()) } else { snap.len() };
            let before = nodes.len();
            nodes.extend((from..to).step_by(stride.max(1)).map(|i| node.item(&snap, i)));
            if !node.unchanged(snap.state) {
                nodes.truncate(before);
                continue;
            }
            if place == right.node || snap.next == 0 {
                return;
            }
            place = snap.next;
            from = 0;
        }
    }

    /// Returns the number of items in all of `nodes`, and whether the number is exact. It is extrapolated if
    /// there are more nodes than [`SAMPLE`].
    fn items_in(&self, entries: &Entries, nodes: &[Ref]) -> (f64, bool) {
        let asked = nodes.len().min(SAMPLE);
        if asked == 0 {
            return (0.0, true);
        }
        let sample =
            || (0..asked).map(|i| self.node(entries, nodes[(2 * i + 1) * nodes.len() / (2 * asked)]));
        sample().for_each(|node| prefetch(node));
        let items: usize = sample().map(Node::len).sum();
        (items as f64 * nodes.len() as f64 / asked as f64, asked == nodes.len())
    }
}
