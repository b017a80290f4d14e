/*
 * RocksDB's C interface, for Ironstone. Written by `cargo xtask header`; do not edit.
 *
 * The functions are the functions of RocksDB 11.8.1. The rules of all functions:
 *
 * 1. Handles. A handle is a pointer to an opaque struct. A function whose name ends with `_destroy`, `_close` or
 *    `_release...` destroys the handle. Handles may be destroyed in any order: each handle holds a reference to the
 *    database. After `rocksdb_close`, calls with the other handles of the database report errors. An open iterator
 *    continues to return the entries that were visible when it was created. If a function changes a handle, no other
 *    argument of the call is the same handle.
 * 2. Null pointers. If a handle is null, a function with `errptr` reports an error. A function without `errptr` does
 *    nothing and returns 0 or NULL. All `_destroy` functions accept NULL.
 * 3. Errors. `errptr` points to NULL, or to an error string that `malloc` allocated. On success `*errptr` does not
 *    change. On failure the old string is freed and `*errptr` is a new string, which the caller frees. `errptr` itself
 *    may be NULL. The error is then dropped.
 * 4. Memory. The caller frees each returned `char*` with `free` or `rocksdb_free`. A returned `const char*` belongs to
 *    the handle that returned it. A NULL pointer with the length 0 is an empty byte string.
 * 5. Truth values are `unsigned char`: 0 is false, all other values are true.
 * 6. Threads. A database, its column families and snapshots may be used on several threads at once. All other handles
 *    may be used on one thread at a time. Callbacks run on any thread, also on several threads at once.
 * 7. Callbacks. The destructor of a state runs once, after the last use. If a callback throws a C++ exception, the call or
 *    the background job that ran the callback fails with Aborted, as at a panic. An exception of a listener, a logger or a
 *    destructor is ignored. If a comparator throws while a write goes into the memtable, the database accepts no more
 *    writes until it is opened again. If the program hides the functions of its C++ library, `std::uncaught_exceptions()` stays
 *    one higher in the thread after each such exception. On processors other than x86-64 and AArch64 an exception ends the
 *    process.
 * 8. Panics. A panic inside the library becomes an error that names the function, and the panic message is on the standard
 *    error stream. A function without `errptr` that fails returns 0 or NULL. If it takes a `rocksdb_t`, the info log of this
 *    database gets a line with the function and the error.
 * 9. Options. A setter accepts every number. If the number is not a value of the option, the call that uses the handle
 *    reports InvalidArgument with the name of the option.
 * 10. Features that Ironstone does not have. The function reports `Not implemented: NAME`. Without `errptr` it returns 0 or NULL.
 * 11. Buffers. A pointer with a length or a count points to as many initialized bytes or items, and a string ends with NUL. No
 *    thread changes them during the call. The place for a result is writable, and nothing else uses the place during the call.
 *    Arrays and places have the alignment of their type.
 *
 * What the library cannot catch: pointers that are neither NULL nor valid, lengths that do not match their buffers,
 * handles that are used after their destruction, and handles of the wrong type.
 */

#ifndef ROCKSDB_C_H
#define ROCKSDB_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ROCKSDB_LIBRARY_API
#define ROCKSDB_LIBRARY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. */
typedef struct rocksdb_backup_engine_info_t rocksdb_backup_engine_info_t;
typedef struct rocksdb_backup_engine_options_t rocksdb_backup_engine_options_t;
typedef struct rocksdb_backup_engine_t rocksdb_backup_engine_t;
typedef struct rocksdb_blob_file_addition_info_t rocksdb_blob_file_addition_info_t;
typedef struct rocksdb_blob_file_garbage_info_t rocksdb_blob_file_garbage_info_t;
typedef struct rocksdb_block_based_table_options_t rocksdb_block_based_table_options_t;
typedef struct rocksdb_block_cache_trace_options_t rocksdb_block_cache_trace_options_t;
typedef struct rocksdb_block_cache_trace_writer_options_t rocksdb_block_cache_trace_writer_options_t;
typedef struct rocksdb_cache_t rocksdb_cache_t;
typedef struct rocksdb_checkpoint_t rocksdb_checkpoint_t;
typedef struct rocksdb_column_family_handle_t rocksdb_column_family_handle_t;
typedef struct rocksdb_column_family_metadata_options_t rocksdb_column_family_metadata_options_t;
typedef struct rocksdb_column_family_metadata_t rocksdb_column_family_metadata_t;
typedef struct rocksdb_compaction_file_info_t rocksdb_compaction_file_info_t;
typedef struct rocksdb_compaction_job_stats_t rocksdb_compaction_job_stats_t;
typedef struct rocksdb_compaction_options_t rocksdb_compaction_options_t;
typedef struct rocksdb_compaction_service_options_override_t rocksdb_compaction_service_options_override_t;
typedef struct rocksdb_compactionfilter_t rocksdb_compactionfilter_t;
typedef struct rocksdb_compactionfiltercontext_t rocksdb_compactionfiltercontext_t;
typedef struct rocksdb_compactionfilterfactory_t rocksdb_compactionfilterfactory_t;
typedef struct rocksdb_compactionjobinfo_t rocksdb_compactionjobinfo_t;
typedef struct rocksdb_compactionservice_jobinfo_t rocksdb_compactionservice_jobinfo_t;
typedef struct rocksdb_compactionservice_scheduleresponse_t rocksdb_compactionservice_scheduleresponse_t;
typedef struct rocksdb_compactionservice_t rocksdb_compactionservice_t;
typedef struct rocksdb_compactoptions_t rocksdb_compactoptions_t;
typedef struct rocksdb_comparator_t rocksdb_comparator_t;
typedef struct rocksdb_create_backup_options_t rocksdb_create_backup_options_t;
typedef struct rocksdb_cuckoo_table_options_t rocksdb_cuckoo_table_options_t;
typedef struct rocksdb_dbpath_t rocksdb_dbpath_t;
typedef struct rocksdb_env_t rocksdb_env_t;
typedef struct rocksdb_envoptions_t rocksdb_envoptions_t;
typedef struct rocksdb_eventlistener_t rocksdb_eventlistener_t;
typedef struct rocksdb_export_import_files_metadata_t rocksdb_export_import_files_metadata_t;
typedef struct rocksdb_externalfileingestioninfo_t rocksdb_externalfileingestioninfo_t;
typedef struct rocksdb_fifo_compaction_options_t rocksdb_fifo_compaction_options_t;
typedef struct rocksdb_file_checksum_gen_factory_t rocksdb_file_checksum_gen_factory_t;
typedef struct rocksdb_filterpolicy_t rocksdb_filterpolicy_t;
typedef struct rocksdb_flushjobinfo_t rocksdb_flushjobinfo_t;
typedef struct rocksdb_flushoptions_t rocksdb_flushoptions_t;
typedef struct rocksdb_flushwaloptions_t rocksdb_flushwaloptions_t;
typedef struct rocksdb_hyper_clock_cache_options_t rocksdb_hyper_clock_cache_options_t;
typedef struct rocksdb_import_column_family_options_t rocksdb_import_column_family_options_t;
typedef struct rocksdb_ingestexternalfileoptions_t rocksdb_ingestexternalfileoptions_t;
typedef struct rocksdb_iterator_t rocksdb_iterator_t;
typedef struct rocksdb_level_metadata_t rocksdb_level_metadata_t;
typedef struct rocksdb_livefile_t rocksdb_livefile_t;
typedef struct rocksdb_livefiles_storage_info_options_t rocksdb_livefiles_storage_info_options_t;
typedef struct rocksdb_livefiles_storage_info_t rocksdb_livefiles_storage_info_t;
typedef struct rocksdb_livefiles_t rocksdb_livefiles_t;
typedef struct rocksdb_logger_t rocksdb_logger_t;
typedef struct rocksdb_lru_cache_options_t rocksdb_lru_cache_options_t;
typedef struct rocksdb_memory_allocator_t rocksdb_memory_allocator_t;
typedef struct rocksdb_memory_consumers_t rocksdb_memory_consumers_t;
typedef struct rocksdb_memory_usage_t rocksdb_memory_usage_t;
typedef struct rocksdb_memtableinfo_t rocksdb_memtableinfo_t;
typedef struct rocksdb_mergeoperator_t rocksdb_mergeoperator_t;
typedef struct rocksdb_open_and_compact_options_t rocksdb_open_and_compact_options_t;
typedef struct rocksdb_optimistictransaction_options_t rocksdb_optimistictransaction_options_t;
typedef struct rocksdb_optimistictransactiondb_lock_buckets_t rocksdb_optimistictransactiondb_lock_buckets_t;
typedef struct rocksdb_optimistictransactiondb_options_t rocksdb_optimistictransactiondb_options_t;
typedef struct rocksdb_optimistictransactiondb_t rocksdb_optimistictransactiondb_t;
typedef struct rocksdb_options_t rocksdb_options_t;
typedef struct rocksdb_perfcontext_t rocksdb_perfcontext_t;
typedef struct rocksdb_pinnable_handle_t rocksdb_pinnable_handle_t;
typedef struct rocksdb_pinnableslice_t rocksdb_pinnableslice_t;
typedef struct rocksdb_ratelimiter_t rocksdb_ratelimiter_t;
typedef struct rocksdb_readoptions_t rocksdb_readoptions_t;
typedef struct rocksdb_replay_options_t rocksdb_replay_options_t;
typedef struct rocksdb_replayer_t rocksdb_replayer_t;
typedef struct rocksdb_restore_options_t rocksdb_restore_options_t;
typedef struct rocksdb_size_approximation_options_t rocksdb_size_approximation_options_t;
typedef struct rocksdb_slicetransform_t rocksdb_slicetransform_t;
typedef struct rocksdb_snapshot_t rocksdb_snapshot_t;
typedef struct rocksdb_sst_file_manager_t rocksdb_sst_file_manager_t;
typedef struct rocksdb_sst_file_metadata_t rocksdb_sst_file_metadata_t;
typedef struct rocksdb_sst_partitioner_factory_t rocksdb_sst_partitioner_factory_t;
typedef struct rocksdb_sstfilewriter_t rocksdb_sstfilewriter_t;
typedef struct rocksdb_statistics_histogram_data_t rocksdb_statistics_histogram_data_t;
typedef struct rocksdb_status_ptr_t rocksdb_status_ptr_t;
typedef struct rocksdb_subcompactionjobinfo_t rocksdb_subcompactionjobinfo_t;
typedef struct rocksdb_t rocksdb_t;
typedef struct rocksdb_table_properties_collector_factory_t rocksdb_table_properties_collector_factory_t;
typedef struct rocksdb_table_properties_t rocksdb_table_properties_t;
typedef struct rocksdb_trace_options_t rocksdb_trace_options_t;
typedef struct rocksdb_trace_reader_t rocksdb_trace_reader_t;
typedef struct rocksdb_transaction_options_t rocksdb_transaction_options_t;
typedef struct rocksdb_transaction_t rocksdb_transaction_t;
typedef struct rocksdb_transactiondb_options_t rocksdb_transactiondb_options_t;
typedef struct rocksdb_transactiondb_t rocksdb_transactiondb_t;
typedef struct rocksdb_universal_compaction_options_t rocksdb_universal_compaction_options_t;
typedef struct rocksdb_wait_for_compact_options_t rocksdb_wait_for_compact_options_t;
typedef struct rocksdb_wal_file_t rocksdb_wal_file_t;
typedef struct rocksdb_wal_files_t rocksdb_wal_files_t;
typedef struct rocksdb_wal_iterator_t rocksdb_wal_iterator_t;
typedef struct rocksdb_wal_readoptions_t rocksdb_wal_readoptions_t;
typedef struct rocksdb_walfilter_t rocksdb_walfilter_t;
typedef struct rocksdb_write_buffer_manager_t rocksdb_write_buffer_manager_t;
typedef struct rocksdb_writebatch_t rocksdb_writebatch_t;
typedef struct rocksdb_writebatch_wi_t rocksdb_writebatch_wi_t;
typedef struct rocksdb_writeoptions_t rocksdb_writeoptions_t;
typedef struct rocksdb_writestallcondition_t rocksdb_writestallcondition_t;
typedef struct rocksdb_writestallinfo_t rocksdb_writestallinfo_t;

/* Bytes that belong to a handle, or to the program. */
typedef struct rocksdb_slice_t {
  const char* data;
  size_t size;
} rocksdb_slice_t;

/* The parts that a size estimate includes. */
enum {
  rocksdb_size_approximation_flags_none = 0,
  rocksdb_size_approximation_flags_include_memtable = 1,
  rocksdb_size_approximation_flags_include_files = 2,
  rocksdb_size_approximation_flags_include_blob_files = 4,
};

/* The state of a WAL file. */
enum {
  rocksdb_wal_file_type_archived_log = 0,
  rocksdb_wal_file_type_alive_log = 1,
};

/* The index of a block-based table. */
enum {
  rocksdb_block_based_table_index_type_binary_search = 0,
  rocksdb_block_based_table_index_type_hash_search = 1,
  rocksdb_block_based_table_index_type_two_level_index_search = 2,
};

/* The index inside a data block. */
enum {
  rocksdb_block_based_table_data_block_index_type_binary_search = 0,
  rocksdb_block_based_table_data_block_index_type_binary_search_and_hash = 1,
};

/* The search algorithm in an index block. */
enum {
  rocksdb_block_based_table_index_block_search_type_binary = 0,
  rocksdb_block_based_table_index_block_search_type_interpolation = 1,
  rocksdb_block_based_table_index_block_search_type_auto = 2,
};

/* The tables whose index and filter blocks are pinned in the block cache. */
enum {
  rocksdb_block_based_k_fallback_pinning_tier = 0,
  rocksdb_block_based_k_none_pinning_tier = 1,
  rocksdb_block_based_k_flush_and_similar_pinning_tier = 2,
  rocksdb_block_based_k_all_pinning_tier = 3,
};

/* The statistics that are collected. */
enum {
  rocksdb_statistics_level_disable_all = 0,
  rocksdb_statistics_level_except_tickers = 0,
  rocksdb_statistics_level_except_histogram_or_timers = 1,
  rocksdb_statistics_level_except_timers = 2,
  rocksdb_statistics_level_except_detailed_timers = 3,
  rocksdb_statistics_level_except_time_for_mutex = 4,
  rocksdb_statistics_level_all = 5,
};

/* The new blobs that are added to the blob cache. */
enum {
  rocksdb_prepopulate_blob_disable = 0,
  rocksdb_prepopulate_blob_flush_only = 1,
};

/* How recovery treats torn and corrupt WAL records. */
enum {
  rocksdb_tolerate_corrupted_tail_records_recovery = 0,
  rocksdb_absolute_consistency_recovery = 1,
  rocksdb_point_in_time_recovery = 2,
  rocksdb_skip_any_corrupted_records_recovery = 3,
};

/* Compression of blocks. */
enum {
  rocksdb_no_compression = 0,
  rocksdb_snappy_compression = 1,
  rocksdb_zlib_compression = 2,
  rocksdb_bz2_compression = 3,
  rocksdb_lz4_compression = 4,
  rocksdb_lz4hc_compression = 5,
  rocksdb_xpress_compression = 6,
  rocksdb_zstd_compression = 7,
};

/* Compaction styles. */
enum {
  rocksdb_level_compaction = 0,
  rocksdb_universal_compaction = 1,
  rocksdb_fifo_compaction = 2,
};

/* The order in which the SST files of a level are compacted. */
enum {
  rocksdb_k_by_compensated_size_compaction_pri = 0,
  rocksdb_k_oldest_largest_seq_first_compaction_pri = 1,
  rocksdb_k_oldest_smallest_seq_first_compaction_pri = 2,
  rocksdb_k_min_overlapping_ratio_compaction_pri = 3,
  rocksdb_k_round_robin_compaction_pri = 4,
};

/* The counters and times that the perf context collects. */
enum {
  rocksdb_uninitialized = 0,
  rocksdb_disable = 1,
  rocksdb_enable_count = 2,
  rocksdb_enable_time_except_for_mutex = 3,
  rocksdb_enable_time = 4,
  rocksdb_out_of_bounds = 5,
};

/* The decisions of a WAL filter. */
enum {
  rocksdb_wal_filter_continue_processing = 0,
  rocksdb_wal_filter_ignore_current_record = 1,
  rocksdb_wal_filter_stop_replay = 2,
  rocksdb_wal_filter_corrupted_record = 3,
};

/* The calls that a trace leaves out. */
enum {
  rocksdb_trace_filter_none = 0,
  rocksdb_trace_filter_get = 1,
  rocksdb_trace_filter_write = 2,
  rocksdb_trace_filter_iterator_seek = 4,
  rocksdb_trace_filter_iterator_seek_for_prev = 8,
  rocksdb_trace_filter_multi_get = 16,
};

/* The condition at which universal compaction adds no more sorted runs to a compaction. */
enum {
  rocksdb_similar_size_compaction_stop_style = 0,
  rocksdb_total_size_compaction_stop_style = 1,
};

/* When a transaction writes to memtables. */
enum {
  rocksdb_txndb_write_policy_write_committed = 0,
  rocksdb_txndb_write_policy_write_prepared = 1,
  rocksdb_txndb_write_policy_write_unprepared = 2,
};

/* The state of a job of a compaction service. */
enum {
  rocksdb_compactionservice_jobstatus_success = 0,
  rocksdb_compactionservice_jobstatus_failure = 1,
  rocksdb_compactionservice_jobstatus_aborted = 2,
  rocksdb_compactionservice_jobstatus_use_local = 3,
};

/* Counters of the perf context. */
enum {
  rocksdb_user_key_comparison_count = 0,
  rocksdb_block_cache_hit_count = 1,
  rocksdb_block_read_count = 2,
  rocksdb_block_read_byte = 3,
  rocksdb_block_read_time = 4,
  rocksdb_block_checksum_time = 5,
  rocksdb_block_decompress_time = 6,
  rocksdb_get_read_bytes = 7,
  rocksdb_multiget_read_bytes = 8,
  rocksdb_iter_read_bytes = 9,
  rocksdb_internal_key_skipped_count = 10,
  rocksdb_internal_delete_skipped_count = 11,
  rocksdb_internal_recent_skipped_count = 12,
  rocksdb_internal_merge_count = 13,
  rocksdb_get_snapshot_time = 14,
  rocksdb_get_from_memtable_time = 15,
  rocksdb_get_from_memtable_count = 16,
  rocksdb_get_post_process_time = 17,
  rocksdb_get_from_output_files_time = 18,
  rocksdb_seek_on_memtable_time = 19,
  rocksdb_seek_on_memtable_count = 20,
  rocksdb_next_on_memtable_count = 21,
  rocksdb_prev_on_memtable_count = 22,
  rocksdb_seek_child_seek_time = 23,
  rocksdb_seek_child_seek_count = 24,
  rocksdb_seek_min_heap_time = 25,
  rocksdb_seek_max_heap_time = 26,
  rocksdb_seek_internal_seek_time = 27,
  rocksdb_find_next_user_entry_time = 28,
  rocksdb_write_wal_time = 29,
  rocksdb_write_memtable_time = 30,
  rocksdb_write_delay_time = 31,
  rocksdb_write_pre_and_post_process_time = 32,
  rocksdb_db_mutex_lock_nanos = 33,
  rocksdb_db_condition_wait_nanos = 34,
  rocksdb_merge_operator_time_nanos = 35,
  rocksdb_read_index_block_nanos = 36,
  rocksdb_read_filter_block_nanos = 37,
  rocksdb_new_table_block_iter_nanos = 38,
  rocksdb_new_table_iterator_nanos = 39,
  rocksdb_block_seek_nanos = 40,
  rocksdb_find_table_nanos = 41,
  rocksdb_bloom_memtable_hit_count = 42,
  rocksdb_bloom_memtable_miss_count = 43,
  rocksdb_bloom_sst_hit_count = 44,
  rocksdb_bloom_sst_miss_count = 45,
  rocksdb_key_lock_wait_time = 46,
  rocksdb_key_lock_wait_count = 47,
  rocksdb_env_new_sequential_file_nanos = 48,
  rocksdb_env_new_random_access_file_nanos = 49,
  rocksdb_env_new_writable_file_nanos = 50,
  rocksdb_env_reuse_writable_file_nanos = 51,
  rocksdb_env_new_random_rw_file_nanos = 52,
  rocksdb_env_new_directory_nanos = 53,
  rocksdb_env_file_exists_nanos = 54,
  rocksdb_env_get_children_nanos = 55,
  rocksdb_env_get_children_file_attributes_nanos = 56,
  rocksdb_env_delete_file_nanos = 57,
  rocksdb_env_create_dir_nanos = 58,
  rocksdb_env_create_dir_if_missing_nanos = 59,
  rocksdb_env_delete_dir_nanos = 60,
  rocksdb_env_get_file_size_nanos = 61,
  rocksdb_env_get_file_modification_time_nanos = 62,
  rocksdb_env_rename_file_nanos = 63,
  rocksdb_env_link_file_nanos = 64,
  rocksdb_env_lock_file_nanos = 65,
  rocksdb_env_unlock_file_nanos = 66,
  rocksdb_env_new_logger_nanos = 67,
  rocksdb_number_async_seek = 68,
  rocksdb_blob_cache_hit_count = 69,
  rocksdb_blob_read_count = 70,
  rocksdb_blob_read_byte = 71,
  rocksdb_blob_read_time = 72,
  rocksdb_blob_checksum_time = 73,
  rocksdb_blob_decompress_time = 74,
  rocksdb_internal_range_del_reseek_count = 75,
  rocksdb_block_read_cpu_time = 76,
  rocksdb_internal_merge_point_lookup_count = 77,
  rocksdb_data_block_read_byte = 78,
  rocksdb_index_block_read_byte = 79,
  rocksdb_filter_block_read_byte = 80,
  rocksdb_compression_dict_block_read_byte = 81,
  rocksdb_metadata_block_read_byte = 82,
  rocksdb_blob_cache_read_byte = 83,
  rocksdb_total_metric_count = 86,
};

/* The functions that a program hands in. */
/* Frees the state. Called once, after the last use of the state. */
typedef void (*rocksdb_destructor_cb)(void* state);
/* Returns the name of an object. The string must be valid until the object is destroyed. */
typedef const char* (*rocksdb_name_cb)(void* state);
/* Returns a number below, equal to, or above 0 if `a` is before, equal to, or after `b`. */
typedef int (*rocksdb_compare_cb)(void* state, const char* a, size_t alen, const char* b,
    size_t blen);
/* Compares keys without their timestamps. The flag of a key is 1 if the key ends with a timestamp. */
typedef int (*rocksdb_compare_without_ts_cb)(void* state, const char* a, size_t alen,
    unsigned char a_has_ts, const char* b, size_t blen, unsigned char b_has_ts);
/* Merges operands, oldest first, onto the existing value, which is null if there is none. Returns the new value, or null
   and the success 0. `delete_value` frees the new value. */
typedef char* (*rocksdb_full_merge_cb)(void* state, const char* key, size_t key_length,
    const char* existing_value, size_t existing_value_length, const char* const* operands_list,
    const size_t* operands_list_length, int num_operands, unsigned char* success,
    size_t* new_value_length);
/* Merges operands, oldest first, into one operand. Returns null and the success 0 if the operands cannot be merged. */
typedef char* (*rocksdb_partial_merge_cb)(void* state, const char* key, size_t key_length,
    const char* const* operands_list, const size_t* operands_list_length, int num_operands,
    unsigned char* success, size_t* new_value_length);
/* Frees a value that a merge function returned. If the function is null, `free` frees the value. */
typedef void (*rocksdb_delete_value_cb)(void* state, const char* value, size_t value_length);
/* Returns 1 to remove the entry. To change the value, sets `value_changed` to 1 and `new_value` to the new value. The new
   value must be valid until the next call of the function. */
typedef unsigned char (*rocksdb_filter_cb)(void* state, int level, const char* key,
    size_t key_length, const char* existing_value, size_t value_length, char** new_value,
    size_t* new_value_length, unsigned char* value_changed);
/* Returns the prefix of a key: the first bytes of the key, in the key or in memory of the program. */
typedef char* (*rocksdb_transform_cb)(void* state, const char* key, size_t length,
    size_t* dst_length);
/* Returns 1 if the key has a prefix. */
typedef unsigned char (*rocksdb_in_domain_cb)(void* state, const char* key, size_t length);
/* Receives a line of the info log. The line has no NUL at its end. */
typedef void (*rocksdb_log_cb)(void* state, uint32_t level, char* message, size_t length);
/* Receives a put of a write batch. */
typedef void (*rocksdb_batch_put_cb)(void* state, const char* k, size_t klen, const char* v,
    size_t vlen);
/* Receives a deletion of a write batch. */
typedef void (*rocksdb_batch_delete_cb)(void* state, const char* k, size_t klen);
/* Receives the log data of a write batch. */
typedef void (*rocksdb_batch_log_data_cb)(void* state, const char* blob, size_t blob_len);
/* Receives a put or a merge of a write batch, with the id of the column family. */
typedef void (*rocksdb_batch_put_cf_cb)(void* state, uint32_t cfid, const char* k, size_t klen,
    const char* v, size_t vlen);
/* Receives a deletion of a write batch, with the id of the column family. */
typedef void (*rocksdb_batch_delete_cf_cb)(void* state, uint32_t cfid, const char* k, size_t klen);
/* Returns the length of the timestamps of a column family in bytes. 0: the column family has no timestamps. */
typedef size_t (*rocksdb_ts_size_cb)(void* state, uint32_t cfid);
/* Runs when a subcompaction starts, on its thread. `info` is valid during the call only. */
typedef void (*on_subcompaction_begin_cb)(void* state, const rocksdb_subcompactionjobinfo_t* info);
/* Runs when a subcompaction ends, on its thread. `info` is valid during the call only. */
typedef void (*on_subcompaction_completed_cb)(void* state,
    const rocksdb_subcompactionjobinfo_t* info);
/* Runs when a background error occurs. `reason` is RocksDB's number of the reason. `status` holds the error
   and is valid during the call only. */
typedef void (*on_background_error_cb)(void* state, uint32_t reason, rocksdb_status_ptr_t* status);
/* Runs when the write stall of a column family changes between normal, delayed and stopped. `info` is valid
   during the call only. */
typedef void (*on_stall_conditions_changed_cb)(void* state, const rocksdb_writestallinfo_t* info);
/* Runs when a memtable becomes immutable. `info` is valid during the call only. */
typedef void (*on_memtable_sealed_cb)(void* state, const rocksdb_memtableinfo_t* info);
/* Receives a line of an info log and its level. `message` ends with a zero byte. */
typedef void (*rocksdb_logger_logv_cb)(void* state, uint32_t log_level, const char* message);
/* Waits for a job of a compaction service, and returns `rocksdb_compactionservice_jobstatus_...`. Stores the result of
   `rocksdb_open_and_compact` in memory of `malloc`, which the library frees. */
typedef int (*rocksdb_compaction_service_wait_cb)(void* state, const char* scheduled_job_id,
    char** result, size_t* result_len);
/* Ends the waits for jobs of a compaction service, because the database closes or its background work is canceled. */
typedef void (*rocksdb_compaction_service_cancel_awaiting_jobs_cb)(void* state);
/* Runs when a compaction service needs a job no longer. With `rocksdb_compactionservice_jobstatus_success`, the files of the
   job are in the database. With another status, the database does not use the files. */
typedef void (*rocksdb_compaction_service_on_installation_cb)(void* state,
    const char* scheduled_job_id, int status);
/* Runs during a backup after each part of the copied bytes. `callback_trigger_interval_size` is the size of a
   part in bytes. */
typedef void (*rocksdb_create_backup_options_progress_cb)(void* state);
/* Returns 1 if a backup must not copy the shared file. `relative_file` has `relative_file_len` bytes. */
typedef unsigned char (*rocksdb_create_backup_options_exclude_files_cb)(void* state,
    const char* relative_file, size_t relative_file_len);
/* Returns 1 if an iterator may read the table with these properties. */
typedef unsigned char (*rocksdb_readoptions_table_filter_cb)(void* state,
    const rocksdb_table_properties_t* table_properties);
/* Receives the column families before recovery replays the WALs. The ids ascend, and each id has the oldest
   WAL number that it needs. The names come in their own order, each with its id. All arrays are valid during
   the call only. */
typedef void (*rocksdb_walfilter_column_family_log_number_map_cb)(void* state,
    const uint32_t* column_family_ids, const uint64_t* log_numbers,
    size_t column_family_log_number_count, const char* const* column_family_names,
    const size_t* column_family_name_lengths, const uint32_t* column_family_name_ids,
    size_t column_family_name_count);
/* Creates the filter of one compaction. The library destroys the filter. */
typedef rocksdb_compactionfilter_t* (*rocksdb_create_filter_cb)(void* state,
    rocksdb_compactionfiltercontext_t* context);
/* Starts a subcompaction in another process. `compaction_service_input` has `input_len` bytes: the message for
   `rocksdb_open_and_compact`. `info` and the message are valid during the call only. The library destroys the returned
   response. Null: the compaction fails. */
typedef rocksdb_compactionservice_scheduleresponse_t* (*rocksdb_compaction_service_schedule_cb)(void* state,
    const rocksdb_compactionservice_jobinfo_t* info, const char* compaction_service_input,
    size_t input_len);
/* Runs when a flush starts. `info` is valid during the call only. */
typedef void (*on_flush_begin_cb)(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info);
/* Runs after a flush is committed. `info` is valid during the call only. */
typedef void (*on_flush_completed_cb)(void* state, rocksdb_t* db,
    const rocksdb_flushjobinfo_t* info);
/* Runs when a compaction starts. `info` is valid during the call only. */
typedef void (*on_compaction_begin_cb)(void* state, rocksdb_t* db,
    const rocksdb_compactionjobinfo_t* info);
/* Runs after a compaction ends, also if the compaction failed. `info` is valid during the call only. */
typedef void (*on_compaction_completed_cb)(void* state, rocksdb_t* db,
    const rocksdb_compactionjobinfo_t* info);
/* Runs after an ingested file is visible to readers. `info` is valid during the call only. */
typedef void (*on_external_file_ingested_cb)(void* state, rocksdb_t* db,
    const rocksdb_externalfileingestioninfo_t* info);
/* Receives one WAL record during recovery and returns a constant `rocksdb_wal_filter_*`. To replace the record, fill
   `new_batch`, set `batch_changed` to 1, and return `rocksdb_wal_filter_continue_processing`. Both batches are valid
   during the call only. */
typedef int (*rocksdb_walfilter_log_record_found_cb)(void* state, unsigned long long log_number,
    const char* log_file_name, size_t log_file_name_len, const rocksdb_writebatch_t* batch,
    rocksdb_writebatch_t* new_batch, unsigned char* batch_changed);

/* ---- Backup engines: backups of a database in a directory, and their restore ---- */
/* Opens a directory of backups. Creates the directory if it does not exist. Uses the environment of `options`. */
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_t* rocksdb_backup_engine_open(const rocksdb_options_t* options,
    const char* path, char** errptr);
/* Opens a directory of backups. `env` is the environment of the databases. */
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_t* rocksdb_backup_engine_open_opts(const rocksdb_backup_engine_options_t* options,
    rocksdb_env_t* env, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_create_new_backup(rocksdb_backup_engine_t* be,
    rocksdb_t* db, char** errptr);
/* Creates a backup. With `flush_before_backup` the memtables are flushed first, and the backup needs no WAL. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_create_new_backup_flush(rocksdb_backup_engine_t* be,
    rocksdb_t* db, unsigned char flush_before_backup, char** errptr);
/* Creates a backup with options. Null options mean the defaults. Writes the number of the backup to `backup_id`, which may
   be null. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_create_new_backup_with_options(rocksdb_backup_engine_t* be,
    rocksdb_t* db, const rocksdb_create_backup_options_t* options, uint32_t* backup_id,
    char** errptr);
/* Works like `rocksdb_backup_engine_create_new_backup_with_options`. Also stores metadata of the program. Null: no
   metadata. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_create_new_backup_with_metadata(rocksdb_backup_engine_t* be,
    rocksdb_t* db, const rocksdb_create_backup_options_t* options, const char* app_metadata,
    size_t app_metadata_len, uint32_t* backup_id, char** errptr);
/* Deletes all backups except the newest `num_backups_to_keep` backups. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_purge_old_backups(rocksdb_backup_engine_t* be,
    uint32_t num_backups_to_keep, char** errptr);
/* Compares the sizes of the files of a backup with the recorded sizes. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_verify_backup(rocksdb_backup_engine_t* be,
    uint32_t backup_id, char** errptr);
/* Replaces the database in `db_dir` with the newest backup. The database must be closed. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_restore_db_from_latest_backup(rocksdb_backup_engine_t* be,
    const char* db_dir, const char* wal_dir, const rocksdb_restore_options_t* restore_options,
    char** errptr);
/* Replaces the database in `db_dir` with a backup. The database must be closed. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_restore_db_from_backup(rocksdb_backup_engine_t* be,
    const char* db_dir, const char* wal_dir, const rocksdb_restore_options_t* restore_options,
    uint32_t backup_id, char** errptr);
/* Lists the backups, oldest first. */
extern ROCKSDB_LIBRARY_API const rocksdb_backup_engine_info_t* rocksdb_backup_engine_get_backup_info(rocksdb_backup_engine_t* be);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_info_count(const rocksdb_backup_engine_info_t* info);
/* Returns the time of the backup, in seconds since 1970. */
extern ROCKSDB_LIBRARY_API int64_t rocksdb_backup_engine_info_timestamp(const rocksdb_backup_engine_info_t* info,
    int index);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_backup_engine_info_backup_id(const rocksdb_backup_engine_info_t* info,
    int index);
/* Returns the total size of the files of the backup, in bytes. A file that several backups share counts in each of them. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_info_size(const rocksdb_backup_engine_info_t* info,
    int index);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_backup_engine_info_number_files(const rocksdb_backup_engine_info_t* info,
    int index);
/* Returns the metadata of the program. The bytes are valid until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_backup_engine_info_app_metadata(const rocksdb_backup_engine_info_t* info,
    int index, size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_info_destroy(const rocksdb_backup_engine_info_t* info);
/* Stops the running backup, and rejects new backups of this handle. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_stop_backup(rocksdb_backup_engine_t* be);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_close(rocksdb_backup_engine_t* be);

/* ---- Options of backup engines, backups and restores ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_io_buffer_size(rocksdb_backup_engine_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_options_get_io_buffer_size(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_backup_rate_limit(rocksdb_backup_engine_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_options_get_backup_rate_limit(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_max_background_operations(rocksdb_backup_engine_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_options_get_max_background_operations(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_share_table_files(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_share_table_files(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_sync(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_sync(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_destroy_old_data(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_destroy_old_data(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_backup_log_files(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_backup_log_files(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_restore_rate_limit(rocksdb_backup_engine_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_options_get_restore_rate_limit(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_share_files_with_checksum(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_share_files_with_checksum(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_callback_trigger_interval_size(rocksdb_backup_engine_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_backup_engine_options_get_callback_trigger_interval_size(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_max_valid_backups_to_open(rocksdb_backup_engine_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_options_get_max_valid_backups_to_open(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_share_files_with_checksum_naming(rocksdb_backup_engine_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_options_get_share_files_with_checksum_naming(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_schema_version(rocksdb_backup_engine_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_backup_engine_options_get_schema_version(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_current_temperatures_override_manifest(rocksdb_backup_engine_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_backup_engine_options_get_current_temperatures_override_manifest(const rocksdb_backup_engine_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_create_backup_options_t* rocksdb_create_backup_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_destroy(rocksdb_create_backup_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority(rocksdb_create_backup_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority(const rocksdb_create_backup_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_background_thread_cpu_priority(rocksdb_create_backup_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_create_backup_options_get_background_thread_cpu_priority(const rocksdb_create_backup_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_flush_before_backup(rocksdb_create_backup_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_create_backup_options_get_flush_before_backup(const rocksdb_create_backup_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_atomic_flush(rocksdb_create_backup_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_create_backup_options_get_atomic_flush(const rocksdb_create_backup_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_restore_options_t* rocksdb_restore_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_restore_options_destroy(rocksdb_restore_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_restore_options_set_keep_log_files(rocksdb_restore_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_restore_options_get_keep_log_files(const rocksdb_restore_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_restore_options_set_mode(rocksdb_restore_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_restore_options_get_mode(const rocksdb_restore_options_t* handle);
/* Creates options of a backup engine whose backups are in `backup_dir`. */
extern ROCKSDB_LIBRARY_API rocksdb_backup_engine_options_t* rocksdb_backup_engine_options_create(const char* backup_dir);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_destroy(rocksdb_backup_engine_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_backup_dir(rocksdb_backup_engine_options_t* options,
    const char* dir);
/* Returns the backup directory. The string is valid until the option changes or the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_backup_engine_options_get_backup_dir(rocksdb_backup_engine_options_t* options,
    size_t* size);
/* Sets the environment of the backups. The environment is shared. Null: the environment of the databases. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_env(rocksdb_backup_engine_options_t* options,
    rocksdb_env_t* env);
/* Sets the rate limiter of backups. The limiter is shared. Null: the option `backup_rate_limit` limits the rate. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_backup_rate_limiter(rocksdb_backup_engine_options_t* options,
    rocksdb_ratelimiter_t* limiter);
/* Sets the rate limiter of restores. The limiter is shared. Null: the option `restore_rate_limit` limits the rate. */
extern ROCKSDB_LIBRARY_API void rocksdb_backup_engine_options_set_restore_rate_limiter(rocksdb_backup_engine_options_t* options,
    rocksdb_ratelimiter_t* limiter);
/* Calls a function after each `callback_trigger_interval_size` bytes. Null: no calls. */
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_progress_callback(rocksdb_create_backup_options_t* options,
    void* state, rocksdb_create_backup_options_progress_cb callback);
/* Sets a function that chooses the shared files that the backup leaves out. Null: no file is left out. */
extern ROCKSDB_LIBRARY_API void rocksdb_create_backup_options_set_exclude_files_callback(rocksdb_create_backup_options_t* options,
    void* state, rocksdb_create_backup_options_exclude_files_cb callback);

/* ---- Write batches ---- */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_destroy(rocksdb_writebatch_t* handle);
/* Creates a batch from the bytes of `rocksdb_writebatch_data`. If the bytes are not a batch, its write fails. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create_from(const char* rep,
    size_t rep_len);
/* Creates a batch with room for `reserved_bytes`. Changes past `max_bytes` are dropped; 0: no limit. With any
   `protection_bytes_per_key` above 0, a write of the batch keeps a checksum of 8 bytes for each change.
   `default_cf_ts_sz` is the length of the timestamps of the default column family. A write fails if the default column
   family has timestamps of another length; 0: not checked. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_writebatch_create_with_params(size_t reserved_bytes,
    size_t max_bytes, size_t protection_bytes_per_key, size_t default_cf_ts_sz);
/* Removes all changes. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_clear(rocksdb_writebatch_t* batch);
/* Returns the number of changes. */
extern ROCKSDB_LIBRARY_API int rocksdb_writebatch_count(rocksdb_writebatch_t* batch);
/* Returns the bytes of the batch. The bytes are valid until the next change of the batch. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_writebatch_data(rocksdb_writebatch_t* batch,
    size_t* size);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put(rocksdb_writebatch_t* batch, const char* key,
    size_t key_len, const char* val, size_t val_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_cf_with_ts(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* ts,
    size_t ts_len, const char* val, size_t val_len);
/* Puts a key and a value that are given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_putv(rocksdb_writebatch_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values_list, const char* const* values_list, const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_putv_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, int num_values_list, const char* const* values_list,
    const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_merge(rocksdb_writebatch_t* batch,
    const char* key, size_t key_len, const char* val, size_t val_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_merge_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len);
/* Merges a key and an operand that are given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_mergev(rocksdb_writebatch_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values_list, const char* const* values_list, const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_mergev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, int num_values_list, const char* const* values_list,
    const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete(rocksdb_writebatch_t* batch,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_cf_with_ts(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* ts,
    size_t ts_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete(rocksdb_writebatch_t* batch,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_singledelete_cf_with_ts(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* ts,
    size_t ts_len);
/* Deletes a key that is given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_deletev(rocksdb_writebatch_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_deletev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes);
/* Deletes the keys from `start_key` up to `end_key`, `end_key` not included. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_range(rocksdb_writebatch_t* batch,
    const char* start_key, size_t start_key_len, const char* end_key, size_t end_key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_range_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* end_key, size_t end_key_len);
/* Deletes a range whose keys are given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_rangev(rocksdb_writebatch_t* batch,
    int num_keys, const char* const* start_keys, const size_t* start_keys_sizes,
    const char* const* limit_keys, const size_t* limit_keys_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_delete_rangev_cf(rocksdb_writebatch_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys, const char* const* start_keys,
    const size_t* start_keys_sizes, const char* const* limit_keys, const size_t* limit_keys_sizes);
/* Adds bytes that are written to the WAL but not to memtables. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_put_log_data(rocksdb_writebatch_t* batch,
    const char* blob, size_t blob_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_set_save_point(rocksdb_writebatch_t* batch);
/* Removes the changes since the last save point, and the save point. NotFound without a save point. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_rollback_to_save_point(rocksdb_writebatch_t* batch,
    char** errptr);
/* Removes the last save point. NotFound without a save point. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_pop_save_point(rocksdb_writebatch_t* batch,
    char** errptr);
/* Sets the timestamp of each key to `ts`, in column families with timestamps. `get_ts_size` returns the length of the
   timestamps of a column family by its id; 0: the column family has no timestamps. Removes all save points. Reports
   InvalidArgument if a column family has timestamps of another length than `ts`. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_update_timestamps(rocksdb_writebatch_t* wb,
    const char* ts, size_t ts_len, void* state, rocksdb_ts_size_cb get_ts_size, char** errptr);
/* Checks the records and the count of the batch. Reports Corruption if they are invalid. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_verify_checksum(rocksdb_writebatch_t* batch,
    char** errptr);
/* Calls a function for each put and each deletion of the default column family. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate(rocksdb_writebatch_t* batch, void* state,
    rocksdb_batch_put_cb put, rocksdb_batch_delete_cb deleted);
/* Works like `rocksdb_writebatch_iterate`, with log data. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_ld(rocksdb_writebatch_t* batch,
    void* state, rocksdb_batch_put_cb put, rocksdb_batch_delete_cb deleted,
    rocksdb_batch_log_data_cb log_data);
/* Calls a function for each put, deletion and merge. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_cf(rocksdb_writebatch_t* batch,
    void* state, rocksdb_batch_put_cf_cb put_cf, rocksdb_batch_delete_cf_cb deleted_cf,
    rocksdb_batch_put_cf_cb merge_cf);
/* Works like `rocksdb_writebatch_iterate_cf`, with log data. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_iterate_cf_ld(rocksdb_writebatch_t* batch,
    void* state, rocksdb_batch_put_cf_cb put_cf, rocksdb_batch_delete_cf_cb deleted_cf,
    rocksdb_batch_put_cf_cb merge_cf, rocksdb_batch_log_data_cb log_data);

/* ---- Write batches with an index: batches that can be read and iterated before they are written ---- */
/* Creates a batch. With `overwrite_keys`, the index holds only the last record of each key. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create(size_t reserved_bytes,
    unsigned char overwrite_keys);
/* Works like `rocksdb_writebatch_wi_create`. The batch uses the comparator for column families whose own
   comparator the batch does not know; null: bytewise. Records past `max_bytes` are rejected; 0: no limit. If
   `protection_bytes_per_key` is 8, a write of the batch keeps checksums of the records. If it is another number
   above 0, each write of the batch fails. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create_with_params(rocksdb_comparator_t* backup_index_comparator,
    size_t reserved_bytes, unsigned char overwrite_key, size_t max_bytes,
    size_t protection_bytes_per_key);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_destroy(rocksdb_writebatch_wi_t* batch);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_clear(rocksdb_writebatch_wi_t* batch);
/* Returns the number of records. */
extern ROCKSDB_LIBRARY_API int rocksdb_writebatch_wi_count(rocksdb_writebatch_wi_t* batch);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put(rocksdb_writebatch_wi_t* batch,
    const char* key, size_t key_len, const char* val, size_t val_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len);
/* Puts a key and a value that are given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_putv(rocksdb_writebatch_wi_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values_list, const char* const* values_list, const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_putv_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, int num_values_list, const char* const* values_list,
    const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_merge(rocksdb_writebatch_wi_t* batch,
    const char* key, size_t key_len, const char* val, size_t val_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_merge_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len);
/* Merges a key and an operand that are given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_mergev(rocksdb_writebatch_wi_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values_list, const char* const* values_list, const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_mergev_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, int num_values_list, const char* const* values_list,
    const size_t* values_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete(rocksdb_writebatch_wi_t* batch,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_singledelete(rocksdb_writebatch_wi_t* batch,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_singledelete_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len);
/* Deletes a key that is given in parts. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_deletev(rocksdb_writebatch_wi_t* batch,
    int num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_deletev_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes);
/* Does nothing: a batch with an index has no range deletions. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_range(rocksdb_writebatch_wi_t* batch,
    const char* start_key, size_t start_key_len, const char* end_key, size_t end_key_len);
/* Does nothing: a batch with an index has no range deletions. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_range_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* end_key, size_t end_key_len);
/* Does nothing: a batch with an index has no range deletions. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_rangev(rocksdb_writebatch_wi_t* batch,
    int num_keys, const char* const* start_keys, const size_t* start_keys_sizes,
    const char* const* limit_keys, const size_t* limit_keys_sizes);
/* Does nothing: a batch with an index has no range deletions. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_delete_rangev_cf(rocksdb_writebatch_wi_t* batch,
    rocksdb_column_family_handle_t* column_family, int num_keys, const char* const* start_keys,
    const size_t* start_keys_sizes, const char* const* limit_keys, const size_t* limit_keys_sizes);
/* Adds bytes that are written to the WAL but not to memtables. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_put_log_data(rocksdb_writebatch_wi_t* batch,
    const char* blob, size_t blob_len);
/* Calls a function for each put and each deletion of the default column family. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_iterate(rocksdb_writebatch_wi_t* batch,
    void* state, rocksdb_batch_put_cb put, rocksdb_batch_delete_cb deleted);
/* Returns the bytes of the batch. The bytes are valid until the next call of this function. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_writebatch_wi_data(rocksdb_writebatch_wi_t* batch,
    size_t* size);
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_set_save_point(rocksdb_writebatch_wi_t* batch);
/* Removes the records since the last save point, and the save point. NotFound without a save point. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_rollback_to_save_point(rocksdb_writebatch_wi_t* batch,
    char** errptr);
/* Works like `rocksdb_writebatch_update_timestamps`. Also InvalidArgument if a record of a column family with
   timestamps was added without a handle of the column family. */
extern ROCKSDB_LIBRARY_API void rocksdb_writebatch_wi_update_timestamps(rocksdb_writebatch_wi_t* wbwi,
    const char* ts, size_t ts_len, void* state, rocksdb_ts_size_cb get_ts_size, char** errptr);
/* Returns a copy of the value of a key in the batch, or null. Does not read the database. */
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch(rocksdb_writebatch_wi_t* wbwi,
    const rocksdb_options_t* options, const char* key, size_t key_len, size_t* vallen,
    char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch_cf(rocksdb_writebatch_wi_t* wbwi,
    const rocksdb_options_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, size_t* vallen, char** errptr);
/* Returns a copy of the value of a key as if the batch were written, or null. */
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch_and_db(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t key_len,
    size_t* vallen, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_writebatch_wi_get_from_batch_and_db_cf(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, size_t* vallen,
    char** errptr);
/* Works like `rocksdb_writebatch_wi_get_from_batch_and_db`, without a copy. */
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_writebatch_wi_get_pinned_from_batch_and_db(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key, size_t key_len,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, char** errptr);
/* Writes the batch. Does not change the batch. */
extern ROCKSDB_LIBRARY_API void rocksdb_write_writebatch_wi(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_writebatch_wi_t* wbwi, char** errptr);
/* Returns an iterator over the entries of the base iterator as if the batch were written. Takes ownership of the base
   iterator. At a merge of the batch, the iterator ends with InvalidArgument: for merges, state the column family. */
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_iterator_t* base_iterator);
/* Works like `rocksdb_writebatch_wi_create_iterator_with_base`. The bounds of the options also limit the records
   of the batch. */
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_readopts(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_iterator_t* base_iterator, const rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_cf(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_iterator_t* base_iterator, rocksdb_column_family_handle_t* cf);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(rocksdb_writebatch_wi_t* wbwi,
    rocksdb_iterator_t* base_iterator, rocksdb_column_family_handle_t* cf,
    const rocksdb_readoptions_t* options);

/* ---- Block caches ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_set_capacity(rocksdb_lru_cache_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_set_num_shard_bits(rocksdb_lru_cache_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_hyper_clock_cache_options_set_capacity(rocksdb_hyper_clock_cache_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(rocksdb_hyper_clock_cache_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_hyper_clock_cache_options_set_num_shard_bits(rocksdb_hyper_clock_cache_options_t* handle,
    int value);
/* Creates an LRU cache of `capacity` bytes. */
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_lru(size_t capacity);
/* Creates an LRU cache that rejects entries past its capacity. */
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_lru_with_strict_capacity_limit(size_t capacity);
/* Creates an LRU cache. Returns null if `num_shard_bits` is above 19. */
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_lru_opts(const rocksdb_lru_cache_options_t* options);
/* Creates a hyper clock cache of `capacity` bytes. `estimated_entry_charge` is the expected size of an entry in bytes; 0:
   the cache adapts to the sizes of its entries. */
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_hyper_clock(size_t capacity,
    size_t estimated_entry_charge);
/* Creates a hyper clock cache. Returns null if `num_shard_bits` is above 19. */
extern ROCKSDB_LIBRARY_API rocksdb_cache_t* rocksdb_cache_create_hyper_clock_opts(const rocksdb_hyper_clock_cache_options_t* options);
/* Destroys the handle. Databases that use the cache keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_cache_destroy(rocksdb_cache_t* cache);
/* Disowns the memory of the cache: its destruction does not free the memory. For a faster end of the process. */
extern ROCKSDB_LIBRARY_API void rocksdb_cache_disown_data(rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API void rocksdb_cache_set_capacity(rocksdb_cache_t* cache, size_t capacity);
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_capacity(const rocksdb_cache_t* cache);
/* Returns the total size of all entries, in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_usage(const rocksdb_cache_t* cache);
/* Returns the total size of the entries that iterators and pinned values use, in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_pinned_usage(const rocksdb_cache_t* cache);
/* Returns the number of slots in the hash tables of the cache. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_table_address_count(const rocksdb_cache_t* cache);
/* Returns the number of entries. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_cache_get_occupancy_count(const rocksdb_cache_t* cache);
extern ROCKSDB_LIBRARY_API rocksdb_lru_cache_options_t* rocksdb_lru_cache_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_destroy(rocksdb_lru_cache_options_t* options);
/* Rejects the allocator, because Ironstone has no memory allocators: no cache is created with these options. */
extern ROCKSDB_LIBRARY_API void rocksdb_lru_cache_options_set_memory_allocator(rocksdb_lru_cache_options_t* options,
    rocksdb_memory_allocator_t* allocator);
extern ROCKSDB_LIBRARY_API rocksdb_hyper_clock_cache_options_t* rocksdb_hyper_clock_cache_options_create(size_t capacity,
    size_t estimated_entry_charge);
extern ROCKSDB_LIBRARY_API void rocksdb_hyper_clock_cache_options_destroy(rocksdb_hyper_clock_cache_options_t* options);
/* Rejects the allocator, because Ironstone has no memory allocators: no cache is created with these options. */
extern ROCKSDB_LIBRARY_API void rocksdb_hyper_clock_cache_options_set_memory_allocator(rocksdb_hyper_clock_cache_options_t* options,
    rocksdb_memory_allocator_t* allocator);

/* ---- Checkpoints, and lists of the files that make up a database ---- */
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t* rocksdb_checkpoint_object_create(rocksdb_t* db,
    char** errptr);
/* Creates a copy of the database in a new directory. Links files if the file system supports links; copies them otherwise.
   Flushes the memtables if the WALs have at least `log_size_for_flush` bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_checkpoint_create(rocksdb_checkpoint_t* checkpoint,
    const char* checkpoint_dir, uint64_t log_size_for_flush, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_checkpoint_object_destroy(rocksdb_checkpoint_t* checkpoint);
/* Lists the files that make up the database. Null options: the default options. */
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_storage_info_t* rocksdb_get_livefiles_storage_info(rocksdb_t* db,
    const rocksdb_livefiles_storage_info_options_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_storage_info_destroy(rocksdb_livefiles_storage_info_t* info);
extern ROCKSDB_LIBRARY_API size_t rocksdb_livefiles_storage_info_count(const rocksdb_livefiles_storage_info_t* info);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_storage_info_relative_filename(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_storage_info_directory(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_storage_info_file_number(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
/* Returns the type of the file. 0: WAL. 2: SST file. 3: MANIFEST. 4: CURRENT. 9: OPTIONS file. 10: blob file. */
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_storage_info_file_type(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_storage_info_size(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_storage_info_temperature(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
/* Returns the checksum of the file. Returns an empty string if the checksum contains NUL. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_storage_info_file_checksum(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_storage_info_file_checksum_func_name(const rocksdb_livefiles_storage_info_t* info,
    size_t index);
/* Returns the content that replaces the content of the file. If there is none, its size is 0. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_storage_info_replacement_contents(const rocksdb_livefiles_storage_info_t* info,
    size_t index, size_t* size);
/* Returns 1 if only the first bytes of the file belong to the database. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_livefiles_storage_info_trim_to_size(const rocksdb_livefiles_storage_info_t* info,
    size_t index);

/* ---- Compaction filters of the program, and factories that create a filter for each compaction ---- */
/* Creates a compaction filter. Returns null if `filter` is null. */
extern ROCKSDB_LIBRARY_API rocksdb_compactionfilter_t* rocksdb_compactionfilter_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_filter_cb filter, rocksdb_name_cb name);
/* Must be 1: a compaction filter is also called for entries that snapshots need. */
extern ROCKSDB_LIBRARY_API void rocksdb_compactionfilter_set_ignore_snapshots(rocksdb_compactionfilter_t* filter,
    unsigned char ignore);
/* Destroys the handle. Databases that use the filter keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_compactionfilter_destroy(rocksdb_compactionfilter_t* filter);
/* Returns 1 if the compaction reads all files of the column family. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionfiltercontext_is_full_compaction(rocksdb_compactionfiltercontext_t* context);
/* Returns 1 if the program requested the compaction. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionfiltercontext_is_manual_compaction(rocksdb_compactionfiltercontext_t* context);
/* Creates a factory. `rocksdb_options_set_compaction_filter_factory` takes ownership of the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_compactionfilterfactory_t* rocksdb_compactionfilterfactory_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_create_filter_cb create_compaction_filter,
    rocksdb_name_cb name);
/* Destroys a factory. Options that took ownership of a factory destroy it themselves. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_compactionfilterfactory_destroy(rocksdb_compactionfilterfactory_t* factory);

/* ---- Options of compactions: universal, FIFO, of a range, of files, and waiting for the end of compactions ---- */
extern ROCKSDB_LIBRARY_API rocksdb_universal_compaction_options_t* rocksdb_universal_compaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_destroy(rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_fifo_compaction_options_t* rocksdb_fifo_compaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_destroy(rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_compactoptions_t* rocksdb_compactoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_destroy(rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_compaction_options_t* rocksdb_compaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_destroy(rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_wait_for_compact_options_t* rocksdb_wait_for_compact_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_destroy(rocksdb_wait_for_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_size_ratio(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_size_ratio(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_min_merge_width(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_min_merge_width(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_max_merge_width(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_max_merge_width(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_max_size_amplification_percent(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_max_size_amplification_percent(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_compression_size_percent(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_compression_size_percent(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_stop_style(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_stop_style(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_max_read_amp(rocksdb_universal_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_universal_compaction_options_get_max_read_amp(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_allow_trivial_move(rocksdb_universal_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_universal_compaction_options_get_allow_trivial_move(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_incremental(rocksdb_universal_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_universal_compaction_options_get_incremental(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_universal_compaction_options_set_reduce_file_locking(rocksdb_universal_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_universal_compaction_options_get_reduce_file_locking(const rocksdb_universal_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_allow_compaction(rocksdb_fifo_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_fifo_compaction_options_get_allow_compaction(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_max_table_files_size(rocksdb_fifo_compaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_fifo_compaction_options_get_max_table_files_size(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_max_data_files_size(rocksdb_fifo_compaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_fifo_compaction_options_get_max_data_files_size(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction(rocksdb_fifo_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_age_for_warm(rocksdb_fifo_compaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_fifo_compaction_options_get_age_for_warm(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_allow_trivial_copy_when_change_temperature(rocksdb_fifo_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_fifo_compaction_options_get_allow_trivial_copy_when_change_temperature(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_fifo_compaction_options_set_trivial_copy_buffer_size(rocksdb_fifo_compaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_fifo_compaction_options_get_trivial_copy_buffer_size(const rocksdb_fifo_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_exclusive_manual_compaction(rocksdb_compactoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactoptions_get_exclusive_manual_compaction(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_bottommost_level_compaction(rocksdb_compactoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactoptions_get_bottommost_level_compaction(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_change_level(rocksdb_compactoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactoptions_get_change_level(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_target_level(rocksdb_compactoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_target_level(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_target_path_id(rocksdb_compactoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_target_path_id(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_allow_write_stall(rocksdb_compactoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactoptions_get_allow_write_stall(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_max_subcompactions(rocksdb_compactoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_max_subcompactions(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_blob_garbage_collection_policy(rocksdb_compactoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compactoptions_get_blob_garbage_collection_policy(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_blob_garbage_collection_age_cutoff(rocksdb_compactoptions_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_compactoptions_get_blob_garbage_collection_age_cutoff(const rocksdb_compactoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_compression(rocksdb_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compaction_options_get_compression(const rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_output_file_size_limit(rocksdb_compaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_options_get_output_file_size_limit(const rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_max_subcompactions(rocksdb_compaction_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compaction_options_get_max_subcompactions(const rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_output_temperature_override(rocksdb_compaction_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_compaction_options_get_output_temperature_override(const rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_allow_trivial_move(rocksdb_compaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compaction_options_get_allow_trivial_move(const rocksdb_compaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_set_abort_on_pause(rocksdb_wait_for_compact_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wait_for_compact_options_get_abort_on_pause(const rocksdb_wait_for_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_set_flush(rocksdb_wait_for_compact_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wait_for_compact_options_get_flush(const rocksdb_wait_for_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_set_close_db(rocksdb_wait_for_compact_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wait_for_compact_options_get_close_db(const rocksdb_wait_for_compact_options_t* handle);
/* Sets the maximum time to wait, in microseconds. 0: no limit. */
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_set_timeout(rocksdb_wait_for_compact_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_wait_for_compact_options_get_timeout(const rocksdb_wait_for_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact_options_set_wait_for_purge(rocksdb_wait_for_compact_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wait_for_compact_options_get_wait_for_purge(const rocksdb_wait_for_compact_options_t* handle);
/* Sets `full_history_ts_low`. The compaction may drop an entry whose timestamp is below `ts` if the key has a newer entry
   below `ts`. If `ts` is null, `full_history_ts_low` is not set. */
extern ROCKSDB_LIBRARY_API void rocksdb_compactoptions_set_full_history_ts_low(rocksdb_compactoptions_t* options,
    char* ts, size_t ts_len);
/* Creates a flag that cancels compactions. Its value is 0: compactions are not canceled. */
extern ROCKSDB_LIBRARY_API unsigned char* rocksdb_compaction_options_canceled_create(void);
/* Destroys the flag. Options that use the flag keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_canceled_destroy(unsigned char* canceled);
/* Sets the flag. 1 cancels the compactions of the options that use the flag. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_canceled_set(unsigned char* canceled,
    unsigned char value);
/* Sets the flag that cancels the compaction. The flag is shared. Null: the compaction cannot be canceled. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_options_set_canceled(rocksdb_compaction_options_t* options,
    unsigned char* canceled);

/* ---- Compaction services: functions of the program that run subcompactions in other processes ---- */
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionservice_jobinfo_t_get_cf_id(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionservice_jobinfo_t_get_job_id(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_priority(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_compaction_reason(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_base_input_level(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_jobinfo_t_get_output_level(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionservice_jobinfo_t_is_full_compaction(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionservice_jobinfo_t_is_manual_compaction(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionservice_jobinfo_t_is_bottommost_level(const rocksdb_compactionservice_jobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_name(const rocksdb_compactionservice_jobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_id(const rocksdb_compactionservice_jobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_db_session_id(const rocksdb_compactionservice_jobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_jobinfo_t_get_cf_name(const rocksdb_compactionservice_jobinfo_t* handle,
    size_t* size);
/* Creates a compaction service. Give it to `rocksdb_options_set_compaction_service`, which takes ownership. Without a
   schedule or a wait function, the database compacts itself. `destructor` runs once, when no database and no options
   use the service. */
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_t* rocksdb_compactionservice_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_compaction_service_schedule_cb schedule,
    const char* name, rocksdb_compaction_service_wait_cb wait,
    rocksdb_compaction_service_cancel_awaiting_jobs_cb cancel_awaiting_jobs,
    rocksdb_compaction_service_on_installation_cb on_installation);
/* Creates a response: the id of the job, and `rocksdb_compactionservice_jobstatus_...`. A null id is empty. */
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_scheduleresponse_t* rocksdb_compactionservice_scheduleresponse_create(const char* scheduled_job_id,
    int status, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_compactionservice_scheduleresponse_t* rocksdb_compactionservice_scheduleresponse_create_with_status(int status,
    char** errptr);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionservice_scheduleresponse_getstatus(const rocksdb_compactionservice_scheduleresponse_t* response);
/* Returns the id of the job. The bytes are valid until the handle is destroyed. If `response` is null, returns null and
   sets `len` to 0. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(const rocksdb_compactionservice_scheduleresponse_t* response,
    size_t* len);
extern ROCKSDB_LIBRARY_API void rocksdb_compactionservice_scheduleresponse_t_destroy(rocksdb_compactionservice_scheduleresponse_t* response);

/* ---- The worker of a compaction service: `rocksdb_open_and_compact`, its options, and SST partitioners ---- */
extern ROCKSDB_LIBRARY_API rocksdb_open_and_compact_options_t* rocksdb_open_and_compact_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_options_destroy(rocksdb_open_and_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_options_set_allow_resumption(rocksdb_open_and_compact_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_open_and_compact_options_get_allow_resumption(const rocksdb_open_and_compact_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_compaction_service_options_override_t* rocksdb_compaction_service_options_override_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_destroy(rocksdb_compaction_service_options_override_t* handle);
/* Copies the objects of options. */
extern ROCKSDB_LIBRARY_API rocksdb_compaction_service_options_override_t* rocksdb_compaction_service_options_override_create_from_options(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_env(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_comparator(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_comparator_t* comparator);
/* Sets the merge operator. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_merge_operator(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_mergeoperator_t* merge_operator);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_compaction_filter(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_compactionfilter_t* compaction_filter);
/* Sets the compaction filter factory. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_compaction_filter_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_compactionfilterfactory_t* compaction_filter_factory);
/* Sets the prefix extractor. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_prefix_extractor(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_slicetransform_t* prefix_extractor);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_block_based_table_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_block_based_table_options_t* table_options);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_cuckoo_table_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_cuckoo_table_options_t* table_options);
/* Adds a listener. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_add_event_listener(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_eventlistener_t* event_listener);
/* Shares the statistics of options. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_statistics(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_info_log(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_logger_t* logger);
/* Adds a factory of table properties collectors. No function creates such a factory. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_add_table_properties_collector_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_table_properties_collector_factory_t* factory);
/* Stores a change of an option by name. The worker applies the change to the options of the database. A name that no
   option has, has no effect. Null strings change nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_option(rocksdb_compaction_service_options_override_t* overrides,
    const char* key, const char* value);
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_file_checksum_gen_factory_t* factory);
/* Shares the factory. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_compaction_service_options_override_set_sst_partitioner_factory(rocksdb_compaction_service_options_override_t* overrides,
    rocksdb_sst_partitioner_factory_t* factory);
/* Creates a factory of partitioners that end an SST file where the prefix of the keys changes. */
extern ROCKSDB_LIBRARY_API rocksdb_sst_partitioner_factory_t* rocksdb_sst_partitioner_fixed_prefix_factory_create(size_t prefix_len);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_partitioner_factory_destroy(rocksdb_sst_partitioner_factory_t* factory);
/* Creates a flag that cancels `rocksdb_open_and_compact_with_options`. The flag is 0. */
extern ROCKSDB_LIBRARY_API unsigned char* rocksdb_open_and_compact_canceled_create(void);
/* Destroys the flag. Options that use the flag keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_canceled_destroy(unsigned char* canceled);
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_canceled_set(unsigned char* canceled,
    unsigned char value);
/* Shares the flag. Null: no cancellation. */
extern ROCKSDB_LIBRARY_API void rocksdb_open_and_compact_options_set_canceled(rocksdb_open_and_compact_options_t* options,
    unsigned char* canceled);
/* Compacts the SST files that `input` names, for a compaction service. `input` is the message that the schedule function
   of the service got. Opens the database at `db_path` for reading, also while another process writes to it. Writes the
   new SST files to `output_directory`, and deletes other SST files there. Returns the result for the wait function of
   the service, with a NUL after its `output_len` bytes. */
extern ROCKSDB_LIBRARY_API char* rocksdb_open_and_compact(const char* db_path,
    const char* output_directory, const char* input, size_t input_len, size_t* output_len,
    const rocksdb_compaction_service_options_override_t* override_options, char** errptr);
/* Works like `rocksdb_open_and_compact`, with a flag that cancels the work. `allow_resumption` has no effect: the
   worker always starts from the beginning. */
extern ROCKSDB_LIBRARY_API char* rocksdb_open_and_compact_with_options(const rocksdb_open_and_compact_options_t* options,
    const char* db_path, const char* output_directory, const char* input, size_t input_len,
    size_t* output_len, const rocksdb_compaction_service_options_override_t* override_options,
    char** errptr);

/* ---- Comparators of the program: the order of keys ---- */
/* Creates a comparator. `destructor` runs once, when no database and no options use the comparator. */
extern ROCKSDB_LIBRARY_API rocksdb_comparator_t* rocksdb_comparator_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_compare_cb compare, rocksdb_name_cb name);
/* Creates a comparator of keys that end with a timestamp of `timestamp_size` bytes. */
extern ROCKSDB_LIBRARY_API rocksdb_comparator_t* rocksdb_comparator_with_ts_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_compare_cb compare, rocksdb_compare_cb compare_ts,
    rocksdb_compare_without_ts_cb compare_without_ts, rocksdb_name_cb name, size_t timestamp_size);
/* Destroys the handle. Databases that use the comparator keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_comparator_destroy(rocksdb_comparator_t* comparator);

/* ---- Creating, dropping and naming column families; options of an open database ---- */
/* Creates a column family. The caller destroys the handle. In a database with a time to live, its values do not expire. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_create_column_family(rocksdb_t* db,
    const rocksdb_options_t* column_family_options, const char* column_family_name, char** errptr);
/* Creates column families with the same options. Writes the number of returned handles to `lencfs`. After an error, returns
   the handles of the column families that were created before it. Destroy each handle, then free the list with
   `rocksdb_create_column_families_destroy`. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t** rocksdb_create_column_families(rocksdb_t* db,
    const rocksdb_options_t* column_family_options, int num_column_families,
    const char* const* column_family_names, size_t* lencfs, char** errptr);
/* Frees a list of handles, not the handles. */
extern ROCKSDB_LIBRARY_API void rocksdb_create_column_families_destroy(rocksdb_column_family_handle_t** list);
/* Drops a column family. Its handles can still be used for reads. */
extern ROCKSDB_LIBRARY_API void rocksdb_drop_column_family(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, char** errptr);
/* Returns a handle of the default column family. The caller destroys the handle. The handle does not keep the database in memory. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_get_default_column_family_handle(rocksdb_t* db);
/* Destroys the handle, not the column family. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_handle_destroy(rocksdb_column_family_handle_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_column_family_handle_get_id(rocksdb_column_family_handle_t* handle);
/* Returns the name with a NUL at its end. `name_len` does not count the NUL. */
extern ROCKSDB_LIBRARY_API char* rocksdb_column_family_handle_get_name(rocksdb_column_family_handle_t* handle,
    size_t* name_len);
/* Changes options of the default column family, by name. After an error nothing is changed. */
extern ROCKSDB_LIBRARY_API void rocksdb_set_options(rocksdb_t* db, int count,
    const char* const* keys, const char* const* values, char** errptr);
/* Changes options of a column family, by name. After an error nothing is changed. */
extern ROCKSDB_LIBRARY_API void rocksdb_set_options_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, int count, const char* const* keys,
    const char* const* values, char** errptr);
/* Changes options of the database, by name. After an error nothing is changed. */
extern ROCKSDB_LIBRARY_API void rocksdb_set_db_options(rocksdb_t* db, int count,
    const char* const* keys, const char* const* values, char** errptr);

/* ---- Flushes, compactions, WAL flushes, verification ---- */
/* Writes the memtables of the default column family to SST files. */
extern ROCKSDB_LIBRARY_API void rocksdb_flush(rocksdb_t* db, const rocksdb_flushoptions_t* options,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_flush_cf(rocksdb_t* db,
    const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t* column_family,
    char** errptr);
/* Flushes several column families. With the option `atomic_flush`, one MANIFEST commit adds the SST files of all of them. */
extern ROCKSDB_LIBRARY_API void rocksdb_flush_cfs(rocksdb_t* db,
    const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t** column_family,
    int num_column_families, char** errptr);
/* Writes buffered WAL records to the WAL file. With `sync`, also syncs the file, so that the records are durable. */
extern ROCKSDB_LIBRARY_API void rocksdb_flush_wal(rocksdb_t* db, unsigned char sync, char** errptr);
/* Writes the WAL to the file. If `options` is null, the defaults hold: no sync. */
extern ROCKSDB_LIBRARY_API void rocksdb_flush_wal_with_options(rocksdb_t* db,
    const rocksdb_flushwaloptions_t* options, char** errptr);
/* Pauses flushes and compactions and waits for running jobs. Calls are counted: jobs start again after
   `rocksdb_continue_background_work` was called as often as this function. */
extern ROCKSDB_LIBRARY_API void rocksdb_pause_background_work(rocksdb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_continue_background_work(rocksdb_t* db, char** errptr);
/* Stops the deletion of obsolete files. Calls are counted: deletion starts again after `rocksdb_enable_file_deletions` was
   called as often as this function. */
extern ROCKSDB_LIBRARY_API void rocksdb_disable_file_deletions(rocksdb_t* db, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_enable_file_deletions(rocksdb_t* db, char** errptr);
/* Reads all blocks of all SST files and verifies their checksums. */
extern ROCKSDB_LIBRARY_API void rocksdb_verify_checksum(rocksdb_t* db, char** errptr);
/* Works like `rocksdb_verify_checksum`. The options `readahead_size`, `deadline`, `io_timeout` and
   `rate_limiter_priority` concern the reads of the files; the other options have no effect. Null: default options. */
extern ROCKSDB_LIBRARY_API void rocksdb_verify_checksum_with_options(rocksdb_t* db,
    const rocksdb_readoptions_t* options, char** errptr);
/* Compares the checksums of whole files with the checksums in the MANIFEST. */
extern ROCKSDB_LIBRARY_API void rocksdb_verify_file_checksums(rocksdb_t* db, char** errptr);
/* Works like `rocksdb_verify_file_checksums`, with the options of `rocksdb_verify_checksum_with_options`. Null:
   default options. */
extern ROCKSDB_LIBRARY_API void rocksdb_verify_file_checksums_with_options(rocksdb_t* db,
    const rocksdb_readoptions_t* options, char** errptr);
/* Compacts the keys from `start_key` to `limit_key`. A null key means no bound. Errors are written to the info log. */
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range(rocksdb_t* db, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_opt(rocksdb_t* db,
    rocksdb_compactoptions_t* options, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_range_cf_opt(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, rocksdb_compactoptions_t* options,
    const char* start_key, size_t start_key_len, const char* limit_key, size_t limit_key_len);
/* Marks the SST files of a range for a compaction in the background. */
extern ROCKSDB_LIBRARY_API void rocksdb_suggest_compact_range(rocksdb_t* db, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_suggest_compact_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len, char** errptr);
/* Compacts SST files to a level. Returns the paths of the output files; free the list with
   `rocksdb_compact_files_output_file_names_destroy`. If `output_path_id` is negative, the options choose the path. Null options: the
   default options. */
extern ROCKSDB_LIBRARY_API void rocksdb_compact_files(rocksdb_t* db,
    const rocksdb_compaction_options_t* options, const char* const* input_file_names,
    size_t num_input_file_names, int output_level, int output_path_id, char*** output_file_names,
    size_t* num_output_file_names, rocksdb_compactionjobinfo_t* compaction_job_info, char** errptr);
/* Works like `rocksdb_compact_files`. Null column family: the default column family. */
extern ROCKSDB_LIBRARY_API void rocksdb_compact_files_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const rocksdb_compaction_options_t* options,
    const char* const* input_file_names, size_t num_input_file_names, int output_level,
    int output_path_id, char*** output_file_names, size_t* num_output_file_names,
    rocksdb_compactionjobinfo_t* compaction_job_info, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_compact_files_output_file_names_destroy(char** output_file_names,
    size_t num_output_file_names);
/* Deletes each SST file whose keys are all between two keys. Keys of the range in other SST files are not deleted. */
extern ROCKSDB_LIBRARY_API void rocksdb_delete_file_in_range(rocksdb_t* db, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_file_in_range_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* start_key, size_t start_key_len,
    const char* limit_key, size_t limit_key_len, char** errptr);
/* Cancels manual compactions and rejects new ones until `rocksdb_enable_manual_compaction`. */
extern ROCKSDB_LIBRARY_API void rocksdb_disable_manual_compaction(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_enable_manual_compaction(rocksdb_t* db);
/* Stops all running compactions. No compaction starts until `rocksdb_resume_all_compactions` is called. */
extern ROCKSDB_LIBRARY_API void rocksdb_abort_all_compactions(rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_resume_all_compactions(rocksdb_t* db);
/* Stops background work before the database is closed. Later flushes and compactions fail. Later writes fail if they must
   wait for a flush or a compaction. If `wait` is not 0, the call waits for running jobs. */
extern ROCKSDB_LIBRARY_API void rocksdb_cancel_all_background_work(rocksdb_t* db,
    unsigned char wait);
/* Waits until no flush and no compaction is running or pending. */
extern ROCKSDB_LIBRARY_API void rocksdb_wait_for_compact(rocksdb_t* db,
    rocksdb_wait_for_compact_options_t* options, char** errptr);

/* ---- Reads of several keys at one sequence number ---- */
/* Reads keys at one sequence number. `values_list`, `values_list_sizes` and `errs` have a place for each key. The value
   of a key that does not exist is null, without an error. If the whole call fails, each key gets the error. The caller
   frees values and errors. */
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get(rocksdb_t* db,
    const rocksdb_readoptions_t* options, size_t num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_multi_get`, with a column family for each key. */
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys_list,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list,
    size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_multi_get`. Also returns a copy of the timestamp of each value; the caller frees it. The
   timestamp of a key without a value is null. */
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_with_ts(rocksdb_t* db,
    const rocksdb_readoptions_t* options, size_t num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes,
    char** timestamp_list, size_t* timestamp_list_sizes, char** errs);
/* Works like `rocksdb_multi_get_with_ts`, with a column family for each key. */
extern ROCKSDB_LIBRARY_API void rocksdb_multi_get_cf_with_ts(rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys_list,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list,
    size_t* values_list_sizes, char** timestamps_list, size_t* timestamps_list_sizes, char** errs);
/* Reads keys of one column family without copies, at one sequence number. `values` and `errs` have a place for each key.
   The value of a key that does not exist is null. If the whole call fails, each key gets the error. The caller destroys
   the values. */
extern ROCKSDB_LIBRARY_API void rocksdb_batched_multi_get_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    size_t num_keys_list, const char* const* keys_list, const size_t* keys_list_sizes,
    rocksdb_pinnableslice_t** values, char** errs, bool sorted_input);
/* Works like `rocksdb_batched_multi_get_cf`, with keys as slices. */
extern ROCKSDB_LIBRARY_API void rocksdb_batched_multi_get_cf_slice(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    size_t num_keys, const rocksdb_slice_t* keys_list, rocksdb_pinnableslice_t** values,
    char** errs, bool sorted_input);

/* ---- Opening, closing, destroying and repairing databases ---- */
/* Opens a database with its default column family. Fails if the database has more column families. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open(const rocksdb_options_t* options,
    const char* name, char** errptr);
/* Opens a database for reading only, with its default column family. Changes no file of the database. As in RocksDB, `error_if_wal_file_exists` has an
   effect only in `rocksdb_open_for_read_only_column_families`: this function reads the records of the WALs. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_for_read_only(const rocksdb_options_t* options,
    const char* name, unsigned char error_if_wal_file_exists, char** errptr);
/* Opens a database with column families. The names must include all column families of the database, also `default`. Writes
   a handle for each name to `column_family_handles`; the caller destroys the handles. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_column_families(const rocksdb_options_t* options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
/* Opens a database for reading only, with some of its column families. The names must include `default`. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_for_read_only_column_families(const rocksdb_options_t* options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, unsigned char error_if_wal_file_exists,
    char** errptr);
/* Opens a database with column families, and removes the entries with a timestamp newer than `trim_ts` from the column
   families with timestamps. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_and_trim_history(const rocksdb_options_t* options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char* trim_ts, size_t trim_tslen,
    char** errptr);
/* Closes the database and destroys the handle. Calls with other handles of the database report errors afterwards. */
extern ROCKSDB_LIBRARY_API void rocksdb_close(rocksdb_t* db);
/* Deletes the files of a database. */
extern ROCKSDB_LIBRARY_API void rocksdb_destroy_db(const rocksdb_options_t* options,
    const char* name, char** errptr);
/* Rebuilds the MANIFEST of a database from its remaining files. Writes can be lost. The info log reports the lost writes. */
extern ROCKSDB_LIBRARY_API void rocksdb_repair_db(const rocksdb_options_t* options,
    const char* name, char** errptr);
/* Returns the names of the column families of a database. The database need not be open. Free the list with
   `rocksdb_list_column_families_destroy`. */
extern ROCKSDB_LIBRARY_API char** rocksdb_list_column_families(const rocksdb_options_t* options,
    const char* name, size_t* lencf, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_list_column_families_destroy(char** list, size_t len);

/* ---- Reads of one key ---- */
/* Returns a copy of the value of a key, or null if the key does not exist. The caller frees the copy. */
extern ROCKSDB_LIBRARY_API char* rocksdb_get(rocksdb_t* db, const rocksdb_readoptions_t* options,
    const char* key, size_t key_len, size_t* vallen, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_cf(rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, size_t* vallen,
    char** errptr);
/* Works like `rocksdb_get`. Also returns a copy of the timestamp of the value; the caller frees both. */
extern ROCKSDB_LIBRARY_API char* rocksdb_get_with_ts(rocksdb_t* db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, size_t* vallen,
    char** ts, size_t* tslen, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_get_cf_with_ts(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, size_t* vallen, char** ts, size_t* tslen, char** errptr);
/* Returns the value of a key without a copy, or null if the key does not exist. */
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_get_pinned(rocksdb_t* db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_get_pinned_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
/* Returns the bytes of the value. The bytes are valid until the handle is destroyed. If `slice` is null, returns null and
   sets `vlen` to 0. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnableslice_value(const rocksdb_pinnableslice_t* slice,
    size_t* vlen);
extern ROCKSDB_LIBRARY_API void rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t* slice);
/* Returns the value of a key without a copy, or null if the key does not exist. */
extern ROCKSDB_LIBRARY_API rocksdb_pinnable_handle_t* rocksdb_get_pinned_v2(rocksdb_t* db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnable_handle_t* rocksdb_get_pinned_cf_v2(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
/* Returns the bytes of the value. The bytes are valid until the handle is destroyed. If `handle` is null, returns null
   and sets `vallen` to 0. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_pinnable_handle_get_value(const rocksdb_pinnable_handle_t* handle,
    size_t* vallen);
extern ROCKSDB_LIBRARY_API void rocksdb_pinnable_handle_destroy(rocksdb_pinnable_handle_t* handle);
/* Copies the value of a key to `buffer`. Returns 1 if the key exists and the value fits. Sets `found` to 1 if the key
   exists. Sets `vallen` to the length of the value, even if the value does not fit. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_get_into_buffer(rocksdb_t* db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char* buffer,
    size_t buffer_size, size_t* vallen, unsigned char* found, char** errptr);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_get_into_buffer_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char* buffer, size_t buffer_size, size_t* vallen,
    unsigned char* found, char** errptr);
/* Returns 0 if the key does not exist. Returns 1 if the key may exist. Reads no file. If `value_found` is not null, it is 1
   if memtables or cached blocks hold the value. `value` is then a copy that the caller frees. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_key_may_exist(rocksdb_t* db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** value,
    size_t* val_len, const char* timestamp, size_t timestamp_len, unsigned char* value_found);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_key_may_exist_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** value, size_t* val_len, const char* timestamp,
    size_t timestamp_len, unsigned char* value_found);

/* ---- Secondary instances: databases that another process writes ---- */
/* Opens a database that another process writes, with its default column family. The info log of this instance is in `secondary_path`.
   `max_open_files` acts as -1. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_as_secondary(const rocksdb_options_t* options,
    const char* name, const char* secondary_path, char** errptr);
/* Works like `rocksdb_open_as_secondary`, with some of the column families of the database. The names must include
   `default`. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_as_secondary_column_families(const rocksdb_options_t* options,
    const char* name, const char* secondary_path, int num_column_families,
    const char* const* column_family_names, const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
/* Updates the instance: later reads see the newest writes of the primary instance. Writes that the primary instance has not
   yet passed to the operating system are not visible. Iterators, snapshots and pinned values do not change. */
extern ROCKSDB_LIBRARY_API void rocksdb_try_catch_up_with_primary(rocksdb_t* db, char** errptr);

/* ---- Properties of a database, estimates of sizes, sequence numbers, identity ---- */
/* Returns a property as text, or null for an unknown name. The caller frees the text. */
extern ROCKSDB_LIBRARY_API char* rocksdb_property_value(rocksdb_t* db, const char* propname);
extern ROCKSDB_LIBRARY_API char* rocksdb_property_value_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* propname);
/* Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
   not a number. */
extern ROCKSDB_LIBRARY_API int rocksdb_property_int(rocksdb_t* db, const char* propname,
    uint64_t* out_val);
extern ROCKSDB_LIBRARY_API int rocksdb_property_int_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* propname, uint64_t* out_val);
/* Estimates the size of each range in SST files, in bytes. `sizes` has a place for each range. */
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes(rocksdb_t* db, int num_ranges,
    const char* const* start_keys, const size_t* start_keys_sizes, const char* const* limit_keys,
    const size_t* limit_keys_sizes, uint64_t* sizes, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, int num_ranges, const char* const* start_keys,
    const size_t* start_keys_sizes, const char* const* limit_keys, const size_t* limit_keys_sizes,
    uint64_t* sizes, char** errptr);
/* Estimates the size of each range in bytes. `include_flags` is a sum of `rocksdb_size_approximation_flags_...`. */
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_cf_with_flags(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, int num_ranges, const char* const* start_keys,
    const size_t* start_keys_sizes, const char* const* limit_keys, const size_t* limit_keys_sizes,
    uint8_t include_flags, uint64_t* sizes, char** errptr);
/* Works like `rocksdb_approximate_sizes`, with options. Null: default options. */
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_with_options(rocksdb_t* db,
    const rocksdb_size_approximation_options_t* options, int num_ranges,
    const char* const* start_keys, const size_t* start_keys_sizes, const char* const* limit_keys,
    const size_t* limit_keys_sizes, uint64_t* sizes, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_sizes_cf_with_options(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family,
    const rocksdb_size_approximation_options_t* options, int num_ranges,
    const char* const* start_keys, const size_t* start_keys_sizes, const char* const* limit_keys,
    const size_t* limit_keys_sizes, uint64_t* sizes, char** errptr);
/* Returns the newest visible sequence number. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_get_latest_sequence_number(rocksdb_t* db);
/* Returns the identity of the database. The text has a NUL after `id_len` bytes. The caller frees the text. */
extern ROCKSDB_LIBRARY_API char* rocksdb_get_db_identity(rocksdb_t* db, size_t* id_len);
/* Raises `full_history_ts_low` of a column family: the oldest timestamp that reads may use. */
extern ROCKSDB_LIBRARY_API void rocksdb_increase_full_history_ts_low(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, const char* ts_low, size_t ts_low_len,
    char** errptr);
/* Returns `full_history_ts_low` of a column family: the oldest timestamp that reads may use. The caller frees the timestamp. */
extern ROCKSDB_LIBRARY_API char* rocksdb_get_full_history_ts_low(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family, size_t* ts_lowlen, char** errptr);

/* ---- Databases whose values have a time to live. A stored value ends with the time of its write ---- */
/* Opens a database whose values expire `ttl` seconds after their write. 0 or less: values do not expire. Compactions
   remove expired values. Always open such a database with a time to live: other opens return values with their write time. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_with_ttl(const rocksdb_options_t* options,
    const char* name, int ttl, char** errptr);
/* Works like `rocksdb_open_column_families`, with a time to live for each column family. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_open_column_families_with_ttl(const rocksdb_options_t* options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, const int* ttls, char** errptr);
/* Creates a column family in a database that was opened with a time to live. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_create_column_family_with_ttl(rocksdb_t* db,
    const rocksdb_options_t* column_family_options, const char* column_family_name, int ttl,
    char** errptr);

/* ---- Writes: put, delete, merge, batches ---- */
/* Sets the value of a key. */
extern ROCKSDB_LIBRARY_API void rocksdb_put(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_cf(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len, char** errptr);
/* Sets the value of a key at a timestamp. */
extern ROCKSDB_LIBRARY_API void rocksdb_put_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, const char* ts,
    size_t ts_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_put_cf_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* ts, size_t ts_len, const char* val, size_t val_len,
    char** errptr);
/* Deletes a key. It is not an error if the key does not exist. */
extern ROCKSDB_LIBRARY_API void rocksdb_delete(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_cf(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
/* Deletes a key at a timestamp. */
extern ROCKSDB_LIBRARY_API void rocksdb_delete_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, const char* ts,
    size_t ts_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_delete_cf_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* ts, size_t ts_len, char** errptr);
/* Deletes a key that was put exactly once since its last deletion. For other keys, the result is undefined. */
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_cf(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, const char* ts,
    size_t ts_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_singledelete_cf_with_ts(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* ts, size_t ts_len, char** errptr);
/* Deletes the keys from `start_key` up to `end_key`, `end_key` not included. */
extern ROCKSDB_LIBRARY_API void rocksdb_delete_range_cf(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* start_key, size_t start_key_len, const char* end_key, size_t end_key_len,
    char** errptr);
/* Adds a merge operand to a key. */
extern ROCKSDB_LIBRARY_API void rocksdb_merge(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_merge_cf(rocksdb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
/* Writes a batch: all changes or none. Does not change the batch, so the batch can be written again. */
extern ROCKSDB_LIBRARY_API void rocksdb_write(rocksdb_t* db, const rocksdb_writeoptions_t* options,
    rocksdb_writebatch_t* batch, char** errptr);

/* ---- Environments: files and threads of a database; paths; options of files ---- */
extern ROCKSDB_LIBRARY_API rocksdb_envoptions_t* rocksdb_envoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_destroy(rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_use_mmap_reads(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_use_mmap_reads(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_use_mmap_writes(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_use_mmap_writes(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_use_direct_reads(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_use_direct_reads(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_use_direct_writes(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_use_direct_writes(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_allow_fallocate(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_allow_fallocate(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_fd_cloexec(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_fd_cloexec(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_bytes_per_sync(rocksdb_envoptions_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_envoptions_get_bytes_per_sync(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_strict_bytes_per_sync(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_strict_bytes_per_sync(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_fallocate_with_keep_size(rocksdb_envoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_envoptions_get_fallocate_with_keep_size(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_compaction_readahead_size(rocksdb_envoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_envoptions_get_compaction_readahead_size(const rocksdb_envoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_writable_file_max_buffer_size(rocksdb_envoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_envoptions_get_writable_file_max_buffer_size(const rocksdb_envoptions_t* handle);
/* Returns a handle of the environment of the machine. All handles share its threads. */
extern ROCKSDB_LIBRARY_API rocksdb_env_t* rocksdb_create_default_env(void);
/* Creates an environment whose files are in memory. The files are freed with the last handle that uses the environment. */
extern ROCKSDB_LIBRARY_API rocksdb_env_t* rocksdb_create_mem_env(void);
/* Destroys the handle. Databases that use the environment keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_destroy(rocksdb_env_t* env);
/* Sets the threads for compactions. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_background_threads(rocksdb_env_t* env, int count);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_background_threads(const rocksdb_env_t* env);
/* Sets the threads for compactions. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_low_priority_background_threads(rocksdb_env_t* env,
    int count);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_low_priority_background_threads(const rocksdb_env_t* env);
/* Sets the threads for flushes. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_high_priority_background_threads(rocksdb_env_t* env,
    int count);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_high_priority_background_threads(const rocksdb_env_t* env);
/* Sets the threads for compactions of the bottommost level. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_set_bottom_priority_background_threads(rocksdb_env_t* env,
    int count);
extern ROCKSDB_LIBRARY_API int rocksdb_env_get_bottom_priority_background_threads(const rocksdb_env_t* env);
/* Does nothing: the close of a database already waits for its background jobs. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_join_all_threads(rocksdb_env_t* env);
/* Lowers the I/O priority of the threads of the pool for compactions. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_thread_pool_io_priority(rocksdb_env_t* env);
/* Lowers the I/O priority of the threads of the pool for flushes. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_high_priority_thread_pool_io_priority(rocksdb_env_t* env);
/* Lowers the CPU priority of the threads of the pool for compactions. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_thread_pool_cpu_priority(rocksdb_env_t* env);
/* Lowers the CPU priority of the threads of the pool for flushes. */
extern ROCKSDB_LIBRARY_API void rocksdb_env_lower_high_priority_thread_pool_cpu_priority(rocksdb_env_t* env);
/* Creates a directory. The parent must exist. It is not an error if the directory exists. */
extern ROCKSDB_LIBRARY_API void rocksdb_create_dir_if_missing(rocksdb_env_t* env, const char* path,
    char** errptr);
/* Creates a path for SST files, with the target size of the files in the directory, in bytes. */
extern ROCKSDB_LIBRARY_API rocksdb_dbpath_t* rocksdb_dbpath_create(const char* path,
    uint64_t target_size);
extern ROCKSDB_LIBRARY_API void rocksdb_dbpath_destroy(rocksdb_dbpath_t* path);
/* Has no effect: SST file writers are not limited. */
extern ROCKSDB_LIBRARY_API void rocksdb_envoptions_set_rate_limiter(rocksdb_envoptions_t* options,
    rocksdb_ratelimiter_t* limiter);

/* ---- Exports of a column family, and imports of an export into a database ---- */
/* Flushes a column family, and links or copies its SST files to the new directory `export_dir`. */
extern ROCKSDB_LIBRARY_API rocksdb_export_import_files_metadata_t* rocksdb_checkpoint_export_column_family(rocksdb_checkpoint_t* checkpoint,
    rocksdb_column_family_handle_t* column_family, const char* export_dir, char** errptr);
/* Creates a column family from an export. The column family and its files appear together, or not at all. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_create_column_family_with_import(rocksdb_t* db,
    const rocksdb_options_t* column_family_options, const char* column_family_name,
    const rocksdb_import_column_family_options_t* import_options,
    rocksdb_export_import_files_metadata_t* metadata, char** errptr);
/* Creates a description without files. */
extern ROCKSDB_LIBRARY_API rocksdb_export_import_files_metadata_t* rocksdb_export_import_files_metadata_create(void);
/* Returns the name of the comparator. The caller frees the string. */
extern ROCKSDB_LIBRARY_API char* rocksdb_export_import_files_metadata_get_db_comparator_name(rocksdb_export_import_files_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API void rocksdb_export_import_files_metadata_set_db_comparator_name(rocksdb_export_import_files_metadata_t* metadata,
    const char* name);
/* Returns a copy of the list of files. The caller destroys the list. */
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_t* rocksdb_export_import_files_metadata_get_files(rocksdb_export_import_files_metadata_t* metadata);
/* Moves the list of files into the description and destroys the handle `files`. */
extern ROCKSDB_LIBRARY_API void rocksdb_export_import_files_metadata_set_files(rocksdb_export_import_files_metadata_t* metadata,
    rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API void rocksdb_export_import_files_metadata_destroy(rocksdb_export_import_files_metadata_t* metadata);

/* ---- Filter policies: Bloom and Ribbon filters of tables ---- */
/* Destroys a filter policy. Table options that took ownership of a policy destroy it themselves. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_t* policy);
/* Creates a policy of Bloom filters with `bits_per_key` bits for each key. Below 0.5: no filter. Above 100: 100 bits. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom(double bits_per_key);
/* Works like `rocksdb_filterpolicy_create_bloom`. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom_full(double bits_per_key);
/* Creates a policy of Ribbon filters with the false positive rate of a Bloom filter with the given bits for each key. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon(double bloom_equivalent_bits_per_key);
/* Creates a policy of Bloom filters for the levels below `bloom_before_level` and of Ribbon filters for the other levels.
   The files of a flush count as level -1. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon_hybrid(double bloom_equivalent_bits_per_key,
    int bloom_before_level);
/* Works like `rocksdb_filterpolicy_create_bloom`. `original_format` has no effect, because the old format of
   filters is never written. RocksDB 11.8.1 also ignores the argument. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_bloom_format(double bits_per_key,
    bool original_format);
/* Works like `rocksdb_filterpolicy_create_ribbon_hybrid`. */
extern ROCKSDB_LIBRARY_API rocksdb_filterpolicy_t* rocksdb_filterpolicy_create_ribbon_format(double bloom_equivalent_bits_per_key,
    int bloom_before_level);

/* ---- Iterators ---- */
/* Creates an iterator over the default column family. The iterator is not valid until it is positioned. */
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_create_iterator(rocksdb_t* db,
    const rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_create_iterator_cf(rocksdb_t* db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family);
/* Creates iterators over several column families. All iterators read at the same sequence number, except tailing iterators
   and iterators of column families with `inplace_update_support`. `iterators` has `size` places. */
extern ROCKSDB_LIBRARY_API void rocksdb_create_iterators(rocksdb_t* db,
    rocksdb_readoptions_t* options, rocksdb_column_family_handle_t** column_families,
    rocksdb_iterator_t** iterators, size_t size, char** errptr);
/* Destroys an iterator. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_iter_destroy(rocksdb_iterator_t* iter);
/* Returns 1 if the iterator is at an entry. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_iter_valid(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_to_first(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_to_last(rocksdb_iterator_t* iter);
/* Moves to the first entry at or after the key. */
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek(rocksdb_iterator_t* iter, const char* key,
    size_t key_len);
/* Moves to the last entry at or before the key. */
extern ROCKSDB_LIBRARY_API void rocksdb_iter_seek_for_prev(rocksdb_iterator_t* iter,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_next(rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API void rocksdb_iter_prev(rocksdb_iterator_t* iter);
/* Returns the key. The bytes are valid until the next move of the iterator. With `rocksdb_readoptions_set_iter_start_ts`,
   the key is an internal key: the key, the timestamp, and 8 bytes of sequence number and value type. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_key(const rocksdb_iterator_t* iter,
    size_t* klen);
/* Returns the value. The bytes are valid until the next move of the iterator. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_value(const rocksdb_iterator_t* iter,
    size_t* vlen);
/* Returns the timestamp. The bytes are valid until the next move of the iterator. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_iter_timestamp(const rocksdb_iterator_t* iter,
    size_t* tslen);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_key_slice(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_value_slice(const rocksdb_iterator_t* iter);
extern ROCKSDB_LIBRARY_API rocksdb_slice_t rocksdb_iter_timestamp_slice(const rocksdb_iterator_t* iter);
/* Reports the error that ended the iteration. Reports no error if the iterator reached the end. */
extern ROCKSDB_LIBRARY_API void rocksdb_iter_get_error(const rocksdb_iterator_t* iter,
    char** errptr);
/* Changes the iterator to read at the newest visible sequence number. The iterator is not valid afterwards. An iterator of
   a secondary instance then reads what the last catch-up found. */
extern ROCKSDB_LIBRARY_API void rocksdb_iter_refresh(const rocksdb_iterator_t* iter, char** errptr);

/* ---- Descriptions of flushes, compactions and other jobs, for listeners ---- */
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_flushjobinfo_cf_id(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_file_number(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_oldest_blob_file_number(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_thread_id(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_flushjobinfo_job_id(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushjobinfo_triggered_writes_slowdown(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushjobinfo_triggered_writes_stop(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_smallest_seqno(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_flushjobinfo_largest_seqno(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_flushjobinfo_flush_reason(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_flushjobinfo_blob_compression_type(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_table_properties_t* rocksdb_flushjobinfo_table_properties(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_flushjobinfo_blob_file_addition_infos_count(const rocksdb_flushjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_flushjobinfo_cf_name(const rocksdb_flushjobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_flushjobinfo_file_path(const rocksdb_flushjobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionjobinfo_cf_id(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_thread_id(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_job_id(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_num_l0_files(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_base_input_level(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_compactionjobinfo_output_level(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionjobinfo_compaction_reason(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionjobinfo_compression(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_compactionjobinfo_blob_compression_type(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compactionjobinfo_aborted(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_input_files_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_output_files_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_elapsed_micros(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_num_corrupt_keys(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_input_records(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_output_records(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_total_input_bytes(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compactionjobinfo_total_output_bytes(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_num_input_files(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_num_input_files_at_output_level(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_compaction_job_stats_t* rocksdb_compactionjobinfo_stats(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_input_file_infos_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_output_file_infos_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_table_properties_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_blob_file_addition_infos_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compactionjobinfo_blob_file_garbage_infos_count(const rocksdb_compactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_cf_name(const rocksdb_compactionjobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API int rocksdb_compaction_file_info_level(const rocksdb_compaction_file_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_file_info_file_number(const rocksdb_compaction_file_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_file_info_oldest_blob_file_number(const rocksdb_compaction_file_info_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_subcompactionjobinfo_cf_id(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_subcompactionjobinfo_thread_id(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_job_id(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_subcompaction_job_id(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_base_input_level(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API int rocksdb_subcompactionjobinfo_output_level(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_subcompactionjobinfo_compaction_reason(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_subcompactionjobinfo_compression(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_subcompactionjobinfo_blob_compression_type(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_compaction_job_stats_t* rocksdb_subcompactionjobinfo_stats(const rocksdb_subcompactionjobinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_subcompactionjobinfo_cf_name(const rocksdb_subcompactionjobinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_externalfileingestioninfo_global_seqno(const rocksdb_externalfileingestioninfo_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_table_properties_t* rocksdb_externalfileingestioninfo_table_properties(const rocksdb_externalfileingestioninfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_externalfileingestioninfo_cf_name(const rocksdb_externalfileingestioninfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_externalfileingestioninfo_external_file_path(const rocksdb_externalfileingestioninfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_externalfileingestioninfo_internal_file_path(const rocksdb_externalfileingestioninfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_first_seqno(const rocksdb_memtableinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_earliest_seqno(const rocksdb_memtableinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_num_entries(const rocksdb_memtableinfo_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_memtableinfo_num_deletes(const rocksdb_memtableinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_memtableinfo_cf_name(const rocksdb_memtableinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_memtableinfo_newest_udt(const rocksdb_memtableinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const rocksdb_writestallcondition_t* rocksdb_writestallinfo_cur(const rocksdb_writestallinfo_t* handle);
extern ROCKSDB_LIBRARY_API const rocksdb_writestallcondition_t* rocksdb_writestallinfo_prev(const rocksdb_writestallinfo_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_writestallinfo_cf_name(const rocksdb_writestallinfo_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_elapsed_micros(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_cpu_micros(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compaction_job_stats_has_accurate_num_input_records(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_input_records(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_blobs_read(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_input_files(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_input_files_trivially_moved(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_input_files_at_output_level(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_filtered_input_files(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_output_records(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_output_files(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_compaction_job_stats_num_output_files_blob(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compaction_job_stats_is_full_compaction(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compaction_job_stats_is_manual_compaction(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_compaction_job_stats_is_remote_compaction(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_input_bytes(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_blob_bytes_read(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_output_bytes(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_output_bytes_blob(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_skipped_input_bytes(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_records_replaced(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_input_raw_key_bytes(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_total_input_raw_value_bytes(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_input_deletion_records(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_expired_deletion_records(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_corrupt_keys(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_file_write_nanos(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_file_range_sync_nanos(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_file_fsync_nanos(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_file_prepare_write_nanos(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_single_del_fallthru(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_compaction_job_stats_num_single_del_mismatch(const rocksdb_compaction_job_stats_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compaction_job_stats_smallest_output_key_prefix(const rocksdb_compaction_job_stats_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_compaction_job_stats_largest_output_key_prefix(const rocksdb_compaction_job_stats_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_addition_info_blob_file_number(const rocksdb_blob_file_addition_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_addition_info_total_blob_count(const rocksdb_blob_file_addition_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_addition_info_total_blob_bytes(const rocksdb_blob_file_addition_info_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_blob_file_addition_info_blob_file_path(const rocksdb_blob_file_addition_info_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_garbage_info_blob_file_number(const rocksdb_blob_file_garbage_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_garbage_info_garbage_blob_count(const rocksdb_blob_file_garbage_info_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_blob_file_garbage_info_garbage_blob_bytes(const rocksdb_blob_file_garbage_info_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_blob_file_garbage_info_blob_file_path(const rocksdb_blob_file_garbage_info_t* handle,
    size_t* size);
/* Creates an empty description of a compaction, for `rocksdb_compact_files`. */
extern ROCKSDB_LIBRARY_API rocksdb_compactionjobinfo_t* rocksdb_compactionjobinfo_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_compactionjobinfo_destroy(rocksdb_compactionjobinfo_t* info);
/* Reports the error of the compaction. */
extern ROCKSDB_LIBRARY_API void rocksdb_compactionjobinfo_status(const rocksdb_compactionjobinfo_t* info,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_subcompactionjobinfo_status(const rocksdb_subcompactionjobinfo_t* info,
    char** errptr);
/* Reports the background error. */
extern ROCKSDB_LIBRARY_API void rocksdb_status_ptr_get_error(rocksdb_status_ptr_t* status,
    char** errptr);
/* Clears the background error before it takes effect: the failed job is tried again later, and writes continue. A failed WAL
   accepts no writes even then. */
extern ROCKSDB_LIBRARY_API void rocksdb_reset_status(rocksdb_status_ptr_t* status_ptr);
/* Returns the path of an input file, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_input_file_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos, size_t* size);
/* Returns the path of an output file, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_output_file_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos, size_t* size);
/* Returns an input file, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const rocksdb_compaction_file_info_t* rocksdb_compactionjobinfo_input_file_info_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos);
/* Returns an output file, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const rocksdb_compaction_file_info_t* rocksdb_compactionjobinfo_output_file_info_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos);
/* Returns the path of a file whose properties are known, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_compactionjobinfo_table_properties_key_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos, size_t* key_len);
extern ROCKSDB_LIBRARY_API const rocksdb_table_properties_t* rocksdb_compactionjobinfo_table_properties_value_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos);
/* Returns the properties of a file by its path, or null if they are not known. */
extern ROCKSDB_LIBRARY_API const rocksdb_table_properties_t* rocksdb_compactionjobinfo_table_properties_for_file(const rocksdb_compactionjobinfo_t* info,
    const char* file_name, size_t file_name_len);
/* Returns a blob file that the flush created, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const rocksdb_blob_file_addition_info_t* rocksdb_flushjobinfo_blob_file_addition_info_at(const rocksdb_flushjobinfo_t* info,
    size_t pos);
/* Returns a blob file that the compaction created, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const rocksdb_blob_file_addition_info_t* rocksdb_compactionjobinfo_blob_file_addition_info_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos);
/* Returns the garbage that the compaction made in a blob file, or null if there is no such file. */
extern ROCKSDB_LIBRARY_API const rocksdb_blob_file_garbage_info_t* rocksdb_compactionjobinfo_blob_file_garbage_info_at(const rocksdb_compactionjobinfo_t* info,
    size_t pos);

/* ---- Event listeners: functions of the program that the engine calls at the begin and the end of jobs, and at errors ---- */
/* Creates a listener. Null functions are not called. The functions run on the thread of the job and must not wait for
   background work. The database that a function gets can be used during the call and must not be closed by it. Until the
   open returns, calls with this database report errors. `rocksdb_options_add_eventlistener` takes ownership of the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_eventlistener_t* rocksdb_eventlistener_create(void* state,
    rocksdb_destructor_cb destructor, on_flush_begin_cb on_flush_begin,
    on_flush_completed_cb on_flush_completed, on_compaction_begin_cb on_compaction_begin,
    on_compaction_completed_cb on_compaction_completed,
    on_subcompaction_begin_cb on_subcompaction_begin,
    on_subcompaction_completed_cb on_subcompaction_completed,
    on_external_file_ingested_cb on_external_file_ingested,
    on_background_error_cb on_background_error,
    on_stall_conditions_changed_cb on_stall_conditions_changed,
    on_memtable_sealed_cb on_memtable_sealed);
/* Destroys a listener. Options that took ownership of a listener destroy it themselves. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_eventlistener_destroy(rocksdb_eventlistener_t* listener);

/* ---- Loggers: they receive the lines of the info log ---- */
/* Creates a logger that writes to the standard error stream. A line is the time, the thread, `prefix`, then the message.
   Null: no prefix. */
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_logger_create_stderr_logger(int log_level,
    const char* prefix);
/* Creates a logger that calls a function for each line of at least `log_level`. */
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_logger_create_callback_logger(int log_level,
    rocksdb_log_cb callback, void* state);
/* Destroys the handle. Databases that use the logger keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_logger_destroy(rocksdb_logger_t* logger);

/* ---- The memory of databases and caches; `rocksdb_free` ---- */
extern ROCKSDB_LIBRARY_API rocksdb_memory_consumers_t* rocksdb_memory_consumers_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_destroy(rocksdb_memory_consumers_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_approximate_memory_usage_get_mem_table_total(const rocksdb_memory_usage_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_approximate_memory_usage_get_mem_table_unflushed(const rocksdb_memory_usage_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_approximate_memory_usage_get_mem_table_readers_total(const rocksdb_memory_usage_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_approximate_memory_usage_get_cache_total(const rocksdb_memory_usage_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_add_db(rocksdb_memory_consumers_t* consumers,
    rocksdb_t* db);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_consumers_add_cache(rocksdb_memory_consumers_t* consumers,
    rocksdb_cache_t* cache);
/* Measures the memory of the databases and caches. As in RocksDB, the memory of a cache is the size of its entries, without
   its hash tables. */
extern ROCKSDB_LIBRARY_API rocksdb_memory_usage_t* rocksdb_approximate_memory_usage_create(rocksdb_memory_consumers_t* consumers,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_approximate_memory_usage_destroy(rocksdb_memory_usage_t* usage);
/* Frees memory that a function of this library returned. Does the same as `free`. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_free(void* ptr);

/* ---- Merge operators of the program ---- */
/* Creates a merge operator. `rocksdb_options_set_merge_operator` takes ownership of the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_mergeoperator_t* rocksdb_mergeoperator_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_full_merge_cb full_merge,
    rocksdb_partial_merge_cb partial_merge, rocksdb_delete_value_cb delete_value,
    rocksdb_name_cb name);
/* Destroys a merge operator. Options that took ownership of an operator destroy it themselves. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_mergeoperator_destroy(rocksdb_mergeoperator_t* merge_operator);

/* ---- The levels and SST files of a column family, and the live files of a database ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_metadata_options_set_level(rocksdb_column_family_metadata_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_column_family_metadata_options_get_level(const rocksdb_column_family_metadata_options_t* handle);
/* Creates options that select all levels and all keys. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_options_t* rocksdb_column_family_metadata_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_metadata_options_destroy(rocksdb_column_family_metadata_options_t* options);
/* Copies the key. Null: no bound. */
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_metadata_options_set_start_key(rocksdb_column_family_metadata_options_t* options,
    const char* key, size_t key_len);
/* Returns the bound, or null if there is none. The bytes are valid until the next change or the end of the handle. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_column_family_metadata_options_get_start_key(const rocksdb_column_family_metadata_options_t* options,
    size_t* key_len);
/* Copies the key. Null: no bound. */
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_metadata_options_set_end_key(rocksdb_column_family_metadata_options_t* options,
    const char* key, size_t key_len);
/* Returns the bound, or null if there is none. The bytes are valid until the next change or the end of the handle. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_column_family_metadata_options_get_end_key(const rocksdb_column_family_metadata_options_t* options,
    size_t* key_len);
/* Returns the levels and SST files of the default column family. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata(rocksdb_t* db);
/* Null options: all levels with SST files. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_with_options(rocksdb_t* db,
    const rocksdb_column_family_metadata_options_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family);
/* Null options: all levels with SST files. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_metadata_t* rocksdb_get_column_family_metadata_cf_with_options(rocksdb_t* db,
    rocksdb_column_family_handle_t* column_family,
    const rocksdb_column_family_metadata_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_column_family_metadata_destroy(rocksdb_column_family_metadata_t* metadata);
/* Returns the total size of all SST files, in bytes. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_column_family_metadata_get_size(rocksdb_column_family_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API size_t rocksdb_column_family_metadata_get_file_count(rocksdb_column_family_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API char* rocksdb_column_family_metadata_get_name(rocksdb_column_family_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API size_t rocksdb_column_family_metadata_get_level_count(rocksdb_column_family_metadata_t* metadata);
/* Returns a level, or null if there is no such level. The caller destroys the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_level_metadata_t* rocksdb_column_family_metadata_get_level_metadata(rocksdb_column_family_metadata_t* metadata,
    size_t i);
extern ROCKSDB_LIBRARY_API void rocksdb_level_metadata_destroy(rocksdb_level_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API int rocksdb_level_metadata_get_level(rocksdb_level_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_level_metadata_get_size(rocksdb_level_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API size_t rocksdb_level_metadata_get_file_count(rocksdb_level_metadata_t* metadata);
/* Returns an SST file, or null if there is no such file. The caller destroys the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_sst_file_metadata_t* rocksdb_level_metadata_get_sst_file_metadata(rocksdb_level_metadata_t* metadata,
    size_t i);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_metadata_destroy(rocksdb_sst_file_metadata_t* metadata);
/* Returns the name of the file in its directory. The caller frees the name. */
extern ROCKSDB_LIBRARY_API char* rocksdb_sst_file_metadata_get_relative_filename(rocksdb_sst_file_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API char* rocksdb_sst_file_metadata_get_directory(rocksdb_sst_file_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_sst_file_metadata_get_size(rocksdb_sst_file_metadata_t* metadata);
extern ROCKSDB_LIBRARY_API char* rocksdb_sst_file_metadata_get_smallestkey(rocksdb_sst_file_metadata_t* metadata,
    size_t* len);
extern ROCKSDB_LIBRARY_API char* rocksdb_sst_file_metadata_get_largestkey(rocksdb_sst_file_metadata_t* metadata,
    size_t* len);
/* Returns the SST files of all column families. */
extern ROCKSDB_LIBRARY_API const rocksdb_livefiles_t* rocksdb_livefiles(rocksdb_t* db);
/* Creates an empty list of files. */
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_t* rocksdb_livefiles_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_destroy(const rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_count(const rocksdb_livefiles_t* files);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_column_family_name(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_name(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_directory(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API int rocksdb_livefiles_level(const rocksdb_livefiles_t* files, int index);
extern ROCKSDB_LIBRARY_API size_t rocksdb_livefiles_size(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_smallestkey(const rocksdb_livefiles_t* files,
    int index, size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_livefiles_largestkey(const rocksdb_livefiles_t* files,
    int index, size_t* size);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_smallest_seqno(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_largest_seqno(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_entries(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_deletions(const rocksdb_livefiles_t* files,
    int index);
extern ROCKSDB_LIBRARY_API rocksdb_livefile_t* rocksdb_livefile_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_destroy(rocksdb_livefile_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_level(rocksdb_livefile_t* handle, int value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_size(rocksdb_livefile_t* handle, size_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_smallest_seqno(rocksdb_livefile_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_largest_seqno(rocksdb_livefile_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_num_entries(rocksdb_livefile_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_num_deletions(rocksdb_livefile_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_column_family_name(rocksdb_livefile_t* file,
    const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_name(rocksdb_livefile_t* file,
    const char* name);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_directory(rocksdb_livefile_t* file,
    const char* directory);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_smallest_key(rocksdb_livefile_t* file,
    const char* key, size_t key_len);
extern ROCKSDB_LIBRARY_API void rocksdb_livefile_set_largest_key(rocksdb_livefile_t* file,
    const char* key, size_t key_len);
/* Moves the file into the list and destroys the handle `file`. */
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_add(rocksdb_livefiles_t* files,
    rocksdb_livefile_t* file);

/* ---- Other features that Ironstone does not have ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_table_properties_collector_factory_destroy(rocksdb_table_properties_collector_factory_t* factory);
extern ROCKSDB_LIBRARY_API rocksdb_memory_allocator_t* rocksdb_jemalloc_nodump_allocator_create(char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_memory_allocator_destroy(rocksdb_memory_allocator_t* arg0);

/* ---- `rocksdb_options_t`: the options of a database and of a column family in one handle ---- */
/* Creates options with the defaults of RocksDB 11.8.1. */
extern ROCKSDB_LIBRARY_API rocksdb_options_t* rocksdb_options_create(void);
/* Destroys options. Databases that were opened with them keep their copy. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_destroy(rocksdb_options_t* options);
/* Copies options. Components such as caches are shared with the copy. */
extern ROCKSDB_LIBRARY_API rocksdb_options_t* rocksdb_options_create_copy(rocksdb_options_t* options);
/* Copies `base_options` to `new_options` and sets options from text, for example
   `write_buffer_size=1048576;compression=kNoCompression`. After an error `new_options` is unchanged. */
extern ROCKSDB_LIBRARY_API void rocksdb_get_options_from_string(const rocksdb_options_t* base_options,
    const char* opts_str, rocksdb_options_t* new_options, char** errptr);

/* ---- Objects that options hold: comparators, operators, filters, caches, loggers, environments ---- */
/* Sets the comparator. It is shared. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_comparator(rocksdb_options_t* options,
    rocksdb_comparator_t* comparator);
/* Sets the merge operator. Takes ownership of it. Null: no merge operator. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_merge_operator(rocksdb_options_t* options,
    rocksdb_mergeoperator_t* merge_operator);
/* Sets the compaction filter. It is shared. Null: no compaction filter. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_filter(rocksdb_options_t* options,
    rocksdb_compactionfilter_t* filter);
/* Sets the compaction filter factory. Takes ownership of it. Null: no factory. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_filter_factory(rocksdb_options_t* options,
    rocksdb_compactionfilterfactory_t* factory);
/* Sets the prefix extractor. Takes ownership of it. Null: no prefix extractor. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_prefix_extractor(rocksdb_options_t* options,
    rocksdb_slicetransform_t* prefix_extractor);
/* Sets the table format to block-based. Copies the table options and shares their block cache. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_block_based_table_factory(rocksdb_options_t* options,
    rocksdb_block_based_table_options_t* table_options);
/* Sets the table format to cuckoo. Copies the table options. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_cuckoo_table_factory(rocksdb_options_t* options,
    rocksdb_cuckoo_table_options_t* table_options);
/* Sets the table format to plain. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_plain_table_factory(rocksdb_options_t* options,
    uint32_t user_key_len, int bloom_bits_per_key, double hash_table_ratio, size_t index_sparseness,
    size_t huge_page_tlb_size, char encoding_type, unsigned char full_scan_mode,
    unsigned char store_index_in_file);
/* Sets the environment. It is shared. Null: the default environment. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_env(rocksdb_options_t* options,
    rocksdb_env_t* env);
/* Sets the logger that receives the info log. It is shared. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_info_log(rocksdb_options_t* options,
    rocksdb_logger_t* logger);
/* Returns a handle of the logger of these options. The caller destroys the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_logger_t* rocksdb_options_get_info_log(rocksdb_options_t* options);
/* Sets the rate limiter. It is shared. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_ratelimiter(rocksdb_options_t* options,
    rocksdb_ratelimiter_t* limiter);
/* Sets the write buffer manager. It is shared. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_buffer_manager(rocksdb_options_t* options,
    rocksdb_write_buffer_manager_t* manager);
/* Sets the factory of checksums of whole files. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_file_checksum_gen_factory(rocksdb_options_t* options,
    rocksdb_file_checksum_gen_factory_t* factory);
/* Adds a listener. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_eventlistener(rocksdb_options_t* options,
    rocksdb_eventlistener_t* listener);
/* Copies the paths. The target size of a path is in bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_paths(rocksdb_options_t* options,
    const rocksdb_dbpath_t** path_values, size_t num_paths);
/* Copies the paths. The target size of a path is in bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_cf_paths(rocksdb_options_t* options,
    const rocksdb_dbpath_t** path_values, size_t num_paths);
/* Sets the row cache: it keeps entries of single keys of SST files. It is shared. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_row_cache(rocksdb_options_t* options,
    rocksdb_cache_t* cache);
/* Sets the cache for values in blob files. It is shared, and it may be the block cache. Null: no blob cache. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_cache(rocksdb_options_t* options,
    rocksdb_cache_t* cache);
/* Sets the WAL filter. It is shared. Null: no WAL filter. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_filter(rocksdb_options_t* options,
    rocksdb_walfilter_t* filter);
/* Removes the WAL filter. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_clear_wal_filter(rocksdb_options_t* options);
/* Sets the SST file manager. It is shared. Null: no manager. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_sst_file_manager(rocksdb_options_t* options,
    rocksdb_sst_file_manager_t* manager);
/* Shares the factory. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_sst_partitioner_factory(rocksdb_options_t* options,
    rocksdb_sst_partitioner_factory_t* factory);
/* Sets the compaction service. Takes ownership of it. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_service(rocksdb_options_t* options,
    rocksdb_compactionservice_t* service);
/* Sets a factory of table properties collectors. No function creates such a factory. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_table_properties_collector_factory(rocksdb_options_t* options,
    rocksdb_table_properties_collector_factory_t* factory);
/* Marks an SST file for compaction if `num_dels_trigger` of `window_size` consecutive entries are tombstones. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_compact_on_deletion_collector_factory(rocksdb_options_t* options,
    size_t window_size, size_t num_dels_trigger);
/* Also marks a file if the ratio of tombstones to entries is at least `deletion_ratio` (above 0, at most 1). */
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(rocksdb_options_t* options,
    size_t window_size, size_t num_dels_trigger, double deletion_ratio);
/* Does not mark files of less than `min_file_size` bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(rocksdb_options_t* options,
    size_t window_size, size_t num_dels_trigger, double deletion_ratio, uint64_t min_file_size);

/* ---- Options of several numbers: compression settings, levels, universal and FIFO compaction, memtables ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options(rocksdb_options_t* options,
    int window_bits, int level, int strategy, int max_dict_bytes);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression_options(rocksdb_options_t* options,
    int window_bits, int level, int strategy, int max_dict_bytes, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(rocksdb_options_t* options,
    int zstd_max_train_bytes, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(rocksdb_options_t* options,
    unsigned char use_zstd_dict_trainer, unsigned char enabled);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(rocksdb_options_t* options,
    uint64_t max_dict_buffer_bytes, unsigned char enabled);
/* Sets the compression of each level. Levels past the array have the compression of its last item. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_per_level(rocksdb_options_t* options,
    const int* level_values, size_t num_levels);
/* Disables compression for level 0 to `level` - 1. The levels from `level` use the compression of the option
   `compression`. A negative level changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_level_to_compress(rocksdb_options_t* options,
    int level);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_bytes_for_level_multiplier_additional(rocksdb_options_t* options,
    int* level_values, size_t num_levels);
/* Copies the universal options. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_universal_compaction_options(rocksdb_options_t* options,
    rocksdb_universal_compaction_options_t* universal);
/* Copies the FIFO options. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_fifo_compaction_options(rocksdb_options_t* options,
    rocksdb_fifo_compaction_options_t* fifo);
/* Sets the memtable format to a vector. The vector is sorted when the memtable becomes immutable. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_vector_rep(rocksdb_options_t* options);
/* Sets the memtable format to a hash table of skip lists. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_hash_skip_list_rep(rocksdb_options_t* options,
    size_t bucket_count, int skiplist_height, int skiplist_branching_factor);
/* Sets the memtable format to a hash table of linked lists. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_hash_link_list_rep(rocksdb_options_t* options,
    size_t bucket_count);

/* ---- Options of a database: one row for each. `docs/options.md` describes the options ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_ingest_behind(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_ingest_behind(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_compaction_readahead_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_create_if_missing(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_create_if_missing(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_create_missing_column_families(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_create_missing_column_families(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_error_if_exists(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_error_if_exists(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_paranoid_checks(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_paranoid_checks(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_open_files_async(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_open_files_async(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_info_log_level(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_info_log_level(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_write_buffer_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_db_write_buffer_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_open_files(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_open_files(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_file_opening_threads(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_file_opening_threads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_total_wal_size(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_total_wal_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_skip_stats_update_on_db_open(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_skip_stats_update_on_db_open(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_compaction_trigger_wakeup_seconds(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_compaction_trigger_wakeup_seconds(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_pipelined_write(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_pipelined_write(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_unordered_write(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_unordered_write(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_subcompactions(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_max_subcompactions(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_jobs(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_jobs(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_compactions(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_compactions(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_background_flushes(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_background_flushes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_log_file_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_log_file_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_log_file_time_to_roll(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_log_file_time_to_roll(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_keep_log_file_num(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_keep_log_file_num(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_recycle_log_file_num(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_recycle_log_file_num(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_manifest_file_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_manifest_file_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_table_cache_numshardbits(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_table_cache_numshardbits(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_fsync(rocksdb_options_t* handle, int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_use_fsync(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_WAL_ttl_seconds(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_WAL_ttl_seconds(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_WAL_size_limit_MB(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_WAL_size_limit_MB(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_manifest_preallocation_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_manifest_preallocation_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_mmap_reads(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_mmap_reads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_mmap_writes(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_mmap_writes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_direct_reads(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_direct_reads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_direct_io_for_flush_and_compaction(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_direct_io_for_flush_and_compaction(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_is_fd_close_on_exec(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_is_fd_close_on_exec(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_stats_dump_period_sec(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_stats_dump_period_sec(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_stats_persist_period_sec(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_stats_persist_period_sec(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_advise_random_on_open(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_advise_random_on_open(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_adaptive_mutex(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_adaptive_mutex(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bytes_per_sync(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_bytes_per_sync(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_bytes_per_sync(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_wal_bytes_per_sync(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_writable_file_max_buffer_size(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_writable_file_max_buffer_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_concurrent_memtable_write(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_concurrent_memtable_write(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_write_thread_adaptive_yield(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_write_thread_adaptive_yield(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_delete_obsolete_files_period_micros(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_delete_obsolete_files_period_micros(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_dbid_to_manifest(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_write_dbid_to_manifest(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_identity_file(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_write_identity_file(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_track_and_verify_wals_in_manifest(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_track_and_verify_wals_in_manifest(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_avoid_unnecessary_blocking_io(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_avoid_unnecessary_blocking_io(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_recovery_mode(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_wal_recovery_mode(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_atomic_flush(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_atomic_flush(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_manual_wal_flush(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_manual_wal_flush(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_compression(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_wal_compression(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_dump_malloc_stats(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_dump_malloc_stats(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_flush_verify_memtable_count(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_flush_verify_memtable_count(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_verify_record_count(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_compaction_verify_record_count(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_track_and_verify_wals(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_track_and_verify_wals(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_verify_sst_unique_id_in_manifest(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_verify_sst_unique_id_in_manifest(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_read_io_executor_threads(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_read_io_executor_threads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_async_wal_precreate(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_async_wal_precreate(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_verify_manifest_content_on_close(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_verify_manifest_content_on_close(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_optimize_manifest_for_recovery(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_optimize_manifest_for_recovery(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_reuse_manifest_on_open(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_reuse_manifest_on_open(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_manifest_space_amp_pct(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_manifest_space_amp_pct(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_use_direct_io_for_compaction_reads(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_use_direct_io_for_compaction_reads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_fallocate(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_fallocate(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_persist_stats_to_disk(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_persist_stats_to_disk(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_stats_history_buffer_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_stats_history_buffer_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_strict_bytes_per_sync(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_strict_bytes_per_sync(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_thread_tracking(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_thread_tracking(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_delayed_write_rate(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_delayed_write_rate(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_write_batch_group_size_bytes(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_write_batch_group_size_bytes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_thread_max_yield_usec(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_write_thread_max_yield_usec(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_thread_slow_yield_usec(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_write_thread_slow_yield_usec(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_2pc(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_2pc(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_avoid_flush_during_recovery(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_avoid_flush_during_recovery(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enforce_write_buffer_manager_during_recovery(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enforce_write_buffer_manager_during_recovery(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_avoid_flush_during_shutdown(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_avoid_flush_during_shutdown(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_two_write_queues(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_two_write_queues(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_background_close_inactive_wals(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_background_close_inactive_wals(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_prefix_seek_opt_in_only(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_prefix_seek_opt_in_only(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_log_readahead_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_log_readahead_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_best_efforts_recovery(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_best_efforts_recovery(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_bgerror_resume_count(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_bgerror_resume_count(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bgerror_resume_retry_interval(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_bgerror_resume_retry_interval(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_allow_data_in_errors(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_allow_data_in_errors(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_lowest_used_cache_tier(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_lowest_used_cache_tier(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enforce_single_del_contracts(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enforce_single_del_contracts(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_follower_refresh_catchup_period_ms(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_follower_refresh_catchup_period_ms(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_follower_catchup_retry_count(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_follower_catchup_retry_count(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_follower_catchup_retry_wait_ms(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_follower_catchup_retry_wait_ms(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_metadata_write_temperature(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_metadata_write_temperature(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_write_temperature(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_wal_write_temperature(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_fast_sst_open(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_fast_sst_open(const rocksdb_options_t* handle);

/* ---- Options of a column family: one row for each. `docs/options.md` describes the options ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_write_buffer_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_write_buffer_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_num_levels(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_num_levels(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_level0_file_num_compaction_trigger(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_level0_file_num_compaction_trigger(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_level0_slowdown_writes_trigger(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_level0_slowdown_writes_trigger(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_level0_stop_writes_trigger(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_level0_stop_writes_trigger(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_target_file_size_base(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_target_file_size_base(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_target_file_size_multiplier(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_target_file_size_multiplier(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_bytes_for_level_base(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_bytes_for_level_base(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_level_compaction_dynamic_level_bytes(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_level_compaction_dynamic_level_bytes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_bytes_for_level_multiplier(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_max_bytes_for_level_multiplier(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_ttl(rocksdb_options_t* handle, uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_ttl(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_periodic_compaction_seconds(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_periodic_compaction_seconds(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_op_scan_flush_trigger(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_memtable_op_scan_flush_trigger(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_avg_op_scan_flush_trigger(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_memtable_avg_op_scan_flush_trigger(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_tombstones_for_range_conversion(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_min_tombstones_for_range_conversion(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_blob_files(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_blob_files(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_blob_size(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_min_blob_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_file_size(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_blob_file_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_compression_type(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_blob_compression_type(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_read_triggered_compaction_threshold(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_read_triggered_compaction_threshold(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_compaction_readahead_size(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_blob_compaction_readahead_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_file_starting_level(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_blob_file_starting_level(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_prepopulate_blob_cache(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_prepopulate_blob_cache(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_write_buffer_number(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_max_write_buffer_number(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_min_write_buffer_number_to_merge(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_min_write_buffer_number_to_merge(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_write_buffer_size_to_maintain(rocksdb_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_options_get_max_write_buffer_size_to_maintain(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_soft_pending_compaction_bytes_limit(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_soft_pending_compaction_bytes_limit(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_hard_pending_compaction_bytes_limit(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_hard_pending_compaction_bytes_limit(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_arena_block_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_arena_block_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_sequential_skip_in_iterations(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_sequential_skip_in_iterations(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_disable_auto_compactions(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_disable_auto_compactions(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_optimize_filters_for_hits(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_optimize_filters_for_hits(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_prefix_bloom_size_ratio(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_memtable_prefix_bloom_size_ratio(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_compaction_bytes(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_max_compaction_bytes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_huge_page_size(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_memtable_huge_page_size(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_max_successive_merges(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_max_successive_merges(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bloom_locality(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_bloom_locality(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_inplace_update_support(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_inplace_update_support(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_inplace_update_num_locks(rocksdb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_get_inplace_update_num_locks(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_report_bg_io_stats(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_report_bg_io_stats(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_experimental_mempurge_threshold(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_experimental_mempurge_threshold(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compression(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_compression(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_bottommost_compression(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_style(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compaction_style(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compaction_pri(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compaction_pri(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_whole_key_filtering(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_memtable_whole_key_filtering(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_target_file_size_is_upper_bound(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_target_file_size_is_upper_bound(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_strict_max_successive_merges(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_strict_max_successive_merges(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_paranoid_file_checks(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_paranoid_file_checks(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_verify_output_flags(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_verify_output_flags(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_force_consistency_checks(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_force_consistency_checks(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_disallow_memtable_writes(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_disallow_memtable_writes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_sample_for_compression(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_sample_for_compression(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_last_level_temperature(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_last_level_temperature(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_default_write_temperature(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_default_write_temperature(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_default_temperature(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_default_temperature(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_preclude_last_level_data_seconds(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_preclude_last_level_data_seconds(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_preserve_internal_time_seconds(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_preserve_internal_time_seconds(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_blob_direct_write(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_blob_direct_write(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_direct_write_partitions(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_blob_direct_write_partitions(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_protection_bytes_per_key(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_memtable_protection_bytes_per_key(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_persist_user_defined_timestamps(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_persist_user_defined_timestamps(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_block_protection_bytes_per_key(rocksdb_options_t* handle,
    uint8_t value);
extern ROCKSDB_LIBRARY_API uint8_t rocksdb_options_get_block_protection_bytes_per_key(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_bottommost_file_compaction_delay(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_bottommost_file_compaction_delay(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_paranoid_memory_checks(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_paranoid_memory_checks(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_verify_per_key_checksum_on_seek(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_memtable_verify_per_key_checksum_on_seek(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_cf_allow_ingest_behind(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_cf_allow_ingest_behind(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_batch_lookup_optimization(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_memtable_batch_lookup_optimization(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_memtable_max_range_deletions(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_memtable_max_range_deletions(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_uncache_aggressiveness(rocksdb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_options_get_uncache_aggressiveness(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_enable_blob_gc(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_enable_blob_gc(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_gc_age_cutoff(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_blob_gc_age_cutoff(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_blob_gc_force_threshold(rocksdb_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_options_get_blob_gc_force_threshold(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options_zstd_max_train_bytes(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compression_options_zstd_max_train_bytes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options_use_zstd_dict_trainer(rocksdb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_compression_options_use_zstd_dict_trainer(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options_parallel_threads(rocksdb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_compression_options_parallel_threads(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_compression_options_max_dict_buffer_bytes(rocksdb_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_get_compression_options_max_dict_buffer_bytes(const rocksdb_options_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(const rocksdb_options_t* handle);

/* ---- The options of the newest OPTIONS file of a database ---- */
/* Reads the newest OPTIONS file of a database: the options of the database and of each column family. All tables use the
   block cache `cache`. Free the result with `rocksdb_load_latest_options_destroy`. After an error, the pointers are null and
   the number is 0. */
extern ROCKSDB_LIBRARY_API void rocksdb_load_latest_options(const char* db_path, rocksdb_env_t* env,
    bool ignore_unknown_options, rocksdb_cache_t* cache, rocksdb_options_t** db_options,
    size_t* num_column_families, char*** column_family_names,
    rocksdb_options_t*** column_family_options, char** errptr);
/* Frees the result of `rocksdb_load_latest_options`. */
extern ROCKSDB_LIBRARY_API void rocksdb_load_latest_options_destroy(rocksdb_options_t* db_options,
    char** list_column_family_names, rocksdb_options_t** list_column_family_options, size_t len);

/* ---- Options that are sets of numbers: file types with checksum handoff, compaction styles with lifetime hints ---- */
extern ROCKSDB_LIBRARY_API void rocksdb_options_checksum_handoff_file_types_clear(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_checksum_handoff_file_types_add(rocksdb_options_t* options,
    int file_type);
extern ROCKSDB_LIBRARY_API void rocksdb_options_checksum_handoff_file_types_remove(rocksdb_options_t* options,
    int file_type);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_checksum_handoff_file_types_contains(rocksdb_options_t* options,
    int file_type);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_checksum_handoff_file_types_count(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_calculate_sst_write_lifetime_hint_set_clear(rocksdb_options_t* options);
extern ROCKSDB_LIBRARY_API void rocksdb_options_calculate_sst_write_lifetime_hint_set_add(rocksdb_options_t* options,
    int compaction_style);
extern ROCKSDB_LIBRARY_API void rocksdb_options_calculate_sst_write_lifetime_hint_set_remove(rocksdb_options_t* options,
    int compaction_style);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_options_calculate_sst_write_lifetime_hint_set_contains(rocksdb_options_t* options,
    int compaction_style);
extern ROCKSDB_LIBRARY_API size_t rocksdb_options_calculate_sst_write_lifetime_hint_set_count(rocksdb_options_t* options);

/* ---- Functions that change several options for a purpose, as RocksDB's functions of the same names do ---- */
/* Sets the maximum number of background jobs to `total_threads`. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_increase_parallelism(rocksdb_options_t* options,
    int total_threads);
/* Sets options for point lookups without range scans. `block_cache_size_mb` is the capacity of the block cache in MiB. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_optimize_for_point_lookup(rocksdb_options_t* options,
    uint64_t block_cache_size_mb);
/* Sets options for level compaction. `memtable_memory_budget` is the memory of the memtables in bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_optimize_level_style_compaction(rocksdb_options_t* options,
    uint64_t memtable_memory_budget);
/* Sets options for universal compaction. `memtable_memory_budget` is the memory of the memtables in bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_optimize_universal_style_compaction(rocksdb_options_t* options,
    uint64_t memtable_memory_budget);
/* Sets options for a bulk load without compaction. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_prepare_for_bulk_load(rocksdb_options_t* options);
/* Sets the option `compaction_readahead_size`: bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_compaction_readahead_size(rocksdb_options_t* options,
    size_t bytes);
/* Collects statistics. Databases that are opened with these options share them. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_enable_statistics(rocksdb_options_t* options);
/* Sets the level of the statistics. Does nothing without statistics. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_statistics_level(rocksdb_options_t* options,
    int level);
/* Returns the level of the statistics; 0 without statistics. */
extern ROCKSDB_LIBRARY_API int rocksdb_options_get_statistics_level(rocksdb_options_t* options);
/* Sets a merge operator that adds integers of 8 little-endian bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_uint64add_merge_operator(rocksdb_options_t* options);

/* ---- Options that are strings ---- */
/* Sets the option. If the text is not UTF-8, the open fails. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_log_dir(rocksdb_options_t* options,
    const char* dir);
/* Returns the option. The string is valid until the next call of this function, or until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_options_get_db_log_dir(rocksdb_options_t* options,
    size_t* size);
/* Sets the option. If the text is not UTF-8, the open fails. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_wal_dir(rocksdb_options_t* options,
    const char* dir);
/* Returns the option. The string is valid until the next call of this function, or until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_options_get_wal_dir(rocksdb_options_t* options,
    size_t* size);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_db_host_id(rocksdb_options_t* options,
    const char* id);
/* Returns the option. The string is valid until the next call of this function, or until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_options_get_db_host_id(rocksdb_options_t* options,
    size_t* size);
extern ROCKSDB_LIBRARY_API void rocksdb_options_set_daily_offpeak_time_utc(rocksdb_options_t* options,
    const char* range);
/* Returns the option. The string is valid until the next call of this function, or until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_options_get_daily_offpeak_time_utc(rocksdb_options_t* options,
    size_t* size);

/* ---- Rate limiters for the files of flushes and compactions ---- */
/* Creates a limiter of writes. `rate_bytes_per_sec` and `refill_period_us` are above 0; `fairness` is 1 to 100.
   Returns null for other values. */
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create(int64_t rate_bytes_per_sec,
    int64_t refill_period_us, int fairness);
/* Creates a limiter that chooses its rate, up to `rate_bytes_per_sec`. */
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_auto_tuned(int64_t rate_bytes_per_sec,
    int64_t refill_period_us, int fairness);
/* Creates a limiter of reads (mode 0), writes (1), or both (2). Returns null for another mode. */
extern ROCKSDB_LIBRARY_API rocksdb_ratelimiter_t* rocksdb_ratelimiter_create_with_mode(int64_t rate_bytes_per_sec,
    int64_t refill_period_us, int fairness, int mode, bool auto_tuned);
/* Destroys the handle. Databases that use the limiter keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_ratelimiter_destroy(rocksdb_ratelimiter_t* limiter);

/* ---- Options of reads ---- */
extern ROCKSDB_LIBRARY_API rocksdb_readoptions_t* rocksdb_readoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_destroy(rocksdb_readoptions_t* handle);
/* Microseconds since 1970; 0: no deadline. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_deadline(rocksdb_readoptions_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_deadline(const rocksdb_readoptions_t* handle);
/* Microseconds; 0: no limit. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_io_timeout(rocksdb_readoptions_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_io_timeout(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_read_tier(rocksdb_readoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_readoptions_get_read_tier(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_rate_limiter_priority(rocksdb_readoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_readoptions_get_rate_limiter_priority(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_value_size_soft_limit(rocksdb_readoptions_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_value_size_soft_limit(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_verify_checksums(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_verify_checksums(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_fill_cache(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_fill_cache(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_ignore_range_deletions(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_ignore_range_deletions(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_async_io(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_async_io(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_optimize_multiget_for_io(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_optimize_multiget_for_io(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_readahead_size(rocksdb_readoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_readoptions_get_readahead_size(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_max_skippable_internal_keys(rocksdb_readoptions_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_readoptions_get_max_skippable_internal_keys(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_tailing(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_tailing(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_total_order_seek(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_total_order_seek(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_auto_prefix_mode(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_auto_prefix_mode(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_prefix_same_as_start(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_prefix_same_as_start(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_pin_data(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_pin_data(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_adaptive_readahead(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_adaptive_readahead(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_background_purge_on_iterator_cleanup(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_background_purge_on_iterator_cleanup(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_auto_readahead_size(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_auto_readahead_size(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_allow_unprepared_value(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_allow_unprepared_value(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot(rocksdb_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_io_activity(rocksdb_readoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_readoptions_get_io_activity(const rocksdb_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_merge_operand_count_threshold(rocksdb_readoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_readoptions_get_merge_operand_count_threshold(const rocksdb_readoptions_t* handle);
/* Sets the snapshot of reads. The options do not keep the snapshot: after its release, a read with these options is an
   error, until another snapshot is set. Null: reads see the newest entries. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_snapshot(rocksdb_readoptions_t* options,
    const rocksdb_snapshot_t* snapshot);
/* Sets the upper bound of iterators: they return only keys before it. Copies the key. Null: no bound. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iterate_upper_bound(rocksdb_readoptions_t* options,
    const char* key, size_t key_len);
/* Sets the lower bound of iterators: they return no key before it. Copies the key. Null: no bound. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iterate_lower_bound(rocksdb_readoptions_t* options,
    const char* key, size_t key_len);
/* Sets the timestamp of reads: they ignore entries with a newer timestamp. Copies the timestamp. Null: no timestamp. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_timestamp(rocksdb_readoptions_t* options,
    const char* ts, size_t ts_len);
/* Sets the oldest timestamp of iterators. An iterator then returns each entry of a key whose timestamp is between this
   timestamp and the timestamp of the read. Copies the timestamp. Null: iterators return only the newest entry of a key. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_iter_start_ts(rocksdb_readoptions_t* options,
    const char* ts, size_t ts_len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_clear_merge_operand_count_threshold(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_has_merge_operand_count_threshold(rocksdb_readoptions_t* options);
/* Copies a text that names the read for the program. The library does not use it. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_request_id(rocksdb_readoptions_t* options,
    const char* request_id, size_t request_id_len);
/* Returns the request id, or null if there is none. The text is valid until the next change or the end of the handle. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_readoptions_get_request_id(rocksdb_readoptions_t* options,
    size_t* request_id_len);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_clear_request_id(rocksdb_readoptions_t* options);
/* Sets a table filter: iterators read only the SST files for which the filter returns 1. `destructor` runs once, after the
   last use. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_table_filter(rocksdb_readoptions_t* options,
    void* state, rocksdb_destructor_cb destructor,
    rocksdb_readoptions_table_filter_cb table_filter);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_clear_table_filter(rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_readoptions_has_table_filter(const rocksdb_readoptions_t* options);
/* Sets the name of the user-defined index of reads. Ironstone has no such indexes, so a read with an index fails. An empty
   text and `nullptr` mean no index. */
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_set_table_index_factory_from_string(rocksdb_readoptions_t* options,
    const char* value, size_t value_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_readoptions_clear_table_index_factory(rocksdb_readoptions_t* options);
/* Returns the name of the user-defined index, or null. The text is valid until the next change or the end of the handle. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_readoptions_get_table_index_factory_name(const rocksdb_readoptions_t* options,
    size_t* name_len);

/* ---- Prefix extractors ---- */
/* Creates a prefix extractor. `transform` returns the first bytes of the key: a pointer into the key, or a pointer to a copy
   that is valid until the next call on the same thread. The library does not free the copy. Null with the length 0 is the
   empty prefix. A prefix that is longer than its key, and null with another length, mean that the key has no prefix. */
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create(void* state,
    rocksdb_destructor_cb destructor, rocksdb_transform_cb transform,
    rocksdb_in_domain_cb in_domain, rocksdb_name_cb name);
/* Creates a prefix extractor of the first `length` bytes. Shorter keys have no prefix. */
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create_fixed_prefix(size_t length);
/* Creates a prefix extractor of the whole key. */
extern ROCKSDB_LIBRARY_API rocksdb_slicetransform_t* rocksdb_slicetransform_create_noop(void);
/* Destroys a prefix extractor. Options that took ownership of an extractor destroy it themselves. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_slicetransform_destroy(rocksdb_slicetransform_t* transform);

/* ---- Snapshots: fixed sequence numbers for reads ---- */
/* Takes a snapshot. Reads with this snapshot see the entries that are visible at the time of this call. */
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t* rocksdb_create_snapshot(rocksdb_t* db);
/* Destroys the handle. Iterators and transactions that use the snapshot keep it. Reads with options that name the snapshot
   fail after the release. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_release_snapshot(rocksdb_t* db,
    const rocksdb_snapshot_t* snapshot);
/* Returns the sequence number of the snapshot. Returns 0 if the database cannot be read at a snapshot. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_snapshot_get_sequence_number(const rocksdb_snapshot_t* snapshot);

/* ---- SST file writers, and ingestion of the files ---- */
/* Creates a writer of SST files with these options. `env` has no effect. */
extern ROCKSDB_LIBRARY_API rocksdb_sstfilewriter_t* rocksdb_sstfilewriter_create(const rocksdb_envoptions_t* env,
    const rocksdb_options_t* io_options);
/* Works like `rocksdb_sstfilewriter_create`. `comparator` replaces the comparator of the options. */
extern ROCKSDB_LIBRARY_API rocksdb_sstfilewriter_t* rocksdb_sstfilewriter_create_with_comparator(const rocksdb_envoptions_t* env,
    const rocksdb_options_t* io_options, const rocksdb_comparator_t* comparator);
/* Begins a file. A file at the path is replaced. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_open(rocksdb_sstfilewriter_t* writer,
    const char* name, char** errptr);
/* Works like `rocksdb_sstfilewriter_put`. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_add(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
/* Adds a key and its value. The program must add the keys in the order of the comparator. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_put(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_put_with_ts(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, const char* ts, size_t ts_len, const char* val, size_t val_len,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_merge(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete_with_ts(rocksdb_sstfilewriter_t* writer,
    const char* key, size_t key_len, const char* ts, size_t ts_len, char** errptr);
/* Deletes the keys from `begin_key` up to `end_key`, `end_key` not included. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_delete_range(rocksdb_sstfilewriter_t* writer,
    const char* begin_key, size_t begin_key_len, const char* end_key, size_t end_key_len,
    char** errptr);
/* Finishes the file. Reports an error if the file has no entries. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_finish(rocksdb_sstfilewriter_t* writer,
    char** errptr);
/* Returns the size of the file in bytes. After the finish, returns the size of the finished file. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_file_size(rocksdb_sstfilewriter_t* writer,
    uint64_t* file_size);
/* Destroys the writer. A file that was not finished stays incomplete. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_sstfilewriter_destroy(rocksdb_sstfilewriter_t* writer);
/* Moves or copies SST files into the default column family. All files become visible together, or none. */
extern ROCKSDB_LIBRARY_API void rocksdb_ingest_external_file(rocksdb_t* db,
    const char* const* file_list, size_t list_len,
    const rocksdb_ingestexternalfileoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_ingest_external_file_cf(rocksdb_t* db,
    rocksdb_column_family_handle_t* handle, const char* const* file_list, size_t list_len,
    const rocksdb_ingestexternalfileoptions_t* options, char** errptr);

/* ---- SST file managers: limits of space and of the speed of deletions ---- */
extern ROCKSDB_LIBRARY_API rocksdb_sst_file_manager_t* rocksdb_sst_file_manager_create(rocksdb_env_t* env);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_destroy(rocksdb_sst_file_manager_t* manager);
/* Sets the maximum total size of all tracked files, in bytes. 0: no limit. */
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_set_max_allowed_space_usage(rocksdb_sst_file_manager_t* manager,
    uint64_t max_allowed_space);
/* Sets the free space that is reserved for compactions, in bytes. */
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_set_compaction_buffer_size(rocksdb_sst_file_manager_t* manager,
    uint64_t compaction_buffer_size);
extern ROCKSDB_LIBRARY_API bool rocksdb_sst_file_manager_is_max_allowed_space_reached(rocksdb_sst_file_manager_t* manager);
/* Works like `rocksdb_sst_file_manager_is_max_allowed_space_reached`. Also counts the bytes that running
   compactions may write. */
extern ROCKSDB_LIBRARY_API bool rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(rocksdb_sst_file_manager_t* manager);
/* Returns the total size of the tracked files, in bytes. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_sst_file_manager_get_total_size(rocksdb_sst_file_manager_t* manager);
/* Returns the rate of deletions in bytes per second. 0 and negative numbers: no limit. */
extern ROCKSDB_LIBRARY_API int64_t rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(rocksdb_sst_file_manager_t* manager,
    int64_t delete_rate);
/* Returns the maximum ratio of trash to tracked files. Above this ratio, files are deleted at once. */
extern ROCKSDB_LIBRARY_API double rocksdb_sst_file_manager_get_max_trash_db_ratio(rocksdb_sst_file_manager_t* manager);
extern ROCKSDB_LIBRARY_API void rocksdb_sst_file_manager_set_max_trash_db_ratio(rocksdb_sst_file_manager_t* manager,
    double ratio);
/* Returns the total size of the files that wait for their deletion, in bytes. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_sst_file_manager_get_total_trash_size(rocksdb_sst_file_manager_t* manager);

/* ---- Statistics, histograms, the perf context, file checksums ---- */
extern ROCKSDB_LIBRARY_API rocksdb_statistics_histogram_data_t* rocksdb_statistics_histogram_data_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_statistics_histogram_data_destroy(rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_median(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_p95(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_p99(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_average(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_std_dev(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_max(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_statistics_histogram_data_get_count(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_statistics_histogram_data_get_sum(const rocksdb_statistics_histogram_data_t* handle);
extern ROCKSDB_LIBRARY_API double rocksdb_statistics_histogram_data_get_min(const rocksdb_statistics_histogram_data_t* handle);
/* Returns all statistics as text. Returns null without statistics. */
extern ROCKSDB_LIBRARY_API char* rocksdb_options_statistics_get_string(rocksdb_options_t* options);
/* Returns the count of a ticker. Returns 0 without statistics, and for an unknown ticker. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_options_statistics_get_ticker_count(rocksdb_options_t* options,
    uint32_t ticker_type);
/* Copies the data of a histogram. All numbers are 0 without statistics, and for an unknown histogram. */
extern ROCKSDB_LIBRARY_API void rocksdb_options_statistics_get_histogram_data(rocksdb_options_t* options,
    uint32_t histogram_type, rocksdb_statistics_histogram_data_t* data);
/* Sets the perf level of this thread: 0 to 6 as in RocksDB's `PerfLevel`. */
extern ROCKSDB_LIBRARY_API void rocksdb_set_perf_level(int level);
/* Returns a handle of the perf context. Each call with the handle uses the counters of the calling thread. */
extern ROCKSDB_LIBRARY_API rocksdb_perfcontext_t* rocksdb_perfcontext_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_perfcontext_reset(rocksdb_perfcontext_t* context);
/* Returns the counters of this thread as text. */
extern ROCKSDB_LIBRARY_API char* rocksdb_perfcontext_report(rocksdb_perfcontext_t* context,
    unsigned char exclude_zero_counters);
/* Returns a counter of this thread. Returns 0 for an unknown metric. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_perfcontext_metric(rocksdb_perfcontext_t* context,
    int metric);
extern ROCKSDB_LIBRARY_API void rocksdb_perfcontext_destroy(rocksdb_perfcontext_t* context);
/* Creates a factory of CRC32C checksums. */
extern ROCKSDB_LIBRARY_API rocksdb_file_checksum_gen_factory_t* rocksdb_file_checksum_gen_crc32c_factory_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_file_checksum_gen_factory_destroy(rocksdb_file_checksum_gen_factory_t* factory);

/* ---- Options of block-based tables and of cuckoo tables ---- */
extern ROCKSDB_LIBRARY_API rocksdb_block_based_table_options_t* rocksdb_block_based_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_cuckoo_table_options_t* rocksdb_cuckoo_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_destroy(rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_hash_ratio(rocksdb_cuckoo_table_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_hash_table_ratio(rocksdb_cuckoo_table_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_cuckoo_options_get_hash_table_ratio(const rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_max_search_depth(rocksdb_cuckoo_table_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_cuckoo_options_get_max_search_depth(const rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_cuckoo_block_size(rocksdb_cuckoo_table_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_cuckoo_options_get_cuckoo_block_size(const rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_identity_as_first_hash(rocksdb_cuckoo_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_cuckoo_options_get_identity_as_first_hash(const rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_cuckoo_options_set_use_module_hash(rocksdb_cuckoo_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_cuckoo_options_get_use_module_hash(const rocksdb_cuckoo_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_data_block_hash_ratio(rocksdb_block_based_table_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_top_level_index_pinning_tier(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_partition_pinning_tier(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_unpartitioned_pinning_tier(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_cache_index_and_filter_blocks(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_cache_index_and_filter_blocks(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_cache_index_and_filter_blocks_with_high_priority(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_pin_l0_filter_and_index_blocks_in_cache(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_pin_top_level_index_and_filter(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_pin_top_level_index_and_filter(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_index_type(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_index_type(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_index_block_search_type(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_index_block_search_type(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_data_block_index_type(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_data_block_index_type(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_data_block_hash_table_util_ratio(rocksdb_block_based_table_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_block_based_options_get_data_block_hash_table_util_ratio(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_checksum(rocksdb_block_based_table_options_t* handle,
    char value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_checksum(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_no_block_cache(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_no_block_cache(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_block_size(rocksdb_block_based_table_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_block_based_options_get_block_size(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_block_size_deviation(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_block_size_deviation(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_block_restart_interval(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_block_restart_interval(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_index_block_restart_interval(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_index_block_restart_interval(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_metadata_block_size(rocksdb_block_based_table_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_block_based_options_get_metadata_block_size(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_partition_filters(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_partition_filters(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_decouple_partitioned_filters(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_decouple_partitioned_filters(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_optimize_filters_for_memory(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_optimize_filters_for_memory(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_use_delta_encoding(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_use_delta_encoding(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_use_udi_as_primary_index(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_use_udi_as_primary_index(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_fail_if_no_udi_on_open(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_fail_if_no_udi_on_open(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_whole_key_filtering(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_whole_key_filtering(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_detect_filter_construct_corruption(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_detect_filter_construct_corruption(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_verify_compression(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_verify_compression(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_read_amp_bytes_per_bit(rocksdb_block_based_table_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_block_based_options_get_read_amp_bytes_per_bit(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_format_version(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_block_based_options_get_format_version(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_separate_key_value_in_data_block(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_separate_key_value_in_data_block(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_uniform_cv_threshold(rocksdb_block_based_table_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_block_based_options_get_uniform_cv_threshold(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_enable_index_compression(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_enable_index_compression(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_block_align(rocksdb_block_based_table_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_block_based_options_get_block_align(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_super_block_alignment_size(rocksdb_block_based_table_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_block_based_options_get_super_block_alignment_size(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_super_block_alignment_space_overhead_ratio(rocksdb_block_based_table_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_block_based_options_get_super_block_alignment_space_overhead_ratio(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_index_shortening(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_index_shortening(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_max_auto_readahead_size(rocksdb_block_based_table_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_block_based_options_get_max_auto_readahead_size(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_prepopulate_block_cache(rocksdb_block_based_table_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_block_based_options_get_prepopulate_block_cache(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_initial_auto_readahead_size(rocksdb_block_based_table_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_block_based_options_get_initial_auto_readahead_size(const rocksdb_block_based_table_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(rocksdb_block_based_table_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_block_based_options_get_num_file_reads_for_auto_readahead(const rocksdb_block_based_table_options_t* handle);
/* Sets the filter policy. Takes ownership of it. Null: no filters. */
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_filter_policy(rocksdb_block_based_table_options_t* options,
    rocksdb_filterpolicy_t* policy);
/* Sets the block cache. It is shared. Null changes nothing. */
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_block_cache(rocksdb_block_based_table_options_t* options,
    rocksdb_cache_t* cache);
/* Sets the name of the user-defined index. Ironstone has no such indexes, so an open with an index fails. An empty text and
   `nullptr` mean no index. */
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_set_user_defined_index_factory_from_string(rocksdb_block_based_table_options_t* options,
    const char* value, size_t value_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_block_based_options_clear_user_defined_index_factory(rocksdb_block_based_table_options_t* options);
/* Returns the name of the user-defined index, or null. The text is valid until the next change or the end of the handle. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_block_based_options_get_user_defined_index_factory_name(const rocksdb_block_based_table_options_t* options,
    size_t* name_len);

/* ---- The properties of an SST file, for listeners and table filters ---- */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_orig_file_number(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_data_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_uncompressed_data_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_index_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_index_partitions(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_top_level_index_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_index_key_is_user_key(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_index_value_is_delta_encoded(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_udi_is_primary_index(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_filter_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_raw_key_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_raw_value_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_data_blocks(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_data_blocks_compression_rejected(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_data_blocks_compression_bypassed(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_uniform_blocks(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_entries(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_filter_entries(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_deletions(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_merge_operands(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_num_range_deletions(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_format_version(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_fixed_key_len(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_column_family_id(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_creation_time(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_oldest_key_time(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_newest_key_time(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_file_creation_time(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_slow_compression_estimated_data_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_fast_compression_estimated_data_size(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_tail_start_offset(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_user_defined_timestamps_persisted(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_key_largest_seqno(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_key_smallest_seqno(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_data_block_restart_interval(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_index_block_restart_interval(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_separate_key_value_in_data_block(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_table_properties_external_sst_file_global_seqno_offset(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_table_properties_has_key_largest_seqno(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_table_properties_has_key_smallest_seqno(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_table_properties_user_collected_properties_count(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API size_t rocksdb_table_properties_readable_properties_count(const rocksdb_table_properties_t* handle);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_db_id(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_db_session_id(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_db_host_id(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_column_family_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_filter_policy_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_comparator_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_merge_operator_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_prefix_extractor_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_property_collectors_names(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_compression_name(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_compression_options(const rocksdb_table_properties_t* handle,
    size_t* size);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_seqno_to_time_mapping(const rocksdb_table_properties_t* handle,
    size_t* size);
/* Returns the name of a property, or null if `pos` is too large. The bytes are valid until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_user_collected_properties_key_at(const rocksdb_table_properties_t* properties,
    size_t pos, size_t* key_len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_user_collected_properties_value_at(const rocksdb_table_properties_t* properties,
    size_t pos, size_t* value_len);
/* Returns null, because Ironstone has no readable properties. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_readable_properties_key_at(const rocksdb_table_properties_t* properties,
    size_t pos, size_t* key_len);
extern ROCKSDB_LIBRARY_API const char* rocksdb_table_properties_readable_properties_value_at(const rocksdb_table_properties_t* properties,
    size_t pos, size_t* value_len);

/* ---- Traces of a database: calls, file operations; readers of traces, and replays. Facts: RocksDB `db/c.cc` ---- */
/* Starts a trace of the calls of the database in the file `trace_path`. A file at the path is replaced. Ends a trace that runs
   already. `env`: the environment of the file; null is the environment of the database. `options` can be null.
   `env_options` has no effect. */
extern ROCKSDB_LIBRARY_API void rocksdb_start_trace(rocksdb_t* db, rocksdb_env_t* env,
    const rocksdb_envoptions_t* env_options, const rocksdb_trace_options_t* options,
    const char* trace_path, char** errptr);
/* Ends the trace of calls. Reports an error if no trace runs, or if a record could not be written. */
extern ROCKSDB_LIBRARY_API void rocksdb_end_trace(rocksdb_t* db, char** errptr);
/* Starts a trace of the file operations of the database. Of `options`, only `max_trace_file_size` has an effect. Reports Busy if
   such a trace runs already. `env_options` has no effect. */
extern ROCKSDB_LIBRARY_API void rocksdb_start_io_trace(rocksdb_t* db, rocksdb_env_t* env,
    const rocksdb_envoptions_t* env_options, const rocksdb_trace_options_t* options,
    const char* trace_path, char** errptr);
/* Ends the trace of file operations. Does nothing if no such trace runs. */
extern ROCKSDB_LIBRARY_API void rocksdb_end_io_trace(rocksdb_t* db, char** errptr);
/* Starts a trace of the accesses to the block cache. Of `options`, `sampling_frequency` and `max_trace_file_size` have an effect:
   one of `sampling_frequency` blocks is recorded, with all its accesses. Reports Busy if such a trace runs already. `env_options` has
   no effect. */
extern ROCKSDB_LIBRARY_API void rocksdb_start_block_cache_trace(rocksdb_t* db, rocksdb_env_t* env,
    const rocksdb_envoptions_t* env_options, const rocksdb_trace_options_t* options,
    const char* trace_path, char** errptr);
/* Works like `rocksdb_start_block_cache_trace`, with other options. Null options are the default options. */
extern ROCKSDB_LIBRARY_API void rocksdb_start_block_cache_trace_with_options(rocksdb_t* db,
    rocksdb_env_t* env, const rocksdb_envoptions_t* env_options,
    const rocksdb_block_cache_trace_options_t* options,
    const rocksdb_block_cache_trace_writer_options_t* writer_options, const char* trace_path,
    char** errptr);
/* Ends the trace of the block cache. Does nothing if no such trace runs. */
extern ROCKSDB_LIBRARY_API void rocksdb_end_block_cache_trace(rocksdb_t* db, char** errptr);
/* Opens a trace. The reader stands before the first record. `env_options` has no effect. */
extern ROCKSDB_LIBRARY_API rocksdb_trace_reader_t* rocksdb_trace_reader_create(rocksdb_env_t* env,
    const rocksdb_envoptions_t* env_options, const char* trace_path, char** errptr);
/* Returns the next record with its header, and its length. Returns null at the end of the trace, without an error. The
   caller frees the record. */
extern ROCKSDB_LIBRARY_API char* rocksdb_trace_reader_read(rocksdb_trace_reader_t* reader,
    size_t* size, char** errptr);
/* Moves before the first record. Reports an error after `rocksdb_trace_reader_close`. */
extern ROCKSDB_LIBRARY_API void rocksdb_trace_reader_reset(rocksdb_trace_reader_t* reader,
    char** errptr);
/* Closes the file. Later calls report errors. */
extern ROCKSDB_LIBRARY_API void rocksdb_trace_reader_close(rocksdb_trace_reader_t* reader,
    char** errptr);
/* Destroys the reader. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_trace_reader_destroy(rocksdb_trace_reader_t* reader);
/* Makes a replayer of the trace of calls `trace_path` on the database. Reads use these column families; without any, the default
   column family. `env`: the environment of the file; null is the environment of the database. The replayer keeps the database
   open: destroy the replayer before the database is opened again. `env_options` has no effect. */
extern ROCKSDB_LIBRARY_API rocksdb_replayer_t* rocksdb_new_default_replayer(rocksdb_t* db,
    rocksdb_column_family_handle_t** column_families, size_t num_column_families,
    rocksdb_env_t* env, const rocksdb_envoptions_t* env_options, const char* trace_path,
    char** errptr);
/* Reads the first record of the trace. Must precede each replay. */
extern ROCKSDB_LIBRARY_API void rocksdb_replayer_prepare(rocksdb_replayer_t* replayer,
    char** errptr);
/* Returns the time of the first record in microseconds since 1970, or 0 before `rocksdb_replayer_prepare`. */
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_replayer_get_header_timestamp(const rocksdb_replayer_t* replayer);
/* Makes the calls of the trace, up to its end or up to the first call that fails. Null options are the default options. At most 256
   threads run. */
extern ROCKSDB_LIBRARY_API void rocksdb_replayer_replay(rocksdb_replayer_t* replayer,
    const rocksdb_replay_options_t* options, char** errptr);
/* Destroys the replayer. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_replayer_destroy(rocksdb_replayer_t* replayer);

/* ---- Options of traces and replays, of WAL reads, and of lists of live files ---- */
extern ROCKSDB_LIBRARY_API rocksdb_trace_options_t* rocksdb_trace_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_trace_options_destroy(rocksdb_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_trace_options_set_max_trace_file_size(rocksdb_trace_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_trace_options_get_max_trace_file_size(const rocksdb_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_trace_options_set_sampling_frequency(rocksdb_trace_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_trace_options_get_sampling_frequency(const rocksdb_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_trace_options_set_filter(rocksdb_trace_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_trace_options_get_filter(const rocksdb_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_trace_options_set_preserve_write_order(rocksdb_trace_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_trace_options_get_preserve_write_order(const rocksdb_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_block_cache_trace_options_t* rocksdb_block_cache_trace_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_block_cache_trace_options_destroy(rocksdb_block_cache_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_cache_trace_options_set_sampling_frequency(rocksdb_block_cache_trace_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_block_cache_trace_options_get_sampling_frequency(const rocksdb_block_cache_trace_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_block_cache_trace_writer_options_t* rocksdb_block_cache_trace_writer_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_block_cache_trace_writer_options_destroy(rocksdb_block_cache_trace_writer_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_block_cache_trace_writer_options_set_max_trace_file_size(rocksdb_block_cache_trace_writer_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_block_cache_trace_writer_options_get_max_trace_file_size(const rocksdb_block_cache_trace_writer_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_replay_options_t* rocksdb_replay_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_replay_options_destroy(rocksdb_replay_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_replay_options_set_num_threads(rocksdb_replay_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_replay_options_get_num_threads(const rocksdb_replay_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_replay_options_set_fast_forward(rocksdb_replay_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_replay_options_get_fast_forward(const rocksdb_replay_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_wal_readoptions_t* rocksdb_wal_readoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_readoptions_destroy(rocksdb_wal_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_readoptions_set_verify_checksums(rocksdb_wal_readoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wal_readoptions_get_verify_checksums(const rocksdb_wal_readoptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_livefiles_storage_info_options_t* rocksdb_livefiles_storage_info_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_storage_info_options_destroy(rocksdb_livefiles_storage_info_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_storage_info_options_set_include_checksum_info(rocksdb_livefiles_storage_info_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_livefiles_storage_info_options_get_include_checksum_info(const rocksdb_livefiles_storage_info_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_storage_info_options_set_wal_size_for_flush(rocksdb_livefiles_storage_info_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_livefiles_storage_info_options_get_wal_size_for_flush(const rocksdb_livefiles_storage_info_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_livefiles_storage_info_options_set_atomic_flush(rocksdb_livefiles_storage_info_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_livefiles_storage_info_options_get_atomic_flush(const rocksdb_livefiles_storage_info_options_t* handle);

/* ---- Options of transactions and of transaction databases ---- */
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_options_t* rocksdb_transactiondb_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_destroy(rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_max_num_locks(rocksdb_transactiondb_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transactiondb_options_get_max_num_locks(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_max_num_deadlocks(rocksdb_transactiondb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_transactiondb_options_get_max_num_deadlocks(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_num_stripes(rocksdb_transactiondb_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_transactiondb_options_get_num_stripes(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_transaction_lock_timeout(rocksdb_transactiondb_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transactiondb_options_get_transaction_lock_timeout(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_default_lock_timeout(rocksdb_transactiondb_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transactiondb_options_get_default_lock_timeout(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_write_policy(rocksdb_transactiondb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_transactiondb_options_get_write_policy(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_rollback_merge_operands(rocksdb_transactiondb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transactiondb_options_get_rollback_merge_operands(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_use_per_key_point_lock_mgr(rocksdb_transactiondb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transactiondb_options_get_use_per_key_point_lock_mgr(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_skip_concurrency_control(rocksdb_transactiondb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transactiondb_options_get_skip_concurrency_control(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_default_write_batch_flush_threshold(rocksdb_transactiondb_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transactiondb_options_get_default_write_batch_flush_threshold(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_enable_udt_validation(rocksdb_transactiondb_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transactiondb_options_get_enable_udt_validation(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_options_set_txn_commit_bypass_memtable_threshold(rocksdb_transactiondb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_transactiondb_options_get_txn_commit_bypass_memtable_threshold(const rocksdb_transactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_transaction_options_t* rocksdb_transaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_destroy(rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_set_snapshot(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_set_snapshot(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_deadlock_detect(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_deadlock_detect(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_use_only_the_last_commit_time_batch_for_recovery(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_use_only_the_last_commit_time_batch_for_recovery(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_lock_timeout(rocksdb_transaction_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transaction_options_get_lock_timeout(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_deadlock_timeout_us(rocksdb_transaction_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transaction_options_get_deadlock_timeout_us(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_expiration(rocksdb_transaction_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transaction_options_get_expiration(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_deadlock_detect_depth(rocksdb_transaction_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transaction_options_get_deadlock_detect_depth(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_max_write_batch_size(rocksdb_transaction_options_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_transaction_options_get_max_write_batch_size(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_skip_concurrency_control(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_skip_concurrency_control(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_skip_prepare(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_skip_prepare(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_write_batch_flush_threshold(rocksdb_transaction_options_t* handle,
    int64_t value);
extern ROCKSDB_LIBRARY_API int64_t rocksdb_transaction_options_get_write_batch_flush_threshold(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_write_batch_track_timestamp_size(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_write_batch_track_timestamp_size(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_commit_bypass_memtable(rocksdb_transaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_transaction_options_get_commit_bypass_memtable(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_large_txn_commit_optimize_threshold(rocksdb_transaction_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_transaction_options_get_large_txn_commit_optimize_threshold(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_options_set_large_txn_commit_optimize_byte_threshold(rocksdb_transaction_options_t* handle,
    uint64_t value);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_transaction_options_get_large_txn_commit_optimize_byte_threshold(const rocksdb_transaction_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_options_t* rocksdb_optimistictransactiondb_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_options_destroy(rocksdb_optimistictransactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_options_set_validate_policy(rocksdb_optimistictransactiondb_options_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_optimistictransactiondb_options_get_validate_policy(const rocksdb_optimistictransactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_options_set_occ_lock_buckets(rocksdb_optimistictransactiondb_options_t* handle,
    uint32_t value);
extern ROCKSDB_LIBRARY_API uint32_t rocksdb_optimistictransactiondb_options_get_occ_lock_buckets(const rocksdb_optimistictransactiondb_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransaction_options_t* rocksdb_optimistictransaction_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransaction_options_destroy(rocksdb_optimistictransaction_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransaction_options_set_set_snapshot(rocksdb_optimistictransaction_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_optimistictransaction_options_get_set_snapshot(const rocksdb_optimistictransaction_options_t* handle);

/* ---- Transaction databases ---- */
/* Opens a transaction database with its default column family. */
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_t* rocksdb_transactiondb_open(const rocksdb_options_t* options,
    const rocksdb_transactiondb_options_t* txn_db_options, const char* name, char** errptr);
/* Opens a transaction database with column families, as `rocksdb_open_column_families`. */
extern ROCKSDB_LIBRARY_API rocksdb_transactiondb_t* rocksdb_transactiondb_open_column_families(const rocksdb_options_t* options,
    const rocksdb_transactiondb_options_t* txn_db_options, const char* name,
    int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
/* Closes the database and destroys the handle. */
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_close(rocksdb_transactiondb_t* txn_db);
/* Creates a column family. The caller destroys the handle. */
extern ROCKSDB_LIBRARY_API rocksdb_column_family_handle_t* rocksdb_transactiondb_create_column_family(rocksdb_transactiondb_t* txn_db,
    const rocksdb_options_t* column_family_options, const char* column_family_name, char** errptr);
/* Returns a handle of the base database. Its writes lock no keys, and it takes range deletions. Destroy the handle with `rocksdb_transactiondb_close_base_db`. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_transactiondb_get_base_db(rocksdb_transactiondb_t* txn_db);
/* Destroys the handle. The database stays open. */
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_close_base_db(rocksdb_t* base_db);
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t* rocksdb_transactiondb_create_snapshot(rocksdb_transactiondb_t* txn_db);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_release_snapshot(rocksdb_transactiondb_t* txn_db,
    const rocksdb_snapshot_t* snapshot);
/* Returns a property as text, or null for an unknown name. The caller frees the text. */
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_property_value(rocksdb_transactiondb_t* db,
    const char* propname);
/* Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
   not a number. */
extern ROCKSDB_LIBRARY_API int rocksdb_transactiondb_property_int(rocksdb_transactiondb_t* db,
    const char* propname, uint64_t* out_val);
/* Begins a transaction. If `old_txn` is not null, the new transaction replaces the transaction in this handle, and `old_txn`
   is returned. Returns null for options that Ironstone does not have. */
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t* rocksdb_transaction_begin(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* write_options, const rocksdb_transaction_options_t* txn_options,
    rocksdb_transaction_t* old_txn);
/* Returns the prepared transactions, or null if there is none. The caller destroys each transaction and frees the list. */
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t** rocksdb_transactiondb_get_prepared_transactions(rocksdb_transactiondb_t* txn_db,
    size_t* cnt);
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_get(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, size_t* vlen,
    char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transactiondb_get_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, size_t* vallen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transactiondb_get_pinned(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transactiondb_get_pinned_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
/* Works like `rocksdb_multi_get`. */
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_multi_get(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, size_t num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_multi_get_cf`. */
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_multi_get_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys_list,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list,
    size_t* values_list_sizes, char** errs);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_put(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, const char* val,
    size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_put_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_write(rocksdb_transactiondb_t* db,
    const rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_merge(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, const char* val,
    size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_merge_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_delete(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_delete_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_writeoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_wal(rocksdb_transactiondb_t* txn_db,
    unsigned char sync, char** errptr);
/* Writes the WAL to the file. If `options` is null, the defaults hold: no sync. */
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_wal_with_options(rocksdb_transactiondb_t* txn_db,
    const rocksdb_flushwaloptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush(rocksdb_transactiondb_t* txn_db,
    const rocksdb_flushoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t* column_family,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transactiondb_flush_cfs(rocksdb_transactiondb_t* txn_db,
    const rocksdb_flushoptions_t* options, rocksdb_column_family_handle_t** column_families,
    int num_column_families, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_transactiondb_create_iterator(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_transactiondb_create_iterator_cf(rocksdb_transactiondb_t* txn_db,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family);
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t* rocksdb_transactiondb_checkpoint_object_create(rocksdb_transactiondb_t* txn_db,
    char** errptr);

/* ---- Optimistic transaction databases: transactions take no locks and check for conflicts at commit ---- */
/* Opens an optimistic transaction database with its default column family. */
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open(const rocksdb_options_t* options,
    const char* name, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_with_otxn_db_options(const rocksdb_options_t* options,
    const rocksdb_optimistictransactiondb_options_t* otxn_db_options, const char* name,
    char** errptr);
/* Opens an optimistic transaction database with column families, as `rocksdb_open_column_families`. */
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_column_families(const rocksdb_options_t* options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(const rocksdb_options_t* options,
    const rocksdb_optimistictransactiondb_options_t* otxn_db_options, const char* name,
    int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
/* Returns a handle of the base database. Destroy the handle with `rocksdb_optimistictransactiondb_close_base_db`. */
extern ROCKSDB_LIBRARY_API rocksdb_t* rocksdb_optimistictransactiondb_get_base_db(rocksdb_optimistictransactiondb_t* otxn_db);
/* Destroys the handle. The database stays open. */
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_close_base_db(rocksdb_t* base_db);
/* Begins a transaction. If `old_txn` is not null, the new transaction replaces the transaction in this handle, and `old_txn`
   is returned. */
extern ROCKSDB_LIBRARY_API rocksdb_transaction_t* rocksdb_optimistictransaction_begin(rocksdb_optimistictransactiondb_t* otxn_db,
    const rocksdb_writeoptions_t* write_options,
    const rocksdb_optimistictransaction_options_t* otxn_options, rocksdb_transaction_t* old_txn);
/* Writes a batch. A batch with range deletions is NotSupported, and nothing of it is written. */
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_write(rocksdb_optimistictransactiondb_t* otxn_db,
    const rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);
/* Closes the database and destroys the handle. */
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_close(rocksdb_optimistictransactiondb_t* otxn_db);
extern ROCKSDB_LIBRARY_API rocksdb_checkpoint_t* rocksdb_optimistictransactiondb_checkpoint_object_create(rocksdb_optimistictransactiondb_t* otxn_db,
    char** errptr);
/* Returns a property as text, or null for an unknown name. The caller frees the text. */
extern ROCKSDB_LIBRARY_API char* rocksdb_optimistictransactiondb_property_value(rocksdb_optimistictransactiondb_t* db,
    const char* propname);
/* Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
   not a number. */
extern ROCKSDB_LIBRARY_API int rocksdb_optimistictransactiondb_property_int(rocksdb_optimistictransactiondb_t* db,
    const char* propname, uint64_t* out_val);
/* Creates locks. `cache_aligned` has no effect. */
extern ROCKSDB_LIBRARY_API rocksdb_optimistictransactiondb_lock_buckets_t* rocksdb_optimistictransactiondb_lock_buckets_create(size_t bucket_count,
    unsigned char cache_aligned);
/* Returns the memory of the locks in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);
/* Destroys the handle. Databases that use the locks keep them. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_lock_buckets_destroy(rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);
/* Sets the locks. They are shared. Null: the database makes its own locks. */
extern ROCKSDB_LIBRARY_API void rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(rocksdb_optimistictransactiondb_options_t* options,
    rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);

/* ---- Transactions ---- */
/* Destroys a transaction. If the transaction is neither committed nor prepared, it is rolled back. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_destroy(rocksdb_transaction_t* txn);
/* Sets the name of a transaction. `rocksdb_transaction_prepare` needs a name. Live transactions must have different names. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_name(rocksdb_transaction_t* txn,
    const char* name, size_t name_len, char** errptr);
/* Returns the name. The caller frees it. */
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_name(rocksdb_transaction_t* txn,
    size_t* name_len);
/* Writes the transaction to the WAL, but does not make its writes visible. A prepared transaction survives a crash. The
   program must commit it or roll it back. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_prepare(rocksdb_transaction_t* txn,
    char** errptr);
/* Makes the writes visible. Reports Busy if the transaction conflicts with another transaction. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_commit(rocksdb_transaction_t* txn,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rollback(rocksdb_transaction_t* txn,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_savepoint(rocksdb_transaction_t* txn);
/* Removes the writes and locks since the last save point. NotFound without a save point. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rollback_to_savepoint(rocksdb_transaction_t* txn,
    char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_put(rocksdb_transaction_t* txn, const char* key,
    size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_put_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_merge(rocksdb_transaction_t* txn,
    const char* key, size_t key_len, const char* val, size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_merge_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, const char* val,
    size_t val_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_delete(rocksdb_transaction_t* txn,
    const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_delete_cf(rocksdb_transaction_t* txn,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t key_len, char** errptr);
/* Adds bytes that are written to the WAL but not to memtables. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_put_log_data(rocksdb_transaction_t* txn,
    const char* blob, size_t blob_len);
/* Adds the records of a batch, each as a write of the transaction. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rebuild_from_writebatch(rocksdb_transaction_t* txn,
    rocksdb_writebatch_t* writebatch, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_rebuild_from_writebatch_wi(rocksdb_transaction_t* txn,
    rocksdb_writebatch_wi_t* wi, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_commit_timestamp(rocksdb_transaction_t* txn,
    uint64_t commit_timestamp);
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_set_read_timestamp_for_validation(rocksdb_transaction_t* txn,
    uint64_t read_timestamp);
/* Returns the snapshot of the transaction. If the transaction has none, reads with the handle see the newest entries.
   Free the handle with `rocksdb_free` before the transaction is destroyed. The snapshot belongs to the transaction. */
extern ROCKSDB_LIBRARY_API const rocksdb_snapshot_t* rocksdb_transaction_get_snapshot(rocksdb_transaction_t* txn);
/* Returns the writes of the transaction as a batch. A change of the batch changes the transaction, without locks and
   without checks. Free the handle with `rocksdb_free`. The batch belongs to the transaction and ends with it. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_wi_t* rocksdb_transaction_get_writebatch_wi(rocksdb_transaction_t* txn);
/* Returns a copy of the value of a key as the transaction sees it, or null. */
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, size_t* vlen,
    char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, size_t* vlen, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, char** errptr);
/* Works like `rocksdb_transaction_get`. Also locks the key, and checks at commit that no other transaction wrote
   it. */
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_for_update(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, size_t* vlen,
    unsigned char exclusive, char** errptr);
extern ROCKSDB_LIBRARY_API char* rocksdb_transaction_get_for_update_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, size_t* vlen, unsigned char exclusive, char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_for_update(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, const char* key, size_t key_len, unsigned char exclusive,
    char** errptr);
extern ROCKSDB_LIBRARY_API rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_for_update_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t key_len, unsigned char exclusive, char** errptr);
/* Works like `rocksdb_multi_get`, as the transaction sees the keys. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, size_t num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_transaction_multi_get`. First locks all keys in their order, as
   `rocksdb_transaction_get_for_update` does. If a key cannot be locked, locks no further key, reads no key and
   reports the error for each key. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_for_update(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, size_t num_keys_list, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_transaction_multi_get`, with a column family for each key. All keys are read at one sequence
   number. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys_list,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list,
    size_t* values_list_sizes, char** errs);
/* Works like `rocksdb_transaction_multi_get_for_update`, with a column family for each key. */
extern ROCKSDB_LIBRARY_API void rocksdb_transaction_multi_get_for_update_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys_list,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list,
    size_t* values_list_sizes, char** errs);
/* Creates an iterator over the entries of the database and the writes of the transaction. */
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_transaction_create_iterator(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options);
extern ROCKSDB_LIBRARY_API rocksdb_iterator_t* rocksdb_transaction_create_iterator_cf(rocksdb_transaction_t* txn,
    const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family);

/* ---- The WAL files of a database, and the write batches in them ---- */
/* Returns the path relative to the WAL directory. The string is valid until the handle is destroyed. */
extern ROCKSDB_LIBRARY_API const char* rocksdb_wal_file_path_name(const rocksdb_wal_file_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_wal_file_log_number(const rocksdb_wal_file_t* handle);
/* Returns `rocksdb_wal_file_type_archived_log` or `rocksdb_wal_file_type_alive_log`. */
extern ROCKSDB_LIBRARY_API int rocksdb_wal_file_type(const rocksdb_wal_file_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_wal_file_start_sequence(const rocksdb_wal_file_t* handle);
extern ROCKSDB_LIBRARY_API uint64_t rocksdb_wal_file_size_file_bytes(const rocksdb_wal_file_t* handle);
/* Returns the WAL files, oldest first. */
extern ROCKSDB_LIBRARY_API rocksdb_wal_files_t* rocksdb_get_sorted_wal_files(rocksdb_t* db,
    char** errptr);
/* Returns the active WAL file. */
extern ROCKSDB_LIBRARY_API rocksdb_wal_file_t* rocksdb_get_current_wal_file(rocksdb_t* db,
    char** errptr);
extern ROCKSDB_LIBRARY_API size_t rocksdb_wal_files_count(const rocksdb_wal_files_t* files);
/* Returns a WAL file, or null if there is no such file. The handle is valid until the list is destroyed. */
extern ROCKSDB_LIBRARY_API const rocksdb_wal_file_t* rocksdb_wal_files_get_wal_file(const rocksdb_wal_files_t* files,
    size_t index);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_files_destroy(rocksdb_wal_files_t* files);
/* Destroys a file of `rocksdb_get_current_wal_file`. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_wal_file_destroy(rocksdb_wal_file_t* file);
/* Returns an iterator over the write batches, beginning with the batch that contains this sequence number. The iterator is
   at the first batch. Checksums are always verified, even if `verify_checksums` is 0. */
extern ROCKSDB_LIBRARY_API rocksdb_wal_iterator_t* rocksdb_get_updates_since(rocksdb_t* db,
    uint64_t seq_number, const rocksdb_wal_readoptions_t* options, char** errptr);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_next(rocksdb_wal_iterator_t* iter);
/* Returns 1 if the iterator is at a batch. */
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_wal_iter_valid(const rocksdb_wal_iterator_t* iter);
/* Reports the error that ended the iteration. */
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_status(const rocksdb_wal_iterator_t* iter,
    char** errptr);
/* Returns a copy of the batch, and the sequence number of its first entry. The caller destroys the batch. */
extern ROCKSDB_LIBRARY_API rocksdb_writebatch_t* rocksdb_wal_iter_get_batch(const rocksdb_wal_iterator_t* iter,
    uint64_t* seq);
extern ROCKSDB_LIBRARY_API void rocksdb_wal_iter_destroy(const rocksdb_wal_iterator_t* iter);

/* ---- WAL filters: functions of the program that skip, replace or reject WAL records during recovery ---- */
/* Creates a WAL filter. If a function is null, replay continues as without a filter. */
extern ROCKSDB_LIBRARY_API rocksdb_walfilter_t* rocksdb_walfilter_create(void* state,
    rocksdb_destructor_cb destructor,
    rocksdb_walfilter_column_family_log_number_map_cb column_family_log_number_map,
    rocksdb_walfilter_log_record_found_cb log_record_found, rocksdb_name_cb name);
/* Destroys the handle. Options and databases that use the filter keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_walfilter_destroy(rocksdb_walfilter_t* filter);

/* ---- Write buffer managers: one memory limit for the memtables of several databases ---- */
/* Creates a manager. `buffer_size` is the limit in bytes; 0: no limit. With `allow_stall`, writers wait if memtables use
   more than the limit. */
extern ROCKSDB_LIBRARY_API rocksdb_write_buffer_manager_t* rocksdb_write_buffer_manager_create(size_t buffer_size,
    bool allow_stall);
/* Creates a manager that charges the memory of memtables to the cache. */
extern ROCKSDB_LIBRARY_API rocksdb_write_buffer_manager_t* rocksdb_write_buffer_manager_create_with_cache(size_t buffer_size,
    const rocksdb_cache_t* cache, bool allow_stall);
/* Destroys the handle. Databases that use the manager keep it. Accepts null. */
extern ROCKSDB_LIBRARY_API void rocksdb_write_buffer_manager_destroy(rocksdb_write_buffer_manager_t* manager);
/* Returns true if there is a limit. */
extern ROCKSDB_LIBRARY_API bool rocksdb_write_buffer_manager_enabled(rocksdb_write_buffer_manager_t* manager);
/* Returns true if the memory is charged to a cache. */
extern ROCKSDB_LIBRARY_API bool rocksdb_write_buffer_manager_cost_to_cache(rocksdb_write_buffer_manager_t* manager);
/* Returns the memory of all memtables in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_write_buffer_manager_memory_usage(rocksdb_write_buffer_manager_t* manager);
/* Returns the memory of the active memtables in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_write_buffer_manager_mutable_memtable_memory_usage(rocksdb_write_buffer_manager_t* manager);
/* Returns the memory that is charged to the cache in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(rocksdb_write_buffer_manager_t* manager);
/* Returns the limit in bytes. */
extern ROCKSDB_LIBRARY_API size_t rocksdb_write_buffer_manager_buffer_size(rocksdb_write_buffer_manager_t* manager);
extern ROCKSDB_LIBRARY_API void rocksdb_write_buffer_manager_set_buffer_size(rocksdb_write_buffer_manager_t* manager,
    size_t bytes);
extern ROCKSDB_LIBRARY_API void rocksdb_write_buffer_manager_set_allow_stall(rocksdb_write_buffer_manager_t* manager,
    bool allow);

/* ---- Options of writes, flushes, WAL flushes, size estimates, ingestions ---- */
extern ROCKSDB_LIBRARY_API rocksdb_writeoptions_t* rocksdb_writeoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_destroy(rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_flushoptions_t* rocksdb_flushoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_destroy(rocksdb_flushoptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_flushwaloptions_t* rocksdb_flushwaloptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_flushwaloptions_destroy(rocksdb_flushwaloptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_size_approximation_options_t* rocksdb_size_approximation_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_size_approximation_options_destroy(rocksdb_size_approximation_options_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_ingestexternalfileoptions_t* rocksdb_ingestexternalfileoptions_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_destroy(rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API rocksdb_import_column_family_options_t* rocksdb_import_column_family_options_create(void);
extern ROCKSDB_LIBRARY_API void rocksdb_import_column_family_options_destroy(rocksdb_import_column_family_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_sync(rocksdb_writeoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_sync(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_disable_WAL(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_ignore_missing_column_families(rocksdb_writeoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_ignore_missing_column_families(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_no_slowdown(rocksdb_writeoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_no_slowdown(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_low_pri(rocksdb_writeoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_low_pri(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_memtable_insert_hint_per_batch(rocksdb_writeoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_writeoptions_get_memtable_insert_hint_per_batch(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_rate_limiter_priority(rocksdb_writeoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_writeoptions_get_rate_limiter_priority(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_protection_bytes_per_key(rocksdb_writeoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_writeoptions_get_protection_bytes_per_key(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_set_io_activity(rocksdb_writeoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_writeoptions_get_io_activity(const rocksdb_writeoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_set_wait(rocksdb_flushoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushoptions_get_wait(const rocksdb_flushoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_set_allow_write_stall(rocksdb_flushoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushoptions_get_allow_write_stall(const rocksdb_flushoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_set_force_atomic_flush(rocksdb_flushoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushoptions_get_force_atomic_flush(const rocksdb_flushoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushoptions_set_listener_wait(rocksdb_flushoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushoptions_get_listener_wait(const rocksdb_flushoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushwaloptions_set_sync(rocksdb_flushwaloptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_flushwaloptions_get_sync(const rocksdb_flushwaloptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_flushwaloptions_set_rate_limiter_priority(rocksdb_flushwaloptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_flushwaloptions_get_rate_limiter_priority(const rocksdb_flushwaloptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_size_approximation_options_set_include_memtables(rocksdb_size_approximation_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_size_approximation_options_get_include_memtables(const rocksdb_size_approximation_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_size_approximation_options_set_include_files(rocksdb_size_approximation_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_size_approximation_options_get_include_files(const rocksdb_size_approximation_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_size_approximation_options_set_include_blob_files(rocksdb_size_approximation_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_size_approximation_options_get_include_blob_files(const rocksdb_size_approximation_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_size_approximation_options_set_files_size_error_margin(rocksdb_size_approximation_options_t* handle,
    double value);
extern ROCKSDB_LIBRARY_API double rocksdb_size_approximation_options_get_files_size_error_margin(const rocksdb_size_approximation_options_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_move_files(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_move_files(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_snapshot_consistency(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_snapshot_consistency(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_allow_global_seqno(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_allow_global_seqno(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_allow_blocking_flush(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_ingest_behind(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_ingest_behind(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_link_files(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_link_files(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_write_global_seqno(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_write_global_seqno(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size(rocksdb_ingestexternalfileoptions_t* handle,
    size_t value);
extern ROCKSDB_LIBRARY_API size_t rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_verify_file_checksum(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_verify_file_checksum(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_allow_db_generated_files(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_allow_db_generated_files(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_fill_cache(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_fill_cache(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks(rocksdb_ingestexternalfileoptions_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_ingestexternalfileoptions_set_file_opening_threads(rocksdb_ingestexternalfileoptions_t* handle,
    int value);
extern ROCKSDB_LIBRARY_API int rocksdb_ingestexternalfileoptions_get_file_opening_threads(const rocksdb_ingestexternalfileoptions_t* handle);
extern ROCKSDB_LIBRARY_API void rocksdb_import_column_family_options_set_move_files(rocksdb_import_column_family_options_t* handle,
    unsigned char value);
extern ROCKSDB_LIBRARY_API unsigned char rocksdb_import_column_family_options_get_move_files(const rocksdb_import_column_family_options_t* handle);
/* Sets whether writes skip the WAL. With 1, a crash loses writes that were not flushed. */
extern ROCKSDB_LIBRARY_API void rocksdb_writeoptions_disable_WAL(rocksdb_writeoptions_t* options,
    int disable);

#ifdef __cplusplus
}
#endif

#endif
