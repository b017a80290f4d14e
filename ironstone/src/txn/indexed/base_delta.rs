//! An iterator over a database that shows the database as if a write batch were already written.
//!
//! ```text
//!  database (base)   a=1        c=3   d=4
//!  batch (delta)           b=2  c=✗   d+5
//!  shown             a=1   b=2        d=9
//! ```
//! Invariant while valid: in the direction of the iteration, both iterators stand at or after the current key, and the
//! current key is the first of the two. A change of direction seeks both iterators again.
//! Facts: RocksDB `write_batch_with_index_internal.cc` (`BaseDeltaIterator`).

use std::cmp::Ordering;

use base::iter::Direction;
use base::{Error, Order, Pinned, Result};
use engine::source::WideColumns;
use engine::source::resolve::{Found, default_column};
use env::sync::Arc;

use super::cursor::KeyCursor;
use crate::groups::{Source, Step, go};
use crate::{Family, Iter};

/// An iterator over a column family with the writes of a [`crate::WriteBatchWithIndex`] or a transaction on top.
///
/// The iterator reads the database at one sequence number. It shows all writes of the batch, also writes that are
/// added later. The iterator is not valid before its first `seek`. It stays usable after the batch or transaction is
/// dropped.
///
/// ```
/// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
/// let db = Db::open("data", Options::in_memory())?;
/// db.put(b"a", b"1")?;
/// db.put(b"c", b"3")?;
/// let mut batch = WriteBatchWithIndex::new();
/// batch.put(b"b", b"2")?;
/// batch.delete(b"c")?;
/// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
/// iter.seek_to_first();
/// let mut keys = Vec::new();
/// while iter.valid() {
///     keys.push(iter.key().to_vec());
///     iter.next();
/// }
/// iter.status()?;
/// assert_eq!(keys, [b"a", b"b"]); // the batch adds b and deletes c
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct BaseDeltaIter {
    base: Iter,
    delta: KeyCursor,
    order: Order,
    /// The column family whose merge operator applies. `None`: the iterator rejects merges.
    family: Option<Family>,
    direction: Direction,
    current: Current,
    failure: Option<Error>,
    /// The end of each stored value of the column family. The values of the batch get this suffix.
    suffix: Vec<u8>,
    /// Counts the open iterators of a transaction.
    _holds: Option<Arc<()>>,
}

/// The source of the current entry.
enum Current {
    None,
    Base,
    /// The batch. `shadows_base` is true if the base iterator stands on the same key.
    Delta {
        value: Pinned,
        entity: Option<Pinned>,
        shadows_base: bool,
    },
}

impl BaseDeltaIter {
    pub(super) fn new(base: Iter, delta: KeyCursor, order: Order, family: Family) -> Self {
        let (direction, current) = (Direction::Forward, Current::None);
        let (family, suffix) = (Some(family), Vec::new());
        BaseDeltaIter { base, delta, order, family, direction, current, failure: None, suffix, _holds: None }
    }

    /// Rejects merges of the batch: at a key that needs a merge operator, the iterator ends with InvalidArgument. This is the
    /// behaviour of RocksDB's `NewIteratorWithBase` without a column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"a", b"1")?;
    /// batch.merge(b"b", b"2")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?.rejecting_merges();
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// iter.next();
    /// assert!(!iter.valid() && iter.status().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn rejecting_merges(self) -> Self {
        BaseDeltaIter { family: None, ..self }
    }

    /// Appends a suffix to the values of the batch.
    pub(super) fn with_suffix(self, suffix: &[u8]) -> Self {
        BaseDeltaIter { suffix: suffix.to_vec(), ..self }
    }

    /// Keeps `holds` as long as the iterator lives.
    pub(in crate::txn) fn holding(self, holds: Arc<()>) -> Self {
        BaseDeltaIter { _holds: Some(holds), ..self }
    }

    /// Returns true if the iterator stands on an entry.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// assert!(!iter.valid()); // not positioned yet
    /// iter.seek_to_first();
    /// assert!(iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn valid(&self) -> bool {
        !matches!(self.current, Current::None)
    }

    /// Returns `Ok` at either end of the data.
    ///
    /// # Errors
    /// The error that ended the iteration: of the database, or of a merge.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"z");
    /// assert!(!iter.valid());
    /// iter.status()?; // the end of the data is no error
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn status(&self) -> Result<()> {
        match &self.failure {
            Some(error) => Err(error.clone()),
            None => self.base.status(),
        }
    }

    /// Returns the current key, without timestamp. Empty if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key(&self) -> &[u8] {
        match &self.current {
            Current::None => &[],
            Current::Base => self.base.key(),
            Current::Delta { .. } => self.delta.key(),
        }
    }

    /// Returns the current value; of an entity the default column. Empty if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"b");
    /// assert_eq!(iter.value(), b"2");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value(&self) -> &[u8] {
        match &self.current {
            Current::None => &[],
            Current::Base => self.base.value(),
            Current::Delta { value, .. } => value,
        }
    }

    /// Returns the current value. The value stays readable after the next move.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"b");
    /// let value = iter.pinned_value();
    /// iter.prev();
    /// assert_eq!(&value[..], b"2");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn pinned_value(&self) -> Pinned {
        match &self.current {
            Current::None => Pinned::copy(&[]),
            Current::Base => self.base.pinned_value(),
            Current::Delta { value, .. } => value.clone(),
        }
    }

    /// Returns the columns of the current entry as (name, value), if the entry is a wide-column entity.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"b");
    /// assert!(iter.columns().is_none()); // a plain value
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn columns(&self) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        match &self.current {
            Current::None => None,
            Current::Base => self.base.columns(),
            Current::Delta { entity, .. } => {
                let columns = format::wide::decode(entity.as_ref()?).ok()?;
                Some(columns.iter().map(|c| (c.name.to_vec(), c.value.to_vec())).collect())
            }
        }
    }

    /// Returns the columns of the current entry. A plain value is one column without a name.
    ///
    /// # Errors
    /// InvalidArgument if the iterator is not valid; Corruption if an entity does not decode.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"b");
    /// assert_eq!(iter.wide_columns()?.get(b""), Some(&b"2"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn wide_columns(&self) -> Result<WideColumns> {
        match &self.current {
            Current::None => Err(Error::invalid_argument("the iterator is not valid")),
            Current::Base => self.base.wide_columns(),
            Current::Delta { entity: Some(entity), .. } => WideColumns::new(Found::Entity(entity.clone())),
            Current::Delta { value, .. } => WideColumns::new(Found::Value(value.clone())),
        }
    }

    /// Returns the timestamp of the current entry. Empty for entries of the batch, and without timestamps.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"b");
    /// assert!(iter.timestamp().is_empty()); // the column family has no timestamps
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn timestamp(&self) -> &[u8] {
        if matches!(self.current, Current::Base) { self.base.timestamp() } else { &[] }
    }

    /// Moves to the first key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_first(&mut self) {
        self.position(Direction::Forward, |base| base.seek_to_first(), KeyCursor::seek_to_first);
    }

    /// Moves to the last key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_last(&mut self) {
        self.position(Direction::Backward, |base| base.seek_to_last(), KeyCursor::seek_to_last);
    }

    /// Moves to the first key at or after `target`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek(b"aa");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek(&mut self, target: &[u8]) {
        self.position(Direction::Forward, |base| base.seek(target), |delta| delta.seek(target));
    }

    /// Moves to the last key at or before `target`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_for_prev(b"bb");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        let seek = |base: &mut Iter| base.seek_for_prev(target);
        self.position(Direction::Backward, seek, |delta| delta.seek_for_prev(target));
    }

    /// Moves to the next key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_to_first();
    /// iter.next();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn next(&mut self) {
        self.step(Direction::Forward);
    }

    /// Moves to the previous key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// batch.delete(b"c")?;
    /// let mut iter = batch.iter_with_base(&db, ReadOptions::default())?;
    /// iter.seek_to_last();
    /// iter.prev();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prev(&mut self) {
        self.step(Direction::Backward);
    }

    fn position(
        &mut self,
        direction: Direction,
        base: impl FnOnce(&mut Iter),
        delta: impl FnOnce(&mut KeyCursor),
    ) {
        self.direction = direction;
        self.failure = None;
        base(&mut self.base);
        delta(&mut self.delta);
        self.settle();
    }

    fn step(&mut self, direction: Direction) {
        let (base_moves, delta_moves) = match &self.current {
            Current::None => return,
            Current::Base => (true, false),
            Current::Delta { shadows_base, .. } => (*shadows_base, true),
        };
        if direction != self.direction {
            return self.turn(direction);
        }
        if base_moves {
            self.advance_base();
        }
        if delta_moves {
            self.advance_delta();
        }
        self.settle();
    }

    /// Continues in the other direction: seeks both iterators to the current key and moves both past the key.
    fn turn(&mut self, direction: Direction) {
        let key = self.key().to_vec();
        self.direction = direction;
        match direction {
            Direction::Forward => {
                self.base.seek(&key);
                self.delta.seek(&key);
            }
            Direction::Backward => {
                self.base.seek_for_prev(&key);
                self.delta.seek_for_prev(&key);
            }
        }
        if self.base.valid() && self.order.compare_stripped(self.base.key(), &key).is_eq() {
            self.advance_base();
        }
        if self.delta.valid() && self.order.compare_stripped(self.delta.key(), &key).is_eq() {
            self.advance_delta();
        }
        self.settle();
    }

    fn advance_base(&mut self) {
        match self.direction {
            Direction::Forward => self.base.next(),
            Direction::Backward => self.base.prev(),
        }
    }

    fn advance_delta(&mut self) {
        match self.direction {
            Direction::Forward => self.delta.next(),
            Direction::Backward => self.delta.prev(),
        }
    }

    /// Finds the first visible key, from the positions of the two iterators.
    fn settle(&mut self) {
        loop {
            self.current = Current::None;
            if self.base.status().is_err() {
                return;
            }
            let order = match (self.base.valid(), self.delta.valid()) {
                (false, false) => return,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (true, true) => self.order.compare_stripped(self.delta.key(), self.base.key()),
            };
            let order = match self.direction {
                Direction::Backward if self.base.valid() && self.delta.valid() => order.reverse(),
                _ => order,
            };
            if order.is_gt() {
                self.current = Current::Base;
                return;
            }
            match self.from_delta(order.is_eq()) {
                Ok(Some(current)) => {
                    self.current = current;
                    return;
                }
                Ok(None) => {
                    if order.is_eq() {
                        self.advance_base();
                    }
                    self.advance_delta();
                }
                Err(error) => {
                    self.failure = Some(error);
                    return;
                }
            }
        }
    }

    /// Returns the entry of the batch at the current key; `None` if the batch deletes the key.
    fn from_delta(&self, shadows_base: bool) -> Result<Option<Current>> {
        let latest = self.delta.latest()?.with_suffix(&self.suffix)?;
        if latest.is_deleted() || (latest.is_unknown() && !shadows_base) {
            return Ok(None);
        }
        let existing =
            if shadows_base && latest.needs_database() { Some(self.found_in_base()?) } else { None };
        let found = latest.resolve(self.family.as_ref(), self.delta.key(), existing)?;
        Ok(match found {
            None => None,
            Some(Found::Value(value)) => Some(Current::Delta { value, entity: None, shadows_base }),
            Some(Found::Entity(entity)) => {
                let value = default_column(entity.clone())?;
                Some(Current::Delta { value, entity: Some(entity), shadows_base })
            }
        })
    }

    /// Returns the entry at the base iterator, in the form for a merge.
    fn found_in_base(&self) -> Result<Found> {
        let Some(columns) = self.base.columns() else { return Ok(Found::Value(self.base.pinned_value())) };
        let columns: Vec<_> = columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
        let mut entity = Vec::new();
        format::wide::encode(&columns, &mut entity)?;
        Ok(Found::Entity(Pinned::from_vec(entity)))
    }
}

impl Source for BaseDeltaIter {
    fn valid(&self) -> bool {
        BaseDeltaIter::valid(self)
    }

    fn status(&self) -> Result<()> {
        BaseDeltaIter::status(self)
    }

    fn key(&self) -> &[u8] {
        BaseDeltaIter::key(self)
    }

    fn wide_columns(&self) -> Result<WideColumns> {
        BaseDeltaIter::wide_columns(self)
    }

    fn go(&mut self, step: Step<'_>) {
        go!(self, step);
    }
}
