//! The header of one entry.

use base::coding::Cursor;

/// The numbers in front of the key of an entry. Each has at most 32 bits, so the sum of a few of them and an
/// offset cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub shared: usize,
    pub non_shared: usize,
    pub value_len: usize,
    /// Offset of the key bytes in the block.
    pub key_at: usize,
}

/// Decodes the header at `at`. Usually each number fits into one byte, so the three bytes are tested
/// together.
#[inline(always)]
pub(super) fn header(bytes: &[u8], at: usize) -> Option<Header> {
    let three = bytes.get(at..)?.first_chunk::<3>()?;
    if (three[0] | three[1] | three[2]) < 0x80 {
        return Some(Header {
            shared: usize::from(three[0]),
            non_shared: usize::from(three[1]),
            value_len: usize::from(three[2]),
            key_at: at + 3,
        });
    }
    long_header(bytes, at)
}

#[inline(never)]
fn long_header(bytes: &[u8], at: usize) -> Option<Header> {
    let mut cursor = Cursor::new(bytes.get(at..)?);
    let shared = cursor.varint32()? as usize;
    let non_shared = cursor.varint32()? as usize;
    let value_len = cursor.varint32()? as usize;
    Some(Header { shared, non_shared, value_len, key_at: at + cursor.offset() })
}

/// Decodes the header of an entry at a restart point of a block with separated values. Also returns the
/// offset of its value among the values.
pub(super) fn separated_restart_header(bytes: &[u8], at: usize) -> Option<(Header, usize)> {
    let mut header = header(bytes, at)?;
    let mut cursor = Cursor::new(bytes.get(header.key_at..)?);
    let value_at = cursor.varint32()? as usize;
    header.key_at += cursor.offset();
    Some((header, value_at))
}
