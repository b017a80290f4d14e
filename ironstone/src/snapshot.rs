//! One moment of a database to read from.

use std::sync::Arc;

use base::{Pinned, Result};
use engine::sequence::Snapshot as Held;

use crate::{Db, Family, Iter, ReadOptions};

/// What was visible when it was taken, whatever is written since. Dropping the last clone releases it; until
/// then compaction keeps the versions it sees.
#[derive(Clone)]
pub struct Snapshot {
    db: Db,
    held: Arc<Held>,
}

impl Snapshot {
    pub(crate) fn new(db: Db, held: Arc<Held>) -> Self {
        Snapshot { db, held }
    }

    /// Entries at or below this sequence number are seen.
    pub fn sequence(&self) -> u64 {
        self.held.sequence()
    }

    /// Read options that read from this snapshot.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { snapshot: Some(self.held.clone()), ..ReadOptions::default() }
    }

    /// The snapshot as read options carry it.
    pub fn held(&self) -> Arc<Held> {
        self.held.clone()
    }

    /// As [`Db::get`].
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.db.get_with(key, &self.options())
    }

    /// As [`Family::get`].
    ///
    /// # Errors
    /// As there.
    pub fn get_in(&self, family: &Family, key: &[u8]) -> Result<Option<Pinned>> {
        family.get_with(key, &self.options())
    }

    /// An iterator over the default family at this moment.
    ///
    /// # Errors
    /// As [`Db::iter_with`].
    pub fn iter(&self) -> Result<Iter> {
        self.db.iter_with(self.options())
    }
}

impl From<&Snapshot> for Option<Arc<Held>> {
    fn from(snapshot: &Snapshot) -> Self {
        Some(snapshot.held())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "snapshot at {}", self.sequence())
    }
}
