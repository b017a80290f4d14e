//! One face over every block compression RocksDB knows.

#![forbid(unsafe_code)]

mod kind;
mod options;

pub use kind::Compression;
pub use options::CompressionOptions;
