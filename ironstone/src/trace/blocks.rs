//! Traces of the accesses to the block cache. RocksDB: `DB::StartBlockCacheTrace` (`trace_replay/block_cache_tracer.cc`).

use std::sync::Arc;

use base::{Error, Result};
use engine::trace::TraceSink;
use env::Clock;
use format::trace::{self, BlockAccess, RecordType};
use table::sst::AccessSink;

use crate::Db;

/// The settings of a trace of the block cache. RocksDB: `BlockCacheTraceOptions`, `BlockCacheTraceWriterOptions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCacheTraceOptions {
    /// One of this many blocks is recorded, with all its accesses. Default: 1. 0 is 1.
    pub sampling_frequency: u64,
    /// Above this many bytes, no access is recorded. Default: 64 GiB.
    pub max_trace_file_size: u64,
}

impl Default for BlockCacheTraceOptions {
    fn default() -> Self {
        BlockCacheTraceOptions { sampling_frequency: 1, max_trace_file_size: 64 << 30 }
    }
}

/// Starts a trace of the accesses of `db` to the block cache. RocksDB's `block_cache_trace_analyzer` reads the trace. The reads of an
/// open of an SST file are not recorded. An access of a read of several keys has no key.
///
/// # Errors
/// Busy if a trace of the block cache runs, and in a call of a sink. Errors of the target for the first record; later errors end the records and are not reported.
///
/// ```
/// use ironstone::trace::{self, BlockCacheTraceOptions, FileTraceWriter};
///
/// let options = ironstone::Options::in_memory();
/// let env = options.db.env.clone();
/// let db = ironstone::Db::open("data", options)?;
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// let writer = FileTraceWriter::create(&env, "data/blocks".as_ref())?;
/// trace::start_block_cache(&db, BlockCacheTraceOptions::default(), Box::new(writer))?;
/// db.get(b"k")?;
/// trace::end_block_cache(&db)?;
/// assert!(env.fs.file_size("data/blocks".as_ref())? > 100);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn start_block_cache(db: &Db, options: BlockCacheTraceOptions, sink: Box<dyn TraceSink>) -> Result<()> {
    let busy = || Error::busy("a trace of the block cache runs");
    let tracer = &db.engine().stats().blocks;
    if tracer.is_on() {
        return Err(busy());
    }
    let clock = db.engine().env().clock.clone();
    let mut target =
        Target { sink, clock, max_trace_file_size: options.max_trace_file_size, has_failed: false };
    target.write(RecordType::Begin, &trace::short_header())?;
    if tracer.start(options.sampling_frequency, Box::new(target)) { Ok(()) } else { Err(busy()) }
}

/// Ends the trace of the block cache of `db` and closes its target. Does nothing if no such trace runs.
///
/// # Errors
/// Busy in a call of the sink. Errors of the target.
///
/// ```
/// let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// ironstone::trace::end_block_cache(&db)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn end_block_cache(db: &Db) -> Result<()> {
    db.engine().stats().blocks.end()
}

/// The target of a trace of the block cache.
struct Target {
    sink: Box<dyn TraceSink>,
    clock: Arc<dyn Clock>,
    max_trace_file_size: u64,
    has_failed: bool,
}

impl Target {
    fn write(&mut self, kind: RecordType, payload: &[u8]) -> Result<()> {
        let mut record = Vec::new();
        trace::put_record(&mut record, self.clock.now_micros(), kind, payload);
        self.sink.write(&record)
    }
}

impl AccessSink for Target {
    fn access(&mut self, access: &BlockAccess<'_>) {
        if self.has_failed || self.sink.size().is_none_or(|size| size > self.max_trace_file_size) {
            return;
        }
        self.has_failed = self.write(access.block, &access.payload()).is_err();
    }

    fn end(&mut self) -> Result<()> {
        self.sink.close()
    }
}
