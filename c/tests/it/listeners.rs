//! Listeners: the database and the descriptions that the functions of the program get.

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::Mutex;

use crate::calls::*;

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
    fn rocksdb_options_add_eventlistener(options: *mut rocksdb_options_t, listener: Any);
    fn rocksdb_reset_status(status: Any);
    fn rocksdb_options_set_max_bgerror_resume_count(options: *mut rocksdb_options_t, value: c_int);
    fn rocksdb_options_set_enable_blob_files(options: *mut rocksdb_options_t, value: u8);
    fn rocksdb_options_set_blob_compression_type(options: *mut rocksdb_options_t, value: c_int);
    fn rocksdb_options_set_compression(options: *mut rocksdb_options_t, value: c_int);
    fn rocksdb_compact_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_len: usize,
        limit: *const c_char,
        limit_len: usize,
    );
    fn rocksdb_flushjobinfo_oldest_blob_file_number(info: *const c_void) -> u64;
    fn rocksdb_flushjobinfo_blob_compression_type(info: *const c_void) -> u32;
    fn rocksdb_compactionjobinfo_compression(info: *const c_void) -> u32;
    fn rocksdb_compactionjobinfo_blob_compression_type(info: *const c_void) -> u32;
    fn rocksdb_subcompactionjobinfo_compression(info: *const c_void) -> u32;
    fn rocksdb_subcompactionjobinfo_blob_compression_type(info: *const c_void) -> u32;
    fn rocksdb_subcompactionjobinfo_stats(info: *const c_void) -> *const c_void;
    fn rocksdb_compaction_job_stats_num_input_records(stats: *const c_void) -> u64;
    fn rocksdb_compaction_job_stats_total_input_raw_key_bytes(stats: *const c_void) -> u64;
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
    // SAFETY: the state is a live `Seen`; the status is live during the call.
    unsafe {
        let seen = &*state.cast::<Seen>();
        seen.reasons.lock().unwrap().push(reason);
        if let Some((from, to)) = seen.rename.lock().unwrap().take() {
            std::fs::rename(from, to).unwrap();
            rocksdb_reset_status(status);
        }
    }
}

/// Opens a database with a listener for each state. The WALs are in another directory.
///
/// # Safety
/// The states live longer than the database.
unsafe fn open(path: &std::path::Path, states: &[&Seen]) -> Db {
    let (path, wals) = (c_path(path), c_path(&path.with_extension("wals")));
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let options = options();
        rocksdb_options_set_wal_dir(options, wals.as_ptr());
        rocksdb_options_set_max_bgerror_resume_count(options, 0);
        for &seen in states {
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
        }
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
    let db = unsafe { open(&dir.path().join("db"), &[&seen]) };
    db.put("k", "v");
    flush(&db).unwrap();
    drop(db);
    assert_eq!(*seen.properties.lock().unwrap(), [(0, 1); 2]);
    assert_eq!(*seen.values.lock().unwrap(), [Some("v".to_string()), Some("v".to_string())]);
}

/// The number of a failed flush while the WAL has no error, in RocksDB's `BackgroundErrorReason`.
const FLUSH_NO_WAL: u32 = 5;

#[test]
fn listener_clears_a_background_error_before_it_takes_effect() {
    let (dir, seen) = (tempfile::tempdir().unwrap(), Seen::default());
    let (path, away) = (dir.path().join("db"), dir.path().join("away"));
    // SAFETY: `seen` lives longer than the database.
    let db = unsafe { open(&path, &[&seen]) };
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
    assert_eq!(*seen.reasons.lock().unwrap(), [FLUSH_NO_WAL]);
    assert_eq!(db.get("k").as_deref(), Some("w"));
}

#[test]
fn each_listener_gets_an_error_once() {
    let (dir, keeps, clears) = (tempfile::tempdir().unwrap(), Seen::default(), Seen::default());
    let (path, away) = (dir.path().join("db"), dir.path().join("away"));
    // SAFETY: both states live longer than the database.
    let db = unsafe { open(&path, &[&keeps, &clears]) };
    for count in 1..=3 {
        db.put("k", "v");
        *clears.rename.lock().unwrap() = Some((away.clone(), path.clone()));
        std::fs::rename(&path, &away).unwrap();
        flush(&db).unwrap_err();
        assert_eq!(*keeps.reasons.lock().unwrap(), vec![FLUSH_NO_WAL; count]);
        assert_eq!(*clears.reasons.lock().unwrap(), vec![FLUSH_NO_WAL; count]);
    }
    // Nothing clears this error: the event of the error calls no function again.
    std::fs::rename(&path, &away).unwrap();
    flush(&db).unwrap_err();
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(keeps.reasons.lock().unwrap().len(), 4);
    assert_eq!(clears.reasons.lock().unwrap().len(), 4);
}

/// Compression types of RocksDB.
const SNAPPY: u32 = 1;
const LZ4: u32 = 4;

type Facts = Mutex<Vec<(&'static str, u64)>>;

/// # Safety
/// The state is a live `Facts`.
unsafe fn add(state: Any, facts: impl IntoIterator<Item = (&'static str, u64)>) {
    // SAFETY: by the contract.
    unsafe { &*state.cast::<Facts>() }.lock().unwrap().extend(facts);
}

unsafe extern "C" fn flush_facts(state: Any, _: *mut rocksdb_t, info: *const c_void) {
    // SAFETY: the state is live, and the description is live during the call.
    unsafe {
        let has_blob_file = rocksdb_flushjobinfo_oldest_blob_file_number(info) > 0;
        let compression = rocksdb_flushjobinfo_blob_compression_type(info);
        add(state, [("flush: blob file", has_blob_file.into()), ("flush: blobs", compression.into())]);
    }
}

unsafe extern "C" fn compaction_facts(state: Any, _: *mut rocksdb_t, info: *const c_void) {
    // SAFETY: the state is live, and the description is live during the call.
    unsafe {
        let compression = rocksdb_compactionjobinfo_compression(info);
        let blobs = rocksdb_compactionjobinfo_blob_compression_type(info);
        add(state, [("compaction: files", compression.into()), ("compaction: blobs", blobs.into())]);
    }
}

unsafe extern "C" fn subcompaction_facts(state: Any, info: *const c_void) {
    // SAFETY: the state is live, and the description is live during the call.
    unsafe {
        let compression = rocksdb_subcompactionjobinfo_compression(info);
        let blobs = rocksdb_subcompactionjobinfo_blob_compression_type(info);
        add(state, [("subcompaction: files", compression.into()), ("subcompaction: blobs", blobs.into())]);
        let stats = rocksdb_subcompactionjobinfo_stats(info);
        let records = rocksdb_compaction_job_stats_num_input_records(stats);
        let key_bytes = rocksdb_compaction_job_stats_total_input_raw_key_bytes(stats);
        add(state, [("records", records), ("key bytes", key_bytes)]);
    }
}

#[test]
fn descriptions_of_jobs_have_compressions_blob_files_and_counts() {
    let (dir, facts) = (tempfile::tempdir().unwrap(), Facts::default());
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; `facts` lives longer than the database.
    unsafe {
        let options = options();
        rocksdb_options_set_compression(options, SNAPPY.cast_signed());
        rocksdb_options_set_enable_blob_files(options, 1);
        rocksdb_options_set_blob_compression_type(options, LZ4.cast_signed());
        let state = (&raw const facts).cast_mut().cast();
        let listener = rocksdb_eventlistener_create(
            state,
            Some(kept),
            None,
            Some(flush_facts),
            Some(compaction_facts),
            Some(compaction_facts),
            None,
            Some(subcompaction_facts),
            None,
            None,
            None,
            None,
        );
        rocksdb_options_add_eventlistener(options, listener);
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        rocksdb_options_destroy(options);
        for value in ["1", "2"] {
            db.put("k", value);
            db.put("l", value);
            flush(&db).unwrap();
        }
        let none = std::ptr::null();
        rocksdb_compact_range(db.handle, none, 0, none, 0);
    }
    let (snappy, lz4) = (u64::from(SNAPPY), u64::from(LZ4));
    let flush = [("flush: blob file", 1), ("flush: blobs", lz4)];
    let compaction = [("compaction: files", snappy), ("compaction: blobs", lz4)];
    // Each internal key has the key of one byte and eight more bytes.
    let subcompaction =
        [("subcompaction: files", snappy), ("subcompaction: blobs", lz4), ("records", 4), ("key bytes", 36)];
    let mut expected = [flush, flush, compaction].concat();
    expected.extend(subcompaction);
    expected.extend(compaction);
    assert_eq!(*facts.lock().unwrap(), expected);
}
