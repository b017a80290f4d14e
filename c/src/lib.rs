//! RocksDB's C interface over the engine: every function of `rocksdb/c.h` of RocksDB 11.8.1.
//!
//! The header `c/include/rocksdb/c.h` is written by `cargo xtask header` from the declarations in this crate. The rules of
//! all functions (ownership, errors, null pointers, panics) are at the head of the header. `cargo xtask install` lays out
//! the library as RocksDB's `make install` does.
//!
//! [`abi`] converts C values to Rust values; its macros declare the functions. Each other module has the functions of one
//! subject. The bodies are short, because the engine does the work.
//!
//! Not here: the behaviour of databases (crate `ironstone`). Facts: RocksDB `db/c.cc`.

#![recursion_limit = "512"]
#![allow(non_camel_case_types, reason = "the names of C")]

#[macro_use]
pub mod abi;

pub mod backup;
pub mod backup_options;
pub mod batch;
pub mod batch_with_index;
pub mod cache;
pub mod callbacks;
pub mod checkpoint;
pub mod compaction_filter;
pub mod compaction_options;
pub mod compaction_service;
pub mod compaction_worker;
pub mod comparator;
pub mod constants;
pub mod db;
pub mod environment;
pub mod export;
pub mod filter_policy;
pub mod iterator;
pub mod jobs;
pub mod listener;
pub mod log;
pub mod memory;
pub mod merge_operator;
pub mod metadata;
pub mod missing;
pub mod options;
pub mod rate_limiter;
pub mod read_options;
pub mod slice_transform;
pub mod snapshot;
pub mod sst_file;
pub mod sst_file_manager;
pub mod statistics;
pub mod table_options;
pub mod table_properties;
pub mod trace;
pub mod trace_options;
pub mod transaction_options;
pub mod transactions;
pub mod wal;
pub mod wal_filter;
pub mod write_buffer;
pub mod write_options;
