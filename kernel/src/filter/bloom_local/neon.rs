//! Queries with NEON, which every 64-bit ARM has. It tests eight probes at the same time; the line is one
//! table of 64 bytes.
//!
//! A probe has nine bits. Six are the index of the byte for the table lookup; three are the bit in the byte.

use std::arch::aarch64::*;

use super::{GOLDEN, LINE, Reader};

const LANES: usize = 8;

/// `GOLDEN^i` for lane `i`. The last value moves all lanes eight probes on.
const POWERS: [u32; LANES + 1] = {
    let mut powers = [1u32; LANES + 1];
    let mut i = 1;
    while i <= LANES {
        powers[i] = powers[i - 1].wrapping_mul(GOLDEN);
        i += 1;
    }
    powers
};

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn ask(reader: &Reader, payload: &[u8], hash: u64) -> bool {
    let start = reader.line_start(hash);
    if payload.len() < reader.lines_len || start + LINE > payload.len() {
        return true;
    }
    // SAFETY: the line ends within the payload, as was checked above. POWERS has at least eight words.
    let (line, lanes) = unsafe {
        (
            vld1q_u8_x4(payload.as_ptr().add(start)),
            [vld1q_u32(POWERS.as_ptr()), vld1q_u32(POWERS.as_ptr().add(4))],
        )
    };
    let mut g = (hash >> 32) as u32;
    let mut left = usize::from(reader.probes);
    loop {
        let absent = absent(line, [vmulq_n_u32(lanes[0], g), vmulq_n_u32(lanes[1], g)]);
        // One byte for each probe; the first probe is the lowest byte.
        if left <= LANES {
            return absent << (8 * (LANES - left)) == 0;
        }
        if absent != 0 {
            return false;
        }
        left -= LANES;
        g = g.wrapping_mul(POWERS[LANES]);
    }
}

/// Returns one byte for each probe. The byte is zero if the bit of the probe is set.
#[target_feature(enable = "neon")]
#[inline]
fn absent(line: uint8x16x4_t, g: [uint32x4_t; 2]) -> u64 {
    let high = vcombine_u16(vshrn_n_u32::<16>(g[0]), vshrn_n_u32::<16>(g[1]));
    let bit = vshrq_n_u16::<7>(high);
    let place = vand_u8(vmovn_u16(bit), vdup_n_u8(7));
    let wanted = vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(place));
    let found = vqtbl4_u8(line, vshrn_n_u16::<3>(bit));
    vget_lane_u64::<0>(vreinterpret_u64_u8(vbic_u8(wanted, found)))
}
