//! Models of the writer queue and of publishing: a thread sees everything that another thread did on its behalf.

use loom::thread;

use base::{Result, SequenceNumber};

use crate::group::{Entry, Flags, Group, LeaderState, Queue, Role};
use crate::publish::Publisher;
use crate::sequence::LastSequence;
use crate::sync::{Arc, Condvar, Mutex, Patience};
use crate::{Cell, explore};

/// The parts that writers share, in small: a WAL and a memtable of counters.
struct Base {
    queue: Queue,
    publisher: Publisher,
    sequence: LastSequence,
    /// The number of records in the WAL. Only the leader may use this cell.
    logged: Cell,
    /// For each sequence number, whether its entry is in memory.
    memory: [Cell; 40],
}

impl Base {
    fn new() -> Arc<Base> {
        let patience = Arc::new(Patience);
        Arc::new(Base {
            queue: Queue::new(1 << 20, SequenceNumber::ZERO, patience.clone()),
            publisher: Publisher::new(patience),
            sequence: LastSequence::new(SequenceNumber::ZERO),
            logged: Cell::default(),
            memory: std::array::from_fn(|_| Cell::default()),
        })
    }

    /// Writes a batch of `count` records, as `Writer::write` does.
    fn write(&self, count: u32, way: Way) -> Result<()> {
        let records = vec![b'r'; count as usize];
        let flags = Flags { sync: matches!(way, Way::Synced), ..Flags::default() };
        match self.queue.join(Entry { flags, ..entry(&records) }) {
            Role::Lead(group, leader_state) => self.lead(group, leader_state, count, way),
            Role::Insert(order) => {
                self.insert(order.seq, count);
                order.finish(Ok(()))
            }
            Role::Done(outcome) => outcome,
        }
    }

    fn lead(&self, group: Group, mut leader_state: Box<LeaderState>, count: u32, way: Way) -> Result<()> {
        let first = leader_state.last_seq + 1;
        let all = u64::from(count + group.count);
        assert_eq!(self.logged.get(), leader_state.last_seq.get(), "somebody else leads");
        self.logged.set(self.logged.get() + all);
        leader_state.last_seq += all;
        leader_state.ticket += 1;
        if matches!(way, Way::Synced) {
            // A sync of a millisecond: worth a wait for more writers.
            leader_state.gather.record_sync(1_000_000);
        }
        leader_state.gather.record_group(group.syncs);
        let (ticket, last) = (leader_state.ticket, leader_state.last_seq);
        let outcome = match way {
            Way::Pipelined => {
                self.queue.hand_over(leader_state);
                let inserted = self.memtables(&group, first, count);
                self.publisher.publish(ticket, last, &self.sequence);
                inserted
            }
            Way::InTurn | Way::Synced => {
                let inserted = self.memtables(&group, first, count);
                self.publisher.publish_next(ticket, last, &self.sequence);
                self.queue.hand_over(leader_state);
                inserted
            }
        };
        self.queue.finish(group, &outcome);
        outcome
    }

    fn memtables(&self, group: &Group, first: SequenceNumber, count: u32) -> Result<()> {
        if !group.shared() {
            self.insert(first, count + group.count);
            return Ok(());
        }
        let crew = self.queue.insert_together(group, first + u64::from(count));
        self.insert(first, count);
        crew.join()
    }

    /// Inserts a batch. One entry stands for all its entries.
    fn insert(&self, seq: SequenceNumber, count: u32) {
        self.memory[seq.get() as usize].set(u64::from(count));
    }

    /// Reads as a reader does, and checks that every visible entry is in memory.
    fn look(&self) -> u64 {
        let visible = self.sequence.visible().get();
        let mut seq = 1;
        while seq <= visible {
            let count = self.memory[seq as usize].get();
            assert!(count > 0, "{seq} of {visible} visible entries is not in memory");
            seq += count;
        }
        assert_eq!(seq, visible + 1, "what is visible ends in a batch");
        visible
    }
}

/// Returns an entry for a batch. Each byte is one record.
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

#[derive(Clone, Copy)]
enum Way {
    InTurn,
    Pipelined,
    /// In turn, and each write asks for a sync.
    Synced,
}

/// Runs writers and a reader concurrently. The first writer is this thread.
fn writers(preemptions_max: Option<usize>, others: u64, count: u32, way: Way) {
    explore(preemptions_max, move || {
        let base = Base::new();
        let threads: Vec<_> = (0..others)
            .map(|_| {
                let base = base.clone();
                thread::spawn(move || {
                    base.write(count, way).unwrap();
                    assert!(base.look() >= u64::from(count), "a writer reads what it wrote");
                })
            })
            .collect();
        base.write(count, way).unwrap();
        assert!(base.look() >= u64::from(count), "a writer reads what it wrote");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(base.look(), (others + 1) * u64::from(count));
        assert_eq!(base.logged.get(), (others + 1) * u64::from(count));
    });
}

#[test]
fn two_writers_and_each_reads_what_it_wrote() {
    writers(None, 1, 1, Way::InTurn);
}

#[test]
fn two_pipelined_writers_are_visible_in_order() {
    writers(None, 1, 1, Way::Pipelined);
}

#[test]
fn three_writers_share_groups_and_each_reads_what_it_wrote() {
    writers(Some(4), 2, 1, Way::InTurn);
}

#[test]
fn three_pipelined_writers_are_visible_in_order() {
    writers(Some(2), 2, 1, Way::Pipelined);
}

/// Each of two writers writes twice. A leader may wait for the second write of the writer before. No write is lost in any order.
#[test]
fn leaders_that_wait_for_returning_writers_lead_every_write() {
    explore(Some(3), || {
        let base = Base::new();
        let twice = |base: &Base| {
            for written in 1..=2 {
                base.write(1, Way::Synced).unwrap();
                assert!(base.look() >= written, "a writer reads what it wrote");
            }
        };
        let other = {
            let base = base.clone();
            thread::spawn(move || twice(&base))
        };
        twice(&base);
        other.join().unwrap();
        assert_eq!(base.look(), 4);
        assert_eq!(base.logged.get(), 4);
    });
}

/// While this thread leads, the other writers join the queue. One of them leads the next group. Their batches of
/// eight records are large enough for a parallel insert, so each writer inserts its own batch.
#[test]
fn a_group_is_visible_once_all_its_writers_have_inserted() {
    explore(Some(2), || {
        let base = Base::new();
        let Role::Lead(group, leader_state) = base.queue.join(entry(&[])) else {
            panic!("the queue is idle")
        };
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let base = base.clone();
                thread::spawn(move || {
                    base.write(8, Way::InTurn).unwrap();
                    assert!(base.look() >= 8);
                })
            })
            .collect();
        base.queue.hand_over(leader_state);
        base.queue.finish(group, &Ok(()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(base.look(), 24);
    });
}

/// A leader that waits for room lends the leader state to the recovery that makes the room. Both end, in every
/// schedule.
#[test]
fn a_resume_leads_while_the_leader_waits_for_its_room() {
    explore(None, || {
        let base = Base::new();
        let room = Arc::new((Mutex::new(false), Condvar::new()));
        let recovery = {
            let (base, room) = (base.clone(), room.clone());
            thread::spawn(move || {
                let leader_state = base.queue.enter_ahead().unwrap();
                assert_eq!(base.logged.get(), leader_state.last_seq.get(), "somebody else leads");
                *room.0.lock() = true;
                room.1.notify_all();
                base.queue.leave_ahead(leader_state);
            })
        };
        let Role::Lead(group, mut leader_state) = base.queue.join(entry(b"r")) else {
            panic!("no other thread writes")
        };
        base.queue.hold_back(&mut leader_state, || {
            let mut there = room.0.lock();
            while !*there {
                room.1.wait(&mut there);
            }
        });
        base.lead(group, leader_state, 1, Way::InTurn).unwrap();
        recovery.join().unwrap();
        assert_eq!(base.look(), 1);
    });
}
