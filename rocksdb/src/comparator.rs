//! Comparators of the application: the order of keys, with or without timestamps.
//!
//! Several threads call a comparator concurrently. The function types of the crate `rocksdb` do not require `Send` and `Sync`, so
//! the functions are in [`Shared`].

use std::cmp::Ordering;

use ironstone::Comparator;

use crate::shared::Shared;

/// Compares keys, or keys with their timestamps.
pub type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering;

/// Compares timestamps.
pub type CompareTsFn = dyn Fn(&[u8], &[u8]) -> Ordering;

/// Compares keys without their timestamps. A flag says if the key carries a timestamp.
pub type CompareWithoutTsFn = dyn Fn(&[u8], bool, &[u8], bool) -> Ordering;

/// A comparator of keys without timestamps.
pub(crate) struct Plain {
    pub name: String,
    pub compare: Shared<CompareFn>,
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
    pub compare: Shared<CompareFn>,
    pub compare_ts: Shared<CompareTsFn>,
    pub compare_without_ts: Shared<CompareWithoutTsFn>,
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
