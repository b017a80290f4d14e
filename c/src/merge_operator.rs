//! Merge operators of the program.

use std::ffi::{c_char, c_int, c_void};

use std::sync::Arc;

use lsm::merge::{Existing, Failure, FullMerge, MergeOperator, Merged, with_default_column};

use crate::abi::exception::{guarded, ignored};
use crate::abi::{Owned, State};
use crate::callbacks::{
    rocksdb_delete_value_cb, rocksdb_destructor_cb, rocksdb_full_merge_cb, rocksdb_name_cb,
    rocksdb_partial_merge_cb,
};
use crate::comparator::name_of;

/// A merge operator.
pub struct rocksdb_mergeoperator_t {
    pub(crate) operator: Arc<dyn MergeOperator>,
}

struct CMergeOperator {
    state: State,
    name: String,
    full: rocksdb_full_merge_cb,
    partial: Option<rocksdb_partial_merge_cb>,
    delete_value: Option<rocksdb_delete_value_cb>,
}

/// Operands as the arrays that a C function gets.
struct Operands {
    data: Vec<*const c_char>,
    lens: Vec<usize>,
    count: c_int,
}

impl Operands {
    /// Makes the arrays. Returns `None` if the number of operands does not fit in an `int`.
    fn new(operands: &[&[u8]]) -> Option<Operands> {
        Some(Operands {
            data: operands.iter().map(|operand| operand.as_ptr().cast()).collect(),
            lens: operands.iter().map(|operand| operand.len()).collect(),
            count: c_int::try_from(operands.len()).ok()?,
        })
    }
}

impl CMergeOperator {
    /// Copies the value that a merge function returned to `out` and frees the value. Returns false if the function
    /// reported no success or returned null with a length.
    fn take(&self, value: *mut c_char, len: usize, is_success: bool, out: &mut Vec<u8>) -> bool {
        // SAFETY: the header requires that the function returns null, or `len` readable bytes.
        let bytes = unsafe { crate::abi::arguments::bytes(value, len) };
        let is_taken = is_success && bytes.is_ok();
        if let (true, Ok(bytes)) = (is_success, bytes) {
            out.extend_from_slice(bytes);
        }
        if !value.is_null() {
            match self.delete_value {
                // SAFETY: the program handed in this function to free the values of its merge functions.
                Some(delete) => ignored(|| unsafe { delete(self.state.pointer(), value, len) }),
                // SAFETY: the header requires a value from `malloc` if there is no function to free values.
                None => unsafe { crate::abi::returns::free(value) },
            }
        }
        is_taken
    }

    fn full_plain(&self, merge: &FullMerge<'_>, existing: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
        let Some(operands) = Operands::new(merge.operands) else { return false };
        let existing_data = existing.map_or(std::ptr::null(), |value| value.as_ptr().cast());
        let (mut success, mut len) = (0u8, 0usize);
        // SAFETY: the program handed in this function for this state; every pointer has as many readable bytes or items
        // as its length says; the last two point to local places.
        let value = guarded("full_merge", || unsafe {
            (self.full)(
                self.state.pointer(),
                merge.key.as_ptr().cast(),
                merge.key.len(),
                existing_data,
                existing.map_or(0, <[u8]>::len),
                operands.data.as_ptr(),
                operands.lens.as_ptr(),
                operands.count,
                &raw mut success,
                &raw mut len,
            )
        });
        self.take(value, len, success != 0, out)
    }
}

impl MergeOperator for CMergeOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, Failure> {
        let plain = |existing: Option<&[u8]>, out: &mut Vec<u8>| {
            if self.full_plain(merge, existing, out) { Ok(Merged::New) } else { Err(Failure::Merge) }
        };
        match merge.existing {
            Existing::None => plain(None, out),
            Existing::Value(value) => plain(Some(value), out),
            Existing::Columns(_) => with_default_column(merge, out, plain),
        }
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let (Some(partial), Some(operands)) = (self.partial, Operands::new(operands)) else { return false };
        let (mut success, mut len) = (0u8, 0usize);
        // SAFETY: the program handed in this function for this state. Every pointer has as many readable bytes or
        // items as its length says. The last two pointers point to local variables.
        let value = guarded("partial_merge", || unsafe {
            partial(
                self.state.pointer(),
                key.as_ptr().cast(),
                key.len(),
                operands.data.as_ptr(),
                operands.lens.as_ptr(),
                operands.count,
                &raw mut success,
                &raw mut len,
            )
        });
        self.take(value, len, success != 0, out)
    }
}

c_api! {
    /// Creates a merge operator. `rocksdb_options_set_merge_operator` takes ownership of the handle.
    fn rocksdb_mergeoperator_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, full_merge: call rocksdb_full_merge_cb,
        partial_merge: call rocksdb_partial_merge_cb, delete_value: call rocksdb_delete_value_cb,
        name: call rocksdb_name_cb
    ) -> Option<Owned<rocksdb_mergeoperator_t>> {
        let name = name_of(name, state, "rocksdb.CMergeOperator");
        let state = State::new(state, destructor);
        full_merge.map(|full| {
            let operator = CMergeOperator { state, name, full, partial: partial_merge, delete_value };
            Owned(rocksdb_mergeoperator_t { operator: Arc::new(operator) })
        })
    }

    /// Destroys a merge operator. Options that took ownership of an operator destroy it themselves. Accepts null.
    fn rocksdb_mergeoperator_destroy(merge_operator: own rocksdb_mergeoperator_t) {
        drop(merge_operator)
    }
}
