//! The tree at one moment: which files are on which level, and how to find those a key may be in.
//!
//! A [`Version`] never changes; applying edits makes the next one, which shares every file and every
//! untouched level with it. Level 0 is ordered newest first by epoch number; deeper levels are sorted
//! by key and do not overlap. Follows RocksDB `db/version_set.cc` and `db/version_builder.cc`.

mod apply;
mod blob;
mod candidates;
mod level;
mod overlap;

use std::sync::Arc;

use base::key::InternalOrder;

pub use apply::{Builder, Edit};
pub(crate) use blob::forced_gc;
pub use blob::{BlobFile, BlobFiles, BlobGarbage, BlobTotals, InUse};
pub use candidates::Candidates;
pub use level::LevelFiles;
pub use overlap::{BelowCursor, KeyRange};
pub(crate) use overlap::{Extent, compare_boundaries};

/// Levels a tree may have at most.
pub const MAX_LEVELS: usize = 64;

/// One column family's files.
#[derive(Clone)]
pub struct Version {
    pub(crate) order: InternalOrder,
    pub(crate) levels: Vec<Arc<LevelFiles>>,
    pub(crate) blobs: Arc<BlobFiles>,
    /// Where the round-robin picker goes on, by level: an internal key, empty for the beginning.
    pub(crate) cursors: Vec<Vec<u8>>,
}

impl Version {
    /// A tree without files.
    pub fn empty(order: InternalOrder, num_levels: usize) -> Self {
        base::invariant!((1..=MAX_LEVELS).contains(&num_levels), "a version has {num_levels} levels");
        let num_levels = num_levels.clamp(1, MAX_LEVELS);
        Version {
            order,
            levels: (0..num_levels).map(|_| Arc::new(LevelFiles::default())).collect(),
            blobs: Arc::default(),
            cursors: vec![Vec::new(); num_levels],
        }
    }

    /// Returns the order of internal keys.
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the number of levels.
    pub fn num_levels(&self) -> usize {
        self.levels.len()
    }

    /// The files of a level: level 0 newest first, others by key. Past the last level: none.
    #[inline]
    pub fn level(&self, level: usize) -> &LevelFiles {
        static NONE: std::sync::LazyLock<LevelFiles> = std::sync::LazyLock::new(LevelFiles::default);
        match self.levels.get(level) {
            Some(files) => files,
            None => &NONE,
        }
    }

    /// The same, to be kept by an iterator without the rest of the version.
    pub fn level_shared(&self, level: usize) -> Arc<LevelFiles> {
        self.levels.get(level).cloned().unwrap_or_default()
    }

    /// Returns the blob files.
    pub fn blobs(&self) -> &BlobFiles {
        &self.blobs
    }

    /// Where round-robin picking goes on in this level.
    pub fn cursor(&self, level: usize) -> Option<&[u8]> {
        self.cursors.get(level).map(Vec::as_slice).filter(|key| !key.is_empty())
    }

    /// Every file with its level, from level 0 down.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<crate::file_meta::FileMetaData>)> {
        self.levels.iter().enumerate().flat_map(|(level, files)| files.iter().map(move |f| (level, f)))
    }

    /// Returns the number of SST files of all levels.
    pub fn num_files(&self) -> usize {
        self.levels.iter().map(|l| l.len()).sum()
    }

    /// Bytes of all table files.
    pub fn total_bytes(&self) -> u64 {
        self.levels.iter().map(|l| l.bytes()).sum()
    }

    /// The deepest level with files, if any has.
    pub fn last_filled_level(&self) -> Option<usize> {
        self.levels.iter().rposition(|l| !l.is_empty())
    }
}
