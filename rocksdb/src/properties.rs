//! The names of properties for `property_value` and `property_int_value`.
//!
//! RocksDB's `include/rocksdb/db.h` describes each property. `docs/options.md` does not list properties.

pub use crate::prop_name::{PropName, PropertyName};

/// Defines a constant for each name.
macro_rules! names {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        pub const $constant: &PropName = &PropName::of($name);
    )*};
}

names! {
    /// `rocksdb.stats`
    STATS = c"rocksdb.stats";
    /// `rocksdb.sstables`
    SSTABLES = c"rocksdb.sstables";
    /// `rocksdb.CFSTATS`
    CFSTATS = c"rocksdb.CFSTATS";
    /// `rocksdb.cfstats-no-file-histogram`
    CFSTATS_NO_FILE_HISTOGRAM = c"rocksdb.cfstats-no-file-histogram";
    /// `rocksdb.cf-file-histogram`
    CF_FILE_HISTOGRAM = c"rocksdb.cf-file-histogram";
    /// `rocksdb.dbstats`
    DBSTATS = c"rocksdb.dbstats";
    /// `rocksdb.levelstats`
    LEVELSTATS = c"rocksdb.levelstats";
    /// `rocksdb.num-immutable-mem-table`
    NUM_IMMUTABLE_MEM_TABLE = c"rocksdb.num-immutable-mem-table";
    /// `rocksdb.num-immutable-mem-table-flushed`
    NUM_IMMUTABLE_MEM_TABLE_FLUSHED = c"rocksdb.num-immutable-mem-table-flushed";
    /// `rocksdb.mem-table-flush-pending`
    MEM_TABLE_FLUSH_PENDING = c"rocksdb.mem-table-flush-pending";
    /// `rocksdb.num-running-flushes`
    NUM_RUNNING_FLUSHES = c"rocksdb.num-running-flushes";
    /// `rocksdb.compaction-pending`
    COMPACTION_PENDING = c"rocksdb.compaction-pending";
    /// `rocksdb.num-running-compactions`
    NUM_RUNNING_COMPACTIONS = c"rocksdb.num-running-compactions";
    /// `rocksdb.background-errors`
    BACKGROUND_ERRORS = c"rocksdb.background-errors";
    /// `rocksdb.cur-size-active-mem-table`
    CUR_SIZE_ACTIVE_MEM_TABLE = c"rocksdb.cur-size-active-mem-table";
    /// `rocksdb.cur-size-all-mem-tables`
    CUR_SIZE_ALL_MEM_TABLES = c"rocksdb.cur-size-all-mem-tables";
    /// `rocksdb.size-all-mem-tables`
    SIZE_ALL_MEM_TABLES = c"rocksdb.size-all-mem-tables";
    /// `rocksdb.num-entries-active-mem-table`
    NUM_ENTRIES_ACTIVE_MEM_TABLE = c"rocksdb.num-entries-active-mem-table";
    /// `rocksdb.num-entries-imm-mem-tables`
    NUM_ENTRIES_IMM_MEM_TABLES = c"rocksdb.num-entries-imm-mem-tables";
    /// `rocksdb.num-deletes-active-mem-table`
    NUM_DELETES_ACTIVE_MEM_TABLE = c"rocksdb.num-deletes-active-mem-table";
    /// `rocksdb.num-deletes-imm-mem-tables`
    NUM_DELETES_IMM_MEM_TABLES = c"rocksdb.num-deletes-imm-mem-tables";
    /// `rocksdb.estimate-num-keys`
    ESTIMATE_NUM_KEYS = c"rocksdb.estimate-num-keys";
    /// `rocksdb.estimate-table-readers-mem`
    ESTIMATE_TABLE_READERS_MEM = c"rocksdb.estimate-table-readers-mem";
    /// `rocksdb.is-file-deletions-enabled`
    IS_FILE_DELETIONS_ENABLED = c"rocksdb.is-file-deletions-enabled";
    /// `rocksdb.num-snapshots`
    NUM_SNAPSHOTS = c"rocksdb.num-snapshots";
    /// `rocksdb.oldest-snapshot-time`
    OLDEST_SNAPSHOT_TIME = c"rocksdb.oldest-snapshot-time";
    /// `rocksdb.num-live-versions`
    NUM_LIVE_VERSIONS = c"rocksdb.num-live-versions";
    /// `rocksdb.current-super-version-number`
    CURRENT_SUPER_VERSION_NUMBER = c"rocksdb.current-super-version-number";
    /// `rocksdb.estimate-live-data-size`
    ESTIMATE_LIVE_DATA_SIZE = c"rocksdb.estimate-live-data-size";
    /// `rocksdb.min-log-number-to-keep`
    MIN_LOG_NUMBER_TO_KEEP = c"rocksdb.min-log-number-to-keep";
    /// `rocksdb.min-obsolete-sst-number-to-keep`
    MIN_OBSOLETE_SST_NUMBER_TO_KEEP = c"rocksdb.min-obsolete-sst-number-to-keep";
    /// `rocksdb.total-sst-files-size`
    TOTAL_SST_FILES_SIZE = c"rocksdb.total-sst-files-size";
    /// `rocksdb.live-sst-files-size`
    LIVE_SST_FILES_SIZE = c"rocksdb.live-sst-files-size";
    /// `rocksdb.base-level`
    BASE_LEVEL = c"rocksdb.base-level";
    /// `rocksdb.estimate-pending-compaction-bytes`
    ESTIMATE_PENDING_COMPACTION_BYTES = c"rocksdb.estimate-pending-compaction-bytes";
    /// `rocksdb.aggregated-table-properties`
    AGGREGATED_TABLE_PROPERTIES = c"rocksdb.aggregated-table-properties";
    /// `rocksdb.actual-delayed-write-rate`
    ACTUAL_DELAYED_WRITE_RATE = c"rocksdb.actual-delayed-write-rate";
    /// `rocksdb.is-write-stopped`
    IS_WRITE_STOPPED = c"rocksdb.is-write-stopped";
    /// `rocksdb.estimate-oldest-key-time`
    ESTIMATE_OLDEST_KEY_TIME = c"rocksdb.estimate-oldest-key-time";
    /// `rocksdb.block-cache-capacity`
    BLOCK_CACHE_CAPACITY = c"rocksdb.block-cache-capacity";
    /// `rocksdb.block-cache-usage`
    BLOCK_CACHE_USAGE = c"rocksdb.block-cache-usage";
    /// `rocksdb.block-cache-pinned-usage`
    BLOCK_CACHE_PINNED_USAGE = c"rocksdb.block-cache-pinned-usage";
    /// `rocksdb.options-statistics`
    OPTIONS_STATISTICS = c"rocksdb.options-statistics";
}

/// Returns the name `rocksdb.num-files-at-level` with the level.
pub fn num_files_at_level(level: usize) -> PropertyName {
    PropertyName::of_level("num-files-at-level", level)
}

/// Returns the name `rocksdb.compression-ratio-at-level` with the level.
pub fn compression_ratio_at_level(level: usize) -> PropertyName {
    PropertyName::of_level("compression-ratio-at-level", level)
}

/// Returns the name `rocksdb.aggregated-table-properties-at-level` with the level.
pub fn aggregated_table_properties_at_level(level: usize) -> PropertyName {
    PropertyName::of_level("aggregated-table-properties-at-level", level)
}
