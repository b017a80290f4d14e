//! Snappy: raw blocks. The crate `snap` encodes, `kernel` decodes. The length at the start is part of Snappy's own format.

use base::Result;

use crate::Compression;
use crate::decompress::damaged;
use crate::scratch::{Scratch, append};

pub(crate) struct Encoder {
    inner: snap::raw::Encoder,
    scratch: Scratch,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { inner: snap::raw::Encoder::new(), scratch: Scratch::default() }
    }

    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        let output = self.scratch.room(snap::raw::max_compress_len(block.len()));
        let Ok(len) = self.inner.compress(block, output) else { return Ok(false) };
        Ok(append(payload, &output[..len], limit))
    }
}

pub(crate) fn decode(stream: &[u8], block: &mut [u8]) -> Result<()> {
    match kernel::snappy::decode(stream, block) {
        Some(len) if len == block.len() => Ok(()),
        Some(_) => Err(damaged(Compression::Snappy, "too short")),
        None => Err(damaged(Compression::Snappy, "the stream is corrupt, or longer than the payload states")),
    }
}
