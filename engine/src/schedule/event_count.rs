//! Wakes the threads that wait for jobs.

use std::time::Duration;

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering};

/// Counts events. A waiting thread reads the count, checks its condition, and sleeps only if the count has
/// not changed. So no event between the check and the sleep is missed. The lock of the count is the last in
/// the lock order, so a thread may notify while it holds any other lock.
#[derive(Default)]
pub struct EventCount {
    count: Mutex<u64>,
    moved: Condvar,
}

impl EventCount {
    /// Returns the number of events so far. Read it before the check of the condition, then call
    /// [`EventCount::wait_past`].
    pub fn now(&self) -> u64 {
        *self.count.lock()
    }

    /// Counts an event, and wakes the waiting threads.
    pub fn notify(&self) {
        *self.count.lock() += 1;
        self.moved.notify_all();
    }

    /// Returns after an event that is newer than `seen`. Also returns after a short time, because some
    /// conditions change without an event: for example, a full file system gets space.
    pub fn wait_past(&self, seen: u64) {
        const AGAIN: Duration = Duration::from_millis(10);
        let mut count = self.count.lock();
        base::invariant!(seen <= *count, "a thread has seen {seen} events, and {} were counted", *count);
        if *count == seen {
            self.moved.wait_for(&mut count, AGAIN);
        }
    }
}

/// Increments a count until it is dropped, and then wakes the waiting threads. This guard can outlive the
/// counted object, so it owns the count and the event count.
pub struct Out {
    count: Arc<AtomicUsize>,
    event_count: Arc<EventCount>,
}

impl Out {
    /// Adds 1 to `count`. The drop of the returned guard subtracts 1 and wakes the threads that wait for
    /// `event_count`.
    pub fn one(count: &Arc<AtomicUsize>, event_count: &Arc<EventCount>) -> Out {
        count.fetch_add(1, Ordering::AcqRel);
        Out { count: count.clone(), event_count: event_count.clone() }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let before = self.count.fetch_sub(1, Ordering::AcqRel);
        base::invariant!(before > 0, "more background jobs end than began");
        self.event_count.notify();
    }
}
