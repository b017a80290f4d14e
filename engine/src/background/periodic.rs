//! What is to be done every `stats_persist_period_sec`: whoever keeps the history of the statistics says what.

use env::executor::Pool;

use super::Background;
use crate::sync::Ordering;

/// Keeps one more moment of the statistics.
pub type Persist = Box<dyn Fn() + Send + Sync>;

impl Background {
    /// Sets what is done, once, and plans it.
    pub fn persist_with(&self, persist: Persist) {
        let _ = self.persist.set(persist);
        self.plan_persist();
    }

    /// Plans the next time, in place of what was planned before: at open, and when options change.
    pub fn plan_persist(&self) {
        let plan = self.persist_plan.fetch_add(1, Ordering::AcqRel) + 1;
        let seconds = u64::from(self.tools.options.load().stats_persist_period_sec);
        if seconds == 0 || self.persist.get().is_none() {
            return;
        }
        self.spawn_after(seconds.saturating_mul(1_000_000), Pool::Low, move |me| {
            if me.persist_plan.load(Ordering::Acquire) != plan
                || me.tools.shutting_down.load(Ordering::Acquire)
            {
                return;
            }
            if let Some(persist) = me.persist.get() {
                persist();
            }
            me.plan_persist();
        });
    }
}
