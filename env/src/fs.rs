//! The file system as traits on handles, independent of any implementation.
//!
//! A path is opened to one of four handles: [`RandomRead`] (SST files, blob files), [`SequentialRead`] (WALs at
//! recovery), [`Append`] (every file that is written) and [`Dir`] (makes names durable). No handle both reads and
//! writes. Only a recycled WAL is written in place: it is overwritten from its start.
//!
//! Durability is explicit. Appended bytes survive a crash of the process after the append returns. They survive a
//! crash of the machine after [`Append::sync`] returns. A new, renamed or removed *name* survives a crash of the
//! machine after [`Dir::sync`] of its directory returns. A crash in [`crate::memory`] removes everything that is not
//! durable.
//!
//! Any thread may call all methods. Every error is a `base::Error` of kind `IoError` (or `Busy` for a lock). The
//! error names the operation and the file. A missing file has `Subcode::PathNotFound`, a full disk
//! `Subcode::NoSpace`.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

/// Hints for the reads of an SST file or a blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadHints {
    /// Bypass the page cache (`use_direct_reads`). Unaligned requests then go through a bounce buffer.
    pub direct: bool,
    /// Tell the system not to read ahead (`advise_random_on_open`).
    pub random: bool,
}

/// The expected life of the written data. The file system passes it to the device, if the system supports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum WriteLife {
    /// No hint is given.
    #[default]
    NotSet = 0,
    /// The caller states that the life is unknown.
    None = 1,
    /// The file dies soon, for example a WAL.
    Short = 2,
    /// The file lives longer than a file of `Short`.
    Medium = 3,
    /// The file lives longer than a file of `Medium`.
    Long = 4,
    /// The file lives longer than a file of `Long`.
    Extreme = 5,
}

/// Hints for the writes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendHints {
    /// Bypass the page cache (`use_direct_io_for_flush_and_compaction`). Callers need not align: the handle keeps the
    /// last, partial page in memory and writes it again. Large appends are cheapest.
    pub direct: bool,
    /// The bytes to reserve after the end of the file (`fallocate`, the size does not change). 0 reserves nothing. A
    /// close frees the reserved space that was not used.
    pub preallocate_bytes: u64,
    /// The expected life of the file.
    pub life: WriteLife,
}

/// The expected order of reads, as in `posix_fadvise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// No hint.
    Normal,
    /// Reads come in no order.
    Random,
    /// Reads come in ascending order.
    Sequential,
    /// The range is read soon.
    WillNeed,
    /// The range is not read soon. The file system may drop the range from its cache.
    DontNeed,
}

/// One request of [`RandomRead::multi_read`]: fill `buffer` with the bytes from `offset`. The result is in `outcome`.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The buffer that gets the bytes. Its length is the length of the request.
    pub buffer: &'a mut [u8],
    /// The number of bytes read. It is smaller than the buffer only at the end of the file. `Ok(0)` before the
    /// request has run.
    pub outcome: Result<usize>,
}

impl<'a> ReadRequest<'a> {
    /// Makes a request that has not run.
    pub fn new(offset: u64, buffer: &'a mut [u8]) -> Self {
        ReadRequest { offset, buffer, outcome: Ok(0) }
    }
}

/// A file that is open for reads at any offset. Many threads may read at the same time.
pub trait RandomRead: Send + Sync + fmt::Debug {
    /// Reads until `buffer` is full or the file ends. Returns the number of bytes read: 0 for an offset after the
    /// end. Repeats interrupted and short system calls.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// Reads `length` bytes into `buffer`, in the place of its content. Afterwards the buffer has fewer bytes only if the
    /// file ends before; after an error its content is undefined. Unlike [`RandomRead::read_at`], the call needs no
    /// cleared memory. The default clears the memory and calls `read_at`.
    fn read_to(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.resize(length, 0);
        let got = self.read_at(offset, buffer)?;
        buffer.truncate(got);
        Ok(())
    }

    /// Runs several reads, in any order. Each request gets its own outcome. The default runs one read after the
    /// other.
    fn multi_read(&self, requests: &mut [ReadRequest<'_>]) {
        for r in requests {
            r.outcome = self.read_at(r.offset, r.buffer);
        }
    }

    /// Fills `buffer` from `offset` and returns true, if this needs no wait for the device. Otherwise starts a read
    /// of the range into the page cache, as [`RandomRead::prefetch`] does, and returns false; the content of `buffer`
    /// is then undefined. The default never fills the buffer.
    fn read_ready(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.prefetch(offset, buffer.len() as u64);
        false
    }

    /// Returns the current length of the file in bytes.
    fn size(&self) -> Result<u64>;

    /// Returns the path with which the file was opened.
    fn path(&self) -> &Path;

    /// Starts a read of a range into the page cache, without waiting. Returns false if the file system has no such
    /// call; the caller should then read ahead into its own buffer.
    fn prefetch(&self, _offset: u64, _length: u64) -> bool {
        false
    }

    /// Gives the system the expected order of reads. Errors are ignored.
    fn advise(&self, _pattern: Pattern) {}

    /// Drops a range from the page cache. `length` 0 means to the end of the file. Errors are ignored.
    fn invalidate(&self, _offset: u64, _length: u64) {}

    /// Returns the alignment of offset, length and memory address with which reads are fastest; 1 if alignment has no
    /// effect. Unaligned reads are allowed.
    fn alignment(&self) -> usize {
        1
    }
}

/// A file that is read once from the start to the end.
pub trait SequentialRead: Send + fmt::Debug {
    /// Reads until `buffer` is full or the file ends. Returns 0 at the end. If another handle writes the file, a
    /// later call may return more bytes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;

    /// Skips `bytes` bytes. The new position may be after the end of the file.
    fn skip(&mut self, bytes: u64) -> Result<()>;

    /// Returns the path with which the file was opened.
    fn path(&self) -> &Path;
}

/// Syncs a file from a thread that does not append to the file. Used to sync a WAL while writers append to
/// it.
pub trait Syncer: Send + Sync + fmt::Debug {
    /// Makes durable what was appended before the call (`fdatasync`).
    fn sync(&self) -> Result<()>;
}

/// A file that is written at its end.
pub trait Append: Send + fmt::Debug {
    /// Appends all of `data`. After an error, any part of `data` may be in the file.
    fn append(&mut self, data: &[u8]) -> Result<()>;

    /// Passes all buffered bytes to the operating system. Only handles with direct I/O buffer bytes.
    fn flush(&mut self) -> Result<()>;

    /// Makes the bytes and the length of the file durable (`fdatasync`).
    fn sync(&mut self) -> Result<()>;

    /// Makes the bytes and all metadata of the file durable (`fsync`).
    fn fsync(&mut self) -> Result<()>;

    /// Returns the length of the file in bytes, buffered bytes included. The next append starts there.
    fn size(&self) -> u64;

    /// Returns the path with which the file was opened.
    fn path(&self) -> &Path;

    /// Starts to write the range from `offset` to `offset + length` to the device, without a promise of durability
    /// (`sync_file_range`). With `strict`, first waits for the ranges of earlier calls, from the start of the file.
    /// The default does nothing.
    fn range_sync(&mut self, _offset: u64, _length: u64, _strict: bool) -> Result<()> {
        Ok(())
    }

    /// Reserves space for a range, without a change of the size. The default does nothing.
    fn preallocate(&mut self, _offset: u64, _length: u64) -> Result<()> {
        Ok(())
    }

    /// Cuts the file to `size` bytes. The next append starts there.
    fn truncate(&mut self, size: u64) -> Result<()>;

    /// Drops a range from the page cache. `length` 0 means to the end of the file. Errors are ignored.
    fn invalidate(&mut self, _offset: u64, _length: u64) {}

    /// Returns a handle that syncs this file from another thread. The sync does not include bytes that this handle
    /// buffers (direct I/O): call [`Append::flush`] first.
    fn syncer(&self) -> Arc<dyn Syncer>;

    /// Frees reserved space that was not used, and closes the file. Does not sync. A drop of the handle does the
    /// same, but reports no error. Calls after the close fail.
    fn close(&mut self) -> Result<()>;
}

/// An open directory.
pub trait Dir: Send + Sync + fmt::Debug {
    /// Makes all earlier changes of names in this directory durable.
    fn sync(&self) -> Result<()>;

    /// Returns the path with which the directory was opened.
    fn path(&self) -> &Path;
}

/// A lock on a file. The drop releases the lock.
pub trait FileLock: Send + Sync + fmt::Debug {
    /// Returns the path of the lock file.
    fn path(&self) -> &Path;
}

/// A file system.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Returns a short name for the info log: `posix`, `memory`.
    fn name(&self) -> &'static str;

    /// Opens an existing file for reads at any offset.
    fn open_random(&self, path: &Path, hints: &ReadHints) -> Result<Arc<dyn RandomRead>>;

    /// Opens an existing file for reads from the start to the end.
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialRead>>;

    /// Creates an empty file. If the name exists, the file is cut to 0 bytes.
    fn create(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Creates a file; fails if the name is taken (`O_EXCL`). SST files are created by this call: a file number that is
    /// used twice must not destroy the older file.
    ///
    /// # Errors
    /// `IoError` if the name is taken.
    fn create_new(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Opens a file to append at its end. Creates the file if it does not exist.
    fn reopen(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Renames `old` to `new`, and opens the file to overwrite it from its start. The old bytes stay after the new
    /// bytes (recycled WALs). Fails if `old` does not exist.
    fn reuse(&self, old: &Path, new: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Opens an existing directory, so that its names can be synced.
    fn open_dir(&self, path: &Path) -> Result<Arc<dyn Dir>>;

    /// Renames `old` to `new`. Replaces `new` atomically if `new` exists.
    fn rename(&self, old: &Path, new: &Path) -> Result<()>;

    /// Gives the file `source` a second name. `Kind::NotSupported` if the file system has no links.
    fn link(&self, source: &Path, target: &Path) -> Result<()>;

    /// Removes the name of a file. Open handles stay usable.
    fn unlink(&self, path: &Path) -> Result<()>;

    /// Returns the names in a directory without `.` and `..`, in any order. Bytes that are not UTF-8 become
    /// replacement characters.
    fn list(&self, path: &Path) -> Result<Vec<String>>;

    /// Returns true if a file or a directory has this name. An error if the file system cannot find out.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Returns true if `path` is a directory, and false if `path` is another thing. An error if `path` does not exist.
    fn is_dir(&self, path: &Path) -> Result<bool>;

    /// Creates the directory and its missing parents. Succeeds if the directory exists.
    fn create_dir_all(&self, path: &Path) -> Result<()>;

    /// Creates one directory. Fails if the name is taken.
    fn create_dir(&self, path: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<()>;

    /// Returns the size of the file in bytes.
    fn file_size(&self, path: &Path) -> Result<u64>;

    /// Returns the time of the last change, in seconds since 1970.
    fn modified(&self, path: &Path) -> Result<u64>;

    /// Returns the number of names of the file.
    fn link_count(&self, path: &Path) -> Result<u64>;

    /// Sets the size of the file to `size` bytes: cuts the file, or adds zeros.
    fn truncate(&self, path: &Path, size: u64) -> Result<()>;

    /// Creates the file if it is missing. Locks the file against every other process (with RocksDB's kind
    /// of lock, so each engine excludes the other engine) and against every other lock holder in this
    /// process.
    ///
    /// # Errors
    ///
    /// `IoError` if the file is locked. The error names the file and the holder of the lock.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// Returns the free bytes of the file system that holds `path`.
    fn free_space(&self, path: &Path) -> Result<u64>;

    /// Returns true if both names belong to the same file.
    fn same_file(&self, a: &Path, b: &Path) -> Result<bool>;

    /// Returns the absolute path without symbolic links. The path must exist.
    fn canonicalize(&self, path: &Path) -> Result<PathBuf>;

    /// Returns the tracer of file operations as a value of any type. [`IoTracer::of`] converts the value. Default: `None`.
    ///
    /// [`IoTracer::of`]: crate::io_trace::IoTracer::of
    fn io_tracer(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns the name of the machine that holds the files, for the properties of SST files. Default: `localhost`.
    fn host_name(&self) -> String {
        "localhost".to_string()
    }
}

/// The bytes that a copy reads at a time.
const COPIED_AT_ONCE: usize = 256 << 10;

impl dyn FileSystem + '_ {
    /// Returns the content of a file. Rejects a file that is larger than `limit_bytes`, because such a file is not of
    /// the expected kind.
    pub fn read_all(&self, path: &Path, limit_bytes: u64) -> Result<Vec<u8>> {
        let size = self.file_size(path)?;
        if size > limit_bytes {
            return Err(base::Error::corruption(format!(
                "the file is {size} bytes long, more than the {limit_bytes} that it may have"
            ))
            .doing("reading a file")
            .file(path)
            .at(limit_bytes));
        }
        let mut file = self.open_sequential(path)?;
        let mut out = vec![0; size as usize];
        let n = file.read(&mut out)?;
        out.truncate(n);
        Ok(out)
    }

    /// Creates a file or replaces its content. With `sync`, makes the content durable. The call is not atomic: to
    /// replace a file atomically, write a temporary file and rename it.
    pub fn write_all(&self, path: &Path, data: &[u8], sync: bool) -> Result<()> {
        let mut file = self.create(path, &AppendHints::default())?;
        file.append(data)?;
        if sync {
            file.sync()?;
        }
        file.close()
    }

    /// Copies `from` to `to`, and syncs the content of the copy, but not its name. Returns the size in bytes.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<u64> {
        let mut source = self.open_sequential(from)?;
        let mut target = self.create(to, &AppendHints::default())?;
        let mut buffer = vec![0; COPIED_AT_ONCE];
        loop {
            let got = source.read(&mut buffer)?;
            if got == 0 {
                break;
            }
            target.append(&buffer[..got])?;
        }
        target.sync()?;
        let size = target.size();
        target.close()?;
        Ok(size)
    }
}

/// Rejects the empty path of a directory. File names that are joined to an empty path lie in the working directory, so a
/// database without a path would use the files of an unrelated directory.
///
/// # Errors
/// `IoError` with `Subcode::PathNotFound`, as in RocksDB, which cannot create a directory without a name.
pub fn refuse_empty_path(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        let source = std::io::Error::new(std::io::ErrorKind::NotFound, "the path is empty");
        return Err(Error::io("checking the path of a directory", path, source));
    }
    Ok(())
}
