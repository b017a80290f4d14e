//! The options as lines of the info log, in RocksDB's wording, because programs parse these lines.
//!
//! `database.txt` and `family.txt` hold the lines in order. A letter after `%` stands for the value:
//!
//! | letter | value |
//! |---|---|
//! | `%t` | the text of the option |
//! | `%b` | a boolean as 0 or 1 |
//! | `%n` | the number of an enum |
//! | `%c` | the short name of a compression |
//! | `%d` | as `%c`, but `Disabled` if no compression is chosen |
//! | `%o` | the name of a component, or `None` |
//! | `%u` | the name of a component, or `Unknown` |
//! | `%x` | a value that is not an option |
//! | `%?` | as `%x` or the text of the option, but the line is left out in some cases |
//!
//! Source: RocksDB `options/db_options.cc`, `options/options.cc`, `table/block_based/block_based_table_factory.cc`.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use mem::cache::Kind;
use table::options::{BlockBasedTableOptions, WrittenTable};
use table::sst::BlockCache;

use super::known::Known;
use super::text::{DB_KNOWN, FAMILY_KNOWN};
use super::{AdaptiveTables, CompressionType, DbOptions, FamilyOptions, Row, TableFactory, Value};

const DATABASE: &str = include_str!("database.txt");
const FAMILY: &str = include_str!("family.txt");

static DATABASE_LINES: LazyLock<Vec<Line>> =
    LazyLock::new(|| DATABASE.lines().map(|l| Line::of(l, &DB_KNOWN)).collect());
static FAMILY_LINES: LazyLock<Vec<Line>> =
    LazyLock::new(|| FAMILY.lines().map(|l| Line::of(l, &FAMILY_KNOWN)).collect());

/// A line of `database.txt` or `family.txt`, split into its parts.
struct Line {
    /// The text before the value. The whole line, if the line has no value.
    label: &'static str,
    name: &'static str,
    kind: &'static str,
    /// The index of the option among the rows. `None` if the line shows no option.
    row: Option<usize>,
}

impl Line {
    fn of(line: &'static str, known: &Known) -> Line {
        let (label, kind) = line.rsplit_once('%').unwrap_or((line, ""));
        let name = label.trim().trim_start_matches("Options.").trim_end_matches(':').trim_end();
        Line { label, name, kind, row: known.places.get(name).copied() }
    }

    /// Returns the text of the option, if the line shows an option. The text of a default is known and need not be
    /// printed.
    fn text<T>(&self, rows: &[Row<T>], known: &Known, options: &T, default: &T) -> Option<String> {
        let at = self.row?;
        let row = &rows[at];
        Some(if (row.is_same)(options, default) { known.texts[at].clone() } else { (row.print)(options) })
    }

    fn with(&self, value: &str) -> String {
        [self.label, value].concat()
    }
}

impl DbOptions {
    /// Returns the lines of the info log, without time and thread.
    pub fn log_lines(&self) -> Vec<String> {
        let default = DbOptions::default();
        let text =
            |line: &Line| line.text(Self::ROWS, &DB_KNOWN, self, &default).or_else(|| self.get(line.name));
        DATABASE_LINES
            .iter()
            .filter_map(|line| Some(line.with(&self.log_value(line, || text(line))?)))
            .collect()
    }

    fn log_value(&self, line: &Line, text: impl FnOnce() -> Option<String>) -> Option<String> {
        match (line.name, line.kind) {
            ("wal_recovery_mode", "n") => Some((self.wal_recovery_mode as u8).to_string()),
            ("wal_compression", "n") => Some(self.wal_compression.0.to_string()),
            (_, "x" | "?") | ("row_cache", _) => self.log_component(line.name),
            (_, "") => None,
            _ => shown(text()?, line.kind),
        }
    }

    /// Returns the values of lines that show no option. Most of these values are addresses of objects.
    fn log_component(&self, name: &str) -> Option<String> {
        Some(match name {
            "env" => pointer(Some(&self.env.fs)),
            "fs" => file_system_name(self.env.fs.name()),
            "info_log" => pointer(self.info_log.as_ref()),
            "statistics" => pointer(self.statistics.as_ref()),
            "statistics stats level" => (self.statistics.as_ref()?.level() as u8).to_string(),
            "write_buffer_manager" => pointer(self.write_buffer_manager.as_ref()),
            "rate_limiter" => pointer(self.rate_limiter.as_ref()),
            "sst_file_manager.rate_bytes_per_sec" => {
                self.sst_file_manager.as_ref().map_or(0, |m| m.options().rate_bytes_per_sec).to_string()
            }
            "row_cache" => self
                .row_cache
                .as_ref()
                .map_or_else(|| "None".to_string(), |cache| cache.capacity().to_string()),
            _ => "None".to_string(),
        })
    }
}

impl FamilyOptions {
    /// Returns the lines of the info log, without time and thread. The options of the table are one line with line
    /// breaks.
    pub fn log_lines(&self, cache: Option<&Arc<BlockCache>>) -> Vec<String> {
        let default = FamilyOptions::default();
        let text = |line: &Line| {
            line.text(Self::ROWS, &FAMILY_KNOWN, self, &default).or_else(|| self.get(line.name))
        };
        let mut lines = Vec::with_capacity(FAMILY_LINES.len());
        for line in FAMILY_LINES.iter() {
            if line.label == "@multipliers" {
                let all = self.max_bytes_for_level_multiplier_additional.iter().enumerate();
                lines.extend(
                    all.map(|(i, n)| format!("Options.max_bytes_for_level_multiplier_addtl[{i}]: {n}")),
                );
            } else if let Some(label) = line.label.strip_suffix("@table") {
                lines.push(format!("{label}{}", self.log_table(cache)));
            } else if line.name == "compression" && !self.compression_per_level.is_empty() {
                let all = self.compression_per_level.iter().enumerate();
                lines.extend(all.map(|(i, c)| format!("       Options.compression[{i}]: {}", c.log_name())));
            } else {
                lines.extend(self.log_value(line, || text(line)).map(|value| line.with(&value)));
            }
        }
        lines
    }

    fn log_value(&self, line: &Line, text: impl FnOnce() -> Option<String>) -> Option<String> {
        let compression = match line.name {
            "compression" => self.compression,
            "bottommost_compression" => self.bottommost_compression,
            _ => self.blob_compression_type,
        };
        match (line.name, line.kind) {
            ("merge_operator", _) => {
                Some(self.merge_operator.as_ref().map_or("None", |operator| operator.name()).to_string())
            }
            ("prefix_extractor" | "memtable_insert_with_hint_prefix_extractor", _) => {
                let text = text()?;
                let class =
                    ["rocksdb.FixedPrefix", "rocksdb.CappedPrefix"].into_iter().find(|c| text.starts_with(c));
                Some(class.map_or(text.clone(), str::to_string))
            }
            ("table_properties_collectors", _) => {
                Some(self.table_properties_collectors.iter().map(|c| c.log_text() + ";").collect())
            }
            ("memtable_factory", _) => Some(self.memtable_factory.name().to_string()),
            (_, "d") if compression == CompressionType::DISABLE => Some("Disabled".to_string()),
            (_, "c" | "d") => Some(compression.log_name()),
            (_, "?") if self.comparator.timestamp_size() == 0 => None,
            (_, "") => None,
            _ => shown(text()?, line.kind),
        }
    }

    fn log_table(&self, cache: Option<&Arc<BlockCache>>) -> String {
        match &self.table_factory {
            TableFactory::BlockBased(table) => table_lines(table, cache),
            other => other_table_lines(other),
        }
    }
}

/// Returns the text of an option in the form of a kind of line.
fn shown(text: String, kind: &str) -> Option<String> {
    Some(match (kind, text.as_str()) {
        ("b", "true") => "1".to_string(),
        ("b", "false") => "0".to_string(),
        ("o", "nullptr") => "None".to_string(),
        ("u", "nullptr") => "Unknown".to_string(),
        _ => text,
    })
}

/// Returns RocksDB's name of a file system whose name here is shorter.
fn file_system_name(name: &str) -> String {
    if name == "posix" { "PosixFileSystem".to_string() } else { name.to_string() }
}

fn pointer<T: ?Sized>(thing: Option<&Arc<T>>) -> String {
    thing.map_or("(nil)".to_string(), |thing| format!("{:p}", Arc::as_ptr(thing).cast::<()>()))
}

/// Returns the options of a plain, cuckoo or adaptive table, one per line. RocksDB: `GetPrintableOptions` of each
/// factory.
fn other_table_lines(factory: &TableFactory) -> String {
    let texts = factory.statements();
    let shown_names: &[&str] = match factory {
        TableFactory::Plain(_) => &[
            "user_key_len",
            "bloom_bits_per_key",
            "hash_table_ratio",
            "index_sparseness",
            "huge_page_tlb_size",
            "encoding_type",
            "full_scan_mode",
            "store_index_in_file",
        ],
        TableFactory::Cuckoo(_) => {
            &["hash_table_ratio", "max_search_depth", "cuckoo_block_size", "identity_as_first_hash"]
        }
        TableFactory::Adaptive(tables) => return adaptive_lines(tables),
        TableFactory::BlockBased(_) | TableFactory::Other { .. } => &[],
    };
    let line = |name: &&str| {
        let (_, text) = texts.iter().find(|(option, _)| option == name)?;
        let text = match text.as_str() {
            "true" | "kPrefix" => "1",
            "false" | "kPlain" => "0",
            text => text,
        };
        Some(format!("  {name}: {text}\n"))
    };
    shown_names.iter().filter_map(line).collect()
}

fn adaptive_lines(tables: &AdaptiveTables) -> String {
    let plain = TableFactory::Plain(tables.plain.clone());
    let block_based = TableFactory::BlockBased(tables.block_based.clone());
    let cuckoo = TableFactory::Cuckoo(tables.cuckoo.clone());
    let lines = |factory: &TableFactory| match factory {
        TableFactory::BlockBased(table) => table_lines(table, None),
        other => other_table_lines(other),
    };
    let written = match tables.written {
        WrittenTable::BlockBased => &block_based,
        WrittenTable::Plain => &plain,
        WrittenTable::Cuckoo => &cuckoo,
    };
    let mut out = format!("  write factory ({}) options:\n{}\n", written.name(), lines(written));
    for factory in [&plain, &block_based, &cuckoo] {
        out.push_str(&format!("  {} options:\n{}\n", factory.name(), lines(factory)));
    }
    out
}

/// Returns the options of a block-based table, one per line.
pub(super) fn table_lines(table: &BlockBasedTableOptions, cache: Option<&Arc<BlockCache>>) -> String {
    let mut out = String::new();
    let bit = u8::from;
    let mut row = |name: &str, value: &dyn std::fmt::Display| {
        let line = format!("  {name}: {value}");
        let _ = writeln!(out, "{}", line.trim_end());
    };
    let policy = Value::print(&table.flush_block_policy_factory);
    row("flush_block_policy_factory", &format_args!("{policy} ((nil))"));
    row("cache_index_and_filter_blocks", &bit(table.cache_index_and_filter_blocks));
    row(
        "cache_index_and_filter_blocks_with_high_priority",
        &bit(table.cache_index_and_filter_blocks_with_high_priority),
    );
    row("pin_l0_filter_and_index_blocks_in_cache", &bit(table.pin_l0_filter_and_index_blocks_in_cache));
    row("pin_top_level_index_and_filter", &bit(table.pin_top_level_index_and_filter));
    row("index_type", &(table.index_type as u8));
    row("data_block_index_type", &(table.data_block_index_type as u8));
    row("index_shortening", &(table.index_shortening as u8));
    row("data_block_hash_table_util_ratio", &Value::print(&table.data_block_hash_table_util_ratio));
    row("checksum", &(table.checksum as u8));
    row("no_block_cache", &bit(table.no_block_cache));
    row("block_cache", &pointer(cache));
    if let Some(cache) = cache {
        row("block_cache_name", &cache.options().name());
        row("block_cache_options", &"");
        row("  capacity ", &cache.capacity());
        row("  num_shard_bits ", &cache.num_shards().ilog2());
        row("  strict_capacity_limit ", &bit(cache.strict_capacity_limit()));
        row("  memory_allocator ", &"None");
        if let Kind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low } = cache.options().kind {
            row("  high_pri_pool_ratio", &format_args!("{high:.3}"));
            row("  low_pri_pool_ratio", &format_args!("{low:.3}"));
        }
    }
    row("persistent_cache", &pointer(table.persistent_cache.cache.as_ref()));
    row("block_size", &table.block_size);
    row("block_size_deviation", &table.block_size_deviation);
    row("block_restart_interval", &table.block_restart_interval);
    row("index_block_restart_interval", &table.index_block_restart_interval);
    row("metadata_block_size", &table.metadata_block_size);
    row("partition_filters", &bit(table.partition_filters));
    row("use_delta_encoding", &bit(table.use_delta_encoding));
    row("filter_policy", &table.filter_policy.as_ref().map_or("nullptr", |policy| policy.name()));
    row("user_defined_index_factory", &"nullptr");
    row("use_udi_as_primary_index", &bit(table.use_udi_as_primary_index));
    row("fail_if_no_udi_on_open", &bit(table.fail_if_no_udi_on_open));
    row("whole_key_filtering", &bit(table.whole_key_filtering));
    row("verify_compression", &bit(table.verify_compression));
    row("read_amp_bytes_per_bit", &table.read_amp_bytes_per_bit);
    row("format_version", &table.format_version);
    row("uniform_cv_threshold", &Value::print(&table.uniform_cv_threshold));
    row("enable_index_compression", &bit(table.enable_index_compression));
    row("block_align", &bit(table.block_align));
    row("super_block_alignment_size", &table.super_block_alignment_size);
    row("super_block_alignment_space_overhead_ratio", &table.super_block_alignment_space_overhead_ratio);
    row("max_auto_readahead_size", &table.max_auto_readahead_size);
    row("prepopulate_block_cache", &(table.prepopulate_block_cache as u8));
    row("initial_auto_readahead_size", &table.initial_auto_readahead_size);
    row("num_file_reads_for_auto_readahead", &table.num_file_reads_for_auto_readahead);
    out
}
