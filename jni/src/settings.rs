//! Small option classes: compression, compactions, ingestions, imports. One row defines one setter and one getter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, CompactionOptionsFifo,
    CompactionOptionsUniversal, CompressionOptions, ImportColumnFamilyOptions, IngestExternalFileOptions,
};

use crate::class::{Class, Method, Value};
use crate::fault::Fault;
use crate::field::Field;
use crate::handle::Handle;
use crate::java::JObject;
use crate::native::{disposers, natives, rows};

static NEW_TIMESTAMP: Method =
    Class::new("org/rocksdb/CompactRangeOptions$Timestamp").method("<init>", "(JJ)V");

/// `CompressionOptions`.
#[derive(Clone, Default)]
pub struct Compression(pub CompressionOptions);

/// `CompactionOptionsFIFO`.
#[derive(Clone, Default)]
pub struct Fifo(pub CompactionOptionsFifo);

/// `CompactionOptionsUniversal`.
#[derive(Clone, Default)]
pub struct Universal(pub CompactionOptionsUniversal);

/// `CompactionOptions`.
#[derive(Clone, Default)]
pub struct Compaction(pub CompactionOptions);

/// `CompactRangeOptions`, with the flag that cancels a running compaction.
#[derive(Clone)]
pub struct CompactRange {
    pub options: CompactRangeOptions,
    canceled: Arc<AtomicBool>,
}

/// `IngestExternalFileOptions`.
#[derive(Clone, Default)]
pub struct Ingestion(pub IngestExternalFileOptions);

/// `ImportColumnFamilyOptions`.
#[derive(Clone, Default)]
pub struct Import(pub ImportColumnFamilyOptions);

impl Field<i32> for BottommostLevelCompaction {
    fn load(&self) -> i32 {
        ironstone::binding::Place::<i32>::load(self)
    }

    fn store(&mut self, value: i32) -> bool {
        ironstone::binding::Place::<i32>::store(self, value)
    }
}

rows! {
    Compression [CompressionOptions] |o|;
    setWindowBits windowBits: i32 => o.0.window_bits;
    setLevel level: i32 => o.0.level;
    setStrategy strategy: i32 => o.0.strategy;
    setMaxDictBytes maxDictBytes: i32 => o.0.max_dict_bytes;
    setZstdMaxTrainBytes zstdMaxTrainBytes: i32 => o.0.zstd_max_train_bytes;
    setEnabled enabled: bool => o.0.enabled;
}

rows! {
    Fifo [CompactionOptionsFIFO] |o|;
    setMaxTableFilesSize maxTableFilesSize: i64 => o.0.max_table_files_size;
    setAllowCompaction allowCompaction: bool => o.0.allow_compaction;
    setMaxDataFilesSize maxDataFilesSize: i64 => o.0.max_data_files_size;
    setUseKvRatioCompaction useKvRatioCompaction: bool => o.0.use_kv_ratio_compaction;
}

rows! {
    Universal [CompactionOptionsUniversal] |o|;
    setSizeRatio sizeRatio: i32 => o.0.size_ratio;
    setMinMergeWidth minMergeWidth: i32 => o.0.min_merge_width;
    setMaxMergeWidth maxMergeWidth: i32 => o.0.max_merge_width;
    setMaxSizeAmplificationPercent maxSizeAmplificationPercent: i32 => o.0.max_size_amplification_percent;
    setCompressionSizePercent compressionSizePercent: i32 => o.0.compression_size_percent;
    setStopStyle stopStyle: i8 => o.0.stop_style;
    setAllowTrivialMove allowTrivialMove: bool => o.0.allow_trivial_move;
}

rows! {
    Compaction [CompactionOptions] |o|;
    setCompression compression: i8 => o.0.compression;
    setOutputFileSizeLimit outputFileSizeLimit: i64 => o.0.output_file_size_limit;
    setMaxSubcompactions maxSubcompactions: i32 => o.0.max_subcompactions;
}

rows! {
    CompactRange [CompactRangeOptions] |o|;
    setExclusiveManualCompaction exclusiveManualCompaction: bool => o.options.exclusive_manual_compaction;
    setBottommostLevelCompaction bottommostLevelCompaction: i32 => o.options.bottommost_level_compaction;
    setChangeLevel changeLevel: bool => o.options.change_level;
    setTargetLevel targetLevel: i32 => o.options.target_level;
    setTargetPathId targetPathId: i32 => o.options.target_path_id;
    setAllowWriteStall allowWriteStall: bool => o.options.allow_write_stall;
    setMaxSubcompactions maxSubcompactions: i32 => o.options.max_subcompactions;
}

rows! {
    Ingestion [IngestExternalFileOptions] |o|;
    setMoveFiles moveFiles: bool => o.0.move_files;
    setSnapshotConsistency snapshotConsistency: bool => o.0.snapshot_consistency;
    setAllowGlobalSeqNo allowGlobalSeqNo: bool => o.0.allow_global_seqno;
    setAllowBlockingFlush allowBlockingFlush: bool => o.0.allow_blocking_flush;
    setIngestBehind ingestBehind: bool => o.0.ingest_behind;
    setWriteGlobalSeqno writeGlobalSeqno: bool => o.0.write_global_seqno;
}

rows! {
    Import [ImportColumnFamilyOptions] |o|;
    setMoveFiles moveFiles: bool => o.0.move_files;
}

disposers! {
    CompressionOptions: Compression;
    CompactionOptionsFIFO: Fifo;
    CompactionOptionsUniversal: Universal;
    CompactionOptions: Compaction;
    CompactRangeOptions: CompactRange;
    IngestExternalFileOptions: Ingestion;
    ImportColumnFamilyOptions: Import;
}

natives! {
    fn CompressionOptions_newCompressionOptions[_]() -> Handle {
        Handle::new(Compression::default())
    }

    fn CompactionOptionsFIFO_newCompactionOptionsFIFO[_]() -> Handle {
        Handle::new(Fifo::default())
    }

    fn CompactionOptionsUniversal_newCompactionOptionsUniversal[_]() -> Handle {
        Handle::new(Universal::default())
    }

    fn CompactionOptions_newCompactionOptions[_]() -> Handle {
        Handle::new(Compaction::default())
    }

    fn CompactRangeOptions_newCompactRangeOptions[_]() -> Handle {
        let canceled = Arc::new(AtomicBool::new(false));
        let options = CompactRangeOptions { canceled: Some(canceled.clone()), ..CompactRangeOptions::default() };
        Handle::new(CompactRange { options, canceled })
    }

    /// Sets a timestamp of 16 bytes. The two numbers are its bytes, lowest byte first.
    fn CompactRangeOptions_setFullHistoryTSLow[_](options: Handle, start: i64, range: i64) {
        let low = [start.to_le_bytes(), range.to_le_bytes()].concat();
        options.exclusive::<CompactRange>()?.options.full_history_ts_low = Some(low);
    }

    /// Returns null if no timestamp was set.
    fn CompactRangeOptions_fullHistoryTSLow[java](options: Handle) -> JObject<'j> {
        let options = options.shared::<CompactRange>()?;
        let Some(low) = &options.options.full_history_ts_low else { return Ok(JObject::NULL) };
        let numbers = low.chunks_exact(8).filter_map(|bytes| bytes.try_into().ok());
        let numbers = numbers.map(|bytes| Value::long(i64::from_le_bytes(bytes))).collect::<Vec<_>>();
        NEW_TIMESTAMP.construct(java, &numbers)?
    }

    /// Cancels compactions that run with these options.
    fn CompactRangeOptions_setCanceled[_](options: Handle, canceled: bool) {
        options.shared::<CompactRange>()?.canceled.store(canceled, Ordering::Release);
    }

    fn CompactRangeOptions_canceled[_](options: Handle) -> bool {
        options.shared::<CompactRange>()?.canceled.load(Ordering::Acquire)
    }

    fn IngestExternalFileOptions_newIngestExternalFileOptions__[_]() -> Handle {
        Handle::new(Ingestion::default())
    }

    fn IngestExternalFileOptions_newIngestExternalFileOptions__ZZZZ[_](
        move_files: bool, snapshot_consistency: bool, allow_global_seqno: bool, allow_blocking_flush: bool
    ) -> Handle {
        Handle::new(Ingestion(IngestExternalFileOptions {
            move_files, snapshot_consistency, allow_global_seqno, allow_blocking_flush,
            ..IngestExternalFileOptions::default()
        }))
    }

    fn ImportColumnFamilyOptions_newImportColumnFamilyOptions[_]() -> Handle {
        Handle::new(Import::default())
    }
}

/// Returns the options of a handle, or the defaults for 0.
pub fn compact_range(handle: Handle) -> Result<CompactRangeOptions, Fault> {
    if handle.is_null() {
        return Ok(CompactRangeOptions::default());
    }
    Ok(handle.shared::<CompactRange>()?.options.clone())
}
