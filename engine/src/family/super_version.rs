//! What a reader pins: all places a family's entries can be at one moment.

use lsm::version::Version;
use mem::memtable::MemTable;

use super::Parts;
use crate::bell::Bell;
use crate::sync::{Arc, OnceLock};

/// One moment of a family. Never changes (but for entries joining `mem`); replaced as a whole.
pub struct SuperVersion {
    /// Counts installs in this family, from 1.
    pub number: u64,
    /// Takes the writes.
    pub mem: Arc<MemTable>,
    /// Sealed memtables not yet in `version`, newest first: the order in which to look.
    pub imm: Arc<[Arc<MemTable>]>,
    pub version: Arc<Version>,
    /// The components and settings of that moment.
    pub parts: Arc<Parts>,
    /// Whether tables have range tombstones, once that is known for all of them.
    pub(crate) table_tombstones: OnceLock<bool>,
    /// Last, so that it rings when the version is let go of.
    _ring: Ring,
}

impl SuperVersion {
    pub(crate) fn new(
        number: u64,
        mem: Arc<MemTable>,
        imm: Arc<[Arc<MemTable>]>,
        version: Arc<Version>,
        parts: Arc<Parts>,
        bell: Arc<Bell>,
    ) -> Self {
        SuperVersion { number, mem, imm, version, parts, table_tombstones: OnceLock::new(), _ring: Ring(bell) }
    }
}

/// The last reader of a moment lets go: files that only it needed may now be deleted.
struct Ring(Arc<Bell>);

impl Drop for Ring {
    fn drop(&mut self) {
        self.0.ring();
    }
}
