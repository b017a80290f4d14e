//! The options of a database: one row each, with the names and defaults of RocksDB 11.8.1.
//!
//! See [`base::options!`] for the form of a row. A doc that says "Has no effect" belongs to a hint, which
//! [`HINTS`](crate::HINTS) lists.

use std::path::PathBuf;
use std::sync::Arc;

use base::stats::Statistics;
use env::Env;
use env::logger::{LogLevel, Logger};
use env::rate::RateLimiter;
use env::sst_files::SstFileManager;
use mem::budget::MemoryBudget;
use mem::write_buffer::WriteBufferManager;
use table::sst::BlockCache;

use super::compat::Compat;
use super::component::{FileChecksumGen, Unavailable};
use super::compression::CompressionType;
use super::enums::{CacheTier, Temperature, WalRecoveryMode};

/// A directory for SST files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    pub path: PathBuf,
    /// The size of the files that the directory should hold, in bytes. New files go to the first directory with room.
    pub target_size: u64,
}

base::options! {
    /// The options of a database. Column families have [`FamilyOptions`](crate::FamilyOptions).
    DbOptions;
    /// Creates the database if the directory holds no database.
    fixed create_if_missing: bool = false;
    /// Creates the column families that the open names and the database does not have.
    fixed create_missing_column_families: bool = false;
    /// Fails the open if the database exists.
    fixed error_if_exists: bool = false;
    /// Stops writes if a flush or a compaction finds a corrupt file, and fails the open if an SST file cannot be
    /// opened. If false, the database logs the error and continues where possible, and recovery skips corrupt WAL
    /// records.
    fixed paranoid_checks: bool = true;
    /// Checks that a flush reads as many entries as the memtable counted. A difference fails the flush with
    /// Corruption.
    fixed flush_verify_memtable_count: bool = true, since: "6.21";
    /// Checks that a compaction reads as many entries as its input files count. A difference fails the compaction with
    /// Corruption.
    fixed compaction_verify_record_count: bool = true, since: "8.6";
    /// Records the size of each synced WAL in the MANIFEST. The open fails if a recorded WAL is missing or too short.
    fixed track_and_verify_wals_in_manifest: bool = false, since: "6.15";
    /// Writes a record about the previous WAL into each new WAL. Recovery compares the record with the previous WAL,
    /// and finds a missing WAL.
    fixed track_and_verify_wals: bool = false, since: "9.11";
    /// Compares the unique id of an SST file with the MANIFEST when the file is opened.
    fixed verify_sst_unique_id_in_manifest: bool = true, since: "7.3";
    /// The lowest level of lines in the info log `LOG`.
    fixed info_log_level: LogLevel = LogLevel::Info;
    /// The number of SST files that the table cache keeps open. -1 keeps all files open. Smaller values are raised to
    /// 20.
    mutable max_open_files: i32 = -1, unit: "files", range: "-1, 20 to 4194304";
    /// The number of threads that open SST files while the database opens. A thread opens at least eight files.
    fixed max_file_opening_threads: i32 = 16, unit: "threads", range: "1 and more";
    /// Has no effect: reads of an open are not asynchronous. RocksDB: the threads of asynchronous reads while the
    /// database opens.
    fixed read_io_executor_threads: i32 = 1, unit: "threads", range: "1 and more", since: "11.8";
    /// Opens the SST files in the background after the open returns. Needs `skip_stats_update_on_db_open`.
    fixed open_files_async: bool = false, since: "11.1";
    /// The total size of the WALs at which the column families that need the oldest WAL are flushed. 0 stands for
    /// four times the sum of `write_buffer_size * max_write_buffer_number` of all column families. The sum is limited
    /// to eight times its largest part. Has no effect while the database has one column family.
    mutable max_total_wal_size: u64 = 0, unit: "bytes";
    /// Syncs files with `fsync`. If false, files are synced with `fdatasync`.
    fixed use_fsync: bool = false;
    /// The directory of the info log. Empty stands for the directory of the database.
    fixed db_log_dir: String = String::new();
    /// The directory of the WALs. Empty stands for the directory of the database.
    fixed wal_dir: String = String::new();
    /// Has no effect: obsolete files are deleted at once, and an open finds orphan files. RocksDB: the time between two
    /// searches for obsolete files in the directories of the database.
    mutable delete_obsolete_files_period_micros: u64 = 6 * 60 * 60 * 1_000_000, unit: "microseconds";
    /// The number of flushes and compactions that run at the same time. A quarter of the jobs are flushes, the others
    /// are compactions. There is at least one job of each kind. Values below 1 stand for 1.
    mutable max_background_jobs: i32 = 2, unit: "jobs", range: "at most 4096";
    /// The number of compactions that run at the same time. Superseded by `max_background_jobs`. -1 derives the
    /// number from `max_background_jobs`, or stands for 1 if `max_background_flushes` is set.
    mutable max_background_compactions: i32 = -1, unit: "jobs", range: "-1 to 4096";
    /// The number of threads that share one compaction.
    mutable max_subcompactions: u32 = 1, unit: "threads", range: "1 and more";
    /// The number of flushes that run at the same time. Superseded by `max_background_jobs`. -1 derives the number
    /// from `max_background_jobs`, or stands for 1 if `max_background_compactions` is set.
    mutable max_background_flushes: i32 = -1, unit: "jobs", range: "-1 to 4096";
    /// The size at which a new info log is started. 0 sets no limit.
    fixed max_log_file_size: usize = 0, unit: "bytes";
    /// The age at which a new info log is started. 0 sets no limit.
    fixed log_file_time_to_roll: usize = 0, unit: "seconds";
    /// The number of info logs that are kept.
    fixed keep_log_file_num: usize = 1000, unit: "files", range: "1 and more";
    /// The number of obsolete WALs that are kept and reused for new WALs. 0 is used instead if WALs are archived
    /// (`WAL_ttl_seconds`, `WAL_size_limit_MB`), and if `wal_recovery_mode` is `kTolerateCorruptedTailRecords` or
    /// `kAbsoluteConsistency`.
    fixed recycle_log_file_num: usize = 0, unit: "files";
    /// Has no effect: the WAL switch creates the next WAL. RocksDB: creates the next WAL in the background.
    fixed async_wal_precreate: bool = false, since: "11.3";
    /// The size at which a new MANIFEST is started. `max_manifest_space_amp_pct` can raise the limit.
    mutable max_manifest_file_size: u64 = 1024 * 1024 * 1024, unit: "bytes";
    /// A new MANIFEST is started only if the MANIFEST is larger than its compacted size by this percentage.
    mutable max_manifest_space_amp_pct: i32 = 500, unit: "percent", since: "10.9";
    /// Reads the MANIFEST while the database closes. If the content differs from the state in memory, a new MANIFEST
    /// is written.
    mutable verify_manifest_content_on_close: bool = false, since: "11.1";
    /// Has no effect: a close does not change the MANIFEST. RocksDB: makes the next open after a close faster.
    mutable optimize_manifest_for_recovery: bool = false, since: "11.3";
    /// Appends to the existing MANIFEST after the open, if all of its records are known to be durable. If false, each
    /// open writes a new MANIFEST.
    fixed reuse_manifest_on_open: bool = false, since: "11.3";
    /// Has no effect: the number of shards of the table cache is fixed. RocksDB: the number of shards is two to this
    /// power.
    fixed table_cache_numshardbits: i32 = 6, unit: "bits", range: "0 to 19";
    /// The age at which an archived WAL is deleted. 0 sets no limit on the age. If this option and
    /// `WAL_size_limit_MB` are 0, obsolete WALs are not archived.
    fixed WAL_ttl_seconds: u64 = 0, unit: "seconds";
    /// The total size of archived WALs. The oldest WALs are deleted first. 0 sets no limit on the size.
    fixed WAL_size_limit_MB: u64 = 0, unit: "mebibytes";
    /// The space that is allocated ahead for the MANIFEST.
    mutable manifest_preallocation_size: usize = 4 * 1024 * 1024, unit: "bytes";
    /// Reads plain and cuckoo tables into memory when they are opened. If false, they are read through the block cache.
    /// Block-based tables ignore the option. RocksDB: reads SST files through memory maps.
    fixed allow_mmap_reads: bool = false;
    /// Has no effect: files are written by system calls, because an error of a memory map ends the process. RocksDB: writes
    /// files through memory maps.
    fixed allow_mmap_writes: bool = false;
    /// Reads of SST files and blob files bypass the page cache of the system: reads of users and reads of
    /// compactions.
    fixed use_direct_reads: bool = false;
    /// Reads of compactions bypass the page cache of the system. `use_direct_reads` includes these reads.
    fixed use_direct_io_for_compaction_reads: bool = false, since: "11.5";
    /// Writes of flushes and compactions bypass the page cache of the system.
    fixed use_direct_io_for_flush_and_compaction: bool = false;
    /// Allows the allocation of disk space ahead of writes.
    fixed allow_fallocate: bool = true;
    /// Has no effect: child processes never inherit the files of a database.
    fixed is_fd_close_on_exec: bool = true;
    /// The time between two dumps of statistics into the info log. 0 writes no dumps.
    mutable stats_dump_period_sec: u32 = 600, unit: "seconds";
    /// The time between two records of the statistics history. 0 keeps no history.
    mutable stats_persist_period_sec: u32 = 600, unit: "seconds", since: "6.0";
    /// Keeps the statistics history in a hidden column family. If false, the history is in memory.
    fixed persist_stats_to_disk: bool = false, since: "6.15";
    /// The size of the statistics history in memory.
    mutable stats_history_buffer_size: usize = 1024 * 1024, unit: "bytes", since: "6.0";
    /// Tells the system that SST files are read at random positions.
    fixed advise_random_on_open: bool = true;
    /// The limit of the memory of all memtables of the database. 0 sets no limit.
    fixed db_write_buffer_size: usize = 0, unit: "bytes";
    /// The number of bytes that a compaction reads ahead.
    mutable compaction_readahead_size: usize = 2 * 1024 * 1024, unit: "bytes";
    /// The size of the buffer of a file that is written. Direct writes need a value above 0.
    mutable writable_file_max_buffer_size: usize = 1024 * 1024, unit: "bytes", range: "0 and more";
    /// Has no effect: locks always spin for a short time before they sleep.
    fixed use_adaptive_mutex: bool = false;
    /// The number of bytes after which the system starts to write an SST file to disk. With 0, a flush or a compaction writes
    /// 4 MiB to disk before it continues with the next 4 MiB. With a rate limiter, 0 stands for 1 MiB. A value above the size
    /// of the files leaves the time to the system.
    mutable bytes_per_sync: u64 = 0, unit: "bytes";
    /// The number of bytes after which the system starts to write a WAL to disk. 0 leaves the time to the system.
    mutable wal_bytes_per_sync: u64 = 0, unit: "bytes";
    /// Waits until the previous `bytes_per_sync` bytes are on disk before more bytes are written.
    mutable strict_bytes_per_sync: bool = false, since: "6.2";
    /// Shows the flush or compaction of a thread in the list of threads: operation, stage, and the bytes read and written.
    fixed enable_thread_tracking: bool = false;
    /// The first rate of writes in a write stall. 0 stands for the rate of the rate limiter, or for 16 MiB per second
    /// without a rate limiter. With 16 MiB per second, writers that wait for level 0 of leveled compaction write at the rate of the last
    /// compactions of level 0, if this rate is higher.
    mutable delayed_write_rate: u64 = 0, unit: "bytes per second";
    /// Writes the WAL of one write group while the previous group inserts into the memtables.
    fixed enable_pipelined_write: bool = false;
    /// In RocksDB, writes become visible in any order. Here the option acts as `enable_pipelined_write`: the order of
    /// writes is kept.
    fixed unordered_write: bool = false, since: "6.3";
    /// The writers of a write group insert into the memtable at the same time.
    fixed allow_concurrent_memtable_write: bool = true;
    /// A waiting writer spins before it sleeps.
    fixed enable_write_thread_adaptive_yield: bool = true;
    /// The largest size of a write group.
    fixed max_write_batch_group_size_bytes: u64 = 1 << 20, unit: "bytes", since: "6.5";
    /// The longest time that a waiting writer spins.
    fixed write_thread_max_yield_usec: u64 = 100, unit: "microseconds";
    /// A yield that takes longer counts as slow. After three slow yields the writer sleeps.
    fixed write_thread_slow_yield_usec: u64 = 3, unit: "microseconds";
    /// Has no effect: an open reads no statistics of SST files. RocksDB: skips the reading.
    fixed skip_stats_update_on_db_open: bool = false;
    /// Decides what recovery does at a torn or corrupt WAL record. `kTolerateCorruptedTailRecords` ends the WAL at a
    /// torn record and fails the open at a corrupt record. `kAbsoluteConsistency` fails the open at both.
    /// `kPointInTimeRecovery` stops the recovery at both. `kSkipAnyCorruptedRecords` skips corrupt records.
    fixed wal_recovery_mode: WalRecoveryMode = WalRecoveryMode::PointInTimeRecovery;
    /// Keeps prepared transactions after a crash. Transaction databases set the option.
    fixed allow_2pc: bool = false;
    /// Inspects WAL records during recovery. A program sets a filter as an object; the text is always `nullptr`.
    fixed wal_filter: Unavailable = Unavailable, since: "6.29";
    /// Has no effect: the dump of statistics holds no numbers of the allocator.
    fixed dump_malloc_stats: bool = false;
    /// Keeps replayed entries in memtables and keeps their WALs. If false, recovery flushes the entries to SST files.
    /// A WAL that is not known to be durable is copied.
    fixed avoid_flush_during_recovery: bool = false;
    /// Flushes memtables during recovery if the write buffer manager is over its limit.
    fixed enforce_write_buffer_manager_during_recovery: bool = true, since: "11.1";
    /// The close does not flush memtables. Entries that were written without a WAL are then lost.
    mutable avoid_flush_during_shutdown: bool = false;
    /// Allows the ingestion of files below all existing data. Compactions then leave the last level free.
    fixed allow_ingest_behind: bool = false;
    /// In RocksDB, writes that change no memtable have their own queue. In Ironstone, all writes have one queue. With both values,
    /// a synced prepare, commit or rollback leaves the queue before its sync. With `enable_pipelined_write`, each write
    /// is refused.
    fixed two_write_queues: bool = false;
    /// Keeps WAL records in a buffer until the application calls `flush_wal`.
    fixed manual_wal_flush: bool = false;
    /// The compression of WALs: `kNoCompression` or `kZSTD`. Other values are replaced by `kNoCompression`, with a
    /// warning in the info log.
    fixed wal_compression: CompressionType = CompressionType::NONE, since: "7.0";
    /// Has no effect: the WAL switch closes the previous WAL.
    fixed background_close_inactive_wals: bool = false, since: "9.4";
    /// Flushes all column families that have entries together, in one version edit. A manual flush of one column family does so too.
    fixed atomic_flush: bool = false;
    /// Has no effect: files are always deleted in the background.
    fixed avoid_unnecessary_blocking_io: bool = false, since: "6.1";
    /// Writes the id of the database to the MANIFEST. This option or `write_identity_file` must be true.
    fixed write_dbid_to_manifest: bool = true, since: "6.8";
    /// Writes the id of the database to the file `IDENTITY`. This option or `write_dbid_to_manifest` must be true.
    fixed write_identity_file: bool = true, since: "9.7";
    /// An iterator uses prefix seek only if its read options ask for prefix seek.
    fixed prefix_seek_opt_in_only: bool = false, since: "9.7";
    /// Has no effect: recovery reads WALs in large pieces. RocksDB: the read-ahead of WALs and of the MANIFEST.
    fixed log_readahead_size: usize = 0, unit: "bytes", since: "6.4";
    /// Makes a checksum of each SST file. `FileChecksumGenCrc32cFactory` is built in.
    fixed file_checksum_gen_factory: Option<FileChecksumGen> = None, since: "6.29";
    /// The open recovers the newest state whose files all exist, if files are missing.
    fixed best_efforts_recovery: bool = false, since: "6.9";
    /// The number of tries to resume after a background error that can be retried. 0 never resumes.
    fixed max_bgerror_resume_count: i32 = i32::MAX, unit: "tries", range: "0 and more", since: "6.12";
    /// The time between two tries to resume.
    fixed bgerror_resume_retry_interval: u64 = 1_000_000, unit: "microseconds", since: "6.12";
    /// Shows the user keys of corrupt memtable entries in error texts. If false, no error text contains keys or names of
    /// wide columns.
    fixed allow_data_in_errors: bool = false, since: "6.14";
    /// The name of the host in the properties of SST files. `__hostname__` stands for the name that the system gives.
    /// OPTIONS files cannot hold an empty name.
    fixed db_host_id: String = "__hostname__".to_string(), since: "6.14";
    /// Has no effect: the block cache has one tier.
    fixed lowest_used_cache_tier: CacheTier = CacheTier::NonVolatileBlockTier, since: "6.26";
    /// A compaction fails if a single deletion meets more than one value of its key. If false, the compaction logs the
    /// fault and continues.
    fixed enforce_single_del_contracts: bool = true, since: "7.3";
    /// Quiet hours of each day, as `HH:mm-HH:mm` in UTC. Compactions by age run early in these hours. Empty stands for
    /// no quiet hours.
    mutable daily_offpeak_time_utc: String = String::new(), since: "8.8";
    /// The longest time between two checks for compactions that become due by time alone.
    mutable max_compaction_trigger_wakeup_seconds: u64 = 43200, unit: "seconds", since: "11.2";
    /// The time between two catch-ups of a follower instance.
    fixed follower_refresh_catchup_period_ms: u64 = 10000, unit: "milliseconds", since: "9.4";
    /// How often a follower instance tries a catch-up before it waits for the next period.
    fixed follower_catchup_retry_count: u64 = 10, unit: "tries", since: "9.4";
    /// The time between two tries of a catch-up of a follower instance.
    fixed follower_catchup_retry_wait_ms: u64 = 100, unit: "milliseconds", since: "9.4";
    /// Has no effect: files have no temperature on disk. RocksDB: the temperature of MANIFEST, CURRENT, IDENTITY and
    /// OPTIONS files.
    fixed metadata_write_temperature: Temperature = Temperature::Unknown, since: "9.8";
    /// Has no effect: files have no temperature on disk. RocksDB: the temperature of WALs.
    fixed wal_write_temperature: Temperature = Temperature::Unknown, since: "9.8";
    /// Has no effect: the MANIFEST holds no data of the file system. RocksDB: opens SST files with less I/O.
    mutable fast_sst_open: bool = false, since: "11.2";
    /// Counts events. `nullptr` counts nothing.
    unwritten statistics: Option<Arc<Statistics>> = None;
    /// The oldest release of RocksDB that must read what is written, as `9.4`. Formats, features and OPTIONS files are
    /// lowered to this release. Empty stands for 11.8. Only Ironstone has this option.
    unwritten compat: Compat = Compat(None);
    /// The open succeeds although durable writes are damaged or missing, as in RocksDB. The info log, listeners and
    /// the property `ironstone.lost-bytes` report the loss. If false, the open fails with Corruption. Only Ironstone
    /// has this option.
    unwritten open_despite_lost_writes: bool = false;
    /// One memory limit for the database in bytes: block cache, memtables, index and filter blocks, iterators, and the buffers of
    /// flushes and compactions draw from it. The open makes the block cache of all column families, the write buffer manager and the
    /// budget, replaces those of other options, and lowers buffer sizes that do not fit. At least 8 MiB. 0: no limit. Only Ironstone
    /// has this option.
    unwritten memory_budget_bytes: u64 = 0, unit: "bytes";
    components
    /// Files, clock, random numbers and threads. Default: those of the machine.
    env: Env = Env::posix();
    /// Takes the lines of the info log. Default: the file `LOG`.
    info_log: Option<Arc<dyn Logger>> = None;
    /// Limits the I/O rate of background jobs. Default: none.
    rate_limiter: Option<Arc<RateLimiter>> = None;
    /// Limits the memory of the memtables of several databases. Default: one manager of `db_write_buffer_size` bytes.
    write_buffer_manager: Option<Arc<WriteBufferManager>> = None;
    /// Tracks SST files, deletes obsolete SST files at a limited rate, and limits the space of SST files. Several
    /// databases may share a manager. Default: none. Files are then deleted at once, and space has no limit.
    sst_file_manager: Option<Arc<SstFileManager>> = None;
    /// Keeps entries of single keys of SST files, for lookups. A hit reads neither the SST file nor the block cache. Several databases
    /// may share a row cache. May be the block cache. Default: none.
    row_cache: Option<Arc<BlockCache>> = None;
    /// One memory limit for the block cache, the memtables, and what is outside of them: iterators, and the buffers of jobs. Only
    /// Ironstone has this option. Several databases may share a budget. Default: none.
    memory_budget: Option<Arc<MemoryBudget>> = None;
    /// Directories of SST files, at most four. Default: the directory of the database.
    db_paths: Vec<DbPath> = Vec::new();
}
