//! From internal entries to the user's keys: each key once, as one reader sees it, both ways.
//!
//! ```text
//!  internal   a#9,SET  b#7,DEL  b#3,SET  c#8,MERGE  c#2,SET  d#50,SET        reader at #20
//!  user       a                          c (merged)
//! ```
//! Forward, the source stands on the entry that is shown, unless a merge had to read on; so key and value are
//! the source's own bytes. An entry with sequence number 0 has nothing older behind it, so `next` need not
//! remember its key: after a full compaction a scan copies nothing. Backward, versions come oldest first
//! and the source has always read past the key shown; the key is copied, and the value too while it is
//! short. Follows RocksDB `db/db_iter.cc` for behaviour.

use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, ValueType, pack};
use base::stats::{PerfCounter, perf_add};
use base::{Error, Order, Pinned, Result};
use lsm::merge::MergeOperator;

use super::keys::{MAX_TS, MIN_TS, bare, has_prefix, is_deletion, prefix_of, seek_key};
use super::tombstones::Tombstones;
use super::value::Held;
use crate::source::resolve::{self, Base, Found};
use crate::sync::Arc;

/// What one reader sees, and how far.
#[derive(Clone)]
pub struct View {
    pub order: Order,
    pub seq: SequenceNumber,
    /// With timestamps: entries at or before this one are seen.
    pub timestamp: Vec<u8>,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
    /// Iteration ends where this prefix of the seek key ends.
    pub prefix: Option<Arc<dyn base::order::PrefixExtractor>>,
    /// Entries of one key to step over before seeking instead.
    pub max_sequential_skip: u64,
    /// Hidden entries in a row before giving up as Incomplete; 0: never.
    pub max_skippable: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Reverse,
}

/// Where the entry shown lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The source stands on it.
    Source,
    /// In `saved_key` and `held`; the source stands elsewhere.
    Saved,
}

/// See the module.
pub struct Walk<I> {
    source: I,
    view: View,
    tombstones: Option<Tombstones>,
    direction: Direction,
    place: Place,
    valid: bool,
    entity: bool,
    error: Option<Error>,
    timestamp_size: usize,
    /// User key, timestamp included.
    saved_key: Vec<u8>,
    held: Held,
    seek_key: Vec<u8>,
    prefix: Option<Vec<u8>>,
    skipped: u64,
    /// Entries stepped over, and seeks in place of steps, that nobody has asked about yet.
    skips: u64,
    reseeks: u64,
}

impl<I: InternalIterator> Walk<I> {
    pub fn new(source: I, view: View, tombstones: Option<Tombstones>) -> Self {
        let timestamp_size = view.order.timestamp_size();
        Walk {
            source,
            view,
            tombstones,
            direction: Direction::Forward,
            place: Place::Source,
            valid: false,
            entity: false,
            error: None,
            timestamp_size,
            saved_key: Vec::new(),
            held: Held::default(),
            seek_key: Vec::new(),
            prefix: None,
            skipped: 0,
            skips: 0,
            reseeks: 0,
        }
    }

    /// Hidden entries stepped over since this was last asked.
    pub fn take_skips(&mut self) -> u64 {
        std::mem::take(&mut self.skips)
    }

    /// Seeks made in place of many steps since this was last asked.
    pub fn take_reseeks(&mut self) -> u64 {
        std::mem::take(&mut self.reseeks)
    }

    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// # Errors
    /// What ended the iteration early. It stays until the next positioning call.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The user key with its timestamp. Empty when not valid.
    #[inline]
    fn full_key(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.place {
            Place::Source => key::user_key(self.source.key()),
            Place::Saved => &self.saved_key,
        }
    }

    /// The user key, without timestamp. Empty when not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let full = self.full_key();
        if self.timestamp_size == 0 { full } else { &full[..full.len().saturating_sub(self.timestamp_size)] }
    }

    /// The timestamp of the version shown; empty without timestamps.
    pub fn timestamp(&self) -> &[u8] {
        let full = self.full_key();
        &full[full.len().saturating_sub(self.timestamp_size)..]
    }

    /// The stored value: an entity's serialized form for an entity. Empty when not valid.
    #[inline]
    fn stored(&self) -> &[u8] {
        if !self.valid {
            return &[];
        }
        match self.place {
            Place::Source => {
                let value = self.source.value();
                let kind = key::trailer(self.source.key()) as u8;
                if kind == ValueType::ValuePreferredSeqno as u8 { &value[..value.len().saturating_sub(8)] } else { value }
            }
            Place::Saved => self.held.bytes(),
        }
    }

    /// The value; of an entity its default column. Empty when not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let stored = self.stored();
        if !self.entity {
            return stored;
        }
        // It was decoded when the iterator came to it.
        format::wide::default_column(stored).map(|column| column.value).unwrap_or_default()
    }

    /// Whether the value is a wide-column entity, and its serialized form.
    pub fn entity(&self) -> Option<&[u8]> {
        (self.valid && self.entity).then(|| self.stored())
    }

    /// The value kept alive beyond the next move, without a copy where the source's memory can be held.
    pub fn pin_value(&self) -> Pinned {
        if !self.valid {
            return Pinned::from_vec(Vec::new());
        }
        let stored = match self.place {
            Place::Source => {
                let len = self.stored().len();
                self.source.pin_value().slice(0..len)
            }
            Place::Saved => self.held.pinned(),
        };
        if self.entity { resolve::default_column(stored).unwrap_or_else(|_| Pinned::from_vec(Vec::new())) } else { stored }
    }

    pub fn seek_to_first(&mut self) {
        match self.view.lower.take() {
            Some(lower) => {
                self.seek(&lower);
                self.view.lower = Some(lower);
            }
            None => {
                self.start(Direction::Forward);
                self.prefix = None;
                self.source.seek_to_first();
                self.forward(false);
                self.prefix = self.valid.then(|| prefix_of(&self.view, self.key())).flatten();
            }
        }
    }

    pub fn seek_to_last(&mut self) {
        self.start(Direction::Reverse);
        match &self.view.upper {
            Some(upper) => {
                seek_key(&mut self.seek_key, upper, self.timestamp_size, u64::MAX, MAX_TS);
                self.prefix = prefix_of(&self.view, upper);
                self.source.seek_for_prev(&self.seek_key);
                self.backward();
            }
            None => {
                self.prefix = None;
                self.source.seek_to_last();
                self.backward();
                self.prefix = self.valid.then(|| prefix_of(&self.view, self.key())).flatten();
            }
        }
    }

    /// To the first key at or after `target` (without timestamp).
    pub fn seek(&mut self, target: &[u8]) {
        self.start(Direction::Forward);
        self.prefix = prefix_of(&self.view, target);
        let target = match &self.view.lower {
            Some(lower) if self.view.order.compare_bare(target, lower).is_lt() => lower,
            _ => target,
        };
        seek_key(
            &mut self.seek_key,
            target,
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        self.source.seek(&self.seek_key);
        self.forward(false);
    }

    /// To the last key at or before `target` (without timestamp).
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.start(Direction::Reverse);
        let below_upper = match &self.view.upper {
            Some(upper) => {
                if self.view.order.compare_bare(target, upper).is_ge() {
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
        self.prefix = prefix_of(&self.view, target);
        self.source.seek_for_prev(&self.seek_key);
        self.backward();
    }

    /// To the next key. Does nothing when not valid.
    #[inline]
    pub fn next(&mut self) {
        if !self.valid {
            return;
        }
        if self.direction == Direction::Reverse {
            self.turn_forward();
            return;
        }
        if self.place == Place::Source {
            let internal = self.source.key();
            // Sequence number 0: no older version of this key exists.
            let alone = key::sequence(internal) == 0 && self.timestamp_size == 0;
            if !alone {
                self.saved_key.clear();
                self.saved_key.extend_from_slice(key::user_key(internal));
            }
            self.source.next();
            self.forward(!alone);
        } else {
            self.forward(true);
        }
    }

    /// To the previous key. Does nothing when not valid.
    pub fn prev(&mut self) {
        if !self.valid {
            return;
        }
        if self.direction == Direction::Forward {
            self.turn_backward();
        }
        self.backward();
    }

    fn start(&mut self, direction: Direction) {
        self.direction = direction;
        self.valid = false;
        self.entity = false;
        self.error = None;
        self.skipped = 0;
        if let Some(tombstones) = &mut self.tombstones {
            tombstones.reset();
        }
    }

    /// Was going backward with the source before the key shown: find the key after it.
    #[cold]
    fn turn_forward(&mut self) {
        self.direction = Direction::Forward;
        let bare = self.saved_key.len().saturating_sub(self.timestamp_size);
        seek_key(&mut self.seek_key, &self.saved_key[..bare], self.timestamp_size, u64::MAX, MAX_TS);
        self.source.seek(&self.seek_key);
        self.forward(true);
    }

    /// Was going forward: put the source before every version of the key shown.
    #[cold]
    fn turn_backward(&mut self) {
        if self.place == Place::Source {
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
        }
        self.direction = Direction::Reverse;
        let bare = self.saved_key.len().saturating_sub(self.timestamp_size);
        seek_key(&mut self.seek_key, &self.saved_key[..bare], self.timestamp_size, u64::MAX, MAX_TS);
        self.source.seek_for_prev(&self.seek_key);
    }

    /// Ends the iteration; an error of the source is kept.
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

    /// From the source's position on, finds the next entry to show. With `skip_saved`, versions of
    /// `saved_key` are stepped over.
    fn forward(&mut self, mut skip_saved: bool) {
        self.place = Place::Source;
        self.entity = false;
        let mut run = 0u64;
        loop {
            if !self.source.valid() {
                return self.end();
            }
            let (user_key, seq, kind) = key::split(self.source.key());
            if let Some(upper) = &self.view.upper
                && self.view.order.compare_bare(bare(user_key, self.timestamp_size), upper).is_ge()
            {
                return self.end();
            }
            if let Some(prefix) = &self.prefix
                && !has_prefix(&self.view, bare(user_key, self.timestamp_size), prefix)
            {
                return self.end();
            }
            let seen = seq <= self.view.seq
                && (self.timestamp_size == 0 || self.is_in_time(user_key));
            if skip_saved && self.same_key(user_key, &self.saved_key) {
                run += 1;
                if run > self.view.max_sequential_skip {
                    run = 0;
                    self.seek_past_saved();
                } else {
                    self.source.next();
                }
                if self.gave_up(PerfCounter::InternalKeySkippedCount) {
                    return;
                }
                continue;
            }
            if !seen {
                run += 1;
                if run > self.view.max_sequential_skip {
                    run = 0;
                    self.seek_seen_of_current();
                } else {
                    self.source.next();
                }
                if self.gave_up(PerfCounter::InternalRecentSkippedCount) {
                    return;
                }
                continue;
            }
            let hidden = match &mut self.tombstones {
                Some(tombstones) => match tombstones.covers(self.source.key(), self.view.seq) {
                    Ok(covered) => covered,
                    Err(error) => return self.fail(error),
                },
                None => false,
            };
            const VALUE: u8 = ValueType::Value as u8;
            const TIMED: u8 = ValueType::ValuePreferredSeqno as u8;
            const MERGE: u8 = ValueType::Merge as u8;
            const ENTITY: u8 = ValueType::WideColumnEntity as u8;
            const BLOB: u8 = ValueType::BlobIndex as u8;
            match kind {
                VALUE | TIMED if !hidden => {
                    self.valid = true;
                    self.skipped = 0;
                    return;
                }
                ENTITY if !hidden => return self.show_entity(),
                MERGE if !hidden => return self.merge_forward(),
                BLOB if !hidden => return self.fail(resolve::unsupported_blob()),
                _ if !hidden && !is_deletion(kind) => return self.fail(resolve::unknown_kind(kind)),
                _ => {
                    // Deleted, one way or another: nothing older of this key is seen.
                    if seq == 0 && self.timestamp_size == 0 {
                        skip_saved = false;
                    } else {
                        self.saved_key.clear();
                        self.saved_key.extend_from_slice(key::user_key(self.source.key()));
                        skip_saved = true;
                        run = 0;
                    }
                    self.source.next();
                    if self.gave_up(PerfCounter::InternalDeleteSkippedCount) {
                        return;
                    }
                }
            }
        }
    }

    #[inline]
    fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        if self.timestamp_size == 0 {
            self.view.order.equal(a, b)
        } else {
            self.view.order.compare_without_timestamp(a, b).is_eq()
        }
    }

    fn is_in_time(&self, user_key: &[u8]) -> bool {
        let at = user_key.len().saturating_sub(self.timestamp_size);
        self.view.order.compare_timestamp(&user_key[at..], &self.view.timestamp).is_le()
    }

    /// Counts a hidden entry; true when there were too many.
    #[inline]
    fn gave_up(&mut self, why: PerfCounter) -> bool {
        self.skipped += 1;
        self.skips += 1;
        perf_add(why, 1);
        if self.view.max_skippable > 0 && self.skipped > self.view.max_skippable {
            self.fail(Error::incomplete("Too many internal keys skipped."));
            return true;
        }
        false
    }

    /// Seeks past every version of `saved_key`.
    #[cold]
    fn seek_past_saved(&mut self) {
        self.reseeks += 1;
        let bare = self.saved_key.len().saturating_sub(self.timestamp_size);
        seek_key(&mut self.seek_key, &self.saved_key[..bare], self.timestamp_size, 0, MIN_TS);
        self.source.seek(&self.seek_key);
        // The very oldest possible entry of the key has this position itself.
        while self.source.valid() && self.same_key(key::user_key(self.source.key()), &self.saved_key) {
            self.source.next();
        }
    }

    /// The source stands on a version that is too new: seeks the newest one of that key that is seen.
    #[cold]
    fn seek_seen_of_current(&mut self) {
        let user_key = key::user_key(self.source.key());
        let end = user_key.len().saturating_sub(self.timestamp_size);
        let target = user_key[..end].to_vec();
        seek_key(
            &mut self.seek_key,
            &target,
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        let here = base::key::InternalOrder::new(self.view.order.clone());
        if here.compare(&self.seek_key, self.source.key()).is_gt() {
            self.reseeks += 1;
            self.source.seek(&self.seek_key);
        } else {
            self.source.next();
        }
    }

    fn show_entity(&mut self) {
        match format::wide::default_column(self.source.value()) {
            Ok(column) if column.is_blob => self.fail(resolve::unsupported_blob()),
            Ok(_) => {
                self.valid = true;
                self.entity = true;
                self.skipped = 0;
            }
            // An entity without a default column reads as an empty value; a broken one is an error.
            Err(error) => self.fail(error),
        }
    }

    /// The source stands on the newest operand that is seen: reads on to the base and merges.
    fn merge_forward(&mut self) {
        self.saved_key.clear();
        self.saved_key.extend_from_slice(key::user_key(self.source.key()));
        let mut operands = vec![self.source.pin_value()];
        self.source.next();
        let mut base = Base::None;
        while self.source.valid() {
            let (user_key, _seq, kind) = key::split(self.source.key());
            if !self.same_key(user_key, &self.saved_key) {
                break;
            }
            if let Some(tombstones) = &mut self.tombstones {
                match tombstones.covers(self.source.key(), self.view.seq) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => return self.fail(error),
                }
            }
            match ValueType::from_u8(kind) {
                Some(ValueType::Merge) => operands.push(self.source.pin_value()),
                Some(ValueType::Value) => {
                    base = Base::Value(self.source.pin_value());
                    break;
                }
                Some(ValueType::ValuePreferredSeqno) => {
                    match resolve::without_preferred_seq(self.source.pin_value()) {
                        Ok(value) => base = Base::Value(value),
                        Err(error) => return self.fail(error),
                    }
                    break;
                }
                Some(ValueType::WideColumnEntity) => {
                    base = Base::Entity(self.source.pin_value());
                    break;
                }
                Some(ValueType::BlobIndex) => return self.fail(resolve::unsupported_blob()),
                _ if !is_deletion(kind) => return self.fail(resolve::unknown_kind(kind)),
                _ => break,
            }
            self.source.next();
        }
        if !self.source.valid()
            && let Err(error) = self.source.status()
        {
            return self.fail(error);
        }
        operands.reverse();
        self.show_merged(&base, &operands);
    }

    fn show_merged(&mut self, base: &Base, operands: &[Pinned]) {
        let bare = bare(&self.saved_key, self.timestamp_size);
        match resolve::merge(self.view.merge_operator.as_ref(), bare, base, operands) {
            Ok(found) => {
                self.entity = matches!(found, Found::Entity(_));
                let (Found::Value(value) | Found::Entity(value)) = found;
                self.held.set(value);
                self.place = Place::Saved;
                self.valid = true;
                self.skipped = 0;
            }
            Err(error) => self.fail(error),
        }
    }

    /// From the source's position on backward, finds the previous key to show. Leaves the source before it.
    fn backward(&mut self) {
        self.place = Place::Saved;
        self.valid = false;
        self.entity = false;
        loop {
            if !self.source.valid() {
                return self.end();
            }
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            let bare_key = bare(&self.saved_key, self.timestamp_size);
            if let Some(lower) = &self.view.lower
                && self.view.order.compare_bare(bare_key, lower).is_lt()
            {
                return self.end();
            }
            if let Some(prefix) = &self.prefix
                && !has_prefix(&self.view, bare_key, prefix)
            {
                return self.end();
            }
            match self.newest_seen_backward() {
                Ok(true) => {
                    self.valid = true;
                    self.skipped = 0;
                    return;
                }
                Ok(false) => {
                    if self.gave_up(PerfCounter::InternalDeleteSkippedCount) {
                        return;
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    /// Reads the versions of `saved_key` from the oldest on, leaving the source before the key; the newest
    /// one seen decides. True if there is a value to show.
    fn newest_seen_backward(&mut self) -> Result<bool> {
        #[derive(Clone, Copy, PartialEq)]
        enum Last {
            Nothing,
            Value,
            Entity,
            Blob,
        }
        let mut last = Last::Nothing;
        let mut operands: Vec<Pinned> = Vec::new();
        let mut base = Base::None;
        let mut shown_timestamp: Option<Vec<u8>> = None;
        let mut run = 0u64;
        while self.source.valid() {
            let (user_key, seq, kind) = key::split(self.source.key());
            if !self.same_key(user_key, &self.saved_key) {
                break;
            }
            run += 1;
            if run > self.view.max_sequential_skip {
                return self.newest_seen_by_seek();
            }
            let seen = seq <= self.view.seq && (self.timestamp_size == 0 || self.is_in_time(user_key));
            if !seen {
                self.source.prev();
                continue;
            }
            if self.timestamp_size > 0 {
                shown_timestamp = Some(user_key[user_key.len().saturating_sub(self.timestamp_size)..].to_vec());
            }
            let hidden = match &mut self.tombstones {
                Some(tombstones) => tombstones.covers(self.source.key(), self.view.seq)?,
                None => false,
            };
            let kind = if hidden { ValueType::Deletion } else { ValueType::from_u8(kind).ok_or_else(|| resolve::unknown_kind(kind))? };
            match kind {
                ValueType::Value | ValueType::ValuePreferredSeqno => {
                    operands.clear();
                    self.held.take(&self.source, resolve::value_suffix(kind));
                    last = Last::Value;
                }
                ValueType::WideColumnEntity => {
                    operands.clear();
                    self.held.take(&self.source, 0);
                    last = Last::Entity;
                }
                ValueType::BlobIndex => {
                    operands.clear();
                    last = Last::Blob;
                }
                ValueType::Merge => {
                    if operands.is_empty() {
                        base = match last {
                            Last::Nothing => Base::None,
                            Last::Value => Base::Value(self.held.pinned()),
                            Last::Entity => Base::Entity(self.held.pinned()),
                            Last::Blob => return Err(resolve::unsupported_blob()),
                        };
                    }
                    operands.push(self.source.pin_value());
                }
                other if !is_deletion(other as u8) => return Err(resolve::unknown_kind(other as u8)),
                _ => {
                    operands.clear();
                    last = Last::Nothing;
                }
            }
            self.source.prev();
        }
        if !self.source.valid() {
            self.source.status()?;
        }
        if let Some(timestamp) = shown_timestamp {
            let at = self.saved_key.len().saturating_sub(self.timestamp_size);
            self.saved_key.truncate(at);
            self.saved_key.extend_from_slice(&timestamp);
        }
        if !operands.is_empty() {
            self.show_merged(&base, &operands);
            return match self.error.take() {
                Some(error) => Err(error),
                None => Ok(true),
            };
        }
        match last {
            Last::Nothing => Ok(false),
            Last::Value => Ok(true),
            Last::Entity => {
                if format::wide::default_column(self.held.bytes())?.is_blob {
                    return Err(resolve::unsupported_blob());
                }
                self.entity = true;
                Ok(true)
            }
            Last::Blob => Err(resolve::unsupported_blob()),
        }
    }

    /// As `newest_seen_backward`, for a key with many versions: seeks the newest seen one, reads it
    /// forward, and goes back before the key.
    #[cold]
    fn newest_seen_by_seek(&mut self) -> Result<bool> {
        let saved = self.saved_key.clone();
        let bare_len = saved.len().saturating_sub(self.timestamp_size);
        seek_key(
            &mut self.seek_key,
            &saved[..bare_len],
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        self.source.seek(&self.seek_key);
        // Of older timestamps there can be versions newer than the snapshot.
        while self.source.valid()
            && key::sequence(self.source.key()) > self.view.seq
            && self.same_key(key::user_key(self.source.key()), &saved)
        {
            self.source.next();
        }
        let mut found = false;
        if self.source.valid() && self.same_key(key::user_key(self.source.key()), &saved) {
            let kind = key::trailer(self.source.key()) as u8;
            let hidden = match &mut self.tombstones {
                Some(tombstones) => tombstones.covers(self.source.key(), self.view.seq)?,
                None => false,
            };
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            match ValueType::from_u8(kind).ok_or_else(|| resolve::unknown_kind(kind))? {
                _ if hidden => {}
                kind @ (ValueType::Value | ValueType::ValuePreferredSeqno) => {
                    self.held.take(&self.source, resolve::value_suffix(kind));
                    found = true;
                }
                ValueType::WideColumnEntity => {
                    self.held.take(&self.source, 0);
                    self.entity = true;
                    found = true;
                }
                ValueType::BlobIndex => return Err(resolve::unsupported_blob()),
                ValueType::Merge => {
                    self.merge_forward();
                    if let Some(error) = self.error.take() {
                        return Err(error);
                    }
                    found = self.valid;
                    self.valid = false;
                }
                other if !is_deletion(other as u8) => return Err(resolve::unknown_kind(other as u8)),
                _ => {}
            }
        } else if !self.source.valid() {
            self.source.status()?;
        }
        seek_key(&mut self.seek_key, &saved[..bare_len], self.timestamp_size, u64::MAX, MAX_TS);
        self.source.seek_for_prev(&self.seek_key);
        self.place = Place::Saved;
        Ok(found)
    }
}
