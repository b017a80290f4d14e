//! The lanes of XXH3 for inputs above 240 bytes.
//!
//! ```text
//! for each 1024-byte block but the last:
//!     for stripe j of its 16:   accumulate(lanes, stripe, secret + 8j)
//!     scramble(lanes, secret + 128)
//! for each whole stripe of the rest but the last byte's:   accumulate
//! accumulate(lanes, the last 64 bytes, secret + 121)
//! ```
//! The loop is written once, over what accumulates and scrambles; `x86_64` gives it vectors.

use super::secret;
use super::{LANES, P32_1};
use crate::checksum::read64;

const STRIPE: usize = 64;
const STRIPES_A_BLOCK: usize = (secret::LEN - STRIPE) / 8;

type Secret = [u8; secret::LEN];

/// The eight lanes after all of `data`, which must be longer than one stripe.
pub(super) fn lanes(data: &[u8], secret: &Secret) -> [u64; 8] {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // The detection macro caches its answer: a relaxed load and a bit test.
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has what the function enables.
            return unsafe { x86_64::lanes_avx512(data, secret) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has what the function enables.
            return unsafe { x86_64::lanes_avx2(data, secret) };
        }
    }
    lanes_plain(data, secret)
}

pub(super) fn lanes_plain(data: &[u8], secret: &Secret) -> [u64; 8] {
    walk(data, secret, LANES, accumulate, scramble)
}

#[inline(always)]
fn walk<L>(
    data: &[u8],
    secret: &Secret,
    mut lanes: L,
    accumulate: impl Fn(&mut L, &[u8; STRIPE], &[u8; STRIPE]),
    scramble: impl Fn(&mut L, &[u8; STRIPE]),
) -> L {
    let (stripes, _) = data.as_chunks::<STRIPE>();
    // The last byte always belongs to the closing stripe, so an exact multiple keeps one stripe back.
    let stripes = &stripes[..(data.len() - 1) / STRIPE];
    let keys: [&[u8; STRIPE]; STRIPES_A_BLOCK] =
        std::array::from_fn(|j| secret[8 * j..].first_chunk().unwrap());
    let mut blocks = stripes.chunks_exact(STRIPES_A_BLOCK);
    for block in &mut blocks {
        for (stripe, key) in block.iter().zip(keys) {
            accumulate(&mut lanes, stripe, key);
        }
        scramble(&mut lanes, secret.last_chunk().unwrap());
    }
    for (stripe, key) in blocks.remainder().iter().zip(keys) {
        accumulate(&mut lanes, stripe, key);
    }
    accumulate(&mut lanes, data.last_chunk().unwrap(), secret[121..].first_chunk().unwrap());
    lanes
}

#[inline(always)]
fn accumulate(lanes: &mut [u64; 8], stripe: &[u8; STRIPE], key: &[u8; STRIPE]) {
    for i in 0..8 {
        let value = read64(stripe, 8 * i);
        let keyed = value ^ read64(key, 8 * i);
        lanes[i ^ 1] = lanes[i ^ 1].wrapping_add(value);
        lanes[i] = lanes[i].wrapping_add((keyed & 0xffff_ffff) * (keyed >> 32));
    }
}

#[inline(always)]
fn scramble(lanes: &mut [u64; 8], key: &[u8; STRIPE]) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = (*lane ^ (*lane >> 47) ^ read64(key, 8 * i)).wrapping_mul(P32_1);
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) mod x86_64 {
    //! Departures from the plain form: the neighbours' swap is a shuffle; a 64×32-bit product is two
    //! 32×32-bit ones.

    use std::arch::x86_64::*;

    use super::*;

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn lanes_avx2(data: &[u8], secret: &Secret) -> [u64; 8] {
        // SAFETY: the arrays are 64 bytes, two vectors each, and the loads and stores the unaligned kind.
        unsafe {
            let load = |from: &[u8; STRIPE], half: usize| {
                _mm256_loadu_si256(from.as_ptr().cast::<__m256i>().add(half))
            };
            let start: [u8; STRIPE] = std::mem::transmute(LANES);
            let prime = _mm256_set1_epi64x(P32_1 as i64);
            let lanes = walk(
                data,
                secret,
                [load(&start, 0), load(&start, 1)],
                |lanes, stripe, key| {
                    for (half, lane) in lanes.iter_mut().enumerate() {
                        let value = load(stripe, half);
                        let keyed = _mm256_xor_si256(value, load(key, half));
                        let product = _mm256_mul_epu32(keyed, _mm256_srli_epi64::<32>(keyed));
                        let swapped = _mm256_shuffle_epi32::<0x4e>(value);
                        *lane = _mm256_add_epi64(_mm256_add_epi64(*lane, swapped), product);
                    }
                },
                |lanes, key| {
                    for (half, lane) in lanes.iter_mut().enumerate() {
                        let mixed = _mm256_xor_si256(*lane, _mm256_srli_epi64::<47>(*lane));
                        let mixed = _mm256_xor_si256(mixed, load(key, half));
                        let low = _mm256_mul_epu32(mixed, prime);
                        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(mixed), prime);
                        *lane = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(high));
                    }
                },
            );
            std::mem::transmute(lanes)
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn lanes_avx512(data: &[u8], secret: &Secret) -> [u64; 8] {
        // SAFETY: the arrays are 64 bytes, one vector, and the loads and stores the unaligned kind.
        unsafe {
            let load = |from: &[u8; STRIPE]| _mm512_loadu_si512(from.as_ptr().cast());
            let prime = _mm512_set1_epi64(P32_1 as i64);
            let lanes = walk(
                data,
                secret,
                load(&std::mem::transmute::<[u64; 8], [u8; STRIPE]>(LANES)),
                |lanes, stripe, key| {
                    let value = load(stripe);
                    let keyed = _mm512_xor_si512(value, load(key));
                    let product = _mm512_mul_epu32(keyed, _mm512_srli_epi64::<32>(keyed));
                    let swapped = _mm512_shuffle_epi32::<0x4e>(value);
                    *lanes = _mm512_add_epi64(_mm512_add_epi64(*lanes, swapped), product);
                },
                |lanes, key| {
                    let mixed = _mm512_xor_si512(*lanes, _mm512_srli_epi64::<47>(*lanes));
                    let mixed = _mm512_xor_si512(mixed, load(key));
                    let low = _mm512_mul_epu32(mixed, prime);
                    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), prime);
                    *lanes = _mm512_add_epi64(low, _mm512_slli_epi64::<32>(high));
                },
            );
            std::mem::transmute(lanes)
        }
    }
}
