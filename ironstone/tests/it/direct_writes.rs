//! Copies, checks, repairs and deletions of databases whose memtables refer to blob files (`enable_blob_direct_write`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ironstone::{
    BackupEngine, BackupEngineOptions, Checkpoint, CheckpointOptions, CreateBackupOptions, Db, Options,
    RestoreOptions, destroy, fsck, repair,
};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    let mut options = Options::default();
    options
        .update(
            "create_if_missing=true;allow_concurrent_memtable_write=false;enable_blob_files=true;min_blob_size=100;\
             enable_blob_direct_write=true;blob_direct_write_partitions=2;blob_file_size=20000;\
             disable_auto_compactions=true",
        )
        .unwrap();
    options
}

fn value(n: u32) -> Vec<u8> {
    (0..50 + n % 500).map(|at| (n * 7 + at) as u8).collect()
}

fn rows(db: &Db) -> Rows {
    db.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k, v.to_vec())).unwrap()).collect()
}

fn put(db: &Db, keys: std::ops::Range<u32>, rows: &mut Rows) {
    for n in keys {
        let key = (n % 300).to_be_bytes();
        db.put(&key, &value(n)).unwrap();
        rows.insert(key.to_vec(), value(n));
    }
}

/// An open database: some values are flushed, and some are only in blob files that a memtable refers to.
struct DirectBlobs {
    scratch: tempfile::TempDir,
    db: Option<Db>,
    rows: Rows,
}

impl DirectBlobs {
    fn new() -> DirectBlobs {
        let scratch = tempfile::tempdir().unwrap();
        let db = Db::open(scratch.path().join("data"), options()).unwrap();
        let mut rows = Rows::new();
        put(&db, 0..200, &mut rows);
        db.flush().unwrap();
        put(&db, 150..350, &mut rows);
        DirectBlobs { scratch, db: Some(db), rows }
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Copies the files of the open database: what a crash of its process leaves.
    fn killed(&self) -> PathBuf {
        let to = self.at("killed");
        std::fs::create_dir(&to).unwrap();
        for entry in std::fs::read_dir(self.at("data")).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != "LOCK" && entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
        to
    }

    /// Opens a copy twice, and checks its rows.
    fn check(&self, dir: &Path, expected: &Rows) {
        for _ in 0..2 {
            let db = Db::open(dir, options()).unwrap();
            assert!(rows(&db) == *expected, "{}", dir.display());
            db.close().unwrap();
        }
    }
}

fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(end));
    found.sort();
    found
}

#[test]
fn a_checkpoint_has_the_values_of_memtables() {
    for log_size_for_flush in [0, u64::MAX] {
        let world = DirectBlobs::new();
        let how = CheckpointOptions { log_size_for_flush, ..CheckpointOptions::default() };
        Checkpoint::new(world.db()).create_with(world.at("copy"), &how).unwrap();
        let then = world.rows.clone();
        let mut later = world.rows.clone();
        put(world.db(), 500..600, &mut later);
        // The copy has its own blob files: later records go to the files of the database only.
        world.check(&world.at("copy"), &then);
        assert!(rows(world.db()) == later);
    }
}

#[test]
fn backups_with_and_without_a_flush_restore_the_values_of_memtables() {
    let mut world = DirectBlobs::new();
    let env = options().db.env.clone();
    let engine = BackupEngine::open(BackupEngineOptions::new(world.at("backups")), &env).unwrap();
    let mut expected = Vec::new();
    for flush_before_backup in [false, true, false] {
        let how = CreateBackupOptions { flush_before_backup, ..CreateBackupOptions::default() };
        let id = engine.create_new_backup_with(world.db(), &how).unwrap();
        engine.verify_backup(id, true).unwrap();
        expected.push((id, world.rows.clone()));
        let mut more = world.rows.clone();
        put(world.db(), 600 + expected.len() as u32..700, &mut more);
        world.rows = more;
    }
    for (id, rows) in &expected {
        let to = world.at(&format!("restored-{id}"));
        engine.restore_db_from_backup(*id, &to, &to, &RestoreOptions::default()).unwrap();
        world.check(&to, rows);
    }
}

#[test]
fn fsck_and_repair_find_nothing_in_a_closed_database_and_after_a_crash() {
    let mut world = DirectBlobs::new();
    let killed = world.killed();
    world.db.take().unwrap().close().unwrap();
    for dir in [world.at("data"), killed] {
        let report = fsck(&dir, options(), Vec::new()).unwrap();
        assert!(report.is_sound(), "{}: {report:#?}", dir.display());
        let report = repair(&dir, options(), Vec::new()).unwrap();
        assert!(report.is_sound() && report.actions.is_empty(), "{}: {report:#?}", dir.display());
        world.check(&dir, &world.rows);
    }
}

#[test]
fn a_repair_without_a_manifest_keeps_the_values_of_the_wals() {
    let mut world = DirectBlobs::new();
    let killed = world.killed();
    world.db.take().unwrap().close().unwrap();
    for dir in [world.at("data"), killed] {
        files(&dir, "").iter().filter(|path| path.to_string_lossy().contains("MANIFEST")).for_each(|path| {
            std::fs::remove_file(path).unwrap();
        });
        repair(&dir, options(), Vec::new()).unwrap();
        world.check(&dir, &world.rows);
    }
}

#[test]
fn a_destroyed_database_leaves_no_blob_file() {
    let mut world = DirectBlobs::new();
    let killed = world.killed();
    world.db.take().unwrap().close().unwrap();
    for dir in [world.at("data"), killed] {
        assert!(!files(&dir, ".blob").is_empty());
        destroy(&dir, &options().db).unwrap();
        assert!(!dir.exists() || files(&dir, "").is_empty(), "{}", dir.display());
    }
}

#[test]
fn a_read_only_open_and_a_secondary_instance_read_the_values_of_memtables() {
    let mut world = DirectBlobs::new();
    let killed = world.killed();
    assert!(rows(&Db::open_read_only(&killed, options()).unwrap()) == world.rows);
    let mut secondary_options = options();
    secondary_options.update("max_open_files=-1").unwrap();
    let secondary = ironstone::Secondary::open(world.at("data"), secondary_options).unwrap();
    assert!(rows(&secondary.view()) == world.rows);
    let mut more = world.rows.clone();
    put(world.db(), 400..500, &mut more);
    secondary.try_catch_up_with_primary().unwrap();
    assert!(rows(&secondary.view()) == more);
    world.db().flush().unwrap();
    put(world.db(), 500..550, &mut more);
    secondary.try_catch_up_with_primary().unwrap();
    assert!(rows(&secondary.view()) == more);
    world.rows = more;
    drop(secondary);
    world.db.take().unwrap().close().unwrap();
    world.check(&world.at("data"), &world.rows);
}

#[test]
fn transactions_of_all_policies_use_blob_files() {
    use ironstone::{TransactionDb, TransactionDbOptions, TxnDbWritePolicy};
    for write_policy in
        [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared]
    {
        let scratch = tempfile::tempdir().unwrap();
        let how = TransactionDbOptions { write_policy, ..TransactionDbOptions::default() };
        let open = || TransactionDb::open(scratch.path(), options(), how.clone()).unwrap();
        let mut expected = Rows::new();
        let db = open();
        for n in 0..60u32 {
            let txn = db.begin();
            let key = n.to_be_bytes();
            txn.put(&key, &value(n + 100)).unwrap();
            if n % 3 == 0 {
                txn.set_name(format!("t{n}").as_bytes()).unwrap();
                txn.prepare().unwrap();
            }
            if n % 5 == 0 {
                txn.rollback().unwrap();
            } else {
                txn.commit().unwrap();
                expected.insert(key.to_vec(), value(n + 100));
            }
            if n == 40 {
                db.flush().unwrap();
            }
        }
        assert!(!files(scratch.path(), ".blob").is_empty(), "{write_policy:?}");
        assert!(rows(&db) == expected, "{write_policy:?}");
        drop(db);
        let db = open();
        assert!(rows(&db) == expected, "{write_policy:?}");
    }
}
