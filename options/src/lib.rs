//! Every option of RocksDB 11.8.1: its type, its default, its text, and its checks.
//!
//! The rows in `db.rs` and `family.rs` describe each option once. The rows make the structs [`DbOptions`] and
//! [`FamilyOptions`], their defaults, option strings, OPTIONS files, live changes and comparison. Settings are plain
//! data. Components, such as the environment, are at the end of each struct and have no text.
//!
//! [`resolve`] checks raw options once, at open. It refuses by name what the engine cannot do. Code above this crate
//! does not check options again.
//!
//! Not here: the effect of an option, and the options of single calls (`engine::options`, `ironstone::txn`). Their rows have
//! the same form.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod budget;
mod check;
mod compat;
mod component;
mod compression;
mod db;
mod enums;
mod family;
pub mod file;
mod known;
mod limiter;
mod log;
mod memtable;
mod resolve;
mod styles;
mod text;
mod tune;
mod unsupported;

#[cfg(test)]
mod tests;

pub use base::option::{Mutability, Release, Row, Value};
pub use budget::BUDGET_MEMORY_MIN;
pub use compat::Compat;
pub use component::{AdaptiveTables, CompressionManager, FileChecksumGen, Unavailable};
pub use compression::{CompressionOptions, CompressionType};
pub use db::{DbOptions, DbPath};
pub use enums::{
    CacheTier, CompactionPri, CompactionStopStyle, CompactionStyle, PrepopulateBlobCache, Temperature,
    VerifyOutputFlags, WalRecoveryMode,
};
pub use family::{AGE_AUTO, FamilyOptions, MemtableFactory, TableFactory};
pub use limiter::{ConcurrentTaskLimiter, RunningTask};
pub use memtable::{HashLinkListOptions, HashSkipListOptions};
pub use resolve::{BackgroundLimits, resolve, validate};
pub use styles::{CompactionOptionsFifo, CompactionOptionsUniversal, FileTemperatureAge};
pub use text::{DB_DEPRECATED, FAMILY_DEPRECATED, time_range};
pub use unsupported::{FIELD_HINTS, HINTS, TABLE_HINTS, changed_hints, refuse, unsupported};

pub use table::options::{CuckooTableOptions, EncodingType, PlainTableOptions, WrittenTable};

/// The options of a database and of its default column family.
#[derive(Clone, Default)]
pub struct Options {
    pub db: DbOptions,
    pub family: FamilyOptions,
}
