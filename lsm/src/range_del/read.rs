//! Tombstones as readers at one sequence number see them.
//!
//! Each source of a merge has a [`Coverage`] beside it: the newest visible tombstone over a position,
//! and the stretch over which that stays so. [`Uncovered`] keeps, for all sources together, the stretch
//! in which nothing changes; a row inside it costs one comparison, and rows that a newer source covers
//! are left out, by a jump of the covered source to the tombstone's end where many follow.

use std::sync::Arc;

use base::error::Result;
use base::iter::InternalIterator;
use base::key::{self, InternalOrder, SequenceNumber};
use base::pinned::Pinned;
use base::stats::{PerfCounter, perf_add};
use mem::range_del::{Fragment, FragmentedTombstones};

use super::{before_user_key, lower_position, upper_position};
use crate::file_meta::FileMetaData;
use crate::merging::Merging;
use crate::version::LevelFiles;

/// A stretch of positions with one newest tombstone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Newest visible tombstone's sequence number; 0 where there is none.
    pub seq: SequenceNumber,
    /// Internal keys where the stretch begins (inclusive) and ends (exclusive); `None`: unbounded.
    pub start: Option<Vec<u8>>,
    /// The internal key at which the range ends, excluded. `None`: no bound.
    pub end: Option<Vec<u8>>,
}

impl Cover {
    /// Nothing covered anywhere.
    pub fn nothing() -> Self {
        Cover::default()
    }

    fn holds(&self, order: &InternalOrder, position: &[u8]) -> bool {
        self.start.as_ref().is_none_or(|s| order.compare(s, position).is_le())
            && self.end.as_ref().is_none_or(|e| order.compare(position, e).is_lt())
    }
}

/// One source's tombstones: a memtable's, a table's cut to the table's bounds, or a level's.
pub trait Coverage {
    /// What covers the position `internal_key`, and over which stretch that stays so.
    ///
    /// # Errors
    /// Those of opening a table to learn its tombstones.
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover>;
}

impl<C: Coverage + ?Sized> Coverage for Box<C> {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        (**self).cover(internal_key)
    }
}

/// The tombstones of one memtable, or of one table inside its bounds.
pub struct FragmentCover {
    order: InternalOrder,
    tombstones: Arc<FragmentedTombstones>,
    snapshot: SequenceNumber,
    /// With timestamps: tombstones after this one are not seen.
    timestamp: Option<Arc<[u8]>>,
    /// Positions (see the parent module) between which the tombstones count.
    bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl FragmentCover {
    /// A memtable's, for a reader at `snapshot`.
    pub fn of_memtable(
        order: InternalOrder,
        tombstones: Arc<FragmentedTombstones>,
        snapshot: SequenceNumber,
    ) -> Self {
        FragmentCover { order, tombstones, snapshot, timestamp: None, bounds: None }
    }

    /// A table's, which count only between its smallest and largest internal key.
    pub fn of_table(
        order: InternalOrder,
        tombstones: Arc<FragmentedTombstones>,
        snapshot: SequenceNumber,
        file: &FileMetaData,
    ) -> Self {
        let bounds = Some((lower_position(&file.smallest), upper_position(&file.largest)));
        FragmentCover { order, tombstones, snapshot, timestamp: None, bounds }
    }

    /// For a reader at a timestamp.
    #[must_use]
    pub fn at_timestamp(mut self, timestamp: Option<Arc<[u8]>>) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// The newest tombstone of a fragment that the reader sees; 0 if it sees none.
    fn newest(&self, fragment: &Fragment<'_>) -> SequenceNumber {
        let Some(timestamp) = &self.timestamp else {
            return fragment.newest_at(self.snapshot).unwrap_or(0);
        };
        let sees = |i: usize| {
            fragment.seqs[i] <= self.snapshot
                && self.order.user.compare_timestamp(fragment.timestamp(i), timestamp).is_le()
        };
        (0..fragment.seqs.len()).find(|&i| sees(i)).map_or(0, |i| fragment.seqs[i])
    }

    /// The stretch around the position by the tombstones alone.
    fn unbounded(&self, position: &[u8]) -> Cover {
        let ts = self.order.user.timestamp_size();
        let user = key::user_key(position);
        let without_timestamp = &user[..user.len().saturating_sub(ts)];
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
            return Cover { seq: 0, start: before, end: Some(start) };
        }
        let before = at.checked_sub(1).map(|i| place(self.tombstones.fragment(i).end));
        Cover { seq: 0, start: before, end: None }
    }
}

impl Coverage for FragmentCover {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        if self.tombstones.is_empty() {
            return Ok(Cover::nothing());
        }
        let Some((lower, upper)) = &self.bounds else { return Ok(self.unbounded(internal_key)) };
        if self.order.compare(internal_key, lower).is_lt() {
            return Ok(Cover { seq: 0, start: None, end: Some(lower.clone()) });
        }
        if self.order.compare(internal_key, upper).is_ge() {
            return Ok(Cover { seq: 0, start: Some(upper.clone()), end: None });
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

/// Opens a table to learn its tombstones: handed in by whoever may read files. `None`: it has none.
pub trait OpenTombstones {
    /// # Errors
    /// Those of opening and reading the table.
    fn open(&mut self, file: &FileMetaData) -> Result<Option<Arc<FragmentedTombstones>>>;
}

impl<F: FnMut(&FileMetaData) -> Result<Option<Arc<FragmentedTombstones>>>> OpenTombstones for F {
    fn open(&mut self, file: &FileMetaData) -> Result<Option<Arc<FragmentedTombstones>>> {
        self(file)
    }
}

/// The tombstones of a sorted level; tables are asked only when a position lies in them.
pub struct LevelCover<O> {
    order: InternalOrder,
    files: Arc<LevelFiles>,
    snapshot: SequenceNumber,
    timestamp: Option<Arc<[u8]>>,
    open: O,
    /// The file asked last.
    current: Option<(usize, FragmentCover)>,
}

impl<O: OpenTombstones> LevelCover<O> {
    /// Makes the cover of one level. `open` opens the range tombstones of one SST file when a look-up needs them.
    pub fn new(order: InternalOrder, files: Arc<LevelFiles>, snapshot: SequenceNumber, open: O) -> Self {
        LevelCover { order, files, snapshot, timestamp: None, open, current: None }
    }

    /// For a reader at a timestamp.
    #[must_use]
    pub fn at_timestamp(mut self, timestamp: Option<Arc<[u8]>>) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// The file at `index` has tombstones or not; opens it unless its statistics are known.
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
        // The first file that the position is not past; its upper position may lie just past its
        // largest key, so the file before is the right one for positions between the two.
        let mut index = self.files.find_internal(&self.order, internal_key);
        if let Some(before) = index.checked_sub(1)
            && let Some(file) = self.files.get(before)
            && self.order.compare(internal_key, &upper_position(&file.largest)).is_lt()
        {
            index = before;
        }
        let before = index.checked_sub(1).and_then(|i| self.files.get(i)).map(|f| upper_position(&f.largest));
        let Some(file) = self.files.get(index).cloned() else {
            return Ok(Cover { seq: 0, start: before, end: None });
        };
        let lower = lower_position(&file.smallest);
        if self.order.compare(internal_key, &lower).is_lt() {
            return Ok(Cover { seq: 0, start: before, end: Some(lower) });
        }
        let mut cover = match self.at(index)? {
            Some(cover) => cover.cover(internal_key)?,
            None => Cover { seq: 0, start: Some(lower), end: Some(upper_position(&file.largest)) },
        };
        // At a largest key of sequence number 0 the table's own tombstones have ceased, but not the level's.
        if cover.end.as_ref().is_none_or(|end| self.order.compare(end, internal_key).is_le()) {
            cover.end = self.files.get(index + 1).map(|next| lower_position(&next.smallest));
        }
        Ok(cover)
    }
}

/// Rows that a source hides are skipped by stepping until so many came in a row; then by a seek.
const STEPS_BEFORE_SEEK: u32 = 4;

/// A merge without the rows that range tombstones cover.
pub struct Uncovered<I, C> {
    merging: Merging<I>,
    /// By source, newest first. Empty: there are no tombstones anywhere, and nothing is checked.
    covers: Vec<C>,
    /// The covers that the sources told last: true of their stretches wherever the current row is.
    now: Vec<Cover>,
    /// Whether every source has told one.
    asked: bool,
    /// For each source, the newest tombstone among it and the newer sources.
    newest: Vec<SequenceNumber>,
    /// The stretch in which `now` holds: internal keys.
    from: Option<Vec<u8>>,
    until: Option<Vec<u8>>,
    /// Whether the common stretch was taken since the last positioning.
    known: bool,
    failed: Option<base::error::Error>,
    /// Rows left out.
    pub skipped: u64,
    /// Jumps past a tombstone's end.
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
            newest: vec![0; n],
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

    /// Returns the merging iterator below the range tombstones.
    pub fn merging_mut(&mut self) -> &mut Merging<I> {
        &mut self.merging
    }

    /// Goes on, in the direction of travel, to a row that nothing covers.
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

    /// Moves the covered source past the end of the tombstone of a newer source that covers it: every
    /// row of it in between is older than the tombstone.
    fn jump(&mut self, source: usize) -> bool {
        let seq = self.newest[source];
        base::invariant!(seq > 0, "no range tombstone covers the entry");
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
        // Rows come from inside the stretch, so only the end they travel towards can be crossed.
        self.known
            && if self.merging.is_backward() {
                self.from.as_ref().is_none_or(|from| order.compare(from, key).is_le())
            } else {
                self.until.as_ref().is_none_or(|until| order.compare(key, until).is_lt())
            }
    }

    /// Asks those sources whose stretch has ended, and narrows the common stretch.
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
        let mut newest = 0;
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

    /// Every source by `seek`, older ones not at the target but past the tombstones of newer ones over it.
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
            // No filter is asked for a prefix that only a tombstone names.
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
            if now[i].seq > 0
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

    /// Forgets the common stretch: at the next row each source is asked unless its own is around it.
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
