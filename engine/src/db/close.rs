//! Closing a database: end the stalls, flush what is only in memtables, end the jobs, close the files.
//!
//! ```text
//! close()         the first caller closes; later callers wait, and get the same result
//! last handle     the drop closes; on a thread of a background job, a job of pool `user` closes
//! in a job        close() is refused: the close would wait for the end of the job
//! ```

use std::cell::Cell;
use std::collections::BTreeSet;

use base::stats::Ticker;
use base::{Error, Kind, Result};
use env::executor::{Pool, Tag};
use env::posix::Tenant;

use super::{Db, Inner};
use crate::commit::Committer;
use crate::errors::ErrorState;
use crate::event::{Event, FlushReason};
use crate::family::{Family, FamilySet};
use crate::files::DbLock;
use crate::manifest::recover;
use crate::opening::Writing;
use crate::output::JobTools;
use crate::schedule::is_job_thread;
use crate::source::TableCache;
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering};
use crate::wal::WalSet;

/// The line of the info log at which background work ends: at a close, and before it at each call that cancels the work.
pub(super) const CANCELING: &str = "Shutdown: canceling all background work";

impl Db {
    /// Closes the database now, although other handles exist. Without this call, the drop of the last handle closes the
    /// database, and errors of the close go to the info log only.
    ///
    /// Afterwards all writes, flushes, compactions and option changes through other handles return ShutdownInProgress.
    /// Gets, iterators and snapshots of other handles continue to read the state at the close. If the database is opened
    /// again, these reads fail with IoError when the new handle deletes the SST files that they need.
    ///
    /// If another thread closes the database already, the call waits for that close and returns its result. After the
    /// database is closed, the call returns the result of the close.
    ///
    /// # Errors
    /// The first error of the close; the close still takes all other steps. Aborted, without a close, if a listener or
    /// another callback calls `close` in a background job of this database: the close would wait for this job. Busy if
    /// the thread is closing the database already.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

/// Ends the stalls and the pauses. If some entries may have no WAL record, flushes the column families that have entries in
/// memtables, unless `avoid_flush_during_shutdown` is set. Also flushes the column families whose memtables refer to blob files
/// that no version has.
///
/// # Errors
/// The error of the flush. The error that keeps the flush of a column family from running, if this column family may hold
/// entries without a WAL record: a background error, or ShutdownInProgress if the background work was canceled. The close
/// loses these entries. RocksDB loses them too, and its close returns OK.
pub(super) fn flush_unlogged(
    writing: &Writing,
    tools: &JobTools,
    families: &FamilySet,
    errors: &ErrorState,
) -> Result<()> {
    writing.writer.end_stalls();
    writing.schedule.unpause_all();
    // RocksDB does not replay WALs that refer to blob files, so memtables with such files are always flushed.
    let direct: BTreeSet<_> =
        tools.direct.in_no_version().into_iter().map(|(file, _)| file.family().id).collect();
    let flushes_all = !tools.options.load().avoid_flush_during_shutdown && writing.writer.has_unlogged();
    if !flushes_all && direct.is_empty() {
        return Ok(());
    }
    let mut families = families.all();
    families.retain(|family| (flushes_all || direct.contains(&family.id())) && family.holds_entries());
    let loses = |family: &Arc<Family>| family.may_hold_unlogged();
    let canceled = writing.schedule.queues().closing;
    let canceled = canceled.then(|| Error::shutdown_in_progress("background work was canceled"));
    if let Some(error) = canceled.or_else(|| errors.about_all()) {
        return if families.iter().any(loses) { Err(error) } else { Ok(()) };
    }
    let stopped = families.iter().filter(|family| loses(family));
    let lost = stopped.filter_map(|family| errors.about(family.id())).next();
    families.retain(|family| errors.about(family.id()).is_none());
    let flushed = match writing.jobs.flushes.flush_and_wait(&families, FlushReason::ShutDown) {
        // A dropped column family has nothing to keep.
        Err(error) if error.kind() == Kind::ColumnFamilyDropped => Ok(()),
        flushed => flushed,
    };
    flushed.and(lost.map_or(Ok(()), Err))
}

/// How far the close of a database is.
#[derive(Default)]
enum Progress {
    #[default]
    Open,
    Closing,
    Closed(Result<()>),
}

crate::sync::thread_local! {
    /// The address of the state that this thread closes; 0 if the thread closes no database.
    static CLOSES: Cell<usize> = const { Cell::new(0) };
}

/// Lets one caller close, and gives its result to all others.
#[derive(Default)]
pub(super) struct CloseState {
    /// True from the start of the close. Writers read this without a lock.
    begun: AtomicBool,
    progress: Mutex<Progress>,
    /// Notified at the end of the close.
    ended: Condvar,
}

impl CloseState {
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Returns `None` to the first caller, which then closes. Later callers wait for the result.
    fn begin(&self) -> Option<Result<()>> {
        let mut progress = self.progress.lock();
        loop {
            match &*progress {
                Progress::Open => break,
                Progress::Closed(outcome) => return Some(outcome.clone()),
                Progress::Closing if CLOSES.try_with(Cell::get) == Ok(self.address()) => {
                    return Some(Err(Error::busy("this thread is closing the database already")));
                }
                Progress::Closing => self.ended.wait(&mut progress),
            }
        }
        *progress = Progress::Closing;
        let _ = CLOSES.try_with(|closes| closes.set(self.address()));
        self.begun.store(true, Ordering::Release);
        None
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn end(&self, outcome: Result<()>) {
        base::invariant!(
            matches!(*self.progress.lock(), Progress::Closing),
            "a close ended that never began"
        );
        let _ = CLOSES.try_with(|closes| closes.set(0));
        *self.progress.lock() = Progress::Closed(outcome);
        self.ended.notify_all();
    }
}

/// The parts of a database that a close needs. The handle is not one of them.
struct Closing {
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    wals: Arc<WalSet>,
    committer: Arc<Committer>,
    tables: Arc<TableCache>,
    errors: Arc<ErrorState>,
    writing: Option<Writing>,
    lock: Option<DbLock>,
    shares_tables: bool,
}

impl Inner {
    pub(super) fn close(&self) -> Result<()> {
        if let Some(writing) = &self.writing
            && writing.schedule.pool().runs_here()
        {
            return Err(Error::aborted(
                "close was called in a background job of the database (by a listener or another callback) and would \
                 wait for this job. Close the database on another thread",
            ));
        }
        if let Some(outcome) = self.close.begin() {
            return outcome;
        }
        let outcome = self.closing().run();
        self.close.end(outcome.clone());
        outcome
    }

    fn closing(&self) -> Closing {
        Closing {
            tools: self.tools.clone(),
            families: self.families.clone(),
            wals: self.wals.clone(),
            committer: self.committer.clone(),
            tables: self.tables.clone(),
            errors: self.errors.clone(),
            writing: self.writing.clone(),
            lock: self.lock.lock().take(),
            shares_tables: self.shares_tables.load(Ordering::Relaxed),
        }
    }
}

impl Closing {
    fn run(self) -> Result<()> {
        self.tools.events.emit(&Event::ShutdownStarted);
        self.tools.events.info(format_args!("{CANCELING}"));
        let mut outcome = Ok(());
        if let Some(writing) = &self.writing {
            outcome = flush_unlogged(writing, &self.tools, &self.families, &self.errors);
            writing.writer.close();
            writing.jobs.close();
            writing.jobs.purge.purge();
            outcome = outcome.and(self.verify_manifest());
            // The close takes every step, also after an error.
            let options = writing.upkeep.write_late_options();
            for step in [options, writing.upkeep.prove_closed(), self.wals.close(), self.committer.close()] {
                outcome = outcome.and(step);
            }
        }
        if !self.shares_tables {
            self.tables.clear();
        }
        let events = &self.tools.events;
        match &outcome {
            Ok(()) => events.info(format_args!("Shutdown complete")),
            Err(error) => events.error(format_args!("Shutdown: {error}")),
        }
        events.logger().close();
        drop(self.lock);
        self.tools.forget_spares();
        outcome
    }

    /// If `verify_manifest_content_on_close` is set and there is no background error, reads the MANIFEST. If the
    /// MANIFEST does not read, or if edits may be missing, writes a new MANIFEST.
    fn verify_manifest(&self) -> Result<()> {
        let wanted =
            self.tools.options.load().verify_manifest_content_on_close && self.errors.get().is_none();
        if !wanted {
            return Ok(());
        }
        let read = recover(&self.tools.env, &self.tools.paths.db, self.committer.manifest_number());
        let error = match read {
            Ok(found) if !found.end.is_in_doubt() => return Ok(()),
            Ok(_) => Error::corruption("it ends in the middle of a record"),
            Err(error) => error,
        };
        self.tools.stats.add(Ticker::ManifestValidationFailureCount, 1);
        self.tools
            .events
            .error(format_args!("The MANIFEST cannot be read back, and a new MANIFEST is written: {error}"));
        self.committer.roll(Vec::new()).map(|_| ())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.close.has_begun() {
            return;
        }
        // The last handle: there is no other caller.
        self.close.begin();
        self.close.end(Ok(()));
        let (closing, tenant) = (self.closing(), self.tenant.take());
        if self.writing.is_some() && is_job_thread() {
            let executor = self.tools.env.executor.clone();
            executor.grow_threads(Pool::User, 1);
            executor.spawn(Pool::User, Tag::default(), Box::new(move || close_last(closing, tenant)));
        } else {
            close_last(closing, tenant);
        }
    }
}

/// Closes without a caller that could take the error: `Closing::run` writes the error to the info log.
fn close_last(closing: Closing, tenant: Option<Tenant>) {
    let _ = closing.run();
    drop(tenant);
}
