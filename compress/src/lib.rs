//! One interface for every block compression of RocksDB.
//!
//! ```text
//! kind        the type byte, its names            options     CompressionOptions, RocksDB's defaults
//! compressor  from block to payload, or "not small enough"     decompress  from payload to block of known length
//! dict        a file's dictionary: digested once; made from samples
//! snappy zlib bzip2 lz4 zstd zstd_pure      one adapter each, in the feature of that name
//! ```
//! A payload is what a block contains before its type byte: for Snappy the raw stream, for all other types
//! the uncompressed size as a varint and then the stream. Before memory is allocated, the size is compared
//! with the largest output that the algorithm can produce. If the output has another size, the block is
//! corrupt.
//!
//! A type whose feature is off is rejected with a `NotSupported` error that contains the name of the feature.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

#[cfg(feature = "bzip2")]
mod bzip2;
mod compressor;
mod decompress;
mod dict;
mod kind;
#[cfg(feature = "lz4")]
mod lz4;
mod options;
#[cfg(any(feature = "lz4", feature = "snappy"))]
mod scratch;
#[cfg(feature = "snappy")]
mod snappy;
mod stream;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(all(feature = "zstd-pure", not(feature = "zstd")))]
#[path = "zstd_pure.rs"]
mod zstd;

pub use compressor::Compressor;
pub use decompress::{decompress, decompress_into, uncompressed_len};
pub use dict::{Dictionary, dict_sample_bytes_max, make_dict};
pub use kind::{Compression, supported};
pub use options::CompressionOptions;
pub use stream::{FrameDecoder, FrameEncoder, frames_supported};

/// Frees the buffers that this thread keeps between blocks and between tables. They have up to 768 KiB.
pub fn forget_spares() {
    #[cfg(feature = "zlib")]
    zlib::forget();
    #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
    zstd::forget();
}

#[cfg(test)]
mod tests;
