//! The buffered writer between the engine and an [`Append`] handle.
use std::path::Path;
use std::sync::Arc;

use crate::fs::{Append, Syncer};
use crate::rate::{IoPriority, RateLimiter};
use base::Result;

/// How a [`FileWriter`] writes.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Bytes gathered before a write; `writable_file_max_buffer_size`, 1 MiB.
    pub buffer_bytes: usize,
    /// Start writing back each time that many bytes were written; 0 for never.
    pub bytes_per_sync: u64,
    /// Wait for the write-back before the last one (`strict_bytes_per_sync`).
    pub strict_bytes_per_sync: bool,
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub priority: IoPriority,
    /// Keep a CRC32C of the whole file.
    pub checksum: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            buffer_bytes: 1 << 20,
            bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            rate_limiter: None,
            priority: IoPriority::Total,
            checksum: false,
        }
    }
}

/// A file being written, buffered, limited and checksummed; poisoned for good by its first error.
#[derive(Debug)]
pub struct FileWriter {
    file: Box<dyn Append>,
}

impl FileWriter {
    pub fn new(_file: Box<dyn Append>, _options: WriterOptions) -> FileWriter {
        todo!()
    }
    /// Appends; small pieces are gathered.
    pub fn append(&mut self, _data: &[u8]) -> Result<()> {
        todo!()
    }
    /// Zeros up to `bytes` more.
    pub fn pad(&mut self, _bytes: usize) -> Result<()> {
        todo!()
    }
    /// Hands what is gathered to the system; survives a crash of the process.
    pub fn flush(&mut self) -> Result<()> {
        todo!()
    }
    /// Flushes and makes durable; `fsync` instead of `fdatasync` when asked (`use_fsync`).
    pub fn sync(&mut self, _use_fsync: bool) -> Result<()> {
        todo!()
    }
    /// Syncs what was flushed, from another thread.
    pub fn syncer(&self) -> Arc<dyn Syncer> {
        self.file.syncer()
    }
    /// Bytes appended, gathered ones included, plus what the file had.
    pub fn size(&self) -> u64 {
        todo!()
    }
    /// Bytes handed to the system.
    pub fn flushed_size(&self) -> u64 {
        todo!()
    }
    /// CRC32C of everything appended, not masked; `None` unless asked for.
    pub fn checksum(&self) -> Option<u32> {
        todo!()
    }
    pub fn path(&self) -> &Path {
        self.file.path()
    }
    /// Whether an error has poisoned it.
    pub fn failed(&self) -> bool {
        todo!()
    }
    /// Flushes and closes. Does not sync.
    pub fn close(&mut self) -> Result<()> {
        todo!()
    }
}
