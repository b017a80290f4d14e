//! The leveled picker: RocksDB's `LevelCompactionPicker`, choice for choice.
//!
//! The picker tries levels in the order of their scores. A level-0 compaction takes all overlapping files
//! of level 0 to the base level. If the base level is reserved or this merge is too expensive, newer
//! level-0 files are merged with each other instead. Another level compacts one file, chosen by
//! `compaction_pri`, with the overlapping files of the next level. If no level exceeds its target, the
//! picker takes marked files, bottommost files with obsolete entries, expired files, and files whose period
//! has passed.

use std::sync::Arc;

use base::key::user_key;
use base::{Arrange, Level};

use super::expand::{Files, Growth, Picker, any_reserved, bytes_of};
use super::score::Scores;
use super::{Inputs, Options, Priority, Reason, Task, View};
use crate::table_file::TableFile;
use crate::version::Extent;

/// A compaction within level 0 needs at least this number of files.
const MIN_INTRA_L0_FILES: usize = 4;
/// Maximum number of files in one trivial move.
const MAX_TRIVIAL_MOVE_FILES: usize = 4;

/// Returns true if leveled compaction of a version with at least two levels has work, by its scores.
pub(super) fn is_due(scores: &Scores) -> bool {
    scores.by_level.first().is_some_and(|(_, score)| *score >= 1.0)
        || !scores.marked.is_empty()
        || !scores.bottommost_marked.is_empty()
        || !scores.ttl_expired.is_empty()
        || !scores.periodic.is_empty()
        || !scores.forced_blob_gc.is_empty()
        || !scores.read_triggered.is_empty()
}

/// Picks the next leveled compaction, if there is one. A version with one level has none, because leveled
/// compaction needs two levels.
pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    if view.version.num_levels() < 2 {
        return None;
    }
    let leveled = Leveled { picker: Picker::new(view, options, now) };
    let choice = leveled.by_score().or_else(|| leveled.by_mark())?;
    leveled.complete(choice)
}

/// The rules of leveled compaction: they choose the first files of a compaction. [`Picker`] extends the choice.
pub(super) struct Leveled<'a> {
    pub picker: Picker<'a>,
}

/// The first files of a compaction.
struct Choice {
    reason: Reason,
    start_level: Level,
    output_level: Level,
    files: Files,
    /// True if the level-0 files overlap no file of the output level, so they are moved instead of merged.
    l0_move: bool,
}

/// The output level for files that were picked by a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    SameLevel,
    NextLevel,
    /// The next level. Files of the last level are not picked.
    NextLevelSkipLast,
}

impl Leveled<'_> {
    fn by_score(&self) -> Option<Choice> {
        let mut l0_blocked = false;
        for &(level, score) in &self.picker.scores.by_level {
            if score < 1.0 {
                break;
            }
            if l0_blocked && level == self.picker.scores.base_level {
                // The output of this level would overlap the base level, and so delay the compaction of level
                // 0 further.
                continue;
            }
            let reason =
                if level == Level::ZERO { Reason::LevelL0FilesNum } else { Reason::LevelMaxLevelSize };
            if let Some(choice) = self.of_level(level, reason) {
                return Some(choice);
            }
            if level == Level::ZERO {
                l0_blocked = true;
                if let Some(files) = self.intra_l0_by_cost() {
                    return Some(Choice {
                        reason,
                        start_level: Level::ZERO,
                        output_level: Level::ZERO,
                        files,
                        l0_move: false,
                    });
                }
            }
        }
        None
    }

    fn output_of(&self, level: Level) -> Level {
        if level == Level::ZERO { self.picker.scores.base_level } else { level.below() }
    }

    /// Picks a file of this level by priority, if no running compaction blocks it.
    fn of_level(&self, level: Level, reason: Reason) -> Option<Choice> {
        let output_level = self.output_of(level);
        let choice = |files, output_level, l0_move| {
            Some(Choice { reason, start_level: level, output_level, files, l0_move })
        };
        if level == Level::ZERO {
            if self.picker.l0_is_busy() {
                return choice(self.intra_l0_by_size()?, Level::ZERO, false);
            }
            if self.picker.version.level(Level::ZERO).iter().any(|f| f.is_quarantined()) {
                return match self.beside_quarantine(output_level) {
                    Some(files) => choice(files, output_level, false),
                    None => choice(self.before_quarantine()?, Level::ZERO, false),
                };
            }
            if let Some(files) = self.l0_move(output_level) {
                return choice(files, output_level, true);
            }
            if let Some(files) = self.intra_l0_by_size() {
                return choice(files, Level::ZERO, false);
            }
        }
        base::invariant!(level < output_level, "{level} has the output {output_level}");
        let round_robin = self.picker.options.priority == Priority::RoundRobin;
        let level_files = self.picker.version.level(level).as_slice();
        for index in self.files_by_priority(level) {
            let file = &level_files[index];
            if self.picker.scores.is_young(level, file) {
                continue;
            }
            let mut files = vec![file.clone()];
            let free = !file.being_compacted()
                && self.picker.clean_cut(level, &mut files)
                && !self.picker.inputs_meet_running(&[&files], output_level);
            let mut below = if free { self.picker.overlapping(output_level, &files) } else { Vec::new() };
            if free && below.is_empty() && level > Level::ZERO {
                self.extend_move(level, index, &mut files, output_level, round_robin);
            }
            if free && self.picker.clean_cut(output_level, &mut below) {
                return choice(files, output_level, false);
            }
            if round_robin {
                // Round-robin picks the files strictly in order, so it waits for this file.
                return None;
            }
        }
        None
    }

    /// Picks a level-0 file that can be compacted without a quarantined file: no chain of overlaps connects
    /// the two.
    fn beside_quarantine(&self, output_level: Level) -> Option<Files> {
        self.picker.version.level(Level::ZERO).iter().find_map(|file| {
            let mut files = vec![file.clone()];
            let free = self.picker.overlapping_l0(&mut files, output_level) && !any_reserved(&files);
            free.then(|| vec![file.clone()])
        })
    }

    /// Picks the level-0 files that are newer than all reserved level-0 files, and merges the picked files
    /// with each other. The picker takes as many files as pay off. If level 0 is so full that writes are
    /// slowed down, the picker takes every newer file, whatever its size. Otherwise no file could leave
    /// level 0, and writes would stop although there is space.
    fn before_quarantine(&self) -> Option<Files> {
        let l0 = self.picker.version.level(Level::ZERO);
        if let Some(files) = self.intra_l0_by_size().or_else(|| self.intra_l0_by_cost()) {
            return Some(files);
        }
        let least = |trigger: i32| trigger.max(0) as usize;
        let files: Files = l0.iter().take_while(|f| !f.being_compacted()).cloned().collect();
        let slow = l0.len() >= least(self.picker.options.triggers.level0_slowdown_writes_trigger)
            && files.len() >= MIN_INTRA_L0_FILES;
        let stop = l0.len() + 1 >= least(self.picker.options.triggers.level0_stop_writes_trigger)
            && files.len() >= 2;
        (slow || stop).then_some(files)
    }

    /// Picks the oldest level-0 files that overlap neither each other nor the output level.
    fn l0_move(&self, output_level: Level) -> Option<Files> {
        let options = self.picker.options;
        if output_level == Level::ZERO
            || !options.codecs.compression_per_level.is_empty()
            || self.picker.version.level(output_level).is_empty()
            || options.paths.len() > 1
        {
            return None;
        }
        let order = self.picker.version.order();
        let mut files: Files = Vec::new();
        let mut extent = Extent::default();
        for file in self.picker.version.level(Level::ZERO).iter().rev() {
            let (smallest, largest) = (&file.smallest[..], &file.largest[..]);
            match (extent.smallest, extent.largest) {
                (Some(s), _) if order.compare(largest, s).is_lt() => extent.smallest = Some(smallest),
                (_, Some(l)) if order.compare(smallest, l).is_gt() => extent.largest = Some(largest),
                (None, None) => extent = Extent { smallest: Some(smallest), largest: Some(largest) },
                _ => break,
            }
            if file.being_compacted() || !self.picker.version.extent_range(output_level, extent).is_empty() {
                break;
            }
            files.push(file.clone());
        }
        files.arrange_by(|a, b| order.compare(&a.smallest, &b.smallest));
        (!files.is_empty()).then_some(files)
    }

    /// Adds neighbours that can be moved too to a file that can be moved.
    fn extend_move(
        &self,
        level: Level,
        index: usize,
        files: &mut Files,
        output_level: Level,
        only_right: bool,
    ) {
        if files.len() != 1
            || self.picker.options.paths.len() > 1
            || !self.picker.options.codecs.compression_per_level.is_empty()
        {
            return;
        }
        let all = self.picker.version.level(level).as_slice();
        base::invariant!(
            all[index].number == files[0].number,
            "the file to move is not at its place in {level}"
        );
        let first = files[0].clone();
        let mut bytes = first.size;
        let order = &self.picker.version.order().user;
        let shares_key = |left: &TableFile, right: &TableFile| {
            order.compare_without_timestamp(user_key(&left.largest), user_key(&right.smallest)).is_eq()
        };
        let mut fits = |extent: Extent<'_>, file: &TableFile| {
            bytes = bytes.saturating_add(file.size);
            !file.being_compacted()
                && self.picker.version.extent_range(output_level, extent).is_empty()
                && bytes <= self.picker.options.max_compaction_bytes()
        };
        for i in index + 1..all.len() {
            let extent = Extent { smallest: Some(&first.smallest), largest: Some(&all[i].largest) };
            let clean = all.get(i + 1).is_none_or(|next| !shares_key(&all[i], next));
            if files.len() >= MAX_TRIVIAL_MOVE_FILES || !clean || !fits(extent, &all[i]) {
                break;
            }
            files.push(all[i].clone());
        }
        for i in (0..index).rev().filter(|_| !only_right) {
            let extent = Extent { smallest: Some(&all[i].smallest), largest: Some(&first.largest) };
            let clean = i == 0 || !shares_key(&all[i - 1], &all[i]);
            if files.len() >= MAX_TRIVIAL_MOVE_FILES || !clean || !fits(extent, &all[i]) {
                break;
            }
            files.insert(0, all[i].clone());
        }
        base::invariant!(files.len() <= MAX_TRIVIAL_MOVE_FILES, "a trivial move of {} files", files.len());
    }

    /// Picks the newest level-0 files, as long as each added file lowers the number of rewritten bytes for
    /// each removed file.
    fn intra_l0_by_cost(&self) -> Option<Files> {
        let trigger = self.picker.options.triggers.level0_file_num_compaction_trigger.max(0) as usize;
        if self.picker.version.level(Level::ZERO).len() < trigger + 2 {
            return None;
        }
        intra_l0(
            self.picker.version.level(Level::ZERO).as_slice(),
            MIN_INTRA_L0_FILES,
            u64::MAX,
            self.picker.options.max_compaction_bytes(),
        )
    }

    /// Picks level-0 files for a merge within level 0, if the base level is so large that a merge into it
    /// costs too much.
    fn intra_l0_by_size(&self) -> Option<Files> {
        let l0 = self.picker.version.level(Level::ZERO);
        let min_files = self.picker.options.triggers.level0_file_num_compaction_trigger.max(2) as usize;
        if self.picker.scores.base_level == Level::ZERO || l0.len() < min_files {
            return None;
        }
        let bytes: u64 = l0.iter().map(|f| f.compensated_size(self.picker.scores.average_value_size)).sum();
        let factor = self.picker.options.sizes.max_bytes_for_level_multiplier.max(10.0) * 2.0;
        if self.picker.version.level(self.picker.scores.base_level).bytes() as f64 <= bytes as f64 * factor {
            return None;
        }
        let files: Files = l0.iter().take_while(|f| !f.being_compacted()).cloned().collect();
        (files.len() >= min_files).then_some(files)
    }

    fn by_mark(&self) -> Option<Choice> {
        let scores = &self.picker.scores;
        let marked = scores.marked.iter().find_map(|(level, file)| {
            let mut files = vec![file.clone()];
            (!(*level == Level::ZERO && self.picker.l0_is_busy())
                && self.picker.clean_cut(*level, &mut files))
            .then(|| Choice {
                reason: Reason::FilesMarkedForCompaction,
                start_level: *level,
                output_level: self.output_of(*level),
                files,
                l0_move: false,
            })
        });
        let periodic_to = if self.picker.options.sizes.level_compaction_dynamic_level_bytes {
            To::NextLevel
        } else {
            To::SameLevel
        };
        marked
            .or_else(|| self.first_free(&scores.bottommost_marked, To::SameLevel, Reason::BottommostFiles))
            .or_else(|| self.round_robin_ttl())
            .or_else(|| self.first_free(&scores.ttl_expired, To::NextLevelSkipLast, Reason::Ttl))
            .or_else(|| self.first_free(&scores.periodic, periodic_to, Reason::PeriodicCompaction))
            .or_else(|| self.first_free(&scores.forced_blob_gc, To::SameLevel, Reason::ForcedBlobGc))
            .or_else(|| self.first_free(&scores.read_triggered, To::NextLevel, Reason::ReadTriggered))
    }

    fn round_robin_ttl(&self) -> Option<Choice> {
        let level = self.picker.scores.ttl_expired.first()?.0;
        if self.picker.options.priority != Priority::RoundRobin || level == Level::ZERO {
            return None;
        }
        self.of_level(level, Reason::RoundRobinTtl)
    }

    fn first_free(&self, candidates: &[(Level, Arc<TableFile>)], to: To, reason: Reason) -> Option<Choice> {
        let last = self.picker.version.last_filled_level().unwrap_or_default();
        candidates.iter().find_map(|(level, file)| {
            let level = *level;
            if to == To::NextLevelSkipLast && level == last
                || level == Level::ZERO && self.picker.l0_is_busy()
            {
                return None;
            }
            let output_level =
                if to != To::SameLevel && level < last { self.output_of(level) } else { level };
            let mut files = vec![file.clone()];
            self.picker.clean_cut(level, &mut files).then(|| Choice {
                reason,
                start_level: level,
                output_level,
                files,
                l0_move: false,
            })
        })
    }

    /// Adds the other necessary files to a choice, and checks that no running compaction conflicts.
    fn complete(&self, choice: Choice) -> Option<Task> {
        let Choice { reason, start_level, output_level, mut files, l0_move } = choice;
        base::invariant!(
            start_level <= output_level,
            "a compaction of {start_level} goes up to {output_level}"
        );
        if start_level == Level::ZERO
            && output_level != Level::ZERO
            && !l0_move
            && !self.picker.overlapping_l0(&mut files, output_level)
        {
            return None;
        }
        let mut inputs = Vec::new();
        if output_level == Level::ZERO {
            inputs.push(Inputs { level: start_level, files });
        } else {
            let round_robin =
                self.picker.options.priority == Priority::RoundRobin && reason == Reason::LevelMaxLevelSize;
            if round_robin {
                self.expand_round_robin(start_level, output_level, &mut files);
            }
            let below = if l0_move {
                Vec::new()
            } else {
                let growth = if round_robin { Growth::ToTheRight } else { Growth::BothSides };
                self.picker.output_inputs(start_level, &mut files, output_level, growth)?
            };
            if self.picker.inputs_meet_running(&[&files, &below], output_level) || any_reserved(&files) {
                return None;
            }
            inputs.push(Inputs { level: start_level, files });
            if !below.is_empty() {
                inputs.push(Inputs { level: output_level, files: below });
            }
        }
        let mut task = self.picker.task(reason, inputs, output_level);
        if l0_move {
            task.trivial_move = self.picker.may_move(&task);
        }
        if self.picker.options.priority == Priority::RoundRobin && start_level > Level::ZERO {
            task.next_cursor = self.next_cursor(&task);
        }
        Some(task)
    }

    /// For round-robin: adds further files on the right while the level exceeds its target size and the
    /// compaction does not become too large.
    fn expand_round_robin(&self, level: Level, output_level: Level, files: &mut Files) {
        base::invariant!(!files.is_empty(), "a round-robin compaction without a file is expanded");
        let all = self.picker.version.level(level).as_slice();
        let free: u64 = all.iter().filter(|f| !f.being_compacted()).map(|f| f.size).sum();
        let surplus = free.saturating_sub(self.picker.scores.max_bytes[level.index()]);
        if self.picker.overlapping(output_level, files).is_empty() && files.len() > 1 {
            // The files were already extended for a trivial move.
            return;
        }
        let Some(last) = files.last().and_then(|f| self.picker.version.level(level).position(f.number))
        else {
            return;
        };
        if files[0].size >= surplus {
            return;
        }
        let mut tried = files.clone();
        for file in &all[last + 1..] {
            if file.being_compacted() {
                return;
            }
            if tried.last().is_some_and(|f| f.number == file.number) {
                continue;
            }
            tried.push(file.clone());
            if !self.picker.clean_cut(level, &mut tried)
                || self.picker.inputs_meet_running(&[&tried], output_level)
            {
                return;
            }
            let mut below = self.picker.overlapping(output_level, &tried);
            if !self.picker.clean_cut(output_level, &mut below)
                || bytes_of(&tried).saturating_add(bytes_of(&below))
                    > self.picker.options.max_compaction_bytes()
            {
                return;
            }
            *files = tried.clone();
            if bytes_of(files) > surplus {
                return;
            }
        }
    }

    /// Returns the smallest key of the file after the last picked file. After the last file of the level,
    /// returns the smallest key of the first file.
    fn next_cursor(&self, task: &Task) -> Option<Vec<u8>> {
        let level = self.picker.version.level(task.start_level());
        let last = task.files_of(task.start_level()).last()?;
        let next = level.position(last.number)? + 1;
        level.get(next).or_else(|| level.get(0)).map(|f| f.smallest.to_vec())
    }
}

/// Picks files from the newest on, as long as the number of rewritten bytes for each removed file falls.
pub(super) fn intra_l0(
    files: &[Arc<TableFile>],
    min_files: usize,
    max_bytes_per_removed_file: u64,
    max_bytes: u64,
) -> Option<Files> {
    base::invariant!(min_files >= 2, "a compaction within level 0 needs two files");
    let first = files.first().filter(|f| !f.being_compacted())?;
    let mut bytes = first.size;
    let mut cost = u64::MAX;
    let mut limit = 1;
    for file in &files[1..] {
        bytes = bytes.saturating_add(file.size);
        let new_cost = bytes / limit as u64;
        if file.being_compacted() || new_cost > cost || bytes > max_bytes {
            break;
        }
        cost = new_cost;
        limit += 1;
    }
    (limit >= min_files && cost < max_bytes_per_removed_file).then(|| files[..limit].to_vec())
}
