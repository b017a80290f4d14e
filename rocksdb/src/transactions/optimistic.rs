//! Optimistic transaction databases: transactions take no locks and check for conflicts at commit.

use std::path::Path;

use ironstone::{OptimisticTransactionDb, OptimisticTransactionDbOptions};

use crate::base::Base;
use crate::db::{DBInner, batch_writes, create_directory, descriptors, handles, lockless_writes, plain};
use crate::error::conflict;
use crate::{
    AsColumnFamilyRef, ColumnFamilyDescriptor, DBCommon, Error, OptimisticTransactionOptions, Options,
    ThreadMode, Transaction, WriteBatchWithTransaction, WriteOptions,
};

/// A database whose transactions take no locks and check for conflicts at commit.
///
/// ```
/// use rocksdb::{OptimisticTransactionDB, SingleThreaded};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = OptimisticTransactionDB::<SingleThreaded>::open_default(dir.path())?;
/// let txn = db.transaction();
/// txn.get_for_update(b"k", true)?;
/// txn.put(b"k", b"1")?;
/// db.put(b"k", b"2")?; // a conflict
/// assert!(txn.commit().is_err());
/// # Ok::<(), rocksdb::Error>(())
/// ```
#[cfg(not(feature = "multi-threaded-cf"))]
pub type OptimisticTransactionDB<T = crate::SingleThreaded> = DBCommon<T, OptimisticTransactionDBInner>;

/// A database whose transactions take no locks and check for conflicts at commit.
#[cfg(feature = "multi-threaded-cf")]
pub type OptimisticTransactionDB<T = crate::MultiThreaded> = DBCommon<T, OptimisticTransactionDBInner>;

/// The content of an optimistic transaction database.
pub struct OptimisticTransactionDBInner {
    base: Base,
    db: OptimisticTransactionDb,
}

impl DBInner for OptimisticTransactionDBInner {
    #[inline]
    fn inner(&self) -> &Base {
        &self.base
    }
}

impl Drop for OptimisticTransactionDBInner {
    /// Closes the database. Ignores the error of the close, because the engine writes it to the info log.
    fn drop(&mut self) {
        let _ = self.base.close();
    }
}

impl<T: ThreadMode> OptimisticTransactionDB<T> {
    /// Opens a database with default options. Creates a database that does not exist.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open`].
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens a database with its default column family.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open`].
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_cf(opts, path, None::<&str>)
    }

    /// Opens a database with column families. The options of the column families are the default options.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open_cf`].
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors(opts, path, plain(cfs))
    }

    /// Opens a database with descriptors.
    ///
    /// # Errors
    /// The errors of [`crate::DBWithThreadMode::open_cf`].
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let cfs: Vec<ColumnFamilyDescriptor> = cfs.into_iter().collect();
        let (families, names) = descriptors(opts, &cfs)?;
        let (options, transactions) = (opts.get()?, OptimisticTransactionDbOptions::default());
        create_directory(&options.db, path.as_ref())?;
        let db = OptimisticTransactionDb::open_with(path.as_ref(), options, transactions, Some(families))?;
        let base = Base::of_db(db.base().clone());
        let cfs = handles(&base, names)?;
        Ok(Self::new(OptimisticTransactionDBInner { base, db }, cfs, path.as_ref().to_path_buf()))
    }

    /// Begins a transaction.
    pub fn transaction(&self) -> Transaction<'_, Self> {
        self.transaction_opt(&WriteOptions::default(), &OptimisticTransactionOptions::default())
    }

    /// Begins a transaction, with options.
    pub fn transaction_opt(
        &self,
        writeopts: &WriteOptions,
        otxn_opts: &OptimisticTransactionOptions,
    ) -> Transaction<'_, Self> {
        Transaction::new(Ok(self.inner.db.begin_with(&writeopts.inner, &otxn_opts.inner)), self.base())
    }

    batch_writes!(WriteBatchWithTransaction<true>, conflict);
    lockless_writes!(WriteBatchWithTransaction<true>, conflict);
}
