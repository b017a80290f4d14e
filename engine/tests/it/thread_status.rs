//! The list of threads (`enable_thread_tracking`): the row of a running job.

use std::sync::{Arc, Mutex};

use env::Env;
use env::executor::Threads;
use env::thread_status::{Operation, Stage, ThreadStatus, ThreadType};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions};

use crate::basic::{options, put};

/// Keeps the rows with an operation at each event of a job.
struct Watch {
    env: Env,
    seen: Mutex<Vec<(&'static str, Vec<ThreadStatus>)>>,
}

impl Watch {
    fn busy(&self) -> Vec<ThreadStatus> {
        let rows = self.env.executor.thread_board().list(self.env.clock.now_nanos());
        rows.into_iter().filter(|row| row.operation != Operation::Unknown).collect()
    }

    fn at(&self, event: &str) -> Vec<ThreadStatus> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(name, _)| *name == event).flat_map(|(_, rows)| rows.clone()).collect()
    }
}

impl Listener for Watch {
    fn on_event(&self, event: &Event) {
        let busy = self.busy();
        self.seen.lock().unwrap().push((event.name(), busy));
    }
}

fn watched(seed: u64, enable_thread_tracking: bool) -> (Arc<Watch>, Db) {
    let mut env = Env::memory(seed);
    env.executor = Arc::new(Threads::new());
    let watch = Arc::new(Watch { env: env.clone(), seen: Mutex::default() });
    let options = DbOptions { enable_thread_tracking, ..options(&env) };
    let family = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(watch.clone());
    let db = Db::open(request).unwrap();
    let family = db.default_family().unwrap();
    for value in ["1", "2"] {
        put(&db, "a", value);
        put(&db, "z", value);
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    }
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    (watch, db)
}

#[test]
fn a_job_shows_its_operation_stage_and_properties() {
    let (watch, db) = watched(1, true);
    let flush = &watch.at("flush_started")[0];
    assert_eq!((flush.thread_type, flush.operation), (ThreadType::High, Operation::Flush));
    assert_eq!((flush.db_name.as_str(), flush.cf_name.as_str()), ("/db", "default"));
    assert_eq!((flush.stage, flush.properties[2]), (Stage::FlushRun, 0));
    assert!(flush.properties[0] > 0 && flush.properties[1] > 0, "{flush:?}");
    assert_eq!(watch.at("table_file_creation")[0].stage, Stage::FlushWriteL0);
    assert_eq!(watch.at("flush_finished")[0].stage, Stage::MemtableInstallFlushResults);

    // A manual compaction runs on the thread of the caller.
    let compaction = &watch.at("compaction_started")[0];
    assert_eq!((compaction.thread_type, compaction.operation), (ThreadType::User, Operation::Compaction));
    assert_eq!(compaction.stage, Stage::CompactionPrepare);
    let [job, levels, flags, input_bytes, ..] = compaction.properties;
    assert!(job > 0 && input_bytes > 0, "{compaction:?}");
    assert_eq!((levels >> 32, levels as u32, flags & 2), (0, 6, 2));
    assert_eq!(watch.at("compaction_pre_commit")[0].stage, Stage::CompactionInstall);
    drop(db);
    assert!(watch.busy().is_empty());
}

#[test]
fn a_thread_shows_no_operation_without_thread_tracking() {
    let (watch, _db) = watched(2, false);
    let seen = watch.seen.lock().unwrap();
    assert!(seen.iter().any(|(name, _)| *name == "compaction_finished"));
    assert!(seen.iter().all(|(_, rows)| rows.is_empty()));
}
