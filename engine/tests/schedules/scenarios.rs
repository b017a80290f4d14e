//! The scenarios, and the conditions that hold in every schedule.

use std::path::Path;

use base::{Kind, Subcode};
use env::fault::FaultFs;
use env::memory::Survivors;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{LiveFileKind, LiveFilesStorageInfoOptions, SectionOwner, SectionWriter};
use ironstone_engine::ingest::{ExternalWriter, IngestRequest, ReplaceRange};
use ironstone_engine::options::{
    CompactRangeOptions, FamilyOptions, FlushOptions, IngestExternalFileOptions,
};
use ironstone_engine::prepared::{SectionKind, WritePolicy};
use ironstone_engine::sequence::Decision;
use shuttle::thread;

use super::*;

#[test]
fn writers_readers_and_flushes_agree() {
    explore(|| {
        let env = world();
        let request = drawn(&env);
        let db = open(request);
        let family = db.default_family().unwrap();
        let writers = ["a", "b"].map(|name| {
            let (db, family) = (db.clone(), family.clone());
            thread::spawn(move || {
                for number in 1..=3 {
                    put_pair(&db, &family, name, number).unwrap();
                    assert_eq!(
                        get(&db, &family, &format!("{name}-left")),
                        Some(number),
                        "a writer reads what it wrote"
                    );
                }
            })
        });
        let reader = {
            let (db, family) = (db.clone(), family.clone());
            thread::spawn(move || {
                let mut before = [None; 2];
                for _ in 0..3 {
                    for (before, name) in before.iter_mut().zip(["a", "b"]) {
                        let now = scan_pair(&db, &family, name);
                        assert!(now >= *before, "{name} went back from {before:?} to {now:?}");
                        *before = now;
                    }
                }
            })
        };
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
        for thread in writers {
            thread.join().unwrap();
        }
        reader.join().unwrap();
        db.close().unwrap();
        drop((db, family));
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        for name in ["a", "b"] {
            assert_eq!(scan_pair(&db, &family, name), Some(3), "{name} after reopening");
        }
    });
}

#[test]
fn a_compaction_keeps_entries_of_iterators_and_snapshots() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        for number in 1..=2 {
            put_pair(&db, &family, "a", number).unwrap();
            db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
        }
        let snapshot = db.snapshot();
        let mut held = db.iter(&family, ReadOptions::default()).unwrap();
        let compactor = {
            let (db, family) = (db.clone(), family.clone());
            thread::spawn(move || {
                db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
            })
        };
        let writer = {
            let (db, family) = (db.clone(), family.clone());
            thread::spawn(move || {
                put_pair(&db, &family, "a", 3).unwrap();
                db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
            })
        };
        held.seek_to_first();
        let mut rows = 0;
        while held.valid() {
            assert_eq!(held.value(), 2u64.to_be_bytes());
            rows += 1;
            held.next();
        }
        held.status().unwrap();
        assert_eq!(rows, 2);
        let old = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        assert_eq!(db.get(&family, b"a-left", &old).unwrap().as_deref(), Some(&2u64.to_be_bytes()[..]));
        compactor.join().unwrap();
        writer.join().unwrap();
        assert_eq!(scan_pair(&db, &family, "a"), Some(3));
        assert_eq!(db.get(&family, b"a-right", &old).unwrap().as_deref(), Some(&2u64.to_be_bytes()[..]));
        drop((held, old));
        db.close().unwrap();
    });
}

#[test]
fn a_family_dropped_under_its_writers_leaves_the_others_whole() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let stays = db.default_family().unwrap();
        let goes = db.admin().create_family(FamilyDescriptor::new("goes", FamilyOptions::default())).unwrap();
        put_pair(&db, &goes, "a", 1).unwrap();
        let held = db.iter(&goes, ReadOptions::default()).unwrap();
        let writer = {
            let (db, stays, goes) = (db.clone(), stays.clone(), goes.clone());
            thread::spawn(move || {
                for number in 1..=3 {
                    put_pair(&db, &stays, "b", number).unwrap();
                    // The write is rejected after the column family is dropped.
                    let _ = put_pair(&db, &goes, "a", number);
                }
            })
        };
        let flusher = {
            let (db, goes) = (db.clone(), goes.clone());
            thread::spawn(move || drop(db.flush(&[goes], &FlushOptions::default())))
        };
        db.admin().drop_family(&goes).unwrap();
        writer.join().unwrap();
        flusher.join().unwrap();
        assert!(put_pair(&db, &goes, "a", 9).is_err());
        drop((held, goes));
        assert!(db.background().error().is_none());
        assert_eq!(scan_pair(&db, &stays, "b"), Some(3));
        db.close().unwrap();
        drop((db, stays));
        let db = open(drawn(&env));
        assert!(db.family("goes").is_none());
        assert_eq!(scan_pair(&db, &db.default_family().unwrap(), "b"), Some(3));
    });
}

#[test]
fn acknowledged_writes_survive_a_close() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        let writers = ["a", "b"].map(|name| {
            let (db, family) = (db.clone(), family.clone());
            thread::spawn(move || {
                let mut last = None;
                for number in 1..=3 {
                    match put_pair(&db, &family, name, number) {
                        Ok(()) => last = Some(number),
                        Err(error) => {
                            assert_eq!(error.kind(), Kind::ShutdownInProgress, "{error}");
                            break;
                        }
                    }
                }
                last
            })
        });
        db.close().unwrap();
        let acknowledged = writers.map(|thread| thread.join().unwrap());
        drop((db, family));
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        for (name, number) in ["a", "b"].into_iter().zip(acknowledged) {
            assert_eq!(scan_pair(&db, &family, name), number, "{name}");
        }
    });
}

#[test]
fn background_work_continues_after_a_pause() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        let pauser = {
            let db = db.clone();
            thread::spawn(move || {
                db.background().pause().unwrap();
                db.background().unpause().unwrap();
            })
        };
        for number in 1..=3 {
            put_pair(&db, &family, "a", number).unwrap();
            db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
        }
        db.background().wait_for_compact().unwrap();
        pauser.join().unwrap();
        assert_eq!(scan_pair(&db, &family, "a"), Some(3));
        db.close().unwrap();
    });
}

/// Calls a function in a thread.
fn spawned(db: &Arc<Db>, run: fn(&Db, &Arc<Family>)) -> thread::JoinHandle<()> {
    let (db, family) = (db.clone(), db.default_family().unwrap());
    thread::spawn(move || run(&db, &family))
}

/// A writer that leads waits for the end of the lock. No flush may wait for this writer while the owner of the lock waits for
/// the flush.
#[test]
fn the_owner_of_a_lock_can_pause_and_ends_a_flush_that_may_not_wait() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let family = db.default_family().unwrap();
        put_pair(&db, &family, "a", 1).unwrap();
        let writer = spawned(&db, |db, family| put_pair(db, family, "a", 2).unwrap());
        let together = spawned(&db, |db, family| {
            let options = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
            let flushed = db.flush(std::slice::from_ref(family), &options);
            // All threads of the explorer have one number. So a flush that begins while writes are locked looks like a call of the
            // owner of the lock, and fails.
            assert!(flushed.is_ok() || flushed.is_err_and(|error| error.kind() == Kind::Aborted));
        });
        let hasty = spawned(&db, |db, family| {
            let options = FlushOptions { wait: false, allow_write_stall: true, ..FlushOptions::default() };
            let flushed = db.flush(std::slice::from_ref(family), &options);
            assert!(flushed.is_ok() || flushed.is_err_and(|error| error.kind() == Kind::TryAgain));
        });
        db.wals().lock().unwrap();
        hasty.join().unwrap();
        db.background().pause().unwrap();
        db.background().unpause().unwrap();
        db.wals().unlock().unwrap();
        writer.join().unwrap();
        together.join().unwrap();
        assert_eq!(scan_pair(&db, &family, "a"), Some(2));
        db.close().unwrap();
    });
}

/// Creates a database on a disk that can fail. Retries start at once.
fn on_a_failing_disk() -> (Env, Arc<FaultFs>, OpenRequest) {
    let mut env = world();
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    let mut request = drawn(&env);
    request.options.bgerror_resume_retry_interval = 0;
    (env, fs, request)
}

/// Two memtables stop writers. The first SST file finds no space.
#[test]
fn writers_resume_after_a_full_disk_with_any_leader() {
    explore(|| {
        let (_, fs, mut request) = on_a_failing_disk();
        for family in &mut request.families {
            family.options.write_buffer_size = 64 << 10;
            family.options.max_write_buffer_number = 2;
        }
        let db = open(request);
        fs.hook().set_plan("create *.sst #1 ENOSPC").unwrap();
        let writers = ["a", "b"].map(|name| {
            let db = db.clone();
            thread::spawn(move || {
                let family = db.default_family().unwrap();
                let put = |number: u64| {
                    let key = format!("{name}{number}");
                    db.put(&family, key.as_bytes(), &[b'v'; 30_000], &WriteOptions::default())
                };
                for number in 0..4 {
                    while let Err(error) = put(number) {
                        assert_eq!(error.subcode(), Subcode::NoSpace, "{error}");
                        thread::yield_now();
                    }
                }
            })
        });
        for thread in writers {
            thread.join().unwrap();
        }
        let family = db.default_family().unwrap();
        for key in ["a", "b"].iter().flat_map(|name| (0..4).map(move |number| format!("{name}{number}"))) {
            let value = db.get(&family, key.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(value.map(|v| v.len()), Some(30_000), "{key}");
        }
        db.close().unwrap();
    });
}

/// A job sets its error and then ends. If a wait reads the error first and the running jobs second, the wait sees neither the error nor
/// the job.
#[test]
fn a_wait_for_jobs_reports_the_failure_of_each_job() {
    explore(|| {
        let (_, fs, mut request) = on_a_failing_disk();
        request.options.max_bgerror_resume_count = 0;
        for family in &mut request.families {
            family.options.write_buffer_size = 64 << 10;
        }
        let db = open(request);
        let family = db.default_family().unwrap();
        fs.hook().set_plan("create *.sst #1 EIO").unwrap();
        // The third write finds a full memtable, and starts a flush. The flush may fail before the write ends.
        for number in 0..3 {
            let key = format!("key{number}");
            drop(db.put(&family, key.as_bytes(), &[b'v'; 40_000], &WriteOptions::default()));
        }
        db.background().wait_for_compact().expect_err("a wait after a flush that fails");
        drop(db.close());
    });
}

/// Writers of two column families share write groups. The flush of one family fails. Writes to this family
/// are rejected until the error is cleared, and writes to the other family are never rejected.
#[test]
fn a_family_whose_flush_fails_stops_no_writer_of_another() {
    explore(|| {
        let (env, fs, request) = on_a_failing_disk();
        let db = open(request);
        let families = ["default", "other"];
        drop(db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap());
        put_pair(&db, &db.family("other").unwrap(), "flushed", 1).unwrap();
        fs.hook().set_plan("create *.sst #1 ENOSPC").unwrap();
        let writers = ["default", "other", "other"].into_iter().enumerate().map(|(at, family)| {
            let db = db.clone();
            thread::spawn(move || {
                let own = db.family(family).unwrap();
                let name = format!("writer{at}");
                let mut newest = None;
                for number in 1..=3 {
                    match put_pair(&db, &own, &name, number) {
                        Ok(()) => newest = Some(number),
                        Err(error) => {
                            assert_eq!((family, error.subcode()), ("other", Subcode::NoSpace), "{error}")
                        }
                    }
                }
                // A rejected number is not in the database, and no accepted number is lost.
                assert_eq!(scan_pair(&db, &own, &name), newest, "{name}");
                (family, name, newest)
            })
        });
        let writers: Vec<_> = writers.collect();
        // The error may be cleared before the caller gets it.
        if let Err(failed) = db.flush(&[db.family("other").unwrap()], &FlushOptions::default()) {
            assert_eq!(failed.subcode(), Subcode::NoSpace);
        }
        let wrote: Vec<_> = writers.into_iter().map(|thread| thread.join().unwrap()).collect();
        while db.background().error().is_some() {
            thread::yield_now();
        }
        families.iter().for_each(|family| put_pair(&db, &db.family(family).unwrap(), "after", 1).unwrap());
        db.close().unwrap();
        drop(db);
        let mut request = drawn(&env);
        request.others = Some(FamilyOptions::default());
        let db = open(request);
        for (family, name, newest) in wrote {
            assert_eq!(scan_pair(&db, &db.family(family).unwrap(), &name), newest, "{name} after reopening");
        }
        assert_eq!(scan_pair(&db, &db.family("other").unwrap(), "flushed"), Some(1));
    });
}

/// Writes an SST file with one entry, and returns the request that ingests the file.
fn one_entry(db: &Db, options: &DbOptions, key: &str, number: u64) -> IngestRequest {
    let path = Path::new("/external.sst");
    let mut file = ExternalWriter::create(path, options, &FamilyOptions::default()).unwrap();
    file.entries().unwrap().put(key.as_bytes(), &number.to_be_bytes()).unwrap();
    file.finish().unwrap();
    IngestRequest::new(db.default_family().unwrap(), vec![path.into()], IngestExternalFileOptions::default())
}

/// Yields a drawn number of times. The other threads take these steps before the next call of this thread.
fn fall_behind() {
    let steps = shuttle::rand::thread_rng().gen_range(0..600);
    (0..steps).for_each(|_| thread::yield_now());
}

/// `change_level` moves all files of a level. The ingested file has a newer entry, so it must be above them.
#[test]
fn an_ingestion_stays_above_files_that_move_to_another_level() {
    explore(|| {
        let mut request = drawn(&world());
        // With dynamic level sizes, the ingestion skips the empty levels between level 0 and the base level.
        request.families[0].options.level_compaction_dynamic_level_bytes = false;
        let options = request.options.clone();
        let db = open(request);
        let family = db.default_family().unwrap();
        let to = |target_level| CompactRangeOptions {
            change_level: true,
            target_level,
            ..CompactRangeOptions::default()
        };
        db.put(&family, b"k", &1u64.to_be_bytes(), &WriteOptions::default()).unwrap();
        db.compactions().compact_range(&family, None, None, &to(4)).unwrap();
        let ingested = one_entry(&db, &options, "k", 2);
        let mover = {
            let (db, family) = (db.clone(), family.clone());
            // The move is refused if the ingestion placed its file between the levels first.
            thread::spawn(move || drop(db.compactions().compact_range(&family, None, None, &to(2))))
        };
        let prepared = db.files().prepare_ingestion(vec![ingested]).unwrap();
        fall_behind();
        prepared.commit().unwrap();
        mover.join().unwrap();
        assert_eq!(get(&db, &family, "k"), Some(2), "the older entry is above the newer entry");
    });
}

/// Two calls that delete the same SST file must not both commit the deletion: the second commit would fail and stop the
/// database.
#[test]
fn a_replacing_ingestion_and_a_deletion_of_files_stop_no_writes() {
    explore(|| {
        let request = drawn(&world());
        let options = request.options.clone();
        let db = open(request);
        let family = db.default_family().unwrap();
        db.put(&family, b"k", &1u64.to_be_bytes(), &WriteOptions::default()).unwrap();
        db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
        let mut ingested = one_entry(&db, &options, "k", 2);
        ingested.replace = Some(ReplaceRange::All);
        ingested.options.snapshot_consistency = false;
        let deleter = spawned(&db, |db, family| {
            db.files().delete_files_in_ranges(family, &[(None, None)], true).unwrap();
        });
        let prepared = db.files().prepare_ingestion(vec![ingested]).unwrap();
        fall_behind();
        let committed = prepared.commit();
        deleter.join().unwrap();
        assert!(committed.is_ok() || committed.is_err_and(|error| error.kind() == Kind::InvalidArgument));
        db.put(&family, b"l", b"v", &WriteOptions::default()).unwrap();
        db.close().unwrap();
    });
}

/// A purge that has found deletions enabled must not delete a file that becomes obsolete after the call of
/// `disable_file_deletions`.
#[test]
fn files_that_become_obsolete_while_deletions_are_disabled_stay() {
    explore(|| {
        let env = world();
        let db = open(drawn(&env));
        let writer = spawned(&db, |db, family| {
            for number in 1..=3 {
                put_pair(db, family, "a", number).unwrap();
                db.flush(std::slice::from_ref(family), &FlushOptions::default()).unwrap();
                db.compactions().compact_range(family, None, None, &CompactRangeOptions::default()).unwrap();
            }
        });
        fall_behind();
        db.files().disable_deletions();
        let options = LiveFilesStorageInfoOptions { wal_size_for_flush: u64::MAX, ..Default::default() };
        let live = db.files().live_files_storage_info(&options).unwrap();
        writer.join().unwrap();
        db.background().wait_for_compact().unwrap();
        for file in live.files.iter().filter(|file| file.kind != LiveFileKind::Options) {
            assert!(env.fs.exists(&file.path()).unwrap(), "{} is gone", file.path().display());
        }
        db.files().enable_deletions();
        db.close().unwrap();
    });
}

/// A prepare and a plain write sync the WAL. The first sync fails, and the system then treats all appended bytes as
/// written. A second sync of the same file, concurrent with the first sync, would succeed although the record of its
/// writer is lost.
#[test]
fn a_synced_write_beside_a_failed_shared_sync_is_durable_or_refused() {
    explore(|| {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = MemoryFs::new(clock.clone());
        let fs = FaultFs::wrap_disk(Arc::new(disk.clone()), disk.clone());
        let env = Env { fs: fs.clone(), ..world() };
        let allowing = |env: &Env| {
            let mut request = drawn(env);
            request.options.allow_2pc = true;
            request.options.max_bgerror_resume_count = 0;
            request
        };
        let db = open(allowing(&env));
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        fs.hook().set_plan("sync *.log #1 forget").unwrap();
        let prepare = {
            let (db, synced) = (db.clone(), synced);
            thread::spawn(move || {
                let mut batch = WriteBatch::default();
                batch.put(b"prepared", b"1");
                db.for_transactions().prepare(&batch, b"x", &synced).is_ok()
            })
        };
        let write = {
            let db = db.clone();
            thread::spawn(move || {
                let family = db.default_family().unwrap();
                db.put(&family, b"written", &1u64.to_be_bytes(), &synced).is_ok()
            })
        };
        let (prepared, written) = (prepare.join().unwrap(), write.join().unwrap());
        let crashed = disk.fork(clock.clone());
        crashed.crash(Survivors::Synced);
        drop(db);
        let db = open(allowing(&Env { fs: Arc::new(crashed), ..world() }));
        let value = get(&db, &db.default_family().unwrap(), "written");
        assert!(!written || value == Some(1), "the write was acknowledged, and is lost");
        assert!(
            !prepared || db.for_transactions().take_recovered().len() == 1,
            "the prepare was acknowledged, and is lost"
        );
    });
}

/// With `enable_pipelined_write`, a group with a long insert hands over the lead. The memtable takes no concurrent inserts, so the next
/// group must wait. The memtable updates values in place, so the order of the inserts decides which value is left.
#[test]
fn a_short_group_does_not_insert_before_a_long_group_before_it() {
    explore(|| {
        let env = world();
        let mut request = drawn(&env);
        request.options.enable_pipelined_write = true;
        request.options.allow_concurrent_memtable_write = false;
        for family in &mut request.families {
            family.options.inplace_update_support = true;
        }
        let db = open(request);
        let writers = [300u64, 1, 1].map(|puts| {
            let db = db.clone();
            thread::spawn(move || {
                let mut batch = WriteBatch::default();
                (0..puts)
                    .for_each(|at| _ = batch.put(format!("{:03}", puts - 1 - at).as_bytes(), b"12345678"));
                let own = shuttle::rand::thread_rng().r#gen::<u64>();
                batch.put(b"000", &own.to_be_bytes());
                // A protected batch has a group of its own, so its writer learns the sequence number.
                let alone = WriteOptions { protection_bytes_per_key: 8, ..WriteOptions::default() };
                db.write(&mut batch, &alone).unwrap();
                (batch.sequence(), own)
            })
        });
        let newest = writers.map(|thread| thread.join().unwrap()).into_iter().max().unwrap();
        assert_eq!(get(&db, &db.default_family().unwrap(), "000"), Some(newest.1));
        db.close().unwrap();
    });
}

/// A view that hides nothing may be the last owner of a list of undecided ranges. To free a range takes the lock of the snapshots.
#[test]
fn a_snapshot_taken_during_a_commit_does_not_wait_for_itself() {
    explore(|| {
        let env = world();
        let mut request = drawn(&env);
        request.components.write_policy = WritePolicy::Prepared;
        let db = open(request);
        let committer = {
            let db = db.clone();
            thread::spawn(move || {
                let decision = Arc::new(Decision::default());
                let owner = SectionOwner { name: b"t", wal: None, decision: &decision };
                let mut batch = WriteBatch::default();
                batch.put(b"a", b"1");
                let sections = SectionWriter::new(&db);
                let options = WriteOptions::default();
                let written =
                    sections.write(batch.records(), SectionKind::Prepared, owner, &options).unwrap();
                let owner = SectionOwner { wal: Some(written.wal), ..owner };
                sections.commit(owner, &WriteBatch::default(), &options, None).unwrap();
            })
        };
        let mut before = 0;
        for _ in 0..3 {
            let snapshot = db.snapshot();
            assert!(snapshot.sequence().get() >= before, "a snapshot is older than the one before");
            before = snapshot.sequence().get();
        }
        committer.join().unwrap();
        assert!(db.get(&db.default_family().unwrap(), b"a", &ReadOptions::default()).unwrap().is_some());
        db.close().unwrap();
    });
}
