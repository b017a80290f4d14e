//! The events of SST files and of the jobs that write them: their order, and what they say after an error. The expected
//! events are those of RocksDB's `TableFileCreationListenersTest` and of its `compaction_job.cc`.

use base::Level;
use std::path::Path;
use std::sync::{Arc, Mutex};

use env::Env;
use env::fault::{FaultFs, Op};
use ironstone_engine::components::Components;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{
    CompactionFinished, Event, FileOperation, Listener, Purpose, StallCondition, TableCreated,
};
use ironstone_engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, WriteOptions};

use crate::basic::{options, put};

/// Records the events of jobs, one word for each.
#[derive(Default)]
struct Recorder {
    words: Mutex<Vec<String>>,
    reports: Mutex<Vec<CompactionFinished>>,
    level_0: Mutex<Vec<usize>>,
    stalls: Mutex<Vec<StallCondition>>,
    failed_calls: Mutex<Vec<(Op, base::Error)>>,
}

fn is_abort(created: &TableCreated) -> bool {
    created.error.as_ref().is_some_and(|error| error.kind() == base::Kind::Aborted)
}

fn word(name: &str, error: Option<&base::Error>) -> String {
    format!("{name} {}", error.map_or("OK".to_string(), |error| format!("{:?}", error.kind())))
}

impl Listener for Recorder {
    fn on_event(&self, event: &Event) {
        let word = match event {
            Event::FlushStarted(e) => {
                self.stalls.lock().unwrap().push(e.stall);
                "flush".to_string()
            }
            Event::FlushFinished(e) => {
                self.stalls.lock().unwrap().push(e.stall);
                "flushed".to_string()
            }
            Event::TableCreationStarted { .. } => "table".to_string(),
            Event::TableCreated(e) => {
                assert_eq!(e.error.is_none(), e.properties.is_some());
                let is_flush = e.purpose != Purpose::Compaction;
                assert_eq!(e.path == Path::new("(nil)"), e.error.is_some() && (is_flush || is_abort(e)));
                word("created", e.error.as_ref())
            }
            Event::CompactionStarted(e) => {
                self.level_0.lock().unwrap().push(e.num_l0_files);
                "compaction".to_string()
            }
            Event::SubcompactionStarted(_) => "part".to_string(),
            Event::SubcompactionFinished(e) => word("part", e.error.as_ref()),
            Event::CompactionPreCommit(e) => {
                self.reports.lock().unwrap().push(e.clone());
                word("commits", e.error.as_ref())
            }
            Event::CompactionFinished(e) => {
                self.reports.lock().unwrap().push(e.clone());
                word("compacted", e.error.as_ref())
            }
            _ => return,
        };
        self.words.lock().unwrap().push(word);
    }

    fn watches_file_io(&self) -> bool {
        true
    }

    fn on_file_io(&self, operation: &FileOperation<'_>) {
        if let Some(error) = operation.error {
            self.failed_calls.lock().unwrap().push((operation.op, error.clone()));
        }
    }
}

/// Files whose calls can fail, and the events of the database on them.
struct RecordedFiles {
    env: Env,
    faults: Arc<FaultFs>,
    recorder: Arc<Recorder>,
}

impl RecordedFiles {
    fn new(seed: u64) -> RecordedFiles {
        let mut env = Env::memory(seed);
        let faults = FaultFs::wrap(env.fs.clone());
        env.fs = faults.clone();
        RecordedFiles { env, faults, recorder: Arc::default() }
    }

    fn open(&self, family: FamilyOptions) -> Db {
        let options = DbOptions {
            max_bgerror_resume_count: 0,
            max_subcompactions: 2,
            max_open_files: 20,
            ..options(&self.env)
        };
        let family = FamilyOptions { disable_auto_compactions: true, ..family };
        let mut request = OpenRequest::new("/db", options, family);
        request.components = Components { listeners: vec![self.recorder.clone()], ..Components::default() };
        Db::open(request).unwrap()
    }

    /// Sets the plan of faults. An empty plan ends the faults.
    fn plan(&self, plan: &str) {
        self.faults.hook().set_plan(plan).unwrap();
    }

    /// Returns the words since the last call.
    fn words(&self) -> String {
        self.recorder.words.lock().unwrap().drain(..).collect::<Vec<_>>().join(", ")
    }

    fn reports(&self) -> Vec<CompactionFinished> {
        self.recorder.reports.lock().unwrap().drain(..).collect()
    }
}

fn flush(db: &Db) -> base::Result<()> {
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default())
}

fn compact(db: &Db) -> base::Result<()> {
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, &CompactRangeOptions::default())
}

/// Writes two SST files whose keys overlap.
fn two_files(db: &Db) {
    for value in ["1", "2"] {
        ["a", "b", "c"].iter().for_each(|key| put(db, key, value));
        flush(db).unwrap();
    }
}

#[test]
fn every_file_of_a_flush_that_starts_has_one_end() {
    for plan in ["create *.sst * EIO", "append *.sst * EIO", "sync *.sst * EIO"] {
        let world = RecordedFiles::new(1);
        let db = world.open(FamilyOptions::default());
        put(&db, "a", "1");
        flush(&db).unwrap();
        assert_eq!(world.words(), "flush, table, created OK, flushed");
        put(&db, "a", "2");
        world.plan(plan);
        flush(&db).unwrap_err();
        assert_eq!(world.words(), "flush, table, created IoError", "{plan}");
        drop(db);
        world.plan("");
        world.words();
        let db = world.open(FamilyOptions::default());
        assert_eq!(world.words(), "table, created OK", "the open flushes what it replays");
        drop(db);
    }
}

#[test]
fn a_failed_file_operation_is_reported_with_its_error() {
    let world = RecordedFiles::new(2);
    let db = world.open(FamilyOptions::default());
    put(&db, "a", "1");
    world.plan("append *.sst * ENOSPC");
    flush(&db).unwrap_err();
    let failed = world.recorder.failed_calls.lock().unwrap().clone();
    assert!(!failed.is_empty());
    for (op, error) in failed {
        assert_eq!(
            (op, error.kind(), error.subcode()),
            (Op::Append, base::Kind::IoError, base::Subcode::NoSpace)
        );
    }
}

#[test]
fn a_job_that_keeps_no_entry_reports_a_file_that_is_not_kept() {
    let world = RecordedFiles::new(3);
    let db = world.open(FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "baz", "z");
    db.single_delete(&family, b"baz", &WriteOptions::default()).unwrap();
    flush(&db).unwrap();
    assert_eq!(world.words(), "flush, table, created Aborted, flushed");
    put(&db, "baz", "z");
    flush(&db).unwrap();
    db.delete_range(&family, b"a", b"z", &WriteOptions::default()).unwrap();
    flush(&db).unwrap();
    world.words();
    compact(&db).unwrap();
    assert_eq!(world.words(), "compaction, part, table, created Aborted, part OK, commits OK, compacted OK");
}

#[test]
fn a_file_of_a_compaction_is_created_before_its_part_ends_and_before_the_commit() {
    let world = RecordedFiles::new(4);
    let db = world.open(FamilyOptions::default());
    two_files(&db);
    world.words();
    compact(&db).unwrap();
    assert_eq!(world.words(), "compaction, part, table, created OK, part OK, commits OK, compacted OK");
}

#[test]
fn a_failed_compaction_reports_what_it_did_and_its_end() {
    let world = RecordedFiles::new(5);
    let db = world.open(FamilyOptions::default());
    two_files(&db);
    world.words();
    world.plan("append *.sst * EIO");
    compact(&db).unwrap_err();
    assert_eq!(
        world.words(),
        "compaction, part, table, created IoError, part IoError, commits OK, compacted IoError"
    );
    for report in world.reports() {
        assert_eq!((report.stats.num_input_records, report.stats.num_records_replaced), (6, 3));
        assert_eq!((report.stats.num_input_files, report.outputs.len()), (2, 0));
        assert!(report.output_files.is_empty() && report.stats.total_input_bytes > 0);
    }
}

#[test]
fn a_compaction_whose_commit_fails_reports_its_end() {
    let world = RecordedFiles::new(6);
    let db = world.open(FamilyOptions::default());
    two_files(&db);
    world.words();
    world.plan("append MANIFEST-* * EIO");
    compact(&db).unwrap_err();
    assert_eq!(world.words(), "compaction, part, table, created OK, part OK, commits OK, compacted IoError");
    assert!(
        world.reports().iter().all(|report| report.stats.num_output_files == 1 && report.outputs.len() == 1)
    );
}

#[test]
fn a_compaction_that_cannot_read_its_inputs_reports_its_end() {
    let world = RecordedFiles::new(7);
    // No index stays in the cache, so the search for the parts of the compaction reads files.
    let mut family = FamilyOptions::default();
    family.set("table_factory", "{cache_index_and_filter_blocks=true;block_cache=1}").unwrap();
    let db = world.open(family);
    two_files(&db);
    world.words();
    world.plan("read *.sst * EIO");
    compact(&db).unwrap_err();
    assert_eq!(world.words(), "compaction, commits OK, compacted IoError");
}

#[test]
fn the_number_of_level_0_files_is_that_of_the_version() {
    let world = RecordedFiles::new(8);
    let db = world.open(FamilyOptions::default());
    two_files(&db);
    put(&db, "a", "3");
    flush(&db).unwrap();
    let family = db.default_family().unwrap();
    let names = world.env.fs.list(Path::new("/db")).unwrap();
    let numbers = names.iter().filter_map(|name| name.strip_suffix(".sst")?.parse().ok());
    let oldest = base::FileNumber::new(numbers.min().unwrap());
    db.compactions().compact_files(&family, &[oldest], Level::new(1), None, &Default::default()).unwrap();
    assert_eq!(*world.recorder.level_0.lock().unwrap(), [3]);
    assert_eq!(world.reports().last().unwrap().lsm_state[0], 2);
}

#[test]
fn a_flush_reports_the_stall_at_its_start_and_at_its_end() {
    use StallCondition::{Delayed, Normal, Stopped};
    let world = RecordedFiles::new(9);
    let triggers = FamilyOptions {
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: 2,
        level0_stop_writes_trigger: 3,
        ..FamilyOptions::default()
    };
    let db = world.open(triggers);
    for _ in 0..4 {
        put(&db, "a", "1");
        flush(&db).unwrap();
    }
    let stalls = world.recorder.stalls.lock().unwrap().clone();
    assert_eq!(stalls, [Normal, Normal, Normal, Delayed, Delayed, Stopped, Stopped, Stopped]);
}

#[test]
fn deletions_and_the_files_of_an_open_are_lines_of_the_level_debug() {
    let log = |level: &str| {
        let env = Env::memory(3);
        let mut options = options(&env);
        options.set("info_log_level", level).unwrap();
        let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
        put(&db, "a", "1");
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
        db.close().unwrap();
        String::from_utf8(env.fs.read_all(Path::new("/db/LOG"), 1 << 20).unwrap()).unwrap()
    };
    let text = log("DEBUG_LEVEL");
    assert!(text.contains("The open writes to /db/MANIFEST-000005 and /db/000004.log"), "{text}");
    assert!(text.contains("Delete /db/000004.log -- OK"), "{text}");
    assert!(!log("INFO_LEVEL").contains("Delete /db/"));
}
