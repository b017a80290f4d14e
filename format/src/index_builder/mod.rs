//! Builds the index of a table, which leads from a key to the data block that may have the key.
//!
//! ```text
//! binary search     one block: separator -> handle                       (also with first keys)
//! two-level         partitions of the same shape, then a top level: last separator -> partition
//! hash              one block, and two blocks that lead from a prefix to data blocks
//! ```
//! A separator is at or after every key of its block, and before the first key of the next block. Keys need
//! no trailers if no two neighbouring blocks share a user key. This is known only at the end. So both forms
//! are built in parallel, as RocksDB does, and one of them is dropped. A value is full or, if the key shares
//! bytes with the previous key, a difference. Facts: RocksDB `table/block_based/index_builder.cc`.

mod hash;
mod partitioned;
mod shortened;
mod terms;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::Result;

use crate::handle::BlockHandle;

use hash::HashIndex;
pub use partitioned::PartitionedIndex;
use shortened::ShortenedIndex;
pub(crate) use shortened::TwoForms;
pub(crate) use terms::ValueForms;
pub use terms::{IndexBlock, IndexConfig, IndexKind, IndexSummary, PreparedEntry, Shortening};

/// Builds an index of any kind.
pub struct IndexBuilder(Kind);

enum Kind {
    Shortened(ShortenedIndex),
    Partitioned(PartitionedIndex),
    Hash(HashIndex),
}

impl IndexBuilder {
    /// Makes a builder without entries. `kind` chooses the shape of the index, and `config` the form of its
    /// keys and values.
    pub fn new(kind: IndexKind, config: IndexConfig) -> Self {
        IndexBuilder(match kind {
            IndexKind::BinarySearch => Kind::Shortened(ShortenedIndex::new(Arc::new(config), false)),
            IndexKind::BinarySearchWithFirstKey => {
                Kind::Shortened(ShortenedIndex::new(Arc::new(config), true))
            }
            IndexKind::TwoLevel(cut) => Kind::Partitioned(PartitionedIndex::new(Arc::new(config), cut)),
            IndexKind::Hash(prefix) => Kind::Hash(HashIndex::new(Arc::new(config), prefix)),
        })
    }

    /// Returns true if [`IndexBuilder::on_key`] must be called for every key.
    #[inline]
    pub fn wants_keys(&self) -> bool {
        match &self.0 {
            Kind::Shortened(index) => index.wants_first_key(),
            Kind::Partitioned(_) => false,
            Kind::Hash(_) => true,
        }
    }

    /// Reports a key that was added to the current data block.
    pub fn on_key(&mut self, key: &[u8]) {
        match &mut self.0 {
            Kind::Shortened(index) => index.on_key(key),
            Kind::Partitioned(_) => {}
            Kind::Hash(index) => index.on_key(key),
        }
    }

    /// Reports that a data block ends with `last_key`, and that the next block, if there is one, starts with
    /// `next_key`. Makes the key of the index entry, and clears the first key of the block.
    /// [`IndexBuilder::add`] must follow, possibly later.
    pub fn prepare(&mut self, last_key: &[u8], next_key: Option<&[u8]>, entry: &mut PreparedEntry) {
        match &mut self.0 {
            Kind::Shortened(index) => index.prepare(last_key, next_key, entry),
            Kind::Partitioned(index) => index.prepare(last_key, next_key, entry),
            Kind::Hash(index) => index.prepare(last_key, next_key, entry),
        }
    }

    /// Adds the prepared entry of a block that was written at `handle`. `full` means that there is padding
    /// between this block and the previous block.
    pub fn add(&mut self, entry: &PreparedEntry, handle: BlockHandle, full: bool) {
        match &mut self.0 {
            Kind::Shortened(index) => index.add(entry, handle, full),
            Kind::Partitioned(index) => index.add(entry, handle, full),
            Kind::Hash(index) => index.add(entry, handle, full),
        }
    }

    /// Returns true if stored keys have trailers. The result is final after the last `prepare`.
    pub fn keys_have_trailers(&self) -> bool {
        match &self.0 {
            Kind::Shortened(index) => index.keys_have_trailers(),
            Kind::Partitioned(index) => index.keys_have_trailers(),
            Kind::Hash(index) => index.keys_have_trailers(),
        }
    }

    /// Returns the approximate size of the index in bytes, including the entries of two more data blocks.
    pub fn estimate(&self) -> u64 {
        match &self.0 {
            Kind::Shortened(index) => index.estimate(),
            Kind::Partitioned(index) => index.estimate(),
            Kind::Hash(_) => 0,
        }
    }

    /// Returns the two-level index, which coupled filter partitions follow.
    pub fn partitions(&mut self) -> Option<&mut PartitionedIndex> {
        match &mut self.0 {
            Kind::Partitioned(index) => Some(index),
            _ => None,
        }
    }

    /// Passes the blocks to `write` in the order in which they must be written. `write` returns the handle of
    /// each block.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn finish(
        &mut self,
        write: &mut dyn FnMut(IndexBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<IndexSummary> {
        match &mut self.0 {
            Kind::Shortened(index) => index.finish(write),
            Kind::Partitioned(index) => index.finish(write),
            Kind::Hash(index) => index.finish(write),
        }
    }
}
