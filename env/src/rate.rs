//! The I/O rate limiter: RocksDB's `GenericRateLimiter`, a token bucket that is refilled once per period.
//!
//! A request takes the available tokens and waits for the missing tokens. One waiting thread sleeps until
//! the next refill, refills, and gives tokens to the queues: user requests first, then high, mid and low
//! priority. With a probability of one in `fairness`, a lower queue goes before a higher queue, so that no
//! queue starves. With `auto_tuned`, the rate changes by 5 % every hundred periods. It stays between a
//! twentieth of the maximum and the maximum. The goal is that 50 % to 90 % of the periods use up their
//! tokens.
//!
//! Source: `rocksdb/util/rate_limiter.cc`. One difference: a waiting thread sleeps by the `Clock`, without the lock.
//! So a simulated clock can drive the limiter.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::option::{Nullable, not_a};
use base::stats::{HistogramKind, Statistics, Ticker};
use base::{Error, Result};

use crate::clock::Clock;
use crate::rng::{Rng, SeededRng};
use crate::sync::{Condvar, Mutex, MutexGuard};

#[cfg(test)]
mod tests;

/// The priority of a request, numbered as RocksDB's `Env::IOPriority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IoPriority {
    /// Compaction.
    Low = 0,
    /// Between low and high.
    Mid = 1,
    /// Flush.
    High = 2,
    /// Reads and writes of the program.
    User = 3,
    /// No limit. In calls that return figures: the sum of all priorities.
    Total = 4,
}

/// The words of RocksDB's `Env::IOPriority`.
const PRIORITIES: [(IoPriority, &str); 5] = [
    (IoPriority::Low, "IO_LOW"),
    (IoPriority::Mid, "IO_MID"),
    (IoPriority::High, "IO_HIGH"),
    (IoPriority::User, "IO_USER"),
    (IoPriority::Total, "IO_TOTAL"),
];

/// An option of a call can have a priority, or none.
impl Nullable for IoPriority {
    fn parse_some(text: &str) -> Result<Self> {
        let known = PRIORITIES.iter().find(|(_, word)| *word == text.trim());
        known.map(|(priority, _)| *priority).ok_or_else(|| not_a("priority of I/O", text))
    }

    fn print_some(&self) -> String {
        PRIORITIES[*self as usize].1.to_string()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

const QUEUES: usize = 4;

/// The direction of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes come from the device.
    Read,
    /// Bytes go to the device.
    Write,
}

/// The direction of I/O that a limiter covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The limit covers reads.
    ReadsOnly = 0,
    /// The limit covers writes. The default.
    #[default]
    WritesOnly = 1,
    /// The limit covers reads and writes together.
    AllIo = 2,
}

/// The settings of a rate limiter. The defaults are RocksDB's defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateOptions {
    /// The rate, above 0. With `auto_tuned`, the largest rate.
    pub rate_bytes_per_sec: i64,
    /// The time between two refills, above 0. Default: 100,000.
    pub refill_period_us: i64,
    /// One refill of this many serves a lower priority before a higher priority. Above 0; values above 100 stand for
    /// 100. Default: 10.
    pub fairness: i32,
    /// The direction of I/O that the limit covers.
    pub mode: Mode,
    /// True if the limiter adapts its rate to the demand, below the given rate.
    pub auto_tuned: bool,
    /// The maximum bytes that one request gets. 0 stands for the bytes of one period.
    pub single_burst_bytes: i64,
}

impl RateOptions {
    /// Makes the options of a limiter with this rate in bytes per second. All other values are the defaults.
    pub fn new(rate_bytes_per_sec: i64) -> Self {
        RateOptions {
            rate_bytes_per_sec,
            refill_period_us: 100_000,
            fairness: 10,
            mode: Mode::WritesOnly,
            auto_tuned: false,
            single_burst_bytes: 0,
        }
    }
}

/// The result of a request, for the `RATE_LIMITER_*` tickers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The number of bytes that the limiter granted.
    pub bytes: u64,
    /// True if the request waited for a refill.
    pub delayed: bool,
    /// The time that the request waited, in microseconds.
    pub wait_us: u64,
    /// How often the request found no token and slept until the refill (`NUMBER_RATE_LIMITER_DRAINS`).
    pub drains: u64,
}

impl Granted {
    /// Adds one request to the tickers and histograms of its direction.
    pub fn count(&self, direction: Direction, statistics: &Statistics) {
        use Ticker as T;
        let (requests, bytes, delayed, waited, wait) = match direction {
            Direction::Read => (
                T::RateLimiterRequestsRead,
                T::RateLimiterBytesRead,
                T::RateLimiterDelayedRequestsRead,
                T::RateLimiterTotalWaitMicrosRead,
                HistogramKind::RateLimiterWaitMicrosRead,
            ),
            Direction::Write => (
                T::RateLimiterRequestsWrite,
                T::RateLimiterBytesWrite,
                T::RateLimiterDelayedRequestsWrite,
                T::RateLimiterTotalWaitMicrosWrite,
                HistogramKind::RateLimiterWaitMicrosWrite,
            ),
        };
        statistics.add(requests, 1);
        statistics.add(bytes, self.bytes);
        if self.delayed {
            statistics.add(delayed, 1);
            statistics.add(waited, self.wait_us);
            statistics.measure(wait, self.wait_us);
        }
        if self.drains > 0 {
            statistics.add(T::NumberRateLimiterDrains, self.drains);
        }
    }
}

/// A rate limiter. Any thread may use a limiter, and several databases may share it.
#[derive(Debug)]
pub struct RateLimiter {
    mode: Mode,
    refill_period_us: i64,
    fairness: u64,
    auto_tuned: bool,
    rate: AtomicI64,
    refill_bytes: AtomicI64,
    single_burst: AtomicI64,
    clock: Arc<dyn Clock>,
    rng: SeededRng,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    available: i64,
    next_refill_us: i64,
    /// True if a thread sleeps until the next refill.
    sleeper: bool,
    queues: [VecDeque<Arc<Waiting>>; QUEUES],
    total_requests: [i64; QUEUES],
    total_bytes: [i64; QUEUES],
    drains: i64,
    rate_max: i64,
    tuned_us: i64,
}

#[derive(Debug)]
struct Waiting {
    bytes: i64,
    remaining: AtomicI64,
    wake: Condvar,
}

impl RateLimiter {
    /// Makes a rate limiter. With `auto_tuned`, the first rate is half of `rate_bytes_per_sec`.
    ///
    /// # Errors
    /// `InvalidArgument` for a rate, period or fairness not above 0, or a negative burst.
    pub fn new(options: RateOptions, clock: Arc<dyn Clock>) -> Result<RateLimiter> {
        let o = options;
        if o.rate_bytes_per_sec <= 0 || o.refill_period_us <= 0 || o.fairness <= 0 {
            return Err(Error::invalid_argument(
                "a rate limiter's rate, refill period and fairness must be above 0",
            ));
        }
        let rate = if o.auto_tuned { (o.rate_bytes_per_sec / 2).max(1) } else { o.rate_bytes_per_sec };
        let now = (clock.now_nanos() / 1000) as i64;
        let limiter = RateLimiter {
            mode: o.mode,
            refill_period_us: o.refill_period_us,
            fairness: o.fairness.min(100) as u64,
            auto_tuned: o.auto_tuned,
            rate: AtomicI64::new(rate),
            refill_bytes: AtomicI64::new(refill_bytes(rate, o.refill_period_us)),
            single_burst: AtomicI64::new(0),
            rng: SeededRng::new(clock.now_micros() ^ now as u64),
            clock,
            state: Mutex::new(State {
                available: 0,
                next_refill_us: now,
                sleeper: false,
                queues: Default::default(),
                total_requests: [0; QUEUES],
                total_bytes: [0; QUEUES],
                drains: 0,
                rate_max: o.rate_bytes_per_sec,
                tuned_us: now,
            }),
        };
        limiter.set_single_burst_bytes(o.single_burst_bytes)?;
        Ok(limiter)
    }

    /// Returns the direction of I/O that the limit covers.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns true if the limit covers this direction.
    pub fn is_limited(&self, direction: Direction) -> bool {
        match self.mode {
            Mode::AllIo => true,
            Mode::ReadsOnly => direction == Direction::Read,
            Mode::WritesOnly => direction == Direction::Write,
        }
    }

    /// Waits until the limiter grants up to one burst of `bytes`, and returns the granted bytes (`RequestToken`). The
    /// caller repeats the call until all bytes are granted. With `alignment` above 1, the granted bytes are a
    /// multiple of `alignment` (direct I/O), even if this exceeds a burst. Grants all bytes at once if the limit does
    /// not cover the request.
    pub fn request_token(
        &self,
        bytes: usize,
        alignment: usize,
        priority: IoPriority,
        direction: Direction,
    ) -> Granted {
        if priority == IoPriority::Total || !self.is_limited(direction) {
            return Granted { bytes: bytes as u64, ..Granted::default() };
        }
        let mut n = bytes.min(self.single_burst_bytes().max(1) as usize);
        if alignment > 1 {
            n = alignment.max(n - n % alignment);
        }
        self.request(n as i64, priority, direction)
    }

    /// Waits until all of `bytes` are granted, burst by burst.
    pub fn request_all(&self, bytes: u64, priority: IoPriority, direction: Direction) -> Granted {
        let mut sum = Granted::default();
        while sum.bytes < bytes {
            let left = usize::try_from(bytes - sum.bytes).unwrap_or(usize::MAX);
            let g = self.request_token(left, 0, priority, direction);
            sum.bytes += g.bytes;
            sum.delayed |= g.delayed;
            sum.wait_us += g.wait_us;
            sum.drains += g.drains;
        }
        sum
    }

    /// Waits as [`RateLimiter::request_all`] does, and adds the request to RocksDB's tickers.
    pub fn charge(
        &self,
        bytes: u64,
        priority: IoPriority,
        direction: Direction,
        statistics: Option<&Statistics>,
    ) {
        let mut left = bytes;
        while left > 0 {
            let asked = usize::try_from(left).unwrap_or(usize::MAX);
            let granted = self.request_token(asked, 0, priority, direction);
            left = left.saturating_sub(granted.bytes);
            if let Some(statistics) = statistics.filter(|_| self.counts(priority, direction)) {
                granted.count(direction, statistics);
            }
        }
    }

    /// Returns true if the limiter covers such a request and counts it.
    pub fn counts(&self, priority: IoPriority, direction: Direction) -> bool {
        priority != IoPriority::Total && self.is_limited(direction)
    }

    /// Waits until `bytes` are granted. `bytes` should be at most [`RateLimiter::single_burst_bytes`].
    pub fn request(&self, bytes: i64, priority: IoPriority, direction: Direction) -> Granted {
        let asked = bytes.max(0);
        let mut granted = Granted { bytes: asked as u64, ..Granted::default() };
        if priority == IoPriority::Total || !self.is_limited(direction) {
            return granted;
        }
        let lane = priority as usize;
        let mut s = self.state.lock();
        if self.auto_tuned && self.now_us() - s.tuned_us >= 100 * self.refill_period_us {
            self.tune(&mut s);
        }
        s.total_requests[lane] += 1;
        let through = s.available.min(asked);
        s.total_bytes[lane] += through;
        s.available -= through;
        if through == asked {
            return granted;
        }
        let bytes = asked - through;
        let me = Arc::new(Waiting { bytes, remaining: AtomicI64::new(bytes), wake: Condvar::new() });
        s.queues[lane].push_back(me.clone());
        let mut started_us = None;
        while me.remaining.load(Ordering::Relaxed) > 0 {
            let now = self.now_us();
            let until_refill = s.next_refill_us - now;
            if until_refill <= 0 {
                self.refill(&mut s);
                continue;
            }
            started_us.get_or_insert(now);
            if s.sleeper {
                me.wake.wait(&mut s);
                continue;
            }
            s.drains += 1;
            granted.drains += 1;
            s.sleeper = true;
            MutexGuard::unlocked(&mut s, || {
                self.clock.sleep_micros(until_refill as u64);
            });
            s.sleeper = false;
        }
        // Wake one waiting thread. The thread sleeps until the next refill on behalf of all waiting threads.
        if let Some(front) = s.queues.iter().rev().find_map(VecDeque::front) {
            front.wake.notify_one();
        }
        if let Some(start) = started_us {
            granted.delayed = true;
            granted.wait_us = (self.now_us() - start).max(0) as u64;
        }
        granted
    }

    /// Returns the most bytes that one request gets.
    pub fn single_burst_bytes(&self) -> i64 {
        match self.single_burst.load(Ordering::Relaxed) {
            0 => self.refill_bytes.load(Ordering::Relaxed),
            n => n,
        }
    }

    /// Sets the maximum bytes that one request gets. 0 stands for the bytes of one period.
    pub fn set_single_burst_bytes(&self, bytes: i64) -> Result<()> {
        if bytes < 0 {
            return Err(Error::invalid_argument("single_burst_bytes must not be negative"));
        }
        self.single_burst.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the current rate in bytes per second.
    pub fn bytes_per_second(&self) -> i64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// Sets the rate in bytes per second. The next refill uses the new rate. Values below 1 stand for 1.
    pub fn set_bytes_per_second(&self, bytes: i64) {
        let bytes = bytes.max(1);
        self.rate.store(bytes, Ordering::Relaxed);
        self.refill_bytes.store(refill_bytes(bytes, self.refill_period_us), Ordering::Relaxed);
    }

    /// Returns the bytes granted to a priority. With `Total`, the bytes granted to all priorities.
    pub fn total_bytes_through(&self, priority: IoPriority) -> i64 {
        pick(&self.state.lock().total_bytes, priority)
    }

    /// Returns the number of requests of this priority since the limiter was made.
    pub fn total_requests(&self, priority: IoPriority) -> i64 {
        pick(&self.state.lock().total_requests, priority)
    }

    /// Returns the number of requests of this priority that wait now.
    pub fn total_pending_requests(&self, priority: IoPriority) -> i64 {
        let s = self.state.lock();
        pick(&std::array::from_fn(|i| s.queues[i].len() as i64), priority)
    }

    fn now_us(&self) -> i64 {
        (self.clock.now_nanos() / 1000) as i64
    }

    fn refill(&self, s: &mut State) {
        s.next_refill_us = self.now_us() + self.refill_period_us;
        // A very low rate still gives one byte per period. Otherwise no request would ever be granted.
        s.available = self.refill_bytes.load(Ordering::Relaxed).max(1);
        for lane in self.order() {
            while let Some(front) = s.queues[lane].front() {
                let wants = front.remaining.load(Ordering::Relaxed);
                if s.available < wants {
                    front.remaining.store(wants - s.available, Ordering::Relaxed);
                    s.available = 0;
                    break;
                }
                s.available -= wants;
                front.remaining.store(0, Ordering::Relaxed);
                front.wake.notify_one();
                s.total_bytes[lane] += front.bytes;
                s.queues[lane].pop_front();
            }
        }
    }

    /// Returns the order in which a refill serves the priorities: user, high, mid, low. With a chance of one in
    /// `fairness`, high comes last. With the same chance, low comes before mid.
    fn order(&self) -> [usize; QUEUES] {
        use IoPriority::{High, Low, Mid, User};
        let high_last = self.rng.one_in(self.fairness);
        let low_before_mid = self.rng.one_in(self.fairness);
        let (a, b) = if low_before_mid { (Low, Mid) } else { (Mid, Low) };
        let order = if high_last { [User, a, b, High] } else { [User, High, a, b] };
        order.map(|p| p as usize)
    }

    fn tune(&self, s: &mut State) {
        let before_us = s.tuned_us;
        s.tuned_us = self.now_us();
        let period = self.refill_period_us;
        let periods = ((s.tuned_us - before_us + period - 1) / period).max(1);
        let drained_pct = s.drains.saturating_mul(100) / periods;
        let rate = i128::from(self.bytes_per_second());
        let (low, high) = (i128::from(s.rate_max / 20).max(1), i128::from(s.rate_max));
        let next = match drained_pct {
            0 => low,
            1..50 => (rate * 100 / 105).max(low),
            91.. => (rate * 105 / 100).min(high),
            _ => rate,
        };
        self.set_bytes_per_second(next as i64);
        s.drains = 0;
    }
}

fn refill_bytes(rate: i64, period_us: i64) -> i64 {
    rate.checked_mul(period_us).map_or(i64::MAX / 1_000_000, |n| n / 1_000_000)
}

fn pick(of: &[i64; QUEUES], priority: IoPriority) -> i64 {
    of.get(priority as usize).copied().unwrap_or_else(|| of.iter().sum())
}
