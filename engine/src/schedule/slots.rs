//! Slots: the number of jobs of each kind that may run, and the start of jobs.

use base::stats::Ticker;
use env::executor::Pool;

use super::Schedule;
use super::queues::{FlushRequest, Queues};
use crate::event::FlushReason;
use crate::family::Family;
use crate::options::RunningTask;
use crate::sync::{Arc, Ordering};

/// The number of jobs of each kind that may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub flushes: usize,
    pub compactions: usize,
}

/// Returns the slots as RocksDB's `GetBGJobLimits` does. By default a quarter of the jobs are flushes and the rest are
/// compactions. Without `parallelize`, only one compaction may run.
pub fn slots(max_flushes: i32, max_compactions: i32, max_jobs: i32, parallelize: bool) -> Slots {
    let (flushes, compactions) = if max_flushes == -1 && max_compactions == -1 {
        let flushes = (max_jobs / 4).max(1);
        (flushes, (max_jobs - flushes).max(1))
    } else {
        (max_flushes.max(1), max_compactions.max(1))
    };
    base::invariant!(
        flushes >= 1 && compactions >= 1,
        "{flushes} flushes and {compactions} compactions may run"
    );
    Slots { flushes: flushes as usize, compactions: if parallelize { compactions as usize } else { 1 } }
}

impl Schedule {
    fn slots(&self) -> Slots {
        let o = self.tools.options.load();
        let parallelize = self.controller.needs_speedup();
        slots(o.max_background_flushes, o.max_background_compactions, o.max_background_jobs, parallelize)
    }

    /// Gives the pools of the executor enough threads for the options.
    pub fn size_pools(&self) {
        let o = self.tools.options.load();
        let all = slots(o.max_background_flushes, o.max_background_compactions, o.max_background_jobs, true);
        self.tools.env.executor.grow_threads(Pool::High, all.flushes);
        self.tools.env.executor.grow_threads(Pool::Low, all.compactions);
        // For the deletion of obsolete files.
        self.tools.env.executor.grow_threads(Pool::User, 1);
    }

    /// Queues flushes of these column families. If `atomic` is set, one flush of all column families. Otherwise one
    /// flush for each column family that has no queued flush.
    pub fn enqueue_flush(
        &self,
        state: &mut Queues,
        families: Vec<Arc<Family>>,
        reason: FlushReason,
        atomic: bool,
    ) {
        if atomic {
            if !state.flush.queue.iter().any(|request| request.atomic) {
                state.flush.queue.push_back(FlushRequest { families: self.families.all(), reason, atomic });
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
                base::invariant!(
                    !state
                        .flush
                        .queue
                        .iter()
                        .any(|r| !r.atomic && r.families.iter().any(|f| f.id() == family.id())),
                    "{family:?} waits twice for its flush"
                );
                state.flush.queue.push_back(FlushRequest { families: vec![family], reason, atomic });
            }
        }
    }

    /// Starts all jobs that are due and have a slot.
    pub fn start_due(&self, state: &mut Queues) {
        if !self.open.load(Ordering::Acquire)
            || state.closing
            || state.paused > 0
            || !self.errors.jobs_may_run()
        {
            return;
        }
        state.check();
        let slots = self.slots();
        let (flushes, compactions) = self.due(state);
        while state.flush.scheduled < slots.flushes && flushes > state.flush.scheduled - state.flush.running {
            state.flush.scheduled += 1;
            self.pool.spawn(Pool::High, &self.me, |me| me.run(|runner| runner.flush_job()));
        }
        if state.manual.exclusive > 0 || state.aborts > 0 {
            return;
        }
        // A running manual compaction counts as a used slot, although it runs on the thread of its caller.
        while state.compaction.scheduled + state.manual.running < slots.compactions
            && compactions > state.compaction.scheduled - state.compaction.running
        {
            state.compaction.scheduled += 1;
            self.pool.spawn(Pool::Low, &self.me, |me| me.run(|runner| runner.compaction_job()));
        }
    }

    /// Returns the numbers of queued flushes and compactions that may start. Jobs of stopped column families stay
    /// queued.
    fn due(&self, state: &Queues) -> (usize, usize) {
        let partly = self.errors.is_partly_stopped();
        let flushes = match partly {
            true => state.flush.queue.iter().filter(|request| self.may_flush(request)).count(),
            false => state.flush.queue.len(),
        };
        let (mut compactions, mut limited) = (0, false);
        for family in &state.compaction.queue {
            if partly && self.errors.is_held(family.id()) {
                continue;
            }
            match family.options().compaction_thread_limiter.as_ref().is_none_or(|limiter| limiter.has_room())
            {
                true => compactions += 1,
                false => limited = true,
            }
        }
        if limited {
            self.look_at_limiters_later();
        }
        (flushes, compactions)
    }

    /// Starts the due jobs again after 10 ms. Another database may release the limiter, and does not notify this database.
    /// RocksDB looks again after the same time.
    fn look_at_limiters_later(&self) {
        const RETRY_US: u64 = 10_000;
        if self.limiter_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.pool.spawn_after(RETRY_US, Pool::High, &self.me, |me| {
            me.limiter_pending.store(false, Ordering::Release);
            me.start_due(&mut me.queues());
        });
    }

    fn may_flush(&self, request: &FlushRequest) -> bool {
        !request.families.iter().any(|family| self.errors.is_held(family.id()))
    }

    /// Takes the oldest flush request that may run.
    pub fn take_flush(&self, state: &mut Queues) -> Option<FlushRequest> {
        let at = state.flush.queue.iter().position(|request| self.may_flush(request))?;
        let request = state.flush.queue.remove(at);
        base::invariant!(
            request.as_ref().is_some_and(|request| !request.families.is_empty()),
            "flush {at} of the queue has no column family"
        );
        request
    }

    /// Takes the column family whose compaction has been queued for the longest time and may run. The returned task
    /// counts in the limiter of the column family until the task is dropped.
    pub fn take_compaction(&self, state: &mut Queues) -> Option<(Arc<Family>, Option<RunningTask>)> {
        if state.aborts > 0 {
            return None;
        }
        for at in 0..state.compaction.queue.len() {
            let family = &state.compaction.queue[at];
            if self.errors.is_held(family.id()) {
                continue;
            }
            let task = match &family.options().compaction_thread_limiter {
                None => None,
                Some(limiter) => match limiter.start(false) {
                    Some(task) => Some(task),
                    None => continue,
                },
            };
            return state.compaction.queue.remove(at).map(|family| (family, task));
        }
        None
    }

    /// Reconsiders the column families of a failed job after one second, as RocksDB does. The cause of the failure may last
    /// for some time, and immediate attempts would only wear the disk.
    pub fn reconsider_later(&self, families: Vec<Arc<Family>>) {
        const RETRY_US: u64 = 1_000_000;
        if self.tools.shutting_down.load(Ordering::Acquire) {
            return;
        }
        self.pool.spawn_after(RETRY_US, Pool::High, &self.me, move |me| {
            families.iter().for_each(|family| me.reconsider(family))
        });
    }
}
