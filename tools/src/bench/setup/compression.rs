//! Compression types and compressors, from the flags.

use base::{Error, Result};
use compress::{Compression, CompressionOptions, Compressor};

use crate::bench::flags::Flags;

/// Returns the compression type that a flag names.
///
/// # Errors
/// InvalidArgument for an unknown name.
pub fn compression(flags: &Flags, flag: &str) -> Result<Compression> {
    let name = flags.text(flag).to_ascii_lowercase();
    Compression::by_flag_name(&name).ok_or_else(|| {
        let known: Vec<&str> = compress::supported().iter().map(|kind| kind.flag_name()).collect();
        Error::invalid_argument(format!("--{flag}={name}; known: {}", known.join(", ")))
    })
}

/// Returns the compressor of `--compression_type`, for the benchmarks that only compress.
///
/// # Errors
/// InvalidArgument for an unknown name. NotSupported if the compression is not built in.
pub fn compressor(flags: &Flags) -> Result<(Compression, Compressor)> {
    compressor_with(flags, CompressionOptions::default())
}

/// Returns the compressor of `--compression_type`. It rejects data that does not shrink to `share` of its size.
///
/// # Errors
/// The errors of [`compressor`].
pub fn picky_compressor(flags: &Flags, share: f64) -> Result<(Compression, Compressor)> {
    let most = (share * 1024.0) as i32;
    compressor_with(
        flags,
        CompressionOptions { max_compressed_bytes_per_kb: most.max(1), ..CompressionOptions::default() },
    )
}

fn compressor_with(flags: &Flags, options: CompressionOptions) -> Result<(Compression, Compressor)> {
    let kind = compression(flags, "compression_type")?;
    let options = CompressionOptions { level: flags.int("compression_level") as i32, ..options };
    Ok((kind, Compressor::new(kind, &options, None)?))
}
