//! One face over every block compression RocksDB knows.

#![forbid(unsafe_code)]
