//! Bounds of iterators: ranges of Rust, and all keys with a prefix.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// A value that gives the bounds of an iterator.
pub trait IterateBounds {
    /// Returns the lower bound and the upper bound of the iterator. The iterator returns keys from the lower bound up to the
    /// upper bound, without the upper bound. `None` means no bound.
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>);
}

impl IterateBounds for RangeFull {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for Range<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), Some(self.end.into()))
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeFrom<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeTo<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, Some(self.end.into()))
    }
}

/// All keys that begin with these bytes, in bytewise order. Empty bytes mean all keys.
#[derive(Clone, Copy)]
pub struct PrefixRange<K>(pub K);

impl<K: Into<Vec<u8>>> IterateBounds for PrefixRange<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let start: Vec<u8> = self.0.into();
        let end = after_prefix(&start);
        ((!start.is_empty()).then_some(start), end)
    }
}

/// Returns the first key after all keys with the prefix. No key is after a prefix of 0xFF bytes alone.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_prefix_of_its_length() {
        let end = |prefix: &[u8]| PrefixRange(prefix).into_bounds().1;
        assert_eq!(end(b"a").as_deref(), Some(&b"b"[..]));
        assert_eq!(end(b"a\xff\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(end(b"\xff\xff"), None);
        assert_eq!(PrefixRange(&b""[..]).into_bounds(), (None, None));
    }
}
