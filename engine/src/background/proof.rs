//! The proof of a clean close or an idle moment: what the files are, written when nothing is in flight.
//!
//! It is written at the end of a close, and when nothing was written for a while: the clock asks every
//! [`LOOK_US`], and what it finds as it was the last time is proved once. Both sync the logs first, for a proof
//! says only what a crash cannot take back. A proof that cannot be written harms nobody: the older one stays,
//! and all it says remains true.

use base::Result;
use env::executor::Pool;
use format::proof::Proof;

use super::Background;
use crate::manifest::write_proof;
use crate::sync::Ordering;
use crate::write::ErrorSink;

/// How often it is looked whether anything was written. An idle moment is twice that at most.
const LOOK_US: u64 = 3_000_000;

/// What tells two moments apart: MANIFEST, its size, active log, bytes in logs, the OPTIONS file.
type Moment = (u64, u64, u64, u64, u64);

/// What the last look found, and what was proved.
#[derive(Default)]
pub(super) struct Looks {
    last: Option<Moment>,
    proved: Option<Moment>,
}

impl Background {
    /// Plans the next look.
    pub(super) fn plan_proof(&self) {
        self.spawn_after(LOOK_US, Pool::Low, |me| {
            me.prove_if_idle();
            if !me.tools.shutting_down.load(Ordering::Acquire) {
                me.plan_proof();
            }
        });
    }

    fn prove_if_idle(&self) {
        let mut looks = self.looks.lock();
        // A close that has begun writes the last proof itself.
        if self.tools.shutting_down.load(Ordering::Acquire) || self.errors.get().is_some() {
            return;
        }
        let now = self.moment();
        let idle = looks.last.replace(now) == Some(now);
        if idle && looks.proved != Some(now) {
            match self.prove(false) {
                Ok(()) => looks.proved = Some(now),
                Err(error) if self.logs.is_poisoned() => self.wal_failed(&error),
                Err(error) => self.tools.events.warn(format_args!("{error}")),
            }
        }
    }

    fn moment(&self) -> Moment {
        let (manifest, size) = self.committer.manifest_extent();
        let options = self.tools.options_file.lock().as_ref().map_or(0, |file| file.number);
        (manifest, size, self.logs.active_number().0, self.logs.total_bytes(), options)
    }

    /// The last proof of this session. All writers and jobs are gone.
    ///
    /// # Errors
    /// Of syncing the logs: what was not synced may be lost. A proof that cannot be written is only told.
    pub fn prove_closed(&self) -> Result<()> {
        let _looks = self.looks.lock();
        if self.errors.get().is_some() || self.logs.is_poisoned() {
            return Ok(());
        }
        match self.prove(true) {
            Err(error) if self.logs.is_poisoned() => Err(error),
            Err(error) => {
                self.tools.events.warn(format_args!("{error}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn prove(&self, closed: bool) -> Result<()> {
        self.logs.settle()?;
        // Logs first: those that a later MANIFEST record makes obsolete are not asked for.
        let min_wal = self.committer.min_log_to_keep();
        let mut wals = self.logs.durable();
        wals.retain(|wal| wal.number >= min_wal);
        let Some(manifest) = self.committer.settle_manifest()? else { return Ok(()) };
        let proof = Proof {
            db_id: self.tools.db_id.clone(),
            written_s: self.tools.env.clock.now_seconds(),
            closed,
            manifest,
            wals,
            options: self.tools.options_file.lock().clone(),
        };
        write_proof(&self.tools.env, &self.tools.paths.db, &proof)
    }
}
