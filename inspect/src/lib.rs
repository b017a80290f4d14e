//! Shows, explains and diagnoses the directories of RocksDB and Ironstone: the program `ironstone`.
//!
//! ```text
//!  model    the facts of a database as plain data; reads a directory or an info log, changes nothing
//!  doctor   rules over the facts; each finding has evidence, cost and the change
//!  web      the pages of `ironstone inspect`, and their server
//!  walk     records of a WAL or a MANIFEST, blocks and entries of an SST file
//!  plan     an LSM tree without data in virtual time
//!  bundle   the facts in one file, without keys and values
//!  words    sizes, times and keys for people
//!  cli      the commands
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

pub mod bundle;
pub mod cli;
pub mod doctor;
pub mod model;
pub mod plan;
pub mod walk;
pub mod web;
mod words;
