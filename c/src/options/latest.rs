//! The options of the newest OPTIONS file of a database.

use std::ffi::c_char;

use base::Result;
use engine::options::TableFactory;
use engine::options::file::{ReadConfig, load_latest};
use ironstone::binding::TableCache;

use super::rocksdb_options_t;
use crate::abi::returns::malloc_array;
use crate::abi::{Buffer, Out, Owned, Return, arguments};
use crate::cache::rocksdb_cache_t;
use crate::environment::rocksdb_env_t;

/// The name and the options of a column family in the file.
struct Loaded {
    name: String,
    options: rocksdb_options_t,
}

c_api! {
    /// Reads the newest OPTIONS file of a database: the options of the database and of each column family. All tables use the
    /// block cache `cache`. Free the result with `rocksdb_load_latest_options_destroy`. After an error, the pointers are null and
    /// the number is 0.
    fn rocksdb_load_latest_options(
        db_path: path, env: at rocksdb_env_t, ignore_unknown_options: bool, cache: maybe rocksdb_cache_t,
        db_options: raw(*mut *mut rocksdb_options_t), num_column_families: out usize,
        column_family_names: raw(*mut *mut *mut c_char),
        column_family_options: raw(*mut *mut *mut rocksdb_options_t), err
    ) {
        // SAFETY: rule 11 of the header: null, or aligned, writable places that only this call uses.
        let (db_place, names, options) = unsafe {
            (Out::new(db_options), Out::new(column_family_names), Out::new(column_family_options))
        };
        num_column_families.set(0);
        names.set(std::ptr::null_mut());
        options.set(std::ptr::null_mut());
        db_place.set(std::ptr::null_mut());
        let config = ReadConfig { ignore_unknown_options, ..ReadConfig::default() };
        let (_, file) = load_latest(&env.env, db_path, &config)?;
        let mut db = rocksdb_options_t { db: file.db, ..rocksdb_options_t::default() };
        db.db.env = env.env.clone();
        let families: Vec<Loaded> = file
            .families
            .into_iter()
            .map(|(name, family)| {
                let mut options = rocksdb_options_t { family, ..rocksdb_options_t::default() };
                if matches!(options.family.table_factory, TableFactory::BlockBased(_)) {
                    options.table_cache = TableCache::of(cache.map(|cache| cache.cache.clone()));
                }
                Loaded { name, options }
            })
            .collect();
        let list: Vec<_> = families.iter().map(|f| Buffer::string(f.name.as_bytes()).into_c()).collect();
        num_column_families.set(list.len());
        names.set(malloc_array(&list));
        let list: Vec<_> = families.into_iter().map(|family| Owned(family.options).into_c()).collect();
        options.set(malloc_array(&list));
        db_place.set(Owned(db).into_c());
        Ok(())
    }

    /// Frees the result of `rocksdb_load_latest_options`.
    fn rocksdb_load_latest_options_destroy(
        db_options: own rocksdb_options_t, list_column_family_names: raw(*mut *mut c_char),
        list_column_family_options: raw(*mut *mut rocksdb_options_t), len: usize
    ) {
        drop(db_options);
        // SAFETY: the header requires the lists and the length of `rocksdb_load_latest_options`, not freed before.
        unsafe { free(list_column_family_names, list_column_family_options, len)? };
    }
}

/// Frees names and options.
///
/// # Safety
/// Both lists are null or have `len` items that [`rocksdb_load_latest_options`] made and that were not freed.
unsafe fn free(names: *mut *mut c_char, options: *mut *mut rocksdb_options_t, len: usize) -> Result<()> {
    // SAFETY: the list has `len` items by the contract.
    for &handle in unsafe { arguments::array(options.cast_const(), len)? } {
        if !handle.is_null() {
            // SAFETY: the handle came from `Owned`, which is `Box::into_raw`, and is not used again by the contract.
            drop(unsafe { Box::from_raw(handle) });
        }
    }
    // SAFETY: both lists came from `malloc`, and the names too, by the contract.
    unsafe {
        crate::abi::returns::free(options);
        crate::db::free_list(names, len)
    }
}
