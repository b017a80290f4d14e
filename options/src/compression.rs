//! Compression types, as options name them.

use base::option::{Value, not_a};
use base::{Error, Result};
use compress::Compression;
pub use compress::CompressionOptions;

/// RocksDB's number of a compression type: built in, custom (0x80 to 0xFE), or "no choice made" (0xFF).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompressionType(pub u8);

impl CompressionType {
    /// Blocks are not compressed (`kNoCompression`).
    pub const NONE: CompressionType = CompressionType(0);
    /// Snappy (`kSnappyCompression`).
    pub const SNAPPY: CompressionType = CompressionType(1);
    /// Zlib (`kZlibCompression`).
    pub const ZLIB: CompressionType = CompressionType(2);
    /// Bzip2 (`kBZip2Compression`).
    pub const BZIP2: CompressionType = CompressionType(3);
    /// LZ4 (`kLZ4Compression`).
    pub const LZ4: CompressionType = CompressionType(4);
    /// LZ4 in its slow and strong mode (`kLZ4HCCompression`). The blocks have the format of LZ4.
    pub const LZ4HC: CompressionType = CompressionType(5);
    /// Xpress (`kXpressCompression`), which RocksDB supports only on Windows.
    pub const XPRESS: CompressionType = CompressionType(6);
    /// Zstandard (`kZSTD`).
    pub const ZSTD: CompressionType = CompressionType(7);
    /// The value of `bottommost_compression` that applies the compression of the other levels.
    pub const DISABLE: CompressionType = CompressionType(0xFF);

    /// Returns RocksDB's number of the compression type.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    const BUILT_IN: [(u8, &'static str); 9] = [
        (0, "kNoCompression"),
        (1, "kSnappyCompression"),
        (2, "kZlibCompression"),
        (3, "kBZip2Compression"),
        (4, "kLZ4Compression"),
        (5, "kLZ4HCCompression"),
        (6, "kXpressCompression"),
        (7, "kZSTD"),
        (0xFF, "kDisableCompressionOption"),
    ];

    /// Returns the compression of this number.
    ///
    /// # Errors
    /// NotSupported for a custom compression, and for a compression that this build lacks. The error has the name.
    pub fn kind(self) -> Result<Compression> {
        match Compression::from_u8(self.0) {
            Some(kind) if kind.is_supported() => Ok(kind),
            _ => Err(Error::not_supported(format!("Compression type {}", self.print()))),
        }
    }

    /// Returns RocksDB's word in the info log: `LZ4`, `NoCompression`.
    pub fn log_name(self) -> String {
        match Compression::from_u8(self.0) {
            Some(kind) => kind.name().to_string(),
            None if self == CompressionType::DISABLE => Compression::Disabled.name().to_string(),
            None => format!("Custom{:02X}", self.0),
        }
    }

    /// Returns the built-in compression with this word in the info log. The inverse of [`CompressionType::log_name`].
    pub fn by_log_name(name: &str) -> Option<CompressionType> {
        let mut built_in = Self::BUILT_IN.iter().map(|(byte, _)| CompressionType(*byte));
        built_in.find(|compression| compression.log_name() == name)
    }

    /// Returns true if only a custom compression manager can make this compression.
    pub fn is_custom(self) -> bool {
        (0x80..0xFF).contains(&self.0)
    }
}

impl Value for CompressionType {
    fn parse(text: &str) -> Result<Self> {
        let word = text.trim();
        if let Some((byte, _)) = Self::BUILT_IN.iter().find(|(_, name)| *name == word) {
            return Ok(CompressionType(*byte));
        }
        if word == "kZSTDNotFinalCompression" {
            return Ok(CompressionType::ZSTD);
        }
        let custom = word.strip_prefix("kCustomCompression").filter(|hex| hex.len() == 2);
        match custom.and_then(|hex| u8::from_str_radix(hex, 16).ok()).map(CompressionType) {
            Some(custom) if custom.is_custom() => Ok(custom),
            _ => Err(not_a("compression type", text)),
        }
    }

    fn print(&self) -> String {
        match Self::BUILT_IN.iter().find(|(byte, _)| *byte == self.0) {
            Some((_, name)) => (*name).to_string(),
            None => format!("kCustomCompression{:02X}", self.0),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
