//! zlib with `zlib-rs`: raw deflate streams, with the dictionary as a preset dictionary.
//!
//! Streams are written with the window size of the options (16 KiB by default) and read with the largest
//! window size. So files with every window size can be read.

use std::cell::RefCell;

use base::Result;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Status, Strategy};

use crate::decompress::damaged;
use crate::{Compression, CompressionOptions, Dictionary};

/// A decoder with this window size reads raw streams of every window size.
const LARGEST_WINDOW_BITS: u8 = 15;

pub(crate) struct Encoder {
    /// `None` only during `drop`.
    stream: Option<Deflate>,
    config: DeflateConfig,
    dict: Vec<u8>,
}

thread_local! {
    /// The last streams that this thread no longer uses. A new stream clears a quarter of a megabyte, which
    /// takes longer than writing a small table. A table has one stream for its blocks and one for its index.
    static DEFLATE: RefCell<Vec<(DeflateConfig, Deflate)>> = const { RefCell::new(Vec::new()) };
}

/// The number of streams that are kept. Each has a quarter of a megabyte.
const KEPT_MAX: usize = 2;

impl Encoder {
    pub(crate) fn new(options: &CompressionOptions, dict: Option<&[u8]>) -> Encoder {
        let level =
            if options.level == CompressionOptions::DEFAULT_LEVEL { -1 } else { options.level.clamp(-1, 9) };
        let strategy = match options.strategy {
            1 => Strategy::Filtered,
            2 => Strategy::HuffmanOnly,
            3 => Strategy::Rle,
            4 => Strategy::Fixed,
            _ => Strategy::Default,
        };
        let window_bits = -(options.window_bits.saturating_abs().clamp(9, 15));
        let config = DeflateConfig { level, window_bits, strategy, ..DeflateConfig::default() };
        let kept = DEFLATE.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let at = kept.iter().position(|(of, _)| *of == config)?;
            Some(kept.swap_remove(at).1)
        });
        // If the thread is ending, it keeps no streams any more.
        let stream = Some(kept.ok().flatten().unwrap_or_else(|| Deflate::new_with_config(config)));
        Encoder { stream, config, dict: dict.unwrap_or_default().to_vec() }
    }

    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        let Some(stream) = &mut self.stream else { return Ok(false) };
        stream.reset();
        if !self.dict.is_empty() && stream.set_dictionary(&self.dict).is_err() {
            return Ok(false);
        }
        let start = payload.len();
        payload.resize(limit, 0);
        let status = stream.compress(block, &mut payload[start..], DeflateFlush::Finish);
        payload.truncate(start + stream.total_out() as usize);
        let whole = matches!(status, Ok(Status::StreamEnd));
        if !whole && !drain(stream) {
            *stream = Deflate::new_with_config(self.config);
        }
        Ok(whole)
    }
}

/// Writes out the pending output of a stream. Returns false if the stream does not end. `reset` of zlib-rs
/// 0.6.8 forgets the pending output, but keeps its position in the buffer. After a sequence of
/// incompressible blocks the position would reach the end of the buffer, and zlib-rs would panic.
fn drain(stream: &mut Deflate) -> bool {
    let mut rest = [0; 4096];
    loop {
        let before = stream.total_out();
        match stream.compress(&[], &mut rest, DeflateFlush::Finish) {
            Ok(Status::StreamEnd) => return true,
            Ok(_) if stream.total_out() > before => {}
            _ => return false,
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        // A thread that is ending keeps no streams.
        let _ = DEFLATE.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() == KEPT_MAX {
                kept.remove(0);
            }
            kept.push((self.config, stream));
        });
    }
}

thread_local! {
    static INFLATE: RefCell<Option<Inflate>> = const { RefCell::new(None) };
}

/// Frees the streams that this thread keeps.
pub(crate) fn forget() {
    // A thread that is ending frees its streams itself.
    drop(DEFLATE.try_with(RefCell::take));
    drop(INFLATE.try_with(RefCell::take));
}

pub(crate) fn decode(stream: &[u8], dict: Option<&Dictionary>, block: &mut [u8]) -> Result<()> {
    let mut with = |kept: &mut Option<Inflate>| {
        let inflate = kept.get_or_insert_with(|| Inflate::new(false, LARGEST_WINDOW_BITS));
        inflate.reset(false);
        if let Some(dict) = dict.filter(|dict| !dict.raw().is_empty()) {
            inflate.set_dictionary(dict.raw()).map_err(|error| damaged(Compression::Zlib, error.as_str()))?;
        }
        let status = inflate
            .decompress(stream, block, InflateFlush::Finish)
            .map_err(|error| damaged(Compression::Zlib, error.as_str()))?;
        match (status, inflate.total_out() == block.len() as u64) {
            (Status::StreamEnd, true) => Ok(()),
            _ => Err(damaged(
                Compression::Zlib,
                "the stream does not end at the length that the payload states",
            )),
        }
    };
    match INFLATE.try_with(|_| ()) {
        Ok(()) => INFLATE.with_borrow_mut(with),
        // The thread is ending and has no stream any more.
        Err(_) => with(&mut None),
    }
}
