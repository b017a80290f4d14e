//! Deleting a database.
//!
//! Not here: the files that belong to a directory (`files::directories`), and the files of another database in a shared directory
//! (`opening::shared_dirs`).
//! RocksDB source: `DestroyDB` in `db/db_impl/db_impl.cc`.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use base::order::Comparator;
use base::{Arrange, FileNumber, Order, Result};
use env::FileSystem;
use env::logger::file::log_path;
use format::names::{self, FileName};
use format::proof::PROOF;

use crate::files::{DbLock, Directory, Paths, empty_lost, info_logs_in, refuse_foreign};
use crate::manifest::{Recovered, read_current, recover};
use crate::opening::Owner;
use crate::options::{DbOptions, FamilyOptions};

/// Deletes every file of the database at `path`, then its directories if they are empty.
///
/// The database directory loses every file with a name of the engine. The directories of `db_paths` and `cf_paths` lose
/// SST files and blob files, except for the files of another database that names the same directories. `wal_dir` and its archive
/// lose WALs. `db_log_dir` loses the info logs of this database. All other files stay. No file of the database names the
/// directories of `cf_paths`, so `families` must name them. If `path` does not exist, the call returns Ok.
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
    let mut found = Found::default();
    for directory in &directories {
        directory.list(fs).into_iter().flatten().for_each(|(kind, path)| found.add(kind, path));
    }
    // The MANIFEST and IDENTITY identify the SST files of this database, so they are deleted last.
    found.spare_files_of_others(&paths, options, families);
    outcome = outcome.and(unlink_all(fs, found.all()));
    directories.iter().for_each(|directory| empty_lost(fs, directory.path()));
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

/// The files of the directories, by their kinds.
#[derive(Default)]
struct Found {
    tables: Vec<(FileNumber, PathBuf)>,
    blobs: Vec<(FileNumber, PathBuf)>,
    others: Vec<PathBuf>,
}

impl Found {
    fn add(&mut self, kind: FileName, path: PathBuf) {
        match kind {
            FileName::Table(number) | FileName::LegacyTable(number) => self.tables.push((number, path)),
            FileName::Blob(number) => self.blobs.push((number, path)),
            FileName::Lock => {}
            _ => self.others.push(path),
        }
    }

    /// Returns all paths. The MANIFEST and IDENTITY come last.
    fn all(self) -> impl Iterator<Item = PathBuf> {
        self.tables.into_iter().chain(self.blobs).map(|(_, path)| path).chain(self.others)
    }

    /// Removes the files of other databases in the directories of `db_paths` and `cf_paths`. A file of this database is in the
    /// MANIFEST with this directory and this size, or has the identity of the database.
    fn spare_files_of_others(&mut self, paths: &Paths, options: &DbOptions, families: &[FamilyOptions]) {
        let is_outside = |path: &Path| path.parent() != Some(&paths.db);
        if !self.tables.iter().chain(&self.blobs).any(|(_, path)| is_outside(path)) {
            return;
        }
        let (env, fs) = (&options.env, &*options.env.fs);
        let recovered = read_current(env, &paths.db)
            .and_then(|number| recover(env, &paths.db, number))
            .unwrap_or_default();
        let identity = fs.read_all(&paths.db.join(names::IDENTITY), 4096).ok();
        let identity = identity.and_then(|content| names::parse_identity(&content).ok());
        let db_id = recovered.db_id.clone().or(identity);
        let unnamed = unnamed_families(&recovered, families);
        let owner = Owner {
            directory: &paths.db,
            db_id: db_id.as_deref(),
            options,
            families: families.iter().chain(&unnamed).collect(),
        };
        let holds = |dirs: &[PathBuf], id: u32, path: &Path| {
            dirs.get(id as usize).is_some_and(|dir| path.parent() == Some(dir))
        };
        let of_families: Vec<Vec<PathBuf>> =
            families.iter().map(|f| f.cf_paths.iter().map(|dir| dir.path.clone()).collect()).collect();
        let is_path = |id: u32, path: &Path| {
            holds(&paths.tables, id, path) || of_families.iter().any(|dirs| holds(dirs, id, path))
        };
        let is_live = |number: FileNumber, path: &Path| {
            let size = fs.file_size(path).unwrap_or(0);
            recovered.families.values().any(|family| {
                let table = family.files.get(&number);
                table.is_some_and(|file| file.file_size == size && is_path(file.path_id, path))
                    || family.blobs.contains_key(&number) && is_path(0, path)
            })
        };
        owner.spare(&mut self.tables, &mut self.blobs, &is_live);
    }
}

/// Returns options with the comparators of the MANIFEST that `families` does not have. Only table properties are read with them.
fn unnamed_families(recovered: &Recovered, families: &[FamilyOptions]) -> Vec<FamilyOptions> {
    let mut names: Vec<&str> =
        recovered.families.values().filter_map(|family| family.comparator.as_deref()).collect();
    if names.is_empty() {
        names.push(base::order::BYTEWISE_NAME);
    }
    names.arrange();
    names.dedup();
    names.retain(|name| families.iter().all(|family| family.comparator.name() != *name));
    let order = |name: &str| Order::by_name(name).unwrap_or_else(|| Order::custom(Unnamed(name.to_string())));
    names
        .into_iter()
        .map(|name| FamilyOptions { comparator: order(name), ..FamilyOptions::default() })
        .collect()
}

/// A comparator that has only its name.
struct Unnamed(String);

impl Comparator for Unnamed {
    fn name(&self) -> &str {
        &self.0
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}
