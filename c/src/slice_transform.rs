//! Prefix extractors.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

use base::order::{BuiltinPrefix, PrefixExtractor};

use crate::abi::exception::guarded;
use crate::abi::{Owned, State, arguments};
use crate::callbacks::{rocksdb_destructor_cb, rocksdb_in_domain_cb, rocksdb_name_cb, rocksdb_transform_cb};
use crate::comparator::name_of;

/// A prefix extractor.
pub struct rocksdb_slicetransform_t {
    pub(crate) extractor: Arc<dyn PrefixExtractor>,
}

struct CExtractor {
    state: State,
    name: String,
    transform: rocksdb_transform_cb,
    in_domain: Option<rocksdb_in_domain_cb>,
}

impl PrefixExtractor for CExtractor {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the prefix of a key. The program can return the prefix in its own memory. Returns `None` if the returned prefix
    /// is longer than the key, or null with a length above 0.
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let data: *const c_char = key.as_ptr().cast();
        if let Some(in_domain) = self.in_domain {
            // SAFETY: the program handed in this function for this state; `data` has `key.len()` readable bytes.
            if guarded("in_domain", || unsafe { in_domain(self.state.pointer(), data, key.len()) }) == 0 {
                return None;
            }
        }
        let mut len = 0usize;
        // SAFETY: the program handed in this function for this state. `data` has `key.len()` readable bytes, and
        // `len` is a local variable.
        let prefix = guarded("transform", || unsafe {
            (self.transform)(self.state.pointer(), data, key.len(), &raw mut len)
        });
        // If the prefix is inside the key, its end must be inside the key too.
        let inside = prefix.addr().checked_sub(data.addr()).filter(|start| *start < key.len());
        if len > key.len() - inside.unwrap_or(0) {
            return None;
        }
        // SAFETY: the program returned null or a pointer to `len` readable bytes, which it keeps until its next call.
        let prefix = unsafe { arguments::bytes(prefix, len) }.ok()?;
        // A prefix is the front of its key, by the rules of prefix extractors. Other bytes are copied.
        Some(if key.starts_with(prefix) { Cow::Borrowed(&key[..len]) } else { Cow::Owned(prefix.to_vec()) })
    }
}

c_api! {
    /// Creates a prefix extractor. `transform` returns the first bytes of the key: a pointer into the key, or a pointer to a copy
    /// that is valid until the next call on the same thread. The library does not free the copy. Null with the length 0 is the
    /// empty prefix. A prefix that is longer than its key, and null with another length, mean that the key has no prefix.
    fn rocksdb_slicetransform_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, transform: call rocksdb_transform_cb,
        in_domain: call rocksdb_in_domain_cb, name: call rocksdb_name_cb
    ) -> Option<Owned<rocksdb_slicetransform_t>> {
        let name = name_of(name, state, "rocksdb.CSliceTransform");
        let state = State::new(state, destructor);
        transform.map(|transform| {
            let extractor = CExtractor { state, name, transform, in_domain };
            Owned(rocksdb_slicetransform_t { extractor: Arc::new(extractor) })
        })
    }

    /// Creates a prefix extractor of the first `length` bytes. Shorter keys have no prefix.
    fn rocksdb_slicetransform_create_fixed_prefix(length: usize) -> Owned<rocksdb_slicetransform_t> {
        Owned(rocksdb_slicetransform_t { extractor: Arc::new(BuiltinPrefix::Fixed(length)) })
    }

    /// Creates a prefix extractor of the whole key.
    fn rocksdb_slicetransform_create_noop() -> Owned<rocksdb_slicetransform_t> {
        Owned(rocksdb_slicetransform_t { extractor: Arc::new(BuiltinPrefix::Noop) })
    }

    /// Destroys a prefix extractor. Options that took ownership of an extractor destroy it themselves. Accepts null.
    fn rocksdb_slicetransform_destroy(transform: own rocksdb_slicetransform_t) {
        drop(transform)
    }
}
