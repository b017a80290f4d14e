//! `CompactionJobInfo` and `CompactionJobStats`: the description of a compaction.
//!
//! Facts: RocksDB `java/rocksjni/compaction_job_info.cc`, `compaction_job_stats.cc`, `portal.h` (`CompactionReasonJni`).

use base::Level;
use engine::event::{CompactionCounts, CompactionFinished, CompactionStarted, JobFile};
use engine::options::CompressionType;

use crate::collections;
use crate::handle::Handle;
use crate::java::{JBytes, JObject, JObjects};
use crate::native::{disposers, natives};
use crate::{table_properties, throw};

/// `CompactionJobInfo`. A new object describes no compaction until `compactFiles` fills it.
#[derive(Clone, Default)]
pub struct JobInfo {
    pub finished: Option<CompactionFinished>,
    /// The number of the thread that ran the compaction.
    thread: u64,
}

/// `CompactionJobStats`.
#[derive(Clone, Copy, Default)]
pub struct JobStats {
    stats: engine::event::JobStats,
}

impl JobInfo {
    /// Makes the description of a compaction that ended in this thread.
    pub fn new(finished: CompactionFinished) -> Self {
        JobInfo { finished: Some(finished), thread: env::posix::thread_id() }
    }

    /// Makes the description of a compaction that begins in this thread.
    pub fn started(started: &CompactionStarted) -> Self {
        let base = started.inputs.first().map_or(Level::ZERO, |(level, _)| *level);
        JobInfo::new(CompactionFinished {
            job: started.job,
            family: started.family.clone(),
            reason: started.reason,
            error: None,
            compaction_time_micros: 0,
            compaction_time_cpu_micros: 0,
            output_level: started.output_level,
            outputs: Vec::new(),
            counts: CompactionCounts {
                total_output_size: 0,
                num_input_records: 0,
                num_output_records: 0,
                num_subcompactions: 0,
                num_single_delete_mismatches: 0,
                num_single_delete_fallthrough: 0,
                num_merge_comparisons: 0,
            },
            output_compression: started.output_compression.clone(),
            lsm_state: Vec::new(),
            live_blob_files: None,
            base_input_level: base,
            input_files: started.input_files.clone(),
            output_files: Vec::new(),
            table_properties: started.table_properties.clone(),
            stats: started.stats,
            aborted: false,
            proximal: None,
            details: engine::event::CompactionDetails::default(),
        })
    }

    fn number(&self, number: impl FnOnce(&CompactionFinished) -> i64) -> i64 {
        self.finished.as_ref().map_or(0, number)
    }
}

/// Returns the number of a reason in Java's `CompactionReason`. These numbers differ from the numbers of RocksDB's C++ enum.
pub fn reason(word: &str) -> i8 {
    const WORDS: [&str; 20] = [
        "Unknown",
        "LevelL0FilesNum",
        "LevelMaxLevelSize",
        "UniversalSizeAmplification",
        "UniversalSizeRatio",
        "UniversalSortedRunNum",
        "FIFOMaxSize",
        "FIFOReduceNumFiles",
        "FIFOTtl",
        "ManualCompaction",
        "BottommostFiles",
        "Ttl",
        "Flush",
        "ExternalSstIngestion",
        "PeriodicCompaction",
        "ChangeTemperature",
        "FilesMarkedForCompaction",
        "ForcedBlobGC",
        "RoundRobinTtl",
        "RefitLevel",
    ];
    WORDS.iter().position(|known| *known == word).map_or(0, |at| at as i8)
}

fn paths(files: &[JobFile]) -> Vec<String> {
    files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect()
}

/// Declares getters of `CompactionJobStats`.
macro_rules! stats {
    ($($native:ident => $field:ident;)*) => {
        natives! {
            $(fn $native[_](stats: Handle) -> i64 {
                stats.shared::<JobStats>()?.stats.$field as i64
            })*
        }
    };
}

stats! {
    CompactionJobStats_numInputRecords => num_input_records;
    CompactionJobStats_numInputFiles => num_input_files;
    CompactionJobStats_numInputFilesAtOutputLevel => num_input_files_at_output_level;
    CompactionJobStats_numOutputRecords => num_output_records;
    CompactionJobStats_numOutputFiles => num_output_files;
    CompactionJobStats_totalInputBytes => total_input_bytes;
    CompactionJobStats_totalOutputBytes => total_output_bytes;
    CompactionJobStats_numRecordsReplaced => num_records_replaced;
    CompactionJobStats_totalInputRawKeyBytes => total_input_raw_key_bytes;
    CompactionJobStats_totalInputRawValueBytes => total_input_raw_value_bytes;
    CompactionJobStats_numInputDeletionRecords => num_input_deletion_records;
    CompactionJobStats_numExpiredDeletionRecords => num_expired_deletion_records;
    CompactionJobStats_numCorruptKeys => num_corrupt_keys;
    CompactionJobStats_numSingleDelFallthru => num_single_del_fallthru;
    CompactionJobStats_numSingleDelMismatch => num_single_del_mismatch;
}

/// Declares getters of the times of `CompactionJobStats` that `report_bg_io_stats` measures. Without this option, 0.
macro_rules! io_times {
    ($($native:ident => $field:ident;)*) => {
        natives! {
            $(fn $native[_](stats: Handle) -> i64 {
                stats.shared::<JobStats>()?.stats.times.io.unwrap_or_default().$field as i64
            })*
        }
    };
}

io_times! {
    CompactionJobStats_fileWriteNanos => write_nanos;
    CompactionJobStats_fileRangeSyncNanos => range_sync_nanos;
    CompactionJobStats_fileFsyncNanos => fsync_nanos;
    CompactionJobStats_filePrepareWriteNanos => prepare_write_nanos;
}

disposers! {
    CompactionJobInfo: JobInfo;
    CompactionJobStats: JobStats;
}

natives! {
    fn CompactionJobStats_newCompactionJobStats[_]() -> Handle {
        Handle::new(JobStats::default())
    }

    fn CompactionJobStats_reset[_](stats: Handle) {
        *stats.exclusive::<JobStats>()? = JobStats::default();
    }

    fn CompactionJobStats_add[_](stats: Handle, other: Handle) {
        let other = *other.shared::<JobStats>()?;
        let mut sum = stats.exclusive::<JobStats>()?;
        add(&mut sum.stats, &other.stats);
    }

    fn CompactionJobStats_isManualCompaction[_](stats: Handle) -> bool {
        stats.shared::<JobStats>()?.stats.is_manual
    }

    fn CompactionJobStats_elapsedMicros[_](stats: Handle) -> i64 {
        stats.shared::<JobStats>()?.stats.times.elapsed_micros as i64
    }

    /// Returns an empty array: the engine does not keep the first bytes of the smallest and of the largest key.
    fn CompactionJobStats_smallestOutputKeyPrefix | CompactionJobStats_largestOutputKeyPrefix[java](
        stats: Handle
    ) -> JBytes<'j> {
        drop(stats.shared::<JobStats>()?);
        java.new_bytes(&[])?
    }

    fn CompactionJobInfo_newCompactionJobInfo[_]() -> Handle {
        Handle::new(JobInfo::default())
    }

    fn CompactionJobInfo_columnFamilyName[java](info: Handle) -> JBytes<'j> {
        let info = info.shared::<JobInfo>()?;
        java.new_bytes(info.finished.as_ref().map_or(&[], |finished| finished.family.name.as_bytes()))?
    }

    fn CompactionJobInfo_status[java](info: Handle) -> JObject<'j> {
        let info = info.shared::<JobInfo>()?;
        throw::status(java, info.finished.as_ref().and_then(|finished| finished.error.as_ref()))?
    }

    fn CompactionJobInfo_threadId[_](info: Handle) -> i64 {
        info.shared::<JobInfo>()?.thread as i64
    }

    fn CompactionJobInfo_jobId[_](info: Handle) -> i32 {
        info.shared::<JobInfo>()?.number(|finished| finished.job.get() as i64) as i32
    }

    fn CompactionJobInfo_baseInputLevel[_](info: Handle) -> i32 {
        info.shared::<JobInfo>()?.number(|finished| i64::from(finished.base_input_level.get())) as i32
    }

    fn CompactionJobInfo_outputLevel[_](info: Handle) -> i32 {
        info.shared::<JobInfo>()?.number(|finished| i64::from(finished.output_level.get())) as i32
    }

    fn CompactionJobInfo_inputFiles[java](info: Handle) -> JObjects<'j> {
        let info = info.shared::<JobInfo>()?;
        java.new_texts(&info.finished.as_ref().map_or(Vec::new(), |finished| paths(&finished.input_files)))?
    }

    fn CompactionJobInfo_outputFiles[java](info: Handle) -> JObjects<'j> {
        let info = info.shared::<JobInfo>()?;
        java.new_texts(&info.finished.as_ref().map_or(Vec::new(), |finished| paths(&finished.output_files)))?
    }

    fn CompactionJobInfo_tableProperties[java](info: Handle) -> JObject<'j> {
        let info = info.shared::<JobInfo>()?;
        let tables = info.finished.iter().flat_map(|finished| finished.table_properties.iter());
        collections::map(java, tables, |java, (path, properties)| {
            Ok((java.new_text(&path.to_string_lossy())?.object(), table_properties::object(java, properties)?))
        })?
    }

    fn CompactionJobInfo_compactionReason[_](info: Handle) -> i8 {
        info.shared::<JobInfo>()?.finished.as_ref().map_or(0, |finished| reason(finished.reason))
    }

    fn CompactionJobInfo_compression[_](info: Handle) -> i8 {
        let info = info.shared::<JobInfo>()?;
        let name = info.finished.as_ref().map_or("", |finished| finished.output_compression.as_str());
        CompressionType::by_log_name(name).map_or(0, |compression| compression.number() as i8)
    }

    /// Returns the handle of a new object. The Java object closes the handle.
    fn CompactionJobInfo_stats[_](info: Handle) -> Handle {
        let info = info.shared::<JobInfo>()?;
        let stats = info.finished.as_ref().map(|finished| JobStats { stats: finished.stats });
        Handle::new(stats.unwrap_or_default())
    }
}

fn add(sum: &mut engine::event::JobStats, other: &engine::event::JobStats) {
    sum.times.elapsed_micros += other.times.elapsed_micros;
    sum.times.cpu_micros += other.times.cpu_micros;
    if let Some(times) = &other.times.io {
        sum.times.io.get_or_insert_default().add(times);
    }
    sum.num_input_files += other.num_input_files;
    sum.num_input_files_at_output_level += other.num_input_files_at_output_level;
    sum.num_output_files += other.num_output_files;
    sum.num_input_records += other.num_input_records;
    sum.num_output_records += other.num_output_records;
    sum.total_input_bytes += other.total_input_bytes;
    sum.total_output_bytes += other.total_output_bytes;
    sum.num_records_replaced += other.num_records_replaced;
    sum.total_input_raw_key_bytes += other.total_input_raw_key_bytes;
    sum.total_input_raw_value_bytes += other.total_input_raw_value_bytes;
    sum.num_input_deletion_records += other.num_input_deletion_records;
    sum.num_expired_deletion_records += other.num_expired_deletion_records;
    sum.num_corrupt_keys += other.num_corrupt_keys;
    sum.num_single_del_fallthru += other.num_single_del_fallthru;
    sum.num_single_del_mismatch += other.num_single_del_mismatch;
}
