//! The background error: how far a failure reaches, and how the database gets over it.
//!
//! ```text
//!  none ──failure──► soft   jobs stop or go on by themselves, writes go on
//!                    hard   writes stop until resumed
//!                    fatal, unrecoverable   writes stop until the database is opened again
//! ```
//! Severities are RocksDB's (`db/error_handler.cc`): by reason, kind, subcode and `paranoid_checks`; an
//! error only ever replaces a lesser one. Reads never stop.

use base::{Error, Kind, Severity, Subcode};

use crate::event::ErrorReason;
use crate::sync::{AtomicBool, Mutex, Ordering};

/// What is to be done about an error that was just noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: it was noted, or it was less than what is noted already.
    None,
    /// The job will be scheduled again by itself.
    Retry,
    /// Resume in the background, up to `max_bgerror_resume_count` times.
    Resume,
}

/// The background error of one database.
pub struct ErrorState {
    paranoid_checks: bool,
    /// Raised with a severity of hard and above, so that writers need no lock to know.
    stopped: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    error: Option<Error>,
    /// An error while resuming: tells that it failed.
    during_recovery: Option<Error>,
    recovering: bool,
    /// Resuming in the background is under way or will be tried.
    resume_planned: bool,
    /// With a soft error from a flush without log: no job but the resuming flush may run.
    no_jobs: bool,
    count: u64,
}

impl ErrorState {
    pub fn new(paranoid_checks: bool) -> Self {
        ErrorState { paranoid_checks, stopped: AtomicBool::new(false), inner: Mutex::default() }
    }

    /// Whether writes are refused. One load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The error writers hear, if writes are refused.
    pub fn check(&self) -> base::Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        match &self.inner.lock().error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether jobs may be scheduled.
    pub fn jobs_may_run(&self) -> bool {
        let inner = self.inner.lock();
        !(inner.no_jobs || inner.error.as_ref().is_some_and(|e| e.severity() >= Severity::Hard))
    }

    /// What went wrong since resuming began.
    pub fn during_recovery(&self) -> Option<Error> {
        self.inner.lock().during_recovery.clone()
    }

    pub fn get(&self) -> Option<Error> {
        self.inner.lock().error.clone()
    }

    /// How many were noted since open (`rocksdb.background-errors`).
    pub fn count(&self) -> u64 {
        self.inner.lock().count
    }

    /// Notes a failure. `auto_resume`: whether resuming in the background is allowed at all; `log_failed`: whether a log takes
    /// nothing more, of whichever job this is the failure.
    pub fn set(&self, error: Error, reason: ErrorReason, auto_resume: bool, log_failed: bool) -> (Error, Remedy) {
        let mut inner = self.inner.lock();
        inner.count += 1;
        let retryable = error.kind() == Kind::IoError && error.retryable() && error.subcode() != Subcode::NoSpace;
        let (severity, mut remedy) = if error.severity() >= Severity::Fatal {
            (error.severity(), Remedy::None)
        } else if error.data_loss() {
            (Severity::Unrecoverable, Remedy::None)
        } else if retryable && reason == ErrorReason::Compaction {
            return (error.with_severity(Severity::Soft), Remedy::Retry);
        } else if retryable {
            match reason {
                ErrorReason::FlushNoWal | ErrorReason::ManifestWriteNoWal => {
                    inner.no_jobs = true;
                    (Severity::Soft, Remedy::Resume)
                }
                _ => (Severity::Hard, Remedy::Resume),
            }
        } else {
            let severity = severity_of(reason, error.kind(), error.subcode(), self.paranoid_checks);
            let space = matches!(error.subcode(), Subcode::NoSpace | Subcode::SpaceLimit);
            let remedy = if space && severity < Severity::Fatal { Remedy::Resume } else { Remedy::None };
            // RocksDB goes on and writes behind what failed. Here nothing comes behind it: writes and flushes need a new log,
            // which resuming begins.
            match severity {
                Severity::None if log_failed || reason == ErrorReason::WriteCallback => (Severity::Hard, Remedy::Resume),
                _ => (severity, remedy),
            }
        };
        let error = error.with_severity(severity);
        if severity == Severity::None {
            return (error, Remedy::Retry);
        }
        if inner.recovering {
            inner.during_recovery.get_or_insert_with(|| error.clone());
            remedy = Remedy::None;
        }
        if inner.error.as_ref().is_some_and(|old| old.severity() >= severity) {
            return (error, Remedy::None);
        }
        inner.error = Some(error.clone());
        if severity >= Severity::Hard {
            self.stopped.store(true, Ordering::Release);
        }
        if !auto_resume {
            remedy = Remedy::None;
        }
        inner.resume_planned |= remedy == Remedy::Resume;
        (error, remedy)
    }

    /// The error for which a stalled writer is not to wait any longer: nobody is getting over it, so what it
    /// waits for may never happen. Any severity; RocksDB's `DelayWrite` has it so.
    pub fn ends_stalls(&self) -> Option<Error> {
        let inner = self.inner.lock();
        if inner.recovering || inner.resume_planned { None } else { inner.error.clone() }
    }

    /// Nobody will try to resume in the background any more.
    pub fn resume_given_up(&self) {
        self.inner.lock().resume_planned = false;
    }

    /// Begins to resume; the error to get over, or `None` when there is none.
    ///
    /// # Errors
    /// Busy if somebody resumes already; the error itself if it is too severe.
    pub fn recovery_begin(&self) -> base::Result<Option<Error>> {
        let mut inner = self.inner.lock();
        let Some(error) = inner.error.clone() else { return Ok(None) };
        if inner.recovering {
            return Err(Error::busy("Recovery already in progress"));
        }
        if error.severity() >= Severity::Fatal {
            return Err(error);
        }
        inner.recovering = true;
        inner.no_jobs = false;
        inner.during_recovery = None;
        Ok(Some(error))
    }

    /// Ends resuming. All is well again if the outcome and every error noted meanwhile allow it.
    pub fn recovery_end(&self, outcome: base::Result<()>) -> base::Result<()> {
        let mut inner = self.inner.lock();
        inner.recovering = false;
        let failed = inner.during_recovery.take();
        outcome?;
        if let Some(error) = failed {
            return Err(error);
        }
        if inner.error.as_ref().is_some_and(|e| e.severity() >= Severity::Fatal) {
            return Err(inner.error.clone().unwrap_or_else(|| Error::aborted("resume failed")));
        }
        inner.error = None;
        inner.no_jobs = false;
        self.stopped.store(false, Ordering::Release);
        Ok(())
    }

    pub fn is_recovering(&self) -> bool {
        self.inner.lock().recovering
    }
}

/// RocksDB's three maps in one: by subcode, then by kind, then by reason.
fn severity_of(reason: ErrorReason, kind: Kind, subcode: Subcode, paranoid: bool) -> Severity {
    use ErrorReason as R;
    let no_error_unless = |severity| if paranoid { severity } else { Severity::None };
    let job = matches!(reason, R::Compaction | R::Flush | R::FlushNoWal);
    let manifest = matches!(reason, R::ManifestWrite | R::ManifestWriteNoWal);
    match (kind, subcode) {
        (Kind::IoError, Subcode::IoFenced) => Severity::Fatal,
        (Kind::IoError, Subcode::NoSpace) if reason == R::Compaction => no_error_unless(Severity::Soft),
        (Kind::IoError, Subcode::NoSpace) if job => no_error_unless(Severity::Hard),
        (Kind::IoError, Subcode::NoSpace) if manifest || reason == R::WriteCallback => Severity::Hard,
        (Kind::IoError, Subcode::SpaceLimit) if job => no_error_unless(Severity::Hard),
        (Kind::Corruption, _) if job || matches!(reason, R::WriteCallback | R::AsyncFileOpen) => {
            no_error_unless(Severity::Unrecoverable)
        }
        (Kind::IoError, _) if manifest => Severity::Fatal,
        (Kind::IoError, _) if job || reason == R::WriteCallback => no_error_unless(Severity::Fatal),
        (Kind::Incomplete | Kind::NotSupported, _) if reason == R::AsyncFileOpen => no_error_unless(Severity::Fatal),
        _ => match reason {
            R::Compaction | R::Flush => no_error_unless(Severity::Fatal),
            R::AsyncFileOpen => no_error_unless(Severity::Soft),
            _ => Severity::Fatal,
        },
    }
}
