//! The entries of memtables without their timestamps, for SST files without timestamps
//! (`persist_user_defined_timestamps=false`). RocksDB: `TimestampStrippingIterator` (`db/memtable.cc`).
//!
//! Each timestamp becomes the oldest timestamp, all zero bytes. The entries of one key come newest timestamp first. With
//! equal timestamps, only the sequence number orders the entries. If an application wrote an older timestamp after a newer
//! timestamp, the sequence numbers of the key are out of order. The iterator then gives the sequence numbers of the key to
//! its entries in descending order: the entry with the newest timestamp stays the newest entry. RocksDB writes such entries
//! out of order.
//!
//! A range tombstone deletes the entries of a key with smaller sequence numbers, whatever their timestamps. If such an
//! entry got a larger sequence number, its value would be back. A reader of the newest state stops at the first deleted
//! entry, also if an entry with an older timestamp is newer than the range tombstone. So the first deleted entry becomes a
//! point tombstone before the sequence numbers are exchanged. The exception is an entry after a single deletion: the single
//! deletion deletes the entry.
//!
//! Only forward iteration from the start is possible: a flush needs no more.

use base::iter::InternalIterator;
use base::key::{self, TRAILER_LEN};
use base::{Arrange, Error, Pinned, Result, SequenceNumber, ValueType};
use mem::range_del::FragmentedTombstones;

use crate::sync::Arc;

/// Iterator over the entries of memtables without their timestamps: see the module.
pub struct Stripped<I> {
    source: I,
    timestamp_size: usize,
    /// The range tombstones of the memtables.
    tombstones: Vec<Arc<FragmentedTombstones>>,
    /// The entries of one key, in the order of their timestamps: internal keys and values.
    entries: Vec<(Vec<u8>, Pinned)>,
    at: usize,
    error: Option<Error>,
}

impl<I: InternalIterator> Stripped<I> {
    /// Makes the iterator. `timestamp_size` is the number of bytes of each timestamp, and `tombstones` are the
    /// range tombstones of the same memtables. The iterator is not valid yet.
    pub fn new(source: I, timestamp_size: usize, tombstones: Vec<Arc<FragmentedTombstones>>) -> Self {
        Stripped { source, timestamp_size, tombstones, entries: Vec::new(), at: 0, error: None }
    }

    /// Reads all entries of the key on which the source is.
    fn fill(&mut self) {
        self.entries.clear();
        self.at = 0;
        let size = self.timestamp_size;
        let mut sequences = Vec::new();
        while self.source.valid() {
            let internal = self.source.key();
            let Some(end) = internal.len().checked_sub(TRAILER_LEN + size) else {
                self.error = Some(Error::corruption("a key of a memtable is shorter than its timestamp"));
                self.entries.clear();
                return;
            };
            let stripped =
                |(first, _): &(Vec<u8>, Pinned)| first[..first.len() - TRAILER_LEN - size] == internal[..end];
            if !self.entries.first().is_none_or(stripped) {
                break;
            }
            let mut bytes = internal.to_vec();
            bytes[end..end + size].fill(0);
            sequences.push(key::sequence(internal));
            self.entries.push((bytes, self.source.pin_value()));
            self.source.next();
        }
        base::invariant!(
            sequences.len() == self.entries.len(),
            "{} entries have {} sequence numbers",
            self.entries.len(),
            sequences.len()
        );
        if !sequences.is_sorted_by(|newer, older| newer > older) {
            self.replace_deleted(&sequences);
            sequences.arrange_by(|a, b| b.cmp(a));
            for ((internal, _), seq) in self.entries.iter_mut().zip(sequences) {
                let trailer = key::pack(seq, key::trailer(internal) as u8);
                let at = internal.len() - TRAILER_LEN;
                internal[at..].copy_from_slice(&trailer.to_le_bytes());
            }
        }
    }

    /// Makes the first entry that a range tombstone deletes a point tombstone. `sequences` are the sequence numbers of the
    /// entries.
    fn replace_deleted(&mut self, sequences: &[SequenceNumber]) {
        let Some((internal, _)) = self.entries.first() else { return };
        let user = &internal[..internal.len() - TRAILER_LEN - self.timestamp_size];
        let newest =
            self.tombstones.iter().filter_map(|list| list.max_covering(user, key::MAX_SEQUENCE)).max();
        let Some(at) = newest.and_then(|newest| sequences.iter().position(|seq| *seq < newest)) else {
            return;
        };
        let before = at.checked_sub(1).map(|before| key::split(&self.entries[before].0).2);
        if before == Some(ValueType::SingleDeletion as u8) {
            return;
        }
        let (internal, value) = &mut self.entries[at];
        let trailer = key::pack(key::sequence(internal), ValueType::DeletionWithTimestamp as u8);
        let from = internal.len() - TRAILER_LEN;
        internal[from..].copy_from_slice(&trailer.to_le_bytes());
        *value = Pinned::from_vec(Vec::new());
    }
}

impl<I: InternalIterator> InternalIterator for Stripped<I> {
    fn valid(&self) -> bool {
        self.at < self.entries.len()
    }

    fn seek_to_first(&mut self) {
        self.error = None;
        self.source.seek_to_first();
        self.fill();
    }

    fn next(&mut self) {
        base::invariant!(self.at < self.entries.len(), "a flush without timestamps continues after its end");
        self.at += 1;
        if self.at >= self.entries.len() {
            self.fill();
        }
    }

    fn key(&self) -> &[u8] {
        self.entries.get(self.at).map_or(&[], |(key, _)| key)
    }

    fn value(&self) -> &[u8] {
        self.entries.get(self.at).map_or(&[], |(_, value)| value)
    }

    fn pin_value(&self) -> Pinned {
        self.entries.get(self.at).map_or_else(|| Pinned::from_vec(Vec::new()), |(_, value)| value.clone())
    }

    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.source.status(),
        }
    }

    fn seek(&mut self, _: &[u8]) {
        self.refuse();
    }

    fn seek_for_prev(&mut self, _: &[u8]) {
        self.refuse();
    }

    fn seek_to_last(&mut self) {
        self.refuse();
    }

    fn prev(&mut self) {
        self.refuse();
    }
}

impl<I> Stripped<I> {
    fn refuse(&mut self) {
        self.entries.clear();
        self.at = 0;
        self.error = Some(Error::not_supported("a flush without timestamps moves only forward"));
    }
}

#[cfg(test)]
mod tests {
    use base::SequenceNumber;
    use std::sync::Arc;

    use base::Order;
    use base::key::{InternalOrder, ValueType};
    use mem::memtable::{MemTable, MemTableOptions};

    use super::*;

    #[test]
    fn entries_lose_their_timestamps_and_stay_in_the_order_of_the_timestamps() {
        let order = InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
        let options = MemTableOptions { tracks_timestamps: true, ..MemTableOptions::new(order.clone()) };
        let table: Arc<MemTable> = MemTable::new(options, 1, SequenceNumber::ZERO);
        // Key, timestamp, sequence number. The timestamps of "b" go back.
        for (key, timestamp, seq) in [(b"a", 1u64, 1), (b"a", 2, 2), (b"b", 9, 3), (b"b", 4, 5), (b"c", 3, 4)]
        {
            let full = [&key[..], &timestamp.to_le_bytes()].concat();
            table.add(SequenceNumber::new(seq), ValueType::Value, &full, &timestamp.to_le_bytes()).unwrap();
        }
        assert_eq!(table.newest_timestamp(), Some(9));
        let mut rows = Stripped::new(table.iter(), 8, vec![table.range_tombstones()]);
        let mut seen = Vec::new();
        let mut before: Option<Vec<u8>> = None;
        rows.seek_to_first();
        while rows.valid() {
            let key = rows.key().to_vec();
            assert!(before.as_ref().is_none_or(|before| order.compare(before, &key).is_lt()));
            assert_eq!(key[1..9], [0; 8]);
            seen.push((key[0], key::sequence(&key).get(), rows.value()[0]));
            before = Some(key);
            rows.next();
        }
        rows.status().unwrap();
        assert_eq!(seen, [(b'a', 2, 2), (b'a', 1, 1), (b'b', 5, 9), (b'b', 3, 4), (b'c', 4, 3)]);
        rows.seek(b"a");
        assert!(!rows.valid() && rows.status().is_err());
    }
}
