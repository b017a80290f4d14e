//! The caches of the database, from the flags.

use std::sync::Arc;

use base::{Error, Result};
use ironstone::BlockCache;
use mem::cache::{CacheOptions, Kind};

use crate::bench::flags::Flags;

/// Returns the block cache of `--cache_size` and `--cache_type`, or `None` if the size is 0.
///
/// # Errors
/// InvalidArgument for an unknown type.
pub fn cache(flags: &Flags) -> Result<Option<Arc<BlockCache>>> {
    let capacity = flags.count("cache_size") as usize;
    if capacity == 0 {
        return Ok(None);
    }
    let mut settings = match flags.text("cache_type") {
        "hyper_clock_cache" | "auto_hyper_clock_cache" => CacheOptions::hyper_clock(capacity),
        "fixed_hyper_clock_cache" => CacheOptions {
            kind: Kind::HyperClock { estimated_entry_charge: flags.count("block_size") as usize },
            ..CacheOptions::hyper_clock(capacity)
        },
        "lru_cache" => CacheOptions {
            kind: Kind::Lru {
                high_pri_pool_ratio: flags.double("cache_high_pri_pool_ratio"),
                low_pri_pool_ratio: flags.double("cache_low_pri_pool_ratio"),
            },
            ..CacheOptions::lru(capacity)
        },
        other => {
            return Err(Error::invalid_argument(format!(
                "--cache_type={other}; known: hyper_clock_cache, fixed_hyper_clock_cache, lru_cache"
            )));
        }
    };
    settings.num_shard_bits = flags.int("cache_numshardbits") as i32;
    BlockCache::new(settings).map(Some)
}

/// Returns the cache for values of blob files that the flags ask for. `cache` is the block cache.
///
/// # Errors
/// InvalidArgument if a separate cache has a size that is not above 0.
pub fn blob_cache(flags: &Flags, cache: Option<&Arc<BlockCache>>) -> Result<Option<Arc<BlockCache>>> {
    if !flags.bool("use_blob_cache") {
        return Ok(None);
    }
    if flags.bool("use_shared_block_and_blob_cache") {
        return Ok(cache.cloned());
    }
    if flags.int("blob_cache_size") <= 0 {
        return Err(Error::invalid_argument(
            "Unable to create a standalone blob cache if blob_cache_size <= 0.",
        ));
    }
    let mut settings = CacheOptions::lru(flags.count("blob_cache_size") as usize);
    settings.num_shard_bits = flags.int("blob_cache_numshardbits") as i32;
    BlockCache::new(settings).map(Some)
}

/// Returns the row cache of `--row_cache_size` bytes; `None` for 0.
///
/// # Errors
/// InvalidArgument if the number of shards is out of range.
pub(super) fn row_cache(flags: &Flags) -> Result<Option<Arc<BlockCache>>> {
    let size = flags.count("row_cache_size") as usize;
    if size == 0 {
        return Ok(None);
    }
    let mut settings = CacheOptions::lru(size);
    if flags.int("cache_numshardbits") >= 1 {
        settings.num_shard_bits = flags.int("cache_numshardbits") as i32;
    }
    BlockCache::new(settings).map(Some)
}
