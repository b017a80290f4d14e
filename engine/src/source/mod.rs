//! Tables, open: the cache of readers that every read, flush and compaction takes its tables from.

mod cache;

pub use cache::{TableCache, TableCacheSettings};
