//! Option values and error texts for the libraries of other languages and for the crate `rocksdb`.
//!
//! A handle of options takes numbers and returns numbers. [`place`] turns a number into a typed field and back.
//! [`Rejected`] keeps a number that names no value, and rejects the number when the options are used. [`status_text`] is
//! RocksDB's text of an error. [`conflict_text`] is RocksDB's text of a conflict between transactions. [`check_no_wal`] is a
//! check of opens for reading only. [`check_writable`] is the check of calls that need a database for writing. [`TableCache`] is the
//! block cache of a handle of options. [`UpdateCursor`] stands on one write batch of the WALs.

mod conflict;
mod no_wal;
pub mod place;
mod rejected;
mod status;
mod table_cache;
mod updates;
mod writable;

pub use conflict::conflict_text;
pub use no_wal::check_no_wal;
pub use place::Place;
pub use rejected::Rejected;
pub use status::{status_state, status_text};
pub use table_cache::TableCache;
pub use updates::UpdateCursor;
pub use writable::check_writable;
