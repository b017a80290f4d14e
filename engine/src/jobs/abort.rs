//! Abort of all compactions, manual and automatic.
//!
//! Follows RocksDB `DBImpl::AbortAllCompactions` and `DBImpl::ResumeAllCompactions`.

use base::stats::Ticker;
use base::{Error, Result, Subcode};

use super::manual::ManualCompactions;
use crate::schedule::aborted;
use crate::sync::Ordering;

impl ManualCompactions {
    /// Cancels all running compactions, and starts no compaction until [`ManualCompactions::resume_compactions`]. Returns when
    /// no compaction runs. Calls are counted. Flushes continue.
    pub fn abort_compactions(&self) {
        let canceled = {
            let mut state = self.schedule.queues();
            state.aborts += 1;
            let automatic = state.compaction.flags.iter().map(|(_, flag)| flag);
            let flags: Vec<_> = automatic.chain(&state.manual.flags).cloned().collect();
            flags.iter().for_each(|flag| flag.store(true, Ordering::Release));
            flags.len()
        };
        self.context.tools.stats.add(Ticker::CompactionAborted, canceled as u64);
        self.schedule.pool().notify();
        self.schedule.pool().wait_until(|| {
            let state = self.schedule.queues();
            (state.compaction.running + state.manual.running == 0).then_some(())
        });
    }

    /// Undoes one [`ManualCompactions::abort_compactions`].
    ///
    /// # Errors
    /// InvalidArgument if compactions are not aborted.
    pub fn resume_compactions(&self) -> Result<()> {
        let mut state = self.schedule.queues();
        if state.aborts == 0 {
            return Err(Error::invalid_argument("compactions are not aborted"));
        }
        state.aborts -= 1;
        self.schedule.start_due(&mut state);
        drop(state);
        self.schedule.pool().notify();
        Ok(())
    }

    /// Gives the error of a canceled manual compaction the subcode of the abort, if an abort canceled the compaction.
    pub(super) fn with_abort_subcode<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| match error.subcode() {
            Subcode::ManualCompactionPaused if self.schedule.queues().aborts > 0 => aborted(),
            _ => error,
        })
    }
}
