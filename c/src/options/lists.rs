//! Options that are sets of numbers: file types with checksum handoff, compaction styles with lifetime hints.
//!
//! Both are hints for the file system. The engine gives no such hints, so the sets are only stored for the getters.

use std::collections::BTreeSet;

use super::rocksdb_options_t;
use crate::abi::Flag;

/// The sets.
#[derive(Clone)]
pub struct Lists {
    checksum_handoff_file_types: BTreeSet<i32>,
    lifetime_hint_styles: BTreeSet<i32>,
}

impl Default for Lists {
    /// RocksDB gives lifetime hints for level compaction (0) by default.
    fn default() -> Self {
        Lists { checksum_handoff_file_types: BTreeSet::new(), lifetime_hint_styles: BTreeSet::from([0]) }
    }
}

c_api! {
    fn rocksdb_options_checksum_handoff_file_types_clear(options: mut rocksdb_options_t) {
        options.lists.checksum_handoff_file_types.clear();
    }

    fn rocksdb_options_checksum_handoff_file_types_add(options: mut rocksdb_options_t, file_type: i32) {
        options.lists.checksum_handoff_file_types.insert(file_type);
    }

    fn rocksdb_options_checksum_handoff_file_types_remove(options: mut rocksdb_options_t, file_type: i32) {
        options.lists.checksum_handoff_file_types.remove(&file_type);
    }

    fn rocksdb_options_checksum_handoff_file_types_contains(
        options: at rocksdb_options_t, file_type: i32
    ) -> Flag {
        Flag(options.lists.checksum_handoff_file_types.contains(&file_type))
    }

    fn rocksdb_options_checksum_handoff_file_types_count(options: at rocksdb_options_t) -> usize {
        options.lists.checksum_handoff_file_types.len()
    }

    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_clear(options: mut rocksdb_options_t) {
        options.lists.lifetime_hint_styles.clear();
    }

    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_add(
        options: mut rocksdb_options_t, compaction_style: i32
    ) {
        options.lists.lifetime_hint_styles.insert(compaction_style);
    }

    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_remove(
        options: mut rocksdb_options_t, compaction_style: i32
    ) {
        options.lists.lifetime_hint_styles.remove(&compaction_style);
    }

    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_contains(
        options: at rocksdb_options_t, compaction_style: i32
    ) -> Flag {
        Flag(options.lists.lifetime_hint_styles.contains(&compaction_style))
    }

    fn rocksdb_options_calculate_sst_write_lifetime_hint_set_count(options: at rocksdb_options_t) -> usize {
        options.lists.lifetime_hint_styles.len()
    }
}
