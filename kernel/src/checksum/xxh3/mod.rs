//! XXH3 (Yann Collet), the final version 0.8, with 64 and 128 bits and with a seed.
//!
//! ```text
//! short   0 to 16 bytes: three tailor-made mixes        medium  17 to 240: folded 128-bit products
//! long    above: eight 64-bit lanes over 64-byte stripes, 16 stripes a block, scrambled between blocks
//! secret  the keys
//! ```
//! The 64-bit form is block checksum type 4. The 128-bit form makes unique ids. RocksDB's *filter* hash is an
//! older version of XXH3 with other results; it is in `hash`.

mod long;
pub(crate) mod secret;

use super::xxh64::{self, P1, P2, P3, P4, P5};
use super::{read32, read64};
use secret::{DEFAULT, word};

pub(crate) const P32_1: u64 = 0x9e37_79b1;
pub(crate) const P32_2: u64 = 0x85eb_ca77;
pub(crate) const P32_3: u64 = 0xc2b2_ae3d;
const MIX: u64 = 0x9fb2_1c65_1e98_df25;
/// The longest input that is hashed without the lanes.
const MEDIUM_MAX: usize = 240;
/// The initial values of the lanes.
pub(crate) const LANES: [u64; 8] = [P32_3, P1, P2, P3, P4, P32_2, P5, P32_1];

/// Returns the XXH3-64 of `data` with the default secret and seed 0.
#[inline]
pub fn hash64(data: &[u8]) -> u64 {
    hashed(data, 0)
}

/// Returns the XXH3-64 of `data` with `seed`.
#[inline]
pub fn hash64_with_seed(data: &[u8], seed: u64) -> u64 {
    hashed(data, seed)
}

/// Compiled once for seed 0, where the seed then costs nothing, and once for any seed. The most frequent
/// lengths are tested first.
#[inline(always)]
fn hashed(data: &[u8], seed: u64) -> u64 {
    let n = data.len();
    if n > 16 {
        return match n {
            ..=128 => hash64_pairs(data, seed),
            129..=MEDIUM_MAX => hash64_medium(data, seed),
            _ => hash64_long(data, seed),
        };
    }
    if n > 8 {
        let low = read64(data, 0) ^ (const { word(24) ^ word(32) }).wrapping_add(seed);
        let high = read64(data, n - 8) ^ (const { word(40) ^ word(48) }).wrapping_sub(seed);
        let sum = (n as u64).wrapping_add(low.swap_bytes()).wrapping_add(high);
        return avalanche(sum.wrapping_add(fold(low, high)));
    }
    if n >= 4 {
        let seed = widened(seed);
        let input = u64::from(read32(data, n - 4)) + (u64::from(read32(data, 0)) << 32);
        let mut h = input ^ (const { word(8) ^ word(16) }).wrapping_sub(seed);
        h ^= h.rotate_left(49) ^ h.rotate_left(24);
        h = h.wrapping_mul(MIX);
        h ^= (h >> 35).wrapping_add(n as u64);
        h = h.wrapping_mul(MIX);
        return h ^ (h >> 28);
    }
    if n == 0 {
        return xxh64::avalanche(seed ^ const { word(56) ^ word(64) });
    }
    let key = (const { low(word(0) ^ (word(0) >> 32)) }).wrapping_add(seed);
    xxh64::avalanche(u64::from(packed3(data)) ^ key)
}

/// Hashes 17 to 128 bytes: pieces from both ends towards the middle. The loop is unrolled by hand, because
/// then no access needs a bounds check.
#[inline(always)]
fn hash64_pairs(data: &[u8], seed: u64) -> u64 {
    let n = data.len();
    let pair = |i: usize| {
        mix16(data, 16 * i, &DEFAULT, 32 * i, seed).wrapping_add(mix16(
            data,
            n - 16 * (i + 1),
            &DEFAULT,
            32 * i + 16,
            seed,
        ))
    };
    let mut acc = (n as u64).wrapping_mul(P1).wrapping_add(pair(0));
    if n > 32 {
        acc = acc.wrapping_add(pair(1));
        if n > 64 {
            acc = acc.wrapping_add(pair(2));
            if n > 96 {
                acc = acc.wrapping_add(pair(3));
            }
        }
    }
    avalanche(acc)
}

/// Hashes 129 to 240 bytes.
#[inline(always)]
fn hash64_medium(data: &[u8], seed: u64) -> u64 {
    let n = data.len();
    let mut acc = (n as u64).wrapping_mul(P1);
    for i in 0..8 {
        acc = acc.wrapping_add(mix16(data, 16 * i, &DEFAULT, 16 * i, seed));
    }
    acc = avalanche(acc);
    for i in 8..n / 16 {
        acc = acc.wrapping_add(mix16(data, 16 * i, &DEFAULT, 16 * (i - 8) + 3, seed));
    }
    avalanche(acc.wrapping_add(mix16(data, n - 16, &DEFAULT, 136 - 17, seed)))
}

/// Returns the XXH3-128 of `data` with `seed`, as `(high, low)`.
pub fn hash128_with_seed(data: &[u8], seed: u64) -> (u64, u64) {
    let n = data.len();
    match n {
        0 => (
            xxh64::avalanche(seed ^ const { word(80) ^ word(88) }),
            xxh64::avalanche(seed ^ const { word(64) ^ word(72) }),
        ),
        1..=3 => {
            let packed = packed3(data);
            let turned = u64::from(packed.swap_bytes().rotate_left(13));
            let low_key = (const { low(word(0) ^ (word(0) >> 32)) }).wrapping_add(seed);
            let high_key = (const { low(word(8) ^ (word(8) >> 32)) }).wrapping_sub(seed);
            (xxh64::avalanche(turned ^ high_key), xxh64::avalanche(u64::from(packed) ^ low_key))
        }
        4..=8 => {
            let seed = widened(seed);
            let input = u64::from(read32(data, 0)) + (u64::from(read32(data, n - 4)) << 32);
            let keyed = input ^ (const { word(16) ^ word(24) }).wrapping_add(seed);
            let (mut high, mut low) = product(keyed, P1.wrapping_add((n as u64) << 2));
            high = high.wrapping_add(low << 1);
            low ^= high >> 3;
            low = (low ^ (low >> 35)).wrapping_mul(MIX);
            (avalanche(high), low ^ (low >> 28))
        }
        9..=16 => {
            let low_key = (const { word(32) ^ word(40) }).wrapping_sub(seed);
            let high_key = (const { word(48) ^ word(56) }).wrapping_add(seed);
            let high_in = read64(data, n - 8);
            let (mut high, mut low) = product(read64(data, 0) ^ high_in ^ low_key, P1);
            low = low.wrapping_add(((n - 1) as u64) << 54);
            let keyed = high_in ^ high_key;
            high = high.wrapping_add(keyed).wrapping_add((keyed & 0xffff_ffff).wrapping_mul(P32_2 - 1));
            low ^= high.swap_bytes();
            let (top, bottom) = product(low, P2);
            (avalanche(top.wrapping_add(high.wrapping_mul(P2))), avalanche(bottom))
        }
        17..=128 => {
            let mut acc = (0, (n as u64).wrapping_mul(P1));
            for i in (0..=(n - 1) / 32).rev() {
                acc = mix32(acc, data, 16 * i, n - 16 * (i + 1), 32 * i, seed);
            }
            finish128(acc, n, seed)
        }
        129..=MEDIUM_MAX => {
            let mut acc = (0, (n as u64).wrapping_mul(P1));
            for i in 0..4 {
                acc = mix32(acc, data, 32 * i, 32 * i + 16, 32 * i, seed);
            }
            acc = (avalanche(acc.0), avalanche(acc.1));
            for i in 4..n / 32 {
                acc = mix32(acc, data, 32 * i, 32 * i + 16, 3 + 32 * (i - 4), seed);
            }
            acc = mix32(acc, data, n - 16, n - 32, 136 - 17 - 16, 0u64.wrapping_sub(seed));
            finish128(acc, n, seed)
        }
        _ => {
            let secret = if seed == 0 { DEFAULT } else { secret::seeded(seed) };
            let lanes = long::lanes(data, &secret);
            let high = merge(&lanes, &secret, secret::LEN - 64 - 11, !(n as u64).wrapping_mul(P2));
            (high, merge(&lanes, &secret, 11, (n as u64).wrapping_mul(P1)))
        }
    }
}

fn hash64_long(data: &[u8], seed: u64) -> u64 {
    let seeded;
    let secret = if seed == 0 {
        &DEFAULT
    } else {
        seeded = secret::seeded(seed);
        &seeded
    };
    long::merged(data, secret)
}

/// The final mix of XXH3.
#[inline(always)]
pub(crate) fn avalanche(mut h: u64) -> u64 {
    h = (h ^ (h >> 37)).wrapping_mul(0x1656_6791_9e37_79f9);
    h ^ (h >> 32)
}

/// Returns `(high, low)` of the 128-bit product.
#[inline(always)]
pub(crate) fn product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

/// Returns the exclusive or of the two halves of the 128-bit product.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let (high, low) = product(a, b);
    high ^ low
}

/// Mixes sixteen bytes of input with sixteen bytes of the secret.
#[inline(always)]
pub(crate) fn mix16(data: &[u8], at: usize, secret: &[u8; secret::LEN], key: usize, seed: u64) -> u64 {
    fold(
        read64(data, at) ^ read64(secret, key).wrapping_add(seed),
        read64(data, at + 8) ^ read64(secret, key + 8).wrapping_sub(seed),
    )
}

/// Folds the lanes and the secret from `key` on into one value. The sum starts with `start`.
#[inline(always)]
pub(crate) fn merge_unfinished(lanes: &[u64; 8], secret: &[u8; secret::LEN], key: usize, start: u64) -> u64 {
    (0..4).fold(start, |sum, i| {
        sum.wrapping_add(fold(
            lanes[2 * i] ^ read64(secret, key + 16 * i),
            lanes[2 * i + 1] ^ read64(secret, key + 16 * i + 8),
        ))
    })
}

#[inline(always)]
fn merge(lanes: &[u64; 8], secret: &[u8; secret::LEN], key: usize, start: u64) -> u64 {
    avalanche(merge_unfinished(lanes, secret, key, start))
}

/// One step of the 128-bit hash for medium lengths, on `(high, low)`: mixes two 16-byte pieces at `a` and
/// `b`.
#[inline(always)]
fn mix32((high, low): (u64, u64), data: &[u8], a: usize, b: usize, key: usize, seed: u64) -> (u64, u64) {
    let low = low.wrapping_add(mix16(data, a, &DEFAULT, key, seed))
        ^ read64(data, b).wrapping_add(read64(data, b + 8));
    let high = high.wrapping_add(mix16(data, b, &DEFAULT, key + 16, seed))
        ^ read64(data, a).wrapping_add(read64(data, a + 8));
    (high, low)
}

fn finish128((high, low): (u64, u64), n: usize, seed: u64) -> (u64, u64) {
    let length = (n as u64).wrapping_sub(seed).wrapping_mul(P2);
    let top = low.wrapping_mul(P1).wrapping_add(high.wrapping_mul(P4)).wrapping_add(length);
    (0u64.wrapping_sub(avalanche(top)), avalanche(low.wrapping_add(high)))
}

/// Packs one to three bytes and their count into one word.
#[inline(always)]
fn packed3(data: &[u8]) -> u32 {
    let n = data.len();
    u32::from(data[0]) << 16 | u32::from(data[n >> 1]) << 24 | u32::from(data[n - 1]) | (n as u32) << 8
}

/// Returns the seed with its byte-swapped low half combined into the high half, for inputs of 4 to 8 bytes.
#[inline(always)]
fn widened(seed: u64) -> u64 {
    seed ^ u64::from((seed as u32).swap_bytes()) << 32
}

const fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}

#[cfg(test)]
mod tests;
