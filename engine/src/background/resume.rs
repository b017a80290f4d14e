//! Resume: clears a background error and accepts writes again. A resume flushes all memtables, or only the
//! immutable memtables of the stopped column families.

use base::stats::{HistogramKind, Ticker};
use base::{Error, FamilyId, Result};
use env::executor::Pool;

use super::Background;
use crate::event::{Event, FlushReason};
use crate::family::{Family, FlushPick};
use crate::sync::Arc;

impl Background {
    /// Tries to resume, as `DB::Resume` does.
    ///
    /// # Errors
    /// Busy if that is under way already; the error that remains.
    pub fn resume(&self) -> Result<()> {
        {
            let mut state = self.state.lock();
            if state.closing {
                return Err(Error::shutdown_in_progress("the database is closing"));
            }
            state.resumes_running += 1;
        }
        let outcome = self.resume_counted();
        let mut state = self.state.lock();
        state.resumes_running -= 1;
        self.schedule(&mut state);
        drop(state);
        self.changed.tell();
        outcome
    }

    /// As [`Background::resume`], while closing waits.
    fn resume_counted(&self) -> Result<()> {
        let Some(recovery) = self.errors.recovery_begin()? else { return Ok(()) };
        let outcome = if recovery.everything || self.needs_one_commit() {
            self.recover_everything()
        } else {
            self.recover_families(&recovery.families)
        };
        let outcome = self.errors.recovery_end(outcome);
        self.tools
            .events
            .emit(&Event::RecoveredFromError { old: recovery.old, new: outcome.as_ref().err().cloned() });
        self.errors_changed();
        for family in self.families.all() {
            self.reconsider(&family);
        }
        outcome
    }

    /// Flushes the immutable memtables of these column families, one family at a time. If a flush fails
    /// again, the other column families continue. WALs and MANIFEST are valid, so the other column families
    /// keep their memtables.
    fn recover_families(&self, families: &[(FamilyId, u64)]) -> Result<()> {
        let mut outcome = Ok(());
        for (id, noted) in families {
            let flushed = match self.families.get(*id) {
                Some(family) => {
                    let family = [family];
                    self.flush_immutable(&family, &family, &|| self.errors.failed_since(*id, *noted))
                }
                None => Ok(()),
            };
            match flushed {
                Ok(()) => self.errors.got_over(*id, *noted),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// Whether a log failed that is needed. A try that failed may have let go of the log, if all of it was durable, but what
    /// was to be flushed for it is kept together until it is.
    fn needs_one_commit(&self) -> bool {
        self.logs.needs_failed() || self.families.all().iter().any(|family| family.state().holds_together())
    }

    fn recover_everything(&self) -> Result<()> {
        let Some(writer) = self.writer.get().and_then(|w| w.upgrade()) else {
            return Err(Error::shutdown_in_progress("the database is closing"));
        };
        // Flush all memtables, so that the unsynced ends of the WALs are no longer needed. If a WAL failed,
        // flush all column families in one MANIFEST commit. The durable end of the failed WAL is unknown.
        // With separate commits, a crash could leave one column family flushed past this end while another
        // still needs the WAL.
        let together = self.needs_one_commit() && !self.atomic_flush;
        // Record the error like the failure of a flush: if no resume can clear it, the resume ends. The
        // error affects all column families, because all of them must be flushed.
        let sealed = writer.switch_all_for_recovery(together);
        sealed.inspect_err(|error| self.flush_failed(error.clone(), &[]))?;
        let families = self.families.all();
        if together {
            self.flush_behind_failed(&families)?;
        }
        self.flush_immutable(&families, &[], &|| self.errors.during_recovery())?;
        // Start a new MANIFEST, whether or not the failed record was written. The new MANIFEST needs no WAL
        // older than the new WAL. The failed WAL may hold a record that was never acknowledged, and the
        // sequence numbers of this record will be used again.
        writer.pass_old_logs()?;
        let committed = self.committer.roll(Vec::new())?;
        self.logs.pass_failed();
        self.committed(&committed);
        Ok(())
    }

    /// Flushes the immutable memtables of these column families, in one commit with `atomic_flush`.
    /// `concerned` are the column families to stop if the flush fails. `failed` is the error of another job
    /// that had one of these memtables.
    fn flush_immutable(
        &self,
        families: &[Arc<Family>],
        concerned: &[Arc<Family>],
        failed: &dyn Fn() -> Option<Error>,
    ) -> Result<()> {
        let job = self.tools.take_job_id();
        let turn = |family: &Family, pick: &FlushPick| self.flush_turn(family, pick);
        let tools = self.flush_tools(&turn);
        let newest: Vec<_> = families.iter().map(|family| family.state().newest_immutable()).collect();
        let left = || {
            let mut all = families.iter().zip(&newest);
            all.any(|(f, newest)| {
                newest.is_some_and(|id| !f.is_dropped() && f.state().has_immutable_up_to(id))
            })
        };
        // A job that was queued before may take memtables at any moment until none is left. What it has taken comes
        // first; if that fails, so does this.
        while left() {
            self.wait_until(|| (!families.iter().any(|family| family.state().is_flushing())).then_some(()));
            if let Some(error) = failed() {
                return Err(error);
            }
            let mut progress = families.iter().any(|family| family.state().is_flushing());
            let groups: Vec<&[_]> = match self.atomic_flush {
                true => vec![families],
                false => families.iter().map(std::slice::from_ref).collect(),
            };
            for group in groups {
                let done =
                    crate::flush::run(&tools, job, group, FlushReason::ErrorRecovery, self.atomic_flush);
                let done = done.inspect_err(|error| self.flush_failed(error.clone(), concerned))?;
                if let Some(committed) = &done.committed {
                    progress = true;
                    self.committed(committed);
                }
            }
            if !progress && left() {
                return Err(Error::busy("memtables are kept for a flush of several column families"));
            }
        }
        Ok(())
    }

    /// All that is held together becomes tables in one commit, or stays held for the next try.
    fn flush_behind_failed(&self, families: &[Arc<Family>]) -> Result<()> {
        let picks = self.wait_until(|| match self.errors.during_recovery() {
            Some(error) => Some(Err(error)),
            None => self.pick_together(families).map(Ok),
        })?;
        let turn = |family: &Family, pick: &FlushPick| self.flush_turn(family, pick);
        match crate::flush::run_picked(
            &self.flush_tools(&turn),
            self.tools.take_job_id(),
            picks,
            FlushReason::ErrorRecovery,
        ) {
            Ok(done) => {
                done.committed.iter().for_each(|committed| self.committed(committed));
                Ok(())
            }
            Err(error) => {
                families.iter().for_each(|family| family.state().hold_together());
                self.flush_failed(error.clone(), &[]);
                Err(error)
            }
        }
    }

    /// Tries to resume in the background, up to `max_bgerror_resume_count` times, with pauses.
    pub(super) fn schedule_resume(&self) {
        let options = self.tools.options.load();
        let mut state = self.state.lock();
        if state.closing {
            self.errors.resume_given_up();
            return;
        }
        if state.resume_scheduled {
            return;
        }
        state.resume_scheduled = true;
        state.resume_tries += 1;
        drop(state);
        // The disk may get space directly after a try. With half of the interval, the next try and its
        // flush end within the interval.
        let wait = options.bgerror_resume_retry_interval / if self.errors.waits_for_space() { 2 } else { 1 };
        self.spawn_after(wait, Pool::High, |me| {
            let tries = {
                let mut state = me.state.lock();
                state.resume_scheduled = false;
                state.resume_tries
            };
            let stats = &me.tools.stats;
            let first = if tries == 1 {
                Ticker::ErrorHandlerAutoresumeCount
            } else {
                Ticker::ErrorHandlerAutoresumeRetryTotalCount
            };
            stats.add(first, 1);
            let outcome = me.resume();
            if outcome.is_ok() {
                stats.add(Ticker::ErrorHandlerAutoresumeSuccessCount, 1);
                stats.measure(HistogramKind::ErrorHandlerAutoresumeRetryCount, tries.unsigned_abs());
            }
            let options = me.tools.options.load();
            let again = match outcome {
                Ok(()) => {
                    me.state.lock().resume_tries = 0;
                    false
                }
                // Some may be left that last, but no other.
                Err(_) if !me.errors.is_resumable() => false,
                Err(_) => tries < i64::from(options.max_bgerror_resume_count),
            };
            if again {
                return me.schedule_resume();
            }
            {
                let mut state = me.state.lock();
                if state.resume_scheduled {
                    // For what failed since: the next goes on.
                    return;
                }
                state.resume_tries = 0;
                me.errors.resume_given_up();
            }
            me.wake_stalled();
            me.changed.tell();
        });
    }
}
