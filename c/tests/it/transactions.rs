//! Locks of transactions.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_transactiondb_create_column_family(
        db: Any,
        options: *const rocksdb_options_t,
        name: *const c_char,
        err: *mut *mut c_char,
    ) -> Family;
    fn rocksdb_transaction_options_set_lock_timeout(options: Any, milliseconds: i64);
    fn rocksdb_transaction_put_cf(
        txn: Any,
        family: Family,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
    fn rocksdb_transaction_put(
        txn: Any,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
    fn rocksdb_transaction_multi_get_for_update(
        txn: Any,
        options: Any,
        count: usize,
        keys: *const *const c_char,
        lens: *const usize,
        values: *mut *mut c_char,
        value_lens: *mut usize,
        errors: *mut *mut c_char,
    );
    fn rocksdb_transaction_multi_get_for_update_cf(
        txn: Any,
        options: Any,
        families: *const Family,
        count: usize,
        keys: *const *const c_char,
        lens: *const usize,
        values: *mut *mut c_char,
        value_lens: *mut usize,
        errors: *mut *mut c_char,
    );
}

/// Runs a read for update of the keys `a`, `b` and `c` while another transaction holds the lock of `b`. Checks that `a` is
/// locked afterwards, that `c` is not, and that each key has the error of `b`.
fn check_read_for_update(by_family: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; arrays have the passed lengths.
    unsafe {
        let (options, transactions) = (options(), rocksdb_transactiondb_options_create());
        let db = ok(|err| rocksdb_transactiondb_open(options, transactions, path.as_ptr(), err));
        let family =
            ok(|err| rocksdb_transactiondb_create_column_family(db, options, c"users".as_ptr(), err));
        let (write, read) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
        let of_txn = rocksdb_transaction_options_create();
        rocksdb_transaction_options_set_lock_timeout(of_txn, 0);
        let holder = rocksdb_transaction_begin(db, write, of_txn, null_mut());
        let reader = rocksdb_transaction_begin(db, write, of_txn, null_mut());
        let put = |key: *const c_char| {
            let mut error = null_mut();
            if by_family {
                rocksdb_transaction_put_cf(holder, family, key, 1, key, 1, &raw mut error);
            } else {
                rocksdb_transaction_put(holder, key, 1, key, 1, &raw mut error);
            }
            if error.is_null() { Ok(()) } else { Err(taken(error)) }
        };
        put(c"b".as_ptr()).unwrap();

        let (keys, lens) = ([c"a".as_ptr(), c"b".as_ptr(), c"c".as_ptr()], [1; 3]);
        let (mut values, mut value_lens, mut errors) = ([null_mut(); 3], [77; 3], [null_mut(); 3]);
        let (values_at, lens_at, errors_at) =
            (values.as_mut_ptr(), value_lens.as_mut_ptr(), errors.as_mut_ptr());
        let (keys, lens) = (keys.as_ptr(), lens.as_ptr());
        if by_family {
            let families = [family; 3];
            rocksdb_transaction_multi_get_for_update_cf(
                reader,
                read,
                families.as_ptr(),
                3,
                keys,
                lens,
                values_at,
                lens_at,
                errors_at,
            );
        } else {
            rocksdb_transaction_multi_get_for_update(
                reader, read, 3, keys, lens, values_at, lens_at, errors_at,
            );
        }
        assert_eq!((values, value_lens), ([null_mut(); 3], [0; 3]));
        let errors = errors.map(taken);
        assert_eq!((&errors[0], &errors[2]), (&errors[1], &errors[1]));
        put(c"a".as_ptr()).unwrap_err();
        put(c"c".as_ptr()).unwrap();

        rocksdb_transaction_destroy(reader);
        rocksdb_transaction_destroy(holder);
        rocksdb_column_family_handle_destroy(family);
        rocksdb_transactiondb_close(db);
        rocksdb_transaction_options_destroy(of_txn);
        rocksdb_transactiondb_options_destroy(transactions);
        rocksdb_writeoptions_destroy(write);
        rocksdb_readoptions_destroy(read);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn a_read_of_several_keys_for_update_stops_at_the_first_key_that_it_cannot_lock() {
    check_read_for_update(false);
}

#[test]
fn a_read_of_several_families_for_update_stops_at_the_first_key_that_it_cannot_lock() {
    check_read_for_update(true);
}
