//! BZip2 with the `bzip2` crate and `libbz2-rs`. Each block is one complete stream with level 1 and work
//! factor 30, as RocksDB writes them.

use base::Result;
use bzip2::{Action, Compress, Decompress, Status};

use crate::Compression;
use crate::decompress::damaged;

/// The encoder has no state: a stream cannot be reset, so each block creates its own stream.
pub(crate) struct Encoder;

impl Encoder {
    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        let mut stream = Compress::new(bzip2::Compression::fast(), 30);
        let start = payload.len();
        payload.resize(limit, 0);
        let status = stream.compress(block, &mut payload[start..], Action::Finish);
        payload.truncate(start + stream.total_out() as usize);
        Ok(matches!(status, Ok(Status::StreamEnd)))
    }
}

pub(crate) fn decode(stream: &[u8], block: &mut [u8]) -> Result<()> {
    let mut decoder = Decompress::new(false);
    let status =
        decoder.decompress(stream, block).map_err(|error| damaged(Compression::Bzip2, &error.to_string()))?;
    // If a stream ends exactly at the end of the buffer, the decoder may report the end only in one more
    // call.
    let ended = status == Status::StreamEnd
        || (decoder.total_out() == block.len() as u64
            && matches!(
                decoder.decompress(&stream[(decoder.total_in() as usize).min(stream.len())..], &mut []),
                Ok(Status::StreamEnd)
            ));
    if ended && decoder.total_out() == block.len() as u64 {
        return Ok(());
    }
    Err(damaged(Compression::Bzip2, "the stream does not end at the length that the payload states"))
}
