//! The blocks of tables in the block cache, in the form in which they are searched.

use format::block::Block;
use format::index::{Index, StoredIndex};
use kernel::filter::Filter;
use std::sync::Arc;

use super::spare;

/// The cache that tables share.
pub type BlockCache = mem::cache::Cache<CachedBlock>;

/// A block in the block cache. It has two words, so that a cache entry is one cache line. A data block is
/// reached by one pointer, another block by two. Most blocks are data blocks.
#[derive(Debug)]
pub enum CachedBlock {
    /// A data block.
    Data(Block),
    /// Another block, such as an index or a filter.
    Other(Box<Other>),
}

const _: () = assert!(size_of::<CachedBlock>() == 16);

/// A block that is not a data block.
#[derive(Debug)]
pub enum Other {
    /// An index, an index partition, or the index over filter partitions.
    Index(Index),
    /// An index or an index partition that is searched as it is stored. It is decoded after more searches.
    StoredIndex(StoredIndex),
    /// A full filter or a filter partition.
    Filter(FilterBlock),
    /// Bytes that are not searched: a compression dictionary or a blob value.
    Raw(Arc<[u8]>),
}

/// A filter: its bits, and the way to read the bits.
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
    /// Returns the index block that is kept as it is stored.
    #[inline]
    pub(super) fn stored_index(&self) -> Option<&StoredIndex> {
        match self {
            CachedBlock::Other(other) => match &**other {
                Other::StoredIndex(stored) => Some(stored),
                _ => None,
            },
            CachedBlock::Data(_) => None,
        }
    }

    /// Returns the bytes that the block takes from the allocator. The two words of the block itself are in
    /// the cache entry, which the cache charges.
    pub fn memory_bytes(&self) -> usize {
        let other = match self {
            CachedBlock::Data(block) => return block.memory_bytes(),
            CachedBlock::Other(other) => other,
        };
        size_of::<Other>()
            + match &**other {
                Other::Index(index) => index.memory_bytes() - size_of::<Index>(),
                Other::StoredIndex(index) => index.payload_len(),
                Other::Filter(filter) => filter.bits.len(),
                // An `Arc` has two counts before the bytes, and padding.
                Other::Raw(bytes) => {
                    (2 * size_of::<usize>() + bytes.len()).next_multiple_of(align_of::<usize>())
                }
            }
    }
}
