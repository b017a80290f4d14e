//! Snapshots beside the commit of a transaction whose entries are in the memtables already.

use loom::thread;

use base::SequenceNumber;

use crate::explore;
use crate::sequence::{Decision, LastSequence, Snapshot, Snapshots};
use crate::sync::Arc;

/// The transaction has the sequence numbers 2 and 3, and commits at 4. The thread of the snapshot can get the last copy of its range.
/// The drop of a range takes the lock that a new snapshot holds.
#[test]
fn snapshot_beside_a_commit_sees_the_transaction_as_a_whole() {
    explore(Some(3), || {
        let seq = SequenceNumber::new;
        let sequence = Arc::new(LastSequence::new(seq(3)));
        sequence.undecided().enable();
        let snapshots = Arc::new(Snapshots::new(sequence.clone()));
        let decision = Arc::new(Decision::default());
        Snapshots::add_undecided(&snapshots, seq(2), seq(3), &decision);
        let commit = {
            let (sequence, decision) = (sequence.clone(), decision.clone());
            thread::spawn(move || {
                decision.decide(seq(4));
                sequence.publish(seq(4));
                sequence.undecided().remove(&decision);
            })
        };
        let snapshot = Snapshots::take(&snapshots, 0);
        let sees = |at| snapshot.visibility().is_none_or(|view| view.sees(seq(at)));
        let expected = snapshot.sequence() == seq(4);
        assert_eq!([sees(2), sees(3)], [expected; 2], "a snapshot at {}", snapshot.sequence());
        drop(snapshot);
        commit.join().unwrap();
        assert_eq!(snapshots.stripes().as_slice(), []);
    });
}

/// Two threads release the two references of a snapshot, and one of them takes the next snapshot. At most one thread gets the memory.
#[test]
fn the_memory_of_a_snapshot_is_reused_once() {
    explore(Some(3), || {
        let seq = SequenceNumber::new;
        let sequence = Arc::new(LastSequence::new(seq(3)));
        let snapshots = Arc::new(Snapshots::new(sequence.clone()));
        let snapshot = Snapshots::take(&snapshots, 0);
        let other = {
            let (snapshot, sequence) = (snapshot.clone(), sequence.clone());
            thread::spawn(move || {
                sequence.publish(seq(4));
                Snapshot::release(snapshot);
            })
        };
        Snapshot::release(snapshot);
        let next = Snapshots::take(&snapshots, 0);
        other.join().unwrap();
        assert!((seq(3)..=seq(4)).contains(&next.sequence()));
        assert_eq!(snapshots.stripes().as_slice(), [next.sequence()]);
        Snapshot::release(next);
        assert_eq!((snapshots.count(), snapshots.released_below()), (0, seq(4)));
    });
}
