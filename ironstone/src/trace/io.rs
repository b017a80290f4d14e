//! Traces of file operations. RocksDB: `DB::StartIOTrace` (`trace_replay/io_tracer.cc`, `env/file_system_tracer.cc`).
//!
//! RocksDB records no syncs, flushes, renames, links and locks. Here a trace has them too; a reader of traces takes any name.

use std::os::unix::ffi::OsStrExt;

use base::{Error, Result};
use engine::trace::TraceSink;
use env::Env;
use env::hook::{Call, Detail, Op};
use env::io_trace::{FileOperation, IoTracer, Observer};
use format::trace::{self, RecordType};

use crate::Db;

/// Returns an environment whose file operations [`start_io`] can record. Open the database with this environment. If `env` can
/// record its file operations already, returns a copy of `env`. Databases with copies of one environment share one trace. Without a
/// trace, a file operation costs one dynamic call, one load and one branch more.
///
/// ```
/// use ironstone::trace;
///
/// let mut options = ironstone::Options::in_memory();
/// options.db.env = trace::io_traced(&options.db.env);
/// let db = ironstone::Db::open("data", options)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn io_traced(env: &Env) -> Env {
    if IoTracer::of(&*env.fs).is_some() {
        return env.clone();
    }
    Env { fs: IoTracer::wrap(env.fs.clone(), env.clock.clone()), ..env.clone() }
}

/// Starts a trace of the file operations of `db`, with the names that RocksDB gives the operations. Above `max_trace_file_size` bytes,
/// no operation is recorded. An error of `sink` fails no operation and is not reported. If all copies of the environment are dropped
/// before [`end_io`], the sink is dropped.
///
/// # Errors
/// NotSupported if the environment is not from [`io_traced`]. Busy if a trace of file operations runs, and in a call of a sink. Errors of the target.
///
/// ```
/// use ironstone::trace::{self, FileTraceWriter};
///
/// let mut options = ironstone::Options::in_memory();
/// let env = options.db.env.clone();
/// options.db.env = trace::io_traced(&env);
/// let db = ironstone::Db::open("data", options)?;
/// trace::start_io(&db, u64::MAX, Box::new(FileTraceWriter::create(&env, "data/io".as_ref())?))?;
/// db.put(b"k", b"v")?;
/// trace::end_io(&db)?;
/// assert!(env.fs.file_size("data/io".as_ref())? > 0);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn start_io(db: &Db, max_trace_file_size: u64, sink: Box<dyn TraceSink>) -> Result<()> {
    let env = db.engine().env();
    let Some(tracer) = IoTracer::of(&*env.fs) else {
        return Err(Error::not_supported("the environment of the database records no file operations"));
    };
    if tracer.is_on() {
        return Err(running());
    }
    let mut target = Target { sink, max_trace_file_size, has_failed: false };
    target.write(env.clock.now_micros(), RecordType::Begin, &trace::short_header())?;
    if tracer.start(Box::new(target)) { Ok(()) } else { Err(running()) }
}

fn running() -> Error {
    Error::busy("a trace of file operations runs")
}

/// Ends the trace of file operations of `db` and closes its target. Does nothing if no such trace runs.
///
/// # Errors
/// Busy in a call of the sink. Errors of the target.
///
/// ```
/// let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// ironstone::trace::end_io(&db)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn end_io(db: &Db) -> Result<()> {
    IoTracer::of(&*db.engine().env().fs).map_or(Ok(()), IoTracer::end)
}

/// The target of a trace of file operations.
struct Target {
    sink: Box<dyn TraceSink>,
    max_trace_file_size: u64,
    has_failed: bool,
}

impl Target {
    fn write(&mut self, time: u64, kind: RecordType, payload: &[u8]) -> Result<()> {
        let mut record = Vec::new();
        trace::put_record(&mut record, time, kind, payload);
        self.sink.write(&record)
    }
}

impl Observer for Target {
    fn operation(&mut self, operation: &FileOperation<'_>) {
        if self.has_failed || self.sink.size().is_none_or(|size| size > self.max_trace_file_size) {
            return;
        }
        let call = &operation.call;
        let status = operation.error.map_or_else(|| "OK".to_string(), Error::to_string);
        let has_len = matches!(call.op, Op::Read | Op::Append);
        let content = trace::FileOperation {
            name: name_of(call),
            nanos: operation.nanos,
            status: &status,
            file: call.path.file_name().unwrap_or_default().as_bytes(),
            file_size: None,
            len: has_len.then_some(call.bytes as u64),
            offset: (call.op == Op::Read).then_some(call.offset),
        };
        let written = self.write(operation.ended_nanos, RecordType::FileOperation, &content.payload());
        self.has_failed = written.is_err();
    }

    fn end(&mut self) -> Result<()> {
        self.sink.close()
    }
}

/// Returns RocksDB's name of a call.
fn name_of(call: &Call<'_>) -> &'static str {
    match (call.op, call.detail) {
        (Op::Open, Detail::Sequential) => "NewSequentialFile",
        (Op::Open, Detail::Directory) => "NewDirectory",
        (Op::Open, _) => "NewRandomAccessFile",
        (Op::Create, _) => "NewWritableFile",
        (Op::Reopen, _) => "ReopenWritableFile",
        (Op::Reuse, _) => "ReuseWritableFile",
        (Op::Read, _) => "Read",
        (Op::Append, _) => "Append",
        (Op::Flush, _) => "Flush",
        (Op::Sync, _) => "Sync",
        (Op::RangeSync, _) => "RangeSync",
        (Op::Preallocate, _) => "Allocate",
        (Op::Truncate, _) => "Truncate",
        (Op::Close, _) => "Close",
        (Op::SyncDir, _) => "Fsync",
        (Op::Rename, _) => "RenameFile",
        (Op::Link, _) => "LinkFile",
        (Op::Unlink, _) => "DeleteFile",
        (Op::CreateDir, Detail::NewDirectory) => "CreateDir",
        (Op::CreateDir, _) => "CreateDirIfMissing",
        (Op::RemoveDir, _) => "DeleteDir",
        (Op::List, _) => "GetChildren",
        (Op::Status, Detail::Exists) => "FileExists",
        (Op::Status, Detail::Modified) => "GetFileModificationTime",
        (Op::Status, _) => "GetFileSize",
        (Op::Lock, _) => "LockFile",
    }
}
