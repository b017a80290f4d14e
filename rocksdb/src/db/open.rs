//! Opens: for writing, for reading, as a secondary instance, with a time to live.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ironstone::binding::check_no_wal;
use ironstone::ttl::TtlDb;
use ironstone::{Db, FamilyDescriptor, Secondary};

use super::{DBWithThreadMode, DBWithThreadModeInner, ThreadMode};
use crate::base::Base;
use crate::c_str::check_path;
use crate::{ColumnFamilyDescriptor, DEFAULT_COLUMN_FAMILY_NAME, Error, Options};

/// How a database is opened.
enum Access<'a> {
    ReadWrite,
    ReadOnly { error_if_log_file_exist: bool },
    Secondary { secondary_path: &'a Path },
    WithTtl { ttl: Duration },
}

/// Returns the descriptors of the column families to open, and the names of the column families that get handles.
///
/// If `cfs` is empty, the open uses `opts` for the default column family, and no column family gets a handle. If `cfs` does
/// not name the default column family, the default column family is added with default options.
///
/// # Errors
/// InvalidArgument for the first option with a value that the option cannot have.
pub(crate) fn descriptors(
    opts: &Options,
    cfs: &[ColumnFamilyDescriptor],
) -> Result<(Vec<FamilyDescriptor>, Vec<String>), Error> {
    if cfs.is_empty() {
        return Ok((vec![opts.descriptor(DEFAULT_COLUMN_FAMILY_NAME)?], Vec::new()));
    }
    let mut made = cfs.iter().map(|cf| cf.options.descriptor(&cf.name)).collect::<Result<Vec<_>, _>>()?;
    if !cfs.iter().any(|cf| cf.name == DEFAULT_COLUMN_FAMILY_NAME) {
        made.push(Options::default().descriptor(DEFAULT_COLUMN_FAMILY_NAME)?);
    }
    let names = made.iter().map(|family| family.name.clone()).collect();
    Ok((made, names))
}

/// Creates the directory of a database, also without `create_if_missing`, as the crate `rocksdb` does.
///
/// # Errors
/// The texts of the crate `rocksdb` for a path with NUL and for an error of the file system.
pub(crate) fn create_directory(options: &ironstone::DbOptions, path: &Path) -> Result<(), Error> {
    check_path(path)?;
    options.env.fs.create_dir_all(path).map_err(|error| {
        let cause = std::error::Error::source(&error)
            .map_or_else(|| error.message().to_string(), |source| format!("{source:?}"));
        Error::new(format!("Failed to create RocksDB directory: `{cause}`."))
    })
}

/// Returns a handle for each name.
///
/// # Errors
/// NotFound if a column family does not exist.
pub(crate) fn handles<T: ThreadMode>(base: &Base, names: Vec<String>) -> Result<T, Error> {
    let mut map = BTreeMap::new();
    for name in names {
        let handle = base.handle(&name)?;
        map.insert(name, handle);
    }
    Ok(T::new_cf_map_internal(map))
}

pub(crate) fn plain<I, N>(cfs: I) -> impl Iterator<Item = ColumnFamilyDescriptor>
where
    I: IntoIterator<Item = N>,
    N: AsRef<str>,
{
    cfs.into_iter().map(|name| ColumnFamilyDescriptor::new(name.as_ref(), Options::default()))
}

fn with_opts<I, N>(cfs: I) -> impl Iterator<Item = ColumnFamilyDescriptor>
where
    I: IntoIterator<Item = (N, Options)>,
    N: AsRef<str>,
{
    cfs.into_iter().map(|(name, opts)| ColumnFamilyDescriptor::new(name.as_ref(), opts))
}

impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Opens a database with default options. Creates a database that does not exist.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens a database with its default column family.
    ///
    /// # Errors
    /// InvalidArgument if the database does not exist or has other column families; IOError if another handle or process
    /// has the database open; Corruption; NotSupported, with the name of a missing feature.
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_cf(opts, path, None::<&str>)
    }

    /// Opens a database for reading only. As in RocksDB, `error_if_log_file_exist` has an effect only in the calls with a list of
    /// column families.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_for_read_only<P: AsRef<Path>>(
        opts: &Options,
        path: P,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error> {
        Self::open_cf_for_read_only(opts, path, None::<&str>, error_if_log_file_exist)
    }

    /// Opens a secondary instance: a reader of a database that another process may write. The secondary instance changes no file
    /// of the database. `max_open_files` acts as -1.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_as_secondary<P: AsRef<Path>>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
    ) -> Result<Self, Error> {
        Self::open_cf_as_secondary(opts, primary_path, secondary_path, None::<&str>)
    }

    /// Opens a database whose values expire after `ttl`. Fractions of a second are ignored.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_with_ttl<P: AsRef<Path>>(opts: &Options, path: P, ttl: Duration) -> Result<Self, Error> {
        Self::open_cf_descriptors_with_ttl(opts, path, std::iter::empty(), ttl)
    }

    /// Opens a database whose values expire, with column families.
    ///
    /// # Errors
    /// The errors of [`Self::open_cf`].
    pub fn open_cf_with_ttl<P, I, N>(opts: &Options, path: P, cfs: I, ttl: Duration) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_with_ttl(opts, path, plain(cfs), ttl)
    }

    /// Opens a database whose values expire, with descriptors. A descriptor may have its own time to live.
    ///
    /// # Errors
    /// The errors of [`Self::open_cf`].
    pub fn open_cf_descriptors_with_ttl<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        ttl: Duration,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        Self::open_any(opts, path.as_ref(), cfs, &Access::WithTtl { ttl })
    }

    /// Opens a database with column families. The options of the column families are the default options.
    ///
    /// # Errors
    /// The errors of [`Self::open`]. InvalidArgument if the database has a column family that is not named.
    /// InvalidArgument if a named column family does not exist and `create_missing_column_families` is false.
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_any(opts, path.as_ref(), plain(cfs), &Access::ReadWrite)
    }

    /// Opens a database with column families and their options.
    ///
    /// # Errors
    /// The errors of [`Self::open_cf`].
    pub fn open_cf_with_opts<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors(opts, path, with_opts(cfs))
    }

    /// Opens a database for reading, with column families.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_cf_for_read_only<P, I, N>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_read_only(opts, path, plain(cfs), error_if_log_file_exist)
    }

    /// Opens a database for reading, with column families and their options.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_cf_with_opts_for_read_only<P, I, N>(
        db_opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_read_only(db_opts, path, with_opts(cfs), error_if_log_file_exist)
    }

    /// Opens a database for reading, with descriptors.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_cf_descriptors_read_only<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        Self::open_any(opts, path.as_ref(), cfs, &Access::ReadOnly { error_if_log_file_exist })
    }

    /// Opens a secondary instance, with column families.
    ///
    /// # Errors
    /// The errors of [`Self::open_as_secondary`].
    pub fn open_cf_as_secondary<P, I, N>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        Self::open_cf_descriptors_as_secondary(opts, primary_path, secondary_path, plain(cfs))
    }

    /// Opens a secondary instance, with descriptors.
    ///
    /// # Errors
    /// The errors of [`Self::open_as_secondary`].
    pub fn open_cf_descriptors_as_secondary<P, I>(
        opts: &Options,
        path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let secondary_path = secondary_path.as_ref();
        Self::open_any(opts, path.as_ref(), cfs, &Access::Secondary { secondary_path })
    }

    /// Opens a database with descriptors.
    ///
    /// # Errors
    /// The errors of [`Self::open_cf`].
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        Self::open_any(opts, path.as_ref(), cfs, &Access::ReadWrite)
    }

    fn open_any(
        opts: &Options,
        path: &Path,
        cfs: impl IntoIterator<Item = ColumnFamilyDescriptor>,
        access: &Access<'_>,
    ) -> Result<Self, Error> {
        let cfs: Vec<ColumnFamilyDescriptor> = cfs.into_iter().collect();
        let (families, names) = descriptors(opts, &cfs)?;
        let mut options = opts.get()?;
        create_directory(&options.db, path)?;
        let base = match access {
            Access::ReadWrite => Base::of_db(Db::open_with_families(path, options, families)?),
            Access::ReadOnly { error_if_log_file_exist } => {
                // RocksDB has no check in the call without a list of column families.
                if *error_if_log_file_exist && !cfs.is_empty() {
                    check_no_wal(&options.db, path)?;
                }
                Base::of_db(Db::open_read_only_with_families(path, options, families)?)
            }
            Access::Secondary { secondary_path } => {
                options.db.env.fs.create_dir_all(check_path(secondary_path)?)?;
                // The instance keeps its SST files open, because the writer may delete them.
                (options.db.max_open_files, options.db.open_files_async) = (-1, false);
                Base::of_secondary(Secondary::open_with_families(path, options, families)?)
            }
            Access::WithTtl { ttl } => {
                let seconds = |name: &str| {
                    let own = cfs.iter().find(|cf| cf.name == name);
                    own.map_or(crate::ColumnFamilyTtl::SameAsDb, |cf| cf.ttl).seconds(*ttl)
                };
                let families = families.into_iter().map(|family| {
                    let seconds = seconds(&family.name);
                    (family, seconds)
                });
                Base::of_ttl(TtlDb::open_with_families(path, options, families.collect())?)
            }
        };
        let cfs = handles(&base, names)?;
        Ok(Self::new(DBWithThreadModeInner { base }, cfs, path.to_path_buf()))
    }
}
