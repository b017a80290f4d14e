//! Encodes LZ4 blocks, as the fast levels of LZ4 do. The search is that of [`crate::matches`].
//!
//! Speed and size divided by liblz4 1.9.4, by the length of the block and the number of hashed bytes, on an AMD EPYC of family 25:
//!
//! ```text
//! block              4 KiB: 4 bytes   16 KiB: 5 bytes   256 KiB: 6 bytes
//! text               0.91, 1.000      0.93, 0.990       1.04, 0.995
//! JSON               0.93, 1.001      1.05, 0.966       1.03, 0.978
//! tables             0.96, 1.000      0.92, 1.010       0.93, 0.986
//! ```
//! In blocks of 256 KiB, a step that grows after 64 failed tries was slower (tables 0.86) and made the output shorter (tables 0.972).
//! Source: the block format of LZ4 (`doc/lz4_Block_format.md`), and the idea of the growing step (`lib/lz4.c`).

use std::ops::Range;

use crate::matches::{self, LARGE_LEN, MATCH_MIN, MEDIUM_LEN};

/// The largest acceleration. Larger numbers have the effect of this number.
const ACCELERATION_MAX: u32 = 65_537;

/// 16 KiB of positions.
type Table = [u16; 8192];

struct Lz4;

/// The search in a text of a size class. The step grows after 64 failed tries, times the acceleration. In a large text, the step
/// grows after 16 failed tries: there, the hash of six bytes saves more bytes than the tries between.
struct Lz4Search<const HASHED: u32, const IS_FAR: bool>;

impl<const HASHED: u32, const IS_FAR: bool> matches::Search for Lz4Search<HASHED, IS_FAR> {
    const HASHED: u32 = HASHED;
    const IS_FAR: bool = IS_FAR;
    const STEP_BITS: u32 = if HASHED == 6 { 4 } else { 6 };
    const INSERTS_START: bool = false;
}

type Small = Lz4Search<4, false>;
type Medium = Lz4Search<5, false>;
type AfterPrefix = Lz4Search<5, true>;
type Large = Lz4Search<6, true>;

/// An encoder with its table. One encoder encodes any number of blocks, one after the other.
pub struct Encoder {
    table: Box<Table>,
    /// The step length at the start of a search.
    step: usize,
    prefix_len: usize,
    /// The table of the prefix. `None` without a prefix.
    prefix_table: Option<Box<Table>>,
}

impl Encoder {
    /// Makes an encoder. `acceleration` is the first step length of a search: 1 makes the smallest output. 0 has the effect of 1.
    #[must_use]
    pub fn new(acceleration: u32) -> Encoder {
        Encoder {
            table: Box::new([0; 8192]),
            step: acceleration.clamp(1, ACCELERATION_MAX) as usize,
            prefix_len: 0,
            prefix_table: None,
        }
    }

    /// Makes an encoder for texts that begin with `prefix`. Matches may refer to the prefix, but the prefix is not part of the
    /// output. The decoder needs the last 65,535 bytes of the prefix.
    #[must_use]
    pub fn with_prefix(acceleration: u32, prefix: &[u8]) -> Encoder {
        let mut encoder = Encoder::new(acceleration);
        if prefix.is_empty() {
            return encoder;
        }
        matches::insert_prefix::<AfterPrefix, _>(&mut encoder.table, prefix);
        encoder.prefix_len = prefix.len();
        encoder.prefix_table = Some(encoder.table.clone());
        encoder
    }

    /// Encodes `text`, without its prefix, into the front of `output`. Returns the length; `None` if `output` is too short, or if
    /// `text` is shorter than the prefix. [`encoded_len_max`] bytes are always enough. Bytes of `output` past the returned length may
    /// change.
    pub fn encode(&mut self, text: &[u8], output: &mut [u8]) -> Option<usize> {
        let Encoder { table, step, prefix_len, prefix_table } = self;
        if text.len() < *prefix_len {
            return None;
        }
        if let Some(prefix_table) = prefix_table {
            table.copy_from_slice(&**prefix_table);
            return matches::encode::<Lz4, AfterPrefix, _>(table, text, *prefix_len, *step, output, 0);
        }
        match text.len() {
            0..MEDIUM_LEN => matches::encode::<Lz4, Small, _>(table, text, 0, *step, output, 0),
            MEDIUM_LEN..LARGE_LEN => matches::encode::<Lz4, Medium, _>(table, text, 0, *step, output, 0),
            LARGE_LEN.. => matches::encode::<Lz4, Large, _>(table, text, 0, *step, output, 0),
        }
    }
}

/// Returns the largest length of the output for a text of `len` bytes.
#[must_use]
pub const fn encoded_len_max(len: usize) -> usize {
    len + len / 255 + 16
}

impl matches::Format for Lz4 {
    const LITERALS_AT_END: usize = 5;

    #[inline(always)]
    fn sequence(
        text: &[u8],
        literals: Range<usize>,
        offset: usize,
        match_len: usize,
        output: &mut [u8],
        mut end: usize,
    ) -> Option<usize> {
        let (len, extra) = (literals.len(), match_len - MATCH_MIN);
        let token = (len.min(15) << 4 | extra.min(15)) as u8;
        let offset = (offset as u16).to_le_bytes();
        // Few literals are copied as 16 bytes. The offset and the next sequence overwrite the bytes past them.
        if len < 15
            && let Some(bytes) = text[literals.start..].first_chunk::<16>()
            && let Some(room) = output.get_mut(end..).and_then(|rest| rest.first_chunk_mut::<24>())
        {
            room[0] = token;
            room[1..17].copy_from_slice(bytes);
            room[1 + len..3 + len].copy_from_slice(&offset);
            end += 3 + len;
        } else {
            end = run(&text[literals], token, output, end)?;
            output.get_mut(end..end + 2)?.copy_from_slice(&offset);
            end += 2;
        }
        if extra < 15 { Some(end) } else { length(extra, output, end) }
    }

    fn last(literals: &[u8], output: &mut [u8], end: usize) -> Option<usize> {
        run(literals, (literals.len().min(15) << 4) as u8, output, end)
    }
}

/// Writes a token and its literals at `end`. Returns the new end of the output.
#[inline(always)]
fn run(literals: &[u8], token: u8, output: &mut [u8], mut end: usize) -> Option<usize> {
    *output.get_mut(end)? = token;
    end += 1;
    if literals.len() >= 15 {
        end = length(literals.len(), output, end)?;
    }
    output.get_mut(end..end + literals.len())?.copy_from_slice(literals);
    Some(end + literals.len())
}

/// Writes the bytes that continue a length of 15 and more. Returns the new end of the output.
#[inline(never)]
fn length(len: usize, output: &mut [u8], end: usize) -> Option<usize> {
    let (full, rest) = ((len - 15) / 255, (len - 15) % 255);
    let room = output.get_mut(end..end + full + 1)?;
    if full > 0 {
        room[..full].fill(255);
    }
    room[full] = rest as u8;
    Some(end + full + 1)
}

#[cfg(test)]
mod tests {
    use super::{Encoder, encoded_len_max};
    use crate::decoders::chance;
    use crate::encoders::{drawn_text, every_text_comes_back, into_room, short_outputs_are_refused};

    /// Decodes `stream` byte by byte, after `prefix`. Checks the rules for the end of a block.
    fn decoded(stream: &[u8], prefix: &[u8]) -> Vec<u8> {
        let (mut bytes, mut out) = (stream.iter().copied().map(usize::from), prefix.to_vec());
        let mut last_match = None;
        loop {
            let token = bytes.next().expect("a token");
            let extend = |bytes: &mut dyn Iterator<Item = usize>, mut len: usize| {
                while len >= 15 {
                    let more = bytes.next().expect("a length");
                    len += more;
                    if more < 255 {
                        break;
                    }
                }
                len
            };
            let literals = extend(&mut bytes, token >> 4);
            (0..literals).for_each(|_| out.push(bytes.next().expect("a literal") as u8));
            let Some(low) = bytes.next() else {
                assert!(token & 15 == 0);
                if let Some(start) = last_match {
                    assert!(literals >= 5 && out.len() - start >= 12, "the end of {stream:?}");
                }
                return out.split_off(prefix.len());
            };
            let offset = low | bytes.next().expect("an offset") << 8;
            assert!((1..=out.len()).contains(&offset));
            last_match = Some(out.len());
            let len = extend(&mut bytes, token & 15) + 4;
            (0..len).for_each(|_| out.push(out[out.len() - offset]));
        }
    }

    #[test]
    fn every_text_comes_back_and_the_same_text_gives_the_same_output() {
        for acceleration in [0, 1, 9, u32::MAX] {
            every_text_comes_back(
                &mut || {
                    let mut encoder = Encoder::new(acceleration);
                    move |text: &[u8], output: &mut [u8]| encoder.encode(text, output)
                },
                encoded_len_max,
                |stream| decoded(stream, &[]),
                crate::lz4::decode,
            );
        }
    }

    #[test]
    fn an_output_without_room_for_the_stream_is_refused() {
        let mut encoder = Encoder::new(1);
        short_outputs_are_refused(&mut |text, output| encoder.encode(text, output), encoded_len_max);
    }

    /// Encodes into an output of `room` bytes.
    fn encoded(encoder: &mut Encoder, text: &[u8], room: usize) -> Option<Vec<u8>> {
        into_room(&mut |text, output| encoder.encode(text, output), text, room)
    }

    #[test]
    fn a_copy_of_the_prefix_becomes_short() {
        let mut state = 19;
        for prefix_len in [40, 1000, 20_000] {
            let prefix: Vec<u8> = (0..prefix_len).map(|_| chance(&mut state) as u8).collect();
            let text = [&prefix, &prefix[prefix_len / 2..], b"end of the text"].concat();
            let mut encoder = Encoder::with_prefix(1, &prefix);
            let stream = encoded(&mut encoder, &text, encoded_len_max(text.len())).expect("room");
            assert_eq!(decoded(&stream, &prefix), text[prefix_len..]);
            assert!(stream.len() < 40 + prefix_len / 200, "{} bytes", stream.len());
        }
    }

    #[test]
    fn texts_after_a_prefix_come_back() {
        let mut state = 17;
        let prefix_lens = [1, 7, 8, 100, 5000, 65_535, 65_536, 90_000];
        for prefix_len in prefix_lens.into_iter().take(if cfg!(miri) { 4 } else { 8 }) {
            let all = drawn_text(&mut state, prefix_len + 20_000);
            let prefix = &all[..prefix_len];
            let mut encoder = Encoder::with_prefix(1, prefix);
            for len in [0, 5, 13, 100, 4096, 20_000].into_iter().take(if cfg!(miri) { 4 } else { 6 }) {
                let text = &all[..prefix_len + len];
                let stream = encoded(&mut encoder, text, encoded_len_max(len)).expect("room");
                assert_eq!(decoded(&stream, prefix), text[prefix_len..]);
            }
            assert_eq!(encoded(&mut encoder, &prefix[1..], 100), None);
        }
    }

    #[test]
    fn short_repeats_become_one_match() {
        for (len, expected) in [(4096, 32), (16 << 10, 81), (256 << 10, 1044)] {
            let text: Vec<u8> = b"abcdefg".iter().copied().cycle().take(len).collect();
            let stream = encoded(&mut Encoder::new(1), &text, encoded_len_max(len)).expect("room");
            assert_eq!(stream.len(), expected);
        }
    }

    #[test]
    fn a_higher_acceleration_makes_a_longer_output() {
        let mut state = 2;
        let words: Vec<u8> =
            (0..9000).flat_map(|_| format!("word{} ", chance(&mut state) % 500).into_bytes()).collect();
        let len = |acceleration| {
            let room = encoded_len_max(words.len());
            encoded(&mut Encoder::new(acceleration), &words, room).expect("room").len()
        };
        assert_eq!(len(0), len(1));
        assert!(len(1) < len(20) && len(20) < len(200));
    }
}
