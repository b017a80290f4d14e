//! Creating, dropping and naming column families; options of an open database.

use std::ffi::c_char;

use base::{Error, Result};

use super::open::names;
use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::returns::malloc_array;
use crate::abi::{Buffer, Owned, Return, arguments};
use crate::options::rocksdb_options_t;

/// Creates column families. After an error, the column families that were created before it exist, and their handles are
/// returned.
fn create_families(
    db: &rocksdb_t,
    options: &rocksdb_options_t,
    names: &[String],
    created: &mut Vec<*mut rocksdb_column_family_handle_t>,
) -> Result<()> {
    for name in names {
        let family = db.get()?.create_family(options, name)?;
        created.push(Owned(db.handle(family)?).into_c());
    }
    Ok(())
}

/// Returns the pairs of two arrays of C strings.
///
/// # Safety
/// Both arrays have `count` items that are null or end with NUL.
unsafe fn pairs(
    count: i32,
    keys: *const *const c_char,
    values: *const *const c_char,
) -> Result<Vec<(String, String)>> {
    let count = arguments::count(count)?;
    // SAFETY: the contract of this function is the contract of `names`.
    let (keys, values) = unsafe { (names(keys, count)?, names(values, count)?) };
    Ok(keys.into_iter().zip(values).collect())
}

/// # Errors
/// InvalidArgument if there is no change, as in RocksDB.
fn not_empty(changes: &[(String, String)]) -> Result<()> {
    match changes.is_empty() {
        true => Err(Error::invalid_argument("empty input")),
        false => Ok(()),
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

c_api! {
    /// Creates a column family. The caller destroys the handle. In a database with a time to live, its values do not expire.
    fn rocksdb_create_column_family(
        db: at rocksdb_t, column_family_options: in rocksdb_options_t, column_family_name: text, err
    ) -> Owned<rocksdb_column_family_handle_t> {
        let family = db.get()?.create_family(column_family_options, column_family_name)?;
        Ok(Owned(db.handle(family)?))
    }

    /// Creates column families with the same options. Writes the number of returned handles to `lencfs`. After an error, returns
    /// the handles of the column families that were created before it. Destroy each handle, then free the list with
    /// `rocksdb_create_column_families_destroy`.
    fn rocksdb_create_column_families(
        db: at rocksdb_t, column_family_options: in rocksdb_options_t, num_column_families: i32,
        column_family_names: raw(*const *const c_char), lencfs: out usize, errptr: raw(*mut *mut c_char)
    ) -> *mut *mut rocksdb_column_family_handle_t {
        lencfs.set(0);
        let count = arguments::count(num_column_families)?;
        // SAFETY: rule 11 of the header: an aligned array of `num_column_families` strings that end with NUL. No thread changes them during the
        // call.
        let names = unsafe { names(column_family_names, count)? };
        let mut created = Vec::new();
        let outcome = create_families(db, column_family_options, &names, &mut created);
        lencfs.set(created.len());
        let list = malloc_array(&created);
        if let Err(error) = outcome {
            // SAFETY: the header requires that `errptr` is null or a place for errors.
            unsafe { crate::abi::guard::report(errptr, &error) };
        }
        list
    }

    /// Frees a list of handles, not the handles.
    fn rocksdb_create_column_families_destroy(list: raw(*mut *mut rocksdb_column_family_handle_t)) {
        // SAFETY: the header requires a list from `rocksdb_create_column_families` that was not freed.
        unsafe { crate::abi::returns::free(list) };
    }

    /// Drops a column family. Its handles can still be used for reads.
    fn rocksdb_drop_column_family(db: at rocksdb_t, handle: at rocksdb_column_family_handle_t, err) {
        db.db()?.admin().drop_family(&*db.family(handle)?)
    }

    /// Returns a handle of the default column family. The caller destroys the handle. The handle does not keep the database in memory.
    fn rocksdb_get_default_column_family_handle(db: at rocksdb_t) -> Owned<rocksdb_column_family_handle_t> {
        Owned(db.default_handle()?)
    }

    /// Destroys the handle, not the column family. Accepts null.
    fn rocksdb_column_family_handle_destroy(handle: own rocksdb_column_family_handle_t) {
        drop(handle)
    }

    fn rocksdb_column_family_handle_get_id(handle: at rocksdb_column_family_handle_t) -> u32 {
        handle.id().get()
    }

    /// Returns the name with a NUL at its end. `name_len` does not count the NUL.
    fn rocksdb_column_family_handle_get_name(
        handle: at rocksdb_column_family_handle_t, name_len: out usize
    ) -> Buffer {
        let name = handle.name().as_bytes();
        name_len.set(name.len());
        Buffer::string(name)
    }

    /// Changes options of the default column family, by name. After an error nothing is changed.
    fn rocksdb_set_options(
        db: at rocksdb_t, count: i32, keys: raw(*const *const c_char), values: raw(*const *const c_char), err
    ) {
        // SAFETY: rule 11 of the header: two aligned arrays of `count` strings that end with NUL. No thread changes them during the call.
        let changes = unsafe { pairs(count, keys, values)? };
        not_empty(&changes)?;
        db.db()?.admin().set_options(&*db.default_family()?, &borrowed(&changes))
    }

    /// Changes options of a column family, by name. After an error nothing is changed.
    fn rocksdb_set_options_cf(
        db: at rocksdb_t, handle: at rocksdb_column_family_handle_t, count: i32, keys: raw(*const *const c_char),
        values: raw(*const *const c_char), err
    ) {
        // SAFETY: rule 11 of the header: two aligned arrays of `count` strings that end with NUL. No thread changes them during the call.
        let changes = unsafe { pairs(count, keys, values)? };
        not_empty(&changes)?;
        db.db()?.admin().set_options(&*db.family(handle)?, &borrowed(&changes))
    }

    /// Changes options of the database, by name. After an error nothing is changed.
    fn rocksdb_set_db_options(
        db: at rocksdb_t, count: i32, keys: raw(*const *const c_char), values: raw(*const *const c_char), err
    ) {
        // SAFETY: rule 11 of the header: two aligned arrays of `count` strings that end with NUL. No thread changes them during the call.
        let changes = unsafe { pairs(count, keys, values)? };
        not_empty(&changes)?;
        db.db()?.admin().set_db_options(&borrowed(&changes))
    }
}
