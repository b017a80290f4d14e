//! The settings that all output files of one job share, and the statistics that the purpose of a file selects.
//!
//! Not here: the number, the keys and the size of one file (`file`).

use base::ids::JobId;
use base::stats::HistogramKind;
use base::{EpochNumber, FamilyId, Level, SequenceNumber};
use compress::{Compression, CompressionOptions};
use env::Env;
use env::rate::{IoPriority, RateLimiter};
use env::writer::WriterOptions as FileOptions;
use lsm::seqno_time::SeqnoTimes;

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

/// The common settings of all files of one run.
#[derive(Clone)]
pub struct OutputSettings {
    pub env: Env,
    pub numbers: Arc<Numbers>,
    pub parts: Arc<Parts>,
    pub family: FamilyId,
    pub family_name: String,
    pub db_id: String,
    pub db_session_id: String,
    pub db_host_id: String,
    pub path_id: u32,
    pub level: Level,
    pub is_flush: bool,
    /// Entries with smaller sequence numbers may go to the last level; `None`: not known. Only a flush knows the number: a
    /// compaction that divides entries by age writes for the last level.
    pub old_before: Option<SequenceNumber>,
    pub purpose: Purpose,
    pub epoch: EpochNumber,
    pub compression: Compression,
    pub compression_options: CompressionOptions,
    /// Which values go to blob files; `None`: no value does.
    pub blobs: Option<BlobPolicy>,
    /// The level that gets the files. `level` is the level that the files are written for.
    pub to_level: Level,
    /// The times of sequence numbers, for the properties of the files. `None`: the column family keeps no write times.
    pub times: Option<Arc<SeqnoTimes>>,
    /// In bytes.
    pub target_file_size: u64,
    /// In seconds since 1970. 0: unknown.
    pub oldest_ancestor_time: u64,
    pub oldest_key_time: u64,
    pub newest_key_time: u64,
    pub temperature: u8,
    pub sample_for_compression: u64,
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub priority: IoPriority,
    pub buffer_bytes: usize,
    pub write_back: WriteBack,
    pub use_fsync: bool,
    pub direct: bool,
    /// Bytes that are requested from the file system for a new file; 0 requests none.
    pub preallocate_bytes: u64,
    /// Computes the CRC32C of the whole file.
    pub file_checksum: bool,
    pub stats: Arc<Stats>,
    /// The receiver of events about new SST files, and the job that writes the files.
    pub events: Option<(Arc<Events>, JobId)>,
    /// Decides which job of this database writes first.
    pub flush_priority: Arc<FlushPriority>,
}

impl OutputSettings {
    pub(super) fn checks_rows(&self) -> bool {
        self.parts.paranoid_file_checks || (!self.is_flush && self.parts.verify_outputs.entries)
    }

    /// Returns the options for writing one file.
    pub fn file_options(&self) -> FileOptions {
        FileOptions {
            buffer_bytes: self.buffer_bytes,
            bytes_per_sync: self.write_back.bytes,
            strict_bytes_per_sync: self.write_back.is_strict,
            rate_limiter: self.rate_limiter.clone(),
            priority: self.priority,
            statistics: self.stats.statistics().cloned(),
            histogram: Some(self.purpose.writes()),
            checksum: self.file_checksum,
        }
    }
}
