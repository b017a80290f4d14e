//! Encodes Snappy blocks. The search is that of [`crate::matches`].
//!
//! Speed and size divided by libsnappy 1.1.9, by the length of the block and the number of hashed bytes, on an AMD EPYC of family 25:
//!
//! ```text
//! block              4 KiB: 4 bytes   16 KiB: 5 bytes   256 KiB: 6 bytes
//! text               1.11, 0.984      1.23, 1.007       1.10, 1.005
//! JSON               1.07, 0.982      1.29, 1.002       1.00, 0.938
//! random             1.02, 1.000      1.00, 1.000       1.66, 1.000
//! tables             1.21, 0.991      1.28, 1.011       1.31, 1.003
//! ```
//! A step that grows as fast as in the reference (by a 16th of its length) makes blocks of 4 MiB of JSON 2.5 times as long, because
//! the search never becomes dense again.
//!
//! Source: the format description of Snappy (`format_description.txt`).

use std::ops::Range;

use crate::matches::{self, LARGE_LEN, MATCH_MIN, MEDIUM_LEN};

/// The longest copy.
const COPY_MAX: usize = 64;
/// The shortest copy that needs an offset of two bytes.
const COPY_LONG: usize = 12;
/// The smallest offset that needs two bytes.
const OFFSET_LONG: usize = 2048;
/// The largest length of a literal that its tag states, plus 1.
const LITERAL_LONG: usize = 61;

/// 16 KiB of positions: they stay in the first cache of the core. With twice as many, random blocks of 16 KiB took 0.82 of the
/// speed of libsnappy, because the table is cleared before each block.
type Table = [u16; 1 << 13];
/// The number of positions for small texts: fewer to clear.
const SMALL_SLOTS: usize = 1 << 12;

struct Snappy;

/// The search in a text of a size class. The step grows after 16 failed tries.
struct SnappySearch<const HASHED: u32, const IS_FAR: bool>;

impl<const HASHED: u32, const IS_FAR: bool> matches::Search for SnappySearch<HASHED, IS_FAR> {
    const HASHED: u32 = HASHED;
    const IS_FAR: bool = IS_FAR;
    const STEP_BITS: u32 = 4;
    const INSERTS_START: bool = HASHED > 4;
}

type Small = SnappySearch<4, false>;
type Medium = SnappySearch<5, false>;
type Large = SnappySearch<6, true>;

/// An encoder with its table. One encoder encodes any number of blocks, one after the other.
pub struct Encoder {
    table: Box<Table>,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { table: Box::new([0; 1 << 13]) }
    }
}

impl Encoder {
    /// Encodes `text` into the front of `output`. Returns the length; `None` if `output` is too short, or if `text` has more than
    /// `u32::MAX` bytes. [`encoded_len_max`] bytes are always enough. Bytes of `output` past the returned length may change.
    pub fn encode(&mut self, text: &[u8], output: &mut [u8]) -> Option<usize> {
        let end = varint(u32::try_from(text.len()).ok()?, output)?;
        match text.len() {
            0..MEDIUM_LEN => {
                let table = self.table.first_chunk_mut::<SMALL_SLOTS>()?;
                matches::encode::<Snappy, Small, _>(table, text, 0, 1, output, end)
            }
            MEDIUM_LEN..LARGE_LEN => {
                matches::encode::<Snappy, Medium, _>(&mut self.table, text, 0, 1, output, end)
            }
            LARGE_LEN.. => matches::encode::<Snappy, Large, _>(&mut self.table, text, 0, 1, output, end),
        }
    }
}

/// Returns the largest length of the output for a text of `len` bytes.
#[must_use]
pub const fn encoded_len_max(len: usize) -> usize {
    32 + len + len / 6
}

impl matches::Format for Snappy {
    const LITERALS_AT_END: usize = 0;

    #[inline(always)]
    fn sequence(
        text: &[u8],
        literals: Range<usize>,
        offset: usize,
        match_len: usize,
        output: &mut [u8],
        end: usize,
    ) -> Option<usize> {
        let len = literals.len();
        // Few literals are copied as 16 bytes. The copy and the next element overwrite the bytes past them.
        if len <= 16
            && match_len <= COPY_MAX
            && let Some(bytes) = text[literals.start..].first_chunk::<16>()
            && let Some(room) = output.get_mut(end..).and_then(|rest| rest.first_chunk_mut::<24>())
        {
            let mut at = 0;
            if len > 0 {
                room[0] = ((len - 1) << 2) as u8;
                room[1..17].copy_from_slice(bytes);
                at = 1 + len;
            }
            let [low, high] = (offset as u16).to_le_bytes();
            if match_len < COPY_LONG && offset < OFFSET_LONG {
                room[at] = 1 | ((match_len - MATCH_MIN) << 2) as u8 | high << 5;
                room[at + 1] = low;
                return Some(end + at + 2);
            }
            room[at] = 2 | ((match_len - 1) << 2) as u8;
            room[at + 1] = low;
            room[at + 2] = high;
            return Some(end + at + 3);
        }
        let end = literal(&text[literals], output, end)?;
        copies(offset, match_len, output, end)
    }

    fn last(literals: &[u8], output: &mut [u8], end: usize) -> Option<usize> {
        literal(literals, output, end)
    }
}

/// Writes the copies of a match at `end`. Returns the new end of the output.
#[inline(never)]
fn copies(offset: usize, len: usize, output: &mut [u8], mut end: usize) -> Option<usize> {
    let [low, high] = (offset as u16).to_le_bytes();
    let long = |len: usize| [2 | ((len - 1) << 2) as u8, low, high];
    // The last copy has at least four bytes, because it can then have the short form.
    let full = if len < COPY_MAX + MATCH_MIN { 0 } else { (len - MATCH_MIN) / COPY_MAX };
    let room = output.get_mut(end..end + 3 * full)?;
    room.as_chunks_mut().0.fill(long(COPY_MAX));
    end += 3 * full;
    let mut rest = len - full * COPY_MAX;
    if rest > COPY_MAX {
        output.get_mut(end..end + 3)?.copy_from_slice(&long(COPY_MAX - MATCH_MIN));
        end += 3;
        rest -= COPY_MAX - MATCH_MIN;
    }
    if rest < COPY_LONG && offset < OFFSET_LONG {
        let short = [1 | ((rest - MATCH_MIN) << 2) as u8 | high << 5, low];
        output.get_mut(end..end + 2)?.copy_from_slice(&short);
        return Some(end + 2);
    }
    output.get_mut(end..end + 3)?.copy_from_slice(&long(rest));
    Some(end + 3)
}

/// Writes the literals at `end`, if there are any. Returns the new end of the output.
#[inline(always)]
fn literal(literals: &[u8], output: &mut [u8], mut end: usize) -> Option<usize> {
    if literals.is_empty() {
        return Some(end);
    }
    if literals.len() < LITERAL_LONG {
        *output.get_mut(end)? = ((literals.len() - 1) << 2) as u8;
        end += 1;
    } else {
        end = long_literal(literals.len() - 1, output, end)?;
    }
    output.get_mut(end..end + literals.len())?.copy_from_slice(literals);
    Some(end + literals.len())
}

/// Writes the tag of a long literal at `end`, with the one to four bytes of its length less 1. Returns the new end of the output.
#[inline(never)]
fn long_literal(less_one: usize, output: &mut [u8], end: usize) -> Option<usize> {
    let bytes = (less_one as u32).to_le_bytes();
    let count = 4 - (less_one as u32).leading_zeros() as usize / 8;
    *output.get_mut(end)? = ((59 + count) << 2) as u8;
    output.get_mut(end + 1..end + 1 + count)?.copy_from_slice(&bytes[..count]);
    Some(end + 1 + count)
}

/// Writes a varint at the start of the output. Returns its length.
fn varint(mut number: u32, output: &mut [u8]) -> Option<usize> {
    let mut end = 0;
    while number >= 0x80 {
        *output.get_mut(end)? = number as u8 | 0x80;
        number >>= 7;
        end += 1;
    }
    *output.get_mut(end)? = number as u8;
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::{Encoder, encoded_len_max};
    use crate::encoders::{every_text_comes_back, into_room, short_outputs_are_refused};
    use crate::snappy::tests::decode_slowly;

    #[test]
    fn every_text_comes_back_and_the_same_text_gives_the_same_output() {
        every_text_comes_back(
            &mut || {
                let mut encoder = Encoder::default();
                move |text: &[u8], output: &mut [u8]| encoder.encode(text, output)
            },
            encoded_len_max,
            |stream| decode_slowly(stream, usize::MAX / 2).expect("a well-formed stream"),
            crate::snappy::decode,
        );
    }

    #[test]
    fn an_output_without_room_for_the_stream_is_refused() {
        let mut encoder = Encoder::default();
        short_outputs_are_refused(&mut |text, output| encoder.encode(text, output), encoded_len_max);
    }

    #[test]
    fn long_matches_become_copies_of_at_most_64_bytes() {
        for len in (70..400).chain([4096, 70_000]) {
            let text: Vec<u8> = b"abcdefg".iter().copied().cycle().take(len).collect();
            let mut encoder = Encoder::default();
            let encode = &mut |text: &[u8], output: &mut [u8]| encoder.encode(text, output);
            let stream = into_room(encode, &text, encoded_len_max(len)).expect("room for each output");
            assert_eq!(decode_slowly(&stream, len), Some(text));
            assert!(stream.len() <= 16 + 3 * len.div_ceil(64), "{} bytes of {len}", stream.len());
        }
    }
}
