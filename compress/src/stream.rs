//! Frames of ZSTD for records that lie in pieces: what compressed WALs are made of.
//!
//! A record is one frame, written whole and read piece by piece, as the pieces come. Only the C library can
//! read that way; without the feature `zstd` both directions are refused.

use base::Result;

/// Makes frames.
pub struct FrameEncoder {
    #[cfg(feature = "zstd")]
    encoder: crate::zstd::Encoder,
}

/// Reads frames.
pub struct FrameDecoder {
    #[cfg(feature = "zstd")]
    context: zstd_safe::DCtx<'static>,
    /// The frame ended; bytes behind its end are damage.
    #[cfg(feature = "zstd")]
    ended: bool,
}

#[cfg(feature = "zstd")]
mod built {
    use base::{Error, Result};
    use zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective, get_error_name};

    use super::{FrameDecoder, FrameEncoder};
    use crate::decompress::damaged;
    use crate::{Compression, CompressionOptions};

    impl FrameEncoder {
        /// # Errors
        /// Aborted without memory; NotSupported in a build without the feature `zstd`.
        pub fn new() -> Result<FrameEncoder> {
            let encoder = crate::zstd::Encoder::new(&CompressionOptions::default(), None)?;
            Ok(FrameEncoder { encoder })
        }

        /// Appends the frame of `record` to `out`.
        ///
        /// # Errors
        /// Aborted if the library fails, which it has no cause to.
        pub fn encode(&mut self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
            let limit = out.len() + zstd_safe::compress_bound(record.len());
            match self.encoder.encode(record, out, limit)? {
                true => Ok(()),
                false => Err(Error::aborted("ZSTD: a frame is longer than it can be")),
            }
        }
    }

    impl FrameDecoder {
        /// # Errors
        /// Aborted without memory; NotSupported in a build without the feature `zstd`.
        pub fn new() -> Result<FrameDecoder> {
            let context =
                DCtx::try_create().ok_or_else(|| Error::aborted("ZSTD: no memory for a context"))?;
            Ok(FrameDecoder { context, ended: false })
        }

        /// A new frame begins.
        pub fn reset(&mut self) {
            // Resetting the session alone cannot fail.
            let _ = self.context.reset(ResetDirective::SessionOnly);
            self.ended = false;
        }

        /// Appends what the next piece of the frame gives to `out`. What comes out is bounded by what goes in:
        /// a block of at most 128 KiB for each of its headers.
        ///
        /// # Errors
        /// Corruption if the piece is no continuation of a frame.
        pub fn decode(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
            const STEP: usize = 128 << 10;
            let mut input = InBuffer::around(piece);
            loop {
                if self.ended {
                    let whole = input.pos() == piece.len();
                    return if whole {
                        Ok(())
                    } else {
                        Err(damaged(Compression::Zstd, "bytes behind the frame"))
                    };
                }
                let start = out.len();
                out.resize(start + STEP, 0);
                let mut output = OutBuffer::around(&mut out[start..]);
                let left = self.context.decompress_stream(&mut output, &mut input);
                let written = output.pos();
                out.truncate(start + written);
                let left = left.map_err(|code| damaged(Compression::Zstd, get_error_name(code)))?;
                self.ended = left == 0;
                if !self.ended && written < STEP && input.pos() == piece.len() {
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(not(feature = "zstd"))]
mod built {
    use base::{Error, Result};

    use super::{FrameDecoder, FrameEncoder};

    #[cold]
    fn lacking() -> Error {
        Error::not_supported("wal_compression: needs the feature `zstd` (the C library)")
    }

    impl FrameEncoder {
        /// # Errors
        /// NotSupported.
        pub fn new() -> Result<FrameEncoder> {
            Err(lacking())
        }

        /// # Errors
        /// NotSupported.
        pub fn encode(&mut self, _record: &[u8], _out: &mut Vec<u8>) -> Result<()> {
            Err(lacking())
        }
    }

    impl FrameDecoder {
        /// # Errors
        /// NotSupported.
        pub fn new() -> Result<FrameDecoder> {
            Err(lacking())
        }

        /// A new frame begins.
        pub fn reset(&mut self) {}

        /// # Errors
        /// NotSupported.
        pub fn decode(&mut self, _piece: &[u8], _out: &mut Vec<u8>) -> Result<()> {
            Err(lacking())
        }
    }
}

/// Whether this build has them.
///
/// # Errors
/// NotSupported naming the feature.
pub fn frames_supported() -> Result<()> {
    FrameDecoder::new().map(|_| ())
}
