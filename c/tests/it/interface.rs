//! The rules of all functions: handles in any order, null pointers, error strings, destructors of callbacks.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use ironstone_c::comparator::{rocksdb_comparator_create, rocksdb_comparator_destroy, rocksdb_comparator_t};

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_options_set_compaction_style(options: *mut rocksdb_options_t, value: i32);
    fn rocksdb_options_get_compaction_style(options: *const rocksdb_options_t) -> i32;
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

unsafe extern "C" fn count_destruction(_: *mut c_void) {
    DESTROYED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn equal(_: *mut c_void, _: *const c_char, _: usize, _: *const c_char, _: usize) -> i32 {
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
