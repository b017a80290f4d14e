//! The settings that all output files of one job share, and the statistics that the purpose of a file selects.
//!
//! Not here: the number, the keys and the size of one file (`file`).

use base::ids::JobId;
use base::stats::HistogramKind;
use base::{EpochNumber, FamilyId, Level, SequenceNumber};
use env::Env;
use env::rate::{IoPriority, RateLimiter};
use env::writer::WriterOptions as FileOptions;
use lsm::seqno_time::SeqnoTimes;
use table::sst::{BlockCompression, DataTimes, Identity};

use super::{BlobPolicy, FlushPriority};
use crate::event::Events;
pub use crate::event::Purpose;
use crate::family::Parts;
use crate::files::Numbers;
use crate::stats::Stats;
use crate::sync::Arc;

impl Purpose {
    /// Returns the histogram for the times of writes.
    pub(super) fn writes(self) -> HistogramKind {
        match self {
            Purpose::Flush => HistogramKind::FileWriteFlushMicros,
            Purpose::Compaction => HistogramKind::FileWriteCompactionMicros,
            Purpose::Open => HistogramKind::FileWriteDbOpenMicros,
        }
    }

    /// Returns the histogram for the times of reads that check the written file.
    pub(super) fn reads(self) -> HistogramKind {
        match self {
            Purpose::Flush => HistogramKind::FileReadFlushMicros,
            Purpose::Compaction => HistogramKind::FileReadCompactionMicros,
            Purpose::Open => HistogramKind::FileReadDbOpenMicros,
        }
    }
}

/// When the bytes of a new file go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// A job starts write-back each time after this many bytes; 0: only the sync at the end.
    pub bytes: u64,
    /// The job waits for the write-back before.
    pub is_strict: bool,
}

/// The column family, the directory and the levels of new files.
#[derive(Clone)]
pub struct OutputPlace {
    pub family: FamilyId,
    pub family_name: String,
    pub path_id: u32,
    pub level: Level,
    /// The level that gets the files. `level` is the level that the files are written for.
    pub to_level: Level,
}

/// How the bytes of new files go to the disk.
#[derive(Clone)]
pub struct OutputIo {
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub priority: IoPriority,
    pub buffer_bytes: usize,
    pub write_back: WriteBack,
    pub use_fsync: bool,
    pub direct: bool,
    /// Bytes that are requested from the file system for a new file; 0 requests none.
    pub preallocate_bytes: u64,
    /// Decides which job of this database writes first.
    pub flush_priority: Arc<FlushPriority>,
}

/// The common settings of all files of one run.
#[derive(Clone)]
pub struct OutputSettings {
    pub env: Env,
    pub numbers: Arc<Numbers>,
    pub parts: Arc<Parts>,
    pub place: OutputPlace,
    pub identity: Identity,
    pub is_flush: bool,
    /// Entries with smaller sequence numbers may go to the last level; `None`: not known. Only a flush knows the number: a
    /// compaction that divides entries by age writes for the last level.
    pub old_before: Option<SequenceNumber>,
    pub purpose: Purpose,
    pub epoch: EpochNumber,
    pub block_compression: BlockCompression,
    /// Which values go to blob files; `None`: no value does.
    pub blobs: Option<BlobPolicy>,
    /// The times of sequence numbers, for the properties of the files. `None`: the column family keeps no write times.
    pub times: Option<Arc<SeqnoTimes>>,
    /// In bytes.
    pub target_file_size: u64,
    pub data_times: DataTimes,
    pub temperature: u8,
    pub io: OutputIo,
    /// Computes the CRC32C of the whole file.
    pub file_checksum: bool,
    pub stats: Arc<Stats>,
    /// The receiver of events about new SST files, and the job that writes the files.
    pub events: Option<(Arc<Events>, JobId)>,
}

impl OutputSettings {
    pub(super) fn checks_rows(&self) -> bool {
        self.parts.paranoid_file_checks || (!self.is_flush && self.parts.verify_outputs.entries)
    }

    /// Returns the options for writing one file.
    pub fn file_options(&self) -> FileOptions {
        FileOptions {
            buffer_bytes: self.io.buffer_bytes,
            bytes_per_sync: self.io.write_back.bytes,
            strict_bytes_per_sync: self.io.write_back.is_strict,
            rate_limiter: self.io.rate_limiter.clone(),
            priority: self.io.priority,
            statistics: self.stats.statistics().cloned(),
            histogram: Some(self.purpose.writes()),
            checksum: self.file_checksum,
        }
    }
}
