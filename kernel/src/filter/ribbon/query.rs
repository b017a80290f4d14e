//! Queries: compare the equation of a key with the stored columns.
//!
//! ```text
//! for each column j of the start's block:
//!     x = segment[j] & (coeff << s)
//!     if s > 0:  x ^= segment[columns + j] & (coeff >> (128 - s))        s = start mod 128
//!     parity(x) must be bit j of the fingerprint
//! ```
//! The second segment is in the next block. Its column `j` is always `columns` segments further on, because
//! blocks with one column less are at the start. Difference from RocksDB: the vector forms test all columns
//! at the same time. They read more than a plain query that fails early, but they have no branch that can be
//! mispredicted. So the cache misses of one query overlap with those of the next query.

use super::{Reader, SEGMENT};
use crate::filter::cpu::Vectors;
use crate::filter::prefetch_line;
use crate::hash::hash64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::hash::hash64_usual;

impl Reader {
    /// Returns false only if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx512Popcnt) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_popcnt(self, payload, hash) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx512) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_avx512(self, payload, hash) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx2) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_avx2(self, payload, hash) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
        if self.level.has(Vectors::Neon) {
            // SAFETY: the CPU has NEON.
            return unsafe { super::neon::ask(self, payload, hash) };
        }
        self.ask(payload, hash)
    }

    /// Works like [`Self::may_match`], but hashes the key.
    #[inline(always)]
    pub fn may_match_key(&self, payload: &[u8], key: &[u8]) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx512Popcnt) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_key_popcnt(self, payload, key) };
        }
        self.hash_and_ask(payload, key)
    }

    #[inline(never)]
    fn hash_and_ask(&self, payload: &[u8], key: &[u8]) -> bool {
        self.may_match(payload, hash64(key))
    }

    /// Works like [`Self::may_match`] for each hash. The lines must have been prefetched.
    pub(in super::super) fn may_match_fetched(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx512Popcnt) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_each_popcnt(self, payload, hashes, answers) };
        }
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = self.may_match(payload, hash);
        }
    }

    /// Prefetches the lines of the key's two blocks. The number of lines depends on where the blocks start,
    /// but up to ten columns there is no branch that depends on it.
    #[inline(always)]
    pub fn prefetch(&self, payload: &[u8], hash: u64) {
        let (at, columns) = self.block(self.row(hash).start);
        let last = (at + 2 * columns * SEGMENT).saturating_sub(1);
        for line in 0..5 {
            prefetch_line(payload, (at + 64 * line).min(last));
        }
        let mut line = at + 5 * 64;
        while line < last {
            prefetch_line(payload, line);
            line += 64;
        }
        prefetch_line(payload, last);
    }

    /// The specification.
    pub(super) fn ask(&self, payload: &[u8], hash: u64) -> bool {
        if payload.len() < self.bits_len {
            return true;
        }
        let row = self.row(hash);
        let (at, columns) = self.block(row.start);
        let shift = row.start % super::BLOCK_SLOTS;
        let segment = |number: usize| {
            let from = at + number * SEGMENT;
            payload
                .get(from..from + SEGMENT)
                .and_then(|bytes| bytes.first_chunk())
                .map(|b| u128::from_le_bytes(*b))
        };
        for j in 0..columns {
            let Some(left) = segment(j) else { return true };
            let mut sum = left & row.coeff << shift;
            if shift > 0 {
                let Some(right) = segment(columns + j) else { return true };
                sum ^= right & row.coeff >> (super::BLOCK_SLOTS - shift);
            }
            if sum.count_ones() & 1 != row.fingerprint >> j & 1 {
                return false;
            }
        }
        true
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::super::{BLOCK_SLOTS, COEFF_FLIP, mixed, spread, start};
    use super::{Reader, SEGMENT, hash64_usual};

    /// A query in the form that the vector functions use.
    ///
    /// The coefficients must be shifted left for the block of the start slot, and right for the next block.
    /// This is the same as one rotation; `next_mask` separates the two parts: `(a & c << s) ^ (b & c >> (128
    /// - s))` is `rotated & (next_mask ? b : a)`.
    #[derive(Clone, Copy)]
    struct Ready {
        at: usize,
        /// The distance from the segment of a column to the segment of the column in the next block. 0 if
        /// the query has no part in the next block: the same segment is then read twice, and the mask
        /// removes the second read.
        next: usize,
        columns: usize,
        fingerprint: u32,
        rotated: u128,
        next_mask: u128,
    }

    #[target_feature(enable = "bmi2")]
    #[inline]
    fn ready(reader: &Reader, hash: u64) -> Ready {
        let row = reader.row(hash);
        let (at, columns) = reader.block(row.start);
        let shift = row.start % BLOCK_SLOTS;
        let low = _bzhi_u64(u64::MAX, shift);
        let high = _bzhi_u64(u64::MAX, shift.saturating_sub(64));
        Ready {
            at,
            next: if shift > 0 { columns * SEGMENT } else { 0 },
            columns,
            fingerprint: row.fingerprint,
            rotated: row.coeff.rotate_left(shift),
            next_mask: u128::from(high) << 64 | u128::from(low),
        }
    }

    impl Ready {
        /// Returns true if all segments of the query are within a payload of `len` bytes.
        #[inline(always)]
        fn is_within(&self, len: usize) -> bool {
            self.at + self.next + self.columns * SEGMENT <= len
        }
    }

    /// Tests eight columns without a branch that depends on their contents. The lines of all columns are
    /// loaded at the same time, and the next query starts during the loads. The rare filters with more
    /// columns continue in a loop.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn ask_avx512(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let query = ready(reader, hash);
        if payload.len() < reader.bits_len || !query.is_within(payload.len()) {
            return true;
        }
        let wide = |c: u128| _mm512_broadcast_i64x2(_mm_set_epi64x((c >> 64) as i64, c as i64));
        let (rotated, next_mask) = (wide(query.rotated), wide(query.next_mask));
        let differ = |done: usize| {
            let columns = query.columns.saturating_sub(done).min(4) as u32;
            let mask = _bzhi_u32(0xff, 2 * columns) as __mmask8;
            // SAFETY: the mask selects only words of columns below `columns`. These end within the payload,
            // as `is_within` checked; words outside of the mask are not read. `done` is at most 28. The
            // address is computed with `wrapping_add`, so it may be outside of the payload if the mask is
            // empty.
            let (a, b) = unsafe {
                let from = payload.as_ptr().wrapping_add(query.at + done * SEGMENT);
                let next = from.wrapping_add(query.next);
                (_mm512_maskz_loadu_epi64(mask, from.cast()), _mm512_maskz_loadu_epi64(mask, next.cast()))
            };
            // mask ? b : a
            let taken = _mm512_ternarylogic_epi64::<0xca>(next_mask, b, a);
            let odd = odd_words(_mm512_and_si512(taken, rotated));
            // Bits 2j and 2j+1 belong to the two halves of column j.
            let found = _pext_u32(odd ^ odd >> 1, 0x55);
            found ^ _bzhi_u32(query.fingerprint >> done, columns)
        };
        let mut differs = differ(0) | differ(4);
        let mut done = 8;
        while done < query.columns && differs == 0 {
            differs = differ(done);
            done += 4;
        }
        differs == 0
    }

    /// Returns one bit for each 64-bit word: 1 if the word has an odd number of ones.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    #[inline]
    fn odd_words(x: __m512i) -> u32 {
        let nibble = _mm512_set1_epi8(15);
        let parity = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0));
        let halves = _mm512_xor_si512(x, _mm512_srli_epi64::<4>(x));
        let parities = _mm512_shuffle_epi8(parity, _mm512_and_si512(halves, nibble));
        let ones = _mm512_sad_epu8(parities, _mm512_setzero_si512());
        u32::from(_mm512_test_epi64_mask(ones, _mm512_set1_epi64(1)))
    }

    /// The plain form with the CPU's population count. It tests all columns without a branch.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn ask_avx2(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let query = ready(reader, hash);
        if payload.len() < reader.bits_len || !query.is_within(payload.len()) {
            return true;
        }
        let here = &payload[query.at..query.at + query.columns * SEGMENT];
        let there = &payload[query.at + query.next..];
        let mut differs = 0;
        for (j, (a, b)) in here.chunks_exact(SEGMENT).zip(there.chunks_exact(SEGMENT)).enumerate() {
            let (a, b): (&[u8; SEGMENT], &[u8; SEGMENT]) = (a.try_into().unwrap(), b.try_into().unwrap());
            let (a, b) = (u128::from_le_bytes(*a), u128::from_le_bytes(*b));
            let taken = (a ^ (a ^ b) & query.next_mask) & query.rotated;
            let ones = (taken as u64 ^ (taken >> 64) as u64).count_ones();
            differs |= (ones ^ query.fingerprint >> j) & 1;
        }
        differs == 0
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    pub(super) fn ask_key_popcnt(reader: &Reader, payload: &[u8], key: &[u8]) -> bool {
        match hash64_usual(key, 0) {
            Some(hash) => narrow(reader, payload, hash),
            None => reader.hash_and_ask(payload, key),
        }
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    pub(super) fn ask_popcnt(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        narrow(reader, payload, hash)
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    pub(super) fn ask_each_popcnt(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = narrow(reader, payload, hash);
        }
    }

    /// Handles four to eight columns, which the usual settings give. One register holds four columns. The
    /// function reads the first four and the last four columns, so some columns are read twice. No column
    /// needs a mask, and the values that depend on the start slot are computed in vectors.
    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    #[inline]
    fn narrow(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let mixed = mixed(hash, reader.raw_seed);
        let (start, a) = (start(mixed, reader.num_starts), spread(mixed));
        let (at, columns) = reader.block(start);
        let len = columns * SEGMENT;
        // The next block is read even if the query has no part in it. The last block has no next block.
        if payload.len() < reader.narrow_len || at + 2 * len > reader.narrow_len {
            return rest(reader, payload, hash);
        }
        let (here, next) = coefficients(start % BLOCK_SLOTS, a);
        // SAFETY: `narrow_len` is at most the length of the payload, so each block has at least four columns
        // (64 bytes). Both blocks end within the payload, as was checked above.
        let load = |from: usize| unsafe { _mm512_loadu_si512(payload.as_ptr().add(from).cast()) };
        let odd = |first: usize| {
            let sum = _mm512_and_si512(load(at + first), here);
            // sum ^ (segment & next)
            let sum = _mm512_ternarylogic_epi64::<0x78>(sum, load(at + len + first), next);
            u32::from(_mm512_test_epi64_mask(_mm512_popcnt_epi64(sum), _mm512_set1_epi64(1)))
        };
        // Bits 2j and 2j+1 belong to the two halves of column j.
        let odd = odd(0) | odd(len - 64) << (2 * columns - 8);
        _bzhi_u32(_pext_u32(odd ^ odd >> 1, 0x5555) ^ a.swap_bytes() as u32, columns as u32) == 0
    }

    /// Handles the cases for which [`narrow`] is not made. The function is cold, so it does not slow down
    /// `narrow`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[cold]
    #[inline(never)]
    fn rest(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        ask_avx512(reader, payload, hash)
    }

    /// Returns the 128 coefficients of a key that starts at slot `shift` of a block, in each quarter of the
    /// registers: `coeff << shift` for this block and `coeff >> (128 - shift)` for the next block.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2")]
    #[inline]
    fn coefficients(shift: u32, a: u64) -> (__m512i, __m512i) {
        let [low, high] = [COEFF_FLIP as i64, 0];
        let flip = _mm512_setr_epi64(low, high, low, high, low, high, low, high);
        let least = _mm512_setr_epi64(1, 0, 1, 0, 1, 0, 1, 0);
        let shift = _mm512_set1_epi64(i64::from(shift));
        // (a ^ flip) | least
        let coeff = _mm512_ternarylogic_epi64::<0xbe>(_mm512_set1_epi64(a as i64), flip, least);
        // Rotate left by `shift`: first by whole words, then within the words.
        let swapped = _mm512_shuffle_epi32::<0x4e>(coeff);
        let far = _mm512_test_epi64_mask(shift, _mm512_set1_epi64(64));
        let words = _mm512_mask_mov_epi64(coeff, far, swapped);
        let rotated = _mm512_shldv_epi64(words, _mm512_shuffle_epi32::<0x4e>(words), shift);
        // Bits from `shift` on belong to this block. Counts of 64 and more shift out all ones.
        let counts = _mm512_subs_epu8(shift, _mm512_setr_epi64(0, 64, 0, 64, 0, 64, 0, 64));
        let this_block = _mm512_sllv_epi64(_mm512_set1_epi64(-1), counts);
        (_mm512_and_si512(rotated, this_block), _mm512_andnot_si512(this_block, rotated))
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
use crate::filter::cpu;

#[cfg(test)]
pub(super) type Ask = fn(&Reader, &[u8], u64) -> bool;

/// Returns the queries that this CPU can run, with their names.
#[cfg(test)]
pub(super) fn paths() -> Vec<(&'static str, Ask)> {
    // On 64-bit ARM, "chosen" is NEON.
    #[cfg_attr(any(miri, not(target_arch = "x86_64")), allow(unused_mut))]
    let mut paths: Vec<(&'static str, Ask)> = vec![("chosen", Reader::may_match)];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        if cpu::vectors() >= Vectors::Avx2 {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            paths.push(("avx2", |r, p, h| unsafe { x86_64::ask_avx2(r, p, h) }));
        }
        if cpu::vectors() >= Vectors::Avx512 {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            paths.push(("avx512", |r, p, h| unsafe { x86_64::ask_avx512(r, p, h) }));
        }
        if cpu::vectors() >= Vectors::Avx512Popcnt {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            paths.push(("avx512 and counts", |r, p, h| unsafe { x86_64::ask_popcnt(r, p, h) }));
        }
    }
    paths
}
