//! The options of single calls. Never in a file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use env::rate::IoPriority;
use format::properties::Properties;

use crate::sequence::Snapshot;

use super::{CompressionType, Temperature};

/// Where a read may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    #[default]
    All,
    /// Memtables and cached blocks: no I/O. What would need more is `Incomplete`.
    BlockCache,
    /// What would survive a crash: skips memtables whose writes went around the WAL.
    Persisted,
    /// Memtables alone.
    Memtable,
}

/// A test of an SST file by its table properties. See [`ReadOptions::table_filter`].
#[derive(Clone)]
pub struct TableFilter(pub Arc<dyn Fn(&Properties) -> bool + Send + Sync>);

impl TableFilter {
    /// Makes a filter of a function that returns true for the SST files to read.
    pub fn new(is_read: impl Fn(&Properties) -> bool + Send + Sync + 'static) -> Self {
        TableFilter(Arc::new(is_read))
    }

    /// Returns true if an iterator reads an SST file with these properties. A panic of the function counts as true.
    pub(crate) fn reads(&self, properties: &Properties) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.0)(properties))).unwrap_or(true)
    }
}

impl std::fmt::Debug for TableFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableFilter")
    }
}

/// Options of reads.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Reads see the database as it was then. Default: the newest state.
    pub snapshot: Option<Arc<Snapshot>>,
    /// For families with timestamps: read as of then. Needed there, and refused elsewhere.
    pub timestamp: Option<Vec<u8>>,
    /// Column families with timestamps, iterators only: the iterator shows every entry from this timestamp up to
    /// `timestamp`, newest first for each key, also tombstones and merge operands (`value_type` says which). Default
    /// `None`: the iterator shows the newest entry of each key, merged, and no tombstones.
    pub iter_start_ts: Option<Vec<u8>>,
    /// Time of day, since 1970, at which the call gives up: looked at before each table of a look-up, each
    /// positioning of an iterator and each access to a table's file. Zero, the default: never.
    pub deadline: Duration,
    /// The longest duration of one access to an SST file. If an access took longer, the call returns
    /// `TimedOut`. Zero, the default: no limit.
    pub io_timeout: Duration,
    pub read_tier: ReadTier,
    /// Charges accesses to tables' files to the database's rate limiter, where that limits reads. Default
    /// `None`: not.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Bytes of values after which a multi-get answers `Aborted` for the rest. Default: no limit.
    pub value_size_soft_limit: u64,
    /// A look-up that merged more operands than this says so by the subcode of its
    /// [`Answered`](crate::read::Answered). Default: not told.
    pub merge_operand_count_threshold: Option<usize>,
    /// Default true.
    pub verify_checksums: bool,
    /// Whether blocks read join the block cache. Default true.
    pub fill_cache: bool,
    /// Range tombstones are not looked at. Default false.
    pub ignore_range_deletions: bool,
    /// Iterators that read ahead have the system bring in the next stretch of the file while they go through
    /// this one. Default false.
    pub async_io: bool,
    /// A multi-get asks the system for the blocks of all SST files of one level before it waits for a read, so the reads of
    /// the level are in flight together. With false, a multi-get reads one block after another. No effect with direct I/O,
    /// and with a rate limiter, a deadline or a timeout of the read. Default: true.
    pub optimize_multiget_for_io: bool,
    /// Bytes an iterator reads ahead; 0, the default: it grows by itself.
    pub readahead_size: usize,
    /// Hidden entries in a row after which an iterator is `Incomplete`. 0, the default: no limit.
    pub max_skippable_internal_keys: u64,
    /// The first key an iterator shows.
    pub iterate_lower_bound: Option<Vec<u8>>,
    /// The first key an iterator does not show.
    pub iterate_upper_bound: Option<Vec<u8>>,
    /// Iterators only: an iterator skips the point entries of each SST file for which the filter returns false. Range
    /// tombstones of the file still apply. Memtables are always read. Default `None`: the iterator reads all files.
    pub table_filter: Option<TableFilter>,
    /// The iterator sees later writes too. Default false.
    pub tailing: bool,
    /// Iterates over all keys whatever the prefix extractor. Default false.
    pub total_order_seek: bool,
    /// Uses prefix filters where bounds make it safe. Default false.
    pub auto_prefix_mode: bool,
    /// Stops where the prefix changes. Default false.
    pub prefix_same_as_start: bool,
    /// Asks that keys and values may be kept without copying (`pinned_key`, `pinned_value`); the property
    /// `rocksdb.iterator.is-key-pinned` tells whether the current ones are. They stay readable even after the
    /// iterator is gone. Default false.
    pub pin_data: bool,
    /// A scan goes on reading ahead in the next table of a level at the pace it had in the one before, rather
    /// than start anew in each. Default false.
    pub adaptive_readahead: bool,
    /// Without effect: files freed by an iterator's end are always deleted by a background job. Default false.
    pub background_purge_on_iterator_cleanup: bool,
    /// Nothing is read ahead past the block that holds the upper bound. Default true.
    pub auto_readahead_size: bool,
    /// The caller promises to call `prepare_value` before each access to a value. Values in SST files and
    /// memtables are always prepared, so the option defers no work. Default: false.
    pub allow_unprepared_value: bool,
    /// With `snapshot`: the iterator lets go of memtables and tables that are no longer current and goes on, at
    /// the same snapshot, in those that are. Default false.
    pub auto_refresh_iterator_with_snapshot: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            snapshot: None,
            timestamp: None,
            iter_start_ts: None,
            deadline: Duration::ZERO,
            io_timeout: Duration::ZERO,
            read_tier: ReadTier::All,
            rate_limiter_priority: None,
            value_size_soft_limit: u64::MAX,
            merge_operand_count_threshold: None,
            verify_checksums: true,
            fill_cache: true,
            ignore_range_deletions: false,
            async_io: false,
            optimize_multiget_for_io: true,
            readahead_size: 0,
            max_skippable_internal_keys: 0,
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            table_filter: None,
            tailing: false,
            total_order_seek: false,
            auto_prefix_mode: false,
            prefix_same_as_start: false,
            pin_data: false,
            adaptive_readahead: false,
            background_purge_on_iterator_cleanup: false,
            auto_readahead_size: true,
            allow_unprepared_value: false,
            auto_refresh_iterator_with_snapshot: false,
        }
    }
}

/// Options of writes. All default to off.
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case)]
pub struct WriteOptions {
    /// Waits until the WAL is on stable storage.
    pub sync: bool,
    /// Leaves the WAL out: the write is lost in a crash unless it was flushed.
    pub disableWAL: bool,
    /// Records for families that do not exist are dropped rather than refused.
    pub ignore_missing_column_families: bool,
    /// Returns Incomplete instead of waiting for the end of a write stall. Without this option, a stalled write has no
    /// time limit, as in RocksDB. The wait ends with an error if a background error ends it: at once if no resume is
    /// planned, after one second if the disk is full. Default: false.
    pub no_slowdown: bool,
    /// Slowed first when compaction falls behind.
    pub low_pri: bool,
    /// Has no effect: insertions find their position without a hint. RocksDB: remembers the position within a batch.
    pub memtable_insert_hint_per_batch: bool,
    /// Charges the WAL write to the rate limiter; only `User`, `Total` and `None`, the last two for not, are
    /// legal, and `User` only where the WAL is written at once.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Bytes of checksum kept for each entry on its way to the memtable: 0 or 8.
    pub protection_bytes_per_key: usize,
}

/// Options of [`flush`](FlushOptions).
#[derive(Clone, Copy, Debug)]
pub struct FlushOptions {
    /// Returns after the flush. If false, the call returns after the memtables became immutable. Default: true.
    pub wait: bool,
    /// Starts the flush at once, even if one more immutable memtable or level-0 file causes a write stall. If false, the
    /// call waits until the flush causes no write stall; the wait also ends if no flush or compaction of the column
    /// family is due. Default: false.
    pub allow_write_stall: bool,
    /// The families in one atomic flush whatever `atomic_flush` says, on this thread even without `wait`. Default
    /// false.
    pub force_atomic_flush: bool,
    /// Returns after the listeners were called for each flush of the column families that runs, also for flushes of other
    /// callers. Acts only with `wait`, and not in a callback of a background job. If false, the call waits for the listeners
    /// of the flushes that are durable. RocksDB with false returns before the listeners in rare schedules. Default: false.
    pub listener_wait: bool,
}

impl Default for FlushOptions {
    fn default() -> Self {
        FlushOptions { wait: true, allow_write_stall: false, force_atomic_flush: false, listener_wait: false }
    }
}

/// Options of a WAL flush.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushWalOptions {
    pub sync: bool,
    pub rate_limiter_priority: Option<IoPriority>,
}

/// What a manual compaction does with the bottommost level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevelCompaction {
    Skip,
    #[default]
    IfHaveCompactionFilter,
    Force,
    /// As `Force`, but files made by this very call are left alone.
    ForceOptimized,
}

/// What a manual compaction does with blob garbage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobGarbageCollectionPolicy {
    Force,
    Disable,
    #[default]
    UseDefault,
}

/// Options of a manual compaction of a range.
#[derive(Clone, Debug)]
pub struct CompactRangeOptions {
    /// No automatic compaction runs meanwhile. Default false.
    pub exclusive_manual_compaction: bool,
    /// Files end in the smallest level that holds them, or in `target_level`. Default false.
    pub change_level: bool,
    /// -1, the default: the smallest.
    pub target_level: i32,
    /// Which of the family's paths. Default 0.
    pub target_path_id: u32,
    pub bottommost_level_compaction: BottommostLevelCompaction,
    /// Starts the flush before the compaction at once, even if the flush causes a write stall; see
    /// [`FlushOptions::allow_write_stall`]. Default: false.
    pub allow_write_stall: bool,
    /// 0, the default: as the database's option.
    pub max_subcompactions: u32,
    /// Raises the family's `full_history_ts_low` first.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// Set by the caller to give the compaction up.
    pub canceled: Option<Arc<AtomicBool>>,
    pub blob_garbage_collection_policy: BlobGarbageCollectionPolicy,
    /// 0 to 1; negative, the default: as the family's option.
    pub blob_garbage_collection_age_cutoff: f64,
}

impl Default for CompactRangeOptions {
    fn default() -> Self {
        CompactRangeOptions {
            exclusive_manual_compaction: false,
            change_level: false,
            target_level: -1,
            target_path_id: 0,
            bottommost_level_compaction: BottommostLevelCompaction::default(),
            allow_write_stall: false,
            max_subcompactions: 0,
            full_history_ts_low: None,
            canceled: None,
            blob_garbage_collection_policy: BlobGarbageCollectionPolicy::default(),
            blob_garbage_collection_age_cutoff: -1.0,
        }
    }
}

/// Options of a compaction of named files.
#[derive(Clone, Debug)]
pub struct CompactionOptions {
    /// Default `DISABLE`: as the family's options say for the level.
    pub compression: CompressionType,
    /// Bytes. Default: no limit.
    pub output_file_size_limit: u64,
    /// 0, the default: as the database's option.
    pub max_subcompactions: u32,
    pub canceled: Option<Arc<AtomicBool>>,
    pub output_temperature_override: Temperature,
    /// Default false.
    pub allow_trivial_move: bool,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        CompactionOptions {
            compression: CompressionType::DISABLE,
            output_file_size_limit: u64::MAX,
            max_subcompactions: 0,
            canceled: None,
            output_temperature_override: Temperature::Unknown,
            allow_trivial_move: false,
        }
    }
}

/// Options of the ingestion of files made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    pub move_files: bool,
    pub link_files: bool,
    /// Default true.
    pub failed_move_fall_back_to_copy: bool,
    /// Default true.
    pub snapshot_consistency: bool,
    /// Default true.
    pub allow_global_seqno: bool,
    /// Default true.
    pub allow_blocking_flush: bool,
    pub ingest_behind: bool,
    pub write_global_seqno: bool,
    pub verify_checksums_before_ingest: bool,
    /// Bytes.
    pub verify_checksums_readahead_size: usize,
    /// Default true.
    pub verify_file_checksum: bool,
    pub fail_if_not_bottommost_level: bool,
    pub allow_db_generated_files: bool,
    /// Default true.
    pub fill_cache: bool,
    /// Default true.
    pub prefetch_lmax_index_and_filter_blocks: bool,
    /// The number of threads that open and check the external files of one call. Values below 1 stand for 1. Default 1.
    pub file_opening_threads: i32,
}

impl Default for IngestExternalFileOptions {
    fn default() -> Self {
        IngestExternalFileOptions {
            move_files: false,
            link_files: false,
            failed_move_fall_back_to_copy: true,
            snapshot_consistency: true,
            allow_global_seqno: true,
            allow_blocking_flush: true,
            ingest_behind: false,
            write_global_seqno: false,
            verify_checksums_before_ingest: false,
            verify_checksums_readahead_size: 0,
            verify_file_checksum: true,
            fail_if_not_bottommost_level: false,
            allow_db_generated_files: false,
            fill_cache: true,
            prefetch_lmax_index_and_filter_blocks: true,
            file_opening_threads: 1,
        }
    }
}

/// Options of the import of an exported family.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportColumnFamilyOptions {
    pub move_files: bool,
}

/// Options of size estimates.
#[derive(Clone, Copy, Debug)]
pub struct SizeApproximationOptions {
    /// Default false.
    pub include_memtables: bool,
    /// Default true.
    pub include_files: bool,
    /// Default false.
    pub include_blob_files: bool,
    /// Has no effect: the sizes of files are always exact. RocksDB: the error that the estimate of the files may have, as
    /// a share of their size. Default -1.
    pub files_size_error_margin: f64,
}

impl Default for SizeApproximationOptions {
    fn default() -> Self {
        SizeApproximationOptions {
            include_memtables: false,
            include_files: true,
            include_blob_files: false,
            files_size_error_margin: -1.0,
        }
    }
}

/// Options of waiting for background work. All default to off.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitForCompactOptions {
    /// `Aborted` if background work is paused.
    pub abort_on_pause: bool,
    /// Flushes first.
    pub flush: bool,
    /// Waits for the deletion of files too.
    pub wait_for_purge: bool,
    /// Closes the database afterwards.
    pub close_db: bool,
    /// Zero: no limit.
    pub timeout: Duration,
}
