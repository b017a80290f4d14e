//! Positions in an indexed write batch: by record, and by key.
//!
//! A position is a node and the epoch in which the position was taken. Later writes add nodes, and the position stays
//! valid. A rollback or `clear` changes the epoch. The next use of the position then seeks its key again.

use base::{FamilyId, Result, ValueType};
use env::sync::{Arc, Mutex};

use super::core::Core;
use super::index::{NIL, NodeId};
use super::lookup::Latest;

/// The effect of a record of an indexed write batch on its key.
///
/// ```
/// use ironstone::{WriteBatchWithIndex, WriteType};
///
/// let mut batch = WriteBatchWithIndex::new();
/// batch.merge(b"k", b"1")?;
/// let mut iter = batch.iter();
/// iter.seek_to_first();
/// assert_eq!(iter.write_type(), Some(WriteType::Merge));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteType {
    /// Sets the value of the key.
    Put,
    /// Adds a merge operand to the key.
    Merge,
    /// Deletes the key.
    Delete,
    /// Deletes the key, which was written once.
    SingleDelete,
    /// Sets the columns of the key.
    PutEntity,
}

/// An iterator over the records of one column family in a write batch: by key, and for one key newest record first.
///
/// The iterator sees records that are added later. It stays usable after the batch is dropped. In overwrite mode it
/// skips records that a later record replaces. RocksDB: `WBWIIterator`.
///
/// ```
/// use ironstone::{WriteBatchWithIndex, WriteType};
///
/// let mut batch = WriteBatchWithIndex::new();
/// batch.put(b"b", b"1")?;
/// batch.delete(b"a")?;
/// let mut iter = batch.iter();
/// iter.seek_to_first();
/// assert_eq!((iter.write_type(), iter.key()), (Some(WriteType::Delete), &b"a"[..]));
/// iter.next();
/// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct RecordIter {
    core: Arc<Mutex<Core>>,
    family: FamilyId,
    place: CursorPosition,
    kind: Option<WriteType>,
    value: Vec<u8>,
}

/// A position: a node of the column family with its key, or no node.
#[derive(Default)]
pub(super) struct CursorPosition {
    node: Option<NodeId>,
    epoch: u64,
    pub key: Vec<u8>,
}

impl CursorPosition {
    fn set(&mut self, core: &Core, family: FamilyId, id: NodeId) {
        self.node = (id != NIL && core.index.node(id).family == family).then_some(id);
        self.epoch = core.epoch;
        if self.node.is_some() {
            self.key.clear();
            self.key.extend_from_slice(core.index.key(id, core.batch.bytes()));
        }
    }

    /// Returns true if the position is at a node. The result stays true if a rollback removes the node.
    pub fn valid(&self) -> bool {
        self.node.is_some()
    }

    /// Returns the node. If nodes were removed since, seeks the key again.
    fn current(&self, core: &Core, family: FamilyId) -> NodeId {
        match self.node {
            Some(id) if self.epoch == core.epoch => id,
            Some(_) => core.index.lower_bound(family, &self.key, core.keys()),
            None => NIL,
        }
    }
}

impl RecordIter {
    pub(super) fn new(core: Arc<Mutex<Core>>, family: FamilyId) -> Self {
        RecordIter { core, family, place: CursorPosition::default(), kind: None, value: Vec::new() }
    }

    /// Returns true if the iterator stands on a record.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// assert!(!iter.valid());
    /// iter.seek_to_first();
    /// assert!(iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn valid(&self) -> bool {
        self.kind.is_some()
    }

    /// Returns the type of the current record; `None` if the iterator is not valid.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_first();
    /// assert_eq!(iter.write_type(), Some(ironstone::WriteType::Put));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn write_type(&self) -> Option<WriteType> {
        self.kind
    }

    /// Returns the key of the current record, without timestamp. Empty if the iterator is not valid.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key(&self) -> &[u8] {
        if self.valid() { &self.place.key } else { &[] }
    }

    /// Returns the value, merge operand or encoded entity of the current record. Empty for deletions, and if the
    /// iterator is not valid.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_first();
    /// assert_eq!(iter.value(), b"1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Moves to the first record.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_first(&mut self) {
        let core = self.core.clone();
        let core = core.lock();
        self.show_forward(&core, core.index.first_of(self.family));
    }

    /// Moves to the last record.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_last(&mut self) {
        let core = self.core.clone();
        let core = core.lock();
        self.show_backward(&core, core.index.last_of(self.family));
    }

    /// Moves to the newest record of the first key at or after `key`.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek(b"aa");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek(&mut self, key: &[u8]) {
        let core = self.core.clone();
        let core = core.lock();
        self.show_forward(&core, core.index.lower_bound(self.family, key, core.keys()));
    }

    /// Moves to the oldest record of the last key at or before `key`.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_for_prev(b"aa");
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        let core = self.core.clone();
        let core = core.lock();
        self.show_backward(&core, core.index.last_at_or_before(self.family, key, core.keys()));
    }

    /// Moves to the next record. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_first();
    /// iter.next();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn next(&mut self) {
        if self.valid() {
            let core = self.core.clone();
            let core = core.lock();
            let at = self.place.current(&core, self.family);
            let next = if at == NIL { NIL } else { core.index.next(at) };
            self.show_forward(&core, next);
        }
    }

    /// Moves to the previous record. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # let mut batch = ironstone::WriteBatchWithIndex::new();
    /// # batch.put(b"a", b"1")?;
    /// # batch.delete(b"b")?;
    /// # let mut iter = batch.iter(); // put a, delete b
    /// iter.seek_to_last();
    /// iter.prev();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prev(&mut self) {
        if self.valid() {
            let core = self.core.clone();
            let core = core.lock();
            let at = self.place.current(&core, self.family);
            let prev = if at == NIL { core.index.last_of(self.family) } else { core.index.prev(at) };
            self.show_backward(&core, prev);
        }
    }

    fn show_forward(&mut self, core: &Core, mut id: NodeId) {
        while id != NIL && core.index.node(id).hidden {
            id = core.index.next(id);
        }
        self.show(core, id);
    }

    fn show_backward(&mut self, core: &Core, mut id: NodeId) {
        while id != NIL && core.index.node(id).hidden {
            id = core.index.prev(id);
        }
        self.show(core, id);
    }

    fn show(&mut self, core: &Core, id: NodeId) {
        self.place.set(core, self.family, id);
        self.value.clear();
        self.kind = None;
        let Some(id) = self.place.node else { return };
        // The batch encoded the record itself, so the record decodes.
        let Ok(record) = core.record(id) else { return };
        let Some((value_type, _, value)) = record.entry() else { return };
        self.value.extend_from_slice(value);
        self.kind = match value_type {
            ValueType::Value => Some(WriteType::Put),
            ValueType::Merge => Some(WriteType::Merge),
            ValueType::Deletion => Some(WriteType::Delete),
            ValueType::SingleDeletion => Some(WriteType::SingleDelete),
            ValueType::WideColumnEntity => Some(WriteType::PutEntity),
            _ => None,
        };
    }
}

/// A position that moves from key to key, within bounds.
pub(super) struct KeyCursor {
    core: Arc<Mutex<Core>>,
    family: FamilyId,
    place: CursorPosition,
    /// The first key that the cursor shows. `upper` is the first key that it does not show.
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl KeyCursor {
    /// Makes a cursor over the keys of one column family in `[lower, upper)`. `None`: no bound. The cursor is
    /// not valid until its first seek.
    pub fn new(
        core: Arc<Mutex<Core>>,
        family: FamilyId,
        lower: Option<Vec<u8>>,
        upper: Option<Vec<u8>>,
    ) -> Self {
        KeyCursor { core, family, place: CursorPosition::default(), lower, upper }
    }

    /// Returns true if the cursor is at a key within the bounds.
    pub fn valid(&self) -> bool {
        self.place.valid()
    }

    /// Returns the current key, without timestamp. The key has no meaning if the cursor is not valid.
    pub fn key(&self) -> &[u8] {
        &self.place.key
    }

    /// Moves to the first key within the bounds. If there is no key, the cursor is not valid.
    pub fn seek_to_first(&mut self) {
        match self.lower.clone() {
            Some(lower) => self.seek(&lower),
            None => self.go(|core, family, _| core.index.first_of(family)),
        }
    }

    /// Moves to the last key within the bounds. If there is no key, the cursor is not valid.
    pub fn seek_to_last(&mut self) {
        let upper = self.upper.clone();
        self.go(|core, family, _| match &upper {
            Some(upper) => before(core, core.index.lower_bound(family, upper, core.keys())),
            None => core.index.last_of(family),
        });
    }

    /// Moves to the first key at or after `key`. A `key` before the lower bound counts as the lower bound.
    pub fn seek(&mut self, key: &[u8]) {
        self.go(|core, family, cursor| {
            let from = match &cursor.lower {
                Some(lower) if core.orders.of(family).compare_stripped(key, lower).is_lt() => lower,
                _ => key,
            };
            core.index.lower_bound(family, from, core.keys())
        });
    }

    /// Moves to the last key at or before `key`. If `key` is at or after the upper bound, moves to the last
    /// key before the bound.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.go(|core, family, cursor| match &cursor.upper {
            Some(upper) if core.orders.of(family).compare_stripped(key, upper).is_ge() => {
                before(core, core.index.lower_bound(family, upper, core.keys()))
            }
            _ => core.index.last_at_or_before(family, key, core.keys()),
        });
    }

    /// Moves to the next key.
    pub fn next(&mut self) {
        self.go(|core, family, cursor| {
            let mut id = cursor.place.current(core, family);
            while core.is_of(id, family, &cursor.place.key) {
                id = core.index.next(id);
            }
            id
        });
    }

    /// Moves to the previous key.
    pub fn prev(&mut self) {
        self.go(|core, family, cursor| {
            let mut id = cursor.place.current(core, family);
            if !core.is_of(id, family, &cursor.place.key) {
                // A rollback removed the key: `id` is the first node after the key.
                return before(core, id);
            }
            while core.is_of(id, family, &cursor.place.key) {
                id = core.index.prev(id);
            }
            id
        });
    }

    /// Returns the state of the current key in the batch.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub fn latest(&self) -> Result<Latest> {
        self.core.lock().latest(self.family, &self.place.key)
    }

    fn go(&mut self, find: impl FnOnce(&Core, FamilyId, &Self) -> NodeId) {
        let core = self.core.clone();
        let core = core.lock();
        let id = find(&core, self.family, self);
        self.place.set(&core, self.family, id);
        let order = core.orders.of(self.family);
        let below = self.lower.as_ref().is_some_and(|l| order.compare_stripped(&self.place.key, l).is_lt());
        let above = self.upper.as_ref().is_some_and(|u| order.compare_stripped(&self.place.key, u).is_ge());
        if below || above {
            self.place.node = None;
        }
    }
}

/// Returns the node before `id`. If `id` is [`NIL`], returns the last node of the list.
fn before(core: &Core, id: NodeId) -> NodeId {
    if id == NIL { core.index.last_of(FamilyId::new(u32::MAX)) } else { core.index.prev(id) }
}
