//! The Bloom filter of files before format_version 5. It uses 32-bit hashes and one cache line per key.
//!
//! ```text
//! line = h mod lines;  delta = rotr32(h, 17);  each probe: bit = h mod line bits; h += delta
//! ```
//! It is written with 64-byte lines. Any power of two can be read, because hosts with longer cache lines
//! wrote other lengths.

use super::{BitsPerKey, METADATA_LEN, prefetch_line};

/// A parsed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    lines: u32,
    probes: u8,
    log2_line_bytes: u8,
}

impl Reader {
    pub(super) fn parse(bits_len: usize, probes: u8, sub: [u8; 4]) -> Option<Reader> {
        let lines = u32::from_le_bytes(sub);
        if lines == 0 || !bits_len.is_multiple_of(lines as usize) {
            return None;
        }
        let line_bytes = bits_len / lines as usize;
        if !line_bytes.is_power_of_two() {
            return None;
        }
        Some(Reader { lines, probes, log2_line_bytes: line_bytes.ilog2() as u8 })
    }

    /// Returns false only if no key with this hash was added.
    #[inline]
    pub fn may_match(&self, payload: &[u8], hash: u32) -> bool {
        let start = self.line_start(hash);
        let Some(line) = payload.get(start..start + (1usize << self.log2_line_bytes)) else {
            return true;
        };
        let mask = (line.len() * 8 - 1) as u32;
        let delta = hash.rotate_right(17);
        let mut h = hash;
        for _ in 0..self.probes {
            let bit = (h & mask) as usize;
            if line[bit / 8] & (1 << (bit % 8)) == 0 {
                return false;
            }
            h = h.wrapping_add(delta);
        }
        true
    }

    /// Prefetches the line of the key.
    #[inline]
    pub fn prefetch(&self, payload: &[u8], hash: u32) {
        let start = self.line_start(hash);
        prefetch_line(payload, start);
        prefetch_line(payload, start + (1usize << self.log2_line_bytes) - 1);
    }

    #[inline(always)]
    fn line_start(&self, hash: u32) -> usize {
        ((hash % self.lines) as usize) << self.log2_line_bytes
    }
}

/// Returns the number of probes for a setting.
pub(crate) fn num_probes(bits: BitsPerKey) -> u8 {
    ((f64::from(bits.whole()) * 0.69) as i32).clamp(1, 30) as u8
}

/// Returns the number of 64-byte lines for `entries` entries. The number is odd, so all bits of the hash take
/// part in the modulo.
fn num_lines(entries: usize, bits: BitsPerKey) -> u32 {
    if entries == 0 {
        return 0;
    }
    let total = (entries as u64).saturating_mul(u64::from(bits.whole())).min(0xffff_0000);
    total.div_ceil(512) as u32 | 1
}

/// Returns the length of a payload for `entries` entries, including the metadata.
pub fn payload_len(entries: usize, bits: BitsPerKey) -> usize {
    num_lines(entries, bits) as usize * 64 + METADATA_LEN
}

/// Builds the filter of `hashes`. Each hash is a [`bloom_hash`](crate::hash::bloom_hash) in the low 32 bits.
/// Without hashes the payload is empty.
pub fn build(hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    if hashes.is_empty() {
        return Vec::new();
    }
    let lines = num_lines(hashes.len(), bits);
    let probes = num_probes(bits);
    let mut payload = vec![0; payload_len(hashes.len(), bits)];
    for &hash in hashes {
        let mut h = hash as u32;
        let line = (h % lines) as usize * 64;
        let delta = h.rotate_right(17);
        for _ in 0..probes {
            let bit = (h & 511) as usize;
            payload[line + bit / 8] |= 1 << (bit % 8);
            h = h.wrapping_add(delta);
        }
    }
    let metadata = lines as usize * 64;
    payload[metadata] = probes;
    payload[metadata + 1..].copy_from_slice(&lines.to_le_bytes());
    payload
}
