//! A secondary instance: reads a database that another process writes, and follows the writer on request.
//!
//! ```text
//!  open ─► view 1 (MANIFEST, SST files, WALs in memory)      readers hold a view as long as they want
//!  catch up ─► view 2 read from the start ─► replaces view 1
//! ```
//! Invariant: a view never changes. All SST files of a view are open, so the writer may delete their names. Nothing on
//! disk changes, and no lock is taken. Cost: a catch-up reads the MANIFEST and the WALs from the start; RocksDB continues
//! from their last record (`db/db_impl/db_impl_secondary.cc`). Not here: catching up by itself (followers).

use std::path::{Path, PathBuf};

use base::{Error, Result};
use env::sync::Mutex;

use crate::{Db, FamilyDescriptor, Options};

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
    /// The column families of the views. `None`: all column families, with the options of the default column family.
    families: Option<Vec<FamilyDescriptor>>,
    /// The newest view. Replaced by a catch-up; not held during I/O.
    view: Mutex<Db>,
    /// Held during a catch-up, I/O included: one catch-up at a time.
    catching_up: Mutex<()>,
}

impl Secondary {
    /// Opens the database at `path` with all its column families. Column families use the options of the default column
    /// family. Share a block cache (`Options::block_cache`) to keep cached blocks when a catch-up replaces the view.
    ///
    /// # Errors
    /// InvalidArgument if `max_open_files` is not -1 or `open_files_async` is set: a view needs all SST files open. As
    /// [`Db::open_read_only`] otherwise.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Secondary> {
        Secondary::open_as(path.as_ref(), options, None)
    }

    /// Opens the database at `path` with these column families. Other column families are not visible.
    ///
    /// # Errors
    /// As [`Secondary::open`]. InvalidArgument for a column family that does not exist, at a later catch-up too.
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
        Secondary::open_as(path.as_ref(), options, Some(families))
    }

    fn open_as(path: &Path, options: Options, families: Option<Vec<FamilyDescriptor>>) -> Result<Secondary> {
        if options.db.max_open_files != -1 || options.db.open_files_async {
            return Err(Error::invalid_argument(
                "a secondary instance needs max_open_files = -1 and open_files_async = false: the writer may delete an SST \
                 file that is not open",
            ));
        }
        let view = read(path, &options, &families)?;
        let (view, catching_up) = (Mutex::new(view), Mutex::new(()));
        Ok(Secondary { path: path.to_path_buf(), options, families, view, catching_up })
    }

    /// Returns the newest view. The view stays the same when the writer writes and when a catch-up replaces the view.
    pub fn view(&self) -> Db {
        self.view.lock().clone()
    }

    /// Reads what the writer did since the open or the last catch-up, and replaces the view. Writes that the writer has
    /// not handed to the operating system are not visible. RocksDB's `TryCatchUpWithPrimary`.
    ///
    /// # Errors
    /// As [`Db::open_read_only`]; TryAgain if the writer deleted files during each attempt. After an error, the view is the
    /// view before.
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        let _one = self.catching_up.lock();
        let next = read(&self.path, &self.options, &self.families)
            .map_err(|error| error.doing("catching up with the writer"))?;
        let before = std::mem::replace(&mut *self.view.lock(), next);
        drop(before);
        Ok(())
    }
}

/// Reads the database into a new view.
fn read(path: &Path, options: &Options, families: &Option<Vec<FamilyDescriptor>>) -> Result<Db> {
    match families {
        None => Db::open_read_only(path, options.clone()),
        Some(families) => Db::open_read_only_with_families(path, options.clone(), families.clone()),
    }
}

impl std::fmt::Debug for Secondary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secondary({})", self.path.display())
    }
}
