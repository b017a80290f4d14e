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

use std::cell::Cell;
use std::cmp::Ordering;

use base::invariant::INVARIANTS;
use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, ValueType, pack};
use base::stats::{PerfCounter, PerfTimer, Step};
use base::{Error, Kind, Pinned, Result, Subcode};

use super::convert::Converter;
use super::keys::{MAX_TS, MIN_TS, prefix_of, seek_key, without_timestamp};
use super::skip::RangeSkipper;
use super::value::Held;
use super::view::View;
use super::watch::Watch;
use crate::source::resolve::{self, Found, Scratch};

/// Runs a part of a seek, and adds its time to a counter of the thread's perf context.
#[inline]
fn timed(counter: PerfCounter, part: impl FnOnce()) {
    let _time = PerfTimer::start(counter);
    part();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Reverse,
}

/// Where the walk has the shown entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The source stands on the entry.
    Source,
    /// The key is in `saved_key` and the value is in `held`. The source stands on another entry, or the value is in
    /// a blob file.
    Saved,
    /// The key is in `saved_key`, and a blob index is in `held`. The value was not read yet.
    Unprepared,
}

/// Walks over the keys that one reader sees. `source` has the internal entries.
pub struct Walk<I> {
    source: I,
    view: View,
    direction: Direction,
    place: Place,
    valid: bool,
    entity: bool,
    /// The source stands on the shown entry, and its value ends with a preferred sequence number.
    timed: bool,
    error: Option<Error>,
    timestamp_size: usize,
    /// The user key of the shown or skipped entry, with timestamp.
    saved_key: Vec<u8>,
    /// Sequence number and value type of the entry in `held`, as at the end of an internal key.
    saved_trailer: u64,
    held: Held,
    /// Operands of a merge. Empty between entries; the memory is used again.
    operands: Vec<Pinned>,
    scratch: Scratch,
    seek_key: Vec<u8>,
    /// Memory for a copy of `saved_key`.
    spare_key: Vec<u8>,
    prefix: Option<Vec<u8>>,
    skipped: u64,
    /// The number of hidden entries that were skipped, and of seeks in place of steps, since they were last taken.
    skips: u64,
    reseeks: u64,
    watch: Option<Box<Watch>>,
    convert: Option<Box<Converter>>,
    empty: Empty,
}

/// The state for skipping key ranges without keys.
struct Empty {
    skipper: Option<RangeSkipper>,
    /// The number of hidden entries in a row after which the walk looks for a key range without keys.
    look_at: u64,
    /// True if the present move has looked for a range.
    looked: bool,
    /// Measures the time of a move that skips many hidden entries.
    step: Option<Step>,
}

impl<I: InternalIterator> Walk<I> {
    /// Makes a walk that is not valid before it is positioned. `view` says which entries the reader sees.
    pub fn new(source: I, view: View) -> Self {
        let timestamp_size = view.order.timestamp_size();
        Walk {
            source,
            view,
            direction: Direction::Forward,
            place: Place::Source,
            valid: false,
            entity: false,
            timed: false,
            error: None,
            timestamp_size,
            saved_key: Vec::new(),
            saved_trailer: ValueType::Value as u64,
            held: Held::default(),
            operands: Vec::new(),
            scratch: Scratch::default(),
            seek_key: Vec::new(),
            spare_key: Vec::new(),
            prefix: None,
            skipped: 0,
            skips: 0,
            reseeks: 0,
            watch: None,
            convert: None,
            empty: Empty { skipper: None, look_at: u64::MAX, looked: false, step: None },
        }
    }

    /// Sets the source. The walk is not valid until it is positioned.
    pub fn set_source(&mut self, source: I) {
        self.source = source;
        self.valid = false;
    }

    /// Returns the sequence number up to which range tombstones are visible.
    pub fn seq(&self) -> SequenceNumber {
        self.view.visibility.as_ref().map_or(self.view.seq, |visibility| visibility.sequence())
    }

    /// Returns the sequence number of the reader. With a visibility, the reader may also see newer entries.
    pub fn snapshot_seq(&self) -> SequenceNumber {
        self.view.seq
    }

    /// Counts hidden entries of the active memtable from now on.
    pub fn watch(&mut self, watch: Option<Box<Watch>>) {
        self.watch = watch;
    }

    /// Converts runs of tombstones to range tombstones from now on.
    pub fn convert(&mut self, convert: Option<Box<Converter>>) {
        self.convert = convert;
    }

    /// Reports a move, or with `sought` a positioning call, to the watch.
    #[cold]
    pub fn watch_step(&mut self, sought: bool) {
        if let Some(watch) = &mut self.watch {
            watch.step(sought);
        }
    }

    /// Reports to the source that the application sees the current entry: see [`InternalIterator::value_shown`].
    pub fn value_shown(&mut self) {
        if self.valid {
            self.source.value_shown();
        }
    }

    /// Returns the number of hidden entries that were skipped since the last call.
    pub fn take_skips(&mut self) -> u64 {
        std::mem::take(&mut self.skips)
    }

    /// Returns the number of seeks in place of many steps since the last call.
    pub fn take_reseeks(&mut self) -> u64 {
        std::mem::take(&mut self.reseeks)
    }

    /// Returns true if the walk is at a key. False at both ends, after an error, and before the first
    /// positioning call.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Returns true if damage or a failed file-system call ended the iteration: no positioning call continues it. A
    /// merge operator that fails is an error of one key only.
    #[inline]
    pub fn is_over(&self) -> bool {
        let ends = |error: &Error| {
            matches!(error.kind(), Kind::Corruption | Kind::IoError)
                && error.subcode() != Subcode::MergeOperatorFailed
        };
        self.error.as_ref().is_some_and(ends)
    }

    /// # Errors
    /// The error that ended the iteration. It stays until the next positioning call.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns the user key with its timestamp. Empty if the walk is not valid.
    #[inline]
    fn full_key(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.place {
            Place::Source => key::user_key(self.source.key()),
            Place::Saved | Place::Unprepared => &self.saved_key,
        }
    }

    /// Returns the user key without timestamp. Empty if the walk is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let full = self.full_key();
        if self.timestamp_size == 0 { full } else { &full[..full.len().saturating_sub(self.timestamp_size)] }
    }

    /// Returns the timestamp of the shown entry. Empty if the column family has no timestamps.
    pub fn timestamp(&self) -> &[u8] {
        let full = self.full_key();
        &full[full.len().saturating_sub(self.timestamp_size)..]
    }

    /// Returns the value type of the entry that is shown. With `iter_start_ts`, this can be a tombstone or a merge
    /// operand.
    pub fn value_type(&self) -> Option<ValueType> {
        if !self.valid {
            return None;
        }
        ValueType::from_u8(trailer(self) as u8)
    }

    /// Returns the stored value; for an entity, its encoded form. Empty if the walk is not valid.
    #[inline]
    fn stored(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.place {
            Place::Source => {
                let value = self.source.value();
                if self.timed { &value[..value.len().saturating_sub(8)] } else { value }
            }
            Place::Saved => self.held.bytes(),
            Place::Unprepared => &[],
        }
    }

    /// Returns the value; for an entity, its default column. Empty if the walk is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let stored = self.stored();
        if !self.entity {
            return stored;
        }
        // The entity was decoded when the walk reached the entry, so this does not fail.
        format::wide::default_column(stored).map(|column| column.value).unwrap_or_default()
    }

    /// Returns the encoded form of a wide-column entity; `None` if the value is no entity.
    pub fn entity(&self) -> Option<&[u8]> {
        (self.valid && self.entity).then(|| self.stored())
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
        if !self.valid {
            return Found::Value(Pinned::from_vec(Vec::new()));
        }
        let stored = match self.place {
            Place::Source => {
                let len = self.stored().len();
                self.source.pin_value().slice(0..len)
            }
            Place::Saved => self.held.pinned(),
            Place::Unprepared => Pinned::from_vec(Vec::new()),
        };
        if self.entity { Found::Entity(stored) } else { Found::Value(stored) }
    }

    /// Returns the user key without timestamp as a view that stays valid after the next move, and true if nothing
    /// was copied.
    pub fn pin_key(&self) -> (Pinned, bool) {
        let held = (self.valid && self.place == Place::Source).then(|| self.source.pin_key()).flatten();
        match held {
            Some(internal) => (internal.slice(0..self.key().len()), true),
            None => (Pinned::copy(self.key()), false),
        }
    }

    /// Returns true if the value is a view into the memory of the source.
    pub fn value_in_place(&self) -> bool {
        self.valid && self.place == Place::Source
    }

    /// Moves to the first visible key at or after the lower bound.
    pub fn seek_to_first(&mut self) {
        match self.view.lower.take() {
            Some(lower) => {
                self.seek(&lower);
                self.view.lower = Some(lower);
            }
            None => {
                self.start(Direction::Forward);
                self.prefix = None;
                timed(PerfCounter::SeekInternalSeekTime, || self.source.seek_to_first());
                timed(PerfCounter::FindNextUserEntryTime, || self.forward(false));
                self.prefix = self.valid.then(|| prefix_of(&self.view, self.key())).flatten();
            }
        }
    }

    /// Moves to the last visible key before the upper bound.
    pub fn seek_to_last(&mut self) {
        self.start(Direction::Reverse);
        match &self.view.upper {
            Some(upper) => {
                seek_key(&mut self.seek_key, upper, self.timestamp_size, u64::MAX, MAX_TS);
                self.prefix = prefix_of(&self.view, upper);
                timed(PerfCounter::SeekInternalSeekTime, || self.source.seek_for_prev(&self.seek_key));
                self.backward(self.skips);
            }
            None => {
                self.prefix = None;
                timed(PerfCounter::SeekInternalSeekTime, || self.source.seek_to_last());
                self.backward(self.skips);
                self.prefix = self.valid.then(|| prefix_of(&self.view, self.key())).flatten();
            }
        }
    }

    /// Moves to the first key at or after `target`. `target` has no timestamp.
    pub fn seek(&mut self, target: &[u8]) {
        self.prefix = prefix_of(&self.view, target);
        self.seek_by(target, I::seek);
    }

    /// Moves to the last key at or before `target`. `target` has no timestamp.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.prefix = prefix_of(&self.view, target);
        self.seek_for_prev_by(target, I::seek_for_prev);
    }

    /// Moves to the key where `before` stands. `before` is a walk over another super version. Keeps its prefix, and
    /// seeks in total order. Does nothing if `before` is not valid.
    pub fn go_on_from(&mut self, before: &mut Self, backward: bool) {
        if !before.valid {
            return;
        }
        self.view.prefix = before.view.prefix.take();
        self.prefix = before.prefix.take();
        match backward {
            false => self.seek_by(before.key(), I::seek_total),
            true => self.seek_for_prev_by(before.key(), I::seek_total_for_prev),
        }
    }

    fn seek_by(&mut self, target: &[u8], seek: impl FnOnce(&mut I, &[u8])) {
        self.start(Direction::Forward);
        let target = match &self.view.lower {
            Some(lower) if self.view.order.compare_stripped(target, lower).is_lt() => lower,
            _ => target,
        };
        seek_key(
            &mut self.seek_key,
            target,
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        timed(PerfCounter::SeekInternalSeekTime, || seek(&mut self.source, &self.seek_key));
        timed(PerfCounter::FindNextUserEntryTime, || self.forward(false));
    }

    fn seek_for_prev_by(&mut self, target: &[u8], seek: impl FnOnce(&mut I, &[u8])) {
        self.start(Direction::Reverse);
        let below_upper = match &self.view.upper {
            Some(upper) => {
                if self.view.order.compare_stripped(target, upper).is_ge() {
                    seek_key(&mut self.seek_key, upper, self.timestamp_size, u64::MAX, MAX_TS);
                    false
                } else {
                    true
                }
            }
            None => true,
        };
        if below_upper {
            seek_key(&mut self.seek_key, target, self.timestamp_size, 0, MIN_TS);
        }
        timed(PerfCounter::SeekInternalSeekTime, || seek(&mut self.source, &self.seek_key));
        self.backward(self.skips);
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
        if !self.valid {
            return;
        }
        if self.direction == Direction::Reverse {
            self.turn_forward();
            return;
        }
        if self.place == Place::Source {
            let internal = self.source.key();
            // Sequence number 0: there is no older entry of this key.
            let alone = key::sequence(internal) == 0 && self.timestamp_size == 0;
            if !alone {
                self.saved_key.clear();
                self.saved_key.extend_from_slice(key::user_key(internal));
            }
            self.source.next();
            let _time = start(PerfCounter::FindNextUserEntryTime);
            self.forward(!alone);
        } else {
            let _time = start(PerfCounter::FindNextUserEntryTime);
            self.forward(true);
        }
    }

    /// Moves to the previous key. Does nothing if the walk is not valid.
    pub fn prev(&mut self) {
        if !self.valid {
            return;
        }
        let before = place_to_check(self);
        // As in RocksDB, the shown entry counts for `max_skippable_internal_keys` if the direction changes.
        let start = self.skips;
        if self.direction == Direction::Forward {
            self.turn_backward();
        }
        self.backward(start);
        check_moved(self, before, Ordering::Less);
    }

    fn start(&mut self, direction: Direction) {
        self.direction = direction;
        self.valid = false;
        self.entity = false;
        self.error = None;
        self.skipped = 0;
    }

    /// Turns from backward to forward, and moves to the next key. The source stands before the shown key.
    #[cold]
    fn turn_forward(&mut self) {
        base::invariant!(self.direction == Direction::Reverse, "an iterator that goes forward turns forward");
        self.direction = Direction::Forward;
        // This seek is a reseek where RocksDB seeks too. RocksDB otherwise steps back to the shown key.
        if self.view.may_miss_prefixes || !self.source.valid() {
            self.reseeks += 1;
        }
        self.seek_key_before_saved();
        self.source.seek_total(&self.seek_key);
        self.forward(true);
    }

    /// Turns from forward to backward: moves the source before every entry of the shown key.
    #[cold]
    fn turn_backward(&mut self) {
        base::invariant!(
            self.direction == Direction::Forward,
            "an iterator that goes backward turns backward"
        );
        if self.place == Place::Source {
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            // The shown entry is one that the walk passes.
            forward::passed(self, Some(PerfCounter::InternalKeySkippedCount));
        } else if self.view.may_miss_prefixes || !self.source.valid() {
            // The source has read past a merge: as in `turn_forward`.
            self.reseeks += 1;
        }
        self.direction = Direction::Reverse;
        self.seek_key_before_saved();
        self.source.seek_total_for_prev(&self.seek_key);
    }

    /// Writes the position before every entry of the shown key to `seek_key`. With `iter_start_ts`, the position is
    /// before every entry of this key and timestamp.
    fn seek_key_before_saved(&mut self) {
        let (key, timestamp) =
            self.saved_key.split_at(self.saved_key.len().saturating_sub(self.timestamp_size));
        let timestamp = if self.view.start_timestamp.is_some() { timestamp } else { MAX_TS };
        seek_key(&mut self.seek_key, key, self.timestamp_size, u64::MAX, timestamp);
    }

    /// Ends the iteration, and keeps an error of the source.
    #[cold]
    fn end(&mut self) {
        self.valid = false;
        if !self.source.valid()
            && let Err(error) = self.source.status()
        {
            self.error = Some(error);
        }
    }

    /// Ends the iteration with an error.
    #[cold]
    pub fn fail(&mut self, error: Error) {
        self.valid = false;
        self.error = Some(error);
    }
}

/// Returns true if the next move forward steps over the shown entry.
#[inline]
pub fn will_leave_entry<I>(walk: &Walk<I>) -> bool {
    walk.valid && walk.place == Place::Source && walk.direction == Direction::Forward
}

/// Returns the current key; after Incomplete, the last key that was skipped. Otherwise empty. Without timestamp.
pub(super) fn stopped_key<I: InternalIterator>(walk: &Walk<I>) -> &[u8] {
    match &walk.error {
        Some(error) if error.kind() == Kind::Incomplete => {
            without_timestamp(&walk.saved_key, walk.timestamp_size)
        }
        _ => walk.key(),
    }
}

/// Returns sequence number and value type of the shown entry. The walk must be valid.
fn trailer<I: InternalIterator>(walk: &Walk<I>) -> u64 {
    match walk.place {
        Place::Source => key::trailer(walk.source.key()),
        Place::Saved | Place::Unprepared => walk.saved_trailer,
    }
}

/// Returns the internal key of the shown entry: user key, timestamp, sequence number and value type. Empty if the
/// walk is not valid.
pub fn internal_key<I: InternalIterator>(walk: &Walk<I>) -> Vec<u8> {
    if !walk.valid {
        return Vec::new();
    }
    let mut internal = walk.full_key().to_vec();
    internal.extend_from_slice(&trailer(walk).to_le_bytes());
    internal
}

crate::sync::thread_local! {
    /// Spare buffers of [`place_to_check`], because a move must not allocate in a build with invariants either.
    /// There are several, because a comparator or merge operator can move another iterator.
    static PLACES: Cell<Vec<Vec<u8>>> = const { Cell::new(Vec::new()) };
}

/// Returns the key before a move, for [`check_moved`]. Returns `None` in a build without invariants.
#[inline]
fn place_to_check<I: InternalIterator>(walk: &Walk<I>) -> Option<Vec<u8>> {
    let checks = INVARIANTS && walk.valid && walk.view.start_timestamp.is_none();
    checks.then(|| {
        let mut places = PLACES.with(Cell::take);
        let mut place = places.pop().unwrap_or_default();
        PLACES.with(|spare| spare.set(places));
        place.clear();
        place.extend_from_slice(walk.key());
        place
    })
}

/// Checks that a move reached a key on the expected side of the key before, and inside of the bounds.
#[inline]
fn check_moved<I: InternalIterator>(walk: &Walk<I>, before: Option<Vec<u8>>, expected: Ordering) {
    let Some(before) = before else { return };
    if walk.valid {
        check_place(walk, &before, expected);
    }
    let mut places = PLACES.with(Cell::take);
    places.push(before);
    PLACES.with(|spare| spare.set(places));
}

fn check_place<I: InternalIterator>(walk: &Walk<I>, before: &[u8], expected: Ordering) {
    let order = &walk.view.order;
    base::invariant!(
        order.compare_stripped(walk.key(), before) == expected,
        "an iterator moves from the key {} to the key {}",
        before.escape_ascii(),
        walk.key().escape_ascii()
    );
    base::invariant!(
        walk.view.upper.as_ref().is_none_or(|upper| order.compare_stripped(walk.key(), upper).is_lt()),
        "an iterator stands on the key {} at or above its upper bound",
        walk.key().escape_ascii()
    );
    base::invariant!(
        walk.view.lower.as_ref().is_none_or(|lower| order.compare_stripped(walk.key(), lower).is_ge()),
        "an iterator stands on the key {} below its lower bound",
        walk.key().escape_ascii()
    );
    base::invariant!(walk.error.is_none(), "an iterator with an error stands on a key");
}
