//! The parts of the engine that a flush uses.

use crate::commit::Committer;
use crate::family::{Family, FamilySet, FlushPick};
use crate::files::Obsolete;
use crate::output::JobTools;
use crate::source::TableCache;
use crate::sync::Arc;
use crate::wal::WalSet;

/// The parts of the engine that a flush uses.
pub struct FlushTools<'a> {
    pub tools: &'a JobTools,
    pub families: &'a FamilySet,
    pub wals: &'a WalSet,
    pub tables: &'a Arc<TableCache>,
    pub committer: &'a Committer,
    /// Takes the blob files that no version needs.
    pub obsolete: &'a Obsolete,
    /// Waits until no older memtable of the column family is being flushed: [`crate::family::State::turn`].
    pub turn: &'a dyn Fn(&Family, &FlushPick) -> bool,
    /// True if the flush must make the decisions of transactions durable in the WAL before its commit. False if its
    /// commit makes all WALs with such decisions obsolete.
    pub needs_decisions: bool,
}
