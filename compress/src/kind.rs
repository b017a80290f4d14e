//! The compression type: a byte on disk, a word in options, another word in table properties.

use std::fmt;

use base::{Error, Result};

/// How a block is compressed. The number is the block's type byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Compression {
    #[default]
    None = 0,
    Snappy = 1,
    Zlib = 2,
    Bzip2 = 3,
    Lz4 = 4,
    /// Another effort at LZ4's format; shares its decoder.
    Lz4hc = 5,
    /// Windows only; named in options and refused in data.
    Xpress = 6,
    Zstd = 7,
    /// "No such setting" in options (`bottommost_compression`); never on disk.
    Disabled = 0xff,
}

/// The type byte of `kZSTDNotFinalCompression`, the option of releases up to 9.11. Its blocks are ZSTD frames. Nothing
/// writes this byte today.
const ZSTD_NOT_FINAL: u8 = 0x40;

/// Byte, word in OPTIONS, word in properties of files before format_version 7, word of `db_bench`.
const NAMES: [(Compression, &str, &str, &str); 9] = [
    (Compression::None, "kNoCompression", "NoCompression", "none"),
    (Compression::Snappy, "kSnappyCompression", "Snappy", "snappy"),
    (Compression::Zlib, "kZlibCompression", "Zlib", "zlib"),
    (Compression::Bzip2, "kBZip2Compression", "BZip2", "bzip2"),
    (Compression::Lz4, "kLZ4Compression", "LZ4", "lz4"),
    (Compression::Lz4hc, "kLZ4HCCompression", "LZ4HC", "lz4hc"),
    (Compression::Xpress, "kXpressCompression", "Xpress", "xpress"),
    (Compression::Zstd, "kZSTD", "ZSTD", "zstd"),
    (Compression::Disabled, "kDisableCompressionOption", "DisableOption", "disable"),
];

impl Compression {
    /// The type behind a block's type byte.
    ///
    /// # Errors
    /// `NotSupported` for custom types (0x80 to 0xfe), `Corruption` for reserved bytes and 0xff.
    pub fn from_byte(byte: u8) -> Result<Compression> {
        match (Compression::from_u8(byte), byte) {
            (Some(kind), _) => Ok(kind),
            (None, 0x80..=0xfe) => {
                Err(Error::not_supported(format!("custom compression type 0x{byte:02x} in a block")))
            }
            (None, _) => Err(Error::corruption(format!("unknown compression type 0x{byte:02x} in a block"))),
        }
    }

    /// The types with a byte on disk, by that byte.
    pub const ALL: [Compression; 8] = [
        Compression::None,
        Compression::Snappy,
        Compression::Zlib,
        Compression::Bzip2,
        Compression::Lz4,
        Compression::Lz4hc,
        Compression::Xpress,
        Compression::Zstd,
    ];

    /// The type of a type byte, or `None` for one that no release has written by itself.
    #[inline]
    pub const fn from_u8(byte: u8) -> Option<Compression> {
        if byte == ZSTD_NOT_FINAL {
            return Some(Compression::Zstd);
        }
        if (byte as usize) < Self::ALL.len() { Some(Self::ALL[byte as usize]) } else { None }
    }

    /// The byte on disk.
    #[inline]
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// The word in OPTIONS files: `kSnappyCompression`.
    pub fn option_name(self) -> &'static str {
        self.names().1
    }

    /// The word in the table property `rocksdb.compression` before format_version 7: `Snappy`.
    pub fn name(self) -> &'static str {
        self.names().2
    }

    /// The word on `db_bench`'s command line: `snappy`.
    pub fn flag_name(self) -> &'static str {
        self.names().3
    }

    /// The type an OPTIONS word names.
    pub fn by_option_name(name: &str) -> Option<Compression> {
        // Older OPTIONS files say kZSTDNotFinalCompression for the same frames.
        let name = if name == "kZSTDNotFinalCompression" { "kZSTD" } else { name };
        NAMES.iter().find(|names| names.1 == name).map(|names| names.0)
    }

    /// The type a table property names.
    pub fn by_name(name: &str) -> Option<Compression> {
        // Releases up to 9.11 write this name for the type byte 0x40. The blocks are ZSTD frames.
        let name = if name == "ZSTDNotFinal" { "ZSTD" } else { name };
        NAMES.iter().find(|names| names.2 == name).map(|names| names.0)
    }

    /// The type a `db_bench` flag names, in any case.
    pub fn by_flag_name(name: &str) -> Option<Compression> {
        NAMES.iter().find(|names| names.3.eq_ignore_ascii_case(name)).map(|names| names.0)
    }

    fn names(self) -> &'static (Compression, &'static str, &'static str, &'static str) {
        NAMES.iter().find(|names| names.0 == self).unwrap_or(&NAMES[0])
    }

    /// Whether this build can read and write it.
    pub const fn is_supported(self) -> bool {
        match self {
            Compression::None => true,
            Compression::Snappy => cfg!(feature = "snappy"),
            Compression::Zlib => cfg!(feature = "zlib"),
            Compression::Bzip2 => cfg!(feature = "bzip2"),
            Compression::Lz4 | Compression::Lz4hc => cfg!(feature = "lz4"),
            Compression::Zstd => cfg!(any(feature = "zstd", feature = "zstd-pure")),
            Compression::Xpress | Compression::Disabled => false,
        }
    }

    /// The refusal of a type that this build cannot handle.
    #[cold]
    pub(crate) fn not_supported(self) -> Error {
        Error::not_supported(match self {
            Compression::Xpress => "Xpress compression exists on Windows only".to_string(),
            Compression::Disabled => "kDisableCompressionOption is not a compression".to_string(),
            _ => format!(
                "{} compression: built without the feature `{}`",
                self.name(),
                match self {
                    Compression::Lz4hc => "lz4",
                    _ => self.flag_name(),
                }
            ),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The types this build can read and write, in order of their bytes, `None` included.
pub fn supported() -> Vec<Compression> {
    NAMES.iter().map(|names| names.0).filter(|kind| kind.is_supported()).collect()
}
