//! Databases under the library of any release from 7.5 on: the rows that the release reads, and a write by the release.
//!
//! The library of another release has other functions than the table of this crate. So this file looks up the few
//! functions of [`visit`]. Their signatures are the same in all releases from 7.5 on. The libraries are in the Java
//! packages `rocksdbjni`.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::path::Path;

use crate::library::{Result, copy};

type Raw = *mut c_void;
type Create = unsafe extern "C" fn() -> Raw;
type Free = unsafe extern "C" fn(Raw);
type ErrorSlot = *mut *mut c_char;
type Load = unsafe extern "C" fn(
    *const c_char,
    Raw,
    bool,
    Raw,
    *mut Raw,
    *mut usize,
    *mut *mut *mut c_char,
    *mut *mut Raw,
    ErrorSlot,
);
type Open = unsafe extern "C" fn(
    Raw,
    *const c_char,
    i32,
    *const *const c_char,
    *const Raw,
    *mut Raw,
    ErrorSlot,
) -> Raw;
type Piece = unsafe extern "C" fn(Raw, *mut usize) -> *const c_char;
type Put = unsafe extern "C" fn(Raw, Raw, Raw, *const c_char, usize, *const c_char, usize, ErrorSlot);

/// The rows of each column family.
pub type Rows = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

/// A loaded library. It is never unloaded, because RocksDB's threads run until the process ends.
struct Loaded(&'static libloading::Library);

impl Loaded {
    fn function<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: each caller names a function of RocksDB's C interface with the signature of `T`.
        let found = unsafe { self.0.get::<T>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|e| format!("{name}: {e}"))
    }
}

/// Makes a call of the library, and returns its error as text. The string of the library is never freed.
fn checked<T>(call: impl FnOnce(ErrorSlot) -> T) -> Result<T> {
    let mut error = std::ptr::null_mut();
    let answer = call(&raw mut error);
    if error.is_null() {
        return Ok(answer);
    }
    // SAFETY: an error of the library is a string with a zero byte at its end.
    Err(unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned())
}

/// Opens a database with a release and with the options of the newest OPTIONS file, and rejects unknown options. Reads all
/// rows, then puts `row` into each column family, and closes the database. The options and the names are never freed.
///
/// # Errors
/// The error text of the loader or of RocksDB.
pub fn visit(library: &Path, database: &Path, row: (&[u8], &[u8])) -> Result<Rows> {
    // SAFETY: the caller names a RocksDB library, and the initialisers of RocksDB only set up its own statics.
    let loaded = unsafe { libloading::Library::new(library) };
    let loaded = loaded.map_err(|e| format!("{}: {e}", library.display()))?;
    let loaded = Loaded(Box::leak(Box::new(loaded)));
    let path = CString::new(database.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
    let create_env: Create = loaded.function("rocksdb_create_default_env")?;
    let create_cache: unsafe extern "C" fn(usize) -> Raw = loaded.function("rocksdb_cache_create_lru")?;
    let load: Load = loaded.function("rocksdb_load_latest_options")?;
    let open: Open = loaded.function("rocksdb_open_column_families")?;
    let close: Free = loaded.function("rocksdb_close")?;
    let forget: Free = loaded.function("rocksdb_column_family_handle_destroy")?;
    let (mut options, mut count) = (std::ptr::null_mut(), 0usize);
    let (mut names, mut family_options) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `path` ends with a zero byte and outlives the call. The environment and the cache are new objects of this
    // library. Each result pointer points to a local variable of its type. The function keeps none of the pointers.
    checked(|error| unsafe {
        load(
            path.as_ptr(),
            create_env(),
            false,
            create_cache(1 << 20),
            &raw mut options,
            &raw mut count,
            &raw mut names,
            &raw mut family_options,
            error,
        )
    })?;
    // SAFETY: the library returned `count` names, which end with a zero byte and are never freed.
    let texts: Vec<String> = (0..count)
        .map(|at| unsafe { CStr::from_ptr(*names.add(at)) }.to_string_lossy().into_owned())
        .collect();
    let mut handles = vec![std::ptr::null_mut(); count];
    // SAFETY: the options, the names and the options of the families come from the library and are alive. There is room
    // for `count` handles.
    let db = checked(|error| unsafe {
        let names = names.cast_const().cast::<*const c_char>();
        open(options, path.as_ptr(), count as i32, names, family_options, handles.as_mut_ptr(), error)
    })?;
    let visited = texts.into_iter().zip(&handles).map(|(name, handle)| {
        let rows =
            rows_of(&loaded, db, *handle).and_then(|rows| put(&loaded, db, *handle, row).map(|()| rows));
        rows.map(|rows| (name.clone(), rows)).map_err(|words| format!("{name}: {words}"))
    });
    let rows = visited.collect();
    for handle in handles {
        // SAFETY: each handle is destroyed once, before the database is closed.
        unsafe { forget(handle) };
    }
    // SAFETY: the database is open, and no handle or iterator exists.
    unsafe { close(db) };
    rows
}

fn rows_of(loaded: &Loaded, db: Raw, family: Raw) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let create_options: Create = loaded.function("rocksdb_readoptions_create")?;
    let create: unsafe extern "C" fn(Raw, Raw, Raw) -> Raw = loaded.function("rocksdb_create_iterator_cf")?;
    let first: Free = loaded.function("rocksdb_iter_seek_to_first")?;
    let next: Free = loaded.function("rocksdb_iter_next")?;
    let valid: unsafe extern "C" fn(Raw) -> c_uchar = loaded.function("rocksdb_iter_valid")?;
    let key: Piece = loaded.function("rocksdb_iter_key")?;
    let value: Piece = loaded.function("rocksdb_iter_value")?;
    let status: unsafe extern "C" fn(Raw, ErrorSlot) = loaded.function("rocksdb_iter_get_error")?;
    let destroy: Free = loaded.function("rocksdb_iter_destroy")?;
    // SAFETY: the database and the column family are open; the read options are new and are never freed.
    let iter = unsafe { create(db, create_options(), family) };
    let piece = |of: Piece| {
        let mut len = 0;
        // SAFETY: the iterator is alive and valid, and the bytes stay until it moves.
        unsafe { copy(of(iter, &raw mut len), len) }
    };
    let mut rows = Vec::new();
    // SAFETY: the iterator is alive.
    unsafe { first(iter) };
    // SAFETY: the iterator is alive.
    while unsafe { valid(iter) } != 0 {
        rows.push((piece(key), piece(value)));
        // SAFETY: the iterator is alive and valid.
        unsafe { next(iter) };
    }
    // SAFETY: the iterator is alive.
    let ended = checked(|error| unsafe { status(iter, error) });
    // SAFETY: the iterator is destroyed once.
    unsafe { destroy(iter) };
    ended.map(|()| rows)
}

fn put(loaded: &Loaded, db: Raw, family: Raw, (key, value): (&[u8], &[u8])) -> Result<()> {
    let create_options: Create = loaded.function("rocksdb_writeoptions_create")?;
    let put: Put = loaded.function("rocksdb_put_cf")?;
    // SAFETY: the database and the column family are open; the write options are new and are never freed; the key and the
    // value outlive the call.
    checked(|error| unsafe {
        put(
            db,
            create_options(),
            family,
            key.as_ptr().cast(),
            key.len(),
            value.as_ptr().cast(),
            value.len(),
            error,
        );
    })
}
