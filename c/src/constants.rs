//! The constants of `rocksdb/c.h`. The numbers are RocksDB's.

macro_rules! constants {
    ($($(#[$doc:meta])* { $($name:ident = $value:literal;)* })*) => {
        $($(#[doc = "See `rocksdb/c.h`."] pub const $name: i32 = $value;)*)*
    };
}

#[allow(non_upper_case_globals)]
mod values {
    constants! {
        /// The parts that a size estimate includes.
        {
            rocksdb_size_approximation_flags_none = 0;
            rocksdb_size_approximation_flags_include_memtable = 1;
            rocksdb_size_approximation_flags_include_files = 2;
            rocksdb_size_approximation_flags_include_blob_files = 4;
        }
        /// The state of a WAL file.
        {
            rocksdb_wal_file_type_archived_log = 0;
            rocksdb_wal_file_type_alive_log = 1;
        }
        /// The index of a block-based table.
        {
            rocksdb_block_based_table_index_type_binary_search = 0;
            rocksdb_block_based_table_index_type_hash_search = 1;
            rocksdb_block_based_table_index_type_two_level_index_search = 2;
        }
        /// The index inside a data block.
        {
            rocksdb_block_based_table_data_block_index_type_binary_search = 0;
            rocksdb_block_based_table_data_block_index_type_binary_search_and_hash = 1;
        }
        /// The search algorithm in an index block.
        {
            rocksdb_block_based_table_index_block_search_type_binary = 0;
            rocksdb_block_based_table_index_block_search_type_interpolation = 1;
            rocksdb_block_based_table_index_block_search_type_auto = 2;
        }
        /// The tables whose index and filter blocks are pinned in the block cache.
        {
            rocksdb_block_based_k_fallback_pinning_tier = 0;
            rocksdb_block_based_k_none_pinning_tier = 1;
            rocksdb_block_based_k_flush_and_similar_pinning_tier = 2;
            rocksdb_block_based_k_all_pinning_tier = 3;
        }
        /// The statistics that are collected.
        {
            rocksdb_statistics_level_disable_all = 0;
            rocksdb_statistics_level_except_tickers = 0;
            rocksdb_statistics_level_except_histogram_or_timers = 1;
            rocksdb_statistics_level_except_timers = 2;
            rocksdb_statistics_level_except_detailed_timers = 3;
            rocksdb_statistics_level_except_time_for_mutex = 4;
            rocksdb_statistics_level_all = 5;
        }
        /// The new blobs that are added to the blob cache.
        {
            rocksdb_prepopulate_blob_disable = 0;
            rocksdb_prepopulate_blob_flush_only = 1;
        }
        /// How recovery treats torn and corrupt WAL records.
        {
            rocksdb_tolerate_corrupted_tail_records_recovery = 0;
            rocksdb_absolute_consistency_recovery = 1;
            rocksdb_point_in_time_recovery = 2;
            rocksdb_skip_any_corrupted_records_recovery = 3;
        }
        /// Compression of blocks.
        {
            rocksdb_no_compression = 0;
            rocksdb_snappy_compression = 1;
            rocksdb_zlib_compression = 2;
            rocksdb_bz2_compression = 3;
            rocksdb_lz4_compression = 4;
            rocksdb_lz4hc_compression = 5;
            rocksdb_xpress_compression = 6;
            rocksdb_zstd_compression = 7;
        }
        /// Compaction styles.
        {
            rocksdb_level_compaction = 0;
            rocksdb_universal_compaction = 1;
            rocksdb_fifo_compaction = 2;
        }
        /// The order in which the SST files of a level are compacted.
        {
            rocksdb_k_by_compensated_size_compaction_pri = 0;
            rocksdb_k_oldest_largest_seq_first_compaction_pri = 1;
            rocksdb_k_oldest_smallest_seq_first_compaction_pri = 2;
            rocksdb_k_min_overlapping_ratio_compaction_pri = 3;
            rocksdb_k_round_robin_compaction_pri = 4;
        }
        /// The counters and times that the perf context collects.
        {
            rocksdb_uninitialized = 0;
            rocksdb_disable = 1;
            rocksdb_enable_count = 2;
            rocksdb_enable_time_except_for_mutex = 3;
            rocksdb_enable_time = 4;
            rocksdb_out_of_bounds = 5;
        }
        /// The decisions of a WAL filter.
        {
            rocksdb_wal_filter_continue_processing = 0;
            rocksdb_wal_filter_ignore_current_record = 1;
            rocksdb_wal_filter_stop_replay = 2;
            rocksdb_wal_filter_corrupted_record = 3;
        }
        /// The calls that a trace leaves out.
        {
            rocksdb_trace_filter_none = 0;
            rocksdb_trace_filter_get = 1;
            rocksdb_trace_filter_write = 2;
            rocksdb_trace_filter_iterator_seek = 4;
            rocksdb_trace_filter_iterator_seek_for_prev = 8;
            rocksdb_trace_filter_multi_get = 16;
        }
        /// The condition at which universal compaction adds no more sorted runs to a compaction.
        {
            rocksdb_similar_size_compaction_stop_style = 0;
            rocksdb_total_size_compaction_stop_style = 1;
        }
        /// When a transaction writes to memtables.
        {
            rocksdb_txndb_write_policy_write_committed = 0;
            rocksdb_txndb_write_policy_write_prepared = 1;
            rocksdb_txndb_write_policy_write_unprepared = 2;
        }
        /// The state of a job of a compaction service.
        {
            rocksdb_compactionservice_jobstatus_success = 0;
            rocksdb_compactionservice_jobstatus_failure = 1;
            rocksdb_compactionservice_jobstatus_aborted = 2;
            rocksdb_compactionservice_jobstatus_use_local = 3;
        }
    }
}

pub use values::*;

/// `rocksdb_total_metric_count` of the header. The value is RocksDB's, which is two more than the last counter plus 1.
pub const TOTAL_METRIC_COUNT: usize = 86;

/// The counters of the perf context, by the number that `rocksdb_perfcontext_metric` takes. In the header each name begins
/// with `rocksdb_`.
pub const PERF_METRICS: &[&str] = &[
    "user_key_comparison_count",
    "block_cache_hit_count",
    "block_read_count",
    "block_read_byte",
    "block_read_time",
    "block_checksum_time",
    "block_decompress_time",
    "get_read_bytes",
    "multiget_read_bytes",
    "iter_read_bytes",
    "internal_key_skipped_count",
    "internal_delete_skipped_count",
    "internal_recent_skipped_count",
    "internal_merge_count",
    "get_snapshot_time",
    "get_from_memtable_time",
    "get_from_memtable_count",
    "get_post_process_time",
    "get_from_output_files_time",
    "seek_on_memtable_time",
    "seek_on_memtable_count",
    "next_on_memtable_count",
    "prev_on_memtable_count",
    "seek_child_seek_time",
    "seek_child_seek_count",
    "seek_min_heap_time",
    "seek_max_heap_time",
    "seek_internal_seek_time",
    "find_next_user_entry_time",
    "write_wal_time",
    "write_memtable_time",
    "write_delay_time",
    "write_pre_and_post_process_time",
    "db_mutex_lock_nanos",
    "db_condition_wait_nanos",
    "merge_operator_time_nanos",
    "read_index_block_nanos",
    "read_filter_block_nanos",
    "new_table_block_iter_nanos",
    "new_table_iterator_nanos",
    "block_seek_nanos",
    "find_table_nanos",
    "bloom_memtable_hit_count",
    "bloom_memtable_miss_count",
    "bloom_sst_hit_count",
    "bloom_sst_miss_count",
    "key_lock_wait_time",
    "key_lock_wait_count",
    "env_new_sequential_file_nanos",
    "env_new_random_access_file_nanos",
    "env_new_writable_file_nanos",
    "env_reuse_writable_file_nanos",
    "env_new_random_rw_file_nanos",
    "env_new_directory_nanos",
    "env_file_exists_nanos",
    "env_get_children_nanos",
    "env_get_children_file_attributes_nanos",
    "env_delete_file_nanos",
    "env_create_dir_nanos",
    "env_create_dir_if_missing_nanos",
    "env_delete_dir_nanos",
    "env_get_file_size_nanos",
    "env_get_file_modification_time_nanos",
    "env_rename_file_nanos",
    "env_link_file_nanos",
    "env_lock_file_nanos",
    "env_unlock_file_nanos",
    "env_new_logger_nanos",
    "number_async_seek",
    "blob_cache_hit_count",
    "blob_read_count",
    "blob_read_byte",
    "blob_read_time",
    "blob_checksum_time",
    "blob_decompress_time",
    "internal_range_del_reseek_count",
    "block_read_cpu_time",
    "internal_merge_point_lookup_count",
    "data_block_read_byte",
    "index_block_read_byte",
    "filter_block_read_byte",
    "compression_dict_block_read_byte",
    "metadata_block_read_byte",
    "blob_cache_read_byte",
];
