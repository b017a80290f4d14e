//! Options of writes, flushes, WAL flushes, size estimates, ingestions.

use engine::options::{
    FlushOptions, FlushWalOptions, ImportColumnFamilyOptions, IngestExternalFileOptions,
    SizeApproximationOptions, WriteOptions,
};

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};
use crate::read_options::IoActivity;

/// Options of writes.
#[derive(Clone, Default)]
pub struct rocksdb_writeoptions_t {
    options: WriteOptions,
    rejected: Rejected,
    /// The I/O activity of a write. Stored for the getter only.
    io_activity: IoActivity,
}

/// Options of flushes.
#[derive(Clone, Default)]
pub struct rocksdb_flushoptions_t {
    pub(crate) options: FlushOptions,
    rejected: Rejected,
}

/// Options of WAL flushes.
#[derive(Clone, Default)]
pub struct rocksdb_flushwaloptions_t {
    pub(crate) options: FlushWalOptions,
    rejected: Rejected,
}

/// Options of size estimates.
#[derive(Clone, Default)]
pub struct rocksdb_size_approximation_options_t {
    pub(crate) options: SizeApproximationOptions,
    rejected: Rejected,
}

/// Options of ingestions.
#[derive(Clone, Default)]
pub struct rocksdb_ingestexternalfileoptions_t {
    pub(crate) options: IngestExternalFileOptions,
    rejected: Rejected,
}

/// Options of imports of column families.
#[derive(Clone, Default)]
pub struct rocksdb_import_column_family_options_t {
    pub(crate) options: ImportColumnFamilyOptions,
    rejected: Rejected,
}

has_rejected!(
    rocksdb_writeoptions_t,
    rocksdb_flushoptions_t,
    rocksdb_flushwaloptions_t,
    rocksdb_size_approximation_options_t,
    rocksdb_ingestexternalfileoptions_t,
    rocksdb_import_column_family_options_t,
);

impl rocksdb_writeoptions_t {
    /// Returns the options for a write.
    ///
    /// # Errors
    /// InvalidArgument for a rejected value.
    pub(crate) fn get(&self) -> base::Result<&WriteOptions> {
        self.rejected.check()?;
        Ok(&self.options)
    }
}

lifetime!(rocksdb_writeoptions_t, rocksdb_writeoptions_create, rocksdb_writeoptions_destroy);
lifetime!(rocksdb_flushoptions_t, rocksdb_flushoptions_create, rocksdb_flushoptions_destroy);
lifetime!(rocksdb_flushwaloptions_t, rocksdb_flushwaloptions_create, rocksdb_flushwaloptions_destroy);
lifetime!(
    rocksdb_size_approximation_options_t,
    rocksdb_size_approximation_options_create,
    rocksdb_size_approximation_options_destroy
);
lifetime!(
    rocksdb_ingestexternalfileoptions_t,
    rocksdb_ingestexternalfileoptions_create,
    rocksdb_ingestexternalfileoptions_destroy
);
lifetime!(
    rocksdb_import_column_family_options_t,
    rocksdb_import_column_family_options_create,
    rocksdb_import_column_family_options_destroy
);

accessors! {
    rocksdb_writeoptions_t, "rocksdb_writeoptions_", |o| of WriteOptions;
    sync: flag => o.options.sync;
    disable_WAL: none / flag => o.options.disableWAL;
    ignore_missing_column_families: flag => o.options.ignore_missing_column_families;
    no_slowdown: flag => o.options.no_slowdown;
    low_pri: flag => o.options.low_pri;
    memtable_insert_hint_per_batch: flag => o.options.memtable_insert_hint_per_batch;
    rate_limiter_priority: i32 => o.options.rate_limiter_priority;
    protection_bytes_per_key: usize => o.options.protection_bytes_per_key;
    io_activity: i32 => o.io_activity.number;
}

accessors! {
    rocksdb_flushoptions_t, "rocksdb_flushoptions_", |o| of FlushOptions;
    wait: flag => o.options.wait;
    allow_write_stall: flag => o.options.allow_write_stall;
    force_atomic_flush: flag => o.options.force_atomic_flush;
    listener_wait: flag => o.options.listener_wait;
}

accessors! {
    rocksdb_flushwaloptions_t, "rocksdb_flushwaloptions_", |o| of FlushWalOptions;
    sync: flag => o.options.sync;
    rate_limiter_priority: i32 => o.options.rate_limiter_priority;
}

accessors! {
    rocksdb_size_approximation_options_t, "rocksdb_size_approximation_options_", |o| of SizeApproximationOptions;
    include_memtables: flag => o.options.include_memtables;
    include_files: flag => o.options.include_files;
    include_blob_files: flag => o.options.include_blob_files;
    files_size_error_margin: f64 => o.options.files_size_error_margin;
}

accessors! {
    rocksdb_ingestexternalfileoptions_t, "rocksdb_ingestexternalfileoptions_", |o| of IngestExternalFileOptions;
    move_files: flag => o.options.move_files;
    snapshot_consistency: flag => o.options.snapshot_consistency;
    allow_global_seqno: flag => o.options.allow_global_seqno;
    allow_blocking_flush: flag => o.options.allow_blocking_flush;
    ingest_behind: flag => o.options.ingest_behind;
    fail_if_not_bottommost_level: flag => o.options.fail_if_not_bottommost_level;
    link_files: flag => o.options.link_files;
    failed_move_fall_back_to_copy: flag => o.options.failed_move_fall_back_to_copy;
    write_global_seqno: flag => o.options.write_global_seqno;
    verify_checksums_before_ingest: flag => o.options.verify_checksums_before_ingest;
    verify_checksums_readahead_size: usize => o.options.verify_checksums_readahead_size;
    verify_file_checksum: flag => o.options.verify_file_checksum;
    allow_db_generated_files: flag => o.options.allow_db_generated_files;
    fill_cache: flag => o.options.fill_cache;
    prefetch_lmax_index_and_filter_blocks: flag => o.options.prefetch_lmax_index_and_filter_blocks;
    file_opening_threads: i32 => o.options.file_opening_threads;
}

accessors! {
    rocksdb_import_column_family_options_t, "rocksdb_import_column_family_options_", |o| of ImportColumnFamilyOptions;
    move_files: flag => o.options.move_files;
}

c_api! {
    /// Sets whether writes skip the WAL. With 1, a crash loses writes that were not flushed.
    fn rocksdb_writeoptions_disable_WAL(options: mut rocksdb_writeoptions_t, disable: i32) {
        options.options.disableWAL = disable != 0;
    }
}
