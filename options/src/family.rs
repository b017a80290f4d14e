//! The options of a column family: one row each, RocksDB 11.8.1's names and defaults.

use std::sync::Arc;

use base::Order;
use base::order::PrefixExtractor;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;

use super::component::Unavailable;
pub use super::component::{MemtableFactory, TableFactory};
use super::compression::{CompressionOptions, CompressionType};
use super::db::DbPath;
use super::enums::{CompactionPri, CompactionStyle, PrepopulateBlobCache, Temperature, VerifyOutputFlags};
use super::row::options;
use super::styles::{CompactionOptionsFifo, CompactionOptionsUniversal};

/// `ttl` and `periodic_compaction_seconds`: the engine chooses.
pub const AGE_AUTO: u64 = u64::MAX - 1;

options! {
    /// A column family's options. Sizes are bytes unless the name says otherwise.
    FamilyOptions;
    /// The order of keys; cannot change once written.
    fixed comparator: Order = Order::Bytewise;
    /// How merges are resolved.
    fixed merge_operator: Option<Arc<dyn MergeOperator>> = None;
    /// What compactions drop or change; shared by all of them.
    fixed compaction_filter: Option<Arc<dyn CompactionFilter>> = None;
    /// The same, one for each job.
    fixed compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>> = None;
    /// Size in bytes at which the active memtable becomes immutable and is flushed. Default: 64 MiB. Values below 64 KiB
    /// or above 8 GiB are changed to these limits. A small value makes many small SST files.
    mutable write_buffer_size: usize = 64 << 20;
    /// Of levels without a say of their own.
    mutable compression: CompressionType = super::tune::default_compression();
    /// Of the last level; `DISABLE`: as the others.
    mutable bottommost_compression: CompressionType = CompressionType::DISABLE;
    /// Used if `enabled`.
    mutable bottommost_compression_opts: CompressionOptions = CompressionOptions::default();
    /// How hard to compress.
    mutable compression_opts: CompressionOptions = CompressionOptions::default();
    /// Makes custom compressions.
    mutable compression_manager: Unavailable = Unavailable;
    /// Files in level 0 that start a compaction.
    mutable level0_file_num_compaction_trigger: i32 = 4;
    /// The part of keys that prefix filters and prefix seeks look at.
    mutable prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
    /// The target of the first level below level 0.
    mutable max_bytes_for_level_base: u64 = 256 * 1_048_576;
    /// Compactions on demand only.
    mutable disable_auto_compactions: bool = false;
    /// The kind of table file.
    mutable table_factory: TableFactory = TableFactory::default();
    /// Cuts compaction outputs where the user says.
    fixed sst_partitioner_factory: Unavailable = Unavailable;
    /// Range deletions in a memtable that make it flush; 0: any number.
    mutable memtable_max_range_deletions: u32 = 0;
    /// How eagerly blocks of obsolete files leave the block cache; 0: not.
    mutable uncache_aggressiveness: u32 = 0;
    /// Memtables in memory, sealed ones included, before writes stop.
    mutable max_write_buffer_number: i32 = 2;
    /// ImmutableMemtable memtables that are flushed together.
    fixed min_write_buffer_number_to_merge: i32 = 1;
    /// Flushed memtables kept for transactions; -1: from `max_write_buffer_number`.
    fixed max_write_buffer_size_to_maintain: i64 = 0;
    /// Values are overwritten in the memtable by shorter ones; the family cannot be read at a snapshot then.
    fixed inplace_update_support: bool = false;
    /// Locks for that, of memtables made from now on.
    mutable inplace_update_num_locks: usize = 10000;
    /// Garbage share at which a flush rewrites memtables in memory; 0: never.
    mutable experimental_mempurge_threshold: f64 = 0.0;
    /// The memtable's Bloom filter as a share of `write_buffer_size`; 0: none, at most 0.25.
    mutable memtable_prefix_bloom_size_ratio: f64 = 0.0;
    /// That filter holds whole keys too.
    mutable memtable_whole_key_filtering: bool = false;
    /// Huge pages for the memtable's arena; 0: none.
    mutable memtable_huge_page_size: usize = 0;
    /// Insertions remember where their prefix went.
    fixed memtable_insert_with_hint_prefix_extractor: Option<Arc<dyn PrefixExtractor>> = None;
    /// Cache lines a probe of the memtable's filter keeps to; 0: any.
    fixed bloom_locality: u32 = 0;
    /// Blocks of the memtable's arena; 0: an eighth of the write buffer, at most 1 MiB.
    mutable arena_block_size: usize = 0;
    /// One for each level; empty: `compression` for all.
    mutable compression_per_level: Vec<CompressionType> = Vec::new();
    /// How many levels there are.
    fixed num_levels: i32 = 7;
    /// Files in level 0 that slow writes.
    mutable level0_slowdown_writes_trigger: i32 = 20;
    /// Files in level 0 that stop writes.
    mutable level0_stop_writes_trigger: i32 = 36;
    /// Size of a file in the first level below level 0.
    mutable target_file_size_base: u64 = 64 * 1_048_576;
    /// How files grow from level to level.
    mutable target_file_size_multiplier: i32 = 1;
    /// Files end before the target rather than after it.
    mutable target_file_size_is_upper_bound: bool = false;
    /// Level targets follow the size of the last level.
    fixed level_compaction_dynamic_level_bytes: bool = true;
    /// How levels grow.
    mutable max_bytes_for_level_multiplier: f64 = 10.0;
    /// One more factor for each level.
    mutable max_bytes_for_level_multiplier_additional: Vec<i32> = vec![1; 7];
    /// Input of one compaction; 0: 25 times `target_file_size_base`.
    mutable max_compaction_bytes: u64 = 0;
    /// Compaction debt that slows writes; 0: any.
    mutable soft_pending_compaction_bytes_limit: u64 = 64 << 30;
    /// Compaction debt that stops writes; 0: any.
    mutable hard_pending_compaction_bytes_limit: u64 = 256 << 30;
    /// Which files are merged with which.
    fixed compaction_style: CompactionStyle = CompactionStyle::Level;
    /// Which file of a level goes first.
    fixed compaction_pri: CompactionPri = CompactionPri::MinOverlappingRatio;
    /// For the universal style.
    mutable compaction_options_universal: CompactionOptionsUniversal = CompactionOptionsUniversal::default();
    /// For the FIFO style.
    mutable compaction_options_fifo: CompactionOptionsFifo = CompactionOptionsFifo::default();
    /// Hidden versions an iterator steps over before it seeks.
    mutable max_sequential_skip_in_iterations: u64 = 8;
    /// The structure of memtables.
    fixed memtable_factory: MemtableFactory = MemtableFactory::default();
    /// Factories of the user's table properties.
    fixed table_properties_collectors: Vec<Unavailable> = Vec::new();
    /// Merge operands of a key in a row before they are merged at write; 0: never.
    mutable max_successive_merges: usize = 0;
    /// Even if that needs I/O.
    mutable strict_max_successive_merges: bool = false;
    /// The last level has no filters.
    fixed optimize_filters_for_hits: bool = false;
    /// Each new table is read through.
    mutable paranoid_file_checks: bool = false;
    /// What of each new table is read again.
    mutable verify_output_flags: VerifyOutputFlags = VerifyOutputFlags::NONE;
    /// Each change of the tree is checked. It is here whatever the option says.
    fixed force_consistency_checks: bool = true;
    /// Background I/O is timed.
    mutable report_bg_io_stats: bool = false;
    /// Only ingestion adds data.
    fixed disallow_memtable_writes: bool = false;
    /// Seconds after which a file is compacted; `AGE_AUTO`: 30 days, or by style.
    mutable ttl: u64 = AGE_AUTO;
    /// Seconds after which a file is rewritten; `AGE_AUTO`: 30 days with a compaction filter.
    mutable periodic_compaction_seconds: u64 = AGE_AUTO;
    /// Reads of a file for each of its kibibytes that make it due; 0: off.
    mutable read_triggered_compaction_threshold: f64 = 0.0;
    /// One block in this many is compressed on trial for statistics; 0: none.
    mutable sample_for_compression: u64 = 0;
    /// Of the last level's files.
    mutable last_level_temperature: Temperature = Temperature::Unknown;
    /// Of other files.
    mutable default_write_temperature: Temperature = Temperature::Unknown;
    /// Of files that do not say.
    fixed default_temperature: Temperature = Temperature::Unknown;
    /// Seconds that young data stays out of the last level; 0: none.
    mutable preclude_last_level_data_seconds: u64 = 0;
    /// Seconds for which write times are kept; 0: none.
    mutable preserve_internal_time_seconds: u64 = 0;
    /// Large values go to blob files.
    mutable enable_blob_files: bool = false;
    /// Values from this size.
    mutable min_blob_size: u64 = 0;
    /// Of a blob file.
    mutable blob_file_size: u64 = 1 << 28;
    /// Of blobs.
    mutable blob_compression_type: CompressionType = CompressionType::NONE;
    /// How hard to compress blobs.
    mutable blob_compression_opts: CompressionOptions = CompressionOptions::default();
    /// Compactions move blobs out of old blob files.
    mutable enable_blob_garbage_collection: bool = false;
    /// The share of blob files that are old, oldest first.
    mutable blob_garbage_collection_age_cutoff: f64 = 0.25;
    /// Garbage share of old files that starts compactions.
    mutable blob_garbage_collection_force_threshold: f64 = 1.0;
    /// Read ahead in blob files by compactions.
    mutable blob_compaction_readahead_size: u64 = 0;
    /// The first level whose values go to blob files.
    mutable blob_file_starting_level: i32 = 0;
    /// Which new blobs go to the blob cache.
    mutable prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable;
    /// Blobs are written before the WAL.
    fixed enable_blob_direct_write: bool = false;
    /// Blob files open for that at a time.
    fixed blob_direct_write_partitions: u32 = 1;
    /// Bytes of checksum for each memtable entry: 0, 1, 2, 4 or 8.
    mutable memtable_protection_bytes_per_key: u32 = 0;
    /// Timestamps reach table files.
    fixed persist_user_defined_timestamps: bool = true;
    /// Bytes of checksum for each entry of a cached block: 0, 1, 2, 4 or 8.
    mutable block_protection_bytes_per_key: u8 = 0;
    /// Seconds before a last-level file of dead versions is compacted.
    mutable bottommost_file_compaction_delay: u32 = 0;
    /// The memtable's structure is checked at each step.
    mutable paranoid_memory_checks: bool = false;
    /// Entries' checksums are compared at each step of a seek.
    mutable memtable_verify_per_key_checksum_on_seek: bool = false;
    /// Hidden entries met by one read that make the memtable due; 0: any.
    mutable memtable_op_scan_flush_trigger: u32 = 0;
    /// The same as an average over an iterator; 0: any.
    mutable memtable_avg_op_scan_flush_trigger: u32 = 0;
    /// Point tombstones in a row that an iterator turns into a range; 0: off.
    mutable min_tombstones_for_range_conversion: u32 = 0;
    /// As the database's `allow_ingest_behind`, for this family.
    fixed cf_allow_ingest_behind: bool = false;
    /// A multi-get searches the memtable for all keys at once.
    fixed memtable_batch_lookup_optimization: bool = false;
    components
    /// Directories of the family's table files. Default: the database's.
    cf_paths: Vec<DbPath> = Vec::new();
}
