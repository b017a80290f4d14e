//! [`OptimisticTransactionDb`]: transactions that check for conflicts at commit.
//!
//! Each key that a transaction writes or reads for update is tracked with a sequence number. The commit compares each key
//! with the newest write in the memtables and in the history of flushed memtables. No SST file is read: if the history is
//! too short, the commit fails with TryAgain. Facts: RocksDB `utilities/transactions/optimistic_transaction*.cc`.

mod buckets;
pub(super) mod shared;

pub use buckets::OccLockBuckets;

use std::borrow::BorrowMut;
use std::ops::Deref;
use std::path::Path;

use base::{Error, Result};
use engine::batch::WriteBatch;
use engine::options::WriteOptions;
use env::sync::Arc;
use format::batch::Record;

use super::indexed::Core;
use super::options::{OptimisticTransactionDbOptions, OptimisticTransactionOptions};
use super::transaction::{Control, Shared, Transaction};
use crate::{Db, FamilyDescriptor, Options};
use shared::OptimisticShared;

/// A database with optimistic transactions.
///
/// The type dereferences to [`Db`] for all other calls. A write outside of a transaction is a conflict for a
/// transaction that tracks the key. With [`OccValidationPolicy::ValidateParallel`], a commit may miss a write outside
/// of a transaction that happens during the commit. With [`OccValidationPolicy::ValidateSerial`], a commit never
/// misses such a write.
///
/// ```
/// use ironstone::{Kind, OptimisticTransactionDb, Options};
///
/// let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
/// let transaction = db.begin();
/// transaction.get_for_update(b"k")?;
/// transaction.put(b"k", b"1")?;
/// db.put(b"k", b"2")?; // another writer
/// assert_eq!(transaction.commit().unwrap_err().kind(), Kind::Busy);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct OptimisticTransactionDb {
    db: Db,
    shared: Arc<OptimisticShared>,
}

impl OptimisticTransactionDb {
    /// Opens the database at `path`. Changes a `max_write_buffer_size_to_maintain` of 0 to -1: flushed memtables then
    /// stay in memory for conflict checks.
    ///
    /// ```
    /// use ironstone::{Options, OptimisticTransactionDb};
    ///
    /// let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// db.put(b"k", b"2")?;
    /// assert!(transaction.commit().is_err()); // Busy: the key was changed
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::open`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_with(path, options, OptimisticTransactionDbOptions::default(), None)
    }

    /// Opens a database with optimistic transactions, with options of the transactions and with column families. With
    /// `None`, opens all existing column families with the options of the default column family.
    ///
    /// # Errors
    /// The errors of [`Db::open_with_families`].
    ///
    /// ```
    /// use ironstone::{FamilyDescriptor, FamilyOptions, OptimisticTransactionDb, Options};
    ///
    /// let mut options = Options::in_memory();
    /// options.db.create_missing_column_families = true;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// let default = FamilyDescriptor::new("default", FamilyOptions::default());
    /// let db = OptimisticTransactionDb::open_with("data", options, Default::default(), Some(vec![default, users]))?;
    /// let transaction = db.begin();
    /// transaction.put_in(&db.family("users")?, b"1", b"Ada")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with(
        path: impl AsRef<Path>,
        mut options: Options,
        transactions: OptimisticTransactionDbOptions,
        families: Option<Vec<FamilyDescriptor>>,
    ) -> Result<Self> {
        keep_history(&mut options.family);
        let db = match families {
            None => Db::open(path, options)?,
            Some(mut families) => {
                families.iter_mut().for_each(|family| keep_history(&mut family.options));
                Db::open_with_families(path, options, families)?
            }
        };
        let make = || OccLockBuckets::new(transactions.occ_lock_buckets);
        let buckets = transactions.shared_lock_buckets.clone().unwrap_or_else(make);
        let shared = OptimisticShared { policy: transactions.validate_policy, buckets };
        Ok(OptimisticTransactionDb { db, shared: Arc::new(shared) })
    }

    /// Begins a transaction with default options.
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn begin(&self) -> Transaction {
        self.begin_with(&WriteOptions::default(), &OptimisticTransactionOptions::default())
    }

    /// Begins a transaction that commits with `write_options`.
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// use ironstone::{OptimisticTransactionOptions, WriteOptions};
    ///
    /// let options = OptimisticTransactionOptions { set_snapshot: true, ..OptimisticTransactionOptions::default() };
    /// let transaction = db.begin_with(&WriteOptions::default(), &options);
    /// assert!(transaction.snapshot().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn begin_with(
        &self,
        write_options: &WriteOptions,
        options: &OptimisticTransactionOptions,
    ) -> Transaction {
        let order = self.db.default_family().inner().order().user.clone();
        let control = Control::Optimistic(self.shared.clone());
        let clock = self.db.engine().env().clock.clone();
        let shared = Shared::new(control, Core::new(order, true, 0, 0), *write_options, clock);
        let transaction = Transaction::new(&self.db, None, Arc::new(shared));
        if options.set_snapshot {
            transaction.set_snapshot();
        }
        transaction
    }

    /// Writes a batch with default options. See [`Db::write`].
    ///
    /// ```
    /// # use ironstone::{OptimisticTransactionDb, Options};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let mut batch = ironstone::WriteBatch::new();
    /// batch.put(b"k", b"1");
    /// db.write(batch)?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`OptimisticTransactionDb::write_with`].
    pub fn write(&self, batch: impl BorrowMut<WriteBatch>) -> Result<()> {
        self.write_with(batch, &WriteOptions::default())
    }

    /// Writes a batch, with options. See [`Db::write_with`].
    ///
    /// ```
    /// # use ironstone::{OptimisticTransactionDb, Options, WriteBatch, WriteOptions};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"k", b"1").delete_range(b"a", b"f");
    /// assert!(db.write_with(&mut batch, &WriteOptions::default()).is_err());
    /// assert!(db.get(b"k")?.is_none()); // nothing of the batch is written
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::write_with`]; NotSupported for a batch with range deletions.
    pub fn write_with(&self, mut batch: impl BorrowMut<WriteBatch>, options: &WriteOptions) -> Result<()> {
        for record in batch.borrow_mut().iter() {
            if matches!(record?, Record::DeleteRange { .. }) {
                return Err(range_deletion());
            }
        }
        self.db.write_with(batch, options)
    }

    /// Rejects the range deletion, as RocksDB does. [`OptimisticTransactionDb::base`] and handles of column families accept
    /// range deletions.
    ///
    /// ```
    /// # use ironstone::{OptimisticTransactionDb, Options};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// assert!(db.delete_range(b"a", b"f").is_err());
    /// db.base().delete_range(b"a", b"f")?; // a conflict for the transactions that use these keys
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported in all cases.
    pub fn delete_range(&self, _begin: &[u8], _end: &[u8]) -> Result<()> {
        Err(range_deletion())
    }

    /// Rejects the range deletion. See [`OptimisticTransactionDb::delete_range`].
    ///
    /// ```
    /// # use ironstone::{OptimisticTransactionDb, Options};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// assert!(db.delete_range_with(b"a", b"f", &ironstone::WriteOptions::default()).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported in all cases.
    pub fn delete_range_with(&self, _begin: &[u8], _end: &[u8], _options: &WriteOptions) -> Result<()> {
        Err(range_deletion())
    }

    /// Rejects the range deletion. See [`OptimisticTransactionDb::delete_range`].
    ///
    /// ```
    /// # use ironstone::{OptimisticTransactionDb, Options};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let timestamp = 7u64.to_le_bytes();
    /// assert!(db.delete_range_with_ts(b"a", b"f", &timestamp, &ironstone::WriteOptions::default()).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported in all cases.
    pub fn delete_range_with_ts(
        &self,
        _begin: &[u8],
        _end: &[u8],
        _timestamp: &[u8],
        _options: &WriteOptions,
    ) -> Result<()> {
        Err(range_deletion())
    }

    /// Returns the database without transactions. RocksDB: `GetBaseDB`.
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// db.base().flush()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn base(&self) -> &Db {
        &self.db
    }
}

impl Deref for OptimisticTransactionDb {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl std::fmt::Debug for OptimisticTransactionDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Optimistic{:?}", self.db)
    }
}

fn range_deletion() -> Error {
    Error::not_supported("range deletions in a database with optimistic transactions")
}

/// Keeps flushed memtables for conflict checks, unless the options set another size.
pub(super) fn keep_history(options: &mut engine::options::FamilyOptions) {
    if options.max_write_buffer_size_to_maintain == 0 {
        options.max_write_buffer_size_to_maintain = -1;
    }
}
