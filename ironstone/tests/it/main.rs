//! Tests of the public API against a reference model, a disk that crashes, RocksDB's tools, and bad input.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod backup;
mod bad_input;
mod bank;
mod bits;
mod budget;
mod checkpoint;
mod codes;
mod crash;
mod deleted_runs;
mod direct_writes;
mod export;
mod handles;
mod indexed_batch;
mod ingest;
mod limiter;
mod listeners;
mod names;
mod no_copies;
mod operators;
mod options_page;
mod oracle;
mod random;
mod ranges;
mod rebuild;
mod releases;
mod repair;
mod repair_wals;
mod rogue_operators;
mod secondary;
mod sst_reader;
mod stats_history;
mod timestamps;
mod timestamps_in_memory;
mod timestamps_rebuilt;
mod timestamps_switched;
mod timestamps_toggled;
mod together;
mod traces;
mod transactions;
mod ttl;
mod wal_filter;
mod wal_stream;
mod why;
mod wide;
