//! Descriptions of flushes, compactions and other jobs, for listeners.
//!
//! The handles are valid until the callback returns. Numbers that the engine does not measure are 0.

use std::collections::BTreeMap;

use base::{Error, Result};

use crate::abi::{Flag, Owned, Ref, Text};
use crate::table_properties::rocksdb_table_properties_t;

/// A flush.
#[derive(Default)]
pub struct rocksdb_flushjobinfo_t {
    pub(crate) family: (u32, Vec<u8>),
    pub(crate) path: Vec<u8>,
    pub(crate) file_number: u64,
    pub(crate) job: i32,
    pub(crate) stall: i32,
    pub(crate) seqs: (u64, u64),
    pub(crate) reason: u32,
    pub(crate) oldest_blob_file: u64,
    pub(crate) blob_compression: u32,
    pub(crate) properties: Option<rocksdb_table_properties_t>,
    pub(crate) blobs: Vec<rocksdb_blob_file_addition_info_t>,
}

/// A compaction.
#[derive(Default)]
pub struct rocksdb_compactionjobinfo_t {
    pub(crate) family: (u32, Vec<u8>),
    pub(crate) error: Option<Error>,
    pub(crate) aborted: bool,
    pub(crate) job: i32,
    pub(crate) level_0_files: i32,
    pub(crate) levels: (i32, i32),
    pub(crate) reason: u32,
    /// The compression of the SST files and of the blob files.
    pub(crate) compressions: (u32, u32),
    pub(crate) inputs: Vec<JobFile>,
    pub(crate) outputs: Vec<JobFile>,
    pub(crate) stats: rocksdb_compaction_job_stats_t,
    pub(crate) properties: Vec<(Vec<u8>, rocksdb_table_properties_t)>,
    pub(crate) blobs: Vec<rocksdb_blob_file_addition_info_t>,
    pub(crate) garbage: Vec<rocksdb_blob_file_garbage_info_t>,
}

/// A file of a compaction.
pub struct JobFile {
    pub(crate) path: Vec<u8>,
    pub(crate) info: rocksdb_compaction_file_info_t,
}

/// A file of a compaction: level and number.
pub struct rocksdb_compaction_file_info_t {
    pub(crate) level: i32,
    pub(crate) number: u64,
    /// The number of the oldest blob file that the entries of the file point to. 0: no entry points to a blob file.
    pub(crate) oldest_blob_file: u64,
}

/// A subcompaction.
#[derive(Default)]
pub struct rocksdb_subcompactionjobinfo_t {
    pub(crate) family: (u32, Vec<u8>),
    pub(crate) error: Option<Error>,
    pub(crate) job: i32,
    pub(crate) index: i32,
    pub(crate) levels: (i32, i32),
    pub(crate) reason: u32,
    /// The compression of the SST files and of the blob files.
    pub(crate) compressions: (u32, u32),
    pub(crate) stats: rocksdb_compaction_job_stats_t,
}

/// An ingested file.
#[derive(Default)]
pub struct rocksdb_externalfileingestioninfo_t {
    pub(crate) family: Vec<u8>,
    pub(crate) external_path: Vec<u8>,
    pub(crate) internal_path: Vec<u8>,
    pub(crate) global_seqno: u64,
    pub(crate) properties: Option<rocksdb_table_properties_t>,
}

/// A memtable that became immutable.
#[derive(Default)]
pub struct rocksdb_memtableinfo_t {
    pub(crate) family: Vec<u8>,
    pub(crate) first_seq: u64,
    pub(crate) earliest_seq: u64,
    pub(crate) entries: u64,
    pub(crate) deletions: u64,
}

/// A change of the write stall of a column family.
pub struct rocksdb_writestallinfo_t {
    pub(crate) family: Vec<u8>,
    pub(crate) current: rocksdb_writestallcondition_t,
    pub(crate) previous: rocksdb_writestallcondition_t,
}

/// 0: writes are delayed. 1: writes are stopped. 2: no stall.
#[repr(C)]
pub struct rocksdb_writestallcondition_t {
    pub(crate) condition: i32,
}

/// A background error.
pub struct rocksdb_status_ptr_t {
    pub(crate) error: Option<Error>,
}

/// The statistics of a compaction, by name.
#[derive(Default)]
pub struct rocksdb_compaction_job_stats_t {
    pub(crate) numbers: BTreeMap<&'static str, u64>,
    /// The first bytes of the smallest and of the largest user key of the output files.
    pub(crate) key_prefixes: (Vec<u8>, Vec<u8>),
}

/// A blob file that a job created.
#[derive(Default)]
pub struct rocksdb_blob_file_addition_info_t {
    pub(crate) path: Vec<u8>,
    pub(crate) number: u64,
    /// The number of values in the file.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// Values of a blob file to which no entry refers after a compaction.
pub struct rocksdb_blob_file_garbage_info_t {
    pub(crate) path: Vec<u8>,
    pub(crate) number: u64,
    /// The number of values.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl rocksdb_compaction_job_stats_t {
    fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }
}

impl rocksdb_compactionjobinfo_t {
    fn number(&self, name: &str) -> u64 {
        self.stats.number(name)
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

facts! {
    rocksdb_flushjobinfo_t, "rocksdb_flushjobinfo_", |i|;
    cf_id: u32 => i.family.0;
    file_number: u64 => i.file_number;
    oldest_blob_file_number: u64 => i.oldest_blob_file;
    thread_id: u64 => env::posix::thread_id();
    job_id: i32 => i.job;
    triggered_writes_slowdown: Flag => Flag(i.stall != 2);
    triggered_writes_stop: Flag => Flag(i.stall == 1);
    smallest_seqno: u64 => i.seqs.0;
    largest_seqno: u64 => i.seqs.1;
    flush_reason: u32 => i.reason;
    blob_compression_type: u32 => i.blob_compression;
    table_properties: Option<Ref<rocksdb_table_properties_t>> => i.properties.as_ref().map(Ref::new);
    blob_file_addition_infos_count: usize => i.blobs.len();
}

byte_facts! {
    rocksdb_flushjobinfo_t, "rocksdb_flushjobinfo_", |i|;
    cf_name => &i.family.1;
    file_path => &i.path;
}

facts! {
    rocksdb_compactionjobinfo_t, "rocksdb_compactionjobinfo_", |i|;
    cf_id: u32 => i.family.0;
    thread_id: u64 => env::posix::thread_id();
    job_id: i32 => i.job;
    num_l0_files: i32 => i.level_0_files;
    base_input_level: i32 => i.levels.0;
    output_level: i32 => i.levels.1;
    compaction_reason: u32 => i.reason;
    compression: u32 => i.compressions.0;
    blob_compression_type: u32 => i.compressions.1;
    aborted: Flag => Flag(i.aborted);
    input_files_count: usize => i.inputs.len();
    output_files_count: usize => i.outputs.len();
    elapsed_micros: u64 => i.number("elapsed_micros");
    num_corrupt_keys: u64 => i.number("num_corrupt_keys");
    input_records: u64 => i.number("num_input_records");
    output_records: u64 => i.number("num_output_records");
    total_input_bytes: u64 => i.number("total_input_bytes");
    total_output_bytes: u64 => i.number("total_output_bytes");
    num_input_files: usize => count(i.number("num_input_files"));
    num_input_files_at_output_level: usize => count(i.number("num_input_files_at_output_level"));
    stats: Ref<rocksdb_compaction_job_stats_t> => Ref::new(&i.stats);
    input_file_infos_count: usize => i.inputs.len();
    output_file_infos_count: usize => i.outputs.len();
    table_properties_count: usize => i.properties.len();
    blob_file_addition_infos_count: usize => i.blobs.len();
    blob_file_garbage_infos_count: usize => i.garbage.len();
}

byte_facts! {
    rocksdb_compactionjobinfo_t, "rocksdb_compactionjobinfo_", |i|;
    cf_name => &i.family.1;
}

facts! {
    rocksdb_compaction_file_info_t, "rocksdb_compaction_file_info_", |f|;
    level: i32 => f.level;
    file_number: u64 => f.number;
    oldest_blob_file_number: u64 => f.oldest_blob_file;
}

facts! {
    rocksdb_subcompactionjobinfo_t, "rocksdb_subcompactionjobinfo_", |i|;
    cf_id: u32 => i.family.0;
    thread_id: u64 => env::posix::thread_id();
    job_id: i32 => i.job;
    subcompaction_job_id: i32 => i.index;
    base_input_level: i32 => i.levels.0;
    output_level: i32 => i.levels.1;
    compaction_reason: u32 => i.reason;
    compression: u32 => i.compressions.0;
    blob_compression_type: u32 => i.compressions.1;
    stats: Ref<rocksdb_compaction_job_stats_t> => Ref::new(&i.stats);
}

byte_facts! {
    rocksdb_subcompactionjobinfo_t, "rocksdb_subcompactionjobinfo_", |i|;
    cf_name => &i.family.1;
}

facts! {
    rocksdb_externalfileingestioninfo_t, "rocksdb_externalfileingestioninfo_", |i|;
    global_seqno: u64 => i.global_seqno;
    table_properties: Option<Ref<rocksdb_table_properties_t>> => i.properties.as_ref().map(Ref::new);
}

byte_facts! {
    rocksdb_externalfileingestioninfo_t, "rocksdb_externalfileingestioninfo_", |i|;
    cf_name => &i.family;
    external_file_path => &i.external_path;
    internal_file_path => &i.internal_path;
}

facts! {
    rocksdb_memtableinfo_t, "rocksdb_memtableinfo_", |i|;
    first_seqno: u64 => i.first_seq;
    earliest_seqno: u64 => i.earliest_seq;
    num_entries: u64 => i.entries;
    num_deletes: u64 => i.deletions;
}

byte_facts! {
    rocksdb_memtableinfo_t, "rocksdb_memtableinfo_", |i|;
    cf_name => &i.family;
    newest_udt => &[];
}

facts! {
    rocksdb_writestallinfo_t, "rocksdb_writestallinfo_", |i|;
    cur: Ref<rocksdb_writestallcondition_t> => Ref::new(&i.current);
    prev: Ref<rocksdb_writestallcondition_t> => Ref::new(&i.previous);
}

byte_facts! {
    rocksdb_writestallinfo_t, "rocksdb_writestallinfo_", |i|;
    cf_name => &i.family;
}

facts! {
    rocksdb_compaction_job_stats_t, "rocksdb_compaction_job_stats_", |s|;
    elapsed_micros: u64 => s.number("elapsed_micros");
    cpu_micros: u64 => s.number("cpu_micros");
    has_accurate_num_input_records: Flag => Flag(s.number("has_accurate_num_input_records") != 0);
    num_input_records: u64 => s.number("num_input_records");
    num_blobs_read: u64 => s.number("num_blobs_read");
    num_input_files: usize => usize::try_from(s.number("num_input_files")).unwrap_or(usize::MAX);
    num_input_files_trivially_moved: usize => usize::try_from(s.number("num_input_files_trivially_moved")).unwrap_or(usize::MAX);
    num_input_files_at_output_level: usize => usize::try_from(s.number("num_input_files_at_output_level")).unwrap_or(usize::MAX);
    num_filtered_input_files: usize => usize::try_from(s.number("num_filtered_input_files")).unwrap_or(usize::MAX);
    num_filtered_input_files_at_output_level: usize => usize::try_from(s.number("num_filtered_input_files_at_output_level")).unwrap_or(usize::MAX);
    num_output_records: u64 => s.number("num_output_records");
    num_output_files: usize => usize::try_from(s.number("num_output_files")).unwrap_or(usize::MAX);
    num_output_files_blob: usize => usize::try_from(s.number("num_output_files_blob")).unwrap_or(usize::MAX);
    is_full_compaction: Flag => Flag(s.number("is_full_compaction") != 0);
    is_manual_compaction: Flag => Flag(s.number("is_manual_compaction") != 0);
    is_remote_compaction: Flag => Flag(s.number("is_remote_compaction") != 0);
    total_input_bytes: u64 => s.number("total_input_bytes");
    total_blob_bytes_read: u64 => s.number("total_blob_bytes_read");
    total_output_bytes: u64 => s.number("total_output_bytes");
    total_output_bytes_blob: u64 => s.number("total_output_bytes_blob");
    total_skipped_input_bytes: u64 => s.number("total_skipped_input_bytes");
    num_records_replaced: u64 => s.number("num_records_replaced");
    total_input_raw_key_bytes: u64 => s.number("total_input_raw_key_bytes");
    total_input_raw_value_bytes: u64 => s.number("total_input_raw_value_bytes");
    num_input_deletion_records: u64 => s.number("num_input_deletion_records");
    num_expired_deletion_records: u64 => s.number("num_expired_deletion_records");
    num_corrupt_keys: u64 => s.number("num_corrupt_keys");
    file_write_nanos: u64 => s.number("file_write_nanos");
    file_range_sync_nanos: u64 => s.number("file_range_sync_nanos");
    file_fsync_nanos: u64 => s.number("file_fsync_nanos");
    file_prepare_write_nanos: u64 => s.number("file_prepare_write_nanos");
    num_single_del_fallthru: u64 => s.number("num_single_del_fallthru");
    num_single_del_mismatch: u64 => s.number("num_single_del_mismatch");
}

byte_facts! {
    rocksdb_compaction_job_stats_t, "rocksdb_compaction_job_stats_", |s|;
    smallest_output_key_prefix => &s.key_prefixes.0;
    largest_output_key_prefix => &s.key_prefixes.1;
}

facts! {
    rocksdb_blob_file_addition_info_t, "rocksdb_blob_file_addition_info_", |i|;
    blob_file_number: u64 => i.number;
    total_blob_count: u64 => i.count;
    total_blob_bytes: u64 => i.bytes;
}

byte_facts! {
    rocksdb_blob_file_addition_info_t, "rocksdb_blob_file_addition_info_", |i|;
    blob_file_path => &i.path;
}

facts! {
    rocksdb_blob_file_garbage_info_t, "rocksdb_blob_file_garbage_info_", |i|;
    blob_file_number: u64 => i.number;
    garbage_blob_count: u64 => i.count;
    garbage_blob_bytes: u64 => i.bytes;
}

byte_facts! {
    rocksdb_blob_file_garbage_info_t, "rocksdb_blob_file_garbage_info_", |i|;
    blob_file_path => &i.path;
}

fn outcome(error: Option<&Error>) -> Result<()> {
    error.map_or(Ok(()), |error| Err(error.clone()))
}

/// Returns the path of the file at `pos`.
fn path_at(files: &[JobFile], pos: usize, size: &crate::abi::Out<usize>) -> Option<Text> {
    let path = files.get(pos).map(|file| &file.path);
    size.set(path.map_or(0, Vec::len));
    path.map(|path| Text::bytes(path))
}

c_api! {
    /// Creates an empty description of a compaction, for `rocksdb_compact_files`.
    fn rocksdb_compactionjobinfo_create() -> Owned<rocksdb_compactionjobinfo_t> {
        Owned(rocksdb_compactionjobinfo_t::default())
    }

    fn rocksdb_compactionjobinfo_destroy(info: own rocksdb_compactionjobinfo_t) {
        drop(info)
    }

    /// Reports the error of the compaction.
    fn rocksdb_compactionjobinfo_status(info: in rocksdb_compactionjobinfo_t, err) {
        outcome(info.error.as_ref())
    }

    fn rocksdb_subcompactionjobinfo_status(info: in rocksdb_subcompactionjobinfo_t, err) {
        outcome(info.error.as_ref())
    }

    /// Reports the background error.
    fn rocksdb_status_ptr_get_error(status: at rocksdb_status_ptr_t, err) {
        outcome(status.error.as_ref())
    }

    /// Clears the background error before it takes effect: the failed job is tried again later, and writes continue. A failed WAL
    /// accepts no writes even then.
    fn rocksdb_reset_status(status_ptr: mut rocksdb_status_ptr_t) {
        status_ptr.error = None;
    }

    /// Returns the path of an input file, or null if there is no such file.
    fn rocksdb_compactionjobinfo_input_file_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize, size: out usize
    ) -> Option<Text> {
        path_at(&info.inputs, pos, &size)
    }

    /// Returns the path of an output file, or null if there is no such file.
    fn rocksdb_compactionjobinfo_output_file_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize, size: out usize
    ) -> Option<Text> {
        path_at(&info.outputs, pos, &size)
    }

    /// Returns an input file, or null if there is no such file.
    fn rocksdb_compactionjobinfo_input_file_info_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_compaction_file_info_t>> {
        info.inputs.get(pos).map(|file| Ref::new(&file.info))
    }

    /// Returns an output file, or null if there is no such file.
    fn rocksdb_compactionjobinfo_output_file_info_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_compaction_file_info_t>> {
        info.outputs.get(pos).map(|file| Ref::new(&file.info))
    }

    /// Returns the path of a file whose properties are known, or null if there is no such file.
    fn rocksdb_compactionjobinfo_table_properties_key_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize, key_len: out usize
    ) -> Option<Text> {
        let entry = info.properties.get(pos);
        key_len.set(entry.map_or(0, |(path, _)| path.len()));
        entry.map(|(path, _)| Text::bytes(path))
    }

    fn rocksdb_compactionjobinfo_table_properties_value_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_table_properties_t>> {
        info.properties.get(pos).map(|(_, properties)| Ref::new(properties))
    }

    /// Returns the properties of a file by its path, or null if they are not known.
    fn rocksdb_compactionjobinfo_table_properties_for_file(
        info: in rocksdb_compactionjobinfo_t, file_name: bytes
    ) -> Option<Ref<rocksdb_table_properties_t>> {
        let entry = info.properties.iter().find(|(path, _)| path == file_name);
        entry.map(|(_, properties)| Ref::new(properties))
    }

    /// Returns a blob file that the flush created, or null if there is no such file.
    fn rocksdb_flushjobinfo_blob_file_addition_info_at(
        info: in rocksdb_flushjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_blob_file_addition_info_t>> {
        info.blobs.get(pos).map(Ref::new)
    }

    /// Returns a blob file that the compaction created, or null if there is no such file.
    fn rocksdb_compactionjobinfo_blob_file_addition_info_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_blob_file_addition_info_t>> {
        info.blobs.get(pos).map(Ref::new)
    }

    /// Returns the garbage that the compaction made in a blob file, or null if there is no such file.
    fn rocksdb_compactionjobinfo_blob_file_garbage_info_at(
        info: in rocksdb_compactionjobinfo_t, pos: usize
    ) -> Option<Ref<rocksdb_blob_file_garbage_info_t>> {
        info.garbage.get(pos).map(Ref::new)
    }
}
