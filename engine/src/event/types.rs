//! The types of events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::ids::JobId;
use base::stats::IoTimes;
use base::{Error, FamilyId, FileNumber, Level, SequenceNumber};
use format::properties::Properties;

use super::JobTimes;
use crate::sync::Arc;

/// The purpose of a new SST file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A flush writes memtables.
    Flush,
    /// A compaction writes its outputs.
    Compaction,
    /// Recovery writes a memtable that it filled from WALs.
    Open,
}

/// The reason of a flush. The words are the words of RocksDB's `FlushReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushReason {
    /// RocksDB's reason without a name. Ironstone never uses the reason.
    Others,
    /// A list of live files must hold all entries, for example for a checkpoint.
    GetLiveFiles,
    /// The database closes.
    ShutDown,
    /// An ingested file overlaps entries of memtables.
    ExternalFileIngestion,
    /// A manual compaction covers entries of memtables.
    ManualCompaction,
    /// All memtables together reach their memory limit.
    WriteBufferManager,
    /// The active memtable reaches `write_buffer_size`.
    WriteBufferFull,
    /// RocksDB's reason for a deletion of files. Ironstone never uses the reason.
    DeleteFiles,
    /// RocksDB's reason for an automatic compaction. Ironstone never uses the reason.
    AutoCompaction,
    /// The application called for the flush.
    ManualFlush,
    /// A resume flushes memtables to clear a background error.
    ErrorRecovery,
    /// RocksDB's reason for a repeated flush of a resume. Ironstone never uses the reason.
    ErrorRecoveryRetryFlush,
    /// The live WALs reach `max_total_wal_size`.
    WalFull,
    /// RocksDB's reason for flushes after a resume. Ironstone never uses the reason.
    CatchUpAfterErrorRecovery,
    /// The memtable reaches `memtable_max_range_deletions` range tombstones.
    MemtableMaxRangeDeletions,
}

impl FlushReason {
    /// Returns RocksDB's text of the reason, as events of the info log print it.
    pub fn word(self) -> &'static str {
        match self {
            FlushReason::Others => "Other Reasons",
            FlushReason::GetLiveFiles => "Get Live Files",
            FlushReason::ShutDown => "Shut down",
            FlushReason::ExternalFileIngestion => "External File Ingestion",
            FlushReason::ManualCompaction => "Manual Compaction",
            FlushReason::WriteBufferManager => "Write Buffer Manager",
            FlushReason::WriteBufferFull => "Write Buffer Full",
            FlushReason::DeleteFiles => "Delete Files",
            FlushReason::AutoCompaction => "Auto Compaction",
            FlushReason::ManualFlush => "Manual Flush",
            FlushReason::ErrorRecovery => "Error Recovery",
            FlushReason::ErrorRecoveryRetryFlush => "Error Recovery Retry Flush",
            FlushReason::WalFull => "WAL Full",
            FlushReason::CatchUpAfterErrorRecovery => "Catch Up After Error Recovery",
            FlushReason::MemtableMaxRangeDeletions => "Memtable Max Range Deletions",
        }
    }
}

/// The operation that caused a background error. RocksDB's `BackgroundErrorReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ErrorReason {
    /// A flush failed, and the WAL failed too.
    Flush = 0,
    /// A compaction failed.
    Compaction = 1,
    /// The WAL failed during a write. The name is RocksDB's.
    WriteCallback = 2,
    /// The insert into a memtable failed after the WAL append.
    MemTable = 3,
    /// A commit to the MANIFEST failed outside of a flush.
    ManifestWrite = 4,
    /// A flush failed, and the WAL has no error. The name is RocksDB's: the database may have a WAL.
    FlushNoWal = 5,
    /// The commit of a flush to the MANIFEST failed, and the WAL has no error. The name is RocksDB's.
    ManifestWriteNoWal = 6,
    /// An SST file could not be opened after the open of the database (`open_files_async`).
    AsyncFileOpen = 7,
}

/// The state of the writes to a column family: normal, delayed, or stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StallCondition {
    /// Writers do not wait.
    #[default]
    Normal,
    /// Writers are slowed to a rate.
    Delayed,
    /// Writers wait until a flush or a compaction ends.
    Stopped,
}

/// An event of a database.
#[derive(Clone, Debug)]
pub enum Event {
    /// The open begins to replay WALs.
    RecoveryStarted {
        job: JobId,
        /// The numbers of the WALs, ascending.
        wal_files: Vec<FileNumber>,
    },
    /// The replay of the WALs has ended.
    RecoveryFinished {
        job: JobId,
        /// The error that fails the open. `None` after success.
        error: Option<Error>,
    },
    /// The user has requested a flush of these column families, and the flush starts.
    ManualFlushScheduled {
        families: Vec<Named>,
        reason: FlushReason,
    },
    /// A flush job begins.
    FlushStarted(FlushStarted),
    /// A flush is committed.
    FlushFinished(FlushFinished),
    /// A compaction begins.
    CompactionStarted(CompactionStarted),
    /// A subcompaction begins. Emitted on the thread of the subcompaction. Every compaction that merges has at least
    /// one.
    SubcompactionStarted(Subcompaction),
    /// A subcompaction has ended, on the thread of the subcompaction.
    SubcompactionFinished(Subcompaction),
    /// A compaction has written its SST files and will commit next, or it has failed. `lsm_state` is the state before the
    /// commit. After a failure, the report names no output, and only `CompactionFinished` has the error.
    CompactionPreCommit(CompactionFinished),
    /// A compaction has ended, with success or with an error.
    CompactionFinished(CompactionFinished),
    /// A new SST file is created. Each start has one [`Event::TableCreated`], also after an error.
    TableCreationStarted {
        job: JobId,
        family: Named,
        number: FileNumber,
        path: PathBuf,
        purpose: Purpose,
    },
    /// An SST file was written, or its writing failed. A flush that keeps no entry, and a compaction that keeps no range
    /// tombstone and no entry, report a file that is not kept: the error is Aborted.
    TableCreated(TableCreated),
    /// A new blob file is created.
    BlobCreationStarted {
        job: JobId,
        family: Named,
        number: FileNumber,
        path: PathBuf,
        purpose: Purpose,
    },
    /// A blob file was written.
    BlobCreated(BlobCreated),
    /// An obsolete blob file was deleted, or its deletion failed.
    BlobDeleted {
        job: JobId,
        number: FileNumber,
        path: PathBuf,
        /// The error of the deletion. `None` after success.
        error: Option<Error>,
    },
    /// An obsolete SST file was deleted, or its deletion failed.
    FileDeleted {
        job: JobId,
        number: FileNumber,
        path: PathBuf,
        /// The error of the deletion. `None` after success.
        error: Option<Error>,
    },
    /// A compaction moved files to a lower level without a rewrite.
    TrivialMove {
        job: JobId,
        family: Named,
        destination_level: Level,
        /// The number of moved files.
        files: usize,
        /// The size of the moved files in bytes.
        bytes: u64,
    },
    /// A background job or the WAL failed.
    BackgroundError {
        reason: ErrorReason,
        error: Error,
        /// True if [`Listener::on_background_error`] had the error before. False for an error that stops nothing.
        ///
        /// [`Listener::on_background_error`]: super::Listener::on_background_error
        is_decided: bool,
    },
    /// The engine will try to resume in the background after a `BackgroundError`.
    ErrorRecoveryStarted {
        reason: ErrorReason,
        error: Error,
    },
    /// A resume has ended. `new` is the error that remains; `None` if no error remains.
    RecoveredFromError {
        old: Error,
        new: Option<Error>,
    },
    StallChanged {
        family: Named,
        from: StallCondition,
        to: StallCondition,
    },
    /// A memtable became immutable.
    MemtableSealed {
        family: Named,
        /// The smallest sequence number of an entry in the memtable.
        first_sequence: SequenceNumber,
        /// Every entry that is written to the column family later has a larger sequence number than this one, or is in
        /// this memtable.
        earliest_sequence: SequenceNumber,
        /// The number of entries, tombstones included.
        num_entries: u64,
        /// The number of point tombstones.
        num_deletes: u64,
    },
    /// A column family was dropped.
    FamilyDropped(Named),
    /// A flush or an automatic compaction has ended.
    JobPressureChanged(JobPressure),
    /// A file that was made outside of the database is visible in a column family.
    ExternalFileIngested(ExternalFileIngested),
    /// The database begins to close. Jobs may still run.
    ShutdownStarted,
    /// Durable writes were damaged or lost, and the database was opened without them. `error` names the file and the
    /// offset; `bytes` is the number of lost bytes.
    WritesLost {
        error: Error,
        bytes: u64,
    },
}

impl Event {
    /// Returns the word for the line of the info log. Events without a line have a word too.
    pub fn name(&self) -> &'static str {
        match self {
            Event::RecoveryStarted { .. } => "recovery_started",
            Event::RecoveryFinished { error: None, .. } => "recovery_finished",
            Event::RecoveryFinished { .. } => "recovery_failed",
            Event::ManualFlushScheduled { .. } => "manual_flush_scheduled",
            Event::FlushStarted(_) => "flush_started",
            Event::FlushFinished(_) => "flush_finished",
            Event::CompactionStarted(_) => "compaction_started",
            Event::SubcompactionStarted(_) => "subcompaction_started",
            Event::SubcompactionFinished(_) => "subcompaction_finished",
            Event::CompactionPreCommit(_) => "compaction_pre_commit",
            Event::CompactionFinished(_) => "compaction_finished",
            Event::TableCreationStarted { .. } => "table_file_creation_started",
            Event::TableCreated(_) => "table_file_creation",
            Event::BlobCreationStarted { .. } => "blob_file_creation_started",
            Event::BlobCreated(_) => "blob_file_creation",
            Event::BlobDeleted { .. } => "blob_file_deletion",
            Event::FileDeleted { .. } => "table_file_deletion",
            Event::TrivialMove { .. } => "trivial_move",
            Event::BackgroundError { .. } => "background_error",
            Event::ErrorRecoveryStarted { .. } => "error_recovery_begin",
            Event::RecoveredFromError { .. } => "error_recovery_end",
            Event::StallChanged { .. } => "stall_conditions_changed",
            Event::MemtableSealed { .. } => "memtable_sealed",
            Event::FamilyDropped(_) => "column_family_dropped",
            Event::JobPressureChanged(_) => "background_job_pressure_changed",
            Event::ExternalFileIngested(_) => "ingest_finished",
            Event::ShutdownStarted => "db_shutdown_begin",
            Event::WritesLost { .. } => "writes_lost",
        }
    }
}

/// How busy the background jobs of a database are. RocksDB: `BackgroundJobPressure`. Bottommost compactions run in the pool of
/// all compactions, so the numbers of compactions have no parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobPressure {
    /// Compactions that have a slot, with the compactions that run.
    pub compaction_scheduled: usize,
    /// Compactions that run.
    pub compaction_running: usize,
    /// Flushes that have a slot, with the flushes that run.
    pub flush_scheduled: usize,
    /// Flushes that run.
    pub flush_running: usize,
    /// How near the column family under the most pressure is to a write stall, in percent. 100 or more delays writes.
    pub write_stall_proximity_percent: u64,
    /// True if compactions use all slots because of the pressure.
    pub compaction_speedup_active: bool,
}

/// The number and the name of a column family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub id: FamilyId,
    pub name: String,
}

/// A flush job begins. The counts cover all memtables of the flush, and the sizes are in bytes.
#[derive(Clone, Debug)]
pub struct FlushStarted {
    pub job: JobId,
    pub family: Named,
    /// The number of memtables that the flush writes.
    pub num_memtables: usize,
    /// The number of entries, range tombstones included.
    pub total_num_input_entries: u64,
    /// The number of point tombstones.
    pub num_deletes: u64,
    /// The size of the entries.
    pub total_data_size: u64,
    /// The memory that the memtables use.
    pub memory_usage: u64,
    /// The number of range tombstones.
    pub num_range_deletes: u64,
    pub reason: FlushReason,
    /// The stall that the number of level-0 files alone causes.
    pub stall: StallCondition,
    /// The path of an SST file with the number 0 in the directory of the new file. The file has no number yet.
    pub path: PathBuf,
}

/// A flush is committed. It wrote an SST file, or it dropped all entries of the memtables.
#[derive(Clone, Debug)]
pub struct FlushFinished {
    pub job: JobId,
    pub family: Named,
    pub reason: FlushReason,
    /// The new SST file. `None` if the flush dropped all entries of the memtables.
    pub file: Option<FileNumber>,
    /// RocksDB's name of the compression of the new SST file.
    pub output_compression: String,
    /// The number of files on each level after the flush.
    pub lsm_state: Vec<usize>,
    /// The oldest and the newest blob file after the job. `None` without blob files.
    pub live_blob_files: Option<(FileNumber, FileNumber)>,
    /// The number of immutable memtables that still wait for a flush.
    pub immutable_memtables: usize,
    /// The smallest sequence number in `file`; 0 without a file.
    pub smallest_seqno: SequenceNumber,
    /// The largest sequence number in `file`; 0 without a file.
    pub largest_seqno: SequenceNumber,
    /// The stall that the number of level-0 files alone causes.
    pub stall: StallCondition,
    /// The path of `file`.
    pub path: Option<PathBuf>,
    /// The table properties of `file`.
    pub properties: Option<Arc<Properties>>,
    /// The times of the file-system calls. `None` without `report_bg_io_stats`.
    pub io_times: Option<IoTimes>,
}

/// One SST file of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// The level of the file: of an input before the compaction, of an output after the compaction.
    pub level: Level,
    /// The path of the file.
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// The oldest blob file that an entry of the file points to.
    pub oldest_blob_file: Option<FileNumber>,
}

/// Counts of one compaction. RocksDB: `CompactionJobStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// The times of the compaction.
    pub times: JobTimes,
    /// SST files that the compaction read.
    pub num_input_files: usize,
    /// Input files that the compaction moved to another level without a new file.
    pub num_input_files_trivially_moved: usize,
    /// Input files that were on the output level.
    pub num_input_files_at_output_level: usize,
    /// SST files that the compaction wrote.
    pub num_output_files: usize,
    /// Entries that the compaction read.
    pub num_input_records: u64,
    /// Entries in the output files.
    pub num_output_records: u64,
    /// Bytes of the input SST files.
    pub total_input_bytes: u64,
    /// Bytes of the output SST files.
    pub total_output_bytes: u64,
    /// Entries that a newer entry of the same key hides.
    pub num_records_replaced: u64,
    /// Bytes of the keys and of the values that were read.
    pub total_input_raw_key_bytes: u64,
    pub total_input_raw_value_bytes: u64,
    /// Tombstones among the entries that were read.
    pub num_input_deletion_records: u64,
    /// Tombstones that were dropped, because they had nothing left to delete.
    pub num_expired_deletion_records: u64,
    /// Entries whose internal key did not decode.
    pub num_corrupt_keys: u64,
    /// Single deletions that met no put.
    pub num_single_del_fallthru: u64,
    /// Single deletions that met an entry other than a put.
    pub num_single_del_mismatch: u64,
    /// True if a manual compaction wrote the output files.
    pub is_manual: bool,
    /// The blob files that the compaction read and wrote.
    pub blobs: BlobJobStats,
}

/// The blob files of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobJobStats {
    /// Records that were read from blob files.
    pub num_read: u64,
    /// Bytes of the records that were read from blob files.
    pub bytes_read: u64,
    /// Blob files that the compaction wrote.
    pub num_output_files: usize,
    /// Bytes of the records in the output blob files.
    pub output_bytes: u64,
}

/// A compaction begins. The inputs are reserved.
#[derive(Clone, Debug)]
pub struct CompactionStarted {
    pub job: JobId,
    pub family: Named,
    /// RocksDB's word for the reason of the compaction.
    pub reason: &'static str,
    /// Level and file numbers.
    pub inputs: Vec<(Level, Vec<FileNumber>)>,
    /// The number of level-0 files in the version that the compaction reads.
    pub num_l0_files: usize,
    pub output_level: Level,
    /// The compression of the output files, by RocksDB's name.
    pub output_compression: String,
    /// The score of the level at the pick. 1 or more makes a compaction due.
    pub score: f64,
    /// Bytes of the input SST files.
    pub input_data_size: u64,
    /// `None` without snapshots.
    pub oldest_snapshot: Option<SequenceNumber>,
    /// The input files with their paths. Empty if there is no listener.
    pub input_files: Vec<JobFile>,
    /// The table properties of the input files, by path. Empty if there is no listener.
    pub table_properties: BTreeMap<PathBuf, Arc<Properties>>,
    /// True if the compaction writes new files, and all SST files of the column family are inputs.
    pub is_full: bool,
    /// True if the program named the input files (`compact_files`). RocksDB calls no listener for such a compaction.
    pub by_compact_files: bool,
    /// The counts that are known at the start.
    pub stats: JobStats,
}

/// One subcompaction of a compaction.
#[derive(Clone, Debug)]
pub struct Subcompaction {
    pub job: JobId,
    pub family: Named,
    /// RocksDB's word for the reason of the compaction.
    pub reason: &'static str,
    /// The index of the subcompaction, from 0.
    pub index: usize,
    /// The lowest level number of the input files.
    pub base_input_level: Level,
    pub output_level: Level,
    /// The compression of the output files, by RocksDB's name.
    pub output_compression: String,
    /// The error of the subcompaction. `None` at its start, and after success.
    pub error: Option<Error>,
    /// Counts of the entries that the subcompaction read, and its CPU time. Zero at its start. Files and bytes are counted for
    /// the whole compaction only: see [`CompactionFinished`].
    pub stats: JobStats,
}

/// A compaction has ended, with success or with `error`. Sizes are in bytes and times are in microseconds.
#[derive(Clone, Debug)]
pub struct CompactionFinished {
    pub job: JobId,
    pub family: Named,
    /// RocksDB's word for the reason of the compaction.
    pub reason: &'static str,
    /// The error of the compaction. `None` after success.
    pub error: Option<Error>,
    /// Time from start to end.
    pub compaction_time_micros: u64,
    /// CPU time of the thread that started the compaction.
    pub compaction_time_cpu_micros: u64,
    pub output_level: Level,
    /// The numbers of the output SST files.
    pub outputs: Vec<FileNumber>,
    /// Its sizes and counts.
    pub counts: CompactionCounts,
    /// RocksDB's name of the compression of the outputs.
    pub output_compression: String,
    /// The number of files on each level.
    pub lsm_state: Vec<usize>,
    /// The oldest and the newest blob file after the job. `None` without blob files.
    pub live_blob_files: Option<(FileNumber, FileNumber)>,
    /// The lowest level of the input files.
    pub base_input_level: Level,
    /// The input files with their paths.
    pub input_files: Vec<JobFile>,
    /// The output files with their paths.
    pub output_files: Vec<JobFile>,
    /// The table properties of the input files that are open and of the output files, by path.
    pub table_properties: BTreeMap<PathBuf, Arc<Properties>>,
    /// The counts of the compaction.
    pub stats: JobStats,
    /// True if `abort_all_compactions` or a cancel flag ended the compaction.
    pub aborted: bool,
    /// The files one level above the output level, with entries that are too young for the last level. `None`: there is no such file.
    pub proximal: Option<ProximalOutput>,
    /// More facts: whether the compaction was full, the key range of its outputs, and the garbage in blob files.
    pub details: CompactionDetails,
}

/// The sizes and counts of a compaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactionCounts {
    /// Bytes of the output SST files.
    pub total_output_size: u64,
    /// Entries that the compaction read.
    pub num_input_records: u64,
    /// Entries in the output files.
    pub num_output_records: u64,
    /// The number of key ranges that ran in parallel.
    pub num_subcompactions: usize,
    /// Single deletions that met an entry other than a put.
    pub num_single_delete_mismatches: u64,
    /// Single deletions that met no put.
    pub num_single_delete_fallthrough: u64,
    /// Key comparisons of the merging iterator.
    pub num_merge_comparisons: u64,
}

/// More about a compaction that ended.
#[derive(Clone, Debug, Default)]
pub struct CompactionDetails {
    /// True if the compaction wrote new files, and all SST files of the column family were inputs.
    pub is_full: bool,
    /// True if the program named the input files (`compact_files`). RocksDB calls no listener for such a compaction.
    pub by_compact_files: bool,
    /// The first bytes of the smallest user key of the output files, at most 8. Empty without output files.
    pub smallest_output_key_prefix: Vec<u8>,
    /// The first bytes of the largest user key of the output files, at most 8. Empty without output files.
    pub largest_output_key_prefix: Vec<u8>,
    /// The garbage that the compaction made in blob files.
    pub blob_garbage: Vec<BlobGarbageMade>,
}

/// Values of a blob file to which no entry refers any longer. RocksDB: `BlobFileGarbageInfo`.
#[derive(Clone, Debug)]
pub struct BlobGarbageMade {
    /// The file number of the blob file.
    pub number: FileNumber,
    /// The path of the blob file.
    pub path: PathBuf,
    /// The number of values.
    pub count: u64,
    /// Bytes of the records of the values.
    pub bytes: u64,
}

/// The files of the second output of a compaction into the last level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProximalOutput {
    pub files: u64,
    pub bytes: u64,
    pub records: u64,
}

/// RocksDB's `ExternalFileIngestionInfo`.
#[derive(Clone, Debug)]
pub struct ExternalFileIngested {
    pub family: Named,
    /// The path that the application named.
    pub external_file_path: PathBuf,
    /// The path inside the database.
    pub internal_file_path: PathBuf,
    /// The level on which the file was placed.
    pub level: Level,
    /// The sequence number of all entries of the file. 0: the entries keep their own sequence numbers.
    pub global_seqno: SequenceNumber,
    /// The table properties of the file.
    pub properties: Arc<Properties>,
}

/// An SST file was written, or its writing failed with `error`.
#[derive(Clone, Debug)]
pub struct TableCreated {
    pub job: JobId,
    pub family: Named,
    /// `(nil)` if a flush failed, or if the file is not kept because it is empty.
    pub path: PathBuf,
    pub number: FileNumber,
    /// The job that wrote the SST file.
    pub purpose: Purpose,
    /// The size in bytes.
    pub file_size: u64,
    /// The checksum of the whole file. Empty without `file_checksum_gen_factory`.
    pub file_checksum: Vec<u8>,
    /// The name of the function that computed `file_checksum`.
    pub file_checksum_func_name: String,
    /// The smallest sequence number of an entry.
    pub smallest_seqno: SequenceNumber,
    /// The largest sequence number of an entry.
    pub largest_seqno: SequenceNumber,
    /// The oldest blob file that the SST file refers to.
    pub oldest_blob_file: Option<FileNumber>,
    /// The table properties. `None` if the file failed before its properties were known.
    pub properties: Option<Arc<Properties>>,
    /// The error of the writing. `None` after success.
    pub error: Option<Error>,
}

/// A new blob file.
#[derive(Clone, Debug)]
pub struct BlobCreated {
    pub job: JobId,
    pub family: Named,
    pub number: FileNumber,
    pub path: PathBuf,
    /// The job that wrote the blob file.
    pub purpose: Purpose,
    /// The number of records.
    pub total_blob_count: u64,
    /// Bytes of all records.
    pub total_blob_bytes: u64,
    /// Empty without `file_checksum_gen_factory`.
    pub file_checksum: Vec<u8>,
    /// The name of the function that computed `file_checksum`.
    pub file_checksum_func_name: String,
}
