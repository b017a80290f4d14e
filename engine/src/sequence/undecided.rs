//! Sequence numbers in memtables and SST files whose transaction is not decided yet: the sections of the write-prepared
//! and write-unprepared policies.
//!
//! ```text
//!  sequence   1  2  3  [4  5]  6  7  8            4 and 5: a section; its transaction commits at 8
//!  reader     ............................7       sees 1 2 3 6 7
//!  reader     ...............................8    sees all
//! ```
//! A reader at `seq` sees an entry if the entry is at or below `seq`, and the transaction of the entry was committed at
//! or below `seq`. A reader takes `seq` and the list of undecided ranges together, so that no commit lies between them.
//! Each range keeps two sequence numbers as if snapshots held them: the one before the range, and the last of the range.
//! A compaction then merges nothing across the ends of the range, and drops nothing that a reader without the range
//! needs. A view keeps the ranges that it hides, also after their commit. The view of a transaction always shows the sections of
//! this transaction ([`OwnRanges`]).
//! Facts: RocksDB `utilities/transactions/write_prepared_txn_db.h`, which keeps a cache of commits instead.
//!
//! The lock is a leaf: no other lock is taken while it is held. Ranges are dropped after it is released.

use std::any::Any;

use base::SequenceNumber;

use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};

/// The decision of one transaction. All ranges of the transaction share it.
#[derive(Debug, Default)]
pub struct Decision {
    /// The sequence number from which readers see the transaction; 0 while the transaction is undecided.
    seq: AtomicU64,
}

impl Decision {
    /// Decides: readers at `seq` and later see the entries. Called before `seq` is published.
    pub(crate) fn decide(&self, seq: SequenceNumber) {
        self.seq.store(seq.get(), Ordering::SeqCst);
    }

    fn is_seen_at(&self, seq: SequenceNumber) -> bool {
        (1..=seq.get()).contains(&self.seq.load(Ordering::SeqCst))
    }
}

/// The sequence numbers of one section, both ends included.
pub struct UndecidedRange {
    first: SequenceNumber,
    last: SequenceNumber,
    decision: Arc<Decision>,
    /// What compactions must respect while a reader may miss the range.
    _keeps: Box<dyn Any + Send + Sync>,
}

impl UndecidedRange {
    pub(super) fn new(
        first: SequenceNumber,
        last: SequenceNumber,
        decision: Arc<Decision>,
        keeps: Box<dyn Any + Send + Sync>,
    ) -> Arc<Self> {
        base::invariant!(first <= last, "a section has a sequence number");
        Arc::new(UndecidedRange { first, last, decision, _keeps: keeps })
    }
}

/// The sequence numbers of the sections of one transaction, both ends included, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnRanges {
    sections: Vec<(SequenceNumber, SequenceNumber)>,
}

impl OwnRanges {
    /// Adds a section. Its sequence numbers are above all others.
    pub fn push(&mut self, first: SequenceNumber, last: SequenceNumber) {
        base::invariant!(first <= last && self.last() < first, "sections have ascending sequence numbers");
        self.sections.push((first, last));
    }

    /// Returns the number of sections.
    pub fn len(&self) -> usize {
        self.sections.len()
    }

    /// Returns true if there are no sections.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Returns the first sequence number of the oldest section; 0 if there are no sections.
    pub fn first(&self) -> SequenceNumber {
        self.sections.first().map_or(SequenceNumber::ZERO, |(first, _)| *first)
    }

    /// Returns the last sequence number of the newest section; 0 if there are no sections.
    pub fn last(&self) -> SequenceNumber {
        self.sections.last().map_or(SequenceNumber::ZERO, |(_, last)| *last)
    }

    /// Returns true if an entry with this sequence number belongs to a section.
    pub fn contains(&self, seq: SequenceNumber) -> bool {
        let after = self.sections.partition_point(|(first, _)| *first <= seq);
        after.checked_sub(1).is_some_and(|at| seq <= self.sections[at].1)
    }

    /// Returns the `count` oldest sections.
    pub fn oldest(&self, count: usize) -> OwnRanges {
        OwnRanges { sections: self.sections.iter().take(count).copied().collect() }
    }
}

/// Ranges by ascending sequence number.
type Ranges = Arc<Vec<Arc<UndecidedRange>>>;

/// The undecided ranges of a database.
#[derive(Default)]
pub struct Undecided {
    /// False if the policy puts only committed entries into memtables.
    enabled: AtomicBool,
    /// True if the list has ranges.
    any: AtomicBool,
    /// Counts removals from the list.
    removals: AtomicU64,
    list: Mutex<Ranges>,
}

impl Undecided {
    /// Makes readers take undecided ranges into account. Called once, before the first read.
    pub(crate) fn enable(&self) {
        self.enabled.store(true, Ordering::SeqCst);
    }

    /// Returns true if memtables and SST files may hold entries that are not committed.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Adds a range. Called before the entries of the range are visible. The list is copied only if a view has it: a
    /// transaction with thousands of sections adds each of them in place.
    pub(super) fn add(&self, range: Arc<UndecidedRange>) {
        let mut list = self.list.lock();
        let before = Arc::get_mut(&mut list).is_none().then(|| list.clone());
        if let Some(before) = &before {
            *list = Arc::new(before.iter().cloned().collect());
        }
        let Some(ranges) = Arc::get_mut(&mut list) else {
            base::invariant!(false, "a list of undecided ranges that was just made has a second owner");
            return;
        };
        let at = ranges.partition_point(|other| other.first < range.first);
        base::invariant!(
            at.checked_sub(1).is_none_or(|before| ranges[before].last < range.first),
            "an undecided range from {} overlaps the range before it",
            range.first
        );
        base::invariant!(
            ranges.get(at).is_none_or(|after| range.last < after.first),
            "an undecided range up to {} overlaps the range after it",
            range.last
        );
        ranges.insert(at, range);
        self.any.store(true, Ordering::SeqCst);
        drop(list);
        drop(before);
    }

    /// Removes the ranges of a transaction. Called after its decision was published.
    pub(crate) fn remove(&self, decision: &Arc<Decision>) {
        let mut list = self.list.lock();
        let ranges: Vec<_> =
            list.iter().filter(|range| !Arc::ptr_eq(&range.decision, decision)).cloned().collect();
        let is_empty = ranges.is_empty();
        self.removals.fetch_add(1, Ordering::SeqCst);
        let old = std::mem::replace(&mut *list, Arc::new(ranges));
        self.any.store(!is_empty, Ordering::SeqCst);
        drop(list);
        drop(old);
    }

    /// Returns the sequence number that `visible` loads, and the ranges that a reader at this number may have to
    /// hide. `None` means that the reader sees all entries up to the sequence number.
    #[inline]
    pub(super) fn view(
        &self,
        visible: impl Fn() -> SequenceNumber,
    ) -> (SequenceNumber, Option<Arc<Visibility>>) {
        if self.is_enabled() { self.view_of_list(visible) } else { (visible(), None) }
    }

    /// A range leaves the list after its commit is visible. So if no range leaves between the two loads of
    /// `removals`, every range whose commit is above the sequence number is still in the list.
    fn view_of_list(
        &self,
        visible: impl Fn() -> SequenceNumber,
    ) -> (SequenceNumber, Option<Arc<Visibility>>) {
        let removals = self.removals.load(Ordering::SeqCst);
        let seq = visible();
        if !self.any.load(Ordering::SeqCst) && self.removals.load(Ordering::SeqCst) == removals {
            return (seq, None);
        }
        // Look at the ranges under the lock. The caller can hold the lock of the snapshots, and the drop of the last copy of a range
        // takes that lock: the caller must not get a copy that it drops at once.
        let list = self.list.lock();
        let seq = visible();
        (seq, Visibility::new(seq, &list))
    }

    /// Returns what a reader at `seq` must hide, where `seq` is about to be published.
    pub(super) fn view_at(&self, seq: SequenceNumber) -> Option<Arc<Visibility>> {
        if !self.is_enabled() {
            return None;
        }
        Visibility::new(seq, &self.list.lock())
    }
}

/// Decides which entries a reader sees.
pub struct Visibility {
    seq: SequenceNumber,
    ranges: Ranges,
    /// The sections of the reader itself. The reader sees them, also above `seq`.
    own: Option<Arc<OwnRanges>>,
}

impl Visibility {
    /// Returns `None` if a reader at `seq` hides none of the ranges. Then no copy of the ranges is made.
    fn new(seq: SequenceNumber, ranges: &Ranges) -> Option<Arc<Self>> {
        base::invariant!(
            ranges.is_sorted_by(|a, b| a.last < b.first),
            "the undecided ranges of a reader at {seq} are out of order"
        );
        let hides = ranges.iter().any(|range| range.first <= seq && !range.decision.is_seen_at(seq));
        hides.then(|| Arc::new(Visibility { seq, ranges: ranges.clone(), own: None }))
    }

    /// Returns what a transaction with these sections sees at `seq`, if other readers see `others`.
    pub(super) fn with_own(
        seq: SequenceNumber,
        others: Option<&Arc<Visibility>>,
        own: Arc<OwnRanges>,
    ) -> Arc<Self> {
        let ranges = others.map(|others| others.ranges.clone()).unwrap_or_default();
        Arc::new(Visibility { seq, ranges, own: Some(own) })
    }

    /// Returns the sequence number of the reader.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// Returns true if the reader sees an entry with this sequence number.
    pub fn sees(&self, seq: SequenceNumber) -> bool {
        if self.own.as_ref().is_some_and(|own| own.contains(seq)) {
            return true;
        }
        if seq > self.seq {
            return false;
        }
        let behind = self.ranges.partition_point(|range| range.first <= seq);
        base::invariant!(
            behind == 0
                || behind == self.ranges.len()
                || self.ranges[behind - 1].first < self.ranges[behind].first,
            "the undecided ranges are out of order around the sequence number {seq}"
        );
        match behind.checked_sub(1).map(|at| &self.ranges[at]) {
            Some(range) if seq <= range.last => range.decision.is_seen_at(self.seq),
            _ => true,
        }
    }

    /// Returns a sequence number up to which the reader sees every entry. The reader may not see a newer entry.
    pub fn certain_up_to(&self) -> SequenceNumber {
        base::invariant!(
            self.ranges.iter().all(|range| range.first > SequenceNumber::ZERO),
            "an undecided range begins at the sequence number 0"
        );
        let hidden = self.ranges.iter().find(|range| !range.decision.is_seen_at(self.seq));
        hidden.map_or(self.seq, |range| self.seq.min(range.first.previous()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn range(first: u64, last: u64, decision: &Arc<Decision>) -> Arc<UndecidedRange> {
        UndecidedRange::new(
            SequenceNumber::new(first),
            SequenceNumber::new(last),
            decision.clone(),
            Box::new(()),
        )
    }

    #[test]
    fn reader_sees_a_range_from_its_commit_on() {
        let undecided = Undecided::default();
        undecided.enable();
        let decision = Arc::new(Decision::default());
        undecided.add(range(4, 5, &decision));
        let (seq, before) = undecided.view(|| SequenceNumber::new(7));
        let before = before.unwrap();
        assert_eq!((seq, before.certain_up_to()), (SequenceNumber::new(7), SequenceNumber::new(3)));
        decision.decide(SequenceNumber::new(8));
        let seen = |view: &Visibility| {
            (1..=9).filter(|seq| view.sees(SequenceNumber::new(*seq))).collect::<Vec<_>>()
        };
        assert_eq!(seen(&before), [1, 2, 3, 6, 7]);
        assert!(undecided.view(|| SequenceNumber::new(8)).1.is_none(), "all is seen from the commit on");
        undecided.remove(&decision);
        assert!(undecided.view(|| SequenceNumber::new(8)).1.is_none());
        assert_eq!(seen(&before), [1, 2, 3, 6, 7], "a view does not change");
    }

    #[test]
    fn transaction_sees_its_own_sections_above_its_snapshot() {
        let undecided = Undecided::default();
        undecided.enable();
        let (own, other) = (Arc::new(Decision::default()), Arc::new(Decision::default()));
        undecided.add(range(3, 4, &own));
        undecided.add(range(5, 5, &other));
        undecided.add(range(9, 10, &own));
        let mut ranges = OwnRanges::default();
        ranges.push(SequenceNumber::new(3), SequenceNumber::new(4));
        ranges.push(SequenceNumber::new(9), SequenceNumber::new(10));
        let (seq, others) = undecided.view(|| SequenceNumber::new(7));
        let seen = |own: OwnRanges| {
            let view = Visibility::with_own(seq, others.as_ref(), Arc::new(own));
            (1..=11).filter(|seq| view.sees(SequenceNumber::new(*seq))).collect::<Vec<_>>()
        };
        assert_eq!(seen(ranges.clone()), [1, 2, 3, 4, 6, 7, 9, 10]);
        assert_eq!(seen(ranges.oldest(1)), [1, 2, 3, 4, 6, 7]);
        assert_eq!(seen(OwnRanges::default()), [1, 2, 6, 7]);
    }

    #[test]
    fn list_is_copied_only_while_a_view_has_it() {
        let undecided = Undecided::default();
        undecided.enable();
        let decision = Arc::new(Decision::default());
        let list = |undecided: &Undecided| Arc::as_ptr(&*undecided.list.lock());
        undecided.add(range(1, 1, &decision));
        let first = list(&undecided);
        undecided.add(range(2, 2, &decision));
        assert_eq!(list(&undecided), first, "no view: in place");
        let (_, view) = undecided.view(|| SequenceNumber::new(2));
        undecided.add(range(3, 3, &decision));
        assert_ne!(list(&undecided), first);
        let view = view.unwrap();
        assert!(
            view.sees(SequenceNumber::ZERO) && !view.sees(SequenceNumber::new(2)),
            "a view does not change"
        );
        assert_eq!(view.ranges.len(), 2);
    }
}
