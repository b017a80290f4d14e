//! The setters of database options with a single value. One row defines one setter.

use super::Options;
use super::place::setters;
use crate::{DBRecoveryMode, LogLevel};

setters! {
    Options, |o|;
    create_if_missing(bool) => inner.db.create_if_missing;
    create_missing_column_families(bool) => inner.db.create_missing_column_families;
    set_error_if_exists(bool) => inner.db.error_if_exists;
    set_paranoid_checks(bool) => inner.db.paranoid_checks;
    set_compaction_readahead_size(usize) => inner.db.compaction_readahead_size;
    set_delete_obsolete_files_period_micros(u64) => inner.db.delete_obsolete_files_period_micros;
    set_max_open_files(i32) => inner.db.max_open_files;
    set_max_file_opening_threads(i32) => inner.db.max_file_opening_threads;
    set_use_fsync(bool) => inner.db.use_fsync;
    set_log_level(LogLevel) => inner.db.info_log_level;
    set_bytes_per_sync(u64) => inner.db.bytes_per_sync;
    set_wal_bytes_per_sync(u64) => inner.db.wal_bytes_per_sync;
    set_writable_file_max_buffer_size(u64) => inner.db.writable_file_max_buffer_size;
    set_allow_concurrent_memtable_write(bool) => inner.db.allow_concurrent_memtable_write;
    set_enable_write_thread_adaptive_yield(bool) => inner.db.enable_write_thread_adaptive_yield;
    set_use_direct_reads(bool) => inner.db.use_direct_reads;
    set_use_direct_io_for_flush_and_compaction(bool) => inner.db.use_direct_io_for_flush_and_compaction;
    set_is_fd_close_on_exec(bool) => inner.db.is_fd_close_on_exec;
    set_table_cache_num_shard_bits(i32) => inner.db.table_cache_numshardbits;
    set_db_write_buffer_size(usize) => inner.db.db_write_buffer_size;
    set_max_manifest_file_size(usize) => inner.db.max_manifest_file_size;
    set_unordered_write(bool) => inner.db.unordered_write;
    set_max_subcompactions(u32) => inner.db.max_subcompactions;
    set_max_background_jobs(i32) => inner.db.max_background_jobs;
    set_enable_pipelined_write(bool) => inner.db.enable_pipelined_write;
    set_max_total_wal_size(u64) => inner.db.max_total_wal_size;
    set_wal_recovery_mode(DBRecoveryMode) => inner.db.wal_recovery_mode;
    set_stats_dump_period_sec(u32) => inner.db.stats_dump_period_sec;
    set_stats_persist_period_sec(u32) => inner.db.stats_persist_period_sec;
    set_advise_random_on_open(bool) => inner.db.advise_random_on_open;
    set_use_adaptive_mutex(bool) => inner.db.use_adaptive_mutex;
    set_wal_ttl_seconds(u64) => inner.db.WAL_ttl_seconds;
    set_wal_size_limit_mb(u64) => inner.db.WAL_size_limit_MB;
    set_manifest_preallocation_size(usize) => inner.db.manifest_preallocation_size;
    set_skip_stats_update_on_db_open(bool) => inner.db.skip_stats_update_on_db_open;
    set_keep_log_file_num(usize) => inner.db.keep_log_file_num;
    set_allow_mmap_writes(bool) => inner.db.allow_mmap_writes;
    set_allow_mmap_reads(bool) => inner.db.allow_mmap_reads;
    set_manual_wal_flush(bool) => inner.db.manual_wal_flush;
    set_atomic_flush(bool) => inner.db.atomic_flush;
    set_max_log_file_size(usize) => inner.db.max_log_file_size;
    set_log_file_time_to_roll(usize) => inner.db.log_file_time_to_roll;
    set_recycle_log_file_num(usize) => inner.db.recycle_log_file_num;
    set_dump_malloc_stats(bool) => inner.db.dump_malloc_stats;
    set_allow_ingest_behind(bool) => inner.db.allow_ingest_behind;
    set_avoid_unnecessary_blocking_io(bool) => inner.db.avoid_unnecessary_blocking_io;
    set_track_and_verify_wals_in_manifest(bool) => inner.db.track_and_verify_wals_in_manifest;
    set_write_dbid_to_manifest(bool) => inner.db.write_dbid_to_manifest;
}
