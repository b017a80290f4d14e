//! Which threads share a sync.

#![allow(clippy::disallowed_methods, reason = "a test")]

use env::clock::RealClock;

use super::*;
use crate::sync::{AtomicUsize, Ordering};

/// Returns after `threads` threads wait for the next sync.
fn until_waiting(syncs: &SharedSyncs, threads: usize) {
    while syncs.state.lock().threads < threads {
        std::thread::yield_now();
    }
}

/// Runs a sync that ends after `followers` threads wait for the next sync. Each of them then shares one sync with the outcome
/// `outcome`. Returns how many threads led, and how many followed.
fn followers_of(followers: usize, outcome: Result<()>) -> (usize, usize) {
    let (syncs, clock) = (SharedSyncs::default(), RealClock::new());
    let (led, followed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (syncs, clock) = (&syncs, &clock);
        let first = scope.spawn(move || {
            syncs.share(clock, || {
                until_waiting(syncs, followers);
                Ok(())
            })
        });
        while !syncs.state.lock().led {
            std::thread::yield_now();
        }
        for _ in 0..followers {
            scope.spawn(|| match syncs.share(clock, || outcome.clone()) {
                Shared::Led(own) => {
                    led.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(own.is_ok(), outcome.is_ok());
                }
                Shared::Followed(own) => {
                    followed.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(own.is_ok(), outcome.is_ok());
                }
            });
        }
        assert!(matches!(first.join().unwrap(), Shared::Led(Ok(()))));
    });
    (led.into_inner(), followed.into_inner())
}

#[test]
fn threads_that_arrive_during_a_sync_share_the_next_sync() {
    assert_eq!(followers_of(3, Ok(())), (1, 2));
}

#[test]
fn a_failed_sync_fails_each_thread_of_its_group() {
    assert_eq!(followers_of(3, Err(Error::io_error("the disk is gone"))), (1, 2));
}

#[test]
fn a_sync_that_panics_fails_the_threads_that_follow() {
    let (syncs, clock) = (SharedSyncs::default(), RealClock::new());
    std::thread::scope(|scope| {
        let (syncs, clock) = (&syncs, &clock);
        let first = scope.spawn(move || {
            syncs.share(clock, || {
                until_waiting(syncs, 2);
                Ok(())
            })
        });
        while !syncs.state.lock().led {
            std::thread::yield_now();
        }
        let share = move || syncs.share(clock, || panic!("the file system panics"));
        let both = [scope.spawn(share), scope.spawn(share)];
        let ends: Vec<_> = both.into_iter().map(|thread| thread.join()).collect();
        assert_eq!(ends.iter().filter(|end| end.is_err()).count(), 1, "the leader panics");
        assert!(ends.iter().any(|end| matches!(end, Ok(Shared::Followed(Err(_))))));
        assert!(first.join().is_ok());
    });
    assert!(matches!(syncs.share(&clock, || Ok(())), Shared::Led(Ok(()))), "the next sync runs");
}

/// Three threads arrive during the sync of a first thread. So the leader of the next sync expects four threads, and waits for the
/// first thread to come back.
#[test]
fn a_leader_waits_for_the_threads_of_the_sync_before() {
    let (syncs, clock) = (SharedSyncs::default(), RealClock::new());
    {
        let mut state = syncs.state.lock();
        state.gather.set_wait_max(Duration::from_secs(1 << 20));
        // A moving average: the short syncs of this test leave a long time.
        state.gather.record_sync(u64::MAX);
    }
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (syncs, clock, count) = (&syncs, &clock, &count);
        let sync = move |waiting: usize| {
            syncs.share(clock, move || {
                count.fetch_add(1, Ordering::SeqCst);
                until_waiting(syncs, waiting);
                Ok(())
            })
        };
        scope.spawn(move || {
            sync(3);
            sync(0);
        });
        while !syncs.state.lock().led {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            scope.spawn(move || sync(0));
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
