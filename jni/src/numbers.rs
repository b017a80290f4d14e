//! The numbers of tickers and histograms in Java.
//!
//! Java's enums give each ticker and histogram a `byte`. These numbers differ from the numbers of RocksDB's C++ enums. The
//! tables map a number of Java to the ticker or histogram of the engine. A number that is not in the table does not exist in
//! RocksDB 11.8.1. The releases 9.8.4, 10.1.3 and 11.8.1 have the same numbers. The numbers of release 8.10.0 are first
//! converted to the numbers of 11.8.1.
//!
//! Facts: RocksDB `java/rocksjni/portal.h` (`TickerTypeJni`, `HistogramTypeJni`).

use std::sync::atomic::{AtomicBool, Ordering};

use base::stats::{HistogramKind, Ticker};

/// True if the loaded classes are those of release 8.10.0.
static ARE_OLD: AtomicBool = AtomicBool::new(false);

/// Selects the numbers of release 8.10.0. Called when the library is loaded.
pub fn use_old() {
    ARE_OLD.store(true, Ordering::Relaxed);
}

/// Returns true if the loaded classes are those of release 8.10.0.
pub fn are_old() -> bool {
    ARE_OLD.load(Ordering::Relaxed)
}

/// Converts a number of the loaded classes to the number in 11.8.1. Returns `None` if 11.8.1 has no such ticker or histogram.
fn newest(number: i8, old: &[Same]) -> Option<i8> {
    if are_old() { renumbered(number, old) } else { Some(number) }
}

fn renumbered(number: i8, old: &[Same]) -> Option<i8> {
    let number = i16::from(number);
    let (_, _, more) = old.iter().find(|(first, last, _)| (*first..=*last).contains(&number))?;
    i8::try_from(number + more).ok()
}

/// Returns the ticker of a `TickerType`. Returns `None` for `TICKER_ENUM_MAX`.
pub fn ticker(number: i8) -> Option<Ticker> {
    let number = newest(number, OLD_TICKERS)?;
    TICKERS.iter().find(|(java, _)| *java == number).map(|(_, ticker)| *ticker)
}

/// Returns the histogram of a `HistogramType`. Returns `None` for `HISTOGRAM_ENUM_MAX`, and for `BYTES_COMPRESSED` and
/// `BYTES_DECOMPRESSED` of release 8.10.0, which RocksDB 11.8.1 does not have.
pub fn histogram(number: i8) -> Option<HistogramKind> {
    let number = newest(number, OLD_HISTOGRAMS)?;
    HISTOGRAMS.iter().find(|(java, _)| *java == number).map(|(_, kind)| *kind)
}

/// A range of numbers of 8.10.0: the first number, the last number, and the difference that gives the number in 11.8.1.
type Same = (i16, i16, i16);

/// NUMBER_BLOCK_NOT_COMPRESSED (85) is NUMBER_BLOCK_COMPRESSION_REJECTED in newer releases.
#[rustfmt::skip]
const OLD_TICKERS: &[Same] = &[
    (-66, -61, -17), (-60, -60, -10), (-59, -58, -16), (-52, -47, 25), (-46, -46, -23), (-45, -31, -13),
    (-30, -30, 57), (-29, -22, -14), (-21, -21, 117), (-20, -20, 115), (-19, -19, 113), (-18, -18, 111),
    (-17, -17, 109), (-16, -16, 107), (-15, -15, -20), (-14, -9, -19), (-8, -5, -13), (-2, -2, -15), (-1, -1, 72),
    (0, 7, 0), (9, 12, -1), (14, 19, -2), (20, 20, 15), (21, 34, 20), (35, 46, 22), (48, 49, 25), (53, 54, 22),
    (57, 59, 20), (61, 61, 20), (62, 63, -24), (64, 64, 6), (65, 65, 17), (70, 73, 13), (75, 78, 12), (79, 84, 18),
    (85, 85, 23),
    (86, 87, 25), (88, 92, 26), (93, 93, -24), (94, 94, -14), (96, 96, -24), (97, 98, -42), (99, 100, -63),
    (101, 109, 18), (110, 110, -111), (111, 111, -113), (112, 112, -115), (113, 113, -117), (114, 114, -119),
    (115, 115, -121), (116, 116, -123), (117, 117, -125), (118, 118, -127), (119, 119, -129), (120, 120, -131),
    (121, 121, -133), (122, 122, -135), (123, 123, -137), (124, 124, -139), (125, 125, -141),
];

#[rustfmt::skip]
const OLD_HISTOGRAMS: &[Same] = &[
    (0, 2, 0), (3, 12, 1), (18, 21, -4), (22, 25, 8), (28, 30, 6), (32, 32, 18), (33, 43, 4), (45, 46, 3),
    (47, 47, 6), (49, 49, 5), (50, 51, 6), (57, 57, 4), (58, 65, -40),
];

#[rustfmt::skip]
const TICKERS: &[(i8, Ticker)] = &[
    (0, Ticker::BlockCacheMiss), (1, Ticker::BlockCacheHit), (2, Ticker::BlockCacheAdd),
    (3, Ticker::BlockCacheAddFailures), (4, Ticker::BlockCacheIndexMiss), (5, Ticker::BlockCacheIndexHit),
    (6, Ticker::BlockCacheIndexAdd), (7, Ticker::BlockCacheIndexBytesInsert), (8, Ticker::BlockCacheFilterMiss),
    (9, Ticker::BlockCacheFilterHit), (10, Ticker::BlockCacheFilterAdd), (11, Ticker::BlockCacheFilterBytesInsert),
    (12, Ticker::BlockCacheDataMiss), (13, Ticker::BlockCacheDataHit), (14, Ticker::BlockCacheDataAdd),
    (15, Ticker::BlockCacheDataBytesInsert), (16, Ticker::BlockCacheBytesRead), (17, Ticker::BlockCacheBytesWrite),
    (18, Ticker::BlockCacheCompressionDictMiss), (19, Ticker::BlockCacheCompressionDictHit),
    (20, Ticker::BlockCacheCompressionDictAdd), (21, Ticker::BlockCacheCompressionDictBytesInsert),
    (22, Ticker::BlockCacheAddRedundant), (23, Ticker::BlockCacheIndexAddRedundant),
    (24, Ticker::BlockCacheFilterAddRedundant), (25, Ticker::BlockCacheDataAddRedundant),
    (26, Ticker::BlockCacheCompressionDictAddRedundant), (27, Ticker::SecondaryCacheHits),
    (28, Ticker::SecondaryCacheFilterHits), (29, Ticker::SecondaryCacheIndexHits),
    (30, Ticker::SecondaryCacheDataHits), (31, Ticker::CompressedSecondaryCacheDummyHits),
    (32, Ticker::CompressedSecondaryCacheHits), (33, Ticker::CompressedSecondaryCachePromotions),
    (34, Ticker::CompressedSecondaryCachePromotionSkips), (35, Ticker::BloomFilterUseful),
    (36, Ticker::BloomFilterFullPositive), (37, Ticker::BloomFilterFullTruePositive),
    (38, Ticker::BloomFilterPrefixChecked), (39, Ticker::BloomFilterPrefixUseful),
    (40, Ticker::BloomFilterPrefixTruePositive), (41, Ticker::PersistentCacheHit), (42, Ticker::PersistentCacheMiss),
    (43, Ticker::SimBlockCacheHit), (44, Ticker::SimBlockCacheMiss), (45, Ticker::MemtableHit),
    (46, Ticker::MemtableMiss), (47, Ticker::GetHitL0), (48, Ticker::GetHitL1), (49, Ticker::GetHitL2AndUp),
    (50, Ticker::CompactionKeyDropNewerEntry), (51, Ticker::CompactionKeyDropObsolete), (52, Ticker::CompactionKeyDropRangeDel),
    (53, Ticker::CompactionKeyDropUser), (54, Ticker::CompactionRangeDelDropObsolete),
    (55, Ticker::CompactionOptimizedDelDropObsolete), (56, Ticker::CompactionCancelled),
    (57, Ticker::NumberKeysWritten), (58, Ticker::NumberKeysRead), (59, Ticker::NumberKeysUpdated),
    (60, Ticker::BytesWritten), (61, Ticker::BytesRead), (62, Ticker::NumberDbSeek), (63, Ticker::NumberDbNext),
    (64, Ticker::NumberDbPrev), (65, Ticker::NumberDbSeekFound), (66, Ticker::NumberDbNextFound),
    (67, Ticker::NumberDbPrevFound), (68, Ticker::IterBytesRead), (69, Ticker::NumberIterSkip),
    (70, Ticker::NumberOfReseeksInIteration), (71, Ticker::NoIteratorCreated), (72, Ticker::NoIteratorDeleted),
    (73, Ticker::NoFileOpens), (74, Ticker::NoFileErrors), (75, Ticker::StallMicros), (76, Ticker::DbMutexWaitMicros),
    (77, Ticker::NumberMultigetCalls), (78, Ticker::NumberMultigetKeysRead), (79, Ticker::NumberMultigetBytesRead),
    (80, Ticker::NumberMultigetKeysFound), (81, Ticker::NumberMergeFailures), (82, Ticker::GetUpdatesSinceCalls),
    (83, Ticker::WalFileSynced), (84, Ticker::WalFileBytes), (-108, Ticker::WalPrecreateHit),
    (-109, Ticker::WalPrecreateMiss), (-110, Ticker::WalPrecreateWaited), (-111, Ticker::WalPrecreateWaitMicros),
    (-112, Ticker::WalPrecreateFailed), (85, Ticker::WriteDoneBySelf), (86, Ticker::WriteDoneByOther),
    (87, Ticker::WriteWithWal), (88, Ticker::CompactReadBytes), (89, Ticker::CompactWriteBytes),
    (90, Ticker::FlushWriteBytes), (91, Ticker::CompactReadBytesMarked), (92, Ticker::CompactReadBytesPeriodic),
    (93, Ticker::CompactReadBytesTtl), (94, Ticker::CompactWriteBytesMarked), (95, Ticker::CompactWriteBytesPeriodic),
    (96, Ticker::CompactWriteBytesTtl), (97, Ticker::NumberDirectLoadTableProperties),
    (98, Ticker::NumberSuperversionAcquires), (99, Ticker::NumberSuperversionReleases),
    (100, Ticker::NumberSuperversionCleanups), (101, Ticker::NumberBlockCompressed),
    (102, Ticker::NumberBlockDecompressed), (103, Ticker::BytesCompressedFrom), (104, Ticker::BytesCompressedTo),
    (105, Ticker::BytesCompressionBypassed), (106, Ticker::BytesCompressionRejected),
    (107, Ticker::NumberBlockCompressionBypassed), (108, Ticker::NumberBlockCompressionRejected),
    (109, Ticker::BytesDecompressedFrom), (110, Ticker::BytesDecompressedTo), (111, Ticker::MergeOperationTotalTime),
    (112, Ticker::FilterOperationTotalTime), (113, Ticker::CompactionCpuTotalTime), (114, Ticker::RowCacheHit),
    (115, Ticker::RowCacheMiss), (116, Ticker::ReadAmpEstimateUsefulBytes), (117, Ticker::ReadAmpTotalReadBytes),
    (118, Ticker::NumberRateLimiterDrains), (-113, Ticker::RateLimiterBytesRead),
    (-114, Ticker::RateLimiterBytesWrite), (-115, Ticker::RateLimiterRequestsRead),
    (-116, Ticker::RateLimiterRequestsWrite), (-117, Ticker::RateLimiterDelayedRequestsRead),
    (-118, Ticker::RateLimiterDelayedRequestsWrite), (-119, Ticker::RateLimiterTotalWaitMicrosRead),
    (-120, Ticker::RateLimiterTotalWaitMicrosWrite), (119, Ticker::BlobDbNumPut), (120, Ticker::BlobDbNumWrite),
    (121, Ticker::BlobDbNumGet), (122, Ticker::BlobDbNumMultiget), (123, Ticker::BlobDbNumSeek),
    (124, Ticker::BlobDbNumNext), (125, Ticker::BlobDbNumPrev), (126, Ticker::BlobDbNumKeysWritten),
    (127, Ticker::BlobDbNumKeysRead), (-1, Ticker::BlobDbBytesWritten), (-2, Ticker::BlobDbBytesRead),
    (-3, Ticker::BlobDbWriteInlinedDeprecated), (-4, Ticker::BlobDbWriteInlinedTtlDeprecated),
    (-5, Ticker::BlobDbWriteBlob), (-6, Ticker::BlobDbWriteBlobTtl), (-7, Ticker::BlobDbBlobFileBytesWritten),
    (-8, Ticker::BlobDbBlobFileBytesRead), (-9, Ticker::BlobDbBlobFileSynced),
    (-10, Ticker::BlobDbBlobIndexExpiredCount), (-11, Ticker::BlobDbBlobIndexExpiredSize),
    (-12, Ticker::BlobDbBlobIndexEvictedCount), (-13, Ticker::BlobDbBlobIndexEvictedSize),
    (-14, Ticker::BlobDbGcNumFiles), (-15, Ticker::BlobDbGcNumNewFiles), (-16, Ticker::BlobDbGcFailures),
    (-17, Ticker::BlobDbGcNumKeysRelocated), (-18, Ticker::BlobDbGcBytesRelocated),
    (-19, Ticker::BlobDbFifoNumFilesEvicted), (-20, Ticker::BlobDbFifoNumKeysEvicted),
    (-21, Ticker::BlobDbFifoBytesEvicted), (-22, Ticker::BlobDbCacheMiss), (-23, Ticker::BlobDbCacheHit),
    (-24, Ticker::BlobDbCacheAdd), (-25, Ticker::BlobDbCacheAddFailures), (-26, Ticker::BlobDbCacheBytesRead),
    (-27, Ticker::BlobDbCacheBytesWrite), (-28, Ticker::TxnPrepareMutexOverhead),
    (-29, Ticker::TxnOldCommitMapMutexOverhead), (-30, Ticker::TxnDuplicateKeyOverhead),
    (-31, Ticker::TxnSnapshotMutexOverhead), (-32, Ticker::TxnGetTryAgain), (-33, Ticker::FilesMarkedTrash),
    (-34, Ticker::FilesDeletedFromTrashQueue), (-35, Ticker::FilesDeletedImmediately),
    (-36, Ticker::ErrorHandlerBgErrorCount), (-37, Ticker::ErrorHandlerBgIoErrorCount),
    (-38, Ticker::ErrorHandlerBgRetryableIoErrorCount), (-39, Ticker::ErrorHandlerAutoresumeCount),
    (-40, Ticker::ErrorHandlerAutoresumeRetryTotalCount), (-41, Ticker::ErrorHandlerAutoresumeSuccessCount),
    (-42, Ticker::MemtablePayloadBytesAtFlush), (-43, Ticker::MemtableGarbageBytesAtFlush),
    (-44, Ticker::VerifyChecksumReadBytes), (-45, Ticker::BackupReadBytes), (-46, Ticker::BackupWriteBytes),
    (-47, Ticker::RemoteCompactReadBytes), (-48, Ticker::RemoteCompactWriteBytes),
    (-95, Ticker::RemoteCompactResumedBytes), (-49, Ticker::HotFileReadBytes), (-50, Ticker::WarmFileReadBytes),
    (-51, Ticker::ColdFileReadBytes), (-52, Ticker::HotFileReadCount), (-53, Ticker::WarmFileReadCount),
    (-54, Ticker::ColdFileReadCount), (-55, Ticker::LastLevelReadBytes), (-56, Ticker::LastLevelReadCount),
    (-57, Ticker::NonLastLevelReadBytes), (-58, Ticker::NonLastLevelReadCount), (-59, Ticker::LastLevelSeekFiltered),
    (-60, Ticker::LastLevelSeekFilterMatch), (-61, Ticker::LastLevelSeekData),
    (-62, Ticker::LastLevelSeekDataUsefulNoFilter), (-63, Ticker::LastLevelSeekDataUsefulFilterMatch),
    (-64, Ticker::NonLastLevelSeekFiltered), (-65, Ticker::NonLastLevelSeekFilterMatch),
    (-66, Ticker::NonLastLevelSeekData), (-67, Ticker::NonLastLevelSeekDataUsefulNoFilter),
    (-68, Ticker::NonLastLevelSeekDataUsefulFilterMatch), (-69, Ticker::BlockChecksumComputeCount),
    (-70, Ticker::BlockChecksumMismatchCount), (-71, Ticker::MultigetCoroutineCount), (-72, Ticker::ReadAsyncMicros),
    (-73, Ticker::AsyncReadErrorCount), (-74, Ticker::TableOpenPrefetchTailMiss),
    (-75, Ticker::TableOpenPrefetchTailHit), (-76, Ticker::TimestampFilterTableChecked),
    (-77, Ticker::TimestampFilterTableFiltered), (-78, Ticker::ReadaheadTrimmed),
    (-79, Ticker::FifoMaxSizeCompactions), (-80, Ticker::FifoTtlCompactions), (-81, Ticker::PrefetchBytes),
    (-82, Ticker::PrefetchBytesUseful), (-83, Ticker::PrefetchHits), (-85, Ticker::SstFooterCorruptionCount),
    (-86, Ticker::FileReadCorruptionRetryCount), (-87, Ticker::FileReadCorruptionRetrySuccessCount),
    (-88, Ticker::FifoChangeTemperatureCompactions), (-89, Ticker::IceFileReadBytes), (-90, Ticker::IceFileReadCount),
    (-91, Ticker::CoolFileReadBytes), (-92, Ticker::CoolFileReadCount), (-93, Ticker::NumberWbwiIngest),
    (-94, Ticker::SstUserDefinedIndexLoadFailCount), (-96, Ticker::MultiscanPrepareCalls),
    (-97, Ticker::MultiscanPrepareErrors), (-98, Ticker::MultiscanBlocksPrefetched),
    (-99, Ticker::MultiscanBlocksFromCache), (-100, Ticker::MultiscanPrefetchBytes),
    (-101, Ticker::MultiscanPrefetchBlocksWasted), (-102, Ticker::MultiscanIoRequests),
    (-103, Ticker::MultiscanIoCoalescedNonadjacent), (-104, Ticker::MultiscanSeekErrors),
    (-105, Ticker::ReadPathRangeTombstonesInserted), (-106, Ticker::ReadPathRangeTombstonesDiscarded),
    (-107, Ticker::ManifestValidationFailureCount), (-121, Ticker::FlushReasonWriteBufferFull),
    (-122, Ticker::FlushReasonWriteBufferManager), (-123, Ticker::FlushReasonMemtableMaxRangeDeletions),
    (-124, Ticker::AtomicFlushRequestReasonWriteBufferFull),
    (-125, Ticker::AtomicFlushRequestReasonWriteBufferManager),
    (-126, Ticker::AtomicFlushRequestReasonMemtableMaxRangeDeletions), (-127, Ticker::AtomicFlushRequestReasonOther),
    (-128, Ticker::FileSubmitAsyncReadFallback),
];

#[rustfmt::skip]
const HISTOGRAMS: &[(i8, HistogramKind)] = &[
    (0, HistogramKind::DbGet), (1, HistogramKind::DbWrite), (2, HistogramKind::CompactionTime),
    (3, HistogramKind::CompactionCpuTime), (4, HistogramKind::SubcompactionSetupTime),
    (5, HistogramKind::TableSyncMicros), (6, HistogramKind::CompactionOutfileSyncMicros),
    (7, HistogramKind::WalFileSyncMicros), (8, HistogramKind::ManifestFileSyncMicros),
    (9, HistogramKind::TableOpenIoMicros), (10, HistogramKind::DbMultiget),
    (11, HistogramKind::ReadBlockCompactionMicros), (12, HistogramKind::ReadBlockGetMicros),
    (13, HistogramKind::WriteRawBlockMicros), (14, HistogramKind::NumFilesInSingleCompaction),
    (15, HistogramKind::DbSeek), (16, HistogramKind::WriteStall), (17, HistogramKind::SstReadMicros),
    (18, HistogramKind::FileReadFlushMicros), (19, HistogramKind::FileReadCompactionMicros),
    (20, HistogramKind::FileReadDbOpenMicros), (21, HistogramKind::FileReadGetMicros),
    (22, HistogramKind::FileReadMultigetMicros), (23, HistogramKind::FileReadDbIteratorMicros),
    (24, HistogramKind::FileReadVerifyDbChecksumMicros), (25, HistogramKind::FileReadVerifyFileChecksumsMicros),
    (26, HistogramKind::SstWriteMicros), (27, HistogramKind::FileWriteFlushMicros),
    (28, HistogramKind::FileWriteCompactionMicros), (29, HistogramKind::FileWriteDbOpenMicros),
    (30, HistogramKind::NumSubcompactionsScheduled), (31, HistogramKind::BytesPerRead),
    (32, HistogramKind::BytesPerWrite), (33, HistogramKind::BytesPerMultiget),
    (34, HistogramKind::CompressionTimesNanos), (35, HistogramKind::DecompressionTimesNanos),
    (36, HistogramKind::ReadNumMergeOperands), (37, HistogramKind::BlobDbKeySize),
    (38, HistogramKind::BlobDbValueSize), (39, HistogramKind::BlobDbWriteMicros),
    (40, HistogramKind::BlobDbGetMicros), (41, HistogramKind::BlobDbMultigetMicros),
    (42, HistogramKind::BlobDbSeekMicros), (43, HistogramKind::BlobDbNextMicros),
    (44, HistogramKind::BlobDbPrevMicros), (45, HistogramKind::BlobDbBlobFileWriteMicros),
    (46, HistogramKind::BlobDbBlobFileReadMicros), (47, HistogramKind::BlobDbBlobFileSyncMicros),
    (48, HistogramKind::BlobDbCompressionMicros), (49, HistogramKind::BlobDbDecompressionMicros),
    (50, HistogramKind::FlushTime), (51, HistogramKind::SstBatchSize), (52, HistogramKind::MultigetIoBatchSize),
    (53, HistogramKind::NumIndexAndFilterBlocksReadPerLevel), (54, HistogramKind::NumSstReadPerLevel),
    (55, HistogramKind::NumLevelReadPerMultiget), (56, HistogramKind::ErrorHandlerAutoresumeRetryCount),
    (57, HistogramKind::AsyncReadBytes), (58, HistogramKind::PollWaitMicros),
    (59, HistogramKind::PrefetchedBytesDiscarded), (60, HistogramKind::AsyncPrefetchAbortMicros),
    (61, HistogramKind::TableOpenPrefetchTailReadBytes), (63, HistogramKind::CompactionPrefetchBytes),
    (64, HistogramKind::MultiscanPrepareMicros), (65, HistogramKind::MultiscanBlocksPerPrepare),
    (66, HistogramKind::BlockKeyDistributionCv), (67, HistogramKind::IngestExternalFilePrepareTime),
    (68, HistogramKind::IngestExternalFileRunTime), (69, HistogramKind::RateLimiterWaitMicrosRead),
    (70, HistogramKind::RateLimiterWaitMicrosWrite), (71, HistogramKind::FlushMemtableMemoryBytes),
    (72, HistogramKind::FlushMemtableTotalDataSize), (73, HistogramKind::FlushWriteBufferFullMemtableMemoryBytes),
    (74, HistogramKind::FlushWriteBufferManagerMemtableMemoryBytes), (75, HistogramKind::OpenAndCompactDbOpenMicros),
    (76, HistogramKind::IoDispatcherAsyncReadObservedCompletionMicros),
    (77, HistogramKind::IoDispatcherAsyncReadPollWaitMicros),
    (78, HistogramKind::IoDispatcherAsyncReadPrefetchLeadMicros),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_oldest_release_have_the_same_names() {
        for (old, new) in OLD_PAIRS {
            assert_eq!(renumbered(*old, OLD_TICKERS), Some(*new));
        }
        // BYTES_COMPRESSED is in no newer release.
        assert_eq!(renumbered(26, OLD_HISTOGRAMS), None);
    }

    /// BLOCK_CACHE_MISS, MEMTABLE_HIT, NUMBER_KEYS_WRITTEN, BYTES_READ.
    const OLD_PAIRS: &[(i8, i8)] = &[(0, 0), (25, 45), (35, 57), (39, 61)];
}
