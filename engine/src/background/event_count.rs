//! Waking those who wait for jobs.

use std::time::Duration;

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering};

/// Counts what has happened. Who waits notes the count, asks its question, and sleeps only while the count is still
/// the same: nothing that happens between the question and the sleep is slept through. Its lock is the last of all to
/// be taken, so it may be told under any other.
#[derive(Default)]
pub(super) struct EventCount {
    count: Mutex<u64>,
    moved: Condvar,
}

impl EventCount {
    pub fn now(&self) -> u64 {
        *self.count.lock()
    }

    /// Something happened that somebody may wait for.
    pub fn tell(&self) {
        *self.count.lock() += 1;
        self.moved.notify_all();
    }

    /// Returns when something has happened since `seen`. At the latest after a while: a question may be answered by
    /// something that nobody tells, such as a file system that has room again.
    pub fn wait_past(&self, seen: u64) {
        const AGAIN: Duration = Duration::from_millis(10);
        let mut count = self.count.lock();
        if *count == seen {
            self.moved.wait_for(&mut count, AGAIN);
        }
    }
}

/// One more in a count, until it is dropped; then whoever waits is told. It outlives what it counts: so it has the count
/// and the event_count to itself.
pub(super) struct Out {
    count: Arc<AtomicUsize>,
    event_count: Arc<EventCount>,
}

impl Out {
    pub fn one(count: &Arc<AtomicUsize>, event_count: &Arc<EventCount>) -> Out {
        count.fetch_add(1, Ordering::AcqRel);
        Out { count: count.clone(), event_count: event_count.clone() }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.event_count.tell();
    }
}
