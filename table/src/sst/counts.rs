//! What a table's reads add to the statistics and to the thread's perf context, under RocksDB's names.
//!
//! The tickers of one event are written down once, here; the roads through the reader name events only.

use std::sync::Arc;

use base::stats::{
    HistogramKind, IoCounter, LevelCounter, PerfCounter, Statistics, Ticker, io_add, note_blocks_read,
    perf_add, perf_add_at_level, perf_add_both,
};
use base::{Error, Result};

use super::block_kind::BlockKind;
use super::read_ctx::ReadCtx;

/// Reads of the user's calls are told apart only where detailed times are collected, those of jobs always.
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

/// The tickers of reads of files of a temperature: bytes, reads.
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

/// The same of the thread's I/O context.
fn io_of_temperature(temperature: u8) -> Option<(IoCounter, IoCounter)> {
    Some(match temperature {
        4 => (IoCounter::HotFileBytesRead, IoCounter::HotFileReadCount),
        8 => (IoCounter::WarmFileBytesRead, IoCounter::WarmFileReadCount),
        10 => (IoCounter::CoolFileBytesRead, IoCounter::CoolFileReadCount),
        12 => (IoCounter::ColdFileBytesRead, IoCounter::ColdFileReadCount),
        _ => return None,
    })
}

/// Blocks that opening reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metadata {
    Index,
    Filter,
    Dictionary,
    /// Metaindex, properties, range tombstones.
    Other,
}

/// Where a table counts.
pub(super) struct Counts {
    pub statistics: Option<Arc<Statistics>>,
    pub level: u32,
    pub last_level: bool,
    /// The file's, as RocksDB numbers them; 0 for unknown.
    pub temperature: u8,
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

    /// The file was read: so many bytes came back, for blocks or ahead of them.
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

    /// Blocks of `bytes` in all were read from the file, each for itself.
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

    /// Blocks came from the file, one way or another.
    pub(super) fn had(&self, kind: BlockKind, blocks: u64) {
        note_blocks_read(matches!(kind, BlockKind::Data | BlockKind::Blob), blocks);
    }

    fn read_alone(&self, kind: BlockKind, bytes: usize) {
        self.had(kind, 1);
        self.read(kind, 1, bytes);
    }

    /// A block of the file's end was read by itself.
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

    /// The end of a file was read in one piece to open it; for the reads of `opening`, if those are told apart.
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

    /// What the file ends with was not accepted.
    #[cold]
    pub(super) fn footer_refused(&self, error: &Error) {
        if error.is_corruption() {
            self.add(Ticker::SstFooterCorruptionCount, 1);
        }
    }

    /// A block that opening needs lay in the piece read first, or did not.
    pub(super) fn sought_in_tail(&self, found: bool) {
        self.add(if found { Ticker::TableOpenPrefetchTailHit } else { Ticker::TableOpenPrefetchTailMiss }, 1);
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
        let block = match ctx.for_compaction {
            true => HistogramKind::ReadBlockCompactionMicros,
            false => HistogramKind::ReadBlockGetMicros,
        };
        statistics.measure_time(HistogramKind::SstReadMicros, micros);
        statistics.measure_time(block, micros);
        measure_file_read(statistics, ctx.histogram, micros);
    }

    /// A block was had to be checked.
    pub(super) fn check_took(&self, micros: u64, ctx: &ReadCtx) {
        if let Some(statistics) = &self.statistics {
            statistics.measure_time(HistogramKind::SstReadMicros, micros);
            measure_file_read(statistics, ctx.histogram, micros);
        }
    }

    /// Several blocks were asked for at once, in so many requests.
    pub(super) fn read_together(&self, requests: usize) {
        if let Some(statistics) = &self.statistics {
            statistics.measure(HistogramKind::MultigetIoBatchSize, requests as u64);
        }
    }

    /// A read went `ahead` bytes further than was asked for, and would have gone further but for the bound.
    pub(super) fn read_ahead(&self, ahead: u64, trimmed: bool, for_compaction: bool) {
        match (&self.statistics, for_compaction) {
            (Some(statistics), true) => statistics.measure(HistogramKind::CompactionPrefetchBytes, ahead),
            _ => self.add(Ticker::PrefetchBytes, ahead),
        }
        if trimmed {
            self.add(Ticker::ReadaheadTrimmed, 1);
        }
    }

    /// A block of so many bytes was found in what had been read ahead.
    pub(super) fn found_ahead(&self, bytes: usize) {
        self.add(Ticker::PrefetchHits, 1);
        self.add(Ticker::PrefetchBytesUseful, bytes as u64);
    }

    /// So many bytes that were read ahead are let go of without having been wanted.
    pub(super) fn let_go_ahead(&self, bytes: usize) {
        if let Some(statistics) = &self.statistics {
            statistics.measure(HistogramKind::PrefetchedBytesDiscarded, bytes as u64);
        }
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

    /// The first data block since a seek was entered.
    pub(super) fn seek_entered_block(&self) {
        self.add(if self.last_level { Ticker::LastLevelSeekData } else { Ticker::NonLastLevelSeekData }, 1);
    }

    /// A row was taken from where a seek led; `filtered` if the filter had been asked.
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

    /// A seek asked the filter about its prefix.
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
