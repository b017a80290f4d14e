//! Removing a database.

use std::path::{Path, PathBuf};

use base::Result;
use format::names::{self, FileName};
use format::proof::PROOF;

use crate::files::{DbLock, LOST_DIR, Paths};
use crate::options::{DbOptions, FamilyOptions};

/// Deletes every file of the database at `path`, and its directories if nothing else is in them. A
/// directory that does not exist is fine. No file of the database names the directories of families' own (`cf_paths`):
/// those of `families` are cleaned, as RocksDB's `DestroyDB` does it, and others stay.
///
/// # Errors
/// `IoError` if it is open somewhere; the first failure to delete, after the rest was tried.
pub fn destroy(path: &Path, options: &DbOptions, families: &[FamilyOptions]) -> Result<()> {
    let fs = &options.env.fs;
    if !fs.exists(path)? {
        return Ok(());
    }
    let paths = Paths::new(path, options);
    let lock = DbLock::take(&**fs, path)?;
    let mut outcome = Ok(());
    let own: Vec<PathBuf> =
        families.iter().flat_map(|f| f.cf_paths.iter().map(|dir| dir.path.clone())).collect();
    let dirs = paths.all_with(&own);
    let archive = paths.wal.join(names::ARCHIVE_DIR);
    for dir in dirs.iter().copied().chain([archive.as_path(), paths.log.as_path()]) {
        let Ok(found) = fs.list(dir) else { continue };
        for name in found {
            let ours = FileName::parse(&name).is_some_and(|kind| kind != FileName::Lock);
            if ours && let Err(error) = fs.unlink(&dir.join(&name)) {
                outcome = outcome.and(Err(error));
            }
        }
    }
    for dir in &dirs {
        let lost = dir.join(LOST_DIR);
        fs.list(&lost).unwrap_or_default().iter().for_each(|name| drop(fs.unlink(&lost.join(name))));
        let _ = fs.remove_dir(&lost);
    }
    let _ = fs.unlink(&path.join(PROOF));
    drop(lock);
    let _ = fs.unlink(&path.join(names::LOCK));
    for dir in [archive.as_path()].into_iter().chain(dirs).chain([path]) {
        // A directory with something of others in it stays.
        let _ = fs.remove_dir(dir);
    }
    outcome
}
