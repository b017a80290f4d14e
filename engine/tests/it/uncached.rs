//! `uncache_aggressiveness`: the blocks of obsolete SST files leave the block cache.

use std::sync::Arc;

use env::Env;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, FamilyOptions, FlushOptions, ReadOptions,
    WaitForCompactOptions,
};
use mem::cache::CacheOptions;
use table::sst::BlockCache;

use crate::basic::{get, options, put};

const KEYS: usize = 600;

struct Cached {
    db: Db,
    cache: Arc<BlockCache>,
}

impl Cached {
    /// Opens a database with one SST file. No block of its file is in the cache.
    fn open(family: &str) -> Cached {
        let cache = BlockCache::new(CacheOptions::lru(64 << 20)).unwrap();
        let mut own = FamilyOptions::default();
        own.update("disable_auto_compactions=true;compression=kNoCompression").unwrap();
        own.update(family).unwrap();
        let mut request = OpenRequest::new("/db", options(&Env::memory(1)), own);
        request.components.block_cache = Some(cache.clone());
        let cached = Cached { db: Db::open(request).unwrap(), cache };
        for at in 0..KEYS {
            put(&cached.db, &format!("key{at:06}"), &"v".repeat(500));
        }
        cached.flush();
        cached
    }

    fn flush(&self) {
        self.db.flush(&[self.db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }

    fn read(&self, keys: std::ops::Range<usize>) {
        for at in keys {
            assert!(get(&self.db, &format!("key{at:06}")).is_some());
        }
    }

    /// Writes the SST file again, and waits for the deletion of the old file.
    fn compact(&self) {
        let family = self.db.default_family().unwrap();
        let how = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db.compactions().compact_range(&family, None, None, &how).unwrap();
        self.purge();
    }

    fn purge(&self) {
        let how = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
        self.db.background().wait_for_compact_with(&how).unwrap();
    }
}

/// Returns the number of cached blocks before and after a compaction that makes the file obsolete.
fn blocks(family: &str, read: std::ops::Range<usize>) -> (usize, usize) {
    let cached = Cached::open(family);
    cached.read(read);
    let before = cached.cache.occupancy();
    cached.compact();
    (before, cached.cache.occupancy())
}

#[test]
fn blocks_of_an_obsolete_file_leave_the_cache() {
    let (before, after) = blocks("uncache_aggressiveness=1", 0..KEYS);
    assert!(before > 70 && after < 5, "{before} {after}");
    let (before, after) = blocks("uncache_aggressiveness=0", 0..KEYS);
    assert!(before > 70 && after >= before, "{before} {after}");
}

#[test]
fn a_low_aggressiveness_stops_at_the_first_block_that_is_not_cached() {
    let (before, after) = blocks("uncache_aggressiveness=1", KEYS / 2..KEYS);
    assert!(before > 30 && after >= before, "{before} {after}");
    let (before, after) = blocks("uncache_aggressiveness=10000", KEYS / 2..KEYS);
    assert!(before > 30 && after < 5, "{before} {after}");
}

#[test]
fn partitions_of_index_and_filter_leave_the_cache() {
    let table = "block_based_table_factory={cache_index_and_filter_blocks=true;partition_filters=true;\
                 index_type=kTwoLevelIndexSearch;metadata_block_size=256;filter_policy=bloomfilter:10:false}";
    let (before, kept) = blocks(table, 0..KEYS);
    let (_, after) = blocks(&format!("{table};uncache_aggressiveness=300"), 0..KEYS);
    assert!(before > 80 && kept >= before && after + before <= kept, "{before} {kept} {after}");
}

#[test]
fn a_file_that_an_iterator_uses_keeps_its_blocks_until_the_iterator_ends() {
    let cached = Cached::open("uncache_aggressiveness=300");
    let family = cached.db.default_family().unwrap();
    let mut iter = cached.db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_first();
    cached.read(0..KEYS);
    let before = cached.cache.occupancy();
    cached.compact();
    assert!(cached.cache.occupancy() >= before);
    let mut entries = 0;
    while iter.valid() {
        entries += 1;
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(entries, KEYS);
    drop(iter);
    cached.purge();
    assert!(cached.cache.occupancy() < 5, "{}", cached.cache.occupancy());
}
