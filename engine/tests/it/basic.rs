//! Basic operations: open, write, flush and recover, in one thread with files in memory.

use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions,
    WriteOptions,
};

pub fn options(env: &env::Env) -> DbOptions {
    DbOptions { create_if_missing: true, env: env.clone(), ..DbOptions::default() }
}

pub fn open(env: &env::Env, family: FamilyOptions) -> Db {
    Db::open(OpenRequest::new("/db", options(env), family)).unwrap()
}

pub fn get(db: &Db, key: &str) -> Option<String> {
    let family = db.default_family().unwrap();
    let value = db.get(&family, key.as_bytes(), &ReadOptions::default()).unwrap();
    value.map(|v| String::from_utf8(v.to_vec()).unwrap())
}

pub fn put(db: &Db, key: &str, value: &str) {
    let family = db.default_family().unwrap();
    db.put(&family, key.as_bytes(), value.as_bytes(), &WriteOptions::default()).unwrap();
}

/// Flushes the default column family.
pub fn flush(db: &Db) {
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
}

/// Compacts the default column family, and its bottommost level too.
pub fn compact_whole(db: &Db) {
    let how = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, &how).unwrap();
}

pub fn scan(db: &Db) -> Vec<(String, String)> {
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    let mut out = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        out.push((String::from_utf8_lossy(iter.key()).into(), String::from_utf8_lossy(iter.value()).into()));
        iter.next();
    }
    iter.status().unwrap();
    out
}

#[test]
fn a_get_returns_the_value_of_the_put() {
    let env = env::Env::memory(1);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "b", "2");
    put(&db, "a", "3");
    assert_eq!(get(&db, "a").as_deref(), Some("3"));
    assert_eq!(get(&db, "b").as_deref(), Some("2"));
    assert_eq!(get(&db, "c"), None);
}

#[test]
fn an_open_replays_the_wal() {
    let env = env::Env::memory(2);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    drop(db);
    let db = open(&env, FamilyOptions::default());
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
    put(&db, "b", "2");
    db.close().unwrap();
    drop(db);
    let db = open(&env, FamilyOptions::default());
    assert_eq!(scan(&db).len(), 2);
}

#[test]
fn a_flushed_memtable_is_read_from_its_table() {
    let env = env::Env::memory(3);
    let db = open(&env, FamilyOptions::default());
    for i in 0..1000 {
        put(&db, &format!("key{i:04}"), &format!("value{i}"));
    }
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(get(&db, "key0500").as_deref(), Some("value500"));
    assert_eq!(scan(&db).len(), 1000);
    drop(db);
    let db = open(&env, FamilyOptions::default());
    assert_eq!(get(&db, "key0999").as_deref(), Some("value999"));
}

#[test]
fn a_small_write_buffer_starts_flushes_and_compactions() {
    let env = env::Env::memory(4);
    let family = FamilyOptions { write_buffer_size: 64 << 10, ..FamilyOptions::default() };
    let db = open(&env, family.clone());
    for round in 0..3 {
        for i in 0..5000 {
            put(&db, &format!("key{i:05}"), &format!("value{i}-{round}"));
        }
    }
    db.background().wait_for_compact().unwrap();
    assert_eq!(get(&db, "key02500").as_deref(), Some("value2500-2"));
    assert_eq!(scan(&db).len(), 5000);
    let f = db.default_family().unwrap();
    db.compactions().compact_range(&f, None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(scan(&db).len(), 5000);
    drop(db);
    let db = open(&env, family);
    assert_eq!(scan(&db).len(), 5000);
    assert_eq!(get(&db, "key00000").as_deref(), Some("value0-2"));
}
