//! An embeddable, persistent, ordered key-value store with the files and the names of RocksDB, in Rust.
//!
//! ```
//! use ironstone::{Db, Options, WriteBatch, WriteOptions};
//!
//! # let scratch = tempfile::tempdir()?;
//! # let path = scratch.path().join("data");
//! let mut options = Options::default();
//! options.db.create_if_missing = true;
//! let db = Db::open(&path, options)?;
//!
//! db.put(b"k", b"v")?;
//! assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..])); // a view, not a copy
//!
//! let mut batch = WriteBatch::new();
//! batch.put(b"a", b"1").delete(b"k");
//! db.write_with(batch, &WriteOptions { sync: true, ..WriteOptions::default() })?;
//!
//! for entry in db.range(b"a"..b"n") {
//!     let (key, value) = entry?;
//!     assert_eq!((&key[..], &value[..]), (&b"a"[..], &b"1"[..]));
//! }
//! let snapshot = db.snapshot(); // reads of a snapshot do not see later writes
//! db.put(b"a", b"2")?;
//! assert_eq!(snapshot.get(b"a")?.as_deref(), Some(&b"1"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Handles
//!
//! [`Db`], [`Family`], [`Snapshot`] and [`Iter`] are owned, `Send` and `Sync`. All but the iterator are cheap to clone.
//! Handles may be dropped in any order, on any thread. The database closes when its last handle is dropped.
//!
//! Each call on a column family is a method of [`Family`]. [`Db`] dereferences to the default column family, so these
//! calls work on `Db` too. Calls for the whole database are methods of [`Db`]. A call named `.._with` takes options; the
//! call without `_with` uses the default options.
//!
//! # Files
//!
//! Ironstone opens the directories of RocksDB up to 11.8, and RocksDB opens the directories of Ironstone. If a
//! database uses a feature that is not built, the open fails and names the feature. The README lists these features.
//!
//! # Errors
//!
//! Each call returns one type, [`Error`]: code and subcode of RocksDB, what the engine was doing, the file and the
//! offset.
//!
//! # Components
//!
//! Options are plain fields. A component is an object behind a field: [`DbOptions`] has the [`env::Env`], the rate
//! limiter, the info log, the statistics and the write buffer manager; [`FamilyOptions`] has the comparator, the merge
//! operator, the compaction filter and the prefix extractor; [`Options`] has the block cache and the listeners.

#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod backup;
#[doc(hidden)]
pub mod binding;
mod bridge;
mod budget;
mod checkpoint;
mod db;
mod export;
mod families;
mod family;
mod follower;
mod groups;
mod holders;
mod ingest;
#[cfg(feature = "inspector")]
pub mod inspector;
mod iter;
mod metadata;
pub mod metrics;
mod open;
mod options;
mod properties;
mod read;
mod repair;
mod secondary;
mod snapshot;
mod sst_file;
mod sst_reader;
pub mod timestamps;
pub mod trace;
mod transfer;
mod tree;
pub mod ttl;
mod txn;
mod wal;
mod why;
mod wide;
mod work;
mod write;

pub use backup::{
    BackupEngine, BackupEngineOptions, BackupId, BackupInfo, CreateBackupOptions, ExcludeFiles, Progress,
    RestoreMode, RestoreOptions, ShareFilesNaming,
};
pub use budget::{BUDGET_MEMORY_MIN, BudgetGoal, DerivedOption, explain_options};
pub use checkpoint::{Checkpoint, CheckpointOptions};
pub use db::Db;
pub use engine::ingest::ReplaceRange;
pub use engine::options::ImportColumnFamilyOptions;
pub use export::{ExportImportFilesMetaData, ExportedFile};
pub use family::Family;
pub use follower::Follower;
pub use groups::{AttributeGroup, FamiliesIter};
pub use holders::{DataAge, DiskShare, KeptFiles, KeptVersion, MemoryHolder, VersionReaders};
pub use ingest::{FileIngestionHandle, IngestExternalFileArg, PreparedFileInfo};
pub use iter::{Iter, Range};
pub use metadata::{FamilyMetadata, LevelMetadata, LiveFile, MemoryUsage, memory_usage};
pub use open::{destroy, destroy_with, list_column_families};
pub use options::{FamilyDescriptor, Missing, Options, OptionsFile, ReadConfig, ReadOptions};
pub use repair::{Problem, Report, Weight, fsck, repair};
pub use secondary::Secondary;
pub use snapshot::Snapshot;
pub use sst_file::{EmbeddedBlobOptions, ExternalFileInfo, SstFileWriter};
pub use sst_reader::{SstEntries, SstEntry, SstFileIter, SstFileReader};
pub use timestamps::Timestamped;
pub use why::{SlowCause, SlowKind, SlowStall, Why};

pub use base::order::{BuiltinPrefix, Comparator, PrefixExtractor};
pub use base::pinned::{PinOwner, PinRegion};
pub use base::{
    Error, FamilyId, FileNumber, Kind, Level, Order, Pinned, Result, SequenceNumber, Severity, Subcode,
    ValueType,
};
pub use engine::batch::WriteBatch;
pub use engine::components::{WalFilter, WalFilterDecision};
pub use engine::db::{
    LiveFileKind, LiveFileStorageInfo, LiveFilesStorageInfoOptions, Slice, StatsHistory, Update, Updates,
    WalFile, WalFileType,
};
pub use engine::event;
pub use engine::event::{Event, JobPressure, Listener};
pub use engine::read::Answered;
pub use engine::remote::{CompactionService, JobInfo, JobStatus, ScheduleResponse};
/// A [`Snapshot`] as [`Snapshot::held`] returns it: the form of the field `ReadOptions::snapshot`.
///
/// ```
/// use std::sync::Arc;
///
/// use ironstone::{HeldSnapshot, ReadOptions};
///
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// let held: Arc<HeldSnapshot> = db.snapshot().held();
/// db.put(b"k", b"v")?;
/// let options = ReadOptions { snapshot: Some(held), ..ReadOptions::default() };
/// assert!(db.get_with(b"k", &options)?.is_none());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub use engine::sequence::Snapshot as HeldSnapshot;
pub use engine::source::WideColumns;
pub use format::batch::{Batch, Marker, Record, Records};
pub use lsm::filter::{
    CompactionFilter, CompactionFilterFactory, CreationReason, Decision, FilterContext, FilterInput,
    FilterKind,
};
pub use lsm::merge::{
    Associative, AssociativeMergeOperator, Existing, Failure as MergeFailure, FullMerge, MergeOperator,
    Merged, with_default_column as merge_default_column,
};

// Options of the database, of column families, of tables, and of calls.
pub use engine::options::{
    AGE_AUTO, BlobGarbageCollectionPolicy, BottommostLevelCompaction, CacheTier, CompactRangeOptions,
    CompactionOptions, CompactionOptionsFifo, CompactionOptionsUniversal, CompactionPri, CompactionStopStyle,
    CompactionStyle, Compat, CompressionOptions, CompressionType, ConcurrentTaskLimiter, DbOptions, DbPath,
    FamilyOptions, FileChecksumGen, FileTemperatureAge, FlushOptions, FlushWalOptions,
    IngestExternalFileOptions, MemtableFactory, PrepopulateBlobCache, ReadTier, SizeApproximationOptions,
    TableFactory, TableFilter, Temperature, Value, VerifyOutputFlags, WaitForCompactOptions, WalRecoveryMode,
    WriteOptions,
};
pub use format::checksum::ChecksumType;
pub use format::options_ini::Version as OptionsFileVersion;
pub use format::properties::Properties as TableProperties;
pub use lsm::pressure::Cause as StallCause;
pub use table::options::{
    BlockBasedTableOptions, BlockSearchType, CacheText, CacheUsageOptions, Charged, DataBlockIndexType,
    FilterChoice, FilterLevel, FilterPolicy, FlushBlockPolicy, IndexShortening, IndexType,
    MetadataCacheOptions, PinningTier, PolicyKind, PrepopulateBlockCache,
};
pub use table::options::{CuckooTableOptions, EncodingType, PlainTableOptions, WrittenTable};

// Components: objects that options hold.
pub use base::stats;
pub use base::stats::Statistics;
pub use mem::budget::MemoryBudget;
pub use mem::cache::{CacheOptions, Kind as CacheKind, Ledger, MetadataCharge, Role as CacheRole};
pub use mem::write_buffer::WriteBufferManager;
pub use table::sst::BlockCache;

pub use txn::{
    BaseDeltaIter, DeadlockInfo, DeadlockPath, KeyLockInfo, LockMode, OccLockBuckets, OccValidationPolicy,
    OptimisticTransactionDb, OptimisticTransactionDbOptions, OptimisticTransactionOptions, RecordIter,
    RollbackDeletionType, TimestampedSnapshot, TrackedWrite, Transaction, TransactionDb,
    TransactionDbOptions, TransactionDbWriteOptimizations, TransactionId, TransactionNotifier,
    TransactionOptions, TransactionState, TxnDbWritePolicy, Validation, WaitingFor, WriteBatchWithIndex,
    WriteBatchWithIndexOptions, WriteType,
};

/// The outside world of a database: files, clock, random numbers, threads, the info log and the rate limiter.
///
/// An application can implement the traits. A database uses the `Env` in `DbOptions::env`, and nothing else of the
/// machine.
///
/// ```
/// use std::sync::Arc;
///
/// use ironstone::env::{RateLimiter, RateOptions};
/// use ironstone::{Db, Options};
///
/// let mut options = Options::in_memory();
/// let clock = options.db.env.clock.clone();
/// options.db.rate_limiter = Some(Arc::new(RateLimiter::new(RateOptions::new(10 << 20), clock)?));
/// let db = Db::open("data", options)?; // flushes and compactions write 10 MiB per second
/// # Ok::<(), ironstone::Error>(())
/// ```
pub mod env {
    pub use env::clock::{ManualClock, RealClock};
    pub use env::executor::{Inline, Threads};
    pub use env::fs::{Pattern, Syncer, WriteLife};
    pub use env::hook::Op;
    pub use env::logger::{
        AtomicLogLevel, FileLogger, LogFileOptions, LogLevel, MemoryLogger, NullLogger, StderrLogger,
    };
    pub use env::memory::MemoryFs;
    pub use env::posix::PosixFs;
    pub use env::rate::{Direction, Granted, IoPriority, Mode, RateLimiter, RateOptions};
    pub use env::rng::SeededRng;
    pub use env::sst_files::{Deletion, SpaceReservation, SstFileManager, SstFileOptions};
    pub use env::{
        Append, AppendHints, Clock, Dir, Env, Executor, FileLock, FileSystem, Logger, LoweredPriority, Pool,
        RandomRead, ReadHints, ReadRequest, Rng, SequentialRead, Tag,
    };
}
