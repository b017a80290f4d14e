//! The last bytes of a table file. They contain the kind of the table and the position of the metaindex.
//!
//! ```text
//! version 0 (48 bytes: plain tables)       versions 1 to 5 (53 bytes)
//!  0..40  metaindex, index handles, zeros   0       u8 checksum type
//! 40..48  u64 legacy magic                  1..41   metaindex, index handles, zeros
//!                                          41..45   u32 format version
//! versions 6 and 7 (53 bytes)              45..53   u64 magic
//!  0      u8 checksum type
//!  1..5   3e 00 7a 00
//!  5..9   u32 checksum of the footer, with these four bytes as zeros
//!  9..13  u32 base context checksum, not zero
//! 13..17  u32 metaindex payload size; the block ends where the footer starts
//! 17..33  zeros, not checked
//! 33..41  zeros; anything else is a feature of the future and refused
//! 41..45  u32 format version
//! 45..53  u64 magic
//! ```
//! RocksDB source: `table/format.cc`.

use base::coding::{Cursor, get_u32, get_u64};
use base::{Error, Result};

use crate::checksum::{ChecksumType, context_modifier};
use crate::handle::BlockHandle;
use crate::trailer;

#[cfg(test)]
mod tests;

/// The size in bytes of a footer of version 1 and later. Read this many bytes from the end of a file.
pub const LEN: usize = 53;
/// The size in bytes of a footer of version 0. No table file is shorter.
pub const LEN_VERSION_0: usize = 48;

/// The newest format version.
pub const FORMAT_VERSION_MAX: u32 = 7;
/// The oldest format version of a block-based table that can be read.
pub const FORMAT_VERSION_MIN: u32 = 2;

const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// The kind of a table file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Sorted blocks with an index: the default of RocksDB and Ironstone.
    BlockBased,
    /// Block-based of version 0; last written by release 2.
    BlockBasedLegacy,
    /// RocksDB's plain table. New plain tables have the number of [`TableKind::PlainLegacy`].
    Plain,
    /// Still used for new plain tables.
    PlainLegacy,
    /// RocksDB's cuckoo hash table.
    Cuckoo,
}

impl TableKind {
    const MAGIC: [(TableKind, u64); 5] = [
        (TableKind::BlockBased, 0x88e2_41b7_85f4_cff7),
        (TableKind::BlockBasedLegacy, 0xdb47_7524_8b80_fb57),
        (TableKind::Plain, 0x8242_2296_63bf_9564),
        (TableKind::PlainLegacy, 0x4f34_18eb_7a8f_13b8),
        (TableKind::Cuckoo, 0x9267_89d0_c5f1_7873),
    ];

    /// Returns the number in the last eight bytes of a file of this kind.
    pub fn magic(self) -> u64 {
        Self::MAGIC.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, magic)| *magic)
    }

    /// Returns the kind of a table file from the last eight bytes of the file. Returns `None` for a number of
    /// no kind.
    pub(crate) fn by_magic(magic: u64) -> Option<TableKind> {
        Self::MAGIC.iter().find(|(_, m)| *m == magic).map(|(kind, _)| *kind)
    }

    fn is_legacy(self) -> bool {
        matches!(self, TableKind::BlockBasedLegacy | TableKind::PlainLegacy)
    }
}

/// A decoded footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The kind of table, from the last eight bytes of the file.
    pub kind: TableKind,
    /// The format version of the table.
    pub format_version: u32,
    /// The checksum type of all blocks of the file.
    pub checksum: ChecksumType,
    /// Combined with the position of a block and added to the checksum of the block; 0 below version 6.
    pub base_context_checksum: u32,
    /// The position of the metaindex block.
    pub metaindex: BlockHandle,
    /// `None` from version 6 on: the metaindex contains the position of the index.
    pub index: Option<BlockHandle>,
}

impl Footer {
    /// Decodes the footer from `tail`, the last bytes of a file of `file_size` bytes. `tail` has at least
    /// [`LEN`] bytes, or it is the whole file if the file is shorter.
    ///
    /// # Errors
    /// Corruption if this is not a footer or the footer contradicts itself. NotSupported if the version is
    /// too new.
    pub fn decode(tail: &[u8], file_size: u64) -> Result<Footer> {
        let too_short =
            || Error::corruption(format!("file is too short ({file_size} bytes) to be an sstable"));
        let at = |len: usize| file_size.checked_sub(len as u64).ok_or_else(too_short);
        let magic = tail.len().checked_sub(8).and_then(|n| get_u64(tail, n)).ok_or_else(too_short)?;
        let Some(kind) = TableKind::by_magic(magic) else {
            return Err(Error::corruption(format!(
                "bad table magic number: expected {:#x}, found {magic:#x}",
                TableKind::BlockBased.magic()
            ))
            .at(file_size.saturating_sub(8)));
        };
        if kind.is_legacy() {
            let bytes = tail.last_chunk::<LEN_VERSION_0>().ok_or_else(too_short)?;
            let footer = Footer {
                kind,
                format_version: 0,
                checksum: ChecksumType::Crc32c,
                base_context_checksum: 0,
                metaindex: BlockHandle::NULL,
                index: None,
            };
            return footer.with_handles(&bytes[..40]).map_err(|e| e.at(file_size - LEN_VERSION_0 as u64));
        }
        let bytes = tail.last_chunk::<LEN>().ok_or_else(too_short)?;
        let offset = at(LEN)?;
        Footer::decode_53(kind, bytes, offset).map_err(|e| e.at(offset))
    }

    fn decode_53(kind: TableKind, bytes: &[u8; LEN], offset: u64) -> Result<Footer> {
        let word = |at: usize| get_u32(bytes, at).unwrap_or_default();
        let format_version = word(41);
        if format_version == 0 || format_version > FORMAT_VERSION_MAX {
            return Err(Error::corruption(format!("corrupt or unsupported format_version {format_version}")));
        }
        let mut footer = Footer {
            kind,
            format_version,
            checksum: ChecksumType::from_u8(bytes[0])?,
            base_context_checksum: 0,
            metaindex: BlockHandle::NULL,
            index: None,
        };
        if format_version < 6 {
            return footer.with_handles(&bytes[1..41]);
        }
        if bytes[1..5] != EXTENDED_MAGIC {
            return Err(Error::corruption(format!("bad extended magic number {:02x?}", &bytes[1..5])));
        }
        footer.base_context_checksum = word(9);
        if footer.base_context_checksum == 0 {
            return Err(Error::corruption("invalid base context checksum 0"));
        }
        let (stored, computed) = (word(5), footer.own_checksum(bytes, offset));
        if stored != computed {
            return Err(Error::corruption(format!(
                "footer checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
            )));
        }
        if bytes[33..41] != [0; 8] {
            return Err(Error::not_supported("a table footer with a feature of a later release"));
        }
        let size = u64::from(word(13));
        let Some(start) = offset.checked_sub(size + trailer::LEN as u64) else {
            return Err(Error::corruption(format!("metaindex block of {size} bytes does not fit the file")));
        };
        footer.metaindex = BlockHandle::new(start, size);
        Ok(footer)
    }

    fn with_handles(mut self, bytes: &[u8]) -> Result<Footer> {
        let mut cursor = Cursor::new(bytes);
        self.metaindex = BlockHandle::decode(&mut cursor)?;
        self.index = Some(BlockHandle::decode(&mut cursor)?);
        Ok(self)
    }

    fn own_checksum(&self, bytes: &[u8; LEN], offset: u64) -> u32 {
        let mut blank = *bytes;
        blank[5..9].fill(0);
        trailer::checksum(self.checksum, &blank)
            .wrapping_add(context_modifier(self.base_context_checksum, offset))
    }

    /// Returns the bytes of this footer for a file in which it starts at `offset`. From version 6 on only the
    /// size of the metaindex is stored, so the metaindex must end at `offset`.
    pub fn encode(&self, offset: u64) -> Vec<u8> {
        let mut handles = Vec::with_capacity(40);
        if self.format_version < 6 {
            self.metaindex.encode(&mut handles);
            self.index.unwrap_or(BlockHandle::NULL).encode(&mut handles);
            handles.resize(40, 0);
        }
        if self.kind.is_legacy() {
            handles.extend_from_slice(&self.kind.magic().to_le_bytes());
            return handles;
        }
        let mut bytes = [0; LEN];
        bytes[0] = self.checksum as u8;
        bytes[41..45].copy_from_slice(&self.format_version.to_le_bytes());
        bytes[45..53].copy_from_slice(&self.kind.magic().to_le_bytes());
        if self.format_version < 6 {
            bytes[1..41].copy_from_slice(&handles);
            return bytes.to_vec();
        }
        debug_assert_eq!(self.metaindex.end(), offset, "the metaindex ends where the footer starts");
        bytes[1..5].copy_from_slice(&EXTENDED_MAGIC);
        bytes[9..13].copy_from_slice(&self.base_context_checksum.to_le_bytes());
        bytes[13..17].copy_from_slice(&(self.metaindex.size as u32).to_le_bytes());
        let sum = self.own_checksum(&bytes, offset);
        bytes[5..9].copy_from_slice(&sum.to_le_bytes());
        bytes.to_vec()
    }
}
