//! Estimates of the bytes that a key range has in the SST files of a version. Source: RocksDB `db/version_set.cc`,
//! `VersionSet::ApproximateSize`.

use base::{Level, Result};
use lsm::table_file::TableFile;
use lsm::version::Version;
use table::sst::ReadCtx;

use super::TableCache;
use crate::family::Parts;

/// An estimate does not read the SST files that overlap the key range only in part, if together they are small: if they
/// have less than this share of the bytes of the SST files inside of the range. RocksDB: `files_size_error_margin` of
/// flushes and compactions.
const MARGIN: f64 = 0.1;

/// Estimates the bytes of `[from, to)` in one SST file. `from` and `to` are internal keys.
///
/// # Errors
/// An error of opening the SST file or of reading its index.
pub fn size_in_file(
    tables: &TableCache,
    parts: &Parts,
    (level, file): (Level, &TableFile),
    (from, to): (&[u8], &[u8]),
) -> Result<u64> {
    let order = parts.internal_order();
    let ctx = ReadCtx::default();
    let offset_of = |key: &[u8]| -> Result<u64> {
        if order.compare(&file.largest, key).is_le() {
            return Ok(file.size);
        }
        if order.compare(&file.smallest, key).is_gt() {
            return Ok(0);
        }
        tables.get(parts, level, file)?.approximate_offset_of(key, &ctx)
    };
    if order.compare(&file.largest, from).is_le() || order.compare(&file.smallest, to).is_gt() {
        Ok(0)
    } else if order.compare(&file.smallest, from).is_ge() {
        offset_of(to)
    } else if order.compare(&file.largest, to).is_lt() {
        // The offset comes from the index of the file, and the size from the MANIFEST.
        Ok(file.size.saturating_sub(offset_of(from)?))
    } else {
        tables.get(parts, level, file)?.approximate_size(from, to, &ctx)
    }
}

/// Estimates the bytes of `[from, to)` in the levels from `first_level` on: the bytes that a range tombstone above these
/// levels deletes. An SST file that cannot be read counts as empty, as in RocksDB. Cost: two searches in each level, and
/// at most two reads of an index in each level; one read for each SST file of level 0.
pub fn covered_bytes(
    tables: &TableCache,
    parts: &Parts,
    version: &Version,
    first_level: Level,
    (from, to): (&[u8], &[u8]),
) -> u64 {
    let order = version.order();
    let mut inside = 0u64;
    let mut partly: Vec<(Level, &TableFile)> = Vec::new();
    for level in version.levels().skip(first_level.index()) {
        let files = version.level(level);
        let Some(last) = files.len().checked_sub(1) else { continue };
        if level == Level::ZERO {
            partly.extend(files.iter().map(|file| (level, &**file)));
            continue;
        }
        // A range that begins or ends after all files counts as a part of the last file.
        let begin = files.find_internal(order, from).min(last);
        let end = files.find_internal(order, to).clamp(begin, last);
        let files = files.as_slice();
        partly.push((level, &files[begin]));
        if end > begin {
            inside += files[begin + 1..end].iter().map(|file| file.size).sum::<u64>();
            partly.push((level, &files[end]));
        }
    }
    let partly_bytes: u64 = partly.iter().map(|(_, file)| file.size).sum();
    if partly_bytes < (inside as f64 * MARGIN) as u64 {
        return inside + partly_bytes / 2;
    }
    let sizes = partly.into_iter().map(|file| size_in_file(tables, parts, file, (from, to)).unwrap_or(0));
    inside + sizes.sum::<u64>()
}
