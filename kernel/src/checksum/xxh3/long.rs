//! The lanes of XXH3, for inputs of more than 240 bytes.
//!
//! ```text
//! for each 1024-byte block but the last:
//!     for stripe j of its 16:   accumulate(lanes, stripe, secret + 8j)
//!     scramble(lanes, secret + 128)
//! for each whole stripe of the rest but the last byte's:   accumulate
//! accumulate(lanes, the last 64 bytes, secret + 121)
//! ```
//! The loop exists once and is generic over the two functions `accumulate` and `scramble`. The module
//! `x86_64` has vector versions.

use super::{LANES, P1, P32_1, merge, secret};
use crate::checksum::read64;

const STRIPE: usize = 64;
const STRIPES_A_BLOCK: usize = (secret::LEN - STRIPE) / 8;

type Secret = [u8; secret::LEN];

/// Returns the eight lanes after all of `data`. `data` must be longer than one stripe.
pub(super) fn lanes(data: &[u8], secret: &Secret) -> [u64; 8] {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // The detection macro caches its result: a call costs a relaxed load and a bit test.
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has the features that the function enables.
            return unsafe { x86_64::lanes_avx512(data, secret) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has the features that the function enables.
            return unsafe { x86_64::lanes_avx2(data, secret) };
        }
    }
    lanes_plain(data, secret)
}

/// Returns the 64-bit hash of `data`. `data` must be longer than one stripe.
pub(super) fn merged(data: &[u8], secret: &Secret) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the CPU has the features that the function enables.
        return unsafe { x86_64::merged_avx512(data, secret) };
    }
    finished(&lanes(data, secret), data.len(), secret)
}

#[inline(always)]
fn finished(lanes: &[u64; 8], len: usize, secret: &Secret) -> u64 {
    merge(lanes, secret, 11, (len as u64).wrapping_mul(P1))
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
    // The last byte always belongs to the last, separate stripe. So if the length is a multiple of the stripe
    // length, the last stripe is not accumulated here.
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
    //! Differences from the plain form: a shuffle swaps the neighbours, and a 64×32-bit product is computed
    //! as two 32×32-bit products.

    use std::arch::x86_64::*;

    use super::*;

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn lanes_avx2(data: &[u8], secret: &Secret) -> [u64; 8] {
        // SAFETY: the arrays have 64 bytes, which are two vectors each. The loads and stores are unaligned
        // ones.
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
                        // Only one addition depends on the previous stripe.
                        *lane = _mm256_add_epi64(*lane, _mm256_add_epi64(swapped, product));
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

    /// Another difference: the keys of a block's sixteen stripes stay in registers for all blocks, so a
    /// stripe needs one load instead of two.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(in super::super) fn lanes_avx512(data: &[u8], secret: &Secret) -> [u64; 8] {
        let (stripes, _) = data.as_chunks::<STRIPE>();
        // The last byte always belongs to the last, separate stripe. So if the length is a multiple of the
        // stripe length, the last stripe is not accumulated here.
        let stripes = &stripes[..(data.len() - 1) / STRIPE];
        // SAFETY: both arrays have the same size.
        let mut lanes = load(&unsafe { std::mem::transmute::<[u64; 8], [u8; STRIPE]>(LANES) });
        let (blocks, rest) = stripes.as_chunks::<STRIPES_A_BLOCK>();
        if !blocks.is_empty() {
            let keys: [__m512i; STRIPES_A_BLOCK] = std::array::from_fn(|j| load(key(secret, 8 * j)));
            let last_key = load(key(secret, secret::LEN - STRIPE));
            for block in blocks {
                // Four sums: an addition then depends on the fourth addition before it, not on the previous
                // one.
                let zero = _mm512_setzero_si512();
                let (mut a, mut b, mut c, mut d) = (lanes, zero, zero, zero);
                // The loop is unrolled by hand. With a loop, keys and sums are in memory (24 ns per block
                // instead of 17 ns).
                macro_rules! four {
                    ($j:literal) => {
                        a = accumulated(a, load(&block[$j]), keys[$j]);
                        b = accumulated(b, load(&block[$j + 1]), keys[$j + 1]);
                        c = accumulated(c, load(&block[$j + 2]), keys[$j + 2]);
                        d = accumulated(d, load(&block[$j + 3]), keys[$j + 3]);
                    };
                }
                four!(0);
                four!(4);
                four!(8);
                four!(12);
                let sum = _mm512_add_epi64(_mm512_add_epi64(b, c), _mm512_add_epi64(d, a));
                lanes = scrambled(sum, last_key);
            }
        }
        let closing =
            accumulated(_mm512_setzero_si512(), load(data.last_chunk().unwrap()), load(key(secret, 121)));
        let mut odd = closing;
        let (pairs, single) = rest.as_chunks::<2>();
        for (pair, two) in pairs.iter().zip((0..).step_by(16)) {
            lanes = accumulated(lanes, load(&pair[0]), load(key(secret, two)));
            odd = accumulated(odd, load(&pair[1]), load(key(secret, two + 8)));
        }
        if let [stripe] = single {
            lanes = accumulated(lanes, load(stripe), load(key(secret, 16 * pairs.len())));
        }
        lanes = _mm512_add_epi64(lanes, odd);
        // SAFETY: both arrays have the same size.
        unsafe { std::mem::transmute(lanes) }
    }

    /// Computes the lanes and merges them in one function, so that the lanes are written to memory only
    /// once.
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn merged_avx512(data: &[u8], secret: &Secret) -> u64 {
        finished(&lanes_avx512(data, secret), data.len(), secret)
    }

    #[inline(always)]
    fn key(secret: &Secret, at: usize) -> &[u8; STRIPE] {
        secret[at..].first_chunk().unwrap()
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(from: &[u8; STRIPE]) -> __m512i {
        // SAFETY: 64 bytes are one vector, and the load is an unaligned load.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn accumulated(lanes: __m512i, value: __m512i, key: __m512i) -> __m512i {
        let keyed = _mm512_xor_si512(value, key);
        let product = _mm512_mul_epu32(keyed, _mm512_srli_epi64::<32>(keyed));
        let swapped = _mm512_shuffle_epi32::<0x4e>(value);
        _mm512_add_epi64(lanes, _mm512_add_epi64(swapped, product))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn scrambled(lanes: __m512i, key: __m512i) -> __m512i {
        let prime = _mm512_set1_epi64(P32_1 as i64);
        let mixed = _mm512_xor_si512(lanes, _mm512_srli_epi64::<47>(lanes));
        let mixed = _mm512_xor_si512(mixed, key);
        let low = _mm512_mul_epu32(mixed, prime);
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), prime);
        _mm512_add_epi64(low, _mm512_slli_epi64::<32>(high))
    }
}
