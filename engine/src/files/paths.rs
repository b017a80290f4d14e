//! The directories of a database.

use std::path::{Path, PathBuf};

use base::FileNumber;
use format::names;

use crate::options::DbOptions;

/// Where each kind of file lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The directory of MANIFEST, CURRENT, OPTIONS and LOCK, and of all other files unless an option names
    /// another directory.
    pub db: PathBuf,
    /// Tables, by path id; never empty.
    pub tables: Vec<PathBuf>,
    pub wal: PathBuf,
    /// LOG files.
    pub info_log: PathBuf,
}

impl Paths {
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

    pub fn wal(&self, number: FileNumber) -> PathBuf {
        self.wal.join(names::wal(number))
    }

    pub fn manifest(&self, number: FileNumber) -> PathBuf {
        self.db.join(names::manifest(number))
    }

    pub fn current(&self) -> PathBuf {
        self.db.join(names::CURRENT)
    }

    /// As [`Paths::all`], with directories of families' own.
    pub fn all_with<'a>(&'a self, families: &'a [PathBuf]) -> Vec<&'a Path> {
        let mut dirs = self.all();
        for dir in families {
            if !dirs.contains(&dir.as_path()) {
                dirs.push(dir);
            }
        }
        dirs
    }

    /// Every directory, each once: the database's, tables', WALs', info logs'.
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
