//! Block-based tables: the reader and the writer.
//!
//! ```text
//! Writer   entries in order in, a file out
//! Reader   one open table: filter, index, properties; get, multi_get, estimates
//!   fetch  a block from the cache, or from the file: read, verify, decompress, parse, cache
//! TableIter  a position in the table, moved either way
//! ```

mod access_trace;
mod array_budget;
pub mod block_cache;
mod block_kind;
pub mod cache_key;
mod counts;
mod embedded;
mod fetch;
mod file_source;
mod filter_reader;
mod in_place;
mod index_fetch;
mod index_reader;
mod inflate;
pub mod iter;
mod limits;
pub mod lookahead;
mod measure;
mod multi_get;
mod open;
mod persistent_cache;
mod prefetch;
pub(crate) mod raw_dump;
mod read_amp;
pub mod read_ctx;
pub mod reader;
pub mod salvage;
mod scratch;
mod spare;
mod traced;
mod uncache;
mod verify;
mod warm;
pub mod writer;

pub use access_trace::{AccessSink, AccessTracer, LookUp};
pub use block_cache::{BlockCache, CachedBlock, Other};
pub use embedded::EmbeddedIter;
pub use iter::TableIter;
pub use limits::ReadLimits;
pub use multi_get::MultiGetBegun;
pub use persistent_cache::PersistentCache;
pub use prefetch::Pace;
pub use read_ctx::{Entry, ReadCtx, ValueRef};
pub use reader::{OpenOptions, Reader, stores_timestamps};
pub use warm::BlockWarmer;
pub use writer::{
    BlockCompression, DataTimes, FinishedTable, Identity, Resources, TablePlace, Writer, WriterOptions,
};

/// Frees the buffers, blocks and codecs that this thread keeps for later use, and the large buffers that all threads share. Call
/// this function on a thread that may not read or write tables again for a long time.
pub fn forget_spares() {
    compress::forget_spares();
    scratch::forget();
    spare::forget();
    mem::bytes::forget();
}
