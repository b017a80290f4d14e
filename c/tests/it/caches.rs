//! Block caches of column families.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut c_void;
    fn rocksdb_cache_destroy(cache: *mut c_void);
    fn rocksdb_block_based_options_set_block_cache(options: *mut c_void, cache: *mut c_void);
    fn rocksdb_property_int_cf(
        db: *mut rocksdb_t,
        family: Family,
        name: *const c_char,
        value: *mut u64,
    ) -> c_int;
}

#[test]
fn a_column_family_without_a_cache_does_not_use_the_cache_of_the_database_options() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; arrays have two items.
    unsafe {
        let (base, plain) = (options(), options());
        let (cache, table) = (rocksdb_cache_create_lru(1 << 20), rocksdb_block_based_options_create());
        rocksdb_block_based_options_set_block_cache(table, cache);
        rocksdb_options_set_block_based_table_factory(base, table);
        let names = [c"default".as_ptr(), c"users".as_ptr()];
        let each = [base.cast_const(), plain.cast_const()];
        let mut families = [null_mut(); 2];
        let db = Db::new(ok(|err| {
            let (names, each, families) = (names.as_ptr(), each.as_ptr(), families.as_mut_ptr());
            rocksdb_open_column_families(base, path.as_ptr(), 2, names, each, families, err)
        }));
        let capacities = families.map(|family| {
            let (name, mut capacity) = (c"rocksdb.block-cache-capacity".as_ptr(), 0);
            assert_eq!(rocksdb_property_int_cf(db.handle, family, name, &raw mut capacity), 0);
            capacity
        });
        assert_eq!(capacities, [1 << 20, 32 << 20]);
        families.iter().for_each(|family| rocksdb_column_family_handle_destroy(*family));
        rocksdb_block_based_options_destroy(table);
        rocksdb_cache_destroy(cache);
        rocksdb_options_destroy(base);
        rocksdb_options_destroy(plain);
    }
}

unsafe extern "C" {
    fn rocksdb_options_create_copy(options: *mut rocksdb_options_t) -> *mut rocksdb_options_t;
    fn rocksdb_get_options_from_string(
        base: *const rocksdb_options_t,
        text: *const c_char,
        new: *mut rocksdb_options_t,
        err: *mut *mut c_char,
    );
}

/// Returns the bytes in the block cache of the default column family.
fn usage(db: &Db) -> u64 {
    let (name, mut bytes) = (c"rocksdb.block-cache-usage".as_ptr(), 0);
    // SAFETY: the database is live; the name ends with NUL.
    assert_eq!(unsafe { rocksdb_property_int(db.handle, name, &raw mut bytes) }, 0);
    bytes
}

#[test]
fn databases_of_one_options_handle_and_its_copies_share_the_default_cache() {
    let dir = tempfile::tempdir().unwrap();
    let open = |options: *mut rocksdb_options_t, name: &str| {
        let path = c_path(&dir.path().join(name));
        // SAFETY: the options are live, the path ends with NUL.
        Db::new(ok(|err| unsafe { rocksdb_open(options, path.as_ptr(), err) }))
    };
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let (first, other, text) = (options(), options(), options());
        let copy = rocksdb_options_create_copy(first);
        ok(|err| {
            let words = c"block_based_table_factory={block_cache=32M};create_if_missing=true";
            rocksdb_get_options_from_string(first, words.as_ptr(), text, err);
        });
        let databases = [open(first, "one"), open(copy, "two"), open(other, "three"), open(text, "four")];
        let empty = usage(&databases[0]);
        databases[0].put("key", &"v".repeat(1000));
        let flush = rocksdb_flushoptions_create();
        ok(|err| rocksdb_flush(databases[0].handle, flush, err));
        rocksdb_flushoptions_destroy(flush);
        assert!(databases[0].get("key").is_some());
        let filled = usage(&databases[0]);
        assert!(filled > empty + 1000, "{filled}");
        assert_eq!(databases.each_ref().map(usage), [filled, filled, empty, empty]);
        drop(databases);
        [first, other, text, copy].into_iter().for_each(|options| rocksdb_options_destroy(options));
    }
}
