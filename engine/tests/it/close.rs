//! The calls that a closed database rejects, the resources that a close returns, and the state after a
//! failed close.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use base::Kind;
use env::Env;
use env::executor::Threads;
use env::fault::FaultFs;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};
use mem::write_buffer::WriteBufferManager;

use crate::basic::{get, open, options, put};

#[test]
fn a_closed_database_rejects_writes() {
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
        db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()),
        db.admin().create_family(FamilyDescriptor::new("x", FamilyOptions::default())).map(|_| ()),
        db.admin().set_options(&family, &[("disable_auto_compactions", "true")]),
    ];
    for outcome in refused {
        assert_eq!(outcome.unwrap_err().kind(), Kind::ShutdownInProgress);
    }
    drop(other);
    let again = open(&env, FamilyOptions::default());
    assert_eq!((get(&again, "a").as_deref(), get(&again, "b").as_deref()), (Some("1"), Some("2")));
}

#[test]
fn a_close_of_a_paused_database_keeps_unlogged_writes() {
    let env = env::Env::memory(2);
    let db = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family, b"a", b"1", &unlogged).unwrap();
    db.background().pause().unwrap();
    db.close().unwrap();
    assert_eq!(get(&open(&env, FamilyOptions::default()), "a").as_deref(), Some("1"));
}

#[test]
fn canceled_background_work_refuses_flushes_and_ends_stalls() {
    let env = env::Env::memory(9);
    let small = || FamilyOptions { write_buffer_size: 64 << 10, ..FamilyOptions::default() };
    let db = open(&env, small());
    let family = db.default_family().unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family, b"unlogged", b"1", &unlogged).unwrap();
    db.background().cancel_all(true).unwrap();
    let refused = [
        db.flush(std::slice::from_ref(&family), &FlushOptions::default()),
        db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()),
        db.background().wait_for_compact(),
    ];
    for outcome in refused {
        assert_eq!(outcome.unwrap_err().kind(), Kind::ShutdownInProgress);
    }
    // No flush frees memory any more: the write fails instead of waiting.
    let value = [7; 1 << 10];
    let mut written = 0_u32;
    let full = loop {
        match db.put(&family, &written.to_be_bytes(), &value, &WriteOptions::default()) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), Kind::ShutdownInProgress, "{full}");
    assert!(written > 0);
    db.background().cancel_all(true).unwrap();
    // The column family took an entry without WAL once: the close cannot tell that no such entry is lost.
    assert_eq!(db.close().unwrap_err().kind(), Kind::ShutdownInProgress);
    let again = open(&env, small());
    assert_eq!(get(&again, "unlogged").as_deref(), Some("1"));
    let family = again.default_family().unwrap();
    for at in 0..written {
        assert!(again.get(&family, &at.to_be_bytes(), &ReadOptions::default()).unwrap().is_some(), "{at}");
    }
}

/// Holds the first compaction until `go`.
#[derive(Default)]
struct Held {
    begun: AtomicBool,
    go: AtomicBool,
    ended: AtomicBool,
}

impl Listener for Held {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::CompactionStarted(_)) {
            return;
        }
        self.begun.store(true, Ordering::SeqCst);
        while !self.go.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.ended.store(true, Ordering::SeqCst);
    }
}

#[test]
fn each_cancel_that_waits_returns_after_the_running_jobs() {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(10) };
    let held = Arc::new(Held::default());
    let family = FamilyOptions { level0_file_num_compaction_trigger: 2, ..FamilyOptions::default() };
    let mut request = OpenRequest::new("/db", options(&env), family);
    request.components.listeners.push(held.clone());
    let db = Db::open(request).unwrap();
    for value in ["1", "2"] {
        put(&db, "a", value);
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
    while !held.begun.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    db.background().cancel_all(false).unwrap();
    assert!(!held.ended.load(Ordering::SeqCst), "the call without a wait returns before the job");
    let (sender, done) = channel();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (db, held, sender) = (db.clone(), held.clone(), sender.clone());
            std::thread::spawn(move || {
                db.background().cancel_all(true).unwrap();
                sender.send(held.ended.load(Ordering::SeqCst)).unwrap();
            })
        })
        .collect();
    // A call that does not wait returns in this time. Calls that wait return after `go`.
    let early = done.recv_timeout(Duration::from_millis(100)).ok();
    held.go.store(true, Ordering::SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop(sender);
    assert_eq!(early.into_iter().chain(done).collect::<Vec<_>>(), [true, true]);
    assert_eq!(get(&db, "a").as_deref(), Some("2"));
}

/// RocksDB stops this write too, until another database frees memory.
#[test]
fn a_write_that_the_write_buffer_manager_stops_fails_after_a_cancel() {
    let env = Env::memory(11);
    let buffers = Arc::new(WriteBufferManager::new(1 << 20, None, true));
    let options = DbOptions { write_buffer_manager: Some(buffers.clone()), ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    db.background().cancel_all(true).unwrap();
    let family = db.default_family().unwrap();
    let write = |i: u32| db.put(&family, &i.to_be_bytes(), &[7; 100_000], &WriteOptions::default());
    let (written, error) = (0..100).find_map(|i| write(i).err().map(|error| (i, error))).unwrap();
    assert_eq!(error.kind(), Kind::ShutdownInProgress, "{error}");
    assert!(buffers.memory_usage() < 3 << 20, "{} bytes", buffers.memory_usage());
    assert!(written > 0);
    buffers.set_buffer_size(64 << 20);
    write(written).unwrap();
}

#[test]
fn the_write_buffer_manager_gets_flushed_memory_back() {
    let env = env::Env::memory(3);
    let buffers = Arc::new(WriteBufferManager::new(8 << 20, None, true));
    let mut options = options(&env);
    options.write_buffer_manager = Some(buffers.clone());
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    let value = "v".repeat(100_000);
    // Three times the memory limit. If flushed memory were not released, the writers would stall forever.
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
fn a_write_to_a_dropped_family_does_not_stop_the_database() {
    let env = env::Env::memory(4);
    let db = open(&env, FamilyOptions::default());
    let family = db.admin().create_family(FamilyDescriptor::new("x", FamilyOptions::default())).unwrap();
    db.put(&family, b"a", b"1", &WriteOptions::default()).unwrap();
    db.admin().drop_family(&family).unwrap();
    assert!(db.put(&family, b"a", b"2", &WriteOptions::default()).is_err());
    put(&db, "b", "2");
    assert!(db.background().error().is_none());
}

#[test]
fn after_a_failed_sync_and_a_resume_the_failed_write_is_not_replayed() {
    let mut env = env::Env::memory(5);
    let disk = FaultFs::wrap(env.fs.clone());
    env.fs = disk.clone();
    let db = open(&env, FamilyOptions::default());
    disk.hook().set_plan("sync *.log #1 ENOSPC").unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    let mut batch = WriteBatch::default();
    batch.put(b"a", b"lost").put(b"b", b"lost").put(b"c", b"lost");
    assert_eq!(db.write(&mut batch, &synced).unwrap_err().kind(), Kind::IoError);
    db.background().resume().unwrap();
    put(&db, "a", "1");
    drop(db);
    let db = open(&env, FamilyOptions::default());
    assert_eq!((get(&db, "a").as_deref(), get(&db, "b")), (Some("1"), None));
}

#[test]
fn a_close_that_cannot_flush_the_writes_without_a_wal_returns_the_background_error() {
    for (unlogged, logged) in [(true, false), (false, true)] {
        let mut env = env::Env::memory(5);
        let disk = FaultFs::wrap(env.fs.clone());
        env.fs = disk.clone();
        let db = open(&env, FamilyOptions::default());
        let family = db.default_family().unwrap();
        disk.hook().set_plan("create *.sst * ENOSPC").unwrap();
        let options = WriteOptions { disableWAL: unlogged, ..WriteOptions::default() };
        db.put(&family, b"a", b"1", &options).unwrap();
        assert!(db.flush(std::slice::from_ref(&family), &FlushOptions::default()).is_err());
        assert!(db.background().error().is_some());
        let closed = db.close();
        assert_eq!(closed.is_ok(), logged, "{closed:?}");
        if let Err(error) = closed {
            assert_eq!(error.subcode(), base::Subcode::NoSpace);
        }
        drop((db, family));
        disk.hook().set_plan("").unwrap();
        let db = open(&env, FamilyOptions::default());
        assert_eq!(get(&db, "a").is_some(), logged, "the WAL keeps what a record names");
    }
}

#[test]
fn an_atomic_flush_of_one_family_flushes_the_whole_batch() {
    let env = env::Env::memory(6);
    let options = DbOptions { atomic_flush: true, avoid_flush_during_shutdown: true, ..options(&env) };
    let request = |names: &[&str]| {
        let mut request = OpenRequest::new("/db", options.clone(), FamilyOptions::default());
        request
            .families
            .extend(names.iter().map(|name| FamilyDescriptor::new(*name, FamilyOptions::default())));
        request
    };
    let db = Db::open(request(&[])).unwrap();
    let other = db.admin().create_family(FamilyDescriptor::new("x", FamilyOptions::default())).unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    for round in 0..5 {
        let mut batch = WriteBatch::default();
        batch.put(b"a", &[round]).put_in(other.id(), b"a", &[round]);
        db.write(&mut batch, &unlogged).unwrap();
        let asked = if round % 2 == 0 { db.default_family().unwrap() } else { other.clone() };
        db.flush(&[asked], &FlushOptions::default()).unwrap();
    }
    drop((db, other));
    let db = Db::open(request(&["x"])).unwrap();
    for family in db.families() {
        assert_eq!(
            db.get(&family, b"a", &ReadOptions::default()).unwrap().as_deref(),
            Some(&[4][..]),
            "{family:?}"
        );
    }
}

#[test]
fn with_many_flush_slots_the_newest_value_is_read_and_survives() {
    let env = env::Env::memory(7);
    let options = DbOptions { max_background_jobs: 16, ..options(&env) };
    let family =
        FamilyOptions { write_buffer_size: 64 << 10, max_write_buffer_number: 8, ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
    let filler = "f".repeat(1000);
    for i in 0..3000 {
        let key = format!("k{}", i % 40);
        put(&db, &key, &format!("{i}{filler}"));
        assert_eq!(get(&db, &key), Some(format!("{i}{filler}")), "{key}");
    }
    drop(db);
    let db = open(&env, FamilyOptions::default());
    for i in 2960..3000 {
        assert_eq!(get(&db, &format!("k{}", i % 40)), Some(format!("{i}{filler}")));
    }
}

#[test]
fn a_close_ends_the_wait_of_an_exclusive_compaction() {
    let mut env = env::Env::memory(8);
    env.executor = Arc::new(env::executor::Threads::new());
    let family = FamilyOptions { level0_file_num_compaction_trigger: 2, ..FamilyOptions::default() };
    let db = open(&env, family);
    // A compaction gets a slot and never a thread.
    env.executor.set_threads(env::executor::Pool::Low, 0);
    let family = db.default_family().unwrap();
    for _ in 0..2 {
        put(&db, "a", "1");
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    }
    let other = db.clone();
    let manual = std::thread::spawn(move || {
        let exclusive =
            CompactRangeOptions { exclusive_manual_compaction: true, ..CompactRangeOptions::default() };
        let family = other.default_family().unwrap();
        other.compactions().compact_range(&family, None, None, &exclusive).map_err(|e| e.kind())
    });
    while db.properties().number(&family, "rocksdb.num-running-compactions") == Some(0) {
        std::thread::yield_now();
    }
    let (tell, told) = std::sync::mpsc::channel();
    let closing = std::thread::spawn(move || drop(tell.send(db.close())));
    // The timeout only ends a run that would hang.
    told.recv_timeout(std::time::Duration::from_secs(60)).expect("closing waits for ever").unwrap();
    closing.join().unwrap();
    assert_eq!(manual.join().unwrap(), Err(Kind::ShutdownInProgress));
}

struct Ear;

impl ironstone_engine::event::Listener for Ear {
    fn on_event(&self, _: &ironstone_engine::event::Event) {}
}

#[test]
fn no_job_keeps_a_closed_database_in_memory() {
    let mut env = env::Env::memory(5);
    env.executor = Arc::new(env::executor::Threads::new());
    for round in 0..300 {
        let ear = Arc::new(Ear);
        let mut request = OpenRequest::new("/db", options(&env), FamilyOptions::default());
        request.components.listeners.push(ear.clone());
        let db = Db::open(request).unwrap();
        let family = db.default_family().unwrap();
        db.put(&family, b"a", b"1", &WriteOptions::default()).unwrap();
        // The flush job is counted as finished before it checks which jobs are due, and a compaction may be due.
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
        db.close().unwrap();
        drop((db, family));
        assert_eq!(Arc::strong_count(&ear), 1, "round {round}");
    }
}
