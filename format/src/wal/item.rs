//! What a reader is made from, and what it answers.

use base::{FamilyId, Result};

use super::{Predecessor, StreamDecompressor};

/// The bytes of a log.
pub trait Source {
    /// Fills `buf` from `offset`; fewer bytes only at the end of the file.
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

/// How to read a log.
pub struct ReaderOptions {
    /// The file's number; recyclable records of another number are an older log's. Default 0.
    pub wal_number: u64,
    /// Whether checksums are compared. Default true.
    pub verify_checksums: bool,
    /// Makes the decompressor when the log announces a compression (RocksDB's number for it).
    /// `None`: a compressed log is corruption to this reader, as it is in a MANIFEST.
    pub decompressor: Option<MakeDecompressor>,
}

type MakeDecompressor = Box<dyn Fn(u32) -> Result<Box<dyn StreamDecompressor>> + Send>;

impl Default for ReaderOptions {
    fn default() -> Self {
        ReaderOptions { wal_number: 0, verify_checksums: true, decompressor: None }
    }
}

/// What comes next in a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'r> {
    /// A whole logical record. `offset` is the start of its first physical record, and `end` is the end of
    /// its last physical record, in bytes from the start of the file.
    Record { bytes: &'r [u8], offset: u64, end: u64 },
    /// From here on, keys of these families carry timestamps of these sizes. Already checked: no size
    /// is 0, no family was told before.
    TimestampSizes { sizes: Vec<(FamilyId, u16)>, offset: u64 },
    /// Where the log before this one ended; the caller compares.
    Predecessor { info: Predecessor, offset: u64 },
    /// The file ends in the middle of a record: what a crash leaves, or a cut file.
    /// `record_offset` is where the logical record began, `dropped` how many of its bytes are lost.
    /// Only [`Item::EndOfLog`] follows.
    TornTail { offset: u64, record_offset: u64, dropped: u64, kind: TailKind },
    /// A record of an older log in a recycled file: the end of this one, unless the caller wants to
    /// look further; then reading goes on behind it. `dropped` counts the bytes of an unfinished record
    /// before it, if any.
    OldRecord { offset: u64, dropped: u64 },
    /// A hole: zero bytes before a whole record. No writer leaves such zeros, so a power failure or damage
    /// removed the records at this place. The caller may continue to read: the next item is the record
    /// after the hole. RocksDB skips a hole without a message.
    Hole { offset: u64 },
    /// Bytes that are no record. Reading may go on: behind them, mostly at the next block.
    Corruption(Damage),
    /// Nothing is left. Stays so until [`super::Reader::rewind`].
    EndOfLog,
}

/// What is said of an [`Item::Hole`].
pub const HOLE: &str = "zeros in the middle of the log";

/// How a log's last record is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// Fewer bytes than a header.
    Header,
    /// A header whose payload would leave the file.
    Body,
    /// First or Middle, and then the end.
    MissingEnd,
}

/// What was wrong, where, and how much is lost by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Of the physical record at fault, in bytes from the start of the file.
    pub offset: u64,
    /// Bytes given up: the rest of the block, or the fragments of a record.
    pub dropped: u64,
    /// RocksDB's words for it.
    pub reason: String,
    /// The log was being written over an older one: the bytes may be that one's.
    pub recycled: bool,
}
