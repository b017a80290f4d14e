//! Extends a choice of files to a whole compaction: clean cuts, the files of the output level, and the
//! grandparents.
//!
//! All entries of a user key on a level are compacted together. Otherwise an older entry could stay on a
//! level above a newer entry. So each choice is extended until no user key is on both sides of its ends.
//! Follows RocksDB `db/compaction/compaction_picker.cc`.

use std::sync::Arc;

use base::{Arrange, Level, SequenceNumber};

use super::score::Scores;
use super::{Inputs, Options, Proximal, Reason, Style, Task, TaskOutput, View};
use crate::table_file::TableFile;
use crate::version::{Extent, KeyRange, Version};

pub(super) type Files = Vec<Arc<TableFile>>;

/// The part that all compaction styles share. The rules of a style choose the first files. The picker extends the choice to
/// a clean cut, adds the files of the output level, checks running compactions, and makes the task.
pub(super) struct Picker<'a> {
    pub version: &'a Version,
    pub view: &'a View<'a>,
    pub options: &'a Options,
    pub scores: Scores,
    pub now: u64,
}

pub(super) fn bytes_of(files: &[Arc<TableFile>]) -> u64 {
    files.iter().map(|f| f.size).sum()
}

pub(super) fn any_reserved(files: &[Arc<TableFile>]) -> bool {
    files.iter().any(|f| f.being_compacted())
}

/// The sides on which a compaction may take more files of its input level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    BothSides,
    /// No file below the smallest chosen key: the round-robin order takes these files later.
    ToTheRight,
}

impl<'a> Picker<'a> {
    /// Makes a picker for one column family, and computes the scores of all levels. `now` is the time in
    /// seconds since 1970.
    pub fn new(view: &'a View<'a>, options: &'a Options, now: u64) -> Self {
        Picker { version: view.version, view, options, scores: Scores::compute(view, options, now), now }
    }

    /// Returns true if no new compaction may start at level 0: a running compaction starts at level 0. With
    /// universal style, each running compaction counts.
    pub(crate) fn l0_is_busy(&self) -> bool {
        self.view
            .running
            .iter()
            .any(|r| r.start_level == Level::ZERO || self.options.style == Style::Universal)
    }

    /// Returns the smallest and the largest boundary key of the files.
    pub fn extent<'f>(&self, files: impl IntoIterator<Item = &'f Arc<TableFile>>) -> Extent<'f> {
        let order = self.version.order();
        let mut extent = Extent::default();
        for file in files {
            if extent.smallest.is_none_or(|s| order.compare(&file.smallest, s).is_lt()) {
                extent.smallest = Some(&file.smallest);
            }
            if extent.largest.is_none_or(|l| order.compare(&file.largest, l).is_gt()) {
                extent.largest = Some(&file.largest);
            }
        }
        extent
    }

    /// Returns the files of `level` that overlap the key range of `files`. In level 0, each found file
    /// extends the range.
    pub fn overlapping(&self, level: Level, files: &[Arc<TableFile>]) -> Files {
        self.version.overlapping_extent(level, self.extent(files))
    }

    /// Extends the files of a level to a clean cut. Returns false if one of the files is reserved.
    pub(crate) fn clean_cut(&self, level: Level, files: &mut Files) -> bool {
        if level == Level::ZERO || files.is_empty() {
            return true;
        }
        let range = self.version.extent_range(level, self.extent(&*files));
        let range = self.version.clean_cut(level, range);
        let wider = self.version.level(level).as_slice()[range].to_vec();
        base::invariant!(
            files.iter().all(|file| wider.iter().any(|f| f.number == file.number)),
            "a clean cut of {level} lost a file"
        );
        *files = wider;
        !any_reserved(files)
    }

    /// Returns true if a running compaction writes to `level` in the range.
    pub(crate) fn range_meets_running(&self, range: &KeyRange, level: Level) -> bool {
        self.view.running.iter().any(|running| running.writes(self.version.order(), range, level))
    }

    /// Returns true if a running compaction writes to `level` in the key range of all inputs together. If a compaction to `level` can
    /// have a second output, the level of this output counts too.
    pub(crate) fn inputs_meet_running(&self, inputs: &[&Files], level: Level) -> bool {
        let range =
            KeyRange::of(self.version.order(), inputs.iter().flat_map(|files| files.iter()).map(|f| &**f));
        self.range_meets_running(&range, level)
            || self.proximal_level(level).is_some_and(|level| self.range_meets_running(&range, level))
    }

    /// Returns the level above the last level, if a compaction to `output_level` keeps young entries there.
    fn proximal_level(&self, output_level: Level) -> Option<Level> {
        let separates = self.options.ages.preclude_last_level_data_seconds > 0
            && matches!(self.options.style, Style::Level | Style::Universal)
            && output_level == self.version.last_level();
        output_level.above().filter(|&level| separates && level > Level::ZERO)
    }

    /// Returns the second output of a compaction. RocksDB: `EvaluateProximalLevel` and `PopulateProximalLevelOutputRange`.
    fn proximal(&self, inputs: &[Inputs], output_level: Level) -> Option<Proximal> {
        let level = self.proximal_level(output_level)?;
        let universal = self.options.style == Style::Universal;
        let starts_last = inputs.first().is_none_or(|input| input.level == output_level);
        if starts_last && !(universal && self.version.level(level).is_empty()) {
            return None;
        }
        let own = inputs.iter().find(|input| input.level == level).map_or(0, |input| input.files.len());
        // If all files of the upper level are inputs, entries of the last level may move up to this level: they overlap
        // no file that stays there.
        let whole = universal && own == self.version.level(level).len();
        let moved = inputs.iter().filter(|input| whole || input.level != output_level);
        let range = KeyRange::of(self.version.order(), moved.flat_map(|input| &input.files).map(|f| &**f));
        let last = inputs.iter().filter(|input| !whole && input.level == output_level);
        let keep_through = last
            .flat_map(|input| &input.files)
            .map(|file| file.largest_seq)
            .max()
            .unwrap_or(SequenceNumber::ZERO);
        Some(Proximal { level, keep_through, range })
    }

    /// For level 0: adds all files that overlap the chosen files, directly or through other files. Returns
    /// false if the range is being compacted on the output level.
    pub(crate) fn overlapping_l0(&self, files: &mut Files, output_level: Level) -> bool {
        base::invariant!(!files.is_empty(), "no level-0 file is chosen");
        *files = self.overlapping(Level::ZERO, files);
        !any_reserved(&self.overlapping(output_level, files))
    }

    /// Returns the overlapping files of the output level. Also adds files of the input level on the sides that `growth`
    /// allows, if that adds no file of the output level. Returns `None` if a necessary file is reserved.
    pub(crate) fn output_inputs(
        &self,
        input_level: Level,
        inputs: &mut Files,
        output_level: Level,
        growth: Growth,
    ) -> Option<Files> {
        base::invariant!(input_level <= output_level, "{input_level} is above its output {output_level}");
        if input_level == output_level {
            return Some(Vec::new());
        }
        let mut outputs = self.overlapping(output_level, inputs);
        if any_reserved(&outputs) || !self.clean_cut(output_level, &mut outputs) {
            return None;
        }
        if outputs.is_empty() {
            return Some(outputs);
        }
        let limit = self.options.max_compaction_bytes().saturating_mul(2);
        let all = self.extent(inputs.iter().chain(&outputs));
        let own_smallest = self.extent(&*inputs).smallest;
        let wanted = Extent {
            smallest: match growth {
                Growth::ToTheRight => own_smallest,
                Growth::BothSides => all.smallest,
            },
            largest: all.largest,
        };
        let mut expanded = self.version.overlapping_extent(input_level, wanted);
        let free = self.clean_cut(input_level, &mut expanded);
        if free
            && expanded.len() > inputs.len()
            && !any_reserved(&expanded)
            && bytes_of(&outputs).saturating_add(bytes_of(&expanded)) < limit
        {
            let mut below = self.overlapping(output_level, &expanded);
            if !any_reserved(&below)
                && self.clean_cut(output_level, &mut below)
                && below.len() == outputs.len()
            {
                *inputs = expanded;
                return Some(outputs);
            }
        }
        if input_level > Level::ZERO {
            let expanded = self.within(input_level, all);
            if expanded.len() > inputs.len()
                && !any_reserved(&expanded)
                && bytes_of(&outputs).saturating_add(bytes_of(&expanded)) < limit
            {
                *inputs = expanded;
            }
        }
        Some(outputs)
    }

    /// Returns the files of a sorted level that are completely inside the extent, with clean cuts at both
    /// ends.
    pub fn within(&self, level: Level, extent: Extent<'_>) -> Files {
        let compare = |a: &[u8], b: &[u8]| crate::version::compare_boundaries(self.version.order(), a, b);
        let files = self.version.level(level).as_slice();
        let mut range = self.version.extent_range(level, extent);
        let outside = |f: &TableFile| {
            extent.smallest.is_some_and(|s| compare(&f.smallest, s).is_lt())
                || extent.largest.is_some_and(|l| compare(&f.largest, l).is_gt())
        };
        while !range.is_empty() && outside(&files[range.start]) {
            range.start += 1;
        }
        while !range.is_empty() && outside(&files[range.end - 1]) {
            range.end -= 1;
        }
        // If a file at an end shares a user key with a file outside, drop the file instead of extending the
        // range.
        while !range.is_empty() && self.version.clean_cut(level, range.clone()).start < range.start {
            range.start += 1;
        }
        while !range.is_empty() && self.version.clean_cut(level, range.clone()).end > range.end {
            range.end -= 1;
        }
        base::invariant!(
            range.start <= range.end && range.end <= files.len(),
            "the files {range:?} of {level} do not exist"
        );
        files[range].to_vec()
    }

    /// Returns the overlapping files of the first level below the output level that has any.
    pub fn grandparents(&self, inputs: &[Inputs], output_level: Level) -> Files {
        let extent = self.extent(inputs.iter().flat_map(|i| &i.files));
        self.version
            .levels_below(output_level)
            .map(|level| self.version.overlapping_extent(level, extent))
            .find(|files| !files.is_empty())
            .unwrap_or_default()
    }

    /// Returns the path index for a level. Levels fill the paths in order.
    pub(crate) fn path_of_level(&self, level: Level) -> u32 {
        let o = self.options;
        let mut path = 0;
        let mut room = o.paths.first().map_or(u64::MAX, |p| p.target_size);
        let mut size = o.sizes.max_bytes_for_level_base;
        let mut at = Level::ZERO;
        while path + 1 < o.paths.len() {
            if size <= room {
                if at == level {
                    return path as u32;
                }
                room -= size;
                if at > Level::ZERO {
                    let mut factor = o.sizes.max_bytes_for_level_multiplier;
                    if !o.sizes.level_compaction_dynamic_level_bytes {
                        factor *= o.multiplier_additional(at);
                    }
                    size = (size as f64 * factor) as u64;
                }
                at = at.below();
                continue;
            }
            path += 1;
            room = o.paths[path].target_size;
        }
        base::invariant!(
            path < o.paths.len().max(1),
            "{level} has the path {path}, and the column family has {} paths",
            o.paths.len()
        );
        path as u32
    }

    /// Returns RocksDB's number of the compression type for files of `level`.
    pub fn compression(&self, level: Level) -> u8 {
        compression_of_level(self.version, self.options, level, self.scores.base_level)
    }

    /// Returns true if output files of `level` use `bottommost_compression_opts`: the options are enabled,
    /// and no level after `level` has files.
    pub fn use_bottommost_compression_opts(&self, level: Level) -> bool {
        self.options.codecs.bottommost_compression_opts_enabled && self.is_last_filled(level)
    }

    fn is_last_filled(&self, level: Level) -> bool {
        level >= self.version.last_filled_level().unwrap_or_default()
    }

    /// Makes a task. All its other fields follow from the inputs and the output level.
    pub fn task(&self, reason: Reason, inputs: Vec<Inputs>, output_level: Level) -> Task {
        let grandparents =
            if output_level == Level::ZERO { Vec::new() } else { self.grandparents(&inputs, output_level) };
        let target = self.options.target_file_size(output_level, self.scores.base_level);
        let start_level = inputs.first().map_or(Level::ZERO, |i| i.level);
        let mut task = Task {
            reason,
            output: TaskOutput {
                level: output_level,
                path_id: self.path_of_level(output_level),
                max_file_size: target,
                target_file_size: target,
                compression: self.compression(output_level),
                uses_bottommost_compression_opts: self.use_bottommost_compression_opts(output_level),
                temperature: 0,
                split_key: (self.options.priority == super::Priority::RoundRobin
                    && self.options.style == Style::Level)
                    .then(|| self.version.cursor(output_level).map(<[u8]>::to_vec))
                    .flatten(),
            },
            max_compaction_bytes: self.options.max_compaction_bytes(),
            grandparents,
            max_subcompactions: 0,
            bottommost: self.is_bottommost(&inputs, output_level),
            full: inputs.iter().map(|i| i.files.len()).sum::<usize>() == self.version.num_files(),
            manual: false,
            deletion: false,
            trivial_move: false,
            trivial_copy: false,
            intra_l0: start_level == Level::ZERO && output_level == Level::ZERO,
            score: self.scores.of(start_level),
            next_cursor: None,
            blob_gc: super::BlobGc::default(),
            trim_timestamp: None,
            proximal: self.proximal(&inputs, output_level),
            inputs,
        };
        task.output.temperature =
            match (self.is_last_level(output_level), self.options.temperatures.last_level_temperature) {
                (true, last) if last != 0 => last,
                _ => self.options.temperatures.default_write_temperature,
            };
        // Above the bottommost level, a file may exceed its target size, so that it can end at a good
        // boundary of the grandparents.
        if !task.bottommost && !task.grandparents.is_empty() {
            task.output.max_file_size = target.saturating_mul(2);
        }
        task.trivial_move = self.is_trivial_move(&task);
        base::invariant!(
            !task.trivial_move || task.output.level > task.start_level(),
            "a trivial move stays in its level: {task}"
        );
        task
    }

    fn is_last_level(&self, level: Level) -> bool {
        level == self.version.last_level() && level > Level::ZERO
    }

    /// Returns true if no data older than the inputs can be in their range.
    fn is_bottommost(&self, inputs: &[Inputs], output_level: Level) -> bool {
        let range = KeyRange::of(self.version.order(), inputs.iter().flat_map(|i| &i.files).map(|f| &**f));
        let (Some(begin), Some(end)) = (range.begin(), range.end()) else { return false };
        let l0_index = (output_level == Level::ZERO).then(|| {
            let last = inputs.first().and_then(|i| i.files.last()).map(|f| f.number);
            last.and_then(|n| self.version.level(Level::ZERO).position(n)).unwrap_or(0)
        });
        !self.version.range_may_exist_below(begin, end, output_level, l0_index)
    }

    /// Returns true if the files can move to the output level unchanged.
    pub(crate) fn is_trivial_move(&self, task: &Task) -> bool {
        let is_overlapping =
            |input: &Inputs| input.level == Level::ZERO && input.files.len() > 1 && !self.l0_is_disjoint();
        self.may_move(task) && !task.inputs.first().is_some_and(is_overlapping)
    }

    /// Returns true if the files can move to the output level unchanged, and chosen files of level 0 do not overlap each other.
    pub fn may_move(&self, task: &Task) -> bool {
        let [input] = &task.inputs[..] else { return false };
        let start = input.level;
        if start == task.output.level
            || task.manual && self.options.has_compaction_filter
            || task.proximal.is_some()
        {
            return false;
        }
        let fits = |file: &Arc<TableFile>| {
            let below = self.version.overlapping_extent(
                task.output.level.below(),
                Extent { smallest: Some(&file.smallest), largest: Some(&file.largest) },
            );
            file.size.saturating_add(bytes_of(&below)) <= task.max_compaction_bytes
        };
        input.files.iter().all(|f| f.path_id == task.output.path_id)
            && self.compression(start) == task.output.compression
            && (task.output.level >= self.version.last_level() || input.files.iter().all(fits))
    }

    /// Returns true if no two files of level 0 overlap. Files that share a user key do not overlap if their internal keys
    /// do not: a level may have entries of one user key in several files, newest first.
    fn l0_is_disjoint(&self) -> bool {
        let mut files: Vec<_> = self.version.level(Level::ZERO).iter().collect();
        let order = self.version.order();
        files.arrange_by(|a, b| order.compare(&a.smallest, &b.smallest));
        files.windows(2).all(|pair| order.compare(&pair[0].largest, &pair[1].smallest).is_lt())
    }
}

/// Returns the compression type of a level, like RocksDB's `GetCompressionType`.
pub(crate) fn compression_of_level(
    version: &Version,
    options: &Options,
    level: Level,
    base_level: Level,
) -> u8 {
    let last_filled = version.last_filled_level().unwrap_or_default();
    if let Some(bottommost) = options.codecs.bottommost_compression.filter(|_| level >= last_filled) {
        return bottommost;
    }
    // A level above the base level takes the entry of level 0.
    let index = if level == Level::ZERO { 0 } else { (level.index() + 1).saturating_sub(base_level.index()) };
    match options.codecs.compression_per_level.len() {
        0 => options.codecs.compression,
        n => options.codecs.compression_per_level[index.min(n - 1)],
    }
}
