//! Reading files: at any offset, or from start to end.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use base::stats::{IoCounter, IoTimer, io_add};
use base::{Error, Result};

use super::aligned::{AlignedBuffer, PAGE};
use super::sys::{self, NoWait};
use crate::clock::IoCpuTimer;
use crate::fs::{Pattern, RandomRead, SequentialRead};
use crate::sync::OnceLock;

#[derive(Debug)]
pub(super) struct PosixRandom {
    file: File,
    path: PathBuf,
    direct: bool,
    /// Set by the first read without a wait that the file system rejects. The value is true on a tmpfs: there, no read waits for a
    /// device.
    is_in_memory: OnceLock<bool>,
}

impl PosixRandom {
    pub(super) fn new(file: File, path: &Path, direct: bool) -> Self {
        PosixRandom { file, path: path.to_path_buf(), direct, is_in_memory: OnceLock::new() }
    }

    /// Fills the buffer and returns true, if this needs no wait for the device. A tmpfs rejects a read without a wait, although none
    /// of its reads waits: such a file is read as usual, and the rejected call is not repeated.
    fn read_without_wait(&self, offset: u64, buffer: &mut [u8]) -> bool {
        if self.is_in_memory.get().is_none() {
            match sys::read_in_memory(&self.file, offset, buffer) {
                NoWait::Read => return true,
                NoWait::NotRead => return false,
                NoWait::NotSupported => {}
            }
        }
        *self.is_in_memory.get_or_init(|| sys::is_tmpfs(&self.file))
            && read_full(&self.file, offset, buffer).is_ok_and(|got| got == buffer.len())
    }
}

impl RandomRead for PosixRandom {
    #[inline]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let _time = IoTimer::start(IoCounter::ReadNanos);
        let _cpu = IoCpuTimer::start(IoCounter::CpuReadNanos);
        let outcome = if self.direct {
            read_direct(&self.file, offset, buffer)
        } else {
            read_full(&self.file, offset, buffer)
        };
        let got = outcome.map_err(|e| Error::io("reading", &self.path, e).at(offset))?;
        io_add(IoCounter::BytesRead, got as u64);
        Ok(got)
    }

    fn read_to(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        if self.direct {
            buffer.resize(length, 0);
            let got = self.read_at(offset, buffer)?;
            buffer.truncate(got);
            return Ok(());
        }
        let _time = IoTimer::start(IoCounter::ReadNanos);
        let _cpu = IoCpuTimer::start(IoCounter::CpuReadNanos);
        sys::read_to(&self.file, offset, length, buffer)
            .map_err(|e| Error::io("reading", &self.path, e).at(offset))?;
        io_add(IoCounter::BytesRead, buffer.len() as u64);
        Ok(())
    }

    fn read_ready(&self, offset: u64, buffer: &mut [u8]) -> bool {
        if self.direct {
            return false;
        }
        let _time = IoTimer::start(IoCounter::ReadNanos);
        if self.read_without_wait(offset, buffer) {
            io_add(IoCounter::BytesRead, buffer.len() as u64);
            return true;
        }
        sys::advise(&self.file, offset, buffer.len() as u64, Pattern::WillNeed);
        false
    }

    fn size(&self) -> Result<u64> {
        self.file.metadata().map(|m| m.len()).map_err(|e| Error::io("reading a file's status", &self.path, e))
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, offset: u64, length: u64) -> bool {
        !self.direct && sys::advise(&self.file, offset, length, Pattern::WillNeed)
    }

    fn advise(&self, pattern: Pattern) {
        if !self.direct {
            sys::advise(&self.file, 0, 0, pattern);
        }
    }

    fn invalidate(&self, offset: u64, length: u64) {
        if !self.direct {
            sys::advise(&self.file, offset, length, Pattern::DontNeed);
        }
    }

    fn alignment(&self) -> usize {
        if self.direct { PAGE } else { 1 }
    }
}

/// Repeats `pread` until the buffer is full or the file ends.
pub(super) fn read_full(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|r| !r.is_empty()) {
        match file.read_at(rest, offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Reads from a file that is open for direct I/O, as [`read_full`] does. An aligned request goes directly into the
/// buffer. Other requests go through a page buffer of the thread.
pub(super) fn read_direct(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let aligned = |n: u64| n.is_multiple_of(PAGE as u64);
    if aligned(offset) && aligned(buffer.len() as u64) && aligned(buffer.as_ptr() as u64) {
        return read_pages(file, offset, buffer);
    }
    thread_local! {
        static BOUNCE: RefCell<AlignedBuffer> = RefCell::new(AlignedBuffer::new(16 * PAGE));
    }
    let lead = (offset % PAGE as u64) as usize;
    let mut through = |bounce: &mut AlignedBuffer| {
        let mut done = 0;
        // The first part starts inside of a page, all later parts at a page.
        let mut skip = lead;
        while done < buffer.len() {
            let want = (skip + buffer.len() - done).next_multiple_of(PAGE).min(bounce.len());
            let at = offset - lead as u64 + (lead + done - skip) as u64;
            let got = read_pages(file, at, &mut bounce.as_mut_slice()[..want])?;
            let useful = got.saturating_sub(skip).min(buffer.len() - done);
            buffer[done..done + useful].copy_from_slice(&bounce.as_slice()[skip..skip + useful]);
            done += useful;
            skip = 0;
            if got < want {
                break;
            }
        }
        Ok(done)
    };
    match BOUNCE.try_with(|_| ()) {
        Ok(()) => BOUNCE.with_borrow_mut(through),
        // The thread is ending, and its buffer is already freed.
        Err(_) => through(&mut AlignedBuffer::new(16 * PAGE)),
    }
}

/// Reads whole pages. If the system returns a partial page, the file ends there.
fn read_pages(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => {
                done += n;
                if n % PAGE != 0 {
                    break;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

#[derive(Debug)]
pub(super) struct PosixSequential {
    file: File,
    path: PathBuf,
    offset: u64,
}

impl PosixSequential {
    pub(super) fn new(file: File, path: &Path) -> Self {
        sys::advise(&file, 0, 0, Pattern::Sequential);
        PosixSequential { file, path: path.to_path_buf(), offset: 0 }
    }
}

impl SequentialRead for PosixSequential {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let _time = IoTimer::start(IoCounter::ReadNanos);
        let _cpu = IoCpuTimer::start(IoCounter::CpuReadNanos);
        let n = read_full(&self.file, self.offset, buffer)
            .map_err(|e| Error::io("reading", &self.path, e).at(self.offset))?;
        io_add(IoCounter::BytesRead, n as u64);
        self.offset += n as u64;
        Ok(n)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.offset = self.offset.saturating_add(bytes);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Fills the buffer from `/dev/urandom`.
pub(super) fn read_random_device(out: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(out)
}

#[cfg(all(test, target_os = "linux", target_env = "gnu", not(miri)))]
mod tests {
    use super::*;

    /// A tmpfs has no read without a wait (`RWF_NOWAIT`), but none of its reads waits for a device. A machine without a tmpfs at this
    /// path checks only the bytes.
    #[test]
    fn a_read_on_a_tmpfs_is_ready() {
        let shared = Path::new("/dev/shm");
        let dir = tempfile::tempdir_in(if shared.is_dir() { shared } else { Path::new("/tmp") }).unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, [7; 5000]).unwrap();
        let file = PosixRandom::new(File::open(&path).unwrap(), &path, false);
        let is_in_memory = sys::is_tmpfs(&file.file);
        for _ in 0..2 {
            let mut buffer = [0; 1000];
            let is_ready = file.read_ready(4000, &mut buffer);
            assert!(is_ready || !is_in_memory, "a tmpfs has no device");
            assert!(!is_ready || buffer == [7; 1000]);
            assert!(!file.read_ready(4001, &mut buffer), "the file ends before");
        }
    }
}
