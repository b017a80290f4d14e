//! The memory of databases and caches; `rocksdb_free`.

use std::ffi::c_void;
use std::sync::Arc;

use engine::db::Db;
use table::sst::BlockCache;

use crate::abi::Owned;
use crate::cache::rocksdb_cache_t;
use crate::db::rocksdb_t;

/// The databases and caches whose memory is measured.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    dbs: Vec<Db>,
    caches: Vec<Arc<BlockCache>>,
}

/// The measured memory in bytes, by use.
#[derive(Default)]
pub struct rocksdb_memory_usage_t {
    mem_table_total: u64,
    mem_table_unflushed: u64,
    mem_table_readers_total: u64,
    cache_total: u64,
}

lifetime!(rocksdb_memory_consumers_t, rocksdb_memory_consumers_create, rocksdb_memory_consumers_destroy);

facts! {
    rocksdb_memory_usage_t, "rocksdb_approximate_memory_usage_get_", |u|;
    mem_table_total: u64 => u.mem_table_total;
    mem_table_unflushed: u64 => u.mem_table_unflushed;
    mem_table_readers_total: u64 => u.mem_table_readers_total;
    cache_total: u64 => u.cache_total;
}

c_api! {
    fn rocksdb_memory_consumers_add_db(consumers: mut rocksdb_memory_consumers_t, db: at rocksdb_t) {
        consumers.dbs.push(db.db()?.clone());
    }

    fn rocksdb_memory_consumers_add_cache(consumers: mut rocksdb_memory_consumers_t, cache: at rocksdb_cache_t) {
        if !consumers.caches.iter().any(|known| Arc::ptr_eq(known, &cache.cache)) {
            consumers.caches.push(cache.cache.clone());
        }
    }

    /// Measures the memory of the databases and caches. As in RocksDB, the memory of a cache is the size of its entries, without
    /// its hash tables.
    fn rocksdb_approximate_memory_usage_create(
        consumers: at rocksdb_memory_consumers_t, err
    ) -> Owned<rocksdb_memory_usage_t> {
        let sum = |name: &str| consumers.dbs.iter().filter_map(|db| db.properties().sum(name)).sum();
        Ok(Owned(rocksdb_memory_usage_t {
            mem_table_total: sum("rocksdb.size-all-mem-tables"),
            mem_table_unflushed: sum("rocksdb.cur-size-all-mem-tables"),
            mem_table_readers_total: sum("rocksdb.estimate-table-readers-mem"),
            cache_total: consumers.caches.iter().map(|cache| cache.usage() as u64).sum(),
        }))
    }

    fn rocksdb_approximate_memory_usage_destroy(usage: own rocksdb_memory_usage_t) {
        drop(usage)
    }

    /// Frees memory that a function of this library returned. Does the same as `free`. Accepts null.
    fn rocksdb_free(ptr: raw(*mut c_void)) {
        // SAFETY: the header requires null or memory that a function of this library returned for the caller to free.
        unsafe { crate::abi::returns::free(ptr) };
    }
}
