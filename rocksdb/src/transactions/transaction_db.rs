//! Transaction databases: each transaction locks the keys that it writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::sync::Mutex;
use ironstone::TransactionDb;

use crate::base::Base;
use crate::column_family::CfHandle;
use crate::db::{
    access, bound, copied, create_directory, descriptors, get, handles, iterators, multi_get, multi_get_cf,
    number, property, unknown,
};
use crate::error::conflict;
use crate::raw_iter::RawIter;
use crate::{
    AsColumnFamilyRef, BoundColumnFamily, CStrLike, ColumnFamily, ColumnFamilyDescriptor, DB,
    DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode, Direction, Error, FlushOptions,
    IteratorMode, MultiThreaded, Options, ReadOptions, SingleThreaded, SnapshotWithThreadMode, ThreadMode,
    Transaction, TransactionDBOptions, TransactionOptions, WriteBatchWithTransaction, WriteOptions,
};

#[cfg(not(feature = "multi-threaded-cf"))]
type DefaultThreadMode = SingleThreaded;
#[cfg(feature = "multi-threaded-cf")]
type DefaultThreadMode = MultiThreaded;

/// A database whose transactions lock the keys that they write. Writes outside of transactions also lock their keys.
///
/// See [`Transaction`] for an example.
pub struct TransactionDB<T: ThreadMode = DefaultThreadMode> {
    db: TransactionDb,
    base: Base,
    cfs: T,
    path: PathBuf,
    /// Transactions that were prepared but not committed before the open.
    prepared: Mutex<Vec<ironstone::Transaction>>,
}

access!(
    [T: ThreadMode] TransactionDB<T>,
    |db| Some(db.base.snapshot()),
    |db, cf, options| match options.get() {
        Ok(_) => db.base.iter(cf, options.inner),
        Err(error) => RawIter::failed(error),
    }
);

impl<T: ThreadMode> Drop for TransactionDB<T> {
    /// Closes the database. Ignores the error of the close, because the engine writes it to the info log.
    fn drop(&mut self) {
        self.prepared.lock().clear();
        self.cfs.drop_all_cfs_internal();
        let _ = self.base.close();
    }
}

impl<T: ThreadMode> TransactionDB<T> {
    /// Opens a database with default options. Creates a database that does not exist.
    ///
    /// # Errors
    /// As [`crate::DBWithThreadMode::open`].
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, &TransactionDBOptions::default(), path)
    }

    /// Opens a database with its default column family.
    ///
    /// # Errors
    /// As [`crate::DBWithThreadMode::open`].
    pub fn open<P: AsRef<Path>>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
    ) -> Result<Self, Error> {
        Self::open_cf(opts, txn_db_opts, path, None::<&str>)
    }

    /// Opens a database with column families. The options of the column families are the default options.
    ///
    /// # Errors
    /// As [`crate::DBWithThreadMode::open_cf`].
    pub fn open_cf<P, I, N>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let descriptor = |name: N| ColumnFamilyDescriptor::new(name.as_ref(), Options::default());
        Self::open_cf_descriptors(opts, txn_db_opts, path, cfs.into_iter().map(descriptor))
    }

    /// Opens a database with descriptors.
    ///
    /// # Errors
    /// As [`crate::DBWithThreadMode::open_cf`].
    pub fn open_cf_descriptors<P, I>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let cfs: Vec<ColumnFamilyDescriptor> = cfs.into_iter().collect();
        let (families, names) = descriptors(opts, &cfs)?;
        let (options, transactions) = (opts.get()?, txn_db_opts.inner.clone());
        create_directory(&options.db, path.as_ref())?;
        let db = TransactionDb::open_with(path.as_ref(), options, transactions, Some(families))?;
        let base = Base::of_db(db.base().clone());
        let cfs = handles(&base, names)?;
        let prepared = Mutex::new(db.all_prepared_transactions());
        Ok(TransactionDB { db, base, cfs, path: path.as_ref().to_path_buf(), prepared })
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// As [`crate::DBCommon::list_cf`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::list_cf`].
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        DB::list_cf(opts, path)
    }

    /// As [`crate::DBCommon::destroy`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::destroy`].
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DB::destroy(opts, path)
    }

    /// As [`crate::DBCommon::repair`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::repair`].
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DB::repair(opts, path)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As [`crate::DBCommon::flush_wal`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush_wal`].
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        Ok(self.base.plain().flush_wal(sync)?)
    }

    /// As [`crate::DBCommon::flush_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush`].
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        Ok(self.base.with_family(None, |family| family.flush_with(&flushopts.inner))?)
    }

    /// As [`crate::DBCommon::flush`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush`].
    pub fn flush(&self) -> Result<(), Error> {
        self.flush_opt(&FlushOptions::default())
    }

    /// As [`crate::DBCommon::flush_cf_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush`].
    pub fn flush_cf_opt(&self, cf: &impl AsColumnFamilyRef, flushopts: &FlushOptions) -> Result<(), Error> {
        Ok(self.base.with_family(Some(cf.inner()), |family| family.flush_with(&flushopts.inner))?)
    }

    /// As [`crate::DBCommon::flush_cfs_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush`].
    pub fn flush_cfs_opt(&self, cfs: &[&impl AsColumnFamilyRef], opts: &FlushOptions) -> Result<(), Error> {
        let mut families = Vec::with_capacity(cfs.len());
        for cf in cfs {
            families.push(self.base.check(cf.inner())?.family.clone());
        }
        Ok(self.base.plain().flush_families(&families, &opts.inner)?)
    }

    /// As [`crate::DBCommon::flush_cf`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::flush`].
    pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
        self.flush_cf_opt(cf, &FlushOptions::default())
    }

    /// Begins a transaction.
    pub fn transaction(&self) -> Transaction<'_, Self> {
        self.transaction_opt(&WriteOptions::default(), &TransactionOptions::default())
    }

    /// Begins a transaction, with options.
    pub fn transaction_opt<'a>(
        &'a self,
        write_opts: &WriteOptions,
        txn_opts: &TransactionOptions,
    ) -> Transaction<'a, Self> {
        Transaction::new(self.db.begin_with(&write_opts.inner, &txn_opts.inner), &self.base)
    }

    /// Returns the transactions that were prepared but not committed before the open. Only the first call returns them.
    pub fn prepared_transactions(&self) -> Vec<Transaction<'_, Self>> {
        let prepared = std::mem::take(&mut *self.prepared.lock());
        prepared.into_iter().map(|txn| Transaction::new(Ok(txn), &self.base)).collect()
    }

    /// As [`crate::DBCommon::get`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::get_cf`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::get_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> Result<Option<Vec<u8>>, Error> {
        get(&self.base, None, key.as_ref(), readopts).map(copied)
    }

    /// As [`crate::DBCommon::get_cf_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        get(&self.base, Some(cf.inner()), key.as_ref(), readopts).map(copied)
    }

    /// As [`crate::DBCommon::get_pinned`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::get_pinned_cf`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::get_pinned_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        get(&self.base, None, key.as_ref(), readopts)
    }

    /// As [`crate::DBCommon::get_pinned_cf_opt`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::get`].
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        get(&self.base, Some(cf.inner()), key.as_ref(), readopts)
    }

    /// As [`crate::DBCommon::multi_get`].
    pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::multi_get_opt`].
    pub fn multi_get_opt<K, I>(&self, keys: I, readopts: &ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        multi_get(&self.base, keys, readopts)
    }

    /// As [`crate::DBCommon::multi_get_cf`].
    pub fn multi_get_cf<'a, 'b: 'a, K, I, W>(&'a self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        self.multi_get_cf_opt(keys, &ReadOptions::default())
    }

    /// As [`crate::DBCommon::multi_get_cf_opt`].
    pub fn multi_get_cf_opt<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        multi_get_cf(&self.base, keys, readopts)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`crate::DBCommon::put`]. TimedOut if a transaction has the lock of the key.
    pub fn put<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// Sets the value of a key of a column family.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Sets the value of a key, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.base.put(None, key.as_ref(), value.as_ref(), &writeopts.inner).map_err(conflict)
    }

    /// Sets the value of a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.base.put(Some(cf.inner()), key.as_ref(), value.as_ref(), &writeopts.inner).map_err(conflict)
    }

    /// Writes a batch: all changes or none.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn write(&self, batch: WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Writes a batch, with options: all changes or none.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn write_opt(
        &self,
        batch: WriteBatchWithTransaction<true>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let mut batch = batch;
        self.base.write(batch.to_write()?, &writeopts.inner).map_err(conflict)
    }

    /// Merges an operand.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn merge<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_opt(key, value, &WriteOptions::default())
    }

    /// Merges an operand into a key of a column family.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn merge_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Merges an operand, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn merge_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.base.merge(None, key.as_ref(), value.as_ref(), &writeopts.inner).map_err(conflict)
    }

    /// Merges an operand into a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn merge_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.base.merge(Some(cf.inner()), key.as_ref(), value.as_ref(), &writeopts.inner).map_err(conflict)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Deletes a key of a column family.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        self.delete_cf_opt(cf, key, &WriteOptions::default())
    }

    /// Deletes a key, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_opt<K: AsRef<[u8]>>(&self, key: K, writeopts: &WriteOptions) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| family.delete_with(key.as_ref(), &writeopts.inner);
        self.base.with_family(None, delete).map_err(conflict)
    }

    /// Deletes a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| family.delete_with(key.as_ref(), &writeopts.inner);
        self.base.with_family(Some(cf.inner()), delete).map_err(conflict)
    }

    iterators!();

    fn create_family(&self, name: &str, opts: &Options) -> Result<CfHandle, Error> {
        self.db.create_family(opts.descriptor(name)?)?;
        Ok(self.base.handle(name)?)
    }

    fn drop_family(&self, cf: &CfHandle) -> Result<(), Error> {
        Ok(self.db.drop_family(&cf.family)?)
    }
}

impl TransactionDB<SingleThreaded> {
    /// As `create_cf` of [`crate::DBCommon`].
    ///
    /// # Errors
    /// InvalidArgument if the column family exists.
    pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
        let inner = self.create_family(name.as_ref(), opts)?;
        self.cfs.cfs.insert(name.as_ref().to_string(), ColumnFamily { inner });
        Ok(())
    }

    /// As `cf_handle` of [`crate::DBCommon`].
    pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.cfs.cfs.get(name)
    }

    /// As `drop_cf` of [`crate::DBCommon`].
    ///
    /// # Errors
    /// InvalidArgument for the default column family.
    pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
        let cf = self.cfs.cfs.remove(name).ok_or_else(|| unknown(name))?;
        self.drop_family(&cf.inner)
    }
}

impl TransactionDB<MultiThreaded> {
    /// As `create_cf` of [`crate::DBCommon`].
    ///
    /// # Errors
    /// InvalidArgument if the column family exists.
    pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
        let mut cfs = self.cfs.cfs.write(); // the lock is held during the creation, so that each name gets only one handle
        let inner = self.create_family(name.as_ref(), opts)?;
        cfs.insert(name.as_ref().to_string(), bound(inner));
        Ok(())
    }

    /// As `cf_handle` of [`crate::DBCommon`].
    pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.cfs.cfs.read().get(name).cloned().map(|cf| cf as Arc<BoundColumnFamily<'_>>)
    }

    /// As `drop_cf` of [`crate::DBCommon`].
    ///
    /// # Errors
    /// InvalidArgument for the default column family.
    pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
        let cf = self.cfs.cfs.write().remove(name).ok_or_else(|| unknown(name))?;
        self.drop_family(&cf.inner)
    }

    /// As [`crate::DBCommon::property_value`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::property_value`].
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        property(&self.base.plain(), name)
    }

    /// As [`crate::DBCommon::property_int_value`].
    ///
    /// # Errors
    /// As [`crate::DBCommon::property_int_value`].
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        number(self.property_value(name)?)
    }
}
