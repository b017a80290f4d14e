//! `LRUCache`, `ClockCache`, `HyperClockCache`, `PersistentCache`, `WriteBufferManager`: memory and files that databases share.

use std::sync::Arc;

use base::Error;
use env::Env;
use mem::cache::{CacheOptions, Kind};
use mem::write_buffer::WriteBufferManager;
use table::sst::{BlockCache, PersistentCache};

use crate::class::{Class, Method, Value};
use crate::collections;
use crate::db::{DatabaseObject, database};
use crate::fault::Outcome;
use crate::handle::{Handle, Shared};
use crate::java::{JLongs, JObject, JString};
use crate::native::{disposers, natives};

static BYTE: Method = Class::new("java/lang/Byte").method("<init>", "(B)V");

/// The smallest persistent cache of RocksDB: one of its files, in bytes.
const PERSISTENT_CACHE_MIN: i64 = 100 << 20;

disposers! {
    LRUCache: Arc<BlockCache>;
    ClockCache: Arc<BlockCache>;
    HyperClockCache: Arc<BlockCache>;
    PersistentCache: Arc<PersistentCache>;
    WriteBufferManager: Arc<WriteBufferManager>;
}

/// Makes an LRU cache whose pools are of this kind.
fn lru(kind: Kind, capacity: i64, num_shard_bits: i32, strict_capacity_limit: bool) -> base::Result<Handle> {
    let options =
        CacheOptions { kind, strict_capacity_limit, num_shard_bits, ..CacheOptions::lru(capacity as usize) };
    Ok(Handle::new(BlockCache::new(options)?))
}

natives! {
    /// The logger and the setting for non-volatile memory have no effect: the cache logs nothing, and its files are not
    /// written with direct I/O.
    fn PersistentCache_newPersistentCache[java](
        env: Handle, path: JString, size: i64, _logger: i64, _optimized_for_nvm: bool
    ) -> Handle {
        let (fs, path) = (env.shared::<Env>()?.fs.clone(), java.text(path)?);
        if size < PERSISTENT_CACHE_MIN {
            return Err(Error::invalid_argument("invalid cache size").into());
        }
        Handle::new(PersistentCache::open(fs, path.as_ref(), size as u64)?)
    }

    /// Throws InvalidArgument if a ratio is not from 0 to 1, or if both ratios together exceed 1.
    fn LRUCache_newLRUCache[_](
        capacity: i64, num_shard_bits: i32, strict: bool, high_pri_pool_ratio: f64, low_pri_pool_ratio: f64
    ) -> Handle {
        lru(Kind::Lru { high_pri_pool_ratio, low_pri_pool_ratio }, capacity, num_shard_bits, strict)?
    }

    /// Makes an LRU cache, as RocksDB does: RocksDB removed its old clock cache.
    fn ClockCache_newClockCache[_](capacity: i64, num_shard_bits: i32, strict: bool) -> Handle {
        lru(CacheOptions::lru(0).kind, capacity, num_shard_bits, strict)?
    }

    fn HyperClockCache_newHyperClockCache[_](
        capacity: i64, estimated_entry_charge: i64, num_shard_bits: i32, strict: bool
    ) -> Handle {
        let kind = Kind::HyperClock { estimated_entry_charge: estimated_entry_charge as usize };
        let options = CacheOptions {
            kind, num_shard_bits, strict_capacity_limit: strict, ..CacheOptions::hyper_clock(capacity as usize)
        };
        Handle::new(BlockCache::new(options)?)
    }

    fn Cache_getUsage[_](cache: Handle) -> i64 {
        cache.shared::<Arc<BlockCache>>()?.usage() as i64
    }

    fn Cache_getPinnedUsage[_](cache: Handle) -> i64 {
        cache.shared::<Arc<BlockCache>>()?.pinned_usage() as i64
    }

    fn WriteBufferManager_newWriteBufferManager[_](buffer_size: i64, cache: Handle, allow_stall: bool) -> Handle {
        let cache = if cache.is_null() { None } else { Some(cache.shared::<Arc<BlockCache>>()?.clone()) };
        let manager = match cache {
            Some(cache) => WriteBufferManager::new(buffer_size as usize, Some(cache), allow_stall),
            None => WriteBufferManager::new(buffer_size as usize, None, allow_stall),
        };
        Handle::new(Arc::new(manager))
    }

    /// Returns the memory in bytes for each `MemoryUsageType`: memtables, unflushed memtables, table readers, caches. If the
    /// call passes no database or no cache, the map lacks the entries of databases or caches.
    fn MemoryUtil_getApproximateMemoryUsageByType[java](dbs: JLongs, caches: JLongs) -> JObject<'j> {
        let dbs: Vec<Shared<DatabaseObject>> =
            java.longs(dbs)?.into_iter().map(|handle| database(Handle::of(handle))).collect::<Outcome<_>>()?;
        let caches: Vec<Arc<BlockCache>> = java
            .longs(caches)?
            .into_iter()
            .map(|handle| Ok(Handle::of(handle).shared::<Arc<BlockCache>>()?.clone()))
            .collect::<Outcome<_>>()?;
        let fronts: Vec<&ironstone::Db> = dbs.iter().map(|db| &db.front).collect();
        let usage = ironstone::memory_usage(&fronts, &caches);
        let bytes = [usage.memtables, usage.unflushed_memtables, usage.table_readers, usage.caches];
        let is_counted = |kind: i8| if kind < 3 { !fronts.is_empty() } else { !caches.is_empty() };
        let counted = (0_i8..).zip(bytes).filter(|(kind, _)| is_counted(*kind));
        collections::map(java, counted, |java, (kind, bytes)| {
            Ok((BYTE.construct(java, &[Value::byte(kind)])?, collections::long(java, bytes as i64)?))
        })?
    }
}
