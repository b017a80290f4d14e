//! Encodes LZ4 blocks with one candidate for each hash, as the fast levels of LZ4 do.
//!
//! ```text
//! search      at each tried position: the last position with the same hash is the candidate, if its first four bytes are equal
//! step        64 failed tries, times the acceleration, lengthen the step by one position
//! match       the candidate is extended forward and backward; the search continues at the end of the match
//! ```
//! The table holds the low 16 bits of positions. A match reaches back at most 65,535 bytes, so 16 bits name each position that a match
//! can use. The table therefore has 8,192 positions in 16 KiB and stays in the first cache of the core. In a text of 64 KiB and more,
//! the 16 bits of an older position name another position: the comparison of the bytes rejects it.
//!
//! The number of hashed bytes grows with the block. A hash of four bytes finds the short matches that small blocks consist of. In large
//! blocks, a hash of five or six bytes is faster, because the search skips short matches, and the output is smaller, because longer
//! matches keep their slots. Speed and size divided by liblz4 1.9.4:
//!
//! ```text
//! block              4 KiB: 4 bytes   16 KiB: 5 bytes   256 KiB: 6 bytes
//! text               1.06, 1.000      1.21, 0.990       1.13, 0.989
//! JSON               1.08, 1.000      1.22, 0.965       1.18, 0.972
//! tables             1.06, 1.000      1.18, 1.010       0.98, 0.972
//! ```
//! The same text always gives the same output: the table is cleared before each text. A table that is not cleared needs one more
//! comparison for each try: text and JSON of 16 KiB took 0.45 to 0.9 of the speed.
//!
//! Source: the block format of LZ4 (`doc/lz4_Block_format.md`), and the idea of the growing step (`lib/lz4.c`).

use std::ops::Range;

/// The logarithm of the number of positions in the table.
const SLOT_BITS: u32 = 13;
/// No match starts in this many bytes at the end.
const MARGIN: usize = 12;
/// This many bytes at the end are always literals.
const LITERALS_AT_END: usize = 5;
/// The shortest match.
const MATCH_MIN: usize = 4;
/// The logarithm of the number of failed tries after which the step grows by one position.
const STEP_BITS: u32 = 6;
/// The largest acceleration. Larger numbers have the effect of this number.
const ACCELERATION_MAX: u32 = 65_537;
/// A text of this length and longer is hashed by five bytes.
const MEDIUM_LEN: usize = 8 << 10;
/// A text of this length and longer has positions that need more than 16 bits.
const LARGE_LEN: usize = 64 << 10;

type Table = [u16; 1 << SLOT_BITS];

/// An encoder with its table. One encoder encodes any number of blocks, one after the other.
pub struct Encoder {
    table: Box<Table>,
    /// The number of tries that the step length is computed from, at the start of a search.
    tries: usize,
    prefix_len: usize,
    /// The table of the prefix. `None` without a prefix.
    prefix_table: Option<Box<Table>>,
}

impl Encoder {
    /// Makes an encoder. `acceleration` is the first step length of a search: 1 makes the smallest output. 0 has the effect of 1.
    #[must_use]
    pub fn new(acceleration: u32) -> Encoder {
        Encoder {
            table: Box::new([0; 1 << SLOT_BITS]),
            tries: (acceleration.clamp(1, ACCELERATION_MAX) as usize) << STEP_BITS,
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
        for (at, bytes) in prefix.windows(8).enumerate().step_by(3) {
            encoder.table[hash::<5>(word(bytes))] = at as u16;
        }
        encoder.prefix_len = prefix.len();
        encoder.prefix_table = Some(encoder.table.clone());
        encoder
    }

    /// Encodes `text`, without its prefix, into the front of `output`. Returns the length; `None` if `output` is too short, or if
    /// `text` is shorter than the prefix. [`encoded_len_max`] bytes are always enough. Bytes of `output` past the returned length may
    /// change.
    pub fn encode(&mut self, text: &[u8], output: &mut [u8]) -> Option<usize> {
        let Encoder { table, tries, prefix_len, prefix_table } = self;
        if text.len() < *prefix_len {
            return None;
        }
        if let Some(prefix_table) = prefix_table {
            table.copy_from_slice(&**prefix_table);
            return encode_after::<5, true>(table, text, *prefix_len, *tries, output);
        }
        table.fill(0);
        match text.len() {
            0..MEDIUM_LEN => encode_after::<4, false>(table, text, 0, *tries, output),
            MEDIUM_LEN..LARGE_LEN => encode_after::<5, false>(table, text, 0, *tries, output),
            LARGE_LEN.. => encode_after::<6, true>(table, text, 0, *tries, output),
        }
    }
}

/// Returns the largest length of the output for a text of `len` bytes.
#[must_use]
pub const fn encoded_len_max(len: usize) -> usize {
    len + len / 255 + 16
}

/// Encodes `text[start..]`. The table has 0 and positions before `start`. If `IS_FAR` is false, `text` has less than 64 KiB.
/// `HASHED` is the number of hashed bytes.
#[inline(never)]
fn encode_after<const HASHED: u32, const IS_FAR: bool>(
    table: &mut Table,
    text: &[u8],
    start: usize,
    tries: usize,
    output: &mut [u8],
) -> Option<usize> {
    assert!(IS_FAR || (start == 0 && text.len() < LARGE_LEN));
    let (mut literals, mut end) = (start, 0);
    if text.len() - start <= MARGIN {
        return last(&text[start..], output, end);
    }
    let search_end = text.len() - MARGIN;
    let head = &text[..text.len() - LITERALS_AT_END];
    table[hash::<HASHED>(word(&text[start..]))] = start as u16;
    let mut at = start + 1;
    let mut slot = hash::<HASHED>(word(&text[at..]));
    'matches: loop {
        let (mut tries, mut next) = (tries, at);
        let mut from;
        loop {
            at = next;
            next = at + (tries >> STEP_BITS);
            tries += 1;
            if next > search_end {
                break 'matches;
            }
            let known = std::mem::replace(&mut table[slot], at as u16);
            // SAFETY: `text` has at least `MARGIN` bytes from `next` on, because `next <= search_end`.
            slot = hash::<HASHED>(u64::from_le_bytes(unsafe { read(text, next) }));
            let distance = usize::from((at as u16).wrapping_sub(known));
            from = if IS_FAR { at.saturating_sub(distance) } else { usize::from(known) };
            // SAFETY: `at < next <= search_end`, so `text` has four bytes from `at` on. If `IS_FAR`, then `from <= at`. Otherwise no
            // position needs more than 16 bits, and each position of the table is 0 or was inserted before `at`, because the table
            // was cleared and positions are inserted in ascending order. Then `from < at`.
            let equal = unsafe { read::<4>(text, from) == read::<4>(text, at) };
            // A distance of 0 is a position 64 KiB before, or one that was never inserted.
            if equal && (!IS_FAR || distance.wrapping_sub(1) < at) {
                break;
            }
        }
        let offset = at - from;
        let match_end = common(head, at + MATCH_MIN, offset);
        if at > literals {
            at -= common_before(&text[..from], &text[..at], at - literals);
        }
        end = sequence(text, literals..at, offset, match_end - at - MATCH_MIN, output, end)?;
        at = match_end;
        literals = match_end;
        if at > search_end {
            break;
        }
        // The search does not try the positions inside of the match. One of them is inserted.
        // SAFETY: the match has at least four bytes, so `at >= 2`. `text` has at least `MARGIN` bytes from `at` on.
        let bytes = u64::from_le_bytes(unsafe { read(text, at - 2) });
        table[hash::<HASHED>(bytes)] = (at - 2) as u16;
        // A hash needs at most six bytes.
        slot = hash::<HASHED>(bytes >> 16);
    }
    last(&text[literals..], output, end)
}

/// Reads `N` bytes.
///
/// # Safety
/// `text` has `N` bytes from `at` on.
#[inline(always)]
unsafe fn read<const N: usize>(text: &[u8], at: usize) -> [u8; N] {
    // SAFETY: the caller guarantees it. An array of bytes needs no alignment.
    unsafe { text.as_ptr().add(at).cast::<[u8; N]>().read() }
}

/// Returns the first eight bytes as a number. `text` has at least eight bytes.
fn word(text: &[u8]) -> u64 {
    text.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the slot for the first `HASHED` bytes of a word.
#[inline(always)]
fn hash<const HASHED: u32>(word: u64) -> usize {
    if HASHED == 4 {
        // A factor of 32 bits: fewer instructions.
        return ((word as u32).wrapping_mul(0x9E37_79B1) >> (u32::BITS - SLOT_BITS)) as usize;
    }
    ((word << (u64::BITS - 8 * HASHED)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SLOT_BITS))
        as usize
}

/// Returns the end of the bytes from `at` on that are equal to the bytes `offset` before them. `offset <= at <= text.len()`.
#[inline(always)]
fn common(text: &[u8], mut at: usize, offset: usize) -> usize {
    assert!(offset <= at && at <= text.len());
    loop {
        if text.len() - at < 8 {
            return at + equal_bytes(text[at..].iter(), text[at - offset..].iter());
        }
        // SAFETY: the condition above, and `offset <= at`.
        let (new, old) = unsafe { (read(text, at), read(text, at - offset)) };
        let differ = u64::from_le_bytes(new) ^ u64::from_le_bytes(old);
        if differ != 0 {
            return at + (differ.trailing_zeros() / 8) as usize;
        }
        at += 8;
        // SAFETY: the condition before `&&`, and `offset <= at`.
        while text.len() - at >= 32 && unsafe { read::<32>(text, at) == read::<32>(text, at - offset) } {
            at += 32;
        }
    }
}

/// Returns the number of equal bytes at the ends of two slices, at most `len_max`.
#[inline(always)]
fn common_before(old: &[u8], new: &[u8], len_max: usize) -> usize {
    if let (Some(old), Some(new)) = (old.last_chunk(), new.last_chunk()) {
        let differ = u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new);
        if differ != 0 {
            return ((differ.leading_zeros() / 8) as usize).min(len_max);
        }
    }
    equal_bytes(old.iter().rev(), new.iter().rev().take(len_max))
}

#[cold]
#[inline(never)]
fn equal_bytes<'a>(left: impl Iterator<Item = &'a u8>, right: impl Iterator<Item = &'a u8>) -> usize {
    left.zip(right).take_while(|(x, y)| x == y).count()
}

/// Writes a sequence at `end`. `extra` is the length of the match without [`MATCH_MIN`]. Returns the new end of the output.
#[inline(always)]
fn sequence(
    text: &[u8],
    literals: Range<usize>,
    offset: usize,
    extra: usize,
    output: &mut [u8],
    mut end: usize,
) -> Option<usize> {
    let len = literals.len();
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

/// Writes the last sequence at `end`. Returns the new end of the output.
fn last(literals: &[u8], output: &mut [u8], end: usize) -> Option<usize> {
    run(literals, (literals.len().min(15) << 4) as u8, output, end)
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
    use super::{Encoder, LARGE_LEN, MEDIUM_LEN, encoded_len_max};
    use crate::decoders::chance;

    /// Decodes `stream` byte by byte, after `prefix`. Checks the rules for the end of a block.
    fn decoded(stream: &[u8], prefix: &[u8]) -> Vec<u8> {
        let (mut bytes, mut out) = (stream.iter().copied().map(usize::from), prefix.to_vec());
        let mut last_match = None;
        loop {
            let token = bytes.next().expect("a token");
            let mut extend = |bytes: &mut dyn Iterator<Item = usize>, mut len: usize| {
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

    fn encoded(encoder: &mut Encoder, text: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut output = vec![0xAA; room];
        let len = encoder.encode(text, &mut output)?;
        output.truncate(len);
        Some(output)
    }

    /// Draws a text of noise, of few different bytes, of words, of runs, or of far copies.
    fn text(state: &mut u64, len: usize) -> Vec<u8> {
        let shape = chance(state) % 5;
        let mut text = Vec::with_capacity(len + 100_000);
        while text.len() < len {
            let written = text.len();
            match shape {
                0 => text.push(chance(state) as u8),
                1 => text.push(chance(state) as u8 % 3),
                2 => text.extend_from_slice(format!("word{} ", chance(state) % 500).as_bytes()),
                3 => text.extend(std::iter::repeat_n(chance(state) as u8 % 2, 1 + chance(state) % 700)),
                _ if written < 100 => text.push(chance(state) as u8),
                _ => {
                    let from = written - 1 - chance(state) % written.min(70_000);
                    let end = written.min(from + 4 + chance(state) % 300);
                    text.extend_from_within(from..end);
                    text.extend((0..chance(state) % 20).map(|at| (at * 7) as u8));
                }
            }
        }
        text.truncate(len);
        text
    }

    fn lens(state: &mut u64) -> Vec<usize> {
        let mut lens: Vec<usize> = (0..60).collect();
        if cfg!(miri) {
            lens.extend([400, LARGE_LEN + 9]);
            return lens;
        }
        for around in [270, MEDIUM_LEN, LARGE_LEN] {
            lens.extend(around - 20..around + 20);
        }
        lens.extend((0..60).map(|_| chance(state) % 300_000));
        lens
    }

    #[test]
    fn every_text_comes_back_and_the_same_text_gives_the_same_output() {
        let mut state = 5;
        let mut shared = [Encoder::new(0), Encoder::new(1), Encoder::new(9), Encoder::new(u32::MAX)];
        for len in lens(&mut state) {
            let text = text(&mut state, len);
            for (encoder, acceleration) in shared.iter_mut().zip([0, 1, 9, u32::MAX]) {
                let stream = encoded(encoder, &text, encoded_len_max(len)).expect("room for each output");
                assert_eq!(decoded(&stream, &[]), text);
                let mut back = vec![0; len];
                assert_eq!(crate::lz4::decode(&stream, &mut back), Some(len));
                assert_eq!(back, text);
                let first = encoded(&mut Encoder::new(acceleration), &text, encoded_len_max(len));
                assert_eq!(first, Some(stream), "{len} bytes, acceleration {acceleration}");
            }
        }
    }

    #[test]
    fn an_output_without_room_for_the_stream_is_refused() {
        let (mut state, mut encoder) = (11, Encoder::new(1));
        for len in [0, 1, 12, 13, 30, 100, 300, 600] {
            for _ in 0..if cfg!(miri) { 1 } else { 20 } {
                let text = text(&mut state, len);
                let stream = encoded(&mut encoder, &text, encoded_len_max(len)).expect("room");
                for room in 0..encoded_len_max(len) {
                    let expected = (room >= stream.len()).then_some(&stream);
                    assert_eq!(encoded(&mut encoder, &text, room).as_ref(), expected, "{room} of {stream:?}");
                }
            }
        }
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
            let all = text(&mut state, prefix_len + 20_000);
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
