//! `PerfContext` and the perf level: counters of the calling thread.
//!
//! In RocksDB, the handle is the address of the counters of the thread that called `getPerfContext`. Here the handle is a
//! constant without an object: each getter reads the counters of the thread that calls the getter. Facts: RocksDB
//! `java/rocksjni/jni_perf_context.cc`.

use base::stats::{self, PerfCounter};

use crate::handle::Handle;
use crate::java::JString;
use crate::native::{natives, one_native};

/// The handle of all perf contexts. No object has this handle, because its generation is 0.
const CONTEXT: Handle = Handle::of(1);

/// Declares the getters of counters.
macro_rules! counters {
    ($($getter:ident $counter:ident;)*) => {
        $(one_native! {
            (concat!("PerfContext_", stringify!($getter))) []
            [_java] (_context: crate::handle::Handle) [i64] {
                stats::perf_counter(PerfCounter::$counter) as i64
            }
        })*
    };
}
counters! {
    getBlobCacheHitCount BlobCacheHitCount;
    getBlobCacheReadByte BlobCacheReadByte;
    getBlobChecksumTime BlobChecksumTime;
    getBlobDecompressTime BlobDecompressTime;
    getBlobReadByte BlobReadByte;
    getBlobReadCount BlobReadCount;
    getBlobReadTime BlobReadTime;
    getBlockCacheFilterHitCount BlockCacheFilterHitCount;
    getBlockCacheHitCount BlockCacheHitCount;
    getBlockCacheIndexHitCount BlockCacheIndexHitCount;
    getBlockCacheRealHandleCount BlockCacheRealHandleCount;
    getBlockCacheStandaloneHandleCount BlockCacheStandaloneHandleCount;
    getBlockChecksumTime BlockChecksumTime;
    getBlockDecompressTime BlockDecompressTime;
    getBlockReadByte BlockReadByte;
    getBlockReadCount BlockReadCount;
    getBlockReadCpuTime BlockReadCpuTime;
    getBlockReadTime BlockReadTime;
    getBlockSeekNanos BlockSeekNanos;
    getBloomMemtableHitCount BloomMemtableHitCount;
    getBloomMemtableMissCount BloomMemtableMissCount;
    getBloomSstHitCount BloomSstHitCount;
    getBloomSstMissCount BloomSstMissCount;
    getCompressedSecCacheCompressedBytes CompressedSecCacheCompressedBytes;
    getCompressedSecCacheInsertDummyCount CompressedSecCacheInsertDummyCount;
    getCompressedSecCacheInsertRealCount CompressedSecCacheInsertRealCount;
    getCompressedSecCacheUncompressedBytes CompressedSecCacheUncompressedBytes;
    getCompressionDictBlockReadCount CompressionDictBlockReadCount;
    getDbConditionWaitNanos DbConditionWaitNanos;
    getDbMutexLockNanos DbMutexLockNanos;
    getDecryptDataNanos DecryptDataNanos;
    getEncryptDataNanos EncryptDataNanos;
    getEnvCreateDirIfMissingNanos EnvCreateDirIfMissingNanos;
    getEnvCreateDirNanos EnvCreateDirNanos;
    getEnvDeleteDirNanos EnvDeleteDirNanos;
    getEnvDeleteFileNanos EnvDeleteFileNanos;
    getEnvFileExistsNanos EnvFileExistsNanos;
    getEnvGetChildrenFileAttributesNanos EnvGetChildrenFileAttributesNanos;
    getEnvGetChildrenNanos EnvGetChildrenNanos;
    getEnvGetFileModificationTimeNanos EnvGetFileModificationTimeNanos;
    getEnvGetFileSizeNanos EnvGetFileSizeNanos;
    getEnvLinkFileNanos EnvLinkFileNanos;
    getEnvLockFileNanos EnvLockFileNanos;
    getEnvNewDirectoryNanos EnvNewDirectoryNanos;
    getEnvNewLoggerNanos EnvNewLoggerNanos;
    getEnvNewRandomAccessFileNanos EnvNewRandomAccessFileNanos;
    getEnvNewRandomRwFileNanos EnvNewRandomRwFileNanos;
    getEnvNewSequentialFileNanos EnvNewSequentialFileNanos;
    getEnvNewWritableFileNanos EnvNewWritableFileNanos;
    getEnvRenameFileNanos EnvRenameFileNanos;
    getEnvReuseWritableFileNanos EnvReuseWritableFileNanos;
    getEnvUnlockFileNanos EnvUnlockFileNanos;
    getFilterBlockReadCount FilterBlockReadCount;
    getFindNextUserEntryTime FindNextUserEntryTime;
    getFindTableNanos FindTableNanos;
    getFromMemtableCount GetFromMemtableCount;
    getFromMemtableTime GetFromMemtableTime;
    getFromOutputFilesTime GetFromOutputFilesTime;
    getGetCpuNanos GetCpuNanos;
    getIndexBlockReadCount IndexBlockReadCount;
    getInternalDeleteSkippedCount InternalDeleteSkippedCount;
    getInternalKeySkippedCount InternalKeySkippedCount;
    getInternalMergeCount InternalMergeCount;
    getInternalMergePointLookupCount InternalMergePointLookupCount;
    getInternalRangeDelReseekCount InternalRangeDelReseekCount;
    getInternalRecentSkippedCount InternalRecentSkippedCount;
    getIterNextCpuNanos IterNextCpuNanos;
    getIterPrevCpuNanos IterPrevCpuNanos;
    getIterReadBytes IterReadBytes;
    getIterSeekCpuNanos IterSeekCpuNanos;
    getKeyLockWaitCount KeyLockWaitCount;
    getKeyLockWaitTime KeyLockWaitTime;
    getMergeOperatorTimeNanos MergeOperatorTimeNanos;
    getMultigetReadBytes MultigetReadBytes;
    getNewTableBlockIterNanos NewTableBlockIterNanos;
    getNewTableIteratorNanos NewTableIteratorNanos;
    getNextOnMemtableCount NextOnMemtableCount;
    getNumberAsyncSeek NumberAsyncSeek;
    getPostProcessTime GetPostProcessTime;
    getPrevOnMemtableCount PrevOnMemtableCount;
    getReadBytes GetReadBytes;
    getReadFilterBlockNanos ReadFilterBlockNanos;
    getReadIndexBlockNanos ReadIndexBlockNanos;
    getSecondaryCacheHitCount SecondaryCacheHitCount;
    getSeekChildSeekCount SeekChildSeekCount;
    getSeekChildSeekTime SeekChildSeekTime;
    getSeekInternalSeekTime SeekInternalSeekTime;
    getSeekMaxHeapTime SeekMaxHeapTime;
    getSeekMinHeapTime SeekMinHeapTime;
    getSeekOnMemtableCount SeekOnMemtableCount;
    getSeekOnMemtableTime SeekOnMemtableTime;
    getSnapshotTime GetSnapshotTime;
    getUserKeyComparisonCount UserKeyComparisonCount;
    getWriteDelayTime WriteDelayTime;
    getWriteMemtableTime WriteMemtableTime;
    getWritePreAndPostProcessTime WritePreAndPostProcessTime;
    getWriteSchedulingFlushesCompactionsTime WriteSchedulingFlushesCompactionsTime;
    getWriteThreadWaitNanos WriteThreadWaitNanos;
    getWriteWalTime WriteWalTime;
}

natives! {
    fn RocksDB_getPerfContextNative[_]() -> Handle {
        CONTEXT
    }

    fn RocksDB_setPerfLevel[_](level: i8) {
        // Java has no number for RocksDB's level 3, which counts only waits.
        stats::set_perf_level_number(i64::from(if level >= 3 { level + 1 } else { level }));
    }

    fn RocksDB_getPerfLevelNative[_]() -> i8 {
        match stats::perf_level() as i8 {
            level @ 0..=2 => level,
            level => level - 1,
        }
    }

    fn PerfContext_reset[_](_context: Handle) {
        stats::perf_context_reset();
    }

    fn PerfContext_toString[java](_context: Handle, exclude_zero: bool) -> JString<'j> {
        let text = if exclude_zero { stats::perf_context_text_nonzero() } else { stats::perf_context_text() };
        java.new_text(&text)?
    }
}
