//! Keys: unique by filter and number, of varying length and alignment, their variance spread so that no
//! 32-bit hash can do better than chance.

use super::flags::Flags;
use super::twister::fast_range;

/// Makes keys in place, as many at a time as there are slots.
///
/// ```text
/// slot:   lane of alignment 0 | 1 | 2 | 3       lane:   number u32, filter + number u32, then zeros to the end
/// ```
/// Each alignment has a lane of its own. Only one word of eight bytes changes in a lane, and one store
/// writes the word. If several stores made the word, the hash would wait until the stores leave the store
/// queue, behind the cache misses of the previous query. The program would then measure this wait instead
/// of the filter.
pub struct KeyMaker {
    buffer: Vec<u8>,
    lane: u32,
    smallest: u32,
    /// 3 where keys lie on all alignments, else 0.
    alignments: u32,
    /// 2 to this many keys have one size; how many sizes there are.
    log2_interval: u32,
    sizes: u32,
}

/// Where a key lies in its maker's buffer.
#[derive(Clone, Copy, Default)]
pub struct Span {
    start: u32,
    len: u32,
}

impl KeyMaker {
    pub fn new(flags: &Flags, slots: usize) -> KeyMaker {
        let average = flags.key_size.max(8);
        let fixed = flags.vary_key_size_log2_interval >= 30;
        let lane = (average + 11).next_multiple_of(64);
        KeyMaker {
            buffer: vec![0; slots * 4 * lane as usize],
            lane,
            smallest: average - if fixed { 2 } else { 0 },
            alignments: if flags.vary_key_alignment { 3 } else { 0 },
            log2_interval: if fixed { 0 } else { flags.vary_key_size_log2_interval },
            sizes: if fixed { 1 } else { 5 },
        }
    }

    /// The key of `number` in a filter, in the first slot.
    #[inline(always)]
    pub fn get(&mut self, filter: u32, number: u32) -> &[u8] {
        let Shape { at, len, word } = self.shape(filter, number);
        let lane = &mut self.buffer[at as usize..];
        *lane.first_chunk_mut().expect("a lane has eleven bytes and more") = word;
        &lane[..len as usize]
    }

    /// Makes a key in each slot, from its draw; see [`Self::at`].
    #[inline(always)]
    pub fn set_each(&mut self, spans: &mut [Span], filter: u32, draws: &[u32], number: impl Fn(u32) -> u32) {
        let mut slot = 0;
        for (span, &draw) in spans.iter_mut().zip(draws) {
            let Shape { at, len, word } = self.shape(filter, number(draw));
            let start = slot + at;
            *self.buffer[start as usize..].first_chunk_mut().expect("a lane has eleven bytes and more") =
                word;
            *span = Span { start, len };
            slot += 4 * self.lane;
        }
    }

    #[inline(always)]
    fn shape(&self, filter: u32, number: u32) -> Shape {
        let size = fast_range((number >> self.log2_interval).wrapping_mul(1_234_567_891), self.sizes);
        let word = u64::from(number) | u64::from(filter.wrapping_add(number)) << 32;
        Shape {
            at: (number & self.alignments) * (self.lane + 1),
            len: self.smallest + size,
            word: word.to_le_bytes(),
        }
    }

    /// The bytes of a key.
    #[inline(always)]
    pub fn at(&self, span: Span) -> &[u8] {
        &self.buffer[span.start as usize..span.start as usize + span.len as usize]
    }
}

/// A key, and where it goes in its slot.
struct Shape {
    at: u32,
    len: u32,
    word: [u8; 8],
}
