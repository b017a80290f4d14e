//! The statistics in the LOG, every `stats_dump_period_sec`.

use env::executor::Pool;

use super::Background;
use crate::sync::Ordering;

impl Background {
    /// Plans the next dump, if the options want any and none is planned. A period that changes counts from
    /// the next dump on; one that begins at 0 is looked at again when options change.
    pub fn plan_dump(&self) {
        let seconds = u64::from(self.tools.options.load().stats_dump_period_sec);
        if seconds == 0 || self.dump_planned.swap(true, Ordering::AcqRel) {
            return;
        }
        self.spawn_after(seconds.saturating_mul(1_000_000), Pool::Low, |me| {
            me.dump_planned.store(false, Ordering::Release);
            if me.tools.options.load().stats_dump_period_sec > 0 {
                me.dump_stats();
            }
            if !me.tools.shutting_down.load(Ordering::Acquire) {
                me.plan_dump();
            }
        });
    }
}
