//! Which orphan files of a shared directory stay, because another database wrote them.
//!
//! Two databases can name the same directory in `db_paths`, and no name shows to which database an SST file belongs. The
//! table property `rocksdb.creating.db.identity` shows it. RocksDB does not look at it, and deletes the SST files of the
//! other database.

use std::path::{Path, PathBuf};

use base::Kind;

use super::Opening;
use crate::files::Sweep;
use crate::sst_reader::SstReader;

/// The writer of an orphan SST file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// This database.
    Own,
    /// Another database: it has another identity or another comparator.
    Other,
    /// The file has no identity, or is not complete. `SstFileWriter` writes no identity, and an ingestion keeps its properties.
    Unknown,
    /// The file cannot be read now.
    Unread,
}

/// Removes from the orphan files what may be of another database, outside of the database directory: SST files of other writers,
/// SST files that cannot be read now, and, in a directory with an SST file of another database, also SST files of unknown
/// writers and blob files. Cost: opens each orphan SST file outside of the database directory.
pub(super) fn spare_files_of_others(found: &mut Sweep, opening: &Opening, db_id: &str) {
    let database = opening.paths.db.as_path();
    let outside =
        |path: &Path| path.parent().filter(|directory| *directory != database).map(Path::to_path_buf);
    let writers: Vec<Writer> = found
        .tables
        .iter()
        .map(|(_, path)| if outside(path).is_some() { writer_of(path, opening, db_id) } else { Writer::Own })
        .collect();
    let others = found.tables.iter().zip(&writers).filter(|(_, writer)| **writer == Writer::Other);
    let shared: Vec<PathBuf> = others.filter_map(|((_, path), _)| outside(path)).collect();
    let is_shared = |path: &Path| outside(path).is_some_and(|directory| shared.contains(&directory));
    let mut writers = writers.into_iter();
    found.tables.retain(|(_, path)| {
        let goes = match writers.next() {
            Some(Writer::Own) => true,
            Some(Writer::Unknown) => !is_shared(path),
            _ => false,
        };
        if !goes {
            opening.events.warn(format_args!("{}: may be of another database; it stays", path.display()));
        }
        goes
    });
    found.blobs.retain(|(_, path)| !is_shared(path));
}

fn writer_of(path: &Path, opening: &Opening, db_id: &str) -> Writer {
    let mut writer = Writer::Unread;
    for family in &opening.descriptors {
        match SstReader::open(path, &opening.options, &family.options, None) {
            Ok(reader) => {
                let id = &reader.properties().db_id;
                return match &id[..] {
                    b"" | b"SST Writer" => Writer::Unknown,
                    id if id == db_id.as_bytes() => Writer::Own,
                    _ => Writer::Other,
                };
            }
            Err(error) if error.kind() == Kind::InvalidArgument => writer = Writer::Other,
            Err(error) if error.kind() == Kind::Corruption => writer = Writer::Unknown,
            Err(_) => {}
        }
    }
    writer
}
