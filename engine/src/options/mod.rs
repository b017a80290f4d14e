//! The options of the engine: the crate `options`, and the options of single calls.
//!
//! [`DbOptions`], [`FamilyOptions`], OPTIONS files and validation are in the crate `options`. The options of reads,
//! writes, flushes and compactions are in `operations.rs`. OPTIONS files never have them, and they hold objects of
//! the engine.

mod operations;

pub use ::options::*;
pub use operations::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, CompactionOptions,
    FlushOptions, FlushWalOptions, ImportColumnFamilyOptions, IngestExternalFileOptions, ReadOptions,
    ReadTier, SizeApproximationOptions, TableFilter, WaitForCompactOptions, WriteOptions,
};
