//! Functions that change several options for a purpose, as RocksDB's functions of the same names do.

use std::sync::Arc;

use base::stats::Statistics;
use ironstone::binding::TableCache;

use super::rocksdb_options_t;
use crate::abi::Place;

c_api! {
    /// Sets the maximum number of background jobs to `total_threads`.
    fn rocksdb_options_increase_parallelism(options: mut rocksdb_options_t, total_threads: i32) {
        options.db.increase_parallelism(total_threads);
        options.db.env.executor.set_threads(env::Pool::Low, usize::try_from(total_threads).unwrap_or(0));
        options.db.env.executor.set_threads(env::Pool::High, 1);
    }

    /// Sets options for point lookups without range scans. `block_cache_size_mb` is the capacity of the block cache in MiB.
    fn rocksdb_options_optimize_for_point_lookup(options: mut rocksdb_options_t, block_cache_size_mb: u64) {
        options.family.optimize_for_point_lookup(block_cache_size_mb);
        options.table_cache = TableCache::default();
    }

    /// Sets options for level compaction. `memtable_memory_budget` is the memory of the memtables in bytes.
    fn rocksdb_options_optimize_level_style_compaction(
        options: mut rocksdb_options_t, memtable_memory_budget: u64
    ) {
        options.family.optimize_level_style_compaction(memtable_memory_budget);
    }

    /// Sets options for universal compaction. `memtable_memory_budget` is the memory of the memtables in bytes.
    fn rocksdb_options_optimize_universal_style_compaction(
        options: mut rocksdb_options_t, memtable_memory_budget: u64
    ) {
        options.family.optimize_universal_style_compaction(memtable_memory_budget);
    }

    /// Sets options for a bulk load without compaction.
    fn rocksdb_options_prepare_for_bulk_load(options: mut rocksdb_options_t) {
        let (db, family) = (options.db.clone(), options.family.clone());
        let mut both = engine::options::Options { db, family };
        both.prepare_for_bulk_load();
        (options.db, options.family) = (both.db, both.family);
    }

    /// Sets the option `compaction_readahead_size`: bytes.
    fn rocksdb_options_compaction_readahead_size(options: mut rocksdb_options_t, bytes: usize) {
        options.db.compaction_readahead_size = bytes;
    }

    /// Collects statistics. Databases that are opened with these options share them.
    fn rocksdb_options_enable_statistics(options: mut rocksdb_options_t) {
        options.db.statistics = Some(Arc::new(Statistics::new()));
    }

    /// Sets the level of the statistics. Does nothing without statistics.
    fn rocksdb_options_set_statistics_level(options: mut rocksdb_options_t, level: i32) {
        let mut known = base::stats::StatsLevel::default();
        if let Some(statistics) = &options.db.statistics
            && Place::<i32>::store(&mut known, level.clamp(0, 5))
        {
            statistics.set_level(known);
        }
    }

    /// Returns the level of the statistics; 0 without statistics.
    fn rocksdb_options_get_statistics_level(options: at rocksdb_options_t) -> i32 {
        options.db.statistics.as_ref().map_or(0, |statistics| Place::<i32>::load(&statistics.level()))
    }

    /// Sets a merge operator that adds integers of 8 little-endian bytes.
    fn rocksdb_options_set_uint64add_merge_operator(options: mut rocksdb_options_t) {
        options.family.merge_operator = lsm::merge::by_name("uint64add");
    }
}
