//! The background error: which column families a failure affects, and how a resume clears the error.
//!
//! ```text
//!  none ──failure──► soft   jobs stop or are retried, writes continue
//!                    hard   writes stop until a resume clears the error
//!                    fatal, unrecoverable   writes stop until the database is opened again
//!
//!  affected:  a job failed at its own SST file          the column families of the job
//!             WAL, MANIFEST, memory, damage             all column families
//! ```
//! The severities are RocksDB's (`db/error_handler.cc`). Reason, kind and subcode of the error and `paranoid_checks` decide the
//! severity. A new error replaces only a less severe error. No background error stops reads.
//!
//! RocksDB stops the writes of all column families after an error. Ironstone stops only the affected column
//! families. If a flush or compaction fails to write or read an SST file, the other column families are
//! intact: their memtables, SST files and WALs are valid. The WALs that the failed column family still
//! needs are kept, as for any column family with unflushed entries. An error of a WAL, of the MANIFEST or
//! of a directory affects all column families, because all of them share these files.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, FamilyId, Kind, Severity, Subcode};
use format::names::FileName;

use crate::event::ErrorReason;
use crate::ranks;
use crate::sync::{AtomicU8, Ordering, RankedMutex};

/// What the engine does about an error that was just recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// No action: the error was recorded, or a recorded error is more severe.
    None,
    /// The engine schedules the job again.
    Retry,
    /// Resume in the background, up to `max_bgerror_resume_count` times.
    Resume,
}

/// The errors that a resume must clear.
pub struct Recovery {
    /// The background error at the start of the resume.
    pub old: Error,
    /// True if all memtables must be flushed, and a new WAL and a new MANIFEST must be started.
    pub everything: bool,
    /// If `everything` is false: the column families whose memtables must be flushed, each with the number
    /// of its last error that the flush clears.
    pub families: Vec<(FamilyId, u64)>,
}

/// The column families whose writes are rejected: none, some, or all.
const NONE: u8 = 0;
const SOME: u8 = 1;
const ALL: u8 = 2;

/// The background error of one database.
pub struct ErrorState {
    paranoid_checks: bool,
    /// One of the three values above. Writers load it without a lock.
    stopped: AtomicU8,
    inner: RankedMutex<Inner>,
}

struct Noted {
    error: Error,
    /// The number of errors when this error was recorded, and when the last error of the same owner was reported.
    first: u64,
    last: u64,
}

impl Noted {
    fn severity(&self) -> Severity {
        self.error.severity()
    }

    fn stops(&self) -> bool {
        self.severity() >= Severity::Hard
    }

    /// Returns true if space is missing: on the disk, or below the space limit for SST files.
    fn is_for_space(&self) -> bool {
        matches!(self.error.subcode(), Subcode::NoSpace | Subcode::SpaceLimit)
    }

    fn lasts(&self) -> bool {
        self.severity() >= Severity::Fatal
    }
}

#[derive(Default)]
struct Inner {
    /// The error that affects all column families.
    all: Option<Noted>,
    /// The errors that affect one column family each.
    families: BTreeMap<FamilyId, Noted>,
    /// The first error during a resume. The resume then fails.
    during_recovery: Option<Error>,
    recovering: bool,
    /// True if a resume in the background is running or planned.
    resume_planned: bool,
    /// True after a soft error of a flush without WAL: only the flush of the resume may run.
    no_jobs: bool,
    count: u64,
    /// The number of resumes that succeeded.
    resumes: u64,
}

impl Inner {
    fn noted(&self) -> impl Iterator<Item = &Noted> {
        self.all.iter().chain(self.families.values())
    }

    /// Returns the most severe error; of equally severe errors, the first.
    fn error(&self) -> Option<&Error> {
        self.noted()
            .max_by_key(|noted| (noted.severity(), std::cmp::Reverse(noted.first)))
            .map(|noted| &noted.error)
    }

    fn stopped(&self) -> u8 {
        match (&self.all, self.families.values().any(Noted::stops)) {
            (Some(all), _) if all.stops() => ALL,
            (_, true) => SOME,
            _ => NONE,
        }
    }

    fn is_held(&self, family: FamilyId) -> bool {
        self.families.get(&family).is_some_and(Noted::stops)
    }

    /// Returns the error that rejects a write to these column families.
    fn refusal(&self, families: impl IntoIterator<Item = FamilyId>) -> Option<&Error> {
        let all = self.all.as_ref().filter(|all| all.stops());
        let own = || families.into_iter().find_map(|id| self.families.get(&id).filter(|own| own.stops()));
        all.or_else(own).map(|noted| &noted.error)
    }
}

/// Records an error, unless an error of at least the same severity is recorded. Returns true if the error was
/// recorded.
fn note(slot: &mut Option<Noted>, error: &Error, count: u64) -> bool {
    match slot {
        Some(old) if old.severity() >= error.severity() => {
            old.last = count;
            false
        }
        _ => {
            *slot = Some(Noted { error: error.clone(), first: count, last: count });
            true
        }
    }
}

impl ErrorState {
    /// Makes the state without an error. `paranoid_checks` is the option of the database.
    pub fn new(paranoid_checks: bool) -> Self {
        ErrorState {
            paranoid_checks,
            stopped: AtomicU8::new(NONE),
            inner: RankedMutex::new(&ranks::ERRORS, Inner::default()),
        }
    }

    /// Returns true if the writes of at least one column family are rejected. Costs one load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) != NONE
    }

    /// Returns true if the writes of some column families are rejected, but not of all.
    #[inline]
    pub fn is_partly_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) == SOME
    }

    /// Returns the error for all writers, if the writes of all column families are rejected.
    ///
    /// # Errors
    /// This background error.
    #[inline]
    pub fn check(&self) -> base::Result<()> {
        self.check_families([])
    }

    /// Returns the error for writers of these column families, if writes to at least one of them are
    /// rejected.
    ///
    /// # Errors
    /// This background error.
    #[inline]
    pub fn check_families(&self, families: impl IntoIterator<Item = FamilyId>) -> base::Result<()> {
        if self.is_stopped() { self.check_noted(families) } else { Ok(()) }
    }

    #[cold]
    fn check_noted(&self, families: impl IntoIterator<Item = FamilyId>) -> base::Result<()> {
        match self.inner.lock().refusal(families) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns true if jobs may be scheduled. Jobs of stopped column families never are.
    pub fn jobs_may_run(&self) -> bool {
        let inner = self.inner.lock();
        !(inner.no_jobs || inner.all.as_ref().is_some_and(Noted::stops))
    }

    /// Returns true if an error of this column family stops its jobs and writes.
    pub fn is_held(&self, family: FamilyId) -> bool {
        self.is_stopped() && self.inner.lock().is_held(family)
    }

    /// Returns the stopped column families: an error of their own rejects their writes.
    pub fn held(&self) -> Vec<FamilyId> {
        let inner = self.inner.lock();
        inner.families.iter().filter(|(_, noted)| noted.stops()).map(|(id, _)| *id).collect()
    }

    /// Returns the stopped column families whose error no resume is trying to clear.
    pub fn unrecoverable(&self) -> Vec<(FamilyId, Error)> {
        let inner = self.inner.lock();
        let planned = inner.recovering || inner.resume_planned;
        let lost = inner.families.iter().filter(|(_, noted)| noted.stops() && (!planned || noted.lasts()));
        lost.map(|(id, noted)| (*id, noted.error.clone())).collect()
    }

    /// Returns the first error that was reported during the running resume.
    pub fn during_recovery(&self) -> Option<Error> {
        self.inner.lock().during_recovery.clone()
    }

    /// Returns the most severe error of all column families.
    pub fn get(&self) -> Option<Error> {
        self.inner.lock().error().cloned()
    }

    /// Returns the error of any severity that affects all column families.
    pub fn about_all(&self) -> Option<Error> {
        self.inner.lock().all.as_ref().map(|noted| noted.error.clone())
    }

    /// Returns the error that stops this column family alone.
    pub fn about(&self, family: FamilyId) -> Option<Error> {
        self.inner.lock().families.get(&family).filter(|noted| noted.stops()).map(|noted| noted.error.clone())
    }

    /// Returns the number of errors since the open (`rocksdb.background-errors`).
    pub fn count(&self) -> u64 {
        self.inner.lock().count
    }

    /// Returns the number of resumes since the open that succeeded.
    pub fn resumes(&self) -> u64 {
        self.inner.lock().resumes
    }

    /// Counts an error that the engine retries by itself, and that changes no state.
    pub fn count_retried(&self) {
        self.inner.lock().count += 1;
    }

    /// Records a failure. `families` are the column families of the failed job, if the other column
    /// families may continue. The failure affects all column families unless it names an SST file of the
    /// job. `auto_resume` allows a resume in the background. `wal_failed` is true if the active WAL accepts
    /// no more records, whatever job failed.
    pub fn set(
        &self,
        error: Error,
        reason: ErrorReason,
        families: &[FamilyId],
        auto_resume: bool,
        wal_failed: bool,
    ) -> (Error, Remedy) {
        let mut inner = self.inner.lock();
        inner.count += 1;
        let (severity, mut remedy) = self.judge(&error, reason, wal_failed);
        let error = error.with_severity(severity);
        if severity == Severity::None || remedy == Remedy::Retry {
            return (error, Remedy::Retry);
        }
        inner.no_jobs |= severity == Severity::Soft && is_without_wal(reason);
        if inner.recovering {
            inner.during_recovery.get_or_insert_with(|| error.clone());
            remedy = Remedy::None;
        }
        let count = inner.count;
        let noted = if !wal_failed && is_own(&error, reason) && !families.is_empty() {
            let covered = inner.all.as_ref().is_some_and(|all| all.severity() >= severity);
            let mut noted = false;
            for family in families {
                let mut slot = inner.families.remove(family);
                noted |= note(&mut slot, &error, count);
                inner.families.extend(slot.map(|slot| (*family, slot)));
            }
            base::invariant!(
                families.iter().all(|family| inner.families.contains_key(family)),
                "the failure of a job is recorded for fewer than its {} column families",
                families.len()
            );
            noted && !covered
        } else {
            note(&mut inner.all, &error, count)
        };
        if !noted {
            self.update_stopped(&inner);
            return (error, Remedy::None);
        }
        self.update_stopped(&inner);
        if !auto_resume {
            remedy = Remedy::None;
        }
        base::invariant!(
            remedy != Remedy::Resume || severity < Severity::Fatal,
            "a resume is planned for an error of severity {severity:?}"
        );
        inner.resume_planned |= remedy == Remedy::Resume;
        (error, remedy)
    }

    /// Returns the error with the severity that [`ErrorState::set`] will give the error.
    pub fn rated(&self, error: Error, reason: ErrorReason, wal_failed: bool) -> Error {
        let (severity, _) = self.judge(&error, reason, wal_failed);
        error.with_severity(severity)
    }

    fn judge(&self, error: &Error, reason: ErrorReason, wal_failed: bool) -> (Severity, Remedy) {
        let retryable =
            error.kind() == Kind::IoError && error.retryable() && error.subcode() != Subcode::NoSpace;
        if error.severity() >= Severity::Fatal {
            (error.severity(), Remedy::None)
        } else if error.data_loss() {
            (Severity::Unrecoverable, Remedy::None)
        } else if retryable && reason == ErrorReason::Compaction {
            (Severity::Soft, Remedy::Retry)
        } else if retryable && is_without_wal(reason) {
            (Severity::Soft, Remedy::Resume)
        } else if retryable {
            (Severity::Hard, Remedy::Resume)
        } else {
            let severity = severity_of(reason, error.kind(), error.subcode(), self.paranoid_checks);
            let space = matches!(error.subcode(), Subcode::NoSpace | Subcode::SpaceLimit);
            let remedy = if space && severity < Severity::Fatal { Remedy::Resume } else { Remedy::None };
            // RocksDB continues, and appends records after the failed ones. Here a failed WAL takes no more
            // records, so writes and flushes need a new WAL. A resume starts it.
            match severity {
                Severity::None if wal_failed || reason == ErrorReason::WriteCallback => {
                    (Severity::Hard, Remedy::Resume)
                }
                _ => (severity, remedy),
            }
        }
    }

    fn update_stopped(&self, inner: &Inner) {
        base::invariant!(
            inner.noted().all(|noted| noted.first <= noted.last && noted.last <= inner.count),
            "a background error is counted after the newest of {} errors",
            inner.count
        );
        base::invariant!(
            inner.noted().all(|noted| noted.severity() > Severity::None),
            "a background error without a severity is recorded"
        );
        self.stopped.store(inner.stopped(), Ordering::Release);
    }

    /// Returns the error that ends a write stall caused by these column families: no resume is trying to
    /// clear the error, so the stall may never end. The error can have any severity. In RocksDB,
    /// `DelayWrite` ends on an error of any column family.
    pub fn ends_stalls(&self, families: &[FamilyId]) -> Option<Error> {
        let inner = self.inner.lock();
        let planned = inner.recovering || inner.resume_planned;
        let own =
            families.iter().filter_map(|id| inner.families.get(id)).find(|noted| !planned || noted.lasts());
        let all = inner.all.as_ref().filter(|_| !planned);
        all.or(own).map(|noted| noted.error.clone())
    }

    /// Returns the error about missing space that affects these column families. A resume is planned, but the
    /// engine does not know when there will be space. So a stalled writer waits for a limited time only. RocksDB's
    /// writers get the error at once.
    pub fn lacks_space(&self, families: &[FamilyId]) -> Option<Error> {
        let inner = self.inner.lock();
        let own = families.iter().filter_map(|id| inner.families.get(id));
        let noted = inner.all.iter().chain(own).find(|noted| noted.is_for_space());
        noted.map(|noted| noted.error.clone())
    }

    /// Records that no resume in the background will be tried again.
    pub fn resume_given_up(&self) {
        self.inner.lock().resume_planned = false;
    }

    /// Returns true if a resume may clear an error.
    pub fn is_resumable(&self) -> bool {
        let inner = self.inner.lock();
        match &inner.all {
            Some(all) => !all.lasts(),
            None => inner.families.values().any(|own| !own.lasts()),
        }
    }

    /// Returns true if a resume can clear an error once the disk has space.
    pub fn waits_for_space(&self) -> bool {
        self.inner.lock().noted().any(|noted| noted.is_for_space() && !noted.lasts())
    }

    /// Starts a resume. Returns the errors that it must clear; `None` if there is no error.
    ///
    /// # Errors
    /// Busy if another resume is running. The background error, if it is too severe for a resume.
    pub fn recovery_begin(&self) -> base::Result<Option<Recovery>> {
        let mut inner = self.inner.lock();
        let Some(old) = inner.error().cloned() else { return Ok(None) };
        if inner.recovering {
            return Err(Error::busy("Recovery already in progress"));
        }
        let too_severe = match &inner.all {
            Some(all) => all.lasts(),
            None => inner.families.values().all(Noted::lasts),
        };
        if too_severe {
            return Err(inner.all.as_ref().map_or(old, |all| all.error.clone()));
        }
        base::invariant!(inner.noted().next().is_some(), "a resume begins without a background error");
        inner.recovering = true;
        inner.no_jobs = false;
        inner.during_recovery = None;
        let everything = inner.all.as_ref().is_some_and(Noted::stops);
        let stopped = inner.families.iter().filter(|(_, own)| own.stops() && !own.lasts());
        Ok(Some(Recovery { old, everything, families: stopped.map(|(id, own)| (*id, own.last)).collect() }))
    }

    /// Clears the error of a column family after the resume has flushed its memtables. `last` is the error count at
    /// the start of the resume: an error that was reported later stays.
    pub fn clear_family(&self, family: FamilyId, last: u64) {
        let mut inner = self.inner.lock();
        if inner.families.get(&family).is_some_and(|own| own.last == last && !own.lasts()) {
            inner.families.remove(&family);
        }
        self.update_stopped(&inner);
    }

    /// Returns the error of the column family, if the family failed after its error count was `last`.
    pub fn failed_since(&self, family: FamilyId, last: u64) -> Option<Error> {
        let inner = self.inner.lock();
        inner.families.get(&family).filter(|own| own.last != last).map(|own| own.error.clone())
    }

    /// Removes the errors of a dropped column family. Returns the background error if this error belonged
    /// to the column family.
    pub fn forget(&self, family: FamilyId) -> Option<Error> {
        let mut inner = self.inner.lock();
        let gone = inner.families.remove(&family)?;
        self.update_stopped(&inner);
        Some(gone.error)
    }

    /// Ends a resume. If the resume succeeded and no error was reported meanwhile, clears all errors except fatal
    /// errors of single column families, which last until the database is opened again.
    pub fn recovery_end(&self, outcome: base::Result<()>) -> base::Result<()> {
        let mut inner = self.inner.lock();
        base::invariant!(inner.recovering, "a resume ends that did not begin");
        inner.recovering = false;
        let failed = inner.during_recovery.take();
        outcome?;
        if let Some(error) = failed {
            return Err(error);
        }
        inner.resumes += 1;
        inner.all.take_if(|all| !all.lasts());
        inner.families.retain(|_, own| own.lasts());
        inner.no_jobs = false;
        base::invariant!(
            inner.noted().all(Noted::lasts),
            "a resume succeeded and left an error that a resume clears"
        );
        self.update_stopped(&inner);
        inner.error().map_or(Ok(()), |error| Err(error.clone()))
    }
}

fn is_without_wal(reason: ErrorReason) -> bool {
    matches!(reason, ErrorReason::FlushNoWal | ErrorReason::ManifestWriteNoWal)
}

/// Returns true if the error affects only the column families of its job: a flush or compaction failed at an SST
/// file or a blob file. Returns false for damage, for an error that names no such file, and if another process has
/// fenced the database.
fn is_own(error: &Error, reason: ErrorReason) -> bool {
    let job = matches!(reason, ErrorReason::Flush | ErrorReason::FlushNoWal | ErrorReason::Compaction);
    let of_table =
        matches!(file_of(error), Some(FileName::Table(_) | FileName::LegacyTable(_) | FileName::Blob(_)));
    let harmless =
        error.kind() == Kind::IoError && error.subcode() != Subcode::IoFenced && !error.data_loss();
    job && of_table && harmless && error.severity() < Severity::Unrecoverable
}

/// Returns the type and the number of the file that the error names.
pub fn file_of(error: &Error) -> Option<FileName> {
    error.path().and_then(|path| path.file_name()).and_then(|name| name.to_str()).and_then(FileName::parse)
}

/// Returns the severity by RocksDB's three maps: by subcode, then by kind, then by reason.
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
        (Kind::Incomplete | Kind::NotSupported, _) if reason == R::AsyncFileOpen => {
            no_error_unless(Severity::Fatal)
        }
        _ => match reason {
            R::Compaction | R::Flush => no_error_unless(Severity::Fatal),
            R::AsyncFileOpen => no_error_unless(Severity::Soft),
            _ => Severity::Fatal,
        },
    }
}

/// Runs `step`, in which `what` calls code of the application, for example a comparator. Returns the error of a panic. Without this, a
/// close would wait for the end of the call forever.
pub fn caught<T>(what: &str, step: impl FnOnce() -> base::Result<T>) -> base::Result<T> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| Err(panicked(what, &*panic)))
}

/// Returns the background error for a caught panic, for example of a comparator of the application.
pub fn panicked(what: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let words = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string());
    Error::aborted(format!("{what} panicked: {words}")).with_severity(base::Severity::Fatal)
}
