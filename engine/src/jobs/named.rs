//! Changes of versions by files or levels that the caller names: `CompactFiles`, `DeleteFilesInRanges`, `DeleteFile`,
//! `SuggestCompactRange`, `PromoteL0`, and the move that `CompactRangeOptions::change_level` asks for.
//!
//! Follows RocksDB `db/db_impl/db_impl_compaction_flush.cc` (`CompactFilesImpl`, `ReFitLevel`),
//! `db/db_impl/db_impl.cc` (`DeleteFilesInRanges`; `DeleteFile` in release 8.10) and `db/db_impl/db_impl_experimental.cc`.

use base::{Arrange, Error, FileNumber, JobId, Level, Result};
use lsm::pick::Running;
use lsm::pick::manual::{files_in_ranges, plan_files, smallest_fitting_level};
use lsm::table_file::TableFile;
use lsm::version::{Edit, KeyRange};

use super::manual::ManualCompactions;
use crate::commit::Change;
use crate::compaction::{FilesCompacted, Job};
use crate::errors::caught;
use crate::family::Family;
use crate::options::{CompactionOptions, CompressionType, Temperature};
use crate::schedule::Queues;
use crate::sync::Arc;

/// SST files that move to another level unchanged, with their reservation.
struct Move {
    id: JobId,
    files: Vec<Arc<TableFile>>,
    /// The old level and the new level.
    levels: (Level, Level),
}

impl ManualCompactions {
    /// Compacts these SST files, and the SST files that must be compacted with them, to `output_level`.
    /// Runs on the thread of the caller. `output_path_id` is the path for the output; `None` is the only path of the
    /// column family.
    ///
    /// # Errors
    /// InvalidArgument for an SST file that the version does not have or that is below the output level, and for a
    /// level or a path that does not exist. NotSupported if `output_path_id` is `None` and the column family has
    /// several paths. Aborted if a needed SST file is being compacted. Incomplete if the compaction is canceled.
    /// ColumnFamilyDropped. CompactionTooLarge if the SST file manager has no space for the output files. Errors of the
    /// job.
    pub fn compact_files(
        &self,
        family: &Arc<Family>,
        files: &[FileNumber],
        output_level: Level,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<FilesCompacted> {
        self.context.check_families(std::slice::from_ref(family))?;
        let canceled = self.begin_manual(&options.canceled, false)?;
        let planned = caught("the choice of a compaction", || {
            self.plan_files(family, files, output_level, output_path_id, options, canceled.clone())
        });
        let outcome = planned.and_then(|job| {
            let limiter = family.options().compaction_thread_limiter.clone();
            let task = limiter.as_ref().and_then(|limiter| limiter.start(true));
            let outcome = self.compactions.compact_in_space(&job);
            drop(task);
            self.schedule.release(&job);
            let dirs = job.parts.clone();
            if let Err(error) = &outcome {
                self.compactions.compaction_failed(&job, error.clone());
            }
            drop(job);
            let made = outcome?;
            let outputs = made.outputs.into_iter().map(|(number, path)| dirs.table_path(number, path));
            Ok(FilesCompacted { outputs: outputs.collect(), report: made.report })
        });
        let outcome = self.with_abort_subcode(outcome);
        self.end_manual(&canceled, false);
        self.schedule.reconsider(family);
        self.purge.purge();
        outcome
    }

    fn plan_files(
        &self,
        family: &Arc<Family>,
        files: &[FileNumber],
        output_level: Level,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
        canceled: Arc<crate::sync::Flag>,
    ) -> Result<Job> {
        if family.is_dropped() {
            return Err(Error::column_family_dropped(family.name()));
        }
        let mut state = self.schedule.queues();
        let pin = family.pin_owned();
        let paths = pin.parts.pick.paths.len();
        let path = match output_path_id {
            // RocksDB rejects the call with the same text.
            None if paths > 1 => {
                return Err(Error::not_supported(
                    "Automatic output path selection is not yet supported in CompactFiles()",
                ));
            }
            None => 0,
            Some(path) if path as usize >= paths => {
                return Err(Error::invalid_argument("Invalid output path ID"));
            }
            Some(path) => path,
        };
        let now = self.context.tools.env.clock.now_seconds();
        let allow_move = options.allow_trivial_move;
        let mut task = self.schedule.viewed(&state, family, &pin, |view| {
            plan_files(family.name(), view, &pin.parts.pick, files, (output_level, allow_move), now)
        })?;
        task.output.path_id = path;
        let all_there = task.files().all(|(_, f)| f.path_id == path);
        task.trivial_move &= all_there;
        task.output.max_file_size = options.output_file_size_limit;
        task.output.target_file_size = options.output_file_size_limit;
        task.max_subcompactions = options.max_subcompactions;
        if options.compression != CompressionType::DISABLE {
            task.output.compression = options.compression.number();
        }
        if options.output_temperature_override != Temperature::Unknown {
            task.output.temperature = options.output_temperature_override as u8;
        }
        let job = self.schedule.reserve(&mut state, family, task, Some(canceled));
        Ok(Job { by_compact_files: true, ..job })
    }

    /// Drops the SST files below level 0 that lie wholly in one of the ranges, without writing an SST file. All entries
    /// of the files are gone, also entries that a snapshot sees. SST files that a job reads stay. With `include_end`, an
    /// SST file whose last key is the end of a range is dropped too. With `limit`, SST files with this number or a larger number
    /// stay. The keys of the ranges carry no timestamps.
    ///
    /// # Errors
    /// Errors of the MANIFEST; then no SST file is dropped.
    pub fn delete_files_in_ranges(
        &self,
        family: &Arc<Family>,
        ranges: &[(Option<&[u8]>, Option<&[u8]>)],
        include_end: bool,
        limit: Option<FileNumber>,
    ) -> Result<()> {
        self.context.check_families(std::slice::from_ref(family))?;
        let found = {
            let state = self.schedule.queues();
            let pin = family.pin_owned();
            let ranges: Vec<_> =
                ranges.iter().map(|(begin, end)| family.with_timestamps(*begin, *end)).collect();
            let ranges: Vec<_> = ranges.iter().map(|(b, e)| (b.as_deref(), e.as_deref())).collect();
            let found = self.schedule.viewed(&state, family, &pin, |view| {
                files_in_ranges(view, &pin.parts.pick, &ranges, include_end, limit)
            });
            found.iter().for_each(|(_, file)| file.set_being_compacted(true));
            found
        };
        if found.is_empty() {
            return Ok(());
        }
        let deleted = found.iter().map(|(level, file)| (*level, file.number)).collect();
        let edit = Edit { deleted, ..Edit::default() };
        let outcome = self.change_tree(family, edit);
        let _state = self.schedule.queues();
        found.iter().for_each(|(_, file)| file.set_being_compacted(false));
        drop(_state);
        drop(found);
        self.schedule.reconsider(family);
        self.purge.purge();
        outcome
    }

    /// Drops one SST file without writing an SST file. All entries of the file are gone, also entries that a snapshot
    /// sees. Only the last level that holds files may lose a file, because the tombstones of a file hide entries of
    /// lower levels. In level 0, only the oldest file may be dropped. In other levels, the last user key of the file
    /// must have no older entries in the next file: a tombstone of this key would be dropped, and the older entries
    /// would appear again. RocksDB drops such a file. A file that a job reads stays, without an error.
    ///
    /// # Errors
    /// InvalidArgument if no column family has the file, or if the file is not a file that may be dropped. Errors of the
    /// MANIFEST; then the file is not dropped.
    pub fn delete_file(&self, families: &[Arc<Family>], number: FileNumber) -> Result<()> {
        let invalid = |words: &str| Err(Error::invalid_argument(words));
        let (family, file, edit) = {
            let _state = self.schedule.queues();
            let found = families.iter().find_map(|family| {
                let version = family.pin().version.clone();
                let (level, file) = version.files().find(|(_, file)| file.number == number)?;
                let file = file.clone();
                Some((family, version, level, file))
            });
            let Some((family, version, level, file)) = found else { return invalid("File not found") };
            self.context.check_families(std::slice::from_ref(family))?;
            if file.being_compacted() {
                return Ok(());
            }
            if version.last_filled_level().is_some_and(|last| last > level) {
                return invalid("File not in last level");
            }
            if level == Level::ZERO
                && version.level(Level::ZERO).iter().next_back().is_some_and(|oldest| oldest.number != number)
            {
                return invalid("File in level 0, but not oldest");
            }
            let mut pairs = version.level(level).as_slice().windows(2);
            if level > Level::ZERO
                && pairs.any(|pair| pair[0].number == number && version.share_key(&pair[0], &pair[1]))
            {
                return invalid("File shares its last user key with the next file of the level");
            }
            file.set_being_compacted(true);
            (family, file, Edit { deleted: vec![(level, number)], ..Edit::default() })
        };
        let outcome = self.change_tree(family, edit);
        let state = self.schedule.queues();
        file.set_being_compacted(false);
        drop(state);
        drop(file);
        self.schedule.reconsider(family);
        self.purge.purge();
        outcome
    }

    /// Marks the SST files that overlap the user keys in `[begin, end]`. The compaction picker prefers marked files. SST files on
    /// the last level that holds files are not marked. The keys carry no timestamps.
    pub fn suggest_compact_range(&self, family: &Arc<Family>, begin: Option<&[u8]>, end: Option<&[u8]>) {
        let version = family.pin().version.clone();
        let (begin, end) = family.with_timestamps(begin, end);
        let (begin, end) = (begin.as_deref(), end.as_deref());
        for level in Level::first(version.last_filled_level().map_or(0, Level::index)) {
            version.overlapping(level, begin, end).iter().for_each(|file| file.mark());
        }
        self.schedule.reconsider(family);
    }

    /// Moves all SST files of level 0 to `target_level`, unchanged.
    ///
    /// # Errors
    /// InvalidArgument in these cases: the level does not exist; SST files of level 0 overlap or are being compacted; a
    /// level from 1 to the target is not empty. Errors of the MANIFEST.
    pub fn promote_l0(&self, family: &Arc<Family>, target_level: Level) -> Result<()> {
        self.context.check_families(std::slice::from_ref(family))?;
        let invalid = |words: &str| Err(Error::invalid_argument(words));
        if target_level == Level::ZERO {
            return invalid("Invalid target level");
        }
        let moved = {
            let mut state = self.schedule.queues();
            let version = family.pin().version.clone();
            if target_level > version.last_level() {
                return invalid("Target level does not exist");
            }
            let mut files: Vec<_> = version.level(Level::ZERO).iter().cloned().collect();
            let order = version.order();
            files.arrange_by(|a, b| order.compare(&a.largest, &b.largest));
            if files.iter().any(|f| f.being_compacted()) {
                return invalid("PromoteL0 called during L0 compaction");
            }
            // Files that share a user key do not overlap if their internal keys do not.
            if files.windows(2).any(|pair| order.compare(&pair[0].largest, &pair[1].smallest).is_ge()) {
                return invalid("L0 has overlapping files");
            }
            let written_to = |level| state.running_of(family.id()).iter().any(|r| r.writes_to(level));
            let is_used = |level| !version.level(level).is_empty() || written_to(level);
            if version.levels_below(Level::ZERO).take_while(|level| *level <= target_level).any(is_used) {
                return invalid("All levels up to target_level must be empty");
            }
            self.reserve_move(&mut state, family, files, (Level::ZERO, target_level))
        };
        self.move_files(family, moved)
    }

    /// Moves all SST files of `level` to `target_level`. A negative target means the smallest empty level that is
    /// large enough.
    ///
    /// # Errors
    /// InvalidArgument for a level that does not exist. NotSupported if `level` is 0, or if a level in between has
    /// files or is the output level of a compaction. Aborted for more than one SST file to level 0. Errors of the
    /// MANIFEST.
    pub(super) fn refit_level(&self, family: &Arc<Family>, level: Level, target_level: i32) -> Result<()> {
        let moved = {
            let mut state = self.schedule.queues();
            let pin = family.pin_owned();
            let version = &pin.version;
            let named = usize::try_from(target_level).ok();
            if named.is_some_and(|to| to >= version.num_levels()) {
                return Err(Error::invalid_argument("Target level exceeds number of levels"));
            }
            let to = named.map(Level::from_index).unwrap_or_else(|| {
                self.schedule
                    .viewed(&state, family, &pin, |view| smallest_fitting_level(view, &pin.parts.pick, level))
            });
            let files: Vec<_> = version.level(level).iter().cloned().collect();
            if files.is_empty() || to == level {
                return Ok(());
            }
            if level == Level::ZERO {
                return Err(Error::not_supported("Cannot change from level 0 to other levels."));
            }
            if to == Level::ZERO && files.len() > 1 {
                return Err(Error::aborted(
                    "Moving more than 1 file from non-L0 to L0 is not allowed as it does not bring any benefit to \
                     read nor write throughput.",
                ));
            }
            let mut between =
                version.levels().filter(|l| (level < *l && *l <= to) || (to <= *l && *l < level));
            if between.clone().any(|l| !version.level(l).is_empty()) {
                return Err(Error::not_supported(
                    "Levels between source and target are not empty for a move.",
                ));
            }
            let running = state.running_of(family.id());
            let busy = files.iter().any(|f| f.being_compacted());
            if busy || between.any(|l| running.iter().any(|r| r.writes_to(l))) {
                return Err(Error::not_supported(
                    "Levels between source and target will have some ongoing compaction's output.",
                ));
            }
            self.reserve_move(&mut state, family, files, (level, to))
        };
        self.move_files(family, moved)
    }

    /// Reserves SST files and their key range on the new level. An ingestion that runs before the commit of the move places
    /// its files above the new level: their entries are newer. RocksDB: `DBImpl::ReFitLevel` registers a compaction.
    fn reserve_move(
        &self,
        state: &mut Queues,
        family: &Family,
        files: Vec<Arc<TableFile>>,
        levels: (Level, Level),
    ) -> Move {
        let id = self.context.tools.take_job_id();
        let order = family.pin().version.order().clone();
        let running = Running {
            start_level: levels.0,
            output_level: levels.1,
            range: KeyRange::of(&order, files.iter().map(|file| &**file)),
            manual: true,
            intra_l0: false,
            proximal: None,
        };
        files.iter().for_each(|file| file.set_being_compacted(true));
        state.compaction.reserved.entry(family.id()).or_default().push((id, running));
        Move { id, files, levels }
    }

    /// Moves reserved files to another level, and ends their reservation.
    fn move_files(&self, family: &Arc<Family>, moved: Move) -> Result<()> {
        let Move { id, files, levels: (from, to) } = moved;
        let edit = Edit {
            deleted: files.iter().map(|f| (from, f.number)).collect(),
            added: files.iter().map(|f| (to, f.clone())).collect(),
            ..Edit::default()
        };
        let outcome = if files.is_empty() { Ok(()) } else { self.change_tree(family, edit) };
        {
            let mut state = self.schedule.queues();
            files.iter().for_each(|f| f.set_being_compacted(false));
            state.unreserve(family.id(), id);
        }
        self.schedule.reconsider(family);
        outcome
    }

    fn change_tree(&self, family: &Arc<Family>, edit: Edit) -> Result<()> {
        let outcome = self.context.committer.commit_one(Change::new(family.clone(), edit));
        match outcome {
            Ok(committed) => {
                self.purge.committed(&committed);
                Ok(())
            }
            Err(error) => {
                self.failures.failed(error.clone(), crate::event::ErrorReason::ManifestWrite);
                Err(error)
            }
        }
    }
}
