//! The open with `best_efforts_recovery`: uses the newest readable MANIFEST and the SST files that exist. A reader that follows a writer
//! opens the newest complete state of the MANIFEST of CURRENT, if SST files are missing.
//!
//! As in RocksDB, this open does not read CURRENT and replays no WAL. Files that the recovered state does not need
//! are moved to `lost/`, also the WALs. Nothing is deleted.

use std::path::PathBuf;

use base::key::MAX_SEQUENCE;
use base::{Arrange, Error, FileNumber, Kind, Result};
use format::edit::{BlobFileAddition, NewFile};
use format::names::FileName;
use table::any::AnyReader;
use table::blob::BlobReader;
use table::sst::OpenOptions;

use super::context::Opening;
use super::proved::Found;
use super::stats_family;
use crate::components::FamilyDescriptor;
use crate::manifest::{FamilyRecord, Present, recover_best};

impl Opening {
    /// Returns true if the database exists.
    ///
    /// # Errors
    /// An error of the file system.
    pub(super) fn exists(&self) -> Result<bool> {
        match self.options.best_efforts_recovery {
            true => Ok(!self.manifests()?.is_empty()),
            false => self.env.fs.exists(&self.paths.current()),
        }
    }

    /// Returns the numbers of the MANIFESTs that are not empty, newest first.
    fn manifests(&self) -> Result<Vec<FileNumber>> {
        let names = self.env.fs.list(&self.paths.db)?;
        let numbers = names.iter().filter_map(|name| match FileName::parse(name) {
            Some(FileName::Manifest(number)) => Some(number),
            _ => None,
        });
        let filled = |number: &FileNumber| {
            self.env.fs.file_size(&self.paths.manifest(*number)).is_ok_and(|size| size > 0)
        };
        let mut numbers: Vec<_> = numbers.filter(filled).collect();
        numbers.arrange_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// Reads the newest readable MANIFEST, and each column family in its newest complete state.
    pub(super) fn read_best_manifest(&self) -> Result<Found> {
        let mut outcome = Err(Error::corruption("Cannot locate MANIFEST file").file(&self.paths.db));
        for number in self.manifests()? {
            self.events.info(format_args!(
                "Trying to recover from manifest: {}",
                self.paths.manifest(number).display()
            ));
            outcome = recover_best(&self.env, &self.paths.db, number, self);
            match &outcome {
                Ok((_, missing)) if missing.is_empty() => break,
                Ok((_, missing)) => {
                    self.events
                        .warn(format_args!("files are missing: {missing:?}; recovering an older state"));
                    break;
                }
                // An older MANIFEST has an older state. An error of the file system may pass, and the newest state is there.
                Err(error) if error.kind() == Kind::IoError && !error.is_not_found() => break,
                Err(error) => self.events.warn(format_args!("{error}")),
            }
        }
        let (recovered, _) = outcome?;
        Ok(Found { recovered, proof: None, lost: None })
    }

    /// Reads each column family of the MANIFEST in its newest complete state.
    pub(super) fn read_complete_state(&self, number: FileNumber) -> Result<Found> {
        let (recovered, missing) = recover_best(&self.env, &self.paths.db, number, self)?;
        self.events.warn(format_args!("files are missing: {missing:?}; reading an older state"));
        Ok(Found { recovered, proof: None, lost: None })
    }

    /// Returns the options of a column family. `None` if the caller does not name the column family.
    fn descriptor_of(&self, family: &FamilyRecord) -> Option<FamilyDescriptor> {
        // The column family of the statistics opens also if the caller does not name it, with options of its own.
        let unasked = (family.name == stats_family::NAME).then(stats_family::descriptor);
        let asked = self.descriptors.iter().find(|d| d.name == family.name);
        let unnamed =
            || self.others.as_ref().map(|options| FamilyDescriptor::new(&family.name, options.clone()));
        asked.cloned().or(unasked).or_else(unnamed)
    }

    /// Returns the directory of the files of a column family with this path id. `None`: there is no directory.
    fn dir_of<'a>(&'a self, descriptor: &'a FamilyDescriptor, path_id: u32) -> Option<&'a PathBuf> {
        let own: Vec<_> = descriptor.options.cf_paths.iter().map(|p| &p.path).collect();
        let dirs = if own.is_empty() { self.paths.tables.iter().collect() } else { own };
        // As in RocksDB, a path that the options no longer have means the last path.
        dirs.get((path_id as usize).min(dirs.len().saturating_sub(1))).copied()
    }

    /// Marks all WALs as not needed. If a later open replayed them, their writes would follow an older state than
    /// the state they were written to.
    pub(super) fn pass_wals(
        &self,
        families: &crate::family::FamilySet,
        numbers: &crate::files::Numbers,
    ) -> Result<()> {
        let names = self.env.fs.list(&self.paths.wal)?;
        let wals = names.iter().filter_map(|name| match FileName::parse(name) {
            Some(FileName::Wal(number)) => Some(number),
            _ => None,
        });
        let Some(last) = wals.max() else { return Ok(()) };
        numbers.mark_used(last.file());
        for family in families.all() {
            let mut state = family.state();
            state.wal_number = state.wal_number.max(last.next());
        }
        Ok(())
    }
}

impl Present for Opening {
    /// Returns true if the SST file exists, and has the size, the format and the unique id that the MANIFEST names.
    fn has_table(&self, family: &FamilyRecord, file: &NewFile) -> Result<bool> {
        let Some(descriptor) = self.descriptor_of(family) else { return Ok(true) };
        let Some(dir) = self.dir_of(&descriptor, file.path_id) else { return Ok(false) };
        let path = dir.join(format::names::table(file.number));
        let size = self.env.fs.file_size(&path);
        if matches!(size, Ok(size) if size != file.file_size) {
            return Ok(false);
        }
        let verify = self.options.verify_sst_unique_id_in_manifest && file.unique_id != [0, 0];
        let options = OpenOptions {
            order: descriptor.options.comparator.clone(),
            file_number: file.number,
            level: file.level,
            largest_seqno: Some(file.largest_seqno.min(MAX_SEQUENCE)),
            unique_id: verify.then_some(file.unique_id),
            timestamps_persisted: file.user_defined_timestamps_persisted,
            ..OpenOptions::default()
        };
        let open = || self.env.fs.open_random(&path, &env::ReadHints::default());
        is_whole(
            size.and_then(|_| open()).and_then(|handle| AnyReader::open(handle, file.file_size, &options)),
        )
    }

    /// Returns true if the blob file exists and has a valid header and footer.
    fn has_blob_file(&self, family: &FamilyRecord, blob: &BlobFileAddition) -> Result<bool> {
        let Some(descriptor) = self.descriptor_of(family) else { return Ok(true) };
        let Some(dir) = self.dir_of(&descriptor, 0) else { return Ok(false) };
        let path = dir.join(format::names::blob(blob.blob_file_number));
        let handle = self.env.fs.open_random(&path, &env::ReadHints::default());
        is_whole(handle.and_then(|handle| BlobReader::open(handle, family.id, None)))
    }
}

/// Returns true if a file opened, and false if the file is missing or damaged. All other errors say nothing about the file, as in
/// RocksDB (`VersionBuilder::Rep::ApplyFileAddition`): a process with too many open files must not lose its newest state.
fn is_whole<T>(opened: Result<T>) -> Result<bool> {
    match opened {
        Ok(_) => Ok(true),
        Err(error) if error.is_missing_or_damaged() => Ok(false),
        Err(error) => Err(error),
    }
}
