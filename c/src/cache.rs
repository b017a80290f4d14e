//! Block caches.

use std::sync::Arc;

use mem::cache::{Cache, CacheOptions, Kind};
use table::sst::BlockCache;

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};
use crate::missing::rocksdb_memory_allocator_t;

/// A block cache that databases share.
pub struct rocksdb_cache_t {
    pub(crate) cache: Arc<BlockCache>,
}

/// Settings of an LRU cache.
pub struct rocksdb_lru_cache_options_t {
    options: CacheOptions,
    rejected: Rejected,
}

/// Settings of a hyper clock cache.
pub struct rocksdb_hyper_clock_cache_options_t {
    options: CacheOptions,
    estimated_entry_charge: usize,
    rejected: Rejected,
}
has_rejected!(rocksdb_lru_cache_options_t, rocksdb_hyper_clock_cache_options_t);

accessors! {
    rocksdb_lru_cache_options_t, "rocksdb_lru_cache_options_", |o|;
    capacity: usize / none => o.options.capacity;
    num_shard_bits: i32 / none => o.options.num_shard_bits;
}

accessors! {
    rocksdb_hyper_clock_cache_options_t, "rocksdb_hyper_clock_cache_options_", |o|;
    capacity: usize / none => o.options.capacity;
    estimated_entry_charge: usize / none => o.estimated_entry_charge;
    num_shard_bits: i32 / none => o.options.num_shard_bits;
}

/// Makes a cache. Returns null for invalid options.
fn create(options: CacheOptions) -> base::Result<Owned<rocksdb_cache_t>> {
    Ok(Owned(rocksdb_cache_t { cache: Cache::new(options)? }))
}

fn hyper_clock(capacity: usize, estimated_entry_charge: usize) -> CacheOptions {
    CacheOptions { kind: Kind::HyperClock { estimated_entry_charge }, ..CacheOptions::hyper_clock(capacity) }
}

c_api! {
    /// Creates an LRU cache of `capacity` bytes.
    fn rocksdb_cache_create_lru(capacity: usize) -> Owned<rocksdb_cache_t> {
        create(CacheOptions::lru(capacity))?
    }

    /// Creates an LRU cache that rejects entries past its capacity.
    fn rocksdb_cache_create_lru_with_strict_capacity_limit(capacity: usize) -> Owned<rocksdb_cache_t> {
        create(CacheOptions { strict_capacity_limit: true, ..CacheOptions::lru(capacity) })?
    }

    /// Creates an LRU cache. Returns null if `num_shard_bits` is above 19.
    fn rocksdb_cache_create_lru_opts(options: in rocksdb_lru_cache_options_t) -> Owned<rocksdb_cache_t> {
        options.rejected.check()?;
        create(options.options)?
    }

    /// Creates a hyper clock cache of `capacity` bytes. `estimated_entry_charge` is the expected size of an entry in bytes; 0:
    /// the cache adapts to the sizes of its entries.
    fn rocksdb_cache_create_hyper_clock(capacity: usize, estimated_entry_charge: usize) -> Owned<rocksdb_cache_t> {
        create(hyper_clock(capacity, estimated_entry_charge))?
    }

    /// Creates a hyper clock cache. Returns null if `num_shard_bits` is above 19.
    fn rocksdb_cache_create_hyper_clock_opts(
        options: in rocksdb_hyper_clock_cache_options_t
    ) -> Owned<rocksdb_cache_t> {
        options.rejected.check()?;
        let kind = Kind::HyperClock { estimated_entry_charge: options.estimated_entry_charge };
        create(CacheOptions { kind, ..options.options })?
    }

    /// Destroys the handle. Databases that use the cache keep it. Accepts null.
    fn rocksdb_cache_destroy(cache: own rocksdb_cache_t) {
        drop(cache)
    }

    /// Disowns the memory of the cache: its destruction does not free the memory. For a faster end of the process.
    fn rocksdb_cache_disown_data(cache: at rocksdb_cache_t) {
        cache.cache.clone().disown();
    }

    fn rocksdb_cache_set_capacity(cache: at rocksdb_cache_t, capacity: usize) {
        cache.cache.set_capacity(capacity);
    }

    fn rocksdb_cache_get_capacity(cache: in rocksdb_cache_t) -> usize {
        cache.cache.capacity()
    }

    /// Returns the total size of all entries, in bytes.
    fn rocksdb_cache_get_usage(cache: in rocksdb_cache_t) -> usize {
        cache.cache.usage()
    }

    /// Returns the total size of the entries that iterators and pinned values use, in bytes.
    fn rocksdb_cache_get_pinned_usage(cache: in rocksdb_cache_t) -> usize {
        cache.cache.pinned_usage()
    }

    /// Returns the number of slots in the hash tables of the cache.
    fn rocksdb_cache_get_table_address_count(cache: in rocksdb_cache_t) -> usize {
        cache.cache.table_bytes() / size_of::<usize>()
    }

    /// Returns the number of entries.
    fn rocksdb_cache_get_occupancy_count(cache: in rocksdb_cache_t) -> usize {
        cache.cache.occupancy()
    }

    fn rocksdb_lru_cache_options_create() -> Owned<rocksdb_lru_cache_options_t> {
        Owned(rocksdb_lru_cache_options_t { options: CacheOptions::lru(0), rejected: Rejected::default() })
    }

    fn rocksdb_lru_cache_options_destroy(options: own rocksdb_lru_cache_options_t) {
        drop(options)
    }

    /// Rejects the allocator, because Ironstone has no memory allocators: no cache is created with these options.
    fn rocksdb_lru_cache_options_set_memory_allocator(
        options: mut rocksdb_lru_cache_options_t, allocator: maybe rocksdb_memory_allocator_t
    ) {
        if allocator.is_some() {
            options.rejected.not_built("memory_allocator");
        }
    }

    fn rocksdb_hyper_clock_cache_options_create(
        capacity: usize, estimated_entry_charge: usize
    ) -> Owned<rocksdb_hyper_clock_cache_options_t> {
        let options = CacheOptions::hyper_clock(capacity);
        let rejected = Rejected::default();
        Owned(rocksdb_hyper_clock_cache_options_t { options, estimated_entry_charge, rejected })
    }

    fn rocksdb_hyper_clock_cache_options_destroy(options: own rocksdb_hyper_clock_cache_options_t) {
        drop(options)
    }

    /// Rejects the allocator, because Ironstone has no memory allocators: no cache is created with these options.
    fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
        options: mut rocksdb_hyper_clock_cache_options_t, allocator: maybe rocksdb_memory_allocator_t
    ) {
        if allocator.is_some() {
            options.rejected.not_built("memory_allocator");
        }
    }
}
