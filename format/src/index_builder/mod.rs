//! Builds the index of a table: which data block may hold a key.
//!
//! ```text
//! binary search     one block: separator -> handle                       (also with first keys)
//! two-level         partitions of the same shape, then a top level: last separator -> partition
//! hash              one block, and two blocks that lead from a prefix to data blocks
//! ```
//! A separator is at or after every key of its block and before the next block's first. Keys lose their
//! trailers if no two neighbouring blocks share a user key, which is known only at the end; so both forms
//! are built side by side, as RocksDB does, and one is thrown away. Values are full or, where the key
//! shares bytes with the one before it, a delta. Facts: RocksDB `table/block_based/index_builder.cc`.

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

    /// Whether [`IndexBuilder::on_key`] must see every key.
    #[inline]
    pub fn wants_keys(&self) -> bool {
        match &self.0 {
            Kind::Shortened(index) => index.wants_first_key(),
            Kind::Partitioned(_) => false,
            Kind::Hash(_) => true,
        }
    }

    /// A key goes into the data block being built.
    pub fn on_key(&mut self, key: &[u8]) {
        match &mut self.0 {
            Kind::Shortened(index) => index.on_key(key),
            Kind::Partitioned(_) => {}
            Kind::Hash(index) => index.on_key(key),
        }
    }

    /// A data block ends with `last_key`, and the next one, if any, starts with `next_key`. Makes its
    /// entry's key and forgets the block's first key; [`IndexBuilder::add`] is to follow, perhaps later.
    pub fn prepare(&mut self, last_key: &[u8], next_key: Option<&[u8]>, entry: &mut PreparedEntry) {
        match &mut self.0 {
            Kind::Shortened(index) => index.prepare(last_key, next_key, entry),
            Kind::Partitioned(index) => index.prepare(last_key, next_key, entry),
            Kind::Hash(index) => index.prepare(last_key, next_key, entry),
        }
    }

    /// The block of a prepared entry was written at `handle`. `full`: something lies between it and the
    /// block before.
    pub fn add(&mut self, entry: &PreparedEntry, handle: BlockHandle, full: bool) {
        match &mut self.0 {
            Kind::Shortened(index) => index.add(entry, handle, full),
            Kind::Partitioned(index) => index.add(entry, handle, full),
            Kind::Hash(index) => index.add(entry, handle, full),
        }
    }

    /// Whether stored keys keep their trailers. Final after the last `prepare`.
    pub fn keys_have_trailers(&self) -> bool {
        match &self.0 {
            Kind::Shortened(index) => index.keys_have_trailers(),
            Kind::Partitioned(index) => index.keys_have_trailers(),
            Kind::Hash(index) => index.keys_have_trailers(),
        }
    }

    /// About how many bytes the index will take, with room for the entries of two more data blocks.
    pub fn estimate(&self) -> u64 {
        match &self.0 {
            Kind::Shortened(index) => index.estimate(),
            Kind::Partitioned(index) => index.estimate(),
            Kind::Hash(_) => 0,
        }
    }

    /// The two-level index, to which coupled filter partitions are tied.
    pub fn partitions(&mut self) -> Option<&mut PartitionedIndex> {
        match &mut self.0 {
            Kind::Partitioned(index) => Some(index),
            _ => None,
        }
    }

    /// Gives out the blocks in the order in which they must be written; `write` says where each went.
    ///
    /// # Errors
    /// What `write` returns.
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
