//! A forward iterator over a block that is decoded once and then dropped.

use base::coding::Cursor;
use base::{Error, Result};

use super::Shape;

/// The entries of a block from the first to the last. For index blocks, whose values may have no stored
/// length: the caller then reports the length of each value.
pub struct PlainEntries<'a> {
    bytes: &'a [u8],
    end: usize,
    next: usize,
    key: Vec<u8>,
    /// True if values have no stored length.
    unbounded: bool,
    pending: bool,
}

/// An entry. Its key is [`PlainEntries::key`].
pub struct PlainEntry<'a> {
    /// The offset of the entry in the payload.
    pub at: usize,
    /// Number of bytes that the key shares with the previous key.
    pub shared: usize,
    /// The value. If values have no stored length, all bytes up to the end of the entries.
    pub value: &'a [u8],
}

impl<'a> PlainEntries<'a> {
    /// Makes an iterator before the first entry of the payload. `unbounded`: values have no stored length.
    ///
    /// # Errors
    /// Corruption if the parts of the block contradict each other. NotSupported if values are separated from
    /// keys.
    pub fn new(payload: &'a [u8], unbounded: bool) -> Result<Self> {
        let shape = Shape::parse(payload)?;
        if shape.separated {
            return Err(Error::not_supported("an index block with separated values"));
        }
        let end = shape.entries_end as usize;
        Ok(PlainEntries { bytes: payload, end, next: 0, key: Vec::new(), unbounded, pending: false })
    }

    /// Returns the next entry, or `None` after the last entry.
    ///
    /// # Errors
    /// Corruption, with the offset in the block, if the entry does not decode.
    #[allow(clippy::should_implement_trait)] // an iterator that can fail
    pub fn next(&mut self) -> Result<Option<PlainEntry<'a>>> {
        if self.pending || self.next >= self.end {
            return if self.pending { Err(self.bad()) } else { Ok(None) };
        }
        self.decode().ok_or_else(|| self.bad()).map(Some)
    }

    fn decode(&mut self) -> Option<PlainEntry<'a>> {
        let at = self.next;
        let mut cursor = Cursor::new(self.bytes.get(at..self.end)?);
        let shared = cursor.varint32()? as usize;
        let non_shared = cursor.varint32()? as usize;
        let value_len = if self.unbounded { None } else { Some(cursor.varint32()? as usize) };
        let own = cursor.take(non_shared)?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(own);
        let value = match value_len {
            Some(len) => cursor.take(len)?,
            None => cursor.rest(),
        };
        self.pending = self.unbounded;
        self.next = at + cursor.offset();
        Some(PlainEntry { at, shared, value })
    }

    #[cold]
    fn bad(&self) -> Error {
        Error::corruption("bad entry in block").at(self.next as u64)
    }

    /// Returns the key of the last returned entry.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Reports the length of the value of the last returned entry. Call this before `next` if values have no
    /// stored length.
    pub fn value_took(&mut self, len: usize) {
        self.next += len;
        self.pending = false;
    }
}
