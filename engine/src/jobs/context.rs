//! The objects that every job uses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, Result};

use crate::commit::Committer;
use crate::errors::ErrorState;
use crate::family::{Family, FamilySet};
use crate::files::{Obsolete, Recycle};
use crate::output::JobTools;
use crate::source::TableCache;
use crate::sync::{Arc, OnceLock, Weak};
use crate::wal::WalSet;
use crate::write::Writer;
use crate::write::stall::Controller;

/// The parts of the database that jobs use.
pub struct JobContext {
    pub tools: Arc<JobTools>,
    pub families: Arc<FamilySet>,
    pub wals: Arc<WalSet>,
    pub recycle: Arc<Recycle>,
    pub committer: Arc<Committer>,
    pub tables: Arc<TableCache>,
    pub obsolete: Arc<Obsolete>,
    pub errors: Arc<ErrorState>,
    pub controller: Arc<Controller>,
    pub atomic_flush: bool,
    /// Set once the write path exists. The writer owns the schedule, so the pointer is weak.
    pub writer: OnceLock<Weak<Writer>>,
}

impl JobContext {
    /// Returns the write path, if the database is not closing.
    pub fn writer(&self) -> Option<Arc<Writer>> {
        self.writer.get().and_then(Weak::upgrade)
    }

    /// Checks that no background error stops one of these column families.
    ///
    /// # Errors
    /// The background error that stops one of these column families.
    pub fn check_families(&self, families: &[Arc<Family>]) -> Result<()> {
        self.errors.check_families(families.iter().map(|family| family.id()))
    }
}

/// Runs a step of a call of the application. Returns the error of a panic, for example of a comparator of the application. Without
/// this, a close would wait for the end of the call forever.
pub fn caught<T>(what: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| Err(panicked(what, &*panic)))
}

/// Returns the background error for a caught panic of a job.
pub fn panicked(what: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let words = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string());
    Error::aborted(format!("{what} panicked: {words}")).with_severity(base::Severity::Fatal)
}
