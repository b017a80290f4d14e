//! Four pools of real threads.
//!
//! A pool's threads share one queue and one condition variable. A pool starts a thread for each queued job that no idle
//! thread can take, up to the size of the pool. A pool that becomes smaller ends the thread with the highest number when
//! this thread is idle, as RocksDB does. One timer thread keeps the delayed jobs. The timer thread starts with the first
//! delayed job. Idle threads end if no database needs them ([`Executor::part`]): a thread holds its stack and the spare
//! memory of the allocator. RocksDB starts all threads of a pool at once, and never ends idle threads.
//!
//! The system may refuse to start a thread (EAGAIN). The job stays queued, and the other threads of the pool take the
//! job. If the pool has no thread, the start is tried again: at the next job, at the next [`Executor::help`] of a waiting
//! thread, and every second by the timer thread. [`Executor::start_failure`] returns the error of the last try.
//!
//! Dropping the executor drops the queued jobs and waits for the running jobs.

#![allow(clippy::disallowed_methods, reason = "the real threads")]

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use base::Error;

use super::{Executor, Job, LoweredPriority, Panics, Pool, Tag};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, MutexGuard, OnceLock, Ordering};
use crate::thread_status::ThreadBoard;

/// An executor with real threads. The threads have RocksDB's names (`rocksdb:low`), because tools search for these
/// names.
#[derive(Debug)]
pub struct Threads {
    pools: [Arc<Inner>; 4],
    timer: Arc<Timer>,
    panics: Arc<Panics>,
    starter: Starter,
    board: Arc<ThreadBoard>,
}

/// A function that is called before each start of a thread. An error rejects the start, as EAGAIN of the system does.
pub type MayStart = dyn Fn() -> io::Result<()> + Send + Sync;

/// Starts threads, if [`MayStart`] allows the start.
#[derive(Clone, Default)]
struct Starter(Option<Arc<MayStart>>);

impl Starter {
    fn ask(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |may_start| may_start())
    }

    fn start(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        self.ask()?;
        thread::Builder::new().name(name.to_string()).spawn(run)
    }
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Starter")
    }
}

#[derive(Debug)]
struct Inner {
    pool: Pool,
    starter: Starter,
    state: Mutex<State>,
    work: Condvar,
    idle: Condvar,
    panics: Arc<Panics>,
    board: Arc<ThreadBoard>,
    /// True if jobs are queued and the pool has no thread, because the system refused to start one.
    starved: AtomicBool,
}

/// How often the timer thread tries to start a thread for a starved pool.
const START_AGAIN: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    queue: VecDeque<(Tag, Job)>,
    /// The size of the pool. A thread with this number or a larger number ends when it is idle.
    limit: usize,
    /// Why the last start of a thread failed; `None` after a start that succeeded.
    start_error: Option<String>,
    threads: Vec<JoinHandle<()>>,
    /// The generation of the pool's threads. A thread of an older generation ends: see [`Inner::part`].
    crew: u64,
    /// The number of running jobs.
    busy: usize,
    stopping: bool,
    /// The priorities that threads lower: 1 the processor priority, 2 also the disk priority.
    lowered: u8,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} queued, {} busy, limit {}", self.queue.len(), self.busy, self.limit)
    }
}

impl Threads {
    /// Makes an executor with one thread for compactions and one thread for flushes, as RocksDB's default. The other
    /// pools have no thread until their size is set.
    pub fn new() -> Threads {
        Self::with_starter(Starter::default())
    }

    /// Makes an executor that calls `may_start` before each start of a thread. A test can let the start fail, and a
    /// program can limit its threads. The pools are the pools of [`Threads::new`].
    pub fn asking(may_start: Arc<MayStart>) -> Threads {
        Self::with_starter(Starter(Some(may_start)))
    }

    fn with_starter(starter: Starter) -> Threads {
        let panics = Arc::new(Panics::default());
        let board = Arc::new(ThreadBoard::default());
        let pools = Pool::ALL.map(|pool| {
            let limit = usize::from(matches!(pool, Pool::Low | Pool::High));
            Arc::new(Inner {
                pool,
                starter: starter.clone(),
                state: Mutex::new(State { limit, ..State::default() }),
                work: Condvar::new(),
                idle: Condvar::new(),
                panics: panics.clone(),
                board: board.clone(),
                starved: AtomicBool::new(false),
            })
        });
        let timer = Arc::new(Timer { starter: starter.clone(), board: board.clone(), ..Timer::default() });
        let _ = timer.pools.set(pools.clone());
        Threads { pools, timer, panics, starter, board }
    }

    /// Makes the timer thread try again, if the pool is starved.
    fn watch(&self, pool: Pool) {
        if self.pool(pool).is_starved() {
            self.timer.ensure_thread();
        }
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
        self.watch(pool);
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
        self.watch(pool);
    }

    fn grow_threads(&self, pool: Pool, count: usize) {
        self.pool(pool).resize(|now| now.max(count));
        self.watch(pool);
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

    /// Runs no job: the pools have threads. Starts threads for starved pools.
    fn help(&self) -> bool {
        self.pools.iter().filter(|pool| pool.is_starved()).for_each(|pool| pool.start_again());
        false
    }

    fn start_failure(&self, pool: Pool) -> Option<Error> {
        let pool = self.pool(pool);
        let s = pool.state.lock();
        let error = s.start_error.as_ref().filter(|_| pool.is_starved())?;
        Some(Error::io_error(format!("starting a thread of pool {}: {error}", pool.pool.name())))
    }

    fn run_all<'a>(&self, mut jobs: Vec<Box<dyn FnOnce() + Send + 'a>>) {
        let last = jobs.pop();
        let slots: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
        let take = |slot: &Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>| slot.lock().take();
        // The scope joins every thread, and panics if a thread panicked.
        thread::scope(|scope| {
            for slot in &slots {
                let run = move || take(slot).into_iter().for_each(|job| job());
                if self.starter.ask().is_err() || !started_in(scope, run) {
                    break;
                }
            }
            last.into_iter().for_each(|job| job());
            // Jobs that got no thread run here, one after the other.
            slots.iter().filter_map(take).for_each(|job| job());
        });
    }

    fn wait_for_all(&self) {
        // A job may queue a job in a pool that was found idle before. So repeat until one pass finds all pools idle.
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

    fn thread_board(&self) -> &Arc<ThreadBoard> {
        &self.board
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

    fn lower_priority(&self, pool: Pool, lowered: LoweredPriority) {
        let pool = self.pool(pool);
        pool.state.lock().lowered |= match lowered {
            LoweredPriority::Cpu => 1,
            LoweredPriority::CpuAndIo => 2,
        };
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
            // A single notification could wake a thread that is about to end, and no other thread would take the job.
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
        // A waiter for an empty queue looks again: a pool of size 0 does not run its queue.
        self.idle.notify_all();
    }

    /// Starts a thread for each queued job that no idle thread can take, up to the size of the pool.
    fn start(self: &Arc<Self>, s: &mut State) {
        while s.threads.len() < s.limit && s.queue.len() > s.threads.len().saturating_sub(s.busy) {
            let (inner, number, crew) = (self.clone(), s.threads.len(), s.crew);
            let name = format!("rocksdb:{}", self.pool.name());
            match self.starter.start(&name, move || inner.run(number, crew)) {
                Ok(handle) => {
                    s.start_error = None;
                    s.threads.push(handle);
                }
                Err(error) => {
                    s.start_error = Some(error.to_string());
                    break;
                }
            }
        }
        let starved = s.start_error.is_some() && s.threads.is_empty() && s.limit > 0 && !s.queue.is_empty();
        self.starved.store(starved, Ordering::Release);
    }

    fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Acquire)
    }

    fn start_again(self: &Arc<Self>) {
        let mut s = self.state.lock();
        if !s.stopping {
            self.start(&mut s);
        }
    }

    fn run(self: Arc<Self>, number: usize, crew: u64) {
        base::stats::io_set_pool(self.pool as u64);
        let _registered = self.board.register(self.pool);
        let mut lowered = 0;
        let mut s = self.state.lock();
        loop {
            if s.crew != crew {
                return;
            }
            // Only the thread with the highest number ends, so that the numbers have no gaps.
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

    /// Empties the queue. Returns its jobs and the threads to wait for.
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
            // The last reference to the executor may be dropped by one of its jobs. This thread cannot wait for
            // itself.
            for thread in threads.into_iter().filter(|t| t.thread().id() != me) {
                // A panic of a job is caught. So the join fails only if the standard library fails.
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
    starter: Starter,
    board: Arc<ThreadBoard>,
    state: Mutex<TimerState>,
    changed: Condvar,
    /// The pools that the thread starts threads for. Their locks are taken under the timer's lock.
    pools: OnceLock<[Arc<Inner>; 4]>,
}

#[derive(Default)]
struct TimerState {
    waiting: Vec<Delayed>,
    thread: Option<JoinHandle<()>>,
    /// The generation of the timer thread, as in `State::crew`.
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
        self.start(&mut s);
    }

    /// Starts the timer thread if there is none, and wakes the thread.
    fn ensure_thread(self: &Arc<Self>) {
        let mut s = self.state.lock();
        if !s.stopping {
            self.start(&mut s);
        }
    }

    fn start(self: &Arc<Self>, s: &mut TimerState) {
        if s.thread.is_none() {
            let (timer, crew) = (self.clone(), s.crew);
            s.thread = self.starter.start("rocksdb:timer", move || timer.run(crew)).ok();
        }
        self.changed.notify_one();
    }

    /// Tries to start threads for starved pools; returns true if a pool is still starved.
    fn feed_pools(&self) -> bool {
        let starved = self.pools.get().into_iter().flatten().filter(|pool| pool.is_starved());
        starved.fold(false, |any, pool| {
            pool.start_again();
            any | pool.is_starved()
        })
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
        let _registered = self.board.register(Pool::User);
        let mut s = self.state.lock();
        while !s.stopping && s.crew == crew {
            let now = Instant::now();
            while let Some(i) = s.waiting.iter().position(|d| d.due <= now) {
                let d = s.waiting.remove(i);
                d.pool.push(d.tag, d.job);
            }
            let again = self.feed_pools().then(|| now + START_AGAIN);
            match s.waiting.iter().map(|d| d.due).chain(again).min() {
                Some(due) => drop(self.changed.wait_until(&mut s, due)),
                None => self.changed.wait(&mut s),
            }
        }
    }

    /// Ends the timer thread if no job is delayed. Returns the thread to wait for.
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

/// Starts a thread of the scope; returns false if the system refuses.
#[cfg(not(shuttle))]
fn started_in<'scope>(scope: &'scope thread::Scope<'scope, '_>, run: impl FnOnce() + Send + 'scope) -> bool {
    thread::Builder::new().spawn_scoped(scope, run).is_ok()
}

/// Under Shuttle, the start of a thread never fails.
#[cfg(shuttle)]
fn started_in<'scope>(scope: &'scope thread::Scope<'scope, '_>, run: impl FnOnce() + Send + 'scope) -> bool {
    scope.spawn(run);
    true
}
