//! What is due, and who does it: flushes and compactions in the executor's pools, with their errors.
//!
//! ```text
//!  write rings ──► flush queue ──► slot free? ──► job ──► commit ──► reconsider ─┬─► stall decision
//!  a commit     ──► compaction queue ──► slot free? ──► pick, reserve, job ──────┘   next job
//! ```
//! The number of slots follows from `max_background_jobs`, as in RocksDB. A panic in a job is caught and
//! becomes the background error. A thread that waits for a job first helps the executor, so the engine also
//! runs in one thread.

mod abort;
mod compact;
mod dump;
mod event_count;
mod flush;
mod ingest;
mod manual;
mod named;
mod opening;
mod periodic;
mod proof;
mod purge;
mod resume;
mod schedule;
mod trigger;
mod wait;

pub use manual::ManualResult;

use std::collections::{BTreeMap, VecDeque};

use base::map::HashMap;
use base::stats::Ticker;
use base::{Error, FamilyId, Kind};
use env::executor::Tag;
use lsm::pick::score::Scores;
use lsm::pick::{Running, View};
use lsm::pressure::{Cause, Decision, Load, Pressure, Stall};

use self::event_count::EventCount;
use crate::commit::{Committed, Committer};
use crate::errors::{ErrorState, Remedy};
use crate::event::{ErrorReason, Event, FlushReason, StallCondition};
use crate::family::{Family, FamilySet};
use crate::files::{Obsolete, Recycle};
use crate::output::{JobTools, named};
use crate::properties::{self, Activity, PropertyContext};
use crate::source::TableCache;
use crate::stats::StallCause;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Flag, Mutex, OnceLock, Ordering, Weak};
use crate::wal::WalSet;
use crate::write::stall::Controller;
use crate::write::{ErrorSink, FlushRequests, Writer};

/// Everything jobs touch.
pub struct BackgroundParts {
    pub tools: Arc<JobTools>,
    pub families: Arc<FamilySet>,
    pub logs: Arc<WalSet>,
    pub recycle: Arc<Recycle>,
    pub committer: Arc<Committer>,
    pub tables: Arc<TableCache>,
    pub obsolete: Arc<Obsolete>,
    pub errors: Arc<ErrorState>,
    pub controller: Arc<Controller>,
    pub atomic_flush: bool,
}

/// The background of one database.
pub struct Background {
    me: Weak<Background>,
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    logs: Arc<WalSet>,
    recycle: Arc<Recycle>,
    committer: Arc<Committer>,
    tables: Arc<TableCache>,
    obsolete: Arc<Obsolete>,
    errors: Arc<ErrorState>,
    controller: Arc<Controller>,
    /// Set once the write path exists; resuming needs it.
    writer: OnceLock<Weak<Writer>>,
    atomic_flush: bool,
    tag: Tag,
    state: Mutex<State>,
    /// Something changed: a job ended, an error came or went.
    changed: Arc<EventCount>,
    /// Number of unfinished jobs: queued, delayed, running, or still releasing their resources.
    out: Arc<AtomicUsize>,
    /// Nothing is scheduled before opening is done.
    open: AtomicBool,
    bytes_compacted: AtomicU64,
    /// Not under the lock: the last reader of a moment may let go anywhere.
    purge_scheduled: AtomicBool,
    purges_running: AtomicUsize,
    dump_planned: AtomicBool,
    /// What keeps the history of the statistics; see `periodic`.
    persist: OnceLock<periodic::Persist>,
    persist_plan: AtomicU64,
    /// Counts plans to look for compactions that are due by time; only the newest is carried out.
    trigger_plan: AtomicU64,
    /// A release of snapshots is still to be looked at.
    release_pending: AtomicBool,
    /// Tables are being opened behind the open: see `open_files_async`.
    opening: AtomicBool,
    /// Held while a proof is made.
    looks: Mutex<proof::Looks>,
}

/// A request for a flush.
struct FlushRequest {
    families: Vec<Arc<Family>>,
    reason: FlushReason,
    atomic: bool,
}

#[derive(Default)]
struct State {
    flushes: VecDeque<FlushRequest>,
    flushes_scheduled: usize,
    flushes_running: usize,
    /// Flush jobs that run, by their order: the column families of each job. A job stays here until the listeners of its
    /// flush were called.
    flush_jobs: BTreeMap<u64, Vec<FamilyId>>,
    flush_jobs_begun: u64,
    /// How often flushes of each family have failed, and why the last one did.
    flush_failures: HashMap<FamilyId, (u64, Error)>,
    compactions: VecDeque<Arc<Family>>,
    compactions_scheduled: usize,
    compactions_running: usize,
    /// How many automatic compactions have failed, and why the last one did.
    compaction_failures: u64,
    compaction_failure: Option<Error>,
    /// Compactions of each family that run, by job.
    running: HashMap<FamilyId, Vec<(u64, Running)>>,
    /// Of each column family: the pressure, the last decision, and the load that the decision was about.
    pressures: HashMap<FamilyId, (Pressure, StallCondition, Load)>,
    /// By family: see `Scores::bottommost_next`.
    bottommost_next: HashMap<FamilyId, u64>,
    /// Manual compactions that hold automatic ones back.
    exclusive_manuals: usize,
    manuals_running: usize,
    /// Raised to give up each of them.
    manual_flags: Vec<Arc<Flag>>,
    /// `disable_manual_compaction` calls outstanding.
    manuals_disabled: usize,
    /// The flags that cancel the running automatic compactions, by job.
    automatic_flags: Vec<(u64, Arc<Flag>)>,
    /// `abort_all_compactions` calls outstanding.
    aborts: usize,
    /// `pause_background_work` calls outstanding.
    paused: usize,
    resume_scheduled: bool,
    resumes_running: usize,
    resume_tries: i64,
    closing: bool,
}

impl Background {
    pub fn new(parts: BackgroundParts) -> Arc<Self> {
        Arc::new_cyclic(|me| Background {
            me: me.clone(),
            tools: parts.tools,
            families: parts.families,
            logs: parts.logs,
            recycle: parts.recycle,
            committer: parts.committer,
            tables: parts.tables,
            obsolete: parts.obsolete,
            errors: parts.errors,
            controller: parts.controller,
            writer: OnceLock::new(),
            atomic_flush: parts.atomic_flush,
            tag: Tag::fresh(),
            state: Mutex::default(),
            changed: Arc::default(),
            out: Arc::default(),
            open: AtomicBool::new(false),
            bytes_compacted: AtomicU64::new(0),
            purge_scheduled: AtomicBool::new(false),
            purges_running: AtomicUsize::new(0),
            dump_planned: AtomicBool::new(false),
            persist: OnceLock::new(),
            persist_plan: AtomicU64::new(0),
            trigger_plan: AtomicU64::new(0),
            release_pending: AtomicBool::new(false),
            opening: AtomicBool::new(false),
            looks: Mutex::default(),
        })
    }

    /// Opening is done: jobs may be scheduled. Looks at every family once.
    pub fn start(&self, writer: &Arc<Writer>) {
        let _ = self.writer.set(Arc::downgrade(writer));
        self.open.store(true, Ordering::Release);
        let me = self.me.clone();
        self.obsolete.release_notifier().on_ring(Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.schedule_purge();
            }
        }));
        let me = self.me.clone();
        self.tools.snapshots.on_release(Box::new(move || {
            if let Some(me) = me.upgrade() {
                me.schedule_released();
            }
        }));
        for family in self.families.all() {
            self.reconsider(&family);
        }
        self.plan_dump();
        self.plan_trigger();
        self.plan_proof();
    }

    /// After a change of a family's tree, memtables or options: the stall decision, and what is due.
    pub fn reconsider(&self, family: &Arc<Family>) {
        if !self.open.load(Ordering::Acquire) {
            return;
        }
        let now = self.tools.env.clock.now_seconds();
        let mut state = self.state.lock();
        // Looked at under the lock: of two that reconsider, the later must not decide by what was before.
        // A stop that is decided by memtables long flushed would never be taken back.
        // With `atomic_flush` one flush at a time, of all families; the job that ends looks at all of them.
        let group = self.atomic_flush.then(|| self.families.last_group());
        let taken = self.atomic_flush && self.families.all().iter().any(|f| f.state().is_flushing());
        let (pin, unflushed, full, ts_low) = {
            let own = family.state();
            let due = !taken && own.flush_due(family.parts().pick.min_write_buffer_number_to_merge, group);
            (family.pin_owned(), own.immutable_memtables.len(), due, own.full_history_ts_low.clone())
        };
        let options = &pin.parts.pick;
        if family.is_dropped() {
            self.controller.forget(family.id());
            self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
            state.bottommost_next.remove(&family.id());
            return;
        }
        let running = state.running_of(family.id());
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
        };
        let scores = Scores::compute(&view, options, now);
        let load = Load {
            num_unflushed_memtables: unflushed,
            num_l0_files: scores.l0_delay_trigger_count,
            pending_compaction_bytes: scores.estimated_pending_bytes,
            num_marked_files: scores.marked.len(),
            bottommost_bytes: 0,
        };
        let rate = self.tools.options.load().delayed_write_rate;
        let (pressure, before, last_load) = state
            .pressures
            .entry(family.id())
            .or_insert_with(|| (Pressure::new(rate), StallCondition::Normal, load));
        *last_load = load;
        let decision = pressure.decide(&load, options);
        let after = condition_of(&decision);
        let from = std::mem::replace(before, after);
        if after != StallCondition::Normal
            && let Some(cause) = stall_cause(decision.cause)
        {
            let l0_compacting = pin.version.level(0).iter().any(|f| f.being_compacted());
            family.stats.lock().stalls.count(cause, after == StallCondition::Stopped, l0_compacting);
        }
        let l0_stops = after == StallCondition::Stopped && matches!(decision.cause, Cause::L0FileCountLimit);
        let hopeless = if l0_stops && running.is_empty() { blocked(&view, options, now) } else { None };
        self.controller.set(family.id(), decision, hopeless);
        self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
        if full {
            self.enqueue_flush(
                &mut state,
                vec![family.clone()],
                FlushReason::WriteBufferFull,
                self.atomic_flush,
            );
        }
        if !options.disable_auto_compactions && lsm::pick::needs_compaction(&view, options, now) {
            state.enqueue_compaction(family);
        }
        match scores.bottommost_next {
            Some(next) => state.bottommost_next.insert(family.id(), next),
            None => state.bottommost_next.remove(&family.id()),
        };
        self.tools.snapshots.tell_past(state.bottommost_next.values().min().copied());
        self.schedule(&mut state);
        drop(state);
        if from != after {
            self.stall_changed(family, from, after, &load);
        }
    }

    /// After a switch of the memtable of a column family: decides about stalls with the new count of immutable memtables
    /// and with the levels as the last [`Background::reconsider`] found them. A change of the levels has its own call of
    /// `reconsider`. The writer that switches a memtable runs this function, and scores over 16,000 SST files took 0.3 ms.
    /// Returns false if the column family needs `reconsider`.
    fn reconsider_memtables(&self, family: &Arc<Family>) -> bool {
        let mut state = self.state.lock();
        let unflushed = family.state().immutable_memtables.len();
        let parts = family.parts();
        let Some((pressure, before, load)) = state.pressures.get_mut(&family.id()) else { return false };
        if family.is_dropped() {
            return false;
        }
        load.num_unflushed_memtables = unflushed;
        if lsm::pressure::would_stall(load, &parts.pick) {
            // The statistics of a stall need the running compactions of level 0.
            return false;
        }
        let decision = pressure.decide(load, &parts.pick);
        let after = condition_of(&decision);
        let (from, load) = (std::mem::replace(before, after), *load);
        self.controller.set(family.id(), decision, None);
        self.tools.flush_priority.set_hurry(self.controller.waits_for_compaction());
        drop(state);
        if from != after {
            self.stall_changed(family, from, after, &load);
        }
        true
    }

    fn stall_changed(&self, family: &Family, from: StallCondition, to: StallCondition, load: &Load) {
        let events = &self.tools.events;
        if to != StallCondition::Normal {
            events.warn(format_args!(
                "[{}] {} writes because we have {} immutable memtables (waiting for flush), {} level-0 files, \
                 {} bytes of estimated pending compaction",
                family.name(),
                if to == StallCondition::Stopped { "Stopping" } else { "Stalling" },
                load.num_unflushed_memtables,
                load.num_l0_files,
                load.pending_compaction_bytes
            ));
        }
        events.emit(&Event::StallChanged { family: named(family), from, to });
    }

    fn oldest_snapshot(&self) -> base::SequenceNumber {
        self.tools.snapshots.released_below()
    }

    /// What must follow every commit: logs and the old MANIFEST released, readers' garbage looked at.
    fn committed(&self, committed: &Committed) {
        let logs = self.logs.release(committed.min_log_to_keep).into_iter().map(|log| log.number);
        self.obsolete.retire_records(logs, self.committer.take_old_manifests());
        self.dispose_of_records();
        self.schedule_purge();
    }

    /// Deletes MANIFESTs that commits have rolled away from, unless deletions are disabled.
    pub fn remove_old_manifests(&self) {
        self.obsolete.retire_records(std::iter::empty(), self.committer.take_old_manifests());
        self.dispose_of_records();
    }

    /// Notes a failure and starts what may mend it.
    pub fn failed(&self, error: Error, reason: ErrorReason) {
        self.failed_in(error, reason, &[]);
    }

    /// Handles the failure of a job of these column families. If the job failed at an SST file, the other
    /// column families continue. With `atomic_flush` no column family can continue, because each commit
    /// needs SST files of all of them. See [`Background::failed`].
    fn failed_in(&self, error: Error, reason: ErrorReason, families: &[Arc<Family>]) {
        let auto = self.tools.options.load().max_bgerror_resume_count > 0;
        let families = if self.atomic_flush { &[] } else { families };
        let ids: Vec<_> = families.iter().map(|family| family.id()).collect();
        if self.tools.events.has_listeners() {
            let rated = self.errors.rated(error.clone(), reason, self.logs.is_poisoned());
            if self.tools.events.suppresses(reason, &rated) {
                self.tools.events.warn(format_args!("A listener suppressed the background error: {rated}"));
                return;
            }
        }
        let (error, remedy) = self.errors.set(error, reason, &ids, auto, self.logs.is_poisoned());
        families
            .iter()
            .filter(|family| family.is_dropped())
            .for_each(|family| drop(self.errors.forget(family.id())));
        let stats = &self.tools.stats;
        stats.add(Ticker::ErrorHandlerBgErrorCount, 1);
        if error.kind() == Kind::IoError {
            stats.add(Ticker::ErrorHandlerBgIoErrorCount, 1);
            stats.add(Ticker::ErrorHandlerBgRetryableIoErrorCount, u64::from(error.retryable()));
        }
        self.tools.events.error(format_args!("Background error, reason {}: {error}", reason as u8));
        self.tools.events.emit(&Event::BackgroundError { reason, error: error.clone() });
        let resumes = remedy == Remedy::Resume && !self.tools.events.vetoes_recovery(reason, &error);
        if resumes {
            self.tools.events.emit(&Event::ErrorRecoveryStarted { reason, error });
        } else if remedy == Remedy::Resume {
            self.errors.resume_given_up();
        }
        self.errors_changed();
        if resumes {
            self.schedule_resume();
        }
    }

    /// Updates the write stalls after a background error is set or cleared, and wakes all waiting writers.
    /// A stopped column family does not stall the writers of other column families. If all column families
    /// are stopped, waiting writers continue to wait until the error is cleared.
    pub(super) fn errors_changed(&self) {
        {
            // If two threads run this function, the later thread must not use the older state.
            let _state = self.state.lock();
            let held = self.errors.held();
            let others = self.families.all().iter().any(|family| !held.contains(&family.id()));
            self.controller.pass_over(if others { held } else { Vec::new() });
        }
        self.wake_stalled();
        self.changed.tell();
    }

    /// A family was created.
    pub fn family_added(&self, family: &Arc<Family>) {
        if self.errors.is_stopped() {
            self.errors_changed();
        }
        self.reconsider(family);
    }

    /// A family was dropped. With it goes what kept it from being flushed.
    pub fn family_dropped(&self, family: &Arc<Family>) {
        if let Some(old) = self.errors.forget(family.id()) {
            self.tools.events.emit(&Event::RecoveredFromError { old, new: self.errors.get() });
            self.errors_changed();
        }
        self.reconsider(family);
    }

    /// Wakes the stalled writers: writers that wait for the stall controller, and writers that wait for
    /// memory.
    pub(super) fn wake_stalled(&self) {
        match self.writer.get().and_then(Weak::upgrade) {
            Some(writer) => writer.wake_stalled(),
            None => self.controller.wake(),
        }
    }

    pub fn errors(&self) -> &Arc<ErrorState> {
        &self.errors
    }

    /// Bytes compactions have read and written since open.
    pub fn bytes_compacted(&self) -> u64 {
        self.bytes_compacted.load(Ordering::Relaxed)
    }

    /// Changes the rate that writes are slowed to first.
    pub fn set_delayed_write_rate(&self, rate: u64) {
        for (pressure, ..) in self.state.lock().pressures.values_mut() {
            pressure.set_max_rate(rate);
        }
    }

    /// What goes on, for the properties.
    pub fn activity(&self) -> Activity {
        let state = self.state.lock();
        Activity {
            running_flushes: state.flushes_running,
            running_compactions: state.compactions_running + state.manuals_running,
            compaction_aborts: state.aborts,
            delayed_write_rate: self.controller.delayed_rate(),
            is_write_stopped: self.controller.is_stopped(),
        }
    }

    /// Writes the statistics into the LOG, as RocksDB's `DumpStats`.
    pub(super) fn dump_stats(&self) {
        if self.tools.shutting_down.load(Ordering::Acquire) {
            return;
        }
        let context = PropertyContext {
            tables: &self.tables,
            obsolete: &self.obsolete,
            numbers: &self.tools.numbers,
            stats: &self.tools.stats,
            released_below: self.tools.snapshots.released_below(),
            snapshots: self.tools.snapshots.count(),
            oldest_snapshot: self.tools.snapshots.oldest(),
            errors: &self.errors,
            min_log_to_keep: self.committer.min_log_to_keep(),
            activity: self.activity(),
            now_seconds: self.tools.env.clock.now_seconds(),
        };
        let events = &self.tools.events;
        let text = properties::dump(&context, &self.families.all());
        events.info(format_args!("------- DUMPING STATS -------"));
        events.info(format_args!("{text}"));
        if let Some(statistics) = self.tools.stats.statistics() {
            events.info(format_args!("STATISTICS:\n {statistics}"));
        }
    }
}

/// Why level 0 stays as full as it is: a table of the family is quarantined, and nothing can be compacted beside it.
fn blocked(view: &View<'_>, options: &lsm::pick::Options, now: u64) -> Option<Error> {
    let number = view.version.files().find(|(_, f)| f.is_quarantined())?.1.number;
    lsm::pick::pick(view, options, now).is_none().then(|| manual::set_aside(number))
}

fn condition_of(decision: &Decision) -> StallCondition {
    match decision.stall {
        Stall::Normal => StallCondition::Normal,
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

impl State {
    fn running_of(&self, family: FamilyId) -> Vec<Running> {
        self.running
            .get(&family)
            .map(|list| list.iter().map(|(_, r)| r.clone()).collect())
            .unwrap_or_default()
    }

    fn enqueue_compaction(&mut self, family: &Arc<Family>) {
        if !self.compactions.iter().any(|f| f.id() == family.id()) {
            self.compactions.push_back(family.clone());
        }
    }
}

impl FlushRequests for Background {
    fn flush_due(&self, families: &[Arc<Family>], reason: FlushReason) {
        let mut state = self.state.lock();
        for family in families {
            family.state().flush_requested = true;
        }
        self.enqueue_flush(&mut state, families.to_vec(), reason, self.atomic_flush);
        self.schedule(&mut state);
        drop(state);
        for family in families {
            if !self.reconsider_memtables(family) {
                self.reconsider(family);
            }
        }
    }
}

impl ErrorSink for Background {
    fn wal_failed(&self, error: &Error) {
        self.failed(error.clone(), ErrorReason::WriteCallback);
    }

    fn memtable_failed(&self, error: &Error) {
        self.failed(error.clone(), ErrorReason::MemTable);
    }
}
