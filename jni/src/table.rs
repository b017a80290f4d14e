//! Table formats and filter policies.

use std::sync::Arc;

use engine::options::TableFactory;
use ironstone::binding::Place;
use mem::cache::{Cache, CacheOptions};
use table::options::{BlockBasedTableOptions, FilterPolicy, SharedPersistentCache};
use table::sst::{BlockCache, PersistentCache};

use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::native::{disposers, natives};

/// A table factory that a `TableFormatConfig` made. It is later moved into options.
pub struct TableConfig {
    pub factory: TableFactory,
    pub block_cache: Option<Arc<BlockCache>>,
}

disposers! {
    Filter: FilterPolicy;
}

/// The arguments about the block cache.
pub struct CacheArguments {
    pub cache_index_and_filter_blocks: bool,
    pub cache_index_and_filter_blocks_with_high_priority: bool,
    pub pin_l0_filter_and_index_blocks_in_cache: bool,
    pub pin_top_level_index_and_filter: bool,
    pub no_block_cache: bool,
    pub block_cache: Handle,
    pub persistent_cache: Handle,
    pub block_cache_size: i64,
    pub block_cache_num_shard_bits: i32,
}

/// The arguments about the layout of blocks.
pub struct LayoutArguments {
    pub block_size: i64,
    pub block_size_deviation: i32,
    pub block_restart_interval: i32,
    pub index_block_restart_interval: i32,
    pub metadata_block_size: i64,
    pub block_align: bool,
}

/// The arguments of `BlockBasedTableConfig.newTableFactoryHandle` of all releases. An argument that the loaded release does
/// not pass has its default.
pub struct BlockBased {
    pub cache: CacheArguments,
    pub layout: LayoutArguments,
    pub index_type: i8,
    pub data_block_index_type: i8,
    pub data_block_hash_table_util_ratio: f64,
    pub checksum: i8,
    pub partition_filters: bool,
    pub optimize_filters_for_memory: bool,
    pub use_delta_encoding: bool,
    pub filter_policy: Handle,
    pub whole_key_filtering: bool,
    pub verify_compression: bool,
    pub read_amp_bytes_per_bit: i32,
    pub format_version: i32,
    pub enable_index_compression: bool,
    pub index_shortening: i8,
    pub newest: Option<Newest>,
}

/// The arguments of 11.8.1 that older releases do not pass.
pub struct Newest {
    pub separate_key_value_in_data_block: bool,
    pub uniform_cv_threshold: f64,
    pub super_block_alignment_size: i64,
    pub super_block_alignment_space_overhead_ratio: i64,
    pub index_block_search_type: i8,
}

fn number<T: Place<i32>>(place: &mut T, name: &str, value: i8) -> Outcome<()> {
    if place.store(i32::from(value)) {
        return Ok(());
    }
    Err(Fault::illegal_argument(format!("{name}: {value} is not a value of this option")))
}

impl BlockBased {
    /// Returns the block cache: the given cache, a new cache of the given size, or none.
    fn cache(&self) -> Outcome<Option<Arc<BlockCache>>> {
        if self.cache.no_block_cache {
            return Ok(None);
        }
        if !self.cache.block_cache.is_null() {
            return Ok(Some(self.cache.block_cache.shared::<Arc<BlockCache>>()?.clone()));
        }
        let Ok(size) = usize::try_from(self.cache.block_cache_size) else { return Ok(None) };
        let mut options = CacheOptions::lru(size);
        if self.cache.block_cache_num_shard_bits > 0 {
            options.num_shard_bits = self.cache.block_cache_num_shard_bits;
        }
        Ok(Some(Cache::new(options)?))
    }

    /// Makes the table factory.
    ///
    /// # Errors
    /// IllegalArgumentException for an unknown number; IllegalStateException for a closed cache or filter.
    pub fn make(self) -> Outcome<Handle> {
        let block_cache = self.cache()?;
        let mut options = BlockBasedTableOptions {
            cache_index_and_filter_blocks: self.cache.cache_index_and_filter_blocks,
            cache_index_and_filter_blocks_with_high_priority: self
                .cache
                .cache_index_and_filter_blocks_with_high_priority,
            pin_l0_filter_and_index_blocks_in_cache: self.cache.pin_l0_filter_and_index_blocks_in_cache,
            pin_top_level_index_and_filter: self.cache.pin_top_level_index_and_filter,
            data_block_hash_table_util_ratio: self.data_block_hash_table_util_ratio,
            no_block_cache: block_cache.is_none(),
            block_size: self.layout.block_size as u64 as _,
            block_size_deviation: self.layout.block_size_deviation,
            block_restart_interval: self.layout.block_restart_interval,
            index_block_restart_interval: self.layout.index_block_restart_interval,
            metadata_block_size: self.layout.metadata_block_size as u64 as _,
            partition_filters: self.partition_filters,
            optimize_filters_for_memory: self.optimize_filters_for_memory,
            use_delta_encoding: self.use_delta_encoding,
            whole_key_filtering: self.whole_key_filtering,
            verify_compression: self.verify_compression,
            read_amp_bytes_per_bit: self.read_amp_bytes_per_bit as u32,
            format_version: self.format_version as u32,
            enable_index_compression: self.enable_index_compression,
            block_align: self.layout.block_align,
            ..BlockBasedTableOptions::default()
        };
        number(&mut options.index_type, "indexType", self.index_type)?;
        number(&mut options.data_block_index_type, "dataBlockIndexType", self.data_block_index_type)?;
        number(&mut options.checksum, "checksumType", self.checksum)?;
        number(&mut options.index_shortening, "indexShortening", self.index_shortening)?;
        if let Some(newest) = &self.newest {
            options.separate_key_value_in_data_block = newest.separate_key_value_in_data_block;
            options.uniform_cv_threshold = newest.uniform_cv_threshold;
            options.super_block_alignment_size = newest.super_block_alignment_size as u64 as _;
            options.super_block_alignment_space_overhead_ratio =
                newest.super_block_alignment_space_overhead_ratio as u64 as _;
            number(&mut options.index_block_search_type, "indexSearchType", newest.index_block_search_type)?;
        }
        if !self.filter_policy.is_null() {
            options.filter_policy = Some(self.filter_policy.shared::<FilterPolicy>()?.clone());
        }
        if !self.cache.persistent_cache.is_null() {
            let cache = self.cache.persistent_cache.shared::<Arc<PersistentCache>>()?.clone();
            options.persistent_cache = SharedPersistentCache { cache: Some(cache) };
        }
        options.sanitize();
        Ok(Handle::new(TableConfig { factory: TableFactory::BlockBased(options), block_cache }))
    }
}

natives! {
    fn BloomFilter_createNewBloomFilter[_](bits_per_key: f64) -> Handle {
        Handle::new(FilterPolicy::bloom(bits_per_key))
    }

    fn PlainTableConfig_newTableFactoryHandle[_](
        user_key_len: i32, bloom_bits_per_key: i32, hash_table_ratio: f64, index_sparseness: i32,
        huge_page_tlb_size: i32, encoding_type: i8, full_scan_mode: bool, store_index_in_file: bool
    ) -> Handle {
        let mut factory = TableFactory::by_name("PlainTable")?;
        let encoding = if encoding_type == 1 { "kPrefix" } else { "kPlain" };
        for (name, value) in [
            ("user_key_len", (user_key_len as u32).to_string()),
            ("bloom_bits_per_key", bloom_bits_per_key.to_string()),
            ("hash_table_ratio", hash_table_ratio.to_string()),
            ("index_sparseness", index_sparseness.to_string()),
            ("huge_page_tlb_size", huge_page_tlb_size.to_string()),
            ("encoding_type", encoding.to_string()),
            ("full_scan_mode", full_scan_mode.to_string()),
            ("store_index_in_file", store_index_in_file.to_string()),
        ] {
            factory.set(name, &value)?;
        }
        Handle::new(TableConfig { factory, block_cache: None })
    }
}
