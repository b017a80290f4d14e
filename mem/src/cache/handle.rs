//! A pinned cache entry.
use std::ops::Deref;

use super::{CacheKey, Role};

/// A pinned entry: the value stays, and stays charged, while a handle lives, even after the entry was
/// erased or the cache dropped. Cheap to clone; any thread.
pub struct Handle<V: Send + Sync + 'static> {
    _v: std::marker::PhantomData<V>,
}

impl<V: Send + Sync + 'static> Handle<V> {
    pub fn key(&self) -> CacheKey {
        todo!()
    }

    /// In bytes.
    pub fn charge(&self) -> usize {
        todo!()
    }

    pub fn role(&self) -> Role {
        todo!()
    }
}

impl<V: Send + Sync + 'static> Clone for Handle<V> {
    fn clone(&self) -> Self {
        todo!()
    }
}

impl<V: Send + Sync + 'static> Deref for Handle<V> {
    type Target = V;
    fn deref(&self) -> &V {
        todo!()
    }
}
