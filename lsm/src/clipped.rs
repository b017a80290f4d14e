//! The input of a subcompaction: a source that ends before a user key.
//!
//! The compaction iterator looks ahead: to drop or merge an entry, it reads the entries after the entry. Without a
//! bound it would read, count and filter entries of the next subcompaction. So the bound is on the input, below the
//! compaction iterator. Then the entries that all subcompactions read are exactly the entries of the input files, and
//! a compaction can check this number. Source: RocksDB `db/compaction/clipping_iterator.h`.

use base::Pinned;
use base::Result;
use base::iter::InternalIterator;
use base::key::{InternalOrder, MAX_SEQUENCE, seek_key, user_key};

/// A source without the entries at and after `upper`.
pub struct Clipped<I> {
    input: I,
    order: InternalOrder,
    /// A user key with the newest timestamp. `None`: the source is not bounded.
    upper: Option<Vec<u8>>,
    /// True if the input is at or after `upper`.
    is_past: bool,
}

impl<I: InternalIterator> Clipped<I> {
    /// Bounds `input` by the user key `upper`, which carries the newest timestamp. `None` sets no bound.
    pub fn new(input: I, order: InternalOrder, upper: Option<Vec<u8>>) -> Self {
        base::invariant!(
            upper.as_ref().is_none_or(|key| key.len() >= order.user.timestamp_size()),
            "the bound of a subcompaction has no timestamp"
        );
        Clipped { input, order, upper, is_past: false }
    }

    /// Returns the source below.
    pub fn input(&self) -> &I {
        &self.input
    }

    #[inline]
    fn moved_forward(&mut self) {
        if let Some(upper) = &self.upper {
            self.is_past = self.input.valid()
                && self.order.user.compare_without_timestamp(user_key(self.input.key()), upper).is_ge();
        }
    }
}

impl<I: InternalIterator> InternalIterator for Clipped<I> {
    #[inline]
    fn valid(&self) -> bool {
        !self.is_past && self.input.valid()
    }

    fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.moved_forward();
    }

    fn seek_to_last(&mut self) {
        self.is_past = false;
        match &self.upper {
            None => self.input.seek_to_last(),
            // No entry has the largest sequence number, so the position is before every entry of the key.
            Some(upper) => self.input.seek_for_prev(&seek_key(upper, MAX_SEQUENCE)),
        }
    }

    fn seek(&mut self, target: &[u8]) {
        self.input.seek(target);
        self.moved_forward();
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.input.seek_for_prev(target);
        self.moved_forward();
        if self.is_past {
            self.seek_to_last();
        }
    }

    #[inline]
    fn next(&mut self) {
        base::invariant!(self.valid(), "an invalid clipped source is moved");
        self.input.next();
        self.moved_forward();
    }

    fn prev(&mut self) {
        base::invariant!(self.valid(), "an invalid clipped source is moved");
        self.input.prev();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.input.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.input.value()
    }

    fn status(&self) -> Result<()> {
        self.input.status()
    }

    fn pin_value(&self) -> Pinned {
        self.input.pin_value()
    }

    fn pin_key(&self) -> Option<Pinned> {
        self.input.pin_key()
    }
}

#[cfg(test)]
mod tests;
