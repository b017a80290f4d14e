//! What a database handle holds: an open database, or a secondary instance with its newest view.

use std::ops::Deref;
use std::sync::Arc;

use base::{Error, Result};
use engine::db::Db;
use engine::family::Family;
use env::sync::Mutex;
use ironstone::Secondary;
use ironstone::ttl::TtlDb;

/// An open database: the engine, the public API over the engine, and the default column family.
pub(crate) struct Open {
    pub db: Db,
    pub front: ironstone::Db,
    pub default: Arc<Family>,
    /// The database with a time to live. `None` if values have no time to live.
    pub ttl: Option<TtlDb>,
}

impl Open {
    pub(super) fn new(db: Db) -> Result<Self> {
        let default = db.default_family()?;
        crate::listener::give_db(&db);
        let front = ironstone::Db::from_engine(db.clone())?;
        Ok(Open { db, front, default, ttl: None })
    }
}

/// The open database that a call uses: the database itself, or the newest view of a secondary instance.
pub(crate) enum View<'a> {
    Open(&'a Open),
    Secondary(Arc<Open>),
}

impl Deref for View<'_> {
    type Target = Open;

    #[inline]
    fn deref(&self) -> &Open {
        match self {
            View::Open(open) => open,
            View::Secondary(open) => open,
        }
    }
}

/// A secondary instance and its newest view.
pub(crate) struct Following {
    secondary: Secondary,
    view: Mutex<Arc<Open>>,
}

impl Following {
    pub(super) fn new(secondary: Secondary) -> Result<Self> {
        let view = Mutex::new(Arc::new(Open::new(secondary.view().engine().clone())?));
        Ok(Following { secondary, view })
    }

    pub(crate) fn view(&self) -> Arc<Open> {
        self.view.lock().clone()
    }

    /// # Errors
    /// NotFound if the primary instance dropped the column family.
    pub(crate) fn family(&self, name: &str) -> Result<Arc<Family>> {
        let missing = || Error::not_found(format!("column family {name}"));
        self.view().db.family(name).ok_or_else(missing)
    }

    /// Replaces the view by the newest state of the primary instance.
    pub(super) fn catch_up(&self) -> Result<()> {
        self.secondary.try_catch_up_with_primary()?;
        let before = {
            // Held during both steps: of two threads that catch up, the later one stores a newer view.
            let mut view = self.view.lock();
            let next = Arc::new(Open::new(self.secondary.view().engine().clone())?);
            std::mem::replace(&mut *view, next)
        };
        drop(before);
        Ok(())
    }
}
