//! Turns internal entries into the keys of the application: each key once, as one reader sees it, in both
//! directions.
//!
//! ```text
//!  internal   a#9,SET  b#7,DEL  b#3,SET  c#8,MERGE  c#2,SET  d#50,SET        reader at #20
//!  user       a                          c (merged)
//! ```
//! In the forward direction, the source stands on the entry that is shown, so key and value are views into the
//! source. Only a merge reads further. An entry with sequence number 0 has no older entry of its key after it, so
//! `next` need not copy the key: after a full compaction, a scan copies no byte. In the backward direction, the
//! entries of a key come oldest first, and the source has read past the shown key. So the key is copied, and a
//! short value too. The behaviour follows RocksDB `db/db_iter.cc`.

mod backward;
mod blob;
mod empty;
mod forward;
mod park;
mod search;
#[cfg(all(test, not(shuttle)))]
mod tests;

use std::cell::Cell;
use std::cmp::Ordering;

use base::invariant::INVARIANTS;
use base::iter::{Direction, InternalIterator};
use base::key::{self, SequenceNumber, ValueType, pack};
use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Kind, Pinned, Result, Subcode};

use super::convert::Converter;
use super::keys::{MAX_TS, MIN_TS, prefix_of, seek_key, without_timestamp};
use super::skip::{LOOK_FIRST, RangeSkipper};
use super::view::View;
use super::watch::Watch;
use crate::source::resolve::{self, Found};
pub use park::{park, parked_memory};
use search::{Search, ShownAt};

/// Runs a part of a seek, and adds its time to a counter of the thread's perf context.
#[inline]
fn timed(counter: PerfCounter, part: impl FnOnce()) {
    let _time = PerfTimer::start(counter);
    part();
}

/// Walks over the keys that one reader sees. [`Search`] finds them.
pub struct Walk<I> {
    search: Search<I>,
    direction: Direction,
}

impl<I: InternalIterator> Walk<I> {
    /// Makes a walk that is not valid before it is positioned. `view` says which entries the reader sees.
    #[inline]
    pub fn new(source: I, view: View) -> Self {
        Walk { search: Search::new(source, view), direction: Direction::Forward }
    }

    /// Sets the source. The walk is not valid until it is positioned.
    pub fn set_source(&mut self, source: I) {
        self.search.source = source;
        self.search.valid = false;
    }

    /// Returns the sequence number up to which range tombstones are visible.
    pub fn seq(&self) -> SequenceNumber {
        self.search.view.visibility.as_ref().map_or(self.search.view.seq, |visibility| visibility.sequence())
    }

    /// Returns the sequence number of the reader. With a visibility, the reader may also see newer entries.
    pub fn snapshot_seq(&self) -> SequenceNumber {
        self.search.view.seq
    }

    /// Counts hidden entries of the active memtable from now on.
    pub fn watch(&mut self, watch: Option<Box<Watch>>) {
        self.search.watch = watch;
    }

    /// Converts runs of tombstones to range tombstones from now on.
    pub fn convert(&mut self, convert: Option<Box<Converter>>) {
        self.search.convert = convert;
    }

    /// Skips empty key ranges from now on.
    pub fn skip_ranges(&mut self, skipper: Option<RangeSkipper>) {
        self.search.empty.look_at = if skipper.is_some() { LOOK_FIRST } else { u64::MAX };
        self.search.empty.skipper = skipper;
    }

    /// Returns true if the iterator counts or converts hidden entries. The iterator then visits each hidden entry and skips no
    /// range of deleted keys.
    pub fn follows_hidden(&self) -> bool {
        self.search.watch.is_some() || self.search.convert.is_some()
    }

    /// Reports a move, or with `sought` a positioning call, to the watch.
    #[cold]
    pub fn watch_step(&mut self, sought: bool) {
        if let Some(watch) = &mut self.search.watch {
            watch.step(sought);
        }
    }

    /// Reports to the source that the application sees the current entry: see [`InternalIterator::value_shown`].
    pub fn value_shown(&mut self) {
        if self.search.valid {
            self.search.source.value_shown();
        }
    }

    /// Returns the number of hidden entries that were skipped since the last call.
    pub fn take_skips(&mut self) -> u64 {
        std::mem::take(&mut self.search.counts.skips)
    }

    /// Returns the number of seeks in place of many steps since the last call.
    pub fn take_reseeks(&mut self) -> u64 {
        std::mem::take(&mut self.search.counts.reseeks)
    }

    /// Returns true if the walk is at a key. False at both ends, after an error, and before the first
    /// positioning call.
    #[inline]
    pub fn valid(&self) -> bool {
        self.search.valid
    }

    /// Returns true if damage or a failed file-system call ended the iteration: no positioning call continues it. A
    /// merge operator that fails is an error of one key only.
    #[inline]
    pub fn is_over(&self) -> bool {
        let ends = |error: &Error| {
            matches!(error.kind(), Kind::Corruption | Kind::IoError)
                && error.subcode() != Subcode::MergeOperatorFailed
        };
        self.search.error.as_ref().is_some_and(ends)
    }

    /// # Errors
    /// The error that ended the iteration. It stays until the next positioning call.
    pub fn status(&self) -> Result<()> {
        match &self.search.error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns the user key without timestamp. Empty if the walk is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let full = self.search.full_key();
        if self.search.timestamp_size == 0 {
            full
        } else {
            key::without_timestamp(full, self.search.timestamp_size)
        }
    }

    /// Returns the timestamp of the shown entry. Empty if the column family has no timestamps.
    pub fn timestamp(&self) -> &[u8] {
        key::timestamp(self.search.full_key(), self.search.timestamp_size)
    }

    /// Returns the value type of the entry that is shown. With `iter_start_ts`, this can be a tombstone or a merge
    /// operand.
    pub fn value_type(&self) -> Option<ValueType> {
        if !self.search.valid {
            return None;
        }
        ValueType::from_u8(self.search.trailer() as u8)
    }

    /// Returns the value; for an entity, its default column. Empty if the walk is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let stored = self.search.stored();
        if !self.search.entity {
            return stored;
        }
        // The entity was decoded when the walk reached the entry, so this does not fail.
        format::wide::default_column(stored).map(|column| column.value).unwrap_or_default()
    }

    /// Returns the encoded form of a wide-column entity; `None` if the value is no entity.
    pub fn entity(&self) -> Option<&[u8]> {
        (self.search.valid && self.search.entity).then(|| self.search.stored())
    }

    /// Returns the value as a view that stays valid after the next move. Copies only if the memory of the source
    /// cannot be held.
    pub fn pin_value(&self) -> Pinned {
        match self.pin_found() {
            Found::Value(value) => value,
            Found::Entity(entity) => {
                resolve::default_column(entity).unwrap_or_else(|_| Pinned::from_vec(Vec::new()))
            }
        }
    }

    /// Returns the stored value as a view that stays valid after the next move. Empty if the walk is not valid.
    pub fn pin_found(&self) -> Found {
        if !self.search.valid {
            return Found::Value(Pinned::from_vec(Vec::new()));
        }
        let stored = match self.search.shown_at {
            ShownAt::Source => {
                let len = self.search.stored().len();
                self.search.source.pin_value().slice(0..len)
            }
            ShownAt::Saved => self.search.held.pinned(),
            ShownAt::Unprepared => Pinned::from_vec(Vec::new()),
        };
        if self.search.entity { Found::Entity(stored) } else { Found::Value(stored) }
    }

    /// Returns the user key without timestamp as a view that stays valid after the next move, and true if nothing
    /// was copied.
    pub fn pin_key(&self) -> (Pinned, bool) {
        let held = (self.search.valid && self.search.shown_at == ShownAt::Source)
            .then(|| self.search.source.pin_key())
            .flatten();
        match held {
            Some(internal) => (internal.slice(0..self.key().len()), true),
            None => (Pinned::copy(self.key()), false),
        }
    }

    /// Reads the current value, if it is in a blob file and was not read yet. Returns true if the walk then has a
    /// value. After an error, the walk is not valid and keeps the error.
    pub fn prepare_value(&mut self) -> bool {
        self.search.prepare_value()
    }

    /// Returns true if the value is a view into the memory of the source.
    pub fn value_in_place(&self) -> bool {
        self.search.valid && self.search.shown_at == ShownAt::Source
    }

    /// Moves to the first visible key at or after the lower bound.
    pub fn seek_to_first(&mut self) {
        match self.search.view.lower.take() {
            Some(lower) => {
                self.seek(&lower);
                self.search.view.lower = Some(lower);
            }
            None => {
                self.start(Direction::Forward);
                self.search.prefix = None;
                timed(PerfCounter::SeekInternalSeekTime, || self.search.source.seek_to_first());
                let saved = self.search.view.max_skippable > 0 && self.search.source.valid();
                if saved {
                    self.search.saved_key.clear();
                    self.search.saved_key.extend_from_slice(key::user_key(self.search.source.key()));
                }
                timed(PerfCounter::FindNextUserEntryTime, || self.search.forward_from(saved));
                self.search.prefix =
                    self.search.valid.then(|| prefix_of(&self.search.view, self.key())).flatten();
            }
        }
    }

    /// Moves to the last visible key before the upper bound.
    pub fn seek_to_last(&mut self) {
        self.start(Direction::Backward);
        match &self.search.view.upper {
            Some(upper) => {
                seek_key(&mut self.search.seek_key, upper, self.search.timestamp_size, u64::MAX, MAX_TS);
                self.search.prefix = prefix_of(&self.search.view, upper);
                timed(PerfCounter::SeekInternalSeekTime, || {
                    self.search.source.seek_for_prev(&self.search.seek_key)
                });
                self.search.backward(self.search.counts.skips);
            }
            None => {
                self.search.prefix = None;
                timed(PerfCounter::SeekInternalSeekTime, || self.search.source.seek_to_last());
                self.search.backward(self.search.counts.skips);
                self.search.prefix =
                    self.search.valid.then(|| prefix_of(&self.search.view, self.key())).flatten();
            }
        }
    }

    /// Moves to the first key at or after `target`. `target` has no timestamp.
    pub fn seek(&mut self, target: &[u8]) {
        self.search.prefix = prefix_of(&self.search.view, target);
        self.seek_by(target, I::seek);
    }

    /// Moves to the last key at or before `target`. `target` has no timestamp.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.search.prefix = prefix_of(&self.search.view, target);
        self.seek_for_prev_by(target, I::seek_for_prev);
    }

    /// Moves to the key where `before` stands. `before` is a walk over another super version. Keeps its prefix, and
    /// seeks in total order. Does nothing if `before` is not valid.
    pub fn continue_from(&mut self, before: &mut Self, direction: Direction) {
        if !before.search.valid {
            return;
        }
        self.search.view.prefix = before.search.view.prefix.take();
        self.search.prefix = before.search.prefix.take();
        match direction {
            Direction::Forward => self.seek_by(before.key(), I::seek_total),
            Direction::Backward => self.seek_for_prev_by(before.key(), I::seek_total_for_prev),
        }
    }

    fn seek_by(&mut self, target: &[u8], seek: impl FnOnce(&mut I, &[u8])) {
        self.start(Direction::Forward);
        let target = match &self.search.view.lower {
            Some(lower) if self.search.view.order.compare_stripped(target, lower).is_lt() => lower,
            _ => target,
        };
        seek_key(
            &mut self.search.seek_key,
            target,
            self.search.timestamp_size,
            pack(self.search.view.seq, key::TYPE_FOR_SEEK),
            &self.search.view.timestamp,
        );
        timed(PerfCounter::SeekInternalSeekTime, || seek(&mut self.search.source, &self.search.seek_key));
        let saved = self.search.view.max_skippable > 0;
        if saved {
            self.search.saved_key.clear();
            self.search.saved_key.extend_from_slice(key::user_key(&self.search.seek_key));
        }
        timed(PerfCounter::FindNextUserEntryTime, || self.search.forward_from(saved));
        base::invariant!(is_in_bounds(self), "a seek shows a key outside of the bounds of the iterator");
    }

    fn seek_for_prev_by(&mut self, target: &[u8], seek: impl FnOnce(&mut I, &[u8])) {
        self.start(Direction::Backward);
        let below_upper = match &self.search.view.upper {
            Some(upper) => {
                if self.search.view.order.compare_stripped(target, upper).is_ge() {
                    seek_key(&mut self.search.seek_key, upper, self.search.timestamp_size, u64::MAX, MAX_TS);
                    false
                } else {
                    true
                }
            }
            None => true,
        };
        if below_upper {
            seek_key(&mut self.search.seek_key, target, self.search.timestamp_size, 0, MIN_TS);
        }
        timed(PerfCounter::SeekInternalSeekTime, || seek(&mut self.search.source, &self.search.seek_key));
        self.search.backward(self.search.counts.skips);
        base::invariant!(is_in_bounds(self), "a seek shows a key outside of the bounds of the iterator");
    }

    /// Moves to the next key. Does nothing if the walk is not valid.
    #[inline]
    pub fn next(&mut self) {
        let before = place_to_check(self);
        self.advance(|_| None);
        check_moved(self, before, Ordering::Greater);
    }

    /// Moves to the next key, and adds the time of the search to the thread's perf context.
    pub fn next_timed(&mut self) {
        self.advance(|counter| Some(PerfTimer::start(counter)));
    }

    #[inline(always)]
    fn advance(&mut self, start: impl FnOnce(PerfCounter) -> Option<PerfTimer>) {
        if !self.search.valid {
            return;
        }
        if self.direction == Direction::Backward {
            self.turn_forward();
            return;
        }
        if self.search.shown_at == ShownAt::Source {
            let internal = self.search.source.key();
            // Sequence number 0: there is no older entry of this key.
            let alone = key::sequence(internal).is_zero() && self.search.timestamp_size == 0;
            if !alone {
                self.search.saved_key.clear();
                self.search.saved_key.extend_from_slice(key::user_key(internal));
            }
            self.search.source.next();
            let _time = start(PerfCounter::FindNextUserEntryTime);
            self.search.forward(!alone);
        } else {
            let _time = start(PerfCounter::FindNextUserEntryTime);
            self.search.forward(true);
        }
    }

    /// Moves to the previous key. Does nothing if the walk is not valid.
    pub fn prev(&mut self) {
        if !self.search.valid {
            return;
        }
        let before = place_to_check(self);
        // As in RocksDB, the shown entry counts for `max_skippable_internal_keys` if the direction changes.
        let start = self.search.counts.skips;
        if self.direction == Direction::Forward
            && let Err(error) = self.turn_backward(start)
        {
            return self.search.fail(error);
        }
        self.search.backward(start);
        check_moved(self, before, Ordering::Less);
    }

    /// Ends the iteration with an error.
    #[cold]
    pub fn fail(&mut self, error: Error) {
        self.search.fail(error);
    }

    fn start(&mut self, direction: Direction) {
        self.direction = direction;
        self.search.begin();
    }

    /// Turns from backward to forward, and moves to the next key. The source stands before the shown key.
    #[cold]
    fn turn_forward(&mut self) {
        base::invariant!(
            self.direction == Direction::Backward,
            "an iterator that goes forward turns forward"
        );
        self.direction = Direction::Forward;
        // This seek is a reseek where RocksDB seeks too. RocksDB otherwise steps back to the shown key.
        if self.search.view.may_miss_prefixes || !self.search.source.valid() {
            self.search.counts.reseeks += 1;
        }
        self.search.seek_key_before_saved();
        self.search.source.seek_total(&self.search.seek_key);
        self.search.forward(true);
    }

    /// Turns from forward to backward: moves the source before every entry of the shown key. `start` is the number of skipped
    /// entries before this step.
    ///
    /// # Errors
    /// With `max_skippable_internal_keys`, Incomplete if the key has too many entries, and the errors of the source.
    #[cold]
    fn turn_backward(&mut self, start: u64) -> Result<()> {
        base::invariant!(
            self.direction == Direction::Forward,
            "an iterator that goes backward turns backward"
        );
        let mut is_left = false;
        if self.search.shown_at == ShownAt::Source {
            self.search.saved_key.clear();
            self.search.saved_key.extend_from_slice(key::user_key(self.search.source.key()));
        } else if self.search.view.may_miss_prefixes || !self.search.source.valid() {
            // The source has read past a merge: as in `turn_forward`.
            self.search.counts.reseeks += 1;
            is_left = true;
        }
        self.direction = Direction::Backward;
        self.search.seek_key_before_saved();
        if self.search.view.max_skippable > 0 && !self.search.view.may_miss_prefixes {
            // RocksDB steps back from the entry that was read last, and counts each entry.
            if is_left {
                self.search.source.seek_total(&self.search.seek_key);
            }
            return backward::step_before_saved(&mut self.search, start);
        }
        if self.search.shown_at == ShownAt::Source {
            // The shown entry is one that the walk passes.
            forward::passed(&mut self.search, Some(PerfCounter::InternalKeySkippedCount));
        }
        self.search.source.seek_total_for_prev(&self.search.seek_key);
        Ok(())
    }
}

/// Returns true if the next move forward steps over the shown entry.
#[inline]
pub fn will_leave_entry<I>(walk: &Walk<I>) -> bool {
    walk.search.valid && walk.search.shown_at == ShownAt::Source && walk.direction == Direction::Forward
}

/// Returns the current key; after Incomplete, the last key that was skipped. Otherwise empty. Without timestamp.
pub(super) fn stopped_key<I: InternalIterator>(walk: &Walk<I>) -> &[u8] {
    match &walk.search.error {
        Some(error) if error.kind() == Kind::Incomplete => {
            without_timestamp(&walk.search.saved_key, walk.search.timestamp_size)
        }
        _ => walk.key(),
    }
}

/// Returns the internal key of the shown entry: user key, timestamp, sequence number and value type. Empty if the
/// walk is not valid.
pub fn internal_key<I: InternalIterator>(walk: &Walk<I>) -> Vec<u8> {
    if !walk.search.valid {
        return Vec::new();
    }
    let mut internal = walk.search.full_key().to_vec();
    internal.extend_from_slice(&walk.search.trailer().to_le_bytes());
    internal
}

crate::sync::thread_local! {
    /// Spare buffers of [`place_to_check`], because a move must not allocate in a build with invariants either.
    /// There are several, because a comparator or merge operator can move another iterator.
    static PLACES: Cell<Vec<Vec<u8>>> = const { Cell::new(Vec::new()) };
}

/// Returns true if the walk shows no key, or a key from the lower bound up to before the upper bound.
fn is_in_bounds<I: InternalIterator>(walk: &Walk<I>) -> bool {
    let View { lower, upper, order, .. } = &walk.search.view;
    let key = walk.key();
    !walk.search.valid
        || lower.as_ref().is_none_or(|lower| order.compare_stripped(key, lower).is_ge())
            && upper.as_ref().is_none_or(|upper| order.compare_stripped(key, upper).is_lt())
}

/// Returns the key before a move, for [`check_moved`]. Returns `None` in a build without invariants.
#[inline]
fn place_to_check<I: InternalIterator>(walk: &Walk<I>) -> Option<Vec<u8>> {
    let checks = INVARIANTS && walk.search.valid && walk.search.view.start_timestamp.is_none();
    checks.then(|| {
        let mut places = PLACES.with(Cell::take);
        let mut place = places.pop().unwrap_or_default();
        PLACES.with(|spare| spare.set(places));
        place.clear();
        place.extend_from_slice(walk.key());
        place
    })
}

/// Checks that a move reached a key on the expected side of the key before, and inside of the bounds. If the key is on the
/// other side, the walk ends with an error: an SST file with right checksums has its keys out of order.
/// As in RocksDB, a build without invariants does not look for this damage in each move; compaction does.
#[inline]
fn check_moved<I: InternalIterator>(walk: &mut Walk<I>, before: Option<Vec<u8>>, expected: Ordering) {
    // The constant removes the call from a release build: 17 instructions of each move.
    if INVARIANTS && let Some(before) = before {
        check_moved_from(walk, before, expected);
    }
}

#[cold]
fn check_moved_from<I: InternalIterator>(walk: &mut Walk<I>, before: Vec<u8>, expected: Ordering) {
    if walk.search.valid
        && let Some(misplaced) = misplaced(walk, &before, expected)
    {
        walk.fail(misplaced);
    }
    let mut places = PLACES.with(Cell::take);
    places.push(before);
    PLACES.with(|spare| spare.set(places));
}

/// Returns the error of a walk whose place is not on the expected side of the place `before`. A walk compares each key with the
/// bound ahead. So a move that starts inside of the bounds and keeps the order does not leave them, whatever the sources
/// return: a place outside of the bounds is then a fault of the walk.
fn misplaced<I: InternalIterator>(walk: &Walk<I>, before: &[u8], expected: Ordering) -> Option<Error> {
    base::invariant!(walk.search.error.is_none(), "an iterator with an error stands on a key");
    let (order, view, key) = (&walk.search.view.order, &walk.search.view, walk.key());
    if order.compare_stripped(key, before) != expected {
        return Some(Error::corruption(format!(
            "the keys of an SST file are out of order: a move from the key {} reached the key {}",
            before.escape_ascii(),
            key.escape_ascii()
        )));
    }
    let below_upper =
        |key: &[u8]| view.upper.as_ref().is_none_or(|upper| order.compare_stripped(key, upper).is_lt());
    let above_lower =
        |key: &[u8]| view.lower.as_ref().is_none_or(|lower| order.compare_stripped(key, lower).is_ge());
    base::invariant!(
        below_upper(key) || !below_upper(before),
        "an iterator stands on the key {} at or above its upper bound",
        key.escape_ascii()
    );
    base::invariant!(
        above_lower(key) || !above_lower(before),
        "an iterator stands on the key {} below its lower bound",
        key.escape_ascii()
    );
    None
}
