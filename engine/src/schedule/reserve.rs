//! Reservations: no other compaction may use the SST files and the key ranges of a running compaction.

use lsm::pick::{Task, View};

use super::{Queues, Schedule};
use crate::compaction::Job;
use crate::family::{Family, SuperVersion};
use crate::sync::{Arc, Flag};

impl Schedule {
    /// Reserves the input files of the task, and records the compaction as running.
    pub fn reserve(
        &self,
        state: &mut Queues,
        family: &Arc<Family>,
        task: Task,
        canceled: Option<Arc<Flag>>,
    ) -> Job {
        let pin = family.pin_owned();
        task.reserve();
        let id = self.tools.take_job_id();
        let running = task.running(&pin.version);
        base::invariant!(
            task.files().all(|(level, file)| pin
                .version
                .level(level)
                .iter()
                .any(|f| f.number == file.number)),
            "a compaction of {family:?} has an input file that the version does not have"
        );
        base::invariant!(
            task.output.level <= pin.version.last_level(),
            "a compaction writes to {} of {} levels",
            task.output.level,
            pin.version.num_levels()
        );
        base::invariant!(
            !state.has_reserved(family.id(), id),
            "compaction {} of {family:?} reserves its inputs twice",
            id
        );
        state.compaction.reserved.entry(family.id()).or_default().push((id, running));
        Job {
            id,
            family: family.clone(),
            task,
            version: pin.version.clone(),
            parts: pin.parts.clone(),
            canceled,
            output_dir: None,
            by_compact_files: false,
        }
    }

    /// Ends the reservations of a job.
    pub fn release(&self, job: &Job) {
        let mut state = self.queues();
        base::invariant!(
            state.has_reserved(job.family.id(), job.id),
            "compaction {} of {:?} releases what it did not reserve",
            job.id,
            job.family
        );
        job.task.release();
        state.compaction.flags.retain(|(id, _)| *id != job.id);
        state.unreserve(job.family.id(), job.id);
    }

    /// Calls `look` with the input of a compaction picker: the version, and the compactions that run now.
    pub fn viewed<T>(
        &self,
        state: &Queues,
        family: &Family,
        pin: &SuperVersion,
        look: impl FnOnce(&View<'_>) -> T,
    ) -> T {
        let running = state.running_of(family.id());
        let ts_low = family.state().full_history_ts_low.clone();
        look(&View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
            young_after: self.tools.young_after(&pin.parts.pick),
        })
    }
}
