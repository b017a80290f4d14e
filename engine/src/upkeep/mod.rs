//! Periodic work, as a table: the task, its period, and its action.
//!
//! Each task is a delayed job. At its end the task plans its next run. Not here: work that an event starts (`schedule`,
//! `jobs`).

mod options_file;
mod prove;

pub use options_file::write_options_file;

use env::executor::Pool;

use crate::jobs::{Failures, FilePurger, JobContext};
use crate::properties::{self, PropertyContext};
use crate::ranks;
use crate::schedule::Schedule;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, OnceLock, Ordering, RankedMutex, Weak};

/// Stores one more sample of the statistics.
pub type Persist = Box<dyn Fn() + Send + Sync>;

/// The effect of a change of options on the next run of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnChange {
    /// The planned run stays. The new period counts from that run on.
    KeepPlan,
    /// The planned run is canceled. The new period begins now.
    Restart,
}

/// A row of the table.
struct Task {
    on_change: OnChange,
    /// Microseconds to the next run. `None`: the options disable the task.
    period_us: fn(&Upkeep) -> Option<u64>,
    act: fn(&Upkeep),
}

const TASKS: [Task; 7] = [
    // `stats_dump_period_sec`: the statistics go to the info log.
    Task { on_change: OnChange::KeepPlan, period_us: Upkeep::dump_period_us, act: Upkeep::dump_stats },
    // `stats_persist_period_sec`: the history of the statistics gets one more sample.
    Task { on_change: OnChange::Restart, period_us: Upkeep::persist_period_us, act: Upkeep::persist },
    // Compactions that are due by age or by reads. Follows RocksDB `DBImpl::TriggerPeriodicCompaction`.
    Task { on_change: OnChange::Restart, period_us: Upkeep::trigger_period_us, act: Upkeep::trigger },
    // The proof of an idle time. An idle time is recognized after twice the period at most.
    Task { on_change: OnChange::KeepPlan, period_us: |_| Some(3_000_000), act: Upkeep::prove_if_idle },
    // The OPTIONS file after a burst of new column families. Planned by the first of them.
    Task {
        on_change: OnChange::KeepPlan,
        period_us: Upkeep::options_period_us,
        act: Upkeep::write_options_after_burst,
    },
    // The times of sequence numbers, for column families that keep write times.
    Task { on_change: OnChange::Restart, period_us: Upkeep::times_period_us, act: Upkeep::record_time },
    // `WAL_ttl_seconds`: archived WALs are deleted by age, also while no WAL is archived.
    Task { on_change: OnChange::KeepPlan, period_us: Upkeep::archive_period_us, act: Upkeep::purge_archive },
];

const DUMP: usize = 0;
const PERSIST: usize = 1;
const TRIGGER: usize = 2;
const PROVE: usize = 3;
const OPTIONS: usize = 4;
const TIMES: usize = 5;
const ARCHIVE: usize = 6;

/// The state of a task.
#[derive(Default)]
struct Plan {
    /// Counts the plans. Only the newest plan runs.
    number: AtomicU64,
    planned: AtomicBool,
}

/// The periodic work of one database.
pub struct Upkeep {
    me: Weak<Upkeep>,
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    failures: Arc<Failures>,
    purge: Arc<FilePurger>,
    persist: OnceLock<Persist>,
    plans: [Plan; TASKS.len()],
    /// Held while a proof is written.
    looks: RankedMutex<prove::Looks>,
    /// The number of unwritten changes of the list of column families at the last look. A burst ends when the number
    /// did not change between two looks.
    burst: AtomicUsize,
}

impl Upkeep {
    /// Makes the tasks without a plan. No task runs before it is planned.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        failures: Arc<Failures>,
        purge: Arc<FilePurger>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Upkeep {
            me: me.clone(),
            context,
            schedule,
            failures,
            purge,
            persist: OnceLock::new(),
            plans: Default::default(),
            looks: RankedMutex::new(&ranks::PROOF, prove::Looks::default()),
            burst: AtomicUsize::new(0),
        })
    }

    /// Plans the dump of the statistics, the compactions by age, the proof, and the purge of the archive. [`Upkeep::persist_with`] plans the
    /// history of the statistics; [`Upkeep::families_changed`] plans the OPTIONS file.
    pub fn start(&self) {
        [DUMP, TRIGGER, PROVE, TIMES, ARCHIVE].into_iter().for_each(|task| self.plan(task));
    }

    /// Sets the function that stores a sample of the statistics, and plans this task. Only the first function is
    /// used.
    pub fn persist_with(&self, persist: Persist) {
        let _ = self.persist.set(persist);
        self.plan(PERSIST);
    }

    /// Plans the tasks again, after a change of the options of the database.
    pub fn options_changed(&self) {
        [DUMP, PERSIST, TRIGGER].into_iter().for_each(|task| self.plan(task));
    }

    /// Plans the compactions by age and the samples of write times again, after a change of the options of a column family.
    pub fn family_options_changed(&self) {
        self.plan(TRIGGER);
        self.write_times_changed();
    }

    /// Applies the times for which the column families keep write times, and plans the samples again. Called after a change of column
    /// families or of their options.
    pub fn write_times_changed(&self) {
        self.context.tools.keep_times(&self.context.families);
        self.plan(TIMES);
    }

    fn plan(&self, index: usize) {
        let (task, plan) = (&TASKS[index], &self.plans[index]);
        let restarts = task.on_change == OnChange::Restart;
        if restarts {
            plan.number.fetch_add(1, Ordering::AcqRel);
        }
        let Some(period_us) = (task.period_us)(self) else { return };
        base::invariant!(period_us > 0, "task {index} of the upkeep runs again after 0 microseconds");
        if plan.planned.swap(true, Ordering::AcqRel) && !restarts {
            return;
        }
        let number = plan.number.load(Ordering::Acquire);
        self.schedule.pool().spawn_after(period_us, Pool::Low, &self.me, move |me| me.run(index, number));
    }

    fn run(&self, index: usize, number: u64) {
        let (task, plan) = (&TASKS[index], &self.plans[index]);
        base::invariant!(
            number <= plan.number.load(Ordering::Acquire),
            "plan {number} of task {index} runs, and it was not made"
        );
        if plan.number.load(Ordering::Acquire) != number {
            return;
        }
        plan.planned.store(false, Ordering::Release);
        if self.is_closing() {
            return;
        }
        if (task.period_us)(self).is_some() {
            (task.act)(self);
        }
        if !self.is_closing() {
            self.plan(index);
        }
    }

    fn is_closing(&self) -> bool {
        self.context.tools.shutting_down.load(Ordering::Acquire)
    }

    fn dump_period_us(&self) -> Option<u64> {
        microseconds(self.context.tools.options.load().stats_dump_period_sec)
    }

    fn persist_period_us(&self) -> Option<u64> {
        self.persist.get()?;
        microseconds(self.context.tools.options.load().stats_persist_period_sec)
    }

    fn times_period_us(&self) -> Option<u64> {
        Some(self.context.tools.times.cadence_s()?.saturating_mul(1_000_000))
    }

    fn record_time(&self) {
        self.context.tools.record_time();
    }

    /// Returns the period of the purge of the archive. The seconds are those of RocksDB, `WalManager::PurgeObsoleteWALFiles`.
    /// RocksDB purges only together with other obsolete files.
    fn archive_period_us(&self) -> Option<u64> {
        const PERIOD_S_MAX: u64 = 600;
        let ttl_s = self.context.tools.options.load().WAL_ttl_seconds;
        // At least one second, and at most the longest period of RocksDB.
        (ttl_s > 0).then(|| (ttl_s / 2).clamp(1, PERIOD_S_MAX) * 1_000_000)
    }

    /// Deletes archived WALs by age. Deletes none while the deletion of files is disabled.
    fn purge_archive(&self) {
        if self.context.obsolete.disabled_count() == 0 {
            self.purge.purge_archive();
        }
    }

    fn trigger_period_us(&self) -> Option<u64> {
        Some(self.trigger_seconds().saturating_mul(1_000_000))
    }

    /// Returns the seconds between two looks for compactions by age. Follows RocksDB
    /// `ComputeTriggerCompactionPeriod`.
    fn trigger_seconds(&self) -> u64 {
        let o = self.context.tools.options.load();
        let others = [u64::from(o.stats_dump_period_sec), u64::from(o.stats_persist_period_sec)];
        let others = others.into_iter().filter(|&seconds| seconds > 0);
        let ages = self.context.families.all().into_iter().filter_map(|f| f.parts().pick.shortest_age());
        others
            .chain(ages.map(|age| age / TARDINESS))
            .fold(o.max_compaction_trigger_wakeup_seconds, u64::min)
            .max(1)
    }

    fn trigger(&self) {
        for family in self.context.families.all() {
            let pick = &family.parts().pick;
            if pick.shortest_age().is_some() || pick.read_triggered_compaction_threshold > 0.0 {
                self.schedule.reconsider(&family);
            }
        }
    }

    fn persist(&self) {
        if let Some(persist) = self.persist.get() {
            persist();
        }
    }

    /// Writes the statistics to the info log, as RocksDB's `DumpStats`.
    pub(super) fn dump_stats(&self) {
        if self.context.tools.shutting_down.load(Ordering::Acquire) {
            return;
        }
        let context = PropertyContext {
            tables: &self.context.tables,
            obsolete: &self.context.obsolete,
            numbers: &self.context.tools.numbers,
            stats: &self.context.tools.stats,
            released_below: self.context.tools.snapshots.released_below(),
            snapshots: self.context.tools.snapshots.count(),
            oldest_snapshot: self.context.tools.snapshots.oldest(),
            errors: &self.context.errors,
            min_wal_to_keep: self.context.committer.min_wal_to_keep(),
            activity: self.schedule.activity(),
            now_seconds: self.context.tools.env.clock.now_seconds(),
        };
        let events = &self.context.tools.events;
        let text = properties::dump(&context, &self.context.families.all());
        events.info(format_args!("------- DUMPING STATS -------"));
        events.info(format_args!("{text}"));
        if let Some(statistics) = self.context.tools.stats.statistics() {
            events.info(format_args!("STATISTICS:\n {statistics}"));
        }
    }
}

/// Returns the period of an option in microseconds. 0 seconds disables the task.
fn microseconds(seconds: u32) -> Option<u64> {
    (seconds > 0).then(|| u64::from(seconds).saturating_mul(1_000_000))
}

/// The number of looks in the time of the shortest age. So a file is compacted at most a fifth of this age too late.
const TARDINESS: u64 = 5;
