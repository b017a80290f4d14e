//! The perf context of a thread, and the memory of databases and caches.

use ironstone::BlockCache;
use ironstone::stats::{self, PerfCounter, PerfLevel};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::db::DBInner;
use crate::{Cache, DB, DBCommon, Error, ThreadMode, TransactionDB};

/// The counters and times that the perf context of a thread collects. Each level includes the level before.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum PerfStatsLevel {
    /// Not set.
    Uninitialized = 0,
    /// Nothing.
    Disable,
    /// Counts.
    EnableCount,
    /// Also times, except the times of waits for mutexes.
    EnableTimeExceptForMutex,
    /// Also CPU times.
    EnableTimeAndCPUTimeExceptForMutex,
    /// Also the times of waits for mutexes.
    EnableTime,
    /// Not a level.
    OutOfBound,
}

/// Sets the level of the perf context of this thread. `Uninitialized` and `OutOfBound` change nothing.
pub fn set_perf_stats(lvl: PerfStatsLevel) {
    stats::set_perf_level(match lvl {
        PerfStatsLevel::Uninitialized | PerfStatsLevel::OutOfBound => return,
        PerfStatsLevel::Disable => PerfLevel::Disable,
        PerfStatsLevel::EnableCount => PerfLevel::EnableCount,
        PerfStatsLevel::EnableTimeExceptForMutex => PerfLevel::EnableTimeExceptForMutex,
        PerfStatsLevel::EnableTimeAndCPUTimeExceptForMutex => PerfLevel::EnableTimeAndCpuTimeExceptForMutex,
        PerfStatsLevel::EnableTime => PerfLevel::EnableTime,
    });
}

/// Defines the metrics. A row has the variant, its number and the name of the counter.
macro_rules! metrics {
    ($($variant:ident = $number:literal => $name:literal,)*) => {
        /// A counter of the perf context.
        #[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum PerfMetric {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant = $number,
            )*
            /// Not a metric: the number of metrics.
            TotalMetricCount = 68,
        }

        impl PerfMetric {
            fn counter(self) -> Option<PerfCounter> {
                match self {
                    $(PerfMetric::$variant => PerfCounter::by_name($name),)*
                    PerfMetric::TotalMetricCount => None,
                }
            }
        }
    };
}

metrics! {
    UserKeyComparisonCount = 0 => "user_key_comparison_count",
    BlockCacheHitCount = 1 => "block_cache_hit_count",
    BlockReadCount = 2 => "block_read_count",
    BlockReadByte = 3 => "block_read_byte",
    BlockReadTime = 4 => "block_read_time",
    BlockChecksumTime = 5 => "block_checksum_time",
    BlockDecompressTime = 6 => "block_decompress_time",
    GetReadBytes = 7 => "get_read_bytes",
    MultigetReadBytes = 8 => "multiget_read_bytes",
    IterReadBytes = 9 => "iter_read_bytes",
    InternalKeySkippedCount = 10 => "internal_key_skipped_count",
    InternalDeleteSkippedCount = 11 => "internal_delete_skipped_count",
    InternalRecentSkippedCount = 12 => "internal_recent_skipped_count",
    InternalMergeCount = 13 => "internal_merge_count",
    GetSnapshotTime = 14 => "get_snapshot_time",
    GetFromMemtableTime = 15 => "get_from_memtable_time",
    GetFromMemtableCount = 16 => "get_from_memtable_count",
    GetPostProcessTime = 17 => "get_post_process_time",
    GetFromOutputFilesTime = 18 => "get_from_output_files_time",
    SeekOnMemtableTime = 19 => "seek_on_memtable_time",
    SeekOnMemtableCount = 20 => "seek_on_memtable_count",
    NextOnMemtableCount = 21 => "next_on_memtable_count",
    PrevOnMemtableCount = 22 => "prev_on_memtable_count",
    SeekChildSeekTime = 23 => "seek_child_seek_time",
    SeekChildSeekCount = 24 => "seek_child_seek_count",
    SeekMinHeapTime = 25 => "seek_min_heap_time",
    SeekMaxHeapTime = 26 => "seek_max_heap_time",
    SeekInternalSeekTime = 27 => "seek_internal_seek_time",
    FindNextUserEntryTime = 28 => "find_next_user_entry_time",
    WriteWalTime = 29 => "write_wal_time",
    WriteMemtableTime = 30 => "write_memtable_time",
    WriteDelayTime = 31 => "write_delay_time",
    WritePreAndPostProcessTime = 32 => "write_pre_and_post_process_time",
    DbMutexLockNanos = 33 => "db_mutex_lock_nanos",
    DbConditionWaitNanos = 34 => "db_condition_wait_nanos",
    MergeOperatorTimeNanos = 35 => "merge_operator_time_nanos",
    ReadIndexBlockNanos = 36 => "read_index_block_nanos",
    ReadFilterBlockNanos = 37 => "read_filter_block_nanos",
    NewTableBlockIterNanos = 38 => "new_table_block_iter_nanos",
    NewTableIteratorNanos = 39 => "new_table_iterator_nanos",
    BlockSeekNanos = 40 => "block_seek_nanos",
    FindTableNanos = 41 => "find_table_nanos",
    BloomMemtableHitCount = 42 => "bloom_memtable_hit_count",
    BloomMemtableMissCount = 43 => "bloom_memtable_miss_count",
    BloomSstHitCount = 44 => "bloom_sst_hit_count",
    BloomSstMissCount = 45 => "bloom_sst_miss_count",
    KeyLockWaitTime = 46 => "key_lock_wait_time",
    KeyLockWaitCount = 47 => "key_lock_wait_count",
    EnvNewSequentialFileNanos = 48 => "env_new_sequential_file_nanos",
    EnvNewRandomAccessFileNanos = 49 => "env_new_random_access_file_nanos",
    EnvNewWritableFileNanos = 50 => "env_new_writable_file_nanos",
    EnvReuseWritableFileNanos = 51 => "env_reuse_writable_file_nanos",
    EnvNewRandomRwFileNanos = 52 => "env_new_random_rw_file_nanos",
    EnvNewDirectoryNanos = 53 => "env_new_directory_nanos",
    EnvFileExistsNanos = 54 => "env_file_exists_nanos",
    EnvGetChildrenNanos = 55 => "env_get_children_nanos",
    EnvGetChildrenFileAttributesNanos = 56 => "env_get_children_file_attributes_nanos",
    EnvDeleteFileNanos = 57 => "env_delete_file_nanos",
    EnvCreateDirNanos = 58 => "env_create_dir_nanos",
    EnvCreateDirIfMissingNanos = 59 => "env_create_dir_if_missing_nanos",
    EnvDeleteDirNanos = 60 => "env_delete_dir_nanos",
    EnvGetFileSizeNanos = 61 => "env_get_file_size_nanos",
    EnvGetFileModificationTimeNanos = 62 => "env_get_file_modification_time_nanos",
    EnvRenameFileNanos = 63 => "env_rename_file_nanos",
    EnvLinkFileNanos = 64 => "env_link_file_nanos",
    EnvLockFileNanos = 65 => "env_lock_file_nanos",
    EnvUnlockFileNanos = 66 => "env_unlock_file_nanos",
    EnvNewLoggerNanos = 67 => "env_new_logger_nanos",
}

/// Gives access to the perf context of the calling thread.
#[derive(Default)]
pub struct PerfContext {
    _private: (),
}

impl PerfContext {
    /// Sets all counters of this thread to 0.
    pub fn reset(&mut self) {
        stats::perf_context_reset();
    }

    /// Returns the counters of this thread as text.
    pub fn report(&self, exclude_zero_counters: bool) -> String {
        if exclude_zero_counters { stats::perf_context_text_nonzero() } else { stats::perf_context_text() }
    }

    /// Returns a counter of this thread.
    pub fn metric(&self, id: PerfMetric) -> u64 {
        id.counter().map_or(0, stats::perf_counter)
    }
}

/// The memory of databases and caches, in bytes.
pub struct MemoryUsageStats {
    /// All memtables.
    pub mem_table_total: u64,
    /// Memtables that are not flushed.
    pub mem_table_unflushed: u64,
    /// Index and filter blocks outside of the block cache.
    pub mem_table_readers_total: u64,
    /// Block caches.
    pub cache_total: u64,
}

/// The memory of databases and caches, made by [`MemoryUsageBuilder`].
pub struct MemoryUsage {
    usage: ironstone::MemoryUsage,
}

impl MemoryUsage {
    /// Returns the bytes of all memtables.
    pub fn approximate_mem_table_total(&self) -> u64 {
        self.usage.memtables
    }

    /// Returns the bytes of memtables that are not flushed.
    pub fn approximate_mem_table_unflushed(&self) -> u64 {
        self.usage.unflushed_memtables
    }

    /// Returns the bytes of index and filter blocks outside of the block cache.
    pub fn approximate_mem_table_readers_total(&self) -> u64 {
        self.usage.table_readers
    }

    /// Returns the bytes of block caches.
    pub fn approximate_cache_total(&self) -> u64 {
        self.usage.caches
    }
}

/// Collects databases and caches for a report of their memory.
pub struct MemoryUsageBuilder<'a> {
    databases: Vec<ironstone::Db>,
    caches: Vec<Arc<BlockCache>>,
    _marker: PhantomData<&'a ()>,
}

impl<'a> MemoryUsageBuilder<'a> {
    /// Returns a builder without databases and caches.
    ///
    /// # Errors
    /// None.
    pub fn new() -> Result<Self, Error> {
        Ok(MemoryUsageBuilder { databases: Vec::new(), caches: Vec::new(), _marker: PhantomData })
    }

    /// Adds a transaction database.
    pub fn add_tx_db<T: ThreadMode>(&mut self, db: &'a TransactionDB<T>) {
        self.databases.push(db.base().plain());
    }

    /// Adds a database.
    pub fn add_db<T: ThreadMode, D: DBInner>(&mut self, db: &'a DBCommon<T, D>) {
        self.databases.push(db.base().plain());
    }

    /// Adds a cache.
    pub fn add_cache(&mut self, cache: &'a Cache) {
        self.caches.push(cache.inner.clone());
    }

    /// Returns the memory at this time.
    ///
    /// # Errors
    /// None.
    pub fn build(&self) -> Result<MemoryUsage, Error> {
        let databases: Vec<_> = self.databases.iter().collect();
        Ok(MemoryUsage { usage: ironstone::memory_usage(&databases, &self.caches) })
    }
}

/// Returns the memory of databases and caches at this time.
///
/// # Errors
/// None.
pub fn get_memory_usage_stats(
    dbs: Option<&[&DB]>,
    caches: Option<&[&Cache]>,
) -> Result<MemoryUsageStats, Error> {
    let mut builder = MemoryUsageBuilder::new()?;
    for db in dbs.unwrap_or_default() {
        builder.add_db(db);
    }
    for cache in caches.unwrap_or_default() {
        builder.add_cache(cache);
    }
    let usage = builder.build()?;
    Ok(MemoryUsageStats {
        mem_table_total: usage.approximate_mem_table_total(),
        mem_table_unflushed: usage.approximate_mem_table_unflushed(),
        mem_table_readers_total: usage.approximate_mem_table_readers_total(),
        cache_total: usage.approximate_cache_total(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_a_counter() {
        assert!(PerfMetric::UserKeyComparisonCount.counter().is_some());
        assert!(PerfMetric::EnvNewLoggerNanos.counter().is_some());
        assert!(PerfMetric::TotalMetricCount.counter().is_none());
    }
}
