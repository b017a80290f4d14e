//! `inplace_update_support`: a new value that is not longer overwrites the old value in the memtable.

use std::sync::Arc;

use base::Kind;
use base::stats::{Statistics, Ticker};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions};

use crate::basic::{get, put, scan};

fn open(env: &Env) -> (Db, Arc<Statistics>) {
    let statistics = Arc::new(Statistics::new());
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        allow_concurrent_memtable_write: false,
        statistics: Some(statistics.clone()),
        ..DbOptions::default()
    };
    let family = FamilyOptions {
        inplace_update_support: true,
        inplace_update_num_locks: 7,
        write_buffer_size: 1 << 20,
        ..FamilyOptions::default()
    };
    (Db::open(OpenRequest::new("/db", options, family)).unwrap(), statistics)
}

fn number(db: &Db, name: &str) -> u64 {
    db.properties().number(&db.default_family().unwrap(), name).unwrap()
}

#[test]
fn a_memtable_of_overwritten_values_does_not_grow() {
    let env = Env::memory(1);
    let (db, statistics) = open(&env);
    put(&db, "other", "value");
    put(&db, "key", &"x".repeat(100));
    let before = number(&db, "rocksdb.cur-size-active-mem-table");
    for i in 0..2000 {
        put(&db, "key", &format!("{:03$}{:02$}", i, 0, 100 - i % 10 - 10, 10));
    }
    assert_eq!(number(&db, "rocksdb.num-entries-active-mem-table"), 2);
    assert_eq!(number(&db, "rocksdb.cur-size-active-mem-table"), before);
    assert_eq!(statistics.ticker(Ticker::NumberKeysUpdated), 2000);
    assert_eq!(statistics.ticker(Ticker::NumberKeysWritten), 2002);
    assert!(get(&db, "key").unwrap().starts_with("0000001999"));
    assert_eq!(get(&db, "key").unwrap().len(), 100 - 9);
}

#[test]
fn overwritten_values_are_replayed_and_flushed() {
    let env = Env::memory(2);
    let (db, _) = open(&env);
    for value in ["first value", "second", "3", "the fourth value", "5"] {
        put(&db, "key", value);
    }
    drop(db);
    let (db, statistics) = open(&env);
    assert_eq!(get(&db, "key").as_deref(), Some("5"));
    put(&db, "key", "6 is longer than five");
    put(&db, "key", "7");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    put(&db, "key", "");
    assert_eq!(statistics.ticker(Ticker::NumberKeysUpdated), 1);
    assert_eq!(scan(&db), [("key".into(), String::new())]);
    drop(db);
    assert_eq!(scan(&open(&env).0), [("key".into(), String::new())]);
}

#[test]
fn a_value_put_after_a_range_deletion_is_not_hidden_by_it() {
    let env = Env::memory(3);
    let (db, _) = open(&env);
    let family = db.default_family().unwrap();
    put(&db, "k", "long value");
    db.delete_range(&family, b"a", b"z", &WriteOptions::default()).unwrap();
    put(&db, "k", "short");
    assert_eq!(get(&db, "k").as_deref(), Some("short"));
    db.flush(&[family], &FlushOptions::default()).unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("short"));
}

#[test]
fn it_cannot_be_read_at_a_snapshot() {
    let env = Env::memory(4);
    let (db, _) = open(&env);
    let family = db.default_family().unwrap();
    put(&db, "k", "v");
    let at = ReadOptions { snapshot: Some(db.snapshot()), ..ReadOptions::default() };
    assert_eq!(db.get(&family, b"k", &at).unwrap_err().kind(), Kind::NotSupported);
    assert_eq!(db.multi_get(&family, &[b"k"], &at)[0].as_ref().unwrap_err().kind(), Kind::NotSupported);
    assert_eq!(db.iter(&family, at.clone()).map(|_| ()).unwrap_err().kind(), Kind::NotSupported);
    let plain = db.admin().create_family(FamilyDescriptor::new("plain", FamilyOptions::default())).unwrap();
    assert_eq!(db.get(&plain, b"k", &at).unwrap(), None);
}

#[test]
fn a_read_of_several_families_keeps_the_snapshot_of_the_caller() {
    let (db, _) = open(&Env::memory(5));
    let own = FamilyDescriptor::new("own", FamilyOptions::default());
    let other = db.admin().create_family(own).unwrap();
    let family = db.default_family().unwrap();
    put(&db, "key", "value");
    let keys: [(&Arc<_>, &[u8]); 2] = [(&family, b"key"), (&other, b"key")];
    let at = |snapshot| ReadOptions { snapshot, ..ReadOptions::default() };
    let newest = db.together().multi_get(&keys, &at(None));
    assert!(newest.iter().all(Result::is_ok), "without a snapshot, the newest values");
    let at_snapshot = at(Some(db.snapshot()));
    let kinds: Vec<_> = db
        .together()
        .multi_get(&keys, &at_snapshot)
        .into_iter()
        .map(|value| value.err().map(|e| e.kind()))
        .collect();
    assert_eq!(kinds, [Some(Kind::NotSupported), None]);
    let iterators = db.together().iterators(&[other, family], &at_snapshot);
    assert_eq!(iterators.err().map(|error| error.kind()), Some(Kind::NotSupported));
}
