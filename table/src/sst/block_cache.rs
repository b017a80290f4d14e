//! What the block cache holds of tables: blocks in the form in which they are searched.

use format::block::Block;
use format::index::Index;
use kernel::filter::Filter;
use std::sync::Arc;

use super::spare;

/// The cache that tables share.
pub type BlockCache = mem::cache::Cache<CachedBlock>;

/// A block as the cache keeps it: two words, so that a cache entry is one line. Data blocks, which are most,
/// are one step away; what is made of other blocks is two.
#[derive(Debug)]
pub enum CachedBlock {
    /// A data block.
    Data(Block),
    /// Another block, such as an index or a filter.
    Other(Box<Other>),
}

const _: () = assert!(size_of::<CachedBlock>() == 16);

/// What is not a data block.
#[derive(Debug)]
pub enum Other {
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
    /// The bits of the filter.
    pub bits: Box<[u8]>,
    /// The shape of the filter: its kind and its probes.
    pub filter: Filter,
}

/// Keeps the memory of an evicted data block for the next block. While the block cache is full, a thread
/// that inserts blocks reuses the memory of the blocks that it evicts.
impl Drop for CachedBlock {
    fn drop(&mut self) {
        if let CachedBlock::Data(block) = self {
            spare::give(std::mem::replace(block, Block::none()).into_bytes());
        }
    }
}

impl From<Other> for CachedBlock {
    fn from(other: Other) -> CachedBlock {
        CachedBlock::Other(Box::new(other))
    }
}

impl CachedBlock {
    /// Bytes it takes from the allocator; the two words themselves lie in the cache's entry, which the cache
    /// charges.
    pub fn memory_bytes(&self) -> usize {
        let other = match self {
            CachedBlock::Data(block) => return block.memory_bytes(),
            CachedBlock::Other(other) => other,
        };
        size_of::<Other>()
            + match &**other {
                Other::Index(index) => index.memory_bytes() - size_of::<Index>(),
                Other::Filter(filter) => filter.bits.len(),
                // Two counts before the bytes, and padding to their alignment.
                Other::Raw(bytes) => {
                    (2 * size_of::<usize>() + bytes.len()).next_multiple_of(align_of::<usize>())
                }
            }
    }
}
