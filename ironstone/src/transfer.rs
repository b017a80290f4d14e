//! Copies, links and writes files, for checkpoints, exports, imports and backups.
//!
//! A copied or written file is synced and closed when the call returns. A call with [`Unsynced`] leaves the sync to
//! [`Unsynced::sync`]. The name of the file is durable only after the directory is synced ([`sync_dir`]). Not here:
//! the choice of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use engine::db::LiveFileStorageInfo;
use env::executor::Executor;
use env::rate::{Direction, IoPriority, RateLimiter};
use env::sync::{AtomicUsize, Mutex, Ordering};
use env::{Append, AppendHints, FileSystem};
use kernel::checksum::crc32c;

/// The default size of the buffer of a copy, in bytes. The buffer stays in the cache of the processor, so a larger buffer is slower.
pub(crate) const COPY_BUFFER_BYTES: usize = 256 << 10;

/// The largest buffer of a copy, in bytes: one burst of a rate limiter can be larger than the memory.
const BUFFER_BYTES_MAX: usize = 64 << 20;

/// How a file is copied.
#[derive(Clone)]
pub(crate) struct CopySettings {
    /// Bytes read and written at a time, from 4 KiB to 64 MiB; other values act as the nearer limit.
    pub buffer_bytes: usize,
    /// If set, the copy is synced.
    pub sync: bool,
    /// Limits the bytes per second. `None`: no limit.
    pub limiter: Option<Arc<RateLimiter>>,
    /// Called after each buffer, with the number of its bytes. An error ends the copy.
    pub on_bytes: Option<Arc<dyn Fn(u64) -> Result<()> + Send + Sync>>,
}

impl Default for CopySettings {
    fn default() -> Self {
        CopySettings { buffer_bytes: COPY_BUFFER_BYTES, sync: true, limiter: None, on_bytes: None }
    }
}

/// Returns the size of the buffer of a copy: `asked`, or with 0 one burst of the limiter, or the default.
pub(crate) fn buffer_bytes(asked: usize, limiter: Option<&RateLimiter>) -> usize {
    match (asked, limiter) {
        (0, None) => COPY_BUFFER_BYTES,
        (0, Some(limiter)) => usize::try_from(limiter.single_burst_bytes()).unwrap_or(COPY_BUFFER_BYTES),
        (asked, _) => asked,
    }
}

/// The result of a copy or a read of a whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub bytes: u64,
    /// CRC32C of the bytes.
    pub crc: u32,
}

/// Copies the first `limit` bytes of a file (`None`: all bytes).
///
/// # Errors
/// Corruption if the file is shorter than `limit`; errors of the file system.
pub(crate) fn copy_file(
    (from_fs, from): (&dyn FileSystem, &Path),
    (to_fs, to): (&dyn FileSystem, &Path),
    limit: Option<u64>,
    settings: &CopySettings,
) -> Result<Copied> {
    let mut unsynced = Unsynced::of_threads(1);
    let copied = copy_file_unsynced((from_fs, from), (to_fs, to), limit, settings, &mut unsynced)?;
    unsynced.sync()?;
    Ok(copied)
}

/// Copies the first `limit` bytes of a file (`None`: all bytes). With `settings.sync`, the function only starts to
/// write the copy to disk. The copy is durable after [`Unsynced::sync`].
///
/// # Errors
/// The errors of [`copy_file`]. If `unsynced` is full, this call also syncs all files of `unsynced`, and returns
/// errors of the syncs.
pub(crate) fn copy_file_unsynced(
    (from_fs, from): (&dyn FileSystem, &Path),
    (to_fs, to): (&dyn FileSystem, &Path),
    limit: Option<u64>,
    settings: &CopySettings,
    unsynced: &mut Unsynced,
) -> Result<Copied> {
    let mut target = to_fs.create(to, &AppendHints::default())?;
    let copied = read_file(from_fs, from, limit, settings, &mut |bytes| target.append(bytes))?;
    if settings.sync {
        unsynced.add(target)?;
    } else {
        target.close()?;
    }
    Ok(copied)
}

/// The numbers of files and bytes that wait for a sync in all threads of a transfer. At its part of one of them, `Unsynced`
/// syncs all its files.
const UNSYNCED_FILES: usize = 64;
const UNSYNCED_BYTES: u64 = 1 << 30;

/// The largest number of threads of a transfer. Each of them may keep one open file.
const THREADS_MAX: usize = UNSYNCED_FILES;

/// Written files that are not durable yet. If many files are copied, one sync of all files at the end takes less time
/// than a sync after each file: the disk writes a file while the next files are copied.
pub(crate) struct Unsynced {
    files: Vec<Box<dyn Append>>,
    bytes: u64,
    files_max: usize,
    bytes_max: u64,
}

impl Unsynced {
    /// Returns the part of one of `threads` threads of the files that may wait for a sync.
    fn of_threads(threads: usize) -> Unsynced {
        let threads = threads.max(1);
        let (files_max, bytes_max) = (UNSYNCED_FILES / threads, UNSYNCED_BYTES / threads as u64);
        Unsynced { files: Vec::new(), bytes: 0, files_max, bytes_max }
    }

    fn add(&mut self, mut file: Box<dyn Append>) -> Result<()> {
        file.flush()?;
        file.range_sync(0, file.size(), false)?;
        self.bytes += file.size();
        self.files.push(file);
        if self.files.len() >= self.files_max || self.bytes >= self.bytes_max { self.sync() } else { Ok(()) }
    }

    /// Makes the files durable, and closes them.
    ///
    /// # Errors
    /// Errors of the file system. Some files are then not durable.
    pub fn sync(&mut self) -> Result<()> {
        self.bytes = 0;
        for mut file in self.files.drain(..) {
            file.sync()?;
            file.close()?;
        }
        Ok(())
    }
}

/// Runs `each` for the numbers from 0 to `count - 1`, in up to `threads` threads (at most [`THREADS_MAX`]), and returns the results in the order of the
/// numbers. One thread is the thread of the caller, and takes the numbers in their order. The files that `each` adds to its
/// `Unsynced` are durable only after [`Unsynced::sync`] of all returned values.
///
/// # Errors
/// The error of the smallest number whose call failed. After a failure, no thread takes another number.
pub(crate) fn in_parallel<T: Send>(
    executor: &dyn Executor,
    threads: usize,
    count: usize,
    each: &(dyn Fn(usize, &mut Unsynced) -> Result<T> + Sync),
) -> Result<(Vec<T>, Vec<Unsynced>)> {
    let threads = threads.min(count).min(THREADS_MAX);
    let (next, done) = (AtomicUsize::new(0), Mutex::new((BTreeMap::new(), Vec::new())));
    let work = || {
        let mut unsynced = Unsynced::of_threads(threads);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let outcome = each(at, &mut unsynced);
            if outcome.is_err() {
                // All smaller numbers are taken already, so the result has the first error.
                next.store(count, Ordering::Relaxed);
            }
            done.lock().0.insert(at, outcome);
        }
        done.lock().1.push(unsynced);
    };
    match threads {
        0 | 1 => work(),
        threads => {
            executor.run_all((0..threads).map(|_| Box::new(work) as Box<dyn FnOnce() + Send + '_>).collect())
        }
    }
    let (outcomes, unsynced) = done.into_inner();
    let done: Vec<T> = outcomes.into_values().collect::<Result<_>>()?;
    base::invariant!(done.len() == count, "{} of {count} files have a result", done.len());
    Ok((done, unsynced))
}

/// Reads the first `limit` bytes of a file (`None`: all bytes) and passes them to `take`.
///
/// # Errors
/// Corruption if the file is shorter than `limit`; errors of the file system and of `take`.
pub(crate) fn read_file(
    fs: &dyn FileSystem,
    path: &Path,
    limit: Option<u64>,
    settings: &CopySettings,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Copied> {
    let mut source = fs.open_sequential(path)?;
    // A small file needs no large buffer. A buffer of 0 bytes would hide the bytes of a file that grows.
    let whole = limit.map_or_else(|| fs.file_size(path), Ok)?;
    let whole = usize::try_from(whole).unwrap_or(usize::MAX).max(1);
    let mut buffer = vec![0; settings.buffer_bytes.clamp(4096, BUFFER_BYTES_MAX).min(whole)];
    let mut copied = Copied::default();
    loop {
        let left = limit.map_or(u64::MAX, |limit| limit - copied.bytes);
        let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let got = if want == 0 { 0 } else { source.read(&mut buffer[..want])? };
        if got == 0 {
            break;
        }
        if let Some(limiter) = &settings.limiter {
            limiter.charge(got as u64, IoPriority::Low, Direction::Write, None);
        }
        take(&buffer[..got])?;
        copied.crc = crc32c::extend(copied.crc, &buffer[..got]);
        copied.bytes += got as u64;
        if let Some(tell) = &settings.on_bytes {
            tell(got as u64)?;
        }
    }
    match limit {
        Some(limit) if copied.bytes < limit => Err(Error::corruption(format!(
            "the file has {} bytes where {limit} bytes were expected",
            copied.bytes
        ))
        .doing("copying a file")
        .file(path)
        .at(copied.bytes)),
        _ => Ok(copied),
    }
}

/// Puts a live file into a directory: a hard link if `link` is set and the file never changes, otherwise a copy. If
/// the file system cannot link the two directories, the file is copied.
///
/// # Errors
/// The errors of [`copy_file`].
pub(crate) fn place(
    fs: &dyn FileSystem,
    file: &LiveFileStorageInfo,
    dir: &Path,
    link: bool,
    settings: &CopySettings,
) -> Result<()> {
    let target = dir.join(&file.relative_filename);
    if let Some(content) = &file.replacement_contents {
        return fs.write_all(&target, content, settings.sync);
    }
    let from = file.path();
    if link && !file.trim_to_size && fs.link(&from, &target).is_ok() {
        return Ok(());
    }
    copy_file((fs, &from), (fs, &target), Some(file.size), settings).map(|_| ())
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    fs.open_dir(dir)?.sync()
}

/// Creates a directory and its missing parents, and makes their names durable.
pub(crate) fn create_dir_durably(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if dir.as_os_str().is_empty() || fs.exists(dir)? {
        return Ok(());
    }
    let above = parent(dir);
    create_dir_durably(fs, &above)?;
    fs.create_dir_all(dir)?;
    sync_dir(fs, &above)
}

/// Returns the directory that holds the name `path`.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Checks that the directory `dir` does not exist. Returns the name of a temporary directory: `dir` with `.tmp`. The
/// caller fills the temporary directory and renames it.
///
/// # Errors
/// InvalidArgument if the name is empty or exists.
pub(crate) fn staging_dir(fs: &dyn FileSystem, dir: &Path, what: &str) -> Result<PathBuf> {
    let name = dir.to_string_lossy();
    if name.trim_end_matches('/').is_empty() {
        return Err(Error::invalid_argument(format!("invalid {what} directory name")).file(dir));
    }
    if fs.exists(dir)? {
        let article = if what.starts_with('e') { "an" } else { "a" };
        return Err(Error::invalid_argument(format!(
            "Directory exists: {article} {what} is written to a new directory"
        ))
        .file(dir));
    }
    Ok(PathBuf::from(format!("{}.tmp", name.trim_end_matches('/'))))
}

/// Removes a directory and its files. A directory that does not exist is no error. Directories inside are not removed.
///
/// # Errors
/// The first error of the file system.
pub(crate) fn remove_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.unlink(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}

/// Keeps the files of a database from being deleted while the value lives.
pub(crate) struct KeepFiles(engine::db::Db);

impl KeepFiles {
    pub(crate) fn new(db: &engine::db::Db) -> Self {
        db.files().disable_deletions();
        KeepFiles(db.clone())
    }
}

impl Drop for KeepFiles {
    fn drop(&mut self) {
        self.0.files().enable_deletions();
    }
}
