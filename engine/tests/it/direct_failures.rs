//! `enable_blob_direct_write` on disks that fail, and in crashes.

use std::path::Path;
use std::sync::Arc;

use env::fault::FaultFs;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::Survivors;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest, fsck, repair};
use ironstone_engine::family::Family;
use ironstone_engine::options::{FlushOptions, ReadOptions, WriteOptions};
use ironstone_engine::repair::Weight;
use parking_lot::Mutex;
use testkit::machine;

use crate::basic::{put, scan};
use crate::direct_writes::{family, request};
use crate::durable::{Databases, synced};

const FAMILY: &str = "blob_direct_write_partitions=2;blob_file_size=1300";

/// A disk with planned faults, and the writes that a workload has made on it.
struct Machine {
    world: machine::Machine,
    faults: Arc<FaultFs>,
    /// The number of writes that have returned without an error.
    written: usize,
    /// The number of writes that must survive each crash.
    durable: usize,
}

impl Machine {
    fn new(plan: &str) -> Machine {
        let mut world = machine::Machine::new(1);
        let faults = FaultFs::wrap_disk(Arc::new(world.disk.clone()), world.disk.clone());
        world.env.fs = faults.clone();
        faults.hook().set_plan(plan).unwrap();
        Machine { world, faults, written: 0, durable: 0 }
    }

    fn request(&self) -> OpenRequest {
        let mut request = request(&self.world.env, FAMILY);
        request.options.update("create_missing_column_families=true;max_bgerror_resume_count=0").unwrap();
        request.families.push(FamilyDescriptor::new("other", family(FAMILY)));
        request
    }

    fn open(&self) -> base::Result<Db> {
        Db::open(self.request())
    }

    /// Writes one batch with large values for both column families. Each third write is synced.
    fn write(&mut self, db: &Db) -> base::Result<()> {
        let at = self.written;
        let mut batch = WriteBatch::new();
        batch.put(key(at).as_bytes(), value(at).as_bytes());
        batch.put(b"hot", value(at).as_bytes());
        batch.put_in(db.family("other").unwrap().id(), key(at).as_bytes(), value(at).as_bytes());
        let sync = at % 3 == 2;
        db.write(&mut batch, &WriteOptions { sync, ..WriteOptions::default() })?;
        self.written += 1;
        if sync {
            self.durable = self.written;
        }
        Ok(())
    }

    /// Writes and flushes. Ends at the first error.
    fn run(&mut self, db: &Db) -> base::Result<()> {
        for round in 0..3 {
            for _ in 0..4 {
                self.write(db)?;
            }
            let flushed = if round == 1 { "other" } else { "default" };
            db.flush(&[db.family(flushed).unwrap()], &FlushOptions::default())?;
        }
        self.write(db)?;
        db.wals().sync()?;
        self.durable = self.written;
        self.write(db)
    }

    /// Checks that the database has the first writes and no later write. Returns the number of these writes.
    fn check(&self, db: &Db, context: &str) -> usize {
        let rows = rows(db, &db.default_family().unwrap(), context);
        let found = rows.len().saturating_sub(1);
        let mut expected: Vec<_> = (0..found).map(|at| (key(at), value(at))).collect();
        if found > 0 {
            expected.push(("hot".into(), value(found - 1)));
        }
        assert!(rows == expected, "{context}: default has {:?}", keys(&rows));
        let other = self::rows(db, &db.family("other").unwrap(), context);
        assert!(other == expected[..found], "{context}: other has {:?}, default {found}", keys(&other));
        found
    }
}

fn key(at: usize) -> String {
    format!("a{at:03}")
}

fn value(at: usize) -> String {
    format!("{at}-{}", "v".repeat(400))
}

fn keys(rows: &[(String, String)]) -> Vec<&str> {
    rows.iter().map(|row| &*row.0).collect()
}

fn rows(db: &Db, family: &Arc<Family>, context: &str) -> Vec<(String, String)> {
    let mut iter = db.iter(family, ReadOptions::default()).unwrap();
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        rows.push((text(iter.key()), text(iter.value())));
        iter.next();
    }
    iter.status().unwrap_or_else(|error| panic!("{context}: {error}"));
    rows
}

#[test]
fn each_crash_leaves_a_prefix_of_the_writes_with_all_durable_writes() {
    let mut at = 0;
    let mut shortest = usize::MAX;
    loop {
        at += 1;
        let mut fired = false;
        let other = [Survivors::Everything, Survivors::ZerosForData, Survivors::Random(at)][at as usize % 3];
        for survivors in [Survivors::Synced, other] {
            let context = format!("crash at call {at}, {survivors:?}");
            let mut machine = Machine::new(&format!("write * #{at} crash"));
            let opened = machine.open();
            if let Ok(db) = &opened {
                let _ = machine.run(db);
            }
            fired |= machine.faults.hook().fired() > 0;
            machine.world.crash(survivors);
            drop(opened);
            machine.faults.hook().revive();
            let db = machine.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            let found = machine.check(&db, &context);
            assert!(found >= machine.durable, "{context}: {found} of {} writes", machine.durable);
            // A write that was not acknowledged may survive.
            assert!(found <= machine.written + 1, "{context}: {found} of {} writes", machine.written);
            shortest = shortest.min(found);
            // The database goes on, and has the same content after the next open.
            machine.written = found;
            machine.write(&db).unwrap();
            db.close().unwrap();
            drop(db);
            let found = machine.check(&machine.open().unwrap(), &context);
            assert_eq!(found, machine.written, "{context}");
        }
        if !fired {
            break;
        }
    }
    assert!(at > 60, "the workload has {at} calls");
    assert_eq!(shortest, 0);
}

/// A resume clears an error that the disk has no space. After any other error, the database must be opened again.
#[test]
fn a_failed_call_of_a_blob_file_stops_writes_and_loses_no_write() {
    let mut fired = 0;
    for (code, op) in ["ENOSPC", "EIO"]
        .into_iter()
        .flat_map(|code| ["create", "append", "sync", "sync_dir"].map(|op| (code, op)))
    {
        for at in 1.. {
            let file = if op == "sync_dir" { "db" } else { "*.blob" };
            let context = format!("{op} #{at} {code}");
            let mut machine = Machine::new("");
            let db = machine.open().unwrap();
            machine.faults.hook().set_plan(&format!("{op} {file} #{at} {code}")).unwrap();
            let outcome = machine.run(&db);
            if machine.faults.hook().fired() == 0 {
                outcome.unwrap();
                break;
            }
            fired += 1;
            assert!(outcome.is_err(), "{context}: the failure is reported");
            machine.faults.hook().set_plan("").unwrap();
            let acknowledged = machine.check(&db, &context);
            assert_eq!(acknowledged, machine.written, "{context}: a write that failed is not visible");
            // A flush that could not sync the directory of its SST file stops one column family only.
            if op != "sync_dir" {
                assert!(machine.write(&db).is_err(), "{context}: the WALs take no records");
            }
            if code == "ENOSPC" {
                db.background().resume().unwrap_or_else(|error| panic!("{context}: {error}"));
                // The resume has flushed each acknowledged write.
                machine.durable = machine.written;
                assert_eq!(machine.check(&db, &context), machine.written, "{context}");
                machine.run(&db).unwrap_or_else(|error| panic!("{context}: {error}"));
                machine.check(&db, &context);
            }
            machine.world.crash(Survivors::Synced);
            drop(db);
            let db = machine.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            let found = machine.check(&db, &context);
            assert!(found >= machine.durable, "{context}: {found} of {}", machine.durable);
        }
    }
    assert!(fired > 40, "{fired} calls of blob files failed");
}

/// Runs an action in another thread during the first sync of a blob file.
#[derive(Default)]
struct DuringSync(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl std::fmt::Debug for DuringSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DuringSync")
    }
}

impl Hook for DuringSync {
    fn name(&self) -> &'static str {
        "during a sync"
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        Verdict::Go
    }

    /// Acts after the sync of a blob file: the sync must not make the values of the action durable.
    fn after(&self, call: &Call<'_>, error: Option<&base::Error>) {
        if error.is_none()
            && call.op == Op::Sync
            && call.path.extension().is_some_and(|end| end == "blob")
            && let Some(action) = self.0.lock().take()
        {
            std::thread::spawn(action).join().unwrap();
        }
    }
}

/// Opens a database, and writes the key `a` with a value in a blob file. After the first sync of the blob file, another thread
/// writes the key `b` and closes the WAL.
fn with_a_write_during_the_sync(world: &mut machine::Machine) -> (Arc<Db>, Arc<DuringSync>) {
    let hook = Arc::new(DuringSync::default());
    world.env.fs = Arc::new(Hooked::new(Arc::new(world.disk.clone()), hook.clone()));
    let db = Arc::new(Db::open(request(&world.env, "")).unwrap());
    put(&db, "a", &value(0));
    let other = db.clone();
    *hook.0.lock() = Some(Box::new(move || {
        put(&other, "b", &value(1));
        let flush = FlushOptions { wait: false, ..FlushOptions::default() };
        other.flush(&[other.default_family().unwrap()], &flush).unwrap();
    }));
    (db, hook)
}

/// If the WAL were synced with values that are not durable, the next WAL could state that the WAL is durable. An open after a
/// crash would then miss a durable record.
#[test]
fn a_wal_that_is_closed_during_a_sync_of_values_waits_for_its_own_values() {
    for seed in 0..100 {
        let mut world = machine::Machine::new(1);
        let (db, hook) = with_a_write_during_the_sync(&mut world);
        db.wals().sync().unwrap();
        assert!(hook.0.lock().is_none(), "the blob file was synced");
        // The first record of the next WAL states which WALs are durable.
        put(&db, "c", "small");
        world.crash(Survivors::Random(seed));
        drop(db);
        let db = Db::open(request(&world.env, "")).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = rows(&db, &db.default_family().unwrap(), "");
        let all = [("a".to_string(), value(0)), ("b".into(), value(1)), ("c".into(), "small".into())];
        assert!(!found.is_empty() && found == all[..found.len()], "seed {seed}: {:?}", keys(&found));
    }
}

/// A proof states which bytes of the WALs are durable. If the value of a record in these bytes were not durable, an open after a
/// crash would fail.
#[test]
fn a_proof_names_no_wal_that_is_closed_during_a_sync_before_its_own_values_are_durable() {
    let mut world = machine::Machine::new(1);
    let (db, hook) = with_a_write_during_the_sync(&mut world);
    // The periodic task writes a proof if two of its runs find the same state.
    let mut rounds = 0..100;
    while hook.0.lock().is_some() {
        assert!(rounds.next().is_some(), "no proof was written");
        if !world.env.executor.help() {
            world.env.executor.pass_time();
        }
    }
    assert!(world.env.fs.exists(Path::new("/db/PROOF")).unwrap());
    let mut crashed = machine::Machine::new(2);
    crashed.disk = world.disk.fork(crashed.clock.clone());
    crashed.env.fs = Arc::new(crashed.disk.clone());
    crashed.crash(Survivors::Synced);
    let opened = Db::open(request(&crashed.env, "")).unwrap();
    assert_eq!(rows(&opened, &opened.default_family().unwrap(), ""), [("a".to_string(), value(0))]);
    drop(db);
}

/// The writes of a database that was killed: each value is in the blob file, and the WAL refers to the value.
fn killed(synced_writes: &[&str], later: &[&str], survivors: Survivors) -> machine::Machine {
    let world = machine::Machine::new(1);
    let db = Db::open(request(&world.env, "")).unwrap();
    let value = |key: &str| format!("{key}-{}", "v".repeat(500));
    synced_writes.iter().for_each(|key| synced(&db, key, &value(key)));
    later.iter().for_each(|key| put(&db, key, &value(key)));
    world.crash_with(db, survivors);
    world
}

#[test]
fn a_repair_reports_a_lost_value_and_keeps_the_other_values() {
    let world = killed(&["a", "b", "c"], &[], Survivors::Synced);
    let blobs = world.file("", ".blob");
    // The second record of the blob file.
    world.disk.damage(Path::new(&blobs), |bytes| bytes[700] ^= 1);
    assert!(Db::open(request(&world.env, "")).is_err());
    for report in [fsck(&request(&world.env, "")).unwrap(), repair(request(&world.env, "")).unwrap()] {
        assert_eq!(report.weight(), Some(Weight::Loss));
        let lost: Vec<_> = report.problems.iter().filter(|problem| problem.weight == Weight::Loss).collect();
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert!(
            lost[0].file.extension().is_some_and(|end| end == "log") && lost[0].offset.is_some(),
            "{lost:?}"
        );
        assert!(lost[0].what.contains(".blob") || lost[0].what.contains("a value in blob file"), "{lost:?}");
        assert!(lost[0].what.contains("sequence number"), "{lost:?}");
    }
    let db = Db::open(request(&world.env, "")).unwrap();
    let keys: Vec<_> = scan(&db).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "c"]);
}

/// A crash can keep the record of a WAL and lose the end of a blob file that was not synced.
#[test]
fn values_that_a_crash_lost_are_no_loss_in_a_check() {
    let world = killed(&["a"], &["b"], Survivors::Everything);
    let blobs = world.file("", ".blob");
    world.disk.damage(Path::new(&blobs), |bytes| bytes.truncate(700));
    let report = fsck(&request(&world.env, "")).unwrap();
    assert!(report.weight().is_none_or(|weight| weight == Weight::Note), "{:?}", report.problems);
    let db = Db::open(request(&world.env, "")).unwrap();
    assert_eq!(scan(&db).len(), 1);
}

/// The header of a blob file has no checksum.
#[test]
fn a_repair_reports_a_blob_file_whose_header_is_wrong() {
    let world = machine::Machine::new(1);
    let db = Db::open(request(&world.env, "")).unwrap();
    put(&db, "a", &"v".repeat(500));
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    db.close().unwrap();
    drop(db);
    let blobs = world.file("", ".blob");
    // Bytes 8 to 11 are the column family.
    world.disk.damage(Path::new(&blobs), |bytes| bytes[9] ^= 1);
    let report = fsck(&request(&world.env, "")).unwrap();
    assert_eq!(report.weight(), Some(Weight::Loss));
    assert!(report.problems.iter().any(|problem| problem.file == Path::new(&blobs)), "{:?}", report.problems);
}
