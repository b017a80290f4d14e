//! The step to a smaller key: the entries of a key come oldest first, so the step reads every entry of the
//! key.

use base::iter::{Direction, InternalIterator};
use base::key::{self, SequenceNumber, ValueType, pack};
use base::stats::{PerfCounter, perf_add};
use base::{Pinned, Result};

use super::super::keys::{MAX_TS, has_prefix, is_deletion, seek_key, without_timestamp};
use super::forward::{count_hidden, passed, too_many_hidden};
use super::search::{Search, ShownAt};
use crate::source::resolve::{self, Base};

/// The newest entry of a key that a step backward has read, if the entry is no merge operand.
#[derive(Clone, Copy)]
enum Last {
    Nothing,
    Value,
    Entity,
    Blob,
}

/// What the visible entries of a key say that a step backward has read.
struct Newest {
    last: Last,
    /// The value before the oldest of `operands`.
    base: Base,
    /// The merge operands after `last`, oldest first.
    operands: Vec<Pinned>,
    /// The user key, with timestamp, of the newest entry whose value or columns may be in blob files.
    blob_key: Vec<u8>,
}

impl Newest {
    /// Takes the entry of the source: a visible entry that is newer than the entries before.
    #[inline(always)]
    fn take<I: InternalIterator>(&mut self, search: &mut Search<I>, value_type: u8) -> Result<()> {
        base::invariant!(
            search.view.sees(key::sequence(search.source.key())),
            "a step backward shows an entry that the reader does not see"
        );
        // With a merge operator, a value may be the base of a merge: pin it, because a merge would copy it again.
        let pin = search.view.merge_operator.is_some();
        match ValueType::from_u8(value_type).ok_or_else(|| resolve::unknown_value_type(value_type))? {
            value_type
                if search.view.start_timestamp.is_some()
                    && (value_type == ValueType::Merge || is_deletion(value_type as u8)) =>
            {
                search.held.take(&search.source, 0, pin);
                self.last = Last::Value;
            }
            value_type @ (ValueType::Value | ValueType::ValuePreferredSeqno) => {
                self.operands.clear();
                search.held.take(&search.source, resolve::value_suffix(value_type), pin);
                self.last = Last::Value;
            }
            ValueType::WideColumnEntity => {
                self.operands.clear();
                search.held.take(&search.source, 0, pin);
                self.blob_key = key::user_key(search.source.key()).to_vec();
                self.last = Last::Entity;
            }
            ValueType::BlobIndex => {
                self.operands.clear();
                search.held.take(&search.source, 0, false);
                self.blob_key = key::user_key(search.source.key()).to_vec();
                self.last = Last::Blob;
            }
            ValueType::Merge => {
                if self.operands.is_empty() {
                    self.base = match self.last {
                        Last::Nothing => Base::None,
                        Last::Value => Base::Value(search.held.pinned()),
                        Last::Entity => {
                            Base::Entity(search.whole_entity(&self.blob_key, search.held.pinned())?)
                        }
                        Last::Blob => Base::Value(search.blob(&self.blob_key, search.held.bytes())?),
                    };
                }
                self.operands.push(search.source.pin_value());
                perf_add(PerfCounter::InternalMergeCount, 1);
            }
            other if !is_deletion(other as u8) => return Err(resolve::unknown_value_type(other as u8)),
            _ => {
                perf_add(PerfCounter::InternalDeleteSkippedCount, 1);
                self.operands.clear();
                self.last = Last::Nothing;
            }
        }
        Ok(())
    }
}

/// The numbers of entries of one key that a step backward has read.
#[derive(Default)]
struct Runs {
    seen: u64,
    unseen: u64,
}

/// How a step backward continues after an entry.
enum Passed {
    /// The reader sees the entry.
    Seen,
    /// The reader does not see the entry.
    Unseen,
    /// Too many entries were unseen, and all that are left are unseen too.
    OnlyNewerLeft,
    /// The key has too many entries: a seek finds the newest that the reader sees.
    TooMany,
}

impl<I: InternalIterator> Search<I> {
    /// Finds the previous key to show, from the position of the source. Then the source stands before this key. `start` is the
    /// number of skipped entries before this step.
    pub(super) fn backward(&mut self, start: u64) {
        self.find_backward(start);
        base::invariant!(
            !self.valid || self.error.is_none(),
            "a step backward shows an entry and has an error"
        );
        self.empty.step.take();
        if self.empty.looked {
            self.looked(Direction::Backward);
        }
    }

    fn find_backward(&mut self, start: u64) {
        self.shown_at = ShownAt::Saved;
        self.valid = false;
        self.entity = false;
        loop {
            if !self.source.valid() {
                return self.end();
            }
            if self.counts.hidden_run >= self.empty.look_at {
                if self.look(Direction::Backward) {
                    return self.end();
                }
                continue;
            }
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            let stripped = without_timestamp(&self.saved_key, self.timestamp_size);
            if let Some(lower) = &self.view.lower
                && self.view.order.compare_stripped(stripped, lower).is_lt()
            {
                return self.end();
            }
            if let Some(prefix) = &self.prefix
                && !has_prefix(&self.view, stripped, prefix)
            {
                return self.end();
            }
            match self.newest_seen_backward(start) {
                Ok(true) => {
                    self.valid = true;
                    base::invariant!(
                        self.shown_at != ShownAt::Source,
                        "a step backward shows the entry of its source, which is before it"
                    );
                    self.counts.hidden_run = 0;
                    // The entries of the key were counted, with the entry that is shown.
                    self.counts.skips = self.counts.skips.saturating_sub(1);
                    return;
                }
                Ok(false) => {
                    count_hidden(self);
                    if has_read_too_many(self, start) {
                        return self.fail(too_many_hidden());
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    /// Reads all entries of `saved_key`, oldest first. Then the source stands before the key. The newest visible
    /// entry decides. Returns true if there is a value to show. `start` is the number of skipped entries before this step.
    fn newest_seen_backward(&mut self, start: u64) -> Result<bool> {
        let operands = std::mem::take(&mut self.operands);
        let mut newest = Newest { last: Last::Nothing, base: Base::None, operands, blob_key: Vec::new() };
        let mut shown_timestamp: Option<Vec<u8>> = None;
        let mut runs = Runs::default();
        while self.source.valid() {
            let (user_key, seq, value_type) = key::split(self.source.key());
            if !self.same_key(user_key, &self.saved_key) {
                break;
            }
            if has_read_too_many(self, start) {
                return Err(too_many_hidden());
            }
            let seen = self.view.sees(seq) && (self.timestamp_size == 0 || self.is_in_time(user_key));
            match pass(self, (seq, value_type, seen), &mut runs) {
                Passed::Seen => {}
                Passed::Unseen => {
                    self.source.prev();
                    continue;
                }
                Passed::OnlyNewerLeft => {
                    seek_before_saved(self);
                    break;
                }
                Passed::TooMany => {
                    newest.operands.clear();
                    self.operands = newest.operands;
                    return self.newest_seen_by_seek(start);
                }
            }
            if self.timestamp_size > 0 {
                let user_key = key::user_key(self.source.key());
                shown_timestamp = Some(key::timestamp(user_key, self.timestamp_size).to_vec());
            }
            self.saved_trailer = pack(seq, value_type);
            newest.take(self, value_type)?;
            self.source.prev();
        }
        if !self.source.valid() {
            self.source.status()?;
        }
        if let Some(timestamp) = shown_timestamp {
            let at = key::without_timestamp(&self.saved_key, self.timestamp_size).len();
            self.saved_key.truncate(at);
            self.saved_key.extend_from_slice(&timestamp);
        }
        let Newest { last, base, operands, .. } = newest;
        if !operands.is_empty() {
            self.show_merged(base, operands);
            return self.error.take().map_or(Ok(true), Err);
        }
        self.operands = operands;
        match last {
            Last::Nothing => Ok(false),
            Last::Value => Ok(true),
            Last::Entity => self.show_held_entity().map(|()| true),
            Last::Blob => self.hold_blob().map(|()| true),
        }
    }

    /// Does the work of `newest_seen_backward` for a key with many entries: seeks the newest visible entry, reads
    /// from there forward, and moves before the key. `start` is the number of skipped entries before this step.
    #[cold]
    fn newest_seen_by_seek(&mut self, start: u64) -> Result<bool> {
        self.counts.reseeks += 1;
        // An error drops this memory; the next call allocates again.
        let mut saved = std::mem::take(&mut self.spare_key);
        saved.clear();
        saved.extend_from_slice(&self.saved_key);
        // This function does not read the newer entries of the key.
        if self.empty.looked {
            self.unseen_at(&saved);
        }
        self.seek_newest_seen(&saved);
        let mut found = false;
        if self.source.valid() && self.same_key(key::user_key(self.source.key()), &saved) {
            if self.view.max_skippable == 0 {
                // RocksDB counts the entry again: its step to the key before starts here.
                passed(self, Some(PerfCounter::InternalKeySkippedCount));
            }
            base::invariant!(
                self.view.sees(key::sequence(self.source.key())),
                "a seek finds an entry that the reader does not see"
            );
            self.saved_trailer = key::trailer(self.source.key());
            let value_type = self.saved_trailer as u8;
            self.saved_key.clear();
            self.saved_key.extend_from_slice(key::user_key(self.source.key()));
            match ValueType::from_u8(value_type).ok_or_else(|| resolve::unknown_value_type(value_type))? {
                value_type @ (ValueType::Value | ValueType::ValuePreferredSeqno) => {
                    self.held.take(&self.source, resolve::value_suffix(value_type), false);
                    found = true;
                }
                ValueType::WideColumnEntity => {
                    self.held.take(&self.source, 0, false);
                    self.show_held_entity()?;
                    found = true;
                }
                ValueType::BlobIndex => {
                    self.held.take(&self.source, 0, false);
                    self.hold_blob()?;
                    found = true;
                }
                ValueType::Merge => {
                    self.merge_forward();
                    if let Some(error) = self.error.take() {
                        return Err(error);
                    }
                    found = self.valid;
                    self.valid = false;
                    if self.view.max_skippable > 0 {
                        seek_end_of_merge(self, &saved);
                    }
                }
                other if !is_deletion(other as u8) => return Err(resolve::unknown_value_type(other as u8)),
                _ => {}
            }
        } else if !self.source.valid() {
            self.source.status()?;
        }
        if self.view.max_skippable > 0 && self.source.valid() {
            step_before_saved(self, start)?;
        } else {
            let stripped = without_timestamp(&saved, self.timestamp_size);
            seek_key(&mut self.seek_key, stripped, self.timestamp_size, u64::MAX, MAX_TS);
            self.source.seek_total_for_prev(&self.seek_key);
        }
        self.spare_key = saved;
        if self.shown_at == ShownAt::Source {
            self.shown_at = ShownAt::Saved;
        }
        Ok(found)
    }

    /// Moves the source to the newest visible entry of `saved`, or after all entries of the key if no entry is visible.
    fn seek_newest_seen(&mut self, saved: &[u8]) {
        seek_key(
            &mut self.seek_key,
            without_timestamp(saved, self.timestamp_size),
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        self.source.seek_total(&self.seek_key);
        // Entries with older timestamps can be newer than the snapshot.
        while self.source.valid()
            && !self.view.sees(key::sequence(self.source.key()))
            && self.same_key(key::user_key(self.source.key()), saved)
        {
            self.source.next();
        }
    }

    /// Shows the entity in `held`.
    fn show_held_entity(&mut self) -> Result<()> {
        let whole = match format::wide::may_have_blobs(self.held.bytes()) {
            true => Some(self.whole_entity(&self.saved_key, self.held.pinned())?),
            false => None,
        };
        if let Some(whole) = whole {
            self.held.set(whole);
        }
        format::wide::default_column(self.held.bytes())?;
        self.entity = true;
        Ok(())
    }

    /// Shows the entry of `saved_key` whose blob index is in `held`. Reads the value, unless values are read
    /// lazily.
    fn hold_blob(&mut self) -> Result<()> {
        self.show_saved_blob();
        self.valid = false;
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Counts an entry of `saved_key`. Returns how the walk continues.
#[inline]
fn pass<I: InternalIterator>(
    search: &mut Search<I>,
    (seq, value_type, seen): (SequenceNumber, u8, bool),
    runs: &mut Runs,
) -> Passed {
    if seen {
        runs.seen += 1;
    } else {
        runs.unseen += 1;
    }
    let only_newer = search.view.hides_only_newer();
    let run = match (only_newer, seen) {
        (true, true) => runs.seen,
        (true, false) => runs.unseen,
        (false, _) => runs.seen + runs.unseen,
    };
    let is_too_many = run > search.view.max_sequential_skip;
    passed(
        search,
        match (seen, is_too_many) {
            (true, false) => Some(PerfCounter::InternalKeySkippedCount),
            (true, true) => None,
            (false, _) => search.view.unseen_counter(seq),
        },
    );
    if !seen && search.empty.looked && !is_deletion(value_type) {
        search.unseen_here();
    }
    match (seen, is_too_many) {
        (true, false) => Passed::Seen,
        (false, false) => Passed::Unseen,
        (false, true) if only_newer => Passed::OnlyNewerLeft,
        (_, true) => Passed::TooMany,
    }
}

/// Moves the source before all entries of `saved_key`, in place of many steps over entries that are too new.
#[cold]
fn seek_before_saved<I: InternalIterator>(search: &mut Search<I>) {
    search.counts.reseeks += 1;
    let saved = std::mem::take(&mut search.saved_key);
    if search.empty.looked {
        // The seek may skip live entries.
        search.unseen_at(&saved);
    }
    let stripped = without_timestamp(&saved, search.timestamp_size);
    seek_key(&mut search.seek_key, stripped, search.timestamp_size, u64::MAX, MAX_TS);
    search.source.seek_total_for_prev(&search.seek_key);
    search.saved_key = saved;
}

/// Moves the source to the entry after which a merge of `saved` reads no more: the base value or the tombstone. Without
/// both, to the first entry after the key; at the end of the source, to the newest visible entry of the key.
fn seek_end_of_merge<I: InternalIterator>(search: &mut Search<I>, saved: &[u8]) {
    search.seek_newest_seen(saved);
    while search.source.valid() {
        let (user_key, seq, value_type) = key::split(search.source.key());
        let is_operand = value_type == ValueType::Merge as u8;
        if !search.same_key(user_key, saved) || (search.view.sees(seq) && !is_operand) {
            return;
        }
        search.source.next();
    }
    search.seek_newest_seen(saved);
}

/// Moves the source before all entries of `saved_key`, one entry at a time. `max_skippable_internal_keys` limits the entries
/// that the step passes, as in RocksDB's `FindUserKeyBeforeSavedKey`. `start` is the number of skipped entries before the move of
/// the application.
///
/// # Errors
/// Incomplete after too many entries. The errors of the source.
#[cold]
pub(super) fn step_before_saved<I: InternalIterator>(search: &mut Search<I>, start: u64) -> Result<()> {
    let mut run = 0u64;
    while search.source.valid() {
        let (user_key, seq, _) = key::split(search.source.key());
        let order = &search.view.order;
        let place = match &search.view.start_timestamp {
            Some(_) => order.compare(user_key, &search.saved_key),
            None => order.compare_without_timestamp(user_key, &search.saved_key),
        };
        if place.is_lt() {
            return Ok(());
        }
        if has_read_too_many(search, start) {
            return Err(too_many_hidden());
        }
        let seen = search.view.sees(seq) && (search.timestamp_size == 0 || search.is_in_time(user_key));
        let counter = match seen {
            true => Some(PerfCounter::InternalKeySkippedCount),
            false => search.view.unseen_counter(seq),
        };
        passed(search, counter);
        run += 1;
        if run > search.view.max_sequential_skip {
            run = 0;
            seek_before_saved(search);
        } else {
            search.source.prev();
        }
    }
    search.source.status()
}

/// Returns true if a step backward has read more entries than `max_skippable_internal_keys`. The step skipped all entries
/// after the first `start`.
#[inline]
fn has_read_too_many<I: InternalIterator>(search: &Search<I>, start: u64) -> bool {
    // `skips` can be below `start`: a step that returns an entry subtracts this entry, which may have been counted before `start`.
    search.view.max_skippable > 0 && search.counts.skips.saturating_sub(start) > search.view.max_skippable
}
