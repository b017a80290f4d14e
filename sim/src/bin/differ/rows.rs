//! Options for each open, drawn as option text that both engines read.

use ironstone_sim::sample::{self, Fixed};
use testkit::chance::Chance;

/// The options of an open.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The option text of the database. Options of column families in this text are ignored.
    pub db: String,
    pub fixed: Fixed,
    pub seed: u64,
    /// If set, no column family writes blob files.
    pub plain: bool,
    /// More option text of column families whose writes put values into blob files before the WAL. Empty for most opens.
    pub direct: String,
}

/// The prefix extractors that can be drawn, with their names in option text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    None,
    Fixed(usize),
    Capped(usize),
    Noop,
}

impl Prefix {
    /// Returns the prefix of a key, or `None` if the key has no prefix.
    pub fn of<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        match self {
            Prefix::None => None,
            Prefix::Fixed(n) => key.get(..*n),
            Prefix::Capped(n) => Some(&key[..key.len().min(*n)]),
            Prefix::Noop => Some(key),
        }
    }
}

/// Options of column families in addition to those of the simulator.
const MORE: &[(&str, &[&str])] = &[
    ("max_successive_merges", &["", "", "3"]),
    ("memtable_max_range_deletions", &["", "", "5"]),
    ("paranoid_file_checks", &["", "", "true"]),
    ("sample_for_compression", &["", "", "3"]),
    ("compression_per_level", &["", "", "kNoCompression:kSnappyCompression:kZSTD"]),
    ("target_file_size_is_upper_bound", &["", "true"]),
    ("max_bytes_for_level_multiplier_additional", &["", "", "2:1:3"]),
    ("level0_stop_writes_trigger", &["", "12"]),
    ("periodic_compaction_seconds", &["", "", "100000"]),
    ("verify_output_flags", &["", "", "4294967295"]),
];

const MORE_DB: &[(&str, &[&str])] = &[
    ("wal_compression", &["", "", "kZSTD"]),
    ("wal_recovery_mode", &["", "kAbsoluteConsistency", "kTolerateCorruptedTailRecords"]),
    ("verify_manifest_content_on_close", &["", "", "true"]),
    ("prefix_seek_opt_in_only", &["", "", "", "true"]),
    ("allow_concurrent_memtable_write", &["", "", "false"]),
    ("delayed_write_rate", &["", "100000000"]),
    ("max_background_jobs", &["", "1", "4"]),
    ("use_direct_reads", &["", "", "", "false"]),
    ("skip_stats_update_on_db_open", &["", "true"]),
    ("flush_verify_memtable_count", &["", "true"]),
    ("compaction_verify_record_count", &["", "true"]),
    ("verify_sst_unique_id_in_manifest", &["", "false"]),
    // Both engines refuse an open that writes the identity of the database nowhere.
    ("write_dbid_to_manifest", &["", "false", "true;write_identity_file=false"]),
    // On a file system in memory, space allocated ahead takes half of the running time.
    ("allow_fallocate", &["false", "false", "false", "false", "false", "false", "false", "true"]),
];

const ABSOLUTE: &str = "kAbsoluteConsistency";

/// The names of the column families. Each has one merge operator for its whole life.
pub const NAMES: &[(&str, &str)] = &[
    ("default", "stringappend"),
    ("adds", "uint64add"),
    ("greatest", "max"),
    ("none", ""),
    ("xors", "bytesxor"),
    ("commas", "stringappendtest"),
    ("semicolons", "StringAppendOperator:;"),
    ("last", "put"),
];

/// Returns the merge operator of a column family, or an empty text if the column family has none.
pub fn operator(name: &str) -> &'static str {
    NAMES.iter().find(|(own, _)| *own == name).map_or("", |(_, operator)| operator)
}

fn more(out: &mut String, rows: &[(&str, &[&str])], chance: &mut Chance) {
    for (name, values) in rows {
        let value = chance.pick(values);
        if !value.is_empty() {
            out.push_str(&format!("{name}={value};"));
        }
    }
}

impl Opening {
    /// Draws the options of one open. Equal seeds give equal options. `fixed` are the options that every open
    /// shares.
    pub fn draw(seed: u64, fixed: Fixed) -> Opening {
        let chance = &mut Chance::new(seed);
        let mut db = sample::draw(chance, fixed).text;
        more(&mut db, MORE_DB, chance);
        db.push_str(
            "create_if_missing=true;keep_log_file_num=1;info_log_level=FATAL_LEVEL;max_file_opening_threads=1;\
             stats_dump_period_sec=0;stats_persist_period_sec=0;",
        );
        let direct = sample::rare::direct_writes(seed, fixed);
        db.push_str(&direct);
        Opening { db, fixed, seed, plain: false, direct }
    }

    /// Returns true if obsolete WALs are recycled.
    pub fn recycles(&self) -> bool {
        let kept = ["WAL_ttl_seconds=1000", ABSOLUTE, "kTolerateCorruptedTailRecords"];
        self.db.contains("recycle_log_file_num=3") && !kept.iter().any(|word| self.db.contains(word))
    }

    /// Returns true if recovery rejects every corrupt record.
    pub fn is_absolute(&self) -> bool {
        self.db.contains(ABSOLUTE)
    }

    /// Returns the same options with RocksDB's default recovery mode.
    pub fn lenient(&self) -> Opening {
        Opening { db: self.db.replace(ABSOLUTE, "kPointInTimeRecovery"), ..self.clone() }
    }

    /// Returns true if the close loses writes that are in no WAL.
    pub fn loses_unlogged(&self) -> bool {
        self.db.contains("avoid_flush_during_shutdown=true")
    }

    /// Returns the option text of a column family and its prefix extractor.
    pub fn family(&self, name: &str) -> (String, Prefix) {
        let salt = name.bytes().fold(7u64, |n, b| n.wrapping_mul(31).wrapping_add(u64::from(b)));
        let chance = &mut Chance::new(self.seed ^ salt);
        let sample = sample::draw(chance, self.fixed);
        let mut text = sample.text;
        more(&mut text, MORE, chance);
        // Large memtables keep more entries in memory. Small memtables write to files earlier. The default of 64 MiB
        // costs more time, for the memtable and for the space of the WAL, than the writes of these short scripts.
        let default = !text.contains(";write_buffer_size=");
        if chance.percent(30) || (default && chance.percent(95)) {
            text.push_str("write_buffer_size=1048576;");
        }
        let mut prefix = Prefix::None;
        if sample.prefix.is_some() {
            let (kind, words) = *chance.pick(&[
                (Prefix::Fixed(1), "fixed:1"),
                (Prefix::Fixed(2), "fixed:2"),
                (Prefix::Fixed(2), "rocksdb.FixedPrefix.2"),
                (Prefix::Fixed(4), "fixed:4"),
                (Prefix::Capped(3), "capped:3"),
                (Prefix::Noop, "rocksdb.Noop"),
            ]);
            // RocksDB's hash index takes the timestamp into the prefix of a transform that keeps the whole key:
            // `BlockPrefixIndex::GetBlocks` applies the transform to the key with its timestamp.
            let whole = kind == Prefix::Noop && self.fixed.timestamps.are_on();
            let (kind, words) = if whole { (Prefix::Fixed(2), "fixed:2") } else { (kind, words) };
            prefix = kind;
            text = text.replace("prefix_extractor=fixed:2", &format!("prefix_extractor={words}"));
        }
        if text.contains("index_type=kHashSearch") {
            text = text.replace("index_block_restart_interval=3", "index_block_restart_interval=1");
        }
        let operator = operator(name);
        let merge = match operator {
            "" => "merge_operator=nullptr".to_string(),
            "StringAppendOperator:;" => "merge_operator={id=StringAppendOperator;delimiter=|}".to_string(),
            name => format!("merge_operator={name}"),
        };
        text = text.replace("merge_operator=stringappend", &merge);
        if chance.percent(60) {
            text.push_str(&self.direct);
        }
        if operator == "max" || self.plain {
            // The operator "max" returns its base value, and RocksDB's iterators free a base value from a blob file before the
            // caller reads it: `DBIter::MergeWithBlobBaseValue`.
            text.push_str("enable_blob_files=false;");
        }
        (text, prefix)
    }
}

/// Returns a merge operand. Most operands are valid for the operator of the column family.
pub fn operand(name: &str, serial: u64) -> Vec<u8> {
    match operator(name) {
        "uint64add" if serial.is_multiple_of(30) => b"odd".to_vec(),
        "uint64add" => (serial * 0x0123_4567).to_le_bytes().to_vec(),
        "bytesxor" => serial.to_le_bytes()[..1 + (serial % 8) as usize].to_vec(),
        _ => format!("m{serial}").into_bytes(),
    }
}

/// Live changes of options, valid and invalid. The boolean says that the option belongs to the database.
pub const LIVE: &[(bool, &str, &str)] = &[
    (false, "write_buffer_size", "131072"),
    (false, "write_buffer_size", "65536"),
    (false, "disable_auto_compactions", "true"),
    (false, "disable_auto_compactions", "false"),
    (false, "level0_file_num_compaction_trigger", "3"),
    (false, "max_bytes_for_level_base", "10000"),
    (false, "target_file_size_base", "2000"),
    (false, "compression", "kLZ4Compression"),
    (false, "max_sequential_skip_in_iterations", "1"),
    (false, "paranoid_file_checks", "true"),
    (false, "memtable_prefix_bloom_size_ratio", "0.2"),
    (false, "block_based_table_factory", "{block_size=700}"),
    (false, "num_levels", "3"),
    (false, "no_such_option", "1"),
    (false, "write_buffer_size", "many"),
    (false, "max_write_buffer_number", "-x"),
    (false, "compression", "kNoSuchCompression"),
    (true, "max_background_jobs", "3"),
    (true, "bytes_per_sync", "5000"),
    (true, "max_open_files", "20"),
    (true, "stats_dump_period_sec", "0"),
    (true, "avoid_flush_during_shutdown", "false"),
    (true, "create_if_missing", "false"),
    (true, "wal_dir", "elsewhere"),
    (true, "no_such_option", "1"),
    (true, "max_subcompactions", "few"),
    (true, "max_total_wal_size", "40000"),
];

/// Option strings that one engine could accept and the other reject.
pub const TEXTS: &[&str] = &[
    "",
    ";",
    "write_buffer_size=1000",
    "write_buffer_size = 1000 ;",
    "write_buffer_size=1k",
    "write_buffer_size=1x",
    "write_buffer_size=0x10000",
    "write_buffer_size=-1",
    "write_buffer_size=",
    "write_buffer_size",
    "=1",
    "no_such_option=1",
    "create_if_missing=yes",
    "create_if_missing=1",
    "create_if_missing=True",
    "max_open_files=-1",
    "max_open_files=99999999999",
    "num_levels=2.5",
    "compression=kSnappyCompression",
    "compression=snappy",
    "compression_per_level=kNoCompression:kZSTD",
    "compression_per_level=kNoCompression:",
    "block_based_table_factory={block_size=4096}",
    "block_based_table_factory={block_size=4096",
    "block_based_table_factory={no_such=1}",
    "block_based_table_factory={filter_policy=bloomfilter:10:false}",
    "block_based_table_factory={filter_policy=bloomfilter:x}",
    "block_based_table_factory={index_type=kNoSuch}",
    "block_based_table_factory={checksum=kXXH3;format_version=7}",
    "merge_operator=uint64add",
    "merge_operator=no_such_operator",
    "comparator=no_such_comparator",
    "prefix_extractor=fixed:3",
    "prefix_extractor=fixed:x",
    "prefix_extractor=nullptr",
    "compaction_style=kCompactionStyleUniversal",
    "compaction_style=1",
    "compaction_pri=kRoundRobin",
    "max_bytes_for_level_multiplier=1.5",
    "max_bytes_for_level_multiplier=x",
    "wal_recovery_mode=kAbsoluteConsistency",
    "memtable_factory=vector",
    "memtable_factory=skip_list",
    "memtable_factory=no_such",
    "{write_buffer_size=1000}",
    "write_buffer_size=1000;write_buffer_size=2000",
    "compaction_options_universal={size_ratio=10}",
    "compaction_options_universal={no_such=10}",
    "ttl=100",
    "rate_limiter_bytes_per_sec=1000",
    "max_background_jobs=2;max_subcompactions=3",
];

/// Option strings that RocksDB accepts, in part or with silent omissions, and that Ironstone rejects:
/// `docs/differences.md`.
pub const LISTED: &[&str] = &[
    "write_buffer_size=1x",
    "write_buffer_size=0x10000",
    "write_buffer_size=-1",
    "num_levels=2.5",
    "block_based_table_factory={filter_policy=bloomfilter:x}",
    "merge_operator=no_such_operator",
    "comparator=no_such_comparator",
    "prefix_extractor=fixed:x",
    "memtable_factory=no_such",
];
