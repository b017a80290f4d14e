//! The messages of a compaction service: the input that the primary sends, and the result of the worker.
//!
//! Facts: RocksDB `db/compaction/compaction_job.h` (`CompactionServiceInput`, `CompactionServiceResult`),
//! `db/compaction/compaction_service_job.cc`. The message is in the text form of [`super::text`]. A message without one of its fields
//! does not decode: a message that lost its end would otherwise describe a compaction without bounds, or without output files.

use base::stats::IoTimes;
use base::{EpochNumber, Error, FileNumber, Level, Result, SequenceNumber};
use format::names::FileName;
use format::properties::Properties;

use super::text::{Fields, TextWriter, encode, text_of};

/// The description of a subcompaction for the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    pub family: String,
    /// The sequence numbers of the live snapshots, ascending.
    pub snapshots: Vec<SequenceNumber>,
    pub files: Vec<FileNumber>,
    pub output_level: Level,
    pub db_id: String,
    /// The first user key of the range. `None`: no bound.
    pub begin: Option<Vec<u8>>,
    /// The user key after the range. `None`: no bound.
    pub end: Option<Vec<u8>>,
    /// The number of the OPTIONS file that the worker reads.
    pub options_file: FileNumber,
}

/// An SST file that the worker wrote.
#[derive(Clone, Debug, Default)]
pub struct RemoteFile {
    pub name: String,
    /// In bytes. 0: unknown.
    pub size: u64,
    pub smallest_seqno: SequenceNumber,
    pub largest_seqno: SequenceNumber,
    /// Internal keys.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    /// In seconds since 1970.
    pub oldest_ancester_time: u64,
    pub file_creation_time: u64,
    pub epoch_number: EpochNumber,
    pub file_checksum: Vec<u8>,
    pub file_checksum_func_name: String,
    pub marked_for_compaction: bool,
    pub unique_id: [u64; 2],
    /// RocksDB's name of the temperature.
    pub temperature: String,
    /// True if the file is for the level above the last level.
    pub is_proximal: bool,
}

/// The counts of a worker. RocksDB: `CompactionJobStats`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RemoteStats {
    pub is_full: bool,
    pub elapsed_micros: u64,
    pub cpu_micros: u64,
    /// False if `num_input_records` does not count each entry of the input files.
    pub has_accurate_num_input_records: bool,
    pub num_input_records: u64,
    pub num_output_records: u64,
    pub num_records_replaced: u64,
    pub num_input_deletion_records: u64,
    pub num_expired_deletion_records: u64,
    pub total_input_raw_key_bytes: u64,
    pub total_input_raw_value_bytes: u64,
    pub num_corrupt_keys: u64,
    pub num_single_del_fallthru: u64,
    pub num_single_del_mismatch: u64,
    /// The times of the file-system calls; 0 without `report_bg_io_stats`.
    pub io_times: IoTimes,
}

/// The result of a worker.
#[derive(Debug, Default)]
pub struct Outcome {
    pub error: Option<Error>,
    pub files: Vec<RemoteFile>,
    pub output_level: Level,
    /// The directory of the files.
    pub output_path: String,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub stats: RemoteStats,
}

impl Input {
    /// Returns the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = TextWriter::default();
        let files = self.files.iter().map(|number| encode(format::names::table(*number).as_bytes()));
        writer
            .bytes("cf_name", self.family.as_bytes())
            .list("snapshots", self.snapshots.iter().map(SequenceNumber::to_string))
            .list("input_files", files)
            .field("output_level", self.output_level.get())
            .bytes("db_id", self.db_id.as_bytes())
            .field("has_begin", self.begin.is_some())
            .bytes("begin", self.begin.as_deref().unwrap_or_default())
            .field("has_end", self.end.is_some())
            .bytes("end", self.end.as_deref().unwrap_or_default())
            .field("options_file_number", self.options_file);
        writer.message()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// InvalidArgument if the message does not decode. NotSupported for another format.
    pub fn decode(message: &[u8]) -> Result<Self> {
        let fields = Fields::parse(text_of(message, "Compaction Service Input")?)?;
        fields.require(&[
            "cf_name",
            "snapshots",
            "input_files",
            "output_level",
            "has_begin",
            "begin",
            "has_end",
            "end",
            "options_file_number",
        ])?;
        let snapshot = |text: &&str| {
            let seq = text.parse();
            seq.map_err(|_| Error::invalid_argument(format!("a snapshot is not a number: {text}")))
        };
        let bound = |has: &str, name: &str| match fields.flag(has) {
            true => fields.bytes(name).map(Some),
            false => Ok(None),
        };
        Ok(Input {
            family: fields.string("cf_name")?,
            snapshots: fields.list("snapshots")?.iter().map(snapshot).collect::<Result<_>>()?,
            files: fields.list("input_files")?.into_iter().map(file_number).collect::<Result<_>>()?,
            output_level: Level::new(fields.number("output_level")?),
            db_id: fields.string("db_id")?,
            begin: bound("has_begin", "begin")?,
            end: bound("has_end", "end")?,
            options_file: FileNumber::new(fields.number("options_file_number")?),
        })
    }
}

fn file_number(text: &str) -> Result<FileNumber> {
    let name = String::from_utf8(super::text::decode(text)?).unwrap_or_default();
    match FileName::parse(&name) {
        Some(FileName::Table(number) | FileName::LegacyTable(number)) => Ok(number),
        _ => Err(Error::invalid_argument(format!("{name} is not the name of an SST file"))),
    }
}

impl RemoteFile {
    fn write(&self, properties: &Properties) -> TextWriter {
        let mut writer = TextWriter::default();
        writer
            .bytes("file_name", self.name.as_bytes())
            .field("file_size", self.size)
            .field("smallest_seqno", self.smallest_seqno)
            .field("largest_seqno", self.largest_seqno)
            .bytes("smallest_internal_key", &self.smallest)
            .bytes("largest_internal_key", &self.largest)
            .field("oldest_ancester_time", self.oldest_ancester_time)
            .field("file_creation_time", self.file_creation_time)
            .field("epoch_number", self.epoch_number)
            .bytes("file_checksum", &self.file_checksum)
            .bytes("file_checksum_func_name", self.file_checksum_func_name.as_bytes())
            .field("paranoid_hash", 0)
            .field("marked_for_compaction", self.marked_for_compaction)
            .field("unique_id", format_args!("{}:{}", self.unique_id[0], self.unique_id[1]))
            .fields("table_properties", write_properties(properties))
            .field("is_proximal_level_output", self.is_proximal)
            .field("file_temperature", &self.temperature);
        writer
    }

    fn read(text: &str) -> Result<Self> {
        let fields = Fields::parse(text)?;
        let ids = fields.list("unique_id")?;
        let id = |at: usize| ids.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(RemoteFile {
            name: fields.string("file_name")?,
            size: fields.number("file_size")?,
            smallest_seqno: fields.number("smallest_seqno")?,
            largest_seqno: fields.number("largest_seqno")?,
            smallest: fields.bytes("smallest_internal_key")?,
            largest: fields.bytes("largest_internal_key")?,
            oldest_ancester_time: fields.number("oldest_ancester_time")?,
            file_creation_time: fields.number("file_creation_time")?,
            epoch_number: fields.number("epoch_number")?,
            file_checksum: fields.bytes("file_checksum")?,
            file_checksum_func_name: fields.string("file_checksum_func_name")?,
            marked_for_compaction: fields.flag("marked_for_compaction"),
            unique_id: [id(0), id(1)],
            temperature: fields.text("file_temperature").to_string(),
            is_proximal: fields.flag("is_proximal_level_output"),
        })
    }
}

/// Writes the properties with the names of the fields of RocksDB's `TableProperties`.
fn write_properties(p: &Properties) -> TextWriter {
    let mut writer = TextWriter::default();
    for (name, number) in [
        ("orig_file_number", p.original_file_number),
        ("data_size", p.data_size),
        ("index_size", p.index_size),
        ("index_partitions", p.index_partitions),
        ("top_level_index_size", p.top_level_index_size),
        ("index_key_is_user_key", p.index_key_is_user_key),
        ("index_value_is_delta_encoded", p.index_value_is_delta_encoded),
        ("udi_is_primary_index", p.udi_is_primary_index),
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
        ("format_version", p.format_version),
        ("fixed_key_len", p.fixed_key_len),
        ("column_family_id", p.column_family_id),
        ("creation_time", p.creation_time),
        ("oldest_key_time", p.oldest_key_time),
        ("newest_key_time", p.newest_key_time),
        ("file_creation_time", p.file_creation_time),
        ("slow_compression_estimated_data_size", p.slow_compression_estimated_data_size),
        ("fast_compression_estimated_data_size", p.fast_compression_estimated_data_size),
        ("tail_start_offset", p.tail_start_offset),
        ("user_defined_timestamps_persisted", p.user_defined_timestamps_persisted),
        ("key_largest_seqno", p.key_largest_seqno),
        ("key_smallest_seqno", p.key_smallest_seqno),
        ("data_block_restart_interval", p.data_block_restart_interval),
        ("index_block_restart_interval", p.index_block_restart_interval),
        ("separate_key_value_in_data_block", p.separate_key_value_in_data_block),
    ] {
        writer.field(name, number);
    }
    for (name, text) in [
        ("db_id", &p.db_id),
        ("db_session_id", &p.db_session_id),
        ("db_host_id", &p.db_host_id),
        ("column_family_name", &p.column_family_name),
        ("filter_policy_name", &p.filter_policy_name),
        ("comparator_name", &p.comparator_name),
        ("merge_operator_name", &p.merge_operator_name),
        ("prefix_extractor_name", &p.prefix_extractor_name),
        ("property_collectors_names", &p.property_collectors_names),
        ("compression_name", &p.compression_name),
        ("compression_options", &p.compression_options),
        ("seqno_to_time_mapping", &p.seqno_to_time_mapping),
    ] {
        writer.bytes(name, text);
    }
    let mut user = TextWriter::default();
    for (name, value) in &p.user_collected {
        user.bytes(&encode(name), value);
    }
    writer.fields("user_collected_properties", user);
    writer
}

impl RemoteStats {
    fn write(&self) -> TextWriter {
        let mut writer = TextWriter::default();
        writer
            .field("is_full_compaction", self.is_full)
            .field("is_manual_compaction", true)
            .field("is_remote_compaction", true)
            .field("has_accurate_num_input_records", self.has_accurate_num_input_records)
            .field("elapsed_micros", self.elapsed_micros)
            .field("cpu_micros", self.cpu_micros)
            .field("num_input_records", self.num_input_records)
            .field("num_output_records", self.num_output_records)
            .field("num_records_replaced", self.num_records_replaced)
            .field("num_input_deletion_records", self.num_input_deletion_records)
            .field("num_expired_deletion_records", self.num_expired_deletion_records)
            .field("total_input_raw_key_bytes", self.total_input_raw_key_bytes)
            .field("total_input_raw_value_bytes", self.total_input_raw_value_bytes)
            .field("num_corrupt_keys", self.num_corrupt_keys)
            .field("file_write_nanos", self.io_times.write_nanos)
            .field("file_range_sync_nanos", self.io_times.range_sync_nanos)
            .field("file_fsync_nanos", self.io_times.fsync_nanos)
            .field("file_prepare_write_nanos", self.io_times.prepare_write_nanos)
            .field("num_single_del_fallthru", self.num_single_del_fallthru)
            .field("num_single_del_mismatch", self.num_single_del_mismatch);
        writer
    }

    fn read(text: &str) -> Result<Self> {
        let fields = Fields::parse(text)?;
        let accurate = "has_accurate_num_input_records";
        Ok(RemoteStats {
            is_full: fields.flag("is_full_compaction"),
            elapsed_micros: fields.number("elapsed_micros")?,
            cpu_micros: fields.number("cpu_micros")?,
            has_accurate_num_input_records: fields.text(accurate).is_empty() || fields.flag(accurate),
            num_input_records: fields.number("num_input_records")?,
            num_output_records: fields.number("num_output_records")?,
            num_records_replaced: fields.number("num_records_replaced")?,
            num_input_deletion_records: fields.number("num_input_deletion_records")?,
            num_expired_deletion_records: fields.number("num_expired_deletion_records")?,
            total_input_raw_key_bytes: fields.number("total_input_raw_key_bytes")?,
            total_input_raw_value_bytes: fields.number("total_input_raw_value_bytes")?,
            num_corrupt_keys: fields.number("num_corrupt_keys")?,
            num_single_del_fallthru: fields.number("num_single_del_fallthru")?,
            num_single_del_mismatch: fields.number("num_single_del_mismatch")?,
            io_times: IoTimes {
                write_nanos: fields.number("file_write_nanos")?,
                range_sync_nanos: fields.number("file_range_sync_nanos")?,
                fsync_nanos: fields.number("file_fsync_nanos")?,
                prepare_write_nanos: fields.number("file_prepare_write_nanos")?,
                ..IoTimes::default()
            },
        })
    }
}

impl Outcome {
    /// Returns the message of a success. `properties` are the table properties of the files, in their order.
    pub fn encode(&self, properties: &[&Properties]) -> Vec<u8> {
        base::invariant!(
            properties.len() == self.files.len() && self.error.is_none(),
            "a result has {} files and the properties of {}",
            self.files.len(),
            properties.len()
        );
        let mut status = TextWriter::default();
        status.field("code", 0).field("subcode", 0).field("severity", 0).field("message", "");
        let mut level = TextWriter::default();
        level
            .field("micros", self.stats.elapsed_micros)
            .field("cpu_micros", self.stats.cpu_micros)
            .field("bytes_written", self.bytes_written)
            .field("num_output_records", self.stats.num_output_records)
            .field("num_output_files", self.files.len())
            .field("count", 1);
        let mut internal = TextWriter::default();
        internal.fields("output_level_stats", level).field("has_proximal_level_output", false);
        let mut stats = self.stats.write();
        stats.field("num_output_files", self.files.len()).field("total_output_bytes", self.bytes_written);
        let mut writer = TextWriter::default();
        writer
            .fields("status", status)
            .structs("output_files", self.files.iter().zip(properties).map(|(file, p)| file.write(p)))
            .field("output_level", self.output_level.get())
            .bytes("output_path", self.output_path.as_bytes())
            .field("bytes_read", self.bytes_read)
            .field("bytes_written", self.bytes_written)
            .fields("stats", stats)
            .fields("internal_stats", internal);
        writer.message()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// InvalidArgument if the message does not decode. NotSupported for another format.
    pub fn decode(message: &[u8]) -> Result<Self> {
        let fields = Fields::parse(text_of(message, "Compaction Service Result")?)?;
        fields.require(&["status", "output_files", "output_level", "output_path", "stats"])?;
        let status = Fields::parse(fields.text("status"))?;
        let files = fields.list("output_files")?;
        Ok(Outcome {
            error: super::status::read(&status)?,
            files: files.into_iter().map(RemoteFile::read).collect::<Result<_>>()?,
            output_level: Level::new(fields.number("output_level")?),
            output_path: fields.string("output_path")?,
            bytes_read: fields.number("bytes_read")?,
            bytes_written: fields.number("bytes_written")?,
            stats: RemoteStats::read(fields.text("stats"))?,
        })
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_lost_its_end_does_not_decode() {
        let input = Input {
            family: "default".to_string(),
            snapshots: vec![SequenceNumber::new(7)],
            files: vec![FileNumber::new(11), FileNumber::new(12)],
            output_level: Level::new(1),
            begin: Some(b"b".to_vec()),
            end: Some(b"m".to_vec()),
            options_file: FileNumber::new(123),
            ..Input::default()
        };
        let message = input.encode();
        assert_eq!(Input::decode(&message).unwrap(), input);
        (0..message.len()).for_each(|len| assert!(Input::decode(&message[..len]).is_err(), "{len} bytes"));

        let file = RemoteFile { name: "000013.sst".to_string(), size: 100, ..RemoteFile::default() };
        let outcome = Outcome { files: vec![file], output_path: "/out".to_string(), ..Outcome::default() };
        let message = outcome.encode(&[&Properties::default()]);
        assert_eq!(Outcome::decode(&message).unwrap().files.len(), 1);
        // The last field has counts that the database does not read.
        let all = message.windows(15).position(|part| part == b"internal_stats=").unwrap();
        (0..all).for_each(|len| assert!(Outcome::decode(&message[..len]).is_err(), "{len} bytes"));
    }
}
