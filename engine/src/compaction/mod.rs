//! Runs the tasks of the compaction picker (`lsm::pick`): moves files, drops files, copies files, or merges files into new files.
//!
//! ```text
//!  Task ─► move, deletion or copy: one commit
//!      └─► subcompactions (lsm::cut::split) ─► each: table iterators ─► merging ─► compaction_iter ─► output
//!                                 └──────────► one commit for all subcompactions
//! ```
//! Entries pass through one chain of generic iterators. An entry costs no virtual call, no allocation, and one copy:
//! into the block of the output file.

mod below;
mod copy;
mod finish;
mod piece;
mod remote;

use std::path::PathBuf;

use base::ids::JobId;
use base::stats::{HistogramKind, Ticker};
use base::{Error, FileNumber, Kind, Level, Result, SequenceNumber, Subcode};
use env::executor::Pool;
use env::thread_status::{Operation, Properties, RunningOperation, Stage, set_stage};
use lsm::compaction_iter::CompactionIterStats;
use lsm::cut;
use lsm::pick::{Priority, Reason, Style, Task};
use lsm::version::{Edit, ReaderKind, Version};

use crate::commit::{Change, Committed, Committer};
use crate::errors::caught;
use crate::event::{CompactionFinished, Event};
use crate::family::{Family, Parts};
use crate::output::{JobTools, Outputs, SubcompactionRange, named, remember_deleted_runs, track_file};
use crate::source::TableCache;
use crate::stats::LevelNumbers;
use crate::sync::{Arc, Flag, Mutex, Ordering};
use crate::wal::WalSet;

pub use remote::serve;

/// The tools of a compaction.
pub struct CompactionTools<'a> {
    pub tools: &'a JobTools,
    pub tables: &'a Arc<TableCache>,
    /// The table cache that readers use. `tables` may be a cache of this job, for direct reads.
    pub output_tables: &'a TableCache,
    pub committer: &'a Committer,
    pub wals: &'a WalSet,
}

/// A task of one column family. Its input files are reserved.
pub struct Job {
    pub id: JobId,
    pub family: Arc<Family>,
    pub task: Task,
    /// The version that the task was picked from.
    pub version: Arc<Version>,
    pub parts: Arc<Parts>,
    /// Set by the caller of a manual compaction to cancel it.
    pub canceled: Option<Arc<Flag>>,
    /// The directory for the output files of a job that a worker runs for another process. `None`: the directories of the
    /// column family.
    pub output_dir: Option<PathBuf>,
    /// True if the program named the input files (`compact_files`).
    pub by_compact_files: bool,
}

impl Job {
    /// Returns an error if the job must not go on.
    ///
    /// # Errors
    /// ShutdownInProgress if the database closes. Incomplete if the job is canceled.
    fn check_stop(&self, t: &CompactionTools<'_>) -> Result<()> {
        let is_set = |flag: &Flag| flag.load(Ordering::Relaxed);
        if is_set(&t.tools.shutting_down) {
            return Err(Error::shutdown_in_progress(""));
        }
        if self.canceled.as_deref().is_some_and(is_set) {
            return Err(Error::new(Kind::Incomplete, "").with_subcode(Subcode::ManualCompactionPaused));
        }
        Ok(())
    }
}

/// The result of a compaction.
#[derive(Default)]
pub struct Compacted {
    pub committed: Option<Committed>,
    pub stats: CompactionIterStats,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub num_output_records: u64,
    /// The number and the path id of each output file, or of each moved file.
    pub outputs: Vec<(FileNumber, u32)>,
    /// The report for listeners.
    pub report: Option<Box<CompactionFinished>>,
}

/// The result of a compaction of files that the caller named.
pub struct FilesCompacted {
    /// The paths of the output files.
    pub outputs: Vec<PathBuf>,
    /// The report for listeners.
    pub report: Option<Box<CompactionFinished>>,
}

/// Runs a job to its commit. The input files stay reserved; the caller releases them.
///
/// # Errors
/// The first error of a subcompaction. Then no version has changed, and the output files are deleted.
pub fn run(t: &CompactionTools<'_>, job: &Job) -> Result<Compacted> {
    let tracked = t.tools.track(Operation::Compaction, &job.family, properties(job));
    let _reading = job.version.readers().read_by(ReaderKind::Compaction, kernel::ticks::now);
    if job.task.deletion {
        return drop_files(t, job);
    }
    if job.task.trivial_copy {
        return copy::copy_files(t, job);
    }
    if job.task.trivial_move && may_move(job)? {
        return move_files(t, job);
    }
    merge(t, job, tracked.as_ref())
}

/// Returns the properties of the job for the list of threads. The bits of the flags are the bits that RocksDB's
/// `InterpretOperationProperties` reads. RocksDB's own jobs set other bits.
fn properties(job: &Job) -> Properties {
    let task = &job.task;
    let levels = u64::from(task.start_level().get()) << 32 | u64::from(task.output.level.get());
    let flags = [(task.manual, 2), (task.deletion, 4), (task.trivial_move, 8)];
    let flags = flags.iter().map(|(is_set, bit)| if *is_set { *bit } else { 0 }).sum();
    [job.id.get(), levels, flags, task.input_bytes(), 0, 0]
}

/// Returns true if no partitioner asks for a rewrite of the files. See RocksDB `db/compaction/compaction.cc`
/// (IsTrivialMove).
fn may_move(job: &Job) -> Result<bool> {
    let Some(mut partitioner) = piece::partitioner(job)? else { return Ok(true) };
    let task = &job.task;
    let mut moved = task.files().filter(|(level, _)| *level != task.output.level).map(|(_, file)| file);
    Ok(task.output.level >= job.version.last_level()
        || moved.all(|f| partitioner.can_do_trivial_move(f.smallest_user_key(), f.largest_user_key())))
}

/// Adds the numbers of a compaction to the statistics of its column family.
fn count(job: &Job, numbers: &LevelNumbers) {
    let mut stats = job.family.stats.lock();
    stats.add(job.task.output.level, Pool::Low as usize, numbers);
    stats.add_compaction(job.task.reason.word(), numbers);
}

/// Moves files to the output level without a rewrite.
fn move_files(t: &CompactionTools<'_>, job: &Job) -> Result<Compacted> {
    let task = &job.task;
    let mut edit = Edit::default();
    for (level, file) in task.files().filter(|(level, _)| *level != task.output.level) {
        edit.deleted.push((level, file.number));
        edit.added.push((task.output.level, file.clone()));
        t.tools.events.info(format_args!(
            "[{}] [JOB {}] Moving #{} to level-{} {} bytes",
            job.family.name(),
            job.id,
            file.number,
            task.output.level.get(),
            file.size
        ));
    }
    base::invariant!(
        !edit.added.is_empty() && edit.added.len() == edit.deleted.len(),
        "a trivial move deletes {} files and adds {}",
        edit.deleted.len(),
        edit.added.len()
    );
    add_cursor(&mut edit, task);
    let files = edit.added.len();
    let outputs = edit.added.iter().map(|(_, f)| (f.number, f.path_id)).collect();
    let moved_files: Vec<_> = edit.added.iter().map(|(level, f)| finish::job_file(job, *level, f)).collect();
    let bytes = edit.added.iter().map(|(_, f)| f.size).sum();
    let moved = LevelNumbers { bytes_moved: bytes, ..LevelNumbers::default() };
    finish::started_without_rewrite(t, job);
    let (committed, report) = finish::without_rewrite(t, job, (&moved_files, (0, 0)), || {
        let committed = t.committer.commit_one(Change::of_compaction(job.family.clone(), edit))?;
        count(job, &moved);
        t.tools.events.emit(&Event::TrivialMove {
            job: job.id,
            family: named(&job.family),
            destination_level: task.output.level,
            files,
            bytes,
        });
        Ok(committed)
    })?;
    Ok(Compacted { committed: Some(committed), outputs, report: Some(report), ..Compacted::default() })
}

/// Drops files without writing new files.
fn drop_files(t: &CompactionTools<'_>, job: &Job) -> Result<Compacted> {
    let deleted = job.task.files().map(|(level, file)| (level, file.number)).collect();
    let edit = Edit { deleted, ..Edit::default() };
    let commit = || t.committer.commit_one(Change::of_compaction(job.family.clone(), edit));
    finish::started_without_rewrite(t, job);
    let (committed, report) = finish::without_rewrite(t, job, (&[], (0, 0)), commit)?;
    job.family.stats.lock().add_compaction(job.task.reason.word(), &LevelNumbers::default());
    match job.task.reason {
        Reason::FifoMaxSize => t.tools.stats.add(Ticker::FifoMaxSizeCompactions, 1),
        Reason::FifoTtl => t.tools.stats.add(Ticker::FifoTtlCompactions, 1),
        _ => {}
    }
    t.tools.events.info(format_args!("[{}] Deleted {} files", job.family.name(), job.task.num_input_files()));
    Ok(Compacted { committed: Some(committed), report: Some(report), ..Compacted::default() })
}

fn merge(t: &CompactionTools<'_>, job: &Job, tracked: Option<&RunningOperation>) -> Result<Compacted> {
    let start = t.tools.env.clock.now_nanos();
    set_stage(Stage::CompactionPrepare);
    finish::started(t, job);
    let released_below = t.tools.snapshots.released_below();
    let has_conflict_snapshots = t.tools.snapshots.stripes_and_conflicts().1 < base::key::MAX_SEQUENCE;
    let ranges = subcompactions(t, job).inspect_err(|error| finish::failed(t, job, &[], error, start))?;
    base::invariant!(!ranges.is_empty(), "a compaction has no subcompaction");
    let results: Vec<Mutex<Option<(piece::Done, Result<()>)>>> =
        ranges.iter().map(|_| Mutex::new(None)).collect();
    set_stage(Stage::CompactionRun);
    let run_one = |index: usize| {
        let _entered = tracked.map(RunningOperation::enter);
        set_stage(Stage::CompactionProcessKv);
        finish::subcompaction(t, job, index, None);
        let mut done = piece::Done::default();
        // The other subcompactions have files that must go after a panic too.
        let ended = caught("a compaction", || remote::run(t, job, index, &ranges[index], &mut done));
        let stats = finish::subcompaction_stats(&done);
        finish::subcompaction(t, job, index, Some((ended.as_ref().err().cloned(), stats)));
        *results[index].lock() = Some((done, ended));
    };
    match ranges.len() {
        1 => run_one(0),
        n => {
            let run_one = &run_one;
            let jobs =
                (0..n).map(|i| Box::new(move || run_one(i)) as Box<dyn FnOnce() + Send + '_>).collect();
            t.tools.env.executor.run_all(jobs);
        }
    }
    let mut done = Vec::with_capacity(results.len());
    let mut failed = None;
    for result in results {
        match result.into_inner() {
            Some((piece, ended)) => {
                done.push(piece);
                failed = failed.or(ended.err());
            }
            None => failed = failed.or_else(|| Some(Error::aborted("a subcompaction did not run"))),
        }
    }
    base::invariant!(
        failed.is_some() || done.len() == ranges.len(),
        "{} of {} subcompactions ended",
        done.len(),
        ranges.len()
    );
    let failed = failed.map_or_else(|| finish::verify_counts(t, job, &done), Err);
    let failed = failed.and_then(|()| finish::check_space(t, &done));
    if let Err(error) = failed {
        remove(t, &done);
        finish::failed(t, job, &done, &error, start);
        return Err(error);
    }
    // The job may have dropped entries that a decided transaction hides. The decision must be durable before the
    // commit.
    let decided = match t.tools.sequence.undecided().is_enabled() {
        true => t.wals.settle(),
        false => Ok(()),
    };
    if let Err(error) = decided {
        remove(t, &done);
        finish::failed(t, job, &done, &error, start);
        return Err(error);
    }
    set_stage(Stage::CompactionInstall);
    finish::pre_commit(t, job, &done, start);
    let outputs_of_job = outputs(&done).map(|file| (file.level, &*file.meta));
    t.output_tables.open_before_commit(&job.parts, outputs_of_job);
    if job.task.reason == Reason::BottommostFiles && !has_conflict_snapshots {
        mark_files_that_keep_their_sequences(job, &done, released_below);
    }
    outputs(&done).for_each(|file| track_file(t.tools, file));
    let committed =
        commit(t, job, &done).inspect_err(|error| finish::commit_failed(t, job, &done, error, start))?;
    remember_deleted_runs(&job.family, outputs(&done));
    let out = finish::finished(t, job, &done, start);
    Ok(Compacted { committed: Some(committed), ..out })
}

/// Marks the outputs with sequence numbers that the compaction could not remove, although no reader needed them. Merge operands
/// that cannot be merged are a cause. Without the mark, the picker would choose these files again at once, for the same reason.
///
/// A file whose sequence numbers can be removed later gets no mark: an option keeps the numbers of young entries, timestamps
/// are not below the low end yet, or older data was below the inputs.
fn mark_files_that_keep_their_sequences(job: &Job, done: &[piece::Done], released_below: SequenceNumber) {
    if !job.task.bottommost || job.parts.pick.ages.preserve_seconds > 0 {
        return;
    }
    let order = &job.parts.internal_order().user;
    let low = job.family.state().full_history_ts_low.clone();
    let has_history = |max: &[u8]| {
        !max.is_empty() && low.as_ref().is_none_or(|low| order.compare_timestamp(max, low).is_ge())
    };
    outputs(done)
        .filter(|file| !file.meta.largest_seq.is_zero() && file.meta.largest_seq < released_below)
        .filter(|file| !has_history(&file.meta.timestamps.max))
        .for_each(|file| file.meta.set_needs_its_sequences());
}

/// Returns true if the compaction style lets a compaction to a level after level 0 have subcompactions (RocksDB
/// `Compaction::ShouldFormSubcompactions`).
fn may_split(job: &Job) -> bool {
    let (task, pick) = (&job.task, &job.parts.pick);
    match pick.style {
        Style::Level => {
            pick.priority == Priority::RoundRobin || task.start_level() == Level::ZERO || task.manual
        }
        Style::Universal => true,
        Style::Fifo | Style::None => false,
    }
}

/// Returns the ranges of keys that the subcompactions of a job compact concurrently.
fn subcompactions(t: &CompactionTools<'_>, job: &Job) -> Result<Vec<SubcompactionRange>> {
    let task = &job.task;
    let max = match task.max_subcompactions {
        0 => t.tools.options.load().max_subcompactions.max(1),
        n => n,
    } as usize;
    if max <= 1 || task.output.level == Level::ZERO || !may_split(job) {
        return Ok(vec![SubcompactionRange::default()]);
    }
    let began = t.tools.stats.begin();
    let ctx = piece::read_ctx(t);
    let mut anchors = Vec::new();
    for (level, file) in task.files() {
        let table = t.tables.get_for(&job.parts, level, file, &ctx)?;
        anchors.extend(
            table.anchors(128, &ctx)?.into_iter().map(|(user_key, bytes)| cut::Anchor { user_key, bytes }),
        );
    }
    // The files of the level decide, also if `compact_files` sets no limit for its output files.
    let of_level = job.parts.pick.target_file_size(task.output.level, Level::new(1));
    let bytes_min = task.output.target_file_size.min(of_level);
    let boundaries = cut::split(&job.parts.internal_order(), anchors, max, bytes_min);
    let mut ranges = Vec::with_capacity(boundaries.len() + 1);
    let mut lower: Option<Vec<u8>> = None;
    for boundary in boundaries {
        ranges.push(SubcompactionRange { lower: lower.take(), upper: Some(boundary.clone()) });
        lower = Some(boundary);
    }
    ranges.push(SubcompactionRange { lower, upper: None });
    base::invariant!(
        ranges.is_sorted_by(|a, b| {
            let (a, b) = (a.upper.as_deref(), b.upper.as_deref().map_or(&[][..], |key| key));
            b.is_empty() || a.is_some_and(|a| job.parts.order.compare(a, b).is_lt())
        }),
        "the key ranges of the subcompactions are out of order"
    );
    base::invariant!(
        ranges.windows(2).all(|pair| pair[0].upper == pair[1].lower),
        "a key is in no subcompaction or in two"
    );
    t.tools.stats.end(began, HistogramKind::SubcompactionSetupTime);
    Ok(ranges)
}

fn commit(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done]) -> Result<Committed> {
    let task = &job.task;
    let mut edit = Edit {
        deleted: task.files().map(|(level, file)| (level, file.number)).collect(),
        blob_garbage: piece::garbage(done),
        ..crate::output::edit_of(outputs(done))
    };
    let proximal = task.proximal.as_ref().map(|proximal| proximal.level);
    base::invariant!(
        edit.added.iter().all(|(level, _)| *level == task.output.level || Some(*level) == proximal),
        "a compaction to {} adds a file to another level",
        task.output.level
    );
    base::invariant!(
        task.output.level == Level::ZERO
            || in_order(job, &edit, task.output.level)
                && proximal.is_none_or(|level| in_order(job, &edit, level)),
        "the output files of a compaction to {} overlap",
        task.output.level
    );
    add_cursor(&mut edit, task);
    let keeps_keys = done.iter().all(|piece| piece.outputs.keeps_keys);
    t.committer.commit_one(Change { keeps_keys, ..Change::of_compaction(job.family.clone(), edit) })
}

/// Returns true if each file of the edit on `level` ends before the next file of the level begins.
fn in_order(job: &Job, edit: &Edit, level: Level) -> bool {
    let order = job.parts.internal_order();
    let files = edit.added.iter().filter(|(own, _)| *own == level).map(|(_, file)| file);
    files.is_sorted_by(|a, b| order.compare(&a.largest, &b.smallest).is_lt())
}

fn add_cursor(edit: &mut Edit, task: &Task) {
    if let Some(cursor) = &task.next_cursor {
        edit.cursors.push((task.start_level(), cursor.clone()));
    }
}

fn outputs(done: &[piece::Done]) -> impl Iterator<Item = &crate::output::OutputFile> {
    done.iter().flat_map(|p| &p.outputs.files)
}

fn remove(t: &CompactionTools<'_>, done: &[piece::Done]) {
    outputs(done).for_each(|file| file.remove(&t.tools.env));
}

/// Returns the sums of the statistics and of the output entries of all subcompactions.
fn sum(done: &[piece::Done]) -> (CompactionIterStats, u64) {
    let mut stats = CompactionIterStats::default();
    let mut records = 0;
    for piece in done {
        let Outputs { num_records, .. } = piece.outputs;
        records += num_records;
        let s = &piece.stats;
        stats.num_itered += s.num_itered;
        stats.num_input_records += s.num_input_records;
        stats.num_input_deletion_records += s.num_input_deletion_records;
        stats.total_input_raw_key_bytes += s.total_input_raw_key_bytes;
        stats.total_input_raw_value_bytes += s.total_input_raw_value_bytes;
        stats.num_record_drop_user += s.num_record_drop_user;
        stats.num_record_drop_hidden += s.num_record_drop_hidden;
        stats.num_record_drop_obsolete += s.num_record_drop_obsolete;
        stats.num_record_drop_range_del += s.num_record_drop_range_del;
        stats.num_range_del_drop_obsolete += s.num_range_del_drop_obsolete;
        stats.num_optimized_del_drop_obsolete += s.num_optimized_del_drop_obsolete;
        stats.num_single_del_fallthru += s.num_single_del_fallthru;
        stats.num_single_del_mismatch += s.num_single_del_mismatch;
    }
    (stats, records)
}
