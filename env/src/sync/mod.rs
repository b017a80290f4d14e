//! Locks, atomics and threads, from one place.
//!
//! Modules with threads use the primitives of this module, because a schedule explorer can replace the primitives.
//! Under `--cfg shuttle` the primitives are Shuttle's: another thread may run at every call, and one seed is one
//! schedule (`engine/tests/schedules`). Without this cfg, the module re-exports the primitives of the standard
//! library and of `parking_lot`, at no cost.
//!
//! Loom explores the memory layouts of `mem` instead. Under Shuttle, each call of `mem` is one step.

#[cfg(not(shuttle))]
mod real {
    pub use std::sync::OnceLock;
    pub use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
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

mod ranked;

/// Waits for a notification, or until `limit` has passed. Under the explorer, where time stands still, the limit has passed
/// after one step of another thread.
pub fn wait_briefly<T>(condvar: &Condvar, guard: &mut MutexGuard<'_, T>, limit: std::time::Duration) {
    #[cfg(not(shuttle))]
    condvar.wait_for(guard, limit);
    #[cfg(shuttle)]
    {
        let _ = (condvar, limit);
        MutexGuard::unlocked(guard, thread::yield_now);
    }
}

pub use ranked::{Rank, RankedGuard, RankedMutex};
pub use std::sync::{Arc, Weak};

/// A flag that one thread sets and another thread reads, for crates without threads: for example the cancellation of
/// a compaction. The flag is a plain atomic under Shuttle too, because the code around it has enough steps.
pub type Flag = std::sync::atomic::AtomicBool;

/// Decides how long a waiting thread spins before it blocks. The decision adapts to earlier waits.
///
/// A wait first checks its condition 200 times with a pause between two checks, about a microsecond. Then, if yields
/// paid off in earlier waits, the thread yields until `max` has passed. A yield that takes at least `slow` means that
/// a second thread uses this core. After three slow yields the thread should block, because switching a core between
/// threads costs more than a sleep. Whether yields pay off depends on the machine and on the number of waiting
/// threads. So one wait in sixteen is a sample that always yields, and the samples decide for the other waits.
///
/// RocksDB has the same mechanism in `db/write_thread.cc`, with the options `write_thread_max_yield_usec` and
/// `write_thread_slow_yield_usec`.
#[derive(Debug)]
pub struct Patience {
    max: std::time::Duration,
    slow: std::time::Duration,
    /// Above 0: yields paid off in the samples, and all waits yield.
    #[cfg(not(shuttle))]
    credit: AtomicI32,
    #[cfg(not(shuttle))]
    waits: AtomicU32,
}

impl Default for Patience {
    /// Uses RocksDB's defaults: a yield of 3 µs is slow, and yields last at most 100 µs.
    fn default() -> Self {
        Patience::new(100, 3)
    }
}

#[cfg(not(shuttle))]
impl Patience {
    /// One wait of this many is a sample.
    const SAMPLE: u32 = 16;
    const CREDIT_MAX: i32 = 8;
    const SLOW_YIELDS_MAX: u32 = 3;

    /// Makes a decision with these limits. `max_us` is the longest time of yields in microseconds; 0 means no yields.
    /// A yield of `slow_us` microseconds or more is slow.
    pub fn new(max_us: u64, slow_us: u64) -> Self {
        let micros = std::time::Duration::from_micros;
        Patience {
            max: micros(max_us),
            slow: micros(slow_us),
            credit: AtomicI32::new(1),
            waits: AtomicU32::new(0),
        }
    }

    /// Waits until `done` returns true. Returns false if the caller should block.
    #[inline]
    pub fn wait(&self, done: impl Fn() -> bool) -> bool {
        for _ in 0..200 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if self.max.is_zero() {
            return false;
        }
        let sample = self.waits.fetch_add(1, Ordering::Relaxed).is_multiple_of(Self::SAMPLE);
        let credit = self.credit.load(Ordering::Relaxed);
        if credit <= 0 && !sample {
            return false;
        }
        let (done, slow) = self.yield_until(done);
        if sample {
            let paid = done && slow == 0;
            let credit = if paid { credit + 1 } else { credit - 1 };
            self.credit.store(credit.clamp(-Self::CREDIT_MAX, Self::CREDIT_MAX), Ordering::Relaxed);
        }
        done
    }

    /// Yields until `done` returns true or a limit is reached. Returns the last result of `done` and the number of
    /// slow yields.
    #[allow(clippy::disallowed_methods, reason = "how long yields take decides who sleeps, nothing else")]
    fn yield_until(&self, done: impl Fn() -> bool) -> (bool, u32) {
        let start = std::time::Instant::now();
        let (mut before, mut slow) = (start, 0);
        loop {
            std::thread::yield_now();
            let done = done();
            let now = std::time::Instant::now();
            slow += u32::from(now - before >= self.slow);
            if done || slow >= Self::SLOW_YIELDS_MAX || now - start > self.max {
                return (done, slow);
            }
            before = now;
        }
    }
}

/// Under Shuttle, one check is enough: the schedule decides how long the thread waits.
#[cfg(shuttle)]
impl Patience {
    /// Makes a decision with the limits of the real type, in microseconds. [`Patience::wait`] does not use
    /// the limits under Shuttle.
    pub fn new(max_us: u64, slow_us: u64) -> Self {
        let micros = std::time::Duration::from_micros;
        Patience { max: micros(max_us), slow: micros(slow_us) }
    }

    /// Returns the result of one call of `done`. False means that the caller should block.
    pub fn wait(&self, done: impl Fn() -> bool) -> bool {
        done()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::cell::Cell;

    use super::Patience;

    #[test]
    fn a_true_condition_needs_no_yield() {
        let looks = Cell::new(0);
        let done = || {
            looks.set(looks.get() + 1);
            looks.get() == 200
        };
        assert!(Patience::new(0, 0).wait(done));
        assert_eq!(looks.get(), 200);
    }

    #[test]
    fn without_yields_the_condition_is_only_polled() {
        let looks = Cell::new(0);
        assert!(!Patience::new(0, 3).wait(|| {
            looks.set(looks.get() + 1);
            false
        }));
        assert_eq!(looks.get(), 200);
    }

    #[test]
    fn yields_that_are_always_slow_are_given_up_but_for_one_wait_in_sixteen() {
        let patience = Patience::new(1_000_000, 0);
        let mut yields = Vec::new();
        for _ in 0..32 {
            let looks = Cell::new(0_u32);
            assert!(!patience.wait(|| {
                looks.set(looks.get() + 1);
                false
            }));
            yields.push(looks.get() - 200);
        }
        assert_eq!(yields[0], 3, "the first tries, and three slow yields are enough");
        let tried: Vec<usize> = (0..32).filter(|i| yields[*i] > 0).collect();
        assert_eq!(tried, [0, 16]);
    }
}
