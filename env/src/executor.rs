//! Background work as a parameter: who runs jobs, on which thread, in which order.
//!
//! [`Threads`] runs four pools of named threads, as RocksDB does. [`Inline`] has no thread: jobs wait in
//! queues until somebody calls [`Executor::help`], which runs one of them, picked by a seeded draw, on
//! the caller's thread. Whoever waits for background work therefore writes
//!
//! ```text
//! while !done() { if !executor.help() && !executor.pass_time() { wait on a condition variable } }
//! ```
//!
//! holding no lock while it helps. A job that panics is caught, counted and reported; its thread lives.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

use crate::sync::Arc;
use crate::thread_status::ThreadBoard;

pub mod inline;
pub mod threads;

pub use inline::Inline;
pub use threads::Threads;

#[cfg(test)]
mod tests;

/// A function that runs once on a thread of a pool.
pub type Job = Box<dyn FnOnce() + Send>;

/// The pools, numbered as RocksDB's `Env::Priority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Pool {
    /// Bottommost compactions.
    Bottom = 0,
    /// Compactions.
    Low = 1,
    /// Flushes.
    High = 2,
    /// The embedding program's own.
    User = 3,
}

impl Pool {
    /// All pools, by number.
    pub const ALL: [Pool; 4] = [Pool::Bottom, Pool::Low, Pool::High, Pool::User];

    /// As thread names and logs say it: `bottom`, `low`, `high`, `user`.
    pub fn name(self) -> &'static str {
        ["bottom", "low", "high", "user"][self as usize]
    }
}

/// The owner of a job. A closing owner can remove its queued jobs by this id. 0 means no owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

impl Tag {
    /// A tag no other call in this process has given.
    pub fn fresh() -> Tag {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Tag(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Runs jobs in the background. Any thread; jobs may spawn jobs.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Queues a job; first come, first served within a pool. In a pool with no threads it waits until
    /// there are some.
    fn spawn(&self, pool: Pool, tag: Tag, job: Job);

    /// Queues a job once that much time has passed. Cancelled like any other.
    fn spawn_after(&self, delay_us: u64, pool: Pool, tag: Tag, job: Job);

    /// Drops the queued jobs with this tag, timers included, and returns how many there were; running
    /// ones go on.
    fn unschedule(&self, pool: Pool, tag: Tag) -> usize;

    /// Sets a pool's size, growing or shrinking; a thread leaves when its job is done. With 0, queued
    /// jobs wait.
    fn set_threads(&self, pool: Pool, count: usize);

    /// Grows a pool to at least `count`; never shrinks.
    fn grow_threads(&self, pool: Pool, count: usize);

    /// Returns the number of threads that the pool may use.
    fn threads(&self, pool: Pool) -> usize;

    /// Jobs waiting, timers not counted.
    fn queue_len(&self, pool: Pool) -> usize;

    /// Returns true if jobs run on dedicated threads, which may work for some time after a job has ended.
    /// The default is false.
    fn has_threads(&self) -> bool {
        false
    }

    /// Runs one queued job on the caller's thread. False when there is none, and always with
    /// [`Threads`], whose own threads do the work.
    fn help(&self) -> bool;

    /// Returns why a pool with queued jobs has no thread, if the system refused to start a thread. The executor tries
    /// again.
    fn start_failure(&self, _pool: Pool) -> Option<base::Error> {
        None
    }

    /// Advances the time to the start of the next delayed job, for a waiting caller that could not help.
    /// Returns false if there is no delayed job, or if a job runs on another thread. [`Threads`] always
    /// returns false, because its clock advances by itself. Without this call, a single thread would wait
    /// forever for a job that is retried one second later.
    fn pass_time(&self) -> bool {
        false
    }

    /// Runs all of them, at once if there are threads for it, and returns when the last is done
    /// (subcompactions). The first may run on the caller's thread.
    ///
    /// # Panics
    /// If one of them panics, after all have ended.
    fn run_all<'a>(&self, jobs: Vec<Box<dyn FnOnce() + Send + 'a>>);

    /// Returns when every queue is empty and no job runs; timers still ahead are not waited for.
    fn wait_for_all(&self);

    /// Number of jobs that panicked so far, and the last one's words.
    fn panics(&self) -> (u64, Option<String>);

    /// Processors that this executor's jobs share with the program; as many as one likes where jobs never run side by
    /// side.
    fn processors(&self) -> usize {
        usize::MAX
    }

    /// Ends the threads of pools that have nothing to do and waits until they are gone. Jobs queued meanwhile or afterwards
    /// run as ever, on threads started for them.
    fn part(&self) {}

    /// The states of the threads. RocksDB: `Env::GetThreadList`. A pool starts its threads for queued jobs, so a pool without a
    /// job may have no thread.
    fn thread_board(&self) -> &Arc<ThreadBoard>;

    /// Lowers the processor and disk priority of a pool's threads, where the system allows.
    fn lower_priority(&self, _pool: Pool, _io: bool) {}
}

/// Jobs that panicked: how many, and what the last one said.
#[derive(Debug, Default)]
struct Panics {
    seen: Mutex<(u64, Option<String>)>,
}

impl Panics {
    fn catch(&self, job: Job) {
        // A job owns the data that it changes, or shares the data behind locks that do not poison. This
        // function does not read the data after a panic.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
            let words = payload
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic without words".to_owned());
            let mut seen = self.seen.lock();
            seen.0 += 1;
            seen.1 = Some(words);
        }
    }

    fn seen(&self) -> (u64, Option<String>) {
        self.seen.lock().clone()
    }
}
