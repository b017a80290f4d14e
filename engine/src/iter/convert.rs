//! Runs of point tombstones that a scan steps over become one range tombstone of the active memtable
//! (`min_tombstones_for_range_conversion`), so that the next scan steps over them at once.
//!
//! ```text
//!  a#9,SET   b#5,DEL  c#6,DEL  d#7,DEL   e#3,SET        reader at #12, three are enough:   [b-e)#12
//! ```
//! It says nothing new: whoever sees the range tombstone reads at #12 or later, where all of the run is deleted or
//! newer than it. So it is not logged, and may be lost. It goes into the memtable that was active when the iterator
//! was made, and only if nothing older than the reader's moment is to come in there: places below it must be older.
//! On the way forward alone; RocksDB converts backward too. Follows `db/db_iter.cc`, `MaybeInsertRangeTombstone`.

use base::SequenceNumber;
use base::stats::Ticker;
use mem::memtable::MemTable;

use crate::family::SuperVersion;
use crate::options::{FamilyOptions, ReadOptions};
use crate::stats::Stats;
use crate::sync::Arc;

/// Of one iterator.
pub struct Converter {
    memtable: Arc<MemTable>,
    seq: SequenceNumber,
    /// Tombstones that are a run.
    least: u64,
    first: Vec<u8>,
    count: u64,
    stats: Arc<Stats>,
}

impl Converter {
    /// `None` if the options ask for nothing, or where a scan may not see every key between two: by prefix filters,
    /// at a timestamp, or at no moment of its own; and where nothing may be written, or tables hold no range tombstones.
    pub fn new(
        family: &FamilyOptions,
        options: &ReadOptions,
        super_version: &SuperVersion,
        seq: SequenceNumber,
        stats: &Arc<Stats>,
    ) -> Option<Box<Self>> {
        let least = u64::from(family.min_tombstones_for_range_conversion);
        let parts = &super_version.parts;
        let all_keys = parts.prefix_extractor.is_none()
            || options.total_order_seek
            || options.prefix_same_as_start
            || options.auto_prefix_mode
            || parts.prefix_seek_opt_in_only;
        if least == 0
            || parts.disallow_memtable_writes
            // The flush of a range tombstone into such a table fails.
            || parts.other.without_range_tombstones.is_some()
            || !all_keys
            || options.tailing
            || options.ignore_range_deletions
            || parts.order.timestamp_size() > 0
        {
            return None;
        }
        let (memtable, stats) = (super_version.mem.clone(), stats.clone());
        Some(Box::new(Converter { memtable, seq, least, first: Vec::new(), count: 0, stats }))
    }

    /// A move begins: runs do not go on from the one before.
    #[inline]
    pub fn begin(&mut self) {
        self.count = 0;
    }

    /// The key is deleted.
    pub fn deleted(&mut self, user_key: &[u8]) {
        if self.count == 0 {
            self.first.clear();
            self.first.extend_from_slice(user_key);
        }
        self.count += 1;
    }

    /// The key is there: a run ends before it.
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
            && self.memtable.add_derived_tombstone(self.seq, &self.first, end).is_ok();
        let ticker = if done {
            Ticker::ReadPathRangeTombstonesInserted
        } else {
            Ticker::ReadPathRangeTombstonesDiscarded
        };
        self.stats.add(ticker, 1);
    }

    /// Whether the run is covered already, maybe in pieces: other tombstones cut those that are here.
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
