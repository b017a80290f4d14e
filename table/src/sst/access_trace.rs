//! Recording of accesses to the block cache.
//!
//! Without a trace, an access costs one load more. Accesses of all threads take turns at the sink. The reads of an open, and accesses
//! without a block cache, are not recorded. Facts: RocksDB `trace_replay/block_cache_tracer.cc`,
//! `table/block_based/block_based_table_reader.cc`.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::{FileNumber, Result};
use env::sync::{Mutex, thread_local};
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
    is_on: AtomicBool,
    gets: AtomicU64,
    trace: Mutex<Option<Trace>>,
}

/// The look-up of a key that runs in a thread.
pub(super) struct Running {
    pub id: u64,
    pub from_snapshot: bool,
    /// The internal key that the look-up seeks. Empty if the look-up has several keys.
    pub key: Vec<u8>,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// While this value lives, accesses of its thread belong to one look-up.
pub struct LookUp {
    _private: (),
}

impl Drop for LookUp {
    fn drop(&mut self) {
        RUNNING.with(|running| running.replace(None));
    }
}

impl AccessTracer {
    /// Starts a trace. One of `sampling_frequency` blocks is recorded, with all its accesses; 0 and 1 record all blocks. Returns
    /// false and changes nothing if a trace runs.
    pub fn start(&self, sampling_frequency: u64, sink: Box<dyn AccessSink>) -> bool {
        let mut trace = self.trace.lock();
        if trace.is_some() {
            return false;
        }
        *trace = Some(Trace { sink, sampling_frequency });
        self.gets.store(0, Ordering::Relaxed);
        self.is_on.store(true, Ordering::Release);
        true
    }

    /// Ends the trace. Does nothing if no trace runs.
    ///
    /// # Errors
    /// The error of the sink.
    pub fn end(&self) -> Result<()> {
        self.is_on.store(false, Ordering::Release);
        let trace = self.trace.lock().take();
        trace.map_or(Ok(()), |mut trace| trace.sink.end())
    }

    /// Returns true if a trace runs.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Gives the accesses of this thread the number of a new look-up. `None` if no trace runs.
    #[inline]
    pub fn begin_look_up(&self, from_snapshot: bool) -> Option<LookUp> {
        if self.is_on() { Some(self.begin(from_snapshot)) } else { None }
    }

    #[cold]
    fn begin(&self, from_snapshot: bool) -> LookUp {
        let id = self.gets.fetch_add(1, Ordering::Relaxed) + 1;
        RUNNING.with(|running| running.replace(Some(Running { id, from_snapshot, key: Vec::new() })));
        LookUp { _private: () }
    }

    pub(super) fn record(&self, access: &BlockAccess<'_>) {
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

/// Calls `act` with the look-up of this thread.
pub(super) fn with_running<R>(act: impl FnOnce(Option<&Running>) -> R) -> R {
    RUNNING.with(|running| act(running.borrow().as_ref()))
}

/// Stores the key that the look-up of this thread seeks.
#[cold]
pub(super) fn seek(seek_key: &[u8]) {
    RUNNING.with(|running| {
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
