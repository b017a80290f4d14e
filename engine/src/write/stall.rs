//! Write stalls: paces, delays or stops writers.
//!
//! After each change of the levels, `lsm::pressure` decides for the column family whether writers must be
//! paced, delayed or stopped. This module combines the decisions and delays the writers. Paced and delayed writers share one
//! limit of bytes a second. A stopped writer waits until a job has made room. Time comes from `env`. A
//! delayed or stopped writer helps the executor, so a single thread runs the job that the writer waits for.

use std::time::Duration;

use base::map::HashMap;
use base::stats::{self, Step};
use base::{Error, FamilyId, Result};
use env::Env;
use env::posix::thread_id;
use lsm::pressure::{Cause, Decision, Stall};

use super::group::{LeaderState, Queue, would_stall};
use crate::ranks;
use crate::stats::StallReason;
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Condvar, Ordering, RankedMutex};

#[cfg(all(test, not(shuttle), not(loom)))]
mod tests;

const GO: u8 = 0;
const PACE: u8 = 1;
const SLOW: u8 = 2;
const STOP: u8 = 3;

/// The longest delay of one write group.
const DELAY_US_MAX: u64 = 1_000_000;
/// A stopped writer checks again after this time, also if no job ended.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Credit is granted for this time span at once, so that small writes do not sleep for single microseconds.
const REFILL_US: u64 = 1024;
/// The shortest pause of a paced write group, in microseconds. A pace is near the full speed. Shorter pauses would be so frequent that the
/// 99.9th percentile of a put is a pause.
/// With pauses of 10 ms, four writers at a quarter of the full speed had a 99.9th percentile of 10 ms in place of 4 ms.
const PACE_REFILL_US: u64 = 2_500;
/// The largest credit of paced writers, and of delayed writers whose rate follows level 0, in microseconds of the rate. The credit may be
/// larger for one larger write group. With more credit, writers could write at twice the rate for a second, and fill level 0. Other
/// delayed writers save all their credit, as in RocksDB.
const SAVED_US_MAX: u64 = 100_000;
/// The longest pause of one write group for a pace.
const PACE_US_MAX: u64 = 50_000;

/// The rate of all writes with `low_pri` together before the first write delay, in bytes per second.
pub(super) const LOW_PRI_RATE: u64 = 1 << 20;

/// Returns the error that ends the wait for these column families, if a further wait is useless.
/// The second argument is the time that the writer has waited, in microseconds.
type EndsWait<'a> = &'a dyn Fn(&[FamilyId], u64) -> Option<Error>;

/// Combines the stall decisions of all column families of one database, and delays its writers.
pub struct Controller {
    state: AtomicU8,
    inner: RankedMutex<Inner>,
    changed: Condvar,
    closing: AtomicBool,
    /// See [`Controller::low_pri_rate`].
    low_pri_rate: AtomicU64,
}

#[derive(Default)]
struct Inner {
    families: HashMap<FamilyId, Decision>,
    /// Column families whose decisions are ignored: a background error rejects their writes.
    excluded: Vec<FamilyId>,
    /// The error for each stopped column family that no job can make room for.
    hopeless: HashMap<FamilyId, Error>,
    /// The locks that stop all writes (`lock_wal`): for each thread that has locks, their number.
    locks: HashMap<u64, u32>,
    /// Bytes a second for all writers together; 0 when neither delayed nor paced.
    rate: u64,
    /// True if a column family delays the writers. If only `rate` is set, the writers are paced.
    is_delayed: bool,
    /// Bytes that delayed writers may write without a wait.
    credit_bytes: u64,
    /// The time of the next grant of credit, in microseconds; 0 before the first grant of a delay.
    next_refill_us: u64,
    /// See [`Controller::reasons_of_wait`].
    reasons: Vec<StallReason>,
}

impl Inner {
    /// Returns the decisions that count: those of all column families except `excluded`.
    fn held(&self) -> impl Iterator<Item = (FamilyId, &Decision)> {
        self.families
            .iter()
            .map(|(id, decision)| (*id, decision))
            .filter(|(id, _)| !self.excluded.contains(id))
    }

    /// Returns the column families that delay or stop writers.
    fn holding(&self) -> Vec<FamilyId> {
        self.held().filter(|(_, d)| d.stall != Stall::Normal).map(|(id, _)| id).collect()
    }

    /// Returns the reasons why writers are paced, delayed or stopped now.
    fn reasons_now(&self) -> Vec<StallReason> {
        let locked = StallReason { family: None, trigger: Cause::None, stopped: true };
        let held = self.held().filter(|(_, decision)| decision.stall != Stall::Normal);
        let of = |(id, decision): (FamilyId, &Decision)| StallReason {
            family: Some(id),
            trigger: match decision.stall {
                Stall::Paced { .. } => Cause::L0FileCountLimit,
                _ => decision.cause,
            },
            stopped: decision.stall == Stall::Stopped,
        };
        (!self.locks.is_empty()).then_some(locked).into_iter().chain(held.map(of)).collect()
    }

    fn hopeless(&self) -> Option<&Error> {
        self.hopeless.iter().find(|(id, _)| !self.excluded.contains(id)).map(|(_, error)| error)
    }
}

impl Default for Controller {
    fn default() -> Self {
        Controller {
            state: AtomicU8::default(),
            inner: RankedMutex::new(&ranks::STALLS, Inner::default()),
            changed: Condvar::default(),
            closing: AtomicBool::default(),
            low_pri_rate: AtomicU64::new(LOW_PRI_RATE),
        }
    }
}

impl Controller {
    /// Stores the new decision for a column family, and wakes the waiting writers. If no job can make room for a
    /// stopped column family, `hopeless` is the error that its waiting writers get.
    pub fn set(&self, family: FamilyId, decision: Decision, hopeless: Option<Error>) {
        let mut inner = self.inner.lock();
        inner.families.insert(family, decision);
        match hopeless {
            Some(error) => inner.hopeless.insert(family, error),
            None => inner.hopeless.remove(&family),
        };
        self.sum_up(&mut inner);
    }

    /// Removes the decision for a dropped column family.
    pub fn forget(&self, family: FamilyId) {
        let mut inner = self.inner.lock();
        inner.families.remove(&family);
        inner.hopeless.remove(&family);
        self.sum_up(&mut inner);
    }

    /// Excludes these column families from stall decisions. Their writes are already rejected, so a stall
    /// for their memtables or level-0 files would only delay writers of other column families.
    pub fn exclude_families(&self, families: Vec<FamilyId>) {
        let mut inner = self.inner.lock();
        inner.excluded = families;
        self.sum_up(&mut inner);
    }

    /// Stops all writes until [`Controller::unlock_writes`]. Locks are counted for each thread. Only the leader of the
    /// writers may call this function: so no leader finds writes locked between two of its steps.
    pub fn lock_writes(&self) {
        let mut inner = self.inner.lock();
        *inner.locks.entry(thread_id()).or_default() += 1;
        self.sum_up(&mut inner);
    }

    /// Adds a lock if writes are locked. Returns false if writes are not locked.
    pub fn lock_again(&self) -> bool {
        let mut inner = self.inner.lock();
        let locked = !inner.locks.is_empty();
        if locked {
            *inner.locks.entry(thread_id()).or_default() += 1;
        }
        locked
    }

    /// Removes one lock of this thread. Returns false if this thread has no lock.
    pub fn unlock_writes(&self) -> bool {
        let mut inner = self.inner.lock();
        let me = thread_id();
        let Some(count) = inner.locks.get_mut(&me) else { return false };
        base::invariant!(*count > 0, "a thread without a lock of the writes removes one");
        *count -= 1;
        if *count == 0 {
            inner.locks.remove(&me);
        }
        self.sum_up(&mut inner);
        true
    }

    /// Returns true if a thread has a lock, also after [`Controller::close`].
    pub fn has_locks(&self) -> bool {
        self.is_stopped() && !self.inner.lock().locks.is_empty()
    }

    /// Returns true if writes are locked. A close, and the end of all background work, end the waits for locks.
    pub fn is_locked(&self) -> bool {
        !self.is_closing() && self.has_locks()
    }

    /// Returns an error if this thread has locked writes: a wait for the end of the lock would not end.
    ///
    /// # Errors
    /// Aborted, with RocksDB's text.
    pub fn check_may_wait(&self) -> Result<()> {
        if self.is_locked() && self.inner.lock().locks.contains_key(&thread_id()) {
            return Err(Error::aborted("Likely deadlock as the same thread called LockWAL()"));
        }
        Ok(())
    }

    /// Waits until writes are not locked. The caller must not be the leader of the writers.
    pub fn wait_for_unlock(&self, env: &Env) {
        if self.is_locked() {
            self.wait_while(env, &|inner| !inner.locks.is_empty() && !self.is_closing());
        }
    }

    /// Waits as the leader until writes are not locked. Returns the length of the wait in microseconds. During the wait, the
    /// leader state is lent: see [`Queue::hold_back`].
    ///
    /// # Errors
    /// Incomplete with `no_slowdown`. ShutdownInProgress after [`Controller::close`], also if that call comes during the wait.
    #[cold]
    pub fn hold_while_locked(
        &self,
        env: &Env,
        queue: &Queue,
        leader_state: &mut LeaderState,
        no_slowdown: bool,
    ) -> Result<u64> {
        if no_slowdown {
            return Err(would_stall());
        }
        let start = env.clock.now_nanos();
        let _step = Step::begin_closed(stats::Cause::Stall);
        {
            let mut inner = self.inner.lock();
            inner.reasons = inner.reasons_now();
        }
        queue.hold_back(leader_state, || self.wait_for_unlock(env));
        match self.is_closing() {
            true => Err(Error::shutdown_in_progress("stalled writes")),
            false => Ok(env.clock.nanos_since(start) / 1000),
        }
    }

    /// Waits while `waits` returns true. The thread helps the executor meanwhile.
    fn wait_while(&self, env: &Env, waits: &dyn Fn(&Inner) -> bool) {
        while waits(&self.inner.lock()) {
            if env.executor.help() || env.executor.pass_time() {
                continue;
            }
            let mut inner = self.inner.lock();
            if waits(&inner) {
                // The wait has a time limit: `help` starts a thread that the system refused to start before.
                inner.wait_for(&self.changed, LOOK_AGAIN);
            }
        }
    }

    fn sum_up(&self, inner: &mut Inner) {
        base::invariant!(
            inner
                .hopeless
                .keys()
                .all(|id| inner.families.get(id).is_some_and(|decision| decision.stall == Stall::Stopped)),
            "no job can make room for column families {:?}, and one of them is not stopped",
            inner.hopeless.keys()
        );
        let stopped = !inner.locks.is_empty() || inner.held().any(|(_, d)| d.stall == Stall::Stopped);
        let (mut rate, mut is_delayed) = (0, false);
        for (_, decision) in inner.held() {
            let (Stall::Delayed { rate: of_family } | Stall::Paced { rate: of_family }) = decision.stall
            else {
                continue;
            };
            base::invariant!(of_family > 0, "delayed writers may write {of_family} bytes a second");
            rate = if rate == 0 { of_family.max(1) } else { of_family.max(1).min(rate) };
            is_delayed |= matches!(decision.stall, Stall::Delayed { .. });
        }
        if inner.rate == 0 && rate > 0 || is_delayed && !inner.is_delayed {
            // A pace or a delay begins. Without the reset, the first refill would grant credit for the time since the last delay.
            (inner.credit_bytes, inner.next_refill_us) = (0, 0);
        }
        if inner.is_delayed && !is_delayed {
            self.low_pri_rate.store((inner.rate / 4).max(1), Ordering::Relaxed);
        }
        (inner.rate, inner.is_delayed) = (rate, is_delayed);
        let state = if stopped {
            STOP
        } else if is_delayed {
            SLOW
        } else if rate > 0 {
            PACE
        } else {
            GO
        };
        self.state.store(state, Ordering::Release);
        self.changed.notify_all();
    }

    /// Takes the reasons for the last wait of a leader. Only this leader calls the function.
    pub fn reasons_of_wait(&self) -> Vec<StallReason> {
        std::mem::take(&mut self.inner.lock().reasons)
    }

    /// Returns true if compactions should use more threads.
    pub fn needs_speedup(&self) -> bool {
        self.is_stopped() || self.inner.lock().held().any(|(_, d)| d.speed_up_compaction)
    }

    /// Returns true if writers wait for compaction or soon will: because of level-0 files or pending compaction
    /// bytes, not because of memtables.
    pub fn waits_for_compaction(&self) -> bool {
        let is_theirs = |d: &Decision| match d.stall {
            Stall::Normal | Stall::Paced { .. } => d.speed_up_compaction,
            _ => matches!(d.cause, Cause::L0FileCountLimit | Cause::PendingCompactionBytes),
        };
        self.inner.lock().held().any(|(_, d)| is_theirs(d))
    }

    /// Returns true if writers are stopped, not only delayed. Takes no lock.
    pub fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Acquire) == STOP
    }

    /// Returns the bytes per second that delayed writers may write together; 0 if writers are not delayed. A pace is no delay.
    pub fn delayed_rate(&self) -> u64 {
        if self.state.load(Ordering::Acquire) == SLOW { self.inner.lock().rate } else { 0 }
    }

    /// Returns the bytes per second that all writes with `low_pri` may write together while compactions cannot keep up:
    /// 1 MiB, and after the first write delay a quarter of the last rate of delayed writers, as in RocksDB.
    pub fn low_pri_rate(&self) -> u64 {
        self.low_pri_rate.load(Ordering::Relaxed)
    }

    /// Wakes all waiting writers, because the database closes. A delayed writer continues. A stopped writer gets an
    /// error.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        drop(self.inner.lock());
        self.changed.notify_all();
    }

    /// Returns true after [`Controller::close`]. The state is final.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Wakes the waiting writers, so that they check again why they wait.
    pub fn wake(&self) {
        drop(self.inner.lock());
        self.changed.notify_all();
    }

    /// Delays a group of `bytes` bytes if there is a stall. Returns the length of the wait in microseconds. During
    /// the wait, the leader state is lent: see [`Queue::hold_back`]. `ends_wait` returns the background error that
    /// ends the wait, if a further wait is useless.
    ///
    /// # Errors
    /// Incomplete, if the group would have to wait and has `no_slowdown`. If a wait ends without room:
    /// ShutdownInProgress if the database closes, otherwise Incomplete with the text of the background error.
    #[inline]
    pub fn admit(
        &self,
        env: &Env,
        queue: &Queue,
        leader_state: &mut LeaderState,
        bytes: u64,
        no_slowdown: bool,
        ends_wait: EndsWait<'_>,
    ) -> Result<u64> {
        if self.state.load(Ordering::Acquire) == GO {
            return Ok(0);
        }
        self.hold_back(env, queue, leader_state, bytes, no_slowdown, ends_wait)
    }

    #[cold]
    fn hold_back(
        &self,
        env: &Env,
        queue: &Queue,
        leader_state: &mut LeaderState,
        bytes: u64,
        no_slowdown: bool,
        ends_wait: EndsWait<'_>,
    ) -> Result<u64> {
        if self.state.load(Ordering::Acquire) == PACE {
            return Ok(if no_slowdown { 0 } else { self.keep_pace(env, bytes, ends_wait) });
        }
        let delay_us = self.delay_of(env, bytes);
        if no_slowdown && (delay_us > 0 || self.is_stopped()) {
            return Err(would_stall());
        }
        let start = env.clock.now_nanos();
        let waited_us = || env.clock.nanos_since(start) / 1000;
        let hopeless =
            |inner: &Inner| ends_wait(&inner.holding(), waited_us()).or_else(|| inner.hopeless().cloned());
        let waits = |inner: &Inner| self.is_stopped() && !self.is_closing() && hopeless(inner).is_none();
        let _step = Step::begin_closed(stats::Cause::Stall);
        {
            let mut inner = self.inner.lock();
            inner.reasons = inner.reasons_now();
        }
        queue.hold_back(leader_state, || {
            // An executor without threads runs jobs instead of each sleep.
            self.sleep(env, delay_us, ends_wait, || env.executor.help());
            self.wait_while(env, &waits);
        });
        if self.is_stopped() {
            if self.is_closing() {
                return Err(Error::shutdown_in_progress("stalled writes"));
            }
            if let Some(error) = hopeless(&self.inner.lock()) {
                return Err(Error::incomplete(error.to_string()));
            }
        }
        Ok(waited_us())
    }

    /// Pauses a group of `bytes` bytes that is ahead of the pace. Returns the length of the pause in microseconds. The pause is short, so
    /// the leader keeps the leader state.
    fn keep_pace(&self, env: &Env, bytes: u64, ends_wait: EndsWait<'_>) -> u64 {
        let delay_us = self.delay_of(env, bytes);
        if delay_us == 0 {
            return 0;
        }
        let start = env.clock.now_nanos();
        let _step = Step::begin_closed(stats::Cause::Stall);
        {
            let mut inner = self.inner.lock();
            inner.reasons = inner.reasons_now();
        }
        // No job may run on this thread: a job can ask for the lead, and would then wait for this leader.
        self.sleep(env, delay_us, ends_wait, || false);
        env.clock.nanos_since(start) / 1000
    }

    /// Sleeps in short steps while the delay is in force. `help` returns true if it did work instead of a step.
    fn sleep(&self, env: &Env, delay_us: u64, ends_wait: EndsWait<'_>, help: impl Fn() -> bool) {
        const STEP_US: u64 = 1001;
        let mut left = delay_us;
        let is_over = || ends_wait(&self.inner.lock().holding(), 0).is_some();
        let slows = || matches!(self.state.load(Ordering::Acquire), PACE | SLOW);
        let slow = || slows() && !self.is_closing() && !is_over();
        while left > 0 && slow() {
            if !help() {
                let step = left.min(STEP_US);
                env.clock.sleep_micros(step);
                left -= step;
            }
        }
    }

    /// Returns how many microseconds a write of `bytes` must wait: the token bucket of RocksDB's
    /// `WriteController::GetDelay`.
    fn delay_of(&self, env: &Env, bytes: u64) -> u64 {
        let mut inner = self.inner.lock();
        if self.is_stopped() || inner.rate == 0 {
            return 0;
        }
        let (refill_us, delay_us_max) = match inner.is_delayed {
            true => (REFILL_US, DELAY_US_MAX),
            false => (PACE_REFILL_US, PACE_US_MAX),
        };
        if inner.credit_bytes >= bytes {
            inner.credit_bytes -= bytes;
            return 0;
        }
        let now = env.clock.now_nanos() / 1000;
        if inner.next_refill_us == 0 {
            inner.next_refill_us = now;
        }
        if inner.next_refill_us <= now {
            let of_group = ((u128::from(bytes) * 1_000_000) / u128::from(inner.rate)) as u64;
            let saved_us_max = match inner.is_delayed && inner.rate <= lsm::pressure::DEFAULT_RATE {
                true => u64::MAX,
                false => SAVED_US_MAX.max(of_group),
            };
            let elapsed = (now - inner.next_refill_us).min(saved_us_max).saturating_add(refill_us);
            inner.credit_bytes += ((u128::from(elapsed) * u128::from(inner.rate)) / 1_000_000) as u64;
            inner.next_refill_us = now + refill_us;
            if inner.credit_bytes >= bytes {
                inner.credit_bytes -= bytes;
                return 0;
            }
        }
        base::invariant!(
            inner.credit_bytes < bytes,
            "a write of {bytes} bytes waits, and {} bytes are free",
            inner.credit_bytes
        );
        let over = bytes - inner.credit_bytes;
        let needed_us = ((u128::from(over) * 1_000_000) / u128::from(inner.rate)) as u64;
        inner.credit_bytes = 0;
        inner.next_refill_us += needed_us;
        base::invariant!(
            inner.next_refill_us >= now,
            "the next refill of a write stall is at {} and now is {now}",
            inner.next_refill_us
        );
        if !inner.is_delayed {
            // The pause of a paced group is cut at `PACE_US_MAX`. The writers after a large write batch do not wait for the rest.
            inner.next_refill_us = inner.next_refill_us.min(now + delay_us_max);
        }
        (inner.next_refill_us - now).clamp(refill_us, delay_us_max)
    }
}
