//! The LOCK file: only one handle in one process has a database open for writing.

use std::path::Path;

use base::Result;
use env::{FileLock, FileSystem};
use format::names;

/// Held while a database is open for writing.
pub struct DbLock {
    _lock: Box<dyn FileLock>,
}

impl DbLock {
    /// Locks the file LOCK of the database in `db`.
    ///
    /// # Errors
    /// `IoError` with the path of LOCK, if another handle or process has locked the file.
    pub fn take(fs: &dyn FileSystem, db: &Path) -> Result<Self> {
        let lock = fs.lock(&db.join(names::LOCK)).map_err(|e| e.doing("locking the database"))?;
        Ok(DbLock { _lock: lock })
    }
}
