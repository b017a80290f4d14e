//! The k-way merge of sorted sources into one sorted stream, forward and backward.

use base::error::Result;
use base::iter::InternalIterator;
use base::key::InternalOrder;
use base::pinned::Pinned;

/// What the merge did, for statistics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergingStats {
    /// Comparisons between sources, decided by heads or by whole keys.
    pub comparisons: u64,
    /// Those of them that heads could not decide.
    pub key_comparisons: u64,
    /// Rows handed on.
    pub rows: u64,
}

/// Many sources as one. Generic over the kind of source, so that nothing is called virtually per row.
pub struct Merging<I> {
    order: InternalOrder,
    sources: Vec<I>,
    pub stats: MergingStats,
}

impl<I: InternalIterator> Merging<I> {
    /// Sources in order of recency, newest first: of equal internal keys the earlier source's comes
    /// first.
    pub fn new(order: InternalOrder, sources: Vec<I>) -> Self {
        Merging { order, sources, stats: MergingStats::default() }
    }

    pub fn sources(&self) -> &[I] {
        &self.sources
    }

    pub fn sources_mut(&mut self) -> &mut [I] {
        &mut self.sources
    }

    /// Index of the source that the current row comes from. Only while valid.
    pub fn current_source(&self) -> usize {
        todo!()
    }

    /// Puts the current source's key in order again after it was moved by `sources_mut`.
    pub fn refresh(&mut self) {
        let _ = &self.order;
        todo!()
    }
}

impl<I: InternalIterator> InternalIterator for Merging<I> {
    fn valid(&self) -> bool {
        todo!()
    }
    fn seek_to_first(&mut self) {
        todo!()
    }
    fn seek_to_last(&mut self) {
        todo!()
    }
    fn seek(&mut self, _target: &[u8]) {
        todo!()
    }
    fn seek_for_prev(&mut self, _target: &[u8]) {
        todo!()
    }
    fn next(&mut self) {
        todo!()
    }
    fn prev(&mut self) {
        todo!()
    }
    fn key(&self) -> &[u8] {
        todo!()
    }
    fn value(&self) -> &[u8] {
        todo!()
    }
    fn status(&self) -> Result<()> {
        todo!()
    }
    fn pin_value(&self) -> Pinned {
        todo!()
    }
}
