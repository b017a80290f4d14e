//! The statistics of a compaction, and the count which proves that the compaction read every entry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::stats::{HistogramKind, IoTimes, Statistics, Ticker};
use base::{Error, Level, Result, Subcode};
use format::properties::Properties;
use lsm::compaction_iter::CompactionIterStats;
use lsm::pick::Reason;
use lsm::table_file::TableFile;
use lsm::version::BlobGarbage;

use super::{Compacted, CompactionTools, Job, outputs, piece, sum};
use crate::commit::Committed;
use crate::event::{
    BlobGarbageMade, BlobJobStats, CompactionCounts, CompactionDetails, CompactionFinished,
    CompactionStarted, Event, JobFile, JobStats, JobTimes, ProximalOutput, Subcompaction,
};
use crate::output::{
    OutputFile, compression_text, files_by_level, input_summary, level_summary, live_blob_files, named, rates,
};
use crate::stats::LevelNumbers;

pub(super) fn started(t: &CompactionTools<'_>, job: &Job) {
    let task = &job.task;
    t.tools.events.info(format_args!(
        "[{}] [JOB {}] Compacting {}, score {:.2}",
        job.family.name(),
        job.id,
        input_summary(task),
        task.score
    ));
    t.tools.events.emit(&Event::CompactionStarted(start_of(t, job)));
}

/// Describes the start of a compaction, for listeners.
fn start_of(t: &CompactionTools<'_>, job: &Job) -> CompactionStarted {
    let task = &job.task;
    let numbers = |files: &[crate::sync::Arc<TableFile>]| files.iter().map(|f| f.number).collect();
    let stripes = t.tools.snapshots.stripes();
    let heard = t.tools.events.has_listeners();
    CompactionStarted {
        job: job.id,
        family: named(&job.family),
        reason: task.reason.word(),
        inputs: task.inputs.iter().map(|i| (i.level, numbers(&i.files))).collect(),
        num_l0_files: job.version.level(Level::ZERO).len(),
        output_level: task.output.level,
        output_compression: compression_text(task.output.compression),
        score: task.score,
        input_data_size: task.input_bytes(),
        oldest_snapshot: stripes.as_slice().first().copied(),
        input_files: if heard { input_files(job) } else { Vec::new() },
        table_properties: if heard { table_properties(t, job, &[]) } else { BTreeMap::new() },
        is_full: task.full,
        by_compact_files: job.by_compact_files,
        // RocksDB counts these files when the compaction ends.
        stats: JobStats { num_input_files_at_output_level: 0, ..input_stats(job) },
    }
}

/// Notifies the listeners of the start of a compaction that decodes no entry. The info log gets no line for this event.
pub(super) fn started_without_rewrite(t: &CompactionTools<'_>, job: &Job) {
    if t.tools.events.has_listeners() {
        let stats = stats_without_rewrite(job);
        t.tools.events.notify(&Event::CompactionStarted(CompactionStarted {
            is_full: false,
            stats,
            ..start_of(t, job)
        }));
    }
}

/// Runs `commit` of a compaction that decodes no entry. `outputs` are the files that the commit adds, and `micros` is the time that
/// the compaction took, with its CPU time. Notifies the listeners before the commit and of the end, as in RocksDB
/// (`DBImpl::BackgroundCompaction`). The info log gets no line for these events.
///
/// # Errors
/// The error of the commit.
pub(super) fn without_rewrite(
    t: &CompactionTools<'_>,
    job: &Job,
    (outputs, micros): (&[JobFile], (u64, u64)),
    commit: impl FnOnce() -> Result<Committed>,
) -> Result<(Committed, Box<CompactionFinished>)> {
    let describe = |error: Option<Error>| {
        let mut report = report(t, job, &[], error, micros);
        report.outputs = outputs.iter().map(|file| file.number).collect();
        report.output_files = outputs.to_vec();
        report.details.is_full = false;
        let (elapsed_micros, cpu_micros) = micros;
        let times = JobTimes { elapsed_micros, cpu_micros, io: None };
        report.stats = JobStats { times, ..stats_without_rewrite(job) };
        report
    };
    let events = &t.tools.events;
    if events.has_listeners() {
        events.notify(&Event::CompactionPreCommit(describe(None)));
    }
    let committed = commit();
    let report = describe(committed.as_ref().err().cloned());
    if events.has_listeners() {
        events.notify(&Event::CompactionFinished(report.clone()));
    }
    Ok((committed?, Box::new(report)))
}

/// Counts the work of one subcompaction. Files are counted for the whole compaction only, as in RocksDB.
pub(super) fn subcompaction_stats(done: &piece::Done) -> JobStats {
    let stats = &done.stats;
    JobStats {
        times: JobTimes { elapsed_micros: 0, cpu_micros: done.cpu_micros, io: done.io_times },
        num_input_records: stats.num_itered,
        blobs: BlobJobStats {
            num_read: done.blobs_read.0,
            bytes_read: done.blobs_read.1,
            ..BlobJobStats::default()
        },
        total_input_raw_key_bytes: stats.total_input_raw_key_bytes,
        total_input_raw_value_bytes: stats.total_input_raw_value_bytes,
        num_records_replaced: stats.num_record_drop_hidden,
        num_input_deletion_records: stats.num_input_deletion_records,
        num_expired_deletion_records: stats.num_record_drop_obsolete,
        num_corrupt_keys: stats.num_input_corrupt_records,
        num_single_del_fallthru: stats.num_single_del_fallthru,
        num_single_del_mismatch: stats.num_single_del_mismatch,
        ..JobStats::default()
    }
}

/// Reports the start of a subcompaction to the listeners, or with `ended` its end, its error and its counts.
pub(super) fn subcompaction(
    t: &CompactionTools<'_>,
    job: &Job,
    index: usize,
    ended: Option<(Option<Error>, JobStats)>,
) {
    let is_start = ended.is_none();
    let (error, stats) = ended.unwrap_or_default();
    let event = Subcompaction {
        job: job.id,
        family: named(&job.family),
        reason: job.task.reason.word(),
        index,
        base_input_level: job.task.start_level(),
        output_level: job.task.output.level,
        output_compression: compression_text(job.task.output.compression),
        error,
        stats,
    };
    t.tools.events.emit(&match is_start {
        true => Event::SubcompactionStarted(event),
        false => Event::SubcompactionFinished(event),
    });
}

/// Notifies the listeners before the commit: the SST files are written, and no version has them yet.
pub(super) fn pre_commit(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done], start: u64) {
    if t.tools.events.has_listeners() {
        let micros = micros_since(t, done, start);
        t.tools.events.emit(&Event::CompactionPreCommit(report(t, job, done, None, micros)));
    }
}

/// Returns the time since `start_nanos` and the CPU time of all subcompactions, in microseconds. RocksDB:
/// `CompactionJob::UpdateTimingStats`.
fn micros_since(t: &CompactionTools<'_>, done: &[piece::Done], start_nanos: u64) -> (u64, u64) {
    let micros = (t.tools.env.clock.now_nanos() - start_nanos) / 1000;
    (micros, done.iter().map(|piece| piece.cpu_micros).sum())
}

/// Reports a compaction that failed before its commit, with its counts up to the error. The SST files are deleted, so
/// the reports name no output. As in RocksDB, the report that precedes a commit is made too, and has no error.
pub(super) fn failed(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done], error: &Error, start: u64) {
    let micros = micros_since(t, done, start);
    if t.tools.events.has_listeners() {
        t.tools.events.emit(&Event::CompactionPreCommit(without_outputs(report(t, job, done, None, micros))));
    }
    uncommitted(t, job, error, without_outputs(report(t, job, done, None, micros)));
}

/// Reports a compaction whose commit failed. The SST files stay, because the record may have reached the disk.
pub(super) fn commit_failed(
    t: &CompactionTools<'_>,
    job: &Job,
    done: &[piece::Done],
    error: &Error,
    start: u64,
) {
    uncommitted(t, job, error, report(t, job, done, None, micros_since(t, done, start)));
}

fn uncommitted(t: &CompactionTools<'_>, job: &Job, error: &Error, mut report: CompactionFinished) {
    t.tools.events.warn(format_args!("[{}] [JOB {}] Compaction failed: {error}", job.family.name(), job.id));
    report.aborted = is_abort(error);
    report.error = Some(error.clone());
    t.tools.events.emit(&Event::CompactionFinished(report));
}

fn without_outputs(mut report: CompactionFinished) -> CompactionFinished {
    report.outputs.clear();
    for file in report.output_files.drain(..) {
        report.table_properties.remove(&file.path);
    }
    report
}

/// Returns true for the error of a compaction that `abort_all_compactions` or a cancel flag ended.
fn is_abort(error: &Error) -> bool {
    matches!(error.subcode(), Subcode::ManualCompactionPaused | Subcode::CompactionAborted)
}

pub(super) fn finished(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done], start: u64) -> Compacted {
    let micros = micros_since(t, done, start);
    let event = report(t, job, done, None, micros);
    let (stats, records) = sum(done);
    t.tools.events.info(format_args!(
        "[{}] [JOB {}] Compacted {} => {} bytes",
        job.family.name(),
        job.id,
        input_summary(&job.task),
        event.counts.total_output_size + event.stats.blobs.output_bytes
    ));
    if let Some(proximal) = proximal_output(job, done) {
        base::invariant!(
            job.task.output.level > Level::ZERO,
            "a compaction to level 0 has output on the level above"
        );
        t.tools.events.info(format_args!(
            "[{}] has Proximal Level output: {}, level {}, number of files: {}, number of records: {}",
            job.family.name(),
            proximal.bytes,
            job.task.output.level.above().unwrap_or_default().get(),
            proximal.files,
            proximal.records
        ));
    }
    let out = Compacted {
        committed: None,
        stats,
        bytes_read: job.task.input_bytes(),
        bytes_written: event.counts.total_output_size,
        num_output_records: records,
        outputs: outputs(done).map(|f| (f.meta.number, f.meta.path_id)).collect(),
        report: Some(Box::new(event.clone())),
    };
    count(t, job, done, micros, &out);
    t.tools.events.emit(&Event::CompactionFinished(event));
    t.tools.events.logger().flush();
    out
}

/// Adds the job to the numbers of the column family and to the statistics.
fn count(
    t: &CompactionTools<'_>,
    job: &Job,
    done: &[piece::Done],
    (micros, cpu_micros): (u64, u64),
    out: &Compacted,
) {
    let task = &job.task;
    let of_output_level: u64 = task.files_of(task.output.level).iter().map(|f| f.size).sum();
    base::invariant!(
        out.bytes_read >= of_output_level,
        "a compaction reads {} bytes, and {of_output_level} of its output level",
        out.bytes_read
    );
    let s = &out.stats;
    let dropped = s.num_record_drop_hidden
        + s.num_record_drop_obsolete
        + s.num_record_drop_range_del
        + s.num_record_drop_user;
    let numbers = LevelNumbers {
        micros,
        cpu_micros,
        bytes_read_non_output_levels: out.bytes_read.saturating_sub(of_output_level),
        bytes_read_output_level: of_output_level,
        bytes_written: out.bytes_written,
        bytes_written_pre_compression: outputs(done).map(|f| f.pre_compression_size).sum(),
        bytes_read_blob: blobs_read(done).1,
        bytes_written_blob: outputs(done).map(OutputFile::blob_bytes).sum(),
        bytes_moved: 0,
        num_input_records: s.num_input_records,
        num_dropped_records: dropped,
        num_output_records: out.num_output_records,
        count: 1,
    };
    super::count(job, &numbers);
    log_levels(t, job, done, &numbers);
    if let Some(statistics) = t.tools.stats.statistics() {
        count_statistics(statistics, job, done, (&numbers, s));
    }
}

/// Writes the levels after the compaction and its rates to the info log.
fn log_levels(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done], numbers: &LevelNumbers) {
    if !t.tools.events.writes_info() {
        return;
    }
    let task = &job.task;
    let at_output_level = task.files_of(task.output.level).len();
    base::invariant!(
        at_output_level <= task.num_input_files(),
        "a compaction of {} files has {at_output_level} on its output level",
        task.num_input_files()
    );
    let files = [
        task.num_input_files() - at_output_level,
        at_output_level,
        outputs(done).count(),
        outputs(done).map(|f| f.blobs.len()).sum(),
    ];
    t.tools.events.info(format_args!(
        "[{}] compacted to: {}, {} output_compression: {}",
        job.family.name(),
        level_summary(t.tools, &job.family),
        rates(numbers, task.output.level, files),
        compression_text(task.output.compression)
    ));
}

/// Adds the job to the statistics of the application.
fn count_statistics(
    statistics: &Statistics,
    job: &Job,
    done: &[piece::Done],
    (numbers, s): (&LevelNumbers, &CompactionIterStats),
) {
    let task = &job.task;
    statistics.measure_time(HistogramKind::CompactionTime, numbers.micros);
    statistics.measure_time(HistogramKind::CompactionCpuTime, numbers.cpu_micros);
    // RocksDB counts the compactions that it picks itself (`DBImpl::BackgroundCompaction`).
    if !task.manual {
        let files = task.files_of(task.start_level()).len() as u64;
        statistics.measure(HistogramKind::NumFilesInSingleCompaction, files);
    }
    if done.len() > 1 {
        statistics.measure(HistogramKind::NumSubcompactionsScheduled, done.len() as u64);
    }
    let (read, written) = match task.reason {
        Reason::FilesMarkedForCompaction => (Ticker::CompactReadBytesMarked, Ticker::CompactWriteBytesMarked),
        Reason::PeriodicCompaction => (Ticker::CompactReadBytesPeriodic, Ticker::CompactWriteBytesPeriodic),
        Reason::Ttl | Reason::RoundRobinTtl => (Ticker::CompactReadBytesTtl, Ticker::CompactWriteBytesTtl),
        _ => (Ticker::CompactReadBytes, Ticker::CompactWriteBytes),
    };
    if read != Ticker::CompactReadBytes {
        statistics.add(read, numbers.bytes_read_all());
        statistics.add(written, numbers.bytes_written_all());
    }
    for (ticker, count) in [
        (Ticker::CompactReadBytes, numbers.bytes_read_all()),
        (Ticker::CompactWriteBytes, numbers.bytes_written_all()),
        (Ticker::CompactionCpuTotalTime, numbers.cpu_micros),
        (Ticker::CompactionKeyDropNewerEntry, s.num_record_drop_hidden),
        (Ticker::CompactionKeyDropObsolete, s.num_record_drop_obsolete),
        (Ticker::CompactionKeyDropRangeDel, s.num_record_drop_range_del),
        (Ticker::CompactionKeyDropUser, s.num_record_drop_user),
        (Ticker::CompactionRangeDelDropObsolete, s.num_range_del_drop_obsolete),
        (Ticker::CompactionOptimizedDelDropObsolete, s.num_optimized_del_drop_obsolete),
        (Ticker::BlobDbGcNumKeysRelocated, done.iter().map(|piece| piece.outputs.relocated.blobs).sum()),
        (Ticker::BlobDbGcBytesRelocated, done.iter().map(|piece| piece.outputs.relocated.bytes).sum()),
    ] {
        statistics.add(ticker, count);
    }
}

/// Counts the files of the second output. Returns `None` if the compaction wrote no such file.
fn proximal_output(job: &Job, done: &[piece::Done]) -> Option<ProximalOutput> {
    let mut sum = ProximalOutput::default();
    for file in outputs(done).filter(|file| file.level != job.task.output.level) {
        sum.files += 1;
        sum.bytes += file.meta.size;
        sum.records += file.properties.num_entries;
    }
    (sum.files > 0).then_some(sum)
}

/// Returns the input files of a job with their paths.
fn input_files(job: &Job) -> Vec<JobFile> {
    job.task.files().map(|(level, file)| job_file(job, level, file)).collect()
}

/// Describes a file of a job.
pub(super) fn job_file(job: &Job, level: Level, file: &TableFile) -> JobFile {
    JobFile {
        number: file.number,
        level,
        path: job.parts.table_path(file.number, file.path_id),
        size: file.size,
        oldest_blob_file: file.oldest_blob_file,
    }
}

/// Returns the number and the bytes of the records that the subcompactions read from blob files.
fn blobs_read(done: &[piece::Done]) -> (u64, u64) {
    done.iter()
        .fold((0, 0), |(records, bytes), piece| (records + piece.blobs_read.0, bytes + piece.blobs_read.1))
}

/// Returns the times of the file-system calls of the subcompactions. `None` if no subcompaction measured them.
fn io_times(done: &[piece::Done]) -> Option<IoTimes> {
    done.iter().filter_map(|piece| piece.io_times).reduce(|mut sum, times| {
        sum.add(&times);
        sum
    })
}

/// Returns the counts of the input files.
fn input_stats(job: &Job) -> JobStats {
    JobStats {
        num_input_files: job.task.num_input_files(),
        num_input_files_at_output_level: job.task.files_of(job.task.output.level).len(),
        total_input_bytes: job.task.input_bytes(),
        is_manual: job.task.manual,
        ..JobStats::default()
    }
}

/// Returns the counts of a compaction that decodes no entry: only files, as in RocksDB.
fn stats_without_rewrite(job: &Job) -> JobStats {
    let num_input_files = job.task.files_of(job.task.start_level()).len();
    JobStats {
        num_input_files,
        num_input_files_trivially_moved: if job.task.trivial_move { num_input_files } else { 0 },
        ..JobStats::default()
    }
}

fn job_stats(job: &Job, done: &[piece::Done], (elapsed_micros, cpu_micros): (u64, u64)) -> JobStats {
    let (stats, records) = sum(done);
    let (num_read, bytes_read) = blobs_read(done);
    JobStats {
        times: JobTimes { elapsed_micros, cpu_micros, io: io_times(done) },
        num_output_files: outputs(done).count(),
        num_input_records: stats.num_itered,
        num_output_records: records,
        total_output_bytes: outputs(done).map(|f| f.meta.size).sum(),
        num_records_replaced: stats.num_record_drop_hidden,
        total_input_raw_key_bytes: stats.total_input_raw_key_bytes,
        total_input_raw_value_bytes: stats.total_input_raw_value_bytes,
        num_input_deletion_records: stats.num_input_deletion_records,
        num_expired_deletion_records: stats.num_record_drop_obsolete,
        num_corrupt_keys: stats.num_input_corrupt_records,
        num_single_del_fallthru: stats.num_single_del_fallthru,
        num_single_del_mismatch: stats.num_single_del_mismatch,
        blobs: BlobJobStats {
            num_read,
            bytes_read,
            num_output_files: outputs(done).map(|f| f.blobs.len()).sum(),
            output_bytes: outputs(done).map(OutputFile::blob_bytes).sum(),
        },
        ..input_stats(job)
    }
}

/// Returns the table properties of the input files and of the output files, by path. Opens input files only for listeners, as
/// RocksDB does (`DBImpl::BuildCompactionJobInfo`). Leaves out files that do not open.
fn table_properties(
    t: &CompactionTools<'_>,
    job: &Job,
    done: &[piece::Done],
) -> BTreeMap<PathBuf, crate::sync::Arc<Properties>> {
    let heard = t.tools.events.has_listeners();
    let inputs = job.task.files().filter_map(|(level, file)| {
        let table = match heard {
            true => t.tables.get(&job.parts, level, file).ok()?,
            false => t.tables.find(file)?,
        };
        Some((job.parts.table_path(file.number, file.path_id), table.properties().clone()))
    });
    inputs.chain(outputs(done).map(|f| (f.path.clone(), f.properties.clone()))).collect()
}

/// Describes a compaction for listeners.
pub(super) fn report(
    t: &CompactionTools<'_>,
    job: &Job,
    done: &[piece::Done],
    error: Option<Error>,
    micros: (u64, u64),
) -> CompactionFinished {
    let aborted = error.as_ref().is_some_and(is_abort);
    let (stats, records) = sum(done);
    let version = job.family.state().version.clone();
    let (compaction_time_micros, compaction_time_cpu_micros) = micros;
    CompactionFinished {
        job: job.id,
        family: named(&job.family),
        reason: job.task.reason.word(),
        error,
        compaction_time_micros,
        compaction_time_cpu_micros,
        output_level: job.task.output.level,
        outputs: outputs(done).map(|f| f.meta.number).collect(),
        counts: CompactionCounts {
            total_output_size: outputs(done).map(|f| f.meta.size).sum(),
            num_input_records: stats.num_input_records,
            num_output_records: records,
            num_subcompactions: done.len(),
            num_single_delete_mismatches: stats.num_single_del_mismatch,
            num_single_delete_fallthrough: stats.num_single_del_fallthru,
            num_merge_comparisons: done.iter().map(|piece| piece.comparisons).sum(),
        },
        output_compression: compression_text(job.task.output.compression),
        lsm_state: files_by_level(&version),
        live_blob_files: live_blob_files(&version),
        base_input_level: job.task.start_level(),
        input_files: input_files(job),
        output_files: outputs(done)
            .map(|f| JobFile {
                number: f.meta.number,
                level: f.level,
                path: f.path.clone(),
                size: f.meta.size,
                oldest_blob_file: f.meta.oldest_blob_file,
            })
            .collect(),
        table_properties: table_properties(t, job, done),
        stats: job_stats(job, done, micros),
        aborted,
        proximal: proximal_output(job, done),
        details: details(job, done),
    }
}

fn details(job: &Job, done: &[piece::Done]) -> CompactionDetails {
    const PREFIX_LEN: usize = 8;
    let prefix = |key: Option<&[u8]>| {
        let key = key.map(base::key::user_key).unwrap_or_default();
        key[..key.len().min(PREFIX_LEN)].to_vec()
    };
    let made = |garbage: BlobGarbage| BlobGarbageMade {
        number: garbage.number,
        path: job.parts.blob_path(garbage.number),
        count: garbage.count,
        bytes: garbage.bytes,
    };
    CompactionDetails {
        is_full: job.task.full,
        by_compact_files: job.by_compact_files,
        smallest_output_key_prefix: prefix(outputs(done).next().map(|file| &*file.meta.smallest)),
        largest_output_key_prefix: prefix(outputs(done).last().map(|file| &*file.meta.largest)),
        blob_garbage: piece::garbage(done).into_iter().map(made).collect(),
    }
}

/// Checks that the subcompactions together read every point entry of the input files
/// (`compaction_verify_record_count`). A difference means that a file was not read whole, or that the ranges of the
/// subcompactions overlap or leave out keys.
///
/// The check runs only if the entry counts of all input files are known. Some files of RocksDB 5.18 and older do not
/// record whether their entry count includes range tombstones. For these files both counts are accepted.
///
/// # Errors
/// Corruption. The caller removes the output files: they may lack entries.
pub(super) fn verify_counts(t: &CompactionTools<'_>, job: &Job, done: &[piece::Done]) -> Result<()> {
    let is_uncounted = done.iter().any(|piece| piece.is_uncounted);
    if is_uncounted
        || !t.tools.options.load().compaction_verify_record_count
        || job.task.trim_timestamp.is_some()
    {
        return Ok(());
    }
    let (mut fewest, mut most) = (0u64, 0u64);
    for (_, file) in job.task.files() {
        let Some(stats) = file.stats() else { return Ok(()) };
        fewest = fewest.saturating_add(*stats.num_points().start());
        most = most.saturating_add(*stats.num_points().end());
    }
    let read: u64 = done.iter().map(|p| p.stats.num_itered).sum();
    base::invariant!(fewest <= most, "a compaction has at least {fewest} and at most {most} entries");
    if (fewest..=most).contains(&read) {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "Compaction number of input keys does not match number of keys processed. Expected {fewest} but processed \
         {read}, in {} subcompactions",
        done.len()
    )))
}

/// Checks the limit of the SST file manager with the output files of the compaction, while the input files still count.
/// RocksDB: `CompactionJob::FinishCompactionOutputFile`.
///
/// # Errors
/// SpaceLimit. The caller removes the output files.
pub(super) fn check_space(t: &CompactionTools<'_>, done: &[piece::Done]) -> Result<()> {
    let more: u64 = outputs(done).map(|file| file.meta.size + file.blob_bytes()).sum();
    t.tools.check_space(more)
}
