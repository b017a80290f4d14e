//! Encodes and decodes Snappy blocks. The decoder copies with writes past the end of a copy.
//!
//! ```text
//! block      length of the output as a varint (at most 32 bits), then elements
//! literal    tag 00: 6 bits of length - 1; 60 to 63: 1 to 4 bytes with length - 1 follow; then the bytes
//! copy       tag 01: 3 bits of length - 4, 3 high bits of the offset, and a byte       tag 10, 11: 6 bits of length - 1, and an
//!            offset of 2 or 4 bytes
//! ```
//! Lengths are little endian. A copy of a fixed 16 bytes is faster than a copy of 5 bytes, so copies write up to 31 bytes past
//! their end if the output has room; the next element overwrites these bytes. Near an end of the input or of the output, copies are
//! exact. Any input gives an answer: no read leaves the input or the written output.
//!
//! A copy with an offset below 16 overlaps itself. Its bytes are a pattern, which is made once in a register and stored in steps
//! of whole patterns. Copies have at most 64 bytes, so a long run is many copies: a copy that continues a run uses the
//! pattern again, and reads no memory.
//!
//! Source: the format description of Snappy (`format_description.txt`).

mod encode;

use crate::copies::copy;
pub use encode::{Encoder, encoded_len_max};

/// The number of bytes of one step of a copy.
const STEP: usize = 16;
/// The longest copy.
const COPY_MAX: usize = 64;
/// A copy writes at most this number of bytes from its start on: its bytes, and one step.
const COPY_ROOM: usize = COPY_MAX + STEP;

/// What a tag says: the length of the element, and for copies the high bits of the offset and the number of further bytes.
#[derive(Clone, Copy)]
struct Tag {
    len: u8,
    extra: u8,
    high: u16,
}

/// The meaning of each tag of a copy. The tags of literals are not used.
const TAGS: [Tag; 256] = {
    let mut tags = [Tag { len: 0, extra: 0, high: 0 }; 256];
    let mut tag = 0usize;
    while tag < 256 {
        tags[tag] = match tag & 3 {
            1 => Tag { len: 4 + (tag >> 2 & 7) as u8, extra: 1, high: ((tag >> 5) << 8) as u16 },
            2 => Tag { len: 1 + (tag >> 2) as u8, extra: 2, high: 0 },
            3 => Tag { len: 1 + (tag >> 2) as u8, extra: 4, high: 0 },
            _ => Tag { len: 0, extra: 0, high: 0 },
        };
        tag += 1;
    }
    tags
};

/// By number of bytes: the bits of a little-endian number of this length.
const MASKS: [u32; 5] = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff];

/// By offset: the factor that repeats `offset` bytes up to 16 bytes.
const REPEATS: [u128; STEP] = {
    let mut repeats = [0u128; STEP];
    let mut offset = 1;
    while offset < STEP {
        let mut at = 0;
        while at < STEP {
            repeats[offset] |= 1 << (8 * at);
            at += offset;
        }
        offset += 1;
    }
    repeats
};

/// A run of equal patterns that the last copies have written.
struct Run {
    offset: usize,
    /// The end of the last copy. Another element since then ends the run.
    end: usize,
    /// The 16 bytes from `next` on.
    pattern: u128,
    next: usize,
}

/// Decodes `stream` into the front of `output`. Returns the length; `None` if the stream is damaged, or if `output` is too
/// short.
pub fn decode(stream: &[u8], output: &mut [u8]) -> Option<usize> {
    let (expected, mut at) = length(stream)?;
    let output = output.get_mut(..expected)?;
    let mut end = 0;
    let mut run = Run { offset: 0, end: usize::MAX, pattern: 0, next: 0 };
    // Below these places, `stream` has 17 bytes and `output` has 80 bytes, so a short literal and a copy need no further checks.
    let fast_at = (stream.len() + 1).saturating_sub(1 + STEP);
    let fast_end = (output.len() + 1).saturating_sub(COPY_ROOM);
    loop {
        while at < fast_at && end < fast_end {
            let tag = stream[at];
            if tag & 3 == 0 {
                let len = usize::from(tag >> 2) + 1;
                if len > STEP {
                    break;
                }
                // SAFETY: `stream` has 17 bytes from `at` on, and `output` has 80 bytes from `end` on. The slices do not overlap,
                // because `output` is borrowed mutably.
                unsafe { copy::<STEP>(stream.as_ptr().add(at + 1), output.as_mut_ptr().add(end)) };
                at += 1 + len;
                end += len;
                continue;
            }
            let Tag { len, extra, high } = TAGS[usize::from(tag)];
            let len = usize::from(len);
            // SAFETY: `stream` has 17 bytes from `at` on.
            let word = u32::from_le_bytes(unsafe { stream.as_ptr().add(at + 1).cast::<[u8; 4]>().read() });
            let offset = (word & MASKS[usize::from(extra)] | u32::from(high)) as usize;
            at += 1 + usize::from(extra);
            // An offset of 0 becomes the largest number.
            if offset.wrapping_sub(1) >= end {
                return None;
            }
            // SAFETY: `output` has 80 bytes from `end` on, `1 <= offset <= end`, and a tag states at most 64 bytes.
            unsafe { copy_back(output, end, offset, len, &mut run) };
            end += len;
        }
        if at == stream.len() {
            return (end == expected).then_some(end);
        }
        end = element(stream, &mut at, output, end)?;
    }
}

/// Decodes one element at `at`, and writes no byte past its end. Returns the new end of the output.
fn element(stream: &[u8], at: &mut usize, output: &mut [u8], end: usize) -> Option<usize> {
    let tag = *stream.get(*at)?;
    if tag & 3 == 0 {
        let bytes = literal(stream, at, usize::from(tag >> 2) + 1)?;
        let past = end.checked_add(bytes.len())?;
        output.get_mut(end..past)?.copy_from_slice(bytes);
        return Some(past);
    }
    let Tag { len, extra, high } = TAGS[usize::from(tag)];
    let (len, from) = (usize::from(len), *at + 1);
    *at = from + usize::from(extra);
    let low = stream.get(from..*at)?.iter().rev().fold(0, |low, byte| low << 8 | u32::from(*byte));
    let offset = (low | u32::from(high)) as usize;
    if offset.wrapping_sub(1) >= end || len > output.len() - end {
        return None;
    }
    (end..end + len).for_each(|i| output[i] = output[i - offset]);
    Some(end + len)
}

/// Writes the `len` bytes of a copy.
///
/// # Safety
/// `output` has 80 bytes from `end` on, `1 <= offset <= end`, and `len <= 64`.
#[inline(always)]
unsafe fn copy_back(output: &mut [u8], end: usize, offset: usize, len: usize, run: &mut Run) {
    if len <= STEP && offset >= STEP / 2 {
        // SAFETY: the source begins in `output`, because `offset <= end`. Each copy of 8 bytes ends at its target at the latest,
        // because `offset >= 8`.
        unsafe {
            let to = output.as_mut_ptr().add(end);
            let from = to.sub(offset).cast_const();
            copy::<8>(from, to);
            copy::<8>(from.add(8), to.add(8));
        }
    } else if offset >= STEP {
        let mut done = 0;
        while done < len {
            // SAFETY: `done` is at most 48, and `output` has 80 bytes from `end` on. The source begins in `output`, because
            // `offset <= end`, and ends at the target at the latest, because `offset >= 16`.
            unsafe {
                let to = output.as_mut_ptr().add(end + done);
                copy::<STEP>(to.sub(offset).cast_const(), to);
            }
            done += STEP;
        }
    } else {
        // SAFETY: the contract of this function, and `offset` is below 16.
        unsafe { repeat(output, end, offset, len, run) };
    }
}

/// Writes the `len` bytes of a copy that overlaps itself.
///
/// # Safety
/// `output` has 80 bytes from `end` on. `1 <= offset <= end`, `offset < 16`, and `len <= 64`.
#[inline(never)]
unsafe fn repeat(output: &mut [u8], end: usize, offset: usize, len: usize, run: &mut Run) {
    if run.end != end || run.offset != offset {
        // SAFETY: `offset <= end`, and `output` has more than 16 bytes from `end` on, so 16 bytes from `end - offset` on.
        let bytes = unsafe { output.as_ptr().add(end - offset).cast::<[u8; STEP]>().read() };
        let once = u128::from_le_bytes(bytes) & ((1u128 << (8 * offset)) - 1);
        (run.pattern, run.offset, run.next) = (once.wrapping_mul(REPEATS[offset]), offset, end);
    }
    run.end = end + len;
    let step = usize::from(STEPS[offset]);
    while run.next < run.end {
        // SAFETY: `next` is below `end + 64`, so `output` has 16 bytes from there on.
        unsafe { output.as_mut_ptr().add(run.next).cast::<[u8; STEP]>().write(run.pattern.to_le_bytes()) };
        run.next += step;
    }
}

/// By offset: the largest multiple of the offset up to 16.
const STEPS: [u8; STEP] = {
    let mut steps = [0; STEP];
    let mut offset = 1;
    while offset < STEP {
        steps[offset] = (STEP / offset * offset) as u8;
        offset += 1;
    }
    steps
};

/// Reads the length of the output. Returns it with the place after it.
fn length(stream: &[u8]) -> Option<(usize, usize)> {
    let mut len = 0u64;
    for (at, byte) in stream.iter().take(5).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return (len <= u64::from(u32::MAX)).then_some((len as usize, at + 1));
        }
    }
    None
}

/// Returns the bytes of a literal, and moves `at` from the tag to the end of the literal. `len` comes from the tag.
#[inline]
fn literal<'a>(stream: &'a [u8], at: &mut usize, len: usize) -> Option<&'a [u8]> {
    let extra = len.saturating_sub(60);
    let mut from = *at + 1;
    let len = match extra {
        0 => len,
        _ => {
            let bytes = stream.get(from..from + extra)?;
            from += extra;
            bytes.iter().rev().fold(0, |len, byte| len << 8 | usize::from(*byte)).checked_add(1)?
        }
    };
    let bytes = stream.get(from..from.checked_add(len)?)?;
    *at = from + len;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::decoders::{Past, chance, damage_some, every_stream_decodes};

    /// Decodes a stream byte by byte, exactly as the format describes it.
    pub(super) fn decode_slowly(stream: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut bytes = stream.iter().copied().map(usize::from);
        let (mut expected, mut shift) = (0, 0);
        loop {
            let byte = bytes.next()?;
            expected |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
            if shift > 28 {
                return None;
            }
        }
        let mut out = Vec::new();
        let number = |bytes: &mut dyn Iterator<Item = usize>, count: usize| {
            (0..count).try_fold(0, |sum, at| Some(sum | bytes.next()? << (8 * at)))
        };
        while let Some(tag) = bytes.next() {
            let (len, offset) = match tag & 3 {
                0 if tag >> 2 < 60 => ((tag >> 2) + 1, None),
                0 => (number(&mut bytes, (tag >> 2) - 59)? + 1, None),
                1 => ((tag >> 2 & 7) + 4, Some((tag >> 5) << 8 | number(&mut bytes, 1)?)),
                2 => ((tag >> 2) + 1, Some(number(&mut bytes, 2)?)),
                _ => ((tag >> 2) + 1, Some(number(&mut bytes, 4)?)),
            };
            for _ in 0..len {
                if out.len() == expected {
                    return None;
                }
                match offset {
                    None => out.push(bytes.next()? as u8),
                    Some(offset) if offset > 0 && offset <= out.len() => out.push(out[out.len() - offset]),
                    Some(_) => return None,
                }
            }
        }
        (out.len() == expected && expected <= room).then_some(out)
    }

    /// Appends a literal in the shortest form, or in a longer form. Returns its length.
    fn push_literal(stream: &mut Vec<u8>, state: &mut u64) -> usize {
        let len = [1, 5, 16, 17, 60, 61, 300][chance(state) % 7];
        let extra = [0, 1, 2, 3, 4][chance(state) % 5].max(usize::from(len > 60) + usize::from(len > 256));
        match extra {
            0 => stream.push(((len - 1) << 2) as u8),
            _ => {
                stream.push(((59 + extra) << 2) as u8);
                stream.extend_from_slice(&(len as u32 - 1).to_le_bytes()[..extra]);
            }
        }
        (0..len).for_each(|_| stream.push(chance(state) as u8));
        len
    }

    /// Appends a copy. Nearly each copy is inside of the `written` bytes. Returns its length.
    fn push_copy(stream: &mut Vec<u8>, state: &mut u64, offset: usize) -> usize {
        if offset < 2048 && chance(state).is_multiple_of(3) {
            let len = 4 + chance(state) % 8;
            stream.extend([1 | ((len - 4) << 2 | offset >> 8 << 5) as u8, offset as u8]);
            return len;
        }
        let len = [1, 16, 17, 63, 64][chance(state) % 5];
        let extra = [2, 4][chance(state) % 2];
        stream.push((if extra == 2 { 2 } else { 3 }) | ((len - 1) << 2) as u8);
        stream.extend_from_slice(&(offset as u32).to_le_bytes()[..extra]);
        len
    }

    /// Makes elements of all forms, and runs of copies with one offset. Some streams are damaged.
    fn stream(state: &mut u64) -> Vec<u8> {
        let (mut elements, mut written, mut offset) = (Vec::new(), 0, 1);
        for _ in 0..chance(state) % 30 {
            if written == 0 || chance(state).is_multiple_of(4) {
                written += push_literal(&mut elements, state);
                continue;
            }
            if chance(state).is_multiple_of(2) {
                offset = 1 + chance(state) % [7, 16, 40, 900][chance(state) % 4].min(written);
            }
            if chance(state).is_multiple_of(100) {
                offset = chance(state) % 1000;
            }
            written += push_copy(&mut elements, state, offset);
        }
        let mut stream = Vec::new();
        let mut rest = written + usize::from(chance(state).is_multiple_of(30));
        while rest >= 0x80 {
            stream.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        stream.push(rest as u8);
        stream.extend(elements);
        damage_some(&mut stream, state);
        stream
    }

    #[test]
    fn every_stream_decodes_as_the_format_states() {
        every_stream_decodes(stream, decode, decode_slowly, Past::Untouched);
    }
}
