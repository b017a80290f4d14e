//! A pinned cache entry.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

use super::shard::{Entry, Shard};
use super::{CacheKey, Role};

/// A pinned entry. While a handle exists, the value stays in memory and stays charged, even after the entry
/// was erased or the cache was dropped. A handle is as large as one pointer. A clone and a drop cost one
/// atomic operation each.
pub struct Handle<V: Send + Sync + 'static> {
    /// Holds one reference to the entry. The reference keeps the entry, its pool and its shard alive.
    entry: NonNull<Entry<V>>,
}

// SAFETY: a handle gives shared access to a `V` and may drop the `V`, on any thread. `V` is `Send + Sync`,
// and the other words of the entry are atomic.
unsafe impl<V: Send + Sync + 'static> Send for Handle<V> {}
// SAFETY: a shared handle gives shared access to a `V`, and a clone of it may drop the `V` on another thread. `V` is
// `Send + Sync`.
unsafe impl<V: Send + Sync + 'static> Sync for Handle<V> {}

impl<V: Send + Sync + 'static> Handle<V> {
    /// # Safety
    /// The caller must hold a reference to the entry, and gives it to the handle.
    #[inline]
    pub(super) unsafe fn new(entry: NonNull<Entry<V>>) -> Self {
        Handle { entry }
    }

    #[inline]
    pub(super) fn entry(&self) -> &Entry<V> {
        // SAFETY: the reference of this handle keeps the memory of the entry alive.
        unsafe { self.entry.as_ref() }
    }

    /// Returns the key of the entry.
    pub fn key(&self) -> CacheKey {
        self.entry().key()
    }

    /// Returns the charge in bytes. The charge includes the overhead of the cache, if the cache charges its
    /// overhead.
    pub fn charge(&self) -> usize {
        self.entry().charge()
    }

    /// Returns the role of the entry.
    pub fn role(&self) -> Role {
        self.entry().role()
    }
}

impl<V: Send + Sync + 'static> Clone for Handle<V> {
    #[inline]
    fn clone(&self) -> Self {
        base::invariant!(self.entry().refs() > 0, "a handle without its reference is cloned");
        self.entry().pin_again();
        Handle { entry: self.entry }
    }
}

impl<V: Send + Sync + 'static> Deref for Handle<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        base::invariant!(self.entry().refs() > 0, "a handle without its reference is read");
        // SAFETY: this handle holds a reference as long as it is borrowed.
        unsafe { self.entry().value() }
    }
}

impl<V: Send + Sync + 'static> Drop for Handle<V> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this handle gives its reference up here. Until then the reference keeps the entry and the
        // shard alive.
        unsafe { Shard::release(self.entry) }
    }
}

impl<V: Send + Sync + fmt::Debug + 'static> fmt::Debug for Handle<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
