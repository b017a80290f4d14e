//! Calls that the system refuses for a time: start of threads, reads and syncs of directories. Closes and drops of
//! handles in unusual places.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Kind;
use env::Env;
use env::executor::Threads;
use env::fault::FaultFs;
use ironstone_engine::components::Components;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::{
    CompactRangeOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};
use parking_lot::Mutex;

use crate::basic::{get, options, put, scan};

/// Returns an environment in which no thread can be started while the flag is set.
fn without_threads() -> (Env, Arc<AtomicBool>) {
    let refused = Arc::new(AtomicBool::new(false));
    let flag = refused.clone();
    let threads = Threads::asking(Arc::new(move || match flag.load(Ordering::SeqCst) {
        true => Err(std::io::Error::from_raw_os_error(11)),
        false => Ok(()),
    }));
    (Env { executor: Arc::new(threads), ..Env::memory(1) }, refused)
}

fn open(env: &Env, family: FamilyOptions) -> Db {
    Db::open(OpenRequest::new("/db", options(env), family)).unwrap()
}

#[test]
fn writers_continue_once_threads_can_be_started() {
    let (env, refused) = without_threads();
    let family = FamilyOptions { write_buffer_size: 64 << 10, ..FamilyOptions::default() };
    let db = open(&env, family);
    refused.store(true, Ordering::SeqCst);
    let errors = |db: &Db| -> u64 {
        let family = db.default_family().unwrap();
        db.properties().text(&family, "rocksdb.background-errors").unwrap().parse().unwrap()
    };
    let before = errors(&db);
    let writer = std::thread::spawn({
        let db = db.clone();
        move || (0..3000).for_each(|i| put(&db, &format!("key{i:05}"), &"value".repeat(20)))
    });
    let family = db.default_family().unwrap();
    while db.properties().text(&family, "rocksdb.is-write-stopped").unwrap() != "1" {
        std::thread::yield_now();
    }
    assert!(errors(&db) > before, "the refused threads are counted as background errors");
    refused.store(false, Ordering::SeqCst);
    writer.join().unwrap();
    assert_eq!(scan(&db).len(), 3000);
}

#[test]
fn subcompactions_run_on_the_thread_of_the_compaction_if_no_thread_can_be_started() {
    let (env, refused) = without_threads();
    let family = FamilyOptions {
        disable_auto_compactions: true,
        target_file_size_base: 16 << 10,
        ..FamilyOptions::default()
    };
    let mut options = options(&env);
    options.max_subcompactions = 4;
    let db = Db::open(OpenRequest::new("/db", options, family)).unwrap();
    let family = db.default_family().unwrap();
    for _ in 0..3 {
        (0..1000).for_each(|i| put(&db, &format!("key{i:05}"), &"value".repeat(20)));
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    }
    refused.store(true, Ordering::SeqCst);
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    refused.store(false, Ordering::SeqCst);
    assert!(db.background().error().is_none());
    put(&db, "later", "1");
    assert_eq!(scan(&db).len(), 1001);
}

#[test]
fn a_database_is_created_below_directories_that_cannot_be_read_or_synced() {
    let cases = [
        ("/locked", "open locked * EACCES", true),
        ("/", "sync_dir * * EIO", false),
        ("/locked/home", "open home * EACCES", true),
        ("/locked/home", "open locked * EIO", true),
    ];
    for (existing, plan, works) in cases {
        let memory = Env::memory(2);
        memory.fs.create_dir_all(Path::new(existing)).unwrap();
        let faults = FaultFs::wrap(memory.fs.clone());
        let env = Env { fs: faults.clone(), ..memory };
        faults.hook().set_plan(plan).unwrap();
        let db = Db::open(OpenRequest::new("/locked/home/db", options(&env), FamilyOptions::default()));
        assert_eq!(db.is_ok(), works, "{existing}, {plan}: {:?}", db.err());
    }
}

/// Closes or drops a handle of the database in a callback of a background job.
#[derive(Default)]
struct InCallback {
    db: Mutex<Option<Db>>,
    closes: bool,
    outcome: Mutex<Option<base::Result<()>>>,
}

impl Listener for InCallback {
    fn on_event(&self, event: &Event) {
        if event.name() != "flush_started" {
            return;
        }
        let Some(db) = self.db.lock().take() else { return };
        if self.closes {
            *self.outcome.lock() = Some(db.close());
        }
        drop(db);
    }
}

fn with_listener(env: &Env, listener: &Arc<InCallback>) -> Db {
    let mut request = OpenRequest::new("/db", options(env), FamilyOptions::default());
    request.components = Components { listeners: vec![listener.clone()], ..Components::default() };
    Db::open(request).unwrap()
}

#[test]
fn a_last_handle_that_a_background_job_drops_closes_on_another_thread() {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(3) };
    let listener = Arc::new(InCallback::default());
    let db = with_listener(&env, &listener);
    put(&db, "a", "1");
    // The flush job starts only when the handle of this thread is gone, so the listener drops the last handle.
    let mut gate = listener.db.lock();
    db.flush(&[db.default_family().unwrap()], &FlushOptions { wait: false, ..FlushOptions::default() })
        .unwrap();
    *gate = Some(db);
    drop(gate);
    env.executor.wait_for_all();
    let db = open(&env, FamilyOptions::default());
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_close_in_a_background_job_is_refused() {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(4) };
    let listener = Arc::new(InCallback { closes: true, ..InCallback::default() });
    let db = with_listener(&env, &listener);
    *listener.db.lock() = Some(db.clone());
    put(&db, "a", "1");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    let outcome = listener.outcome.lock().take().unwrap();
    assert_eq!(outcome.unwrap_err().kind(), Kind::Aborted);
    put(&db, "b", "2");
    db.close().unwrap();
}

#[test]
fn every_close_returns_the_result_of_the_first() {
    let faults = FaultFs::wrap(Env::memory(5).fs);
    let env = Env { fs: faults.clone(), executor: Arc::new(Threads::new()), ..Env::memory(5) };
    let db = open(&env, FamilyOptions::default());
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    db.put(&db.default_family().unwrap(), b"a", b"1", &unlogged).unwrap();
    faults.hook().set_plan("create *.sst * EIO").unwrap();
    let closers: Vec<_> = (0..4)
        .map(|_| {
            let db = db.clone();
            std::thread::spawn(move || {
                let outcome = db.close();
                // The LOCK is released by now: another open succeeds, or fails for another reason.
                (outcome, db.close())
            })
        })
        .collect();
    for closer in closers {
        let (first, again) = closer.join().unwrap();
        assert_eq!(first.unwrap_err().kind(), Kind::IoError);
        assert_eq!(again.unwrap_err().kind(), Kind::IoError);
    }
    faults.hook().set_plan("").unwrap();
    open(&env, FamilyOptions::default());
}

/// Reads and writes in the destructor of a thread-local variable, after the engine's own variables are destroyed.
struct OnExit(Db, Arc<Mutex<Option<String>>>);

impl Drop for OnExit {
    fn drop(&mut self) {
        put(&self.0, "bye", "1");
        self.0.flush(&[self.0.default_family().unwrap()], &FlushOptions::default()).unwrap();
        *self.1.lock() = get(&self.0, "bye");
    }
}

#[test]
fn a_database_can_be_used_in_the_destructors_of_a_thread() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<OnExit>> = const { std::cell::RefCell::new(None) };
    }
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(6) };
    for compression in ["kZSTD", "kZlibCompression"] {
        let db = open(&env, FamilyOptions::default());
        let family = db.default_family().unwrap();
        db.admin().set_options(&family, &[("compression", compression)]).unwrap();
        let read = Arc::new(Mutex::new(None));
        let (inner, result) = (db.clone(), read.clone());
        std::thread::spawn(move || {
            LAST.with(|last| *last.borrow_mut() = Some(OnExit(inner.clone(), result)));
            // The engine's variables of this thread begin after the variable above, and are destroyed first or last.
            put(&inner, "a", "1");
            inner.get(&inner.default_family().unwrap(), b"a", &ReadOptions::default()).unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(read.lock().as_deref(), Some("1"), "{compression}");
    }
}
