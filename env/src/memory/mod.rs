//! A disk in memory that can crash.
//!
//! The disk keeps two states: the state that programs see, and the state that a crash of the machine would leave.
//! Each file has its durable bytes and a list of the operations since its last sync. The names have their durable
//! directories and a journal of name changes. A name change becomes durable by the sync of a directory that it
//! touches. [`MemoryFs::crash`] changes the disk to a state that a crash can leave, selected by [`Survivors`].
//! Handles from before the crash then fail.
//!
//! ```text
//! append ─► live bytes, unsynced ops ──sync──► durable bytes
//! create, rename, unlink ─► live names, journal ──sync of the directory──► durable names
//! ```
//!
//! A name change becomes durable together with the earlier changes on which it depends. For example, after a rename
//! of `a/x` to `b/y`, a sync of `b` makes the creation of `a/x` durable too. There are no symbolic links. All paths
//! start at the root.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::fs::{Append, AppendHints, Dir, FileLock, FileSystem, RandomRead, ReadHints, SequentialRead};

macro_rules! debug_by_path {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.path.display())
            }
        }
    )*};
}

mod crash;
mod file;
mod names;
mod node;
mod shared;

pub use crash::Survivors;
use names::{DirId, Entry, Names};
use node::FileNode;
use shared::Shared;

#[cfg(test)]
mod tests;

/// A file system in memory. Clones share the disk.
#[derive(Clone)]
pub struct MemoryFs {
    shared: Arc<Shared>,
}

impl MemoryFs {
    /// Makes an empty disk with a root directory. `clock` gives the times of files.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryFs {
            shared: Arc::new(Shared {
                clock,
                names: Mutex::new(Names::new()),
                generation: AtomicU64::new(0),
                locks: Mutex::default(),
                capacity: AtomicU64::new(1 << 40),
            }),
        }
    }

    /// Sets the size of the disk for [`FileSystem::free_space`]. Writes are not limited; [`crate::fault`] can limit
    /// writes.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.capacity.store(bytes, Ordering::Relaxed);
    }

    /// Crashes the machine: the disk changes as `survivors` says, all handles fail, and all locks are released.
    pub fn crash(&self, survivors: Survivors) {
        let mut names = self.shared.names.lock();
        self.shared.generation.fetch_add(1, Ordering::AcqRel);
        self.shared.locks.lock().clear();
        crash::crash(&mut names, survivors);
    }

    /// Returns a second disk with the same content, unsynced operations included. Later changes of one disk do not
    /// change the other disk. `clock` gives the times of the new disk. Cost: a few words for each file, because bytes
    /// are shared until a disk changes them.
    pub fn fork(&self, clock: Arc<dyn Clock>) -> MemoryFs {
        MemoryFs {
            shared: Arc::new(Shared {
                clock,
                names: Mutex::new(self.shared.names.lock().fork()),
                generation: AtomicU64::new(0),
                locks: Mutex::default(),
                capacity: AtomicU64::new(self.shared.capacity.load(Ordering::Relaxed)),
            }),
        }
    }

    /// Returns every file with its bytes, in the order of the paths.
    pub fn image(&self) -> Vec<(PathBuf, Arc<Vec<u8>>)> {
        self.shared.names.lock().image()
    }

    /// Cuts the newest unsynced write of a file to its first `bytes` bytes, for a crash in the middle of the write.
    /// Only the state after a crash changes; programs still see the whole write. Returns false if the file does not
    /// exist.
    pub fn tear(&self, path: &Path, bytes: usize) -> bool {
        match self.shared.names.lock().find(path) {
            Some(Entry::File(node)) => {
                node.tear(bytes);
                true
            }
            _ => false,
        }
    }

    /// Changes the bytes of a file as corruption on the device does: live and durable bytes change, the time of the
    /// file does not. The length may change. Returns false if the file does not exist.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self.shared.names.lock().find(path) {
            Some(Entry::File(node)) => {
                node.damage(change);
                true
            }
            _ => false,
        }
    }

    /// Drops the unsynced operations of a file, as some kernels do when a sync fails: reads still return the bytes,
    /// but no later sync makes them durable. Returns false if the file does not exist.
    pub fn forget_unsynced(&self, path: &Path) -> bool {
        match self.shared.names.lock().find(path) {
            Some(Entry::File(node)) => {
                node.forget_unsynced();
                true
            }
            _ => false,
        }
    }

    /// Returns the bytes of a file that a crash may remove; `None` if the file does not exist.
    pub fn unsynced_bytes(&self, path: &Path) -> Option<u64> {
        match self.shared.names.lock().find(path) {
            Some(Entry::File(node)) => Some(node.unsynced_bytes()),
            _ => None,
        }
    }

    /// Returns the number of name changes that a crash may remove.
    #[cfg(test)]
    pub(crate) fn unsynced_names(&self) -> usize {
        self.shared.names.lock().journal.len()
    }

    fn file(&self, path: &Path, doing: &str) -> Result<Arc<FileNode>> {
        match self.shared.names.lock().find(path) {
            Some(Entry::File(node)) => Ok(node),
            Some(Entry::Dir(_)) => Err(failed(doing, path, io::ErrorKind::IsADirectory)),
            None => Err(failed(doing, path, io::ErrorKind::NotFound)),
        }
    }

    fn appender(&self, node: Arc<FileNode>, path: &Path, size: u64) -> Box<dyn Append> {
        Box::new(file::MemoryAppend::new(self.shared.clone(), node, path, size))
    }
}

impl fmt::Debug for MemoryFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryFs(generation {})", self.shared.generation())
    }
}

fn failed(doing: &str, path: &Path, kind: io::ErrorKind) -> Error {
    // The message is that of the operating system, so that messages do not depend on the file system.
    let code = match kind {
        io::ErrorKind::NotFound => libc::ENOENT,
        io::ErrorKind::AlreadyExists => libc::EEXIST,
        io::ErrorKind::IsADirectory => libc::EISDIR,
        io::ErrorKind::NotADirectory => libc::ENOTDIR,
        io::ErrorKind::DirectoryNotEmpty => libc::ENOTEMPTY,
        io::ErrorKind::PermissionDenied => libc::EPERM,
        _ => libc::EIO,
    };
    Error::io(doing, path, io::Error::from_raw_os_error(code))
}

impl FileSystem for MemoryFs {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn open_random(&self, path: &Path, _hints: &ReadHints) -> Result<Arc<dyn RandomRead>> {
        let node = self.file(path, "opening a file")?;
        Ok(Arc::new(file::MemoryRead::new(self.shared.clone(), node, path)))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialRead>> {
        let node = self.file(path, "opening a file")?;
        Ok(Box::new(file::MemoryRead::new(self.shared.clone(), node, path)))
    }

    fn create(&self, path: &Path, _hints: &AppendHints) -> Result<Box<dyn Append>> {
        let now = self.shared.clock.now_seconds();
        let node = {
            let mut names = self.shared.names.lock();
            match names.find(path) {
                Some(Entry::Dir(_)) => {
                    return Err(failed("creating a file", path, io::ErrorKind::IsADirectory));
                }
                Some(Entry::File(node)) => {
                    node.truncate(0, now);
                    node
                }
                None => names.create_file(path, now).map_err(|k| failed("creating a file", path, k))?,
            }
        };
        Ok(self.appender(node, path, 0))
    }

    fn create_new(&self, path: &Path, _hints: &AppendHints) -> Result<Box<dyn Append>> {
        let now = self.shared.clock.now_seconds();
        let node = {
            let mut names = self.shared.names.lock();
            if names.find(path).is_some() {
                return Err(failed("creating a new file", path, io::ErrorKind::AlreadyExists));
            }
            names.create_file(path, now).map_err(|k| failed("creating a new file", path, k))?
        };
        Ok(self.appender(node, path, 0))
    }

    fn reopen(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let found = self.shared.names.lock().find(path);
        match found {
            Some(Entry::File(node)) => {
                let size = node.size();
                Ok(self.appender(node, path, size))
            }
            Some(Entry::Dir(_)) => Err(failed("opening a file to append", path, io::ErrorKind::IsADirectory)),
            None => self.create(path, hints),
        }
    }

    fn reuse(&self, old: &Path, new: &Path, _hints: &AppendHints) -> Result<Box<dyn Append>> {
        self.rename(old, new)?;
        let node = self.file(new, "opening a file to overwrite")?;
        Ok(self.appender(node, new, 0))
    }

    fn open_dir(&self, path: &Path) -> Result<Arc<dyn Dir>> {
        match self.shared.names.lock().find(path) {
            Some(Entry::Dir(id)) => Ok(Arc::new(MemoryDir {
                shared: self.shared.clone(),
                generation: self.shared.generation(),
                id,
                path: path.to_path_buf(),
            })),
            Some(Entry::File(_)) => Err(failed("opening a directory", path, io::ErrorKind::NotADirectory)),
            None => Err(failed("opening a directory", path, io::ErrorKind::NotFound)),
        }
    }

    fn rename(&self, old: &Path, new: &Path) -> Result<()> {
        self.shared
            .names
            .lock()
            .rename(old, new)
            .map_err(|k| failed(&format!("renaming a file to {}", new.display()), old, k))
    }

    fn link(&self, source: &Path, target: &Path) -> Result<()> {
        self.shared
            .names
            .lock()
            .link(source, target)
            .map_err(|k| failed(&format!("linking a file to {}", target.display()), source, k))
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        self.shared.names.lock().unlink(path).map_err(|k| failed("removing a file", path, k))
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        self.shared.names.lock().list(path).map_err(|k| failed("listing a directory", path, k))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.shared.names.lock().find(path).is_some())
    }

    fn is_dir(&self, path: &Path) -> Result<bool> {
        match self.shared.names.lock().find(path) {
            Some(entry) => Ok(matches!(entry, Entry::Dir(_))),
            None => Err(failed("reading a file's status", path, io::ErrorKind::NotFound)),
        }
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.shared.names.lock().create_dir_all(path).map_err(|k| failed("creating a directory", path, k))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.shared.names.lock().create_dir(path).map_err(|k| failed("creating a new directory", path, k))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.shared.names.lock().remove_dir(path).map_err(|k| failed("removing a directory", path, k))
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        Ok(self.file(path, "reading a file's status")?.size())
    }

    fn modified(&self, path: &Path) -> Result<u64> {
        Ok(self.file(path, "reading a file's time")?.modified())
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        let node = self.file(path, "reading a file's status")?;
        Ok(self.shared.names.lock().links_of(&node))
    }

    fn truncate(&self, path: &Path, size: u64) -> Result<()> {
        self.file(path, "truncating a file")?.truncate(size, self.shared.clock.now_seconds());
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let full = names::normal(path);
        let generation = self.shared.generation();
        let mut locks = self.shared.locks.lock();
        if locks.contains_key(&full) {
            return Err(Error::io_error("lock hold by current process: No locks available")
                .doing("locking a file")
                .file(path));
        }
        let mut names = self.shared.names.lock();
        if names.find(path).is_none() {
            names
                .create_file(path, self.shared.clock.now_seconds())
                .map_err(|k| failed("locking a file", path, k))?;
        }
        locks.insert(full.clone(), generation);
        Ok(Box::new(MemoryLock { shared: self.shared.clone(), generation, path: full }))
    }

    fn free_space(&self, _path: &Path) -> Result<u64> {
        let used = self.shared.names.lock().total_bytes();
        Ok(self.shared.capacity.load(Ordering::Relaxed).saturating_sub(used))
    }

    fn same_file(&self, a: &Path, b: &Path) -> Result<bool> {
        let names = self.shared.names.lock();
        let find = |p: &Path| {
            names.find(p).ok_or_else(|| failed("reading a file's status", p, io::ErrorKind::NotFound))
        };
        Ok(match (find(a)?, find(b)?) {
            (Entry::File(a), Entry::File(b)) => Arc::ptr_eq(&a, &b),
            (Entry::Dir(a), Entry::Dir(b)) => a == b,
            _ => false,
        })
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        if !self.exists(path)? {
            return Err(failed("resolving a path", path, io::ErrorKind::NotFound));
        }
        Ok(names::normal(path))
    }
}

struct MemoryDir {
    shared: Arc<Shared>,
    generation: u64,
    id: DirId,
    path: PathBuf,
}

impl Dir for MemoryDir {
    fn sync(&self) -> Result<()> {
        self.shared.alive(self.generation, &self.path)?;
        self.shared.names.lock().sync(self.id);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

struct MemoryLock {
    shared: Arc<Shared>,
    generation: u64,
    path: PathBuf,
}

impl FileLock for MemoryLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut locks = self.shared.locks.lock();
        if locks.get(&self.path) == Some(&self.generation) {
            locks.remove(&self.path);
        }
    }
}

debug_by_path! { MemoryDir MemoryLock }
