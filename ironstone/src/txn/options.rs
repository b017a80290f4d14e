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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxnDbWritePolicy {
    /// At commit: the memtables hold only committed data.
    #[default]
    WriteCommitted,
    /// At prepare. A commit then only writes a record to the WAL, and readers skip entries that are not committed.
    /// Range deletions, keys with timestamps and tailing iterators are rejected.
    WritePrepared,
    /// At prepare, as for `WritePrepared`. In addition, the batch of a named transaction is written before prepare, each
    /// time that it is larger than the threshold ([`TransactionDbOptions::default_write_batch_flush_threshold`]). So the memory of a transaction is
    /// limited, except for its locks. A transaction that is not prepared is rolled back by the open after a crash.
    WriteUnprepared,
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

/// Options of a [`crate::TransactionDb`]. RocksDB: `TransactionDBOptions`.
///
/// ```
/// use ironstone::TransactionDbOptions;
///
/// let options = TransactionDbOptions { transaction_lock_timeout: 50, ..TransactionDbOptions::default() };
/// assert_eq!(options.num_stripes, 16);
/// ```
#[derive(Clone, Debug)]
pub struct TransactionDbOptions {
    /// The largest number of keys that may be locked at the same time in one column family. Further locks fail with
    /// Aborted and the subcode `LockLimit`. Default -1; 0 and negative: no limit.
    pub max_num_locks: i64,
    /// The number of deadlocks that [`crate::TransactionDb::deadlock_info_buffer`] keeps. Default 5; 0: none.
    pub max_num_deadlocks: u32,
    /// The number of parts of the lock table of each column family. With more parts, more threads can lock at the
    /// same time. Default 16; 0 stands for 1.
    pub num_stripes: usize,
    /// The time that an operation of a transaction waits for a lock, in milliseconds.
    /// [`TransactionOptions::lock_timeout`] can replace the value. Default 1000; 0: no wait; negative: no limit.
    pub transaction_lock_timeout: i64,
    /// The time that a write outside of a transaction waits for a lock, in milliseconds. Default 1000; 0: no wait;
    /// negative: no limit.
    pub default_lock_timeout: i64,
    /// When writes reach the memtables. A database whose WALs hold transactions opens only with the policy that wrote them.
    /// Default: `WriteCommitted`.
    pub write_policy: TxnDbWritePolicy,
    /// If set, a rollback restores the value before a merge operand. If false, the merge operands of a prepared
    /// transaction stay in the database after its rollback. With `WriteCommitted` the database holds no entry of a
    /// prepared transaction, so an open with `WriteCommitted` rejects `true`. With `WriteUnprepared` a rollback
    /// always restores the value before a merge operand. Default false.
    pub rollback_merge_operands: bool,
    /// Called for each key that had no value before a transaction that is rolled back. If the callback returns true, the rollback
    /// deletes the key with a single deletion, otherwise with a deletion. An application that deletes keys with single deletions
    /// needs the callback: a key with both kinds of deletions can become visible again. The callback may run in several threads
    /// concurrently, also during the open. Only for `WritePrepared` and `WriteUnprepared`: an open with `WriteCommitted` rejects
    /// the callback. Default: none, so all are deletions.
    pub rollback_deletion_type_callback: Option<RollbackDeletionType>,
    /// If set, each locked key has its own queue of waiters, which get the lock in the order of their arrival. If
    /// false, all waiters of a stripe wake when a key of the stripe is unlocked. Default false.
    pub use_per_key_point_lock_mgr: bool,
    /// Lets [`crate::TransactionDb`] write batches without locks. The caller then guarantees that concurrent writers
    /// change different keys. Default false.
    pub skip_concurrency_control: bool,
    /// The size of the batch of a transaction, in bytes, above which the next write of the transaction writes the
    /// batch to the database first. Only for `WriteUnprepared`: other policies reject values other than 0. Default 0;
    /// 0 and negative: no batch is written before prepare.
    pub default_write_batch_flush_threshold: i64,
    /// If set, reads for update compare timestamps: an entry with a newer timestamp than the read timestamp is a
    /// conflict. Default true.
    pub enable_udt_validation: bool,
}

impl Default for TransactionDbOptions {
    fn default() -> Self {
        TransactionDbOptions {
            max_num_locks: -1,
            max_num_deadlocks: 5,
            num_stripes: 16,
            transaction_lock_timeout: 1000,
            default_lock_timeout: 1000,
            write_policy: TxnDbWritePolicy::default(),
            rollback_merge_operands: false,
            rollback_deletion_type_callback: None,
            use_per_key_point_lock_mgr: false,
            skip_concurrency_control: false,
            default_write_batch_flush_threshold: 0,
            enable_udt_validation: true,
        }
    }
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
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// Takes a snapshot when the transaction begins, as [`crate::Transaction::set_snapshot`]. Default false.
    pub set_snapshot: bool,
    /// Searches for deadlocks before each wait for a lock. A deadlock fails with Busy and the subcode `Deadlock`.
    /// Default false.
    pub deadlock_detect: bool,
    /// Allows a commit-time batch in transactions of the policies `WritePrepared` and `WriteUnprepared`. The batch is
    /// written with the commit. In RocksDB, the entries of the batch are not in the memtables until a flush. With
    /// `WriteCommitted`, each prepared transaction may have a commit-time batch, and the option changes nothing.
    /// Default false.
    pub use_only_the_last_commit_time_batch_for_recovery: bool,
    /// The time to wait for a lock, in milliseconds. Default -1: [`TransactionDbOptions::transaction_lock_timeout`];
    /// 0: no wait.
    pub lock_timeout: i64,
    /// The time that the transaction waits for a lock before the search for a deadlock starts, in microseconds. Acts
    /// with `use_per_key_point_lock_mgr`. Default 500.
    pub deadlock_timeout_us: i64,
    /// The time after which other transactions may take the locks of this transaction, in milliseconds. A commit
    /// after this time fails with Expired. Default -1: never.
    pub expiration: i64,
    /// The largest number of transactions that the search for a deadlock visits. A longer search counts as a
    /// deadlock. Default 50.
    pub deadlock_detect_depth: i64,
    /// The largest size of the write batch in bytes. A write that would exceed this size fails with Aborted and
    /// `MemoryLimit`. Default 0: no limit.
    pub max_write_batch_size: usize,
    /// Takes no locks and does not check for conflicts. Default false.
    pub skip_concurrency_control: bool,
    /// Lets [`crate::Transaction::commit`] commit a transaction that is not prepared. Default true.
    pub skip_prepare: bool,
    /// The size of the batch in bytes above which the next write of the transaction writes the batch to the database
    /// first. Only for `WriteUnprepared`: other policies reject values other than -1 and 0. Default -1; negative:
    /// [`TransactionDbOptions::default_write_batch_flush_threshold`]; 0: no batch is written before prepare.
    pub write_batch_flush_threshold: i64,
    /// Tracks the timestamp size of each column family in the write batch. A batch of Ironstone always knows the sizes, and
    /// the option changes nothing. Default false.
    pub write_batch_track_timestamp_size: bool,
    /// Puts the entries of a prepared transaction into separate memtables at commit. The memtables are filled before
    /// the commit waits for its turn among the writers, and they are flushed at once. So other writers wait less for
    /// a large commit. Only for `WriteCommitted`: other policies reject `true`. Transactions with timestamps or range
    /// deletions commit as without the option. Each commit of this kind switches the memtables of its column
    /// families. Many small commits can stall writers. Default false.
    pub commit_bypass_memtable: bool,
    /// The number of records from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`:
    /// other policies reject values other than 0. Default 0: never.
    pub large_txn_commit_optimize_threshold: u32,
    /// The batch size in bytes from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`:
    /// other policies reject values other than 0. Default 0: never.
    pub large_txn_commit_optimize_byte_threshold: u64,
}

impl Default for TransactionOptions {
    fn default() -> Self {
        TransactionOptions {
            set_snapshot: false,
            deadlock_detect: false,
            use_only_the_last_commit_time_batch_for_recovery: false,
            lock_timeout: -1,
            deadlock_timeout_us: 500,
            expiration: -1,
            deadlock_detect_depth: 50,
            max_write_batch_size: 0,
            skip_concurrency_control: false,
            skip_prepare: true,
            write_batch_flush_threshold: -1,
            write_batch_track_timestamp_size: false,
            commit_bypass_memtable: false,
            large_txn_commit_optimize_threshold: 0,
            large_txn_commit_optimize_byte_threshold: 0,
        }
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OccValidationPolicy {
    /// In the write path, one commit at a time.
    ValidateSerial,
    /// Before the write path, while the commit holds the locks for the buckets of its keys. Commits of keys in other
    /// buckets can run at the same time.
    #[default]
    ValidateParallel,
}

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
#[derive(Clone, Debug)]
pub struct OptimisticTransactionDbOptions {
    /// Selects when commits check for conflicts. Default: parallel.
    pub validate_policy: OccValidationPolicy,
    /// The number of bucket locks for the parallel policy. Default 2^20; values below 16 stand for 16.
    pub occ_lock_buckets: u32,
    /// Bucket locks that several databases share. Default `None`: the database makes `occ_lock_buckets` locks.
    pub shared_lock_buckets: Option<Arc<OccLockBuckets>>,
}

impl Default for OptimisticTransactionDbOptions {
    fn default() -> Self {
        OptimisticTransactionDbOptions {
            validate_policy: OccValidationPolicy::default(),
            occ_lock_buckets: 1 << 20,
            shared_lock_buckets: None,
        }
    }
}

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
#[derive(Clone, Debug, Default)]
pub struct OptimisticTransactionOptions {
    /// Takes a snapshot when the transaction begins, as [`crate::Transaction::set_snapshot`]. Default false.
    pub set_snapshot: bool,
}
