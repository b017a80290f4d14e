//! Every version of every key, newest first: what is in the tree rather than what a reader would see.
//!
//! Versions under a newer range tombstone are left out, as RocksDB's internal iterator leaves them out. For
//! tools that look inside.

use base::iter::InternalIterator;
use base::key::MAX_SEQUENCE;
use base::Result;

use super::tombstones::Tombstones;
use super::{Ground, Tree, gather};
use crate::family::SuperVersion;
use crate::options::ReadOptions;
use crate::sync::Arc;

/// A position among the versions of one moment; moves forward only.
pub struct Versions {
    tree: Tree,
    tombstones: Option<Tombstones>,
    failed: Option<base::Error>,
    _moment: Arc<SuperVersion>,
}

impl Versions {
    /// Not valid until positioned.
    ///
    /// # Errors
    /// Those of opening tables.
    pub fn new(ground: &Ground) -> Result<Self> {
        let moment = ground.family.pin_owned();
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let (tree, tombstones) = gather(ground, &options, &moment)?;
        Ok(Versions { tree, tombstones, failed: None, _moment: moment })
    }

    pub fn valid(&self) -> bool {
        self.failed.is_none() && self.tree.valid()
    }

    /// # Errors
    /// What ended the walk early.
    pub fn status(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.tree.status(),
        }
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
        self.settle();
    }

    /// To the first version at or after `target`, an internal key.
    pub fn seek(&mut self, target: &[u8]) {
        self.tree.seek(target);
        self.settle();
    }

    /// To the next version. Does nothing when not valid.
    pub fn next(&mut self) {
        if self.valid() {
            self.tree.next();
            self.settle();
        }
    }

    fn settle(&mut self) {
        let Some(tombstones) = &mut self.tombstones else { return };
        while self.tree.valid() {
            match tombstones.covers(self.tree.key(), MAX_SEQUENCE) {
                Ok(false) => return,
                Ok(true) => self.tree.next(),
                Err(error) => {
                    self.failed = Some(error);
                    return;
                }
            }
        }
    }
}
