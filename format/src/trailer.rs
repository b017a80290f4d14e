//! The trailer: the five bytes after every block of a block-based table.
//!
//! ```text
//! payload (size bytes) | u8 compression type | u32 checksum
//! ```
//! The checksum covers the payload and the type byte. From format version 6 on, a number that depends on the
//! position of the block is added to it (see [`crate::checksum::context_modifier`]). RocksDB source:
//! `table/format.cc`.

use base::coding::get_u32;
use base::{Error, Result};
use kernel::checksum::{crc32c, xxh3, xxh32, xxh64};

use crate::checksum::{ChecksumType, context_modifier};

#[cfg(test)]
mod tests;

/// The size of the trailer in bytes.
pub const LEN: usize = 5;

/// Returns the checksum of `data` alone. For a block, the last byte of `data` is the compression type.
pub fn checksum(kind: ChecksumType, data: &[u8]) -> u32 {
    match kind {
        ChecksumType::None => 0,
        ChecksumType::Crc32c => crc32c::mask(crc32c::value(data)),
        ChecksumType::XxHash => xxh32::hash(data, 0),
        ChecksumType::XxHash64 => xxh64::hash(data, 0) as u32,
        ChecksumType::Xxh3 => match data.split_last() {
            Some((&last, rest)) => mix_last_byte(xxh3::hash64(rest) as u32, last),
            None => 0,
        },
    }
}

/// Mixes the compression type into an XXH3 checksum. RocksDB computes XXH3 before the compression type is
/// known.
#[inline]
fn mix_last_byte(checksum: u32, last: u8) -> u32 {
    checksum ^ u32::from(last).wrapping_mul(0x6b90_83d9)
}

/// Returns the checksum in the trailer of a block at `offset`. `data` is the payload and the type byte.
#[inline]
pub fn block_checksum(kind: ChecksumType, base_context: u32, offset: u64, data: &[u8]) -> u32 {
    checksum(kind, data).wrapping_add(context_modifier(base_context, offset))
}

/// Completes a block: appends the type byte and the checksum. `block` contains exactly the payload.
pub fn append(block: &mut Vec<u8>, compression: u8, kind: ChecksumType, base_context: u32, offset: u64) {
    block.push(compression);
    let sum = block_checksum(kind, base_context, offset, block);
    block.extend_from_slice(&sum.to_le_bytes());
}

/// Returns the type byte of a block that was read with its trailer.
///
/// # Errors
/// Corruption if the block is shorter than a trailer.
#[inline]
pub fn compression_type(block: &[u8]) -> Result<u8> {
    match block.len().checked_sub(LEN) {
        Some(at) => Ok(block[at]),
        None => Err(Error::corruption("block is shorter than its trailer")),
    }
}

/// Checks a block that was read with its trailer from `offset`. Returns the compression type byte.
///
/// # Errors
/// Corruption with the offset if the checksum is wrong.
pub fn verify(kind: ChecksumType, base_context: u32, offset: u64, block: &[u8]) -> Result<u8> {
    let compression = compression_type(block).map_err(|e| e.at(offset))?;
    let summed = &block[..block.len() - 4];
    let stored = get_u32(block, block.len() - 4).unwrap_or_default();
    let computed = block_checksum(kind, base_context, offset, summed);
    if stored == computed {
        return Ok(compression);
    }
    let modifier = context_modifier(base_context, offset);
    Err(mismatch(kind, modifier, stored, checksum(kind, summed), block.len() - LEN).at(offset))
}

/// Makes the error of a block whose checksum is wrong, with RocksDB's words. The checksums of the text are those of the bytes alone:
/// without the number that depends on the position, and not masked.
#[cold]
fn mismatch(kind: ChecksumType, modifier: u32, stored: u32, computed: u32, size: usize) -> Error {
    let plain = |sum: u32| if kind == ChecksumType::Crc32c { crc32c::unmask(sum) } else { sum };
    let (stored, computed) = (plain(stored.wrapping_sub(modifier)), plain(computed));
    let context = if modifier == 0 { "" } else { "(context removed)" };
    Error::corruption(format!(
        "block checksum mismatch: stored{context} = {stored}, computed = {computed}, type = {}, size {size}",
        kind as u8
    ))
}
