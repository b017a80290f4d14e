//! db_bench, filter_bench, ldb, sst_dump: thin programs over the library.

#![forbid(unsafe_code)]

pub mod filter_bench;
pub mod ldb;
pub mod sst;

pub mod bench;
