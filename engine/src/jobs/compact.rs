//! Automatic compaction jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::stats::Ticker;
use base::{Error, Kind, Result, Severity, Subcode};
use format::names::FileName;
use lsm::pick::{self, View};

use super::context::JobContext;
use super::failures::Failures;
use super::purge::FilePurger;
use crate::compaction::{self, Compacted, CompactionTools, Job};
use crate::errors::{file_of, panicked};
use crate::event::{ErrorReason, Event};
use crate::family::Family;
use crate::options::RunningTask;
use crate::schedule::{Queues, Schedule};
use crate::sync::{Arc, Flag};
use crate::write::ErrorSink;

/// Runs compactions to their commit.
pub struct Compactions {
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    purge: Arc<FilePurger>,
    failures: Arc<Failures>,
}

impl Compactions {
    /// Makes the runner of compactions. No compaction starts before the schedule asks for it.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        purge: Arc<FilePurger>,
        failures: Arc<Failures>,
    ) -> Self {
        Self { context, schedule, purge, failures }
    }

    /// Runs in a slot for compactions: takes the next column family of the queue, picks a compaction for it, and runs
    /// the compaction.
    pub(super) fn compaction_job(&self) {
        let (picked, task) = self.begin_job();
        let outcome = match &picked {
            Some(job) => self.compact_in_space(job).map(drop),
            None => Ok(()),
        };
        if let Some(job) = &picked {
            self.schedule.release(job);
        }
        drop(task);
        let failed = outcome.is_err();
        self.end_job(picked.as_ref(), outcome);
        if let Some(job) = picked {
            let family = job.family.clone();
            drop(job);
            if failed {
                self.schedule.reconsider_later(vec![family]);
            } else {
                self.schedule.reconsider(&family);
            }
            // The dropped job released its input files.
            self.purge.schedule();
        }
        self.schedule.report_pressure();
        self.schedule.pool().notify();
    }

    /// Counts a job as running, and picks its compaction. Returns `None` as the first value if nothing is to do. The caller drops
    /// the second value after the compaction.
    fn begin_job(&self) -> (Option<Job>, Option<RunningTask>) {
        let mut state = self.schedule.queues();
        state.compaction.running += 1;
        base::invariant!(
            state.compaction.running <= state.compaction.scheduled,
            "{} compactions run, and {} are scheduled",
            state.compaction.running,
            state.compaction.scheduled
        );
        let (family, task) = match self.schedule.take_compaction(&mut state) {
            Some((family, task)) if !family.is_dropped() => (family, task),
            _ => return (None, None),
        };
        // The comparator of the application may panic. Without this, a close would wait for this job forever.
        match catch_unwind(AssertUnwindSafe(|| self.pick(&mut state, &family))) {
            Ok(None) => (None, task),
            Ok(Some(job)) => {
                // The column family may need more compactions, which can run concurrently with this job.
                state.enqueue_compaction(&family);
                self.schedule.start_due(&mut state);
                (Some(job), task)
            }
            Err(caught) => {
                drop(state);
                let error = panicked("the choice of a compaction", &*caught);
                self.failures.failed_in(error, ErrorReason::Compaction, &[family]);
                (None, task)
            }
        }
    }

    /// Handles the error of a job, counts the job as ended, and starts the jobs that are due.
    fn end_job(&self, picked: Option<&Job>, outcome: Result<()>) {
        let reported = match (picked, &outcome) {
            (Some(job), Err(error)) => self.compaction_failed(job, error.clone()),
            _ => false,
        };
        let mut state = self.schedule.queues();
        base::invariant!(
            state.compaction.running > 0 && state.compaction.scheduled > 0,
            "a compaction that was not counted has ended"
        );
        state.compaction.running -= 1;
        state.compaction.scheduled -= 1;
        if let (Some(job), Err(error)) = (picked, outcome) {
            // The start of this job put the column family back into the queue. Remove it, so that the failed
            // compaction does not start again at once.
            state.compaction.queue.retain(|f| f.id() != job.family.id());
            if reported {
                state.compaction.failures += 1;
                state.compaction.last_failure = Some(error);
            }
        }
        self.schedule.start_due(&mut state);
        self.schedule.pool().notify();
    }

    fn pick(&self, state: &mut Queues, family: &Arc<Family>) -> Option<Job> {
        let pin = family.pin_owned();
        let running = state.running_of(family.id());
        let ts_low = family.state().full_history_ts_low.clone();
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.schedule.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
            young_after: self.context.tools.young_after(&pin.parts.pick),
        };
        if pin.parts.pick.disable_auto_compactions {
            return None;
        }
        let task = pick::pick(&view, &pin.parts.pick, self.context.tools.env.clock.now_seconds())?;
        let canceled = Arc::new(Flag::new(false));
        let job = self.schedule.reserve(state, family, task, Some(canceled.clone()));
        base::invariant!(
            state.compaction.flags.iter().all(|(id, _)| *id != job.id),
            "the running compactions have the job {} twice",
            job.id
        );
        state.compaction.flags.push((job.id, canceled));
        Some(job)
    }

    /// Runs a compaction, if the SST file manager has space for the output files. A trivial move needs no space, and a
    /// deletion of files by FIFO compaction frees space.
    ///
    /// # Errors
    /// CompactionTooLarge if there is no space. Errors of the compaction.
    pub(super) fn compact_in_space(&self, job: &Job) -> Result<Compacted> {
        let db = self.context.tools.options.load();
        let writes = !job.task.trivial_move && !job.task.deletion;
        let Some(manager) = db.sst_file_manager.as_ref().filter(|_| writes) else {
            return self.compact(job);
        };
        let bytes = job.task.files().map(|(_, file)| file.size).sum();
        let Some(_reservation) = manager.reserve(bytes) else {
            self.context.tools.stats.add(Ticker::CompactionCancelled, 1);
            self.context.tools.events.warn(format_args!(
                "[{}] A compaction of {bytes} bytes does not fit below the limit of the SST file manager",
                job.family.name()
            ));
            return Err(Error::new(Kind::CompactionTooLarge, "no space for the output of a compaction"));
        };
        self.compact(job)
    }

    /// Runs a job to its commit. A panic becomes an error.
    fn compact(&self, job: &Job) -> Result<Compacted> {
        let db = self.context.tools.options.load();
        // Only compactions read with direct I/O. Reads of users continue to use the page cache, with other open
        // files.
        let direct = (db.use_direct_io_for_compaction_reads && !db.use_direct_reads)
            .then(|| self.context.tables.direct());
        let tables = direct.as_ref().unwrap_or(&self.context.tables);
        let tools = CompactionTools {
            tools: &self.context.tools,
            tables,
            output_tables: &self.context.tables,
            committer: &self.context.committer,
            wals: &self.context.wals,
        };
        let done = match catch_unwind(AssertUnwindSafe(|| compaction::run(&tools, job))) {
            Ok(done) => done?,
            Err(panic) => return Err(panicked("a compaction", &*panic)),
        };
        if let Some(committed) = &done.committed {
            self.purge.committed(committed);
            self.schedule.look_for_empty_ranges_of(&job.family);
        }
        Ok(done)
    }

    /// Handles the error of a compaction. Returns false if the error is an expected end: a close, a dropped column family,
    /// no space below the limit of the SST file manager, or a cancellation.
    pub(super) fn compaction_failed(&self, job: &Job, error: Error) -> bool {
        let expected =
            matches!(
                error.kind(),
                Kind::ShutdownInProgress | Kind::ColumnFamilyDropped | Kind::CompactionTooLarge
            ) || matches!(error.subcode(), Subcode::ManualCompactionPaused | Subcode::CompactionAborted);
        // The compaction of a database with undecided transactions syncs the WAL. The resume from the failure of this WAL can
        // end before the compaction. A retry of the compaction does not clear the failure.
        let is_of_wal = matches!(file_of(&error), Some(FileName::Wal(_)));
        if is_of_wal {
            self.failures.wal_found_failed(&error);
        }
        if !expected && !is_of_wal && !self.quarantined(job, &error) {
            self.failures.failed_in(error, ErrorReason::Compaction, std::slice::from_ref(&job.family));
        }
        !expected
    }

    /// Quarantines a damaged input file of the job. No job takes the file from now on, its undamaged blocks
    /// are still read, and writes continue. Returns false for other errors. RocksDB stops all writes after
    /// such an error.
    fn quarantined(&self, job: &Job, error: &Error) -> bool {
        let Some(FileName::Table(number) | FileName::LegacyTable(number)) = file_of(error) else {
            return false;
        };
        let Some((level, file)) =
            job.task.files().find(|(_, f)| f.number == number).filter(|_| error.is_corruption())
        else {
            return false;
        };
        if file.quarantine() {
            self.context.tools.stats.add(Ticker::ErrorHandlerBgErrorCount, 1);
            self.context.tools.events.error(format_args!(
                "[{}] table {:06} on {level} is quarantined: {error}",
                job.family.name(),
                number
            ));
            let error = error.clone().with_severity(Severity::Soft);
            self.context.tools.events.emit(&Event::BackgroundError {
                reason: ErrorReason::Compaction,
                error,
                is_decided: false,
            });
        }
        true
    }
}
