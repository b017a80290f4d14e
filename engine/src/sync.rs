//! Locks, atomics and threads, from one place.
//!
//! Every room takes its primitives from here, so that a schedule explorer can be put in their place by
//! changing this file alone.

pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, OnceLock, Weak};

pub use arc_swap::ArcSwap;
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

/// Waits in three stages until `done`: a few pauses, some yields, then false: the caller should block.
/// On two cores a longer spin takes the time of the thread that is waited for.
pub fn spin_until(done: impl Fn() -> bool) -> bool {
    for _ in 0..64 {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    for _ in 0..8 {
        std::thread::yield_now();
        if done() {
            return true;
        }
    }
    false
}
