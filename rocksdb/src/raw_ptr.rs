//! Pointers to the value inside a handle, for the cargo feature `raw-ptr`.
//!
//! The crate `rocksdb` returns pointers of the C library. There is no C library here: the pointers are to values of
//! `ironstone`. A pointer is valid until the handle changes or is dropped.

use std::ptr::from_ref;

use crate::{DB, Env, Options};

/// A handle that can return a pointer to its inner value.
pub trait AsRawPtr<T> {
    /// Returns a pointer to the inner value. The handle still owns the value.
    fn as_raw_ptr(&self) -> *mut T;
}

impl AsRawPtr<crate::base::Base> for DB {
    fn as_raw_ptr(&self) -> *mut crate::base::Base {
        from_ref(self.base()).cast_mut()
    }
}

impl AsRawPtr<ironstone::Options> for Options {
    fn as_raw_ptr(&self) -> *mut ironstone::Options {
        from_ref(&self.inner).cast_mut()
    }
}

impl AsRawPtr<ironstone::env::Env> for Env {
    fn as_raw_ptr(&self) -> *mut ironstone::env::Env {
        from_ref(&self.0).cast_mut()
    }
}
