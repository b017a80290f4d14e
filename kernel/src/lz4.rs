//! Encodes and decodes LZ4 blocks. The decoder copies with writes past the end of a copy.
//!
//! ```text
//! sequence   token  [literal length]  literals  offset u16 LE  [match length]
//! token      literal length (4 bits) | match length - 4 (4 bits); 15: bytes of 255 and a last byte follow
//! block      sequences; the last sequence ends after its literals
//! ```
//! Most literals and matches are short. A copy of a fixed 16 bytes is faster than a copy of 5 bytes, so copies write up to
//! 31 bytes past their end if the output has room; the next sequence overwrites these bytes. Near an end of the input or of
//! the output, copies are exact. Any input gives an answer: no read leaves the input or the written output.
//!
//! Source: the block format of LZ4 (`doc/lz4_Block_format.md`), and the idea of `LZ4_wildCopy32` (`lib/lz4.c`). Large
//! blocks of `db_bench`: 11 GB/s, the crate `lz4_flex` 7, the reference 11.7.

mod encode;

use crate::copies::copy;
pub use encode::{Encoder, encoded_len_max};

/// The shortest match.
const MATCH_MIN: usize = 4;
/// The number of bytes that a literal copy of the fast path reads and writes.
const LITERALS: usize = 16;
/// The longest match of the fast path: the number 14 in the token.
const SHORT: usize = 14 + MATCH_MIN;
/// The largest number of bytes that a sequence of the fast path writes: 14 literals, and a match of 18 bytes.
const FAST: usize = 32;
/// The number of bytes of one copy of a long match.
const WIDE: usize = 16;
/// The number of bytes of one step of a long copy.
const STEP: usize = 32;
/// The room after a long copy that is copied in whole steps.
const LONG: usize = 2 * STEP;

/// Decodes `stream` into the front of `output`. Returns the length; `None` if the stream is damaged, or if `output` is too
/// short.
pub fn decode(stream: &[u8], output: &mut [u8]) -> Option<usize> {
    let (mut at, mut end) = (0, 0);
    // The compiler would add a known 3 last. The place of the next token would then be known one step later.
    let token_and_offset = std::hint::black_box(3usize);
    'rounds: loop {
        // A sequence with short literals and a short match reads at most 17 bytes, and writes at most `FAST` bytes. So this number of
        // such sequences needs no check of the ends: a number `n` above 0 takes at most `17 * n` of at least `32 * n - 15` bytes.
        // The fast path begins at the eighth byte of the output. So one comparison checks both ends of an offset.
        let mut sequences = if end < 8 { 0 } else { (stream.len() - at + 15).min(output.len() - end) / FAST };
        if sequences > 0 {
            'fast: loop {
                // SAFETY: `stream` has 17 bytes from `at` on.
                let token = usize::from(unsafe { *stream.as_ptr().add(at) });
                let mut literals = token >> 4;
                let offset;
                if literals < 15 {
                    // SAFETY: `stream` has 17 bytes from `at` on: the token, at most 14 literals and the offset, and the copy reads 17.
                    // `output` has `FAST` bytes from `end` on. The slices do not overlap, because `output` is borrowed mutably.
                    unsafe {
                        let from = stream.as_ptr().add(at + 1);
                        copy::<LITERALS>(from, output.as_mut_ptr().add(end));
                        offset = usize::from(u16::from_le_bytes(from.add(literals).cast::<[u8; 2]>().read()));
                    }
                    at = at + token_and_offset + literals;
                    end += literals;
                    let match_len = token & 15;
                    if match_len < 15 && offset.wrapping_sub(8) <= end - 8 {
                        // SAFETY: `8 <= offset <= end`, because `end - 8` does not wrap. `output` has at least 18 bytes from `end` on:
                        // `FAST` less at most 14 literals.
                        unsafe { copy_short(output, end, offset) };
                        end += match_len + MATCH_MIN;
                        sequences -= 1;
                        if sequences > 0 {
                            continue 'fast;
                        }
                        continue 'rounds;
                    }
                } else {
                    let mut begin = at + 1;
                    literals += more(stream, &mut begin)?;
                    if literals + LONG > stream.len() - begin || literals + LONG > output.len() - end {
                        break 'fast;
                    }
                    // SAFETY: the condition: both slices have `literals + LONG` bytes, so also the offset after the literals. They do not
                    // overlap, because `output` is borrowed mutably.
                    unsafe {
                        let from = stream.as_ptr().add(begin);
                        copy_long(from, output.as_mut_ptr().add(end), literals);
                        offset = usize::from(u16::from_le_bytes(from.add(literals).cast::<[u8; 2]>().read()));
                    }
                    at = begin + literals + 2;
                    end += literals;
                }
                end += copy_checked(stream, &mut at, output, end, token & 15, offset)?;
                continue 'rounds;
            }
        }
        let token = usize::from(*stream.get(at)?);
        at += 1;
        copy_literals(stream, &mut at, output, &mut end, token >> 4)?;
        if at == stream.len() {
            return Some(end);
        }
        let offset = usize::from(u16::from_le_bytes(*stream.get(at..)?.first_chunk()?));
        at += 2;
        end += copy_checked(stream, &mut at, output, end, token & 15, offset)?;
    }
}

/// Copies a match of at most 18 bytes, with writes past its end.
///
/// # Safety
/// `8 <= offset <= end`, and `output` has 18 bytes from `end` on.
#[inline(always)]
unsafe fn copy_short(output: &mut [u8], end: usize, offset: usize) {
    // SAFETY: the contract: the 18 bytes are inside of `output`, and the source begins inside of `output`, because `offset <= end`. Each
    // copy of 8 bytes ends at its target at the latest, because `offset >= 8`; the copy of 2 bytes too.
    unsafe {
        let to = output.as_mut_ptr().add(end);
        let from = to.sub(offset).cast_const();
        copy::<8>(from, to);
        copy::<8>(from.add(8), to.add(8));
        copy::<2>(from.add(16), to.add(16));
    }
}

/// Copies a match after all checks. `match_len` is the number in the token; 15 means that further bytes state the number.
/// Returns the length of the match.
#[inline(always)]
fn copy_checked(
    stream: &[u8],
    at: &mut usize,
    output: &mut [u8],
    end: usize,
    match_len: usize,
    offset: usize,
) -> Option<usize> {
    let mut len = match_len + MATCH_MIN;
    if match_len == 15 {
        len += more(stream, at)?;
    }
    let room = output.len() - end;
    if offset >= WIDE && offset <= end && len + LONG <= room {
        // SAFETY: the condition: `output` has `len + LONG` bytes from `end` on, and the source begins inside of `output`. Each copy of
        // `WIDE` bytes ends at its target at the latest, because `offset >= WIDE`.
        unsafe {
            let to = output.as_mut_ptr().add(end);
            copy_long(to.sub(offset).cast_const(), to, len);
        }
    } else if offset == 0 || offset > end || len > room {
        return None;
    } else if offset >= 8 && len <= SHORT && room >= SHORT {
        // SAFETY: the conditions: `8 <= offset <= end`, and `output` has 18 bytes from `end` on.
        unsafe { copy_short(output, end, offset) };
    } else {
        copy_match(output, end, offset, len);
    }
    Some(len)
}

/// Copies `len` bytes in steps of `STEP` bytes, with writes past their end. `len` is not 0.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len + STEP` bytes. Either the ranges do not overlap, or `from` is at least `WIDE`
/// bytes before `to`.
#[inline(always)]
unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    let mut done = 0;
    loop {
        // SAFETY: the contract. `done` is below `len`, and each copy reads `WIDE` bytes that end at its target at the latest.
        unsafe {
            copy::<WIDE>(from.add(done), to.add(done));
            copy::<WIDE>(from.add(done + WIDE), to.add(done + WIDE));
        }
        done += STEP;
        if done >= len {
            return;
        }
    }
}

/// Copies the literals of a sequence. `literals` is the number in the token; 15 means that further bytes state the number.
#[inline(always)]
fn copy_literals(
    stream: &[u8],
    at: &mut usize,
    output: &mut [u8],
    end: &mut usize,
    literals: usize,
) -> Option<()> {
    let mut len = literals;
    if literals == 15 {
        len += more(stream, at)?;
    }
    let (from, to) = (&stream[*at..], &mut output[*end..]);
    if len > from.len() || len > to.len() {
        return None;
    }
    if len <= LITERALS && from.len() >= LITERALS && to.len() >= LITERALS {
        // SAFETY: the condition. The slices do not overlap, because `to` is borrowed mutably.
        unsafe { copy::<LITERALS>(from.as_ptr(), to.as_mut_ptr()) };
    } else {
        to[..len].copy_from_slice(&from[..len]);
    }
    *at += len;
    *end += len;
    Some(())
}

/// Reads the additional bytes of a length that starts with 15. Returns their sum.
#[inline]
fn more(stream: &[u8], at: &mut usize) -> Option<usize> {
    let mut sum = 0usize;
    loop {
        let byte = *stream.get(*at)?;
        *at += 1;
        // A stream of less than 2^55 bytes cannot overflow the sum.
        sum += usize::from(byte);
        if byte < 255 {
            return Some(sum);
        }
    }
}

/// Repeats the bytes that are `offset` bytes before `end`. `1 <= offset <= end`, and `len` bytes fit after
/// `end`.
#[inline(always)]
fn copy_match(output: &mut [u8], end: usize, offset: usize, len: usize) {
    assert!(offset <= end && end <= output.len() && len <= output.len() - end);
    let room = output.len() - end;
    if offset >= STEP && room >= len.next_multiple_of(STEP) {
        // SAFETY: the condition and the assertion.
        unsafe { repeat::<STEP>(output, end, offset, len) }
    } else if offset > 0 && len > 2 * STEP {
        repeat_long(output, end, offset, len);
    } else if offset >= 8 && room >= len.next_multiple_of(8) {
        // SAFETY: the condition and the assertion.
        unsafe { repeat::<8>(output, end, offset, len) }
    } else if (1..8).contains(&offset) && len > 8 && room >= len.next_multiple_of(8) {
        // The first eight bytes one by one. After that the bytes also repeat at a multiple of the distance.
        (end..end + 8).for_each(|i| output[i] = output[i - offset]);
        let distance = offset * 8usize.div_ceil(offset);
        // SAFETY: `distance` is at least 8, and at most `offset + 7`, which is below `end + 8`. `output` has room for `len`
        // bytes rounded up to eights from `end` on, so for eight less from `end + 8` on.
        unsafe { repeat::<8>(output, end + 8, distance, len - 8) }
    } else {
        (end..end + len).for_each(|i| output[i] = output[i - offset]);
    }
}

/// Does the work of [`copy_match`] for a long match that overlaps its first steps, such as a run of equal bytes. Each copy of 8
/// bytes waits for the copy before; with 32 bytes, the waits are a quarter. `1 <= offset <= end`, `len > 2 * STEP`, and `len` bytes
/// fit after `end`.
fn repeat_long(output: &mut [u8], end: usize, offset: usize, len: usize) {
    assert!((1..=end).contains(&offset) && len > 2 * STEP);
    assert!(end <= output.len() && len <= output.len() - end);
    if offset >= 8 {
        // SAFETY: `output` has more than `STEP` bytes from `end` on, and `8 <= offset <= end`.
        unsafe { repeat::<8>(output, end, offset, STEP) };
    } else {
        (end..end + 8).for_each(|i| output[i] = output[i - offset]);
        // SAFETY: the distance is at least 8, and at most `offset + 7`, which is below `end + 8`. `output` has `STEP` bytes
        // from `end` on.
        unsafe { repeat::<8>(output, end + 8, offset * 8usize.div_ceil(offset), STEP - 8) };
    }
    // From `end - offset` on, the bytes repeat at `offset`, so also at its multiples.
    let distance = (offset + STEP) / offset * offset;
    let whole = len / STEP * STEP;
    // SAFETY: the distance is more than `STEP`, and at most `offset + STEP`, which is at most `end + STEP`. The length is a
    // multiple of `STEP`, and ends within the `len` bytes from `end` on.
    unsafe { repeat::<STEP>(output, end + STEP, distance, whole - STEP) };
    (end + whole..end + len).for_each(|i| output[i] = output[i - distance]);
}

/// Copies in steps of `N` bytes.
///
/// # Safety
/// `N <= offset <= end`, and `output` has `len`, rounded up to a multiple of `N`, bytes from `end` on.
#[inline(always)]
unsafe fn repeat<const N: usize>(output: &mut [u8], end: usize, offset: usize, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: `done` is a multiple of `N` below `len`, so `output` has `N` bytes from `end + done` on. The source starts
        // `offset` bytes before the target, inside of `output`. It ends at the target at the latest: `offset >= N`.
        unsafe {
            let to = output.as_mut_ptr().add(end + done);
            copy::<N>(to.sub(offset).cast_const(), to);
        }
        done += N;
    }
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::decoders::{Past, chance, damage_some, every_stream_decodes};

    /// Decodes a stream byte by byte, exactly as the format describes it.
    fn decode_slowly(stream: &[u8], room: usize) -> Option<Vec<u8>> {
        let (mut at, mut out) = (0, Vec::new());
        let byte = |at: &mut usize| {
            *at += 1;
            stream.get(*at - 1).copied().map(usize::from)
        };
        loop {
            let token = byte(&mut at)?;
            let [mut literals, mut len] = [token >> 4, token & 15];
            let extend = |len: &mut usize, at: &mut usize| {
                while *len >= 15 {
                    let more = byte(at)?;
                    *len += more;
                    if more < 255 {
                        break;
                    }
                }
                Some(())
            };
            extend(&mut literals, &mut at)?;
            out.extend_from_slice(stream.get(at..at + literals)?);
            at += literals;
            if out.len() > room {
                return None;
            }
            if at == stream.len() {
                return Some(out);
            }
            let offset = usize::from(u16::from_le_bytes(*stream.get(at..)?.first_chunk()?));
            at += 2;
            extend(&mut len, &mut at)?;
            if offset == 0 || offset > out.len() || out.len() + len + 4 > room {
                return None;
            }
            (0..len + 4).for_each(|_| out.push(out[out.len() - offset]));
        }
    }

    /// Makes sequences of all lengths and offsets. Some are damaged.
    fn stream(state: &mut u64) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut written = 0;
        let length = |stream: &mut Vec<u8>, len: usize| {
            if len >= 15 {
                stream.extend(std::iter::repeat_n(255, (len - 15) / 255));
                stream.push(((len - 15) % 255) as u8);
            }
        };
        for _ in 0..chance(state) % 12 {
            let literals = [0, 1, 14, 15, 40, 300][chance(state) % 6];
            let match_len = [0, 3, 14, 15, 60, 600][chance(state) % 6];
            stream.push((literals.min(15) << 4 | match_len.min(15)) as u8);
            length(&mut stream, literals);
            (0..literals).for_each(|_| stream.push(chance(state) as u8));
            written += literals;
            let offset = match chance(state) % 20 {
                0 => chance(state) % 1000,
                _ => 1 + chance(state) % [7, 20, 40, 900][chance(state) % 4].min(written.max(1)),
            };
            stream.extend_from_slice(&(offset as u16).to_le_bytes());
            length(&mut stream, match_len);
            written += match_len + 4;
        }
        let last = chance(state) % 30;
        stream.push((last.min(15) << 4) as u8);
        length(&mut stream, last);
        (0..last).for_each(|_| stream.push(chance(state) as u8));
        damage_some(&mut stream, state);
        stream
    }

    #[test]
    fn every_stream_decodes_as_the_format_states() {
        every_stream_decodes(stream, decode, decode_slowly, Past::Free);
    }
}
