//! Listeners: the events that they receive, and the decisions that they make.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::fault::FaultFs;
use env::sync::Mutex;
use ironstone::event::{ErrorDecision, ErrorReason, FileOperation, RecoveryDecision};
use ironstone::{
    CompactRangeOptions, Db, Error, Event, IngestExternalFileOptions, Listener, Options, Severity,
    SstFileWriter, Subcode, WaitForCompactOptions,
};

#[derive(Default)]
struct Notes {
    events: Mutex<Vec<Event>>,
    suppress: bool,
    veto: bool,
    watch: bool,
    asked: Mutex<Vec<(ErrorReason, Severity)>>,
    appended: AtomicU64,
    failed: AtomicU64,
}

impl Listener for Notes {
    fn on_event(&self, event: &Event) {
        self.events.lock().push(event.clone());
    }

    fn on_background_error(&self, reason: ErrorReason, error: &Error) -> ErrorDecision {
        self.asked.lock().push((reason, error.severity()));
        if self.suppress { ErrorDecision::Suppress } else { ErrorDecision::Keep }
    }

    fn on_recovery_begin(&self, _reason: ErrorReason, _error: &Error) -> RecoveryDecision {
        if self.veto { RecoveryDecision::Veto } else { RecoveryDecision::Start }
    }

    fn watches_file_io(&self) -> bool {
        self.watch
    }

    fn on_file_io(&self, operation: &FileOperation<'_>) {
        if operation.path.extension().is_some_and(|extension| extension == "log") {
            self.appended.fetch_add(operation.bytes as u64, Ordering::Relaxed);
        }
        self.failed.fetch_add(u64::from(operation.error.is_some()), Ordering::Relaxed);
    }
}

fn heard(notes: Notes) -> (Options, Arc<Notes>) {
    let notes = Arc::new(notes);
    let mut options = Options::in_memory();
    options.listeners.push(notes.clone());
    (options, notes)
}

#[test]
fn a_flush_and_a_compaction_name_their_files_with_properties_and_counts() {
    let (options, notes) = heard(Notes::default());
    let db = Db::open("data", options).unwrap();
    for round in 0..2u8 {
        db.put(b"a", &[round]).unwrap();
        db.put(&[b'b', round], b"v").unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    let events = notes.events.lock();
    let flushed: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::FlushFinished(flush) => Some(flush),
            _ => None,
        })
        .collect();
    assert_eq!(flushed.len(), 2);
    assert_eq!(flushed[0].properties.as_ref().unwrap().num_entries, 2);
    let compacted = events
        .iter()
        .find_map(|event| match event {
            Event::CompactionFinished(compaction) => Some(compaction),
            _ => None,
        })
        .unwrap();
    let inputs: Vec<_> = compacted.input_files.iter().map(|file| Some(file.path.clone())).collect();
    let mut flushed_paths: Vec<_> = flushed.iter().map(|flush| flush.path.clone()).collect();
    flushed_paths.reverse();
    assert_eq!(inputs, flushed_paths);
    let output = &compacted.output_files[0];
    assert_eq!((output.level.get(), &output.path), (6, &db.live_files()[0].path));
    assert_eq!(compacted.table_properties[&output.path].num_entries, 3);
    assert_eq!(compacted.table_properties.len(), 3);
    let stats = &compacted.stats;
    assert_eq!((stats.num_input_files, stats.num_output_files, stats.num_records_replaced), (2, 1, 1));
    assert_eq!((stats.num_input_records, stats.num_output_records), (4, 3));
    assert!(!compacted.aborted);
}

/// Adds a file system whose appends to SST files fail while it has a rule.
fn failing(options: &mut Options) -> Arc<FaultFs> {
    let fault = FaultFs::wrap(options.db.env.fs.clone());
    options.db.env.fs = fault.clone();
    fault
}

#[test]
fn a_suppressed_error_stops_no_writes() {
    let (mut options, notes) = heard(Notes { suppress: true, ..Notes::default() });
    let fault = failing(&mut options);
    let db = Db::open("data", options).unwrap();
    db.put(b"a", b"1").unwrap();
    fault.hook().set_plan("append *.sst * EIO").unwrap();
    assert!(db.flush().is_err());
    assert!(
        notes
            .asked
            .lock()
            .iter()
            .any(|(reason, severity)| { *reason == ErrorReason::FlushNoWal && *severity >= Severity::Soft })
    );
    db.put(b"b", b"2").unwrap();
    assert!(db.background_error().is_none());
    fault.hook().set_plan("").unwrap();
    db.flush().unwrap();
    assert_eq!(db.rows().count(), 2);
}

#[test]
fn a_vetoed_recovery_leaves_the_error_until_resume() {
    let (mut options, notes) = heard(Notes { veto: true, ..Notes::default() });
    let fault = failing(&mut options);
    let db = Db::open("data", options).unwrap();
    db.put(b"a", b"1").unwrap();
    fault.hook().set_plan("append *.sst * ENOSPC").unwrap();
    assert!(db.flush().is_err());
    fault.hook().set_plan("").unwrap();
    assert!(db.put(b"b", b"2").is_err());
    assert!(!notes.events.lock().iter().any(|event| matches!(event, Event::ErrorRecoveryStarted { .. })));
    db.resume().unwrap();
    db.put(b"b", b"2").unwrap();
}

#[test]
fn file_operations_are_reported_to_listeners_that_watch() {
    let (mut options, notes) = heard(Notes { watch: true, ..Notes::default() });
    let deaf = Arc::new(Notes::default());
    options.listeners.push(deaf.clone());
    let db = Db::open("data", options).unwrap();
    db.put(b"a", &[1; 1000]).unwrap();
    assert!(notes.appended.load(Ordering::Relaxed) > 1000);
    assert_eq!(notes.failed.load(Ordering::Relaxed), 0);
    assert_eq!(deaf.appended.load(Ordering::Relaxed), 0);
}

#[test]
fn aborted_compactions_run_again_after_the_resume() {
    let (mut options, _) = heard(Notes::default());
    options.update("level0_file_num_compaction_trigger=2").unwrap();
    let db = Db::open("data", options).unwrap();
    db.abort_all_compactions().unwrap();
    assert_eq!(db.int_property("rocksdb.compaction-abort-count"), Some(1));
    for round in 0..4u8 {
        db.put(b"a", &[round]).unwrap();
        db.put(b"b", &[round]).unwrap();
        db.flush().unwrap();
    }
    assert_eq!(db.live_files().len(), 4);
    let rejected = db.compact_range(None, None, &CompactRangeOptions::default()).unwrap_err();
    assert_eq!(rejected.subcode(), Subcode::CompactionAborted);
    db.resume_all_compactions().unwrap();
    db.wait_for_compact_with(&WaitForCompactOptions::default()).unwrap();
    assert!(db.live_files().len() < 4);
    assert_eq!(db.int_property("rocksdb.compaction-abort-count"), Some(0));
}

/// RocksDB calls the listeners in this order.
#[test]
fn the_write_stall_that_an_ingestion_causes_is_reported_before_the_ingestion() {
    let (mut options, notes) = heard(Notes::default());
    options.update("level0_file_num_compaction_trigger=2;level0_slowdown_writes_trigger=2").unwrap();
    let db = Db::open("data", options.clone()).unwrap();
    db.put(b"k", b"1").unwrap();
    db.flush().unwrap();
    let mut file = SstFileWriter::create("file.sst", &options.db, &options.family).unwrap();
    file.put(b"k", b"2").unwrap();
    file.finish().unwrap();
    db.ingest_external_files(["file.sst"], &IngestExternalFileOptions::default()).unwrap();
    let events = notes.events.lock();
    let place = |wanted: fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    let stall = place(|event| matches!(event, Event::StallChanged { .. }));
    assert!(stall < place(|event| matches!(event, Event::ExternalFileIngested(_))));
}
