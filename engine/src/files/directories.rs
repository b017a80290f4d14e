//! Which file belongs to which directory. The sweep of an open, `destroy` and repair follow this one rule.
//!
//! ```text
//! directory                      files of this database in the directory
//! database directory             every name that `FileName` parses
//! db_paths, cf_paths             SST files and blob files
//! wal_dir                        WALs
//! archive/ of wal_dir            WALs
//! db_log_dir                     info logs whose name carries the path of this database
//! lost/ of any directory         files that `move_aside` named
//! ```
//! One directory can have several uses. If the table does not list a file, the file stays, whatever its
//! name and its number: another database may have written the file. A directory that contains CURRENT is
//! the directory of a database. Such a directory serves no other database, because no name
//! shows to which of two databases an SST file or a WAL belongs.
//!
//! Not here: which files are obsolete (`sweep`), and how long a file stays in `lost/` (`lost`).
//!
//! RocksDB's `DestroyDB` (`db/db_impl/db_impl.cc`) uses the same kinds for each directory. RocksDB does not look for
//! CURRENT.

use std::path::{Path, PathBuf};

use base::map::HashMap;
use base::{Error, Result};
use env::FileSystem;
use format::names::{self, FileName};

use super::Paths;

/// The use of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The database directory.
    Database,
    /// An entry of `db_paths` or `cf_paths`.
    Tables,
    /// `wal_dir`, or the archive in `wal_dir`.
    Wals,
}

impl Use {
    fn owns(self, name: FileName) -> bool {
        match self {
            Use::Database => true,
            Use::Tables => {
                matches!(name, FileName::Table(_) | FileName::LegacyTable(_) | FileName::Blob(_))
            }
            Use::Wals => matches!(name, FileName::Wal(_)),
        }
    }
}

/// One directory of a database, with all its uses.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    uses: Vec<Use>,
}

impl Directory {
    /// Returns every directory of a database except the archive and `db_log_dir`, each path once. `families` are the
    /// directories of `cf_paths`.
    pub fn all(paths: &Paths, families: &[PathBuf]) -> Vec<Directory> {
        let mut directories: Vec<Directory> = Vec::new();
        let mut index: HashMap<&Path, usize> = HashMap::default();
        let tables = paths.tables.iter().chain(families).map(|dir| (dir, Use::Tables));
        let uses = [(&paths.db, Use::Database), (&paths.wal, Use::Wals)].into_iter().chain(tables);
        for (dir, one) in uses {
            let at = *index.entry(dir).or_insert(directories.len());
            match directories.get_mut(at) {
                Some(known) if known.uses.contains(&one) => {}
                Some(known) => known.uses.push(one),
                None => directories.push(Directory { path: dir.clone(), uses: vec![one] }),
            }
        }
        base::invariant!(
            directories.first().is_some_and(|first| first.uses.contains(&Use::Database)),
            "the first directory is not the directory of the database"
        );
        directories
    }

    /// Returns the archive of obsolete WALs.
    pub fn archive(paths: &Paths) -> Directory {
        Directory { path: paths.wal.join(names::ARCHIVE_DIR), uses: vec![Use::Wals] }
    }

    /// Returns the path as the options give it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if a file of this name in this directory belongs to the database.
    pub fn owns(&self, name: FileName) -> bool {
        self.uses.iter().any(|one| one.owns(name))
    }

    /// Lists the files in this directory that belong to the database.
    ///
    /// # Errors
    /// Errors of the file system, also if the directory does not exist.
    pub fn list(&self, fs: &dyn FileSystem) -> Result<Vec<(FileName, PathBuf)>> {
        let names = fs.list(&self.path)?;
        let owned = names.iter().filter_map(|name| {
            let kind = FileName::parse(name)?;
            self.owns(kind).then(|| (kind, self.path.join(name)))
        });
        Ok(owned.collect())
    }
}

/// Rejects a directory that is the database directory of another database. A directory contains CURRENT from the moment
/// its database is created. A directory that does not exist is accepted.
///
/// # Errors
/// InvalidArgument that names the directory; errors of the file system.
pub fn refuse_foreign(fs: &dyn FileSystem, paths: &Paths, families: &[PathBuf]) -> Result<()> {
    for directory in Directory::all(paths, families) {
        if directory.uses.contains(&Use::Database) || !fs.exists(&directory.path.join(names::CURRENT))? {
            continue;
        }
        // The option may name the database directory by another path: a link, or a path with dots.
        if fs.exists(&paths.db)? && fs.same_file(&paths.db, &directory.path)? {
            continue;
        }
        return Err(Error::invalid_argument(format!(
            "{} is the directory of another database (the directory contains CURRENT); {} names the directory for {}. \
             Choose a directory that no other database uses",
            directory.path.display(),
            directory.option(),
            paths.db.display()
        ))
        .file(&directory.path));
    }
    Ok(())
}

impl Directory {
    /// Returns the option that names the directory.
    fn option(&self) -> &'static str {
        if self.uses.contains(&Use::Wals) { "wal_dir" } else { "db_paths or cf_paths" }
    }
}

/// Lists the info logs of this database in `db_log_dir`. Their names begin with `info_log`, the name of the current
/// info log. The info logs of other databases in the same directory begin with the paths of these databases.
///
/// # Errors
/// Errors of the file system, also if the directory does not exist.
pub fn info_logs_in(fs: &dyn FileSystem, db_log_dir: &Path, info_log: &str) -> Result<Vec<PathBuf>> {
    let names = fs.list(db_log_dir)?;
    let own = names.iter().filter(|name| {
        matches!(
            FileName::parse_with_info_log(name, info_log),
            Some(FileName::InfoLog | FileName::OldInfoLog(_))
        )
    });
    Ok(own.map(|name| db_log_dir.join(name)).collect())
}
