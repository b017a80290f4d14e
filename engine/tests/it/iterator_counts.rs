//! What a move of an iterator counts: hidden entries, seeks in place of steps, and merge operands. The numbers are
//! those of RocksDB's `db_iterator_test`, or follow from its `db_iter.cc`.

use std::sync::Arc;

use base::stats::{PerfCounter, Statistics, Ticker, perf_context_reset, perf_counter};
use env::Env;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, ReadOptions, WriteOptions};

use crate::basic::{flush, put};

fn open(seed: u64, options: &[(&str, &str)]) -> (Db, Arc<Statistics>) {
    let env = Env::memory(seed);
    let statistics = Arc::new(Statistics::new());
    let db = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        statistics: Some(statistics.clone()),
        ..DbOptions::default()
    };
    let mut family = FamilyOptions::default();
    for (name, value) in options {
        family.set(name, value).unwrap();
    }
    (Db::open(OpenRequest::new("/db", db, family)).unwrap(), statistics)
}

fn delete(db: &Db, key: &str) {
    db.delete(&db.default_family().unwrap(), key.as_bytes(), &WriteOptions::default()).unwrap();
}

fn merge(db: &Db, key: &str, operand: &str) {
    let options = WriteOptions::default();
    db.merge(&db.default_family().unwrap(), key.as_bytes(), operand.as_bytes(), &options).unwrap();
}

/// Returns the number of keys of a scan forward or backward. `from` starts a scan forward at a key.
fn walk(db: &Db, options: ReadOptions, forward: bool, from: Option<&str>) -> usize {
    let mut iter = db.iter(&db.default_family().unwrap(), options).unwrap();
    match (forward, from) {
        (true, Some(from)) => iter.seek(from.as_bytes()),
        (true, None) => iter.seek_to_first(),
        (false, _) => iter.seek_to_last(),
    }
    let mut keys = 0;
    while iter.valid() {
        keys += 1;
        if forward { iter.next() } else { iter.prev() }
    }
    iter.status().unwrap();
    keys
}

#[test]
fn an_iterator_counts_every_entry_it_passes_in_both_directions() {
    let (db, s) = open(1, &[]);
    ["a", "b", "c"].iter().for_each(|key| put(&db, key, "1"));
    flush(&db);
    ["d", "e", "f"].iter().for_each(|key| put(&db, key, "1"));
    ["a", "b"].iter().for_each(|key| put(&db, key, "2"));
    flush(&db);
    ["d", "e", "f"].iter().for_each(|key| delete(&db, key));
    let skipped = || s.ticker(Ticker::NumberIterSkip);
    assert_eq!((walk(&db, ReadOptions::default(), true, None), skipped()), (3, 8));
    assert_eq!((walk(&db, ReadOptions::default(), false, None), skipped()), (3, 16));
    ["aa", "ab", "ac", "ad"].iter().for_each(|key| put(&db, key, "1"));
    flush(&db);
    ["ab", "ac", "ad"].iter().for_each(|key| delete(&db, key));
    let below_b = || ReadOptions { iterate_upper_bound: Some(b"b".to_vec()), ..ReadOptions::default() };
    assert_eq!((walk(&db, below_b(), true, Some("aa")), skipped()), (1, 22));
    assert_eq!((walk(&db, below_b(), false, None), skipped()), (2, 29));
}

#[test]
fn the_perf_context_counts_hidden_deleted_and_newer_entries_separately() {
    let (db, _) = open(2, &[]);
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    put(&db, "b", "1");
    put(&db, "b", "2");
    put(&db, "c", "1");
    delete(&db, "c");
    let snapshot = db.snapshot();
    put(&db, "b", "3");
    put(&db, "d", "1");
    let read = || ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    let counters = || {
        [
            PerfCounter::InternalKeySkippedCount,
            PerfCounter::InternalDeleteSkippedCount,
            PerfCounter::InternalRecentSkippedCount,
        ]
        .map(perf_counter)
    };
    let mut iter = db.iter(&family, read()).unwrap();
    perf_context_reset();
    iter.seek_to_first();
    assert_eq!(counters(), [0, 0, 0]);
    iter.next();
    assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
    // The step over "a", and the new entry of "b".
    assert_eq!(counters(), [1, 0, 1]);
    iter.next();
    assert!(!iter.valid());
    // The step over "b", its old entry, the tombstone of "c", the entry below the tombstone, and "d".
    assert_eq!(counters(), [4, 1, 2]);
    drop(iter);
    let mut iter = db.iter(&family, read()).unwrap();
    perf_context_reset();
    iter.seek_to_last();
    assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
    // "d" is new; both entries of "c", of which one is a tombstone; two old entries and one new entry of "b".
    assert_eq!(counters(), [4, 1, 2]);
    iter.prev();
    assert_eq!((iter.key(), counters()), (&b"a"[..], [5, 1, 2]));
}

#[test]
fn a_scan_at_an_old_snapshot_steps_over_many_new_keys_without_seeks() {
    let (db, s) = open(3, &[("max_sequential_skip_in_iterations", "3")]);
    put(&db, "a", "1");
    put(&db, "z", "1");
    let snapshot = db.snapshot();
    (0..100).for_each(|i| put(&db, &format!("k{i:03}"), "new"));
    let read = || ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    assert_eq!(walk(&db, read(), true, None), 2);
    assert_eq!(walk(&db, read(), false, None), 2);
    assert_eq!(s.ticker(Ticker::NumberOfReseeksInIteration), 0);
    // Many new entries of one key are skipped by one seek.
    (0..100).for_each(|_| put(&db, "k050", "newer"));
    assert_eq!(walk(&db, read(), true, None), 2);
    assert_eq!(s.ticker(Ticker::NumberOfReseeksInIteration), 1);
    assert_eq!(walk(&db, read(), false, None), 2);
    assert_eq!(s.ticker(Ticker::NumberOfReseeksInIteration), 2);
}

#[test]
fn a_key_with_many_entries_costs_one_reseek_in_each_direction() {
    let (db, s) = open(4, &[("max_sequential_skip_in_iterations", "2")]);
    put(&db, "a", "va");
    flush(&db);
    for i in 0..4 {
        put(&db, "b", &format!("vb{i}"));
        flush(&db);
    }
    put(&db, "c", "vc");
    let reseeks = || s.ticker(Ticker::NumberOfReseeksInIteration);
    let mut iter = db.iter(&db.default_family().unwrap(), ReadOptions::default()).unwrap();
    iter.seek_to_first();
    iter.next();
    assert_eq!((iter.value(), reseeks()), (&b"vb3"[..], 0));
    iter.next();
    assert_eq!((iter.value(), reseeks()), (&b"vc"[..], 1));
    iter.next();
    iter.seek_to_last();
    assert_eq!((iter.value(), reseeks()), (&b"vc"[..], 1));
    iter.prev();
    assert_eq!((iter.value(), reseeks()), (&b"vb3"[..], 2));
    iter.prev();
    assert_eq!((iter.value(), reseeks()), (&b"va"[..], 2));
    iter.prev();
    assert!(!iter.valid());
    assert_eq!(reseeks(), 2);
}

#[test]
fn a_turn_counts_a_reseek_if_the_source_may_lack_the_key() {
    let options = [("prefix_extractor", "fixed:1"), ("merge_operator", "StringAppendOperator")];
    let (db, s) = open(5, &options);
    let family = db.default_family().unwrap();
    put(&db, "foo", "value");
    put(&db, "bar", "value");
    let reseeks = || s.ticker(Ticker::NumberOfReseeksInIteration);
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_last();
    iter.prev();
    iter.next();
    assert_eq!((iter.key(), reseeks()), (&b"foo"[..], 1));
    drop(iter);
    put(&db, "good", "orig");
    merge(&db, "good", "suffix");
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek(b"good");
    assert_eq!((iter.value(), reseeks()), (&b"orig,suffix"[..], 1));
    iter.prev();
    assert_eq!((iter.key(), reseeks()), (&b"foo"[..], 2));
    // In the order of all keys, only an end of the source needs a seek.
    let total = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
    let mut iter = db.iter(&family, total).unwrap();
    iter.seek_to_last();
    iter.prev();
    iter.next();
    assert_eq!((iter.key(), reseeks()), (&b"good"[..], 2));
}

#[test]
fn merge_operands_are_counted_by_the_reading_call() {
    let (db, s) = open(6, &[("merge_operator", "StringAppendOperator")]);
    let family = db.default_family().unwrap();
    put(&db, "k", "0");
    // The flush does not merge over a snapshot.
    let _first = db.snapshot();
    merge(&db, "k", "1");
    let _second = db.snapshot();
    merge(&db, "k", "2");
    flush(&db);
    let counters =
        || [PerfCounter::InternalMergeCount, PerfCounter::InternalMergePointLookupCount].map(perf_counter);
    let operands = || s.histogram_data(base::stats::HistogramKind::ReadNumMergeOperands).count;
    perf_context_reset();
    db.get(&family, b"k", &ReadOptions::default()).unwrap();
    assert_eq!((counters(), operands()), ([0, 2], 1));
    db.multi_get(&family, &[b"k", b"x"], &ReadOptions::default());
    assert_eq!((counters(), operands()), ([0, 4], 2));
    let skipped = || s.ticker(Ticker::NumberIterSkip);
    assert_eq!(walk(&db, ReadOptions::default(), true, None), 1);
    // The base value belongs to the merge, so it is no hidden entry.
    assert_eq!((counters(), operands(), skipped()), ([2, 4], 3, 0));
    assert_eq!(walk(&db, ReadOptions::default(), false, None), 1);
    assert_eq!((counters(), operands(), skipped()), ([4, 4], 4, 2));
    merge(&db, "m", "1");
    db.get(&family, b"m", &ReadOptions::default()).unwrap();
    assert_eq!(counters(), [4, 5]);
}
