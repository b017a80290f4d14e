//! One table file: written, read, iterated.

#![forbid(unsafe_code)]

pub mod collectors;
pub mod dump;
pub mod options;
pub mod sst;
pub mod sst_file;
pub mod unique_id;
