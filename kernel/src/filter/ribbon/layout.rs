//! The layout of a Ribbon filter, the row of a key, and the hashes that determine the row. RocksDB source:
//! `util/ribbon_impl.h`, `util/ribbon_config.h`.

use crate::filter::fast_range64;

/// The number of slots per block. It is also the width of a row of coefficients.
pub(super) const BLOCK_SLOTS: u32 = 128;

pub(super) const SEGMENT: usize = 16;

/// The largest number of columns of a solution: the width of a fingerprint.
pub(super) const MAX_COLUMNS: u32 = 32;

/// How the segments are distributed over the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) blocks: u32,
    pub(super) upper_columns: u32,
    pub(super) upper_start_block: u32,
}

impl Layout {
    /// Returns `None` if a solution with this number of blocks cannot have this number of segments.
    pub(super) fn of(segments: usize, blocks: u32) -> Option<Layout> {
        let segments = u64::try_from(segments).ok()?;
        let columns = segments.div_ceil(u64::from(blocks));
        if columns == 0 {
            return None;
        }
        if columns > u64::from(MAX_COLUMNS) {
            // There are more segments than can be used: all blocks have all columns, and the remaining
            // segments are unused.
            return Some(Layout { blocks, upper_columns: MAX_COLUMNS, upper_start_block: 0 });
        }
        let upper_start_block = columns * u64::from(blocks) - segments;
        Some(Layout { blocks, upper_columns: columns as u32, upper_start_block: upper_start_block as u32 })
    }

    pub(super) const fn num_slots(self) -> u32 {
        self.blocks * BLOCK_SLOTS
    }

    pub(super) const fn num_starts(self) -> u32 {
        self.num_slots() - (BLOCK_SLOTS - 1)
    }
}

/// The equation that a key adds to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) start: u32,
    pub(super) coeff: u128,
    pub(super) fingerprint: u32,
}

impl Row {
    #[inline(always)]
    pub(super) fn of(hash: u64, raw_seed: u32, num_starts: u32) -> Row {
        Row::of_mixed(mixed(hash, raw_seed), num_starts)
    }

    #[inline(always)]
    pub(super) fn of_mixed(mixed: u64, num_starts: u32) -> Row {
        let a = spread(mixed);
        Row {
            start: start(mixed, num_starts),
            coeff: u128::from(a) << 64 | u128::from((a ^ COEFF_FLIP) | 1),
            fingerprint: a.swap_bytes() as u32,
        }
    }
}

/// The difference (exclusive or) between the high half and the low half of the coefficients.
pub(super) const COEFF_FLIP: u64 = 0xc367_844a_6e52_731d;

#[inline(always)]
pub(super) fn start(mixed: u64, num_starts: u32) -> u32 {
    fast_range64(mixed, u64::from(num_starts)) as u32
}

/// Returns the high half of the coefficients. The fingerprint comes from the opposite end of the same number.
#[inline(always)]
pub(super) fn spread(mixed: u64) -> u64 {
    mixed.wrapping_mul(0xc28f_8282_2b65_0bed)
}

/// Mixes a hash with a seed. The order of mixed hashes is the order of their start slots.
#[inline(always)]
pub(super) fn mixed(hash: u64, raw_seed: u32) -> u64 {
    (hash ^ u64::from(raw_seed)).wrapping_mul(0x6193_d459_236a_3a0d)
}

/// Spreads the stored 8-bit seed to 32 bits.
pub(super) const fn raw_seed(ordinal: u8) -> u32 {
    let t = (ordinal as u64).wrapping_mul(0xc782_19a2_3eea_dd03);
    (t ^ ((t & 0xf0f0_f0f0_f0f0_f0f0) >> 4)) as u32
}
