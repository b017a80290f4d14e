//! The checksums in RocksDB's files.
//!
//! ```text
//! crc32c   WAL records, MANIFEST, blocks of checksum type 1      stored masked
//! xxh32    blocks of checksum type 2
//! xxh64    blocks of checksum type 3
//! xxh3     blocks of checksum type 4, unique ids (128 bits)
//! ```
//! The crate `format` combines a block's checksum with the compression type and the position of the block.

pub mod crc32c;
pub mod xxh3;
pub mod xxh32;
pub mod xxh64;

/// Reads a little-endian `u32` at `at`.
///
/// # Panics
/// Panics if there are fewer than four bytes. Callers check the length before.
#[inline(always)]
pub(crate) fn read32(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap())
}

/// Reads a little-endian `u64` at `at`; see [`read32`].
#[inline(always)]
pub(crate) fn read64(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().unwrap())
}

#[cfg(test)]
mod tests;
