//! Reads the MANIFEST at open and compares it with the proof of the last close or idle moment. Also decides
//! about orphan files if no proof covers the end of the MANIFEST.

use std::path::Path;

use base::{Error, FileNumber, Result, WalNumber};
use format::names::FileName;
use format::proof::Proof;

use super::context::{ManifestState, Opening};
use crate::files::{LOST_DIR, Sweep, move_aside};
use crate::manifest::{ManifestEnd, Recovered, read_current, read_proof, recover_following, recover_proved};
use crate::prepared::TwoPhase;
use crate::recovery::Replayed;

/// The MANIFEST, and the proof if the proof is valid for the present state of this database.
pub(super) struct Found {
    pub recovered: Recovered,
    pub proof: Option<Proof>,
    /// Durable edits that are lost, if the caller accepts the loss: the error, and the number of lost bytes.
    pub lost: Option<(Error, u64)>,
}

impl Opening {
    /// Reads the MANIFEST and its proof, and checks that no durable edit is lost.
    ///
    /// # Errors
    /// Corruption of CURRENT or of the MANIFEST. Corruption if durable edits are lost, unless
    /// `open_despite_lost_writes` is set.
    pub(super) fn read_manifest(&self, identity: &str) -> Result<Found> {
        if self.options.best_efforts_recovery {
            return self.read_best_manifest();
        }
        let number = read_current(&self.env, &self.paths.db)?;
        if self.state == ManifestState::NewestComplete {
            return self.read_complete_state(number);
        }
        let proof = read_proof(&self.env, &self.paths.db, number).unwrap_or_else(|error| {
            self.events.warn(format_args!("{error}"));
            None
        });
        let claim = proof.as_ref().map(|proof| proof.manifest);
        let recovered = match &self.manifest_tail {
            None => recover_proved(&self.env, &self.paths.db, number, claim),
            Some(tail) => recover_following(&self.env, &self.paths.db, number, claim, tail),
        };
        let mut recovered = recovered.map_err(|error| self.other_writer().unless_rolled(number, error))?;
        base::invariant!(
            recovered.number == number,
            "MANIFEST {} was recovered, and CURRENT names MANIFEST {}",
            recovered.number,
            number
        );
        if let Err(error) = self.nothing_followed(&recovered) {
            let overtaken = self.other_writer().has_overtaken(&recovered);
            return Err(if overtaken {
                Error::try_again("another process wrote to the MANIFEST during the read; try again")
            } else {
                error
            });
        }
        let id = recovered.db_id.as_deref().unwrap_or(identity);
        // A proof with a different database id was written by a former database of the directory, or was copied.
        // The proof does not apply to this database.
        let proof = proof.filter(|proof| proof.db_id == id);
        if proof.is_none() {
            recovered.end = recovered.end.without_proof();
        }
        match recovered.end.lost() {
            Some(lost) if !self.options.open_despite_lost_writes => {
                let hint = format!(
                    "{} (open_despite_lost_writes=true opens the database without them)",
                    lost.error.message()
                );
                let mut error = Error::corruption(hint).doing("reading the MANIFEST").with_data_loss(true);
                if let (Some(path), Some(at)) = (lost.error.path(), lost.error.offset()) {
                    error = error.file(path).at(at);
                }
                Err(error)
            }
            lost => {
                let lost = lost.map(|lost| (lost.error.clone(), lost.bytes));
                Ok(Found { recovered, proof, lost })
            }
        }
    }

    /// Decides whether the unreadable last edit of the MANIFEST was ever synced. After an edit is synced,
    /// the WALs that the edit makes obsolete are deleted. If the oldest WAL that is needed without the edit
    /// still exists, the edit was never synced, and the open ignores the edit. If that WAL is missing, the
    /// edit may have been durable, and the open fails. (An open may also have deleted an empty WAL before
    /// it wrote the edit.) Edits that RocksDB appended have no marks, so they cannot prove that the earlier
    /// edits were durable.
    fn nothing_followed(&self, recovered: &Recovered) -> Result<()> {
        let ManifestEnd::Unreadable { at, followed } = *recovered.end.without_loss() else { return Ok(()) };
        let oldest = recovered.oldest_wal(TwoPhase::Refused);
        let wal = self.paths.wal(oldest);
        let error = match oldest {
            _ if followed => ": edits without marks follow it".to_string(),
            // There was no flush since the database was created.
            WalNumber::ZERO => String::new(),
            _ if self.env.fs.exists(&wal)? => return Ok(()),
            _ => format!(": {}, which it may have made obsolete, is missing", wal.display()),
        };
        let error = format!("the last record cannot be read, and it may have been synced{error}");
        Err(Error::corruption(error)
            .doing("reading the MANIFEST")
            .file(self.paths.manifest(recovered.number))
            .at(at))
    }

    /// Compares the MANIFEST with the largest durable size of the MANIFEST in the marks of the replayed batches. If
    /// the bytes below this size do not read, they are damaged, and no crash explains them. If the MANIFEST ends
    /// before this size, the directory may be a copy of an open database, with the MANIFEST copied before the WALs:
    /// this is no error. Returns the loss if the caller accepts it.
    ///
    /// # Errors
    /// Corruption, unless `open_despite_lost_writes` is set. TryAgain if a writer has changed the MANIFEST since it
    /// was read.
    pub(super) fn check_manifest_marks(
        &self,
        recovered: &mut Recovered,
        replayed: &Replayed,
    ) -> Result<Option<(Error, u64)>> {
        let mark = replayed
            .manifest
            .filter(|mark| mark.bytes > recovered.size && !self.options.best_efforts_recovery);
        let Some(mark) = mark else { return Ok(None) };
        let size = self.env.fs.file_size(&self.paths.manifest(recovered.number));
        // A writer may have rolled the MANIFEST and deleted this file: the read-only open then reads the new MANIFEST.
        let size = size.map_err(|error| self.other_writer().unless_rolled(recovered.number, error))?;
        if size <= recovered.size {
            return Ok(None);
        }
        if self.read_only && self.other_writer().has_overtaken(recovered) {
            return Err(Error::try_again(
                "another process wrote to the MANIFEST during the read of the WALs; try again",
            ));
        }
        let (durable, bytes) = (mark.bytes, mark.bytes - recovered.size);
        let what = format!(
            "a WAL says that the MANIFEST was durable up to byte {durable}: {bytes} bytes of edits are lost"
        );
        let error = |what: String| {
            let error = Error::corruption(what).doing("reading the MANIFEST").with_data_loss(true);
            error.file(self.paths.manifest(recovered.number)).at(recovered.size)
        };
        if !self.options.open_despite_lost_writes {
            return Err(error(format!(
                "{what} (open_despite_lost_writes=true opens the database without them)"
            )));
        }
        let error = error(what);
        recovered.end.lose(error.clone(), bytes, false);
        Ok(Some((error, bytes)))
    }

    /// Moves to `lost/` the files that a MANIFEST with an unproved end may have forgotten: SST files, blob files,
    /// WALs that are not in `replayed`, and MANIFESTs other than `read`. The other files stay in `found`.
    pub(super) fn set_aside(&self, found: &mut Sweep, read: Option<FileNumber>, replayed: &[WalNumber]) {
        let now_s = self.env.clock.now_seconds();
        let aside = |path: &Path| match move_aside(&*self.env.fs, path, now_s) {
            Ok(()) => self.events.warn(format_args!("{}: orphan file; moved to {LOST_DIR}", path.display())),
            Err(error) => {
                self.events.warn(format_args!("failed to move an orphan file to {LOST_DIR}: {error}"))
            }
        };
        found.tables.drain(..).chain(found.blobs.drain(..)).for_each(|(_, path)| aside(&path));
        // With an archive, obsolete WALs are archived and not deleted.
        let archived = self.options.WAL_ttl_seconds > 0 || self.options.WAL_size_limit_MB > 0;
        found.wals.retain(|(number, path)| {
            let ours = archived || replayed.contains(number);
            if !ours {
                aside(path);
            }
            ours
        });
        let read = read.map(|read| self.paths.manifest(read));
        found.others.retain(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let other = read.as_ref() != Some(path)
                && matches!(name.as_deref().and_then(FileName::parse), Some(FileName::Manifest(_)));
            if other {
                aside(path);
            }
            !other
        });
    }
}
