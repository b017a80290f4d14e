//! Compressors: from blocks to payloads. Each thread that writes a file has its own `Compressor`. The
//! contexts, hash tables and the digested dictionary live as long as the compressor, so compressing a block
//! allocates no memory.

use base::coding::put_varint32;
use base::{Error, Result};

use crate::{Compression, CompressionOptions};

/// Compresses blocks with one compression type and one set of options.
pub struct Compressor {
    stored: Compression,
    options: CompressionOptions,
    encoder: Encoder,
}

#[allow(clippy::large_enum_variant)] // A writer has only one; a box would cost a pointer access per block.
enum Encoder {
    None,
    #[cfg(feature = "snappy")]
    Snappy(crate::snappy::Encoder),
    #[cfg(feature = "zlib")]
    Zlib(crate::zlib::Encoder),
    #[cfg(feature = "bzip2")]
    Bzip2(crate::bzip2::Encoder),
    #[cfg(feature = "lz4")]
    Lz4(Box<crate::lz4::Encoder>),
    #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
    Zstd(crate::zstd::Encoder),
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compressor({})", self.stored)
    }
}

impl Compressor {
    /// Creates a compressor of type `kind`. `dict` is the file's dictionary for data blocks. Snappy and BZip2
    /// cannot use a dictionary and ignore it, as RocksDB does.
    ///
    /// # Errors
    /// `NotSupported` if this build does not contain the compression type.
    pub fn new(kind: Compression, options: &CompressionOptions, dict: Option<&[u8]>) -> Result<Compressor> {
        let dict = dict.filter(|dict| !dict.is_empty());
        #[allow(unused_mut)] // Only LZ4 changes it.
        let mut stored = kind;
        let encoder = match kind {
            Compression::None => Encoder::None,
            #[cfg(feature = "snappy")]
            Compression::Snappy => Encoder::Snappy(crate::snappy::Encoder::default()),
            #[cfg(feature = "zlib")]
            Compression::Zlib => Encoder::Zlib(crate::zlib::Encoder::new(options, dict)),
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => Encoder::Bzip2(crate::bzip2::Encoder),
            #[cfg(feature = "lz4")]
            Compression::Lz4 | Compression::Lz4hc => {
                let encoder = crate::lz4::Encoder::new(kind, options, dict);
                stored = encoder.stored();
                Encoder::Lz4(Box::new(encoder))
            }
            #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
            Compression::Zstd => Encoder::Zstd(crate::zstd::Encoder::new(options, dict)?),
            #[allow(unreachable_patterns)]
            _ => return Err(kind.not_supported()),
        };
        let _ = dict;
        Ok(Compressor { stored, options: *options, encoder })
    }

    /// Returns the type to store with the payloads. For LZ4 and LZ4HC, the level selects one of these two types.
    pub fn stored_kind(&self) -> Compression {
        self.stored
    }

    /// Replaces `payload` with the compressed form of `block` and returns true. Returns false if the
    /// compressed form is not small enough; `payload` then has no meaning, and the block must be stored
    /// uncompressed.
    ///
    /// # Errors
    /// An error of the library. It has no known cause.
    pub fn compress(&mut self, block: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        let limit = self.options.limit(block.len());
        self.compress_within(block, payload, limit)
    }

    /// Replaces `payload` with the compressed form of `block`, even if the compressed form is longer. A blob file
    /// stores one compression type for all of its values, so the writer of blob files calls this method.
    ///
    /// # Errors
    /// `InvalidArgument` if `block` has 2 GiB or more, or the library fails.
    pub fn compress_always(&mut self, block: &[u8], payload: &mut Vec<u8>) -> Result<()> {
        // This is more than any format adds to incompressible bytes. bzip2 adds the most: 1 % and 600 bytes.
        let limit = block.len() + block.len() / 32 + 1024;
        if self.compress_within(block, payload, limit)? {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("{} cannot compress {} bytes", self.stored, block.len())))
    }

    fn compress_within(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        payload.clear();
        if block.len() >= i32::MAX as usize || limit == 0 {
            return Ok(false);
        }
        #[cfg(feature = "snappy")]
        if let Encoder::Snappy(encoder) = &mut self.encoder {
            return encoder.encode(block, payload, limit);
        }
        if limit <= 5 {
            return Ok(false);
        }
        put_varint32(payload, block.len() as u32);
        match &mut self.encoder {
            Encoder::None => Ok(false),
            #[cfg(feature = "snappy")]
            Encoder::Snappy(_) => Ok(false),
            #[cfg(feature = "zlib")]
            Encoder::Zlib(encoder) => encoder.encode(block, payload, limit),
            #[cfg(feature = "bzip2")]
            Encoder::Bzip2(encoder) => encoder.encode(block, payload, limit),
            #[cfg(feature = "lz4")]
            Encoder::Lz4(encoder) => encoder.encode(block, payload, limit),
            #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
            Encoder::Zstd(encoder) => encoder.encode(block, payload, limit),
        }
    }
}
