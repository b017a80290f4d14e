//! Traces that start while a trace runs, and traces without an end.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use crate::calls::*;

type Start = unsafe extern "C" fn(
    *mut rocksdb_t,
    *mut c_void,
    *const c_void,
    *const c_void,
    *const c_char,
    *mut *mut c_char,
);

fn open(dir: &Path) -> Db {
    let (name, options) = (c_path(&dir.join("db")), options());
    // SAFETY: the options are live; they are destroyed once.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err)));
        rocksdb_options_destroy(options);
        db
    }
}

/// Starts a trace in a file.
fn start(function: Start, db: &Db, file: &Path, err: *mut *mut c_char) {
    let file = c_path(file);
    // SAFETY: the database is live; the function accepts null for the environment and for the options.
    unsafe { function(db.handle, null_mut(), null(), null(), file.as_ptr(), err) }
}

#[test]
fn a_refused_trace_does_not_change_the_file_of_the_running_trace() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let (io, blocks) = (dir.path().join("io"), dir.path().join("blocks"));
    for (function, file) in
        [(rocksdb_start_io_trace as Start, &io), (rocksdb_start_block_cache_trace as Start, &blocks)]
    {
        ok(|err| start(function, &db, file, err));
        // A file that the refused start creates again is empty.
        std::fs::write(file, b"kept").unwrap();
        let mut error = null_mut();
        start(function, &db, file, &raw mut error);
        assert!(taken(error).contains("busy"));
        assert_eq!(std::fs::read(file).unwrap(), b"kept");
    }
}

#[test]
fn a_trace_replaces_the_running_trace_in_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let file = dir.path().join("calls");
    ok(|err| start(rocksdb_start_trace, &db, &file, err));
    db.put("first", "1");
    ok(|err| start(rocksdb_start_trace, &db, &file, err));
    db.put("second", "2");
    // SAFETY: the database is live.
    ok(|err| unsafe { rocksdb_end_trace(db.handle, err) });
    let bytes = std::fs::read(&file).unwrap();
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(b"second") && !has(b"first"));
    assert_eq!(bytes[8], 1, "the first record is not the begin of a trace");
}

#[test]
fn a_close_stores_the_traces_that_run() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let (calls, io) = (dir.path().join("calls"), dir.path().join("io"));
    ok(|err| start(rocksdb_start_trace, &db, &calls, err));
    ok(|err| start(rocksdb_start_io_trace, &db, &io, err));
    db.put("stored", "1");
    drop(db);
    let has = |file: &Path, part: &[u8]| {
        std::fs::read(file).unwrap().windows(part.len()).any(|window| window == part)
    };
    assert!(has(&calls, b"stored") && has(&io, b"Append"));
}
