//! The write batch: bytes that are written to the WAL and then inserted into memtables.
//!
//! ```text
//! +0   u64  sequence number of the first counted record
//! +8   u32  number of counted records
//! +12  records to the end
//!
//! record = u8 tag | [varint32 family, in the family variant of the tag] | fields
//! ```
//! Each counted record takes one sequence number (RocksDB's default: one for each key). Log data and the
//! markers of two-phase commit take none. Writers use the family variant of a tag only for column families
//! other than the default column family; readers accept both. A reader cannot skip unknown records: an
//! unknown tag is corruption. Facts: RocksDB `db/write_batch.cc`.

mod append;
mod read;

pub use append::*;
pub use read::{Batch, Marker, Record, Records};

use base::coding::{get_u32, get_u64};
use base::key::SequenceNumber;

/// Number of bytes before the first record. An empty batch has this number of zero bytes.
pub const HEADER_LEN: usize = 12;

/// Maximum length of a user key in a batch. With the trailer of 8 bytes, the length must fit into 32 bits.
pub const KEY_LEN_MAX: usize = u32::MAX as usize - 8;

/// Maximum length of a value in a batch.
pub const VALUE_LEN_MAX: usize = u32::MAX as usize;

/// Returns the sequence number in the header of a batch, or 0 if the bytes are shorter than a header.
#[inline]
pub fn sequence(batch: &[u8]) -> SequenceNumber {
    SequenceNumber::new(get_u64(batch, 0).unwrap_or(0))
}

/// Returns the count in the header of a batch, or 0 if the bytes are shorter than a header.
#[inline]
pub fn count(batch: &[u8]) -> u32 {
    get_u32(batch, 8).unwrap_or(0)
}

/// Overwrites the sequence number. `batch` must have a header.
#[inline]
pub fn set_sequence(batch: &mut [u8], sequence: SequenceNumber) {
    batch[..8].copy_from_slice(&sequence.get().to_le_bytes());
}

/// Overwrites the count. `batch` must have a header.
#[inline]
pub fn set_count(batch: &mut [u8], count: u32) {
    batch[8..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
}

#[cfg(test)]
mod tests;
