//! Event listeners: functions of the program that hear of jobs and errors.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::FileNumber;
use engine::event::{
    CompactionFinished, CompactionStarted, Event, FlushFinished, FlushReason, FlushStarted, Listener, Named,
    StallCondition, Subcompaction, TableCreated,
};
use env::sync::Mutex;

use crate::abi::{Owned, State};
use crate::callbacks::{
    on_background_error_cb, on_compaction_begin_cb, on_compaction_completed_cb, on_external_file_ingested_cb,
    on_flush_begin_cb, on_flush_completed_cb, on_memtable_sealed_cb, on_stall_conditions_changed_cb,
    on_subcompaction_begin_cb, on_subcompaction_completed_cb, rocksdb_destructor_cb,
};
use crate::db::rocksdb_t;
use crate::jobs::{
    JobFile, rocksdb_compaction_file_info_t, rocksdb_compactionjobinfo_t, rocksdb_flushjobinfo_t,
    rocksdb_memtableinfo_t, rocksdb_status_ptr_t, rocksdb_subcompactionjobinfo_t,
    rocksdb_writestallcondition_t, rocksdb_writestallinfo_t,
};
use crate::table_properties::rocksdb_table_properties_t;

/// A listener.
pub struct rocksdb_eventlistener_t {
    pub(crate) listener: Arc<dyn Listener>,
}

struct Callbacks {
    flush_begin: Option<on_flush_begin_cb>,
    flush_completed: Option<on_flush_completed_cb>,
    compaction_begin: Option<on_compaction_begin_cb>,
    compaction_completed: Option<on_compaction_completed_cb>,
    subcompaction_begin: Option<on_subcompaction_begin_cb>,
    subcompaction_completed: Option<on_subcompaction_completed_cb>,
    background_error: Option<on_background_error_cb>,
    stall_changed: Option<on_stall_conditions_changed_cb>,
    memtable_sealed: Option<on_memtable_sealed_cb>,
}

struct CListener {
    state: State,
    callbacks: Callbacks,
    seen: Mutex<Seen>,
}

/// What earlier events said: the tables that exist, and the inputs of running compactions.
#[derive(Default)]
struct Seen {
    tables: BTreeMap<FileNumber, Table>,
    compactions: BTreeMap<u64, CompactionStarted>,
    directory: PathBuf,
}

#[derive(Clone)]
struct Table {
    path: PathBuf,
    properties: Option<rocksdb_table_properties_t>,
}

fn family(named: &Named) -> (u32, Vec<u8>) {
    (named.id.0, named.name.clone().into_bytes())
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// The number of a stall as `rocksdb_writestallcondition_t` holds it.
fn stall_number(stall: StallCondition) -> i32 {
    match stall {
        StallCondition::Delayed => 0,
        StallCondition::Stopped => 1,
        StallCondition::Normal => 2,
    }
}

/// RocksDB's number of a reason to flush. RocksDB has the number 7 for tests.
fn flush_reason(reason: FlushReason) -> u32 {
    let number = reason as u32;
    if number < 7 { number } else { number + 1 }
}

/// RocksDB's number of a reason to compact.
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

impl Seen {
    fn created(&mut self, table: &TableCreated) {
        if let Some(directory) = table.path.parent() {
            self.directory = directory.to_path_buf();
        }
        let properties = table.properties.clone().map(rocksdb_table_properties_t::new);
        self.tables.insert(table.number, Table { path: table.path.clone(), properties });
    }

    fn table(&self, number: FileNumber) -> Table {
        self.tables.get(&number).cloned().unwrap_or_else(|| Table {
            path: self.directory.join(format!("{:06}.sst", number.0)),
            properties: None,
        })
    }

    fn job_file(&self, level: usize, number: FileNumber) -> JobFile {
        let path = bytes_of(&self.table(number).path);
        JobFile { path, info: rocksdb_compaction_file_info_t { level: int(level), number: number.0 } }
    }

    fn flush_started(&self, started: &FlushStarted) -> rocksdb_flushjobinfo_t {
        let reason = flush_reason(started.reason);
        let (family, job) = (family(&started.family), int(started.job.0));
        rocksdb_flushjobinfo_t { family, job, reason, stall: 2, ..Default::default() }
    }

    fn flush_finished(&self, finished: &FlushFinished) -> rocksdb_flushjobinfo_t {
        let table = finished.file.map(|number| self.table(number));
        rocksdb_flushjobinfo_t {
            family: family(&finished.family),
            path: table.as_ref().map(|table| bytes_of(&table.path)).unwrap_or_default(),
            file_number: finished.file.map_or(0, |number| number.0),
            job: int(finished.job.0),
            stall: stall_number(finished.stall),
            seqs: (finished.smallest_seqno, finished.largest_seqno),
            reason: flush_reason(finished.reason),
            properties: table.and_then(|table| table.properties),
        }
    }

    fn compaction_started(&self, started: &CompactionStarted) -> rocksdb_compactionjobinfo_t {
        let mut info = rocksdb_compactionjobinfo_t {
            family: family(&started.family),
            job: int(started.job.0),
            reason: compaction_reason(started.reason),
            levels: (started.inputs.first().map_or(0, |(level, _)| int(*level)), int(started.output_level)),
            ..Default::default()
        };
        for (level, numbers) in &started.inputs {
            let files = numbers.iter().map(|number| self.job_file(*level, FileNumber(*number)));
            info.inputs.extend(files);
        }
        info.level_0_files = int(info.inputs.iter().filter(|file| file.info.level == 0).count());
        for file in &info.inputs {
            self.add_properties(&mut info.properties, file);
        }
        let at_output = info.inputs.iter().filter(|file| file.info.level == info.levels.1).count() as u64;
        for (name, number) in [
            ("num_input_files", info.inputs.len() as u64),
            ("num_input_files_at_output_level", at_output),
            ("total_input_bytes", started.input_data_size),
            ("is_manual_compaction", u64::from(started.reason == "ManualCompaction")),
        ] {
            info.stats.numbers.insert(name, number);
        }
        info
    }

    fn add_properties(&self, into: &mut Vec<(Vec<u8>, rocksdb_table_properties_t)>, file: &JobFile) {
        if let Some(properties) = self.table(FileNumber(file.info.number)).properties {
            into.push((file.path.clone(), properties));
        }
    }

    fn compaction_finished(&self, finished: &CompactionFinished) -> rocksdb_compactionjobinfo_t {
        let started = self.compactions.get(&finished.job.0).map(|started| self.compaction_started(started));
        let mut info = started.unwrap_or_default();
        info.family = family(&finished.family);
        info.job = int(finished.job.0);
        info.reason = compaction_reason(finished.reason);
        info.levels.1 = int(finished.output_level);
        info.error = finished.error.clone();
        let outputs = finished.outputs.iter().map(|number| self.job_file(finished.output_level, *number));
        info.outputs = outputs.collect();
        for file in &info.outputs {
            self.add_properties(&mut info.properties, file);
        }
        for (name, number) in [
            ("elapsed_micros", finished.compaction_time_micros),
            ("cpu_micros", finished.compaction_time_cpu_micros),
            ("num_input_records", finished.num_input_records),
            ("num_output_records", finished.num_output_records),
            ("num_output_files", info.outputs.len() as u64),
            ("total_output_bytes", finished.total_output_size),
            ("num_single_del_fallthru", finished.num_single_delete_fallthrough),
            ("num_single_del_mismatch", finished.num_single_delete_mismatches),
            ("has_accurate_num_input_records", 1),
        ] {
            info.stats.numbers.insert(name, number);
        }
        info
    }
}

fn subcompaction(part: &Subcompaction) -> rocksdb_subcompactionjobinfo_t {
    rocksdb_subcompactionjobinfo_t {
        family: family(&part.family),
        error: part.error.clone(),
        job: int(part.job.0),
        index: int(part.index),
        levels: (int(part.base_input_level), int(part.output_level)),
        reason: compaction_reason(part.reason),
        ..Default::default()
    }
}

impl CListener {
    /// Calls a function of two handles: a database whose calls fail, and a description that ends with the call.
    fn call_with_db<I>(
        &self,
        callback: Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const I)>,
        info: &I,
    ) {
        if let Some(callback) = callback {
            let mut db = rocksdb_t::not_open();
            // SAFETY: the program handed in this function for this state; both handles live during the call.
            unsafe { callback(self.state.pointer(), &raw mut db, info) };
        }
    }

    fn call<I>(&self, callback: Option<unsafe extern "C" fn(*mut c_void, *const I)>, info: &I) {
        if let Some(callback) = callback {
            // SAFETY: the program handed in this function for this state; the handle lives during the call.
            unsafe { callback(self.state.pointer(), info) };
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

    fn background_error(&self, reason: u32, error: &base::Error) {
        if let Some(callback) = self.callbacks.background_error {
            let mut status = rocksdb_status_ptr_t { error: Some(error.clone()) };
            // SAFETY: the program handed in this function for this state; the handle lives during the call.
            unsafe { callback(self.state.pointer(), reason, &raw mut status) };
        }
    }
}

impl Listener for CListener {
    fn on_event(&self, event: &Event) {
        match event {
            Event::TableCreated(table) => self.seen.lock().created(table),
            Event::FileDeleted { number, .. } => drop(self.seen.lock().tables.remove(number)),
            Event::FlushStarted(started) => {
                let info = self.seen.lock().flush_started(started);
                self.call_with_db(self.callbacks.flush_begin, &info);
            }
            Event::FlushFinished(finished) => {
                let info = self.seen.lock().flush_finished(finished);
                self.call_with_db(self.callbacks.flush_completed, &info);
            }
            Event::CompactionStarted(started) => {
                let info = self.seen.lock().compaction_started(started);
                self.seen.lock().compactions.insert(started.job.0, started.clone());
                self.call_with_db(self.callbacks.compaction_begin, &info);
            }
            Event::CompactionFinished(finished) => {
                let info = self.seen.lock().compaction_finished(finished);
                self.seen.lock().compactions.remove(&finished.job.0);
                self.call_with_db(self.callbacks.compaction_completed, &info);
            }
            Event::SubcompactionStarted(part) => {
                self.call(self.callbacks.subcompaction_begin, &subcompaction(part));
            }
            Event::SubcompactionFinished(part) => {
                self.call(self.callbacks.subcompaction_completed, &subcompaction(part));
            }
            Event::BackgroundError { reason, error } => self.background_error(*reason as u32, error),
            Event::StallChanged { family, from, to } => self.stall_changed(family, *from, *to),
            Event::MemtableSealed { family, first_sequence, num_entries, num_deletes, .. } => {
                let info = rocksdb_memtableinfo_t {
                    family: family.name.clone().into_bytes(),
                    first_seq: *first_sequence,
                    entries: *num_entries,
                    deletions: *num_deletes,
                };
                self.call(self.callbacks.memtable_sealed, &info);
            }
            _ => {}
        }
    }
}

c_api! {
    /// Creates a listener. A null function is not called. The functions run on the thread of the job and must not wait for
    /// background work. `rocksdb_options_add_eventlistener` takes the handle over.
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
        let _ = on_external_file_ingested;
        let callbacks = Callbacks {
            flush_begin: on_flush_begin,
            flush_completed: on_flush_completed,
            compaction_begin: on_compaction_begin,
            compaction_completed: on_compaction_completed,
            subcompaction_begin: on_subcompaction_begin,
            subcompaction_completed: on_subcompaction_completed,
            background_error: on_background_error,
            stall_changed: on_stall_conditions_changed,
            memtable_sealed: on_memtable_sealed,
        };
        let listener = CListener { state: State::new(state, destructor), callbacks, seen: Mutex::default() };
        Owned(rocksdb_eventlistener_t { listener: Arc::new(listener) })
    }

    /// Destroys a listener that no options took over. Accepts null.
    fn rocksdb_eventlistener_destroy(listener: own rocksdb_eventlistener_t) {
        drop(listener)
    }
}
