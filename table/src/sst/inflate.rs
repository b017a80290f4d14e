//! Decompression of one block by its type byte.

use base::stats::{Cause, PerfCounter, PerfTimer, Step, Stopwatch};
use base::{Error, Result};
use compress::{Compression, Dictionary};
use format::block::Block;

use super::fetch::room_for_later;
use super::file_source::Source;
use super::{scratch, spare};

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

impl Source {
    /// Decompresses a block into a buffer of this thread.
    pub(super) fn inflate(
        &self,
        compression: u8,
        payload: &[u8],
        dict: Option<&Dictionary>,
    ) -> Result<Vec<u8>> {
        self.count_inflate(payload.len(), || inflate(compression, payload, dict), Vec::len)
    }

    /// Decompresses a data block into the memory that it keeps. With `later`, the block gets its search array when it is
    /// used again.
    pub(super) fn inflate_data(
        &self,
        compression: u8,
        payload: &[u8],
        later: bool,
        dict: Option<&Dictionary>,
    ) -> Result<Block> {
        let compression = known(compression)?;
        let len = compress::uncompressed_len(compression, payload)?;
        let fill = |block: &mut [u8]| {
            let run = || compress::decompress_into(compression, payload, dict, block);
            self.count_inflate(payload.len(), run, |()| len)
        };
        match later {
            true => Block::fill_for_later(len, room_for_later, fill),
            false => Block::fill(len, spare::take, fill),
        }
    }

    /// Runs a decompression of `stored` bytes, and counts its time and its bytes.
    fn count_inflate<T>(
        &self,
        stored: usize,
        run: impl FnOnce() -> Result<T>,
        len: impl FnOnce(&T) -> usize,
    ) -> Result<T> {
        let _time = PerfTimer::start(PerfCounter::BlockDecompressTime);
        let _step = Step::begin(Cause::Decompression);
        let start = self.counts.times_decompression().then(Stopwatch::start);
        let done = run()?;
        if let Some(start) = start {
            self.counts.decompression_took(start.nanos());
        }
        self.counts.decompressed(stored, len(&done));
        Ok(done)
    }
}
