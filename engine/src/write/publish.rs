//! Publishes write groups in the order of their sequence numbers.
//!
//! A leader that keeps the lead publishes its group before the next leader starts. With `enable_pipelined_write`, and if a
//! synced write of a transaction overlaps other writes, several groups insert into memtables concurrently. Each group waits
//! here until all earlier groups are published.

use base::SequenceNumber;

use crate::sequence::LastSequence;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, Patience};

/// Keeps the order in which groups are published.
pub struct Publisher {
    /// The ticket of the last published group.
    done: AtomicU64,
    /// The number of groups that overlap others and are not published.
    overlapping: AtomicUsize,
    lock: Mutex<()>,
    moved: Condvar,
    patience: Arc<Patience>,
}

impl Publisher {
    /// Makes the order before the first group: the last published ticket is 0.
    pub fn new(patience: Arc<Patience>) -> Self {
        Publisher {
            done: AtomicU64::new(0),
            overlapping: AtomicUsize::new(0),
            lock: Mutex::new(()),
            moved: Condvar::new(),
            patience,
        }
    }

    /// Publishes group `ticket` after all earlier groups: readers see sequence numbers up to `seq`. A failed group
    /// passes 0, and publishes no sequence number.
    pub fn publish(&self, ticket: u64, seq: SequenceNumber, sequence: &LastSequence) {
        base::invariant!(ticket > 0, "a write group without a ticket is published");
        self.wait_for(ticket - 1);
        self.check_next(ticket);
        if seq > sequence.visible() {
            sequence.publish(seq);
        }
        self.done.store(ticket, Ordering::Release);
        drop(self.lock.lock());
        self.moved.notify_all();
    }

    /// Publishes group `ticket` as [`Publisher::publish`] does, for a leader that still has the lead: no newer group waits
    /// for this group.
    #[inline]
    pub fn publish_next(&self, ticket: u64, seq: SequenceNumber, sequence: &LastSequence) {
        base::invariant!(ticket > 0, "a write group without a ticket is published");
        self.wait_for(ticket - 1);
        self.check_next(ticket);
        if seq > sequence.visible() {
            sequence.publish(seq);
        }
        self.done.store(ticket, Ordering::Release);
    }

    /// Adds a group whose leader hands the lead over before the sync. The leader calls this before it hands the lead over.
    pub fn begin_overlapping(&self) {
        let before = self.overlapping.fetch_add(1, Ordering::AcqRel);
        base::invariant!(before < usize::MAX, "more overlapping write groups end than began");
    }

    /// Publishes a group of [`Publisher::begin_overlapping`] as [`Publisher::publish`] does.
    pub fn publish_overlapping(&self, ticket: u64, seq: SequenceNumber, sequence: &LastSequence) {
        self.publish(ticket, seq, sequence);
        let before = self.overlapping.fetch_sub(1, Ordering::AcqRel);
        base::invariant!(before > 0, "more overlapping write groups end than began");
    }

    /// Returns true if a group that overlaps others may not be in the memtables yet. For a leader, false is certain.
    #[inline]
    pub fn any_overlapping(&self) -> bool {
        self.overlapping.load(Ordering::Acquire) > 0
    }

    /// Checks that the groups are published in the order of their tickets.
    #[inline]
    fn check_next(&self, ticket: u64) {
        base::invariant!(
            self.done.load(Ordering::Acquire) + 1 == ticket,
            "write group {ticket} is published after write group {}",
            self.done.load(Ordering::Acquire)
        );
    }

    /// Waits until all groups up to `ticket` are published. The leader calls this before it switches memtables.
    #[inline]
    pub fn wait_for(&self, ticket: u64) {
        let ready = || self.done.load(Ordering::Acquire) >= ticket;
        if !ready() {
            self.wait_until(ready);
        }
    }

    #[cold]
    fn wait_until(&self, ready: impl Fn() -> bool + Copy) {
        if self.patience.wait(ready) {
            return;
        }
        let mut guard = self.lock.lock();
        while !ready() {
            self.moved.wait(&mut guard);
        }
    }
}
