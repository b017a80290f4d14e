//! [`TransactionDb`]: transactions that lock the keys that they use.
//!
//! `registry` holds the named transactions and the timestamped snapshots, `guard` locks the keys of writes outside of
//! transactions, `locks` is the lock manager. An open restores the prepared transactions that recovery found. Facts:
//! RocksDB `utilities/transactions/pessimistic_transaction_db.cc`.

mod guard;
mod registry;
mod writing;

pub use registry::TimestampedSnapshot;
pub(super) use registry::{Abandoned, Registry};

use std::ops::Deref;
use std::path::Path;

use base::{Error, Result};
use engine::batch::WriteBatch;
use engine::options::WriteOptions;
use engine::prepared::Section;
use env::sync::Arc;

use super::indexed::Core;
use super::locks::{DeadlockPath, KeyLockInfo, LockManager, Owner, Patience, TransactionState};
use super::optimistic::keep_history;
use super::options::{TransactionDbOptions, TransactionOptions, TxnDbWritePolicy};
use super::transaction::{Control, Pessimistic, Sections, Settings, Shared, Transaction};
use crate::open::open_for_transactions;
use crate::{Db, ExportImportFilesMetaData, Family, FamilyDescriptor, ImportColumnFamilyOptions, Options};
use guard::KeyGuard;

/// A database with pessimistic transactions and two-phase commit.
///
/// The type dereferences to [`Db`]. All writes outside of a transaction, also through [`Family`] handles, lock their
/// keys during the write. Range deletions are rejected. A database with prepared transactions must be opened with
/// this type; [`Db`] rejects such a database.
///
/// ```
/// use ironstone::{Kind, Options, TransactionDb, TransactionDbOptions};
///
/// let transactions = TransactionDbOptions { default_lock_timeout: 1, ..TransactionDbOptions::default() };
/// let db = TransactionDb::open("data", Options::in_memory(), transactions)?;
/// let transaction = db.begin();
/// transaction.put(b"k", b"1")?; // locks the key
/// assert_eq!(db.put(b"k", b"2").unwrap_err().kind(), Kind::TimedOut);
///
/// transaction.set_name(b"transfer-7")?;
/// transaction.prepare()?; // from here on, the transaction survives a crash
/// transaction.commit()?;
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct TransactionDb {
    /// Its writes lock their keys.
    db: Db,
    /// The same database. Its writes lock no keys.
    base: Db,
    registry: Arc<Registry>,
    locks: Arc<LockManager>,
    options: Arc<TransactionDbOptions>,
}

impl TransactionDb {
    /// Opens the database at `path`. Sets `allow_2pc`. Changes a `max_write_buffer_size_to_maintain` of 0 to -1:
    /// flushed memtables then stay in memory for conflict checks.
    ///
    /// ```
    /// use ironstone::{Options, TransactionDb, TransactionDbOptions};
    ///
    /// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.put(b"k", b"1")?; // a transaction of one write
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::open`]; NotSupported for options that are not built, and with `unordered_write`;
    /// InvalidArgument for a column family whose timestamps do not have 8 bytes.
    pub fn open(
        path: impl AsRef<Path>,
        options: Options,
        transactions: TransactionDbOptions,
    ) -> Result<Self> {
        Self::open_with(path, options, transactions, None)
    }

    /// Opens a database with pessimistic transactions and with column families. With `None`, opens all existing column
    /// families with the options of the default column family.
    ///
    /// # Errors
    /// The errors of [`TransactionDb::open`] and [`Db::open_with_families`].
    ///
    /// ```
    /// use ironstone::{FamilyDescriptor, FamilyOptions, Options, TransactionDb};
    ///
    /// let mut options = Options::in_memory();
    /// options.db.create_missing_column_families = true;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// let default = FamilyDescriptor::new("default", FamilyOptions::default());
    /// let db = TransactionDb::open_with("data", options, Default::default(), Some(vec![default, users]))?;
    /// let transaction = db.begin();
    /// transaction.put_in(&db.family("users")?, b"1", b"Ada")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with(
        path: impl AsRef<Path>,
        mut options: Options,
        transactions: TransactionDbOptions,
        families: Option<Vec<FamilyDescriptor>>,
    ) -> Result<Self> {
        transactions.check()?;
        let policy = transactions.write_policy;
        check_order(&options, policy)?;
        options.db.allow_2pc = true;
        check_family(&options.family, policy)?;
        keep_history(&mut options.family);
        let families = families.map(|mut families| {
            for family in &mut families {
                check_family(&family.options, policy)?;
                keep_history(&mut family.options);
            }
            Ok::<_, Error>(families)
        });
        let db = open_for_transactions(path.as_ref(), options, families.transpose()?, policy.engine())?;
        Self::over(db, transactions)
    }

    fn over(db: Db, options: TransactionDbOptions) -> Result<Self> {
        let locks = Arc::new(LockManager::new(
            &options,
            db.engine().env().clock.clone(),
            db.engine().stats().clone(),
        ));
        let registry: Arc<Registry> = Arc::default();
        db.engine().for_transactions().set_write_guard(Arc::new(KeyGuard {
            locks: locks.clone(),
            registry: Arc::downgrade(&registry),
            timeout_ms: options.default_lock_timeout,
            skip_concurrency_control: options.skip_concurrency_control,
        }));
        let recovered = db.engine().for_transactions().take_recovered();
        let base = Db::new(engine::db::unguarded(db.engine()))?;
        let db = TransactionDb { db, base, registry, locks, options: Arc::new(options) };
        recovered.into_iter().try_for_each(|section| db.restore(section))?;
        Ok(db)
    }

    /// Restores a transaction that recovery found: prepared if it was prepared, otherwise rolled back. As in RocksDB,
    /// a recovered transaction holds no locks. The application commits or rolls back the recovered transactions
    /// before it begins new transactions.
    fn restore(&self, section: Section) -> Result<()> {
        let options = TransactionOptions { skip_concurrency_control: true, ..TransactionOptions::default() };
        let write_options = WriteOptions { sync: true, ..WriteOptions::default() };
        let transaction = self.begin_with(&write_options, &options)?;
        let policy = self.options.write_policy;
        if policy != TxnDbWritePolicy::WriteCommitted {
            let sections = Sections::recovered(&section, &self.options)?;
            if section.is_unprepared() {
                return sections.roll_back(&self.db, &section.name, &write_options);
            }
            let mut body = transaction.shared().body.lock();
            (body.sections, body.name) = (sections, section.name.clone());
        }
        // With `WriteUnprepared`, the transaction reads its sections.
        if policy != TxnDbWritePolicy::WriteUnprepared {
            transaction.restore(&WriteBatch::from_bytes(&section.batch())?)?;
        }
        let shared = transaction.shared();
        let Some(pessimistic) = shared.pessimistic() else { return Ok(()) };
        {
            let mut body = shared.body.lock();
            body.prepared_in = Some(section.wal);
            body.prepared_bytes = shared.core.lock().batch.data_size();
            body.name = section.name.clone();
        }
        self.registry.register_recovered(&section.name, pessimistic.owner.id(), shared.clone())?;
        pessimistic.owner.set_state(TransactionState::Prepared);
        Ok(())
    }

    /// Begins a transaction with default options.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn begin(&self) -> Transaction {
        self.make(&WriteOptions::default(), &TransactionOptions::default())
    }

    /// Begins a transaction that commits with `write_options`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{TransactionOptions, WriteOptions};
    ///
    /// let options = TransactionOptions { set_snapshot: true, lock_timeout: 10, ..TransactionOptions::default() };
    /// let transaction = db.begin_with(&WriteOptions::default(), &options)?;
    /// assert!(transaction.snapshot().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported for options that are not built.
    pub fn begin_with(
        &self,
        write_options: &WriteOptions,
        options: &TransactionOptions,
    ) -> Result<Transaction> {
        options.check(self.options.write_policy)?;
        Ok(self.make(write_options, options))
    }

    fn make(&self, write_options: &WriteOptions, options: &TransactionOptions) -> Transaction {
        self.registry.roll_back_abandoned();
        let clock = self.db.engine().env().clock.clone();
        let expiration_us = match u64::try_from(options.expiration) {
            Ok(milliseconds) => clock.now_micros().saturating_add(milliseconds.saturating_mul(1000)),
            Err(_) => 0,
        };
        let timeout_ms = if options.lock_timeout < 0 {
            self.options.transaction_lock_timeout
        } else {
            options.lock_timeout
        };
        let lock_timeout_us = timeout_ms.saturating_mul(1000);
        let patience = Patience {
            lock_timeout_us,
            deadlock_timeout_us: options.deadlock_timeout_us.min(lock_timeout_us.max(0)),
            detect_depth: options.deadlock_detect.then(|| options.deadlock_detect_depth.max(0) as usize),
        };
        let control = Control::Pessimistic(Pessimistic {
            owner: Arc::new(Owner::new(expiration_us, patience)),
            locks: self.locks.clone(),
            registry: Arc::downgrade(&self.registry),
            settings: Settings {
                skip_prepare: options.skip_prepare,
                skip_concurrency_control: options.skip_concurrency_control,
                enable_udt_validation: self.options.enable_udt_validation,
                policy: self.options.write_policy,
                rollback_merge_operands: self.options.rollback_merge_operands,
                commit_time_for_recovery: options.use_only_the_last_commit_time_batch_for_recovery,
                flush_threshold: self.flush_threshold(options),
                large_commit: options.large_commit(),
            },
            rollback_deletion: self.options.rollback_deletion_type_callback.clone(),
        });
        let order = self.db.default_family().inner().order().user.clone();
        // RocksDB's batch is one byte larger: it starts with a placeholder.
        let bytes_max = match options.max_write_batch_size {
            0 => 0,
            limit => (limit - 1).max(1),
        };
        let core = Core::new(order, true, 0, bytes_max);
        let shared = Arc::new(Shared::new(control, core, *write_options, clock));
        let transaction = Transaction::new(&self.db, Some(self.registry.clone()), shared);
        if options.set_snapshot {
            transaction.set_snapshot();
        }
        transaction
    }

    /// Returns the batch size above which a transaction writes its batch before prepare; 0: never.
    fn flush_threshold(&self, options: &TransactionOptions) -> u64 {
        let own = u64::try_from(options.write_batch_flush_threshold);
        let default = u64::try_from(self.options.default_write_batch_flush_threshold);
        if self.options.write_policy == TxnDbWritePolicy::WriteUnprepared {
            own.or(default).unwrap_or(0)
        } else {
            0
        }
    }

    /// Returns the live transaction with this name.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// assert_eq!(db.transaction_by_name(b"transfer-1").map(|t| t.id()), Some(transaction.id()));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn transaction_by_name(&self, name: &[u8]) -> Option<Transaction> {
        let shared = self.registry.get(name)?;
        Some(Transaction::new(&self.db, Some(self.registry.clone()), shared))
    }

    /// Returns all prepared transactions, by name: transactions of this process, and transactions that recovery
    /// found.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// for transaction in db.all_prepared_transactions() {
    ///     transaction.commit()?; // or `rollback`: the application decides after a crash
    /// }
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn all_prepared_transactions(&self) -> Vec<Transaction> {
        let handle = |shared| Transaction::new(&self.db, Some(self.registry.clone()), shared);
        self.registry.prepared().into_iter().map(handle).collect()
    }

    /// Lists all locked keys, by column family and key. RocksDB: `GetLockStatusData`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(db.lock_status_data().len(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn lock_status_data(&self) -> Vec<KeyLockInfo> {
        self.locks.locked()
    }

    /// Returns the last deadlocks, newest first. RocksDB: `GetDeadlockInfoBuffer`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// assert!(db.deadlock_info_buffer().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn deadlock_info_buffer(&self) -> Vec<DeadlockPath> {
        self.locks.deadlocks()
    }

    /// Changes the number of deadlocks that are kept.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.set_deadlock_info_buffer_size(20);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_deadlock_info_buffer_size(&self, count: u32) {
        self.locks.resize_deadlocks(count);
    }

    /// Takes a snapshot of the current state with a timestamp. Timestamps must not decrease.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.create_timestamped_snapshot(7)?;
    /// assert!(db.create_timestamped_snapshot(6).is_err()); // timestamps do not go back
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument for the largest timestamp, if a snapshot has a larger timestamp, or the same timestamp and an older
    /// state.
    pub fn create_timestamped_snapshot(&self, timestamp: u64) -> Result<TimestampedSnapshot> {
        if self.options.write_policy != TxnDbWritePolicy::WriteCommitted {
            return Err(Error::not_supported("timestamped snapshots with this write policy"));
        }
        if timestamp == u64::MAX {
            return Err(Error::invalid_argument("invalid ts"));
        }
        self.registry.snapshots.create(&self.db, timestamp, None)
    }

    /// Returns the snapshot with this timestamp.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.create_timestamped_snapshot(7)?;
    /// assert!(db.timestamped_snapshot(7).is_some());
    /// assert!(db.timestamped_snapshot(8).is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn timestamped_snapshot(&self, timestamp: u64) -> Option<TimestampedSnapshot> {
        self.registry.snapshots.get(timestamp, &self.db)
    }

    /// Returns the snapshot with the largest timestamp.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// assert!(db.latest_timestamped_snapshot().is_none());
    /// db.create_timestamped_snapshot(7)?;
    /// assert!(db.latest_timestamped_snapshot().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn latest_timestamped_snapshot(&self) -> Option<TimestampedSnapshot> {
        self.registry.snapshots.latest(&self.db)
    }

    /// Returns the snapshots with `from <= timestamp < to`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// for timestamp in [5, 6, 7] {
    ///     db.create_timestamped_snapshot(timestamp)?;
    /// }
    /// assert_eq!(db.timestamped_snapshots(5, 7)?.len(), 2); // the end is not included
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if the range is empty.
    pub fn timestamped_snapshots(&self, from: u64, to: u64) -> Result<Vec<TimestampedSnapshot>> {
        if from >= to {
            return Err(Error::invalid_argument("timestamp lower bound must be smaller than upper bound"));
        }
        Ok(self.registry.snapshots.range(from, to, &self.db))
    }

    /// Releases the snapshots with smaller timestamps. A snapshot stays alive while a handle to it exists.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.create_timestamped_snapshot(5)?;
    /// db.release_timestamped_snapshots_older_than(6);
    /// assert!(db.timestamped_snapshot(5).is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn release_timestamped_snapshots_older_than(&self, timestamp: u64) {
        self.registry.snapshots.release_older_than(timestamp);
    }

    /// Creates a column family. Changes a `max_write_buffer_size_to_maintain` of 0 to -1.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{FamilyDescriptor, FamilyOptions};
    ///
    /// let family = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// let transaction = db.begin();
    /// transaction.put_in(&family, b"k", b"1")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::create_family`]; InvalidArgument for timestamps that do not have 8 bytes.
    pub fn create_family(&self, mut descriptor: FamilyDescriptor) -> Result<Family> {
        check_family(&descriptor.options, self.options.write_policy)?;
        keep_history(&mut descriptor.options);
        self.db.create_family(descriptor)
    }

    /// Creates several column families, in the order of the list. Checks the options of all column families first.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let named = |name: &str| FamilyDescriptor::new(name, FamilyOptions::default());
    /// let made = db.create_families(vec![named("users"), named("orders")])?;
    /// assert_eq!(made[1].name(), "orders");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`TransactionDb::create_family`] and [`Db::create_families`].
    pub fn create_families(&self, mut descriptors: Vec<FamilyDescriptor>) -> Result<Vec<Family>> {
        for descriptor in &mut descriptors {
            check_family(&descriptor.options, self.options.write_policy)?;
            keep_history(&mut descriptor.options);
        }
        self.db.create_families(descriptors)
    }

    /// Creates a column family from one or more exports. See [`Db::create_family_with_import`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// use ironstone::{Checkpoint, FamilyDescriptor, ImportColumnFamilyOptions};
    ///
    /// # let options = Options::in_memory();
    /// # let db = TransactionDb::open("data", options.clone(), TransactionDbOptions::default())?;
    /// db.put(b"k", b"v")?;
    /// let export = Checkpoint::new(&db).export_column_family(&db, "export")?;
    /// let copy = FamilyDescriptor::new("copy", options.family);
    /// let family = db.create_family_with_import(copy, &ImportColumnFamilyOptions::default(), &[&export])?;
    /// assert!(family.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`TransactionDb::create_family`] and [`Db::create_family_with_import`].
    pub fn create_family_with_import(
        &self,
        mut descriptor: FamilyDescriptor,
        options: &ImportColumnFamilyOptions,
        exports: &[&ExportImportFilesMetaData],
    ) -> Result<Family> {
        check_family(&descriptor.options, self.options.write_policy)?;
        keep_history(&mut descriptor.options);
        self.db.create_family_with_import(descriptor, options, exports)
    }

    /// Drops several column families and their locks, in the order of the list.
    ///
    /// ```
    /// # use ironstone::{FamilyDescriptor, FamilyOptions, Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let users = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// let transaction = db.begin();
    /// transaction.put_in(&users, b"k", b"1")?;
    /// db.drop_families(&[users])?;
    /// assert!(db.lock_status_data().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`TransactionDb::drop_family`], for the first column family that cannot be dropped.
    pub fn drop_families(&self, families: &[Family]) -> Result<()> {
        families.iter().try_for_each(|family| self.drop_family(family))
    }

    /// Drops a column family and its locks. Transactions that wrote to the family fail their commit.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # use ironstone::{FamilyDescriptor, FamilyOptions};
    /// let family = db.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// db.drop_family(&family)?;
    /// assert!(db.family("users").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::drop_family`].
    pub fn drop_family(&self, family: &Family) -> Result<()> {
        self.db.drop_family(family)?;
        self.locks.remove_family(family.id());
        Ok(())
    }

    /// Returns the database without transactions. Its writes lock no keys and wait for no transaction, and it takes range
    /// deletions. A transaction finds a conflict with such a write only if the transaction reads or writes the key after
    /// the write and has a snapshot from before the write. RocksDB's `GetBaseDB`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?; // locks the key
    /// db.base().put(b"k", b"2")?; // does not wait for the lock
    /// db.base().delete_range(b"a", b"z")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn base(&self) -> &Db {
        &self.base
    }
}

impl Deref for TransactionDb {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl std::fmt::Debug for TransactionDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction{:?}", self.db)
    }
}

/// Checks the options of a column family against the write policy.
fn check_family(options: &engine::options::FamilyOptions, policy: TxnDbWritePolicy) -> Result<()> {
    let size = options.comparator.timestamp_size();
    if size != 0 && size != 8 {
        return Err(Error::invalid_argument(format!(
            "Timestamp of transaction must have 8 bytes. CF comparator {} timestamp size is {size} bytes",
            options.comparator.name()
        )));
    }
    if policy == TxnDbWritePolicy::WriteCommitted {
        return Ok(());
    }
    if size > 0 {
        return Err(Error::not_supported("Only WriteCommittedTxn supports timestamp"));
    }
    if options.inplace_update_support {
        return Err(Error::not_supported(
            "inplace_update_support with the write policies WritePrepared and WriteUnprepared",
        ));
    }
    Ok(())
}

/// Checks that the write policy allows the order of writes.
fn check_order(options: &Options, policy: TxnDbWritePolicy) -> Result<()> {
    if !options.db.unordered_write {
        return Ok(());
    }
    Err(Error::not_supported(match policy {
        TxnDbWritePolicy::WriteCommitted => "WRITE_COMMITTED is incompatible with unordered_writes",
        TxnDbWritePolicy::WriteUnprepared => {
            "WRITE_UNPREPARED is currently incompatible with unordered_writes"
        }
        TxnDbWritePolicy::WritePrepared if options.db.two_write_queues => return Ok(()),
        TxnDbWritePolicy::WritePrepared => {
            "WRITE_PREPARED is incompatible with unordered_writes if two_write_queues is not enabled."
        }
    }))
}
