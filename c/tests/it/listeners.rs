//! Listeners: the database and the descriptions that the functions of the program get.

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::Mutex;

use crate::calls::*;

type Any = *mut c_void;
type Call = unsafe extern "C" fn(Any, *const c_void);
type CallWithDb = unsafe extern "C" fn(Any, *mut rocksdb_t, *const c_void);
type ErrorCall = unsafe extern "C" fn(Any, u32, Any);

unsafe extern "C" {
    fn rocksdb_eventlistener_create(
        state: Any,
        destructor: Option<unsafe extern "C" fn(Any)>,
        flush_begin: Option<CallWithDb>,
        flush_completed: Option<CallWithDb>,
        compaction_begin: Option<CallWithDb>,
        compaction_completed: Option<CallWithDb>,
        subcompaction_begin: Option<Call>,
        subcompaction_completed: Option<Call>,
        external_file_ingested: Option<CallWithDb>,
        background_error: Option<ErrorCall>,
        stall_conditions_changed: Option<Call>,
        memtable_sealed: Option<Call>,
    ) -> Any;
    fn rocksdb_options_set_wal_dir(options: *mut rocksdb_options_t, dir: *const c_char);
    fn rocksdb_options_add_eventlistener(options: *mut rocksdb_options_t, listener: Any);
    fn rocksdb_flushoptions_create() -> Any;
    fn rocksdb_flushoptions_destroy(options: Any);
    fn rocksdb_flush(db: *mut rocksdb_t, options: Any, err: *mut *mut c_char);
    fn rocksdb_property_int(db: *mut rocksdb_t, name: *const c_char, value: *mut u64) -> c_int;
    fn rocksdb_reset_status(status: Any);
}

unsafe extern "C" fn kept(_: Any) {}

/// A state: what the functions recorded, and what they do.
#[derive(Default)]
struct Seen {
    /// The results of `rocksdb_property_int`, and the property.
    properties: Mutex<Vec<(c_int, u64)>>,
    values: Mutex<Vec<Option<String>>>,
    reasons: Mutex<Vec<u32>>,
    /// The directory that the function for errors renames, and its name afterwards.
    rename: Mutex<Option<(PathBuf, PathBuf)>>,
}

unsafe extern "C" fn use_database(state: Any, db: *mut rocksdb_t, _: *const c_void) {
    // SAFETY: the state is a live `Seen`; the database and the places are live during the call.
    unsafe {
        let seen = &*state.cast::<Seen>();
        let mut value = 77;
        let name = c"rocksdb.estimate-num-keys".as_ptr();
        let found = rocksdb_property_int(db, name, &raw mut value);
        seen.properties.lock().unwrap().push((found, value));
        let read = rocksdb_readoptions_create();
        let (mut len, mut error) = (0, null_mut());
        let value = rocksdb_get(db, read, c"k".as_ptr(), 1, &raw mut len, &raw mut error);
        assert!(error.is_null());
        seen.values.lock().unwrap().push(copied(value, len));
        rocksdb_readoptions_destroy(read);
    }
}

unsafe extern "C" fn clear_error(state: Any, reason: u32, status: Any) {
    // SAFETY: as above; the status is live during the call.
    unsafe {
        let seen = &*state.cast::<Seen>();
        seen.reasons.lock().unwrap().push(reason);
        if let Some((from, to)) = seen.rename.lock().unwrap().take() {
            std::fs::rename(from, to).unwrap();
            rocksdb_reset_status(status);
        }
    }
}

/// Opens a database with a listener. The WALs are in another directory.
///
/// # Safety
/// The state lives longer than the database.
unsafe fn open(path: &std::path::Path, seen: &Seen) -> Db {
    let (path, wals) = (c_path(path), c_path(&path.with_extension("wals")));
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let options = options();
        rocksdb_options_set_wal_dir(options, wals.as_ptr());
        let state = (&raw const *seen).cast_mut().cast();
        let listener = rocksdb_eventlistener_create(
            state,
            Some(kept),
            Some(use_database),
            Some(use_database),
            None,
            None,
            None,
            None,
            None,
            Some(clear_error),
            None,
            None,
        );
        rocksdb_options_add_eventlistener(options, listener);
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        rocksdb_options_destroy(options);
        db
    }
}

fn flush(db: &Db) -> Result<(), String> {
    let mut error = null_mut();
    // SAFETY: the handles are live and are destroyed once.
    unsafe {
        let options = rocksdb_flushoptions_create();
        rocksdb_flush(db.handle, options, &raw mut error);
        rocksdb_flushoptions_destroy(options);
    }
    if error.is_null() { Ok(()) } else { Err(taken(error)) }
}

#[test]
fn listener_reads_the_database_of_its_event() {
    let (dir, seen) = (tempfile::tempdir().unwrap(), Seen::default());
    // SAFETY: `seen` lives longer than the database.
    let db = unsafe { open(&dir.path().join("db"), &seen) };
    db.put("k", "v");
    flush(&db).unwrap();
    drop(db);
    assert_eq!(*seen.properties.lock().unwrap(), [(0, 1); 2]);
    assert_eq!(*seen.values.lock().unwrap(), [Some("v".to_string()), Some("v".to_string())]);
}

#[test]
fn listener_clears_a_background_error_before_it_takes_effect() {
    let (dir, seen) = (tempfile::tempdir().unwrap(), Seen::default());
    let (path, away) = (dir.path().join("db"), dir.path().join("away"));
    // SAFETY: as above.
    let db = unsafe { open(&path, &seen) };
    db.put("k", "v");
    *seen.rename.lock().unwrap() = Some((away.clone(), path.clone()));
    std::fs::rename(&path, &away).unwrap();
    assert!(flush(&db).unwrap_err().starts_with("IO error: "));
    let mut errors = 77;
    // SAFETY: the handle and the place are live.
    let found =
        unsafe { rocksdb_property_int(db.handle, c"rocksdb.background-errors".as_ptr(), &raw mut errors) };
    assert_eq!((found, errors), (0, 0));
    db.put("k", "w");
    flush(&db).unwrap();
    assert_eq!(*seen.reasons.lock().unwrap(), [0]);
    assert_eq!(db.get("k").as_deref(), Some("w"));
}
