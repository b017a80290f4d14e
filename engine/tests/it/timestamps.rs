//! Column families with timestamps: compactions, range deletions, and the rules of calls with and without timestamps.

use std::sync::Arc;

use ironstone_engine::batch::WriteBatch;
use ironstone_engine::db::Db;
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

use crate::basic;

/// An in-memory database whose default family has 64-bit timestamps, small SST files and no automatic compactions.
fn open(env: &env::Env) -> (Db, Arc<Family>) {
    let db = basic::open(env, options());
    let family = db.default_family().unwrap();
    (db, family)
}

fn options() -> FamilyOptions {
    let mut options = FamilyOptions::default();
    for (name, value) in [
        ("comparator", "leveldb.BytewiseComparator.u64ts"),
        ("compression", "kNoCompression"),
        ("disable_auto_compactions", "true"),
        ("target_file_size_base", "4096"),
    ] {
        options.set(name, value).unwrap();
    }
    options
}

fn write(db: &Db, fill: impl FnOnce(&mut WriteBatch)) -> base::Result<()> {
    let mut batch = WriteBatch::new();
    fill(&mut batch);
    db.write(&mut batch, &WriteOptions::default())
}

fn put(db: &Db, family: &Family, key: &str, timestamp: u64, value: &[u8]) {
    write(db, |batch| {
        batch.put_at(family.id(), key.as_bytes(), &timestamp.to_le_bytes(), value);
    })
    .unwrap();
}

fn flush(db: &Db, family: &Arc<Family>) {
    db.flush(std::slice::from_ref(family), &FlushOptions::default()).unwrap();
}

fn at(timestamp: u64) -> ReadOptions {
    ReadOptions { timestamp: Some(timestamp.to_le_bytes().to_vec()), ..ReadOptions::default() }
}

/// Key and newest timestamp of every key.
fn newest(db: &Db, family: &Arc<Family>) -> Vec<(String, u64)> {
    let mut iter = db.iter(family, at(u64::MAX)).unwrap();
    iter.seek_to_first();
    let mut out = Vec::new();
    while iter.valid() {
        let key = String::from_utf8(iter.key().to_vec()).unwrap();
        out.push((key, u64::from_le_bytes(iter.timestamp().try_into().unwrap())));
        iter.next();
    }
    iter.status().unwrap();
    out
}

fn forced(max_subcompactions: u32) -> CompactRangeOptions {
    CompactRangeOptions {
        max_subcompactions,
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    }
}

/// 20 keys with 100 versions each, in two overlapping SST files of level 0.
fn fill_two_files(db: &Db, family: &Arc<Family>) {
    for half in 0..2u64 {
        for key in 0..20 {
            for version in 0..50u64 {
                put(db, family, &format!("key{key:02}"), half * 50 + version + 1, &[b'v'; 100]);
            }
        }
        flush(db, family);
    }
}

#[test]
fn subcompactions_keep_every_version_of_a_key() {
    let env = env::Env::memory(1);
    let (db, family) = open(&env);
    fill_two_files(&db, &family);
    let before = newest(&db, &family);
    assert_eq!(before.len(), 20);
    db.compact_range(&family, None, None, &forced(4)).unwrap();
    assert_eq!(newest(&db, &family), before);
    let mut iter = db.versions(&family).unwrap();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    assert_eq!(count, 2000, "no version may be dropped: no history mark is set");
}

#[test]
fn range_deletions_and_newer_versions_can_be_compacted() {
    let env = env::Env::memory(2);
    let (db, family) = open(&env);
    write(&db, |batch| {
        batch.delete_range_at(family.id(), b"key00", b"key99", &1u64.to_le_bytes());
    })
    .unwrap();
    for half in 0..2 {
        (half..90).step_by(2).for_each(|key| put(&db, &family, &format!("key{key:02}"), 2, &[b'v'; 500]));
        flush(&db, &family);
    }
    db.compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    // Newer versions of the first key of an SST file, and of a few keys after it.
    (10..20).for_each(|key| put(&db, &family, &format!("key{key:02}"), 3, &[b'w'; 500]));
    flush(&db, &family);
    db.compact_range(&family, None, None, &forced(1)).unwrap();
    let rows = newest(&db, &family);
    assert_eq!(rows.len(), 90);
    assert!(rows[10..20].iter().all(|row| row.1 == 3) && rows[20..].iter().all(|row| row.1 == 2));
    // The same with several subcompactions, which cut the range deletion.
    (10..80).for_each(|key| put(&db, &family, &format!("key{key:02}"), 4, &[b'x'; 500]));
    flush(&db, &family);
    db.compact_range(&family, None, None, &forced(3)).unwrap();
    assert_eq!(newest(&db, &family).iter().filter(|row| row.1 == 4).count(), 70);
}

#[test]
fn ranges_of_keys_are_given_without_timestamps() {
    let env = env::Env::memory(3);
    let (db, family) = open(&env);
    for half in 0..2u64 {
        for key in 0..40 {
            put(&db, &family, &format!("long-key-{key:02}"), half + 1, &[b'v'; 1000]);
        }
        flush(&db, &family);
    }
    // The last eight bytes of the bounds are no timestamps: without them all bounds are the key "lon".
    let compact = |end: &[u8]| db.compact_range(&family, None, Some(end), &CompactRangeOptions::default());
    let level = |level| family.pin_owned().version.level(level).len();
    compact(b"lona").unwrap();
    assert_eq!(level(0), 2, "no key lies before the end");
    compact(b"long-key-99").unwrap();
    assert_eq!(level(0), 0);
    let before = newest(&db, &family);
    let ranges: [(Option<&[u8]>, Option<&[u8]>); 1] = [(Some(b"long-key-10"), Some(b"long-key-29"))];
    db.delete_files_in_ranges(&family, &ranges, true).unwrap();
    let left = newest(&db, &family);
    let outside = |rows: &[(String, u64)]| {
        let inside = "long-key-10".to_string()..="long-key-29".to_string();
        rows.iter().filter(|r| !inside.contains(&r.0)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(outside(&left), outside(&before), "no key outside of the range is deleted");
    assert!(left.len() < before.len(), "the range holds whole SST files");
}
