//! The options of a column family, from the flags.

use base::{Error, Result};
use compress::Compression;
use ironstone::FamilyOptions;

use super::{by_number, compression, tables};
use crate::bench::flag_table::Target;
use crate::bench::flags::Flags;

/// Sets the options of a column family.
pub(super) fn family(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
    for (target, text) in flags.options() {
        if let Target::Family(name) = target {
            family.set(name, &text)?;
        }
    }
    memtable(flags, family)?;
    if flags.bool("memtable_use_huge_page") {
        family.set("memtable_huge_page_size", "2048")?;
    }
    compaction(flags, family)?;
    compressions(flags, family)?;
    keys(flags, family)?;
    blobs(flags, family)?;
    if !flags.text("merge_operator").is_empty() {
        family.set("merge_operator", flags.text("merge_operator"))?;
    }
    if !flags.text("max_bytes_for_level_multiplier_additional").is_empty() {
        let list = flags.text("max_bytes_for_level_multiplier_additional").replace(',', ":");
        family.set("max_bytes_for_level_multiplier_additional", &list)?;
    }
    tables::table(flags, family)
}

/// Sets the compaction style, the order of the files, and the options of the style.
fn compaction(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
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
    universal(flags, family)
}

/// Sets the compression type of each level and the options of the compression.
fn compressions(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
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
    ))
}

/// Sets the prefix extractor and the comparator.
fn keys(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
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
    Ok(())
}

/// Sets the memtable of `--memtablerep`. The names are those of RocksDB's `CreateMemTableRepFactory`. Each has a flag
/// for its size.
fn memtable(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
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

fn universal(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
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

fn blobs(flags: &Flags, family: &mut FamilyOptions) -> Result<()> {
    family.set("blob_compression_type", compression(flags, "blob_compression_type")?.option_name())?;
    if flags.bool("use_blob_cache") {
        family.set(
            "prepopulate_blob_cache",
            by_number(flags, "prepopulate_blob_cache", &["kDisable", "kFlushOnly"])?,
        )?;
    }
    Ok(())
}
