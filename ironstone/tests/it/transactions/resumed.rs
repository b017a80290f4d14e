//! Failures that a resume clears: of the WAL and of flushes, and what a thread reports after another thread has resumed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::ThreadId;

use base::stats::Statistics;
use env::clock::{Clock, ManualClock};
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::logger::{LogLevel, Logger};
use env::memory::{MemoryFs, Survivors};
use ironstone::{
    FamilyDescriptor, Options, Result, TransactionDb, TransactionDbOptions, TxnDbWritePolicy, WriteOptions,
};

/// Fails or skips calls while it is on.
#[derive(Debug, Default)]
struct Broken {
    /// The operation and the end of the file name.
    call: Mutex<Option<(Op, &'static str)>>,
    /// This number of appends to WALs return success and write nothing, as a file system that buffers and then fails.
    lost_appends: AtomicUsize,
}

impl Hook for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let ends_with = |end: &str| call.path.to_str().is_some_and(|path| path.ends_with(end));
        if call.op == Op::Append && ends_with(".log") {
            let lost = self.lost_appends.load(Ordering::SeqCst);
            if lost > 0 {
                self.lost_appends.store(lost - 1, Ordering::SeqCst);
                return Verdict::Skip;
            }
        }
        match *self.call.lock().unwrap() {
            // ENOSPC: a resume can clear the error.
            Some((op, end)) if op == call.op && ends_with(end) => {
                let error = std::io::Error::from_raw_os_error(28);
                Verdict::Fail(base::Error::io("writing", call.path, error))
            }
            _ => Verdict::Go,
        }
    }
}

impl Broken {
    fn set(&self, call: Option<(Op, &'static str)>) {
        *self.call.lock().unwrap() = call;
    }
}

/// A disk in memory, and the options of the databases on it.
struct BrokenDisk {
    disk: MemoryFs,
    broken: Arc<Broken>,
    options: Options,
    policy: TxnDbWritePolicy,
}

impl BrokenDisk {
    fn new(settings: &str) -> BrokenDisk {
        let disk = MemoryFs::new(Arc::new(ManualClock::new(1_700_000_000_000_000)));
        let broken = Arc::<Broken>::default();
        let mut options = Options::default();
        options.update("create_if_missing=true;create_missing_column_families=true").unwrap();
        // Only the test resumes.
        options.update("max_bgerror_resume_count=0;bgerror_resume_retry_interval=3600000000").unwrap();
        options.update(settings).unwrap();
        options.db.env.fs = Arc::new(Hooked::new(Arc::new(disk.clone()), broken.clone()));
        BrokenDisk { disk, broken, options, policy: TxnDbWritePolicy::WriteCommitted }
    }

    fn open(&self) -> TransactionDb {
        let family = |name| FamilyDescriptor::new(name, self.options.family.clone());
        let families = ["default", "other"].map(family).into_iter().collect();
        let transactions =
            TransactionDbOptions { write_policy: self.policy, ..TransactionDbOptions::default() };
        TransactionDb::open_with(Path::new("/db"), self.options.clone(), transactions, Some(families))
            .unwrap()
    }

    /// Opens the database as a crash leaves it now.
    fn reopened(&self, survivors: Survivors) -> TransactionDb {
        let disk = self.disk.fork(Arc::new(ManualClock::new(0)));
        disk.crash(survivors);
        let mut options = self.options.clone();
        options.db.env = Options::default().db.env;
        options.db.env.fs = Arc::new(disk.clone());
        options.db.info_log = None;
        BrokenDisk { disk, broken: Arc::default(), options, policy: self.policy }.open()
    }

    /// Makes a synced write fail, and resumes.
    fn fail_and_resume(&self, db: &TransactionDb) {
        self.broken.set(Some((Op::Sync, ".log")));
        db.put_with(b"failed", b"failed", &synced()).unwrap_err();
        self.broken.set(None);
        db.resume().unwrap();
    }
}

fn synced() -> WriteOptions {
    WriteOptions { sync: true, ..WriteOptions::default() }
}

fn prepare(db: &TransactionDb) -> Result<ironstone::Transaction> {
    let transaction = db.begin_with(&synced(), &Default::default())?;
    transaction.set_name(b"x")?;
    transaction.put(b"k", b"new")?;
    transaction.prepare()?;
    Ok(transaction)
}

/// Runs an action at one call of a thread for the time. Counts the calls of the thread.
#[derive(Default)]
struct Watched {
    thread: Mutex<Option<ThreadId>>,
    calls: AtomicUsize,
    at: Option<usize>,
    action: OnceLock<Box<dyn Fn() + Send + Sync>>,
    clock: env::clock::RealClock,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watched")
    }
}

impl Clock for Watched {
    fn now_micros(&self) -> u64 {
        self.clock.now_micros()
    }

    fn now_nanos(&self) -> u64 {
        let is_watched = *self.thread.lock().unwrap() == Some(std::thread::current().id());
        if is_watched {
            let call = self.calls.fetch_add(1, Ordering::SeqCst);
            if self.at == Some(call) {
                self.action.get().expect("an action")();
            }
        }
        self.clock.now_nanos()
    }

    fn sleep_micros(&self, micros: u64) {
        self.clock.sleep_micros(micros);
    }
}

/// Rolls a prepared transaction back. At the call `at` for the time, another write fails the WAL, and a resume succeeds. Returns the
/// number of calls for the time.
fn roll_back_with_a_resume(at: Option<usize>) -> usize {
    let mut world = BrokenDisk::new("");
    let clock = Arc::new(Watched { at, ..Watched::default() });
    world.options.db.env.clock = clock.clone();
    world.options.db.statistics = Some(Arc::new(Statistics::new()));
    let world = Arc::new(world);
    let db = Arc::new(world.open());
    db.put(b"k", b"old").unwrap();
    let transaction = prepare(&db).unwrap();
    let (inner, of) = (Arc::downgrade(&db), world.clone());
    let action = move || {
        let (inner, of): (Weak<TransactionDb>, _) = (inner.clone(), of.clone());
        std::thread::spawn(move || of.fail_and_resume(&inner.upgrade().unwrap())).join().unwrap();
    };
    assert!(clock.action.set(Box::new(action)).is_ok());
    *clock.thread.lock().unwrap() = Some(std::thread::current().id());
    transaction.rollback().unwrap();
    *clock.thread.lock().unwrap() = None;
    for survivors in [Survivors::Everything, Survivors::Synced] {
        let db = world.reopened(survivors);
        assert_eq!(db.all_prepared_transactions().len(), 0, "{survivors:?}: the rollback was acknowledged");
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"old"[..]), "{survivors:?}");
    }
    clock.calls.load(Ordering::SeqCst)
}

/// The thread of the rollback reads the time for the statistics after its write is published.
#[test]
fn acknowledged_rollback_stays_a_rollback_if_a_resume_runs_before_the_rollback_returns() {
    let calls = roll_back_with_a_resume(None);
    roll_back_with_a_resume(Some(calls - 1));
}

#[test]
fn failed_write_of_the_buffered_wal_records_before_a_new_wal_is_a_background_error() {
    let world = BrokenDisk::new("manual_wal_flush=true");
    let db = world.open();
    db.put(b"k", b"1").unwrap();
    world.broken.set(Some((Op::Append, ".log")));
    db.flush().unwrap_err();
    world.broken.set(None);
    assert!(db.background_error().is_some(), "writes continue to a WAL that has failed");
    db.resume().unwrap();
    db.put(b"l", b"2").unwrap();
    db.flush_wal(true).unwrap();
    let db = world.reopened(Survivors::Synced);
    let value = |key: &[u8]| db.get(key).unwrap().map(|value| value.to_vec());
    assert_eq!((value(b"k"), value(b"l")), (Some(b"1".to_vec()), Some(b"2".to_vec())));
}

/// Runs an action at the line about a failed flush. The thread of the flush writes this line before it reports the failure.
#[derive(Default)]
struct AtFailedFlush(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for AtFailedFlush {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtFailedFlush")
    }
}

impl Logger for AtFailedFlush {
    fn level(&self) -> LogLevel {
        LogLevel::Info
    }

    fn set_level(&self, _: LogLevel) {}

    fn log(&self, _: LogLevel, message: std::fmt::Arguments<'_>) {
        if let Some(action) = self.0.get()
            && message.to_string().contains("Level-0 flush failed")
        {
            action();
        }
    }
}

#[test]
fn failure_of_a_flush_stops_no_write_if_a_resume_has_flushed_its_memtables() {
    for call in [(Op::Sync, ".log"), (Op::Create, ".sst")] {
        let mut world = BrokenDisk::new("");
        let logger = Arc::<AtFailedFlush>::default();
        world.options.db.info_log = Some(logger.clone());
        let world = Arc::new(world);
        let db = Arc::new(world.open());
        let (inner, of) = (Arc::downgrade(&db), world.clone());
        let resumes = Arc::new(AtomicUsize::new(0));
        let counted = resumes.clone();
        let action = move || {
            let (inner, of): (Weak<TransactionDb>, _) = (inner.clone(), of.clone());
            std::thread::spawn(move || of.fail_and_resume(&inner.upgrade().unwrap())).join().unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
        };
        assert!(logger.0.set(Box::new(action)).is_ok());
        db.put(b"k", b"1").unwrap();
        world.broken.set(Some(call));
        // The call can end with the failure of the job, or after the flush of the resume.
        let _ = db.flush();
        // Waits for the end of the flush job.
        db.pause_background_work().unwrap();
        db.continue_background_work().unwrap();
        assert_eq!(resumes.load(Ordering::SeqCst), 1, "{call:?}");
        assert_eq!(db.background_error().map(|error| error.to_string()), None, "{call:?}");
        db.put(b"k", b"2").unwrap();
    }
}

/// The bytes of a write that the file system buffered, and then lost with the failed sync, are neither in the file nor in memory.
#[test]
fn resume_keeps_a_prepared_transaction_if_the_failed_wal_lost_later_bytes() {
    for policy in
        [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared]
    {
        let world = BrokenDisk { policy, ..BrokenDisk::new("") };
        let db = world.open();
        db.put(b"k", b"old").unwrap();
        let transaction = prepare(&db).unwrap();
        world.broken.lost_appends.store(1, Ordering::SeqCst);
        world.fail_and_resume(&db);
        let reopened = world.reopened(Survivors::Synced);
        let recovered = reopened.transaction_by_name(b"x");
        recovered.expect("the prepared transaction").commit().unwrap();
        assert_eq!(reopened.get(b"k").unwrap().as_deref(), Some(&b"new"[..]), "{policy:?}");
        transaction.commit().unwrap();
        let reopened = world.reopened(Survivors::Synced);
        assert_eq!(reopened.all_prepared_transactions().len(), 0, "{policy:?}");
        assert_eq!(reopened.get(b"k").unwrap().as_deref(), Some(&b"new"[..]), "{policy:?}");
    }
}

/// A name is used again after a rollback that took no sequence number. If the failed WAL lost the newer section, the resume must not
/// take the older section of the name. The WAL can lose the rollback too.
#[test]
fn resume_does_not_prepare_a_section_that_was_rolled_back() {
    for lost in [0, 1, 2] {
        let world = BrokenDisk::new("");
        let db = world.open();
        let older = prepare(&db).unwrap();
        let lose = |appends| world.broken.lost_appends.store(appends, Ordering::SeqCst);
        lose(lost / 2);
        older.set_write_options(WriteOptions::default());
        older.rollback().unwrap();
        let newer = db.begin();
        newer.set_name(b"x").unwrap();
        newer.put(b"other key", b"new").unwrap();
        lose(lost.min(1));
        // The rollback and the prepare are not synced, so they are acknowledged, and the file system can lose them.
        newer.prepare().unwrap();
        world.broken.set(Some((Op::Append, ".log")));
        db.put(b"failed", b"failed").unwrap_err();
        world.broken.set(None);
        if lost > 0 {
            let error = db.resume().unwrap_err();
            assert!(error.is_corruption(), "{lost} records are lost: {error}");
            continue;
        }
        db.resume().unwrap();
        let reopened = world.reopened(Survivors::Synced);
        reopened.transaction_by_name(b"x").unwrap().commit().unwrap();
        assert_eq!(reopened.get(b"other key").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(reopened.get(b"k").unwrap(), None);
    }
}

/// A recycled WAL keeps its file and its name until its reuse. Without the MANIFEST, a repair cannot know that a resume ended, and
/// replays the failed decision in the old WAL.
#[test]
fn repair_without_a_manifest_reports_decisions_that_failed_before_a_resume() {
    let world = BrokenDisk::new("recycle_log_file_num=3");
    let db = world.open();
    db.put(b"k", b"old").unwrap();
    let transaction = prepare(&db).unwrap();
    world.broken.set(Some((Op::Sync, ".log")));
    transaction.commit().unwrap_err();
    world.broken.set(None);
    db.resume().unwrap();
    db.put_with(b"l", b"1", &synced()).unwrap();
    let reported = |loses_manifest: bool| {
        let disk = world.disk.fork(Arc::new(ManualClock::new(0)));
        disk.crash(Survivors::Everything);
        let mut options = world.options.clone();
        options.db.env = Options::default().db.env;
        options.db.env.fs = Arc::new(disk.clone());
        if loses_manifest {
            let names = options.db.env.fs.list(Path::new("/db")).unwrap();
            names
                .iter()
                .filter(|name| name.starts_with("MANIFEST"))
                .for_each(|name| assert!(disk.damage(&Path::new("/db").join(name), Vec::clear)));
        }
        let families = vec![FamilyDescriptor::new("other", options.family.clone())];
        let report = ironstone::repair("/db", options, families).unwrap();
        report.problems.iter().any(|problem| problem.what.contains("failed before the resume may count"))
    };
    assert!(reported(true));
    assert!(!reported(false), "the MANIFEST names the oldest WAL that is needed");
}
