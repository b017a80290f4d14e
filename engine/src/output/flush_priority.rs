//! Compactions let flushes go first where processors are short.
//!
//! While a flush turns rows into blocks the next memtable fills; the longer it takes, the more memory is held, and the
//! sooner writers have to stop. A compaction beside it loses nothing by waiting: its own work only moves. So where the
//! jobs that turn rows and one writer are more than the machine's processors, a compaction pauses between rows until
//! the flush has all of its own in blocks; the sync that follows needs no processor. It does not pause where level 0 or
//! its debt asks for haste, nor when the database closes, and not longer than a few times [`PATIENCE`] for flushes that
//! have begun: those wait for something else.

use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering};

/// Rows between two looks.
const EVERY: u64 = 256;
/// A memtable of 64 MiB takes a tenth of this.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often one wait goes on after others have left, while a flush is still there.
const WAKES_MAX: u32 = 4;

/// Who turns rows into blocks in one database.
pub struct FlushPriority {
    processors: usize,
    flushes: AtomicUsize,
    compactions: AtomicUsize,
    /// Flushes begun so far.
    begun: AtomicU64,
    hurry: AtomicBool,
    closing: AtomicBool,
    lock: Mutex<()>,
    ended: Condvar,
}

impl FlushPriority {
    /// `processors`: those that jobs and writers share; see [`env::executor::Executor::processors`].
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

    /// Whether compactions are in a hurry: then they wait for nobody.
    pub fn set_hurry(&self, hurry: bool) {
        self.hurry.store(hurry, Ordering::Relaxed);
        if hurry {
            self.tell();
        }
    }

    /// The database closes: nobody waits any more.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.tell();
    }

    /// A job that turns rows begins; it goes first or lets others, by what it is.
    pub(super) fn enter(&self, first: bool) -> Place<'_> {
        if first {
            self.begun.fetch_add(1, Ordering::Relaxed);
            self.flushes.fetch_add(1, Ordering::Relaxed);
        } else {
            self.compactions.fetch_add(1, Ordering::Relaxed);
        }
        Place { of: self, first, rows: 0, tired_of: 0 }
    }

    fn crowded(&self) -> bool {
        let flushes = self.flushes.load(Ordering::Relaxed);
        flushes > 0
            && flushes + self.compactions.load(Ordering::Relaxed) + 1 > self.processors
            && !self.hurry.load(Ordering::Relaxed)
            && !self.closing.load(Ordering::Relaxed)
    }

    fn tell(&self) {
        drop(self.lock.lock());
        self.ended.notify_all();
    }
}

/// One job's place among those that turn rows, until dropped.
pub(super) struct Place<'a> {
    of: &'a FlushPriority,
    first: bool,
    rows: u64,
    /// How many flushes had begun when this job last lost patience.
    tired_of: u64,
}

impl Place<'_> {
    /// One more row. Now and then a compaction waits here.
    #[inline]
    pub(super) fn row(&mut self) {
        self.rows += 1;
        if self.rows.is_multiple_of(EVERY) && !self.first && self.of.crowded() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&mut self) {
        if self.of.begun.load(Ordering::Relaxed) == self.tired_of {
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
        // Not for those that have begun by now.
        self.tired_of = self.of.begun.load(Ordering::Relaxed);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let count = if self.first { &self.of.flushes } else { &self.of.compactions };
        let before = count.fetch_sub(1, Ordering::Relaxed);
        base::invariant!(before > 0, "more jobs end their output than began it");
        self.of.tell();
    }
}
