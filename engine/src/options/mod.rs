//! Every option of RocksDB 11.8.1: typed, with its defaults, one row each.
//!
//! The rows of [`DbOptions`] and [`FamilyOptions`] are written once, in `db.rs` and `family.rs`; from
//! them come the structs, their defaults, option strings, OPTIONS files, live changes and comparison.
//! Settings are plain data. Components (environment, cache, operators) stand beside them at the end of
//! each struct; what an OPTIONS file can say of them is their name.
//!
//! Raw options become checked ones once, by `resolve`; nobody downstream checks again. What an option
//! asks for and the engine cannot do is refused there by name, never dropped.
//!
//! Not here: what any option does.

mod check;
mod compat;
mod component;
mod compression;
mod db;
mod enums;
mod family;
pub mod file;
mod log;
mod operations;
mod resolve;
mod row;
mod styles;
mod text;
mod tune;
mod unsupported;
mod value;

#[cfg(test)]
mod tests;

pub use compat::Compat;
pub use component::{FileChecksumGen, Unavailable};
pub use compression::{CompressionOptions, CompressionType};
pub use db::{DbOptions, DbPath};
pub use enums::{
    CacheTier, CompactionPri, CompactionStopStyle, CompactionStyle, PrepopulateBlobCache, Temperature,
    VerifyOutputFlags, WalRecoveryMode,
};
pub use family::{AGE_AUTO, FamilyOptions, MemtableFactory, TableFactory};
pub use operations::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions, CompactionOptions,
    FlushOptions, FlushWalOptions, ImportColumnFamilyOptions, IngestExternalFileOptions, ReadOptions,
    ReadTier, SizeApproximationOptions, WaitForCompactOptions, WriteOptions,
};
pub use resolve::{BackgroundLimits, resolve};
pub use row::{Mutability, Row};
pub use styles::{CompactionOptionsFifo, CompactionOptionsUniversal, FileTemperatureAge};
pub(crate) use text::time_range;
pub use text::{DB_DEPRECATED, FAMILY_DEPRECATED};
pub use unsupported::{HINTS, refuse, unsupported};
pub use value::Value;

/// A database's options and those of its default family.
#[derive(Clone, Default)]
pub struct Options {
    pub db: DbOptions,
    pub family: FamilyOptions,
}
