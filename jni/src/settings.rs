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

/// `CompactRangeOptions`, with the flag that cancels a running compaction.
#[derive(Clone)]
pub struct CompactRange {
    pub options: CompactRangeOptions,
    canceled: Arc<AtomicBool>,
}

impl Default for CompactRange {
    fn default() -> Self {
        let canceled = Arc::new(AtomicBool::new(false));
        let options =
            CompactRangeOptions { canceled: Some(canceled.clone()), ..CompactRangeOptions::default() };
        CompactRange { options, canceled }
    }
}

impl Field<i32> for BottommostLevelCompaction {
    fn load(&self) -> i32 {
        ironstone::binding::Place::<i32>::load(self)
    }

    fn store(&mut self, value: i32) -> bool {
        ironstone::binding::Place::<i32>::store(self, value)
    }
}

rows! {
    CompressionOptions [CompressionOptions] |o|;
    setWindowBits windowBits: i32 => o.window_bits;
    setLevel level: i32 => o.level;
    setStrategy strategy: i32 => o.strategy;
    setMaxDictBytes maxDictBytes: i32 => o.max_dict_bytes;
    setZstdMaxTrainBytes zstdMaxTrainBytes: i32 => o.zstd_max_train_bytes;
    setEnabled enabled: bool => o.enabled;
}

rows! {
    CompactionOptionsFifo [CompactionOptionsFIFO] |o|;
    setMaxTableFilesSize maxTableFilesSize: i64 => o.max_table_files_size;
    setAllowCompaction allowCompaction: bool => o.allow_compaction;
    setMaxDataFilesSize maxDataFilesSize: i64 => o.max_data_files_size;
    setUseKvRatioCompaction useKvRatioCompaction: bool => o.use_kv_ratio_compaction;
}

rows! {
    CompactionOptionsUniversal [CompactionOptionsUniversal] |o|;
    setSizeRatio sizeRatio: i32 => o.size_ratio;
    setMinMergeWidth minMergeWidth: i32 => o.min_merge_width;
    setMaxMergeWidth maxMergeWidth: i32 => o.max_merge_width;
    setMaxSizeAmplificationPercent maxSizeAmplificationPercent: i32 => o.max_size_amplification_percent;
    setCompressionSizePercent compressionSizePercent: i32 => o.compression_size_percent;
    setStopStyle stopStyle: i8 => o.stop_style;
    setAllowTrivialMove allowTrivialMove: bool => o.allow_trivial_move;
}

rows! {
    CompactionOptions [CompactionOptions] |o| of CompactionOptions (*o);
    setCompression compression: i8 => o.compression;
    setOutputFileSizeLimit outputFileSizeLimit: i64 => o.output_file_size_limit;
    setMaxSubcompactions maxSubcompactions: i32 => o.max_subcompactions;
}

rows! {
    CompactRange [CompactRangeOptions] |o| of CompactRangeOptions (o.options);
    setExclusiveManualCompaction exclusiveManualCompaction: bool => o.options.exclusive_manual_compaction;
    setBottommostLevelCompaction bottommostLevelCompaction: i32 => o.options.bottommost_level_compaction;
    setChangeLevel changeLevel: bool => o.options.change_level;
    setTargetLevel targetLevel: i32 => o.options.target_level;
    setTargetPathId targetPathId: i32 => o.options.target_path_id;
    setAllowWriteStall allowWriteStall: bool => o.options.allow_write_stall;
    setMaxSubcompactions maxSubcompactions: i32 => o.options.max_subcompactions;
}

rows! {
    IngestExternalFileOptions [IngestExternalFileOptions] |o| of IngestExternalFileOptions (*o);
    setMoveFiles moveFiles: bool => o.move_files;
    setSnapshotConsistency snapshotConsistency: bool => o.snapshot_consistency;
    setAllowGlobalSeqNo allowGlobalSeqNo: bool => o.allow_global_seqno;
    setAllowBlockingFlush allowBlockingFlush: bool => o.allow_blocking_flush;
    setIngestBehind ingestBehind: bool => o.ingest_behind;
    setWriteGlobalSeqno writeGlobalSeqno: bool => o.write_global_seqno;
}

rows! {
    ImportColumnFamilyOptions [ImportColumnFamilyOptions] |o| of ImportColumnFamilyOptions (*o);
    setMoveFiles moveFiles: bool => o.move_files;
}

disposers! {
    CompressionOptions: CompressionOptions;
    CompactionOptionsFIFO: CompactionOptionsFifo;
    CompactionOptionsUniversal: CompactionOptionsUniversal;
    CompactionOptions: CompactionOptions;
    CompactRangeOptions: CompactRange;
    IngestExternalFileOptions: IngestExternalFileOptions;
    ImportColumnFamilyOptions: ImportColumnFamilyOptions;
}

natives! {
    fn CompressionOptions_newCompressionOptions[_]() -> Handle {
        Handle::new(CompressionOptions::default())
    }

    fn CompactionOptionsFIFO_newCompactionOptionsFIFO[_]() -> Handle {
        Handle::new(CompactionOptionsFifo::default())
    }

    fn CompactionOptionsUniversal_newCompactionOptionsUniversal[_]() -> Handle {
        Handle::new(CompactionOptionsUniversal::default())
    }

    fn CompactionOptions_newCompactionOptions[_]() -> Handle {
        Handle::new(CompactionOptions::default())
    }

    fn CompactRangeOptions_newCompactRangeOptions[_]() -> Handle {
        Handle::new(CompactRange::default())
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
        Handle::new(IngestExternalFileOptions::default())
    }

    fn IngestExternalFileOptions_newIngestExternalFileOptions__ZZZZ[_](
        move_files: bool, snapshot_consistency: bool, allow_global_seqno: bool, allow_blocking_flush: bool
    ) -> Handle {
        Handle::new(IngestExternalFileOptions {
            move_files, snapshot_consistency, allow_global_seqno, allow_blocking_flush,
            ..IngestExternalFileOptions::default()
        })
    }

    fn ImportColumnFamilyOptions_newImportColumnFamilyOptions[_]() -> Handle {
        Handle::new(ImportColumnFamilyOptions::default())
    }
}

/// Returns the options of a handle, or the defaults for 0.
pub fn compact_range(handle: Handle) -> Result<CompactRangeOptions, Fault> {
    if handle.is_null() {
        return Ok(CompactRangeOptions::default());
    }
    Ok(handle.shared::<CompactRange>()?.options.clone())
}
