#![allow(clippy::disallowed_methods, reason = "a test")]

use super::*;

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
fn who_is_turned_away_leaves_the_group_as_if_it_had_not_joined() {
    let queue = Queue::new(1 << 20, 0, Arc::new(Patience::new(0, 0)));
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
