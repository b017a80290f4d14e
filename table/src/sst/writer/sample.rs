//! Estimates the compressed size of a table, with a fast and with a strong compression, from some of its
//! blocks.

use base::Result;
use compress::{Compression, CompressionOptions, Compressor};

/// Compresses one block of each `sample_for_compression` blocks, and adds up the sizes.
pub(super) struct Sampler {
    /// One block in this number is sampled; 0 means none.
    one_in: u64,
    random: u64,
    fast: Option<Compressor>,
    slow: Option<Compressor>,
    scratch: Vec<u8>,
    input: u64,
    fast_output: u64,
    slow_output: u64,
}

impl Sampler {
    pub(super) fn new(one_in: u64, seed: u32) -> Result<Self> {
        let first = |kinds: [Compression; 2]| -> Result<Option<Compressor>> {
            let options =
                CompressionOptions { max_compressed_bytes_per_kb: 1023, ..CompressionOptions::default() };
            let kind = kinds.into_iter().find(|kind| kind.is_supported()).filter(|_| one_in > 0);
            kind.map(|kind| Compressor::new(kind, &options, None)).transpose()
        };
        Ok(Sampler {
            one_in,
            random: u64::from(seed) << 1 | 1,
            fast: first([Compression::Lz4, Compression::Snappy])?,
            slow: first([Compression::Zstd, Compression::Zlib])?,
            scratch: Vec::new(),
            input: 0,
            fast_output: 0,
            slow_output: 0,
        })
    }

    /// Returns the two compressed sizes of the block, or zeros if it is not sampled.
    #[inline]
    pub(super) fn see(&mut self, payload: &[u8]) -> Result<(u64, u64)> {
        if self.one_in == 0 {
            return Ok((0, 0));
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if !self.random.is_multiple_of(self.one_in) {
            return Ok((0, 0));
        }
        let fast = compressed_len(&mut self.fast, payload, &mut self.scratch)?;
        let slow = compressed_len(&mut self.slow, payload, &mut self.scratch)?;
        self.input += payload.len() as u64;
        self.fast_output += fast;
        self.slow_output += slow;
        Ok((fast, slow))
    }

    /// Returns the estimates (fast, slow) for data blocks of `data` bytes in total, without `trailers`.
    /// Returns zeros if sampling is off. Returns the uncompressed size if no block was sampled by chance.
    pub(super) fn estimates(&self, data: u64, trailers: u64) -> (u64, u64) {
        if self.one_in == 0 {
            return (0, 0);
        }
        if self.input == 0 {
            return (data + trailers, data + trailers);
        }
        base::invariant!(
            self.fast_output <= self.input && self.slow_output <= self.input,
            "a sample of {} bytes is larger when it is compressed",
            self.input
        );
        let scale =
            |output: u64| (output as f64 / self.input as f64 * data as f64 + trailers as f64 + 0.5) as u64;
        (scale(self.fast_output), scale(self.slow_output))
    }
}

fn compressed_len(compressor: &mut Option<Compressor>, payload: &[u8], scratch: &mut Vec<u8>) -> Result<u64> {
    let packed = match compressor {
        Some(compressor) => compressor.compress(payload, scratch)?,
        None => false,
    };
    Ok(if packed { scratch.len() } else { payload.len() } as u64)
}
