//! The destructor of a state runs exactly once: for each function that takes a state, with its functions null and given.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

// The functions are symbols of this crate.
use ironstone_c_calls as _;

type Any = *mut c_void;
type Destructor = unsafe extern "C" fn(Any);

unsafe extern "C" fn count(state: Any) {
    // SAFETY: the state is a live counter.
    unsafe { &*state.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn never_called() {
    std::process::abort();
}

/// Declares the functions with their number of functions after the destructor, and a table of calls.
macro_rules! creates {
    ($($create:ident($($call:ident)*) / $destroy:ident;)*) => {
        unsafe extern "C" {
            $(fn $create(state: Any, destructor: Destructor $(, $call: Any)*) -> Any;)*
        }

        mod destroy {
            unsafe extern "C" {
                $(pub fn $destroy(handle: super::Any);)*
            }
        }

        /// The name of each function, the call, and the end of the handle.
        #[allow(clippy::type_complexity)]
        const CREATES: &[(&str, unsafe fn(Any, Any) -> Any, unsafe extern "C" fn(Any))] = &[$(
            (
                stringify!($create),
                // SAFETY: the state is a live counter; each function is null or is never called.
                |state, call| unsafe { $create(state, count $(, { let $call = call; $call })*) },
                destroy::$destroy,
            ),
        )*];
    };
}

creates! {
    rocksdb_comparator_create(a b) / rocksdb_comparator_destroy;
    rocksdb_mergeoperator_create(a b c d) / rocksdb_mergeoperator_destroy;
    rocksdb_compactionfilter_create(a b) / rocksdb_compactionfilter_destroy;
    rocksdb_compactionfilterfactory_create(a b) / rocksdb_compactionfilterfactory_destroy;
    rocksdb_slicetransform_create(a b c) / rocksdb_slicetransform_destroy;
    rocksdb_eventlistener_create(a b c d e f g h i j) / rocksdb_eventlistener_destroy;
    rocksdb_walfilter_create(a b c) / rocksdb_walfilter_destroy;
}

unsafe extern "C" {
    fn rocksdb_compactionservice_create(
        state: Any,
        destructor: Destructor,
        schedule: Any,
        name: Any,
        wait: Any,
        cancel: Any,
        installed: Any,
    ) -> Any;
    fn rocksdb_options_create() -> Any;
    fn rocksdb_options_create_copy(options: Any) -> Any;
    fn rocksdb_options_destroy(options: Any);
    fn rocksdb_options_set_compaction_service(options: Any, service: Any);
    fn rocksdb_readoptions_create() -> Any;
    fn rocksdb_readoptions_destroy(options: Any);
    fn rocksdb_readoptions_set_table_filter(options: Any, state: Any, destructor: Destructor, filter: Any);
}

#[test]
fn destructor_of_each_state_runs_once() {
    for (name, create, destroy) in CREATES {
        for call in [null_mut(), never_called as *mut c_void] {
            // The name of an object is a function too, and a creation calls it: only null is possible for it.
            if !call.is_null() && *name != "rocksdb_eventlistener_create" {
                continue;
            }
            let destroyed = AtomicUsize::new(0);
            // SAFETY: the counter lives longer than the handle, which is destroyed once; null is allowed.
            unsafe {
                let handle = create((&raw const destroyed).cast_mut().cast(), call);
                assert_eq!(destroyed.load(Ordering::SeqCst), usize::from(handle.is_null()), "{name}");
                destroy(handle);
            }
            assert_eq!(destroyed.load(Ordering::SeqCst), 1, "{name}");
        }
    }
}

#[test]
fn destructor_of_a_table_filter_runs_once() {
    let (first, second) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // SAFETY: the counters live longer than the options, which are destroyed once.
    unsafe {
        let options = rocksdb_readoptions_create();
        for state in [&first, &second] {
            let state = (&raw const *state).cast_mut().cast();
            rocksdb_readoptions_set_table_filter(options, state, count, never_called as *mut c_void);
        }
        assert_eq!((first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)), (1, 0));
        rocksdb_readoptions_destroy(options);
    }
    assert_eq!((first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)), (1, 1));
}

#[test]
fn destructor_of_a_compaction_service_runs_with_the_last_options() {
    let destroyed = AtomicUsize::new(0);
    // SAFETY: the counter is live; the other functions are null. The options are not used after their destruction.
    unsafe {
        let (state, none) = ((&raw const destroyed).cast_mut().cast(), null_mut());
        let service = rocksdb_compactionservice_create(state, count, none, none, none, none, none);
        let options = rocksdb_options_create();
        rocksdb_options_set_compaction_service(options, service);
        let copy = rocksdb_options_create_copy(options);
        rocksdb_options_destroy(options);
        assert_eq!(destroyed.load(Ordering::SeqCst), 0);
        rocksdb_options_destroy(copy);
    }
    assert_eq!(destroyed.load(Ordering::SeqCst), 1);
}

unsafe extern "C" {
    fn rocksdb_options_set_create_if_missing(options: Any, value: u8);
    fn rocksdb_options_add_eventlistener(options: Any, listener: Any);
    fn rocksdb_open(options: Any, name: *const c_char, error: *mut *mut c_char) -> Any;
    fn rocksdb_close(db: Any);
    fn rocksdb_get_default_column_family_handle(db: Any) -> Any;
    fn rocksdb_column_family_handle_destroy(handle: Any);
    fn rocksdb_column_family_handle_get_id(handle: Any) -> u32;
    fn rocksdb_writebatch_wi_create(reserved_bytes: usize, overwrite: u8) -> Any;
    fn rocksdb_writebatch_wi_put_cf(
        batch: Any,
        family: Any,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        len: usize,
    );
    fn rocksdb_writebatch_wi_count(batch: Any) -> i32;
    fn rocksdb_writebatch_wi_destroy(batch: Any);
}

#[test]
fn handle_of_the_default_column_family_does_not_keep_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(dir.path().join("db").as_os_str().as_encoded_bytes()).unwrap();
    let (destroyed, none) = (AtomicUsize::new(0), null_mut());
    // SAFETY: the counter lives longer than the listener; each handle is destroyed once and is not used afterwards.
    unsafe {
        let options = rocksdb_options_create();
        rocksdb_options_set_create_if_missing(options, 1);
        let state = (&raw const destroyed).cast_mut().cast();
        let listener = rocksdb_eventlistener_create(
            state, count, none, none, none, none, none, none, none, none, none, none,
        );
        rocksdb_options_add_eventlistener(options, listener);
        let mut error = null_mut();
        let db = rocksdb_open(options, path.as_ptr(), &raw mut error);
        assert!(error.is_null());
        rocksdb_options_destroy(options);
        let family = rocksdb_get_default_column_family_handle(db);
        let put = || {
            let batch = rocksdb_writebatch_wi_create(0, 1);
            rocksdb_writebatch_wi_put_cf(batch, family, c"k".as_ptr(), 1, c"v".as_ptr(), 1);
            let count = rocksdb_writebatch_wi_count(batch);
            rocksdb_writebatch_wi_destroy(batch);
            count
        };
        assert_eq!((put(), destroyed.load(Ordering::SeqCst)), (1, 0));
        rocksdb_close(db);
        assert_eq!(destroyed.load(Ordering::SeqCst), 1);
        assert_eq!((put(), rocksdb_column_family_handle_get_id(family)), (0, 0));
        rocksdb_column_family_handle_destroy(family);
    }
}
