//! Bytes to values and back, for every file RocksDB writes. No files, no clocks; every decoder is total.

#![forbid(unsafe_code)]

pub mod checksum;
