//! RocksDB's hash functions with the same results. They determine the filter bits of a key and the name of a
//! file in a cache, so they must never change.
//!
//! ```text
//! hash64          filters (local Bloom, Ribbon), in-memory sharding      a frozen XXH3 preview ("XXPH3")
//! hash32          legacy Bloom, data-block hash index, prefix buckets    after MurmurHash1
//! hash2x64        unique ids of tables                                   final XXH3, 128 bits
//! bijective       public unique ids, invertible                          its 9-to-16-byte path, as a bijection
//! murmur64a       cuckoo table
//! ```

use crate::checksum::xxh3::secret::{self, DEFAULT, word};
use crate::checksum::xxh3::{self, LANES, P32_1, P32_2, fold, merge_unfinished, mix16, product};
use crate::checksum::{read32, read64};

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;

/// The seed of [`bloom_hash`].
pub const BLOOM_SEED: u32 = 0xbc9f_1d34;
/// The seed of [`slice_hash`].
pub const SLICE_SEED: u32 = 397;

/// Returns the 64-bit key hash of filters (RocksDB's `GetSliceHash64`).
#[inline(always)]
pub fn hash64(data: &[u8]) -> u64 {
    hash64_seeded(data, 0)
}

/// Works like [`hash64`] with a seed. The most frequent key lengths are tested first, and only they are inlined.
#[inline(always)]
pub fn hash64_seeded(data: &[u8], seed: u64) -> u64 {
    match hash64_usual(data, seed) {
        Some(hash) => hash,
        None if data.len() <= 8 => hash64_upto_8(data, seed),
        None => hash64_beyond_32(data, seed),
    }
}

/// Returns the hash if `data` has 9 to 32 bytes. These lengths need few instructions and no call.
#[inline(always)]
pub(crate) fn hash64_usual(data: &[u8], seed: u64) -> Option<u64> {
    let n = data.len();
    match n {
        17..=32 => {
            let acc = (n as u64)
                .wrapping_mul(P1)
                .wrapping_add(mix16(data, 0, &DEFAULT, 0, seed))
                .wrapping_add(mix16(data, n - 16, &DEFAULT, 16, seed));
            Some(finish(acc))
        }
        9..=16 => {
            let low = read64(data, 0) ^ (const { word(0) }).wrapping_add(seed);
            let high = read64(data, n - 8) ^ (const { word(8) }).wrapping_sub(seed);
            Some(finish((n as u64).wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high))))
        }
        _ => None,
    }
}

#[inline(never)]
fn hash64_upto_8(data: &[u8], seed: u64) -> u64 {
    let n = data.len();
    match n {
        0 => fold(seed.wrapping_add(const { word(0) }), P2),
        1..=3 => {
            let packed = u64::from(data[0])
                | u64::from(data[n >> 1]) << 8
                | u64::from(data[n - 1]) << 16
                | (n as u64) << 24;
            finish((packed ^ (const { word(0) & 0xffff_ffff }).wrapping_add(seed)).wrapping_mul(P1))
        }
        _ => {
            let input = u64::from(read32(data, 0)) | u64::from(read32(data, n - 4)) << 32;
            let keyed = input ^ (const { word(0) }).wrapping_add(seed);
            let mixed = (n as u64).wrapping_add((keyed ^ (keyed >> 51)).wrapping_mul(P32_1));
            finish((mixed ^ (mixed >> 47)).wrapping_mul(P2))
        }
    }
}

#[inline(never)]
fn hash64_beyond_32(data: &[u8], seed: u64) -> u64 {
    let n = data.len();
    let mut acc = (n as u64).wrapping_mul(P1);
    match n {
        ..=128 => {
            for i in (0..=(n - 1) / 32).rev() {
                acc = acc.wrapping_add(mix16(data, 16 * i, &DEFAULT, 32 * i, seed));
                acc = acc.wrapping_add(mix16(data, n - 16 * (i + 1), &DEFAULT, 32 * i + 16, seed));
            }
        }
        129..=240 => {
            for i in 0..8 {
                acc = acc.wrapping_add(mix16(data, 16 * i, &DEFAULT, 16 * i, seed));
            }
            acc = finish(acc);
            for i in 8..n / 16 {
                acc = acc.wrapping_add(mix16(data, 16 * i, &DEFAULT, 16 * (i - 8) + 3, seed));
            }
            acc = acc.wrapping_add(mix16(data, n - 16, &DEFAULT, 136 - 17, seed));
        }
        _ => {
            let secret = if seed == 0 { DEFAULT } else { secret::seeded(seed) };
            acc = merge_unfinished(&preview_lanes(data, &secret), &secret, 11, acc);
        }
    }
    finish(acc)
}

/// Computes the lanes of the preview version of XXH3. Differences from the final XXH3: neighbours are not
/// swapped, the number of full blocks is `n / 1024`, and there is a last stripe only if the length is not a
/// multiple of 64.
fn preview_lanes(data: &[u8], secret: &[u8; secret::LEN]) -> [u64; 8] {
    let mut lanes = LANES;
    for block in data.chunks(1024) {
        for (j, stripe) in block.chunks_exact(64).enumerate() {
            preview_stripe(&mut lanes, stripe, &secret[8 * j..]);
        }
        if block.len() == 1024 {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = (*lane ^ (*lane >> 47) ^ read64(secret, 128 + 8 * i)).wrapping_mul(P32_1);
            }
        }
    }
    if !data.len().is_multiple_of(64) {
        preview_stripe(&mut lanes, &data[data.len() - 64..], &secret[121..]);
    }
    lanes
}

#[inline(always)]
fn preview_stripe(lanes: &mut [u64; 8], stripe: &[u8], key: &[u8]) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let value = read64(stripe, 8 * i);
        let keyed = value ^ read64(key, 8 * i);
        *lane = lane.wrapping_add(value).wrapping_add((keyed & 0xffff_ffff) * (keyed >> 32));
    }
}

/// The final mix of the preview version. One pair of digits of its multiplier differs from that of the final
/// XXH3.
#[inline(always)]
fn finish(mut h: u64) -> u64 {
    h = (h ^ (h >> 37)).wrapping_mul(P3);
    h ^ (h >> 32)
}

/// RocksDB's 32-bit `Hash`. The last one to three bytes are added as signed numbers; this is part of the
/// format.
#[inline]
pub fn hash32(data: &[u8], seed: u32) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = seed ^ (data.len() as u32).wrapping_mul(M);
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        h = h.wrapping_add(read32(word, 0)).wrapping_mul(M);
        h ^= h >> 16;
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h = h.wrapping_add((i32::from(byte as i8) as u32) << (8 * i));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

/// Returns the key hash of legacy Bloom filters.
#[inline]
pub fn bloom_hash(data: &[u8]) -> u32 {
    hash32(data, BLOOM_SEED)
}

/// Returns the key hash of data-block hash indexes and plain tables (RocksDB's `GetSliceHash`).
#[inline]
pub fn slice_hash(data: &[u8]) -> u32 {
    hash32(data, SLICE_SEED)
}

/// Returns a 128-bit hash as `(high, low)`: the final XXH3-128.
pub fn hash2x64(data: &[u8], seed: u64) -> (u64, u64) {
    xxh3::hash128_with_seed(data, seed)
}

const BIJECTIVE_LOW: u64 = 0x5997_3f00_3336_2349;
const BIJECTIVE_HIGH: u64 = 0xc202_7976_92d6_3d58;
const BIJECTIVE_LENGTH: u64 = 0x3c0_0000_0000_0000;

/// A bijection of 128 bits with seed 0, from `(high, low)` to `(high, low)`. It converts the internal unique
/// id of a table to the public one.
pub fn bijective2x64(high: u64, low: u64) -> (u64, u64) {
    let (mut top, mut bottom) = product(low ^ high ^ BIJECTIVE_LOW, P1);
    bottom = bottom.wrapping_add(BIJECTIVE_LENGTH);
    let keyed = high ^ BIJECTIVE_HIGH;
    top = top.wrapping_add(keyed).wrapping_add((keyed & 0xffff_ffff).wrapping_mul(P32_2 - 1));
    bottom ^= top.swap_bytes();
    let (mut top2, bottom2) = product(bottom, P2);
    top2 = top2.wrapping_add(top.wrapping_mul(P2));
    (xxh3::avalanche(top2), xxh3::avalanche(bottom2))
}

/// The inverse of [`bijective2x64`].
pub fn bijective2x64_inverse(high: u64, low: u64) -> (u64, u64) {
    let (top2, bottom2) = (unavalanche(high), unavalanche(low));
    let bottom = bottom2.wrapping_mul(const { inverse(P2) });
    let top = top2.wrapping_sub(product(bottom, P2).0).wrapping_mul(const { inverse(P2) });
    let bottom = (bottom ^ top.swap_bytes()).wrapping_sub(BIJECTIVE_LENGTH);
    let mixed = bottom.wrapping_mul(const { inverse(P1) });
    let sum = top.wrapping_sub(product(mixed, P1).0);
    // sum = keyed + low32(keyed)·(P32_2 − 1). The low half of the sum is low32(keyed)·P32_2; from this the
    // rest is computed.
    let low32 = sum.wrapping_mul(const { inverse(P32_2) }) & 0xffff_ffff;
    let keyed = sum.wrapping_sub(low32.wrapping_mul(P32_2 - 1));
    let high = keyed ^ BIJECTIVE_HIGH;
    (high, mixed ^ high ^ BIJECTIVE_LOW)
}

fn unavalanche(mut h: u64) -> u64 {
    h ^= h >> 32;
    h = h.wrapping_mul(const { inverse(0x1656_6791_9e37_79f9) });
    h ^ (h >> 37)
}

/// Returns the multiplicative inverse of an odd number modulo 2^64, with Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut i = 0;
    while i < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        i += 1;
    }
    x
}

/// MurmurHash64A as the cuckoo table uses it. `data` is read in whole words, then the remaining bytes.
pub fn murmur64a(data: &[u8], seed: u32) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut h = u64::from(seed) ^ (data.len() as u64).wrapping_mul(M);
    let mut words = data.chunks_exact(8);
    for word in &mut words {
        let k = read64(word, 0).wrapping_mul(M);
        h = (h ^ (k ^ (k >> 47)).wrapping_mul(M)).wrapping_mul(M);
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h ^= u64::from(byte) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ (h >> 47)).wrapping_mul(M);
    h ^ (h >> 47)
}

#[cfg(test)]
mod tests;
