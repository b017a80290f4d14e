//! Converts a run of point tombstones that a scan has skipped into one range tombstone in the active memtable
//! (`min_tombstones_for_range_conversion`). The next scan then skips the whole run at once.
//!
//! ```text
//!  a#9,SET   b#5,DEL  c#6,DEL  d#7,DEL   e#3,SET        reader at #12, three are enough:   [b-e)#12
//! ```
//! The range tombstone does not change the content of the database. Its readers read at #12 or later: for them, all
//! keys of the run are deleted, or have entries newer than the tombstone. So it is not written to the WAL, and may
//! be lost. It goes into the memtable that was active when the iterator was made, if the reader's sequence number
//! is not below the first sequence number of this memtable: all entries in older memtables and SST files must be
//! older than the tombstone. Also, no file was ingested since then ([`Conversions`](crate::family::Conversions)). Only the forward direction converts; RocksDB converts backward too. Source: RocksDB
//! `db/db_iter.cc`, `MaybeInsertRangeTombstone`.

use base::SequenceNumber;
use base::stats::Ticker;
use mem::memtable::MemTable;

use super::context::IteratorContext;
use crate::family::{Family, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use crate::stats::Stats;
use crate::sync::Arc;

/// Finds runs of tombstones for one iterator.
pub struct Converter {
    family: Arc<Family>,
    /// The super version of the iterator, and its active memtable.
    super_version: u64,
    memtable: Arc<MemTable>,
    seq: SequenceNumber,
    /// The number of tombstones that make a run.
    least: u64,
    first: Vec<u8>,
    count: u64,
    stats: Arc<Stats>,
}

impl Converter {
    /// Returns `None` if the options do not request conversion, or if range tombstones cannot be written. Also
    /// returns `None` for a scan that may not see every key between two keys (prefix filters, timestamps, a table
    /// filter, only memtables), or has no fixed sequence number (tailing).
    pub fn new(
        context: &IteratorContext,
        options: &ReadOptions,
        super_version: &SuperVersion,
        seq: SequenceNumber,
    ) -> Option<Box<Self>> {
        let parts = &super_version.parts;
        let least = parts.scan.conversion_tombstones_min;
        let all_keys = parts.code.prefix_extractor.is_none()
            || options.total_order_seek
            || options.prefix_same_as_start
            || options.auto_prefix_mode
            || parts.scan.prefix_seek_opt_in_only;
        if least == 0
            || parts.disallow_memtable_writes
            // The flush of a range tombstone into an SST file of this format fails.
            || parts.other.without_range_tombstones.is_some()
            || !all_keys
            || options.tailing
            || options.ignore_range_deletions
            || options.table_filter.is_some()
            || options.read_tier == ReadTier::Memtable
            || parts.order.timestamp_size() > 0
        {
            return None;
        }
        Some(Box::new(Converter {
            family: context.family.clone(),
            super_version: super_version.number,
            memtable: super_version.mem.clone(),
            seq,
            least,
            first: Vec::new(),
            count: 0,
            stats: context.stats.clone(),
        }))
    }

    /// Starts a move. A run does not continue from the move before.
    #[inline]
    pub fn begin(&mut self) {
        self.count = 0;
    }

    /// Adds a deleted key to the run.
    pub fn deleted(&mut self, user_key: &[u8]) {
        if self.count == 0 {
            self.first.clear();
            self.first.extend_from_slice(user_key);
        }
        self.count += 1;
    }

    /// Ends the run before a live key.
    #[inline]
    pub fn live(&mut self, user_key: &[u8]) {
        if self.count >= self.least {
            self.convert(user_key);
        }
        self.count = 0;
    }

    #[cold]
    fn convert(&mut self, end: &[u8]) {
        base::invariant!(
            self.memtable.options().order.user.compare(&self.first, end).is_lt(),
            "a run of tombstones ends at {} and begins at {}",
            end.escape_ascii(),
            self.first.escape_ascii()
        );
        let done = self.seq >= self.memtable.earliest_seq()
            && !self.is_covered(end)
            && self.family.conversions().convert(self.super_version, || {
                self.memtable.add_derived_tombstone(self.seq, &self.first, end).is_ok()
            });
        let ticker = if done {
            Ticker::ReadPathRangeTombstonesInserted
        } else {
            Ticker::ReadPathRangeTombstonesDiscarded
        };
        self.stats.add(ticker, 1);
    }

    /// Returns true if range tombstones already cover the run. Several tombstones may cover it together.
    fn is_covered(&self, end: &[u8]) -> bool {
        let tombstones = self.memtable.range_tombstones();
        let order = &self.memtable.options().order.user;
        let mut at = &self.first[..];
        while order.compare(at, end).is_lt() {
            match tombstones.covering(at).filter(|piece| piece.newest_at(self.seq).is_some()) {
                Some(piece) => at = piece.end,
                None => return false,
            }
        }
        true
    }
}
