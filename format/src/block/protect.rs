//! Checksums of the entries of a block (`block_protection_bytes_per_key`). They are made when the block is
//! loaded, and compared whenever an entry is read. So failing memory cannot change an answer while the block
//! is cached.
//!
//! ```text
//! entry offset u32[n], ascending | checksum[n], 1, 2, 4 or 8 bytes each | u32 n | u8 bytes each | payload
//! ```
//! RocksDB counts entries to find the checksum of an entry. A search here does not count entries, so each
//! checksum is stored with the position of its entry. The position costs four bytes for each entry.

use base::coding::get_u32;
use base::{Error, Result};

use super::{Block, BlockIter};

/// Number of bytes after the checksums.
const END: usize = 5;

/// Returns the checksums of the entries of an unprotected block.
pub(super) fn build(block: &Block, width: u8) -> Result<Vec<u8>> {
    let mut iter = BlockIter::new(block.clone());
    let (mut places, mut sums) = (Vec::new(), Vec::new());
    iter.seek_to_first();
    while iter.valid() {
        places.extend_from_slice(&(iter.offset() as u32).to_le_bytes());
        let sum = checksum(iter.key(), iter.value()).to_le_bytes();
        sums.extend_from_slice(&sum[..usize::from(width.min(8))]);
        iter.next();
    }
    iter.status()?;
    let n = (places.len() / 4) as u32;
    places.extend_from_slice(&sums);
    places.extend_from_slice(&n.to_le_bytes());
    places.push(width);
    Ok(places)
}

/// Returns true if the entry at offset `at` of the payload is unchanged since the block was loaded. The
/// payload begins at `payload_at` in the memory of the block.
pub(super) fn holds(block: &[u8], payload_at: usize, at: usize, key: &[u8], value: &[u8]) -> bool {
    stored(block, payload_at, at).is_some_and(|sum| checksum(key, value).to_le_bytes().starts_with(sum))
}

fn stored(block: &[u8], payload_at: usize, at: usize) -> Option<&[u8]> {
    let width = usize::from(*block.get(payload_at.checked_sub(1)?)?);
    let end = payload_at.checked_sub(END)?;
    let n = get_u32(block, end)? as usize;
    let places_at = end.checked_sub(n.checked_mul(4 + width)?)?;
    let place = |i: usize| get_u32(block, places_at + 4 * i).map_or(usize::MAX, |place| place as usize);
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if place(middle) < at { low = middle + 1 } else { high = middle }
    }
    let sums_at = places_at + 4 * n;
    let sum = block.get(sums_at + width * low..sums_at + width * (low + 1))?;
    (low < n && width > 0 && place(low) == at).then_some(sum)
}

fn checksum(key: &[u8], value: &[u8]) -> u64 {
    kernel::hash::hash64_seeded(value, kernel::hash::hash64(key))
}

#[cold]
pub(super) fn mismatch(at: usize) -> Error {
    Error::corruption("an entry of a block in memory does not match its protection bytes").at(at as u64)
}
