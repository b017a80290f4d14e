//! `lock_wal`: writes and switches of memtables wait, so that the WAL files do not change.
//!
//! Follows RocksDB `DBImpl::LockWAL` and `DBImpl::UnlockWAL`.

use base::{Error, Result};

use super::Db;

impl Db {
    /// Makes all later writes, flushes and ingestions wait until [`Db::unlock_wal`]. Waits for the writes that run and for a
    /// write stall, and writes the buffered WAL records to the file. Calls are counted for each thread. Compactions, and
    /// flushes of memtables that are immutable already, continue.
    ///
    /// # Errors
    /// Errors of the WAL. Then the call has locked nothing.
    pub fn lock_wal(&self) -> Result<()> {
        let writing = self.writing()?;
        let controller = writing.writer.controller();
        if !controller.lock_again() {
            // Runs after the writes that came before.
            writing.writer.alone(|_| controller.lock_writes())?;
        }
        let flushed = self.flush_wal(false);
        if flushed.is_err() {
            controller.unlock_writes();
        }
        flushed
    }

    /// Undoes one [`Db::lock_wal`] of this thread.
    ///
    /// # Errors
    /// Aborted if this thread has not locked the WAL.
    pub fn unlock_wal(&self) -> Result<()> {
        if self.writing()?.writer.controller().unlock_writes() {
            return Ok(());
        }
        Err(Error::aborted("No LockWAL() held by current thread"))
    }
}
