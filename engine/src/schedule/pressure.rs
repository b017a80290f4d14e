//! What the schedule reports about write stalls and about the pressure of background jobs: lines of LOG, and calls of listeners.

use std::fmt;

use lsm::pressure::{Cause, Decision, Load, Stall, proximity_percent};

use super::{Schedule, condition_of};
use crate::event::{Event, JobPressure, StallCondition};
use crate::family::Family;
use crate::output::named;

impl Schedule {
    /// Writes a line to LOG if the column family got another write stall or another cause of its write stall. Calls the listeners
    /// if the column family got another write stall. The caller holds no lock.
    pub(super) fn report_stall(&self, family: &Family, before: &Decision, now: &Decision, load: &Load) {
        let (from, to) = (condition_of(before), condition_of(now));
        let events = &self.tools.events;
        if to != StallCondition::Normal && (from != to || before.cause != now.cause) {
            let max_memtables = family.parts().pick.buffers.max_write_buffer_number;
            let line = StallLine { stall: now.stall, cause: now.cause, load, max_memtables };
            events.warn(format_args!("[{}] {line}", family.name()));
        }
        if from != to {
            events.emit(&Event::StallChanged { family: named(family), from, to });
        }
    }

    /// Calls the listeners with the present pressure. The caller holds no lock. RocksDB: `NotifyOnBackgroundJobPressureChanged`.
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

/// The line of LOG about a write stall. The words are RocksDB's, because programs search LOG for them. Source: RocksDB,
/// `ColumnFamilyData::RecalculateWriteStallConditions` (`db/column_family.cc`).
struct StallLine<'a> {
    stall: Stall,
    cause: Cause,
    load: &'a Load,
    max_memtables: usize,
}

impl fmt::Display for StallLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = self.load;
        out.write_str(if self.stall == Stall::Stopped { "Stopping" } else { "Stalling" })?;
        match self.cause {
            Cause::L0FileCountLimit => {
                write!(out, " writes because we have {} level-0 files", load.num_l0_files)?;
            }
            Cause::PendingCompactionBytes => write!(
                out,
                " writes because of estimated pending compaction bytes {}",
                load.pending_compaction_bytes
            )?,
            Cause::MemtableLimit | Cause::WriteBufferManagerLimit | Cause::None => write!(
                out,
                " writes because we have {} immutable memtables (waiting for flush), max_write_buffer_number is set to {}",
                load.num_unflushed_memtables, self.max_memtables
            )?,
        }
        match self.stall {
            Stall::Delayed { rate } => write!(out, " rate {rate}"),
            Stall::Normal | Stall::Paced { .. } | Stall::Stopped => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_write_stall_has_the_words_of_rocksdb() {
        let load = Load {
            num_unflushed_memtables: 3,
            num_l0_files: 36,
            l0_bytes: 0,
            pending_compaction_bytes: 274_877_906_944,
            num_marked_files: 0,
            bottommost_bytes: 0,
        };
        let line = |stall, cause| StallLine { stall, cause, load: &load, max_memtables: 4 }.to_string();
        let delayed = Stall::Delayed { rate: 16_777_216 };
        assert_eq!(
            [Cause::MemtableLimit, Cause::L0FileCountLimit, Cause::PendingCompactionBytes]
                .map(|cause| [line(Stall::Stopped, cause), line(delayed, cause)])
                .concat()
                .join("\n"),
            "Stopping writes because we have 3 immutable memtables (waiting for flush), max_write_buffer_number is set to 4\n\
             Stalling writes because we have 3 immutable memtables (waiting for flush), max_write_buffer_number is set to 4 \
             rate 16777216\n\
             Stopping writes because we have 36 level-0 files\n\
             Stalling writes because we have 36 level-0 files rate 16777216\n\
             Stopping writes because of estimated pending compaction bytes 274877906944\n\
             Stalling writes because of estimated pending compaction bytes 274877906944 rate 16777216"
        );
    }
}
