//! Time as a parameter: the clock of the machine, and a clock that a test moves.

#![allow(clippy::disallowed_methods, reason = "the real clock")]

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::stats::{IoCounter, PerfCounter, PerfLevel, io_add, perf_add, perf_timing};

/// A clock and a sleep. Any thread may use a clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the wall time in microseconds since 1970. The wall time may jump.
    fn now_micros(&self) -> u64;

    /// Returns nanoseconds since a fixed time of unknown date. The value never goes back.
    fn now_nanos(&self) -> u64;

    /// Returns the nanoseconds since `start`, an earlier value of [`Clock::now_nanos`]. 0 if `start` is later than now: it comes from
    /// another clock.
    fn nanos_since(&self, start: u64) -> u64 {
        self.now_nanos().saturating_sub(start)
    }

    /// Returns the wall time in seconds since 1970. The value may change some milliseconds later than the seconds of
    /// [`Clock::now_micros`].
    fn now_seconds(&self) -> u64 {
        self.now_micros() / 1_000_000
    }

    /// Returns the processor time of the calling thread, in nanoseconds. 0 if the system does not report this time.
    fn cpu_nanos(&self) -> u64 {
        0
    }

    /// Returns the processor time of the calling thread since `start`, an earlier value of [`Clock::cpu_nanos`] in the same thread.
    /// 0 if `start` is later than now: it comes from another thread.
    fn cpu_nanos_since(&self, start: u64) -> u64 {
        self.cpu_nanos().saturating_sub(start)
    }

    /// Returns the time in which the calling thread was ready to run and waited for a processor, in nanoseconds since
    /// the start of the thread. 0 if the system does not report this time. Cost: about three microseconds.
    fn processor_wait_nanos(&self) -> u64 {
        0
    }

    /// Blocks the calling thread for `micros` microseconds. A simulated clock moves forward instead.
    fn sleep_micros(&self, micros: u64);

    /// Returns the seconds to add to universal time for the local time at `at_seconds`. The info log shows local
    /// time.
    fn local_offset_seconds(&self, _at_seconds: u64) -> i64 {
        0
    }
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// Makes the clock of the machine.
    pub fn new() -> Self {
        RealClock { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now_micros(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
    }

    fn now_seconds(&self) -> u64 {
        crate::posix::wall_seconds()
    }

    fn now_nanos(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn cpu_nanos(&self) -> u64 {
        crate::posix::thread_cpu_nanos()
    }

    fn processor_wait_nanos(&self) -> u64 {
        crate::posix::thread_wait_nanos()
    }

    fn sleep_micros(&self, micros: u64) {
        std::thread::sleep(Duration::from_micros(micros));
    }

    fn local_offset_seconds(&self, at_seconds: u64) -> i64 {
        crate::posix::local_offset_seconds(at_seconds)
    }
}

/// Adds CPU time of this thread to a counter of its perf context, in nanoseconds: the time from the start to the drop
/// of the timer. Reads no clock if the perf level of the thread has no CPU times. No decision depends on this time.
#[derive(Debug)]
#[must_use = "the timer measures the time until the timer is dropped"]
pub struct CpuTimer {
    counter: PerfCounter,
    start: Option<u64>,
}

impl CpuTimer {
    /// Starts the timer. The timer reads no clock if the thread collects no CPU times.
    #[inline]
    pub fn start(counter: PerfCounter) -> CpuTimer {
        let wanted = perf_timing(PerfLevel::EnableTimeAndCpuTimeExceptForMutex);
        CpuTimer { counter, start: wanted.then(crate::posix::thread_cpu_nanos) }
    }
}

impl Drop for CpuTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            perf_add(self.counter, crate::posix::thread_cpu_nanos().saturating_sub(start));
        }
    }
}

/// Adds CPU time of this thread to a counter of its I/O context, as [`CpuTimer`] does for the perf context.
#[derive(Debug)]
#[must_use = "the timer measures the time until the timer is dropped"]
pub(crate) struct IoCpuTimer {
    counter: IoCounter,
    start: Option<u64>,
}

impl IoCpuTimer {
    #[inline]
    pub(crate) fn start(counter: IoCounter) -> IoCpuTimer {
        let wanted = perf_timing(PerfLevel::EnableTimeAndCpuTimeExceptForMutex);
        IoCpuTimer { counter, start: wanted.then(crate::posix::thread_cpu_nanos) }
    }
}

impl Drop for IoCpuTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            io_add(self.counter, crate::posix::thread_cpu_nanos().saturating_sub(start));
        }
    }
}

/// A clock that moves only by [`ManualClock::advance`] and by sleeps: a sleep moves the clock forward.
#[derive(Debug)]
pub struct ManualClock {
    wall_us: AtomicU64,
    monotonic_ns: AtomicU64,
}

impl ManualClock {
    /// Makes a clock that starts at `start_us` microseconds since 1970.
    pub fn new(start_us: u64) -> Self {
        ManualClock { wall_us: AtomicU64::new(start_us), monotonic_ns: AtomicU64::new(0) }
    }

    /// Moves both times forward by `micros` microseconds.
    pub fn advance(&self, micros: u64) {
        self.wall_us.fetch_add(micros, Ordering::Relaxed);
        self.monotonic_ns.fetch_add(micros.saturating_mul(1000), Ordering::Relaxed);
    }

    /// Sets only the wall time, back or forward, as an administrator may do.
    pub fn set_wall(&self, micros: u64) {
        self.wall_us.store(micros, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_micros(&self) -> u64 {
        self.wall_us.load(Ordering::Relaxed)
    }

    fn now_nanos(&self) -> u64 {
        self.monotonic_ns.load(Ordering::Relaxed)
    }

    fn sleep_micros(&self, micros: u64) {
        self.advance(micros);
    }
}
