//! Locks, atomics and threads, from one place.
//!
//! The rooms that wait for each other take their primitives from here, so that a schedule explorer can stand in their
//! place: under `--cfg shuttle` they are Shuttle's, every call of them is a point where another thread may run, and
//! one seed is one schedule (`engine/tests/schedules`). Otherwise they are the standard library's and `parking_lot`'s,
//! re-exported, and cost nothing more.
//!
//! Memory with a clever layout (`mem`) is explored by Loom instead; under Shuttle each of its calls is one step.

#[cfg(not(shuttle))]
mod real {
    pub use std::sync::OnceLock;
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    pub use std::{thread, thread_local};

    pub use arc_swap::{ArcSwap, Guard};
    pub use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };
}
#[cfg(not(shuttle))]
pub use real::*;

#[cfg(shuttle)]
mod explored;
#[cfg(shuttle)]
pub use explored::*;

pub use std::sync::{Arc, Weak};

/// A flag raised once and looked at by rooms that know no threads (a compaction to be given up): plain even under the
/// explorer, which has points enough around it.
pub type Flag = std::sync::atomic::AtomicBool;

/// Waits in stages until `done`: some pauses, then yields for as long as they come back at once. False: the
/// caller should block.
///
/// A yield that takes long says that other work wants this core; then sleeping until woken is better than
/// handing the core around. RocksDB's `write_thread_slow_yield_usec` and `write_thread_max_yield_usec` are the
/// same idea. Eight yields whatever they cost took 60 µs a write with two writers on a busy machine.
#[cfg(not(shuttle))]
#[allow(clippy::disallowed_methods, reason = "the replacement; how long yields take decides who sleeps, nothing else")]
pub fn spin_until(done: impl Fn() -> bool) -> bool {
    for _ in 0..200 {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    let start = std::time::Instant::now();
    let mut before = start;
    loop {
        std::thread::yield_now();
        if done() {
            return true;
        }
        let now = std::time::Instant::now();
        if now - before > SLOW_YIELD || now - start > MAX_YIELD {
            return false;
        }
        before = now;
    }
}

#[cfg(not(shuttle))]
const SLOW_YIELD: std::time::Duration = std::time::Duration::from_micros(3);
#[cfg(not(shuttle))]
const MAX_YIELD: std::time::Duration = std::time::Duration::from_micros(100);

/// One look: under the explorer, waiting longer is a matter of the schedule.
#[cfg(shuttle)]
pub fn spin_until(done: impl Fn() -> bool) -> bool {
    done()
}
