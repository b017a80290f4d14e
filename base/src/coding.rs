//! Fixed-width and variable-length integers, and a cursor that reads them from untrusted bytes.
//!
//! Layout (RocksDB `util/coding.h`): fixed integers are little-endian. A varint has seven bits of the number in each
//! byte, low bits first. Bit 7 says that another byte follows. Encoders write the shortest form. Decoders accept
//! longer forms: at most five bytes for 32 bits, whose surplus bits are dropped, and ten bytes for 64 bits.

use crate::error::{Error, Result};

/// Appends `value` in two bytes, little-endian.
#[inline]
pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` in four bytes, little-endian.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` in eight bytes, little-endian.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` as a varint of one to five bytes.
#[inline]
pub fn put_varint32(out: &mut Vec<u8>, value: u32) {
    put_varint64(out, u64::from(value));
}

/// Appends `value` as a varint of one to ten bytes.
#[inline]
pub fn put_varint64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` in zigzag form as a varint of one to ten bytes. Numbers near 0 are short, with either sign.
#[inline]
pub fn put_varint_signed64(out: &mut Vec<u8>, value: i64) {
    put_varint64(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends the length of `slice` as a varint32, then its bytes. The length must be below 4 GiB: callers limit keys
/// and values before.
#[inline]
pub fn put_slice(out: &mut Vec<u8>, slice: &[u8]) {
    debug_assert!(slice.len() <= u32::MAX as usize);
    put_varint32(out, slice.len() as u32);
    out.extend_from_slice(slice);
}

/// Returns the number of bytes of `value` as a varint: 1 to 10.
#[inline]
pub fn varint_len(value: u64) -> usize {
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}

/// Returns the little-endian u16 at offset `at`, or `None` if `bytes` is too short.
#[inline]
pub fn get_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

/// Returns the little-endian u32 at offset `at`, or `None` if `bytes` is too short.
#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Returns the little-endian u64 at offset `at`, or `None` if `bytes` is too short.
#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}

/// Decodes a varint32 at the start of `bytes`. Returns the value and its length in bytes, or `None`.
#[inline]
pub fn get_varint32(bytes: &[u8]) -> Option<(u32, usize)> {
    match bytes.first() {
        Some(&b) if b < 0x80 => return Some((u32::from(b), 1)),
        Some(_) => {}
        None => return None,
    }
    let mut value = 0u32;
    for (i, &b) in bytes.iter().take(5).enumerate() {
        value |= u32::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Decodes a varint64 at the start of `bytes`. Returns the value and its length in bytes, or `None`.
#[inline]
pub fn get_varint64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &b) in bytes.iter().take(10).enumerate() {
        value |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Reads values from the start of untrusted bytes. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Cursor<'a> {
    /// Makes a cursor at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes, len: bytes.len() }
    }

    /// Returns the bytes that are not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of bytes that are read.
    #[inline]
    pub fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// Returns true if all bytes were read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads one byte. Returns `None` and reads nothing at the end.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let (&b, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(b)
    }

    /// Reads two bytes, little-endian. Returns `None` and reads nothing if fewer bytes are left.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.take(2).and_then(|b| get_u16(b, 0))
    }

    /// Reads four bytes, little-endian. Returns `None` and reads nothing if fewer bytes are left.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.take(4).and_then(|b| get_u32(b, 0))
    }

    /// Reads eight bytes, little-endian. Returns `None` and reads nothing if fewer bytes are left.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.take(8).and_then(|b| get_u64(b, 0))
    }

    /// Reads a varint of at most 32 bits. Returns `None` and reads nothing if the bytes are not such a varint.
    #[inline]
    pub fn varint32(&mut self) -> Option<u32> {
        let (value, n) = get_varint32(self.rest)?;
        self.rest = &self.rest[n..];
        Some(value)
    }

    /// Reads a varint of at most 64 bits. Returns `None` and reads nothing if the bytes are not such a varint.
    #[inline]
    pub fn varint64(&mut self) -> Option<u64> {
        let (value, n) = get_varint64(self.rest)?;
        self.rest = &self.rest[n..];
        Some(value)
    }

    /// Reads a varint in zigzag form: 0, -1, 1, -2, ... Returns `None` if the bytes are not a varint.
    #[inline]
    pub fn varint_signed64(&mut self) -> Option<i64> {
        let u = self.varint64()?;
        Some(((u >> 1) as i64) ^ -((u & 1) as i64))
    }

    /// Reads a slice that starts with its length. Returns `None` if the bytes are not such a slice.
    #[inline]
    pub fn slice(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let n = ahead.varint32()? as usize;
        let bytes = ahead.take(n)?;
        *self = ahead;
        Some(bytes)
    }

    /// Reads `n` bytes. Returns `None` and reads nothing if fewer bytes are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Turns `None` into a Corruption with the name of the value and the offset.
    #[inline]
    pub fn need<T>(&self, what: &'static str, value: Option<T>) -> Result<T> {
        match value {
            Some(value) => Ok(value),
            None => Err(Error::corruption(format!("{what} is truncated")).at(self.offset() as u64)),
        }
    }
}
