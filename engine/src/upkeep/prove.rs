//! The proof of a clean close or of an idle time: the sizes and digests of the files, written while no write is in flight.
//!
//! A close writes a proof, and so does a periodic task of [`Upkeep`](super::Upkeep): if two runs of the task find the same
//! state, the state is proved once. A proof says only what a crash cannot take back, so the WALs are synced before. If a
//! proof cannot be written, the older proof stays, and the older proof remains true.

use base::{FileNumber, Result, WalNumber};
use format::proof::Proof;

use super::Upkeep;
use crate::manifest::write_proof;
use crate::sync::Ordering;
use crate::write::ErrorSink;

/// The state of the files: number of the MANIFEST, its size, active WAL, bytes in WALs, number of the OPTIONS file.
type FileState = (FileNumber, u64, WalNumber, u64, Option<FileNumber>);

/// The state at the last look, and the state of the last proof.
#[derive(Default)]
pub(super) struct Looks {
    last: Option<FileState>,
    proved: Option<FileState>,
}

impl Upkeep {
    pub(super) fn prove_if_idle(&self) {
        let mut looks = self.looks.lock();
        // A close that has begun writes the last proof itself.
        if self.context.tools.shutting_down.load(Ordering::Acquire) || self.context.errors.get().is_some() {
            return;
        }
        let now = self.file_state();
        let idle = looks.last.replace(now) == Some(now);
        if idle && looks.proved != Some(now) {
            match self.prove(false) {
                Ok(()) => looks.proved = Some(now),
                Err(error) if self.context.wals.is_poisoned() => self.failures.wal_failed(&error),
                Err(error) => self.context.tools.events.warn(format_args!("{error}")),
            }
        }
    }

    fn file_state(&self) -> FileState {
        let (manifest, size) = self.context.committer.manifest_extent();
        let options = self.context.tools.options_file.lock().as_ref().map(|file| file.number);
        (manifest, size, self.context.wals.active_number(), self.context.wals.total_bytes(), options)
    }

    /// Writes the last proof of this open. No writer and no job runs any more.
    ///
    /// # Errors
    /// Errors of syncing the WALs: records that were not synced may be lost. If only the proof cannot be written, the
    /// info log gets a warning, and the call returns Ok.
    pub fn prove_closed(&self) -> Result<()> {
        let _looks = self.looks.lock();
        if self.context.errors.get().is_some() || self.context.wals.is_poisoned() {
            return Ok(());
        }
        match self.prove(true) {
            Err(error) if self.context.wals.is_poisoned() => Err(error),
            Err(error) => {
                self.context.tools.events.warn(format_args!("{error}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn prove(&self, closed: bool) -> Result<()> {
        self.context.wals.settle()?;
        // WALs first: a WAL that a later MANIFEST edit makes obsolete may be in the proof, because an open then
        // ignores it.
        let min_wal = self.context.committer.min_wal_to_keep();
        let mut wals = self.context.wals.durable();
        wals.retain(|wal| wal.number >= min_wal.file());
        base::invariant!(
            wals.last().is_none_or(|wal| wal.number <= self.context.wals.active_number().file()),
            "a proof names WAL {:?}, and the active WAL is {}",
            wals.last(),
            self.context.wals.active_number()
        );
        base::invariant!(
            wals.is_sorted_by(|older, newer| older.number < newer.number),
            "the {} WALs of a proof are not in the order of their numbers",
            wals.len()
        );
        let Some(manifest) = self.context.committer.settle_manifest()? else { return Ok(()) };
        let proof = Proof {
            db_id: self.context.tools.db_id.clone(),
            written_s: self.context.tools.env.clock.now_seconds(),
            closed,
            manifest,
            wals,
            options: self.context.tools.options_file.lock().clone(),
        };
        write_proof(&self.context.tools.env, &self.context.tools.paths.db, &proof)
    }
}
