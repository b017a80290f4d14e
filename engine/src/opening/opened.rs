//! The parts of an open database, before `db` makes the handle.

use env::posix::Tenant;

use super::follow::ReadUpTo;
use super::setup::Caches;
use crate::commit::Committer;
use crate::components::FamilyDescriptor;
use crate::errors::ErrorState;
use crate::family::FamilySet;
use crate::files::{DbLock, Obsolete};
use crate::jobs::Jobs;
use crate::manifest::SharedTail;
use crate::output::JobTools;
use crate::read::Reads;
use crate::recovery::Tail;
use crate::release_notifier::ReleaseNotifier;
use crate::schedule::Schedule;
use crate::source::TableCache;
use crate::sync::Arc;
use crate::upkeep::Upkeep;
use crate::wal::WalSet;
use crate::write::Writer;

/// The parts of a database that only a database with writes has.
#[derive(Clone)]
pub struct Writing {
    pub writer: Arc<Writer>,
    pub schedule: Arc<Schedule>,
    pub jobs: Arc<Jobs>,
    pub upkeep: Arc<Upkeep>,
}

/// The parts of an open database.
pub struct Opened {
    pub tools: Arc<JobTools>,
    pub families: Arc<FamilySet>,
    pub wals: Arc<WalSet>,
    pub committer: Arc<Committer>,
    pub tables: Arc<TableCache>,
    pub obsolete: Arc<Obsolete>,
    pub errors: Arc<ErrorState>,
    pub release_notifier: Arc<ReleaseNotifier>,
    pub reads: Reads,
    /// `None` if the database is open for reading only.
    pub writing: Option<Writing>,
    pub caches: Caches,
    pub lock: Option<DbLock>,
    /// Column families that the caller named and the database does not have. The caller of the open creates them.
    pub missing: Vec<FamilyDescriptor>,
    /// How far a read-only open read. `None` if the database is open for writing.
    pub read_up_to: Option<ReadUpTo>,
    /// Where a catch-up of a read-only open continues. `None` means that it must replay from the start.
    pub tail: Option<Tail>,
    /// Where the next read of the MANIFEST continues, if the reader follows a writer.
    pub manifest_tail: Option<SharedTail>,
    /// Drop this field last: the executor then frees the spare memory of its threads. `None` if the executor has no threads.
    pub tenant: Option<Tenant>,
}
