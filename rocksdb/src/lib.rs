//! The API of the crate `rocksdb` 0.25 (rust-rocksdb), over Ironstone.
//!
//! A program that uses the crate `rocksdb` changes one line of its `Cargo.toml`:
//!
//! ```toml
//! rocksdb = { package = "ironstone-rocksdb", version = "0.1" }
//! ```
//!
//! ```
//! use rocksdb::{DB, Options};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! let path = dir.path();
//! {
//!     let db = DB::open_default(path)?;
//!     db.put(b"my key", b"my value")?;
//!     assert_eq!(db.get(b"my key")?.as_deref(), Some(&b"my value"[..]));
//!     db.delete(b"my key")?;
//! }
//! DB::destroy(&Options::default(), path)?;
//! # Ok::<(), rocksdb::Error>(())
//! ```
//!
//! The crate needs no C++ compiler. A C compiler is needed only for the feature `zstd`. The file formats are the same:
//! RocksDB opens databases that this crate wrote, and this crate opens databases that RocksDB wrote.
//!
//! # Differences
//!
//! - A panic in a function of the application fails the call or the background job. The process continues.
//! - [`Env::from_raw`] and the feature `raw-ptr` use values of `ironstone` instead of pointers of the C library.
//! - A call rejects a column family handle of another database.
//!
//! `docs/moving-from-rocksdb.md` in the repository has the whole list, and the way back.

#![deny(unsafe_code)]
#![allow(clippy::result_large_err, reason = "the signatures are those of the crate rocksdb")]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod backup;
mod base;
mod c_str;
pub mod checkpoint;
mod column_family;
pub mod compaction_filter;
pub mod compaction_filter_factory;
mod comparator;
mod db;
mod db_iterator;
mod environment;
mod error;
mod iter_range;
#[cfg(doctest)]
mod lifetimes;
pub mod merge_operator;
mod options;
pub mod perf;
mod pinnable_slice;
mod prop_name;
pub mod properties;
mod raw_iter;
#[cfg(feature = "raw-ptr")]
mod raw_ptr;
#[allow(unsafe_code, reason = "the signatures of the crate rocksdb do not require Send + Sync")]
mod shared;
mod slice_transform;
mod snapshot;
mod sst_file_writer;
pub mod statistics;
mod transactions;
mod unwind;
mod write_batch;

pub use crate::c_str::CStrLike;
pub use crate::column_family::{
    AsColumnFamilyRef, BoundColumnFamily, ColumnFamily, ColumnFamilyDescriptor, ColumnFamilyRef,
    ColumnFamilyTtl, DEFAULT_COLUMN_FAMILY_NAME,
};
pub use crate::compaction_filter::Decision as CompactionDecision;
pub use crate::db::{
    DB, DBAccess, DBCommon, DBWithThreadMode, LiveFile, MultiThreaded, Range, SingleThreaded, ThreadMode,
};
pub use crate::db_iterator::{
    DBIterator, DBIteratorWithThreadMode, DBRawIterator, DBRawIteratorWithThreadMode, DBWALIterator,
    Direction, IteratorMode,
};
pub use crate::environment::Env;
pub use crate::error::{Error, ErrorKind};
pub use crate::iter_range::{IterateBounds, PrefixRange};
pub use crate::merge_operator::MergeOperands;
pub use crate::options::{
    BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, BottommostLevelCompaction, Cache,
    ChecksumType, CompactOptions, CompactionPri, CuckooTableOptions, DBCompactionStyle, DBCompressionType,
    DBPath, DBRecoveryMode, DataBlockIndexType, FifoCompactOptions, FlushOptions, InfoLogger,
    IngestExternalFileOptions, KeyEncodingType, LogLevel, LruCacheOptions, MemtableFactory, Options,
    PlainTableFactoryOptions, ReadOptions, ReadTier, UniversalCompactOptions, UniversalCompactionStopStyle,
    WaitForCompactOptions, WriteBufferManager, WriteOptions,
};
pub use crate::perf::{PerfContext, PerfMetric, PerfStatsLevel};
pub use crate::pinnable_slice::DBPinnableSlice;
#[cfg(feature = "raw-ptr")]
pub use crate::raw_ptr::AsRawPtr;
pub use crate::slice_transform::SliceTransform;
pub use crate::snapshot::{Snapshot, SnapshotWithThreadMode};
pub use crate::sst_file_writer::SstFileWriter;
pub use crate::transactions::{
    OptimisticTransactionDB, OptimisticTransactionOptions, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions,
};
pub use crate::write_batch::{
    WriteBatch, WriteBatchIterator, WriteBatchIteratorCf, WriteBatchWithTransaction,
};
