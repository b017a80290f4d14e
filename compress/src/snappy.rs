//! Snappy with the `snap` crate: raw blocks. The length at the start is part of Snappy's own format.

use base::Result;

use crate::Compression;
use crate::decompress::damaged;

pub(crate) struct Encoder(snap::raw::Encoder);

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder(snap::raw::Encoder::new())
    }

    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        payload.resize(snap::raw::max_compress_len(block.len()), 0);
        let Ok(len) = self.0.compress(block, payload) else { return Ok(false) };
        payload.truncate(len);
        Ok(len <= limit)
    }
}

pub(crate) fn decode(stream: &[u8], block: &mut [u8]) -> Result<()> {
    match snap::raw::Decoder::new().decompress(stream, block) {
        Ok(len) if len == block.len() => Ok(()),
        Ok(_) => Err(damaged(Compression::Snappy, "too short")),
        Err(error) => Err(damaged(Compression::Snappy, &error.to_string())),
    }
}
