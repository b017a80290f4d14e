//! An LSM tree as text, and the parser of this text. Tests, logs and tools use it.
//!
//! ```text
//! L0
//!   12[a#7,SET-c#3,DEL] size=100 epoch=4
//! L1
//!   9[d#2,SET-e#1,SET] size=50 seqs=1-2 marked
//! ```
//! Attributes with their default are omitted: `size` (bytes; `k`, `M`, `G` may follow), `epoch`, `seqs`
//! (default: the sequence numbers of the boundary keys), `time` (oldest ancestor time), `created`, `path`,
//! `blob`, `temperature`, and the flags `marked` and `compacting`.

use std::sync::Arc;

use base::error::{Error, Result};
use base::ids::{EpochNumber, FileNumber};
use base::key::{self, InternalOrder, MAX_SEQUENCE, ValueType};
use base::{Level, SequenceNumber};

use crate::file_meta::{FileMetaData, FileStats};
use crate::table_file::TableFile;
use crate::version::{Builder, Edit, Version};

/// Returns an internal key as `a#7,SET`. The largest sequence number is `inf`.
pub fn key(internal: &[u8]) -> String {
    let (user, seq, value_type) = key::split(internal);
    let word = match ValueType::from_u8(value_type) {
        Some(value_type) => value_type.word().to_string(),
        None => format!("{value_type:#x}"),
    };
    let user = user.escape_ascii();
    if seq == MAX_SEQUENCE { format!("{user}#inf,{word}") } else { format!("{user}#{seq},{word}") }
}

/// Parses the output of [`key`], for user keys without escapes.
///
/// # Errors
/// InvalidArgument if the text is not an internal key.
pub fn parse_key(text: &str) -> Result<Vec<u8>> {
    let bad = || Error::invalid_argument(format!("not an internal key: {text:?}"));
    let (user, rest) = text.split_once('#').ok_or_else(bad)?;
    let (seq, word) = rest.split_once(',').ok_or_else(bad)?;
    let seq = if seq == "inf" { MAX_SEQUENCE } else { seq.parse().map_err(|_| bad())? };
    let value_type = (0..=u8::MAX)
        .filter_map(ValueType::from_u8)
        .find(|k| k.word() == word && (k.is_point() || *k == ValueType::RangeDeletion))
        .ok_or_else(bad)?;
    let mut out = Vec::new();
    key::append_internal(&mut out, user.as_bytes(), seq, value_type);
    Ok(out)
}

/// Returns a file with its attributes, without its level.
pub fn file(file: &TableFile) -> String {
    let mut out =
        format!("{}[{}-{}] size={}", file.number, key(&file.smallest), key(&file.largest), bytes(file.size));
    let mut number = |name: &str, value: u64| {
        if value != 0 {
            out.push_str(&format!(" {name}={value}"));
        }
    };
    number("epoch", file.epoch_number.get());
    number("time", file.times.oldest_ancester);
    number("created", file.times.creation);
    number("path", u64::from(file.path_id));
    number("blob", file.oldest_blob_file.map_or(0, |n| n.get()));
    number("temperature", u64::from(file.temperature));
    let (low, high) = seqs_of_keys(&file.smallest, &file.largest);
    if (file.smallest_seq, file.largest_seq) != (low, high) {
        out.push_str(&format!(" seqs={}-{}", file.smallest_seq, file.largest_seq));
    }
    if file.marked_for_compaction {
        out.push_str(" marked");
    }
    if file.being_compacted() {
        out.push_str(" compacting");
    }
    out
}

fn seqs_of_keys(smallest: &[u8], largest: &[u8]) -> (SequenceNumber, SequenceNumber) {
    let finite = |k: &[u8]| Some(key::sequence(k)).filter(|&s| s != MAX_SEQUENCE);
    match (finite(smallest), finite(largest)) {
        (Some(a), Some(b)) => (a.min(b), a.max(b)),
        (Some(a), None) | (None, Some(a)) => (a, a),
        (None, None) => (SequenceNumber::ZERO, SequenceNumber::ZERO),
    }
}

/// Parses the output of [`file`], and the times of table properties, which [`file`] leaves out: `newest` and `creation-time`.
///
/// # Errors
/// InvalidArgument if the text is not a file.
pub fn parse_file(text: &str) -> Result<TableFile> {
    let bad = || Error::invalid_argument(format!("not a file: {text:?}"));
    let (number, rest) = text.trim().split_once('[').ok_or_else(bad)?;
    let (range, attributes) = rest.split_once(']').ok_or_else(bad)?;
    let (smallest, largest) = range.split_once('-').ok_or_else(bad)?;
    let (smallest, largest) = (parse_key(smallest)?, parse_key(largest)?);
    let number = FileNumber::new(number.parse().map_err(|_| bad())?);
    let mut file = FileMetaData::new(number, 1, &smallest, &largest);
    (file.smallest_seq, file.largest_seq) = seqs_of_keys(&smallest, &largest);
    let (mut compacting, mut stats) = (false, FileStats::default());
    for attribute in attributes.split_whitespace() {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let number = || parse_bytes(value).ok_or_else(bad);
        match name {
            "size" => file.size = number()?,
            "epoch" => file.epoch_number = EpochNumber::new(number()?),
            "time" => file.times.oldest_ancester = number()?,
            "created" => file.times.creation = number()?,
            "newest" => stats.newest_key_time = Some(number()?),
            "creation-time" => stats.creation_time = Some(number()?),
            "path" => file.path_id = number()? as u32,
            "blob" => file.oldest_blob_file = Some(FileNumber::new(number()?)),
            "temperature" => file.temperature = number()? as u8,
            "marked" => file.marked_for_compaction = true,
            "compacting" => compacting = true,
            "seqs" => {
                let (low, high) = value.split_once('-').ok_or_else(bad)?;
                file.smallest_seq = low.parse().map_err(|_| bad())?;
                file.largest_seq = high.parse().map_err(|_| bad())?;
            }
            _ => return Err(bad()),
        }
    }
    let file = TableFile::new(file);
    if stats != FileStats::default() {
        file.set_stats(stats);
    }
    file.set_being_compacted(compacting);
    Ok(file)
}

/// Returns all levels of a version. Empty levels are omitted.
pub fn version(version: &Version) -> String {
    let mut out = String::new();
    for level in version.levels() {
        if !version.level(level).is_empty() {
            out.push_str(&format!("{level}\n"));
        }
        for f in version.level(level) {
            out.push_str(&format!("  {}\n", file(f)));
        }
    }
    for blob in version.blobs().values() {
        out.push_str(&format!(
            "blob {} count={} bytes={} garbage={}/{}\n",
            blob.number, blob.total_count, blob.total_bytes, blob.garbage_count, blob.garbage_bytes
        ));
    }
    out
}

/// Parses the output of [`version`], without blob files. Level-0 files without an epoch number get one; the
/// first file is the newest.
///
/// # Errors
/// InvalidArgument if the text is not a version. Corruption if the version violates the rules of its levels.
pub fn parse_version(text: &str, order: InternalOrder, num_levels: usize) -> Result<Version> {
    let mut level = None;
    let mut edit = Edit::default();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(n) = line.strip_prefix('L').and_then(|n| n.trim_end_matches(':').parse().ok()) {
            level = Some(Level::new(n));
            continue;
        }
        let level = level.ok_or_else(|| Error::invalid_argument("a file before any level"))?;
        edit.added.push((level, Arc::new(parse_file(line)?)));
    }
    let count = edit.added.len() as u64;
    for ((_, file), epoch) in edit.added.iter_mut().zip((1..=count).rev().map(EpochNumber::new)) {
        if !file.epoch_number.is_known() {
            let reserved = file.being_compacted();
            *file = Arc::new(file.changed(|facts| facts.epoch_number = epoch));
            file.set_being_compacted(reserved);
        }
    }
    let base = Version::empty(order, num_levels);
    let mut builder = Builder::new(&base);
    builder.apply(&edit)?;
    builder.finish()
}

/// Formats a number of bytes in the largest unit that gives a whole number.
pub fn bytes(n: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "k")] {
        if n != 0 && n.trailing_zeros() >= shift {
            return format!("{}{unit}", n >> shift);
        }
    }
    n.to_string()
}

/// Parses the output of [`bytes`].
pub fn parse_bytes(text: &str) -> Option<u64> {
    let unit = |suffix, shift| text.strip_suffix(suffix).map(|n| (n, shift));
    let (digits, shift) =
        unit("k", 10).or_else(|| unit("M", 20)).or_else(|| unit("G", 30)).unwrap_or((text, 0));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
