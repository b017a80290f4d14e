//! Repairs one bit of a block, or one byte of a footer.

use base::coding::get_u32;
use base::{Error, Result};
use env::fs::RandomRead;
use format::checksum::{ChecksumType, context_modifier};
use format::footer::{self, Footer, TableKind};
use format::trailer;

use super::{Mended, Part, Salvaged};

/// Maximum size of a block whose wrong bit is searched. With a checksum that is not linear, the time of the
/// search is quadratic.
const SEARCH_BYTES_MAX: usize = 256 << 10;

/// Flips the one bit of `block` (payload, type, checksum, read from `offset`) that makes its checksum valid,
/// and returns the bit. Returns `None` and changes nothing if there is no such bit or no checksum.
pub(in crate::sst) fn one_bit(
    kind: ChecksumType,
    context: u32,
    offset: u64,
    block: &mut [u8],
) -> Option<(usize, u8)> {
    let summed_len = block.len().checked_sub(4)?;
    if kind == ChecksumType::None || block.len() > SEARCH_BYTES_MAX {
        return None;
    }
    let modifier = context_modifier(context, offset);
    let wanted = get_u32(block, summed_len)?.wrapping_sub(modifier);
    let difference =
        wanted.wrapping_add(modifier) ^ trailer::block_checksum(kind, context, offset, &block[..summed_len]);
    if difference.is_power_of_two() {
        let at = difference.trailing_zeros();
        let (byte, bit) = (summed_len + (at / 8) as usize, (at % 8) as u8);
        base::invariant!(
            byte < block.len(),
            "the bit of a checksum of {} bytes is in byte {byte}",
            block.len()
        );
        block[byte] ^= 1 << bit;
        return Some((byte, bit));
    }
    for byte in (0..summed_len).rev() {
        for bit in 0..8u8 {
            block[byte] ^= 1 << bit;
            if trailer::checksum(kind, &block[..summed_len]) == wanted {
                return Some((byte, bit));
            }
            block[byte] ^= 1 << bit;
        }
    }
    None
}

/// Returns the footer as stored. If the blocks of this footer do not verify, tries each footer with one different byte.
/// Returns `None` if no footer verifies, and records the loss in `out`.
pub(super) fn footer(file: &dyn RandomRead, size: u64, out: &mut Salvaged) -> Result<Option<Footer>> {
    let len = size.min(footer::LEN as u64) as usize;
    let start = size - len as u64;
    let mut tail = vec![0; len];
    let got = file.read_at(start, &mut tail)?;
    let tail = &mut tail[..got];
    let as_it_stands = decode(tail, size);
    match &as_it_stands {
        Ok(found) if leads_to_blocks(file, size, found)? => return Ok(Some(*found)),
        Err(error) if !error.is_corruption() => return as_it_stands.map(Some),
        _ => {}
    }
    for at in 0..tail.len() {
        let was = tail[at];
        for byte in (0..=u8::MAX).filter(|b| *b != was) {
            tail[at] = byte;
            if let Ok(found) = decode(tail, size)
                && leads_to_blocks(file, size, &found)?
            {
                let flipped = byte ^ was;
                let bit = flipped.is_power_of_two().then(|| flipped.trailing_zeros() as u8);
                out.mended.push(Mended { part: Part::Footer, offset: start + at as u64, bit });
                return Ok(Some(found));
            }
        }
        tail[at] = was;
    }
    // The footer may be correct, and the blocks that it names may be corrupt.
    if let Ok(found) = as_it_stands
        && found.metaindex.end() <= start
        && found.index.is_none_or(|index| index.end() <= start)
    {
        return Ok(Some(found));
    }
    out.lose(Part::Footer, start, len as u64, "not a table's footer, whichever byte is changed".to_string());
    Ok(None)
}

fn decode(tail: &[u8], size: u64) -> Result<Footer> {
    let found = Footer::decode(tail, size)?;
    match found.kind {
        TableKind::BlockBased if found.format_version >= footer::FORMAT_VERSION_MIN => Ok(found),
        TableKind::BlockBased | TableKind::BlockBasedLegacy => {
            Err(Error::corruption("a block-based table of a format version before 2"))
        }
        TableKind::Plain | TableKind::PlainLegacy => Err(Error::not_supported("plain table (PlainTable)")),
        TableKind::Cuckoo => Err(Error::not_supported("cuckoo table (CuckooTable)")),
    }
}

/// Returns true if the blocks that the footer names have valid checksums of the type in the footer. From
/// format version 6 on, the footer's own checksum already proves the footer.
fn leads_to_blocks(file: &dyn RandomRead, size: u64, footer: &Footer) -> Result<bool> {
    if footer.format_version >= 6 {
        return Ok(true);
    }
    for handle in [Some(footer.metaindex), footer.index].into_iter().flatten() {
        if handle.end() > size {
            return Ok(false);
        }
        let mut block = vec![0; handle.size as usize + trailer::LEN];
        let got = file.read_at(handle.offset, &mut block)?;
        if trailer::verify(footer.checksum, footer.base_context_checksum, handle.offset, &block[..got])
            .is_err()
        {
            return Ok(false);
        }
    }
    Ok(true)
}
