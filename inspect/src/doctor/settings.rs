//! Rules about single settings that cost with any load.

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES, db_number};
use crate::model::Database;
use crate::words;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    if db.data_bytes() < SMALL_BYTES || !db.knows_options() {
        return Vec::new();
    }
    let held = format!("{} of data", words::bytes(db.data_bytes()));
    let mut out = Vec::new();
    // 0 was the default before release 8.7.
    let has_default = db.release().is_some_and(|release| release >= (8, 7));
    if has_default && db_number(db, "compaction_readahead_size") == Some(0.0) {
        let title = "A compaction reads its input block by block".to_string();
        out.push(
            Finding::new("compaction-readahead", Severity::Advice, title)
                .evidence("compaction_readahead_size=0")
                .evidence(held.clone())
                .cost("Each small read is a request to the disk. On a disk with a seek time, compactions are many times slower.")
                .live("compaction_readahead_size=2097152"),
        );
    }
    if db.db_option("use_fsync").as_deref() == Some("true") {
        let title = "Each sync also writes the times of the file".to_string();
        out.push(
            Finding::new("use-fsync", Severity::Advice, title)
                .evidence("use_fsync=true")
                .evidence(held.clone())
                .cost(
                    "A sync of the WAL needs two writes in place of one. The data is as safe with fdatasync.",
                )
                .reopen("use_fsync=false"),
        );
    }
    // Write-prepared transactions with two write queues keep snapshots stable. Ironstone keeps the order of writes in any case.
    let is_on = |name: &str| db.db_option(name).as_deref() == Some("true");
    if is_on("unordered_write") && !is_on("two_write_queues") && !db.is_ironstone() {
        let title = "A snapshot can change while it is read".to_string();
        out.push(
            Finding::new("unordered-write", Severity::Warning, title)
                .evidence("unordered_write=true")
                .evidence(held)
                .cost("A write can become visible after a newer write. Only write-prepared transactions with two write queues may use this option.")
                .reopen("unordered_write=false"),
        );
    }
    out
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return Vec::new();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 6] =
        [few_levels, eager_level_0, restart_interval, compaction_bytes, hard_compression, file_checks];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn few_levels(facts: &Facts<'_>) -> Option<Finding> {
    let levels = facts.number("num_levels")?;
    if !facts.is_leveled() || !(1.0..=3.0).contains(&levels) {
        return None;
    }
    let last = facts.family.levels().last().map_or(0, |sum| sum.bytes);
    Some(
        facts
            .finding("few-levels", Severity::Warning, format!("There are only {levels} levels"))
            .evidence(format!("num_levels={levels}"))
            .evidence(format!("the last level with files has {}", words::bytes(last)))
            .cost("The last level becomes much more than ten times the level above, and each compaction rewrites a large part of the last level.")
            .reopen("num_levels=7"),
    )
}

fn eager_level_0(facts: &Facts<'_>) -> Option<Finding> {
    let trigger = facts.number("level0_file_num_compaction_trigger")?;
    if !facts.is_leveled() || !(0.0..=1.0).contains(&trigger) || facts.is_on("disable_auto_compactions") {
        return None;
    }
    Some(
        facts
            .finding("eager-level-0", Severity::Warning, "Each flush starts a compaction".to_string())
            .evidence(format!("level0_file_num_compaction_trigger={trigger}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("The first level is rewritten for each flushed memtable, so each byte is written about four times more often.")
            .live("level0_file_num_compaction_trigger=4"),
    )
}

fn restart_interval(facts: &Facts<'_>) -> Option<Finding> {
    let interval = facts.number("block_restart_interval")?;
    let tables = facts.family.files.iter().filter_map(|file| file.stats.as_ref());
    let (entries, keys) =
        tables.fold((0, 0), |(entries, keys), stats| (entries + stats.entries, keys + stats.raw_key_bytes));
    // Short keys share no long prefix.
    if interval != 1.0 || entries < 1000 || keys < entries.saturating_mul(16) {
        return None;
    }
    Some(
        facts
            .finding("restart-interval", Severity::Advice, "Keys are stored without prefix compression".to_string())
            .evidence("block_restart_interval=1")
            .evidence(format!("keys have {} bytes on average", keys / entries))
            .cost("Each entry stores its whole key, and each block has a restart point for each entry. Blocks hold fewer entries.")
            .live("block_based_table_factory={block_restart_interval=16;}"),
    )
}

fn compaction_bytes(facts: &Facts<'_>) -> Option<Finding> {
    let (limit, target) = (facts.number("max_compaction_bytes")?, facts.number("target_file_size_base")?);
    if !facts.is_leveled() || limit <= 0.0 || limit >= 2.0 * target {
        return None;
    }
    Some(
        facts
            .finding("max-compaction-bytes", Severity::Advice, "Output files are cut early".to_string())
            .evidence(format!("max_compaction_bytes={limit}"))
            .evidence(format!("target_file_size_base={target}"))
            .evidence(format!("{} in this column family", words::of(facts.family.files.len() as u64, "file")))
            .cost("A compaction ends an output file before its target size, so there are many small files.")
            .live(format!("max_compaction_bytes={}", 25 * target as u64)),
    )
}

/// Reports a level of Zstandard or zlib that compresses very slowly. Other compressions have no level above 12.
fn hard_compression(facts: &Facts<'_>) -> Option<Finding> {
    let uses = |name: &str, kind: &str| facts.text(name).is_some_and(|text| text.contains(kind));
    let places = [
        ("compression", "compression_opts", "Files"),
        ("compression_per_level", "compression_opts", "Files"),
        ("bottommost_compression", "bottommost_compression_opts", "Files of the last level"),
    ];
    // 32767 stands for the default level.
    let kinds = [("kZSTD", 15.0..1000.0, 3), ("kZlibCompression", 8.0..1000.0, 6)];
    for (option, settings, files) in places {
        // Without `enabled`, the last level has the settings of the other levels.
        let settings = match facts.is_on("bottommost_compression_opts.enabled") {
            true => settings,
            false => "compression_opts",
        };
        let level = facts.number(&format!("{settings}.level"));
        for (kind, slow, wish) in &kinds {
            let Some(level) = level.filter(|level| slow.contains(level) && uses(option, kind)) else {
                continue;
            };
            let title = format!("{files} are compressed with the slow level {level}");
            return Some(
                facts
                    .finding("slow-compression", Severity::Warning, title)
                    .evidence(format!("{option} has {kind}, with {settings}={{level={level};}}"))
                    .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
                    .cost("Such a level compresses about 5 to 15 MB per second and thread, in flushes and compactions. The files are a few percent smaller.")
                    .live(format!("{settings}={{level={wish};}}")),
            );
        }
    }
    None
}

fn file_checks(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_on("paranoid_file_checks") {
        return None;
    }
    Some(
        facts
            .finding("paranoid-file-checks", Severity::Advice, "Each new SST file is read again".to_string())
            .evidence("paranoid_file_checks=true")
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("Each flush and each compaction reads and hashes all entries of its output. Checksums find most faults without this.")
            .live("paranoid_file_checks=false"),
    )
}

/// Reports very many small blob files.
pub(super) fn small_blob_files(facts: &Facts<'_>) -> Option<Finding> {
    let files = facts.family.blobs.len() as u64;
    let bytes: u64 = facts.family.blobs.iter().map(|blob| blob.bytes).sum();
    let target = facts.number("blob_file_size")?;
    if files < 100 || bytes < SMALL_BYTES || bytes / files >= SMALL_BYTES || target >= SMALL_BYTES as f64 {
        return None;
    }
    Some(
        facts
            .finding("small-blob-files", Severity::Warning, "Blob files are small".to_string())
            .evidence(format!("blob_file_size={target}"))
            .evidence(format!("{} have {} on average", words::of(files, "blob file"), words::bytes(bytes / files)))
            .cost("Each blob file is an open file and an entry in the MANIFEST. A flush or a compaction creates and syncs many files.")
            .live("blob_file_size=268435456"),
    )
}

/// Reports blob files whose values are smaller than a block.
pub(super) fn small_blobs(facts: &Facts<'_>) -> Option<Finding> {
    let bytes: u64 = facts.family.blobs.iter().map(|blob| blob.bytes).sum();
    let blobs: u64 = facts.family.blobs.iter().map(|blob| blob.blobs).sum();
    if !facts.db.knows_options() || bytes < SMALL_BYTES || blobs == 0 || bytes / blobs >= 512 {
        return None;
    }
    let minimum = facts.text("min_blob_size").unwrap_or_default();
    Some(
        facts
            .finding("small-blobs", Severity::Warning, "Small values are in blob files".to_string())
            .evidence(format!("{} blobs have {} bytes on average", words::count(blobs), bytes / blobs))
            .evidence(format!("min_blob_size={minimum}"))
            .cost("Each lookup reads two files, and a scan reads each value at another place. A small value saves no compaction work.")
            .live("min_blob_size=4096"),
    )
}
