//! An embeddable, persistent, ordered key-value store: RocksDB's files and RocksDB's names, in Rust.
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
//! db.write(batch, &WriteOptions { sync: true, ..WriteOptions::default() })?;
//!
//! for entry in db.range(b"a"..b"n") {
//!     let (key, value) = entry?;
//!     assert_eq!((&key[..], &value[..]), (&b"a"[..], &b"1"[..]));
//! }
//! let snapshot = db.snapshot(); // reads through it see one moment
//! db.put(b"a", b"2")?;
//! assert_eq!(snapshot.get(b"a")?.as_deref(), Some(&b"1"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Handles
//!
//! [`Db`], [`Family`], [`Snapshot`], [`Iter`] are owned, `Send` and, but for the iterator, `Sync`; they are cheap to
//! clone and may be dropped in any order. The last one to go closes the database.
//!
//! # Files
//!
//! A directory written by RocksDB (11.8 and before) opens here, and what is written here opens there. What a
//! database uses and this release does not have is refused by name, never misread; see the README's table.
//!
//! # Errors
//!
//! Every call gives one [`Error`]: RocksDB's code and subcode, what was being done, the file and the offset.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod db;
mod family;
mod iter;
mod options;
mod repair;
mod snapshot;
mod tree;

pub use base::order::{BuiltinPrefix, Comparator, PrefixExtractor};
pub use base::stats;
pub use base::{Error, FileNumber, Kind, Order, Pinned, Result, Severity, Subcode};
pub use engine::batch::WriteBatch;
pub use engine::event;
pub use engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, DbOptions, FamilyOptions,
    FlushOptions, TableFactory, Value, WaitForCompactOptions, WriteOptions,
};
pub use engine::read::Answered;
pub use lsm::filter::{CompactionFilter, CompactionFilterFactory, Decision, FilterInput};
pub use lsm::merge::{
    Associative, AssociativeMergeOperator, Existing, Failure as MergeFailure, FullMerge, MergeOperator,
    Merged,
};
pub use table::options::BlockBasedTableOptions;
pub use table::sst::BlockCache;

pub use db::{Db, destroy, destroy_with, list_column_families};
pub use engine::db::StatsHistory;
pub use family::Family;
pub use iter::{Iter, Range};
pub use options::{FamilyDescriptor, Options, ReadOptions};
pub use repair::{Problem, Report, Weight, fsck, repair};
pub use snapshot::Snapshot;
pub use tree::LiveFile;
