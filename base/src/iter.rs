//! The iterator that all sources of internal keys share.
//!
//! A source is positioned on one entry, or on no entry ("not valid"). Keys are internal keys (user key and eight-byte
//! trailer, see [`crate::key`]) in [`crate::key::InternalOrder`]. Code over many sources is generic over this trait.
//! Only the outermost layers use boxed sources, so the inner layers make no virtual calls.
//!
//! Each implementation keeps this contract:
//! - A new iterator is not valid until it is positioned.
//! - `next` and `prev` may be called only while the iterator is valid. After either end the iterator is not valid,
//!   and `status` is `Ok`.
//! - After an error the iterator is not valid. Every `status` returns the error, until a positioning call succeeds.
//! - `key` and `value` are readable until the iterator moves. The result of [`InternalIterator::pin_value`] is
//!   readable longer.

use crate::error::Result;
use crate::pinned::Pinned;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To larger keys.
    Forward,
    /// To smaller keys.
    Backward,
}

/// A sorted source of internal keys and values. The module documentation has the contract.
pub trait InternalIterator {
    /// Returns true if the iterator stands on an entry.
    fn valid(&self) -> bool;

    /// Moves to the first entry. The iterator is not valid after the call if the source has no entry.
    fn seek_to_first(&mut self);

    /// Moves to the last entry. The iterator is not valid after the call if the source has no entry.
    fn seek_to_last(&mut self);

    /// Moves to the first entry at or after `target` (an internal key).
    fn seek(&mut self, target: &[u8]);

    /// Moves to the last entry at or before `target` (an internal key).
    fn seek_for_prev(&mut self, target: &[u8]);

    /// Seeks in total order, independently of the options of the reader: no filter may skip the prefix of `target`.
    /// Used for seeks inside a scan, because the user did not choose their targets. Default: `seek`, for sources without
    /// a filter.
    fn seek_total(&mut self, target: &[u8]) {
        self.seek(target);
    }

    /// Moves to the last entry at or before `target` in total order, independently of the options of the reader.
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.seek_for_prev(target);
    }

    /// Moves to the next entry. Call only while the iterator is valid.
    fn next(&mut self);

    /// Moves to the previous entry. Call only while the iterator is valid.
    fn prev(&mut self);

    /// Returns the current internal key. Call only while the iterator is valid.
    fn key(&self) -> &[u8];

    /// Returns the current value. Call only while the iterator is valid.
    fn value(&self) -> &[u8];

    /// Returns `Ok` if no call has failed. The end of the data is not an error.
    fn status(&self) -> Result<()>;

    /// Returns the current value in a form that stays readable after the iterator moves or is dropped. The value is
    /// not copied if the memory of the source can be kept (a cached block, an arena).
    fn pin_value(&self) -> Pinned {
        Pinned::copy(self.value())
    }

    /// Returns the current internal key in a form that stays readable after the iterator moves or is dropped. `None`
    /// if this needs a copy.
    fn pin_key(&self) -> Option<Pinned> {
        None
    }

    /// Tells the source that the user sees the current entry. For sources that count whether their seeks were useful.
    fn value_shown(&mut self) {}
}

/// For code that knows the kind of its source only at run time.
impl<I: InternalIterator + ?Sized> InternalIterator for Box<I> {
    fn valid(&self) -> bool {
        (**self).valid()
    }
    fn seek_to_first(&mut self) {
        (**self).seek_to_first();
    }
    fn seek_to_last(&mut self) {
        (**self).seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        (**self).seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        (**self).seek_for_prev(target);
    }
    fn seek_total(&mut self, target: &[u8]) {
        (**self).seek_total(target);
    }
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        (**self).seek_total_for_prev(target);
    }
    fn next(&mut self) {
        (**self).next();
    }
    fn prev(&mut self) {
        (**self).prev();
    }
    fn key(&self) -> &[u8] {
        (**self).key()
    }
    fn value(&self) -> &[u8] {
        (**self).value()
    }
    fn status(&self) -> Result<()> {
        (**self).status()
    }
    fn pin_value(&self) -> Pinned {
        (**self).pin_value()
    }
    fn pin_key(&self) -> Option<Pinned> {
        (**self).pin_key()
    }
    fn value_shown(&mut self) {
        (**self).value_shown();
    }
}

/// An iterator over sorted entries in memory, for small sources and for tests.
pub struct VecIterator {
    entries: std::sync::Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    order: crate::key::InternalOrder,
    /// The index of the current entry; `entries.len()` if the iterator is not valid.
    at: usize,
}

impl VecIterator {
    /// Makes an iterator over (internal key, value), which must be sorted by `order`.
    pub fn new(entries: Vec<(Vec<u8>, Vec<u8>)>, order: crate::key::InternalOrder) -> Self {
        let at = entries.len();
        VecIterator { entries: std::sync::Arc::new(entries), order, at }
    }
}

impl InternalIterator for VecIterator {
    fn valid(&self) -> bool {
        self.at < self.entries.len()
    }
    fn seek_to_first(&mut self) {
        self.at = 0;
    }
    fn seek_to_last(&mut self) {
        self.at = self.entries.len().wrapping_sub(1).min(self.entries.len());
    }
    fn seek(&mut self, target: &[u8]) {
        self.at = self.entries.partition_point(|(k, _)| self.order.compare(k, target).is_lt());
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        let past = self.entries.partition_point(|(k, _)| self.order.compare(k, target).is_le());
        self.at = if past == 0 { self.entries.len() } else { past - 1 };
    }
    fn next(&mut self) {
        self.at += 1;
    }
    fn prev(&mut self) {
        self.at = if self.at == 0 { self.entries.len() } else { self.at - 1 };
    }
    fn key(&self) -> &[u8] {
        &self.entries[self.at].0
    }
    fn value(&self) -> &[u8] {
        &self.entries[self.at].1
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}
