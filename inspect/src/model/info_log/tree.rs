//! The bytes of each level over time, from the events of the info log.
//!
//! An event names the files of a job, and the event `table_file_creation` has the size of each file. A trivial move names only the number
//! of files, their bytes and the new level, so the old level is the nearest level above with this many files. Each finished job also has
//! the number of files on each level (`lsm_state`). If these numbers differ from the numbers here, files are unknown: they are older than
//! the info log, or the application ingested them. [`Tree::amplification`] then has no value.

use std::collections::{BTreeMap, HashMap};

/// The largest number of SST files whose sizes are kept.
const FILES_MAX: usize = 200_000;

/// The largest number of levels of a column family.
const LEVELS_MAX: usize = 64;

/// The files and the bytes of one level.
#[derive(Clone, Copy, Default)]
struct Sum {
    files: u64,
    bytes: u64,
}

/// The levels of each column family, and the sizes of their files.
#[derive(Default)]
pub(super) struct Tree {
    families: BTreeMap<String, Vec<Sum>>,
    sizes: HashMap<u64, u64>,
    /// The column family of the last message about moved files.
    moving: Option<String>,
}

impl Tree {
    /// Records the size of a new file.
    pub fn created(&mut self, file: u64, bytes: u64) {
        if self.sizes.len() < FILES_MAX {
            self.sizes.insert(file, bytes);
        }
    }

    /// Adds files to a level.
    pub fn add(&mut self, family: &str, level: usize, files: &[u64]) {
        for file in files {
            let Some(bytes) = self.sizes.get(file).copied() else { continue };
            if let Some(sum) = self.level(family, level) {
                (sum.files, sum.bytes) = (sum.files.saturating_add(1), sum.bytes.saturating_add(bytes));
            }
        }
    }

    /// Removes the input files of a compaction from their levels.
    pub fn remove(&mut self, family: &str, inputs: &[(usize, u64)]) {
        for (level, file) in inputs {
            let Some(bytes) = self.sizes.remove(file) else { continue };
            if let Some(sum) = self.level(family, *level) {
                // The info log may lack events, so the sums can be too small.
                (sum.files, sum.bytes) = (sum.files.saturating_sub(1), sum.bytes.saturating_sub(bytes));
            }
        }
    }

    /// Records the column family of a line such as `[users] Moving 4 files to level-2`. The event of the move does not name the family.
    pub fn line(&mut self, text: &str) {
        let Some((before, _)) = text.split_once("] Moving ") else { return };
        let before = before.rsplit_once("] [JOB ").map_or(before, |(family, _)| family);
        self.moving = before.rsplit_once('[').map(|(_, family)| family.to_string());
    }

    /// Moves files to a level. The move is of the column family of the last message.
    pub fn moved(&mut self, level: usize, files: u64, bytes: u64) {
        let Some(family) = self.moving.take() else { return };
        let holds = |sum: &Sum| sum.files >= files && sum.bytes >= bytes;
        let levels = self.families.get(&family).map_or(&[][..], Vec::as_slice);
        let Some(from) = levels.iter().take(level).rposition(holds) else { return };
        if let Some(sum) = self.level(&family, from) {
            (sum.files, sum.bytes) = (sum.files - files, sum.bytes - bytes);
        }
        if let Some(sum) = self.level(&family, level) {
            (sum.files, sum.bytes) = (sum.files.saturating_add(files), sum.bytes.saturating_add(bytes));
        }
    }

    fn level(&mut self, family: &str, level: usize) -> Option<&mut Sum> {
        if level >= LEVELS_MAX {
            return None;
        }
        let levels = self.families.entry(family.to_string()).or_default();
        if levels.len() <= level {
            levels.resize(level + 1, Sum::default());
        }
        levels.get_mut(level)
    }

    /// Returns the bytes of a column family and the bytes of its last level with files. `counts` is the number of files on each level.
    /// Returns `None` if these numbers differ from the known files, and for a column family without files.
    pub fn amplification(&self, family: &str, counts: &[u64]) -> Option<(u64, u64)> {
        let levels = self.families.get(family)?;
        let files = |level: usize| levels.get(level).map_or(0, |sum| sum.files);
        let is_known =
            levels.len() <= counts.len() && (0..counts.len()).all(|level| files(level) == counts[level]);
        let last = levels.iter().rev().find(|sum| sum.files > 0)?;
        let bytes = levels.iter().fold(0_u64, |bytes, sum| bytes.saturating_add(sum.bytes));
        (is_known && last.bytes > 0).then_some((bytes, last.bytes))
    }
}
