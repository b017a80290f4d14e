//! A flush or compaction that fails stops only its own column families. The other column families continue.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Level, Severity, Subcode};
use env::executor::{Executor, Threads};
use env::fault::FaultFs;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::Survivors;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    CompactRangeOptions, CompactionOptions, DbOptions, DbPath, FamilyOptions, FlushOptions, ReadOptions,
    WriteOptions,
};
use mem::write_buffer::WriteBufferManager;
use parking_lot::Mutex;
use testkit::machine::Machine;

use crate::durable::Databases;

mod waits;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// Column families in separate directories, on disks that fail independently.
#[derive(Debug, Default)]
struct Disks(Mutex<Vec<(&'static str, i32)>>);

impl Disks {
    /// Makes later writes to the SST files of the column family fail with this code.
    fn fail(&self, name: &'static str, code: i32) {
        self.mend(name);
        self.0.lock().push((name, code));
    }

    fn mend(&self, name: &str) {
        self.0.lock().retain(|(bad, _)| *bad != name);
    }
}

impl Hook for Disks {
    fn name(&self) -> &'static str {
        "disks"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let bad =
            self.0.lock().iter().find(|(name, _)| call.path.starts_with(dir(name))).map(|(_, code)| *code);
        match bad.filter(|_| matches!(call.op, Op::Create | Op::Append | Op::Sync)) {
            Some(code) => {
                Verdict::Fail(base::Error::io("writing", call.path, io::Error::from_raw_os_error(code)))
            }
            None => Verdict::Go,
        }
    }
}

fn dir(name: &str) -> PathBuf {
    Path::new("/disks").join(name)
}

/// A database with the column families `a`, `b` and `c`, each with its own disk.
struct Apart {
    world: Machine,
    disks: Arc<Disks>,
    faults: Arc<FaultFs>,
    options: DbOptions,
}

const NAMES: [&str; 4] = ["default", "a", "b", "c"];

impl Apart {
    fn new(change: impl FnOnce(&mut DbOptions)) -> Apart {
        let mut world = Machine::new(1);
        let disks = Arc::new(Disks::default());
        let faults = FaultFs::wrap(Arc::new(Hooked::new(world.env.fs.clone(), disks.clone())));
        world.env.fs = faults.clone();
        let mut options = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            env: world.env.clone(),
            ..DbOptions::default()
        };
        change(&mut options);
        Apart { world, disks, faults, options }
    }

    fn open(&self, change: impl Fn(&mut FamilyOptions)) -> Db {
        let mut request = OpenRequest::new("/db", self.options.clone(), FamilyOptions::default());
        request.families = NAMES
            .into_iter()
            .map(|name| {
                let cf_paths = vec![DbPath { path: dir(name), target_size: u64::MAX }];
                let mut options = FamilyOptions { cf_paths, ..FamilyOptions::default() };
                change(&mut options);
                FamilyDescriptor::new(name, options)
            })
            .collect();
        Db::open(request).unwrap()
    }

    /// Advances the time by this many seconds, and runs the jobs that become due.
    fn wait(&self, seconds: u64) {
        let end = self.world.env.clock.now_seconds() + seconds;
        while self.world.env.clock.now_seconds() < end && self.world.executor.pass_time() {
            while self.world.executor.help() {}
        }
    }

    /// Simulates a power failure that drops unsynced bytes, and opens the database again.
    fn reopened(&self, db: Db) -> Db {
        db.wals().sync().unwrap();
        self.world.crash_with(db, Survivors::Synced);
        self.disks.0.lock().clear();
        self.open(|_| ())
    }
}

fn family(db: &Db, name: &str) -> Arc<Family> {
    db.family(name).unwrap()
}

fn put(db: &Db, name: &str, key: &str) -> base::Result<()> {
    db.put(&family(db, name), key.as_bytes(), name.as_bytes(), &WriteOptions::default())
}

fn flush(db: &Db, name: &str) -> base::Result<()> {
    db.flush(&[family(db, name)], &FlushOptions::default())
}

fn compact(db: &Db, name: &str) -> base::Result<()> {
    db.compactions().compact_range(&family(db, name), None, None, &CompactRangeOptions::default()).map(drop)
}

/// Compacts the SST files of a column family on this thread.
fn compact_into_one(db: &Db, name: &str) -> base::Result<()> {
    let family = family(db, name);
    let files: Vec<_> = family.pin().version.files().map(|(_, file)| file.number).collect();
    db.compactions()
        .compact_files(&family, &files, Level::new(1), None, &CompactionOptions::default())
        .map(drop)
}

/// Returns the keys of a column family. Each value must be the name of the column family.
fn keys(db: &Db, name: &str) -> Vec<String> {
    let mut iter = db.iter(&family(db, name), ReadOptions::default()).unwrap();
    let mut keys = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        assert_eq!(iter.value(), name.as_bytes());
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.next();
    }
    iter.status().unwrap();
    keys
}

fn tables(db: &Db, name: &str) -> u64 {
    let count = |level| {
        db.properties().text(&family(db, name), &format!("rocksdb.num-files-at-level{level}")).unwrap()
    };
    (0..7).map(|level| count(level).parse::<u64>().unwrap()).sum()
}

/// Returns the error that stops the writes of a column family. Empty if writes are accepted.
fn refused(db: &Db, name: &str) -> String {
    db.properties().text(&family(db, name), "ironstone.write-error").unwrap()
}

/// Checks that a column family accepts writes, flushes and compactions.
fn goes_on(db: &Db, name: &str, round: &str) {
    for half in ["1", "2"] {
        put(db, name, &format!("{round}-{half}")).unwrap();
        flush(db, name).unwrap();
    }
    compact(db, name).unwrap();
    assert_eq!(db.properties().text(&family(db, name), "rocksdb.num-files-at-level0").as_deref(), Some("0"));
    assert_eq!(refused(db, name), "");
}

#[test]
fn families_continue_while_a_full_disk_stops_the_flush_of_another() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    assert_eq!(flush(&db, "a").unwrap_err().subcode(), Subcode::NoSpace);
    let noted = db.background().error().unwrap();
    assert_eq!((noted.severity(), noted.subcode()), (Severity::Hard, Subcode::NoSpace));
    assert_eq!(db.properties().number(&family(&db, "b"), "rocksdb.background-errors"), Some(1));
    assert!(refused(&db, "a").contains("No space"));
    goes_on(&db, "b", "full");
    goes_on(&db, "default", "full");
    for outcome in
        [put(&db, "a", "refused"), flush(&db, "a"), compact(&db, "a"), db.background().wait_for_compact()]
    {
        assert_eq!(outcome.unwrap_err().subcode(), Subcode::NoSpace);
    }
    // A batch for both column families is rejected completely.
    let mut batch = WriteBatch::default();
    batch.put_in(family(&db, "b").id(), b"half", b"b");
    batch.put_in(family(&db, "a").id(), b"half", b"a");
    assert_eq!(db.write(&mut batch, &WriteOptions::default()).unwrap_err().subcode(), Subcode::NoSpace);
    put(&db, "c", "unflushed").unwrap();
    let before = tables(&db, "b");
    apart.wait(20);
    // The flush was tried again many times, and no flush of another column family ran.
    assert_eq!(put(&db, "a", "refused").unwrap_err().subcode(), Subcode::NoSpace);
    assert_eq!((tables(&db, "b"), tables(&db, "c")), (before, 0));
    assert_eq!(keys(&db, "a"), ["before"]);
    apart.disks.mend("a");
    apart.wait(2);
    assert!(db.background().error().is_none());
    goes_on(&db, "a", "again");
    assert_eq!(tables(&db, "c"), 0);
    let db = apart.reopened(db);
    assert_eq!(keys(&db, "a"), ["again-1", "again-2", "before"]);
    assert_eq!(keys(&db, "b"), ["before", "full-1", "full-2"]);
    assert_eq!(keys(&db, "c"), ["before", "unflushed"]);
    assert_eq!(keys(&db, "default"), ["before", "full-1", "full-2"]);
}

#[test]
fn an_unrecoverable_error_stops_its_family_until_the_next_open() {
    for compaction in [false, true] {
        let apart = Apart::new(|_| ());
        let db = apart.open(|o| o.disable_auto_compactions = true);
        for key in ["1", "2"] {
            put(&db, "a", key).unwrap();
            flush(&db, "a").unwrap();
        }
        put(&db, "a", "unflushed").unwrap();
        apart.disks.fail("a", EIO);
        let failed = if compaction {
            apart.disks.mend("a");
            flush(&db, "a").unwrap();
            put(&db, "a", "later").unwrap();
            apart.disks.fail("a", EIO);
            compact_into_one(&db, "a")
        } else {
            flush(&db, "a")
        };
        assert_eq!(failed.unwrap_err().subcode(), Subcode::None);
        assert_eq!(db.background().error().unwrap().severity(), Severity::Fatal);
        apart.disks.mend("a");
        for round in 0..3 {
            goes_on(&db, "b", &format!("{round}"));
            assert_eq!(db.background().resume().unwrap_err().severity(), Severity::Fatal);
            assert_eq!(put(&db, "a", "refused").unwrap_err().severity(), Severity::Fatal);
        }
        let held = keys(&db, "a");
        assert_eq!(held.len(), 3 + usize::from(compaction));
        let db = apart.reopened(db);
        assert_eq!(keys(&db, "a"), held);
        assert_eq!(keys(&db, "b").len(), 6);
        goes_on(&db, "a", "again");
        db.close().unwrap();
    }
}

#[test]
fn each_stopped_family_is_resumed_by_itself() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    for name in ["a", "b"] {
        apart.disks.fail(name, ENOSPC);
        flush(&db, name).unwrap_err();
    }
    goes_on(&db, "c", "full");
    assert_eq!(db.properties().number(&family(&db, "c"), "rocksdb.background-errors"), Some(2));
    apart.disks.mend("b");
    apart.wait(2);
    goes_on(&db, "b", "again");
    assert_eq!(put(&db, "a", "refused").unwrap_err().subcode(), Subcode::NoSpace);
    assert_eq!(db.background().error().unwrap().subcode(), Subcode::NoSpace);
    // The disk breaks while it is full. No resume can clear this error, and errors of other column families
    // are cleared concurrently.
    apart.disks.fail("a", EIO);
    apart.wait(2);
    assert_eq!(db.background().error().unwrap().severity(), Severity::Fatal);
    put(&db, "b", "more").unwrap();
    apart.disks.fail("b", ENOSPC);
    flush(&db, "b").unwrap_err();
    put(&db, "b", "refused").unwrap_err();
    apart.disks.mend("b");
    apart.wait(2);
    goes_on(&db, "b", "once more");
    assert_eq!(put(&db, "a", "refused").unwrap_err().severity(), Severity::Fatal);
    let db = apart.reopened(db);
    assert_eq!(keys(&db, "a"), ["before"]);
    assert_eq!(keys(&db, "b").len(), 6);
}

#[test]
fn a_drop_of_a_family_clears_its_error() {
    for code in [ENOSPC, EIO] {
        let apart = Apart::new(|o| o.max_bgerror_resume_count = 0);
        let db = apart.open(|_| ());
        NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
        apart.disks.fail("a", code);
        flush(&db, "a").unwrap_err();
        let a = family(&db, "a");
        db.admin().drop_family(&a).unwrap();
        assert!(db.background().error().is_none());
        assert!(db.put(&a, b"k", b"v", &WriteOptions::default()).is_err());
        db.background().wait_for_compact().unwrap();
        NAMES.iter().filter(|name| **name != "a").for_each(|name| goes_on(&db, name, "after"));
        drop(a);
        db.close().unwrap();
    }
}

/// A close flushes entries without a WAL record, except the entries of the stopped column family.
#[test]
fn a_close_with_a_stopped_family_flushes_unlogged_entries_of_the_others() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    flush(&db, "a").unwrap_err();
    let around = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family(&db, "b"), b"around", b"b", &around).unwrap();
    db.close().unwrap();
    drop(db);
    apart.disks.mend("a");
    let db = apart.open(|_| ());
    assert_eq!(keys(&db, "a"), ["before"]);
    assert_eq!(keys(&db, "b"), ["around", "before"]);
    db.close().unwrap();
}

/// The disk of the stopped column family is still full at the close.
#[test]
fn a_close_reports_that_it_loses_the_unlogged_writes_of_a_stopped_family() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    let around = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&family(&db, "a"), b"around", b"a", &around).unwrap();
    apart.disks.fail("a", ENOSPC);
    flush(&db, "a").unwrap_err();
    assert_eq!(db.close().unwrap_err().subcode(), Subcode::NoSpace);
}

/// A column family is created, and a column family is dropped, while another column family is stopped.
#[test]
fn families_are_created_and_dropped_while_another_is_stopped() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    flush(&db, "a").unwrap_err();
    drop(db.admin().create_family(FamilyDescriptor::new("d", FamilyOptions::default())).unwrap());
    goes_on(&db, "d", "new");
    db.admin().drop_family(&family(&db, "c")).unwrap();
    assert_ne!(refused(&db, "a"), "");
    apart.disks.mend("a");
    apart.wait(2);
    ["a", "b", "d"].iter().for_each(|name| goes_on(&db, name, "again"));
    db.close().unwrap();
}

/// Only the stopped column family needs the old WALs. The size of these WALs starts no flush of another column
/// family.
#[test]
fn wals_that_only_a_stopped_family_needs_start_no_flush_of_other_families() {
    let apart = Apart::new(|o| o.max_total_wal_size = 20_000);
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", EIO);
    flush(&db, "a").unwrap_err();
    for i in 0..200 {
        db.put(&family(&db, "b"), format!("{i:03}").as_bytes(), &[b'v'; 1000], &WriteOptions::default())
            .unwrap();
    }
    assert!(tables(&db, "b") <= 2, "{}", tables(&db, "b"));
    db.wals().sync().unwrap();
    let db = apart.reopened(db);
    assert_eq!(keys(&db, "a"), ["before"]);
    for i in 0..200 {
        let key = format!("{i:03}");
        assert!(
            db.get(&family(&db, "b"), key.as_bytes(), &ReadOptions::default()).unwrap().is_some(),
            "{key}"
        );
    }
}

#[test]
fn an_error_of_an_atomic_flush_stops_all_families() {
    let apart = Apart::new(|o| o.atomic_flush = true);
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    flush(&db, "b").unwrap_err();
    NAMES
        .iter()
        .for_each(|name| assert_eq!(put(&db, name, "refused").unwrap_err().subcode(), Subcode::NoSpace));
    apart.disks.mend("a");
    apart.wait(2);
    NAMES.iter().for_each(|name| put(&db, name, "again").unwrap());
    let db = apart.reopened(db);
    NAMES.iter().for_each(|name| assert_eq!(keys(&db, name), ["again", "before"]));
}

#[test]
fn an_error_of_a_joint_flush_stops_the_flushed_families() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    let together = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
    db.flush(&[family(&db, "a"), family(&db, "b")], &together).unwrap_err();
    put(&db, "a", "refused").unwrap_err();
    put(&db, "b", "refused").unwrap_err();
    goes_on(&db, "c", "full");
    // The errors are cleared separately.
    apart.wait(2);
    put(&db, "b", "again").unwrap();
    put(&db, "a", "refused").unwrap_err();
    apart.disks.mend("a");
    apart.wait(2);
    put(&db, "a", "again").unwrap();
    let db = apart.reopened(db);
    ["a", "b"].iter().for_each(|name| assert_eq!(keys(&db, name), ["again", "before"]));
}

/// An error of the WAL, the MANIFEST or a directory stops all column families.
#[test]
fn an_error_of_a_shared_file_stops_all_families_although_one_is_stopped() {
    for plan in
        ["append *.log #1 EIO", "sync *.log #1 EIO", "sync MANIFEST-* #1 ENOSPC", "sync_dir c #1 ENOSPC"]
    {
        for first in [false, true] {
            let what = format!("{plan}, while family {first} is stopped");
            // If only the WAL makes the failed call, a resume clears the error also with `paranoid_checks = false`.
            let apart = Apart::new(|o| o.paranoid_checks = !plan.contains("EIO"));
            let db = apart.open(|_| ());
            NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
            if first {
                if plan.contains("EIO") {
                    // Without `paranoid_checks`, the failed flush sets no background error.
                    continue;
                }
                apart.disks.fail("a", ENOSPC);
                flush(&db, "a").unwrap_err();
                put(&db, "b", "between").unwrap();
            }
            apart.faults.hook().set_plan(plan).unwrap();
            let failed = if plan.contains(".log") {
                put(&db, "c", "in doubt").and_then(|()| db.wals().sync())
            } else {
                flush(&db, "c")
            };
            failed.unwrap_err();
            for name in NAMES {
                assert!(put(&db, name, "refused").is_err(), "{what}: {name}");
                assert_ne!(refused(&db, name), "", "{what}: {name}");
            }
            if first {
                apart.wait(3);
                assert!(
                    put(&db, "b", "refused").is_err(),
                    "{what}: everything must become a table, which cannot"
                );
                apart.disks.mend("a");
            }
            apart.wait(3);
            assert!(db.background().error().is_none(), "{what}");
            NAMES.iter().for_each(|name| goes_on(&db, name, "after"));
            let db = apart.reopened(db);
            for name in NAMES {
                let mut there = keys(&db, name);
                there.retain(|key| key != "in doubt" && key != "between");
                assert_eq!(there, ["after-1", "after-2", "before"], "{what}: {name}");
            }
        }
    }
}

/// After the failed sync, the record can be in the MANIFEST. A resume starts a new MANIFEST without the record.
#[test]
fn a_failed_creation_or_drop_of_a_family_stops_writes_until_a_resume() {
    for creates in [true, false] {
        let apart = Apart::new(|_| ());
        let db = apart.open(|_| ());
        put(&db, "a", "before").unwrap();
        apart.faults.hook().set_plan("sync MANIFEST-* #1 ENOSPC").unwrap();
        let changed = match creates {
            true => {
                db.admin().create_family(FamilyDescriptor::new("new", FamilyOptions::default())).map(drop)
            }
            false => db.admin().drop_family(&family(&db, "a")),
        };
        assert_eq!(changed.unwrap_err().subcode(), Subcode::NoSpace);
        for name in NAMES {
            put(&db, name, "refused").unwrap_err();
        }
        apart.wait(3);
        assert!(db.background().error().is_none());
        put(&db, "a", "after").unwrap();
        db.wals().sync().unwrap();
        apart.world.crash_with(db, Survivors::Everything);
        let db = apart.open(|_| ());
        assert_eq!(keys(&db, "a"), ["after", "before"]);
    }
}

#[test]
fn a_failed_wal_stops_all_families_and_a_resume_clears_the_error() {
    let apart = Apart::new(|_| ());
    let db = apart.open(|_| ());
    NAMES.iter().for_each(|name| put(&db, name, "before").unwrap());
    apart.disks.fail("a", ENOSPC);
    flush(&db, "a").unwrap_err();
    goes_on(&db, "b", "full");
    apart.faults.hook().set_plan("append *.log #1 ENOSPC").unwrap();
    assert_eq!(put(&db, "b", "in doubt").unwrap_err().subcode(), Subcode::NoSpace);
    assert!(db.wals().sync().is_err(), "the log that failed is needed");
    put(&db, "c", "refused").unwrap_err();
    apart.wait(3);
    put(&db, "c", "refused").unwrap_err();
    assert!(db.wals().sync().is_err(), "it is needed still");
    apart.disks.mend("a");
    apart.wait(3);
    assert!(db.background().error().is_none());
    NAMES.iter().for_each(|name| put(&db, name, "again").unwrap());
    let db = apart.reopened(db);
    assert_eq!(keys(&db, "a"), ["again", "before"]);
    assert_eq!(keys(&db, "c"), ["again", "before"]);
}

/// Writers of all column families run while an error comes and goes. A rejected write leaves nothing, and no other
/// write is lost.
#[test]
fn each_write_of_a_group_is_rejected_or_written_by_itself() {
    for (pipelined, concurrent) in [(false, false), (false, true), (true, true)] {
        let apart = Apart::new(|o| {
            o.env.executor = Arc::new(Threads::new());
            o.enable_pipelined_write = pipelined;
            o.allow_concurrent_memtable_write = concurrent;
            o.bgerror_resume_retry_interval = 0;
        });
        let db = apart.open(|o| {
            o.write_buffer_size = 64 << 10;
            o.max_write_buffer_number = 2;
        });
        let writers = |name: &'static str, number: u32| {
            let (db, wrote) = (&db, Mutex::new(Vec::new()));
            move || {
                for i in 0..200u32 {
                    let key = format!("{number}-{i:03}");
                    let mut batch = WriteBatch::default();
                    for part in 0..8 {
                        batch.put_in(
                            family(db, name).id(),
                            format!("{key}-{part}").as_bytes(),
                            name.as_bytes(),
                        );
                    }
                    match db.write(&mut batch, &WriteOptions::default()) {
                        Ok(()) => wrote.lock().push(key),
                        Err(error) => {
                            assert!(name == "a" && error.subcode() == Subcode::NoSpace, "{name}: {error}")
                        }
                    }
                }
                wrote.into_inner()
            }
        };
        let wrote = std::thread::scope(|scope| {
            let threads: Vec<_> = ["a", "b", "c", "a", "b"]
                .into_iter()
                .enumerate()
                .map(|(number, name)| (name, scope.spawn(writers(name, number as u32))))
                .collect();
            for _ in 0..20 {
                apart.disks.fail("a", ENOSPC);
                let _ = flush(&db, "a");
                apart.disks.mend("a");
                while db.background().error().is_some() {
                    std::thread::yield_now();
                }
            }
            threads.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect::<Vec<_>>()
        });
        let check = |db: &Db| {
            for name in ["a", "b", "c"] {
                let mine = wrote.iter().filter(|(of, _)| *of == name).flat_map(|(_, keys)| keys);
                let mut all: Vec<_> =
                    mine.flat_map(|key| (0..8).map(move |part| format!("{key}-{part}"))).collect();
                all.sort();
                assert_eq!(keys(db, name), all, "{name}, pipelined {pipelined}, concurrent {concurrent}");
            }
        };
        check(&db);
        db.close().unwrap();
        drop(db);
        check(&apart.open(|_| ()));
    }
}
