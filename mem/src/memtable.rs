//! The memtable: what has been written and not yet flushed.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::{InternalOrder, SequenceNumber, ValueType};
use base::order::PrefixExtractor;
use base::{Pinned, Result};

use crate::range_del::FragmentedTombstones;

/// Which structure holds the entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepKind {
    /// Sorted as written; RocksDB's `skip_list` and the default. (Here a tree of fat nodes.)
    #[default]
    SkipList,
    /// Appended, sorted when first read; for bulk loads. RocksDB's `vector`.
    Vector,
}

impl RepKind {
    /// From an option string: `skip_list`, `SkipListFactory`, `skip_list:16`, `vector`, `VectorRepFactory`,
    /// `vector:1024`.
    ///
    /// # Errors
    /// NotSupported for the other reps that RocksDB names.
    pub fn parse(_text: &str) -> Result<RepKind> {
        todo!()
    }

    /// The factory name in OPTIONS files.
    pub fn name(self) -> &'static str {
        match self {
            RepKind::SkipList => "SkipListFactory",
            RepKind::Vector => "VectorRepFactory",
        }
    }
}

/// What a memtable is made with.
#[derive(Clone)]
pub struct MemTableOptions {
    pub order: InternalOrder,
    pub rep: RepKind,
    /// Bytes at which the owner means to seal it; sizes the Bloom filter. Default 64 MiB.
    pub write_buffer_size: usize,
    /// Share of `write_buffer_size` spent on a Bloom filter, 0.0 (none, the default) to 0.25.
    pub prefix_bloom_size_ratio: f64,
    /// Whether whole keys go into the Bloom filter (prefixes do if there is an extractor).
    pub whole_key_filtering: bool,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// 0, 1, 2, 4 or 8 bytes of checksum with each entry, checked when it is read. Default 0.
    pub protection_bytes_per_key: u8,
}

impl MemTableOptions {
    pub fn new(order: InternalOrder) -> Self {
        MemTableOptions {
            order,
            rep: RepKind::default(),
            write_buffer_size: 64 << 20,
            prefix_bloom_size_ratio: 0.0,
            whole_key_filtering: false,
            prefix_extractor: None,
            protection_bytes_per_key: 0,
        }
    }
}

/// Recently written entries, sorted. Readers never wait; any number of threads may write.
pub struct MemTable {
    _opts: MemTableOptions,
}

/// One stored version of a key, as [`MemTable::get`] shows it. The slices live as long as the memtable.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// The stored key, timestamp included.
    pub user_key: &'a [u8],
    pub seq: SequenceNumber,
    pub kind: ValueType,
    pub value: &'a [u8],
    _table: &'a MemTable,
}

impl Version<'_> {
    /// The value kept alive by `table` (which must be the one it came from, else the bytes are copied).
    pub fn pin(&self, _table: &Arc<MemTable>) -> Pinned {
        todo!()
    }
}

/// Numbers about a memtable. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Point entries, deletions among them.
    pub entries: u64,
    /// Point deletions of any kind.
    pub deletes: u64,
    pub range_deletes: u64,
    /// Keys and values as encoded, range tombstones included.
    pub data_size: u64,
}

impl MemTable {
    /// An empty memtable. `id` grows from memtable to memtable; nothing older than `earliest_seq` will
    /// be added.
    pub fn new(opts: MemTableOptions, _id: u64, _earliest_seq: SequenceNumber) -> Arc<MemTable> {
        Arc::new(MemTable { _opts: opts })
    }

    pub fn id(&self) -> u64 {
        todo!()
    }

    pub fn options(&self) -> &MemTableOptions {
        &self._opts
    }

    /// Adds a point entry. Any number of threads at once. `user_key` carries its timestamp where the
    /// order has one. For runs of entries a [`MemTable::writer`] is cheaper.
    ///
    /// # Errors
    /// TryAgain if this key has an entry of this sequence number and kind already; InvalidArgument if
    /// key or value is 4 GiB or more, or `kind` is no point; Incomplete (memory limit) when 16 GiB are used.
    pub fn add(&self, _seq: SequenceNumber, _kind: ValueType, _user_key: &[u8], _value: &[u8]) -> Result<()> {
        todo!()
    }

    /// For many entries: keeps counts and the insert hint to itself, publishes the counts when dropped.
    /// Several writers may be at work at once.
    pub fn writer(&self) -> Writer<'_> {
        Writer { _table: self }
    }

    /// Adds a range tombstone; `start` and `end` both carry the timestamp where the order has one.
    ///
    /// # Errors
    /// InvalidArgument if a key is shorter than a timestamp.
    pub fn add_range_tombstone(&self, _seq: SequenceNumber, _start: &[u8], _end: &[u8]) -> Result<()> {
        todo!()
    }

    /// Shows the versions of `user_key` that a reader at `seq` sees, newest first, until `visit` breaks.
    /// With timestamps: those of the key at or before the timestamp that `user_key` carries.
    /// Range tombstones are not looked at; see [`MemTable::max_covering_tombstone`].
    ///
    /// # Errors
    /// Corruption if an entry does not match its protection bytes.
    pub fn get<'a>(
        &'a self,
        _user_key: &[u8],
        _seq: SequenceNumber,
        _visit: impl FnMut(Version<'a>) -> ControlFlow<()>,
    ) -> Result<()> {
        todo!()
    }

    /// [`MemTable::get`] for many keys, their searches overlapped. `visit` gets the index of the key.
    /// Versions of one key come together and in order; keys come in the order given.
    ///
    /// # Errors
    /// As for `get`; the first stops all.
    pub fn multi_get<'a>(
        &'a self,
        _user_keys: &[&[u8]],
        _seq: SequenceNumber,
        _visit: impl FnMut(usize, Version<'a>) -> ControlFlow<()>,
    ) -> Result<()> {
        todo!()
    }

    /// Whether the Bloom filter excludes `user_key` (without timestamp). False where there is no filter.
    pub fn definitely_misses(&self, _user_key: &[u8]) -> bool {
        false
    }

    /// An iterator over the point entries. It may run while others write; it then sees all that was
    /// added before it was positioned and perhaps some that was added since.
    pub fn iter(self: &Arc<Self>) -> MemIter {
        todo!()
    }

    /// All range tombstones added so far, in fragments; cached until the next is added.
    pub fn range_tombstones(&self) -> Arc<FragmentedTombstones> {
        todo!()
    }

    /// The newest range tombstone over `user_key` (without timestamp) that a reader at `seq` sees.
    /// Costs one load where there are none.
    pub fn max_covering_tombstone(&self, _user_key: &[u8], _seq: SequenceNumber) -> Option<SequenceNumber> {
        todo!()
    }

    pub fn counts(&self) -> Counts {
        todo!()
    }

    /// No entries and no range tombstones.
    pub fn is_empty(&self) -> bool {
        self.counts() == Counts::default()
    }

    /// Nothing older is in here or will be.
    pub fn earliest_seq(&self) -> SequenceNumber {
        todo!()
    }

    /// Sequence number of the first entry added (smallest, where several wrote first); 0 while empty.
    pub fn first_seq(&self) -> SequenceNumber {
        todo!()
    }

    /// The largest sequence number added; 0 while empty.
    pub fn largest_seq(&self) -> SequenceNumber {
        todo!()
    }

    /// Bytes taken from the system's point of view: arena used up to now, filter, tombstones.
    /// What `write_buffer_size` is compared with.
    pub fn memory_used(&self) -> usize {
        todo!()
    }

    /// Point entries in `[start, end)` and their bytes, estimated at the cost of about two look-ups.
    /// Exact when few; never below 40 when there are 40 or more. An inverted range holds nothing.
    pub fn approximate_stats(&self, _start: &[u8], _end: &[u8]) -> (u64, u64) {
        todo!()
    }

    /// Up to `n` user keys spread over the memtable, in order; for cutting work in equal parts.
    pub fn sample_keys(&self, _n: usize) -> Vec<Vec<u8>> {
        todo!()
    }

    /// From now on nothing will be added; later adds fail.
    pub fn seal(&self) {
        todo!()
    }
}

/// See [`MemTable::writer`].
pub struct Writer<'a> {
    _table: &'a MemTable,
}

impl Writer<'_> {
    /// As [`MemTable::add`].
    ///
    /// # Errors
    /// As there.
    pub fn add(&mut self, seq: SequenceNumber, kind: ValueType, user_key: &[u8], value: &[u8]) -> Result<()> {
        self._table.add(seq, kind, user_key, value)
    }
}

/// Iterates over a memtable it keeps alive.
pub struct MemIter {
    _table: Arc<MemTable>,
}

impl InternalIterator for MemIter {
    fn valid(&self) -> bool {
        todo!()
    }
    fn seek_to_first(&mut self) {
        todo!()
    }
    fn seek_to_last(&mut self) {
        todo!()
    }
    fn seek(&mut self, _target: &[u8]) {
        todo!()
    }
    fn seek_for_prev(&mut self, _target: &[u8]) {
        todo!()
    }
    fn next(&mut self) {
        todo!()
    }
    fn prev(&mut self) {
        todo!()
    }
    fn key(&self) -> &[u8] {
        todo!()
    }
    fn value(&self) -> &[u8] {
        todo!()
    }
    fn status(&self) -> Result<()> {
        todo!()
    }
    fn pin_value(&self) -> Pinned {
        todo!()
    }
}
