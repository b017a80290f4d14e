//! Which checksum guards the blocks of a file, and how the place of a block enters into it.
//!
//! Facts: RocksDB `table/format.cc`. One kind a file, named by the footer. The sums themselves are in
//! `kernel::checksum`.

use base::option::{Value, not_a};
use base::{Error, Result};

/// How the blocks of a table file are checksummed. The numbers are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChecksumType {
    /// Nothing is checked but, since format version 6, the place.
    None = 0,
    /// Masked CRC-32C. The default of releases before 7.8.
    Crc32c = 1,
    XxHash = 2,
    XxHash64 = 3,
    /// Since release 6.27. The default.
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
    pub const ALL: [ChecksumType; 5] = [
        ChecksumType::None,
        ChecksumType::Crc32c,
        ChecksumType::XxHash,
        ChecksumType::XxHash64,
        ChecksumType::Xxh3,
    ];

    /// # Errors
    /// Corruption if no release has written such a byte.
    pub fn from_u8(byte: u8) -> Result<Self> {
        match Self::ALL.get(usize::from(byte)) {
            Some(&kind) => Ok(kind),
            None => Err(Error::corruption(format!("unknown checksum type {byte}"))),
        }
    }

    /// The word in option text.
    pub fn name(self) -> &'static str {
        match self {
            ChecksumType::None => "kNoChecksum",
            ChecksumType::Crc32c => "kCRC32c",
            ChecksumType::XxHash => "kxxHash",
            ChecksumType::XxHash64 => "kxxHash64",
            ChecksumType::Xxh3 => "kXXH3",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns the number that is added to the checksum of the block at `offset`. A block from a wrong offset or a wrong
/// file then fails its checksum. `base` is the number of the file. If `base` is 0 (format versions below 6), the result
/// is 0.
#[inline]
pub fn context_modifier(base: u32, offset: u64) -> u32 {
    if base == 0 { 0 } else { base ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}
