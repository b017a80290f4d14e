//! The cache-local Bloom filter: every probe of a key falls into one 64-byte line.
//!
//! ```text
//! line = lo32(h) · lines >> 32
//! g = hi32(h);  each probe: bit = g >> 23 (of 512);  g *= 0x9e3779b9 (u32)
//!
//! mod    sizes, building      query    asking, plain and by vectors
//! ```

#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod query;

use super::cpu::Level;
use super::{BitsPerKey, METADATA_LEN, prefetch_line};

const GOLDEN: u32 = 0x9e37_79b9;
const LINE: usize = 64;
/// Most bytes of bits this format can address.
const MAX_BITS_LEN: u64 = 0xffff_ffc0;

/// A parsed header, and how this CPU asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    lines: u32,
    probes: u8,
    level: Level,
    /// A bit for each of the first sixteen probes.
    wanted: u16,
    /// Bytes of lines: what every query must find in the payload it is given.
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

    /// Asks for the key's line (both of the CPU's, where the payload is not aligned to 64 bytes).
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

/// The bits a key that a filter of so many entries really has, rounding included, if another number of probes suits
/// them better and the length stays; else `bits`.
pub fn fitted(entries: usize, bits: BitsPerKey) -> BitsPerKey {
    let len = payload_len(entries, bits);
    let real = ((len - METADATA_LEN) as u64 * 8000 / entries.max(1) as u64).min(100_000);
    let better = BitsPerKey::new(real as f64 / 1000.0).filter(|better| {
        num_probes(better.millibits()) != num_probes(bits.millibits()) && payload_len(entries, *better) == len
    });
    better.unwrap_or(bits)
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
