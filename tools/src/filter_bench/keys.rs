//! Keys: unique by filter and number, of varying length and alignment, their variance spread so that no
//! 32-bit hash can do better than chance.

use super::flags::Flags;
use super::twister::fast_range;

/// Makes keys in one buffer, one at a time.
pub struct KeyMaker {
    buffer: Vec<u8>,
    smallest: usize,
    vary_alignment: bool,
    /// `None`: all keys have one size.
    log2_interval: Option<u32>,
}

impl KeyMaker {
    pub fn new(flags: &Flags) -> KeyMaker {
        let average = flags.key_size.max(8) as usize;
        let fixed = flags.vary_key_size_log2_interval >= 30;
        KeyMaker {
            buffer: vec![0; (average + 11).max(3 + 12)],
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
        let start = if self.vary_alignment { (number % 4) as usize } else { 0 };
        let mut len = self.smallest;
        if let Some(log2) = self.log2_interval {
            len += fast_range((number >> log2).wrapping_mul(1_234_567_891), 5) as usize;
        }
        let words = &mut self.buffer[start..start + 12];
        words[..4].copy_from_slice(&number.to_le_bytes());
        words[4..8].copy_from_slice(&filter.wrapping_add(number).to_le_bytes());
        words[8..].fill(0);
        start..start + len
    }

    /// The bytes of the key made last.
    #[inline]
    pub fn at(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[range]
    }
}
