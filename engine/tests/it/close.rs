//! What a closed database refuses, and what it gives back.

use std::sync::Arc;

use base::Kind;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{CompactRangeOptions, FamilyOptions, FlushOptions, WriteOptions};
use mem::write_buffer::WriteBufferManager;

use crate::basic::{get, open, options, put};

#[test]
fn nothing_is_written_after_close() {
    let env = env::Env::memory(1);
    let db = open(&env, FamilyOptions::default());
    put(&db, "a", "1");
    let family = db.default_family().unwrap();
    db.close().unwrap();
    let other = open(&env, FamilyOptions::default());
    put(&other, "b", "2");
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    let refused = [
        db.put(&family, b"c", b"3", &WriteOptions::default()),
        db.put(&family, b"c", b"3", &unlogged),
        db.flush(&[family.clone()], &FlushOptions::default()),
        db.compact_range(&family, None, None, &CompactRangeOptions::default()),
        db.create_family(FamilyDescriptor::new("x", FamilyOptions::default())).map(|_| ()),
        db.set_options(&family, &[("disable_auto_compactions", "true")]),
    ];
    for outcome in refused {
        assert_eq!(outcome.unwrap_err().kind(), Kind::ShutdownInProgress);
    }
    drop(other);
    let again = open(&env, FamilyOptions::default());
    assert_eq!((get(&again, "a").as_deref(), get(&again, "b").as_deref()), (Some("1"), Some("2")));
}

#[test]
fn a_paused_database_closes_and_keeps_what_was_not_logged() {
    let env = env::Env::memory(2);
    let db = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family, b"a", b"1", &unlogged).unwrap();
    db.pause_background_work().unwrap();
    db.close().unwrap();
    assert_eq!(get(&open(&env, FamilyOptions::default()), "a").as_deref(), Some("1"));
}

#[test]
fn the_write_buffer_manager_gets_flushed_memory_back() {
    let env = env::Env::memory(3);
    let buffers = Arc::new(WriteBufferManager::new(8 << 20, None, true));
    let mut options = options(&env);
    options.write_buffer_manager = Some(buffers.clone());
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    let value = "v".repeat(100_000);
    // Three times the budget: with memory that never comes back the writers would stall for good.
    (0..250).for_each(|i| put(&db, &format!("{i:04}"), &value));
    let family = db.default_family().unwrap();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    assert_eq!((buffers.memory_usage(), buffers.mutable_usage()), (0, 0));
    put(&db, "z", "1");
    assert!(buffers.memory_usage() > 0);
    drop(family);
    drop(db);
    assert_eq!(buffers.memory_usage(), 0);
}

#[test]
fn a_write_that_meets_a_dropped_family_does_not_stop_the_database() {
    let env = env::Env::memory(4);
    let db = open(&env, FamilyOptions::default());
    let family = db.create_family(FamilyDescriptor::new("x", FamilyOptions::default())).unwrap();
    db.put(&family, b"a", b"1", &WriteOptions::default()).unwrap();
    db.drop_family(&family).unwrap();
    assert!(db.put(&family, b"a", b"2", &WriteOptions::default()).is_err());
    put(&db, "b", "2");
    assert!(db.background_error().is_none());
}
