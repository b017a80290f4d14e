//! Decides whether a level below the output of a compaction may hold older entries of a key. If not, tombstones can
//! be dropped.

use base::Level;
use lsm::compaction_iter;
use lsm::pick::Task;
use lsm::version::Version;

use crate::sync::Arc;

/// The levels below the output level, with a position in each level. The positions follow the ascending keys.
#[derive(Clone)]
pub struct Below {
    version: Arc<Version>,
    /// True if no level below has entries in the key range of the inputs.
    bottommost: bool,
    /// True if older entries can never be excluded: the output is on level 0, or files may be ingested behind the
    /// existing data.
    unknown: bool,
    output_level: Level,
    at: Vec<usize>,
}

impl Below {
    /// Makes the positions for a compaction, before the first file of each level. If files may be ingested
    /// behind the existing data (`ingest_behind`), older entries can never be excluded.
    pub fn new(version: Arc<Version>, task: &Task, ingest_behind: bool) -> Self {
        let levels = version.num_levels();
        base::invariant!(
            task.output.level <= version.last_level(),
            "a compaction writes to {} of {levels} levels",
            task.output.level
        );
        Below {
            version,
            bottommost: task.bottommost && !ingest_behind,
            unknown: ingest_behind || task.output.level == Level::ZERO,
            output_level: task.output.level,
            at: vec![0; levels],
        }
    }

    /// Returns true if no level below can hold a key in the range of user keys.
    pub fn range_not_exists(&self, start: &[u8], end: &[u8]) -> bool {
        base::invariant!(
            self.output_level <= self.version.last_level(),
            "a compaction writes to {} of {} levels",
            self.output_level,
            self.version.num_levels()
        );
        if self.bottommost {
            return true;
        }
        if self.unknown {
            return false;
        }
        self.version
            .levels_below(self.output_level)
            .all(|l| !self.version.overlaps(l, Some(start), Some(end)))
    }
}

impl compaction_iter::Below for Below {
    fn key_not_exists_beyond_output(&mut self, user_key: &[u8]) -> bool {
        if self.bottommost {
            return true;
        }
        if self.unknown {
            return false;
        }
        let order = &self.version.order().user;
        for level in self.version.levels_below(self.output_level) {
            let files = self.version.level(level);
            while let Some(file) = files.get(self.at[level.index()]) {
                if order.compare_without_timestamp(user_key, file.largest_user_key()).is_gt() {
                    self.at[level.index()] += 1;
                    continue;
                }
                if order.compare_without_timestamp(user_key, file.smallest_user_key()).is_ge() {
                    return false;
                }
                break;
            }
        }
        true
    }
}
