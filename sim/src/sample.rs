//! Options that must not change an answer, drawn at random, as option text of RocksDB.

pub mod rare;

use testkit::chance::Chance;

/// Drawn options.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The text for `Options::update`. It includes a comparator, a merge operator and a prefix extractor.
    pub text: String,
    pub reverse: bool,
    /// The length of the prefix of the prefix extractor.
    pub prefix: Option<usize>,
}

impl Sample {
    /// Returns true if the key `a` is before `b` in the order of the database.
    pub fn less(&self, a: &[u8], b: &[u8]) -> bool {
        if self.reverse { a > b } else { a < b }
    }
}

/// The options that stay the same for the life of a database.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    pub reverse: bool,
    pub levels: u64,
    pub timestamps: Timestamps,
    /// True if new SST files are plain tables.
    pub plain: bool,
}

/// Where the timestamps of a database are. They have 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// The keys have no timestamps.
    None,
    Persisted,
    /// Memtables and WALs have the timestamps, SST files have none (`persist_user_defined_timestamps=false`).
    InMemory,
    /// As `InMemory`. The next open may turn the timestamps off. No value is in a blob file, so that no such open is refused.
    On,
    /// The keys have no timestamps. The next open may turn the timestamps on.
    Off,
}

impl Timestamps {
    /// Returns true if the keys have timestamps.
    pub fn are_on(self) -> bool {
        matches!(self, Timestamps::Persisted | Timestamps::InMemory | Timestamps::On)
    }

    /// Returns true if a flush drops the timestamps.
    pub fn are_in_memory(self) -> bool {
        matches!(self, Timestamps::InMemory | Timestamps::On)
    }

    /// Draws the timestamps of the next open.
    pub fn next(self, chance: &mut Chance) -> Timestamps {
        match self {
            Timestamps::On | Timestamps::Off => *chance.pick(&[Timestamps::On, Timestamps::Off]),
            fixed => fixed,
        }
    }

    /// Returns the option text after all other options. The comparator is another option.
    pub fn text(self) -> &'static str {
        // RocksDB keeps WALs with and without timestamps if it does not flush them, and an older entry can then hide a newer entry.
        match self {
            Timestamps::None | Timestamps::Persisted => "",
            Timestamps::InMemory => {
                "persist_user_defined_timestamps=false;atomic_flush=false;allow_concurrent_memtable_write=false;"
            }
            Timestamps::On | Timestamps::Off => {
                "persist_user_defined_timestamps=false;atomic_flush=false;allow_concurrent_memtable_write=false;\
                 avoid_flush_during_recovery=false;enable_blob_files=false;"
            }
        }
    }
}

impl Fixed {
    /// Draws the options of one database. The draws of timestamps and of plain tables do not move `chance`
    /// forward.
    pub fn draw(chance: &mut Chance) -> Fixed {
        let stamps = &mut Chance::new(chance.clone().next() ^ 0x7374_616d);
        let all = [Timestamps::Persisted, Timestamps::Persisted, Timestamps::InMemory, Timestamps::On];
        let timestamps = if stamps.percent(25) { *stamps.pick(&all) } else { Timestamps::None };
        let plain = !timestamps.are_on() && Chance::new(chance.clone().next() ^ 0x706c_6169).percent(15);
        Fixed { reverse: chance.percent(20), levels: *chance.pick(&[2, 4, 7]), timestamps, plain }
    }
}

/// A row: the name of an option, and the values that can be drawn. An empty value leaves the default.
type Row = (&'static str, &'static [&'static str]);

const DB: &[Row] = &[
    ("max_open_files", &["", "10", "-1"]),
    ("max_total_wal_size", &["", "", "30000"]),
    ("max_background_jobs", &["", "4"]),
    ("max_subcompactions", &["1", "1", "4"]),
    ("recycle_log_file_num", &["0", "0", "3"]),
    ("manual_wal_flush", &["false", "false", "true"]),
    ("max_manifest_file_size", &["", "200"]),
    ("writable_file_max_buffer_size", &["", "4096"]),
    ("bytes_per_sync", &["", "1000"]),
    ("wal_bytes_per_sync", &["", "1000"]),
    ("strict_bytes_per_sync", &["", "true"]),
    ("avoid_flush_during_recovery", &["", "true"]),
    ("avoid_flush_during_shutdown", &["", "true"]),
    ("db_write_buffer_size", &["", "", "100000"]),
    ("compaction_readahead_size", &["", "0", "3000"]),
    ("max_write_batch_group_size_bytes", &["", "100"]),
    ("track_and_verify_wals_in_manifest", &["", "true"]),
    ("use_fsync", &["", "true"]),
    ("paranoid_checks", &["", "", "false"]),
    ("track_and_verify_wals", &["", "", "true"]),
    ("WAL_ttl_seconds", &["", "", "1000"]),
    ("file_checksum_gen_factory", &["", "FileChecksumGenCrc32cFactory"]),
    ("keep_log_file_num", &["", "3"]),
    ("max_log_file_size", &["", "100000"]),
];

const FAMILY: &[Row] = &[
    ("write_buffer_size", &["65536", "65536", ""]),
    ("max_write_buffer_number", &["2", "2", "5"]),
    ("min_write_buffer_number_to_merge", &["1", "1", "3"]),
    ("level0_file_num_compaction_trigger", &["2", "2", "4"]),
    ("level0_slowdown_writes_trigger", &["", "4"]),
    ("max_bytes_for_level_base", &["8192", "30000"]),
    ("max_bytes_for_level_multiplier", &["2", "4"]),
    ("target_file_size_base", &["4096", "1000", "20000"]),
    ("target_file_size_multiplier", &["1", "2"]),
    ("level_compaction_dynamic_level_bytes", &["true", "false"]),
    ("max_compaction_bytes", &["", "20000"]),
    ("compaction_style", &["kCompactionStyleLevel", "kCompactionStyleLevel", "kCompactionStyleUniversal"]),
    (
        "compaction_pri",
        &[
            "kByCompensatedSize",
            "kOldestLargestSeqFirst",
            "kOldestSmallestSeqFirst",
            "kMinOverlappingRatio",
            "kRoundRobin",
        ],
    ),
    (
        "compression",
        &[
            "kNoCompression",
            "kSnappyCompression",
            "kZlibCompression",
            "kLZ4Compression",
            "kLZ4HCCompression",
            "kZSTD",
            "kBZip2Compression",
        ],
    ),
    ("bottommost_compression", &["", "kZSTD", "kNoCompression"]),
    (
        "compression_opts",
        &[
            "",
            "",
            "{max_dict_bytes=1000;zstd_max_train_bytes=0}",
            "{max_dict_bytes=1000;zstd_max_train_bytes=5000}",
            "{parallel_threads=3}",
            "{window_bits=-9;strategy=2;level=3}",
            "{max_dict_bytes=1000;zstd_max_train_bytes=5000;max_dict_buffer_bytes=3000;use_zstd_dict_trainer=false}",
            "{max_compressed_bytes_per_kb=300}",
        ],
    ),
    ("memtable_prefix_bloom_size_ratio", &["0", "0.1"]),
    ("memtable_whole_key_filtering", &["false", "true"]),
    ("optimize_filters_for_hits", &["false", "false", "true"]),
    ("max_sequential_skip_in_iterations", &["", "0", "2"]),
    ("force_consistency_checks", &["true"]),
    ("disable_auto_compactions", &["", "", "", "", "true"]),
    ("ttl", &["", "0", "1000"]),
    ("arena_block_size", &["4096"]),
    ("bloom_locality", &["", "1"]),
    (
        "compaction_options_universal",
        &[
            "",
            "{size_ratio=10;min_merge_width=2;max_size_amplification_percent=50}",
            "{allow_trivial_move=true}",
            "{stop_style=kCompactionStopStyleSimilarSize}",
            "{incremental=true;max_size_amplification_percent=20;max_merge_width=4}",
            "{compression_size_percent=50;max_read_amp=0}",
            "{max_read_amp=6;reduce_file_locking=false}",
        ],
    ),
    ("memtable_protection_bytes_per_key", &["", "", "8"]),
];

const TABLE: &[Row] = &[
    ("block_size", &["256", "256", "1000", ""]),
    ("block_restart_interval", &["16", "1", "3"]),
    ("index_block_restart_interval", &["1", "3"]),
    ("format_version", &["2", "3", "4", "5", "6", "7"]),
    ("checksum", &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"]),
    ("filter_policy", &["nullptr", "bloomfilter:10:false", "ribbonfilter:10", "bloomfilter:3:false"]),
    ("whole_key_filtering", &["true", "true", "false"]),
    ("data_block_index_type", &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]),
    ("data_block_hash_table_util_ratio", &["0.75", "0.2"]),
    ("index_shortening", &["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"]),
    ("metadata_block_size", &["300", ""]),
    ("optimize_filters_for_memory", &["true", "false"]),
    ("enable_index_compression", &["true", "false"]),
    ("use_delta_encoding", &["true", "false"]),
    ("verify_compression", &["", "true"]),
    ("prepopulate_block_cache", &["", "kFlushOnly"]),
    ("max_auto_readahead_size", &["", "0"]),
    ("separate_key_value_in_data_block", &["", "", "true"]),
];

/// Rows that are drawn for some opens: values in blob files.
const BLOB: &[Row] = &[
    ("enable_blob_files", &["true"]),
    ("min_blob_size", &["", "1", "40"]),
    ("blob_file_size", &["", "3000"]),
    ("blob_compression_type", &["", "kLZ4Compression", "kZSTD", "kSnappyCompression"]),
    ("enable_blob_garbage_collection", &["", "true", "true"]),
    ("blob_garbage_collection_age_cutoff", &["", "0.5", "1.0"]),
    ("blob_garbage_collection_force_threshold", &["", "0.3"]),
    ("blob_file_starting_level", &["", "", "1"]),
    ("blob_compaction_readahead_size", &["", "4096"]),
];

/// How many openings of a hundred write blob files. The next opening of the same database may write none.
const BLOB_PERCENT: u64 = 35;

fn rows(out: &mut String, rows: &[Row], chance: &mut Chance) {
    for (name, values) in rows {
        let value = chance.pick(values);
        if !value.is_empty() {
            [*name, "=", *value, ";"].iter().for_each(|part| out.push_str(part));
        }
    }
}

/// Draws options for the next opening of a database.
pub fn draw(chance: &mut Chance, fixed: Fixed) -> Sample {
    let mut text = String::with_capacity(4096);
    // Use separate random numbers for these rows. Older seeds then draw the remaining options as before.
    let blobs = &mut Chance::new(chance.clone().next() ^ 0x626c_6f62);
    rows(&mut text, DB, chance);
    rows(&mut text, FAMILY, chance);
    if blobs.percent(BLOB_PERCENT) {
        rows(&mut text, BLOB, blobs);
    }
    // With universal compaction, a flush of RocksDB waits forever if one more file would slow writes and no
    // compaction is due yet.
    if text.contains("kCompactionStyleUniversal") {
        text = text.replace("level0_slowdown_writes_trigger=4;", "level0_slowdown_writes_trigger=6;");
    }
    match chance.below(4) {
        0 => text.push_str("enable_pipelined_write=true;"),
        1 => text.push_str("atomic_flush=true;"),
        _ => {}
    }
    if chance.percent(15) {
        text.push_str("memtable_factory=vector;allow_concurrent_memtable_write=false;");
    } else if chance.percent(30) {
        text.push_str("allow_concurrent_memtable_write=false;");
    }
    let prefix = chance.percent(40).then_some(2);
    if let Some(length) = prefix {
        text.push_str(&format!("prefix_extractor=fixed:{length};"));
    }
    let mut table = String::with_capacity(1024);
    rows(&mut table, TABLE, chance);
    let indexes = ["kBinarySearch", "kBinarySearchWithFirstKey", "kTwoLevelIndexSearch", "kHashSearch"];
    let index = indexes[chance.below(if prefix.is_some() { 4 } else { 3 }) as usize];
    table.push_str(&format!("index_type={index};"));
    if index == "kTwoLevelIndexSearch" && chance.percent(60) {
        table.push_str("partition_filters=true;");
    }
    match chance.below(5) {
        0 => table.push_str("no_block_cache=true;"),
        1 => table.push_str(
            "cache_index_and_filter_blocks=true;pin_l0_filter_and_index_blocks_in_cache=true;block_cache=20k;",
        ),
        2 => table.push_str("cache_index_and_filter_blocks=true;pin_top_level_index_and_filter=false;block_cache={capacity=8k;num_shard_bits=1;high_pri_pool_ratio=0.3;low_pri_pool_ratio=0.3};"),
        3 => table.push_str("block_cache=30k;metadata_cache_options={top_level_index_pinning=kAll;unpartitioned_pinning=kAll;partition_pinning=kFlushedAndSimilar};"),
        _ => {}
    }
    text.push_str(&format!("block_based_table_factory={{{table}}};"));
    text.push_str(&format!("num_levels={};merge_operator=stringappend;", fixed.levels));
    if fixed.plain {
        plain(&mut text, chance);
    }
    let comparator =
        if fixed.reverse { "rocksdb.ReverseBytewiseComparator" } else { "leveldb.BytewiseComparator" };
    let timestamps = if fixed.timestamps.are_on() { ".u64ts" } else { "" };
    text.push_str(&format!("comparator={comparator}{timestamps};{}", fixed.timestamps.text()));
    Sample { text, reverse: fixed.reverse, prefix }
}

const PLAIN: &[Row] = &[
    ("encoding_type", &["kPlain", "kPrefix"]),
    ("index_sparseness", &["", "0", "1", "3"]),
    ("store_index_in_file", &["false", "true"]),
    ("hash_table_ratio", &["", "0", "0.3"]),
    ("bloom_bits_per_key", &["", "0", "3"]),
];

/// Entries that a cuckoo table cannot hold are in block-based tables.
const CUCKOO: &[Row] = &[
    ("hash_table_ratio", &["", "0.5"]),
    ("max_search_depth", &["", "3", "200"]),
    ("cuckoo_block_size", &["", "1", "9"]),
    ("identity_as_first_hash", &["", "", "true"]),
    ("use_module_hash", &["", "false"]),
];

/// Draws options of plain and cuckoo tables, and memtables of all kinds.
fn plain(text: &mut String, chance: &mut Chance) {
    let mut table = String::new();
    rows(&mut table, PLAIN, chance);
    if chance.percent(30) {
        table.clear();
        rows(&mut table, CUCKOO, chance);
        text.push_str(&format!("table_factory={{id=CuckooTable;{table}}};ttl=0;"));
    } else {
        text.push_str(&format!("table_factory={{id=PlainTable;{table}}};ttl=0;"));
    }
    if chance.percent(30) {
        let name = chance.pick(&[
            "prefix_hash:10",
            "hash_linkedlist:10",
            "{id=prefix_hash;bucket_count=10;skiplist_height=3;branching_factor=2}",
            "{id=hash_linkedlist;bucket_count=10;huge_page_size=0;logging_threshold=5;log_when_flash=false}",
        ]);
        text.push_str(&format!("allow_concurrent_memtable_write=false;memtable_factory={name};"));
    }
    // Memory maps cannot be combined with direct reads.
    if chance.percent(50) {
        text.push_str("allow_mmap_reads=true;use_direct_reads=false;");
    }
}

/// Draws options as [`options`] does, for tests that open a thousand databases per second. Codecs and memtable
/// filters that clear megabytes of memory are drawn rarely.
pub fn small(chance: &mut Chance, fixed: Fixed) -> (Sample, ironstone::Options) {
    let (mut sample, mut options) = self::options(chance, fixed);
    let mut lighter = String::new();
    if sample.text.contains("kBZip2Compression") && chance.percent(90) {
        lighter.push_str("compression=kLZ4Compression;");
    }
    if options.family.write_buffer_size > 1 << 20 && chance.percent(95) {
        lighter.push_str("write_buffer_size=65536;");
    }
    options.update(&lighter).unwrap_or_else(|e| panic!("{lighter}: {e}"));
    sample.text.push_str(&lighter);
    (sample, options)
}

/// Draws until this release accepts the options.
pub fn options(chance: &mut Chance, fixed: Fixed) -> (Sample, ironstone::Options) {
    let sample = draw(chance, fixed);
    let mut options = ironstone::Options::default();
    options.update(&sample.text).unwrap_or_else(|e| panic!("{}: {e}", sample.text));
    options.db.create_if_missing = true;
    (sample, options)
}
