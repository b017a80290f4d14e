//! Waiting for jobs, and ending them.

use base::{Error, Result, Severity};
use env::executor::Pool;

use super::Background;

impl Background {
    /// Waits until `ready` answers, asking again whenever a job has ended. Helps the executor: with an
    /// inline one the job waited for runs right here.
    pub(super) fn wait_until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.changed.now();
            if let Some(out) = ready() {
                return out;
            }
            if !self.tools.env.executor.help() {
                self.changed.wait_past(seen);
            }
        }
    }

    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error, when one stops them; why a compaction failed meanwhile, even if it is tried
    /// again.
    pub fn wait_for_idle(&self) -> Result<()> {
        let failures = self.state.lock().compaction_failures;
        self.wait_until(|| {
            if let Some(error) = self.errors.get().filter(|e| e.severity() >= Severity::Hard) {
                return Some(Err(error));
            }
            let state = self.state.lock();
            if state.closing {
                return Some(Err(Error::shutdown_in_progress("the database is closing")));
            }
            if state.compaction_failures > failures
                && let Some(error) = &state.compaction_failure
            {
                return Some(Err(error.clone()));
            }
            let busy = state.flushes_scheduled + state.compactions_scheduled + state.manuals_running > 0
                || !state.flushes.is_empty()
                || (!state.compactions.is_empty() && state.paused == 0);
            (!busy).then_some(Ok(()))
        })
    }

    /// No new job starts; returns when none runs. Calls nest.
    pub fn pause(&self) {
        self.state.lock().paused += 1;
        self.wait_until(|| {
            let state = self.state.lock();
            // Those that have a slot but no thread yet would start after all.
            (state.closing || state.flushes_scheduled + state.compactions_scheduled == 0).then_some(())
        });
    }

    /// Undoes one `pause`.
    pub fn unpause(&self) {
        let mut state = self.state.lock();
        state.paused = state.paused.saturating_sub(1);
        self.schedule(&mut state);
    }

    /// Undoes all: the database closes, and its last flush must not wait for whoever has paused it.
    pub fn unpause_all(&self) {
        let mut state = self.state.lock();
        state.paused = 0;
        self.schedule(&mut state);
    }

    /// Ends all: queued jobs are taken back, running ones waited for.
    pub fn close(&self) {
        self.obsolete.bell().silence();
        {
            let mut state = self.state.lock();
            state.closing = true;
            state.flushes.clear();
            state.compactions.clear();
        }
        self.tools.shutting_down.store(true, crate::sync::Ordering::Release);
        for pool in Pool::ALL {
            self.tools.env.executor.unschedule(pool, self.tag);
        }
        self.wait_until(|| {
            let state = self.state.lock();
            let purges = self.purges_running.load(crate::sync::Ordering::Acquire);
            let jobs = state.flushes_running + state.compactions_running;
            let running = jobs + state.manuals_running + state.resumes_running + purges;
            (running == 0).then_some(())
        });
    }
}
