//! The kinds of compression: their numbers on disk and their names.

/// How a block is compressed. The numbers are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Compression {
    #[default]
    None = 0,
    Snappy = 1,
    Zlib = 2,
    Bzip2 = 3,
    Lz4 = 4,
    Lz4hc = 5,
    /// Windows only.
    Xpress = 6,
    Zstd = 7,
}

impl Compression {
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

    /// The kind of a type byte, or `None` for one that no release has written by itself.
    #[inline]
    pub const fn from_u8(byte: u8) -> Option<Compression> {
        if (byte as usize) < Self::ALL.len() { Some(Self::ALL[byte as usize]) } else { None }
    }

    /// The word in option text: `kSnappyCompression`.
    pub const fn option_name(self) -> &'static str {
        match self {
            Compression::None => "kNoCompression",
            Compression::Snappy => "kSnappyCompression",
            Compression::Zlib => "kZlibCompression",
            Compression::Bzip2 => "kBZip2Compression",
            Compression::Lz4 => "kLZ4Compression",
            Compression::Lz4hc => "kLZ4HCCompression",
            Compression::Xpress => "kXpressCompression",
            Compression::Zstd => "kZSTD",
        }
    }

    pub fn by_option_name(name: &str) -> Option<Compression> {
        Self::ALL.into_iter().find(|kind| kind.option_name() == name)
    }

    /// The word in table properties below format version 7, in tools and in the LOG: `Snappy`.
    pub const fn name(self) -> &'static str {
        match self {
            Compression::None => "NoCompression",
            Compression::Snappy => "Snappy",
            Compression::Zlib => "Zlib",
            Compression::Bzip2 => "BZip2",
            Compression::Lz4 => "LZ4",
            Compression::Lz4hc => "LZ4HC",
            Compression::Xpress => "Xpress",
            Compression::Zstd => "ZSTD",
        }
    }

    pub fn by_name(name: &str) -> Option<Compression> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
