//! Reads the info log `LOG` of RocksDB releases 5 to 11 and of Ironstone.
//!
//! A line is `time thread [LEVEL] text`. An event is a line with `EVENT_LOG_v1` and one JSON object. The reader skips a
//! line that has another form: a LOG of another release or a damaged LOG gives fewer facts, and no error. Times are
//! local times of the writer, as the file has no time zone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::{Level, Result};
use env::{Env, ReadHints};
use serde::{Deserialize, Serialize};

use super::Database;
use super::level_number;
use super::log_stats::{LogStats, Reader as StatsReader};
use super::option_rows::LogOptions;
use super::problems::{Weight, plain, problem};
use tree::Tree;

mod tree;

/// The limit of events, stalls and messages of one kind. The newest are kept. Older ones are only counted: see [`Older`].
pub(crate) const KEPT_MAX: usize = 4000;

/// The largest length of a message. The rest is cut off.
const TEXT_MAX: usize = 400;

/// The facts of the info logs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InfoLog {
    /// The bytes of all info logs, and the bytes that were read.
    pub bytes: u64,
    pub bytes_read: u64,
    pub lines: u64,
    /// Microseconds since 1970 in the writer's local time; 0 without lines.
    pub first_micros: u64,
    pub last_micros: u64,
    pub release: Option<String>,
    pub jobs: Vec<JobEvent>,
    /// Jobs that started and did not end in the info log. They still run if the writer still runs.
    #[serde(default)]
    pub running: Vec<RunningJob>,
    pub stalls: Vec<Stall>,
    pub warnings: Vec<LogLine>,
    pub errors: Vec<LogLine>,
    /// The number of flushes by reason.
    pub flush_reasons: BTreeMap<String, u64>,
    /// The number of compactions by reason.
    pub compaction_reasons: BTreeMap<String, u64>,
    /// The number of SST files that FIFO compaction deleted. Such a compaction has no event.
    #[serde(default)]
    pub fifo_deleted: u64,
    /// The snapshot that compactions had to keep until the end of the info log.
    #[serde(default)]
    pub held_snapshot: Option<HeldSnapshot>,
    pub stats: LogStats,
    /// The events that were read and are not in the lists.
    #[serde(default)]
    pub older: Older,
    /// True if the last writer was Ironstone.
    #[serde(default)]
    pub is_ironstone: bool,
}

/// A snapshot that exists for several compactions. Compactions keep the entries that the snapshot can see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSnapshot {
    /// The sequence number of the oldest snapshot.
    pub seq: u64,
    /// The compactions with this snapshot, and the bytes of their input.
    pub compactions: u64,
    pub input_bytes: u64,
    /// The start of the first and of the last of these compactions, in microseconds since 1970.
    pub first_micros: u64,
    pub last_micros: u64,
}

/// The sums of the events above the limits of the lists. All of these events are older than the events in the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Older {
    pub flushes: u64,
    pub flushed_bytes: u64,
    pub compactions: u64,
    pub compacted_bytes: u64,
    pub stalls: u64,
    pub warnings: u64,
    pub errors: u64,
}

/// The kind of a background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobKind {
    Flush,
    Compaction,
}

/// One finished background job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobEvent {
    pub kind: JobKind,
    pub job: u64,
    /// Microseconds since 1970.
    pub start_micros: u64,
    pub end_micros: u64,
    pub family: String,
    pub reason: String,
    /// The level of the output.
    #[serde(with = "level_number")]
    pub level: Level,
    pub input_bytes: u64,
    pub output_bytes: u64,
    /// Sorted runs of the column family after the job: files of level 0, and other levels with files.
    #[serde(default)]
    pub sorted_runs: Option<u64>,
    /// Bytes of the column family and of its last level with files, after the job. `None` if the info log does not name each file.
    #[serde(default)]
    pub tree_bytes: Option<(u64, u64)>,
}

/// A background job whose end is not in the info log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningJob {
    pub kind: JobKind,
    pub job: u64,
    /// Microseconds since 1970.
    pub start_micros: u64,
    pub family: String,
    pub reason: String,
    /// The numbers of the input files of a compaction.
    pub inputs: Vec<u64>,
    pub input_bytes: u64,
    /// The bytes of the finished output files.
    pub output_bytes: u64,
}

/// The kind of a write stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StallKind {
    Delayed,
    Stopped,
}

/// A message about delayed or stopped writers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stall {
    pub micros: u64,
    /// Microseconds since 1970. `None` if the info log has no event, and thus only the local time.
    #[serde(default)]
    pub utc_micros: Option<u64>,
    pub family: String,
    pub kind: StallKind,
    /// The reason: `memtables`, `level-0 files` or `pending compaction bytes`.
    pub cause: String,
}

/// One message of the info log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogLine {
    pub micros: u64,
    pub text: String,
}

impl InfoLog {
    /// Returns the bytes that flushes wrote, and the bytes that compactions wrote.
    pub fn written(&self) -> (u64, u64) {
        let sum = |kind| -> u64 {
            self.jobs.iter().filter(|job| job.kind == kind).map(|job| job.output_bytes).sum()
        };
        let (flushed, compacted) = (self.older.flushed_bytes, self.older.compacted_bytes);
        (flushed.saturating_add(sum(JobKind::Flush)), compacted.saturating_add(sum(JobKind::Compaction)))
    }

    /// Returns the number of finished jobs of this kind.
    pub fn jobs_of(&self, kind: JobKind) -> u64 {
        let older = match kind {
            JobKind::Flush => self.older.flushes,
            JobKind::Compaction => self.older.compactions,
        };
        older + self.jobs.iter().filter(|job| job.kind == kind).count() as u64
    }

    /// Returns true if the reader skipped the start of the info log, so that the sums are not of the whole log.
    pub fn is_part(&self) -> bool {
        self.bytes_read < self.bytes
    }

    /// Returns the bytes that flushes and compactions wrote for each byte that flushes wrote. Returns `None` without
    /// flushes.
    pub fn write_amplification(&self) -> Option<f64> {
        let (flushed, compacted) = self.written();
        (flushed > 0).then(|| (flushed + compacted) as f64 / flushed as f64)
    }
}

/// Reads the files, oldest first, and adds the facts to `db`. If the files have more than `bytes_max` bytes, the
/// oldest bytes are skipped.
///
/// # Errors
/// Errors of the file system.
pub(super) fn load(env: &Env, paths: &[PathBuf], bytes_max: u64, db: &mut Database) -> Result<()> {
    let mut sizes = Vec::new();
    for path in paths {
        sizes.push(env.fs.file_size(path).unwrap_or(0));
    }
    let total: u64 = sizes.iter().sum();
    let mut skip = total.saturating_sub(bytes_max);
    let mut parser = Parser::default();
    for (path, size) in paths.iter().zip(sizes) {
        let from = skip.min(size);
        skip -= from;
        if from == size {
            continue;
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match read_range(env, path, from, size) {
            Ok(bytes) => parser.text(&String::from_utf8_lossy(&bytes)),
            Err(error) => problem(db, Weight::Warning, &name, None, plain(&error)),
        }
    }
    parser.log.bytes = total;
    let (log, options) = parser.finish();
    db.log = log;
    if db.options.is_none() {
        db.options = options.into_text();
    }
    Ok(())
}

fn read_range(env: &Env, path: &std::path::Path, from: u64, size: u64) -> Result<Vec<u8>> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut bytes = vec![0; usize::try_from(size - from).unwrap_or(0)];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(from + read as u64, &mut bytes[read..])? {
            0 => break,
            n => read += n,
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Reads the text of one info log.
pub fn parse(text: &str) -> InfoLog {
    let mut parser = Parser::default();
    parser.text(text);
    let (log, _) = parser.finish();
    log
}

/// A job that started.
#[derive(Default)]
struct Started {
    is_compaction: bool,
    /// The levels and numbers of the input files.
    inputs: Vec<(usize, u64)>,
    micros: u64,
    family: String,
    reason: String,
    input_bytes: u64,
    output_bytes: u64,
    outputs: Vec<u64>,
}

/// Adds an item. At twice the limit, the older half is removed and given to `count`.
fn push_newest<T>(list: &mut Vec<T>, item: T, count: impl FnMut(T)) {
    list.push(item);
    if list.len() >= 2 * KEPT_MAX {
        list.drain(..KEPT_MAX).for_each(count);
    }
}

/// Removes the items above the limit, oldest first, and gives them to `count`.
fn trim<T>(list: &mut Vec<T>, count: impl FnMut(T)) {
    list.drain(..list.len().saturating_sub(KEPT_MAX)).for_each(count);
}

impl Older {
    fn count_job(&mut self, job: &JobEvent) {
        let (count, bytes) = match job.kind {
            JobKind::Flush => (&mut self.flushes, &mut self.flushed_bytes),
            JobKind::Compaction => (&mut self.compactions, &mut self.compacted_bytes),
        };
        *count += 1;
        *bytes = bytes.saturating_add(job.output_bytes);
    }
}

#[derive(Default)]
struct Parser {
    log: InfoLog,
    /// The time of the writer minus the time since 1970, in microseconds: from the last event, which has both times.
    clock: Option<i64>,
    open: BTreeMap<u64, Started>,
    tree: Tree,
    stats: StatsReader,
    options: LogOptions,
}

impl Parser {
    fn text(&mut self, text: &str) {
        self.log.bytes_read += text.len() as u64;
        for line in text.lines() {
            self.log.lines += 1;
            self.line(line);
        }
    }

    fn finish(mut self) -> (InfoLog, LogOptions) {
        self.log.stats = self.stats.finish();
        let older = &mut self.log.older;
        trim(&mut self.log.jobs, |job| older.count_job(&job));
        trim(&mut self.log.stalls, |_| older.stalls += 1);
        trim(&mut self.log.warnings, |_| older.warnings += 1);
        trim(&mut self.log.errors, |_| older.errors += 1);
        // The stalls before the first event.
        for stall in self.log.stalls.iter_mut().filter(|stall| stall.utc_micros.is_none()) {
            stall.utc_micros = self.clock.and_then(|clock| stall.micros.checked_add_signed(-clock));
        }
        let running = |(job, started): (u64, Started)| RunningJob {
            kind: if started.is_compaction { JobKind::Compaction } else { JobKind::Flush },
            job,
            start_micros: started.micros,
            family: started.family,
            reason: started.reason,
            inputs: started.inputs.into_iter().map(|(_, file)| file).collect(),
            input_bytes: started.input_bytes,
            output_bytes: started.output_bytes,
        };
        self.log.running = std::mem::take(&mut self.open).into_iter().map(running).collect();
        (self.log, self.options)
    }

    fn line(&mut self, line: &str) {
        let Some((micros, rest)) = time(line) else {
            // Statistics and texts of several lines have no time.
            self.stats.line(line);
            self.options.line(line);
            return;
        };
        if self.log.first_micros == 0 {
            self.log.first_micros = micros;
        }
        self.log.last_micros = self.log.last_micros.max(micros);
        if let Some(at) = rest.find("EVENT_LOG_v1 ") {
            self.event(micros, &rest[at + 13..]);
            return;
        }
        self.options.line(rest);
        self.tree.line(rest);
        if let Some((_, limiter)) = rest.split_once("Options.rate_limiter: ") {
            self.stats.rate_limiter(limiter);
        }
        if let Some((_, level)) = rest.split_once("Options.statistics stats level: ") {
            self.stats.stats_level(level);
        }
        if let Some((_, version)) = rest.split_once("RocksDB version: ") {
            let number = version.split_whitespace().next().unwrap_or_default();
            self.log.release = Some(number.chars().take(40).collect());
            self.log.is_ironstone = rest.contains("Ironstone ");
            self.options.restart();
            self.open.clear();
            // A snapshot ends with its process.
            self.log.held_snapshot = None;
        }
        if let Some(files) = fifo_deleted(rest) {
            self.log.fifo_deleted = self.log.fifo_deleted.saturating_add(files);
        }
        if rest.contains("Shutdown complete") {
            self.open.clear();
        }
        self.stall(micros, rest);
        let older = &mut self.log.older;
        let (list, count) = if rest.contains("[ERROR]") || rest.contains("[FATAL]") {
            (&mut self.log.errors, &mut older.errors)
        } else if rest.contains("[WARN]") {
            (&mut self.log.warnings, &mut older.warnings)
        } else {
            return;
        };
        let line = LogLine { micros, text: rest.chars().take(TEXT_MAX).collect() };
        push_newest(list, line, |_| *count += 1);
    }

    fn stall(&mut self, micros: u64, rest: &str) {
        let (kind, at) = match (rest.find("Stopping writes because"), rest.find("Stalling writes because")) {
            (Some(at), _) => (StallKind::Stopped, at),
            (None, Some(at)) => (StallKind::Delayed, at),
            _ => return,
        };
        let why = &rest[at..];
        let cause = if why.contains("immutable memtables") {
            "memtables"
        } else if why.contains("level-0") {
            "level-0 files"
        } else {
            "pending compaction bytes"
        };
        let family = rest[..at].trim_end().rsplit('[').next().and_then(|name| name.strip_suffix(']'));
        let family = family.unwrap_or("default").to_string();
        let utc_micros = self.clock.and_then(|clock| micros.checked_add_signed(-clock));
        let stall = Stall { micros, utc_micros, family, kind, cause: cause.to_string() };
        let older = &mut self.log.older;
        push_newest(&mut self.log.stalls, stall, |_| older.stalls += 1);
    }

    fn event(&mut self, line_micros: u64, json: &str) {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(json) else { return };
        let number = |name: &str| event.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let text = |name: &str| {
            let value = event.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
            value.chars().take(80).collect::<String>()
        };
        let (job, micros) = (number("job"), number("time_micros"));
        if micros > 0 {
            self.clock = Some(line_micros.wrapping_sub(micros).cast_signed());
        }
        match text("event").as_str() {
            "flush_started" => {
                let reason = text("flush_reason");
                *self.log.flush_reasons.entry(reason.clone()).or_default() += 1;
                let input_bytes = number("total_data_size");
                self.open.insert(job, Started { micros, reason, input_bytes, ..Started::default() });
            }
            "compaction_started" => {
                let reason = text("compaction_reason");
                *self.log.compaction_reasons.entry(reason.clone()).or_default() += 1;
                let (family, input_bytes) = (text("cf_name"), number("input_data_size"));
                let inputs = inputs(&event);
                let snapshot = event.get("oldest_snapshot_seqno").and_then(serde_json::Value::as_u64);
                self.snapshot(snapshot, micros, input_bytes);
                let started = Started {
                    is_compaction: true,
                    inputs,
                    micros,
                    family,
                    reason,
                    input_bytes,
                    ..Started::default()
                };
                self.open.insert(job, started);
            }
            "table_file_creation" => {
                if let Some(open) = self.open.get_mut(&job) {
                    open.output_bytes = open.output_bytes.saturating_add(number("file_size"));
                    open.family = text("cf_name");
                    open.outputs.push(number("file_number"));
                    self.tree.created(number("file_number"), number("file_size"));
                }
            }
            "trivial_move" => {
                let level = number("destination_level") as usize;
                self.tree.moved(level, number("files"), number("total_files_size"));
            }
            // A process that closes or opens the database has no job of an earlier time.
            "shutdown_begin" | "db_shutdown_begin" | "recovery_started" => self.open.clear(),
            "flush_finished" => {
                self.finished(JobKind::Flush, job, micros, Level::ZERO, None, &counts(&event))
            }
            "compaction_finished" => {
                let bytes = number("total_output_size");
                self.finished(
                    JobKind::Compaction,
                    job,
                    micros,
                    Level::from_index(number("output_level") as usize),
                    Some(bytes),
                    &counts(&event),
                );
            }
            _ => {}
        }
        if self.open.len() > KEPT_MAX {
            self.open.pop_first();
        }
    }

    /// Counts a compaction for its oldest snapshot. `None` stands for a compaction without a snapshot.
    fn snapshot(&mut self, seq: Option<u64>, micros: u64, input_bytes: u64) {
        let Some(seq) = seq else {
            self.log.held_snapshot = None;
            return;
        };
        match &mut self.log.held_snapshot {
            Some(held) if held.seq == seq => {
                held.compactions += 1;
                held.input_bytes = held.input_bytes.saturating_add(input_bytes);
                held.last_micros = micros;
            }
            held => {
                let (compactions, first_micros, last_micros) = (1, micros, micros);
                *held = Some(HeldSnapshot { seq, compactions, input_bytes, first_micros, last_micros });
            }
        }
    }

    fn finished(
        &mut self,
        kind: JobKind,
        job: u64,
        end_micros: u64,
        level: Level,
        bytes: Option<u64>,
        counts: &[u64],
    ) {
        let started = self.open.remove(&job).unwrap_or(Started { micros: end_micros, ..Started::default() });
        self.tree.remove(&started.family, &started.inputs);
        self.tree.add(&started.family, level.index(), &started.outputs);
        let event = JobEvent {
            kind,
            job,
            start_micros: started.micros,
            end_micros,
            reason: started.reason,
            level,
            input_bytes: started.input_bytes,
            output_bytes: bytes.unwrap_or(started.output_bytes),
            sorted_runs: runs(counts),
            tree_bytes: self.tree.amplification(&started.family, counts),
            family: started.family,
        };
        let older = &mut self.log.older;
        push_newest(&mut self.log.jobs, event, |job| older.count_job(&job));
    }
}

/// Returns the number of a line `[family] Deleted 3 files`.
fn fifo_deleted(rest: &str) -> Option<u64> {
    rest.strip_suffix(" files")?.rsplit_once("] Deleted ")?.1.parse().ok()
}

/// Returns the list `lsm_state`: the number of files on each level. Returns no numbers if the event has no such list.
fn counts(event: &serde_json::Value) -> Vec<u64> {
    let levels = event.get("lsm_state").and_then(serde_json::Value::as_array);
    levels.into_iter().flatten().map(|count| count.as_u64().unwrap_or(0)).collect()
}

/// Returns the sorted runs for the number of files on each level.
fn runs(counts: &[u64]) -> Option<u64> {
    let (level_0, below) = counts.split_first()?;
    Some(level_0.saturating_add(below.iter().filter(|count| **count > 0).count() as u64))
}

/// Returns the levels and the numbers of the input files: the lists `files_L0`, `files_L1` and so on.
fn inputs(event: &serde_json::Value) -> Vec<(usize, u64)> {
    let fields = event.as_object().into_iter().flatten();
    let lists = fields
        .filter_map(|(name, list)| Some((name.strip_prefix("files_L")?.parse().ok()?, list.as_array()?)));
    let files = lists.flat_map(|(level, list): (usize, _)| list.iter().map(move |file| (level, file)));
    files.filter_map(|(level, file)| Some((level, file.as_u64()?))).take(KEPT_MAX).collect()
}

/// Splits `2026/11/23-09:06:34.123456 text` into microseconds since 1970 and text.
fn time(line: &str) -> Option<(u64, &str)> {
    let (stamp, rest) = line.split_once(' ')?;
    let bytes = stamp.as_bytes();
    let shape = b"0000/00/00-00:00:00.000000";
    let fits = bytes.len() == shape.len()
        && bytes.iter().zip(shape).all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == s });
    if !fits {
        return None;
    }
    // The number of the thread is not useful to a reader.
    let rest = match rest.split_once(' ') {
        Some((thread, rest)) if thread.len() > 3 && thread.bytes().all(|b| b.is_ascii_hexdigit()) => rest,
        _ => rest,
    };
    let number = |from: usize, to: usize| stamp[from..to].parse::<u64>().unwrap_or(0);
    let days = days_since_1970(number(0, 4), number(5, 7), number(8, 10));
    let seconds = days * 86_400 + number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19);
    Some((seconds * 1_000_000 + number(20, 26), rest))
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar; 0 for earlier dates.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (y, m) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
    days.saturating_sub(719_469)
}

#[cfg(test)]
mod tests;
