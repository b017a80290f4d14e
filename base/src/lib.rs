//! The words every room uses: keys, sequence numbers, errors, comparators, the iterator trait.
//!
//! Nothing here knows a file, a thread or a clock. Two rooms alone sharing a word is not enough to
//! put it here: `base` is the long pole of every build and is kept small and rarely edited.

#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

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

pub use error::{Error, Kind, Result, Severity, Subcode};
pub use ids::{FamilyId, FileNumber, Level};
pub use key::{SequenceNumber, ValueType};
pub use order::Order;
pub use pinned::Pinned;
