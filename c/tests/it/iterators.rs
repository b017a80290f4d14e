//! Iterators over several column families.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::calls::*;

unsafe extern "C" {
    fn rocksdb_readoptions_set_tailing(options: *mut c_void, value: u8);
    fn rocksdb_options_set_inplace_update_support(options: *mut rocksdb_options_t, value: u8);
    fn rocksdb_options_set_allow_concurrent_memtable_write(options: *mut rocksdb_options_t, value: u8);
    fn rocksdb_create_iterators(
        db: *mut rocksdb_t,
        options: *mut c_void,
        families: *mut Family,
        iterators: *mut *mut c_void,
        size: usize,
        err: *mut *mut c_char,
    );
    fn rocksdb_writebatch_wi_put_cf(
        batch: *mut c_void,
        family: Family,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        batch: *mut c_void,
        base: *mut c_void,
        family: Family,
    ) -> *mut c_void;
}

/// Creates iterators over both column families, puts the key `k` into both, and returns how many iterators then show the key.
/// Checks that the iterators keep no snapshot.
fn iterators_that_show_a_later_put(in_place: bool, tailing: bool) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; arrays have two items.
    unsafe {
        let options = options();
        rocksdb_options_set_allow_concurrent_memtable_write(options, 0);
        rocksdb_options_set_inplace_update_support(options, u8::from(in_place));
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        let create =
            |name: *const c_char| ok(|err| rocksdb_create_column_family(db.handle, options, name, err));
        let mut families = [create(c"users".as_ptr()), create(c"orders".as_ptr())];
        rocksdb_readoptions_set_tailing(db.read, u8::from(tailing));
        let mut iters = [null_mut(); 2];
        ok(|err| {
            let (families, iters) = (families.as_mut_ptr(), iters.as_mut_ptr());
            rocksdb_create_iterators(db.handle, db.read, families, iters, 2, err);
        });
        let mut snapshots = 77;
        rocksdb_property_int(db.handle, c"rocksdb.num-snapshots".as_ptr(), &raw mut snapshots);
        assert_eq!(snapshots, 0);
        families.iter().for_each(|family| db.put_cf(*family, "k", "v"));
        let shown = iters.iter().filter(|iter| {
            rocksdb_iter_seek_to_first(**iter);
            ok(|err| rocksdb_iter_get_error(**iter, err));
            rocksdb_iter_valid(**iter) == 1
        });
        let shown = shown.count();
        iters.iter().for_each(|iter| rocksdb_iter_destroy(*iter));
        families.iter().for_each(|family| rocksdb_column_family_handle_destroy(*family));
        rocksdb_options_destroy(options);
        shown
    }
}

#[test]
fn iterators_over_several_families_do_not_show_later_puts() {
    assert_eq!(iterators_that_show_a_later_put(false, false), 0);
}

#[test]
fn tailing_iterators_over_several_families_show_later_puts() {
    assert_eq!(iterators_that_show_a_later_put(false, true), 2);
}

#[test]
fn families_with_updates_in_place_have_iterators_over_several_families() {
    iterators_that_show_a_later_put(true, false);
}

#[test]
fn an_iterator_over_a_base_shows_the_records_of_the_stated_family_and_else_of_the_default_family() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    // SAFETY: all handles are live where they are used; each is destroyed once; the iterators take their bases.
    unsafe {
        let options = options();
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        let create =
            |name: *const c_char| ok(|err| rocksdb_create_column_family(db.handle, options, name, err));
        let (base, stated) = (create(c"users".as_ptr()), create(c"orders".as_ptr()));
        let batch = rocksdb_writebatch_wi_create(0, 1);
        let key = c"k".as_ptr();
        rocksdb_writebatch_wi_put(batch, key, 1, c"1".as_ptr(), 1);
        rocksdb_writebatch_wi_put_cf(batch, base, key, 1, c"22".as_ptr(), 2);
        rocksdb_writebatch_wi_put_cf(batch, stated, key, 1, c"333".as_ptr(), 3);
        let length_of_first = |iter| {
            rocksdb_iter_seek_to_first(iter);
            assert_eq!(rocksdb_iter_valid(iter), 1);
            let mut len = 0;
            rocksdb_iter_value(iter, &raw mut len);
            rocksdb_iter_destroy(iter);
            len
        };
        let over = || rocksdb_create_iterator_cf(db.handle, db.read, base);
        let of_stated = rocksdb_writebatch_wi_create_iterator_with_base_cf(batch, over(), stated);
        let of_default = rocksdb_writebatch_wi_create_iterator_with_base(batch, over());
        assert_eq!((length_of_first(of_stated), length_of_first(of_default)), (3, 1));
        rocksdb_writebatch_wi_destroy(batch);
        rocksdb_column_family_handle_destroy(base);
        rocksdb_column_family_handle_destroy(stated);
        rocksdb_options_destroy(options);
    }
}
