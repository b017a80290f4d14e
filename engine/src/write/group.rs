//! The queue of writers: the leader, its write group, and the groups that wait.
//!
//! ```text
//!  idle ──join──► busy: this thread leads                         (two short locks, nothing allocated)
//!  busy ──join──► waiting: [group 1: a b c] [group 2: d] ...      records copied once into the group
//!                      leader done ──► a is called to lead group 1, takes the group, and leads; b, c wait for the
//!                                      outcome, or insert their own batches
//! ```
//! If the queue is idle, a new writer becomes leader and leads its own batch. If the queue is busy, the new writer
//! appends its records to the last waiting group that accepts them (matching flags, size limit), and waits. At its end,
//! the leader calls the first member of the first waiting group. This member becomes leader. The group stays open until
//! its leader is awake and takes the group. The leader writes its own batch first, then the records of the followers.
//! The group holds these records as one byte string in WAL form. So no writer reads the batch of another thread, and
//! the order in the WAL is the order of joining.
//!
//! Before a group with a sync is taken, its leader may wait a moment for writers that come back from the group
//! before ([`Gather`]).
//!
//! A leader that waits for room or for the end of `lock_wal` lends the leader state ([`Queue::hold_back`]) to a writer that
//! enters ahead ([`Queue::enter_ahead`]). A resume that clears a background error enters ahead: only the resume may be able
//! to make room. A flush that may not wait for the lock also enters ahead. At this time no batch of the leader's group has a
//! sequence number or is in the WAL. The leader continues only after the leader state is back.
//!
//! A follower waits for the outcome, or inserts its own batch. It inserts its own batch if the memtable takes
//! concurrent inserts and the batches are large enough. The leader then signals the sequence number, and the
//! follower reports its result.
//!
//! The shape follows RocksDB's `db/write_thread.h`; the group buffer replaces its list of writers.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use base::invariant::INVARIANTS;
use base::stats::{Cause, Step};
use base::{Error, Result, SequenceNumber};

pub use super::signal::{Insert, LeaderState, ParallelInsert};
use super::signal::{Signal, Waiter, own_waiter};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, Patience, wait_briefly};
use crate::wal::gather::Gather;

#[cfg(all(test, not(shuttle), not(loom)))]
mod tests;

/// The properties of a write that decide which group it can join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub sync: bool,
    pub disable_wal: bool,
    pub no_slowdown: bool,
    pub low_pri: bool,
    /// True if the bytes of the WAL record are charged to the rate limiter.
    pub charged: bool,
}

impl Flags {
    /// Returns true if a writer with the flags `other` may join a group with the flags `self`. A writer that syncs
    /// does not join a group without a sync, which would then wait for the sync. A writer that does not sync may
    /// join a group that syncs: it would have to wait for this group anyway.
    fn takes(self, other: Flags) -> bool {
        self.disable_wal == other.disable_wal
            && self.no_slowdown == other.no_slowdown
            && self.low_pri == other.low_pri
            && self.charged == other.charged
            && (self.sync || !other.sync)
    }
}

/// The properties of a writer that joins the queue.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The records of the batch, without the batch header.
    pub records: &'a [u8],
    /// The number of records that the batch header counts.
    pub count: u32,
    /// The number of sequence numbers that the batch takes: one for each counted record, or one for each sub-batch.
    pub seqs: u32,
    pub flags: Flags,
    /// True if the group may have no other writer. For example, the write has a hook, or there is no batch at all.
    pub alone: bool,
    /// True if other threads may insert concurrently with this batch: the batch has no merge operand.
    pub concurrent: bool,
}

impl Entry<'_> {
    /// Returns the entry of a caller that needs the leader state and writes no batch.
    pub fn alone() -> Self {
        Entry { records: &[], count: 0, seqs: 0, flags: Flags::default(), alone: true, concurrent: false }
    }
}

/// The task of a writer that has joined the queue.
pub enum Role {
    /// Write this group, then pass the leader state to [`Queue::hand_over`] and the group to [`Queue::finish`].
    Lead(Group, Box<LeaderState>),
    /// Insert your own batch at this sequence number, then call [`Insert::finish`].
    Insert(Insert),
    /// Nothing: the leader wrote the batch, or the batch was rejected.
    Done(Result<()>),
}

/// A write group. `records` does not have the leader's own records: the leader holds its own batch.
#[derive(Default)]
pub struct Group {
    pub flags: Flags,
    /// The records of the followers, in the order of joining.
    pub records: Vec<u8>,
    /// The number of counted records of the followers.
    pub count: u32,
    /// The number of sequence numbers that the followers take.
    pub seqs: u32,
    /// The number of sequence numbers that the leader's batch takes.
    pub lead_seqs: u32,
    /// How many of its writers asked for a sync.
    pub syncs: usize,
    /// True if values of the group are in blob files: the WAL and the memtables get a copy of the records that refers to these
    /// files.
    pub has_moved_values: bool,
    followers: Vec<Follower>,
    concurrent: bool,
    alone: bool,
    /// True for the group of [`Queue::enter_ahead`]. This group leads before all waiting writers.
    ahead: bool,
    /// True if the leader of this group has the lead, but has not taken the group yet. Only the first group can be in
    /// this state.
    called: bool,
    /// The size of the leader's records in bytes, for the size limit of the group.
    lead_bytes: usize,
    /// The writer that will lead the group. Set only while the group waits.
    leader: Option<Arc<Waiter>>,
}

struct Follower {
    waiter: Arc<Waiter>,
    count: u32,
    seqs: u32,
    /// The size of the records of the followers in bytes.
    len: usize,
}

impl Group {
    /// Returns the number of writers in the group, including the leader.
    pub fn writers(&self) -> usize {
        self.followers.len() + 1
    }

    /// Returns true if the followers should insert their own records. Each follower must have enough
    /// records to outweigh its wakeup and its report. For a few small records, the leader alone is faster.
    pub fn shared(&self) -> bool {
        self.shared_from(if INVARIANTS { Self::SHARED_IN_TESTS } else { Self::SHARED })
    }

    /// Returns true if a follower has, on average, at least this many records or this many bytes.
    fn shared_from(&self, (records_min, bytes_min): (usize, usize)) -> bool {
        let followers = self.followers.len();
        let heavy =
            self.count as usize >= followers * records_min || self.records.len() >= followers * bytes_min;
        self.concurrent && followers > 0 && heavy
    }

    /// The records and the bytes of a follower from which the followers insert their own records. With 8 records or 8 KiB, four
    /// writers on two cores were slower than a leader that inserts all: 36 µs in place of 25 µs for each entry of 4,000
    /// bytes in batches of ten, and 120 µs in place of 96 µs for synced entries of 16,000 bytes.
    const SHARED: (usize, usize) = (64, 128 << 10);
    /// The limits of builds with checks: tests and models insert in parallel with small batches.
    const SHARED_IN_TESTS: (usize, usize) = (8, 8 << 10);
}

/// The queue of writers of one database.
pub struct Queue {
    inner: Mutex<Inner>,
    /// Notified when a lent leader state is returned.
    returned: Condvar,
    /// Notified when the first group has all expected writers, or can take no more writers.
    gathered: Condvar,
    group_bytes_max: usize,
    patience: Arc<Patience>,
}

struct Inner {
    /// The leader state, while no writer leads.
    leader_state: Option<Box<LeaderState>>,
    /// True while the leader waits for room. Writers with `no_slowdown` are then rejected.
    held_back: bool,
    /// Holds the leader state while the leader waits for room and no other thread has borrowed the state. While the
    /// state is here, [`Queue::enter_ahead`] takes it without a wait.
    lent: Option<Box<LeaderState>>,
    waiting: VecDeque<Group>,
    /// While a leader gathers the first group: how many writers that ask for a sync end the wait. Otherwise 0.
    wanted: usize,
    /// The record buffers of finished groups, for the next groups.
    spare: Vec<Vec<u8>>,
}

/// The number of buffers that are kept for later groups, and the size in bytes above which a buffer is not kept.
const SPARE_COUNT_MAX: usize = 4;
const SPARE_BYTES_MAX: usize = 4 << 20;

impl Queue {
    /// Makes an idle queue. `group_bytes_max` is the option `max_write_batch_group_size_bytes`. `last_seq` is the
    /// newest sequence number of the database. `patience` decides how long waiting writers yield before they sleep.
    pub fn new(group_bytes_max: u64, last_seq: SequenceNumber, patience: Arc<Patience>) -> Self {
        let leader_state = Some(Box::new(LeaderState { last_seq, ..LeaderState::default() }));
        Queue {
            inner: Mutex::new(Inner {
                leader_state,
                held_back: false,
                lent: None,
                waiting: VecDeque::new(),
                wanted: 0,
                spare: Vec::new(),
            }),
            returned: Condvar::new(),
            gathered: Condvar::new(),
            group_bytes_max: usize::try_from(group_bytes_max).unwrap_or(usize::MAX),
            patience,
        }
    }

    /// Joins the queue. Returns when the writer has a task or an outcome.
    pub fn join(&self, entry: Entry<'_>) -> Role {
        let waiter = {
            let mut inner = self.inner.lock();
            base::invariant!(
                inner.leader_state.is_none() || inner.waiting.is_empty(),
                "no writer leads, and {} write groups wait",
                inner.waiting.len()
            );
            if let Some(mut leader_state) = inner.leader_state.take() {
                let mut group = Group::led_by(entry, None);
                if group.may_gather()
                    && let Some(limit) = leader_state.gather.wait_limit(group.syncs)
                {
                    group.called = true;
                    inner.waiting.push_back(group);
                    self.gather(&mut inner, &mut leader_state.gather, limit);
                    group = Inner::take_called(&mut inner);
                }
                return Role::Lead(group, leader_state);
            }
            if entry.flags.no_slowdown && inner.held_back {
                return Role::Done(Err(would_stall()));
            }
            let waiter = own_waiter();
            self.enqueue(&mut inner, entry, &waiter);
            waiter
        };
        match waiter.wait(&self.patience) {
            Signal::Lead(mut leader_state) => {
                let group = self.take_own_group(&mut leader_state.gather);
                Role::Lead(group, leader_state)
            }
            Signal::Insert(seq, group_of_inserts) => Role::Insert(Insert::new(seq, waiter, group_of_inserts)),
            Signal::Done(result) => Role::Done(result),
            Signal::None | Signal::InsertsDone => {
                base::invariant!(false, "a writer that waits in the queue wakes up without a role");
                Role::Done(Err(Error::aborted("a waiting writer woke up without a signal")))
            }
        }
    }

    /// Takes the group of a writer that has just got the lead, after a wait for more writers if the wait is expected to
    /// save a sync.
    fn take_own_group(&self, gather: &mut Gather) -> Group {
        let mut inner = self.inner.lock();
        let group = inner.waiting.front().filter(|group| group.may_gather());
        if let Some(limit) = group.and_then(|group| gather.wait_limit(group.syncs)) {
            self.gather(&mut inner, gather, limit);
        }
        Inner::take_called(&mut inner)
    }

    /// Waits for writers to join the first group, whose leader is this thread. Ends when the group has its expected writers,
    /// when the group can take no more writers, or after `limit`.
    #[cold]
    fn gather(&self, inner: &mut MutexGuard<'_, Inner>, gather: &mut Gather, limit: Duration) {
        // A second group takes all later writers.
        if inner.waiting.len() != 1 {
            return;
        }
        let _step = Step::begin(Cause::WriteGroup);
        let before = inner.first_syncs();
        inner.wanted = gather.expected();
        wait_briefly(&self.gathered, inner, limit);
        inner.wanted = 0;
        gather.record_wait(before, inner.first_syncs());
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
            last.syncs += usize::from(entry.flags.sync);
            last.concurrent &= entry.concurrent;
            last.check();
            let complete = last.syncs >= inner.wanted;
            if inner.wanted > 0 && complete {
                self.gathered.notify_one();
            }
            return;
        }
        let mut group = Group::led_by(entry, Some(waiter.clone()));
        if let Some(buffer) = inner.spare.pop() {
            group.records = buffer;
        }
        inner.waiting.push_back(group);
        self.end_gather(inner);
    }

    /// Ends the wait of a leader that gathers: its group can take no more writers.
    fn end_gather(&self, inner: &Inner) {
        if inner.wanted > 0 {
            self.gathered.notify_one();
        }
    }

    /// Signals the followers to insert their own batches. The first follower inserts at `seq`. The leader inserts
    /// its own batch concurrently and then calls [`ParallelInsert::join`].
    pub fn insert_together(&self, group: &Group, mut seq: SequenceNumber) -> ParallelInsert {
        group.check();
        base::invariant!(group.concurrent, "followers insert a batch that must be inserted by the leader");
        base::invariant!(!group.followers.is_empty(), "a group without followers is inserted in parallel");
        let inserts = ParallelInsert::new(group.followers.len(), self.patience.clone());
        for follower in &group.followers {
            inserts.start(&follower.waiter, seq);
            seq += u64::from(follower.seqs);
        }
        inserts
    }

    /// Rejects each follower for whose records `refused` returns an error. The follower gets this error, and its
    /// records leave the group.
    #[cold]
    pub fn reject_followers(&self, group: &mut Group, refused: impl Fn(&[u8]) -> Option<Error>) {
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

    /// Ends a group: every follower gets the outcome. Does not hand the lead over.
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

    /// Hands the lead over to the first waiting group. If no group waits, the queue becomes idle.
    pub fn hand_over(&self, mut leader_state: Box<LeaderState>) {
        let mut inner = self.inner.lock();
        base::invariant!(inner.leader_state.is_none(), "a second leader hands the lead over");
        base::invariant!(inner.lent.is_none(), "the lead is handed over while it is lent");
        leader_state.gather.record_waiting(inner.first_syncs());
        match Inner::call_first(&mut inner) {
            Some(leader) => {
                drop(inner);
                leader.signal(Signal::Lead(leader_state));
            }
            None => inner.leader_state = Some(leader_state),
        }
    }

    /// Runs `wait`, in which the leader waits for room. During the wait, writers with `no_slowdown` get an error,
    /// and [`Queue::enter_ahead`] can borrow the leader state. `leader_state` is empty during the wait.
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

    /// Puts the leader state where [`Queue::enter_ahead`] can borrow it. Returns the waiting groups with
    /// `no_slowdown`, which the caller rejects.
    fn lend(&self, leader_state: LeaderState) -> VecDeque<Group> {
        let mut inner = self.inner.lock();
        let (stay, go) = mem::take(&mut inner.waiting).into_iter().partition(|g| !g.flags.no_slowdown);
        inner.waiting = stay;
        base::invariant!(!inner.held_back, "a leader lends the lead that is lent already");
        base::invariant!(inner.leader_state.is_none(), "a leader lends the lead, and the queue is idle");
        inner.held_back = true;
        self.pass_ahead(inner, Box::new(leader_state));
        go
    }

    /// Gives the lent leader state to the next group of [`Queue::enter_ahead`]. If there is none, the leader that
    /// waits for room can take the state back.
    fn pass_ahead(&self, mut inner: MutexGuard<'_, Inner>, leader_state: Box<LeaderState>) {
        if inner.waiting.front().is_some_and(|group| group.ahead)
            && let Some(leader) = Inner::call_first(&mut inner)
        {
            drop(inner);
            leader.signal(Signal::Lead(leader_state));
            return;
        }
        base::invariant!(inner.held_back, "the lead is lent, and no leader waits for it");
        base::invariant!(inner.lent.is_none(), "the lead is lent twice");
        inner.lent = Some(leader_state);
        drop(inner);
        self.returned.notify_all();
    }

    /// Takes the lead before all waiting writers. If the leader waits for room, borrows its leader state. The
    /// caller must end its lead with [`Queue::leave_ahead`].
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
            let entry = Entry::alone();
            let at = inner.waiting.iter().take_while(|group| group.ahead || group.called).count();
            inner.waiting.insert(at, Group { ahead: true, ..Group::led_by(entry, Some(waiter.clone())) });
            self.end_gather(&inner);
            waiter
        };
        match waiter.wait(&self.patience) {
            Signal::Lead(leader_state) => {
                let group = Inner::take_called(&mut self.inner.lock());
                base::invariant!(
                    group.ahead,
                    "a writer that entered ahead leads the write group of another writer"
                );
                base::invariant!(
                    group.writers() == 1,
                    "a writer that entered ahead leads {} writers",
                    group.writers()
                );
                Ok(leader_state)
            }
            _ => {
                base::invariant!(false, "a writer that entered ahead wakes up without the lead");
                Err(Error::aborted("a writer that must be alone did not become leader"))
            }
        }
    }

    /// Takes the lead as [`Queue::enter_ahead`] does, but only if no leader works: the queue is idle, or the leader waits for room. The
    /// caller must end its lead with [`Queue::leave_ahead`].
    pub fn try_enter_ahead(&self) -> Option<Box<LeaderState>> {
        let mut inner = self.inner.lock();
        inner.leader_state.take().or_else(|| inner.lent.take())
    }

    /// Ends the lead of [`Queue::enter_ahead`]. Returns a borrowed leader state, or hands the lead over to the next
    /// group.
    pub fn leave_ahead(&self, leader_state: Box<LeaderState>) {
        let inner = self.inner.lock();
        if inner.held_back {
            return self.pass_ahead(inner, leader_state);
        }
        drop(inner);
        self.hand_over(leader_state);
    }
}

impl Inner {
    /// How many writers of the first group asked for a sync; 0 without a group, and for a writer that must be alone: the
    /// writer never joins another group.
    fn first_syncs(&self) -> usize {
        self.waiting.front().filter(|group| group.may_gather()).map_or(0, |group| group.syncs)
    }

    /// Calls the leader of the first group, if a group waits. The group stays open until its leader takes the group.
    fn call_first(&mut self) -> Option<Arc<Waiter>> {
        let group = self.waiting.front_mut()?;
        base::invariant!(!group.called, "the leader of a write group is called twice");
        base::invariant!(group.leader.is_some(), "a write group waits that no writer can lead");
        group.called = true;
        group.leader.take()
    }

    /// Takes the group whose leader has the lead.
    fn take_called(&mut self) -> Group {
        let group = self.waiting.pop_front();
        base::invariant!(
            group.as_ref().is_some_and(|group| group.called),
            "a writer that has the lead finds no group to lead"
        );
        group.unwrap_or_default()
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
            syncs: usize::from(entry.flags.sync),
            leader,
            ..Group::default()
        }
    }

    /// Returns true if a wait for more writers can save a sync.
    pub(super) fn may_gather(&self) -> bool {
        self.flags.sync && !self.alone
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

    /// Returns the size limit of the group in bytes. If the leader's batch is small, the limit is its size plus an
    /// eighth of `bytes_max`, as in RocksDB. So a small write does not wait for a large group.
    fn bytes_max(&self, bytes_max: usize) -> usize {
        let eighth = bytes_max / 8;
        if self.lead_bytes <= eighth { self.lead_bytes + eighth } else { bytes_max }
    }
}

/// Returns the error for a writer with `no_slowdown` that would have to wait.
pub fn would_stall() -> Error {
    Error::incomplete("Write stall")
}
