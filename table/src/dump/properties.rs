//! The properties of a table as lines of text.

use base::FileNumber;
use std::fmt::{Display, Write};

use base::coding::Cursor;
use format::properties::Properties;

use crate::unique_id::UniqueId;

/// Returns every property on its own line, as RocksDB's `TableProperties::ToString(prop_delim, kv_delim)`
/// does.
pub fn properties_text(p: &Properties, prop_delim: &str, kv_delim: &str) -> String {
    let mut lines = Lines { text: String::new(), prop_delim, kv_delim };
    lines.put("# data blocks", p.num_data_blocks);
    lines.put("# data blocks compression rejected", p.num_data_blocks_compression_rejected);
    lines.put("# data blocks compression bypassed", p.num_data_blocks_compression_bypassed);
    lines.put("# uniform blocks", p.num_uniform_blocks);
    lines.put("# entries", p.num_entries);
    lines.put("# deletions", p.num_deletions);
    lines.put("# merge operands", p.num_merge_operands);
    lines.put("# range deletions", p.num_range_deletions);
    let average = |sum: u64| if p.num_entries == 0 { 0.0 } else { sum as f64 / p.num_entries as f64 };
    lines.put("raw key size", p.raw_key_size);
    lines.put("raw average key size", format_args!("{:.6}", average(p.raw_key_size)));
    lines.put("raw value size", p.raw_value_size);
    lines.put("raw average value size", format_args!("{:.6}", average(p.raw_value_size)));
    sizes(&mut lines, p);
    identity(&mut lines, p);
    lines.put("SST file compression algo", or_none(&p.compression_name));
    lines.put("SST file compression options", or_none(&p.compression_options));
    lines.put("creation time", p.creation_time);
    lines.put("time stamp of earliest key", p.oldest_key_time);
    lines.put("time stamp of newest key", p.newest_key_time);
    lines.put("file creation time", p.file_creation_time);
    lines.put("slow compression estimated data size", p.slow_compression_estimated_data_size);
    lines.put("fast compression estimated data size", p.fast_compression_estimated_data_size);
    lines.put("DB identity", text(&p.db_id));
    lines.put("DB session identity", text(&p.db_session_id));
    lines.put("DB host id", text(&p.db_host_id));
    lines.put("original file number", p.original_file_number);
    let unique_id = UniqueId::new(&p.db_id, &text(&p.db_session_id), FileNumber::new(p.original_file_number));
    lines.put("unique ID", unique_id.map_or_else(|| "N/A".to_string(), |id| id.human()));
    lines.put("Sequence number to time mapping", seqno_times(&p.seqno_to_time_mapping));
    lines.text
}

fn sizes(lines: &mut Lines<'_>, p: &Properties) {
    lines.put("data block size", p.data_size);
    // Only the writer knows this number. It is not stored in the table.
    lines.put("data uncompressed size", 0);
    let index = format!(
        "index block size (user-key? {}, delta-value? {})",
        p.index_key_is_user_key as i32, p.index_value_is_delta_encoded as i32
    );
    lines.put(&index, p.index_size);
    if p.index_partitions != 0 {
        lines.put("# index partitions", p.index_partitions);
        lines.put("top-level index size", p.top_level_index_size);
    }
    lines.put("filter block size", p.filter_size);
    lines.put("# entries for filter", p.num_filter_entries);
    let all = p.data_size.wrapping_add(p.index_size).wrapping_add(p.filter_size);
    lines.put("(estimated) table size", all);
}

fn identity(lines: &mut Lines<'_>, p: &Properties) {
    lines.put("filter policy name", or_none(&p.filter_policy_name));
    lines.put("prefix extractor name", or_none(&p.prefix_extractor_name));
    let family = p.column_family_id.to_string();
    let unknown = p.column_family_id == format::properties::COLUMN_FAMILY_ID_UNKNOWN;
    lines.put("column family ID", if unknown { "N/A" } else { &family });
    lines.put("column family name", or_none(&p.column_family_name));
    lines.put("comparator name", or_none(&p.comparator_name));
    lines.put("user defined timestamps persisted", p.user_defined_timestamps_persisted != 0);
    lines.put("largest sequence number in file", p.key_largest_seqno);
    lines.put("smallest sequence number in file", p.key_smallest_seqno);
    lines.put("merge operator name", or_none(&p.merge_operator_name));
    lines.put("property collectors names", or_none(&p.property_collectors_names));
}

struct Lines<'a> {
    text: String,
    prop_delim: &'a str,
    kv_delim: &'a str,
}

impl Lines<'_> {
    fn put(&mut self, name: &str, value: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{name}{}{value}{}", self.kv_delim, self.prop_delim);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn or_none(bytes: &[u8]) -> String {
    if bytes.is_empty() { "N/A".to_string() } else { text(bytes) }
}

/// Returns the decoded map as `10->1000,25->1060,`, or `N/A` if the bytes are not a map.
fn seqno_times(encoded: &[u8]) -> String {
    let decode = || -> Option<String> {
        let mut out = String::new();
        let mut bytes = Cursor::new(encoded);
        if bytes.is_empty() {
            return Some(out);
        }
        let (mut seq, mut time) = (0u64, 0u64);
        for _ in 0..bytes.varint64()? {
            seq = seq.checked_add(bytes.varint64()?)?;
            time = time.checked_add(bytes.varint64()?)?;
            let _ = write!(out, "{seq}->{time},");
        }
        bytes.is_empty().then_some(out)
    };
    decode().unwrap_or_else(|| "N/A".to_string())
}
