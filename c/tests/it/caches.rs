//! Block caches of column families.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::calls::*;

type Family = *mut rocksdb_column_family_handle_t;

unsafe extern "C" {
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut c_void;
    fn rocksdb_cache_destroy(cache: *mut c_void);
    fn rocksdb_block_based_options_create() -> *mut c_void;
    fn rocksdb_block_based_options_destroy(options: *mut c_void);
    fn rocksdb_block_based_options_set_block_cache(options: *mut c_void, cache: *mut c_void);
    fn rocksdb_options_set_block_based_table_factory(options: *mut rocksdb_options_t, table: *mut c_void);
    fn rocksdb_open_column_families(
        options: *const rocksdb_options_t,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const *const rocksdb_options_t,
        handles: *mut Family,
        err: *mut *mut c_char,
    ) -> *mut rocksdb_t;
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
