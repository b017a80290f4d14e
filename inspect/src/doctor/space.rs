//! Rules about disk space.

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES};
use crate::model::{Database, DiskFile, Family, FileKind};
use crate::words;

/// The rule reports info logs that have more bytes than this.
const LOG_BYTES_MAX: u64 = 64 << 20;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    info_logs(db).into_iter().chain(orphans(db)).chain(held_snapshot(db)).collect()
}

fn info_logs(db: &Database) -> Option<Finding> {
    let (bytes, count) = (db.bytes_of(FileKind::InfoLog), db.count_of(FileKind::InfoLog));
    if bytes < LOG_BYTES_MAX && count < 100 {
        return None;
    }
    Some(
        Finding::new("large-info-logs", Severity::Advice, "Info logs use much space".to_string())
            .evidence(format!("{} with {}", words::of(count as u64, "info log"), words::bytes(bytes)))
            .evidence(format!("keep_log_file_num={}", db.db_option("keep_log_file_num").unwrap_or_default()))
            .evidence(format!("max_log_file_size={}", db.db_option("max_log_file_size").unwrap_or_default()))
            .cost("The info logs grow without a limit in bytes.")
            .reopen("max_log_file_size=16777216;keep_log_file_num=4"),
    )
}

/// With fewer compactions, a snapshot is not reported: a long scan or a backup has one too.
const SNAPSHOT_COMPACTIONS_MIN: u64 = 8;

/// Reports a snapshot that is not released while compactions rewrite as much as the whole database.
fn held_snapshot(db: &Database) -> Option<Finding> {
    let held = db.log.held_snapshot.as_ref()?;
    let data = db.data_bytes();
    if held.compactions < SNAPSHOT_COMPACTIONS_MIN || data < SMALL_BYTES || held.input_bytes < data {
        return None;
    }
    let seconds = held.last_micros.saturating_sub(held.first_micros) / 1_000_000;
    let title = "A snapshot is not released: compactions keep old entries";
    Some(
        Finding::new("held-snapshot", Severity::Warning, title.to_string())
            .evidence(format!(
                "the last {} kept entries for the snapshot of sequence number {}",
                words::of(held.compactions, "compaction"),
                held.seq
            ))
            .evidence(format!(
                "they began within {} and read {}",
                words::duration(seconds),
                words::bytes(held.input_bytes)
            ))
            .cost("Entries and tombstones that the snapshot can see stay in the files. The files grow, and scans step over more old entries.")
            .action("Release the snapshot, and close old transactions. The property rocksdb.oldest-snapshot-time says when the oldest snapshot was taken."),
    )
}

/// Returns true if a memtable may refer to the file. With `enable_blob_direct_write`, a blob file gets its entry in the MANIFEST at
/// the flush of its memtable, and its number is above the number of the oldest WAL that the column family needs.
fn may_belong_to_memtable(db: &Database, file: &DiskFile) -> bool {
    let direct = |family: &Family| {
        !db.knows_options()
            || db.family_option(&family.name, "enable_blob_direct_write").is_some_and(|text| text == "true")
    };
    file.kind == FileKind::Blob
        && db.families.iter().any(|family| file.number > family.wal_number && direct(family))
}

fn orphans(db: &Database) -> Option<Finding> {
    // A running writer creates a file some time before it adds the file to the MANIFEST.
    let is_old = |modified: u64| db.taken_at.saturating_sub(modified) > 3600;
    let orphans: Vec<_> = db
        .files
        .iter()
        .filter(|file| !file.live && is_old(file.modified) && !may_belong_to_memtable(db, file))
        .collect();
    let bytes: u64 = orphans.iter().map(|file| file.size).sum();
    if bytes < SMALL_BYTES || db.manifest.is_none() {
        return None;
    }
    Some(
        Finding::new(
            "orphan-files",
            Severity::Advice,
            "Files without an entry in the MANIFEST use space".to_string(),
        )
        .evidence(format!(
            "{} with {}, older than an hour",
            words::of(orphans.len() as u64, "file"),
            words::bytes(bytes)
        ))
        .cost("The space is not free. An iterator, a snapshot of files or a crash can leave such files.")
        .action(
            "Close old iterators and checkpoints, or reopen the database: an open removes obsolete files.",
        ),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return Vec::new();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 9] = [
        no_compression,
        static_levels,
        universal_amplification,
        eager_universal,
        single_level,
        fifo_limit,
        fifo_files,
        fifo_age,
        large_files,
    ];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn no_compression(facts: &Facts<'_>) -> Option<Finding> {
    let last = facts.family.levels().last().map(|sum| sum.level)?;
    let (mut plain, mut all) = (0_u64, 0_u64);
    for file in facts.family.level(last) {
        all += file.size;
        let is_plain = file.stats.as_ref().is_some_and(|stats| stats.compression == "NoCompression");
        plain += if is_plain { file.size } else { 0 };
    }
    if plain < 4 * SMALL_BYTES || plain * 2 < all {
        return None;
    }
    Some(
        facts
            .finding("no-compression", Severity::Advice, "The last level is not compressed".to_string())
            .evidence(format!("{} of {} in level {}", words::bytes(plain), words::bytes(all), last.get()))
            .evidence(format!("compression={}", facts.text("compression").unwrap_or_default()))
            .cost("Compressible data uses two to five times the space, and each read loads more bytes.")
            .live("bottommost_compression=kZSTD"),
    )
}

fn static_levels(facts: &Facts<'_>) -> Option<Finding> {
    let ratio = facts.family.space_amplification()?;
    let levels = facts.family.levels();
    let is_off = facts.text("level_compaction_dynamic_level_bytes").as_deref() == Some("false");
    if !facts.is_leveled()
        || !is_off
        || ratio < 1.3
        || levels.len() < 2
        || facts.family.bytes() < 8 * SMALL_BYTES
    {
        return None;
    }
    let title = format!("The files use {ratio:.1} times the space of the last level");
    Some(
        facts
            .finding("static-levels", Severity::Advice, title)
            .evidence("level_compaction_dynamic_level_bytes=false")
            .evidence(format!("{} have files", words::of(levels.len() as u64, "level")))
            .cost("Old entries in the upper levels use space until compaction reaches the last level.")
            .reopen("level_compaction_dynamic_level_bytes=true"),
    )
}

fn universal_amplification(facts: &Facts<'_>) -> Option<Finding> {
    let limit = facts.number("compaction_options_universal.max_size_amplification_percent")?;
    if !facts.is_universal() || limit <= 400.0 {
        return None;
    }
    Some(
        facts
            .finding(
                "universal-amplification",
                Severity::Warning,
                "Obsolete data may use most of the space".to_string(),
            )
            .evidence(format!("max_size_amplification_percent={limit}"))
            .evidence(format!(
                "{} in {}",
                words::bytes(facts.family.bytes()),
                words::of(facts.family.sorted_runs() as u64, "sorted run")
            ))
            .cost(format!("The files may grow to {:.0} times the live data.", 1.0 + limit / 100.0))
            .live("compaction_options_universal={max_size_amplification_percent=200;}"),
    )
}

/// Reports universal compaction that rewrites all data all the time.
fn eager_universal(facts: &Facts<'_>) -> Option<Finding> {
    let limit = facts.number("compaction_options_universal.max_size_amplification_percent")?;
    let width = facts.number("compaction_options_universal.max_merge_width")?;
    if !facts.is_universal() || limit >= 25.0 && width > 3.0 {
        return None;
    }
    let (title, cost) = match limit < 25.0 {
        true => (
            "Universal compaction rewrites all data very often",
            "A little new data starts a compaction of the whole column family.",
        ),
        false => (
            "Universal compaction merges only two or three sorted runs at a time",
            "Each byte is written more often than with a wide merge, and reads visit more sorted runs.",
        ),
    };
    Some(
        facts
            .finding("eager-universal", Severity::Warning, title.to_string())
            .evidence(format!("max_size_amplification_percent={limit}"))
            .evidence(format!("max_merge_width={width}"))
            .evidence(format!("{} in {}", words::bytes(facts.family.bytes()), words::of(facts.family.sorted_runs() as u64, "sorted run")))
            .cost(cost)
            .live("compaction_options_universal={max_size_amplification_percent=200;max_merge_width=4294967295;}"),
    )
}

/// Reports universal compaction without lower levels: its largest sorted run is one file.
fn single_level(facts: &Facts<'_>) -> Option<Finding> {
    let levels = facts.number("num_levels")?;
    if !facts.is_universal() || levels > 2.0 {
        return None;
    }
    let largest = facts.family.files.iter().map(|file| file.size).max().unwrap_or(0);
    Some(
        facts
            .finding("single-level", Severity::Advice, "All data goes into one file".to_string())
            .evidence(format!("num_levels={levels} with universal compaction"))
            .evidence(format!("the largest file has {} of {}", words::bytes(largest), words::bytes(facts.family.bytes())))
            .cost("A full compaction writes one file of the whole size, in one thread, and needs as much free space again.")
            .reopen("num_levels=7"),
    )
}

/// Reports FIFO compaction that deletes data, or soon deletes data, because of its limit of bytes.
fn fifo_limit(facts: &Facts<'_>) -> Option<Finding> {
    let of =
        |name: &str| facts.number(&format!("compaction_options_fifo.{name}")).filter(|limit| *limit > 0.0);
    let limit = of("max_data_files_size").or_else(|| of("max_table_files_size"))?;
    let bytes = facts.data_bytes() as f64;
    let deleted = facts.db.log.fifo_deleted;
    // The next flush deletes a file if the column family grows above the limit by about one file.
    let largest = facts.family.files.iter().map(|file| file.size).max().unwrap_or(0) as f64;
    if !facts.has_style("FIFO") || bytes < 0.8 * limit && bytes + largest < limit && deleted == 0 {
        return None;
    }
    Some(
        facts
            .finding("fifo-limit", Severity::Warning, "FIFO compaction deletes the oldest data".to_string())
            .evidence(format!("the limit is {}", words::bytes(limit as u64)))
            .evidence(format!("the column family has {}", words::bytes(bytes as u64)))
            .evidence(format!("FIFO compactions deleted {}", words::of(deleted, "SST file")))
            .cost("At the limit, each flush deletes the oldest file with all its keys, without an error. This is right for a cache and a loss for other data.")
            .live(format!("compaction_options_fifo={{max_table_files_size={};}}", (4.0 * limit.max(bytes)) as u64)),
    )
}

/// FIFO compaction with more SST files is reported.
const FIFO_FILES_MAX: u64 = 5000;

/// Reports FIFO compaction whose limit leaves very many SST files: no compaction merges them.
fn fifo_files(facts: &Facts<'_>) -> Option<Finding> {
    let of =
        |name: &str| facts.number(&format!("compaction_options_fifo.{name}")).filter(|limit| *limit > 0.0);
    let (option, limit) = ["max_data_files_size", "max_table_files_size"]
        .into_iter()
        .find_map(|option| Some((option, of(option)?)))?;
    let files = facts.family.files.len() as u64;
    let mean = facts.family.bytes() / files.max(1);
    let most = limit as u64 / mean.max(1);
    if !facts.has_style("FIFO")
        || files == 0
        || most < FIFO_FILES_MAX
        || facts.is_on("compaction_options_fifo.allow_compaction")
    {
        return None;
    }
    Some(
        facts
            .finding("fifo-files", Severity::Advice, format!("Level 0 may have {} SST files", words::count(most)))
            .evidence(format!("{option}={limit} ({})", words::bytes(limit as u64)))
            .evidence(format!("{} have {} on average", words::of(files, "SST file"), words::bytes(mean)))
            .cost("FIFO compaction merges no files, and deletes no file for its size below this limit. Each lookup and each seek visits each file. With allow_compaction, small files are merged. A smaller limit deletes the oldest data.")
            .live("compaction_options_fifo={allow_compaction=true;}"),
    )
}

/// Data that FIFO compaction deletes at a lower age is reported.
const FIFO_SECONDS_MIN: f64 = 3600.0;

/// Reports FIFO compaction that deletes data after minutes.
fn fifo_age(facts: &Facts<'_>) -> Option<Finding> {
    let seconds = facts.number("ttl").filter(|seconds| (1.0..FIFO_SECONDS_MIN).contains(seconds))?;
    if !facts.has_style("FIFO") {
        return None;
    }
    Some(
        facts
            .finding("fifo-age", Severity::Warning, format!("FIFO compaction deletes data after {}", words::duration(seconds as u64)))
            .evidence(format!("ttl={seconds}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost("A file whose newest entry has this age is deleted with all its keys, without an error. This is right for a cache and a loss for other data.")
            .live("ttl=2592000"),
    )
}

/// Reports target sizes of files that are larger than a compaction should be.
fn large_files(facts: &Facts<'_>) -> Option<Finding> {
    let (base, factor) =
        (facts.number("target_file_size_base")?, facts.number("target_file_size_multiplier")?);
    let levels = facts.number("num_levels")?;
    let last = base * factor.powf((levels - 2.0).max(0.0));
    const GIB: f64 = 1_073_741_824.0;
    if !facts.is_leveled() || base <= GIB && last <= 32.0 * GIB {
        return None;
    }
    Some(
        facts
            .finding("large-files", Severity::Advice, "SST files may become very large".to_string())
            .evidence(format!("target_file_size_base={base}"))
            .evidence(format!("target_file_size_multiplier={factor}"))
            .evidence(format!("a file of the last level may have {}", words::bytes(last as u64)))
            .cost("A compaction moves whole files, so each compaction is long, needs much free space, and delays the others.")
            .live("target_file_size_base=67108864;target_file_size_multiplier=1"),
    )
}

/// The rules about blob files.
pub(super) fn blobs(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.db.knows_options() {
        return None;
    }
    let bytes: u64 = facts.family.blobs.iter().map(|blob| blob.bytes).sum();
    let garbage: u64 = facts.family.blobs.iter().map(|blob| blob.garbage_bytes).sum();
    let is_on = facts.is_on("enable_blob_garbage_collection");
    // 0 means that no blob file is old enough.
    let is_without_files = facts.number("blob_garbage_collection_age_cutoff") == Some(0.0);
    if bytes >= SMALL_BYTES && is_on && is_without_files {
        return Some(
            facts
                .finding("blob-collection-off", Severity::Warning, "The garbage collection of blob files collects nothing".to_string())
                .evidence("enable_blob_garbage_collection=true")
                .evidence("blob_garbage_collection_age_cutoff=0: no blob file is old enough")
                .evidence(format!("{} of {} are garbage", words::bytes(garbage), words::bytes(bytes)))
                .cost("Deleted and overwritten large values use the disk until each value of a blob file is garbage.")
                .live("blob_garbage_collection_age_cutoff=0.25"),
        );
    }
    if garbage < SMALL_BYTES || garbage * 2 < bytes || is_on {
        return None;
    }
    Some(
        facts
            .finding("blob-garbage", Severity::Advice, "Most bytes of the blob files are garbage".to_string())
            .evidence(format!("{} of {}", words::bytes(garbage), words::bytes(bytes)))
            .evidence("enable_blob_garbage_collection=false")
            .cost("Deleted and overwritten large values use the disk.")
            .live("enable_blob_garbage_collection=true"),
    )
}
