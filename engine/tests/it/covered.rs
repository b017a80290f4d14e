//! Range tombstones under iterators: the entries that they delete, and the cost of skipping these entries.

use base::stats::{PerfCounter, PerfLevel, perf_context_reset, perf_counter, set_perf_level};
use ironstone_engine::db::Db;
use ironstone_engine::options::{
    CompactRangeOptions, FamilyOptions, ReadOptions, SizeApproximationOptions, WriteOptions,
};

use crate::basic::{flush, open, put};

const KEYS: usize = 20_000;

fn key(i: usize) -> String {
    format!("key{i:08}")
}

/// Returns a database with 20,000 keys on one level. One range tombstone, in the memtable or in a level-0 file,
/// deletes all but the first and the last ten keys.
fn with_deleted(seed: u64, tombstone: &str) -> (env::Env, Db) {
    let env = env::Env::memory(seed);
    let options = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
    let db = open(&env, options);
    (0..KEYS).for_each(|i| put(&db, &key(i), "some value or other"));
    flush(&db);
    let family = db.default_family().unwrap();
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    db.delete_range(&family, key(10).as_bytes(), key(KEYS - 10).as_bytes(), &WriteOptions::default())
        .unwrap();
    if tombstone != "memtable" {
        flush(&db);
    }
    (env, db)
}

fn blocks_touched() -> u64 {
    perf_counter(PerfCounter::BlockReadCount) + perf_counter(PerfCounter::BlockCacheHitCount)
}

#[test]
fn iterators_skip_the_range_of_a_newer_range_tombstone() {
    for (seed, tombstone) in [(71, "memtable"), (72, "level 0")] {
        let (_env, db) = with_deleted(seed, tombstone);
        let family = db.default_family().unwrap();
        set_perf_level(PerfLevel::EnableCount);
        let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
        let mut counted =
            |what: &str, go: &mut dyn FnMut(&mut ironstone_engine::iter::Iter) -> usize, keys: usize| {
                perf_context_reset();
                assert_eq!(go(&mut iter), keys, "{tombstone}: {what}");
                iter.status().unwrap();
                assert!(blocks_touched() < 12, "{tombstone}: {what} touched {} blocks", blocks_touched());
                assert!(perf_counter(PerfCounter::InternalRangeDelReseekCount) > 0, "{tombstone}: {what}");
            };
        counted(
            "a scan",
            &mut |iter| {
                let mut keys = 0;
                iter.seek_to_first();
                while iter.valid() {
                    keys += 1;
                    iter.next();
                }
                keys
            },
            20,
        );
        counted(
            "a scan backward",
            &mut |iter| {
                let mut keys = 0;
                iter.seek_to_last();
                while iter.valid() {
                    keys += 1;
                    iter.prev();
                }
                keys
            },
            20,
        );
        counted(
            "a seek into the middle",
            &mut |iter| {
                iter.seek(key(KEYS / 2).as_bytes());
                assert_eq!(iter.key(), key(KEYS - 10).as_bytes());
                1
            },
            1,
        );
        counted(
            "a seek backward into the middle",
            &mut |iter| {
                iter.seek_for_prev(key(KEYS / 2).as_bytes());
                assert_eq!(iter.key(), key(9).as_bytes());
                1
            },
            1,
        );
        set_perf_level(PerfLevel::Disable);
    }
}

#[test]
fn ignored_tombstones_hide_nothing() {
    let (_env, db) = with_deleted(73, "level 0");
    let family = db.default_family().unwrap();
    let options = ReadOptions { ignore_range_deletions: true, ..ReadOptions::default() };
    let mut iter = db.iter(&family, options).unwrap();
    let mut keys = 0;
    iter.seek_to_first();
    while iter.valid() {
        keys += 1;
        iter.next();
    }
    assert_eq!(keys, KEYS);
}

#[test]
fn a_table_with_only_range_tombstones_counts_with_its_bounds() {
    let env = env::Env::memory(74);
    let db = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    db.delete_range(&family, b"d", b"p", &WriteOptions::default()).unwrap();
    flush(&db);
    let options = SizeApproximationOptions::default();
    let size = |from: &[u8], to: &[u8]| db.reads().approximate_size(&family, from, to, &options).unwrap();
    let whole = size(b"a", b"z");
    assert!(whole > 0);
    // As in RocksDB, a file that the range cuts on one side counts half, and a file that the range cuts on
    // both sides counts whole.
    for (from, to, expected) in [
        ("a", "c", 0),
        ("q", "z", 0),
        ("a", "m", whole / 2),
        ("m", "z", whole - whole / 2),
        ("f", "m", whole),
    ] {
        assert_eq!(size(from.as_bytes(), to.as_bytes()), expected, "{from} to {to}");
    }
}

#[test]
fn a_get_reads_no_source_below_a_range_tombstone() {
    for (seed, tombstone, blocks_max) in [(75, "memtable", 0), (76, "level 0", 1)] {
        let (_env, db) = with_deleted(seed, tombstone);
        let family = db.default_family().unwrap();
        let (hidden, left) = (key(KEYS / 2), key(5));
        set_perf_level(PerfLevel::EnableCount);
        perf_context_reset();
        assert_eq!(db.get(&family, hidden.as_bytes(), &ReadOptions::default()).unwrap(), None);
        assert!(blocks_touched() <= blocks_max, "{tombstone}: {} blocks", blocks_touched());
        perf_context_reset();
        let keys = [hidden.as_bytes(), left.as_bytes()];
        let found = db.multi_get(&family, &keys[..1], &ReadOptions::default());
        assert!(matches!(found[..], [Ok(None)]));
        assert!(blocks_touched() <= blocks_max, "{tombstone}: {} blocks", blocks_touched());
        set_perf_level(PerfLevel::Disable);
        let found = db.multi_get(&family, &keys, &ReadOptions::default());
        assert!(matches!(&found[..], [Ok(None), Ok(Some(_))]));
        // An entry in the same source that is newer than the tombstone.
        put(&db, &hidden, "again");
        let value = db.get(&family, hidden.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(value.as_deref(), Some(&b"again"[..]));
        let ignoring = ReadOptions { ignore_range_deletions: true, ..ReadOptions::default() };
        assert!(db.get(&family, key(KEYS / 3).as_bytes(), &ignoring).unwrap().is_some());
    }
}

#[test]
fn a_newer_entry_in_the_source_of_a_range_tombstone_is_found() {
    for (seed, flushed) in [(77, false), (78, true)] {
        let (_env, db) = with_deleted(seed, "memtable");
        let family = db.default_family().unwrap();
        let again = key(KEYS / 2);
        put(&db, &again, "again");
        if flushed {
            flush(&db);
        }
        let hidden = key(KEYS / 3);
        let keys = [again.as_bytes(), hidden.as_bytes()];
        let options = ReadOptions::default();
        for (key, found) in keys.iter().zip(db.multi_get(&family, &keys, &options)) {
            let found = found.unwrap();
            assert_eq!(found.as_deref(), db.get(&family, key, &options).unwrap().as_deref());
            assert_eq!(found.is_some(), *key == again.as_bytes(), "flushed: {flushed}");
        }
    }
}
