//! Automatic compaction jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::stats::Ticker;
use base::{Error, Kind, Result, Severity, Subcode};
use format::names::FileName;
use lsm::pick::{self, Task, View};

use super::Background;
use super::flush::panicked;
use crate::compaction::{self, Compacted, CompactionTools, Job};
use crate::event::{ErrorReason, Event};
use crate::family::Family;
use crate::sync::{Arc, Flag, Ordering};

impl Background {
    /// One slot: picks for the family that waited longest, and carries it out.
    pub(super) fn compaction_job(&self) {
        let picked = {
            let mut state = self.state.lock();
            state.compactions_running += 1;
            match self.take_compaction(&mut state) {
                Some(family) if !family.is_dropped() => {
                    let job = self.pick(&mut state, &family);
                    // There may be more to do beside this job.
                    if job.is_some() {
                        state.enqueue_compaction(&family);
                        self.schedule_beside(&mut state);
                    }
                    job
                }
                _ => None,
            }
        };
        let outcome = match &picked {
            Some(job) => self.compact_in_space(job),
            None => Ok(()),
        };
        if let Some(job) = &picked {
            self.release(job);
        }
        let failed = outcome.is_err();
        if let (Some(job), Err(error)) = (&picked, &outcome) {
            self.compaction_failed(job, error.clone());
        }
        {
            let mut state = self.state.lock();
            state.compactions_running -= 1;
            state.compactions_scheduled -= 1;
            if let (Some(job), Err(error)) = (&picked, outcome) {
                // It was put back beside this job; what failed is not tried again at once.
                state.compactions.retain(|f| f.id() != job.family.id());
                state.compaction_failures += 1;
                state.compaction_failure = Some(error);
            }
            self.schedule(&mut state);
            self.changed.tell();
        }
        if let Some(job) = picked {
            let family = job.family.clone();
            drop(job);
            if failed {
                self.reconsider_later(vec![family]);
            } else {
                self.reconsider(&family);
            }
            // The job held its inputs until now.
            self.schedule_purge();
        }
        self.changed.tell();
    }

    /// While a job is being started its slot counts as running; others may be started beside it.
    fn schedule_beside(&self, state: &mut super::State) {
        self.schedule(state);
    }

    fn pick(&self, state: &mut super::State, family: &Arc<Family>) -> Option<Job> {
        let pin = family.pin_owned();
        let running = state.running_of(family.id());
        let ts_low = family.state().full_history_ts_low.clone();
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
        };
        if pin.parts.pick.disable_auto_compactions {
            return None;
        }
        let task = pick::pick(&view, &pin.parts.pick, self.tools.env.clock.now_seconds())?;
        let canceled = Arc::new(Flag::new(false));
        let job = self.reserve(state, family, task, Some(canceled.clone()));
        state.automatic_flags.push((job.id.0, canceled));
        Some(job)
    }

    /// Takes the task's inputs and notes it as running.
    pub(super) fn reserve(
        &self,
        state: &mut super::State,
        family: &Arc<Family>,
        task: Task,
        canceled: Option<Arc<Flag>>,
    ) -> Job {
        let pin = family.pin_owned();
        task.reserve();
        let id = self.tools.take_job_id();
        let running = task.running(&pin.version);
        state.running.entry(family.id()).or_default().push((id.0, running));
        Job {
            id,
            family: family.clone(),
            task,
            version: pin.version.clone(),
            parts: pin.parts.clone(),
            canceled,
        }
    }

    pub(super) fn release(&self, job: &Job) {
        let mut state = self.state.lock();
        job.task.release();
        state.automatic_flags.retain(|(id, _)| *id != job.id.0);
        if let Some(list) = state.running.get_mut(&job.family.id()) {
            list.retain(|(id, _)| *id != job.id.0);
        }
    }

    /// Runs an automatic compaction, if the SST file manager has space for the output.
    ///
    /// # Errors
    /// CompactionTooLarge without the space; errors of the compaction.
    fn compact_in_space(&self, job: &Job) -> Result<()> {
        let db = self.tools.options.load();
        let Some(manager) = db.sst_file_manager.as_ref().filter(|_| !job.task.trivial_move) else {
            return self.compact(job).map(|_| ());
        };
        let bytes = job.task.files().map(|(_, file)| file.size).sum();
        let Some(_reservation) = manager.reserve(bytes) else {
            self.tools.stats.add(Ticker::CompactionCancelled, 1);
            self.tools.events.warn(format_args!(
                "[{}] A compaction of {bytes} bytes does not fit below the limit of the SST file manager",
                job.family.name()
            ));
            return Err(Error::new(Kind::CompactionTooLarge, "no space for the output of a compaction"));
        };
        self.compact(job).map(|_| ())
    }

    /// Runs a job to its commit; a panic becomes an error.
    pub(super) fn compact(&self, job: &Job) -> Result<Compacted> {
        let db = self.tools.options.load();
        // Readers keep theirs, through the page cache.
        let direct =
            (db.use_direct_io_for_compaction_reads && !db.use_direct_reads).then(|| self.tables.direct());
        let tables = direct.as_ref().unwrap_or(&self.tables);
        let tools = CompactionTools { tools: &self.tools, tables, committer: &self.committer };
        let done = match catch_unwind(AssertUnwindSafe(|| compaction::run(&tools, job))) {
            Ok(done) => done?,
            Err(panic) => return Err(panicked("a compaction", &*panic)),
        };
        self.bytes_compacted.fetch_add(done.bytes_read + done.bytes_written, Ordering::Relaxed);
        if let Some(committed) = &done.committed {
            self.committed(committed);
        }
        Ok(done)
    }

    pub(super) fn compaction_failed(&self, job: &Job, error: Error) {
        let expected =
            matches!(
                error.kind(),
                Kind::ShutdownInProgress | Kind::ColumnFamilyDropped | Kind::CompactionTooLarge
            ) || matches!(error.subcode(), Subcode::ManualCompactionPaused | Subcode::CompactionAborted);
        if !expected && !self.quarantined(job, &error) {
            self.failed_in(error, ErrorReason::Compaction, std::slice::from_ref(&job.family));
        }
    }

    /// Quarantines a damaged input file of the job. No job takes the file from now on, its undamaged blocks
    /// are still read, and writes continue. Returns false for other errors. RocksDB stops all writes after
    /// such an error.
    fn quarantined(&self, job: &Job, error: &Error) -> bool {
        let name = error.path().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        let Some(FileName::Table(number) | FileName::LegacyTable(number)) = name.and_then(FileName::parse)
        else {
            return false;
        };
        let Some((level, file)) =
            job.task.files().find(|(_, f)| f.number == number).filter(|_| error.is_corruption())
        else {
            return false;
        };
        if file.quarantine() {
            self.tools.stats.add(Ticker::ErrorHandlerBgErrorCount, 1);
            self.tools.events.error(format_args!(
                "[{}] table {:06} on level {level} is quarantined: {error}",
                job.family.name(),
                number.0
            ));
            let error = error.clone().with_severity(Severity::Soft);
            self.tools.events.emit(&Event::BackgroundError { reason: ErrorReason::Compaction, error });
        }
        true
    }
}
