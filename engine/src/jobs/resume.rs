//! Resume: clears a background error and accepts writes again. A resume flushes all memtables, or only the
//! immutable memtables of the stopped column families.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::stats::{HistogramKind, Ticker};
use base::{Error, FamilyId, Result, SequenceNumber, WalNumber};
use env::executor::Pool;

use super::context::JobContext;
use super::failures::{Failures, Resumer};
use super::flush::Flushes;
use super::purge::FilePurger;
use crate::errors::{caught, panicked};
use crate::event::{Event, FlushReason};
use crate::family::{Family, FlushPick};
use crate::flush::FlushTools;
use crate::prepared::Numbering;
use crate::recovery::sections_again;
use crate::schedule::Schedule;
use crate::sync::{Arc, Weak};
use crate::write::Writer;

/// Resumes after a background error.
pub struct Resumes {
    me: Weak<Resumes>,
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    purge: Arc<FilePurger>,
    failures: Arc<Failures>,
    flushes: Arc<Flushes>,
}

impl Resumes {
    /// Makes the runner of resumes. `flushes` flushes the memtables of each resume.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        purge: Arc<FilePurger>,
        failures: Arc<Failures>,
        flushes: Arc<Flushes>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { me: me.clone(), context, schedule, purge, failures, flushes })
    }

    /// Tries to resume, as `DB::Resume` does.
    ///
    /// # Errors
    /// Busy if a resume runs already. The error that remains.
    pub fn resume(&self) -> Result<()> {
        {
            let mut state = self.schedule.queues();
            if state.closing {
                return Err(Error::shutdown_in_progress("the database is closing"));
            }
            state.resume.running += 1;
        }
        let outcome = caught("a resume", || self.schedule.pool().run_here(|| self.resume_counted()));
        let mut state = self.schedule.queues();
        base::invariant!(state.resume.running > 0, "a resume that was not counted has ended");
        state.resume.running -= 1;
        self.schedule.start_due(&mut state);
        drop(state);
        self.schedule.pool().notify();
        outcome
    }

    /// Does the work of [`Resumes::resume`]. The resume is counted as running, so a close waits for it.
    fn resume_counted(&self) -> Result<()> {
        let Some(recovery) = self.context.errors.recovery_begin()? else { return Ok(()) };
        let recover = || {
            if recovery.everything || self.needs_one_commit() {
                self.recover_everything()
            } else {
                self.recover_families(&recovery.families)
            }
        };
        let outcome = catch_unwind(AssertUnwindSafe(recover)).unwrap_or_else(|panic| {
            let error = panicked("a flush", &*panic);
            self.failures.flush_failed(error.clone(), &[]);
            Err(error)
        });
        let outcome = self.context.errors.recovery_end(outcome);
        self.context
            .tools
            .events
            .emit(&Event::RecoveredFromError { old: recovery.old, new: outcome.as_ref().err().cloned() });
        self.failures.errors_changed();
        for family in self.context.families.all() {
            self.schedule.reconsider(&family);
        }
        outcome
    }

    /// Flushes the immutable memtables of these column families, one family at a time. If a flush fails
    /// again, the other column families continue. WALs and MANIFEST are valid, so the other column families
    /// keep their memtables.
    fn recover_families(&self, families: &[(FamilyId, u64)]) -> Result<()> {
        let mut outcome = Ok(());
        for (id, noted) in families {
            let flushed = match self.context.families.get(*id) {
                Some(family) => {
                    let family = [family];
                    self.flush_immutable(&family, &family, &|| self.context.errors.failed_since(*id, *noted))
                }
                None => Ok(()),
            };
            match flushed {
                Ok(()) => self.context.errors.clear_family(*id, *noted),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// Returns true if all column families must be flushed in one commit: a failed WAL is still needed, or an earlier
    /// attempt kept memtables for one commit. An earlier attempt releases the failed WAL if the whole WAL was
    /// durable, but still keeps the memtables.
    fn needs_one_commit(&self) -> bool {
        self.context.wals.needs_failed()
            || self.context.families.all().iter().any(|family| family.state().is_reserved_together())
    }

    fn recover_everything(&self) -> Result<()> {
        let Some(writer) = self.context.writer() else {
            return Err(Error::shutdown_in_progress("the database is closing"));
        };
        writer.controller().check_may_wait()?;
        // Flush all memtables, so that the unsynced ends of the WALs are no longer needed. If a WAL failed,
        // flush all column families in one MANIFEST commit. The durable end of the failed WAL is unknown.
        // With separate commits, a crash could leave one column family flushed past this end while another
        // still needs the WAL.
        let together = self.needs_one_commit();
        let sections = |next_seq| match together {
            true => self.sections_again(next_seq),
            false => Ok(Vec::new()),
        };
        // Record the error like the failure of a flush: if no resume can clear it, the resume ends. The
        // error affects all column families, because all of them must be flushed.
        let switched = writer.switch_all_for_recovery(together, &sections);
        let sections_wal = switched.inspect_err(|error| self.failures.flush_failed(error.clone(), &[]))?;
        if sections_wal.is_some() {
            let synced = self.sync_closed();
            synced.inspect_err(|error| self.failures.flush_failed(error.clone(), &[]))?;
        }
        let families = self.context.families.all();
        if together {
            self.flush_in_one_commit(&families, sections_wal, &writer)?;
        }
        self.flush_immutable(&families, &[], &|| self.context.errors.during_recovery())?;
        // Start a new MANIFEST, whether or not the failed record was written. The new MANIFEST needs no WAL
        // older than the new WAL, or than the WAL with the prepared sections. The failed WAL may hold a record that was
        // never acknowledged, and the sequence numbers of this record will be used again.
        writer.pass_old_wals()?;
        if sections_wal.is_some() {
            // Record in the new MANIFEST: the SST files of each column family hold the entries of the sections.
            self.context.committer.record_wal_numbers();
        }
        let committed = self.context.committer.roll(Vec::new())?;
        self.context.wals.mark_failed_flushed();
        self.purge.committed(&committed);
        Ok(())
    }

    /// Returns the prepared sections for a new WAL: no recovery may read a failed WAL after the resume (`recovery::again`).
    fn sections_again(&self, next_seq: SequenceNumber) -> Result<Vec<(SequenceNumber, Vec<u8>)>> {
        let JobContext { tools, wals, committer, .. } = &*self.context;
        let numbering = match tools.sequence.undecided().is_enabled() {
            true => Numbering::PerBatch,
            false => Numbering::PerEntry,
        };
        sections_again(&tools.env, wals, &committer.prepared().outstanding(), numbering, next_seq)
    }

    /// Makes the closed WALs and their names durable.
    fn sync_closed(&self) -> Result<()> {
        let synced = self.context.wals.sync_closed()?;
        if self.context.tools.options.load().track_and_verify_wals_in_manifest {
            self.context.committer.track_wals(&synced)?;
        }
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
        let job = self.context.tools.take_job_id();
        let turn = |family: &Family, pick: &FlushPick| self.flushes.flush_turn(family, pick);
        let tools = self.flushes.flush_tools(&turn);
        let newest: Vec<_> = families.iter().map(|family| family.state().newest_immutable()).collect();
        let left = || {
            let mut all = families.iter().zip(&newest);
            all.any(|(f, newest)| {
                newest.is_some_and(|id| !f.is_dropped() && f.state().has_immutable_up_to(id))
            })
        };
        // An earlier flush job in the queue may take some of these memtables at any time. Wait until the earlier job has
        // flushed its memtables. If its flush fails, this flush fails too.
        while left() {
            self.schedule
                .pool()
                .wait_until(|| (!families.iter().any(|family| family.state().is_flushing())).then_some(()));
            if let Some(error) = failed() {
                return Err(error);
            }
            let mut progress = families.iter().any(|family| family.state().is_flushing());
            let groups: Vec<&[_]> = match self.context.atomic_flush {
                true => vec![families],
                false => families.iter().map(std::slice::from_ref).collect(),
            };
            for group in groups {
                let done = crate::flush::run(
                    &tools,
                    job,
                    group,
                    FlushReason::ErrorRecovery,
                    self.context.atomic_flush,
                );
                let done = done.inspect_err(|error| self.failures.flush_failed(error.clone(), concerned))?;
                if let Some(committed) = &done.committed {
                    progress = true;
                    self.purge.committed(committed);
                }
            }
            if !progress && left() {
                return Err(Error::busy("memtables are kept for a flush of several column families"));
            }
        }
        Ok(())
    }

    /// Flushes all immutable memtables of these column families in one commit. After an error, keeps the memtables
    /// together for the next attempt. `sections_wal` has the prepared sections: after the commit, no older WAL is needed.
    fn flush_in_one_commit(
        &self,
        families: &[Arc<Family>],
        sections_wal: Option<WalNumber>,
        writer: &Writer,
    ) -> Result<()> {
        let picks = self.schedule.pool().wait_until(|| match self.context.errors.during_recovery() {
            Some(error) => Some(Err(error)),
            None => self.flushes.pick_together(families).map(Ok),
        })?;
        // No other flush commits from here on: this flush has all memtables. A flush that committed in the meantime left a
        // column family without data in memory, and with the number of the failed WAL.
        writer.pass_old_wals()?;
        let prepared = self.context.committer.prepared();
        let before = sections_wal.map(|wal| prepared.move_to(wal)).unwrap_or_default();
        let turn = |family: &Family, pick: &FlushPick| self.flushes.flush_turn(family, pick);
        // The commit makes all WALs with decisions obsolete.
        let tools = FlushTools { needs_decisions: false, ..self.flushes.flush_tools(&turn) };
        match crate::flush::run_picked(
            &tools,
            self.context.tools.take_job_id(),
            picks,
            FlushReason::ErrorRecovery,
        ) {
            Ok(done) => {
                base::invariant!(
                    done.committed.as_ref().is_none_or(|done| sections_wal <= Some(done.min_wal_to_keep)),
                    "the commit of a resume needs a WAL older than WAL {sections_wal:?} with the prepared sections"
                );
                done.committed.iter().for_each(|committed| self.purge.committed(committed));
                Ok(())
            }
            Err(error) => {
                prepared.move_back(&before);
                families.iter().for_each(|family| family.state().reserve_together());
                self.failures.flush_failed(error.clone(), &[]);
                Err(error)
            }
        }
    }
}

impl Resumer for Resumes {
    /// Tries to resume in the background, up to `max_bgerror_resume_count` times, with pauses.
    fn schedule_resume(&self) {
        let options = self.context.tools.options.load();
        let mut state = self.schedule.queues();
        if state.closing {
            self.context.errors.resume_given_up();
            return;
        }
        if state.resume.scheduled {
            return;
        }
        state.resume.scheduled = true;
        base::invariant!(state.resume.tries >= 0, "{} attempts to resume were made", state.resume.tries);
        state.resume.tries += 1;
        drop(state);
        // The disk may get space directly after a try. With half of the interval, the next try and its
        // flush end within the interval.
        let wait =
            options.bgerror_resume_retry_interval / if self.context.errors.waits_for_space() { 2 } else { 1 };
        self.schedule.pool().spawn_after(wait, Pool::High, &self.me, |me| {
            let tries = {
                let mut state = me.schedule.queues();
                base::invariant!(state.resume.scheduled, "an attempt to resume runs without being scheduled");
                state.resume.scheduled = false;
                state.resume.tries
            };
            let stats = &me.context.tools.stats;
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
            let options = me.context.tools.options.load();
            let again = match outcome {
                Ok(()) => {
                    me.schedule.queues().resume.tries = 0;
                    false
                }
                // No resume can clear the errors that remain.
                Err(_) if !me.context.errors.is_resumable() => false,
                Err(_) => tries < i64::from(options.max_bgerror_resume_count),
            };
            if again {
                return me.schedule_resume();
            }
            {
                let mut state = me.schedule.queues();
                if state.resume.scheduled {
                    // A failure after this attempt has planned another attempt.
                    return;
                }
                state.resume.tries = 0;
                me.context.errors.resume_given_up();
            }
            me.failures.wake_stalled();
            me.schedule.pool().notify();
        });
    }
}
