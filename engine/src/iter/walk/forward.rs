//! The step to a larger key: the entries of a key come newest first, and the step shows the first visible
//! entry.

use base::Error;
use base::Pinned;
use base::iter::{Direction, InternalIterator};
use base::key::{self, SequenceNumber, ValueType, pack};
use base::stats::{Cause, PerfCounter, Step, perf_add};

use super::super::keys::{MIN_TS, has_prefix, is_deletion, seek_key, without_timestamp};
use super::search::{Search, ShownAt};
use crate::source::resolve::{self, Base, Found, Merging};

/// The number of hidden entries in one move after which the move is measured.
const HIDDEN_MIN: u64 = 16;

/// Which entries a step to a larger key skips.
struct Skip {
    /// True if the step skips all entries of `saved_key`.
    is_saved: bool,
    /// True if `saved_key` is the key of the last entry that is too new.
    is_too_new_saved: bool,
    /// The number of skipped entries of `saved_key` in a row.
    run: u64,
    /// The number of hidden entries that the watch has counted in this step.
    hidden: u64,
}

impl Skip {
    /// Moves past an older entry of `saved_key`. Returns true if too many entries were hidden: the walk then has an error.
    #[inline(always)]
    fn older<I: InternalIterator>(
        &mut self,
        search: &mut Search<I>,
        seq: SequenceNumber,
        seen: bool,
    ) -> bool {
        base::invariant!(
            search.same_key(key::user_key(search.source.key()), &search.saved_key),
            "an entry of another key is skipped as an older entry"
        );
        if let Some(watch) = &mut search.watch
            && seen
        {
            watch.hidden(seq, &mut self.hidden);
        }
        self.run += 1;
        if self.run > search.view.max_sequential_skip {
            self.run = 0;
            search.seek_past_saved();
        } else {
            search.source.next();
        }
        let counter =
            if seen { Some(PerfCounter::InternalKeySkippedCount) } else { search.view.unseen_counter(seq) };
        search.hides_too_many(counter)
    }

    /// Moves past an entry that is too new for the reader, and saves its key. Returns true if too many entries were hidden: the walk then
    /// has an error.
    #[inline(always)]
    fn too_new<I: InternalIterator>(
        &mut self,
        search: &mut Search<I>,
        seq: SequenceNumber,
        value_type: u8,
    ) -> bool {
        base::invariant!(
            !search.view.sees(seq) || search.timestamp_size > 0,
            "the visible entry at {seq} is skipped as too new"
        );
        if search.empty.looked && !is_deletion(value_type) {
            search.unseen_here();
        }
        let user_key = key::user_key(search.source.key());
        // The run counts the entries of one key: a seek does not skip many keys that are too new.
        if self.is_too_new_saved
            && search.view.order.compare_without_timestamp(user_key, &search.saved_key).is_eq()
        {
            self.run += 1;
        } else {
            search.saved_key.clear();
            search.saved_key.extend_from_slice(user_key);
            (self.is_too_new_saved, self.is_saved) = (true, false);
            self.run = 0;
        }
        if self.run > search.view.max_sequential_skip {
            self.run = 0;
            search.seek_seen_of_current();
        } else {
            search.source.next();
        }
        search.hides_too_many(search.view.unseen_counter(seq))
    }

    /// Moves past a visible tombstone. The key is deleted, so none of its older entries is visible. Returns true if too many entries were
    /// hidden: the walk then has an error.
    #[inline(always)]
    fn deleted<I: InternalIterator>(&mut self, search: &mut Search<I>, seq: SequenceNumber) -> bool {
        base::invariant!(search.view.sees(seq), "the tombstone at {seq} is not visible, and hides a key");
        if let Some(watch) = &mut search.watch {
            watch.hidden(seq, &mut self.hidden);
        }
        if seq.is_zero() && search.timestamp_size == 0 && search.view.max_skippable == 0 {
            self.is_saved = false;
        } else {
            search.saved_key.clear();
            search.saved_key.extend_from_slice(key::user_key(search.source.key()));
            (self.is_saved, self.is_too_new_saved) = (true, false);
            self.run = 0;
        }
        search.source.next();
        search.hides_too_many(Some(PerfCounter::InternalDeleteSkippedCount))
    }
}

/// Returns the error of a move that reads more hidden entries than `max_skippable_internal_keys`.
pub(super) fn too_many_hidden() -> Error {
    Error::incomplete("Too many internal keys skipped.")
}

impl<I: InternalIterator> Search<I> {
    /// Finds the next entry to show, from the position of the source. With `skip_saved`, skips all entries of
    /// `saved_key`.
    #[inline]
    pub(super) fn forward(&mut self, skip_saved: bool) {
        self.forward_of(skip_saved, false);
    }

    /// Does the work of [`Search::forward`] after a positioning call. With `is_target_saved`, `saved_key` is the key of the call, or
    /// the first key of the source. An entry of this key that is too new then counts for the seek in place of many steps from
    /// the first entry on. RocksDB always counts so; here only `max_skippable_internal_keys` needs it.
    pub(super) fn forward_from(&mut self, is_target_saved: bool) {
        self.forward_of(false, is_target_saved);
    }

    #[inline]
    fn forward_of(&mut self, skip_saved: bool, is_too_new_saved: bool) {
        self.find_forward(skip_saved, is_too_new_saved);
        base::invariant!(
            !self.valid || self.error.is_none(),
            "a step forward shows an entry and has an error"
        );
        if self.empty.step.is_some() {
            self.empty.step = None;
        }
        if self.empty.looked {
            self.looked(Direction::Forward);
        }
    }

    /// `is_too_new_saved`: true if `saved_key` is the key of the last entry that is too new.
    fn find_forward(&mut self, skip_saved: bool, is_too_new_saved: bool) {
        self.shown_at = ShownAt::Source;
        self.entity = false;
        self.timed = false;
        if let Some(convert) = &mut self.convert {
            convert.begin();
        }
        let mut skip = Skip { is_saved: skip_saved, is_too_new_saved, run: 0, hidden: 0 };
        loop {
            if !self.source.valid() {
                return self.end();
            }
            if self.counts.hidden_run >= self.empty.look_at {
                if self.look(Direction::Forward) {
                    return self.end();
                }
                continue;
            }
            let (user_key, seq, value_type) = key::split(self.source.key());
            if let Some(upper) = &self.view.upper
                && self
                    .view
                    .order
                    .compare_stripped(without_timestamp(user_key, self.timestamp_size), upper)
                    .is_ge()
            {
                return self.end();
            }
            if let Some(prefix) = &self.prefix
                && !has_prefix(&self.view, without_timestamp(user_key, self.timestamp_size), prefix)
            {
                return self.end();
            }
            let seen = self.view.sees(seq) && (self.timestamp_size == 0 || self.is_in_time(user_key));
            if skip.is_saved && self.same_key(user_key, &self.saved_key) {
                if skip.older(self, seq, seen) {
                    return;
                }
                continue;
            }
            if !seen {
                if skip.too_new(self, seq, value_type) {
                    return;
                }
                continue;
            }
            const VALUE: u8 = ValueType::Value as u8;
            const TIMED: u8 = ValueType::ValuePreferredSeqno as u8;
            const MERGE: u8 = ValueType::Merge as u8;
            const ENTITY: u8 = ValueType::WideColumnEntity as u8;
            const BLOB: u8 = ValueType::BlobIndex as u8;
            if let Some(convert) = &mut self.convert {
                if is_deletion(value_type) { convert.deleted(user_key) } else { convert.live(user_key) }
            }
            match value_type {
                _ if self.view.start_timestamp.is_some()
                    && (value_type == MERGE || is_deletion(value_type)) =>
                {
                    self.valid = true;
                    self.counts.hidden_run = 0;
                    return;
                }
                VALUE | TIMED => {
                    self.valid = true;
                    self.timed = value_type == TIMED;
                    self.counts.hidden_run = 0;
                    return;
                }
                ENTITY => return self.show_entity(),
                MERGE => return self.merge_forward(),
                BLOB => return self.show_blob(),
                _ if !is_deletion(value_type) => return self.fail(resolve::unknown_value_type(value_type)),
                _ if skip.deleted(self, seq) => return,
                _ => {}
            }
        }
    }

    #[inline]
    pub(super) fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        if self.timestamp_size == 0 {
            self.view.order.equal(a, b)
        } else if self.view.start_timestamp.is_some() {
            // With `iter_start_ts`, each timestamp of a key is shown as a key of its own.
            a == b
        } else {
            self.view.order.compare_without_timestamp(a, b).is_eq()
        }
    }

    pub(super) fn is_in_time(&self, user_key: &[u8]) -> bool {
        let (order, timestamp) = (&self.view.order, key::timestamp(user_key, self.timestamp_size));
        order.compare_timestamp(timestamp, &self.view.timestamp).is_le()
            && self
                .view
                .start_timestamp
                .as_ref()
                .is_none_or(|start| order.compare_timestamp(timestamp, start).is_ge())
    }

    /// Counts a hidden entry. Returns true if too many entries were hidden: the walk then has an error.
    #[inline]
    fn hides_too_many(&mut self, why: Option<PerfCounter>) -> bool {
        passed(self, why);
        has_hidden_too_many(self)
    }

    /// Moves the source past all entries of `saved_key`.
    #[cold]
    fn seek_past_saved(&mut self) {
        self.counts.reseeks += 1;
        let without_timestamp = key::without_timestamp(&self.saved_key, self.timestamp_size);
        seek_key(&mut self.seek_key, without_timestamp, self.timestamp_size, 0, MIN_TS);
        self.source.seek_total(&self.seek_key);
        // The seek finds an entry with sequence number 0 and the oldest timestamp, so skip it too.
        while self.source.valid() && self.same_key(key::user_key(self.source.key()), &self.saved_key) {
            self.source.next();
        }
    }

    /// The source stands on an entry that is too new. Moves it to the newest visible entry of the key.
    #[cold]
    fn seek_seen_of_current(&mut self) {
        if self.empty.looked {
            // The seek may skip live entries.
            self.unseen_here();
        }
        let user_key = key::user_key(self.source.key());
        let target = key::without_timestamp(user_key, self.timestamp_size).to_vec();
        seek_key(
            &mut self.seek_key,
            &target,
            self.timestamp_size,
            pack(self.view.seq, key::TYPE_FOR_SEEK),
            &self.view.timestamp,
        );
        let here = base::key::InternalOrder::new(self.view.order.clone());
        if here.compare(&self.seek_key, self.source.key()).is_gt() {
            self.counts.reseeks += 1;
            self.source.seek_total(&self.seek_key);
        } else {
            self.source.next();
        }
    }

    fn show_entity(&mut self) {
        if format::wide::may_have_blobs(self.source.value()) {
            return self.show_entity_with_blobs();
        }
        match format::wide::default_column(self.source.value()) {
            Ok(_) => {
                self.valid = true;
                self.entity = true;
                self.counts.hidden_run = 0;
            }
            // An entity without a default column has an empty value; an entity that does not decode is an error.
            Err(error) => self.fail(error),
        }
    }

    /// Merges the operands of a key with the base value. The source stands on the newest visible operand.
    pub(super) fn merge_forward(&mut self) {
        self.saved_key.clear();
        self.saved_key.extend_from_slice(key::user_key(self.source.key()));
        self.saved_trailer = key::trailer(self.source.key());
        base::invariant!(
            self.saved_trailer as u8 == ValueType::Merge as u8,
            "a merge begins at an entry of the type {:#x}",
            self.saved_trailer as u8
        );
        // An error drops this memory; the next merge allocates again.
        let mut operands = std::mem::take(&mut self.operands);
        base::invariant!(operands.is_empty(), "{} merge operands of another key are left", operands.len());
        base::invariant!(
            key::trailer(self.source.key()) as u8 == ValueType::Merge as u8,
            "a merge begins at an entry of the type {:#x}",
            key::trailer(self.source.key()) as u8
        );
        operands.push(self.source.pin_value());
        self.source.next();
        let mut base = Base::None;
        while self.source.valid() {
            let (user_key, seq, value_type) = key::split(self.source.key());
            if !self.same_key(user_key, &self.saved_key) {
                break;
            }
            // With timestamps, an entry with an older timestamp can be newer than the snapshot.
            let may_be_unseen = self.view.visibility.is_some() || self.timestamp_size > 0;
            if may_be_unseen && !self.view.sees(seq) {
                self.source.next();
                continue;
            }
            match ValueType::from_u8(value_type) {
                Some(ValueType::Merge) => operands.push(self.source.pin_value()),
                Some(ValueType::Value) => base = Base::Value(self.source.pin_value()),
                Some(ValueType::ValuePreferredSeqno) => {
                    match resolve::without_preferred_seq(self.source.pin_value()) {
                        Ok(value) => base = Base::Value(value),
                        Err(error) => return self.fail(error),
                    }
                }
                Some(ValueType::WideColumnEntity) => {
                    match self.whole_entity(user_key, self.source.pin_value()) {
                        Ok(entity) => base = Base::Entity(entity),
                        Err(error) => return self.fail(error),
                    }
                }
                Some(ValueType::BlobIndex) => match self.blob(user_key, self.source.value()) {
                    Ok(value) => base = Base::Value(value),
                    Err(error) => return self.fail(error),
                },
                _ if !is_deletion(value_type) => return self.fail(resolve::unknown_value_type(value_type)),
                _ => {}
            }
            self.source.next();
            if value_type != ValueType::Merge as u8 {
                // The next move does not skip this entry again.
                break;
            }
        }
        perf_add(PerfCounter::InternalMergeCount, operands.len() as u64);
        if !self.source.valid()
            && let Err(error) = self.source.status()
        {
            return self.fail(error);
        }
        operands.reverse();
        self.show_merged(base, operands);
    }

    /// Shows the result of merging `operands`, oldest first, with the base. Keeps the memory of `operands`.
    pub(super) fn show_merged(&mut self, base: Base, mut operands: Vec<Pinned>) {
        base::invariant!(!operands.is_empty(), "a merge has no operands");
        let without_timestamp = without_timestamp(&self.saved_key, self.timestamp_size);
        if self.scratch.out.capacity() == 0 {
            // Use the memory of the last merged value again: that entry is not shown any more.
            self.scratch.out = self.held.reclaim();
        }
        let how = Merging {
            operator: self.view.merge_operator.as_ref(),
            statistics: self.view.statistics.as_ref(),
            is_read: true,
        };
        let merged = resolve::merge(how, without_timestamp, base, &mut operands, &mut self.scratch);
        operands.clear();
        self.operands = operands;
        match merged {
            Ok(found) => {
                self.entity = matches!(found, Found::Entity(_));
                let (Found::Value(value) | Found::Entity(value)) = found;
                self.held.set(value);
                self.shown_at = ShownAt::Saved;
                self.valid = true;
                self.counts.hidden_run = 0;
            }
            Err(error) => self.fail(error),
        }
    }
}

/// Counts an entry that the walk passes and does not show.
#[inline]
pub(super) fn passed<I: InternalIterator>(search: &mut Search<I>, why: Option<PerfCounter>) {
    search.counts.skips += 1;
    if let Some(why) = why {
        perf_add(why, 1);
    }
}

/// Adds to the number of hidden entries in a row.
#[inline]
pub(super) fn count_hidden<I: InternalIterator>(search: &mut Search<I>) {
    search.counts.hidden_run += 1;
    if search.counts.hidden_run == HIDDEN_MIN {
        search.empty.step = Some(Step::begin(Cause::Tombstones));
    }
}

/// Adds to the number of hidden entries in a row of a step to a larger key. Returns true if there are too many: the walk then
/// has an error.
#[inline]
fn has_hidden_too_many<I: InternalIterator>(search: &mut Search<I>) -> bool {
    count_hidden(search);
    search.view.max_skippable > 0
        && search.counts.hidden_run > search.view.max_skippable
        && fails_if_more(search)
}

/// Fails if another entry follows before the end of the iteration. Called after too many hidden entries.
#[cold]
fn fails_if_more<I: InternalIterator>(search: &mut Search<I>) -> bool {
    if !search.source.valid() {
        return false;
    }
    let user_key = without_timestamp(key::user_key(search.source.key()), search.timestamp_size);
    let beyond = |upper: &[u8]| search.view.order.compare_stripped(user_key, upper).is_ge();
    let has_left = |prefix: &[u8]| !has_prefix(&search.view, user_key, prefix);
    if search.view.upper.as_deref().is_some_and(beyond) || search.prefix.as_deref().is_some_and(has_left) {
        return false;
    }
    search.fail(too_many_hidden());
    true
}
