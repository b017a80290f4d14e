//! The counters that the reads of a table add to the statistics and to the perf context of the thread, with
//! RocksDB's names. The readers report events. This file maps each event to its tickers.

use std::sync::Arc;

use base::stats::{
    HistogramKind, IoCounter, LevelCounter, PerfCounter, Statistics, Ticker, io_add, note_blocks_read,
    perf_add, perf_add_at_level, perf_add_both,
};
use base::{Error, Result};

use super::block_kind::BlockKind;
use super::read_ctx::ReadCtx;

/// Records the time of a file read. Times of reads for user calls are recorded only if detailed times are
/// collected; times of reads for jobs are always recorded.
fn measure_file_read(statistics: &Statistics, kind: HistogramKind, micros: u64) {
    let always = matches!(
        kind,
        HistogramKind::FileReadFlushMicros
            | HistogramKind::FileReadCompactionMicros
            | HistogramKind::FileReadDbOpenMicros
    );
    if always || statistics.detailed_timers_on() {
        statistics.measure_time(kind, micros);
    }
}

/// Returns the tickers for reads of files of this temperature: bytes and number of reads.
fn of_temperature(temperature: u8) -> Option<(Ticker, Ticker)> {
    Some(match temperature {
        4 => (Ticker::HotFileReadBytes, Ticker::HotFileReadCount),
        8 => (Ticker::WarmFileReadBytes, Ticker::WarmFileReadCount),
        10 => (Ticker::CoolFileReadBytes, Ticker::CoolFileReadCount),
        12 => (Ticker::ColdFileReadBytes, Ticker::ColdFileReadCount),
        16 => (Ticker::IceFileReadBytes, Ticker::IceFileReadCount),
        _ => return None,
    })
}

/// Returns the counters of the thread's I/O context for reads of files of this temperature.
fn io_of_temperature(temperature: u8) -> Option<(IoCounter, IoCounter)> {
    Some(match temperature {
        4 => (IoCounter::HotFileBytesRead, IoCounter::HotFileReadCount),
        8 => (IoCounter::WarmFileBytesRead, IoCounter::WarmFileReadCount),
        10 => (IoCounter::CoolFileBytesRead, IoCounter::CoolFileReadCount),
        12 => (IoCounter::ColdFileBytesRead, IoCounter::ColdFileReadCount),
        _ => return None,
    })
}

/// The blocks that an open of a table reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metadata {
    Index,
    Filter,
    Dictionary,
    /// Metaindex, properties and range tombstones.
    Other,
}

/// The destination of a table's counters.
pub(super) struct Counts {
    pub statistics: Option<Arc<Statistics>>,
    pub level: u32,
    pub last_level: bool,
    /// The temperature of the file, with RocksDB's numbers; 0 is unknown.
    pub temperature: u8,
}

impl Counts {
    #[inline]
    fn add(&self, ticker: Ticker, count: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.add(ticker, count);
        }
    }

    /// Counts a block that was found in the cache.
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

    /// Counts a lookup in the persistent cache.
    pub(super) fn persistent_cache(&self, is_hit: bool) {
        self.add(if is_hit { Ticker::PersistentCacheHit } else { Ticker::PersistentCacheMiss }, 1);
    }

    /// Counts a block that was not found in the cache.
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

    /// Counts a block that was inserted into the cache. `is_redundant` says that the cache had the block: another
    /// thread read it at the same time.
    pub(super) fn cache_add(&self, kind: BlockKind, bytes: usize, is_redundant: bool) {
        let (added, inserted, again) = match kind {
            BlockKind::Data | BlockKind::Blob => (
                Ticker::BlockCacheDataAdd,
                Ticker::BlockCacheDataBytesInsert,
                Ticker::BlockCacheDataAddRedundant,
            ),
            BlockKind::Index => (
                Ticker::BlockCacheIndexAdd,
                Ticker::BlockCacheIndexBytesInsert,
                Ticker::BlockCacheIndexAddRedundant,
            ),
            BlockKind::Filter | BlockKind::FilterIndex => (
                Ticker::BlockCacheFilterAdd,
                Ticker::BlockCacheFilterBytesInsert,
                Ticker::BlockCacheFilterAddRedundant,
            ),
        };
        if is_redundant {
            self.add(Ticker::BlockCacheAddRedundant, 1);
            self.add(again, 1);
        }
        self.add(Ticker::BlockCacheAdd, 1);
        self.add(Ticker::BlockCacheBytesWrite, bytes as u64);
        self.add(added, 1);
        self.add(inserted, bytes as u64);
    }

    /// Counts a block that the cache rejected.
    pub(super) fn cache_refused(&self) {
        self.add(Ticker::BlockCacheAddFailures, 1);
    }

    /// Counts a read of the file. `bytes` is its size, including bytes that were read ahead.
    pub(super) fn file_read(&self, bytes: usize) {
        let bytes = bytes as u64;
        let (read, count) = match self.last_level {
            true => (Ticker::LastLevelReadBytes, Ticker::LastLevelReadCount),
            false => (Ticker::NonLastLevelReadBytes, Ticker::NonLastLevelReadCount),
        };
        self.add(read, bytes);
        self.add(count, 1);
        if let Some((read, count)) = of_temperature(self.temperature) {
            self.add(read, bytes);
            self.add(count, 1);
        }
        if let Some((read, count)) = io_of_temperature(self.temperature) {
            io_add(read, bytes);
            io_add(count, 1);
        }
    }

    /// Counts `blocks` blocks of `bytes` in total that were read from the file individually.
    pub(super) fn read(&self, kind: BlockKind, blocks: u64, bytes: usize) {
        let bytes = bytes as u64;
        perf_add_both((PerfCounter::BlockReadCount, blocks), (PerfCounter::BlockReadByte, bytes));
        match kind {
            BlockKind::Index => perf_add_both(
                (PerfCounter::IndexBlockReadCount, blocks),
                (PerfCounter::IndexBlockReadByte, bytes),
            ),
            BlockKind::Filter | BlockKind::FilterIndex => perf_add_both(
                (PerfCounter::FilterBlockReadCount, blocks),
                (PerfCounter::FilterBlockReadByte, bytes),
            ),
            BlockKind::Data => perf_add(PerfCounter::DataBlockReadByte, bytes),
            BlockKind::Blob => {}
        }
    }

    /// Counts blocks that came from the file, individually or by read-ahead.
    pub(super) fn had(&self, kind: BlockKind, blocks: u64) {
        note_blocks_read(matches!(kind, BlockKind::Data | BlockKind::Blob), blocks);
    }

    fn read_alone(&self, kind: BlockKind, bytes: usize) {
        self.had(kind, 1);
        self.read(kind, 1, bytes);
    }

    /// Counts a metadata block that was read individually.
    pub(super) fn read_metadata(&self, what: Metadata, bytes: usize) {
        match what {
            Metadata::Index => return self.read_alone(BlockKind::Index, bytes),
            Metadata::Filter => return self.read_alone(BlockKind::Filter, bytes),
            Metadata::Dictionary | Metadata::Other => {}
        }
        let bytes = bytes as u64;
        perf_add_both((PerfCounter::BlockReadCount, 1), (PerfCounter::BlockReadByte, bytes));
        match what {
            Metadata::Dictionary => perf_add_both(
                (PerfCounter::CompressionDictBlockReadCount, 1),
                (PerfCounter::CompressionDictBlockReadByte, bytes),
            ),
            _ => perf_add(PerfCounter::MetadataBlockReadByte, bytes),
        }
    }

    /// Counts the read of the end of a file at its open. `took` is the time in microseconds. `opening` is the
    /// histogram of the reader, if there is one.
    pub(super) fn tail_read(&self, bytes: usize, took: Option<u64>, opening: Option<HistogramKind>) {
        self.file_read(bytes);
        let Some(statistics) = &self.statistics else { return };
        statistics.measure(HistogramKind::TableOpenPrefetchTailReadBytes, bytes as u64);
        if let Some(micros) = took {
            statistics.measure_time(HistogramKind::SstReadMicros, micros);
            if let Some(opening) = opening {
                measure_file_read(statistics, opening, micros);
            }
        }
    }

    /// Counts a footer that was rejected as corrupt.
    #[cold]
    pub(super) fn footer_refused(&self, error: &Error) {
        if error.is_corruption() {
            self.add(Ticker::SstFooterCorruptionCount, 1);
        }
    }

    /// Counts whether a block that the open needs was in the part of the file that was read first.
    pub(super) fn sought_in_tail(&self, found: bool) {
        self.add(if found { Ticker::TableOpenPrefetchTailHit } else { Ticker::TableOpenPrefetchTailMiss }, 1);
    }

    /// Counts a decompressed block.
    pub(super) fn decompressed(&self, from: usize, to: usize) {
        perf_add(PerfCounter::BlockDecompressCount, 1);
        self.add(Ticker::NumberBlockDecompressed, 1);
        self.add(Ticker::BytesDecompressedFrom, from as u64);
        self.add(Ticker::BytesDecompressedTo, to as u64);
    }

    /// Returns true if the times of reads are recorded.
    #[inline]
    pub(super) fn times_reads(&self) -> bool {
        self.statistics.as_ref().is_some_and(|s| s.timers_on())
    }

    /// Records the time to get a block from the file or from the read-ahead window.
    pub(super) fn read_took(&self, micros: u64, ctx: &ReadCtx) {
        let Some(statistics) = &self.statistics else { return };
        let block = match ctx.for_compaction {
            true => HistogramKind::ReadBlockCompactionMicros,
            false => HistogramKind::ReadBlockGetMicros,
        };
        statistics.measure_time(HistogramKind::SstReadMicros, micros);
        statistics.measure_time(block, micros);
        measure_file_read(statistics, ctx.histogram, micros);
    }

    /// Records the time to get a block for a checksum verification.
    pub(super) fn check_took(&self, micros: u64, ctx: &ReadCtx) {
        if let Some(statistics) = &self.statistics {
            statistics.measure_time(HistogramKind::SstReadMicros, micros);
            measure_file_read(statistics, ctx.histogram, micros);
        }
    }

    /// Counts a request for several blocks at once, with the number of reads.
    pub(super) fn read_together(&self, requests: usize) {
        if let Some(statistics) = &self.statistics {
            statistics.measure(HistogramKind::MultigetIoBatchSize, requests as u64);
        }
    }

    /// Counts a read-ahead of `ahead` bytes. `trimmed` is true if the upper bound made it shorter.
    pub(super) fn read_ahead(&self, ahead: u64, trimmed: bool, for_compaction: bool) {
        match (&self.statistics, for_compaction) {
            (Some(statistics), true) => statistics.measure(HistogramKind::CompactionPrefetchBytes, ahead),
            _ => self.add(Ticker::PrefetchBytes, ahead),
        }
        if trimmed {
            self.add(Ticker::ReadaheadTrimmed, 1);
        }
    }

    /// Counts a block of this size that was found in the read-ahead window.
    pub(super) fn found_ahead(&self, bytes: usize) {
        self.add(Ticker::PrefetchHits, 1);
        self.add(Ticker::PrefetchBytesUseful, bytes as u64);
    }

    /// Counts bytes that were read ahead and never used.
    pub(super) fn let_go_ahead(&self, bytes: usize) {
        if let Some(statistics) = &self.statistics {
            statistics.measure(HistogramKind::PrefetchedBytesDiscarded, bytes as u64);
        }
    }

    /// Counts a computed checksum of a block, and its mismatch if there is one.
    #[inline]
    pub(super) fn verified<T>(&self, outcome: Result<T>) -> Result<T> {
        self.add(Ticker::BlockChecksumComputeCount, 1);
        if outcome.is_err() {
            self.add(Ticker::BlockChecksumMismatchCount, 1);
        }
        outcome
    }

    /// Returns true if the times of decompression are recorded.
    pub(super) fn times_decompression(&self) -> bool {
        self.statistics.as_ref().is_some_and(|s| s.detailed_timers_on())
    }

    pub(super) fn decompression_took(&self, nanos: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.measure_time(HistogramKind::DecompressionTimesNanos, nanos);
        }
    }

    /// Counts a query of the filter for a key, or for a prefix if the filter has no whole keys.
    #[inline]
    pub(super) fn point_filtered(&self, whole_key: bool, may_match: bool) {
        self.points_filtered(whole_key, u64::from(may_match), u64::from(!may_match));
    }

    /// Counts filter queries for several keys: how many may match, and how many do not.
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

    /// Counts a key that passed the filter and was found.
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

    /// Counts the first data block that a seek entered.
    pub(super) fn seek_entered_block(&self) {
        self.add(if self.last_level { Ticker::LastLevelSeekData } else { Ticker::NonLastLevelSeekData }, 1);
    }

    /// Counts a seek whose result was used. `filtered` is true if the seek queried the filter.
    pub(super) fn seek_was_useful(&self, filtered: bool) {
        self.add(
            match (self.last_level, filtered) {
                (true, true) => Ticker::LastLevelSeekDataUsefulFilterMatch,
                (true, false) => Ticker::LastLevelSeekDataUsefulNoFilter,
                (false, true) => Ticker::NonLastLevelSeekDataUsefulFilterMatch,
                (false, false) => Ticker::NonLastLevelSeekDataUsefulNoFilter,
            },
            1,
        );
    }

    /// Counts a query of the filter for the prefix of a seek.
    pub(super) fn seek_filtered(&self, may_match: bool) {
        perf_add(if may_match { PerfCounter::BloomSstHitCount } else { PerfCounter::BloomSstMissCount }, 1);
        let Some(statistics) = &self.statistics else { return };
        statistics.tick(Ticker::BloomFilterPrefixChecked);
        if !may_match {
            statistics.tick(Ticker::BloomFilterPrefixUseful);
        }
        statistics.tick(match (self.last_level, may_match) {
            (true, true) => Ticker::LastLevelSeekFilterMatch,
            (true, false) => Ticker::LastLevelSeekFiltered,
            (false, true) => Ticker::NonLastLevelSeekFilterMatch,
            (false, false) => Ticker::NonLastLevelSeekFiltered,
        });
    }
}
