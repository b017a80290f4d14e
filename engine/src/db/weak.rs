//! What a library for another language needs of a database: references that do not keep it open, its listeners, and its info
//! log.

use super::{Db, Inner};
use crate::event::Listener;
use crate::sync::{Arc, Weak};

/// A reference to a database that does not keep the database open. A listener of the database can hold one.
#[derive(Clone)]
pub struct WeakDb {
    inner: Weak<Inner>,
}

impl WeakDb {
    /// Returns a reference to the database.
    pub fn new(db: &Db) -> WeakDb {
        WeakDb { inner: Arc::downgrade(&db.inner) }
    }

    /// Returns the database, or `None` after the drop of its last handle.
    pub fn upgrade(&self) -> Option<Db> {
        self.inner.upgrade().map(|inner| Db { inner, unguarded: false })
    }
}

/// Returns the listeners that the application passed to the open of a database.
pub fn listeners(db: &Db) -> &[Arc<dyn Listener>] {
    db.inner.tools.events.listeners()
}

/// Writes a line of the level `Warn` to the info log of a database.
pub fn warn(db: &Db, line: std::fmt::Arguments<'_>) {
    db.inner.tools.events.warn(line);
}
