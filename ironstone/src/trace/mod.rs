//! Traces of the calls of a database, and their replay. RocksDB: `DB::StartTrace`, `NewDefaultReplayer`.
//!
//! A trace records writes, point reads, and seeks of iterators, with their times. The file has RocksDB's format, so RocksDB
//! replays traces of Ironstone, and Ironstone replays traces of RocksDB. A trace costs one lock and one append for each call.
//! Without a trace, a call costs one load more.
//!
//! ```
//! use ironstone::trace::{self, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer, TraceOptions};
//! use ironstone::{Db, Options};
//!
//! let options = Options::in_memory();
//! let env = options.db.env.clone();
//! let db = Db::open("data", options.clone())?;
//! let writer = FileTraceWriter::create(&env, "data/trace".as_ref())?;
//! trace::start(&db, TraceOptions::default(), Box::new(writer))?;
//! db.put(b"k", b"v")?;
//! trace::end(&db)?;
//!
//! let copy = Db::open("copy", options)?;
//! let reader = FileTraceReader::open(&env, "data/trace".as_ref())?;
//! let mut replayer = Replayer::new(&copy, [], reader)?;
//! replayer.prepare()?;
//! replayer.replay(&ReplayOptions { fast_forward: 1e6, ..ReplayOptions::default() })?;
//! assert_eq!(copy.get(b"k")?.as_deref(), Some(&b"v"[..]));
//! # Ok::<(), ironstone::Error>(())
//! ```

mod blocks;
mod file;
mod io;
mod replay;

pub use blocks::{BlockCacheTraceOptions, end_block_cache, start_block_cache};
pub use engine::trace::{Quiet, TraceOptions, TraceSink};
pub use file::{FileTraceReader, FileTraceWriter};
pub use io::{end_io, io_traced, start_io};
pub use replay::{ReplayOptions, Replayer};

use base::Result;

use crate::Db;

/// Starts a trace of the calls of `db`. Ends a trace that runs already. The trace records the calls of all handles of the open
/// database, also seeks of iterators that exist already.
///
/// An error of `sink` fails no call. [`end`] returns the error. If the database is dropped before [`end`], the sink is dropped.
///
/// # Errors
/// Busy in a call of a sink, and in a callback of a read of several keys.
///
/// ```
/// use ironstone::trace::{self, FileTraceWriter, TraceOptions};
///
/// let options = ironstone::Options::in_memory();
/// let env = options.db.env.clone();
/// let db = ironstone::Db::open("data", options)?;
/// let writer = FileTraceWriter::create(&env, "data/trace".as_ref())?;
/// trace::start(&db, TraceOptions { filter: TraceOptions::GET, ..TraceOptions::default() }, Box::new(writer))?;
/// trace::end(&db)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn start(db: &Db, options: TraceOptions, sink: Box<dyn TraceSink>) -> Result<()> {
    db.engine().stats().trace.start(options, sink, db.engine().env().clock.clone())
}

/// Ends the trace of `db`: writes the last record and closes the target of the trace.
///
/// # Errors
/// Busy in a call of a sink, and in a callback of a read of several keys. IOError if no trace runs. Incomplete if a record could not be written. Errors of the target.
///
/// ```
/// let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// assert!(ironstone::trace::end(&db).is_err());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn end(db: &Db) -> Result<()> {
    db.engine().stats().trace.end()
}
