//! `lost/`: where files go that nobody refers to and that may still be somebody's.
//!
//! ```text
//!  unreferenced at open ──► end of the MANIFEST proved? ── yes ─► deleted
//!                                   │ no
//!                                   └─► lost/<seconds since 1970>-000012.sst ──► deleted a day later, by an
//!                                                                               open after a clean close
//! ```
//! A MANIFEST that lost its end names too few files. To delete what it does not name would make that damage
//! final; moved aside, the files can be had back. Files that this process itself made obsolete never come here.
//! Each directory of tables has a `lost/` of its own, so that moving is a rename. RocksDB does not look into it.

use std::path::Path;

use base::Result;
use env::FileSystem;

/// The directory's name.
pub const LOST_DIR: &str = "lost";

/// Seconds that a file stays at least.
pub const KEEP_S: u64 = 24 * 60 * 60;

/// Moves a file aside, into `lost/` of its directory.
///
/// # Errors
/// Those of the file system; the file is where it was then.
pub fn move_aside(fs: &dyn FileSystem, path: &Path, now_s: u64) -> Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let lost = dir.join(LOST_DIR);
    fs.create_dir_all(&lost)?;
    fs.rename(path, &lost.join(lost_name(Path::new(name), now_s)))
}

/// What a file is called there.
pub fn lost_name(path: &Path, now_s: u64) -> String {
    format!("{now_s}-{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Deletes what was moved aside in `dir` long enough ago, and the directory once it is empty. Returns how
/// many files went.
pub fn purge(fs: &dyn FileSystem, dir: &Path, now_s: u64) -> usize {
    let lost = dir.join(LOST_DIR);
    let Ok(names) = fs.list(&lost) else { return 0 };
    let old = |name: &&String| moved_at(name).is_some_and(|at| at.saturating_add(KEEP_S) <= now_s);
    let gone = names.iter().filter(old).filter(|name| fs.unlink(&lost.join(name)).is_ok()).count();
    if gone == names.len() {
        // Somebody may have put something there meanwhile.
        let _ = fs.remove_dir(&lost);
    }
    gone
}

/// When a file was moved aside, by its name; `None` for what is not ours.
fn moved_at(name: &str) -> Option<u64> {
    let (seconds, rest) = name.split_once('-')?;
    format::names::FileName::parse(rest)?;
    seconds.parse().ok()
}
