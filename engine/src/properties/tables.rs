//! Sums of table properties, and lists of SST files.

use base::Level;
use std::collections::BTreeMap;

use format::properties::Properties;
use lsm::version::BlobTotals;
use table::dump::properties_text;

use super::PropertyContext;
use crate::family::Family;

/// Returns the sum of the table properties of all SST files, or of one level. Returns `None` if an SST file does not
/// open.
pub(super) fn sum(
    context: &PropertyContext<'_>,
    family: &Family,
    level: Option<Level>,
) -> Option<Properties> {
    let pinned = family.pin_owned();
    if level.is_some_and(|level| level > pinned.version.last_level()) {
        return None;
    }
    let mut sum = Properties::default();
    for (at, file) in pinned.version.files().filter(|(at, _)| level.is_none_or(|level| level == *at)) {
        let table = context.tables.get(&pinned.parts, at, file).ok()?;
        let p = table.properties();
        for (of_sum, of_table) in [
            (&mut sum.data_size, p.data_size),
            (&mut sum.index_size, p.index_size),
            (&mut sum.index_partitions, p.index_partitions),
            (&mut sum.top_level_index_size, p.top_level_index_size),
            (&mut sum.index_key_is_user_key, p.index_key_is_user_key),
            (&mut sum.index_value_is_delta_encoded, p.index_value_is_delta_encoded),
            (&mut sum.filter_size, p.filter_size),
            (&mut sum.raw_key_size, p.raw_key_size),
            (&mut sum.raw_value_size, p.raw_value_size),
            (&mut sum.num_data_blocks, p.num_data_blocks),
            (&mut sum.num_data_blocks_compression_rejected, p.num_data_blocks_compression_rejected),
            (&mut sum.num_data_blocks_compression_bypassed, p.num_data_blocks_compression_bypassed),
            (&mut sum.num_uniform_blocks, p.num_uniform_blocks),
            (&mut sum.num_entries, p.num_entries),
            (&mut sum.num_filter_entries, p.num_filter_entries),
            (&mut sum.num_deletions, p.num_deletions),
            (&mut sum.num_merge_operands, p.num_merge_operands),
            (&mut sum.num_range_deletions, p.num_range_deletions),
            (&mut sum.slow_compression_estimated_data_size, p.slow_compression_estimated_data_size),
            (&mut sum.fast_compression_estimated_data_size, p.fast_compression_estimated_data_size),
        ] {
            *of_sum = of_sum.saturating_add(of_table);
        }
    }
    Some(sum)
}

pub(super) fn text(sum: &Properties) -> String {
    properties_text(sum, "; ", "=")
}

pub(super) fn map(p: &Properties) -> BTreeMap<String, String> {
    let figures = [
        ("data_size", p.data_size),
        // Only the writer of an SST file knows this value; no SST file stores it.
        ("uncompressed_data_size", 0),
        ("index_size", p.index_size),
        ("index_partitions", p.index_partitions),
        ("top_level_index_size", p.top_level_index_size),
        ("filter_size", p.filter_size),
        ("raw_key_size", p.raw_key_size),
        ("raw_value_size", p.raw_value_size),
        ("num_data_blocks", p.num_data_blocks),
        ("num_data_blocks_compression_rejected", p.num_data_blocks_compression_rejected),
        ("num_data_blocks_compression_bypassed", p.num_data_blocks_compression_bypassed),
        ("num_uniform_blocks", p.num_uniform_blocks),
        ("num_entries", p.num_entries),
        ("num_filter_entries", p.num_filter_entries),
        ("num_deletions", p.num_deletions),
        ("num_merge_operands", p.num_merge_operands),
        ("num_range_deletions", p.num_range_deletions),
        ("slow_compression_estimated_data_size", p.slow_compression_estimated_data_size),
        ("fast_compression_estimated_data_size", p.fast_compression_estimated_data_size),
    ];
    figures.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Returns the list of the SST files of each level, and of the blob files. Source: RocksDB `Version::DebugString`.
pub(super) fn list(family: &Family) -> String {
    let mut out = String::new();
    let version = &family.pin().version;
    let number = family.super_version_number();
    for level in version.levels() {
        let cursor = version.cursor(level).map(|key| format!(" --- compact_cursor: {}", shown(key)));
        out +=
            &format!("--- level {} --- version# {number}{} ---\n", level.get(), cursor.unwrap_or_default());
        for file in version.level(level).iter() {
            let (from, to) = (shown(&file.smallest), shown(&file.largest));
            let blob = file.oldest_blob_file.map(|blob| format!(" blob_file:{blob}"));
            out += &format!(
                " {}:{}[{} .. {}][{from} .. {to}]{}({})\n",
                file.number,
                file.size,
                file.smallest_seq,
                file.largest_seq,
                blob.unwrap_or_default(),
                file.reads_sampled()
            );
        }
    }
    if !version.blobs().is_empty() {
        out += &format!("--- blob files --- version# {number} ---\n");
    }
    for blob in version.blobs().values() {
        let linked = version.files().filter(|(_, file)| file.oldest_blob_file == Some(blob.number));
        let linked: String = linked.map(|(_, file)| format!(" {}", file.number)).collect();
        let checksum: String = blob.checksum_value.iter().map(|byte| format!("{byte:02X}")).collect();
        out += &format!(
            "blob_file_number: {} total_blob_count: {} total_blob_bytes: {} checksum_method: {} checksum_value: {checksum} \
             linked_ssts: {{{linked} }} garbage_blob_count: {} garbage_blob_bytes: {}\n",
            blob.number,
            blob.total_count,
            blob.total_bytes,
            String::from_utf8_lossy(&blob.checksum_method),
            blob.garbage_count,
            blob.garbage_bytes
        );
    }
    out
}

/// Formats an internal key as RocksDB does, in hexadecimal digits.
fn shown(internal: &[u8]) -> String {
    let (user_key, seq, kind) = base::key::split(internal);
    let hex: String = user_key.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("'{hex}' seq:{seq}, type:{kind}")
}

/// Returns the number, the size and the garbage of the blob files.
pub(super) fn blob_text(family: &Family) -> String {
    let totals = BlobTotals::of(family.pin().version.blobs());
    format!(
        "Number of blob files: {}\nTotal size of blob files: {}\nTotal size of garbage in blob files: {}\n\
         Blob file space amplification: {}\n",
        totals.files,
        totals.file_bytes,
        totals.garbage_bytes,
        six_digits(totals.space_amplification())
    )
}

/// Formats a number as C++ streams do: six significant digits, without zeros at the end.
fn six_digits(number: f64) -> String {
    let whole = number.abs().log10().floor().max(0.0) as usize;
    // A number with more than six digits has no digit after the point.
    let text = format!("{number:.*}", 5usize.saturating_sub(whole));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}
