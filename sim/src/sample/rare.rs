//! Options that few applications set. Each has its own probability. No option may change a result.
//!
//! An open of [`crate::random`] takes them on top of a drawn [`super::Sample`]. Options that are accepted without effect
//! are drawn too: a name that would not parse, or would not come back from the OPTIONS file, fails the open.

//!
//! These options are not drawn, each for a reason:
//!
//! | option | reason |
//! |---|---|
//! | `use_udi_as_primary_index`, `user_defined_index_factory` | any other value is refused; [`crate::calls`] checks the refusals |
//! | `use_direct_io_for_compaction_reads`, `use_direct_io_for_flush_and_compaction` | the system can refuse direct I/O in a directory in memory; [`direct_io`] draws them for a disk in memory |
//! | `statistics` | an object without a text; [`statistics`] draws it |
//! | `wal_filter`, `compaction_filter_factory` | objects without a text; worlds of [`crate::calls`] have them |
//! | `allow_ingest_behind`, `cf_allow_ingest_behind`, `disallow_memtable_writes` | change what a database holds; a world of [`crate::calls`] has them |
//! | `persist_user_defined_timestamps` | belongs to the whole life of a database: [`super::Timestamps`] |
//! | `compat` | lowers formats; a world of [`crate::calls`] writes them, and the tests of `releases` open such databases with the named release |
//! | `write_buffer_manager` | an object without a text; [`write_buffer_manager`] draws it |
//! | `memory_budget_bytes` | [`memory_budget`] draws the same limit as an object; a world of [`crate::calls`] has the text |
//! | `huge_page_tlb_size`, `user_key_len`, `full_scan_mode` | options of plain tables without a text, or that refuse keys or seeks; a world of [`crate::calls`] has them |

use std::sync::Arc;

use base::stats::StatsLevel;
use ironstone::{
    BlockCache, CacheOptions, FamilyOptions, Ledger, MemoryBudget, Statistics, WriteBufferManager,
};
use testkit::chance::Chance;

use super::{Fixed, Row, Timestamps, rows};

/// How many opens of a hundred draw rare options.
const OPENS_PERCENT: u64 = 30;

/// How many of a hundred rows such an open draws.
const ROWS_PERCENT: u64 = 12;

const DB: &[Row] = &[
    ("WAL_size_limit_MB", &["1"]),
    ("advise_random_on_open", &["false"]),
    ("allow_2pc", &["true"]),
    ("allow_data_in_errors", &["true"]),
    ("allow_mmap_writes", &["true"]),
    ("async_wal_precreate", &["true"]),
    ("avoid_unnecessary_blocking_io", &["true"]),
    ("background_close_inactive_wals", &["true"]),
    ("bgerror_resume_retry_interval", &["1000"]),
    ("daily_offpeak_time_utc", &["00:00-23:59", "10:00-11:00"]),
    ("db_host_id", &["", "a host", "__hostname__"]),
    ("delete_obsolete_files_period_micros", &["1000"]),
    ("dump_malloc_stats", &["true"]),
    ("enable_thread_tracking", &["true"]),
    ("enable_write_thread_adaptive_yield", &["false"]),
    ("enforce_write_buffer_manager_during_recovery", &["false"]),
    ("fast_sst_open", &["true"]),
    ("follower_catchup_retry_count", &["3"]),
    ("follower_catchup_retry_wait_ms", &["7"]),
    ("follower_refresh_catchup_period_ms", &["9"]),
    ("is_fd_close_on_exec", &["false"]),
    ("log_file_time_to_roll", &["1"]),
    ("log_readahead_size", &["4096"]),
    ("lowest_used_cache_tier", &["kVolatileTier"]),
    ("manifest_preallocation_size", &["1000"]),
    ("max_background_compactions", &["2"]),
    ("max_background_flushes", &["2"]),
    ("max_compaction_trigger_wakeup_seconds", &["60"]),
    ("metadata_write_temperature", &["kWarm"]),
    ("open_files_async", &["true"]),
    ("optimize_manifest_for_recovery", &["true"]),
    ("read_io_executor_threads", &["3"]),
    ("stats_history_buffer_size", &["1000"]),
    ("stats_persist_period_sec", &["1"]),
    ("table_cache_numshardbits", &["0", "10"]),
    ("use_adaptive_mutex", &["true"]),
    ("wal_write_temperature", &["kCold"]),
    ("write_thread_max_yield_usec", &["0"]),
    ("write_thread_slow_yield_usec", &["0"]),
];

const FAMILY: &[Row] = &[
    ("blob_direct_write_partitions", &["2"]),
    ("compression_manager", &["BuiltinV2"]),
    (
        "table_properties_collectors",
        &[
            "{id=CompactOnDeletionCollector;window_size=10;deletion_trigger=5}",
            "{id=CompactOnDeletionCollector;window_size=0;deletion_trigger=0;deletion_ratio=0.3}",
            "{id=CompactOnDeletionCollector;window_size=10;deletion_trigger=5;deletion_ratio=2;min_file_size=900}",
            "{id=CompactForTieringCollector;compaction_trigger_ratio=0.5}",
        ],
    ),
    ("block_protection_bytes_per_key", &["1", "8"]),
    ("bottommost_compression_opts", &["{level=1;enabled=true}"]),
    ("bottommost_file_compaction_delay", &["10"]),
    ("compaction_options_fifo", &["{max_table_files_size=100000000}"]),
    ("default_temperature", &["kWarm"]),
    ("default_write_temperature", &["kHot"]),
    ("enforce_single_del_contracts", &["false"]),
    ("experimental_mempurge_threshold", &["1"]),
    ("hard_pending_compaction_bytes_limit", &["0"]),
    ("inplace_update_num_locks", &["10"]),
    ("last_level_temperature", &["kCold"]),
    ("max_write_buffer_size_to_maintain", &["100000"]),
    ("memtable_avg_op_scan_flush_trigger", &["10"]),
    ("memtable_batch_lookup_optimization", &["true"]),
    ("memtable_huge_page_size", &["2097152"]),
    ("memtable_insert_with_hint_prefix_extractor", &["rocksdb.FixedPrefix.2"]),
    ("memtable_op_scan_flush_trigger", &["5"]),
    ("memtable_verify_per_key_checksum_on_seek", &["true"]),
    ("min_tombstones_for_range_conversion", &["2"]),
    ("paranoid_memory_checks", &["true"]),
    ("preclude_last_level_data_seconds", &["10", "1000"]),
    ("prepopulate_blob_cache", &["kFlushOnly"]),
    ("preserve_internal_time_seconds", &["10", "1000"]),
    ("blob_compression_opts", &["{level=1}"]),
    ("read_triggered_compaction_threshold", &["0.5"]),
    ("report_bg_io_stats", &["true"]),
    ("soft_pending_compaction_bytes_limit", &["0"]),
    ("sst_partitioner_factory", &["{id=SstPartitionerFixedPrefixFactory;length=1}"]),
    ("strict_max_successive_merges", &["true"]),
    ("max_successive_merges", &["2"]),
    ("uncache_aggressiveness", &["100"]),
];

const TABLE: &[Row] = &[
    ("flush_block_policy_factory", &["FlushBlockBySizePolicyFactory"]),
    ("block_size_deviation", &["30", "101"]),
    // No sample fills such a cache.
    ("block_cache", &["{capacity=64M;strict_capacity_limit=true}"]),
    ("cache_index_and_filter_blocks_with_high_priority", &["false"]),
    ("decouple_partitioned_filters", &["false"]),
    ("detect_filter_construct_corruption", &["true"]),
    ("fail_if_no_udi_on_open", &["true"]),
    ("index_block_search_type", &["kBinary"]),
    ("initial_auto_readahead_size", &["1000"]),
    ("num_file_reads_for_auto_readahead", &["0"]),
    ("read_amp_bytes_per_bit", &["8"]),
    ("super_block_alignment_size", &["4096"]),
    ("super_block_alignment_space_overhead_ratio", &["8"]),
    ("uniform_cv_threshold", &["0.2"]),
];

/// Returns option text for an open that a seed draws; most often the empty text. `plain`: the database has plain tables.
pub fn draw(seed: u64, plain: bool) -> String {
    let chance = &mut Chance::new(seed ^ 0x7261_7265);
    if !chance.percent(OPENS_PERCENT) {
        return String::new();
    }
    let mut text = some(DB, chance) + &some(FAMILY, chance);
    let table = some(TABLE, chance);
    if !plain && !table.is_empty() {
        text.push_str(&format!("block_based_table_factory={{{table}}};"));
    }
    // An asynchronous open needs the other option.
    if text.contains("open_files_async") {
        text.push_str("skip_stats_update_on_db_open=true;");
    }
    text
}

/// Options that check entries and blocks, or that only change how they are found. No world counts what they change.
const CHECKS: &[Row] = &[
    ("memtable_protection_bytes_per_key", &["1", "2", "4", "8"]),
    ("paranoid_memory_checks", &["true"]),
    ("memtable_verify_per_key_checksum_on_seek", &["true"]),
    ("memtable_batch_lookup_optimization", &["true"]),
    ("memtable_insert_with_hint_prefix_extractor", &["rocksdb.FixedPrefix.2"]),
    ("block_protection_bytes_per_key", &["1", "8"]),
    ("uncache_aggressiveness", &["100"]),
    ("enable_thread_tracking", &["true"]),
    ("log_readahead_size", &["4096"]),
    ("report_bg_io_stats", &["true"]),
];

/// Returns option text for checks of entries and blocks, for one open of three.
pub fn checks(seed: u64) -> String {
    let chance = &mut Chance::new(seed ^ 0x6368_6563);
    let mut text = String::new();
    if chance.percent(35) {
        for (name, values) in CHECKS {
            if chance.percent(40) {
                text.push_str(&format!("{name}={};", chance.pick(values)));
            }
        }
    }
    text
}

/// Returns option text for options that are valid only with some values of other options. `sampled`: the text of the other options.
pub fn dependent(seed: u64, plain: bool, sampled: &str) -> String {
    let chance = &mut Chance::new(seed ^ 0x6a6f_696e);
    let mut text = String::new();
    // With pipelined writes, this option refuses writes.
    if chance.percent(15) && !sampled.contains("enable_pipelined_write=true") {
        text.push_str("two_write_queues=true;");
    }
    // Aligned blocks are not compressed, and their size is a power of two.
    if chance.percent(10) && !plain && !sampled.contains("super_block_alignment_size") {
        text.push_str("compression=kNoCompression;bottommost_compression=kNoCompression;");
        text.push_str("block_based_table_factory={block_align=true;block_size=256};");
    }
    text
}

/// Returns option text for opens whose files bypass the page cache; most often the empty text. Only for disks that accept direct I/O.
pub fn direct_io(seed: u64) -> &'static str {
    let chance = &mut Chance::new(seed ^ 0x6361_6368);
    match chance.below(20) {
        0 => "allow_mmap_reads=false;use_direct_io_for_compaction_reads=true;",
        1 => "allow_mmap_writes=false;use_direct_io_for_flush_and_compaction=true;",
        2 => {
            "allow_mmap_reads=false;allow_mmap_writes=false;use_direct_reads=true;\
             use_direct_io_for_compaction_reads=true;use_direct_io_for_flush_and_compaction=true;"
        }
        _ => "",
    }
}

/// How many opens of a hundred put values into blob files before the WAL.
const DIRECT_PERCENT: u64 = 20;

const DIRECT: &[Row] = &[
    ("min_blob_size", &["1", "10", "40"]),
    ("blob_file_size", &["", "1000", "3000"]),
    ("blob_direct_write_partitions", &["1", "1", "3"]),
    ("blob_compression_type", &["", "kLZ4Compression", "kZSTD"]),
    ("prepopulate_blob_cache", &["", "kFlushOnly"]),
];

/// Returns option text after all other options, for opens that put values into blob files before the WAL. Most often the empty
/// text. Keys with timestamps, and plain tables, have no such values.
pub fn direct_writes(seed: u64, fixed: Fixed) -> String {
    let chance = &mut Chance::new(seed ^ 0x6469_7265);
    if fixed.plain || fixed.timestamps != Timestamps::None || !chance.percent(DIRECT_PERCENT) {
        return String::new();
    }
    // RocksDB refuses `enable_blob_direct_write` with other values of these options.
    let mut text =
        "allow_concurrent_memtable_write=false;enable_pipelined_write=false;unordered_write=false;\
                    two_write_queues=false;experimental_mempurge_threshold=0;\
                    enable_blob_files=true;enable_blob_direct_write=true;"
            .to_string();
    rows(&mut text, DIRECT, chance);
    text
}

/// Returns the statistics of an open that a seed draws, with a drawn level. `None` for two opens of three.
pub fn statistics(seed: u64) -> Option<Arc<Statistics>> {
    let chance = &mut Chance::new(seed ^ 0x7374_6174);
    let level =
        *chance.pick(&[StatsLevel::ExceptHistogramOrTimers, StatsLevel::ExceptTimers, StatsLevel::All]);
    chance.percent(33).then(|| {
        let statistics = Statistics::new();
        statistics.set_level(level);
        Arc::new(statistics)
    })
}

/// Returns the row cache of an open that a seed draws: small, so that rows are evicted. `None` for three opens of four.
pub fn row_cache(seed: u64) -> Option<Arc<BlockCache>> {
    let chance = &mut Chance::new(seed ^ 0x726f_7773);
    let is_drawn = chance.percent(25);
    let lru = CacheOptions::lru(8 << 10);
    let mut options =
        *chance.pick(&[lru, CacheOptions::hyper_clock(8 << 10), CacheOptions::hyper_clock(200 << 10)]);
    options.num_shard_bits = *chance.pick(&[-1, 0, 2]);
    is_drawn.then(|| BlockCache::new(options).ok()).flatten()
}

/// Returns the memory budget of an open that a seed draws: so small that most iterators park. `None` for three opens of four.
pub fn memory_budget(seed: u64) -> Option<Arc<MemoryBudget>> {
    let chance = &mut Chance::new(seed ^ 0x6275_6467);
    let bytes = chance.pick(&[1, 16 << 10, 1 << 20]);
    let cache = chance.percent(25).then(|| BlockCache::new(CacheOptions::lru(8 << 10)).ok()).flatten()?;
    Some(MemoryBudget::new(*bytes, cache))
}

/// Returns the write buffer manager of an open that a seed draws. Its limit is a few memtables, and it may stop writes until a
/// flush ends. `None` for five opens of six, and for memtables whose filters alone can exceed the limit: such writes wait for ever.
pub fn write_buffer_manager(seed: u64, family: &FamilyOptions) -> Option<Arc<WriteBufferManager>> {
    let chance = &mut Chance::new(seed ^ 0x7762_6d67);
    if chance.below(6) > 0 || family.memtable_prefix_bloom_size_ratio > 0.0 {
        return None;
    }
    let limit = *chance.pick(&[100_000, 200_000, 1_000_000]);
    let cache = chance.percent(30).then(|| BlockCache::new(CacheOptions::lru(8 << 10)).ok()).flatten();
    let ledger = cache.map(|cache| -> Arc<dyn Ledger> { cache });
    Some(Arc::new(WriteBufferManager::new(limit, ledger, chance.percent(70))))
}

fn some(rows: &[Row], chance: &mut Chance) -> String {
    let mut text = String::new();
    for (name, values) in rows {
        if chance.percent(ROWS_PERCENT) {
            text.push_str(&format!("{name}={};", chance.pick(values)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rare_value_is_an_option_text() {
        let check = |text: &str| {
            let mut options = ironstone::Options::default();
            options.update(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        };
        for (name, values) in DB.iter().chain(FAMILY) {
            values.iter().for_each(|value| check(&format!("{name}={value}")));
        }
        for (name, values) in TABLE {
            values.iter().for_each(|value| check(&format!("block_based_table_factory={{{name}={value}}}")));
        }
    }
}
