//! Read-only opens while another process writes. The writer may delete or recycle files that the MANIFEST named
//! when it was read: the writer then has *overtaken* the open.

use base::{Error, FileNumber, WalNumber};
use env::Env;
use format::edit::NewFile;

use super::context::{Opening, two_phase};
use crate::files::Paths;
use crate::manifest::{Recovered, read_current, recover};
use crate::options::DbOptions;

/// How often a read-only open tries, if a writer overtakes it each time.
pub(super) const TRIES_MAX: usize = 8;

/// Another process that may write the database while a read-only open reads it. An open for writing has the LOCK, so it
/// has no other writer: each answer is then "no".
pub(super) struct OtherWriter<'a> {
    read_only: bool,
    env: &'a Env,
    paths: &'a Paths,
    options: &'a DbOptions,
}

impl Opening {
    /// Returns the other writer of the database.
    pub(super) fn other_writer(&self) -> OtherWriter<'_> {
        OtherWriter { read_only: self.read_only, env: &self.env, paths: &self.paths, options: &self.options }
    }
}

impl OtherWriter<'_> {
    /// Returns true if the MANIFEST has changed since it was read. WALs may be deleted or recycled since.
    pub(super) fn has_overtaken(&self, read: &Recovered) -> bool {
        self.newer_manifest(read).is_some()
    }

    /// Returns true if all WALs that the newest MANIFEST needs are newer than `wal`.
    /// Then `wal` may be deleted or recycled.
    pub(super) fn needs_newer_than(&self, read: &Recovered, wal: WalNumber) -> bool {
        let allowed = two_phase(self.options);
        self.newer_manifest(read).is_some_and(|now| now.oldest_wal(allowed) > wal)
    }

    /// Returns true if no version of the newest MANIFEST has the SST file.
    pub(super) fn compacted_away(&self, read: &Recovered, table: FileNumber) -> bool {
        let has = |now: &Recovered| now.families.values().any(|family| family.files.contains_key(&table));
        self.newer_manifest(read).is_some_and(|now| !has(&now))
    }

    /// Returns true if no SST file of the newest MANIFEST needs the blob file. A blob
    /// file is needed while an SST file refers to this blob file or to an older one.
    pub(super) fn dropped_blob(&self, read: &Recovered, blob: FileNumber) -> bool {
        let needs = |file: &NewFile| file.oldest_blob_file_number.is_some_and(|oldest| oldest <= blob);
        self.newer_manifest(read).is_some_and(|now| {
            let families = now.families.values().filter(|family| family.blobs.contains_key(&blob));
            !families.flat_map(|family| family.files.values()).any(needs)
        })
    }

    /// Returns `error`, an error of reading MANIFEST `number`, or TryAgain if a writer has started another
    /// MANIFEST.
    pub(super) fn unless_rolled(&self, number: FileNumber, error: Error) -> Error {
        if self.has_rolled(number) {
            return Error::try_again(
                "another process started a new MANIFEST during the read of the old MANIFEST; try again",
            );
        }
        error
    }

    fn has_rolled(&self, number: FileNumber) -> bool {
        self.read_only && read_current(self.env, &self.paths.db).is_ok_and(|now| now != number)
    }

    /// Reads the MANIFEST again. Returns the new content if the MANIFEST is another file or has grown.
    fn newer_manifest(&self, read: &Recovered) -> Option<Recovered> {
        // An open with `best_efforts_recovery` may read another MANIFEST than the newest, and reads no WAL.
        if !self.read_only || self.options.best_efforts_recovery {
            return None;
        }
        for _ in 0..TRIES_MAX {
            let number = read_current(self.env, &self.paths.db).ok()?;
            let size = self.env.fs.file_size(&self.paths.manifest(number));
            if number == read.number && size.is_ok_and(|size| size == read.size) {
                return None;
            }
            match recover(self.env, &self.paths.db, number) {
                Ok(now) => return Some(now).filter(|now| (now.number, now.size) != (read.number, read.size)),
                Err(_) if self.has_rolled(number) => {}
                Err(_) => return None,
            }
        }
        None
    }
}
