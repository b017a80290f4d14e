//! The events of a simulation: full memtables, finished flushes, finished compactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::key::{InternalOrder, append_with_trailer, pack};
use base::{EpochNumber, FileNumber, Level, Order, SequenceNumber, ValueType};
use lsm::cut::Cutter;
use lsm::file_meta::FileMetaData;
use lsm::pick::score::Scores;
use lsm::pick::{self, Task, View};
use lsm::pressure::{Load, Pressure, Stall};
use lsm::table_file::TableFile;
use lsm::version::{Edit, Version};
use options::{DbOptions, FamilyOptions};

use super::merge::{Span, distinct, merge, split};
use super::{Forecast, Sample, Workload};

/// The bytes that a memtable uses for an entry, in addition to key and value.
const MEMTABLE_OVERHEAD: u64 = 32;

/// The bytes that an SST file uses for an entry, in addition to key and value: the trailer and the lengths.
const TABLE_OVERHEAD: f64 = 12.0;

/// The largest number of events in a simulation.
const EVENTS_MAX: u64 = 4_000_000;

/// The start of the virtual time, in seconds since 1970.
const START_S: u64 = 12 * 24 * 60 * 60;

/// The number of samples of the curves.
const SAMPLES: u64 = 200;

/// A job that runs.
enum Work {
    Flush { memtables: usize, file: Option<Output> },
    Compaction { task: Box<Task>, outputs: Vec<Output> },
}

/// A file that a job writes.
struct Output {
    span: Span,
    bytes: u64,
}

struct Running {
    /// The bytes that are left to write.
    left: f64,
    /// The threads that write.
    threads: f64,
    work: Work,
}

/// The part of the state that does not change.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) workload: Workload,
    pub(super) pick: pick::Options,
    keys: u64,
    /// The number of entries of a full memtable.
    memtable_entries: f64,
    delayed_write_rate: u64,
    flush_jobs: usize,
    compaction_jobs: usize,
    /// Bytes per second that all jobs together may write: the rate limiter.
    limit: f64,
    order: InternalOrder,
    /// The bytes of the whole plan that are done, and the bytes that one entry of this simulation adds.
    done: Arc<AtomicU64>,
    done_per_entry: f64,
    /// The share of the plan that the simulations of this setting are.
    share: f64,
    /// The size of the simulated SST files divided by the size of the SST files of the options.
    pub(super) coarseness: f64,
}

pub(super) struct Simulation {
    set: Setting,
    version: Version,
    entries: BTreeMap<u64, Span>,
    running: Vec<Running>,
    pressure: Pressure,
    stall: Stall,
    speed_up: bool,
    now: f64,
    next_number: u64,
    next_epoch: u64,
    /// The number of entries in the active memtable.
    active: f64,
    immutable: usize,
    /// The number of immutable memtables that a flush job writes.
    flushing: usize,
    written_entries: f64,
    runs_time: f64,
    /// The integral of the space amplification over the time, and this time. From the writes of half of the size on.
    space_time: (f64, f64),
    last_sample: (f64, f64),
    out: Forecast,
}

/// Returns the bytes of a full memtable. With `db_write_buffer_size`, the active memtables have at most seven eighths of this limit.
fn memtable_bytes(pick: &pick::Options, db: &DbOptions) -> u64 {
    match db.db_write_buffer_size as u64 {
        0 => pick.buffers.write_buffer_size,
        limit => pick.buffers.write_buffer_size.min(limit / 8 * 7),
    }
}

/// The largest number of SST files in a full level 1. With more and smaller files, an amplification changes by less than 1 %.
pub(super) const FIRST_LEVEL_FILES: u64 = 16;

/// Makes the SST files larger if the options ask for very many of them: the time of a simulation grows with the square of their number.
/// Returns the factor. Universal compaction takes whole sorted runs if it is not incremental.
fn coarsen(pick: &mut pick::Options, first_level_files: u64) -> f64 {
    let smallest = match pick.style {
        pick::Style::Level => pick.sizes.max_bytes_for_level_base / first_level_files,
        pick::Style::Universal if !pick.universal.incremental => {
            pick.buffers.write_buffer_size / first_level_files
        }
        _ => 0,
    };
    let target = pick.files.target_file_size_base.max(1);
    let factor = smallest as f64 / target as f64;
    if factor <= 1.0 {
        return 1.0;
    }
    pick.files.target_file_size_base = smallest;
    pick.files.max_compaction_bytes = (pick.files.max_compaction_bytes as f64 * factor) as u64;
    factor
}

impl Setting {
    /// Makes the setting of a workload. The workload is a share of the whole plan.
    pub(super) fn new(
        workload: &Workload,
        db: &DbOptions,
        family: &FamilyOptions,
        first_level_files: u64,
        (done, share): (&Arc<AtomicU64>, f64),
    ) -> Setting {
        let limits = db.background_limits();
        let mut pick = engine::family::pick_options(family, db);
        let coarseness = coarsen(&mut pick, first_level_files);
        Setting {
            keys: workload.size_bytes / workload.entry_bytes,
            memtable_entries: (memtable_bytes(&pick, db) as f64
                / (workload.entry_bytes + MEMTABLE_OVERHEAD) as f64)
                .max(1.0),
            delayed_write_rate: db.delayed_write_rate,
            flush_jobs: limits.flushes.max(1),
            compaction_jobs: limits.compactions.max(1),
            limit: db
                .rate_limiter
                .as_ref()
                .map_or(f64::INFINITY, |limiter| limiter.bytes_per_second() as f64),
            workload: workload.clone(),
            order: InternalOrder::new(Order::Bytewise),
            pick,
            done: Arc::clone(done),
            done_per_entry: workload.entry_bytes as f64 * share,
            share,
            coarseness,
        }
    }

    /// Returns the setting of another workload, which is a part of the plan: one of `parts` simulations.
    pub(super) fn with(&self, workload: Workload, parts: f64) -> Setting {
        let entries = (workload.written_bytes as f64 / workload.entry_bytes as f64).max(1.0);
        let done_per_entry = self.workload.written_bytes as f64 * self.share / parts / entries;
        // A smaller simulation has slower jobs. The rate limit falls by the same factor, so the limiter is equally busy.
        let limit = self.limit * workload.job_rate as f64 / self.workload.job_rate as f64;
        let keys = workload.size_bytes / workload.entry_bytes;
        Setting { keys, workload, done_per_entry, limit, ..self.clone() }
    }

    /// Returns the bytes of the whole plan that are done.
    #[cfg(test)]
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the number of flushes of the whole workload.
    pub(super) fn flushes(&self) -> f64 {
        self.workload.written_bytes as f64 / self.workload.entry_bytes as f64 / self.memtable_entries
    }

    /// Returns the bytes of an SST file for an entry, with a compression of RocksDB's number: 0 is no compression.
    fn table_entry_bytes(&self, compression: u8) -> f64 {
        let ratio = if compression == 0 { 1.0 } else { self.workload.compression };
        (self.workload.entry_bytes as f64 + TABLE_OVERHEAD) * ratio
    }

    /// Returns the compression of level 0.
    fn first_compression(&self) -> u8 {
        self.pick.codecs.compression_per_level.first().copied().unwrap_or(self.pick.codecs.compression)
    }

    /// Returns the compression of the last level.
    fn last_compression(&self) -> u8 {
        let of_level =
            self.pick.codecs.compression_per_level.last().copied().unwrap_or(self.pick.codecs.compression);
        self.pick.codecs.bottommost_compression.unwrap_or(of_level)
    }
}

impl Simulation {
    pub(super) fn new(set: Setting) -> Simulation {
        let order = set.order.clone();
        Simulation {
            version: Version::empty(order, set.pick.num_levels),
            entries: BTreeMap::new(),
            running: Vec::new(),
            pressure: Pressure::new(set.delayed_write_rate),
            stall: Stall::Normal,
            speed_up: false,
            now: 0.0,
            next_number: 1,
            next_epoch: 1,
            active: 0.0,
            immutable: 0,
            flushing: 0,
            written_entries: 0.0,
            runs_time: 0.0,
            space_time: (0.0, 0.0),
            last_sample: (0.0, 0.0),
            out: Forecast::default(),
            set,
        }
    }

    /// Runs the simulation up to `flushes_max` flushes.
    pub(super) fn run(mut self, flushes_max: u64) -> Forecast {
        let total = self.set.workload.written_bytes as f64 / self.set.workload.entry_bytes as f64;
        let step = total / SAMPLES as f64;
        let mut sampled = 0.0;
        for event in 0.. {
            if event == EVENTS_MAX {
                self.out.notes.push(format!("the simulation ended after {EVENTS_MAX} events"));
                break;
            }
            self.schedule();
            let left = total - self.written_entries;
            let writes = left > 0.5 && self.out.flushes < flushes_max;
            let rate = if writes { self.rate() } else { 0.0 };
            let rates = self.job_rates();
            let end = |(job, rate): (&Running, &f64)| match job.left <= 0.0 {
                true => self.now,
                false => self.now + job.left / rate,
            };
            let ends = self.running.iter().zip(&rates).map(end);
            let first = ends.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
            let job = first.map_or(f64::INFINITY, |(_, end)| end);
            let room = (self.set.memtable_entries - self.active).min(left).max(0.0);
            let full = if rate > 0.0 { self.now + room / rate } else { f64::INFINITY };
            let next = job.min(full);
            if next.is_infinite() {
                if writes {
                    self.out.notes.push(
                        "writers are stopped, and no job can run: the options stop the database".to_string(),
                    );
                }
                break;
            }
            let passed = next - self.now;
            self.running.iter_mut().zip(&rates).for_each(|(job, rate)| job.left -= passed * rate);
            self.advance(next, rate);
            match first {
                // The job is done, whatever the rounding of its bytes.
                Some((at, _)) if job < full => {
                    self.running[at].left = 0.0;
                    self.finish_jobs();
                }
                _ => {
                    self.immutable += 1;
                    self.active = 0.0;
                }
            }
            self.decide();
            if self.written_entries >= sampled + step {
                let more = (self.written_entries - sampled) * self.set.done_per_entry;
                self.set.done.fetch_add(more as u64, Ordering::Relaxed);
                sampled = self.written_entries;
                self.sample();
            }
        }
        self.finish(total, flushes_max)
    }

    /// Returns the number of entries per second of the writer.
    fn rate(&self) -> f64 {
        let offered = self.set.workload.write_rate as f64;
        let bytes = match self.stall {
            Stall::Normal => offered,
            Stall::Paced { rate } | Stall::Delayed { rate } => offered.min(rate as f64),
            Stall::Stopped => 0.0,
        };
        bytes / self.set.workload.entry_bytes as f64
    }

    /// Returns the bytes per second of each running job. Flushes take their rate first, and compactions share the rest, as the rate
    /// limiter does it.
    fn job_rates(&self) -> Vec<f64> {
        let wish = |job: &Running| self.set.workload.job_rate as f64 * job.threads;
        let mut rates = vec![0.0; self.running.len()];
        let mut limit = self.set.limit;
        for flushes in [true, false] {
            let is_of = |job: &Running| matches!(job.work, Work::Flush { .. }) == flushes;
            let mut order: Vec<usize> = (0..rates.len()).filter(|at| is_of(&self.running[*at])).collect();
            // A job that wants less than its share leaves the rest to the jobs after it.
            order.sort_by(|a, b| wish(&self.running[*a]).total_cmp(&wish(&self.running[*b])));
            for (done, at) in order.iter().enumerate() {
                rates[*at] = wish(&self.running[*at]).min(limit / (order.len() - done) as f64);
                limit = (limit - rates[*at]).max(0.0);
            }
        }
        rates
    }

    fn advance(&mut self, to: f64, rate: f64) {
        let passed = to - self.now;
        self.active += passed * rate;
        self.written_entries += passed * rate;
        match self.stall {
            Stall::Normal | Stall::Paced { .. } => {}
            Stall::Delayed { .. } => self.out.delayed_seconds += passed,
            Stall::Stopped => self.out.stopped_seconds += passed,
        }
        self.runs_time += passed * self.sorted_runs() as f64;
        if self.written_entries * 2.0 >= self.set.keys as f64 {
            self.space_time.0 += passed * self.space_amplification();
            self.space_time.1 += passed;
        }
        self.now = to;
    }

    fn sorted_runs(&self) -> usize {
        let below = self
            .version
            .levels_below(Level::ZERO)
            .filter(|level| !self.version.level(*level).is_empty())
            .count();
        self.version.level(Level::ZERO).len() + below
    }

    fn clock(&self) -> u64 {
        // The time is never 0, because 0 is an unknown time. A plan starts at midnight, for `daily_offpeak_time_utc`.
        START_S + self.now as u64
    }

    fn decide(&mut self) {
        let (running, options) = (self.running_compactions(), &self.set.pick);
        let view = view(&self.version, &running);
        let scores = Scores::compute(&view, options, self.clock());
        let load = Load {
            num_unflushed_memtables: self.immutable,
            num_l0_files: scores.l0_delay_trigger_count,
            l0_bytes: self.version.level_0_bytes(),
            pending_compaction_bytes: scores.estimated_pending_bytes,
            num_marked_files: scores.marked.len(),
            bottommost_bytes: 0,
        };
        let decision = self.pressure.decide(&load, options, (self.now * 1e6) as u64);
        (self.stall, self.speed_up) = (decision.stall, decision.speed_up_compaction);
    }

    fn running_compactions(&self) -> Vec<pick::Running> {
        let of = |job: &Running| match &job.work {
            Work::Compaction { task, .. } => Some(task.running(&self.version)),
            Work::Flush { .. } => None,
        };
        self.running.iter().filter_map(of).collect()
    }

    fn schedule(&mut self) {
        let flushes = self.running.iter().filter(|job| matches!(job.work, Work::Flush { .. })).count();
        let waiting = self.immutable - self.flushing;
        if flushes < self.set.flush_jobs
            && waiting >= self.set.pick.buffers.min_write_buffer_number_to_merge.max(1)
        {
            self.start_flush(waiting);
        }
        loop {
            let running = self.running_compactions();
            let allowed = if self.speed_up { self.set.compaction_jobs } else { 1 };
            if running.len() >= allowed {
                break;
            }
            let Some(task) = pick::pick(&view(&self.version, &running), &self.set.pick, self.clock()) else {
                break;
            };
            self.start_compaction(task);
        }
    }

    fn start_flush(&mut self, memtables: usize) {
        self.flushing += memtables;
        let keys = self.set.keys as f64;
        let entries = distinct(self.set.memtable_entries * memtables as f64, keys);
        let bytes = (entries * self.set.table_entry_bytes(self.set.first_compression())) as u64;
        let span = Span { low: 0, high: self.set.keys.max(1), entries };
        let work = Work::Flush { memtables, file: Some(Output { span, bytes }) };
        self.running.push(Running { left: bytes as f64, threads: 1.0, work });
    }

    fn start_compaction(&mut self, task: Task) {
        task.reserve();
        let mut outputs = Vec::new();
        if !task.trivial_move && !task.deletion {
            let spans: Vec<Span> =
                task.files().filter_map(|(_, file)| self.entries.get(&file.number.get()).copied()).collect();
            // The cutter ends files at the edges of grandparents. A part that crosses an edge would reach into the next grandparent,
            // and the file could not move down without a rewrite.
            let grandparents =
                task.grandparents.iter().filter_map(|file| self.entries.get(&file.number.get()));
            let mut edges: Vec<u64> = grandparents.flat_map(|span| [span.low, span.high]).collect();
            edges.sort_unstable();
            outputs = self.cut(&task, &split(&merge(&spans), &edges));
        }
        let bytes: u64 = outputs.iter().map(|output| output.bytes).sum();
        // Only compactions of level 0 into a deeper level have subcompactions.
        let splits = task.start_level() == Level::ZERO && task.output.level > Level::ZERO;
        let parts =
            if splits { (self.set.pick.max_subcompactions as usize).min(outputs.len()).max(1) } else { 1 };
        let work = Work::Compaction { task: Box::new(task), outputs };
        self.running.push(Running { left: bytes as f64, threads: parts as f64, work });
    }

    /// Cuts the merged spans into files, as the cutter of the engine does.
    fn cut(&self, task: &Task, spans: &[Span]) -> Vec<Output> {
        let mut cutter = Cutter::new(self.set.order.clone(), task, &self.set.pick, self.clock());
        let entry_bytes = self.set.table_entry_bytes(task.output.compression);
        let step = (task.output.target_file_size.min(task.output.max_file_size) as f64 / 32.0 / entry_bytes)
            .max(1.0);
        let mut out: Vec<Output> = Vec::new();
        let mut open: Option<Span> = None;
        let bytes = |span: &Span| (span.entries * entry_bytes) as u64;
        for span in spans.iter().filter(|span| span.entries > 0.0) {
            let parts = (span.entries / step).ceil().clamp(1.0, 4096.0) as u64;
            let parts = parts.min(span.high - span.low);
            for part in 0..parts {
                let width = u128::from(span.high - span.low);
                let at = |n: u64| span.low + (width * u128::from(n) / u128::from(parts)) as u64;
                let (low, high) = (at(part), at(part + 1));
                let entries = span.entries / parts as f64;
                let size = open.as_ref().map_or(0, bytes);
                if cutter.should_end_before(&key(low, 1), size)
                    && let Some(done) = open.take()
                {
                    out.push(Output { bytes: bytes(&done), span: done });
                }
                match &mut open {
                    Some(file) => (file.high, file.entries) = (high, file.entries + entries),
                    None => open = Some(Span { low, high, entries }),
                }
            }
        }
        out.extend(open.map(|done| Output { bytes: bytes(&done), span: done }));
        out
    }

    fn finish_jobs(&mut self) {
        while let Some(at) = self.running.iter().position(|job| job.left <= 0.0) {
            match self.running.swap_remove(at).work {
                Work::Flush { memtables, mut file } => {
                    (self.immutable, self.flushing) = (self.immutable - memtables, self.flushing - memtables);
                    self.out.flushes += 1;
                    let mut edit = Edit::default();
                    if let Some(output) = file.take() {
                        self.out.flushed_bytes += output.bytes;
                        let epoch = self.next_epoch;
                        self.next_epoch += 1;
                        let added = self.add(&output, epoch, self.clock());
                        edit.added.push((Level::ZERO, added));
                    }
                    self.apply(&edit);
                }
                Work::Compaction { task, outputs } => self.finish_compaction(&task, &outputs),
            }
        }
    }

    fn finish_compaction(&mut self, task: &Task, outputs: &[Output]) {
        task.release();
        self.out.compactions += 1;
        let mut edit = Edit::default();
        if task.trivial_move {
            for (level, file) in task.files().filter(|(level, _)| *level != task.output.level) {
                edit.deleted.push((level, file.number));
                edit.added.push((task.output.level, Arc::clone(file)));
            }
        } else {
            for (level, file) in task.files() {
                edit.deleted.push((level, file.number));
                self.entries.remove(&file.number.get());
            }
            // `ttl` counts from the oldest data of a file.
            let oldest = task.oldest_ancester_time().unwrap_or_else(|| self.clock());
            for output in outputs {
                self.out.compacted_bytes += output.bytes;
                let added = self.add(output, task.output_epoch().get(), oldest);
                edit.added.push((task.output.level, added));
            }
        }
        if let Some(cursor) = &task.next_cursor {
            edit.cursors.push((task.start_level(), cursor.clone()));
        }
        self.apply(&edit);
    }

    /// Makes the file of an output. `oldest` is the time of its oldest data, in seconds since 1970.
    fn add(&mut self, output: &Output, epoch: u64, oldest: u64) -> Arc<TableFile> {
        let number = self.next_number;
        self.next_number += 1;
        let last = output.span.high.saturating_sub(1).max(output.span.low);
        let mut file = FileMetaData::new(
            FileNumber::new(number),
            output.bytes.max(1),
            &key(output.span.low, epoch),
            &key(last, epoch),
        );
        (file.smallest_seq, file.largest_seq) = (SequenceNumber::new(epoch), SequenceNumber::new(epoch));
        file.epoch_number = EpochNumber::new(epoch);
        (file.times.creation, file.times.oldest_ancester) = (self.clock(), oldest);
        self.entries.insert(number, output.span);
        Arc::new(file.into())
    }

    fn apply(&mut self, edit: &Edit) {
        match self.version.apply(std::slice::from_ref(edit)) {
            Ok(version) => self.version = version,
            Err(error) => {
                self.out.notes.push(format!("a change of the tree was refused: {}", error.message()))
            }
        }
    }

    /// Returns the bytes of all files.
    fn bytes(&self) -> u64 {
        self.version.levels().map(|level| self.version.level(level).bytes()).sum()
    }

    fn write_amplification(&self) -> f64 {
        (self.out.flushed_bytes + self.out.compacted_bytes) as f64 / self.out.flushed_bytes.max(1) as f64
    }

    fn space_amplification(&self) -> f64 {
        let unflushed = self.active + self.immutable as f64 * self.set.memtable_entries;
        let flushed = (self.written_entries - unflushed).max(0.0);
        let live =
            distinct(flushed, self.set.keys as f64) * self.set.table_entry_bytes(self.set.last_compression());
        if live < 1.0 { 1.0 } else { self.bytes() as f64 / live }
    }

    fn sample(&mut self) {
        let stalled = self.out.delayed_seconds + self.out.stopped_seconds;
        let passed = (self.now - self.last_sample.0).max(1e-9);
        self.out.samples.push(Sample {
            seconds: self.now,
            written_bytes: (self.written_entries * self.set.workload.entry_bytes as f64) as u64,
            write_amplification: self.write_amplification(),
            space_amplification: self.space_amplification(),
            sorted_runs: self.sorted_runs(),
            stalled: ((stalled - self.last_sample.1) / passed).clamp(0.0, 1.0),
        });
        self.last_sample = (self.now, stalled);
    }

    fn finish(mut self, total: f64, flushes_max: u64) -> Forecast {
        self.sample();
        self.out.seconds = self.now;
        self.out.written_bytes = (self.written_entries * self.set.workload.entry_bytes as f64) as u64;
        self.out.write_amplification = self.write_amplification();
        self.out.space_amplification = self.space_amplification();
        self.out.space_amplification_mean = match self.space_time {
            (_, seconds) if seconds <= 0.0 => self.out.space_amplification,
            (sum, seconds) => sum / seconds,
        };
        self.out.read_amplification = self.runs_time / self.now.max(1e-9);
        self.out.disk_bytes_per_second =
            (self.out.flushed_bytes + self.out.compacted_bytes) as f64 / self.now.max(1e-9);
        for level in self.version.levels() {
            let files = self.version.level(level);
            if !files.is_empty() {
                self.out.levels.push((level.index(), files.len(), files.bytes()));
            }
        }
        if self.out.flushes >= flushes_max && self.written_entries < total - 0.5 {
            let percent = 100.0 * self.written_entries / total;
            self.out.notes.push(format!(
                "the simulation ended after {flushes_max} flushes, at {percent:.1} % of the writes: later compactions of lower \
                 levels are missing, so the write amplification is too low"
            ));
        }
        self.out
    }
}

fn view<'a>(version: &'a Version, running: &'a [pick::Running]) -> View<'a> {
    // A snapshot of sequence number 0 prevents rewrites of the last level that only remove sequence numbers.
    View {
        version,
        running,
        oldest_snapshot: SequenceNumber::ZERO,
        full_history_ts_low: None,
        young_after: None,
    }
}

/// Returns the internal key of a place in the key space.
fn key(place: u64, seq: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    append_with_trailer(
        &mut out,
        &place.to_be_bytes(),
        pack(SequenceNumber::new(seq), ValueType::Value as u8),
    );
    out
}
