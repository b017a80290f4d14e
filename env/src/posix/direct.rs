//! Writes files past the page cache, for flushes and compactions.
//!
//! The writer collects pages in an aligned buffer and writes whole pages. A flush also writes the last, partial page
//! with zeros after its bytes, and cuts the file to its true length. The partial page stays in the buffer and is
//! written again when more bytes come:
//!
//! ```text
//! file     |page|page|page|pa..|         written: offset of the buffer's first page
//! buffer                  |pa..|free|    filled: bytes in it
//! ```

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::stats::{IoCounter, IoTimer};
use base::{Error, Result};

use super::aligned::{AlignedBuffer, PAGE};
use super::append::{PosixSyncer, Preallocation, write_full};
use super::read::read_direct;
use crate::fs::{Append, AppendHints, Syncer};

const BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct DirectAppend {
    file: Arc<File>,
    path: PathBuf,
    buffer: AlignedBuffer,
    filled: usize,
    /// The file offset of the first byte of the buffer, a multiple of the page size.
    written: u64,
    /// True if the buffer holds bytes that are not in the file.
    dirty: bool,
    /// True if the file may be longer than the appended bytes.
    padded: bool,
    preallocate: Preallocation,
    closed: bool,
}

impl DirectAppend {
    pub(super) fn new(file: Arc<File>, path: &Path, hints: &AppendHints, size: u64) -> Result<Self> {
        let mut buffer = AlignedBuffer::new(BUFFER_BYTES);
        let filled = (size % PAGE as u64) as usize;
        let written = size - filled as u64;
        if filled > 0 {
            read_direct(&file, written, &mut buffer.as_mut_slice()[..PAGE])
                .map_err(|e| Error::io("reading the last page to append", path, e).at(written))?;
        }
        Ok(DirectAppend {
            file,
            path: path.to_path_buf(),
            buffer,
            filled,
            written,
            dirty: false,
            padded: false,
            preallocate: Preallocation::new(hints.preallocate_bytes),
            closed: false,
        })
    }

    fn open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::io_error("the file is closed").file(&self.path));
        }
        Ok(())
    }

    /// Writes the first `bytes` bytes of the buffer (whole pages) at their offset.
    fn write_pages(&mut self, bytes: usize) -> Result<()> {
        self.preallocate.ahead(&self.file, self.written, bytes as u64);
        write_full(&self.file, self.written, &self.buffer.as_slice()[..bytes])
            .map_err(|e| Error::io("appending", &self.path, e).at(self.written))
    }

    fn write_out(&mut self) -> Result<()> {
        if self.dirty {
            let whole = self.filled - self.filled % PAGE;
            let padded = self.filled.next_multiple_of(PAGE);
            self.buffer.as_mut_slice()[self.filled..padded].fill(0);
            self.write_pages(padded)?;
            self.padded |= padded > self.filled;
            self.buffer.as_mut_slice().copy_within(whole..padded, 0);
            self.written += whole as u64;
            self.filled -= whole;
            self.dirty = false;
        }
        if self.padded {
            self.set_len(self.size())?;
        }
        Ok(())
    }

    fn set_len(&mut self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|e| Error::io("truncating a file", &self.path, e))?;
        self.padded = false;
        Ok(())
    }
}

impl Append for DirectAppend {
    fn append(&mut self, mut data: &[u8]) -> Result<()> {
        self.open()?;
        while !data.is_empty() {
            let n = data.len().min(self.buffer.len() - self.filled);
            self.buffer.as_mut_slice()[self.filled..self.filled + n].copy_from_slice(&data[..n]);
            self.filled += n;
            self.dirty = true;
            data = &data[n..];
            if self.filled == self.buffer.len() {
                self.write_pages(self.filled)?;
                self.written += self.filled as u64;
                self.filled = 0;
                self.dirty = false;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.open()?;
        self.write_out()
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        let _time = IoTimer::start(IoCounter::FsyncNanos);
        self.file.sync_data().map_err(|e| Error::io("syncing", &self.path, e))
    }

    fn fsync(&mut self) -> Result<()> {
        self.flush()?;
        let _time = IoTimer::start(IoCounter::FsyncNanos);
        self.file.sync_all().map_err(|e| Error::io("syncing", &self.path, e))
    }

    fn size(&self) -> u64 {
        self.written + self.filled as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn preallocate(&mut self, offset: u64, length: u64) -> Result<()> {
        self.open()?;
        self.preallocate.reserve(&self.file, offset, length);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.flush()?;
        self.set_len(size)?;
        let filled = (size % PAGE as u64) as usize;
        self.written = size - filled as u64;
        self.filled = filled;
        if filled > 0 {
            read_direct(&self.file, self.written, &mut self.buffer.as_mut_slice()[..PAGE])
                .map_err(|e| Error::io("reading the last page", &self.path, e).at(self.written))?;
        }
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(PosixSyncer { file: self.file.clone(), path: self.path.clone() })
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        let outcome = self.write_out().and_then(|()| {
            self.preallocate
                .give_back(&self.file)
                .map_err(|e| Error::io("freeing the unused space of a file", &self.path, e))
        });
        self.closed = true;
        outcome
    }
}

impl Drop for DirectAppend {
    fn drop(&mut self) {
        // `close` reports errors; a drop cannot return an error.
        let _ = self.close();
    }
}
