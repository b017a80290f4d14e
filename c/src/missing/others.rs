//! Other features: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::{c_char, c_void};

use super::compaction_service::rocksdb_table_properties_collector_factory_t;
use crate::abi::Owned;
use crate::batch::rocksdb_writebatch_t;
use crate::callbacks::rocksdb_ts_size_cb;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::read_options::rocksdb_readoptions_t;

opaque! {
    rocksdb_memory_allocator_t,
}

c_missing! {
    fn rocksdb_multi_get_with_ts(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t, num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize),
        timestamp_list: raw(*mut *mut c_char), timestamp_list_sizes: raw(*mut usize),
        errs: raw(*mut *mut c_char)
    );
    fn rocksdb_multi_get_cf_with_ts(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), num_keys: usize,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize),
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize),
        timestamps_list: raw(*mut *mut c_char), timestamps_list_sizes: raw(*mut usize),
        errs: raw(*mut *mut c_char)
    );
    fn rocksdb_writebatch_update_timestamps(
        wb: maybe rocksdb_writebatch_t, ts: bytes, state: raw(*mut c_void),
        get_ts_size: call rocksdb_ts_size_cb, err
    );
    fn rocksdb_table_properties_collector_factory_destroy(
        factory: own rocksdb_table_properties_collector_factory_t
    );
    fn rocksdb_jemalloc_nodump_allocator_create(err) -> Owned<rocksdb_memory_allocator_t>;
    fn rocksdb_memory_allocator_destroy(arg0: own rocksdb_memory_allocator_t);
}
