//! Compressed WALs: makes the compressors and decompressors of WAL records. Only ZSTD has a stream form.

use base::{Error, Result};
use format::wal::{COMPRESSION_ZSTD, StreamCompressor, StreamDecompressor};

use super::MakeCompressor;
use crate::sync::Arc;

/// Compresses the records of one WAL.
struct Frames(compress::FrameEncoder);

impl StreamCompressor for Frames {
    fn compress(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.0.encode(record, out)
    }
}

/// Decompresses the records of one WAL.
struct Pieces(compress::FrameDecoder);

impl StreamDecompressor for Pieces {
    fn reset(&mut self) {
        self.0.reset();
    }

    fn decompress(&mut self, fragment: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.0.decode(fragment, out)
    }
}

/// Returns the maker of compressors for new WALs.
pub fn compressor() -> MakeCompressor {
    Arc::new(|| Ok(Box::new(Frames(compress::FrameEncoder::new()?))))
}

/// Makes the decompressor of a WAL whose compression has the number `kind` in RocksDB.
///
/// # Errors
/// NotSupported in a build without the C library of ZSTD.
pub fn decompressor(kind: u32) -> Result<Box<dyn StreamDecompressor>> {
    if kind != COMPRESSION_ZSTD {
        return Err(Error::not_supported(format!("wal_compression (a WAL compressed with type {kind})")));
    }
    Ok(Box::new(Pieces(compress::FrameDecoder::new()?)))
}
