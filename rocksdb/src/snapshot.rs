//! Snapshots: reads at a fixed sequence number.

use crate::db::DBAccess;
use crate::{
    AsColumnFamilyRef, DB, DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode, Error,
    IteratorMode, ReadOptions,
};

/// A snapshot of [`DB`].
pub type Snapshot<'a> = SnapshotWithThreadMode<'a, DB>;

/// A fixed sequence number of a database or of a transaction.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let db = rocksdb::DB::open_default(dir.path())?;
/// let snapshot = db.snapshot();
/// db.put(b"k", b"v")?;
/// assert!(snapshot.get(b"k")?.is_none());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct SnapshotWithThreadMode<'a, D: DBAccess> {
    db: &'a D,
    /// `None` for a transaction without a snapshot: reads see the newest entries.
    inner: Option<ironstone::Snapshot>,
}

impl<'a, D: DBAccess> SnapshotWithThreadMode<'a, D> {
    /// Takes a snapshot.
    pub fn new(db: &'a D) -> Self {
        SnapshotWithThreadMode { db, inner: db.create_snapshot() }
    }

    /// Sets the snapshot of reads with these options. The options hold a reference to the snapshot.
    pub(crate) fn apply(&self, options: &mut ironstone::ReadOptions) {
        options.snapshot = self.inner.as_ref().and_then(Into::into);
    }

    /// Returns the sequence number. 0 for a transaction without a snapshot.
    pub fn sequence_number(&self) -> u64 {
        self.inner.as_ref().map_or(0, |snapshot| snapshot.sequence().get())
    }

    fn with(&self, mut readopts: ReadOptions) -> ReadOptions {
        readopts.set_snapshot(self);
        readopts
    }

    /// Returns an iterator over the default column family.
    pub fn iterator(&self, mode: IteratorMode) -> DBIteratorWithThreadMode<'a, D> {
        self.iterator_opt(mode, ReadOptions::default())
    }

    /// Returns an iterator over a column family.
    pub fn iterator_cf(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode,
    ) -> DBIteratorWithThreadMode<'_, D> {
        self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
    }

    /// Returns an iterator over the default column family, with options.
    pub fn iterator_opt(&self, mode: IteratorMode, readopts: ReadOptions) -> DBIteratorWithThreadMode<'a, D> {
        DBIteratorWithThreadMode::new(self.db, self.with(readopts), mode)
    }

    /// Returns an iterator over a column family, with options.
    pub fn iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
        mode: IteratorMode,
    ) -> DBIteratorWithThreadMode<'_, D> {
        DBIteratorWithThreadMode::new_cf(self.db, cf_handle.inner(), self.with(readopts), mode)
    }

    /// Returns a raw iterator over the default column family.
    pub fn raw_iterator(&self) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_opt(ReadOptions::default())
    }

    /// Returns a raw iterator over a column family.
    pub fn raw_iterator_cf(&self, cf_handle: &impl AsColumnFamilyRef) -> DBRawIteratorWithThreadMode<'_, D> {
        self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
    }

    /// Returns a raw iterator over the default column family, with options.
    pub fn raw_iterator_opt(&self, readopts: ReadOptions) -> DBRawIteratorWithThreadMode<'_, D> {
        DBRawIteratorWithThreadMode::new(self.db, self.with(readopts))
    }

    /// Returns a raw iterator over a column family, with options.
    pub fn raw_iterator_cf_opt(
        &self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'_, D> {
        DBRawIteratorWithThreadMode::new_cf(self.db, cf_handle.inner(), self.with(readopts))
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, ReadOptions::default())
    }

    /// Returns the value of a key of a column family.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, ReadOptions::default())
    }

    /// Returns the value of a key, with options.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: ReadOptions) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_opt(key, &self.with(readopts))
    }

    /// Returns the value of a key of a column family, with options.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.db.get_cf_opt(cf, key, &self.with(readopts))
    }

    /// Returns the value of a key without a copy.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, ReadOptions::default())
    }

    /// Returns the value of a key of a column family without a copy.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, ReadOptions::default())
    }

    /// Returns the value of a key without a copy, with options.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_opt(key, &self.with(readopts))
    }

    /// Returns the value of a key of a column family without a copy, with options.
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::get`].
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.db.get_pinned_cf_opt(cf, key, &self.with(readopts))
    }

    /// Returns the values of keys.
    pub fn multi_get<K: AsRef<[u8]>, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, ReadOptions::default())
    }

    /// Returns the values of keys of column families.
    pub fn multi_get_cf<'b, K, I, W>(&self, keys_cf: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.multi_get_cf_opt(keys_cf, ReadOptions::default())
    }

    /// Returns the values of keys, with options.
    pub fn multi_get_opt<K, I>(&self, keys: I, readopts: ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.db.multi_get_opt(keys, &self.with(readopts))
    }

    /// Returns the values of keys of column families, with options.
    pub fn multi_get_cf_opt<'b, K, I, W>(
        &self,
        keys_cf: I,
        readopts: ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: AsColumnFamilyRef + 'b,
    {
        self.db.multi_get_cf_opt(keys_cf, &self.with(readopts))
    }
}
