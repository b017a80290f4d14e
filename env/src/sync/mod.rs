//! Locks, atomics and threads, from one place.
//!
//! Modules with threads take their primitives from here, so that a schedule explorer can replace the
//! primitives. Under `--cfg shuttle` the primitives are Shuttle's: another thread may run at every call,
//! and one seed is one schedule (`engine/tests/schedules`). Without this cfg, the module re-exports the
//! primitives of the standard library and of `parking_lot`, at no cost.
//!
//! Memory with a clever layout (`mem`) is explored by Loom instead; under Shuttle each of its calls is one step.

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

pub use ranked::{Rank, RankedGuard, RankedMutex};
pub use std::sync::{Arc, Weak};

/// A flag raised once and looked at by rooms that know no threads (a compaction to be given up): plain even under the
/// explorer, which has points enough around it.
pub type Flag = std::sync::atomic::AtomicBool;

/// How long a waiting thread looks before it blocks, learnt from how its waits went.
///
/// A wait is 200 looks with a pause between, about a microsecond; then, while that has been paying, yields until
/// `max` has passed. A yield that takes `slow` says that other work wants this core: three of them and the thread
/// should block, for handing the core around costs more than sleeping. Whether yields pay depends on the machine and
/// on how many wait, so one wait in sixteen tries, and what those find decides for the others.
///
/// RocksDB's `write_thread_max_yield_usec`, `write_thread_slow_yield_usec` and the credit of its
/// `db/write_thread.cc` are the same idea.
#[derive(Debug)]
pub struct Patience {
    max: std::time::Duration,
    slow: std::time::Duration,
    /// Above 0 yields have been paying; at `i32::MIN`, never asked.
    #[cfg(not(shuttle))]
    credit: AtomicI32,
    #[cfg(not(shuttle))]
    waits: AtomicU32,
}

impl Default for Patience {
    /// RocksDB's defaults: yields of 3 µs are slow, and 100 µs are the most.
    fn default() -> Self {
        Patience::new(100, 3)
    }
}

#[cfg(not(shuttle))]
impl Patience {
    /// The waits that try yields whatever the credit.
    const SAMPLE: u32 = 16;
    const CREDIT_MAX: i32 = 8;
    const SLOW_YIELDS_MAX: u32 = 3;

    /// `max_us`: how long yields may go on, 0 for no yields; `slow_us`: what makes one slow.
    pub fn new(max_us: u64, slow_us: u64) -> Self {
        let micros = std::time::Duration::from_micros;
        Patience {
            max: micros(max_us),
            slow: micros(slow_us),
            credit: AtomicI32::new(1),
            waits: AtomicU32::new(0),
        }
    }

    /// Waits until `done`. False: the caller should block.
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

    /// Whether it is done, and how many yields were slow.
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

/// One look: under the explorer, waiting longer is a matter of the schedule.
#[cfg(shuttle)]
impl Patience {
    pub fn new(max_us: u64, slow_us: u64) -> Self {
        let micros = std::time::Duration::from_micros;
        Patience { max: micros(max_us), slow: micros(slow_us) }
    }

    pub fn wait(&self, done: impl Fn() -> bool) -> bool {
        done()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::cell::Cell;

    use super::Patience;

    #[test]
    fn what_is_done_needs_no_yield() {
        let looks = Cell::new(0);
        let done = || {
            looks.set(looks.get() + 1);
            looks.get() == 200
        };
        assert!(Patience::new(0, 0).wait(done));
        assert_eq!(looks.get(), 200);
    }

    #[test]
    fn without_yields_the_looks_are_all() {
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
