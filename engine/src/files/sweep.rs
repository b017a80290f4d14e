//! The sweep of an open: judges every file of the database once, and lists the files that no version needs.
//!
//! Not here: which file belongs to the database (`directories`), and the deletion (`jobs::purge`).

use std::path::PathBuf;

use base::{Arrange, FileNumber, Result, WalNumber};
use env::FileSystem;
use format::names::FileName;

use super::{Directory, Paths};

/// The files that must stay.
pub struct Live {
    pub tables: base::map::HashSet<FileNumber>,
    pub blobs: base::map::HashSet<FileNumber>,
    pub min_wal: WalNumber,
    pub manifest: FileNumber,
    /// Files with this number or a larger number were created after the other fields were collected.
    pub newer_from: FileNumber,
    /// `keep_log_file_num`.
    pub keep_info_logs: usize,
}

/// The files that nothing needs, and the largest file number.
#[derive(Debug, Default)]
pub struct Sweep {
    pub tables: Vec<(FileNumber, PathBuf)>,
    pub blobs: Vec<(FileNumber, PathBuf)>,
    pub wals: Vec<(WalNumber, PathBuf)>,
    pub others: Vec<PathBuf>,
    /// The largest number in the name of any file of the database.
    pub largest_number: FileNumber,
}

/// OPTIONS files that stay: the current file, and the file before it.
const OPTIONS_FILES_KEPT: usize = 2;

/// Judges the files of the database; deletes nothing. `families` are the directories of `cf_paths`. Without `live`, the
/// sweep only finds the largest file number.
///
/// # Errors
/// Errors of the file system.
pub fn sweep(fs: &dyn FileSystem, paths: &Paths, families: &[PathBuf], live: Option<&Live>) -> Result<Sweep> {
    let mut out = Sweep::default();
    let mut options_files = Vec::new();
    let mut old_info_logs = Vec::new();
    for directory in Directory::all(paths, families) {
        for (kind, path) in directory.list(fs)? {
            if let Some(number) = kind.number() {
                out.largest_number = out.largest_number.max(number);
            }
            let Some(live) = live else { continue };
            let newer = |n: FileNumber| n >= live.newer_from;
            match kind {
                FileName::Table(n) | FileName::LegacyTable(n) if !live.tables.contains(&n) && !newer(n) => {
                    out.tables.push((n, path));
                }
                FileName::Blob(n) if !live.blobs.contains(&n) && !newer(n) => out.blobs.push((n, path)),
                // A WAL in the database directory stays if `wal_dir` is another directory: the WAL is from an open with
                // another `wal_dir` and may hold entries.
                FileName::Wal(n) if n < live.min_wal && directory.path() == paths.wal => {
                    out.wals.push((n, path))
                }
                FileName::Manifest(n) if n < live.manifest => out.others.push(path),
                FileName::Temp(n) | FileName::OptionsTemp(n) if n != live.manifest && !newer(n) => {
                    out.others.push(path)
                }
                FileName::Options(n) => options_files.push((n, path)),
                FileName::OldInfoLog(us) => old_info_logs.push((us, path)),
                _ => {}
            }
        }
    }
    let Some(live) = live else { return Ok(out) };
    out.others.extend(oldest(options_files, OPTIONS_FILES_KEPT));
    out.others.extend(oldest(old_info_logs, live.keep_info_logs));
    Ok(out)
}

/// Returns the paths of all files except the `kept` newest files.
fn oldest<T: Ord>(mut files: Vec<(T, PathBuf)>, kept: usize) -> impl Iterator<Item = PathBuf> {
    files.arrange();
    // There may be fewer files than the limit.
    files.truncate(files.len().saturating_sub(kept));
    files.into_iter().map(|(_, path)| path)
}
