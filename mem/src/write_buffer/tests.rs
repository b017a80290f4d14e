use super::*;
use crate::cache::{Cache, CacheOptions};

fn cell() -> impl Fn() -> bool {
    || false
}

#[test]
fn a_flush_is_due_at_seven_eighths_mutable_or_when_full_and_half_mutable() {
    let m = WriteBufferManager::new(8000, None, false);
    m.reserve(7000);
    assert!(!m.should_flush());
    m.reserve(1);
    assert!(m.should_flush());
    m.schedule_free(4000);
    assert_eq!((m.memory_usage(), m.mutable_usage()), (7001, 3001));
    m.reserve(998);
    assert!(!m.should_flush());
    m.reserve(1);
    assert!(m.memory_usage() == 8000 && m.should_flush(), "full, and 4000 mutable");
    m.schedule_free(1);
    assert!(!m.should_flush(), "more than half is on its way already");
    m.free(8000);
    assert_eq!(m.memory_usage(), 0);
}

#[test]
fn without_a_budget_nothing_is_due() {
    let m = WriteBufferManager::new(0, None, true);
    m.reserve(1 << 40);
    assert!(!m.should_flush() && !m.should_stall() && !m.enabled());
    assert_eq!(m.memory_usage(), 0);
}

#[test]
fn the_cache_is_charged_in_steps_and_slow_to_be_paid_back() {
    let cache: Arc<Cache<()>> = Cache::new(CacheOptions::lru(16 << 20)).unwrap();
    let m = WriteBufferManager::new(0, Some(cache.clone()), false);
    m.reserve(1);
    assert_eq!((m.cache_charge(), cache.usage()), (STEP, STEP));
    m.reserve(4 * STEP - 1);
    assert_eq!(cache.usage(), 4 * STEP);
    m.free(STEP);
    assert_eq!(cache.usage(), 4 * STEP, "three quarters are still used");
    m.free(1);
    assert_eq!(cache.usage(), 3 * STEP);
    drop(m);
    assert_eq!(cache.usage(), 0);
}

#[test]
fn stalled_writers_continue_when_memory_is_freed_or_the_wait_is_canceled() {
    let m = WriteBufferManager::new(100, None, true);
    m.reserve(100);
    assert!(m.should_stall());
    m.wait_while_stalled(&|| true, &cell());
    std::thread::scope(|s| {
        let waiting = s.spawn(|| m.wait_while_stalled(&|| false, &cell()));
        m.free(1);
        waiting.join().unwrap();
    });
    m.reserve(1);
    let helped = std::cell::Cell::new(0);
    m.wait_while_stalled(&|| false, &|| {
        helped.set(helped.get() + 1);
        m.free(50);
        true
    });
    assert_eq!(helped.get(), 1);
    m.reserve(50);
    m.set_allow_stall(false);
    assert!(!m.should_stall());
    m.set_allow_stall(true);
    m.set_buffer_size(1000);
    m.wait_while_stalled(&|| false, &cell());
}
