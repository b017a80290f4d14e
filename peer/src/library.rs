//! The loaded library, and what needs no open database.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::Arc;

use crate::table::{ErrorSlot, Raw, Table};

/// An answer, or RocksDB's words for what went wrong.
pub type Result<T> = std::result::Result<T, String>;

/// RocksDB. Cheap to clone; unloaded never, since its threads outlive every database.
#[derive(Clone)]
pub struct Library {
    table: Arc<Table>,
}

impl Library {
    /// Loads the library at `path`. The library must be RocksDB with its C interface, of the release that
    /// `table` was written for. This crate cannot check the effects of loading a different library.
    ///
    /// # Errors
    /// The loader's words: no such file, not a library, a function missing.
    pub fn load(path: &Path) -> Result<Library> {
        // SAFETY: loading a library runs its initialisers. The caller names a RocksDB library, and the
        // initialisers of RocksDB only set up its own statics.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|e| format!("{}: {e}", path.display()))?;
        // SAFETY: `Table` has the signatures of that library's C interface.
        let table = unsafe { Table::find(&library) }.map_err(|e| format!("{}: {e}", path.display()))?;
        // The pointers must stay valid until the process ends: RocksDB's threads run until then.
        std::mem::forget(library);
        Ok(Library { table: Arc::new(table) })
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Makes a call that leaves its error in a slot.
    pub(crate) fn checked<T>(&self, call: impl FnOnce(&Table, ErrorSlot) -> T) -> Result<T> {
        let mut error: *mut c_char = std::ptr::null_mut();
        let answer = call(&self.table, &raw mut error);
        if error.is_null() { Ok(answer) } else { Err(self.words(error)) }
    }

    /// Takes a string that the library allocated.
    pub(crate) fn words(&self, text: *mut c_char) -> String {
        // SAFETY: the library's strings end with a zero byte, and this one is ours until it is freed.
        let words = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: allocated by the library, not used after this.
        unsafe { (self.table.free)(text.cast()) };
        words
    }

    /// Takes bytes that the library allocated.
    pub(crate) fn bytes(&self, data: *mut c_char, len: usize) -> Vec<u8> {
        // SAFETY: the library returned `data` and `len` together, and the caller owns the buffer until
        // `free`.
        let bytes = unsafe { copy(data, len) };
        // SAFETY: allocated by the library, not used after this.
        unsafe { (self.table.free)(data.cast()) };
        bytes
    }

    /// Default options changed by RocksDB's option string, of database and family alike.
    ///
    /// # Errors
    /// RocksDB's refusal.
    pub fn options(&self, text: &str) -> Result<Options> {
        let text = c_text(text)?;
        // SAFETY: both handles are fresh; the text ends with a zero byte and outlives the call.
        let base = Options { raw: unsafe { (self.table.options_create)() }, library: self.clone() };
        // SAFETY: as above.
        let made = Options { raw: unsafe { (self.table.options_create)() }, library: self.clone() };
        // SAFETY: as above.
        self.checked(|t, e| unsafe { (t.get_options_from_string)(base.raw, text.as_ptr(), made.raw, e) })?;
        Ok(made)
    }

    /// The families of the database at `path`.
    ///
    /// # Errors
    /// RocksDB's refusal: there is none, or its MANIFEST cannot be read.
    pub fn families(&self, path: &Path) -> Result<Vec<String>> {
        let options = self.options("")?;
        let path = path_text(path)?;
        let mut count = 0usize;
        // SAFETY: live handle, text that outlives the call, room for one number.
        let names = self.checked(|t, e| unsafe {
            (t.list_column_families)(options.raw, path.as_ptr(), &raw mut count, e)
        })?;
        // SAFETY: the library says that so many strings are there.
        let listed = unsafe { std::slice::from_raw_parts(names, count) };
        // SAFETY: each ends with a zero byte.
        let copied =
            listed.iter().map(|n| unsafe { CStr::from_ptr(*n) }.to_string_lossy().into_owned()).collect();
        // SAFETY: as given, once.
        unsafe { (self.table.list_column_families_destroy)(names, count) };
        Ok(copied)
    }

    /// Deletes the database at `path`.
    ///
    /// # Errors
    /// RocksDB's refusal: it is open somewhere.
    pub fn destroy(&self, path: &Path) -> Result<()> {
        let (options, path) = (self.options("")?, path_text(path)?);
        // SAFETY: live handle, text that outlives the call.
        self.checked(|t, e| unsafe { (t.destroy_db)(options.raw, path.as_ptr(), e) })
    }
}

/// Options of a database and a family.
pub struct Options {
    pub(crate) raw: Raw,
    library: Library,
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made by `options_create`, destroyed once.
        unsafe { (self.library.table.options_destroy)(self.raw) };
    }
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| "a zero byte in a text".to_string())
}

pub(crate) fn path_text(path: &Path) -> Result<CString> {
    c_text(&path.to_string_lossy())
}

/// The bytes of a slice of the library's, which may be no address at all when there are none.
///
/// # Safety
/// `len` bytes lie at `data`, unless it is 0.
pub(crate) unsafe fn copy(data: *const c_char, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: as the caller vouches.
    unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec()
}
