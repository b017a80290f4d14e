//! The input of a compaction without the entries that are newer than a timestamp. RocksDB: `HistoryTrimmingIterator`
//! (`db/history_trimming_iterator.h`).
//!
//! Range tombstones are not handled here: the caller removes the range tombstones that are newer.

use base::iter::InternalIterator;
use base::key::{InternalOrder, timestamp, user_key};
use base::{Pinned, Result};

/// A source without the entries whose timestamp is newer than `newest`.
pub struct Trimmed<I> {
    input: I,
    order: InternalOrder,
    /// The newest timestamp that stays. `None`: all entries stay.
    newest: Option<Vec<u8>>,
}

impl<I: InternalIterator> Trimmed<I> {
    /// Makes a source without the entries of `input` whose timestamp is newer than `newest`. With `None`, all
    /// entries stay.
    pub fn new(input: I, order: InternalOrder, newest: Option<Vec<u8>>) -> Self {
        base::invariant!(
            newest.as_ref().is_none_or(|ts| ts.len() == order.user.timestamp_size()),
            "the newest timestamp that stays has another length than the timestamps of the keys"
        );
        Trimmed { input, order, newest }
    }

    /// Returns the source below.
    pub fn input(&self) -> &I {
        &self.input
    }

    fn is_newer(&self) -> bool {
        let Some(newest) = &self.newest else { return false };
        let own = timestamp(user_key(self.input.key()), newest.len());
        self.order.user.compare_timestamp(own, newest).is_gt()
    }

    #[cold]
    fn skip_forward(&mut self) {
        while self.input.valid() && self.is_newer() {
            self.input.next();
        }
    }

    #[cold]
    fn skip_backward(&mut self) {
        while self.input.valid() && self.is_newer() {
            self.input.prev();
        }
    }

    #[inline]
    fn moved_forward(&mut self) {
        if self.newest.is_some() {
            self.skip_forward();
        }
    }

    #[inline]
    fn moved_backward(&mut self) {
        if self.newest.is_some() {
            self.skip_backward();
        }
    }
}

impl<I: InternalIterator> InternalIterator for Trimmed<I> {
    #[inline]
    fn valid(&self) -> bool {
        self.input.valid()
    }

    fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.moved_forward();
    }

    fn seek_to_last(&mut self) {
        self.input.seek_to_last();
        self.moved_backward();
    }

    fn seek(&mut self, target: &[u8]) {
        self.input.seek(target);
        self.moved_forward();
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.input.seek_for_prev(target);
        self.moved_backward();
    }

    #[inline]
    fn next(&mut self) {
        base::invariant!(self.valid(), "an invalid trimmed source is moved");
        self.input.next();
        self.moved_forward();
    }

    fn prev(&mut self) {
        base::invariant!(self.valid(), "an invalid trimmed source is moved");
        self.input.prev();
        self.moved_backward();
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

    #[inline]
    fn pin_value(&self) -> Pinned {
        self.input.pin_value()
    }

    fn pin_key(&self) -> Option<Pinned> {
        self.input.pin_key()
    }
}
