//! The sources of entries: open tables, levels, memtables. Also the code that turns found entries into a
//! value.

mod any;
mod cache;
mod columns;
mod level;
pub mod resolve;
pub mod sample;
mod tombstones;

pub use any::Source;
pub use cache::{TableCache, TableCacheSettings};
pub use columns::WideColumns;
pub use level::{LevelIter, timed_iter};
pub use tombstones::{LevelTombstones, SourceCover, covering, covering_in_memory};
