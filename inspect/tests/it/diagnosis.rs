//! Tests the doctor on seeded databases. It finds each wrong setting, a database accepts the change, and a sound
//! database has no finding.

use std::path::Path;

use env::Env;
use ironstone::{Db, FamilyDescriptor, Options};
use ironstone_inspect::doctor::{Change, Finding, examine};
use ironstone_inspect::model::{Budget, load};

use crate::client::sound_databases;

mod evidence;

fn findings(path: &Path) -> Vec<Finding> {
    examine(&load(&Env::posix(), path, &Budget::COMMAND).unwrap())
}

fn rules(path: &Path) -> Vec<&'static str> {
    let mut rules: Vec<_> = findings(path).iter().map(|finding| finding.rule).collect();
    rules.dedup();
    rules
}

/// Returns a value that does not compress.
fn value(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

/// The writes of a seeded database.
#[derive(Clone, Copy)]
struct Load {
    /// The number of flushes. Each flush writes the whole key range.
    flushes: u64,
    /// The bytes of all values.
    bytes: u64,
    compact: bool,
    /// If not 0, the load deletes one of each `delete_each` keys at the end.
    delete_each: u64,
    value_len: u64,
}

const PLAIN: Load = Load { flushes: 3, bytes: 6 << 20, compact: false, delete_each: 0, value_len: 2000 };

/// A load with values of 200 bytes.
const SMALL: Load = Load { value_len: 200, ..PLAIN };

fn fill(db: &Db, writes: Load) {
    let len = writes.value_len;
    let keys = writes.bytes / len / writes.flushes;
    for flush in 0..writes.flushes {
        for n in 0..keys {
            let key = format!("key{:08}", (n * 7919) % keys * writes.flushes + flush);
            db.put(key.as_bytes(), &value(n * 31 + flush, len as usize)).unwrap();
        }
        db.flush().unwrap();
    }
    for n in (0..keys * writes.flushes).filter(|n| writes.delete_each > 0 && n % writes.delete_each == 0) {
        db.delete(format!("key{n:08}").as_bytes()).unwrap();
    }
    if writes.delete_each > 0 {
        db.flush().unwrap();
    }
    if writes.compact {
        db.compact_range(None, None, &Default::default()).unwrap();
    }
}

fn seeded(path: &Path, text: &str, writes: Load) {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update(text).unwrap();
    let db = Db::open(path, options).unwrap();
    fill(&db, writes);
}

/// The seeded databases: the name of the rule, the options, and the writes.
const SEEDS: [(&str, &str, Load); 117] = [
    (
        "small-write-buffer",
        "write_buffer_size=65536;level0_slowdown_writes_trigger=100000;level0_stop_writes_trigger=100000",
        PLAIN,
    ),
    ("compaction-off", "disable_auto_compactions=true", Load { flushes: 8, ..PLAIN }),
    ("level-0-triggers", "level0_slowdown_writes_trigger=5;level0_stop_writes_trigger=6", PLAIN),
    (
        "full-level-0",
        "disable_auto_compactions=true;level0_slowdown_writes_trigger=6",
        Load { flushes: 8, ..PLAIN },
    ),
    ("level-base", "max_bytes_for_level_base=65536", Load { flushes: 8, ..PLAIN }),
    ("level-multiplier", "max_bytes_for_level_multiplier=2", Load { compact: true, ..PLAIN }),
    ("small-files", "target_file_size_base=65536", Load { compact: true, ..PLAIN }),
    (
        "pending-compaction-limits",
        "soft_pending_compaction_bytes_limit=1000000;hard_pending_compaction_bytes_limit=200000000",
        PLAIN,
    ),
    ("retained-memtables", "max_write_buffer_size_to_maintain=100000000000", PLAIN),
    ("few-background-jobs", "max_background_jobs=1", PLAIN),
    ("delayed-write-rate", "delayed_write_rate=1000", PLAIN),
    ("recovery-skips-damage", "wal_recovery_mode=kSkipAnyCorruptedRecords", PLAIN),
    ("paranoid-checks-off", "paranoid_checks=false", PLAIN),
    ("manual-wal-flush", "manual_wal_flush=true", PLAIN),
    ("no-checksums", "block_based_table_factory={checksum=kNoChecksum;}", PLAIN),
    ("consistency-checks-off", "force_consistency_checks=false", PLAIN),
    ("rewrites-by-age", "ttl=60", PLAIN),
    ("few-open-files", "max_open_files=20;target_file_size_base=131072", Load { compact: true, ..PLAIN }),
    ("filter-bits", "block_based_table_factory={filter_policy=bloomfilter:2:false;}", PLAIN),
    (
        "unused-filter",
        "block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=false;}",
        PLAIN,
    ),
    ("old-format", "block_based_table_factory={format_version=2;}", PLAIN),
    ("block-size", "block_based_table_factory={block_size=256;}", PLAIN),
    (
        "many-sorted-runs",
        "level0_file_num_compaction_trigger=50;level0_slowdown_writes_trigger=200;level0_stop_writes_trigger=300",
        Load { flushes: 12, ..PLAIN },
    ),
    ("compaction-readahead", "compaction_readahead_size=0", PLAIN),
    ("use-fsync", "use_fsync=true", PLAIN),
    ("unordered-write", "unordered_write=true", PLAIN),
    ("few-levels", "num_levels=2", PLAIN),
    ("eager-level-0", "level0_file_num_compaction_trigger=1", PLAIN),
    ("max-compaction-bytes", "max_compaction_bytes=1000000", PLAIN),
    ("small-blobs", "enable_blob_files=true;min_blob_size=0", SMALL),
    ("no-block-cache", "block_based_table_factory={no_block_cache=true;}", PLAIN),
    (
        "compaction-off",
        "disable_auto_compactions=true;level0_file_num_compaction_trigger=1073741824;\
         level0_slowdown_writes_trigger=1073741824;level0_stop_writes_trigger=1073741824",
        Load { flushes: 6, ..PLAIN },
    ),
    ("compaction-off", "compaction_style=kCompactionStyleNone", Load { flushes: 6, ..PLAIN }),
    ("no-stall-limits", "level0_slowdown_writes_trigger=20000;level0_stop_writes_trigger=20000", PLAIN),
    ("no-stall-limits", "soft_pending_compaction_bytes_limit=0;hard_pending_compaction_bytes_limit=0", PLAIN),
    ("wal-limit", "max_total_wal_size=200000", PLAIN),
    ("shared-memtable-limit", "db_write_buffer_size=1000000", PLAIN),
    ("memtable-memory", "write_buffer_size=8589934592;max_write_buffer_number=8", PLAIN),
    ("one-memtable-writer", "allow_concurrent_memtable_write=false", PLAIN),
    ("late-flush", "min_write_buffer_number_to_merge=3;max_write_buffer_number=4", PLAIN),
    ("vector-memtable", "memtable_factory=vector;allow_concurrent_memtable_write=false", PLAIN),
    ("in-place-updates", "inplace_update_support=true;allow_concurrent_memtable_write=false", PLAIN),
    ("unused-memtable-filter", "memtable_prefix_bloom_size_ratio=0.1", PLAIN),
    ("long-skips", "max_sequential_skip_in_iterations=1000000", PLAIN),
    (
        "unprotected-index",
        "block_based_table_factory={cache_index_and_filter_blocks=true;\
         cache_index_and_filter_blocks_with_high_priority=false;}",
        PLAIN,
    ),
    ("slow-compression", "compression=kZSTD;compression_opts={level=19;}", PLAIN),
    ("paranoid-file-checks", "paranoid_file_checks=true", PLAIN),
    (
        "eager-universal",
        "compaction_style=kCompactionStyleUniversal;\
         compaction_options_universal={max_size_amplification_percent=1;}",
        PLAIN,
    ),
    ("single-level", "compaction_style=kCompactionStyleUniversal;num_levels=1", PLAIN),
    (
        "fifo-limit",
        "compaction_style=kCompactionStyleFIFO;compaction_options_fifo={max_table_files_size=4000000;}",
        Load { flushes: 8, ..PLAIN },
    ),
    ("large-files", "target_file_size_base=8589934592", PLAIN),
    ("large-files", "target_file_size_multiplier=10", PLAIN),
    ("many-threads", "max_background_jobs=128", PLAIN),
    ("frequent-statistics", "stats_dump_period_sec=1", PLAIN),
    ("info-log-level", "info_log_level=DEBUG_LEVEL", PLAIN),
    ("small-info-logs", "max_log_file_size=1", PLAIN),
    ("small-manifest", "max_manifest_file_size=2000", PLAIN),
    ("small-file-buffer", "writable_file_max_buffer_size=4096", PLAIN),
    ("memory-maps", "allow_mmap_reads=true", PLAIN),
    ("strict-recovery", "wal_recovery_mode=kAbsoluteConsistency", PLAIN),
    ("unchecked-files", "verify_sst_unique_id_in_manifest=false", PLAIN),
    ("archived-wals", "WAL_ttl_seconds=864000", PLAIN),
    ("small-sync-ranges", "bytes_per_sync=4096", PLAIN),
    ("small-sync-ranges", "wal_bytes_per_sync=512", PLAIN),
    (
        "small-index-partitions",
        "block_based_table_factory={index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=128;\
         filter_policy=bloomfilter:10:false;}",
        PLAIN,
    ),
    (
        "aligned-blocks",
        "compression=kNoCompression;block_based_table_factory={block_align=true;block_size=4096;}",
        Load { value_len: 2500, ..PLAIN },
    ),
    (
        "coarse-prefix",
        "prefix_extractor=fixed:1;block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=false;}",
        SMALL,
    ),
    (
        "narrow-merges",
        "compaction_style=kCompactionStyleUniversal;compaction_options_universal={max_merge_width=2;min_merge_width=2;}",
        PLAIN,
    ),
    (
        "eager-blob-collection",
        "enable_blob_files=true;min_blob_size=1000;enable_blob_garbage_collection=true;\
         blob_garbage_collection_age_cutoff=1.0",
        PLAIN,
    ),
    ("short-skips", "max_sequential_skip_in_iterations=0", PLAIN),
    ("persisted-statistics", "persist_stats_to_disk=true;stats_persist_period_sec=1", PLAIN),
    ("read-bitmaps", "block_based_table_factory={read_amp_bytes_per_bit=1;}", PLAIN),
    ("slow-decompression", "compression=kBZip2Compression", PLAIN),
    ("large-dictionary", "compression=kZSTD;compression_opts={max_dict_bytes=16777216;}", PLAIN),
    ("rewrites-by-age", "periodic_compaction_seconds=7200", PLAIN),
    ("best-efforts-recovery", "best_efforts_recovery=true", PLAIN),
    ("unchecked-counts", "flush_verify_memtable_count=false;compaction_verify_record_count=false", PLAIN),
    ("small-write-groups", "max_write_batch_group_size_bytes=1", PLAIN),
    ("large-readahead", "compaction_readahead_size=536870912", PLAIN),
    ("no-resume", "max_bgerror_resume_count=0", PLAIN),
    ("recycled-wals", "recycle_log_file_num=100", PLAIN),
    ("slow-open", "max_file_opening_threads=1;target_file_size_base=16384", Load { compact: true, ..PLAIN }),
    (
        "no-readahead",
        "block_based_table_factory={initial_auto_readahead_size=0;max_auto_readahead_size=0;}",
        PLAIN,
    ),
    ("few-range-deletions", "memtable_max_range_deletions=1", PLAIN),
    ("merges-at-writes", "max_successive_merges=100000", PLAIN),
    (
        "few-buckets",
        "memtable_factory={id=HashLinkListRepFactory;bucket_count=1;};allow_concurrent_memtable_write=false;prefix_extractor=fixed:8",
        PLAIN,
    ),
    (
        "universal-size-ratio",
        "compaction_style=kCompactionStyleUniversal;compaction_options_universal={size_ratio=500;}",
        PLAIN,
    ),
    ("compression-threads", "compression=kZSTD;compression_opts={parallel_threads=32;}", PLAIN),
    (
        "compaction-order",
        "compaction_pri=kOldestLargestSeqFirst;level_compaction_dynamic_level_bytes=false;write_buffer_size=262144;\
         max_bytes_for_level_base=1048576;target_file_size_base=262144",
        Load { flushes: 8, ..PLAIN },
    ),
    (
        "unreachable-limits",
        "soft_pending_compaction_bytes_limit=1125899906842624;hard_pending_compaction_bytes_limit=1125899906842624",
        PLAIN,
    ),
    (
        "slow-decompression",
        "enable_blob_files=true;min_blob_size=500;blob_compression_type=kBZip2Compression",
        PLAIN,
    ),
    ("frequent-resumes", "bgerror_resume_retry_interval=1", PLAIN),
    ("long-spins", "write_thread_max_yield_usec=1000000", PLAIN),
    ("short-info-logs", "log_file_time_to_roll=1", PLAIN),
    ("manifest-space", "manifest_preallocation_size=1073741824", PLAIN),
    ("table-cache-shards", "table_cache_numshardbits=0", PLAIN),
    ("recycled-wals", "recycle_log_file_num=100;write_buffer_size=1048576", PLAIN),
    ("large-scan-readahead", "block_based_table_factory={max_auto_readahead_size=1073741824;}", PLAIN),
    ("long-restart-interval", "block_based_table_factory={block_restart_interval=1024;}", PLAIN),
    ("compression-samples", "sample_for_compression=1", PLAIN),
    ("eager-scan-flush", "memtable_op_scan_flush_trigger=1", PLAIN),
    ("close-pending-limits", "hard_pending_compaction_bytes_limit=68719476736", PLAIN),
    ("many-merged-memtables", "min_write_buffer_number_to_merge=8;max_write_buffer_number=20", PLAIN),
    ("paranoid-memory-checks", "paranoid_memory_checks=true", PLAIN),
    ("verified-compression", "block_based_table_factory={verify_compression=true;}", PLAIN),
    ("whole-keys", "block_based_table_factory={use_delta_encoding=false;}", PLAIN),
    (
        "slow-compression",
        "bottommost_compression=kZSTD;bottommost_compression_opts={level=22;enabled=true;}",
        PLAIN,
    ),
    ("slow-compression", "compression=kZlibCompression;compression_opts={level=9;}", PLAIN),
    ("level-base", "max_bytes_for_level_base=68719476736", PLAIN),
    ("memtable-memory", "write_buffer_size=3221225472", PLAIN),
    (
        "late-universal",
        "compaction_style=kCompactionStyleUniversal;level0_file_num_compaction_trigger=100;\
         level0_slowdown_writes_trigger=300;level0_stop_writes_trigger=400",
        Load { flushes: 12, ..PLAIN },
    ),
    (
        "late-universal",
        "compaction_style=kCompactionStyleUniversal;compaction_options_universal={min_merge_width=60;max_size_amplification_percent=300;};\
         level0_file_num_compaction_trigger=11",
        Load { flushes: 10, ..PLAIN },
    ),
    ("hashed-prefix", "prefix_extractor=fixed:1;block_based_table_factory={index_type=kHashSearch;}", PLAIN),
    ("long-prefix", "prefix_extractor=fixed:100", PLAIN),
    (
        "forced-blob-collection",
        "enable_blob_files=true;min_blob_size=500;enable_blob_garbage_collection=true;\
         blob_garbage_collection_force_threshold=0.01",
        PLAIN,
    ),
    (
        "fifo-files",
        "compaction_style=kCompactionStyleFIFO;num_levels=1;compaction_options_fifo={max_table_files_size=1099511627776;}",
        PLAIN,
    ),
    ("fifo-age", "compaction_style=kCompactionStyleFIFO;num_levels=1;ttl=60", PLAIN),
];

/// Rules about options that have no bad effect in Ironstone.
const ROCKSDB_ONLY: [&str; 3] = ["consistency-checks-off", "unordered-write", "table-cache-shards"];

/// The part of the info log that names Ironstone as the writer.
const IRONSTONE: &str = " (Ironstone 0.1.0)";

/// Replaces parts of the file whose name begins with `start`: the newest file. Each part must be there.
fn rewrite(dir: &Path, start: &str, parts: &[(&str, &str)]) {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let path = dir.join(names.filter(|name| name.starts_with(start)).max().unwrap());
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in parts {
        assert!(text.contains(from), "{from:?} is not in {path:?}");
        text = text.replace(from, to);
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn defaults_of_old_releases_are_no_finding() {
    let dir = tempfile::tempdir().unwrap();
    let text = "compaction_readahead_size=0;force_consistency_checks=false;block_based_table_factory={filter_policy=bloomfilter:10:false;}";
    seeded(dir.path(), text, PLAIN);
    rewrite(dir.path(), "LOG", &[(IRONSTONE, "")]);
    assert_eq!(rules(dir.path()), ["consistency-checks-off", "compaction-readahead"]);
    rewrite(dir.path(), "OPTIONS", &[("rocksdb_version=11.8.1", "rocksdb_version=8.6.7")]);
    assert_eq!(rules(dir.path()), ["consistency-checks-off"]);
    rewrite(dir.path(), "OPTIONS", &[("rocksdb_version=8.6.7", "rocksdb_version=6.13.3")]);
    assert_eq!(rules(dir.path()), [""; 0]);
}

#[test]
fn write_prepared_transactions_and_tables_without_filter_are_no_finding() {
    let dir = tempfile::tempdir().unwrap();
    seeded(
        dir.path(),
        "unordered_write=true;block_based_table_factory={whole_key_filtering=false;}",
        Load { compact: true, ..PLAIN },
    );
    rewrite(dir.path(), "LOG", &[(IRONSTONE, "")]);
    assert_eq!(rules(dir.path()), ["unordered-write"]);
    rewrite(dir.path(), "OPTIONS", &[("two_write_queues=false", "two_write_queues=true")]);
    assert_eq!(rules(dir.path()), [""; 0]);
}

/// The kinds of the golden databases, as options of a larger database that needs no change.
const SOUND: [&str; 24] = [
    "",
    "compression=kNoCompression;bottommost_compression=kLZ4Compression",
    "compression=kLZ4Compression",
    "compression=kZlibCompression",
    "compression=kZSTD;compression_opts={max_dict_bytes=8192;}",
    "compression_per_level=kNoCompression:kLZ4Compression:kLZ4Compression",
    "compaction_style=kCompactionStyleUniversal",
    "compaction_style=kCompactionStyleUniversal;compaction_options_universal={allow_trivial_move=true;}",
    "compaction_style=kCompactionStyleFIFO;num_levels=1;block_based_table_factory={filter_policy=bloomfilter:10:false;}",
    "level_compaction_dynamic_level_bytes=false",
    "enable_blob_files=true;min_blob_size=1000",
    "enable_blob_files=true;min_blob_size=1000;blob_compression_type=kLZ4Compression;enable_blob_garbage_collection=true",
    "block_based_table_factory={checksum=kCRC32c;}",
    "block_based_table_factory={format_version=4;checksum=kxxHash64;}",
    "block_based_table_factory={index_type=kTwoLevelIndexSearch;partition_filters=true;filter_policy=bloomfilter:10:false;}",
    "block_based_table_factory={index_type=kBinarySearchWithFirstKey;}",
    "block_based_table_factory={data_block_index_type=kDataBlockBinaryAndHash;}",
    "block_based_table_factory={filter_policy=ribbonfilter:10;}",
    "prefix_extractor=fixed:4;block_based_table_factory={whole_key_filtering=false;filter_policy=bloomfilter:10:false;}",
    "block_based_table_factory={block_size=16384;block_restart_interval=16;}",
    "memtable_prefix_bloom_size_ratio=0.1;memtable_whole_key_filtering=true",
    "wal_compression=kZSTD;recycle_log_file_num=0",
    "atomic_flush=true",
    "max_background_jobs=6;max_subcompactions=3;ttl=2592000",
];

#[test]
fn sound_databases_of_every_kind_above_the_limit_have_no_finding() {
    let mut found = Vec::new();
    for text in SOUND {
        let dir = tempfile::tempdir().unwrap();
        seeded(dir.path(), text, Load { compact: true, ..PLAIN });
        let db = load(&Env::posix(), dir.path(), &Budget::COMMAND).unwrap();
        let blobs: u64 = db.families[0].blobs.iter().map(|blob| blob.bytes).sum();
        assert!(db.sst_bytes() + blobs > 2 << 20, "{text}: the rules skip a small database");
        found.extend(findings(dir.path()).into_iter().map(|finding| (text, finding)));
    }
    assert_eq!(found, []);
}

#[test]
fn wrong_settings_are_found_and_their_changes_are_accepted() {
    let seeds = SEEDS;
    std::thread::scope(|scope| {
        for part in seeds.chunks(seeds.len().div_ceil(4)) {
            scope.spawn(|| part.iter().for_each(|&(rule, text, writes)| is_found(rule, text, writes)));
        }
    });
}

fn is_found(rule: &str, text: &str, writes: Load) {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), text, writes);
    if ROCKSDB_ONLY.contains(&rule) {
        assert!(!rules(dir.path()).contains(&rule), "Ironstone does not have the fault of {rule}");
        rewrite(dir.path(), "LOG", &[(IRONSTONE, "")]);
    }
    let found = findings(dir.path());
    assert!(found.iter().any(|finding| finding.rule == rule), "{rule}: {found:?}");
    found.iter().for_each(assert_acceptable);
}

/// Checks that a database accepts the option text of a change. If the finding allows a live change, the database is
/// open.
fn assert_acceptable(finding: &Finding) {
    assert!(!finding.evidence.is_empty() && !finding.cost.is_empty(), "{finding:?}");
    let (text, live) = match &finding.change {
        Change::Live(text) => (text, true),
        Change::Reopen(text) => (text, false),
        Change::Action(text) => return assert!(!text.is_empty(), "{finding:?}"),
    };
    if !live {
        return Options::in_memory().update(text).unwrap();
    }
    let db = Db::open("data", Options::in_memory()).unwrap();
    let pairs = format::options_ini::parse_map(text).unwrap();
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    match finding.family {
        Some(_) => db.set_options(&pairs).unwrap(),
        None => db.set_db_options(&pairs).unwrap(),
    }
}

#[test]
fn sound_databases_of_every_kind_have_no_finding() {
    for path in sound_databases() {
        assert_eq!(findings(&path), [], "{}", path.display());
    }
}

#[test]
fn a_database_with_default_options_has_no_finding() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "block_based_table_factory={filter_policy=bloomfilter:10:false;}", PLAIN);
    assert_eq!(findings(dir.path()), []);
    let compacted = tempfile::tempdir().unwrap();
    seeded(compacted.path(), "", Load { compact: true, ..PLAIN });
    assert_eq!(findings(compacted.path()), []);
}

#[test]
fn missing_filter_is_found_if_a_lookup_visits_several_runs() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", PLAIN);
    assert_eq!(rules(dir.path()), ["no-filter"]);
}

#[test]
fn tombstones_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let writes = Load { delete_each: 1, ..PLAIN };
    seeded(dir.path(), "disable_auto_compactions=true;level0_file_num_compaction_trigger=9", writes);
    assert!(rules(dir.path()).contains(&"many-tombstones"), "{:?}", findings(dir.path()));
}

#[test]
fn last_level_without_compression_is_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "compression=kNoCompression", Load { compact: true, ..PLAIN });
    assert_eq!(rules(dir.path()), ["no-compression"]);
}

#[test]
fn unlimited_universal_amplification_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "compaction_style=kCompactionStyleUniversal;\
                compaction_options_universal={max_size_amplification_percent=1000000;}";
    seeded(dir.path(), text, PLAIN);
    assert!(rules(dir.path()).contains(&"universal-amplification"), "{:?}", findings(dir.path()));
}

#[test]
fn limit_of_the_wals_far_above_all_memtables_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    options
        .update("max_total_wal_size=1099511627776;block_based_table_factory={filter_policy=bloomfilter:10:false;}")
        .unwrap();
    let other = FamilyDescriptor::new("other", options.family.clone());
    let db = Db::open_with_families(dir.path(), options, vec![other]).unwrap();
    fill(&db, PLAIN);
    drop(db);
    assert_eq!(rules(dir.path()), ["large-wal-limit"]);
}

#[test]
fn garbage_in_blob_files_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "enable_blob_files=true;min_blob_size=100";
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update(text).unwrap();
    let db = Db::open(dir.path(), options).unwrap();
    let key = |n: u64| format!("key{n:08}");
    (0..3000).for_each(|n| db.put(key(n).as_bytes(), &value(n, 2000)).unwrap());
    db.flush().unwrap();
    // Every fourth blob stays, so the compaction counts garbage but keeps the blob file.
    (0..3000).filter(|n| n % 4 != 0).for_each(|n| db.put(key(n).as_bytes(), b"small").unwrap());
    db.compact_range(None, None, &Default::default()).unwrap();
    drop(db);
    let found = findings(dir.path());
    let db = load(&Env::posix(), dir.path(), &Budget::COMMAND).unwrap();
    let garbage: u64 = db.families[0].blobs.iter().map(|blob| blob.garbage_bytes).sum();
    let bytes: u64 = db.families[0].blobs.iter().map(|blob| blob.bytes).sum();
    assert!(
        garbage >= 1 << 20 && garbage * 2 >= bytes,
        "the load made {garbage} bytes of garbage in {bytes} bytes"
    );
    assert!(found.iter().any(|finding| finding.rule == "blob-garbage"), "{found:?}");
}

#[test]
fn old_entries_above_the_last_level_of_static_levels_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "level_compaction_dynamic_level_bytes=false;level0_file_num_compaction_trigger=50;\
                level0_slowdown_writes_trigger=100;level0_stop_writes_trigger=200";
    seeded(dir.path(), text, Load { bytes: 10 << 20, compact: true, ..PLAIN });
    assert!(!rules(dir.path()).contains(&"static-levels"), "{:?}", findings(dir.path()));
    seeded(dir.path(), text, Load { bytes: 10 << 20, ..PLAIN });
    assert!(rules(dir.path()).contains(&"static-levels"), "{:?}", findings(dir.path()));
}

#[test]
fn old_files_without_an_entry_in_the_manifest_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    let orphan = dir.path().join("900000.sst");
    std::fs::write(&orphan, vec![7; 2 << 20]).unwrap();
    assert_eq!(rules(dir.path()), [""; 0], "the file is new: a writer may still name it");
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    std::fs::File::options().write(true).open(&orphan).unwrap().set_modified(hours_ago).unwrap();
    assert_eq!(rules(dir.path()), ["orphan-files"]);
}

#[test]
fn idle_column_family_that_keeps_wals_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    let idle = FamilyDescriptor::new("idle", options.family.clone());
    let db = Db::open_with_families(dir.path(), options, vec![idle]).unwrap();
    db.family("idle").unwrap().put(b"k", b"v").unwrap();
    fill(&db, Load { flushes: 6, ..PLAIN });
    drop(db);
    let found = findings(dir.path());
    let pinned = found.iter().find(|finding| finding.rule == "pinned-wals");
    assert!(pinned.is_some_and(|finding| finding.title.contains("\"idle\"")), "{found:?}");
}

#[test]
fn stalls_errors_and_a_small_cache_are_found_in_the_info_log() {
    let dir = tempfile::tempdir().unwrap();
    let text = "block_based_table_factory={filter_policy=bloomfilter:10:false;}";
    seeded(dir.path(), text, Load { compact: true, ..PLAIN });
    let log = "\
2026/01/01-00:00:00.000000 1 RocksDB version: 8.1.1
2026/01/01-00:00:00.000000 1 --------------- Options for column family [default]:
    capacity : 65536
2026/01/01-00:00:04.000000 1 [WARN] [/column_family.cc:991] [default] Stopping writes because we have 36 level-0 files
2026/01/01-00:00:05.000000 1 [ERROR] [/db_impl.cc:1] Waiting after background compaction error: IO error: No space left on device
** DB Stats **
Cumulative stall: 00:01:2.000 H:M:S, 12.5 percent
rocksdb.block.cache.miss COUNT : 90000
rocksdb.block.cache.hit COUNT : 1000
";
    std::fs::write(dir.path().join("LOG"), log).unwrap();
    let found = rules(dir.path());
    for rule in ["write-stalls", "errors-in-log", "small-block-cache"] {
        assert!(found.contains(&rule), "{rule}: {found:?}");
    }
}

#[test]
fn new_prefix_extractor_over_old_files_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let text = "block_based_table_factory={filter_policy=bloomfilter:10:false;}";
    seeded(dir.path(), text, Load { compact: true, ..PLAIN });
    let mut options = Options::default();
    options.update(&format!("{text};prefix_extractor=fixed:4")).unwrap();
    drop(Db::open(dir.path(), options).unwrap());
    assert_eq!(rules(dir.path()), ["other-prefix-extractor"]);
}

#[test]
fn options_that_only_rocksdb_accepts_are_found() {
    let dir = tempfile::tempdir().unwrap();
    seeded(dir.path(), "", Load { compact: true, ..PLAIN });
    assert_eq!(rules(dir.path()), [""; 0]);
    let new = [
        ("allow_mmap_writes=false", "allow_mmap_writes=true"),
        ("arena_block_size=1048576", "arena_block_size=67108864"),
        ("delete_obsolete_files_period_micros=21600000000", "delete_obsolete_files_period_micros=1000"),
        ("experimental_mempurge_threshold=0.000000", "experimental_mempurge_threshold=100"),
    ];
    rewrite(dir.path(), "OPTIONS", &new);
    rewrite(dir.path(), "LOG", &[(IRONSTONE, "")]);
    assert_eq!(rules(dir.path()), ["file-searches", "large-arena", "memory-maps", "memtable-purges"]);
}

#[test]
fn limits_of_the_backlog_grow_with_the_first_level() {
    let dir = tempfile::tempdir().unwrap();
    let filter = "block_based_table_factory={filter_policy=bloomfilter:10:false;}";
    seeded(dir.path(), &format!("{filter};max_bytes_for_level_base=68719476736"), PLAIN);
    let found = findings(dir.path());
    let limits = found.iter().find(|finding| finding.rule == "pending-compaction-limits");
    let Some(Change::Live(text)) = limits.map(|finding| &finding.change) else { panic!("{found:?}") };
    assert_eq!(
        text,
        "soft_pending_compaction_bytes_limit=1099511627776;hard_pending_compaction_bytes_limit=4398046511104"
    );
}
