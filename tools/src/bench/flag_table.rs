//! Every flag of RocksDB's db_bench (`tools/db_bench_tool.cc`), and whether this db_bench supports the flag. A flag that is
//! not supported is rejected, unless its value is the default.
//!
//! A flag that sets one option names the row of the option. The row gives the type, the default, the range and the doc. The table
//! says what differs from the row: the name of the flag, or RocksDB's default of the flag.

use base::option;
use ironstone::{BlockBasedTableOptions, DbOptions, FamilyOptions};

/// A flag's type, named as in gflags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int,
    Double,
    Text,
}

/// The option that a flag sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An option of the database.
    Db(&'static str),
    /// An option of the column families.
    Family(&'static str),
    /// An option of block-based tables.
    Table(&'static str),
}

/// What the row of an option says.
struct Facts {
    kind: Type,
    default: String,
    help: String,
}

impl Facts {
    fn of<T: Default>(row: &option::Row<T>) -> Facts {
        let (kind, default) = match row.ty {
            "bool" => (Type::Bool, row.default_text()),
            "String" => (Type::Text, row.default_text()),
            // The text of an option has six digits after the point. The help shows the shortest form.
            "f64" => {
                let number = (row.number)(&T::default()).unwrap_or_default();
                (Type::Double, number.to_string())
            }
            _ => (Type::Int, row.default_text()),
        };
        let range = if row.range.is_empty() { String::new() } else { format!("range {}", row.range) };
        let facts = [row.unit.to_string(), range].into_iter().filter(|fact| !fact.is_empty());
        let facts = facts.collect::<Vec<_>>().join(", ");
        let doc = row.doc.trim();
        let help = if facts.is_empty() { doc.to_string() } else { format!("{doc} ({facts})") };
        Facts { kind, default, help }
    }
}

impl Target {
    /// Returns the name of the option.
    const fn option(self) -> &'static str {
        match self {
            Target::Db(name) | Target::Family(name) | Target::Table(name) => name,
        }
    }

    /// Returns the facts of the row, or `None` if there is no row of the name. A test checks that each flag has its row.
    fn facts(self) -> Option<Facts> {
        match self {
            Target::Db(name) => DbOptions::row(name).map(Facts::of),
            Target::Family(name) => FamilyOptions::row(name).map(Facts::of),
            Target::Table(name) => {
                BlockBasedTableOptions::ROWS.iter().find(|row| row.name == name).map(Facts::of)
            }
        }
    }
}

/// One row of the table.
pub struct Row {
    pub name: &'static str,
    /// The type and the default, if they do not come from the row of an option. A flag that sets an option has no type of its own, and
    /// a default only if RocksDB's db_bench has another default than the option.
    own: (Option<Type>, Option<&'static str>),
    /// The option that the flag sets. The value of the flag is the text of the option.
    pub option: Option<Target>,
    /// True if a value other than the default has an effect.
    pub acted_on: bool,
}

impl Row {
    /// Returns the type of the flag.
    pub fn kind(&self) -> Type {
        let of_row = || self.option.and_then(Target::facts).map(|facts| facts.kind);
        self.own.0.or_else(of_row).unwrap_or(Type::Text)
    }

    /// Returns the text of the default.
    pub fn default(&self) -> String {
        match self.own.1 {
            Some(text) => text.to_string(),
            None => self.option.and_then(Target::facts).map(|facts| facts.default).unwrap_or_default(),
        }
    }

    /// Returns the doc of the option with its unit and range. Empty for a flag that sets no option.
    pub fn help(&self) -> String {
        self.option.and_then(Target::facts).map(|facts| facts.help).unwrap_or_default()
    }

    /// Gives a flag that sets an option a name of its own.
    const fn named(mut self, name: &'static str) -> Row {
        self.name = name;
        self
    }

    /// Gives a flag that sets an option RocksDB's default of the flag.
    const fn with_default(mut self, default: &'static str) -> Row {
        self.own.1 = Some(default);
        self
    }

    /// Rejects all values but the default.
    const fn rejected(mut self) -> Row {
        self.acted_on = false;
        self
    }
}

/// Returns a flag that has an effect.
const fn flag(name: &'static str, kind: Type, default: &'static str) -> Row {
    Row { name, own: (Some(kind), Some(default)), option: None, acted_on: true }
}

/// Returns a flag whose values are rejected, except for the default.
const fn rejected(name: &'static str, kind: Type, default: &'static str) -> Row {
    flag(name, kind, default).rejected()
}

/// Returns a flag that sets an option. The flag has the name and the default of the option.
const fn option(target: Target) -> Row {
    Row { name: target.option(), own: (None, None), option: Some(target), acted_on: true }
}

use Target::{Db, Family, Table};
use Type::{Bool, Double, Int, Text};

/// All flags. The help prints the flags with an effect in this order.
#[rustfmt::skip]
pub const FLAGS: &[Row] = &[
    flag("benchmarks", Text, "fillseq,fillsync,fillrandom,overwrite,readrandom,newiterator,newiteratorwhilewriting,seekrandom,seekrandomwhilewriting,readseq,readreverse,compact,compactall,flush,waitforcompaction,multireadrandom,readseq,readtocache,readreverse,readwhilewriting,readwhilescanning,readrandomwriterandom,updaterandom,approximatesizerandom,randomwithverify,fill100K,crc32c,xxhash,xxhash64,xxh3,compress,uncompress,acquireload,fillseekseq,approximatememtablestats"),
    flag("num", Int, "1000000"),
    flag("bgwriter_num", Int, "0"),
    flag("numdistinct", Int, "1000"),
    flag("merge_keys", Int, "-1"),
    flag("num_column_families", Int, "1"),
    flag("num_hot_column_families", Int, "0"),
    flag("column_family_distribution", Text, ""),
    flag("reads", Int, "-1"),
    flag("deletes", Int, "-1"),
    option(Family("bloom_locality")),
    flag("seed", Int, "0"),
    flag("threads", Int, "1"),
    flag("duration", Int, "0"),
    flag("value_size_distribution_type", Text, "fixed"),
    flag("value_size", Int, "100"),
    flag("value_size_min", Int, "100"),
    flag("value_size_max", Int, "102400"),
    flag("seek_nexts", Int, "0"),
    flag("seek_nexts_to_delete", Int, "0"),
    flag("reverse_iterator", Bool, "false"),
    flag("auto_prefix_mode", Bool, "false"),
    flag("max_scan_distance", Int, "0"),
    flag("use_uint64_comparator", Bool, "false"),
    flag("batch_size", Int, "1"),
    rejected("multiscan_size", Int, "10"),
    rejected("multiscan_stride", Int, "100"),
    flag("key_size", Int, "16"),
    flag("user_timestamp_size", Int, "0"),
    flag("num_multi_db", Int, "0"),
    flag("compression_ratio", Double, "0.5"),
    flag("overwrite_probability", Double, "0"),
    flag("overwrite_window_size", Int, "1"),
    flag("disposable_entries_delete_delay", Int, "0"),
    flag("disposable_entries_batch_size", Int, "0"),
    flag("disposable_entries_value_size", Int, "64"),
    flag("persistent_entries_batch_size", Int, "0"),
    flag("persistent_entries_value_size", Int, "64"),
    flag("read_random_exp_range", Double, "0"),
    flag("histogram", Bool, "false"),
    flag("confidence_interval_only", Bool, "false"),
    rejected("enable_numa", Bool, "false"),
    option(Db("db_write_buffer_size")),
    option(Db("max_manifest_file_size")),
    option(Db("max_manifest_space_amp_pct")),
    option(Db("verify_manifest_content_on_close")),
    flag("cost_write_buffer_to_cache", Bool, "false"),
    option(Family("arena_block_size")).rejected(),
    option(Family("write_buffer_size")),
    option(Family("max_write_buffer_number")),
    option(Family("min_write_buffer_number_to_merge")),
    option(Family("max_write_buffer_size_to_maintain")),
    option(Db("max_background_jobs")),
    flag("num_bottom_pri_threads", Int, "0"),
    flag("num_high_pri_threads", Int, "0"),
    flag("num_low_pri_threads", Int, "0"),
    option(Db("max_background_compactions")),
    option(Db("max_subcompactions")).named("subcompactions"),
    option(Db("max_background_flushes")),
    flag("compaction_style", Int, "0"),
    flag("compaction_pri", Int, "3"),
    flag("universal_size_ratio", Int, "0"),
    flag("universal_min_merge_width", Int, "0"),
    flag("universal_max_merge_width", Int, "0"),
    flag("universal_max_size_amplification_percent", Int, "0"),
    flag("universal_compression_size_percent", Int, "-1"),
    flag("universal_max_read_amp", Int, "-1"),
    flag("universal_allow_trivial_move", Bool, "false"),
    flag("universal_incremental", Bool, "false"),
    flag("universal_stop_style", Int, "1"),
    flag("cache_size", Int, "33554432"),
    flag("cache_numshardbits", Int, "-1"),
    flag("cache_high_pri_pool_ratio", Double, "0"),
    flag("cache_low_pri_pool_ratio", Double, "0"),
    flag("cache_type", Text, "hyper_clock_cache"),
    rejected("use_compressed_secondary_cache", Bool, "false"),
    rejected("compressed_secondary_cache_size", Int, "33554432"),
    rejected("compressed_secondary_cache_numshardbits", Int, "6"),
    rejected("compressed_secondary_cache_high_pri_pool_ratio", Double, "0"),
    rejected("compressed_secondary_cache_low_pri_pool_ratio", Double, "0"),
    rejected("compressed_secondary_cache_compression_type", Text, "lz4"),
    rejected("compression_manager", Text, "none"),
    rejected("compressed_secondary_cache_compression_level", Int, "32767"),
    rejected("use_tiered_cache", Bool, "false"),
    rejected("tiered_adm_policy", Text, "auto"),
    rejected("simcache_size", Int, "-1"),
    option(Table("cache_index_and_filter_blocks")),
    rejected("use_cache_jemalloc_no_dump_allocator", Bool, "false"),
    rejected("use_cache_memkind_kmem_allocator", Bool, "false"),
    option(Table("decouple_partitioned_filters")),
    flag("partition_index_and_filters", Bool, "false"),
    flag("partition_index", Bool, "false"),
    flag("index_with_first_key", Bool, "false"),
    rejected("use_trie_index", Bool, "false"),
    option(Table("optimize_filters_for_memory")),
    flag("index_shortening_mode", Int, "2"),
    option(Table("metadata_block_size")),
    flag("ops_between_duration_checks", Int, "1000"),
    option(Table("pin_l0_filter_and_index_blocks_in_cache")),
    option(Table("pin_top_level_index_and_filter")).with_default("false"),
    option(Table("block_size")),
    option(Table("format_version")),
    option(Table("block_restart_interval")),
    option(Table("index_block_restart_interval")),
    option(Table("read_amp_bytes_per_bit")),
    option(Table("enable_index_compression")),
    option(Table("block_align")),
    option(Table("super_block_alignment_size")),
    option(Table("super_block_alignment_space_overhead_ratio")),
    option(Table("separate_key_value_in_data_block")),
    flag("prepopulate_block_cache", Int, "0"),
    option(Family("uncache_aggressiveness")),
    flag("use_data_block_hash_index", Bool, "false"),
    option(Table("data_block_hash_table_util_ratio")),
    option(Table("uniform_cv_threshold")),
    rejected("compressed_cache_size", Int, "-1"),
    flag("row_cache_size", Int, "0"),
    option(Db("max_open_files")).named("open_files"),
    option(Db("max_file_opening_threads")).named("file_opening_threads"),
    option(Db("compaction_readahead_size")),
    rejected("log_readahead_size", Int, "0"),
    option(Db("writable_file_max_buffer_size")),
    flag("bloom_bits", Int, "-1"),
    flag("use_ribbon_filter", Bool, "false"),
    option(Family("memtable_prefix_bloom_size_ratio")).named("memtable_bloom_size_ratio"),
    option(Family("memtable_whole_key_filtering")),
    rejected("memtable_use_huge_page", Bool, "false"),
    rejected("memtable_batch_lookup_optimization", Bool, "false"),
    option(Table("whole_key_filtering")),
    flag("use_existing_db", Bool, "false"),
    flag("use_existing_keys", Bool, "false"),
    flag("show_table_properties", Bool, "false"),
    flag("db", Text, ""),
    flag("progress_reports", Bool, "true"),
    rejected("read_cache_path", Text, ""),
    rejected("read_cache_size", Int, "4294967296"),
    rejected("read_cache_direct_write", Bool, "true"),
    rejected("read_cache_direct_read", Bool, "true"),
    flag("use_keep_filter", Bool, "false"),
    flag("verify_checksum", Bool, "true"),
    flag("checksum_type", Int, "4"),
    flag("statistics", Bool, "false"),
    flag("stats_level", Int, "3"),
    flag("statistics_string", Text, ""),
    flag("writes", Int, "-1"),
    flag("finish_after_writes", Bool, "false"),
    flag("sync", Bool, "false"),
    option(Db("use_fsync")),
    flag("disable_wal", Bool, "false"),
    option(Db("manual_wal_flush")),
    flag("wal_compression", Text, "none"),
    option(Db("wal_dir")),
    flag("truth_db", Text, "/dev/shm/truth_db/dbbench"),
    option(Family("num_levels")),
    option(Family("target_file_size_base")),
    option(Family("target_file_size_multiplier")),
    option(Family("max_bytes_for_level_base")),
    option(Family("level_compaction_dynamic_level_bytes")).with_default("false"),
    option(Family("max_bytes_for_level_multiplier")),
    flag("max_bytes_for_level_multiplier_additional", Text, ""),
    option(Family("level0_stop_writes_trigger")),
    option(Family("level0_slowdown_writes_trigger")),
    option(Family("level0_file_num_compaction_trigger")),
    option(Family("periodic_compaction_seconds")),
    option(Family("ttl")).named("ttl_seconds"),
    flag("readwritepercent", Int, "90"),
    flag("mergereadpercent", Int, "70"),
    flag("deletepercent", Int, "2"),
    option(Family("optimize_filters_for_hits")),
    option(Db("paranoid_checks")),
    option(Family("force_consistency_checks")).rejected(),
    flag("delete_obsolete_files_period_micros", Int, "0"),
    flag("writes_before_delete_range", Int, "0"),
    flag("writes_per_range_tombstone", Int, "0"),
    flag("range_tombstone_width", Int, "100"),
    flag("max_num_range_tombstones", Int, "0"),
    flag("expand_range_tombstones", Bool, "false"),
    flag("optimistic_transaction_db", Bool, "false"),
    flag("transaction_db", Bool, "false"),
    flag("transaction_sets", Int, "2"),
    flag("transaction_set_snapshot", Bool, "false"),
    flag("transaction_sleep", Int, "0"),
    flag("transaction_lock_timeout", Int, "100"),
    flag("options_file", Text, ""),
    flag("fifo_compaction_max_table_files_size_mb", Int, "0"),
    flag("fifo_compaction_allow_compaction", Bool, "true"),
    flag("fifo_compaction_ttl", Int, "0"),
    flag("fifo_age_for_warm", Int, "0"),
    flag("fifo_compaction_max_data_files_size_mb", Int, "0"),
    flag("fifo_compaction_use_kv_ratio_compaction", Bool, "false"),
    rejected("use_blob_db", Bool, "false"),
    rejected("blob_db_enable_gc", Bool, "false"),
    rejected("blob_db_max_db_size", Int, "0"),
    rejected("blob_db_max_ttl_range", Int, "0"),
    rejected("blob_db_ttl_range_secs", Int, "3600"),
    rejected("blob_db_file_size", Int, "268435456"),
    option(Family("enable_blob_files")),
    option(Family("enable_blob_direct_write")),
    option(Family("blob_direct_write_partitions")),
    option(Family("min_blob_size")),
    option(Family("blob_file_size")),
    flag("blob_compression_type", Text, "none"),
    option(Family("enable_blob_garbage_collection")),
    option(Family("blob_garbage_collection_age_cutoff")),
    option(Family("blob_garbage_collection_force_threshold")),
    option(Family("blob_compaction_readahead_size")),
    option(Family("read_triggered_compaction_threshold")),
    option(Family("blob_file_starting_level")),
    flag("use_blob_cache", Bool, "false"),
    flag("use_shared_block_and_blob_cache", Bool, "true"),
    flag("blob_cache_size", Int, "8388608"),
    flag("blob_cache_numshardbits", Int, "6"),
    flag("prepopulate_blob_cache", Int, "0"),
    flag("embedded_blob_min_size", Int, "2048"),
    flag("num_wide_columns", Int, "4"),
    flag("num_short_wide_columns", Int, "1"),
    flag("use_secondary_db", Bool, "false"),
    flag("secondary_path", Text, ""),
    flag("secondary_update_interval", Int, "5"),
    flag("open_as_follower", Bool, "false"),
    flag("leader_path", Text, ""),
    option(Family("report_bg_io_stats")),
    flag("use_stderr_info_logger", Bool, "false"),
    flag("trace_file", Text, ""),
    flag("trace_replay_fast_forward", Double, "1"),
    flag("block_cache_trace_sampling_frequency", Int, "1"),
    flag("block_cache_trace_max_trace_file_size_in_bytes", Int, "68719476736"),
    flag("block_cache_trace_file", Text, ""),
    flag("trace_replay_threads", Int, "1"),
    rejected("io_uring_enabled", Bool, "true"),
    flag("adaptive_readahead", Bool, "false"),
    flag("rate_limit_user_ops", Bool, "false"),
    flag("file_checksum", Bool, "false"),
    flag("rate_limit_auto_wal_flush", Bool, "false"),
    flag("async_io", Bool, "false"),
    flag("optimize_multiget_for_io", Bool, "true"),
    flag("charge_compression_dictionary_building_buffer", Bool, "false"),
    flag("charge_filter_construction", Bool, "false"),
    flag("charge_table_reader", Bool, "false"),
    flag("charge_file_metadata", Bool, "false"),
    flag("charge_blob_cache", Bool, "false"),
    flag("backup_rate_limit", Int, "0"),
    flag("restore_rate_limit", Int, "0"),
    flag("backup_dir", Text, ""),
    flag("restore_dir", Text, ""),
    flag("ingest_external_file_batch_size", Int, "10"),
    flag("ingest_external_file_num_batches", Int, "1"),
    flag("ingest_external_file_file_opening_threads", Int, "1"),
    rejected("ingest_external_file_use_file_info", Bool, "false"),
    flag("ingest_external_file_fill_cache", Bool, "true"),
    flag("ingest_external_file_prefetch_lmax_index_and_filter_blocks", Bool, "true"),
    option(Table("initial_auto_readahead_size")),
    option(Table("max_auto_readahead_size")),
    option(Table("num_file_reads_for_auto_readahead")),
    flag("auto_readahead_size", Bool, "false"),
    option(Family("paranoid_memory_checks")),
    option(Family("memtable_verify_per_key_checksum_on_seek")),
    flag("auto_refresh_iterator_with_snapshot", Bool, "false"),
    flag("explicit_snapshot", Bool, "false"),
    option(Family("memtable_op_scan_flush_trigger")),
    option(Family("min_tombstones_for_range_conversion")),
    option(Table("verify_compression")),
    rejected("tolerate_io_errors_for_remote_dbs", Bool, "false"),
    flag("compression_type", Text, "snappy"),
    option(Family("sample_for_compression")),
    flag("compression_level", Int, "32767"),
    flag("compression_max_dict_bytes", Int, "0"),
    flag("compression_zstd_max_train_bytes", Int, "0"),
    flag("min_level_to_compress", Int, "-1"),
    flag("compression_parallel_threads", Int, "1"),
    flag("compression_max_dict_buffer_bytes", Int, "0"),
    flag("compression_use_zstd_dict_trainer", Bool, "true"),
    option(Db("table_cache_numshardbits")).with_default("4").rejected(),
    rejected("env_uri", Text, ""),
    rejected("fs_uri", Text, ""),
    rejected("simulate_hybrid_fs_file", Text, ""),
    rejected("simulate_hybrid_hdd_multipliers", Int, "1"),
    rejected("simulate_hdd", Bool, "false"),
    rejected("fault_injection_read_after_reads", Int, "0"),
    option(Family("preclude_last_level_data_seconds")),
    option(Family("preserve_internal_time_seconds")),
    flag("stats_interval", Int, "0"),
    flag("stats_interval_seconds", Int, "0"),
    flag("stats_per_interval", Int, "0"),
    flag("slow_usecs", Int, "1000000"),
    flag("report_interval_seconds", Int, "0"),
    flag("report_file", Text, "report.csv"),
    flag("thread_status_per_interval", Int, "0"),
    flag("perf_level", Int, "1"),
    option(Family("soft_pending_compaction_bytes_limit")),
    option(Family("hard_pending_compaction_bytes_limit")).with_default("137438953472"),
    option(Db("delayed_write_rate")).with_default("8388608"),
    option(Db("enable_pipelined_write")).with_default("true"),
    option(Db("unordered_write")),
    option(Db("allow_concurrent_memtable_write")),
    rejected("experimental_mempurge_threshold", Double, "0"),
    option(Family("inplace_update_support")),
    option(Family("inplace_update_num_locks")),
    option(Db("enable_write_thread_adaptive_yield")),
    option(Db("write_thread_max_yield_usec")),
    option(Db("write_thread_slow_yield_usec")),
    flag("rate_limiter_bytes_per_sec", Int, "0"),
    flag("rate_limiter_refill_period_us", Int, "100000"),
    flag("rate_limiter_auto_tuned", Bool, "false"),
    flag("rate_limiter_single_burst_bytes", Int, "0"),
    flag("sine_write_rate", Bool, "false"),
    flag("sine_write_rate_interval_milliseconds", Int, "10000"),
    flag("sine_a", Double, "1"),
    flag("sine_b", Double, "1"),
    flag("sine_c", Double, "0"),
    flag("sine_d", Double, "1"),
    flag("rate_limit_bg_reads", Bool, "false"),
    flag("benchmark_write_rate_limit", Int, "0"),
    flag("keyrange_dist_a", Double, "0"),
    flag("keyrange_dist_b", Double, "0"),
    flag("keyrange_dist_c", Double, "0"),
    flag("keyrange_dist_d", Double, "0"),
    flag("keyrange_num", Int, "1"),
    flag("key_dist_a", Double, "0"),
    flag("key_dist_b", Double, "0"),
    flag("value_theta", Double, "0"),
    flag("value_k", Double, "0.26150000000000001"),
    flag("value_sigma", Double, "25.449999999999999"),
    flag("iter_theta", Double, "0"),
    flag("iter_k", Double, "2.5169999999999999"),
    flag("iter_sigma", Double, "14.236000000000001"),
    flag("mix_get_ratio", Double, "1"),
    flag("mix_put_ratio", Double, "0"),
    flag("mix_seek_ratio", Double, "0"),
    flag("mix_max_scan_len", Int, "10000"),
    flag("mix_max_value_size", Int, "1024"),
    flag("sine_mix_rate_noise", Double, "0"),
    flag("sine_mix_rate", Bool, "false"),
    flag("sine_mix_rate_interval_milliseconds", Int, "10000"),
    // RocksDB defines this flag and never reads it: `reads` sets the number of accesses.
    flag("mix_accesses", Int, "-1"),
    flag("benchmark_read_rate_limit", Int, "0"),
    option(Family("max_compaction_bytes")),
    flag("readonly", Bool, "false"),
    rejected("print_malloc_stats", Bool, "false"),
    option(Family("disable_auto_compactions")),
    option(Db("open_files_async")),
    option(Db("skip_stats_update_on_db_open")),
    option(Db("WAL_ttl_seconds")).named("wal_ttl_seconds"),
    option(Db("WAL_size_limit_MB")).named("wal_size_limit_MB"),
    option(Db("max_total_wal_size")),
    option(Db("allow_mmap_reads")).named("mmap_read"),
    rejected("mmap_write", Bool, "false"),
    option(Db("use_direct_reads")),
    option(Db("use_direct_io_for_compaction_reads")),
    option(Db("use_direct_io_for_flush_and_compaction")),
    option(Db("advise_random_on_open")),
    flag("use_tailing_iterator", Bool, "false"),
    rejected("use_adaptive_mutex", Bool, "false"),
    option(Db("bytes_per_sync")),
    option(Db("wal_bytes_per_sync")),
    flag("use_single_deletes", Bool, "true"),
    flag("stddev", Double, "2000"),
    flag("key_id_range", Int, "100000"),
    flag("expire_style", Text, "none"),
    flag("time_range", Int, "100000"),
    flag("num_deletion_threads", Int, "1"),
    option(Family("max_successive_merges")),
    option(Family("strict_max_successive_merges")),
    flag("prefix_size", Int, "0"),
    flag("keys_per_prefix", Int, "0"),
    flag("total_order_seek", Bool, "false"),
    flag("prefix_same_as_start", Bool, "false"),
    flag("seek_missing_prefix", Bool, "false"),
    rejected("memtable_insert_with_hint_prefix_size", Int, "0"),
    flag("enable_io_prio", Bool, "false"),
    flag("enable_cpu_prio", Bool, "false"),
    flag("identity_as_first_hash", Bool, "false"),
    rejected("dump_malloc_stats", Bool, "true"),
    option(Db("stats_dump_period_sec")),
    option(Db("max_compaction_trigger_wakeup_seconds")),
    option(Db("stats_persist_period_sec")),
    option(Db("persist_stats_to_disk")),
    option(Db("stats_history_buffer_size")),
    option(Db("avoid_flush_during_recovery")),
    option(Db("avoid_flush_during_shutdown")),
    flag("multiread_stride", Int, "0"),
    flag("multiread_batched", Bool, "false"),
    rejected("coro_jobs_per_thread", Int, "1"),
    flag("memtablerep", Text, "skip_list"),
    flag("hash_bucket_count", Int, "1048576"),
    flag("use_plain_table", Bool, "false"),
    flag("use_cuckoo_table", Bool, "false"),
    flag("cuckoo_hash_ratio", Double, "0.90000000000000002"),
    flag("use_hash_search", Bool, "false"),
    rejected("index_block_search_type", Text, "binary_search"),
    flag("merge_operator", Text, ""),
    flag("skip_list_lookahead", Int, "0"),
    flag("report_file_operations", Bool, "false"),
    flag("report_open_timing", Bool, "false"),
    flag("readahead_size", Int, "0"),
    flag("read_with_latest_user_timestamp", Bool, "true"),
    rejected("cache_uri", Text, ""),
    rejected("secondary_cache_uri", Text, ""),
    rejected("disable_seek_compaction", Int, "0"),
    option(Db("allow_data_in_errors")),
    flag("write_batch_protection_bytes_per_key", Int, "0"),
    option(Family("memtable_protection_bytes_per_key")),
    option(Family("block_protection_bytes_per_key")),
    rejected("build_info", Bool, "false"),
    option(Db("track_and_verify_wals_in_manifest")),
    option(Db("track_and_verify_wals")),
    rejected("async_wal_precreate", Bool, "false"),
    flag("same_value_percentage", Int, "0"),
    flag("universal_reduce_file_locking", Bool, "true"),
    rejected("multiscan_coalesce_threshold", Int, "16384"),
    rejected("multiscan_use_async_io", Bool, "false"),
    rejected("io_dispatcher_max_prefetch_memory_bytes", Int, "0"),
    rejected("multiscan_max_prefetch_size", Int, "0"),
    rejected("use_multiscan", Bool, "true"),
    rejected("openandcompact_allow_resumption", Bool, "false"),
    rejected("openandcompact_test_cancel_on_odd", Bool, "false"),
    rejected("openandcompact_cancel_after_millseconds", Int, "1"),
    rejected("fatal_shutdown_watchdog_seconds", Int, "180"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_that_sets_an_option_has_its_row() {
        let set = FLAGS.iter().filter_map(|flag| flag.option);
        assert_eq!(set.clone().count(), 120);
        for target in set {
            assert!(target.facts().is_some(), "{target:?} has no row");
        }
    }

    #[test]
    fn type_default_and_help_come_from_the_row() {
        let find = |name: &str| FLAGS.iter().find(|flag| flag.name == name).unwrap();
        let facts = |name| (find(name).kind(), find(name).default());
        assert_eq!(facts("open_files"), (Int, "-1".to_string()));
        assert_eq!(facts("paranoid_checks"), (Bool, "true".to_string()));
        assert_eq!(facts("blob_garbage_collection_age_cutoff"), (Double, "0.25".to_string()));
        assert_eq!(facts("wal_dir"), (Text, String::new()));
        assert_eq!(facts("delayed_write_rate"), (Int, "8388608".to_string()));
        assert!(find("write_buffer_size").help().ends_with("(bytes, range 65536 to 8589934592)"));
        assert_eq!(find("num").help(), "");
    }
}
