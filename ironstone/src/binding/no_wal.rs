//! The check of an open for reading only that must not ignore a WAL (`error_if_wal_file_exists`).

use std::path::Path;

use base::{Error, Result};
use engine::options::DbOptions;

/// Checks that no WAL of the database in the directory `path` has records.
///
/// # Errors
/// Corruption with RocksDB's text if a WAL has records; errors of the file system.
pub fn check_no_wal(options: &DbOptions, path: &Path) -> Result<()> {
    let dir = if options.wal_dir.is_empty() { path } else { Path::new(&options.wal_dir) };
    let fs = &options.env.fs;
    for name in fs.list(dir).unwrap_or_default() {
        if name.ends_with(".log") && fs.file_size(&dir.join(&name))? > 0 {
            return Err(Error::corruption(
                "The db was opened in readonly mode with error_if_wal_file_exists flag but a non-empty WAL file already exists",
            ));
        }
    }
    Ok(())
}
