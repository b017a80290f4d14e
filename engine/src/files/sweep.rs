//! The full sweep at open: every name in every directory is judged once.

use std::path::PathBuf;

use base::{FileNumber, Result};
use env::FileSystem;
use format::names::FileName;

use super::Paths;

/// What must stay, told by whoever knows the versions.
pub struct Live {
    pub tables: base::map::HashSet<u64>,
    pub blobs: base::map::HashSet<u64>,
    pub min_wal: u64,
    pub manifest: FileNumber,
    /// Files with numbers from here on were made after the facts above were gathered.
    pub newer_from: u64,
    pub keep_old_logs: usize,
}

/// What a sweep found to be nobody's.
#[derive(Debug, Default)]
pub struct Sweep {
    pub tables: Vec<(FileNumber, PathBuf)>,
    pub logs: Vec<(FileNumber, PathBuf)>,
    pub others: Vec<PathBuf>,
    /// The largest number met in any name.
    pub largest_number: u64,
}

/// Judges names; deletes nothing. `families`: directories of families' own. Pass `None` for `live` only to learn the largest number.
pub fn sweep(fs: &dyn FileSystem, paths: &Paths, families: &[PathBuf], live: Option<&Live>) -> Result<Sweep> {
    let mut out = Sweep::default();
    let mut options_files = Vec::new();
    let mut old_logs = Vec::new();
    for dir in paths.all_with(families) {
        for name in fs.list(dir)? {
            let Some(kind) = FileName::parse(&name) else { continue };
            let path = dir.join(&name);
            if let Some(number) = kind.number() {
                out.largest_number = out.largest_number.max(number.0);
            }
            let Some(live) = live else { continue };
            let newer = |n: FileNumber| n.0 >= live.newer_from;
            match kind {
                FileName::Table(n) | FileName::LegacyTable(n) if !live.tables.contains(&n.0) && !newer(n) => {
                    out.tables.push((n, path));
                }
                FileName::Wal(n) if n.0 < live.min_wal && *dir == paths.wal => out.logs.push((n, path)),
                FileName::Manifest(n) if n < live.manifest => out.others.push(path),
                FileName::Temp(n) | FileName::OptionsTemp(n) if n != live.manifest && !newer(n) => {
                    out.others.push(path)
                }
                FileName::Options(n) => options_files.push((n, path)),
                FileName::OldInfoLog(us) => old_logs.push((us, path)),
                _ => {}
            }
        }
    }
    options_files.sort();
    options_files.truncate(options_files.len().saturating_sub(2));
    out.others.extend(options_files.into_iter().map(|(_, path)| path));
    if let Some(live) = live {
        old_logs.sort();
        old_logs.truncate(old_logs.len().saturating_sub(live.keep_old_logs));
        out.others.extend(old_logs.into_iter().map(|(_, path)| path));
    }
    Ok(out)
}
