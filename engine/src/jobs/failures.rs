//! Handles failures of jobs, of the WAL and of memtables: sets the background error, wakes the writers, plans a
//! resume.

use base::stats::Ticker;
use base::{Error, Kind};
use format::names::FileName;

use super::context::JobContext;
use crate::errors::{Remedy, file_of};
use crate::event::{ErrorReason, Event};
use crate::family::Family;
use crate::schedule::Schedule;
use crate::sync::{Arc, OnceLock, Weak};
use crate::write::ErrorSink;

/// Plans an attempt to resume. `resume` implements this trait.
pub trait Resumer: Send + Sync {
    fn schedule_resume(&self);
}

/// Handles the failures of one database.
pub struct Failures {
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    resumer: OnceLock<Weak<dyn Resumer>>,
}

impl Failures {
    /// Makes the handler of failures. Without a resumer, which is set later, no resume is planned.
    pub fn new(context: Arc<JobContext>, schedule: Arc<Schedule>) -> Self {
        Failures { context, schedule, resumer: OnceLock::new() }
    }

    /// Sets the object that plans resumes. A failure before this call plans no resume.
    pub fn set_resumer(&self, resumer: Weak<dyn Resumer>) {
        let is_first = self.resumer.set(resumer).is_ok();
        base::invariant!(is_first, "the failures of a database get a second resumer");
    }

    fn schedule_resume(&self) {
        if let Some(resumer) = self.resumer.get().and_then(Weak::upgrade) {
            resumer.schedule_resume();
        }
    }

    /// Handles the failure of a flush of these column families. A close, a dropped column family, and the failure of an
    /// older flush are not new failures.
    pub fn flush_failed(&self, error: Error, families: &[Arc<Family>]) {
        // Incomplete: the flush of an older memtable failed, and that failure was recorded.
        if matches!(error.kind(), Kind::ShutdownInProgress | Kind::ColumnFamilyDropped | Kind::Incomplete) {
            return;
        }
        let reported = match file_of(&error) {
            _ if self.context.wals.is_poisoned() => ErrorReason::Flush,
            Some(FileName::Manifest(_) | FileName::Current) => ErrorReason::ManifestWriteNoWal,
            _ => ErrorReason::FlushNoWal,
        };
        self.record(error, ErrorReason::Flush, reported, families);
    }

    /// Records a failure, and starts a resume if a resume can clear the error.
    pub fn failed(&self, error: Error, reason: ErrorReason) {
        self.failed_in(error, reason, &[]);
    }

    /// Handles the failure of a job of these column families. If the job failed at an SST file, the other
    /// column families continue. With `atomic_flush` no column family can continue, because each commit
    /// needs SST files of all of them. See [`Failures::failed`].
    pub fn failed_in(&self, error: Error, reason: ErrorReason, families: &[Arc<Family>]) {
        let reported = match (reason, file_of(&error)) {
            (ErrorReason::Compaction, Some(FileName::Manifest(_) | FileName::Current)) => {
                ErrorReason::ManifestWrite
            }
            _ => reason,
        };
        self.record(error, reason, reported, families);
    }

    /// Does the work of [`Failures::failed_in`]. Listeners and the info log get the reason `reported`.
    fn record(&self, error: Error, reason: ErrorReason, reported: ErrorReason, families: &[Arc<Family>]) {
        let auto = self.context.tools.options.load().max_bgerror_resume_count > 0;
        let families = if self.context.atomic_flush { &[] } else { families };
        let ids: Vec<_> = families.iter().map(|family| family.id()).collect();
        if self.context.tools.events.has_listeners() {
            let rated = self.context.errors.rated(error.clone(), reason, self.context.wals.is_poisoned());
            if self.context.tools.events.suppresses(reported, &rated) {
                self.context
                    .tools
                    .events
                    .warn(format_args!("A listener suppressed the background error: {rated}"));
                return;
            }
        }
        let (error, remedy) =
            self.context.errors.set(error, reason, &ids, auto, self.context.wals.is_poisoned());
        families
            .iter()
            .filter(|family| family.is_dropped())
            .for_each(|family| drop(self.context.errors.forget(family.id())));
        let stats = &self.context.tools.stats;
        stats.add(Ticker::ErrorHandlerBgErrorCount, 1);
        if error.kind() == Kind::IoError {
            stats.add(Ticker::ErrorHandlerBgIoErrorCount, 1);
            stats.add(Ticker::ErrorHandlerBgRetryableIoErrorCount, u64::from(error.retryable()));
        }
        self.context.tools.events.error(format_args!("Background error, reason {}: {error}", reported as u8));
        self.context.tools.events.emit(&Event::BackgroundError {
            reason: reported,
            error: error.clone(),
            is_decided: true,
        });
        let resumes =
            remedy == Remedy::Resume && !self.context.tools.events.vetoes_recovery(reported, &error);
        if resumes {
            self.context.tools.events.emit(&Event::ErrorRecoveryStarted { reason: reported, error });
        } else if remedy == Remedy::Resume {
            self.context.errors.resume_given_up();
        }
        self.errors_changed();
        if resumes {
            self.schedule_resume();
        }
    }

    /// Updates the write stalls after a background error is set or cleared, and wakes all waiting writers.
    /// A stopped column family does not stall the writers of other column families. If all column families
    /// are stopped, waiting writers continue to wait until the error is cleared.
    pub fn errors_changed(&self) {
        {
            // If two threads run this function, the later thread must not use the older state.
            let _state = self.schedule.queues();
            let held = self.context.errors.held();
            let others = self.context.families.all().iter().any(|family| !held.contains(&family.id()));
            self.context.controller.exclude_families(if others { held } else { Vec::new() });
        }
        self.wake_stalled();
        self.schedule.pool().notify();
    }

    /// Considers a new column family.
    pub fn family_added(&self, family: &Arc<Family>) {
        if self.context.errors.is_stopped() {
            self.errors_changed();
        }
        self.schedule.reconsider(family);
    }

    /// Forgets the background error of a dropped column family.
    pub fn family_dropped(&self, family: &Arc<Family>) {
        if let Some(old) = self.context.errors.forget(family.id()) {
            self.context
                .tools
                .events
                .emit(&Event::RecoveredFromError { old, new: self.context.errors.get() });
            self.errors_changed();
        }
        self.schedule.reconsider(family);
    }

    /// Wakes the stalled writers: writers that wait for the stall controller, and writers that wait for
    /// memory.
    pub fn wake_stalled(&self) {
        match self.context.writer() {
            Some(writer) => writer.wake_stalled(),
            None => self.context.controller.wake(),
        }
    }
}

impl ErrorSink for Failures {
    fn wal_failed(&self, error: &Error) {
        self.failed(error.clone(), ErrorReason::WriteCallback);
    }

    fn wal_found_failed(&self, error: &Error) {
        if self.context.wals.is_poisoned() && self.context.errors.check().is_ok() {
            self.wal_failed(error);
        }
    }

    fn memtable_failed(&self, error: &Error) {
        self.failed(error.clone(), ErrorReason::MemTable);
    }
}
