//! Decides the stored form of a block: compressed, or uncompressed if compression saves too little.
//!
//! A block is stored uncompressed in three cases: compression is off; the compressed block is not below
//! `max_compressed_bytes_per_kb` bytes for each KiB of the block; the block has 2 GiB or more. The rule and
//! its counters are RocksDB's (`num.data.blocks.compression.rejected` and `.bypassed`).

use std::sync::Arc;

use base::stats::{HistogramKind, Statistics, Stopwatch, Ticker};
use base::{Error, Result};
use compress::{Compression, CompressionOptions, Compressor, Dictionary, decompress};

/// Blocks of this size or more are not compressed.
const SIZE_LIMIT: usize = i32::MAX as usize;

/// The result for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    /// The compressed block is in the output. Its type byte is the argument.
    Compressed(u8),
    /// Compression was tried and saved too little.
    Rejected,
    /// Compression was not tried.
    Bypassed,
}

/// Compresses blocks one after another. Each thread has its own.
pub(super) struct Packer {
    /// `None` if blocks are not compressed.
    compressor: Option<Compressor>,
    dictionary: Option<Arc<Dictionary>>,
    /// True if each compressed block is decompressed and compared.
    verify: bool,
    statistics: Option<Arc<Statistics>>,
}

impl Packer {
    /// Makes a packer for blocks of one compression type. With [`Compression::None`], blocks are stored as
    /// they are.
    ///
    /// # Errors
    /// NotSupported if this build does not have the compression type.
    pub(super) fn new(
        kind: Compression,
        options: &CompressionOptions,
        dictionary: Option<Arc<Dictionary>>,
        verify: bool,
        statistics: Option<Arc<Statistics>>,
    ) -> Result<Self> {
        let raw = dictionary.as_ref().map(|dictionary| dictionary.raw());
        let compressor =
            if kind == Compression::None { None } else { Some(Compressor::new(kind, options, raw)?) };
        Ok(Packer { compressor, dictionary, verify, statistics })
    }

    /// Returns the compression type of compressed blocks.
    pub(super) fn stored_kind(&self) -> Compression {
        self.compressor.as_ref().map_or(Compression::None, Compressor::stored_kind)
    }

    pub(super) fn is_off(&self) -> bool {
        self.compressor.is_none()
    }

    /// Returns the bytes of the dictionary, or an empty slice if there is none.
    pub(super) fn dictionary(&self) -> &[u8] {
        self.dictionary.as_ref().map_or(&[], |dictionary| dictionary.raw())
    }

    pub(super) fn shared_dictionary(&self) -> Option<Arc<Dictionary>> {
        self.dictionary.clone()
    }

    /// Compresses `payload` into `out`. The old content of `out` is lost.
    ///
    /// # Errors
    /// Corruption if the verification finds that the compressed block does not decompress to the payload.
    pub(super) fn pack(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Packed> {
        let Some(statistics) = self.statistics.clone() else { return self.pack_uncounted(payload, out) };
        let timed = (!self.is_off() && statistics.detailed_timers_on()).then(Stopwatch::start);
        let packed = self.pack_uncounted(payload, out)?;
        if let Some(began) = timed {
            statistics.measure_time(HistogramKind::CompressionTimesNanos, began.nanos());
        }
        let bytes = payload.len() as u64;
        let (number, from) = match packed {
            Packed::Compressed(_) => {
                statistics.add(Ticker::BytesCompressedTo, out.len() as u64);
                (Ticker::NumberBlockCompressed, Ticker::BytesCompressedFrom)
            }
            Packed::Rejected => (Ticker::NumberBlockCompressionRejected, Ticker::BytesCompressionRejected),
            Packed::Bypassed => (Ticker::NumberBlockCompressionBypassed, Ticker::BytesCompressionBypassed),
        };
        statistics.tick(number);
        statistics.add(from, bytes);
        Ok(packed)
    }

    fn pack_uncounted(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Packed> {
        let Some(compressor) = &mut self.compressor else { return Ok(Packed::Bypassed) };
        if payload.len() >= SIZE_LIMIT {
            return Ok(Packed::Bypassed);
        }
        if !compressor.compress(payload, out)? {
            return Ok(Packed::Rejected);
        }
        let kind = compressor.stored_kind();
        base::invariant!(kind != Compression::None, "a compressed block has no compression type");
        base::invariant!(
            out.len() <= payload.len(),
            "a compressed block of {} bytes has {} bytes",
            payload.len(),
            out.len()
        );
        if self.verify {
            let back = decompress(kind, out, self.dictionary.as_deref())
                .map_err(|error| Error::corruption(format!("Could not decompress: {error}")))?;
            if back != payload {
                return Err(Error::corruption("Decompressed block did not match pre-compression block"));
            }
        }
        Ok(Packed::Compressed(kind as u8))
    }
}
