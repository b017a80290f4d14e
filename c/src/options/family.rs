//! Options of a column family: one row for each. `docs/options.md` describes the options.
//!
//! A setter takes every number. An open rejects a number that is not a value of the option.

use super::rocksdb_options_t;

accessors! {
    rocksdb_options_t, "rocksdb_options_", |o|;
    write_buffer_size: usize => o.family.write_buffer_size;
    num_levels: i32 => o.family.num_levels;
    level0_file_num_compaction_trigger: i32 => o.family.level0_file_num_compaction_trigger;
    level0_slowdown_writes_trigger: i32 => o.family.level0_slowdown_writes_trigger;
    level0_stop_writes_trigger: i32 => o.family.level0_stop_writes_trigger;
    target_file_size_base: u64 => o.family.target_file_size_base;
    target_file_size_multiplier: i32 => o.family.target_file_size_multiplier;
    max_bytes_for_level_base: u64 => o.family.max_bytes_for_level_base;
    level_compaction_dynamic_level_bytes: flag => o.family.level_compaction_dynamic_level_bytes;
    max_bytes_for_level_multiplier: f64 => o.family.max_bytes_for_level_multiplier;
    ttl: u64 => o.family.ttl;
    periodic_compaction_seconds: u64 => o.family.periodic_compaction_seconds;
    memtable_op_scan_flush_trigger: u32 => o.family.memtable_op_scan_flush_trigger;
    memtable_avg_op_scan_flush_trigger: u32 => o.family.memtable_avg_op_scan_flush_trigger;
    min_tombstones_for_range_conversion: u32 => o.family.min_tombstones_for_range_conversion;
    enable_blob_files: flag => o.family.enable_blob_files;
    min_blob_size: u64 => o.family.min_blob_size;
    blob_file_size: u64 => o.family.blob_file_size;
    blob_compression_type: i32 => o.family.blob_compression_type;
    read_triggered_compaction_threshold: f64 => o.family.read_triggered_compaction_threshold;
    blob_compaction_readahead_size: u64 => o.family.blob_compaction_readahead_size;
    blob_file_starting_level: i32 => o.family.blob_file_starting_level;
    prepopulate_blob_cache: i32 => o.family.prepopulate_blob_cache;
    max_write_buffer_number: i32 => o.family.max_write_buffer_number;
    min_write_buffer_number_to_merge: i32 => o.family.min_write_buffer_number_to_merge;
    max_write_buffer_size_to_maintain: i64 => o.family.max_write_buffer_size_to_maintain;
    soft_pending_compaction_bytes_limit: usize => o.family.soft_pending_compaction_bytes_limit;
    hard_pending_compaction_bytes_limit: usize => o.family.hard_pending_compaction_bytes_limit;
    arena_block_size: usize => o.family.arena_block_size;
    max_sequential_skip_in_iterations: u64 => o.family.max_sequential_skip_in_iterations;
    disable_auto_compactions: i32 / flag => o.family.disable_auto_compactions;
    optimize_filters_for_hits: i32 / flag => o.family.optimize_filters_for_hits;
    memtable_prefix_bloom_size_ratio: f64 => o.family.memtable_prefix_bloom_size_ratio;
    max_compaction_bytes: u64 => o.family.max_compaction_bytes;
    memtable_huge_page_size: usize => o.family.memtable_huge_page_size;
    max_successive_merges: usize => o.family.max_successive_merges;
    bloom_locality: u32 => o.family.bloom_locality;
    inplace_update_support: flag => o.family.inplace_update_support;
    inplace_update_num_locks: usize => o.family.inplace_update_num_locks;
    report_bg_io_stats: i32 / flag => o.family.report_bg_io_stats;
    experimental_mempurge_threshold: f64 => o.family.experimental_mempurge_threshold;
    compression: i32 => o.family.compression;
    bottommost_compression: i32 => o.family.bottommost_compression;
    compaction_style: i32 => o.family.compaction_style;
    compaction_pri: i32 => o.family.compaction_pri;
    memtable_whole_key_filtering: flag => o.family.memtable_whole_key_filtering;
    target_file_size_is_upper_bound: flag => o.family.target_file_size_is_upper_bound;
    strict_max_successive_merges: flag => o.family.strict_max_successive_merges;
    paranoid_file_checks: flag => o.family.paranoid_file_checks;
    verify_output_flags: i32 => o.family.verify_output_flags;
    force_consistency_checks: flag => o.family.force_consistency_checks;
    disallow_memtable_writes: flag => o.family.disallow_memtable_writes;
    sample_for_compression: u64 => o.family.sample_for_compression;
    last_level_temperature: i32 => o.family.last_level_temperature;
    default_write_temperature: i32 => o.family.default_write_temperature;
    default_temperature: i32 => o.family.default_temperature;
    preclude_last_level_data_seconds: u64 => o.family.preclude_last_level_data_seconds;
    preserve_internal_time_seconds: u64 => o.family.preserve_internal_time_seconds;
    enable_blob_direct_write: flag => o.family.enable_blob_direct_write;
    blob_direct_write_partitions: u32 => o.family.blob_direct_write_partitions;
    memtable_protection_bytes_per_key: u32 => o.family.memtable_protection_bytes_per_key;
    persist_user_defined_timestamps: flag => o.family.persist_user_defined_timestamps;
    block_protection_bytes_per_key: u8 => o.family.block_protection_bytes_per_key;
    bottommost_file_compaction_delay: u32 => o.family.bottommost_file_compaction_delay;
    paranoid_memory_checks: flag => o.family.paranoid_memory_checks;
    memtable_verify_per_key_checksum_on_seek: flag => o.family.memtable_verify_per_key_checksum_on_seek;
    cf_allow_ingest_behind: flag => o.family.cf_allow_ingest_behind;
    memtable_batch_lookup_optimization: flag => o.family.memtable_batch_lookup_optimization;
    memtable_max_range_deletions: u32 => o.family.memtable_max_range_deletions;
    uncache_aggressiveness: u32 => o.family.uncache_aggressiveness;
    enable_blob_gc: flag => o.family.enable_blob_garbage_collection;
    blob_gc_age_cutoff: f64 => o.family.blob_garbage_collection_age_cutoff;
    blob_gc_force_threshold: f64 => o.family.blob_garbage_collection_force_threshold;
    compression_options_zstd_max_train_bytes: i32 => o.family.compression_opts.zstd_max_train_bytes;
    compression_options_use_zstd_dict_trainer: flag => o.family.compression_opts.use_zstd_dict_trainer;
    compression_options_parallel_threads: i32 => o.family.compression_opts.parallel_threads;
    compression_options_max_dict_buffer_bytes: u64 => o.family.compression_opts.max_dict_buffer_bytes;
    bottommost_compression_options_use_zstd_dict_trainer: none / flag
        => o.family.bottommost_compression_opts.use_zstd_dict_trainer;
}
