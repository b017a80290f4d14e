//! Encoders and decoders for every file that RocksDB writes. This crate uses no files and no clocks. A
//! decoder never panics; it returns an error.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod annotate;
pub mod batch;
pub mod blob;
pub mod block;
pub mod block_builder;
pub mod checksum;
pub mod edit;
pub mod filter;
pub mod footer;
pub mod handle;
pub mod index;
pub mod index_builder;
pub mod metaindex;
pub mod names;
pub mod options_ini;
pub mod proof;
pub mod properties;
pub mod trace;
pub mod trailer;
pub mod wal;
pub mod wide;

#[cfg(test)]
mod test_vectors;
