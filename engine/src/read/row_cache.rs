//! The row cache: keeps the entries of single keys of SST files.
//!
//! ```text
//! lookup of a key in one SST file ─► row cache ─► hit:  replay the entries into the answer
//!                                              └─► miss: open the SST file, record the entries, add the row
//! ```
//! A row belongs to one key and one SST file. The row has the entries of the key, newest first, and the sequence number of the newest
//! range tombstone of this file over the key. A lookup takes nothing else from the SST file. So a hit needs neither the open table nor a data block. A row is added
//! only if the file has an entry of the key.
//!
//! Invariant: a replay gives the answer that the SST file gives. For this, a row holds raw entries with sequence numbers and not the
//! result, and a row that ends with a merge operand holds every entry of the key. Rows are not removed when a file is deleted: a
//! database uses no file number twice, and each open has its own seed.
//!
//! ```text
//! row:    length-prefixed: file number, view, user key    varints, and bytes with a varint length
//!         range tombstone                                 varint: sequence number, 0 for none
//!         entries to the end: value type (1 byte), sequence number (varint),
//!                  stored key (varint: 0 if it is the key of the caller, or the length + 1, and bytes),
//!                  value (bytes with a varint length)
//! ```
//! The identity at the start is compared at a hit, because the cache key is a hash. Source: RocksDB `db/table_cache.cc`.

use std::ops::ControlFlow;
use std::sync::Arc as Shared;

use base::Pinned;
use base::coding::{get_varint64, put_varint64};
use base::key::{SequenceNumber, ValueType};
use base::stats::{Statistics, Ticker};
use kernel::checksum::xxh3::{hash64, hash128_with_seed};
use lsm::table_file::TableFile;
use mem::cache::{CacheKey, Priority, Role};
use table::sst::{BlockCache, CachedBlock, Other};

use super::Answer;
use crate::sync::Arc;

/// The row cache of one database. Several databases may share the cache under it.
pub struct RowCache {
    cache: Arc<BlockCache>,
    /// Differs for each open of a database.
    seed: u64,
    statistics: Option<Arc<Statistics>>,
}

impl RowCache {
    /// Makes the row cache of the database with this session id. The rows are in `cache`.
    pub fn new(cache: Arc<BlockCache>, session_id: &str, statistics: Option<Arc<Statistics>>) -> Self {
        RowCache { cache, seed: hash64(session_id.as_bytes()), statistics }
    }

    /// Returns the row of `full`, the user key with its timestamp, in `file`. `seq` is the sequence number of the reader, and
    /// `certain` the sequence number up to which the reader sees every entry. Returns `None` if the reader sees only some of the
    /// entries of the file: another reader may see other entries.
    pub fn row(
        &self,
        file: &TableFile,
        full: &[u8],
        seq: SequenceNumber,
        certain: SequenceNumber,
    ) -> Option<Row<'_>> {
        let view = match () {
            () if certain >= file.largest_seq => SequenceNumber::ZERO,
            () if certain == seq => seq.next(),
            () => return None,
        };
        let mut identity = Vec::with_capacity(full.len() + 12);
        put_varint64(&mut identity, file.number.get());
        put_varint64(&mut identity, view.get());
        put_bytes(&mut identity, full);
        let (high, low) = hash128_with_seed(&identity, self.seed);
        let row = Row {
            rows: self,
            key: CacheKey::new(high, low),
            identity,
            covering: SequenceNumber::ZERO,
            entries: Vec::new(),
            whole: true,
        };
        base::invariant!(row.full() == full, "the identity of a row has another key than the lookup");
        Some(row)
    }

    fn count(&self, ticker: Ticker) {
        if let Some(statistics) = &self.statistics {
            statistics.tick(ticker);
        }
    }
}

/// The lookup of one key in one SST file, through the row cache.
pub struct Row<'a> {
    rows: &'a RowCache,
    key: CacheKey,
    identity: Vec<u8>,
    /// The newest range tombstone of the SST file over the key; 0 for none.
    covering: SequenceNumber,
    /// The recorded entries.
    entries: Vec<u8>,
    /// True if the recorded entries decide the key, or are all entries of the key.
    whole: bool,
}

impl Row<'_> {
    /// Passes the entries of the row to `answer`. Returns false if the cache does not have the row; the caller then searches the SST
    /// file. `key` is the user key without timestamp.
    pub fn replay(&self, key: &[u8], ignore_range_deletions: bool, answer: &mut Answer<'_>) -> bool {
        let Some(bytes) = self.look_up() else {
            self.rows.count(Ticker::RowCacheMiss);
            return false;
        };
        self.rows.count(Ticker::RowCacheHit);
        let mut reader = Reader { bytes: &bytes, at: self.identity.len() };
        let covering = reader.number();
        if !ignore_range_deletions && covering > Some(0) {
            answer.cover(covering.map(SequenceNumber::new));
        }
        while let Some(entry) = reader.entry() {
            base::invariant!(
                entry.value.end == reader.at && reader.at <= bytes.len(),
                "an entry of a row ends at {}, and the row has {} bytes",
                reader.at,
                bytes.len()
            );
            let stored = entry.stored_key.map_or_else(|| self.full(), |range| &bytes[range]);
            let pin = || Pinned::bytes(bytes.clone(), entry.value.clone());
            if answer.version((key, stored), entry.seq, entry.value_type, pin).is_break() {
                break;
            }
        }
        true
    }

    fn look_up(&self) -> Option<Shared<[u8]>> {
        let handle = self.rows.cache.lookup(&self.key)?;
        match &*handle {
            CachedBlock::Other(other) => match &**other {
                Other::Raw(bytes) if bytes.starts_with(&self.identity) => Some(bytes.clone()),
                _ => None,
            },
            CachedBlock::Data(_) => None,
        }
    }

    /// Returns the user key with its timestamp.
    fn full(&self) -> &[u8] {
        let mut reader = Reader { bytes: &self.identity, at: 0 };
        reader.number();
        reader.number();
        reader.range().and_then(|range| self.identity.get(range)).unwrap_or_default()
    }

    /// Records the newest range tombstone of the SST file over the key.
    pub fn cover(&mut self, covering: Option<SequenceNumber>) {
        self.covering = covering.unwrap_or(SequenceNumber::ZERO);
    }

    /// Records an entry that `decided` the answer, or did not. `stored_key` is its user key with the timestamp.
    pub fn record(
        &mut self,
        seq: SequenceNumber,
        value_type: u8,
        stored_key: &[u8],
        value: &[u8],
        decided: ControlFlow<()>,
    ) {
        self.entries.push(value_type);
        put_varint64(&mut self.entries, seq.get());
        if stored_key == self.full() {
            self.entries.push(0);
        } else {
            put_varint64(&mut self.entries, stored_key.len() as u64 + 1);
            self.entries.extend_from_slice(stored_key);
        }
        put_bytes(&mut self.entries, value);
        // Another answer may go on after this merge operand.
        self.whole = decided.is_continue() || value_type != ValueType::Merge as u8;
    }

    /// Prevents that the row is added.
    pub fn spoil(&mut self) {
        self.whole = false;
        self.entries.clear();
    }

    /// Adds the row to the cache, if the SST file has entries of the key. Called after a lookup without an error. A full cache with
    /// a strict limit does not take the row.
    pub fn keep(self) {
        if !self.whole || self.entries.is_empty() {
            return;
        }
        let mut row = self.identity;
        row.reserve_exact(self.entries.len() + 10);
        put_varint64(&mut row, self.covering.get());
        row.extend_from_slice(&self.entries);
        let row = CachedBlock::from(Other::Raw(Shared::from(row)));
        let charge = row.memory_bytes();
        let _ = self.rows.cache.insert(&self.key, row, charge, Priority::Low, Role::Misc);
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// An entry of a row. The ranges are in the bytes of the row.
struct RowEntry {
    value_type: u8,
    seq: SequenceNumber,
    /// `None` if the stored key is the key of the caller.
    stored_key: Option<std::ops::Range<usize>>,
    value: std::ops::Range<usize>,
}

/// Reads the fields of a row.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, len) = get_varint64(self.bytes.get(self.at..)?)?;
        self.at += len;
        Some(number)
    }

    fn take(&mut self, len: u64) -> Option<std::ops::Range<usize>> {
        let end = self.at.checked_add(usize::try_from(len).ok()?).filter(|end| *end <= self.bytes.len())?;
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    fn range(&mut self) -> Option<std::ops::Range<usize>> {
        let len = self.number()?;
        self.take(len)
    }

    fn entry(&mut self) -> Option<RowEntry> {
        let value_type = *self.bytes.get(self.at)?;
        self.at += 1;
        let seq = self.number()?;
        let stored_key = match self.number()? {
            0 => None,
            len => Some(self.take(len - 1)?),
        };
        Some(RowEntry { value_type, seq: SequenceNumber::new(seq), stored_key, value: self.range()? })
    }
}
