//! Reads and writes with timestamps, compared with a model that keeps all entries.

use std::collections::BTreeMap;

use ironstone::{Db, Kind, Options, ReadOptions, ReadTier, ValueType, WriteBatch, WriteOptions};
use testkit::chance::Chance;

fn stamped(text: &str) -> Db {
    let mut options = Options::in_memory();
    options.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    options.update(text).unwrap();
    Db::open("data", options).unwrap()
}

fn read_at(time: u64) -> ReadOptions {
    ReadOptions { timestamp: Some(time.to_le_bytes().to_vec()), ..ReadOptions::default() }
}

fn time(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// All entries of the model: by key, and for one key by timestamp, newest first.
type Versions = BTreeMap<(Vec<u8>, std::cmp::Reverse<u64>), Option<Vec<u8>>>;

fn filled(seed: u64) -> (Db, Versions) {
    let db = stamped("write_buffer_size=65536");
    let (mut chance, mut model) = (Chance::new(seed), Versions::new());
    for now in 1..400u64 {
        let key = vec![b'a' + chance.below(12) as u8];
        if chance.percent(70) {
            let value = chance.bytes(20);
            db.put_with_ts(&key, &now.to_le_bytes(), &value, &WriteOptions::default()).unwrap();
            model.insert((key, std::cmp::Reverse(now)), Some(value));
        } else {
            db.delete_with_ts(&key, &now.to_le_bytes(), &WriteOptions::default()).unwrap();
            model.insert((key, std::cmp::Reverse(now)), None);
        }
        match chance.below(40) {
            0 => db.flush().unwrap(),
            1 => db.compact_range(None, None, &Default::default()).unwrap(),
            _ => {}
        }
    }
    (db, model)
}

#[test]
fn a_get_with_timestamp_is_the_newest_entry_at_or_before_it() {
    let (db, model) = filled(1);
    for at in (0..420).step_by(13) {
        for key in b'a'..b'n' {
            let newest = model
                .range((vec![key], std::cmp::Reverse(at))..)
                .next()
                .filter(|((own, _), _)| *own == [key])
                .map(|((_, stamp), value)| (value.clone(), stamp.0));
            let found = db.get_with_ts(&[key], &read_at(at)).unwrap();
            let found = found.map(|found| (found.value.map(|v| v.to_vec()), time(&found.timestamp)));
            assert_eq!(found, newest, "key {key} at {at}");
        }
    }
}

#[test]
fn an_iterator_from_a_start_timestamp_shows_every_entry_in_both_directions() {
    let (db, model) = filled(2);
    for (from, to) in [(0, 400), (100, 250), (399, 399), (250, 100)] {
        let wanted: Vec<_> = model
            .iter()
            .filter(|((_, stamp), _)| (from..=to).contains(&stamp.0))
            .map(|((key, stamp), value)| (key.clone(), stamp.0, value.clone()))
            .collect();
        let options = ReadOptions { iter_start_ts: Some(u64::to_le_bytes(from).to_vec()), ..read_at(to) };
        let mut iter = db.iter_with(options).unwrap();
        let entry = |iter: &ironstone::Iter| {
            let deleted = iter.value_type() == Some(ValueType::DeletionWithTimestamp);
            let value = (!deleted).then(|| iter.value().to_vec());
            (iter.key().to_vec(), time(iter.timestamp()), value)
        };
        let mut shown = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            shown.push(entry(&iter));
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(shown, wanted, "forward from {from} to {to}");
        shown.clear();
        iter.seek_to_last();
        while iter.valid() {
            shown.push(entry(&iter));
            iter.prev();
        }
        shown.reverse();
        assert_eq!(shown, wanted, "backward from {from} to {to}");
        // Change the direction after each step.
        iter.seek_to_first();
        for (at, expected) in wanted.iter().enumerate() {
            assert_eq!(&entry(&iter), expected);
            if at > 0 {
                iter.prev();
                assert_eq!(entry(&iter), wanted[at - 1]);
                iter.next();
                assert_eq!(&entry(&iter), expected);
            }
            iter.next();
        }
    }
}

#[test]
fn an_open_that_trims_history_leaves_the_entries_up_to_the_timestamp() {
    for (seed, text) in
        [(1, ""), (2, "compaction_style=kCompactionStyleUniversal"), (3, "enable_blob_files=true")]
    {
        let mut options = Options::in_memory();
        options.update("comparator=leveldb.BytewiseComparator.u64ts;write_buffer_size=65536").unwrap();
        options.update(text).unwrap();
        let (mut chance, mut model) = (Chance::new(seed), BTreeMap::new());
        {
            let db = Db::open("data", options.clone()).unwrap();
            for now in 1..200u64 {
                let (key, value) = (vec![b'a' + chance.below(12) as u8], chance.bytes(20));
                match chance.below(10) {
                    0 => {
                        let end = [key[0] + 2];
                        let write = WriteOptions::default();
                        db.delete_range_with_ts(&key, &end, &now.to_le_bytes(), &write).unwrap();
                        (0..2).for_each(|more| drop(model.insert((vec![key[0] + more], now), None)));
                    }
                    1 => db.flush().unwrap(),
                    _ => {
                        db.put_with_ts(&key, &now.to_le_bytes(), &value, &WriteOptions::default()).unwrap();
                        model.insert((key, now), Some(value));
                    }
                }
            }
        }
        let mut late = options.clone();
        late.db.avoid_flush_during_recovery = true;
        let refused = Db::open_and_trim_history("data", late, Vec::new(), &100u64.to_le_bytes());
        assert_eq!(refused.err().unwrap().kind(), Kind::InvalidArgument);
        let refused = Db::open_and_trim_history("data", options.clone(), Vec::new(), b"short");
        assert_eq!(refused.err().unwrap().kind(), Kind::InvalidArgument);
        drop(Db::open_and_trim_history("data", options.clone(), Vec::new(), &100u64.to_le_bytes()).unwrap());
        let db = Db::open("data", options).unwrap();
        for key in (b'a'..=b'n').map(|key| vec![key]) {
            for at in [50, 100, 150, u64::MAX] {
                let wanted = model.range((key.clone(), 0)..=(key.clone(), at.min(100))).next_back();
                let wanted = wanted.and_then(|(_, value)| value.as_deref());
                let found = db.get_with(&key, &read_at(at)).unwrap();
                assert_eq!(found.as_deref(), wanted, "{text}: {key:?} at {at}");
            }
        }
        assert!(db.live_files().iter().all(|file| file.size > 0));
    }
}

#[test]
fn a_start_timestamp_of_another_length_is_refused() {
    let db = stamped("");
    let wrong = ReadOptions { iter_start_ts: Some(vec![0; 4]), ..read_at(1) };
    assert_eq!(db.iter_with(wrong).err().unwrap().kind(), Kind::InvalidArgument);
    let plain = Db::open("data", Options::in_memory()).unwrap();
    let wrong = ReadOptions { iter_start_ts: Some(vec![0; 8]), ..ReadOptions::default() };
    assert_eq!(plain.iter_with(wrong).err().unwrap().kind(), Kind::InvalidArgument);
}

#[test]
fn a_batch_gets_its_timestamps_when_they_are_known() {
    let db = stamped("merge_operator=stringappend");
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1").delete(b"b").merge(b"c", b"x").delete_range(b"d", b"f").put_log_data(b"note");
    assert_eq!(db.write(&mut batch).unwrap_err().kind(), Kind::InvalidArgument);
    let size = |_| 8;
    assert_eq!(batch.update_timestamps(b"short", size).unwrap_err().kind(), Kind::InvalidArgument);
    batch.update_timestamps(&5u64.to_le_bytes(), size).unwrap();
    // A second timestamp takes the place of the first.
    batch.update_timestamps(&7u64.to_le_bytes(), size).unwrap();
    assert_eq!(batch.count(), 4);
    db.write(&mut batch).unwrap();
    assert!(db.get_with_ts(b"a", &read_at(6)).unwrap().is_none());
    let found = db.get_with_ts(b"a", &read_at(7)).unwrap().unwrap();
    assert_eq!((found.value.as_deref(), time(&found.timestamp)), (Some(&b"1"[..]), 7));
    assert_eq!(db.get_with(b"c", &read_at(7)).unwrap().as_deref(), Some(&b"x"[..]));
}

#[test]
fn compaction_drops_history_below_the_low_timestamp_and_reads_there_fail() {
    let db = stamped("");
    for now in 1..=5u64 {
        db.put_with_ts(b"k", &now.to_le_bytes(), &[now as u8], &WriteOptions::default()).unwrap();
    }
    db.increase_full_history_ts_low(&4u64.to_le_bytes()).unwrap();
    let lower = db.increase_full_history_ts_low(&3u64.to_le_bytes());
    // RocksDB's comparators show a timestamp as a number.
    let words = "Current full_history_ts_low: 4 is higher than provided ts: 3";
    assert_eq!(lower.as_ref().unwrap_err().message(), words);
    assert_eq!(lower.unwrap_err().kind(), Kind::InvalidArgument);
    db.flush().unwrap();
    db.compact_range(
        None,
        None,
        &ironstone::CompactRangeOptions {
            bottommost_level_compaction: ironstone::BottommostLevelCompaction::Force,
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(db.get_with(b"k", &read_at(3)).unwrap_err().kind(), Kind::InvalidArgument);
    assert_eq!(db.get_with(b"k", &read_at(4)).unwrap().as_deref(), Some(&[4][..]));
    let all = ReadOptions { iter_start_ts: Some(vec![0; 8]), ..read_at(9) };
    let mut iter = db.iter_with(all).unwrap();
    let mut shown = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        shown.push(time(iter.timestamp()));
        iter.next();
    }
    // The newest entry below the mark stays, because a read at the mark may need it. RocksDB keeps it too.
    assert_eq!(shown.first(), Some(&5));
    assert!(!shown.contains(&1) && !shown.contains(&2), "{shown:?}");
}

/// A blob record has the key of its entry with the timestamp, and a read compares both keys. So a compaction keeps the
/// timestamp of an entry in a blob file, although no read asks for older entries any more.
#[test]
fn a_value_in_a_blob_file_is_found_after_its_history_is_dropped() {
    let db = stamped("enable_blob_files=true;min_blob_size=1;disable_auto_compactions=true");
    for now in [5u64, 6] {
        db.put_with_ts(b"key", &now.to_le_bytes(), b"in a blob file", &WriteOptions::default()).unwrap();
    }
    db.flush().unwrap();
    let family = db.default_family();
    family.increase_full_history_ts_low(&9u64.to_le_bytes()).unwrap();
    let forced = ironstone::CompactRangeOptions {
        bottommost_level_compaction: ironstone::BottommostLevelCompaction::Force,
        ..Default::default()
    };
    db.compact_range(None, None, &forced).unwrap();
    let found = db.get_with_ts(b"key", &read_at(20)).unwrap().expect("the key exists");
    assert_eq!(found.value.as_deref(), Some(&b"in a blob file"[..]));
    let mut iter = db.iter_with(read_at(20)).unwrap();
    iter.seek_to_last();
    assert_eq!(iter.value(), b"in a blob file");
    iter.prev();
    assert!(!iter.valid(), "the entry of timestamp 5 is dropped");
}

/// RocksDB: `Get` with a timestamp of a key that a range tombstone deletes.
#[test]
fn the_timestamp_of_a_key_in_a_deleted_range_is_that_of_the_range_tombstone() {
    let db = stamped("");
    for round in 0..3 {
        db.put_with_ts(b"k", &5u64.to_le_bytes(), b"v", &WriteOptions::default()).unwrap();
        db.delete_range_with_ts(b"a", b"m", &7u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        for key in [&b"k"[..], b"b"] {
            let found = db.get_with_ts(key, &read_at(9)).unwrap().expect("a range tombstone");
            assert_eq!((found.value, time(&found.timestamp)), (None, 7), "round {round}");
        }
        let found = db.get_with_ts(b"k", &read_at(6)).unwrap().unwrap();
        assert_eq!((found.value.as_deref(), time(&found.timestamp)), (Some(&b"v"[..]), 5), "round {round}");
        let all = ReadOptions { ignore_range_deletions: true, ..read_at(9) };
        assert_eq!(time(&db.get_with_ts(b"k", &all).unwrap().unwrap().timestamp), 5);
        assert!(db.get_with_ts(b"b", &read_at(6)).unwrap().is_none());
        assert!(db.get_with_ts(b"z", &read_at(9)).unwrap().is_none());
        match round {
            0 => db.flush().unwrap(),
            _ => db.compact_range(None, None, &Default::default()).unwrap(),
        }
    }
}

#[test]
fn a_get_with_timestamp_reads_the_tier_that_the_options_name() {
    let db = stamped("");
    db.put_with_ts(b"file", &5u64.to_le_bytes(), b"v", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put_with_ts(b"memory", &6u64.to_le_bytes(), b"v", &unlogged).unwrap();
    let tier = |read_tier| ReadOptions { read_tier, ..read_at(9) };
    let has = |key: &[u8], of| db.get_with_ts(key, &tier(of)).map(|found| found.is_some());
    assert!(has(b"file", ReadTier::All).unwrap() && has(b"memory", ReadTier::All).unwrap());
    assert!(has(b"file", ReadTier::Memtable).unwrap() && has(b"memory", ReadTier::Memtable).unwrap());
    assert!(has(b"file", ReadTier::Persisted).unwrap() && !has(b"memory", ReadTier::Persisted).unwrap());
    assert!(has(b"file", ReadTier::BlockCache).unwrap(), "the block was read before");
}

#[test]
fn a_value_of_a_family_without_timestamps_has_an_empty_timestamp() {
    let plain = Db::open("plain", Options::in_memory()).unwrap();
    plain.put(b"k", b"v").unwrap();
    let found = plain.get_with_ts(b"k", &ReadOptions::default()).unwrap().unwrap();
    assert_eq!((found.value.as_deref(), &found.timestamp[..]), (Some(&b"v"[..]), &b""[..]));
    assert!(plain.get_with_ts(b"absent", &ReadOptions::default()).unwrap().is_none());
    let error = plain.get_with_ts(b"k", &read_at(9)).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidArgument);
}

#[test]
fn a_merge_without_timestamp_fails_as_a_put_with_and_without_merge_operator() {
    for text in ["", "merge_operator=stringappend"] {
        let db = stamped(text);
        let put = db.put(b"k", b"1").unwrap_err();
        let merge = db.merge(b"k", b"1").unwrap_err();
        assert_eq!(merge.kind(), Kind::InvalidArgument, "{text}: {merge}");
        assert_eq!(merge.message(), put.message(), "{text}");
    }
}

#[test]
fn a_timestamp_that_goes_back_leaves_one_entry_of_the_bottommost_level() {
    let db = stamped("");
    let put_in = |key: &[u8], time: u64, value: &[u8]| {
        db.put_with_ts(key, &time.to_le_bytes(), value, &WriteOptions::default())
    };
    let put = |time: u64, value: &[u8]| put_in(b"k", time, value);
    put(11, b"first").unwrap();
    db.flush().unwrap();
    put(23, b"newest").unwrap();
    let snapshot = db.snapshot();
    db.increase_full_history_ts_low(&25u64.to_le_bytes()).unwrap();
    db.flush().unwrap();
    put(12, b"late").unwrap();
    put_in(b"l", 12, b"other").unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    let options = ReadOptions { snapshot: Some(snapshot.held()), ..read_at(30) };
    for options in [read_at(30), options] {
        assert_eq!(db.get_with(b"k", &options).unwrap().as_deref(), Some(&b"newest"[..]));
    }
    put(31, b"next").unwrap();
    assert_eq!(db.get_with(b"k", &read_at(31)).unwrap().as_deref(), Some(&b"next"[..]));
}

/// Sequence numbers and timestamps of the key: put 11 @1, `newest` 23 @2, a snapshot, `late` 12 @3.
#[test]
fn an_entry_behind_a_later_write_with_an_older_timestamp_stays_hidden() {
    for single in [false, true] {
        let db = stamped("");
        let at = |time: u64| time.to_le_bytes();
        let write = WriteOptions::default();
        db.put_with_ts(b"k", &at(11), b"first", &write).unwrap();
        db.flush().unwrap();
        if single {
            db.put_with_ts(b"k", &at(23), b"newest", &write).unwrap();
        } else {
            db.delete_with_ts(b"k", &at(23), &write).unwrap();
        }
        let _snapshot = db.snapshot();
        db.increase_full_history_ts_low(&at(25)).unwrap();
        db.flush().unwrap();
        if single {
            db.single_delete_with_ts(b"k", &at(12), &write).unwrap();
        } else {
            db.put_with_ts(b"k", &at(12), b"late", &write).unwrap();
        }
        db.put_with_ts(b"l", &at(12), b"other", &write).unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        let wanted = single.then_some(&b"newest"[..]);
        assert_eq!(db.get_with(b"k", &read_at(30)).unwrap().as_deref(), wanted, "{single}");
        db.put_with_ts(b"k", &at(31), b"next", &write).unwrap();
        assert_eq!(db.get_with(b"k", &read_at(31)).unwrap().as_deref(), Some(&b"next"[..]));
    }
}
