//! Shows, explains and diagnoses the directories of RocksDB and Ironstone: the pages of `ironstone inspect`.
//!
//! ```text
//!  model    the facts of a database as plain data; reads a directory or an info log, changes nothing
//!  contents reads every byte of a directory, and adds the faults to the facts
//!  doctor   rules over the facts; each finding has evidence, cost and the change
//!  web      the pages, and their server
//!  walk     records of a WAL or a MANIFEST, blocks and entries of an SST file
//!  plan     an LSM tree without data in virtual time
//!  bundle   the facts in one file, without keys and values
//!  words    sizes, times and keys for people
//! ```
//! The program `ironstone` (package `ironstone-tools`) has the commands. The crate `ironstone` serves the same pages from a
//! running process, with its feature `inspector`.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sockets are outside of env, and the threads of the server touch no database state"
)]

pub mod bundle;
pub mod contents;
pub mod doctor;
pub mod model;
pub mod plan;
pub mod walk;
pub mod web;
pub mod words;
