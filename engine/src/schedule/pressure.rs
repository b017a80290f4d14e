//! The pressure of background jobs, for listeners. RocksDB: `NotifyOnBackgroundJobPressureChanged`.

use lsm::pressure::proximity_percent;

use super::Schedule;
use crate::event::{Event, JobPressure};

impl Schedule {
    /// Calls the listeners with the present pressure. The caller holds no lock.
    pub fn report_pressure(&self) {
        let events = &self.tools.events;
        if events.has_listeners() {
            events.notify(&Event::JobPressureChanged(self.job_pressure()));
        }
    }

    fn job_pressure(&self) -> JobPressure {
        let families = self.families.all();
        let state = self.queues();
        let near = families.iter().filter(|family| !family.is_dropped()).filter_map(|family| {
            let (_, _, load) = state.stalls.pressures.get(&family.id())?;
            Some(proximity_percent(load, &family.parts().pick))
        });
        JobPressure {
            compaction_scheduled: state.compaction.scheduled + state.manual.running,
            compaction_running: state.compaction.running + state.manual.running,
            flush_scheduled: state.flush.scheduled,
            flush_running: state.flush.running,
            write_stall_proximity_percent: near.max().unwrap_or(0),
            compaction_speedup_active: self.controller.needs_speedup(),
        }
    }
}
