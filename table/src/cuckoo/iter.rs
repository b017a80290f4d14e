//! A position in a cuckoo table, which moves in both directions in the order of the keys.
//!
//! The first seek reads all keys and sorts the buckets by key. The table keeps the sorted list for later
//! iterators.

use std::ops::Range;
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::trailer;
use base::{Error, Pinned, Result};

use super::CuckooReader;
use crate::flat::bytes::{Access, Window};
use crate::sst::ReadCtx;

/// An iterator over a cuckoo table. It keeps the table open.
pub struct CuckooIter {
    table: Arc<CuckooReader>,
    ctx: ReadCtx,
    window: Window,
    /// The position in the sorted buckets. `None`: not valid.
    at: Option<usize>,
    key: Vec<u8>,
    value: Range<usize>,
    error: Option<Error>,
}

impl CuckooIter {
    pub(super) fn new(table: Arc<CuckooReader>, ctx: ReadCtx) -> CuckooIter {
        let window = Window::new(Access::Random);
        CuckooIter { table, ctx, window, at: None, key: Vec::new(), value: 0..0, error: None }
    }

    fn settle(&mut self, at: Result<Option<usize>>) {
        let outcome = at.and_then(|at| match at {
            Some(at) => self.enter(at),
            None => Ok(false),
        });
        if !matches!(outcome, Ok(true)) {
            self.at = None;
        }
        self.error = outcome.err();
    }

    /// Reads the bucket at a position. Returns false if there is no such position.
    fn enter(&mut self, at: usize) -> Result<bool> {
        let Some(bucket) = self.table.sorted(&self.ctx)?.get(at).copied() else { return Ok(false) };
        let start = self.table.read(&mut self.window, bucket, &self.ctx)?;
        let shape = &self.table.shape;
        let stored = self.window.get(start..start + shape.key_len);
        self.key.clear();
        self.key.extend_from_slice(&stored[..shape.user_key_len]);
        self.key.extend_from_slice(&self.table.trailer_of(stored).to_le_bytes());
        self.value = shape.value(start, trailer(&self.key) as u8);
        self.at = Some(at);
        Ok(true)
    }

    /// Returns the position of the first key at or after `target`.
    fn lower_bound(&mut self, target: &[u8]) -> Result<usize> {
        let (mut low, mut high) = (0, self.table.sorted(&self.ctx)?.len());
        while low < high {
            let middle = low + (high - low) / 2;
            self.enter(middle)?;
            if self.table.order.compare(&self.key, target).is_lt() { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn try_seek_for_prev(&mut self, target: &[u8]) -> Result<Option<usize>> {
        let at = self.lower_bound(target)?;
        if self.enter(at)? && self.table.order.compare(&self.key, target).is_eq() {
            return Ok(Some(at));
        }
        Ok(at.checked_sub(1))
    }
}

impl InternalIterator for CuckooIter {
    #[inline]
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    fn seek_to_first(&mut self) {
        self.settle(Ok(Some(0)));
    }

    fn seek_to_last(&mut self) {
        let last = self.table.sorted(&self.ctx).map(|sorted| sorted.len().checked_sub(1));
        self.settle(last);
    }

    fn seek(&mut self, target: &[u8]) {
        let at = self.lower_bound(target).map(Some);
        self.settle(at);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        let at = self.try_seek_for_prev(target);
        self.settle(at);
    }

    fn next(&mut self) {
        base::invariant!(self.at.is_some(), "an invalid cuckoo iterator is moved");
        let next = self.at.map(|at| at + 1);
        self.settle(Ok(next));
    }

    fn prev(&mut self) {
        base::invariant!(self.at.is_some(), "an invalid cuckoo iterator is moved");
        let before = self.at.and_then(|at| at.checked_sub(1));
        self.settle(Ok(before));
    }

    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.window.get(self.value.clone())
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    fn pin_value(&self) -> Pinned {
        self.window.pin(self.value.clone())
    }
}
