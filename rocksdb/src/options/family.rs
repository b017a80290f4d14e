//! The setters of column family options with a single value. One row defines one setter.

use super::Options;
use super::place::setters;
use crate::{CompactionPri, DBCompactionStyle, DBCompressionType};

setters! {
    Options, |o|;
    set_compression_type(DBCompressionType) => inner.family.compression;
    set_compression_options_parallel_threads(i32) => inner.family.compression_opts.parallel_threads;
    set_bottommost_compression_type(DBCompressionType) => inner.family.bottommost_compression;
    set_zstd_max_train_bytes(i32) => inner.family.compression_opts.zstd_max_train_bytes;
    set_level_compaction_dynamic_level_bytes(bool) => inner.family.level_compaction_dynamic_level_bytes;
    set_periodic_compaction_seconds(u64) => inner.family.periodic_compaction_seconds;
    set_ttl(u64) => inner.family.ttl;
    set_optimize_filters_for_hits(bool) => inner.family.optimize_filters_for_hits;
    set_max_sequential_skip_in_iterations(u64) => inner.family.max_sequential_skip_in_iterations;
    set_target_file_size_multiplier(i32) => inner.family.target_file_size_multiplier;
    set_min_write_buffer_number(i32) => inner.family.min_write_buffer_number_to_merge;
    set_max_write_buffer_number(i32) => inner.family.max_write_buffer_number;
    set_write_buffer_size(usize) => inner.family.write_buffer_size;
    set_max_bytes_for_level_base(u64) => inner.family.max_bytes_for_level_base;
    set_max_bytes_for_level_multiplier(f64) => inner.family.max_bytes_for_level_multiplier;
    set_target_file_size_base(u64) => inner.family.target_file_size_base;
    set_min_write_buffer_number_to_merge(i32) => inner.family.min_write_buffer_number_to_merge;
    set_level_zero_file_num_compaction_trigger(i32) => inner.family.level0_file_num_compaction_trigger;
    set_compaction_pri(CompactionPri) => inner.family.compaction_pri;
    set_level_zero_slowdown_writes_trigger(i32) => inner.family.level0_slowdown_writes_trigger;
    set_level_zero_stop_writes_trigger(i32) => inner.family.level0_stop_writes_trigger;
    set_compaction_style(DBCompactionStyle) => inner.family.compaction_style;
    set_disable_auto_compactions(bool) => inner.family.disable_auto_compactions;
    set_memtable_huge_page_size(usize) => inner.family.memtable_huge_page_size;
    set_max_successive_merges(usize) => inner.family.max_successive_merges;
    set_bloom_locality(u32) => inner.family.bloom_locality;
    set_inplace_update_support(bool) => inner.family.inplace_update_support;
    set_inplace_update_locks(usize) => inner.family.inplace_update_num_locks;
    set_max_write_buffer_size_to_maintain(i64) => inner.family.max_write_buffer_size_to_maintain;
    set_report_bg_io_stats(bool) => inner.family.report_bg_io_stats;
    set_num_levels(i32) => inner.family.num_levels;
    set_memtable_prefix_bloom_ratio(f64) => inner.family.memtable_prefix_bloom_size_ratio;
    set_max_compaction_bytes(u64) => inner.family.max_compaction_bytes;
    set_soft_pending_compaction_bytes_limit(usize) => inner.family.soft_pending_compaction_bytes_limit;
    set_hard_pending_compaction_bytes_limit(usize) => inner.family.hard_pending_compaction_bytes_limit;
    set_arena_block_size(usize) => inner.family.arena_block_size;
    set_experimental_mempurge_threshold(f64) => inner.family.experimental_mempurge_threshold;
    set_memtable_whole_key_filtering(bool) => inner.family.memtable_whole_key_filtering;
    set_enable_blob_files(bool) => inner.family.enable_blob_files;
    set_min_blob_size(u64) => inner.family.min_blob_size;
    set_blob_file_size(u64) => inner.family.blob_file_size;
    set_blob_compression_type(DBCompressionType) => inner.family.blob_compression_type;
    set_enable_blob_gc(bool) => inner.family.enable_blob_garbage_collection;
    set_blob_gc_age_cutoff(f64) => inner.family.blob_garbage_collection_age_cutoff;
    set_blob_gc_force_threshold(f64) => inner.family.blob_garbage_collection_force_threshold;
    set_blob_compaction_readahead_size(u64) => inner.family.blob_compaction_readahead_size;
}
