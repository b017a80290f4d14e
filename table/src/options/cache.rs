//! The option text of `block_cache`: the settings of an LRU cache, as RocksDB makes from text
//! (`Cache::CreateFromString`). Without text, the default cache.

use base::option::{Value, parse_map};
use base::{Error, Result};
use mem::cache::{CacheOptions, Kind};
use std::sync::Arc;

use crate::sst::PersistentCache;

/// The options of the block cache of a column family for which the application passes no cache. Default: 32
/// MiB, HyperClock cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheText {
    /// The options of the cache.
    pub options: CacheOptions,
}

/// The persistent cache of `persistent_cache`, if there is one. Two options are equal if they share the cache.
#[derive(Clone, Debug, Default)]
pub struct SharedPersistentCache {
    /// The cache.
    pub cache: Option<Arc<PersistentCache>>,
}

impl PartialEq for SharedPersistentCache {
    fn eq(&self, other: &Self) -> bool {
        match (&self.cache, &other.cache) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

base::options! {
    /// The settings of an LRU cache, as the text of `block_cache` gives them. The rows are in the order of the text.
    #[derive(Debug, PartialEq)]
    LruCacheOptions;

    /// The capacity of the cache.
    fixed capacity: usize = 0, unit: "bytes";
    /// The base-2 logarithm of the number of shards. A negative value chooses by capacity: at least 512 KiB for each shard, and at
    /// most 64 shards.
    fixed num_shard_bits: i32 = -1, unit: "bits", range: "at most 19";
    /// An insertion fails if the cache is full of entries in use. If false, the cache then exceeds its capacity.
    fixed strict_capacity_limit: bool = false;
    /// The share of the capacity for entries with high priority or with a hit. Both shares together are at most 1.
    fixed high_pri_pool_ratio: f64 = 0.5, unit: "share of the capacity", range: "0.0 to 1.0";
    /// The share of the capacity for entries with low priority. Both shares together are at most 1.
    fixed low_pri_pool_ratio: f64 = 0.0, unit: "share of the capacity", range: "0.0 to 1.0", since: "7.6";
    components
}

base::nested_options!(LruCacheOptions, parse_map);

impl LruCacheOptions {
    /// Returns the options of the cache. All other options have their defaults.
    fn options(&self) -> CacheOptions {
        CacheOptions {
            capacity: self.capacity,
            num_shard_bits: self.num_shard_bits,
            strict_capacity_limit: self.strict_capacity_limit,
            kind: Kind::Lru {
                high_pri_pool_ratio: self.high_pri_pool_ratio,
                low_pri_pool_ratio: self.low_pri_pool_ratio,
            },
            ..CacheOptions::lru(self.capacity)
        }
    }
}

impl Value for CacheText {
    /// Parses a size (`8M`) or `{capacity=8M;num_shard_bits=4;...}`. `nullptr` means the default.
    fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.starts_with("null") {
            return Ok(CacheText::default());
        }
        if text.contains("://") {
            return Err(Error::not_supported(format!("block cache {text:?} from text")));
        }
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        if !inner.contains('=') {
            return usize::parse(inner).map(|capacity| CacheText { options: CacheOptions::lru(capacity) });
        }
        Ok(CacheText { options: LruCacheOptions::parse(inner)?.options() })
    }

    fn print(&self) -> String {
        let o = &self.options;
        match o.kind {
            Kind::HyperClock { .. } => "nullptr".to_string(),
            Kind::Lru { high_pri_pool_ratio, low_pri_pool_ratio } => LruCacheOptions {
                capacity: o.capacity,
                num_shard_bits: o.num_shard_bits,
                strict_capacity_limit: o.strict_capacity_limit,
                high_pri_pool_ratio,
                low_pri_pool_ratio,
            }
            .print(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
