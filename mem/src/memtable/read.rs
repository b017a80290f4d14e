//! Lookups of keys.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::Pinned;
use base::error::Result;
use base::invariant::{FastPath, takes_slow_path};
use base::key::{MAX_SEQUENCE, SequenceNumber, TYPE_FOR_SEEK, ValueType, pack, sequence_of};
use base::stats::{PerfCounter, perf_add};

use crate::rep::entry::{Bound, Entry, Target};
use crate::rep::tree::{Cursor, Found, GROUP, Tree};
use crate::rep::vector::Vector;

use super::checked::Checks;
use super::inplace::Cells;
use super::{MemTable, Pins, Rep};

/// One entry of a key, as [`MemTable::get`] passes it to the visitor.
#[derive(Clone, Copy)]
pub struct FoundEntry<'a> {
    /// The stored key, timestamp included.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub seq: SequenceNumber,
    /// The value type.
    pub value_type: ValueType,
    /// The value.
    pub value: &'a [u8],
    table: &'a MemTable,
    /// The place of the entry, or 0 if `value` is a copy of a value that may be overwritten.
    place: u64,
}

impl FoundEntry<'_> {
    /// Returns the value without a copy; `table` keeps the value alive. Copies the value if the entry is in
    /// another memtable, or if a put may overwrite the value.
    pub fn pin(&self, table: &Arc<MemTable>) -> Pinned {
        if self.place != 0 && std::ptr::eq(self.table, &raw const **table) {
            Pinned::region(Pins::of(table), self.place)
        } else {
            Pinned::copy(self.value)
        }
    }
}

impl MemTable {
    /// Returns the checks of searches and iterations.
    #[inline]
    pub(super) fn checks(&self) -> Checks<'_> {
        Checks { entries: &self.entries, options: &self.options }
    }

    /// Passes the entries of `user_key` that are visible at `seq` to `visit`, newest first, until `visit`
    /// breaks. If the order has timestamps, skips entries with a timestamp after the timestamp of `user_key`.
    /// Ignores range tombstones; see [`MemTable::max_covering_tombstone`].
    ///
    /// # Errors
    /// Corruption if an entry does not match its protection bytes.
    pub fn get(
        &self,
        user_key: &[u8],
        seq: SequenceNumber,
        visit: impl FnMut(FoundEntry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        if self.definitely_misses(self.entries.without_timestamp(user_key)) {
            return Ok(());
        }
        let target = self.entries.target(user_key, pack(seq, TYPE_FOR_SEEK));
        let mut answer =
            Answer { table: self, user_key, seq, visit, result: Ok(()), last: None, compared: 0 };
        match &self.rep {
            Rep::Tree(tree) if self.checks().are_on() => answer.search_checked(tree, &target),
            Rep::Tree(tree) => answer.search_tree(tree, &target, None),
            Rep::Vector(vector) => answer.search_vector(vector, &target),
        }
        perf_add(PerfCounter::UserKeyComparisonCount, answer.compared);
        answer.result
    }

    /// Does [`MemTable::get`] for many keys, with overlapping searches. `visit` gets the index of the key.
    /// The keys are visited in the given order, and all entries of one key together.
    ///
    /// # Errors
    /// The errors of [`MemTable::get`]. The first error ends the call.
    pub fn multi_get(
        &self,
        user_keys: &[&[u8]],
        seq: SequenceNumber,
        mut visit: impl FnMut(usize, FoundEntry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        let alone = self.checks().are_on()
            || user_keys.first().is_some_and(|key| takes_slow_path(FastPath::KeyList, key));
        let Some(tree) = self.rep.tree().filter(|_| !alone) else {
            return user_keys.iter().enumerate().try_for_each(|(i, key)| self.get(key, seq, |v| visit(i, v)));
        };
        let mut targets: Vec<Target<'_>> = Vec::with_capacity(GROUP);
        let mut indexes: Vec<usize> = Vec::with_capacity(GROUP);
        let mut found: Vec<Found> = Vec::with_capacity(GROUP);
        let mut keys = user_keys.iter().enumerate().peekable();
        while keys.peek().is_some() {
            targets.clear();
            indexes.clear();
            found.clear();
            while targets.len() < GROUP
                && let Some((i, key)) = keys.next()
            {
                if !self.definitely_misses(self.entries.without_timestamp(key)) {
                    targets.push(self.entries.target(key, pack(seq, TYPE_FOR_SEEK)));
                    indexes.push(i);
                }
            }
            tree.find_many(&self.entries, &targets, &mut found);
            base::invariant!(
                found.len() == targets.len(),
                "{} of {} keys are looked up",
                found.len(),
                targets.len()
            );
            for ((&i, target), &found) in indexes.iter().zip(&targets).zip(&found) {
                let visit = |found: FoundEntry<'_>| visit(i, found);
                let user_key = target.user_key;
                let mut answer =
                    Answer { table: self, user_key, seq, visit, result: Ok(()), last: None, compared: 0 };
                answer.search_tree(tree, target, Some(found));
                perf_add(PerfCounter::UserKeyComparisonCount, answer.compared);
                answer.result?;
            }
        }
        Ok(())
    }

    /// Passes the first entry at or after `user_key` to `visit`. This is the newest entry of the key, if the
    /// key has an entry.
    ///
    /// # Errors
    /// Corruption if a checked search fails, or if the entry does not match its protection bytes.
    pub(super) fn newest<'a>(&'a self, user_key: &[u8], visit: impl FnOnce(Entry<'a>)) -> Result<()> {
        if self.definitely_misses(self.entries.without_timestamp(user_key)) {
            return Ok(());
        }
        let target = self.entries.target(user_key, pack(MAX_SEQUENCE, TYPE_FOR_SEEK));
        let place = match &self.rep {
            Rep::Tree(tree) => {
                let mut cursor = Cursor::new();
                cursor.seek(tree, &self.entries, &target);
                if self.checks().are_on() {
                    self.checks().check_search(&cursor, &target)?;
                }
                cursor.place()
            }
            Rep::Vector(vector) => {
                let sorted = vector.sorted(&self.entries);
                let at = Vector::partition(&sorted, &self.entries, &target, Bound::AtOrAfter);
                sorted.get(at).copied().unwrap_or(0)
            }
        };
        if place != 0 {
            // SAFETY: the rep returned this place. It was published with Release, or under the lock of the vector, before the search.
            let entry = unsafe { self.entries.entry(place) };
            self.entries.verify(&entry)?;
            visit(entry);
        }
        Ok(())
    }

    /// Returns true if the Bloom filter excludes `user_key` (without timestamp). Returns false if there is no
    /// filter.
    #[inline]
    pub fn definitely_misses(&self, user_key: &[u8]) -> bool {
        let Some(bloom) = &self.bloom else { return false };
        if self.options.whole_key_filtering {
            return !bloom.may_contain(user_key);
        }
        self.prefix_definitely_misses(user_key)
    }

    /// Returns true if there is a Bloom filter that [`MemTable::definitely_misses`] asks for `user_key`
    /// (without timestamp).
    #[inline]
    pub fn asks_bloom(&self, user_key: &[u8]) -> bool {
        let prefix = |e: &Arc<dyn base::order::PrefixExtractor>| e.prefix(user_key).is_some();
        self.bloom.is_some()
            && (self.options.whole_key_filtering
                || self.options.prefix_extractor.as_ref().is_some_and(prefix))
    }

    /// Returns true if the Bloom filter excludes all keys with the prefix of `user_key` (without timestamp).
    /// Returns false if the filter contains no prefixes.
    pub fn prefix_definitely_misses(&self, user_key: &[u8]) -> bool {
        let (Some(bloom), Some(extractor)) = (&self.bloom, &self.options.prefix_extractor) else {
            return false;
        };
        extractor.prefix(user_key).is_some_and(|prefix| !bloom.may_contain(&prefix))
    }
}

/// A lookup in progress.
struct Answer<'a, 'k, F> {
    table: &'a MemTable,
    user_key: &'k [u8],
    seq: SequenceNumber,
    visit: F,
    result: Result<()>,
    /// The last visited entry. If a writer changes the leaf during the lookup, the search continues after
    /// this entry.
    last: Option<Entry<'a>>,
    /// The number of comparisons of whole user keys. The search compares the first bytes of keys as numbers, and
    /// these comparisons are not counted.
    compared: u64,
}

impl<'a, F: FnMut(FoundEntry<'_>) -> ControlFlow<()>> Answer<'a, '_, F> {
    #[inline]
    fn search_tree(&mut self, tree: &Tree, target: &Target<'_>, found: Option<Found>) {
        let entries = &self.table.entries;
        let mut found = found.unwrap_or_else(|| tree.find(entries, target, Bound::AtOrAfter));
        while !tree.visit(entries, found, |entry, place| self.take(entry, u64::from(place))) {
            found = match self.last {
                None => tree.find(entries, target, Bound::AtOrAfter),
                Some(last) => {
                    let target = entries.target(last.user_key(), last.trailer());
                    tree.find(entries, &target, Bound::After)
                }
            };
        }
    }

    #[cold]
    fn search_checked(&mut self, tree: &Tree, target: &Target<'_>) {
        let entries = &self.table.entries;
        let mut cursor = Cursor::new();
        cursor.seek(tree, entries, target);
        self.result = self.table.checks().check_search(&cursor, target);
        let mut before: Option<Entry<'a>> = None;
        while self.result.is_ok() && cursor.place() != 0 {
            // SAFETY: the tree returned this place, so the entry was published with Release before the cursor read the place with Acquire.
            let entry = unsafe { entries.entry(cursor.place()) };
            self.result = before.map_or(Ok(()), |before| self.table.checks().check_order(&before, &entry));
            if self.result.is_err() || !self.take(entry, u64::from(cursor.place())) {
                return;
            }
            before = Some(entry);
            cursor.next(tree, entries);
        }
    }

    fn search_vector(&mut self, vector: &Vector, target: &Target<'_>) {
        let entries = &self.table.entries;
        let sorted = vector.sorted(entries);
        for &place in &sorted[Vector::partition(&sorted, entries, target, Bound::AtOrAfter)..] {
            // SAFETY: the place came from `Vector::sorted`.
            if !self.take(unsafe { entries.entry(place) }, u64::from(place)) {
                break;
            }
        }
    }

    /// Visits one entry. Returns false if the lookup ends here: the entry has another key, is corrupt, or
    /// `visit` breaks.
    #[inline]
    fn take(&mut self, entry: Entry<'a>, place: u64) -> bool {
        self.compared += 1;
        let order = &self.table.entries.order.user;
        let same = match order {
            base::Order::Custom(order) => {
                order.compare_without_timestamp(entry.user_key(), self.user_key).is_eq()
            }
            _ => entry.user_key() == self.user_key,
        };
        if !same {
            return false;
        }
        base::invariant!(
            self.last.is_none_or(|last| self
                .table
                .entries
                .order
                .compare(last.internal_key, entry.internal_key)
                .is_lt()),
            "a read of a memtable comes to a newer entry after an older entry"
        );
        self.last = Some(entry);
        if let Err(error) = self.table.entries.verify(&entry) {
            self.result = Err(error);
            return false;
        }
        let trailer = entry.trailer();
        let Some(value_type) = ValueType::from_u8(trailer as u8) else { return true };
        let seq = sequence_of(trailer);
        if seq > self.seq {
            return true;
        }
        if self.table.cells.is_some() && Cells::hold(trailer as u8) {
            return self.take_copy(&entry, value_type);
        }
        let found = FoundEntry {
            user_key: entry.user_key(),
            seq,
            value_type,
            value: entry.value,
            table: self.table,
            place,
        };
        (self.visit)(found).is_continue()
    }

    /// Does the same as [`Answer::take`] for an entry whose value may be overwritten: visits a copy of the
    /// value.
    #[cold]
    fn take_copy(&mut self, entry: &Entry<'a>, value_type: ValueType) -> bool {
        let Some(cells) = &self.table.cells else { return true };
        let mut value = Vec::new();
        if let Err(error) = cells.read(&self.table.entries, entry, &mut value) {
            self.result = Err(error);
            return false;
        }
        let (user_key, seq) = (entry.user_key(), sequence_of(entry.trailer()));
        let found = FoundEntry { user_key, seq, value_type, value: &value, table: self.table, place: 0 };
        (self.visit)(found).is_continue()
    }
}
