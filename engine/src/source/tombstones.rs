//! Range tombstones for readers: for each source of an iterator, and for the key of a lookup.

use base::key::{InternalOrder, SequenceNumber};
use base::{Level, Result};
use lsm::range_del::{Cover, Coverage, FragmentCover, LevelCover, OpenTombstones};
use lsm::table_file::TableFile;
use mem::memtable::MemTable;
use mem::range_del::FragmentedTombstones;
use table::sst::ReadCtx;

use super::TableCache;
use crate::family::{Parts, SuperVersion};
use crate::sync::Arc;

/// The range tombstones of one source of an iterator.
pub enum SourceCover {
    /// The tombstones of a memtable, or of an SST file within its bounds.
    Fragments(FragmentCover),
    Level(LevelCover<LevelTombstones>),
}

impl Coverage for SourceCover {
    fn cover(&mut self, internal_key: &[u8]) -> Result<Cover> {
        match self {
            SourceCover::Fragments(cover) => cover.cover(internal_key),
            SourceCover::Level(cover) => cover.cover(internal_key),
        }
    }
}

impl SourceCover {
    /// Returns the value for a source without range tombstones.
    pub fn nothing(order: &InternalOrder) -> Self {
        let none = Arc::new(FragmentedTombstones::empty(order.clone()));
        SourceCover::Fragments(FragmentCover::of_memtable(order.clone(), none, SequenceNumber::ZERO))
    }
}

/// Opens the SST files of a level when an iterator reaches them.
pub struct LevelTombstones {
    pub tables: Arc<TableCache>,
    pub parts: Arc<Parts>,
    pub level: Level,
    pub ctx: Arc<ReadCtx>,
}

impl OpenTombstones for LevelTombstones {
    fn open(&mut self, file: &TableFile) -> Result<Option<Arc<FragmentedTombstones>>> {
        let reader = self.tables.get_for(&self.parts, self.level, file, &self.ctx)?;
        Ok(reader.tombstones().cloned())
    }
}

impl SuperVersion {
    /// Returns true if an SST file has or may have range tombstones. For an SST file that was never opened, this is
    /// unknown. Once all SST files are known, the result is cached.
    pub fn may_have_table_tombstones(&self) -> bool {
        if let Some(known) = self.table_tombstones.get() {
            return *known;
        }
        let mut unknown = false;
        for (_, file) in self.version.files() {
            match file.stats() {
                None => unknown = true,
                Some(stats) if stats.num_range_deletions > 0 => {
                    return *self.table_tombstones.get_or_init(|| true);
                }
                Some(_) => {}
            }
        }
        unknown || *self.table_tombstones.get_or_init(|| false)
    }
}

/// Returns the sequence number of the newest tombstone of `fragments` that deletes `key` (without timestamp) for a
/// reader at `seq` and, with timestamps, at `timestamp`.
#[inline]
pub fn covering(
    fragments: &FragmentedTombstones,
    key: &[u8],
    seq: SequenceNumber,
    timestamp: Option<&[u8]>,
) -> Option<SequenceNumber> {
    base::invariant!(
        seq <= base::key::MAX_SEQUENCE,
        "a search for tombstones is at the sequence number {seq}"
    );
    match timestamp {
        None => fragments.max_covering(key, seq),
        Some(timestamp) => fragments.max_covering_at(key, seq, timestamp).map(|(seq, _)| seq),
    }
}

/// Returns the result of [`covering`] for the range tombstones of a memtable.
#[inline]
pub fn covering_in_memory(
    mem: &MemTable,
    key: &[u8],
    seq: SequenceNumber,
    timestamp: Option<&[u8]>,
) -> Option<SequenceNumber> {
    base::invariant!(
        seq <= base::key::MAX_SEQUENCE,
        "a search for tombstones is at the sequence number {seq}"
    );
    match timestamp {
        None => mem.max_covering_tombstone(key, seq),
        Some(_) if !mem.has_range_tombstones() => None,
        Some(_) => covering(&mem.range_tombstones(), key, seq, timestamp),
    }
}
