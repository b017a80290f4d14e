//! The Bloom filter of plain tables. It uses 32-bit hashes (`slice_hash`), with or without locality.
//!
//! ```text
//! delta = rotr32(h, 17)
//! none      each probe: bit = h mod total bits;                                   h += delta
//! locality  line = rotr32(h, 11) mod lines; each probe: bit = h mod 512;  h = rotr32(h, 9) + delta
//! ```
//! The size is set before the first key. Keys are added one at a time. There are no metadata.

use super::prefetch_line;

const LINE: usize = 64;

/// The layout of the bits. The caller owns the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    total_bits: u32,
    /// 0 means no locality.
    lines: u32,
    probes: u8,
}

impl Layout {
    /// Creates a layout for about `total_bits` bits: whole bytes, or with locality an odd number of 64-byte
    /// lines. It has at least one byte or line.
    pub fn new(total_bits: u32, probes: u8, locality: bool) -> Layout {
        if locality {
            let lines = total_bits.div_ceil(512).clamp(1, u32::MAX / 512 - 1) | 1;
            Layout { total_bits: lines * 512, lines, probes }
        } else {
            let total_bits = total_bits.clamp(1, u32::MAX - 7).next_multiple_of(8);
            Layout { total_bits, lines: 0, probes }
        }
    }

    /// The layout of bits that are stored in `len_bytes` bytes. `lines` is 0 without locality. `None` if the bits do not fit
    /// the lines.
    pub fn stored(len_bytes: usize, lines: u32, probes: u8) -> Option<Layout> {
        let total_bits = u32::try_from(len_bytes.checked_mul(8)?).ok().filter(|bits| *bits > 0)?;
        let fits = lines == 0 || lines.checked_mul(512) == Some(total_bits);
        fits.then_some(Layout { total_bits, lines, probes })
    }

    /// The 64-byte lines of a layout with locality, and 0 without locality.
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// Returns the number of bytes that the caller must provide. They must be zero at the start.
    pub fn len_bytes(&self) -> usize {
        self.total_bits as usize / 8
    }

    /// Adds a key by its hash. Does nothing if the length of `bits` is not [`Self::len_bytes`].
    #[inline]
    pub fn add(&self, bits: &mut [u8], hash: u32) {
        if bits.len() == self.len_bytes() {
            self.probes(hash, |bit| {
                bits[bit / 8] |= 1 << (bit % 8);
                true
            });
        }
    }

    /// Returns false only if no key with this hash was added. Returns true if the length of `bits` is wrong.
    #[inline]
    pub fn may_match(&self, bits: &[u8], hash: u32) -> bool {
        bits.len() != self.len_bytes() || self.probes(hash, |bit| bits[bit / 8] & 1 << (bit % 8) != 0)
    }

    /// Prefetches the line of the key, if the layout has lines.
    #[inline]
    pub fn prefetch(&self, bits: &[u8], hash: u32) {
        if self.lines != 0 {
            prefetch_line(bits, self.line_start(hash));
        }
    }

    #[inline(always)]
    fn line_start(&self, hash: u32) -> usize {
        (hash.rotate_right(11) % self.lines) as usize * LINE
    }

    /// Visits the bits of the key until `visit` returns false.
    #[inline(always)]
    fn probes(&self, mut hash: u32, mut visit: impl FnMut(usize) -> bool) -> bool {
        let delta = hash.rotate_right(17);
        if self.lines == 0 {
            return (0..self.probes).all(|_| {
                let bit = hash % self.total_bits;
                hash = hash.wrapping_add(delta);
                visit(bit as usize)
            });
        }
        let first = self.line_start(hash) * 8;
        (0..self.probes).all(|_| {
            let bit = hash & 511;
            hash = hash.rotate_right(9).wrapping_add(delta);
            visit(first + bit as usize)
        })
    }
}
