//! Options of transactions and of transaction databases.

use crate::abi::Owned;

plain_options! {
    /// Options of a transaction database. Times are in milliseconds; -1: no limit.
    rocksdb_transactiondb_options_t, "rocksdb_transactiondb_options_";
    @create rocksdb_transactiondb_options_create, rocksdb_transactiondb_options_destroy;
    max_num_locks: i64 = -1;
    max_num_deadlocks: u32 = 5;
    num_stripes: usize = 16;
    transaction_lock_timeout: i64 = 1000;
    default_lock_timeout: i64 = 1000;
    write_policy: i32 = 0;
    rollback_merge_operands: flag = false;
    use_per_key_point_lock_mgr: flag = false;
    skip_concurrency_control: flag = false;
    default_write_batch_flush_threshold: i64 = 0;
    enable_udt_validation: flag = true;
    txn_commit_bypass_memtable_threshold: u32 = 4294967295;
}

plain_options! {
    /// Options of a transaction. A time without a unit in its name is in milliseconds. -1: the value of the database.
    rocksdb_transaction_options_t, "rocksdb_transaction_options_";
    @create rocksdb_transaction_options_create, rocksdb_transaction_options_destroy;
    set_snapshot: flag = false;
    deadlock_detect: flag = false;
    use_only_the_last_commit_time_batch_for_recovery: flag = false;
    lock_timeout: i64 = -1;
    deadlock_timeout_us: i64 = 500;
    expiration: i64 = -1;
    deadlock_detect_depth: i64 = 50;
    max_write_batch_size: usize = 0;
    skip_concurrency_control: flag = false;
    skip_prepare: flag = true;
    write_batch_flush_threshold: i64 = -1;
    write_batch_track_timestamp_size: flag = false;
    commit_bypass_memtable: flag = false;
    large_txn_commit_optimize_threshold: u32 = 0;
    large_txn_commit_optimize_byte_threshold: u64 = 0;
}

plain_options! {
    /// Options of an optimistic transaction database.
    rocksdb_optimistictransactiondb_options_t, "rocksdb_optimistictransactiondb_options_";
    @create rocksdb_optimistictransactiondb_options_create, rocksdb_optimistictransactiondb_options_destroy;
    @with {
        shared_lock_buckets: Option<std::sync::Arc<ironstone::OccLockBuckets>> = None;
    }
    validate_policy: i32 = 1;
    occ_lock_buckets: u32 = 1048576;
}

plain_options! {
    /// Options of an optimistic transaction.
    rocksdb_optimistictransaction_options_t, "rocksdb_optimistictransaction_options_";
    @create rocksdb_optimistictransaction_options_create, rocksdb_optimistictransaction_options_destroy;
    set_snapshot: flag = false;
}
