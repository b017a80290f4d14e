//! Compares the names of the setters of database and column family options with the rows of the options.
//!
//! The compiler checks that a setter names a field. These tests check that the field is the option of the setter's name. A row without
//! a setter must have none in rust-rocksdb either; a program cannot set such an option with this crate.

use std::collections::BTreeSet;

use ironstone::{DbOptions, FamilyOptions};

/// The files with the rows of the setters.
const SETTERS: [&str; 2] = [include_str!("database.rs"), include_str!("family.rs")];

/// The public items of rust-rocksdb.
const ITEMS: &str = include_str!("../../../docs/rust-api.md");

/// The setters that rust-rocksdb names in another way than the row. A name after a point is a part of the value of a row.
const RENAMED: &[(&str, &str)] = &[
    ("set_blob_gc_age_cutoff", "blob_garbage_collection_age_cutoff"),
    ("set_blob_gc_force_threshold", "blob_garbage_collection_force_threshold"),
    ("set_bottommost_compression_type", "bottommost_compression"),
    ("set_compression_options_parallel_threads", "compression_opts.parallel_threads"),
    ("set_compression_type", "compression"),
    ("set_enable_blob_gc", "enable_blob_garbage_collection"),
    ("set_inplace_update_locks", "inplace_update_num_locks"),
    ("set_level_zero_file_num_compaction_trigger", "level0_file_num_compaction_trigger"),
    ("set_level_zero_slowdown_writes_trigger", "level0_slowdown_writes_trigger"),
    ("set_level_zero_stop_writes_trigger", "level0_stop_writes_trigger"),
    ("set_log_level", "info_log_level"),
    ("set_memtable_prefix_bloom_ratio", "memtable_prefix_bloom_size_ratio"),
    ("set_min_write_buffer_number", "min_write_buffer_number_to_merge"),
    ("set_table_cache_num_shard_bits", "table_cache_numshardbits"),
    ("set_wal_size_limit_mb", "WAL_size_limit_MB"),
    ("set_wal_ttl_seconds", "WAL_ttl_seconds"),
    ("set_zstd_max_train_bytes", "compression_opts.zstd_max_train_bytes"),
];

/// The rows that a function sets that is no row: its value is an object, a list, a group, or needs a check.
const BY_FUNCTION: &[(&str, &str)] = &[
    ("bottommost_compression_opts", "set_bottommost_compression_options"),
    ("comparator", "set_comparator"),
    ("compaction_filter", "set_compaction_filter"),
    ("compaction_filter_factory", "set_compaction_filter_factory"),
    ("compaction_options_fifo", "set_fifo_compaction_options"),
    ("compaction_options_universal", "set_universal_compaction_options"),
    ("compression_per_level", "set_compression_per_level"),
    ("db_log_dir", "set_db_log_dir"),
    ("max_background_compactions", "set_max_background_compactions"),
    ("max_background_flushes", "set_max_background_flushes"),
    ("max_bytes_for_level_multiplier_additional", "set_max_bytes_for_level_multiplier_additional"),
    ("memtable_factory", "set_memtable_factory"),
    ("merge_operator", "set_merge_operator"),
    ("prefix_extractor", "set_prefix_extractor"),
    ("statistics", "enable_statistics"),
    ("table_factory", "set_block_based_table_factory"),
    ("table_properties_collectors", "add_compact_on_deletion_collector_factory"),
    ("wal_compression", "set_wal_compression_type"),
    ("wal_dir", "set_wal_dir"),
];

/// Returns the setters with the rows they change. A row is `set_x(Type) => inner.db.x;`.
fn setters() -> Vec<(&'static str, &'static str)> {
    let setter = |line: &'static str| {
        let (call, place) = line.trim().strip_suffix(';')?.split_once(" => inner.")?;
        let row = place.strip_prefix("db.").or_else(|| place.strip_prefix("family."))?;
        Some((call.split('(').next()?, row))
    };
    SETTERS.iter().flat_map(|text| text.lines()).filter_map(setter).collect()
}

fn rows() -> BTreeSet<&'static str> {
    let db = DbOptions::ROWS.iter().map(|row| row.name);
    db.chain(FamilyOptions::ROWS.iter().map(|row| row.name)).collect()
}

/// Returns true if rust-rocksdb's `Options` have the method.
fn is_method(name: &str) -> bool {
    ITEMS.contains(&format!("`method Options::{name} "))
}

#[test]
fn each_setter_of_open_options_changes_the_row_of_its_name() {
    let (setters, rows) = (setters(), rows());
    assert!(setters.len() > 80, "{} setters are found", setters.len());
    for &(setter, place) in &setters {
        assert!(is_method(setter), "rust-rocksdb has no {setter}");
        let row = place.split('.').next().unwrap_or_default();
        assert!(rows.contains(row), "{setter} changes {place}, which has no row");
        match RENAMED.iter().find(|(name, _)| *name == setter) {
            Some((_, renamed)) => assert_eq!(place, *renamed, "{setter}"),
            None => assert_eq!(setter.strip_prefix("set_").unwrap_or(setter), place, "{setter}"),
        }
    }
    for (setter, _) in RENAMED {
        assert!(setters.iter().any(|(name, _)| name == setter), "there is no {setter}");
    }
}

#[test]
fn each_row_of_open_options_has_a_setter_or_rust_rocksdb_has_none() {
    let set: BTreeSet<&str> =
        setters().into_iter().filter_map(|(_, place)| place.split('.').next()).collect();
    let rows = rows();
    for row in &rows {
        match BY_FUNCTION.iter().find(|(name, _)| name == row) {
            Some((_, function)) => {
                assert!(is_method(function), "{row}: rust-rocksdb has no {function}");
                assert!(!set.contains(row), "the row {row} has a setter, and is an exception");
            }
            None if set.contains(row) => {}
            None => {
                let method = [format!("set_{row}"), row.to_string()].into_iter().find(|name| is_method(name));
                assert_eq!(method, None, "the row {row} has no setter");
            }
        }
    }
    for (row, _) in BY_FUNCTION {
        assert!(rows.contains(row), "the exception {row} has no row");
    }
}
