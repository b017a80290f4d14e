//! Plans `compact_range` and `compact_files`, one step at a time.
//!
//! A manual compaction compacts its range level by level, and each level in steps. A step ends where its
//! input files of both levels would exceed `max_compaction_bytes`. The caller runs each step and asks for
//! the next step with the key where the last step ended. Follows RocksDB `PickCompactionForCompactRange`.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::error::{Error, Result};
use base::ids::FileNumber;
use base::key::{MAX_SEQUENCE, TRAILER_LEN, ValueType, append_internal, seek_key, user_key};
use base::{Level, SequenceNumber};

use super::expand::{Files, Growth, Picker, any_reserved};
use super::{BlobGc, Inputs, Options, Reason, Style, Task, View};
use crate::table_file::TableFile;
use crate::version::{Extent, KeyRange, Version, compare_boundaries};

/// The request of a caller of `compact_range`. Keys are user keys, both inclusive.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The first user key. `None`: from the first key of the column family.
    pub begin: Option<Vec<u8>>,
    /// The last user key, included. `None`: to the last key of the column family.
    pub end: Option<Vec<u8>>,
    /// The level of the input.
    pub input_level: Level,
    /// True: compact all levels at once, as universal compaction does. `input_level` and the keys are then
    /// not used.
    pub all_levels: bool,
    /// The output level. `None`: the base level for input level 0, and the next level for other input levels.
    pub output_level: Option<Level>,
    /// The index in `db_paths` of the directory for the output.
    pub output_path_id: u32,
    /// The largest number of subcompactions. 0: the option of the column family.
    pub max_subcompactions: u32,
    /// Decides if values of old blob files are relocated.
    pub blob_gc: BlobGc,
    /// Drops all entries with a timestamp that is newer than this timestamp. `None`: drops none.
    pub trim_timestamp: Option<Vec<u8>>,
    /// For a compaction within a level: files with this number or a larger number are newer than the request
    /// and are not compacted.
    pub max_file_number: Option<FileNumber>,
}

/// The result of planning one step.
#[derive(Clone, Debug)]
pub enum Step {
    /// The level has no file in the range.
    Nothing,
    /// Files in the range are being compacted. The caller plans again when a job has ended.
    Conflict,
    /// The next task. `Some`: the rest of the range on this level, from this user key on, remains for later
    /// steps.
    Do(Box<Task>, Option<Vec<u8>>),
}

/// Plans the next step of a request on its input level.
pub fn plan(view: &View<'_>, options: &Options, request: &Request, now: u64) -> Step {
    match options.style {
        // Both styles ignore the range. FIFO runs the compaction that its own rules would pick.
        Style::Fifo => {
            let task = super::fifo::pick(view, options, now);
            return task
                .map_or(Step::Nothing, |task| Step::Do(Box::new(Task { manual: true, ..task }), None));
        }
        Style::None => return Step::Nothing,
        Style::Level | Style::Universal => {}
    }
    let picker = Picker::new(view, options, now);
    let plan = Plan { picker, request };
    if request.all_levels { plan.all_levels() } else { plan.one_level() }
}

/// The planning of one step of a request.
struct Plan<'a> {
    picker: Picker<'a>,
    request: &'a Request,
}

impl Plan<'_> {
    fn all_levels(&self) -> Step {
        let version = self.picker.version;
        let last = self.picker.options.last_output_level(version);
        let output_level = self.request.output_level.unwrap_or(last);
        let Some(start) = version.levels().find(|&l| l <= last && !version.level(l).is_empty()) else {
            return Step::Nothing;
        };
        let inputs: Vec<Inputs> = Level::first(last.index() + 1)
            .map(|level| Inputs { level, files: version.level(level).as_slice().to_vec() })
            .filter(|i| !i.files.is_empty())
            .collect();
        base::invariant!(
            inputs.first().is_some_and(|input| input.level == start),
            "{start} is the first filled level and is no input"
        );
        let all: Vec<&Files> = inputs.iter().map(|i| &i.files).collect();
        if start == Level::ZERO && self.picker.l0_is_busy()
            || all.iter().any(|files| any_reserved(files))
            || self.picker.inputs_meet_running(&all, output_level)
        {
            return Step::Conflict;
        }
        self.finish(inputs, output_level, None, u64::MAX)
    }

    fn one_level(&self) -> Step {
        let level = self.request.input_level;
        let universal = self.picker.options.style == Style::Universal;
        let (begin, end) = if universal {
            (None, None)
        } else {
            (self.request.begin.as_deref(), self.request.end.as_deref())
        };
        let mut files = self.picker.version.overlapping(level, begin, end);
        if files.is_empty() {
            return Step::Nothing;
        }
        if level == Level::ZERO && self.picker.l0_is_busy() {
            return Step::Conflict;
        }
        let base = self.picker.scores.base_level;
        let output_level =
            self.request.output_level.unwrap_or(if level == Level::ZERO { base } else { level.below() });
        let mut whole = true;
        // Before the files are shortened: older files can follow after many newer files. RocksDB shortens first, and then misses
        // these older files.
        if let Some(limit) = self.request.max_file_number.filter(|_| level == output_level) {
            whole = leave_newer(&mut files, limit);
            if files.is_empty() {
                return Step::Nothing;
            }
        }
        // Universal compaction takes a level as a whole, so no rest remains.
        whole &= level == Level::ZERO || universal || !shorten(&self.picker, level, output_level, &mut files);
        if !self.picker.clean_cut(level, &mut files) {
            return Step::Conflict;
        }
        let rest = if whole || universal { None } else { continuation(self.picker.version, level, &files) };
        let Some(below) = self.picker.output_inputs(level, &mut files, output_level, Growth::BothSides)
        else {
            return Step::Conflict;
        };
        if any_reserved(&files)
            || any_reserved(&below)
            || self.picker.inputs_meet_running(&[&files, &below], output_level)
        {
            return Step::Conflict;
        }
        let mut inputs = vec![Inputs { level, files }];
        if !below.is_empty() {
            inputs.push(Inputs { level: output_level, files: below });
        }
        self.finish(inputs, output_level, rest, self.picker.options.max_compaction_bytes())
    }

    fn finish(
        &self,
        inputs: Vec<Inputs>,
        output_level: Level,
        rest: Option<Vec<u8>>,
        max_compaction_bytes: u64,
    ) -> Step {
        let mut task = self.picker.task(Reason::ManualCompaction, inputs, output_level);
        task.manual = true;
        task.output.path_id = self.request.output_path_id;
        task.max_compaction_bytes = max_compaction_bytes;
        task.max_subcompactions = self.request.max_subcompactions;
        task.blob_gc = self.request.blob_gc;
        task.score = -1.0;
        // A compaction of all levels rewrites even a single input file. (RocksDB also counts the empty
        // levels.)
        task.trim_timestamp.clone_from(&self.request.trim_timestamp);
        let rewrites = self.request.all_levels || self.request.trim_timestamp.is_some();
        task.trivial_move = !rewrites && self.picker.is_trivial_move(&task);
        task.check(self.picker.version);
        Step::Do(Box::new(task), rest)
    }
}

/// Keeps only the first files that, with their overlapping files on the output level, stay within the
/// limit. Returns true if files were left out.
fn shorten(picker: &Picker<'_>, level: Level, output_level: Level, files: &mut Files) -> bool {
    base::invariant!(!files.is_empty(), "a compaction without files is shortened");
    let limit = picker.options.max_compaction_bytes();
    let mut own = files[0].size;
    for i in 1..files.len() {
        let extent = Extent { smallest: Some(&files[0].smallest), largest: Some(&files[i].largest) };
        own = own.saturating_add(files[i].size);
        let below: u64 = if output_level > level {
            let range = picker.version.extent_range(output_level, extent);
            picker.version.level(output_level).as_slice()[range].iter().map(|f| f.size).sum()
        } else {
            0
        };
        if own.saturating_add(below) > limit {
            files.truncate(i);
            return true;
        }
    }
    false
}

/// Keeps the first contiguous files that are older than `limit`. Returns false if more older files follow
/// after newer files.
fn leave_newer(files: &mut Files, limit: FileNumber) -> bool {
    let is_older = |f: &Arc<TableFile>| f.number < limit;
    let start = files.iter().position(is_older).unwrap_or(files.len());
    let len = files[start..].iter().take_while(|f| is_older(f)).count();
    let more = files[start + len..].iter().any(is_older);
    *files = files[start..start + len].to_vec();
    base::invariant!(files.iter().all(is_older), "a compaction of older files has a newer file");
    !more
}

/// Returns the user key at which the level continues after the files.
fn continuation(version: &Version, level: Level, files: &[Arc<TableFile>]) -> Option<Vec<u8>> {
    let last = version.level(level).position(files.last()?.number)?;
    version.level(level).get(last + 1).map(|f| user_key(&f.smallest).to_vec())
}

/// Plans `compact_files`: the named files, and all files that must be compacted with them, into
/// `output_level`.
///
/// # Errors
/// InvalidArgument: no file is named, a file is not in the version, or the output level is above an input or
/// does not exist or is reserved for ingestions behind. Aborted: a necessary file is being compacted.
pub fn plan_files(
    family: &str,
    view: &View<'_>,
    options: &Options,
    numbers: &[FileNumber],
    (output_level, allow_move): (Level, bool),
    now: u64,
) -> Result<Task> {
    let version = view.version;
    let last = version.last_level();
    if output_level > last {
        return Err(no_such_level(family, last));
    }
    if options.allow_ingest_behind && output_level == last {
        return Err(Error::invalid_argument(format!(
            "Exceed the maximum output level defined by the current compaction algorithm with ingest_behind --- {}",
            last.get()
        )));
    }
    let mut chosen = named(family, version, numbers, output_level)?;
    gather(version, &mut chosen, output_level);
    let picker = Picker::new(view, options, now);
    let mut task = picker.task_of(&chosen, output_level);
    if let Some(file) = task.inputs.iter().flat_map(|i| &i.files).find(|f| f.being_compacted()) {
        return Err(Error::aborted(format!(
            "Necessary compaction input file #{} is currently being compacted.",
            file.number
        )));
    }
    let all: Vec<&Files> = task.inputs.iter().map(|i| &i.files).collect();
    if output_level > Level::ZERO && picker.inputs_meet_running(&all, output_level) {
        return Err(Error::aborted(
            "A running compaction is writing to the same output level(s) in an overlapping key range",
        ));
    }
    task.trivial_move = allow_move && picker.is_trivial_move(&task);
    task.check(version);
    Ok(task)
}

/// Plans the compaction that another process chose: exactly the named files, into `output_level`. The other process
/// is responsible for the choice, because only it knows which compactions run. RocksDB
/// `DBImplSecondary::CompactWithoutInstallation`.
///
/// # Errors
/// InvalidArgument: no file is named, a file is not in the version, or the output level is above an input or
/// does not exist.
pub fn plan_exactly(
    family: &str,
    view: &View<'_>,
    options: &Options,
    numbers: &[FileNumber],
    output_level: Level,
    now: u64,
) -> Result<Task> {
    let last = view.version.last_level();
    if output_level > last {
        return Err(no_such_level(family, last));
    }
    let chosen = named(family, view.version, numbers, output_level)?;
    let task = Picker::new(view, options, now).task_of(&chosen, output_level);
    task.check(view.version);
    Ok(task)
}

/// Makes the error for an output level below the last level `last`, with RocksDB's text.
fn no_such_level(family: &str, last: Level) -> Error {
    Error::invalid_argument(format!(
        "Output level for column family {family} must between [0, {}].",
        last.get()
    ))
}

/// Returns the named files as a set.
///
/// # Errors
/// InvalidArgument: no file is named, a file is not in the version, or a file is below the output level.
fn named(
    family: &str,
    version: &Version,
    numbers: &[FileNumber],
    output_level: Level,
) -> Result<BTreeSet<FileNumber>> {
    if numbers.is_empty() {
        return Err(Error::invalid_argument("A compaction must contain at least one file."));
    }
    for number in numbers {
        match version.files().find(|(_, f)| f.number == *number) {
            None => {
                return Err(Error::invalid_argument(format!(
                    "Specified compaction input file /{number:06}.sst does not exist in column family {family}."
                )));
            }
            Some((level, _)) if level > output_level => {
                return Err(Error::invalid_argument(format!(
                    "Cannot compact file to up level, input file: /{number:06}.sst level {} > output level {}",
                    level.get(),
                    output_level.get()
                )));
            }
            Some(_) => {}
        }
    }
    Ok(numbers.iter().copied().collect())
}

impl Picker<'_> {
    /// Makes the manual task with the chosen files of the levels down to the output level. The task moves no file.
    fn task_of(&self, chosen: &BTreeSet<FileNumber>, output_level: Level) -> Task {
        let inputs: Vec<Inputs> = Level::first(output_level.index() + 1)
            .map(|level| Inputs {
                level,
                files: self
                    .version
                    .level(level)
                    .iter()
                    .filter(|f| chosen.contains(&f.number))
                    .cloned()
                    .collect(),
            })
            .filter(|i| !i.files.is_empty())
            .collect();
        let mut task = self.task(Reason::ManualCompaction, inputs, output_level);
        task.manual = true;
        task.trivial_move = false;
        task.grandparents.clear();
        task
    }
}

/// Returns the files that `DeleteFilesInRanges` deletes: SST files below level 0 that are completely inside
/// one of the ranges of user keys and that no job uses. The ends belong to the ranges. Without `include_end`,
/// a file whose last key is the end stays. Files that share a user key with a neighbour outside of the range
/// stay too. A file also stays if the next file stays and has older entries of its last user key: a deletion of this key would
/// end. RocksDB deletes such a file. With `limit`, files with this number or a larger number stay.
pub fn files_in_ranges(
    view: &View<'_>,
    options: &Options,
    ranges: &[(Option<&[u8]>, Option<&[u8]>)],
    include_end: bool,
    limit: Option<FileNumber>,
) -> Vec<(Level, Arc<TableFile>)> {
    let picker = Picker::new(view, options, 0);
    let order = &view.version.order().user;
    let mut found: Vec<(Level, Arc<TableFile>)> = Vec::new();
    let mut numbers = BTreeSet::new();
    for (begin, end) in ranges {
        let smallest = begin.map(|user| seek_key(user, MAX_SEQUENCE));
        let largest = end.map(|user| {
            let mut key = Vec::with_capacity(user.len() + TRAILER_LEN);
            append_internal(&mut key, user, SequenceNumber::ZERO, ValueType::Deletion);
            key
        });
        for level in view.version.levels_below(Level::ZERO) {
            let extent = Extent { smallest: smallest.as_deref(), largest: largest.as_deref() };
            for file in picker.within(level, extent) {
                let ends_there = end
                    .is_some_and(|end| order.compare_without_timestamp(file.largest_user_key(), end).is_eq());
                let is_free = !file.being_compacted() && limit.is_none_or(|limit| file.number < limit);
                if is_free && (include_end || !ends_there) && numbers.insert(file.number) {
                    found.push((level, file));
                }
            }
        }
    }
    base::invariant!(
        found.iter().all(|(level, _)| *level > Level::ZERO),
        "a level-0 file is deleted for its key range"
    );
    for level in view.version.levels_below(Level::ZERO) {
        for pair in view.version.level(level).as_slice().windows(2).rev() {
            let is_apart = numbers.contains(&pair[0].number) && !numbers.contains(&pair[1].number);
            if is_apart && view.version.share_key(&pair[0], &pair[1]) {
                numbers.remove(&pair[0].number);
            }
        }
    }
    found.retain(|(_, file)| numbers.contains(&file.number));
    found
}

/// Returns the target level of `change_level` when the caller names no level: the smallest level that is
/// empty, whose target size holds the files, and with only empty levels above it up to `level`. RocksDB
/// `FindMinimumEmptyLevelFitting`.
pub fn smallest_fitting_level(view: &View<'_>, options: &Options, level: Level) -> Level {
    let picker = Picker::new(view, options, 0);
    base::invariant!(
        level <= view.version.last_level(),
        "files of {level} are moved up, and the version has {} levels",
        view.version.num_levels()
    );
    let bytes = view.version.level(level).bytes();
    let fits = |l: &Level| view.version.level(*l).is_empty() && picker.scores.max_bytes[l.index()] >= bytes;
    Level::first(level.index()).skip(1).rev().take_while(fits).last().unwrap_or(level)
}

/// Adds the files that keep the order of the levels correct: on each level the files between two chosen
/// files, the level-0 files older than a chosen file, and the overlapping files of the lower levels.
fn gather(version: &Version, chosen: &mut BTreeSet<FileNumber>, output_level: Level) {
    let mut range = KeyRange::default();
    for level in Level::first(output_level.index() + 1) {
        let files = version.level(level).as_slice();
        let meets = |f: &Arc<TableFile>, range: &KeyRange| {
            KeyRange::of(version.order(), [&**f]).meets(version.order(), range)
        };
        let taken: Vec<usize> = (0..files.len())
            .filter(|&i| chosen.contains(&files[i].number) || level > Level::ZERO && meets(&files[i], &range))
            .collect();
        let (Some(&first), Some(&last)) = (taken.first(), taken.last()) else { continue };
        let (mut first, mut last) = (first, last);
        if level == Level::ZERO {
            if output_level > Level::ZERO {
                last = files.len() - 1;
            }
        } else {
            let share = |a: usize| {
                compare_boundaries(version.order(), &files[a].largest, &files[a + 1].smallest).is_ge()
            };
            while first > 0 && share(first - 1) {
                first -= 1;
            }
            while last + 1 < files.len() && share(last) {
                last += 1;
            }
        }
        base::invariant!(
            first <= last && last < files.len(),
            "the files {first} to {last} of {level} do not exist"
        );
        chosen.extend(files[first..=last].iter().map(|f| f.number));
        let all = version.files().filter(|(_, f)| chosen.contains(&f.number)).map(|(_, f)| &**f);
        range = KeyRange::of(version.order(), all);
    }
}

/// Makes a task without inputs. Tests fill it in.
#[cfg(test)]
pub(crate) fn blank_task(view: &View<'_>, options: &Options) -> Task {
    Picker::new(view, options, 0).task(Reason::Unknown, Vec::new(), Level::ZERO)
}
