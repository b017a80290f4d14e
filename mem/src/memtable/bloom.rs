//! The Bloom filter of a memtable. It answers "the key is not here" without a look at the entries.
//!
//! Each key sets six bits in one block of 64 bytes with atomic operations. A query reads one cache line, and
//! writers need no lock. The filter is never stored, so no other code depends on its layout.
//!
//! The memory of the filter is allocated with the first key. The filter of a large write buffer costs more
//! than the rest of a memtable without entries, and most column families get no entry between an open and a
//! close. The memory is mapped: only the pages that keys reach are touched, and the whole mapping is unmapped
//! with the memtable. With memory of the C library's allocator, the first freed filter doubled the size below
//! which the arena of each thread keeps freed memory.
//! each thread's arena keeps freed memory.)

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::zeroed::{Zeroed, ZeroedArray};

pub(super) struct Bloom {
    count: usize,
    blocks: OnceLock<ZeroedArray<Block>>,
}

#[repr(align(64))]
struct Block([AtomicU64; 8]);

// SAFETY: all zero bits are a valid value of integers, and integers need no drop.
unsafe impl Zeroed for Block {
    #[cfg(loom)]
    fn zero() -> Self {
        Block(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    #[cfg(loom)]
    fn fade(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

const PROBES: u32 = 6;
/// Each probe takes nine bits of the hash, from the top.
const PROBE_BITS: u32 = 9;

impl Bloom {
    /// Makes a filter of about `bytes` bytes, but at least of one block.
    pub(super) fn new(bytes: usize) -> Bloom {
        // A block is chosen by 32 bits of the hash.
        let count = (bytes / size_of::<Block>()).clamp(1, u32::MAX as usize);
        Bloom { count, blocks: OnceLock::new() }
    }

    pub(super) fn memory(&self) -> usize {
        self.blocks.get().map_or(0, |blocks| size_of_val(blocks.as_slice()))
    }

    pub(super) fn add(&self, key: &[u8]) {
        let blocks = self.blocks.get_or_init(|| ZeroedArray::on_small_pages(self.count));
        let (block, bits) = locate(blocks.as_slice(), key);
        for (word, mask) in bits {
            // Most bits of a full filter are set, and a load is cheaper than an atomic write.
            if block.0[word].load(Ordering::Relaxed) & mask == 0 {
                block.0[word].fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn may_contain(&self, key: &[u8]) -> bool {
        let Some(blocks) = self.blocks.get() else { return false };
        let (block, mut bits) = locate(blocks.as_slice(), key);
        bits.all(|(word, mask)| block.0[word].load(Ordering::Relaxed) & mask != 0)
    }
}

fn locate<'a>(blocks: &'a [Block], key: &[u8]) -> (&'a Block, impl Iterator<Item = (usize, u64)> + use<'a>) {
    base::invariant!(!blocks.is_empty(), "the Bloom filter of a memtable has no block");
    let hash = kernel::hash::hash64(key);
    let index = ((hash & 0xffff_ffff) * blocks.len() as u64) >> 32;
    let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (0..PROBES).map(move |i| {
        let bit = (spread << (i * PROBE_BITS)) >> (64 - PROBE_BITS);
        ((bit >> 6) as usize % 8, 1 << (bit & 63))
    });
    (&blocks[index as usize], bits)
}
