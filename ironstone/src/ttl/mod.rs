//! TTL databases: values expire after a time to live. RocksDB: `DBWithTTL`.
//!
//! ```text
//! stored value = value of the application | i32 little-endian: time of the write, seconds since 1970
//! ```
//! Compaction removes expired values. Until then a read still returns an expired value. A database that was written with
//! a TTL must always be opened with [`TtlDb`]: a plain open returns values with four bytes too many. A plain database
//! must not be opened with [`TtlDb`]: reads fail with Corruption, or lose four bytes.
//!
//! ```
//! use ironstone::Options;
//! use ironstone::ttl::TtlDb;
//!
//! let db = TtlDb::open("data", Options::in_memory(), 3600)?; // one hour
//! db.put(b"k", b"v")?;
//! assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..]));
//! # Ok::<(), ironstone::Error>(())
//! ```

mod iter;
mod operators;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use base::map::HashMap;
use base::{Error, FamilyId, Pinned, Result};
use engine::options::WriteOptions;
use env::sync::Mutex;
use format::batch::Record;

use crate::{
    BaseDeltaIter, Db, Family, FamilyDescriptor, Iter, Options, ReadOptions, WriteBatch, WriteBatchWithIndex,
};
pub use iter::TtlIter;
use operators::{Ttl, check, wrap};

/// An open TTL database. A clone is cheap. Dereferences to the [`TtlFamily`] of the default column family.
///
/// ```
/// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
/// let db = TtlDb::open("data", Options::in_memory(), 60)?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// db.delete(b"a")?;
/// assert!(db.get(b"a")?.is_none());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct TtlDb {
    db: Db,
    default: TtlFamily,
    families: Arc<Mutex<HashMap<FamilyId, Ttl>>>,
}

/// A column family of a TTL database. A clone is cheap.
///
/// ```
/// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ttl::{TtlDb, TtlFamily}};
/// let db = TtlDb::open("data", Options::in_memory(), 60)?;
/// let sessions = FamilyDescriptor::new("sessions", FamilyOptions::default());
/// let sessions: TtlFamily = db.create_family(sessions, 1800)?;
/// sessions.put(b"1", b"Ada")?;
/// assert_eq!(sessions.ttl(), 1800);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct TtlFamily {
    family: Family,
    ttl: Ttl,
}

impl TtlDb {
    /// Opens the database at `path`. Values of all column families expire after `ttl` seconds. 0 and negative: values do
    /// not expire.
    ///
    /// # Errors
    /// The errors of [`Db::open`].
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert_eq!(db.ttl(), 60);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: Options, ttl: i32) -> Result<TtlDb> {
        let mut options = options;
        let ttl = Ttl::new(ttl, options.db.env.clock.clone());
        wrap(&mut options.family, &ttl);
        let db = Db::open(path, options)?;
        let ttls = db.families().iter().map(|family| (family.id(), ttl.clone())).collect();
        Ok(Self::new(db, ttls, ttl))
    }

    /// Opens the database at `path` for reading. Reads do not depend on the time to live.
    ///
    /// # Errors
    /// The errors of [`Db::open_read_only`].
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// let options = Options::in_memory();
    /// TtlDb::open("data", options.clone(), 60)?.put(b"k", b"v")?;
    /// let reader = TtlDb::open_read_only("data", options)?;
    /// assert_eq!(reader.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<TtlDb> {
        let mut options = options;
        let ttl = Ttl::new(0, options.db.env.clock.clone());
        wrap(&mut options.family, &ttl);
        let db = Db::open_read_only(path, options)?;
        let ttls = db.families().iter().map(|family| (family.id(), ttl.clone())).collect();
        Ok(Self::new(db, ttls, ttl))
    }

    /// Opens the database at `path` with these column families, each with its time to live in seconds. The default
    /// column family is added without a time to live if it is not in the list.
    ///
    /// # Errors
    /// The errors of [`Db::open_with_families`].
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ttl::TtlDb};
    /// let mut options = Options::in_memory();
    /// options.db.create_missing_column_families = true;
    /// let sessions = FamilyDescriptor::new("sessions", FamilyOptions::default());
    /// let db = TtlDb::open_with_families("data", options, vec![(sessions, 1800)])?;
    /// assert_eq!(db.family("sessions")?.ttl(), 1800);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<(FamilyDescriptor, i32)>,
    ) -> Result<TtlDb> {
        Self::open_named(path.as_ref(), options, families, |path, options, families| {
            Db::open_with_families(path, options, families)
        })
    }

    /// Opens these column families of the database at `path` for reading, each with its time to live in seconds. The time to
    /// live has no effect on reads. The default column family is added if it is not in the list.
    ///
    /// # Errors
    /// The errors of [`Db::open_read_only_with_families`].
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ttl::TtlDb};
    /// let options = Options::in_memory();
    /// let sessions = FamilyDescriptor::new("sessions", FamilyOptions::default());
    /// TtlDb::open("data", options.clone(), 60)?.create_family(sessions.clone(), 5)?.put(b"1", b"Ada")?;
    /// let reader = TtlDb::open_read_only_with_families("data", options, vec![(sessions, 5)])?;
    /// assert_eq!(reader.family("sessions")?.get(b"1")?.as_deref(), Some(&b"Ada"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_read_only_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<(FamilyDescriptor, i32)>,
    ) -> Result<TtlDb> {
        Self::open_named(path.as_ref(), options, families, |path, options, families| {
            Db::open_read_only_with_families(path, options, families)
        })
    }

    fn open_named(
        path: &Path,
        options: Options,
        families: Vec<(FamilyDescriptor, i32)>,
        open: impl FnOnce(&Path, Options, Vec<FamilyDescriptor>) -> Result<Db>,
    ) -> Result<TtlDb> {
        let mut families = families;
        if !families.iter().any(|(family, _)| family.name == "default") {
            families.insert(0, (FamilyDescriptor::new("default", options.family.clone()), 0));
        }
        let clock = options.db.env.clock.clone();
        let mut named = Vec::with_capacity(families.len());
        let mut descriptors = Vec::with_capacity(families.len());
        for (mut family, seconds) in families {
            let ttl = Ttl::new(seconds, clock.clone());
            wrap(&mut family.options, &ttl);
            named.push((family.name.clone(), ttl));
            descriptors.push(family);
        }
        let db = open(path, options, descriptors)?;
        let mut ttls = HashMap::default();
        for (name, ttl) in named {
            ttls.insert(db.family(&name)?.id(), ttl);
        }
        let default = ttls.get(&FamilyId::DEFAULT).cloned();
        Ok(Self::new(db, ttls, default.unwrap_or_else(|| Ttl::new(0, clock))))
    }

    fn new(db: Db, ttls: HashMap<FamilyId, Ttl>, default: Ttl) -> TtlDb {
        let default = TtlFamily { family: db.default_family(), ttl: default };
        TtlDb { db, default, families: Arc::new(Mutex::new(ttls)) }
    }

    /// Returns the plain database, for calls that do not read or write values: flush, compaction, properties. Values
    /// that are read through the plain database end with the four bytes of the time.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"k", b"v")?;
    /// db.plain().flush()?;
    /// assert_eq!(db.plain().get(b"k")?.unwrap().len(), 5);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn plain(&self) -> &Db {
        &self.db
    }

    /// Returns a column family.
    ///
    /// # Errors
    /// NotFound if there is no column family of this name.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert_eq!(db.family("default")?.ttl(), 60);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn family(&self, name: &str) -> Result<TtlFamily> {
        self.family_of(&self.db.family(name)?)
    }

    /// Returns a column family from its plain handle, also after the column family was dropped.
    ///
    /// # Errors
    /// NotFound if the column family was created without a time to live.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert_eq!(db.family_of(&db.plain().default_family())?.ttl(), 60);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn family_of(&self, plain: &Family) -> Result<TtlFamily> {
        let missing = || {
            Error::not_found(format!("column family {} was not created by this TTL database", plain.name()))
        };
        let ttl = self.families.lock().get(&plain.id()).cloned().ok_or_else(missing)?;
        Ok(TtlFamily { family: plain.clone(), ttl })
    }

    /// Creates a column family whose values expire after `ttl` seconds. RocksDB: `CreateColumnFamilyWithTtl`.
    ///
    /// # Errors
    /// The errors of [`Db::create_family`].
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// let sessions = db.create_family(FamilyDescriptor::new("sessions", FamilyOptions::default()), 1800)?;
    /// sessions.put(b"1", b"Ada")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_family(&self, descriptor: FamilyDescriptor, ttl: i32) -> Result<TtlFamily> {
        let mut descriptor = descriptor;
        let ttl = Ttl::new(ttl, self.db.db_options().env.clock.clone());
        wrap(&mut descriptor.options, &ttl);
        let family = self.db.create_family(descriptor)?;
        let mut ttls = self.families.lock();
        ttls.insert(family.id(), ttl.clone());
        Ok(TtlFamily { family, ttl })
    }

    /// Writes a batch, as a whole or not at all. Each value and merge operand gets the current time.
    ///
    /// # Errors
    /// The errors of [`Db::write_with`]. NotSupported for entries other than put, merge, deletions and log data.
    ///
    /// ```
    /// # use ironstone::{Options, WriteBatch, WriteOptions, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"a", b"1").delete(b"b");
    /// db.write_with(&batch, &WriteOptions::default())?;
    /// assert_eq!(db.get(b"a")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn write_with(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        batch.status()?;
        let mut stamped = WriteBatch::with_capacity(batch.data_size() + 4 * batch.count() as usize);
        for record in batch.iter() {
            match record? {
                Record::Put { family, key, value } => {
                    stamped.put_in(family, key, &self.ttl.stamped(value));
                }
                Record::Merge { family, key, operand } => {
                    stamped.merge_in(family, key, &self.ttl.stamped(operand));
                }
                Record::Delete { family, key } => {
                    stamped.delete_in(family, key);
                }
                Record::SingleDelete { family, key } => {
                    stamped.single_delete_in(family, key);
                }
                Record::DeleteRange { family, begin, end } => {
                    stamped.delete_range_in(family, begin, end);
                }
                Record::LogData(blob) => {
                    stamped.put_log_data(blob);
                }
                _ => return Err(Error::not_supported("an entry of this type in a TTL database")),
            }
        }
        self.db.write_with(stamped, options)
    }
}

impl Deref for TtlDb {
    type Target = TtlFamily;

    fn deref(&self) -> &TtlFamily {
        &self.default
    }
}

impl TtlFamily {
    /// Returns the time to live in seconds. 0 and negative: values do not expire.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// assert_eq!(TtlDb::open("data", Options::in_memory(), 60)?.ttl(), 60);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn ttl(&self) -> i32 {
        self.ttl.get()
    }

    /// Changes the time to live, also for values that are already written. Column families that were opened by
    /// [`TtlDb::open`] share one time to live. RocksDB: `SetTtl`.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.set_ttl(120);
    /// assert_eq!(db.ttl(), 120);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_ttl(&self, seconds: i32) {
        self.ttl.set(seconds);
    }

    /// Sets the value of a key. The value expires after the time to live.
    ///
    /// # Errors
    /// The errors of [`Family::put`].
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"k", b"v")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, &WriteOptions::default())
    }

    /// Sets the value of a key, with options.
    ///
    /// # Errors
    /// The errors of [`Family::put_with`].
    ///
    /// ```
    /// # use ironstone::{Options, WriteOptions, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put_with(b"k", b"v", &WriteOptions { sync: true, ..WriteOptions::default() })?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        self.family.put_with(key, &self.ttl.stamped(value), options)
    }

    /// Adds an operand for the merge operator. A merged value gets the time of the merge.
    ///
    /// # Errors
    /// The errors of [`Family::merge_with`].
    ///
    /// ```
    /// # use ironstone::{Options, WriteOptions, ttl::TtlDb};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TtlDb::open("data", options, 60)?;
    /// db.merge_with(b"k", b"a", &WriteOptions::default())?;
    /// db.merge_with(b"k", b"b", &WriteOptions::default())?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"a,b"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        self.family.merge_with(key, &self.ttl.stamped(operand), options)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of [`Family::delete`].
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.delete(b"k")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.family.delete(key)
    }

    /// Returns the value of a key, also of an expired key that no compaction has removed yet.
    ///
    /// # Errors
    /// The errors of [`Family::get`]. Corruption if the value has no time.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert!(db.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// Returns the value of a key, with options.
    ///
    /// # Errors
    /// The errors of [`TtlFamily::get`] and [`Family::get_with`].
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert!(db.get_with(b"k", &ReadOptions::default())?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.family.get_with(key, options)?.map(without_time).transpose()
    }

    /// Returns the values of several keys, in the order of the keys.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// let found = db.multi_get_with(&[b"a", b"b"], &ReadOptions::default());
    /// assert_eq!(found[0].as_ref().unwrap().as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_with(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        let found = self.family.multi_get_with(keys, options);
        found.into_iter().map(|value| value?.map(without_time).transpose()).collect()
    }

    /// Returns an iterator.
    ///
    /// # Errors
    /// The errors of [`Family::iter_with`].
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!((iter.key(), iter.value()?), (&b"a"[..], &b"1"[..]));
    /// assert!(iter.written_at()? > 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_with(&self, options: ReadOptions) -> Result<TtlIter> {
        Ok(TtlIter { iter: self.family.iter_with(options)? })
    }

    /// Returns the value of a key as if a batch were written to the database. Merge operands of the batch are merged onto the
    /// value of the database.
    ///
    /// # Errors
    /// The errors of [`WriteBatchWithIndex::get_from_batch_and_db`]. Corruption if the value has no time. NotSupported if the batch
    /// has an entity of the key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, WriteBatchWithIndex, ttl::TtlDb};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TtlDb::open("data", options, 60)?;
    /// db.put(b"k", b"1")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.merge(b"k", b"2")?;
    /// let value = db.get_from_batch(&batch, b"k", &ReadOptions::default())?;
    /// assert_eq!(value.as_deref(), Some(&b"1,2"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_from_batch(
        &self,
        batch: &WriteBatchWithIndex,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        batch.get_stored(&self.family, key, options, &self.ttl.now())?.map(without_time).transpose()
    }

    /// Returns an iterator over `base` as if a batch were written. `base` is an iterator over the plain column family. The batch
    /// shows the keys in `[lower, upper)`; `None` is no bound. Each value ends with a time, which [`value_of`] removes. The values
    /// of the batch have the time of this call.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, WriteBatchWithIndex, ttl::{TtlDb, value_of}};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// let mut batch = WriteBatchWithIndex::new();
    /// batch.put(b"b", b"2")?;
    /// let base = db.plain_family().iter_with(ReadOptions::default())?;
    /// let mut iter = db.iter_over_base(&batch, base, None, None);
    /// iter.seek_to_last();
    /// assert_eq!((iter.key(), value_of(iter.value())?), (&b"b"[..], &b"2"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_over_base(
        &self,
        batch: &WriteBatchWithIndex,
        base: Iter,
        lower: Option<Vec<u8>>,
        upper: Option<Vec<u8>>,
    ) -> BaseDeltaIter {
        batch.iter_over_stored(&self.family, base, (lower, upper), &self.ttl.now())
    }

    /// Returns the plain column family. Its values end with the four bytes of the time.
    ///
    /// ```
    /// # use ironstone::{Options, ttl::TtlDb};
    /// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// assert_eq!(db.family("default")?.plain_family().name(), "default");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn plain_family(&self) -> &Family {
        &self.family
    }
}

/// Returns a stored value without its time.
///
/// # Errors
/// Corruption if the value has no time.
///
/// ```
/// # use ironstone::{Options, ttl::{TtlDb, value_of}};
/// # let db = TtlDb::open("data", Options::in_memory(), 60)?;
/// db.put(b"k", b"v")?;
/// let stored = db.plain().get(b"k")?.unwrap();
/// assert_eq!(value_of(&stored)?, b"v");
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn value_of(stored: &[u8]) -> Result<&[u8]> {
    Ok(&stored[..check(stored)?])
}

fn without_time(stored: Pinned) -> Result<Pinned> {
    let len = check(&stored)?;
    Ok(stored.slice(0..len))
}
