//! Deleting a database.
//!
//! Not here: which file belongs to which directory (`files::directories`).
//! RocksDB source: `DestroyDB` in `db/db_impl/db_impl.cc`.

use std::path::{Path, PathBuf};

use base::Result;
use env::FileSystem;
use env::logger::file::log_path;
use format::names::{self, FileName};
use format::proof::PROOF;

use crate::files::{DbLock, Directory, Paths, empty_lost, info_logs_in, refuse_foreign};
use crate::options::{DbOptions, FamilyOptions};

/// Deletes every file of the database at `path`, then its directories if they are empty.
///
/// The database directory loses every file with a name of the engine. The directories of `db_paths` and `cf_paths` lose
/// SST files and blob files. `wal_dir` and its archive lose WALs. `db_log_dir` loses the info logs of this database. All
/// other files stay. No file of the database names the directories of `cf_paths`, so `families` must name them. If
/// `path` does not exist, the call returns Ok.
///
/// # Errors
/// `IoError` if the database is open. InvalidArgument if one of the other directories contains CURRENT: the directory
/// is the directory of another database, and nothing was deleted. Otherwise the first error of a deletion, after all
/// other deletions were tried.
pub fn destroy(path: &Path, options: &DbOptions, families: &[FamilyOptions]) -> Result<()> {
    let fs = &*options.env.fs;
    if !fs.exists(path)? {
        return Ok(());
    }
    let paths = Paths::new(path, options);
    let of_families: Vec<PathBuf> =
        families.iter().flat_map(|f| f.cf_paths.iter().map(|dir| dir.path.clone())).collect();
    refuse_foreign(fs, &paths, &of_families)?;
    let lock = DbLock::take(fs, path)?;
    let archive = Directory::archive(&paths);
    // The archive is in `wal_dir`, so the archive must be empty first.
    let mut directories = vec![archive];
    directories.extend(Directory::all(&paths, &of_families));
    let mut outcome = unlink_all(fs, info_logs(fs, path, options));
    for directory in &directories {
        let Ok(found) = directory.list(fs) else { continue };
        let found = found.into_iter().filter(|(kind, _)| *kind != FileName::Lock);
        outcome = outcome.and(unlink_all(fs, found.map(|(_, path)| path)));
        empty_lost(fs, directory.path());
    }
    let _ = fs.unlink(&path.join(PROOF));
    drop(lock);
    let _ = fs.unlink(&path.join(names::LOCK));
    for dir in directories.iter().map(Directory::path).chain([path]) {
        // A directory that is not empty stays.
        let _ = fs.remove_dir(dir);
    }
    outcome
}

/// Returns the info logs of this database in `db_log_dir`.
fn info_logs(fs: &dyn FileSystem, path: &Path, options: &DbOptions) -> Vec<PathBuf> {
    if options.db_log_dir.is_empty() {
        return Vec::new();
    }
    let dir = Path::new(&options.db_log_dir);
    let current = log_path(fs, path, Some(dir));
    let name = current.file_name().unwrap_or_default().to_string_lossy();
    info_logs_in(fs, dir, &name).unwrap_or_default()
}

/// Deletes all files; returns the first error.
fn unlink_all(fs: &dyn FileSystem, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let mut outcome = Ok(());
    for file in files {
        outcome = outcome.and(fs.unlink(&file));
    }
    outcome
}
