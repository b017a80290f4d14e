//! Writers pause for a flush that they would have to wait for.

use std::sync::{Arc, Condvar, Mutex};

use env::Env;
use env::executor::Threads;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{FamilyOptions, WriteOptions};
use lsm::filter::{
    CompactionFilter, CompactionFilterFactory, CreationReason, Decision, FilterContext, FilterInput,
};

use crate::basic::options;

/// A gate that holds a flush at one of its entries.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    entries: usize,
    is_open: bool,
}

/// The flush waits before this entry.
const HELD_ENTRY: usize = 1_000;

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.entries += 1;
        self.changed.notify_all();
        if state.entries == HELD_ENTRY {
            drop(self.changed.wait_while(state, |state| !state.is_open).unwrap());
        }
    }

    fn wait_until_held(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.entries < HELD_ENTRY).unwrap());
    }

    fn open(&self) {
        self.state.lock().unwrap().is_open = true;
        self.changed.notify_all();
    }
}

struct Filter(Arc<Gate>);

impl CompactionFilter for Filter {
    fn name(&self) -> &str {
        "gate"
    }

    fn filter(&self, _: &FilterInput<'_>) -> Decision {
        self.0.pass();
        Decision::Keep
    }

    fn ignore_snapshots(&self) -> bool {
        true
    }
}

struct Factory(Arc<Gate>);

impl CompactionFilterFactory for Factory {
    fn name(&self) -> &str {
        "gate"
    }

    fn should_filter(&self, reason: CreationReason) -> bool {
        reason == CreationReason::Flush
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Filter(self.0.clone())))
    }
}

/// Opens a database with memtables of `buffer_bytes` bytes, and writes until a flush waits at the gate.
fn held(buffer_bytes: usize, max_write_buffer_number: i32) -> (Env, Arc<Gate>, Db) {
    let mut env = Env::memory(1);
    env.executor = Arc::new(Threads::new());
    let gate = Arc::new(Gate::default());
    let family = FamilyOptions {
        write_buffer_size: buffer_bytes,
        max_write_buffer_number,
        compaction_filter_factory: Some(Arc::new(Factory(gate.clone()))),
        ..FamilyOptions::default()
    };
    let db = Db::open(OpenRequest::new("/db", options(&env), family)).unwrap();
    put_bytes(&db, 0, buffer_bytes + 100_000);
    gate.wait_until_held();
    (env, gate, db)
}

/// Puts values of 1,000 bytes, and returns the number of puts.
fn put_bytes(db: &Db, first: u32, bytes: usize) -> u32 {
    let family = db.default_family().unwrap();
    let count = (bytes / 1_000) as u32;
    for key in first..first + count {
        db.put(&family, &key.to_be_bytes(), &[b'v'; 1_000], &WriteOptions::default()).unwrap();
    }
    count
}

#[test]
fn a_writer_that_is_ahead_of_a_flush_pauses_for_milliseconds_and_does_not_stop() {
    let (env, gate, db) = held(8 << 20, 2);
    // The flush has written about an eighth of its entries: rather more than half of the active memtable may be full.
    let start = env.clock.now_micros();
    let puts = put_bytes(&db, 100_000, 3_000_000);
    assert_eq!(env.clock.now_micros(), start, "{puts} puts within the limit do not pause");
    put_bytes(&db, 200_000, 2_500_000);
    let start = env.clock.now_micros();
    let puts = put_bytes(&db, 300_000, 100_000);
    let micros = env.clock.now_micros() - start;
    assert!(micros >= u64::from(puts) * 5_000, "{puts} puts paused for {micros} microseconds");
    assert!(micros <= u64::from(puts) * 6_000, "{puts} puts paused for {micros} microseconds");
    gate.open();
    db.close().unwrap();
}

#[test]
fn a_write_that_must_not_wait_does_not_pause() {
    let (env, gate, db) = held(8 << 20, 2);
    put_bytes(&db, 100_000, 5_500_000);
    let start = env.clock.now_micros();
    let options = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    db.put(&db.default_family().unwrap(), b"k", b"v", &options).unwrap();
    assert_eq!(env.clock.now_micros(), start);
    gate.open();
    db.close().unwrap();
}

#[test]
fn a_writer_does_not_pause_while_another_memtable_is_free() {
    assert_no_pause(8 << 20, 3, 5_000_000);
}

#[test]
fn small_memtables_have_no_pace() {
    assert_no_pause(2 << 20, 2, 1_000_000);
}

/// Checks that puts of `bytes` bytes beside a held flush take no time.
fn assert_no_pause(buffer_bytes: usize, max_write_buffer_number: i32, bytes: usize) {
    let (env, gate, db) = held(buffer_bytes, max_write_buffer_number);
    let start = env.clock.now_micros();
    put_bytes(&db, 100_000, bytes);
    assert_eq!(env.clock.now_micros(), start);
    gate.open();
    db.close().unwrap();
}
