//! Readers and writers of SST files and of blob files.

#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod any;
pub mod blob;
pub mod collectors;
pub mod cuckoo;
pub mod dump;
mod flat;
pub mod options;
pub mod plain;
pub mod sst;
pub mod sst_file;
pub mod unique_id;
