//! The row cache: which reads it answers, and that it changes no answer.

use std::sync::Arc;

use base::stats::{Statistics, Ticker};
use env::rng::SeededRng;
use env::{Env, Rng};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, ReadTier, WriteOptions,
};
use ironstone_engine::sequence::Snapshot;
use mem::cache::{CacheOptions, Role};
use table::sst::BlockCache;

use crate::basic::options;

const KEYS: u64 = 12;

struct Rows {
    db: Db,
    cache: Arc<BlockCache>,
    statistics: Arc<Statistics>,
    counted: (u64, u64),
}

impl Rows {
    fn open(env: &Env, capacity: usize, family: &str) -> Rows {
        let cache = BlockCache::new(CacheOptions::lru(capacity)).unwrap();
        Rows::open_with(env, cache, family)
    }

    fn open_with(env: &Env, cache: Arc<BlockCache>, family: &str) -> Rows {
        let statistics = Arc::new(Statistics::new());
        let db = DbOptions {
            row_cache: Some(cache.clone()),
            statistics: Some(statistics.clone()),
            ..options(env)
        };
        let mut own =
            FamilyOptions { merge_operator: lsm::merge::by_name("stringappend"), ..FamilyOptions::default() };
        own.update("disable_auto_compactions=true").unwrap();
        own.update(family).unwrap();
        let db = Db::open(OpenRequest::new("/db", db, own)).unwrap();
        Rows { db, cache, statistics, counted: (0, 0) }
    }

    fn get(&self, key: &str, options: &ReadOptions) -> Option<String> {
        let family = self.db.default_family().unwrap();
        let value = self.db.get(&family, key.as_bytes(), options).unwrap();
        value.map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    fn multi_get(&self, keys: &[String], options: &ReadOptions) -> Vec<Option<String>> {
        let family = self.db.default_family().unwrap();
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let values = self.db.multi_get(&family, &keys, options).into_iter();
        values.map(|value| value.unwrap().map(|value| String::from_utf8_lossy(&value).into_owned())).collect()
    }

    fn put(&self, key: &str, value: &str) {
        crate::basic::put(&self.db, key, value);
    }

    fn flush(&self) {
        self.db.flush(&[self.db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }

    fn compact(&self) {
        let family = self.db.default_family().unwrap();
        self.db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    }

    /// Returns the hits and misses since the last call.
    fn counts(&mut self) -> (u64, u64) {
        let now = (self.statistics.ticker(Ticker::RowCacheHit), self.statistics.ticker(Ticker::RowCacheMiss));
        let new = (now.0 - self.counted.0, now.1 - self.counted.1);
        self.counted = now;
        new
    }

    fn blocks_read(&self) -> u64 {
        self.statistics.ticker(Ticker::BlockCacheDataHit) + self.statistics.ticker(Ticker::BlockCacheDataMiss)
    }
}

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn at(snapshot: &Arc<Snapshot>) -> ReadOptions {
    ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() }
}

#[test]
fn the_second_get_of_a_key_reads_no_block() {
    let mut rows = Rows::open(&Env::memory(31), 1 << 20, "");
    rows.put("a", "1");
    rows.put("b", "2");
    rows.flush();
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("1"));
    assert_eq!(rows.counts(), (0, 1));
    let blocks = rows.blocks_read();
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("1"));
    assert_eq!(rows.counts(), (1, 0));
    assert_eq!(rows.blocks_read(), blocks);
    let memory = ReadOptions { read_tier: ReadTier::BlockCache, ..plain() };
    assert_eq!(rows.get("a", &memory).as_deref(), Some("1"));
    assert_eq!(rows.multi_get(&["a".into(), "b".into()], &plain()), [Some("1".into()), Some("2".into())]);
    assert_eq!(rows.counts(), (2, 1), "b is read for the first time");
    let usage = rows.cache.role_usage()[Role::Misc as usize];
    assert_eq!((usage.count, usage.bytes > 0), (2, true));
}

#[test]
fn a_key_that_a_file_does_not_have_gets_no_row() {
    let mut rows = Rows::open(&Env::memory(32), 1 << 20, "");
    rows.put("a", "1");
    rows.put("c", "3");
    rows.flush();
    assert_eq!(rows.get("b", &plain()), None);
    assert_eq!(rows.get("b", &plain()), None);
    assert_eq!(rows.counts(), (0, 2));
    assert_eq!(rows.cache.occupancy(), 0);
}

#[test]
fn a_row_of_a_deletion_hides_the_older_value() {
    let mut rows = Rows::open(&Env::memory(33), 1 << 20, "");
    rows.put("a", "1");
    rows.flush();
    let family = rows.db.default_family().unwrap();
    rows.db.delete(&family, b"a", &WriteOptions::default()).unwrap();
    rows.flush();
    for expected in [(0, 1), (1, 0)] {
        assert_eq!(rows.get("a", &plain()), None);
        assert_eq!(rows.counts(), expected);
    }
}

#[test]
fn a_snapshot_inside_of_a_file_has_its_own_row() {
    let mut rows = Rows::open(&Env::memory(34), 1 << 20, "");
    rows.put("a", "old");
    let inside = rows.db.snapshot();
    rows.put("a", "new");
    rows.flush();
    let above = rows.db.snapshot();
    assert_eq!(rows.get("a", &at(&inside)).as_deref(), Some("old"));
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("new"));
    assert_eq!(rows.counts(), (0, 2));
    assert_eq!(rows.get("a", &at(&inside)).as_deref(), Some("old"));
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("new"));
    assert_eq!(rows.get("a", &at(&above)).as_deref(), Some("new"));
    assert_eq!(rows.counts(), (3, 0));
}

#[test]
fn databases_that_share_a_row_cache_do_not_share_rows() {
    let (one, two) = (Env::memory(35), Env::memory(36));
    let one = Rows::open(&one, 1 << 20, "");
    let two = Rows::open_with(&two, one.cache.clone(), "");
    for (rows, value) in [(&one, "1"), (&two, "2")] {
        rows.put("a", value);
        rows.flush();
    }
    for _ in 0..2 {
        assert_eq!(one.get("a", &plain()).as_deref(), Some("1"));
        assert_eq!(two.get("a", &plain()).as_deref(), Some("2"));
    }
    assert_eq!(one.cache.occupancy(), 2);
}

#[test]
fn a_row_cache_without_room_changes_no_answer() {
    let env = Env::memory(37);
    let strict = CacheOptions { strict_capacity_limit: true, ..CacheOptions::lru(1) };
    let mut rows = Rows::open_with(&env, BlockCache::new(strict).unwrap(), "");
    rows.put("a", "1");
    rows.flush();
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("1"));
    assert_eq!(rows.get("a", &plain()).as_deref(), Some("1"));
    assert_eq!(rows.counts(), (0, 2));
}

#[test]
fn a_row_of_a_blob_index_reads_the_blob_file() {
    let mut rows = Rows::open(&Env::memory(38), 1 << 20, "enable_blob_files=true;min_blob_size=10");
    let value = "v".repeat(100);
    rows.put("a", &value);
    rows.flush();
    for expected in [(0, 1), (1, 0)] {
        assert_eq!(rows.get("a", &plain()).as_ref(), Some(&value));
        assert_eq!(rows.counts(), expected);
    }
}

/// Returns the value of the key as an iterator shows it. Iterators do not use the row cache.
fn iterated(rows: &Rows, key: &str, options: &ReadOptions) -> Option<String> {
    let family = rows.db.default_family().unwrap();
    let mut iter = rows.db.iter(&family, options.clone()).unwrap();
    iter.seek(key.as_bytes());
    iter.status().unwrap();
    let is_here = iter.valid() && iter.key() == key.as_bytes();
    is_here.then(|| String::from_utf8_lossy(iter.value()).into_owned())
}

fn step(rows: &Rows, rng: &SeededRng, snapshots: &mut Vec<Arc<Snapshot>>) {
    let family = rows.db.default_family().unwrap();
    let key = format!("k{:02}", rng.below(KEYS));
    let write = WriteOptions::default();
    match rng.below(20) {
        0..=5 => rows.put(&key, &format!("v{}", rng.below(1000))),
        6..=9 => rows.db.merge(&family, key.as_bytes(), b"m", &write).unwrap(),
        10 | 11 => rows.db.delete(&family, key.as_bytes(), &write).unwrap(),
        12 | 13 => {
            let end = format!("k{:02}", rng.below(KEYS) + 1);
            if key < end {
                rows.db.delete_range(&family, key.as_bytes(), end.as_bytes(), &write).unwrap();
            }
        }
        14 | 15 => snapshots.push(rows.db.snapshot()),
        16 if !snapshots.is_empty() => drop(snapshots.remove(rng.below(snapshots.len() as u64) as usize)),
        17 | 18 => rows.flush(),
        19 if rng.below(3) == 0 => rows.compact(),
        _ => {}
    }
}

#[test]
fn gets_through_the_row_cache_return_what_iterators_show() {
    for seed in 0..12 {
        let mut rows = Rows::open(&Env::memory(100 + seed), 16 << 10, "");
        let rng = SeededRng::new(seed);
        let mut snapshots = Vec::new();
        let (mut hits, mut misses) = (0, 0);
        for _ in 0..150 {
            step(&rows, &rng, &mut snapshots);
            let mut options = match rng.below(snapshots.len() as u64 + 1) as usize {
                0 => plain(),
                n => at(&snapshots[n - 1]),
            };
            options.ignore_range_deletions = rng.below(4) == 0;
            let keys: Vec<String> = (0..KEYS).map(|key| format!("k{key:02}")).collect();
            let shown: Vec<_> = keys.iter().map(|key| iterated(&rows, key, &options)).collect();
            let got: Vec<_> = keys.iter().map(|key| rows.get(key, &options)).collect();
            assert_eq!(got, shown, "seed {seed}");
            assert_eq!(rows.multi_get(&keys, &options), shown, "seed {seed}");
            let (hit, missed) = rows.counts();
            hits += hit;
            misses += missed;
        }
        assert!(hits > 100 && misses > 100, "seed {seed}: {hits} hits, {misses} misses");
        drop(snapshots);
    }
}

#[test]
fn a_hit_of_the_row_cache_is_a_wasted_read_of_the_sst_file() {
    let env = Env::memory(21);
    let mut rows = Rows::open(&env, 1 << 20, "read_triggered_compaction_threshold=1000000");
    rows.put("a", "1");
    rows.flush();
    let family = rows.db.default_family().unwrap();
    rows.db.delete(&family, b"a", &WriteOptions::default()).unwrap();
    rows.flush();
    // Each line of the property ends with the estimated reads, in parentheses.
    let wasted = |rows: &Rows| {
        let list = rows.db.properties().text(&family, "rocksdb.sstables").unwrap();
        let ends = list.lines().filter_map(|line| line.strip_suffix(')')?.rsplit_once('('));
        ends.map(|(_, reads)| reads.parse::<u64>().unwrap()).sum::<u64>()
    };
    let options = ReadOptions::default();
    assert_eq!(rows.get("a", &options), None);
    rows.counts();
    let before = wasted(&rows);
    // One read of 1,024 is counted, so 100,000 reads are counted about 100 times.
    for _ in 0..100_000 {
        assert_eq!(rows.get("a", &options), None);
    }
    assert_eq!(rows.counts(), (100_000, 0));
    let between = wasted(&rows);
    assert!(between > before);
    for _ in 0..10_000 {
        assert_eq!(rows.multi_get(&vec!["a".to_string(); 10], &options), vec![None; 10]);
    }
    assert_eq!(rows.counts().1, 0);
    assert!(wasted(&rows) > between);
}
