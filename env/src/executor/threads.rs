//! Four pools of real threads.
//!
//! The threads of a pool share one queue and one condition variable. A pool starts its threads with its
//! first job, so opening a database for a short look starts no thread. A pool shrinks by thread number: the
//! idle thread with the highest number ends first, as in RocksDB. One timer thread holds the delayed jobs,
//! and starts with the first delayed job. Idle threads also end when no owner is left that could submit
//! jobs ([`Executor::part`]). RocksDB keeps these threads. An idle thread costs its stack and the cache
//! that the allocator keeps for the thread.
//!
//! Dropping the executor drops what is queued and waits for what runs.

#![allow(clippy::disallowed_methods, reason = "the real threads")]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{Executor, Job, Panics, Pool, Tag};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Threads named `rocksdb:low` and so on, as tools that look for RocksDB's expect.
#[derive(Debug)]
pub struct Threads {
    pools: [Arc<Inner>; 4],
    timer: Arc<Timer>,
    panics: Arc<Panics>,
}

#[derive(Debug)]
struct Inner {
    pool: Pool,
    state: Mutex<State>,
    work: Condvar,
    idle: Condvar,
    panics: Arc<Panics>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Tag, Job)>,
    /// Threads wanted; one with a number from here on leaves.
    limit: usize,
    threads: Vec<JoinHandle<()>>,
    /// A thread that was started before this was raised leaves: see [`Inner::part`].
    crew: u64,
    /// Jobs running.
    busy: usize,
    stopping: bool,
    /// Raised to make threads lower themselves: 1 processor, 2 disk as well.
    lowered: u8,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} queued, {} busy, limit {}", self.queue.len(), self.busy, self.limit)
    }
}

impl Threads {
    /// One thread for compactions and one for flushes, as RocksDB's default; the other pools are empty
    /// until sized.
    pub fn new() -> Threads {
        let panics = Arc::new(Panics::default());
        let pools = Pool::ALL.map(|pool| {
            let limit = usize::from(matches!(pool, Pool::Low | Pool::High));
            Arc::new(Inner {
                pool,
                state: Mutex::new(State { limit, ..State::default() }),
                work: Condvar::new(),
                idle: Condvar::new(),
                panics: panics.clone(),
            })
        });
        Threads { pools, timer: Arc::default(), panics }
    }

    fn pool(&self, pool: Pool) -> &Arc<Inner> {
        &self.pools[pool as usize]
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads::new()
    }
}

impl Executor for Threads {
    fn spawn(&self, pool: Pool, tag: Tag, job: Job) {
        self.pool(pool).push(tag, job);
    }

    fn spawn_after(&self, delay_us: u64, pool: Pool, tag: Tag, job: Job) {
        let due = Instant::now() + Duration::from_micros(delay_us);
        self.timer.add(Delayed { due, pool: self.pool(pool).clone(), tag, job });
    }

    fn unschedule(&self, pool: Pool, tag: Tag) -> usize {
        let timers = self.timer.remove(pool, tag);
        let mut dropped = Vec::new();
        {
            let mut s = self.pool(pool).state.lock();
            for (t, job) in std::mem::take(&mut s.queue) {
                if t == tag {
                    dropped.push(job);
                } else {
                    s.queue.push_back((t, job));
                }
            }
            if s.queue.is_empty() && s.busy == 0 {
                self.pool(pool).idle.notify_all();
            }
        }
        timers + dropped.len()
    }

    fn set_threads(&self, pool: Pool, count: usize) {
        self.pool(pool).resize(|_| count);
    }

    fn grow_threads(&self, pool: Pool, count: usize) {
        self.pool(pool).resize(|now| now.max(count));
    }

    fn threads(&self, pool: Pool) -> usize {
        self.pool(pool).state.lock().limit
    }

    fn queue_len(&self, pool: Pool) -> usize {
        self.pool(pool).state.lock().queue.len()
    }

    fn has_threads(&self) -> bool {
        true
    }

    fn help(&self) -> bool {
        false
    }

    fn run_all<'a>(&self, mut jobs: Vec<Box<dyn FnOnce() + Send + 'a>>) {
        let last = jobs.pop();
        // The scope joins every thread and panics if one of them did.
        thread::scope(|scope| {
            for job in jobs {
                scope.spawn(job);
            }
            if let Some(job) = last {
                job();
            }
        });
    }

    fn wait_for_all(&self) {
        // A job may queue another in a pool already found idle, so look again until all are at once.
        loop {
            for pool in &self.pools {
                let mut s = pool.state.lock();
                while s.busy > 0 || (!s.queue.is_empty() && s.limit > 0) {
                    pool.idle.wait(&mut s);
                }
            }
            let quiet = self.pools.iter().all(|p| {
                let s = p.state.lock();
                s.busy == 0 && (s.queue.is_empty() || s.limit == 0)
            });
            if quiet {
                return;
            }
        }
    }

    fn panics(&self) -> (u64, Option<String>) {
        self.panics.seen()
    }

    fn processors(&self) -> usize {
        if cfg!(shuttle) { 2 } else { std::thread::available_parallelism().map_or(usize::MAX, usize::from) }
    }

    fn part(&self) {
        let timer = self.timer.part();
        for thread in self.pools.iter().flat_map(|pool| pool.part()).chain(timer) {
            // As in `drop`.
            let _ = thread.join();
        }
    }

    fn lower_priority(&self, pool: Pool, io: bool) {
        let pool = self.pool(pool);
        pool.state.lock().lowered |= if io { 2 } else { 1 };
        pool.work.notify_all();
    }
}

impl Inner {
    fn push(self: &Arc<Self>, tag: Tag, job: Job) {
        let mut s = self.state.lock();
        if s.stopping {
            drop(s);
            return drop(job);
        }
        s.queue.push_back((tag, job));
        self.start(&mut s);
        if s.threads.len() > s.limit {
            // One that is about to leave must not swallow the wake-up.
            self.work.notify_all();
        } else {
            self.work.notify_one();
        }
    }

    fn resize(self: &Arc<Self>, wanted: impl FnOnce(usize) -> usize) {
        let mut s = self.state.lock();
        s.limit = wanted(s.limit);
        self.start(&mut s);
        self.work.notify_all();
        // Whoever waits for the queue to be worked off must learn that nobody will.
        self.idle.notify_all();
    }

    /// Starts the missing threads if there is work for them.
    fn start(self: &Arc<Self>, s: &mut State) {
        while s.threads.len() < s.limit && !s.queue.is_empty() {
            let (inner, number, crew) = (self.clone(), s.threads.len(), s.crew);
            let name = format!("rocksdb:{}", self.pool.name());
            match thread::Builder::new().name(name).spawn(move || inner.run(number, crew)) {
                Ok(handle) => s.threads.push(handle),
                // The system is out of threads: those we have will do the work. With none at all the
                // job waits for the next try.
                Err(_) => return,
            }
        }
    }

    fn run(self: Arc<Self>, number: usize, crew: u64) {
        base::stats::io_set_pool(self.pool as u64);
        let mut lowered = 0;
        let mut s = self.state.lock();
        loop {
            if s.crew != crew {
                return;
            }
            // Only the last leaves, so that numbers stay dense.
            if s.stopping || (number >= s.limit && number + 1 == s.threads.len()) {
                if !s.stopping {
                    drop(s.threads.pop());
                    self.work.notify_all();
                }
                return;
            }
            let wants = s.lowered;
            if wants != lowered {
                lowered = wants;
                crate::posix::lower_thread_priority(wants & 2 != 0);
            }
            let job = if number < s.limit { s.queue.pop_front() } else { None };
            let Some((_, job)) = job else {
                self.work.wait(&mut s);
                continue;
            };
            s.busy += 1;
            MutexGuard::unlocked(&mut s, || self.panics.catch(job));
            s.busy -= 1;
            if s.busy == 0 && (s.queue.is_empty() || s.limit == 0) {
                self.idle.notify_all();
            }
        }
    }

    /// Ends the threads of idle pools and returns their handles, for the caller to join. A pool with queued
    /// jobs keeps its threads. The next job of a pool starts new threads. The ending threads are awake, so
    /// they cannot take a wakeup that was meant for a working thread.
    fn part(&self) -> Vec<JoinHandle<()>> {
        let mut s = self.state.lock();
        if s.busy > 0 || !s.queue.is_empty() {
            return Vec::new();
        }
        s.crew += 1;
        s.queue = VecDeque::new();
        self.work.notify_all();
        std::mem::take(&mut s.threads)
    }

    /// Drops the queue and returns the threads to wait for.
    fn stop(&self) -> (VecDeque<(Tag, Job)>, Vec<JoinHandle<()>>) {
        let mut s = self.state.lock();
        s.stopping = true;
        self.work.notify_all();
        (std::mem::take(&mut s.queue), std::mem::take(&mut s.threads))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.timer.stop();
        let me = thread::current().id();
        for pool in &self.pools {
            let (queue, threads) = pool.stop();
            drop(queue);
            // The last owner may be a job itself; it cannot wait for its own thread.
            for thread in threads.into_iter().filter(|t| t.thread().id() != me) {
                // A thread's jobs are caught; joining fails only if the runtime itself broke.
                let _ = thread.join();
            }
        }
    }
}

struct Delayed {
    due: Instant,
    pool: Arc<Inner>,
    tag: Tag,
    job: Job,
}

#[derive(Default)]
struct Timer {
    state: Mutex<TimerState>,
    changed: Condvar,
}

#[derive(Default)]
struct TimerState {
    waiting: Vec<Delayed>,
    thread: Option<JoinHandle<()>>,
    /// As a pool's.
    crew: u64,
    stopping: bool,
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} timers", self.state.lock().waiting.len())
    }
}

impl Timer {
    fn add(self: &Arc<Self>, delayed: Delayed) {
        let mut s = self.state.lock();
        if s.stopping {
            return;
        }
        s.waiting.push(delayed);
        if s.thread.is_none() {
            let (timer, crew) = (self.clone(), s.crew);
            s.thread =
                thread::Builder::new().name("rocksdb:timer".into()).spawn(move || timer.run(crew)).ok();
        }
        self.changed.notify_one();
    }

    fn remove(&self, pool: Pool, tag: Tag) -> usize {
        let mut s = self.state.lock();
        let (gone, stay): (Vec<_>, Vec<_>) =
            std::mem::take(&mut s.waiting).into_iter().partition(|d| d.pool.pool == pool && d.tag == tag);
        s.waiting = stay;
        drop(s);
        gone.len()
    }

    fn run(&self, crew: u64) {
        let mut s = self.state.lock();
        while !s.stopping && s.crew == crew {
            let now = Instant::now();
            while let Some(i) = s.waiting.iter().position(|d| d.due <= now) {
                let d = s.waiting.remove(i);
                d.pool.push(d.tag, d.job);
            }
            match s.waiting.iter().map(|d| d.due).min() {
                Some(due) => drop(self.changed.wait_until(&mut s, due)),
                None => self.changed.wait(&mut s),
            }
        }
    }

    /// Lets the thread go if no job is ahead, and returns it to wait for.
    fn part(&self) -> Option<JoinHandle<()>> {
        let mut s = self.state.lock();
        if !s.waiting.is_empty() {
            return None;
        }
        s.crew += 1;
        s.waiting = Vec::new();
        self.changed.notify_all();
        s.thread.take()
    }

    fn stop(&self) {
        let mut s = self.state.lock();
        s.stopping = true;
        let waiting = std::mem::take(&mut s.waiting);
        self.changed.notify_one();
        drop(s);
        drop(waiting);
    }
}
