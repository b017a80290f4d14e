//! What a scan over cached blocks does before it comes to them.
//!
//! ```text
//!  block     i            i + 1                       i + 2
//!            being read   pinned, its start asked for  its cache entry asked for
//! ```
//! A scan reads a cached block for the first time after the last one's end: the cache's entry, the block's
//! reference count and its first row are three places in memory, each known only when the one before has been
//! read, and seldom in the processor's cache. With rows of kilobytes these waits are most of a row. So
//! from the second block in a row on the next one is looked up while the current one is read.
//! Only what is in the cache is looked at, nothing is read from the file for it, and a hit is counted when the
//! scan comes to the block.

use format::handle::BlockHandle;
use format::index::Index;

use super::fetch::{BlockRef, data};
use super::file_source::Source;

/// Blocks entered in a row before looking ahead.
const PATIENCE: u32 = 2;

/// The next block of a scan, if it was cached.
pub(super) struct LookAhead {
    in_a_row: u32,
    handle: BlockHandle,
    block: Option<BlockRef>,
}

impl LookAhead {
    pub(super) fn new() -> LookAhead {
        LookAhead { in_a_row: 0, handle: BlockHandle::NULL, block: None }
    }

    /// The iterator goes elsewhere.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.in_a_row = 0;
        self.block = None;
    }

    /// The block at `handle`, if it is the one looked up.
    #[inline]
    pub(super) fn take(&mut self, handle: BlockHandle) -> Option<BlockRef> {
        if self.handle == handle { self.block.take() } else { None }
    }

    /// The scan has come to the block at `at`, and will come to its neighbour.
    #[inline]
    pub(super) fn advance(&mut self, source: &Source, index: &Index, at: usize) {
        base::invariant!(at < index.len(), "the iterator stands on block {at} of {}", index.len());
        self.in_a_row += 1;
        if self.in_a_row < PATIENCE {
            return;
        }
        let Some(cache) = &source.cache else { return };
        let next = index.handle(at + 1);
        if next.is_null() {
            return;
        }
        self.handle = next;
        self.block = source.cached(next);
        if let Some(block) = self.block.as_deref().and_then(data) {
            block.prefetch_first();
        }
        let after = index.handle(at + 2);
        if !after.is_null() {
            cache.prefetch_entry(&source.cache_key(after));
        }
    }
}
