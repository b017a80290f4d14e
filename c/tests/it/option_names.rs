//! Compares the names of the accessors of database, column family and table options with the rows of the options.
//!
//! Each `set` and `get` function belongs to a row or to a component of its name, or [`OTHERS`] says what it changes. Each row has a
//! setter, or [`WITHOUT_SETTER`] gives the reason. `abi::listed` compares the accessors of the options of calls.

use std::collections::{BTreeMap, BTreeSet};

use engine::options::{DbOptions, FamilyOptions};
use table::options::{BlockBasedTableOptions, CuckooTableOptions, PlainTableOptions};

/// The header that programs include.
const HEADER: &str = include_str!("../../include/rocksdb/c.h");

/// What an accessor changes that does not have the name of a row or of a component.
#[derive(Clone, Copy)]
enum Changes {
    /// The row, or a part of its value. RocksDB gave the functions another name.
    Row(&'static str),
    /// The component. RocksDB gave the functions another name.
    Component(&'static str),
    /// An object that the open takes beside the options, or that the value of a row refers to.
    Object,
}
use Changes::{Component, Object, Row};

/// How a program sets an option whose row has no setter.
#[derive(Clone, Copy)]
enum Way {
    /// By the function, which has another form of name.
    Function(&'static str),
    /// By a text, for example `rocksdb_get_options_from_string`: RocksDB's C interface has no function for the option, or RocksDB does
    /// not have the option.
    Text,
}
use Way::{Function, Text};

/// The rows without a setter.
const WITHOUT_SETTER: &[(&str, Way)] = &[
    ("compaction_readahead_size", Function("rocksdb_options_compaction_readahead_size")),
    ("statistics", Function("rocksdb_options_enable_statistics")),
    ("table_properties_collectors", Function("rocksdb_options_add_table_properties_collector_factory")),
    ("compat", Text),
    ("open_despite_lost_writes", Text),
    ("memory_budget_bytes", Text),
    ("compression_manager", Text),
    ("memtable_insert_with_hint_prefix_extractor", Text),
    ("blob_compression_opts", Text),
    ("flush_block_policy_factory", Text),
];

/// The accessors without a row of their name: the prefix of the functions, the rest of the name, and what changes.
const OTHERS: [(&str, &[(&str, Changes)]); 3] = [
    (
        "rocksdb_options_",
        &[
            ("blob_cache", Object),
            ("blob_gc_age_cutoff", Row("blob_garbage_collection_age_cutoff")),
            ("blob_gc_force_threshold", Row("blob_garbage_collection_force_threshold")),
            ("block_based_table_factory", Row("table_factory")),
            ("bottommost_compression_options", Row("bottommost_compression_opts")),
            ("bottommost_compression_options_max_dict_buffer_bytes", Row("bottommost_compression_opts")),
            ("bottommost_compression_options_use_zstd_dict_trainer", Row("bottommost_compression_opts")),
            ("bottommost_compression_options_zstd_max_train_bytes", Row("bottommost_compression_opts")),
            ("compaction_service", Object),
            ("compression_options", Row("compression_opts")),
            ("compression_options_max_dict_buffer_bytes", Row("compression_opts")),
            ("compression_options_parallel_threads", Row("compression_opts")),
            ("compression_options_use_zstd_dict_trainer", Row("compression_opts")),
            ("compression_options_zstd_max_train_bytes", Row("compression_opts")),
            ("cuckoo_table_factory", Row("table_factory")),
            ("enable_blob_gc", Row("enable_blob_garbage_collection")),
            ("fifo_compaction_options", Row("compaction_options_fifo")),
            ("hash_link_list_rep", Row("memtable_factory")),
            ("hash_skip_list_rep", Row("memtable_factory")),
            ("memtable_vector_rep", Row("memtable_factory")),
            ("min_level_to_compress", Row("compression_per_level")),
            ("plain_table_factory", Row("table_factory")),
            ("ratelimiter", Component("rate_limiter")),
            ("statistics_level", Object),
            ("uint64add_merge_operator", Row("merge_operator")),
            ("universal_compaction_options", Row("compaction_options_universal")),
        ],
    ),
    (
        "rocksdb_block_based_options_",
        &[
            ("data_block_hash_ratio", Row("data_block_hash_table_util_ratio")),
            ("partition_pinning_tier", Row("metadata_cache_options")),
            ("top_level_index_pinning_tier", Row("metadata_cache_options")),
            ("unpartitioned_pinning_tier", Row("metadata_cache_options")),
            ("user_defined_index_factory_from_string", Row("user_defined_index_factory")),
            ("user_defined_index_factory_name", Row("user_defined_index_factory")),
        ],
    ),
    ("rocksdb_cuckoo_options_", &[("hash_ratio", Row("hash_table_ratio"))]),
];

/// Returns the rests of the names of the functions that start with this text. The header declares each function.
fn functions(start: &str) -> BTreeSet<&'static str> {
    let rest = |at: usize| HEADER[at..].split(|c: char| !c.is_alphanumeric() && c != '_').next();
    HEADER.match_indices(start).filter_map(|(at, _)| rest(at + start.len())).collect()
}

/// Checks the functions of a handle. Returns the rows that have a setter.
fn check(
    start: &str,
    rows: &BTreeSet<&'static str>,
    components: &BTreeSet<&'static str>,
) -> BTreeSet<&'static str> {
    let (_, others) = OTHERS.iter().find(|(own, _)| *own == start).unwrap();
    let others: BTreeMap<&str, Changes> = others.iter().copied().collect();
    let mut set = BTreeSet::new();
    let mut used = BTreeSet::new();
    for verb in ["set_", "get_"] {
        for name in functions(&format!("{start}{verb}")) {
            let row = match others.get(name) {
                None if rows.contains(name) => name,
                None => {
                    assert!(components.contains(name), "{start}{verb}{name} has no row and no component");
                    continue;
                }
                Some(changes) => {
                    assert!(!rows.contains(name), "{start}{verb}{name} has a row, and is an exception");
                    used.insert(name);
                    match *changes {
                        Row(row) => row,
                        Component(component) => {
                            assert!(components.contains(component), "there is no component {component}");
                            continue;
                        }
                        Object => continue,
                    }
                }
            };
            assert!(rows.contains(row), "{start}{verb}{name} changes the row {row}, which does not exist");
            if verb == "set_" {
                set.insert(row);
            }
        }
    }
    let unused: Vec<_> = others.keys().filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "exceptions without a function: {unused:?}");
    set
}

/// Checks that each row has a setter or is an exception.
fn check_rows(rows: &BTreeSet<&'static str>, set: &BTreeSet<&'static str>) {
    for row in rows {
        match WITHOUT_SETTER.iter().find(|(name, _)| name == row) {
            None => assert!(set.contains(row), "the row {row} has no setter"),
            Some((_, way)) => {
                assert!(!set.contains(row), "the row {row} has a setter, and is an exception");
                if let Function(function) = way {
                    assert!(HEADER.contains(&format!("{function}(")), "{row}: there is no {function}");
                }
            }
        }
    }
}

#[test]
fn each_accessor_of_open_options_has_a_row_and_each_row_has_a_setter() {
    let mut rows: BTreeSet<_> = DbOptions::ROWS.iter().map(|row| row.name).collect();
    rows.extend(FamilyOptions::ROWS.iter().map(|row| row.name));
    let mut components: BTreeSet<_> = DbOptions::COMPONENTS.iter().map(|own| own.name).collect();
    components.extend(FamilyOptions::COMPONENTS.iter().map(|own| own.name));
    let set = check("rocksdb_options_", &rows, &components);
    check_rows(&rows, &set);
}

#[test]
fn each_accessor_of_table_options_has_a_row_and_each_row_has_a_setter() {
    let rows = BlockBasedTableOptions::ROWS.iter().map(|row| row.name).collect();
    let components = BlockBasedTableOptions::COMPONENTS.iter().map(|own| own.name).collect();
    check_rows(&rows, &check("rocksdb_block_based_options_", &rows, &components));
    let rows = CuckooTableOptions::ROWS.iter().map(|row| row.name).collect();
    check_rows(&rows, &check("rocksdb_cuckoo_options_", &rows, &BTreeSet::new()));
}

#[test]
fn the_call_for_plain_tables_has_a_parameter_for_each_row() {
    let (_, call) = HEADER.split_once("rocksdb_options_set_plain_table_factory(").unwrap();
    let (parameters, _) = call.split_once(')').unwrap();
    let name = |parameter: &'static str| parameter.rsplit([' ', '*', '\n']).next().unwrap();
    let named: BTreeSet<&str> = parameters.split(',').skip(1).map(name).collect();
    let rows: BTreeSet<&str> = PlainTableOptions::ROWS.iter().map(|row| row.name).collect();
    assert_eq!(named, rows);
}

#[test]
fn each_exception_has_a_row() {
    let mut rows: BTreeSet<_> = DbOptions::ROWS.iter().map(|row| row.name).collect();
    rows.extend(FamilyOptions::ROWS.iter().map(|row| row.name));
    rows.extend(BlockBasedTableOptions::ROWS.iter().map(|row| row.name));
    for (name, _) in WITHOUT_SETTER {
        assert!(rows.contains(name), "the exception {name} has no row");
    }
}
