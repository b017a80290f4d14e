//! The files of a directory, by kind.

use format::names::FileName;
use serde::{Deserialize, Serialize};

/// The directory of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileDirectory {
    /// The directory of the database.
    #[default]
    Database,
    /// The option `wal_dir`.
    Wal,
    /// The option `db_log_dir`.
    InfoLog,
    /// The directory `archive` in the directory of the WALs.
    Archive,
}

/// One file of the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFile {
    pub name: String,
    pub kind: FileKind,
    /// 0 if the name has no number.
    pub number: u64,
    /// Bytes.
    pub size: u64,
    /// Seconds since 1970 of the last change; 0 unknown.
    pub modified: u64,
    /// True if the MANIFEST names the file, or the file needs no entry in the MANIFEST.
    pub live: bool,
    /// The directory of the file.
    #[serde(default)]
    pub place: FileDirectory,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileKind {
    Table,
    Blob,
    Wal,
    /// A WAL that no recovery needs. It is kept for readers of `GetUpdatesSince`.
    ArchivedWal,
    Manifest,
    Options,
    InfoLog,
    Other,
}

impl FileKind {
    /// Every kind, in the order of the pages.
    pub const ALL: [FileKind; 8] = [
        FileKind::Table,
        FileKind::Blob,
        FileKind::Wal,
        FileKind::ArchivedWal,
        FileKind::Manifest,
        FileKind::Options,
        FileKind::InfoLog,
        FileKind::Other,
    ];

    /// Returns the kind of a parsed name.
    pub fn of(name: Option<FileName>) -> FileKind {
        match name {
            Some(FileName::Table(_) | FileName::LegacyTable(_)) => FileKind::Table,
            Some(FileName::Blob(_)) => FileKind::Blob,
            Some(FileName::Wal(_)) => FileKind::Wal,
            Some(FileName::ArchivedWal(_)) => FileKind::ArchivedWal,
            Some(FileName::Manifest(_)) => FileKind::Manifest,
            Some(FileName::Options(_)) => FileKind::Options,
            Some(FileName::InfoLog | FileName::OldInfoLog(_)) => FileKind::InfoLog,
            _ => FileKind::Other,
        }
    }

    /// Returns the name of the kind for people.
    pub fn title(self) -> &'static str {
        match self {
            FileKind::Table => "SST files (sorted data)",
            FileKind::Blob => "Blob files (large values)",
            FileKind::Wal => "WALs (write-ahead logs)",
            FileKind::ArchivedWal => "Archived WALs (no recovery needs them)",
            FileKind::Manifest => "MANIFEST (list of files)",
            FileKind::Options => "OPTIONS files",
            FileKind::InfoLog => "LOG files (info log)",
            FileKind::Other => "Other files",
        }
    }
}
