//! Flushes: several of one column family at a time, their waits for write stalls, and the space and write-back of their files.

use base::Level;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use env::Env;
use env::executor::{Pool, Threads};
use env::fault::FaultFs;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::meter::{FileKind, MeterFs};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::{
    CompactRangeOptions, CompressionType, DbOptions, FamilyOptions, FlushOptions, WaitForCompactOptions,
    WriteOptions,
};

use crate::basic::{flush, get, open, options, put};

/// Holds the first flush that starts until another flush of the column family has written its file.
struct Hold {
    first: Mutex<Option<Receiver<()>>>,
    started: Sender<()>,
    written: Sender<()>,
    outcome: Mutex<Option<Result<(), RecvTimeoutError>>>,
}

impl Listener for Hold {
    fn on_event(&self, event: &Event) {
        match event {
            Event::FlushStarted(_) => {
                let first = self.first.lock().unwrap().take();
                if let Some(written) = first {
                    self.started.send(()).unwrap();
                    // The timeout only ends a run that would hang.
                    let outcome = written.recv_timeout(Duration::from_secs(60));
                    *self.outcome.lock().unwrap() = Some(outcome);
                }
            }
            Event::TableCreated(_) => {
                // Ignore the error: no thread may be waiting any more.
                let _ = self.written.send(());
            }
            _ => {}
        }
    }
}

/// Creates a database with two memtables whose flushes have started. The flush of the older memtable is held.
fn held(seed: u64, plan: &str) -> (Env, Arc<FaultFs>, Arc<Hold>, Db) {
    let mut env = Env::memory(seed);
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    env.executor = Arc::new(Threads::new());
    let (written, first) = channel();
    let (started, begun) = channel();
    let hold = Arc::new(Hold { first: Mutex::new(Some(first)), started, written, outcome: Mutex::default() });
    let options = DbOptions { max_background_jobs: 8, max_bgerror_resume_count: 0, ..options(&env) };
    let family = FamilyOptions {
        max_write_buffer_number: 6,
        disable_auto_compactions: true,
        ..FamilyOptions::default()
    };
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(hold.clone());
    let db = Db::open(request).unwrap();
    fs.hook().set_plan(plan).unwrap();
    switch(&db, "old");
    begun.recv().unwrap();
    switch(&db, "new");
    (env, fs, hold, db)
}

fn switch(db: &Db, value: &str) {
    put(db, "k", value);
    put(db, value, "1");
    let options = FlushOptions { wait: false, ..FlushOptions::default() };
    db.flush(&[db.default_family().unwrap()], &options).unwrap();
}

#[test]
fn memtables_of_a_family_are_flushed_side_by_side_and_committed_in_order() {
    let (env, _, hold, db) = held(1, "");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(
        *hold.outcome.lock().unwrap(),
        Some(Ok(())),
        "the second wrote its file while the first was held"
    );
    let version = db.default_family().unwrap().pin().version.clone();
    let seqs: Vec<u64> = version.level(Level::ZERO).iter().map(|f| f.largest_seq.get()).collect();
    assert_eq!(seqs, [4, 2], "newest first");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    drop(db);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
}

#[test]
fn a_flush_is_given_up_when_the_one_before_it_fails() {
    // The file of the newer memtable is created first, because the flush of the older memtable is held before it
    // writes.
    let (env, fs, hold, db) = held(2, "create *.sst #2 ENOSPC");
    let failed = db.flush(&[db.default_family().unwrap()], &FlushOptions::default());
    assert!(failed.is_err());
    assert_eq!(*hold.outcome.lock().unwrap(), Some(Ok(())));
    assert_eq!(db.default_family().unwrap().pin().version.num_files(), 0, "not before the older one");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    fs.hook().set_plan("").unwrap();
    db.background().resume().unwrap();
    assert_eq!(db.default_family().unwrap().pin().version.num_files(), 1, "both, in one file");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    drop(db);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    assert_eq!((get(&db, "k").as_deref(), get(&db, "old").as_deref()), (Some("new"), Some("1")));
}

#[test]
fn a_joint_flush_commits_all_families_at_once() {
    for fails in [false, true] {
        let mut env = Env::memory(3);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let request = || {
            let options =
                DbOptions { max_bgerror_resume_count: 0, avoid_flush_during_shutdown: true, ..options(&env) };
            let mut request = OpenRequest::new("/db", options, FamilyOptions::default());
            request.families.push(FamilyDescriptor::new("x", FamilyOptions::default()));
            request.options.create_missing_column_families = true;
            request
        };
        let db = Db::open(request()).unwrap();
        let x = db.family("x").unwrap();
        let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
        let mut batch = WriteBatch::default();
        batch.put(b"k", b"1").put_in(x.id(), b"k", b"1");
        db.write(&mut batch, &unlogged).unwrap();
        if fails {
            // The error is at the SST file of the second column family. The SST file of the first is written by then.
            fs.hook().set_plan("create *.sst #2 ENOSPC").unwrap();
        }
        let both = [x.clone(), db.default_family().unwrap()];
        let together = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
        assert_eq!(db.flush(&both, &together).is_err(), fails);
        let files = |db: &Db| db.families().iter().map(|f| f.pin().version.num_files()).collect::<Vec<_>>();
        assert_eq!(files(&db), if fails { [0, 0] } else { [1, 1] });
        if fails {
            fs.hook().set_plan("").unwrap();
            db.background().resume().unwrap();
            assert_eq!(files(&db), [1, 1], "whoever comes may flush them");
        }
        drop((db, x, both));
        let db = Db::open(request()).unwrap();
        for family in db.families() {
            assert!(db.get(&family, b"k", &Default::default()).unwrap().is_some(), "{family:?}");
        }
    }
}

#[test]
fn scans_over_many_tombstones_request_a_flush() {
    // Columns: entries skipped by one operation, entries skipped on average, deleted keys between two visible keys,
    // flush expected.
    for (by_one, by_average, deleted, asked) in
        [(10, 0, 10, true), (10, 0, 9, false), (0, 5, 100, false), (30, 5, 9, true), (30, 10, 9, false)]
    {
        let env = Env::memory(4);
        let family = FamilyOptions {
            memtable_op_scan_flush_trigger: by_one,
            memtable_avg_op_scan_flush_trigger: by_average,
            ..FamilyOptions::default()
        };
        let db = crate::basic::open(&env, family);
        let default = db.default_family().unwrap();
        for shown in 0..10 {
            put(&db, &format!("{shown}"), "1");
            for gone in 0..deleted {
                db.delete(&default, format!("{shown}-{gone:03}").as_bytes(), &WriteOptions::default())
                    .unwrap();
            }
        }
        assert_eq!(crate::basic::scan(&db).len(), 10);
        // The next writes check whether the memtable is full.
        put(&db, "x", "1");
        put(&db, "y", "1");
        db.background().wait_for_compact().unwrap();
        let files = default.pin().version.num_files();
        assert_eq!(files > 0, asked, "{by_one} {by_average} {deleted}");
    }
}

/// A listener that writes during the first flush, requests another flush, and runs the jobs that are due.
struct Meddler {
    db: Mutex<Option<Db>>,
    env: Env,
    jobs: Mutex<usize>,
}

impl Listener for Meddler {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::FlushStarted(_)) {
            return;
        }
        let Some(db) = self.db.lock().unwrap().take() else { return };
        switch(&db, "new");
        let jobs = (0..1000).take_while(|_| self.env.executor.help()).count();
        *self.jobs.lock().unwrap() = jobs;
    }
}

#[test]
fn an_atomic_flush_that_must_wait_for_another_is_not_tried_over_and_over() {
    let env = Env::memory(5);
    let meddler = Arc::new(Meddler { db: Mutex::default(), env: env.clone(), jobs: Mutex::default() });
    let options = DbOptions { max_background_jobs: 8, atomic_flush: true, ..options(&env) };
    let family = FamilyOptions { max_write_buffer_number: 6, ..FamilyOptions::default() };
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(meddler.clone());
    let db = Db::open(request).unwrap();
    *meddler.db.lock().unwrap() = Some(db.clone());
    let default = db.default_family().unwrap();
    put(&db, "k", "old");
    db.flush(&[default.clone()], &FlushOptions::default()).unwrap();
    let jobs = *meddler.jobs.lock().unwrap();
    assert!((1..10).contains(&jobs), "{jobs}");
    db.background().wait_for_compact().unwrap();
    assert_eq!(default.pin().version.num_files(), 2, "the second came when the first was done");
    assert!(default.pin().mem.is_empty() && default.pin().imm.is_empty());
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
}

/// Holds the first flush while the second flush runs and a third flush is queued.
struct Order {
    first: Mutex<Option<Receiver<()>>>,
    started: Sender<()>,
    written: Sender<()>,
    on_stack: Mutex<std::collections::HashMap<std::thread::ThreadId, usize>>,
    nested: std::sync::atomic::AtomicBool,
}

impl Listener for Order {
    fn on_event(&self, event: &Event) {
        let thread = std::thread::current().id();
        match event {
            Event::FlushStarted(_) => {
                let depth = {
                    let mut all = self.on_stack.lock().unwrap();
                    let depth = all.entry(thread).or_default();
                    *depth += 1;
                    *depth
                };
                if depth > 1 {
                    self.nested.store(true, std::sync::atomic::Ordering::Release);
                }
                let first = self.first.lock().unwrap().take();
                if let Some(go) = first {
                    self.started.send(()).unwrap();
                    go.recv().unwrap();
                }
            }
            Event::FlushFinished(_) => *self.on_stack.lock().unwrap().entry(thread).or_default() -= 1,
            Event::TableCreated(_) => drop(self.written.send(())),
            _ => {}
        }
    }
}

#[test]
fn a_waiting_flush_runs_no_newer_flush_on_its_stack() {
    let env = Env::memory(6);
    let (go, first) = channel();
    let (started, begun) = channel();
    let (written, wrote) = channel();
    let order = Arc::new(Order {
        first: Mutex::new(Some(first)),
        started,
        written,
        on_stack: Mutex::default(),
        nested: Default::default(),
    });
    let options = DbOptions { max_background_jobs: 12, ..options(&env) };
    let family = FamilyOptions {
        max_write_buffer_number: 8,
        disable_auto_compactions: true,
        ..FamilyOptions::default()
    };
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(order.clone());
    let db = Db::open(request).unwrap();
    while env.executor.help() {}
    // The flush of the older memtable has many entries to write after the hold.
    (0..2000).for_each(|i| put(&db, &format!("{i:05}"), &"v".repeat(1000)));
    switch(&db, "1");
    let oldest = {
        let env = env.clone();
        std::thread::spawn(move || env.executor.help())
    };
    begun.recv().unwrap();
    switch(&db, "2");
    let (tell, told) = channel();
    let second = {
        let env = env.clone();
        std::thread::spawn(move || {
            env.executor.help();
            let _ = tell.send(());
        })
    };
    wrote.recv().unwrap();
    switch(&db, "3");
    go.send(()).unwrap();
    // The timeout only ends a run that would hang.
    told.recv_timeout(Duration::from_secs(60)).expect("the second flush waits for ever");
    assert!(!order.nested.load(std::sync::atomic::Ordering::Acquire));
    assert!(oldest.join().unwrap());
    second.join().unwrap();
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("3"));
}

/// Holds the first compaction until the flag is set.
#[derive(Default)]
struct HoldCompaction {
    begun: AtomicBool,
    go: AtomicBool,
}

impl Listener for HoldCompaction {
    fn on_event(&self, event: &Event) {
        if let Event::CompactionStarted(_) = event {
            self.begun.store(true, Ordering::SeqCst);
            while !self.go.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    }
}

/// Creates a database with two level-0 files, in a compaction that waits for `go`. One more file delays writes.
fn before_a_stall() -> (Db, Arc<HoldCompaction>) {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(13) };
    let hold = Arc::new(HoldCompaction::default());
    let own = FamilyOptions {
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 3,
        level0_stop_writes_trigger: 8,
        ..FamilyOptions::default()
    };
    let mut request = OpenRequest::new("/db", options(&env), own);
    request.components.listeners.push(hold.clone());
    let db = Db::open(request).unwrap();
    for _ in 0..2 {
        put_and_flush(&db, true);
    }
    while !hold.begun.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    (db, hold)
}

fn put_and_flush(db: &Db, allow_write_stall: bool) {
    put(db, "a", "1");
    let options = FlushOptions { allow_write_stall, ..FlushOptions::default() };
    db.flush(&[db.default_family().unwrap()], &options).unwrap();
}

#[test]
fn a_flush_waits_for_the_end_of_a_stall_unless_it_may_stall_writes() {
    for allow_write_stall in [false, true] {
        let (db, hold) = before_a_stall();
        let family = db.default_family().unwrap();
        let l0 = || db.properties().text(&family, "rocksdb.num-files-at-level0").unwrap();
        let (sender, done) = channel();
        let other = db.clone();
        let flusher = std::thread::spawn(move || {
            put_and_flush(&other, allow_write_stall);
            sender.send(()).unwrap();
        });
        if allow_write_stall {
            done.recv().unwrap();
            assert_eq!(l0(), "3", "the flush added the file that slows writes");
        } else {
            // The compaction is held, so the flush cannot end before `go`.
            assert_eq!(done.recv_timeout(Duration::from_millis(100)), Err(RecvTimeoutError::Timeout));
            assert_eq!(l0(), "2");
        }
        hold.go.store(true, Ordering::SeqCst);
        flusher.join().unwrap();
        db.background().wait_for_compact().unwrap();
    }
}

/// A manual compaction flushes first, and waits in the same way.
#[test]
fn a_manual_compaction_waits_for_the_end_of_a_stall_unless_it_may_stall_writes() {
    for allow_write_stall in [false, true] {
        let (db, hold) = before_a_stall();
        let family = db.default_family().unwrap();
        put(&db, "b", "2");
        let l0 = || db.properties().text(&family, "rocksdb.num-files-at-level0").unwrap();
        let (sender, done) = channel();
        let (other, own) = (db.clone(), family.clone());
        let compactor = std::thread::spawn(move || {
            let options = CompactRangeOptions { allow_write_stall, ..CompactRangeOptions::default() };
            other.compactions().compact_range(&own, None, None, &options).unwrap();
            sender.send(()).unwrap();
        });
        if allow_write_stall {
            while l0() != "3" {
                std::thread::yield_now();
            }
        } else {
            // The compaction is held, so the flush cannot begin before `go`.
            assert_eq!(done.recv_timeout(Duration::from_millis(100)), Err(RecvTimeoutError::Timeout));
            assert_eq!(l0(), "2");
        }
        hold.go.store(true, Ordering::SeqCst);
        compactor.join().unwrap();
        db.background().wait_for_compact().unwrap();
        assert_eq!(l0(), "0");
    }
}

/// Holds the first sync of a WAL.
#[derive(Debug)]
struct HeldSync {
    began: Sender<()>,
    release: Mutex<Option<Receiver<()>>>,
    outcome: Mutex<Option<Result<(), RecvTimeoutError>>>,
}

impl Hook for HeldSync {
    fn name(&self) -> &'static str {
        "held"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let is_wal = call.path.extension().is_some_and(|extension| extension == "log");
        let release = if is_wal && call.op == Op::Sync { self.release.lock().unwrap().take() } else { None };
        if let Some(release) = release {
            self.began.send(()).unwrap();
            // The timeout only ends a run that would hang.
            *self.outcome.lock().unwrap() = Some(release.recv_timeout(Duration::from_secs(60)));
        }
        Verdict::Go
    }
}

/// If the leader waited for this sync, up to a second on a busy disk, all writers would wait for the leader.
#[test]
fn a_leader_begins_a_wal_while_a_flush_syncs_the_wal_before() {
    let (began, begun) = channel();
    let (release, released) = channel();
    let hook = Arc::new(HeldSync { began, release: Mutex::new(Some(released)), outcome: Mutex::default() });
    let mut env = Env::memory(1);
    env.fs = Arc::new(Hooked::new(env.fs.clone(), hook.clone()));
    env.executor = Arc::new(Threads::new());
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    let start = FlushOptions { wait: false, ..FlushOptions::default() };
    put(&db, "a", "1");
    db.flush(&[db.default_family().unwrap()], &start).unwrap();
    begun.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut batch = WriteBatch::new();
    batch.put_in(other.id(), b"b", b"2");
    db.write(&mut batch, &WriteOptions::default()).unwrap();
    db.flush(std::slice::from_ref(&other), &start).unwrap();
    put(&db, "c", "3");
    release.send(()).unwrap();
    db.flush(&[db.default_family().unwrap(), other], &FlushOptions::default()).unwrap();
    assert_eq!(*hook.outcome.lock().unwrap(), Some(Ok(())), "the writes ended before the sync");
    assert_eq!(get(&db, "c").as_deref(), Some("3"));
}

/// The number of times that a flush of 9 MB starts write-back of its SST file.
fn write_backs(bytes_per_sync: u64, strict_bytes_per_sync: bool) -> u64 {
    let mut env = Env::memory(1);
    let meter = MeterFs::wrap(env.fs.clone());
    env.fs = meter.clone();
    let settings = DbOptions { bytes_per_sync, strict_bytes_per_sync, ..options(&env) };
    let family = FamilyOptions { compression: CompressionType(0), ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", settings, family)).unwrap();
    for key in 0..9 {
        put(&db, &key.to_string(), &"v".repeat(1_000_000));
    }
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    meter.hook().count(FileKind::Table, Op::RangeSync).calls
}

/// If a job fills the page cache faster than the disk writes, the kernel stops the writer of the WAL.
#[test]
fn a_flush_starts_write_back_each_four_mebibytes_by_default() {
    assert_eq!(write_backs(0, false), 1, "4 MiB; the last mebibyte is left to the sync");
    assert_eq!(write_backs(1 << 20, false), 4);
    assert_eq!(write_backs(1 << 40, false), 0);
}

/// The search for free blocks may wait for the disk. In an append, all writers would wait for the leader.
#[test]
fn a_wal_reserves_space_at_its_first_sync_and_not_at_an_append() {
    let mut env = Env::memory(1);
    let meter = MeterFs::wrap(env.fs.clone());
    env.fs = meter.clone();
    let family = FamilyOptions { write_buffer_size: 64 << 20, ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
    let reserved = || meter.hook().count(FileKind::Wal, Op::Preallocate).calls;
    put(&db, "a", &"v".repeat(1_000_000));
    assert_eq!(reserved(), 0);
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    for key in [b"b", b"c"] {
        db.put(&db.default_family().unwrap(), key, b"v", &synced).unwrap();
        assert_eq!(reserved(), 1);
    }
    // One reservation has 16 MiB. The WAL grows beyond the first reservation.
    (0..17).for_each(|key| put(&db, &key.to_string(), &"v".repeat(1_000_000)));
    assert_eq!(reserved(), 1);
    db.put(&db.default_family().unwrap(), b"d", b"v", &synced).unwrap();
    assert_eq!(reserved(), 2);
}

#[test]
fn full_memtables_wait_until_there_are_enough_to_merge() {
    let env = Env::memory(3);
    let mut family = FamilyOptions::default();
    family
        .update("write_buffer_size=65536;min_write_buffer_number_to_merge=2;max_write_buffer_number=4")
        .unwrap();
    let db = open(&env, family);
    let default = db.default_family().unwrap();
    let int = |name: &str| db.properties().number(&default, name).unwrap();
    let mut key = 0;
    let mut fill_until = |immutable_memtables| {
        while int("rocksdb.num-immutable-mem-table") != immutable_memtables {
            key += 1;
            put(&db, &format!("{key:06}"), &"v".repeat(1000));
            assert!(key < 1000, "no memtable became immutable");
        }
    };
    fill_until(1);
    while env.executor.help() {}
    assert_eq!(int("rocksdb.num-immutable-mem-table"), 1, "one full memtable is not flushed");
    assert_eq!(db.properties().text(&default, "rocksdb.num-files-at-level0").unwrap(), "0");
    fill_until(0);
    while env.executor.help() {}
    assert_eq!(
        db.properties().text(&default, "rocksdb.num-files-at-level0").unwrap(),
        "1",
        "two memtables, one SST file"
    );
    fill_until(1);
    db.flush(&[default.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(int("rocksdb.num-immutable-mem-table"), 0, "a manual flush waits for no other memtable");
}

/// Fills two memtables at the start of the first compaction. Keeps the number of immutable memtables after each of them.
#[derive(Default)]
struct FillsTwo {
    db: Mutex<Option<Weak<Db>>>,
    waiting: Mutex<Vec<u64>>,
}

impl Listener for FillsTwo {
    fn on_event(&self, event: &Event) {
        let Event::CompactionStarted(_) = event else { return };
        let Some(db) = self.db.lock().unwrap().take().and_then(|db| db.upgrade()) else { return };
        let default = db.default_family().unwrap();
        let int = |name: &str| db.properties().number(&default, name).unwrap();
        for _ in 0..2 {
            let mut before = 0;
            while int("rocksdb.num-entries-active-mem-table") >= before {
                before = int("rocksdb.num-entries-active-mem-table");
                put(&db, &format!("{before:06}"), &"v".repeat(1000));
            }
            while db.env().executor.help() {}
            self.waiting.lock().unwrap().push(int("rocksdb.num-immutable-mem-table"));
        }
    }
}

#[test]
fn a_small_memtable_waits_for_the_next_one_while_a_full_level_0_is_compacted() {
    let env = Env::memory(4);
    let mut family = FamilyOptions::default();
    let text = "write_buffer_size=65536;max_write_buffer_number=4;level0_file_num_compaction_trigger=2;\
                disable_auto_compactions=true";
    family.update(text).unwrap();
    let filler = Arc::new(FillsTwo::default());
    let mut request = OpenRequest::new("/db", options(&env), family);
    request.components.listeners.push(filler.clone());
    let db = Arc::new(Db::open(request).unwrap());
    let default = db.default_family().unwrap();
    for _ in 0..4 {
        put(&db, "a", "1");
        put(&db, "b", "1");
        db.flush(&[default.clone()], &FlushOptions::default()).unwrap();
    }
    *filler.db.lock().unwrap() = Some(Arc::downgrade(&db));
    db.admin().set_options(&default, &[("disable_auto_compactions", "false")]).unwrap();
    while env.executor.help() {}
    assert_eq!(*filler.waiting.lock().unwrap(), [1, 0], "the first memtable waits, and one flush takes both");
}

/// The deletion of many large files takes most of a second on a real disk. The writers would stop if a flush waited for it.
#[test]
fn a_flush_does_not_wait_for_the_deletion_of_obsolete_files() {
    let mut env = Env::memory(7);
    env.executor = Arc::new(Threads::new());
    let family = FamilyOptions { level0_file_num_compaction_trigger: 2, ..FamilyOptions::default() };
    let db = open(&env, family);
    // No deletion can begin.
    env.executor.set_threads(Pool::User, 0);
    for value in ["1", "2"] {
        put(&db, "a", value);
        put(&db, "b", value);
        flush(&db);
    }
    db.background().wait_for_compact().unwrap();
    let files = || {
        let names = env.fs.list(std::path::Path::new("/db")).unwrap();
        names.iter().filter(|name| name.ends_with(".sst")).count()
    };
    assert_eq!(
        (env.executor.queue_len(Pool::User), files()),
        (1, 3),
        "two obsolete files and their successor"
    );
    put(&db, "a", "3");
    flush(&db);
    assert_eq!(files(), 4);
    env.executor.set_threads(Pool::User, 1);
    let purged = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
    db.background().wait_for_compact_with(&purged).unwrap();
    assert_eq!(files(), 2);
    assert_eq!(get(&db, "a").as_deref(), Some("3"));
    db.close().unwrap();
}
