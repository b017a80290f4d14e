//! Flushes and syncs of the WALs, and `lock_wal`: writes and switches of memtables wait, so that the WAL files do not change.
//!
//! Follows RocksDB `DBImpl::LockWAL` and `DBImpl::UnlockWAL`.

use base::stats::{HistogramKind, Ticker};
use base::{Error, Result};

use super::Wals;
use crate::stats::DatabaseCounter;
use crate::write::ErrorSink;

impl Wals<'_> {
    /// Makes all later writes, flushes and ingestions wait until [`Wals::unlock`]. Waits for the writes that run and for a
    /// write stall, and writes the buffered WAL records to the file. Calls are counted for each thread. Compactions, and
    /// flushes of memtables that are immutable already, continue.
    ///
    /// # Errors
    /// Errors of the WAL. Then the call has locked nothing.
    pub fn lock(&self) -> Result<()> {
        let writing = self.db.inner.writing()?;
        let controller = writing.writer.controller();
        if !controller.lock_again() {
            // Runs after the writes that came before.
            writing.writer.alone(|_| controller.lock_writes())?;
        }
        let flushed = self.flush(false);
        if flushed.is_err() {
            controller.unlock_writes();
        }
        flushed
    }

    /// Undoes one [`Wals::lock`] of this thread.
    ///
    /// # Errors
    /// Aborted if this thread has not locked the WAL.
    pub fn unlock(&self) -> Result<()> {
        if self.db.inner.writing()?.writer.controller().unlock_writes() {
            return Ok(());
        }
        Err(Error::aborted("No LockWAL() held by current thread"))
    }

    /// Writes the buffered WAL records (`manual_wal_flush`) to the file. With `sync`, also makes them durable.
    ///
    /// # Errors
    /// Errors of the WAL. NotSupported in a database that is open for reading; without `sync`, a secondary instance returns
    /// OK.
    pub fn flush(&self, sync: bool) -> Result<()> {
        let writing = match self.db.inner.work()? {
            Some(writing) => writing,
            // A reader has no buffered records. RocksDB's read-only mode rejects the call, and its other modes do not.
            None if !sync && !self.db.inner.is_plain_reader() => return Ok(()),
            None => return Err(self.db.inner.refusal()),
        };
        let wals = &self.db.inner.wals;
        let stats = &self.db.inner.tools.stats;
        let began = stats.begin();
        let done = match sync {
            true => wals.sync_together().into_result(),
            false => wals.flush(),
        };
        if sync && done.is_ok() {
            stats.end(began, HistogramKind::WalFileSyncMicros);
            stats.add(Ticker::WalFileSynced, 1);
            stats.database.add(DatabaseCounter::WalSyncs, 1);
        }
        // If a resume has already replaced the failed WAL, its error is recorded already.
        if let Err(error) = &done
            && wals.is_poisoned()
        {
            writing.jobs.failures.wal_failed(error);
        }
        done
    }

    /// Makes all earlier writes durable.
    pub fn sync(&self) -> Result<()> {
        self.flush(true)
    }
}
