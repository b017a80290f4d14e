//! The iterator a caller holds: it keeps the database open.

use std::ops::{Deref, DerefMut};

use super::Db;
use crate::iter::Iter;

/// An [`Iter`] with its database. Derefs to it.
pub struct DbIterator {
    // Before the handle: the iterator lets go of files first.
    iter: Iter,
    _db: Db,
}

impl DbIterator {
    pub(super) fn new(iter: Iter, db: Db) -> Self {
        DbIterator { iter, _db: db }
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
