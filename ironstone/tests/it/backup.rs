//! Backups, restores, verification, garbage.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ironstone::env::{IoPriority, RateLimiter, RateOptions};
use ironstone::stats::{Statistics, Ticker};
use ironstone::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Error, Kind, Options, RestoreMode,
    RestoreOptions, ShareFilesNaming,
};

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;compression=kNoCompression").unwrap();
    options
}

/// A directory with a database, its backups and restored copies.
struct BackedUp {
    scratch: tempfile::TempDir,
    db: Option<Db>,
}

impl BackedUp {
    fn new() -> BackedUp {
        let scratch = tempfile::tempdir().unwrap();
        let db = Some(Db::open(scratch.path().join("data"), options()).unwrap());
        BackedUp { scratch, db }
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn how(&self) -> BackupEngineOptions {
        BackupEngineOptions::new(self.at("backups"))
    }

    fn engine(&self) -> BackupEngine {
        BackupEngine::open(self.how(), &options().db.env).unwrap()
    }

    fn fill(&self, from: u32, to: u32) {
        for i in from..to {
            self.db().put(&i.to_be_bytes(), format!("value {i}").as_bytes()).unwrap();
        }
        self.db().flush().unwrap();
    }

    fn names(&self, dir: &str) -> BTreeSet<String> {
        let names = std::fs::read_dir(self.at("backups").join(dir)).unwrap();
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    fn restored(&self, engine: &BackupEngine, id: u32) -> Result<usize, Error> {
        let dir = self.at("restored");
        engine.restore_db_from_backup(id, &dir, &dir, &RestoreOptions::default())?;
        let db = Db::open(&dir, options())?;
        let count = db.range::<[u8], _>(..).count();
        db.close()?;
        Ok(count)
    }
}

#[test]
fn each_backup_restores_its_state_of_the_database() {
    let w = BackedUp::new();
    let engine = w.engine();
    w.fill(0, 100);
    assert_eq!(engine.create_new_backup(w.db()).unwrap(), 1);
    w.fill(100, 150);
    w.db().put(b"only in the WAL", b"").unwrap();
    assert_eq!(engine.create_new_backup(w.db()).unwrap(), 2);
    assert_eq!((w.restored(&engine, 1).unwrap(), w.restored(&engine, 2).unwrap()), (100, 151));
    assert_eq!(w.restored(&engine, 9).unwrap_err().kind(), Kind::NotFound);
    let again = w.engine();
    assert_eq!(again.backup_info(), engine.backup_info());
    assert_eq!(again.backup_info().iter().map(|info| info.id).collect::<Vec<_>>(), [1, 2]);
    assert!(again.corrupted_backups().is_empty());
}

#[test]
fn a_table_is_stored_once_for_all_backups() {
    let w = BackedUp::new();
    let engine = w.engine();
    w.fill(0, 100);
    engine.create_new_backup(w.db()).unwrap();
    let first = w.names("shared_checksum");
    w.fill(100, 200);
    engine.create_new_backup(w.db()).unwrap();
    let second = w.names("shared_checksum");
    assert_eq!((first.len(), second.len()), (1, 2));
    assert!(second.is_superset(&first));
    engine.purge_old_backups(1).unwrap();
    assert_eq!((w.names("shared_checksum"), w.names("meta")), (second, BTreeSet::from(["2".to_string()])));
    assert_eq!(w.names("private"), BTreeSet::from(["2".to_string()]));
    w.fill(0, 200);
    w.db().compact_range(None, None, &Default::default()).unwrap();
    engine.create_new_backup(w.db()).unwrap();
    engine.delete_backup(2).unwrap();
    assert_eq!(w.names("shared_checksum").len(), 1);
    assert_eq!(w.restored(&engine, 3).unwrap(), 200);
    assert_eq!(engine.delete_backup(2).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn shared_files_are_named_as_the_options_say() {
    for (naming, shared, expect) in [
        (ShareFilesNaming::UseDbSessionIdAndFileSize, true, 3),
        (ShareFilesNaming::UseDbSessionId, true, 2),
        (ShareFilesNaming::LegacyCrc32cAndFileSize, true, 3),
        (ShareFilesNaming::UseDbSessionId, false, 1),
    ] {
        let w = BackedUp::new();
        w.fill(0, 10);
        let how = BackupEngineOptions {
            share_files_with_checksum_naming: naming,
            share_files_with_checksum: shared,
            ..w.how()
        };
        let engine = BackupEngine::open(how, &options().db.env).unwrap();
        let id = engine.create_new_backup(w.db()).unwrap();
        let names = w.names(if shared { "shared_checksum" } else { "shared" });
        let name = names.first().unwrap();
        assert_eq!(name.split('_').count(), expect, "{name}");
        assert_eq!(w.restored(&engine, id).unwrap(), 10, "{name}");
    }
    let w = BackedUp::new();
    w.fill(0, 10);
    let how = BackupEngineOptions { share_table_files: false, ..w.how() };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    let id = engine.create_new_backup(w.db()).unwrap();
    assert!(w.names("shared_checksum").is_empty());
    assert_eq!(w.restored(&engine, id).unwrap(), 10);
}

#[test]
fn missing_short_and_changed_files_are_found_and_nothing_is_lost() {
    let w = BackedUp::new();
    w.fill(0, 100);
    w.engine().create_new_backup(w.db()).unwrap();
    let name = w.names("shared_checksum").first().unwrap().clone();
    let path = w.at("backups").join("shared_checksum").join(&name);
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[50] ^= 1;

    std::fs::write(&path, &flipped).unwrap();
    let engine = w.engine();
    engine.verify_backup(1, false).unwrap();
    let error = engine.verify_backup(1, true).unwrap_err();
    assert!(error.kind() == Kind::Corruption && error.to_string().contains(&name), "{error}");
    let error = w.restored(&engine, 1).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
    assert!(!w.at("restored/CURRENT").exists());

    std::fs::write(&path, &whole[..100]).unwrap();
    let error = engine.verify_backup(1, false).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
    std::fs::remove_file(&path).unwrap();
    let error = engine.verify_backup(1, false).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains(&name)), (Kind::NotFound, true), "{error}");

    let engine = w.engine();
    let corrupt = engine.corrupted_backups();
    assert!(corrupt.len() == 1 && corrupt[0].1.to_string().contains(&name), "{corrupt:?}");
    assert!(engine.backup_info().is_empty());
    assert_eq!(w.restored(&engine, 1).unwrap_err().kind(), Kind::Corruption);
    // A corrupt backup keeps its other files, and its number.
    engine.garbage_collect().unwrap();
    assert!(!w.names("private/1").is_empty());
    assert_eq!(engine.create_new_backup(w.db()).unwrap(), 2);
    assert_eq!(w.restored(&engine, 2).unwrap(), 100);
    engine.delete_backup(1).unwrap();
    assert!(engine.corrupted_backups().is_empty());
}

#[test]
fn a_changed_table_of_the_database_fails_the_backup() {
    let w = BackedUp::new();
    let mut with_checksums = options();
    with_checksums.update("file_checksum_gen_factory=FileChecksumGenCrc32cFactory").unwrap();
    let db = Db::open(w.at("checked"), with_checksums).unwrap();
    db.put(b"k", &[b'v'; 1000]).unwrap();
    db.flush().unwrap();
    let table = w.at("checked").join(format!("{:06}.sst", db.live_files()[0].number.get()));
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[100] ^= 4;
    std::fs::write(&table, bytes).unwrap();
    let engine = w.engine();
    let error = engine.create_new_backup(&db).unwrap_err();
    assert!(error.kind() == Kind::Corruption && error.to_string().contains(".sst"), "{error}");
    assert!(engine.backup_info().is_empty() && w.names("meta").is_empty() && w.names("private").is_empty());
    assert!(w.names("shared_checksum").is_empty());
    assert_eq!(db.int_property("rocksdb.is-file-deletions-enabled"), Some(1));
}

#[test]
fn leftovers_of_an_interrupted_backup_are_deleted() {
    let w = BackedUp::new();
    w.fill(0, 10);
    let engine = w.engine();
    std::fs::create_dir(w.at("backups/private/1")).unwrap();
    std::fs::write(w.at("backups/private/1/MANIFEST-000005"), b"half").unwrap();
    std::fs::write(w.at("backups/shared_checksum/.000009_sX_1.sst.tmp"), b"half").unwrap();
    std::fs::write(w.at("backups/meta/.1.tmp"), b"half").unwrap();
    let id = engine.create_new_backup(w.db()).unwrap();
    assert_eq!((id, w.names("shared_checksum").len(), w.names("meta").len()), (1, 1, 1));
    assert_eq!(w.restored(&engine, id).unwrap(), 10);
}

#[test]
fn a_restore_keeps_the_tables_that_the_mode_names() {
    for mode in
        [RestoreMode::KeepLatestDbSessionIdFiles, RestoreMode::VerifyChecksum, RestoreMode::PurgeAllFiles]
    {
        let mut w = BackedUp::new();
        let engine = w.engine();
        w.fill(0, 100);
        engine.create_new_backup(w.db()).unwrap();
        let table = w.at("data").join(format!("{:06}.sst", w.db().live_files()[0].number.get()));
        w.fill(50, 60);
        let error = engine.restore_db_from_backup(1, w.at("data"), w.at("data"), &RestoreOptions::default());
        assert!(error.is_err(), "the database is open");
        w.db.take().unwrap().close().unwrap();
        let before = std::fs::metadata(&table).unwrap();
        let how = RestoreOptions { mode, ..RestoreOptions::default() };
        engine.restore_db_from_latest_backup(w.at("data"), w.at("data"), &how).unwrap();
        let kept = std::os::unix::fs::MetadataExt::ino(&before)
            == std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&table).unwrap());
        if mode != RestoreMode::PurgeAllFiles {
            assert!(kept, "{mode:?}");
        }
        let db = Db::open(w.at("data"), options()).unwrap();
        assert_eq!(db.get(&55u32.to_be_bytes()).unwrap().as_deref(), Some(&b"value 55"[..]));
        assert_eq!(db.live_files().len(), 1);
    }
}

#[test]
fn excluded_files_come_from_another_directory() {
    let w = BackedUp::new();
    w.fill(0, 100);
    let full = w.engine();
    full.create_new_backup(w.db()).unwrap();
    let how = BackupEngineOptions { schema_version: 2, ..BackupEngineOptions::new(w.at("thin")) };
    let thin = BackupEngine::open(how.clone(), &options().db.env).unwrap();
    let exclude = CreateBackupOptions {
        exclude_files: Some(Arc::new(|name: &str| name.ends_with(".sst"))),
        ..CreateBackupOptions::default()
    };
    thin.create_new_backup_with(w.db(), &exclude).unwrap();
    let thin = BackupEngine::open_read_only(how, &options().db.env).unwrap();
    assert_eq!(thin.backup_info()[0].excluded_files.len(), 1);
    let dir = w.at("restored");
    let error = thin.restore_db_from_backup(1, &dir, &dir, &RestoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("alternate_dirs"), "{error}");
    let both = RestoreOptions { alternate_dirs: vec![full.clone()], ..RestoreOptions::default() };
    thin.restore_db_from_backup(1, &dir, &dir, &both).unwrap();
    assert_eq!(Db::open(&dir, options()).unwrap().range::<[u8], _>(..).count(), 100);
    assert_eq!(thin.create_new_backup(w.db()).unwrap_err().kind(), Kind::NotSupported);
    assert_eq!(full.create_new_backup_with(w.db(), &exclude).unwrap_err().kind(), Kind::InvalidArgument);
}

/// Returns a check that no two threads are in it at the same time, and the number of calls of the check.
fn alone() -> (impl Fn() + Clone, Arc<AtomicU64>) {
    let (inside, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let counted = calls.clone();
    let check = move || {
        assert!(!inside.swap(true, Ordering::SeqCst), "two threads call at the same time");
        (0..20).for_each(|_| std::thread::yield_now());
        inside.store(false, Ordering::SeqCst);
        counted.fetch_add(1, Ordering::Relaxed);
    };
    (check, calls)
}

#[test]
fn threads_of_a_backup_call_the_application_one_at_a_time() {
    let w = BackedUp::new();
    w.db().set_options(&[("disable_auto_compactions", "true")]).unwrap();
    (0..20).for_each(|file| w.fill(file * 1000, file * 1000 + 500));
    let how = BackupEngineOptions {
        callback_trigger_interval_size: 1000,
        max_background_operations: usize::MAX,
        schema_version: 2,
        ..w.how()
    };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    let (check, calls) = alone();
    let (progress, exclude) = (check.clone(), check);
    let callbacks = CreateBackupOptions {
        progress_callback: Some(Arc::new(move || {
            progress();
            Ok(())
        })),
        exclude_files: Some(Arc::new(move |_: &str| {
            exclude();
            false
        })),
        ..CreateBackupOptions::default()
    };
    engine.create_new_backup_with(w.db(), &callbacks).unwrap();
    assert!(calls.load(Ordering::Relaxed) > 40);
    assert_eq!(w.restored(&engine, 1).unwrap(), 20 * 500);
}

#[test]
fn progress_is_reported_and_a_backup_can_be_stopped() {
    let w = BackedUp::new();
    w.fill(0, 5000);
    let how = BackupEngineOptions { callback_trigger_interval_size: 1000, ..w.how() };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let progress = CreateBackupOptions {
        progress_callback: Some(Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })),
        ..CreateBackupOptions::default()
    };
    engine.create_new_backup_with(w.db(), &progress).unwrap();
    assert!(calls.load(Ordering::Relaxed) > 50);
    let failing = CreateBackupOptions {
        progress_callback: Some(Arc::new(|| Err(Error::aborted("enough")))),
        ..CreateBackupOptions::default()
    };
    w.fill(0, 5000);
    assert!(engine.create_new_backup_with(w.db(), &failing).unwrap_err().to_string().contains("enough"));
    engine.stop_backup();
    assert_eq!(engine.create_new_backup(w.db()).unwrap_err().kind(), Kind::Incomplete);
    assert_eq!(engine.backup_info().len(), 1);
}

#[test]
fn stop_ends_the_copy_of_a_file_in_its_middle() {
    let w = BackedUp::new();
    w.fill(0, 50_000);
    let how = BackupEngineOptions { callback_trigger_interval_size: 4096, io_buffer_size: 4096, ..w.how() };
    let engine = Arc::new(BackupEngine::open(how, &options().db.env).unwrap());
    let calls = Arc::new(AtomicU64::new(0));
    let (counted, stopping) = (calls.clone(), Arc::downgrade(&engine));
    let options = CreateBackupOptions {
        progress_callback: Some(Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            stopping.upgrade().expect("the engine is in use").stop_backup();
            Ok(())
        })),
        ..CreateBackupOptions::default()
    };
    assert_eq!(engine.create_new_backup_with(w.db(), &options).unwrap_err().kind(), Kind::Incomplete);
    // The SST file has more than 100 buffers.
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn backups_are_deleted_at_open_on_request() {
    let w = BackedUp::new();
    w.fill(0, 10);
    w.engine().create_new_backup(w.db()).unwrap();
    let how = BackupEngineOptions { destroy_old_data: true, ..w.how() };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    assert!(engine.backup_info().is_empty() && w.names("shared_checksum").is_empty());
}

#[test]
fn backups_of_rocksdb_restore_and_take_more() {
    let golden = testkit::golden::root().join("backup");
    let w = BackedUp::new();
    testkit::golden::copy_dir(&golden, &w.at("backups"));
    let engine = w.engine();
    let info = engine.backup_info();
    assert_eq!(info.iter().map(|i| (i.id, i.sequence.get())).collect::<Vec<_>>(), [(1, 160), (2, 250)]);
    assert_eq!(info[0].app_metadata, b"made for the golden set");
    for id in [1, 2] {
        engine.verify_backup(id, true).unwrap();
        let dir = w.at("restored");
        engine.restore_db_from_backup(id, &dir, &dir, &RestoreOptions::default()).unwrap();
        let mut as_written = Options::default();
        as_written.update("merge_operator=stringappend").unwrap();
        let db = Db::open(&dir, as_written).unwrap();
        let count: usize = db.families().iter().map(|family| family.range::<[u8], _>(..).count()).sum();
        assert_eq!(count, if id == 1 { 160 } else { 190 });
        assert!(db.engine().id() != w.db().engine().id());
    }
    w.fill(0, 10);
    assert_eq!(engine.create_new_backup(w.db()).unwrap(), 3);
    assert_eq!(w.restored(&engine, 3).unwrap(), 10);
    let _: &Path = w.scratch.path();
}

/// Opens a limiter that never waits, and counts.
fn counting() -> Arc<RateLimiter> {
    Arc::new(RateLimiter::new(RateOptions::new(i64::MAX / 1_000_000), options().db.env.clock).unwrap())
}

#[test]
fn the_rate_limiters_limit_the_reads_of_checks() {
    let mut w = BackedUp::new();
    w.fill(0, 1000);
    let (backups, restores) = (counting(), counting());
    let how = BackupEngineOptions {
        backup_rate_limiter: Some(backups.clone()),
        restore_rate_limiter: Some(restores.clone()),
        ..w.how()
    };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    engine.create_new_backup(w.db()).unwrap();
    let (size, through) = (engine.backup_info()[0].size, |limiter: &RateLimiter| {
        u64::try_from(limiter.total_bytes_through(IoPriority::Low)).unwrap()
    });
    let before = through(&backups);
    engine.verify_backup(1, false).unwrap();
    assert_eq!(through(&backups), before);
    engine.verify_backup(1, true).unwrap();
    assert_eq!(through(&backups), before + size);
    w.db.take().unwrap().close().unwrap();
    let how = RestoreOptions { mode: RestoreMode::VerifyChecksum, ..RestoreOptions::default() };
    engine.restore_db_from_backup(1, w.at("data"), w.at("data"), &how).unwrap();
    // The kept SST file was read for its checksum, and the other files were copied.
    assert_eq!(through(&restores), size);
}

#[test]
fn two_engines_restore_with_each_other_as_alternate_while_both_are_written() {
    let w = BackedUp::new();
    w.fill(0, 10);
    let engines = ["left", "right"].map(|name| {
        let engine = BackupEngine::open(BackupEngineOptions::new(w.at(name)), &options().db.env).unwrap();
        engine.create_new_backup(w.db()).unwrap();
        engine
    });
    std::thread::scope(|scope| {
        for (at, engine) in engines.iter().enumerate() {
            let (other, dir, db) = (engines[1 - at].clone(), w.at(&format!("restored-{at}")), w.db());
            scope.spawn(move || {
                let how = RestoreOptions { alternate_dirs: vec![other], ..RestoreOptions::default() };
                for _ in 0..20 {
                    engine.restore_db_from_backup(1, &dir, &dir, &how).unwrap();
                    assert_eq!(engine.backup_info()[0].id, 1);
                }
            });
            scope.spawn(move || {
                for _ in 0..20 {
                    let id = engine.create_new_backup(db).unwrap();
                    engine.delete_backup(id).unwrap();
                }
            });
        }
    });
}

/// RocksDB: `BackupEngineTest.IOStats` counts the reads of a backup, also of files that are not copied.
#[test]
fn reads_for_checksums_count_as_bytes_read() {
    let w = BackedUp::new();
    let mut counted = options();
    let statistics = Arc::new(Statistics::default());
    counted.db.statistics = Some(statistics.clone());
    let db = Db::open(w.at("counted"), counted).unwrap();
    db.put(b"k", &[b'v'; 10_000]).unwrap();
    db.flush().unwrap();
    let how = BackupEngineOptions {
        share_files_with_checksum_naming: ShareFilesNaming::LegacyCrc32cAndFileSize,
        ..w.how()
    };
    let engine = BackupEngine::open(how, &options().db.env).unwrap();
    engine.create_new_backup(&db).unwrap();
    let table = db.live_files()[0].size;
    let count = |ticker| statistics.ticker(ticker);
    assert_eq!(count(Ticker::BackupReadBytes), count(Ticker::BackupWriteBytes) + table);
}

#[test]
fn several_threads_copy_verify_and_restore() {
    let w = BackedUp::new();
    // A compaction between two backups would change the order of the files.
    w.db().set_options(&[("disable_auto_compactions", "true")]).unwrap();
    for i in 0..20 {
        w.fill(i * 10, i * 10 + 10);
    }
    let how = BackupEngineOptions { max_background_operations: 4, ..w.how() };
    let engine = BackupEngine::open(how.clone(), &options().db.env).unwrap();
    engine.create_new_backup(w.db()).unwrap();
    w.fill(200, 210);
    // A later backup must find the same files in the same order.
    w.db().wait_for_compact().unwrap();
    engine.create_new_backup(w.db()).unwrap();
    engine.verify_backup(2, true).unwrap();
    assert_eq!((w.restored(&engine, 1).unwrap(), w.restored(&engine, 2).unwrap()), (200, 210));
    // The order of the files does not depend on the threads.
    let one = BackupEngine::open(BackupEngineOptions::new(w.at("one")), &options().db.env).unwrap();
    one.create_new_backup(w.db()).unwrap();
    let names = |engine: &BackupEngine, id: u32| {
        let info = engine.backup_info().into_iter().find(|info| info.id == id).unwrap();
        let base = |(name, size): (String, u64)| (name.rsplit('/').next().unwrap().to_string(), size);
        info.files.into_iter().map(base).collect::<Vec<_>>()
    };
    assert_eq!(names(&engine, 2), names(&one, 1));
    // A file that cannot be read fails the backup, and nothing of the backup stays.
    let table = w.db().live_files()[7].number.get();
    std::fs::remove_file(w.at("data").join(format!("{table:06}.sst"))).unwrap();
    let fresh = BackupEngine::open(
        BackupEngineOptions { max_background_operations: 4, ..BackupEngineOptions::new(w.at("fresh")) },
        &options().db.env,
    );
    let fresh = fresh.unwrap();
    let error = fresh.create_new_backup(w.db()).unwrap_err();
    assert!(error.to_string().contains(&format!("{table:06}.sst")), "{error}");
    assert!(fresh.backup_info().is_empty());
    assert_eq!(std::fs::read_dir(w.at("fresh/shared_checksum")).unwrap().count(), 0);
}
