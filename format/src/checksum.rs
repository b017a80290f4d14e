//! The checksum type of a table file, and how the position of a block changes the checksum of the block.
//!
//! A file has one checksum type; the footer stores it. The checksum functions are in `kernel::checksum`.
//! RocksDB source: `table/format.cc`.

use base::option::{Value, not_a};
use base::{Error, Result};

/// The checksum type of the blocks of a table file. The numbers are stored on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChecksumType {
    /// No checksum of the data. From format version 6 on, only the position of the block is checked.
    None = 0,
    /// Masked CRC-32C. The default of releases before 7.8.
    Crc32c = 1,
    /// XXH32 of the payload and the compression byte.
    XxHash = 2,
    /// The low 32 bits of XXH64 of the payload and the compression byte.
    XxHash64 = 3,
    /// Available since release 6.27. The default.
    #[default]
    Xxh3 = 4,
}

impl Value for ChecksumType {
    fn parse(text: &str) -> Result<Self> {
        ChecksumType::by_name(text.trim()).ok_or_else(|| not_a("checksum type", text))
    }

    fn print(&self) -> String {
        self.name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl ChecksumType {
    /// All checksum types in the order of their numbers on disk: the type at index `i` has number `i`.
    pub const ALL: [ChecksumType; 5] = [
        ChecksumType::None,
        ChecksumType::Crc32c,
        ChecksumType::XxHash,
        ChecksumType::XxHash64,
        ChecksumType::Xxh3,
    ];

    /// Returns the checksum type with this number on disk.
    ///
    /// # Errors
    /// Corruption if no release has ever written such a byte.
    pub fn from_u8(byte: u8) -> Result<Self> {
        match Self::ALL.get(usize::from(byte)) {
            Some(&kind) => Ok(kind),
            None => Err(Error::corruption(format!("unknown checksum type {byte}"))),
        }
    }

    /// Returns the name in option text.
    pub fn name(self) -> &'static str {
        match self {
            ChecksumType::None => "kNoChecksum",
            ChecksumType::Crc32c => "kCRC32c",
            ChecksumType::XxHash => "kxxHash",
            ChecksumType::XxHash64 => "kxxHash64",
            ChecksumType::Xxh3 => "kXXH3",
        }
    }

    /// Returns the type with this name in option text, for example `kXXH3`. The case of letters matters.
    /// Returns `None` for an unknown name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns the number that is added to the checksum of the block at `offset`. A block from a wrong offset or
/// a wrong file then fails its checksum. `base` is the base context checksum of the file
/// ([`crate::footer::Footer::base_context_checksum`]). If `base` is 0 (format versions below 6), the result
/// is 0.
#[inline]
pub fn context_modifier(base: u32, offset: u64) -> u32 {
    if base == 0 { 0 } else { base ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}
