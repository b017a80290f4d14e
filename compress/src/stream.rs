//! ZSTD frames for records that consist of fragments. Compressed WALs use them.
//!
//! A record is one frame. It is written at once and read fragment by fragment. Only the C library can read in
//! this way. Without the feature `zstd`, reading and writing fail with an error.

use base::Result;

/// Writes frames.
pub struct FrameEncoder {
    #[cfg(feature = "zstd")]
    encoder: crate::zstd::Encoder,
}

/// Reads frames.
pub struct FrameDecoder {
    #[cfg(feature = "zstd")]
    context: zstd_safe::DCtx<'static>,
    /// True if the frame has ended. Bytes after the end are corrupt.
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
        /// Aborted if there is no memory. NotSupported if this build does not contain the feature `zstd`.
        pub fn new() -> Result<FrameEncoder> {
            let encoder = crate::zstd::Encoder::new(&CompressionOptions::default(), None)?;
            Ok(FrameEncoder { encoder })
        }

        /// Appends the frame of `record` to `out`.
        ///
        /// # Errors
        /// Aborted for an error of the library. It has no known cause.
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
        /// Aborted if there is no memory. NotSupported if this build does not contain the feature `zstd`.
        pub fn new() -> Result<FrameDecoder> {
            let context =
                DCtx::try_create().ok_or_else(|| Error::aborted("ZSTD: no memory for a context"))?;
            Ok(FrameDecoder { context, ended: false })
        }

        /// Prepares the decoder for a new frame.
        pub fn reset(&mut self) {
            // A reset of the session alone cannot fail.
            let _ = self.context.reset(ResetDirective::SessionOnly);
            self.ended = false;
        }

        /// Decompresses the next piece of the frame and appends the result to `out`. The size of the result
        /// is limited: each block header in the piece gives at most 128 KiB.
        ///
        /// # Errors
        /// Corruption if the piece does not continue the frame.
        pub fn decode(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
            const STEP: usize = 128 << 10;
            let mut input = InBuffer::around(piece);
            loop {
                if self.ended {
                    let whole = input.pos() == piece.len();
                    return if whole {
                        Ok(())
                    } else {
                        Err(damaged(Compression::Zstd, "bytes after the end of the frame"))
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

        /// Prepares the decoder for a new frame.
        pub fn reset(&mut self) {}

        /// # Errors
        /// NotSupported.
        pub fn decode(&mut self, _piece: &[u8], _out: &mut Vec<u8>) -> Result<()> {
            Err(lacking())
        }
    }
}

/// Checks that this build contains ZSTD frames.
///
/// # Errors
/// NotSupported with the name of the feature.
pub fn frames_supported() -> Result<()> {
    FrameDecoder::new().map(|_| ())
}
