//! Queries: the key's equation against the stored columns.
//!
//! ```text
//! for each column j of the start's block:
//!     x = segment[j] & (coeff << s)
//!     if s > 0:  x ^= segment[columns + j] & (coeff >> (128 - s))        s = start mod 128
//!     parity(x) must be bit j of the fingerprint
//! ```
//! The second segment lies in the next block, whose column `j` is always `columns` further on: blocks with a
//! column less come first. Departure: the vector forms test four columns at once and so read a little more
//! than a plain query that fails early, but have no branch to mispredict.

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
            // SAFETY (both): the chooser saw what the callee enables; the payload has all the bits.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx2 => unsafe { x86_64::probe_avx2(self, payload, hash) },
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
            hashes.iter().for_each(|&hash| self.prefetch(payload, hash));
            match cpu::vectors() {
                Vectors::None => {
                    for (&hash, answer) in hashes.iter().zip(answers) {
                        *answer = self.probe(payload, hash);
                    }
                }
                // SAFETY (both): as above.
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                Vectors::Avx2 => unsafe { x86_64::probe_batch_avx2(self, payload, hashes, answers) },
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                _ => unsafe { x86_64::probe_batch_avx512(self, payload, hashes, answers) },
            }
        }
    }

    /// Asks for the lines of the key's two blocks, at once.
    #[inline]
    pub fn prefetch(&self, payload: &[u8], hash: u64) {
        let (at, columns) = self.block(self.row(hash).start);
        let end = at + 2 * columns * SEGMENT;
        let mut line = at;
        while line < end {
            prefetch_line(payload, line);
            line += 64;
        }
        prefetch_line(payload, end.saturating_sub(1));
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

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::super::BLOCK_SLOTS;
    use super::{Reader, SEGMENT};

    /// Coefficients as they meet the start's block and the next one. The latter are zero for a start at
    /// slot 0 of its block.
    #[inline(always)]
    fn shifted(coeff: u128, shift: u32) -> (u128, u128) {
        (coeff << shift, (coeff >> 1) >> (BLOCK_SLOTS - 1 - shift))
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn probe_batch_avx512(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = probe_avx512(reader, payload, hash);
        }
    }

    /// Four columns at a time, masked loads: nothing beyond the key's segments is touched.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn probe_avx512(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let row = reader.row(hash);
        let (at, columns) = reader.block(row.start);
        let shift = row.start % BLOCK_SLOTS;
        let (left, right) = shifted(row.coeff, shift);
        // With nothing to take from the next block there may be no next block: read the same one again.
        let next = if shift > 0 { columns * SEGMENT } else { 0 };
        if at + next + columns * SEGMENT > payload.len() {
            return true;
        }
        let broadcast = |c: u128| _mm512_broadcast_i64x2(_mm_set_epi64x((c >> 64) as i64, c as i64));
        let (left, right) = (broadcast(left), broadcast(right));
        let nibble = _mm512_set1_epi8(15);
        let parity = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0));
        let mut done = 0;
        while done < columns {
            let words = 2 * (columns - done).min(4);
            let mask = (0xffu32 >> (8 - words)) as __mmask8;
            // SAFETY: the mask leaves the words of columns below `columns`, which end at `at + columns·16` and
            // `at + next + columns·16`, within the payload as just checked.
            let (a, b) = unsafe {
                let from = payload.as_ptr().add(at + done * SEGMENT);
                (
                    _mm512_maskz_loadu_epi64(mask, from.cast()),
                    _mm512_maskz_loadu_epi64(mask, from.add(next).cast()),
                )
            };
            // a & left ^ b & right
            let sum = _mm512_ternarylogic_epi64::<0x78>(_mm512_and_si512(a, left), b, right);
            let halves = _mm512_xor_si512(sum, _mm512_srli_epi64::<4>(sum));
            let parities = _mm512_shuffle_epi8(parity, _mm512_and_si512(halves, nibble));
            let ones = _mm512_sad_epu8(parities, _mm512_setzero_si512());
            let odd = u32::from(_mm512_test_epi64_mask(ones, _mm512_set1_epi64(1)));
            // Bits 2j and 2j+1 are the halves of column j.
            let found = _pext_u32(odd ^ odd >> 1, 0x55);
            let wanted = _bzhi_u32(row.fingerprint >> done, words as u32 / 2);
            if found != wanted {
                return false;
            }
            done += 4;
        }
        true
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn probe_batch_avx2(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = probe_avx2(reader, payload, hash);
        }
    }

    /// The plain form with the population count of the CPU.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    pub(super) fn probe_avx2(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        let row = reader.row(hash);
        let (at, columns) = reader.block(row.start);
        let shift = row.start % BLOCK_SLOTS;
        let (left, right) = shifted(row.coeff, shift);
        let next = if shift > 0 { columns * SEGMENT } else { 0 };
        if at + next + columns * SEGMENT > payload.len() {
            return true;
        }
        let (here, there) = (&payload[at..at + columns * SEGMENT], &payload[at + next..]);
        for (j, (a, b)) in here.chunks_exact(SEGMENT).zip(there.chunks_exact(SEGMENT)).enumerate() {
            let (a, b): (&[u8; SEGMENT], &[u8; SEGMENT]) = (a.try_into().unwrap(), b.try_into().unwrap());
            let sum = u128::from_le_bytes(*a) & left ^ u128::from_le_bytes(*b) & right;
            let sum = sum as u64 ^ (sum >> 64) as u64;
            if sum.count_ones() & 1 != row.fingerprint >> j & 1 {
                return false;
            }
        }
        true
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
type Probe = fn(&Reader, &[u8], u64) -> bool;

/// The vector queries this CPU can run, by name.
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
pub(super) fn vector_paths() -> Vec<(&'static str, Probe)> {
    let mut paths: Vec<(&'static str, Probe)> = Vec::new();
    // SAFETY (both): pushed only when the chooser saw the features; a payload that is short reads as a match.
    if cpu::vectors() >= Vectors::Avx2 {
        paths.push(("avx2", |reader, payload, hash| unsafe { x86_64::probe_avx2(reader, payload, hash) }));
    }
    if cpu::vectors() >= Vectors::Avx512 {
        paths
            .push(("avx512", |reader, payload, hash| unsafe { x86_64::probe_avx512(reader, payload, hash) }));
    }
    paths
}
