//! The terms that all crates use: keys, sequence numbers, errors, comparators, the iterator trait. Also the maps and the sort that
//! all crates share.
//!
//! This crate uses no file, no thread and no clock. Every build waits for this crate, so it stays small and changes
//! rarely. A term that only two modules share does not belong here.

#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod arrange;
pub mod coding;
pub mod error;
pub mod ids;
pub mod invariant;
pub mod iter;
pub mod key;
pub mod map;
pub mod option;
pub mod order;
pub mod pinned;
pub mod stats;

pub use arrange::Arrange;
pub use error::{Error, Kind, Result, Severity, Subcode};
pub use ids::{EpochNumber, FamilyId, FileNumber, JobId, Level, WalNumber};
pub use key::{SequenceNumber, ValueType};
pub use order::Order;
pub use pinned::Pinned;
