//! What a table's reads add to the statistics and to the thread's perf context, under RocksDB's names.
//!
//! The tickers of one event are written down once, here; the roads through the reader name events only.

use std::sync::Arc;

use base::Result;
use base::stats::{
    HistogramKind, LevelCounter, PerfCounter, Statistics, Ticker, perf_add, perf_add_at_level, perf_add_both,
};

use super::fetch::BlockKind;
use super::read_ctx::ReadCtx;

/// Where a table counts.
pub(super) struct Counts {
    pub statistics: Option<Arc<Statistics>>,
    pub level: u32,
    pub last_level: bool,
}

impl Counts {
    #[inline]
    fn add(&self, ticker: Ticker, count: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.add(ticker, count);
        }
    }

    /// A block was found in the cache.
    #[inline]
    pub(super) fn cache_hit(&self, kind: BlockKind, bytes: usize) {
        let bytes = bytes as u64;
        perf_add_both((PerfCounter::BlockCacheHitCount, 1), (PerfCounter::BlockCacheReadByte, bytes));
        perf_add_at_level(LevelCounter::BlockCacheHitCount, 1, self.level);
        match kind {
            BlockKind::Data | BlockKind::Blob => {}
            BlockKind::Index => perf_add_both(
                (PerfCounter::BlockCacheIndexHitCount, 1),
                (PerfCounter::BlockCacheIndexReadByte, bytes),
            ),
            BlockKind::Filter | BlockKind::FilterIndex => perf_add_both(
                (PerfCounter::BlockCacheFilterHitCount, 1),
                (PerfCounter::BlockCacheFilterReadByte, bytes),
            ),
        }
        if let Some(statistics) = &self.statistics {
            let hit = match kind {
                BlockKind::Data | BlockKind::Blob => Ticker::BlockCacheDataHit,
                BlockKind::Index => Ticker::BlockCacheIndexHit,
                BlockKind::Filter | BlockKind::FilterIndex => Ticker::BlockCacheFilterHit,
            };
            statistics.add(Ticker::BlockCacheHit, 1);
            statistics.add(Ticker::BlockCacheBytesRead, bytes);
            statistics.add(hit, 1);
        }
    }

    /// A block was sought in the cache in vain.
    pub(super) fn cache_miss(&self, kind: BlockKind) {
        perf_add_at_level(LevelCounter::BlockCacheMissCount, 1, self.level);
        self.add(Ticker::BlockCacheMiss, 1);
        self.add(
            match kind {
                BlockKind::Data | BlockKind::Blob => Ticker::BlockCacheDataMiss,
                BlockKind::Index => Ticker::BlockCacheIndexMiss,
                BlockKind::Filter | BlockKind::FilterIndex => Ticker::BlockCacheFilterMiss,
            },
            1,
        );
    }

    /// A block was put into the cache.
    pub(super) fn cache_add(&self, kind: BlockKind, bytes: usize) {
        let (added, inserted) = match kind {
            BlockKind::Data | BlockKind::Blob => {
                (Ticker::BlockCacheDataAdd, Ticker::BlockCacheDataBytesInsert)
            }
            BlockKind::Index => (Ticker::BlockCacheIndexAdd, Ticker::BlockCacheIndexBytesInsert),
            BlockKind::Filter | BlockKind::FilterIndex => {
                (Ticker::BlockCacheFilterAdd, Ticker::BlockCacheFilterBytesInsert)
            }
        };
        self.add(Ticker::BlockCacheAdd, 1);
        self.add(Ticker::BlockCacheBytesWrite, bytes as u64);
        self.add(added, 1);
        self.add(inserted, bytes as u64);
    }

    /// A block could not be put into the cache.
    pub(super) fn cache_refused(&self) {
        self.add(Ticker::BlockCacheAddFailures, 1);
    }

    /// Blocks of `bytes` in all were read from the file.
    pub(super) fn read(&self, kind: BlockKind, blocks: u64, bytes: usize) {
        perf_add(PerfCounter::BlockReadCount, blocks);
        perf_add(PerfCounter::BlockReadByte, bytes as u64);
        let (read, count) = match self.last_level {
            true => (Ticker::LastLevelReadBytes, Ticker::LastLevelReadCount),
            false => (Ticker::NonLastLevelReadBytes, Ticker::NonLastLevelReadCount),
        };
        self.add(read, bytes as u64);
        self.add(count, blocks);
        match kind {
            BlockKind::Index => perf_add(PerfCounter::IndexBlockReadCount, blocks),
            BlockKind::Filter | BlockKind::FilterIndex => perf_add(PerfCounter::FilterBlockReadCount, blocks),
            BlockKind::Data | BlockKind::Blob => {}
        }
    }

    /// A block was decompressed.
    pub(super) fn decompressed(&self, from: usize, to: usize) {
        perf_add(PerfCounter::BlockDecompressCount, 1);
        self.add(Ticker::NumberBlockDecompressed, 1);
        self.add(Ticker::BytesDecompressedFrom, from as u64);
        self.add(Ticker::BytesDecompressedTo, to as u64);
    }

    /// Whether times of reads are wanted.
    #[inline]
    pub(super) fn times_reads(&self) -> bool {
        self.statistics.as_ref().is_some_and(|s| s.timers_on())
    }

    /// A block was had from the file, or from what was read ahead of it.
    pub(super) fn read_took(&self, micros: u64, ctx: &ReadCtx) {
        let Some(statistics) = &self.statistics else { return };
        let (block, file) = match ctx.for_compaction {
            true => (HistogramKind::ReadBlockCompactionMicros, HistogramKind::FileReadCompactionMicros),
            false => (HistogramKind::ReadBlockGetMicros, ctx.histogram),
        };
        statistics.measure_time(HistogramKind::SstReadMicros, micros);
        statistics.measure_time(block, micros);
        statistics.measure_time(file, micros);
    }

    /// A read went `ahead` bytes further than was asked for, and would have gone further but for the bound.
    pub(super) fn read_ahead(&self, ahead: u64, trimmed: bool) {
        self.add(Ticker::PrefetchBytes, ahead);
        if trimmed {
            self.add(Ticker::ReadaheadTrimmed, 1);
        }
    }

    /// A block of so many bytes was found in what had been read ahead.
    pub(super) fn found_ahead(&self, bytes: usize) {
        self.add(Ticker::PrefetchHits, 1);
        self.add(Ticker::PrefetchBytesUseful, bytes as u64);
    }

    /// A block of so many bytes is checked for the checking's sake.
    pub(super) fn verifying(&self, bytes: u64) {
        self.add(Ticker::VerifyChecksumReadBytes, bytes);
    }

    /// A block's checksum was computed and compared.
    #[inline]
    pub(super) fn verified<T>(&self, outcome: Result<T>) -> Result<T> {
        self.add(Ticker::BlockChecksumComputeCount, 1);
        if outcome.is_err() {
            self.add(Ticker::BlockChecksumMismatchCount, 1);
        }
        outcome
    }

    /// Whether times of decompression are wanted.
    pub(super) fn times_decompression(&self) -> bool {
        self.statistics.as_ref().is_some_and(|s| s.detailed_timers_on())
    }

    pub(super) fn decompression_took(&self, nanos: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.measure_time(HistogramKind::DecompressionTimesNanos, nanos);
        }
    }

    /// The filter was asked about a key or, in place of keys, a prefix.
    #[inline]
    pub(super) fn point_filtered(&self, whole_key: bool, may_match: bool) {
        self.points_filtered(whole_key, u64::from(may_match), u64::from(!may_match));
    }

    /// The same for several keys: how many may match and how many do not.
    pub(super) fn points_filtered(&self, whole_key: bool, may_match: u64, ruled_out: u64) {
        perf_add(PerfCounter::BloomSstHitCount, may_match);
        perf_add(PerfCounter::BloomSstMissCount, ruled_out);
        perf_add_at_level(LevelCounter::BloomFilterFullPositive, may_match, self.level);
        perf_add_at_level(LevelCounter::BloomFilterUseful, ruled_out, self.level);
        let nonzero = |ticker, count| {
            if count > 0 {
                self.add(ticker, count);
            }
        };
        if whole_key {
            nonzero(Ticker::BloomFilterFullPositive, may_match);
            nonzero(Ticker::BloomFilterUseful, ruled_out);
        } else {
            self.add(Ticker::BloomFilterPrefixChecked, may_match + ruled_out);
            nonzero(Ticker::BloomFilterPrefixUseful, ruled_out);
        }
    }

    /// A key that the filter let through was there.
    #[inline]
    pub(super) fn found_behind_filter(&self, whole_key: bool) {
        perf_add_at_level(LevelCounter::BloomFilterFullTruePositive, 1, self.level);
        self.add(
            match whole_key {
                true => Ticker::BloomFilterFullTruePositive,
                false => Ticker::BloomFilterPrefixTruePositive,
            },
            1,
        );
    }

    /// A seek asked the filter about its prefix.
    pub(super) fn seek_filtered(&self, may_match: bool) {
        perf_add(if may_match { PerfCounter::BloomSstHitCount } else { PerfCounter::BloomSstMissCount }, 1);
        self.add(Ticker::BloomFilterPrefixChecked, 1);
        if !may_match {
            self.add(Ticker::BloomFilterPrefixUseful, 1);
        }
    }
}
