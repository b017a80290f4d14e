//! `PauseBackgroundWork` and `ContinueBackgroundWork`.

use super::Schedule;

impl Schedule {
    /// Starts no new job. Returns when no job runs. Calls are counted: see [`Schedule::unpause`].
    pub fn pause(&self) {
        self.queues().paused += 1;
        self.pool.wait_until(|| {
            let state = self.queues();
            // A job with a slot could start later, even if it has no thread yet.
            (state.closing || state.flush.scheduled + state.compaction.scheduled == 0).then_some(())
        });
    }

    /// Undoes one [`Schedule::pause`]. Returns false if the schedule was not paused.
    pub fn unpause(&self) -> bool {
        let mut state = self.queues();
        let was_paused = state.paused > 0;
        // The user may continue a schedule that is not paused.
        state.paused = state.paused.saturating_sub(1);
        self.start_due(&mut state);
        was_paused
    }

    /// Undoes all calls of [`Schedule::pause`]. The last flush of a close must not wait for the caller that paused.
    pub fn unpause_all(&self) {
        let mut state = self.queues();
        state.paused = 0;
        self.start_due(&mut state);
    }
}
