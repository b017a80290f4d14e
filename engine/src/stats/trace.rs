//! Recording of the calls of a database: writes, reads, and seeks of iterators.
//!
//! ```text
//!  write, get, multi_get, seek ─► is_on ── no ──► nothing
//!                                   └ yes ─► filter, sample ─► format::trace ─► TraceSink
//! ```
//! A call is recorded before its work, also if the call fails later. All calls of a database take turns at the sink. Calls that the sink
//! itself makes are not recorded. After a failure of the sink, no record is written. Facts: RocksDB
//! `trace_replay/trace_replay.cc`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, FamilyId, Kind, Result};
use env::Clock;
use format::trace::{self as encoding, RecordType};

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, thread_local};

/// The target of a trace. RocksDB: `TraceWriter`.
///
/// The calls of all threads wait while a sink runs. A sink may read the database; these reads are not recorded. A sink cannot start or end
/// a trace: the call returns Busy. With [`TraceOptions::preserve_write_order`], a sink must not write to the database: the leader of
/// the write group calls the sink, so the write would wait for itself. If several traces of one database run, their sinks must
/// not call the database.
pub trait TraceSink: Send {
    /// Stores one record.
    ///
    /// # Errors
    /// Errors of the target. The trace gets no more records after an error.
    fn write(&mut self, record: &[u8]) -> Result<()>;

    /// Returns the bytes that are stored, or `None` if the size is unknown. A trace of unknown size counts as full.
    fn size(&mut self) -> Option<u64>;

    /// Ends the storage. No call follows. If the database is dropped while the trace runs, this function is not called: the
    /// sink is dropped.
    ///
    /// # Errors
    /// Errors of the target.
    fn close(&mut self) -> Result<()>;
}

/// The settings of a trace. RocksDB: `TraceOptions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Above this many bytes, no call is recorded. Default: 64 GiB.
    pub max_trace_file_size: u64,
    /// One of this many calls is recorded. Default: 1. 0 is 1.
    pub sampling_frequency: u64,
    /// The calls that are not recorded: a sum of [`TraceOptions::GET`] and the other bits. Default: 0.
    pub filter: u64,
    /// Records the writes in the order of the WAL. A write group is then one record. Default: false.
    pub preserve_write_order: bool,
}

impl TraceOptions {
    /// The bit of `filter` for reads of one key.
    pub const GET: u64 = 1;
    /// The bit of `filter` for writes.
    pub const WRITE: u64 = 1 << 1;
    /// The bit of `filter` for seeks.
    pub const SEEK: u64 = 1 << 2;
    /// The bit of `filter` for backward seeks.
    pub const SEEK_FOR_PREV: u64 = 1 << 3;
    /// The bit of `filter` for reads of several keys.
    pub const MULTI_GET: u64 = 1 << 4;
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions {
            max_trace_file_size: 64 << 30,
            sampling_frequency: 1,
            filter: 0,
            preserve_write_order: false,
        }
    }
}

thread_local! {
    /// Set while the calls of this thread are not recorded.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// While this value lives, the calls of its thread are not recorded.
pub struct Quiet {
    before: bool,
}

impl Quiet {
    fn new() -> Self {
        Quiet { before: IS_QUIET.with(|quiet| quiet.replace(true)) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let was_quiet = IS_QUIET.with(|quiet| quiet.replace(self.before));
        base::invariant!(was_quiet, "calls of a thread were recorded while the thread must not record");
    }
}

/// A sink runs with the lock of its trace. A start or an end in a sink would wait for this lock forever.
fn check_not_quiet() -> Result<()> {
    match IS_QUIET.with(Cell::get) {
        true => Err(Error::busy("a trace cannot start or end in a call that is not recorded")),
        false => Ok(()),
    }
}

/// A running trace.
struct Trace {
    sink: Box<dyn TraceSink>,
    options: TraceOptions,
    clock: Arc<dyn Clock>,
    /// The calls since the last recorded call.
    skipped: u64,
    failure: Option<Error>,
}

impl Trace {
    fn write(&mut self, kind: RecordType, payload: &[u8]) -> Result<()> {
        if let Some(error) = &self.failure {
            return Err(Error::incomplete(format!("Tracing has seen error: {error}")));
        }
        let mut record = Vec::with_capacity(encoding::RECORD_HEADER_LEN + payload.len());
        encoding::put_record(&mut record, self.clock.now_micros(), kind, payload);
        self.guarded(|sink| sink.write(&record)).inspect_err(|error| self.failure = Some(error.clone()))
    }

    /// Calls the sink. A panic becomes an error: the caller may lead the writers, and a panic that unwinds through a leader would
    /// lose the lead.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut dyn TraceSink) -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(|| call(&mut *self.sink)))
            .unwrap_or_else(|_| Err(Error::aborted("the sink of a trace panicked")))
    }

    /// Returns true if a call with this bit of the filter is to be recorded. Counts the calls that are not recorded.
    fn takes(&mut self, bit: u64) -> bool {
        let size = self.guarded(|sink| Ok(sink.size())).ok().flatten();
        if size.is_none_or(|size| size > self.options.max_trace_file_size) || self.options.filter & bit != 0 {
            return false;
        }
        base::invariant!(
            self.skipped < self.options.sampling_frequency.max(1),
            "{} calls are skipped, and one of {} is recorded",
            self.skipped,
            self.options.sampling_frequency
        );
        self.skipped += 1;
        if self.skipped < self.options.sampling_frequency {
            return false;
        }
        self.skipped = 0;
        true
    }

    fn end(mut self) -> Result<()> {
        let _quiet = Quiet::new();
        let ended = self.write(RecordType::End, &[]);
        ended.and(self.guarded(|sink| sink.close()))
    }
}

/// The trace of a database. All threads may use it.
#[derive(Default)]
pub struct Tracer {
    /// True while a trace runs. Changes only while `trace` is locked.
    is_on: AtomicBool,
    /// Set while a trace runs that keeps the order of the writes. Changes only while `trace` is locked.
    keeps_order: AtomicBool,
    /// Held while the sink runs.
    trace: Mutex<Option<Trace>>,
}

impl Tracer {
    /// Ends a trace that runs already. Then starts a trace and writes its first record.
    ///
    /// # Errors
    /// Busy in a call of a sink, and in a callback of a read of several keys.
    pub fn start(
        &self,
        options: TraceOptions,
        sink: Box<dyn TraceSink>,
        clock: Arc<dyn Clock>,
    ) -> Result<()> {
        check_not_quiet()?;
        let _quiet = Quiet::new();
        let mut running = self.trace.lock();
        if let Some(before) = running.take() {
            let _ = before.end();
        }
        let mut trace = Trace { sink, options, clock, skipped: 0, failure: None };
        // The trace keeps a failure. The end of the trace reports the failure.
        let _ = trace.write(RecordType::Begin, encoding::header());
        *running = Some(trace);
        self.keeps_order.store(options.preserve_write_order, Ordering::Release);
        self.is_on.store(true, Ordering::Release);
        Ok(())
    }

    /// Writes the last record and closes the sink.
    ///
    /// # Errors
    /// Busy in a call of a sink, and in a callback of a read of several keys. IOError if no trace runs. Incomplete if a record could
    /// not be written. Errors of the sink.
    pub fn end(&self) -> Result<()> {
        check_not_quiet()?;
        let trace = {
            let mut running = self.trace.lock();
            self.is_on.store(false, Ordering::Release);
            running.take()
        };
        trace.map_or_else(|| Err(Error::new(Kind::IoError, "No trace file to close")), Trace::end)
    }

    /// Returns true if a trace runs.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    #[cold]
    fn record(&self, kind: RecordType, bit: u64, payload: impl FnOnce() -> Vec<u8>) {
        if IS_QUIET.with(Cell::get) {
            return;
        }
        let _quiet = Quiet::new();
        let mut running = self.trace.lock();
        if let Some(trace) = &mut *running
            && trace.takes(bit)
        {
            // A failure does not fail the call. The end of the trace reports the failure.
            let _ = trace.write(kind, &payload());
        }
    }

    /// Records a write before it joins the queue, unless the trace keeps the order of the writes. `batch` is the stored form.
    #[inline]
    pub fn write(&self, batch: &[u8]) {
        if self.is_on() && !self.keeps_order.load(Ordering::Relaxed) {
            self.record(RecordType::Write, TraceOptions::WRITE, || encoding::write_payload(batch));
        }
    }

    /// Records the batch of a write group, if the trace keeps the order of the writes.
    #[inline]
    pub fn write_in_order(&self, batch: &[u8]) {
        if self.is_on() && self.keeps_order.load(Ordering::Relaxed) {
            self.record(RecordType::Write, TraceOptions::WRITE, || encoding::write_payload(batch));
        }
    }

    /// Records a read of one key.
    #[inline]
    pub fn get(&self, family: FamilyId, key: &[u8]) {
        if self.is_on() {
            self.record(RecordType::Get, TraceOptions::GET, || encoding::get_payload(family, key));
        }
    }

    /// Records a seek. `bounds` are the lower and the upper bound of the iterator.
    #[cold]
    pub fn seek(&self, family: FamilyId, key: &[u8], bounds: [Option<&[u8]>; 2], is_for_prev: bool) {
        let bounds = bounds.map(Option::unwrap_or_default);
        let (kind, bit) = match is_for_prev {
            true => (RecordType::SeekForPrev, TraceOptions::SEEK_FOR_PREV),
            false => (RecordType::Seek, TraceOptions::SEEK),
        };
        self.record(kind, bit, || encoding::seek_payload(family, key, bounds));
    }

    /// Records a read of several keys. While the result lives, the calls of this thread are not recorded: the read may consist
    /// of several calls.
    #[inline]
    pub fn multi_get<'a>(&self, keys: impl Iterator<Item = (FamilyId, &'a [u8])>) -> Option<Quiet> {
        if !self.is_on() {
            return None;
        }
        let mut keys = keys.peekable();
        if keys.peek().is_some() {
            self.record(RecordType::MultiGet, TraceOptions::MULTI_GET, || encoding::multi_get_payload(keys));
        }
        Some(Quiet::new())
    }
}
