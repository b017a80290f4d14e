//! Transaction databases: each transaction locks the keys that it writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::sync::Mutex;
use ironstone::TransactionDb;

use crate::base::Base;
use crate::column_family::CfHandle;
use crate::db::{
    access, batch_writes, create_directory, descriptors, families, flushes, handles, iterators, number,
    plain, property, reads, reads_of_base, writes,
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
    /// The errors of [`crate::DBWithThreadMode::open`].
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, &TransactionDBOptions::default(), path)
    }

    /// Opens a database with its default column family.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open`].
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
    /// The errors of [`crate::DBWithThreadMode::open_cf`].
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
        Self::open_cf_descriptors(opts, txn_db_opts, path, plain(cfs))
    }

    /// Opens a database with descriptors.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open_cf`].
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
        let base = Base::of_db((*db).clone());
        let cfs = handles(&base, names)?;
        let prepared = Mutex::new(db.all_prepared_transactions());
        Ok(TransactionDB { db, base, cfs, path: path.as_ref().to_path_buf(), prepared })
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// Works like [`crate::DBCommon::list_cf`].
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::list_cf`].
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        DB::list_cf(opts, path)
    }

    /// Works like [`crate::DBCommon::destroy`].
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::destroy`].
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DB::destroy(opts, path)
    }

    /// Works like [`crate::DBCommon::repair`].
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::repair`].
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DB::repair(opts, path)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    flushes!();

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

    reads_of_base!();
    reads!(
        "A later write does not change the returned value.",
        "All values are read at one sequence number."
    );
    writes!(conflict);
    batch_writes!(WriteBatchWithTransaction<true>, conflict);
    iterators!();

    fn create_family(&self, name: &str, opts: &Options) -> Result<CfHandle, Error> {
        self.db.create_family(opts.descriptor(name)?)?;
        Ok(self.base.handle(name)?)
    }

    fn drop_family(&self, cf: &CfHandle) -> Result<(), Error> {
        Ok(self.db.drop_family(&cf.family)?)
    }
}

families!(SingleThreaded [] TransactionDB<SingleThreaded>);
families!(MultiThreaded [] TransactionDB<MultiThreaded>);

impl TransactionDB<MultiThreaded> {
    /// Works like [`crate::DBCommon::property_value`].
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::property_value`].
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        property(&self.base.plain(), name)
    }

    /// Works like [`crate::DBCommon::property_int_value`].
    ///
    /// # Errors
    /// The errors of [`crate::DBCommon::property_int_value`].
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        number(self.property_value(name)?)
    }
}
