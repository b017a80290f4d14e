//! The compression type. It is a byte on disk, and it has one name in options and another name in table
//! properties.

use std::fmt;

use base::{Error, Result};

/// The compression of a block. The number is the type byte of the block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Compression {
    #[default]
    None = 0,
    Snappy = 1,
    Zlib = 2,
    Bzip2 = 3,
    Lz4 = 4,
    /// The same format as LZ4 and the same decoder, but another encoder.
    Lz4hc = 5,
    /// Exists on Windows only. The name is accepted in options; data with this type is rejected.
    Xpress = 6,
    Zstd = 7,
    /// "Not set" in options (`bottommost_compression`). Never on disk.
    Disabled = 0xff,
}

/// The type byte of `kZSTDNotFinalCompression`, the option of releases up to 9.11. Its blocks are ZSTD frames. Nothing
/// writes this byte today.
const ZSTD_NOT_FINAL: u8 = 0x40;

/// For each type: the type, the name in OPTIONS files, the name in properties of files before format_version
/// 7, and the name in `db_bench`.
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
    /// Returns the compression type of a block's type byte.
    ///
    /// # Errors
    /// `NotSupported` for custom types (0x80 to 0xfe). `Corruption` for reserved bytes and 0xff.
    pub fn from_byte(byte: u8) -> Result<Compression> {
        match (Compression::from_u8(byte), byte) {
            (Some(kind), _) => Ok(kind),
            (None, 0x80..=0xfe) => {
                Err(Error::not_supported(format!("custom compression type 0x{byte:02x} in a block")))
            }
            (None, _) => Err(Error::corruption(format!("unknown compression type 0x{byte:02x} in a block"))),
        }
    }

    /// The types that exist on disk. The index is the type byte.
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

    /// Returns the compression type of a type byte. Returns `None` for a byte that no release writes without
    /// custom compression.
    #[inline]
    pub const fn from_u8(byte: u8) -> Option<Compression> {
        if byte == ZSTD_NOT_FINAL {
            return Some(Compression::Zstd);
        }
        if (byte as usize) < Self::ALL.len() { Some(Self::ALL[byte as usize]) } else { None }
    }

    /// Returns the byte on disk.
    #[inline]
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the name in OPTIONS files, for example `kSnappyCompression`.
    pub fn option_name(self) -> &'static str {
        self.names().1
    }

    /// Returns the name in the table property `rocksdb.compression` before format_version 7, for example
    /// `Snappy`.
    pub fn name(self) -> &'static str {
        self.names().2
    }

    /// Returns the name on the command line of `db_bench`, for example `snappy`.
    pub fn flag_name(self) -> &'static str {
        self.names().3
    }

    /// Returns the type with this name in OPTIONS files.
    pub fn by_option_name(name: &str) -> Option<Compression> {
        // Older OPTIONS files have the name kZSTDNotFinalCompression for the same frames.
        let name = if name == "kZSTDNotFinalCompression" { "kZSTD" } else { name };
        NAMES.iter().find(|names| names.1 == name).map(|names| names.0)
    }

    /// Returns the type with this name in table properties.
    pub fn by_name(name: &str) -> Option<Compression> {
        // Releases up to 9.11 write this name for the type byte 0x40. The blocks are ZSTD frames.
        let name = if name == "ZSTDNotFinal" { "ZSTD" } else { name };
        NAMES.iter().find(|names| names.2 == name).map(|names| names.0)
    }

    /// Returns the type with this name on the command line of `db_bench`. Upper case and lower case are the
    /// same.
    pub fn by_flag_name(name: &str) -> Option<Compression> {
        NAMES.iter().find(|names| names.3.eq_ignore_ascii_case(name)).map(|names| names.0)
    }

    fn names(self) -> &'static (Compression, &'static str, &'static str, &'static str) {
        NAMES.iter().find(|names| names.0 == self).unwrap_or(&NAMES[0])
    }

    /// Returns true if this build can read and write the type.
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

    /// Returns the error for a type that this build does not contain.
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

/// Returns the types that this build can read and write, ordered by type byte, including `None`.
pub fn supported() -> Vec<Compression> {
    NAMES.iter().map(|names| names.0).filter(|kind| kind.is_supported()).collect()
}
