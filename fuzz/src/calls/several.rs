//! Calls for several keys: range deletions, multi-gets, and transactions of a database of their own.

use std::ffi::c_char;
use std::ptr::null_mut;

use super::{
    Any, CallRun, Err, Input, call, copied, rocksdb_free, rocksdb_pinnableslice_destroy,
    rocksdb_pinnableslice_value,
};

/// The most keys of a multi-get.
const KEYS: usize = 4;

unsafe extern "C" {
    fn rocksdb_delete_range_cf(
        db: Any,
        options: Any,
        family: Any,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
        err: Err,
    );
    fn rocksdb_multi_get_cf(
        db: Any,
        options: Any,
        families: *const Any,
        count: usize,
        keys: *const *const c_char,
        lens: *const usize,
        values: *mut *mut c_char,
        value_lens: *mut usize,
        errors: *mut *mut c_char,
    );
    fn rocksdb_batched_multi_get_cf(
        db: Any,
        options: Any,
        family: Any,
        count: usize,
        keys: *const *const c_char,
        lens: *const usize,
        values: *mut Any,
        errors: *mut *mut c_char,
        sorted: bool,
    );
    fn rocksdb_transactiondb_options_create() -> Any;
    fn rocksdb_transactiondb_options_destroy(options: Any);
    fn rocksdb_transactiondb_open(options: Any, own: Any, name: *const c_char, err: Err) -> Any;
    fn rocksdb_transactiondb_close(db: Any);
    fn rocksdb_transactiondb_get(
        db: Any,
        options: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        err: Err,
    ) -> *mut c_char;
    fn rocksdb_transaction_options_create() -> Any;
    fn rocksdb_transaction_options_destroy(options: Any);
    fn rocksdb_transaction_begin(db: Any, write: Any, own: Any, old: Any) -> Any;
    fn rocksdb_transaction_destroy(transaction: Any);
    fn rocksdb_transaction_put(
        transaction: Any,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: Err,
    );
    fn rocksdb_transaction_delete(transaction: Any, key: *const c_char, len: usize, err: Err);
    fn rocksdb_transaction_commit(transaction: Any, err: Err);
    fn rocksdb_transaction_rollback(transaction: Any, err: Err);
    fn rocksdb_transaction_set_savepoint(transaction: Any);
    fn rocksdb_transaction_rollback_to_savepoint(transaction: Any, err: Err);
}

/// Takes the error of one key. Returns whether there is an error.
///
/// # Safety
/// `error` is null, or a string of the library that the caller frees.
unsafe fn failed(error: *mut c_char) -> bool {
    // SAFETY: the contract of this function. The call writes the error to the place of `call`.
    let ((), failed) = call(|place| unsafe { *place = error });
    failed
}

impl CallRun {
    /// Deletes the keys of a range. A range with its end before its start is an error.
    pub(super) fn delete_range(&mut self, input: &mut Input<'_>) {
        let (db, from, family, fits) = self.target(input);
        let (start, end) = (input.bytes(2), input.bytes(2));
        let (s, e) = (start.as_ptr().cast(), end.as_ptr().cast());
        // SAFETY: the handles are null or live; the pointers have as many readable bytes as their lengths say.
        let ((), failed) = call(|err| unsafe {
            rocksdb_delete_range_cf(db, self.write, family.handle, s, start.len(), e, end.len(), err);
        });
        assert_eq!(failed, !fits || start > end, "a range of a database with its column family is deleted");
        if !failed {
            let entries = &mut self.sides[from.side].model[family.family];
            entries.retain(|key, _| &key[..] < start || &key[..] >= end);
        }
    }

    /// Reads several keys of one column family.
    pub(super) fn multi_get(&mut self, input: &mut Input<'_>, batched: bool) {
        let (db, from, family, fits) = self.target(input);
        let keys: Vec<&[u8]> = (0..input.below(KEYS + 1)).map(|_| input.bytes(2)).collect();
        let (count, families) = (keys.len(), [family.handle; KEYS]);
        let pointers: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lens: Vec<usize> = keys.iter().map(|key| key.len()).collect();
        let (mut values, mut value_lens) = ([null_mut::<c_char>(); KEYS], [0; KEYS]);
        let (mut slices, mut errors) = ([null_mut(); KEYS], [null_mut(); KEYS]);
        let (p, l, f) = (pointers.as_ptr(), lens.as_ptr(), families.as_ptr());
        let (v, n, s, e) =
            (values.as_mut_ptr(), value_lens.as_mut_ptr(), slices.as_mut_ptr(), errors.as_mut_ptr());
        // SAFETY: the handles are null or live; each array has a place for each key.
        unsafe {
            match batched {
                true => rocksdb_batched_multi_get_cf(db, self.read, family.handle, count, p, l, s, e, false),
                false => rocksdb_multi_get_cf(db, self.read, f, count, p, l, v, n, e),
            }
        }
        for (at, &key) in keys.iter().enumerate() {
            // SAFETY: the library wrote null or a buffer or a live slice for each key. This loop frees each of them once.
            let (found, failed) = unsafe {
                let found = match slices[at].is_null() {
                    true => copied(values[at], value_lens[at]),
                    false => {
                        let mut len = 0;
                        let value = rocksdb_pinnableslice_value(slices[at], &raw mut len);
                        copied(value, len)
                    }
                };
                rocksdb_free(values[at].cast());
                rocksdb_pinnableslice_destroy(slices[at]);
                (found, failed(errors[at]))
            };
            assert_eq!(failed, !fits, "a multi-get with handles that fit succeeds, all others fail");
            let model = &self.sides[from.side].model[family.family];
            assert!(!fits || found.as_ref() == model.get(key), "another value than the model's");
        }
    }

    /// Runs one transaction in a database of its own: puts, deletions, a save point, and a commit or a rollback.
    pub(super) fn transact(&mut self, input: &mut Input<'_>) {
        let key = input.bytes(2);
        let (value, choice) = (input.bytes(20), input.byte());
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        let (saves, deletes, commits, closes_first) =
            (choice & 1 != 0, choice & 2 != 0, choice & 4 != 0, choice & 8 != 0);
        // SAFETY: all handles are live where they are used, but for a transaction after the close of its database, which the
        // library accepts; each handle is destroyed once; the pointers have as many bytes as their lengths say.
        unsafe {
            let own = rocksdb_transactiondb_options_create();
            let path = c"/transactions".as_ptr();
            let (db, refused) = call(|err| rocksdb_transactiondb_open(self.options, own, path, err));
            assert!(!refused && !db.is_null(), "a database with transactions does not open");
            let options = rocksdb_transaction_options_create();
            let read = |len: *mut usize| {
                let (value, failed) =
                    call(|err| rocksdb_transactiondb_get(db, self.read, k, key.len(), len, err));
                assert!(!failed, "a read of a database with transactions fails");
                let found = copied(value, *len);
                rocksdb_free(value.cast());
                found
            };
            let mut len = 0;
            let before = read(&raw mut len);
            let transaction = rocksdb_transaction_begin(db, self.write, options, null_mut());
            let mut put =
                call(|err| rocksdb_transaction_put(transaction, k, key.len(), v, value.len(), err)).1;
            if saves {
                rocksdb_transaction_set_savepoint(transaction);
            }
            if deletes {
                put |= call(|err| rocksdb_transaction_delete(transaction, k, key.len(), err)).1;
            }
            if saves {
                put |= call(|err| rocksdb_transaction_rollback_to_savepoint(transaction, err)).1;
            }
            assert!(!put, "a change of a transaction without conflicts fails");
            if closes_first {
                rocksdb_transactiondb_close(db);
                // The outcome is an error or the work of a database that the transaction keeps open.
                let _ = call(|err| rocksdb_transaction_commit(transaction, err));
            } else {
                let (name, ended) = match commits {
                    true => ("commit", call(|err| rocksdb_transaction_commit(transaction, err)).1),
                    false => ("rollback", call(|err| rocksdb_transaction_rollback(transaction, err)).1),
                };
                assert!(!ended, "a {name} without conflicts fails");
                let expected = match (commits, deletes && !saves) {
                    (false, _) => before,
                    (true, true) => None,
                    (true, false) => Some(value.to_vec()),
                };
                assert_eq!(read(&raw mut len), expected, "another value than the model's");
                rocksdb_transactiondb_close(db);
            }
            rocksdb_transaction_destroy(transaction);
            rocksdb_transaction_options_destroy(options);
            rocksdb_transactiondb_options_destroy(own);
        }
    }
}
