//! Writes immutable memtables to level-0 files.
//!
//! ```text
//!  pick ─► [closed WALs synced] ─► memtable iterators ─► merging ─► compaction_iter ─► output ─► commit
//! ```
//! If there is more than one column family, the closed WALs are synced first. Otherwise a crash could keep one half
//! of a batch, which is in an SST file, and lose the other half, which is only in an unsynced WAL. An atomic flush
//! writes the column families in turn, and commits them in one group.

mod direct;
mod tools;

use std::path::Path;

use base::ids::JobId;
use base::stats::{HistogramKind, IoMeasure, IoTimes, Ticker};
use base::{Error, FileNumber, Level, Result, SequenceNumber};
use env::executor::Pool;
use env::thread_status::{Operation, Stage, set_stage};

use self::direct::Direct;
pub use self::tools::FlushTools;
use crate::commit::{Atomicity, Change, Committed};
use crate::event::{Event, FlushFinished, FlushReason, FlushStarted, StallCondition};
use crate::family::{Family, FlushPick, FlushProgress};
use crate::output::{
    JobTools, OutputFile, Purpose, compression_text, files_by_level, flush_compression, level_summary,
    live_blob_files, named, remember_deleted_runs, remove_tracked, track_file, write_memtables,
};
use crate::source::covered_bytes;
use crate::stats::LevelNumbers;
use crate::sync::{Arc, Ordering};

/// The part of a flush for one column family.
struct Part {
    family: Arc<Family>,
    pick: FlushPick,
    files: Vec<OutputFile>,
    /// See [`Change::keeps_keys`].
    keeps_keys: bool,
    /// The blob files that its memtables refer to.
    direct: Direct,
    numbers: LevelNumbers,
    /// Writers keep the pace of the flush until its commit.
    progress: Option<FlushProgress>,
    /// `None` without `report_bg_io_stats`.
    io_times: Option<IoTimes>,
}

/// The result of a flush.
pub struct Flushed {
    pub committed: Option<Committed>,
}

/// Flushes the immutable memtables of these column families. With `atomic`, flushes the immutable memtables of all
/// column families in one commit. Other jobs may flush older memtables of a column family concurrently. The SST
/// files are written concurrently and committed in the order of the memtables. If the flush of an older memtable
/// fails, this flush ends with an error, and the next flush takes its memtables together with the older ones.
///
/// # Errors
/// The first error. The memtables then wait for the next flush. The SST files are deleted, unless the commit
/// failed.
pub fn run(
    t: &FlushTools<'_>,
    job: JobId,
    families: &[Arc<Family>],
    reason: FlushReason,
    atomic: bool,
) -> Result<Flushed> {
    if atomic {
        run_parts(t, job, pick_together(t), reason, Atomicity::AllOrNone)
    } else {
        run_parts(t, job, pick_each(families), reason, Atomicity::Each)
    }
}

/// Flushes memtables that are already picked, in one commit.
///
/// # Errors
/// The errors of [`run`].
pub fn run_picked(
    t: &FlushTools<'_>,
    job: JobId,
    picks: Vec<(Arc<Family>, FlushPick)>,
    reason: FlushReason,
) -> Result<Flushed> {
    let parts = picks.into_iter().filter(|(_, pick)| !pick.memtables.is_empty());
    run_parts(
        t,
        job,
        parts.map(|(family, pick)| Part::new(&family, pick)).collect(),
        reason,
        Atomicity::AllOrNone,
    )
}

fn run_parts(
    t: &FlushTools<'_>,
    job: JobId,
    mut parts: Vec<Part>,
    reason: FlushReason,
    atomicity: Atomicity,
) -> Result<Flushed> {
    if parts.is_empty() {
        return Ok(Flushed { committed: None });
    }
    base::invariant!(
        parts
            .iter()
            .enumerate()
            .all(|(at, part)| parts[..at].iter().all(|other| other.family.id() != part.family.id())),
        "a flush has a column family twice"
    );
    base::invariant!(
        parts.iter().all(|part| !part.pick.memtables.is_empty()),
        "a flush has a column family without memtables"
    );
    let buffers = t.tools.charge_buffers(0);
    let done = write_and_commit(t, job, &mut parts, reason, atomicity);
    drop(buffers);
    match done {
        Ok(flushed) => Ok(flushed),
        Err(error) => {
            for part in &parts {
                part.family.state().unpick_flush(&part.pick);
                t.tools
                    .events
                    .warn(format_args!("[{}] [JOB {job}] Level-0 flush failed: {error}", part.family.name()));
            }
            Err(error)
        }
    }
}

fn pick_each(families: &[Arc<Family>]) -> Vec<Part> {
    let mut parts = Vec::new();
    for family in families {
        let pick = family.state().pick_flush(None);
        if family.is_dropped() || pick.memtables.is_empty() {
            continue;
        }
        parts.push(Part::new(family, pick));
    }
    parts
}

/// Picks groups of memtables that were switched together, in all column families. Picks nothing while another flush
/// runs.
fn pick_together(t: &FlushTools<'_>) -> Vec<Part> {
    let _picking = t.families.picking();
    let families = t.families.all();
    if families.iter().any(|family| family.state().is_flushing()) {
        return Vec::new();
    }
    let last_group = Some(t.families.last_group());
    let picked = families.iter().filter(|family| !family.is_dropped());
    let picked = picked.map(|family| Part::new(family, family.state().pick_flush(last_group)));
    picked.filter(|part| !part.pick.memtables.is_empty()).collect()
}

impl Part {
    fn new(family: &Arc<Family>, pick: FlushPick) -> Self {
        Part {
            family: family.clone(),
            pick,
            files: Vec::new(),
            keeps_keys: false,
            direct: Direct::default(),
            numbers: LevelNumbers::default(),
            progress: None,
            io_times: None,
        }
    }

    /// Returns true if the flush wrote SST files to this directory, and so synced the directory.
    fn is_beside(&self, dir: &Path) -> bool {
        let parts = self.family.parts();
        self.files.iter().any(|file| parts.table_dir(file.meta.path_id) == dir)
    }
}

fn write_and_commit(
    t: &FlushTools<'_>,
    job: JobId,
    parts: &mut [Part],
    reason: FlushReason,
    atomicity: Atomicity,
) -> Result<Flushed> {
    // With `allow_2pc`, a later open also replays older WALs, for prepared transactions. So the closed WALs must be
    // durable before the SST files are committed: no crash may lose a record of these WALs if its entries are in SST
    // files.
    if t.families.len() > 1 || t.tools.options.load().allow_2pc {
        let synced = t.wals.sync_closed()?;
        if t.tools.options.load().track_and_verify_wals_in_manifest {
            t.committer.track_wals(&synced)?;
        }
    }
    let names = t.wals.names_made();
    let mut _tracked = None;
    for at in 0..parts.len() {
        let part = &mut parts[at];
        // The thread status of one column family ends before that of the next column family begins.
        drop(_tracked.take());
        let memory = part.pick.memtables.iter().map(|m| m.mem.memory_used() as u64).sum();
        _tracked = t.tools.track(Operation::Flush, &part.family, [job.get(), memory, 0, 0, 0, 0]);
        if let Err(error) = write_part(t, job, part, reason) {
            return Err(remove(t.tools, parts, error));
        }
    }
    base::invariant!(
        parts.iter().all(|part| part.pick.memtables.iter().all(|memtable| memtable.flushing)),
        "flush {job} of {} column families commits a memtable that it did not take",
        parts.len()
    );
    if !parts.iter().all(|part| (t.turn)(&part.family, &part.pick)) {
        let quiet = Error::incomplete("the flush of an older memtable failed");
        return Err(remove(t.tools, parts, quiet));
    }
    if t.tools.shutting_down.load(Ordering::Acquire) && reason != FlushReason::ShutDown {
        return Err(remove(t.tools, parts, Error::shutdown_in_progress("Database shutdown")));
    }
    if let Err(error) = make_wals_durable(t, parts, names) {
        return Err(remove(t.tools, parts, error));
    }
    for part in parts.iter() {
        t.tables.open_before_commit(
            &part.family.parts(),
            part.files.iter().map(|file| (Level::ZERO, &*file.meta)),
        );
    }
    let changes = parts
        .iter()
        .map(|part| {
            let mut edit = crate::output::edit_of(part.files.iter());
            part.direct.add_to(&mut edit);
            let pick = FlushPick { memtables: part.pick.memtables.clone() };
            let full_history_ts_low = part.pick.history_mark(&part.family.parts());
            let keeps_keys = part.keeps_keys;
            let change = Change::new(part.family.clone(), edit);
            Change { flushed: Some(pick), full_history_ts_low, keeps_keys, ..change }
        })
        .collect();
    set_stage(Stage::MemtableInstallFlushResults);
    // If the commit fails, keep the SST files: the record may have reached the disk.
    let committed = t.committer.commit(changes, atomicity)?;
    for part in parts.iter() {
        part.direct.committed(t, &part.family, &part.pick);
        remember_deleted_runs(&part.family, part.files.iter());
        count(t.tools, part, reason);
        finished(t.tools, job, part, reason);
    }
    Ok(Flushed { committed: Some(committed) })
}

/// Writes the memtables of one column family to SST files, and measures the work.
fn write_part(t: &FlushTools<'_>, job: JobId, part: &mut Part, reason: FlushReason) -> Result<()> {
    set_stage(Stage::FlushRun);
    started(t, job, part, reason);
    set_stage(Stage::FlushWriteL0);
    let measure = part.family.parts().measured.times_jobs.then(IoMeasure::start);
    let clock = &t.tools.env.clock;
    let (start_nanos, start_cpu_nanos) = (clock.now_nanos(), clock.cpu_nanos());
    let (version, options) = (part.family.pin().version.clone(), part.family.parts());
    let covered =
        |from: &[u8], to: &[u8]| covered_bytes(t.tables, &options, &version, Level::ZERO, (from, to));
    let (mut direct, blobs) = Direct::sealed(t, &part.family, &part.pick)?;
    let outputs = write_memtables(t.tools, job, &part.family, &part.pick, Purpose::Flush, &covered, blobs)?;
    direct.count_references(&outputs.blob_flow);
    part.direct = direct;
    part.files = outputs.files;
    part.keeps_keys = outputs.keeps_keys;
    part.progress = outputs.progress;
    base::invariant!(
        part.files.iter().all(|file| part
            .pick
            .memtables
            .iter()
            .any(|m| file.meta.largest_seq <= m.mem.largest_seq())),
        "a flush of {:?} writes an entry that is newer than its memtables",
        part.family
    );
    let raw = |f: &OutputFile| f.properties.raw_key_size + f.properties.raw_value_size;
    let kept: u64 = part.files.iter().map(raw).sum();
    // A merge can make the output larger than the input. RocksDB then counts nothing (`BuildTable`), as for a flush without
    // an output.
    if !part.files.is_empty() && kept <= outputs.input_bytes {
        t.tools.stats.add(Ticker::MemtablePayloadBytesAtFlush, outputs.input_bytes);
        t.tools.stats.add(Ticker::MemtableGarbageBytesAtFlush, outputs.input_bytes - kept);
    }
    part.numbers = LevelNumbers {
        micros: clock.nanos_since(start_nanos) / 1000,
        cpu_micros: clock.cpu_nanos_since(start_cpu_nanos) / 1000,
        bytes_written: part.files.iter().map(|f| f.meta.size).sum(),
        bytes_written_pre_compression: part.files.iter().map(|f| f.pre_compression_size).sum(),
        bytes_written_blob: part.files.iter().map(OutputFile::blob_bytes).sum(),
        num_input_records: part.pick.memtables.iter().map(|m| m.mem.counts().with_tombstones()).sum(),
        num_output_records: outputs.num_records,
        count: 1,
        ..LevelNumbers::default()
    };
    part.io_times = measure.map(IoMeasure::end);
    for file in &part.files {
        track_file(t.tools, file);
    }
    Ok(())
}

/// Makes durable what the commit of the SST files relies on: the names of the WALs, and the decisions about
/// transactions.
fn make_wals_durable(t: &FlushTools<'_>, parts: &[Part], names: u64) -> Result<()> {
    // Sync the WAL directory before the MANIFEST edit is written. The edit names the oldest WAL that is
    // still needed, and the name of this WAL must survive a crash. If a later open cannot read the next
    // edit but finds this WAL, the next edit was never synced.
    if parts.iter().any(|part| part.is_beside(t.wals.dir())) {
        t.wals.note_names_durable(names);
    }
    // The flush may have dropped entries because a decided transaction hides them. The decision must be durable
    // before the flush is committed.
    let decided = match t.needs_decisions && t.tools.sequence.undecided().is_enabled() {
        true => t.wals.settle(),
        false => Ok(()),
    };
    decided.and_then(|()| t.wals.sync_dir())
}

fn remove(tools: &JobTools, parts: &[Part], error: Error) -> Error {
    parts.iter().flat_map(|p| &p.files).for_each(|file| remove_tracked(tools, file));
    error
}

fn count(tools: &JobTools, part: &Part, reason: FlushReason) {
    {
        let mut numbers = part.family.stats.lock();
        numbers.add(Level::ZERO, Pool::High as usize, &part.numbers);
        numbers.add_flush(reason.word(), &part.numbers);
    }
    if let Some(statistics) = tools.stats.statistics() {
        statistics.add(Ticker::FlushWriteBytes, part.numbers.bytes_written_all());
        statistics.measure_time(HistogramKind::FlushTime, part.numbers.micros);
    }
}

/// Counts a flush that begins.
fn count_start(tools: &JobTools, event: &FlushStarted) {
    let Some(statistics) = tools.stats.statistics() else { return };
    statistics.measure(HistogramKind::FlushMemtableMemoryBytes, event.memory_usage);
    statistics.measure(HistogramKind::FlushMemtableTotalDataSize, event.total_data_size);
    match event.reason {
        FlushReason::WriteBufferFull => {
            statistics.tick(Ticker::FlushReasonWriteBufferFull);
            statistics.measure(HistogramKind::FlushWriteBufferFullMemtableMemoryBytes, event.memory_usage);
        }
        FlushReason::WriteBufferManager => {
            statistics.tick(Ticker::FlushReasonWriteBufferManager);
            statistics.measure(HistogramKind::FlushWriteBufferManagerMemtableMemoryBytes, event.memory_usage);
        }
        FlushReason::MemtableMaxRangeDeletions => {
            statistics.tick(Ticker::FlushReasonMemtableMaxRangeDeletions)
        }
        _ => {}
    }
}

fn started(t: &FlushTools<'_>, job: JobId, part: &Part, reason: FlushReason) {
    base::invariant!(!part.pick.memtables.is_empty(), "a flush of {:?} has no memtable", part.family);
    let counts: Vec<_> = part.pick.memtables.iter().map(|m| m.mem.counts()).collect();
    for immutable in &part.pick.memtables {
        t.tools.events.info(format_args!(
            "[{}] [JOB {job}] Flushing memtable id {} with next log file: {}",
            part.family.name(),
            immutable.id,
            immutable.next_wal
        ));
    }
    let event = FlushStarted {
        job,
        family: named(&part.family),
        num_memtables: counts.len(),
        total_num_input_entries: counts.iter().map(|c| c.with_tombstones()).sum(),
        num_deletes: counts.iter().map(|c| c.deletes).sum(),
        total_data_size: counts.iter().map(|c| c.data_size).sum(),
        memory_usage: part.pick.memtables.iter().map(|m| m.mem.memory_used() as u64).sum(),
        num_range_deletes: counts.iter().map(|c| c.range_deletes).sum(),
        reason,
        stall: stall_of(part.family.state().version.level(Level::ZERO).len(), &part.family.parts().pick),
        path: part.family.parts().table_path(FileNumber::ZERO, 0),
    };
    count_start(t.tools, &event);
    t.tools.events.emit(&Event::FlushStarted(event));
}

fn finished(tools: &JobTools, job: JobId, part: &Part, reason: FlushReason) {
    let state = part.family.state();
    let version = state.version.clone();
    let immutable_memtables = state.immutable_memtables.len();
    drop(state);
    let file = part.files.first();
    base::invariant!(
        part.files
            .iter()
            .all(|file| file.level == Level::ZERO && file.meta.smallest_seq <= file.meta.largest_seq),
        "a flush of {:?} writes an SST file below level 0, or without entries",
        part.family
    );
    for file in &part.files {
        tools.events.info(format_args!(
            "[{}] [JOB {job}] Level-0 flush table #{}: {} bytes OK",
            part.family.name(),
            file.meta.number,
            file.meta.size
        ));
    }
    tools.events.info(format_args!(
        "[{}] [JOB {job}] Flush lasted {} microseconds, and {} cpu microseconds.",
        part.family.name(),
        part.numbers.micros,
        part.numbers.cpu_micros
    ));
    if tools.events.writes_info() {
        let summary = level_summary(tools, &part.family);
        tools.events.info(format_args!("[{}] Level summary: {summary}", part.family.name()));
    }
    tools.events.emit(&Event::FlushFinished(FlushFinished {
        job,
        family: named(&part.family),
        reason,
        file: file.map(|f| f.meta.number),
        output_compression: compression_text(flush_compression(&part.family.parts())),
        lsm_state: files_by_level(&version),
        live_blob_files: live_blob_files(&version),
        immutable_memtables,
        smallest_seqno: file.map_or(SequenceNumber::ZERO, |f| f.meta.smallest_seq),
        largest_seqno: file.map_or(SequenceNumber::ZERO, |f| f.meta.largest_seq),
        stall: stall_of(version.level(Level::ZERO).len(), &part.family.parts().pick),
        path: file.map(|f| f.path.clone()),
        properties: file.map(|f| f.properties.clone()),
        io_times: part.io_times,
    }));
    tools.events.logger().flush();
}

/// Returns whether the level-0 files before or after a flush slow or stop writes. RocksDB's `NotifyOnFlushCompleted` compares the
/// same numbers, also with `disable_auto_compactions`.
fn stall_of(num_l0_files: usize, options: &lsm::pick::Options) -> StallCondition {
    let reaches = |trigger: i32| i64::try_from(num_l0_files).is_ok_and(|files| files >= i64::from(trigger));
    if reaches(options.triggers.level0_stop_writes_trigger) {
        StallCondition::Stopped
    } else if reaches(options.triggers.level0_slowdown_writes_trigger) {
        StallCondition::Delayed
    } else {
        StallCondition::Normal
    }
}
