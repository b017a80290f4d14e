//! The C functions that the tests call, and helpers: options, databases, error strings.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

pub use ironstone_c_calls::db::{rocksdb_column_family_handle_t, rocksdb_t};
pub use ironstone_c_calls::options::{rocksdb_options_create, rocksdb_options_destroy, rocksdb_options_t};

/// A handle whose type the test does not need.
pub type Any = *mut c_void;
pub type Family = *mut rocksdb_column_family_handle_t;

unsafe extern "C" {
    pub fn rocksdb_options_set_create_if_missing(options: *mut rocksdb_options_t, value: u8);
    pub fn rocksdb_options_set_create_missing_column_families(options: *mut rocksdb_options_t, value: u8);
    pub fn rocksdb_open(
        options: *const rocksdb_options_t,
        name: *const c_char,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_with_ttl(
        options: *const rocksdb_options_t,
        name: *const c_char,
        ttl: i32,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_open_as_secondary_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        secondary_path: *const c_char,
        count: i32,
        names: *const *const c_char,
        family_options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_t;
    pub fn rocksdb_try_catch_up_with_primary(db: *mut rocksdb_t, err: *mut *mut c_char);
    pub fn rocksdb_close(db: *mut rocksdb_t);
    pub fn rocksdb_create_column_family(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_create_column_family_with_ttl(
        db: *mut rocksdb_t,
        options: *const rocksdb_options_t,
        name: *const c_char,
        ttl: i32,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_column_family_handle_t;
    pub fn rocksdb_drop_column_family(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_create_iterator_cf(
        db: *mut rocksdb_t,
        options: *const c_void,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut c_void;
    pub fn rocksdb_writebatch_wi_create(reserved_bytes: usize, overwrite_keys: u8) -> *mut c_void;
    pub fn rocksdb_writebatch_wi_destroy(batch: *mut c_void);
    pub fn rocksdb_writebatch_wi_put(
        batch: *mut c_void,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    pub fn rocksdb_writebatch_wi_get_from_batch_and_db(
        batch: *mut c_void,
        db: *mut rocksdb_t,
        options: *const c_void,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_writebatch_wi_create_iterator_with_base(
        batch: *mut c_void,
        base: *mut c_void,
    ) -> *mut c_void;
    pub fn rocksdb_write_writebatch_wi(
        db: *mut rocksdb_t,
        options: *const c_void,
        batch: *mut c_void,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_column_family_handle_destroy(handle: *mut rocksdb_column_family_handle_t);
    pub fn rocksdb_writeoptions_create() -> *mut c_void;
    pub fn rocksdb_writeoptions_destroy(options: *mut c_void);
    pub fn rocksdb_readoptions_create() -> *mut c_void;
    pub fn rocksdb_readoptions_destroy(options: *mut c_void);
    pub fn rocksdb_put_cf(
        db: *mut rocksdb_t,
        options: *const c_void,
        family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_put(
        db: *mut rocksdb_t,
        options: *const c_void,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_get_cf(
        db: *mut rocksdb_t,
        options: *const c_void,
        family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_get(
        db: *mut rocksdb_t,
        options: *const c_void,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        err: *mut *mut c_char,
    ) -> *mut c_char;
    pub fn rocksdb_create_iterator(db: *mut rocksdb_t, options: *const c_void) -> *mut c_void;
    pub fn rocksdb_iter_seek_to_first(iter: *mut c_void);
    pub fn rocksdb_iter_valid(iter: *const c_void) -> u8;
    pub fn rocksdb_iter_value(iter: *const c_void, len: *mut usize) -> *const c_char;
    pub fn rocksdb_iter_get_error(iter: *const c_void, err: *mut *mut c_char);
    pub fn rocksdb_iter_destroy(iter: *mut c_void);
    pub fn rocksdb_free(memory: *mut c_void);
    pub fn rocksdb_start_trace(
        db: *mut rocksdb_t,
        env: *mut c_void,
        env_options: *const c_void,
        options: *const c_void,
        trace_path: *const c_char,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_start_io_trace(
        db: *mut rocksdb_t,
        env: *mut c_void,
        env_options: *const c_void,
        options: *const c_void,
        trace_path: *const c_char,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_start_block_cache_trace(
        db: *mut rocksdb_t,
        env: *mut c_void,
        env_options: *const c_void,
        options: *const c_void,
        trace_path: *const c_char,
        err: *mut *mut c_char,
    );
    pub fn rocksdb_end_trace(db: *mut rocksdb_t, err: *mut *mut c_char);
    pub fn rocksdb_transactiondb_options_create() -> Any;
    pub fn rocksdb_transactiondb_options_destroy(options: Any);
    pub fn rocksdb_transactiondb_open(
        options: *const rocksdb_options_t,
        transactions: Any,
        name: *const c_char,
        err: *mut *mut c_char,
    ) -> Any;
    pub fn rocksdb_transactiondb_close(db: Any);
    pub fn rocksdb_transaction_options_create() -> Any;
    pub fn rocksdb_transaction_options_destroy(options: Any);
    pub fn rocksdb_transaction_begin(db: Any, write: Any, options: Any, old: Any) -> Any;
    pub fn rocksdb_transaction_destroy(txn: Any);
    pub fn rocksdb_flushoptions_create() -> *mut c_void;
    pub fn rocksdb_flushoptions_destroy(options: *mut c_void);
    pub fn rocksdb_flush(db: *mut rocksdb_t, options: *const c_void, err: *mut *mut c_char);
    pub fn rocksdb_property_int(db: *mut rocksdb_t, name: *const c_char, value: *mut u64) -> c_int;
    pub fn rocksdb_block_based_options_create() -> *mut c_void;
    pub fn rocksdb_block_based_options_destroy(options: *mut c_void);
    pub fn rocksdb_options_set_block_based_table_factory(options: *mut rocksdb_options_t, table: *mut c_void);
    pub fn rocksdb_options_set_wal_dir(options: *mut rocksdb_options_t, dir: *const c_char);
    pub fn rocksdb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const *const rocksdb_options_t,
        handles: *mut Family,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_t;
}

/// Takes an error string and frees it.
pub fn taken(error: *mut c_char) -> String {
    assert!(!error.is_null(), "no error was reported");
    // SAFETY: the library returned a string that ends with NUL, and `rocksdb_free` frees such strings.
    unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        rocksdb_free(error.cast());
        text
    }
}

/// Runs a call that takes an error place, and fails the test with the error string.
pub fn ok<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> T {
    let mut error = null_mut();
    let result = call(&raw mut error);
    assert!(error.is_null(), "{}", taken(error));
    result
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Options that create the database and its column families.
pub fn options() -> *mut rocksdb_options_t {
    // SAFETY: the functions have no precondition but a live handle.
    unsafe {
        let options = rocksdb_options_create();
        rocksdb_options_set_create_if_missing(options, 1);
        rocksdb_options_set_create_missing_column_families(options, 1);
        options
    }
}

/// An open database with default options for writes and reads. The drop closes the database.
pub struct Db {
    pub handle: *mut rocksdb_t,
    pub write: *mut c_void,
    pub read: *mut c_void,
}

impl Db {
    pub fn new(handle: *mut rocksdb_t) -> Db {
        // SAFETY: the functions have no precondition.
        let (write, read) = unsafe { (rocksdb_writeoptions_create(), rocksdb_readoptions_create()) };
        Db { handle, write, read }
    }

    pub fn put(&self, key: &str, value: &str) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the handles are live; the pointers have as many readable bytes as their lengths say.
        ok(|err| unsafe { rocksdb_put(self.handle, self.write, k, key.len(), v, value.len(), err) });
    }

    pub fn put_cf(&self, family: *mut rocksdb_column_family_handle_t, key: &str, value: &str) {
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: as for `put`.
        ok(|err| unsafe {
            rocksdb_put_cf(self.handle, self.write, family, k, key.len(), v, value.len(), err);
        });
    }

    pub fn get(&self, key: &str) -> Option<String> {
        let mut len = 0;
        // SAFETY: the handles are live; `key` has `key.len()` readable bytes; `len` is a live place.
        let value = ok(|err| unsafe {
            rocksdb_get(self.handle, self.read, key.as_ptr().cast(), key.len(), &raw mut len, err)
        });
        // SAFETY: the library returned null, or a buffer of `len` bytes.
        unsafe { copied(value, len) }
    }

    pub fn get_cf(
        &self,
        family: *mut rocksdb_column_family_handle_t,
        key: &str,
    ) -> Result<Option<String>, String> {
        let (mut len, mut error) = (0, null_mut());
        // SAFETY: as for `get`.
        unsafe {
            let (k, e) = (key.as_ptr().cast(), &raw mut error);
            let value = rocksdb_get_cf(self.handle, self.read, family, k, key.len(), &raw mut len, e);
            if error.is_null() { Ok(copied(value, len)) } else { Err(taken(error)) }
        }
    }
}

/// Copies a returned buffer and frees it.
///
/// # Safety
/// `value` is null, or a buffer of `len` bytes from the library.
pub unsafe fn copied(value: *mut c_char, len: usize) -> Option<String> {
    if value.is_null() {
        return None;
    }
    // SAFETY: the buffer has `len` bytes and comes from the library, by the contract.
    unsafe {
        let text = String::from_utf8_lossy(std::slice::from_raw_parts(value.cast(), len)).into_owned();
        rocksdb_free(value.cast());
        Some(text)
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: the handles are live and are not used again.
        unsafe {
            rocksdb_close(self.handle);
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_readoptions_destroy(self.read);
        }
    }
}
