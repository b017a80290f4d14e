//! The iterator that a caller holds. It keeps the database open.

use std::ops::{Deref, DerefMut};

use super::Db;
use crate::iter::Iter;

/// An [`Iter`], together with a handle of its database.
pub struct DbIterator {
    // Declared before the handle: the iterator releases its files before the handle may close the database.
    iter: Iter,
    db: Db,
}

impl DbIterator {
    pub(super) fn new(iter: Iter, db: Db) -> Self {
        DbIterator { iter, db }
    }

    /// Returns the database of the iterator.
    pub fn db(&self) -> &Db {
        &self.db
    }
}

impl Deref for DbIterator {
    type Target = Iter;

    fn deref(&self) -> &Iter {
        &self.iter
    }
}

impl DerefMut for DbIterator {
    fn deref_mut(&mut self) -> &mut Iter {
        &mut self.iter
    }
}
