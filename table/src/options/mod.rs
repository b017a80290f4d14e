//! The options of a block-based table, with RocksDB 11.8.1's names and defaults.
//!
//! [`BlockBasedTableOptions`] is plain settings: comparable, printable, one row an option in
//! [`OPTIONS`], from which the OPTIONS file, the tools and the option tests are made. Components (the
//! block cache) are handed in beside it. [`BlockBasedTableOptions::sanitize`] mends what RocksDB mends
//! silently; [`BlockBasedTableOptions::validate`] refuses what it refuses.

mod cache;
mod filter_policy;
mod rows;
#[cfg(test)]
mod tests;
mod value;

use format::checksum::ChecksumType;

pub use cache::CacheText;
pub use filter_policy::{COMPATIBILITY_NAME, FilterChoice, FilterLevel, FilterPolicy, PolicyKind};
pub use rows::{
    DEPRECATED, FlushBlockPolicy, MAX_FORMAT_VERSION, MIN_FORMAT_VERSION, OPTIONS, OptionRow,
    UserDefinedIndex, Validation,
};
pub use value::OptionValue;
use value::option_enum;

option_enum! {
    /// The structure of the index block. The numbers are on disk, in a table property.
    IndexType: "index type" {
        #[default]
        BinarySearch = 0, "kBinarySearch";
        /// A hash from prefixes to blocks beside the binary search; needs a prefix extractor.
        HashSearch = 1, "kHashSearch";
        /// Partitions under a top level.
        TwoLevelIndexSearch = 2, "kTwoLevelIndexSearch";
        /// Each index entry stores the first key of its block. A short scan then reads fewer blocks.
        BinarySearchWithFirstKey = 3, "kBinarySearchWithFirstKey";
    }
}

option_enum! {
    /// How an index block is searched. Changes no bytes.
    BlockSearchType: "index block search type" {
        #[default]
        Binary = 0, "kBinary";
        /// Always interpolation; bytewise order only.
        Interpolation = 1, "kInterpolation";
        /// Interpolation in blocks marked uniform by `uniform_cv_threshold`.
        Auto = 2, "kAuto";
    }
}

option_enum! {
    /// What data blocks carry for point look-ups.
    DataBlockIndexType: "data block index type" {
        #[default]
        BinarySearch = 0, "kDataBlockBinarySearch";
        BinaryAndHash = 1, "kDataBlockBinaryAndHash";
    }
}

option_enum! {
    /// How far index keys are shortened.
    IndexShortening: "index shortening mode" {
        None = 0, "kNoShortening";
        #[default]
        Separators = 1, "kShortenSeparators";
        SeparatorsAndSuccessor = 2, "kShortenSeparatorsAndSuccessor";
    }
}

option_enum! {
    /// Which new blocks go to the block cache as they are written.
    PrepopulateBlockCache: "block cache prepopulation" {
        #[default]
        Disable = 0, "kDisable";
        FlushOnly = 1, "kFlushOnly";
        FlushAndCompaction = 2, "kFlushAndCompaction";
    }
}

option_enum! {
    /// Which tables have their metadata pinned in the block cache.
    PinningTier: "pinning tier" {
        /// As the older options `pin_*` say.
        #[default]
        Fallback = 0, "kFallback";
        None = 1, "kNone";
        /// Tables that may come from a flush: in level 0, below 1.5 times `write_buffer_size`.
        FlushedAndSimilar = 2, "kFlushedAndSimilar";
        All = 3, "kAll";
    }
}

/// `metadata_cache_options`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataCacheOptions {
    pub top_level_index_pinning: PinningTier,
    pub partition_pinning: PinningTier,
    pub unpartitioned_pinning: PinningTier,
}

/// Whether a kind of memory is charged to the block cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charged {
    /// As RocksDB does by default: the dictionary buffer is charged, the others are not.
    #[default]
    Fallback,
    Enabled,
    Disabled,
}

/// `cache_usage_options`: set from code only, never written to OPTIONS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsageOptions {
    pub compression_dictionary_building_buffer: Charged,
    pub filter_construction: Charged,
    pub block_based_table_reader: Charged,
    pub file_metadata: Charged,
    pub blob_cache: Charged,
}

/// The settings of a block-based table. Field names are option names.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockBasedTableOptions {
    /// How data blocks are cut. Default by size.
    pub flush_block_policy_factory: FlushBlockPolicy,
    /// Index and filter blocks live in the block cache rather than in the open table. Default false.
    pub cache_index_and_filter_blocks: bool,
    /// Default true.
    pub cache_index_and_filter_blocks_with_high_priority: bool,
    /// Default false.
    pub pin_l0_filter_and_index_blocks_in_cache: bool,
    /// Default true.
    pub pin_top_level_index_and_filter: bool,
    pub metadata_cache_options: MetadataCacheOptions,
    pub index_type: IndexType,
    pub index_block_search_type: BlockSearchType,
    pub data_block_index_type: DataBlockIndexType,
    /// Entries for each bucket of the data-block hash index; above 0, default 0.75.
    pub data_block_hash_table_util_ratio: f64,
    /// Default kXXH3.
    pub checksum: ChecksumType,
    /// Default false.
    pub no_block_cache: bool,
    /// The capacity of the cache that is made when none is handed in, in bytes. Default 32 MiB. Read
    /// from option text, never written to it.
    pub block_cache: CacheText,
    /// Uncompressed bytes at which a data block is closed. Default 4096, below 4 GiB.
    pub block_size: u64,
    /// Percent: a block this close to full is closed rather than overfilled. 0 to 100, default 10.
    pub block_size_deviation: i32,
    /// Entries between restart points of data blocks; at least 1, default 16.
    pub block_restart_interval: i32,
    /// The same for index blocks; default 1.
    pub index_block_restart_interval: i32,
    /// Bytes of an index or filter partition. Default 4096.
    pub metadata_block_size: u64,
    pub cache_usage_options: CacheUsageOptions,
    /// Filters in partitions; only with a two-level index. Default false.
    pub partition_filters: bool,
    /// Filter partitions are cut on their own, not with index partitions. Default true.
    pub decouple_partitioned_filters: bool,
    /// Filter sizes are bent to what the allocator hands out. Default true.
    pub optimize_filters_for_memory: bool,
    /// Keys in data blocks share prefixes. Default true.
    pub use_delta_encoding: bool,
    /// Default none.
    pub filter_policy: Option<FilterPolicy>,
    /// Default none, and nothing else is supported.
    pub user_defined_index_factory: UserDefinedIndex,
    /// Default false; true needs a user-defined index.
    pub use_udi_as_primary_index: bool,
    /// Default false.
    pub fail_if_no_udi_on_open: bool,
    /// Filters hold whole keys. Default true.
    pub whole_key_filtering: bool,
    /// Check filters after building them. Default false.
    pub detect_filter_construct_corruption: bool,
    /// Decompress each block after compressing it, and compare. Default false.
    pub verify_compression: bool,
    /// Number of bytes of a block for each bit of a bitmap that records which parts of the block were read.
    /// 0, the default, keeps no bitmap.
    pub read_amp_bytes_per_bit: u32,
    /// 2 to 7, default 7. What each means: `docs` of [`BlockBasedTableOptions::first_release_reading`].
    pub format_version: u32,
    /// Keys and values of data blocks apart. Default false; only releases from 11.0 read such blocks.
    pub separate_key_value_in_data_block: bool,
    /// Index blocks whose restart keys vary less are marked uniform; negative, the default, for never.
    pub uniform_cv_threshold: f64,
    /// Default true.
    pub enable_index_compression: bool,
    /// Data blocks start at multiples of the smaller of block size and 4096; no compression. Default false.
    pub block_align: bool,
    /// Data blocks do not cross multiples of this, where little padding achieves it. A power of two or
    /// 0, the default, for off.
    pub super_block_alignment_size: usize,
    /// Padding stays below alignment size / this. Default 128; 0 or at least 4.
    pub super_block_alignment_space_overhead_ratio: usize,
    pub index_shortening: IndexShortening,
    /// Bytes. Default 256 KiB.
    pub max_auto_readahead_size: usize,
    pub prepopulate_block_cache: PrepopulateBlockCache,
    /// Bytes. Default 8 KiB.
    pub initial_auto_readahead_size: usize,
    /// Default 2.
    pub num_file_reads_for_auto_readahead: u64,
}

impl Default for BlockBasedTableOptions {
    fn default() -> Self {
        BlockBasedTableOptions {
            flush_block_policy_factory: FlushBlockPolicy::BySize,
            cache_index_and_filter_blocks: false,
            cache_index_and_filter_blocks_with_high_priority: true,
            pin_l0_filter_and_index_blocks_in_cache: false,
            pin_top_level_index_and_filter: true,
            metadata_cache_options: MetadataCacheOptions::default(),
            index_type: IndexType::default(),
            index_block_search_type: BlockSearchType::default(),
            data_block_index_type: DataBlockIndexType::default(),
            data_block_hash_table_util_ratio: 0.75,
            checksum: ChecksumType::default(),
            no_block_cache: false,
            block_cache: CacheText::default(),
            block_size: 4096,
            block_size_deviation: 10,
            block_restart_interval: 16,
            index_block_restart_interval: 1,
            metadata_block_size: 4096,
            cache_usage_options: CacheUsageOptions::default(),
            partition_filters: false,
            decouple_partitioned_filters: true,
            optimize_filters_for_memory: true,
            use_delta_encoding: true,
            filter_policy: None,
            user_defined_index_factory: UserDefinedIndex,
            use_udi_as_primary_index: false,
            fail_if_no_udi_on_open: false,
            whole_key_filtering: true,
            detect_filter_construct_corruption: false,
            verify_compression: false,
            read_amp_bytes_per_bit: 0,
            format_version: 7,
            separate_key_value_in_data_block: false,
            uniform_cv_threshold: -1.0,
            enable_index_compression: true,
            block_align: false,
            super_block_alignment_size: 0,
            super_block_alignment_space_overhead_ratio: 128,
            index_shortening: IndexShortening::default(),
            max_auto_readahead_size: 256 * 1024,
            prepopulate_block_cache: PrepopulateBlockCache::default(),
            initial_auto_readahead_size: 8 * 1024,
            num_file_reads_for_auto_readahead: 2,
        }
    }
}
