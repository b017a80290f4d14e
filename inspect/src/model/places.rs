//! The directories of a database besides its own directory: `wal_dir` and `db_log_dir` of the OPTIONS file, and the archive of WALs.
//!
//! The OPTIONS file never has the options `db_paths` and `cf_paths`. The MANIFEST has the number of the path of each SST file, and
//! no directory, so the loader finds only the SST files in the directory of the database.

use std::path::{Path, PathBuf};

use env::Env;
use env::logger::file::log_path;
use format::names::{self, FileName};

use super::Database;
use super::files::{DiskFile, FileDirectory, FileKind};
use super::problems::{Weight, problem};

/// The other directories: the option that names the directory, and the kind of its files.
const OTHERS: [(FileDirectory, &str, FileKind); 2] = [
    (FileDirectory::Wal, "wal_dir", FileKind::Wal),
    (FileDirectory::InfoLog, "db_log_dir", FileKind::InfoLog),
];

impl Database {
    /// Returns the directory of a file. `dir` is the directory of the database.
    pub fn dir_of(&self, file: &DiskFile, dir: &Path) -> PathBuf {
        if file.place == FileDirectory::Archive {
            return self.archive_dir(dir);
        }
        let option = OTHERS.iter().find(|(place, ..)| *place == file.place);
        option.and_then(|(_, option, _)| self.path_option(option)).unwrap_or_else(|| dir.to_path_buf())
    }

    /// Returns the directory of the archived WALs.
    fn archive_dir(&self, dir: &Path) -> PathBuf {
        self.wal_dir(dir).join(names::ARCHIVE_DIR)
    }

    /// Returns the directory of the WALs.
    pub(super) fn wal_dir(&self, dir: &Path) -> PathBuf {
        self.path_option("wal_dir").unwrap_or_else(|| dir.to_path_buf())
    }

    /// Returns the path that an option of the database names.
    fn path_option(&self, option: &str) -> Option<PathBuf> {
        self.db_option(option).filter(|path| !path.is_empty()).map(PathBuf::from)
    }
}

/// Reads the facts of one file. Returns `None` if the file does not exist any more: a running writer deletes files at any time.
pub(super) fn disk_file(env: &Env, dir: &Path, name: &str, info_log: &str) -> Option<DiskFile> {
    let path = dir.join(name);
    let size = env.fs.file_size(&path).ok()?;
    let parsed = FileName::parse_with_info_log(name, info_log);
    let number = match parsed {
        // The current info log is the newest.
        Some(FileName::InfoLog) => u64::MAX,
        Some(FileName::OldInfoLog(micros)) => micros,
        parsed => parsed.and_then(|name| name.number()).map_or(0, |number| number.get()),
    };
    let kind = FileKind::of(parsed);
    let modified = env.fs.modified(&path).unwrap_or(0);
    let live = !matches!(kind, FileKind::Table | FileKind::Blob);
    Some(DiskFile {
        name: name.to_string(),
        kind,
        number,
        size,
        modified,
        live,
        place: FileDirectory::Database,
    })
}

/// Lists the WALs in `wal_dir`, the info logs of this database in `db_log_dir`, and the archived WALs. Other databases may use the same directories: a WAL
/// has no name of its database, and an info log has the path of its database in its name. `unreadable` gets the name of each option
/// whose directory is not readable.
pub(crate) fn others(
    env: &Env,
    dir: &Path,
    db: &Database,
    unreadable: &mut Vec<&'static str>,
) -> Vec<DiskFile> {
    let archive = db.archive_dir(dir);
    let mut archived = env.fs.list(&archive).unwrap_or_default();
    archived.sort();
    let is_wal =
        |name: &String| FileKind::of(FileName::parse_with_info_log(name, names::INFO_LOG)) == FileKind::Wal;
    let files = archived.iter().filter(|name| is_wal(name)).take(FILES_MAX);
    let files = files.filter_map(|name| disk_file(env, &archive, name, names::INFO_LOG));
    let mut found: Vec<DiskFile> = files
        .map(|file| DiskFile { place: FileDirectory::Archive, kind: FileKind::ArchivedWal, ..file })
        .collect();
    let real = |path: &Path| env.fs.canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    for (place, option, kind) in OTHERS {
        let Some(path) = db.path_option(option).filter(|path| real(path) != real(dir)) else { continue };
        let Ok(mut listed) = env.fs.list(&path) else {
            unreadable.push(option);
            continue;
        };
        listed.sort();
        let info_log = match place {
            FileDirectory::InfoLog => log_path(&*env.fs, dir, Some(&path)),
            _ => PathBuf::from(names::INFO_LOG),
        };
        let info_log = info_log.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_wanted = |name: &String| FileKind::of(FileName::parse_with_info_log(name, &info_log)) == kind;
        let files = listed.iter().filter(|name| is_wanted(name)).take(FILES_MAX);
        found.extend(
            files.filter_map(|name| disk_file(env, &path, name, &info_log)).map(|f| DiskFile { place, ..f }),
        );
    }
    found
}

/// The largest number of files of one other directory that are listed.
const FILES_MAX: usize = 20_000;

/// Adds the files of the other directories.
pub(super) fn add_others(env: &Env, dir: &Path, db: &mut Database) {
    let mut unreadable = Vec::new();
    let files = others(env, dir, db, &mut unreadable);
    db.files.extend(files);
    for option in unreadable {
        let text =
            format!("the directory of the option {option} is not readable here; its files are not shown");
        problem(db, Weight::Note, "", None, text);
    }
}
