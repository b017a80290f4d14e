//! How many entries lie between two keys, from a few nodes.
//!
//! Two searches give the path to each end. Where both end in one leaf, positions tell. Otherwise the
//! lowest level is taken on which the ends are still near each other. The nodes between them there
//! are counted, and up to [`SAMPLE`] of them asked how full they are; if they are leaves and all are asked,
//! the answer is exact. What hangs off either path below that level counts too, leaves exactly.

use crate::arena::Ref;
use crate::rep::entry::{Entries, Target};
use crate::rep::prefetch;

use super::node::Node;
use super::{MAX_LEVELS, Tree};

/// Nodes asked for their number of items. Their lines are fetched side by side.
const SAMPLE: usize = 24;
/// With at most so many nodes between the ends, the level below is near enough too.
const NEAR: usize = 3;

/// A node passed on the way down, its items, and which one was taken (in a leaf: how many lie before).
#[derive(Clone, Copy, Default)]
struct Step {
    node: Ref,
    position: usize,
    len: usize,
}

/// About how many entries lie in a range, and whether that is exactly so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) count: u64,
    pub(crate) exact: bool,
}

impl Tree {
    /// Entries at or after `start` and before `end`; `start` must not be behind `end`. `total` is how
    /// many there are in all.
    pub(crate) fn estimate(
        &self,
        entries: &Entries,
        start: &Target<'_>,
        end: &Target<'_>,
        total: u64,
    ) -> Estimate {
        let (mut left, mut right) = ([Step::default(); MAX_LEVELS], [Step::default(); MAX_LEVELS]);
        let levels = self.path(entries, start, &mut left).min(self.path(entries, end, &mut right));
        let (l, r) = (left[0], right[0]);
        if l.node == r.node || levels < 2 {
            return Estimate { count: r.position.saturating_sub(l.position) as u64, exact: true };
        }
        let mut level = levels - 1;
        let mut nodes = self.between(entries, &left[level], &right[level]);
        while level > 1 && nodes.len() <= NEAR {
            level -= 1;
            nodes = self.between(entries, &left[level], &right[level]);
        }
        let hanging = |level: usize| -> f64 {
            let (l, r) = (&left[level], &right[level]);
            (l.len.saturating_sub(l.position + 1) + r.position) as f64 * self.entries_below(level - 1, total)
        };
        let edges = (l.len.saturating_sub(l.position) + r.position) as f64;
        let outside: f64 = edges + (1..level).map(hanging).sum::<f64>();
        let (items, all) = self.items_in(entries, &nodes);
        let inside = if level == 1 { items } else { items * self.entries_below(level - 2, total) };
        Estimate { count: ((outside + inside).round() as u64).min(total), exact: level == 1 && all }
    }

    /// Mean number of entries under a node of `level`.
    fn entries_below(&self, level: usize, total: u64) -> f64 {
        total as f64 / self.nodes_on(level).max(1) as f64
    }

    /// The way to `target`, by level; returns how many levels there are.
    fn path(&self, entries: &Entries, target: &Target<'_>, path: &mut [Step; MAX_LEVELS]) -> usize {
        let mut place = self.root();
        let levels = usize::from(self.node(entries, place).level()) + 1;
        loop {
            let node = self.node(entries, place);
            let level = usize::from(node.level());
            let snap = node.snap();
            let relation = snap.relation(entries, target.user_key);
            let right = Node::is_left_of(&snap, entries, target, relation);
            let past = if right { 0 } else { node.partition(&snap, entries, target, relation, level > 0) };
            let position = if level > 0 { past.saturating_sub(1) } else { past };
            let next = if right { snap.next } else { node.item(&snap, position) };
            if !node.unchanged(snap.state) {
                continue;
            }
            if !right {
                path[level % MAX_LEVELS] = Step { node: place, position, len: snap.len() };
                if level == 0 {
                    return levels;
                }
            }
            self.prefetch(entries, next);
            place = next;
        }
    }

    /// The children between those taken at `left` and at `right`.
    fn between(&self, entries: &Entries, left: &Step, right: &Step) -> Vec<Ref> {
        let mut nodes = Vec::with_capacity(64);
        let mut place = left.node;
        let mut from = left.position + 1;
        loop {
            let node = self.node(entries, place);
            let snap = node.snap();
            let to = if place == right.node { right.position.min(snap.len()) } else { snap.len() };
            let before = nodes.len();
            nodes.extend((from..to).map(|i| node.item(&snap, i)));
            if !node.unchanged(snap.state) {
                nodes.truncate(before);
                continue;
            }
            if place == right.node || snap.next == 0 {
                return nodes;
            }
            place = snap.next;
            from = 0;
        }
    }

    /// Up to `n` entries, spread: the lower bounds of nodes on the lowest level that has enough.
    pub(crate) fn sample(&self, entries: &Entries, n: usize) -> Vec<Ref> {
        let mut place = self.root();
        let mut places = Vec::new();
        loop {
            // A level from left to right, beginning at its leftmost node.
            let level = self.node(entries, place).level();
            let mut along = place;
            places.clear();
            while along != 0 {
                let node = self.node(entries, along);
                let snap = node.snap();
                let items: Vec<Ref> = (0..snap.len()).map(|i| node.item(&snap, i)).collect();
                if !node.unchanged(snap.state) {
                    continue;
                }
                let bound = |&item: &Ref| if level == 0 { item } else { self.node(entries, item).low() };
                places.extend(items.iter().map(bound).filter(|&place| place != 0));
                if along == place && level > 0 {
                    place = items.first().copied().unwrap_or(place);
                }
                along = snap.next;
            }
            if level == 0 || places.len() >= 4 * n {
                let n = n.min(places.len());
                return (0..n).map(|i| places[i * places.len() / n]).collect();
            }
        }
    }

    /// Items in all of `nodes`, and whether all were asked.
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
