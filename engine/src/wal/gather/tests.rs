//! When a leader waits, and for how long.

use super::*;

const MILLIS: u64 = 1_000_000;

fn after_group(returning: usize, waiting: usize, sync_nanos: u64) -> Gather {
    let mut gather = Gather::default();
    gather.record_sync(sync_nanos);
    gather.record_group(returning);
    gather.record_waiting(waiting);
    gather
}

#[test]
fn a_single_writer_never_waits() {
    assert_eq!(after_group(1, 0, MILLIS).wait_limit(1), None);
}

#[test]
fn a_leader_waits_half_a_sync_for_the_writers_of_the_group_before() {
    let mut gather = after_group(3, 1, MILLIS);
    assert_eq!(gather.expected(), 4);
    assert_eq!(gather.wait_limit(1), Some(Duration::from_nanos(MILLIS / 2)));
    assert_eq!(gather.wait_limit(4), None);
}

#[test]
fn a_slow_sync_makes_no_wait_longer_than_a_millisecond() {
    assert_eq!(after_group(3, 1, 100 * MILLIS).wait_limit(1), Some(Duration::from_millis(1)));
}

#[test]
fn a_sync_without_a_disk_is_not_worth_a_wait() {
    assert_eq!(after_group(3, 1, 2_000).wait_limit(1), None);
}

#[test]
fn after_useless_waits_one_leader_of_sixteen_waits() {
    let mut gather = after_group(1, 1, MILLIS);
    let mut waits = |after: usize| {
        let waits = gather.wait_limit(1).is_some();
        if waits {
            gather.record_wait(1, after);
        }
        waits
    };
    assert!((0..8).all(|_| waits(1)));
    assert_eq!((0..32).filter(|_| waits(1)).count(), 2);
    assert!((0..16).any(|_| waits(2)), "the next sample succeeds");
    assert!(waits(2), "the leader after the sample waits");
}
