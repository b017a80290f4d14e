//! Rules about settings of blocks and dictionaries, and about settings that make one kind of work very frequent.

use super::finding::{Finding, Severity};
use super::{Facts, db_number, flag};
use crate::model::Database;
use crate::words;

/// Ranges of a file below this size are sent to the disk too often.
const SYNC_RANGE_MIN: f64 = 65_536.0;

/// An index partition below this size holds only some tens of keys.
const PARTITION_MIN: f64 = 1024.0;

/// A dictionary of more bytes is larger than the memory that it saves.
const DICTIONARY_MAX: f64 = 1_048_576.0;

/// With fewer entries, a rule about filters of prefixes reports nothing: a prefix can be short because there are few keys.
const PREFIX_ENTRIES_MIN: u64 = 10_000;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    sync_ranges(db).into_iter().chain(persisted_statistics(db)).collect()
}

/// Reports `bytes_per_sync` and `wal_bytes_per_sync` with a few kilobytes. 0 is the default: the system decides.
fn sync_ranges(db: &Database) -> Option<Finding> {
    let rows = [("bytes_per_sync", "1048576"), ("wal_bytes_per_sync", "524288")];
    let is_small =
        |name: &str| db_number(db, name).filter(|bytes| *bytes > 0.0 && *bytes < SYNC_RANGE_MIN).is_some();
    let small: Vec<_> = rows.into_iter().filter(|(name, _)| is_small(name)).collect();
    if small.is_empty() {
        return None;
    }
    let title = "Files are sent to the disk in very small ranges".to_string();
    let mut finding = Finding::new("small-sync-ranges", Severity::Warning, title);
    for (name, _) in &small {
        finding = finding.evidence(format!("{name}={}", db.db_option(name).unwrap_or_default()));
    }
    let changes: Vec<String> = small.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(
        finding
            .cost("Each range is a call of the system and a request to the disk, so flushes, compactions and WAL writes become many times slower.")
            .live(changes.join(";")),
    )
}

/// Reports statistics that are written to a hidden column family every few seconds.
fn persisted_statistics(db: &Database) -> Option<Finding> {
    let period = db_number(db, "stats_persist_period_sec")?;
    if flag(db, "persist_stats_to_disk") != Some(true) || !(1.0..=30.0).contains(&period) {
        return None;
    }
    let title = "Statistics are written to the database every few seconds".to_string();
    Some(
        Finding::new("persisted-statistics", Severity::Advice, title)
            .evidence("persist_stats_to_disk=true")
            .evidence(format!("stats_persist_period_sec={period}"))
            .cost("Each time, some hundred entries go to the WAL and to a hidden column family, and are flushed and compacted.")
            .live("stats_persist_period_sec=600"),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return Vec::new();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 9] = [
        index_partitions,
        aligned_blocks,
        coarse_prefix,
        read_bitmaps,
        slow_decompression,
        large_dictionary,
        narrow_merges,
        eager_blob_collection,
        short_skips,
    ];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn index_partitions(facts: &Facts<'_>) -> Option<Finding> {
    let size = facts.number("metadata_block_size")?;
    let is_partitioned = facts.is_on("partition_filters")
        || facts.text("index_type").as_deref() == Some("kTwoLevelIndexSearch");
    if !is_partitioned || size >= PARTITION_MIN {
        return None;
    }
    let tables = facts.family.files.iter().filter_map(|file| file.stats.as_ref());
    let held: u64 = tables.map(|stats| stats.index_bytes + stats.filter_bytes).sum();
    Some(
        facts
            .finding("small-index-partitions", Severity::Warning, "Partitions of the index are very small".to_string())
            .evidence(format!("metadata_block_size={size}"))
            .evidence(format!("index and filter blocks have {}", words::bytes(held)))
            .cost("The top index has an entry for each small partition, and a lookup reads one more block from a large number of blocks.")
            .live("block_based_table_factory={metadata_block_size=4096;}"),
    )
}

/// Reports aligned blocks that are larger than their entries by a quarter.
fn aligned_blocks(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_on("block_align") {
        return None;
    }
    let tables = facts.family.files.iter().filter_map(|file| file.stats.as_ref());
    let (data, raw) = tables.fold((0_u64, 0_u64), |(data, raw), stats| {
        let entries = stats.raw_key_bytes.saturating_add(stats.raw_value_bytes);
        (data.saturating_add(stats.data_bytes), raw.saturating_add(entries))
    });
    if raw == 0 || data / 5 < raw / 4 {
        return None;
    }
    let size = facts.text("block_size").unwrap_or_default();
    Some(
        facts
            .finding("aligned-blocks", Severity::Advice, "A large part of each block is padding".to_string())
            .evidence(format!("block_align=true, block_size={size}"))
            .evidence(format!("keys and values of {} use {}", words::bytes(raw), words::bytes(data)))
            .cost("Each block ends at a multiple of 4 KiB. The padding uses disk space, and a read loads it.")
            .live("block_based_table_factory={block_align=false;}"),
    )
}

/// Reports filters that hold only a few prefixes. Such a filter excludes no file.
fn coarse_prefix(facts: &Facts<'_>) -> Option<Finding> {
    let prefix = facts.text("prefix_extractor").filter(|name| !matches!(name.trim(), "" | "nullptr"))?;
    if facts.text("whole_key_filtering").as_deref() != Some("false") {
        return None;
    }
    let tables = facts.family.files.iter().filter_map(|file| file.stats.as_ref());
    let filtered = tables.filter(|stats| stats.filter_bytes > 0);
    let (entries, bytes) = filtered.fold((0_u64, 0_u64), |(entries, bytes), stats| {
        (entries.saturating_add(stats.entries), bytes.saturating_add(stats.filter_bytes))
    });
    // A filter has about 10 bits for each of its prefixes: one prefix for 100 entries.
    if entries < PREFIX_ENTRIES_MIN || bytes.saturating_mul(80) >= entries {
        return None;
    }
    Some(
        facts
            .finding("coarse-prefix", Severity::Advice, "The filters hold only a few prefixes".to_string())
            .evidence(format!("prefix_extractor={prefix}, whole_key_filtering=false"))
            .evidence(format!("{} have filters of {}", words::of(entries, "entry"), words::bytes(bytes)))
            .cost("Almost every file has the prefix of a lookup, so a lookup of a missing key reads a block of each sorted run.")
            .live("block_based_table_factory={whole_key_filtering=true;}"),
    )
}

/// Reports the measurement of read amplification with a fine resolution.
fn read_bitmaps(facts: &Facts<'_>) -> Option<Finding> {
    let bytes = facts.number("read_amp_bytes_per_bit")?;
    if !(1.0..=8.0).contains(&bytes) {
        return None;
    }
    let percent = 100.0 / 8.0 / bytes;
    Some(
        facts
            .finding("read-bitmaps", Severity::Advice, "Each cached block has a bitmap of its reads".to_string())
            .evidence(format!("read_amp_bytes_per_bit={bytes}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost(format!("The bitmaps need {percent:.1} % more memory in the block cache, and each read of an entry sets a bit."))
            .live("block_based_table_factory={read_amp_bytes_per_bit=0;}"),
    )
}

fn slow_decompression(facts: &Facts<'_>) -> Option<Finding> {
    let mut rows = vec![
        ("compression", "kLZ4Compression"),
        ("bottommost_compression", "kZSTD"),
        ("compression_per_level", ""),
    ];
    if facts.is_on("enable_blob_files") {
        rows.push(("blob_compression_type", "kLZ4Compression"));
    }
    let is_slow = |name: &str| facts.text(name).is_some_and(|text| text.contains("kBZip2Compression"));
    rows.retain(|(name, _)| is_slow(name));
    if rows.is_empty() {
        return None;
    }
    let used: Vec<String> =
        rows.iter().map(|(name, _)| format!("{name}={}", facts.text(name).unwrap_or_default())).collect();
    let changes: Vec<String> = rows.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(
        facts
            .finding("slow-decompression", Severity::Warning, "Blocks or blobs are compressed with bzip2".to_string())
            .evidence(used.join(", "))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost("bzip2 decompresses some 20 to 40 MB per second. Each block that is not in the block cache costs a read some 100 microseconds.")
            .live(changes.join(";")),
    )
}

fn large_dictionary(facts: &Facts<'_>) -> Option<Finding> {
    let bytes = facts.number("compression_opts.max_dict_bytes")?;
    if bytes < DICTIONARY_MAX {
        return None;
    }
    Some(
        facts
            .finding("large-dictionary", Severity::Warning, "Dictionaries of the compression are very large".to_string())
            .evidence(format!("compression_opts={{max_dict_bytes={bytes};}}"))
            .evidence(words::of(facts.family.files.len() as u64, "SST file"))
            .cost("Each SST file stores a dictionary, and each open file keeps it in memory. A flush and a compaction first buffer the blocks of a file.")
            .live("compression_opts={max_dict_bytes=16384;zstd_max_train_bytes=1638400;}"),
    )
}

/// Reports universal compactions that may merge only two or three sorted runs.
fn narrow_merges(facts: &Facts<'_>) -> Option<Finding> {
    let width = facts.number("compaction_options_universal.max_merge_width")?;
    if !facts.is_universal() || width >= 4.0 {
        return None;
    }
    Some(
        facts
            .finding("narrow-merges", Severity::Warning, format!("A compaction merges at most {width} sorted runs"))
            .evidence(format!("compaction_options_universal={{max_merge_width={width};}}"))
            .evidence(format!("{} exist", words::of(facts.family.sorted_runs() as u64, "sorted run")))
            .cost("An entry takes part in many small compactions until it is in the last sorted run, so each byte is written more often.")
            .live("compaction_options_universal={max_merge_width=4294967295;}"),
    )
}

/// Reports a collection of blobs that copies the blobs of almost all blob files.
fn eager_blob_collection(facts: &Facts<'_>) -> Option<Finding> {
    let cutoff = facts.number("blob_garbage_collection_age_cutoff")?;
    let force = facts.number("blob_garbage_collection_force_threshold").unwrap_or(1.0);
    if !facts.is_on("enable_blob_garbage_collection")
        || facts.family.blobs.is_empty()
        || cutoff < 0.9 && force >= 0.1
    {
        return None;
    }
    let bytes: u64 = facts.family.blobs.iter().map(|blob| blob.bytes).sum();
    if cutoff < 0.9 {
        let title = "A little garbage starts a compaction for blob files".to_string();
        return Some(
            facts
                .finding("forced-blob-collection", Severity::Warning, title)
                .evidence(format!("blob_garbage_collection_force_threshold={force}"))
                .evidence(format!("{} in blob files", words::bytes(bytes)))
                .cost("As soon as this share of the oldest blob files is garbage, a compaction copies all their other blobs.")
                .live("blob_garbage_collection_force_threshold=1"),
        );
    }
    Some(
        facts
            .finding("eager-blob-collection", Severity::Warning, "Each compaction copies the blobs of its entries".to_string())
            .evidence(format!("blob_garbage_collection_age_cutoff={cutoff}: almost all blob files are old enough"))
            .evidence(format!("{} in blob files", words::bytes(bytes)))
            .cost("Blob files save the copies of large values in compactions. With this cutoff, a compaction copies them again.")
            .live("blob_garbage_collection_age_cutoff=0.25"),
    )
}

fn short_skips(facts: &Facts<'_>) -> Option<Finding> {
    if facts.number("max_sequential_skip_in_iterations")? >= 1.0 {
        return None;
    }
    Some(
        facts
            .finding("short-skips", Severity::Advice, "An iterator seeks at each old entry".to_string())
            .evidence("max_sequential_skip_in_iterations=0")
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("A seek searches each level again. A step to the next entry is much cheaper, and most keys have few old entries.")
            .live("max_sequential_skip_in_iterations=8"),
    )
}
