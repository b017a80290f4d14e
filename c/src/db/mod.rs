//! `rocksdb_t` and `rocksdb_column_family_handle_t`: an open database and its column families.
//!
//! Each handle holds a reference to the engine, so a program may destroy the handles in any order. After `rocksdb_close`,
//! calls with the other handles of the database report errors.
//!
//! A call uses the database through a [`View`]. A secondary instance replaces its view at each catch-up. A call keeps its view
//! even if another thread catches up during the call.

mod families;
mod maintain;
mod multi_get;
mod open;
mod read;
mod secondary;
mod sizes;
mod ttl;
mod view;
mod write;

use std::ops::Deref;
use std::sync::Arc;

use base::{Error, Result};
use engine::db::Db;
use engine::family::Family;

pub(crate) use multi_get::{Places, families as families_of, get_families, get_keys};
pub(crate) use open::free_list;
pub(crate) use read::copied;
pub use read::{rocksdb_pinnable_handle_t, rocksdb_pinnableslice_t};
use view::Following;
pub(crate) use view::{Open, View};

/// An open database.
pub struct rocksdb_t {
    target: Target,
}

/// The content of a database handle.
enum Target {
    /// The handle that a listener gets until the open returns. All calls with this handle fail.
    None,
    Open(Open),
    Secondary(Arc<Following>),
}

/// A column family of an open database.
pub struct rocksdb_column_family_handle_t {
    pub(crate) db: Db,
    pub(crate) family: Arc<Family>,
    /// The column family of the crate `ironstone`.
    pub(crate) front: ironstone::Family,
    /// The secondary instance, if the handle belongs to a secondary instance.
    secondary: Option<Arc<Following>>,
}

/// The engine of the database that a call uses.
pub(crate) struct DbView<'a>(View<'a>);

impl Deref for DbView<'_> {
    type Target = Db;

    #[inline]
    fn deref(&self) -> &Db {
        &self.0.db
    }
}

/// The column family that a call uses.
pub(crate) enum FamilyView<'a> {
    Open(&'a Arc<Family>),
    Secondary(Arc<Family>),
}

impl Deref for FamilyView<'_> {
    type Target = Arc<Family>;

    #[inline]
    fn deref(&self) -> &Arc<Family> {
        match self {
            FamilyView::Open(family) => family,
            FamilyView::Secondary(family) => family,
        }
    }
}

impl rocksdb_t {
    pub(crate) fn new(db: Db) -> Result<Self> {
        Ok(rocksdb_t { target: Target::Open(Open::new(db)?) })
    }

    /// Returns the database handle for listeners until the open returns. All calls with this handle report errors.
    pub(crate) fn not_open() -> Self {
        rocksdb_t { target: Target::None }
    }

    /// Returns the open database that a call uses.
    ///
    /// # Errors
    /// InvalidArgument in a listener.
    #[inline]
    pub(crate) fn get(&self) -> Result<View<'_>> {
        match &self.target {
            Target::Open(open) => Ok(View::Open(open)),
            Target::Secondary(following) => Ok(View::Secondary(following.view())),
            Target::None => Err(no_database()),
        }
    }

    /// Writes a line to the info log of the database.
    pub(crate) fn warn(&self, line: std::fmt::Arguments<'_>) {
        if let Ok(open) = self.get() {
            engine::db::warn(&open.db, line);
        }
    }

    #[inline]
    pub(crate) fn db(&self) -> Result<DbView<'_>> {
        self.get().map(DbView)
    }

    /// # Errors
    /// As [`Self::get`].
    #[inline]
    pub(crate) fn default_family(&self) -> Result<FamilyView<'_>> {
        match self.get()? {
            View::Open(open) => Ok(FamilyView::Open(&open.default)),
            View::Secondary(open) => Ok(FamilyView::Secondary(open.default.clone())),
        }
    }

    /// Returns the column family of a handle.
    ///
    /// # Errors
    /// InvalidArgument if the handle belongs to another database; NotFound if the writer of a secondary instance dropped
    /// the column family.
    #[inline]
    pub(crate) fn family<'a>(&self, handle: &'a rocksdb_column_family_handle_t) -> Result<FamilyView<'a>> {
        match &self.target {
            Target::Open(open) if open.db.session_id() == handle.db.session_id() => {
                Ok(FamilyView::Open(&handle.family))
            }
            Target::Secondary(following)
                if handle.secondary.as_ref().is_some_and(|s| Arc::ptr_eq(s, following)) =>
            {
                following.family(handle.family.name()).map(FamilyView::Secondary)
            }
            Target::None => Err(no_database()),
            _ => Err(foreign(handle)),
        }
    }

    pub(crate) fn handle(&self, family: Arc<Family>) -> Result<rocksdb_column_family_handle_t> {
        let open = self.get()?;
        let front = open.front.family_from_engine(family.clone());
        let secondary = match &self.target {
            Target::Secondary(following) => Some(following.clone()),
            _ => None,
        };
        Ok(rocksdb_column_family_handle_t { db: open.db.clone(), family, front, secondary })
    }
}

#[cold]
fn no_database() -> Error {
    Error::invalid_argument("a listener can use the database only after the open has returned")
}

#[cold]
fn foreign(handle: &rocksdb_column_family_handle_t) -> Error {
    Error::invalid_argument(format!(
        "column family {} belongs to another database than the one of the call",
        handle.family.name()
    ))
}
