//! [`WriteBatchWithIndex`]: a write batch that can be read before it is written.
//!
//! This file has the calls that write to the batch. `core` holds the batch and its index, and `index` is the sorted
//! index. `lookup` reads one key, `read` combines the batch with the database, and `cursor` and `base_delta` iterate.
//! `reads` has the public calls of these four modules. Not here: locks and conflicts (`txn::locks`, `txn::optimistic`),
//! which use the batch.

mod base_delta;
mod core;
mod cursor;
mod index;
mod lookup;
mod read;
mod reads;
#[cfg(test)]
mod tests;

pub use base_delta::BaseDeltaIter;
pub use cursor::{RecordIter, WriteType};

pub(in crate::txn) use self::core::{Core, Indexing, Target, Write};
pub(in crate::txn) use read::{
    get_entity_over, get_over, iter_over, iters_over, multi_find_over, multi_get_entity_over, multi_get_over,
};

use base::{FamilyId, Order, Result};
use engine::batch::WriteBatch;
use engine::options::WriteOptions;
use env::sync::{Arc, Mutex};

use crate::wide::encode_entity;
use crate::{Db, Family};

/// A write batch with a sorted index of its records, so that the batch can be read and iterated before it is written.
///
/// A read or an iterator can also combine the batch with the database: it then shows the database as if the batch were
/// written. Range deletions are not supported, as in RocksDB. A record costs one entry of the index (about 60 bytes) and
/// no allocation of its own; writing costs `O(log n)` key comparisons.
///
/// ```
/// use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
///
/// let db = Db::open("data", Options::in_memory())?;
/// db.put(b"a", b"1")?;
/// let mut batch = WriteBatchWithIndex::new();
/// batch.put(b"b", b"2")?;
/// batch.delete(b"a")?;
///
/// let family = db.default_family();
/// assert_eq!(batch.get_from_batch(b"b")?.as_deref(), Some(&b"2"[..]));
/// assert_eq!(batch.get_from_batch_and_db(&family, b"a", &ReadOptions::default())?, None);
///
/// let mut iter = batch.iter_with_base(&family, ReadOptions::default())?;
/// iter.seek_to_first();
/// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
/// batch.write(&db, &WriteOptions::default())?;
/// assert_eq!(db.get(b"a")?, None);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct WriteBatchWithIndex {
    core: Arc<Mutex<Core>>,
}

/// Options of a [`WriteBatchWithIndex`].
///
/// ```
/// use ironstone::{WriteBatchWithIndex, WriteBatchWithIndexOptions};
///
/// let options = WriteBatchWithIndexOptions { max_bytes: 40, ..WriteBatchWithIndexOptions::default() };
/// let mut batch = WriteBatchWithIndex::with_options(options);
/// batch.put(b"k", b"v")?;
/// assert!(batch.put(b"large", &[0; 40]).is_err());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteBatchWithIndexOptions {
    /// The order of the keys of column families that are written without a [`Family`]. Default: bytewise. RocksDB:
    /// `backup_index_comparator`.
    pub order: Order,
    /// The bytes that are allocated for records at the start. Default 0.
    pub reserved_bytes: usize,
    /// If set, an iterator over the batch shows only the newest record of a key. Merge operands, and the record
    /// before a merge operand, are shown in both modes. Default false.
    pub overwrite_key: bool,
    /// The largest size of the batch in bytes. A write that would exceed this size fails. Default 0: no limit.
    pub max_bytes: usize,
}

impl Default for WriteBatchWithIndex {
    fn default() -> Self {
        WriteBatchWithIndex::new()
    }
}

impl WriteBatchWithIndex {
    /// Makes an empty batch with default options.
    ///
    /// ```
    /// use ironstone::WriteBatchWithIndex;
    ///
    /// let batch = WriteBatchWithIndex::new();
    /// assert_eq!(batch.count(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn new() -> Self {
        WriteBatchWithIndex::with_options(WriteBatchWithIndexOptions::default())
    }

    /// Makes an empty batch.
    ///
    /// ```
    /// use ironstone::{WriteBatchWithIndex, WriteBatchWithIndexOptions};
    ///
    /// let options = WriteBatchWithIndexOptions { reserved_bytes: 4096, ..WriteBatchWithIndexOptions::default() };
    /// let mut batch = WriteBatchWithIndex::with_options(options);
    /// batch.put(b"k", b"v")?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn with_options(options: WriteBatchWithIndexOptions) -> Self {
        let WriteBatchWithIndexOptions { order, reserved_bytes, overwrite_key, max_bytes } = options;
        let core = Core::new(order, overwrite_key, reserved_bytes, max_bytes);
        WriteBatchWithIndex { core: Arc::new(Mutex::new(core)) }
    }

    /// Sets the value of a key of the default column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// assert_eq!(batch.get_from_batch(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if the key or value is too large; Aborted with `MemoryLimit` if the batch would exceed
    /// `max_bytes`. The batch is then unchanged.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write_default(key, Write::Put(value))
    }

    /// Sets the value of a key. In a column family with timestamps, the commit of a transaction sets the timestamp.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put_in(&family, b"k", b"1")?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn put_in(&mut self, family: &Family, key: &[u8], value: &[u8]) -> Result<()> {
        self.write_in(family, key, Write::Put(value))
    }

    /// Sets the columns of a key. The columns may come in any order. RocksDB: `PutEntity`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put_entity_in(&family, b"k", &[(b"color", b"red")])?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`]; Corruption if two columns have the same name.
    pub fn put_entity_in(&mut self, family: &Family, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let entity = encode_entity(columns)?;
        self.write_in(family, key, Write::Entity(&entity))
    }

    /// Deletes a key of the default column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// db.put(b"k", b"1")?;
    /// batch.delete(b"k")?;
    /// assert_eq!(batch.get_from_batch_and_db(&family, b"k", &ReadOptions::default())?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write_default(key, Write::Delete)
    }

    /// Deletes a key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.delete_in(&family, b"k")?;
    /// assert_eq!(batch.get_from_batch_in(&family, b"k")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn delete_in(&mut self, family: &Family, key: &[u8]) -> Result<()> {
        self.write_in(family, key, Write::Delete)
    }

    /// Deletes a key of the default column family that was put exactly once since its last deletion. For other keys the
    /// result is undefined.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.single_delete(b"k")?;
    /// assert_eq!(batch.get_from_batch(b"k")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.write_default(key, Write::SingleDelete)
    }

    /// Deletes a key that was put exactly once since its last deletion. For other keys the result is undefined.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.single_delete_in(&family, b"k")?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn single_delete_in(&mut self, family: &Family, key: &[u8]) -> Result<()> {
        self.write_in(family, key, Write::SingleDelete)
    }

    /// Adds a merge operand to a key of the default column family.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// batch.merge(b"k", b"2")?;
    /// assert_eq!(batch.count(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.write_default(key, Write::Merge(operand))
    }

    /// Adds a merge operand to a key.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.merge_in(&family, b"k", b"2")?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::put`].
    pub fn merge_in(&mut self, family: &Family, key: &[u8], operand: &[u8]) -> Result<()> {
        self.write_in(family, key, Write::Merge(operand))
    }

    /// Adds bytes that are written only to the WAL.
    ///
    /// # Errors
    /// Aborted with `MemoryLimit` if the batch would exceed its largest size. The batch is then unchanged.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put_log_data(b"request 17")?;
    /// assert_eq!(batch.count(), 0); // no entry of the database
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_log_data(&mut self, blob: &[u8]) -> Result<()> {
        self.core.lock().put_log_data(blob)
    }

    fn write_default(&mut self, key: &[u8], write: Write<'_>) -> Result<()> {
        let mut core = self.core.lock();
        let order = core.default_order();
        core.write(Target { family: FamilyId::DEFAULT, order: &order }, key, write, Indexing::On)
    }

    fn write_in(&mut self, family: &Family, key: &[u8], write: Write<'_>) -> Result<()> {
        self.core.lock().write(target(family), key, write, Indexing::On)
    }

    /// Returns the number of puts, deletions and merge operands.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"a", b"1")?;
    /// batch.delete(b"b")?;
    /// assert_eq!(batch.count(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn count(&self) -> u32 {
        self.core.lock().batch.count()
    }

    /// Returns the size of the encoded batch in bytes.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// let empty = batch.data_size();
    /// batch.put(b"k", b"1")?;
    /// assert!(batch.data_size() > empty);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn data_size(&self) -> usize {
        self.core.lock().batch.data_size()
    }

    /// Returns a copy of the records as a plain write batch.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// db.write(batch.to_batch())?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn to_batch(&self) -> WriteBatch {
        self.core.lock().batch.clone()
    }

    /// Removes all records and save points.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// batch.clear();
    /// assert_eq!(batch.count(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.core.lock().clear();
    }

    /// Records the current state for [`WriteBatchWithIndex::rollback_to_save_point`]. Save points nest.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.set_save_point();
    /// batch.put(b"k", b"1")?;
    /// batch.rollback_to_save_point()?;
    /// assert_eq!(batch.count(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_save_point(&mut self) {
        self.core.lock().batch.set_save_point();
    }

    /// Removes the records since the last save point, and the save point.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// assert!(batch.rollback_to_save_point().is_err()); // no save point
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        self.core.lock().rollback_to_save_point()
    }

    /// Removes the last save point and keeps the records since it.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.set_save_point();
    /// batch.put(b"k", b"1")?;
    /// batch.pop_save_point()?;
    /// assert_eq!(batch.count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.core.lock().batch.pop_save_point()
    }

    /// Returns the batch of a transaction.
    pub(in crate::txn) fn of_core(core: Arc<Mutex<Core>>) -> Self {
        WriteBatchWithIndex { core }
    }

    /// Changes the largest size of the batch in bytes. A write that would exceed the size fails; 0: no limit.
    ///
    /// ```
    /// # use ironstone::WriteBatchWithIndex;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.set_max_bytes(14);
    /// assert!(batch.put(b"key", b"value").is_err());
    /// ```
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.core.lock().bytes_max = max_bytes;
    }

    /// Gives each key of a column family with timestamps this timestamp. `size_of` returns the length of the timestamps of a
    /// column family; 0 for a column family without timestamps. Removes all save points. RocksDB: `UpdateTimestamps`.
    ///
    /// ```
    /// use ironstone::{Db, Options, WriteBatchWithIndex, WriteOptions};
    ///
    /// let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// let db = Db::open("data", options)?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put_in(&db.default_family(), b"k", b"1")?;
    /// batch.update_timestamps(&7u64.to_le_bytes(), |_| 8)?;
    /// assert!(batch.get_from_batch_in(&db.default_family(), b"k")?.is_some());
    /// batch.write(&db, &WriteOptions::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if a column family has timestamps of another length, or if a record of a column family with
    /// timestamps was added without a [`Family`]: such a record has no place for a timestamp. Then the batch does not change.
    pub fn update_timestamps(&mut self, timestamp: &[u8], size_of: impl Fn(u32) -> usize) -> Result<()> {
        self.core.lock().update_timestamps(timestamp, |family| size_of(family.get()))
    }

    /// Writes the batch to a database, as a whole or not at all.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteBatchWithIndex, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// # let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"k", b"1")?;
    /// batch.write(&db, &WriteOptions::default())?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::write`]. InvalidArgument if a key has no timestamp yet: see [`WriteBatchWithIndex::update_timestamps`].
    pub fn write(&mut self, db: &Db, options: &WriteOptions) -> Result<()> {
        let core = &mut *self.core.lock();
        if core.lacks_timestamps {
            return Err(base::Error::invalid_argument("write batch must have timestamp(s) set"));
        }
        db.write_with(&mut core.batch, options)
    }

    /// Writes the batch to a database as separate memtables, which are flushed at once. The wait of other writers is
    /// shorter than for [`WriteBatchWithIndex::write`]. A crash before the end of the flush loses the batch:
    /// `disableWAL` must be set. RocksDB: `DB::IngestWriteBatchWithIndex`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteOptions};
    /// # let db = Db::open("data", Options::in_memory())?;
    /// let overwrite = WriteBatchWithIndexOptions { overwrite_key: true, ..WriteBatchWithIndexOptions::default() };
    /// let mut batch = WriteBatchWithIndex::with_options(overwrite);
    /// batch.put(b"k", b"1")?;
    /// batch.ingest(&db, &WriteOptions { disableWAL: true, ..WriteOptions::default() })?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported without `disableWAL`, for a batch without `overwrite_key`, for column families with timestamps, and in a
    /// [`crate::TransactionDb`], because the batch takes no locks. The errors of [`Db::write`].
    pub fn ingest(&self, db: &Db, options: &WriteOptions) -> Result<()> {
        let core = self.core.lock();
        if !core.overwrites {
            return Err(base::Error::not_supported(
                "WriteBatchWithIndex ingestion requires overwrite_key=true",
            ));
        }
        engine::db::LargeBatches::new(db.engine()).ingest(&core.batch, options)
    }
}

impl std::fmt::Debug for WriteBatchWithIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let core = self.core.lock();
        write!(f, "WriteBatchWithIndex({} records, {} bytes)", core.batch.count(), core.batch.data_size())
    }
}

/// A column family as the target of a write.
pub(in crate::txn) fn target(family: &Family) -> Target<'_> {
    Target { family: family.id(), order: &family.inner().order().user }
}
