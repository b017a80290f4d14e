//! Settings, one plain struct for each concern, under RocksDB's names and with its defaults.
//!
//! Settings are data. What is not data (comparator, merge operator, caches, listeners ...) is a component
//! and is handed in beside them; see [`crate::components`].

use table::options::BlockBasedTableOptions;

/// `wal_recovery_mode`; the numbers are in OPTIONS and in programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum WalRecoveryMode {
    TolerateCorruptedTailRecords = 0,
    AbsoluteConsistency = 1,
    #[default]
    PointInTime = 2,
    SkipAnyCorruptedRecords = 3,
}

/// A directory for tables and how many bytes should be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    pub path: std::path::PathBuf,
    pub target_size: u64,
}

/// Settings of a database. Sizes in bytes, intervals as named.
#[derive(Clone, Debug, PartialEq)]
pub struct DbOptions {
    pub create_if_missing: bool,
    pub create_missing_column_families: bool,
    pub error_if_exists: bool,
    pub paranoid_checks: bool,
    pub flush_verify_memtable_count: bool,
    pub compaction_verify_record_count: bool,
    pub track_and_verify_wals_in_manifest: bool,
    pub track_and_verify_wals: bool,
    pub verify_sst_unique_id_in_manifest: bool,
    pub max_open_files: i32,
    pub max_file_opening_threads: i32,
    pub max_total_wal_size: u64,
    pub use_fsync: bool,
    pub db_paths: Vec<DbPath>,
    pub db_log_dir: String,
    pub wal_dir: String,
    pub delete_obsolete_files_period_micros: u64,
    pub max_background_jobs: i32,
    pub max_background_compactions: i32,
    pub max_background_flushes: i32,
    pub max_subcompactions: u32,
    pub max_log_file_size: usize,
    pub log_file_time_to_roll: usize,
    pub keep_log_file_num: usize,
    pub recycle_log_file_num: usize,
    pub max_manifest_file_size: u64,
    pub max_manifest_space_amp_pct: i32,
    pub table_cache_numshardbits: i32,
    pub wal_ttl_seconds: u64,
    pub wal_size_limit_mb: u64,
    pub manifest_preallocation_size: usize,
    pub use_direct_reads: bool,
    pub use_direct_io_for_flush_and_compaction: bool,
    pub allow_fallocate: bool,
    pub is_fd_close_on_exec: bool,
    pub stats_dump_period_sec: u32,
    pub advise_random_on_open: bool,
    pub db_write_buffer_size: usize,
    pub compaction_readahead_size: usize,
    pub writable_file_max_buffer_size: usize,
    pub bytes_per_sync: u64,
    pub wal_bytes_per_sync: u64,
    pub strict_bytes_per_sync: bool,
    pub enable_thread_tracking: bool,
    pub delayed_write_rate: u64,
    pub enable_pipelined_write: bool,
    pub unordered_write: bool,
    pub allow_concurrent_memtable_write: bool,
    pub max_write_batch_group_size_bytes: u64,
    pub wal_recovery_mode: WalRecoveryMode,
    pub allow_2pc: bool,
    pub fail_if_options_file_error: bool,
    pub dump_malloc_stats: bool,
    pub avoid_flush_during_recovery: bool,
    pub avoid_flush_during_shutdown: bool,
    pub allow_ingest_behind: bool,
    pub two_write_queues: bool,
    pub manual_wal_flush: bool,
    pub wal_compression: u8,
    pub atomic_flush: bool,
    pub write_dbid_to_manifest: bool,
    pub write_identity_file: bool,
    pub best_efforts_recovery: bool,
    pub max_bgerror_resume_count: i32,
    pub bgerror_resume_retry_interval: u64,
    pub info_log_level: u8,
}

impl Default for DbOptions {
    fn default() -> Self {
        DbOptions {
            create_if_missing: false,
            create_missing_column_families: false,
            error_if_exists: false,
            paranoid_checks: true,
            flush_verify_memtable_count: true,
            compaction_verify_record_count: true,
            track_and_verify_wals_in_manifest: false,
            track_and_verify_wals: false,
            verify_sst_unique_id_in_manifest: true,
            max_open_files: -1,
            max_file_opening_threads: 16,
            max_total_wal_size: 0,
            use_fsync: false,
            db_paths: Vec::new(),
            db_log_dir: String::new(),
            wal_dir: String::new(),
            delete_obsolete_files_period_micros: 6 * 60 * 60 * 1_000_000,
            max_background_jobs: 2,
            max_background_compactions: -1,
            max_background_flushes: -1,
            max_subcompactions: 1,
            max_log_file_size: 0,
            log_file_time_to_roll: 0,
            keep_log_file_num: 1000,
            recycle_log_file_num: 0,
            max_manifest_file_size: 1 << 30,
            max_manifest_space_amp_pct: 500,
            table_cache_numshardbits: 6,
            wal_ttl_seconds: 0,
            wal_size_limit_mb: 0,
            manifest_preallocation_size: 4 << 20,
            use_direct_reads: false,
            use_direct_io_for_flush_and_compaction: false,
            allow_fallocate: true,
            is_fd_close_on_exec: true,
            stats_dump_period_sec: 600,
            advise_random_on_open: true,
            db_write_buffer_size: 0,
            compaction_readahead_size: 2 << 20,
            writable_file_max_buffer_size: 1 << 20,
            bytes_per_sync: 0,
            wal_bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            enable_thread_tracking: false,
            delayed_write_rate: 0,
            enable_pipelined_write: false,
            unordered_write: false,
            allow_concurrent_memtable_write: true,
            max_write_batch_group_size_bytes: 1 << 20,
            wal_recovery_mode: WalRecoveryMode::default(),
            allow_2pc: false,
            fail_if_options_file_error: true,
            dump_malloc_stats: false,
            avoid_flush_during_recovery: false,
            avoid_flush_during_shutdown: false,
            allow_ingest_behind: false,
            two_write_queues: false,
            manual_wal_flush: false,
            wal_compression: 0,
            atomic_flush: false,
            write_dbid_to_manifest: true,
            write_identity_file: true,
            best_efforts_recovery: false,
            max_bgerror_resume_count: i32::MAX,
            bgerror_resume_retry_interval: 1_000_000,
            info_log_level: 1,
        }
    }
}

/// Settings of a column family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyOptions {
    /// What decides when to compact what; several options have their home there.
    pub compaction: lsm::pick::Options,
    pub table: BlockBasedTableOptions,
    pub write_buffer_size: usize,
    pub max_write_buffer_number: usize,
    pub min_write_buffer_number_to_merge: usize,
    pub max_write_buffer_size_to_maintain: i64,
    pub arena_block_size: usize,
    pub memtable_prefix_bloom_size_ratio: f64,
    pub memtable_whole_key_filtering: bool,
    pub memtable_protection_bytes_per_key: u32,
    pub memtable_factory: String,
    pub max_successive_merges: usize,
    pub strict_max_successive_merges: bool,
    pub inplace_update_support: bool,
    pub paranoid_file_checks: bool,
    pub report_bg_io_stats: bool,
    pub disable_auto_compactions: bool,
    pub force_consistency_checks: bool,
    pub optimize_filters_for_hits: bool,
    pub max_sequential_skip_in_iterations: u64,
    pub persist_user_defined_timestamps: bool,
    pub enable_blob_files: bool,
}

impl Default for FamilyOptions {
    fn default() -> Self {
        FamilyOptions {
            compaction: lsm::pick::Options::default(),
            table: BlockBasedTableOptions::default(),
            write_buffer_size: 64 << 20,
            max_write_buffer_number: 2,
            min_write_buffer_number_to_merge: 1,
            max_write_buffer_size_to_maintain: 0,
            arena_block_size: 0,
            memtable_prefix_bloom_size_ratio: 0.0,
            memtable_whole_key_filtering: false,
            memtable_protection_bytes_per_key: 0,
            memtable_factory: String::from("SkipListFactory"),
            max_successive_merges: 0,
            strict_max_successive_merges: false,
            inplace_update_support: false,
            paranoid_file_checks: false,
            report_bg_io_stats: false,
            disable_auto_compactions: false,
            force_consistency_checks: true,
            optimize_filters_for_hits: false,
            max_sequential_skip_in_iterations: 8,
            persist_user_defined_timestamps: true,
            enable_blob_files: false,
        }
    }
}

/// How a read is made.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    pub verify_checksums: bool,
    pub fill_cache: bool,
    pub snapshot: Option<crate::sync::Arc<crate::sequence::Snapshot>>,
    pub iterate_lower_bound: Option<Vec<u8>>,
    pub iterate_upper_bound: Option<Vec<u8>>,
    pub readahead_size: usize,
    pub total_order_seek: bool,
    pub prefix_same_as_start: bool,
    pub tailing: bool,
    pub ignore_range_deletions: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            verify_checksums: true,
            fill_cache: true,
            snapshot: None,
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            readahead_size: 0,
            total_order_seek: false,
            prefix_same_as_start: false,
            tailing: false,
            ignore_range_deletions: false,
        }
    }
}

/// How a write is made. All false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Durable before it returns.
    pub sync: bool,
    /// Not logged: lost unless flushed.
    pub disable_wal: bool,
    /// A family that does not exist is passed over instead of failing the batch.
    pub ignore_missing_column_families: bool,
    /// Fail with `Incomplete` instead of waiting for room.
    pub no_slowdown: bool,
    /// Slowed down first when compaction is behind.
    pub low_pri: bool,
    pub memtable_insert_hint_per_batch: bool,
}
