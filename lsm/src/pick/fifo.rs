//! The FIFO picker: the column family is a cache, and its oldest files are deleted.
//!
//! First it deletes files whose newest key is older than `ttl`. Then it deletes the oldest files while all
//! files together exceed the size limit. Neither needs to read a file. If the options allow it, small level-0
//! files are merged to keep their number low, and files are copied to another temperature by age. Follows
//! RocksDB `db/compaction/compaction_picker_fifo.cc`.

use std::sync::Arc;

use base::{EpochNumber, Level};

use super::expand::{Files, Picker, bytes_of};
use super::leveled::intra_l0;
use super::{Inputs, Options, Reason, Task, View};
use crate::table_file::TableFile;
use crate::version::Version;

/// Maximum size in bytes of a level-0 file that is merged from small files.
const MERGED_FILE_SIZE: u64 = 16 << 20;
/// Minimum size in bytes of a tier, for the choice by key-to-value ratio.
const MIN_TIER: u64 = 10 << 10;

/// Returns true if FIFO compaction has work, by the scores.
pub(super) fn is_due(scores: &super::score::Scores) -> bool {
    scores.of(Level::ZERO) >= 1.0
}

/// Picks the next FIFO compaction, if there is one. `now` is in seconds since 1970.
pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    let picker = Picker::new(view, options, now);
    let busy = view.running.iter().any(|r| r.start_level == Level::ZERO);
    if busy {
        // Deleting files takes no time, so one FIFO compaction runs at a time.
        return None;
    }
    expired(&picker)
        .or_else(|| too_large(&picker))
        .or_else(|| too_many(&picker))
        .or_else(|| wrong_temperature(&picker))
}

/// Returns the score of level 0. `bytes` and `runs` count only files that are not being compacted.
pub(super) fn score(version: &Version, options: &Options, bytes: u64, runs: usize, now: u64) -> f64 {
    let (size, limit) = size_and_limit(version, options, bytes);
    let mut score = size as f64 / limit.max(1) as f64;
    if score < 1.0 && options.fifo.allow_compaction {
        score =
            score.max(runs as f64 / f64::from(options.triggers.level0_file_num_compaction_trigger.max(1)));
    }
    if score < 1.0 && options.ages.ttl > 0 {
        let expired =
            version.level(Level::ZERO).iter().filter(|f| !f.being_compacted() && is_expired(f, options, now));
        score = score.max(expired.count() as f64);
    }
    if score < 1.0 && aged(version, options, now).is_some() {
        score = 1.1;
    }
    score
}

/// Returns the bytes that count against the limit, and the limit. With `max_data_files_size`, blob files
/// count too.
fn size_and_limit(version: &Version, options: &Options, table_bytes: u64) -> (u64, u64) {
    let fifo = &options.fifo;
    if fifo.max_data_files_size > 0 {
        (table_bytes.saturating_add(blob_bytes(version)), fifo.max_data_files_size)
    } else {
        (table_bytes, fifo.max_table_files_size)
    }
}

fn blob_bytes(version: &Version) -> u64 {
    version.blobs().values().map(|b| b.file_size()).sum()
}

/// Returns the time when the newest key of the file was written. If that is unknown, returns the table property
/// `creation_time`. `None` if both are unknown: a file of `SstFileWriter` never expires, as in RocksDB.
fn newest_key_time(file: &TableFile) -> Option<u64> {
    let stats = file.stats()?;
    stats.newest_key_time.or(stats.creation_time)
}

fn is_expired(file: &TableFile, options: &Options, now: u64) -> bool {
    now > options.ages.ttl && newest_key_time(file).is_some_and(|t| t < now - options.ages.ttl)
}

/// Returns the oldest file that has reached an age threshold and does not have its temperature, with that
/// temperature.
fn aged(version: &Version, options: &Options, now: u64) -> Option<(Arc<TableFile>, u8)> {
    let ages = &options.fifo.file_temperature_age_thresholds;
    let first = ages.first()?;
    if version.num_levels() > 1 || now <= first.age {
        return None;
    }
    let files = version.level(Level::ZERO).as_slice();
    for (i, file) in files.iter().enumerate().rev() {
        if file.being_compacted() {
            return None;
        }
        // If the time of a file is unknown, use the oldest time of the next newer file. The file is not newer
        // than that.
        let newer = i.checked_sub(1).and_then(|i| files[i].oldest_time());
        let recorded = file.stats().and_then(|s| s.newest_key_time);
        let Some(time) = recorded.or(newer) else { continue };
        if time > now - first.age {
            return None;
        }
        let target = ages.iter().rfind(|a| now >= a.age && time <= now - a.age).unwrap_or(first);
        if file.temperature != target.temperature {
            return Some((file.clone(), target.temperature));
        }
    }
    None
}

fn drop_files(picker: &Picker<'_>, reason: Reason, level: Level, files: Files) -> Task {
    base::invariant!(
        files.iter().all(|file| !file.being_compacted()),
        "FIFO compaction deletes a file that a job reads"
    );
    let mut task = picker.task(reason, vec![Inputs { level, files }], level);
    task.deletion = true;
    task.trivial_move = false;
    task
}

/// Picks the oldest files that are expired, if the rest is within the size limit.
fn expired(picker: &Picker<'_>) -> Option<Task> {
    if picker.options.ages.ttl == 0 {
        return None;
    }
    let l0 = picker.version.level(Level::ZERO);
    let files: Files = l0
        .iter()
        .rev()
        .take_while(|f| !f.being_compacted() && is_expired(f, picker.options, picker.now))
        .cloned()
        .collect();
    base::invariant!(
        bytes_of(&files) <= l0.bytes(),
        "the expired files of level 0 have more bytes than level 0"
    );
    let rest = picker.version.total_bytes().saturating_sub(bytes_of(&files));
    let (rest, limit) = if picker.options.fifo.max_data_files_size > 0 {
        let share = rest as f64 / picker.version.total_bytes().max(1) as f64;
        let blobs = (share * blob_bytes(picker.version) as f64) as u64;
        (rest.saturating_add(blobs), picker.options.fifo.max_data_files_size)
    } else {
        (l0.bytes().saturating_sub(bytes_of(&files)), picker.options.fifo.max_table_files_size)
    };
    (!files.is_empty() && rest <= limit).then(|| drop_files(picker, Reason::FifoTtl, Level::ZERO, files))
}

/// Picks the oldest files until the rest is within the size limit. Files below level 0, from another
/// compaction style, go before the files of level 0.
fn too_large(picker: &Picker<'_>) -> Option<Task> {
    let last = picker.version.last_filled_level()?;
    let (mut size, limit) = size_and_limit(picker.version, picker.options, picker.version.total_bytes());
    if size <= limit {
        return None;
    }
    let level = picker.version.level(last);
    let whole_data = picker.options.fifo.max_data_files_size > 0;
    let share = (size / level.len().max(1) as u64).max(1);
    let mut files = Vec::new();
    let oldest_first: Vec<_> =
        if last == Level::ZERO { level.iter().rev().collect() } else { level.iter().collect() };
    for file in oldest_first {
        if file.being_compacted() {
            if last == Level::ZERO {
                break;
            }
            continue;
        }
        // The share of a file is an average, and at least one byte.
        size = size.saturating_sub(if whole_data { share } else { file.size });
        files.push(file.clone());
        if size <= limit {
            break;
        }
    }
    (!files.is_empty()).then(|| drop_files(picker, Reason::FifoMaxSize, last, files))
}

/// Returns the files of level 0 that a compaction may merge, newest first. Files that were ingested behind level 0 share the first
/// epoch number. A merge of such a file would get the first epoch number too. Its key range could then overlap another file
/// with the same epoch number, and the order of the two files would be unknown.
fn mergeable<'a>(picker: &Picker<'a>) -> &'a [Arc<TableFile>] {
    let l0 = picker.version.level(Level::ZERO).as_slice();
    let end = match picker.options.allow_ingest_behind {
        true => l0.partition_point(|file| file.epoch_number > EpochNumber::FIRST),
        false => l0.len(),
    };
    &l0[..end]
}

fn too_many(picker: &Picker<'_>) -> Option<Task> {
    let fifo = &picker.options.fifo;
    if !fifo.allow_compaction || mergeable(picker).is_empty() {
        return None;
    }
    let by_ratio = fifo.use_kv_ratio_compaction
        && fifo.max_data_files_size > 0
        && fifo.max_data_files_size >= fifo.max_table_files_size;
    let (files, size) = if by_ratio {
        by_tiers(picker)?
    } else {
        let min = picker.options.triggers.level0_file_num_compaction_trigger.max(2) as usize;
        let max_cost = (picker.options.buffers.write_buffer_size as f64 * 1.1) as u64;
        let max_bytes = picker.options.max_compaction_bytes();
        let files = intra_l0(mergeable(picker), min, max_cost, max_bytes)?;
        (files, MERGED_FILE_SIZE)
    };
    let mut task =
        picker.task(Reason::FifoReduceNumFiles, vec![Inputs { level: Level::ZERO, files }], Level::ZERO);
    task.output.max_file_size = size;
    task.output.target_file_size = size;
    task.output.path_id = 0;
    Some(task)
}

/// Picks level-0 files of neighbouring age within one size tier, trying small tiers first. A tier is a
/// fraction of the target size, which files have when the column family is full.
fn by_tiers(picker: &Picker<'_>) -> Option<(Files, u64)> {
    let l0 = mergeable(picker);
    let trigger = picker.options.triggers.level0_file_num_compaction_trigger.max(0) as u64;
    let deeper = picker.version.levels_below(Level::ZERO).any(|l| !picker.version.level(l).is_empty());
    if deeper || trigger <= 1 || (l0.len() as u64) < trigger {
        return None;
    }
    let target = match picker.options.files.max_compaction_bytes {
        0 => {
            let tables = bytes_of(l0);
            let share = tables as f64 / tables.saturating_add(blob_bytes(picker.version)).max(1) as f64;
            (picker.options.fifo.max_data_files_size as f64 * share) as u64 / trigger
        }
        bytes => bytes,
    };
    if target == 0 {
        return None;
    }
    let mut tiers: Vec<u64> =
        std::iter::successors(Some(target), |t| Some(t / trigger)).take_while(|&t| t >= MIN_TIER).collect();
    if tiers.is_empty() {
        tiers.push(target);
    }
    tiers.reverse();
    base::invariant!(tiers.is_sorted(), "the sizes of the tiers are not in ascending order");
    tiers.into_iter().find_map(|tier| Some((batch_of_tier(l0, tier)?, tier)))
}

fn wrong_temperature(picker: &Picker<'_>) -> Option<Task> {
    let (file, temperature) = aged(picker.version, picker.options, picker.now)?;
    let mut task = picker.task(
        Reason::ChangeTemperature,
        vec![Inputs { level: Level::ZERO, files: vec![file] }],
        Level::ZERO,
    );
    task.output.temperature = temperature;
    task.output.path_id = 0;
    task.output.max_file_size = u64::MAX;
    task.trivial_copy = picker.options.fifo.allow_trivial_copy_when_change_temperature;
    Some(task)
}

/// Returns the oldest batch of neighbouring files that are each smaller than the tier and together reach it,
/// newest first.
fn batch_of_tier(l0: &[Arc<TableFile>], tier: u64) -> Option<Files> {
    let fits = |f: &Arc<TableFile>| f.size < tier && !f.being_compacted();
    let mut at = l0.len();
    while at > 0 {
        if !fits(&l0[at - 1]) {
            at -= 1;
            continue;
        }
        let end = at;
        let mut bytes = 0u64;
        while at > 0 && fits(&l0[at - 1]) {
            let next = l0[at - 1].size;
            if bytes >= tier && bytes.saturating_add(next) > tier.saturating_mul(2) {
                break;
            }
            bytes = bytes.saturating_add(next);
            at -= 1;
        }
        base::invariant!(at < end && end <= l0.len(), "an empty batch of level-0 files");
        if end - at >= 2 && bytes >= tier {
            return Some(l0[at..end].to_vec());
        }
    }
    None
}
