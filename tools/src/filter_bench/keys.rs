//! The keys. Each pair of a filter and a number has its own key. Keys vary in length and alignment. The numbers are
//! spread over the bytes, so that a 32-bit hash is not better than a random hash.

use super::flags::Flags;
use super::twister::fast_range;

/// Makes keys in place, one key in each slot.
///
/// ```text
/// slot:   lane of alignment 0 | 1 | 2 | 3       lane:   number u32, filter + number u32, then zeros to the end
/// ```
/// Each alignment has its own lane. Only one word of eight bytes changes in a lane, and one store writes the word. If
/// several stores wrote the word, the hash would wait until the stores leave the store queue. The stores wait there
/// for the cache misses of the previous query. The program would then measure this wait instead of the filter.
pub struct KeyMaker {
    buffer: Vec<u8>,
    lane: u32,
    smallest: u32,
    /// 3 if keys have all four alignments, 0 otherwise.
    alignments: u32,
    /// Groups of 2^`log2_interval` consecutive numbers have one key size. There are `sizes` sizes.
    log2_interval: u32,
    sizes: u32,
}

/// The position of a key in the buffer of its [`KeyMaker`].
#[derive(Clone, Copy, Default)]
pub struct Span {
    start: u32,
    len: u32,
}

impl KeyMaker {
    /// Makes the buffer. Each of the `slots` slots holds one key at a time. A `--key_size` below 8 counts as 8.
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

    /// Returns the key of `number` in a filter. The key is in the first slot.
    #[inline(always)]
    pub fn get(&mut self, filter: u32, number: u32) -> &[u8] {
        let Shape { at, len, word } = self.shape(filter, number);
        let lane = &mut self.buffer[at as usize..];
        *lane.first_chunk_mut().expect("a lane has eleven bytes and more") = word;
        &lane[..len as usize]
    }

    /// Makes a key in each slot, from the drawn number of the slot. [`Self::at`] returns the bytes.
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

    /// Returns the bytes of a key.
    #[inline(always)]
    pub fn at(&self, span: Span) -> &[u8] {
        &self.buffer[span.start as usize..span.start as usize + span.len as usize]
    }
}

/// The word of a key, its length, and its position in a slot.
struct Shape {
    at: u32,
    len: u32,
    word: [u8; 8],
}
