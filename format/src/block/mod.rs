//! Sorted-string blocks, read: data, index, metaindex, properties, range tombstones are all of this form.
//!
//! ```text
//! entry* | [values] | u32 restart[n] | [hash index] | [u32 values offset] | u32 packed
//!
//! entry  : v32 shared, v32 non_shared, v32 value_len, key[non_shared], value[value_len]
//! values : only when bit 28 is set; entries then carry no value bytes, and those at restart points have
//!          a v32 value offset behind value_len
//! hash   : u8 bucket[n], u16 n
//! packed : bit 31 hash index, bit 30 zero, bit 29 uniform keys, bit 28 separated values,
//!          bits 27..0 number of restarts
//! ```
//! A key is the first `shared` bytes of the one before it and its own bytes; at a restart `shared` is 0.
//! Facts: RocksDB `table/block_based/block.cc`, `data_block_footer.h`.
//!
//! A [`Block`] owns its bytes together with a small array behind them: the first eight bytes of every
//! restart key after what all restart keys have in common. A search compares those numbers, which lie
//! in a line or two of memory, before it looks at any key. Building it costs one pass over the restarts
//! when the block is loaded.

mod entry;
mod heads;
mod iter;
mod plain;
mod point;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::coding::{get_u16, get_u32};
use base::key::InternalOrder;
use base::{Error, Result};

pub use heads::HeadOrder;
pub use iter::{BlockIter, KeyRewrite};
pub use plain::{PlainEntries, PlainEntry};

const HASH_INDEX: u32 = 1 << 31;
const RESERVED: u32 = 1 << 30;
const UNIFORM: u32 = 1 << 29;
const SEPARATED: u32 = 1 << 28;
const RESTARTS: u32 = SEPARATED - 1;

/// A block, parsed. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Block {
    bytes: Arc<[u8]>,
    shape: Shape,
}

/// Where the parts of a block lie.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// Where entries, or with separated values their keys, end.
    entries_end: u32,
    /// Where values end: the restart array starts here.
    restarts_at: u32,
    num_restarts: u32,
    /// Offset of separated values.
    values_at: u32,
    buckets_at: u32,
    num_buckets: u16,
    separated: bool,
    uniform: bool,
    heads: heads::Heads,
}

impl Block {
    /// Parses a payload (without trailer), without a search array.
    ///
    /// # Errors
    /// Corruption if the parts do not fit into each other.
    pub fn parse(payload: Arc<[u8]>) -> Result<Block> {
        let shape = Shape::parse(&payload)?;
        Ok(Block { bytes: payload, shape })
    }

    /// Parses a payload of internal keys and, if the keys are in an order that heads can express,
    /// builds the search array.
    ///
    /// # Errors
    /// Corruption if the parts do not fit into each other.
    pub fn parse_searchable(mut payload: Vec<u8>, order: Option<HeadOrder>) -> Result<Block> {
        let mut shape = Shape::parse(&payload)?;
        if let Some(order) = order {
            shape.heads = heads::Heads::append(&mut payload, &shape, order);
        }
        Ok(Block { bytes: payload.into(), shape })
    }

    /// The block's memory: payload, then whatever was put behind it.
    #[inline]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Bytes of memory that the block takes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of::<Block>()
    }

    #[inline]
    pub fn num_restarts(&self) -> usize {
        self.shape.num_restarts as usize
    }

    /// Whether the block has no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.entries_end == 0
    }

    pub fn has_hash_index(&self) -> bool {
        self.shape.num_buckets > 0
    }

    pub fn has_separated_values(&self) -> bool {
        self.shape.separated
    }

    /// Whether the writer found the keys evenly spread.
    pub fn is_uniform(&self) -> bool {
        self.shape.uniform
    }
}

impl Shape {
    fn parse(payload: &[u8]) -> Result<Shape> {
        Self::parse_parts(payload).ok_or_else(|| {
            Error::corruption(format!(
                "bad block contents: {} bytes do not hold what their last word announces",
                payload.len()
            ))
        })
    }

    fn parse_parts(payload: &[u8]) -> Option<Shape> {
        u32::try_from(payload.len()).ok()?;
        let mut end = payload.len().checked_sub(4)?;
        let packed = get_u32(payload, end)?;
        if packed & RESERVED != 0 {
            return None;
        }
        let mut shape = Shape {
            num_restarts: packed & RESTARTS,
            separated: packed & SEPARATED != 0,
            uniform: packed & UNIFORM != 0,
            ..Shape::default()
        };
        if packed & HASH_INDEX != 0 && end >= 1 << 16 {
            return None;
        }
        if shape.separated {
            end = end.checked_sub(4)?;
            shape.values_at = get_u32(payload, end)?;
        }
        if packed & HASH_INDEX != 0 {
            end = end.checked_sub(2)?;
            shape.num_buckets = get_u16(payload, end)?;
            if shape.num_buckets == 0 {
                return None;
            }
            end = end.checked_sub(usize::from(shape.num_buckets))?;
            shape.buckets_at = end as u32;
        }
        end = end.checked_sub(4 * shape.num_restarts as usize)?;
        shape.restarts_at = end as u32;
        shape.entries_end = if shape.separated { shape.values_at } else { shape.restarts_at };
        if shape.entries_end > shape.restarts_at {
            return None;
        }
        if shape.num_restarts == 0 {
            shape.entries_end = 0;
        }
        Some(shape)
    }

    /// Offset of the entry at restart `i`; `None` if there is none or it does not lie among the entries.
    #[inline]
    fn restart(&self, bytes: &[u8], i: usize) -> Option<usize> {
        if i >= self.num_restarts as usize {
            return None;
        }
        let at = get_u32(bytes, self.restarts_at as usize + 4 * i)?;
        (at < self.entries_end).then_some(at as usize)
    }

    /// The bucket of the hash index for a user key; `None` without a hash index.
    #[inline]
    fn bucket(&self, bytes: &[u8], user_key: &[u8]) -> Option<u8> {
        if self.num_buckets == 0 {
            return None;
        }
        let hash = kernel::hash::hash32(user_key, HASH_INDEX_SEED);
        let at = self.buckets_at as usize + (hash % u32::from(self.num_buckets)) as usize;
        bytes.get(at).copied()
    }

    /// The last restart whose key is before the target, or the first restart.
    #[inline]
    fn restart_before(&self, bytes: &[u8], order: &InternalOrder, user: &[u8], trailer: u64) -> Result<usize> {
        let ties = self.heads.narrow(bytes, self, user);
        let before = partition_restarts(ties, |i| {
            let key = heads::restart_key(bytes, self, i)?;
            Some(order.compare_split(&bytes[key], user, trailer).is_lt())
        });
        match before {
            Some(count) => Ok(count.saturating_sub(1)),
            None => Err(Error::corruption("bad restart point").at(u64::from(self.restarts_at))),
        }
    }
}

const HASH_INDEX_SEED: u32 = 397;

/// How many restarts are before the target, given that this is between the ends of `among`. `None` if a
/// restart does not decode.
#[inline]
fn partition_restarts(among: Range<usize>, mut before: impl FnMut(usize) -> Option<bool>) -> Option<usize> {
    let (mut low, mut high) = (among.start, among.end);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
