//! A limit on concurrent compactions of several column families, which may belong to several databases. RocksDB:
//! `ConcurrentTaskLimiter` (`util/concurrent_task_limiter_impl.cc`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Limits the number of compactions that run at the same time in the column families that share the limiter. Any
/// thread may use the limiter. Manual compactions count, but the limiter never delays a manual compaction.
pub struct ConcurrentTaskLimiter {
    name: String,
    /// Negative: no limit.
    tasks_max: AtomicI32,
    tasks: AtomicI32,
}

impl ConcurrentTaskLimiter {
    /// Returns a limiter. `tasks_max` is the number of compactions that may run at the same time; a negative number sets no
    /// limit, and 0 stops automatic compactions. RocksDB's `NewConcurrentTaskLimiter`.
    pub fn new(name: impl Into<String>, tasks_max: i32) -> Arc<ConcurrentTaskLimiter> {
        Arc::new(ConcurrentTaskLimiter {
            name: name.into(),
            tasks_max: AtomicI32::new(tasks_max),
            tasks: AtomicI32::new(0),
        })
    }

    /// Returns the name, which the info log shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the limit. Compactions that run continue. A database sees a higher limit within 10 ms.
    pub fn set_max_outstanding_task(&self, tasks_max: i32) {
        self.tasks_max.store(tasks_max, Ordering::Release);
    }

    /// Removes the limit.
    pub fn reset_max_outstanding_task(&self) {
        self.set_max_outstanding_task(-1);
    }

    /// Returns the number of compactions that run now.
    pub fn outstanding_task(&self) -> i32 {
        self.tasks.load(Ordering::Acquire)
    }

    /// Returns true if another compaction may start now.
    pub fn has_room(&self) -> bool {
        let tasks_max = self.tasks_max.load(Ordering::Acquire);
        tasks_max < 0 || self.outstanding_task() < tasks_max
    }

    /// Counts a compaction until the result is dropped. Returns `None` if the limit is reached and `force` is not set.
    pub fn start(self: &Arc<Self>, force: bool) -> Option<RunningTask> {
        let tasks_max = self.tasks_max.load(Ordering::Acquire);
        let one_more = |tasks: i32| (force || tasks_max < 0 || tasks < tasks_max).then(|| tasks + 1);
        self.tasks.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(RunningTask(self.clone()))
    }
}

impl fmt::Debug for ConcurrentTaskLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConcurrentTaskLimiter({})", self.name)
    }
}

/// A compaction that a limiter counts.
#[derive(Debug)]
pub struct RunningTask(Arc<ConcurrentTaskLimiter>);

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.0.tasks.fetch_sub(1, Ordering::AcqRel);
    }
}
