//! Where entries come from: open tables, levels of them, memtables, and what to make of what is found.

mod any;
mod cache;
mod level;
pub mod resolve;
pub mod sample;
mod tombstones;

pub use any::Source;
pub use cache::{TableCache, TableCacheSettings};
pub use level::{LevelIter, timed_iter};
pub use tombstones::{LevelTombstones, SourceCover, covering, covering_in_memory};
