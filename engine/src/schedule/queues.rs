//! Queued jobs, running jobs, and the reasons why jobs must wait. One lock protects all of them.

use std::collections::{BTreeMap, VecDeque};

use base::map::HashMap;
use base::{Error, FamilyId, JobId, Result, Subcode};
use lsm::pick::Running;
use lsm::pressure::{Decision, Load, Pressure};

use crate::event::FlushReason;
use crate::family::Family;
use crate::sync::{Arc, Flag};

/// The state of the schedule.
#[derive(Default)]
pub struct Queues {
    pub flush: FlushQueue,
    pub compaction: CompactionQueue,
    pub manual: Manuals,
    pub stalls: Stalls,
    pub resume: Resuming,
    /// Outstanding calls of `abort_all_compactions`.
    pub aborts: usize,
    /// Outstanding calls of `pause_background_work`.
    pub paused: usize,
    pub closing: bool,
}

/// A request for a flush.
pub struct FlushRequest {
    pub families: Vec<Arc<Family>>,
    pub reason: FlushReason,
    pub atomic: bool,
}

/// Flushes: queued, with a slot, and running. A flush that runs keeps its slot, so `running` is at most `scheduled`.
#[derive(Default)]
pub struct FlushQueue {
    pub queue: VecDeque<FlushRequest>,
    pub scheduled: usize,
    pub running: usize,
    /// Running flush jobs, by their order: the column families of each job. A job stays here until the listeners of its
    /// flush were called.
    pub jobs: BTreeMap<u64, Vec<FamilyId>>,
    pub jobs_begun: u64,
    /// Number of failed flushes of each column family, and the error of the last failure.
    pub failures: HashMap<FamilyId, (u64, Error)>,
}

/// Automatic compactions: queued, with a slot, and running.
#[derive(Default)]
pub struct CompactionQueue {
    pub queue: VecDeque<Arc<Family>>,
    pub scheduled: usize,
    pub running: usize,
    /// Number of automatic compactions that ended with an error that was not expected.
    pub failures: u64,
    pub last_failure: Option<Error>,
    /// The reservations of the running compactions of each column family, by job. Manual compactions and ingestions are
    /// here too.
    pub reserved: HashMap<FamilyId, Vec<(JobId, Running)>>,
    /// The flags that cancel the running automatic compactions, by job.
    pub flags: Vec<(JobId, Arc<Flag>)>,
}

/// Manual compactions. They run on the threads of their callers.
#[derive(Default)]
pub struct Manuals {
    /// Manual compactions that allow no automatic compaction.
    pub exclusive: usize,
    pub running: usize,
    /// The flags that cancel the running manual compactions.
    pub flags: Vec<Arc<Flag>>,
    /// Outstanding calls of `disable_manual_compaction`.
    pub disabled: i64,
}

/// The stall decisions.
#[derive(Default)]
pub struct Stalls {
    /// For each column family: the pressure, the last decision, and the load of the last decision.
    pub pressures: HashMap<FamilyId, (Pressure, Decision, Load)>,
    /// For each column family: see `Scores::bottommost_next`.
    pub bottommost_next: HashMap<FamilyId, u64>,
}

/// Attempts to resume after a background error.
#[derive(Default)]
pub struct Resuming {
    pub scheduled: bool,
    pub running: usize,
    pub tries: i64,
}

impl Queues {
    /// Checks the counts. Every running job has a slot, and every manual compaction has a flag.
    pub fn check(&self) {
        let (flush, compaction, manual) = (&self.flush, &self.compaction, &self.manual);
        base::invariant!(
            flush.running <= flush.scheduled,
            "{} flushes run with {} slots",
            flush.running,
            flush.scheduled
        );
        base::invariant!(
            compaction.running <= compaction.scheduled,
            "{} compactions run with {} slots",
            compaction.running,
            compaction.scheduled
        );
        base::invariant!(
            manual.exclusive <= manual.running,
            "{} exclusive manual compactions of {} run",
            manual.exclusive,
            manual.running
        );
        base::invariant!(
            manual.flags.len() == manual.running,
            "{} manual compactions have {} flags",
            manual.running,
            manual.flags.len()
        );
        base::invariant!(
            compaction.flags.len() <= compaction.running,
            "{} compactions run, and {} can be canceled",
            compaction.running,
            compaction.flags.len()
        );
        base::invariant!(
            flush.jobs.len() <= flush.running,
            "{} flushes run, and {} have a job",
            flush.running,
            flush.jobs.len()
        );
        base::invariant!(
            flush.jobs.last_key_value().is_none_or(|(order, _)| *order <= flush.jobs_begun),
            "{} flush jobs began, and one of them has the order {:?}",
            flush.jobs_begun,
            flush.jobs.last_key_value()
        );
        base::invariant!(
            flush.queue.iter().filter(|request| request.atomic).count() <= 1,
            "{} flushes are queued, and several of them flush all column families",
            flush.queue.len()
        );
        base::invariant!(
            compaction.flags.is_sorted_by(|(a, _), (b, _)| a < b),
            "the job numbers of automatic compactions do not ascend"
        );
    }

    /// Returns what the running compactions of a column family reserve.
    pub fn running_of(&self, family: FamilyId) -> Vec<Running> {
        self.compaction
            .reserved
            .get(&family)
            .map(|list| list.iter().map(|(_, r)| r.clone()).collect())
            .unwrap_or_default()
    }

    /// Returns true if an automatic compaction of the column family runs. The end of the compaction reconsiders the column
    /// family.
    fn compacts(&self, family: FamilyId) -> bool {
        let is_automatic = |job: &JobId| self.compaction.flags.iter().any(|(id, _)| id == job);
        let own = self.compaction.reserved.get(&family);
        own.is_some_and(|list| list.iter().any(|(job, _)| is_automatic(job)))
    }

    /// Returns the number of immutable memtables that starts a flush of the column family.
    pub fn memtables_to_merge(&self, family: FamilyId, options: &lsm::pick::Options) -> usize {
        match self.stalls.pressures.get(&family) {
            Some((.., load)) if self.compacts(family) => lsm::pressure::memtables_to_merge(load, options),
            _ => options.buffers.min_write_buffer_number_to_merge,
        }
    }

    /// Queues a compaction of the column family, if none is queued.
    pub fn enqueue_compaction(&mut self, family: &Arc<Family>) {
        if !self.compaction.queue.iter().any(|f| f.id() == family.id()) {
            self.compaction.queue.push_back(family.clone());
        }
        base::invariant!(
            self.compaction.queue.iter().filter(|f| f.id() == family.id()).count() == 1,
            "{family:?} waits twice for its compaction"
        );
    }

    /// Checks that compactions are not aborted.
    ///
    /// # Errors
    /// Incomplete with the subcode `CompactionAborted` if compactions are aborted.
    pub fn check_abort(&self) -> Result<()> {
        if self.aborts > 0 { Err(aborted()) } else { Ok(()) }
    }

    /// Returns true if a job of a column family holds a reservation.
    pub fn has_reserved(&self, family: FamilyId, job: JobId) -> bool {
        self.compaction.reserved.get(&family).is_some_and(|list| list.iter().any(|(id, _)| *id == job))
    }

    /// Ends the reservations of a job of a column family. Does nothing if the job has none: an ingestion that fails early
    /// has reserved nothing.
    pub fn unreserve(&mut self, family: FamilyId, job: JobId) {
        if let Some(list) = self.compaction.reserved.get_mut(&family) {
            list.retain(|(id, _)| *id != job);
        }
    }
}

/// Returns the error of a compaction that `abort_all_compactions` canceled.
pub fn aborted() -> Error {
    Error::incomplete("all compactions are aborted").with_subcode(Subcode::CompactionAborted)
}
