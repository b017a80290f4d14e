//! A counter for short durations that costs less than a call of the system clock.
//!
//! x86-64 with an invariant time-stamp counter: `rdtsc`, about 20 cycles. AArch64: `cntvct_el0`. All other machines, and
//! Miri: the monotonic clock, one tick per nanosecond. The rate of the counter is measured, not assumed: [`to_nanos`]
//! compares the counter with the monotonic clock since the first use in the process.
//!
//! Not here: a time that decides anything. A tick only measures what an operation cost.

#![allow(clippy::disallowed_methods, reason = "counted, never acted on")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The counter and the clock at the first use.
struct Origin {
    clock: Instant,
    ticks: u64,
}

static ORIGIN: OnceLock<Origin> = OnceLock::new();

fn origin() -> &'static Origin {
    ORIGIN.get_or_init(|| {
        let clock = Instant::now();
        let (since, ticks) = pair(clock);
        Origin { clock: clock + since, ticks }
    })
}

/// The time since `clock` and the counter at the same moment: the closest of four pairs, because the thread may lose its
/// processor between two reads.
fn pair(clock: Instant) -> (Duration, u64) {
    let read = |_| {
        let (before, since, after) = (raw::read(clock), clock.elapsed(), raw::read(clock));
        (after.saturating_sub(before), since, before)
    };
    let closest = (0..4).map(read).min_by_key(|(gap, ..)| *gap);
    closest.map_or((Duration::ZERO, 0), |(_, since, ticks)| (since, ticks))
}

/// Returns the counter, never 0. The unit is a tick: [`to_nanos`] converts a difference. Two cores may differ by a few
/// ticks, so a difference must saturate.
#[inline]
pub fn now() -> u64 {
    raw::now().max(1)
}

/// The rate of the last measurement: 2^-32 nanoseconds for each tick. 0 before the first measurement.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The counter from which on the rate is measured again.
static RENEWAL: AtomicU64 = AtomicU64::new(0);
const RATE_BITS: u32 = 32;

/// Returns the rate in 2^-32 nanoseconds for each tick, never 0. A measurement reads the clock four times, which takes longer than some
/// operations that are measured. So a rate is valid until the process is an eighth older, but at most for a second.
#[inline]
fn rate() -> u64 {
    // The acquire load sees the rate of the measurement that set this renewal.
    let renewal = RENEWAL.load(Ordering::Acquire);
    if raw::now() < renewal { RATE.load(Ordering::Relaxed) } else { measured_rate() }
}

#[cold]
fn measured_rate() -> u64 {
    let origin = origin();
    let (since, now) = pair(origin.clock);
    let elapsed_ns = since.as_nanos().max(1);
    let elapsed_ticks = u128::from(now.saturating_sub(origin.ticks)).max(1);
    let rate = u64::try_from((elapsed_ns << RATE_BITS) / elapsed_ticks).unwrap_or(u64::MAX).max(1);
    let second = 1_000_000_000 * elapsed_ticks / elapsed_ns;
    let valid = u64::try_from((elapsed_ticks / 8).min(second)).unwrap_or(0);
    RATE.store(rate, Ordering::Relaxed);
    RENEWAL.store(now.saturating_add(valid), Ordering::Release);
    rate
}

/// Converts a difference of two [`now`] to nanoseconds. Sometimes reads the clock, so the call belongs off the fast path. The
/// result is exact once the process has run for some milliseconds.
pub fn to_nanos(ticks: u64) -> u64 {
    let nanos = (u128::from(ticks) * u128::from(rate())) >> RATE_BITS;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Converts nanoseconds to ticks; the inverse of [`to_nanos`].
pub fn of_nanos(nanos: u64) -> u64 {
    let ticks = (u128::from(nanos) << RATE_BITS) / u128::from(rate());
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// Starts the measurement of the rate. A call early in the process makes the first conversions more exact.
pub fn start() {
    let _ = origin();
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod raw {
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::Instant;

    const UNKNOWN: u8 = 0;
    const COUNTER: u8 = 1;
    const CLOCK: u8 = 2;

    static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline]
    pub fn now() -> u64 {
        if SOURCE.load(Ordering::Relaxed) == COUNTER { counter() } else { other() }
    }

    /// Works like [`now`], also before the origin is known: a clock counts from `origin`.
    pub fn read(origin: Instant) -> u64 {
        if is_counter() { counter() } else { origin.elapsed().as_nanos() as u64 }
    }

    #[inline(always)]
    fn counter() -> u64 {
        // SAFETY: every x86-64 has `rdtsc`, and user code may execute it on each system that the crate is built for.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[cold]
    fn other() -> u64 {
        if is_counter() { counter() } else { super::origin().clock.elapsed().as_nanos() as u64 }
    }

    fn is_counter() -> bool {
        if SOURCE.load(Ordering::Relaxed) == UNKNOWN {
            SOURCE.store(if is_invariant() { COUNTER } else { CLOCK }, Ordering::Relaxed);
        }
        SOURCE.load(Ordering::Relaxed) == COUNTER
    }

    /// CPUID 8000_0007h, EDX bit 8: the counter runs at one rate in all power states.
    #[allow(unused_unsafe, reason = "`__cpuid` is safe since Rust 1.93")]
    fn is_invariant() -> bool {
        use std::arch::x86_64::__cpuid;
        // SAFETY: every x86-64 has `cpuid`.
        let largest = unsafe { __cpuid(0x8000_0000) }.eax;
        // SAFETY: every x86-64 has `cpuid`, and the leaf exists.
        largest >= 0x8000_0007 && unsafe { __cpuid(0x8000_0007) }.edx & (1 << 8) != 0
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod raw {
    use std::time::Instant;

    #[inline]
    pub fn now() -> u64 {
        let ticks: u64;
        // SAFETY: user code may read the virtual counter, and the read has no other effect.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    pub fn read(_origin: Instant) -> u64 {
        now()
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod raw {
    use std::time::Instant;

    pub fn now() -> u64 {
        super::origin().clock.elapsed().as_nanos() as u64
    }

    /// The clock counts from `origin`.
    pub fn read(origin: Instant) -> u64 {
        origin.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_go_back_on_one_thread() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn conversions_are_inverse_to_each_other() {
        start();
        let begin = now();
        while to_nanos(now().saturating_sub(begin)) < 20_000_000 {}
        for nanos in [1_000, 1_000_000, 1_000_000_000, 3_600_000_000_000u64] {
            let back = to_nanos(of_nanos(nanos));
            assert!(back.abs_diff(nanos) <= nanos / 100 + 100, "{back} of {nanos}");
        }
        assert_eq!((to_nanos(0), of_nanos(0)), (0, 0));
        assert!(to_nanos(u64::MAX) > 0 && of_nanos(u64::MAX) > 0);
    }

    #[test]
    fn a_converted_duration_is_no_longer_than_the_clock_says() {
        start();
        let (clock, begin) = (Instant::now(), now());
        let mut sum = 0u64;
        while clock.elapsed().as_millis() < 20 {
            sum = sum.wrapping_add(now());
        }
        let ticks = now().saturating_sub(begin);
        let (ticks_ns, clock_ns) = (to_nanos(ticks), clock.elapsed().as_nanos() as u64);
        assert!(sum > 0);
        assert!(ticks_ns <= clock_ns + clock_ns / 10, "{ticks_ns} of {clock_ns}");
    }
}
