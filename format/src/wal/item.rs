//! The options of a reader, and the items that it returns.

use base::{FamilyId, Result, WalNumber};

use super::{Predecessor, StreamDecompressor};

/// The bytes of a WAL or MANIFEST.
pub trait Source {
    /// Fills `buf` from `offset`. Returns fewer bytes only at the end of the file.
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize>;
}

impl Source for &[u8] {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// The options to read a WAL or MANIFEST.
pub struct ReaderOptions {
    /// The number of the WAL. Recyclable records with another number belong to an older WAL. Default 0.
    pub wal_number: WalNumber,
    /// True if checksums are verified. Default true.
    pub verify_checksums: bool,
    /// Makes the decompressor when the WAL announces a compression, with RocksDB's number of the compression.
    /// `None`: a compressed file is corruption, as in a MANIFEST.
    pub decompressor: Option<MakeDecompressor>,
}

type MakeDecompressor = Box<dyn Fn(u32) -> Result<Box<dyn StreamDecompressor>> + Send>;

impl Default for ReaderOptions {
    fn default() -> Self {
        ReaderOptions { wal_number: WalNumber::ZERO, verify_checksums: true, decompressor: None }
    }
}

/// The next item in a WAL or MANIFEST.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'r> {
    /// A whole logical record. `offset` is the start of its first physical record, and `end` is the end of
    /// its last physical record, in bytes from the start of the file.
    Record { bytes: &'r [u8], offset: u64, end: u64 },
    /// From here on, the keys of these column families have timestamps of these sizes. The reader has checked
    /// that no size is 0 and that no column family is announced twice.
    TimestampSizes { sizes: Vec<(FamilyId, u16)>, offset: u64 },
    /// The end of the previous WAL. The caller compares it with the previous WAL.
    Predecessor { info: Predecessor, offset: u64 },
    /// The file ends within a record, because of a crash or because the file was cut. `record_offset` is the
    /// start of the logical record, and `dropped` is the number of its bytes that are lost. Only
    /// [`Item::EndOfLog`] follows.
    TornTail { offset: u64, record_offset: u64, dropped: u64, kind: TailKind },
    /// A record of an older WAL in a recycled file. It is the end of this WAL, unless the caller continues to
    /// read after it. `dropped` is the number of bytes of an unfinished record before it.
    OldRecord { offset: u64, dropped: u64 },
    /// A hole: zero bytes before a whole record. No writer leaves such zeros, so a power failure or damage
    /// removed the records at this place. The caller may continue to read: the next item is the record
    /// after the hole. RocksDB skips a hole without a message.
    Hole { offset: u64 },
    /// Bytes that are not a valid record. The caller may continue to read after them, usually at the next
    /// block.
    Corruption(Damage),
    /// The file has no more items. [`super::Reader::rewind`] resets this.
    EndOfLog,
}

/// The text that describes an [`Item::Hole`].
pub const HOLE: &str = "zeros in the middle of the file";

/// How the last record is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// The file ends within a header.
    Header,
    /// The payload would end after the end of the file.
    Body,
    /// The file ends after a First or Middle fragment.
    MissingEnd,
}

/// What is wrong, where it is, and how much is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the corrupt physical record in the file.
    pub offset: u64,
    /// Number of lost bytes: the rest of the block, or the fragments of a record.
    pub dropped: u64,
    /// The reason, in RocksDB's words.
    pub reason: String,
    /// True if the WAL was written over an older WAL, so that the bytes may belong to the older WAL.
    pub recycled: bool,
}
