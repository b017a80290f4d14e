//! Makes the info log line of an event. `None`: RocksDB logs no object for the event.

use std::borrow::Cow;

use base::stats::IoTimes;
use base::{Error, FileNumber};
use format::properties::{COLUMN_FAMILY_ID_UNKNOWN, Properties};

use super::json::Line;
use super::types::{
    BlobCreated, CompactionFinished, CompactionStarted, Event, FlushFinished, FlushStarted, TableCreated,
};

pub(super) fn line(event: &Event, now_us: u64) -> Option<String> {
    let mut line = Line::new(now_us);
    match event {
        Event::RecoveryStarted { job, wal_files } => {
            line.number("job", job).text("event", event.name()).list("wal_files", wal_files);
        }
        Event::RecoveryFinished { job, error } => {
            line.number("job", job).text("event", event.name()).text("status", status(error.as_ref()));
        }
        Event::FlushStarted(e) => flush_started(&mut line, e),
        Event::FlushFinished(e) => flush_finished(&mut line, e),
        Event::CompactionStarted(e) => compaction_started(&mut line, e),
        Event::CompactionFinished(e) if e.error.is_none() => compaction_finished(&mut line, e),
        Event::TableCreated(e) => table_created(&mut line, e),
        Event::BlobCreated(e) => blob_created(&mut line, e),
        Event::FileDeleted { job, number, error, .. } | Event::BlobDeleted { job, number, error, .. } => {
            line.number("job", job).text("event", event.name()).number("file_number", number);
            line.text("status", status(error.as_ref()));
        }
        Event::TrivialMove { job, destination_level, files, bytes, .. } => {
            line.number("job", job).text("event", event.name());
            line.number("destination_level", destination_level.get());
            line.number("files", files).number("total_files_size", bytes);
        }
        Event::CompactionFinished(_)
        | Event::ManualFlushScheduled { .. }
        | Event::SubcompactionStarted(_)
        | Event::SubcompactionFinished(_)
        | Event::CompactionPreCommit(_)
        | Event::TableCreationStarted { .. }
        | Event::BlobCreationStarted { .. }
        | Event::ErrorRecoveryStarted { .. }
        | Event::ShutdownStarted
        | Event::BackgroundError { .. }
        | Event::RecoveredFromError { .. }
        | Event::JobPressureChanged(_)
        | Event::StallChanged { .. }
        | Event::MemtableSealed { .. }
        | Event::FamilyDropped(_)
        | Event::ExternalFileIngested(_)
        | Event::WritesLost { .. } => return None,
    }
    Some(line.finish())
}

fn status(error: Option<&Error>) -> Cow<'static, str> {
    match error {
        None => Cow::Borrowed("OK"),
        Some(error) => Cow::Owned(error.to_string()),
    }
}

fn flush_started(line: &mut Line, e: &FlushStarted) {
    line.number("job", e.job).text("event", "flush_started").number("num_memtables", e.num_memtables);
    line.number("total_num_input_entries", e.total_num_input_entries).number("num_deletes", e.num_deletes);
    line.number("total_data_size", e.total_data_size).number("memory_usage", e.memory_usage);
    line.number("num_range_deletes", e.num_range_deletes).text("flush_reason", e.reason.word());
}

fn flush_finished(line: &mut Line, e: &FlushFinished) {
    line.number("job", e.job)
        .text("event", "flush_finished")
        .text("output_compression", &e.output_compression);
    line.list("lsm_state", &e.lsm_state);
    blob_files(line, e.live_blob_files);
    line.number("immutable_memtables", e.immutable_memtables);
    if let Some(io) = &e.io_times {
        io_times(line, io);
        line.number("file_cpu_write_nanos", io.cpu_write_nanos);
        line.number("file_cpu_read_nanos", io.cpu_read_nanos);
    }
}

fn io_times(line: &mut Line, io: &IoTimes) {
    line.number("file_write_nanos", io.write_nanos).number("file_range_sync_nanos", io.range_sync_nanos);
    line.number("file_fsync_nanos", io.fsync_nanos)
        .number("file_prepare_write_nanos", io.prepare_write_nanos);
}

fn compaction_started(line: &mut Line, e: &CompactionStarted) {
    line.number("job", e.job).text("event", "compaction_started").text("cf_name", &e.family.name);
    line.text("compaction_reason", e.reason);
    for (level, files) in &e.inputs {
        line.list(&format!("files_{level}"), files);
    }
    line.number("score", score(e.score)).number("input_data_size", e.input_data_size);
    match e.oldest_snapshot {
        Some(seq) => line.number("oldest_snapshot_seqno", seq),
        None => line.number("oldest_snapshot_seqno", -1),
    };
}

/// Formats a number as C++ streams print a double: six digits, no trailing zeros.
fn score(score: f64) -> String {
    if score == 0.0 || !score.is_finite() {
        return "0".to_string();
    }
    // A large score has no digit after the point, and a double has no more than 17 digits.
    let digits = (5 - score.abs().log10().floor() as i32).clamp(0, 17) as usize;
    let text = format!("{score:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

fn compaction_finished(line: &mut Line, e: &CompactionFinished) {
    line.number("job", e.job).text("event", "compaction_finished");
    line.number("compaction_time_micros", e.compaction_time_micros);
    line.number("compaction_time_cpu_micros", e.compaction_time_cpu_micros);
    line.number("output_level", e.output_level.get()).number("num_output_files", e.outputs.len());
    line.number("total_output_size", e.counts.total_output_size);
    if e.stats.blobs.num_output_files > 0 {
        line.number("num_blob_output_files", e.stats.blobs.num_output_files);
        line.number("total_blob_output_size", e.stats.blobs.output_bytes);
    }
    line.number("num_input_records", e.counts.num_input_records);
    line.number("num_output_records", e.counts.num_output_records)
        .number("num_subcompactions", e.counts.num_subcompactions);
    line.text("output_compression", &e.output_compression);
    line.number("num_single_delete_mismatches", e.counts.num_single_delete_mismatches);
    line.number("num_single_delete_fallthrough", e.counts.num_single_delete_fallthrough);
    if let Some(io) = &e.stats.times.io {
        io_times(line, io);
    }
    line.list("lsm_state", &e.lsm_state);
    blob_files(line, e.live_blob_files);
    if let Some(proximal) = &e.proximal {
        line.number("proximal_level_num_output_files", proximal.files);
        line.number("proximal_level_bytes_written", proximal.bytes);
        line.number("proximal_level_num_output_records", proximal.records);
    }
    // The line of RocksDB ends before this field.
    line.number("num_merge_comparisons", e.counts.num_merge_comparisons);
}

fn blob_files(line: &mut Line, files: Option<(FileNumber, FileNumber)>) {
    if let Some((oldest, newest)) = files {
        line.number("blob_file_head", oldest).number("blob_file_tail", newest);
    }
}

fn table_created(line: &mut Line, e: &TableCreated) {
    line.text("cf_name", &e.family.name).number("job", e.job).text("event", "table_file_creation");
    line.number("file_number", e.number).number("file_size", e.file_size);
    let hex: String = e.file_checksum.iter().map(|b| format!("{b:02X}")).collect();
    line.text("file_checksum", hex).text("file_checksum_func_name", &e.file_checksum_func_name);
    line.number("smallest_seqno", e.smallest_seqno).number("largest_seqno", e.largest_seqno);
    line.open("table_properties");
    if let Some(properties) = &e.properties {
        properties_of(line, properties);
    }
    line.close();
    if let Some(number) = e.oldest_blob_file {
        line.number("oldest_blob_file_number", number);
    }
    line.text("status", status(e.error.as_ref()));
}

fn blob_created(line: &mut Line, e: &BlobCreated) {
    line.text("cf_name", &e.family.name).number("job", e.job).text("event", "blob_file_creation");
    line.number("file_number", e.number).number("total_blob_count", e.total_blob_count);
    line.number("total_blob_bytes", e.total_blob_bytes);
    // RocksDB writes the raw bytes, which may break the JSON text.
    let hex: String = e.file_checksum.iter().map(|b| format!("{b:02X}")).collect();
    line.text("file_checksum", hex).text("file_checksum_func_name", &e.file_checksum_func_name);
    line.text("status", "OK");
}

fn properties_of(line: &mut Line, p: &Properties) {
    let average = |sum: u64| sum.checked_div(p.num_entries).unwrap_or(0);
    line.number("data_size", p.data_size).number("index_size", p.index_size);
    line.number("index_partitions", p.index_partitions)
        .number("top_level_index_size", p.top_level_index_size);
    line.number("index_key_is_user_key", p.index_key_is_user_key);
    line.number("index_value_is_delta_encoded", p.index_value_is_delta_encoded);
    line.number("filter_size", p.filter_size).number("raw_key_size", p.raw_key_size);
    line.number("raw_average_key_size", average(p.raw_key_size)).number("raw_value_size", p.raw_value_size);
    line.number("raw_average_value_size", average(p.raw_value_size));
    line.number("num_data_blocks", p.num_data_blocks).number("num_entries", p.num_entries);
    line.number("num_filter_entries", p.num_filter_entries).number("num_deletions", p.num_deletions);
    line.number("num_merge_operands", p.num_merge_operands)
        .number("num_range_deletions", p.num_range_deletions);
    line.number("format_version", p.format_version).number("fixed_key_len", p.fixed_key_len);
    line.text("filter_policy", text(&p.filter_policy_name))
        .text("column_family_name", text(&p.column_family_name));
    let family = if p.column_family_id == COLUMN_FAMILY_ID_UNKNOWN {
        i64::from(i32::MAX)
    } else {
        p.column_family_id as i64
    };
    line.number("column_family_id", family).text("comparator", text(&p.comparator_name));
    line.number("user_defined_timestamps_persisted", p.user_defined_timestamps_persisted);
    line.number("key_largest_seqno", p.key_largest_seqno).number("key_smallest_seqno", p.key_smallest_seqno);
    line.text("merge_operator", text(&p.merge_operator_name));
    line.text("prefix_extractor_name", text(&p.prefix_extractor_name));
    line.text("property_collectors", text(&p.property_collectors_names));
    line.text("compression", text(&p.compression_name))
        .text("compression_options", text(&p.compression_options));
    line.number("creation_time", p.creation_time);
    // RocksDB writes the two values under exchanged names. Programs that parse the line expect this.
    line.number("oldest_key_time", p.newest_key_time).number("newest_key_time", p.oldest_key_time);
    line.number("file_creation_time", p.file_creation_time);
    line.number("slow_compression_estimated_data_size", p.slow_compression_estimated_data_size);
    line.number("fast_compression_estimated_data_size", p.fast_compression_estimated_data_size);
    line.text("db_id", text(&p.db_id)).text("db_session_id", text(&p.db_session_id));
    line.number("orig_file_number", p.original_file_number);
    line.text("seqno_to_time_mapping", if p.seqno_to_time_mapping.is_empty() { "N/A" } else { "present" });
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
