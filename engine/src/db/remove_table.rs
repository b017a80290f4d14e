//! Removes an SST file from the MANIFEST of a database that is not open.
//!
//! A database whose MANIFEST names a missing SST file does not open, and a damaged SST file fails reads and compactions.
//! If the file cannot be restored, this call gives up its entries. The call changes the MANIFEST alone: the SST file
//! stays until the next open. RocksDB: `ldb unsafe_remove_sst_file`.

use std::path::Path;

use base::{Error, FileNumber, Level, Result};
use env::fs::refuse_empty_path;
use format::edit::{FamilyEdit, VersionEdit};

use crate::files::{DbLock, Paths};
use crate::manifest::{Manifest, read_current, read_proof, recover, recover_proved};
use crate::opening::manifest_settings;
use crate::options::DbOptions;

/// The place that an SST file had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedTable {
    /// The name of the column family.
    pub family: String,
    pub level: Level,
    /// The size in bytes, as the MANIFEST stores the size.
    pub size: u64,
}

/// Removes SST file `number` from the MANIFEST of the database at `path`. Entries of the file are lost, and older entries
/// of the same keys in other files come back. An entry that still is in a WAL comes back at the next open.
///
/// # Errors
/// IoError if the database is open. NotFound if no column family has the file: the MANIFEST stays as it is. Corruption if
/// the MANIFEST does not read to its end: repair the database instead. Errors of the file system.
pub fn remove_table(path: &Path, options: &DbOptions, number: FileNumber) -> Result<RemovedTable> {
    refuse_empty_path(path)?;
    let (env, paths) = (&options.env, Paths::new(path, options));
    let _lock = DbLock::take(&*env.fs, &paths.db)?;
    let current = read_current(env, &paths.db)?;
    let mut recovered = recover(env, &paths.db, current)?;
    // A proof that does not decode proves nothing.
    let proof = read_proof(env, &paths.db, current).unwrap_or(None);
    if let Some(proof) = proof.filter(|proof| Some(&proof.db_id) == recovered.db_id.as_ref()) {
        recovered = recover_proved(env, &paths.db, current, Some(proof.manifest))?;
    }
    if recovered.end.is_in_doubt() {
        return Err(Error::corruption("the MANIFEST does not read to its end: repair the database instead")
            .file(paths.db.join(format::names::manifest(current)))
            .at(recovered.size));
    }
    let of_number = recovered.families.values().find_map(|family| Some((family, family.files.get(&number)?)));
    let Some((family, file)) = of_number else {
        return Err(Error::not_found("File not present in any level"));
    };
    let removed = RemovedTable { family: family.name.clone(), level: file.level, size: file.file_size };
    let edit = VersionEdit {
        family: FamilyEdit { id: family.id, ..FamilyEdit::default() },
        deleted_files: vec![(file.level, number)],
        ..VersionEdit::default()
    };
    let mut manifest = Manifest::reopen(env.clone(), manifest_settings(options, &paths), &recovered)?;
    manifest.append(&[(edit, 0)])?;
    manifest.close()?;
    Ok(removed)
}
