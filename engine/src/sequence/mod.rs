//! The sequence numbers of a database, and its snapshots.
//!
//! `visible` is the visible sequence number. The batch with this number and all earlier batches are completely in
//! memtables. Readers see entries at or below this number. Only `write` moves it forward, after the insert into the
//! memtables. A reader first pins its super version and then loads `visible`: see [`crate::family::Family::pin`].
//! Entries below it may belong to transactions that are not committed: see [`Undecided`].

mod live;
mod times;
mod undecided;

use std::any::Any;
use std::cell::Cell;

use base::SequenceNumber;
use lsm::stripes::Stripes;

use crate::sync::{Arc, AtomicU64, Mutex, OnceLock, Ordering, Weak};
use live::{LiveSnapshots, add_holder, remove_holder};
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
        if visibility.is_none()
            && let Some(spare) = spare_of(owner)
        {
            spare.time_s.store(now_s, Ordering::Relaxed);
            spare.seq.store(seq.get(), Ordering::Relaxed);
            return spare;
        }
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
        let seq = base.sequence().max(own.last());
        base.owner.live.lock().hold(seq, base.unix_time());
        let visibility = Some(Visibility::with_own(base.sequence(), base.visibility(), own));
        let mut snapshot = Snapshot::plain(&base.owner, (seq, visibility), base.unix_time());
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

    /// Returns the sequence number below which no reader needs an entry of a bottommost SST file. The value is the smaller of two
    /// numbers: the oldest sequence number that was needed at the last release, and the oldest one that is needed now. The second is
    /// smaller if recovery restored an undecided section after the release. 0 before the first release: a compaction of bottommost
    /// SST files would then gain nothing.
    pub fn released_below(&self) -> SequenceNumber {
        let released = SequenceNumber::new(self.released_below.load(Ordering::SeqCst));
        if released.is_zero() {
            return released;
        }
        self.live.lock().oldest_needed(released).min(released)
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
            // This test needs no lock, and nearly always decides.
            && self.released_below.load(Ordering::SeqCst) >= past
            && self.released_below().get() >= past
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
    /// The sequence number; `RELEASED` for a spare. It and the time do not change while the snapshot has two references.
    seq: AtomicU64,
    /// Hides entries at or below `seq`. `None` means that all of them are visible.
    visibility: Option<Arc<Visibility>>,
    time_s: AtomicU64,
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
            seq: AtomicU64::new(seq.get()),
            visibility,
            time_s: AtomicU64::new(time_s),
            is_counted: true,
            owner: owner.clone(),
            checked_above: None,
            _base: None,
        }
    }

    /// Returns the sequence number of the snapshot. Readers see only entries at or below this number.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        SequenceNumber::new(self.seq.load(Ordering::Relaxed))
    }

    /// Returns which entries at or below [`Snapshot::sequence`] are visible. `None` means that all of them are.
    #[inline]
    pub fn visibility(&self) -> Option<&Arc<Visibility>> {
        self.visibility.as_ref()
    }

    /// Returns the time of the snapshot, in seconds since 1970.
    pub fn unix_time(&self) -> u64 {
        self.time_s.load(Ordering::Relaxed)
    }

    /// Returns true if the snapshot was taken in the open of `sequence`. Each open of a database has its own
    /// counter of sequence numbers, so a snapshot of an earlier open is not valid.
    #[inline]
    pub fn belongs_to(&self, sequence: &Arc<LastSequence>) -> bool {
        Arc::ptr_eq(&self.owner.sequence, sequence)
    }
}

/// The sequence number of a spare.
const RELEASED: u64 = u64::MAX;

crate::sync::thread_local! {
    /// A released snapshot. The next snapshot of this thread reuses its memory and its reference to the list of snapshots: without a
    /// spare, a thread that takes and releases snapshots in turn changes eight shared words for each, and five with a spare. The spare
    /// keeps the list of a closed database until the thread takes a snapshot of another database, or ends.
    static SPARE: Cell<Option<Arc<Snapshot>>> = const { Cell::new(None) };
}

/// Takes the spare of this thread, if it belongs to the list `owner`.
#[inline]
fn spare_of(owner: &Arc<Snapshots>) -> Option<Arc<Snapshot>> {
    let spare = SPARE.try_with(Cell::take).ok().flatten()?;
    Arc::ptr_eq(&spare.owner, owner).then_some(spare)
}

impl Snapshot {
    /// Drops a reference. If this is the last reference, the snapshot is released, and the next snapshot of the thread reuses its
    /// memory. Otherwise the last clone releases the snapshot, as after a drop.
    pub fn release(mut this: Arc<Snapshot>) {
        // Also `None` if a weak reference exists: the memory of the snapshot then names this snapshot until the weak reference ends.
        let Some(snapshot) = Arc::get_mut(&mut this) else { return };
        if !snapshot.is_reusable() {
            return;
        }
        snapshot.end();
        snapshot.seq.store(RELEASED, Ordering::Relaxed);
        let _ = SPARE.try_with(|spare| spare.replace(Some(this)));
    }

    /// Returns true for a snapshot as [`Snapshots::take`] makes it with spare memory.
    fn is_reusable(&self) -> bool {
        self.is_counted && self.visibility.is_none() && self.checked_above.is_none() && self._base.is_none()
    }

    /// Removes the snapshot from the lists of its owner.
    fn end(&self) {
        let seq = self.sequence();
        let mut live = self.owner.live.lock();
        match self.is_counted {
            true => live.release(seq),
            false => remove_holder(&mut live.ends, seq),
        }
        if let Some(certain) = self.checked_above {
            remove_holder(&mut live.conflicts, certain);
        }
        self.owner.released(&live);
        drop(live);
        self.owner.notify_if_past();
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.seq.load(Ordering::Relaxed) != RELEASED {
            self.end();
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "snapshot at {}", self.sequence())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(not(loom))]
    use super::{Decision, LastSequence, SequenceNumber, Snapshot, Snapshots};
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

    #[cfg(not(loom))]
    fn list() -> (Arc<LastSequence>, Arc<Snapshots>) {
        let sequence = Arc::new(LastSequence::new(SequenceNumber::new(1)));
        (sequence.clone(), Arc::new(Snapshots::new(sequence)))
    }

    /// A map from the number of a snapshot to its sequence number is the specification.
    #[cfg(not(loom))]
    #[test]
    fn released_snapshots_and_their_memory_are_independent_of_live_snapshots() {
        let mut state = 11u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let lists = [list(), list()];
        let mut live: Vec<(usize, u64, Vec<Arc<Snapshot>>)> = Vec::new();
        let (mut reused, mut last) = (0, std::ptr::null());
        for time in 0..20_000 {
            let at = below(live.len().max(1) as u64) as usize;
            match below(10) {
                0..3 => {
                    let list = below(8) as usize / 7;
                    let (sequence, snapshots) = &lists[list];
                    sequence.publish(SequenceNumber::new(sequence.visible().get() + below(2)));
                    let snapshot = Snapshots::take(snapshots, time);
                    assert_eq!(snapshot.unix_time(), time);
                    assert!(snapshot.belongs_to(sequence));
                    reused += u32::from(Arc::as_ptr(&snapshot) == last);
                    live.push((list, sequence.visible().get(), vec![snapshot]));
                }
                3 if !live.is_empty() => {
                    let clone = live[at].2[0].clone();
                    live[at].2.push(clone);
                }
                4..9 if !live.is_empty() => {
                    let snapshot = live[at].2.pop().unwrap();
                    last = Arc::as_ptr(&snapshot);
                    match below(8) {
                        0 => drop(snapshot),
                        _ => Snapshot::release(snapshot),
                    }
                    live.retain(|(_, _, references)| !references.is_empty());
                }
                _ => {}
            }
            for (list, (_, snapshots)) in lists.iter().enumerate() {
                let mut seqs: Vec<_> =
                    live.iter().filter(|(of, ..)| *of == list).map(|(_, seq, _)| *seq).collect();
                assert_eq!(snapshots.count(), seqs.len() as u64);
                seqs.sort_unstable();
                seqs.dedup();
                assert!(snapshots.stripes().as_slice().iter().map(|seq| seq.get()).eq(seqs));
            }
            assert!(live.iter().all(|(_, seq, references)| references[0].sequence().get() == *seq));
        }
        assert!(reused > 2_000, "{reused} snapshots reused the memory of the snapshot before");
    }

    /// Read options of the C library have a weak reference to their snapshot.
    #[cfg(not(loom))]
    #[test]
    fn a_weak_reference_never_becomes_another_snapshot() {
        let (sequence, snapshots) = list();
        let snapshot = Snapshots::take(&snapshots, 0);
        let weak = Arc::downgrade(&snapshot);
        Snapshot::release(snapshot);
        assert_eq!(snapshots.count(), 0);
        sequence.publish(SequenceNumber::new(5));
        let _newer = Snapshots::take(&snapshots, 0);
        assert!(weak.upgrade().is_none());
    }

    #[cfg(not(loom))]
    #[test]
    fn a_spare_is_no_snapshot() {
        let (_, snapshots) = list();
        Snapshot::release(Snapshots::take(&snapshots, 0));
        assert_eq!((snapshots.count(), snapshots.oldest()), (0, None));
        // The drop of the spare of another list releases nothing.
        let (_, other) = list();
        Snapshot::release(Snapshots::take(&other, 0));
        assert_eq!((snapshots.count(), other.count()), (0, 0));
        assert_eq!(Arc::strong_count(&snapshots), 1, "the spare of a closed database is dropped");
    }
}
