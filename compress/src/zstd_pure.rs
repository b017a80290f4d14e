//! ZSTD without C, with `ruzstd`. It reads all frames, also with trained dictionaries, and writes with one
//! fixed level. These operations fail with an error: writing with a dictionary, dictionaries of raw content,
//! and training.

use std::cell::RefCell;

use base::{Error, Result};
use ruzstd::decoding::{Dictionary as Trained, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::decompress::damaged;
use crate::{Compression, CompressionOptions, Dictionary};

/// Each decoder parses the dictionary itself, so nothing is shared.
pub(crate) type Digested = ();

const TRAINED_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

pub(crate) struct Encoder;

impl Encoder {
    pub(crate) fn new(options: &CompressionOptions, dict: Option<&[u8]>) -> Result<Encoder> {
        if dict.is_some() {
            return Err(lacking("writing with a dictionary"));
        }
        if options.checksum {
            return Err(lacking("frames with a checksum of their own"));
        }
        Ok(Encoder)
    }

    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        payload.extend_from_slice(&compress_to_vec(block, CompressionLevel::Fastest));
        Ok(payload.len() <= limit)
    }
}

thread_local! {
    static DECODER: RefCell<FrameDecoder> = RefCell::new(FrameDecoder::new());
}

/// Frees the decoder windows that this thread keeps.
pub(crate) fn forget() {
    // A thread that is ending frees its windows itself.
    drop(DECODER.try_with(|kept| kept.replace(FrameDecoder::new())));
}

pub(crate) fn decode(stream: &[u8], dict: Option<&Dictionary>, block: &mut [u8]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| damaged(Compression::Zstd, &error.to_string());
    let done = match dict.filter(|dict| !dict.raw().is_empty()) {
        None => match DECODER.try_with(|decoder| decoder.borrow_mut().decode_all(stream, block)) {
            Ok(done) => done,
            // The thread is ending and has no decoder any more.
            Err(_) => FrameDecoder::new().decode_all(stream, block),
        },
        Some(dict) if dict.raw().starts_with(&TRAINED_MAGIC) => {
            let trained = Trained::decode_dict(dict.raw()).map_err(|error| failed(&error))?;
            let mut decoder = FrameDecoder::new();
            decoder.add_dict(trained).map_err(|error| failed(&error))?;
            decoder.decode_all(stream, block)
        }
        Some(_) => return Err(lacking("a dictionary of raw content")),
    };
    match done {
        Ok(len) if len == block.len() => Ok(()),
        Ok(_) => Err(damaged(Compression::Zstd, "too short")),
        Err(error) => Err(failed(&error)),
    }
}

pub(crate) fn train(_: &CompressionOptions, _: &[u8], _: &[usize]) -> Result<Vec<u8>> {
    Err(lacking("training a dictionary"))
}

#[cold]
fn lacking(what: &str) -> Error {
    Error::not_supported(format!("ZSTD, {what}: needs the feature `zstd` (the C library)"))
}
