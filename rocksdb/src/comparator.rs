//! Comparators of the application: the order of keys, with or without timestamps.
//!
//! The functions are called by several threads at a time. The types here say so (`Send + Sync`); the types of the crate
//! `rocksdb` do not.

use std::cmp::Ordering;

use ironstone::Comparator;

/// Compares keys, or keys with their timestamps.
pub type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// Compares timestamps.
pub type CompareTsFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// Compares keys without their timestamps. A flag says if the key carries a timestamp.
pub type CompareWithoutTsFn = dyn Fn(&[u8], bool, &[u8], bool) -> Ordering + Send + Sync;

/// A comparator of keys without timestamps.
pub(crate) struct Plain {
    pub name: String,
    pub compare: Box<CompareFn>,
}

impl Comparator for Plain {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare)(a, b)
    }
}

/// A comparator of keys that end with a timestamp.
pub(crate) struct WithTimestamps {
    pub name: String,
    pub size: usize,
    pub compare: Box<CompareFn>,
    pub compare_ts: Box<CompareTsFn>,
    pub compare_without_ts: Box<CompareWithoutTsFn>,
}

impl Comparator for WithTimestamps {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare)(a, b)
    }

    fn timestamp_size(&self) -> usize {
        self.size
    }

    fn compare_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare_ts)(a, b)
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare_without_ts)(a, true, b, true)
    }

    fn compare_stripped(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare_without_ts)(a, false, b, false)
    }
}
