//! LZ4 blocks. `kernel` encodes the fast levels and decodes; `lz4_flex` decodes with a dictionary. The match finder of this module
//! encodes LZ4HC, because no pure-Rust crate has LZ4HC.
//!
//! ```text
//! level ≤ 0   fast: one candidate per position, `-level` is the acceleration    stored as LZ4
//! level ≥ 1   hc: hash chains, longer with a higher level (1 to 12)             stored as LZ4HC
//! ```
//! A dictionary is a prefix: its last 64 KiB are placed before the block, and matches may refer to them.

mod emit;
mod hc;

use base::Result;
use lz4_flex::block;

use crate::decompress::damaged;
use crate::scratch::{Scratch, append};
use crate::{Compression, CompressionOptions, Dictionary};

/// The largest distance of a match.
const WINDOW: usize = 64 * 1024;

enum Effort {
    Fast(kernel::lz4::Encoder),
    Hc(hc::Searcher),
}

pub(crate) struct Encoder {
    effort: Effort,
    /// The end of the dictionary, then space for a block.
    text: Vec<u8>,
    dict_len: usize,
    scratch: Scratch,
}

impl Encoder {
    pub(crate) fn new(kind: Compression, options: &CompressionOptions, dict: Option<&[u8]>) -> Encoder {
        let level = match (options.level, kind) {
            (CompressionOptions::DEFAULT_LEVEL, Compression::Lz4hc) => 9,
            (CompressionOptions::DEFAULT_LEVEL, _) => -1,
            (level, _) => level,
        };
        let text = tail(dict.unwrap_or_default()).to_vec();
        let effort = match level {
            1.. => Effort::Hc(hc::Searcher::new(level.min(12) as u32)),
            _ => Effort::Fast(kernel::lz4::Encoder::with_prefix(level.unsigned_abs(), &text)),
        };
        Encoder { effort, dict_len: text.len(), text, scratch: Scratch::default() }
    }

    pub(crate) fn stored(&self) -> Compression {
        match self.effort {
            Effort::Hc(_) => Compression::Lz4hc,
            _ => Compression::Lz4,
        }
    }

    pub(crate) fn encode(&mut self, input: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        let text = if self.dict_len == 0 {
            input
        } else {
            self.text.truncate(self.dict_len);
            self.text.extend_from_slice(input);
            &self.text
        };
        match &mut self.effort {
            Effort::Fast(encoder) => {
                // A longer output is not needed, so the encoder stops if the output becomes longer.
                let room = limit.saturating_sub(payload.len()).min(kernel::lz4::encoded_len_max(input.len()));
                let output = self.scratch.room(room);
                let Some(len) = encoder.encode(text, output) else { return Ok(false) };
                Ok(append(payload, &output[..len], limit))
            }
            Effort::Hc(searcher) => {
                searcher.compress(text, self.dict_len, self.scratch.bytes());
                Ok(append(payload, self.scratch.bytes(), limit))
            }
        }
    }
}

pub(crate) fn decode(stream: &[u8], dict: Option<&Dictionary>, output: &mut [u8]) -> Result<()> {
    let dict = dict.map(|dict| tail(dict.raw())).filter(|dict| !dict.is_empty());
    let len = match dict {
        None => kernel::lz4::decode(stream, output).ok_or_else(|| {
            damaged(Compression::Lz4, "the stream is corrupt, or longer than the payload states")
        })?,
        Some(dict) => block::decompress_into_with_dict(stream, output, dict)
            .map_err(|error| damaged(Compression::Lz4, &error.to_string()))?,
    };
    if len == output.len() { Ok(()) } else { Err(damaged(Compression::Lz4, "too short")) }
}

/// Returns the part of a dictionary that matches can reach.
fn tail(dict: &[u8]) -> &[u8] {
    &dict[dict.len().saturating_sub(WINDOW - 1)..]
}

/// Reads four bytes at `at`.
#[inline(always)]
fn read32(text: &[u8], at: usize) -> u32 {
    match text.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => 0,
    }
}

/// Returns the number of equal bytes from `a` and from `b` on. Stops at `end`. `a < b`.
#[inline]
fn common(text: &[u8], a: usize, b: usize, end: usize) -> usize {
    let (left, right) = (&text[a..], &text[b..end]);
    let mut len = 0;
    for (x, y) in left.chunks_exact(8).zip(right.chunks_exact(8)) {
        let differ = u64::from_le_bytes(x.try_into().unwrap_or_default())
            ^ u64::from_le_bytes(y.try_into().unwrap_or_default());
        if differ != 0 {
            return len + differ.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + left[len..].iter().zip(&right[len..]).take_while(|(x, y)| x == y).count()
}
