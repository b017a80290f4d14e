//! The range tombstones that a reader at one sequence number sees.
//!
//! Each source of a merge has a [`Coverage`]: the newest visible tombstone at a position, and the range in
//! which this stays the newest tombstone. [`Uncovered`] computes the range in which the answers of all
//! sources stay the same. An entry inside this range costs one comparison. Entries that a newer source covers
//! are skipped. If many such entries follow, a seek moves the covered source to the end of the tombstone.

use std::sync::Arc;

use base::error::Result;
use base::invariant::{FastPath, takes_slow_path};
use base::iter::InternalIterator;
use base::key::{self, InternalOrder, SequenceNumber};
use base::pinned::Pinned;
use base::stats::{PerfCounter, perf_add};
use mem::range_del::{Fragment, FragmentedTombstones};

use super::{before_user_key, lower_position, upper_position};
use crate::merging::Merging;
use crate::table_file::TableFile;
use crate::version::LevelFiles;

/// A range of positions with the same newest tombstone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Sequence number of the newest visible tombstone, or 0 if there is none.
    pub seq: SequenceNumber,
    /// The internal key at which the range begins, included. `None`: no bound.
    pub start: Option<Vec<u8>>,
    /// The internal key at which the range ends, excluded. `None`: no bound.
    pub end: Option<Vec<u8>>,
}

impl Cover {
    /// Returns a cover without a tombstone and without bounds.
    pub fn nothing() -> Self {
        Cover::default()
    }

    fn holds(&self, order: &InternalOrder, position: &[u8]) -> bool {
        self.start.as_ref().is_none_or(|s| order.compare(s, position).is_le())
            && self.end.as_ref().is_none_or(|e| order.compare(position, e).is_lt())
    }
}

/// The range tombstones of one source: of a memtable, of an SST file within its bounds, or of a level.
pub trait Coverage {
    /// Returns the newest tombstone at the position `internal_key`, and the range in which the answer is the
    /// same.
    ///
    /// # Errors
    /// The errors of opening an SST file to read its tombstones.
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover>;
}

impl<C: Coverage + ?Sized> Coverage for Box<C> {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        (**self).cover(internal_key)
    }
}

/// The range tombstones of one memtable, or of one SST file within its bounds.
pub struct FragmentCover {
    order: InternalOrder,
    tombstones: Arc<FragmentedTombstones>,
    snapshot: SequenceNumber,
    /// With timestamps: the reader does not see tombstones after this timestamp.
    timestamp: Option<Arc<[u8]>>,
    /// The positions (see the parent module) between which the tombstones are valid.
    bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl FragmentCover {
    /// Makes the cover of a memtable for a reader at `snapshot`.
    pub fn of_memtable(
        order: InternalOrder,
        tombstones: Arc<FragmentedTombstones>,
        snapshot: SequenceNumber,
    ) -> Self {
        FragmentCover { order, tombstones, snapshot, timestamp: None, bounds: None }
    }

    /// Makes the cover of an SST file. Its tombstones are valid only between its smallest and largest
    /// internal key.
    pub fn of_table(
        order: InternalOrder,
        tombstones: Arc<FragmentedTombstones>,
        snapshot: SequenceNumber,
        file: &TableFile,
    ) -> Self {
        let bounds = Some((lower_position(&file.smallest), upper_position(&file.largest)));
        FragmentCover { order, tombstones, snapshot, timestamp: None, bounds }
    }

    /// Sets the timestamp of the reader.
    #[must_use]
    pub fn at_timestamp(mut self, timestamp: Option<Arc<[u8]>>) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Returns the newest tombstone of a fragment that the reader sees, or 0 if it sees none.
    fn newest(&self, fragment: &Fragment<'_>) -> SequenceNumber {
        let Some(timestamp) = &self.timestamp else {
            return fragment.newest_at(self.snapshot).unwrap_or(SequenceNumber::ZERO);
        };
        let sees = |i: usize| {
            fragment.seqs[i] <= self.snapshot
                && self.order.user.compare_timestamp(fragment.timestamp(i), timestamp).is_le()
        };
        (0..fragment.seqs.len()).find(|&i| sees(i)).map_or(SequenceNumber::ZERO, |i| fragment.seqs[i])
    }

    /// Returns the cover at the position without the bounds of the file.
    fn unbounded(&self, position: &[u8]) -> Cover {
        let ts = self.order.user.timestamp_size();
        let user = key::user_key(position);
        let without_timestamp = key::without_timestamp(user, ts);
        let at = self.tombstones.first_ending_after(without_timestamp);
        let place = |user: &[u8]| before_user_key(user, ts);
        if at < self.tombstones.len() {
            let fragment = self.tombstones.fragment(at);
            let start = place(fragment.start);
            if self.order.compare(&start, position).is_le() {
                let seq = self.newest(&fragment);
                return Cover { seq, start: Some(start), end: Some(place(fragment.end)) };
            }
            let before = at.checked_sub(1).map(|i| place(self.tombstones.fragment(i).end));
            return Cover { seq: SequenceNumber::ZERO, start: before, end: Some(start) };
        }
        let before = at.checked_sub(1).map(|i| place(self.tombstones.fragment(i).end));
        Cover { seq: SequenceNumber::ZERO, start: before, end: None }
    }
}

impl Coverage for FragmentCover {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        if self.tombstones.is_empty() {
            return Ok(Cover::nothing());
        }
        let Some((lower, upper)) = &self.bounds else { return Ok(self.unbounded(internal_key)) };
        if self.order.compare(internal_key, lower).is_lt() {
            return Ok(Cover { seq: SequenceNumber::ZERO, start: None, end: Some(lower.clone()) });
        }
        if self.order.compare(internal_key, upper).is_ge() {
            return Ok(Cover { seq: SequenceNumber::ZERO, start: Some(upper.clone()), end: None });
        }
        let mut cover = self.unbounded(internal_key);
        if cover.start.as_ref().is_none_or(|s| self.order.compare(s, lower).is_lt()) {
            cover.start = Some(lower.clone());
        }
        if cover.end.as_ref().is_none_or(|e| self.order.compare(e, upper).is_gt()) {
            cover.end = Some(upper.clone());
        }
        base::invariant!(
            cover.end.as_ref().is_some_and(|end| self.order.compare(internal_key, end).is_lt()),
            "the cover of a key ends before the key"
        );
        Ok(cover)
    }
}

/// Opens an SST file to read its range tombstones. Implemented by a caller that may read files. `None`: the
/// file has none.
pub trait OpenTombstones {
    /// Opens the SST file and returns its range tombstones. `None`: the file has no range tombstone.
    ///
    /// # Errors
    /// The errors of opening and reading the SST file.
    fn open(&mut self, file: &TableFile) -> Result<Option<Arc<FragmentedTombstones>>>;
}

impl<F: FnMut(&TableFile) -> Result<Option<Arc<FragmentedTombstones>>>> OpenTombstones for F {
    fn open(&mut self, file: &TableFile) -> Result<Option<Arc<FragmentedTombstones>>> {
        self(file)
    }
}

/// The range tombstones of a sorted level. An SST file is opened only when a position lies in it.
pub struct LevelCover<O> {
    order: InternalOrder,
    files: Arc<LevelFiles>,
    snapshot: SequenceNumber,
    timestamp: Option<Arc<[u8]>>,
    open: O,
    /// The file that was asked last.
    current: Option<(usize, FragmentCover)>,
}

impl<O: OpenTombstones> LevelCover<O> {
    /// Makes the cover of one level. `open` opens the range tombstones of one SST file when a lookup needs them.
    pub fn new(order: InternalOrder, files: Arc<LevelFiles>, snapshot: SequenceNumber, open: O) -> Self {
        LevelCover { order, files, snapshot, timestamp: None, open, current: None }
    }

    /// Sets the timestamp of the reader.
    #[must_use]
    pub fn at_timestamp(mut self, timestamp: Option<Arc<[u8]>>) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Returns the cover of the file at `index`, or `None` if it has no range tombstones. Opens the file
    /// unless its statistics show that it has none.
    fn at(&mut self, index: usize) -> Result<Option<&mut FragmentCover>> {
        if self.current.as_ref().is_none_or(|(i, _)| *i != index) {
            let Some(file) = self.files.get(index) else { return Ok(None) };
            if file.stats().is_some_and(|s| s.num_range_deletions == 0) {
                return Ok(None);
            }
            let Some(tombstones) = self.open.open(file)?.filter(|t| !t.is_empty()) else { return Ok(None) };
            let cover = FragmentCover::of_table(self.order.clone(), tombstones, self.snapshot, file)
                .at_timestamp(self.timestamp.clone());
            self.current = Some((index, cover));
        }
        Ok(self.current.as_mut().map(|(_, cover)| cover))
    }
}

impl<O: OpenTombstones> Coverage for LevelCover<O> {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        // Find the first file that does not end before the position. The upper position of a file may be just
        // after its largest key. So for positions in between, the file before is the right file.
        let mut index = self.files.find_internal(&self.order, internal_key);
        if let Some(before) = index.checked_sub(1)
            && let Some(file) = self.files.get(before)
            && self.order.compare(internal_key, &upper_position(&file.largest)).is_lt()
        {
            index = before;
        }
        let before = index.checked_sub(1).and_then(|i| self.files.get(i)).map(|f| upper_position(&f.largest));
        let Some(file) = self.files.get(index).cloned() else {
            return Ok(Cover { seq: SequenceNumber::ZERO, start: before, end: None });
        };
        let lower = lower_position(&file.smallest);
        if self.order.compare(internal_key, &lower).is_lt() {
            return Ok(Cover { seq: SequenceNumber::ZERO, start: before, end: Some(lower) });
        }
        let mut cover = match self.at(index)? {
            Some(cover) => cover.cover(internal_key)?,
            None => Cover {
                seq: SequenceNumber::ZERO,
                start: Some(lower),
                end: Some(upper_position(&file.largest)),
            },
        };
        // At a largest key with sequence number 0 the tombstones of this file are no longer valid, but the
        // next file may have tombstones.
        if cover.end.as_ref().is_none_or(|end| self.order.compare(end, internal_key).is_le()) {
            cover.end = self.files.get(index + 1).map(|next| lower_position(&next.smallest));
        }
        Ok(cover)
    }
}

/// After this number of covered entries in succession, skip by a seek instead of steps.
const STEPS_BEFORE_SEEK: u32 = 4;

/// A merge without the entries that range tombstones cover.
pub struct Uncovered<I, C> {
    merging: Merging<I>,
    /// For each source, its range tombstones, in the order of the sources. Empty: no source has tombstones,
    /// and no entry is checked.
    covers: Vec<C>,
    /// The last cover of each source. It is true within its range.
    now: Vec<Cover>,
    /// True if every source has returned a cover.
    asked: bool,
    /// For each source, the newest tombstone of this source and all newer sources.
    newest: Vec<SequenceNumber>,
    /// The range in which all of `now` is true, as internal keys.
    from: Option<Vec<u8>>,
    until: Option<Vec<u8>>,
    /// True if the common range was computed since the last seek.
    known: bool,
    failed: Option<base::error::Error>,
    /// Number of skipped entries.
    pub skipped: u64,
    /// Number of seeks to the end of a tombstone.
    pub reseeks: u64,
}

impl<I: InternalIterator, C: Coverage> Uncovered<I, C> {
    /// `covers` has one entry for each source of the merge, in the order of the sources, or no entry.
    pub fn new(merging: Merging<I>, covers: Vec<C>) -> Self {
        base::invariant!(
            covers.is_empty() || covers.len() == merging.sources().len(),
            "{} covers for {} sources",
            covers.len(),
            merging.sources().len()
        );
        let n = covers.len();
        Uncovered {
            merging,
            covers,
            now: vec![Cover::nothing(); n],
            asked: false,
            newest: vec![SequenceNumber::ZERO; n],
            from: None,
            until: None,
            known: false,
            failed: None,
            skipped: 0,
            reseeks: 0,
        }
    }

    /// Returns the merging iterator below the range tombstones.
    pub fn merging(&self) -> &Merging<I> {
        &self.merging
    }

    /// Moves, in the direction of the merge, to an entry that no tombstone covers.
    #[inline]
    fn settle(&mut self) {
        if !self.covers.is_empty() {
            self.skip_covered();
        }
    }

    fn skip_covered(&mut self) {
        let mut steps = 0;
        while self.merging.valid() {
            if !self.stretch_holds()
                && let Err(error) = self.take_covers()
            {
                self.failed = Some(error);
                return;
            }
            let source = self.merging.current_source();
            if self.newest[source] <= key::sequence(self.merging.key()) {
                return;
            }
            self.skipped += 1;
            steps += 1;
            if steps < STEPS_BEFORE_SEEK || !self.jump(source) {
                if self.merging.is_backward() { self.merging.prev() } else { self.merging.next() }
            }
        }
    }

    /// Moves the covered source to the end of the tombstone of a newer source. Every entry of the covered
    /// source before that end is older than the tombstone.
    fn jump(&mut self, source: usize) -> bool {
        let seq = self.newest[source];
        base::invariant!(seq > SequenceNumber::ZERO, "no range tombstone covers the entry");
        let Some(by) = self.now[..source].iter().position(|c| c.seq == seq) else { return false };
        let cover = &self.now[by];
        let bound = if self.merging.is_backward() { &cover.start } else { &cover.end };
        let Some(bound) = bound else { return false };
        self.reseeks += 1;
        perf_add(PerfCounter::InternalRangeDelReseekCount, 1);
        self.merging.skip_current_to(bound);
        true
    }

    #[inline]
    fn stretch_holds(&self) -> bool {
        let (key, order) = (self.merging.key(), self.merging.order());
        // The current entry came from inside the range, so only the end in the direction of the merge can be
        // crossed.
        self.known
            && !takes_slow_path(FastPath::TombstoneRange, key::user_key(key))
            && if self.merging.is_backward() {
                self.from.as_ref().is_none_or(|from| order.compare(from, key).is_le())
            } else {
                self.until.as_ref().is_none_or(|until| order.compare(key, until).is_lt())
            }
    }

    /// Asks the sources whose range has ended for a new cover, and computes the common range.
    fn take_covers(&mut self) -> Result<()> {
        let (mut from, mut until): (Option<&[u8]>, Option<&[u8]>) = (None, None);
        let order = self.merging.order();
        let key = self.merging.key();
        for (cover, now) in self.covers.iter_mut().zip(&mut self.now) {
            if !self.asked || !now.holds(order, key) {
                *now = cover.cover(key)?;
            }
        }
        self.asked = true;
        let mut newest = SequenceNumber::ZERO;
        for (i, now) in self.now.iter().enumerate() {
            newest = newest.max(now.seq);
            self.newest[i] = newest;
            if let Some(start) = now.start.as_deref()
                && from.is_none_or(|from| order.compare(start, from).is_gt())
            {
                from = Some(start);
            }
            if let Some(end) = now.end.as_deref()
                && until.is_none_or(|until| order.compare(end, until).is_lt())
            {
                until = Some(end);
            }
        }
        base::invariant!(
            self.newest.is_sorted(),
            "a range tombstone of a newer source does not cover an older source"
        );
        keep(&mut self.from, from);
        keep(&mut self.until, until);
        self.known = true;
        Ok(())
    }

    /// Positions every source by `seek`. If tombstones of newer sources cover the target, the older sources
    /// are positioned at the end of these tombstones instead.
    fn seek_by(&mut self, target: &[u8], seek: fn(&mut I, &[u8])) {
        if self.covers.is_empty() {
            return self.merging.seek_forward_with(|_, source| seek(source, target));
        }
        self.forget();
        base::invariant!(
            self.covers.len() == self.now.len(),
            "{} covers have {} answers",
            self.covers.len(),
            self.now.len()
        );
        let mut at = target.to_vec();
        let mut moved = false;
        let order = self.merging.order().clone();
        let asked = self.asked;
        let (covers, now) = (&mut self.covers, &mut self.now);
        let (failed, reseeks) = (&mut self.failed, &mut self.reseeks);
        self.merging.seek_forward_with(|i, source| {
            // After a tombstone moved the target, the prefix of the target is not the prefix of the caller.
            // So no prefix filter is used.
            if moved {
                source.seek_total(&at)
            } else {
                seek(source, &at)
            }
            if !asked || !now[i].holds(&order, &at) {
                match covers[i].cover(&at) {
                    Ok(cover) => now[i] = cover,
                    Err(error) => {
                        *failed = Some(error);
                        return;
                    }
                }
            }
            if now[i].seq > SequenceNumber::ZERO
                && let Some(end) = &now[i].end
                && order.compare(end, &at).is_gt()
            {
                *reseeks += 1;
                perf_add(PerfCounter::InternalRangeDelReseekCount, 1);
                at.clone_from(end);
                moved = true;
            }
        });
        if self.failed.is_none() {
            self.asked = true;
            self.settle();
        }
    }

    /// Forgets the common range. At the next entry each source is asked again, unless the entry is in the
    /// range of its last cover.
    fn forget(&mut self) {
        self.failed = None;
        self.known = false;
    }
}

fn keep(room: &mut Option<Vec<u8>>, bytes: Option<&[u8]>) {
    match (room.as_mut(), bytes) {
        (Some(room), Some(bytes)) => {
            room.clear();
            room.extend_from_slice(bytes);
        }
        (_, bytes) => *room = bytes.map(<[u8]>::to_vec),
    }
}

impl<I: InternalIterator, C: Coverage> InternalIterator for Uncovered<I, C> {
    #[inline]
    fn valid(&self) -> bool {
        self.merging.valid() && self.failed.is_none()
    }

    fn seek_to_first(&mut self) {
        self.merging.seek_to_first();
        self.forget();
        self.settle();
    }

    fn seek_to_last(&mut self) {
        self.merging.seek_to_last();
        self.forget();
        self.settle();
    }

    fn seek(&mut self, target: &[u8]) {
        self.seek_by(target, I::seek);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.merging.seek_for_prev(target);
        self.forget();
        self.settle();
    }

    fn seek_total(&mut self, target: &[u8]) {
        self.seek_by(target, I::seek_total);
    }

    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.merging.seek_total_for_prev(target);
        self.forget();
        self.settle();
    }

    #[inline]
    fn next(&mut self) {
        self.merging.next();
        self.settle();
    }

    #[inline]
    fn prev(&mut self) {
        self.merging.prev();
        self.settle();
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.merging.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.merging.value()
    }

    fn status(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.merging.status(),
        }
    }

    fn pin_value(&self) -> Pinned {
        self.merging.pin_value()
    }

    fn pin_key(&self) -> Option<Pinned> {
        self.merging.pin_key()
    }

    fn value_shown(&mut self) {
        self.merging.value_shown();
    }
}
