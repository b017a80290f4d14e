//! The options of a database: one row each, RocksDB 11.8.1's names and defaults.

use std::path::PathBuf;
use std::sync::Arc;

use base::stats::Statistics;
use env::Env;
use env::logger::{LogLevel, Logger};
use env::rate::RateLimiter;
use env::sst_files::SstFileManager;
use mem::write_buffer::WriteBufferManager;

use super::compat::Compat;
use super::component::{FileChecksumGen, Unavailable};
use super::compression::CompressionType;
use super::enums::{CacheTier, Temperature, WalRecoveryMode};
use super::row::options;

/// A directory for table files and how many bytes of them it should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    pub path: PathBuf,
    pub target_size: u64,
}

options! {
    /// A database's options. Sizes are bytes unless the name says otherwise.
    DbOptions;
    /// Opening makes a database where there is none.
    fixed create_if_missing: bool = false;
    /// Opening makes the families asked for that do not exist.
    fixed create_missing_column_families: bool = false;
    /// Opening refuses a database that exists.
    fixed error_if_exists: bool = false;
    /// Damage found by the way turns the database read-only rather than being logged.
    fixed paranoid_checks: bool = true;
    /// A flush compares the entries it read with the memtable's count.
    fixed flush_verify_memtable_count: bool = true;
    /// A compaction compares the entries it read with its files' count.
    fixed compaction_verify_record_count: bool = true;
    /// The MANIFEST lists synced WALs, and opening misses those that are gone.
    fixed track_and_verify_wals_in_manifest: bool = false;
    /// Each WAL says where the one before it ended, and opening compares.
    fixed track_and_verify_wals: bool = false;
    /// Opening compares each table's unique id with the MANIFEST's.
    fixed verify_sst_unique_id_in_manifest: bool = true;
    /// The least level of lines in the LOG.
    fixed info_log_level: LogLevel = LogLevel::Info;
    /// Tables kept open; -1: all.
    mutable max_open_files: i32 = -1;
    /// Threads that open tables when a database opens.
    fixed max_file_opening_threads: i32 = 16;
    /// Threads for asynchronous reads.
    fixed read_io_executor_threads: i32 = 1;
    /// Tables are opened after the database is.
    fixed open_files_async: bool = false;
    /// WALs beyond this make families flush; 0: four times all write buffers.
    mutable max_total_wal_size: u64 = 0;
    /// fsync rather than fdatasync.
    fixed use_fsync: bool = false;
    /// Where LOG goes; empty: to the database.
    fixed db_log_dir: String = String::new();
    /// Where WALs go; empty: to the database.
    fixed wal_dir: String = String::new();
    /// Microseconds between searches for files nobody needs.
    mutable delete_obsolete_files_period_micros: u64 = 6 * 60 * 60 * 1_000_000;
    /// Largest number of flushes and compactions that run at the same time. Default: 2; at most 4,096. A quarter of the jobs
    /// flush, at least one; the rest compacts.
    mutable max_background_jobs: i32 = 2;
    /// Largest number of compactions that run at the same time. Default: -1, which derives the number from
    /// `max_background_jobs`; at most 4,096.
    mutable max_background_compactions: i32 = -1;
    /// Threads that share one compaction.
    mutable max_subcompactions: u32 = 1;
    /// Largest number of flushes that run at the same time. Default: -1, which derives the number from
    /// `max_background_jobs`; at most 4,096.
    mutable max_background_flushes: i32 = -1;
    /// A LOG of this size is rolled; 0: never by size.
    fixed max_log_file_size: usize = 0;
    /// Seconds after which the LOG is rolled; 0: never by time.
    fixed log_file_time_to_roll: usize = 0;
    /// Old LOGs that are kept.
    fixed keep_log_file_num: usize = 1000;
    /// WALs kept to be written over.
    fixed recycle_log_file_num: usize = 0;
    /// The next WAL is made before it is needed.
    fixed async_wal_precreate: bool = false;
    /// A MANIFEST of this size is begun anew.
    mutable max_manifest_file_size: u64 = 1024 * 1024 * 1024;
    /// Percent of its compacted size that a MANIFEST may grow by before it is begun anew.
    mutable max_manifest_space_amp_pct: i32 = 500;
    /// Closing reads the MANIFEST again and rewrites it if it differs.
    mutable verify_manifest_content_on_close: bool = false;
    /// Closing leaves a MANIFEST that is quick to recover.
    mutable optimize_manifest_for_recovery: bool = false;
    /// Opening goes on with the MANIFEST there is, where that is proved durable to its end.
    fixed reuse_manifest_on_open: bool = false;
    /// Two to this power shards of the table cache.
    fixed table_cache_numshardbits: i32 = 6;
    /// Seconds that obsolete WALs stay in the archive.
    fixed WAL_ttl_seconds: u64 = 0;
    /// Mebibytes of obsolete WALs that stay in the archive.
    fixed WAL_size_limit_MB: u64 = 0;
    /// Allocated ahead for a MANIFEST.
    mutable manifest_preallocation_size: usize = 4 * 1024 * 1024;
    /// Tables are read through memory maps.
    fixed allow_mmap_reads: bool = false;
    /// Files are written through memory maps.
    fixed allow_mmap_writes: bool = false;
    /// User reads go around the page cache.
    fixed use_direct_reads: bool = false;
    /// Compaction reads go around the page cache.
    fixed use_direct_io_for_compaction_reads: bool = false;
    /// Flushes and compactions go around the page cache.
    fixed use_direct_io_for_flush_and_compaction: bool = false;
    /// Files may be allocated ahead.
    fixed allow_fallocate: bool = true;
    /// Children of the process do not inherit files.
    fixed is_fd_close_on_exec: bool = true;
    /// Seconds between dumps of statistics into the LOG; 0: none.
    mutable stats_dump_period_sec: u32 = 600;
    /// Seconds between entries of the statistics' history; 0: none.
    mutable stats_persist_period_sec: u32 = 600;
    /// The history goes to a hidden family.
    fixed persist_stats_to_disk: bool = false;
    /// Of the history in memory.
    mutable stats_history_buffer_size: usize = 1024 * 1024;
    /// The system is told that tables are read at random.
    fixed advise_random_on_open: bool = true;
    /// All memtables together; 0: no bound.
    fixed db_write_buffer_size: usize = 0;
    /// Read ahead by compactions.
    mutable compaction_readahead_size: usize = 2 * 1024 * 1024;
    /// The most a file being written buffers.
    mutable writable_file_max_buffer_size: usize = 1024 * 1024;
    /// Mutexes that spin first.
    fixed use_adaptive_mutex: bool = false;
    /// A table being written is synced in steps of this; 0: at the end.
    mutable bytes_per_sync: u64 = 0;
    /// A WAL is synced in steps of this; 0: as writes ask.
    mutable wal_bytes_per_sync: u64 = 0;
    /// Those steps wait for the one before.
    mutable strict_bytes_per_sync: bool = false;
    /// Threads say what they are doing.
    fixed enable_thread_tracking: bool = false;
    /// Bytes a second that writes are slowed to first; 0: the rate limiter's rate, or 16 MiB.
    mutable delayed_write_rate: u64 = 0;
    /// The WAL and the memtable are written by separate queues.
    fixed enable_pipelined_write: bool = false;
    /// Writes become visible out of order.
    fixed unordered_write: bool = false;
    /// Members of a group insert into the memtable at the same time.
    fixed allow_concurrent_memtable_write: bool = true;
    /// Waiting writers spin before they sleep.
    fixed enable_write_thread_adaptive_yield: bool = true;
    /// The most a group of writes holds.
    fixed max_write_batch_group_size_bytes: u64 = 1 << 20;
    /// Microseconds a waiting writer spins at most.
    fixed write_thread_max_yield_usec: u64 = 100;
    /// Microseconds after which a yield counts as slow.
    fixed write_thread_slow_yield_usec: u64 = 3;
    /// Opening does not read tables' statistics.
    fixed skip_stats_update_on_db_open: bool = false;
    /// How a WAL with damage is read.
    fixed wal_recovery_mode: WalRecoveryMode = WalRecoveryMode::PointInTimeRecovery;
    /// Two-phase commit: prepared transactions survive.
    fixed allow_2pc: bool = false;
    /// Looks at WAL records at open.
    fixed wal_filter: Unavailable = Unavailable;
    /// The allocator's statistics join the dump.
    fixed dump_malloc_stats: bool = false;
    /// Opening keeps what it replays in memtables and WALs; a WAL that nothing proves durable is copied.
    fixed avoid_flush_during_recovery: bool = false;
    /// Opening heeds the write-buffer manager.
    fixed enforce_write_buffer_manager_during_recovery: bool = true;
    /// Closing does not flush what only memtables hold, WAL or no WAL.
    mutable avoid_flush_during_shutdown: bool = false;
    /// Files may be ingested behind all data.
    fixed allow_ingest_behind: bool = false;
    /// Writes that go to the log and to no memtable have a queue of their own. In RocksDB the first halves of two-phase
    /// commits alone are such; they are not built. What is left of the option: with `enable_pipelined_write` each write
    /// is refused.
    fixed two_write_queues: bool = false;
    /// The WAL's buffer is written when the user says.
    fixed manual_wal_flush: bool = false;
    /// Compression of WALs: none or ZSTD.
    fixed wal_compression: CompressionType = CompressionType::NONE;
    /// Old WALs are closed in the background.
    fixed background_close_inactive_wals: bool = false;
    /// Families are flushed together or not at all.
    fixed atomic_flush: bool = false;
    /// Files are deleted in the background, not by readers.
    fixed avoid_unnecessary_blocking_io: bool = false;
    /// The MANIFEST holds the database's id.
    fixed write_dbid_to_manifest: bool = true;
    /// A file IDENTITY holds the database's id.
    fixed write_identity_file: bool = true;
    /// Prefix seek only where a read asks for it.
    fixed prefix_seek_opt_in_only: bool = false;
    /// Read ahead in logs at open; 0: none.
    fixed log_readahead_size: usize = 0;
    /// Makes whole-file checksums.
    fixed file_checksum_gen_factory: Option<FileChecksumGen> = None;
    /// Opening takes the newest state whose files are there.
    fixed best_efforts_recovery: bool = false;
    /// Tries to resume from a retryable background error.
    fixed max_bgerror_resume_count: i32 = i32::MAX;
    /// Microseconds between those tries.
    fixed bgerror_resume_retry_interval: u64 = 1_000_000;
    /// Errors may show keys.
    fixed allow_data_in_errors: bool = false;
    /// The host's name in table properties; `__hostname__`: what the system says.
    fixed db_host_id: String = "__hostname__".to_string();
    /// The lowest tier of the block cache that is used.
    fixed lowest_used_cache_tier: CacheTier = CacheTier::NonVolatileBlockTier;
    /// A single deletion that meets more than one value is an error.
    fixed enforce_single_del_contracts: bool = true;
    /// `HH:mm-HH:mm`, when compactions by age are best.
    mutable daily_offpeak_time_utc: String = String::new();
    /// Seconds between looks for compactions that time alone makes due.
    mutable max_compaction_trigger_wakeup_seconds: u64 = 43200;
    /// Milliseconds between a follower's catch-ups.
    fixed follower_refresh_catchup_period_ms: u64 = 10000;
    /// Tries of one catch-up.
    fixed follower_catchup_retry_count: u64 = 10;
    /// Milliseconds between them.
    fixed follower_catchup_retry_wait_ms: u64 = 100;
    /// Of MANIFEST, CURRENT, IDENTITY and OPTIONS.
    fixed metadata_write_temperature: Temperature = Temperature::Unknown;
    /// Of WALs.
    fixed wal_write_temperature: Temperature = Temperature::Unknown;
    /// Opening a table trusts the MANIFEST for what it can.
    mutable fast_sst_open: bool = false;
    /// Where events are counted. Default: nowhere.
    unwritten statistics: Option<Arc<Statistics>> = None;
    /// The release of RocksDB, as 9.4, that must be able to read what is written; empty: 11.8. Ours alone.
    unwritten compat: Compat = Compat(None);
    /// Opening goes on without writes that were durable and are damaged or gone, as RocksDB's does, and tells
    /// of them in the LOG, to listeners and by the property ironstone.lost-bytes. False: it fails with
    /// Corruption that names file, offset and loss. Ours alone.
    unwritten open_despite_lost_writes: bool = false;
    components
    /// Files, clock, chance and threads. Default: the machine's.
    env: Env = Env::posix();
    /// Where LOG lines go. Default: the file LOG.
    info_log: Option<Arc<dyn Logger>> = None;
    /// Slows background I/O. Default: none.
    rate_limiter: Option<Arc<RateLimiter>> = None;
    /// Bounds memtables of several databases. Default: one of `db_write_buffer_size`.
    write_buffer_manager: Option<Arc<WriteBufferManager>> = None;
    /// Tracks the SST files, deletes obsolete SST files at a limited rate, and limits the space of SST files. Several
    /// databases may share a manager. Default: none; files are deleted at once and space has no limit.
    sst_file_manager: Option<Arc<SstFileManager>> = None;
    /// Directories of table files, at most four. Default: the database's own.
    db_paths: Vec<DbPath> = Vec::new();
}
