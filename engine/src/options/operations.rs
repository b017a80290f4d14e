//! The options of single calls. OPTIONS files never have these options.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use env::rate::IoPriority;
use format::properties::Properties;

use crate::sequence::Snapshot;

use super::{CompressionType, Temperature};

/// The places where a read looks for a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// Memtables, cached blocks and files. The default.
    #[default]
    All,
    /// Memtables and cached blocks. The read does no I/O. If the result needs I/O, the read fails with Incomplete.
    BlockCache,
    /// Data that survives a crash. The read skips all memtables if the database has received a write without WAL. Not
    /// for iterators.
    Persisted,
    /// Iterators read only memtables. All other reads act as with `All`, as in RocksDB.
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
        let TableFilter(is_read) = self;
        catch_unwind(AssertUnwindSafe(|| is_read(properties))).unwrap_or(true)
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
    /// The read sees the database at this snapshot. Default `None`: the read sees the newest state.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The read sees the database at this timestamp. Required for column families with timestamps, and rejected for
    /// others.
    pub timestamp: Option<Vec<u8>>,
    /// Column families with timestamps, iterators only: the iterator shows every entry from this timestamp up to
    /// `timestamp`, newest first for each key, also tombstones and merge operands (`value_type` says which). Default
    /// `None`: the iterator shows the newest entry of each key, merged, and no tombstones.
    pub iter_start_ts: Option<Vec<u8>>,
    /// The time at which the read fails with TimedOut, as the duration since 1970. The read checks the time before
    /// each SST file of a look-up, each positioning of an iterator, and each access to an SST file. Zero, the
    /// default: no deadline.
    pub deadline: Duration,
    /// The longest duration of one access to an SST file. If an access took longer, the call returns
    /// `TimedOut`. Zero, the default: no limit.
    pub io_timeout: Duration,
    /// Which places a read may use. Default `All`: memtables, block cache and files.
    pub read_tier: ReadTier,
    /// Charges accesses to SST files to the rate limiter of the database with this priority, if the rate limiter
    /// limits reads. Default `None`: accesses are not charged.
    pub rate_limiter_priority: Option<IoPriority>,
    /// If the values of a multi-get exceed this number of bytes, the remaining keys fail with Aborted. Default: no
    /// limit.
    pub value_size_soft_limit: u64,
    /// If a look-up merges more operands than this number, its [`Answered`](crate::read::Answered) has the subcode
    /// `MergeOperandThresholdExceeded`. Default `None`: the look-up reports no number.
    pub merge_operand_count_threshold: Option<usize>,
    /// Verifies the checksum of each block that is read from a file. Default true.
    pub verify_checksums: bool,
    /// Adds the blocks that are read from files to the block cache. Default true.
    pub fill_cache: bool,
    /// Ignores range tombstones: the read returns entries that a range tombstone deletes. Default false.
    pub ignore_range_deletions: bool,
    /// An iterator with read-ahead asks the system for the next bytes of the file while it moves through its
    /// read-ahead buffer. Default false.
    pub async_io: bool,
    /// A multi-get asks the system for the blocks of all SST files of one level before it waits for a read. So the
    /// reads of the level run at the same time. With false, a multi-get reads one block after another. No effect with
    /// direct I/O, and with a rate limiter, a deadline or a timeout of the read. Default: true.
    pub optimize_multiget_for_io: bool,
    /// Bytes that an iterator reads ahead. 0, the default: the read-ahead starts small and grows.
    pub readahead_size: usize,
    /// The largest number of entries that one move of an iterator may read before the entry that it shows. A move that
    /// reads more entries fails with Incomplete. A move backward counts all entries of a key, also the shown entry. A move
    /// forward that reaches the end or the upper bound does not fail. 0, the default: no limit.
    pub max_skippable_internal_keys: u64,
    /// The smallest key that an iterator returns. Default `None`: no bound.
    pub iterate_lower_bound: Option<Vec<u8>>,
    /// An iterator returns only keys before this key. Default `None`: no bound.
    pub iterate_upper_bound: Option<Vec<u8>>,
    /// Iterators only: an iterator skips the point entries of each SST file for which the filter returns false. Range
    /// tombstones of the file still apply. Memtables are always read. Default `None`: the iterator reads all files.
    pub table_filter: Option<TableFilter>,
    /// The iterator also sees later writes. Default false.
    pub tailing: bool,
    /// The iterator uses no prefix filter, so it returns all keys, whatever the prefix extractor of the column family.
    /// `prefix_same_as_start` still ends the iteration. Default false.
    pub total_order_seek: bool,
    /// The iterator uses prefix filters only if its upper bound shows that they hide no key. Default false.
    pub auto_prefix_mode: bool,
    /// The iterator ends where the prefix of the keys changes, also with `total_order_seek`. Default false.
    pub prefix_same_as_start: bool,
    /// The caller wants to keep keys and values without a copy (`pinned_key`, `pinned_value`). The property
    /// `rocksdb.iterator.is-key-pinned` is 1 if this is possible for the current key. Pinned keys and values
    /// stay readable after the iterator is dropped. Default false.
    pub pin_data: bool,
    /// A scan keeps the size of its read-ahead when it moves to the next SST file of a level. With false, the
    /// read-ahead starts small in each SST file. Default false.
    pub adaptive_readahead: bool,
    /// Has no effect: a background job always deletes the files that the end of an iterator makes obsolete. Default
    /// false.
    pub background_purge_on_iterator_cleanup: bool,
    /// Read-ahead stops at the block that holds the upper bound. Default true.
    pub auto_readahead_size: bool,
    /// The caller promises to call `prepare_value` before each access to a value. Values in SST files and
    /// memtables are always prepared, so the option defers no work. Default: false.
    pub allow_unprepared_value: bool,
    /// With `snapshot`: the iterator releases obsolete memtables and SST files, and continues at the same snapshot in
    /// the current super version. Default false.
    pub auto_refresh_iterator_with_snapshot: bool,
}

static READ_OPTIONS: ReadOptions = ReadOptions::DEFAULT;

impl ReadOptions {
    const DEFAULT: ReadOptions = ReadOptions {
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
    };

    /// Returns a reference to the default options. Cheaper than [`ReadOptions::default`], which copies the whole
    /// struct.
    #[inline]
    pub fn defaults() -> &'static ReadOptions {
        &READ_OPTIONS
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions::DEFAULT
    }
}

/// Options of writes. By default, all of them are off.
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case)]
pub struct WriteOptions {
    /// Syncs the WAL before the write returns, so the write survives a power failure.
    pub sync: bool,
    /// Writes no WAL record. A crash loses the write, unless the write was flushed before.
    pub disableWAL: bool,
    /// Skips records of column families that do not exist. With false, such a batch is rejected.
    pub ignore_missing_column_families: bool,
    /// Returns Incomplete instead of waiting for the end of a write stall. Without this option, a stalled write has no
    /// time limit, as in RocksDB. The wait ends with an error if a background error ends it: at once if no resume is
    /// planned, after one second if the disk is full. Default: false.
    pub no_slowdown: bool,
    /// While compactions cannot keep up, delays the write to 2 MiB per second, for at most one second. With
    /// `no_slowdown`, the write fails with Incomplete instead. Default false.
    pub low_pri: bool,
    /// Has no effect: insertions find their position without a hint. RocksDB: remembers the position within a batch.
    pub memtable_insert_hint_per_batch: bool,
    /// `User` charges the WAL write to the rate limiter. This needs a write with WAL, and `manual_wal_flush = false`.
    /// `Total` and `None`, the default, charge nothing. Other priorities are rejected.
    pub rate_limiter_priority: Option<IoPriority>,
    /// Bytes of checksum that protect each entry until it is in the memtable. 0, the default, or 8.
    pub protection_bytes_per_key: usize,
}

/// Options of a manual flush.
#[derive(Clone, Copy, Debug)]
pub struct FlushOptions {
    /// Returns after the flush. If false, the call returns after the memtables became immutable. Default: true.
    pub wait: bool,
    /// Starts the flush at once, even if one more immutable memtable or level-0 file causes a write stall. If false, the
    /// call waits until the flush causes no write stall; the wait also ends if no flush or compaction of the column
    /// family is due. Default: false.
    pub allow_write_stall: bool,
    /// Flushes the column families in one commit, even without the option `atomic_flush` of the database. Runs on the
    /// thread of the caller, even without `wait`. Default false.
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
    /// Also syncs the WALs. Default false.
    pub sync: bool,
    pub rate_limiter_priority: Option<IoPriority>,
}

/// The rule for files of the bottommost level in a manual compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevelCompaction {
    /// Rewrites files of the bottommost level only if files of higher levels are merged into them.
    Skip,
    /// Like `Force` if the column family has a compaction filter, else like `Skip`. The default.
    #[default]
    IfHaveCompactionFilter,
    /// Rewrites all files of the range on the bottommost level.
    Force,
    /// Like `Force`, but does not rewrite files that this compaction has written.
    ForceOptimized,
}

/// The rule for the garbage of blob files in a manual compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobGarbageCollectionPolicy {
    /// Collects garbage, even if the column family does not enable garbage collection.
    Force,
    /// Collects no garbage.
    Disable,
    /// Collects garbage if the column family enables garbage collection. The default.
    #[default]
    UseDefault,
}

/// Options of a manual compaction of a range.
#[derive(Clone, Debug)]
pub struct CompactRangeOptions {
    /// Runs no automatic compaction during the manual compaction. Default false.
    pub exclusive_manual_compaction: bool,
    /// Moves the output files to `target_level` afterwards. Default false.
    pub change_level: bool,
    /// The target of `change_level`. -1, the default: the smallest empty level that is large enough.
    pub target_level: i32,
    /// The path of the output files, as an index into the paths of the column family. Default 0.
    pub target_path_id: u32,
    /// Whether files on the bottommost level are rewritten. Default `IfHaveCompactionFilter`.
    pub bottommost_level_compaction: BottommostLevelCompaction,
    /// Starts the flush before the compaction at once, even if the flush causes a write stall; see
    /// [`FlushOptions::allow_write_stall`]. Default: false.
    pub allow_write_stall: bool,
    /// The largest number of subcompactions. 0, the default: the option `max_subcompactions` of the database.
    pub max_subcompactions: u32,
    /// Raises `full_history_ts_low` of the column family before the compaction. Default `None`: no change.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// A flag that the caller sets to cancel the compaction. Default `None`.
    pub canceled: Option<Arc<AtomicBool>>,
    /// Whether garbage in blob files is collected. The default is the setting of the column family.
    pub blob_garbage_collection_policy: BlobGarbageCollectionPolicy,
    /// The age cutoff for garbage collection in blob files, from 0 to 1. Outside of this range, as by default: the
    /// option of the column family.
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

/// Options of a compaction of named SST files.
#[derive(Clone, Debug)]
pub struct CompactionOptions {
    /// The compression of the output files. `DISABLE`, the default: the compression that the column family uses for
    /// the level.
    pub compression: CompressionType,
    /// The size limit of an output file in bytes. Default: no limit.
    pub output_file_size_limit: u64,
    /// The largest number of subcompactions. 0, the default: the option `max_subcompactions` of the database.
    pub max_subcompactions: u32,
    /// A flag that the caller sets to cancel the compaction. Default `None`.
    pub canceled: Option<Arc<AtomicBool>>,
    /// The temperature of the output files. Default `Unknown`: the temperature that the column family chooses.
    pub output_temperature_override: Temperature,
    /// Moves the SST files without a rewrite, if possible. Default false.
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

/// Options of the ingestion of external SST files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    /// Links the external files into the database, and deletes their old names after the ingestion. Default false.
    pub move_files: bool,
    /// Links the external files into the database, and keeps their old names. Not together with `move_files`. Default
    /// false.
    pub link_files: bool,
    /// Copies a file that cannot be linked. With false, the ingestion fails. Default true.
    pub failed_move_fall_back_to_copy: bool,
    /// Gives the files a new sequence number if snapshots exist, so that no snapshot sees the files. Default true.
    pub snapshot_consistency: bool,
    /// Allows a new sequence number for the entries of a file. With false, a file that needs a new sequence number is
    /// rejected. Default true.
    pub allow_global_seqno: bool,
    /// Flushes memtables that overlap with the files. With false, an overlap is an error. Default true.
    pub allow_blocking_flush: bool,
    /// Places the files on the last level, below all existing data: existing entries of a key hide the ingested entries.
    /// Needs `allow_ingest_behind` or `cf_allow_ingest_behind`. Default false.
    pub ingest_behind: bool,
    /// Also writes the new sequence number into the file, for releases of RocksDB before 5.16. Default false.
    pub write_global_seqno: bool,
    /// Verifies the checksum of each block of the external files first. Default false.
    pub verify_checksums_before_ingest: bool,
    /// Read-ahead in bytes for the checks of the external files. 0, the default: automatic.
    pub verify_checksums_readahead_size: usize,
    /// Computes the checksum of each file, and compares it with the checksum of the request. With false, the
    /// ingestion trusts the checksum of the request. Needs `file_checksum_gen_factory`. Default true.
    pub verify_file_checksum: bool,
    /// Fails with TryAgain if a file does not fit on the last level. Default false.
    pub fail_if_not_bottommost_level: bool,
    /// Accepts SST files that a database wrote, with any sequence numbers. The files keep their sequence numbers, so they
    /// must not overlap with existing data. Default false.
    pub allow_db_generated_files: bool,
    /// Adds the blocks that the checks read to the block cache. Default true.
    pub fill_cache: bool,
    /// Opens the ingested files on the last level at once, with index and filter. Default true.
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

/// Options of the import of an exported column family.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportColumnFamilyOptions {
    pub move_files: bool,
}

/// Options of size estimates.
#[derive(Clone, Copy, Debug)]
pub struct SizeApproximationOptions {
    /// Counts the bytes in memtables. Default false.
    pub include_memtables: bool,
    /// Counts the bytes in SST files. Default true.
    pub include_files: bool,
    /// Counts the bytes in blob files. Default false.
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

/// Options of a wait for background work. By default, all of them are off.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitForCompactOptions {
    /// Ends the wait with Aborted if background work is paused.
    pub abort_on_pause: bool,
    /// Flushes all column families before the wait.
    pub flush: bool,
    /// Also waits for the deletion of obsolete files.
    pub wait_for_purge: bool,
    /// Closes the database after the wait.
    pub close_db: bool,
    /// Ends the wait with TimedOut after this time. Zero: no limit.
    pub timeout: Duration,
}
