//! The tools of every job that writes SST files, and the settings of its files.

use base::ids::JobId;
use base::key::MAX_SEQUENCE;
use base::{EpochNumber, Error, Level, Result, SequenceNumber, Subcode};
use compress::Compression;
use env::Env;
use env::rate::IoPriority;
use env::thread_status::{Operation, Properties, RunningOperation};
use format::proof::OptionsExtent;
use lsm::pick::YoungAfter;
use lsm::version::Edit;
use mem::budget::{Holder, MemoryBudget, Share};
use table::sst::writer::BlockCompression;
use table::sst::writer::DataTimes;
use table::sst::writer::Identity;

use super::{
    BlobPolicy, FlushPriority, OutputFile, OutputIo, OutputPlace, OutputSettings, Purpose, WriteBack,
};
use crate::direct::DirectBlobs;
use crate::event::{Events, Named};
use crate::family::{Family, FamilySet, Parts};
use crate::files::{Numbers, Paths};
use crate::options::DbOptions;
use crate::remote::CompactionService;
use crate::sequence::{LastSequence, Snapshots, WriteTimes};
use crate::stats::Stats;
use crate::sync::{Arc, ArcSwap, AtomicU64, AtomicUsize, Flag, Mutex, Ordering};

/// Bytes of an SST file that are gathered before a write call, even if an option allows more. More calls
/// cost little, and a buffer of this size stays in the CPU cache until it is copied. (A buffer of 1 MiB for
/// each job does not.)
const BUFFER_BYTES_MAX: usize = 256 << 10;

/// The common tools of flush, compaction and recovery.
pub struct JobTools {
    pub env: Env,
    pub paths: Arc<Paths>,
    pub numbers: Arc<Numbers>,
    pub options: ArcSwap<DbOptions>,
    pub db_id: String,
    pub db_session_id: String,
    pub db_host_id: String,
    pub sequence: Arc<LastSequence>,
    pub snapshots: Arc<Snapshots>,
    pub times: Arc<WriteTimes>,
    pub events: Arc<Events>,
    /// Set when the database closes. Jobs then end early.
    pub shutting_down: Arc<Flag>,
    pub next_job: AtomicU64,
    pub stats: Arc<Stats>,
    pub flush_priority: Arc<FlushPriority>,
    /// The newest OPTIONS file as it was written.
    pub options_file: Mutex<Option<OptionsExtent>>,
    /// Column families that were created or dropped and are not yet in the newest OPTIONS file.
    pub families_unwritten: AtomicUsize,
    /// Runs subcompactions in other processes. `None`: the database runs all subcompactions.
    pub compaction_service: Option<Arc<dyn CompactionService>>,
    /// The memory budget of iterators and jobs. `None` without a budget.
    pub memory_budget: Option<Arc<MemoryBudget>>,
    /// The blob files that writes append to.
    pub direct: Arc<DirectBlobs>,
}

impl JobTools {
    /// Frees the spare block buffers of this thread, after a job, an open or a close. Otherwise an idle thread keeps
    /// them. They can lie at the upper end of its malloc arena: a third of a MiB there kept 15 MiB of free memory
    /// from the system. Does nothing if jobs run on the thread of the caller, because that thread soon writes the
    /// next SST file.
    ///
    /// With a memory budget, also returns the free memory of the allocator to the system, from time to time. Blocks, memtables and
    /// iterators are allocated and freed by different threads, so each arena of glibc keeps free memory between live blocks: 26 to 34
    /// MiB for a budget of 64 MiB.
    pub fn forget_spares(&self) {
        forget_spares(&self.env);
        let due = |budget: &Arc<MemoryBudget>| budget.must_return_free_memory(self.env.clock.now_micros());
        if self.env.executor.has_threads() && self.memory_budget.as_ref().is_some_and(due) {
            env::posix::return_free_memory();
        }
    }

    /// Returns the tools of the next view of a secondary instance. `last_seq` is the visible sequence number of the
    /// view.
    pub fn at_sequence(&self, last_seq: base::SequenceNumber) -> JobTools {
        let sequence = Arc::new(LastSequence::new(last_seq));
        JobTools {
            env: self.env.clone(),
            paths: self.paths.clone(),
            numbers: self.numbers.clone(),
            options: ArcSwap::new(self.options.load_full()),
            db_id: self.db_id.clone(),
            db_session_id: self.db_session_id.clone(),
            db_host_id: self.db_host_id.clone(),
            snapshots: Arc::new(Snapshots::new(sequence.clone())),
            sequence,
            times: Arc::default(),
            events: self.events.clone(),
            shutting_down: self.shutting_down.clone(),
            next_job: AtomicU64::new(self.next_job.load(Ordering::Relaxed)),
            stats: self.stats.clone(),
            flush_priority: self.flush_priority.clone(),
            options_file: Mutex::default(),
            families_unwritten: AtomicUsize::new(0),
            compaction_service: None,
            memory_budget: self.memory_budget.clone(),
            direct: self.direct.clone(),
        }
    }

    /// Applies the times for which the column families keep write times, and records a sample. Called after a change of column families
    /// or of their options.
    pub fn keep_times(&self, families: &FamilySet) {
        self.times.keep(families.all().iter().map(|family| family.parts().pick.ages.preserve_seconds));
        self.record_time();
    }

    /// Records the time of the visible sequence number, if a column family keeps write times.
    pub fn record_time(&self) {
        // The exact clock is read after the sequence number: the sequence number is surely as old as the time.
        let seq = self.sequence.visible();
        self.times.record(seq, self.env.clock.now_micros() / 1_000_000);
    }

    /// Returns the sequence numbers after which entries stay out of the last level: [`lsm::pick::View::young_after`].
    pub fn young_after(&self, pick: &lsm::pick::Options) -> Option<YoungAfter> {
        if pick.ages.preclude_last_level_data_seconds == 0 {
            return None;
        }
        let now = self.env.clock.now_seconds();
        let cutoffs = self.times.cutoffs(
            now,
            pick.ages.preserve_seconds,
            pick.ages.preclude_last_level_data_seconds,
        )?;
        let snapshot = self.snapshots.oldest_needed().unwrap_or(MAX_SEQUENCE);
        Some(YoungAfter { age: cutoffs.preclude_from?, snapshot })
    }

    /// Returns the sequence number below which entries may go to the last level. RocksDB: `FlushJob::GetPrecludeLastLevelMinSeqno`.
    fn old_before(&self, pick: &lsm::pick::Options) -> Option<SequenceNumber> {
        self.young_after(pick).map(|young| young.age.min(young.snapshot)).filter(|&seq| seq < MAX_SEQUENCE)
    }

    /// Charges the buffers of a job to the memory budget, until the returned value is dropped: a read-ahead buffer for each of
    /// `inputs` files, and a write buffer.
    pub fn charge_buffers(&self, inputs: usize) -> Option<Share> {
        let options = self.options.load();
        let read = inputs.saturating_mul(options.compaction_readahead_size);
        let bytes = read.saturating_add(options.writable_file_max_buffer_size);
        self.memory_budget.as_ref().map(|budget| budget.take(Holder::JobBuffers, bytes))
    }

    /// Shows an operation of this thread in the list of threads, until the returned value is dropped. `None` without
    /// `enable_thread_tracking`.
    pub fn track(
        &self,
        operation: Operation,
        family: &Family,
        properties: Properties,
    ) -> Option<RunningOperation> {
        self.options.load().enable_thread_tracking.then(|| {
            let names = (&*self.paths.db.to_string_lossy(), family.name());
            self.env.executor.thread_board().begin(operation, names, self.env.clock.now_nanos(), properties)
        })
    }

    /// Checks the limit of the SST file manager, with `more` bytes that the manager does not track yet.
    ///
    /// # Errors
    /// SpaceLimit if the limit is reached.
    pub fn check_space(&self, more: u64) -> Result<()> {
        match &self.options.load().sst_file_manager {
            Some(manager) if manager.is_space_reached(more) => {
                Err(Error::io_error("Max allowed space was reached").with_subcode(Subcode::SpaceLimit))
            }
            _ => Ok(()),
        }
    }

    /// Returns the id of a new job. Ids ascend, and no id is assigned twice during an open.
    pub fn take_job_id(&self) -> JobId {
        JobId::new(self.next_job.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the settings for SST files of `family` on `level`. The job itself sets the other fields.
    ///
    /// # Errors
    /// NotSupported if this build does not have the compression.
    pub fn output(
        &self,
        family: &Family,
        parts: Arc<Parts>,
        level: Level,
        is_flush: bool,
        compression: u8,
    ) -> Result<OutputSettings> {
        let db = self.options.load();
        let own = family.options();
        let compression = Compression::from_byte(compression)?;
        if !compression.is_supported() {
            return Err(base::Error::not_supported(format!("compression {compression} in this build")));
        }
        let direct = db.use_direct_io_for_flush_and_compaction;
        let temperature = parts.pick.temperatures.default_write_temperature;
        Ok(OutputSettings {
            env: self.env.clone(),
            numbers: self.numbers.clone(),
            place: OutputPlace {
                family: family.id(),
                family_name: family.name().to_string(),
                path_id: 0,
                level,
                to_level: level,
            },
            identity: Identity {
                db_id: self.db_id.clone(),
                db_session_id: self.db_session_id.clone(),
                db_host_id: self.db_host_id.clone(),
            },
            block_compression: BlockCompression {
                kind: compression,
                options: own.compression_opts,
                sample_one_in: own.sample_for_compression,
            },
            data_times: DataTimes { oldest_ancestor: 0, oldest_key: 0, newest_key: 0 },
            io: OutputIo {
                rate_limiter: db.rate_limiter.clone(),
                priority: if is_flush { IoPriority::High } else { IoPriority::Low },
                buffer_bytes: match direct {
                    true => db.writable_file_max_buffer_size,
                    false => db.writable_file_max_buffer_size.min(BUFFER_BYTES_MAX),
                },
                write_back: write_back(db.bytes_per_sync, db.strict_bytes_per_sync),
                use_fsync: db.use_fsync,
                direct,
                preallocate_bytes: 0,
                flush_priority: self.flush_priority.clone(),
            },
            is_flush,
            old_before: if is_flush { self.old_before(&parts.pick) } else { None },
            purpose: if is_flush { Purpose::Flush } else { Purpose::Compaction },
            epoch: EpochNumber::UNKNOWN,
            blobs: blob_policy(&parts, level, is_flush)?,
            target_file_size: if is_flush {
                parts.pick.buffers.write_buffer_size
            } else {
                parts.pick.target_file_size(level, Level::new(1))
            },
            parts,
            times: None,
            temperature,
            file_checksum: db.file_checksum_gen_factory.is_some(),
            stats: self.stats.clone(),
            events: None,
        })
    }
}

/// A job waits for the disk after this many bytes of a file, if `bytes_per_sync` is 0.
const WRITE_BACK_BYTES: u64 = 4 << 20;

/// Returns when a job starts write-back.
///
/// With the option value 0, the engine chooses. Each file is synced at its end, so early write-back writes no
/// additional bytes. Without write-back, a job fills the page cache faster than the disk writes. At a limit of dirty
/// pages, Linux stops every thread that writes, for up to 200 ms: also the writer that appends a few bytes to the
/// WAL. A job that waits for the disk stays below this limit.
fn write_back(bytes_per_sync: u64, is_strict: bool) -> WriteBack {
    match bytes_per_sync {
        0 => WriteBack { bytes: WRITE_BACK_BYTES, is_strict: true },
        bytes => WriteBack { bytes, is_strict },
    }
}

/// Returns which values of files on `level` go to blob files. Returns `None` if no value does.
///
/// # Errors
/// NotSupported if this build does not have the compression.
fn blob_policy(parts: &Parts, level: Level, is_flush: bool) -> Result<Option<BlobPolicy>> {
    let o = &parts.blobs;
    let starts = usize::try_from(o.starting_level).unwrap_or(0);
    if !o.enable_blob_files || level.index() < starts {
        return Ok(None);
    }
    let compression = Compression::from_byte(o.compression)?;
    if !compression.is_supported() {
        return Err(base::Error::not_supported(format!("blob compression {compression} in this build")));
    }
    Ok(Some(BlobPolicy {
        size_min: o.min_blob_size,
        file_size: o.blob_file_size,
        compression,
        compression_options: o.compression_options,
        warm: o.warm_on_flush && is_flush,
    }))
}

/// Returns the version edit that adds new files to their levels, with their blob files.
pub fn edit_of<'a>(files: impl Iterator<Item = &'a OutputFile>) -> Edit {
    let mut edit = Edit::default();
    for file in files {
        edit.added.push((file.level, file.meta.clone()));
        base::invariant!(
            file.meta.number > base::FileNumber::default() && file.meta.smallest_seq <= file.meta.largest_seq,
            "the edit adds table {}, which has no number or no sequence numbers",
            file.meta.number
        );
        edit.blobs_added.extend(file.blobs.iter().map(|blob| blob.file.clone()));
    }
    edit
}

/// Returns RocksDB's name of a compression for events: the compression that the options ask for. A file can have other blocks.
pub fn compression_text(compression: u8) -> String {
    Compression::from_u8(compression).unwrap_or(Compression::None).name().to_string()
}

/// Returns the id and the name of a column family, for events.
pub fn named(family: &Family) -> Named {
    Named { id: family.id(), name: family.name().to_string() }
}

/// Reports a new SST file and its blob files to the SST file manager. Call it before the commit of the file: after the
/// commit, another job can delete the file, and the manager would count the file forever.
pub fn track_file(tools: &JobTools, file: &OutputFile) {
    if let Some(manager) = &tools.options.load().sst_file_manager {
        manager.on_add(&file.path, file.meta.size);
        file.blobs.iter().for_each(|blob| manager.on_add(&blob.path, blob.file.file_size()));
    }
}

/// Deletes an SST file and its blob files, which [`track_file`] reported and no version has.
pub fn remove_tracked(tools: &JobTools, file: &OutputFile) {
    file.remove(&tools.env);
    if let Some(manager) = &tools.options.load().sst_file_manager {
        manager.on_delete(&file.path);
        file.blobs.iter().for_each(|blob| manager.on_delete(&blob.path));
    }
}

/// Remembers the long runs of point tombstones in committed files, so that a job looks for empty key ranges there.
pub fn remember_deleted_runs<'a>(family: &Family, files: impl Iterator<Item = &'a OutputFile>) {
    for place in files.flat_map(|file| &file.deleted_places) {
        family.deleted_places().add(place);
    }
}

/// Frees the spare block buffers of this thread: see [`JobTools::forget_spares`].
pub fn forget_spares(env: &Env) {
    if env.executor.has_threads() {
        table::sst::forget_spares();
    }
}
