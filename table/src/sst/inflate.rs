//! Decompression of one block by its type byte.

use base::{Error, Result};
use compress::{Compression, Dictionary};

use super::scratch;

/// Decompresses a block of compression type `kind`.
///
/// # Errors
/// Corruption if the block does not decompress. NotSupported, with the name of the type, if this build does
/// not have the compression type.
pub(super) fn inflate(kind: u8, payload: &[u8], dict: Option<&Dictionary>) -> Result<Vec<u8>> {
    let kind = known(kind)?;
    let mut block = scratch::take(compress::uncompressed_len(kind, payload)?);
    compress::decompress_into(kind, payload, dict, &mut block)?;
    Ok(block)
}

/// Returns the compression of type `kind`.
///
/// # Errors
/// Corruption for an unknown type. NotSupported for a custom type (0x80 and above).
pub(super) fn known(kind: u8) -> Result<Compression> {
    match Compression::from_u8(kind) {
        Some(kind) => Ok(kind),
        None if kind >= 0x80 => Err(Error::not_supported(format!("custom compression type {kind:#04x}"))),
        None => Err(Error::corruption(format!("unknown compression type {kind:#04x}"))),
    }
}
