//! Rules about filters, blocks, open files and tombstones.

use base::Level;

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES, db_number};
use crate::model::Database;
use crate::words;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    open_files(db).into_iter().collect()
}

fn open_files(db: &Database) -> Option<Finding> {
    let limit = db_number(db, "max_open_files").filter(|limit| *limit >= 0.0)?;
    // The limit also covers files that are not SST files.
    let tables = db.sst_count() as f64;
    if db.sst_bytes() < SMALL_BYTES || !db.knows_options() || tables + 10.0 <= limit.max(20.0) {
        return None;
    }
    Some(
        Finding::new("few-open-files", Severity::Warning, "Reads open SST files again and again".to_string())
            .evidence(format!("max_open_files={limit}"))
            .evidence(format!("{} are live", words::of(db.sst_count() as u64, "SST file")))
            .cost("A read of a closed file opens the file and reads its index and its filter first.")
            .live("max_open_files=-1"),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    let mut out: Vec<Finding> =
        tombstones(facts).into_iter().chain(range_tombstones(facts)).chain(merge_operands(facts)).collect();
    if facts.db.knows_options() {
        let rules: [fn(&Facts<'_>) -> Option<Finding>; 12] = [
            no_filter,
            filter_bits,
            unused_filter,
            no_last_filter,
            other_prefix,
            old_format,
            block_size,
            many_runs,
            long_skips,
            late_universal,
            hashed_prefix,
            long_prefix,
        ];
        out.extend(rules.iter().filter_map(|rule| rule(facts)));
    }
    out
}

/// Returns the properties of the SST files whose properties were read.
fn stats<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a crate::model::TableStats> {
    facts.family.files.iter().filter_map(|file| file.stats.as_ref())
}

fn is_block_based(facts: &Facts<'_>) -> bool {
    facts.text("table_factory").is_none_or(|name| name.contains("BlockBased"))
}

fn no_filter(facts: &Facts<'_>) -> Option<Finding> {
    let policy = facts.text("filter_policy").unwrap_or_default();
    let has_policy = !matches!(policy.trim(), "" | "nullptr");
    let runs = facts.family.sorted_runs();
    let filtered = stats(facts).filter(|stats| stats.filter_bytes > 0).count();
    if has_policy
        || filtered > 0
        || runs < 2
        || facts.family.bytes() < 4 * SMALL_BYTES
        || !is_block_based(facts)
    {
        return None;
    }
    let title = "There is no filter: a lookup reads a block in each sorted run".to_string();
    let missed = missed_lookups(facts.db);
    let severity = if missed.is_some() { Severity::Warning } else { Severity::Advice };
    let mut finding = facts.finding("no-filter", severity, title).evidence("filter_policy=nullptr");
    if let Some(text) = missed {
        finding = finding.evidence(text);
    }
    Some(
        finding
            .evidence(format!("a lookup may visit {}", words::of(runs as u64, "sorted run")))
            .cost("A lookup of a missing key reads a block of each sorted run. A filter avoids 99 % of these reads.")
            .live("block_based_table_factory={filter_policy=bloomfilter:10:false;}"),
    )
}

/// With fewer lookups of missing keys, a rule about filters does not count lookups.
const MISSED_MIN: u64 = 10_000;

/// Returns evidence if a tenth of many lookups found no value.
fn missed_lookups(db: &Database) -> Option<String> {
    let (lookups, missed) = (db.log.stats.lookups?, db.log.stats.missed_lookups?);
    let counts = || {
        let percent = words::percent(missed, lookups);
        format!("{} of {} found no value ({percent})", words::count(missed), words::of(lookups, "lookup"))
    };
    (missed >= MISSED_MIN && missed.saturating_mul(10) >= lookups).then(counts)
}

/// Reports a last level without filters, if many lookups find nothing. A lookup of a missing key reaches the last level.
fn no_last_filter(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_on("optimize_filters_for_hits") || !is_block_based(facts) {
        return None;
    }
    let missed = missed_lookups(facts.db)?;
    let last = facts.family.levels().last().map(|sum| sum.level)?;
    let files = facts.family.level(last).filter_map(|file| file.stats.as_ref());
    let plain = files.filter(|stats| stats.filter_bytes == 0).count() as u64;
    if plain == 0 || last == Level::ZERO {
        return None;
    }
    let title = "The last level has no filters, and many lookups find nothing".to_string();
    Some(
        facts
            .finding("no-last-filter", Severity::Warning, title)
            .evidence("optimize_filters_for_hits=true")
            .evidence(missed)
            .evidence(format!("without a filter in level {}: {}", last.get(), words::of(plain, "file")))
            .cost("A lookup of a missing key reads a block of the last level. A filter avoids 99 % of these reads.")
            .reopen("optimize_filters_for_hits=false"),
    )
}

fn filter_bits(facts: &Facts<'_>) -> Option<Finding> {
    let policy = facts.text("filter_policy")?;
    let (_, rest) = policy.split_once("filter:")?;
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let bits: f64 = digits.parse().ok()?;
    if (5.0..=20.0).contains(&bits) {
        return None;
    }
    let held: u64 = stats(facts).map(|stats| stats.filter_bytes).sum();
    let cost = match bits < 5.0 {
        true => "The filter often answers yes for a missing key, and the block is read for nothing.",
        false => "More than 20 bits cost memory and avoid almost no read.",
    };
    Some(
        facts
            .finding("filter-bits", Severity::Advice, format!("The filter has {bits} bits per key"))
            .evidence(format!("filter_policy={policy}"))
            .evidence(format!("filters have {}", words::bytes(held)))
            .cost(cost)
            .live("block_based_table_factory={filter_policy=bloomfilter:10:false;}"),
    )
}

/// Reports SST files in a format that is older than the default of the release.
fn old_format(facts: &Facts<'_>) -> Option<Finding> {
    let format = facts.number("format_version").filter(|format| *format < 4.0)?;
    // 5 has been the default since release 6.19, and 4 is a choice that some databases have for old readers.
    if !is_block_based(facts) || facts.db.release().is_none_or(|release| release < (7, 0)) {
        return None;
    }
    let held: u64 = stats(facts).map(|stats| stats.filter_bytes).sum();
    Some(
        facts
            .finding("old-format", Severity::Advice, format!("New SST files have the old format {format}"))
            .evidence(format!("format_version={format}"))
            .evidence(format!("filters have {}", words::bytes(held)))
            .cost("Such files have large index blocks and the old Bloom filter, whose probes touch more cache lines.")
            .live("block_based_table_factory={format_version=5;}"),
    )
}

fn unused_filter(facts: &Facts<'_>) -> Option<Finding> {
    let prefix = facts.text("prefix_extractor").unwrap_or_default();
    let has_prefix = !matches!(prefix.trim(), "" | "nullptr");
    let policy = facts.text("filter_policy").unwrap_or_default();
    let has_policy = !matches!(policy.trim(), "" | "nullptr");
    let is_off = facts.text("whole_key_filtering").as_deref() == Some("false");
    if !is_off || !has_policy || has_prefix || !is_block_based(facts) {
        return None;
    }
    let held: u64 = stats(facts).map(|stats| stats.filter_bytes).sum();
    Some(
        facts
            .finding("unused-filter", Severity::Warning, "The filters hold no keys".to_string())
            .evidence("whole_key_filtering=false without prefix_extractor")
            .evidence(format!("filter_policy={policy}"))
            .evidence(format!("filters have {}", words::bytes(held)))
            .cost("No read is avoided, as if there were no filter.")
            .live("block_based_table_factory={whole_key_filtering=true;}"),
    )
}

fn other_prefix(facts: &Facts<'_>) -> Option<Finding> {
    let wanted = facts.text("prefix_extractor").filter(|name| !matches!(name.trim(), "" | "nullptr"))?;
    let (mut other, mut all) = (0_u64, 0_u64);
    for stats in stats(facts) {
        all += 1;
        let name = stats.prefix_extractor.trim();
        other += u64::from(!wanted.contains(name) || name.is_empty() || name == "nullptr");
    }
    if other * 2 <= all {
        return None;
    }
    Some(
        facts
            .finding("other-prefix-extractor", Severity::Advice, "Most filters have another prefix".to_string())
            .evidence(format!("prefix_extractor={wanted}"))
            .evidence(format!("{other} of {} were written with another prefix extractor", words::of(all, "file")))
            .cost("Prefix seeks cannot use the filters of these files.")
            .action("Compact the column family with bottommost_level_compaction=kForce, so that all files get the new prefix."),
    )
}

fn block_size(facts: &Facts<'_>) -> Option<Finding> {
    let size = facts.number("block_size")?;
    if (1024.0..=262_144.0).contains(&size) || !is_block_based(facts) {
        return None;
    }
    let index: u64 = stats(facts).map(|stats| stats.index_bytes).sum();
    let blocks: u64 = stats(facts).map(|stats| stats.blocks).sum();
    let cost = match size < 1024.0 {
        true => "The index has an entry for each small block, and compression finds little to compress.",
        false => "A lookup of one key reads, verifies and decompresses a whole block.",
    };
    Some(
        facts
            .finding("block-size", Severity::Advice, format!("Blocks have {}", words::bytes(size as u64)))
            .evidence(format!("block_size={size}"))
            .evidence(format!("{}, index of {}", words::of(blocks, "block"), words::bytes(index)))
            .cost(cost)
            .live("block_based_table_factory={block_size=4096;}"),
    )
}

fn many_runs(facts: &Facts<'_>) -> Option<Finding> {
    let trigger = facts.number("level0_file_num_compaction_trigger")?;
    let files = facts.family.level(Level::ZERO).count();
    if !facts.is_leveled() || facts.is_on("disable_auto_compactions") {
        return None;
    }
    let finding = |title: &str| {
        facts
            .finding("many-sorted-runs", Severity::Advice, title.to_string())
            .evidence(format!("level0_file_num_compaction_trigger={trigger}"))
            .evidence(format!("level 0 has {}", words::of(files as u64, "file")))
            .cost("Each lookup and each seek visits each file of level 0.")
    };
    if trigger > 10.0 && files >= 10 {
        let finding = finding("A read looks into many files of level 0");
        return Some(finding.live("level0_file_num_compaction_trigger=4"));
    }
    // The rule about a full level 0 reports more files.
    let is_full =
        facts.number("level0_slowdown_writes_trigger").is_some_and(|slowdown| files as f64 >= slowdown);
    if (files as f64) < (3.0 * trigger).max(12.0) || is_full {
        return None;
    }
    let jobs = db_number(facts.db, "max_background_jobs").unwrap_or(2.0).max(2.0) * 2.0;
    let action = format!("Compact the column family, and give the database max_background_jobs={jobs}.");
    Some(finding("The compaction of level 0 does not keep up").action(action))
}

/// Reports an iterator that steps over very many old entries of a key before it seeks.
fn long_skips(facts: &Facts<'_>) -> Option<Finding> {
    let skips = facts.number("max_sequential_skip_in_iterations")?;
    if skips <= 1000.0 {
        return None;
    }
    Some(
        facts
            .finding("long-skips", Severity::Advice, "An iterator steps over old entries one by one".to_string())
            .evidence(format!("max_sequential_skip_in_iterations={skips}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("If a key has many old entries, the iterator reads them all, although one seek finds the next key.")
            .live("max_sequential_skip_in_iterations=8"),
    )
}

/// Reports universal compaction that waits for very many sorted runs.
fn late_universal(facts: &Facts<'_>) -> Option<Finding> {
    let trigger = facts.number("level0_file_num_compaction_trigger")?;
    let width = facts.number("compaction_options_universal.min_merge_width")?;
    let runs = facts.family.sorted_runs();
    if !facts.is_universal() || trigger <= 16.0 && width <= 16.0 || runs < 10 {
        return None;
    }
    Some(
        facts
            .finding("late-universal", Severity::Advice, "A read looks into many sorted runs".to_string())
            .evidence(words::of(runs as u64, "sorted run"))
            .evidence(format!("level0_file_num_compaction_trigger={trigger}"))
            .evidence(format!("compaction_options_universal={{min_merge_width={width};}}"))
            .cost("Each lookup and each seek visits each sorted run, and a compaction waits until there are this many.")
            .live("level0_file_num_compaction_trigger=4;compaction_options_universal={min_merge_width=2;}"),
    )
}

/// Returns the name of the prefix extractor and the length of its prefixes, for a prefix extractor with a fixed length.
fn prefix_length(facts: &Facts<'_>) -> Option<(String, u64)> {
    let name = facts.text("prefix_extractor")?;
    let is_fixed = name.contains("FixedPrefix") || name.starts_with("fixed:");
    let digits = name.trim().rsplit(['.', ':']).next()?;
    Some((name.clone(), digits.parse().ok()?)).filter(|_| is_fixed)
}

/// With fewer data blocks, a hash table over a short prefix is not reported.
const HASHED_BLOCKS_MIN: u64 = 512;

/// Reports an index of hashes over a prefix of one byte: it has at most 256 entries.
fn hashed_prefix(facts: &Facts<'_>) -> Option<Finding> {
    let (name, length) = prefix_length(facts)?;
    let blocks: u64 = stats(facts).map(|stats| stats.blocks).sum();
    if facts.text("index_type")? != "kHashSearch" || length > 1 || blocks < HASHED_BLOCKS_MIN {
        return None;
    }
    Some(
        facts
            .finding("hashed-prefix", Severity::Advice, "The index of hashes has at most 256 prefixes".to_string())
            .evidence(format!("index_type=kHashSearch, prefix_extractor={name}"))
            .evidence(words::of(blocks, "data block"))
            .cost("A lookup finds its prefix in the hash table, and then searches the many blocks of the prefix. The hash table saves almost nothing, and uses memory.")
            .live("block_based_table_factory={index_type=kBinarySearch;}"),
    )
}

/// Reports prefixes that are longer than the keys: such keys have no prefix.
fn long_prefix(facts: &Facts<'_>) -> Option<Finding> {
    let (name, length) = prefix_length(facts)?;
    let (entries, bytes) = stats(facts).fold((0_u64, 0_u64), |(entries, bytes), stats| {
        (entries.saturating_add(stats.entries), bytes.saturating_add(stats.raw_key_bytes))
    });
    // Each key has 8 bytes of sequence number and type.
    let mean = (bytes / entries.max(1)).saturating_sub(8);
    if entries < 1000 || mean >= length {
        return None;
    }
    Some(
        facts
            .finding("long-prefix", Severity::Warning, "The average key is shorter than the prefix".to_string())
            .evidence(format!("prefix_extractor={name}"))
            .evidence(format!("keys have {mean} bytes on average"))
            .cost("A key without a prefix is in no filter of prefixes, so prefix seeks and memtables gain nothing from the prefix extractor.")
            .action("Set prefix_extractor to a shorter prefix, or to nullptr. Old SST files keep their filters until a compaction writes them again."),
    )
}

/// With fewer data blocks of one key in a file, merge operands are not reported.
const KEY_BLOCKS_MIN: u64 = 4;

/// Reports keys with so many merge operands that the operands of one key fill several data blocks.
fn merge_operands(facts: &Facts<'_>) -> Option<Finding> {
    let worst = stats(facts).max_by_key(|stats| stats.key_blocks)?;
    if worst.key_blocks < KEY_BLOCKS_MIN {
        return None;
    }
    let (operands, entries) = stats(facts).fold((0_u64, 0_u64), |(operands, entries), stats| {
        (operands.saturating_add(stats.merge_operands), entries.saturating_add(stats.entries))
    });
    let of_key = (worst.entries / worst.blocks.max(1)).saturating_mul(worst.key_blocks);
    Some(
        facts
            .finding("many-merge-operands", Severity::Warning, "A few keys have very many merge operands".to_string())
            .evidence(format!("one key has about {} in one SST file, in {}", words::of(of_key, "entry"), words::of(worst.key_blocks, "data block")))
            .evidence(format!("{} of {} are merge operands", words::count(operands), words::of(entries, "entry")))
            .cost("A read of such a key loads and merges all its operands. A compaction that does not reach the oldest value of the key keeps the operands.")
            .action("Call CompactRange for the whole column family. From time to time, write the whole value with Put, so that a read has few operands to merge."),
    )
}

/// With fewer range tombstones in one file, the rule about range tombstones reports nothing.
const RANGE_TOMBSTONES_MIN: u64 = 1000;

fn range_tombstones(facts: &Facts<'_>) -> Option<Finding> {
    let all: u64 = stats(facts).map(|stats| stats.range_deletions).sum();
    let most = stats(facts).map(|stats| stats.range_deletions).max().unwrap_or(0);
    if most < RANGE_TOMBSTONES_MIN {
        return None;
    }
    let files = stats(facts).filter(|stats| stats.range_deletions > 0).count() as u64;
    let title = "SST files have very many range tombstones".to_string();
    Some(
        facts
            .finding("range-tombstones", Severity::Advice, title)
            .evidence(format!("{} in {}", words::of(all, "range tombstone"), words::of(files, "SST file")))
            .evidence(format!("one file has {}", words::count(most)))
            .cost("The first read of a file sorts and splits all its range tombstones. Each lookup and each scan of the file then searches them too.")
            .action("Compact the key range of the deletions (CompactRange). Delete few large ranges, or delete single keys if a range holds few keys."),
    )
}

fn tombstones(facts: &Facts<'_>) -> Option<Finding> {
    let (entries, deletions) = facts.family.entries();
    if entries < 1000 || deletions * 10 < entries * 3 {
        return None;
    }
    let files = stats(facts).filter(|stats| stats.deletions * 2 > stats.entries).count();
    Some(
        facts
            .finding("many-tombstones", Severity::Warning, "A large share of the entries are tombstones".to_string())
            .evidence(format!("{} of {} ({})", words::count(deletions), words::of(entries, "entry"), words::percent(deletions, entries)))
            .evidence(format!("{} are mostly tombstones", words::of(files as u64, "file")))
            .cost("A scan skips each tombstone one by one, and deleted data still uses the disk.")
            .action("Compact the key range of the deletions (CompactRange), or use a CompactOnDeletion collector."),
    )
}
