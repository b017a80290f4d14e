//! One table file: written, read, iterated.

#![forbid(unsafe_code)]

pub mod options;
pub mod sst;
pub mod unique_id;
