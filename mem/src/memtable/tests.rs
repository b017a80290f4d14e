use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Order;
use base::SequenceNumber;
use base::iter::InternalIterator;
use base::key::{InternalOrder, MAX_SEQUENCE, ValueType, seek_key, user_key};
use base::order::BuiltinPrefix;

use super::*;
use crate::rep::tree::Cursor;

mod estimates;
mod model;

fn options(rep: RepKind) -> MemTableOptions {
    MemTableOptions { rep, ..MemTableOptions::new(InternalOrder::new(Order::Bytewise)) }
}

fn table(rep: RepKind) -> Arc<MemTable> {
    MemTable::new(options(rep), 1, SequenceNumber::new(1))
}

fn newest(table: &MemTable, key: &[u8], seq: u64) -> Option<Vec<u8>> {
    let mut found = None;
    table
        .get(key, SequenceNumber::new(seq), |version| {
            found = Some(version.value.to_vec());
            ControlFlow::Break(())
        })
        .unwrap();
    found
}

fn forward(table: &Arc<MemTable>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = table.iter();
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn backward(table: &Arc<MemTable>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = table.iter();
    let mut rows = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    rows.reverse();
    rows
}

/// A cheap random number generator with a fixed seed, so that tests are repeatable.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

#[test]
fn versions_come_newest_first_and_no_newer_than_the_snapshot() {
    for rep in [RepKind::SkipList, RepKind::Vector] {
        let table = table(rep);
        for seq in [3, 1, 2, 5, 4] {
            table
                .add(SequenceNumber::new(seq), ValueType::Value, b"k", format!("v{seq}").as_bytes())
                .unwrap();
        }
        table.add(SequenceNumber::new(9), ValueType::Value, b"j", b"other").unwrap();
        table.add(SequenceNumber::new(9), ValueType::Value, b"ka", b"other").unwrap();
        let mut seen = Vec::new();
        table
            .get(b"k", SequenceNumber::new(4), |v| {
                seen.push((v.seq.get(), v.value.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
        let want: Vec<_> = [4u64, 3, 2, 1].iter().map(|s| (*s, format!("v{s}").into_bytes())).collect();
        assert_eq!(seen, want);
        assert_eq!(newest(&table, b"kb", MAX_SEQUENCE.get()), None);
    }
}

#[test]
fn counts_follow_what_is_added() {
    let table = table(RepKind::SkipList);
    assert!(table.is_empty());
    assert_eq!((table.first_seq(), table.largest_seq()), (SequenceNumber::ZERO, SequenceNumber::ZERO));
    {
        let mut writer = table.writer();
        writer.add(SequenceNumber::new(7), ValueType::Value, b"a", b"1").unwrap();
        writer.add(SequenceNumber::new(8), ValueType::Deletion, b"b", b"").unwrap();
    }
    table.add_range_tombstone(SequenceNumber::new(9), b"c", b"d").unwrap();
    let counts = table.counts();
    assert_eq!((counts.entries, counts.deletes, counts.range_deletes), (2, 1, 1));
    assert_eq!((table.first_seq(), table.largest_seq()), (SequenceNumber::new(7), SequenceNumber::new(9)));
    assert!(counts.data_size >= 22 && table.memory_used() > counts.data_size as usize);
}

#[test]
fn the_same_key_and_sequence_is_refused() {
    let table = table(RepKind::SkipList);
    table.add(SequenceNumber::new(7), ValueType::Value, b"a", b"1").unwrap();
    let error = table.add(SequenceNumber::new(7), ValueType::Value, b"a", b"2").unwrap_err();
    assert_eq!(error.kind(), base::Kind::TryAgain);
    table.add(SequenceNumber::new(8), ValueType::Value, b"a", b"2").unwrap();
    assert_eq!(table.counts().entries, 2);
}

#[test]
fn entries_that_do_not_belong_are_rejected() {
    let table = table(RepKind::SkipList);
    assert!(table.add(SequenceNumber::new(1), ValueType::LogData, b"a", b"").is_err());
    table.make_immutable();
    assert!(table.add(SequenceNumber::new(1), ValueType::Value, b"a", b"").is_err());
    assert!(table.add_range_tombstone(SequenceNumber::new(1), b"a", b"b").is_err());
    assert_eq!(RepKind::parse("skip_list:16").unwrap(), RepKind::SkipList);
    assert_eq!(RepKind::parse("vector").unwrap(), RepKind::Vector);
    assert_eq!(RepKind::parse("prefix_hash:1000").unwrap_err().kind(), base::Kind::NotSupported);
    assert_eq!(RepKind::parse("skip_list:x").unwrap_err().kind(), base::Kind::InvalidArgument);
}

#[test]
fn a_pinned_value_outlives_iterator_and_handle() {
    let table = table(RepKind::SkipList);
    table.add(SequenceNumber::new(1), ValueType::Value, b"a", b"value").unwrap();
    let mut pinned = None;
    table
        .get(b"a", SequenceNumber::new(9), |v| {
            pinned = Some(v.pin(&table));
            ControlFlow::Break(())
        })
        .unwrap();
    let mut iter = table.iter();
    iter.seek_to_first();
    let other = iter.pin_value();
    drop(iter);
    drop(table);
    assert_eq!(pinned.unwrap(), b"value");
    assert!(other.is_shared());
    assert_eq!(other, b"value");
}

#[test]
fn ascending_keys_fill_their_leaves() {
    let table = table(RepKind::SkipList);
    let n = if cfg!(miri) { 200u64 } else { 20_000 };
    for i in 0..n {
        table.add(SequenceNumber::new(i + 1), ValueType::Value, &i.to_be_bytes(), b"v").unwrap();
    }
    let per_entry = table.memory_used() as f64 / n as f64;
    assert!(cfg!(miri) || per_entry < 20.0 + 17.0, "{per_entry}");
    assert_eq!(forward(&table).len() as u64, n);
    assert_eq!(backward(&table), forward(&table));
}

#[test]
fn the_filter_excludes_and_never_denies() {
    let table = MemTable::new(
        MemTableOptions {
            prefix_bloom_size_ratio: 0.1,
            whole_key_filtering: true,
            prefix_extractor: Some(Arc::new(BuiltinPrefix::Fixed(2))),
            write_buffer_size: 1 << 18,
            ..options(RepKind::SkipList)
        },
        1,
        SequenceNumber::new(1),
    );
    let keys = if cfg!(miri) { 50 } else { 500u64 };
    for i in 0..keys {
        table.add(SequenceNumber::new(i + 1), ValueType::Value, format!("{i:05}").as_bytes(), b"v").unwrap();
    }
    assert!((0..keys).all(|i| newest(&table, format!("{i:05}").as_bytes(), MAX_SEQUENCE.get()).is_some()));
    let excluded = (keys..3 * keys).filter(|i| table.definitely_misses(format!("{i:05}").as_bytes())).count();
    assert!(excluded as u64 > 2 * keys * 95 / 100, "{excluded}");
    assert!(!table.prefix_definitely_misses(b"00999"));
    assert!(table.prefix_definitely_misses(b"zz999"));
}

#[test]
fn protection_bytes_are_checked() {
    for protection in [1, 2, 4, 8] {
        let table = MemTable::new(
            MemTableOptions { protection_bytes_per_key: protection, ..options(RepKind::SkipList) },
            1,
            SequenceNumber::new(1),
        );
        table.add(SequenceNumber::new(1), ValueType::Value, b"key", b"value").unwrap();
        table.add(SequenceNumber::new(2), ValueType::Value, b"kez", b"value").unwrap();
        assert_eq!(newest(&table, b"key", 9), Some(b"value".to_vec()));
        assert_eq!(forward(&table).len(), 2);
    }
    let wrong = MemTableOptions { protection_bytes_per_key: 3, ..options(RepKind::SkipList) };
    assert!(wrong.check().is_err());
}

/// Changes the last byte of a stored user key, as failing memory could.
fn spoil(table: &MemTable, key: &[u8], to: u8) {
    let mut cursor = Cursor::new();
    cursor.seek(table.rep.tree().unwrap(), &table.entries, &table.entries.target(key, u64::MAX));
    // SAFETY: the length of the entry takes one byte, and the key follows. No thread reads the entry at this
    // time.
    unsafe { table.entries.arena.at(cursor.place()).add(key.len()).write(to) };
}

#[test]
fn checked_memtables_find_changed_memory() {
    for (paranoid_checks, protection_bytes_per_key, shows) in
        [(true, 0, false), (false, 4, false), (true, 8, false), (true, 0, true), (false, 4, true)]
    {
        let options = MemTableOptions {
            paranoid_checks,
            allow_data_in_errors: shows,
            verify_on_seek: true,
            protection_bytes_per_key,
            ..options(RepKind::SkipList)
        };
        let table = MemTable::new(options, 1, SequenceNumber::new(1));
        for (seq, key) in (1..).zip(["k1", "k3", "k5", "k7", "k9"]) {
            table.add(SequenceNumber::new(seq), ValueType::Value, key.as_bytes(), b"value").unwrap();
        }
        assert_eq!(newest(&table, b"k5", 9), Some(b"value".to_vec()));
        assert_eq!(newest(&table, b"k4", 9), None);
        assert_eq!(forward(&table).len(), 5);
        let mut iter = table.iter();
        iter.seek_to_last();
        iter.prev();
        assert_eq!(user_key(iter.key()), b"k7");
        iter.seek(&seek_key(b"k4", SequenceNumber::new(9)));
        assert_eq!(user_key(iter.key()), b"k5");
        iter.seek_for_prev(&seek_key(b"k4", SequenceNumber::new(9)));
        assert_eq!(user_key(iter.key()), b"k3");
        spoil(&table, b"k5", b'8');
        let error = table
            .get(b"k1", SequenceNumber::new(9), |_: FoundEntry<'_>| ControlFlow::Break(()))
            .err()
            .unwrap()
            .to_string();
        let named = ["k7", "k8"].iter().any(|key| error.contains(key));
        assert_eq!((named, error.contains("a key of 2 bytes")), (shows, !shows), "{error}");
        let visit = |_: FoundEntry<'_>| ControlFlow::Break(());
        // The searched key is not the changed key, but the search compares the changed key.
        assert!(table.get(b"k1", SequenceNumber::new(9), visit).is_err());
        assert!(table.multi_get(&[b"k1"], SequenceNumber::new(9), |_, _| ControlFlow::Break(())).is_err());
        iter.seek(&seek_key(b"k1", SequenceNumber::new(9)));
        assert!(!iter.valid() && iter.status().is_err());
        iter.seek_for_prev(&seek_key(b"k3", SequenceNumber::new(1)));
        assert!(!iter.valid() && iter.status().is_err());
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        assert!(iter.status().is_err());
    }
}

#[test]
fn range_tombstones_are_seen_at_once() {
    let table = table(RepKind::SkipList);
    assert_eq!(table.max_covering_tombstone(b"a", SequenceNumber::new(99)), None);
    let all = if cfg!(miri) { 12 } else { 100u64 };
    for i in 0..all {
        let key = |n: u64| format!("{n:03}").into_bytes();
        table.add_range_tombstone(SequenceNumber::new(i + 1), &key(i), &key(i + 2)).unwrap();
        assert_eq!(
            table.max_covering_tombstone(&key(i), SequenceNumber::new(999)),
            Some(SequenceNumber::new(i + 1))
        );
        assert_eq!(
            table.max_covering_tombstone(&key(i), SequenceNumber::new(i)),
            if i == 0 { None } else { Some(i) }.map(SequenceNumber::new)
        );
    }
    assert_eq!(table.range_tombstones().tombstone_count() as u64, all);
}

#[test]
fn timestamps_bound_what_a_look_up_sees() {
    let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
    let table = MemTable::new(MemTableOptions::new(InternalOrder::new(order)), 1, SequenceNumber::new(1));
    let key = |k: &str, ts: u64| [k.as_bytes(), &ts.to_le_bytes()].concat();
    table.add(SequenceNumber::new(1), ValueType::Value, &key("a", 10), b"ten").unwrap();
    table.add(SequenceNumber::new(2), ValueType::Value, &key("a", 20), b"twenty").unwrap();
    table.add(SequenceNumber::new(3), ValueType::Value, &key("b", 20), b"b").unwrap();
    assert_eq!(newest(&table, &key("a", 25), 9), Some(b"twenty".to_vec()));
    assert_eq!(newest(&table, &key("a", 15), 9), Some(b"ten".to_vec()));
    assert_eq!(newest(&table, &key("a", 25), 1), Some(b"ten".to_vec()), "an older snapshot");
    assert_eq!(newest(&table, &key("a", 5), 9), None);
}

#[test]
fn the_newest_timestamp_is_exact_up_to_the_largest_number() {
    let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
    let options =
        MemTableOptions { tracks_timestamps: true, ..MemTableOptions::new(InternalOrder::new(order)) };
    let table = MemTable::new(options, 1, SequenceNumber::new(1));
    assert_eq!(table.newest_timestamp(), None);
    for (seq, timestamp, newest) in
        [(1, 0, 0), (2, 7, 7), (3, 5, 7), (4, u64::MAX, u64::MAX), (5, 1, u64::MAX)]
    {
        let key = [&b"k"[..], &u64::to_le_bytes(timestamp)].concat();
        table.add(SequenceNumber::new(seq), ValueType::Value, &key, b"v").unwrap();
        assert_eq!(table.newest_timestamp(), Some(newest), "after {timestamp}");
    }
}

#[test]
fn many_look_ups_at_once_answer_like_one_by_one() {
    let table = table(RepKind::SkipList);
    let mut random = Lcg(7);
    let n = if cfg!(miri) { 150 } else { 5000 };
    for seq in 1..=n {
        let key = format!("{:06}", random.next() % (2 * n));
        table.add(SequenceNumber::new(seq), ValueType::Value, key.as_bytes(), &seq.to_le_bytes()).unwrap();
    }
    let keys: Vec<String> = (0..100).map(|_| format!("{:06}", random.next() % (2 * n))).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|k| k.as_bytes()).collect();
    let mut many = vec![Vec::new(); keys.len()];
    table
        .multi_get(&keys, SequenceNumber::new(n / 2), |i, v| {
            many[i].push(v.value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    for (key, many) in keys.iter().zip(many) {
        let mut one = Vec::new();
        table
            .get(key, SequenceNumber::new(n / 2), |v| {
                one.push(v.value.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(one, many);
    }
}

/// Writers add disjoint keys in different patterns. Readers check that no announced key is missing, and
/// that a walk returns keys in order.
#[test]
fn concurrent_readers_miss_no_entry_and_see_keys_in_order() {
    let per_writer = if cfg!(miri) { 30 } else { 30_000u64 };
    const WRITERS: u64 = 3;
    let table = table(RepKind::SkipList);
    let announced: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    // Bijections of 0..2^20: ascending, descending, scattered; interleaved over the whole key space.
    let nth = |writer: u64, i: u64| -> u64 {
        let place = match writer {
            0 => i * 3,
            1 => (per_writer - i) * 3,
            _ => (i * 7919 % per_writer) * 3,
        };
        place * WRITERS + writer
    };
    std::thread::scope(|scope| {
        let (table, announced, done) = (&table, &announced, &done);
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                scope.spawn(move || {
                    for i in 0..per_writer {
                        let seq = i * WRITERS + w + 1;
                        table
                            .add(
                                SequenceNumber::new(seq),
                                ValueType::Value,
                                &nth(w, i).to_be_bytes(),
                                &seq.to_le_bytes(),
                            )
                            .unwrap();
                        announced[w as usize].store(i + 1, Ordering::Release);
                    }
                })
            })
            .collect();
        for reader in 0..2u64 {
            scope.spawn(move || {
                let mut random = Lcg(reader);
                while !done.load(Ordering::Acquire) {
                    let before: Vec<u64> = announced.iter().map(|a| a.load(Ordering::Acquire)).collect();
                    for _ in 0..20 {
                        let w = random.next() % WRITERS;
                        if before[w as usize] > 0 {
                            let i = random.next() % before[w as usize];
                            let got = newest(table, &nth(w, i).to_be_bytes(), MAX_SEQUENCE.get());
                            assert_eq!(got, Some((i * WRITERS + w + 1).to_le_bytes().to_vec()));
                        }
                    }
                    let rows = if reader == 0 { forward(table) } else { backward(table) };
                    assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "out of order or twice");
                    assert!(rows.len() as u64 >= before.iter().sum::<u64>(), "lost in iteration");
                }
            });
        }
        writers.into_iter().for_each(|w| w.join().unwrap());
        done.store(true, Ordering::Release);
    });
    assert_eq!(forward(&table).len() as u64, WRITERS * per_writer);
    assert_eq!(backward(&table), forward(&table));
    let mut iter = table.iter();
    for w in 0..WRITERS {
        iter.seek(&seek_key(&nth(w, 5).to_be_bytes(), MAX_SEQUENCE));
        assert_eq!(base::key::user_key(iter.key()), nth(w, 5).to_be_bytes());
    }
}

#[test]
fn a_model_of_many_overwrites_keeps_every_version() {
    let table = table(RepKind::SkipList);
    let mut model: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut random = Lcg(11);
    for seq in 1..=if cfg!(miri) { 200 } else { 20_000u64 } {
        let key = random.next() % 7;
        table
            .add(SequenceNumber::new(seq), ValueType::Merge, &key.to_be_bytes(), &seq.to_le_bytes())
            .unwrap();
        model.entry(key).or_default().push(seq);
    }
    for (key, seqs) in model {
        let mut got = Vec::new();
        table
            .get(&key.to_be_bytes(), MAX_SEQUENCE, |v| {
                got.push(v.seq.get());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(got.iter().eq(seqs.iter().rev()));
    }
}

#[test]
fn renumbered_memtable_equals_one_that_was_filled_with_the_numbers() {
    for (rep, protection) in [(RepKind::SkipList, 0), (RepKind::SkipList, 8), (RepKind::Vector, 4)] {
        let options = MemTableOptions { protection_bytes_per_key: protection, ..options(rep) };
        let mut renumbered = MemTable::new(options.clone(), 1, SequenceNumber::ZERO);
        let filled = MemTable::new(options, 7, SequenceNumber::new(1000));
        for i in 1..=500u64 {
            let key = format!("key{:03}", i * 37 % 200);
            let value_type = if i % 5 == 0 { ValueType::Deletion } else { ValueType::Value };
            renumbered.add(SequenceNumber::new(i), value_type, key.as_bytes(), &i.to_le_bytes()).unwrap();
            filled.add(SequenceNumber::new(1000 + i), value_type, key.as_bytes(), &i.to_le_bytes()).unwrap();
        }
        renumber(Arc::get_mut(&mut renumbered).unwrap(), 7, SequenceNumber::new(1000)).unwrap();
        assert_eq!(forward(&renumbered), forward(&filled), "{rep:?}, {protection} bytes of protection");
        assert_eq!(backward(&renumbered), backward(&filled));
        let numbers =
            |table: &MemTable| (table.id(), table.earliest_seq(), table.first_seq(), table.largest_seq());
        assert_eq!(numbers(&renumbered), numbers(&filled));
        assert_eq!(newest(&renumbered, b"key037", 1001), newest(&filled, b"key037", 1001));
        assert_eq!(newest(&renumbered, b"key037", 1000), None);
    }
}

#[test]
fn renumbering_beyond_the_last_sequence_number_changes_nothing() {
    let mut table = table(RepKind::SkipList);
    table.add(SequenceNumber::new(3), ValueType::Value, b"k", b"v").unwrap();
    let before = forward(&table);
    let inner = Arc::get_mut(&mut table).unwrap();
    renumber(inner, 1, MAX_SEQUENCE - 2).unwrap_err();
    inner.add_range_tombstone(SequenceNumber::new(4), b"a", b"b").unwrap();
    renumber(inner, 1, SequenceNumber::new(1)).unwrap_err();
    assert_eq!(forward(&table), before);
}

/// Inserts keys of several lengths, and seeks after each insert. A tree that has just grown has a root of two children, and the key
/// between them may be shorter than the key that is sought.
#[test]
fn keys_in_a_custom_order_are_found_while_the_tree_grows() {
    for name in ["rocksdb.ReverseBytewiseComparator.u64ts", "leveldb.BytewiseComparator.u64ts"] {
        let order = InternalOrder::new(Order::by_name(name).unwrap());
        for seed in 1..if cfg!(miri) { 3 } else { 60 } {
            let mut random = Lcg(seed);
            let mut draw = |seq: u64| {
                let text = &b"~\0\xff"[..random.next() as usize % 4];
                let user_key = [text, &(random.next() % 200).to_le_bytes()].concat();
                [
                    &user_key[..],
                    &base::key::pack(SequenceNumber::new(seq), ValueType::Value as u8).to_le_bytes(),
                ]
                .concat()
            };
            let table = MemTable::new(MemTableOptions::new(order.clone()), 1, SequenceNumber::new(1));
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for seq in 1..=70 {
                let key = draw(seq);
                table.add(SequenceNumber::new(seq), ValueType::Value, user_key(&key), b"v").unwrap();
                keys.insert(keys.partition_point(|k| order.compare(k, &key).is_lt()), key);
                let mut iter = table.iter();
                for _ in 0..10 {
                    let target = draw(500);
                    iter.seek(&target);
                    let expect = keys.iter().find(|key| order.compare(key, &target).is_ge());
                    let found = iter.valid().then(|| iter.key().to_vec());
                    assert_eq!(found.as_ref(), expect, "{name}, seed {seed}, {seq} entries");
                }
            }
            let mut iter = table.iter();
            iter.seek_to_first();
            for key in &keys {
                assert_eq!(iter.key(), key, "{name}, seed {seed}");
                iter.next();
            }
            assert!(!iter.valid());
        }
    }
}
