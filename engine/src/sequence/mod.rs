//! The sequence numbers of a database, and its snapshots.
//!
//! `visible` is the visible sequence number. The batch with this number and all earlier batches are completely in
//! memtables. Readers see entries at or below this number. Only `write` moves it forward, after the insert into the
//! memtables. A reader first pins its super version and then loads `visible`: see [`crate::family::Family::pin`].
//! Entries below it may belong to transactions that are not committed: see [`Undecided`].

mod times;
mod undecided;

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

use base::{Arrange, SequenceNumber};
use lsm::stripes::Stripes;

use crate::sync::{Arc, AtomicU64, Mutex, OnceLock, Ordering, Weak};
pub use times::{SEQNOS_BEFORE_CREATION, WriteTimes};
pub use undecided::{Decision, OwnRanges, Undecided, UndecidedRange, Visibility};

/// The visible sequence number of one database.
#[derive(Default)]
pub struct LastSequence {
    visible: AtomicU64,
    undecided: Undecided,
}

impl LastSequence {
    /// Makes the state after recovery: all entries at or below `seq` are visible.
    pub fn new(seq: SequenceNumber) -> Self {
        LastSequence { visible: AtomicU64::new(seq.get()), undecided: Undecided::default() }
    }

    /// Returns the visible sequence number. Takes no lock.
    #[inline]
    pub fn visible(&self) -> SequenceNumber {
        SequenceNumber::new(self.visible.load(Ordering::Acquire))
    }

    /// Publishes a sequence number. The write leader calls this after the memtables have the entries.
    #[inline]
    pub(crate) fn publish(&self, seq: SequenceNumber) {
        base::invariant!(
            self.visible() <= seq,
            "the visible sequence number falls from {} to {seq}",
            self.visible()
        );
        base::invariant!(seq <= base::key::MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        self.visible.store(seq.get(), Ordering::Release);
    }

    /// Returns the ranges of sequence numbers whose transactions are not committed.
    #[inline]
    pub fn undecided(&self) -> &Undecided {
        &self.undecided
    }

    /// Returns the sequence number to read at, and the entries at or below it to hide, if there are any.
    #[inline]
    pub fn view(&self) -> (SequenceNumber, Option<Arc<Visibility>>) {
        self.undecided.view(|| self.visible())
    }
}

/// A sequence number that snapshots hold.
struct Held {
    seq: SequenceNumber,
    /// Live snapshots of the sequence number; 0 if all are released.
    holders: u32,
    /// The time of the first snapshot, in seconds.
    time_s: u64,
}

/// The sequence numbers of live snapshots, in ascending order. A new snapshot nearly always goes to the end: with
/// 100,000 snapshots this takes 100 ns less than an insert into a tree. A released sequence number stays in the
/// list until it is at an end of the list, or until half of the list is released. The first and the last number
/// always have a snapshot.
#[derive(Default)]
struct LiveSnapshots {
    list: VecDeque<Held>,
    /// Entries of the list without holders.
    released: usize,
    snapshots: u64,
    /// The ends of undecided ranges and the snapshots of iterators with a share of the memory budget, and how often each sequence
    /// number is held. Only flush and compaction use them.
    ends: BTreeMap<SequenceNumber, u32>,
    /// The sequence numbers above which conflict checks of transactions look for writes, and how often each is held.
    conflicts: BTreeMap<SequenceNumber, u32>,
}

/// Adds a holder of a sequence number.
fn add_holder(holders: &mut BTreeMap<SequenceNumber, u32>, seq: SequenceNumber) {
    *holders.entry(seq).or_default() += 1;
}

/// Removes a holder of a sequence number.
fn remove_holder(holders: &mut BTreeMap<SequenceNumber, u32>, seq: SequenceNumber) {
    base::invariant!(holders.contains_key(&seq), "a holder of the sequence number {seq} is removed twice");
    if let Some(count) = holders.get_mut(&seq) {
        *count -= 1;
        if *count == 0 {
            holders.remove(&seq);
        }
    }
}

impl LiveSnapshots {
    /// Returns the oldest sequence number that a compaction must respect; `visible` if there is none.
    fn oldest_needed(&self, visible: SequenceNumber) -> SequenceNumber {
        let oldest = self.oldest().map_or(visible, |held| held.seq);
        self.ends.keys().next().map_or(oldest, |end| oldest.min(*end))
    }

    /// Returns all sequence numbers that a compaction must respect, in ascending order.
    fn needed(&self) -> Vec<SequenceNumber> {
        let mut all: Vec<_> = self.held().collect();
        if !self.ends.is_empty() {
            all.extend(self.ends.keys());
            all.arrange();
            all.dedup();
        }
        base::invariant!(all.is_sorted_by(|a, b| a < b), "the snapshots are not in ascending order");
        all
    }

    fn hold(&mut self, seq: SequenceNumber, time_s: u64) {
        self.snapshots += 1;
        let held = Held { seq, holders: 1, time_s };
        match self.list.back_mut() {
            Some(last) if last.seq == seq => last.holders += 1,
            // The write leader has taken a snapshot at a sequence number that is not visible yet.
            Some(last) if last.seq > seq => self.hold_earlier(held),
            _ => self.list.push_back(held),
        }
    }

    #[cold]
    fn hold_earlier(&mut self, held: Held) {
        let at = self.list.partition_point(|other| other.seq < held.seq);
        match self.list.get_mut(at) {
            Some(same) if same.seq == held.seq && same.holders > 0 => same.holders += 1,
            Some(same) if same.seq == held.seq => {
                *same = held;
                self.released -= 1;
            }
            _ => self.list.insert(at, held),
        }
        self.check_around(at);
    }

    /// Checks that the snapshot at a place of the list is between its neighbors.
    fn check_around(&self, at: usize) {
        let seq = |at: usize| self.list.get(at).map(|held| held.seq);
        let after = seq(at).zip(seq(at + 1));
        let before = at.checked_sub(1).and_then(|before| seq(before).zip(seq(at)));
        for (older, newer) in before.into_iter().chain(after) {
            base::invariant!(
                older < newer,
                "the snapshot at {newer} is listed after the snapshot at {older}"
            );
        }
    }

    fn release(&mut self, seq: SequenceNumber) {
        let last = self.list.len().wrapping_sub(1);
        let at = match (self.list.front(), self.list.back()) {
            (_, Some(back)) if back.seq == seq => last,
            (Some(front), _) if front.seq == seq => 0,
            _ => self.list.partition_point(|other| other.seq < seq),
        };
        let Some(held) = self.list.get_mut(at).filter(|held| held.seq == seq && held.holders > 0) else {
            base::invariant!(false, "a snapshot at {seq} is released twice");
            return;
        };
        self.snapshots -= 1;
        held.holders -= 1;
        if held.holders > 0 {
            return;
        }
        self.released += 1;
        base::invariant!(
            self.released <= self.list.len(),
            "{} of {} snapshots in the list are released",
            self.released,
            self.list.len()
        );
        while self.list.front().is_some_and(|held| held.holders == 0) {
            self.list.pop_front();
            self.released -= 1;
        }
        while self.list.back().is_some_and(|held| held.holders == 0) {
            self.list.pop_back();
            self.released -= 1;
        }
        if self.released > 16 && self.released * 2 > self.list.len() {
            self.list.retain(|held| held.holders > 0);
            self.released = 0;
        }
    }

    fn oldest(&self) -> Option<&Held> {
        base::invariant!(
            self.list.front().is_none_or(|held| held.holders > 0),
            "the oldest snapshot of the list is released"
        );
        self.list.front()
    }

    fn held(&self) -> impl Iterator<Item = SequenceNumber> {
        self.list.iter().filter(|held| held.holders > 0).map(|held| held.seq)
    }
}

/// The live snapshots of one database.
pub struct Snapshots {
    /// The sequence numbers of the database. Held here, so that a snapshot needs one reference count for both.
    sequence: Arc<LastSequence>,
    live: Mutex<LiveSnapshots>,
    /// See [`Snapshots::released_below`].
    released_below: AtomicU64,
    /// See [`Snapshots::notify_past`]. The value is one more than the sequence number; 0 requests no notification.
    notify_past: AtomicU64,
    notify: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Snapshots {
    /// Makes the list of the snapshots of a database, without a snapshot.
    pub fn new(sequence: Arc<LastSequence>) -> Self {
        Snapshots {
            sequence,
            live: Mutex::default(),
            released_below: AtomicU64::new(0),
            notify_past: AtomicU64::new(0),
            notify: OnceLock::new(),
        }
    }

    /// Takes a snapshot at the visible sequence number. `now_s` is the time for the properties.
    pub fn take(owner: &Arc<Self>, now_s: u64) -> Arc<Snapshot> {
        // Load the number under the lock: a job that lists the snapshots afterwards then sees this snapshot.
        let mut live = owner.live.lock();
        let (seq, visibility) = owner.sequence.view();
        live.hold(seq, now_s);
        drop(live);
        Arc::new(Snapshot::plain(owner, (seq, visibility), now_s))
    }

    /// Takes a snapshot for an iterator with a share of the memory budget. Compactions keep what the snapshot needs, but it does not
    /// count as a snapshot: without a budget, such an iterator has none.
    pub fn take_uncounted(owner: &Arc<Self>, now_s: u64) -> Arc<Snapshot> {
        let mut live = owner.live.lock();
        let (seq, visibility) = owner.sequence.view();
        add_holder(&mut live.ends, seq);
        drop(live);
        let mut snapshot = Snapshot::plain(owner, (seq, visibility), now_s);
        snapshot.is_counted = false;
        Arc::new(snapshot)
    }

    /// Takes a snapshot as [`Snapshots::take`] does, for conflict checks of a transaction: a flush or a compaction keeps an entry
    /// of each key that was written after the snapshot. RocksDB: `GetSnapshotForWriteConflictBoundary`.
    pub fn take_for_conflicts(owner: &Arc<Self>, now_s: u64) -> Arc<Snapshot> {
        let mut live = owner.live.lock();
        let (seq, visibility) = owner.sequence.view();
        live.hold(seq, now_s);
        let certain = visibility.as_ref().map_or(seq, |visibility| visibility.certain_up_to());
        add_holder(&mut live.conflicts, certain);
        drop(live);
        let mut snapshot = Snapshot::plain(owner, (seq, visibility), now_s);
        snapshot.checked_above = Some(certain);
        Arc::new(snapshot)
    }

    /// Returns the view of a transaction: the entries that `base` shows, and the sections of the transaction. Each
    /// of these sections is visible or undecided.
    pub fn take_with_own(base: Arc<Snapshot>, own: Arc<OwnRanges>) -> Arc<Snapshot> {
        let seq = base.seq.max(own.last());
        base.owner.live.lock().hold(seq, base.time_s);
        let visibility = Some(Visibility::with_own(base.seq, base.visibility(), own));
        let mut snapshot = Snapshot::plain(&base.owner, (seq, visibility), base.time_s);
        snapshot._base = Some(base);
        Arc::new(snapshot)
    }

    /// Takes a snapshot at `seq`. The sequence number is visible, or the write leader is about to publish it.
    pub fn take_at(owner: &Arc<Self>, seq: SequenceNumber, now_s: u64) -> Arc<Snapshot> {
        base::invariant!(
            seq <= base::key::MAX_SEQUENCE,
            "a snapshot is taken at the sequence number {seq}, of more than 56 bits"
        );
        owner.live.lock().hold(seq, now_s);
        let visibility = owner.sequence.undecided.view_at(seq);
        Arc::new(Snapshot::plain(owner, (seq, visibility), now_s))
    }

    /// Makes compactions keep what readers at `seq` need, until the result is dropped. Does not count as a snapshot: the
    /// drop makes no SST file worth a compaction.
    pub(crate) fn keep(owner: &Arc<Self>, seq: SequenceNumber) -> Box<dyn Any + Send + Sync> {
        add_holder(&mut owner.live.lock().ends, seq);
        Box::new(Kept { seq, owner: owner.clone() })
    }

    /// Adds an undecided range. Called before the entries of the range are in a memtable.
    pub(crate) fn add_undecided(
        owner: &Arc<Self>,
        first: SequenceNumber,
        last: SequenceNumber,
        decision: &Arc<Decision>,
    ) {
        // A damaged WAL can have a section of sequence number 0.
        let ends = [first.previous(), last];
        base::invariant!(first <= last, "an undecided range begins at {first} and ends at {last}");
        let mut live = owner.live.lock();
        ends.iter().for_each(|end| add_holder(&mut live.ends, *end));
        drop(live);
        let keeps = Box::new(RangeEnds { ends, owner: Arc::downgrade(owner) });
        owner.sequence.undecided.add(UndecidedRange::new(first, last, decision.clone(), keeps));
    }

    /// Returns the sequence numbers that flush and compaction must respect.
    pub fn stripes(&self) -> Stripes {
        Stripes::new(self.live.lock().needed())
    }

    /// Returns the sequence numbers that flush and compaction must respect, and the oldest sequence number above which conflict
    /// checks of transactions look for writes; `MAX_SEQUENCE` if there is none.
    pub fn stripes_and_conflicts(&self) -> (Stripes, SequenceNumber) {
        let live = self.live.lock();
        let oldest = live.conflicts.keys().next().copied();
        (Stripes::new(live.needed()), oldest.unwrap_or(base::key::MAX_SEQUENCE))
    }

    /// Returns the sequence number and the time of the oldest snapshot.
    pub fn oldest(&self) -> Option<(SequenceNumber, u64)> {
        self.live.lock().oldest().map(|held| (held.seq, held.time_s))
    }

    /// Returns the oldest sequence number that flush and compaction must respect. `None` if there is none.
    pub fn oldest_needed(&self) -> Option<SequenceNumber> {
        let oldest = self.live.lock().oldest_needed(SequenceNumber::NONE);
        (oldest < SequenceNumber::NONE).then_some(oldest)
    }

    /// Returns the sequence number below which no entry is kept for a snapshot: the oldest live snapshot at the
    /// time of the last release, or the visible sequence number if no snapshot was left. 0 before the first
    /// release: no entry was kept for a snapshot, so a compaction of bottommost SST files would gain nothing.
    pub fn released_below(&self) -> SequenceNumber {
        SequenceNumber::new(self.released_below.load(Ordering::Acquire))
    }

    /// Sets the function to call when a release frees something. The call comes on any thread, without locks held.
    pub fn on_release(&self, notify: Box<dyn Fn() + Send + Sync>) {
        let _ = self.notify.set(notify);
    }

    /// Requests a notification when no snapshot at or below `seq` is live. An SST file whose newest entry
    /// is at `seq` is then worth a compaction. `None` requests no notification. RocksDB's
    /// `bottommost_files_mark_threshold_`.
    pub fn notify_past(&self, seq: Option<SequenceNumber>) {
        self.notify_past.store(seq.map_or(0, |seq| seq.saturating_add(1).get()), Ordering::SeqCst);
        self.notify_if_past();
    }

    fn released(&self, live: &LiveSnapshots) {
        let visible = self.sequence.visible();
        base::invariant!(
            live.oldest().is_none_or(|oldest| live.oldest_needed(visible) <= oldest.seq),
            "a snapshot is older than the oldest sequence number that is needed"
        );
        let oldest = live.oldest_needed(visible);
        // The value only grows, and changes only under the lock of `live`.
        if oldest > SequenceNumber::new(self.released_below.load(Ordering::SeqCst)) {
            self.released_below.store(oldest.get(), Ordering::SeqCst);
        }
    }

    fn notify_if_past(&self) {
        let past = self.notify_past.load(Ordering::SeqCst);
        if past > 0
            && self.released_below.load(Ordering::SeqCst) >= past
            && self.notify_past.compare_exchange(past, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            && let Some(notify) = self.notify.get()
        {
            notify();
        }
    }

    /// Returns the number of snapshots that are not released.
    pub fn count(&self) -> u64 {
        self.live.lock().snapshots
    }
}

/// The ends of an undecided range, which compactions respect like snapshots.
struct RangeEnds {
    ends: [SequenceNumber; 2],
    /// Weak, because the owner holds the list of the undecided ranges. With a strong reference, a database that closes with an
    /// undecided transaction would never free them. Without an owner there is no compaction.
    owner: Weak<Snapshots>,
}

impl Drop for RangeEnds {
    fn drop(&mut self) {
        let Some(owner) = self.owner.upgrade() else { return };
        let mut live = owner.live.lock();
        self.ends.iter().for_each(|end| remove_holder(&mut live.ends, *end));
        owner.released(&live);
        drop(live);
        owner.notify_if_past();
    }
}

/// A sequence number that compactions respect for a short time: see [`Snapshots::keep`].
struct Kept {
    seq: SequenceNumber,
    owner: Arc<Snapshots>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        remove_holder(&mut self.owner.live.lock().ends, self.seq);
    }
}

/// A fixed sequence number for reads. The last clone releases the snapshot when it is dropped.
pub struct Snapshot {
    seq: SequenceNumber,
    /// Hides entries at or below `seq`. `None` means that all of them are visible.
    visibility: Option<Arc<Visibility>>,
    time_s: u64,
    /// False for [`Snapshots::take_uncounted`].
    is_counted: bool,
    owner: Arc<Snapshots>,
    /// Of a snapshot of [`Snapshots::take_for_conflicts`]: the sequence number up to which the snapshot sees every entry.
    checked_above: Option<SequenceNumber>,
    /// Keeps the base snapshot of a transaction's view: see [`Snapshots::take_with_own`].
    _base: Option<Arc<Snapshot>>,
}

impl Snapshot {
    /// Makes a counted snapshot without a base. The caller adds it to the lists of its owner.
    fn plain(
        owner: &Arc<Snapshots>,
        (seq, visibility): (SequenceNumber, Option<Arc<Visibility>>),
        time_s: u64,
    ) -> Snapshot {
        Snapshot {
            seq,
            visibility,
            time_s,
            is_counted: true,
            owner: owner.clone(),
            checked_above: None,
            _base: None,
        }
    }

    /// Returns the sequence number of the snapshot. Readers see only entries at or below this number.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// Returns which entries at or below [`Snapshot::sequence`] are visible. `None` means that all of them are.
    #[inline]
    pub fn visibility(&self) -> Option<&Arc<Visibility>> {
        self.visibility.as_ref()
    }

    /// Returns the time of the snapshot, in seconds since 1970.
    pub fn unix_time(&self) -> u64 {
        self.time_s
    }

    /// Returns true if the snapshot was taken in the open of `sequence`. Each open of a database has its own
    /// counter of sequence numbers, so a snapshot of an earlier open is not valid.
    #[inline]
    pub fn belongs_to(&self, sequence: &Arc<LastSequence>) -> bool {
        Arc::ptr_eq(&self.owner.sequence, sequence)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut live = self.owner.live.lock();
        match self.is_counted {
            true => live.release(self.seq),
            false => remove_holder(&mut live.ends, self.seq),
        }
        if let Some(certain) = self.checked_above {
            remove_holder(&mut live.conflicts, certain);
        }
        self.owner.released(&live);
        drop(live);
        self.owner.notify_if_past();
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "snapshot at {}", self.seq)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[cfg(not(loom))]
    use super::{Decision, LastSequence, Snapshots};
    use super::{LiveSnapshots, SequenceNumber};
    #[cfg(not(loom))]
    use crate::sync::Arc;

    /// A database can close with undecided transactions. Their ranges must not keep the list of the ranges.
    #[cfg(not(loom))]
    #[test]
    fn undecided_ranges_are_freed_with_their_database() {
        let sequence = Arc::new(LastSequence::new(SequenceNumber::new(9)));
        sequence.undecided().enable();
        let snapshots = Arc::new(Snapshots::new(sequence.clone()));
        let decision = Arc::new(Decision::default());
        let range = |seq| (SequenceNumber::new(seq), SequenceNumber::new(seq + 1));
        for (first, last) in [range(2), range(6)] {
            Snapshots::add_undecided(&snapshots, first, last, &decision);
        }
        assert_eq!((Arc::strong_count(&decision), snapshots.stripes().as_slice().len()), (3, 4));
        let (weak_sequence, weak_snapshots) = (Arc::downgrade(&sequence), Arc::downgrade(&snapshots));
        let view = sequence.view();
        drop((snapshots, sequence));
        assert_eq!((weak_snapshots.strong_count(), weak_sequence.strong_count()), (0, 0));
        assert!(view.1.is_some_and(|view| !view.sees(SequenceNumber::new(3))), "a reader keeps the ranges");
        assert_eq!(Arc::strong_count(&decision), 1);
    }

    /// A tree of sequence numbers is the specification.
    #[test]
    fn the_list_of_snapshots_is_a_sorted_map() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let (mut live, mut map) = (LiveSnapshots::default(), BTreeMap::<u64, u32>::new());
            let (mut seq, mut taken) = (1, Vec::new());
            for time in 0..300 {
                seq += below(2);
                if taken.is_empty() || below(100) < 55 {
                    let at = seq - below(3).min(seq - 1);
                    live.hold(SequenceNumber::new(at), time);
                    *map.entry(at).or_default() += 1;
                    taken.push(at);
                } else {
                    let at = taken.swap_remove(below(taken.len() as u64) as usize);
                    live.release(SequenceNumber::new(at));
                    let holders = map.get_mut(&at).unwrap();
                    *holders -= 1;
                    if *holders == 0 {
                        map.remove(&at);
                    }
                }
                assert!(live.held().map(SequenceNumber::get).eq(map.keys().copied()));
                assert_eq!(live.oldest().map(|held| held.seq.get()), map.keys().next().copied());
                assert_eq!(live.snapshots, taken.len() as u64);
                assert!(live.list.len() <= 2 * map.len().max(16) + 1);
            }
        }
    }
}
