//! Keys: unique by filter and number, of varying length and alignment, their variance spread so that no
//! 32-bit hash can do better than chance.

use super::flags::Flags;
use super::twister::fast_range;

/// Makes keys in place, one at a time.
///
/// ```text
/// lane of alignment 0 | 1 | 2 | 3:     number u32, filter + number u32, then zeros to the end
/// ```
/// Each alignment has a lane of its own, and all that ever changes in it is one word of eight bytes, written
/// at once. A hash that reads a word which several stores made would have to wait until they have left the
/// store queue, behind the misses of the question before: the clock would then tell that, not the filter.
pub struct KeyMaker {
    buffer: Vec<u8>,
    lane: usize,
    smallest: usize,
    vary_alignment: bool,
    /// `None`: all keys have one size.
    log2_interval: Option<u32>,
}

impl KeyMaker {
    pub fn new(flags: &Flags) -> KeyMaker {
        let average = flags.key_size.max(8) as usize;
        let fixed = flags.vary_key_size_log2_interval >= 30;
        let lane = (average + 11).next_multiple_of(64);
        KeyMaker {
            buffer: vec![0; 4 * lane],
            lane,
            smallest: average - if fixed { 2 } else { 0 },
            vary_alignment: flags.vary_key_alignment,
            log2_interval: (!fixed).then_some(flags.vary_key_size_log2_interval),
        }
    }

    /// The key of `number` in a filter.
    #[inline]
    pub fn get(&mut self, filter: u32, number: u32) -> &[u8] {
        let range = self.set(filter, number);
        &self.buffer[range]
    }

    /// Makes the key without borrowing it; see [`Self::at`].
    #[inline]
    pub fn set(&mut self, filter: u32, number: u32) -> std::ops::Range<usize> {
        let alignment = if self.vary_alignment { (number % 4) as usize } else { 0 };
        let mut len = self.smallest;
        if let Some(log2) = self.log2_interval {
            len += fast_range((number >> log2).wrapping_mul(1_234_567_891), 5) as usize;
        }
        let start = alignment * self.lane + alignment;
        let word = u64::from(number) | u64::from(filter.wrapping_add(number)) << 32;
        self.buffer[start..start + 8].copy_from_slice(&word.to_le_bytes());
        start..start + len
    }

    /// The bytes of the key made last.
    #[inline]
    pub fn at(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[range]
    }
}
