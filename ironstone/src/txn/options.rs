//! The options of transactional databases and of transactions. Names and defaults are RocksDB 11.8.1's
//! (`include/rocksdb/utilities/transaction_db.h`, `optimistic_transaction_db.h`).
//!
//! Options whose feature is not built are refused by name ([`TransactionDbOptions::check`]). The fields
//! `custom_mutex_factory`, `lock_mgr_handle` (range locks), `secondary_indices` and `rollback_deletion_type_callback` do
//! not exist here.

use base::{Error, Result};
use engine::prepared::WritePolicy;
use env::sync::Arc;

use super::optimistic::OccLockBuckets;

/// When the writes of a transaction reach the memtables. RocksDB: `TxnDBWritePolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxnDbWritePolicy {
    /// At commit: the memtables hold only committed data.
    #[default]
    WriteCommitted,
    /// At prepare: a commit only writes a record to the WAL. Readers skip what is not committed. Range deletions, keys with
    /// timestamps and tailing iterators are refused.
    WritePrepared,
    /// As `WritePrepared`. The batch of a named transaction is also written before prepare, each time that it is larger than
    /// the threshold ([`TransactionDbOptions::default_write_batch_flush_threshold`]). So the memory of a transaction is
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
    /// Most keys that may be locked at the same time in one column family. Further locks fail with Aborted and the
    /// subcode `LockLimit`. Default -1; 0 and negative: no limit.
    pub max_num_locks: i64,
    /// Number of deadlocks that [`crate::TransactionDb::deadlock_info_buffer`] keeps. Default 5; 0: none.
    pub max_num_deadlocks: u32,
    /// Number of parts of the lock table of each column family. More parts let more threads lock at the same time.
    /// Default 16; 0 counts as 1.
    pub num_stripes: usize,
    /// Milliseconds that an operation of a transaction waits for a lock, if the transaction does not say. Default 1000;
    /// 0: no wait; negative: no limit.
    pub transaction_lock_timeout: i64,
    /// Milliseconds that a write outside of a transaction waits for a lock. Default 1000; 0: no wait; negative: no limit.
    pub default_lock_timeout: i64,
    /// When writes reach the memtables. A database whose WALs hold transactions opens only with the policy that wrote them.
    /// Default: `WriteCommitted`.
    pub write_policy: TxnDbWritePolicy,
    /// Lets a rollback put back the value before a merge operand. If false, the merge operands of a prepared transaction
    /// stay in the database after its rollback. With `WriteCommitted` the database holds no
    /// entry of a prepared transaction, so an open with `WriteCommitted` refuses `true`. With `WriteUnprepared` a rollback
    /// always puts back the value before a merge operand. Default false.
    pub rollback_merge_operands: bool,
    /// Gives each locked key its own queue of waiters, first come first served. `false`: all waiters of a stripe wake
    /// when a key of the stripe is unlocked. Default false.
    pub use_per_key_point_lock_mgr: bool,
    /// Lets [`crate::TransactionDb`] write batches without locks. The caller then guarantees that concurrent writers
    /// change different keys. Default false.
    pub skip_concurrency_control: bool,
    /// Size in bytes of the batch of a transaction above which the next write of the transaction writes the batch to the
    /// database first. Only for `WriteUnprepared`: other policies refuse values other than 0. Default 0; 0 and negative: no
    /// batch is written before prepare.
    pub default_write_batch_flush_threshold: i64,
    /// Whether reads for update compare timestamps: a version with a newer timestamp than the read timestamp is a
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
            use_per_key_point_lock_mgr: false,
            skip_concurrency_control: false,
            default_write_batch_flush_threshold: 0,
            enable_udt_validation: true,
        }
    }
}

impl TransactionDbOptions {
    /// Refuses options whose feature is not built.
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
                "default_write_batch_flush_threshold",
                self.default_write_batch_flush_threshold != 0 && !unprepared,
            ),
        ];
        refuse("TransactionDBOptions", &refused)
    }
}

/// Options of one transaction of a [`crate::TransactionDb`]. RocksDB: `TransactionOptions`.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// Takes a snapshot when the transaction begins, as [`crate::Transaction::set_snapshot`]. Default false.
    pub set_snapshot: bool,
    /// Looks for deadlocks before each wait for a lock. A deadlock fails with Busy and the subcode `Deadlock`. Default
    /// false.
    pub deadlock_detect: bool,
    /// Lets a transaction of the policies `WritePrepared` and `WriteUnprepared` have a commit-time batch. The batch is written
    /// with the commit. RocksDB leaves it out of the memtables until a flush. With `WriteCommitted`, each prepared transaction
    /// may have a commit-time batch, and the option changes nothing. Default false.
    pub use_only_the_last_commit_time_batch_for_recovery: bool,
    /// Milliseconds to wait for a lock. Default -1: [`TransactionDbOptions::transaction_lock_timeout`]; 0: no wait.
    pub lock_timeout: i64,
    /// Microseconds to wait for a lock before the search for a deadlock starts. It acts with
    /// `use_per_key_point_lock_mgr`. Default 500.
    pub deadlock_timeout_us: i64,
    /// Milliseconds after which other transactions may take the locks of this transaction. A commit after this time fails
    /// with Expired. Default -1: never.
    pub expiration: i64,
    /// Most transactions that the search for a deadlock visits. A longer search counts as a deadlock. Default 50.
    pub deadlock_detect_depth: i64,
    /// Largest size of the write batch in bytes. A write that exceeds it fails with Aborted and `MemoryLimit`. Default 0:
    /// no limit.
    pub max_write_batch_size: usize,
    /// Takes no locks and looks for no conflicts. Default false.
    pub skip_concurrency_control: bool,
    /// Lets [`crate::Transaction::commit`] commit a transaction that is not prepared. Default true.
    pub skip_prepare: bool,
    /// Size in bytes of the batch above which the next write of the transaction writes the batch to the database first. Only
    /// for `WriteUnprepared`: other policies refuse values other than -1 and 0. Default -1; negative:
    /// [`TransactionDbOptions::default_write_batch_flush_threshold`]; 0: no batch is written before prepare.
    pub write_batch_flush_threshold: i64,
    /// Tracks the timestamp size of each column family in the write batch. A batch of Ironstone always knows the sizes, and
    /// the option changes nothing. Default false.
    pub write_batch_track_timestamp_size: bool,
    /// Lets the commit of a prepared transaction put its entries into memtables of their own. The memtables are filled before
    /// the commit takes its turn among the writers, and are flushed at once. So other writers wait less for a large commit.
    /// Only for `WriteCommitted`: other policies refuse `true`. Transactions with timestamps or range deletions commit as
    /// without the option. Each such commit switches the memtables of its column families: many small ones may stall
    /// writers. Default false.
    pub commit_bypass_memtable: bool,
    /// Number of records from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`: other policies
    /// refuse values other than 0. Default 0: never.
    pub large_txn_commit_optimize_threshold: u32,
    /// Batch size in bytes from which a commit acts as with `commit_bypass_memtable`. Only for `WriteCommitted`: other policies
    /// refuse values other than 0. Default 0: never.
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
    /// From which size on a commit fills memtables of its own.
    pub(super) fn large_commit(&self) -> LargeCommit {
        LargeCommit {
            records: if self.commit_bypass_memtable { 1 } else { self.large_txn_commit_optimize_threshold },
            bytes: self.large_txn_commit_optimize_byte_threshold,
        }
    }

    /// Refuses options whose feature is not built.
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

/// From which size on a commit fills memtables of its own; 0: never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LargeCommit {
    records: u32,
    bytes: u64,
}

impl LargeCommit {
    /// Returns true for a batch of so many records and bytes.
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

/// When an optimistic transaction looks for conflicts. RocksDB: `OccValidationPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OccValidationPolicy {
    /// In the write path, one commit at a time.
    ValidateSerial,
    /// Before the write path, under locks for the buckets of its keys. Commits of other keys run at the same time.
    #[default]
    ValidateParallel,
}

/// Options of an [`crate::OptimisticTransactionDb`]. RocksDB: `OptimisticTransactionDBOptions`.
#[derive(Clone, Debug)]
pub struct OptimisticTransactionDbOptions {
    /// When commits look for conflicts. Default: parallel.
    pub validate_policy: OccValidationPolicy,
    /// Number of bucket locks for the parallel policy. Default 2^20; fewer than 16 count as 16.
    pub occ_lock_buckets: u32,
    /// Bucket locks that several databases share. Default `None`: the database makes its own `occ_lock_buckets`.
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
#[derive(Clone, Debug, Default)]
pub struct OptimisticTransactionOptions {
    /// Takes a snapshot when the transaction begins, as [`crate::Transaction::set_snapshot`]. Default false.
    pub set_snapshot: bool,
}
