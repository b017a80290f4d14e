//! The Standard Ribbon filter with 128-bit rows (Dillinger and Walzer, "Ribbon filter: practically smaller
//! than Bloom and Xor", 2021), bit for bit RocksDB's `Standard128Ribbon`.
//!
//! ```text
//! A key's hash names a start slot, 128 coefficients and a fingerprint. The filter stores a solution: rows of
//! bits, one a slot, such that for each key added
//!         XOR over i of  coeff[i] · solution[start + i]  =  fingerprint        (in each column)
//! A query computes the left side. Keys not added agree by chance, 2^-columns of the time.
//!
//! sizing    entries and bits a key → slots → bytes          hashing (here)   hash → start, coeff, fingerprint
//! banding   on-the-fly Gaussian elimination                 solve            back-substitution to columns
//! query     plain and vector
//!
//! layout: blocks of 128 slots, in order; a block is its columns, each a 16-byte LE segment whose bit i is
//! slot i. The first `upper_start_block` blocks have one column less than the rest.
//! ```

mod banding;
mod layout;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod query;
mod sizing;
mod solve;

use std::fmt;

use super::cpu::Level;
use super::{BitsPerKey, METADATA_LEN, bloom_local};
use banding::Banding;
use layout::{BLOCK_SLOTS, COEFF_FLIP, Layout, Row, SEGMENT, mixed, raw_seed, spread, start};
pub use sizing::{approximate_num_entries, payload_len};

/// Beyond this a Ribbon filter is not tried: the slots must fit 24 bits of blocks.
const MAX_ENTRIES: usize = 950_000_000;
/// A parsed header, and how this CPU asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    raw_seed: u32,
    num_starts: u32,
    upper_start_block: u32,
    upper_columns: u8,
    level: Level,
    /// `bits_len` where each block has four to eight columns; else more than any payload has.
    narrow_len: usize,
    /// Bytes of bits: what every query must find in the payload it is given.
    bits_len: usize,
}

impl Reader {
    pub(super) fn parse(bits_len: usize, [seed, b2, b3, b4]: [u8; 4]) -> Option<Reader> {
        let blocks = u32::from_le_bytes([b2, b3, b4, 0]);
        if blocks < 2 {
            return None;
        }
        let layout = Layout::of(bits_len / SEGMENT, blocks)?;
        let bits_len = bits_len / SEGMENT * SEGMENT;
        let lower_columns = layout.upper_columns - u32::from(layout.upper_start_block > 0);
        let narrow = lower_columns >= 4 && layout.upper_columns <= 8;
        Some(Reader {
            raw_seed: raw_seed(seed),
            num_starts: layout.num_starts(),
            upper_start_block: layout.upper_start_block,
            upper_columns: layout.upper_columns as u8,
            level: Level::found(),
            narrow_len: if narrow { bits_len } else { usize::MAX },
            bits_len,
        })
    }

    /// The equation of a key.
    #[inline(always)]
    fn row(&self, hash: u64) -> Row {
        Row::of(hash, self.raw_seed, self.num_starts)
    }

    /// Where the block of slot `start` begins, in bytes, and how many columns it has.
    #[inline(always)]
    fn block(&self, start: u32) -> (usize, usize) {
        let block = start / BLOCK_SLOTS;
        let segment =
            u64::from(block) * u64::from(self.upper_columns) - u64::from(block.min(self.upper_start_block));
        let columns = usize::from(self.upper_columns) - usize::from(block < self.upper_start_block);
        (segment as usize * SEGMENT, columns)
    }
}

/// Builds filters one after the other in the same scratch memory.
#[derive(Default)]
pub struct Builder {
    banding: Banding,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ribbon::Builder").field("scratch_bytes", &self.memory_usage_bytes()).finish()
    }
}

impl Builder {
    /// A builder without scratch memory yet; it grows to about 28 bytes a key of the largest filter.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The filter of `hashes` (each a [`hash64`](crate::hash::hash64)), replacing what `payload` held; an
    /// empty payload for none.
    ///
    /// A local Bloom filter comes instead, as in RocksDB, when there are more than 950 million entries, when
    /// fewer than 1024 slots are needed and Bloom is smaller, and when no seed gives a solvable system.
    pub fn build_into(&mut self, hashes: &[u64], bits: BitsPerKey, payload: &mut Vec<u8>) {
        payload.clear();
        let Some(&first) = hashes.first() else { return };
        if hashes.len() > MAX_ENTRIES {
            return bloom_local::build_into(hashes, bits, payload);
        }
        let slots = sizing::rounded_slots(hashes.len() as u32);
        let len = sizing::payload_len_for_slots(slots, bits, (first >> 32) as u32);
        if slots < 1024 && bloom_local::payload_len(hashes.len(), bits) < len {
            return bloom_local::build_into(hashes, bits, payload);
        }
        let segments = (len - METADATA_LEN) / SEGMENT;
        let Some(layout) = Layout::of(segments, slots / BLOCK_SLOTS) else {
            return bloom_local::build_into(hashes, bits, payload);
        };
        let first_seed = first as u8;
        for tries in 0..=255u8 {
            let seed = first_seed.wrapping_add(tries);
            if self.banding.solve_for(hashes, raw_seed(seed), layout) {
                payload.resize(len, 0);
                let (solution, metadata) = payload.split_at_mut(segments * SEGMENT);
                solve::back_substitute(&self.banding, layout, solution);
                let [b2, b3, b4, _] = layout.blocks.to_le_bytes();
                metadata.copy_from_slice(&[0xfe, seed, b2, b3, b4]);
                return;
            }
        }
        bloom_local::build_into(hashes, bits, payload);
    }

    /// Bytes of scratch memory held.
    pub fn memory_usage_bytes(&self) -> usize {
        self.banding.memory_usage_bytes()
    }
}

/// One filter with a builder of its own; see [`Builder::build_into`].
pub fn build(hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    let mut payload = Vec::new();
    Builder::new().build_into(hashes, bits, &mut payload);
    payload
}

#[cfg(test)]
mod tests;
