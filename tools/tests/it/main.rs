//! The tools from outside: one binary, one module a subject.
//!
//! `IRONSTONE_ORACLE` names the folder of RocksDB 11.8.1's tools; without it the halves of tests that need
//! them say so and are left out.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod bad_input;
mod bench;
mod golden;
mod packages;
mod support;
mod texts;
