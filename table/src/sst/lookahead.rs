//! Prefetches the next cached blocks of a scan before the scan reaches them.
//!
//! ```text
//!  block     i            i + 1                       i + 2
//!            being read   pinned, its start asked for  its cache entry asked for
//! ```
//! When a scan enters a cached block, it reads three locations: the cache entry, the reference count of the
//! block, and the first entry of the block. Each location is known only after the location before it was
//! read, and they are seldom in the processor cache. With entries of some kilobytes, these waits are most of
//! the cost of an entry. So, from the second block in succession on, the next block is looked up while the
//! scan reads the current block.
//!
//! The look-ahead uses only blocks in the cache and never reads the file. The hit is counted when the scan
//! enters the block.

use format::handle::BlockHandle;
use format::index::Index;

use super::fetch::{BlockRef, data};
use super::file_source::Source;

/// Number of successive blocks that a scan enters before it looks ahead.
const PATIENCE: u32 = 2;

/// The next block of a scan, if it is in the cache.
pub(super) struct LookAhead {
    in_a_row: u32,
    handle: BlockHandle,
    block: Option<BlockRef>,
}

impl LookAhead {
    pub(super) fn new() -> LookAhead {
        LookAhead { in_a_row: 0, handle: BlockHandle::NULL, block: None }
    }

    /// Drops the block that was looked up, because the iterator moves elsewhere.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.in_a_row = 0;
        self.block = None;
    }

    /// Returns the block at `handle`, if it is the block that was looked up.
    #[inline]
    pub(super) fn take(&mut self, handle: BlockHandle) -> Option<BlockRef> {
        if self.handle == handle { self.block.take() } else { None }
    }

    /// Looks up the next block after the scan has entered the block at `at`.
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
