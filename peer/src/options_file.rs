//! The strict reading of OPTIONS files by any release from 7.5 on.
//!
//! The library of another release has other functions than the table of this crate. So this file looks up only the
//! function that loads options. The libraries are in the Java packages `rocksdbjni`.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

use crate::library::Result;

type Create = unsafe extern "C" fn() -> *mut c_void;
type CreateCache = unsafe extern "C" fn(usize) -> *mut c_void;
type Load = unsafe extern "C" fn(
    *const c_char,
    *mut c_void,
    bool,
    *mut c_void,
    *mut *mut c_void,
    *mut usize,
    *mut *mut *mut c_char,
    *mut *mut *mut c_void,
    *mut *mut c_char,
);

/// Loads the newest OPTIONS file of a database with a library of RocksDB, and rejects unknown options. Returns the number
/// of column families. The loaded options are never freed.
///
/// # Errors
/// The error text of the loader or of RocksDB.
pub fn load_latest_options(library: &Path, database: &Path) -> Result<usize> {
    let words = |e: libloading::Error| format!("{}: {e}", library.display());
    let path = CString::new(database.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the caller names a RocksDB library, and the initialisers of RocksDB only set up its own statics.
    let library = unsafe { libloading::Library::new(library) }.map_err(words)?;
    // SAFETY: all releases from 7.5 on declare the function `rocksdb_create_default_env` with this signature.
    let create_env = *unsafe { library.get::<Create>(b"rocksdb_create_default_env\0") }.map_err(words)?;
    // SAFETY: all releases from 7.5 on declare the function `rocksdb_cache_create_lru` with this signature.
    let create_cache =
        *unsafe { library.get::<CreateCache>(b"rocksdb_cache_create_lru\0") }.map_err(words)?;
    // SAFETY: all releases from 7.5 on declare the function `rocksdb_load_latest_options` with this signature.
    let load = *unsafe { library.get::<Load>(b"rocksdb_load_latest_options\0") }.map_err(words)?;
    // RocksDB's threads run until the process ends, so the library stays loaded.
    std::mem::forget(library);
    let (mut families, mut error) = (0, std::ptr::null_mut());
    let mut options = [std::ptr::null_mut(); 1];
    let (mut names, mut family_options) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `path` ends with a zero byte and outlives the call. The environment and the cache are new objects of this
    // library. Each result pointer points to a local variable of its type. The function keeps none of the pointers.
    unsafe {
        load(
            path.as_ptr(),
            create_env(),
            false,
            create_cache(1 << 20),
            options.as_mut_ptr(),
            &raw mut families,
            &raw mut names,
            &raw mut family_options,
            &raw mut error,
        );
    }
    if error.is_null() {
        return Ok(families);
    }
    // SAFETY: an error of the library is a string with a zero byte at its end. It is never freed.
    Err(unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned())
}
