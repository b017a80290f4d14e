//! Traces of calls: `RocksDB.startTrace`, `RocksDB.endTrace`, `AbstractTraceWriter`.
//!
//! A trace is a sequence of records that a writer of Java stores. RocksDB's tools read the records:
//!
//! ```text
//! record: time in microseconds u64 │ type u8 │ length u32 │ payload
//! begin   "feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n"
//! write   map u64 │ batch          get   map u64 │ column family u32 │ key          end   nothing
//! seek    map u64 │ column family u32 │ key │ lower bound │ upper bound
//! multi   map u64 │ number of keys u32 │ column families │ keys
//! ```
//!
//! A bit of the map is set for each part that follows. Each part begins with its length. Empty bounds are left out.
//!
//! A trace records the calls of the natives of `RocksDB`, and the seeks of iterators that are made during the trace. Calls that
//! the writer itself makes are not recorded. After a failure of the writer, or above the size limit, no record is written.
//!
//! Facts: RocksDB `trace_replay/trace_replay.cc`, `java/rocksjni/trace_writer_jnicallback.cc`.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::coding::{put_slice, put_u32, put_u64};
use base::{Error, FamilyId, Result};
use engine::batch::WriteBatch;
use env::Clock;
use env::sync::{Mutex, thread_local};

use crate::class::{Class, Global, Method, Value};
use crate::handle::Handle;
use crate::load::callback;
use crate::native::natives;
use crate::slice::SliceObject;

const WRITER: &str = "org/rocksdb/AbstractTraceWriter";
static WRITE: Method = Class::new(WRITER).method("writeProxy", "(J)S");
static CLOSE: Method = Class::new(WRITER).method("closeWriterProxy", "()S");
static FILE_SIZE: Method = Class::new(WRITER).method("getFileSize", "()J");

const HEADER: &[u8] =
    b"feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n";

/// The type of a record.
#[derive(Clone, Copy)]
enum Kind {
    Begin = 1,
    End = 2,
    Write = 3,
    Get = 4,
    Seek = 5,
    SeekForPrev = 6,
    MultiGet = 13,
}

/// A writer of Java.
pub struct WriterObject(pub Arc<Global>);

/// A running trace.
pub struct Trace {
    pub writer: Arc<Global>,
    pub bytes_max: u64,
    pub clock: Arc<dyn Clock>,
    pub has_failed: bool,
}

/// The trace of a database. Several threads use it concurrently.
#[derive(Default)]
pub struct Tracer {
    is_on: AtomicBool,
    trace: Mutex<Option<Trace>>,
}

/// The data that an iterator needs to trace its seeks.
pub struct SeekTracer {
    tracer: Arc<Tracer>,
    family: FamilyId,
    lower: Vec<u8>,
    upper: Vec<u8>,
}

thread_local! {
    /// Set while the writer of Java runs in this thread.
    static IN_WRITER: Cell<bool> = const { Cell::new(false) };
}

fn record(now: u64, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(13 + payload.len());
    put_u64(&mut bytes, now);
    bytes.push(kind as u8);
    put_u32(&mut bytes, payload.len() as u32);
    bytes.extend_from_slice(payload);
    bytes
}

/// Starts a payload. `parts` are the numbers of the parts.
fn payload(parts: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_u64(&mut bytes, parts.iter().fold(0, |map, part| map | 1 << part));
    bytes
}

fn write_payload(batch: &WriteBatch) -> Vec<u8> {
    let mut bytes = payload(&[1]);
    put_slice(&mut bytes, batch.bytes());
    bytes
}

fn get_payload(family: FamilyId, key: &[u8]) -> Vec<u8> {
    let mut bytes = payload(&[2, 3]);
    put_u32(&mut bytes, family.0);
    put_slice(&mut bytes, key);
    bytes
}

fn seek_payload(family: FamilyId, key: &[u8], bounds: [&[u8]; 2]) -> Vec<u8> {
    let mut parts = vec![4, 5];
    parts.extend([6, 7].into_iter().zip(bounds).filter(|(_, bound)| !bound.is_empty()).map(|(part, _)| part));
    let mut bytes = payload(&parts);
    put_u32(&mut bytes, family.0);
    put_slice(&mut bytes, key);
    bounds.into_iter().filter(|bound| !bound.is_empty()).for_each(|bound| put_slice(&mut bytes, bound));
    bytes
}

fn multi_get_payload<'a>(keys: impl Iterator<Item = (FamilyId, &'a [u8])>) -> Vec<u8> {
    let (mut count, mut families, mut texts) = (0, Vec::new(), Vec::new());
    for (family, key) in keys {
        count += 1;
        put_u32(&mut families, family.0);
        put_slice(&mut texts, key);
    }
    let mut bytes = payload(&[8, 9, 10]);
    put_u32(&mut bytes, count);
    put_slice(&mut bytes, &families);
    put_slice(&mut bytes, &texts);
    bytes
}

/// Calls a method of the writer. While the method runs, calls of this thread are not traced.
fn in_writer<R>(call: impl FnOnce() -> R) -> R {
    IN_WRITER.set(true);
    let answer = call();
    IN_WRITER.set(false);
    answer
}

/// Calls a method of the writer that returns a status: the code and the subcode as two bytes. Returns true if the status is
/// Ok.
fn succeeds(writer: &Global, method: &'static Method, arguments: &[Value]) -> bool {
    in_writer(|| callback(|java| method.call_short(java, writer.object(java), arguments))) == Some(0)
}

impl Trace {
    fn write(&mut self, kind: Kind, payload: &[u8]) {
        if self.has_failed {
            return;
        }
        let slice = Handle::new(SliceObject::copied(record(self.clock.now_micros(), kind, payload)));
        self.has_failed = !succeeds(&self.writer, &WRITE, &[Value::long(slice.0)]);
        slice.close();
    }

    fn is_full(&self) -> bool {
        let size = in_writer(|| callback(|java| FILE_SIZE.call_long(java, self.writer.object(java), &[])));
        size.is_none_or(|size| size as u64 > self.bytes_max)
    }

    fn end(mut self) {
        self.write(Kind::End, &[]);
        succeeds(&self.writer, &CLOSE, &[]);
    }
}

impl Tracer {
    /// Returns true if a trace runs.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    #[cold]
    fn trace(&self, kind: Kind, payload: impl FnOnce() -> Vec<u8>) {
        if IN_WRITER.get() {
            return;
        }
        let mut running = self.trace.lock();
        if let Some(trace) = &mut *running
            && !trace.is_full()
        {
            trace.write(kind, &payload());
        }
    }

    /// Traces a write of one batch.
    #[inline]
    pub fn batch(&self, batch: &WriteBatch) {
        if self.is_on() {
            self.trace(Kind::Write, || write_payload(batch));
        }
    }

    /// Traces a write of one record.
    #[inline]
    pub fn change<'a>(&self, change: impl FnOnce(&mut WriteBatch) -> &mut WriteBatch + 'a) {
        if self.is_on() {
            self.trace(Kind::Write, || {
                let mut batch = WriteBatch::new();
                change(&mut batch);
                write_payload(&batch)
            });
        }
    }

    /// Traces a read of one key.
    #[inline]
    pub fn get(&self, family: FamilyId, key: &[u8]) {
        if self.is_on() {
            self.trace(Kind::Get, || get_payload(family, key));
        }
    }

    /// Traces a read of many keys.
    pub fn multi_get<'a>(&self, keys: impl Iterator<Item = (FamilyId, &'a [u8])>) {
        if self.is_on() {
            self.trace(Kind::MultiGet, || multi_get_payload(keys));
        }
    }

    /// Starts a trace and writes its first record. Ends a trace that runs already.
    pub fn start(&self, trace: Trace) {
        let mut trace = trace;
        trace.write(Kind::Begin, HEADER);
        let before = self.trace.lock().replace(trace);
        self.is_on.store(true, Ordering::Release);
        if let Some(before) = before {
            before.end();
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// IOError if no trace runs. Errors of the writer are not reported.
    pub fn end(&self) -> Result<()> {
        self.is_on.store(false, Ordering::Release);
        let trace = self.trace.lock().take();
        trace.map(Trace::end).ok_or_else(|| Error::new(base::Kind::IoError, "No trace file to close"))
    }
}

impl SeekTracer {
    /// Returns the tracer for the seeks of an iterator. Returns `None` if no trace is running.
    #[inline]
    pub fn new(
        tracer: &Arc<Tracer>,
        family: FamilyId,
        bounds: (&Option<Vec<u8>>, &Option<Vec<u8>>),
    ) -> Option<Box<SeekTracer>> {
        tracer.is_on().then(|| {
            let [lower, upper] = [bounds.0, bounds.1].map(|bound| bound.clone().unwrap_or_default());
            Box::new(SeekTracer { tracer: tracer.clone(), family, lower, upper })
        })
    }

    /// Traces a seek.
    pub fn seek(&self, key: &[u8], is_for_prev: bool) {
        let kind = if is_for_prev { Kind::SeekForPrev } else { Kind::Seek };
        if self.tracer.is_on() {
            self.tracer.trace(kind, || seek_payload(self.family, key, [&self.lower, &self.upper]));
        }
    }
}

natives! {
    fn AbstractTraceWriter_createNewTraceWriter[java, this]() -> Handle {
        Handle::new(WriterObject(Arc::new(Global::new(java, this)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_bytes_of_rocksdb() {
        let record = record(0x0102, Kind::Get, &get_payload(FamilyId(7), b"ab"));
        let expected: [&[u8]; 6] = [
            &[2, 1, 0, 0, 0, 0, 0, 0],
            &[4],
            &[15, 0, 0, 0],
            &[12, 0, 0, 0, 0, 0, 0, 0],
            &[7, 0, 0, 0],
            b"\x02ab",
        ];
        assert_eq!(record, expected.concat());
    }

    #[test]
    fn an_empty_bound_is_left_out() {
        let all = seek_payload(FamilyId(0), b"k", [b"a", b"z"]);
        assert_eq!((all[0], &all[12..]), (0xf0, &b"\x01k\x01a\x01z"[..]));
        let upper = seek_payload(FamilyId(0), b"k", [b"", b"z"]);
        assert_eq!((upper[0], &upper[12..]), (0xb0, &b"\x01k\x01z"[..]));
    }

    #[test]
    fn many_keys_are_two_lists() {
        let bytes = multi_get_payload([(FamilyId(1), &b"a"[..]), (FamilyId(2), &b"b"[..])].into_iter());
        assert_eq!(bytes[..2], [0, 7]);
        assert_eq!(bytes[8..], *b"\x02\0\0\0\x08\x01\0\0\0\x02\0\0\0\x04\x01a\x01b");
    }
}
