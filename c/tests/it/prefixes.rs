//! Prefix extractors of the program: prefixes in memory of the program, and prefixes that are not valid.
//!
//! A test compares with RocksDB if `IRONSTONE_PEER` names a library of RocksDB.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr::null_mut;

use peer::{Db as PeerDb, Library, Reading, VARIABLE};

use crate::calls::*;

type Transform = unsafe extern "C" fn(Any, *const c_char, usize, *mut usize) -> *mut c_char;

unsafe extern "C" {
    fn rocksdb_slicetransform_create(
        state: Any,
        destructor: Option<unsafe extern "C" fn(Any)>,
        transform: Option<Transform>,
        in_domain: Option<unsafe extern "C" fn(Any, *const c_char, usize) -> u8>,
        name: Option<unsafe extern "C" fn(Any) -> *const c_char>,
    ) -> Any;
    fn rocksdb_options_set_prefix_extractor(options: *mut rocksdb_options_t, extractor: Any);
    fn rocksdb_block_based_options_set_filter_policy(options: Any, policy: Any);
    fn rocksdb_filterpolicy_create_bloom_full(bits: f64) -> Any;
    fn rocksdb_readoptions_set_prefix_same_as_start(options: Any, value: u8);
    fn rocksdb_iter_seek(iter: Any, key: *const c_char, len: usize);
    fn rocksdb_iter_next(iter: Any);
    fn rocksdb_iter_key(iter: *const c_void, len: *mut usize) -> *const c_char;
}

unsafe extern "C" fn kept(_: Any) {}

unsafe extern "C" fn fixed_4(_: Any) -> *const c_char {
    c"rocksdb.FixedPrefix.4".as_ptr()
}

unsafe extern "C" fn lower_4(_: Any) -> *const c_char {
    c"lower.4".as_ptr()
}

unsafe extern "C" fn longer_than_3(_: Any, _: *const c_char, len: usize) -> u8 {
    u8::from(len >= 4)
}

/// Returns the first four bytes in memory from `malloc`.
unsafe extern "C" fn copy_4(_: Any, key: *const c_char, _: usize, len: *mut usize) -> *mut c_char {
    // SAFETY: the domain has keys of four bytes and more; the place is writable; the copy has four bytes.
    unsafe {
        let copy: *mut c_char = libc::malloc(4).cast();
        std::ptr::copy_nonoverlapping(key, copy, 4);
        *len = 4;
        copy
    }
}

/// Returns the first four bytes in lower case, in memory that the next call on the thread uses again.
unsafe extern "C" fn lower_copy_4(_: Any, key: *const c_char, _: usize, len: *mut usize) -> *mut c_char {
    thread_local!(static PLACE: *mut c_char = Box::leak(Box::new([0; 4])).as_mut_ptr());
    PLACE.with(|place| {
        // SAFETY: the domain has keys of four bytes and more; the place has four bytes and belongs to this thread.
        unsafe {
            for at in 0..4 {
                *place.add(at) = (*key.add(at)).cast_unsigned().to_ascii_lowercase().cast_signed();
            }
            *len = 4;
            *place
        }
    })
}

unsafe extern "C" fn garbage(_: Any, key: *const c_char, len: usize, prefix: *mut usize) -> *mut c_char {
    // SAFETY: the place is writable, and the key has `len` bytes.
    unsafe {
        match *key {
            // Null.
            98 => *prefix = 4,
            // An end after the end of the key.
            99 => {
                *prefix = len;
                return key.cast_mut().wrapping_add(1);
            }
            // A length above the address space.
            100 => {
                *prefix = usize::MAX;
                return key.cast_mut();
            }
            _ => *prefix = 0,
        }
        null_mut()
    }
}

/// Writes keys to a database with a filter of keys and prefixes, and flushes them.
///
/// # Safety
/// The functions follow the contract of prefix extractors.
unsafe fn filled(
    path: &Path,
    transform: Transform,
    name: unsafe extern "C" fn(Any) -> *const c_char,
    keys: &[&str],
) -> Db {
    let path = c_path(path);
    // SAFETY: all handles are live where they are used; each is destroyed once.
    unsafe {
        let options = options();
        let extractor = rocksdb_slicetransform_create(
            null_mut(),
            Some(kept),
            Some(transform),
            Some(longer_than_3),
            Some(name),
        );
        rocksdb_options_set_prefix_extractor(options, extractor);
        let table = rocksdb_block_based_options_create();
        rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10.0));
        rocksdb_options_set_block_based_table_factory(options, table);
        rocksdb_block_based_options_destroy(table);
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        keys.iter().for_each(|key| db.put(key, key));
        let flush = rocksdb_flushoptions_create();
        ok(|err| rocksdb_flush(db.handle, flush, err));
        rocksdb_flushoptions_destroy(flush);
        rocksdb_options_destroy(options);
        db
    }
}

/// Returns the keys from `start` that have its prefix.
fn keys_with_prefix_of(db: &Db, start: &str) -> Vec<String> {
    let mut keys = Vec::new();
    // SAFETY: the handles are live and are destroyed once; the iterator is valid where its key is read.
    unsafe {
        let read = rocksdb_readoptions_create();
        rocksdb_readoptions_set_prefix_same_as_start(read, 1);
        let iter = rocksdb_create_iterator(db.handle, read);
        rocksdb_iter_seek(iter, start.as_ptr().cast(), start.len());
        while rocksdb_iter_valid(iter) == 1 {
            let mut len = 0;
            let key = rocksdb_iter_key(iter, &raw mut len);
            keys.push(String::from_utf8_lossy(std::slice::from_raw_parts(key.cast(), len)).into_owned());
            rocksdb_iter_next(iter);
        }
        ok(|err| rocksdb_iter_get_error(iter, err));
        rocksdb_iter_destroy(iter);
        rocksdb_readoptions_destroy(read);
    }
    keys
}

const KEYS: [&str; 6] = ["aa", "aaaa1", "aaaa2", "bbbb1", "bbbb2", "cccc1"];

#[test]
fn prefix_in_memory_of_the_program_limits_seeks() {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: the functions return four readable bytes for a key of the domain.
    let db = unsafe { filled(&dir.path().join("db"), copy_4, fixed_4, &KEYS) };
    assert_eq!(keys_with_prefix_of(&db, "aaaa"), ["aaaa1", "aaaa2"]);
    assert_eq!(keys_with_prefix_of(&db, "bbbb2"), ["bbbb2"]);
    assert_eq!(keys_with_prefix_of(&db, "bbbc"), [""; 0]);
    assert!(KEYS.iter().all(|key| db.get(key).as_deref() == Some(key)));
}

#[test]
fn prefix_that_is_not_the_front_of_its_key_is_copied() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ["AAaa1", "aaAA2", "aaaa3", "bbbb1"];
    // SAFETY: the functions return four readable bytes for a key of the domain.
    let db = unsafe { filled(&dir.path().join("db"), lower_copy_4, lower_4, &keys) };
    assert_eq!(keys_with_prefix_of(&db, "aaAA"), ["aaAA2", "aaaa3"]);
    assert!(keys.iter().all(|key| db.get(key).as_deref() == Some(key)));
    assert_eq!(db.get("cccc1"), None);
}

#[test]
fn prefix_that_is_not_valid_means_a_key_without_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ["aaaa1", "bbbb1", "cccc1", "dddd1"];
    // SAFETY: the test is about functions that break the contract in ways that the library detects.
    let db = unsafe { filled(&dir.path().join("db"), garbage, lower_4, &keys) };
    assert!(keys.iter().all(|key| db.get(key).as_deref() == Some(key)));
    assert_eq!(keys_with_prefix_of(&db, "aaaa"), ["aaaa1"]);
}

#[test]
fn rocksdb_finds_keys_by_prefixes_that_the_program_copied() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    // SAFETY: the functions return four readable bytes for a key of the domain.
    drop(unsafe { filled(&path, copy_4, fixed_4, &KEYS) });
    let text = "prefix_extractor=rocksdb.FixedPrefix.4;\
                block_based_table_factory={filter_policy=bloomfilter:10}";
    let families = [("default".to_string(), text.to_string())];
    let (db, families) = PeerDb::open(&library, &path, "", &families, true).unwrap();
    for key in KEYS {
        let reading = Reading { same_prefix: true, ..Reading::default() };
        let mut iter = db.iter(&families[0], &reading);
        iter.seek(key.as_bytes());
        assert_eq!(iter.row().map(|(found, _)| found).as_deref(), Some(key.as_bytes()));
        let value = db.get(&families[0], key.as_bytes(), &Reading::default()).unwrap();
        assert_eq!(value.as_deref(), Some(key.as_bytes()));
    }
}
