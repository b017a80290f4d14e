//! The iterator that all sources of internal keys share.
//!
//! A source is positioned on one entry, or on no entry ("not valid"). Keys are internal keys (user key and
//! eight-byte trailer, see [`crate::key`]) in [`crate::key::InternalOrder`]. A user of many sources is
//! generic over this trait. Only the outermost layers box a source, so no entry costs a virtual call.
//!
//! The contract every implementation keeps:
//! - A fresh iterator is not valid until it is positioned.
//! - `next` and `prev` may be called only while valid. Past either end the iterator is not valid and
//!   `status` is `Ok`.
//! - An error makes the iterator not valid and stays: every later `status` returns it, until a new
//!   positioning call finds the trouble gone.
//! - `key` and `value` live until the iterator moves; [`InternalIterator::pin_value`] outlives it.

use crate::error::Result;
use crate::pinned::Pinned;

/// A sorted source of internal keys and values. The module documentation has the contract.
pub trait InternalIterator {
    /// Returns true if the iterator stands on an entry.
    fn valid(&self) -> bool;

    /// Moves to the first entry. The iterator is not valid after the call if the source has no entry.
    fn seek_to_first(&mut self);

    /// Moves to the last entry. The iterator is not valid after the call if the source has no entry.
    fn seek_to_last(&mut self);

    /// To the first entry at or after `target` (an internal key).
    fn seek(&mut self, target: &[u8]);

    /// To the last entry at or before `target` (an internal key).
    fn seek_for_prev(&mut self, target: &[u8]);

    /// As `seek`, but in total order whatever the reader's options say: no filter may answer that the prefix
    /// of `target` is not there. For jumps in the middle of a scan, whose target the user never named.
    /// Default: `seek`, for sources that have no filter.
    fn seek_total(&mut self, target: &[u8]) {
        self.seek(target);
    }

    /// As `seek_for_prev`, in total order likewise.
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.seek_for_prev(target);
    }

    /// Moves to the next entry. Call only while the iterator is valid.
    fn next(&mut self);

    /// Moves to the previous entry. Call only while the iterator is valid.
    fn prev(&mut self);

    /// The current internal key. Only while valid.
    fn key(&self) -> &[u8];

    /// The current value. Only while valid.
    fn value(&self) -> &[u8];

    /// `Ok` while nothing has failed; end of data is not a failure.
    fn status(&self) -> Result<()>;

    /// The current value, kept alive after the iterator moves or is dropped; without copying where
    /// the source's memory can be held (a cached block, an arena).
    fn pin_value(&self) -> Pinned {
        Pinned::copy(self.value())
    }

    /// The current internal key, kept alive likewise; `None` where that cannot be without copying it.
    fn pin_key(&self) -> Option<Pinned> {
        None
    }

    /// The current entry is shown to the user: for sources that count what their seeks were good for.
    fn value_shown(&mut self) {}
}

/// For the edges, where the kind of source is not known until run time.
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

/// An iterator over sorted entries held in memory: for small sources and for tests.
pub struct VecIterator {
    entries: std::sync::Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    order: crate::key::InternalOrder,
    /// Index of the current entry; `entries.len()` when not valid.
    at: usize,
}

impl VecIterator {
    /// `entries` are (internal key, value), already in `order`.
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
