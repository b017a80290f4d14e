//! Bytes to values and back, for every file RocksDB writes. No files, no clocks; every decoder is total.

#![forbid(unsafe_code)]

pub mod annotate;
pub mod batch;
pub mod blob;
pub mod block_builder;
pub mod checksum;
pub mod edit;
pub mod names;
pub mod options_ini;
pub mod wal;
pub mod wide;

#[cfg(test)]
mod test_vectors;
