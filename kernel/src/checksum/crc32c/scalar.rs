//! The specification. It is also used if the CPU has no CRC instruction. It computes eight bytes per step
//! (slicing by eight).
//!
//! ```text
//! for each byte b:   state ^= b;   eight times: state = state·x mod P
//! ```
//! `TABLES[k][b]` is the result for byte `b` followed by `k` zero bytes. So eight bytes need eight
//! independent table lookups.

use super::gf::POLY;

const TABLES: [[u32; 256]; 8] = tables();

pub(super) fn update(mut state: u32, data: &[u8]) -> u32 {
    let mut words = data.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap()) ^ u64::from(state);
        state = 0;
        for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
            state ^= TABLES[7 - k][usize::from(byte)];
        }
    }
    for &byte in words.remainder() {
        state = (state >> 8) ^ TABLES[0][usize::from(state as u8 ^ byte)];
    }
    state
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            state = (state >> 1) ^ (POLY & 0u32.wrapping_sub(state & 1));
            bit += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}
