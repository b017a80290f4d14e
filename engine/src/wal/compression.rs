//! Compressed WALs: makes the compressors and decompressors of WAL records. Only ZSTD has a stream form.

use base::{Error, Result};
use format::wal::{COMPRESSION_ZSTD, StreamCompressor, StreamDecompressor};

use super::MakeCompressor;
use crate::sync::Arc;

/// Compresses the records of one WAL.
struct RecordCompressor {
    frames: compress::FrameEncoder,
}

impl StreamCompressor for RecordCompressor {
    fn compress(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.frames.encode(record, out)
    }
}

/// Decompresses the records of one WAL.
struct RecordDecompressor {
    frames: compress::FrameDecoder,
}

impl StreamDecompressor for RecordDecompressor {
    fn reset(&mut self) {
        self.frames.reset();
    }

    fn decompress(&mut self, fragment: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.frames.decode(fragment, out)
    }
}

/// Returns the maker of compressors for new WALs.
pub fn compressor() -> MakeCompressor {
    Arc::new(|| Ok(Box::new(RecordCompressor { frames: compress::FrameEncoder::new()? })))
}

/// Makes the decompressor of a WAL whose compression has the number `kind` in RocksDB.
///
/// # Errors
/// NotSupported in a build without the C library of ZSTD.
pub fn decompressor(kind: u32) -> Result<Box<dyn StreamDecompressor>> {
    if kind != COMPRESSION_ZSTD {
        return Err(Error::not_supported(format!("wal_compression (a WAL compressed with type {kind})")));
    }
    Ok(Box::new(RecordDecompressor { frames: compress::FrameDecoder::new()? }))
}
