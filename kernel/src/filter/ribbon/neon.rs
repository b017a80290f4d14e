//! Queries with NEON, which every 64-bit ARM has. It tests eight columns at the same time, without a branch
//! that depends on their contents.
//!
//! The two segments of a column are one register each. The coefficients must be shifted left for the block of
//! the start slot, and right for the next block. This is the same as one rotation and a mask that separates
//! the two parts, as on x86-64. Bits are counted per byte. Three rounds of pairwise sums then move the counts
//! of eight columns into eight bytes.

use std::arch::aarch64::*;

use super::{BLOCK_SLOTS, Reader, SEGMENT};

const LANES: usize = 8;

#[target_feature(enable = "neon")]
pub(super) fn ask(reader: &Reader, payload: &[u8], hash: u64) -> bool {
    let row = reader.row(hash);
    let (at, columns) = reader.block(row.start);
    let shift = row.start % BLOCK_SLOTS;
    // If the next block has no part, or there is no next block, the same segment is read twice.
    let next = if shift > 0 { columns * SEGMENT } else { 0 };
    if payload.len() < reader.bits_len || columns == 0 || at + next + columns * SEGMENT > payload.len() {
        return true;
    }
    let rotated = register(row.coeff.rotate_left(shift));
    let next_mask = register((1 << shift) - 1);
    let ones = |column: usize| {
        let from = at + column * SEGMENT;
        // SAFETY: `column` is below `columns`. The segments of all columns end within the payload, as was
        // checked above.
        let (a, b) =
            unsafe { (vld1q_u8(payload.as_ptr().add(from)), vld1q_u8(payload.as_ptr().add(from + next))) };
        vcntq_u8(vandq_u8(vbslq_u8(next_mask, b, a), rotated))
    };
    (0..columns).step_by(LANES).all(|done| {
        // After the last column, the last column is used again; its result is ignored.
        let pair = |lane: usize| {
            let column = |lane: usize| ones((done + lane).min(columns - 1));
            vpaddq_u8(column(lane), column(lane + 1))
        };
        let quarters = vpaddq_u8(vpaddq_u8(pair(0), pair(2)), vpaddq_u8(pair(4), pair(6)));
        let counts = vget_low_u8(vpaddq_u8(quarters, quarters));
        let wanted = vtst_u8(vdup_n_u8((row.fingerprint >> done) as u8), vcreate_u8(0x8040_2010_0804_0201));
        let differ = vget_lane_u64::<0>(vreinterpret_u64_u8(vand_u8(veor_u8(counts, wanted), vdup_n_u8(1))));
        // One byte per column; the first column is the lowest byte.
        differ << (8 * (LANES - (columns - done).min(LANES))) == 0
    })
}

#[target_feature(enable = "neon")]
#[inline]
fn register(bits: u128) -> uint8x16_t {
    let (low, high) = (bits as u64, (bits >> 64) as u64);
    vcombine_u8(vcreate_u8(low), vcreate_u8(high))
}
