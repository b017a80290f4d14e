//! The jobs of one database in the pools of the executor: starts jobs, and waits for jobs.
//!
//! A queued job holds its owner by a weak pointer, because a dropped database has no work. Each job is counted until the job
//! has released its resources. A thread that waits for a job first helps the executor, so the engine also runs in one
//! thread.

use std::cell::RefCell;

use env::executor::{Job, Pool, Tag};

use super::event_count::{EventCount, Out};
use crate::errors::ErrorState;
use crate::output::JobTools;
use crate::sync::{Arc, AtomicUsize, Ordering, Weak};

/// Starts the jobs of one database, and waits for them.
pub struct JobPool {
    tools: Arc<JobTools>,
    errors: Arc<ErrorState>,
    tag: Tag,
    /// Counts the events that a waiting thread may wait for: the end of a job, a change of the background error.
    changed: Arc<EventCount>,
    /// Number of unfinished jobs: queued, delayed, running, or still releasing their resources.
    out: Arc<AtomicUsize>,
}

impl JobPool {
    /// Makes the pool with a new tag. The tag distinguishes the jobs of this database from the jobs of other databases
    /// in the executor.
    pub fn new(tools: Arc<JobTools>, errors: Arc<ErrorState>) -> JobPool {
        JobPool { tools, errors, tag: Tag::fresh(), changed: Arc::default(), out: Arc::default() }
    }

    /// Adds a job of `owner` to a pool.
    pub fn spawn<T: Send + Sync + 'static>(
        &self,
        pool: Pool,
        owner: &Weak<T>,
        job: impl FnOnce(&T) + Send + 'static,
    ) {
        self.tools.env.executor.spawn(pool, self.tag, self.counted(owner, job));
        if let Some(error) = self.tools.env.executor.start_failure(pool) {
            self.errors.count_retried();
            self.tools.events.warn(format_args!("{error}; the job waits, and the start is tried again"));
        }
    }

    /// Adds a job of `owner` to a pool after `delay_us` microseconds.
    pub fn spawn_after<T: Send + Sync + 'static>(
        &self,
        delay_us: u64,
        pool: Pool,
        owner: &Weak<T>,
        job: impl FnOnce(&T) + Send + 'static,
    ) {
        self.tools.env.executor.spawn_after(delay_us, pool, self.tag, self.counted(owner, job));
    }

    /// Returns the job in the form of the executor. The job counts as unfinished until its resources are released.
    fn counted<T: Send + Sync + 'static>(
        &self,
        owner: &Weak<T>,
        job: impl FnOnce(&T) + Send + 'static,
    ) -> Job {
        let (tag, tools) = (self.tag, Arc::downgrade(&self.tools));
        let parts = (owner.clone(), job, Out::one(&self.out, &self.changed));
        Box::new(move || {
            let (owner, job, out) = parts;
            if let Some(owner) = owner.upgrade() {
                let _running = RunningJob::begin(tag);
                job(&owner);
                if let Some(tools) = tools.upgrade() {
                    tools.forget_spares();
                }
            }
            drop(owner);
            drop(out);
        })
    }

    /// Returns true if the calling thread runs a background job of this database, also if it runs jobs of other databases above
    /// this job.
    pub fn runs_here(&self) -> bool {
        RUNNING.try_with(|running| running.borrow().contains(&self.tag)).unwrap_or(false)
    }

    /// Runs `job` on the calling thread as a background job of this database. A listener that `job` calls can then not wait
    /// for the end of `job`.
    pub fn run_here<T>(&self, job: impl FnOnce() -> T) -> T {
        let _running = RunningJob::begin(self.tag);
        job()
    }

    /// Wakes the threads that wait for a job or for an error.
    pub fn notify(&self) {
        self.changed.notify();
    }

    /// Calls `ready` after each event until `ready` returns a value. Helps the executor: with an inline executor the
    /// awaited job runs on this thread.
    pub fn wait_until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.changed.now();
            if let Some(out) = ready() {
                return out;
            }
            if !self.tools.env.executor.help() && !self.tools.env.executor.pass_time() {
                self.changed.wait_past(seen);
            }
        }
    }

    /// Waits like [`JobPool::wait_until`], but does not help the executor. For results of jobs that have a thread already.
    pub fn wait_for_others<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let seen = self.changed.now();
            if let Some(out) = ready() {
                return out;
            }
            self.changed.wait_past(seen);
        }
    }

    /// Removes the queued jobs of this database from all pools.
    pub fn unschedule(&self) {
        for pool in Pool::ALL {
            self.tools.env.executor.unschedule(pool, self.tag);
        }
    }

    /// Removes the queued jobs, and waits until no job holds a resource.
    pub fn drain(&self) {
        self.wait_until(|| {
            self.unschedule();
            (self.out.load(Ordering::Acquire) == 0).then_some(())
        });
    }
}

/// Returns true if the calling thread runs a background job of any database.
pub fn is_job_thread() -> bool {
    RUNNING.try_with(|running| !running.borrow().is_empty()).unwrap_or(false)
}

crate::sync::thread_local! {
    /// The databases whose jobs this thread runs, the newest job last.
    static RUNNING: RefCell<Vec<Tag>> = const { RefCell::new(Vec::new()) };
}

/// Marks the calling thread until the drop. A job that helps the executor can run another job on its own thread, also a job
/// of another database.
struct RunningJob;

impl RunningJob {
    fn begin(tag: Tag) -> RunningJob {
        let _ = RUNNING.try_with(|running| running.borrow_mut().push(tag));
        RunningJob
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let ended = RUNNING.try_with(|running| running.borrow_mut().pop());
        base::invariant!(!matches!(ended, Ok(None)), "a job ends on a thread that runs no job");
    }
}
