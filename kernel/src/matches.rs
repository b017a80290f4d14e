//! Finds matches with one candidate for each hash, for the encoders of LZ4 and Snappy.
//!
//! ```text
//! search      at each tried position: the last position with the same hash is the candidate, if its first four bytes are equal
//! step        after a number of failed tries, the step becomes longer by one position
//! match       the candidate is extended forward and backward; the search continues at the end of the match
//! ```
//! The table holds the low 16 bits of positions. A match reaches back at most 65,535 bytes, so 16 bits name each position that a match
//! can use, and the table stays in the first cache of the core. In a text of 64 KiB and more, the 16 bits of an older position name
//! another position: the comparison of the bytes rejects it.
//!
//! The number of hashed bytes grows with the text. A hash of four bytes finds the short matches that small texts consist of. In large
//! texts, a hash of five or six bytes is faster, because the search skips short matches, and the output is smaller, because longer
//! matches keep their slots.
//!
//! The same text always gives the same output: the table is cleared before each text. A table that is not cleared needs one more
//! comparison for each try: text and JSON of 16 KiB took 0.45 to 0.9 of the speed.

use std::ops::Range;

/// The shortest match.
pub(crate) const MATCH_MIN: usize = 4;
/// No match starts in this many bytes at the end.
const MARGIN: usize = 12;
/// A text of this length and longer is hashed by five bytes.
pub(crate) const MEDIUM_LEN: usize = 8 << 10;
/// A text of this length and longer has positions that need more than 16 bits.
pub(crate) const LARGE_LEN: usize = 64 << 10;

/// How an encoder writes what the search finds.
pub(crate) trait Format {
    /// This many bytes at the end are always literals.
    const LITERALS_AT_END: usize;

    /// Writes literals and a match at `end`. `text` has at least four bytes after the literals; `1 <= offset < 65536`, and the match
    /// has at least [`MATCH_MIN`] bytes. Returns the new end of the output; `None` if `output` is too short.
    fn sequence(
        text: &[u8],
        literals: Range<usize>,
        offset: usize,
        match_len: usize,
        output: &mut [u8],
        end: usize,
    ) -> Option<usize>;

    /// Writes the literals after the last match at `end`. Returns the new end of the output; `None` if `output` is too short.
    fn last(literals: &[u8], output: &mut [u8], end: usize) -> Option<usize>;
}

/// The settings of a search.
pub(crate) trait Search {
    /// The number of hashed bytes: 4, 5 or 6.
    const HASHED: u32;
    /// True if positions can need more than 16 bits. If false, a text has less than 64 KiB and no prefix.
    const IS_FAR: bool;
    /// The logarithm of the number of failed tries after which the step grows by one position.
    const STEP_BITS: u32;
    /// True if each match inserts a position near its start. Another position near its end is always inserted.
    const INSERTS_START: bool;
}

/// Encodes `text[start..]` at `end` of the output. If `start` is 0, the table is cleared first. Otherwise the table has positions
/// of the prefix `text[..start]`. `step` is the first step length. Returns the new end of the output; `None` if `output` is too short.
#[inline(never)]
pub(crate) fn encode<F: Format, S: Search, const SLOTS: usize>(
    table: &mut [u16; SLOTS],
    text: &[u8],
    start: usize,
    step: usize,
    output: &mut [u8],
    mut end: usize,
) -> Option<usize> {
    assert!(S::IS_FAR || (start == 0 && text.len() < LARGE_LEN));
    if start == 0 {
        table.fill(0);
    }
    if text.len() - start <= MARGIN {
        return F::last(&text[start..], output, end);
    }
    let search_end = text.len() - MARGIN;
    let head = &text[..text.len() - F::LITERALS_AT_END];
    let mut literals = start;
    table[slot_of::<S, SLOTS>(word(&text[start..]))] = start as u16;
    let mut at = start + 1;
    let mut slot = slot_of::<S, SLOTS>(word(&text[at..]));
    'matches: loop {
        let (mut tries, mut next) = (step << S::STEP_BITS, at);
        let mut from;
        loop {
            at = next;
            next = at + (tries >> S::STEP_BITS);
            tries += 1;
            if next > search_end {
                break 'matches;
            }
            let known = std::mem::replace(&mut table[slot], at as u16);
            // SAFETY: `text` has at least `MARGIN` bytes from `next` on, because `next <= search_end`.
            slot = slot_of::<S, SLOTS>(u64::from_le_bytes(unsafe { read(text, next) }));
            let distance = usize::from((at as u16).wrapping_sub(known));
            from = if S::IS_FAR { at.saturating_sub(distance) } else { usize::from(known) };
            // SAFETY: `at < next <= search_end`, so `text` has four bytes from `at` on. If `IS_FAR`, then `from <= at`. Otherwise no
            // position needs more than 16 bits, and each position of the table is 0 or was inserted before `at`, because the table
            // was cleared and positions at or after the current one are never inserted. Then `from < at`.
            let equal = unsafe { read::<4>(text, from) == read::<4>(text, at) };
            // A distance of 0 is a position 64 KiB before, or one that was never inserted.
            if equal && (!S::IS_FAR || distance.wrapping_sub(1) < at) {
                break;
            }
        }
        let offset = at - from;
        if S::INSERTS_START {
            // SAFETY: `text` has more than `MARGIN` bytes from `at` on.
            let bytes = u64::from_le_bytes(unsafe { read(text, at + 2) });
            table[slot_of::<S, SLOTS>(bytes)] = (at + 2) as u16;
        }
        let match_end = common(head, at + MATCH_MIN, offset);
        if at > literals {
            at -= common_before(&text[..from], &text[..at], at - literals);
        }
        end = F::sequence(text, literals..at, offset, match_end - at, output, end)?;
        at = match_end;
        literals = match_end;
        if at > search_end {
            break;
        }
        // The search does not try the positions inside of the match. One of them is inserted.
        // SAFETY: the match has at least four bytes, so `at >= 2`. `text` has at least `MARGIN` bytes from `at` on.
        let bytes = u64::from_le_bytes(unsafe { read(text, at - 2) });
        table[slot_of::<S, SLOTS>(bytes)] = (at - 2) as u16;
        // A hash needs at most six bytes.
        slot = slot_of::<S, SLOTS>(bytes >> 16);
    }
    F::last(&text[literals..], output, end)
}

/// Inserts positions of `prefix` into the table.
pub(crate) fn insert_prefix<S: Search, const SLOTS: usize>(table: &mut [u16; SLOTS], prefix: &[u8]) {
    for (at, bytes) in prefix.windows(8).enumerate().step_by(3) {
        table[slot_of::<S, SLOTS>(word(bytes))] = at as u16;
    }
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

/// Returns the slot for the first bytes of a word.
#[inline(always)]
fn slot_of<S: Search, const SLOTS: usize>(word: u64) -> usize {
    let bits = const { SLOTS.ilog2() };
    if S::HASHED == 4 {
        // A factor of 32 bits: fewer instructions.
        return ((word as u32).wrapping_mul(0x9E37_79B1) >> (u32::BITS - bits)) as usize;
    }
    ((word << (u64::BITS - 8 * S::HASHED)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - bits)) as usize
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
