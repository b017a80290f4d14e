//! What the engine asks of a file system: traits on handles, and nothing about any one of them.
//!
//! A path is opened to one of four handles: [`RandomRead`] (tables, blobs), [`SequentialRead`] (logs at
//! recovery), [`Append`] (everything written) and [`Dir`] (makes names durable). No handle both reads and
//! writes, and nothing is ever written in place but a recycled log, which is overwritten from its start.
//!
//! Durability is explicit. Bytes appended survive a process crash once the call returns and a machine
//! crash once [`Append::sync`] returns; a new, renamed or removed *name* survives a machine crash once
//! [`Dir::sync`] of its directory returns. [`crate::memory`] takes away whatever was not made durable.
//!
//! All methods may be called from any thread. Every error is a `base::Error` of kind `IoError` (or `Busy`
//! for a lock) that says what was being done and to which file; a missing file has
//! `Subcode::PathNotFound`, a full disk `Subcode::NoSpace`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

/// How a table or blob file will be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadHints {
    /// Bypass the page cache (`use_direct_reads`). Unaligned requests then go through a bounce buffer.
    pub direct: bool,
    /// Tell the system not to read ahead (`advise_random_on_open`).
    pub random: bool,
}

/// How long what is written is expected to live; passed to the device where the system can.
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

/// How a file will be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendHints {
    /// Bypass the page cache (`use_direct_io_for_flush_and_compaction`). The handle keeps the unaligned
    /// tail in memory and rewrites it, so callers need not align; large appends are cheapest.
    pub direct: bool,
    /// Bytes to ask the system for ahead of the end (`fallocate`, size kept); 0 asks for none. What was
    /// not used is given back at close.
    pub preallocate_bytes: u64,
    /// The expected life of the file.
    pub life: WriteLife,
}

/// The expected order of reading, as `posix_fadvise` knows it.
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

/// One request of [`RandomRead::multi_read`]: fill `buffer` from `offset`; the answer is in `outcome`.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The buffer that gets the bytes. Its length is the length of the request.
    pub buffer: &'a mut [u8],
    /// Bytes read, short only at the end of the file. `Ok(0)` until the call has run.
    pub outcome: Result<usize>,
}

impl<'a> ReadRequest<'a> {
    /// Makes a request that has not run.
    pub fn new(offset: u64, buffer: &'a mut [u8]) -> Self {
        ReadRequest { offset, buffer, outcome: Ok(0) }
    }
}

/// A file opened for reading at any offset; many threads at once.
pub trait RandomRead: Send + Sync + fmt::Debug {
    /// Reads until `buffer` is full or the file ends; returns the bytes read. An offset past the end
    /// reads nothing. Interrupted and short system calls are continued inside.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize>;

    /// Several reads at once, in any order; each request carries its own outcome. The default reads
    /// them one after another.
    fn multi_read(&self, requests: &mut [ReadRequest<'_>]) {
        for r in requests {
            r.outcome = self.read_at(r.offset, r.buffer);
        }
    }

    /// Fills `buffer` from `offset` and returns true, if this needs no wait for the device. Otherwise asks for the range to be
    /// brought in, as [`RandomRead::prefetch`] does, and returns false; `buffer` then has any content. The default never reads.
    fn read_ready(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.prefetch(offset, buffer.len() as u64);
        false
    }

    /// The file's length in bytes, now.
    fn size(&self) -> Result<u64>;

    /// Returns the path with which the file was opened.
    fn path(&self) -> &Path;

    /// Asks for a range to be brought in, without waiting. Best effort; false when the file system has
    /// no such thing and the caller should buffer for itself.
    fn prefetch(&self, _offset: u64, _length: u64) -> bool {
        false
    }

    /// Tells the expected access pattern. Best effort.
    fn advise(&self, _pattern: Pattern) {}

    /// Drops a range from the page cache; `length` 0 means to the end. Best effort.
    fn invalidate(&self, _offset: u64, _length: u64) {}

    /// What offset, length and memory address should be multiples of for the fastest road; 1 when
    /// anything goes. Never required.
    fn alignment(&self) -> usize {
        1
    }
}

/// A file read from the start to the end, once.
pub trait SequentialRead: Send + fmt::Debug {
    /// Reads until `buffer` is full or the file ends; 0 is the end. A file still being written may give
    /// more at a later call.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;

    /// Moves past `bytes` without reading; past the end is allowed.
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

/// A file being written at its end.
pub trait Append: Send + fmt::Debug {
    /// Appends all of `data`, or fails; after a failure how much of it was written is unknown.
    fn append(&mut self, data: &[u8]) -> Result<()>;

    /// Hands everything to the operating system. Nothing to do unless the handle buffers (direct I/O).
    fn flush(&mut self) -> Result<()>;

    /// Makes the data durable (`fdatasync`: contents and length, not times).
    fn sync(&mut self) -> Result<()>;

    /// Makes data and all metadata durable (`fsync`).
    fn fsync(&mut self) -> Result<()>;

    /// The length as the appender sees it, in bytes: where the next append goes.
    fn size(&self) -> u64;

    /// Returns the path with which the file was opened.
    fn path(&self) -> &Path;

    /// Starts writing back `offset..offset + length` without promising durability
    /// (`sync_file_range`). With `strict`, waits first for what earlier calls started, from the start
    /// of the file. Best effort where the system has none.
    fn range_sync(&mut self, _offset: u64, _length: u64, _strict: bool) -> Result<()> {
        Ok(())
    }

    /// Reserves space for a range without changing the size. Best effort.
    fn preallocate(&mut self, _offset: u64, _length: u64) -> Result<()> {
        Ok(())
    }

    /// Cuts the file to `size` bytes; appends go on from there.
    fn truncate(&mut self, size: u64) -> Result<()>;

    /// Drops a range from the page cache; `length` 0 means to the end. Best effort.
    fn invalidate(&mut self, _offset: u64, _length: u64) {}

    /// A handle that syncs this file from other threads while this one appends. It does not see what
    /// the handle still buffers (direct I/O): [`Append::flush`] first.
    fn syncer(&self) -> Arc<dyn Syncer>;

    /// Gives back unused preallocation and closes, telling what went wrong; does not sync. Dropping a
    /// handle does the same but can tell nobody. Further calls fail.
    fn close(&mut self) -> Result<()>;
}

/// An open directory.
pub trait Dir: Send + Sync + fmt::Debug {
    /// Makes names created, renamed or removed in this directory so far durable.
    fn sync(&self) -> Result<()>;

    /// Returns the path with which the directory was opened.
    fn path(&self) -> &Path;
}

/// A held lock; dropping it lets go.
pub trait FileLock: Send + Sync + fmt::Debug {
    /// Returns the path of the lock file.
    fn path(&self) -> &Path;
}

/// A way of being the disk.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// A short name for logs: `posix`, `memory`.
    fn name(&self) -> &'static str;

    /// Opens an existing file for reads at any offset.
    fn open_random(&self, path: &Path, hints: &ReadHints) -> Result<Arc<dyn RandomRead>>;

    /// Opens an existing file for reads from the start to the end.
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialRead>>;

    /// A new, empty file; one of that name is cut to nothing first.
    fn create(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Creates a file; fails if the name is taken (`O_EXCL`). SST files are created by this call: a file number that is
    /// used twice must not destroy the older file.
    ///
    /// # Errors
    /// `IoError` if the name is taken.
    fn create_new(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Appends to the end of what is there; created when missing.
    fn reopen(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Renames `old` to `new` and overwrites it from the start; the old bytes stay behind the new ones
    /// (recycled logs). Fails when `old` is missing.
    fn reuse(&self, old: &Path, new: &Path, hints: &AppendHints) -> Result<Box<dyn Append>>;

    /// Opens an existing directory, so that its names can be synced.
    fn open_dir(&self, path: &Path) -> Result<Arc<dyn Dir>>;

    /// Replaces `new` if it exists, atomically.
    fn rename(&self, old: &Path, new: &Path) -> Result<()>;

    /// A second name for the same file. `Kind::NotSupported` where links cannot be had.
    fn link(&self, source: &Path, target: &Path) -> Result<()>;

    /// Removes a file's name; open handles go on.
    fn unlink(&self, path: &Path) -> Result<()>;

    /// The names in a directory, without `.` and `..`, in no order. Names that are not UTF-8 are shown
    /// with replacement characters.
    fn list(&self, path: &Path) -> Result<Vec<String>>;

    /// Whether a file or directory of that name is there. `Err` when it cannot be told.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Returns true if `path` is a directory, and false if `path` is another thing. An error if `path` does not exist.
    fn is_dir(&self, path: &Path) -> Result<bool>;

    /// Makes the directory and its missing parents; one that exists is fine.
    fn create_dir_all(&self, path: &Path) -> Result<()>;

    /// Makes one directory; an error if the name is taken.
    fn create_dir(&self, path: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<()>;

    /// In bytes.
    fn file_size(&self, path: &Path) -> Result<u64>;

    /// Time of last change, in seconds since 1970.
    fn modified(&self, path: &Path) -> Result<u64>;

    /// Number of names the file has.
    fn link_count(&self, path: &Path) -> Result<u64>;

    /// Cuts or zero-extends the file to `size` bytes.
    fn truncate(&self, path: &Path, size: u64) -> Result<()>;

    /// Creates the file if it is missing. Locks the file against every other process (with RocksDB's kind
    /// of lock, so each engine excludes the other engine) and against every other lock holder in this
    /// process.
    ///
    /// # Errors
    ///
    /// `IoError` if the file is locked. The error names the file and the holder of the lock.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// Bytes free on the file system that holds `path`.
    fn free_space(&self, path: &Path) -> Result<u64>;

    /// Whether both names are one file.
    fn same_file(&self, a: &Path, b: &Path) -> Result<bool>;

    /// The one absolute name, links resolved. The path must exist.
    fn canonicalize(&self, path: &Path) -> Result<PathBuf>;

    /// The name of the machine the files are on, as tables record it; one that has none is `localhost`.
    fn host_name(&self) -> String {
        "localhost".to_string()
    }
}

/// Bytes that a copy holds at a time.
const COPIED_AT_ONCE: usize = 256 << 10;

impl dyn FileSystem + '_ {
    /// The whole file. Refuses files above `limit_bytes` (they are not what the caller thinks).
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

    /// Creates or replaces a file's content, in place; synced when asked. Not atomic: write to a
    /// temporary name and rename for that.
    pub fn write_all(&self, path: &Path, data: &[u8], sync: bool) -> Result<()> {
        let mut file = self.create(path, &AppendHints::default())?;
        file.append(data)?;
        if sync {
            file.sync()?;
        }
        file.close()
    }

    /// Makes `to` what `from` is, and syncs it, but not its name. Its size.
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
/// `IoError` with `Subcode::PathNotFound`, as RocksDB answers: RocksDB cannot create a directory without a name.
pub fn refuse_empty_path(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        let source = std::io::Error::new(std::io::ErrorKind::NotFound, "the path is empty");
        return Err(Error::io("checking the path of a directory", path, source));
    }
    Ok(())
}
