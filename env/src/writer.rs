//! The buffered writer between the engine and an [`Append`] handle: RocksDB's `WritableFileWriter`.
//!
//! Small appends collect in a buffer that starts at 64 KiB and doubles up to its limit. A large append goes directly
//! to the file if the buffer is empty. Each write first waits for the rate limiter, burst by burst. After every
//! `bytes_per_sync` bytes, the writer asks the system to start writing to disk all but the last mebibyte, so that the
//! sync at the end takes little time.
//!
//! The first error poisons the writer, and every later call returns this error. After an error, the state of the file
//! is unknown: a part of an append may be in the file, and a failed sync may have lost bytes. More appends could
//! leave a hole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base::stats::{HistogramKind, Statistics, Stopwatch};
use base::{Error, Result};

use crate::fs::{Append, Syncer};
use crate::rate::{Direction, Granted, IoPriority, RateLimiter};

#[cfg(test)]
mod tests;

/// The settings of a [`FileWriter`].
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The bytes to collect before a write. Default: 1 MiB (`writable_file_max_buffer_size`). 0 collects nothing.
    pub buffer_bytes: usize,
    /// The number of written bytes after which the writer starts to write the file to disk. 0 disables this.
    pub bytes_per_sync: u64,
    /// Before it starts to write the next bytes to disk, the writer waits for the bytes before
    /// (`strict_bytes_per_sync`).
    pub strict_bytes_per_sync: bool,
    /// The limiter that each append asks first. `None`: no limit.
    pub rate_limiter: Option<Arc<RateLimiter>>,
    /// The priority of the writer's requests to the rate limiter.
    pub priority: IoPriority,
    /// The statistics that count the waits and the times of writes.
    pub statistics: Option<Arc<Statistics>>,
    /// The histogram of the times of writes. For an SST file: one of `file.write.*.micros`; the times are also
    /// counted in `sst.write.micros`. For a blob file: `blobdb.blob.file.write.micros` only.
    pub histogram: Option<HistogramKind>,
    /// Computes a CRC32C of the whole file. Only for files that are written from their start.
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
            statistics: None,
            histogram: None,
            checksum: false,
        }
    }
}

const FIRST_BUFFER_BYTES: usize = 64 << 10;
/// The last bytes of the file are not written to disk early, because the next append would change their page again.
const SYNC_MARGIN_BYTES: u64 = 1 << 20;
const SYNC_ALIGN_BYTES: u64 = 4 << 10;

/// Writes a file through a buffer, the rate limiter and a checksum. The first error poisons the writer.
#[derive(Debug)]
pub struct FileWriter {
    file: Box<dyn Append>,
    options: WriterOptions,
    buffer: Vec<u8>,
    checksum: u32,
    /// The offset up to which writing to disk was started.
    synced_to: u64,
    granted: Granted,
    poison: Arc<OnceLock<Error>>,
}

impl FileWriter {
    /// Makes a writer that appends to `file`.
    pub fn new(file: Box<dyn Append>, options: WriterOptions) -> FileWriter {
        FileWriter {
            buffer: Vec::new(),
            checksum: 0,
            synced_to: file.size(),
            granted: Granted::default(),
            poison: Arc::default(),
            file,
            options,
        }
    }

    /// Appends bytes. Small appends collect in the buffer.
    #[inline]
    pub fn append(&mut self, data: &[u8]) -> Result<()> {
        self.check()?;
        if self.options.checksum {
            self.checksum = kernel::checksum::crc32c::extend(self.checksum, data);
        }
        if self.buffer.len() + data.len() > self.options.buffer_bytes {
            self.spill()?;
            if data.len() >= self.options.buffer_bytes {
                return self.write_through(data);
            }
        }
        if self.buffer.capacity() < self.buffer.len() + data.len() {
            let wanted =
                (self.buffer.len() + data.len()).max(self.buffer.capacity() * 2).max(FIRST_BUFFER_BYTES);
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// Appends zeros.
    pub fn pad(&mut self, bytes: usize) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut left = bytes;
        while left > 0 {
            let n = left.min(ZEROS.len());
            self.append(&ZEROS[..n])?;
            left -= n;
        }
        self.check()
    }

    /// Passes the buffered bytes to the operating system. The bytes then survive a crash of the process.
    pub fn flush(&mut self) -> Result<()> {
        self.check()?;
        self.spill()?;
        self.run(|file| file.flush())?;
        self.start_write_back()
    }

    /// Flushes the buffer and makes the file durable, with `fsync` or `fdatasync`.
    pub fn sync(&mut self, use_fsync: bool) -> Result<()> {
        self.flush()?;
        self.run(|file| if use_fsync { file.fsync() } else { file.sync() })
    }

    /// Returns a handle that syncs the flushed bytes from another thread. If the sync fails, this writer is poisoned
    /// too.
    pub fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(PoisoningSyncer {
            inner: self.file.syncer(),
            poison: self.poison.clone(),
            path: self.file.path().to_path_buf(),
        })
    }

    /// Returns the size of the file, buffered bytes included.
    #[inline]
    pub fn size(&self) -> u64 {
        self.file.size() + self.buffer.len() as u64
    }

    /// Returns the bytes that were passed to the operating system.
    #[cfg(test)]
    pub(crate) fn flushed_size(&self) -> u64 {
        self.file.size()
    }

    /// Returns the CRC32C of all appended bytes, not masked; `None` if `WriterOptions::checksum` is not set.
    pub fn checksum(&self) -> Option<u32> {
        self.options.checksum.then_some(self.checksum)
    }

    /// Returns the sum of the grants of the rate limiter.
    pub fn granted(&self) -> Granted {
        self.granted
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns true if an error has poisoned the writer.
    pub fn failed(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Flushes and closes. Does not sync. A poisoned writer closes its file and returns its error.
    pub fn close(&mut self) -> Result<()> {
        let outcome = self.check().and_then(|()| self.spill()).and_then(|()| self.run(|f| f.flush()));
        let closed = self.file.close();
        outcome.and(closed.map_err(|e| self.poisoned(e)))
    }

    #[inline]
    fn check(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(e) => Err(e.clone()),
        }
    }

    fn run(&mut self, act: impl FnOnce(&mut dyn Append) -> Result<()>) -> Result<()> {
        act(&mut *self.file).map_err(|e| self.poisoned(e))
    }

    #[cold]
    fn poisoned(&self, error: Error) -> Error {
        self.poison.get_or_init(|| error).clone()
    }

    fn spill(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.write_through(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        outcome
    }

    fn write_through(&mut self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            let n = match &self.options.rate_limiter {
                None => data.len(),
                Some(limiter) => {
                    let g = limiter.request_token(data.len(), 0, self.options.priority, Direction::Write);
                    self.granted.bytes += g.bytes;
                    self.granted.wait_us += g.wait_us;
                    self.granted.drains += g.drains;
                    self.granted.delayed |= g.delayed;
                    if let Some(statistics) = &self.options.statistics
                        && limiter.counts(self.options.priority, Direction::Write)
                    {
                        g.count(Direction::Write, statistics);
                    }
                    (g.bytes as usize).clamp(1, data.len())
                }
            };
            let (now, later) = data.split_at(n);
            let start = self.timed().map(|_| Stopwatch::start());
            self.run(|file| file.append(now))?;
            if let (Some(start), Some((statistics, histogram))) = (start, self.timed()) {
                let micros = start.micros();
                if histogram != HistogramKind::BlobDbBlobFileWriteMicros {
                    statistics.measure_time(HistogramKind::SstWriteMicros, micros);
                }
                statistics.measure_time(histogram, micros);
            }
            data = later;
        }
        self.start_write_back()
    }

    /// Returns the statistics and the histogram for the times of writes, if times are collected.
    fn timed(&self) -> Option<(&Statistics, HistogramKind)> {
        let statistics = self.options.statistics.as_deref().filter(|s| s.timers_on())?;
        Some((statistics, self.options.histogram?))
    }

    fn start_write_back(&mut self) -> Result<()> {
        let every = self.options.bytes_per_sync;
        let end = self.file.size().saturating_sub(SYNC_MARGIN_BYTES);
        let end = end - end % SYNC_ALIGN_BYTES;
        if every == 0 || end < self.synced_to.saturating_add(every) {
            return Ok(());
        }
        let (from, strict) = (self.synced_to, self.options.strict_bytes_per_sync);
        self.synced_to = end;
        self.run(|file| file.range_sync(from, end - from, strict))
    }
}

#[derive(Debug)]
struct PoisoningSyncer {
    inner: Arc<dyn Syncer>,
    poison: Arc<OnceLock<Error>>,
    path: PathBuf,
}

impl Syncer for PoisoningSyncer {
    fn sync(&self) -> Result<()> {
        if let Some(e) = self.poison.get() {
            return Err(e.clone().file(&self.path));
        }
        self.inner.sync().map_err(|e| self.poison.get_or_init(|| e).clone())
    }
}
