//! Queries: all probes of a key at the same time, and no branch that depends on the result.
//!
//! Lane `i` of a vector query starts from `g · 0x9e3779b9^i`. Its top four bits select the word of the line,
//! and the next five bits select the bit. If many queries follow each other, the CPU overlaps the cache
//! misses of as many queries as fit into its window. So a query should have no branches and few instructions,
//! including the hash. This is why each path has a function that also hashes.

use super::super::cpu::Vectors;
use super::{GOLDEN, LINE, Reader};
use crate::hash::hash64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::hash::hash64_usual;

impl Reader {
    /// Returns false only if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u64) -> bool {
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
        if self.level.has(Vectors::Avx512) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_key_avx512(self, payload, key) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx2) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_key_avx2(self, payload, key) };
        }
        self.hash_and_ask(payload, key)
    }

    /// For keys of unusual lengths. The function is cold, so it does not slow down the other lengths.
    #[cold]
    #[inline(never)]
    fn hash_and_ask(&self, payload: &[u8], key: &[u8]) -> bool {
        self.may_match(payload, hash64(key))
    }

    /// Works like [`Self::may_match`] for each hash. The lines must have been prefetched.
    pub(in super::super) fn may_match_fetched(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx512) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_each_avx512(self, payload, hashes, answers) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.level.has(Vectors::Avx2) {
            // SAFETY: the CPU has these vectors.
            return unsafe { x86_64::ask_each_avx2(self, payload, hashes, answers) };
        }
        hashes.iter().zip(answers).for_each(|(&hash, answer)| *answer = self.may_match(payload, hash));
    }

    /// The specification.
    fn ask(&self, payload: &[u8], hash: u64) -> bool {
        if payload.len() < self.lines_len {
            return true;
        }
        let line = &payload[self.line_start(hash)..][..LINE];
        let mut g = (hash >> 32) as u32;
        for _ in 0..self.probes {
            let bit = (g >> 23) as usize;
            if line[bit / 8] & (1 << (bit % 8)) == 0 {
                return false;
            }
            g = g.wrapping_mul(GOLDEN);
        }
        true
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{GOLDEN, LINE, Reader, hash64_usual};

    /// `GOLDEN^i` for lane `i`. Values 8 and 16 move all lanes eight or sixteen probes on.
    const POWERS: [u32; 17] = {
        let mut powers = [1u32; 17];
        let mut i = 1;
        while i < 17 {
            powers[i] = powers[i - 1].wrapping_mul(GOLDEN);
            i += 1;
        }
        powers
    };
    static LANES: [u32; 17] = POWERS;
    /// A window of eight words into this array gives the lanes in use.
    static ACTIVE: [u32; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_key_avx512(reader: &Reader, payload: &[u8], key: &[u8]) -> bool {
        match hash64_usual(key, 0) {
            Some(hash) => one_avx512(reader, payload, hash),
            None => reader.hash_and_ask(payload, key),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_avx512(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        one_avx512(reader, payload, hash)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_each_avx512(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = one_avx512(reader, payload, hash);
        }
    }

    /// Tests sixteen probes at the same time. The whole line is in one register.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    fn one_avx512(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        if payload.len() < reader.lines_len {
            return true;
        }
        // SAFETY: the line is one of `lines`, and the payload has all of them. LANES has at least sixteen
        // words.
        let (words, lanes) = unsafe {
            let line = payload.as_ptr().add(reader.line_start(hash));
            (_mm512_loadu_si512(line.cast()), _mm512_loadu_si512(LANES.as_ptr().cast()))
        };
        let spread = _mm512_mullo_epi32(_mm512_set1_epi32((hash >> 32) as i32), lanes);
        let all = absent(words, spread) & u32::from(reader.wanted) == 0;
        if reader.probes <= 16 {
            return all;
        }
        let further = _mm512_mullo_epi32(spread, _mm512_set1_epi32(POWERS[16] as i32));
        all & (absent(words, further) & _bzhi_u32(0xffff, u32::from(reader.probes) - 16) == 0)
    }

    /// Returns the lanes whose bits are not set.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    #[inline]
    fn absent(words: __m512i, spread: __m512i) -> u32 {
        // Nine bits: the permutation uses the top four, the rotation uses the five below.
        let bit = _mm512_srli_epi32::<23>(spread);
        let found = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(spread), words);
        u32::from(_mm512_testn_epi32_mask(_mm512_rorv_epi32(found, bit), _mm512_set1_epi32(1)))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_key_avx2(reader: &Reader, payload: &[u8], key: &[u8]) -> bool {
        match hash64_usual(key, 0) {
            Some(hash) => one_avx2(reader, payload, hash),
            None => reader.hash_and_ask(payload, key),
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_avx2(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        one_avx2(reader, payload, hash)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn ask_each_avx2(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = one_avx2(reader, payload, hash);
        }
    }

    /// Tests eight probes at the same time, with one more round for each further eight probes.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    #[inline]
    fn one_avx2(reader: &Reader, payload: &[u8], hash: u64) -> bool {
        if payload.len() < reader.lines_len {
            return true;
        }
        // SAFETY: the line (two vectors) is one of `lines`, and the payload has all of them. LANES has at
        // least eight words.
        let (low, high, lanes) = unsafe {
            let words = payload.as_ptr().add(reader.line_start(hash)).cast::<__m256i>();
            (
                _mm256_loadu_si256(words),
                _mm256_loadu_si256(words.add(1)),
                _mm256_loadu_si256(LANES.as_ptr().cast()),
            )
        };
        let mut spread = _mm256_mullo_epi32(_mm256_set1_epi32((hash >> 32) as i32), lanes);
        let mut left = usize::from(reader.probes);
        let mut all = has_avx2(low, high, spread, left);
        while left > 8 && all {
            left -= 8;
            spread = _mm256_mullo_epi32(spread, _mm256_set1_epi32(POWERS[8] as i32));
            all = has_avx2(low, high, spread, left);
        }
        all
    }

    /// Returns true if the bits of the first `left` lanes are set.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn has_avx2(low: __m256i, high: __m256i, spread: __m256i, left: usize) -> bool {
        // SAFETY: the window into ACTIVE starts at 8 − min(8, left), which is at most 8. It has eight words.
        let one = unsafe { _mm256_loadu_si256(ACTIVE.as_ptr().add(8 - left.min(8)).cast()) };
        let word = _mm256_srli_epi32::<28>(spread);
        let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(spread));
        let from_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
        let from_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
        // The sign bit is the top bit of the word index. It is set for words 8 to 15.
        let found = _mm256_blendv_ps(from_low, from_high, _mm256_castsi256_ps(spread));
        let wanted = _mm256_sllv_epi32(one, bit);
        _mm256_testc_si256(_mm256_castps_si256(found), wanted) != 0
    }

    const _: () = assert!(LINE == 64, "a line is one AVX-512 register, two of AVX2");
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::*;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    use crate::filter::cpu;
    use crate::filter::{BitsPerKey, Filter};

    type Ask = fn(&Reader, &[u8], u64) -> bool;
    type AskKey = fn(&Reader, &[u8], &[u8]) -> bool;
    type AskEach = fn(&Reader, &[u8], &[u64], &mut [bool]);

    /// Returns the queries that this CPU can run, with their names.
    fn paths() -> Vec<(&'static str, Ask, AskKey, AskEach)> {
        // On 64-bit ARM, "chosen" is NEON.
        #[cfg_attr(any(miri, not(target_arch = "x86_64")), allow(unused_mut))]
        let mut paths: Vec<(&'static str, Ask, AskKey, AskEach)> =
            vec![("chosen", Reader::may_match, |r, p, k| r.may_match_key(p, k), Reader::may_match_fetched)];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if cpu::vectors() >= Vectors::Avx2 {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            let ask: Ask = |r, p, h| unsafe { x86_64::ask_avx2(r, p, h) };
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            let ask_key: AskKey = |r, p, k| unsafe { x86_64::ask_key_avx2(r, p, k) };
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            let ask_each: AskEach = |r, p, h, a| unsafe { x86_64::ask_each_avx2(r, p, h, a) };
            paths.push(("avx2", ask, ask_key, ask_each));
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if cpu::vectors() >= Vectors::Avx512 {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            let ask: Ask = |r, p, h| unsafe { x86_64::ask_avx512(r, p, h) };
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            let ask_key: AskKey = |r, p, k| unsafe { x86_64::ask_key_avx512(r, p, k) };
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the list.
            let ask_each: AskEach = |r, p, h, a| unsafe { x86_64::ask_each_avx512(r, p, h, a) };
            paths.push(("avx512", ask, ask_key, ask_each));
        }
        paths
    }

    #[test]
    fn every_query_path_equals_the_plain_one() {
        let (keys, asked) = if cfg!(miri) { (40, 100) } else { (2000, 8000u64) };
        let key = |i: u64| {
            [
                &b"a key of some length"[..(i % 40).min(20) as usize],
                &i.to_le_bytes(),
                &[7; 20][..(i % 21) as usize],
            ]
            .concat()
        };
        for bits in [1.0, 4.0, 10.0, 13.0, 20.0, 33.0, 49.0, 90.0] {
            let inside: Vec<u64> = (0..keys).map(|i| hash64(&key(i))).collect();
            let payload = build(&inside, BitsPerKey::new(bits).unwrap());
            let Filter::BloomLocal(reader) = Filter::parse(&payload) else {
                panic!("{bits} bits a key gave no local Bloom filter");
            };
            // Also test a payload that is not aligned, and a shortened payload.
            let mut moved = vec![0; 3];
            moved.extend_from_slice(&payload);
            for payload in [&payload[..], &moved[3..], &payload[..payload.len() / 2]] {
                let hashes: Vec<u64> = (0..asked).map(|i| hash64(&key(i))).collect();
                let plain: Vec<bool> = hashes.iter().map(|&hash| reader.ask(payload, hash)).collect();
                assert!(plain[..keys as usize].iter().all(|&answer| answer));
                for (name, ask, ask_key, ask_each) in paths() {
                    let mut batch = vec![false; hashes.len()];
                    ask_each(&reader, payload, &hashes, &mut batch);
                    assert_eq!(batch, plain, "{name}, {bits} bits, batch");
                    for (i, &plain) in (0..).zip(&plain) {
                        assert_eq!(ask(&reader, payload, hashes[i as usize]), plain, "{name}, {bits} bits");
                        assert_eq!(ask_key(&reader, payload, &key(i)), plain, "{name}, {bits} bits, key");
                    }
                }
            }
        }
    }
}
