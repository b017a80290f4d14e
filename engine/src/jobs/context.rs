//! The objects that every job uses.

use base::Result;

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
