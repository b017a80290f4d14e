//! Which orphan files of a shared directory stay, because another database wrote them.
//!
//! Two databases can name the same directory in `db_paths`, and no name shows to which database an SST file belongs. The
//! table property `rocksdb.creating.db.identity` shows it. RocksDB does not look at it, and deletes the SST files of the
//! other database.

use std::path::Path;

use base::Kind;

use super::Opening;
use crate::files::Sweep;
use crate::sst_reader::SstReader;

/// Removes from the orphan files what another database wrote outside of the database directory: SST files with another
/// identity or another comparator, and the blob files in a directory with such an SST file. An SST file that cannot be read
/// stays an orphan file of this database. Cost: opens each orphan SST file outside of the database directory.
pub(super) fn spare_files_of_others(found: &mut Sweep, opening: &Opening, db_id: &str) {
    let database = opening.paths.db.as_path();
    let mut shared: Vec<std::path::PathBuf> = Vec::new();
    found.tables.retain(|(_, path)| {
        let Some(directory) = path.parent().filter(|directory| *directory != database) else { return true };
        let foreign = is_foreign(path, opening, db_id);
        if foreign {
            opening.events.warn(format_args!("{}: SST file of another database; it stays", path.display()));
            shared.push(directory.to_path_buf());
        }
        !foreign
    });
    found
        .blobs
        .retain(|(_, path)| !path.parent().is_some_and(|directory| shared.iter().any(|s| s == directory)));
}

fn is_foreign(path: &Path, opening: &Opening, db_id: &str) -> bool {
    let mut other_comparator = false;
    for family in &opening.descriptors {
        match SstReader::open(path, &opening.options, &family.options, None) {
            Ok(reader) => {
                let writer = &reader.properties().db_id;
                // SstFileWriter writes no identity, but this name.
                return !writer.is_empty() && &writer[..] != b"SST Writer" && &writer[..] != db_id.as_bytes();
            }
            Err(error) => other_comparator |= error.kind() == Kind::InvalidArgument,
        }
    }
    other_comparator
}
