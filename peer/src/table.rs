//! The functions of RocksDB's C interface that comparisons use, as pointers out of a loaded library.
//!
//! Signatures follow RocksDB 11.8.1's `include/rocksdb/c.h`. The header declares every handle as a pointer
//! to an incomplete type, so [`Raw`] stands for every handle type.

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// A handle of the library.
pub type Raw = *mut c_void;
/// The place where a call stores its error. The caller frees the error.
pub type ErrorSlot = *mut *mut c_char;
/// A C string: it ends with a zero byte.
pub type Text = *const c_char;
/// Bytes with a separate length. They may contain zeros.
pub type Bytes = *const c_char;

macro_rules! table {
    ($(fn $name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// One pointer for each function. The field has the name of the function without `rocksdb_`.
        #[allow(non_snake_case)]
        pub struct Table {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Table {
            /// Looks up every function.
            ///
            /// # Safety
            /// The library must be RocksDB: its functions of these names have these signatures. The pointers are valid
            /// while the library is loaded.
            pub unsafe fn find(library: &libloading::Library) -> Result<Table, libloading::Error> {
                Ok(Table {
                    $($name: {
                        let symbol = concat!("rocksdb_", stringify!($name), "\0");
                        // SAFETY: by the contract of `find`, the function of this name has this signature.
                        *unsafe { library.get(symbol.as_bytes()) }?
                    },)*
                })
            }
        }
    };
}

table! {
    fn free(Raw);
    fn options_create() -> Raw;
    fn options_destroy(Raw);
    fn get_options_from_string(Raw, Text, Raw, ErrorSlot);
    fn open_column_families(Raw, Text, c_int, *const Text, *const Raw, *mut Raw, ErrorSlot) -> Raw;
    fn open_for_read_only_column_families(Raw, Text, c_int, *const Text, *const Raw, *mut Raw, c_uchar, ErrorSlot) -> Raw;
    fn open_as_secondary_column_families(Raw, Text, Text, c_int, *const Text, *const Raw, *mut Raw, ErrorSlot) -> Raw;
    fn try_catch_up_with_primary(Raw, ErrorSlot);
    fn checkpoint_object_create(Raw, ErrorSlot) -> Raw;
    fn checkpoint_create(Raw, Text, u64, ErrorSlot);
    fn checkpoint_object_destroy(Raw);
    fn start_trace(Raw, Raw, Raw, Raw, Text, ErrorSlot);
    fn end_trace(Raw, ErrorSlot);
    fn new_default_replayer(Raw, *mut Raw, usize, Raw, Raw, Text, ErrorSlot) -> Raw;
    fn replayer_prepare(Raw, ErrorSlot);
    fn replayer_replay(Raw, Raw, ErrorSlot);
    fn replayer_destroy(Raw);
    fn replay_options_create() -> Raw;
    fn replay_options_destroy(Raw);
    fn replay_options_set_fast_forward(Raw, f64);
    fn ingestexternalfileoptions_create() -> Raw;
    fn ingestexternalfileoptions_destroy(Raw);
    fn ingest_external_file_cf(Raw, Raw, *const Text, usize, Raw, ErrorSlot);
    fn envoptions_create() -> Raw;
    fn envoptions_destroy(Raw);
    fn sstfilewriter_create(Raw, Raw) -> Raw;
    fn sstfilewriter_open(Raw, Text, ErrorSlot);
    fn sstfilewriter_put(Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn sstfilewriter_merge(Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn sstfilewriter_delete(Raw, Bytes, usize, ErrorSlot);
    fn sstfilewriter_delete_range(Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn sstfilewriter_finish(Raw, ErrorSlot);
    fn sstfilewriter_destroy(Raw);
    fn backup_engine_open(Raw, Text, ErrorSlot) -> Raw;
    fn backup_engine_close(Raw);
    fn backup_engine_create_new_backup_flush(Raw, Raw, c_uchar, ErrorSlot);
    fn backup_engine_restore_db_from_backup(Raw, Text, Text, Raw, u32, ErrorSlot);
    fn backup_engine_verify_backup(Raw, u32, ErrorSlot);
    fn backup_engine_purge_old_backups(Raw, u32, ErrorSlot);
    fn backup_engine_get_backup_info(Raw) -> Raw;
    fn backup_engine_info_count(Raw) -> c_int;
    fn backup_engine_info_backup_id(Raw, c_int) -> u32;
    fn backup_engine_info_destroy(Raw);
    fn restore_options_create() -> Raw;
    fn restore_options_destroy(Raw);
    fn list_column_families(Raw, Text, *mut usize, ErrorSlot) -> *mut *mut c_char;
    fn list_column_families_destroy(*mut *mut c_char, usize);
    fn close(Raw);
    fn create_column_family(Raw, Raw, Text, ErrorSlot) -> Raw;
    fn drop_column_family(Raw, Raw, ErrorSlot);
    fn column_family_handle_destroy(Raw);
    fn column_family_handle_get_id(Raw) -> u32;
    fn write(Raw, Raw, Raw, ErrorSlot);
    fn put_cf(Raw, Raw, Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn merge_cf(Raw, Raw, Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn delete_range_cf(Raw, Raw, Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn delete_cf(Raw, Raw, Raw, Bytes, usize, ErrorSlot);
    fn singledelete_cf(Raw, Raw, Raw, Bytes, usize, ErrorSlot);
    fn writebatch_create() -> Raw;
    fn writebatch_create_from(Bytes, usize) -> Raw;
    fn writebatch_destroy(Raw);
    fn writebatch_count(Raw) -> c_int;
    fn writebatch_put_cf(Raw, Raw, Bytes, usize, Bytes, usize);
    fn writebatch_merge_cf(Raw, Raw, Bytes, usize, Bytes, usize);
    fn writebatch_delete_range_cf(Raw, Raw, Bytes, usize, Bytes, usize);
    fn writebatch_delete_cf(Raw, Raw, Bytes, usize);
    fn writebatch_singledelete_cf(Raw, Raw, Bytes, usize);
    fn writebatch_put_log_data(Raw, Bytes, usize);
    fn writebatch_set_save_point(Raw);
    fn writebatch_rollback_to_save_point(Raw, ErrorSlot);
    fn writebatch_pop_save_point(Raw, ErrorSlot);
    fn writeoptions_create() -> Raw;
    fn writeoptions_destroy(Raw);
    fn writeoptions_set_sync(Raw, c_uchar);
    fn writeoptions_disable_WAL(Raw, c_int);
    fn writeoptions_set_ignore_missing_column_families(Raw, c_uchar);
    fn readoptions_create() -> Raw;
    fn readoptions_destroy(Raw);
    fn readoptions_set_snapshot(Raw, Raw);
    fn readoptions_set_timestamp(Raw, Bytes, usize);
    fn readoptions_set_iterate_lower_bound(Raw, Bytes, usize);
    fn readoptions_set_iterate_upper_bound(Raw, Bytes, usize);
    fn readoptions_set_tailing(Raw, c_uchar);
    fn readoptions_set_total_order_seek(Raw, c_uchar);
    fn readoptions_set_auto_prefix_mode(Raw, c_uchar);
    fn readoptions_set_prefix_same_as_start(Raw, c_uchar);
    fn readoptions_set_pin_data(Raw, c_uchar);
    fn readoptions_set_fill_cache(Raw, c_uchar);
    fn readoptions_set_verify_checksums(Raw, c_uchar);
    fn readoptions_set_async_io(Raw, c_uchar);
    fn readoptions_set_readahead_size(Raw, usize);
    fn readoptions_set_value_size_soft_limit(Raw, u64);
    fn get_cf(Raw, Raw, Raw, Bytes, usize, *mut usize, ErrorSlot) -> *mut c_char;
    fn multi_get_cf(Raw, Raw, *const Raw, usize, *const Bytes, *const usize, *mut *mut c_char, *mut usize, *mut *mut c_char);
    fn batched_multi_get_cf(Raw, Raw, Raw, usize, *const Bytes, *const usize, *mut Raw, *mut *mut c_char, bool);
    fn pinnableslice_value(Raw, *mut usize) -> *const c_char;
    fn pinnableslice_destroy(Raw);
    fn create_iterator_cf(Raw, Raw, Raw) -> Raw;
    fn iter_destroy(Raw);
    fn iter_valid(Raw) -> c_uchar;
    fn iter_seek_to_first(Raw);
    fn iter_seek_to_last(Raw);
    fn iter_seek(Raw, Bytes, usize);
    fn iter_seek_for_prev(Raw, Bytes, usize);
    fn iter_next(Raw);
    fn iter_prev(Raw);
    fn iter_key(Raw, *mut usize) -> *const c_char;
    fn iter_value(Raw, *mut usize) -> *const c_char;
    fn iter_get_error(Raw, ErrorSlot);
    fn iter_refresh(Raw, ErrorSlot);
    fn create_snapshot(Raw) -> Raw;
    fn release_snapshot(Raw, Raw);
    fn flushoptions_create() -> Raw;
    fn flushoptions_destroy(Raw);
    fn flush_cfs(Raw, Raw, *const Raw, c_int, ErrorSlot);
    fn flush_wal(Raw, c_uchar, ErrorSlot);
    fn compactoptions_create() -> Raw;
    fn compactoptions_destroy(Raw);
    fn compactoptions_set_bottommost_level_compaction(Raw, c_uchar);
    fn compactoptions_set_exclusive_manual_compaction(Raw, c_uchar);
    fn compactoptions_set_change_level(Raw, c_uchar);
    fn compactoptions_set_target_level(Raw, c_int);
    fn compactoptions_set_max_subcompactions(Raw, c_int);
    fn compact_range_cf_opt(Raw, Raw, Raw, Bytes, usize, Bytes, usize);
    fn wait_for_compact(Raw, Raw, ErrorSlot);
    fn wait_for_compact_options_create() -> Raw;
    fn wait_for_compact_options_destroy(Raw);
    fn set_options_cf(Raw, Raw, c_int, *const Text, *const Text, ErrorSlot);
    fn set_db_options(Raw, c_int, *const Text, *const Text, ErrorSlot);
    fn property_value_cf(Raw, Raw, Text) -> *mut c_char;
    fn property_int_cf(Raw, Raw, Text, *mut u64) -> c_int;
    fn get_latest_sequence_number(Raw) -> u64;
    fn verify_checksum(Raw, ErrorSlot);
    fn destroy_db(Raw, Text, ErrorSlot);
    fn transactiondb_options_create() -> Raw;
    fn transactiondb_options_destroy(Raw);
    fn transactiondb_options_set_write_policy(Raw, c_int);
    fn transactiondb_options_set_default_write_batch_flush_threshold(Raw, i64);
    fn transactiondb_open(Raw, Raw, Text, ErrorSlot) -> Raw;
    fn transactiondb_close(Raw);
    fn transactiondb_put(Raw, Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn transactiondb_get(Raw, Raw, Bytes, usize, *mut usize, ErrorSlot) -> *mut c_char;
    fn transactiondb_get_prepared_transactions(Raw, *mut usize) -> *mut Raw;
    fn transaction_options_create() -> Raw;
    fn transaction_options_destroy(Raw);
    fn transaction_begin(Raw, Raw, Raw, Raw) -> Raw;
    fn transaction_destroy(Raw);
    fn transaction_set_name(Raw, Bytes, usize, ErrorSlot);
    fn transaction_get_name(Raw, *mut usize) -> *mut c_char;
    fn transaction_put(Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn transaction_prepare(Raw, ErrorSlot);
    fn transaction_commit(Raw, ErrorSlot);
    fn transaction_rollback(Raw, ErrorSlot);
    fn transactiondb_options_set_transaction_lock_timeout(Raw, i64);
    fn transactiondb_options_set_default_lock_timeout(Raw, i64);
    fn transactiondb_create_iterator(Raw, Raw) -> Raw;
    fn transactiondb_flush(Raw, Raw, ErrorSlot);
    fn transaction_options_set_set_snapshot(Raw, c_uchar);
    fn transaction_get(Raw, Raw, Bytes, usize, *mut usize, ErrorSlot) -> *mut c_char;
    fn transaction_get_for_update(Raw, Raw, Bytes, usize, *mut usize, c_uchar, ErrorSlot) -> *mut c_char;
    fn transaction_delete(Raw, Bytes, usize, ErrorSlot);
    fn transaction_merge(Raw, Bytes, usize, Bytes, usize, ErrorSlot);
    fn transaction_set_savepoint(Raw);
    fn transaction_rollback_to_savepoint(Raw, ErrorSlot);
    fn transaction_create_iterator(Raw, Raw) -> Raw;
}
