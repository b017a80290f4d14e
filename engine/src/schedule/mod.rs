//! Decides which jobs are due: the queues of flushes and compactions, their slots, and write stalls. No job runs
//! here.
//!
//! ```text
//!  write path   ──► flush queue ──► slot free? ──► job ──► commit ──► reconsider ─┬─► stall decision
//!  a commit     ──► compaction queue ──► slot free? ──► job: pick, reserve ───────┘   next job
//! ```
//! The number of slots follows from `max_background_jobs`, as in RocksDB. The jobs themselves are in `jobs`: they implement
//! [`JobRunner`]. Periodic work is in `upkeep`.

mod event_count;
mod pause;
mod pool;
mod pressure;
mod queues;
mod reserve;
mod slots;

pub use pool::{JobPool, is_job_thread};
pub use queues::{FlushRequest, Queues, aborted};

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, FileNumber, Level, SequenceNumber};
use env::executor::Pool;
use lsm::pick::View;
use lsm::pick::score::Scores;
use lsm::pressure::{Cause, Decision, Load, Pressure, Stall};
use lsm::version::Version;

use crate::errors::{ErrorState, panicked};
use crate::event::{FlushReason, StallCondition};
use crate::family::{Family, FamilySet, Parts, State};
use crate::output::JobTools;
use crate::properties::Activity;
use crate::ranks;
use crate::stats::StallCause;
use crate::sync::{Arc, AtomicBool, OnceLock, Ordering, RankedGuard, RankedMutex, Weak};
use crate::write::FlushRequests;
use crate::write::stall::Controller;

/// Runs the jobs that the schedule starts. `jobs` implements this trait.
pub trait JobRunner: Send + Sync {
    /// Takes the oldest flush request, and flushes.
    fn flush_job(&self);
    /// Picks a compaction of the column family that waited longest, and compacts.
    fn compaction_job(&self);
    /// Searches for empty key ranges at the places of all column families (`DeletedPlaces`).
    fn empty_ranges_job(&self);
    /// Sets the background error of a column family for which the schedule cannot choose jobs. The caller holds no lock.
    fn choice_failed(&self, family: &Arc<Family>, error: Error);
}

/// The parts of a schedule.
pub struct ScheduleParts {
    pub tools: Arc<JobTools>,
    pub families: Arc<FamilySet>,
    pub errors: Arc<ErrorState>,
    pub controller: Arc<Controller>,
    pub atomic_flush: bool,
}

/// Decides which jobs of one database run, and when writers stall.
pub struct Schedule {
    me: Weak<Schedule>,
    pool: JobPool,
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    errors: Arc<ErrorState>,
    controller: Arc<Controller>,
    atomic_flush: bool,
    /// Set at the end of the open. No job starts before the end of the open.
    runner: OnceLock<Weak<dyn JobRunner>>,
    queues: RankedMutex<Queues>,
    open: AtomicBool,
    /// True while a job is planned that reconsiders all column families after a release of snapshots.
    release_pending: AtomicBool,
    /// True while a job is planned that looks for empty key ranges.
    look_pending: AtomicBool,
    /// True while a job is planned that checks the limiters of compactions again.
    pub(super) limiter_pending: AtomicBool,
}

impl Schedule {
    /// Makes the schedule. No job starts before the end of the open.
    pub fn new(parts: ScheduleParts) -> Arc<Self> {
        Arc::new_cyclic(|me| Schedule {
            me: me.clone(),
            pool: JobPool::new(parts.tools.clone(), parts.errors.clone()),
            tools: parts.tools,
            families: parts.families,
            errors: parts.errors,
            controller: parts.controller,
            atomic_flush: parts.atomic_flush,
            runner: OnceLock::new(),
            queues: RankedMutex::new(&ranks::QUEUES, Queues::default()),
            open: AtomicBool::new(false),
            release_pending: AtomicBool::new(false),
            look_pending: AtomicBool::new(false),
            limiter_pending: AtomicBool::new(false),
        })
    }

    /// Starts the schedule at the end of the open, and considers every column family once.
    pub fn start(&self, runner: Weak<dyn JobRunner>) {
        let is_first = self.runner.set(runner).is_ok();
        base::invariant!(is_first, "the schedule of a database starts twice");
        self.open.store(true, Ordering::Release);
        let me = self.me.clone();
        self.tools.snapshots.on_release(Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.schedule_released();
            }
        }));
        for family in self.families.all() {
            self.reconsider(&family);
            // Recovery may have replayed many deletions.
            self.look_for_empty_ranges_of(&family);
        }
    }

    fn run(&self, job: impl FnOnce(&dyn JobRunner)) {
        if let Some(runner) = self.runner.get().and_then(Weak::upgrade) {
            job(&*runner);
        }
    }

    /// Returns the pool of the jobs.
    pub fn pool(&self) -> &JobPool {
        &self.pool
    }

    /// Locks the queues. The lock is held for decisions, never during I/O.
    pub fn queues(&self) -> RankedGuard<'_, Queues> {
        self.queues.lock()
    }

    /// Decides about write stalls of a column family, and queues and starts the jobs that are due. Called after a
    /// change of its version, memtables or options.
    ///
    /// A panic, for example of a comparator of the application, becomes the background error. The caller may lead the writers:
    /// a panic that unwinds through a leader would lose the lead, and all later writers would wait forever.
    pub fn reconsider(&self, family: &Arc<Family>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.decide(family))) {
            let error = panicked("the choice of jobs", &*panic);
            self.run(|runner| runner.choice_failed(family, error));
        }
    }

    /// Does the work of [`Schedule::reconsider`].
    fn decide(&self, family: &Arc<Family>) {
        if !self.open.load(Ordering::Acquire) {
            return;
        }
        let now = self.tools.env.clock.now_seconds();
        let mut state = self.queues();
        // Read the state under the lock of the queues. If two threads reconsider the column family, the later
        // decision must use the newer state. Otherwise a stop because of memtables that are flushed by now could last
        // forever. With `atomic_flush`, only one flush of all column families runs at a time, and the end of its job
        // reconsiders all column families.
        let group = self.atomic_flush.then(|| self.families.last_group());
        let taken = self.atomic_flush && self.families.all().iter().any(|f| f.state().is_flushing());
        let (pin, unflushed, ts_low) = {
            let own = family.state();
            (family.pin_owned(), own.immutable_memtables.len(), own.full_history_ts_low.clone())
        };
        let options = &pin.parts.pick;
        if family.is_dropped() {
            self.controller.forget(family.id());
            self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
            state.stalls.bottommost_next.remove(&family.id());
            return;
        }
        let running = state.running_of(family.id());
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
            young_after: self.tools.young_after(&pin.parts.pick),
        };
        let scores = Scores::compute(&view, options, now);
        let load = Load {
            num_unflushed_memtables: unflushed,
            num_l0_files: scores.l0_delay_trigger_count,
            l0_bytes: pin.version.level_0_bytes(),
            pending_compaction_bytes: scores.estimated_pending_bytes,
            num_marked_files: scores.marked.len(),
            bottommost_bytes: 0,
        };
        let rate = self.tools.options.load().delayed_write_rate;
        let (pressure, before, last_load) = state
            .stalls
            .pressures
            .entry(family.id())
            .or_insert_with(|| (Pressure::new(rate), Decision::NORMAL, load));
        *last_load = load;
        let decision = pressure.decide(&load, options, self.tools.env.clock.now_nanos() / 1000);
        let after = condition_of(&decision);
        let from = std::mem::replace(before, decision);
        count_stall(family, &pin.version, &decision);
        let l0_stops = after == StallCondition::Stopped && matches!(decision.cause, Cause::L0FileCountLimit);
        let hopeless = if l0_stops && running.is_empty() { blocked(&view, options, now) } else { None };
        self.controller.set(family.id(), decision, hopeless);
        self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
        // With the new load: the end of a compaction ends the wait for a second memtable.
        let due = !taken && {
            let (own, parts) = (family.state(), family.parts());
            own.flush_due(self.memtables_to_merge(&state, family, &parts), group)
                && !(own.retains_timestamps(&parts) && memtables_have_room(&own, &parts))
        };
        if due {
            self.enqueue_flush(
                &mut state,
                vec![family.clone()],
                FlushReason::WriteBufferFull,
                self.atomic_flush,
            );
        }
        if !options.disable_auto_compactions && lsm::pick::is_due(&scores, &pin.version, options) {
            state.enqueue_compaction(family);
        }
        self.await_release(&mut state, family, scores.bottommost_next);
        self.start_due(&mut state);
        drop(state);
        self.report_stall(family, &from, &decision, &load);
    }

    /// Returns the number of immutable memtables that starts a flush of the column family.
    fn memtables_to_merge(&self, state: &Queues, family: &Family, parts: &Parts) -> usize {
        match self.atomic_flush {
            true => parts.pick.buffers.min_write_buffer_number_to_merge,
            false => state.memtables_to_merge(family.id(), &parts.pick),
        }
    }

    /// Asks for a call when the snapshots are released that keep old entries in the bottommost files of a column family. `next` is
    /// the sequence number that the oldest snapshot must pass; `None` if no bottommost file waits for a release.
    fn await_release(&self, state: &mut Queues, family: &Family, next: Option<SequenceNumber>) {
        match next {
            Some(next) => state.stalls.bottommost_next.insert(family.id(), next.get()),
            None => state.stalls.bottommost_next.remove(&family.id()),
        };
        let first = state.stalls.bottommost_next.values().min().copied();
        self.tools.snapshots.notify_past(first.map(SequenceNumber::new));
    }

    /// Decides about write stalls after a switch of the memtable. Uses the new count of immutable memtables, and the
    /// levels of the last [`Schedule::reconsider`]: each change of the levels calls `reconsider`. This function runs
    /// in the writer that switches the memtable, and the scores of 16,000 SST files took 0.3 ms. Returns false if the
    /// column family needs `reconsider`.
    fn reconsider_memtables(&self, family: &Arc<Family>) -> bool {
        let mut state = self.queues();
        let unflushed = family.state().immutable_memtables.len();
        let parts = family.parts();
        let Some((pressure, before, load)) = state.stalls.pressures.get_mut(&family.id()) else {
            return false;
        };
        if family.is_dropped() {
            return false;
        }
        load.num_unflushed_memtables = unflushed;
        if lsm::pressure::would_stall(load, &parts.pick) {
            // The statistics of a stall need the running compactions of level 0.
            return false;
        }
        let decision = pressure.decide(load, &parts.pick, self.tools.env.clock.now_nanos() / 1000);
        let (from, load) = (std::mem::replace(before, decision), *load);
        self.controller.set(family.id(), decision, None);
        self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
        drop(state);
        self.report_stall(family, &from, &decision, &load);
        true
    }

    /// Returns the sequence number below which no snapshot is held.
    pub fn oldest_snapshot(&self) -> base::SequenceNumber {
        self.tools.snapshots.released_below()
    }

    /// Reconsiders all column families in a job, after the release of snapshots that kept old entries in bottommost files.
    /// Follows RocksDB `DBImpl::ReleaseSnapshot`.
    fn schedule_released(&self) {
        if self.release_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.pool.spawn(Pool::Low, &self.me, |me| {
            me.release_pending.store(false, Ordering::Release);
            me.families.all().iter().for_each(|family| me.reconsider(family));
            me.pool.notify();
        });
    }

    /// Plans a job that searches for empty key ranges, if the column family has places to search (`DeletedPlaces`).
    pub fn look_for_empty_ranges_of(&self, family: &Family) {
        if !family.deleted_places().is_empty() {
            self.look_for_empty_ranges();
        }
    }

    /// Returns true while a job of [`Schedule::schedule_released`] is planned.
    pub fn is_release_pending(&self) -> bool {
        self.release_pending.load(Ordering::Acquire)
    }

    /// Changes the rate of writes at the start of a write stall, in bytes per second.
    pub fn set_delayed_write_rate(&self, rate: u64) {
        for (pressure, ..) in self.queues().stalls.pressures.values_mut() {
            pressure.set_max_rate(rate);
        }
    }

    /// Returns the activity of the background, for the properties.
    pub fn activity(&self) -> Activity {
        let state = self.queues();
        Activity {
            running_flushes: state.flush.running,
            running_compactions: state.compaction.running + state.manual.running,
            compaction_aborts: state.aborts,
            delayed_write_rate: self.controller.delayed_rate(),
            is_write_stopped: self.controller.is_stopped(),
        }
    }
}

/// Returns the error that keeps level 0 full: an SST file is quarantined, and no compaction is possible without it.
fn blocked(view: &View<'_>, options: &lsm::pick::Options, now: u64) -> Option<Error> {
    let number = view.version.files().find(|(_, f)| f.is_quarantined())?.1.number;
    lsm::pick::pick(view, options, now).is_none().then(|| set_aside(number))
}

/// Returns true if the immutable memtables and a full active memtable cause no write stall.
fn memtables_have_room(state: &State, parts: &Parts) -> bool {
    let load = Load {
        num_unflushed_memtables: state.immutable_memtables.len() + 1,
        num_l0_files: 0,
        l0_bytes: 0,
        pending_compaction_bytes: 0,
        num_marked_files: 0,
        bottommost_bytes: 0,
    };
    !lsm::pressure::would_stall(&load, &parts.pick)
}

/// Counts a decision that stalls writes in the statistics of the column family.
fn count_stall(family: &Family, version: &Version, decision: &Decision) {
    let condition = condition_of(decision);
    if condition != StallCondition::Normal
        && let Some(cause) = stall_cause(decision.cause)
    {
        let l0_compacting = version.level(Level::ZERO).iter().any(|f| f.being_compacted());
        family.stats.lock().stalls.count(cause, condition == StallCondition::Stopped, l0_compacting);
    }
}

fn condition_of(decision: &Decision) -> StallCondition {
    match decision.stall {
        Stall::Normal | Stall::Paced { .. } => StallCondition::Normal,
        Stall::Delayed { .. } => StallCondition::Delayed,
        Stall::Stopped => StallCondition::Stopped,
    }
}

fn stall_cause(cause: Cause) -> Option<StallCause> {
    match cause {
        Cause::MemtableLimit => Some(StallCause::MemtableLimit),
        Cause::L0FileCountLimit => Some(StallCause::L0FileCountLimit),
        Cause::PendingCompactionBytes => Some(StallCause::PendingCompactionBytes),
        Cause::None | Cause::WriteBufferManagerLimit => None,
    }
}

/// Returns the error for work that needs a quarantined SST file.
pub fn set_aside(number: FileNumber) -> Error {
    Error::corruption(format!("table {:06} is quarantined: a part of it cannot be read", number))
}

impl FlushRequests for Schedule {
    /// Takes no lock of the schedule: the caller may be a writer.
    fn look_for_empty_ranges(&self) {
        if !self.open.load(Ordering::Acquire) || self.look_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.pool.spawn(Pool::High, &self.me, |me| {
            me.look_pending.store(false, Ordering::Release);
            me.run(|runner| runner.empty_ranges_job());
            me.pool.notify();
        });
    }

    fn flush_due(&self, families: &[Arc<Family>], reason: FlushReason) {
        let mut state = self.queues();
        let automatic =
            matches!(reason, FlushReason::WriteBufferFull | FlushReason::MemtableMaxRangeDeletions);
        let mut due = families.to_vec();
        due.retain(|family| {
            let (mut own, parts) = (family.state(), family.parts());
            // A flush of fewer memtables than `min_write_buffer_number_to_merge` waits for the next full memtable.
            let min = self.memtables_to_merge(&state, family, &parts);
            let too_few = !self.atomic_flush && !own.flush_due(min, None);
            let retains = own.retains_timestamps(&parts) && memtables_have_room(&own, &parts);
            let waits = automatic && (too_few || retains);
            own.flush_requested |= !waits;
            !waits
        });
        if !due.is_empty() {
            self.enqueue_flush(&mut state, due, reason, self.atomic_flush);
        }
        self.start_due(&mut state);
        drop(state);
        for family in families {
            if !self.reconsider_memtables(family) {
                self.reconsider(family);
            }
        }
    }
}
