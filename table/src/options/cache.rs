//! The option text of `block_cache`: the settings of an LRU cache, as RocksDB makes from text
//! (`Cache::CreateFromString`). Without text, the default cache.

use base::option::Value;
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
        let mut options = CacheOptions::lru(0);
        let (mut high, mut low) = (0.5, 0.0);
        for field in inner.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            let value = value.trim();
            match name.trim() {
                "capacity" => options.capacity = usize::parse(value)?,
                "num_shard_bits" => options.num_shard_bits = i32::parse(value)?,
                "strict_capacity_limit" => options.strict_capacity_limit = bool::parse(value)?,
                "high_pri_pool_ratio" => high = f64::parse(value)?,
                "low_pri_pool_ratio" => low = f64::parse(value)?,
                _ => return Err(Error::invalid_argument(format!("no such option in block_cache: {name:?}"))),
            }
        }
        options.kind = Kind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low };
        Ok(CacheText { options })
    }

    fn print(&self) -> String {
        let o = &self.options;
        match o.kind {
            Kind::HyperClock { .. } => "nullptr".to_string(),
            Kind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low } => format!(
                "{{capacity={};num_shard_bits={};strict_capacity_limit={};high_pri_pool_ratio={high:.6};\
                 low_pri_pool_ratio={low:.6};}}",
                o.capacity, o.num_shard_bits, o.strict_capacity_limit
            ),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
