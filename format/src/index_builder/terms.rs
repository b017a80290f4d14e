//! The settings of an index builder, its input entries, and the index blocks that it returns.

use std::sync::Arc;

use base::coding::{put_slice, put_varint_signed64};
use base::key::InternalOrder;
use base::order::PrefixExtractor;

use crate::block_builder::CutPolicy;
use crate::handle::BlockHandle;

/// How far index keys are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortening {
    /// Each index key is the last key of its block.
    None,
    /// Index keys are shortened, except the key of the last block. RocksDB's default.
    Separators,
    /// All index keys are shortened. The key of the last block becomes a short key after the last key.
    SeparatorsAndSuccessor,
}

/// The form of an index, except its kind.
#[derive(Clone, Debug)]
pub struct IndexConfig {
    /// The order of the internal keys.
    pub order: InternalOrder,
    /// Number of entries between two restart points of an index block.
    pub restart_interval: usize,
    /// True if keys may be stored without trailers (format version 3 and later).
    pub user_keys: bool,
    /// True if handles may be stored as differences (format version 4 and later).
    pub delta_values: bool,
    /// How far index keys are shortened.
    pub shortening: Shortening,
    /// Number of timestamp bytes in user keys. `persist_timestamps` says whether they are stored.
    pub timestamp_size: usize,
    /// True if keys are stored with their timestamps.
    pub persist_timestamps: bool,
    /// The limit below which a block is marked as uniform: see [`crate::block_builder::BlockConfig`].
    pub uniform_cv_threshold: f64,
}

impl IndexConfig {
    pub(super) fn strip_timestamp(&self) -> usize {
        if self.persist_timestamps { 0 } else { self.timestamp_size }
    }
}

/// The kind of index.
pub enum IndexKind {
    /// One block: separator to handle.
    BinarySearch,
    /// One block: separator to handle and first internal key of the data block.
    BinarySearchWithFirstKey,
    /// Partitions, and a top level over the partitions. The policy decides where a partition ends.
    TwoLevel(CutPolicy),
    /// One block, and two blocks that lead from a prefix of this prefix extractor to data blocks.
    Hash(Arc<dyn PrefixExtractor>),
}

/// The facts about a written index.
#[derive(Clone, Debug, Default)]
pub struct IndexSummary {
    /// The handle of the index block, or of the top level.
    pub handle: BlockHandle,
    /// Payload bytes of all blocks of the index before compression.
    pub size: u64,
    /// Number of partitions; 0 if the index is not partitioned.
    pub partitions: u64,
    /// Payload bytes of the top level before compression; 0 if the index is not partitioned.
    pub top_level_size: u64,
    /// Number of blocks that are marked as uniform.
    pub uniform_blocks: u64,
    /// The coefficient of variation of the keys of each block for which it was computed.
    pub variations: Vec<f64>,
}

/// The kind of a block that the index builder passes to `write`.
pub enum IndexBlock {
    /// A block with this name in the metaindex.
    Meta(&'static str),
    /// A partition, or the last block of the index.
    Index,
}

/// The key of an index entry. It is made before the location of its block is known. Reused from block to
/// block.
#[derive(Clone, Debug, Default)]
pub struct PreparedEntry {
    /// An internal key.
    pub(super) separator: Vec<u8>,
    /// The first key of the block. Empty if the index has no first keys.
    pub(super) first_key: Vec<u8>,
    pub(super) keys_have_trailers: bool,
    /// The last key of the data block, if the index is partitioned and another block follows.
    pub(super) last_key: Vec<u8>,
}

impl PreparedEntry {
    /// Returns the internal key that separates the block from the next block.
    pub fn separator(&self) -> &[u8] {
        &self.separator
    }
}

/// Encodes both forms of an index value.
#[derive(Debug, Default)]
pub(crate) struct ValueForms {
    previous: Option<BlockHandle>,
    pub(super) full: Vec<u8>,
    pub(super) delta: Vec<u8>,
}

impl ValueForms {
    /// Makes an encoder without a previous value. The first difference is not used.
    pub(crate) fn after_none() -> Self {
        ValueForms::default()
    }

    /// Encodes `full` (offset, size) and `delta` (difference of sizes). If there are first keys, both end
    /// with the first key.
    pub(crate) fn encode(&mut self, handle: BlockHandle, first_key: Option<&[u8]>) {
        self.full.clear();
        self.delta.clear();
        handle.encode(&mut self.full);
        // Without a previous block no key shares bytes, so the difference is not used.
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
