//! Compares the names of the setters of database and column family options with the rows of the options.
//!
//! The compiler checks that a setter names a field. These tests check that the field is the option of the setter's name, and that each
//! row has a setter or a reason for having none.

use std::collections::BTreeSet;

use engine::options::{DbOptions, FamilyOptions};

/// The files with the rows of the setters.
const ROWS: [&str; 2] = [include_str!("db.rs"), include_str!("family.rs")];

/// The files with the natives that set objects, lists and groups of values.
const NATIVES: [&str; 4] = [
    include_str!("components.rs"),
    include_str!("factories.rs"),
    include_str!("files.rs"),
    include_str!("groups.rs"),
];

/// The setters that Java names in another way than the row.
const RENAMED: &[(&str, &str)] = &[
    ("setBottommostCompressionType", "bottommost_compression"),
    ("setCompactionPriority", "compaction_pri"),
    ("setCompressionType", "compression"),
    ("setLevelZeroFileNumCompactionTrigger", "level0_file_num_compaction_trigger"),
    ("setLevelZeroSlowdownWritesTrigger", "level0_slowdown_writes_trigger"),
    ("setLevelZeroStopWritesTrigger", "level0_stop_writes_trigger"),
];

/// The rows that a native sets. The value is an object, a list or a group.
const BY_NATIVE: &[(&str, &str)] = &[
    ("compaction_options_fifo", "setCompactionOptionsFIFO"),
    ("compaction_options_universal", "setCompactionOptionsUniversal"),
    ("compression_per_level", "setCompressionPerLevel"),
    ("daily_offpeak_time_utc", "setDailyOffpeakTimeUTC"),
    ("db_log_dir", "setDbLogDir"),
    ("max_bytes_for_level_multiplier_additional", "setMaxBytesForLevelMultiplierAdditional"),
    ("memtable_factory", "setMemTableFactory"),
    ("merge_operator", "setMergeOperator"),
    ("sst_partitioner_factory", "setSstPartitionerFactory"),
    ("statistics", "setStatistics"),
    ("table_factory", "setTableFactory"),
    ("wal_dir", "setWalDir"),
    ("bottommost_compression_opts", "setBottommostCompressionOptions"),
    ("compression_opts", "setCompressionOptions"),
    ("compaction_filter", "setCompactionFilterHandle"),
    ("compaction_filter_factory", "setCompactionFilterFactoryHandle"),
    ("comparator", "setComparatorHandle__JI"),
    ("table_properties_collectors", "setTablePropertiesCollectorFactory"),
    ("prefix_extractor", "useFixedLengthPrefixExtractor"),
];

/// The rows without a setter: RocksDB's Java classes have none, or RocksDB does not have the option. A program sets them by
/// properties, for example with `DBOptions.getDBOptionsFromProps`.
const BY_TEXT: &[&str] = &[
    "flush_verify_memtable_count",
    "compaction_verify_record_count",
    "track_and_verify_wals_in_manifest",
    "track_and_verify_wals",
    "verify_sst_unique_id_in_manifest",
    "read_io_executor_threads",
    "async_wal_precreate",
    "max_manifest_space_amp_pct",
    "verify_manifest_content_on_close",
    "optimize_manifest_for_recovery",
    "reuse_manifest_on_open",
    "use_direct_io_for_compaction_reads",
    "wal_filter",
    "enforce_write_buffer_manager_during_recovery",
    "wal_compression",
    "background_close_inactive_wals",
    "write_identity_file",
    "prefix_seek_opt_in_only",
    "file_checksum_gen_factory",
    "allow_data_in_errors",
    "db_host_id",
    "lowest_used_cache_tier",
    "enforce_single_del_contracts",
    "follower_refresh_catchup_period_ms",
    "follower_catchup_retry_count",
    "follower_catchup_retry_wait_ms",
    "metadata_write_temperature",
    "wal_write_temperature",
    "fast_sst_open",
    "compat",
    "open_despite_lost_writes",
    "memory_budget_bytes",
    "compression_manager",
    "uncache_aggressiveness",
    "max_write_buffer_size_to_maintain",
    "memtable_insert_with_hint_prefix_extractor",
    "target_file_size_is_upper_bound",
    "strict_max_successive_merges",
    "verify_output_flags",
    "disallow_memtable_writes",
    "sample_for_compression",
    "last_level_temperature",
    "default_write_temperature",
    "default_temperature",
    "preclude_last_level_data_seconds",
    "preserve_internal_time_seconds",
    "blob_compression_opts",
    "enable_blob_direct_write",
    "blob_direct_write_partitions",
    "memtable_protection_bytes_per_key",
    "persist_user_defined_timestamps",
    "block_protection_bytes_per_key",
    "bottommost_file_compaction_delay",
    "paranoid_memory_checks",
    "memtable_verify_per_key_checksum_on_seek",
    "memtable_op_scan_flush_trigger",
    "memtable_avg_op_scan_flush_trigger",
    "cf_allow_ingest_behind",
    "memtable_batch_lookup_optimization",
];

/// Returns the setters of the files with the rows they change. A row is `setX x: type => o.db.x;`.
fn setters() -> Vec<(&'static str, &'static str)> {
    let setter = |line: &'static str| {
        let (names, place) = line.trim().strip_suffix(';')?.split_once(" => o.")?;
        let row = place.strip_prefix("db.").or_else(|| place.strip_prefix("family."))?;
        names.starts_with("set").then(|| names.split(' ').next().map(|setter| (setter, row)))?
    };
    ROWS.iter().flat_map(|text| text.lines()).filter_map(setter).collect()
}

fn rows() -> BTreeSet<&'static str> {
    let db = DbOptions::ROWS.iter().map(|row| row.name);
    db.chain(FamilyOptions::ROWS.iter().map(|row| row.name)).collect()
}

/// Returns a name without the differences between the spellings of Java and of the rows.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[test]
fn each_setter_of_open_options_changes_the_row_of_its_name() {
    let (setters, rows) = (setters(), rows());
    assert!(setters.len() > 100, "{} setters are found", setters.len());
    for &(setter, row) in &setters {
        assert!(rows.contains(row), "{setter} changes {row}, which has no row");
        match RENAMED.iter().find(|(name, _)| *name == setter) {
            Some((_, renamed)) => assert_eq!(row, *renamed, "{setter}"),
            None => assert_eq!(plain(&setter["set".len()..]), plain(row), "{setter}"),
        }
    }
    for (setter, _) in RENAMED {
        assert!(setters.iter().any(|(name, _)| name == setter), "there is no {setter}");
    }
}

#[test]
fn each_row_of_open_options_has_a_setter_or_a_reason() {
    let set: BTreeSet<&str> = setters().into_iter().map(|(_, row)| row).collect();
    let rows = rows();
    for row in &rows {
        let native = BY_NATIVE.iter().find(|(name, _)| name == row).map(|(_, native)| native);
        let ways = [set.contains(row), native.is_some(), BY_TEXT.contains(row)];
        let count = ways.iter().filter(|way| **way).count();
        assert_eq!(count, 1, "the row {row} has a setter, a native, a reason for none: {ways:?}");
        if let Some(native) = native {
            let declared = format!("_{native}");
            assert!(NATIVES.iter().any(|text| text.contains(&declared)), "{row}: there is no {native}");
        }
    }
    let named = BY_NATIVE.iter().map(|(row, _)| row).chain(BY_TEXT);
    let unknown: Vec<_> = named.filter(|row| !rows.contains(*row)).collect();
    assert!(unknown.is_empty(), "exceptions without a row: {unknown:?}");
}
