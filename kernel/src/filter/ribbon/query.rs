//! Queries: the key's equation against the stored columns.
//!
//! ```text
//! for each column j of the start's block:
//!     x = segment[j] & (coeff << s)
//!     if s > 0:  x ^= segment[columns + j] & (coeff >> (128 - s))        s = start mod 128
//!     parity(x) must be bit j of the fingerprint
//! ```
//! The second segment lies in the next block, whose column `j` is always `columns` further on: blocks with a
//! column less come first. Departure: the vector forms test all columns at once and so read more than a plain
//! query that fails early, but have no branch to mispredict: misses of one query overlap those of the next.

use super::{Reader, SEGMENT};
use crate::filter::cpu::{self, Vectors};
use crate::filter::{BATCH, prefetch_line};

impl Reader {
    /// False only if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        if payload.len() < self.bits_len {
            return true;
        }
        match cpu::vectors() {
            Vectors::None => self.probe(payload, hash),
            // SAFETY: the chooser saw what the callee enables.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx2 => unsafe { x86_64::probe_avx2(self, payload, hash) },
            // SAFETY: the chooser saw what the callee enables.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            _ => unsafe { x86_64::probe_avx512(self, payload, hash) },
        }
    }

    /// [`Self::may_match`] of each hash: all hashed, all lines asked for, then all probed.
    pub fn may_match_batch(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        if payload.len() < self.bits_len {
            return answers.fill(true);
        }
        for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            match cpu::vectors() {
                Vectors::None => {
                    hashes.iter().for_each(|&hash| self.prefetch(payload, hash));
                    for (&hash, answer) in hashes.iter().zip(answers) {
                        *answer = self.probe(payload, hash);
                    }
                }
                // SAFETY: the chooser saw what the callee enables.
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                Vectors::Avx2 => unsafe { x86_64::probe_batch_avx2(self, payload, hashes, answers) },
                // SAFETY: the chooser saw what the callee enables.
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                _ => unsafe { x86_64::probe_batch_avx512(self, payload, hashes, answers) },
            }
        }
    }

    /// Asks for the lines of the key's two blocks, at once.
    #[inline]
    pub fn prefetch(&self, payload: &[u8], hash: u64) {
        let (at, columns) = self.block(self.row(hash).start);
        prefetch_lines(payload, at, columns);
    }

    /// The specification.
    pub(super) fn probe(&self, payload: &[u8], hash: u64) -> bool {
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

/// The lines of two blocks of so many columns, the first at `at`.
#[inline(always)]
fn prefetch_lines(payload: &[u8], at: usize, columns: usize) {
    let end = at + 2 * columns * SEGMENT;
    let mut line = at;
    while line < end {
        prefetch_line(payload, line);
        line += 64;
    }
    prefetch_line(payload, end.saturating_sub(1));
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::super::BLOCK_SLOTS;
    use super::{BATCH, Reader, SEGMENT};

    /// A query as the vectors want it.
    ///
    /// Shifting the coefficients left for the start's block and right for the next one is rotating them once
    /// and telling the halves apart by `next_mask`: `(a & c << s) ^ (b & c >> (128 - s))` is
    /// `rotated & (next_mask ? b : a)`.
    #[derive(Clone, Copy)]
    struct Ready {
        at: usize,
        /// From a column's segment to the one in the next block; 0 when the next block has no part (there may
        /// be none): then the same segment is read twice and the mask takes nothing from it.
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
        /// Whether all of the query's segments are within a payload of so many bytes.
        #[inline(always)]
        fn is_within(&self, len: usize) -> bool {
            self.at + self.next + self.columns * SEGMENT <= len
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn probe_batch_avx512(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        let mut all = [const { std::mem::MaybeUninit::<Ready>::uninit() }; BATCH];
        for (slot, &hash) in all.iter_mut().zip(hashes) {
            let ready = ready(reader, hash);
            super::prefetch_lines(payload, ready.at, ready.columns);
            slot.write(ready);
        }
        for (slot, (answer, _)) in all.iter().zip(answers.iter_mut().zip(hashes)) {
            // SAFETY: as many slots were written as there are hashes, and the zip ends with them.
            *answer = test_avx512(payload, unsafe { slot.assume_init_ref() });
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn probe_avx512(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        test_avx512(payload, &ready(reader, hash))
    }

    /// Eight columns without a branch on what they hold: the lines of all are on their way at once, and the
    /// next query starts while they come. Rarer wider filters go on in a loop.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    fn test_avx512(payload: &[u8], query: &Ready) -> bool {
        if !query.is_within(payload.len()) {
            return true;
        }
        let wide = |c: u128| _mm512_broadcast_i64x2(_mm_set_epi64x((c >> 64) as i64, c as i64));
        let (rotated, next_mask) = (wide(query.rotated), wide(query.next_mask));
        let differ = |done: usize| {
            let columns = query.columns.saturating_sub(done).min(4) as u32;
            let mask = _bzhi_u32(0xff, 2 * columns) as __mmask8;
            // SAFETY: the mask leaves the words of columns below `columns`, which end within the payload, as
            // `is_within` found; masked-out words are not read. `done` is at most 28, so that the address,
            // made without `add`'s promise, is only ever one that is read where the mask has bits.
            let (a, b) = unsafe {
                let from = payload.as_ptr().wrapping_add(query.at + done * SEGMENT);
                let next = from.wrapping_add(query.next);
                (_mm512_maskz_loadu_epi64(mask, from.cast()), _mm512_maskz_loadu_epi64(mask, next.cast()))
            };
            // mask ? b : a
            let taken = _mm512_ternarylogic_epi64::<0xca>(next_mask, b, a);
            let odd = odd_words(_mm512_and_si512(taken, rotated));
            // Bits 2j and 2j+1 are the halves of column j.
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

    /// One bit for each 64-bit word: whether it has an odd number of ones.
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

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn probe_batch_avx2(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        hashes.iter().for_each(|&hash| reader.prefetch(payload, hash));
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = probe_avx2(reader, payload, hash);
        }
    }

    /// The plain form with the population count of the CPU, all columns without a branch.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn probe_avx2(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let query = ready(reader, hash);
        if !query.is_within(payload.len()) {
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
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
type Probe = fn(&Reader, &[u8], u64) -> bool;

/// The vector queries this CPU can run, by name.
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
pub(super) fn vector_paths() -> Vec<(&'static str, Probe)> {
    let mut paths: Vec<(&'static str, Probe)> = Vec::new();
    if cpu::vectors() >= Vectors::Avx2 {
        paths.push(("avx2", |reader, payload, hash| {
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { x86_64::probe_avx2(reader, payload, hash) }
        }));
    }
    if cpu::vectors() >= Vectors::Avx512 {
        paths.push(("avx512", |reader, payload, hash| {
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { x86_64::probe_avx512(reader, payload, hash) }
        }));
    }
    paths
}
