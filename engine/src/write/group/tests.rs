#![allow(clippy::disallowed_methods, reason = "a test")]

use super::*;
use base::SequenceNumber;

fn entry(records: &[u8]) -> Entry<'_> {
    Entry {
        records,
        count: records.len() as u32,
        seqs: records.len() as u32,
        flags: Flags::default(),
        alone: false,
        concurrent: true,
    }
}

/// A leader rejects some followers of its group. The group then has the other followers, in the order of joining.
#[test]
fn a_rejected_follower_leaves_the_group_unchanged() {
    let queue = Queue::new(1 << 20, SequenceNumber::ZERO, Arc::new(Patience::new(0, 0)));
    let Role::Lead(first, leader_state) = queue.join(entry(b"first")) else { panic!("an idle queue") };
    let joined = |count: usize| {
        while queue.inner.lock().waiting.front().map_or(0, |group| group.writers()) < count {
            std::thread::yield_now();
        }
    };
    let follow = |records: &'static [u8]| match queue.join(entry(records)) {
        Role::Done(outcome) => outcome,
        _ => panic!("a follower only hears"),
    };
    std::thread::scope(|scope| {
        let queue = &queue;
        let leader = scope.spawn(move || {
            let Role::Lead(mut group, leader_state) = queue.join(entry(b"lead")) else {
                panic!("the first to wait leads")
            };
            assert_eq!(&group.records, b"aabaaabb");
            queue.reject_followers(&mut group, |records| {
                records.starts_with(b"b").then(|| Error::busy("refused"))
            });
            assert_eq!((&group.records[..], group.count, group.writers()), (&b"aaaaa"[..], 5, 3));
            queue.hand_over(leader_state);
            queue.finish(group, &Ok(()));
        });
        joined(1);
        let followers = [&b"aa"[..], b"b", b"aaa", b"bb"].into_iter().enumerate().map(|(at, records)| {
            let follower = scope.spawn(move || follow(records));
            joined(at + 2);
            follower
        });
        let followers: Vec<_> = followers.collect();
        queue.hand_over(leader_state);
        queue.finish(first, &Ok(()));
        leader.join().unwrap();
        let heard: Vec<_> = followers.into_iter().map(|follower| follower.join().unwrap().is_ok()).collect();
        assert_eq!(heard, [true, false, true, false]);
    });
}

/// Four writers write twice, with a sync. The queue is idle at first, so the first group has one writer. Each later leader waits
/// for all four writers.
#[test]
fn a_leader_waits_for_the_writers_of_the_group_before() {
    const WRITERS: usize = 4;
    let synced = Entry { flags: Flags { sync: true, ..Flags::default() }, ..entry(b"r") };
    let queue = Queue::new(1 << 20, SequenceNumber::ZERO, Arc::new(Patience::new(0, 0)));
    let Role::Lead(first, mut leader_state) = queue.join(synced) else { panic!("an idle queue") };
    assert_eq!(first.writers(), 1, "no other writer is known");
    let groups = std::sync::Mutex::new(Vec::new());
    let write = || match queue.join(synced) {
        Role::Lead(group, mut leader_state) => {
            groups.lock().unwrap().push(group.writers());
            leader_state.gather.record_group(group.syncs);
            queue.hand_over(leader_state);
            queue.finish(group, &Ok(()));
        }
        Role::Done(outcome) => outcome.unwrap(),
        Role::Insert(_) => panic!("no batch is worth an insert of its own"),
    };
    std::thread::scope(|scope| {
        for _ in 1..WRITERS {
            scope.spawn(|| (0..2).for_each(|_| write()));
        }
        while queue.inner.lock().waiting.front().map_or(0, |group| group.writers()) < WRITERS - 1 {
            std::thread::yield_now();
        }
        // With a sync of many hours, only the arrival of all writers ends a wait.
        leader_state.gather.set_wait_max(Duration::from_secs(1 << 20));
        leader_state.gather.record_sync(u64::MAX);
        leader_state.gather.record_group(first.syncs);
        queue.hand_over(leader_state);
        queue.finish(first, &Ok(()));
        (0..2).for_each(|_| write());
    });
    assert_eq!(*groups.lock().unwrap(), [WRITERS, WRITERS]);
}

/// The others do not come back: the wait ends, and the leader writes its group.
#[test]
fn a_leader_whose_writers_do_not_return_writes_its_group_alone() {
    let synced = Entry { flags: Flags { sync: true, ..Flags::default() }, ..entry(b"r") };
    let queue = Queue::new(1 << 20, SequenceNumber::ZERO, Arc::new(Patience::new(0, 0)));
    let Role::Lead(group, mut leader_state) = queue.join(synced) else { panic!("an idle queue") };
    leader_state.gather.record_sync(1_000_000);
    leader_state.gather.record_group(3);
    queue.hand_over(leader_state);
    queue.finish(group, &Ok(()));
    let Role::Lead(group, leader_state) = queue.join(synced) else { panic!("an idle queue") };
    assert_eq!((group.writers(), group.syncs), (1, 1));
    queue.hand_over(leader_state);
    queue.finish(group, &Ok(()));
}

/// A follower with a value of 16,000 bytes or ten small records is inserted by the leader, in a build without checks.
#[test]
fn followers_with_much_to_insert_insert_themselves() {
    let group = |followers: u32, records: u32, bytes: usize| {
        let mut group = Group { concurrent: true, count: followers * records, ..Group::default() };
        for _ in 0..followers {
            group.followers.push(Follower {
                waiter: Waiter::new(),
                count: records,
                seqs: records,
                len: bytes,
            });
            group.records.resize(group.records.len() + bytes, b'r');
        }
        group
    };
    let of = |group: &Group| [group.shared_from(Group::SHARED), group.shared_from(Group::SHARED_IN_TESTS)];
    assert_eq!(of(&group(3, 1, 16_000)), [false, true]);
    assert_eq!(of(&group(3, 10, 1_000)), [false, true]);
    assert_eq!(of(&group(3, 64, 64)), [true, true]);
    assert_eq!(of(&group(3, 1, 128 << 10)), [true, true]);
    assert_eq!(of(&group(3, 7, 700)), [false, false]);
    assert_eq!(of(&group(0, 0, 0)), [false, false]);
    assert_eq!(of(&Group { concurrent: false, ..group(3, 64, 64) }), [false, false]);
}
