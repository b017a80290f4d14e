//! The write batch: the bytes that go to the WAL and from there into memtables.
//!
//! ```text
//! +0   u64  sequence number of the first counted record
//! +8   u32  how many records are counted
//! +12  records to the end
//!
//! record = u8 tag | [varint32 family, in the family variant of the tag] | fields
//! ```
//! Counted records take a sequence number each (RocksDB's default, one for each key); log data and the
//! markers of two-phase commit take none. Writers use the family variant only when the family is not
//! the default one; readers take either. There is no skip rule: an unknown tag is corruption.
//! Facts: RocksDB `db/write_batch.cc`.

mod append;
mod read;

pub use append::*;
pub use read::{Batch, Marker, Record, Records};

use base::coding::{get_u32, get_u64};
use base::key::SequenceNumber;

/// Bytes before the first record. An empty batch is this many zeros.
pub const HEADER_LEN: usize = 12;

/// The longest user key a batch may hold: 8 bytes of trailer must still fit in 32 bits.
pub const KEY_LEN_MAX: usize = u32::MAX as usize - 8;

/// The longest value a batch may hold.
pub const VALUE_LEN_MAX: usize = u32::MAX as usize;

/// The sequence number in a batch's header. Shorter than a header: 0.
#[inline]
pub fn sequence(batch: &[u8]) -> SequenceNumber {
    get_u64(batch, 0).unwrap_or(0)
}

/// The count in a batch's header. Shorter than a header: 0.
#[inline]
pub fn count(batch: &[u8]) -> u32 {
    get_u32(batch, 8).unwrap_or(0)
}

/// Overwrites the sequence number. `batch` must hold a header.
#[inline]
pub fn set_sequence(batch: &mut [u8], sequence: SequenceNumber) {
    batch[..8].copy_from_slice(&sequence.to_le_bytes());
}

/// Overwrites the count. `batch` must hold a header.
#[inline]
pub fn set_count(batch: &mut [u8], count: u32) {
    batch[8..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
}

#[cfg(test)]
mod tests;
