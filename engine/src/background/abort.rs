//! Abort of all compactions, manual and automatic.
//!
//! Follows RocksDB `DBImpl::AbortAllCompactions` and `DBImpl::ResumeAllCompactions`.

use base::stats::Ticker;
use base::{Error, Result, Subcode};

use super::{Background, State};
use crate::sync::Ordering;

impl Background {
    /// Cancels all running compactions, and starts no compaction until [`Background::resume_compactions`]. Returns when
    /// no compaction runs. Calls are counted. Flushes continue.
    pub fn abort_compactions(&self) {
        let canceled = {
            let mut state = self.state.lock();
            state.aborts += 1;
            let automatic = state.automatic_flags.iter().map(|(_, flag)| flag);
            let flags: Vec<_> = automatic.chain(&state.manual_flags).cloned().collect();
            flags.iter().for_each(|flag| flag.store(true, Ordering::Release));
            flags.len()
        };
        self.tools.stats.add(Ticker::CompactionAborted, canceled as u64);
        self.changed.tell();
        self.wait_until(|| {
            let state = self.state.lock();
            (state.compactions_running + state.manuals_running == 0).then_some(())
        });
    }

    /// Undoes one [`Background::abort_compactions`].
    ///
    /// # Errors
    /// InvalidArgument if compactions are not aborted.
    pub fn resume_compactions(&self) -> Result<()> {
        let mut state = self.state.lock();
        if state.aborts == 0 {
            return Err(Error::invalid_argument("compactions are not aborted"));
        }
        state.aborts -= 1;
        self.schedule(&mut state);
        drop(state);
        self.changed.tell();
        Ok(())
    }

    /// Gives the error of a canceled manual compaction the subcode of the abort, if an abort canceled the compaction.
    pub(super) fn told_of_abort<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| match error.subcode() {
            Subcode::ManualCompactionPaused if self.state.lock().aborts > 0 => aborted(),
            _ => error,
        })
    }
}

impl State {
    /// # Errors
    /// Incomplete with the subcode `CompactionAborted` if compactions are aborted.
    pub(super) fn check_abort(&self) -> Result<()> {
        if self.aborts > 0 { Err(aborted()) } else { Ok(()) }
    }
}

fn aborted() -> Error {
    Error::incomplete("all compactions are aborted").with_subcode(Subcode::CompactionAborted)
}
