//! Writes the sequences of an LZ4 block.
//!
//! ```text
//! token: literal length (4 bits) | match length - 4 (4 bits)
//!        a length of 15 continues: bytes of 255, then a last byte below 255; the sum is the length
//! [more literal length]  literals  offset u16 LE  [more match length]        the last sequence: literals only
//! ```

/// The shortest match.
pub(super) const MATCH_MIN: usize = 4;
/// This many bytes at the end are always literals.
pub(super) const LITERALS_AT_END: usize = 5;
/// No match starts in this many bytes at the end.
pub(super) const MARGIN: usize = 12;

pub(super) fn sequence(out: &mut Vec<u8>, literals: &[u8], offset: usize, match_len: usize) {
    let extra = match_len - MATCH_MIN;
    out.push((literals.len().min(15) << 4 | extra.min(15)) as u8);
    length(out, literals.len());
    out.extend_from_slice(literals);
    out.extend_from_slice(&(offset as u16).to_le_bytes());
    length(out, extra);
}

pub(super) fn last(out: &mut Vec<u8>, literals: &[u8]) {
    out.push((literals.len().min(15) << 4) as u8);
    length(out, literals.len());
    out.extend_from_slice(literals);
}

fn length(out: &mut Vec<u8>, len: usize) {
    if len < 15 {
        return;
    }
    let rest = len - 15;
    out.resize(out.len() + rest / 255, 255);
    out.push((rest % 255) as u8);
}
