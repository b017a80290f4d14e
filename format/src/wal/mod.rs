//! The log format: 32 KiB blocks of checksummed records. WALs are written in it, and MANIFESTs.
//!
//! ```text
//! classic header (7)                      recyclable header (11)
//! +0  u32  masked CRC32C of type..end     +0  u32  masked CRC32C of type..end
//! +4  u16  payload length                 +4  u16  payload length
//! +6  u8   type                           +6  u8   type
//! +7  payload                             +7  u32  low half of the log's number
//!                                         +11 payload
//! ```
//! A record never crosses a block's end: longer ones are cut into First, Middle.., Last. Where a header
//! does not fit, the block is filled with zeros. A recycled file keeps the bytes of an older log behind
//! its end; their log number tells them apart. There is no file header, and an empty file is a log.
//!
//! Unknown types with bit 7 are passed over, others are corruption (RocksDB takes their header for a
//! classic one, and so do we). Facts: RocksDB `db/log_format.h`, `db/log_writer.cc`, `db/log_reader.cc`.
//!
//! Not here: what a damaged log means for recovery. The reader says what it met; the engine decides.

mod block;
mod diagnose;
mod item;
mod mark;
mod reader;
mod salvage;
mod writer;

pub use diagnose::{Diagnosis, diagnose};
pub use item::{Damage, HOLE, Item, ReaderOptions, Source, TailKind};
pub use mark::{Digest, MARK_MAGIC, Mark, Marks, is_mark, marks_of, parse_marks, put_marks};
pub use reader::Reader;
pub use salvage::{SalvageFault, mark_end, salvage};
pub(crate) use writer::header_len;
pub use writer::{Framing, Writer};

use base::coding::{Cursor, put_u16, put_u32, put_u64};
use base::key::SequenceNumber;
use base::{Error, FamilyId, Result};

pub const BLOCK_LEN: usize = 32768;
pub const HEADER_LEN: usize = 7;
pub const RECYCLABLE_HEADER_LEN: usize = 11;

/// Physical record types.
pub mod record_type {
    pub const ZERO: u8 = 0;
    pub const FULL: u8 = 1;
    pub const FIRST: u8 = 2;
    pub const MIDDLE: u8 = 3;
    pub const LAST: u8 = 4;
    pub const RECYCLABLE_FULL: u8 = 5;
    pub const RECYCLABLE_FIRST: u8 = 6;
    pub const RECYCLABLE_MIDDLE: u8 = 7;
    pub const RECYCLABLE_LAST: u8 = 8;
    /// Classic header even in a recyclable log.
    pub const SET_COMPRESSION: u8 = 9;
    pub const TIMESTAMP_SIZE: u8 = 10;
    pub const RECYCLABLE_TIMESTAMP_SIZE: u8 = 11;
    pub const PREDECESSOR: u8 = 130;
    pub const RECYCLABLE_PREDECESSOR: u8 = 131;
    /// Unknown types with this bit may be passed over.
    pub const SAFE_TO_IGNORE: u8 = 1 << 7;
}

/// The one compression a log may name: RocksDB's number for ZSTD.
pub const COMPRESSION_ZSTD: u32 = 7;

/// Compresses logical records: each becomes one frame of its own.
pub trait StreamCompressor: Send {
    /// Appends the frame for `record` to `out`.
    fn compress(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

/// Undoes [`StreamCompressor`], fed fragment by fragment.
pub trait StreamDecompressor: Send {
    /// Forgets all state: a new frame begins.
    fn reset(&mut self);

    /// Appends what `fragment` gives to `out`, perhaps nothing yet. An error means the frame is bad.
    fn decompress(&mut self, fragment: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

/// Where the log before this one ended, as its writer knew it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predecessor {
    pub wal_number: u64,
    pub size_bytes: u64,
    /// The sequence number in the header of its last batch; 0: it had none.
    pub last_seqno_recorded: SequenceNumber,
}

impl Predecessor {
    /// `u64 log number | u64 size | u64 sequence`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.wal_number);
        put_u64(out, self.size_bytes);
        put_u64(out, self.last_seqno_recorded);
    }

    /// # Errors
    /// Corruption if fields are missing. Bytes behind them are ignored.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload);
        let mut next = || cursor.u64().ok_or_else(|| Error::corruption("predecessor record is cut short"));
        Ok(Predecessor { wal_number: next()?, size_bytes: next()?, last_seqno_recorded: next()? })
    }
}

/// `n x { u32 family | u16 timestamp size }`.
fn encode_timestamp_sizes(sizes: &[(FamilyId, u16)], out: &mut Vec<u8>) {
    for &(family, size) in sizes {
        put_u32(out, family.0);
        put_u16(out, size);
    }
}

fn decode_timestamp_sizes(payload: &[u8]) -> Option<Vec<(FamilyId, u16)>> {
    let mut cursor = Cursor::new(payload);
    let mut sizes = Vec::with_capacity(payload.len() / 6);
    while !cursor.is_empty() {
        sizes.push((FamilyId(cursor.u32()?), cursor.u16()?));
    }
    Some(sizes)
}

#[cfg(test)]
mod tests;
