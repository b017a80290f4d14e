//! A version: the SST files of all levels at one time, and searches for the files that may contain a key.
//!
//! A [`Version`] never changes. Applying edits makes the next version, which shares unchanged files and
//! levels with the old version. Level 0 is ordered by epoch number, newest first. Lower levels are sorted by
//! key, and their files do not overlap. Follows RocksDB `db/version_set.cc` and `db/version_builder.cc`.

mod apply;
mod blob;
mod candidates;
mod level;
mod overlap;
mod readers;

use std::sync::Arc;

use base::Level;
use base::key::InternalOrder;

pub use apply::{Builder, Edit};
pub(crate) use blob::forced_gc;
pub use blob::{BlobFile, BlobFiles, BlobGarbage, BlobTotals, InUse};
pub use candidates::Candidates;
pub use level::LevelFiles;
pub use overlap::{BelowCursor, KeyRange};
pub(crate) use overlap::{Extent, compare_boundaries};
pub use readers::{ReaderKind, Readers, Reading};

/// Maximum number of levels of a version.
pub const MAX_LEVELS: usize = 64;

/// The SST files and blob files of one column family.
#[derive(Clone)]
pub struct Version {
    pub(crate) order: InternalOrder,
    pub(crate) levels: Vec<Arc<LevelFiles>>,
    pub(crate) blobs: Arc<BlobFiles>,
    /// For each level, the key at which the round-robin picker continues: an internal key, or empty for the
    /// start of the level.
    pub(crate) cursors: Vec<Vec<u8>>,
    pub(crate) readers: Readers,
}

impl Version {
    /// Makes a version without files.
    pub fn empty(order: InternalOrder, num_levels: usize) -> Self {
        base::invariant!((1..=MAX_LEVELS).contains(&num_levels), "a version has {num_levels} levels");
        let num_levels = num_levels.clamp(1, MAX_LEVELS);
        Version {
            order,
            levels: (0..num_levels).map(|_| Arc::new(LevelFiles::default())).collect(),
            blobs: Arc::default(),
            cursors: vec![Vec::new(); num_levels],
            readers: Readers::default(),
        }
    }

    /// Returns the counts of the iterators and compactions that read the version.
    #[inline]
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Returns the order of internal keys.
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the number of levels.
    pub fn num_levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the levels, from level 0 down.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator + Clone + use<> {
        Level::first(self.levels.len())
    }

    /// Returns the levels below `level`, downwards. Level 0 is not below a level.
    pub fn levels_below(&self, level: Level) -> impl DoubleEndedIterator<Item = Level> + Clone + use<> {
        self.levels().skip(level.index() + 1)
    }

    /// Returns the last level.
    #[inline]
    pub fn last_level(&self) -> Level {
        Level::from_index(self.levels.len() - 1)
    }

    /// Returns the files of a level: level 0 newest first, other levels by key. Empty for a level after the
    /// last level.
    #[inline]
    pub fn level(&self, level: Level) -> &LevelFiles {
        static NONE: std::sync::LazyLock<LevelFiles> = std::sync::LazyLock::new(LevelFiles::default);
        match self.levels.get(level.index()) {
            Some(files) => files,
            None => &NONE,
        }
    }

    /// Returns the files of a level. An iterator can keep them without the rest of the version.
    pub fn level_shared(&self, level: Level) -> Arc<LevelFiles> {
        self.levels.get(level.index()).cloned().unwrap_or_default()
    }

    /// Returns the blob files.
    pub fn blobs(&self) -> &BlobFiles {
        &self.blobs
    }

    /// Returns the internal key at which round-robin picking continues in this level. `None`: at the start of
    /// the level.
    pub fn cursor(&self, level: Level) -> Option<&[u8]> {
        self.cursors.get(level.index()).map(Vec::as_slice).filter(|key| !key.is_empty())
    }

    /// Returns every file with its level, from level 0 downwards.
    pub fn files(&self) -> impl Iterator<Item = (Level, &Arc<crate::table_file::TableFile>)> {
        self.levels().zip(&self.levels).flat_map(|(level, files)| files.iter().map(move |f| (level, f)))
    }

    /// Returns the number of SST files of all levels.
    pub fn num_files(&self) -> usize {
        self.levels.iter().map(|l| l.len()).sum()
    }

    /// Returns the bytes of all SST files.
    pub fn total_bytes(&self) -> u64 {
        self.levels.iter().map(|l| l.bytes()).sum()
    }

    /// Returns the bytes of the SST files in level 0: before compression, or in the file if the table has not been opened.
    pub fn level_0_bytes(&self) -> u64 {
        let bytes = |file: &crate::table_file::TableFile| {
            file.stats().map_or(file.size, |stats| stats.raw_key_size.saturating_add(stats.raw_value_size))
        };
        self.level(Level::ZERO).iter().fold(0u64, |sum, file| sum.saturating_add(bytes(file)))
    }

    /// Returns the deepest level with files, if there is one.
    pub fn last_filled_level(&self) -> Option<Level> {
        self.levels().rev().find(|level| !self.level(*level).is_empty())
    }
}
