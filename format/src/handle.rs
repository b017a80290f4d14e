//! Where a block lies in its file.
//!
//! ```text
//! v64 offset | v64 size        size without the five-byte trailer; at most 20 bytes in all
//! ```
//! Facts: RocksDB `table/format.cc`.

use std::fmt;

use base::coding::{Cursor, put_varint64};
use base::{Error, Result};

use crate::trailer;

/// Offset and payload size of a block, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHandle {
    pub offset: u64,
    pub size: u64,
}

impl BlockHandle {
    /// No block at all.
    pub const NULL: BlockHandle = BlockHandle { offset: 0, size: 0 };

    /// Bytes that an encoded handle takes at most.
    pub const ENCODED_LEN_MAX: usize = 20;

    #[inline]
    pub const fn new(offset: u64, size: u64) -> Self {
        BlockHandle { offset, size }
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        *self == BlockHandle::NULL
    }

    /// Where the next block starts if nothing lies between. Saturates on nonsense.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size).saturating_add(trailer::LEN as u64)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
    }

    /// Reads a handle off the cursor.
    ///
    /// # Errors
    /// Corruption if it is cut short.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<Self> {
        match (cursor.varint64(), cursor.varint64()) {
            (Some(offset), Some(size)) => Ok(BlockHandle { offset, size }),
            _ => Err(Error::corruption("bad block handle")),
        }
    }

    /// Reads a handle that may have more behind it, as metaindex values and footers do.
    ///
    /// # Errors
    /// Corruption if it is cut short.
    pub fn decode_from(bytes: &[u8]) -> Result<Self> {
        BlockHandle::decode(&mut Cursor::new(bytes))
    }
}

/// `4096+1021`: offset and size.
impl fmt::Display for BlockHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.offset, self.size)
    }
}
