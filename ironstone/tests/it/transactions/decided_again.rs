//! The WAL fails at the decision of a prepared transaction, a resume succeeds, and the application decides again.
//!
//! ```text
//!  prepare ─► decision, whose sync fails ─► resume ─► second decision, acknowledged ─► crash ─► open
//! ```
//! The failed decision is in the WAL file, but it was not acknowledged. Only the second decision counts. Without a second
//! decision, the transaction is prepared.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use env::clock::ManualClock;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::{MemoryFs, Survivors};
use ironstone::{
    FamilyDescriptor, Options, Result, Transaction, TransactionDb, TransactionDbOptions, TransactionOptions,
    TxnDbWritePolicy, WriteOptions,
};

/// Fails the syncs of WALs, or the creation of SST files, while it is on. ENOSPC: a resume can clear the error.
#[derive(Default)]
struct Broken {
    syncs: AtomicBool,
    tables: AtomicBool,
    /// If set, keeps a copy of this disk before each call, with the number, the name and the file of the call.
    copied: Mutex<Option<MemoryFs>>,
    copies: Mutex<Vec<(String, MemoryFs)>>,
}

impl std::fmt::Debug for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Broken")
    }
}

impl Hook for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if let Some(disk) = &*self.copied.lock().unwrap()
            && matches!(call.op, Op::Append | Op::Create | Op::Sync | Op::SyncDir | Op::Rename)
        {
            let mut copies = self.copies.lock().unwrap();
            let name = format!("call {}, {:?} of {}", copies.len(), call.op, call.path.display());
            copies.push((name, disk.fork(Arc::new(ManualClock::new(0)))));
        }
        let is = |name| call.path.extension().is_some_and(|extension| extension == name);
        let fails = match call.op {
            Op::Sync if is("log") => self.syncs.load(Ordering::SeqCst),
            Op::Create if is("sst") => self.tables.load(Ordering::SeqCst),
            _ => false,
        };
        if !fails {
            return Verdict::Go;
        }
        let error = std::io::Error::from_raw_os_error(28);
        Verdict::Fail(base::Error::io("writing", call.path, error))
    }
}

/// A database on a disk in memory.
struct CopiedDisk {
    disk: MemoryFs,
    clock: Arc<ManualClock>,
    broken: Arc<Broken>,
    policy: TxnDbWritePolicy,
    options: &'static str,
}

impl CopiedDisk {
    fn new(policy: TxnDbWritePolicy, options: &'static str) -> CopiedDisk {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = MemoryFs::new(clock.clone());
        CopiedDisk { disk, clock, broken: Arc::default(), policy, options }
    }

    /// Returns the disk after a crash.
    fn crashed(&self, survivors: Survivors) -> CopiedDisk {
        let disk = self.disk.fork(self.clock.clone());
        disk.crash(survivors);
        CopiedDisk { disk, clock: self.clock.clone(), broken: Arc::default(), ..*self }
    }

    fn open(&self) -> TransactionDb {
        let mut options = Options::default();
        options.update("create_if_missing=true;create_missing_column_families=true").unwrap();
        // Only the test resumes.
        let manual = "max_bgerror_resume_count=0;bgerror_resume_retry_interval=3600000000";
        options.update(&format!("merge_operator=stringappend;{manual}")).unwrap();
        options.update(self.options).unwrap();
        options.db.env.fs = Arc::new(Hooked::new(Arc::new(self.disk.clone()), self.broken.clone()));
        let family = |name| FamilyDescriptor::new(name, options.family.clone());
        let families = ["default", "other"].map(family).into_iter().collect();
        let transactions = TransactionDbOptions {
            write_policy: self.policy,
            rollback_merge_operands: self.policy != TxnDbWritePolicy::WriteCommitted,
            ..TransactionDbOptions::default()
        };
        TransactionDb::open_with(Path::new("/db"), options.clone(), transactions, Some(families)).unwrap()
    }

    /// Runs `f`. Returns the disk before each of its calls that changes the disk, with the name of the call.
    fn copies_during(&self, f: impl FnOnce()) -> Vec<(String, CopiedDisk)> {
        *self.broken.copied.lock().unwrap() = Some(self.disk.clone());
        f();
        *self.broken.copied.lock().unwrap() = None;
        let copies = std::mem::take(&mut *self.broken.copies.lock().unwrap());
        let world = |disk| CopiedDisk { disk, clock: self.clock.clone(), broken: Arc::default(), ..*self };
        copies.into_iter().map(|(name, disk)| (name, world(disk))).collect()
    }

    /// Runs a call while the syncs of WALs fail.
    fn with_broken_syncs(&self, call: impl FnOnce() -> Result<()>) {
        self.broken.syncs.store(true, Ordering::SeqCst);
        call().unwrap_err();
        self.broken.syncs.store(false, Ordering::SeqCst);
    }
}

/// Resumes. A compaction that ran when the WAL failed can end during the first attempt, and fails it.
fn resume(db: &TransactionDb, what: &str) {
    let resumed = (0..3).find_map(|_| db.resume().ok());
    assert!(resumed.is_some(), "{what}: {:?}", db.background_error());
}

fn synced() -> WriteOptions {
    WriteOptions { sync: true, ..WriteOptions::default() }
}

/// Begins a transaction that changes both column families, and prepares it.
fn prepared(db: &TransactionDb, options: &WriteOptions) -> Transaction {
    let transaction = db.begin_with(options, &Default::default()).unwrap();
    transaction.set_name(b"x").unwrap();
    transaction.put(b"put", b"new").unwrap();
    transaction.merge(b"merged", b"new").unwrap();
    transaction.put_in(&db.family("other").unwrap(), b"put", b"new").unwrap();
    transaction.prepare().unwrap();
    transaction.set_write_options(synced());
    transaction
}

fn text(value: Option<impl AsRef<[u8]>>) -> String {
    value.map_or_else(|| "none".to_string(), |value| String::from_utf8_lossy(value.as_ref()).into_owned())
}

/// Returns what readers see of the transaction of [`prepared`], and the number of prepared transactions.
fn seen(db: &TransactionDb) -> (String, usize) {
    let other = db.family("other").unwrap().get(b"put").unwrap();
    let rows = [text(db.get(b"put").unwrap()), text(db.get(b"merged").unwrap()), text(other)];
    (rows.join(" "), db.all_prepared_transactions().len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Commit,
    Rollback,
}

use Decision::{Commit, Rollback};

fn decide(transaction: &Transaction, decision: Decision) -> Result<()> {
    match decision {
        Commit => transaction.commit(),
        Rollback => transaction.rollback(),
    }
}

const POLICIES: [TxnDbWritePolicy; 3] =
    [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared];

const OPTIONS: [&str; 5] = [
    "",
    "atomic_flush=true",
    "avoid_flush_during_recovery=true",
    "recycle_log_file_num=2;track_and_verify_wals=true",
    "wal_compression=kZSTD;track_and_verify_wals_in_manifest=true",
];

const OLD: &str = "old old old";
const NEW: &str = "new old,new new";

/// Calls `check` for each policy, each of some options, and for memtables that are empty and not empty at the resume.
fn in_each_setting(check: impl Fn(CopiedDisk, bool)) {
    for policy in POLICIES {
        for options in ["", "atomic_flush=true", "avoid_flush_during_recovery=true", "recycle_log_file_num=2"]
        {
            for flushes in [false, true] {
                check(CopiedDisk::new(policy, options), flushes);
            }
        }
    }
}

/// Writes the old values, prepares, and fails at the first decision.
fn failed(world: &CopiedDisk, db: &TransactionDb, flushes: bool, first: Decision) -> Transaction {
    for key in [b"put".as_slice(), b"merged"] {
        db.put(key, b"old").unwrap();
    }
    db.family("other").unwrap().put(b"put", b"old").unwrap();
    db.flush().unwrap();
    let transaction = prepared(db, &synced());
    if flushes {
        db.flush().unwrap();
        db.family("other").unwrap().flush().unwrap();
    } else {
        db.put(b"unrelated", b"1").unwrap();
    }
    world.with_broken_syncs(|| decide(&transaction, first));
    transaction
}

#[test]
fn second_decision_survives_a_crash_and_the_failed_one_does_not_count() {
    in_each_setting(|world, flushes| {
        for (first, second) in
            [(Commit, Commit), (Rollback, Commit), (Commit, Rollback), (Rollback, Rollback)]
        {
            let world = CopiedDisk::new(world.policy, world.options);
            let what = format!("{:?} {:?} {flushes} {first:?} {second:?}", world.policy, world.options);
            let db = world.open();
            let transaction = failed(&world, &db, flushes, first);
            if second == Commit {
                // The first resume fails at the sync of the sections.
                world.with_broken_syncs(|| db.resume());
            }
            resume(&db, &what);
            assert_eq!(seen(&db), (OLD.to_string(), 1), "{what}: after the resume");
            decide(&transaction, second).unwrap();
            let expected = (if second == Commit { NEW } else { OLD }.to_string(), 0);
            assert_eq!(seen(&db), expected, "{what}");
            for survivors in [Survivors::Everything, Survivors::Synced] {
                let crashed = world.crashed(survivors);
                assert_eq!(seen(&crashed.open()), expected, "{what} {survivors:?}");
                // A second recovery reads the WALs that the first recovery left.
                assert_eq!(seen(&crashed.crashed(survivors).open()), expected, "{what} {survivors:?}: again");
            }
        }
    });
}

/// Calls `check` for each world and each failed decision.
fn after_each_failed_decision(check: impl Fn(&CopiedDisk, &TransactionDb, Decision, &str)) {
    in_each_setting(|world, flushes| {
        for first in [Commit, Rollback] {
            let world = CopiedDisk::new(world.policy, world.options);
            let what = format!("{:?} {:?} {flushes} {first:?}", world.policy, world.options);
            let db = world.open();
            let transaction = failed(&world, &db, flushes, first);
            check(&world, &db, first, &what);
            drop(transaction);
        }
    });
}

#[test]
fn transaction_whose_decision_failed_is_prepared_after_a_crash() {
    after_each_failed_decision(|world, db, _, what| {
        resume(db, what);
        for survivors in [Survivors::Everything, Survivors::Synced] {
            let db = world.crashed(survivors).open();
            assert_eq!(seen(&db), (OLD.to_string(), 1), "{what} {survivors:?}");
            db.transaction_by_name(b"x").unwrap().commit().unwrap();
            assert_eq!(seen(&db), (NEW.to_string(), 0), "{what} {survivors:?}");
        }
    });
}

#[test]
fn crash_during_a_resume_leaves_the_transaction_prepared_or_decided_as_a_whole() {
    after_each_failed_decision(|world, db, first, what| {
        let copies = world.copies_during(|| resume(db, what));
        assert!(copies.len() > 5, "{what}: {} calls", copies.len());
        let decided = (if first == Commit { NEW } else { OLD }.to_string(), 0);
        for (at, (call, copy)) in copies.into_iter().enumerate() {
            let survivors = if at % 2 == 0 { Survivors::Everything } else { Survivors::Synced };
            let db = copy.crashed(survivors).open();
            let found = seen(&db);
            if found != decided {
                assert_eq!(found, (OLD.to_string(), 1), "{what} {survivors:?}: {call}");
                db.transaction_by_name(b"x").unwrap().commit().unwrap();
                assert_eq!(seen(&db), (NEW.to_string(), 0), "{what} {survivors:?}: {call}");
            }
        }
    });
}

/// The prepare was not synced, and its WAL loses everything that was not synced. After the resume, the WAL is not needed.
#[test]
fn prepare_survives_the_failure_of_its_wal_and_the_failed_write_does_not_come_back() {
    for policy in POLICIES {
        for options in OPTIONS {
            let (world, what) = (CopiedDisk::new(policy, options), format!("{policy:?} {options:?}"));
            let db = world.open();
            for key in [b"put".as_slice(), b"merged", b"kept"] {
                db.put(key, b"old").unwrap();
            }
            db.family("other").unwrap().put(b"put", b"old").unwrap();
            db.flush_wal(true).unwrap();
            let transaction = prepared(&db, &WriteOptions::default());
            world.with_broken_syncs(|| db.merge_with(b"kept", b"failed", &synced()));
            resume(&db, &what);
            // The write uses the sequence number of the failed write.
            db.merge_with(b"kept", b"new", &synced()).unwrap();
            let open = |survivors| {
                let db = world.crashed(survivors).open();
                assert_eq!(text(db.get(b"kept").unwrap()), "old,new", "{what} {survivors:?}");
                seen(&db)
            };
            for survivors in [Survivors::Everything, Survivors::Synced] {
                assert_eq!(open(survivors), (OLD.to_string(), 1), "{what} {survivors:?}");
            }
            transaction.commit().unwrap();
            for survivors in [Survivors::Everything, Survivors::Synced] {
                assert_eq!(open(survivors), (NEW.to_string(), 0), "{what} {survivors:?}");
            }
        }
    }
}

/// The flush of a memtable of another column family failed before the WAL failed. The memtable names the failed WAL as the
/// oldest WAL that its column family needs, and this column family has no newer entry.
#[test]
fn transaction_stays_prepared_if_an_older_memtable_is_flushed_by_the_resume() {
    for policy in POLICIES {
        for options in ["", "atomic_flush=true", "recycle_log_file_num=2"] {
            let (world, what) = (CopiedDisk::new(policy, options), format!("{policy:?} {options:?}"));
            let db = world.open();
            db.family("other").unwrap().put(b"put", b"old").unwrap();
            let transaction = db.begin_with(&synced(), &Default::default()).unwrap();
            transaction.set_name(b"x").unwrap();
            transaction.put(b"put", b"new").unwrap();
            transaction.prepare().unwrap();
            world.broken.tables.store(true, Ordering::SeqCst);
            db.family("other").unwrap().flush().unwrap_err();
            world.with_broken_syncs(|| db.put_with(b"kept", b"failed", &synced()));
            world.broken.tables.store(false, Ordering::SeqCst);
            let mut copies = world.copies_during(|| resume(&db, &what));
            copies.push(("the end".to_string(), world.crashed(Survivors::Everything)));
            for (call, copy) in copies {
                let db = copy.crashed(Survivors::Synced).open();
                let recovered = db.transaction_by_name(b"x");
                assert!(recovered.is_some(), "{what}: {call}: the transaction is lost");
                recovered.unwrap().commit().unwrap();
                assert_eq!(text(db.get(b"put").unwrap()), "new", "{what}: {call}");
            }
            drop(transaction);
        }
    }
}

/// A dropped transaction has a section, and its rollback fails with the WAL. A recovery writes the values before the section again,
/// over a newer section of another transaction. So no other writer may lock its keys, and no transaction may take its name, before a
/// rollback succeeds.
#[test]
fn keys_of_a_dropped_transaction_stay_locked_until_its_rollback_succeeds() {
    let world = CopiedDisk::new(TxnDbWritePolicy::WriteUnprepared, "");
    let db = world.open();
    db.put(b"k", b"old").unwrap();
    let other = begin_in_sections(&db);
    other.set_lock_timeout(0);
    let dropped = begin_in_sections(&db);
    dropped.set_name(b"x").unwrap();
    dropped.put(b"k", b"dropped").unwrap();
    dropped.put(b"l", b"dropped").unwrap();
    world.broken.syncs.store(true, Ordering::SeqCst);
    dropped.prepare().unwrap_err();
    drop(dropped);
    assert_eq!(other.put(b"k", b"other").unwrap_err().kind(), ironstone::Kind::TimedOut);
    db.begin().set_name(b"x").unwrap_err();

    world.broken.syncs.store(false, Ordering::SeqCst);
    db.resume().unwrap();
    let prepared = begin_in_sections(&db);
    prepared.set_name(b"x").unwrap();
    prepared.put(b"k", b"new").unwrap();
    prepared.put(b"l", b"new").unwrap();
    prepared.prepare().unwrap();
    for survivors in [Survivors::Synced, Survivors::Everything] {
        let recovered = world.crashed(survivors).open();
        recovered.transaction_by_name(b"x").unwrap().commit().unwrap();
        for key in [b"k", b"l"] {
            assert_eq!(recovered.get(key).unwrap().as_deref(), Some(&b"new"[..]), "{survivors:?}");
        }
    }
}

/// Begins a transaction with synced writes, in which each write moves the previous write into the database.
fn begin_in_sections(db: &TransactionDb) -> Transaction {
    let options = TransactionOptions { write_batch_flush_threshold: 1, ..TransactionOptions::default() };
    db.begin_with(&WriteOptions { sync: true, ..WriteOptions::default() }, &options).unwrap()
}
