//! Publishes write groups in the order of their sequence numbers.
//!
//! Without pipelining, a leader publishes its group before the next leader starts, so the order is correct by
//! itself. With `enable_pipelined_write`, several groups insert into memtables concurrently. Each group waits here
//! until all earlier groups are published.

use base::SequenceNumber;

use crate::sequence::LastSequence;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering, Patience};

/// Keeps the order in which groups are published.
pub struct Publisher {
    /// The ticket of the last published group.
    done: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
    patience: Arc<Patience>,
}

impl Publisher {
    /// Makes the order before the first group: the last published ticket is 0.
    pub fn new(patience: Arc<Patience>) -> Self {
        Publisher { done: AtomicU64::new(0), lock: Mutex::new(()), moved: Condvar::new(), patience }
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

    /// Publishes group `ticket` as [`Publisher::publish`] does, without a wait. Only for writers without
    /// pipelining: no other group is being published.
    #[inline]
    pub fn publish_next(&self, ticket: u64, seq: SequenceNumber, sequence: &LastSequence) {
        self.check_next(ticket);
        if seq > sequence.visible() {
            sequence.publish(seq);
        }
        self.done.store(ticket, Ordering::Release);
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
    pub fn wait_for(&self, ticket: u64) {
        let ready = || self.done.load(Ordering::Acquire) >= ticket;
        if ready() || self.patience.wait(ready) {
            return;
        }
        let mut guard = self.lock.lock();
        while !ready() {
            self.moved.wait(&mut guard);
        }
    }
}
