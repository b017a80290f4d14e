//! Writers that wait for room, and events that end the wait because there will be no room.

use std::sync::Arc;

use base::Kind;
use base::stats::Cause;
use env::Env;
use env::executor::{Executor, Job, Pool, Tag, Threads};
use env::fault::FaultFs;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, WriteOptions};
use mem::write_buffer::WriteBufferManager;

use crate::basic::{open, options, put, scan};

/// Creates a database whose second level-0 file stops writes, on a disk that fails by a plan.
fn narrow(seed: u64, change: impl FnOnce(&mut DbOptions)) -> (Env, Arc<FaultFs>, Db) {
    let mut env = Env::memory(seed);
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    let family = FamilyOptions {
        level0_file_num_compaction_trigger: 2,
        level0_slowdown_writes_trigger: 2,
        level0_stop_writes_trigger: 2,
        ..FamilyOptions::default()
    };
    let mut options = DbOptions { max_bgerror_resume_count: 0, ..options(&env) };
    change(&mut options);
    let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
    (env, fs, db)
}

/// Writes two SST files that overlap, so that no compaction moves them unchanged.
fn two_tables(db: &Db) {
    for value in ["1", "2"] {
        put(db, "a", value);
        put(db, "b", value);
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
}

fn write(db: &Db) -> base::Result<()> {
    db.put(&db.default_family().unwrap(), b"c", b"1", &WriteOptions::default())
}

#[test]
fn a_stall_ends_after_the_retried_compaction() {
    let (env, fs, db) = narrow(1, |o| {
        o.max_bgerror_resume_count = 10;
        o.bgerror_resume_retry_interval = 1_000_000;
    });
    // A full disk may get space: the compaction is tried again after a second, and fails twice.
    fs.hook().set_plan("create *.sst #3..5 ENOSPC").unwrap();
    let before = env.clock.now_seconds();
    two_tables(&db);
    write(&db).unwrap();
    assert!(env.clock.now_seconds() > before);
    assert_eq!(scan(&db).len(), 3);
}

#[test]
fn an_unrecoverable_error_ends_a_stall() {
    let (_env, fs, db) = narrow(2, |_| ());
    // The compaction has no space. This is a soft error: only the write stall stops the write.
    fs.hook().set_plan("create *.sst #3.. ENOSPC").unwrap();
    two_tables(&db);
    let error = write(&db).unwrap_err();
    assert_eq!(error.kind(), Kind::Incomplete);
    assert!(error.message().contains("No space"), "{error}");
    fs.hook().set_plan("").unwrap();
    db.background().resume().unwrap();
    write(&db).unwrap();
}

#[test]
fn a_close_ends_the_wait_of_a_stalled_writer() {
    let (_env, fs, db) = narrow(4, |o| {
        o.env.executor = Arc::new(Threads::new());
        o.max_bgerror_resume_count = i32::MAX;
    });
    fs.hook().set_plan("create *.sst #3.. ENOSPC").unwrap();
    two_tables(&db);
    let other = db.clone();
    let writer = std::thread::spawn(move || {
        loop {
            if let Err(error) = write(&other) {
                return error.kind();
            }
        }
    });
    // The write ends, whether its stall began before or after the close.
    db.close().unwrap();
    assert_eq!(writer.join().unwrap(), Kind::ShutdownInProgress);
}

#[test]
fn a_writer_that_waits_for_memory_gets_the_error_of_the_failed_flush() {
    for threads in [false, true] {
        let mut env = Env::memory(5);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        if threads {
            env.executor = Arc::new(Threads::new());
        }
        let buffers = Arc::new(WriteBufferManager::new(1 << 20, None, true));
        let options =
            DbOptions { write_buffer_manager: Some(buffers), max_bgerror_resume_count: 0, ..options(&env) };
        let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
        fs.hook().set_plan("append *.sst * EIO").unwrap();
        let family = db.default_family().unwrap();
        let failed = (0..100).find_map(|i: u32| {
            db.put(&family, &i.to_be_bytes(), &vec![b'v'; 100_000], &WriteOptions::default()).err()
        });
        assert!(failed.is_some(), "no write waits for ever, and none fits any more");
    }
}

/// Opens databases whose memtables share one limit of memory. Above the limit, writers wait.
fn sharing(paths: &[&str], bytes: usize, text: &str) -> Vec<Db> {
    let env = Env::memory(8);
    let buffers = Arc::new(WriteBufferManager::new(bytes, None, true));
    let mut family = FamilyOptions { write_buffer_size: 64 << 20, ..FamilyOptions::default() };
    family.update(text).unwrap();
    let open = |path: &&str| {
        let options = DbOptions { write_buffer_manager: Some(buffers.clone()), ..options(&env) };
        Db::open(OpenRequest::new(path, options, family.clone())).unwrap()
    };
    paths.iter().map(open).collect()
}

fn put_bytes(db: &Db, family: &str, key: &str, bytes: usize) {
    let family = db.family(family).unwrap();
    db.put(&family, key.as_bytes(), &vec![b'v'; bytes], &WriteOptions::default()).unwrap();
}

#[test]
fn a_writer_that_waits_for_memory_flushes_all_column_families() {
    let dbs = sharing(&["/db"], 1 << 20, "");
    dbs[0].admin().create_family(FamilyDescriptor::new("large", FamilyOptions::default())).unwrap();
    put_bytes(&dbs[0], "default", "oldest", 10);
    put_bytes(&dbs[0], "large", "a", 2 << 20);
    put_bytes(&dbs[0], "large", "b", 10);
    assert_eq!(scan(&dbs[0]).len(), 1);
}

#[test]
fn a_writer_that_waits_for_memory_flushes_a_database_that_nobody_writes_to() {
    let dbs = sharing(&["/idle", "/busy"], 1 << 20, "");
    put_bytes(&dbs[0], "default", "a", 2 << 20);
    put_bytes(&dbs[1], "default", "b", 10);
    assert_eq!(dbs[0].default_family().unwrap().pin().version.files().count(), 1);
}

#[test]
fn a_writer_that_waits_for_memory_flushes_memtables_that_wait_for_others() {
    let dbs = sharing(
        &["/idle", "/busy"],
        1 << 20,
        "write_buffer_size=65536;min_write_buffer_number_to_merge=3;max_write_buffer_number=6",
    );
    put_bytes(&dbs[0], "default", "a", 2 << 20);
    put_bytes(&dbs[0], "default", "b", 10);
    put_bytes(&dbs[1], "default", "c", 10);
    assert!(dbs[0].default_family().unwrap().pin().imm.is_empty());
    assert_eq!(dbs[0].default_family().unwrap().pin().version.files().count(), 1);
}

#[test]
fn a_writer_does_not_wait_for_memory_that_no_flush_frees() {
    let dbs = sharing(
        &["/one", "/two"],
        1 << 20,
        "memtable_prefix_bloom_size_ratio=0.1;memtable_whole_key_filtering=true",
    );
    for key in ["a", "b", "c"] {
        dbs.iter().for_each(|db| put_bytes(db, "default", key, 10));
    }
    assert_eq!(dbs.iter().map(|db| scan(db).len()).sum::<usize>(), 6);
}

/// All options have their defaults: the engine clears the background error by itself.
#[test]
fn a_full_disk_stops_writes_but_not_reads_and_writes_resume_within_a_second_of_free_space() {
    for what in ["the log", "a table"] {
        let mut env = Env::memory(6);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
        put(&db, "kept", "1");
        put(&db, "c", "before");
        fs.hook().set_plan("append * * ENOSPC").unwrap();
        let failed = match what {
            "the log" => write(&db),
            _ => db.flush(&[db.default_family().unwrap()], &FlushOptions::default()),
        };
        assert_eq!(failed.unwrap_err().subcode(), base::Subcode::NoSpace, "{what}");
        for _ in 0..20 {
            env.executor.pass_time();
            env.executor.help();
            assert_eq!(write(&db).unwrap_err().subcode(), base::Subcode::NoSpace, "{what}");
            assert_eq!(scan(&db).len(), 2, "{what}: reads go on");
        }
        fs.hook().set_plan("").unwrap();
        let came_back = env.clock.now_micros();
        while write(&db).is_err() {
            assert!(env.executor.pass_time() | env.executor.help(), "{what}: nothing will resume writes");
        }
        let waited = env.clock.now_micros() - came_back;
        // In this test, no time passes while a job runs. The other half of the second is for the job.
        assert!(waited <= 500_000, "{what}: {waited} us");
        assert_eq!(scan(&db).len(), 2, "{what}");
        db.close().unwrap();
    }
}

/// An executor whose threads can be held. It reports a thread that waits for a job, for example a writer, because such a
/// thread first asks to help.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) threads: Threads,
    pub(crate) waits: std::sync::mpsc::Sender<()>,
}

impl Executor for Gate {
    fn thread_board(&self) -> &Arc<env::thread_status::ThreadBoard> {
        self.threads.thread_board()
    }

    fn spawn(&self, pool: Pool, tag: Tag, job: Job) {
        self.threads.spawn(pool, tag, job);
    }

    fn spawn_after(&self, delay_us: u64, pool: Pool, tag: Tag, job: Job) {
        self.threads.spawn_after(delay_us, pool, tag, job);
    }

    fn unschedule(&self, pool: Pool, tag: Tag) -> usize {
        self.threads.unschedule(pool, tag)
    }

    fn set_threads(&self, pool: Pool, count: usize) {
        self.threads.set_threads(pool, count);
    }

    fn grow_threads(&self, pool: Pool, count: usize) {
        self.threads.grow_threads(pool, count);
    }

    fn threads(&self, pool: Pool) -> usize {
        self.threads.threads(pool)
    }

    fn queue_len(&self, pool: Pool) -> usize {
        self.threads.queue_len(pool)
    }

    fn help(&self) -> bool {
        // Ignore the error: the receiver only waits for the first message.
        let _ = self.waits.send(());
        false
    }

    fn run_all<'a>(&self, jobs: Vec<Box<dyn FnOnce() + Send + 'a>>) {
        self.threads.run_all(jobs);
    }

    fn wait_for_all(&self) {
        self.threads.wait_for_all();
    }

    fn panics(&self) -> (u64, Option<String>) {
        self.threads.panics()
    }
}

/// The waiting writer leads its group. It waits for a resume, and the resume must switch memtables as a
/// leader.
#[test]
fn a_resume_switches_memtables_although_a_stalled_leader_waits_for_it() {
    for (threads, pipelined, memory) in cases() {
        let what = format!("threads {threads}, pipelined {pipelined}, a stall for memory {memory}");
        let mut env = Env::memory(7);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let (tell, stalled) = std::sync::mpsc::channel();
        if threads {
            env.executor = Arc::new(Gate { threads: Threads::new(), waits: tell });
        }
        let buffers = memory.then(|| Arc::new(WriteBufferManager::new(1 << 20, None, true)));
        let options = DbOptions {
            write_buffer_manager: buffers,
            enable_pipelined_write: pipelined,
            bgerror_resume_retry_interval: 0,
            ..options(&env)
        };
        let write_buffer_size = if memory { 64 << 20 } else { 1 << 18 };
        let family =
            FamilyOptions { write_buffer_size, max_write_buffer_number: 2, ..FamilyOptions::default() };
        let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
        // The first flush has no space. The file is created only after a writer waits for the flush.
        fs.hook().set_plan("create *.sst #1 ENOSPC").unwrap();
        let flushers = env.executor.threads(Pool::High);
        if threads {
            env.executor.set_threads(Pool::High, 0);
        }
        let writer = {
            let db = db.clone();
            let what = what.clone();
            move || {
                let family = db.default_family().unwrap();
                for key in 0..30u32 {
                    let put = || {
                        db.put(&family, &key.to_be_bytes(), &vec![b'v'; 100_000], &WriteOptions::default())
                    };
                    while let Err(error) = put() {
                        // Memory is free shortly before the resume ends.
                        assert!(
                            threads && memory && error.subcode() == base::Subcode::NoSpace,
                            "{what}: {error}"
                        );
                        std::thread::yield_now();
                    }
                }
            }
        };
        if threads {
            let writer = std::thread::spawn(writer);
            stalled.recv().unwrap();
            env.executor.set_threads(Pool::High, flushers);
            writer.join().unwrap();
        } else {
            writer();
        }
        assert_eq!(
            db.properties().number(&db.default_family().unwrap(), "rocksdb.background-errors"),
            Some(1),
            "{what}"
        );
        assert_eq!(scan(&db).len(), 30, "{what}");
        db.close().unwrap();
    }
}

/// As in RocksDB, a flush records its failure, whatever the reason of the flush.
#[test]
fn a_resume_that_gets_an_unrecoverable_error_is_not_retried() {
    let mut env = Env::memory(8);
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    let family =
        FamilyOptions { write_buffer_size: 1 << 16, max_write_buffer_number: 2, ..FamilyOptions::default() };
    let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
    // A full disk fails the first flush, and a broken disk fails the next.
    fs.hook().set_plan("create *.sst #1 ENOSPC\ncreate *.sst #2.. EIO").unwrap();
    let family = db.default_family().unwrap();
    let put = |i: u32| db.put(&family, &i.to_be_bytes(), &[b'v'; 30_000], &WriteOptions::default());
    let error = (0..20).find_map(|i| put(i).err()).unwrap();
    assert_eq!((error.severity(), error.subcode()), (base::Severity::Fatal, base::Subcode::None), "{error}");
    assert_eq!(db.background().resume().unwrap_err().severity(), base::Severity::Fatal);
    db.close().unwrap();
}

/// Without `paranoid_checks` a failed call is no background error. Nevertheless, a failed WAL takes no more
/// records.
#[test]
fn writes_resume_after_a_failed_wal_without_paranoid_checks() {
    for (plan, sync) in
        [("append *.log #3 EIO", false), ("append *.log #3 torn 10", false), ("sync *.log #1 EIO", true)]
    {
        let mut env = Env::memory(9);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let family = FamilyOptions {
            write_buffer_size: 1 << 16,
            max_write_buffer_number: 2,
            ..FamilyOptions::default()
        };
        let options = DbOptions { paranoid_checks: false, ..options(&env) };
        let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
        fs.hook().set_plan(plan).unwrap();
        let family = db.default_family().unwrap();
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let put = |i: u32| db.put(&family, &i.to_be_bytes(), &[b'v'; 10_000], &options);
        let failed = (0..20u32).find(|i| put(*i).is_err()).unwrap();
        let resumed =
            (0..100).any(|_| put(failed).is_ok() || !(env.executor.pass_time() | env.executor.help()));
        assert!(resumed && put(failed).is_ok(), "{plan}: nothing resumes writes");
        // More entries than both memtables hold, so that flushes must succeed too.
        (failed + 1..100).for_each(|i| put(i).unwrap());
        assert_eq!(scan(&db).len(), 100, "{plan}");
        db.close().unwrap();
    }
}

/// A flush of several column families first syncs the closed WALs, and one of these WALs failed.
#[test]
fn flushes_resume_after_a_failed_closed_wal_without_paranoid_checks() {
    for plan in ["sync *.log #1 EIO", "sync *.log #1 ENOSPC", "close *.log #1 EIO"] {
        let mut env = Env::memory(9);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        let family = || FamilyOptions {
            write_buffer_size: 1 << 16,
            max_write_buffer_number: 2,
            ..FamilyOptions::default()
        };
        let options = DbOptions { paranoid_checks: false, ..options(&env) };
        let db = Db::open(OpenRequest::new("/db", options, family())).unwrap();
        drop(db.admin().create_family(FamilyDescriptor::new("other", family())).unwrap());
        fs.hook().set_plan(plan).unwrap();
        let family = db.default_family().unwrap();
        let put = |i: u32| db.put(&family, &i.to_be_bytes(), &[b'v'; 10_000], &WriteOptions::default());
        // A stalled write fails if no job runs that could end its stall. The loop tries again.
        (0..100).for_each(|i| {
            assert!(
                (0..100).any(|_| put(i).is_ok() || !(env.executor.pass_time() | env.executor.help())),
                "{plan}: {i}"
            )
        });
        assert_eq!(scan(&db).len(), 100, "{plan}");
        assert_eq!(fs.hook().fired(), 1, "{plan}");
        db.close().unwrap();
    }
}

fn cases() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
}

#[test]
fn a_stalled_writer_gets_the_error_of_a_full_disk_within_a_second() {
    for threads in [false, true] {
        let mut env = Env::memory(8);
        let fs = FaultFs::wrap(env.fs.clone());
        env.fs = fs.clone();
        if threads {
            env.executor = Arc::new(Threads::new());
            env.clock = Arc::new(env::clock::RealClock::new());
        }
        // With default options, the engine resumes when the disk has space.
        let family = FamilyOptions { write_buffer_size: 64 << 10, ..FamilyOptions::default() };
        let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
        fs.hook().set_plan("append *.sst * ENOSPC").unwrap();
        let family = db.default_family().unwrap();
        let value = vec![b'v'; 4000];
        let put = |i: u32| db.put(&family, &i.to_be_bytes(), &value, &WriteOptions::default());
        let before = env.clock.now_micros();
        let failed = (0..1000).find_map(|i| put(i).err().map(|error| (i, error)));
        let (written, error) = failed.expect("the memtables have no room for all");
        let waited = env.clock.now_micros() - before;
        assert!(error.subcode() == base::Subcode::NoSpace || error.message().contains("space"), "{error}");
        assert!(threads || waited <= 2_000_000, "{waited} us");
        fs.hook().set_plan("").unwrap();
        while put(written).is_err() {
            assert!(threads || env.executor.pass_time() | env.executor.help(), "nothing will resume writes");
        }
        db.close().unwrap();
    }
}

/// As in RocksDB: the job of a flush decides about the stall, then the callers of the flush return.
#[test]
fn a_flush_returns_after_the_decision_about_the_stall_that_it_causes() {
    for round in 0..50 {
        let env = Env { fs: Env::memory(round).fs, ..Env::posix() };
        let family = FamilyOptions {
            level0_file_num_compaction_trigger: 2,
            level0_slowdown_writes_trigger: 2,
            ..FamilyOptions::default()
        };
        let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
        // The stall lasts until the compaction of level 0 runs.
        db.compactions().abort_all().unwrap();
        let flush = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
        let rate = || {
            put(&db, "a", "1");
            db.flush(&[db.default_family().unwrap()], &flush).unwrap();
            let rate = "rocksdb.actual-delayed-write-rate";
            db.properties().number(&db.default_family().unwrap(), rate).unwrap()
        };
        assert_eq!(rate(), 0, "round {round}");
        assert_ne!(rate(), 0, "round {round}");
    }
}

/// Without a soft limit of pending compaction bytes, compactions always need more threads. Real RocksDB 11.8 writes 1 MiB per
/// second in this test.
#[test]
fn writes_with_low_pri_share_one_rate_while_compactions_cannot_keep_up() {
    let env = Env::memory(7);
    let family = FamilyOptions {
        soft_pending_compaction_bytes_limit: 0,
        hard_pending_compaction_bytes_limit: 0,
        ..FamilyOptions::default()
    };
    let db = open(&env, family);
    let family = db.default_family().unwrap();
    let micros_of = |writes: &[usize], low_pri| {
        let before = env.clock.now_micros();
        for bytes in writes {
            let options = WriteOptions { low_pri, ..WriteOptions::default() };
            db.put(&family, b"k", &vec![0; *bytes], &options).unwrap();
        }
        env.clock.now_micros() - before
    };
    assert_eq!(micros_of(&[4 << 20], false), 0);
    for writes in [&[1 << 20; 4][..], &[4 << 20]] {
        let micros = micros_of(writes, true);
        assert!((3_900_000..4_200_000).contains(&micros), "4 MiB took {micros} microseconds");
        // The wait is a cause of the put.
        let waited = base::stats::last_causes()[Cause::RateLimiter.number()];
        assert!(waited > 0, "{:?}", base::stats::last_causes());
    }
    let options = WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() };
    let error = db.put(&family, b"k", b"v", &options).unwrap_err();
    assert_eq!((error.kind(), error.message()), (Kind::Incomplete, "Low priority write stall"));
}
