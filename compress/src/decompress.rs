//! Decompression: from payloads to blocks. Every payload gives a block of the length that the payload states,
//! or an error.

use base::coding::get_varint64;
use base::{Error, Result};

use crate::{Compression, Dictionary};

/// Returns the length in bytes of the block that is compressed in `payload`. `payload` does not contain the
/// type byte.
///
/// # Errors
///
/// `Corruption` if the payload has no size, or a size that no stream of this length can have.
/// `NotSupported` if this build lacks the compression type.
pub fn uncompressed_len(kind: Compression, payload: &[u8]) -> Result<usize> {
    split(kind, payload).map(|(len, _)| len)
}

/// Returns the block that is compressed in `payload`. `payload` does not contain the type byte.
///
/// # Errors
/// `Corruption` if the payload is not exactly one well-formed stream of the stated length. `NotSupported` if
/// this build does not contain the compression type.
pub fn decompress(kind: Compression, payload: &[u8], dict: Option<&Dictionary>) -> Result<Vec<u8>> {
    let (len, stream) = split(kind, payload)?;
    let mut block = vec![0; len];
    decode(kind, stream, dict, &mut block)?;
    Ok(block)
}

/// Works like [`decompress`], but into a buffer of exactly [`uncompressed_len`] bytes.
///
/// # Errors
/// The errors of [`decompress`]. Also `Corruption` if the length of `block` differs from the length that the payload
/// states.
pub fn decompress_into(
    kind: Compression,
    payload: &[u8],
    dict: Option<&Dictionary>,
    block: &mut [u8],
) -> Result<()> {
    let (len, stream) = split(kind, payload)?;
    if len != block.len() {
        return Err(damaged(kind, "the payload states another length than the block has"));
    }
    decode(kind, stream, dict, block)
}

/// Returns the largest number of bytes that one byte of a stream can stand for, rounded up generously.
fn expansion_max(kind: Compression) -> u64 {
    match kind {
        Compression::Snappy => 64,
        Compression::Lz4 | Compression::Lz4hc => 256,
        Compression::Zlib => 1040,
        // A run of 255 equal bytes becomes five bytes before the Burrows-Wheeler transform, and the transform
        // makes such input very small.
        Compression::Bzip2 => 1 << 18,
        // A block of 128 KiB of one repeated byte becomes four bytes.
        _ => 1 << 16,
    }
}

fn split(kind: Compression, payload: &[u8]) -> Result<(usize, &[u8])> {
    if kind == Compression::None {
        return Ok((payload.len(), payload));
    }
    if !kind.is_supported() {
        return Err(kind.not_supported());
    }
    let Some((len, prefix)) = get_varint64(payload) else {
        return Err(damaged(kind, "no uncompressed length"));
    };
    let possible = (payload.len() as u64).saturating_mul(expansion_max(kind)).saturating_add(64);
    if len > possible || len > u64::from(u32::MAX) {
        return Err(damaged(kind, &format!("impossible length {len} for {} bytes", payload.len())));
    }
    // For Snappy, the length is part of the stream.
    let stream = if kind == Compression::Snappy { payload } else { &payload[prefix..] };
    Ok((len as usize, stream))
}

fn decode(kind: Compression, stream: &[u8], dict: Option<&Dictionary>, block: &mut [u8]) -> Result<()> {
    let _ = dict;
    match kind {
        Compression::None => {
            block.copy_from_slice(stream);
            Ok(())
        }
        #[cfg(feature = "snappy")]
        Compression::Snappy => crate::snappy::decode(stream, block),
        #[cfg(feature = "zlib")]
        Compression::Zlib => crate::zlib::decode(stream, dict, block),
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => crate::bzip2::decode(stream, block),
        #[cfg(feature = "lz4")]
        Compression::Lz4 | Compression::Lz4hc => crate::lz4::decode(stream, dict, block),
        #[cfg(any(feature = "zstd", feature = "zstd-pure"))]
        Compression::Zstd => crate::zstd::decode(stream, dict, block),
        #[allow(unreachable_patterns)]
        _ => Err(kind.not_supported()),
    }
}

/// Returns a corruption error for a stream of type `kind`.
#[cold]
pub(crate) fn damaged(kind: Compression, what: &str) -> Error {
    Error::corruption(format!("{kind} block: {what}"))
}
