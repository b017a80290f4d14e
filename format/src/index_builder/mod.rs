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
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::Result;
use base::coding::{put_slice, put_varint_signed64};
use base::key::InternalOrder;
use base::order::PrefixExtractor;

use crate::block_builder::CutPolicy;
use crate::handle::BlockHandle;

use hash::HashIndex;
pub use partitioned::PartitionedIndex;
use shortened::ShortenedIndex;
pub(crate) use shortened::TwoForms;

/// How far index keys are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortening {
    None,
    Separators,
    SeparatorsAndSuccessor,
}

/// What the index looks like beyond its kind.
#[derive(Clone, Debug)]
pub struct IndexConfig {
    pub order: InternalOrder,
    pub restart_interval: usize,
    /// Keys may lose their trailers (format version 3 and later).
    pub user_keys: bool,
    /// Handles may be deltas (format version 4 and later).
    pub delta_values: bool,
    pub shortening: Shortening,
    /// Bytes of timestamp in user keys, and whether they are stored.
    pub timestamp_size: usize,
    pub persist_timestamps: bool,
    pub uniform_cv_threshold: f64,
}

impl IndexConfig {
    fn strip_timestamp(&self) -> usize {
        if self.persist_timestamps { 0 } else { self.timestamp_size }
    }
}

/// The kind of index.
pub enum IndexKind {
    BinarySearch,
    BinarySearchWithFirstKey,
    TwoLevel(CutPolicy),
    Hash(Arc<dyn PrefixExtractor>),
}

/// What an index came to, once written.
#[derive(Clone, Debug, Default)]
pub struct IndexSummary {
    /// The index block, or the top level.
    pub handle: BlockHandle,
    /// Payload bytes of all its blocks before compression.
    pub size: u64,
    /// 0 if not partitioned.
    pub partitions: u64,
    pub top_level_size: u64,
    /// Blocks marked uniform.
    pub uniform_blocks: u64,
    /// How unevenly keys are spread, of each block for which that was worked out.
    pub variations: Vec<f64>,
}

/// A block that the index wants written.
pub enum IndexBlock {
    /// Named in the metaindex.
    Meta(&'static str),
    /// A partition, or the last block of the index.
    Index,
}

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

/// The key of an index entry, made before its block's place is known. Reused from block to block.
#[derive(Clone, Debug, Default)]
pub struct PreparedEntry {
    /// An internal key.
    separator: Vec<u8>,
    /// Empty unless the index carries first keys.
    first_key: Vec<u8>,
    keys_have_trailers: bool,
    /// The data block's last key, where the index is partitioned and another block follows.
    last_key: Vec<u8>,
}

/// Writes both forms of an index value.
#[derive(Debug, Default)]
pub(crate) struct ValueForms {
    previous: Option<BlockHandle>,
    full: Vec<u8>,
    delta: Vec<u8>,
}

impl ValueForms {
    /// For an index that takes its values from one place: the first delta is unused.
    pub(crate) fn after_none() -> Self {
        ValueForms::default()
    }

    /// `full`: offset, size; `delta`: difference of sizes; behind both the first key, if there are such.
    pub(crate) fn encode(&mut self, handle: BlockHandle, first_key: Option<&[u8]>) {
        self.full.clear();
        self.delta.clear();
        handle.encode(&mut self.full);
        // Without a block before, no key shares bytes, and the delta is not used.
        if let Some(previous) = self.previous {
            put_varint_signed64(&mut self.delta, handle.size.wrapping_sub(previous.size) as i64);
        }
        if let Some(first_key) = first_key {
            put_slice(&mut self.full, first_key);
            put_slice(&mut self.delta, first_key);
        }
        self.previous = Some(handle);
    }
}
