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

/// The restart points of a block for [`PlainEntries`].
#[derive(Clone, Copy, Debug)]
pub struct PlainRestarts {
    entries_end: usize,
    /// The start of the restart array in the payload.
    at: usize,
    len: usize,
}

impl PlainRestarts {
    /// Finds the restart points of a payload.
    ///
    /// # Errors
    /// The errors of [`PlainEntries::new`].
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let shape = plain_shape(payload)?;
        Ok(PlainRestarts {
            entries_end: shape.entries_end as usize,
            at: shape.restarts_at as usize,
            len: shape.num_restarts as usize,
        })
    }

    /// Returns the number of restart points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the block has no restart point.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the offset of the entry at restart point `i`. `None` if the payload is malformed.
    fn offset(&self, payload: &[u8], i: usize) -> Option<usize> {
        let bytes = payload.get(self.at + 4 * i..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize).filter(|at| *at <= self.entries_end && i < self.len)
    }

    /// Returns the key at restart point `i`. `None` if the payload is malformed. `unbounded`: values have no stored length.
    pub fn key<'a>(&self, payload: &'a [u8], i: usize, unbounded: bool) -> Option<&'a [u8]> {
        let mut cursor = Cursor::new(payload.get(self.offset(payload, i)?..self.entries_end)?);
        let (shared, non_shared) = (cursor.varint32()?, cursor.varint32()?);
        if shared != 0 || !unbounded && cursor.varint32().is_none() {
            return None;
        }
        cursor.take(non_shared as usize)
    }
}

/// Parses the parts of a block whose values are not separated from keys.
fn plain_shape(payload: &[u8]) -> Result<Shape> {
    let shape = Shape::parse(payload)?;
    if shape.separated {
        return Err(Error::not_supported("an index block with separated values"));
    }
    Ok(shape)
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
        let end = plain_shape(payload)?.entries_end as usize;
        Ok(PlainEntries { bytes: payload, end, next: 0, key: Vec::new(), unbounded, pending: false })
    }

    /// Makes an iterator before the entry at restart point `i` of the payload; with `i` = 0, before the first entry.
    ///
    /// # Errors
    /// Corruption if there is no such restart point.
    pub fn at_restart(
        payload: &'a [u8],
        restarts: &PlainRestarts,
        i: usize,
        unbounded: bool,
    ) -> Result<Self> {
        let next = if i == 0 { Some(0) } else { restarts.offset(payload, i) };
        let next = next.ok_or_else(|| Error::corruption("bad restart point in block"))?;
        let end = restarts.entries_end;
        Ok(PlainEntries { bytes: payload, end, next, key: Vec::new(), unbounded, pending: false })
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
    pub(crate) fn value_took(&mut self, len: usize) {
        self.next += len;
        self.pending = false;
    }
}
