//! The database lock: an `fcntl` write lock on the whole file, as RocksDB takes it.
//!
//! Such a lock belongs to the process and to the inode. A second lock by the same process succeeds, and
//! closing *any* descriptor of the file releases the lock. So the process keeps a list of its locks, by
//! name and by inode, and searches this list before it opens a file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Error, Result};
use parking_lot::Mutex;

use super::sys;
use crate::fs::FileLock;

#[derive(Debug)]
struct Held {
    path: PathBuf,
    inode: (u64, u64),
    since_seconds: u64,
    thread: u64,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct PosixLock {
    // The file is closed after its entry in `HELD` is removed. `HELD` is locked during both steps, so their order has
    // no effect.
    file: Option<File>,
    path: PathBuf,
    inode: (u64, u64),
}

pub(super) fn lock(path: &Path) -> Result<PosixLock> {
    let mut held = HELD.lock();
    let full = full_name(path);
    let inode = fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    if let Some(h) = held.iter().find(|h| h.path == full || Some(h.inode) == inode) {
        let message = format!(
            "lock hold by current process, acquire time {} acquiring thread {}: {}: No locks available",
            h.since_seconds,
            h.thread,
            path.display()
        );
        // RocksDB's message, which has the path in its middle.
        return Err(Error::io_error(message).doing("locking a file"));
    }
    let take = || {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)?;
        if let Err(e) = sys::lock_whole(&file) {
            let busy = matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES));
            return Err(match sys::lock_holder(&file).filter(|_| busy) {
                Some(pid) => {
                    io::Error::new(io::ErrorKind::WouldBlock, format!("{e}; process {pid} holds the lock"))
                }
                None => e,
            });
        }
        let m = file.metadata()?;
        Ok((file, (m.dev(), m.ino())))
    };
    let (file, inode) = take().map_err(|e| Error::io("locking a file", path, e))?;
    held.push(Held {
        path: full.clone(),
        inode,
        since_seconds: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        thread: sys::thread_id(),
    });
    Ok(PosixLock { file: Some(file), path: full, inode })
}

/// Returns the path with its directory resolved. The file itself need not exist.
fn full_name(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (fs::canonicalize(parent), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

impl FileLock for PosixLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PosixLock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        self.file = None;
        held.retain(|h| h.inode != self.inode || h.path != self.path);
    }
}
