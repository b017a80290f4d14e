//! Timestamps that are turned on and off over existing files: the comparator `NAME.u64ts` in the place of `NAME`, and back. The
//! SST files and the WALs from before have keys without timestamps. Also the records of such SST files in the MANIFEST, after a
//! repair and an import.

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{
    Checkpoint, Db, Family, FamilyDescriptor, ImportColumnFamilyOptions, Kind, Options, ReadOptions,
    WriteOptions,
};
use testkit::chance::Chance;

use crate::releases::entries;

const PLAIN: &str = "comparator=leveldb.BytewiseComparator;disable_auto_compactions=true;\
                     allow_concurrent_memtable_write=false;merge_operator=stringappend;\
                     avoid_flush_during_shutdown=true;persist_user_defined_timestamps=true";
const STAMPED: &str = "comparator=leveldb.BytewiseComparator.u64ts;persist_user_defined_timestamps=false";

/// Returns the options without timestamps and with timestamps, of one file system.
pub fn both(text: &str) -> (Options, Options) {
    let mut plain = Options::in_memory();
    plain.update(PLAIN).unwrap();
    plain.update(text).unwrap();
    let mut stamped = plain.clone();
    stamped.update(STAMPED).unwrap();
    (plain, stamped)
}

/// Keys around the length of a timestamp, two of each length, in their order.
pub fn keys() -> Vec<Vec<u8>> {
    let key = |(len, last): (usize, u8)| [vec![b'u'; len - 1], vec![last]].concat();
    let mut keys: Vec<_> =
        [1, 7, 8, 9, 20].into_iter().flat_map(|len| [(len, b'1'), (len, b'2')]).map(key).collect();
    keys.sort();
    keys
}

pub fn put(db: &Family, key: &[u8], ts: u64, value: &[u8]) {
    db.put_with_ts(key, &ts.to_le_bytes(), value, &WriteOptions::default()).unwrap();
}

pub fn at(ts: u64) -> ReadOptions {
    ReadOptions { timestamp: Some(ts.to_le_bytes().to_vec()), ..ReadOptions::default() }
}

/// The newest entries of the keys that a scan finds at a timestamp.
pub fn scan(db: &Family, reading: ReadOptions) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = entries(db.iter_with(reading.clone()).unwrap());
    for (key, value) in &rows {
        let found = db.get_with(key, &reading).unwrap();
        assert_eq!(found.as_deref(), Some(&value[..]), "{}", key.escape_ascii());
    }
    rows
}

pub fn rows_of(keys: &[Vec<u8>], value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    keys.iter().map(|key| (key.clone(), value.to_vec())).collect()
}

const TABLES: [&str; 3] = [
    "",
    "block_based_table_factory={index_type=kTwoLevelIndexSearch;partition_filters=true;filter_policy=bloomfilter:10:false}",
    "block_based_table_factory={index_type=kBinarySearchWithFirstKey;block_size=16;filter_policy=bloomfilter:10:false}",
];

#[test]
fn sst_files_from_before_timestamps_keep_their_keys() {
    for table in TABLES {
        let (plain, stamped) = both(table);
        let db = Db::open("data", plain.clone()).unwrap();
        for key in keys() {
            db.put(&key, b"old").unwrap();
        }
        db.put(b"v", b"old").unwrap();
        db.flush().unwrap();
        db.delete_range(b"v", b"w").unwrap();
        db.flush().unwrap();
        drop(db);
        for _ in 0..2 {
            let db = Db::open("data", stamped.clone()).unwrap();
            assert_eq!(scan(&db, at(0)), rows_of(&keys(), b"old"));
        }
        let db = Db::open("data", stamped.clone()).unwrap();
        for key in keys() {
            put(&db, &key, 4, b"new");
            assert_eq!(db.get_with(&key, &at(3)).unwrap().as_deref(), Some(&b"old"[..]));
        }
        assert_eq!(scan(&db, at(3)), rows_of(&keys(), b"old"));
        assert_eq!(scan(&db, at(4)), rows_of(&keys(), b"new"));
        drop(db);
        // The last open flushes the WAL.
        let db = Db::open("data", stamped.clone()).unwrap();
        db.delete_with_ts(&keys()[0], &5u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&db, at(9)), rows_of(&keys()[1..], b"new"));
        drop(db);
        let db = Db::open("data", plain.clone()).unwrap();
        assert_eq!(scan(&db, ReadOptions::default()), rows_of(&keys()[1..], b"new"));
        db.put(&keys()[0], b"new").unwrap();
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&db, ReadOptions::default()), rows_of(&keys(), b"new"));
        drop(db);
        let db = Db::open("data", stamped).unwrap();
        assert_eq!(scan(&db, at(9)), rows_of(&keys(), b"new"));
    }
}

#[test]
fn a_compaction_of_sst_files_from_before_timestamps_keeps_their_keys() {
    let (plain, stamped) = both("");
    let db = Db::open("data", plain).unwrap();
    for round in [b"1", b"2"] {
        for key in keys() {
            db.put(&key, round).unwrap();
        }
        db.flush().unwrap();
    }
    drop(db);
    let db = Db::open("data", stamped.clone()).unwrap();
    db.increase_full_history_ts_low(&7u64.to_le_bytes()).unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(scan(&db, at(9)), rows_of(&keys(), b"2"));
    drop(db);
    assert_eq!(scan(&Db::open("data", stamped).unwrap(), at(9)), rows_of(&keys(), b"2"));
}

#[test]
fn wal_entries_from_before_timestamps_get_the_oldest_timestamp() {
    for text in
        ["", "avoid_flush_during_recovery=true", "avoid_flush_during_recovery=true;recycle_log_file_num=2"]
    {
        let (plain, stamped) = both(text);
        let db = Db::open("data", plain).unwrap();
        for key in keys() {
            db.put(&key, b"old").unwrap();
            db.merge(&key, b"er").unwrap();
        }
        db.put(b"v", b"gone").unwrap();
        db.delete(b"v").unwrap();
        db.put(b"w", b"gone").unwrap();
        db.delete_range(b"w", b"x").unwrap();
        drop(db);
        let reader = Db::open_read_only("data", stamped.clone()).unwrap();
        assert_eq!(scan(&reader, at(0)), rows_of(&keys(), b"old,er"));
        drop(reader);
        for _ in 0..2 {
            let db = Db::open("data", stamped.clone()).unwrap();
            assert_eq!(scan(&db, at(1)), rows_of(&keys(), b"old,er"), "{text}");
        }
        let db = Db::open("data", stamped.clone()).unwrap();
        for key in keys() {
            put(&db, &key, 3, b"new");
        }
        drop(db);
        // The WAL has entries without timestamps, then entries with timestamps.
        let db = Db::open("data", stamped.clone()).unwrap();
        assert_eq!(scan(&db, at(9)), rows_of(&keys(), b"new"), "{text}");
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&db, at(9)), rows_of(&keys(), b"new"), "{text}");
    }
}

#[test]
fn wal_entries_lose_their_timestamps_if_timestamps_are_turned_off() {
    for text in
        ["", "avoid_flush_during_recovery=true", "avoid_flush_during_recovery=true;recycle_log_file_num=2"]
    {
        let (plain, stamped) = both(text);
        let db = Db::open("data", stamped.clone()).unwrap();
        for key in keys() {
            put(&db, &key, 3, b"old");
            put(&db, &key, 5, b"new");
        }
        put(&db, b"v", 3, b"gone");
        db.delete_with_ts(b"v", &4u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        put(&db, b"w", 3, b"gone");
        db.delete_range_with_ts(b"w", b"x", &4u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        drop(db);
        let reader = Db::open_read_only("data", plain.clone()).unwrap();
        assert_eq!(scan(&reader, ReadOptions::default()), rows_of(&keys(), b"new"), "{text}");
        drop(reader);
        for _ in 0..2 {
            let db = Db::open("data", plain.clone()).unwrap();
            assert_eq!(scan(&db, ReadOptions::default()), rows_of(&keys(), b"new"), "{text}");
        }
        let db = Db::open("data", plain.clone()).unwrap();
        for key in keys() {
            db.put(&key, b"newest").unwrap();
        }
        drop(db);
        // The WALs have entries with timestamps, then entries without timestamps.
        let db = Db::open("data", plain.clone()).unwrap();
        assert_eq!(scan(&db, ReadOptions::default()), rows_of(&keys(), b"newest"), "{text}");
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        drop(db);
        assert_eq!(scan(&Db::open("data", stamped).unwrap(), at(9)), rows_of(&keys(), b"newest"), "{text}");
    }
}

#[test]
fn a_repair_keeps_the_boundaries_of_sst_files_without_timestamps() {
    for damaged in [false, true] {
        let (plain, stamped) = both("file_checksum_gen_factory=FileChecksumGenCrc32cFactory");
        let fs = plain.db.env.fs.clone();
        let db = Db::open("data", plain.clone()).unwrap();
        for key in keys() {
            db.put(&key, b"0").unwrap();
        }
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        drop(db);
        let db = Db::open("data", stamped.clone()).unwrap();
        for (ts, key) in (1..).zip(keys()) {
            put(&db, &key, ts, b"1");
            db.flush().unwrap();
        }
        let files = db.live_files();
        assert_eq!(files.len(), keys().len() + 1);
        db.close().unwrap();
        drop(db);
        if damaged {
            // The footer is damaged, so repair writes the SST file again without its properties.
            for file in [&files[0], &files[files.len() - 1]] {
                let bytes = fs.read_all(&file.path, u64::MAX).unwrap();
                fs.unlink(&file.path).unwrap();
                let mut out = fs.create(&file.path, &Default::default()).unwrap();
                out.append(&bytes[..bytes.len() - 1]).unwrap();
                out.close().unwrap();
            }
        } else {
            fs.unlink(Path::new("data/CURRENT")).unwrap();
        }
        let report = ironstone::repair("data", stamped.clone(), Vec::new()).unwrap();
        assert!(report.problems.iter().all(|found| found.weight != ironstone::Weight::Loss), "{report:?}");
        for _ in 0..2 {
            let db = Db::open("data", stamped.clone()).unwrap();
            assert_eq!(scan(&db, at(99)), rows_of(&keys(), b"1"), "{damaged}");
        }
        let db = Db::open("data", stamped.clone()).unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&db, at(99)), rows_of(&keys(), b"1"));
        drop(db);
        let db = Db::open("data", plain).unwrap();
        assert_eq!(scan(&db, ReadOptions::default()), rows_of(&keys(), b"1"));
    }
}

#[test]
fn an_import_without_timestamps_keeps_its_first_and_last_keys_after_a_reopen() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut plain, mut stamped) = both("");
    plain.db.env = Options::default().db.env;
    stamped.db.env = plain.db.env.clone();
    for before in [false, true] {
        let dir = |name: &str| scratch.path().join(format!("{name}-{before}"));
        let (from, to) = (dir("from"), dir("to"));
        if before {
            let db = Db::open(&from, plain.clone()).unwrap();
            keys().iter().for_each(|key| db.put(key, b"1").unwrap());
            db.flush().unwrap();
        }
        let db = Db::open(&from, stamped.clone()).unwrap();
        if !before {
            keys().iter().for_each(|key| put(&db, key, 1, b"1"));
            db.flush().unwrap();
        }
        let export = Checkpoint::new(&db).export_column_family(&db, dir("export")).unwrap();
        drop(db);
        let db = Db::open(&to, stamped.clone()).unwrap();
        let copy = || FamilyDescriptor::new("copy", stamped.family.clone());
        let how = ImportColumnFamilyOptions { move_files: false };
        let family = db.create_family_with_import(copy(), &how, &[&export]).unwrap();
        assert_eq!(scan(&family, at(9)), rows_of(&keys(), b"1"));
        drop((family, db));
        let descriptors = || vec![copy()];
        for _ in 0..2 {
            let db = Db::open_with_families(&to, stamped.clone(), descriptors()).unwrap();
            assert_eq!(scan(&db.family("copy").unwrap(), at(9)), rows_of(&keys(), b"1"));
        }
        let db = Db::open_with_families(&to, stamped.clone(), descriptors()).unwrap();
        let family = db.family("copy").unwrap();
        family.delete_with_ts(&keys()[0], &5u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        family.flush().unwrap();
        family.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(scan(&family, at(9)), rows_of(&keys()[1..], b"1"));
    }
}

#[test]
fn a_manifest_that_states_other_timestamps_is_not_reused() {
    let (plain, stamped) = both("reuse_manifest_on_open=true");
    let db = Db::open("data", stamped.clone()).unwrap();
    put(&db, b"other", 1, b"0");
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    let db = Db::open("data", plain.clone()).unwrap();
    keys().iter().for_each(|key| db.put(key, b"1").unwrap());
    db.delete(b"other").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    let db = Db::open("data", stamped.clone()).unwrap();
    assert_eq!(scan(&db, at(9)), rows_of(&keys(), b"1"));
    db.close().unwrap();
    drop(db);
    let mut persisted = plain.clone();
    persisted.update("persist_user_defined_timestamps=false").unwrap();
    Db::open("data", persisted).unwrap().close().unwrap();
    let mut wrong = stamped.clone();
    wrong.update("persist_user_defined_timestamps=true").unwrap();
    assert_eq!(Db::open("data", wrong).err().unwrap().kind(), Kind::InvalidArgument);
    assert_eq!(scan(&Db::open("data", plain).unwrap(), ReadOptions::default()), rows_of(&keys(), b"1"));
}

#[test]
fn a_family_without_timestamps_flushes_and_compacts_after_it_had_a_history() {
    let (plain, stamped) = both("");
    let db = Db::open("data", stamped).unwrap();
    put(&db, b"a", 6, b"1");
    db.flush().unwrap();
    assert!(db.full_history_ts_low().is_some());
    drop(db);
    let db = Db::open("data", plain).unwrap();
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn a_repair_of_a_damaged_wal_keeps_the_keys_from_before_a_change_of_timestamps() {
    let mut cases: Vec<_> =
        [true, false].into_iter().flat_map(|on| (0..3).map(move |i| (on, i, false))).collect();
    cases.push((true, 0, true));
    for (turned_on, damaged, from_the_start) in cases {
        let pair = || {
            let (plain, stamped) = both("avoid_flush_during_recovery=true");
            if turned_on { (plain, stamped) } else { (stamped, plain) }
        };
        let (before, _) = pair();
        let db = Db::open("data", before.clone()).unwrap();
        for key in keys() {
            match turned_on {
                true => db.put(&key, b"value of the first wal").unwrap(),
                false => put(&db, &key, 3, b"value of the first wal"),
            }
        }
        drop(db);
        let mut bytes = before.db.env.fs.read_all(Path::new("data/000004.log"), u64::MAX).unwrap();
        // RocksDB keeps the WAL from before the change. Here the open would flush the WAL, so another database gets the WAL.
        let (before, now) = pair();
        drop(Db::open("data", before).unwrap());
        drop(Db::open("data", now.clone()).unwrap());
        let fs = now.db.env.fs.clone();
        let names = fs.list(Path::new("data")).unwrap();
        let wal = names.iter().filter(|name| name.ends_with(".log")).max().unwrap();
        let wal = &Path::new("data").join(wal);
        let value = b"value of the first wal";
        let all = bytes.windows(value.len()).enumerate().filter(|(_, window)| window == value);
        let found = all.map(|(at, _)| at).nth(damaged * 4).unwrap();
        // Two wrong bytes: the record is lost.
        bytes[found..found + 2].copy_from_slice(b"XY");
        if from_the_start {
            // The type of the record is lost, too: it could have the sizes of timestamps.
            bytes[..found].fill(b'X');
        }
        fs.unlink(wal).unwrap();
        let mut out = fs.create(wal, &Default::default()).unwrap();
        out.append(&bytes).unwrap();
        out.close().unwrap();
        ironstone::repair("data", now.clone(), Vec::new()).unwrap();
        let db = Db::open("data", now.clone()).unwrap();
        let reading = if turned_on { at(9) } else { ReadOptions::default() };
        let mut expected = rows_of(&keys(), value);
        expected.remove(damaged * 4);
        expected.sort();
        assert_eq!(scan(&db, reading), expected, "{turned_on} {damaged} {from_the_start}");
    }
}

#[test]
fn a_record_of_a_wal_with_a_key_that_is_shorter_than_its_timestamp_is_damaged() {
    let (plain, mut stamped) = both("wal_recovery_mode=kSkipAnyCorruptedRecords");
    let fs = plain.db.env.fs.clone();
    let wal_of = |dir: &str| {
        let names = fs.list(Path::new(dir)).unwrap();
        Path::new(dir).join(names.iter().filter(|name| name.ends_with(".log")).max().unwrap())
    };
    let db = Db::open("plain", plain).unwrap();
    db.put(b"short", b"v").unwrap();
    drop(db);
    let records = fs.read_all(&wal_of("plain"), u64::MAX).unwrap();
    stamped.update("persist_user_defined_timestamps=true").unwrap();
    let db = Db::open("data", stamped.clone()).unwrap();
    put(&db, b"k", 1, b"v");
    drop(db);
    let wal = wal_of("data");
    // The first record has the size of the timestamps: 7 bytes of header, 4 bytes of the column family, 2 bytes of size.
    let mut bytes = fs.read_all(&wal, u64::MAX).unwrap()[..13].to_vec();
    bytes.extend(records);
    fs.unlink(&wal).unwrap();
    let mut out = fs.create(&wal, &Default::default()).unwrap();
    out.append(&bytes).unwrap();
    out.close().unwrap();
    let db = Db::open("data", stamped).unwrap();
    assert_eq!(scan(&db, at(9)), []);
}

/// One of the lives of a database whose timestamps are turned on and off, compared with a model.
fn live(seed: u64) {
    let mut chance = Chance::new(seed);
    let texts =
        ["", "avoid_flush_during_recovery=true", "reuse_manifest_on_open=true", "recycle_log_file_num=2"];
    let (plain, stamped) = both(texts[chance.below(texts.len() as u64) as usize]);
    let (mut model, keys): (BTreeMap<Vec<u8>, Vec<u8>>, _) = (BTreeMap::new(), keys());
    let writing = WriteOptions::default();
    let (mut is_stamped, mut ts) = (chance.percent(50), 0u64);
    for _ in 0..8 {
        let options = if is_stamped { &stamped } else { &plain };
        let db = Db::open("data", options.clone()).unwrap();
        for _ in 0..20 {
            ts += 1;
            let (key, end) = (&keys[chance.below(10) as usize], &keys[chance.below(10) as usize]);
            let (stamp, value) = (ts.to_le_bytes(), ts.to_string().into_bytes());
            match chance.below(10) {
                0 if key < end => {
                    match is_stamped {
                        true => db.delete_range_with_ts(key, end, &stamp, &writing).unwrap(),
                        false => db.delete_range(key, end).unwrap(),
                    }
                    model.retain(|known, _| known < key || known >= end);
                }
                1 => {
                    match is_stamped {
                        true => db.delete_with_ts(key, &stamp, &writing).unwrap(),
                        false => db.delete(key).unwrap(),
                    }
                    model.remove(key);
                }
                2 => {
                    match is_stamped {
                        true => db.merge_with_ts(key, &stamp, &value, &writing).unwrap(),
                        false => db.merge(key, &value).unwrap(),
                    }
                    let old = model.entry(key.clone()).or_default();
                    if !old.is_empty() {
                        old.push(b',');
                    }
                    old.extend(value);
                }
                3 if chance.percent(50) => db.flush().unwrap(),
                4 if chance.percent(25) => db.compact_range(None, None, &Default::default()).unwrap(),
                _ => {
                    match is_stamped {
                        true => put(&db, key, ts, &value),
                        false => db.put(key, &value).unwrap(),
                    }
                    model.insert(key.clone(), value);
                }
            }
        }
        let reading = if is_stamped { at(u64::MAX) } else { ReadOptions::default() };
        let expected: Vec<_> = model.clone().into_iter().collect();
        assert_eq!(scan(&db, reading), expected, "seed {seed}, timestamps {is_stamped}");
        db.close().unwrap();
        drop(db);
        if chance.percent(33) {
            plain.db.env.fs.unlink(Path::new("data/CURRENT")).unwrap();
            ironstone::repair("data", options.clone(), Vec::new()).unwrap();
        }
        is_stamped ^= chance.percent(50);
    }
}

#[test]
fn a_database_keeps_its_entries_through_changes_of_timestamps_and_repairs() {
    (0..40).for_each(live);
}
