//! `lost/`: the directory for orphan files that may still hold the only copy of an entry.
//!
//! ```text
//!  unreferenced at open ──► end of the MANIFEST proved? ── yes ─► deleted
//!                                   │ no
//!                                   └─► lost/<seconds since 1970>-000012.sst ──► deleted a day later, by an
//!                                                                               open after a clean close
//! ```
//! A MANIFEST that lost its end names too few files. If an open deleted the unnamed files, the damage would
//! be final. In `lost/` the files can be recovered. Files that this process made obsolete never come here.
//! Each directory of SST files has its own `lost/`, so a move is a rename. RocksDB does not read `lost/`.

use std::path::Path;

use base::Result;
use env::FileSystem;

/// The name of the directory.
pub const LOST_DIR: &str = "lost";

/// Seconds that a file stays in `lost/` at least.
pub const KEEP_S: u64 = 24 * 60 * 60;

/// Moves a file aside, into `lost/` of its directory.
///
/// # Errors
/// Errors of the file system. Then the file is not moved.
pub fn move_aside(fs: &dyn FileSystem, path: &Path, now_s: u64) -> Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let lost = dir.join(LOST_DIR);
    fs.create_dir_all(&lost)?;
    fs.rename(path, &lost.join(lost_name(Path::new(name), now_s)))
}

/// Returns the name of a file in `lost/`.
pub fn lost_name(path: &Path, now_s: u64) -> String {
    format!("{now_s}-{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Deletes the files that were moved aside at least [`KEEP_S`] seconds ago, and the directory `lost/` of `dir` if `lost/`
/// is empty then. Files that [`move_aside`] did not name stay.
pub fn purge(fs: &dyn FileSystem, dir: &Path, now_s: u64) {
    delete(fs, dir, |at| at.saturating_add(KEEP_S) <= now_s);
}

/// Deletes the files that [`move_aside`] named, whatever their age. Then deletes the directory `lost/` of
/// `dir` if it is empty. Files with other names stay.
pub fn empty(fs: &dyn FileSystem, dir: &Path) {
    delete(fs, dir, |_| true);
}

fn delete(fs: &dyn FileSystem, dir: &Path, is_due: impl Fn(u64) -> bool) {
    let lost = dir.join(LOST_DIR);
    let Ok(names) = fs.list(&lost) else { return };
    for name in names.iter().filter(|name| moved_at(name).is_some_and(&is_due)) {
        // The next open tries again.
        let _ = fs.unlink(&lost.join(name));
    }
    // Fails while a file is left in the directory.
    let _ = fs.remove_dir(&lost);
}

/// Returns the time at which a file was moved aside, in seconds since 1970, from its name in `lost/`. Returns `None` for
/// a name that [`lost_name`] does not make.
fn moved_at(name: &str) -> Option<u64> {
    let (seconds, rest) = name.split_once('-')?;
    format::names::FileName::parse(rest)?;
    seconds.parse().ok()
}
