//! Metrics of an open database: a typed value, and the same numbers as labelled samples.
//!
//! ```text
//!  Db::metrics ──► Metrics ──► samples ─┬─ prometheus      a collector of prometheus-client   (feature `prometheus`)
//!                                       └─ opentelemetry   observable instruments             (feature `opentelemetry`)
//!  Listener    ──► spans: tracing spans of jobs, stalls and recovery                          (feature `tracing`)
//! ```
//! The metrics are read when a caller asks for them: no feature adds work to a read or a write. This module does not
//! change RocksDB's tickers, histograms and properties.

mod collect;
#[cfg(feature = "opentelemetry")]
mod otel;
#[cfg(feature = "prometheus")]
mod prometheus;
mod samples;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(feature = "opentelemetry")]
pub use otel::observe;
#[cfg(feature = "prometheus")]
pub use prometheus::DbCollector;
pub use samples::{Description, MetricKind, Sample};
#[cfg(feature = "tracing")]
pub use spans::Spans;

use std::time::Duration;

use base::Level;
use base::stats::{Cause, OperationKind};

/// The metrics of a database at one time. Counters count from the open.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Numbers of the whole database.
    pub database: DatabaseMetrics,
    /// By operation, in the order of [`OperationKind`].
    pub operations: Vec<OperationMetrics>,
    /// By column family, in the order of their numbers.
    pub families: Vec<FamilyMetrics>,
}

/// Numbers of a whole database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatabaseMetrics {
    /// The time since the open.
    pub uptime: Duration,
    /// Bytes that were appended to WALs.
    pub wal_bytes: u64,
    /// Syncs of a WAL.
    pub wal_syncs: u64,
    /// Bytes of write batches.
    pub user_bytes: u64,
    /// Entries of write batches.
    pub user_keys: u64,
    /// Write groups, each written by its leader.
    pub write_groups: u64,
    /// Batches that the leader of another thread wrote.
    pub writes_by_other: u64,
    /// The time that leaders waited in write stalls.
    pub stall_time: Duration,
    /// Waits for the memory of the write buffer manager.
    pub write_buffer_stops: u64,
    /// Flushes that run now.
    pub running_flushes: u64,
    /// Compactions that run now.
    pub running_compactions: u64,
    /// True if writes are stopped now.
    pub write_stopped: bool,
    /// The rate that delays writes, in bytes per second. 0: no delay.
    pub delayed_write_rate: u64,
    /// Live snapshots.
    pub snapshots: u64,
    /// Background errors since the open.
    pub background_errors: u64,
    /// Bytes of obsolete SST files that are not deleted yet.
    pub obsolete_bytes: u64,
    /// Memory of open SST files outside of the block cache, in bytes.
    pub table_reader_bytes: u64,
}

/// Slow operations of one kind. An operation is slow if it takes more than ten times the median of its kind. A move of an
/// iterator has no samples: it is slow if its causes take more than ten microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationMetrics {
    /// The kind.
    pub operation: OperationKind,
    /// The median time, as an estimate from samples. `None` before the first sample, and for moves of iterators.
    pub median: Option<Duration>,
    /// The number of slow operations.
    pub slow: u64,
    /// The time of slow operations, by cause. Causes without time are missing.
    pub slow_time: Vec<(Cause, Duration)>,
}

/// Numbers of one column family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyMetrics {
    /// The name of the column family.
    pub name: String,
    /// Memory of the active memtable, in bytes.
    pub active_memtable_bytes: u64,
    /// Memory of the immutable memtables that wait for a flush, in bytes.
    pub immutable_memtable_bytes: u64,
    /// Memory of flushed memtables that an iterator, a snapshot, or a pinned value keeps, in bytes.
    pub pinned_memtable_bytes: u64,
    /// Immutable memtables that wait for a flush.
    pub immutable_memtables: u64,
    /// Bytes that flushes wrote.
    pub flushed_bytes: u64,
    /// Bytes that compaction must still rewrite, as an estimate.
    pub pending_compaction_bytes: u64,
    /// The number of keys, as an estimate.
    pub estimated_keys: u64,
    /// Versions that readers keep.
    pub live_versions: u64,
    /// Live blob files.
    pub blob_files: u64,
    /// Bytes of live blob files.
    pub blob_bytes: u64,
    /// Bytes of live blob files that no entry points to.
    pub blob_garbage_bytes: u64,
    /// Memory of the block cache and its capacity, in bytes. Column families can share a cache. `None` without a cache.
    pub block_cache: Option<BlockCacheMetrics>,
    /// All levels, also empty levels.
    pub levels: Vec<LevelMetrics>,
    /// How often a limit began to delay or to stop writes.
    pub stalls: Vec<StallMetrics>,
    /// The finished flushes by reason, and then the finished compactions by reason.
    pub reasons: Vec<ReasonMetrics>,
}

/// A block cache.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockCacheMetrics {
    /// The limit in bytes.
    pub capacity: u64,
    /// Bytes in the cache.
    pub usage: u64,
    /// Bytes that readers hold.
    pub pinned: u64,
    /// Bytes by the role of the entry: data block, filter block, and so on. Roles without bytes are missing.
    pub roles: Vec<(&'static str, u64)>,
}

/// A level, and the jobs that wrote to it. Flushes write to level 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMetrics {
    /// The level.
    pub level: Level,
    /// SST files now.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Files of the level that a compaction reads now.
    pub compacting_files: u64,
    /// Jobs that wrote to the level.
    pub jobs: u64,
    /// The time of these jobs.
    pub job_time: Duration,
    /// Bytes that these jobs read.
    pub read_bytes: u64,
    /// Bytes that these jobs wrote.
    pub written_bytes: u64,
    /// Bytes of files that were moved to the level unchanged.
    pub moved_bytes: u64,
    /// Entries that these jobs read.
    pub input_entries: u64,
    /// Entries that these jobs dropped.
    pub dropped_entries: u64,
}

/// The finished flushes or compactions with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonMetrics {
    /// `flush` or `compaction`.
    pub job: &'static str,
    /// The reason, in RocksDB's words: `Write Buffer Full`, `LevelL0FilesNum` and so on.
    pub reason: &'static str,
    /// The number of jobs, with the compactions that only moved files.
    pub jobs: u64,
    /// Bytes that the jobs wrote.
    pub written_bytes: u64,
}

/// Write stalls of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallMetrics {
    /// The limit, in RocksDB's words: `memtable-limit`, `l0-file-count-limit`, `pending-compaction-bytes`.
    pub cause: &'static str,
    /// How often writes began to be delayed.
    pub delays: u64,
    /// How often writes began to be stopped.
    pub stops: u64,
}
