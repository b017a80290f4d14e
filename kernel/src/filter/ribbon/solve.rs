//! Back-substitution: from the triangular system to columns of bits. It starts with the last slot.
//!
//! ```text
//! state[column] = 0          the 128 bits of the column from the current slot on
//! for each block, last to first; for each of its slots i, last to first; for each column j:
//!     state[j] = state[j] << 1 | parity(state[j] << 1 & coeff[i]) ^ bit j of fingerprint[i]
//! at the block's first slot the states are its segments
//! ```
//! Differences from RocksDB: eight columns at a time are the lanes of vectors, with their low and high halves
//! in separate vectors. A ninth column takes another pass. A block with one column less computes the column,
//! but does not store it.

use super::banding::Banding;
use super::{BLOCK_SLOTS, Layout, SEGMENT};
use crate::filter::cpu::{self, Vectors};

/// The number of columns of one pass.
const LANES: usize = 8;
/// The low halves of the lanes' states, then the high halves.
type State = [[u64; LANES]; 2];

pub(super) fn back_substitute(banding: &Banding, layout: Layout, solution: &mut [u8]) {
    for first_column in (0..layout.upper_columns as usize).step_by(LANES) {
        match cpu::vectors() {
            Vectors::None => pass(banding, layout, solution, first_column, block_plain),
            // The compiler makes NEON instructions from the plain code.
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Vectors::Neon => pass(banding, layout, solution, first_column, block_plain),
            // SAFETY: `cpu::vectors` found the features that the callee enables.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx512Popcnt => unsafe {
                x86_64::pass_avx512(banding, layout, solution, first_column);
            },
            // SAFETY: `cpu::vectors` found the features that the callee enables.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx2 | Vectors::Avx512 => unsafe {
                x86_64::pass_avx2(banding, layout, solution, first_column);
            },
        }
    }
}

/// Computes the columns from `first_column` on for all blocks. `step` processes the slots of one block.
#[inline(always)]
fn pass(
    banding: &Banding,
    layout: Layout,
    solution: &mut [u8],
    first_column: usize,
    step: impl Fn(&mut State, &[u128], &[u32], u32),
) {
    let mut state = [[0; LANES]; 2];
    let blocks = banding.coeff().chunks_exact(BLOCK_SLOTS as usize);
    let fingerprints = banding.fingerprint().chunks_exact(BLOCK_SLOTS as usize);
    let mut end = solution.len();
    for (block, (coeff, fingerprint)) in blocks.zip(fingerprints).enumerate().rev() {
        step(&mut state, coeff, fingerprint, first_column as u32);
        let lower = block < layout.upper_start_block as usize;
        let columns = layout.upper_columns as usize - usize::from(lower);
        let segments = &mut solution[end - columns * SEGMENT..end];
        end -= columns * SEGMENT;
        for (lane, segment) in segments.chunks_exact_mut(SEGMENT).skip(first_column).take(LANES).enumerate() {
            segment[..8].copy_from_slice(&state[0][lane].to_le_bytes());
            segment[8..].copy_from_slice(&state[1][lane].to_le_bytes());
        }
    }
}

#[inline(always)]
fn block_plain(state: &mut State, coeff: &[u128], fingerprint: &[u32], first_column: u32) {
    let [low, high] = state;
    for (&coeff, &fingerprint) in coeff.iter().zip(fingerprint).rev() {
        let (coeff_low, coeff_high) = (coeff as u64, (coeff >> 64) as u64);
        for lane in 0..LANES {
            high[lane] = high[lane] << 1 | low[lane] >> 63;
            low[lane] <<= 1;
            let sum = (low[lane] & coeff_low) ^ (high[lane] & coeff_high);
            let wanted = fingerprint >> (first_column + lane as u32);
            low[lane] |= u64::from((sum.count_ones() ^ wanted) & 1);
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,bmi1,bmi2")]
    pub(super) fn pass_avx512(banding: &Banding, layout: Layout, solution: &mut [u8], first_column: usize) {
        pass(banding, layout, solution, first_column, |state, coeff, fingerprint, first_column| {
            let one = _mm512_set1_epi64(1);
            // SAFETY: each half of the state is one vector. Loads and stores are unaligned ones.
            let (mut low, mut high) = unsafe {
                (_mm512_loadu_si512(state[0].as_ptr().cast()), _mm512_loadu_si512(state[1].as_ptr().cast()))
            };
            for (&coeff, &fingerprint) in coeff.iter().zip(fingerprint).rev() {
                let coeff_low = _mm512_set1_epi64(coeff as i64);
                let coeff_high = _mm512_set1_epi64((coeff >> 64) as i64);
                let wanted = _mm512_maskz_set1_epi64((fingerprint >> first_column) as u8, 1);
                high = _mm512_shldi_epi64::<1>(high, low);
                low = _mm512_slli_epi64::<1>(low);
                // 0x78: a ^ (b & c).
                let sum =
                    _mm512_ternarylogic_epi64::<0x78>(_mm512_and_si512(high, coeff_high), low, coeff_low);
                // 0x28: (a ^ b) & c.
                let bit = _mm512_ternarylogic_epi64::<0x28>(_mm512_popcnt_epi64(sum), wanted, one);
                low = _mm512_or_si512(low, bit);
            }
            // SAFETY: each half of `state` has 512 bits, and the stores need no alignment.
            unsafe {
                _mm512_storeu_si512(state[0].as_mut_ptr().cast(), low);
                _mm512_storeu_si512(state[1].as_mut_ptr().cast(), high);
            }
        });
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn pass_avx2(banding: &Banding, layout: Layout, solution: &mut [u8], first_column: usize) {
        pass(banding, layout, solution, first_column, |state, coeff, fingerprint, first_column| {
            let one = _mm256_set1_epi64x(1);
            let nibble = _mm256_set1_epi8(15);
            let parity =
                _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0));
            let numbers = [_mm256_setr_epi64x(0, 1, 2, 3), _mm256_setr_epi64x(4, 5, 6, 7)];
            // SAFETY: each half of the state is two vectors. Loads and stores are unaligned ones.
            let load = |half: &[u64; LANES]| unsafe {
                let from = half.as_ptr().cast::<__m256i>();
                [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))]
            };
            let (mut low, mut high) = (load(&state[0]), load(&state[1]));
            for (&coeff, &fingerprint) in coeff.iter().zip(fingerprint).rev() {
                let coeff_low = _mm256_set1_epi64x(coeff as i64);
                let coeff_high = _mm256_set1_epi64x((coeff >> 64) as i64);
                let wanted = _mm256_set1_epi64x(i64::from(fingerprint >> first_column));
                for v in 0..2 {
                    let carry = _mm256_srli_epi64::<63>(low[v]);
                    high[v] = _mm256_or_si256(_mm256_add_epi64(high[v], high[v]), carry);
                    low[v] = _mm256_add_epi64(low[v], low[v]);
                    let sum = _mm256_xor_si256(
                        _mm256_and_si256(low[v], coeff_low),
                        _mm256_and_si256(high[v], coeff_high),
                    );
                    let nibbles =
                        _mm256_and_si256(_mm256_xor_si256(sum, _mm256_srli_epi64::<4>(sum)), nibble);
                    let parities = _mm256_shuffle_epi8(parity, nibbles);
                    let ones = _mm256_sad_epu8(parities, _mm256_setzero_si256());
                    let bit = _mm256_xor_si256(ones, _mm256_srlv_epi64(wanted, numbers[v]));
                    low[v] = _mm256_or_si256(low[v], _mm256_and_si256(bit, one));
                }
            }
            let store = |half: &mut [u64; LANES], from: [__m256i; 2]| {
                let to = half.as_mut_ptr().cast::<__m256i>();
                // SAFETY: `half` has `LANES` words of 64 bits, which are 512 bits, and the stores need no alignment.
                unsafe {
                    _mm256_storeu_si256(to, from[0]);
                    _mm256_storeu_si256(to.add(1), from[1]);
                }
            };
            store(&mut state[0], low);
            store(&mut state[1], high);
        });
    }
}

/// The specification for all columns, for tests.
#[cfg(test)]
pub(super) fn back_substitute_plain(banding: &Banding, layout: Layout, solution: &mut [u8]) {
    for first_column in (0..layout.upper_columns as usize).step_by(LANES) {
        pass(banding, layout, solution, first_column, block_plain);
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
type Pass = fn(&Banding, Layout, &mut [u8], usize);

/// Returns the vector passes that this CPU can run.
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
pub(super) fn vector_paths() -> Vec<Pass> {
    let mut paths: Vec<Pass> = Vec::new();
    if cpu::vectors() >= Vectors::Avx2 {
        paths.push(|b, l, s, c| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { x86_64::pass_avx2(b, l, s, c) }
        });
    }
    if cpu::vectors() >= Vectors::Avx512Popcnt {
        paths.push(|b, l, s, c| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { x86_64::pass_avx512(b, l, s, c) }
        });
    }
    paths
}
