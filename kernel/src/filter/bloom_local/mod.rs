//! The cache-local Bloom filter: all probes of a key go to one 64-byte line.
//!
//! ```text
//! line = lo32(h) · lines >> 32
//! g = hi32(h);  each probe: bit = g >> 23 (of 512);  g *= 0x9e3779b9 (u32)
//!
//! mod    sizes, building      query    queries, plain and with vectors
//! ```

#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod query;

use super::cpu::Level;
use super::{BitsPerKey, METADATA_LEN, prefetch_line};

const GOLDEN: u32 = 0x9e37_79b9;
const LINE: usize = 64;
/// The largest number of bytes (without metadata) that this format can address.
const MAX_BITS_LEN: u64 = 0xffff_ffc0;

/// A parsed header, and the vector instructions that queries on this CPU use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    lines: u32,
    probes: u8,
    level: Level,
    /// One bit for each probe, for the first sixteen probes.
    wanted: u16,
    /// The number of bytes of all lines. Every query checks that its payload has at least this length.
    lines_len: usize,
}

impl Reader {
    pub(super) fn parse(bits_len: usize, [sub, layout, b3, b4]: [u8; 4]) -> Option<Reader> {
        let probes = layout & 31;
        let known = sub == 0 && layout >> 5 == 0 && (1..=30).contains(&probes) && b3 == 0 && b4 == 0;
        let lines = u32::try_from(bits_len / LINE).ok()?;
        (known && lines > 0 && bits_len as u64 <= MAX_BITS_LEN + 63).then(|| Reader::new(lines, probes))
    }

    fn new(lines: u32, probes: u8) -> Reader {
        let wanted = ((1u32 << probes.min(16)) - 1) as u16;
        Reader { lines, probes, level: Level::found(), wanted, lines_len: lines as usize * LINE }
    }

    /// Prefetches the line of the key. These are two cache lines of the CPU if the payload is not aligned to
    /// 64 bytes.
    #[inline(always)]
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
}

/// Returns the number of probes for the thousandths of bits per key.
pub(crate) fn num_probes(millibits: u32) -> u8 {
    const LIMITS: [u32; 12] = [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];
    match LIMITS.iter().position(|&limit| millibits <= limit) {
        Some(at) => at as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// Returns the length of a payload for `entries` entries, including the metadata.
pub fn payload_len(entries: usize, bits: BitsPerKey) -> usize {
    let wanted = (entries as u128 * u128::from(bits.millibits())).div_ceil(8000);
    wanted.min(u128::from(MAX_BITS_LEN)).next_multiple_of(64) as usize + METADATA_LEN
}

/// Returns the number of entries for which a payload of this length is built.
pub fn approximate_num_entries(payload_len: usize, bits: BitsPerKey) -> usize {
    let usable = (payload_len.saturating_sub(METADATA_LEN) as u64).min(MAX_BITS_LEN) & !63;
    (8000 * usable / u64::from(bits.millibits())) as usize
}

/// Returns the real number of bits per key of a filter with `entries` entries, which includes rounding.
/// Returns `bits` instead if the number of probes for the real number is the same, or if the length would
/// change.
pub fn fitted(entries: usize, bits: BitsPerKey) -> BitsPerKey {
    let len = payload_len(entries, bits);
    let real = ((len - METADATA_LEN) as u64 * 8000 / entries.max(1) as u64).min(100_000);
    let better = BitsPerKey::new(real as f64 / 1000.0).filter(|better| {
        num_probes(better.millibits()) != num_probes(bits.millibits()) && payload_len(entries, *better) == len
    });
    better.unwrap_or(bits)
}

/// Builds the filter of `hashes`. Each hash is a [`hash64`](crate::hash::hash64). Without hashes the payload
/// is empty.
pub fn build(hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    let mut payload = Vec::new();
    build_into(hashes, bits, &mut payload);
    payload
}

/// Works like [`build`], but into a buffer. The contents are replaced and the memory is reused.
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

/// The number of keys between the prefetch of a line and its use.
const AHEAD: usize = 16;

fn set_bits(bits: &mut [u8], hashes: &[u64], probes: u8) {
    let reader = Reader::new((bits.len() / LINE) as u32, probes);
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

/// Returns the expected false-positive rate for `probes` probes into lines of 512 bits with `bits_per_key`.
/// It is the mean of the standard formula for two lines: one standard deviation fuller and one emptier than
/// the average line.
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
