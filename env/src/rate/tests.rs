use super::*;
use crate::clock::{ManualClock, RealClock};

fn limiter(options: RateOptions) -> (Arc<ManualClock>, RateLimiter) {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let limiter = RateLimiter::new(options, clock.clone()).unwrap();
    (clock, limiter)
}

#[test]
fn a_megabyte_takes_a_second_at_a_megabyte_a_second() {
    let (clock, l) = limiter(RateOptions::new(1_000_000));
    let start = clock.now_nanos();
    let granted = l.request_all(1_000_000, IoPriority::Low, Direction::Write);
    assert_eq!(granted.bytes, 1_000_000);
    assert!(granted.delayed);
    // The first refill comes at once.
    assert_eq!((clock.now_nanos() - start) / 1000, 900_000);
    assert_eq!(l.total_bytes_through(IoPriority::Low), 1_000_000);
    assert_eq!(l.total_requests(IoPriority::Total), 10);
    assert_eq!(l.total_pending_requests(IoPriority::Total), 0);
}

#[test]
fn reads_pass_a_limiter_of_writes() {
    let (clock, l) = limiter(RateOptions::new(10));
    l.request_all(1 << 30, IoPriority::Low, Direction::Read);
    l.request_all(1 << 30, IoPriority::Total, Direction::Write);
    assert_eq!(clock.now_nanos(), 0);
}

#[test]
fn a_token_is_a_burst_or_a_page_of_it() {
    let (_, l) = limiter(RateOptions { single_burst_bytes: 10_000, ..RateOptions::new(1_000_000) });
    let token = |bytes, align| l.request_token(bytes, align, IoPriority::User, Direction::Write).bytes;
    assert_eq!(token(50_000, 0), 10_000);
    assert_eq!(token(50_000, 4096), 8192);
    assert_eq!(token(100, 4096), 4096, "direct I/O moves whole pages");
    assert_eq!(l.single_burst_bytes(), 10_000);
    assert!(l.set_single_burst_bytes(-1).is_err());
    l.set_single_burst_bytes(0).unwrap();
    assert_eq!(l.single_burst_bytes(), 100_000);
}

#[test]
fn settings_out_of_range_are_refused() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(0));
    assert!(RateLimiter::new(RateOptions::new(0), clock.clone()).is_err());
    let o = RateOptions { refill_period_us: 0, ..RateOptions::new(1) };
    assert!(RateLimiter::new(o, clock.clone()).is_err());
    let o = RateOptions { fairness: 0, ..RateOptions::new(1) };
    assert!(RateLimiter::new(o, clock).is_err());
}

#[test]
fn a_tuned_rate_falls_when_idle_and_rises_when_dry() {
    let (clock, l) = limiter(RateOptions { auto_tuned: true, ..RateOptions::new(2_000_000) });
    assert_eq!(l.bytes_per_second(), 1_000_000);
    clock.advance(10_000_000);
    l.request(1, IoPriority::Low, Direction::Write);
    assert_eq!(l.bytes_per_second(), 100_000, "a twentieth of the maximum");
    for _ in 0..3000 {
        l.request(l.single_burst_bytes(), IoPriority::Low, Direction::Write);
    }
    assert!(l.bytes_per_second() > 250_000, "{}", l.bytes_per_second());
}

#[test]
fn user_requests_pass_before_compactions() {
    let (_, l) = limiter(RateOptions::new(1000));
    for _ in 0..100 {
        let order = l.order();
        assert_eq!(order[0], IoPriority::User as usize);
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
    }
}

#[test]
fn many_threads_all_get_through() {
    let clock = Arc::new(RealClock::new());
    let options = RateOptions { refill_period_us: 1000, ..RateOptions::new(200_000_000) };
    let l = RateLimiter::new(options, clock).unwrap();
    let lanes = [IoPriority::Low, IoPriority::Mid, IoPriority::High, IoPriority::User];
    std::thread::scope(|s| {
        for lane in lanes.into_iter().chain(lanes) {
            let l = &l;
            s.spawn(move || l.request_all(2_000_000, lane, Direction::Write));
        }
    });
    assert_eq!(l.total_bytes_through(IoPriority::Total), 16_000_000);
}
