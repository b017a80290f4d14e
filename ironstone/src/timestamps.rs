//! User-defined timestamps: writes and reads of one column family with a timestamp.
//!
//! A column family has timestamps if its comparator has them, for example `leveldb.BytewiseComparator.u64ts` with
//! timestamps of 8 bytes. Each write then needs a timestamp, and each read needs `ReadOptions::timestamp`: the read sees
//! the entries with this timestamp or an older one.
//!
//! ```
//! use ironstone::{Db, Options, ReadOptions, WriteOptions};
//!
//! let mut options = Options::in_memory();
//! options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
//! let db = Db::open("data", options)?;
//! let at = |time: u64| time.to_le_bytes();
//! let read_at = |time: u64| ReadOptions { timestamp: Some(at(time).to_vec()), ..ReadOptions::default() };
//!
//! db.put_with_ts(b"k", &at(10), b"old", &WriteOptions::default())?;
//! db.put_with_ts(b"k", &at(20), b"new", &WriteOptions::default())?;
//! assert_eq!(db.get_with(b"k", &read_at(15))?.as_deref(), Some(&b"old"[..]));
//! assert_eq!(db.get_with(b"k", &read_at(25))?.as_deref(), Some(&b"new"[..]));
//! assert!(db.get_with(b"k", &read_at(5))?.is_none());
//! # Ok::<(), ironstone::Error>(())
//! ```

use base::{Pinned, Result};
use engine::options::WriteOptions;

use crate::{Family, ReadOptions, WriteBatch};

/// A value together with the timestamp of its entry. Returned by [`Family::get_with_ts`].
///
/// ```
/// # use ironstone::{Db, Options, ReadOptions, WriteOptions};
/// # let mut options = Options::in_memory();
/// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
/// # let db = Db::open("data", options)?;
/// db.put_with_ts(b"k", &7u64.to_le_bytes(), b"v", &WriteOptions::default())?;
/// let options = ReadOptions { timestamp: Some(99u64.to_le_bytes().to_vec()), ..ReadOptions::default() };
/// let found = db.get_with_ts(b"k", &options)?.unwrap();
/// assert_eq!(found.timestamp, 7u64.to_le_bytes());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timestamped {
    /// The value. `None` if the newest entry is a tombstone, or if a range tombstone deletes the key.
    pub value: Option<Pinned>,
    /// The timestamp of the newest entry that the read sees, or of the range tombstone that deletes the key.
    pub timestamp: Vec<u8>,
}

impl Family {
    /// Returns the length of the timestamps in bytes; 0 if the column family has no timestamps.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.timestamp_size(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn timestamp_size(&self) -> usize {
        self.inner.order().user.timestamp_size()
    }

    /// Sets the value of a key at a timestamp. Values at older timestamps stay readable.
    ///
    /// # Errors
    /// The errors of [`Family::put_with`]. InvalidArgument if the timestamp has another length than
    /// [`Family::timestamp_size`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let db = Db::open("data", options)?;
    /// db.put_with_ts(b"k", &7u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// assert!(db.put_with_ts(b"k", b"short", b"v", &WriteOptions::default()).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_with_ts(
        &self,
        key: &[u8],
        timestamp: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        write_one(self, options, |batch| {
            batch.put_at(self.id(), key, timestamp, value);
        })
    }

    /// Deletes a key at a timestamp. Values at older timestamps stay readable at these timestamps.
    ///
    /// # Errors
    /// The errors of [`Family::put_with_ts`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let db = Db::open("data", options)?;
    /// # let read_at = |t: u64| ReadOptions { timestamp: Some(t.to_le_bytes().to_vec()), ..ReadOptions::default() };
    /// db.put_with_ts(b"k", &1u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// db.delete_with_ts(b"k", &2u64.to_le_bytes(), &WriteOptions::default())?;
    /// assert!(db.get_with(b"k", &read_at(1))?.is_some());
    /// assert!(db.get_with(b"k", &read_at(2))?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_with_ts(&self, key: &[u8], timestamp: &[u8], options: &WriteOptions) -> Result<()> {
        write_one(self, options, |batch| {
            batch.delete_at(self.id(), key, timestamp);
        })
    }

    /// Deletes a key that was put exactly once, at a timestamp. See [`Family::single_delete`].
    ///
    /// # Errors
    /// The errors of [`Family::put_with_ts`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let db = Db::open("data", options)?;
    /// db.put_with_ts(b"k", &1u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// db.single_delete_with_ts(b"k", &2u64.to_le_bytes(), &WriteOptions::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn single_delete_with_ts(&self, key: &[u8], timestamp: &[u8], options: &WriteOptions) -> Result<()> {
        write_one(self, options, |batch| {
            batch.single_delete_at(self.id(), key, timestamp);
        })
    }

    /// Adds an operand for the merge operator at a timestamp.
    ///
    /// # Errors
    /// The errors of [`Family::put_with_ts`]. NotSupported if the column family has no merge operator.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts;merge_operator=stringappend")?;
    /// # let db = Db::open("data", options)?;
    /// # let read_at = |t: u64| ReadOptions { timestamp: Some(t.to_le_bytes().to_vec()), ..ReadOptions::default() };
    /// db.merge_with_ts(b"k", &1u64.to_le_bytes(), b"a", &WriteOptions::default())?;
    /// db.merge_with_ts(b"k", &2u64.to_le_bytes(), b"b", &WriteOptions::default())?;
    /// assert_eq!(db.get_with(b"k", &read_at(2))?.as_deref(), Some(&b"a,b"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn merge_with_ts(
        &self,
        key: &[u8],
        timestamp: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        if self.options().merge_operator.is_none() {
            return Err(base::Error::not_supported("Provide a merge_operator when opening DB"));
        }
        write_one(self, options, |batch| {
            batch.merge_at(self.id(), key, timestamp, operand);
        })
    }

    /// Deletes the keys in `[begin, end)` at a timestamp. Values at older timestamps stay readable at these timestamps.
    ///
    /// # Errors
    /// The errors of [`Family::put_with_ts`]. InvalidArgument if `end` is before `begin`.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let db = Db::open("data", options)?;
    /// # let read_at = |t: u64| ReadOptions { timestamp: Some(t.to_le_bytes().to_vec()), ..ReadOptions::default() };
    /// db.put_with_ts(b"k", &1u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// db.delete_range_with_ts(b"a", b"z", &2u64.to_le_bytes(), &WriteOptions::default())?;
    /// assert!(db.get_with(b"k", &read_at(2))?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_range_with_ts(
        &self,
        begin: &[u8],
        end: &[u8],
        timestamp: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        write_one(self, options, |batch| {
            batch.delete_range_at(self.id(), begin, end, timestamp);
        })
    }

    /// Returns the value of a key together with the timestamp of its newest entry. If a range tombstone deletes the key, the
    /// timestamp is that of the range tombstone. `None` if the read sees neither an entry nor a range tombstone of the key.
    /// `options.timestamp` bounds the read. Cost: two gets.
    ///
    /// # Errors
    /// The errors of [`Family::get_with`]. InvalidArgument if `options` have a timestamp and the column family has none.
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let db = Db::open("data", options)?;
    /// # let read_at = |t: u64| ReadOptions { timestamp: Some(t.to_le_bytes().to_vec()), ..ReadOptions::default() };
    /// db.put_with_ts(b"k", &7u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// let found = db.get_with_ts(b"k", &read_at(99))?.unwrap();
    /// assert_eq!((found.value.as_deref(), &found.timestamp[..]), (Some(&b"v"[..]), &7u64.to_le_bytes()[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_with_ts(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Timestamped>> {
        let found = self.db.reads().get_stamped(&self.inner, key, options)?;
        Ok(found.map(|found| Timestamped { value: found.value, timestamp: found.timestamp }))
    }

    /// Returns the newest timestamp that the column family has seen, or `None` if the column family has no entry. Only for
    /// column families with `persist_user_defined_timestamps=false`. RocksDB's `GetNewestUserDefinedTimestamp`.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps; NotSupported if its SST files have timestamps.
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts;persist_user_defined_timestamps=false")?;
    /// options.update("allow_concurrent_memtable_write=false")?;
    /// let db = Db::open("data", options)?;
    /// db.put_with_ts(b"k", &7u64.to_le_bytes(), b"v", &WriteOptions::default())?;
    /// db.flush()?; // the SST file has no timestamp
    /// assert_eq!(db.newest_timestamp()?, Some(7u64.to_le_bytes().to_vec()));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn newest_timestamp(&self) -> Result<Option<Vec<u8>>> {
        self.db.reads().newest_timestamp(&self.inner)
    }
}

/// Writes a batch of one record.
fn write_one(family: &Family, options: &WriteOptions, fill: impl FnOnce(&mut WriteBatch)) -> Result<()> {
    let mut batch = WriteBatch::new();
    fill(&mut batch);
    family.db.write(&mut batch, options)
}
