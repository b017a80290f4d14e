//! Transactions: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::c_char;

use super::batch_with_index::rocksdb_writebatch_wi_t;
use super::files::rocksdb_checkpoint_t;
use crate::abi::{Buffer, ConstOwned, Owned};
use crate::batch::rocksdb_writebatch_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_pinnableslice_t, rocksdb_t};
use crate::iterator::rocksdb_iterator_t;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;
use crate::snapshot::rocksdb_snapshot_t;
use crate::transaction_options::{
    rocksdb_optimistictransaction_options_t, rocksdb_optimistictransactiondb_options_t,
    rocksdb_transaction_options_t, rocksdb_transactiondb_options_t,
};
use crate::write_options::{rocksdb_flushoptions_t, rocksdb_flushwaloptions_t, rocksdb_writeoptions_t};

opaque! {
    rocksdb_optimistictransactiondb_lock_buckets_t,
    rocksdb_optimistictransactiondb_t,
    rocksdb_transaction_t,
    rocksdb_transactiondb_t,
}

c_missing! {
    fn rocksdb_transactiondb_create_column_family(
        txn_db: maybe rocksdb_transactiondb_t, column_family_options: inmaybe rocksdb_options_t,
        column_family_name: raw(*const c_char), err
    ) -> Owned<rocksdb_column_family_handle_t>;
    fn rocksdb_transactiondb_open(
        options: inmaybe rocksdb_options_t, txn_db_options: inmaybe rocksdb_transactiondb_options_t,
        name: raw(*const c_char), err
    ) -> Owned<rocksdb_transactiondb_t>;
    fn rocksdb_transactiondb_open_column_families(
        options: inmaybe rocksdb_options_t, txn_db_options: inmaybe rocksdb_transactiondb_options_t,
        name: raw(*const c_char), num_column_families: i32, column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_transactiondb_t>;
    fn rocksdb_transactiondb_create_snapshot(
        txn_db: maybe rocksdb_transactiondb_t
    ) -> ConstOwned<rocksdb_snapshot_t>;
    fn rocksdb_transactiondb_release_snapshot(
        txn_db: maybe rocksdb_transactiondb_t, snapshot: inmaybe rocksdb_snapshot_t
    );
    fn rocksdb_transactiondb_property_value(
        db: maybe rocksdb_transactiondb_t, propname: raw(*const c_char)
    ) -> Buffer;
    fn rocksdb_transactiondb_property_int(
        db: maybe rocksdb_transactiondb_t, propname: raw(*const c_char), out_val: raw(*mut u64)
    ) -> i32;
    fn rocksdb_transactiondb_get_base_db(txn_db: maybe rocksdb_transactiondb_t) -> Owned<rocksdb_t>;
    fn rocksdb_transactiondb_close_base_db(base_db: maybe rocksdb_t);
    fn rocksdb_transaction_begin(
        txn_db: maybe rocksdb_transactiondb_t, write_options: inmaybe rocksdb_writeoptions_t,
        txn_options: inmaybe rocksdb_transaction_options_t, old_txn: maybe rocksdb_transaction_t
    ) -> Owned<rocksdb_transaction_t>;
    fn rocksdb_transactiondb_get_prepared_transactions(
        txn_db: maybe rocksdb_transactiondb_t, cnt: raw(*mut usize)
    ) -> *mut *mut rocksdb_transaction_t;
    fn rocksdb_transaction_set_name(
        txn: maybe rocksdb_transaction_t, name: raw(*const c_char), name_len: usize, err
    );
    fn rocksdb_transaction_get_name(txn: maybe rocksdb_transaction_t, name_len: raw(*mut usize)) -> Buffer;
    fn rocksdb_transaction_prepare(txn: maybe rocksdb_transaction_t, err);
    fn rocksdb_transaction_put(txn: maybe rocksdb_transaction_t, key: bytes, val: bytes, err);
    fn rocksdb_transaction_put_cf(
        txn: maybe rocksdb_transaction_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes,
        val: bytes, err
    );
    fn rocksdb_transaction_merge(txn: maybe rocksdb_transaction_t, key: bytes, val: bytes, err);
    fn rocksdb_transaction_merge_cf(
        txn: maybe rocksdb_transaction_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes,
        val: bytes, err
    );
    fn rocksdb_transaction_delete(txn: maybe rocksdb_transaction_t, key: bytes, err);
    fn rocksdb_transaction_delete_cf(
        txn: maybe rocksdb_transaction_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes,
        err
    );
    fn rocksdb_transaction_commit(txn: maybe rocksdb_transaction_t, err);
    fn rocksdb_transaction_rollback(txn: maybe rocksdb_transaction_t, err);
    fn rocksdb_transaction_put_log_data(txn: maybe rocksdb_transaction_t, blob: bytes);
    fn rocksdb_transaction_set_savepoint(txn: maybe rocksdb_transaction_t);
    fn rocksdb_transaction_rollback_to_savepoint(txn: maybe rocksdb_transaction_t, err);
    fn rocksdb_transaction_destroy(txn: own rocksdb_transaction_t);
    fn rocksdb_transaction_get_writebatch_wi(
        txn: maybe rocksdb_transaction_t
    ) -> Owned<rocksdb_writebatch_wi_t>;
    fn rocksdb_transaction_rebuild_from_writebatch(
        txn: maybe rocksdb_transaction_t, writebatch: maybe rocksdb_writebatch_t, err
    );
    fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: maybe rocksdb_transaction_t, wi: maybe rocksdb_writebatch_wi_t, err
    );
    fn rocksdb_transaction_set_commit_timestamp(txn: maybe rocksdb_transaction_t, commit_timestamp: u64);
    fn rocksdb_transaction_set_read_timestamp_for_validation(
        txn: maybe rocksdb_transaction_t, read_timestamp: u64
    );
    fn rocksdb_transaction_get_snapshot(txn: maybe rocksdb_transaction_t) -> ConstOwned<rocksdb_snapshot_t>;
    fn rocksdb_transaction_get(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, key: bytes,
        vlen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_transaction_get_pinned(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transaction_get_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, vlen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_transaction_get_pinned_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transaction_get_for_update(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, key: bytes,
        vlen: raw(*mut usize), exclusive: flag, err
    ) -> Buffer;
    fn rocksdb_transaction_get_pinned_for_update(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, key: bytes,
        exclusive: flag, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transaction_get_for_update_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, vlen: raw(*mut usize),
        exclusive: flag, err
    ) -> Buffer;
    fn rocksdb_transaction_get_pinned_for_update_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, exclusive: flag, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transaction_multi_get(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transaction_multi_get_for_update(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transaction_multi_get_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transaction_multi_get_for_update_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transactiondb_get(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t, key: bytes,
        vlen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_transactiondb_get_pinned(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t, key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transactiondb_get_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, vallen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_transactiondb_get_pinned_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_transactiondb_multi_get(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t, num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transactiondb_multi_get_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    );
    fn rocksdb_transactiondb_put(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t, key: bytes,
        val: bytes, err
    );
    fn rocksdb_transactiondb_put_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    );
    fn rocksdb_transactiondb_write(
        db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t,
        batch: maybe rocksdb_writebatch_t, err
    );
    fn rocksdb_transactiondb_merge(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t, key: bytes,
        val: bytes, err
    );
    fn rocksdb_transactiondb_merge_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    );
    fn rocksdb_transactiondb_delete(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t, key: bytes, err
    );
    fn rocksdb_transactiondb_delete_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_writeoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, err
    );
    fn rocksdb_transactiondb_flush_wal(txn_db: maybe rocksdb_transactiondb_t, sync: flag, err);
    fn rocksdb_transactiondb_flush(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_flushoptions_t, err
    );
    fn rocksdb_transactiondb_flush_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_flushoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, err
    );
    fn rocksdb_transaction_create_iterator(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_transaction_create_iterator_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_transactiondb_create_iterator(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_transactiondb_create_iterator_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_transactiondb_close(txn_db: maybe rocksdb_transactiondb_t);
    fn rocksdb_transactiondb_flush_cfs(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_flushoptions_t,
        column_families: raw(*mut *mut rocksdb_column_family_handle_t), num_column_families: i32, err
    );
    fn rocksdb_transactiondb_flush_wal_with_options(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_flushwaloptions_t, err
    );
    fn rocksdb_transactiondb_checkpoint_object_create(
        txn_db: maybe rocksdb_transactiondb_t, err
    ) -> Owned<rocksdb_checkpoint_t>;
    fn rocksdb_optimistictransactiondb_open(
        options: inmaybe rocksdb_options_t, name: raw(*const c_char), err
    ) -> Owned<rocksdb_optimistictransactiondb_t>;
    fn rocksdb_optimistictransactiondb_open_with_otxn_db_options(
        options: inmaybe rocksdb_options_t,
        otxn_db_options: inmaybe rocksdb_optimistictransactiondb_options_t, name: raw(*const c_char), err
    ) -> Owned<rocksdb_optimistictransactiondb_t>;
    fn rocksdb_optimistictransactiondb_open_column_families(
        options: inmaybe rocksdb_options_t, name: raw(*const c_char), num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_optimistictransactiondb_t>;
    fn rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
        options: inmaybe rocksdb_options_t,
        otxn_db_options: inmaybe rocksdb_optimistictransactiondb_options_t, name: raw(*const c_char),
        num_column_families: i32, column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_optimistictransactiondb_t>;
    fn rocksdb_optimistictransactiondb_get_base_db(
        otxn_db: maybe rocksdb_optimistictransactiondb_t
    ) -> Owned<rocksdb_t>;
    fn rocksdb_optimistictransactiondb_close_base_db(base_db: maybe rocksdb_t);
    fn rocksdb_optimistictransaction_begin(
        otxn_db: maybe rocksdb_optimistictransactiondb_t, write_options: inmaybe rocksdb_writeoptions_t,
        otxn_options: inmaybe rocksdb_optimistictransaction_options_t, old_txn: maybe rocksdb_transaction_t
    ) -> Owned<rocksdb_transaction_t>;
    fn rocksdb_optimistictransactiondb_write(
        otxn_db: maybe rocksdb_optimistictransactiondb_t, options: inmaybe rocksdb_writeoptions_t,
        batch: maybe rocksdb_writebatch_t, err
    );
    fn rocksdb_optimistictransactiondb_close(otxn_db: maybe rocksdb_optimistictransactiondb_t);
    fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        otxn_db: maybe rocksdb_optimistictransactiondb_t, err
    ) -> Owned<rocksdb_checkpoint_t>;
    fn rocksdb_optimistictransactiondb_lock_buckets_create(
        bucket_count: usize, cache_aligned: flag
    ) -> Owned<rocksdb_optimistictransactiondb_lock_buckets_t>;
    fn rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(
        lock_buckets: maybe rocksdb_optimistictransactiondb_lock_buckets_t
    ) -> usize;
    fn rocksdb_optimistictransactiondb_lock_buckets_destroy(
        lock_buckets: own rocksdb_optimistictransactiondb_lock_buckets_t
    );
    fn rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(
        opt: maybe rocksdb_optimistictransactiondb_options_t,
        lock_buckets: maybe rocksdb_optimistictransactiondb_lock_buckets_t
    );
    fn rocksdb_optimistictransactiondb_property_value(
        db: maybe rocksdb_optimistictransactiondb_t, propname: raw(*const c_char)
    ) -> Buffer;
    fn rocksdb_optimistictransactiondb_property_int(
        db: maybe rocksdb_optimistictransactiondb_t, propname: raw(*const c_char), out_val: raw(*mut u64)
    ) -> i32;
}
