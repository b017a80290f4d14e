//! Databases of special kinds: values with a time to live, secondary instances, column families of another database.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::calls::*;

#[test]
fn values_with_a_time_to_live_are_read_without_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open_with_ttl(options, name.as_ptr(), 3600, err)));
        db.put("k", "value");
        assert_eq!(db.get("k").as_deref(), Some("value"));

        let sessions = ok(|err| {
            rocksdb_create_column_family_with_ttl(db.handle, options, c"sessions".as_ptr(), 60, err)
        });
        db.put_cf(sessions, "1", "Ada");
        assert_eq!(db.get_cf(sessions, "1").unwrap().as_deref(), Some("Ada"));

        let iter = rocksdb_create_iterator(db.handle, db.read);
        rocksdb_iter_seek_to_first(iter);
        assert_eq!(rocksdb_iter_valid(iter), 1);
        let mut len = 0;
        rocksdb_iter_value(iter, &raw mut len);
        assert_eq!(len, "value".len());
        rocksdb_iter_destroy(iter);
        rocksdb_column_family_handle_destroy(sessions);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn a_batch_with_an_index_reads_and_writes_values_with_a_time_to_live() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once; the iterator takes its base.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open_with_ttl(options, name.as_ptr(), 3600, err)));
        db.put("a", "old");
        let batch = rocksdb_writebatch_wi_create(0, 1);
        rocksdb_writebatch_wi_put(batch, c"b".as_ptr(), 1, c"new".as_ptr(), 3);
        for (key, value) in [(c"a", "old"), (c"b", "new")] {
            let mut len = 0;
            let found = ok(|err| {
                rocksdb_writebatch_wi_get_from_batch_and_db(
                    batch,
                    db.handle,
                    db.read,
                    key.as_ptr(),
                    1,
                    &raw mut len,
                    err,
                )
            });
            assert_eq!(copied(found, len).as_deref(), Some(value));
        }
        let base = rocksdb_create_iterator(db.handle, db.read);
        let iter = rocksdb_writebatch_wi_create_iterator_with_base(batch, base);
        rocksdb_iter_seek_to_first(iter);
        let mut len = 0;
        rocksdb_iter_value(iter, &raw mut len);
        assert_eq!(len, "old".len());
        rocksdb_iter_destroy(iter);
        ok(|err| rocksdb_write_writebatch_wi(db.handle, db.write, batch, err));
        assert_eq!(db.get("b").as_deref(), Some("new"));
        rocksdb_writebatch_wi_destroy(batch);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn a_column_family_without_a_time_to_live_of_its_own_is_read_without_times_even_after_a_drop() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once; the iterator takes its base.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open_with_ttl(options, name.as_ptr(), 3600, err)));
        let create = || ok(|err| rocksdb_create_column_family(db.handle, options, c"users".as_ptr(), err));
        let first = |iter| {
            rocksdb_iter_seek_to_first(iter);
            ok(|err| rocksdb_iter_get_error(iter, err));
            assert_eq!(rocksdb_iter_valid(iter), 1);
            let mut len = 0;
            rocksdb_iter_value(iter, &raw mut len);
            rocksdb_iter_destroy(iter);
            len
        };
        let batch = rocksdb_writebatch_wi_create(0, 1);
        let old = create();
        db.put_cf(old, "1", "Ada");
        assert_eq!(db.get_cf(old, "1").unwrap().as_deref(), Some("Ada"));
        assert_eq!(first(rocksdb_create_iterator_cf(db.handle, db.read, old)), "Ada".len());

        ok(|err| rocksdb_drop_column_family(db.handle, old, err));
        assert_eq!(first(rocksdb_create_iterator_cf(db.handle, db.read, old)), "Ada".len());
        let new = create();
        db.put_cf(new, "1", "Grace");
        for (family, value) in [(old, "Ada"), (new, "Grace")] {
            let base = rocksdb_create_iterator_cf(db.handle, db.read, family);
            let iter = rocksdb_writebatch_wi_create_iterator_with_base(batch, base);
            assert_eq!(first(iter), value.len());
            assert_eq!(first(rocksdb_create_iterator_cf(db.handle, db.read, family)), value.len());
            rocksdb_column_family_handle_destroy(family);
        }
        rocksdb_writebatch_wi_destroy(batch);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn time_is_the_end_of_a_stored_value() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        Db::new(ok(|err| rocksdb_open_with_ttl(options, name.as_ptr(), 3600, err))).put("k", "value");
        let plain = Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err)));
        let (mut len, mut error) = (0, null_mut());
        let stored = rocksdb_get(plain.handle, plain.read, c"k".as_ptr(), 1, &raw mut len, &raw mut error);
        assert_eq!(len, "value".len() + 4);
        rocksdb_free(stored.cast());
        rocksdb_options_destroy(options);
    }
}

/// Returns the value of the first entry of an iterator.
///
/// # Safety
/// `iter` must be live.
unsafe fn first_value(iter: *mut c_void) -> String {
    // SAFETY: the iterator is live and, after the assertion, valid; the value has `len` bytes until the next move.
    unsafe {
        rocksdb_iter_seek_to_first(iter);
        assert_eq!(rocksdb_iter_valid(iter), 1);
        let mut len = 0;
        let value = rocksdb_iter_value(iter, &raw mut len);
        String::from_utf8_lossy(std::slice::from_raw_parts(value.cast::<u8>(), len)).into_owned()
    }
}

#[test]
fn secondary_sees_the_writes_of_a_column_family_after_a_catch_up() {
    let dir = tempfile::tempdir().unwrap();
    let (name, log) = (c_path(&dir.path().join("db")), c_path(&dir.path().join("secondary")));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once; the arrays have two items.
    unsafe {
        let writer = Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err)));
        let users = ok(|err| rocksdb_create_column_family(writer.handle, options, c"users".as_ptr(), err));
        writer.put_cf(users, "1", "Ada");

        rocksdb_options_set_max_open_files(options, -1);
        let names: [*const c_char; 2] = [c"default".as_ptr(), c"users".as_ptr()];
        let (mut handles, each) = ([null_mut(); 2], [options.cast_const(); 2]);
        let reader = Db::new(ok(|err| {
            let (names, each, handles) = (names.as_ptr(), each.as_ptr(), handles.as_mut_ptr());
            rocksdb_open_as_secondary_column_families(
                options,
                name.as_ptr(),
                log.as_ptr(),
                2,
                names,
                each,
                handles,
                err,
            )
        }));
        assert_eq!(reader.get_cf(handles[1], "1").unwrap().as_deref(), Some("Ada"));
        let iter = rocksdb_create_iterator_cf(reader.handle, reader.read, handles[1]);

        writer.put_cf(users, "1", "Grace");
        assert_eq!(reader.get_cf(handles[1], "1").unwrap().as_deref(), Some("Ada"));
        ok(|err| rocksdb_try_catch_up_with_primary(reader.handle, err));
        assert_eq!(reader.get_cf(handles[1], "1").unwrap().as_deref(), Some("Grace"));
        assert_eq!(first_value(iter), "Ada");
        ok(|err| rocksdb_iter_refresh(iter, err));
        assert_eq!(first_value(iter), "Grace");
        rocksdb_iter_destroy(iter);
        assert!(dir.path().join("secondary/LOG").exists());

        let wrong = reader.get_cf(users, "1").unwrap_err();
        assert_eq!(
            wrong,
            "Invalid argument: column family users belongs to another database than the one of the call"
        );
        for handle in handles {
            rocksdb_column_family_handle_destroy(handle);
        }
        rocksdb_column_family_handle_destroy(users);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn only_a_secondary_instance_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let (options, mut error) = (options(), null_mut());
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err)));
        rocksdb_try_catch_up_with_primary(db.handle, &raw mut error);
        rocksdb_options_destroy(options);
    }
    assert_eq!(taken(error), "Not implemented: Supported only by secondary instance");
}

unsafe extern "C" {
    fn rocksdb_options_set_max_open_files(options: *mut rocksdb_options_t, value: i32);
    fn rocksdb_iter_refresh(iter: *mut c_void, err: *mut *mut c_char);
    fn rocksdb_writebatch_create_with_params(
        reserved: usize,
        max: usize,
        protection: usize,
        timestamp_size: usize,
    ) -> *mut c_void;
    fn rocksdb_writebatch_put(
        batch: *mut c_void,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_write(db: *mut rocksdb_t, options: *const c_void, batch: *mut c_void, err: *mut *mut c_char);
    fn rocksdb_writebatch_destroy(batch: *mut c_void);
    fn rocksdb_writeoptions_set_protection_bytes_per_key(options: *mut c_void, value: usize);
}

#[test]
fn batch_with_any_number_of_protection_bytes_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let name = c_path(&dir.path().join("db"));
    let options = options();
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open(options, name.as_ptr(), err)));
        for (protection, key) in [(8, c"a"), (3, c"b")] {
            let batch = rocksdb_writebatch_create_with_params(0, 0, protection, 0);
            rocksdb_writebatch_put(batch, key.as_ptr(), 1, c"v".as_ptr(), 1);
            ok(|err| rocksdb_write(db.handle, db.write, batch, err));
            assert_eq!(db.get(key.to_str().unwrap()).as_deref(), Some("v"));
            rocksdb_writebatch_destroy(batch);
        }
        // A protected batch does not hide a number of the options that the write rejects.
        let batch = rocksdb_writebatch_create_with_params(0, 0, 8, 0);
        rocksdb_writebatch_put(batch, c"c".as_ptr(), 1, c"v".as_ptr(), 1);
        rocksdb_writeoptions_set_protection_bytes_per_key(db.write, 4);
        let mut error = null_mut();
        rocksdb_write(db.handle, db.write, batch, &mut error);
        let text = "Not implemented: WriteBatch protection info must be zero or eight bytes/key";
        assert_eq!((taken(error).as_str(), db.get("c")), (text, None));
        rocksdb_writebatch_destroy(batch);
        rocksdb_options_destroy(options);
    }
}
