//! XXH32 (Yann Collet) with a seed: block checksum type 2.

use super::read32;

const P1: u32 = 0x9e37_79b1;
const P2: u32 = 0x85eb_ca77;
const P3: u32 = 0xc2b2_ae3d;
const P4: u32 = 0x27d4_eb2f;
const P5: u32 = 0x1656_67b1;

/// Returns the XXH32 of `data`. RocksDB's blocks use seed 0.
pub fn hash(data: &[u8], seed: u32) -> u32 {
    let mut stripes = data.chunks_exact(16);
    let mut h = if data.len() >= 16 {
        let mut lanes =
            [seed.wrapping_add(P1).wrapping_add(P2), seed.wrapping_add(P2), seed, seed.wrapping_sub(P1)];
        for stripe in &mut stripes {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = lane
                    .wrapping_add(read32(stripe, 4 * i).wrapping_mul(P2))
                    .rotate_left(13)
                    .wrapping_mul(P1);
            }
        }
        lanes[0]
            .rotate_left(1)
            .wrapping_add(lanes[1].rotate_left(7))
            .wrapping_add(lanes[2].rotate_left(12))
            .wrapping_add(lanes[3].rotate_left(18))
    } else {
        seed.wrapping_add(P5)
    };
    h = h.wrapping_add(data.len() as u32);
    let mut words = stripes.remainder().chunks_exact(4);
    for word in &mut words {
        h = h.wrapping_add(read32(word, 0).wrapping_mul(P3)).rotate_left(17).wrapping_mul(P4);
    }
    for &byte in words.remainder() {
        h = h.wrapping_add(u32::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    h = (h ^ (h >> 15)).wrapping_mul(P2);
    h = (h ^ (h >> 13)).wrapping_mul(P3);
    h ^ (h >> 16)
}
