//! The position of a block in its file.
//!
//! ```text
//! v64 offset | v64 size        size without the five-byte trailer; at most 20 bytes in all
//! ```
//! RocksDB source: `table/format.cc`.

use std::fmt;

use base::coding::{Cursor, put_varint64};
use base::{Error, Result};

use crate::trailer;

/// The offset and the payload size of a block, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHandle {
    /// The offset of the first byte of the payload in the file.
    pub offset: u64,
    /// The size of the payload, without the trailer of the block.
    pub size: u64,
}

impl BlockHandle {
    /// The handle that means "no block".
    pub const NULL: BlockHandle = BlockHandle { offset: 0, size: 0 };

    /// Makes a handle. `offset` counts from the start of the file. `size` does not count the trailer of the
    /// block.
    #[inline]
    pub const fn new(offset: u64, size: u64) -> Self {
        BlockHandle { offset, size }
    }

    /// Returns true if the handle means "no block": offset and size are 0.
    #[inline]
    pub fn is_null(&self) -> bool {
        *self == BlockHandle::NULL
    }

    /// Returns the offset at which the next block starts if it follows directly. Saturates if the handle is
    /// invalid.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size).saturating_add(trailer::LEN as u64)
    }

    /// Appends offset and size as two varints: at most 20 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
    }

    /// Reads a handle from the cursor.
    ///
    /// # Errors
    /// Corruption if the handle is incomplete.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<Self> {
        match (cursor.varint64(), cursor.varint64()) {
            (Some(offset), Some(size)) => Ok(BlockHandle { offset, size }),
            _ => Err(Error::corruption("bad block handle")),
        }
    }

    /// Reads a handle from bytes that may continue after the handle, as metaindex values and footers do.
    ///
    /// # Errors
    /// Corruption if the handle is incomplete.
    pub fn decode_from(bytes: &[u8]) -> Result<Self> {
        BlockHandle::decode(&mut Cursor::new(bytes))
    }
}

/// Prints offset and size, for example `4096+1021`.
impl fmt::Display for BlockHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.offset, self.size)
    }
}
