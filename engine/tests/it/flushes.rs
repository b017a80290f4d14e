//! Several flushes of one family at a time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use env::Env;
use env::executor::Threads;
use env::fault::FaultFs;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions};

use crate::basic::{get, options, put};

/// Holds the first flush that starts until another flush of the family has written its file.
struct Hold {
    first: Mutex<Option<Receiver<()>>>,
    started: Sender<()>,
    written: Sender<()>,
    outcome: Mutex<Option<Result<(), RecvTimeoutError>>>,
}

impl Listener for Hold {
    fn on_event(&self, event: &Event) {
        match event {
            Event::FlushStarted(_) => {
                let first = self.first.lock().unwrap().take();
                if let Some(written) = first {
                    self.started.send(()).unwrap();
                    // Only a bound for a run that would hang.
                    let outcome = written.recv_timeout(Duration::from_secs(60));
                    *self.outcome.lock().unwrap() = Some(outcome);
                }
            }
            Event::TableCreated(_) => {
                // Nobody may be waiting any more.
                let _ = self.written.send(());
            }
            _ => {}
        }
    }
}

/// A database with two memtables at the start of their flushes, the older one's held.
fn held(seed: u64, plan: &str) -> (Env, Arc<FaultFs>, Arc<Hold>, Db) {
    let mut env = Env::memory(seed);
    let fs = FaultFs::wrap(env.fs.clone());
    env.fs = fs.clone();
    env.executor = Arc::new(Threads::new());
    let (written, first) = channel();
    let (started, begun) = channel();
    let hold = Arc::new(Hold { first: Mutex::new(Some(first)), started, written, outcome: Mutex::default() });
    let options = DbOptions { max_background_jobs: 8, max_bgerror_resume_count: 0, ..options(&env) };
    let family = FamilyOptions { max_write_buffer_number: 6, disable_auto_compactions: true, ..FamilyOptions::default() };
    let mut request = OpenRequest::new("/db", options, family);
    request.components.listeners.push(hold.clone());
    let db = Db::open(request).unwrap();
    fs.hook().set_plan(plan).unwrap();
    seal(&db, "old");
    begun.recv().unwrap();
    seal(&db, "new");
    (env, fs, hold, db)
}

fn seal(db: &Db, value: &str) {
    put(db, "k", value);
    put(db, value, "1");
    let options = FlushOptions { wait: false, ..FlushOptions::default() };
    db.flush(&[db.default_family().unwrap()], &options).unwrap();
}

#[test]
fn memtables_of_a_family_are_flushed_side_by_side_and_committed_in_order() {
    let (env, _, hold, db) = held(1, "");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(*hold.outcome.lock().unwrap(), Some(Ok(())), "the second wrote its file while the first was held");
    let version = db.default_family().unwrap().pin().version.clone();
    let seqs: Vec<u64> = version.level(0).iter().map(|f| f.largest_seq).collect();
    assert_eq!(seqs, [4, 2], "newest first");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    drop(db);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
}

#[test]
fn a_flush_is_given_up_when_the_one_before_it_fails() {
    // The newer memtable's file is made first: the older one's flush is held before it begins to write.
    let (env, fs, hold, db) = held(2, "create *.sst #2 ENOSPC");
    let failed = db.flush(&[db.default_family().unwrap()], &FlushOptions::default());
    assert!(failed.is_err());
    assert_eq!(*hold.outcome.lock().unwrap(), Some(Ok(())));
    assert_eq!(db.default_family().unwrap().pin().version.num_files(), 0, "not before the older one");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    fs.hook().set_plan("").unwrap();
    db.resume().unwrap();
    assert_eq!(db.default_family().unwrap().pin().version.num_files(), 1, "both, in one file");
    assert_eq!(get(&db, "k").as_deref(), Some("new"));
    drop(db);
    let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default())).unwrap();
    assert_eq!((get(&db, "k").as_deref(), get(&db, "old").as_deref()), (Some("new"), Some("1")));
}
