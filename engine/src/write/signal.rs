//! Signals between the writers of a write group: to lead, to insert the own batch, and the outcome.
//!
//! A writer that waits has a [`Waiter`]. It gets exactly one signal for each wait. The signal to lead carries the leader
//! state, so the state has one owner at each time.

use std::cell::RefCell;
use std::mem;

use base::stats::{Cause, Step};
use base::{Error, Result, SequenceNumber};

use crate::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, Patience};
use crate::wal::gather::Gather;

/// The state that only the leader uses. Each leader passes it to the next leader.
#[derive(Default)]
pub struct LeaderState {
    /// The last allocated sequence number.
    pub last_seq: SequenceNumber,
    /// The number of the newest write group. Groups are published in the order of these numbers.
    pub ticket: u64,
    /// The leader's batch with the records of the followers, for the WAL append.
    pub scratch: Vec<u8>,
    /// The writers that the next sync may expect.
    pub gather: Gather,
}

/// The message of a writer to a waiting writer.
pub(super) enum Signal {
    None,
    /// The writer has the lead now, and takes its group from the queue.
    Lead(Box<LeaderState>),
    Insert(SequenceNumber, Arc<InsertGroup>),
    Done(Result<()>),
    InsertsDone,
}

/// The state with which one thread waits for a signal. Each thread keeps its waiter and uses it for all its writes.
pub(super) struct Waiter {
    ready: AtomicBool,
    signal: Mutex<Signal>,
    woken: Condvar,
}

impl Waiter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Waiter {
            ready: AtomicBool::new(false),
            signal: Mutex::new(Signal::None),
            woken: Condvar::new(),
        })
    }

    /// Wakes the writer with its signal.
    pub(super) fn signal(&self, signal: Signal) {
        let mut slot = self.signal.lock();
        base::invariant!(matches!(*slot, Signal::None), "a writer gets a signal before it took the last one");
        *slot = signal;
        self.ready.store(true, Ordering::Release);
        drop(slot);
        self.woken.notify_one();
    }

    /// Waits for the signal.
    pub(super) fn wait(&self, patience: &Patience) -> Signal {
        let _step = Step::begin(Cause::WriteGroup);
        patience.wait(|| self.ready.load(Ordering::Acquire));
        let mut slot = self.signal.lock();
        while !self.ready.load(Ordering::Acquire) {
            self.woken.wait(&mut slot);
        }
        self.ready.store(false, Ordering::Release);
        mem::replace(&mut *slot, Signal::None)
    }
}

crate::sync::thread_local! {
    static WAITER: RefCell<Option<Arc<Waiter>>> = const { RefCell::new(None) };
}

/// Returns the waiter of this thread.
pub(super) fn own_waiter() -> Arc<Waiter> {
    // While a thread ends, a destructor of a thread-local variable may write. The thread's own waiter may be gone
    // already.
    WAITER
        .try_with(|slot| slot.borrow_mut().get_or_insert_with(Waiter::new).clone())
        .unwrap_or_else(|_| Waiter::new())
}

/// The order to a follower to insert its own batch.
pub struct Insert {
    pub seq: SequenceNumber,
    waiter: Arc<Waiter>,
    group_of_inserts: Arc<InsertGroup>,
}

impl Insert {
    pub(super) fn new(seq: SequenceNumber, waiter: Arc<Waiter>, group_of_inserts: Arc<InsertGroup>) -> Self {
        Insert { seq, waiter, group_of_inserts }
    }

    /// Reports the result of the insert, and waits for the outcome of the group.
    pub fn finish(self, inserted: Result<()>) -> Result<()> {
        self.group_of_inserts.report(inserted);
        match self.waiter.wait(&self.group_of_inserts.patience) {
            Signal::Done(result) => result,
            // A follower gets one order only. Any other signal is a bug in the queue.
            _ => {
                base::invariant!(
                    false,
                    "a follower that inserted its batch gets another signal than the outcome"
                );
                Err(Error::aborted("a follower got a second signal from its leader"))
            }
        }
    }
}

/// The followers of one group that insert their own batches. The last report wakes the leader.
pub(super) struct InsertGroup {
    left: AtomicUsize,
    error: Mutex<Option<Error>>,
    leader: Arc<Waiter>,
    patience: Arc<Patience>,
}

impl InsertGroup {
    fn report(&self, inserted: Result<()>) {
        if let Err(error) = inserted {
            self.error.lock().get_or_insert(error);
        }
        let left = self.left.fetch_sub(1, Ordering::AcqRel);
        base::invariant!(left > 0, "more followers report an insert than the group has");
        if left == 1 {
            self.leader.signal(Signal::InsertsDone);
        }
    }
}

/// The followers that insert their own batches at this time.
pub struct ParallelInsert {
    group_of_inserts: Arc<InsertGroup>,
    leader: Arc<Waiter>,
}

impl ParallelInsert {
    /// Prepares for `followers` followers. This thread is the leader.
    pub(super) fn new(followers: usize, patience: Arc<Patience>) -> Self {
        let leader = own_waiter();
        let group_of_inserts = Arc::new(InsertGroup {
            left: AtomicUsize::new(followers),
            error: Mutex::new(None),
            leader: leader.clone(),
            patience,
        });
        ParallelInsert { group_of_inserts, leader }
    }

    /// Signals a follower to insert its own batch at `seq`.
    pub(super) fn start(&self, follower: &Waiter, seq: SequenceNumber) {
        follower.signal(Signal::Insert(seq, self.group_of_inserts.clone()));
    }

    /// Waits until all followers have reported. Returns the first error.
    pub fn join(self) -> Result<()> {
        let signal = self.leader.wait(&self.group_of_inserts.patience);
        base::invariant!(
            matches!(signal, Signal::InsertsDone),
            "a leader that waits for its followers gets another signal than their reports"
        );
        base::invariant!(
            self.group_of_inserts.left.load(Ordering::Acquire) == 0,
            "a leader continues before all followers inserted their batches"
        );
        match self.group_of_inserts.error.lock().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
