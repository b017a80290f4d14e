//! Locks, atomics and threads, from one place.
//!
//! Every room takes its primitives from here, so that a schedule explorer can be put in their place by
//! changing this file alone.

pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, OnceLock, Weak};

pub use arc_swap::ArcSwap;
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

/// Waits in stages until `done`: some pauses, then yields for as long as they come back at once. False: the
/// caller should block.
///
/// A yield that takes long says that other work wants this core; then sleeping until woken is better than
/// handing the core around. RocksDB's `write_thread_slow_yield_usec` and `write_thread_max_yield_usec` are the
/// same idea. Eight yields whatever they cost took 60 µs a write with two writers on a busy machine.
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

const SLOW_YIELD: std::time::Duration = std::time::Duration::from_micros(3);
const MAX_YIELD: std::time::Duration = std::time::Duration::from_micros(100);
