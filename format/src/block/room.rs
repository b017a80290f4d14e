//! Memory for a block that is read in place: the read from the file puts the payload where the block keeps it.
//!
//! ```text
//! header | [unused] | payload | trailer 5
//!                     ───── read ─────
//! ```
//! A read into another buffer would need a copy of the payload. Only an uncompressed block can be read in place. The
//! trailer stays in the memory of the block, because its five bytes cost less than a second read.

use std::sync::Arc;

use base::Result;

use super::{Block, HEADER, Shape, anchors, memory};
use crate::trailer;

/// Memory for a block of a known size, before the block is read.
#[derive(Debug)]
pub struct BlockRoom {
    /// No other reference exists.
    bytes: Arc<[u8]>,
    payload_at: usize,
}

impl BlockRoom {
    /// Makes the memory for a payload of `len` bytes and its trailer. `room` is described at [`Block::parse_into`].
    pub fn new(len: usize, room: impl FnOnce(usize) -> Arc<[u8]>) -> BlockRoom {
        let stored = len + trailer::LEN;
        let bytes = memory(HEADER + stored, room);
        BlockRoom { payload_at: bytes.len() - stored, bytes }
    }

    /// Returns the payload with its trailer.
    pub fn stored(&self) -> &[u8] {
        &self.bytes[self.payload_at..]
    }

    /// Returns the memory of the payload and its trailer, for the read. The content is undefined before the read.
    pub fn stored_mut(&mut self) -> &mut [u8] {
        let own = Arc::get_mut(&mut self.bytes);
        base::invariant!(own.is_some(), "the memory for a block that is not read yet has two owners");
        own.map(|bytes| &mut bytes[self.payload_at..]).unwrap_or_default()
    }

    /// Parses the payload, which is not compressed. With `later`, the block gets its search array when the block is used
    /// again: see [`Block::parse_for_later`]. Does not check the trailer.
    ///
    /// # Errors
    /// Corruption if the parts contradict each other.
    pub fn into_block(self, later: bool) -> Result<Block> {
        let BlockRoom { mut bytes, payload_at } = self;
        let end = bytes.len() - trailer::LEN;
        let mut shape = Shape::parse(&bytes[payload_at..end])?;
        shape.payload_at = payload_at as u32;
        shape.anchors.flags = anchors::TRAILED;
        if later && shape.is_worth_an_array(end - payload_at) {
            shape.anchors.flags |= anchors::LATER;
        }
        if let Some(own) = Arc::get_mut(&mut bytes) {
            own[..HEADER].copy_from_slice(&shape.encode());
        }
        Ok(Block { bytes })
    }

    /// Returns the memory, for another block.
    pub fn into_bytes(self) -> Arc<[u8]> {
        self.bytes
    }
}
