//! Opening, closing, destroying and repairing databases.

use std::ffi::{c_char, c_int};
use std::path::Path;

use base::{Error, Result};
use engine::components::FamilyDescriptor;
use engine::db::{Db, OpenRequest};
use ironstone::binding::check_no_wal;

use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::returns::malloc_array;
use crate::abi::{Buffer, Owned, Return, arguments};
use crate::options::rocksdb_options_t;

/// The column families that C passes to an open.
pub(super) struct Request {
    descriptors: Vec<FamilyDescriptor>,
    handles: *mut *mut rocksdb_column_family_handle_t,
}

impl Request {
    /// Reads names and options of column families.
    ///
    /// # Errors
    /// InvalidArgument for null pointers, a negative count, names that are not UTF-8, and rejected options.
    ///
    /// # Safety
    /// The arrays have `count` items: names that end with NUL, live options, and writable places for handles.
    pub(super) unsafe fn new(
        count: c_int,
        names: *const *const c_char,
        options: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> Result<Request> {
        let count = arguments::count(count)?;
        if handles.is_null() {
            return Err(Error::invalid_argument("the array for column family handles is null"));
        }
        // SAFETY: both arrays have `count` items by the contract.
        let (names, options) =
            unsafe { (arguments::array(names, count)?, arguments::array(options, count)?) };
        let mut descriptors = Vec::with_capacity(count);
        for (&name, &options) in names.iter().zip(options) {
            // SAFETY: each name is null or ends with NUL, each options pointer is null or live, by the contract.
            let (name, options) = unsafe { (arguments::text(name)?, options.as_ref()) };
            let options =
                options.ok_or_else(|| Error::invalid_argument(format!("options of {name} are null")))?;
            descriptors.push(options.descriptor(name)?);
        }
        if !descriptors.iter().any(|descriptor| descriptor.name == "default") {
            return Err(Error::invalid_argument("Default column family not specified"));
        }
        Ok(Request { descriptors, handles })
    }

    /// Returns the descriptors of the column families.
    pub(super) fn descriptors(&self) -> Vec<FamilyDescriptor> {
        self.descriptors.clone()
    }

    /// Opens the database and writes a handle for each column family.
    fn open(self, mut request: OpenRequest, open: fn(OpenRequest) -> Result<Db>) -> Result<Owned<rocksdb_t>> {
        request.families.clone_from(&self.descriptors);
        request.others = None;
        request.components.block_cache = None;
        let db = rocksdb_t::new(open(request)?)?;
        self.finish(db)
    }

    /// Writes a handle for each column family.
    pub(super) fn finish(&self, db: rocksdb_t) -> Result<Owned<rocksdb_t>> {
        let mut handles = Vec::with_capacity(self.descriptors.len());
        for FamilyDescriptor { name, .. } in &self.descriptors {
            let family =
                db.db()?.family(name).ok_or_else(|| Error::not_found(format!("column family {name}")))?;
            handles.push(db.handle(family)?);
        }
        for (at, handle) in handles.into_iter().enumerate() {
            // SAFETY: the array has a writable place for each name by the contract of `new`.
            unsafe { *self.handles.add(at) = Owned(handle).into_c() };
        }
        Ok(Owned(db))
    }
}

c_api! {
    /// Opens a database with its default column family. Fails if the database has more column families.
    fn rocksdb_open(options: in rocksdb_options_t, name: path, err) -> Owned<rocksdb_t> {
        let mut request = options.open_request(name)?;
        request.others = None;
        Ok(Owned(rocksdb_t::new(Db::open(request)?)?))
    }

    /// Opens a database for reading only, with its default column family. Changes no file of the database. As in RocksDB, `error_if_wal_file_exists` has an
    /// effect only in `rocksdb_open_for_read_only_column_families`: this function reads the records of the WALs.
    fn rocksdb_open_for_read_only(
        options: in rocksdb_options_t, name: path, error_if_wal_file_exists: flag, err
    ) -> Owned<rocksdb_t> {
        let _ = error_if_wal_file_exists;
        let mut request = options.open_request(name)?;
        request.others = None;
        Ok(Owned(rocksdb_t::new(Db::open_read_only(request)?)?))
    }

    /// Opens a database with column families. The names must include all column families of the database, also `default`. Writes
    /// a handle for each name to `column_family_handles`; the caller destroys the handles.
    fn rocksdb_open_column_families(
        options: in rocksdb_options_t, name: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let families = unsafe {
            Request::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        families.open(options.open_request(name)?, Db::open)
    }

    /// Opens a database for reading only, with some of its column families. The names must include `default`.
    fn rocksdb_open_for_read_only_column_families(
        options: in rocksdb_options_t, name: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t),
        error_if_wal_file_exists: flag, err
    ) -> Owned<rocksdb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let families = unsafe {
            Request::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        let request = options.open_request(name)?;
        if error_if_wal_file_exists {
            check_no_wal(&request.options, &request.path)?;
        }
        families.open(request, Db::open_read_only)
    }

    /// Opens a database with column families, and removes the entries with a timestamp newer than `trim_ts` from the column
    /// families with timestamps.
    fn rocksdb_open_and_trim_history(
        options: in rocksdb_options_t, name: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), trim_ts: raw(*mut c_char),
        trim_tslen: usize, err
    ) -> Owned<rocksdb_t> {
        // SAFETY: the header requires arrays of `num_column_families` items, and `trim_tslen` bytes of timestamp.
        let (families, trim_ts) = unsafe {
            let families =
                Request::new(num_column_families, column_family_names, column_family_options, column_family_handles)?;
            (families, arguments::bytes(trim_ts, trim_tslen)?)
        };
        let db = ironstone::Db::open_and_trim_history(
            name,
            options.front_options()?,
            families.descriptors(),
            trim_ts,
        )?;
        families.finish(rocksdb_t::new(db.engine().clone())?)
    }

    /// Closes the database and destroys the handle. Calls with other handles of the database report errors afterwards.
    fn rocksdb_close(db: own rocksdb_t) {
        if let Some(db) = db {
            db.db()?.close()?;
        }
    }

    /// Deletes the files of a database.
    fn rocksdb_destroy_db(options: in rocksdb_options_t, name: path, err) {
        engine::db::destroy(name, &options.db, std::slice::from_ref(&options.family))
    }

    /// Rebuilds the MANIFEST of a database from its remaining files. Writes can be lost. The info log reports the lost writes.
    fn rocksdb_repair_db(options: in rocksdb_options_t, name: path, err) {
        engine::db::repair(options.open_request(name)?).map(|_| ())
    }

    /// Returns the names of the column families of a database. The database need not be open. Free the list with
    /// `rocksdb_list_column_families_destroy`.
    fn rocksdb_list_column_families(
        options: in rocksdb_options_t, name: path, lencf: out usize, err
    ) -> *mut *mut c_char {
        lencf.set(0);
        let names = engine::db::list_families(&options.db.env, name)?;
        let names: Vec<*mut c_char> = names.iter().map(|name| Buffer::string(name.as_bytes()).into_c()).collect();
        lencf.set(names.len());
        Ok(malloc_array(&names))
    }

    fn rocksdb_list_column_families_destroy(list: raw(*mut *mut c_char), len: usize) {
        // SAFETY: the header requires a list and its length from `rocksdb_list_column_families`, not freed before.
        unsafe { free_list(list, len)? };
    }
}

/// Frees an array of strings and the array.
///
/// # Safety
/// `list` is null, or an array from `malloc` of `len` pointers that are null or from `malloc`.
pub(crate) unsafe fn free_list(list: *mut *mut c_char, len: usize) -> Result<()> {
    // SAFETY: the array has `len` initialized pointers by the contract.
    for &item in unsafe { arguments::array(list.cast_const(), len)? } {
        // SAFETY: the item is null or from `malloc` by the contract.
        unsafe { crate::abi::returns::free(item) };
    }
    // SAFETY: the array is null or from `malloc` by the contract.
    unsafe { crate::abi::returns::free(list) };
    Ok(())
}

/// Converts an array of C strings.
///
/// # Errors
/// InvalidArgument for a null pointer and for text that is not UTF-8.
///
/// # Safety
/// `names` has `count` items that are null or end with NUL.
pub(crate) unsafe fn names(names: *const *const c_char, count: usize) -> Result<Vec<String>> {
    // SAFETY: the array has `count` items by the contract.
    let names = unsafe { arguments::array(names, count)? };
    // SAFETY: each name is null or ends with NUL by the contract.
    names.iter().map(|&name| unsafe { arguments::text(name) }.map(str::to_string)).collect()
}

/// Converts an array of paths.
///
/// # Errors
/// InvalidArgument for a null pointer.
///
/// # Safety
/// As for [`names`].
pub(crate) unsafe fn paths<'a>(paths: *const *const c_char, count: usize) -> Result<Vec<&'a Path>> {
    // SAFETY: the array has `count` items by the contract.
    let paths = unsafe { arguments::array(paths, count)? };
    // SAFETY: each path is null or ends with NUL by the contract.
    paths.iter().map(|&path| unsafe { arguments::path(path) }).collect()
}
