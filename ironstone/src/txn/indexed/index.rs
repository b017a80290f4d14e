//! The index of an indexed write batch: a skip list over the offsets of its records.
//!
//! ```text
//!  records  [put b][put a][merge b][put c]                     bytes of the write batch, never moved by the index
//!  nodes       0      1       2       3                        one per record, in the order of the writes
//!  level 0  head ─► 1(a) ─► 2(b, newer) ─► 0(b, older) ─► 3(c)
//! ```
//! Order: column family, then key, then newest record first. A node names its record by offset, so a record costs no
//! allocation of its own: nodes and links grow in two vectors. A node is never changed by a later write, so a rollback
//! only removes the newest nodes.
//!
//! In overwrite mode a record that is not a merge operand hides the newest record of its key. A merge operand hides
//! nothing. Facts: RocksDB `utilities/write_batch_with_index/write_batch_with_index.cc`.
//!
//! Not here: the meaning of the records (`lookup`), positions of iterators (`cursor`).

use std::cmp::Ordering;

use base::{FamilyId, Order};

/// The number of a node; [`NIL`] is none.
pub(super) type NodeId = u32;

/// No node. As a predecessor: the head of the list.
pub(super) const NIL: NodeId = u32::MAX;

/// Levels of the list: with one node in four on the next level, enough for 4^12 records.
const HEIGHT_MAX: usize = 12;

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Offset of the record in the write batch, in bytes from the start of the header.
    pub at: usize,
    pub family: FamilyId,
    /// Offset of the key, without its timestamp.
    key_at: usize,
    key_len: u32,
    /// The first of the `height` links of the node, as an index into the links.
    links_at: usize,
    height: u8,
    /// The node before this node on level 0.
    prev: NodeId,
    /// True if a newer record of the same key replaces this record (overwrite mode).
    pub hidden: bool,
}

/// A record to insert. `key` lies in the write batch at `key_at`.
pub(super) struct NewRecord {
    pub at: usize,
    pub family: FamilyId,
    pub key_at: usize,
    pub key_len: usize,
    pub is_merge: bool,
}

/// The context of comparisons: the bytes of the write batch, and the order of the keys of a column family.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub bytes: &'a [u8],
    pub orders: &'a Orders,
}

/// The key orders of the column families that have records in the batch.
#[derive(Clone, Default)]
pub(super) struct Orders {
    default: Order,
    families: Vec<(FamilyId, Order)>,
}

impl Orders {
    /// Makes the orders of an empty batch. A column family without a recorded order has the order `default`.
    pub fn new(default: Order) -> Self {
        Orders { default, families: Vec::new() }
    }

    /// Records the order of a column family at its first record.
    pub fn learn(&mut self, family: FamilyId, order: &Order) {
        if !self.families.iter().any(|(id, _)| *id == family) {
            self.families.push((family, order.clone()));
        }
    }

    /// Returns the order of a column family: the default order if the column family has no record in the batch.
    pub fn of(&self, family: FamilyId) -> &Order {
        self.families.iter().find(|(id, _)| *id == family).map_or(&self.default, |(_, order)| order)
    }
}

/// The index: a skip list of records.
#[derive(Default)]
pub(super) struct Index {
    nodes: Vec<Node>,
    links: Vec<NodeId>,
    /// The first node of each level.
    head: Vec<NodeId>,
}

impl Index {
    /// Returns the number of nodes, with the nodes of hidden records.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Removes all nodes. The memory stays reserved.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.links.clear();
        self.head.clear();
    }

    /// Returns the node with this number. `id` must be the number of a node in the index, not [`NIL`].
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Returns the key of a node, without its timestamp.
    pub fn key<'a>(&self, id: NodeId, bytes: &'a [u8]) -> &'a [u8] {
        let node = self.node(id);
        &bytes[node.key_at..node.key_at + node.key_len as usize]
    }

    /// Returns the node after `id`. If `id` is [`NIL`], returns the first node.
    pub fn next(&self, id: NodeId) -> NodeId {
        self.link(id, 0)
    }

    /// Returns the node before `id`. `id` must not be [`NIL`].
    pub fn prev(&self, id: NodeId) -> NodeId {
        self.node(id).prev
    }

    /// Inserts the newest record. With `overwrites`, the record hides the record that it replaces.
    pub fn insert(&mut self, record: &NewRecord, keys: Keys<'_>, overwrites: bool) {
        let key = &keys.bytes[record.key_at..record.key_at + record.key_len];
        let (before, after) = self.path(|index, id| index.compare(id, record.family, key, keys).is_lt());
        let id = self.nodes.len() as NodeId;
        let height = height_of(id);
        while self.head.len() < height {
            self.head.push(NIL);
        }
        let links_at = self.links.len();
        for (level, prev) in before.iter().enumerate().take(height) {
            self.links.push(self.link(*prev, level));
        }
        self.nodes.push(Node {
            at: record.at,
            family: record.family,
            key_at: record.key_at,
            key_len: record.key_len as u32,
            links_at,
            height: height as u8,
            prev: before[0],
            hidden: false,
        });
        for (level, prev) in before.iter().enumerate().take(height) {
            self.set_link(*prev, level, id);
        }
        if after != NIL {
            let replaces =
                overwrites && !record.is_merge && self.compare(after, record.family, key, keys).is_eq();
            let older = &mut self.nodes[after as usize];
            older.prev = id;
            older.hidden |= replaces;
        }
    }

    /// Removes the records that start at `len` or later. The bytes of these records must still be in the batch.
    pub fn truncate(&mut self, len: usize, keys: Keys<'_>) {
        while self.nodes.last().is_some_and(|node| node.at >= len) {
            self.remove_newest(keys);
        }
    }

    fn remove_newest(&mut self, keys: Keys<'_>) {
        let id = (self.nodes.len() - 1) as NodeId;
        let node = *self.node(id);
        let key = self.key(id, keys.bytes);
        // The newest record is the first of its key, so the path to the key ends right before the record.
        let (before, at) = self.path(|index, other| index.compare(other, node.family, key, keys).is_lt());
        debug_assert_eq!(at, id, "the newest record is the first record of its key");
        for (level, prev) in before.iter().enumerate().take(node.height as usize) {
            let next = self.link(id, level);
            self.set_link(*prev, level, next);
        }
        let after = self.link(before[0], 0);
        if after != NIL {
            let same = self.compare(after, node.family, key, keys).is_eq();
            let older = &mut self.nodes[after as usize];
            older.prev = node.prev;
            // The removed record was the only record that could hide the next record of its key.
            older.hidden &= !same;
        }
        self.links.truncate(node.links_at);
        self.nodes.pop();
    }

    /// Returns the first node of the family at or after `key`; with equal keys, the newest record.
    pub fn lower_bound(&self, family: FamilyId, key: &[u8], keys: Keys<'_>) -> NodeId {
        self.path(|index, id| index.compare(id, family, key, keys).is_lt()).1
    }

    /// Returns the last node at or before `key` of the family; with equal keys, the oldest record. The node may belong
    /// to an earlier column family.
    pub fn last_at_or_before(&self, family: FamilyId, key: &[u8], keys: Keys<'_>) -> NodeId {
        self.path(|index, id| index.compare(id, family, key, keys).is_le()).0[0]
    }

    /// Returns the first node of the column family, or of a later column family.
    pub fn first_of(&self, family: FamilyId) -> NodeId {
        self.path(|index, id| index.node(id).family < family).1
    }

    /// Returns the last node of the column family, or of an earlier column family.
    pub fn last_of(&self, family: FamilyId) -> NodeId {
        self.path(|index, id| index.node(id).family <= family).0[0]
    }

    fn compare(&self, id: NodeId, family: FamilyId, key: &[u8], keys: Keys<'_>) -> Ordering {
        let node = self.node(id);
        node.family
            .cmp(&family)
            .then_with(|| keys.orders.of(family).compare_stripped(self.key(id, keys.bytes), key))
    }

    /// Returns the last node of each level that is `before` the target ([`NIL`]: the head), and the target on level 0.
    fn path(&self, before: impl Fn(&Self, NodeId) -> bool) -> ([NodeId; HEIGHT_MAX], NodeId) {
        let mut path = [NIL; HEIGHT_MAX];
        let mut at = NIL;
        let mut next = NIL;
        for level in (0..self.head.len()).rev() {
            next = self.link(at, level);
            while next != NIL && before(self, next) {
                at = next;
                next = self.link(at, level);
            }
            path[level] = at;
        }
        (path, next)
    }

    fn link(&self, from: NodeId, level: usize) -> NodeId {
        if from == NIL {
            return self.head.get(level).copied().unwrap_or(NIL);
        }
        let node = self.node(from);
        debug_assert!(level < node.height as usize);
        self.links[node.links_at + level]
    }

    fn set_link(&mut self, from: NodeId, level: usize, to: NodeId) {
        if from == NIL {
            self.head[level] = to;
        } else {
            let at = self.node(from).links_at + level;
            self.links[at] = to;
        }
    }
}

/// The height of a node: one node in four is on the next level. The number of the node decides, so a batch is built
/// the same way in every run.
fn height_of(id: NodeId) -> usize {
    let mixed = (u64::from(id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let zeros = (mixed ^ (mixed >> 32)).trailing_zeros() as usize / 2;
    (zeros + 1).min(HEIGHT_MAX)
}
