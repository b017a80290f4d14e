//! The blob cache: which values flushes, compactions and writes put into the cache (`prepopulate_blob_cache`), by its counters
//! and its usage. Facts: RocksDB `db/blob/blob_file_builder.cc`, `db/blob/blob_file_partition_manager.cc`.

use std::sync::Arc;

use base::stats::{Statistics, Ticker};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, FamilyOptions, FlushOptions,
};
use mem::cache::CacheOptions;
use table::sst::BlockCache;

use crate::basic::{get, options, put};

const VALUE_BYTES: usize = 1000;

/// What happened in the blob cache since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    added: u64,
    refused: u64,
    hits: u64,
    misses: u64,
    written: u64,
    read: u64,
}

/// A database whose blobs go through a cache, and what the cache did.
struct CachedBlobs {
    db: Db,
    cache: Arc<BlockCache>,
    statistics: Arc<Statistics>,
    before: Seen,
}

impl CachedBlobs {
    /// Opens a database whose values of at least 100 bytes go to blob files.
    fn open(cache: CacheOptions, more: &str) -> CachedBlobs {
        let cache = BlockCache::new(cache).unwrap();
        let statistics = Arc::new(Statistics::default());
        let mut family = FamilyOptions::default();
        family.update("enable_blob_files=true;min_blob_size=100;disable_auto_compactions=true").unwrap();
        family.update(more).unwrap();
        let mut db = options(&Env::memory(1));
        db.update("allow_concurrent_memtable_write=false").unwrap();
        db.statistics = Some(statistics.clone());
        let mut request = OpenRequest::new("/db", db, family.clone());
        let default = FamilyDescriptor::new("default", family);
        request.families = vec![FamilyDescriptor { blob_cache: Some(cache.clone()), ..default }];
        CachedBlobs { db: Db::open(request).unwrap(), cache, statistics, before: Seen::default() }
    }

    fn put(&self, keys: std::ops::Range<usize>) {
        for at in keys {
            put(&self.db, &format!("key{at:03}"), &"v".repeat(VALUE_BYTES));
        }
    }

    fn read(&self, keys: std::ops::Range<usize>) {
        for at in keys {
            assert_eq!(get(&self.db, &format!("key{at:03}")).map(|value| value.len()), Some(VALUE_BYTES));
        }
    }

    fn flush(&self) {
        self.db.flush(&[self.db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }

    /// Writes all SST files again, and all blob files.
    fn compact(&self) {
        let how = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db.compactions().compact_range(&self.db.default_family().unwrap(), None, None, &how).unwrap();
    }

    fn set(&self, name: &str, value: &str) {
        self.db.admin().set_options(&self.db.default_family().unwrap(), &[(name, value)]).unwrap();
    }

    /// Returns what happened since the last call.
    fn seen(&mut self) -> Seen {
        let total = |ticker| self.statistics.ticker(ticker);
        let now = Seen {
            added: total(Ticker::BlobDbCacheAdd),
            refused: total(Ticker::BlobDbCacheAddFailures),
            hits: total(Ticker::BlobDbCacheHit),
            misses: total(Ticker::BlobDbCacheMiss),
            written: total(Ticker::BlobDbCacheBytesWrite),
            read: total(Ticker::BlobDbCacheBytesRead),
        };
        let before = std::mem::replace(&mut self.before, now);
        Seen {
            added: now.added - before.added,
            refused: now.refused - before.refused,
            hits: now.hits - before.hits,
            misses: now.misses - before.misses,
            written: now.written - before.written,
            read: now.read - before.read,
        }
    }
}

/// Counters of `n` values that were added, and of `n` values that were found.
fn added(n: u64) -> Seen {
    Seen { added: n, written: n * VALUE_BYTES as u64, ..Seen::default() }
}

fn found(n: u64) -> Seen {
    Seen { hits: n, read: n * VALUE_BYTES as u64, ..Seen::default() }
}

const WARM: &str = "prepopulate_blob_cache=kFlushOnly";

#[test]
fn a_flush_puts_its_blobs_into_the_cache() {
    let mut world = CachedBlobs::open(CacheOptions::lru(1 << 20), WARM);
    for round in 0..5 {
        let keys = round * 2..round * 2 + 2;
        world.put(keys.clone());
        assert_eq!(world.seen(), Seen::default(), "a write");
        world.flush();
        assert_eq!(world.seen(), added(2), "a flush");
        world.read(keys);
        assert_eq!(world.seen(), found(2), "reads after a flush");
    }
    let usage = world.cache.usage();
    assert!((10 * VALUE_BYTES..20 * VALUE_BYTES).contains(&usage), "{usage} bytes");
    // Values below `min_blob_size` are in SST files.
    put(&world.db, "short", "v");
    world.flush();
    assert_eq!((world.seen(), world.cache.usage()), (Seen::default(), usage));
}

#[test]
fn a_compaction_puts_no_blobs_into_the_cache() {
    let more = "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1.0";
    let mut world = CachedBlobs::open(CacheOptions::lru(1 << 20), &format!("{WARM};{more}"));
    world.put(0..10);
    world.flush();
    world.put(5..15);
    world.flush();
    assert_eq!(world.seen(), added(20));
    let usage = world.cache.usage();
    world.compact();
    let compacted = world.seen();
    assert_eq!((compacted.added, world.cache.usage()), (0, usage), "{compacted:?}");
    // The compaction moved the values to a new blob file: the cache does not have them.
    world.read(0..15);
    assert_eq!(world.seen(), Seen { misses: 15, ..added(15) });
    world.read(0..15);
    assert_eq!(world.seen(), found(15));
}

#[test]
fn the_option_changes_while_the_database_is_open() {
    let mut world = CachedBlobs::open(CacheOptions::lru(1 << 20), "");
    world.put(0..2);
    world.flush();
    assert_eq!(world.seen(), Seen::default(), "the default");
    world.read(0..2);
    assert_eq!(world.seen(), Seen { misses: 2, ..added(2) });
    world.set("prepopulate_blob_cache", "kFlushOnly");
    world.put(2..4);
    world.flush();
    assert_eq!(world.seen(), added(2));
    world.set("prepopulate_blob_cache", "kDisable");
    world.put(4..6);
    world.flush();
    assert_eq!(world.seen(), Seen::default());
}

#[test]
fn compressed_blobs_are_in_the_cache_without_compression() {
    let mut world = CachedBlobs::open(
        CacheOptions::lru(1 << 20),
        &format!("{WARM};blob_compression_type=kLZ4Compression"),
    );
    world.put(0..3);
    world.flush();
    assert_eq!(world.seen(), added(3));
    assert!(world.cache.usage() >= 3 * VALUE_BYTES, "{} bytes", world.cache.usage());
    world.read(0..3);
    assert_eq!(world.seen(), found(3));
}

#[test]
fn a_full_cache_with_a_strict_limit_does_not_fail_the_flush() {
    let strict =
        CacheOptions { strict_capacity_limit: true, num_shard_bits: 0, ..CacheOptions::lru(VALUE_BYTES / 2) };
    let mut world = CachedBlobs::open(strict, WARM);
    world.put(0..3);
    world.flush();
    assert_eq!(world.seen(), Seen { refused: 3, ..Seen::default() });
    assert_eq!(world.cache.usage(), 0);
    world.read(0..3);
    assert_eq!(world.seen(), Seen { misses: 3, refused: 3, ..Seen::default() });
}

#[test]
fn a_direct_write_puts_its_blobs_into_the_cache() {
    let mut world =
        CachedBlobs::open(CacheOptions::lru(1 << 20), &format!("{WARM};enable_blob_direct_write=true"));
    world.put(0..3);
    assert_eq!(world.seen(), added(3), "the write wrote the blob file");
    world.read(0..3);
    assert_eq!(world.seen(), found(3));
    world.flush();
    assert_eq!(world.seen(), Seen::default(), "the flush writes no blob");
    world.read(0..3);
    assert_eq!(world.seen(), found(3));
    world.set("prepopulate_blob_cache", "kDisable");
    world.put(3..4);
    assert_eq!(world.seen(), Seen::default());
}
