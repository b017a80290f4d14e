//! Blocks to payloads. One `Compressor` for each thread that writes a file; its contexts, hash tables and
//! digested dictionary live as long as it does, so that a block costs no allocation.

use base::coding::put_varint32;
use base::{Error, Result};

use crate::{Compression, CompressionOptions};

/// Compresses blocks one way.
pub struct Compressor {
    stored: Compression,
    options: CompressionOptions,
    encoder: Encoder,
}

#[allow(clippy::large_enum_variant)] // One a writer; a box would cost a hop a block.
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
    /// A compressor of `kind`. `dict` is the file's dictionary for its data blocks; Snappy and BZip2 have no
    /// use for one and ignore it, as RocksDB does.
    ///
    /// # Errors
    /// `NotSupported` when this build lacks the type.
    pub fn new(kind: Compression, options: &CompressionOptions, dict: Option<&[u8]>) -> Result<Compressor> {
        let dict = dict.filter(|dict| !dict.is_empty());
        #[allow(unused_mut)] // Only LZ4 changes it.
        let mut stored = kind;
        let encoder = match kind {
            Compression::None => Encoder::None,
            #[cfg(feature = "snappy")]
            Compression::Snappy => Encoder::Snappy(crate::snappy::Encoder::new()),
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

    /// The type to store beside the payloads: LZ4 and LZ4HC say which of them worked, the level decides.
    pub fn stored_kind(&self) -> Compression {
        self.stored
    }

    /// Replaces `payload` by the compressed form of `block` and answers true; or answers false when that
    /// would not be short enough to be worth it (then `payload` is scratch and the block is stored raw).
    ///
    /// # Errors
    /// Only where the library itself fails, which it has no cause to.
    pub fn compress(&mut self, block: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        let limit = self.options.limit(block.len());
        self.compress_within(block, payload, limit)
    }

    /// Replaces `payload` by the compressed form of `block`, even if the compressed form is longer: blob files store
    /// one compression type for all their values.
    ///
    /// # Errors
    /// `InvalidArgument` if `block` has 2 GiB or more, or the library fails.
    pub fn compress_always(&mut self, block: &[u8], payload: &mut Vec<u8>) -> Result<()> {
        // More than any format adds to bytes that do not compress: bzip2 adds the most, 1 % and 600 bytes.
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
