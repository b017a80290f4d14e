//! Lengths of values that are not returned.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_readoptions_set_timestamp(options: Any, timestamp: *const c_char, len: usize);
    fn rocksdb_get_with_ts(
        db: *mut rocksdb_t,
        options: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        timestamp: *mut *mut c_char,
        timestamp_len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_get_cf_with_ts(
        db: *mut rocksdb_t,
        options: Any,
        family: Family,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        timestamp: *mut *mut c_char,
        timestamp_len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_get_into_buffer(
        db: *mut rocksdb_t,
        options: Any,
        key: *const c_char,
        key_len: usize,
        buffer: *mut c_char,
        size: usize,
        len: *mut usize,
        found: *mut u8,
        err: *mut *mut c_char,
    ) -> u8;
    fn rocksdb_get_into_buffer_cf(
        db: *mut rocksdb_t,
        options: Any,
        family: Family,
        key: *const c_char,
        key_len: usize,
        buffer: *mut c_char,
        size: usize,
        len: *mut usize,
        found: *mut u8,
        err: *mut *mut c_char,
    ) -> u8;
    fn rocksdb_get_full_history_ts_low(
        db: *mut rocksdb_t,
        family: Family,
        len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        batch: Any,
        db: *mut rocksdb_t,
        options: Any,
        family: Family,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_transactiondb_get(
        db: Any,
        options: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_transaction_get(
        txn: Any,
        options: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    fn rocksdb_transaction_get_for_update(
        txn: Any,
        options: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        exclusive: u8,
        err: *mut *mut c_char,
    ) -> *mut c_char;
}

/// Runs a read that must fail, and checks that the read set the length to 0.
fn fails(name: &str, read: impl FnOnce(*mut usize, *mut *mut c_char)) {
    let (mut len, mut error) = (77, null_mut());
    read(&raw mut len, &raw mut error);
    assert!(!error.is_null(), "{name} reported no error");
    taken(error);
    assert_eq!(len, 0, "{name}");
}

/// Read options with a timestamp. A read of a column family without timestamps fails with these options.
fn stamped() -> Any {
    // SAFETY: the library copies the eight bytes.
    unsafe {
        let options = rocksdb_readoptions_create();
        rocksdb_readoptions_set_timestamp(options, c"12345678".as_ptr(), 8);
        options
    }
}

#[test]
fn reads_that_fail_return_the_length_0() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; places are live.
    unsafe {
        let (options, read) = (options(), stamped());
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        let family = ok(|err| rocksdb_create_column_family(db.handle, options, c"users".as_ptr(), err));
        let (key, handle) = (c"k".as_ptr(), db.handle);
        let (mut timestamp, mut found) = (null_mut(), 77);
        let (timestamp, found) = (&raw mut timestamp, &raw mut found);
        fails("get", |len, err| no_value(rocksdb_get(handle, read, key, 1, len, err)));
        fails("get_cf", |len, err| no_value(rocksdb_get_cf(handle, read, family, key, 1, len, err)));
        for of_timestamp in [false, true] {
            let mut other = 0;
            let other = &raw mut other;
            let places = |len| if of_timestamp { (other, len) } else { (len, other) };
            fails("get_with_ts", |len, err| {
                let (value, stamp) = places(len);
                no_value(rocksdb_get_with_ts(handle, read, key, 1, value, timestamp, stamp, err));
            });
            fails("get_cf_with_ts", |len, err| {
                let (value, stamp) = places(len);
                no_value(rocksdb_get_cf_with_ts(handle, read, family, key, 1, value, timestamp, stamp, err));
            });
        }
        fails("get_into_buffer", |len, err| {
            assert_eq!(rocksdb_get_into_buffer(handle, read, key, 1, null_mut(), 0, len, found, err), 0);
        });
        fails("get_into_buffer_cf", |len, err| {
            let copied =
                rocksdb_get_into_buffer_cf(handle, read, family, key, 1, null_mut(), 0, len, found, err);
            assert_eq!(copied, 0);
        });
        fails("get_full_history_ts_low", |len, err| {
            no_value(rocksdb_get_full_history_ts_low(handle, family, len, err));
        });
        let batch = rocksdb_writebatch_wi_create(0, 1);
        fails("get_from_batch_and_db", |len, err| {
            no_value(rocksdb_writebatch_wi_get_from_batch_and_db(batch, handle, read, key, 1, len, err));
        });
        fails("get_from_batch_and_db_cf", |len, err| {
            no_value(rocksdb_writebatch_wi_get_from_batch_and_db_cf(
                batch, handle, read, family, key, 1, len, err,
            ));
        });
        rocksdb_writebatch_wi_destroy(batch);
        rocksdb_column_family_handle_destroy(family);
        rocksdb_readoptions_destroy(read);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn reads_of_transactions_that_fail_return_the_length_0() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; places are live.
    unsafe {
        let (options, read, write) = (options(), stamped(), rocksdb_writeoptions_create());
        let transactions = rocksdb_transactiondb_options_create();
        let db = ok(|err| rocksdb_transactiondb_open(options, transactions, path.as_ptr(), err));
        let of_txn = rocksdb_transaction_options_create();
        let txn = rocksdb_transaction_begin(db, write, of_txn, null_mut());
        let key = c"k".as_ptr();
        fails("transactiondb_get", |len, err| {
            no_value(rocksdb_transactiondb_get(db, read, key, 1, len, err));
        });
        fails("transaction_get", |len, err| {
            no_value(rocksdb_transaction_get(txn, read, key, 1, len, err));
        });
        fails("transaction_get_for_update", |len, err| {
            no_value(rocksdb_transaction_get_for_update(txn, read, key, 1, len, 1, err));
        });
        rocksdb_transaction_destroy(txn);
        rocksdb_transactiondb_close(db);
        rocksdb_transaction_options_destroy(of_txn);
        rocksdb_transactiondb_options_destroy(transactions);
        rocksdb_writeoptions_destroy(write);
        rocksdb_readoptions_destroy(read);
        rocksdb_options_destroy(options);
    }
}

/// Checks that a read that failed returned no value.
fn no_value(value: *mut c_char) {
    assert!(value.is_null());
}
