//! Objects that the application passes to an open next to the options: shared resources, and user code that no option
//! names.

use std::path::Path;

use base::{FamilyId, FileNumber};
use format::batch::Batch;
use table::sst::BlockCache;

use crate::event::Listener;
use crate::options::FamilyOptions;
use crate::prepared::WritePolicy;
use crate::remote::CompactionService;
use crate::sync::Arc;

/// Components of a database that its options do not hold.
#[derive(Clone, Default)]
pub struct Components {
    pub listeners: Vec<Arc<dyn Listener>>,
    /// The block cache of column families that have no own block cache. `None`: the open makes a cache with the size
    /// that the table options ask for.
    pub block_cache: Option<Arc<BlockCache>>,
    /// Inspects each WAL record at the open. Default: none.
    pub wal_filter: Option<Arc<dyn WalFilter>>,
    /// When the writes of transactions reach the memtables. Default: at commit.
    pub write_policy: WritePolicy,
    /// Runs subcompactions in other processes. Default: none.
    pub compaction_service: Option<Arc<dyn CompactionService>>,
}

/// Inspects the WAL records that recovery replays. RocksDB: `WalFilter` (`include/rocksdb/wal_filter.h`).
///
/// The methods run on the thread of the open, before the database takes calls. If the filter changes the replay, recovery
/// flushes all memtables, so no later open replays the same WALs.
pub trait WalFilter: Send + Sync {
    /// Returns the name that errors and the info log show.
    fn name(&self) -> &str;

    /// Receives each column family with its name and the oldest WAL that the column family needs. Called once, before
    /// the first record. RocksDB: `ColumnFamilyLogNumberMap`.
    fn families(&self, _families: &[(FamilyId, String, FileNumber)]) {}

    /// Decides about one record of the WAL `wal` with the path `path`. RocksDB: `LogRecordFound`.
    fn record(&self, wal: FileNumber, path: &Path, batch: &Batch<'_>) -> WalFilterDecision;
}

/// The decision about one record of a WAL. RocksDB: `WalFilter::WalProcessingOption`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalFilterDecision {
    /// Replays the record.
    ContinueProcessing,
    /// Replays these bytes of a write batch instead, at the sequence number of the record. The open fails with NotSupported
    /// if the new batch has more entries than the record.
    Replace(Vec<u8>),
    /// Skips the record.
    IgnoreCurrentRecord,
    /// Skips the record and all later records.
    StopReplay,
    /// Treats the record as damage. `wal_recovery_mode` decides how the open continues.
    CorruptedRecord,
}

/// A column family to open or create.
#[derive(Clone)]
pub struct FamilyDescriptor {
    /// The name of the column family. The default column family has the name `default`.
    pub name: String,
    /// The options of the column family.
    pub options: FamilyOptions,
    /// The block cache of the column family. `None`, the default, is the block cache of the database.
    pub block_cache: Option<Arc<BlockCache>>,
    /// The cache for values in blob files (`blob_cache` of RocksDB). May be the block cache itself. `None`, the default:
    /// each read of such a value reads the blob file.
    pub blob_cache: Option<Arc<BlockCache>>,
}

impl FamilyDescriptor {
    /// Makes a descriptor with the block cache of the database and without a cache for values of blob files.
    pub fn new(name: impl Into<String>, options: FamilyOptions) -> Self {
        FamilyDescriptor { name: name.into(), options, block_cache: None, blob_cache: None }
    }
}
