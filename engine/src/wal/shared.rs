//! Syncs that several threads share.
//!
//! ```text
//!  thread a   arrive, lead ─► sync of a ─────────────────► done
//!  thread b            arrive ─► wait ─────────────────────┬─► lead ─► sync of b and c ─► done
//!  thread c                 arrive ─► wait ────────────────┴─► wait ────────────────────► done
//! ```
//! A thread arrives after its records are appended. A sync that starts after the arrival makes these records durable. So the
//! threads that arrive during a sync form the group of the next sync. One of them leads: it syncs, and the other threads get
//! the outcome. Before the sync, the leader may wait a moment for the threads that come back from the sync before
//! ([`Gather`]).

use std::mem;
use std::time::Duration;

use base::stats::{Cause, Step};
use base::{Error, Result};
use env::Clock;

use super::gather::Gather;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, wait_briefly};

#[cfg(all(test, not(shuttle), not(loom)))]
mod tests;

/// The outcome of [`SharedSyncs::share`].
#[derive(Debug)]
pub(super) enum Shared {
    /// This thread led the sync.
    Led(Result<()>),
    /// Another thread led the sync.
    Followed(Result<()>),
}

/// The threads that share syncs.
#[derive(Debug, Default)]
pub(super) struct SharedSyncs {
    state: Mutex<State>,
    /// Notified when a group has all expected threads.
    gathered: Condvar,
    /// Notified when a sync has ended.
    ended: Condvar,
}

/// The outcome of the sync of one group, after the sync.
type Outcome = Arc<OnceLock<Result<()>>>;

#[derive(Debug, Default)]
struct State {
    /// The group of the next sync.
    next: Outcome,
    /// The number of threads in the group of the next sync.
    threads: usize,
    /// True while a thread leads.
    led: bool,
    /// While a leader waits for threads: how many threads end the wait. Otherwise 0.
    wanted: usize,
    gather: Gather,
}

impl SharedSyncs {
    /// Returns after a sync that started after this call. This thread calls `sync`, or another thread calls its own `sync`.
    /// Only one thread calls `sync` at a time.
    pub fn share(&self, clock: &dyn Clock, sync: impl FnOnce() -> Result<()>) -> Shared {
        let mut state = self.state.lock();
        state.threads += 1;
        if state.wanted > 0 && state.threads >= state.wanted {
            self.gathered.notify_one();
        }
        let group = state.next.clone();
        while state.led {
            self.ended.wait(&mut state);
            if let Some(outcome) = group.get() {
                return Shared::Followed(outcome.clone());
            }
        }
        state.led = true;
        if let Some(limit) = {
            let present = state.threads;
            state.gather.wait_limit(present)
        } {
            self.wait_for_threads(&mut state, limit);
        }
        base::invariant!(state.threads > 0, "a sync is led for no thread");
        let threads = mem::take(&mut state.threads);
        state.next = Outcome::default();
        drop(state);
        let lead = Lead { syncs: self, group: &group, threads, nanos: 0, done: None };
        lead.run(clock, sync)
    }

    /// Waits until the group has the expected threads, or until `limit` has passed.
    #[cold]
    fn wait_for_threads(&self, state: &mut MutexGuard<'_, State>, limit: Duration) {
        let _step = Step::begin(Cause::WriteGroup);
        let before = state.threads;
        state.wanted = state.gather.expected();
        wait_briefly(&self.gathered, state, limit);
        state.wanted = 0;
        let after = state.threads;
        state.gather.record_wait(before, after);
    }
}

/// A thread that leads a sync. Its end gives the outcome to the group, also if the sync panics.
struct Lead<'a> {
    syncs: &'a SharedSyncs,
    group: &'a Outcome,
    threads: usize,
    /// The time of the sync.
    nanos: u64,
    done: Option<Result<()>>,
}

impl Lead<'_> {
    fn run(mut self, clock: &dyn Clock, sync: impl FnOnce() -> Result<()>) -> Shared {
        let began = clock.now_nanos();
        let outcome = sync();
        self.nanos = clock.nanos_since(began);
        self.done = Some(outcome.clone());
        Shared::Led(outcome)
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let outcome = self.done.take().unwrap_or_else(|| Err(Error::aborted("a sync of the WAL panicked")));
        let mut state = self.syncs.state.lock();
        let waiting = state.threads;
        if outcome.is_ok() {
            state.gather.record_sync(self.nanos);
        }
        state.gather.record_group(self.threads);
        state.gather.record_waiting(waiting);
        let first = self.group.set(outcome).is_ok();
        base::invariant!(first, "a group of {} threads gets two outcomes", self.threads);
        state.led = false;
        drop(state);
        self.syncs.ended.notify_all();
    }
}
