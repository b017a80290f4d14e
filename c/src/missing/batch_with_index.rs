//! Write batches with an index: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::{c_char, c_void};

use crate::abi::{Buffer, Owned, Text};
use crate::callbacks::{rocksdb_batch_delete_cb, rocksdb_batch_put_cb, rocksdb_ts_size_cb};
use crate::comparator::rocksdb_comparator_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_pinnableslice_t, rocksdb_t};
use crate::iterator::rocksdb_iterator_t;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;
use crate::write_options::rocksdb_writeoptions_t;

opaque! {
    rocksdb_writebatch_wi_t,
}

c_missing! {
    fn rocksdb_writebatch_wi_create(
        reserved_bytes: usize, overwrite_keys: flag
    ) -> Owned<rocksdb_writebatch_wi_t>;
    fn rocksdb_writebatch_wi_create_with_params(
        backup_index_comparator: maybe rocksdb_comparator_t, reserved_bytes: usize, overwrite_key: flag,
        max_bytes: usize, protection_bytes_per_key: usize
    ) -> Owned<rocksdb_writebatch_wi_t>;
    fn rocksdb_writebatch_wi_destroy(arg0: own rocksdb_writebatch_wi_t);
    fn rocksdb_writebatch_wi_clear(arg0: maybe rocksdb_writebatch_wi_t);
    fn rocksdb_writebatch_wi_count(b: maybe rocksdb_writebatch_wi_t) -> i32;
    fn rocksdb_writebatch_wi_put(arg0: maybe rocksdb_writebatch_wi_t, key: bytes, val: bytes);
    fn rocksdb_writebatch_wi_put_cf(
        arg0: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes,
        val: bytes
    );
    fn rocksdb_writebatch_wi_putv(
        b: maybe rocksdb_writebatch_wi_t, num_keys: i32, keys_list: raw(*const *const c_char),
        keys_list_sizes: raw(*const usize), num_values: i32, values_list: raw(*const *const c_char),
        values_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_putv_cf(
        b: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, num_keys: i32,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize), num_values: i32,
        values_list: raw(*const *const c_char), values_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_merge(arg0: maybe rocksdb_writebatch_wi_t, key: bytes, val: bytes);
    fn rocksdb_writebatch_wi_merge_cf(
        arg0: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes,
        val: bytes
    );
    fn rocksdb_writebatch_wi_mergev(
        b: maybe rocksdb_writebatch_wi_t, num_keys: i32, keys_list: raw(*const *const c_char),
        keys_list_sizes: raw(*const usize), num_values: i32, values_list: raw(*const *const c_char),
        values_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_mergev_cf(
        b: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, num_keys: i32,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize), num_values: i32,
        values_list: raw(*const *const c_char), values_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_delete(arg0: maybe rocksdb_writebatch_wi_t, key: bytes);
    fn rocksdb_writebatch_wi_singledelete(arg0: maybe rocksdb_writebatch_wi_t, key: bytes);
    fn rocksdb_writebatch_wi_delete_cf(
        arg0: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes
    );
    fn rocksdb_writebatch_wi_singledelete_cf(
        arg0: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, key: bytes
    );
    fn rocksdb_writebatch_wi_deletev(
        b: maybe rocksdb_writebatch_wi_t, num_keys: i32, keys_list: raw(*const *const c_char),
        keys_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_deletev_cf(
        b: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, num_keys: i32,
        keys_list: raw(*const *const c_char), keys_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_delete_range(b: maybe rocksdb_writebatch_wi_t, start_key: bytes, end_key: bytes);
    fn rocksdb_writebatch_wi_delete_range_cf(
        b: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t,
        start_key: bytes, end_key: bytes
    );
    fn rocksdb_writebatch_wi_delete_rangev(
        b: maybe rocksdb_writebatch_wi_t, num_keys: i32, start_keys_list: raw(*const *const c_char),
        start_keys_list_sizes: raw(*const usize), end_keys_list: raw(*const *const c_char),
        end_keys_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        b: maybe rocksdb_writebatch_wi_t, column_family: maybe rocksdb_column_family_handle_t, num_keys: i32,
        start_keys_list: raw(*const *const c_char), start_keys_list_sizes: raw(*const usize),
        end_keys_list: raw(*const *const c_char), end_keys_list_sizes: raw(*const usize)
    );
    fn rocksdb_writebatch_wi_put_log_data(arg0: maybe rocksdb_writebatch_wi_t, blob: bytes);
    fn rocksdb_writebatch_wi_iterate(
        b: maybe rocksdb_writebatch_wi_t, state: raw(*mut c_void), put: call rocksdb_batch_put_cb,
        deleted: call rocksdb_batch_delete_cb
    );
    fn rocksdb_writebatch_wi_data(b: maybe rocksdb_writebatch_wi_t, size: raw(*mut usize)) -> Text;
    fn rocksdb_writebatch_wi_set_save_point(arg0: maybe rocksdb_writebatch_wi_t);
    fn rocksdb_writebatch_wi_rollback_to_save_point(arg0: maybe rocksdb_writebatch_wi_t, err);
    fn rocksdb_writebatch_wi_get_from_batch(
        wbwi: maybe rocksdb_writebatch_wi_t, options: inmaybe rocksdb_options_t, key: bytes,
        vallen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_writebatch_wi_get_from_batch_cf(
        wbwi: maybe rocksdb_writebatch_wi_t, options: inmaybe rocksdb_options_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, vallen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        wbwi: maybe rocksdb_writebatch_wi_t, db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        key: bytes, vallen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        wbwi: maybe rocksdb_writebatch_wi_t, db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        wbwi: maybe rocksdb_writebatch_wi_t, db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, vallen: raw(*mut usize), err
    ) -> Buffer;
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        wbwi: maybe rocksdb_writebatch_wi_t, db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, key: bytes, err
    ) -> Owned<rocksdb_pinnableslice_t>;
    fn rocksdb_write_writebatch_wi(
        db: maybe rocksdb_t, options: inmaybe rocksdb_writeoptions_t, wbwi: maybe rocksdb_writebatch_wi_t,
        err
    );
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        wbwi: maybe rocksdb_writebatch_wi_t, base_iterator: maybe rocksdb_iterator_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        wbwi: maybe rocksdb_writebatch_wi_t, base_iterator: maybe rocksdb_iterator_t,
        options: inmaybe rocksdb_readoptions_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        wbwi: maybe rocksdb_writebatch_wi_t, base_iterator: maybe rocksdb_iterator_t,
        cf: maybe rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        wbwi: maybe rocksdb_writebatch_wi_t, base_iterator: maybe rocksdb_iterator_t,
        cf: maybe rocksdb_column_family_handle_t, options: inmaybe rocksdb_readoptions_t
    ) -> Owned<rocksdb_iterator_t>;
    fn rocksdb_writebatch_wi_update_timestamps(
        wbwi: maybe rocksdb_writebatch_wi_t, ts: bytes, state: raw(*mut c_void),
        get_ts_size: call rocksdb_ts_size_cb, err
    );
}
