//! db_bench, filter_bench, ironstone, ldb, sst_dump: thin programs over the library.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod advice;
pub mod compare;
pub mod explain;
pub mod filter_bench;

pub mod ldb;
mod progress;
pub mod sst;

pub mod bench;
