//! Null arguments with a meaning: RocksDB takes the defaults, or clears a value.

use std::ffi::c_char;
use std::ptr::null_mut;

use ironstone_c_calls::constants::{PERF_METRICS, TOTAL_METRIC_COUNT};

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_pinnableslice_value(slice: Any, len: *mut usize) -> *const c_char;
    fn rocksdb_pinnable_handle_get_value(handle: Any, len: *mut usize) -> *const c_char;
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: Any,
        len: *mut usize,
    ) -> *const c_char;
    fn rocksdb_flush_wal_with_options(db: *mut rocksdb_t, options: Any, err: *mut *mut c_char);
    fn rocksdb_transactiondb_flush_wal_with_options(db: Any, options: Any, err: *mut *mut c_char);
    fn rocksdb_optimistictransactiondb_open_with_otxn_db_options(
        options: *const rocksdb_options_t,
        transactions: Any,
        name: *const c_char,
        err: *mut *mut c_char,
    ) -> Any;
    fn rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
        options: *const rocksdb_options_t,
        transactions: Any,
        name: *const c_char,
        count: i32,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        err: *mut *mut c_char,
    ) -> Any;
    fn rocksdb_optimistictransactiondb_close(db: Any);
}

#[test]
fn value_of_a_null_handle_is_null_and_has_the_length_0() {
    // SAFETY: the functions accept null handles; the lengths are live places.
    unsafe {
        for value in [
            rocksdb_pinnableslice_value,
            rocksdb_pinnable_handle_get_value,
            rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id,
        ] {
            let mut len = 77;
            assert!(value(null_mut(), &raw mut len).is_null());
            assert_eq!(len, 0);
        }
    }
}

#[test]
fn null_options_of_a_wal_flush_are_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, txn) = (c_path(&dir.path().join("plain")), c_path(&dir.path().join("txn")));
    // SAFETY: all handles are live where they are used; each is destroyed once; null options are allowed.
    unsafe {
        let (options, transactions) = (options(), rocksdb_transactiondb_options_create());
        let db = Db::new(ok(|err| rocksdb_open(options, plain.as_ptr(), err)));
        ok(|err| rocksdb_flush_wal_with_options(db.handle, null_mut(), err));
        let txn_db = ok(|err| rocksdb_transactiondb_open(options, transactions, txn.as_ptr(), err));
        ok(|err| rocksdb_transactiondb_flush_wal_with_options(txn_db, null_mut(), err));
        rocksdb_transactiondb_close(txn_db);
        rocksdb_transactiondb_options_destroy(transactions);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn null_options_of_optimistic_transactions_are_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; null options are allowed.
    unsafe {
        let options = options();
        let db = ok(|err| {
            rocksdb_optimistictransactiondb_open_with_otxn_db_options(options, null_mut(), path.as_ptr(), err)
        });
        rocksdb_optimistictransactiondb_close(db);
        let (name, mut handle) = (c"default".as_ptr(), null_mut());
        let db = ok(|err| {
            rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
                options,
                null_mut(),
                path.as_ptr(),
                1,
                &raw const name,
                &raw const options as *const *const rocksdb_options_t,
                &raw mut handle,
                err,
            )
        });
        rocksdb_column_family_handle_destroy(handle);
        rocksdb_optimistictransactiondb_close(db);
        rocksdb_options_destroy(options);
    }
}

/// A program that is compiled with RocksDB's header may ask for each number below `rocksdb_total_metric_count`.
#[test]
fn header_has_the_total_metric_count_of_rocksdb() {
    let header = include_str!("../../include/rocksdb/c.h");
    assert!(header.contains("rocksdb_total_metric_count = 86,"));
    assert!(PERF_METRICS.len() <= TOTAL_METRIC_COUNT);
}
