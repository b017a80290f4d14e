//! Snappy: raw blocks. `kernel` encodes and decodes. The length at the start is part of Snappy's own format.

use base::Result;

use crate::Compression;
use crate::decompress::damaged;
use crate::scratch::{Scratch, append};

#[derive(Default)]
pub(crate) struct Encoder {
    inner: kernel::snappy::Encoder,
    scratch: Scratch,
}

impl Encoder {
    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        // A longer output is not needed, so the encoder stops if the output becomes longer.
        let output = self.scratch.room(limit.min(kernel::snappy::encoded_len_max(block.len())));
        let Some(len) = self.inner.encode(block, output) else { return Ok(false) };
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
