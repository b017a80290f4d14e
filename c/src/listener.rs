//! Event listeners: functions of the program that the engine calls at the begin and the end of jobs, and at errors.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use engine::db::{Db, WeakDb};
use engine::event::{
    self, BlobCreated, CompactionFinished, CompactionStarted, ErrorDecision, ErrorReason, Event,
    ExternalFileIngested, FlushFinished, FlushReason, FlushStarted, JobStats, Listener, Named,
    StallCondition, Subcompaction,
};
use env::sync::{Mutex, OnceLock};

use crate::abi::exception::guarded;
use crate::abi::{Owned, State};
use crate::callbacks::{
    on_background_error_cb, on_memtable_sealed_cb, on_stall_conditions_changed_cb, on_subcompaction_begin_cb,
    on_subcompaction_completed_cb, rocksdb_destructor_cb,
};
use crate::db::rocksdb_t;
use crate::jobs::{
    JobFile, rocksdb_blob_file_addition_info_t, rocksdb_blob_file_garbage_info_t,
    rocksdb_compaction_file_info_t, rocksdb_compactionjobinfo_t, rocksdb_externalfileingestioninfo_t,
    rocksdb_flushjobinfo_t, rocksdb_memtableinfo_t, rocksdb_status_ptr_t, rocksdb_subcompactionjobinfo_t,
    rocksdb_writestallcondition_t, rocksdb_writestallinfo_t,
};
use crate::table_properties::rocksdb_table_properties_t;

/// Runs when a flush starts. `info` is valid during the call only.
pub type on_flush_begin_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, db: *mut rocksdb_t, info: *const rocksdb_flushjobinfo_t);

/// Runs after a flush is committed. `info` is valid during the call only.
pub type on_flush_completed_cb =
    unsafe extern "C-unwind" fn(state: *mut c_void, db: *mut rocksdb_t, info: *const rocksdb_flushjobinfo_t);

/// Runs when a compaction starts. `info` is valid during the call only.
pub type on_compaction_begin_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_compactionjobinfo_t,
);

/// Runs after a compaction ends, also if the compaction failed. `info` is valid during the call only.
pub type on_compaction_completed_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_compactionjobinfo_t,
);

/// Runs after an ingested file is visible to readers. `info` is valid during the call only.
pub type on_external_file_ingested_cb = unsafe extern "C-unwind" fn(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_externalfileingestioninfo_t,
);

/// A listener.
pub struct rocksdb_eventlistener_t {
    pub(crate) listener: Arc<CListener>,
}

struct Callbacks {
    flush_begin: Option<on_flush_begin_cb>,
    flush_completed: Option<on_flush_completed_cb>,
    compaction_begin: Option<on_compaction_begin_cb>,
    compaction_completed: Option<on_compaction_completed_cb>,
    subcompaction_begin: Option<on_subcompaction_begin_cb>,
    subcompaction_completed: Option<on_subcompaction_completed_cb>,
    external_file_ingested: Option<on_external_file_ingested_cb>,
    background_error: Option<on_background_error_cb>,
    stall_changed: Option<on_stall_conditions_changed_cb>,
    memtable_sealed: Option<on_memtable_sealed_cb>,
}

/// The functions and the state of a listener. Options of several databases can have the same listener.
pub(crate) struct CListener {
    state: State,
    callbacks: Callbacks,
}

/// A listener of one database.
struct Bound {
    listener: Arc<CListener>,
    /// The database. Empty until the open succeeded.
    db: OnceLock<WeakDb>,
    created: Mutex<Created>,
}

/// Returns the listeners for one open. Call [`give_db`] after the open.
pub(crate) fn bound(listeners: &[Arc<CListener>]) -> Vec<Arc<dyn Listener>> {
    let bind = |listener: &Arc<CListener>| -> Arc<dyn Listener> {
        Arc::new(Bound { listener: listener.clone(), db: OnceLock::new(), created: Mutex::default() })
    };
    listeners.iter().map(bind).collect()
}

/// Stores the database in its listeners. They do not keep the database open.
pub(crate) fn give_db(db: &Db) {
    for listener in engine::db::listeners(db) {
        if let Some(bound) = listener.as_any().and_then(|listener| listener.downcast_ref::<Bound>()) {
            let _ = bound.db.set(WeakDb::new(db));
        }
    }
}

/// The blob files that running jobs created, by job.
#[derive(Default)]
struct Created(BTreeMap<u64, Vec<rocksdb_blob_file_addition_info_t>>);

fn family(named: &Named) -> (u32, Vec<u8>) {
    (named.id.get(), named.name.clone().into_bytes())
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Returns the number of a stall condition for `rocksdb_writestallcondition_t`.
fn stall_number(stall: StallCondition) -> i32 {
    match stall {
        StallCondition::Delayed => 0,
        StallCondition::Stopped => 1,
        StallCondition::Normal => 2,
    }
}

/// Returns RocksDB's number of a flush reason. RocksDB uses the number 7 only in tests.
fn flush_reason(reason: FlushReason) -> u32 {
    let number = reason as u32;
    if number < 7 { number } else { number + 1 }
}

/// Returns RocksDB's number of a compaction reason.
fn compaction_reason(word: &str) -> u32 {
    const WORDS: [&str; 21] = [
        "Unknown",
        "LevelL0FilesNum",
        "LevelMaxLevelSize",
        "UniversalSizeAmplification",
        "UniversalSizeRatio",
        "UniversalSortedRunNum",
        "FIFOMaxSize",
        "FIFOReduceNumFiles",
        "FIFOTtl",
        "ManualCompaction",
        "FilesMarkedForCompaction",
        "BottommostFiles",
        "Ttl",
        "Flush",
        "ExternalSstIngestion",
        "PeriodicCompaction",
        "ChangeTemperature",
        "ForcedBlobGC",
        "RoundRobinTtl",
        "RefitLevel",
        "ReadTriggered",
    ];
    WORDS.iter().position(|known| *known == word).map_or(0, |at| at as u32)
}

impl Created {
    fn add(&mut self, blob: &BlobCreated) {
        self.0.entry(blob.job.get()).or_default().push(rocksdb_blob_file_addition_info_t {
            path: bytes_of(&blob.path),
            number: blob.number.get(),
            count: blob.total_blob_count,
            bytes: blob.total_blob_bytes,
        });
    }

    fn take(&mut self, job: u64) -> Vec<rocksdb_blob_file_addition_info_t> {
        self.0.remove(&job).unwrap_or_default()
    }
}

fn flush_started(started: &FlushStarted) -> rocksdb_flushjobinfo_t {
    let reason = flush_reason(started.reason);
    let (family, job) = (family(&started.family), int(started.job.get()));
    rocksdb_flushjobinfo_t {
        family,
        job,
        reason,
        stall: stall_number(started.stall),
        path: bytes_of(&started.path),
        // As in RocksDB: the flush has no file yet.
        seqs: (base::key::MAX_SEQUENCE.get(), 0),
        properties: Some(rocksdb_table_properties_t::new(Arc::default())),
        ..Default::default()
    }
}

fn flush_finished(
    finished: &FlushFinished,
    blobs: Vec<rocksdb_blob_file_addition_info_t>,
) -> rocksdb_flushjobinfo_t {
    rocksdb_flushjobinfo_t {
        family: family(&finished.family),
        path: finished.path.as_deref().map(bytes_of).unwrap_or_default(),
        file_number: finished.file.map_or(0, |number| number.get()),
        job: int(finished.job.get()),
        stall: stall_number(finished.stall),
        seqs: (finished.smallest_seqno.get(), finished.largest_seqno.get()),
        reason: flush_reason(finished.reason),
        oldest_blob_file: blobs.iter().map(|blob| blob.number).min().unwrap_or(0),
        blob_compression: 0,
        properties: finished.properties.clone().map(rocksdb_table_properties_t::new),
        blobs,
    }
}

fn job_file(file: &event::JobFile) -> JobFile {
    let info = rocksdb_compaction_file_info_t {
        level: int(file.level.get()),
        number: file.number.get(),
        oldest_blob_file: file.oldest_blob_file.map_or(0, |number| number.get()),
    };
    JobFile { path: bytes_of(&file.path), info }
}

fn properties_of(
    properties: &BTreeMap<std::path::PathBuf, Arc<format::properties::Properties>>,
) -> Vec<(Vec<u8>, rocksdb_table_properties_t)> {
    let properties = properties.iter();
    let named = |(path, properties): (&std::path::PathBuf, &Arc<_>)| {
        (bytes_of(path), rocksdb_table_properties_t::new(Arc::clone(properties)))
    };
    properties.map(named).collect()
}

fn garbage(made: &event::BlobGarbageMade) -> rocksdb_blob_file_garbage_info_t {
    rocksdb_blob_file_garbage_info_t {
        path: bytes_of(&made.path),
        number: made.number.get(),
        count: made.count,
        bytes: made.bytes,
    }
}

fn compaction_started(started: &CompactionStarted) -> rocksdb_compactionjobinfo_t {
    let base_level = started.inputs.first().map_or(0, |(level, _)| int(level.get()));
    let inputs: Vec<_> = started.input_files.iter().map(job_file).collect();
    let mut info = rocksdb_compactionjobinfo_t {
        family: family(&started.family),
        job: int(started.job.get()),
        reason: compaction_reason(started.reason),
        compressions: (compression_number(&started.output_compression), 0),
        levels: (base_level, int(started.output_level.get())),
        level_0_files: int(started.num_l0_files),
        inputs,
        properties: properties_of(&started.table_properties),
        ..Default::default()
    };
    info.stats.numbers.extend(numbers(&started.stats));
    info.stats
        .numbers
        .extend([("has_accurate_num_input_records", 1), ("is_full_compaction", u64::from(started.is_full))]);
    info
}

/// Returns the number of a compression type.
fn compression_number(name: &str) -> u32 {
    u32::from(
        engine::options::CompressionType::by_log_name(name).map_or(0, |compression| compression.number()),
    )
}

/// Returns the counts of a compaction or of a subcompaction by their names.
fn numbers(stats: &JobStats) -> [(&'static str, u64); 27] {
    let io = stats.times.io.unwrap_or_default();
    [
        ("elapsed_micros", stats.times.elapsed_micros),
        ("cpu_micros", stats.times.cpu_micros),
        ("num_input_files", stats.num_input_files as u64),
        ("num_input_files_at_output_level", stats.num_input_files_at_output_level as u64),
        ("num_output_files", stats.num_output_files as u64),
        ("num_input_records", stats.num_input_records),
        ("num_output_records", stats.num_output_records),
        ("total_input_bytes", stats.total_input_bytes),
        ("total_output_bytes", stats.total_output_bytes),
        ("num_records_replaced", stats.num_records_replaced),
        ("total_input_raw_key_bytes", stats.total_input_raw_key_bytes),
        ("total_input_raw_value_bytes", stats.total_input_raw_value_bytes),
        ("num_input_deletion_records", stats.num_input_deletion_records),
        ("num_expired_deletion_records", stats.num_expired_deletion_records),
        ("num_corrupt_keys", stats.num_corrupt_keys),
        ("num_single_del_fallthru", stats.num_single_del_fallthru),
        ("num_single_del_mismatch", stats.num_single_del_mismatch),
        ("is_manual_compaction", u64::from(stats.is_manual)),
        ("num_input_files_trivially_moved", stats.num_input_files_trivially_moved as u64),
        ("num_output_files_blob", stats.blobs.num_output_files as u64),
        ("num_blobs_read", stats.blobs.num_read),
        ("total_blob_bytes_read", stats.blobs.bytes_read),
        ("total_output_bytes_blob", stats.blobs.output_bytes),
        ("file_write_nanos", io.write_nanos),
        ("file_range_sync_nanos", io.range_sync_nanos),
        ("file_fsync_nanos", io.fsync_nanos),
        ("file_prepare_write_nanos", io.prepare_write_nanos),
    ]
}

/// Makes the description of a compaction that ended.
pub(crate) fn compaction_finished(
    finished: &CompactionFinished,
    blobs: Vec<rocksdb_blob_file_addition_info_t>,
) -> rocksdb_compactionjobinfo_t {
    let inputs: Vec<_> = finished.input_files.iter().map(job_file).collect();
    let mut info = rocksdb_compactionjobinfo_t {
        family: family(&finished.family),
        error: finished.error.clone(),
        aborted: finished.aborted,
        job: int(finished.job.get()),
        level_0_files: int(finished.lsm_state.first().copied().unwrap_or(0)),
        levels: (int(finished.base_input_level.get()), int(finished.output_level.get())),
        reason: compaction_reason(finished.reason),
        compressions: (compression_number(&finished.output_compression), 0),
        inputs,
        outputs: finished.output_files.iter().map(job_file).collect(),
        properties: properties_of(&finished.table_properties),
        blobs,
        garbage: finished.details.blob_garbage.iter().map(garbage).collect(),
        ..Default::default()
    };
    info.stats.key_prefixes = (
        finished.details.smallest_output_key_prefix.clone(),
        finished.details.largest_output_key_prefix.clone(),
    );
    info.stats.numbers.extend(numbers(&finished.stats));
    info.stats.numbers.extend([
        ("has_accurate_num_input_records", 1),
        ("is_full_compaction", u64::from(finished.details.is_full)),
    ]);
    info
}

fn ingested(file: &ExternalFileIngested) -> rocksdb_externalfileingestioninfo_t {
    rocksdb_externalfileingestioninfo_t {
        family: file.family.name.clone().into_bytes(),
        external_path: bytes_of(&file.external_file_path),
        internal_path: bytes_of(&file.internal_file_path),
        global_seqno: file.global_seqno.get(),
        properties: Some(rocksdb_table_properties_t::new(file.properties.clone())),
    }
}

fn subcompaction(part: &Subcompaction, blob_compression: u32) -> rocksdb_subcompactionjobinfo_t {
    let mut info = rocksdb_subcompactionjobinfo_t {
        family: family(&part.family),
        error: part.error.clone(),
        job: int(part.job.get()),
        index: int(part.index),
        levels: (int(part.base_input_level.get()), int(part.output_level.get())),
        reason: compaction_reason(part.reason),
        compressions: (compression_number(&part.output_compression), blob_compression),
        ..Default::default()
    };
    info.stats.numbers.extend(numbers(&part.stats));
    info.stats.numbers.extend([("has_accurate_num_input_records", 1)]);
    info
}

impl CListener {
    fn call<I>(&self, callback: Option<unsafe extern "C-unwind" fn(*mut c_void, *const I)>, info: &I) {
        if let Some(callback) = callback {
            // SAFETY: the program handed in this function for this state; the handle lives during the call.
            guarded("of a listener", || unsafe { callback(self.state.pointer(), info) });
        }
    }

    fn stall_changed(&self, named: &Named, from: StallCondition, to: StallCondition) {
        let info = rocksdb_writestallinfo_t {
            family: named.name.clone().into_bytes(),
            current: rocksdb_writestallcondition_t { condition: stall_number(to) },
            previous: rocksdb_writestallcondition_t { condition: stall_number(from) },
        };
        self.call(self.callbacks.stall_changed, &info);
    }

    /// Reports a background error. Returns true if the function cleared the error.
    fn background_error(&self, reason: ErrorReason, error: &base::Error) -> bool {
        let mut status = rocksdb_status_ptr_t { error: Some(error.clone()) };
        if let Some(callback) = self.callbacks.background_error {
            // SAFETY: the program handed in this function for this state; the handle lives during the call.
            guarded("on_background_error", || unsafe {
                callback(self.state.pointer(), reason as u32, &raw mut status)
            });
        }
        status.error.is_none()
    }
}

impl Bound {
    /// Returns the compression of blob files of a column family. Returns 0, no compression, until the open returns.
    fn blob_compression(&self, family: &Named) -> u32 {
        let family = self.db.get().and_then(WeakDb::upgrade).and_then(|db| db.family(&family.name));
        family.map_or(0, |family| u32::from(family.options().blob_compression_type.number()))
    }

    /// Calls a function of the program with two handles: the database, and a description. Both end when the function returns.
    /// Until the open returns, calls with the database handle report errors.
    fn call_with_db<I>(
        &self,
        callback: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut rocksdb_t, *const I)>,
        info: &I,
    ) {
        if let Some(callback) = callback {
            let open = self.db.get().and_then(WeakDb::upgrade).map(rocksdb_t::new);
            let mut db = open.and_then(base::Result::ok).unwrap_or_else(rocksdb_t::not_open);
            // SAFETY: the program handed in this function for this state; both handles live during the call.
            guarded("of a listener", || unsafe {
                callback(self.listener.state.pointer(), &raw mut db, info)
            });
        }
    }
}

impl Listener for Bound {
    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn on_background_error(&self, reason: ErrorReason, error: &base::Error) -> ErrorDecision {
        if self.listener.background_error(reason, error) {
            ErrorDecision::Suppress
        } else {
            ErrorDecision::Keep
        }
    }

    fn on_event(&self, event: &Event) {
        let Bound { listener, created, .. } = self;
        let callbacks = &listener.callbacks;
        match event {
            Event::BlobCreated(blob) => created.lock().add(blob),
            Event::FlushStarted(started) => {
                let mut info = flush_started(started);
                info.blob_compression = self.blob_compression(&started.family);
                self.call_with_db(callbacks.flush_begin, &info);
            }
            Event::FlushFinished(finished) => {
                let blobs = created.lock().take(finished.job.get());
                let mut info = flush_finished(finished, blobs);
                info.blob_compression = self.blob_compression(&finished.family);
                self.call_with_db(callbacks.flush_completed, &info);
            }
            // RocksDB makes no such call for `rocksdb_compact_files`.
            Event::CompactionStarted(started) if started.by_compact_files => {}
            Event::CompactionFinished(finished) if finished.details.by_compact_files => {
                created.lock().take(finished.job.get());
            }
            Event::CompactionStarted(started) => {
                let mut info = compaction_started(started);
                info.compressions.1 = self.blob_compression(&started.family);
                self.call_with_db(callbacks.compaction_begin, &info);
            }
            Event::CompactionFinished(finished) => {
                let blobs = created.lock().take(finished.job.get());
                let mut info = compaction_finished(finished, blobs);
                info.compressions.1 = self.blob_compression(&finished.family);
                self.call_with_db(callbacks.compaction_completed, &info);
            }
            Event::ExternalFileIngested(file) => {
                self.call_with_db(callbacks.external_file_ingested, &ingested(file));
            }
            Event::SubcompactionStarted(part) => {
                listener.call(
                    callbacks.subcompaction_begin,
                    &subcompaction(part, self.blob_compression(&part.family)),
                );
            }
            Event::SubcompactionFinished(part) => {
                listener.call(
                    callbacks.subcompaction_completed,
                    &subcompaction(part, self.blob_compression(&part.family)),
                );
            }
            // Some errors stop nothing and have an event only.
            Event::BackgroundError { reason, error, is_decided: false } => {
                listener.background_error(*reason, error);
            }
            Event::StallChanged { family, from, to } => listener.stall_changed(family, *from, *to),
            Event::MemtableSealed { family, first_sequence, earliest_sequence, num_entries, num_deletes } => {
                let info = rocksdb_memtableinfo_t {
                    family: family.name.clone().into_bytes(),
                    first_seq: first_sequence.get(),
                    earliest_seq: earliest_sequence.get(),
                    entries: *num_entries,
                    deletions: *num_deletes,
                };
                listener.call(callbacks.memtable_sealed, &info);
            }
            _ => {}
        }
    }
}

c_api! {
    /// Creates a listener. Null functions are not called. The functions run on the thread of the job and must not wait for
    /// background work. The database that a function gets can be used during the call and must not be closed by it. Until the
    /// open returns, calls with this database report errors. `rocksdb_options_add_eventlistener` takes ownership of the handle.
    fn rocksdb_eventlistener_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb, on_flush_begin: call on_flush_begin_cb,
        on_flush_completed: call on_flush_completed_cb, on_compaction_begin: call on_compaction_begin_cb,
        on_compaction_completed: call on_compaction_completed_cb,
        on_subcompaction_begin: call on_subcompaction_begin_cb,
        on_subcompaction_completed: call on_subcompaction_completed_cb,
        on_external_file_ingested: call on_external_file_ingested_cb,
        on_background_error: call on_background_error_cb,
        on_stall_conditions_changed: call on_stall_conditions_changed_cb,
        on_memtable_sealed: call on_memtable_sealed_cb
    ) -> Owned<rocksdb_eventlistener_t> {
        let callbacks = Callbacks {
            flush_begin: on_flush_begin,
            flush_completed: on_flush_completed,
            compaction_begin: on_compaction_begin,
            compaction_completed: on_compaction_completed,
            subcompaction_begin: on_subcompaction_begin,
            subcompaction_completed: on_subcompaction_completed,
            external_file_ingested: on_external_file_ingested,
            background_error: on_background_error,
            stall_changed: on_stall_conditions_changed,
            memtable_sealed: on_memtable_sealed,
        };
        let listener = CListener { state: State::new(state, destructor), callbacks };
        Owned(rocksdb_eventlistener_t { listener: Arc::new(listener) })
    }

    /// Destroys a listener. Options that took ownership of a listener destroy it themselves. Accepts null.
    fn rocksdb_eventlistener_destroy(listener: own rocksdb_eventlistener_t) {
        drop(listener)
    }
}
