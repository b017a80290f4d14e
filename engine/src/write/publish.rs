//! Making groups visible in the order of their sequence numbers.
//!
//! Without pipelining a leader publishes before the next one starts, and no order has to be kept. With it,
//! groups insert into memtables at the same time; each waits here until all before it are visible.

use base::SequenceNumber;

use crate::sequence::LastSequence;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering, Patience};

/// The order of publishing.
pub struct Publisher {
    /// The last group that is visible.
    done: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
    patience: Arc<Patience>,
}

impl Publisher {
    pub fn new(patience: Arc<Patience>) -> Self {
        Publisher { done: AtomicU64::new(0), lock: Mutex::new(()), moved: Condvar::new(), patience }
    }

    /// Makes group `ticket` visible up to `seq`, after all groups before it.
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

    /// The same where nobody else can be publishing: without pipelining.
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

    /// Waits until group `ticket` and all before it are visible: before memtables are sealed.
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
