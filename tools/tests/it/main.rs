//! The tools are tested through their command lines: one test program, with a module for each subject.
//!
//! `IRONSTONE_ORACLE` names the directory of RocksDB 11.8.1's tools. Without the variable, the tests print
//! a message and skip the parts that need the tools.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod bad_input;
mod bench;
mod bench_features;
mod bench_flags;
mod explain;
mod golden;
mod ldb_options;
mod live_files;
mod packages;
mod progress;
mod recompress;
mod remote;
mod support;
mod texts;
mod transfer;
