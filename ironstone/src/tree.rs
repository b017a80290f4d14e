//! Calls that shape the tree: compactions by hand, tables named or dropped, waiting for the background.

use std::path::PathBuf;

use base::{FileNumber, Result};
use engine::options::{CompactionOptions, WaitForCompactOptions};

use crate::{Db, Family};

/// A table of the tree, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    pub number: FileNumber,
    pub level: usize,
    /// Bytes.
    pub size: u64,
    /// User keys, with their timestamps if the family has them.
    pub smallest_key: Vec<u8>,
    pub largest_key: Vec<u8>,
}

impl Db {
    /// The tables of a family, level by level; those of level 0 newest first. RocksDB's `GetLiveFilesMetaData`.
    pub fn live_files(&self, family: &Family) -> Vec<LiveFile> {
        let pinned = family.inner().pin_owned();
        let files = pinned.version.files();
        let live = files.map(|(level, file)| LiveFile {
            number: file.number,
            level,
            size: file.size,
            smallest_key: file.smallest_user_key().to_vec(),
            largest_key: file.largest_user_key().to_vec(),
        });
        live.collect()
    }

    /// Compacts these tables of a family, and those that must go with them, to `output_level`, on this thread.
    /// Returns the paths of the tables made. `output_path_id` is an index into the family's paths; `None` for its
    /// only one. RocksDB's `CompactFiles`.
    ///
    /// # Errors
    /// InvalidArgument for tables that are not in the tree or lie below the output level, and for a level or path
    /// that does not exist; Aborted while a table needed is being compacted; Incomplete when given up.
    pub fn compact_files(
        &self,
        family: &Family,
        files: &[FileNumber],
        output_level: usize,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<Vec<PathBuf>> {
        self.engine().compact_files(family.inner(), files, output_level, output_path_id, options)
    }

    /// Drops the tables below level 0 that lie wholly in one of the ranges, at no cost but a MANIFEST record:
    /// their keys are gone, in snapshots too, and what lay below them may come back. `None` is unbounded. With
    /// `include_end` a table whose last key is the end of a range goes too. RocksDB's `DeleteFilesInRanges`.
    ///
    /// # Errors
    /// Those of the MANIFEST; nothing is dropped then.
    pub fn delete_files_in_ranges(
        &self,
        family: &Family,
        ranges: &[(Option<&[u8]>, Option<&[u8]>)],
        include_end: bool,
    ) -> Result<()> {
        self.engine().delete_files_in_ranges(family.inner(), ranges, include_end)
    }

    /// Marks the tables that meet `[begin, end]` to be compacted soon in the background.
    ///
    /// # Errors
    /// NotSupported when opened for reading.
    pub fn suggest_compact_range(
        &self,
        family: &Family,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.engine().suggest_compact_range(family.inner(), begin, end)
    }

    /// Moves all of level 0 to `target_level` as it is.
    ///
    /// # Errors
    /// InvalidArgument for a level that does not exist, tables of level 0 that overlap or are being compacted, and
    /// levels up to the target that are not empty.
    pub fn promote_l0(&self, family: &Family, target_level: usize) -> Result<()> {
        self.engine().promote_l0(family.inner(), target_level)
    }

    /// Gives up manual compactions that run, which answer Incomplete, and refuses new ones until
    /// [`Db::enable_manual_compaction`] was called as often. Returns when none runs.
    ///
    /// # Errors
    /// NotSupported when opened for reading.
    pub fn disable_manual_compaction(&self) -> Result<()> {
        self.engine().disable_manual_compaction()
    }

    /// Undoes one [`Db::disable_manual_compaction`].
    ///
    /// # Errors
    /// As there.
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.engine().enable_manual_compaction()
    }

    /// Turns automatic compactions of these families on again.
    ///
    /// # Errors
    /// As [`Family::set_options`].
    pub fn enable_auto_compaction(&self, families: &[Family]) -> Result<()> {
        families.iter().try_for_each(|family| family.set_options(&[("disable_auto_compactions", "false")]))
    }

    /// Starts no new flush or compaction until [`Db::continue_background_work`] was called as often; returns when
    /// none runs. Writes that need room wait meanwhile.
    ///
    /// # Errors
    /// NotSupported when opened for reading.
    pub fn pause_background_work(&self) -> Result<()> {
        self.engine().pause_background_work()
    }

    /// Undoes one [`Db::pause_background_work`].
    ///
    /// # Errors
    /// InvalidArgument if there was none.
    pub fn continue_background_work(&self) -> Result<()> {
        self.engine().continue_background_work()
    }

    /// Versions with timestamps below `low` may be collapsed from now on, and cannot be read. Durable on return.
    ///
    /// # Errors
    /// InvalidArgument if the family has no timestamps or others, or knows of a higher mark.
    pub fn increase_full_history_ts_low(&self, family: &Family, low: &[u8]) -> Result<()> {
        self.engine().increase_full_history_ts_low(family.inner(), low)
    }

    /// The family's low mark of timestamps; `None` until one is set.
    pub fn full_history_ts_low(&self, family: &Family) -> Option<Vec<u8>> {
        self.engine().full_history_ts_low(family.inner())
    }

    /// Waits until no flush or compaction runs or is due.
    ///
    /// # Errors
    /// The background error, when one stops them, be it those of one family.
    pub fn wait_for_compact(&self) -> Result<()> {
        self.engine().wait_for_compact()
    }

    /// As [`Db::wait_for_compact`], with options.
    ///
    /// # Errors
    /// As there; Aborted if background work is paused and `abort_on_pause` is set; TimedOut.
    pub fn wait_for_compact_with(&self, options: &WaitForCompactOptions) -> Result<()> {
        self.engine().wait_for_compact_with(options)
    }
}
