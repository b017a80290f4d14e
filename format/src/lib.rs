//! Bytes to values and back, for every file RocksDB writes. No files, no clocks; every decoder is total.

#![forbid(unsafe_code)]

pub mod block_builder;
pub mod checksum;

#[cfg(test)]
mod test_vectors;
