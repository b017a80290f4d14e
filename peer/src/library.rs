//! The loaded library, and what needs no open database.

use std::ffi::{CStr, CString, OsString, c_char};
use std::path::Path;
use std::sync::Arc;

use crate::table::{ErrorSlot, Raw, Table};

/// The result of a call, or the error text of RocksDB.
pub type Result<T> = std::result::Result<T, String>;

/// The loaded library. A clone is cheap. The library is never unloaded, because its threads run until the process
/// ends.
#[derive(Clone)]
pub struct Library {
    table: Arc<Table>,
}

/// The environment variable with the path of RocksDB's library, for tests.
pub const VARIABLE: &str = "IRONSTONE_PEER";

impl Library {
    /// Loads the library at `path`. The library must be RocksDB with its C interface, of the release that
    /// `table` was written for. This crate cannot check the effects of loading a different library.
    ///
    /// # Errors
    /// The error text of the loader: the file does not exist, is no library, or lacks a function.
    pub fn load(path: &Path) -> Result<Library> {
        // SAFETY: loading a library runs its initialisers. The caller names a RocksDB library, and the
        // initialisers of RocksDB only set up its own statics.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|e| format!("{}: {e}", path.display()))?;
        // SAFETY: the caller names a RocksDB library, and `Table` has the signatures of RocksDB's C interface.
        let table = unsafe { Table::find(&library) }.map_err(|e| format!("{}: {e}", path.display()))?;
        // The pointers must stay valid until the process ends: RocksDB's threads run until then.
        std::mem::forget(library);
        Ok(Library { table: Arc::new(table) })
    }

    /// Loads the library that a test may use. `path` is the value of the environment variable [`VARIABLE`], which this crate does not
    /// read itself. Without a path, prints that the test is skipped, and returns `None`.
    ///
    /// # Panics
    /// If the library does not load: a test must not skip its comparison because of a wrong path.
    pub fn for_test(path: Option<OsString>) -> Option<Library> {
        let Some(path) = path else {
            eprintln!("SKIPPED: set {VARIABLE} to RocksDB's library");
            return None;
        };
        let loaded = Library::load(Path::new(&path));
        Some(loaded.unwrap_or_else(|error| panic!("{VARIABLE} names no library of RocksDB: {error}")))
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Makes a call of the library, and returns the error that the call stores in its slot.
    pub(crate) fn checked<T>(&self, call: impl FnOnce(&Table, ErrorSlot) -> T) -> Result<T> {
        let mut error: *mut c_char = std::ptr::null_mut();
        let answer = call(&self.table, &raw mut error);
        if error.is_null() { Ok(answer) } else { Err(self.words(error)) }
    }

    /// Takes a string that the library allocated.
    pub(crate) fn words(&self, text: *mut c_char) -> String {
        // SAFETY: a string of the library ends with a zero byte. The caller owns this string until it is freed.
        let words = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: the library allocated the memory, and no code uses it afterwards.
        unsafe { (self.table.free)(text.cast()) };
        words
    }

    /// Takes bytes that the library allocated.
    pub(crate) fn bytes(&self, data: *mut c_char, len: usize) -> Vec<u8> {
        // SAFETY: the library returned `data` and `len` together, and the caller owns the buffer until
        // `free`.
        let bytes = unsafe { copy(data, len) };
        // SAFETY: the library allocated the memory, and no code uses it afterwards.
        unsafe { (self.table.free)(data.cast()) };
        bytes
    }

    /// Returns the default options with the changes of an option text. The text may have options of the database and
    /// of a column family.
    ///
    /// # Errors
    /// The error text of RocksDB.
    pub fn options(&self, text: &str) -> Result<Options> {
        let text = c_text(text)?;
        // SAFETY: the function returns a new handle.
        let base = Options { raw: unsafe { (self.table.options_create)() }, library: self.clone() };
        // SAFETY: the function returns a new handle.
        let made = Options { raw: unsafe { (self.table.options_create)() }, library: self.clone() };
        // SAFETY: both handles are live. The text ends with a zero byte and outlives the call.
        self.checked(|t, e| unsafe { (t.get_options_from_string)(base.raw, text.as_ptr(), made.raw, e) })?;
        Ok(made)
    }

    /// Returns the names of the column families of the database at `path`.
    ///
    /// # Errors
    /// The error text of RocksDB: there is no database, or its MANIFEST cannot be read.
    pub fn families(&self, path: &Path) -> Result<Vec<String>> {
        let options = self.options("")?;
        let path = path_text(path)?;
        let mut count = 0usize;
        // SAFETY: the handle is live, the text outlives the call, and the pointer has room for one number.
        let names = self.checked(|t, e| unsafe {
            (t.list_column_families)(options.raw, path.as_ptr(), &raw mut count, e)
        })?;
        // SAFETY: the library returned `count` strings in `names`.
        let listed = unsafe { std::slice::from_raw_parts(names, count) };
        // SAFETY: each name ends with a zero byte.
        let copied =
            listed.iter().map(|n| unsafe { CStr::from_ptr(*n) }.to_string_lossy().into_owned()).collect();
        // SAFETY: the library returned the list with this count, and it is destroyed once.
        unsafe { (self.table.list_column_families_destroy)(names, count) };
        Ok(copied)
    }

    /// Deletes the database at `path`.
    ///
    /// # Errors
    /// The error text of RocksDB: the database is open.
    pub fn destroy(&self, path: &Path) -> Result<()> {
        let (options, path) = (self.options("")?, path_text(path)?);
        // SAFETY: the handle is live, and the text outlives the call.
        self.checked(|t, e| unsafe { (t.destroy_db)(options.raw, path.as_ptr(), e) })
    }
}

/// Options of a database and of a column family.
pub struct Options {
    pub(crate) raw: Raw,
    library: Library,
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: `options_create` made the handle, and it is destroyed once.
        unsafe { (self.library.table.options_destroy)(self.raw) };
    }
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| "a zero byte in a text".to_string())
}

pub(crate) fn path_text(path: &Path) -> Result<CString> {
    c_text(&path.to_string_lossy())
}

/// Returns a copy of the bytes of a slice. If `len` is 0, `data` may be null.
///
/// # Safety
/// If `len` is not 0, `len` bytes must be readable at `data`.
pub(crate) unsafe fn copy(data: *const c_char, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: by the contract of this function, `len` bytes are readable at `data`.
    unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec()
}
