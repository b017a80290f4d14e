//! Options for common aims, with RocksDB's values.

use mem::cache::CacheOptions;
use table::options::{DataBlockIndexType, FilterPolicy, IndexType};

use super::WalRecoveryMode;
use super::{
    CompactionPri, CompactionStyle, CompressionType, DbOptions, FamilyOptions, Options, TableFactory,
};

impl DbOptions {
    /// Sets `max_background_jobs` to `total_threads`. RocksDB's `IncreaseParallelism`, whose default is 16. The
    /// thread pools of the executor grow when the database opens.
    pub fn increase_parallelism(&mut self, total_threads: i32) -> &mut Self {
        self.max_background_jobs = total_threads;
        self
    }

    /// Sets options for a database below one gigabyte, with little memory.
    pub fn optimize_for_small_db(&mut self) -> &mut Self {
        self.max_file_opening_threads = 1;
        self.max_open_files = 5000;
        self
    }

    /// Sets the defaults of an older release.
    pub fn old_defaults(&mut self, major: u32, minor: u32) -> &mut Self {
        let version = (major, minor);
        if version < (4, 7) {
            self.max_file_opening_threads = 1;
            self.table_cache_numshardbits = 4;
        }
        if version < (5, 2) {
            self.delayed_write_rate = 2 * 1024 * 1024;
        } else if version < (5, 6) {
            self.delayed_write_rate = 16 * 1024 * 1024;
        }
        self.max_open_files = 5000;
        self.wal_recovery_mode = WalRecoveryMode::TolerateCorruptedTailRecords;
        self
    }
}

impl FamilyOptions {
    /// Sets options for gets, puts and deletes without range reads: a hash index in data blocks, Bloom filters, a
    /// memtable filter of whole keys, and a block cache of this size.
    pub fn optimize_for_point_lookup(&mut self, block_cache_size_mb: u64) -> &mut Self {
        let mut table = table::options::BlockBasedTableOptions {
            data_block_index_type: DataBlockIndexType::BinaryAndHash,
            data_block_hash_table_util_ratio: 0.75,
            filter_policy: Some(FilterPolicy::bloom(10.0)),
            ..Default::default()
        };
        let bytes = usize::try_from(block_cache_size_mb.saturating_mul(1024 * 1024)).unwrap_or(usize::MAX);
        table.block_cache.options = CacheOptions::lru(bytes);
        self.table_factory = TableFactory::BlockBased(table);
        self.memtable_prefix_bloom_size_ratio = 0.02;
        self.memtable_whole_key_filtering = true;
        self
    }

    /// Sets options for the level style with this many bytes of memtables. RocksDB's default is 512 MiB.
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: u64) -> &mut Self {
        self.write_buffer_size = usize::try_from(memtable_memory_budget / 4).unwrap_or(usize::MAX);
        self.min_write_buffer_number_to_merge = 2;
        self.max_write_buffer_number = 6;
        self.level0_file_num_compaction_trigger = 2;
        self.target_file_size_base = memtable_memory_budget / 8;
        self.max_bytes_for_level_base = memtable_memory_budget;
        self.compaction_style = CompactionStyle::Level;
        let levels = usize::try_from(self.num_levels).unwrap_or(0);
        let compressed = default_compression();
        self.compression_per_level =
            (0..levels).map(|level| if level < 2 { CompressionType::NONE } else { compressed }).collect();
        self
    }

    /// Sets options for the universal style with this many bytes of memtables. RocksDB's default is 512 MiB.
    pub fn optimize_universal_style_compaction(&mut self, memtable_memory_budget: u64) -> &mut Self {
        self.write_buffer_size = usize::try_from(memtable_memory_budget / 4).unwrap_or(usize::MAX);
        self.min_write_buffer_number_to_merge = 2;
        self.max_write_buffer_number = 6;
        self.compaction_style = CompactionStyle::Universal;
        self.compaction_options_universal.compression_size_percent = 80;
        self
    }

    /// Sets options for a database below one gigabyte, with little memory: a block cache of 16 MiB, which also holds
    /// the index blocks, in partitions.
    pub fn optimize_for_small_db(&mut self) -> &mut Self {
        self.write_buffer_size = 2 << 20;
        self.target_file_size_base = 2 << 20;
        self.max_bytes_for_level_base = 10 << 20;
        self.soft_pending_compaction_bytes_limit = 256 << 20;
        self.hard_pending_compaction_bytes_limit = 1 << 30;
        let mut table = table::options::BlockBasedTableOptions {
            cache_index_and_filter_blocks: true,
            index_type: IndexType::TwoLevelIndexSearch,
            ..Default::default()
        };
        table.block_cache.options = CacheOptions::lru(16 << 20);
        self.table_factory = TableFactory::BlockBased(table);
        self
    }

    /// Sets the defaults of an older release.
    pub fn old_defaults(&mut self, major: u32, minor: u32) -> &mut Self {
        let version = (major, minor);
        if version <= (5, 18) {
            self.compaction_pri = CompactionPri::ByCompensatedSize;
        }
        if version < (4, 7) {
            self.write_buffer_size = 4 << 20;
            self.target_file_size_base = 2 << 20;
            self.max_bytes_for_level_base = 10 << 20;
            self.soft_pending_compaction_bytes_limit = 0;
            self.hard_pending_compaction_bytes_limit = 0;
        }
        if major < 5 {
            self.level0_stop_writes_trigger = 24;
        } else if version < (5, 2) {
            self.level0_stop_writes_trigger = 30;
        }
        self
    }
}

impl Options {
    /// Sets options for a bulk load: no automatic compaction, and no write stall. Compact the column family after the
    /// load.
    pub fn prepare_for_bulk_load(&mut self) -> &mut Self {
        self.family.level0_file_num_compaction_trigger = 1 << 30;
        self.family.level0_slowdown_writes_trigger = 1 << 30;
        self.family.level0_stop_writes_trigger = 1 << 30;
        self.family.soft_pending_compaction_bytes_limit = 0;
        self.family.hard_pending_compaction_bytes_limit = 0;
        self.family.disable_auto_compactions = true;
        self.family.max_compaction_bytes = 1 << 60;
        self.family.num_levels = 2;
        self.family.max_write_buffer_number = 6;
        self.family.min_write_buffer_number_to_merge = 1;
        self.db.max_background_flushes = 4;
        self.db.max_background_compactions = 2;
        self.family.target_file_size_base = 256 << 20;
        self
    }

    /// Sets options for a database below one gigabyte, with little memory.
    pub fn optimize_for_small_db(&mut self) -> &mut Self {
        self.db.optimize_for_small_db();
        self.family.optimize_for_small_db();
        self
    }

    /// Disables checks that cost time in benchmarks.
    pub fn disable_extra_checks(&mut self) -> &mut Self {
        self.family.force_consistency_checks = false;
        self
    }
}

/// Returns RocksDB's default compression: LZ4 if this build has LZ4, else Snappy, else none.
pub(super) fn default_compression() -> CompressionType {
    let built = |c: &CompressionType| c.kind().is_ok();
    [CompressionType::LZ4, CompressionType::SNAPPY].into_iter().find(built).unwrap_or(CompressionType::NONE)
}
