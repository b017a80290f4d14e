//! Waiting for jobs, and ending them.

use base::{Error, Kind, Result, Severity};
use env::executor::Pool;

use super::Background;
use crate::options::WaitForCompactOptions;
use crate::sync::Ordering;

impl Background {
    /// Waits until `ready` answers, asking again whenever a job has ended. Helps the executor: with an
    /// inline one the job waited for runs right here.
    pub(super) fn wait_until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.changed.now();
            if let Some(out) = ready() {
                return out;
            }
            if !self.tools.env.executor.help() && !self.tools.env.executor.pass_time() {
                self.changed.wait_past(seen);
            }
        }
    }

    /// As [`Background::wait_until`], without helping: for what only jobs bring about that have a thread already.
    pub(super) fn wait_for_others<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.changed.now();
            if let Some(out) = ready() {
                return out;
            }
            self.changed.wait_past(seen);
        }
    }

    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error, when one stops them; why a compaction failed meanwhile, even if it is tried
    /// again; Aborted if work is paused and that is to end the wait; TimedOut.
    pub fn wait_for_idle(&self, options: &WaitForCompactOptions) -> Result<()> {
        let failures = self.state.lock().compaction_failures;
        let clock = &self.tools.env.clock;
        let timeout = u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline = (timeout > 0).then(|| clock.now_nanos().saturating_add(timeout));
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
            if options.abort_on_pause && state.paused > 0 {
                return Some(Err(Error::aborted("background work is paused")));
            }
            if deadline.is_some_and(|deadline| clock.now_nanos() >= deadline) {
                return Some(Err(Error::new(Kind::TimedOut, "")));
            }
            let purging = options.wait_for_purge
                && (self.purge_scheduled.load(Ordering::Acquire)
                    || self.purges_running.load(Ordering::Acquire) > 0);
            let busy = purging
                || self.release_pending.load(Ordering::Acquire)
                || state.flushes_scheduled + state.compactions_scheduled + state.manuals_running > 0
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
            // A job with a slot could start later, even if it has no thread yet.
            (state.closing || state.flushes_scheduled + state.compactions_scheduled == 0).then_some(())
        });
    }

    /// Undoes one `pause`; false if there was none.
    pub fn unpause(&self) -> bool {
        let mut state = self.state.lock();
        let was_paused = state.paused > 0;
        state.paused = state.paused.saturating_sub(1);
        self.schedule(&mut state);
        was_paused
    }

    /// Undoes all: the database closes, and its last flush must not wait for whoever has paused it.
    pub fn unpause_all(&self) {
        let mut state = self.state.lock();
        state.paused = 0;
        self.schedule(&mut state);
    }

    /// Ends the background work: removes the queued jobs, and waits until the running jobs have released
    /// their resources. After a close, the caller is the only owner of the objects that it passed to the
    /// open.
    pub fn close(&self) {
        self.obsolete.release_notifier().silence();
        {
            let mut state = self.state.lock();
            state.closing = true;
            state.flushes.clear();
            state.compactions.clear();
        }
        self.tools.shutting_down.store(true, Ordering::Release);
        self.tools.flush_priority.close();
        self.unschedule();
        self.wait_until(|| {
            let state = self.state.lock();
            let purges = self.purges_running.load(Ordering::Acquire);
            let jobs = state.flushes_running + state.compactions_running;
            let opening = usize::from(self.opening.load(Ordering::Acquire));
            let running = jobs + opening + state.manuals_running + state.resumes_running + purges;
            (running == 0).then_some(())
        });
        self.wait_until(|| {
            self.unschedule();
            (self.out.load(Ordering::Acquire) == 0).then_some(())
        });
    }

    fn unschedule(&self) {
        for pool in Pool::ALL {
            self.tools.env.executor.unschedule(pool, self.tag);
        }
    }
}
