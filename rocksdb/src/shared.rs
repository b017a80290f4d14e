//! [`Shared`]: an object of the application that threads of the database use, without a proof by the types.
//!
//! Threads of the database call comparators, factories of compaction filters and their filters. The signatures of the crate
//! `rocksdb` do not require `Send` and `Sync` for these objects, and programs depend on this: a factory may hold an `Rc`, or
//! may be generic over a type that is not `Send`. So this crate cannot add the bounds. [`Shared`] adds `Send` and `Sync`
//! instead. [`Shared`] is the only `unsafe` code of this crate.

use std::ops::{Deref, DerefMut};

/// An object that several threads of the database use. Any of these threads may drop the object.
pub(crate) struct Shared<T: ?Sized>(Box<T>);

impl<T: ?Sized> Shared<T> {
    /// Shares an object.
    pub fn new(object: Box<T>) -> Self {
        Shared(object)
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

// SAFETY: the types do not prove that the object may move to another thread. `Options::set_comparator` and
// `Options::set_compaction_filter_factory` document that the caller must pass such an object, as RocksDB requires.
unsafe impl<T: ?Sized> Send for Shared<T> {}

// SAFETY: the types do not prove that several threads may use the object at a time. `Options::set_comparator` documents that the
// caller must pass such a function, as RocksDB requires. Factories and filters are in a mutex, so only one thread uses them.
unsafe impl<T: ?Sized> Sync for Shared<T> {}
