//! Rules about disk space.

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES};
use crate::model::{Database, FileKind};
use crate::words;

/// The rule reports info logs that have more bytes than this.
const LOG_BYTES_MAX: u64 = 64 << 20;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    info_logs(db).into_iter().chain(orphans(db)).collect()
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

fn orphans(db: &Database) -> Option<Finding> {
    // A running writer creates a file some time before it adds the file to the MANIFEST.
    let is_old = |modified: u64| db.taken_at.saturating_sub(modified) > 3600;
    let orphans: Vec<_> = db.files.iter().filter(|file| !file.live && is_old(file.modified)).collect();
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
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 3] =
        [no_compression, static_levels, universal_amplification];
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
            .evidence(format!("{} of {} in level {last}", words::bytes(plain), words::bytes(all)))
            .evidence(format!("compression={}", facts.text("compression").unwrap_or_default()))
            .cost("Compressible data uses two to five times the space, and each read loads more bytes.")
            .live("bottommost_compression=kZSTD"),
    )
}

fn static_levels(facts: &Facts<'_>) -> Option<Finding> {
    let ratio = facts.family.space_amplification()?;
    let is_leveled = facts.text("compaction_style").as_deref() == Some("kCompactionStyleLevel");
    let levels = facts.family.levels();
    let is_off = facts.text("level_compaction_dynamic_level_bytes").as_deref() == Some("false");
    if !is_leveled || !is_off || ratio < 1.3 || levels.len() < 2 || facts.family.bytes() < 8 * SMALL_BYTES {
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
    let is_universal = facts.text("compaction_style").as_deref() == Some("kCompactionStyleUniversal");
    let limit = facts.number("compaction_options_universal.max_size_amplification_percent")?;
    if !is_universal || limit <= 400.0 {
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

/// The rules about blob files.
pub(super) fn blobs(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.db.knows_options() {
        return None;
    }
    let bytes: u64 = facts.family.blobs.iter().map(|blob| blob.bytes).sum();
    let garbage: u64 = facts.family.blobs.iter().map(|blob| blob.garbage_bytes).sum();
    if garbage < SMALL_BYTES || garbage * 2 < bytes || facts.is_on("enable_blob_garbage_collection") {
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
