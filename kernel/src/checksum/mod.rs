//! The checksums that RocksDB's files carry.
//!
//! ```text
//! crc32c   WAL records, MANIFEST, blocks of checksum type 1      stored masked
//! xxh32    blocks of checksum type 2
//! xxh64    blocks of checksum type 3
//! xxh3     blocks of checksum type 4, unique ids (128 bits)
//! ```
//! How a block's trailer combines them with the compression type and the file's context is framing
//! and lives in `format`.

pub mod crc32c;
pub mod xxh3;
pub mod xxh32;
pub mod xxh64;

/// Little-endian `u32` at `at`.
///
/// # Panics
/// When fewer than four bytes are there: callers have checked the length.
#[inline(always)]
pub(crate) fn read32(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap())
}

/// Little-endian `u64` at `at`; see [`read32`].
#[inline(always)]
pub(crate) fn read64(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().unwrap())
}

#[cfg(test)]
mod tests;
