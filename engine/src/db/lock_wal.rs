//! `lock_wal`: writes wait, so that the WAL files do not change.
//!
//! Follows RocksDB `DBImpl::LockWAL` and `DBImpl::UnlockWAL`.

use base::{Error, Result};

use super::Db;

impl Db {
    /// Makes all later writes wait until [`Db::unlock_wal`]. Waits for the writes that run, and writes the buffered WAL
    /// records to the file. Calls are counted. Flushes and compactions continue.
    ///
    /// # Errors
    /// Errors of the WAL. Then the WAL is not locked.
    pub fn lock_wal(&self) -> Result<()> {
        let writing = self.writing()?;
        let controller = writing.writer.controller();
        controller.lock_writes();
        // Runs after the writes that came before.
        let locked = writing.writer.alone(|_| ()).and_then(|()| self.flush_wal(false));
        if locked.is_err() {
            controller.unlock_writes();
        }
        locked
    }

    /// Undoes one [`Db::lock_wal`].
    ///
    /// # Errors
    /// Aborted if the WAL is not locked.
    pub fn unlock_wal(&self) -> Result<()> {
        if self.writing()?.writer.controller().unlock_writes() {
            return Ok(());
        }
        Err(Error::aborted("No LockWAL() in effect"))
    }
}
