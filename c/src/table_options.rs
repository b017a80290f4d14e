//! Options of block-based tables and of cuckoo tables.

use std::sync::Arc;

use engine::options::TableFactory;
use mem::cache::CacheOptions;
use table::options::BlockBasedTableOptions;
use table::sst::BlockCache;

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected, Text};
use crate::cache::rocksdb_cache_t;
use crate::filter_policy::rocksdb_filterpolicy_t;

/// Options of block-based tables.
#[derive(Clone, Default)]
pub struct rocksdb_block_based_table_options_t {
    pub(crate) options: BlockBasedTableOptions,
    pub(crate) block_cache: Option<Arc<BlockCache>>,
    /// The name of the user-defined index. An open with such an index fails.
    user_defined_index: Option<Vec<u8>>,
    rejected: Rejected,
}

/// Options of cuckoo tables.
#[derive(Clone)]
pub struct rocksdb_cuckoo_table_options_t {
    hash_table_ratio: f64,
    max_search_depth: u32,
    cuckoo_block_size: u32,
    identity_as_first_hash: bool,
    use_module_hash: bool,
    rejected: Rejected,
}
has_rejected!(rocksdb_block_based_table_options_t, rocksdb_cuckoo_table_options_t);

impl Default for rocksdb_cuckoo_table_options_t {
    /// Returns RocksDB's defaults.
    fn default() -> Self {
        rocksdb_cuckoo_table_options_t {
            hash_table_ratio: 0.9,
            max_search_depth: 100,
            cuckoo_block_size: 5,
            identity_as_first_hash: false,
            use_module_hash: true,
            rejected: Rejected::default(),
        }
    }
}

/// Checks the name of a user-defined index. An empty text and `nullptr` mean no index.
///
/// # Errors
/// NotSupported for an index that RocksDB does not have.
pub(crate) fn index_name(value: &[u8]) -> base::Result<Option<Vec<u8>>> {
    match value {
        b"" | b"nullptr" => Ok(None),
        b"trie_index" => Ok(Some(value.to_vec())),
        _ => Err(base::Error::not_supported(format!(
            "Could not load UserDefinedIndexFactory: {}",
            String::from_utf8_lossy(value)
        ))),
    }
}

impl rocksdb_block_based_table_options_t {
    fn set_index(&mut self, name: Option<Vec<u8>>) {
        self.rejected.remove("user_defined_index_factory");
        if name.is_some() {
            self.rejected.not_built("user_defined_index_factory");
        }
        self.user_defined_index = name;
    }
}

impl rocksdb_cuckoo_table_options_t {
    pub(crate) fn factory(&self) -> base::Result<TableFactory> {
        let mut factory = TableFactory::by_name("CuckooTable")?;
        for (name, value) in [
            ("hash_table_ratio", self.hash_table_ratio.to_string()),
            ("max_search_depth", self.max_search_depth.to_string()),
            ("cuckoo_block_size", self.cuckoo_block_size.to_string()),
            ("identity_as_first_hash", self.identity_as_first_hash.to_string()),
            ("use_module_hash", self.use_module_hash.to_string()),
        ] {
            factory.set(name, &value)?;
        }
        Ok(factory)
    }
}

lifetime!(
    rocksdb_block_based_table_options_t,
    rocksdb_block_based_options_create,
    rocksdb_block_based_options_destroy
);
lifetime!(rocksdb_cuckoo_table_options_t, rocksdb_cuckoo_options_create, rocksdb_cuckoo_options_destroy);

accessors! {
    rocksdb_cuckoo_table_options_t, "rocksdb_cuckoo_options_", |o|;
    hash_ratio: f64 / none => o.hash_table_ratio;
    hash_table_ratio: f64 => o.hash_table_ratio;
    max_search_depth: u32 => o.max_search_depth;
    cuckoo_block_size: u32 => o.cuckoo_block_size;
    identity_as_first_hash: flag => o.identity_as_first_hash;
    use_module_hash: flag => o.use_module_hash;
}

accessors! {
    rocksdb_block_based_table_options_t, "rocksdb_block_based_options_", |o|;
    data_block_hash_ratio: f64 / none => o.options.data_block_hash_table_util_ratio;
    top_level_index_pinning_tier: i32 / none => o.options.metadata_cache_options.top_level_index_pinning;
    partition_pinning_tier: i32 / none => o.options.metadata_cache_options.partition_pinning;
    unpartitioned_pinning_tier: i32 / none => o.options.metadata_cache_options.unpartitioned_pinning;
    cache_index_and_filter_blocks: flag => o.options.cache_index_and_filter_blocks;
    cache_index_and_filter_blocks_with_high_priority: flag
        => o.options.cache_index_and_filter_blocks_with_high_priority;
    pin_l0_filter_and_index_blocks_in_cache: flag => o.options.pin_l0_filter_and_index_blocks_in_cache;
    pin_top_level_index_and_filter: flag => o.options.pin_top_level_index_and_filter;
    index_type: i32 => o.options.index_type;
    index_block_search_type: i32 => o.options.index_block_search_type;
    data_block_index_type: i32 => o.options.data_block_index_type;
    data_block_hash_table_util_ratio: f64 => o.options.data_block_hash_table_util_ratio;
    checksum: char / i32 => o.options.checksum;
    no_block_cache: flag => o.options.no_block_cache;
    block_size: usize / u64 => o.options.block_size;
    block_size_deviation: i32 => o.options.block_size_deviation;
    block_restart_interval: i32 => o.options.block_restart_interval;
    index_block_restart_interval: i32 => o.options.index_block_restart_interval;
    metadata_block_size: u64 => o.options.metadata_block_size;
    partition_filters: flag => o.options.partition_filters;
    decouple_partitioned_filters: flag => o.options.decouple_partitioned_filters;
    optimize_filters_for_memory: flag => o.options.optimize_filters_for_memory;
    use_delta_encoding: flag => o.options.use_delta_encoding;
    use_udi_as_primary_index: flag => o.options.use_udi_as_primary_index;
    fail_if_no_udi_on_open: flag => o.options.fail_if_no_udi_on_open;
    whole_key_filtering: flag => o.options.whole_key_filtering;
    detect_filter_construct_corruption: flag => o.options.detect_filter_construct_corruption;
    verify_compression: flag => o.options.verify_compression;
    read_amp_bytes_per_bit: u32 => o.options.read_amp_bytes_per_bit;
    format_version: i32 / u32 => o.options.format_version;
    separate_key_value_in_data_block: flag => o.options.separate_key_value_in_data_block;
    uniform_cv_threshold: f64 => o.options.uniform_cv_threshold;
    enable_index_compression: flag => o.options.enable_index_compression;
    block_align: flag => o.options.block_align;
    super_block_alignment_size: usize => o.options.super_block_alignment_size;
    super_block_alignment_space_overhead_ratio: usize => o.options.super_block_alignment_space_overhead_ratio;
    index_shortening: i32 => o.options.index_shortening;
    max_auto_readahead_size: usize => o.options.max_auto_readahead_size;
    prepopulate_block_cache: i32 => o.options.prepopulate_block_cache;
    initial_auto_readahead_size: usize => o.options.initial_auto_readahead_size;
    num_file_reads_for_auto_readahead: u64 => o.options.num_file_reads_for_auto_readahead;
}

c_api! {
    /// Sets the filter policy. Takes ownership of it. Null: no filters.
    fn rocksdb_block_based_options_set_filter_policy(
        options: mut rocksdb_block_based_table_options_t, policy: own rocksdb_filterpolicy_t
    ) {
        options.options.filter_policy = policy.map(|policy| policy.policy.clone());
    }

    /// Sets the block cache. It is shared. Null changes nothing.
    fn rocksdb_block_based_options_set_block_cache(
        options: mut rocksdb_block_based_table_options_t, cache: maybe rocksdb_cache_t
    ) {
        if let Some(cache) = cache {
            options.options.block_cache.options = CacheOptions::lru(cache.cache.capacity());
            options.block_cache = Some(cache.cache.clone());
        }
    }

    /// Sets the name of the user-defined index. Ironstone has no such indexes, so an open with an index fails. An empty text and
    /// `nullptr` mean no index.
    fn rocksdb_block_based_options_set_user_defined_index_factory_from_string(
        options: mut rocksdb_block_based_table_options_t, value: bytes, err
    ) {
        options.set_index(index_name(value)?);
        Ok(())
    }

    fn rocksdb_block_based_options_clear_user_defined_index_factory(
        options: mut rocksdb_block_based_table_options_t
    ) {
        options.set_index(None);
    }

    /// Returns the name of the user-defined index, or null. The text is valid until the next change or the end of the handle.
    fn rocksdb_block_based_options_get_user_defined_index_factory_name(
        options: in rocksdb_block_based_table_options_t, name_len: out usize
    ) -> Option<Text> {
        name_len.set(options.user_defined_index.as_ref().map_or(0, Vec::len));
        options.user_defined_index.as_deref().map(Text::bytes)
    }
}
