//! Compactions give way to flushes if there are too few processors.
//!
//! While a flush builds blocks, the next memtable fills. The longer the flush takes, the more memory is used, and the
//! sooner writers stop. A compaction can wait without such a cost. A compaction pauses if the jobs that build blocks
//! and one writer are more than the processors. The pause ends when the flush has built all its blocks; the sync that
//! follows needs no processor. A compaction does not pause in three cases: compactions are urgent (`set_hurry`), the
//! database closes, or the compaction has waited a few times [`PATIENCE`] for the flushes that run. In the last case
//! the flushes wait for something else.

use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering};

/// Entries between two checks.
const EVERY: u64 = 256;
/// The timeout of one wait. A flush builds the blocks of a 64 MiB memtable in a tenth of this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a wait continues after a wake-up while a flush still builds blocks.
const WAKES_MAX: u32 = 4;

/// Counts the jobs of one database that build blocks.
pub struct FlushPriority {
    processors: usize,
    flushes: AtomicUsize,
    compactions: AtomicUsize,
    /// The number of flushes that have begun since the open.
    begun: AtomicU64,
    hurry: AtomicBool,
    closing: AtomicBool,
    lock: Mutex<()>,
    ended: Condvar,
}

impl FlushPriority {
    /// Creates the counts. `processors` is the number of processors that jobs and writers share; see
    /// [`env::executor::Executor::processors`].
    pub fn new(processors: usize) -> Self {
        FlushPriority {
            processors,
            flushes: AtomicUsize::new(0),
            compactions: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            hurry: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            lock: Mutex::new(()),
            ended: Condvar::new(),
        }
    }

    /// Sets whether compactions are urgent. Urgent compactions do not wait.
    pub fn set_hurry(&self, hurry: bool) {
        self.hurry.store(hurry, Ordering::Relaxed);
        if hurry {
            self.wake_all();
        }
    }

    /// Ends all waits, because the database closes.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Registers a job that builds blocks. `first` is true for a flush, and false for a compaction, which waits for
    /// flushes.
    pub(super) fn enter(&self, first: bool) -> JobGuard<'_> {
        if first {
            self.begun.fetch_add(1, Ordering::Relaxed);
            self.flushes.fetch_add(1, Ordering::Relaxed);
        } else {
            self.compactions.fetch_add(1, Ordering::Relaxed);
        }
        JobGuard { of: self, first, entries: 0, flushes_waited_for: 0 }
    }

    fn crowded(&self) -> bool {
        let flushes = self.flushes.load(Ordering::Relaxed);
        flushes > 0
            && flushes + self.compactions.load(Ordering::Relaxed) + 1 > self.processors
            && !self.hurry.load(Ordering::Relaxed)
            && !self.closing.load(Ordering::Relaxed)
    }

    fn wake_all(&self) {
        drop(self.lock.lock());
        self.ended.notify_all();
    }
}

/// The registration of one job. Ends with the drop.
pub(super) struct JobGuard<'a> {
    of: &'a FlushPriority,
    first: bool,
    entries: u64,
    /// The number of flushes that had begun when this job last ended a wait by timeout.
    flushes_waited_for: u64,
}

impl JobGuard<'_> {
    /// Counts one more entry. At some entries, a compaction waits here.
    #[inline]
    pub(super) fn count_entry(&mut self) {
        self.entries += 1;
        if self.entries.is_multiple_of(EVERY) && !self.first && self.of.crowded() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&mut self) {
        if self.of.begun.load(Ordering::Relaxed) == self.flushes_waited_for {
            return;
        }
        let mut held = self.of.lock.lock();
        // A leaving thread takes the lock between leaving and notifying, so no leave is missed. Other leaving
        // threads also wake this thread. The loop is bounded for this reason.
        for _ in 0..WAKES_MAX {
            if !self.of.crowded() {
                return;
            }
            if self.of.ended.wait_for(&mut held, PATIENCE).timed_out() {
                break;
            }
        }
        // Do not wait again for the flushes that have begun so far.
        self.flushes_waited_for = self.of.begun.load(Ordering::Relaxed);
    }
}

impl Drop for JobGuard<'_> {
    fn drop(&mut self) {
        let count = if self.first { &self.of.flushes } else { &self.of.compactions };
        let before = count.fetch_sub(1, Ordering::Relaxed);
        base::invariant!(before > 0, "more jobs have ended their output than began it");
        self.of.wake_all();
    }
}
