//! The settings of an index builder, the entries that it takes, and the index blocks that it returns.

use std::sync::Arc;

use base::coding::{put_slice, put_varint_signed64};
use base::key::InternalOrder;
use base::order::PrefixExtractor;

use crate::block_builder::CutPolicy;
use crate::handle::BlockHandle;

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
    pub(super) fn strip_timestamp(&self) -> usize {
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

/// The key of an index entry, made before its block's place is known. Reused from block to block.
#[derive(Clone, Debug, Default)]
pub struct PreparedEntry {
    /// An internal key.
    pub(super) separator: Vec<u8>,
    /// Empty unless the index carries first keys.
    pub(super) first_key: Vec<u8>,
    pub(super) keys_have_trailers: bool,
    /// The data block's last key, where the index is partitioned and another block follows.
    pub(super) last_key: Vec<u8>,
}

/// Writes both forms of an index value.
#[derive(Debug, Default)]
pub(crate) struct ValueForms {
    previous: Option<BlockHandle>,
    pub(super) full: Vec<u8>,
    pub(super) delta: Vec<u8>,
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
