//! The background jobs of a database as a whole: their error, pauses, and waits for their end.

use base::{Error, Result};

use super::close::{CANCELING, flush_unlogged};
use super::{Db, Inner};
use crate::event::FlushReason;
use crate::options::WaitForCompactOptions;

/// The background jobs of a database: see [`Db::background`].
#[derive(Clone, Copy)]
pub struct Background<'a> {
    pub(super) db: &'a Db,
}

impl Background<'_> {
    /// Tries to clear the background error. A column family that was stopped by its own error accepts writes again
    /// after its flush.
    ///
    /// # Errors
    /// Busy if a resume runs already. The background error that remains, also if it stops only one column family. A database
    /// that is open for reading has no background error, and returns OK.
    pub fn resume(&self) -> Result<()> {
        self.db.inner.work()?.map_or(Ok(()), |writing| writing.jobs.resumes.resume())
    }

    /// Returns the most severe background error, also if it stops only one column family. The property
    /// `ironstone.write-error` returns the error that stops one given column family.
    pub fn error(&self) -> Option<Error> {
        self.db.inner.errors.get()
    }

    /// Waits until no flush and no compaction runs or is due.
    ///
    /// # Errors
    /// The background error. The error of a compaction that failed during the wait.
    pub fn wait_for_compact(&self) -> Result<()> {
        self.wait_for_compact_with(&WaitForCompactOptions::default())
    }

    /// Waits as [`Background::wait_for_compact`] does, with options.
    ///
    /// # Errors
    /// The errors of [`Background::wait_for_compact`]. Aborted if background work is paused and `abort_on_pause` is set.
    /// TimedOut. NotSupported with `flush` in a database that is open for reading and has entries in memtables.
    pub fn wait_for_compact_with(&self, options: &WaitForCompactOptions) -> Result<()> {
        let Some(writing) = self.db.inner.work()? else { return self.db.inner.wait_as_reader(options) };
        if options.flush {
            let families = self.db.inner.families.all();
            writing.jobs.flushes.flush_and_wait(&families, FlushReason::ManualFlush)?;
        }
        writing.jobs.wait_for_idle(options)?;
        if options.close_db { self.db.close() } else { Ok(()) }
    }

    /// Starts no new background job, and returns when no background job runs. Calls are counted: see
    /// [`Background::unpause`]. A database that is open for reading only counts.
    ///
    /// # Errors
    /// ShutdownInProgress after a close.
    pub fn pause(&self) -> Result<()> {
        match self.db.inner.work()? {
            Some(writing) => writing.schedule.pause(),
            None => self.db.inner.reading.pause(),
        }
        Ok(())
    }

    /// Undoes one [`Background::pause`]. After the last call, background jobs start again.
    ///
    /// # Errors
    /// InvalidArgument if background work is not paused.
    pub fn unpause(&self) -> Result<()> {
        let was_paused = match self.db.inner.work()? {
            Some(writing) => writing.schedule.unpause(),
            None => self.db.inner.reading.unpause(),
        };
        if was_paused { Ok(()) } else { Err(Error::invalid_argument("Background work already unpaused")) }
    }

    /// Ends all background work for good; the database stays open. Flushes first if entries are in no WAL, unless
    /// `avoid_flush_during_shutdown` is set. With `wait`, returns when no job runs, also if another thread canceled the work.
    /// Without `wait`, running jobs end after the call; a close waits for them.
    ///
    /// Afterwards flushes and compactions return ShutdownInProgress. Writes go to the WAL and the memtable. A write that
    /// would wait for the end of a flush or a compaction returns ShutdownInProgress. If the write buffer manager stops the
    /// write, RocksDB waits instead until another database frees memory, without end if there is none. Entries that are
    /// written without WAL afterwards are lost at the close, and the close returns ShutdownInProgress. RocksDB:
    /// `CancelAllBackgroundWork`.
    ///
    /// # Errors
    /// The error of the flush; the work ends also then. Aborted, without an effect, if a listener or another callback
    /// calls this function in a background job of this database. A database that is open for reading has no background work,
    /// and returns OK.
    pub fn cancel_all(&self, wait: bool) -> Result<()> {
        let Some(writing) = self.db.inner.work()? else { return Ok(()) };
        if writing.schedule.pool().runs_here() {
            return Err(Error::aborted(
                "background work was canceled in a background job of the database (by a listener or another callback). \
                 Cancel the work on another thread",
            ));
        }
        let Inner { tools, families, errors, .. } = &*self.db.inner;
        tools.events.info(format_args!("{CANCELING}"));
        let canceled = writing.schedule.queues().closing;
        let outcome = match canceled {
            true => Ok(()),
            false => flush_unlogged(writing, tools, families, errors),
        };
        match wait {
            true => writing.jobs.close(),
            false => writing.jobs.begin_close(),
        }
        outcome
    }
}
