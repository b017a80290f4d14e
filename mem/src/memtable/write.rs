//! Adding entries to a memtable.

use std::sync::atomic::{AtomicU64, Ordering};

use base::coding::varint_len;
use base::error::{Error, Result};
use base::key::{MAX_SEQUENCE, SequenceNumber, TRAILER_LEN, ValueType, pack, sequence_of};

use crate::arena::Ref;
use crate::range_del::Tombstone;

use super::inplace::Cells;
use super::{MemTable, Rep, Tally};

impl MemTable {
    /// Adds a point entry. Any number of threads may call this concurrently. If the order has timestamps,
    /// `user_key` carries its timestamp. For many entries a [`MemTable::writer`] is cheaper.
    ///
    /// # Errors
    /// TryAgain if the key already has an entry with this sequence number and value type; the vector does not
    /// check this. InvalidArgument if the key or the value has 4 GiB or more, if `value_type` is not a point value
    /// type, or if the memtable is immutable. Incomplete (memory limit) if the 16 GiB of the arena are used
    /// up.
    pub fn add(
        &self,
        seq: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        let mut hint = self.tally.hint.load(Ordering::Acquire);
        let was = hint;
        let inserted = self.insert(seq, value_type, user_key, value, &mut hint)?;
        if hint != was {
            self.tally.hint.store(hint, Ordering::Release);
        }
        let mut one = Added::default();
        one.take(seq, value_type, inserted);
        self.tally.take(&one);
        Ok(())
    }

    /// Returns a writer for many entries. It has its own counts and insert hint, and adds the counts to the
    /// memtable when it is dropped. Several writers may be active at the same time.
    pub fn writer(&self) -> Writer<'_> {
        Writer { table: self, hint: self.tally.hint.load(Ordering::Acquire), added: Added::default() }
    }

    /// Adds a range tombstone. If the order has timestamps, both `start` and `end` carry the timestamp.
    ///
    /// # Errors
    /// InvalidArgument if a key is shorter than a timestamp, or if the memtable is immutable.
    pub fn add_range_tombstone(&self, seq: SequenceNumber, start: &[u8], end: &[u8]) -> Result<()> {
        self.add_tombstone(seq, (start, end), false)
    }

    /// Adds a range tombstone that a reader derived from other tombstones. It hides only entries that other
    /// tombstones already hide from readers at `seq` or later. [`MemTable::newest_written_tombstone`] ignores
    /// it.
    ///
    /// # Errors
    /// The errors of [`MemTable::add_range_tombstone`].
    pub fn add_derived_tombstone(&self, seq: SequenceNumber, start: &[u8], end: &[u8]) -> Result<()> {
        self.add_tombstone(seq, (start, end), true)
    }

    fn add_tombstone(&self, seq: SequenceNumber, (start, end): (&[u8], &[u8]), derived: bool) -> Result<()> {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        self.check_open()?;
        let timestamp_size = self.options.order.user.timestamp_size();
        let tombstone = Tombstone::from_stored(start, end, seq, timestamp_size)
            .ok_or_else(|| Error::invalid_argument("range tombstone key without timestamp"))?;
        if self.options.tracks_timestamps {
            self.tally.track_timestamp(start);
        }
        let size = start.len() + end.len() + TRAILER_LEN + 2;
        let mut one = Added::default();
        one.span(seq);
        one.data_size = size as u64;
        // Count the tombstone before it is stored: a flush can read a derived tombstone at once, and the counts must
        // already include its sequence number.
        self.tally.take(&one);
        if derived {
            self.tombstones.add_derived(tombstone)
        } else {
            self.tombstones.add(tombstone)
        }
        Ok(())
    }

    #[inline]
    fn insert(
        &self,
        seq: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
        hint: &mut Ref,
    ) -> Result<Inserted> {
        self.check_open()?;
        if !value_type.is_point() {
            return Err(Error::invalid_argument(format!("a {} is no point entry", value_type.word())));
        }
        if self.options.tracks_timestamps {
            self.tally.track_timestamp(user_key);
        }
        match &self.cells {
            Some(cells) if Cells::hold(value_type as u8) => {
                self.update(cells, seq, value_type, user_key, value, hint)
            }
            _ => self.insert_entry(seq, value_type, user_key, value, hint).map(Inserted::Entry),
        }
    }

    /// Overwrites the value of the newest entry of the key, if that entry has this value type and enough
    /// room, and if no range tombstone is newer. Otherwise adds an entry.
    #[cold]
    fn update(
        &self,
        cells: &Cells,
        seq: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
        hint: &mut Ref,
    ) -> Result<Inserted> {
        let mut replaced = false;
        self.newest(user_key, |entry| {
            let (found, was) = (sequence_of(entry.trailer()), entry.trailer() as u8);
            let covered = self.max_covering_tombstone(self.entries.without_timestamp(user_key), MAX_SEQUENCE);
            let fits = was == value_type as u8
                && self.entries.compare_user(entry.user_key(), user_key).is_eq()
                && covered.is_none_or(|seq| seq < found);
            replaced = fits && cells.replace(&self.entries, &entry, value);
        })?;
        if replaced {
            return Ok(Inserted::InPlace);
        }
        let place = cells.store(&self.entries, value)?;
        let size = self.insert_entry(seq, value_type, user_key, &place, hint)?;
        base::invariant!(
            size > place.len(),
            "an entry with a value of {} bytes has {size} bytes",
            place.len()
        );
        Ok(Inserted::Entry(size - place.len() - 1 + varint_len(value.len() as u64) + value.len()))
    }

    /// Adds an entry. Returns the number of bytes that the entry counts for.
    #[inline]
    fn insert_entry(
        &self,
        seq: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
        hint: &mut Ref,
    ) -> Result<usize> {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        base::invariant!(
            user_key.len() >= self.options.order.user.timestamp_size(),
            "a key of {} bytes has a timestamp of {} bytes",
            user_key.len(),
            self.options.order.user.timestamp_size()
        );
        let place = self.entries.store(user_key, pack(seq, value_type as u8), value)?;
        if let Some(bloom) = &self.bloom {
            // The key goes into the filter before readers can find the entry, because the filter must never
            // exclude an existing key.
            let without_timestamp = self.entries.without_timestamp(user_key);
            if let Some(prefix) =
                self.options.prefix_extractor.as_ref().and_then(|p| p.prefix(without_timestamp))
            {
                bloom.add(&prefix);
            }
            if self.options.whole_key_filtering {
                bloom.add(without_timestamp);
            }
        }
        let fresh = match &self.rep {
            // SAFETY: this thread has just stored the entry in the entries of this tree.
            Rep::Tree(tree) => unsafe { tree.insert(&self.entries, place, hint)? },
            Rep::Vector(vector) => {
                // SAFETY: this thread has just stored the entry in the entries of this vector.
                unsafe { vector.insert(place) };
                true
            }
        };
        if !fresh {
            return Err(Error::try_again("key+seq exists"));
        }
        let key_len = user_key.len() + TRAILER_LEN;
        Ok(varint_len(key_len as u64) + key_len + varint_len(value.len() as u64) + value.len())
    }

    #[inline]
    fn check_open(&self) -> Result<()> {
        if self.is_immutable() { Err(Error::invalid_argument("the memtable is immutable")) } else { Ok(()) }
    }
}

/// Adds many entries to a memtable; see [`MemTable::writer`].
pub struct Writer<'a> {
    table: &'a MemTable,
    hint: Ref,
    added: Added,
}

impl Writer<'_> {
    /// Adds a point entry, as [`MemTable::add`] does.
    ///
    /// # Errors
    /// The errors of [`MemTable::add`].
    #[inline]
    pub fn add(
        &mut self,
        seq: SequenceNumber,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<Inserted> {
        let inserted = self.table.insert(seq, value_type, user_key, value, &mut self.hint)?;
        self.added.take(seq, value_type, inserted);
        Ok(inserted)
    }
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The memtable has a new entry. It counts for this number of bytes.
    Entry(usize),
    /// The value replaced the value of an older entry.
    InPlace,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.table.tally.take(&self.added);
        self.table.tally.hint.store(self.hint, Ordering::Release);
    }
}

/// The entries that one writer added and has not yet counted in the memtable.
struct Added {
    entries: u64,
    deletes: u64,
    data_size: u64,
    smallest: SequenceNumber,
    largest: SequenceNumber,
}

impl Default for Added {
    fn default() -> Self {
        Added {
            entries: 0,
            deletes: 0,
            data_size: 0,
            smallest: SequenceNumber::NONE,
            largest: SequenceNumber::ZERO,
        }
    }
}

impl Added {
    #[inline]
    fn take(&mut self, seq: SequenceNumber, value_type: ValueType, inserted: Inserted) {
        if let Inserted::Entry(size) = inserted {
            self.count(seq, value_type, size);
        }
    }

    #[inline]
    fn count(&mut self, seq: SequenceNumber, value_type: ValueType, size: usize) {
        base::invariant!(size > TRAILER_LEN, "an entry has {size} bytes, with its trailer");
        use ValueType::{Deletion, DeletionWithTimestamp, SingleDeletion};
        self.entries += 1;
        self.deletes += u64::from(matches!(value_type, Deletion | SingleDeletion | DeletionWithTimestamp));
        self.data_size += size as u64;
        self.span(seq);
    }

    #[inline]
    fn span(&mut self, seq: SequenceNumber) {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        self.smallest = self.smallest.min(seq);
        self.largest = self.largest.max(seq);
    }
}

impl Tally {
    /// Raises the newest timestamp to the timestamp of the key, if the timestamp of the key is newer.
    #[cold]
    fn track_timestamp(&self, user_key: &[u8]) {
        if let Some(bytes) = user_key.last_chunk::<8>() {
            self.newest_timestamp.fetch_max(u64::from_le_bytes(*bytes), Ordering::AcqRel);
            self.has_timestamp.store(true, Ordering::Release);
        }
    }

    fn take(&self, added: &Added) {
        if added.data_size == 0 {
            return;
        }
        base::invariant!(
            added.smallest <= added.largest,
            "the entries of a batch have the sequence numbers {} to {}",
            added.smallest,
            added.largest
        );
        base::invariant!(
            added.deletes <= added.entries,
            "a batch has {} tombstones among {} entries",
            added.deletes,
            added.entries
        );
        self.entries.fetch_add(added.entries, Ordering::Relaxed);
        if added.deletes > 0 {
            self.deletes.fetch_add(added.deletes, Ordering::Relaxed);
        }
        self.data_size.fetch_add(added.data_size, Ordering::Relaxed);
        raise(&self.first_seq_inverted, SequenceNumber::NONE - added.smallest);
        raise(&self.largest_seq, added.largest.get());
    }
}

/// Raises an atomic number to `value`, as `fetch_max` does. If the number is large enough already, only loads the number.
fn raise(to: &AtomicU64, value: u64) {
    if to.load(Ordering::Relaxed) < value {
        to.fetch_max(value, Ordering::Relaxed);
    }
}
