//! The memtable's Bloom filter: answers "not here" without touching the entries.
//!
//! One block of 64 bytes a key, six bits in it, set atomically; so a query costs one cache line and
//! writers need no lock. It lives and dies with the memtable: its layout is nobody else's business.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Bloom {
    blocks: Box<[Block]>,
}

#[derive(Default)]
#[repr(align(64))]
struct Block([AtomicU64; 8]);

const PROBES: u32 = 6;
/// Takes nine bits a probe from the top.
const PROBE_BITS: u32 = 9;

impl Bloom {
    /// A filter of about `bytes` bytes, one block at least.
    pub(super) fn new(bytes: usize) -> Bloom {
        let count = (bytes / size_of::<Block>()).clamp(1, u32::MAX as usize);
        Bloom { blocks: (0..count).map(|_| Block::default()).collect() }
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&self.blocks[..])
    }

    pub(super) fn add(&self, key: &[u8]) {
        let (block, bits) = self.locate(key);
        for (word, mask) in bits {
            // Most bits of a full filter are set: a load is cheaper than an atomic write.
            if block.0[word].load(Ordering::Relaxed) & mask == 0 {
                block.0[word].fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn may_contain(&self, key: &[u8]) -> bool {
        let (block, mut bits) = self.locate(key);
        bits.all(|(word, mask)| block.0[word].load(Ordering::Relaxed) & mask != 0)
    }

    fn locate(&self, key: &[u8]) -> (&Block, impl Iterator<Item = (usize, u64)>) {
        let hash = kernel::hash::hash64(key);
        let index = ((hash & 0xffff_ffff) * self.blocks.len() as u64) >> 32;
        let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (0..PROBES).map(move |i| {
            let bit = (spread << (i * PROBE_BITS)) >> (64 - PROBE_BITS);
            ((bit >> 6) as usize % 8, 1 << (bit & 63))
        });
        (&self.blocks[index as usize], bits)
    }
}
