//! Opens of all kinds: thread modes, times to live, secondary instances, and memory environments.

use std::sync::Arc;
use std::time::Duration;

use rocksdb::{
    ColumnFamilyDescriptor, ColumnFamilyTtl, DB, DBAccess, DBWithThreadMode, Env, ErrorKind, IteratorMode,
    MultiThreaded, Options, SnapshotWithThreadMode, ThreadMode,
};

fn creating() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

#[test]
fn an_open_without_names_refuses_a_database_with_other_column_families() {
    let dir = tempfile::tempdir().unwrap();
    drop(DB::open_cf(&creating(), dir.path(), ["users"]).unwrap());
    assert_eq!(DB::open(&creating(), dir.path()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(DB::list_cf(&creating(), dir.path()).unwrap(), ["default", "users"]);
}

#[test]
fn column_families_are_created_with_shared_access_in_the_mode_of_several_threads() {
    let dir = tempfile::tempdir().unwrap();
    let db = DBWithThreadMode::<MultiThreaded>::open(&creating(), dir.path()).unwrap();
    db.create_cf("users", &Options::default()).unwrap();
    let users = db.cf_handle("users").unwrap();
    db.put_cf(&users, b"1", b"Ada").unwrap();
    db.drop_cf("users").unwrap();
    assert!(db.cf_handle("users").is_none());
    assert_eq!(db.get_cf(&users, b"1").unwrap().as_deref(), Some(&b"Ada"[..])); // the handle keeps the data
}

#[test]
fn values_of_a_database_with_a_time_to_live_read_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let plain = ColumnFamilyDescriptor::new_with_ttl("plain", Options::default(), ColumnFamilyTtl::Disabled);
    let db = DB::open_cf_descriptors_with_ttl(&creating(), dir.path(), [plain], Duration::from_secs(3600))
        .unwrap();
    let plain = db.cf_handle("plain").unwrap();
    db.put_cf(plain, b"k", b"v").unwrap();
    let mut batch = rocksdb::WriteBatch::default();
    batch.put(b"b", b"2");
    db.write(batch).unwrap();
    assert_eq!(db.get_cf(plain, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(db.multi_get_cf([(plain, b"k")])[0].clone().unwrap().as_deref(), Some(&b"v"[..]));
    let (key, value) = db.iterator(IteratorMode::Start).next().unwrap().unwrap();
    assert_eq!((&*key, &*value), (&b"b"[..], &b"2"[..]));
}

#[test]
fn a_secondary_instance_follows_its_column_families() {
    let dir = tempfile::tempdir().unwrap();
    let (primary, own) = (dir.path().join("primary"), dir.path().join("secondary"));
    let db = DB::open_cf(&creating(), &primary, ["users"]).unwrap();
    let secondary = DB::open_cf_as_secondary(&Options::default(), &primary, &own, ["users"]).unwrap();
    db.put_cf(db.cf_handle("users").unwrap(), b"1", b"Ada").unwrap();
    let users = secondary.cf_handle("users").unwrap();
    assert!(secondary.get_cf(users, b"1").unwrap().is_none());
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.get_cf(users, b"1").unwrap().as_deref(), Some(&b"Ada"[..]));
    assert_eq!(db.try_catch_up_with_primary().unwrap_err().kind(), ErrorKind::NotSupported);
}

#[test]
fn a_refresh_of_an_iterator_over_a_secondary_instance_reads_the_last_catch_up() {
    let dir = tempfile::tempdir().unwrap();
    let (primary, own) = (dir.path().join("primary"), dir.path().join("secondary"));
    let db = DB::open_cf(&creating(), &primary, ["users"]).unwrap();
    let secondary = DB::open_cf_as_secondary(&Options::default(), &primary, &own, ["users"]).unwrap();
    let users = secondary.cf_handle("users").unwrap();
    let mut iters = [secondary.raw_iterator(), secondary.raw_iterator_cf(users)];
    for round in 0..3u8 {
        db.put([round], b"v").unwrap();
        db.put_cf(db.cf_handle("users").unwrap(), [round], b"v").unwrap();
        if round == 1 {
            db.flush().unwrap();
        }
        secondary.try_catch_up_with_primary().unwrap();
        for iter in &mut iters {
            iter.seek_to_last();
            assert_eq!(iter.key(), round.checked_sub(1).as_ref().map(std::slice::from_ref));
            iter.refresh().unwrap();
            iter.seek_to_last();
            assert_eq!(iter.key(), Some(&[round][..]));
        }
    }
}

/// Code over any thread mode may use a database and its snapshots in several threads, as with the crate rocksdb.
#[test]
fn threads_share_a_database_of_any_thread_mode() {
    struct Store<T: ThreadMode> {
        db: Arc<DBWithThreadMode<T>>,
    }
    impl<T: ThreadMode + Send + 'static> Store<T> {
        fn read(&self) -> Option<Vec<u8>> {
            let db = self.db.clone();
            std::thread::spawn(move || db.get(b"k").unwrap()).join().unwrap()
        }
    }
    fn read_at<D: DBAccess>(snapshot: SnapshotWithThreadMode<'_, D>) -> Option<Vec<u8>> {
        std::thread::scope(|scope| scope.spawn(move || snapshot.get(b"k").unwrap()).join().unwrap())
    }
    let dir = tempfile::tempdir().unwrap();
    let db = DBWithThreadMode::<MultiThreaded>::open(&creating(), dir.path()).unwrap();
    db.put(b"k", b"v").unwrap();
    let snapshot = db.snapshot();
    db.delete(b"k").unwrap();
    assert_eq!(read_at(snapshot).as_deref(), Some(&b"v"[..]));
    assert_eq!(Store { db: Arc::new(db) }.read(), None);
}

#[test]
fn a_database_in_a_memory_environment_writes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let mut options = creating();
    options.set_env(&Env::mem_env().unwrap());
    let db = DB::open(&options, &path).unwrap();
    db.put(b"k", b"v").unwrap();
    drop(db);
    assert!(!path.exists());
    assert!(DB::open(&options, &path).unwrap().get(b"k").unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_not_utf8_fails_the_open() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"odd \xff"));
    let mut options = creating();
    options.set_wal_dir(&odd);
    let error = DB::open(&options, dir.path().join("data")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("wal_dir"), "{error}");
    options.set_wal_dir(dir.path().join("wal"));
    options.set_db_log_dir(&odd);
    assert!(DB::open(&options, dir.path().join("data")).unwrap_err().to_string().contains("db_log_dir"));
    options.set_db_log_dir(dir.path().join("log"));
    DB::open(&options, dir.path().join("data")).unwrap();
}

#[test]
fn a_rejected_value_fails_the_open_by_the_name_of_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = creating();
    options.set_compression_options_parallel_threads(-1);
    let error = DB::open(&options, dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("set_compression_options_parallel_threads"), "{error}");
    options.set_compression_options_parallel_threads(1);
    DB::open(&options, dir.path()).unwrap();
}

#[test]
fn the_example_notes_shows_the_snapshot_and_the_present() {
    let dir = tempfile::tempdir().unwrap();
    let shown = crate::notes::run(dir.path().to_str().unwrap()).unwrap();
    assert_eq!(shown, ["2024-01-01: new year; snow; ", "2024-02-29: leap day; ", "now: 1"]);
}
