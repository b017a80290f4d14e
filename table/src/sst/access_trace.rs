//! Recording of accesses to the block cache.
//!
//! Without a trace, an access costs one load more. Accesses of all threads take turns at the sink. The reads of an open, and accesses
//! without a block cache, are not recorded. Calls that the sink itself makes are not recorded. Facts: RocksDB `trace_replay/block_cache_tracer.cc`,
//! `table/block_based/block_based_table_reader.cc`.

use std::cell::{Cell, RefCell};

use base::{Error, FileNumber, Result};
use env::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, thread_local};
use format::properties::Properties;
use format::trace::BlockAccess;
use kernel::hash::hash64;

/// Receives the accesses of a trace.
pub trait AccessSink: Send {
    /// Receives one access.
    fn access(&mut self, access: &BlockAccess<'_>);

    /// Ends the trace. No call follows.
    ///
    /// # Errors
    /// The error that the end of the trace reports.
    fn end(&mut self) -> Result<()>;
}

/// A running trace.
struct Trace {
    sink: Box<dyn AccessSink>,
    /// One of this many blocks is recorded.
    sampling_frequency: u64,
}

/// Records the accesses of one database to the block cache. All threads may use it.
#[derive(Default)]
pub struct AccessTracer {
    /// True while a trace runs. Changes only while `trace` is locked.
    is_on: AtomicBool,
    gets: AtomicU64,
    /// Held while the sink runs.
    trace: Mutex<Option<Trace>>,
}

/// The lookup of a key that runs in a thread.
#[derive(Clone)]
pub(super) struct Running {
    pub id: u64,
    pub from_snapshot: bool,
    /// The internal key that the lookup seeks. Empty if the lookup has several keys.
    pub key: Vec<u8>,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
    /// Set while a sink runs in this thread.
    static IN_SINK: Cell<bool> = const { Cell::new(false) };
}

/// Returns true in a call of a sink. Accesses of such a call are not recorded.
pub(super) fn in_sink() -> bool {
    IN_SINK.with(Cell::get)
}

/// While this value lives, accesses of its thread are accesses of a sink.
struct InSink {
    before: bool,
}

impl InSink {
    fn new() -> Self {
        InSink { before: IN_SINK.with(|inside| inside.replace(true)) }
    }
}

impl Drop for InSink {
    fn drop(&mut self) {
        let was_inside = IN_SINK.with(|inside| inside.replace(self.before));
        base::invariant!(was_inside, "accesses of a sink were recorded");
    }
}

/// While this value lives, accesses of its thread belong to one lookup.
pub struct LookUp {
    _private: (),
}

impl Drop for LookUp {
    fn drop(&mut self) {
        set_running(None);
    }
}

impl AccessTracer {
    /// Starts a trace. One of `sampling_frequency` blocks is recorded, with all its accesses; 0 and 1 record all blocks. Returns
    /// false and changes nothing if a trace runs, and in a call of a sink.
    pub fn start(&self, sampling_frequency: u64, sink: Box<dyn AccessSink>) -> bool {
        if in_sink() {
            return false;
        }
        let mut trace = self.trace.lock();
        if trace.is_some() {
            return false;
        }
        base::invariant!(!self.is_on(), "a trace of accesses runs without its sink");
        *trace = Some(Trace { sink, sampling_frequency });
        self.gets.store(0, Ordering::Relaxed);
        self.is_on.store(true, Ordering::Release);
        true
    }

    /// Ends the trace. Does nothing if no trace runs.
    ///
    /// # Errors
    /// Busy in a call of a sink. The error of the sink.
    pub fn end(&self) -> Result<()> {
        if in_sink() {
            return Err(Error::busy("a sink of a trace of the block cache cannot end the trace"));
        }
        let trace = {
            let mut running = self.trace.lock();
            self.is_on.store(false, Ordering::Release);
            running.take()
        };
        let _inside = InSink::new();
        trace.map_or(Ok(()), |mut trace| trace.sink.end())
    }

    /// Returns true if a trace runs.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Gives the accesses of this thread the number of a new lookup. `None` if no trace runs.
    #[inline]
    pub fn begin_look_up(&self, from_snapshot: bool) -> Option<LookUp> {
        if self.is_on() { self.begin(from_snapshot) } else { None }
    }

    #[cold]
    fn begin(&self, from_snapshot: bool) -> Option<LookUp> {
        if in_sink() {
            return None;
        }
        let id = self.gets.fetch_add(1, Ordering::Relaxed) + 1;
        set_running(Some(Running { id, from_snapshot, key: Vec::new() }));
        Some(LookUp { _private: () })
    }

    pub(super) fn record(&self, access: &BlockAccess<'_>) {
        let _inside = InSink::new();
        if let Some(trace) = &mut *self.trace.lock()
            && is_sampled(access.key, trace.sampling_frequency)
        {
            trace.sink.access(access);
        }
    }
}

/// Returns true if the accesses to a block are recorded. Chooses the blocks that RocksDB chooses.
fn is_sampled(key: &[u8], frequency: u64) -> bool {
    frequency < 2 || (u128::from(hash64(key)) * u128::from(frequency)) >> 64 == 0
}

/// Returns a copy of the lookup of this thread. A copy, because the sink may begin a lookup. `None` without a lookup, and in a
/// destructor of a thread-local value.
pub(super) fn running() -> Option<Running> {
    RUNNING.try_with(|running| running.borrow().clone()).ok().flatten()
}

/// Sets the lookup of this thread. In a destructor of a thread-local value, accesses have no lookup.
fn set_running(look_up: Option<Running>) {
    let _ = RUNNING.try_with(|running| running.replace(look_up));
}

/// Stores the key that the lookup of this thread seeks.
#[cold]
pub(super) fn seek(seek_key: &[u8]) {
    if in_sink() {
        return;
    }
    let _ = RUNNING.try_with(|running| {
        if let Some(running) = &mut *running.borrow_mut() {
            running.key.clear();
            running.key.extend_from_slice(seek_key);
        }
    });
}

/// The facts about a file that its accesses have.
pub(super) struct Traced {
    pub tracer: Arc<AccessTracer>,
    pub properties: Arc<Properties>,
    pub file: FileNumber,
}
