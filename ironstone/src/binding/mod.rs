//! Option values for the libraries of other languages: the C library and the Java library.
//!
//! A handle of options takes numbers and returns numbers. [`place`] turns a number into a typed field and back.
//! [`Rejected`] keeps a number that names no value, and rejects the number when the options are used. [`conflict_text`] is
//! RocksDB's text of a conflict between transactions. [`check_no_wal`] is a check of opens for reading only.

mod conflict;
mod no_wal;
pub mod place;
mod rejected;

pub use conflict::conflict_text;
pub use no_wal::check_no_wal;
pub use place::Place;
pub use rejected::Rejected;
