//! Writes files through the page cache. Each append is one `pwrite`.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::stats::{IoCounter, IoTimer, io_add};
use base::{Error, Result};

use super::sys;
use crate::clock::IoCpuTimer;
use crate::fs::{Append, AppendHints, Pattern, Syncer};

#[derive(Debug)]
pub(super) struct PosixAppend {
    file: Arc<File>,
    path: PathBuf,
    size: u64,
    preallocate: Preallocation,
    closed: bool,
}

impl PosixAppend {
    pub(super) fn new(file: Arc<File>, path: &Path, hints: &AppendHints, size: u64) -> Self {
        PosixAppend {
            file,
            path: path.to_path_buf(),
            size,
            preallocate: Preallocation::new(hints.preallocate_bytes),
            closed: false,
        }
    }

    fn open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::io_error("the file is closed").file(&self.path));
        }
        Ok(())
    }
}

impl Append for PosixAppend {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.open()?;
        self.preallocate.ahead(&self.file, self.size, data.len() as u64);
        write_full(&self.file, self.size, data)
            .map_err(|e| Error::io("appending", &self.path, e).at(self.size))?;
        self.size += data.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.open()
    }

    fn sync(&mut self) -> Result<()> {
        self.open()?;
        let _time = IoTimer::start(IoCounter::FsyncNanos);
        self.file.sync_data().map_err(|e| Error::io("syncing", &self.path, e))
    }

    fn fsync(&mut self) -> Result<()> {
        self.open()?;
        let _time = IoTimer::start(IoCounter::FsyncNanos);
        self.file.sync_all().map_err(|e| Error::io("syncing", &self.path, e))
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn range_sync(&mut self, offset: u64, length: u64, strict: bool) -> Result<()> {
        self.open()?;
        let _time = IoTimer::start(IoCounter::RangeSyncNanos);
        sys::range_sync(&self.file, offset, length, strict)
            .map_err(|e| Error::io("starting write-back", &self.path, e).at(offset))
    }

    fn preallocate(&mut self, offset: u64, length: u64) -> Result<()> {
        self.open()?;
        self.preallocate.reserve(&self.file, offset, length);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.open()?;
        self.file.set_len(size).map_err(|e| Error::io("truncating a file", &self.path, e))?;
        self.size = size;
        Ok(())
    }

    fn invalidate(&mut self, offset: u64, length: u64) {
        sys::advise(&self.file, offset, length, Pattern::DontNeed);
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(PosixSyncer { file: self.file.clone(), path: self.path.clone() })
    }

    fn close(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        self.preallocate
            .give_back(&self.file)
            .map_err(|e| Error::io("freeing the unused space of a file", &self.path, e))
    }
}

impl Drop for PosixAppend {
    fn drop(&mut self) {
        // The close can only fail to free reserved space. A drop cannot return the error.
        let _ = self.close();
    }
}

#[derive(Debug)]
pub(super) struct PosixSyncer {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
}

impl Syncer for PosixSyncer {
    fn sync(&self) -> Result<()> {
        let _time = IoTimer::start(IoCounter::FsyncNanos);
        self.file.sync_data().map_err(|e| Error::io("syncing", &self.path, e))
    }
}

/// Repeats `pwrite` until all bytes are written.
pub(super) fn write_full(file: &File, offset: u64, data: &[u8]) -> io::Result<()> {
    // Some systems refuse single writes of 2 GiB and more.
    const LIMIT: usize = 1 << 30;
    let _time = IoTimer::start(IoCounter::WriteNanos);
    let _cpu = IoCpuTimer::start(IoCounter::CpuWriteNanos);
    io_add(IoCounter::BytesWritten, data.len() as u64);
    let mut done = 0;
    while done < data.len() {
        let piece = &data[done..data.len().min(done + LIMIT)];
        match file.write_at(piece, offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Disk space that is reserved after the end of the file, in whole blocks. The close frees unused space.
#[derive(Debug)]
pub(super) struct Preallocation {
    block: u64,
    /// The end of the reserved space.
    end: u64,
}

impl Preallocation {
    pub(super) fn new(block: u64) -> Self {
        Preallocation { block, end: 0 }
    }

    /// Reserves the blocks that a write of `length` bytes at `offset` needs, before the write.
    pub(super) fn ahead(&mut self, file: &File, offset: u64, length: u64) {
        if self.block == 0 || offset + length <= self.end {
            return;
        }
        let _time = IoTimer::start(IoCounter::PrepareWriteNanos);
        let start = self.end.max(offset - offset % self.block);
        let end = (offset + length).next_multiple_of(self.block);
        self.reserve(file, start, end - start);
    }

    pub(super) fn reserve(&mut self, file: &File, offset: u64, length: u64) {
        let _time = IoTimer::start(IoCounter::AllocateNanos);
        if sys::allocate(file, offset, length) {
            self.end = self.end.max(offset + length);
        } else {
            self.block = 0;
        }
    }

    /// Frees the reserved space after the end of the file. Most file systems free the space when the file is cut to
    /// its current size; the others when a hole is punched.
    pub(super) fn give_back(&mut self, file: &File) -> io::Result<()> {
        if self.end == 0 {
            return Ok(());
        }
        let m = file.metadata()?;
        if self.end > m.len() {
            file.set_len(m.len())?;
            let m = file.metadata()?;
            let used = m.len().next_multiple_of(m.blksize().max(512));
            if m.blocks() * 512 > used {
                sys::punch(file, m.len(), self.end - m.len());
            }
        }
        self.end = 0;
        Ok(())
    }
}
