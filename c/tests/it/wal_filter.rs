//! WAL filters: functions of the program that skip, replace or reject WAL records during recovery.

use std::ffi::{c_char, c_int, c_ulonglong, c_void};
use std::ptr::null_mut;

use crate::calls::*;

type FamiliesCall = unsafe extern "C" fn(
    *mut c_void,
    *const u32,
    *const u64,
    usize,
    *const *const c_char,
    *const usize,
    *const u32,
    usize,
);
type RecordCall = unsafe extern "C" fn(
    *mut c_void,
    c_ulonglong,
    *const c_char,
    usize,
    *const c_void,
    *mut c_void,
    *mut u8,
) -> c_int;

unsafe extern "C" {
    fn rocksdb_walfilter_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        families: Option<FamiliesCall>,
        record: Option<RecordCall>,
        name: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    ) -> *mut c_void;
    fn rocksdb_walfilter_destroy(filter: *mut c_void);
    fn rocksdb_options_set_wal_filter(options: *mut rocksdb_options_t, filter: *mut c_void);
    fn rocksdb_options_clear_wal_filter(options: *mut rocksdb_options_t);
    fn rocksdb_writebatch_count(batch: *const c_void) -> c_int;
    fn rocksdb_writebatch_data(batch: *const c_void, size: *mut usize) -> *const c_char;
    fn rocksdb_writebatch_put(
        batch: *mut c_void,
        k: *const c_char,
        klen: usize,
        v: *const c_char,
        vlen: usize,
    );
}

/// The state of a filter: the decision about the record at [`State::at`], and the records that the filter got.
struct State {
    at: usize,
    answer: c_int,
    replaces: bool,
    paths: Vec<String>,
    families: Vec<(String, u32)>,
    destroyed: usize,
}

impl State {
    fn new(at: usize, answer: c_int, replaces: bool) -> State {
        State { at, answer, replaces, paths: Vec::new(), families: Vec::new(), destroyed: 0 }
    }
}

/// # Safety
/// `bytes` has `len` readable bytes.
unsafe fn text(bytes: *const c_char, len: usize) -> String {
    // SAFETY: by the contract.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(bytes.cast(), len) }).into_owned()
}

unsafe extern "C" fn destroyed(state: *mut c_void) {
    // SAFETY: the test handed in a live `State`, and no other reference to it exists during the call.
    unsafe { (*state.cast::<State>()).destroyed += 1 };
}

unsafe extern "C" fn name(_: *mut c_void) -> *const c_char {
    c"Audit".as_ptr()
}

unsafe extern "C" fn families(
    state: *mut c_void,
    ids: *const u32,
    wals: *const u64,
    count: usize,
    names: *const *const c_char,
    lens: *const usize,
    name_ids: *const u32,
    name_count: usize,
) {
    // SAFETY: the state is a live `State`; the library hands in arrays of `count` and `name_count` items.
    unsafe {
        let by_id = std::slice::from_raw_parts(ids, count);
        assert!(by_id.is_sorted());
        assert!(std::slice::from_raw_parts(wals, count).iter().all(|wal| *wal > 0));
        for at in 0..name_count {
            let named = (text(*names.add(at), *lens.add(at)), *name_ids.add(at));
            (*state.cast::<State>()).families.push(named);
        }
    }
}

unsafe extern "C" fn record(
    state: *mut c_void,
    wal: c_ulonglong,
    path: *const c_char,
    len: usize,
    old: *const c_void,
    new: *mut c_void,
    changed: *mut u8,
) -> c_int {
    // SAFETY: the state is a live `State`; the library hands in live batches, a live flag, and a path of `len` bytes.
    unsafe {
        let state = &mut *state.cast::<State>();
        let path = text(path, len);
        assert!(path.ends_with(&format!("{wal:06}.log")), "{path}");
        assert_eq!(rocksdb_writebatch_count(old), 1);
        // A header of 12 bytes and one put, as the program wrote the batch: without the marks of the WAL.
        let mut size = 0;
        rocksdb_writebatch_data(old, &raw mut size);
        assert_eq!(size, 12 + 1 + 2 + 4);
        state.paths.push(path);
        if state.paths.len() != state.at + 1 {
            return 0;
        }
        if state.replaces {
            rocksdb_writebatch_put(new, c"b".as_ptr(), 1, c"changed".as_ptr(), 7);
            *changed = 1;
        }
        state.answer
    }
}

/// Writes `a`, `b` and `c`, and opens with the filter. Returns the values after the open, or the error.
fn replayed(state: &mut State) -> Result<[Option<String>; 3], String> {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let (options, state, mut error) = (options(), &raw mut *state, null_mut());
    // SAFETY: all handles are live where they are used; each is destroyed once; the state outlives the filter.
    unsafe {
        let db = Db::new(ok(|err| rocksdb_open(options, path.as_ptr(), err)));
        let users = ok(|err| rocksdb_create_column_family(db.handle, options, c"audit".as_ptr(), err));
        rocksdb_column_family_handle_destroy(users);
        ["a", "b", "c"].iter().for_each(|key| db.put(key, "old"));
        drop(db);

        let filter =
            rocksdb_walfilter_create(state.cast(), Some(destroyed), Some(families), Some(record), Some(name));
        rocksdb_options_set_wal_filter(options, filter);
        let handle = open_both(options, &path, &raw mut error);
        let answer = if error.is_null() {
            let db = Db::new(handle);
            Ok(["a", "b", "c"].map(|key| db.get(key)))
        } else {
            Err(taken(error))
        };
        rocksdb_options_clear_wal_filter(options);
        assert_eq!((*state).destroyed, 0);
        rocksdb_walfilter_destroy(filter);
        assert_eq!((*state).destroyed, 1);
        rocksdb_options_destroy(options);
        answer
    }
}

/// # Safety
/// `options` is a live handle.
unsafe fn open_both(
    options: *mut rocksdb_options_t,
    path: &std::ffi::CStr,
    error: *mut *mut c_char,
) -> *mut rocksdb_t {
    let (names, mut handles) = ([c"default".as_ptr(), c"audit".as_ptr()], [null_mut(); 2]);
    let each = [options.cast_const(); 2];
    // SAFETY: the arrays have two items, and the options are live by the contract; each handle is destroyed once.
    unsafe {
        let db = rocksdb_open_column_families(
            options,
            path.as_ptr(),
            2,
            names.as_ptr(),
            each.as_ptr(),
            handles.as_mut_ptr(),
            error,
        );
        if !db.is_null() {
            handles.iter().for_each(|handle| rocksdb_column_family_handle_destroy(*handle));
        }
        db
    }
}

fn values(values: [&str; 3]) -> Result<[Option<String>; 3], String> {
    Ok(values.map(|value| (!value.is_empty()).then(|| value.to_string())))
}

#[test]
fn answer_decides_about_the_record() {
    for (answer, kept) in [
        (0, ["old", "old", "old"]), // rocksdb_wal_filter_continue_processing
        (1, ["old", "", "old"]),    // rocksdb_wal_filter_ignore_current_record
        (2, ["old", "", ""]),       // rocksdb_wal_filter_stop_replay
    ] {
        let mut state = State::new(1, answer, false);
        assert_eq!(replayed(&mut state), values(kept), "answer {answer}");
    }
}

#[test]
fn new_batch_replaces_the_record_only_if_the_replay_continues() {
    assert_eq!(replayed(&mut State::new(1, 0, true)), values(["old", "changed", "old"]));
    assert_eq!(replayed(&mut State::new(1, 1, true)), values(["old", "", "old"]));
}

#[test]
fn filter_sees_each_record_and_the_names_of_the_column_families_in_order() {
    let mut state = State::new(usize::MAX - 1, 0, false);
    replayed(&mut state).unwrap();
    assert_eq!(state.paths.len(), 3);
    assert_eq!(state.families, [("audit".to_string(), 1), ("default".to_string(), 0)]);
}

#[test]
fn rejected_record_and_an_unknown_answer_are_damage() {
    for answer in [3, 7] {
        let error = replayed(&mut State::new(1, answer, false)).unwrap_err();
        assert!(error.starts_with("Corruption: "), "{error}");
        assert!(error.contains("Corruption reported by Wal Filter : Audit"), "{error}");
    }
}
