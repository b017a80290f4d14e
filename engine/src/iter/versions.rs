//! Every version of every key, newest first: what is in the tree rather than what a reader would see.
//!
//! Versions under a newer range tombstone are left out, as RocksDB's internal iterator leaves them out. For
//! tools that look inside.

use base::Result;
use base::iter::InternalIterator;
use base::key::MAX_SEQUENCE;

use super::context::IteratorContext;
use super::tree::{Tree, gather};
use crate::family::SuperVersion;
use crate::options::ReadOptions;
use crate::sync::Arc;

/// A position among the versions of one moment; moves forward only.
pub struct Versions {
    tree: Tree,
    _moment: Arc<SuperVersion>,
}

impl Versions {
    /// Not valid until positioned.
    ///
    /// # Errors
    /// Those of opening tables.
    pub fn new(context: &IteratorContext) -> Result<Self> {
        let moment = context.family.pin_owned();
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let tree = gather(context, &options, &moment, MAX_SEQUENCE)?;
        Ok(Versions { tree, _moment: moment })
    }

    pub fn valid(&self) -> bool {
        self.tree.valid()
    }

    /// # Errors
    /// What ended the walk early.
    pub fn status(&self) -> Result<()> {
        self.tree.status()
    }

    /// The current internal key. Only while valid.
    pub fn key(&self) -> &[u8] {
        self.tree.key()
    }

    /// The current value as it is stored. Only while valid.
    pub fn value(&self) -> &[u8] {
        self.tree.value()
    }

    pub fn seek_to_first(&mut self) {
        self.tree.seek_to_first();
    }

    /// To the first version at or after `target`, an internal key.
    pub fn seek(&mut self, target: &[u8]) {
        self.tree.seek(target);
    }

    /// To the next version. Does nothing when not valid.
    pub fn next(&mut self) {
        if self.valid() {
            self.tree.next();
        }
    }
}
