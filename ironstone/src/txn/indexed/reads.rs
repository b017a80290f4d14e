//! The reads of [`WriteBatchWithIndex`]: of the batch alone, and of the database as if the batch were written.

use base::{FamilyId, Pinned, Result};
use engine::source::WideColumns;
use engine::source::resolve::Found;

use super::cursor::KeyCursor;
use super::{
    BaseDeltaIter, RecordIter, WriteBatchWithIndex, get_entity_over, get_over, iter_over, lookup,
    multi_get_entity_over, multi_get_over,
};
use crate::{Family, ReadOptions};

impl WriteBatchWithIndex {
    /// Returns the value that the batch gives to a key of the default column family; `None` if the batch has no record
    /// of the key or deletes the key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put(b"a", b"1")?;
    /// assert_eq!(batch.get_from_batch(b"a")?, None); // only the batch is read
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// MergeInProgress if the batch has merge operands and no value of the key. InvalidArgument if operands must be
    /// merged: use [`WriteBatchWithIndex::get_from_batch_in`], which knows the merge operator.
    pub fn get_from_batch(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.find_alone(None, FamilyId::DEFAULT, key)?.map(Found::into_plain).transpose()
    }

    /// Returns the value that the batch gives to a key; `None` if the batch has no record of the key or deletes the key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put_in(&family, b"k", b"1")?;
    /// assert_eq!(batch.get_from_batch_in(&family, b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// MergeInProgress if the batch has merge operands and no value of the key. InvalidArgument if operands must be
    /// merged and the column family has no merge operator. The error of the merge operator.
    pub fn get_from_batch_in(&self, family: &Family, key: &[u8]) -> Result<Option<Pinned>> {
        self.find_alone(Some(family), family.id(), key)?.map(Found::into_plain).transpose()
    }

    fn find_alone(&self, family: Option<&Family>, id: FamilyId, key: &[u8]) -> Result<Option<Found>> {
        let latest = self.core.lock().latest(id, key)?;
        if latest.needs_database() && !latest.is_unknown() {
            return Err(lookup::merge_in_progress());
        }
        latest.resolve(family, key, None)
    }

    /// Returns the value of a key as if the batch were written.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put(b"a", b"1")?;
    /// let value = batch.get_from_batch_and_db(&family, b"a", &ReadOptions::default())?;
    /// assert_eq!(value.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Family::get_with`]; InvalidArgument if the column family has timestamps and `options` has
    /// none, or if operands must be merged and there is no merge operator.
    pub fn get_from_batch_and_db(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        get_over(&self.core, family, key, options)
    }

    /// Returns the values of several keys as if the batch were written, in the order of `keys`. All values of the database
    /// belong to one sequence number.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put(b"a", b"1")?;
    /// batch.put(b"b", b"2")?;
    /// let values = batch.multi_get_from_batch_and_db(&family, &[b"a", b"b"], &ReadOptions::default());
    /// assert!(values.iter().all(|value| value.as_ref().unwrap().is_some()));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_from_batch_and_db(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Pinned>>> {
        multi_get_over(&self.core, family, keys, options)
    }

    /// Returns the columns that the batch gives to a key; `None` if the batch has no record of the key or deletes the key. A
    /// plain value is one column with the empty name. RocksDB: `GetEntityFromBatch`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteBatchWithIndex};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put_entity_in(&family, b"k", &[(b"color", b"red")])?;
    /// let columns = batch.get_entity_from_batch_in(&family, b"k")?.unwrap();
    /// assert_eq!(columns.get(b"color"), Some(&b"red"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::get_from_batch_in`]; Corruption if an entity does not decode.
    pub fn get_entity_from_batch_in(&self, family: &Family, key: &[u8]) -> Result<Option<WideColumns>> {
        self.find_alone(Some(family), family.id(), key)?.map(WideColumns::new).transpose()
    }

    /// Returns the columns of a key as if the batch were written. RocksDB: `GetEntityFromBatchAndDB`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put_entity(b"k", &[(b"color", b"red")])?;
    /// batch.put(b"plain", b"1")?;
    /// let read = |key: &[u8]| batch.get_entity_from_batch_and_db(&family, key, &ReadOptions::default());
    /// assert_eq!(read(b"k")?.unwrap().get(b"color"), Some(&b"red"[..]));
    /// assert_eq!(read(b"plain")?.unwrap().default_column(), b"1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::get_from_batch_and_db`]; Corruption if an entity does not decode.
    pub fn get_entity_from_batch_and_db(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<WideColumns>> {
        get_entity_over(&self.core, family, key, options)
    }

    /// Returns the columns of several keys as if the batch were written, in the order of `keys`. All columns of the database
    /// belong to one sequence number. RocksDB: `MultiGetEntityFromBatchAndDB`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put_entity(b"a", &[(b"color", b"red")])?;
    /// batch.put_entity_in(&family, b"b", &[(b"color", b"blue")])?;
    /// let found = batch.multi_get_entity_from_batch_and_db(&family, &[b"a", b"b"], &ReadOptions::default());
    /// assert!(found.iter().all(|columns| columns.as_ref().unwrap().as_ref().unwrap().len() == 1));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_entity_from_batch_and_db(
        &self,
        family: &Family,
        keys: &[&[u8]],
        options: &ReadOptions,
    ) -> Vec<Result<Option<WideColumns>>> {
        multi_get_entity_over(&self.core, family, keys, options)
    }

    /// Returns an iterator over the records of the default column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// let mut iter = batch.iter();
    /// iter.seek(b"a");
    /// assert_eq!(iter.key(), b"k");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter(&self) -> RecordIter {
        RecordIter::new(self.core.clone(), FamilyId::DEFAULT)
    }

    /// Returns an iterator over the records of a column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// let mut iter = batch.iter_in(&family);
    /// iter.seek_to_first();
    /// assert!(!iter.valid()); // the batch is empty
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_in(&self, family: &Family) -> RecordIter {
        RecordIter::new(self.core.clone(), family.id())
    }

    /// Returns an iterator over a column family as if the batch were written. The bounds of `options` hold for the batch
    /// too.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put(b"a", b"1")?;
    /// batch.put(b"b", b"2")?;
    /// let mut iter = batch.iter_with_base(&family, ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`].
    pub fn iter_with_base(&self, family: &Family, options: ReadOptions) -> Result<BaseDeltaIter> {
        iter_over(&self.core, family, options)
    }

    /// Returns an iterator over `base` as if the batch were written. `base` is an iterator over `family`. The batch shows the
    /// keys in `[lower, upper)`; `None` is no bound.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex};
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// let base = db.iter_with(ReadOptions::default())?;
    /// let mut iter = batch.iter_over_base(&db, base, None, None);
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_over_base(
        &self,
        family: &Family,
        base: crate::Iter,
        lower: Option<Vec<u8>>,
        upper: Option<Vec<u8>>,
    ) -> BaseDeltaIter {
        let order = family.inner().order().user.clone();
        self.core.lock().orders_of(family.id(), &order);
        let delta = KeyCursor::new(self.core.clone(), family.id(), lower, upper);
        BaseDeltaIter::new(base, delta, order, family.clone())
    }
}
