//! The record format of WALs and MANIFESTs: 32 KiB blocks of checksummed records.
//!
//! ```text
//! classic header (7)                      recyclable header (11)
//! +0  u32  masked CRC32C of type..end     +0  u32  masked CRC32C of type..end
//! +4  u16  payload length                 +4  u16  payload length
//! +6  u8   type                           +6  u8   type
//!                                         +7  u32  low half of the WAL number
//!                                         +11 payload
//! ```
//! A record never crosses the end of a block. A longer record is divided into fragments: First, Middle..,
//! Last. If a header does not fit, the rest of the block is zeros. A recycled file has bytes of an older WAL
//! after its end; their WAL number distinguishes them. There is no file header, and an empty file is valid.
//!
//! Unknown types with bit 7 are skipped. Other unknown types are corruption. As in RocksDB, an unknown type
//! has a classic header. Facts: RocksDB `db/log_format.h`, `db/log_writer.cc`, `db/log_reader.cc`.
//!
//! Not here: the meaning of a corrupt WAL for recovery. The reader reports what it finds, and the engine
//! decides.

mod block;
mod diagnose;
mod item;
mod mark;
mod physical;
mod reader;
mod salvage;
mod writer;

pub use diagnose::{Diagnosis, diagnose};
pub use item::{Damage, HOLE, Item, ReaderOptions, Source, TailKind};
pub use mark::{
    Digest, MARK_MAGIC, Mark, Marks, REPEATS, is_mark, marks_of, parse_marks, put_marks, without_marks,
};
pub use reader::Reader;
pub use salvage::{SalvageFault, Salvaged, mark_end, salvage};
pub(crate) use writer::header_len;
pub use writer::{Framing, Writer};

use std::fmt;

use base::coding::{Cursor, put_u16, put_u32, put_u64};
use base::key::SequenceNumber;
use base::{Error, FamilyId, Result, WalNumber};

/// Size of a block in bytes. A physical record never crosses a multiple of this size.
pub const BLOCK_LEN: usize = 32768;
/// Size of a classic record header in bytes.
pub const HEADER_LEN: usize = 7;
/// Size of a recyclable record header in bytes: a classic header and four bytes of the WAL number.
pub const RECYCLABLE_HEADER_LEN: usize = 11;

/// The types of physical records.
pub mod record_type {
    /// The type byte of zeros: space that was reserved and not written. No record has this type.
    pub const ZERO: u8 = 0;
    /// A whole logical record.
    pub const FULL: u8 = 1;
    /// The first fragment of a logical record.
    pub const FIRST: u8 = 2;
    /// A fragment of a logical record that is neither the first nor the last fragment.
    pub const MIDDLE: u8 = 3;
    /// The last fragment of a logical record.
    pub const LAST: u8 = 4;
    /// A whole logical record with a recyclable header.
    pub const RECYCLABLE_FULL: u8 = 5;
    /// The first fragment of a logical record, with a recyclable header.
    pub const RECYCLABLE_FIRST: u8 = 6;
    /// A middle fragment of a logical record, with a recyclable header.
    pub const RECYCLABLE_MIDDLE: u8 = 7;
    /// The last fragment of a logical record, with a recyclable header.
    pub const RECYCLABLE_LAST: u8 = 8;
    /// Has a classic header even in a recyclable WAL.
    pub const SET_COMPRESSION: u8 = 9;
    /// The timestamp sizes of column families, for the records after this record. Never fragmented.
    pub const TIMESTAMP_SIZE: u8 = 10;
    /// The timestamp sizes of column families, with a recyclable header.
    pub const RECYCLABLE_TIMESTAMP_SIZE: u8 = 11;
    /// The end of the previous WAL ([`Predecessor`](super::Predecessor)). Bit 7 is set, so readers
    /// that do not know the type skip the record.
    pub const PREDECESSOR: u8 = 130;
    /// The end of the previous WAL ([`Predecessor`](super::Predecessor)), with a recyclable header.
    pub const RECYCLABLE_PREDECESSOR: u8 = 131;
    /// Unknown types with this bit may be skipped.
    pub const SAFE_TO_IGNORE: u8 = 1 << 7;
}

/// The only compression of WALs: RocksDB's number for ZSTD.
pub const COMPRESSION_ZSTD: u32 = 7;

/// Compresses logical records. Each record becomes one frame.
pub trait StreamCompressor: Send {
    /// Appends the frame of `record` to `out`.
    fn compress(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

/// Decompresses the frames of a [`StreamCompressor`], fragment by fragment.
pub trait StreamDecompressor: Send {
    /// Clears all state before a new frame.
    fn reset(&mut self);

    /// Appends the decompressed bytes of `fragment` to `out`; there may be none yet. An error means that the
    /// frame is corrupt.
    fn decompress(&mut self, fragment: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

/// The end of a record in a WAL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalPosition {
    /// The number in the name of the WAL.
    pub number: WalNumber,
    /// The offset after the record.
    pub bytes: u64,
}

/// The end of the previous WAL, as the writer of this WAL knew it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predecessor {
    /// The number in the name of the previous WAL.
    pub wal_number: WalNumber,
    /// The size of the previous WAL in bytes.
    pub size_bytes: u64,
    /// The sequence number in the header of its last batch. 0: it had no batch.
    pub last_seqno_recorded: SequenceNumber,
}

impl fmt::Display for Predecessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Predecessor { wal_number, size_bytes, last_seqno_recorded } = self;
        write!(f, "WAL {wal_number} of {size_bytes} bytes up to sequence number {last_seqno_recorded}")
    }
}

impl Predecessor {
    /// Encodes `u64 WAL number | u64 size | u64 sequence number`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.wal_number.get());
        put_u64(out, self.size_bytes);
        put_u64(out, self.last_seqno_recorded.get());
    }

    /// Decodes the payload of a predecessor record.
    ///
    /// # Errors
    /// Corruption if fields are missing. Bytes after the fields are ignored.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload);
        let mut next = || cursor.u64().ok_or_else(|| Error::corruption("predecessor record is truncated"));
        Ok(Predecessor {
            wal_number: WalNumber::new(next()?),
            size_bytes: next()?,
            last_seqno_recorded: SequenceNumber::new(next()?),
        })
    }
}

/// Encodes `n x { u32 column family | u16 timestamp size }`.
fn encode_timestamp_sizes(sizes: &[(FamilyId, u16)], out: &mut Vec<u8>) {
    for &(family, size) in sizes {
        put_u32(out, family.get());
        put_u16(out, size);
    }
}

fn decode_timestamp_sizes(payload: &[u8]) -> Option<Vec<(FamilyId, u16)>> {
    let mut cursor = Cursor::new(payload);
    let mut sizes = Vec::with_capacity(payload.len() / 6);
    while !cursor.is_empty() {
        sizes.push((FamilyId::new(cursor.u32()?), cursor.u16()?));
    }
    Some(sizes)
}

#[cfg(test)]
mod tests;
