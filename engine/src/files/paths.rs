//! The directories of a database.

use std::path::{Path, PathBuf};

use base::{FileNumber, WalNumber};
use format::names;

use crate::options::DbOptions;

/// The directory of each kind of file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The directory of MANIFEST, CURRENT, OPTIONS and LOCK, and of all other files unless an option names
    /// another directory.
    pub db: PathBuf,
    /// The directories of SST files, by path id. Never empty.
    pub tables: Vec<PathBuf>,
    pub wal: PathBuf,
    /// The directory of info logs.
    pub info_log: PathBuf,
}

impl Paths {
    /// Takes the directories from the options. `db` is used in place of an empty `wal_dir`, `db_log_dir` and
    /// `db_paths`.
    pub fn new(db: &Path, options: &DbOptions) -> Self {
        let or_db = |dir: &str| if dir.is_empty() { db.to_path_buf() } else { PathBuf::from(dir) };
        let tables: Vec<_> = options.db_paths.iter().map(|p| p.path.clone()).collect();
        Paths {
            db: db.to_path_buf(),
            tables: if tables.is_empty() { vec![db.to_path_buf()] } else { tables },
            wal: or_db(&options.wal_dir),
            info_log: or_db(&options.db_log_dir),
        }
    }

    /// Returns the path of the WAL with this number. The file may not exist.
    pub fn wal(&self, number: WalNumber) -> PathBuf {
        self.wal.join(names::wal(number))
    }

    /// Returns the path of the MANIFEST with this number. The file may not exist.
    pub fn manifest(&self, number: FileNumber) -> PathBuf {
        self.db.join(names::manifest(number))
    }

    /// Returns the path of CURRENT, the file that names the MANIFEST.
    pub fn current(&self) -> PathBuf {
        self.db.join(names::CURRENT)
    }

    /// Returns the directories of [`Paths::all`] and the directories of column families (`cf_paths`), each directory
    /// once.
    pub fn all_with<'a>(&'a self, families: &'a [PathBuf]) -> Vec<&'a Path> {
        let mut dirs = self.all();
        for dir in families {
            if !dirs.contains(&dir.as_path()) {
                dirs.push(dir);
            }
        }
        dirs
    }

    /// Returns the directories of the database, of the SST files, and of the WALs, each directory once.
    pub fn all(&self) -> Vec<&Path> {
        let mut dirs: Vec<&Path> = Vec::new();
        for dir in std::iter::once(&self.db).chain(&self.tables).chain([&self.wal]) {
            if !dirs.contains(&dir.as_path()) {
                dirs.push(dir);
            }
        }
        dirs
    }
}
