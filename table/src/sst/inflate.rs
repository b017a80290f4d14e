//! Decompression of one block by its type byte.

use base::{Error, Result};
use compress::{Compression, Dictionary};

use super::scratch;

/// What a block of compression type `kind` holds.
///
/// # Errors
/// Corruption if it does not decompress; NotSupported, by name, for types that this build has not.
pub(super) fn inflate(kind: u8, payload: &[u8], dict: Option<&Dictionary>) -> Result<Vec<u8>> {
    match Compression::from_u8(kind) {
        Some(kind) => {
            let mut block = scratch::take(compress::uncompressed_len(kind, payload)?);
            compress::decompress_into(kind, payload, dict, &mut block)?;
            Ok(block)
        }
        None if kind >= 0x80 => Err(Error::not_supported(format!("custom compression type {kind:#04x}"))),
        None => Err(Error::corruption(format!("unknown compression type {kind:#04x}"))),
    }
}
