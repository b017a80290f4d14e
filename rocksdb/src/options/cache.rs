//! Block caches and write buffer managers, which databases share.

use std::sync::Arc;

use ironstone::{BlockCache, CacheKind, CacheOptions};

/// A block cache that databases share. A clone shares the cache.
#[derive(Clone)]
pub struct Cache {
    pub(crate) inner: Arc<BlockCache>,
}

impl Cache {
    /// Makes a cache. Replaces a value that a cache cannot have by its default.
    fn make(options: CacheOptions) -> Cache {
        let made = BlockCache::new(options);
        let or_default = || BlockCache::new(CacheOptions::lru(options.capacity));
        match made.or_else(|_| or_default()) {
            Ok(inner) => Cache { inner },
            Err(error) => panic!("no cache of {} bytes: {error}", options.capacity),
        }
    }

    /// Returns an LRU cache of `capacity` bytes.
    pub fn new_lru_cache(capacity: usize) -> Cache {
        Cache::make(CacheOptions::lru(capacity))
    }

    /// Returns an LRU cache with options.
    pub fn new_lru_cache_opts(opts: &LruCacheOptions) -> Cache {
        Cache::make(opts.options)
    }

    /// Returns a hyper clock cache of `capacity` bytes. `estimated_entry_charge` is the expected size of an entry in bytes. 0:
    /// the cache adapts to the sizes of its entries.
    pub fn new_hyper_clock_cache(capacity: usize, estimated_entry_charge: usize) -> Cache {
        let kind = CacheKind::HyperClock { estimated_entry_charge };
        Cache::make(CacheOptions { kind, ..CacheOptions::hyper_clock(capacity) })
    }

    /// Returns the total size of all entries, in bytes.
    pub fn get_usage(&self) -> usize {
        self.inner.usage()
    }

    /// Returns the total size of the entries that iterators and pinned values use, in bytes.
    pub fn get_pinned_usage(&self) -> usize {
        self.inner.pinned_usage()
    }

    /// Sets the capacity in bytes.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.inner.set_capacity(capacity);
    }
}

/// Options of LRU caches.
pub struct LruCacheOptions {
    options: CacheOptions,
}

impl Default for LruCacheOptions {
    fn default() -> Self {
        LruCacheOptions { options: CacheOptions::lru(0) }
    }
}

impl LruCacheOptions {
    /// Sets the capacity in bytes.
    pub fn set_capacity(&mut self, cap: usize) {
        self.options.capacity = cap;
    }

    /// Sets the number of shards to 2 to the power of `val`. -1: the cache chooses the number by its capacity.
    pub fn set_num_shard_bits(&mut self, val: i32) {
        self.options.num_shard_bits = val;
    }
}

/// A memory limit for the memtables of several databases. A clone shares the limit.
#[derive(Clone)]
pub struct WriteBufferManager {
    pub(crate) inner: Arc<ironstone::WriteBufferManager>,
}

impl WriteBufferManager {
    /// Returns a manager. `buffer_size` is the limit in bytes. 0: no limit. With `allow_stall`, writers wait if memtables use
    /// more than the limit.
    pub fn new_write_buffer_manager(buffer_size: usize, allow_stall: bool) -> Self {
        let manager = ironstone::WriteBufferManager::new(buffer_size, None, allow_stall);
        WriteBufferManager { inner: Arc::new(manager) }
    }

    /// Returns a manager that charges the memory of memtables to a cache.
    pub fn new_write_buffer_manager_with_cache(buffer_size: usize, allow_stall: bool, cache: Cache) -> Self {
        let manager = ironstone::WriteBufferManager::new(buffer_size, Some(cache.inner), allow_stall);
        WriteBufferManager { inner: Arc::new(manager) }
    }

    /// Returns the bytes of all memtables.
    pub fn get_usage(&self) -> usize {
        self.inner.memory_usage()
    }

    /// Returns the limit in bytes.
    pub fn get_buffer_size(&self) -> usize {
        self.inner.buffer_size()
    }

    /// Sets the limit in bytes.
    pub fn set_buffer_size(&self, new_size: usize) {
        self.inner.set_buffer_size(new_size);
    }

    /// Returns true if there is a limit.
    pub fn enabled(&self) -> bool {
        self.inner.enabled()
    }

    /// Sets whether writers wait if memtables use more than the limit.
    pub fn set_allow_stall(&self, allow_stall: bool) {
        self.inner.set_allow_stall(allow_stall);
    }
}
