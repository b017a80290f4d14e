//! Iterates over all entries of every key, newest first: the stored entries, not what a reader sees.
//!
//! Entries under a newer range tombstone are left out, as in RocksDB's internal iterator. For tools that show the
//! stored entries.

use base::Result;
use base::iter::InternalIterator;
use base::key::MAX_SEQUENCE;

use super::context::IteratorContext;
use super::tree::{Tree, gather};
use crate::family::SuperVersion;
use crate::options::ReadOptions;
use crate::sync::Arc;

/// A position among all entries of one super version. Moves only forward.
pub struct Versions {
    tree: Tree,
    _super_version: Arc<SuperVersion>,
}

impl Versions {
    /// Makes an iterator that is not valid before it is positioned.
    ///
    /// # Errors
    /// An error of opening an SST file.
    pub fn new(context: &IteratorContext) -> Result<Self> {
        let super_version = context.family.pin_owned();
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let tree = gather(context, &options, &super_version, MAX_SEQUENCE)?;
        Ok(Versions { tree, _super_version: super_version })
    }

    /// Returns true if the iterator is at an entry. False at the end, after an error, and before the first
    /// positioning call.
    pub fn valid(&self) -> bool {
        self.tree.valid()
    }

    /// # Errors
    /// The error that ended the iteration.
    pub fn status(&self) -> Result<()> {
        self.tree.status()
    }

    /// Returns the current internal key. The iterator must be valid.
    pub fn key(&self) -> &[u8] {
        base::invariant!(self.valid(), "the key of an invalid iterator over versions is read");
        self.tree.key()
    }

    /// Returns the current value as it is stored. The iterator must be valid.
    pub fn value(&self) -> &[u8] {
        base::invariant!(self.valid(), "the value of an invalid iterator over versions is read");
        self.tree.value()
    }

    /// Moves to the newest entry of the smallest key.
    pub fn seek_to_first(&mut self) {
        self.tree.seek_to_first();
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub fn seek(&mut self, target: &[u8]) {
        self.tree.seek(target);
    }

    /// Moves to the next entry. Does nothing if the iterator is not valid.
    pub fn next(&mut self) {
        if self.valid() {
            self.tree.next();
        }
    }
}
