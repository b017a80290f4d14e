//! The LOCK file: one process, one handle.

use std::path::Path;

use base::Result;
use env::{FileLock, FileSystem};
use format::names;

/// Held while a database is open for writing.
pub struct DbLock {
    _lock: Box<dyn FileLock>,
}

impl DbLock {
    /// # Errors
    /// `IoError` that names the file, when another holds it.
    pub fn take(fs: &dyn FileSystem, db: &Path) -> Result<Self> {
        let lock = fs.lock(&db.join(names::LOCK)).map_err(|e| e.doing("locking the database"))?;
        Ok(DbLock { _lock: lock })
    }
}
