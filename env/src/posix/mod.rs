//! The file system of the machine, through `std` and a few system calls.
//!
//! Data files are never mapped into memory: a read error on a mapping kills the process, and the engine would see a
//! corrupt page before its checksum is verified. Reads use `pread`. Writes use `pwrite` at a tracked offset, so a
//! recycled WAL needs no seek. Syncs use `fdatasync`. Direct I/O, `fallocate`, `fadvise` and `sync_file_range` are
//! used if the caller asks for them and the system has them. If the system rejects advice, the error is ignored.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the real files")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use base::stats::{IoCounter, IoTimer};
use base::{Error, Kind, Result};

use crate::fs::{Append, AppendHints, Dir, FileLock, FileSystem, RandomRead, ReadHints, SequentialRead};

mod aligned;
mod append;
mod direct;
mod heap;
mod lock;
mod read;
mod sys;

pub use heap::Tenant;
pub(crate) use sys::lower_thread_priority;
pub use sys::{
    entropy, limit_arenas, local_offset_seconds, process_id, return_free_memory, thread_cpu_nanos, thread_id,
    thread_wait_nanos, wall_seconds,
};

/// The machine's file system.
#[derive(Debug, Default)]
pub struct PosixFs {}

impl PosixFs {
    /// Makes the file system of the operating system.
    pub fn new() -> Self {
        PosixFs {}
    }
}

impl FileSystem for PosixFs {
    fn name(&self) -> &'static str {
        "posix"
    }

    fn open_random(&self, path: &Path, hints: &ReadHints) -> Result<Arc<dyn RandomRead>> {
        let file = open_reading(path, hints.direct)?;
        if hints.random {
            sys::advise(&file, 0, 0, crate::fs::Pattern::Random);
        }
        Ok(Arc::new(read::PosixRandom::new(file, path, hints.direct)))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialRead>> {
        Ok(Box::new(read::PosixSequential::new(open_reading(path, false)?, path)))
    }

    fn create(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = open_writing(path, hints, |o| o.create(true).truncate(true))
            .map_err(|e| Error::io("creating a file", path, e))?;
        appender(file, path, hints, 0)
    }

    fn create_new(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = open_writing(path, hints, |o| o.create_new(true))
            .map_err(|e| Error::io("creating a new file", path, e))?;
        appender(file, path, hints, 0)
    }

    fn reopen(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let open = || {
            let file = open_writing(path, hints, |o| o.create(true))?;
            let size = file.metadata()?.len();
            Ok((file, size))
        };
        let (file, size) = open().map_err(|e| Error::io("opening a file to append", path, e))?;
        appender(file, path, hints, size)
    }

    fn reuse(&self, old: &Path, new: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        self.rename(old, new)?;
        let file =
            open_writing(new, hints, |o| o).map_err(|e| Error::io("opening a file to overwrite", new, e))?;
        appender(file, new, hints, 0)
    }

    fn open_dir(&self, path: &Path) -> Result<Arc<dyn Dir>> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY)
            .open(path)
            .map_err(|e| Error::io("opening a directory", path, e))?;
        Ok(Arc::new(PosixDir { file, path: path.to_path_buf() }))
    }

    fn rename(&self, old: &Path, new: &Path) -> Result<()> {
        fs::rename(old, new).map_err(|e| Error::io(format!("renaming a file to {}", new.display()), old, e))
    }

    fn link(&self, source: &Path, target: &Path) -> Result<()> {
        fs::hard_link(source, target).map_err(|e| {
            let across = matches!(e.raw_os_error(), Some(libc::EXDEV | libc::EOPNOTSUPP));
            let error = Error::io(format!("linking a file to {}", target.display()), source, e);
            if across { error.with_kind(Kind::NotSupported) } else { error }
        })
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| Error::io("removing a file", path, e))
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        fs::read_dir(path)
            .and_then(|entries| entries.map(|e| Ok(e?.file_name().to_string_lossy().into_owned())).collect())
            .map_err(|e| Error::io("listing a directory", path, e))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        fs::exists(path).map_err(|e| Error::io("looking for a file", path, e))
    }

    fn is_dir(&self, path: &Path) -> Result<bool> {
        Ok(metadata(path)?.is_dir())
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        fs::create_dir_all(path).map_err(|e| Error::io("creating a directory", path, e))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        fs::create_dir(path).map_err(|e| Error::io("creating a new directory", path, e))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir(path).map_err(|e| Error::io("removing a directory", path, e))
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        Ok(metadata(path)?.len())
    }

    fn modified(&self, path: &Path) -> Result<u64> {
        metadata(path)?
            .modified()
            .map(|t| t.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
            .map_err(|e| Error::io("reading a file's time", path, e))
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        Ok(metadata(path)?.nlink())
    }

    fn truncate(&self, path: &Path, size: u64) -> Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|f| f.set_len(size))
            .map_err(|e| Error::io("truncating a file", path, e))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        lock::lock(path).map(|l| Box::new(l) as _)
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        sys::free_space(path).map_err(|e| Error::io("reading the free space of a file system", path, e))
    }

    fn host_name(&self) -> String {
        sys::host_name().unwrap_or_else(|| "localhost".to_string())
    }

    fn same_file(&self, a: &Path, b: &Path) -> Result<bool> {
        let (a, b) = (metadata(a)?, metadata(b)?);
        Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        fs::canonicalize(path).map_err(|e| Error::io("resolving a path", path, e))
    }
}

fn metadata(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|e| Error::io("reading a file's status", path, e))
}

fn open_reading(path: &Path, direct: bool) -> Result<File> {
    let _time = IoTimer::start(IoCounter::OpenNanos);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(if direct { sys::O_DIRECT } else { 0 })
        .open(path)
        .map_err(|e| Error::io("opening a file", path, e))?;
    // The open of a directory succeeds, and only the first read fails. Report the error at the open.
    match file.metadata() {
        Ok(m) if m.is_dir() => {
            Err(Error::io("opening a file", path, io::Error::from(io::ErrorKind::IsADirectory)))
        }
        Ok(_) => Ok(file),
        Err(e) => Err(Error::io("opening a file", path, e)),
    }
}

fn open_writing(
    path: &Path,
    hints: &AppendHints,
    how: impl FnOnce(&mut OpenOptions) -> &mut OpenOptions,
) -> io::Result<File> {
    let _time = IoTimer::start(IoCounter::OpenNanos);
    let mut options = OpenOptions::new();
    // The direct writer reads the partial last page back when it reopens a file.
    options.write(true).read(hints.direct).mode(0o644);
    if hints.direct {
        options.custom_flags(sys::O_DIRECT);
    }
    let file = how(&mut options).open(path)?;
    sys::set_write_life(&file, hints.life);
    Ok(file)
}

fn appender(file: File, path: &Path, hints: &AppendHints, size: u64) -> Result<Box<dyn Append>> {
    let file = Arc::new(file);
    Ok(if hints.direct {
        Box::new(direct::DirectAppend::new(file, path, hints, size)?)
    } else {
        Box::new(append::PosixAppend::new(file, path, hints, size))
    })
}

#[derive(Debug)]
struct PosixDir {
    file: File,
    path: PathBuf,
}

impl Dir for PosixDir {
    fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::io("syncing a directory", &self.path, e))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
