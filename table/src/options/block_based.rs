//! The rows of the options of block-based tables, in the order in which RocksDB 11.8.1 writes the options.

use base::option::Row;
use format::checksum::ChecksumType;

use super::{
    BlockSearchType, CacheText, CacheUsageOptions, DataBlockIndexType, FilterPolicy, FlushBlockPolicy,
    IndexShortening, IndexType, MetadataCacheOptions, PrepopulateBlockCache, SharedPersistentCache,
    UserDefinedIndex,
};

base::options! {
    /// The settings of a block-based table.
    #[derive(Debug, PartialEq)]
    BlockBasedTableOptions;
    /// The largest automatic read-ahead of an iterator. 0 disables automatic read-ahead.
    mutable max_auto_readahead_size: usize = 256 * 1024, unit: "bytes", since: "6.19";
    /// The first automatic read-ahead of an iterator. Each further read-ahead doubles the size.
    mutable initial_auto_readahead_size: usize = 8 * 1024, unit: "bytes", since: "7.2";
    /// Has no effect: there are no user-defined indexes. RocksDB: fails the open of an SST file without the index of
    /// `user_defined_index_factory`.
    mutable fail_if_no_udi_on_open: bool = false, since: "10.7";
    /// Selects the SST files whose index and filter blocks are pinned in the block cache.
    mutable metadata_cache_options: MetadataCacheOptions = MetadataCacheOptions::default(), since: "6.15";
    /// Pins the top levels of partitioned indexes and filters in the block cache. `metadata_cache_options` decides
    /// first.
    mutable pin_top_level_index_and_filter: bool = true;
    /// The padding of `super_block_alignment_size` stays below the alignment size divided by this value. 0 sets no
    /// limit.
    mutable super_block_alignment_space_overhead_ratio: usize = 128, range: "0, 4 and more", since: "10.10";
    /// Data blocks do not cross multiples of this size where little padding avoids the crossing. 0 aligns nothing.
    mutable super_block_alignment_size: usize =
        0, unit: "bytes", range: "0, powers of two up to 4294967295", since: "10.10";
    /// Decompresses each new block and compares the result with the block.
    mutable verify_compression: bool = false;
    /// Stores the keys and the values of a data block apart. Only releases from 11.0 read such blocks.
    mutable separate_key_value_in_data_block: bool = false, since: "11.0";
    /// The number of reads in order after which an iterator starts automatic read-ahead.
    mutable num_file_reads_for_auto_readahead: u64 = 2, unit: "reads", since: "7.7";
    /// The version of the SST file format. `first_release_reading` says which release reads which version. 0 and 1 become 2.
    mutable format_version: u32 = 7, range: "2 to 7";
    /// Uses a user-defined index as the only index. There are no user-defined indexes: true is refused.
    mutable use_udi_as_primary_index: bool = false, since: "11.8";
    /// Estimates how many bytes of the loaded data blocks are used, with one bit for this number of bytes: the ticker
    /// `READ_AMP_ESTIMATE_USEFUL_BYTES`, and `READ_AMP_TOTAL_READ_BYTES` for all bytes. Acts with statistics. Numbers
    /// that are no power of two act as the next lower power. An open table keeps the bits of each block that was loaded. 0
    /// estimates nothing.
    mutable read_amp_bytes_per_bit: u32 = 0, unit: "bytes";
    /// Filters hold whole keys.
    mutable whole_key_filtering: bool = true;
    /// Selects the new SST files whose data blocks go to the block cache while a file is written: none, files of flushes,
    /// or files of flushes and compactions. Index and filter blocks go to the cache when the file is opened.
    mutable prepopulate_block_cache: PrepopulateBlockCache = PrepopulateBlockCache::default(), since: "6.22";
    /// The filter of SST files: `bloomfilter:BITS:false` or `ribbonfilter:BITS:LEVEL`. BITS is bits per key. LEVEL is
    /// the first level with Ribbon filters.
    mutable filter_policy: Option<FilterPolicy> = None;
    /// Keys of a data block share prefixes with the key before.
    mutable use_delta_encoding: bool = true, since: "9.4";
    /// Chooses filter sizes that waste little memory of the allocator.
    mutable optimize_filters_for_memory: bool = true, since: "6.12";
    /// Filter partitions end independently of index partitions.
    mutable decouple_partitioned_filters: bool = true, since: "9.6";
    /// Splits filters into partitions. Needs `index_type=kTwoLevelIndexSearch`.
    mutable partition_filters: bool = false;
    /// Marks an index block as uniform if the distances of its keys vary less than this value. A negative value marks
    /// no blocks.
    mutable uniform_cv_threshold: f64 = -1.0, since: "11.1";
    /// The target size of an index partition or a filter partition.
    mutable metadata_block_size: u64 = 4096, unit: "bytes";
    /// The number of entries between two restart points of an index block.
    mutable index_block_restart_interval: i32 = 1, unit: "entries", range: "1 and more";
    /// Ends a data block if the block is this close to `block_size` and the next entry does not fit. Other values
    /// stand for 0.
    mutable block_size_deviation: i32 = 10, unit: "percent", range: "0 to 100";
    /// The size of uncompressed entries at which a data block ends.
    mutable block_size: u64 = 4096, unit: "bytes", range: "at most 4294967295";
    /// Uses no block cache.
    mutable no_block_cache: bool = false;
    /// The type of the checksums of blocks.
    mutable checksum: ChecksumType = ChecksumType::default();
    /// Makes user-defined indexes. Not built: only `nullptr` is accepted.
    mutable user_defined_index_factory: UserDefinedIndex = UserDefinedIndex, since: "10.10";
    /// The fill of the hash index of data blocks.
    mutable data_block_hash_table_util_ratio: f64 = 0.75, unit: "entries per bucket", range: "above 0";
    /// Compresses index blocks.
    mutable enable_index_compression: bool = true;
    /// Selects how far the keys of index blocks are shortened.
    mutable index_shortening: IndexShortening = IndexShortening::default(), since: "6.2";
    /// Adds a hash index for point lookups to data blocks.
    mutable data_block_index_type: DataBlockIndexType = DataBlockIndexType::default();
    /// Checks each filter after the filter is built.
    mutable detect_filter_construct_corruption: bool = false, since: "7.0";
    /// Starts data blocks at multiples of `block_size` or 4096 bytes, the smaller of both. Needs files without
    /// compression.
    mutable block_align: bool = false;
    /// Has no effect: index blocks are always searched by binary search.
    mutable index_block_search_type: BlockSearchType = BlockSearchType::default(), since: "11.0";
    /// The structure of the index of an SST file.
    mutable index_type: IndexType = IndexType::default();
    /// Pins index and filter blocks of level 0 in the block cache. `metadata_cache_options` decides first.
    mutable pin_l0_filter_and_index_blocks_in_cache: bool = false;
    /// Keeps index and filter blocks in the block cache. If false, an open SST file holds them.
    mutable cache_index_and_filter_blocks: bool = false;
    /// The number of entries between two restart points of a data block.
    mutable block_restart_interval: i32 = 16, unit: "entries", range: "1 and more";
    /// Index and filter blocks have high priority in the block cache.
    mutable cache_index_and_filter_blocks_with_high_priority: bool = true;
    /// Decides where data blocks end. Only the policy by size is built.
    mutable flush_block_policy_factory: FlushBlockPolicy = FlushBlockPolicy::BySize;
    /// The block cache of a column family that gets none from the application: a capacity, or
    /// `{capacity=8M;num_shard_bits=4;..}`. `nullptr` stands for 32 MiB.
    hidden block_cache: CacheText = CacheText::default();
    components
    /// The kinds of memory that are charged to the block cache. Only code sets this option.
    cache_usage_options: CacheUsageOptions = CacheUsageOptions::default();
    /// A cache of stored blocks in files of a fast device. A read uses it after the block cache. Default: none. Only code sets this
    /// option.
    persistent_cache: SharedPersistentCache = SharedPersistentCache::default();
}

/// All options that have a text.
pub const OPTIONS: &[Row<BlockBasedTableOptions>] = BlockBasedTableOptions::ROWS;
