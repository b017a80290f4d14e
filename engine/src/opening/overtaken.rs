//! Read-only opens while another process writes. The writer may delete or recycle files that the MANIFEST named
//! when it was read: the writer then has *overtaken* the open.

use base::{Error, FileNumber};
use format::edit::NewFile;

use super::context::{Opening, two_phase};
use crate::manifest::{Recovered, read_current, recover};

/// How often a read-only open tries, if a writer overtakes it each time.
pub(super) const TRIES_MAX: usize = 8;

impl Opening {
    /// Returns true if this open is read-only and the MANIFEST has changed. WALs may be deleted or recycled since
    /// it was read.
    pub(super) fn is_overtaken(&self, read: &Recovered) -> bool {
        self.newer_manifest(read).is_some()
    }

    /// Returns true if this open is read-only and all WALs that the newest MANIFEST needs are newer than `wal`.
    /// Then `wal` may be deleted or recycled.
    pub(super) fn needs_newer_than(&self, read: &Recovered, wal: FileNumber) -> bool {
        let allowed = two_phase(&self.options);
        self.newer_manifest(read).is_some_and(|now| now.oldest_wal(allowed) > wal)
    }

    /// Returns true if this open is read-only and no version of the newest MANIFEST has the SST file.
    pub(super) fn is_compacted_away(&self, read: &Recovered, table: FileNumber) -> bool {
        let has = |now: &Recovered| now.families.values().any(|family| family.files.contains_key(&table));
        self.newer_manifest(read).is_some_and(|now| !has(&now))
    }

    /// Returns true if this open is read-only and no SST file of the newest MANIFEST needs the blob file. A blob
    /// file is needed while an SST file refers to this blob file or to an older one.
    pub(super) fn is_blob_dropped(&self, read: &Recovered, blob: FileNumber) -> bool {
        let needs = |file: &NewFile| file.oldest_blob_file_number.is_some_and(|oldest| oldest <= blob);
        self.newer_manifest(read).is_some_and(|now| {
            let families = now.families.values().filter(|family| family.blobs.contains_key(&blob));
            !families.flat_map(|family| family.files.values()).any(needs)
        })
    }

    /// Returns `error`, an error of reading MANIFEST `number`, or TryAgain if a writer has started another
    /// MANIFEST.
    pub(super) fn unless_rolled(&self, number: FileNumber, error: Error) -> Error {
        if self.is_rolled(number) {
            return Error::try_again(
                "another process started a new MANIFEST during the read of the old MANIFEST; try again",
            );
        }
        error
    }

    fn is_rolled(&self, number: FileNumber) -> bool {
        self.read_only && read_current(&self.env, &self.paths.db).is_ok_and(|now| now != number)
    }

    /// Reads the MANIFEST again, if this open is read-only. Returns the new content if the MANIFEST is
    /// another file or has grown.
    fn newer_manifest(&self, read: &Recovered) -> Option<Recovered> {
        // An open with `best_efforts_recovery` may read another MANIFEST than the newest, and reads no WAL.
        if !self.read_only || self.options.best_efforts_recovery {
            return None;
        }
        for _ in 0..TRIES_MAX {
            let number = read_current(&self.env, &self.paths.db).ok()?;
            let size = self.env.fs.file_size(&self.paths.manifest(number));
            if number == read.number && size.is_ok_and(|size| size == read.size) {
                return None;
            }
            match recover(&self.env, &self.paths.db, number) {
                Ok(now) => return Some(now).filter(|now| (now.number, now.size) != (read.number, read.size)),
                Err(_) if self.is_rolled(number) => {}
                Err(_) => return None,
            }
        }
        None
    }
}
