//! The cache-local Bloom filter: every probe of a key falls into one 64-byte line.
//!
//! ```text
//! line = lo32(h) · lines >> 32
//! g = hi32(h);  each probe: bit = g >> 23 (of 512);  g *= 0x9e3779b9 (u32)
//! ```
//! The vector query does eight probes at once: lane `i` starts from `g · 0x9e3779b9^i`, picks its word of
//! the line by the top four bits and its bit by the next five.

use super::cpu::{self, Vectors};
use super::{BATCH, BitsPerKey, METADATA_LEN, prefetch_line};

const GOLDEN: u32 = 0x9e37_79b9;
const LINE: usize = 64;
/// Most bytes of bits this format can address.
const MAX_BITS_LEN: u64 = 0xffff_ffc0;

/// A parsed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    lines: u32,
    probes: u8,
}

impl Reader {
    pub(super) fn parse(bits_len: usize, [sub, layout, b3, b4]: [u8; 4]) -> Option<Reader> {
        let probes = layout & 31;
        let known = sub == 0 && layout >> 5 == 0 && (1..=30).contains(&probes) && b3 == 0 && b4 == 0;
        let lines = u32::try_from(bits_len / LINE).ok()?;
        (known && lines > 0 && bits_len as u64 <= MAX_BITS_LEN + 63).then_some(Reader { lines, probes })
    }

    /// False only if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        let Some(line) = self.line(payload, hash) else { return true };
        match cpu::vectors() {
            Vectors::None => probe(line, (hash >> 32) as u32, self.probes),
            // SAFETY: the chooser saw AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            _ => unsafe { x86_64::probe(line, (hash >> 32) as u32, self.probes) },
        }
    }

    /// [`Self::may_match`] of each hash, the lines fetched first.
    pub fn may_match_batch(&self, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            hashes.iter().for_each(|&hash| self.prefetch(payload, hash));
            match cpu::vectors() {
                Vectors::None => {
                    for (&hash, answer) in hashes.iter().zip(answers) {
                        *answer = self
                            .line(payload, hash)
                            .is_none_or(|line| probe(line, (hash >> 32) as u32, self.probes));
                    }
                }
                // SAFETY: the chooser saw AVX2.
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                _ => unsafe { x86_64::probe_batch(self, payload, hashes, answers) },
            }
        }
    }

    /// Asks for the key's line (both of the CPU's, where the payload is not aligned to 64 bytes).
    #[inline]
    pub fn prefetch(&self, payload: &[u8], hash: u64) {
        let start = self.line_start(hash);
        prefetch_line(payload, start);
        if !(payload.as_ptr() as usize).is_multiple_of(LINE) {
            prefetch_line(payload, start + LINE - 1);
        }
    }

    #[inline(always)]
    fn line_start(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * u64::from(self.lines)) >> 32) as usize * LINE
    }

    #[inline(always)]
    fn line<'a>(&self, payload: &'a [u8], hash: u64) -> Option<&'a [u8; LINE]> {
        payload.get(self.line_start(hash)..)?.first_chunk()
    }
}

/// The specification of a query.
#[inline(always)]
fn probe(line: &[u8; LINE], mut g: u32, probes: u8) -> bool {
    for _ in 0..probes {
        let bit = (g >> 23) as usize;
        if line[bit / 8] & (1 << (bit % 8)) == 0 {
            return false;
        }
        g = g.wrapping_mul(GOLDEN);
    }
    true
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{GOLDEN, LINE, Reader};

    /// `GOLDEN^i` for lane `i`, and what takes all lanes eight probes on.
    const POWERS: [u32; 9] = {
        let mut powers = [1u32; 9];
        let mut i = 1;
        while i < 9 {
            powers[i] = powers[i - 1].wrapping_mul(GOLDEN);
            i += 1;
        }
        powers
    };
    /// Sliding a window of eight over this gives the lanes in use.
    static ACTIVE: [u32; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn probe(line: &[u8; LINE], g: u32, probes: u8) -> bool {
        // SAFETY: the line is 64 bytes, two vectors; POWERS has eight words and more; the window into
        // ACTIVE starts at 8 − min(8, left), at most 7, and is eight words long.
        let (low, high, mut spread) = unsafe {
            let words = line.as_ptr().cast::<__m256i>();
            let powers = _mm256_loadu_si256(POWERS.as_ptr().cast());
            let spread = _mm256_mullo_epi32(_mm256_set1_epi32(g as i32), powers);
            (_mm256_loadu_si256(words), _mm256_loadu_si256(words.add(1)), spread)
        };
        let mut left = usize::from(probes);
        loop {
            // SAFETY: as above.
            let one = unsafe { _mm256_loadu_si256(ACTIVE.as_ptr().add(8 - left.min(8)).cast()) };
            let word = _mm256_srli_epi32::<28>(spread);
            let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(spread));
            let from_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
            let from_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
            // The sign bit is the top bit of the word's number: set for words 8 to 15.
            let found = _mm256_blendv_ps(from_low, from_high, _mm256_castsi256_ps(spread));
            let wanted = _mm256_sllv_epi32(one, bit);
            // The answer is a value, not a branch, while one round does: the next query's miss then overlaps
            // this one's, where a mispredicted branch would wait for it.
            let all = _mm256_testc_si256(_mm256_castps_si256(found), wanted) != 0;
            if left <= 8 {
                return all;
            }
            if !all {
                return false;
            }
            left -= 8;
            spread = _mm256_mullo_epi32(spread, _mm256_set1_epi32(POWERS[8] as i32));
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn probe_batch(reader: &Reader, payload: &[u8], hashes: &[u64], answers: &mut [bool]) {
        for (&hash, answer) in hashes.iter().zip(answers) {
            *answer = match reader.line(payload, hash) {
                Some(line) => probe(line, (hash >> 32) as u32, reader.probes),
                None => true,
            };
        }
    }
}

/// The number of probes for so many thousandths of bits a key.
pub fn num_probes(millibits: u32) -> u8 {
    const LIMITS: [u32; 12] = [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];
    match LIMITS.iter().position(|&limit| millibits <= limit) {
        Some(at) => at as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// Length of a payload for so many entries, metadata included.
pub fn payload_len(entries: usize, bits: BitsPerKey) -> usize {
    let wanted = (entries as u128 * u128::from(bits.millibits())).div_ceil(8000);
    wanted.min(u128::from(MAX_BITS_LEN)).next_multiple_of(64) as usize + METADATA_LEN
}

/// How many entries a payload of so many bytes is meant for.
pub fn approximate_num_entries(payload_len: usize, bits: BitsPerKey) -> usize {
    let usable = (payload_len.saturating_sub(METADATA_LEN) as u64).min(MAX_BITS_LEN) & !63;
    (8000 * usable / u64::from(bits.millibits())) as usize
}

/// The filter of `hashes` (each a [`hash64`](crate::hash::hash64)); an empty payload for none.
pub fn build(hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    let mut payload = Vec::new();
    build_into(hashes, bits, &mut payload);
    payload
}

/// [`build`] into a buffer whose contents are replaced and whose memory is used again.
pub fn build_into(hashes: &[u64], bits: BitsPerKey, payload: &mut Vec<u8>) {
    payload.clear();
    if hashes.is_empty() {
        return;
    }
    payload.resize(payload_len(hashes.len(), bits), 0);
    let probes = num_probes(bits.millibits());
    let end = payload.len() - METADATA_LEN;
    set_bits(&mut payload[..end], hashes, probes);
    payload[end..].copy_from_slice(&[0xff, 0, probes, 0, 0]);
}

/// How far ahead of its turn a key's line is fetched.
const AHEAD: usize = 16;

fn set_bits(bits: &mut [u8], hashes: &[u64], probes: u8) {
    let reader = Reader { lines: (bits.len() / LINE) as u32, probes };
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(i + AHEAD) {
            reader.prefetch(bits, later);
        }
        let start = reader.line_start(hash);
        let line: &mut [u8; LINE] = bits[start..].first_chunk_mut().expect("a whole number of lines");
        let mut g = (hash >> 32) as u32;
        for _ in 0..probes {
            let bit = (g >> 23) as usize;
            line[bit / 8] |= 1 << (bit % 8);
            g = g.wrapping_mul(GOLDEN);
        }
    }
}

/// Expected false-positive rate with `probes` probes into lines of 512 bits at `bits_per_key`: the mean of
/// the standard formula for lines one standard deviation fuller and emptier than the average one.
pub(super) fn cache_local_fp_rate(bits_per_key: f64, probes: u8) -> f64 {
    if bits_per_key <= 0.0 {
        return 1.0;
    }
    let keys = 512.0 / bits_per_key;
    let deviation = keys.sqrt();
    let crowded = standard_fp_rate(512.0 / (keys + deviation), probes);
    let uncrowded = standard_fp_rate(512.0 / (keys - deviation), probes);
    (crowded + uncrowded) / 2.0
}

fn standard_fp_rate(bits_per_key: f64, probes: u8) -> f64 {
    (1.0 - (-f64::from(probes) / bits_per_key).exp()).powf(f64::from(probes))
}
