//! The queue of writers: the leader, its write group, and the groups that wait.
//!
//! ```text
//!  idle ──join──► busy: this thread leads                         (two short locks, nothing allocated)
//!  busy ──join──► waiting: [group 1: a b c] [group 2: d] ...      records copied once into the group
//!                      leader done ──► a leads group 1; b, c wait to be told, or are asked to insert
//! ```
//! If the queue is idle, a new writer becomes leader and leads its own batch. If the queue is busy, the new
//! writer appends its records to the last waiting group that accepts them (equal flags, size limit), and
//! waits. At its end, the leader wakes the first member of the first waiting group. This member becomes
//! leader. Its group has its own batch first, then the records of the group, which are already one byte
//! string in the form of the WAL. So no writer reads the batch of another thread, and the order in the WAL
//! is the order of joining.
//!
//! A leader that waits for room lends the lead ([`Queue::hold_back`]) to who gets the database over an error
//! ([`Queue::enter_ahead`]): the room may come from nobody else. Nothing of the lender's group has a sequence
//! number or is in the log by then, and it goes on only when the lead is back.
//!
//! Followers either wait for the outcome, or, when the memtable takes concurrent inserts and their batches are worth
//! it, insert their own batch at the sequence number they are told and report back.
//!
//! The shape follows RocksDB's `db/write_thread.h`; the group buffer replaces its list of writers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;

use base::stats::{Cause, Step};
use base::{Error, Result, SequenceNumber};

use crate::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, Patience};

#[cfg(all(test, not(shuttle), not(loom)))]
mod tests;

/// What writers must agree on to share a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub sync: bool,
    pub disable_wal: bool,
    pub no_slowdown: bool,
    pub low_pri: bool,
    /// The log's bytes are charged to the rate limiter.
    pub charged: bool,
}

impl Flags {
    /// Whether a writer with `other` may ride in a group that was opened with `self`. A group that does
    /// not sync is not made to wait for one that does; the reverse costs nothing.
    fn takes(self, other: Flags) -> bool {
        self.disable_wal == other.disable_wal
            && self.no_slowdown == other.no_slowdown
            && self.low_pri == other.low_pri
            && self.charged == other.charged
            && (self.sync || !other.sync)
    }
}

/// What a writer brings to the queue.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The batch's records, without its header.
    pub records: &'a [u8],
    /// Counted records.
    pub count: u32,
    /// The sequence numbers it takes: as many as counted records, or as sub-batches.
    pub seqs: u32,
    pub flags: Flags,
    /// Must be alone in its group: it has a hook, or is no batch at all.
    pub alone: bool,
    /// Other threads may insert concurrently with this batch: the batch has no merge operand.
    pub concurrent: bool,
}

/// What a joiner has to do now.
pub enum Role {
    /// Lead: write this group, then [`Queue::hand_over`] the leader_state and [`Queue::finish`] the group.
    Lead(Group, Box<LeaderState>),
    /// Insert your own batch at this sequence number, then call [`Insert::finish`].
    Insert(Insert),
    /// Someone wrote it for you.
    Done(Result<()>),
}

/// What only the leader touches; it goes from leader to leader with the lead.
#[derive(Default)]
pub struct LeaderState {
    /// The last sequence number given out.
    pub last_seq: SequenceNumber,
    /// Counts groups, for publishing in order.
    pub ticket: u64,
    /// Group records put together.
    pub scratch: Vec<u8>,
}

/// Writers that are logged together. The leader's own records are not in `records`: it holds them itself.
#[derive(Default)]
pub struct Group {
    pub flags: Flags,
    /// The followers' records, in order.
    pub records: Vec<u8>,
    /// How many of them are counted.
    pub count: u32,
    /// How many sequence numbers the followers take.
    pub seqs: u32,
    /// How many sequence numbers the leader's own batch takes.
    pub lead_seqs: u32,
    followers: Vec<Follower>,
    concurrent: bool,
    alone: bool,
    /// Goes before all who write.
    ahead: bool,
    /// Bytes of the leader's own records, for the size bound.
    lead_bytes: usize,
    /// Set for a group that waits: who is to lead it.
    leader: Option<Arc<Waiter>>,
}

struct Follower {
    waiter: Arc<Waiter>,
    count: u32,
    seqs: u32,
    /// Bytes of its records.
    len: usize,
}

impl Group {
    /// How many writers' batches this group holds.
    pub fn writers(&self) -> usize {
        self.followers.len() + 1
    }

    /// Returns true if the followers should insert their own records. Each follower must have enough
    /// records to outweigh its wakeup and its report. For a few small records, the leader alone is faster.
    pub fn shared(&self) -> bool {
        let followers = self.followers.len();
        let heavy = self.count as usize >= followers * Self::SHARED_COUNT
            || self.records.len() >= followers * Self::SHARED_BYTES;
        self.concurrent && followers > 0 && heavy
    }

    /// From this many records, or this many bytes, for each follower, the followers insert their own
    /// records.
    const SHARED_COUNT: usize = 8;
    const SHARED_BYTES: usize = 8 << 10;
}

/// A follower's order to insert its own batch.
pub struct Insert {
    pub seq: SequenceNumber,
    waiter: Arc<Waiter>,
    group_of_inserts: Arc<InsertGroup>,
}

impl Insert {
    /// Reports the insertion and waits for the group's outcome.
    pub fn finish(self, inserted: Result<()>) -> Result<()> {
        self.group_of_inserts.report(inserted);
        match self.waiter.wait(&self.group_of_inserts.patience) {
            Signal::Done(result) => result,
            // Only one order is ever given; anything else would be the queue's own fault.
            _ => {
                base::invariant!(
                    false,
                    "a follower that inserted its batch gets a signal that is no outcome"
                );
                Err(Error::aborted("a writer was given a second order"))
            }
        }
    }
}

/// The followers that insert for themselves, counted down.
struct InsertGroup {
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

enum Signal {
    None,
    Lead(Group, Box<LeaderState>),
    Insert(SequenceNumber, Arc<InsertGroup>),
    Done(Result<()>),
    InsertsDone,
}

/// Where one thread waits. Kept by the thread and used again.
struct Waiter {
    ready: AtomicBool,
    signal: Mutex<Signal>,
    woken: Condvar,
}

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Waiter {
            ready: AtomicBool::new(false),
            signal: Mutex::new(Signal::None),
            woken: Condvar::new(),
        })
    }

    fn signal(&self, signal: Signal) {
        let mut slot = self.signal.lock();
        base::invariant!(matches!(*slot, Signal::None), "a writer gets a signal before it took the last one");
        *slot = signal;
        self.ready.store(true, Ordering::Release);
        drop(slot);
        self.woken.notify_one();
    }

    fn wait(&self, patience: &Patience) -> Signal {
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

fn own_waiter() -> Arc<Waiter> {
    // A thread that is ending has no waiter any more (a write in the destructor of a thread-local variable).
    WAITER
        .try_with(|slot| slot.borrow_mut().get_or_insert_with(Waiter::new).clone())
        .unwrap_or_else(|_| Waiter::new())
}

/// The queue of writers of one database.
pub struct Queue {
    inner: Mutex<Inner>,
    /// The lead that was lent is back.
    returned: Condvar,
    group_bytes_max: usize,
    patience: Arc<Patience>,
}

struct Inner {
    /// Here while nobody leads.
    leader_state: Option<Box<LeaderState>>,
    /// While the leader waits for room: writers that would not wait are turned away.
    held_back: bool,
    /// Holds the leader state while the leader waits for room and no other thread has borrowed the state.
    /// While the state is here, a group that may overtake the leader does not wait.
    lent: Option<Box<LeaderState>>,
    waiting: VecDeque<Group>,
    /// Buffers of finished groups.
    spare: Vec<Vec<u8>>,
}

/// Buffers kept for the next groups, and the largest kept.
const SPARE_COUNT_MAX: usize = 4;
const SPARE_BYTES_MAX: usize = 4 << 20;

impl Queue {
    /// `group_bytes_max`: `max_write_batch_group_size_bytes`. `last_seq`: the newest in the database. `patience`:
    /// how writers wait for each other.
    pub fn new(group_bytes_max: u64, last_seq: SequenceNumber, patience: Arc<Patience>) -> Self {
        let leader_state = Some(Box::new(LeaderState { last_seq, ..LeaderState::default() }));
        Queue {
            inner: Mutex::new(Inner {
                leader_state,
                held_back: false,
                lent: None,
                waiting: VecDeque::new(),
                spare: Vec::new(),
            }),
            returned: Condvar::new(),
            group_bytes_max: usize::try_from(group_bytes_max).unwrap_or(usize::MAX),
            patience,
        }
    }

    /// Enters the queue; returns when there is something to do.
    pub fn join(&self, entry: Entry<'_>) -> Role {
        let waiter = {
            let mut inner = self.inner.lock();
            base::invariant!(
                inner.leader_state.is_none() || inner.waiting.is_empty(),
                "no writer leads, and {} write groups wait",
                inner.waiting.len()
            );
            if let Some(leader_state) = inner.leader_state.take() {
                return Role::Lead(Group::led_by(entry, None), leader_state);
            }
            if entry.flags.no_slowdown && inner.held_back {
                return Role::Done(Err(would_stall()));
            }
            let waiter = own_waiter();
            self.enqueue(&mut inner, entry, &waiter);
            waiter
        };
        match waiter.wait(&self.patience) {
            Signal::Lead(group, leader_state) => Role::Lead(group, leader_state),
            Signal::Insert(seq, group_of_inserts) => Role::Insert(Insert { seq, waiter, group_of_inserts }),
            Signal::Done(result) => Role::Done(result),
            Signal::None | Signal::InsertsDone => {
                base::invariant!(false, "a writer that waits in the queue wakes up without a role");
                Role::Done(Err(Error::aborted("a writer was woken for nothing")))
            }
        }
    }

    fn enqueue(&self, inner: &mut Inner, entry: Entry<'_>, waiter: &Arc<Waiter>) {
        let max = self.group_bytes_max;
        if let Some(last) = inner.waiting.back_mut()
            && last.has_room_for(entry, max)
        {
            last.followers.push(Follower {
                waiter: waiter.clone(),
                count: entry.count,
                seqs: entry.seqs,
                len: entry.records.len(),
            });
            last.records.extend_from_slice(entry.records);
            last.count += entry.count;
            last.seqs += entry.seqs;
            last.concurrent &= entry.concurrent;
            last.check();
            return;
        }
        let mut group = Group::led_by(entry, Some(waiter.clone()));
        if let Some(buffer) = inner.spare.pop() {
            group.records = buffer;
        }
        inner.waiting.push_back(group);
    }

    /// Asks the followers to insert their own batches, the first of them at `seq`. The leader inserts its
    /// own meanwhile and then calls [`ParallelInsert::join`].
    pub fn insert_together(&self, group: &Group, mut seq: SequenceNumber) -> ParallelInsert {
        group.check();
        base::invariant!(group.concurrent, "followers insert a batch that must be inserted by the leader");
        base::invariant!(!group.followers.is_empty(), "a group without followers is inserted in parallel");
        let leader = own_waiter();
        let group_of_inserts = Arc::new(InsertGroup {
            left: AtomicUsize::new(group.followers.len()),
            error: Mutex::new(None),
            leader: leader.clone(),
            patience: self.patience.clone(),
        });
        for follower in &group.followers {
            follower.waiter.signal(Signal::Insert(seq, group_of_inserts.clone()));
            seq += u64::from(follower.seqs);
        }
        ParallelInsert { group_of_inserts, leader }
    }

    /// Turns away the followers whose records are refused: they hear why, and their records leave the group.
    #[cold]
    pub fn turn_away(&self, group: &mut Group, refused: impl Fn(&[u8]) -> Option<Error>) {
        group.check();
        let records = mem::take(&mut group.records);
        let (mut rest, mut kept, mut gone, mut gone_seqs) = (&records[..], Vec::new(), 0, 0);
        group.followers.retain(|follower| {
            let (own, behind) = rest.split_at(follower.len);
            rest = behind;
            let Some(error) = refused(own) else {
                kept.extend_from_slice(own);
                return true;
            };
            gone += follower.count;
            gone_seqs += follower.seqs;
            follower.waiter.signal(Signal::Done(Err(error)));
            false
        });
        group.count -= gone;
        group.seqs -= gone_seqs;
        group.records = kept;
        base::invariant!(rest.is_empty(), "a write group has {} bytes of no follower", rest.len());
        group.check();
    }

    /// Ends a group: tells its followers the outcome. Does not pass on the lead.
    pub fn finish(&self, mut group: Group, outcome: &Result<()>) {
        base::invariant!(group.leader.is_none(), "a write group ends before its leader led the group");
        for follower in group.followers.drain(..) {
            follower.waiter.signal(Signal::Done(outcome.clone()));
        }
        group.records.clear();
        if group.records.capacity() > 0 && group.records.capacity() <= SPARE_BYTES_MAX {
            let mut inner = self.inner.lock();
            if inner.spare.len() < SPARE_COUNT_MAX {
                inner.spare.push(group.records);
            }
        }
    }

    /// Passes the lead to the first waiting group, or leaves the queue idle.
    pub fn hand_over(&self, leader_state: Box<LeaderState>) {
        let mut inner = self.inner.lock();
        base::invariant!(inner.leader_state.is_none(), "a second leader hands the lead over");
        base::invariant!(inner.lent.is_none(), "the lead is handed over while it is lent");
        while let Some(mut group) = inner.waiting.pop_front() {
            base::invariant!(group.leader.is_some(), "a write group waits that no writer can lead");
            if let Some(leader) = group.leader.take() {
                drop(inner);
                leader.signal(Signal::Lead(group, leader_state));
                return;
            }
        }
        inner.leader_state = Some(leader_state);
    }

    /// Runs `wait`, in which the leader waits for room. During the wait, writers with `no_slowdown` get an
    /// error, and a group that may overtake the leader borrows the leader state. `leader_state` is empty
    /// during the wait.
    pub fn hold_back<T>(&self, leader_state: &mut LeaderState, wait: impl FnOnce() -> T) -> T {
        for mut group in self.lend(mem::take(leader_state)) {
            if let Some(leader) = group.leader.take() {
                leader.signal(Signal::Done(Err(would_stall())));
            }
            self.finish(group, &Err(would_stall()));
        }
        let out = wait();
        let mut inner = self.inner.lock();
        *leader_state = loop {
            match inner.lent.take() {
                Some(leader_state) => break *leader_state,
                None => self.returned.wait(&mut inner),
            }
        };
        base::invariant!(inner.held_back, "a leader gets the lead back that it did not lend");
        inner.held_back = false;
        out
    }

    /// Holds the queue back; the groups that are to be turned away.
    fn lend(&self, leader_state: LeaderState) -> VecDeque<Group> {
        let mut inner = self.inner.lock();
        let (stay, go) = mem::take(&mut inner.waiting).into_iter().partition(|g| !g.flags.no_slowdown);
        inner.waiting = stay;
        base::invariant!(!inner.held_back, "a leader lends the lead that is lent already");
        base::invariant!(inner.leader_state.is_none(), "a leader lends the lead that nobody holds");
        inner.held_back = true;
        self.pass_ahead(inner, Box::new(leader_state));
        go
    }

    /// While the leader is held back: the lead goes to the next that goes ahead, or lies ready.
    fn pass_ahead(&self, mut inner: MutexGuard<'_, Inner>, leader_state: Box<LeaderState>) {
        if inner.waiting.front().is_some_and(|group| group.ahead)
            && let Some(mut group) = inner.waiting.pop_front()
            && let Some(leader) = group.leader.take()
        {
            drop(inner);
            leader.signal(Signal::Lead(group, leader_state));
            return;
        }
        base::invariant!(inner.held_back, "the lead is lent, and no leader waits for it");
        base::invariant!(inner.lent.is_none(), "the lead is lent twice");
        inner.lent = Some(leader_state);
        drop(inner);
        self.returned.notify_all();
    }

    /// Leads before all who write, and while the leader waits for room; to be ended by
    /// [`Queue::leave_ahead`].
    pub fn enter_ahead(&self) -> Result<Box<LeaderState>> {
        let waiter = {
            let mut inner = self.inner.lock();
            base::invariant!(
                inner.leader_state.is_none() || inner.waiting.is_empty(),
                "no writer leads, and {} write groups wait",
                inner.waiting.len()
            );
            if let Some(leader_state) = inner.leader_state.take() {
                return Ok(leader_state);
            }
            if let Some(leader_state) = inner.lent.take() {
                return Ok(leader_state);
            }
            let waiter = own_waiter();
            let entry = Entry {
                records: &[],
                count: 0,
                seqs: 0,
                flags: Flags::default(),
                alone: true,
                concurrent: false,
            };
            let at = inner.waiting.iter().take_while(|group| group.ahead).count();
            inner.waiting.insert(at, Group { ahead: true, ..Group::led_by(entry, Some(waiter.clone())) });
            waiter
        };
        match waiter.wait(&self.patience) {
            Signal::Lead(group, leader_state) => {
                base::invariant!(group.ahead, "a recovery leads the write group of another writer");
                base::invariant!(group.writers() == 1, "a recovery leads {} writers", group.writers());
                Ok(leader_state)
            }
            _ => {
                base::invariant!(false, "a recovery that waits for the lead wakes up without the lead");
                Err(Error::aborted("not led"))
            }
        }
    }

    /// The lead goes back to who lent it, or on.
    pub fn leave_ahead(&self, leader_state: Box<LeaderState>) {
        let inner = self.inner.lock();
        if inner.held_back {
            return self.pass_ahead(inner, leader_state);
        }
        drop(inner);
        self.hand_over(leader_state);
    }
}

/// Followers at work on their own batches.
pub struct ParallelInsert {
    group_of_inserts: Arc<InsertGroup>,
    leader: Arc<Waiter>,
}

impl ParallelInsert {
    /// Waits for all of them.
    pub fn join(self) -> Result<()> {
        let signal = self.leader.wait(&self.group_of_inserts.patience);
        base::invariant!(
            matches!(signal, Signal::InsertsDone),
            "a leader that waits for its followers gets a signal that is not theirs"
        );
        base::invariant!(
            self.group_of_inserts.left.load(Ordering::Acquire) == 0,
            "a leader goes on before all followers inserted their batches"
        );
        match self.group_of_inserts.error.lock().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Group {
    /// Checks that the sums of the group are the sums over its followers.
    fn check(&self) {
        let of = |part: fn(&Follower) -> usize| self.followers.iter().map(part).sum::<usize>();
        base::invariant!(
            of(|follower| follower.len) == self.records.len(),
            "the followers of a write group have {} bytes, and the group has {}",
            of(|follower| follower.len),
            self.records.len()
        );
        base::invariant!(
            of(|follower| follower.count as usize) == self.count as usize,
            "the followers of a write group have {} entries, and the group has {}",
            of(|follower| follower.count as usize),
            self.count
        );
        base::invariant!(
            of(|follower| follower.seqs as usize) == self.seqs as usize,
            "the followers of a write group need {} sequence numbers, and the group has {}",
            of(|follower| follower.seqs as usize),
            self.seqs
        );
        base::invariant!(
            self.followers.is_empty() || !self.alone,
            "a batch that must be alone has followers"
        );
    }

    fn led_by(entry: Entry<'_>, leader: Option<Arc<Waiter>>) -> Self {
        Group {
            flags: entry.flags,
            concurrent: entry.concurrent,
            alone: entry.alone,
            lead_bytes: entry.records.len(),
            lead_seqs: entry.seqs,
            leader,
            ..Group::default()
        }
    }

    fn has_room_for(&self, entry: Entry<'_>, bytes_max: usize) -> bool {
        let bytes = self.lead_bytes + self.records.len() + entry.records.len();
        !self.alone
            && !entry.alone
            && self.flags.takes(entry.flags)
            && bytes <= self.bytes_max(bytes_max)
            && self.count.checked_add(entry.count).is_some()
            && self.seqs.checked_add(entry.seqs).is_some()
    }

    /// A small leader is not made to wait for a large group: it takes an eighth of the bound on top of
    /// its own size, as RocksDB does.
    fn bytes_max(&self, bytes_max: usize) -> usize {
        let eighth = bytes_max / 8;
        if self.lead_bytes <= eighth { self.lead_bytes + eighth } else { bytes_max }
    }
}

/// What a writer with `no_slowdown` hears instead of waiting.
pub fn would_stall() -> Error {
    Error::incomplete("Write stall")
}
