//! Listeners of flushes: the state that they see, the calls that they may make, and the return of the flush.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use env::Env;
use env::executor::Threads;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, JobPressure, Listener, StallCondition};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions};

use crate::basic::{get, options, put};

/// In the callback of the first flush, flushes the database and tries to close it.
#[derive(Default)]
struct Restless {
    db: Mutex<Option<Db>>,
    closed: Mutex<Option<base::Result<()>>>,
}

impl Listener for Restless {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::FlushFinished(_)) {
            return;
        }
        let Some(db) = self.db.lock().unwrap().take() else { return };
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
        *self.closed.lock().unwrap() = Some(db.close());
    }
}

#[test]
fn a_listener_of_a_flush_on_the_callers_thread_may_flush_and_may_not_close() {
    let env = Env::memory(15);
    let restless = Arc::new(Restless::default());
    let mut request = OpenRequest::new("/db", options(&env), FamilyOptions::default());
    request.components.listeners.push(restless.clone());
    let db = Db::open(request).unwrap();
    *restless.db.lock().unwrap() = Some(db.clone());
    put(&db, "k", "1");
    let together = FlushOptions { force_atomic_flush: true, ..FlushOptions::default() };
    db.flush(&[db.default_family().unwrap()], &together).unwrap();
    let closed = restless.closed.lock().unwrap().take().expect("the listener was called");
    assert_eq!(closed.unwrap_err().kind(), base::Kind::Aborted);
    assert_eq!(get(&db, "k").as_deref(), Some("1"));
}

/// Joins a thread that writes and flushes, when the first flush has ended.
#[derive(Default)]
struct Joins {
    db: Mutex<Option<Db>>,
    outcome: Mutex<Option<Result<(), RecvTimeoutError>>>,
}

impl Listener for Joins {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::FlushFinished(_)) {
            return;
        }
        let Some(db) = self.db.lock().unwrap().take() else { return };
        let (sender, done) = channel();
        std::thread::spawn(move || {
            put(&db, "b", "2");
            db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
            // Ignore the error: no thread may be waiting any more.
            let _ = sender.send(());
        });
        // Only a bound for a run that would hang.
        *self.outcome.lock().unwrap() = Some(done.recv_timeout(Duration::from_secs(60)));
    }
}

#[test]
fn a_listener_of_a_flush_may_join_a_thread_that_writes_and_flushes() {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(16) };
    let joins = Arc::new(Joins::default());
    let options = DbOptions { max_background_jobs: 8, ..options(&env) };
    let mut request = OpenRequest::new("/db", options, FamilyOptions::default());
    request.components.listeners.push(joins.clone());
    let db = Db::open(request).unwrap();
    *joins.db.lock().unwrap() = Some(db.clone());
    put(&db, "a", "1");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(*joins.outcome.lock().unwrap(), Some(Ok(())), "the second flush waited for the listener");
    assert_eq!(db.default_family().unwrap().pin().version.num_files(), 2);
}

/// Counts finished flushes. The callback ends only after `go`.
#[derive(Default)]
struct Slow {
    begun: AtomicBool,
    go: AtomicBool,
    finished: AtomicUsize,
    stalls: Mutex<Vec<StallCondition>>,
}

impl Listener for Slow {
    fn on_event(&self, event: &Event) {
        let Event::FlushFinished(finished) = event else { return };
        self.begun.store(true, Ordering::SeqCst);
        while !self.go.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.stalls.lock().unwrap().push(finished.stall);
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

fn with_slow(seed: u64, family: FamilyOptions) -> (Arc<Slow>, Db) {
    let env = Env { executor: Arc::new(Threads::new()), ..Env::memory(seed) };
    let slow = Arc::new(Slow::default());
    let mut request = OpenRequest::new("/db", options(&env), family);
    request.components.listeners.push(slow.clone());
    (slow, Db::open(request).unwrap())
}

#[test]
fn a_flush_returns_after_its_listeners() {
    let (slow, db) = with_slow(11, FamilyOptions::default());
    let family = db.default_family().unwrap();
    slow.go.store(true, Ordering::SeqCst);
    for round in 0..50 {
        put(&db, "a", &round.to_string());
        let options = FlushOptions { listener_wait: round % 2 == 1, ..FlushOptions::default() };
        db.flush(&[family.clone()], &options).unwrap();
        assert_eq!(slow.finished.load(Ordering::SeqCst), round + 1);
    }
}

#[test]
fn a_flush_waits_for_a_listener_that_runs() {
    let (slow, db) = with_slow(14, FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    let returned = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
            returned.store(true, Ordering::SeqCst);
        });
        // The engine calls the listener after the commit.
        while !slow.begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        for _ in 0..1000 {
            std::thread::yield_now();
        }
        assert!(!returned.load(Ordering::SeqCst));
        slow.go.store(true, Ordering::SeqCst);
    });
    assert!(returned.load(Ordering::SeqCst));
}

/// Flushes the database in the first call.
#[derive(Default)]
struct FlushesAgain {
    db: Mutex<Option<std::sync::Weak<Db>>>,
    finished: AtomicUsize,
}

impl Listener for FlushesAgain {
    fn on_event(&self, event: &Event) {
        let Event::FlushFinished(_) = event else { return };
        self.finished.fetch_add(1, Ordering::SeqCst);
        let Some(db) = self.db.lock().unwrap().take().and_then(|db| db.upgrade()) else { return };
        put(&db, "b", "2");
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
}

#[test]
fn a_listener_can_flush_and_wait() {
    let mut env = Env::memory(15);
    env.executor = Arc::new(Threads::new());
    let again = Arc::new(FlushesAgain::default());
    let options = DbOptions { max_background_jobs: 8, ..options(&env) };
    let mut request = OpenRequest::new("/db", options, FamilyOptions::default());
    request.components.listeners.push(again.clone());
    let db = Arc::new(Db::open(request).unwrap());
    *again.db.lock().unwrap() = Some(Arc::downgrade(&db));
    put(&db, "a", "1");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert_eq!(again.finished.load(Ordering::SeqCst), 2);
    assert_eq!(get(&db, "b").as_deref(), Some("2"));
}

#[test]
fn a_finished_flush_reports_whether_level_0_slows_or_stops_writes() {
    let own = FamilyOptions {
        disable_auto_compactions: true,
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: 2,
        level0_stop_writes_trigger: 4,
        ..FamilyOptions::default()
    };
    let (slow, db) = with_slow(12, own);
    slow.go.store(true, Ordering::SeqCst);
    let family = db.default_family().unwrap();
    for _ in 0..4 {
        put(&db, "a", "1");
        db.flush(&[family.clone()], &FlushOptions { listener_wait: true, ..FlushOptions::default() })
            .unwrap();
    }
    use StallCondition::{Delayed, Normal, Stopped};
    assert_eq!(*slow.stalls.lock().unwrap(), [Normal, Delayed, Delayed, Stopped]);
}

/// Keeps the pressure after each job.
#[derive(Default)]
struct Pressures(Mutex<Vec<JobPressure>>);

impl Listener for Pressures {
    fn on_event(&self, event: &Event) {
        if let Event::JobPressureChanged(pressure) = event {
            self.0.lock().unwrap().push(*pressure);
        }
    }
}

#[test]
fn a_listener_gets_the_pressure_after_each_flush() {
    let env = Env::memory(16);
    let own = FamilyOptions {
        disable_auto_compactions: true,
        level0_slowdown_writes_trigger: 4,
        ..FamilyOptions::default()
    };
    let pressures = Arc::new(Pressures::default());
    let mut request = OpenRequest::new("/db", options(&env), own);
    request.components.listeners.push(pressures.clone());
    let db = Db::open(request).unwrap();
    for _ in 0..4 {
        put(&db, "a", "1");
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
    let seen = pressures.0.lock().unwrap();
    let near: Vec<_> = seen.iter().map(|pressure| pressure.write_stall_proximity_percent).collect();
    assert_eq!(near, [25, 50, 75, 100]);
    assert!(seen.iter().all(|pressure| pressure.flush_running == 0), "{seen:?}");
}
