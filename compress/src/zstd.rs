//! ZSTD with the reference library. A compressor keeps its context with the digested dictionary. Readers
//! share a digested dictionary, and each thread keeps one decompression context.

use std::cell::RefCell;

use base::{Error, Result};
use zstd_safe::{CCtx, CParameter, DCtx, DDict, get_error_name};

use crate::decompress::damaged;
use crate::{Compression, CompressionOptions, Dictionary};

/// A dictionary in the form that the decoder uses.
pub(crate) type Digested = Option<DDict<'static>>;

/// The trainer needs at least this number of samples.
const SAMPLES_MIN: usize = 8;

pub(crate) struct Encoder {
    context: CCtx<'static>,
}

impl Encoder {
    pub(crate) fn new(options: &CompressionOptions, dict: Option<&[u8]>) -> Result<Encoder> {
        let mut context =
            CCtx::try_create().ok_or_else(|| Error::aborted("ZSTD: no memory for a context"))?;
        // RocksDB replaces level 0 by -1. In ZSTD, 0 means the default level.
        let level = match options.level {
            CompressionOptions::DEFAULT_LEVEL => 3,
            0 => -1,
            level => level,
        };
        let failed = |code| Error::invalid_argument(format!("ZSTD: {}", get_error_name(code)));
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        context.set_parameter(CParameter::ChecksumFlag(options.checksum)).map_err(failed)?;
        if let Some(dict) = dict {
            context.load_dictionary(dict).map_err(failed)?;
        }
        Ok(Encoder { context })
    }

    pub(crate) fn encode(&mut self, block: &[u8], payload: &mut Vec<u8>, limit: usize) -> Result<bool> {
        let start = payload.len();
        payload.resize(limit, 0);
        match self.context.compress2(&mut payload[start..], block) {
            Ok(len) => {
                payload.truncate(start + len);
                Ok(true)
            }
            // The only error that occurs: the output would be longer than the limit.
            Err(_) => Ok(false),
        }
    }
}

thread_local! {
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Frees the context that this thread keeps.
pub(crate) fn forget() {
    // A thread that is ending frees its context itself.
    drop(CONTEXT.try_with(RefCell::take));
}

pub(crate) fn decode(stream: &[u8], dict: Option<&Dictionary>, block: &mut [u8]) -> Result<()> {
    let mut with = |kept: &mut Option<DCtx<'static>>| {
        if kept.is_none() {
            *kept = DCtx::try_create();
        }
        let Some(context) = kept else { return Err(Error::aborted("ZSTD: no memory for a context")) };
        let done = match dict.filter(|dict| !dict.raw().is_empty()) {
            None => context.decompress(block, stream),
            Some(dict) => match dict.zstd.get_or_init(|| DDict::try_create(dict.raw())) {
                Some(digested) => context.decompress_using_ddict(block, stream, digested),
                None => {
                    return Err(damaged(
                        Compression::Zstd,
                        "the dictionary of the file is not a ZSTD dictionary",
                    ));
                }
            },
        };
        match done {
            Ok(len) if len == block.len() => Ok(()),
            Ok(_) => Err(damaged(Compression::Zstd, "too short")),
            Err(code) => Err(damaged(Compression::Zstd, get_error_name(code))),
        }
    };
    match CONTEXT.try_with(|_| ()) {
        Ok(()) => CONTEXT.with_borrow_mut(with),
        // The thread is ending and has no context any more.
        Err(_) => with(&mut None),
    }
}

/// Makes a dictionary from samples. The trainer chooses the content. If `use_zstd_dict_trainer` is false, the
/// samples are the content. The library could also add statistics to such content ("finalize"), but the safe
/// bindings do not have this function. ZSTD also accepts raw content as a dictionary.
pub(crate) fn train(options: &CompressionOptions, samples: &[u8], lens: &[usize]) -> Result<Vec<u8>> {
    let longest = options.max_dict_bytes as usize;
    if !options.use_zstd_dict_trainer {
        return Ok(samples[..samples.len().min(longest)].to_vec());
    }
    if lens.len() < SAMPLES_MIN {
        return Ok(Vec::new());
    }
    let mut dict = Vec::with_capacity(longest);
    match zstd_safe::train_from_buffer(&mut dict, samples, lens) {
        Ok(len) => {
            dict.truncate(len);
            Ok(dict)
        }
        // The samples are too small or too uniform: no dictionary, as in RocksDB.
        Err(_) => Ok(Vec::new()),
    }
}
