//! Starts many threads once, before the measured part of a run, so that libraries allocate their tables for threads.
//!
//! The table of waiting places of `parking_lot` doubles with the largest number of threads that ever waited, and old
//! tables are never freed: 2 KiB for 6 threads, 4 KiB for 11, 8 KiB for 22. A closed database leaves 148 KiB. So the
//! first epoch with so many threads would show growth of 2.7 %, even in the last minutes of an hour (the 54th minute in
//! one run). The table grows only once. So more threads than any epoch has wait once before the first epoch.

use std::thread;

use parking_lot::{Condvar, Mutex};

/// More threads than the pools of an epoch have. With one worker, the table of `parking_lot` then has 8 KiB.
const THREADS: usize = 24;

/// Makes [`THREADS`] and `workers` threads wait at the same time.
pub fn gather(workers: usize) {
    let crowd = THREADS + workers;
    let (waiting, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..crowd {
            scope.spawn(|| {
                let mut waiting = waiting.lock();
                *waiting += 1;
                changed.notify_all();
                changed.wait_while(&mut waiting, |waiting| *waiting < crowd);
            });
        }
    });
}
