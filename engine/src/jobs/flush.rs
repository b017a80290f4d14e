//! Flush jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Arrange, Error, FamilyId, Kind};
use format::names::FileName;
use lsm::pick::View;
use lsm::pick::score::Scores;
use lsm::pressure::Load;

use super::context::JobContext;
use super::failures::Failures;
use super::purge::FilePurger;
use crate::commit::Committed;
use crate::errors::{caught, file_of, panicked};
use crate::event::{ErrorReason, FlushReason};
use crate::family::{Family, FlushPick};
use crate::flush::{self, FlushTools};
use crate::options::FlushOptions;
use crate::schedule::{FlushRequest, Schedule};
use crate::sync::{Arc, Ordering};
use crate::write::{Writer, try_switch_for_flush};

/// Flushes column families, in jobs and for callers.
pub struct Flushes {
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    purge: Arc<FilePurger>,
    failures: Arc<Failures>,
}

impl Flushes {
    /// Makes the runner of flushes. No flush starts before a caller or the schedule asks for it.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        purge: Arc<FilePurger>,
        failures: Arc<Failures>,
    ) -> Self {
        Self { context, schedule, purge, failures }
    }

    /// Runs in a slot for flushes: takes the next request of the queue, and flushes its column families.
    pub(super) fn flush_job(&self) {
        let (request, order) = {
            let mut state = self.schedule.queues();
            state.flush.running += 1;
            base::invariant!(
                state.flush.running <= state.flush.scheduled,
                "{} flushes run, and {} are scheduled",
                state.flush.running,
                state.flush.scheduled
            );
            let request = self.schedule.take_flush(&mut state);
            state.flush.jobs_begun += 1;
            let order = state.flush.jobs_begun;
            let of_request = request.iter().flat_map(|request| &request.families);
            let ids = of_request.map(|family| family.id()).collect();
            let before = state.flush.jobs.insert(order, ids);
            base::invariant!(before.is_none(), "two flush jobs have the order {order}: {before:?}");
            if let Some(request) = &request {
                for family in &request.families {
                    family.state().flush_queued = false;
                }
            }
            (request, order)
        };
        let mut families = request.as_ref().map(|r| r.families.clone()).unwrap_or_default();
        let began = Began::now(&self.context, &families);
        let outcome = match request {
            Some(request) => self.flush(request),
            None => Ok(None),
        };
        let failed = outcome.is_err();
        if let Err(error) = &outcome
            && !began.is_cleared(&self.context, &families, error)
        {
            self.failures.flush_failed(error.clone(), &families);
        }
        {
            let mut state = self.schedule.queues();
            if let Err(error) = &outcome
                && error.kind() != Kind::Incomplete
            {
                for family in &families {
                    let (count, last) = state.flush.failures.entry(family.id()).or_insert((0, error.clone()));
                    *count += 1;
                    *last = error.clone();
                }
            }
            let ended = state.flush.jobs.remove(&order);
            base::invariant!(ended.is_some(), "flush job {order} ends twice");
            state.flush.running -= 1;
            state.flush.scheduled -= 1;
            self.schedule.start_due(&mut state);
            self.schedule.pool().notify();
        }
        if self.context.atomic_flush {
            // Include column families that were created in the meantime. No flush was due while this job had
            // memtables of one of the column families.
            families = self.context.families.all();
        }
        if failed {
            self.schedule.reconsider_later(families);
        } else {
            families.iter().for_each(|family| self.schedule.reconsider(family));
        }
        // The callers that wait for this flush return from here on. As in RocksDB, a write of such a caller is subject to
        // the stall that the new level-0 file causes.
        drop(outcome);
        self.schedule.report_pressure();
        self.schedule.pool().notify();
    }

    /// Flushes the memtables of a request. While the result lives, the callers that wait for the flush do not return.
    fn flush(&self, request: FlushRequest) -> base::Result<Option<Committed>> {
        let turn = |family: &Family, pick: &FlushPick| self.flush_turn(family, pick);
        let tools = self.flush_tools(&turn);
        let job = self.context.tools.take_job_id();
        let run = || flush::run(&tools, job, &request.families, request.reason, request.atomic);
        let done = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(done) => done?,
            Err(panic) => {
                for family in &request.families {
                    let mut state = family.state();
                    for immutable in &mut state.immutable_memtables {
                        immutable.flushing = false;
                    }
                }
                return Err(panicked("a flush", &*panic));
            }
        };
        if let Some(committed) = &done.committed {
            self.purge.committed(committed);
            request.families.iter().for_each(|family| self.schedule.look_for_empty_ranges_of(family));
        }
        self.check_space();
        Ok(done.committed)
    }

    /// Sets the background error of a full disk if the SST files reach the limit of the SST file manager. The flushed
    /// files stay. RocksDB: `DBImpl::FlushMemTableToOutputFile`.
    fn check_space(&self) {
        if let Err(error) = self.context.tools.check_space(0) {
            self.failures.failed(error, ErrorReason::Flush);
        }
    }

    pub(super) fn flush_tools<'a>(&'a self, turn: &'a dyn Fn(&Family, &FlushPick) -> bool) -> FlushTools<'a> {
        FlushTools {
            tables: &self.context.tables,
            tools: &self.context.tools,
            families: &self.context.families,
            wals: &self.context.wals,
            committer: &self.context.committer,
            obsolete: &self.context.obsolete,
            turn,
            needs_decisions: true,
        }
    }

    /// Flushes these column families on this thread in one commit (`force_atomic_flush`). After a crash,
    /// the entries that they hold now are in SST files of all column families, or of none.
    ///
    /// # Errors
    /// The background error that stops one of the column families. Aborted if this thread has called `lock_wal`. The
    /// error of the flush; then no entry is in an SST file.
    pub fn flush_together(&self, families: &[Arc<Family>], reason: FlushReason) -> base::Result<()> {
        self.context.check_families(families)?;
        let Some(writer) = self.context.writer() else {
            return Err(Error::shutdown_in_progress("the database is closing"));
        };
        self.context.controller.check_may_wait()?;
        let mut families = families.to_vec();
        families.arrange_by_key(|f| f.id());
        families.dedup_by_key(|f| f.id());
        self.take_slot_and_switch(&writer, &families)?;
        let run = || {
            let picks = self.schedule.pool().wait_until(|| match self.context.check_families(&families) {
                Err(error) => Some(Err(error)),
                Ok(()) => self.pick_together(&families).map(Ok),
            })?;
            let turn = |_: &Family, _: &FlushPick| true;
            let job = || {
                flush::run_picked(&self.flush_tools(&turn), self.context.tools.take_job_id(), picks, reason)
            };
            self.schedule.pool().run_here(job)
        };
        let outcome =
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked("a flush", &*panic)));
        if outcome.is_err() {
            families.iter().for_each(|family| family.state().release_together());
        }
        self.release_slot();
        match &outcome {
            Ok(done) => {
                done.committed.iter().for_each(|committed| self.purge.committed(committed));
                self.check_space();
            }
            Err(error) => self.failures.flush_failed(error.clone(), &families),
        }
        if self.context.atomic_flush {
            families = self.context.families.all();
        }
        families.iter().for_each(|family| self.schedule.reconsider(family));
        let outcome = outcome.map(drop);
        self.schedule.pool().notify();
        outcome?;
        self.context.check_families(&families)
    }

    /// Takes a slot for a flush, so that a close and a pause wait for this flush, and switches the memtables. Waits for the end
    /// of `lock_wal` without a slot: the owner of the lock may pause the background work. With the slot, the flush leads before a
    /// leader that waits for the end of the lock.
    ///
    /// # Errors
    /// ShutdownInProgress; a failure to roll the WAL. Then no slot is taken.
    fn take_slot_and_switch(&self, writer: &Writer, families: &[Arc<Family>]) -> base::Result<()> {
        loop {
            writer.controller().wait_for_unlock(&self.context.tools.env);
            self.schedule.pool().wait_until(|| {
                let mut state = self.schedule.queues();
                if state.closing {
                    return Some(Err(Error::shutdown_in_progress("the database is closing")));
                }
                if state.paused > 0 {
                    return None;
                }
                state.flush.scheduled += 1;
                state.flush.running += 1;
                base::invariant!(
                    state.flush.running <= state.flush.scheduled,
                    "{} flushes run, and {} are scheduled",
                    state.flush.running,
                    state.flush.scheduled
                );
                Some(Ok(()))
            })?;
            match writer.switch_together(families) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    families.iter().for_each(|family| family.state().release_together());
                    self.failures.flush_failed(error.clone(), families);
                    self.release_slot();
                    self.schedule.pool().notify();
                    return Err(error);
                }
            }
            self.release_slot();
            self.schedule.pool().notify();
        }
    }

    fn release_slot(&self) {
        let mut state = self.schedule.queues();
        base::invariant!(
            state.flush.running > 0 && state.flush.scheduled > 0,
            "a flush that was not counted has ended"
        );
        state.flush.scheduled -= 1;
        state.flush.running -= 1;
        self.schedule.start_due(&mut state);
    }

    /// Picks the immutable memtables of these column families. Returns `None` while a job has one of them.
    pub(super) fn pick_together(&self, families: &[Arc<Family>]) -> Option<Vec<(Arc<Family>, FlushPick)>> {
        let _picking = self.context.families.picking();
        let live: Vec<_> = families.iter().filter(|family| !family.is_dropped()).collect();
        // Lock the states in the order of the family ids. No other code holds two of these locks, except
        // under the lock above.
        let mut states: Vec<_> = live.iter().map(|family| family.state()).collect();
        if states.iter().any(|state| state.is_flushing()) {
            return None;
        }
        Some(live.into_iter().cloned().zip(states.iter_mut().map(|state| state.pick_together())).collect())
    }

    /// Waits for the flushes of older memtables; see [`FlushTools::turn`].
    pub(super) fn flush_turn(&self, family: &Family, pick: &FlushPick) -> bool {
        // A dropped column family commits no SST file and releases no memtable. The older job runs on a
        // thread of its own. This thread must not help the executor here: it could start a younger job on
        // its own stack, and the younger job would wait for this job.
        self.schedule
            .pool()
            .wait_for_others(|| if family.is_dropped() { Some(true) } else { family.state().turn(pick) })
    }

    /// Returns the number of failed flushes of a column family, and the last error.
    fn failures(&self, family: &Family) -> (u64, Option<Error>) {
        match self.schedule.queues().flush.failures.get(&family.id()) {
            Some((count, error)) => (*count, Some(error.clone())),
            None => (0, None),
        }
    }

    /// Flushes these column families. Waits until their entries are in SST files, the listeners were called, and the space was
    /// checked. A call in a background job, as a listener makes it, does not wait for listeners.
    ///
    /// # Errors
    /// The background error or the error of the flush, as `flush_families` says.
    pub fn flush_and_wait(&self, families: &[Arc<Family>], reason: FlushReason) -> base::Result<()> {
        self.flush_families(families, reason, true)
    }

    /// Flushes these column families. With `wait`, waits as [`Self::flush_and_wait`].
    ///
    /// # Errors
    ///
    /// The background error, if it stops at least one of these column families. The error of a flush of
    /// these column families that failed during the wait, even if the flush is tried again. ColumnFamilyDropped
    /// if only one column family was given, and it was dropped. Aborted if the call would wait for the end of a `lock_wal` of
    /// this thread. TryAgain without `wait` if `lock_wal` has locked writes.
    fn flush_families(&self, families: &[Arc<Family>], reason: FlushReason, wait: bool) -> base::Result<()> {
        self.context.check_families(families)?;
        let Some(writer) = self.context.writer() else {
            return Err(Error::shutdown_in_progress("the database is closing"));
        };
        if wait {
            let may_wait = self.context.controller.check_may_wait();
            // The thread that called `lock_wal` may compact if no memtable has entries: the flush would switch nothing.
            let is_needless = reason == FlushReason::ManualCompaction
                && !families.iter().any(|family| family.holds_entries());
            if may_wait.is_err() && is_needless {
                return Ok(());
            }
            may_wait?;
        }
        let failures =
            families.iter().map(|f| self.failures(f)).map(|(count, _)| count).collect::<Vec<u64>>();
        // A job that flushes in a callback of a listener must not wait for the end of this callback.
        let waits_for_listeners = !self.schedule.pool().runs_here();
        // The call covers the memtables from here on, up to the memtables that the switch makes immutable. As in
        // RocksDB, a call waits only for the listeners of these memtables. A call without entries waits for no
        // listener.
        let before: Vec<_> = families
            .iter()
            .map(|family| {
                let state = family.state();
                (state.oldest_memtable(), state.mem_id)
            })
            .collect();
        if !wait {
            return match try_switch_for_flush(&writer, families, reason)? {
                true => Ok(()),
                false => Err(writes_are_stopped()),
            };
        }
        writer.switch_for_flush(families, reason)?;
        // As in RocksDB's `WaitForFlushMemTables`, a drop ends the wait. The drop is an error if the caller gave only
        // this column family.
        let only = if let [only] = families { Some(only) } else { None };
        let targets: Vec<_> = families
            .iter()
            .zip(before)
            // A memtable that a concurrent writer made immutable after the switch has no entry of an earlier write, and may
            // wait for the next full memtable.
            .map(|(f, (oldest, active))| (f.clone(), oldest..=active.min(f.state().mem_id.saturating_sub(1))))
            .collect();
        self.schedule.pool().wait_until(|| {
            if let Err(error) = self.context.check_families(families) {
                return Some(Err(error));
            }
            if self.context.tools.shutting_down.load(Ordering::Acquire) {
                return Some(Err(Error::shutdown_in_progress("the database is closing")));
            }
            let done = targets.iter().all(|(f, ids)| {
                let flushed = f.state().oldest_memtable() > *ids.end();
                f.is_dropped() || flushed && !(waits_for_listeners && f.has_unannounced_flush(ids))
            });
            if done {
                let dropped = only.filter(|family| family.is_dropped());
                let dropped = dropped.map_or(Ok(()), |f| Err(Error::column_family_dropped(f.name())));
                // `check_space` may have set the background error after the check above.
                return Some(dropped.and_then(|()| self.context.check_families(families)));
            }
            let failed = families.iter().zip(&failures).map(|(f, before)| (self.failures(f), *before));
            failed
                .into_iter()
                .find(|((count, _), before)| count > before)
                .and_then(|((_, error), _)| error.map(Err))
        })
    }
}

impl Flushes {
    /// Flushes these column families by the options of a manual flush (not `force_atomic_flush`).
    ///
    /// # Errors
    ///
    /// Errors of [`Flushes::flush_and_wait`]. Without `allow_write_stall`, also the background error that ends the
    /// wait for the end of a stall. TryAgain without `wait` while writes are stopped: the switch of the memtable would
    /// wait.
    pub fn flush_by(&self, families: &[Arc<Family>], options: &FlushOptions) -> base::Result<()> {
        if !options.wait && self.context.controller.is_stopped() {
            return Err(writes_are_stopped());
        }
        if options.wait {
            self.context.controller.check_may_wait()?;
        }
        let families = match options.allow_write_stall {
            true => families.to_vec(),
            false => self.wait_for_stall_end(families)?,
        };
        self.flush_families(&families, FlushReason::ManualFlush, options.wait)?;
        if options.wait && options.listener_wait {
            self.wait_for_listeners(&families);
        }
        Ok(())
    }

    /// Waits until a flush of each column family causes no write stall. Returns the column families that still need a
    /// flush: another job may flush the active memtable during the wait. In a background job, the call does not wait: the
    /// job could wait for itself.
    ///
    /// # Errors
    ///
    /// ColumnFamilyDropped, ShutdownInProgress, or the background error that stops background jobs.
    pub fn wait_for_stall_end(&self, families: &[Arc<Family>]) -> base::Result<Vec<Arc<Family>>> {
        if self.schedule.pool().runs_here() {
            return Ok(families.to_vec());
        }
        let mut left = Vec::with_capacity(families.len());
        for family in families {
            let active = family.state().mem_id;
            // The comparator of the application runs on the thread of the caller.
            if caught("a flush", || self.schedule.pool().wait_until(|| self.stall_end(family, active)))? {
                left.push(family.clone());
            }
        }
        Ok(left)
    }

    /// Follows RocksDB `DBImpl::WaitUntilFlushWouldNotStallWrites`. Returns `None` while a flush would cause a stall,
    /// `Some(false)` if memtable `active` was flushed by another job. Unlike RocksDB, the wait also ends if no job of the
    /// column family is due: then the stall condition would last forever.
    fn stall_end(&self, family: &Arc<Family>, active: u64) -> Option<base::Result<bool>> {
        if family.is_dropped() {
            return Some(Err(Error::column_family_dropped(family.name())));
        }
        if self.context.tools.shutting_down.load(Ordering::Acquire) {
            return Some(Err(Error::shutdown_in_progress("the database is closing")));
        }
        let (unflushed, oldest) = {
            let state = family.state();
            (state.immutable_memtables.len(), state.oldest_memtable())
        };
        if oldest > active {
            return Some(Ok(false));
        }
        let load = self.load_after_flush(family, unflushed);
        let options = &family.parts().pick;
        let below_triggers = unflushed < options.buffers.min_write_buffer_number_to_merge
            && (load.num_l0_files as i64) <= i64::from(options.triggers.level0_file_num_compaction_trigger);
        if below_triggers || !lsm::pressure::would_stall(&load, options) || !self.has_job(family) {
            return Some(Ok(true));
        }
        self.context.check_families(std::slice::from_ref(family)).err().map(Err)
    }

    /// Returns the load of a column family with one more immutable memtable and one more level-0 file.
    fn load_after_flush(&self, family: &Arc<Family>, unflushed: usize) -> Load {
        let pin = family.pin_owned();
        let running = self.schedule.queues().running_of(family.id());
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.schedule.oldest_snapshot(),
            full_history_ts_low: None,
            young_after: None,
        };
        let scores = Scores::compute(&view, &pin.parts.pick, self.context.tools.env.clock.now_seconds());
        Load {
            num_unflushed_memtables: unflushed + usize::from(!pin.mem.is_empty()),
            num_l0_files: scores.l0_delay_trigger_count + 1,
            l0_bytes: 0,
            pending_compaction_bytes: scores.estimated_pending_bytes,
            num_marked_files: scores.marked.len(),
            bottommost_bytes: 0,
        }
    }

    /// Returns true if a flush or compaction of the column family runs or is queued.
    fn has_job(&self, family: &Family) -> bool {
        let id = family.id();
        let state = self.schedule.queues();
        let is_own = |family: &Arc<Family>| family.id() == id;
        state.flush.jobs.values().any(|families| families.contains(&id))
            || state.compaction.reserved.get(&id).is_some_and(|running| !running.is_empty())
            || state.flush.queue.iter().any(|request| request.families.iter().any(is_own))
            || state.compaction.queue.iter().any(is_own)
    }

    /// Waits until all flush jobs of these column families that run now have called the listeners. In a background job,
    /// the call does not wait.
    fn wait_for_listeners(&self, families: &[Arc<Family>]) {
        if self.schedule.pool().runs_here() {
            return;
        }
        let newest = self.schedule.queues().flush.jobs_begun;
        let is_asked = |id: &FamilyId| families.iter().any(|family| family.id() == *id);
        self.schedule.pool().wait_until(|| {
            let state = self.schedule.queues();
            let runs = state.flush.jobs.range(..=newest).any(|(_, ids)| ids.iter().any(is_asked));
            (!runs).then_some(())
        });
    }
}

/// The state at the begin of a flush job.
struct Began {
    /// The number of resumes.
    resumes: u64,
    /// The newest immutable memtable of each column family of the job.
    newest: Vec<Option<u64>>,
}

impl Began {
    fn now(context: &JobContext, families: &[Arc<Family>]) -> Began {
        let newest = families.iter().map(|family| family.state().newest_immutable()).collect();
        Began { resumes: context.errors.resumes(), newest }
    }

    /// Returns true if the failure of the job must stop no write: a resume has replaced the WAL that failed, or a resume succeeded
    /// since the begin of the job and flushed the memtables of the job. A failed flush releases its memtables before the
    /// failure is reported, so a resume can end before the report.
    fn is_cleared(&self, context: &JobContext, families: &[Arc<Family>], error: &Error) -> bool {
        let is_of_wal = matches!(file_of(error), Some(FileName::Wal(_)));
        let is_flushed = |(family, newest): (&Arc<Family>, &Option<u64>)| {
            newest.is_none_or(|newest| !family.state().has_immutable_up_to(newest))
        };
        (is_of_wal && !context.wals.is_poisoned())
            || (context.errors.resumes() > self.resumes && families.iter().zip(&self.newest).all(is_flushed))
    }
}

#[cold]
fn writes_are_stopped() -> Error {
    Error::try_again(
        "Writes have been stopped, thus unable to perform manual flush. Please try again later after writes are resumed",
    )
}
