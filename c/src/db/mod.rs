//! `rocksdb_t` and `rocksdb_column_family_handle_t`: an open database and its column families.
//!
//! Each handle counts its use of the engine. A program may destroy the handles in any order. After `rocksdb_close`, calls
//! with the other handles of the database report errors.

mod families;
mod maintain;
mod multi_get;
mod open;
mod read;
mod sizes;
mod write;

use std::sync::Arc;

use base::{Error, Result};
use engine::db::Db;
use engine::family::Family;

pub(crate) use multi_get::{Places, families as families_of};
pub(crate) use open::free_list;
pub(crate) use read::copied;
pub use read::{rocksdb_pinnable_handle_t, rocksdb_pinnableslice_t};

/// An open database.
pub struct rocksdb_t {
    /// `None` in a listener, before the open returns.
    open: Option<Open>,
}

/// A column family of an open database.
pub struct rocksdb_column_family_handle_t {
    pub(crate) db: Db,
    pub(crate) family: Arc<Family>,
    /// The column family as `ironstone` has it.
    pub(crate) front: ironstone::Family,
}

pub(crate) struct Open {
    pub db: Db,
    pub front: ironstone::Db,
    pub default: Arc<Family>,
}

impl rocksdb_t {
    pub(crate) fn new(db: Db) -> Result<Self> {
        let default = db.default_family()?;
        let front = ironstone::Db::from_engine(db.clone())?;
        Ok(rocksdb_t { open: Some(Open { db, front, default }) })
    }

    /// The database that a listener gets. Its calls report errors.
    pub(crate) fn not_open() -> Self {
        rocksdb_t { open: None }
    }

    /// The database and its default column family.
    ///
    /// # Errors
    /// InvalidArgument in a listener.
    #[inline]
    pub(crate) fn get(&self) -> Result<&Open> {
        self.open.as_ref().ok_or_else(no_database)
    }

    pub(crate) fn db(&self) -> Result<&Db> {
        Ok(&self.get()?.db)
    }

    /// The column family of a handle.
    ///
    /// # Errors
    /// InvalidArgument if the handle belongs to another database.
    #[inline]
    pub(crate) fn family<'a>(&self, handle: &'a rocksdb_column_family_handle_t) -> Result<&'a Arc<Family>> {
        if self.db()?.session_id() == handle.db.session_id() {
            return Ok(&handle.family);
        }
        Err(Error::invalid_argument(format!(
            "column family {} belongs to another database than the one of the call",
            handle.family.name()
        )))
    }

    pub(crate) fn handle(&self, family: Arc<Family>) -> Result<rocksdb_column_family_handle_t> {
        let open = self.get()?;
        let front = open.front.family_from_engine(family.clone());
        Ok(rocksdb_column_family_handle_t { db: open.db.clone(), family, front })
    }
}

#[cold]
fn no_database() -> Error {
    Error::invalid_argument("the database of a listener cannot be used in the listener")
}
