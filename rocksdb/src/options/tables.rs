//! The options of block-based and cuckoo tables.

use ironstone::{CacheOptions, FilterPolicy, TableFactory};

use super::place::{Rejected, setters};
use crate::{
    BlockBasedIndexType, BlockBasedTablePinningTier, Cache, ChecksumType, DataBlockIndexType,
    PlainTableFactoryOptions,
};

/// Options of block-based tables.
#[derive(Default)]
pub struct BlockBasedOptions {
    pub(crate) inner: ironstone::BlockBasedTableOptions,
    pub(crate) block_cache: Option<Cache>,
    pub(crate) rejected: Rejected,
}

setters! {
    BlockBasedOptions, |o|;
    set_block_size(usize) => inner.block_size;
    set_metadata_block_size(usize) => inner.metadata_block_size;
    set_partition_filters(bool) => inner.partition_filters;
    set_cache_index_and_filter_blocks(bool) => inner.cache_index_and_filter_blocks;
    set_cache_index_and_filter_blocks_with_high_priority(bool) => inner.cache_index_and_filter_blocks_with_high_priority;
    set_index_type(BlockBasedIndexType) => inner.index_type;
    set_pin_l0_filter_and_index_blocks_in_cache(bool) => inner.pin_l0_filter_and_index_blocks_in_cache;
    set_pin_top_level_index_and_filter(bool) => inner.pin_top_level_index_and_filter;
    set_format_version(i32) => inner.format_version;
    set_block_restart_interval(i32) => inner.block_restart_interval;
    set_index_block_restart_interval(i32) => inner.index_block_restart_interval;
    set_data_block_index_type(DataBlockIndexType) => inner.data_block_index_type;
    set_data_block_hash_ratio(f64) => inner.data_block_hash_table_util_ratio;
    set_whole_key_filtering(bool) => inner.whole_key_filtering;
    set_checksum_type(ChecksumType) => inner.checksum;
    set_optimize_filters_for_memory(bool) => inner.optimize_filters_for_memory;
    set_top_level_index_pinning_tier(BlockBasedTablePinningTier) => inner.metadata_cache_options.top_level_index_pinning;
    set_partition_pinning_tier(BlockBasedTablePinningTier) => inner.metadata_cache_options.partition_pinning;
    set_unpartitioned_pinning_tier(BlockBasedTablePinningTier) => inner.metadata_cache_options.unpartitioned_pinning;
}

impl BlockBasedOptions {
    /// Sets the block cache.
    pub fn set_block_cache(&mut self, cache: &Cache) {
        self.inner.block_cache.options = CacheOptions::lru(cache.inner.capacity());
        self.block_cache = Some(cache.clone());
    }

    /// Sets `no_block_cache`: blocks are not cached.
    pub fn disable_cache(&mut self) {
        self.inner.no_block_cache = true;
    }

    /// Sets Bloom filters with `bits_per_key` bits for each key. `block_based` has no effect: RocksDB removed block-based
    /// filters, and each table has one full filter.
    pub fn set_bloom_filter(&mut self, bits_per_key: f64, block_based: bool) {
        let _ = block_based;
        self.inner.filter_policy = Some(FilterPolicy::bloom(bits_per_key));
    }

    /// Sets Ribbon filters. Their false positive rate is the rate of a Bloom filter with `bloom_equivalent_bits_per_key` bits
    /// for each key.
    pub fn set_ribbon_filter(&mut self, bloom_equivalent_bits_per_key: f64) {
        self.inner.filter_policy = Some(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, -1));
    }

    /// Sets Bloom filters for the levels below `bloom_before_level`, and Ribbon filters for the other levels. The files of a
    /// flush count as level -1.
    pub fn set_hybrid_ribbon_filter(&mut self, bloom_equivalent_bits_per_key: f64, bloom_before_level: i32) {
        self.inner.filter_policy =
            Some(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level));
    }
}

/// Options of cuckoo tables.
pub struct CuckooTableOptions {
    hash_ratio: f64,
    max_search_depth: u32,
    cuckoo_block_size: u32,
    identity_as_first_hash: bool,
    use_module_hash: bool,
}

impl Default for CuckooTableOptions {
    /// Returns RocksDB's defaults.
    fn default() -> Self {
        CuckooTableOptions {
            hash_ratio: 0.9,
            max_search_depth: 100,
            cuckoo_block_size: 5,
            identity_as_first_hash: false,
            use_module_hash: true,
        }
    }
}

impl CuckooTableOptions {
    /// Sets the ratio of entries to buckets of the hash table. Default: 0.9.
    pub fn set_hash_ratio(&mut self, ratio: f64) {
        self.hash_ratio = ratio;
    }

    /// Sets how deep an insert searches for entries that it can move to free a bucket.
    pub fn set_max_search_depth(&mut self, depth: u32) {
        self.max_search_depth = depth;
    }

    /// Sets the number of consecutive buckets that a lookup reads for each hash.
    pub fn set_cuckoo_block_size(&mut self, size: u32) {
        self.cuckoo_block_size = size;
    }

    /// Sets whether the first hash of a key is its first 8 bytes.
    pub fn set_identity_as_first_hash(&mut self, flag: bool) {
        self.identity_as_first_hash = flag;
    }

    /// Sets whether the bucket of a hash is the hash modulo the number of buckets. Otherwise the bucket is the low bits of the
    /// hash.
    pub fn set_use_module_hash(&mut self, flag: bool) {
        self.use_module_hash = flag;
    }

    pub(crate) fn factory(&self) -> ironstone::Result<TableFactory> {
        of_text(
            "CuckooTable",
            &[
                ("hash_table_ratio", self.hash_ratio.to_string()),
                ("max_search_depth", self.max_search_depth.to_string()),
                ("cuckoo_block_size", self.cuckoo_block_size.to_string()),
                ("identity_as_first_hash", self.identity_as_first_hash.to_string()),
                ("use_module_hash", self.use_module_hash.to_string()),
            ],
        )
    }
}

pub(crate) fn plain_table(options: &PlainTableFactoryOptions) -> ironstone::Result<TableFactory> {
    let encoding = match options.encoding_type {
        crate::KeyEncodingType::Plain => "kPlain",
        crate::KeyEncodingType::Prefix => "kPrefix",
    };
    of_text(
        "PlainTable",
        &[
            ("user_key_len", options.user_key_length.to_string()),
            ("bloom_bits_per_key", options.bloom_bits_per_key.to_string()),
            ("hash_table_ratio", options.hash_table_ratio.to_string()),
            ("index_sparseness", options.index_sparseness.to_string()),
            ("huge_page_tlb_size", options.huge_page_tlb_size.to_string()),
            ("encoding_type", encoding.to_string()),
            ("full_scan_mode", options.full_scan_mode.to_string()),
            ("store_index_in_file", options.store_index_in_file.to_string()),
        ],
    )
}

fn of_text(name: &str, fields: &[(&str, String)]) -> ironstone::Result<TableFactory> {
    let mut factory = TableFactory::by_name(name)?;
    for (field, value) in fields {
        factory.set(field, value)?;
    }
    Ok(factory)
}
