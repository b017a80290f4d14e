//! The database: [`DBCommon`], its thread modes, and what its calls return.
//!
//! ```text
//!  open      opens of all kinds      read     get, multi_get, key_may_exist     iterate   iterators, snapshots
//!  write     put, merge, delete      maintain flush, compact, ingest, options   families  create, drop, find
//! ```

mod families;
mod iterate;
mod maintain;
mod open;
mod read;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::sync::RwLock;

use crate::base::Base;
use crate::column_family::CfHandle;
use crate::raw_iter::RawIter;
use crate::{AsColumnFamilyRef, BoundColumnFamily, ColumnFamily, DBPinnableSlice, Error, ReadOptions};

pub(crate) use families::{families, unknown};
pub(crate) use iterate::{iterators, same_prefix, total_order};
pub(crate) use maintain::{flushes, number, property};
pub(crate) use open::{create_directory, descriptors, handles, plain};
pub(crate) use read::{Answers, answers, copies, reads, reads_of_base};
pub(crate) use write::{batch_writes, lockless_writes, write_of_value, writes};

/// A range of keys: from the start key up to the end key, without the end key.
pub struct Range<'a> {
    start_key: &'a [u8],
    end_key: &'a [u8],
}

impl<'a> Range<'a> {
    /// Returns a range.
    pub fn new(start_key: &'a [u8], end_key: &'a [u8]) -> Range<'a> {
        Range { start_key, end_key }
    }
}

/// The access that creating or dropping a column family needs: [`SingleThreaded`] or [`MultiThreaded`].
pub trait ThreadMode: Send + Sync {
    /// Returns the mode with these column families.
    fn new_cf_map_internal(cf_map: BTreeMap<String, CfHandle>) -> Self;

    /// Drops the handles of all column families.
    fn drop_all_cfs_internal(&mut self);
}

/// The thread mode in which creating or dropping a column family needs `&mut` access to the database.
pub struct SingleThreaded {
    pub(crate) cfs: BTreeMap<String, ColumnFamily>,
}

/// The thread mode in which creating or dropping a column family needs only shared access to the database.
pub struct MultiThreaded {
    pub(crate) cfs: RwLock<BTreeMap<String, Arc<BoundColumnFamily<'static>>>>,
}

pub(crate) fn bound(inner: CfHandle) -> Arc<BoundColumnFamily<'static>> {
    Arc::new(BoundColumnFamily { inner, multi_threaded_cfs: PhantomData })
}

impl ThreadMode for SingleThreaded {
    fn new_cf_map_internal(cf_map: BTreeMap<String, CfHandle>) -> Self {
        SingleThreaded {
            cfs: cf_map.into_iter().map(|(name, inner)| (name, ColumnFamily { inner })).collect(),
        }
    }

    fn drop_all_cfs_internal(&mut self) {
        self.cfs.clear();
    }
}

impl ThreadMode for MultiThreaded {
    fn new_cf_map_internal(cf_map: BTreeMap<String, CfHandle>) -> Self {
        let cfs = cf_map.into_iter().map(|(name, inner)| (name, bound(inner))).collect();
        MultiThreaded { cfs: RwLock::new(cfs) }
    }

    fn drop_all_cfs_internal(&mut self) {
        self.cfs.write().clear();
    }
}

/// The content of a [`DBCommon`]: a database without transactions or an optimistic transaction database.
pub trait DBInner: Send + Sync {
    /// Returns the open database.
    fn inner(&self) -> &Base;
}

/// A database with column families in a thread mode.
///
/// The database closes when the value is dropped. Iterators, snapshots and transactions borrow the value, so the compiler
/// makes sure that they are dropped first.
pub struct DBCommon<T: ThreadMode, D: DBInner> {
    pub(crate) inner: D,
    pub(crate) cfs: T,
    path: PathBuf,
}

/// The functions of a database or a transaction that iterators and snapshots call.
pub trait DBAccess: Sync {
    /// Takes a snapshot.
    fn create_snapshot(&self) -> Option<ironstone::Snapshot>;

    /// Releases a snapshot.
    fn release_snapshot(&self, snapshot: Option<ironstone::Snapshot>) {
        drop(snapshot);
    }

    /// Makes an iterator over the default column family.
    fn create_iterator(&self, readopts: ReadOptions) -> RawIter;

    /// Makes an iterator over a column family.
    fn create_iterator_cf(&self, cf_handle: &CfHandle, readopts: ReadOptions) -> RawIter;

    /// Works like [`DBCommon::get_opt`].
    ///
    /// # Errors
    /// The errors of [`DBCommon::get`].
    fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> Result<Option<Vec<u8>>, Error>;

    /// Works like [`DBCommon::get_cf_opt`].
    ///
    /// # Errors
    /// The errors of [`DBCommon::get`].
    fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error>;

    /// Works like [`DBCommon::get_pinned_opt`].
    ///
    /// # Errors
    /// The errors of [`DBCommon::get`].
    fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error>;

    /// Works like [`DBCommon::get_pinned_cf_opt`].
    ///
    /// # Errors
    /// The errors of [`DBCommon::get`].
    fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error>;

    /// Works like [`DBCommon::multi_get_opt`].
    fn multi_get_opt<K, I>(&self, keys: I, readopts: &ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>;

    /// Works like [`DBCommon::multi_get_cf_opt`].
    fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b;
}

/// Implements [`DBAccess`] by the methods of the type itself.
macro_rules! access {
    ([$($generics:tt)*] $ty:ty, |$this:ident| $snapshot:expr, |$iter:ident, $cf:ident, $options:ident| $iterator:expr) => {
        impl<$($generics)*> $crate::db::DBAccess for $ty {
            fn create_snapshot(&self) -> Option<ironstone::Snapshot> {
                let $this = self;
                $snapshot
            }

            fn create_iterator(&self, $options: ReadOptions) -> RawIter {
                let ($iter, $cf) = (self, None::<&CfHandle>);
                $iterator
            }

            fn create_iterator_cf(&self, cf_handle: &CfHandle, $options: ReadOptions) -> RawIter {
                let ($iter, $cf) = (self, Some(cf_handle));
                $iterator
            }

            fn get_opt<K: AsRef<[u8]>>(
                &self,
                key: K,
                readopts: &ReadOptions,
            ) -> Result<Option<Vec<u8>>, Error> {
                self.get_opt(key, readopts)
            }

            fn get_cf_opt<K: AsRef<[u8]>>(
                &self,
                cf: &impl AsColumnFamilyRef,
                key: K,
                readopts: &ReadOptions,
            ) -> Result<Option<Vec<u8>>, Error> {
                self.get_cf_opt(cf, key, readopts)
            }

            fn get_pinned_opt<K: AsRef<[u8]>>(
                &self,
                key: K,
                readopts: &ReadOptions,
            ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
                self.get_pinned_opt(key, readopts)
            }

            fn get_pinned_cf_opt<K: AsRef<[u8]>>(
                &self,
                cf: &impl AsColumnFamilyRef,
                key: K,
                readopts: &ReadOptions,
            ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
                self.get_pinned_cf_opt(cf, key, readopts)
            }

            fn multi_get_opt<K, I>(
                &self,
                keys: I,
                readopts: &ReadOptions,
            ) -> Vec<Result<Option<Vec<u8>>, Error>>
            where
                K: AsRef<[u8]>,
                I: IntoIterator<Item = K>,
            {
                self.multi_get_opt(keys, readopts)
            }

            fn multi_get_cf_opt<'b, K, I, W>(
                &self,
                keys_cf: I,
                readopts: &ReadOptions,
            ) -> Vec<Result<Option<Vec<u8>>, Error>>
            where
                K: AsRef<[u8]>,
                I: IntoIterator<Item = (&'b W, K)>,
                W: AsColumnFamilyRef + 'b,
            {
                self.multi_get_cf_opt(keys_cf, readopts)
            }
        }
    };
}
pub(crate) use access;

access!(
    [T: ThreadMode, D: DBInner] DBCommon<T, D>,
    |db| Some(db.inner.inner().snapshot()),
    |db, cf, options| match options.get() {
        Ok(_) => db.inner.inner().iter(cf, options.inner),
        Err(error) => RawIter::failed(error),
    }
);

/// The content of a database without transactions.
pub struct DBWithThreadModeInner {
    base: Base,
}

impl DBInner for DBWithThreadModeInner {
    #[inline]
    fn inner(&self) -> &Base {
        &self.base
    }
}

impl Drop for DBWithThreadModeInner {
    /// Closes the database. Ignores the error of the close, because the engine writes it to the info log.
    fn drop(&mut self) {
        let _ = self.base.close();
    }
}

/// A database without transactions.
pub type DBWithThreadMode<T> = DBCommon<T, DBWithThreadModeInner>;

/// A database without transactions, in the thread mode of the cargo feature `multi-threaded-cf`.
#[cfg(not(feature = "multi-threaded-cf"))]
pub type DB = DBWithThreadMode<SingleThreaded>;

/// A database without transactions, in the thread mode of the cargo feature `multi-threaded-cf`.
#[cfg(feature = "multi-threaded-cf")]
pub type DB = DBWithThreadMode<MultiThreaded>;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    pub(crate) fn new(inner: D, cfs: T, path: PathBuf) -> Self {
        DBCommon { inner, cfs, path }
    }

    #[inline]
    pub(crate) fn base(&self) -> &Base {
        self.inner.inner()
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<T: ThreadMode, D: DBInner> fmt::Debug for DBCommon<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RocksDB {{ path: {} }}", self.path().display())
    }
}

/// The name, the size and the number of SST files of a column family.
#[derive(Debug, Clone)]
pub struct ColumnFamilyMetaData {
    /// The total size of the SST files, in bytes.
    pub size: u64,
    /// The name of the column family.
    pub name: String,
    /// The number of SST files.
    pub file_count: usize,
}

/// An SST file of a database.
#[derive(Debug, Clone)]
pub struct LiveFile {
    /// The column family of the file.
    pub column_family_name: String,
    /// The name of the file with a leading slash: `/000012.sst`.
    pub name: String,
    /// The size of the file in bytes.
    pub size: usize,
    /// The level of the file.
    pub level: i32,
    /// The smallest key.
    pub start_key: Option<Vec<u8>>,
    /// The largest key.
    pub end_key: Option<Vec<u8>>,
    /// The number of entries of all value types.
    pub num_entries: u64,
    /// The number of point tombstones and range tombstones.
    pub num_deletions: u64,
}
