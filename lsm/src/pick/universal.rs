//! The universal picker: merges whole sorted runs of neighbouring age.
//!
//! A sorted run is a level-0 file or a whole level. Runs are ordered from the newest to the oldest. The
//! picker tries the reasons in this order: files that are due for periodic compaction; too much space in
//! newer runs relative to the oldest run (space amplification); neighbouring runs of similar size (size
//! ratio); too many runs; files that are marked for compaction. Follows RocksDB
//! `db/compaction/compaction_picker_universal.cc`.

use std::ops::Range;
use std::sync::Arc;

use base::{Arrange, Level};

use super::expand::{Files, Growth, Picker, any_reserved, bytes_of};
use super::score::Scores;
use super::{Inputs, Options, Reason, StopStyle, Task, View};
use crate::table_file::TableFile;

/// A sorted run: a level-0 file or a level.
struct Run {
    level: Level,
    /// The file, if the run is a level-0 file.
    file: Option<Arc<TableFile>>,
    bytes: u64,
    compensated: u64,
    reserved: bool,
}

/// Returns true if universal compaction has work, by the scores.
pub(super) fn is_due(scores: &Scores) -> bool {
    scores.of(Level::ZERO) >= 1.0 || marks(scores)
}

/// Picks the next universal compaction, if there is one. `now` is in seconds since 1970.
pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    let picker = Picker::new(view, options, now);
    let runs = runs(&picker);
    let trigger = options.triggers.level0_file_num_compaction_trigger.max(0) as usize;
    if runs.is_empty() || !marks(&picker.scores) && runs.len() < trigger {
        return None;
    }
    let many = runs.len() >= trigger;
    let universal = Universal { picker, runs };
    let ratio = u64::from(options.universal.size_ratio);
    let mut task = universal
        .periodic()
        .or_else(|| many.then(|| universal.space_amplification())?)
        .or_else(|| many.then(|| universal.similar_runs(ratio, usize::MAX, Reason::UniversalSizeRatio))?)
        .or_else(|| many.then(|| universal.too_many_runs(trigger, ratio))?)
        .or_else(|| universal.marked())
        .or_else(|| universal.read_triggered())?;
    if universal.changes_nothing(&task) {
        return None;
    }
    if options.universal.allow_trivial_move && task.reason != Reason::PeriodicCompaction {
        task.trivial_move = task.output.level != Level::ZERO
            && task.start_level() != task.output.level
            && task.proximal.is_none()
            && universal.are_disjoint(&task);
    }
    Some(task)
}

/// Returns true if files are due for a reason other than the sizes of the runs.
fn marks(scores: &Scores) -> bool {
    !scores.periodic.is_empty() || !scores.marked.is_empty() || !scores.read_triggered.is_empty()
}

/// Returns the lowest level that compactions may write to.
fn last_level(picker: &Picker<'_>) -> Level {
    picker.options.last_output_level(picker.version)
}

/// Returns the sorted runs, from the newest to the oldest.
fn runs(picker: &Picker<'_>) -> Vec<Run> {
    let average = picker.scores.average_value_size;
    let mut runs: Vec<Run> = picker
        .version
        .level(Level::ZERO)
        .iter()
        .map(|f| Run {
            level: Level::ZERO,
            file: Some(f.clone()),
            bytes: f.size,
            compensated: f.compensated_size(average),
            reserved: f.being_compacted(),
        })
        .collect();
    for level in Level::first(last_level(picker).index() + 1).skip(1) {
        let files = picker.version.level(level);
        if !files.is_empty() {
            runs.push(Run {
                level,
                file: None,
                bytes: files.bytes(),
                compensated: files.iter().map(|f| f.compensated_size(average)).sum(),
                reserved: files.iter().any(|f| f.being_compacted()),
            });
        }
    }
    runs
}

/// The rules of universal compaction: they choose neighbouring sorted runs. [`Picker`] makes the task.
struct Universal<'a> {
    picker: Picker<'a>,
    /// The sorted runs of the version, from the newest to the oldest.
    runs: Vec<Run>,
}

impl Universal<'_> {
    /// Picks all runs that are older than the last reserved run, if files are due for periodic compaction.
    fn periodic(&self) -> Option<Task> {
        if self.picker.scores.periodic.is_empty() {
            return None;
        }
        let start = self.runs.iter().rposition(|r| r.reserved).map_or(0, |i| i + 1);
        let first = self.runs.get(start)?;
        let is_due = |(level, file): &(Level, Arc<TableFile>)| match &first.file {
            Some(own) => own.number == file.number,
            None => *level == first.level,
        };
        if start + 1 == self.runs.len() && !self.picker.scores.periodic.iter().any(is_due) {
            return None;
        }
        self.of_runs(start, self.runs.len(), Reason::PeriodicCompaction, true)
    }

    /// Merges all newer runs into the oldest run, if they take too much space relative to it.
    fn space_amplification(&self) -> Option<Task> {
        base::invariant!(!self.runs.is_empty(), "universal compaction without sorted runs");
        let end = self.runs.len() - 1 - usize::from(self.leaves_last_level());
        let base = &self.runs[end];
        if base.reserved {
            return None;
        }
        let mut start = end;
        let mut newer = 0u64;
        let mut l0_files = 0;
        while start > 0 && !self.runs[start - 1].reserved {
            start -= 1;
            newer = newer.saturating_add(self.runs[start].compensated);
            l0_files += usize::from(self.runs[start].level == Level::ZERO);
        }
        if start == end {
            return None;
        }
        self.leave_newest(l0_files, end, &mut start, &mut newer);
        let limit = u64::from(self.picker.options.universal.max_size_amplification_percent);
        if newer.saturating_mul(100) < limit.saturating_mul(base.bytes) {
            return None;
        }
        if self.picker.options.universal.incremental {
            let worst = base.bytes as f64 / newer.max(1) as f64 * 1.8;
            if let Some(task) = self.piece_of_oldest_runs(worst) {
                return Some(task);
            }
        }
        self.of_runs(start, end + 1, Reason::UniversalSizeAmplification, true)
    }

    /// Returns true if the last level does not count for the space amplification: it holds only data that is too old for the other
    /// levels. RocksDB: `ShouldSkipLastSortedRunForSizeAmpCompaction`.
    fn leaves_last_level(&self) -> bool {
        let levels = self.picker.version.num_levels();
        self.picker.options.ages.preclude_last_level_data_seconds > 0
            && levels > 2
            && self.runs.len() > 1
            && self.runs.last().is_some_and(|run| run.level == self.picker.version.last_level())
    }

    /// Returns true if the compaction would write the last level and the level above it as they are, because no entry above is old enough
    /// for the last level. RocksDB runs this compaction again and again if two sorted runs are enough for a compaction.
    fn changes_nothing(&self, task: &Task) -> bool {
        let by_size = matches!(
            task.reason,
            Reason::UniversalSizeAmplification | Reason::UniversalSizeRatio | Reason::UniversalSortedRunNum
        );
        by_size
            && task.proximal.as_ref().is_some_and(|proximal| {
                let above = task.files_of(proximal.level);
                task.start_level() == proximal.level
                    && above.iter().all(|file| self.picker.scores.is_young(proximal.level, file))
            })
    }

    /// `incremental`: picks the files of the second oldest run that overlap the oldest run least for their
    /// size, and the files within their range from the levels above. `None` if no choice is better than
    /// `worst`.
    fn piece_of_oldest_runs(&self, worst: f64) -> Option<Task> {
        let [.., above, oldest] = &self.runs[..] else { return None };
        if above.level == Level::ZERO {
            return None;
        }
        let files = self.picker.version.level(above.level).as_slice();
        let stretch = self.cheapest_stretch(files, oldest.level, worst)?;
        let mut own: Files = files[stretch].to_vec();
        if any_reserved(&own) || !self.picker.clean_cut(above.level, &mut own) {
            return None;
        }
        let below = self.picker.output_inputs(above.level, &mut own, oldest.level, Growth::BothSides)?;
        let mut inputs = vec![Inputs { level: above.level, files: own }];
        for run in self.runs[..self.runs.len() - 2].iter().rev().take_while(|r| r.level > Level::ZERO) {
            let inside = self.picker.within(run.level, self.picker.extent(&inputs[0].files));
            if any_reserved(&inside) {
                return None;
            }
            if !inside.is_empty() {
                inputs.insert(0, Inputs { level: run.level, files: inside });
            }
        }
        inputs.push(Inputs { level: oldest.level, files: below });
        inputs.retain(|i| !i.files.is_empty());
        let all: Vec<&Files> = inputs.iter().map(|i| &i.files).collect();
        if self.picker.inputs_meet_running(&all, oldest.level) {
            return None;
        }
        let mut task = self.picker.task(Reason::UniversalSizeAmplification, inputs, oldest.level);
        task.grandparents.clear();
        self.finish_universal(&mut task, 0);
        task.output.path_id = 0;
        Some(task)
    }

    /// Returns the contiguous files with the smallest overlap for their size. The candidates are ranges of
    /// files that, with their overlapping files below, have half of `max_compaction_bytes`.
    fn cheapest_stretch(&self, files: &[Arc<TableFile>], below: Level, worst: f64) -> Option<Range<usize>> {
        let limit = self.picker.options.max_compaction_bytes() / 2;
        let bottom = self.picker.version.level(below).as_slice();
        let met = |range: &Range<usize>| {
            let extent = self.picker.extent(&files[range.clone()]);
            bytes_of(&bottom[self.picker.version.extent_range(below, extent)])
        };
        let mut best = (worst, None);
        let mut end = 0;
        for start in 0..files.len() {
            end = end.max(start + 1);
            let mut range = start..end;
            while range.end < files.len() && bytes_of(&files[range.clone()]) + met(&range) <= limit {
                range.end += 1;
            }
            end = range.end;
            base::invariant!(
                start < range.end && range.end <= files.len(),
                "the files {range:?} of a sorted run do not exist"
            );
            let own = bytes_of(&files[range.clone()]);
            let fanout = met(&range) as f64 / own.max(1) as f64;
            if own > 0 && fanout < best.0 {
                best = (fanout, Some(range));
            }
        }
        best.1
    }

    /// Leaves out the newest level-0 files if the compaction becomes only a little smaller. A long compaction then
    /// reserves fewer level-0 files, and writes continue until the end of the compaction.
    fn leave_newest(&self, l0_files: usize, end: usize, start: &mut usize, newer: &mut u64) {
        if l0_files == 0 {
            return;
        }
        let o = &self.picker.options.universal;
        let stop = self.picker.options.triggers.level0_stop_writes_trigger.max(0) as usize;
        let most = (l0_files - 1).min(end - *start - 1);
        let slack = stop - stop.min(end - *start + 1);
        // The user chooses the widths. A width below the slack leaves no file out.
        let wanted = |width: u32| (width as usize).saturating_sub(slack).min(most);
        let (mut left, mut size) = (0, *newer);
        for count in wanted(o.min_merge_width)..=wanted(o.max_merge_width) {
            let dropped: u64 =
                self.runs[*start + left..*start + count.max(left)].iter().map(|r| r.compensated).sum();
            let rest = size - dropped;
            let base = self.runs[end].bytes;
            if rest.saturating_mul(100) < u64::from(o.max_size_amplification_percent).saturating_mul(base)
                || rest < *newer / 10 * 9
            {
                break;
            }
            left = count;
            size = rest;
        }
        *start += left;
        base::invariant!(*start < end, "universal compaction leaves no newer sorted run");
        *newer = size;
    }

    /// Finds the first sequence of sorted runs in which each next run is not much larger than the sum of
    /// the runs before it (with `StopStyle::SimilarSize`: than the run before it).
    fn similar_runs(&self, ratio: u64, max_runs: usize, reason: Reason) -> Option<Task> {
        let o = &self.picker.options.universal;
        let max_runs = max_runs.min(o.max_merge_width as usize);
        let factor = (100.0 + ratio as f64) / 100.0;
        let mut start = 0;
        while start < self.runs.len() {
            if self.runs[start].reserved {
                start += 1;
                continue;
            }
            let mut size = self.runs[start].compensated;
            let mut end = start + 1;
            while end < self.runs.len() && end - start < max_runs && !self.runs[end].reserved {
                let next = &self.runs[end];
                if (size as f64) * factor < next.bytes as f64 {
                    break;
                }
                if o.stop_style == StopStyle::SimilarSize {
                    if next.bytes as f64 * factor < size as f64 {
                        break;
                    }
                    size = next.compensated;
                } else {
                    size = size.saturating_add(next.compensated);
                }
                end += 1;
            }
            if end - start >= (o.min_merge_width as usize).max(2) {
                let compress = self.is_compressed(end);
                return self.of_runs(start, end, reason, compress);
            }
            start += 1;
        }
        None
    }

    /// Returns true if the output is compressed. With `compression_size_percent`, it is compressed only if it
    /// belongs to the older share of the data.
    fn is_compressed(&self, end: usize) -> bool {
        let percent = self.picker.options.universal.compression_size_percent;
        if percent < 0 {
            return true;
        }
        let total: u64 = self.runs.iter().map(|r| r.compensated).sum();
        let older: u64 = self.runs[end..].iter().map(|r| r.bytes).sum();
        // There is no older run, so the output is the oldest data.
        end == self.runs.len() || older.saturating_mul(100) < total.saturating_mul(percent as u64)
    }

    fn too_many_runs(&self, trigger: usize, ratio: u64) -> Option<Task> {
        let max_runs = match self.picker.options.universal.max_read_amp {
            ..0 => trigger,
            0 if self.picker.options.universal.stop_style == StopStyle::TotalSize => {
                let largest = self.runs.iter().map(|r| r.bytes).max().unwrap_or(0) as f64;
                let (mut count, mut level, mut total) =
                    (1, self.picker.options.buffers.write_buffer_size as f64, 0.0);
                while level < largest && level > 0.0 {
                    total += level;
                    level = (100.0 + ratio as f64) / 100.0 * total;
                    count += 1;
                }
                count
            }
            0 => trigger,
            n => n as usize,
        };
        let free = self.runs.iter().filter(|r| !r.reserved).count();
        if free <= max_runs {
            return None;
        }
        self.similar_runs(u64::from(u32::MAX), free - max_runs + 1, Reason::UniversalSortedRunNum)
    }

    /// Picks a file that is marked for compaction, into the next level with files.
    fn marked(&self) -> Option<Task> {
        if self.picker.version.num_levels() == 1 {
            let start = self.runs[..self.runs.len() - 1]
                .iter()
                .position(|r| !r.reserved && r.file.as_ref().is_some_and(|f| f.is_marked()))?;
            let end = self.runs[start + 1..]
                .iter()
                .position(|r| r.reserved)
                .map_or(self.runs.len(), |i| start + 1 + i);
            if end - start < 2 {
                return None;
            }
            return self.of_runs(start, end, Reason::FilesMarkedForCompaction, true);
        }
        self.picker.scores.marked.iter().find_map(|(level, file)| {
            let mut files = vec![file.clone()];
            if *level == Level::ZERO && self.picker.l0_is_busy() || !self.picker.clean_cut(*level, &mut files)
            {
                return None;
            }
            self.to_next_level(*level, files, Reason::FilesMarkedForCompaction)
        })
    }

    /// Picks the file with the most wasted reads. If there is only level 0, adds all overlapping level-0
    /// files.
    fn read_triggered(&self) -> Option<Task> {
        self.picker.scores.read_triggered.iter().find_map(|(level, file)| {
            let mut files = vec![file.clone()];
            if *level == Level::ZERO && self.picker.l0_is_busy() || !self.picker.clean_cut(*level, &mut files)
            {
                return None;
            }
            if self.picker.version.num_levels() > 1 {
                return self.to_next_level(*level, files, Reason::ReadTriggered);
            }
            if !self.picker.overlapping_l0(&mut files, Level::ZERO) || files.len() < 2 {
                return None;
            }
            let estimate = bytes_of(&files);
            let mut task = self.picker.task(
                Reason::ReadTriggered,
                vec![Inputs { level: Level::ZERO, files }],
                Level::ZERO,
            );
            self.finish_universal(&mut task, estimate);
            Some(task)
        })
    }

    fn to_next_level(&self, level: Level, mut files: Files, reason: Reason) -> Option<Task> {
        let last = last_level(&self.picker);
        let output_level = self
            .picker
            .version
            .levels_below(level)
            .find(|&l| l <= last && !self.picker.version.level(l).is_empty())
            .or((level == Level::ZERO).then_some(last))?;
        base::invariant!(level <= output_level, "a compaction of {level} goes up to {output_level}");
        if level == Level::ZERO && !self.picker.overlapping_l0(&mut files, output_level) {
            return None;
        }
        let below = self.picker.output_inputs(level, &mut files, output_level, Growth::BothSides)?;
        if self.picker.inputs_meet_running(&[&files, &below], output_level) {
            return None;
        }
        let mut inputs = vec![Inputs { level, files }];
        if !below.is_empty() {
            inputs.push(Inputs { level: output_level, files: below });
        }
        let estimate = bytes_of(self.picker.version.level(output_level).as_slice());
        let mut task = self.picker.task(reason, inputs, output_level);
        self.finish_universal(&mut task, estimate);
        Some(task)
    }

    /// Makes a task from the runs `start..end`. The output level is the level just above the next older run.
    fn of_runs(&self, start: usize, end: usize, reason: Reason, compress: bool) -> Option<Task> {
        let output_level = match self.runs.get(end) {
            None => last_level(&self.picker),
            Some(next) => next.level.above().unwrap_or_default(),
        };
        base::invariant!(start < end && end <= self.runs.len(), "no sorted run between {start} and {end}");
        base::invariant!(
            self.runs.is_sorted_by_key(|run| run.level),
            "the sorted runs are not in the order of their age"
        );
        let mut inputs: Vec<Inputs> = Vec::new();
        for run in &self.runs[start..end] {
            match &run.file {
                Some(file) => match inputs.last_mut() {
                    Some(last) => last.files.push(file.clone()),
                    None => inputs.push(Inputs { level: Level::ZERO, files: vec![file.clone()] }),
                },
                None => inputs.push(Inputs {
                    level: run.level,
                    files: self.picker.version.level(run.level).as_slice().to_vec(),
                }),
            }
        }
        let all: Vec<&Files> = inputs.iter().map(|i| &i.files).collect();
        if output_level != Level::ZERO && self.picker.inputs_meet_running(&all, output_level) {
            return None;
        }
        let estimate = self.runs[..end].iter().map(|r| r.bytes).sum();
        let mut task = self.picker.task(reason, inputs, output_level);
        // Grandparents end output files only if later compactions take parts of runs.
        let older = self
            .runs
            .get(end)
            .filter(|r| self.picker.options.universal.incremental && r.level > Level::ZERO.below());
        task.grandparents =
            older.map(|r| self.picker.version.level(r.level).as_slice().to_vec()).unwrap_or_default();
        self.finish_universal(&mut task, estimate);
        if !compress {
            task.output.compression = 0;
            task.output.uses_bottommost_compression_opts = false;
        }
        Some(task)
    }

    fn finish_universal(&self, task: &mut Task, estimated_bytes: u64) {
        let incremental = self.picker.options.universal.incremental;
        task.max_compaction_bytes =
            if incremental { self.picker.options.files.target_file_size_base / 2 * 3 } else { u64::MAX };
        if task.grandparents.is_empty() {
            task.output.max_file_size = task.output.target_file_size;
        }
        task.output.path_id = self.path_of_size(estimated_bytes);
        task.trivial_move = self.picker.is_trivial_move(task);
    }

    /// Returns the first path with space for the file and for the files that later compactions will write.
    fn path_of_size(&self, bytes: u64) -> u32 {
        // A ratio above 100 % of the user expects no later bytes.
        let keep = 100u64.saturating_sub(u64::from(self.picker.options.universal.size_ratio));
        let future = bytes.saturating_mul(keep) / 100;
        let mut sum = 0u64;
        let paths = &self.picker.options.paths;
        for (i, path) in paths.iter().enumerate().take(paths.len().saturating_sub(1)) {
            if path.target_size > bytes && sum.saturating_add(path.target_size - bytes) > future {
                return i as u32;
            }
            sum = sum.saturating_add(path.target_size);
        }
        // Without paths, the files are in the directory of the database, which is path 0.
        paths.len().saturating_sub(1) as u32
    }

    /// Returns true if no two input files have a common user key.
    fn are_disjoint(&self, task: &Task) -> bool {
        let mut files: Vec<_> = task.files().map(|(_, f)| f).collect();
        let order = &self.picker.version.order().user;
        files
            .arrange_by(|a, b| order.compare_without_timestamp(a.smallest_user_key(), b.smallest_user_key()));
        files.windows(2).all(|w| {
            order.compare_without_timestamp(w[0].largest_user_key(), w[1].smallest_user_key()).is_lt()
        })
    }
}
