//! SST files of other databases in the directories of a database.
//!
//! Two databases can name the same directory in `db_paths` or `cf_paths`. The table property
//! `rocksdb.creating.db.identity` shows which database wrote an SST file. Repair neither adds nor moves an SST file of
//! another database.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::{Error, FileNumber, Result};
use format::names;

use super::adopt::OrphanFile;
use super::found::Survey;
use super::terms::problem;
use super::{Problem, Scope, Weight};

/// The database that wrote an SST file.
#[derive(Clone, PartialEq, Eq)]
enum Origin {
    /// The database with this identity.
    Database(Vec<u8>),
    /// The file has no identity, or its properties cannot be read.
    Unknown,
}

impl Origin {
    fn of(orphan: &OrphanFile) -> Origin {
        match orphan.properties.as_ref().map(|properties| &properties.db_id[..]) {
            None | Some(b"" | b"SST Writer") => Origin::Unknown,
            Some(id) => Origin::Database(id.to_vec()),
        }
    }
}

impl Survey {
    /// Removes the SST files that may belong to another database from `strays`, and reports them. Only files outside of the
    /// database directory are removed: SST files of other databases and, in a directory with such a file, SST files of
    /// unknown origin. Cost: opens each SST file outside of the database directory that the MANIFEST does not name.
    ///
    /// # Errors
    /// NotSupported if these files are of several databases and the identity of the database is unknown. Errors of the file
    /// system.
    pub(super) fn leave_files_of_others(
        &mut self,
        scope: &Scope,
        strays: &mut Vec<(FileNumber, PathBuf)>,
    ) -> Result<()> {
        let mut outside = Vec::new();
        for (number, path) in strays.iter().filter(|(_, path)| path.parent() != Some(&scope.paths.db)) {
            let orphan = OrphanFile::probe(scope, *number, path.clone())?;
            outside.push((path.clone(), Origin::of(&orphan)));
        }
        let ids: BTreeSet<&[u8]> = outside
            .iter()
            .filter_map(|(_, origin)| match origin {
                Origin::Database(id) => Some(&id[..]),
                Origin::Unknown => None,
            })
            .collect();
        let own = match self.own_id(scope)? {
            Some(own) => own,
            None if ids.len() > 1 => {
                let what = "several databases wrote the SST files of a directory, and the file IDENTITY, which has the id of \
                            this database, cannot be read";
                return Err(Error::not_supported(what).file(scope.paths.db.join(names::IDENTITY)));
            }
            None => return Ok(()),
        };
        let is_other = |origin: &Origin| matches!(origin, Origin::Database(id) if *id != own);
        let shared: BTreeSet<PathBuf> = outside
            .iter()
            .filter(|(_, origin)| is_other(origin))
            .filter_map(|(path, _)| path.parent().map(Path::to_path_buf))
            .collect();
        let is_shared = |path: &Path| path.parent().is_some_and(|dir| shared.contains(dir));
        outside.retain(|(path, origin)| is_other(origin) || (*origin == Origin::Unknown && is_shared(path)));
        for (path, origin) in &outside {
            self.report.problems.push(self.left_out(path, origin, &own));
        }
        strays.retain(|(_, path)| outside.iter().all(|(other, _)| other != path));
        Ok(())
    }

    /// Describes an SST file that stays where it is. If no record of the MANIFEST is missing, the database does not have the file.
    /// Otherwise the file may have been imported, and its entries are then lost.
    fn left_out(&self, path: &Path, origin: &Origin, own: &[u8]) -> Problem {
        if !self.rebuilt && !self.lost_records() {
            let what = "another database may have written this SST file: the file stays";
            return problem(Weight::Note, path.to_path_buf(), None, what);
        }
        let wrote = match origin {
            Origin::Database(id) => format!("the database with the identity {} wrote", id.escape_ascii()),
            Origin::Unknown => "an unknown database wrote".to_string(),
        };
        let what = format!(
            "{wrote} this SST file, and the identity of this database is {}: the file stays and is not added. If the file was \
             imported, its entries are lost from this database: import the file again",
            own.escape_ascii()
        );
        problem(Weight::Loss, path.to_path_buf(), None, &what)
    }

    /// Returns the identity of the database, from the MANIFEST or from the file IDENTITY.
    fn own_id(&self, scope: &Scope) -> Result<Option<Vec<u8>>> {
        if let Some(id) = self.manifest.recovered.db_id.as_ref().filter(|id| !id.is_empty()) {
            return Ok(Some(id.clone().into_bytes()));
        }
        let read = scope.options.env.fs.read_all(&scope.paths.db.join(names::IDENTITY), 4096);
        match read.and_then(|bytes| names::parse_identity(&bytes)) {
            Ok(id) => Ok(Some(id.into_bytes()).filter(|id| !id.is_empty())),
            Err(error) if error.is_not_found() || error.is_corruption() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
