//! The options of transactional databases and of transactions. Names and defaults are RocksDB 11.8.1's
//! (`include/rocksdb/utilities/transaction_db.h`, `optimistic_transaction_db.h`).
//!
//! Options whose feature is not built are rejected by name ([`TransactionDbOptions::check`]). The fields
//! `custom_mutex_factory`, `lock_mgr_handle` (range locks) and `secondary_indices` do not exist here.

use base::{Error, Result};
use engine::prepared::WritePolicy;
use env::sync::Arc;

use super::optimistic::OccLockBuckets;
use crate::Family;

base::option_words! {
    /// Selects when the writes of a transaction reach the memtables. RocksDB: `TxnDBWritePolicy`.
    ///
    /// ```
    /// use ironstone::{Options, TransactionDb, TransactionDbOptions, TxnDbWritePolicy};
    ///
    /// let options = TransactionDbOptions { write_policy: TxnDbWritePolicy::WritePrepared, ..Default::default() };
    /// let db = TransactionDb::open("data", Options::in_memory(), options)?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"v")?;
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    TxnDbWritePolicy: "write policy" {
        /// At commit: the memtables hold only committed data.
        #[default]
        WriteCommitted = 0, "WRITE_COMMITTED";
        /// At prepare. A commit then only writes a record to the WAL, and readers skip entries that are not committed.
        /// Keys with timestamps and tailing iterators are rejected. Range deletions are rejected without
        /// [`TransactionDbWriteOptimizations::skip_duplicate_key_check`].
        WritePrepared = 1, "WRITE_PREPARED";
        /// At prepare, as for `WritePrepared`. In addition, the batch of a named transaction is written before prepare, each
        /// time that it is larger than the threshold ([`TransactionDbOptions::default_write_batch_flush_threshold`]). So the memory of a transaction is
        /// limited, except for its locks. A transaction that is not prepared is rolled back by the open after a crash.
        WriteUnprepared = 2, "WRITE_UNPREPARED";
    }
}

impl TxnDbWritePolicy {
    pub(super) fn engine(self) -> WritePolicy {
        match self {
            TxnDbWritePolicy::WriteCommitted => WritePolicy::Committed,
            TxnDbWritePolicy::WritePrepared => WritePolicy::Prepared,
            TxnDbWritePolicy::WriteUnprepared => WritePolicy::Unprepared,
        }
    }
}

/// Decides how a rollback deletes a key that had no value before the transaction: see
/// [`TransactionDbOptions::rollback_deletion_type_callback`].
///
/// ```
/// use ironstone::{RollbackDeletionType, TransactionDbOptions};
///
/// let once = RollbackDeletionType::new(|_family, key| key.starts_with(b"once/"));
/// let options = TransactionDbOptions { rollback_deletion_type_callback: Some(once), ..Default::default() };
/// ```
#[derive(Clone)]
pub struct RollbackDeletionType(Arc<dyn Fn(&Family, &[u8]) -> bool + Send + Sync>);

impl RollbackDeletionType {
    /// Makes the callback of a function that returns true for the keys that a rollback deletes with a single deletion.
    ///
    /// ```
    /// let single = ironstone::RollbackDeletionType::new(|family, _key| family.name() == "queue");
    /// ```
    pub fn new(is_single: impl Fn(&Family, &[u8]) -> bool + Send + Sync + 'static) -> Self {
        RollbackDeletionType(Arc::new(is_single))
    }

    /// Returns true if a rollback deletes this key with a single deletion.
    pub(super) fn is_single(&self, family: &Family, key: &[u8]) -> bool {
        (self.0)(family, key)
    }
}

impl std::fmt::Debug for RollbackDeletionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RollbackDeletionType")
    }
}

base::options! {
    calls;
    /// Options of a [`crate::TransactionDb`]. RocksDB: `TransactionDBOptions`.
    ///
    /// ```
    /// use ironstone::TransactionDbOptions;
    ///
    /// let options = TransactionDbOptions { transaction_lock_timeout: 50, ..TransactionDbOptions::default() };
    /// assert_eq!(options.num_stripes, 16);
    /// ```
    #[derive(Debug)]
    TransactionDbOptions;
    /// The largest number of keys that may be locked at the same time in one column family. Further locks fail with
    /// Aborted and the subcode `LockLimit`. 0 and negative values set no limit.
    call max_num_locks: i64 = -1, unit: "locks";
    /// The number of deadlocks that `TransactionDb::deadlock_info_buffer` keeps. 0 keeps none.
    call max_num_deadlocks: u32 = 5, unit: "deadlocks";
    /// The number of parts of the lock table of each column family. With more parts, more threads can lock at the
    /// same time. 0 stands for 1.
    call num_stripes: usize = 16, unit: "stripes";
    /// The time that an operation of a transaction waits for a lock. `TransactionOptions::lock_timeout` can replace
    /// the value. With 0, the operation does not wait. A negative value sets no limit.
    call transaction_lock_timeout: i64 = 1000, unit: "milliseconds";
    /// The time that a write outside of a transaction waits for a lock. With 0, the write does not wait. A negative
    /// value sets no limit.
    call default_lock_timeout: i64 = 1000, unit: "milliseconds";
    /// The time when writes reach the memtables. A database whose WALs hold transactions opens only with the policy
    /// that wrote them.
    call write_policy: TxnDbWritePolicy = TxnDbWritePolicy::WriteCommitted;
    /// If set, a rollback restores the value before a merge operand. If false, the merge operands of a prepared
    /// transaction stay in the database after its rollback. With `WriteCommitted` the database holds no entry of a
    /// prepared transaction, so an open with `WriteCommitted` rejects `true`. With `WriteUnprepared` a rollback
    /// always restores the value before a merge operand.
    call rollback_merge_operands: bool = false;
    /// If set, each locked key has its own queue of waiters, which get the lock in the order of their arrival. If
    /// false, all waiters of a stripe wake when a key of the stripe is unlocked.
    call use_per_key_point_lock_mgr: bool = false, since: "10.7";
    /// Lets `TransactionDb` write batches without locks. The caller then guarantees that concurrent writers change
    /// different keys.
    call skip_concurrency_control: bool = false, since: "6.7";
    /// The size of the batch of a transaction above which the next write of the transaction writes the batch to the
    /// database first. Only for `WriteUnprepared`: other policies reject values other than 0. With 0 and with a
    /// negative value, no batch is written before prepare.
    call default_write_batch_flush_threshold: i64 = 0, unit: "bytes", since: "6.7";
    /// If set, reads for update compare timestamps: an entry with a newer timestamp than the read timestamp is a
    /// conflict.
    call enable_udt_validation: bool = true, since: "9.9";
    components
    /// A function that is called for each key that had no value before a transaction that is rolled back. If the
    /// callback returns true, the rollback deletes the key with a single deletion, otherwise with a deletion. An
    /// application that deletes keys with single deletions needs the callback: a key with both kinds of deletions
    /// can become visible again. The callback may run in several threads concurrently, also during the open. Only
    /// for `WritePrepared` and `WriteUnprepared`: an open with `WriteCommitted` rejects the callback. If absent,
    /// the rollback writes deletions.
    rollback_deletion_type_callback: Option<RollbackDeletionType> = None, since: "7.3";
}

impl TransactionDbOptions {
    /// Rejects options whose feature is not built.
    ///
    /// # Errors
    /// NotSupported, naming the option.
    pub(super) fn check(&self) -> Result<()> {
        let unprepared = self.write_policy == TxnDbWritePolicy::WriteUnprepared;
        let refused = [
            (
                "rollback_merge_operands",
                self.rollback_merge_operands && self.write_policy == TxnDbWritePolicy::WriteCommitted,
            ),
            (
                "rollback_deletion_type_callback",
                self.rollback_deletion_type_callback.is_some()
                    && self.write_policy == TxnDbWritePolicy::WriteCommitted,
            ),
            (
                "default_write_batch_flush_threshold",
                self.default_write_batch_flush_threshold != 0 && !unprepared,
            ),
        ];
        refuse("TransactionDBOptions", &refused)
    }
}

base::options! {
    calls;
    /// Options of one transaction of a [`crate::TransactionDb`]. RocksDB: `TransactionOptions`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionOptions, WriteOptions};
    /// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let options = TransactionOptions { set_snapshot: true, lock_timeout: 50, ..Default::default() };
    /// let transaction = db.begin_with(&WriteOptions::default(), &options)?;
    /// db.put(b"k", b"1")?;
    /// assert!(transaction.put(b"k", b"2").is_err()); // the key changed after the snapshot
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[derive(Debug)]
    TransactionOptions;
    /// Takes a snapshot when the transaction begins, as `Transaction::set_snapshot`.
    call set_snapshot: bool = false;
    /// Searches for deadlocks before each wait for a lock. A deadlock fails with Busy and the subcode `Deadlock`.
    call deadlock_detect: bool = false;
    /// Allows a commit-time batch in transactions of the policies `WritePrepared` and `WriteUnprepared`. The batch
    /// is written with the commit. In RocksDB, the entries of the batch are not in the memtables until a flush.
    /// With `WriteCommitted`, each prepared transaction may have a commit-time batch, and the option changes
    /// nothing.
    call use_only_the_last_commit_time_batch_for_recovery: bool = false;
    /// The time to wait for a lock. A negative value stands for `TransactionDbOptions::transaction_lock_timeout`.
    /// With 0, the transaction does not wait.
    call lock_timeout: i64 = -1, unit: "milliseconds";
    /// The time that the transaction waits for a lock before the search for a deadlock starts. Acts with
    /// `use_per_key_point_lock_mgr`.
    call deadlock_timeout_us: i64 = 500, unit: "microseconds", since: "10.7";
    /// The time after which other transactions may take the locks of this transaction. A commit after this time
    /// fails with Expired. A negative value sets no limit.
    call expiration: i64 = -1, unit: "milliseconds";
    /// The largest number of transactions that the search for a deadlock visits. A longer search counts as a
    /// deadlock.
    call deadlock_detect_depth: i64 = 50, unit: "transactions";
    /// The largest size of the write batch. A write that would exceed this size fails with Aborted and
    /// `MemoryLimit`. 0 sets no limit.
    call max_write_batch_size: usize = 0, unit: "bytes";
    /// Takes no locks and does not check for conflicts.
    call skip_concurrency_control: bool = false;
    /// Lets `Transaction::commit` commit a transaction that is not prepared.
    call skip_prepare: bool = true, since: "6.11";
    /// The size of the batch above which the next write of the transaction writes the batch to the database first.
    /// Only for `WriteUnprepared`: other policies reject values other than -1 and 0. A negative value stands for
    /// `TransactionDbOptions::default_write_batch_flush_threshold`. With 0, no batch is written before prepare.
    call write_batch_flush_threshold: i64 = -1, unit: "bytes", since: "6.7";
    /// Has no effect: a write batch always knows the timestamp sizes. RocksDB: tracks the timestamp size of each
    /// column family in the write batch.
    call write_batch_track_timestamp_size: bool = false, since: "9.9";
    /// Puts the entries of a prepared transaction into separate memtables at commit. The memtables are filled
    /// before the commit waits for its turn among the writers, and they are flushed at once. So other writers wait
    /// less for a large commit. Only for `WriteCommitted`: other policies reject `true`. Transactions with
    /// timestamps or range deletions commit as without the option. Each commit of this kind switches the memtables
    /// of its column families. Many small commits can stall writers.
    call commit_bypass_memtable: bool = false, since: "9.10";
    /// The number of records from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`:
    /// other policies reject values other than 0. 0 switches the rule off.
    call large_txn_commit_optimize_threshold: u32 = 0, unit: "records", since: "10.3";
    /// The batch size from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`: other
    /// policies reject values other than 0. 0 switches the rule off.
    call large_txn_commit_optimize_byte_threshold: u64 = 0, unit: "bytes", since: "10.4";
    components
}

impl TransactionOptions {
    /// Returns the sizes from which a commit fills separate memtables.
    pub(super) fn large_commit(&self) -> LargeCommit {
        LargeCommit {
            records: if self.commit_bypass_memtable { 1 } else { self.large_txn_commit_optimize_threshold },
            bytes: self.large_txn_commit_optimize_byte_threshold,
        }
    }

    /// Rejects options whose feature is not built.
    ///
    /// # Errors
    /// NotSupported, naming the option.
    pub(super) fn check(&self, policy: TxnDbWritePolicy) -> Result<()> {
        let unprepared = policy == TxnDbWritePolicy::WriteUnprepared;
        let committed = policy == TxnDbWritePolicy::WriteCommitted;
        let (records, bytes) =
            (self.large_txn_commit_optimize_threshold, self.large_txn_commit_optimize_byte_threshold);
        let refused = [
            (
                "write_batch_flush_threshold",
                !matches!(self.write_batch_flush_threshold, -1 | 0) && !unprepared,
            ),
            ("commit_bypass_memtable", self.commit_bypass_memtable && !committed),
            ("large_txn_commit_optimize_threshold", records != 0 && !committed),
            ("large_txn_commit_optimize_byte_threshold", bytes != 0 && !committed),
        ];
        refuse("TransactionOptions", &refused)
    }
}

/// The sizes of a commit that fills separate memtables. 0 disables the rule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LargeCommit {
    records: u32,
    bytes: u64,
}

impl LargeCommit {
    /// Returns true if a batch with this number of records and bytes fills separate memtables.
    pub fn takes(self, records: u32, bytes: u64) -> bool {
        self.records > 0 && records >= self.records || self.bytes > 0 && bytes >= self.bytes
    }
}

fn refuse(of: &str, options: &[(&str, bool)]) -> Result<()> {
    match options.iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(Error::not_supported(format!("{of}::{name}: this value is not built"))),
        None => Ok(()),
    }
}

base::option_words! {
    /// Selects when an optimistic transaction checks for conflicts. RocksDB: `OccValidationPolicy`.
    ///
    /// ```
    /// use ironstone::{OccValidationPolicy, OptimisticTransactionDbOptions};
    ///
    /// let serial = OptimisticTransactionDbOptions {
    ///     validate_policy: OccValidationPolicy::ValidateSerial,
    ///     ..OptimisticTransactionDbOptions::default()
    /// };
    /// ```
    OccValidationPolicy: "validation policy" {
        /// In the write path, one commit at a time.
        ValidateSerial = 0, "kValidateSerial";
        /// Before the write path, while the commit holds the locks for the buckets of its keys. Commits of keys in other
        /// buckets can run at the same time.
        #[default]
        ValidateParallel = 1, "kValidateParallel";
    }
}

base::options! {
    calls;
    /// What the application guarantees about a batch outside of a transaction: see
    /// [`crate::TransactionDb::write_with_optimizations`]. RocksDB: `TransactionDBWriteOptimizations`.
    ///
    /// ```
    /// use ironstone::{Options, TransactionDb, TransactionDbOptions, TransactionDbWriteOptimizations, WriteBatch, WriteOptions};
    ///
    /// let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.put(b"k", b"v")?;
    /// let mut batch = WriteBatch::new();
    /// batch.delete_range(b"a", b"z");
    /// let alone = TransactionDbWriteOptimizations { skip_concurrency_control: true, ..Default::default() };
    /// db.write_with_optimizations(&mut batch, &WriteOptions::default(), &alone)?;
    /// assert!(db.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[derive(Debug)]
    TransactionDbWriteOptimizations;
    /// Takes no locks. The application guarantees that no concurrent transaction uses a key of the batch.
    call skip_concurrency_control: bool = false, since: "5.18";
    /// Lets a batch have range deletions with `WritePrepared` and `WriteUnprepared`. The application guarantees that no key occurs
    /// twice in the batch. Acts with `skip_concurrency_control`. The search for repeated keys stays, as a part of every write.
    call skip_duplicate_key_check: bool = false, since: "5.18";
    components
}

base::options! {
    calls;
    /// Options of an [`crate::OptimisticTransactionDb`]. RocksDB: `OptimisticTransactionDBOptions`.
    ///
    /// ```
    /// use ironstone::{OptimisticTransactionDb, OptimisticTransactionDbOptions, Options};
    ///
    /// let few_locks = OptimisticTransactionDbOptions { occ_lock_buckets: 1 << 10, ..Default::default() };
    /// let db = OptimisticTransactionDb::open_with("data", Options::in_memory(), few_locks, None)?;
    /// db.begin().commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[derive(Debug)]
    OptimisticTransactionDbOptions;
    /// The time when commits check for conflicts.
    call validate_policy: OccValidationPolicy = OccValidationPolicy::ValidateParallel, since: "6.7";
    /// The number of bucket locks for the parallel policy. Values below 16 stand for 16.
    call occ_lock_buckets: u32 = 1 << 20, unit: "locks", since: "6.7";
    components
    /// Bucket locks that several databases share. If absent, the database makes `occ_lock_buckets` locks.
    shared_lock_buckets: Option<Arc<OccLockBuckets>> = None, since: "8.4";
}

base::options! {
    calls;
    /// Options of one optimistic transaction. RocksDB: `OptimisticTransactionOptions`.
    ///
    /// ```
    /// use ironstone::{OptimisticTransactionDb, OptimisticTransactionOptions, Options, WriteOptions};
    ///
    /// let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// let options = OptimisticTransactionOptions { set_snapshot: true };
    /// assert!(db.begin_with(&WriteOptions::default(), &options).snapshot().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[derive(Debug)]
    OptimisticTransactionOptions;
    /// Takes a snapshot when the transaction begins, as `Transaction::set_snapshot`.
    call set_snapshot: bool = false;
    components
}
