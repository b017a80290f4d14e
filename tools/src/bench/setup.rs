//! The options of the database, from the flags, as RocksDB's db_bench sets them.
//!
//! Most flags set an option of equal name. The tables below name the struct of each option, and list the flags whose
//! option has another name. The remaining flags need code of their own, after the tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::stats::{Statistics, StatsLevel};
use base::{Error, Result};
use compress::{Compression, CompressionOptions, Compressor};
use env::Env;
use env::logger::{LogLevel, StderrLogger};
use ironstone::{
    BlockCache, Charged, CompactionFilter, CuckooTableOptions, Decision, FilterInput, Ledger, Options,
    PlainTableOptions, ReadConfig, TableFactory, WriteBufferManager,
};
use mem::cache::{CacheOptions, Kind};

use super::flags::Flags;

/// Database options that have the name of their flag.
const DB: &[&str] = &[
    "wal_dir",
    "stats_dump_period_sec",
    "avoid_flush_during_recovery",
    "avoid_flush_during_shutdown",
    "max_manifest_file_size",
    "max_background_jobs",
    "max_background_compactions",
    "max_background_flushes",
    "use_direct_reads",
    "use_direct_io_for_flush_and_compaction",
    "manual_wal_flush",
    "compaction_readahead_size",
    "writable_file_max_buffer_size",
    "use_fsync",
    "max_total_wal_size",
    "delayed_write_rate",
    "allow_concurrent_memtable_write",
    "enable_pipelined_write",
    "unordered_write",
    "enable_write_thread_adaptive_yield",
    "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
    "table_cache_numshardbits",
    "skip_stats_update_on_db_open",
    "paranoid_checks",
    "advise_random_on_open",
    "bytes_per_sync",
    "wal_bytes_per_sync",
    "track_and_verify_wals_in_manifest",
    "track_and_verify_wals",
    "db_write_buffer_size",
    "stats_persist_period_sec",
    "persist_stats_to_disk",
    "stats_history_buffer_size",
    "max_manifest_space_amp_pct",
    "verify_manifest_content_on_close",
    "max_compaction_trigger_wakeup_seconds",
    "use_direct_io_for_compaction_reads",
    "open_files_async",
    "allow_data_in_errors",
];

/// Database options with another name: flag, option.
const DB_RENAMED: &[(&str, &str)] = &[
    ("open_files", "max_open_files"),
    ("file_opening_threads", "max_file_opening_threads"),
    ("subcompactions", "max_subcompactions"),
    ("wal_ttl_seconds", "WAL_ttl_seconds"),
    ("wal_size_limit_MB", "WAL_size_limit_MB"),
    ("mmap_read", "allow_mmap_reads"),
];

/// Column family options that have the name of their flag.
const FAMILY: &[&str] = &[
    "arena_block_size",
    "write_buffer_size",
    "max_write_buffer_number",
    "min_write_buffer_number_to_merge",
    "num_levels",
    "target_file_size_base",
    "target_file_size_multiplier",
    "max_bytes_for_level_base",
    "level_compaction_dynamic_level_bytes",
    "max_bytes_for_level_multiplier",
    "memtable_whole_key_filtering",
    "level0_stop_writes_trigger",
    "level0_slowdown_writes_trigger",
    "level0_file_num_compaction_trigger",
    "soft_pending_compaction_bytes_limit",
    "hard_pending_compaction_bytes_limit",
    "max_compaction_bytes",
    "disable_auto_compactions",
    "optimize_filters_for_hits",
    "force_consistency_checks",
    "periodic_compaction_seconds",
    "preclude_last_level_data_seconds",
    "preserve_internal_time_seconds",
    "max_successive_merges",
    "strict_max_successive_merges",
    "memtable_protection_bytes_per_key",
    "inplace_update_support",
    "inplace_update_num_locks",
    "max_write_buffer_size_to_maintain",
    "read_triggered_compaction_threshold",
    "paranoid_memory_checks",
    "memtable_verify_per_key_checksum_on_seek",
    "min_tombstones_for_range_conversion",
    "block_protection_bytes_per_key",
    "bloom_locality",
    "memtable_op_scan_flush_trigger",
    "sample_for_compression",
    "enable_blob_files",
    "min_blob_size",
    "blob_file_size",
    "enable_blob_garbage_collection",
    "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold",
    "blob_compaction_readahead_size",
    "blob_file_starting_level",
];

const FAMILY_RENAMED: &[(&str, &str)] =
    &[("ttl_seconds", "ttl"), ("memtable_bloom_size_ratio", "memtable_prefix_bloom_size_ratio")];

/// Options of block-based tables that have the name of their flag.
const TABLE: &[&str] = &[
    "decouple_partitioned_filters",
    "metadata_block_size",
    "optimize_filters_for_memory",
    "cache_index_and_filter_blocks",
    "pin_l0_filter_and_index_blocks_in_cache",
    "pin_top_level_index_and_filter",
    "block_size",
    "block_restart_interval",
    "index_block_restart_interval",
    "format_version",
    "enable_index_compression",
    "block_align",
    "super_block_alignment_size",
    "super_block_alignment_space_overhead_ratio",
    "separate_key_value_in_data_block",
    "whole_key_filtering",
    "max_auto_readahead_size",
    "initial_auto_readahead_size",
    "num_file_reads_for_auto_readahead",
    "data_block_hash_table_util_ratio",
    "uniform_cv_threshold",
    "verify_compression",
];

/// Returns the options that the flags ask for.
///
/// # Errors
/// InvalidArgument for an unknown value. NotSupported for a feature that is not built.
pub fn options(flags: &Flags, cache: Option<Arc<BlockCache>>) -> Result<Options> {
    let mut options = Options::default();
    match flags.text("options_file") {
        "" => from_flags(flags, &mut options, cache.as_ref())?,
        path => from_file(Path::new(path), &mut options)?,
    }
    if flags.bool("use_keep_filter") && options.family.compaction_filter.is_none() {
        options.family.compaction_filter = Some(Arc::new(KeepFilter));
        println!("A noop compaction filter is used");
    }
    options.db.create_if_missing = !flags.bool("use_existing_db");
    options.db.create_missing_column_families = flags.int("num_column_families") > 1;
    options.block_cache = cache;
    if let Some(table) = options.family.table_factory.block_based_mut()
        && flags.text("options_file").is_empty()
    {
        table.no_block_cache = flags.int("cache_size") == 0;
    }
    options.db.row_cache = row_cache(flags)?;
    options.db.statistics = statistics(flags, &options.db)?;
    let rate = flags.int("rate_limiter_bytes_per_sec");
    if rate > 0 {
        options.db.rate_limiter = Some(super::open::rate_limiter(flags, rate, options.db.env.clock.clone())?);
    }
    Ok(options)
}

/// Takes the options of the database and of its default column family from an OPTIONS file.
fn from_file(path: &Path, options: &mut Options) -> Result<()> {
    let env = options.db.env.clone();
    let config = ReadConfig { ignore_unsupported_options: false, ..ReadConfig::default() };
    let file = engine::options::file::load(&env, path, &config)?;
    if let Some(missing) = file.missing.first() {
        return Err(Error::not_supported(format!(
            "--options_file: option {} names the object {}, which db_bench does not have",
            missing.option, missing.object
        )));
    }
    options.db = file.db;
    if let Some((_, family)) = file.families.into_iter().next() {
        options.family = family;
    }
    Ok(())
}

/// A compaction filter that keeps each entry.
struct KeepFilter;

impl CompactionFilter for KeepFilter {
    fn name(&self) -> &str {
        "KeepFilter"
    }

    fn filter(&self, _input: &FilterInput<'_>) -> Decision {
        Decision::Keep
    }
}

fn from_flags(flags: &Flags, options: &mut Options, cache: Option<&Arc<BlockCache>>) -> Result<()> {
    let db = &mut options.db;
    for name in DB {
        db.set(name, &flags.printed(name))?;
    }
    for (flag, option) in DB_RENAMED {
        db.set(option, &flags.printed(flag))?;
    }
    db.set("wal_compression", compression(flags, "wal_compression")?.option_name())?;
    let period = flags.count("delete_obsolete_files_period_micros");
    if period > 0 {
        db.set("delete_obsolete_files_period_micros", &period.to_string())?;
    }
    if flags.bool("cost_write_buffer_to_cache") {
        let ledger = cache.map(|cache| cache.clone() as Arc<dyn Ledger>);
        let manager = WriteBufferManager::new(flags.count("db_write_buffer_size") as usize, ledger, false);
        db.write_buffer_manager = Some(Arc::new(manager));
    }
    if flags.bool("open_files_async") && !flags.bool("skip_stats_update_on_db_open") {
        eprintln!("open_files_async requires skip_stats_update_on_db_open, enabling it automatically");
        db.set("skip_stats_update_on_db_open", "true")?;
    }
    if flags.bool("use_stderr_info_logger") {
        db.info_log = Some(Arc::new(StderrLogger::new(LogLevel::Info, "", db.env.clock.clone())));
    }
    if flags.bool("file_checksum") {
        db.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory")?;
    }
    let family = &mut options.family;
    for name in FAMILY {
        family.set(name, &flags.printed(name))?;
    }
    for (flag, option) in FAMILY_RENAMED {
        family.set(option, &flags.printed(flag))?;
    }
    memtable(flags, family)?;
    if flags.bool("memtable_use_huge_page") {
        family.set("memtable_huge_page_size", "2048")?;
    }
    family.set(
        "compaction_style",
        by_number(
            flags,
            "compaction_style",
            &[
                "kCompactionStyleLevel",
                "kCompactionStyleUniversal",
                "kCompactionStyleFIFO",
                "kCompactionStyleNone",
            ],
        )?,
    )?;
    family.set(
        "compaction_pri",
        by_number(
            flags,
            "compaction_pri",
            &[
                "kByCompensatedSize",
                "kOldestLargestSeqFirst",
                "kOldestSmallestSeqFirst",
                "kMinOverlappingRatio",
                "kRoundRobin",
            ],
        )?,
    )?;
    if flags.int("fifo_compaction_ttl") > 0 {
        family.set("ttl", &flags.printed("fifo_compaction_ttl"))?;
    }
    family.set(
        "compaction_options_fifo",
        &format!(
            "{{max_table_files_size={};allow_compaction={};age_for_warm={};max_data_files_size={};\
             use_kv_ratio_compaction={}}}",
            flags.count("fifo_compaction_max_table_files_size_mb") << 20,
            flags.bool("fifo_compaction_allow_compaction"),
            flags.count("fifo_age_for_warm"),
            flags.count("fifo_compaction_max_data_files_size_mb") << 20,
            flags.bool("fifo_compaction_use_kv_ratio_compaction"),
        ),
    )?;
    universal(flags, family)?;
    let kind = compression(flags, "compression_type")?;
    family.set("compression", kind.option_name())?;
    let from_level = flags.int("min_level_to_compress");
    if from_level >= 0 {
        let levels: Vec<&str> = (0..flags.int("num_levels"))
            .map(
                |level| if level < from_level { Compression::None.option_name() } else { kind.option_name() },
            )
            .collect();
        family.set("compression_per_level", &levels.join(":"))?;
    }
    family.set("compression_opts", &format!(
        "{{level={};max_dict_bytes={};zstd_max_train_bytes={};parallel_threads={};max_dict_buffer_bytes={};\
         use_zstd_dict_trainer={}}}",
        flags.int("compression_level"),
        flags.int("compression_max_dict_bytes"),
        flags.int("compression_zstd_max_train_bytes"),
        flags.int("compression_parallel_threads"),
        flags.count("compression_max_dict_buffer_bytes"),
        flags.bool("compression_use_zstd_dict_trainer")
    ))?;
    if flags.int("prefix_size") > 0 {
        family.set("prefix_extractor", &format!("rocksdb.FixedPrefix.{}", flags.int("prefix_size")))?;
    }
    if flags.bool("use_uint64_comparator") {
        if flags.int("key_size") != 8 {
            return Err(Error::invalid_argument("Using Uint64 comparator but key size is not 8."));
        }
        family.set("comparator", "rocksdb.Uint64Comparator")?;
    }
    match flags.int("user_timestamp_size") {
        0 => {}
        8 => family.set("comparator", "leveldb.BytewiseComparator.u64ts")?,
        _ => return Err(Error::invalid_argument("Only 64 bits timestamps are supported.")),
    }
    blobs(flags, family)?;
    if !flags.text("merge_operator").is_empty() {
        family.set("merge_operator", flags.text("merge_operator"))?;
    }
    if !flags.text("max_bytes_for_level_multiplier_additional").is_empty() {
        let list = flags.text("max_bytes_for_level_multiplier_additional").replace(',', ":");
        family.set("max_bytes_for_level_multiplier_additional", &list)?;
    }
    table(flags, family)
}

/// Sets the memtable of `--memtablerep`. The names are those of RocksDB's `CreateMemTableRepFactory`. Each has a flag
/// for its size.
fn memtable(flags: &Flags, family: &mut ironstone::FamilyOptions) -> Result<()> {
    let name = flags.text("memtablerep").to_ascii_lowercase();
    let size = match name.as_str() {
        "skip_list" => flags.count("skip_list_lookahead"),
        "prefix_hash" | "hash_linkedlist" => flags.count("hash_bucket_count"),
        _ => return family.set("memtable_factory", flags.text("memtablerep")),
    };
    if name != "skip_list" && flags.int("prefix_size") == 0 {
        return Err(Error::invalid_argument(
            "prefix_size should be non-zero if PrefixHash or HashLinkedList memtablerep is used",
        ));
    }
    family.set("memtable_factory", &format!("{name}:{size}"))
}

/// Returns the table factory of `--use_plain_table` or `--use_cuckoo_table`.
fn other_table(flags: &Flags) -> Result<Option<TableFactory>> {
    if flags.bool("use_plain_table") {
        let bits = match flags.int("bloom_bits") {
            bits if bits < 0 => PlainTableOptions::default().bloom_bits_per_key,
            bits => i32::try_from(bits).unwrap_or(i32::MAX),
        };
        let user_key_len = u32::try_from(flags.count("key_size")).unwrap_or(u32::MAX);
        let table =
            PlainTableOptions { user_key_len, bloom_bits_per_key: bits, ..PlainTableOptions::default() };
        return Ok(Some(TableFactory::Plain(table)));
    }
    if flags.bool("use_cuckoo_table") {
        let ratio = flags.double("cuckoo_hash_ratio");
        if !(0.0..=1.0).contains(&ratio) {
            return Err(Error::invalid_argument("Invalid cuckoo_hash_ratio"));
        }
        return Ok(Some(TableFactory::Cuckoo(CuckooTableOptions {
            hash_table_ratio: ratio,
            identity_as_first_hash: flags.bool("identity_as_first_hash"),
            ..CuckooTableOptions::default()
        })));
    }
    Ok(None)
}

fn blobs(flags: &Flags, family: &mut ironstone::FamilyOptions) -> Result<()> {
    family.set("blob_compression_type", compression(flags, "blob_compression_type")?.option_name())?;
    if flags.bool("use_blob_cache") {
        family.set(
            "prepopulate_blob_cache",
            by_number(flags, "prepopulate_blob_cache", &["kDisable", "kFlushOnly"])?,
        )?;
    }
    Ok(())
}

/// Prints the lines that RocksDB prints at each open: the source of the options, and the use of a blob cache.
pub fn announce(flags: &Flags) {
    println!("Initializing RocksDB Options from the specified file");
    if !flags.text("options_file").is_empty() {
        return;
    }
    println!("Initializing RocksDB Options from command-line flags");
    if flags.bool("use_plain_table") || flags.bool("use_cuckoo_table") {
        return;
    }
    if !flags.bool("use_blob_cache") {
        println!("Integrated BlobDB: blob cache disabled");
        return;
    }
    let shared = flags.bool("use_shared_block_and_blob_cache");
    let own = if shared {
        String::new()
    } else {
        format!(
            ", blob cache size {}, blob cache num shard bits: {}",
            flags.count("blob_cache_size"),
            flags.int("blob_cache_numshardbits")
        )
    };
    println!(
        "Integrated BlobDB: blob cache enabled, block and blob caches shared: {}{own}, blob cache prepopulated: {}",
        u8::from(shared),
        flags.int("prepopulate_blob_cache")
    );
}

/// Returns the directory that holds the databases of the benchmarks by default: `$TEST_TMPDIR`, or
/// `/tmp/rocksdbtest-<effective user id>`. Creates the directory if it is missing.
///
/// # Errors
/// IoError if the directory cannot be created.
pub fn test_directory() -> Result<PathBuf> {
    let path = match std::env::var_os("TEST_TMPDIR") {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => PathBuf::from(format!("/tmp/rocksdbtest-{}", rustix::process::geteuid().as_raw())),
    };
    Env::default().fs.create_dir_all(&path)?;
    Ok(path)
}

/// Returns the row cache of `--row_cache_size` bytes; `None` for 0.
///
/// # Errors
/// InvalidArgument if the number of shards is out of range.
fn row_cache(flags: &Flags) -> Result<Option<Arc<BlockCache>>> {
    let size = flags.count("row_cache_size") as usize;
    if size == 0 {
        return Ok(None);
    }
    let mut settings = CacheOptions::lru(size);
    if flags.int("cache_numshardbits") >= 1 {
        settings.num_shard_bits = flags.int("cache_numshardbits") as i32;
    }
    BlockCache::new(settings).map(Some)
}

/// Returns the cache for values of blob files that the flags ask for. `cache` is the block cache.
///
/// # Errors
/// InvalidArgument if a separate cache has a size that is not above 0.
pub fn blob_cache(flags: &Flags, cache: Option<&Arc<BlockCache>>) -> Result<Option<Arc<BlockCache>>> {
    if !flags.bool("use_blob_cache") {
        return Ok(None);
    }
    if flags.bool("use_shared_block_and_blob_cache") {
        return Ok(cache.cloned());
    }
    if flags.int("blob_cache_size") <= 0 {
        return Err(Error::invalid_argument(
            "Unable to create a standalone blob cache if blob_cache_size <= 0.",
        ));
    }
    let mut settings = CacheOptions::lru(flags.count("blob_cache_size") as usize);
    settings.num_shard_bits = flags.int("blob_cache_numshardbits") as i32;
    BlockCache::new(settings).map(Some)
}

fn universal(flags: &Flags, family: &mut ironstone::FamilyOptions) -> Result<()> {
    let mut text = String::from("{");
    for (flag, option) in [
        ("universal_size_ratio", "size_ratio"),
        ("universal_min_merge_width", "min_merge_width"),
        ("universal_max_merge_width", "max_merge_width"),
        ("universal_max_size_amplification_percent", "max_size_amplification_percent"),
    ] {
        if flags.int(flag) != 0 {
            text.push_str(&format!("{option}={};", flags.int(flag)));
        }
    }
    if flags.int("universal_compression_size_percent") != -1 {
        text.push_str(&format!(
            "compression_size_percent={};",
            flags.int("universal_compression_size_percent")
        ));
    }
    text.push_str(&format!(
        "allow_trivial_move={};max_read_amp={};incremental={};reduce_file_locking={};",
        flags.bool("universal_allow_trivial_move"),
        flags.int("universal_max_read_amp"),
        flags.bool("universal_incremental"),
        flags.bool("universal_reduce_file_locking")
    ));
    let style = by_number(
        flags,
        "universal_stop_style",
        &["kCompactionStopStyleSimilarSize", "kCompactionStopStyleTotalSize"],
    )?;
    text.push_str(&format!("stop_style={style}}}"));
    family.set("compaction_options_universal", &text)
}

fn table(flags: &Flags, family: &mut ironstone::FamilyOptions) -> Result<()> {
    if let Some(factory) = other_table(flags)? {
        family.table_factory = factory;
        return Ok(());
    }
    let Some(table) = family.table_factory.block_based_mut() else {
        return Err(Error::not_supported("db_bench needs block-based tables"));
    };
    for name in TABLE {
        table.set(name, &flags.printed(name))?;
    }
    table.set(
        "checksum",
        by_number(flags, "checksum_type", &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"])?,
    )?;
    let partitioned = flags.bool("partition_index_and_filters") || flags.bool("partition_index");
    let index = if partitioned {
        if flags.bool("use_hash_search") {
            return Err(Error::invalid_argument("use_hash_search is incompatible with partition index"));
        }
        "kTwoLevelIndexSearch"
    } else if flags.bool("use_hash_search") {
        if flags.int("prefix_size") == 0 {
            return Err(Error::invalid_argument("prefix_size not assigned when enable use_hash_search"));
        }
        "kHashSearch"
    } else if flags.bool("index_with_first_key") {
        "kBinarySearchWithFirstKey"
    } else {
        "kBinarySearch"
    };
    table.set("index_type", index)?;
    table.set("partition_filters", &flags.bool("partition_index_and_filters").to_string())?;
    // The values of the flag: 0 none, 1 separators, 2 separators and successor. For 2, RocksDB uses the default of
    // the option.
    table.set(
        "index_shortening",
        by_number(
            flags,
            "index_shortening_mode",
            &["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"],
        )?,
    )?;
    table.set(
        "prepopulate_block_cache",
        by_number(flags, "prepopulate_block_cache", &["kDisable", "kFlushOnly", "kFlushAndCompaction"])?,
    )?;
    let charged = |flag: &str| if flags.bool(flag) { Charged::Enabled } else { Charged::Disabled };
    table.cache_usage_options.compression_dictionary_building_buffer =
        charged("charge_compression_dictionary_building_buffer");
    table.cache_usage_options.filter_construction = charged("charge_filter_construction");
    let block_index = if flags.bool("use_data_block_hash_index") {
        "kDataBlockBinaryAndHash"
    } else {
        "kDataBlockBinarySearch"
    };
    table.set("data_block_index_type", block_index)?;
    let bits = flags.int("bloom_bits");
    if bits > 0 {
        let kind = if flags.bool("use_ribbon_filter") { "ribbonfilter" } else { "bloomfilter" };
        let rest = if flags.bool("use_ribbon_filter") { "0" } else { "false" };
        table.set("filter_policy", &format!("{kind}:{bits}:{rest}"))?;
    }
    Ok(())
}

/// Returns the statistics of `--statistics` or `--statistics_string`, with the level of `--stats_level`.
fn statistics(flags: &Flags, db: &ironstone::DbOptions) -> Result<Option<Arc<Statistics>>> {
    let text = flags.text("statistics_string");
    let statistics = match (flags.bool("statistics"), text.is_empty()) {
        (true, false) => {
            return Err(Error::invalid_argument("Cannot provide both --statistics and --statistics_string."));
        }
        (true, true) => Some(Arc::new(Statistics::new())),
        (false, true) => None,
        (false, false) => {
            let mut db = db.clone();
            db.set("statistics", text)?;
            db.statistics
        }
    };
    if let Some(statistics) = &statistics {
        statistics.set_level(StatsLevel::from_number(flags.count("stats_level").min(5) as u8));
    }
    Ok(statistics)
}

/// Returns the name whose index is the value of a numeric flag.
fn by_number(flags: &Flags, flag: &str, names: &[&'static str]) -> Result<&'static str> {
    usize::try_from(flags.int(flag)).ok().and_then(|at| names.get(at).copied()).ok_or_else(|| {
        Error::invalid_argument(format!("--{flag}={} is none of 0 to {}", flags.int(flag), names.len() - 1))
    })
}

/// Returns the block cache of `--cache_size` and `--cache_type`, or `None` if the size is 0.
///
/// # Errors
/// InvalidArgument for an unknown type.
pub fn cache(flags: &Flags) -> Result<Option<Arc<BlockCache>>> {
    let capacity = flags.count("cache_size") as usize;
    if capacity == 0 {
        return Ok(None);
    }
    let mut settings = match flags.text("cache_type") {
        "hyper_clock_cache" | "auto_hyper_clock_cache" => CacheOptions::hyper_clock(capacity),
        "fixed_hyper_clock_cache" => CacheOptions {
            kind: Kind::HyperClock { estimated_entry_charge: flags.count("block_size") as usize },
            ..CacheOptions::hyper_clock(capacity)
        },
        "lru_cache" => CacheOptions {
            kind: Kind::Lru {
                high_pri_pool_ratio: flags.double("cache_high_pri_pool_ratio"),
                low_pri_pool_ratio: flags.double("cache_low_pri_pool_ratio"),
            },
            ..CacheOptions::lru(capacity)
        },
        other => {
            return Err(Error::invalid_argument(format!(
                "--cache_type={other}; known: hyper_clock_cache, fixed_hyper_clock_cache, lru_cache"
            )));
        }
    };
    settings.num_shard_bits = flags.int("cache_numshardbits") as i32;
    BlockCache::new(settings).map(Some)
}

/// Returns the compression type that a flag names.
///
/// # Errors
/// InvalidArgument for an unknown name.
pub fn compression(flags: &Flags, flag: &str) -> Result<Compression> {
    let name = flags.text(flag).to_ascii_lowercase();
    Compression::by_flag_name(&name).ok_or_else(|| {
        let known: Vec<&str> = compress::supported().iter().map(|kind| kind.flag_name()).collect();
        Error::invalid_argument(format!("--{flag}={name}; known: {}", known.join(", ")))
    })
}

/// Returns the compressor of `--compression_type`, for the benchmarks that only compress.
///
/// # Errors
/// InvalidArgument for an unknown name. NotSupported if the compression is not built in.
pub fn compressor(flags: &Flags) -> Result<(Compression, Compressor)> {
    compressor_with(flags, CompressionOptions::default())
}

/// Returns the compressor of `--compression_type`. It rejects data that does not shrink to `share` of its size.
///
/// # Errors
/// The errors of [`compressor`].
pub fn picky_compressor(flags: &Flags, share: f64) -> Result<(Compression, Compressor)> {
    let most = (share * 1024.0) as i32;
    compressor_with(
        flags,
        CompressionOptions { max_compressed_bytes_per_kb: most.max(1), ..CompressionOptions::default() },
    )
}

fn compressor_with(flags: &Flags, options: CompressionOptions) -> Result<(Compression, Compressor)> {
    let kind = compression(flags, "compression_type")?;
    let options = CompressionOptions { level: flags.int("compression_level") as i32, ..options };
    Ok((kind, Compressor::new(kind, &options, None)?))
}
