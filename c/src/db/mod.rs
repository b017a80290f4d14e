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

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use base::{Error, FamilyId, Result};
use engine::db::{Db, WeakDb};
use engine::family::Family;

pub(crate) use multi_get::{Places, families as families_of, get_families, get_keys};
pub(crate) use open::free_list;
pub(crate) use read::copied;
pub use read::{rocksdb_pinnable_handle_t, rocksdb_pinnableslice_t};
pub(crate) use view::Following;
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
    held: Held,
}

/// What a handle of a column family holds.
enum Held {
    /// A handle that keeps the database in memory until the handle is destroyed.
    Counted {
        db: Db,
        family: Arc<Family>,
        /// The column family of the crate `ironstone`.
        front: ironstone::Family,
        /// The secondary instance, if the handle belongs to a secondary instance.
        secondary: Option<Arc<Following>>,
    },
    /// A handle of `rocksdb_get_default_column_family_handle`. RocksDB's handle owns nothing, so some programs never destroy the
    /// handle. The handle does not keep the database in memory.
    Default {
        db: WeakDb,
        session_id: String,
        /// The length of the timestamps of the keys.
        timestamp_size: usize,
        /// The secondary instance, if the handle belongs to a secondary instance.
        secondary: Option<Weak<Following>>,
    },
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
    /// The errors of [`Self::get`].
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
    pub(crate) fn family<'a>(&'a self, handle: &'a rocksdb_column_family_handle_t) -> Result<FamilyView<'a>> {
        match (&self.target, &handle.held) {
            (Target::Open(open), Held::Counted { db, family, .. })
                if open.db.session_id() == db.session_id() =>
            {
                Ok(FamilyView::Open(family))
            }
            (Target::Open(open), Held::Default { session_id, .. }) if open.db.session_id() == session_id => {
                Ok(FamilyView::Open(&open.default))
            }
            (Target::Secondary(following), Held::Counted { secondary: Some(secondary), .. })
                if Arc::ptr_eq(secondary, following) =>
            {
                following.family(handle.name()).map(FamilyView::Secondary)
            }
            (Target::Secondary(following), Held::Default { secondary: Some(secondary), .. })
                if std::ptr::eq(secondary.as_ptr(), Arc::as_ptr(following)) =>
            {
                following.family(handle.name()).map(FamilyView::Secondary)
            }
            (Target::None, _) => Err(no_database()),
            _ => Err(foreign(handle)),
        }
    }

    /// Returns the secondary instance of this handle. `None` for any other database.
    pub(crate) fn following(&self) -> Option<&Arc<Following>> {
        match &self.target {
            Target::Secondary(following) => Some(following),
            _ => None,
        }
    }

    pub(crate) fn handle(&self, family: Arc<Family>) -> Result<rocksdb_column_family_handle_t> {
        let open = self.get()?;
        let front = open.front.family_from_engine(family.clone());
        let secondary = self.following().cloned();
        Ok(rocksdb_column_family_handle_t {
            held: Held::Counted { db: open.db.clone(), family, front, secondary },
        })
    }

    /// Makes a handle of the default column family that does not keep the database in memory.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn default_handle(&self) -> Result<rocksdb_column_family_handle_t> {
        let open = self.get()?;
        let secondary = self.following().map(Arc::downgrade);
        Ok(rocksdb_column_family_handle_t {
            held: Held::Default {
                db: WeakDb::new(&open.db),
                session_id: open.db.session_id().to_string(),
                timestamp_size: open.default.order().user.timestamp_size(),
                secondary,
            },
        })
    }
}

impl rocksdb_column_family_handle_t {
    pub(crate) fn id(&self) -> FamilyId {
        match &self.held {
            Held::Counted { family, .. } => family.id(),
            Held::Default { .. } => FamilyId::DEFAULT,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match &self.held {
            Held::Counted { family, .. } => family.name(),
            Held::Default { .. } => "default",
        }
    }

    /// Returns the column family of the crate `ironstone`.
    ///
    /// # Errors
    /// ShutdownInProgress if the handle does not keep the database, and the database is closed.
    pub(crate) fn front(&self) -> Result<Cow<'_, ironstone::Family>> {
        match &self.held {
            Held::Counted { front, .. } => Ok(Cow::Borrowed(front)),
            Held::Default { db, secondary: None, .. } => {
                let db = db.upgrade().ok_or_else(closed)?;
                Ok(Cow::Owned(ironstone::Db::from_engine(db)?.default_family()))
            }
            Held::Default { secondary: Some(secondary), .. } => {
                let secondary = secondary.upgrade().ok_or_else(closed)?;
                Ok(Cow::Owned(secondary.view().front.default_family()))
            }
        }
    }

    /// Returns true if the keys of the column family have timestamps as long as `ts`. RocksDB ignores a call that adds an entry with
    /// another timestamp to a write batch.
    pub(crate) fn has_timestamps_like(&self, ts: &[u8]) -> bool {
        !ts.is_empty() && self.timestamp_size() == ts.len()
    }

    /// Returns the length of the timestamps of the column family in bytes; 0: the column family has no timestamps.
    pub(crate) fn timestamp_size(&self) -> usize {
        match &self.held {
            Held::Counted { family, .. } => family.order().user.timestamp_size(),
            Held::Default { timestamp_size, .. } => *timestamp_size,
        }
    }
}

#[cold]
fn no_database() -> Error {
    Error::invalid_argument("a listener can use the database only after the open has returned")
}

#[cold]
fn closed() -> Error {
    Error::shutdown_in_progress("the database of the default column family is closed")
}

#[cold]
fn foreign(handle: &rocksdb_column_family_handle_t) -> Error {
    Error::invalid_argument(format!(
        "column family {} belongs to another database than the one of the call",
        handle.name()
    ))
}
