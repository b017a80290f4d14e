//! Background work as a parameter: which thread runs a job, and in which order.
//!
//! [`Threads`] runs four pools of named threads, as RocksDB does. [`Inline`] has no thread: jobs wait in queues until
//! a thread calls [`Executor::help`]. The call runs one job on the thread of the caller. A seeded random number
//! chooses the job. So each wait for background work has this form:
//!
//! ```text
//! while !done() { if !executor.help() && !executor.pass_time() { wait on a condition variable } }
//! ```
//!
//! The caller holds no lock during `help`. If a job panics, the executor catches, counts and reports the panic, and
//! the thread continues.

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
    /// Deletions of obsolete files, and jobs of the program that uses the database. A database gives this pool one thread. A program
    /// whose own job in this pool waits for deletions (`wait_for_purge`) must give the pool a second thread.
    User = 3,
}

impl Pool {
    /// All pools, by number.
    pub const ALL: [Pool; 4] = [Pool::Bottom, Pool::Low, Pool::High, Pool::User];

    /// Returns the name in thread names and logs: `bottom`, `low`, `high`, `user`.
    pub fn name(self) -> &'static str {
        ["bottom", "low", "high", "user"][self as usize]
    }
}

/// The owner of a job. A closing owner can remove its queued jobs by this id. 0 means no owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

impl Tag {
    /// Returns a tag that no other call in this process returned.
    pub fn fresh() -> Tag {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Tag(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Runs jobs in the background. Any thread may use an executor, and jobs may queue jobs.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Queues a job. A pool runs its jobs in the order of the calls. A job in a pool without threads waits until the
    /// pool gets threads.
    fn spawn(&self, pool: Pool, tag: Tag, job: Job);

    /// Queues a job after `delay_us` microseconds. [`Executor::unschedule`] also removes delayed jobs.
    fn spawn_after(&self, delay_us: u64, pool: Pool, tag: Tag, job: Job);

    /// Removes the queued and delayed jobs with this tag, and returns their number. Running jobs continue.
    fn unschedule(&self, pool: Pool, tag: Tag) -> usize;

    /// Sets the size of a pool. If the pool shrinks, a thread ends after its current job. With 0, queued jobs wait.
    fn set_threads(&self, pool: Pool, count: usize);

    /// Raises the size of a pool to `count`, if the pool is smaller.
    fn grow_threads(&self, pool: Pool, count: usize);

    /// Returns the number of threads that the pool may use.
    fn threads(&self, pool: Pool) -> usize;

    /// Returns the number of queued jobs, without delayed jobs.
    fn queue_len(&self, pool: Pool) -> usize;

    /// Returns true if jobs run on dedicated threads, which may work for some time after a job has ended.
    /// The default is false.
    fn has_threads(&self) -> bool {
        false
    }

    /// Runs one queued job on the thread of the caller. Returns false if no job is queued. [`Threads`] always returns
    /// false, because its own threads run the jobs.
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

    /// Runs all jobs and returns after the last job has ended. The jobs run concurrently if the executor has threads
    /// for them. The first job may run on the thread of the caller. For subcompactions.
    ///
    /// # Panics
    /// If a job panics, after all jobs have ended.
    fn run_all<'a>(&self, jobs: Vec<Box<dyn FnOnce() + Send + 'a>>);

    /// Returns when every queue is empty and no job runs. Does not wait for delayed jobs.
    fn wait_for_all(&self);

    /// Returns the number of jobs that panicked, and the message of the last panic.
    fn panics(&self) -> (u64, Option<String>);

    /// Returns the number of processors that the jobs of this executor share with the program. Default: no limit, for
    /// executors whose jobs never run concurrently.
    fn processors(&self) -> usize {
        usize::MAX
    }

    /// Ends the threads of pools without jobs, and waits for their end. A later job starts new threads.
    fn part(&self) {}

    /// The states of the threads. RocksDB: `Env::GetThreadList`. A pool starts its threads for queued jobs, so a pool without a
    /// job may have no thread.
    fn thread_board(&self) -> &Arc<ThreadBoard>;

    /// Lowers a priority of the threads of a pool, if the system allows it. Without threads, does nothing.
    fn lower_priority(&self, _pool: Pool, _lowered: LoweredPriority) {}
}

/// The priorities of threads that [`Executor::lower_priority`] lowers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoweredPriority {
    /// The priority for the processor.
    Cpu,
    /// The priorities for the processor and for the disk.
    CpuAndIo,
}

/// Counts the jobs that panicked, and keeps the message of the last panic.
#[derive(Debug, Default)]
struct Panics {
    seen: Mutex<(u64, Option<String>)>,
}

impl Panics {
    fn catch(&self, job: Job) {
        // A job owns the data that it changes, or shares the data under locks that do not poison. This function does
        // not read the data after a panic.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
            let words = payload
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic without a message".to_owned());
            let mut seen = self.seen.lock();
            seen.0 += 1;
            seen.1 = Some(words);
        }
    }

    fn seen(&self) -> (u64, Option<String>) {
        self.seen.lock().clone()
    }
}
