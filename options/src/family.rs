//! The options of a column family: one row each, with the names and defaults of RocksDB 11.8.1.
//!
//! See [`base::options!`] for the form of a row. A doc that says "Has no effect" belongs to a hint, which
//! [`HINTS`](crate::HINTS) lists.

use std::sync::Arc;

use base::Order;
use base::order::PrefixExtractor;
use lsm::cut::PartitionerFactory;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;

use table::sst::writer::CollectorFactory;

use super::component::CompressionManager;
pub use super::component::TableFactory;
use super::compression::{CompressionOptions, CompressionType};
use super::db::DbPath;
use super::enums::{CompactionPri, CompactionStyle, PrepopulateBlobCache, Temperature, VerifyOutputFlags};
use super::limiter::ConcurrentTaskLimiter;
pub use super::memtable::MemtableFactory;
use super::styles::{CompactionOptionsFifo, CompactionOptionsUniversal};

/// The value of `ttl` and `periodic_compaction_seconds` that lets the engine choose.
pub const AGE_AUTO: u64 = u64::MAX - 1;

base::options! {
    /// The options of a column family.
    FamilyOptions;
    /// The order of keys. A column family keeps the comparator that created the column family.
    fixed comparator: Order = Order::Bytewise;
    /// Applies merge operands to values. `nullptr` refuses merges.
    fixed merge_operator: Option<Arc<dyn MergeOperator>> = None;
    /// Removes or changes entries during compactions. All compactions share the filter.
    /// `RemoveEmptyValueCompactionFilter` is built in.
    fixed compaction_filter: Option<Arc<dyn CompactionFilter>> = None;
    /// Makes a compaction filter for each subcompaction. `compaction_filter` is preferred if both are set.
    fixed compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>> = None;
    /// The size at which the active memtable becomes immutable and is flushed. Other values are moved to the nearest
    /// end of the range. A small value makes many small SST files.
    mutable write_buffer_size: usize = 64 << 20, unit: "bytes", range: "65536 to 8589934592";
    /// The compression of SST files on levels for which no other option decides.
    mutable compression: CompressionType = super::tune::default_compression();
    /// The compression of the last level that holds files. `kDisableCompressionOption` uses `compression` or
    /// `compression_per_level`. A compression that the build lacks leaves the level uncompressed.
    mutable bottommost_compression: CompressionType = CompressionType::DISABLE;
    /// The settings of the compression of the last level. They act only if their field `enabled` is true.
    mutable bottommost_compression_opts: CompressionOptions = CompressionOptions::default(), since: "6.9";
    /// The settings of compression, for example the level.
    mutable compression_opts: CompressionOptions = CompressionOptions::default(), since: "6.9";
    /// Chooses compressions by code. `BuiltinV2` acts as `nullptr`. Other managers are not built and are refused.
    mutable compression_manager: Option<CompressionManager> = None, since: "10.10";
    /// The number of files in level 0 that starts a compaction.
    mutable level0_file_num_compaction_trigger: i32 = 4, unit: "files", range: "1 and more";
    /// The part of a key that prefix filters and prefix seeks use.
    mutable prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
    /// The target size of the first level below level 0.
    mutable max_bytes_for_level_base: u64 = 256 * 1_048_576, unit: "bytes";
    /// Runs compactions only on request.
    mutable disable_auto_compactions: bool = false;
    /// The format of new SST files, with its options. SST files of all formats are read.
    mutable table_factory: TableFactory = TableFactory::default();
    /// Ends the output files of compactions at chosen keys. `SstPartitionerFixedPrefixFactory` with a `length` in
    /// bytes is built in.
    fixed sst_partitioner_factory: Option<Arc<dyn PartitionerFactory>> = None, since: "6.29";
    /// The number of range deletions in a memtable that starts a flush. 0 sets no limit.
    mutable memtable_max_range_deletions: u32 = 0, unit: "deletions", since: "8.6";
    /// How many blocks of an obsolete SST file are searched in the block cache and erased from it. 0 erases no block. 1 stops
    /// at the first block that is not cached; each step more accepts a share of such blocks that is 1 % larger.
    mutable uncache_aggressiveness: u32 = 0, since: "9.4";
    /// The number of memtables, immutable memtables included, at which writes stop. Smaller values are raised to 2.
    mutable max_write_buffer_number: i32 = 2, unit: "memtables", range: "2 and more";
    /// The number of immutable memtables that are flushed together. The value is lowered below
    /// `max_write_buffer_number`, and to 1 with `atomic_flush`.
    fixed min_write_buffer_number_to_merge: i32 = 1, unit: "memtables", range: "1 and more";
    /// The memory for flushed memtables that are kept for conflict checks of transactions. -1 stands for
    /// `write_buffer_size` times `max_write_buffer_number`. 0 keeps no flushed memtable.
    fixed max_write_buffer_size_to_maintain: i64 = 0, unit: "bytes", since: "6.5";
    /// Overwrites a value in the memtable if the new value is not longer. Such a column family cannot be read at a
    /// snapshot.
    fixed inplace_update_support: bool = false;
    /// The number of locks for updates in place. A change acts on new memtables.
    mutable inplace_update_num_locks: usize = 10000, unit: "locks";
    /// Has no effect: a full memtable is always flushed. RocksDB: rewrites a memtable in memory instead of a flush if the
    /// useful share of the memtable is below this share.
    mutable experimental_mempurge_threshold: f64 = 0.0, unit: "share", since: "7.5";
    /// The size of the Bloom filter of a memtable. 0 makes no filter. Larger values are lowered to 0.25.
    mutable memtable_prefix_bloom_size_ratio: f64 =
        0.0, unit: "share of `write_buffer_size`", range: "0.0 to 0.25";
    /// The Bloom filter of a memtable holds whole keys too.
    mutable memtable_whole_key_filtering: bool = false, since: "6.0";
    /// Has no effect: memtables ask for huge pages wherever their chunks are large enough.
    mutable memtable_huge_page_size: usize = 0, unit: "bytes";
    /// Has no effect: insertions find their position without a hint. RocksDB: remembers the position for each prefix.
    fixed memtable_insert_with_hint_prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
    /// Above 0: all probes of a key in the Bloom filter of a plain table stay in one cache line. The Bloom filters of
    /// memtables always do this.
    fixed bloom_locality: u32 = 0;
    /// Has no effect: memtables choose the size of their chunks. OPTIONS files show 0 as an eighth of
    /// `write_buffer_size`, at most 1 MiB.
    mutable arena_block_size: usize = 0, unit: "bytes";
    /// The compression of each level, as a list. Empty uses `compression` for all levels. The last element stands for
    /// all deeper levels.
    mutable compression_per_level: Vec<CompressionType> = Vec::new();
    /// The number of levels. The level style needs at least 2 levels: 1 is raised to 2.
    fixed num_levels: i32 = 7, unit: "levels", range: "1 and more";
    /// The number of files in level 0 that slows writes. Values below `level0_file_num_compaction_trigger` are raised
    /// to this trigger.
    mutable level0_slowdown_writes_trigger: i32 = 20, unit: "files";
    /// The number of files in level 0 that stops writes. Values below `level0_slowdown_writes_trigger` are raised to
    /// this trigger.
    mutable level0_stop_writes_trigger: i32 = 36, unit: "files";
    /// The target size of a file in the first level below level 0.
    mutable target_file_size_base: u64 = 64 * 1_048_576, unit: "bytes";
    /// The factor by which the target size of files grows from level to level.
    mutable target_file_size_multiplier: i32 = 1;
    /// Counts the estimated size of index, filter and meta blocks when a compaction decides to end a file, so that the file stays
    /// below its target size. If false, only the data blocks count, and a file can exceed its target size.
    mutable target_file_size_is_upper_bound: bool = false, since: "10.9";
    /// Derives the target sizes of levels from the size of the last level. Acts only with the level style and one
    /// directory of SST files.
    fixed level_compaction_dynamic_level_bytes: bool = true;
    /// The factor by which the target size grows from level to level. 1 is used instead of values that are not
    /// positive.
    mutable max_bytes_for_level_multiplier: f64 = 10.0;
    /// One more factor for each level, as a list.
    mutable max_bytes_for_level_multiplier_additional: Vec<i32> = vec![1; 7];
    /// The largest input of one compaction. 0 stands for 25 times `target_file_size_base`.
    mutable max_compaction_bytes: u64 = 0, unit: "bytes";
    /// The pending compaction bytes at which writes are slowed. 0, and values above
    /// `hard_pending_compaction_bytes_limit`, stand for `hard_pending_compaction_bytes_limit`.
    mutable soft_pending_compaction_bytes_limit: u64 = 64 << 30, unit: "bytes";
    /// The pending compaction bytes at which writes stop. 0 sets no limit.
    mutable hard_pending_compaction_bytes_limit: u64 = 256 << 30, unit: "bytes";
    /// Decides which files are compacted together.
    fixed compaction_style: CompactionStyle = CompactionStyle::Level;
    /// Decides which file of a level is compacted first.
    fixed compaction_pri: CompactionPri = CompactionPri::MinOverlappingRatio;
    /// The settings of the universal compaction style.
    mutable compaction_options_universal: CompactionOptionsUniversal = CompactionOptionsUniversal::default();
    /// The settings of the FIFO compaction style.
    mutable compaction_options_fifo: CompactionOptionsFifo = CompactionOptionsFifo::default();
    /// The number of hidden entries of one key that an iterator steps over before it seeks.
    mutable max_sequential_skip_in_iterations: u64 = 8, unit: "entries";
    /// The structure of memtables. The structures with a hash table for prefixes are built as the skip list.
    fixed memtable_factory: MemtableFactory = MemtableFactory::default();
    /// Factories that inspect the entries of each SST file and add properties, as a list. `CompactOnDeletionCollector`
    /// and `CompactForTieringCollector` are built in.
    fixed table_properties_collectors: Vec<Arc<dyn CollectorFactory>> = Vec::new(), since: "7.0";
    /// The number of merge operands of one key in memtables at which a write merges the operands. 0 never merges at a
    /// write.
    mutable max_successive_merges: usize = 0, unit: "operands";
    /// A merge at a write may read SST files to keep the limit `max_successive_merges`. The write then waits for I/O.
    mutable strict_max_successive_merges: bool = false, since: "9.1";
    /// Makes no filters for the last level.
    fixed optimize_filters_for_hits: bool = false;
    /// Reads each new SST file completely and compares its entries with the written entries.
    mutable paranoid_file_checks: bool = false;
    /// Selects the checks of the output files of compactions, as a sum: 1 or 2 reads and compares the entries, 4
    /// verifies the file checksum. The checks need 1024, which enables them for local compactions.
    mutable verify_output_flags: VerifyOutputFlags = VerifyOutputFlags::NONE, since: "10.10";
    /// Has no effect: each version edit is always checked.
    fixed force_consistency_checks: bool = true;
    /// Measures the times of the file-system calls of flushes and compactions. The info log and the listeners report them.
    mutable report_bg_io_stats: bool = false;
    /// Accepts data by ingestion only. The default column family cannot use the option.
    fixed disallow_memtable_writes: bool = false, since: "10.2";
    /// The age at which a file is compacted to the next level (level style), is rewritten (universal style), or is
    /// deleted (FIFO style). 18446744073709551614 lets the engine choose: 30 days for block-based tables, else no
    /// limit. 0 sets no limit.
    mutable ttl: u64 = AGE_AUTO, unit: "seconds";
    /// The age at which a file is rewritten. With the universal style, the smaller value of `ttl` and this option
    /// counts. 18446744073709551614 lets the engine choose: 30 days if tables are block-based, and if the style is
    /// universal or a compaction filter is set; else no limit. 0 sets no limit.
    mutable periodic_compaction_seconds: u64 = AGE_AUTO, unit: "seconds", since: "6.6";
    /// Compacts a file if its wasted reads per byte of file size exceed this value. A read is wasted if the file
    /// returns a tombstone, a merge operand, or nothing. 0 disables read-triggered compaction.
    mutable read_triggered_compaction_threshold: f64 =
        0.0, unit: "reads per byte", range: "0.0 and more", since: "11.2";
    /// One of this many blocks is compressed on trial, for the statistics of an SST file. 0 compresses none on trial.
    mutable sample_for_compression: u64 = 0, unit: "blocks", since: "6.15";
    /// The temperature of files in the last level. The MANIFEST holds the temperature. The file system does not use
    /// the temperature.
    mutable last_level_temperature: Temperature = Temperature::Unknown, since: "7.10";
    /// The temperature of new files for which no other option decides. The MANIFEST holds the temperature. The file
    /// system does not use the temperature.
    mutable default_write_temperature: Temperature = Temperature::Unknown, since: "9.1";
    /// The temperature to which reads of an SST file count if the temperature of the file is unknown. Acts on statistics only.
    fixed default_temperature: Temperature = Temperature::Unknown, since: "8.11";
    /// Keeps data that is younger than this age out of the last level: a compaction into the last level writes such data one level above.
    /// Acts with leveled and universal compaction and at least three levels. 0 keeps no data out.
    mutable preclude_last_level_data_seconds: u64 = 0, unit: "seconds", since: "7.5";
    /// Keeps the write times of data that is younger than this age, also without `preclude_last_level_data_seconds`. 0 keeps no times.
    mutable preserve_internal_time_seconds: u64 = 0, unit: "seconds", since: "7.8";
    /// Writes values of at least `min_blob_size` bytes to blob files.
    mutable enable_blob_files: bool = false, since: "6.15";
    /// The smallest value that goes to a blob file. Acts with `enable_blob_files`.
    mutable min_blob_size: u64 = 0, unit: "bytes", since: "6.15";
    /// The size at which a blob file ends. Acts with `enable_blob_files`.
    mutable blob_file_size: u64 = 1 << 28, unit: "bytes", since: "6.15";
    /// The compression of blobs. Acts with `enable_blob_files`.
    mutable blob_compression_type: CompressionType = CompressionType::NONE, since: "6.15";
    /// The settings of the compression of blobs. Acts with `enable_blob_files`.
    mutable blob_compression_opts: CompressionOptions = CompressionOptions::default(), since: "11.8";
    /// Moves live blobs out of old blob files during compactions. Acts with `enable_blob_files`.
    mutable enable_blob_garbage_collection: bool = false, since: "6.15";
    /// The share of the blob files, oldest first, from which compactions move live blobs. Acts with
    /// `enable_blob_garbage_collection`.
    mutable blob_garbage_collection_age_cutoff: f64 =
        0.25, unit: "share of blob files", range: "0.0 to 1.0", since: "6.15";
    /// If the oldest blob files have at least this share of garbage, a compaction moves their live blobs. 1.0 starts
    /// no such compaction. Acts with `enable_blob_garbage_collection`.
    mutable blob_garbage_collection_force_threshold: f64 =
        1.0, unit: "share of garbage", range: "0.0 to 1.0", since: "6.26";
    /// The number of bytes that a compaction reads ahead in blob files. Acts with `enable_blob_files`.
    mutable blob_compaction_readahead_size: u64 = 0, unit: "bytes", since: "6.27";
    /// The first level whose values go to blob files. Values in levels with smaller numbers stay in SST files. Acts with
    /// `enable_blob_files`.
    mutable blob_file_starting_level: i32 = 0, unit: "level", since: "7.4";
    /// Selects which new blobs go to the blob cache. Acts with `enable_blob_files`.
    mutable prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable, since: "7.6";
    /// Writes values of at least `min_blob_size` bytes to blob files before the WAL. WAL and memtable get references to these values.
    /// Acts with `enable_blob_files`. Needs `allow_concurrent_memtable_write=false`, and no timestamps. Refused with
    /// `enable_pipelined_write`, `unordered_write`, `two_write_queues` and `experimental_mempurge_threshold`.
    fixed enable_blob_direct_write: bool = false, since: "11.8";
    /// The number of blob files that writes use at the same time. Acts with `enable_blob_direct_write`.
    fixed blob_direct_write_partitions: u32 = 1, unit: "files", range: "1 and more", since: "11.8";
    /// The size of the checksum of each memtable entry. 0 makes no checksum.
    mutable memtable_protection_bytes_per_key: u32 = 0, unit: "bytes", range: "0, 1, 2, 4, 8", since: "7.6";
    /// Writes user-defined timestamps to SST files. If false, only memtables and WALs have timestamps: a flush keeps the newest
    /// entry of a key, and raises `full_history_ts_low`. Needs timestamps of 8 bytes (`.u64ts`) and
    /// `allow_concurrent_memtable_write=false`.
    fixed persist_user_defined_timestamps: bool = true, since: "8.3";
    /// The size of the checksum of each entry of a block in the block cache. 0 makes no checksum.
    mutable block_protection_bytes_per_key: u8 = 0, unit: "bytes", range: "0, 1, 2, 4, 8", since: "8.3";
    /// The time before a file of the last level is compacted because it holds entries that no snapshot needs.
    mutable bottommost_file_compaction_delay: u32 = 0, unit: "seconds", since: "8.6";
    /// Checks the structure of the memtable at each step of a read.
    mutable paranoid_memory_checks: bool = false, since: "9.6";
    /// Checks the checksums of the entries at each step of a seek. Needs `memtable_protection_bytes_per_key`.
    mutable memtable_verify_per_key_checksum_on_seek: bool = false, since: "11.5";
    /// The number of hidden entries in one read that marks the memtable for flush. 0 sets no limit.
    mutable memtable_op_scan_flush_trigger: u32 = 0, unit: "entries", since: "10.2";
    /// The average number of hidden entries per step of an iterator that marks the memtable for flush. 0 sets no
    /// limit.
    mutable memtable_avg_op_scan_flush_trigger: u32 = 0, unit: "entries", since: "10.4";
    /// The number of point tombstones in a row that an iterator replaces by a range tombstone in the memtable. 0 never
    /// replaces tombstones.
    mutable min_tombstones_for_range_conversion: u32 = 0, unit: "tombstones", since: "11.2";
    /// Allows the ingestion of files below all existing data of this column family. Compactions then leave the last
    /// level free.
    fixed cf_allow_ingest_behind: bool = false, since: "10.6";
    /// Has no effect: a multi-get searches the memtable for one key at a time. RocksDB: uses the position of the
    /// previous key.
    fixed memtable_batch_lookup_optimization: bool = false, since: "11.1";
    components
    /// Directories of the SST files of the column family. Default: the directories of the database.
    cf_paths: Vec<DbPath> = Vec::new();
    /// Limits the concurrent compactions of all column families with this limiter. Default: no limit.
    compaction_thread_limiter: Option<Arc<ConcurrentTaskLimiter>> = None;
}
