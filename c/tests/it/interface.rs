//! The rules of all functions: handles in any order, null pointers, error strings, destructors of callbacks.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use ironstone_c_calls::comparator::{
    rocksdb_comparator_create, rocksdb_comparator_destroy, rocksdb_comparator_t,
};

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_options_set_compaction_style(options: *mut rocksdb_options_t, value: i32);
    fn rocksdb_options_get_compaction_style(options: *const rocksdb_options_t) -> i32;
    fn rocksdb_verify_checksum_with_options(
        db: *mut rocksdb_t,
        options: *const c_void,
        err: *mut *mut c_char,
    );
    fn rocksdb_verify_file_checksums_with_options(
        db: *mut rocksdb_t,
        options: *const c_void,
        err: *mut *mut c_char,
    );
    fn rocksdb_readoptions_set_deadline(options: *mut c_void, microseconds: u64);
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut c_void;
    fn rocksdb_file_checksum_gen_factory_destroy(factory: *mut c_void);
    fn rocksdb_options_set_file_checksum_gen_factory(options: *mut rocksdb_options_t, factory: *mut c_void);
    fn rocksdb_approximate_sizes_with_options(
        db: *mut rocksdb_t,
        options: *const c_void,
        count: i32,
        starts: *const *const c_char,
        start_lens: *const usize,
        limits: *const *const c_char,
        limit_lens: *const usize,
        sizes: *mut u64,
        err: *mut *mut c_char,
    );
    fn rocksdb_compact_files_cf(
        db: *mut rocksdb_t,
        family: *mut c_void,
        options: *const c_void,
        names: *const *const c_char,
        count: usize,
        level: i32,
        path_id: i32,
        output_names: *mut *mut *mut c_char,
        output_count: *mut usize,
        info: *mut c_void,
        err: *mut *mut c_char,
    );
    fn rocksdb_get_livefiles_storage_info(
        db: *mut rocksdb_t,
        options: *const c_void,
        err: *mut *mut c_char,
    ) -> *mut c_void;
    fn rocksdb_livefiles_storage_info_count(info: *const c_void) -> usize;
    fn rocksdb_livefiles_storage_info_destroy(info: *mut c_void);
    fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const c_void;
    fn rocksdb_livefiles_name(files: *const c_void, at: i32) -> *const c_char;
    fn rocksdb_livefiles_destroy(files: *const c_void);
    fn rocksdb_compactoptions_create() -> *mut c_void;
    fn rocksdb_compactoptions_destroy(options: *mut c_void);
    fn rocksdb_compactoptions_set_bottommost_level_compaction(options: *mut c_void, value: u8);
    fn rocksdb_compact_range_opt(
        db: *mut rocksdb_t,
        options: *mut c_void,
        start: *const c_char,
        start_len: usize,
        limit: *const c_char,
        limit_len: usize,
    );
    fn rocksdb_options_set_comparator(options: *mut rocksdb_options_t, comparator: *mut rocksdb_comparator_t);
}

#[test]
fn null_handle_is_an_error_that_names_the_argument() {
    let (mut error, name) = (null_mut(), CString::new("nowhere").unwrap());
    // SAFETY: null handles are allowed; `name` ends with NUL; `error` is a null pointer in a live place.
    let db = unsafe { rocksdb_open(null(), name.as_ptr(), &raw mut error) };
    assert!(db.is_null());
    assert_eq!(taken(error), "Invalid argument: rocksdb_open: the argument options is null");
}

#[test]
fn setter_keeps_a_number_that_open_rejects_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let name = CString::new(dir.path().join("db").to_str().unwrap()).unwrap();
    let (options, mut error) = (options(), null_mut());
    // SAFETY: `options` is live, `name` ends with NUL, `error` is a null pointer in a live place.
    unsafe {
        rocksdb_options_set_compaction_style(options, 77);
        assert_eq!(rocksdb_options_get_compaction_style(options), 77);
        assert!(rocksdb_open(options, name.as_ptr(), &raw mut error).is_null());
        rocksdb_options_destroy(options);
    }
    assert_eq!(taken(error), "Invalid argument: option compaction_style: 77 is not a value of this option");
}

#[test]
fn open_rejects_a_directory_that_is_not_utf_8_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let (options, mut error) = (options(), null_mut());
    // SAFETY: `options` is live, the strings end with NUL, `error` is a null pointer in a live place.
    unsafe {
        rocksdb_options_set_wal_dir(options, c"/tmp/\xff".as_ptr());
        assert!(rocksdb_open(options, name.as_ptr(), &raw mut error).is_null());
        rocksdb_options_set_wal_dir(options, c"".as_ptr());
        drop(Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err))));
        rocksdb_options_destroy(options);
    }
    assert_eq!(taken(error), "Invalid argument: option wal_dir: the text is not UTF-8");
}

#[test]
fn iterator_outlives_the_close_of_its_database() {
    let dir = tempfile::tempdir().unwrap();
    let name = CString::new(dir.path().join("db").to_str().unwrap()).unwrap();
    let (options, mut error) = (options(), null_mut());
    // SAFETY: all handles are live where they are used; each is destroyed once; `error` is null before each call.
    unsafe {
        let db = rocksdb_open(options, name.as_ptr(), &raw mut error);
        assert!(error.is_null());
        let read = rocksdb_readoptions_create();
        let iter = rocksdb_create_iterator(db, read);
        rocksdb_close(db);
        rocksdb_iter_seek_to_first(iter);
        assert_eq!(rocksdb_iter_valid(iter), 0);
        rocksdb_iter_get_error(iter, &raw mut error);
        rocksdb_iter_destroy(iter);
        rocksdb_readoptions_destroy(read);
        rocksdb_options_destroy(options);
        rocksdb_free(error.cast());
    }
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn count_destruction(_: *mut c_void) {
    DESTROYED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C-unwind" fn equal(
    _: *mut c_void,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
) -> i32 {
    0
}

#[test]
fn destructor_of_a_callback_runs_once_after_its_last_user() {
    // SAFETY: the callbacks ignore their arguments; each handle is destroyed once.
    unsafe {
        let comparator = rocksdb_comparator_create(null_mut(), Some(count_destruction), Some(equal), None);
        let options = options();
        rocksdb_options_set_comparator(options, comparator);
        rocksdb_comparator_destroy(comparator);
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 0);
        rocksdb_options_destroy(options);
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
    }
}

/// Opens a database with file checksums and one SST file.
fn one_file(dir: &std::path::Path) -> Db {
    let path = c_path(&dir.join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let options = options();
        let factory = rocksdb_file_checksum_gen_crc32c_factory_create();
        rocksdb_options_set_file_checksum_gen_factory(options, factory);
        rocksdb_file_checksum_gen_factory_destroy(factory);
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        rocksdb_options_destroy(options);
        db.put("k", &"v".repeat(1000));
        let flush = rocksdb_flushoptions_create();
        ok(|err| rocksdb_flush(db.handle, flush, err));
        rocksdb_flushoptions_destroy(flush);
        db
    }
}

#[test]
fn null_options_are_the_default_options_where_rocksdb_takes_null() {
    let dir = tempfile::tempdir().unwrap();
    let db = one_file(dir.path());
    // SAFETY: all handles are live; null options are allowed; the arrays have one item.
    unsafe {
        ok(|err| rocksdb_verify_checksum_with_options(db.handle, null(), err));
        ok(|err| rocksdb_verify_file_checksums_with_options(db.handle, null(), err));
        let (start, limit, len, mut size) = (c"a".as_ptr(), c"z".as_ptr(), 1, 0);
        ok(|err| {
            let (start, limit, len) = (&raw const start, &raw const limit, &raw const len);
            rocksdb_approximate_sizes_with_options(
                db.handle,
                null(),
                1,
                start,
                len,
                limit,
                len,
                &raw mut size,
                err,
            );
        });
        assert!(size > 0);
        let files = ok(|err| rocksdb_get_livefiles_storage_info(db.handle, null(), err));
        assert!(rocksdb_livefiles_storage_info_count(files) >= 4);
        rocksdb_livefiles_storage_info_destroy(files);
        let files = rocksdb_livefiles(db.handle);
        let name = rocksdb_livefiles_name(files, 0);
        ok(|err| {
            let (nobody, name) = (null_mut(), &raw const name);
            let (names, count, info) = (null_mut(), null_mut(), null_mut());
            rocksdb_compact_files_cf(db.handle, nobody, null(), name, 1, 1, -1, names, count, info, err);
        });
        rocksdb_livefiles_destroy(files);
    }
}

#[test]
fn verification_ends_at_the_deadline_of_its_options() {
    let dir = tempfile::tempdir().unwrap();
    let db = one_file(dir.path());
    for verify in [rocksdb_verify_checksum_with_options, rocksdb_verify_file_checksums_with_options] {
        let mut error = null_mut();
        // SAFETY: the handles are live; `error` is null before the calls.
        unsafe {
            rocksdb_readoptions_set_deadline(db.read, 0);
            ok(|err| verify(db.handle, db.read, err));
            rocksdb_readoptions_set_deadline(db.read, 1);
            verify(db.handle, db.read, &raw mut error);
        }
        let error = taken(error);
        let expected = error.starts_with("Operation timed out: ") && error.contains("Deadline exceeded");
        assert!(expected, "{error}");
    }
}

#[test]
fn failure_of_a_function_without_error_place_is_a_line_of_the_info_log() {
    let dir = tempfile::tempdir().unwrap();
    let db = one_file(dir.path());
    // SAFETY: the handles are live and are destroyed once; null bounds are allowed.
    unsafe {
        let options = rocksdb_compactoptions_create();
        rocksdb_compactoptions_set_bottommost_level_compaction(options, 77);
        rocksdb_compact_range_opt(db.handle, options, null(), 0, null(), 0);
        rocksdb_compactoptions_destroy(options);
    }
    drop(db);
    let log = std::fs::read_to_string(dir.path().join("db/LOG")).unwrap();
    let expected =
        "rocksdb_compact_range_opt failed: Invalid argument: option bottommost_level_compaction: 77";
    assert!(log.contains(expected), "{log}");
}
