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
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod query;
mod sizing;
mod solve;

use std::fmt;

use super::cpu::Level;
use super::{BitsPerKey, METADATA_LEN, bloom_local, fast_range64};
use banding::Banding;
pub use sizing::{approximate_num_entries, payload_len};

/// Slots a block, and the width of a row of coefficients.
const BLOCK_SLOTS: u32 = 128;
const SEGMENT: usize = 16;
/// Beyond this a Ribbon filter is not tried: the slots must fit 24 bits of blocks.
const MAX_ENTRIES: usize = 950_000_000;
/// Most columns a solution has: the width of a fingerprint.
const MAX_COLUMNS: u32 = 32;

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

/// How segments are dealt to blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    blocks: u32,
    upper_columns: u32,
    upper_start_block: u32,
}

impl Layout {
    /// `None` where a segment count fits no solution of so many blocks.
    fn of(segments: usize, blocks: u32) -> Option<Layout> {
        let segments = u64::try_from(segments).ok()?;
        let columns = segments.div_ceil(u64::from(blocks));
        if columns == 0 {
            return None;
        }
        if columns > u64::from(MAX_COLUMNS) {
            // More than can be used: all blocks have all columns, the rest lies idle.
            return Some(Layout { blocks, upper_columns: MAX_COLUMNS, upper_start_block: 0 });
        }
        let upper_start_block = columns * u64::from(blocks) - segments;
        Some(Layout { blocks, upper_columns: columns as u32, upper_start_block: upper_start_block as u32 })
    }

    const fn num_slots(self) -> u32 {
        self.blocks * BLOCK_SLOTS
    }

    const fn num_starts(self) -> u32 {
        self.num_slots() - (BLOCK_SLOTS - 1)
    }
}

/// The equation a key adds to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    start: u32,
    coeff: u128,
    fingerprint: u32,
}

impl Row {
    #[inline(always)]
    fn of(hash: u64, raw_seed: u32, num_starts: u32) -> Row {
        Row::of_mixed(mixed(hash, raw_seed), num_starts)
    }

    #[inline(always)]
    fn of_mixed(mixed: u64, num_starts: u32) -> Row {
        let a = spread(mixed);
        Row {
            start: start(mixed, num_starts),
            coeff: u128::from(a) << 64 | u128::from((a ^ COEFF_FLIP) | 1),
            fingerprint: a.swap_bytes() as u32,
        }
    }
}

/// What the high half of the coefficients differs by from the low one.
const COEFF_FLIP: u64 = 0xc367_844a_6e52_731d;

#[inline(always)]
fn start(mixed: u64, num_starts: u32) -> u32 {
    fast_range64(mixed, u64::from(num_starts)) as u32
}

/// The high half of the coefficients; the fingerprint is its other end.
#[inline(always)]
fn spread(mixed: u64) -> u64 {
    mixed.wrapping_mul(0xc28f_8282_2b65_0bed)
}

/// The hash under a seed. Its order is the order of start slots.
#[inline(always)]
fn mixed(hash: u64, raw_seed: u32) -> u64 {
    (hash ^ u64::from(raw_seed)).wrapping_mul(0x6193_d459_236a_3a0d)
}

/// Spreads the stored 8-bit seed.
const fn raw_seed(ordinal: u8) -> u32 {
    let t = (ordinal as u64).wrapping_mul(0xc782_19a2_3eea_dd03);
    (t ^ ((t & 0xf0f0_f0f0_f0f0_f0f0) >> 4)) as u32
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
