//! The sources of entries: open tables, levels, memtables. Also the code that turns found entries into a
//! value.

mod any;
pub mod blobs;
mod buckets;
mod cache;
mod columns;
mod counted;
mod estimate;
mod forward;
mod level;
pub mod read_ahead;
pub mod resolve;
pub mod sample;
mod tombstones;

pub use any::Source;
pub use blobs::{BlobContext, BlobReads, BlobSettings, OpenBlobs};
pub use buckets::BucketsIter;
pub use cache::{TableCache, TableCacheSettings};
pub use columns::WideColumns;
pub use estimate::{covered_bytes, size_in_file};
pub(crate) use forward::forward_iterator;
pub use level::LevelIter;
pub use table::any::{AnyReader, TableRows};
pub use tombstones::{LevelTombstones, SourceCover, covering, covering_in_memory};
