//! Compactions that no level requests: periodic compactions, and compactions that become useful when a
//! snapshot is released.
//!
//! Follows RocksDB `DBImpl::TriggerPeriodicCompaction`, `DBImpl::ComputeTriggerCompactionPeriod` and
//! `DBImpl::ReleaseSnapshot`.

use env::executor::Pool;

use super::Background;
use crate::sync::Ordering;

/// The part of the shortest age by which a file may be compacted too late.
const TARDINESS: u64 = 5;

impl Background {
    /// Plans the next look, in place of what was planned before: at open, and when options change.
    pub fn plan_trigger(&self) {
        let seconds = self.trigger_seconds();
        let plan = self.trigger_plan.fetch_add(1, Ordering::AcqRel) + 1;
        self.spawn_after(seconds.saturating_mul(1_000_000), Pool::Low, move |me| {
            if me.trigger_plan.load(Ordering::Acquire) != plan
                || me.tools.shutting_down.load(Ordering::Acquire)
            {
                return;
            }
            for family in me.families.all() {
                let pick = &family.parts().pick;
                if pick.shortest_age().is_some() || pick.read_triggered_compaction_threshold > 0.0 {
                    me.reconsider(&family);
                }
            }
            me.plan_trigger();
        });
    }

    fn trigger_seconds(&self) -> u64 {
        let o = self.tools.options.load();
        let others = [u64::from(o.stats_dump_period_sec), u64::from(o.stats_persist_period_sec)];
        let others = others.into_iter().filter(|&seconds| seconds > 0);
        let ages = self.families.all().into_iter().filter_map(|f| f.parts().pick.shortest_age());
        others
            .chain(ages.map(|age| age / TARDINESS))
            .fold(o.max_compaction_trigger_wakeup_seconds, u64::min)
            .max(1)
    }

    /// Snapshots were released that held old versions in bottommost files.
    pub(super) fn schedule_released(&self) {
        if self.release_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.spawn(Pool::Low, |me| {
            me.release_pending.store(false, Ordering::Release);
            me.families.all().iter().for_each(|family| me.reconsider(family));
            me.changed.tell();
        });
    }
}
