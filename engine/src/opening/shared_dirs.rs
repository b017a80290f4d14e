//! Which files of a shared directory stay, because another database wrote them.
//!
//! Two databases can name the same directory in `db_paths`, and no name shows to which database an SST file belongs. The
//! table property `rocksdb.creating.db.identity` shows it. RocksDB does not look at it: its open and its `DestroyDB` delete the
//! SST files of the other database.

use std::path::{Path, PathBuf};

use base::{FileNumber, Kind};

use super::Opening;
use crate::files::Sweep;
use crate::options::{DbOptions, FamilyOptions};
use crate::sst_reader::SstReader;

/// The writer of an SST file.
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

/// The database whose files are deleted.
pub struct Owner<'a> {
    /// The database directory.
    pub directory: &'a Path,
    /// `None`: unknown.
    pub db_id: Option<&'a str>,
    pub options: &'a DbOptions,
    /// The options of column families. They have every comparator of the database.
    pub families: Vec<&'a FamilyOptions>,
}

impl Owner<'_> {
    /// Removes the files that may belong to another database from the lists of files to delete. Only files outside of
    /// the database directory are removed: SST files of other writers, and SST files that cannot be read now. In a
    /// directory with an SST file of another database, SST files of unknown writers and blob files are removed too.
    /// Files for which `is_live` returns true are files of this database. Returns the SST files that stay. Cost: opens
    /// each SST file outside of the database directory that is not live.
    pub fn spare(
        &self,
        tables: &mut Vec<(FileNumber, PathBuf)>,
        blobs: &mut Vec<(FileNumber, PathBuf)>,
        is_live: &dyn Fn(FileNumber, &Path) -> bool,
    ) -> Vec<PathBuf> {
        let writers: Vec<Writer> = tables
            .iter()
            .map(|(number, path)| match self.outside(path) {
                Some(_) if !is_live(*number, path) => self.writer_of(path),
                _ => Writer::Own,
            })
            .collect();
        let others = tables.iter().zip(&writers).filter(|(_, writer)| **writer == Writer::Other);
        let shared: Vec<PathBuf> =
            others.filter_map(|((_, path), _)| self.outside(path)).map(Path::to_path_buf).collect();
        let is_shared = |path: &Path| {
            self.outside(path).is_some_and(|directory| shared.iter().any(|shared| shared == directory))
        };
        let mut stay = Vec::new();
        let mut writers = writers.into_iter();
        tables.retain(|(_, path)| {
            let goes = match writers.next() {
                Some(Writer::Own) => true,
                Some(Writer::Unknown) => !is_shared(path),
                _ => false,
            };
            if !goes {
                stay.push(path.clone());
            }
            goes
        });
        blobs.retain(|(number, path)| !is_shared(path) || is_live(*number, path));
        stay
    }

    /// Returns the directory of a file outside of the database directory.
    fn outside<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.parent().filter(|directory| *directory != self.directory)
    }

    fn writer_of(&self, path: &Path) -> Writer {
        let mut writer = Writer::Unread;
        for family in &self.families {
            match SstReader::open(path, self.options, family, None) {
                Ok(reader) => {
                    let id = &reader.properties().db_id;
                    return match &id[..] {
                        b"" | b"SST Writer" => Writer::Unknown,
                        id if self.db_id.is_some_and(|own| id == own.as_bytes()) => Writer::Own,
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
}

/// Removes the files of other databases from the orphan files of an open.
pub(super) fn spare_files_of_others(found: &mut Sweep, opening: &Opening, db_id: &str) {
    let owner = Owner {
        directory: &opening.paths.db,
        db_id: Some(db_id),
        options: &opening.options,
        families: opening.descriptors.iter().map(|family| &family.options).collect(),
    };
    for path in owner.spare(&mut found.tables, &mut found.blobs, &|_, _| false) {
        opening.events.warn(format_args!("{}: may be of another database; it stays", path.display()));
    }
}
