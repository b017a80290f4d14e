//! Reads of several keys: one sequence number for all column families, and an error for each key if the whole call fails.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use crate::calls::*;

type Read = unsafe extern "C" fn(
    Any,
    *const c_void,
    usize,
    *const *const c_char,
    *const usize,
    *mut *mut c_char,
    *mut usize,
    *mut *mut c_char,
);
type ReadFamilies = unsafe extern "C" fn(
    Any,
    *const c_void,
    *const *const rocksdb_column_family_handle_t,
    usize,
    *const *const c_char,
    *const usize,
    *mut *mut c_char,
    *mut usize,
    *mut *mut c_char,
);
type FullMerge = unsafe extern "C" fn(
    Any,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;
type PartialMerge = unsafe extern "C" fn(
    Any,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;

macro_rules! functions {
    ($kind:ident: $($name:ident)*) => {
        unsafe extern "C" {$(
            #[allow(clippy::too_many_arguments)]
            fn $name();
        )*}

        // SAFETY: the C library declares each function with the parameters of the type.
        const $kind: &[unsafe extern "C" fn()] = &[$($name),*];
    };
}
functions! { READS:
    rocksdb_multi_get rocksdb_transactiondb_multi_get rocksdb_transaction_multi_get
    rocksdb_transaction_multi_get_for_update
}
functions! { FAMILY_READS:
    rocksdb_multi_get_cf rocksdb_transactiondb_multi_get_cf rocksdb_transaction_multi_get_cf
    rocksdb_transaction_multi_get_for_update_cf
}

unsafe extern "C" {
    fn rocksdb_mergeoperator_create(
        state: Any,
        destructor: Option<unsafe extern "C" fn(Any)>,
        full_merge: Option<FullMerge>,
        partial_merge: Option<PartialMerge>,
        delete_value: Option<unsafe extern "C" fn(Any, *const c_char, usize)>,
        name: Option<unsafe extern "C" fn(Any) -> *const c_char>,
    ) -> Any;
    fn rocksdb_options_set_merge_operator(options: *mut rocksdb_options_t, operator: Any);
    fn rocksdb_transactiondb_open_column_families(
        options: *const rocksdb_options_t,
        transactions: Any,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const *const rocksdb_options_t,
        handles: *mut *mut rocksdb_column_family_handle_t,
        err: *mut *mut c_char,
    ) -> Any;
    fn rocksdb_transactiondb_put_cf(
        db: Any,
        options: *const c_void,
        family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
    fn rocksdb_transactiondb_merge_cf(
        db: Any,
        options: *const c_void,
        family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: *mut *mut c_char,
    );
}

/// The places for the results of two keys, filled with pointers that no call returns.
struct Places {
    values: [*mut c_char; 2],
    lens: [usize; 2],
    errors: [*mut c_char; 2],
}

impl Places {
    fn unwritten() -> Places {
        let pointer = std::ptr::dangling_mut();
        Places { values: [pointer; 2], lens: [77; 2], errors: [pointer; 2] }
    }

    /// Takes the errors after a call that failed as a whole.
    fn failed(self) -> [String; 2] {
        assert_eq!((self.values, self.lens), ([null_mut(); 2], [0; 2]));
        self.errors.map(|error| {
            assert_ne!(error, std::ptr::dangling_mut(), "the place is unwritten");
            taken(error)
        })
    }
}

const KEYS: [*const c_char; 2] = [c"a".as_ptr(), c"b".as_ptr()];
const LENS: [usize; 2] = [1, 1];

#[test]
fn each_key_gets_the_error_of_a_read_without_a_database() {
    let expected =
        |error: &str| error.starts_with("Invalid argument: rocksdb_") && error.ends_with(" is null");
    for function in READS {
        let mut places = Places::unwritten();
        let Places { values, lens, errors } = &mut places;
        let (values, lens, errors) = (values.as_mut_ptr(), lens.as_mut_ptr(), errors.as_mut_ptr());
        // SAFETY: the function has these parameters; null handles are allowed; the arrays have two items.
        unsafe {
            let function: Read = std::mem::transmute(*function);
            function(null_mut(), null(), 2, KEYS.as_ptr(), LENS.as_ptr(), values, lens, errors);
        }
        let errors = places.failed();
        assert!(errors.iter().all(|error| expected(error)), "{errors:?}");
    }
    for function in FAMILY_READS {
        let mut places = Places::unwritten();
        let Places { values, lens, errors } = &mut places;
        let (values, lens, errors) = (values.as_mut_ptr(), lens.as_mut_ptr(), errors.as_mut_ptr());
        // SAFETY: the function has these parameters; null handles are allowed; the arrays have two items.
        unsafe {
            let function: ReadFamilies = std::mem::transmute(*function);
            let families = [null(); 2];
            let (keys, sizes) = (KEYS.as_ptr(), LENS.as_ptr());
            function(null_mut(), null(), families.as_ptr(), 2, keys, sizes, values, lens, errors);
        }
        let errors = places.failed();
        assert!(errors.iter().all(|error| expected(error)), "{errors:?}");
    }
}

/// The database that the merge operator writes to, and the column family.
struct During {
    db: Any,
    family: *mut rocksdb_column_family_handle_t,
    write: Any,
}

// SAFETY: the test uses the handles on one thread at a time.
unsafe impl Send for During {}

/// Writes "new" to the key `b` during the first merge, and returns the last operand.
unsafe extern "C" fn write_during_merge(
    state: Any,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    operands: *const *const c_char,
    lens: *const usize,
    count: c_int,
    success: *mut u8,
    len: *mut usize,
) -> *mut c_char {
    // SAFETY: the state is the `Mutex` of the test, the arrays have `count` items, and the places are writable.
    unsafe {
        let during = (*state.cast::<Mutex<Option<During>>>()).lock().unwrap().take();
        if let Some(During { db, family, write }) = during {
            let (key, value) = (c"b".as_ptr(), c"new".as_ptr());
            ok(|err| rocksdb_transactiondb_put_cf(db, write, family, key, 1, value, 3, err));
        }
        let last = usize::try_from(count).unwrap() - 1;
        *len = *lens.add(last);
        *success = 1;
        let copy: *mut c_char = libc::malloc((*len).max(1)).cast();
        std::ptr::copy_nonoverlapping(*operands.add(last), copy, *len);
        copy
    }
}

unsafe extern "C" fn no_partial_merge(
    _: Any,
    _: *const c_char,
    _: usize,
    _: *const *const c_char,
    _: *const usize,
    _: c_int,
    success: *mut u8,
    _: *mut usize,
) -> *mut c_char {
    // SAFETY: the library passes a writable place.
    unsafe { *success = 0 };
    null_mut()
}

unsafe extern "C" fn kept(_: Any) {}

unsafe extern "C" fn name(_: Any) -> *const c_char {
    c"last".as_ptr()
}

#[test]
fn multi_get_of_a_transaction_database_reads_all_families_at_one_sequence_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let during: Mutex<Option<During>> = Mutex::new(None);
    // SAFETY: all handles are live where they are used; each is destroyed once; arrays have the passed lengths.
    unsafe {
        let options = options();
        let state = (&raw const during).cast_mut().cast();
        let operator = rocksdb_mergeoperator_create(
            state,
            Some(kept),
            Some(write_during_merge),
            Some(no_partial_merge),
            None,
            Some(name),
        );
        rocksdb_options_set_merge_operator(options, operator);
        let transactions = rocksdb_transactiondb_options_create();
        let names = [c"default".as_ptr(), c"other".as_ptr()];
        let each = [options.cast_const(); 2];
        let mut families = [null_mut(); 2];
        let db = ok(|err| {
            let (names, each, families) = (names.as_ptr(), each.as_ptr(), families.as_mut_ptr());
            rocksdb_transactiondb_open_column_families(
                options,
                transactions,
                path.as_ptr(),
                2,
                names,
                each,
                families,
                err,
            )
        });
        let (write, read) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
        let (a, b, old) = (c"a".as_ptr(), c"b".as_ptr(), c"old".as_ptr());
        ok(|err| rocksdb_transactiondb_merge_cf(db, write, families[0], a, 1, a, 1, err));
        ok(|err| rocksdb_transactiondb_put_cf(db, write, families[1], b, 1, old, 3, err));
        *during.lock().unwrap() = Some(During { db, family: families[1], write });

        let mut places = Places::unwritten();
        let Places { values, lens, errors } = &mut places;
        let read_families: ReadFamilies =
            std::mem::transmute(rocksdb_transactiondb_multi_get_cf as unsafe extern "C" fn());
        let handles = families.map(|family| family.cast_const());
        let (values, lens, errors) = (values.as_mut_ptr(), lens.as_mut_ptr(), errors.as_mut_ptr());
        read_families(db, read, handles.as_ptr(), 2, KEYS.as_ptr(), LENS.as_ptr(), values, lens, errors);
        assert_eq!(places.errors, [null_mut(); 2]);
        assert!(during.lock().unwrap().is_none(), "no merge ran during the read");
        let value = std::slice::from_raw_parts(places.values[1].cast::<u8>(), places.lens[1]);
        assert_eq!(CString::new(value).unwrap().as_c_str(), c"old");

        places.values.iter().for_each(|value| rocksdb_free(value.cast()));
        families.iter().for_each(|family| rocksdb_column_family_handle_destroy(*family));
        rocksdb_transactiondb_close(db);
        rocksdb_transactiondb_options_destroy(transactions);
        rocksdb_writeoptions_destroy(write);
        rocksdb_readoptions_destroy(read);
        rocksdb_options_destroy(options);
    }
}
