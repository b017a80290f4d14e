//! One SST file: written, read, iterated. One blob file: written, read.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod blob;
pub mod collectors;
pub mod dump;
pub mod options;
pub mod sst;
pub mod sst_file;
pub mod unique_id;
