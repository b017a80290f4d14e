//! Filters over key hashes. This module computes bits only; it has no framing and no I/O.
//!
//! ```text
//! bloom_legacy   32-bit hashes, cache line by modulo     files of format_version below 5
//! bloom_local    64-bit hashes, one 64-byte line a key   today's default
//! ribbon         64-bit hashes, a solved linear system   30 % smaller, slower to build
//! bloom_plain    32-bit hashes, no metadata             plain tables only
//! key_hashes     collects and de-duplicates what goes in bits_per_key  the one setting
//! ```
//! A filter's payload is its bits and five bytes of metadata:
//! ```text
//! len-5     len-4   len-3  len-2  len-1
//! marker m  b1      b2     b3     b4
//!   1..127  legacy Bloom: m probes, b1..b4 number of lines, u32 LE
//!   0       always true
//!   0xff    b1 = 0: local Bloom, b2 = log2(line bytes)-6 in 3 high bits, probes in 5 low; b3 = b4 = 0
//!   0xfe    Ribbon: b1 seed, b2..b4 number of 128-slot blocks, u24 LE
//!   else    reserved
//! ```
//! A payload of at most five bytes is the filter of no keys. A payload with reserved, unknown or
//! inconsistent values reads as *always true*, because a filter may only save work. A parsed [`Filter`] is
//! a small `Copy` header. The caller passes the payload with each query, so the owner decides where the
//! payload is stored. If the payload is aligned to 64 bytes, the local Bloom filter has half as many cache
//! misses.

mod bits_per_key;
pub mod bloom_legacy;
pub mod bloom_local;
pub mod bloom_plain;
mod cpu;
mod key_hashes;
pub mod ribbon;

pub use bits_per_key::BitsPerKey;
pub use key_hashes::KeyHashes;

use crate::hash;

/// Length of the metadata at the end of each payload, in bytes.
pub const METADATA_LEN: usize = 5;

/// Length of the pieces in which a batch is hashed, prefetched and probed.
const BATCH: usize = 32;

/// The checked header of a payload. It is cheap to copy and is stored together with the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Every key may be present: the metadata are reserved or damaged, or the filter is full.
    AlwaysTrue,
    /// The filter without keys.
    AlwaysFalse,
    /// The Bloom filter of old files.
    BloomLegacy(bloom_legacy::Reader),
    /// The cache-local Bloom filter.
    BloomLocal(bloom_local::Reader),
    /// The standard Ribbon filter, 128 bits wide.
    Ribbon(ribbon::Reader),
}

impl Filter {
    /// Reads the metadata of a complete payload. Never fails; see [`Filter::AlwaysTrue`].
    pub fn parse(payload: &[u8]) -> Filter {
        let Some((bits, metadata)) = payload.split_last_chunk::<METADATA_LEN>() else {
            return Filter::AlwaysFalse;
        };
        if bits.is_empty() {
            return Filter::AlwaysFalse;
        }
        let [marker, sub @ ..] = *metadata;
        match marker as i8 {
            1.. => bloom_legacy::Reader::parse(bits.len(), marker, sub).map(Filter::BloomLegacy),
            -1 => bloom_local::Reader::parse(bits.len(), sub).map(Filter::BloomLocal),
            -2 => ribbon::Reader::parse(bits.len(), sub).map(Filter::Ribbon),
            _ => None,
        }
        .unwrap_or(Filter::AlwaysTrue)
    }

    /// Returns the hash of `key` for this filter. `key` is a user key without timestamp, or a prefix.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Filter::BloomLegacy(_) => u64::from(hash::bloom_hash(key)),
            _ => hash::hash64(key),
        }
    }

    /// Hashes one key for each element of `hashes`, like [`Self::hash`], and prefetches the lines of each key
    /// as soon as its hash is known. Then call [`Self::may_match_fetched`].
    #[inline]
    pub fn hash_and_fetch<'k>(
        &self,
        payload: &[u8],
        keys: impl Iterator<Item = &'k [u8]>,
        hashes: &mut [u64],
    ) {
        let each = hashes.iter_mut().zip(keys);
        match self {
            Filter::BloomLocal(reader) => each.for_each(|(hash, key)| {
                *hash = hash::hash64(key);
                reader.prefetch(payload, *hash);
            }),
            Filter::Ribbon(reader) => each.for_each(|(hash, key)| {
                *hash = hash::hash64(key);
                reader.prefetch(payload, *hash);
            }),
            _ => each.for_each(|(hash, key)| *hash = self.hash(key)),
        }
    }

    /// Returns false only if no key with this hash was added. `payload` is the payload that was parsed; for a
    /// shorter one the result is true.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        match self {
            Filter::AlwaysTrue => true,
            Filter::AlwaysFalse => false,
            Filter::BloomLegacy(reader) => reader.may_match(payload, hash as u32),
            Filter::BloomLocal(reader) => reader.may_match(payload, hash),
            Filter::Ribbon(reader) => reader.may_match(payload, hash),
        }
    }

    /// Works like [`Self::may_match`], but hashes the key. Uses as few instructions as possible.
    #[inline(always)]
    pub fn may_match_key(&self, payload: &[u8], key: &[u8]) -> bool {
        if let Filter::BloomLocal(reader) = self {
            return reader.may_match_key(payload, key);
        }
        if let Filter::Ribbon(reader) = self {
            return reader.may_match_key(payload, key);
        }
        self.hash_and_match(payload, key)
    }

    #[cold]
    #[inline(never)]
    fn hash_and_match(&self, payload: &[u8], key: &[u8]) -> bool {
        self.may_match(payload, self.hash(key))
    }

    /// Works like [`Self::may_match`] for each hash. All lines of a piece are prefetched before the first one is read.
    /// If the slices have different lengths, the shorter one counts.
    pub fn may_match_batch(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            hashes.iter().for_each(|&hash| self.prefetch(payload, hash));
            self.may_match_fetched(payload, hashes, answers);
        }
    }

    /// Works like [`Self::may_match_batch`], but the lines were already prefetched with [`Self::hash_and_fetch`].
    #[inline]
    pub fn may_match_fetched(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        match self {
            Filter::BloomLocal(reader) => reader.may_match_fetched(payload, hashes, answers),
            Filter::Ribbon(reader) => reader.may_match_fetched(payload, hashes, answers),
            _ => {
                for (&hash, answer) in hashes.iter().zip(answers) {
                    *answer = self.may_match(payload, hash);
                }
            }
        }
    }

    /// Prefetches the lines that [`Self::may_match`] will read.
    #[inline]
    pub fn prefetch(&self, payload: &[u8], hash: u64) {
        match self {
            Filter::AlwaysTrue | Filter::AlwaysFalse => {}
            Filter::BloomLegacy(reader) => reader.prefetch(payload, hash as u32),
            Filter::BloomLocal(reader) => reader.prefetch(payload, hash),
            Filter::Ribbon(reader) => reader.prefetch(payload, hash),
        }
    }
}

/// Prefetches the cache line of the byte at `at`. An index after the end is allowed.
#[inline(always)]
fn prefetch_line(bytes: &[u8], at: usize) {
    let line = bytes.as_ptr().wrapping_add(at);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the prefetch instruction is only a hint. The instruction reads no data and does not fault at
    // any address. It needs only SSE, which every x86-64 CPU has.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: the prefetch instruction is only a hint. It reads no data and does not fault at any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = line;
}

/// Scales `hash` from 64 bits to the range `0..range`.
#[inline(always)]
fn fast_range64(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

#[cfg(test)]
mod tests;
