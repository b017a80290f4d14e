//! The native library of RocksDB's Java classes, over Ironstone: `librocksdbjni.so`.
//!
//! One library serves four releases of the Java classes: frocksdbjni 8.10.0-ververica-1.0, rocksdbjni 9.8.4, 10.1.3 and
//! 11.8.1. The Java classes stay as they are; `java.library.path` names this library.
//!
//! ```text
//! Java object ── long ──► handle (table of slots and generations) ──► database, iterator, options, ...
//! native ──► native::frame (catches panics) ──► body: Outcome ──► throw (the exception of a fault)
//! ```
//!
//! - [`load`]: the work when the JVM loads the library. [`variants`]: natives that differ between the releases.
//! - [`handle`]: the table behind the `long` handles. A closed handle is an exception, never a crash. `untouched`: handles that need no object.
//! - [`native`]: the macros that declare natives, rows of options, and disposers.
//! - [`java`], `direct`, [`class`], [`fault`], [`throw`]: arrays, strings, classes, exceptions.
//! - Each other module implements related classes of the Java package.
//!
//! Not here: the behaviour of databases (crate `ironstone`). Facts: RocksDB `java/rocksjni`.

#![recursion_limit = "512"]

pub mod handle;
pub mod java;
pub mod throw;

pub mod class;
pub mod collections;
mod direct;
pub mod fault;
pub mod field;
#[cfg(test)]
mod listed;
pub mod load;
pub mod native;
pub mod numbers;
pub mod untouched;
pub mod variants;

pub mod backup;
pub mod batch;
pub mod batch_walk;
pub mod cache;
pub mod call_options;
pub mod callbacks;
pub mod cassandra;
pub mod checkpoint;
pub mod comparator;
pub mod db;
pub mod filters;
pub mod flink;
pub mod indexed_batch;
pub mod iterator;
pub mod job_info;
pub mod listener;
pub mod logger;
pub mod options;
pub mod parts;
pub mod perf;
pub mod rocksdb_tests;
pub mod settings;
pub mod slice;
pub mod space;
pub mod sst_file;
pub mod statistics;
pub mod table;
pub mod table_properties;
pub mod thread_status;
pub mod trace;
pub mod transactions;
