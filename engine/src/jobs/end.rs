//! Waits for background jobs, and ends them.

use base::{Error, Kind, Result, Severity};

use super::Jobs;
use crate::options::WaitForCompactOptions;
use crate::sync::Ordering;

impl Jobs {
    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error of any severity. The error of a compaction that failed during the wait, even if the compaction
    /// is tried again. Compactions without space below the limit of the SST file manager, canceled compactions, and
    /// compactions of dropped column families are no errors. Aborted if background work is paused and `abort_on_pause` is set; without
    /// this option, the call waits for the end of the pause if a job is due. TimedOut.
    pub fn wait_for_idle(&self, options: &WaitForCompactOptions) -> Result<()> {
        let failures = self.schedule.queues().compaction.failures;
        let clock = &self.context.tools.env.clock;
        let timeout = u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline = (timeout > 0).then(|| clock.now_nanos().saturating_add(timeout));
        self.schedule.pool().wait_until(|| {
            // Under the lock of the queues: a job sets its error before it counts as ended. Otherwise a job that fails between
            // the two reads is neither an error nor a running job, and the wait returns OK.
            let state = self.schedule.queues();
            if let Some(error) = self.context.errors.get().filter(|e| e.severity() >= Severity::Soft) {
                return Some(Err(error));
            }
            if state.closing {
                return Some(Err(Error::shutdown_in_progress("the database is closing")));
            }
            if state.compaction.failures > failures
                && let Some(error) = &state.compaction.last_failure
            {
                return Some(Err(error.clone()));
            }
            if options.abort_on_pause && state.paused > 0 {
                return Some(Err(Error::aborted("background work is paused")));
            }
            if deadline.is_some_and(|deadline| clock.now_nanos() >= deadline) {
                return Some(Err(Error::new(Kind::TimedOut, "")));
            }
            let purging = options.wait_for_purge && self.purge.is_busy();
            let busy = purging
                || self.schedule.is_release_pending()
                || state.flush.scheduled + state.compaction.scheduled + state.manual.running > 0
                || !state.flush.queue.is_empty()
                || !state.compaction.queue.is_empty();
            (!busy).then_some(Ok(()))
        })
    }

    /// Ends the background work: removes the queued jobs, and waits until the running jobs have released
    /// their resources. After a close, the caller is the only owner of the objects that it passed to the
    /// open. A second call waits too.
    pub fn close(&self) {
        self.begin_close();
        self.schedule.pool().wait_until(|| {
            let state = self.schedule.queues();
            let purges = self.purge.running();
            let jobs = state.flush.running + state.compaction.running;
            let opening = usize::from(self.table_opener.is_opening());
            let running = jobs + opening + state.manual.running + state.resume.running + purges;
            (running == 0).then_some(())
        });
        self.schedule.pool().drain();
    }

    /// Lets no job start from now on, and asks the running jobs to end.
    pub fn begin_close(&self) {
        self.context.obsolete.release_notifier().remove_callback();
        {
            let mut state = self.schedule.queues();
            state.closing = true;
            state.flush.queue.clear();
            state.compaction.queue.clear();
        }
        self.context.tools.shutting_down.store(true, Ordering::Release);
        self.context.tools.flush_priority.close();
        if let Some(service) = &self.context.tools.compaction_service {
            service.cancel_awaiting_jobs();
        }
        self.schedule.pool().unschedule();
    }
}
