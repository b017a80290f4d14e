//! The Standard Ribbon filter with 128-bit rows (Dillinger and Walzer, "Ribbon filter: practically smaller
//! than Bloom and Xor", 2021). It has the same bits as RocksDB's `Standard128Ribbon`.
//!
//! ```text
//! A key's hash determines a start slot, 128 coefficients and a fingerprint. The filter stores a solution:
//! rows of bits, one per slot. For each added key the following is true (in each column):
//!         XOR over i of  coeff[i] · solution[start + i]  =  fingerprint
//! A query computes the left side. For a key that was not added, both sides are equal with probability
//! 2^-columns.
//!
//! sizing    entries and bits per key → slots → bytes        hashing (here)   hash → start, coeff, fingerprint
//! banding   Gaussian elimination, one key at a time         solve            back-substitution to columns
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

/// The largest number of entries of a Ribbon filter: the number of blocks must fit into 24 bits.
const MAX_ENTRIES: usize = 950_000_000;
/// A parsed header, and the vector instructions that queries on this CPU use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    raw_seed: u32,
    num_starts: u32,
    upper_start_block: u32,
    upper_columns: u8,
    level: Level,
    /// Equal to `bits_len` if each block has four to eight columns. Otherwise larger than any payload.
    narrow_len: usize,
    /// The number of bytes of the bits. Every query checks that its payload has at least this length.
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

    /// Returns the equation of a key.
    #[inline(always)]
    fn row(&self, hash: u64) -> Row {
        Row::of(hash, self.raw_seed, self.num_starts)
    }

    /// Returns the offset in bytes of the block of slot `start`, and the number of columns of this block.
    #[inline(always)]
    fn block(&self, start: u32) -> (usize, usize) {
        let block = start / BLOCK_SLOTS;
        let segment =
            u64::from(block) * u64::from(self.upper_columns) - u64::from(block.min(self.upper_start_block));
        let columns = usize::from(self.upper_columns) - usize::from(block < self.upper_start_block);
        (segment as usize * SEGMENT, columns)
    }
}

/// Builds filters one after another in the same scratch memory.
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
    /// Creates a builder without scratch memory. The memory grows to about 28 bytes per key of the largest
    /// filter.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Builds the filter of `hashes` and replaces the contents of `payload`. Each hash is a
    /// [`hash64`](crate::hash::hash64). Without hashes the payload is empty.
    ///
    /// As in RocksDB, a local Bloom filter is built instead in three cases: there are more than 950 million
    /// entries; fewer than 1024 slots are needed and the Bloom filter is smaller; or no seed gives a solvable
    /// system.
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

    /// Returns the number of bytes of scratch memory.
    pub fn memory_usage_bytes(&self) -> usize {
        self.banding.memory_usage_bytes()
    }
}

/// Builds one filter with its own builder; see [`Builder::build_into`].
pub fn build(hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    let mut payload = Vec::new();
    Builder::new().build_into(hashes, bits, &mut payload);
    payload
}

#[cfg(test)]
mod tests;
