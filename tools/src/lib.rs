//! The programs db_bench, filter_bench, compare, ironstone, ldb and sst_dump. Each is a thin layer over the library.

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
