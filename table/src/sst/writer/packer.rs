//! Decides the stored form of a block: compressed, or raw where that does not pay.
//!
//! A block is stored raw if compression is off, if it would not shrink below
//! `max_compressed_bytes_per_kb` of its size, or if it has 2 GiB or more. The rule and its counters are
//! RocksDB's (`num.data.blocks.compression.rejected` and `.bypassed`).

use base::{Error, Result};
use compress::{Compression, CompressionOptions};

/// Blocks from this size on are not compressed.
const SIZE_LIMIT: usize = i32::MAX as usize;

/// What became of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    /// The stored form is in the output, under this type byte.
    Compressed(u8),
    /// Compression was tried and did not pay.
    Rejected,
    /// It was not tried.
    Bypassed,
}

/// Compresses blocks one after another; one for each thread and dictionary.
pub(super) struct Packer {
    kind: Compression,
}

impl Packer {
    /// # Errors
    /// NotSupported if this build cannot compress that way.
    pub(super) fn new(kind: Compression, _options: &CompressionOptions) -> Result<Self> {
        if kind != Compression::None {
            return Err(Error::not_supported(format!("compression {}", kind.option_name())));
        }
        Ok(Packer { kind })
    }

    /// The kind that is tried.
    pub(super) fn kind(&self) -> Compression {
        self.kind
    }

    /// Compresses `payload` into `out`, whose contents are lost.
    pub(super) fn pack(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Packed> {
        out.clear();
        if self.kind == Compression::None || payload.len() >= SIZE_LIMIT {
            return Ok(Packed::Bypassed);
        }
        Ok(Packed::Rejected)
    }
}
