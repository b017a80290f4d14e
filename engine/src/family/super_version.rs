//! What a reader pins: all places a family's entries can be at one moment.

use lsm::file_meta::FileMetaData;
use lsm::version::Version;
use mem::memtable::MemTable;
use mem::range_del::FragmentedTombstones;

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
    /// The tables with range tombstones, found when first asked for.
    pub(crate) tombstones: OnceLock<Box<[TableTombstones]>>,
    /// Last, so that it rings when the version is let go of.
    _ring: Ring,
}

/// The range tombstones of one table.
pub struct TableTombstones {
    pub level: usize,
    pub file: Arc<FileMetaData>,
    /// An error where the table could not be opened; see [`TableTombstones::fragments`].
    pub(crate) fragments: base::Result<Arc<FragmentedTombstones>>,
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
        SuperVersion { number, mem, imm, version, parts, tombstones: OnceLock::new(), _ring: Ring(bell) }
    }
}

/// The last reader of a moment lets go: files that only it needed may now be deleted.
struct Ring(Arc<Bell>);

impl Drop for Ring {
    fn drop(&mut self) {
        self.0.ring();
    }
}
