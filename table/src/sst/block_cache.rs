//! What the block cache holds of tables: blocks in the form in which they are searched.

use format::block::Block;
use format::index::Index;
use kernel::filter::Filter;
use std::sync::Arc;

/// The cache that tables share.
pub type BlockCache = mem::cache::Cache<CachedBlock>;

/// A block as the cache keeps it.
#[derive(Debug)]
pub enum CachedBlock {
    Data(Block),
    /// An index, a partition of one, or the index over filter partitions.
    Index(Index),
    /// A full filter or a partition of one.
    Filter(FilterBlock),
    /// Bytes that are not searched: a compression dictionary, a blob value.
    Raw(Arc<[u8]>),
}

/// A filter: its bits and how to read them.
#[derive(Debug)]
pub struct FilterBlock {
    pub bits: Box<[u8]>,
    pub filter: Filter,
}

impl CachedBlock {
    /// Bytes of memory to charge.
    pub fn memory_bytes(&self) -> usize {
        size_of::<CachedBlock>()
            + match self {
                CachedBlock::Data(block) => block.memory_bytes(),
                CachedBlock::Index(index) => index.memory_bytes(),
                CachedBlock::Filter(filter) => filter.bits.len(),
                CachedBlock::Raw(bytes) => bytes.len(),
            }
    }
}
