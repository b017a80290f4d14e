//! Jobs on the caller's thread, in a seeded order.
//!
//! A pool is a queue without threads. A pool of size 0 keeps its jobs queued, as a pool of threads would.
//! `help` draws one of the pools with queued jobs and runs the oldest job of this pool. So the order within
//! a pool is kept, and the order between pools is random. A delayed job enters its queue when the clock has
//! passed its time. If only delayed jobs are left, `wait_for_all` does not wait for them. A caller that
//! waits for work that no job can do would wait forever. The executor counts such rounds and reports the
//! count ([`Inline::on_starved`]).

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Executor, Job, Panics, Pool, Tag};
use crate::clock::Clock;
use crate::rng::{Rng, SeededRng};
use crate::thread_status::ThreadBoard;

/// An executor that runs jobs only in calls of [`Executor::help`] and in waits.
#[derive(Debug)]
pub struct Inline {
    rng: SeededRng,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    panics: Panics,
    starved: Mutex<Starved>,
    board: crate::sync::Arc<ThreadBoard>,
}

type OnStarved = Box<dyn Fn(u64) + Send + Sync>;

#[derive(Default)]
struct Starved {
    /// The rounds of waiting since the last call of [`Inline::fed`].
    rounds: u64,
    patience: u64,
    tell: Option<Arc<OnStarved>>,
}

impl std::fmt::Debug for Starved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rounds of {}", self.rounds, self.patience)
    }
}

#[derive(Default)]
struct State {
    queues: [VecDeque<(Tag, Job)>; 4],
    /// The delayed jobs, with their start times in nanoseconds. Jobs with equal start times run in the order of the
    /// calls.
    timers: Vec<(u64, Pool, Tag, Job)>,
    threads: [usize; 4],
    /// The number of running jobs, on all threads.
    busy: usize,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "queued {:?}", self.queues.each_ref().map(VecDeque::len))
    }
}

impl Inline {
    /// Makes an executor. Equal seeds give equal orders of jobs.
    pub fn new(seed: u64, clock: Arc<dyn Clock>) -> Inline {
        Inline {
            rng: SeededRng::new(seed),
            clock,
            state: Mutex::new(State { threads: [1; 4], ..State::default() }),
            panics: Panics::default(),
            starved: Mutex::default(),
            board: crate::sync::Arc::default(),
        }
    }

    /// Calls `tell` after every `patience` rounds of waiting without a job to run. The argument is the
    /// number of such calls so far. [`Inline::fed`] resets the count of rounds. A simulation uses this call
    /// to limit its steps.
    pub fn on_starved(&self, patience: u64, tell: impl Fn(u64) + Send + Sync + 'static) {
        *self.starved.lock() =
            Starved { rounds: 0, patience: patience.max(1), tell: Some(Arc::new(Box::new(tell))) };
    }

    /// Resets the count of rounds. Call this after a wait ended.
    pub fn fed(&self) {
        self.starved.lock().rounds = 0;
    }

    /// Counts one more round of waiting, and calls the function of [`Inline::on_starved`] when due. Returns false if
    /// no such function is set.
    fn count_round(&self) -> bool {
        let mut s = self.starved.lock();
        s.rounds += 1;
        let Some(tell) = s.tell.clone() else { return false };
        let (rounds, patience) = (s.rounds, s.patience);
        drop(s);
        if rounds.is_multiple_of(patience) {
            tell(rounds / patience);
        }
        true
    }

    /// Drops every queued and delayed job, as the end of the process does.
    pub fn abandon(&self) {
        let mut s = self.state.lock();
        let dropped = (std::mem::take(&mut s.queues), std::mem::take(&mut s.timers));
        drop(s);
        drop(dropped);
    }

    fn next(&self) -> Option<Job> {
        let now = self.clock.now_nanos();
        let mut s = self.state.lock();
        let mut i = 0;
        while i < s.timers.len() {
            if s.timers[i].0 <= now {
                let (_, pool, tag, job) = s.timers.remove(i);
                s.queues[pool as usize].push_back((tag, job));
            } else {
                i += 1;
            }
        }
        let ready = Pool::ALL.map(|p| p as usize);
        let ready: Vec<usize> =
            ready.into_iter().filter(|&p| s.threads[p] > 0 && !s.queues[p].is_empty()).collect();
        let pick = *ready.get(self.rng.below(ready.len() as u64) as usize)?;
        let (_, job) = s.queues[pick].pop_front()?;
        s.busy += 1;
        Some(job)
    }
}

impl Executor for Inline {
    fn spawn(&self, pool: Pool, tag: Tag, job: Job) {
        self.state.lock().queues[pool as usize].push_back((tag, job));
    }

    fn spawn_after(&self, delay_us: u64, pool: Pool, tag: Tag, job: Job) {
        let due = self.clock.now_nanos().saturating_add(delay_us.saturating_mul(1000));
        self.state.lock().timers.push((due, pool, tag, job));
    }

    fn unschedule(&self, pool: Pool, tag: Tag) -> usize {
        let mut dropped = Vec::new();
        let s = &mut *self.state.lock();
        for (t, job) in std::mem::take(&mut s.queues[pool as usize]) {
            if t == tag {
                dropped.push(job);
            } else {
                s.queues[pool as usize].push_back((t, job));
            }
        }
        for timer in std::mem::take(&mut s.timers) {
            if (timer.1, timer.2) == (pool, tag) {
                dropped.push(timer.3);
            } else {
                s.timers.push(timer);
            }
        }
        dropped.len()
    }

    fn set_threads(&self, pool: Pool, count: usize) {
        self.state.lock().threads[pool as usize] = count;
    }

    fn grow_threads(&self, pool: Pool, count: usize) {
        let n = &mut self.state.lock().threads[pool as usize];
        *n = count.max(*n);
    }

    fn threads(&self, pool: Pool) -> usize {
        self.state.lock().threads[pool as usize]
    }

    fn queue_len(&self, pool: Pool) -> usize {
        self.state.lock().queues[pool as usize].len()
    }

    fn help(&self) -> bool {
        match self.next() {
            Some(job) => {
                self.panics.catch(job);
                self.state.lock().busy -= 1;
                true
            }
            None => false,
        }
    }

    fn pass_time(&self) -> bool {
        let due = {
            let s = self.state.lock();
            if s.busy > 0 {
                return false;
            }
            let timers = s.timers.iter().filter(|(_, pool, ..)| s.threads[*pool as usize] > 0);
            timers.map(|(due, ..)| *due).min()
        };
        let ahead = due.map_or(0, |due| due.saturating_sub(self.clock.now_nanos()));
        if ahead > 0 {
            self.clock.sleep_micros(ahead.div_ceil(1000));
        }
        self.count_round() || due.is_some()
    }

    fn run_all<'a>(&self, mut jobs: Vec<Box<dyn FnOnce() + Send + 'a>>) {
        // Run the jobs in a random order, so that no caller depends on an order.
        while !jobs.is_empty() {
            let i = self.rng.below(jobs.len() as u64) as usize;
            jobs.swap_remove(i)();
        }
    }

    fn wait_for_all(&self) {
        while self.help() {}
    }

    fn thread_board(&self) -> &crate::sync::Arc<ThreadBoard> {
        &self.board
    }

    fn panics(&self) -> (u64, Option<String>) {
        self.panics.seen()
    }
}
