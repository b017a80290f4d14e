//! Tests of the C library through its C functions. [`interface`] has the rules of all functions; [`features`] has databases of
//! special kinds; [`multi_get`] has reads of several keys; [`listeners`] has listeners; [`destructors`] counts
//! destructors; [`traces`] has traces; [`prefixes`] has prefix extractors of the program; [`wal_filter`] has WAL filters; [`transactions`]
//! has locks of transactions; [`caches`] has block caches;
//! [`option_names`] compares accessors with the rows of options; [`lengths`] has lengths of values that are not returned; [`nulls`] has null arguments with a meaning;
//! [`iterators`] has iterators over several column families; [`header`] compiles the header; [`promises`] checks names, dependencies and
//! allocations; [`examples`] runs the programs in `examples/`; [`c_test`] runs RocksDB's own C test.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a library for programs")]
#![allow(improper_ctypes, clashing_extern_declarations, reason = "the handles are opaque")]

mod c_test;
mod caches;
mod calls;
mod destructors;
mod examples;
mod features;
mod header;
mod interface;
mod iterators;
mod lengths;
mod listeners;
mod multi_get;
mod nulls;
mod option_names;
mod prefixes;
mod promises;
mod traces;
mod transactions;
mod wal_filter;
