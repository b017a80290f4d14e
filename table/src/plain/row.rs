//! The entries of a plain table: key, then value.
//!
//! ```text
//! kPlain    [varint32 length of the user key] user key, tail, varint32 length of the value, value
//!           The length is absent if the property `rocksdb.fixed.key.length` is not 0.
//! kPrefix   control byte: 2 bits kind, 6 bits size; size 63: a varint32 follows that is added to 63
//!             0  whole key       size of the user key;   user key, tail
//!             1  prefix          size of the prefix that the key shares with the key before; a control byte 2 follows
//!             2  suffix          size of the user key without the prefix;   rest of the user key, tail
//! tail      8 bytes of sequence number and value type; or the byte 0xff for a value of sequence number 0
//! ```
//! Source: RocksDB `table/plain/plain_table_key_coding.cc`.

use std::ops::Range;

use base::coding::{get_varint32, put_varint32};
use base::key::{TRAILER_LEN, pack, parse, trailer, user_key};
use base::{Error, Result, SequenceNumber, ValueType};

use super::prefix_of;
use crate::flat::bytes::{FileBytes, Window};
use crate::options::EncodingType;
use crate::sst::ReadCtx;
use base::order::PrefixExtractor;

/// The tail of a value of sequence number 0. No value type has this number.
const VALUE_OF_SEQUENCE_0: u8 = 0xff;
/// The size in a control byte which means that more of the size follows.
const SIZE_INLINE_MAX: u32 = 63;

const WHOLE: u8 = 0;
const PREFIX: u8 = 1;
const SUFFIX: u8 = 2;

/// Encodes rows one after another.
pub(super) struct RowEncoder {
    encoding: EncodingType,
    /// The length of each user key. `None`: each row stores its length.
    user_key_len: Option<usize>,
    sparseness: usize,
    /// The prefix of the keys since the last whole key, and the number of these keys.
    prefix: Vec<u8>,
    keys_of_prefix: usize,
}

impl RowEncoder {
    pub(super) fn new(encoding: EncodingType, user_key_len: Option<usize>, sparseness: usize) -> RowEncoder {
        RowEncoder {
            encoding,
            user_key_len,
            sparseness: sparseness.max(1),
            prefix: Vec::new(),
            keys_of_prefix: 0,
        }
    }

    /// Appends a row. `key` is an internal key.
    ///
    /// # Errors
    /// NotSupported if the user key has not the length of the table's keys.
    pub(super) fn encode(
        &mut self,
        key: &[u8],
        value: &[u8],
        extractor: Option<&dyn PrefixExtractor>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let user = user_key(key);
        base::invariant!(
            user.len() + TRAILER_LEN == key.len(),
            "a key of {} bytes has a user key of {}",
            key.len(),
            user.len()
        );
        let mut stored = user;
        match (self.encoding, extractor) {
            (EncodingType::Prefix, Some(extractor)) => {
                stored = &user[self.put_size(user, &prefix_of(extractor, user), out)..];
            }
            _ => match self.user_key_len {
                None => put_varint32(out, user.len() as u32),
                Some(len) if len == user.len() => {}
                Some(len) => {
                    return Err(Error::not_supported(format!(
                        "a user key of {} bytes in a plain table with user_key_len {len}",
                        user.len()
                    )));
                }
            },
        }
        out.extend_from_slice(stored);
        match trailer(key) == pack(SequenceNumber::ZERO, ValueType::Value as u8) {
            true => out.push(VALUE_OF_SEQUENCE_0),
            false => out.extend_from_slice(&trailer(key).to_le_bytes()),
        }
        put_varint32(out, value.len() as u32);
        out.extend_from_slice(value);
        Ok(())
    }

    /// Appends the sizes of a key in encoding `kPrefix`. Returns how many bytes of the key are not stored.
    fn put_size(&mut self, user: &[u8], prefix: &[u8], out: &mut Vec<u8>) -> usize {
        if self.keys_of_prefix == 0
            || prefix != self.prefix
            || self.keys_of_prefix.is_multiple_of(self.sparseness)
        {
            self.keys_of_prefix = 1;
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            put_control(out, WHOLE, user.len());
            return 0;
        }
        self.keys_of_prefix += 1;
        base::invariant!(
            prefix.len() <= user.len(),
            "a key of {} bytes has a prefix of {} bytes",
            user.len(),
            prefix.len()
        );
        if self.keys_of_prefix == 2 {
            put_control(out, PREFIX, prefix.len());
        }
        put_control(out, SUFFIX, user.len() - prefix.len());
        prefix.len()
    }
}

fn put_control(out: &mut Vec<u8>, kind: u8, size: usize) {
    base::invariant!(
        kind <= SUFFIX && size <= u32::MAX as usize,
        "a key of {size} bytes is written with the size flag {kind}"
    );
    let size = size as u32;
    if size < SIZE_INLINE_MAX {
        return out.push(kind << 6 | size as u8);
    }
    out.push(kind << 6 | SIZE_INLINE_MAX as u8);
    put_varint32(out, size - SIZE_INLINE_MAX);
}

/// The rows of a table.
pub(super) struct Rows {
    pub(super) bytes: FileBytes,
    /// The end of the rows.
    pub(super) end: u64,
    pub(super) encoding: EncodingType,
    pub(super) user_key_len: Option<usize>,
    /// The sequence number that every entry of an external file has, in the place of the stored one.
    pub(super) global_seqno: Option<SequenceNumber>,
}

impl Rows {
    /// Returns the trailer of an entry with this stored trailer.
    fn trailer(&self, stored: u64) -> u64 {
        self.global_seqno.map_or(stored, |seq| pack(seq, stored as u8))
    }
}

/// A position among the rows, and the row there.
pub(super) struct RowCursor {
    window: Window,
    /// The internal key.
    key: Vec<u8>,
    value: Range<usize>,
    /// Number of bytes that a suffix shares with the previous key. `None` before the first suffix.
    prefix_len: Option<usize>,
    /// The offset of the row. `next` is the offset of the next row.
    pub(super) at: u64,
    pub(super) next: u64,
    /// True if the row stores its whole key. Reading can start at such a row.
    pub(super) is_whole: bool,
}

impl RowCursor {
    pub(super) fn new(window: Window) -> RowCursor {
        RowCursor { window, key: Vec::new(), value: 0..0, prefix_len: None, at: 0, next: 0, is_whole: false }
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        self.window.get(self.value.clone())
    }

    pub(super) fn value_range(&self) -> Range<usize> {
        self.value.clone()
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// Reads the row at an offset that is not the end of the current row.
    ///
    /// # Errors
    /// The errors of [`RowCursor::step`], and Corruption if the row does not store its whole key.
    pub(super) fn jump(&mut self, rows: &Rows, offset: u64, ctx: &ReadCtx) -> Result<()> {
        self.key.clear();
        self.prefix_len = None;
        self.next = offset;
        self.step(rows, ctx)
    }

    /// Reads the next row, which must exist.
    ///
    /// # Errors
    /// Corruption if the row does not decode; errors of the file.
    #[inline]
    pub(super) fn step(&mut self, rows: &Rows, ctx: &ReadCtx) -> Result<()> {
        let offset = self.next;
        self.decode(rows, ctx).map_err(|e| e.at(offset))?;
        self.at = offset;
        base::invariant!(self.next > self.at, "a row at {} ends at {}", self.at, self.next);
        Ok(())
    }

    fn decode(&mut self, rows: &Rows, ctx: &ReadCtx) -> Result<()> {
        let mut at = self.next;
        match rows.encoding {
            EncodingType::Plain => {
                let len = match rows.user_key_len {
                    Some(len) => len,
                    None => self.varint(rows, &mut at, ctx)? as usize,
                };
                self.key.clear();
                self.is_whole = true;
                self.read_key(rows, &mut at, len, ctx)?;
            }
            EncodingType::Prefix => self.prefixed(rows, &mut at, ctx)?,
        }
        let len = self.varint(rows, &mut at, ctx)? as usize;
        self.value = self.take(rows, at, len, ctx)?;
        self.next = at + len as u64;
        Ok(())
    }

    fn prefixed(&mut self, rows: &Rows, at: &mut u64, ctx: &ReadCtx) -> Result<()> {
        self.is_whole = true;
        loop {
            let range = self.take(rows, *at, 1, ctx)?;
            let control = self.window.get(range).first().copied().unwrap_or_default();
            *at += 1;
            let mut size = u32::from(control) & SIZE_INLINE_MAX;
            if size == SIZE_INLINE_MAX {
                size = size.saturating_add(self.varint(rows, at, ctx)?);
            }
            let size = size as usize;
            match control >> 6 {
                WHOLE if self.is_whole => {
                    self.key.clear();
                    self.prefix_len = None;
                    return self.read_key(rows, at, size, ctx);
                }
                PREFIX if self.is_whole && size + TRAILER_LEN <= self.key.len() => {
                    self.prefix_len = Some(size);
                    self.is_whole = false;
                }
                SUFFIX => {
                    let Some(prefix_len) = self.prefix_len.filter(|len| len + TRAILER_LEN <= self.key.len())
                    else {
                        return Err(Error::corruption("Key for a prefix is not seekable"));
                    };
                    self.is_whole = false;
                    self.key.truncate(prefix_len);
                    return self.read_key(rows, at, size, ctx);
                }
                _ => return Err(Error::corruption("Un-identified size flag.")),
            }
        }
    }

    /// Appends `len` bytes of the user key and the tail to the key.
    fn read_key(&mut self, rows: &Rows, at: &mut u64, len: usize, ctx: &ReadCtx) -> Result<()> {
        let range = self.take(rows, *at, len.saturating_add(1), ctx)?;
        if self.window.get(range.clone()).last() == Some(&VALUE_OF_SEQUENCE_0) {
            self.key.extend_from_slice(self.window.get(range.start..range.end - 1));
            self.key.extend_from_slice(
                &rows.trailer(pack(SequenceNumber::ZERO, ValueType::Value as u8)).to_le_bytes(),
            );
            *at += len as u64 + 1;
            return Ok(());
        }
        let range = self.take(rows, *at, len.saturating_add(TRAILER_LEN), ctx)?;
        self.key.extend_from_slice(self.window.get(range));
        *at += (len + TRAILER_LEN) as u64;
        parse(&self.key)?;
        let trailer_at = self.key.len() - TRAILER_LEN;
        let own = rows.trailer(trailer(&self.key));
        self.key.truncate(trailer_at);
        self.key.extend_from_slice(&own.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn varint(&mut self, rows: &Rows, at: &mut u64, ctx: &ReadCtx) -> Result<u32> {
        // A number has at most five bytes. The file may end before, and the decoder then reports corruption.
        let len = rows.end.saturating_sub(*at).min(5) as usize;
        let range = self.take(rows, *at, len, ctx)?;
        let (value, len) = get_varint32(self.window.get(range)).ok_or_else(|| {
            Error::corruption("Unexpected EOF when reading the size of a key or of a value")
        })?;
        *at += len as u64;
        Ok(value)
    }

    #[inline]
    fn take(&mut self, rows: &Rows, at: u64, len: usize, ctx: &ReadCtx) -> Result<Range<usize>> {
        if at.saturating_add(len as u64) > rows.end {
            return Err(Error::corruption(format!(
                "a row at offset {at} goes past the end of the rows, {}",
                rows.end
            )));
        }
        rows.bytes.at(&mut self.window, at, len, ctx)
    }
}
