//! What the libraries below keep for the most threads that ever lived at once, taken at the beginning.
//!
//! `parking_lot` has a table of waiting places that doubles with the most threads that ever waited, and lets none of its
//! tables go: 2 KiB for 6 threads, 4 for 11, 8 for 22. Beside 148 KiB that a closed database leaves, the epoch that first
//! draws so many threads would be growth of 2.7 %, and it may come in the last minutes of an hour (it did, in the 54th).
//! None of it is taken twice. So a crowd of more threads than an epoch has waits once before the first.

use std::thread;

use parking_lot::{Condvar, Mutex};

/// More than the pools of an epoch have; with one worker beside them `parking_lot`'s table is 8 KiB.
const THREADS: usize = 24;

/// Has so many threads wait at once, beside those of the settings.
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
