//! Comparators of the program: the order of keys.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_void};

use base::order::{Comparator, Order};

use crate::abi::exception::guarded;
use crate::abi::{Owned, State};
use crate::callbacks::{
    rocksdb_compare_cb, rocksdb_compare_without_ts_cb, rocksdb_destructor_cb, rocksdb_name_cb,
};

/// A comparator.
pub struct rocksdb_comparator_t {
    pub(crate) order: Order,
}

/// A comparator that calls functions of the program.
struct CComparator {
    state: State,
    name: String,
    compare: rocksdb_compare_cb,
    timestamps: Option<Timestamps>,
}

struct Timestamps {
    size: usize,
    compare: rocksdb_compare_cb,
    compare_without: rocksdb_compare_without_ts_cb,
}

impl CComparator {
    fn call(&self, compare: rocksdb_compare_cb, a: &[u8], b: &[u8]) -> Ordering {
        let (a_data, b_data): (*const c_char, *const c_char) = (a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: the program handed in this function for this state; both pointers have as many readable bytes as the
        // lengths say.
        let answer: c_int =
            guarded("compare", || unsafe { compare(self.state.pointer(), a_data, a.len(), b_data, b.len()) });
        answer.cmp(&0)
    }

    fn call_without(&self, timestamps: &Timestamps, a: &[u8], b: &[u8], has_ts: bool) -> Ordering {
        let has_ts = u8::from(has_ts);
        let (a_data, b_data): (*const c_char, *const c_char) = (a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: the program handed in this function for this state. Both pointers have as many readable bytes as
        // the lengths say.
        let answer = guarded("compare_without_ts", || unsafe {
            (timestamps.compare_without)(
                self.state.pointer(),
                a_data,
                a.len(),
                has_ts,
                b_data,
                b.len(),
                has_ts,
            )
        });
        answer.cmp(&0)
    }
}

impl Comparator for CComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.call(self.compare, a, b)
    }

    fn timestamp_size(&self) -> usize {
        self.timestamps.as_ref().map_or(0, |timestamps| timestamps.size)
    }

    fn compare_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.timestamps {
            Some(timestamps) => self.call(timestamps.compare, a, b),
            None => Ordering::Equal,
        }
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.timestamps {
            Some(timestamps) => self.call_without(timestamps, a, b, true),
            None => self.compare(a, b),
        }
    }

    fn compare_stripped(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.timestamps {
            Some(timestamps) => self.call_without(timestamps, a, b, false),
            None => self.compare(a, b),
        }
    }
}

/// Returns the name that the callback returns. Returns `fallback` if the callback or its result is null.
///
/// The callback is called once, when the object is created.
pub(crate) fn name_of(name: Option<rocksdb_name_cb>, state: *mut c_void, fallback: &str) -> String {
    let Some(name) = name else { return fallback.to_string() };
    // SAFETY: the program handed in this function for this state.
    let text = guarded("name", || unsafe { name(state) });
    if text.is_null() {
        return fallback.to_string();
    }
    // SAFETY: the answer is not null; the header requires a string that ends with NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

c_api! {
    /// Creates a comparator. `destructor` runs once, when no database and no options use the comparator.
    fn rocksdb_comparator_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, compare: call rocksdb_compare_cb,
        name: call rocksdb_name_cb
    ) -> Option<Owned<rocksdb_comparator_t>> {
        let name = name_of(name, state, "rocksdb.CComparator");
        let state = State::new(state, destructor);
        compare.map(|compare| {
            let comparator = CComparator { state, name, compare, timestamps: None };
            Owned(rocksdb_comparator_t { order: Order::custom(comparator) })
        })
    }

    /// Creates a comparator of keys that end with a timestamp of `timestamp_size` bytes.
    fn rocksdb_comparator_with_ts_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, compare: call rocksdb_compare_cb,
        compare_ts: call rocksdb_compare_cb, compare_without_ts: call rocksdb_compare_without_ts_cb,
        name: call rocksdb_name_cb, timestamp_size: usize
    ) -> Option<Owned<rocksdb_comparator_t>> {
        let name = name_of(name, state, "rocksdb.CComparator");
        let state = State::new(state, destructor);
        match (compare, compare_ts, compare_without_ts) {
            (Some(compare), Some(compare_ts), Some(compare_without)) => {
                let timestamps = Timestamps { size: timestamp_size, compare: compare_ts, compare_without };
                let comparator = CComparator { state, name, compare, timestamps: Some(timestamps) };
                Some(Owned(rocksdb_comparator_t { order: Order::custom(comparator) }))
            }
            _ => None,
        }
    }

    /// Destroys the handle. Databases that use the comparator keep it. Accepts null.
    fn rocksdb_comparator_destroy(comparator: own rocksdb_comparator_t) {
        drop(comparator)
    }
}
