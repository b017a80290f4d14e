//! Databases, column families, snapshots: `RocksDB`, `ColumnFamilyHandle`, `Snapshot`.
//!
//! - [`open`] opens and closes databases. [`children`] closes the objects of a database together with the database.
//! - [`dispatch`] implements the behaviour of databases with a time to live, with transactions, and of secondary instances.
//! - [`read`] and [`write`] are the calls on keys. [`admin`] has column families, flushes, compactions and properties.
//! - [`files`] and [`metadata`] are the calls about the files of a database.

mod admin;
pub(crate) mod children;
mod dispatch;
mod files;
pub(crate) mod kind;
pub(crate) mod metadata;
pub(crate) mod open;
pub(crate) mod path;
mod read;
pub(crate) mod tracing;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base::{Error, Result};
use engine::db::Db;
use engine::family::Family;
use engine::sequence::Snapshot;
use ironstone::ttl::TtlFamily;

use self::children::Children;
use self::kind::Kind;
use crate::fault::{Fault, Outcome};
use crate::handle::{Handle, Shared};
use crate::java::JBytes;
use crate::listener::{self, Bound};
use crate::native::{disposers, natives};

/// An open database of any kind.
pub struct DatabaseObject {
    pub db: Db,
    pub front: ironstone::Db,
    pub default: Arc<Family>,
    /// Plain, with a time to live, with transactions, or a secondary instance.
    pub kind: Kind,
    /// The iterators, column families, snapshots and transactions of the database.
    pub children: Arc<Children>,
    /// The listeners of the options with which the database was opened.
    listeners: Arc<[Arc<Bound>]>,
    /// The number of calls that disabled file deletions, minus the number of calls that enabled them again.
    deletions_disabled: AtomicU32,
    /// Set by `cancelAllBackgroundWork`. Later flushes fail at once, because their background job would never run.
    is_canceled: AtomicBool,
}

/// A column family of an open database.
pub struct FamilyObject {
    pub db: Db,
    pub family: Arc<Family>,
    pub front: ironstone::Family,
    /// The column family with its time to live, if the database has one.
    pub ttl: Option<TtlFamily>,
    /// The children of the database. Identifies the database that the handle belongs to.
    pub owner: Arc<Children>,
    listeners: Arc<[Arc<Bound>]>,
}

impl DatabaseObject {
    /// # Errors
    /// NotFound if the database is closed.
    pub fn new(front: ironstone::Db) -> Result<Self> {
        Self::of_kind(front, Kind::Plain)
    }

    /// # Errors
    /// NotFound if the database is closed.
    pub fn of_kind(front: ironstone::Db, kind: Kind) -> Result<Self> {
        let db = front.engine().clone();
        let default = db.default_family()?;
        let children = Arc::new(Children::default());
        let listeners = listener::take_bound().into();
        Ok(DatabaseObject {
            db,
            front,
            default,
            kind,
            children,
            listeners,
            deletions_disabled: AtomicU32::new(0),
            is_canceled: AtomicBool::new(false),
        })
    }

    /// Makes the handle of the database that this thread opened, and stores the handle in the listeners of the database.
    ///
    /// # Errors
    /// NotFound if the database is closed. If a callback threw an exception during the open, closes the database and returns the
    /// exception.
    pub fn opened(front: ironstone::Db) -> Outcome<Handle> {
        Self::new(front)?.into_handle()
    }

    /// Makes the handle of this database object, as [`Self::opened`] does.
    ///
    /// # Errors
    /// If a callback threw an exception during the open, closes the database and returns the exception.
    pub fn into_handle(self) -> Outcome<Handle> {
        if crate::throw::has_kept() {
            return Err(Fault::Thrown);
        }
        let listeners = self.listeners.clone();
        let handle = Handle::new(self);
        listener::give_handle(&listeners, handle);
        Ok(handle)
    }

    /// Makes the handle of an object that is closed together with the database.
    pub fn child<T: Send + Sync + 'static>(&self, object: T) -> Handle {
        self.children.add(object)
    }

    /// Makes the object of a column family.
    pub fn family_object(&self, family: Arc<Family>) -> FamilyObject {
        let front = self.front.family_from_engine(family.clone());
        FamilyObject {
            db: self.db.clone(),
            ttl: self.with_time(family.name()).ok().flatten(),
            family,
            front,
            owner: self.children.clone(),
            listeners: self.listeners.clone(),
        }
    }

    /// Makes the handle of a column family by its name.
    ///
    /// # Errors
    /// NotFound.
    pub fn family_handle(&self, name: &str) -> Result<Handle> {
        let family = self.db.family(name).ok_or_else(|| Error::not_found(format!("column family {name}")))?;
        Ok(self.child(self.family_object(family)))
    }

    /// Closes the database. Notifies the listeners that a handle of the default column family was closed, as RocksDB does: its
    /// close (`db/db_impl/db_impl.cc`) deletes the handle that belongs to the database.
    ///
    /// # Errors
    /// The errors of the engine.
    fn close(&self) -> Result<()> {
        let closed = self.db.close();
        self.default_handle_closes();
        closed
    }

    /// Notifies the listeners that a handle of the default column family is closed.
    fn default_handle_closes(&self) {
        if !self.listeners.is_empty() {
            let family = self.child(self.family_object(self.default.clone()));
            listener::family_handle_closes(&self.listeners, family);
            family.close();
        }
    }

    /// Stops background work before the close. With `wait`, waits for running jobs.
    ///
    /// # Errors
    /// The errors of the engine.
    fn cancel_background_work(&self, wait: bool) -> Result<()> {
        self.is_canceled.store(true, Ordering::Relaxed);
        self.db.background().cancel_all(wait)
    }

    /// Fails if background work was canceled.
    ///
    /// # Errors
    /// ShutdownInProgress.
    fn check_background_work(&self) -> Result<()> {
        match self.is_canceled.load(Ordering::Relaxed) {
            true => Err(Error::new(base::Kind::ShutdownInProgress, "")),
            false => Ok(()),
        }
    }

    /// Stops the deletion of files.
    ///
    /// # Errors
    /// NotSupported for a database that is open for reading.
    fn disable_file_deletions(&self) -> Result<()> {
        engine::db::check_writable(&self.db)?;
        self.deletions_disabled.fetch_add(1, Ordering::Relaxed);
        self.front.disable_file_deletions();
        Ok(())
    }

    /// Undoes one call that disabled file deletions. With `force`, undoes all such calls of this object.
    ///
    /// # Errors
    /// NotSupported for a database that is open for reading.
    pub fn enable_file_deletions(&self, force: bool) -> Result<()> {
        engine::db::check_writable(&self.db)?;
        let stops = match force {
            true => self.deletions_disabled.swap(0, Ordering::Relaxed).max(1),
            false => {
                let fewer = |stops: u32| Some(stops.saturating_sub(1));
                let _ = self.deletions_disabled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
                1
            }
        };
        for _ in 0..stops {
            self.front.enable_file_deletions();
        }
        Ok(())
    }
}

impl Drop for DatabaseObject {
    fn drop(&mut self) {
        self.children.close();
    }
}

/// Uses a database.
///
/// # Errors
/// IllegalStateException for a closed handle.
#[inline]
pub fn database(handle: Handle) -> Outcome<Shared<DatabaseObject>> {
    Ok(handle.shared::<DatabaseObject>()?)
}

/// The column family of a call. The handle 0 means the default column family.
pub enum InFamily {
    Default,
    Of(Shared<FamilyObject>),
    /// The column family in the newest view of a secondary instance.
    Viewed(Arc<Family>, ironstone::Family),
}

impl InFamily {
    /// # Errors
    /// IllegalStateException for a closed handle; InvalidArgument for the handle of another database; NotFound if the
    /// writer of a secondary instance dropped the column family.
    #[inline]
    pub fn new(db: &DatabaseObject, handle: Handle) -> Outcome<InFamily> {
        if handle.is_null() {
            return Ok(InFamily::Default);
        }
        let family = handle.shared::<FamilyObject>()?;
        if !Arc::ptr_eq(&family.owner, &db.children) {
            return Err(foreign(&family).into());
        }
        match db.kind {
            Kind::Secondary(_) => InFamily::viewed(db, family.family.name()),
            _ => Ok(InFamily::Of(family)),
        }
    }

    fn viewed(db: &DatabaseObject, name: &str) -> Outcome<InFamily> {
        let family = db.db.family(name).ok_or_else(|| Error::not_found(format!("column family {name}")))?;
        let front = db.front.family_from_engine(family.clone());
        Ok(InFamily::Viewed(family, front))
    }

    /// Returns the column family of the engine.
    #[inline]
    pub fn get<'a>(&'a self, db: &'a DatabaseObject) -> &'a Arc<Family> {
        match self {
            InFamily::Default => &db.default,
            InFamily::Of(family) => &family.family,
            InFamily::Viewed(family, _) => family,
        }
    }

    /// Returns the column family of the public interface.
    pub fn front<'a>(&'a self, db: &'a DatabaseObject) -> &'a ironstone::Family {
        match self {
            InFamily::Default => &db.front,
            InFamily::Of(family) => &family.front,
            InFamily::Viewed(_, front) => front,
        }
    }
}

/// Returns the error of a call with a column family handle of another database.
#[cold]
pub fn foreign(family: &FamilyObject) -> Error {
    let name = family.family.name();
    Error::invalid_argument(format!("column family {name} belongs to another database"))
}

disposers! {
    RocksDB: DatabaseObject;
}

natives! {
    fn RocksDB_version[_]() -> i32 {
        (11 << 16) | (8 << 8) | 1
    }

    /// Closes the handle of a column family. Accepts a closed handle. The listeners are notified before the close.
    fn ColumnFamilyHandle_disposeInternal | ColumnFamilyHandle_disposeInternalJni[_](family: Handle) {
        let listeners = family.shared::<FamilyObject>().ok().map(|object| object.listeners.clone());
        listener::family_handle_closes(&listeners.unwrap_or_default(), family);
        family.close_as::<FamilyObject>();
    }

    fn ColumnFamilyHandle_getName[java](family: Handle) -> JBytes<'j> {
        java.new_bytes(family.shared::<FamilyObject>()?.family.name().as_bytes())?
    }

    fn ColumnFamilyHandle_getID[_](family: Handle) -> i32 {
        family.shared::<FamilyObject>()?.family.id().get() as i32
    }

    /// Returns 0, which Java turns into null, if a column family has `inplace_update_support`: such a column family overwrites values
    /// in memtables, so older entries do not exist.
    fn RocksDB_getSnapshot[_](db: Handle) -> Handle {
        let db = database(db)?;
        if db.db.updates_in_place() {
            return Ok(Handle::NULL);
        }
        db.child(db.db.snapshot())
    }

    /// Closes the handle of a snapshot. Iterators that use the snapshot keep it alive. A read with read options that have the closed
    /// handle fails.
    fn RocksDB_releaseSnapshot[_](_db: Handle, snapshot: Handle) {
        if let Some(snapshot) = snapshot.close_into::<Arc<Snapshot>>() {
            Snapshot::release(snapshot);
        }
    }

    fn Snapshot_getSequenceNumber[_](snapshot: Handle) -> i64 {
        snapshot.shared::<Arc<Snapshot>>()?.sequence().get() as i64
    }

    fn RocksDB_getLatestSequenceNumber[_](db: Handle) -> i64 {
        database(db)?.db.latest_sequence().get() as i64
    }

    fn RocksDB_disableFileDeletions[_](db: Handle) {
        database(db)?.disable_file_deletions()?;
    }
}
