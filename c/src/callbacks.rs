//! The types of the functions that a program passes. The first argument of each function is the state of its object.
//!
//! A type that names a handle stands next to the handle: in `compaction_filter`, `listener`, `wal_filter` and `compaction_service`.

use std::ffi::{c_char, c_int, c_void};

use crate::jobs::{
    rocksdb_memtableinfo_t, rocksdb_status_ptr_t, rocksdb_subcompactionjobinfo_t, rocksdb_writestallinfo_t,
};
use crate::table_properties::rocksdb_table_properties_t;

/// Frees the state. Called once, after the last use of the state.
pub type rocksdb_destructor_cb = unsafe extern "C-unwind" fn(state: *mut c_void);

/// Returns the name of an object. The string must be valid until the object is destroyed.
pub type rocksdb_name_cb = unsafe extern "C-unwind" fn(state: *mut c_void) -> *const c_char;

/// Returns a number below, equal to, or above 0 if `a` is before, equal to, or after `b`.
pub type rocksdb_compare_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    a: *const c_char,
    alen: usize,
    b: *const c_char,
    blen: usize,
) -> c_int;

/// Compares keys without their timestamps. The flag of a key is 1 if the key ends with a timestamp.
pub type rocksdb_compare_without_ts_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    a: *const c_char,
    alen: usize,
    a_has_ts: u8,
    b: *const c_char,
    blen: usize,
    b_has_ts: u8,
) -> c_int;

/// Merges operands, oldest first, onto the existing value, which is null if there is none. Returns the new value, or null
/// and the success 0. `delete_value` frees the new value.
pub type rocksdb_full_merge_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    key: *const c_char,
    key_length: usize,
    existing_value: *const c_char,
    existing_value_length: usize,
    operands_list: *const *const c_char,
    operands_list_length: *const usize,
    num_operands: c_int,
    success: *mut u8,
    new_value_length: *mut usize,
) -> *mut c_char;

/// Merges operands, oldest first, into one operand. Returns null and the success 0 if the operands cannot be merged.
pub type rocksdb_partial_merge_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    key: *const c_char,
    key_length: usize,
    operands_list: *const *const c_char,
    operands_list_length: *const usize,
    num_operands: c_int,
    success: *mut u8,
    new_value_length: *mut usize,
) -> *mut c_char;

/// Frees a value that a merge function returned. If the function is null, `free` frees the value.
pub type rocksdb_delete_value_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, value: *const c_char, value_length: usize);

/// Returns 1 to remove the entry. To change the value, sets `value_changed` to 1 and `new_value` to the new value. The new
/// value must be valid until the next call of the function.
pub type rocksdb_filter_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    level: c_int,
    key: *const c_char,
    key_length: usize,
    existing_value: *const c_char,
    value_length: usize,
    new_value: *mut *mut c_char,
    new_value_length: *mut usize,
    value_changed: *mut u8,
) -> u8;

/// Returns the prefix of a key: the first bytes of the key, in the key or in memory of the program.
pub type rocksdb_transform_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    key: *const c_char,
    length: usize,
    dst_length: *mut usize,
) -> *mut c_char;

/// Returns 1 if the key has a prefix.
pub type rocksdb_in_domain_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, key: *const c_char, length: usize) -> u8;

/// Receives a line of the info log. The line has no NUL at its end.
pub type rocksdb_log_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, level: u32, message: *mut c_char, length: usize);

/// Receives a put of a write batch.
pub type rocksdb_batch_put_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    k: *const c_char,
    klen: usize,
    v: *const c_char,
    vlen: usize,
);

/// Receives a deletion of a write batch.
pub type rocksdb_batch_delete_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, k: *const c_char, klen: usize);

/// Receives the log data of a write batch.
pub type rocksdb_batch_log_data_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, blob: *const c_char, blob_len: usize);

/// Receives a put or a merge of a write batch, with the id of the column family.
pub type rocksdb_batch_put_cf_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    cfid: u32,
    k: *const c_char,
    klen: usize,
    v: *const c_char,
    vlen: usize,
);

/// Receives a deletion of a write batch, with the id of the column family.
pub type rocksdb_batch_delete_cf_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, cfid: u32, k: *const c_char, klen: usize);

/// Returns the length of the timestamps of a column family in bytes. 0: the column family has no timestamps.
pub type rocksdb_ts_size_cb = unsafe extern "C-unwind" fn(state: *mut c_void, cfid: u32) -> usize;

/// Runs when a subcompaction starts, on its thread. `info` is valid during the call only.
pub type on_subcompaction_begin_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, info: *const rocksdb_subcompactionjobinfo_t);

/// Runs when a subcompaction ends, on its thread. `info` is valid during the call only.
pub type on_subcompaction_completed_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, info: *const rocksdb_subcompactionjobinfo_t);

/// Runs when a background error occurs. `reason` is RocksDB's number of the reason. `status` holds the error
/// and is valid during the call only.
pub type on_background_error_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, reason: u32, status: *mut rocksdb_status_ptr_t);

/// Runs when the write stall of a column family changes between normal, delayed and stopped. `info` is valid
/// during the call only.
pub type on_stall_conditions_changed_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, info: *const rocksdb_writestallinfo_t);

/// Runs when a memtable becomes immutable. `info` is valid during the call only.
pub type on_memtable_sealed_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, info: *const rocksdb_memtableinfo_t);

/// Receives a line of an info log and its level. `message` ends with a zero byte.
pub type rocksdb_logger_logv_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, log_level: u32, message: *const c_char);

/// Waits for a job of a compaction service, and returns `rocksdb_compactionservice_jobstatus_...`. Stores the result of
/// `rocksdb_open_and_compact` in memory of `malloc`, which the library frees.
pub type rocksdb_compaction_service_wait_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    scheduled_job_id: *const c_char,
    result: *mut *mut c_char,
    result_len: *mut usize,
) -> c_int;

/// Ends the waits for jobs of a compaction service, because the database closes or its background work is canceled.
pub type rocksdb_compaction_service_cancel_awaiting_jobs_cb = unsafe extern "C-unwind" fn(state: *mut c_void);

/// Runs when a compaction service needs a job no longer. With `rocksdb_compactionservice_jobstatus_success`, the files of the
/// job are in the database. With another status, the database does not use the files.
pub type rocksdb_compaction_service_on_installation_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, scheduled_job_id: *const c_char, status: c_int);

/// Runs during a backup after each part of the copied bytes. `callback_trigger_interval_size` is the size of a
/// part in bytes.
pub type rocksdb_create_backup_options_progress_cb = unsafe extern "C-unwind" fn(state: *mut c_void);

/// Returns 1 if a backup must not copy the shared file. `relative_file` has `relative_file_len` bytes.
pub type rocksdb_create_backup_options_exclude_files_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    relative_file: *const c_char,
    relative_file_len: usize,
) -> u8;

/// Returns 1 if an iterator may read the table with these properties.
pub type rocksdb_readoptions_table_filter_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    table_properties: *const rocksdb_table_properties_t,
) -> u8;

/// Receives the column families before recovery replays the WALs. The ids ascend, and each id has the oldest
/// WAL number that it needs. The names come in their own order, each with its id. All arrays are valid during
/// the call only.
pub type rocksdb_walfilter_column_family_log_number_map_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    column_family_ids: *const u32,
    log_numbers: *const u64,
    column_family_log_number_count: usize,
    column_family_names: *const *const c_char,
    column_family_name_lengths: *const usize,
    column_family_name_ids: *const u32,
    column_family_name_count: usize,
);
