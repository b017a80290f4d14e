//! The options of single calls. OPTIONS files never have these options.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use env::rate::IoPriority;
use format::properties::Properties;

use crate::sequence::Snapshot;

use super::{CompressionType, Temperature};

base::option_words! {
    /// The places where a read looks for a key.
    ReadTier: "read tier" {
        /// Memtables, cached blocks and files. The default.
        #[default]
        All = 0, "kReadAllTier";
        /// Memtables and cached blocks. The read does no I/O. If the result needs I/O, the read fails with Incomplete.
        BlockCache = 1, "kBlockCacheTier";
        /// Data that survives a crash. The read skips all memtables if the database has received a write without WAL. Not
        /// for iterators.
        Persisted = 2, "kPersistedTier";
        /// Iterators read only memtables. All other reads act as with `All`, as in RocksDB.
        Memtable = 3, "kMemtableTier";
    }
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

base::options! {
    calls;
    /// Options of reads.
    #[derive(Debug)]
    ReadOptions;
    /// The read sees the database at this timestamp. Required for column families with timestamps, and rejected for
    /// others.
    call timestamp: Option<Vec<u8>> = None, since: "6.3";
    /// Column families with timestamps, iterators only: the iterator shows every entry from this timestamp up to
    /// `timestamp`, newest first for each key, also tombstones and merge operands (`value_type` says which). If
    /// absent, the iterator shows the newest entry of each key, merged, and no tombstones.
    call iter_start_ts: Option<Vec<u8>> = None, since: "6.11";
    /// The time at which the read fails with TimedOut, as the time since 1970. The read checks the time before each
    /// SST file of a lookup, each positioning of an iterator, and each access to an SST file. 0 sets no deadline.
    call deadline: Duration = Duration::ZERO, unit: "microseconds", since: "6.11";
    /// The longest duration of one access to an SST file. If an access took longer, the call returns `TimedOut`. 0
    /// sets no limit.
    call io_timeout: Duration = Duration::ZERO, unit: "microseconds", since: "6.17";
    /// The places that a read may use.
    call read_tier: ReadTier = ReadTier::All;
    /// Charges accesses to SST files to the rate limiter of the database with this priority, if the rate limiter
    /// limits reads. If absent, accesses are not charged.
    call rate_limiter_priority: Option<IoPriority> = None, since: "7.0";
    /// If the values of a multi-get exceed this number of bytes, the remaining keys fail with Aborted. In a read of
    /// several column families, each column family has the limit, and after an exceeded limit all later column
    /// families fail. The default sets no limit.
    call value_size_soft_limit: u64 = u64::MAX, unit: "bytes", since: "6.11";
    /// If a lookup merges more operands than this number, its `Answered` has the subcode
    /// `MergeOperandThresholdExceeded`. If absent, the lookup reports no number.
    call merge_operand_count_threshold: Option<usize> = None, unit: "operands", since: "8.7";
    /// Verifies the checksum of each block that is read from a file.
    call verify_checksums: bool = true;
    /// Adds the blocks that are read from files to the block cache.
    call fill_cache: bool = true;
    /// Ignores range tombstones: the read returns entries that a range tombstone deletes.
    call ignore_range_deletions: bool = false;
    /// An iterator with read-ahead asks the system for the next bytes of the file while it moves through its
    /// read-ahead buffer.
    call async_io: bool = false, since: "7.0";
    /// A multi-get asks the system for the blocks of all SST files of one level before it waits for a read. So the
    /// reads of the level run at the same time. With false, a multi-get reads one block after another. No effect
    /// with direct I/O, and with a rate limiter, a deadline or a timeout of the read.
    call optimize_multiget_for_io: bool = true, since: "7.6";
    /// Bytes that an iterator reads ahead. With 0, the read-ahead starts small and grows.
    call readahead_size: usize = 0, unit: "bytes";
    /// The largest number of entries that one move of an iterator may read before the entry that it shows. A move
    /// that reads more entries fails with Incomplete. A move backward counts all entries of a key, also the shown
    /// entry. A move forward that reaches the end or the upper bound does not fail. 0 sets no limit.
    call max_skippable_internal_keys: u64 = 0, unit: "entries";
    /// The smallest key that an iterator returns. If absent, there is no bound.
    call iterate_lower_bound: Option<Vec<u8>> = None;
    /// An iterator returns only keys before this key. If absent, there is no bound.
    call iterate_upper_bound: Option<Vec<u8>> = None;
    /// The iterator also sees later writes.
    call tailing: bool = false;
    /// The iterator uses no prefix filter, so it returns all keys, whatever the prefix extractor of the column
    /// family. `prefix_same_as_start` still ends the iteration.
    call total_order_seek: bool = false;
    /// The iterator uses prefix filters only if its upper bound shows that they hide no key.
    call auto_prefix_mode: bool = false, since: "6.8";
    /// The iterator ends where the prefix of the keys changes, also with `total_order_seek`.
    call prefix_same_as_start: bool = false;
    /// The caller wants to keep keys and values without a copy (`pinned_key`, `pinned_value`). The property
    /// `rocksdb.iterator.is-key-pinned` is 1 if this is possible for the current key. Pinned keys and values stay
    /// readable after the iterator is dropped.
    call pin_data: bool = false;
    /// A scan keeps the size of its read-ahead when it moves to the next SST file of a level. With false, the
    /// read-ahead starts small in each SST file.
    call adaptive_readahead: bool = false, since: "6.27";
    /// Has no effect: a background job always deletes the files that the end of an iterator makes obsolete.
    call background_purge_on_iterator_cleanup: bool = false;
    /// Read-ahead stops at the block that holds the upper bound.
    call auto_readahead_size: bool = true, since: "8.6";
    /// An iterator reads a value of a blob file only at `prepare_value`, and shows an empty value before. Values in SST files and
    /// memtables are always prepared. RocksDB: the caller promises to call `prepare_value` before each access to a value.
    call allow_unprepared_value: bool = false, since: "9.8";
    /// With `snapshot`, the iterator releases obsolete memtables and SST files, and continues at the same snapshot
    /// in the current super version.
    call auto_refresh_iterator_with_snapshot: bool = false, since: "10.0";
    components
    /// The read sees the database at this snapshot. If absent, the read sees the newest state.
    snapshot: Option<Arc<Snapshot>> = None;
    /// An iterator skips the point entries of each SST file for which the filter returns false. Range tombstones of
    /// the file still apply. Memtables are always read. If absent, the iterator reads all files.
    table_filter: Option<TableFilter> = None;
}

static READ_OPTIONS: ReadOptions = ReadOptions::DEFAULT;

impl ReadOptions {
    /// Returns a reference to the default options. Cheaper than [`ReadOptions::default`], which copies the whole
    /// struct.
    #[inline]
    pub fn defaults() -> &'static ReadOptions {
        &READ_OPTIONS
    }
}

base::options! {
    calls;
    /// Options of writes. By default, all of them are off.
    #[derive(Copy, Debug)]
    WriteOptions;
    /// Syncs the WAL before the write returns, so the write survives a power failure.
    call sync: bool = false;
    /// Writes no WAL record. A crash loses the write, unless the write was flushed before.
    call disableWAL: bool = false;
    /// Skips records of column families that do not exist. With false, such a batch is rejected.
    call ignore_missing_column_families: bool = false;
    /// Returns Incomplete instead of waiting for the end of a write stall. Without this option, a stalled write has
    /// no time limit, as in RocksDB. The wait ends with an error if a background error ends it: at once if no
    /// resume is planned, after one second if the disk is full.
    call no_slowdown: bool = false;
    /// While compactions cannot keep up, all writes with this option together write at most 1 MiB per second, and after a
    /// write delay a quarter of its last rate. With `no_slowdown`, such a write fails with Incomplete instead. The commit
    /// and the rollback of a prepared transaction do not wait.
    call low_pri: bool = false;
    /// Has no effect: insertions find their position without a hint. RocksDB: remembers the position within a
    /// batch.
    call memtable_insert_hint_per_batch: bool = false, since: "6.5";
    /// `User` charges the WAL write to the rate limiter. This needs a write with WAL, and `manual_wal_flush =
    /// false`. `Total` and an absent priority charge nothing. Other priorities are rejected.
    call rate_limiter_priority: Option<IoPriority> = None, range: "IO_USER, IO_TOTAL, none", since: "7.1";
    /// Bytes of checksum that protect each entry until it is in the memtable. 0 protects nothing.
    call protection_bytes_per_key: usize = 0, unit: "bytes", range: "0, 8", since: "7.4";
    components
}

base::options! {
    calls;
    /// Options of a manual flush.
    #[derive(Copy, Debug)]
    FlushOptions;
    /// Returns after the flush. If false, the call returns after the memtables became immutable.
    call wait: bool = true;
    /// Starts the flush at once, even if one more immutable memtable or level-0 file causes a write stall. If
    /// false, the call waits until the flush causes no write stall; the wait also ends if no flush or compaction of
    /// the column family is due.
    call allow_write_stall: bool = false;
    /// Flushes the column families in one commit, even without the option `atomic_flush` of the database. Runs on
    /// the thread of the caller, even without `wait`.
    call force_atomic_flush: bool = false, since: "11.8";
    /// Returns after the listeners were called for each flush of the column families that runs, also for flushes of
    /// other callers. Acts only with `wait`, and not in a callback of a background job. If false, the call waits
    /// for the listeners of the flushes that are durable. RocksDB with false returns before the listeners in rare
    /// schedules.
    call listener_wait: bool = false, since: "11.8";
    components
}

base::options! {
    calls;
    /// Options of a WAL flush.
    #[derive(Copy, Debug)]
    FlushWalOptions;
    /// Also syncs the WALs.
    call sync: bool = false, since: "10.8";
    /// Has no effect: a flush of the WAL is not charged to the rate limiter. RocksDB: charges the write with this
    /// priority.
    call rate_limiter_priority: Option<IoPriority> = None, since: "10.8";
    components
}

base::option_words! {
    /// The rule for files of the bottommost level in a manual compaction.
    BottommostLevelCompaction: "rule for the bottommost level" {
        /// Rewrites files of the bottommost level only if files of higher levels are merged into them.
        Skip = 0, "kSkip";
        /// Like `Force` if the column family has a compaction filter, else like `Skip`. The default.
        #[default]
        IfHaveCompactionFilter = 1, "kIfHaveCompactionFilter";
        /// Rewrites all files of the range on the bottommost level.
        Force = 2, "kForce";
        /// Like `Force`, but does not rewrite files that this compaction has written.
        ForceOptimized = 3, "kForceOptimized";
    }
}

base::option_words! {
    /// The rule for the garbage of blob files in a manual compaction.
    BlobGarbageCollectionPolicy: "rule for the garbage of blob files" {
        /// Collects garbage, even if the column family does not enable garbage collection.
        Force = 0, "kForce";
        /// Collects no garbage.
        Disable = 1, "kDisable";
        /// Collects garbage if the column family enables garbage collection. The default.
        #[default]
        UseDefault = 2, "kUseDefault";
    }
}

base::options! {
    calls;
    /// Options of a manual compaction of a range.
    #[derive(Debug)]
    CompactRangeOptions;
    /// Runs no automatic compaction during the manual compaction.
    call exclusive_manual_compaction: bool = false;
    /// Moves the output files to `target_level` afterwards.
    call change_level: bool = false;
    /// The target of `change_level`. -1 selects the smallest empty level that is large enough.
    call target_level: i32 = -1, range: "-1 and more";
    /// The path of the output files, as an index into the paths of the column family.
    call target_path_id: u32 = 0;
    /// The rule for the files of the bottommost level.
    call bottommost_level_compaction: BottommostLevelCompaction = BottommostLevelCompaction::IfHaveCompactionFilter;
    /// Starts the flush before the compaction at once, even if the flush causes a write stall; see
    /// `FlushOptions::allow_write_stall`.
    call allow_write_stall: bool = false;
    /// The largest number of subcompactions. 0 stands for the option `max_subcompactions` of the database.
    call max_subcompactions: u32 = 0, unit: "subcompactions";
    /// Raises `full_history_ts_low` of the column family before the compaction. If absent, the value does not
    /// change.
    call full_history_ts_low: Option<Vec<u8>> = None, since: "6.18";
    /// The rule for garbage in blob files. `kUseDefault` takes the setting of the column family.
    call blob_garbage_collection_policy: BlobGarbageCollectionPolicy = BlobGarbageCollectionPolicy::UseDefault, since: "7.4";
    /// The age cutoff for garbage collection in blob files, from 0 to 1. A value outside of this range selects the
    /// option of the column family.
    call blob_garbage_collection_age_cutoff: f64 = -1.0, since: "7.4";
    components
    /// A flag that the caller sets to cancel the compaction.
    canceled: Option<Arc<AtomicBool>> = None, since: "6.22";
}

base::options! {
    calls;
    /// Options of a compaction of named SST files.
    #[derive(Debug)]
    CompactionOptions;
    /// The compression of the output files. `kDisableCompressionOption` selects the compression that the column
    /// family uses for the level.
    call compression: CompressionType = CompressionType::DISABLE;
    /// The size limit of an output file in bytes. The default sets no limit.
    call output_file_size_limit: u64 = u64::MAX, unit: "bytes";
    /// The largest number of subcompactions. 0 stands for the option `max_subcompactions` of the database.
    call max_subcompactions: u32 = 0, unit: "subcompactions";
    /// The temperature of the output files. `kUnknown` selects the temperature that the column family chooses.
    call output_temperature_override: Temperature = Temperature::Unknown, since: "10.8";
    /// Moves the SST files without a rewrite, if possible.
    call allow_trivial_move: bool = false, since: "10.9";
    components
    /// A flag that the caller sets to cancel the compaction.
    canceled: Option<Arc<AtomicBool>> = None, since: "10.4";
}

base::options! {
    calls;
    /// Options of the ingestion of external SST files.
    #[derive(Debug, PartialEq, Eq)]
    IngestExternalFileOptions;
    /// Links the external files into the database, and deletes their old names after the ingestion.
    call move_files: bool = false;
    /// Links the external files into the database, and keeps their old names. Not together with `move_files`.
    call link_files: bool = false, since: "9.7";
    /// Copies a file that cannot be linked. With false, the ingestion fails.
    call failed_move_fall_back_to_copy: bool = true, since: "6.3";
    /// Gives the files a new sequence number if snapshots exist, so that no snapshot sees the files.
    call snapshot_consistency: bool = true;
    /// Allows a new sequence number for the entries of a file. With false, a file that needs a new sequence number
    /// is rejected.
    call allow_global_seqno: bool = true;
    /// Flushes memtables that overlap with the files. With false, an overlap is an error.
    call allow_blocking_flush: bool = true;
    /// Places the files on the last level, below all existing data: existing entries of a key hide the ingested
    /// entries. Needs `allow_ingest_behind` or `cf_allow_ingest_behind`.
    call ingest_behind: bool = false;
    /// Also writes the new sequence number into the file, for releases of RocksDB before 5.16.
    call write_global_seqno: bool = false;
    /// Verifies the checksum of each block of the external files first.
    call verify_checksums_before_ingest: bool = false, since: "6.2";
    /// Read-ahead in bytes for the checks of the external files. With 0, the size is chosen automatically.
    call verify_checksums_readahead_size: usize = 0, unit: "bytes", since: "6.5";
    /// Computes the checksum of each file, and compares it with the checksum of the request. With false, the
    /// ingestion trusts the checksum of the request. Needs `file_checksum_gen_factory`.
    call verify_file_checksum: bool = true, since: "6.11";
    /// Fails with TryAgain if a file does not fit on the last level.
    call fail_if_not_bottommost_level: bool = false, since: "7.2";
    /// Accepts SST files that a database wrote, with any sequence numbers. The files keep their sequence numbers,
    /// so they must not overlap with existing data.
    call allow_db_generated_files: bool = false, since: "9.5";
    /// Adds the blocks that the checks read to the block cache.
    call fill_cache: bool = true, since: "9.8";
    /// Opens the ingested files on the last level at once, with index and filter.
    call prefetch_lmax_index_and_filter_blocks: bool = true, since: "11.5";
    /// The number of threads that open and check the external files of one call. Values below 1 stand for 1.
    call file_opening_threads: i32 = 1, unit: "threads", since: "11.5";
    components
}

base::options! {
    calls;
    /// Options of the import of an exported column family.
    #[derive(Copy, Debug)]
    ImportColumnFamilyOptions;
    /// Links the files into the database, and deletes their old names after the import. If false, the files are
    /// copied.
    call move_files: bool = false, since: "6.4";
    components
}

base::options! {
    calls;
    /// Options of size estimates.
    #[derive(Copy, Debug)]
    SizeApproximationOptions;
    /// Counts the bytes in memtables.
    call include_memtables: bool = false, since: "7.0";
    /// Counts the bytes in SST files.
    call include_files: bool = true, since: "6.4";
    /// Counts the bytes in blob files.
    call include_blob_files: bool = false, since: "11.8";
    /// Has no effect: the sizes of files are always exact. RocksDB: the error that the estimate of the files may
    /// have, as a share of their size.
    call files_size_error_margin: f64 = -1.0, since: "6.4";
    components
}

base::options! {
    calls;
    /// Options of a wait for background work. By default, all of them are off.
    #[derive(Copy, Debug)]
    WaitForCompactOptions;
    /// Ends the wait with Aborted if background work is paused.
    call abort_on_pause: bool = false, since: "8.6";
    /// Flushes all column families before the wait.
    call flush: bool = false, since: "8.6";
    /// Also waits for the deletion of obsolete files.
    call wait_for_purge: bool = false, since: "9.2";
    /// Closes the database after the wait.
    call close_db: bool = false, since: "8.6";
    /// Ends the wait with TimedOut after this time. 0 sets no limit.
    call timeout: Duration = Duration::ZERO, unit: "microseconds", since: "8.6";
    components
}
