//! Slots: how many jobs of each kind may run, and the start of jobs.

use std::cell::Cell;

use base::stats::Ticker;
use env::executor::{Job, Pool, Tag};

use super::event_count::Out;
use super::{Background, FlushRequest, State};
use crate::event::FlushReason;
use crate::family::Family;
use crate::sync::{Arc, Ordering};

/// Jobs of each kind that may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub flushes: usize,
    pub compactions: usize,
}

/// RocksDB's `GetBGJobLimits`: a quarter of the jobs flush; compactions get one until there is pressure.
pub fn slots(max_flushes: i32, max_compactions: i32, max_jobs: i32, parallelize: bool) -> Slots {
    let (flushes, compactions) = if max_flushes == -1 && max_compactions == -1 {
        let flushes = (max_jobs / 4).max(1);
        (flushes, (max_jobs - flushes).max(1))
    } else {
        (max_flushes.max(1), max_compactions.max(1))
    };
    Slots { flushes: flushes as usize, compactions: if parallelize { compactions as usize } else { 1 } }
}

impl Background {
    pub(super) fn slots(&self) -> Slots {
        let o = self.tools.options.load();
        let parallelize = self.controller.needs_speedup();
        slots(o.max_background_flushes, o.max_background_compactions, o.max_background_jobs, parallelize)
    }

    /// Grows the executor's pools to what the options ask for.
    pub fn size_pools(&self) {
        let o = self.tools.options.load();
        let all = slots(o.max_background_flushes, o.max_background_compactions, o.max_background_jobs, true);
        self.tools.env.executor.grow_threads(Pool::High, all.flushes);
        self.tools.env.executor.grow_threads(Pool::Low, all.compactions);
    }

    /// Asks for a flush of these families: of all together if `atomic`, else each by itself, once.
    pub(super) fn enqueue_flush(
        &self,
        state: &mut State,
        families: Vec<Arc<Family>>,
        reason: FlushReason,
        atomic: bool,
    ) {
        if atomic {
            if !state.flushes.iter().any(|request| request.atomic) {
                state.flushes.push_back(FlushRequest { families: self.families.all(), reason, atomic });
                self.tools.stats.add(
                    match reason {
                        FlushReason::WriteBufferFull => Ticker::AtomicFlushRequestReasonWriteBufferFull,
                        FlushReason::WriteBufferManager => Ticker::AtomicFlushRequestReasonWriteBufferManager,
                        FlushReason::MemtableMaxRangeDeletions => {
                            Ticker::AtomicFlushRequestReasonMemtableMaxRangeDeletions
                        }
                        _ => Ticker::AtomicFlushRequestReasonOther,
                    },
                    1,
                );
            }
            return;
        }
        for family in families {
            let mut own = family.state();
            if !std::mem::replace(&mut own.flush_queued, true) {
                drop(own);
                state.flushes.push_back(FlushRequest { families: vec![family], reason, atomic });
            }
        }
    }

    /// Starts as many jobs as are due and have a slot.
    pub(super) fn schedule(&self, state: &mut State) {
        if !self.open.load(Ordering::Acquire)
            || state.closing
            || state.paused > 0
            || !self.errors.jobs_may_run()
        {
            return;
        }
        let slots = self.slots();
        let (flushes, compactions) = self.due(state);
        while state.flushes_scheduled < slots.flushes
            && flushes > state.flushes_scheduled - state.flushes_running
        {
            state.flushes_scheduled += 1;
            self.spawn(Pool::High, |me| me.flush_job());
        }
        if state.exclusive_manuals > 0 || state.aborts > 0 {
            return;
        }
        // A manual compaction takes a slot, though it runs on its caller's thread.
        while state.compactions_scheduled + state.manuals_running < slots.compactions
            && compactions > state.compactions_scheduled - state.compactions_running
        {
            state.compactions_scheduled += 1;
            self.spawn(Pool::Low, |me| me.compaction_job());
        }
    }

    /// How many flushes and compactions are queued, but for those of families whose own error holds them. These stay
    /// queued.
    fn due(&self, state: &State) -> (usize, usize) {
        if !self.errors.is_partly_stopped() {
            return (state.flushes.len(), state.compactions.len());
        }
        let flushes = state.flushes.iter().filter(|request| self.may_flush(request)).count();
        (flushes, state.compactions.iter().filter(|family| !self.errors.is_held(family.id())).count())
    }

    fn may_flush(&self, request: &FlushRequest) -> bool {
        !request.families.iter().any(|family| self.errors.is_held(family.id()))
    }

    /// The oldest flush that may run.
    pub(super) fn take_flush(&self, state: &mut State) -> Option<FlushRequest> {
        let at = state.flushes.iter().position(|request| self.may_flush(request))?;
        state.flushes.remove(at)
    }

    /// Takes the column family whose compaction has been due for the longest time, of the families that may
    /// run one.
    pub(super) fn take_compaction(&self, state: &mut State) -> Option<Arc<Family>> {
        if state.aborts > 0 {
            return None;
        }
        let at = state.compactions.iter().position(|family| !self.errors.is_held(family.id()))?;
        state.compactions.remove(at)
    }

    /// What a failed job leaves due is looked at again after a while, as in RocksDB: what made it fail may
    /// take time to pass, and trying at once and forever would only wear the disk.
    pub(super) fn reconsider_later(&self, families: Vec<Arc<Family>>) {
        const RETRY_US: u64 = 1_000_000;
        if self.tools.shutting_down.load(Ordering::Acquire) {
            return;
        }
        self.spawn_after(RETRY_US, Pool::High, move |me| {
            families.iter().for_each(|family| me.reconsider(family))
        });
    }

    /// Puts a job into a pool.
    pub(super) fn spawn(&self, pool: Pool, job: impl FnOnce(&Background) + Send + 'static) {
        self.tools.env.executor.spawn(pool, self.tag, self.counted(job));
        if let Some(error) = self.tools.env.executor.start_failure(pool) {
            self.errors.count_retried();
            self.tools.events.warn(format_args!("{error}; the job waits, and the start is tried again"));
        }
    }

    /// Returns true if the calling thread runs a background job of this database.
    pub fn runs_here(&self) -> bool {
        running_job() == Some(self.tag)
    }

    /// Returns true if the calling thread runs a background job of any database.
    pub fn is_job_thread() -> bool {
        running_job().is_some()
    }

    /// Puts a job into a pool once so much time has passed.
    pub(super) fn spawn_after(
        &self,
        delay_us: u64,
        pool: Pool,
        job: impl FnOnce(&Background) + Send + 'static,
    ) {
        self.tools.env.executor.spawn_after(delay_us, pool, self.tag, self.counted(job));
    }

    /// A job that holds the background by a weak pointer, as a database that is gone has no work, and that counts as out
    /// until nothing of it is left.
    fn counted(&self, job: impl FnOnce(&Background) + Send + 'static) -> Job {
        let parts = (self.me.clone(), job, Out::one(&self.out, &self.changed));
        Box::new(move || {
            let (me, job, out) = parts;
            if let Some(me) = me.upgrade() {
                let _running = RunningJob::begin(me.tag);
                job(&me);
                me.tools.forget_spares();
            }
            drop(me);
            drop(out);
        })
    }
}

crate::sync::thread_local! {
    /// The database whose job this thread runs.
    static RUNNING: Cell<Option<Tag>> = const { Cell::new(None) };
}

fn running_job() -> Option<Tag> {
    RUNNING.try_with(Cell::get).ok().flatten()
}

/// Marks the calling thread until the drop. A job that helps the executor can run another job on its own thread, so the
/// drop restores the mark before.
struct RunningJob {
    before: Option<Tag>,
}

impl RunningJob {
    fn begin(tag: Tag) -> RunningJob {
        RunningJob { before: RUNNING.try_with(|running| running.replace(Some(tag))).ok().flatten() }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let _ = RUNNING.try_with(|running| running.set(self.before));
    }
}
