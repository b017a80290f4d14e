//! Open a database; list its column families; destroy a database.

use std::path::Path;

use base::{Error, Result};
use engine::components::Components;
use engine::options::{DbOptions, FamilyOptions};
use engine::prepared::WritePolicy;

use crate::{Db, FamilyDescriptor, Options};

/// Says whether the open may change files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    ReadWrite,
    ReadOnly,
}

impl Db {
    /// Opens the database at `path`. All column families of the database are opened, with `options.family`.
    ///
    /// # Errors
    /// - InvalidArgument if the database does not exist and `create_if_missing` is false, or if the comparator has
    ///   another name than the comparator of the database.
    /// - IoError if another process or handle has the database open, or if a file operation fails.
    /// - Corruption, with file and offset.
    /// - NotSupported, with the name of a feature that is not built.
    ///
    /// ```
    /// use ironstone::{Db, Options};
    ///
    /// let mut options = Options::default();
    /// options.db.create_if_missing = true;
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # let directory = scratch.path().join("data");
    /// let db = Db::open(&directory, options)?;
    /// db.put(b"k", b"v")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let others = Some(options.family.clone());
        open(request(path.as_ref(), options, Vec::new(), others), Access::ReadWrite)
    }

    /// Opens the database at `path` with these column families. The default column family is added if it is not in
    /// the list, and gets `options.family`.
    ///
    /// # Errors
    /// The errors of [`Db::open`]. InvalidArgument if the database has a column family that is not in the list, or if
    /// a column family of the list does not exist and `create_missing_column_families` is false.
    ///
    /// ```
    /// use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};
    ///
    /// let mut options = Options::in_memory();
    /// options.db.create_missing_column_families = true;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// let db = Db::open_with_families("data", options, vec![users])?;
    /// db.family("users")?.put(b"1", b"Ada")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Db> {
        open(request(path.as_ref(), options, families, None), Access::ReadWrite)
    }

    /// Opens the database at `path` with these column families, and removes the newest history: in each column family with
    /// timestamps, all entries and range tombstones with a timestamp newer than `trim_ts`. The removal is a compaction of the
    /// whole column family. RocksDB's `OpenAndTrimHistory`.
    ///
    /// If the call fails after the open, some column families may be trimmed. Repeat the call.
    ///
    /// # Errors
    /// The errors of [`Db::open_with_families`]. InvalidArgument with `avoid_flush_during_recovery`, and if `trim_ts`
    /// does not have the length of a timestamp.
    ///
    /// ```
    /// use ironstone::{Db, Options, ReadOptions, WriteOptions};
    ///
    /// let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// let db = Db::open("data", options.clone())?;
    /// for time in [1u64, 2, 3] {
    ///     db.put_with_ts(b"k", &time.to_le_bytes(), &[time as u8], &WriteOptions::default())?;
    /// }
    /// drop(db);
    /// let db = Db::open_and_trim_history("data", options, Vec::new(), &2u64.to_le_bytes())?;
    /// let newest = ReadOptions { timestamp: Some(vec![0xff; 8]), ..ReadOptions::default() };
    /// assert_eq!(db.get_with(b"k", &newest)?.as_deref(), Some(&[2][..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_and_trim_history(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
        trim_ts: &[u8],
    ) -> Result<Db> {
        if options.db.avoid_flush_during_recovery {
            return Err(Error::invalid_argument(
                "avoid_flush_during_recovery incompatible with OpenAndTrimHistory",
            ));
        }
        let db = Db::open_with_families(path, options, families)?;
        for family in db.families().iter().filter(|family| family.timestamp_size() > 0) {
            db.engine().compactions().trim_history(&family.inner, trim_ts)?;
        }
        Ok(db)
    }

    /// Opens the database at `path` for reading. The open changes no file, takes no lock, and replays the WALs into
    /// memtables. A writer may have the database open at the same time.
    ///
    /// # Errors
    /// The errors of [`Db::open`]. IoError if the database does not exist.
    ///
    /// ```
    /// # use ironstone::{Db, Options};
    /// let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// let reader = Db::open_read_only("data", options)?;
    /// assert!(reader.get(b"k")?.is_some());
    /// assert!(reader.put(b"k", b"w").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let others = Some(options.family.clone());
        open(request(path.as_ref(), options, Vec::new(), others), Access::ReadOnly)
    }

    /// Opens the database at `path` for reading, with these column families. Column families that are not in the
    /// list are not opened.
    ///
    /// # Errors
    /// The errors of [`Db::open_read_only`].
    ///
    /// ```
    /// # use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};
    /// let options = Options::in_memory();
    /// Db::open("data", options.clone())?.create_family(FamilyDescriptor::new("users", FamilyOptions::default()))?;
    /// let users = FamilyDescriptor::new("users", FamilyOptions::default());
    /// let reader = Db::open_read_only_with_families("data", options, vec![users])?;
    /// assert!(reader.family("users").is_ok());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_read_only_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Db> {
        open(request(path.as_ref(), options, families, None), Access::ReadOnly)
    }
}

/// Opens a database for pessimistic transactions. `families` as in [`Db::open_with_families`]; `None`: all column families.
pub(crate) fn open_for_transactions(
    path: &Path,
    options: Options,
    families: Option<Vec<FamilyDescriptor>>,
    policy: WritePolicy,
) -> Result<Db> {
    let others = families.is_none().then(|| options.family.clone());
    let mut request = request(path, options, families.unwrap_or_default(), others);
    request.components.write_policy = policy;
    open(request, Access::ReadWrite)
}

fn open(request: engine::db::OpenRequest, access: Access) -> Result<Db> {
    let engine = match access {
        Access::ReadWrite => engine::db::Db::open(request)?,
        Access::ReadOnly => engine::db::Db::open_read_only(request)?,
    };
    Db::new(engine)
}

/// Puts an open request together. `others` are the options of column families that exist and are not in the list;
/// `None`: such a column family is an error.
pub(crate) fn request(
    path: &Path,
    options: Options,
    mut families: Vec<FamilyDescriptor>,
    others: Option<FamilyOptions>,
) -> engine::db::OpenRequest {
    if !families.iter().any(|family| family.name == "default") {
        families.insert(0, FamilyDescriptor::new("default", options.family));
    }
    engine::db::OpenRequest {
        path: path.to_path_buf(),
        options: options.db,
        components: Components {
            listeners: options.listeners,
            block_cache: options.block_cache,
            wal_filter: options.wal_filter,
            compaction_service: options.compaction_service,
            write_policy: WritePolicy::default(),
        },
        families,
        others,
    }
}

/// Returns the names of the column families of the database at `path`. Does not open the database.
///
/// # Errors
/// IoError if there is no database; Corruption of the MANIFEST.
///
/// ```
/// # use ironstone::{Db, Options};
/// let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// assert_eq!(ironstone::list_column_families("data", &options.db)?, ["default"]);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn list_column_families(path: impl AsRef<Path>, options: &DbOptions) -> Result<Vec<String>> {
    engine::db::list_families(&options.env, path.as_ref())
}

/// Deletes all files of the database at `path`. If the directory does not exist, the call succeeds. SST files in the
/// own directories of a column family (`cf_paths`) stay; [`destroy_with`] deletes these files too.
///
/// # Errors
/// IoError if the database is open; the first deletion that fails.
///
/// ```
/// # use ironstone::{Db, Options};
/// let mut options = Options::in_memory();
/// drop(Db::open("data", options.clone())?);
/// ironstone::destroy("data", &options.db)?;
/// options.db.create_if_missing = false;
/// assert!(Db::open("data", options).is_err());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn destroy(path: impl AsRef<Path>, options: &DbOptions) -> Result<()> {
    destroy_with(path, options, &[])
}

/// Deletes all files of the database at `path`, and the SST files in the `cf_paths` of these column families. No file
/// of the database names these directories. RocksDB: `DestroyDB` with column families.
///
/// # Errors
/// The errors of [`destroy`].
///
/// ```
/// # use ironstone::{Db, Options};
/// let options = Options::in_memory();
/// drop(Db::open("data", options.clone())?);
/// ironstone::destroy_with("data", &options.db, &[options.family.clone()])?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn destroy_with(path: impl AsRef<Path>, options: &DbOptions, families: &[FamilyOptions]) -> Result<()> {
    engine::db::destroy(path.as_ref(), options, families)
}
