//! A secondary instance: reads a database that another process writes, and follows the writer on request.
//!
//! ```text
//!  open ─► view 1 (MANIFEST, SST files, WALs in memory)      readers hold a view as long as they want
//!  catch up ─► nothing was written: view 1 stays
//!           ─► only WALs grew: view 2 is view 1 with the new records, and with a newer sequence number
//!           ─► the MANIFEST grew: view 2: new edits and WALs read, open files taken over from view 1
//! ```
//! Invariant: a view never changes. All SST files of a view are open, so the writer may delete their names. Nothing on
//! disk changes, and no lock is taken. Cost: if the writer wrote nothing, a catch-up looks at file sizes only. Between
//! two changes of the MANIFEST, a catch-up reads the new records of the WALs only, as RocksDB does
//! (`db/db_impl/db_impl_secondary.cc`). After a flush or a compaction, a catch-up reads the new edits of the MANIFEST,
//! and reads the unflushed WALs from the start. It opens only the new SST files and blob files. Not here: catching up
//! by itself (`follower`).

use std::path::{Path, PathBuf};

use base::{Error, Kind, Result};
use env::sync::Mutex;

use crate::open::request;
use crate::{BlockCache, Db, FamilyDescriptor, Options, TableFactory};

/// A reader of a database that another process has open for writing. Any thread may use the value.
///
/// ```
/// use ironstone::{Db, Options, Secondary};
///
/// let options = Options::in_memory();
/// let writer = Db::open("data", options.clone())?;
/// writer.put(b"k", b"1")?;
///
/// let secondary = Secondary::open("data", options)?;
/// writer.put(b"k", b"2")?;
/// assert_eq!(secondary.view().get(b"k")?.as_deref(), Some(&b"1"[..]));
/// secondary.try_catch_up_with_primary()?;
/// assert_eq!(secondary.view().get(b"k")?.as_deref(), Some(&b"2"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct Secondary {
    path: PathBuf,
    options: Options,
    /// The column families to open. `None`: all column families, with the options of the default column family.
    families: Option<Vec<FamilyDescriptor>>,
    /// If set, WALs are not read: see [`Follower`](crate::Follower).
    skip_wals: bool,
    /// The newest view. Replaced by a catch-up; not held during I/O.
    view: Mutex<Db>,
    /// Held during a catch-up, I/O included: one catch-up at a time.
    catching_up: Mutex<()>,
}

/// Returns the error of an open whose MANIFEST does not exist, with RocksDB's code: the writer may have deleted the MANIFEST after it
/// wrote a new one, so the next open may succeed.
fn switched(error: Error) -> Error {
    if error.is_not_found() && error.message().starts_with("CURRENT names a MANIFEST") {
        return Error::try_again("The primary may have switched to a new MANIFEST and deleted the old one.");
    }
    error
}

impl Secondary {
    /// Opens the database at `path` with all its column families. Column families use the options of the default column
    /// family. Share a block cache (`Options::block_cache`) to keep cached blocks when a catch-up replaces the view.
    ///
    /// InvalidArgument if `max_open_files` is not -1 or `open_files_async` is set: a view needs all SST files open.
    /// NotSupported if a WAL has a prepared transaction and `allow_2pc` is not set; a later catch-up fails for the
    /// same reason. Otherwise as [`Db::open_read_only`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, Secondary};
    /// # let options = Options::in_memory();
    /// let writer = Db::open("data", options.clone())?;
    /// let secondary = Secondary::open("data", options)?;
    /// assert!(secondary.view().get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Secondary> {
        Secondary::open_as(path.as_ref(), options, None, false)
    }

    /// Opens the database at `path` with these column families. Other column families are not visible.
    ///
    /// # Errors
    /// The errors of [`Secondary::open`]. InvalidArgument for a column family that does not exist.
    ///
    /// If the writer drops one of the column families later, the views after the next catch-up keep the column family as it was
    /// in the view before, as in RocksDB. A column family that the writer makes later under the same name is not visible.
    ///
    /// ```
    /// use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options, Secondary};
    ///
    /// let options = Options::in_memory();
    /// let writer = Db::open("data", options.clone())?;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// writer.create_family(users.clone())?.put(b"1", b"Ada")?;
    ///
    /// let secondary = Secondary::open_with_families("data", options, vec![users])?;
    /// assert_eq!(secondary.view().family("users")?.get(b"1")?.as_deref(), Some(&b"Ada"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Secondary> {
        Secondary::open_as(path.as_ref(), options, Some(families), false)
    }

    pub(crate) fn open_as(
        path: &Path,
        mut options: Options,
        families: Option<Vec<FamilyDescriptor>>,
        skip_wals: bool,
    ) -> Result<Secondary> {
        if options.db.max_open_files != -1 || options.db.open_files_async {
            return Err(Error::invalid_argument(
                "a secondary instance needs max_open_files = -1 and open_files_async = false: the writer may delete an SST \
                 file that is not open",
            ));
        }
        if options.db.memory_budget_bytes > 0 && options.db.memory_budget.is_none() {
            // All views draw from one budget. Otherwise each catch-up would make a new budget.
            options.memory_budget(options.db.memory_budget_bytes)?;
        }
        if families.as_ref().is_none_or(Vec::is_empty) && options.block_cache.is_none() {
            options.block_cache = shared_cache(&options)?;
        }
        let view = read(path, &options, &families, None, skip_wals).map_err(switched)?;
        let (view, catching_up) = (Mutex::new(view), Mutex::new(()));
        Ok(Secondary { path: path.to_path_buf(), options, families, skip_wals, view, catching_up })
    }

    /// Returns the newest view. The returned value does not change when the writer writes or when a later catch-up
    /// replaces the view.
    ///
    /// ```
    /// # use ironstone::{Db, Options, Secondary};
    /// # let options = Options::in_memory();
    /// let writer = Db::open("data", options.clone())?;
    /// let secondary = Secondary::open("data", options)?;
    /// writer.put(b"k", b"v")?;
    /// let before = secondary.view();
    /// secondary.try_catch_up_with_primary()?;
    /// assert!(before.get(b"k")?.is_none());
    /// assert!(secondary.view().get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn view(&self) -> Db {
        self.view.lock().clone()
    }

    /// Reads the changes of the writer since the open or the last catch-up, and replaces the view. Writes that the
    /// writer has not passed to the operating system are not visible. If an SST file of the newest state is missing or damaged, the
    /// view stays as it is, and the call succeeds. RocksDB's `TryCatchUpWithPrimary`.
    ///
    /// # Errors
    /// The errors of [`Db::open_read_only`]. TryAgain if the writer deleted files during each attempt. After an error,
    /// the view does not change.
    ///
    /// ```
    /// # use ironstone::{Db, Options, Secondary};
    /// # let options = Options::in_memory();
    /// let writer = Db::open("data", options.clone())?;
    /// let secondary = Secondary::open("data", options)?;
    /// writer.put(b"k", b"v")?;
    /// assert!(secondary.view().get(b"k")?.is_none());
    /// secondary.try_catch_up_with_primary()?;
    /// assert!(secondary.view().get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        let _one = self.catching_up.lock();
        let doing = |error: Error| error.doing("catching up with the writer");
        let view = self.view();
        if engine::db::is_up_to_date(view.engine()).map_err(doing)? {
            return Ok(());
        }
        let newest = || match read(&self.path, &self.options, &self.families, Some(&view), self.skip_wals) {
            Ok(next) => Ok(Some(next)),
            // The newest state lacks an SST file.
            Err(error) if error.kind() == Kind::Incomplete => Ok(None),
            Err(error) => Err(doing(error)),
        };
        // The newest state may be complete again, also if the writer wrote nothing.
        let complete = if engine::db::shows_older_state(view.engine()) { newest()? } else { None };
        let next = match complete {
            Some(next) => next,
            None => match engine::db::catch_up(view.engine()).map_err(doing)? {
                Some(next) => Db::new(next)?,
                // Without a complete state, the view stays until a later state is complete.
                None => match newest()? {
                    Some(next) => next,
                    None => return Ok(()),
                },
            },
        };
        drop(view);
        let before = std::mem::replace(&mut *self.view.lock(), next);
        drop(before);
        Ok(())
    }
}

/// Returns a block cache for all views, as the options of the column families describe the cache. `None` if the tables have
/// no blocks.
fn shared_cache(options: &Options) -> Result<Option<std::sync::Arc<BlockCache>>> {
    match &options.family.table_factory {
        TableFactory::BlockBased(table) => BlockCache::new(table.block_cache.options).map(Some),
        _ => Ok(None),
    }
}

/// Reads the database into a new view, which takes over the open files of the view before.
fn read(
    path: &Path,
    options: &Options,
    families: &Option<Vec<FamilyDescriptor>>,
    before: Option<&Db>,
    skip_wals: bool,
) -> Result<Db> {
    let request = match families {
        None => request(path, options.clone(), Vec::new(), Some(options.family.clone())),
        Some(families) => request(path, options.clone(), families.clone(), None),
    };
    Db::new(engine::db::open_to_follow(request, before.map(Db::engine), skip_wals)?)
}

impl std::fmt::Debug for Secondary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secondary({})", self.path.display())
    }
}
