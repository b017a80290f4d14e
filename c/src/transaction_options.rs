//! Options of transactions and of transaction databases.

use ironstone::{
    OptimisticTransactionDbOptions, OptimisticTransactionOptions, TransactionDbOptions, TransactionOptions,
};

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};

/// Options of a transaction database. Times are in milliseconds; -1: no limit.
#[derive(Clone)]
pub struct rocksdb_transactiondb_options_t {
    pub(crate) options: TransactionDbOptions,
    rejected: Rejected,
    /// Has no effect, as in RocksDB. Stored for the getter only.
    txn_commit_bypass_memtable_threshold: u32,
}

impl Default for rocksdb_transactiondb_options_t {
    fn default() -> Self {
        rocksdb_transactiondb_options_t {
            options: TransactionDbOptions::DEFAULT,
            rejected: Rejected::default(),
            txn_commit_bypass_memtable_threshold: u32::MAX,
        }
    }
}

/// Options of a transaction. A time without a unit in its name is in milliseconds. -1: the value of the database.
#[derive(Clone, Default)]
pub struct rocksdb_transaction_options_t {
    pub(crate) options: TransactionOptions,
    rejected: Rejected,
}

/// Options of an optimistic transaction database.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransactiondb_options_t {
    pub(crate) options: OptimisticTransactionDbOptions,
    rejected: Rejected,
}

/// Options of an optimistic transaction.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransaction_options_t {
    pub(crate) options: OptimisticTransactionOptions,
    rejected: Rejected,
}

has_rejected!(
    rocksdb_transactiondb_options_t,
    rocksdb_transaction_options_t,
    rocksdb_optimistictransactiondb_options_t,
    rocksdb_optimistictransaction_options_t,
);

lifetime!(
    rocksdb_transactiondb_options_t,
    rocksdb_transactiondb_options_create,
    rocksdb_transactiondb_options_destroy
);

accessors! {
    rocksdb_transactiondb_options_t, "rocksdb_transactiondb_options_", |o| of TransactionDbOptions;
    max_num_locks: i64 => o.options.max_num_locks;
    max_num_deadlocks: u32 => o.options.max_num_deadlocks;
    num_stripes: usize => o.options.num_stripes;
    transaction_lock_timeout: i64 => o.options.transaction_lock_timeout;
    default_lock_timeout: i64 => o.options.default_lock_timeout;
    write_policy: i32 => o.options.write_policy;
    rollback_merge_operands: flag => o.options.rollback_merge_operands;
    use_per_key_point_lock_mgr: flag => o.options.use_per_key_point_lock_mgr;
    skip_concurrency_control: flag => o.options.skip_concurrency_control;
    default_write_batch_flush_threshold: i64 => o.options.default_write_batch_flush_threshold;
    enable_udt_validation: flag => o.options.enable_udt_validation;
    txn_commit_bypass_memtable_threshold: u32 => o.txn_commit_bypass_memtable_threshold;
}

lifetime!(
    rocksdb_transaction_options_t,
    rocksdb_transaction_options_create,
    rocksdb_transaction_options_destroy
);

accessors! {
    rocksdb_transaction_options_t, "rocksdb_transaction_options_", |o| of TransactionOptions;
    set_snapshot: flag => o.options.set_snapshot;
    deadlock_detect: flag => o.options.deadlock_detect;
    use_only_the_last_commit_time_batch_for_recovery: flag => o.options.use_only_the_last_commit_time_batch_for_recovery;
    lock_timeout: i64 => o.options.lock_timeout;
    deadlock_timeout_us: i64 => o.options.deadlock_timeout_us;
    expiration: i64 => o.options.expiration;
    deadlock_detect_depth: i64 => o.options.deadlock_detect_depth;
    max_write_batch_size: usize => o.options.max_write_batch_size;
    skip_concurrency_control: flag => o.options.skip_concurrency_control;
    skip_prepare: flag => o.options.skip_prepare;
    write_batch_flush_threshold: i64 => o.options.write_batch_flush_threshold;
    write_batch_track_timestamp_size: flag => o.options.write_batch_track_timestamp_size;
    commit_bypass_memtable: flag => o.options.commit_bypass_memtable;
    large_txn_commit_optimize_threshold: u32 => o.options.large_txn_commit_optimize_threshold;
    large_txn_commit_optimize_byte_threshold: u64 => o.options.large_txn_commit_optimize_byte_threshold;
}

lifetime!(
    rocksdb_optimistictransactiondb_options_t,
    rocksdb_optimistictransactiondb_options_create,
    rocksdb_optimistictransactiondb_options_destroy
);

accessors! {
    rocksdb_optimistictransactiondb_options_t, "rocksdb_optimistictransactiondb_options_", |o| of OptimisticTransactionDbOptions;
    validate_policy: i32 => o.options.validate_policy;
    occ_lock_buckets: u32 => o.options.occ_lock_buckets;
}

lifetime!(
    rocksdb_optimistictransaction_options_t,
    rocksdb_optimistictransaction_options_create,
    rocksdb_optimistictransaction_options_destroy
);

accessors! {
    rocksdb_optimistictransaction_options_t, "rocksdb_optimistictransaction_options_", |o| of OptimisticTransactionOptions;
    set_snapshot: flag => o.options.set_snapshot;
}
